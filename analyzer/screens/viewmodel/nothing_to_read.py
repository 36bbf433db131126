"""Says in one sentence whether a capture has anything to read.

This program is for performance calls: the methods of PerflibV2, and winreg's reads of HKEY_PERFORMANCE_DATA and its relatives. A
sealed call of winreg counts as one, since nothing states what it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.core.frame_ids import FrameSet
from analyzer.interfaces.call_contents.timeline_records import all_problems
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, Side

# Layers whose problems are only about our connections: what they lost may have been a call.
_OURS = frozenset({"smb", "rpc"})
# More files or interfaces than these are counted in a sentence, not named.
_NAMED = 5
_LOSSES = frozenset({"unreadable", "failed", "gap", "sealed", "truncated", "malformed", "unsupported", "limit"})


class CallsMet:
    """Counts the calls of a capture, to tell whether there is anything to read; they may come one by one."""

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self.has_performance = False
        # Whether a performance call could not be read.
        self.is_unread = False
        # The frames of the calls that are certainly about something else.
        self.others = FrameSet()
        self.interfaces: Counter[str] = Counter()
        for call in calls:
            self.count_call(call)

    def count_call(self, call: Call) -> None:
        """Counts one more call of the capture: its interface, and whether it is a performance call that was read."""
        self.interfaces[call.interface.name or call.interface.uuid or "unknown interface"] += 1
        if call.is_performance:
            self.has_performance = True
            self.is_unread |= call.state != "complete"
            return
        for side in (call.request, call.response):
            if side is not None:
                self.others.update(side.frames)


def nothing_found(analysis: Analysis, met: CallsMet | None = None) -> str | None:
    """Says why there is nothing to show, and what the capture holds instead. Returns None if there is a performance call, or
    something that may hide one. `met` are its calls if `analysis` does not hold them."""
    if met is None:
        if any(call.is_performance for call in analysis.calls):
            return None
        met = CallsMet(analysis.calls)
    if met.has_performance:
        return None
    others = met.others
    if any(problem.layer in _OURS and may_hide(problem, others) for problem in analysis.problems):
        return None
    found = _holding(analysis, met)
    # Bytes that were not read or not captured may be anything.
    for kind, words in (("truncated", "read"), ("gap", "captured")):
        for problem in analysis.problems:
            if (problem.kind, problem.layer) == (kind, "capture"):
                return f"{found} Not all of it was {words}: {problem.text}."
    return found


def _holding(analysis: Analysis, met: CallsMet) -> str:
    """Says what the capture holds in place of performance calls."""
    first, *more = analysis.capture.files
    name = ", ".join(analysis.capture.files) if len(more) < _NAMED else f"{first} and {len(more)} more files"
    if analysis.capture.frames == 0:
        return f"{name} holds no frames."
    if (calls := met.interfaces.total()) > 0:
        return f"{name} holds {_count(calls, 'DCERPC call')} ({_interfaces(met)}), but no performance call."
    if analysis.bounds:
        return f"{name} holds {_count(len(analysis.bounds), 'DCERPC bind')}, but no call."
    if analysis.sessions:
        where = "it" if len(analysis.sessions) == 1 else "them"
        return f"{name} holds {_count(len(analysis.sessions), 'SMB session')}, but no DCERPC call in {where}."
    for protocol, words in (("smb", "SMB"), ("dcerpc", "DCERPC")):
        if count := analysis.connections.get(protocol):
            return f"{name} holds {_count(count, 'connection')} with {words}, but no DCERPC call."
    return f"{name} holds {_count(analysis.capture.frames, 'frame')}, but neither SMB nor DCERPC among them."


def _interfaces(met: CallsMet) -> str:
    """Lists the interfaces called in a capture without performance calls, the most frequent first."""
    counts = met.interfaces
    names = [name for name, _ in counts.most_common(_NAMED)]
    more = len(counts) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def nothing_decrypted(analysis: Analysis) -> str | None:
    """Says that all shown calls are encrypted and none was decrypted. Returns None if one was decrypted, or none is encrypted."""
    # Whether there are calls, and how many are sealed: of all interfaces, and of ours. If there are calls of ours, only these
    # count.
    met, sealed = set[bool](), {False: 0, True: 0}
    is_read = False
    for _, call in analysis.shown:
        is_ours = call.is_perflib or call.is_winreg
        if (is_ours or True not in met) and any(_has_content(side) for side in (call.request, call.response)):
            if is_ours:
                return None
            is_read = True
        for counted in {False, is_ours}:
            met.add(counted)
            sealed[counted] += call.state == "sealed"
    if is_read and True not in met:
        return None
    if count := sealed[True in met]:
        return f"nothing was decrypted: {count} call{'s are' if count != 1 else ' is'} encrypted, and no key was given that fits."
    problems = sum(problem.kind == "sealed" for problem in all_problems(analysis))
    if problems and not len(analysis.calls):
        return "nothing was decrypted: all messages that may carry calls are encrypted, and no key was given that fits."
    return None


def _has_content(side: Side | None) -> bool:
    """Tells whether one side of a call has a stub to read. A fault carries none."""
    return side is not None and not isinstance(stub := side.stub, Missing) and len(stub) > 0


def unreadable(analysis: Analysis) -> list[str]:
    """Returns the sentences for capture files, of several, that could not be read at all."""
    return [problem.text for problem in analysis.problems if problem.kind == "unreadable"]


def unread(analysis: Analysis, met: CallsMet | None = None) -> bool:
    """Tells whether a performance call, or something that may have been one, could not be read. `met` are the calls with their
    problems if `analysis` does not hold them."""
    problems = all_problems(analysis) if met is None else analysis.problems
    met = met or CallsMet(analysis.calls)
    return met.is_unread or any(may_hide(problem, met.others) for problem in problems)


def may_hide(problem: Problem, others: FrameSet) -> bool:
    """Tells whether a problem may hide a performance call: a loss that is not entirely in calls of other interfaces."""
    return problem.kind in _LOSSES and not (problem.frames and others.issuperset(problem.frames))
