"""Collects the facts that one side shows of its machines: accounts, countersets, counters, processes and services, with properties.

`diff` compares two sides by these facts, and a baseline consists of them.

Machines of the two sides that are the same get one label. Machines are the same if they share a name, or else an address. If one
server is left on each side, the two are matched, and so are two clients: this compares a capture of one's own server with that of
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from analyzer.questions.statistics.call_statistics import who_of
from analyzer.questions.statistics.hosts import host_records
from analyzer.questions.statistics.shown_call_columns import ShownCalls
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call_row_columns import STATES
from analyzer.results.methods import perflib, scmr, winreg
from analyzer.results.records.difference import Subject
from analyzer.results.records.process import ProcessRecord
from analyzer.results.registry_and_service_facts import service_facts
from analyzer.results.reported_names.counterset_catalog import CountersetEntry, Described
from analyzer.results.security import who_words

# ---------------------------------------------------------------------------------------------------- matching of machines


_AND = " and "
_SERVER = ("SMB server", "DCERPC server")


class Peer(Struct, frozen=True):
    """A machine at an address, as one side of `diff` shows it."""

    ip: str
    names: tuple[str, ...]
    is_server: bool
    properties: Mapping[str, str]

    @property
    def words(self) -> str:
        return f"{self.names[0]} ({self.ip})" if self.names else self.ip

    def is_called(self, name: str) -> bool:
        """Tells whether a name that a client used means this machine, by the facts that one side of `diff` shows of it."""
        plain = name.lstrip("\\").casefold()
        return not plain or plain == self.ip or plain in map(str.casefold, self.names)


class Peers(Struct, frozen=True):
    """The machines of both sides of `diff` by address, and their labels; matched machines have one label."""

    a: Mapping[str, Peer]
    b: Mapping[str, Peer]
    labels_a: Mapping[str, str]
    labels_b: Mapping[str, str]

    def are_names(self, ip_a: str, ip_b: str, a: str, b: str) -> bool:
        """Tells, by the facts of both sides' machines, whether the names by which clients call the servers at these two addresses
        mean one machine. If both sides share the address and a name, each server must have the other's name, else its own."""
        one, other = self.a.get(ip_a), self.b.get(ip_b)
        if one is None or other is None:
            return a == b
        if one.ip == other.ip and _share_name(one, other):
            return one.is_called(b) and other.is_called(a)
        return one.is_called(a) and other.is_called(b)


def peers_of(analysis: Analysis) -> dict[str, Peer]:
    """Collects the facts about machines themselves, by address: names and properties of those that take part in shown calls and
    sessions."""
    found: dict[str, Peer] = {}
    for host in host_records(analysis):
        before = found.get(host.ip)
        names = tuple(dict.fromkeys((*(before.names if before else ()), *(one.name for one in host.names))))
        properties = dict(before.properties) if before else {}
        for key, values in (("system", host.os_versions), ("SMB", host.dialects)):
            known = [word for word in properties.get(key, "").split(_AND) if word]
            if words := sorted({*known, *values}):
                properties[key] = _AND.join(words)
        is_server = any(role in _SERVER for role in host.roles) or bool(before and before.is_server)
        found[host.ip] = Peer(host.ip, names, is_server, properties)
    return found


def paired_peers(a: Mapping[str, Peer], b: Mapping[str, Peer]) -> Peers:
    """Matches the machines of both sides of `diff`, so that facts about one machine are compared, and labels them."""
    tests: Sequence[Callable[[Peer, Peer], bool]] = (
        lambda one, other: one.ip == other.ip and _share_name(one, other),
        _share_name,
        lambda one, other: one.ip == other.ip,
    )
    same: dict[str, str] = {}
    left_a, left_b = dict(a), dict(b)

    def note(one: Peer, other: Peer) -> None:
        same[other.ip] = one.ip
        del left_a[one.ip], left_b[other.ip]

    for test in tests:
        for one in list(left_a.values()):
            if (other := next((each for each in left_b.values() if test(one, each)), None)) is not None:
                note(one, other)
    for is_server in (True, False):
        ones = [one for one in left_a.values() if one.is_server == is_server]
        others = [one for one in left_b.values() if one.is_server == is_server]
        if len(ones) == 1 and len(others) == 1:
            note(ones[0], others[0])
    labels_a = _machine_labels(a.values(), ())
    labels_b = {ip: labels_a[other] for ip, other in same.items()}
    labels_b |= _machine_labels((one for ip, one in b.items() if ip not in same), labels_a.values())
    return Peers(a, b, labels_a, labels_b)


def _machine_labels(peers: Iterable[Peer], taken: Iterable[str]) -> dict[str, str]:
    """Makes a label for each machine that `diff` has facts about, different from those taken."""
    used, found = set(taken), {}
    for one in peers:
        label = one.names[0] if one.names and one.names[0] not in used else one.words if one.names else one.ip
        found[one.ip] = label if label not in used else f"{label} (another)"
        used.add(found[one.ip])
    return found


