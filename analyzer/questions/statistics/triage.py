"""What a responder needs first of a capture: an analysis in, records of `model.triage` out, the gravest findings first.

Nothing here judges intent: a monitoring system reads process lists too. Severity says how much a reader learns about a machine,
or how far a client left the usual way: `high` for process lists, anonymous callers, handles of others and new services; `medium`
for sessions, network counters, enumeration, refusals, irregular intervals and whatever stayed encrypted; `info` for the rest.
What was asked for and not answered with data is no read: it is one step below.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from msgspec import Struct

from analyzer.core.events import Problem
from analyzer.core.frames import number_of
from analyzer.core.ntstatus import nt_status_name
from analyzer.core.times import NS_PER_S
from analyzer.core.win32 import win32_name
from analyzer.interfaces.contents.damages import Damages
from analyzer.interfaces.contents.lines import all_problems
from analyzer.interfaces.contents.machines import machine_names
from analyzer.questions.statistics.activity import SEALED, Activity, Findings, findings
from analyzer.questions.statistics.handles import shown_lifetimes
from analyzer.questions.statistics.shown import ShownCalls
from analyzer.questions.statistics.summary import interface_label, method_label, poll_stats, who_of
from analyzer.results import perflib
from analyzer.results.analysis import Analysis
from analyzer.results.call import Call, InterfaceFacts
from analyzer.results.call_rows import Context
from analyzer.results.connection import Logon
from analyzer.results.next_command import next_command
from analyzer.results.security import Decryption
from analyzer.results.service import service_facts
from analyzer.results.statistics import ImageRecord, Who
from analyzer.results.triage import (
    SEVERITIES,
    Outcome,
    Severity,
    TriageFile,
    TriageFinding,
    TriageHost,
    TriageKind,
    TriageProcess,
)

# So many calls and frames stand for all of a finding.
_MOST_NUMBERS = 16
_MOST_NAMES = 5
# Describing more countersets than a monitor has use for, or asking for every object there is.
_ENUMERATED_SETS = 10
_EVERYTHING = frozenset({"global", "costly", "metadataglobal", "metadatacostly"})
# Fewer polls have no rhythm; beyond this share of the median, the mean distance from it is no clockwork.
_FEWEST_POLLS = 5
_MOST_JITTER = 0.25
_MANY_REFUSED = 10
_ERROR_ACCESS_DENIED = 5
# What was asked for and not read matters less than what was read.
_LESS: Mapping[Severity, Severity] = {"high": "medium", "medium": "info", "info": "info"}
# Methods that make a machine run something new.
_SERVICE_METHODS = {
    "svcctl": (
        "RCreateServiceW",
        "RCreateServiceA",
        "RCreateServiceWOW64W",
        "RCreateServiceWOW64A",
        "RCreateWowService",
    ),
    "atsvc": ("NetrJobAdd",),
    "ITaskSchedulerService": ("SchRpcRegisterTask",),
}


class Triaged(Struct, frozen=True):
    """One file: its record, its findings by rank, and the processes by their first sighting."""

    file: TriageFile
    findings: tuple[TriageFinding, ...] = ()
    processes: tuple[TriageProcess, ...] = ()
    # The command that shows all of it.
    command: str | None = None


def unreadable(file: str, reason: str) -> Triaged:
    """A file that no analysis could be made of."""
    return Triaged(_file(file, "unreadable", reason, None, None, Findings((), (), 0), {}, ()))


def triage(analysis: Analysis, file: str, nothing: str | None) -> Triaged:
    """What the analysis of one file amounts to. `nothing` says why there is no performance call, None where there is one, or
    something that may hide one."""
    if nothing is None and analysis.part is not None and not (analysis.shown or analysis.shown_sessions):
        nothing = f"No call passes: {analysis.part.words}."
    if nothing is not None:
        return Triaged(_file(file, "nothing", nothing, analysis, None, Findings((), (), 0), {}, ()))
    calls, damages = _Calls(analysis), Damages()
    found = findings(analysis, damages)
    names = {ip: names[0] for ip, names in machine_names(analysis).items()}
    listed = sorted(
        _Search(analysis, calls, found, names, damages).all(),
        key=lambda item: (SEVERITIES.index(item.severity), item.first_time_ns or 0),
    )
    ranked = tuple(_ranked(item, rank, file, analysis) for rank, item in enumerate(listed, 1))
    outcome: Outcome = "performance traffic" if calls.performance.any() else "unclear"
    return Triaged(
        _file(file, outcome, _sentence(calls, analysis), analysis, calls, found, names, ranked),
        ranked,
        tuple(_processes(found.images, file, analysis, names)),
        next_command(analysis, "stats"),
    )


class _Calls(ShownCalls):
    """The calls that are shown, and which of them are about performance."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(analysis)
        self.performance = self.may_be_performance()


