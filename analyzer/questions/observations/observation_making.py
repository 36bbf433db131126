"""The parts of observations: the view of an analysis that they share (`Scene`), and an observation without a rank (`Draft`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from analyzer.core.caches import cached_property
from analyzer.core.printable_text import counted
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.interfaces.call_contents.machine_names import machine_names
from analyzer.questions.processes.process_records import ProcessTable, ProcessValues, process_table
from analyzer.questions.statistics.call_statistics import who_of
from analyzer.questions.statistics.shown_call_columns import ShownCalls
from analyzer.questions.statistics.who_looked_at_what import findings
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, CallOutcome
from analyzer.results.calls.call_row_columns import Context
from analyzer.results.methods.return_kinds import ReturnKind
from analyzer.results.next_command import next_command
from analyzer.results.records.observation import Confidence, ObservationKind, Severity
from analyzer.results.records.statistics import Who
from analyzer.transport.rpc.rpc_names import fault_words

if TYPE_CHECKING:
    from analyzer.questions.statistics.shown_call_columns import Mask, Numbers

_MOST_NAMES = 5
# The severity of a refused deed, by the severity of the deed.
LESS: Mapping[Severity, Severity] = {"high": "medium", "medium": "info", "info": "info"}
OUTCOMES: tuple[CallOutcome, ...] = ("answered", "refused", "asked", "unreadable")


class Draft(Struct, kw_only=True):
    """An observation that has no rank yet. Without `frames`, its frames are those of its `calls`. `altered` counts those of what it
    counts that others may have changed."""

    severity: Severity
    kind: ObservationKind
    text: str
    command: str
    who: Who | None = None
    objects: Sequence[str] = ()
    detail: str | None = None
    outcome: CallOutcome | None = None
    reason: str | None = None
    count: int = 0
    altered: int = 0
    calls: Sequence[int] = ()
    frames: Sequence[int] | None = None
    stub_bytes: int | None = None
    logons: Sequence[str] = ()
    first_time_ns: int | None = None
    last_time_ns: int | None = None
    # What it looks like: codes of attacks, with their techniques, and why.
    attacks: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    whys: tuple[str, ...] = ()
    confidence: Confidence = "certain"


class Deed(Struct, frozen=True):
    """The deed of a method's calls, for observations: `created the service`, `create the service`, and the word before the
    machine's name."""

    kind: ObservationKind
    severity: Severity
    done: str
    to_do: str
    where: str = "on"


