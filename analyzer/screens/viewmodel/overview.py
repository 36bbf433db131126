"""Makes the overview that a display begins with: files and digests, hosts, identities, and what could not be read.

First comes the account: one line for each machine and kind of observation, with sums over them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import UNSET

from analyzer.core.events import Problem
from analyzer.core.printable_text import shortened
from analyzer.interfaces.call_contents.call_records import all_problems
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.questions.observations.observation_making import Scene
from analyzer.questions.observations.observations import observations
from analyzer.questions.processes.process_records import MARK_WORDS, ProcessTable, ProcessValues
from analyzer.questions.statistics.call_statistics import identity_stats, method_stats, totals_of
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import CallOutcome
from analyzer.results.records.display_records import (
    AccountLine,
    FileView,
    HostView,
    IdentityView,
    Overview,
    ProblemView,
    ProcessView,
)
from analyzer.results.records.observation import SEVERITIES, Observation, ObservationKind
from analyzer.results.security import who_words
from analyzer.screens.viewmodel.call_list import frame_label
from analyzer.screens.viewmodel.call_summary_words import parent_words
from analyzer.screens.viewmodel.session_words import session_words
from analyzer.screens.viewmodel.unread import alike, decrypted, incomplete, key_hint, nothing_decrypted

# ----------------------------------------------------------------------------------------------------------------- account


_MOST_NAMED = 3
_MOST_CALLERS = 2
_MOST_CALLS = 16
_SHOWN_OBJECT = 160
_ENDINGS: Mapping[CallOutcome | None, str] = {
    "refused": "refused",
    "asked": "without an answer",
    "unreadable": "not read",
}
# Kinds whose words already say the outcome.
_ENDED: frozenset[ObservationKind] = frozenset(
    {"refused-logon", "refused-call", "encrypted", "files-unread", "losses", "altered"}
)
# By kind: the words for observations, the words if no answer shows that the deed was done, and the noun that they count.
_WORDS: Mapping[ObservationKind, tuple[str, str, str]] = {
    "process-list": ("process list read", "", "answer"),
    "odd-process": ("process with an odd name or parent seen", "", "answer"),
    "anonymous": ("let in without a name", "", "call or session"),
    "guest": ("let in as a guest", "", "call or session"),
    "foreign-handle": ("handles of others used", "", "call"),
    "service": ("service created", "tried to create a service", "call"),
    "service-change": ("service changed", "tried to change a service", "call"),
    "service-start": ("service started", "tried to start a service", "call"),
    "service-stop": ("service stopped", "tried to stop a service", "call"),
    "service-delete": ("service deleted", "tried to delete a service", "call"),
    "service-list": ("services listed", "tried to list services", "call"),
    "task": ("task registered", "tried to register a task", "call"),
    "task-start": ("task started", "tried to start a task", "call"),
    "task-delete": ("task deleted", "tried to delete a task", "call"),
    "task-list": ("tasks listed", "tried to list tasks", "call"),
    "account-change": ("accounts or groups changed", "tried to change accounts or groups", "call"),
    "account-list": ("accounts or groups listed", "tried to list accounts or groups", "call"),
    "account-query": ("accounts or groups looked up", "tried to look up accounts or groups", "call"),
    "session-list": ("sessions listed", "tried to list sessions", "call"),
    "share-change": ("shares changed", "tried to change shares", "call"),
    "share-list": ("shares listed", "tried to list shares", "call"),
    "replication": ("changes of the directory asked for", "tried to get changes of the directory", "call"),
    "machine-account": ("machine account used", "tried to use a machine account", "call"),
    "coerced-access": ("access to a path asked for", "", "call"),
    "driver": ("printer driver added", "tried to add a printer driver", "call"),
    "shutdown": ("shutdown started", "tried to start a shutdown", "call"),
    "log-cleared": ("event log cleared", "tried to clear an event log", "call"),
    "program-written": ("program written to an administrative share", "", "file"),
    "file-change": ("files created, written, renamed or deleted", "", "file"),
    "file-read": ("files read", "", "file"),
    "file-open": ("files or directories opened", "tried to open files or directories", "open"),
    "files-unread": ("files not told of", "", "session"),
    "registry-write": ("registry written", "tried to write the registry", "call"),
    "registry-delete": ("registry values or keys deleted", "tried to delete registry values or keys", "call"),
    "registry-save": ("registry saved to a file", "tried to save the registry to a file", "call"),
    "registry-read": ("registry read", "tried to read the registry", "call"),
    "logged-on-sessions": ("sessions of users read", "", "answer"),
    "network": ("network counters read", "", "answer"),
    "attempt": ("counters asked for, and not read", "", "call"),
    "enumeration": ("counters enumerated", "tried to enumerate counters", "call"),
    "logon": ("logged on", "tried to log on", "logon"),
    "refused-logon": ("logons refused", "", "logon"),
    "refused-call": ("performance calls refused", "", "call"),
    "irregular-polling": ("polled irregularly", "", "poll"),
    "encrypted": ("stayed encrypted", "", "call or message"),
    "counters": ("counters read", "", "answer"),
    "polling": ("polled", "", "poll"),
    "client-program": ("client program like", "", "connection"),
    "altered": ("perhaps changed by others (a signature does not fit)", "", "call or message"),
    "losses": ("could not be read", "", "place"),
    "other-calls": ("other calls", "", "call"),
}


def account_lines(observations: Iterable[Observation]) -> tuple[AccountLine, ...]:
    """Returns the overview's account of a capture, in lines. The machine with the gravest observations is first; observations about
    no machine are last. With several files, each line names the files of its observations."""
    groups: dict[tuple[str, ObservationKind], list[Observation]] = {}
    files: set[str] = set()
    names: dict[str, dict[str, None]] = {}
    for one in observations:
        files.add(one.file)
        if one.who is not None and one.server_name not in (None, one.who.server_ip):
            names.setdefault(one.who.server_ip, {})[one.server_name] = None
        groups.setdefault((one.who.server_ip if one.who is not None else "", one.kind), []).append(one)
    order: dict[str, int] = {}
    for server, _ in sorted(groups, key=lambda key: (not key[0], _rank(groups[key]))):
        order.setdefault(server, len(order))
    ordered = sorted(groups, key=lambda key: (order[key[0]], _rank(groups[key])))
    machines = {server: f"{', '.join([*names[server]][:_MOST_NAMED])} ({server})" for server in names}
    return tuple(_account_line(machines.get(key[0], key[0]), groups[key], has_files=len(files) > 1) for key in ordered)


def _rank(found: Sequence[Observation]) -> int:
    return min(SEVERITIES.index(one.severity) for one in found)


def _account_line(machine: str, found: Sequence[Observation], *, has_files: bool) -> AccountLine:
    """Makes the line of the overview for all observations of one machine and kind."""
    first = min(found, key=lambda one: SEVERITIES.index(one.severity))
    times = [time for one in found for time in (one.first_time_ns, one.last_time_ns) if time is not None]
    return AccountLine(
        machine=machine or "the whole capture",
        severity=first.severity,
        kind=first.kind,
        words=_account_words(found) + (f"; in {_account_files(found)}" if has_files else ""),
        count=sum(one.count for one in found),
        observations=len(found),
        first_time_ns=min(times, default=None),
        last_time_ns=max(times, default=None),
        call_numbers=tuple(number for one in found for number in one.call_numbers)[:_MOST_CALLS],
        frames=tuple(sorted({frame for one in found for frame in one.frames}))[:_MOST_CALLS],
    )


def _account_files(found: Sequence[Observation]) -> str:
    """Lists the files of the observations in a line of the overview: `a.pcap`, `12 files, the first a.pcap`."""
    names = list(dict.fromkeys(one.file for one in found))
    return names[0] if len(names) == 1 else f"{len(names):,} files, the first {names[0]}"


def _account_words(found: Sequence[Observation]) -> str:
    """Describes in a line of the overview the observations of a kind: `service created: PSEXESVC which runs "x.exe"; by LAB\\admin
    from 10.0.0.2; 2 calls, 1 refused`."""
    title, tried, noun = _WORDS[found[0].kind]
    if tried and not any(one.outcome == "answered" and one.reason is None for one in found):
        # Without a captured answer, it may have been done.
        title = tried if any(one.outcome == "refused" for one in found) else tried.replace("tried to", "asked to")
    objects, callers = _account_objects(found), _account_callers(found)
    words = [f"{title}: {objects}" if objects else title] + ([f"by {callers}"] if callers else [])
    total = sum(one.count for one in found)
    words.append(f"{total:,} {noun if total == 1 else ' or '.join(f'{word}s' for word in noun.split(' or '))}")
    for outcome, ending in _ENDINGS.items():
        count = sum(one.count for one in found if one.outcome == outcome)
        if count and found[0].kind not in _ENDED:
            words[-1] += f", {count:,} {ending}"
    if (altered := sum(one.altered or 0 for one in found)) and found[0].kind not in _ENDED:
        words[-1] += f", {altered:,} perhaps changed by others"
    techniques = dict.fromkeys(technique for one in found for technique in one.techniques)
    attacks = dict.fromkeys(code for one in found for code in one.attacks)
    return "; ".join([*words, f"looks like {', '.join(techniques)} ({', '.join(attacks)})"] if attacks else words)


def _account_objects(found: Sequence[Observation]) -> str:
    """Lists the first objects of observations in a line of the overview, with details: services, files, counters and so on."""
    if found[0].kind == "other-calls":
        interfaces = Counter[str]()
        for one in found:
            name = one.objects[0].partition(".")[0]
            interfaces[name if name != "unknown" else "an unknown interface"] += one.count
        words = [f"{name} {count:,}" for name, count in interfaces.most_common()]
    elif found[0].kind == "client-program":
        # A program's connections show different numbers of marks: the first connection is shown.
        words = [f"{name} {detail}" for name, detail in {one.objects[0]: one.detail for one in reversed(found)}.items()]
    else:
        objects = (([shortened(name, _SHOWN_OBJECT) for name in one.objects], one.detail) for one in found)
        words = [" ".join(filter(None, (", ".join(names[:_MOST_NAMED]), detail))) for names, detail in objects]
    words = list(dict.fromkeys(filter(None, words)))
    more = len(words) - _MOST_NAMED
    return "; ".join(words[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _account_callers(found: Sequence[Observation]) -> str:
    """Lists the first callers in a line of the overview: users, and the addresses they came from."""
    names = [f"{one.who.name} from {one.who.client_ip}" for one in found if one.who is not None]
    callers = list(dict.fromkeys(names))
    more = len(callers) - _MOST_CALLERS
    return ", ".join(callers[:_MOST_CALLERS]) + (f" and {more:,} more" if more > 0 else "")


# ---------------------------------------------------------------------------------------------------------------- overview


_FRAMES_SHOWN = 12
# As many processes as a display holds with ease. `processes` prints all.
MAX_PROCESSES = 5_000


def overview_of(analysis: Analysis, processes: ProcessValues | None = None) -> Overview:
    """Makes the overview of a capture: files, account, processes, hosts, identities, problems. `processes` has their values, if all
    readings were read before."""
    facts = analysis.capture
    digests = {digest.name: digest for digest in facts.digests}
    files = (
        FileView(name, digests[name].size, digests[name].sha256) if name in digests else FileView(name, None, None)
        for name in facts.files
    )
    scene = Scene(analysis, processes)
    table = scene.processes
    rows = _shown_rows(table)
    damages = scene.damages
    stats = method_stats(analysis, damages)
    total = totals_of(stats)
    methods = Counter({f"{one.interface}.{one.method}": one.calls for one in stats})
    return Overview(
        files=tuple(files),
        frames=facts.frames,
        bytes=facts.bytes,
        redacted=facts.redacted,
        first_time_ns=facts.first_time_ns,
        last_time_ns=facts.last_time_ns,
        calls=total.calls,
        failed=total.failed,
        unanswered=total.unanswered,
        unread=total.unread,
        account=account_lines(observations(scene, ", ".join(facts.files))),
        processes=tuple(_processes(table, rows)),
        processes_left_out=len(table) - len(rows) or UNSET,
        methods=dict(methods.most_common()),
        sessions=tuple(session_words(session) for session in analysis.sessions),
        hosts=_hosts(analysis),
        identities=_identities(analysis, damages),
        decrypted=decrypted(analysis),
        undecrypted=nothing_decrypted(analysis),
        hint=key_hint(analysis),
        incomplete=incomplete(analysis),
        problems=tuple(_problem(group, analysis) for group in alike(all_problems(analysis, damages))),
    )


def _shown_rows(table: ProcessTable) -> Sequence[int]:
    """Returns the rows of the processes that the overview shows. If there are too many, the odd ones come before others."""
    if len(table) <= MAX_PROCESSES:
        return range(len(table))
    odd = [row for row, marks in enumerate(table.oddities) if marks][:MAX_PROCESSES]
    others = (row for row, marks in enumerate(table.oddities) if not marks)
    return sorted([*odd, *islice(others, MAX_PROCESSES - len(odd))])


def _processes(table: ProcessTable, rows: Sequence[int]) -> Iterator[ProcessView]:
    """Yields these processes of machines for the overview. It makes no record of each: that would search all answers for values."""
    for row in rows:
        server, name, pid, _ = table.keys[row]
        first, last = table.first[row], table.last[row]
        yield ProcessView(
            server,
            name,
            pid,
            parent_words(table.parent_pids[row], table.parent_names[row]),
            tuple(f"{MARK_WORDS[mark.kind]}: {mark.reason}" for mark in table.oddities[row]),
            table.answers[row],
            first.first_time_ns,
            last.last_time_ns,
            first.first_call,
        )


def _hosts(analysis: Analysis) -> tuple[HostView, ...]:
    return tuple(
        HostView(
            host.ip,
            host.roles,
            tuple((name.name, name.source) for name in host.names),
            host.users,
            host.os_versions,
        )
        for host in host_records(analysis)
    )


def _identities(analysis: Analysis, damages: Damages) -> tuple[IdentityView, ...]:
    return tuple(
        IdentityView(
            who_words(one.user, one.claimed_user, one.later_user) if one.user is not None else None,
            one.client_ip,
            one.server_ip,
            ", ".join(one.security),
            one.calls,
            one.failed,
            one.unread,
        )
        for one in identity_stats(analysis, damages)
    )


def _problem(group: list[Problem], analysis: Analysis) -> ProblemView:
    first = group[0]
    frames = tuple(frame_label(frame, analysis.capture) for frame in first.frames[:_FRAMES_SHOWN])
    left_out = len(first.frames) - len(frames)
    return ProblemView(first.kind, first.layer, first.text, len(group), frames, left_out)