class _Item(Struct):
    """A finding before it has its rank."""

    severity: Severity
    kind: TriageKind
    text: str
    command: str
    who: Who | None = None
    count: int = 0
    calls: Sequence[int] = ()
    frames: Sequence[int] | None = None
    first_time_ns: int | None = None
    last_time_ns: int | None = None


class _Search:
    """Looks for everything that is worth a line."""

    def __init__(
        self,
        analysis: Analysis,
        calls: _Calls,
        found: Findings,
        names: dict[str, str],
        damages: Damages,
    ) -> None:
        self._analysis = analysis
        self._calls = calls
        self._found = found
        self._names = names
        self._damages = damages

    def all(self) -> Iterator[_Item]:
        yield from self._activities()
        yield from self._unauthenticated()
        yield from self._handles()
        yield from self._polling()
        yield from self._refused_logons()
        yield from self._refused_calls()
        yield from self._encrypted()
        yield from self._others()
        yield from self._losses()

    def _command(self, command: str, *words: str, filter: str | None = None, interfaces: Sequence[str] = ()) -> str:
        return next_command(self._analysis, command, *words, filter=filter, interfaces=interfaces)

    def _host(self, ip: str) -> str:
        name = self._names.get(ip)
        return f"{name} ({ip})" if name and name != ip else ip

    def _of_calls(
        self, severity: Severity, kind: TriageKind, text: str, command: str, numbers: Iterable[int], who: Who | None
    ) -> _Item:
        """A finding about some calls."""
        calls = sorted(set(numbers))
        times = [self._analysis.calls[number - 1].time_ns for number in (calls[0], calls[-1])]
        return _Item(severity, kind, text, command, who, len(calls), calls, None, times[0], times[1])

    # Who looked at what

    def _activities(self) -> Iterator[_Item]:
        by_who: dict[Who, list[Activity]] = {}
        for activity in self._found.activities:
            if activity.detail == SEALED:
                continue  # there is a finding about what stayed encrypted
            by_who.setdefault(activity.who, []).append(activity)
        for who, activities in by_who.items():
            yield from self._looked(who, activities)
            yield from self._enumerated(who, activities)

    def _looked(self, who: Who, activities: list[Activity]) -> Iterator[_Item]:
        looks: tuple[tuple[str | None, Severity, TriageKind, str], ...] = (
            ("process", "high", "process-list", "the process list of"),
            ("terminal-services", "medium", "logged-on-sessions", "the sessions of users of"),
            ("network", "medium", "network", "network counters of"),
            (None, "info", "counters", "other counters of"),
        )
        for category, severity, kind, what in looks:
            chosen = [one for one in activities if one.category == category and one.kind in ("poll", "list-instances")]
            if not chosen:
                continue
            what += f" {self._host(who.server_ip)}"
            if not any(one.read for one in chosen):
                yield self._asked(_LESS[severity], what, who, chosen)
                continue
            chosen = [one for one in chosen if one.read]
            numbers = [number for one in chosen for number in one.read]
            text = f"{_who(who)} read {what}"
            images = sum(image.server_ip == who.server_ip and _saw(who, image) for image in self._found.images)
            is_counted = kind == "process-list" and images
            text += f": {_count(images, 'process', 'processes') if is_counted else _named(chosen)}"
            text += f", in {_count(len(set(numbers)), 'answer')}"
            yield self._of_calls(severity, kind, text, self._command("stats"), numbers, who)

    def _asked(self, severity: Severity, what: str, who: Who, activities: Sequence[Activity]) -> _Item:
        """A finding about somebody who asked and was shown nothing."""
        numbers = [number for one in activities for number in one.calls]
        text = (
            f"{_who(who)} asked for {what}: {_named(activities)}, {_no_answer(activities)}, "
            f"in {_count(len(set(numbers)), 'call')}"
        )
        return self._of_calls(severity, "attempt", text, self._command("stats"), numbers, who)

    def _enumerated(self, who: Who, activities: list[Activity]) -> Iterator[_Item]:
        described = [one for one in activities if one.kind == "describe-counterset"]
        everything = [
            one
            for one in activities
            if one.detail is not None and any(f'"{word}"' in one.detail.lower() for word in _EVERYTHING)
        ]
        if len(described) >= _ENUMERATED_SETS:
            numbers = [number for one in activities for number in one.calls if one.kind != "poll"]
            text = (f"{_who(who)} asked {self._host(who.server_ip)} about {len(described)} countersets") + _unanswered(
                described
            )
            yield self._of_calls("medium", "enumeration", text, self._command("stats"), numbers, who)
        if everything:
            numbers = [number for one in everything for number in one.calls]
            text = (
                f"{_who(who)} asked {self._host(who.server_ip)} for everything: "
                f"{_count(sum(one.target is not None for one in everything), 'object')}"
            ) + _unanswered(everything)
            yield self._of_calls("medium", "enumeration", text, self._command("stats"), numbers, who)

    # Unusual callers, handles and rhythms

    def _unauthenticated(self) -> Iterator[_Item]:
        """Guests and null sessions."""
        kinds: tuple[tuple[TriageKind, str, str], ...] = (
            ("guest", "a guest", "SMB session of a guest"),
            ("anonymous", "an anonymous caller", "anonymous SMB session"),
        )
        for kind, caller, of_session in kinds:
            yield from self._let_in(kind, caller, of_session)

    def _let_in(self, kind: TriageKind, caller: str, of_session: str) -> Iterator[_Item]:
        calls = self._calls
        is_so = attrgetter("auth.guest" if kind == "guest" else "auth.anonymous")
        by_who = calls.by(_who_in, calls.performance & calls.in_context(lambda context: bool(is_so(context))))
        for who, places in by_who.items():
            numbers = calls.numbers[places].tolist()
            text = f"{_count(len(numbers), 'performance call')} of {caller} at {self._host(who.server_ip)}"
            if who.claimed_user is not None:
                text += f", who claimed to be {who.claimed_user}"
            command = self._command("timeline", filter=f"auth.{kind}")
            yield self._of_calls("high", kind, text, command, numbers, who)
        if by_who:
            return
        sessions = [
            one
            for one in self._analysis.shown_sessions
            if one.refused is None and (one.identity.is_guest if kind == "guest" else one.identity.is_anonymous)
        ]
        if sessions:
            first = sessions[0]
            claimed = _listed(one.identity.claimed_otherwise for one in sessions if one.identity.claimed_otherwise)
            yield _Item(
                "info",
                kind,
                f"{_count(len(sessions), of_session, of_session.replace('session', 'sessions'))}, without a performance call"
                + (f"; claimed to be {claimed}" if claimed else ""),
                self._command("sessions"),
                Who(first.identity.account, first.client.ip, first.server.ip, first.identity.claimed_otherwise),
                len(sessions),
                (),
                [frame for one in sessions for frame in one.frames],
                min(one.first_time_ns for one in sessions),
                max(one.last_time_ns for one in sessions),
            )

    def _handles(self) -> Iterator[_Item]:
        words = {
            "other-association": "used over an association that it was not given out on",
            "other-channel": "used over another open of the pipe than it was given out on",
            "after-close": "used after it was closed",
        }
        for lifetime in shown_lifetimes(self._analysis):
            by_violation: dict[str, list[int]] = {}
            for event in lifetime.events:
                for violation in event.violations:
                    by_violation.setdefault(violation, []).append(event.call)
            if lifetime.origin == "never opened":
                by_violation["never opened"] = [event.call for event in lifetime.events]
            for kind, numbers in by_violation.items():
                what = words.get(kind, "never given out in the connection that used it")
                call = self._analysis.calls[numbers[0] - 1]
                yield self._of_calls(
                    "high" if kind in ("never opened", "other-association") else "medium",
                    "foreign-handle",
                    f"query handle q{lifetime.number} of {self._host(lifetime.server.ip)} was {what}",
                    self._command("handles"),
                    numbers,
                    Who(*who_of(call)),
                )

    def _polling(self) -> Iterator[_Item]:
        for poll in poll_stats(self._analysis):
            median, jitter = poll.intervals_ns.median, poll.jitter_ns
            if poll.polls < _FEWEST_POLLS or median is None or jitter is None:
                continue
            is_irregular = median > 0 and jitter > _MOST_JITTER * median
            what = f"{poll.handle}" + (f' "{poll.what}"' if poll.what else "")
            text = f"{what} of {self._host(poll.server.ip)} was polled {poll.polls:,} times, every {_seconds(median)}"
            if is_irregular:
                text += f" but {_seconds(jitter)} off that on average: not a monitor's clockwork"
            call = self._analysis.calls[poll.first_call - 1]
            yield _Item(
                "medium" if is_irregular else "info",
                "irregular-polling" if is_irregular else "polling",
                text,
                self._command("stats"),
                Who(*who_of(call)),
                poll.polls,
                (poll.first_call, poll.last_call),
                None,
                poll.first_time_ns,
                poll.last_time_ns,
            )

    # Refusals

    def _refused_logons(self) -> Iterator[_Item]:
        groups: dict[tuple[str, str, int], list[Logon]] = {}
        shown = {session.number for session in self._analysis.shown_sessions}
        for logon in self._analysis.logons:
            if logon.by == "smb" and logon.refused is not None and logon.session in shown:
                groups.setdefault((logon.client.ip, logon.server.ip, logon.refused), []).append(logon)
        for (client, server, status), logons in groups.items():
            accounts = Counter(one.identity.who for one in logons)
            yield _Item(
                "high" if len(logons) >= _MANY_REFUSED else "medium",
                "refused-logon",
                f"{_count(len(logons), 'logon')} from {self._host(client)} at {self._host(server)} refused with "
                f"{nt_status_name(status)}: {_listed(account for account, _ in accounts.most_common())}",
                self._command("sessions"),
                Who(logons[0].identity.account, client, server),
                len(logons),
                (),
                [frame for one in logons for frame in one.frames],
                min(one.first_time_ns for one in logons),
                max(one.until_ns for one in logons),
            )

    def _refused_calls(self) -> Iterator[_Item]:
        calls = self._calls
        is_denied = (calls.column("status") == _ERROR_ACCESS_DENIED) | (calls.column("fault") == _ERROR_ACCESS_DENIED)
        for who, places in calls.by(_who_in, calls.performance & is_denied).items():
            numbers = calls.numbers[places].tolist()
            text = f"{_count(len(numbers), 'performance call')} of {_who(who)} refused: access denied"
            command = self._command("timeline", filter="status == 5 || fault == 5")
            yield self._of_calls("medium", "refused-call", text, command, numbers, who)

    # What is not known

    def _encrypted(self) -> Iterator[_Item]:
        sealed = self._calls.looked_at(self._calls.performance & self._calls.is_one("state", "sealed"))
        if sealed:
            numbers = sealed.numbers
            reasons = Counter(call.reason or "no key" for _, call in sealed)
            text = f"{_count(len(sealed), 'performance call')} stayed encrypted: {_listed(reasons)}"
            command = self._command("timeline", filter="state == sealed")
            yield self._of_calls("medium", "encrypted", text, command, numbers, Who(*who_of(sealed[0][1])))
        closed = [one for one in self._analysis.shown_sessions if one.encrypted_messages > one.decrypted_messages]
        if closed:
            count = sum(one.encrypted_messages - one.decrypted_messages for one in closed)
            reasons = Counter(one.reason or one.decryption.value for one in closed)
            yield _Item(
                "medium",
                "encrypted",
                f"{_count(count, 'SMB3 message')} in {_count(len(closed), 'session')} stayed encrypted, whatever is in them: "
                f"{_listed(reasons)}",
                self._command("sessions"),
                Who(closed[0].identity.account, closed[0].client.ip, closed[0].server.ip),
                count,
                (),
                [frame for one in closed for frame in one.frames],
                min(one.first_time_ns for one in closed),
                max(one.last_time_ns for one in closed),
            )

    def _others(self) -> Iterator[_Item]:
        calls, others = self._calls, ~self._calls.performance
        may_start = calls.in_context(lambda context: context.interface.name in _SERVICE_METHODS)
        started = [
            (number, call)
            for number, call in calls.looked_at(others & may_start)
            if method_label(call) in _SERVICE_METHODS[call.interface.name or ""]
        ]
        if started:
            methods = Counter(_set_up(call) for _, call in started)
            first = started[0][1]
            yield self._of_calls(
                "high",
                "service",
                f"a service or task was set up on {self._host(first.server.ip)}: {_listed(methods)}",
                self._command("timeline", interfaces=_interfaces(call.interface for _, call in started)),
                [number for number, _ in started],
                Who(*who_of(first)),
            )
        if others.any():
            by_interface = calls.by(attrgetter("interface"), others)
            counts = Counter[str]()
            for interface, places in by_interface.items():
                counts[interface_label(interface)] += len(places)
            words = [f"{name} {count:,}" for name, count in counts.most_common()]
            yield self._of_calls(
                "info",
                "other-calls",
                f"{_count(counts.total(), 'other DCERPC call')}: {_listed(words)}",
                self._command("timeline", interfaces=_interfaces(by_interface)),
                calls.numbers[others].tolist(),
                None,
            )

    def _losses(self) -> Iterator[_Item]:
        lost = [
            one
            for one in all_problems(self._analysis, self._damages)
            if one.kind in ("gap", "truncated", "malformed", "limit")
        ]
        if lost:
            kinds = Counter(one.kind for one in lost)
            # Behind what was lost may be what a selection asks for.
            where = "" if self._analysis.part is None else " in the whole capture"
            counts = _listed(f"{kind} {count:,}" for kind, count in kinds.most_common())
            yield _Item(
                "info",
                "losses",
                f"something could not be read{where}: {counts}",
                self._command("timeline", "--tail", "1"),
                None,
                len(lost),
                (),
                _frames_of_problems(lost),
            )