def _share_name(one: Peer, other: Peer) -> bool:
    return not {*map(str.casefold, one.names)}.isdisjoint(map(str.casefold, other.names))


# ------------------------------------------------------------------------------------------------------------------- facts


# In the order of the report.
SUBJECTS: tuple[Subject, ...] = ("machine", "account", "counterset", "counter", "process", "service")


class ShownFact(Struct, frozen=True):
    """A fact about a machine that one side of `diff` shows. `key` tells it from others of its subject and machine, `name` is for
    people. `calls` are the known numbers of the calls that show it."""

    about: Subject
    machine: str | None
    key: str
    name: str
    properties: Mapping[str, str]
    calls: tuple[int, ...] = ()

    @property
    def identity(self) -> tuple[Subject, str | None, str]:
        return self.about, self.machine, self.key


class CaptureView(Struct, frozen=True):
    """One side of `diff`: an analysis, labels of machines by address, its processes, and for its counterset GUIDs those of A."""

    analysis: Analysis
    labels: Mapping[str, str]
    processes: Sequence[ProcessRecord]
    guids: Mapping[str, str] = {}

    def label(self, ip: str) -> str:
        return self.labels.get(ip, ip)


def facts_of(view: CaptureView) -> list[ShownFact]:
    """Returns the facts about machines that one side of `diff` shows, without the machines and processes themselves."""
    return [*_accounts(view), *_countersets(view), *_titles(view), *_services(view)]


def _accounts(view: CaptureView) -> Iterator[ShownFact]:
    """Yields the account facts of machines: who asked which machine, from where, through which interfaces."""
    analysis = view.analysis
    shown = ShownCalls(analysis)
    found: dict[tuple[str, str], tuple[set[str], set[str], list[int]]] = {}
    for who, places in shown.by(who_of, np.ones(len(shown), np.bool_)).items():
        user, client, server, claimed, later = who
        clients, interfaces, calls = found.setdefault(
            (view.label(server), who_words(user, claimed, later)), (set(), set(), [])
        )
        clients.add(view.label(client))
        interfaces.update(one.interface.name or one.interface.uuid or "unknown" for one in shown.contexts(places))
        calls.append(int(shown.numbers[places[0]]))
    for (server, user), (clients, interfaces, calls) in found.items():
        properties = {"from": ", ".join(sorted(clients)), "asks": ", ".join(sorted(interfaces))}
        yield ShownFact("account", server, user, user, properties, tuple(sorted(calls)))


def _servers(view: CaptureView, interface: str) -> set[str]:
    """Returns the addresses of the machines that have facts about this interface: servers that shown calls ask through it."""
    contexts = view.analysis.calls.contexts_of(view.analysis.shown.numbers)
    return {context.server.ip for context, _ in contexts if context.interface.uuid == interface}


def sealed_calls(view: CaptureView) -> dict[str, list[int]]:
    """Returns the numbers of the shown calls that no key opened, by the label of their server: facts about this machine may be
    hidden in them."""
    calls = view.analysis.calls
    found: dict[str, list[int]] = {}
    shown = np.asarray(view.analysis.shown.numbers, np.int64)
    sealed = shown[calls.column("state")[shown - 1] == STATES.index("sealed")]
    contexts = calls.table.contexts
    for number, context in zip(sealed.tolist(), calls.column("context")[sealed - 1].tolist(), strict=True):
        found.setdefault(view.label(contexts[context].server.ip), []).append(number)
    return found


def _countersets(view: CaptureView) -> Iterator[ShownFact]:
    asked = _servers(view, perflib.INTERFACE)
    for ip, catalog in view.analysis.catalogs:
        if ip not in asked:
            continue
        for own, entry in catalog.countersets.items():
            guid = view.guids.get(own, own)
            yield ShownFact(
                "counterset", view.label(ip), guid, entry.label or own, _of_counterset(entry) | {"GUID": own}
            )
            for number, counter in entry.counters.items():
                properties = _described(counter) | {
                    str(key): str(value) for key, value in (counter.info or {}).items() if key != "counter_id"
                }
                name = f"{entry.label or own}: {counter.label or number}"
                yield ShownFact("counter", view.label(ip), f"{guid} {number}", name, properties)


def guids_of_the_same(a: CaptureView, b: CaptureView) -> dict[str, str]:
    """Maps, for facts about countersets of a machine, a GUID of B to the GUID in A, if countersets of one name have different GUIDs
    there."""
    of_a, of_b = _guids_by_name(a), _guids_by_name(b)
    kept = set(of_a.values()) & set(of_b.values())
    pairs = ((of_b[key], guid) for key, guid in of_a.items() if key in of_b)
    return {other: guid for other, guid in pairs if kept.isdisjoint((other, guid))}


