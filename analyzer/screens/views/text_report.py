"""Makes the lines of text reports: a header, one line a call, then what could not be read and why.

Lines carry rich's markup for colours; everything that came from the wire is escaped first. With a width, long lines are folded, and
their details are indented below their column.

Calls that say the same again and again are a run, which has one line. A run is three or more successful polls of one handle, with
nothing else done on it between them. A run is also three or more calls of one method of an undecoded interface, with one outcome
and nothing else called on their channel between them.
"""

from __future__ import annotations

import re
import textwrap
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from itertools import groupby, pairwise

import numpy as np
from msgspec import Struct

from analyzer.core.events import Problem
from analyzer.core.frame_ids import file_of, number_of
from analyzer.core.printable_text import counted, plural
from analyzer.core.times import NS_PER_S, NS_PER_US, shown_time
from analyzer.interfaces.call_contents.call_records import all_problems
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.questions.statistics.shown_call_columns import ShownCalls
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import Call
from analyzer.results.methods import perflib, scmr, winreg
from analyzer.results.next_command import next_command
from analyzer.results.records.display_records import Outcome
from analyzer.results.security import AuthLevel, Decryption
from analyzer.screens.viewmodel.call_list import outcome_of
from analyzer.screens.viewmodel.call_summary_words import (
    answer_words,
    handle_words,
    method_words,
    request_words,
    status_words,
)
from analyzer.screens.viewmodel.session_words import session_groups, sessions_words
from analyzer.screens.viewmodel.unread import alike, decrypted, incomplete, key_hint
from analyzer.screens.views.view_type import Clock

# ------------------------------------------------------------------------------------------------------------ call runs


_FEWEST = 3


class CallRun(Struct):
    """A run of calls that say the same, which is one line of a text report: their numbers and times."""

    numbers: MutableSequence[int]
    times: MutableSequence[int]
    is_polls: bool


# Channel, kind of handle, and number of the handle.
_Place = tuple[int, int, int]


def find_runs(analysis: Analysis, numbers: Sequence[int]) -> dict[int, CallRun]:
    """Finds the runs for a text report among the calls with these numbers; returns them by the number of their first call."""
    found: dict[int, CallRun] = {}
    current: dict[_Place, tuple[tuple[object, ...], CallRun]] = {}

    def end(place: _Place) -> None:
        ended = current.pop(place, None)
        if ended is not None and len(ended[1].numbers) >= _FEWEST:
            found[ended[1].numbers[0]] = ended[1]

    for number, time_ns, place, key, is_poll in _rows(ShownCalls(analysis, numbers), analysis):
        if key is None:
            end(place)
            continue
        running = current.get(place)
        if running is None or running[0] != key:
            end(place)
            running = current[place] = key, CallRun(array("q"), array("q"), is_poll)
        running[1].numbers.append(number)
        running[1].times.append(time_ns)
    for place in list(current):
        end(place)
    return found


def _rows(calls: ShownCalls, analysis: Analysis) -> Iterator[tuple[int, int, _Place, tuple[object, ...] | None, bool]]:
    """Yields, to find the runs for a text report, number, time and place of each call that may be in a run or end one, what it says
    (None: it is in no run), and whether it is a poll."""
    contexts, of_queries = analysis.calls.table.contexts, np.array([*(one.number for one in analysis.calls.states), -1])
    views = calls.views
    handles = np.where(views >= 0, of_queries[views], calls.column("key_number"))
    kinds = np.where(handles < 0, 0, np.where(views >= 0, 1, np.where(calls.is_of(scmr.INTERFACE), 2, 3)))
    polls, of_winreg = calls.polls & (handles >= 0), calls.is_of(winreg.INTERFACE)
    is_one = polls | ~(of_winreg | calls.is_of(perflib.INTERFACE))
    read = {
        number: call.read.value_name for number, call in calls.looked_at(polls & of_winreg) if call.read is not None
    }
    names = ("first_time", "context", "method", "opnum", "status", "fault", "state")
    columns = (calls.numbers, kinds, handles, is_one, polls, *map(calls.column, names))
    for number, kind, handle, may_be, is_poll, time_ns, code, *says in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        key = (contexts[code].interface.uuid, *says, read.get(number)) if may_be else None
        yield number, time_ns, (contexts[code].channel, kind, handle), key, is_poll


# ---------------------------------------------------------------------------------------------------------- text report


# Of the 16 colours that every terminal has; the lists of `browse` use them too.
OUTCOME_STYLES: dict[Outcome, str] = {
    "ok": "green",
    "size": "yellow",
    "failed": "red",
    "sealed": "yellow",
    "one-sided": "yellow",
    "damaged": "red",
}
_FRAMES_SHOWN = 8
# So many sessions, ways of calling and kinds of problems are listed, the others counted.
_HEADER_LINES = 12
_SHOWN_CALLS = 8
_SHOWN_PROBLEMS = 24
_UNBROKEN = "\u00a0"  # keeps a number and its unit on one line


