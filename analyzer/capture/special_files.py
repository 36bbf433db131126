"""Recognises paths to special files, which may have no end, or whose first byte may never come."""

from __future__ import annotations

import stat
from pathlib import Path

from analyzer.core.errors import InputError

# Files that a shell or a parent opened before the program began (process substitution). Their bytes will come.
_DESCRIPTORS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def special_file(path: str | Path) -> str | None:
    """Names the special file that a path leads to: `a named pipe`, `a socket` or `a device`. None for a file, a directory, or
    nothing. The path is not opened."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    return _KINDS.get(stat.S_IFMT(mode))


def refuse_special(path: str | Path) -> None:
    """Raises `InputError` if a capture path leads to a pipe, socket or device, where names may have come out of a directory."""
    if (kind := special_file(path)) is not None and not str(path).startswith(_DESCRIPTORS):
        raise InputError(f"{path}: this is {kind}, which is not read.")