def _named(activities: Iterable[Activity]) -> str:
    return _listed(one.name or one.detail or str(one.target) for one in activities)


def _unanswered(activities: Sequence[Activity]) -> str:
    """What became of requests of which none was answered; nothing where one was."""
    return "" if any(one.read for one in activities) else f", {_no_answer(activities)}"


def _no_answer(activities: Sequence[Activity]) -> str:
    """Why nothing was read: `and was refused: ERROR_ACCESS_DENIED`."""
    endings = sum((Counter(one.unread) for one in activities), Counter[str]())
    words = endings if len(endings) == 1 else (f"{ending} {count:,}" for ending, count in endings.most_common())
    is_refused = sum(one.refused for one in activities) == endings.total()
    return f"and {'was refused' if is_refused else 'read nothing'}: {_listed(words)}"


def _saw(who: Who, image: ImageRecord) -> bool:
    return any((seen.user, seen.client_ip) == (who.user, who.client_ip) for seen in image.seen_by)


def _interfaces(interfaces: Iterable[InterfaceFacts]) -> tuple[str, ...]:
    # Calls whose bind was not captured have no interface to name.
    names = dict.fromkeys(interface_label(one) for one in interfaces if one.uuid is not None)
    return tuple(names)[:_MOST_NAMES]


def _frames_of_problems(problems: Iterable[Problem]) -> list[int]:
    return [frame for problem in problems for frame in problem.frames[:1]]