def safe(text: str) -> str:
    """Escapes text from the wire in a line of a text report, for markup and terminals: control characters become visible.

    Do not put markup right behind it; use `styled`.
    """
    body, slashes = _escaped(text)
    return body + slashes


def styled(style: str, text: str) -> str:
    """Escapes text from the wire and puts it in a style in a line of a text report. A backslash before markup would escape it, so
    it is doubled."""
    body, slashes = _escaped(text)
    return f"[{style}]{body}{2 * slashes}[/]"


def _escaped(text: str) -> tuple[str, str]:
    """Returns text from the wire escaped as the markup of a text report, and apart from it the backslashes at its end."""
    shown = text if text.isprintable() else "".join(c if c.isprintable() else _shown(c) for c in text)
    body = shown.rstrip("\\")
    from rich.markup import escape as escape_markup  # records in JSON need no text

    return escape_markup(body), shown[len(body) :]


def _shown(control: str) -> str:
    return control.encode("unicode_escape").decode()


def folded(line: str, indent: int, width: int | None) -> Iterator[str]:
    """Folds a plain line of a text report at `width`, with later lines indented."""
    if width is None or len(line) <= width:
        yield line
        return
    yield from textwrap.wrap(
        line, max(width, indent + 20), subsequent_indent=" " * indent, break_long_words=True, drop_whitespace=True
    )


def header_lines(analysis: Analysis, width: int | None) -> Iterator[str]:
    facts = analysis.capture
    for name in facts.files[:_HEADER_LINES]:
        yield styled("bold", name)
    yield from _more(len(facts.files) - _HEADER_LINES, "files")
    yield from folded(f"{facts.frames:,} frames, {facts.bytes:,} bytes{_span(facts)}", 4, width)
    for trace in facts.traces[:_HEADER_LINES]:
        of = f"of {trace.computer}, " if trace.computer is not None else ""
        yield from (safe(line) for line in folded(f"trace {of}Windows build {trace.os_build}", 4, width))
    yield from _more(len(facts.traces) - _HEADER_LINES, "traces")
    groups = session_groups(analysis.shown_sessions)
    for group in groups[:_HEADER_LINES]:
        yield from (safe(line) for line in folded(sessions_words(group), 4, width))
    yield from _more(sum(map(len, groups[_HEADER_LINES:])), f"sessions: {next_command(analysis, 'sessions')}")
    words = sorted(_rpc_words(analysis).items())
    for name, count in words[:_HEADER_LINES]:
        yield from (safe(text) for text in folded(f"{name}: {counted(count, 'call')}", 4, width))
    yield from _more(len(words) - _HEADER_LINES, f"ways of calling: {next_command(analysis, 'stats')}")
    yield from opening_lines(analysis, width)
    yield from part_lines(analysis, width)


def part_lines(analysis: Analysis, width: int | None) -> Iterator[str]:
    """Yields the lines of a text report that say what part of the capture is shown, if not all."""
    if analysis.part is not None:
        words = f"shown: {len(analysis.shown):,} of {len(analysis.calls):,} calls ({analysis.part.words})"
        yield from (styled("bold", text) for text in folded(words, 4, width))


def nothing_passes(analysis: Analysis) -> tuple[str, ...]:
    """Returns the sentence of a text report that no call passes the selection; an empty tuple if one passes, or the capture has no
    calls."""
    if analysis.part is None or analysis.shown or not analysis.calls:
        return ()
    return tuple(nothing_passes_words(analysis, analysis.part.words))


def nothing_passes_words(analysis: Analysis, words: str) -> Iterator[str]:
    """Yields the sentence of a text report that no call passes this selection. If it asks for a user, it yields the accounts that
    there are."""
    yield safe(f"no call passes: {words}; without that all calls are shown")
    if re.search(r"\b(user|auth\.user)\b", words):
        users = {one.auth.user for one in analysis.calls.contexts_by_last_call() if one.auth.user is not None}
        if users:
            some = ", ".join(sorted(users)[:_HEADER_LINES])
            yield safe(f"accounts of this capture: {some}; a filter needs the domain too, or contains")


def _more(count: int, what: str) -> Iterator[str]:
    if count > 0:
        yield f"and {count:,} more {what}"


def opening_lines(analysis: Analysis, width: int | None) -> Iterator[str]:
    for sentence in decrypted(analysis):
        yield from (safe(line) for line in folded(sentence, 4, width))


def _span(facts: CaptureFacts) -> str:
    if facts.first_time_ns is None or facts.last_time_ns is None:
        return ""
    seconds = (facts.last_time_ns - facts.first_time_ns) / NS_PER_S
    return f", from {shown_time(facts.first_time_ns)} over {seconds:,.3f} s"


