"""Whether there was anything to read, in one sentence."""

from __future__ import annotations

from analyzer.model.analysis import Analysis

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
        return f"{name} holds {len(analysis.sessions)} SMB session(s), but no DCERPC call in them."
    return f"{name} holds {analysis.capture.frames} frames, but neither SMB nor DCERPC among them."


def unread(analysis: Analysis) -> bool:
    """Whether something could not be read."""
    return any(problem.kind in _LOSSES for problem in analysis.problems) or any(
        call.state not in ("complete",) for call in analysis.calls
    )