def _ranked(item: _Item, rank: int, file: str, analysis: Analysis) -> TriageFinding:
    calls = tuple(item.calls[:_MOST_NUMBERS])
    frames = item.frames
    if frames is None:
        frames = [frame for number in calls for frame in analysis.calls[number - 1].frames]
    return TriageFinding(
        file=file,
        rank=rank,
        severity=item.severity,
        kind=item.kind,
        text=item.text,
        who=item.who,
        count=item.count,
        call_numbers=calls,
        frames=_numbers(frames),
        first_time_ns=item.first_time_ns,
        last_time_ns=item.last_time_ns,
        command=item.command,
    )


def _processes(
    images: Iterable[ImageRecord], file: str, analysis: Analysis, names: dict[str, str]
) -> Iterator[TriageProcess]:
    # Many processes are seen first and last in the same two calls.
    frames: dict[tuple[int, int], tuple[int, ...]] = {}
    for image in images:
        first, last = ends = image.first_call, image.last_call
        if ends not in frames:
            frames[ends] = _numbers(analysis.calls[first - 1].frames[:1] + analysis.calls[last - 1].frames[-1:])
        yield TriageProcess(
            file=file,
            server_ip=image.server_ip,
            server_name=names.get(image.server_ip),
            name=image.name,
            pid=image.pid,
            answers=image.calls,
            first_time_ns=image.first_time_ns,
            last_time_ns=image.last_time_ns,
            seen_by=image.seen_by,
            frames=frames[ends],
        )


