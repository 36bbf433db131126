"""Whether there was anything to read, in one sentence."""

from __future__ import annotations

from analyzer.model.analysis import Analysis
from analyzer.model.records import all_problems

# Layers that only speak of connections that are ours: what they lost may have been a call.
_OURS = frozenset({"smb", "rpc"})
_LOSSES = frozenset({"gap", "sealed", "truncated", "malformed", "unsupported", "limit"})


def nothing_found(analysis: Analysis) -> str | None:
    """Why there is nothing to show; None where there is a call, or something that may hide calls."""
    if analysis.calls or any(problem.layer in _OURS and problem.kind in _LOSSES for problem in analysis.problems):
        return None
    name = ", ".join(analysis.capture.files)
    if analysis.capture.frames == 0:
        return f"{name} holds no frames."
    if analysis.sessions:
        count = len(analysis.sessions)
        return f"{name} holds {count} SMB session{'s' if count != 1 else ''}, but no DCERPC call in them."
    count = analysis.capture.frames
    return f"{name} holds {count} frame{'s' if count != 1 else ''}, but neither SMB nor DCERPC among them."


def unread(analysis: Analysis) -> bool:
    """Whether something could not be read."""
    return any(call.state != "complete" for call in analysis.calls) or any(
        problem.kind in _LOSSES for problem in all_problems(analysis)
    )
