"""Whether there was anything to read, in one sentence."""

from __future__ import annotations

from analyzer.core.absence import Missing
from analyzer.model.analysis import Analysis
from analyzer.model.records import all_problems
from analyzer.pcq.layer import PerflibCall
from analyzer.winperf.layer import WinregCall

# Layers that only speak of connections that are ours: what they lost may have been a call.
_OURS = frozenset({"smb", "rpc"})
# More files than these are counted in a sentence, not named.
_NAMED = 5
_LOSSES = frozenset({"unreadable", "gap", "sealed", "truncated", "malformed", "unsupported", "limit"})


def nothing_found(analysis: Analysis) -> str | None:
    """Why there is nothing to show; None where there is a call, or something that may hide calls."""
    if analysis.calls or any(problem.layer in _OURS and problem.kind in _LOSSES for problem in analysis.problems):
        return None
    first, *others = analysis.capture.files
    name = ", ".join(analysis.capture.files) if len(others) < _NAMED else f"{first} and {len(others)} more files"
    if analysis.capture.frames == 0:
        return f"{name} holds no frames."
    if analysis.sessions:
        count = len(analysis.sessions)
        return f"{name} holds {count} SMB session{'s' if count != 1 else ''}, but no DCERPC call in them."
    count = analysis.capture.frames
    return f"{name} holds {count} frame{'s' if count != 1 else ''}, but neither SMB nor DCERPC among them."


def nothing_decrypted(analysis: Analysis) -> str | None:
    """That all calls of the capture are encrypted and none was decrypted; None where one was, or nothing is encrypted."""
    calls = [call for call in analysis.calls if isinstance(call, PerflibCall | WinregCall)] or analysis.calls
    stubs = [side.stub for call in calls for side in (call.request, call.response) if side is not None]
    # A fault carries no stub, and shows nothing.
    if any(not isinstance(stub, Missing) and len(stub) for stub in stubs):
        return None
    sealed = sum(call.state == "sealed" for call in calls)
    if sealed:
        return f"nothing was decrypted: {sealed} call{'s are' if sealed != 1 else ' is'} encrypted, and no key was given that fits."
    problems = sum(problem.kind == "sealed" for problem in all_problems(analysis))
    if problems and not calls:
        return "nothing was decrypted: all messages that may carry calls are encrypted, and no key was given that fits."
    return None


def unreadable(analysis: Analysis) -> list[str]:
    """The sentences for files of several that could not be read at all."""
    return [problem.text for problem in analysis.problems if problem.kind == "unreadable"]


def unread(analysis: Analysis) -> bool:
    """Whether something could not be read."""
    return any(call.state != "complete" for call in analysis.calls) or any(
        problem.kind in _LOSSES for problem in all_problems(analysis)
    )