def _file(
    file: str,
    outcome: Outcome,
    text: str,
    analysis: Analysis | None,
    calls: _Calls | None,
    found: Findings,
    names: dict[str, str],
    ranked: Sequence[TriageFinding],
) -> TriageFile:
    facts = analysis.capture if analysis is not None else None
    who, sealed, times = list[Who](), 0, list[int]()
    if calls is not None:
        who = list(calls.by(_who_in, calls.performance))
        sealed = int((calls.performance & calls.is_one("state", "sealed")).sum())
        times = calls.column("first_time")[calls.performance].tolist()
    severities = Counter(finding.severity for finding in ranked)
    return TriageFile(
        file=file,
        outcome=outcome,
        text=text,
        frames=facts.frames if facts is not None else None,
        first_time_ns=facts.first_time_ns if facts is not None else None,
        last_time_ns=facts.last_time_ns if facts is not None else None,
        calls=len(analysis.shown) if analysis is not None else 0,
        performance_calls=len(times),
        encrypted_calls=sealed,
        first_performance_ns=times[0] if times else None,
        last_performance_ns=times[-1] if times else None,
        who=tuple(who),
        servers=tuple(TriageHost(ip, names.get(ip)) for ip in dict.fromkeys(one.server_ip for one in who)),
        processes=len(found.images),
        decrypted_with=tuple(dict.fromkeys(_keys_wanted(analysis, calls))) if analysis is not None else (),
        findings={severity: severities[severity] for severity in SEVERITIES if severities[severity]},
    )


