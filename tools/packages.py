"""What counts as a package in tables of tests: a folder of `analyzer/`, or of a room whose folders are packages."""

from __future__ import annotations

from pathlib import Path

ROOMS = {"transport", "interfaces", "questions", "screens"}


def package_of(path: Path) -> str:
    """The package of a file below `analyzer/`, as a path from there (`transport/smb`, `core`)."""
    folders = path.parts[1:-1]
    return "/".join(folders[: 2 if folders and folders[0] in ROOMS else 1]) or "(top)"
