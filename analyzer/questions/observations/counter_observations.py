"""Makes observations of performance calls: who read which counters, who was refused, and unusual handles and polls.

Processes that counters showed have an observation if their names or parents are odd.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import get_args

from analyzer.core.printable_text import counted
from analyzer.core.times import NS_PER_S
from analyzer.questions.observations.observation_making import LESS, Draft, Scene, listed, who_in
from analyzer.questions.processes.process_records import MARK_WORDS
from analyzer.questions.statistics.call_statistics import poll_stats, who_of
from analyzer.questions.statistics.handle_lifetimes import shown_lifetimes
from analyzer.questions.statistics.who_looked_at_what import SEALED, Activity
from analyzer.results.calls.call import CallOutcome, CallState
from analyzer.results.records.observation import ObservationKind, Severity
from analyzer.results.records.statistics import Who

# An enumeration: a client describes at least this many countersets, more than a monitor needs, or asks for every object.
_ENUMERATED_SETS = 10
_EVERYTHING = frozenset({"global", "costly", "metadataglobal", "metadatacostly"})
# Fewer polls have no rhythm. Polling is irregular if the mean distance from the median interval exceeds this share of it.
_FEWEST_POLLS = 5
_MOST_JITTER = 0.25
_ERROR_ACCESS_DENIED = 5
_VIOLATIONS = {
    "other-association": "used over an association that it was not given out on",
    "other-channel": "used over another open of the pipe than it was given out on",
    "after-close": "used after it was closed",
}
_LOOKS: tuple[tuple[str | None, Severity, ObservationKind, str], ...] = (
    ("process", "high", "process-list", "the process list of"),
    ("terminal-services", "medium", "logged-on-sessions", "the sessions of users of"),
    ("network", "medium", "network", "network counters of"),
    (None, "info", "counters", "other counters of"),
)


def counter_drafts(scene: Scene) -> Iterator[Draft]:
    """Yields the observations of performance calls: what was read or polled, who was let in or refused, what stayed encrypted."""
    yield from _activities(scene)
    yield from _let_in(scene, "guest", "a guest")
    yield from _let_in(scene, "anonymous", "an anonymous caller")
    yield from _handles(scene)
    yield from _polling(scene)
    yield from _refused(scene)
    yield from _encrypted(scene)


# Who looked at what


def _activities(scene: Scene) -> Iterator[Draft]:
    by_who: dict[Who, list[Activity]] = {}
    for activity in scene.found.activities:
        if activity.detail == SEALED:
            continue  # there is an observation of what stayed encrypted
        by_who.setdefault(activity.who, []).append(activity)
    for who, activities in by_who.items():
        yield from _looked(scene, who, activities)
        yield from _enumerated(scene, who, activities)


def _looked(scene: Scene, who: Who, activities: list[Activity]) -> Iterator[Draft]:
    for category, severity, kind, what in _LOOKS:
        chosen = [one for one in activities if one.category == category and one.kind in ("poll", "list-instances")]
        if not chosen:
            continue
        what += f" {scene.host(who.server_ip)}"
        if not any(one.read for one in chosen):
            yield _asked(scene, LESS[severity], what, who, chosen)
            continue
        chosen = [one for one in chosen if one.read]
        numbers = [number for one in chosen for number in one.read]
        text = f"{scene.caller(who)} read {what}"
        processes = scene.processes_seen[who.server_ip, who.user, who.client_ip]
        is_counted = kind == "process-list" and processes
        text += f": {counted(processes, 'process', 'processes') if is_counted else listed(_names(chosen))}"
        text += f", in {counted(len(set(numbers)), 'answer')}"
        command = scene.command("processes" if is_counted else "counters")
        made = scene.of_calls(severity, kind, text, command, numbers, who)
        made.objects, made.outcome = _names(chosen), "answered"
        made.detail = f"with {counted(processes, 'process', 'processes')}" if is_counted else None
        yield made


def _asked(scene: Scene, severity: Severity, what: str, who: Who, activities: Sequence[Activity]) -> Draft:
    """Makes the observation that somebody asked for counters and read nothing."""
    numbers = [number for one in activities for number in one.calls]
    outcome, why = _no_answer(activities)
    text = f"{scene.caller(who)} asked for {what}: {listed(_names(activities))}, {why}"
    text += f", in {counted(len(set(numbers)), 'call')}"
    made = scene.of_calls(severity, "attempt", text, scene.command("stats"), numbers, who)
    made.objects, made.outcome, made.reason = _names(activities), outcome, why
    if outcome in ("asked", "unreadable"):
        made.whys = ("somebody asked, and what the answers showed is not known",)
    return made


def _enumerated(scene: Scene, who: Who, activities: list[Activity]) -> Iterator[Draft]:
    described = [one for one in activities if one.kind == "describe-counterset"]
    everything = [
        one
        for one in activities
        if one.detail is not None and any(f'"{word}"' in one.detail.lower() for word in _EVERYTHING)
    ]
    if len(described) >= _ENUMERATED_SETS:
        numbers = [number for one in activities for number in one.calls if one.kind != "poll"]
        text = f"{scene.caller(who)} asked {scene.host(who.server_ip)} about {len(described)} countersets"
        yield _enumeration(scene, text, numbers, who, described)
    if everything:
        numbers = [number for one in everything for number in one.calls]
        text = f"{scene.caller(who)} asked {scene.host(who.server_ip)} for everything"
        if count := sum(one.target is not None for one in everything):
            text += f": {counted(count, 'object')}"
        yield _enumeration(scene, text, numbers, who, everything)


def _enumeration(scene: Scene, text: str, numbers: Iterable[int], who: Who, activities: Sequence[Activity]) -> Draft:
    outcome: CallOutcome = "answered"
    reason = None
    if not any(one.read for one in activities):
        outcome, reason = _no_answer(activities)
        text += f", {reason}"
    made = scene.of_calls("medium", "enumeration", text, scene.command("stats"), numbers, who)
    made.objects, made.outcome, made.reason = _names(activities), outcome, reason
    return made


# Unusual callers, handles and rhythms


def _let_in(scene: Scene, kind: ObservationKind, caller: str) -> Iterator[Draft]:
    """Yields observations of performance calls of guests or of anonymous callers."""
    is_so = attrgetter(f"auth.{kind}")
    calls = scene.calls
    for who, places in calls.by(
        who_in, scene.performance & calls.in_context(lambda context: bool(is_so(context)))
    ).items():
        numbers = calls.numbers[places].tolist()
        text = f"{scene.counted(places)} of {caller} at {scene.host(who.server_ip)}"
        if who.claimed_user is not None:
            text += f", who claimed to be {who.claimed_user}"
        yield scene.of_calls("high", kind, text, scene.command("timeline", filter=f"auth.{kind}"), numbers, who)


def _handles(scene: Scene) -> Iterator[Draft]:
    for lifetime in shown_lifetimes(scene.analysis):
        by_violation: dict[str, list[int]] = {}
        for event in lifetime.events:
            for violation in event.violations:
                by_violation.setdefault(violation, []).append(event.call)
        if lifetime.origin == "never opened":
            by_violation["never opened"] = [event.call for event in lifetime.events]
        for kind, numbers in by_violation.items():
            what = _VIOLATIONS.get(kind, "never given out in the connection that used it")
            made = scene.of_calls(
                "high" if kind in ("never opened", "other-association") else "medium",
                "foreign-handle",
                f"query handle q{lifetime.number} of {scene.host(lifetime.server.ip)} was {what}",
                scene.command("handles"),
                numbers,
                Who(*who_of(scene.analysis.calls[numbers[0] - 1])),
            )
            made.objects, made.detail = (f"q{lifetime.number}",), what
            yield made


def _polling(scene: Scene) -> Iterator[Draft]:
    for poll in poll_stats(scene.analysis):
        median, jitter = poll.intervals_ns.median, poll.jitter_ns
        if poll.polls < _FEWEST_POLLS or median is None or jitter is None:
            continue
        # Losses leave fewer intervals than the polls have.
        is_known = poll.intervals_ns.count >= _FEWEST_POLLS - 1
        is_irregular = is_known and median > 0 and jitter > _MOST_JITTER * median
        what = f"{poll.handle}" + (f' "{poll.what}"' if poll.what else "")
        text = f"{what} of {scene.host(poll.server.ip)} was polled {poll.polls:,} times"
        # Whether all intervals are like those that are known, nobody knows.
        some = f"; {counted(poll.intervals_ns.count, 'interval')} known, {_seconds(median)} in the median"
        text += f", every {_seconds(median)}" if is_known else some
        if is_irregular:
            text += f" but {_seconds(jitter)} off that on average: not a monitor's clockwork"
        made = scene.of_calls(
            "medium" if is_irregular else "info",
            "irregular-polling" if is_irregular else "polling",
            text,
            scene.command("stats"),
            (poll.first_call, poll.last_call),
            Who(*who_of(scene.analysis.calls[poll.first_call - 1])),
        )
        # It counts all polls, but names only the first and the last call.
        made.objects, made.outcome, made.count, made.stub_bytes = (what,), "answered", poll.polls, None
        made.altered = poll.altered or 0
        yield made


def _refused(scene: Scene) -> Iterator[Draft]:
    calls = scene.calls
    is_denied = (calls.column("status") == _ERROR_ACCESS_DENIED) | (calls.column("fault") == _ERROR_ACCESS_DENIED)
    for who, places in calls.by(who_in, scene.certain & is_denied).items():
        numbers = calls.numbers[places].tolist()
        text = f"{counted(len(numbers), 'performance call')} of {scene.caller(who)} refused: access denied"
        command = scene.command("timeline", filter="status == 5 || fault == 5")
        made = scene.of_calls("medium", "refused-call", text, command, numbers, who)
        made.outcome, made.reason = "refused", "access denied"
        yield made


def _encrypted(scene: Scene) -> Iterator[Draft]:
    """Yields observations of performance calls that no key decrypted."""
    calls = scene.calls
    for who, places in calls.by(who_in, scene.performance & calls.is_one("state", "sealed")).items():
        numbers = calls.numbers[places].tolist()
        reasons = listed(scene.analysis.calls.rare(number).reason or "no key" for number in numbers)
        text = f"{scene.counted(places)} of {scene.caller(who)} stayed encrypted: {reasons}"
        if refused := int((scene.calls.refused & ~scene.certain)[places].sum()):
            text += f"; {refused} of them refused"
        command = scene.command("timeline", filter="state == sealed")
        made = scene.of_calls("medium", "encrypted", text, command, numbers, who)
        made.outcome, made.reason = "unreadable", reasons
        yield made


def _names(activities: Iterable[Activity]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.name or one.detail or str(one.target) for one in activities))


def _no_answer(activities: Sequence[Activity]) -> tuple[CallOutcome, str]:
    """Returns, for an observation, the outcome of performance requests that read nothing, and why: `and was refused:
    ERROR_ACCESS_DENIED`."""
    endings = sum((Counter(one.unread) for one in activities), Counter[str]())
    words = endings if len(endings) == 1 else (f"{ending} {count:,}" for ending, count in endings.most_common())
    is_refused = sum(one.refused for one in activities) == endings.total()
    outcome: CallOutcome = "refused" if is_refused else "answered"
    if endings.keys() == {"no answer"}:
        outcome = "asked"
    elif endings.keys() & {*get_args(CallState), "damaged answer"}:
        outcome = "unreadable"
    # An answer that was not captured, or not decoded, may have held something.
    read = "read nothing" if outcome == "answered" and "no answer" not in endings else "read nothing that is known"
    return outcome, f"and {'was refused' if is_refused else read}: {listed(words)}"


def _seconds(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:,.3f} s"


def process_drafts(scene: Scene) -> Iterator[Draft]:
    """Yields an observation for each name of odd processes on a machine, with the caller who saw them first."""
    groups: dict[tuple[Who, str], list[int]] = {}
    table = scene.processes
    for row, oddities in enumerate(table.oddities):
        if oddities:
            groups.setdefault((table.seen_by[row][0], table.keys[row][1]), []).append(row)
    for (who, name), rows in groups.items():
        yield _odd_process(scene, who, name, rows)


def _odd_process(scene: Scene, who: Who, name: str, rows: Sequence[int]) -> Draft:
    table = scene.processes
    ids = listed(str(pid) for row in rows if (pid := table.keys[row][2]) is not None)
    creators = listed(parent for row in rows if (parent := table.parent_names[row]) is not None)
    known = ", ".join(filter(None, (f"pid {ids}" if ids else "", f"created by {creators}" if creators else "")))
    marks = listed(f"{MARK_WORDS[mark.kind]}: {mark.reason}" for row in rows for mark in table.oddities[row])
    answers = sum(table.answers[row] for row in rows)
    others = len({seen for row in rows for seen in table.seen_by[row]}) - 1
    viewers = scene.caller(who) + (f" and {counted(others, 'other caller')}" if others else "")
    text = f'{viewers} saw the process "{name}"{f" ({known})" if known else ""} on {scene.host(who.server_ip)}'
    text += f", in {counted(answers, 'answer')}: {marks}"
    numbers = [call for row in rows for call in (table.first[row].first_call, table.last[row].last_call)]
    made = scene.of_calls("medium", "odd-process", text, scene.command("processes"), numbers, who)
    # It counts all answers, but names only the first and the last call.
    made.objects, made.outcome, made.count, made.stub_bytes = (name,), "answered", answers, None
    made.altered = sum(table.altered[row] for row in rows)
    made.detail = f"({known})" if known else None
    made.whys, made.confidence = (marks, "most processes with such a name or parent are harmless"), "possible"
    return made