def _sentence(calls: _Calls, analysis: Analysis) -> str:
    count = int(calls.performance.sum())
    if not count:
        kinds = _listed(Counter(problem.kind for problem in analysis.problems))
        if analysis.part is not None:
            unread = f"; what may hide some was not read: {kinds}" if kinds else ""
            return f"no performance call passes: {analysis.part.words}{unread}"
        return "no performance call was read" + (
            f", but something that may hide some was not: {kinds}" if kinds else ""
        )
    of_perflib = calls.is_of(perflib.INTERFACE)
    perflib_calls = int((calls.performance & of_perflib).sum())
    parts = [f"{perflib_calls:,} of PerflibV2"] if perflib_calls else []
    if registry := count - perflib_calls:
        parts.append(f"{registry:,} of the registry")
    return f"{_count(count, 'performance call')} ({' and '.join(parts)}) of {len(analysis.shown):,} DCERPC calls"


def _keys_wanted(analysis: Analysis, calls: _Calls | None) -> Iterator[str]:
    """What would decrypt the performance calls, and the SMB sessions, that no key decrypted."""
    for session in analysis.shown_sessions:
        if session.encrypted_messages > session.decrypted_messages and session.decryption in (
            Decryption.NO_KEY,
            Decryption.WRONG_KEY,
        ):
            yield _key_for(session.identity.mechanism, session.identity.claimed, session.identity.service)
        elif session.encrypted_messages > session.decrypted_messages and session.decryption is Decryption.NO_HANDSHAKE:
            yield f"the keys of SMB session {session.session_id:#x}, whose setup was not captured (--smb-session-key)"
    for auth in calls.by(attrgetter("security"), calls.performance) if calls is not None else ():
        if auth.decryption in (Decryption.NO_KEY, Decryption.WRONG_KEY) and auth.identity is not None:
            yield _key_for(auth.mechanism, auth.identity.account, auth.identity.service)


def _key_for(mechanism: str | None, account: str | None, service: str | None) -> str:
    if "krb5" in (mechanism or ""):
        return f"the keytab or password of the service {service or 'that was called'} (--keytab, --password)"
    return f"the password or NT hash of {account or 'the user'} (--password, --nt-hash)"


def _set_up(call: Call) -> str:
    """What was set up: a service and what it runs, where the call states that, else the method."""
    facts = service_facts(call)
    if facts is None or facts.name is None:
        return f"{interface_label(call.interface)}.{method_label(call)}"
    refused = f" (refused: {win32_name(call.status) or call.status})" if call.status else ""
    return f'service "{facts.name}"' + (f' runs "{facts.image_path}"' if facts.image_path else "") + refused


def _numbers(frames: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({number_of(frame) for frame in frames}))[:_MOST_NUMBERS]


def _who_in(context: Context) -> Who:
    return Who(*who_of(context))


def _who(who: Who) -> str:
    return who.name if who.user is not None else "an unknown user"


def _listed(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    more = len(distinct) - _MOST_NAMES
    return ", ".join(distinct[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def _seconds(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:,.3f} s"