class Scene:
    """The view of an analysis that all its observations share. It has the shown calls, which of them are about performance, their
    outcomes, what was found of counters, and the names of machines."""

    def __init__(self, analysis: Analysis, process_values: ProcessValues | None = None) -> None:
        """`process_values` are those of all processes, if all readings were read before."""
        self.analysis, self.damages = analysis, Damages()
        self._process_values = process_values
        # Reading the polls also finds damaged answers, so that no buffer is decoded twice.
        self.found = findings(analysis, self.damages)
        self.calls = ShownCalls(analysis)
        self.performance = self.calls.may_be_performance()
        # Those of them of which the capture shows it.
        self.certain: Mask = self.performance & ~self.calls.may_be_others()
        self.outcomes = _outcomes(self.calls)
        self.names = {ip: names[0] for ip, names in machine_names(analysis).items()}
        # Calls that are not about performance and have no observation yet.
        self.left: Mask = ~self.performance

    @cached_property
    def processes(self) -> ProcessTable:
        """Returns the processes that answers show, machine by machine, for observations."""
        return process_table(self.analysis, self.found, self._process_values)

    @cached_property
    def processes_seen(self) -> Counter[tuple[str, str | None, str]]:
        """Counts the processes that somebody saw, by machine, account and client, for making observations of them."""
        found: Counter[tuple[str, str | None, str]] = Counter()
        for seen_by, count in Counter(self.processes.seen_by).items():
            for key in {(seen.server_ip, seen.user, seen.client_ip) for seen in seen_by}:
                found[key] += count
        return found

    @cached_property
    def altered_sessions(self) -> frozenset[int]:
        """Returns the numbers of the SMB sessions of which messages have a wrong signature, for making observations of them."""
        return frozenset(one.number for one in self.analysis.shown_sessions if one.wrong_signatures)

    def command(self, command: str, *words: str, filter: str | None = None, interfaces: Sequence[str] = ()) -> str:
        """Returns the command that an observation in the making has: it shows more of it."""
        return next_command(self.analysis, command, *words, filter=filter, interfaces=interfaces)

    def counted(self, places: Numbers) -> str:
        """Counts calls that are or may be about performance, for observations: `2 calls that may be performance calls`."""
        certain = int(self.certain[places].sum())
        if certain == len(places):
            return counted(certain, "performance call")
        are = "are or may" if certain else "may"
        return counted(len(places), "call that may be a performance call", f"calls that {are} be performance calls")

    def host(self, ip: str) -> str:
        """Returns a machine's name and address for an observation."""
        name = self.names.get(ip)
        return f"{name} ({ip})" if name and name != ip else ip

    def caller(self, who: Who) -> str:
        """Returns the caller in an observation: an account and its machine."""
        return f"{who.name if who.user is not None else 'an unknown user'} from {self.host(who.client_ip)}"

    def of_calls(
        self,
        severity: Severity,
        kind: ObservationKind,
        text: str,
        command: str,
        numbers: Iterable[int],
        who: Who | None,
    ) -> Draft:
        """Makes the draft of an observation of some calls."""
        calls = sorted(set(numbers))
        places = np.searchsorted(self.calls.numbers, calls)
        lengths = self.calls.column("request_wire_length"), self.calls.column("response_wire_length")
        times = self.calls.column("first_time")
        logons = dict.fromkeys(one.auth.logon for one in self.calls.contexts(places) if one.auth.logon is not None)
        return Draft(
            severity=severity,
            kind=kind,
            text=text,
            command=command,
            who=who,
            count=len(calls),
            altered=int(self.calls.altered[places].sum()),
            calls=calls,
            stub_bytes=sum(int(column[places].sum()) for column in lengths),
            logons=tuple(logons),
            first_time_ns=int(times[places[0]]),
            last_time_ns=int(times[places[-1]]),
        )

    def deed(
        self,
        deed: Deed,
        outcome: CallOutcome,
        who: Who,
        places: Numbers,
        objects: Sequence[str],
        command: str,
        *,
        detail: str | None = None,
        words: str | None = None,
    ) -> Draft:
        """Makes the draft of an observation of calls that did one deed with one outcome. `words` name its objects if `objects` do
        not."""
        what = listed(objects) if words is None else words
        what = f" {what}" if what else ""
        is_known = deed.kind == "other-calls" or bool((self.calls.column("status")[places] >= 0).any())
        reason = self._reason(outcome, places)
        verb = deed.done
        if outcome == "refused":
            verb = f"tried to {deed.to_do}"
        elif outcome != "answered" and deed.kind != "other-calls":
            verb = f"asked to {deed.to_do}"
        elif not is_known:
            verb, reason = f"asked to {deed.to_do}", "what the server answered is not decoded"
        text = f"{self.caller(who)} {verb}{what} {deed.where} {self.host(who.server_ip)}"
        text += f", {detail}" if detail is not None else ""
        text += f", in {len(places):,} calls" if len(places) > 1 else ""
        text += f": {reason}" if reason is not None else ""
        # Without a captured answer, the deed may have been done: its severity stays.
        severity = deed.severity if outcome != "refused" else LESS[deed.severity]
        made = self.of_calls(severity, deed.kind, text, command, self.calls.numbers[places].tolist(), who)
        made.objects, made.detail, made.outcome, made.reason = tuple(objects), detail, outcome, reason
        self.left[places] = False
        return made

    def _reason(self, outcome: CallOutcome, places: Numbers) -> str | None:
        """Says why observed calls with this outcome were refused or could not be read; None if they were answered."""
        match outcome:
            case "answered":
                return None
            case "asked":
                return "no answer was captured"
            case "unreadable":
                states = (self._lack(places) if one == "partial" else one for one in self.calls.values("state", places))
                return f"the answer could not be read ({listed(states)})"
        columns = self.calls.column("status"), self.calls.return_kinds, self.calls.column("fault")
        codes = Counter(zip(*(column[places].tolist() for column in columns), strict=True))
        return listed(_refusal(*code) for code, _ in codes.most_common())

    def _lack(self, places: Numbers) -> str:
        """Says what was not captured of observed calls that are partial."""
        if all(one.interface.uuid is None for one in self.calls.contexts(places)):
            return "the interface is not known, for its bind was not captured"
        if bool((self.calls.column("request_side")[places] < 0).all()):
            return "the request was not captured"
        return "a part of the call was not captured"

    def looked_at(self, places: Numbers) -> list[Call]:
        """Returns the calls at these places among the observed ones."""
        which = np.zeros(len(self.calls), np.bool_)
        which[places] = True
        return [call for _, call in self.calls.looked_at(which)]


def _outcomes(calls: ShownCalls) -> Numbers:
    """Returns the outcome of each observed call (`Call.outcome`), as its index in `OUTCOMES`."""
    is_asked = (calls.column("response_side") < 0) & calls.is_one("state", "request-only", "sealed")
    found = np.where(is_asked, OUTCOMES.index("asked"), OUTCOMES.index("unreadable"))
    found[calls.is_one("state", "complete")] = OUTCOMES.index("answered")
    found[calls.refused] = OUTCOMES.index("refused")
    return found


def _refusal(status: int, kind: int, fault: int) -> str:
    """Returns the name of the status or fault that refused a call, for making an observation of it."""
    if fault >= 0:
        return fault_words(fault)
    return ReturnKind(kind).words_of(status)


def who_in(context: Context) -> Who:
    """Returns who made the observed calls of this context."""
    return Who(*who_of(context))


def listed(names: Iterable[str]) -> str:
    """Lists names in an observation: the first distinct ones, and how many more there are."""
    distinct = list(dict.fromkeys(names))
    more = len(distinct) - _MOST_NAMES
    return ", ".join(distinct[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")