def _guids_by_name(view: CaptureView) -> dict[tuple[str, str], str]:
    """Returns the GUIDs of countersets that facts name, by machine and name, for names that only one counterset has."""
    found: dict[tuple[str, str], list[str]] = {}
    for ip, catalog in view.analysis.catalogs:
        for guid, entry in catalog.countersets.items():
            if entry.label is not None:
                found.setdefault((view.label(ip), entry.label), []).append(guid)
    return {key: guids[0] for key, guids in found.items() if len(guids) == 1}


def _of_counterset(entry: CountersetEntry) -> dict[str, str]:
    stated = {
        "provider": entry.provider_name,
        "provider GUID": entry.provider_guid,
        "instance type": str(entry.instance_type) if entry.instance_type is not None else None,
    }
    return _described(entry) | {key: text for key, text in stated.items() if text is not None}


def _described(one: Described) -> dict[str, str]:
    found = {"English name": one.english.text} if one.english is not None else {}
    for what, texts in (("name", one.names), ("help", one.helps)):
        for language, text in texts:
            found[f"{what} in {language:#06x}"] = text.text
    return found


def _titles(view: CaptureView) -> Iterator[ShownFact]:
    """Yields facts about the names of objects and counters in a machine's registry name tables."""
    asked = _servers(view, winreg.INTERFACE)
    for ip, table in view.analysis.name_tables:
        if ip not in asked:
            continue
        by_index: dict[int, dict[str, str]] = {}
        for language, entries in table.reported.items():
            for index, text in entries.items():
                by_index.setdefault(index, {})[f"text in {language}"] = text
        for index, properties in by_index.items():
            name = next(iter(properties.values()))
            yield ShownFact("counter", view.label(ip), f"title {index}", f"title index {index} {name}", properties)


def _services(view: CaptureView) -> Iterator[ShownFact]:
    """Yields facts about services that calls made, changed, queried, started or stopped, as the last call states them."""
    analysis = view.analysis
    found: dict[tuple[str, str], tuple[dict[str, str], list[int]]] = {}
    shown = ShownCalls(analysis)
    for at in shown.numbers[shown.is_of(scmr.INTERFACE)].tolist():
        call = analysis.calls[at - 1]
        facts = service_facts(call)
        if facts is None or facts.name is None or call.outcome != "answered":
            continue
        properties, calls = found.setdefault((view.label(call.server.ip), facts.name), ({}, []))
        calls.append(at)
        for key, value in (
            ("shown as", facts.display_name),
            ("runs", facts.image_path),
            ("account", facts.account),
            ("start", facts.start),
            ("arguments", " ".join(facts.arguments) if facts.arguments is not None else None),
        ):
            if value is not None:
                properties[key] = value
    for (server, name), (properties, calls) in found.items():
        yield ShownFact("service", server, name.casefold(), name, properties, tuple(calls))


def process_facts(a: CaptureView, b: CaptureView) -> tuple[list[ShownFact], list[ShownFact]]:
    """Returns the process facts of both sides of `diff`. Processes that are paired have the same key: those of the same name and
    id, then the n-th others of a name."""
    of_a, of_b = processes_by_name(a), processes_by_name(b)
    found: tuple[list[ShownFact], list[ShownFact]] = ([], [])
    for key in dict.fromkeys([*of_a, *of_b]):
        ones, others = of_a.get(key, []), of_b.get(key, [])
        both = {one.pid for one in ones} & {one.pid for one in others}
        for records, facts in ((ones, found[0]), (others, found[1])):
            ordered = sorted(records, key=lambda one: (one.pid not in both, one.pid if one.pid in both else 0))
            facts += [process_fact(one, key[0], number) for number, one in enumerate(ordered)]
    return found


def processes_by_name(view: CaptureView) -> dict[tuple[str, str], list[ProcessRecord]]:
    """Groups the processes of a side of `diff` by machine and name."""
    found: dict[tuple[str, str], list[ProcessRecord]] = {}
    for one in view.processes:
        found.setdefault((view.label(one.server_ip), one.name.casefold()), []).append(one)
    return found


def process_fact(one: ProcessRecord, machine: str, number: int) -> ShownFact:
    """Makes the fact about a process on a machine. Its id is not a property."""
    properties = {"parent": one.parent_name} if one.parent_name is not None else {}
    properties["odd"] = ", ".join(sorted(mark.kind for mark in one.oddities)) or "no"
    pid = f" (pid {one.pid})" if one.pid is not None else ""
    return ShownFact(
        "process", machine, f"{one.name.casefold()} {number}", f"{one.name}{pid}", properties, (one.first_call,)
    )


def by_identity(facts: Iterable[ShownFact]) -> dict[tuple[Subject, str | None, str], ShownFact]:
    """Returns the facts about machines by identity, in the order of the report."""
    return {one.identity: one for one in sorted(facts, key=lambda one: SUBJECTS.index(one.about))}


def properties_that_differ(a: Mapping[str, str], b: Mapping[str, str]) -> Sequence[tuple[str, str, str]]:
    """Returns name and both values of each property of a machine's fact that differs; properties of only one side are left out."""
    return [(key, a[key], b[key]) for key in a if key in b and a[key] != b[key]]