def _rpc_words(analysis: Analysis) -> Counter[str]:
    words: Counter[str] = Counter()
    for common, count in analysis.calls.contexts_of(analysis.shown.numbers):
        auth = common.security
        name = common.interface.name or common.interface.uuid or "unknown interface"
        if common.session is None:
            # No SMB session above states who talked to whom.
            name += f" over TCP, {common.client.ip} → {common.server.ip},"
        if auth.level <= AuthLevel.NONE:
            security = (
                "without RPC security" if auth.level == AuthLevel.NONE else "with RPC security that was not captured"
            )
            words[f"{name} {security}"] += count
            continue
        identity = auth.caller(common.smb_identity)
        who = identity.who if identity is not None else "unknown user"
        decryption = (
            "" if auth.decryption in (Decryption.DECRYPTED, Decryption.NOT_SEALED) else f" ({auth.decryption.value})"
        )
        words[f"{name} with {auth.mechanism}, level {common.auth.level}, as {who}{decryption}"] += count
    return words


def time_words(time_ns: int, facts: CaptureFacts, clock: Clock, before_ns: int | None) -> str:
    """Writes the time of a call in a text report: the date and time, or seconds since the capture's first frame or the call shown
    before."""
    if clock == "absolute":
        return shown_time(time_ns // NS_PER_US * NS_PER_US)
    if clock == "delta":
        since = before_ns if before_ns is not None else time_ns
    else:
        since = facts.first_time_ns if facts.first_time_ns is not None else time_ns
    return f"{(time_ns - since) / NS_PER_S:12.6f}"


def call_lines(
    number: int,
    call: Call,
    analysis: Analysis,
    width: int | None,
    *,
    all_attempts: bool = False,
    time: str | None = None,
    damages: Damages | None = None,
    ends: str | None = None,
) -> Iterator[str]:
    """Yields the lines of a text report for one call: time, number, who, handle, method, what was asked, what came back, how long
    it took.

    Notes damage of the answer's buffer in `damages`. `ends` replaces the addresses of client and server; if it is empty, they are
    left out.
    """
    if time is None:
        time = time_words(call.time_ns, analysis.capture, "relative", None)
    where = f"{call.client} → {call.server}" if ends is None else ends
    prefix = f"{time}  #{number:<5} {where}{'  ' if where else ' '}"
    words = f"{handle_words(call)}{method_words(call)} {request_words(call, analysis)}".rstrip()
    if call.is_winreg and call.read is not None and call.read.attempt > 1:
        before = call.read.attempt - 1
        tries = "1 try with a buffer" if before == 1 else f"{before} tries with buffers"
        words += f" (try {call.read.attempt})" if all_attempts else f" (after {tries} too small)"
    reported = answer_words(call, analysis, damages)
    outcome = _outcome(call, reported)
    if damages is not None:
        damages.note_absent(call.number, "request", call.request)
        damages.note_absent(call.number, "response", call.response)
    if call.state not in ("complete", "sealed"):
        outcome += f" [{call.state}: {call.reason}]"
    elif call.state == "complete" and call.reason is not None:
        outcome += f" [{call.reason}]"
    latency = call.latency_ns
    if latency is not None:
        outcome += f"  {latency / 1_000_000:.3f}{_UNBROKEN}ms"
    yield from _coloured(folded(prefix + words + outcome, len(time) + 10, width), _style(call))


def _outcome(call: Call, reported: str) -> str:
    """Describes the outcome of a call in a text report; success is left out if there is more to say."""
    if call.status == 0 and call.fault is None:
        return f" ⇒ {reported or 'ok'}"
    return f" ⇒ {status_words(call)}" + (f", {reported}" if reported else "")


def _style(call: Call) -> str:
    return OUTCOME_STYLES[outcome_of(call)]


def call_run_lines(
    run: CallRun, call: Call, analysis: Analysis, width: int | None, *, time: str, ends: str, damages: Damages
) -> Iterator[str]:
    """Yields a run of calls as one line of a text report: how many, how often, the first answer, and the last if it differs."""
    gaps = sorted(later - earlier for earlier, later in pairwise(run.times))
    spread = f"every {_seconds(gaps[len(gaps) // 2])}"
    if gaps[-1] - gaps[0] > gaps[len(gaps) // 2] // 10:
        spread += f" ({_seconds(gaps[0])} to {_seconds(gaps[-1])})"
    count = f"{len(run.numbers):,} {'polls' if run.is_polls else 'times'}"
    words = f"{handle_words(call)}{method_words(call)} {request_words(call, analysis)}".rstrip()
    first = answer_words(call, analysis, damages)
    outcome = _outcome(call, first)
    last_call = analysis.calls[run.numbers[-1] - 1]
    last = answer_words(last_call, analysis, damages)
    if run.is_polls and last != first:
        outcome += f"; last: {last}"
    prefix = f"{time}  #{run.numbers[0]}…{run.numbers[-1]}  {ends}{'  ' if ends else ''}"
    line = f"{prefix}{words}, {count} {spread} over {_seconds(run.times[-1] - run.times[0])}{outcome}"
    yield from _coloured(folded(line, len(time) + 10, width), _style(call))


def _seconds(time_ns: int) -> str:
    if time_ns < NS_PER_S // 10:
        return f"{time_ns / 1_000_000:.3f} ms"
    return f"{time_ns / NS_PER_S:,.3f} s"


def _coloured(lines: Iterable[str], style: str) -> Iterator[str]:
    """Puts the lines that a text report has for one call in a style, from its outcome on."""
    is_outcome = False
    for line in lines:
        if line.endswith(f"{_UNBROKEN}ms"):
            line = line.removesuffix(f"{_UNBROKEN}ms") + " ms"
        if is_outcome:
            yield styled(style, line)
            continue
        # If a line ends with the arrow, the outcome is on the next one. The space before the arrow keeps the request apart from
        # the markup.
        cut = f"{line} ".rfind(" ⇒ ") + 1
        if cut:
            yield safe(line[:cut]) + styled(style, line[cut:])
            is_outcome = True
        else:
            yield safe(line)


def frames_words(frames: tuple[int, ...], facts: CaptureFacts) -> str:
    """Lists frames for a text report: `frame 12`, `frames 3, 4, 5`, with the file's name if there are several."""
    if not frames:
        return ""
    shown = frames[:_FRAMES_SHOWN]
    if len(facts.files) > 1:
        words = "; ".join(
            f"{facts.files[file]}: {', '.join(str(number_of(frame)) for frame in group)}"
            for file, group in groupby(shown, key=file_of)
        )
    else:
        words = ", ".join(str(number_of(frame)) for frame in shown)
    more = len(frames) - len(shown)
    return f"{plural(len(frames), 'frame')} {words}" + (f" and {more} more" if more else "")


def problem_lines(analysis: Analysis, width: int | None, damages: Damages | None = None) -> Iterator[str]:
    """Yields the lines of a text report that say what could not be read, and why. `damages` as for `all_problems`."""
    facts = analysis.capture
    problems = list(all_problems(analysis, damages))
    unread = incomplete(analysis)
    if not problems and not unread:
        return
    yield ""
    yield "[bold]What could not be read, and why[/]"
    for one in unread:
        line = f"  {counted(one.count, 'call')} {one.state}: {one.reason}"
        yield from (styled("yellow", text) for text in folded(line, 4, width))
    if hint := key_hint(analysis):
        yield from (styled("yellow", text) for text in folded(f"  {hint}", 4, width))
    grouped = alike(problems)
    for group in grouped[:_SHOWN_PROBLEMS]:
        words = problem_words(group[0], facts)
        if len(group) > 1:
            words += f" (and {len(group) - 1:,} more like it)"
        yield from (styled("yellow", text) for text in folded(words, 4, width))
    command = next_command(analysis, "timeline", "--format", "jsonl")
    for text in _more(len(grouped) - _SHOWN_PROBLEMS, f"kinds of problems: {command}"):
        yield styled("yellow", f"  {text}")


def doubt_lines(analysis: Analysis, width: int | None, *, of_values: bool = True) -> Iterator[str]:
    """Yields the lines of a text report that say which shown calls others may have changed, as a signature does not fit: answers
    with values, or all."""
    shown = ShownCalls(analysis)
    numbers = shown.numbers[shown.polls & shown.altered if of_values else shown.altered].tolist()
    if not numbers:
        return
    calls = ", ".join(f"#{number}" for number in numbers[:_SHOWN_CALLS])
    more = f" and {len(numbers) - _SHOWN_CALLS:,} more" if len(numbers) > _SHOWN_CALLS else ""
    what = counted(len(numbers), "answer" if of_values else "call")
    text = f"{what} may have been changed, because a signature does not fit: {calls}{more}"
    yield from (styled("yellow", line) for line in folded(text, 2, width))


def total_words(states: Counter[str], count: int) -> str:
    """Says in a text report how many calls ended in which state, out of `count` calls."""
    detail = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    shown = states.total()
    total = (f"{shown:,} of " if shown != count else "") + counted(count, "call")
    return total + (f": {detail}" if detail else "")


def problem_words(problem: Problem, facts: CaptureFacts) -> str:
    """Describes a problem for one line of a text report."""
    where = frames_words(problem.frames, facts)
    return f"  {problem.kind} ({problem.layer}{', ' + where if where else ''}): {problem.text}"
