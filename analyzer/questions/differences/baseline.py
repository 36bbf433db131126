"""A baseline: what a machine usually runs and who usually asks it; and what in a capture is new against it.

The file is JSON: the machines by their names and addresses, and what was seen of each, with all values of its properties.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from analyzer.core.errors import CONTRADICTIONS, InputError
from analyzer.core.output.standard_json import document
from analyzer.core.printable_text import counted
from analyzer.questions.differences.conversation_comparison import occurrence_of
from analyzer.questions.differences.machine_facts import (
    CaptureView,
    Peer,
    Peers,
    ShownFact,
    by_identity,
    facts_of,
    paired_peers,
    peers_of,
    process_fact,
    processes_by_name,
)
from analyzer.questions.processes.process_records import process_records
from analyzer.results.analysis import Analysis
from analyzer.results.records.difference import (
    DifferenceRecord,
    DiffOutcome,
    DiffSummaryRecord,
    NotComparedRecord,
    PropertyDifference,
    Subject,
)

_SCHEMA = 1
NOT_USUAL = "not in the baseline"
_MOST_BYTES = 256 << 20
# Properties that hold several values at once.
_LISTS = frozenset({"from", "asks"})
_BETWEEN = ", "


class UsualMachine(Struct, frozen=True):
    """A machine of the baseline."""

    label: str
    addresses: tuple[str, ...]
    names: tuple[str, ...]
    is_server: bool


class UsualThing(Struct, frozen=True):
    """Something that the baseline says is usual on a machine, with all values of each of its properties."""

    about: Subject
    machine: str | None
    key: str
    name: str
    properties: dict[str, tuple[str, ...]]


class Baseline(Struct, frozen=True):
    """The baseline of what is usual on machines. `made_of` are the captures that showed it."""

    schema: int
    made_of: tuple[str, ...]
    machines: tuple[UsualMachine, ...]
    usual: tuple[UsualThing, ...]


def read_usual(path: Path) -> Baseline:
    """Reads the baseline of what is usual from a file. Raises `InputError` if it is none."""
    hint = "`diff --write-baseline` writes one"
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} is longer than a baseline may be: {_MOST_BYTES} bytes", hint=hint)
        found = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except OSError as error:
        raise InputError(f"the baseline {path} cannot be read: {error.strerror}", hint=hint) from None
    except CONTRADICTIONS:
        raise InputError(f"{path} is no baseline of a machine", hint=hint) from None
    if found.schema != _SCHEMA:
        raise InputError(f"{path} is a baseline of schema {found.schema}; this program knows {_SCHEMA}", hint=hint)
    return found


def usual_json(analysis: Analysis) -> tuple[bytes, int]:
    """Returns what an analysis shows as usual, as a baseline file, and the number of things in it."""
    peers = peers_of(analysis)
    labels = paired_peers(peers, {}).labels_a
    machines = tuple(UsualMachine(labels[ip], (ip,), one.names, one.is_server) for ip, one in peers.items())
    usual = tuple(_usual(CaptureView(analysis, labels, process_records(analysis))))
    made = Baseline(_SCHEMA, analysis.sources, machines, usual)
    return f"{json.dumps(document(made), indent=1)}\n".encode(), len(usual)


def _usual(view: CaptureView) -> Iterator[UsualThing]:
    known: dict[tuple[Subject, str | None, str], UsualThing] = {}
    for fact in _facts(view):
        before = known.get(fact.identity)
        values = {key: before.properties.get(key, ()) if before is not None else () for key in fact.properties}
        properties = {key: tuple(dict.fromkeys([*had, *_values(key, fact)])) for key, had in values.items()}
        known[fact.identity] = UsualThing(fact.about, fact.machine, fact.key, fact.name, properties)
    return iter(known.values())


def _facts(view: CaptureView) -> Iterable[ShownFact]:
    """Returns the facts about machines that a capture shows, for a baseline. Processes of one name are one, whatever their ids."""
    processes = (
        process_fact(one, machine, 0) for (machine, _), alike in processes_by_name(view).items() for one in alike
    )
    return [*facts_of(view), *processes]


def _values(key: str, fact: ShownFact) -> Sequence[str]:
    text = fact.properties[key]
    return text.split(_BETWEEN) if key in _LISTS else [text]


class NewThings:
    """Finds what an analysis shows that the baseline does not have."""

    def __init__(self, baseline: Baseline, source: str, analysis: Analysis) -> None:
        """`source` is the name of the baseline's file."""
        self._baseline, self._source, self._analysis = baseline, source, analysis
        self.sides = (("B", analysis),)
        usual = {
            address: Peer(address, one.names, one.is_server, {})
            for one in baseline.machines
            for address in one.addresses
        }
        self._peers: Peers = paired_peers(usual, peers_of(analysis))
        labels = {address: one.label for one in baseline.machines for address in one.addresses}
        # Machines keep the labels that the baseline gave them.
        own = {self._peers.labels_a[address]: label for address, label in labels.items()}
        self._labels: Mapping[str, str] = {ip: own.get(label, label) for ip, label in self._peers.labels_b.items()}
        self.found: Sequence[DifferenceRecord] = [*self._machines(), *self._things()]
        self.uncompared: Sequence[NotComparedRecord] = list(self._sealed())

    @property
    def summary(self) -> DiffSummaryRecord:
        """Returns the summary of a comparison with a baseline: the baseline, the capture and the outcome."""
        outcome: DiffOutcome = "different" if self.found else "incomplete" if self.uncompared else "equal"
        count = len(self.found)
        words = {
            "different": f"{counted(count, 'thing that is', 'things that are')} not usual",
            "incomplete": "nothing new in what could be read; not all could be",
            "equal": "nothing new",
        }
        differences: dict[str, int] = {}
        for one in self.found:
            differences[one.about] = differences.get(one.about, 0) + 1
        return DiffSummaryRecord(
            a=(self._source,),
            b=self._analysis.sources,
            a_calls=0,
            b_calls=len(self._analysis.shown),
            outcome=outcome,
            text=words[outcome],
            differences=differences,
            compared_calls=0,
            values=0,
            values_different=0,
            volatile={},
        )

    def records(self) -> Iterator[DifferenceRecord | NotComparedRecord | DiffSummaryRecord]:
        """Yields all records of a comparison with a baseline, the summary last."""
        yield from self.found
        yield from self.uncompared
        yield self.summary

    def _machines(self) -> Iterator[DifferenceRecord]:
        usual = {one.label for one in self._baseline.machines}
        for ip, label in self._labels.items():
            if label not in usual:
                yield self._new(ShownFact("machine", label, label, self._peers.b[ip].words, {}))

    def _things(self) -> Iterator[DifferenceRecord]:
        usual = {(one.about, one.machine, one.key): one for one in self._baseline.usual}
        facts = _facts(CaptureView(self._analysis, self._labels, process_records(self._analysis)))
        for identity, fact in by_identity(facts).items():
            known = usual.get(identity)
            if known is None:
                yield self._new(fact)
                continue
            new = [
                PropertyDifference(key, _BETWEEN.join(known.properties[key]), _BETWEEN.join(more))
                for key in fact.properties
                if key in known.properties
                and (more := [one for one in _values(key, fact) if one not in known.properties[key]])
            ]
            if new:
                yield self._changed(fact, new)

    def _new(self, fact: ShownFact) -> DifferenceRecord:
        return DifferenceRecord(
            about=fact.about,
            kind="only-b",
            machine=fact.machine,
            name=fact.name,
            text=NOT_USUAL,
            a=None,
            b=occurrence_of(self._analysis, fact.calls) if fact.calls else None,
        )

    def _changed(self, fact: ShownFact, new: Sequence[PropertyDifference]) -> DifferenceRecord:
        return DifferenceRecord(
            about=fact.about,
            kind="changed",
            machine=fact.machine,
            name=fact.name,
            text=f"{'; '.join(f'{one.name}: {one.b}' for one in new)}: {NOT_USUAL}",
            properties=tuple(new),
            a=None,
            b=occurrence_of(self._analysis, fact.calls) if fact.calls else None,
        )

    def _sealed(self) -> Iterator[NotComparedRecord]:
        """Yields the record that sealed calls could not be compared with the baseline, if there are any."""
        shown = self._analysis.shown
        states = self._analysis.calls.states_of(shown.numbers)
        if states["sealed"]:
            count = states["sealed"]
            numbers = [number for number, call in shown if call.state == "sealed"]
            yield NotComparedRecord(
                why="sealed",
                method="calls",
                text=f"{counted(count, 'call')}: no key opens them",
                a=None,
                b=occurrence_of(self._analysis, numbers),
            )
