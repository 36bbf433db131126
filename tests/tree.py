"""The files of the project: what git tracks, or in a source distribution all that it brought."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What runs leave behind, and what building adds.
_MADE = {"__pycache__", "node_modules", "PKG-INFO"}
_HIDDEN = {
    ".ci",
    ".dockerignore",
    ".github",
    ".editorconfig",
    ".gitattributes",
    ".gitignore",
    ".pre-commit-config.yaml",
}


def files(root: Path = ROOT) -> list[Path]:
    """Sorted, without directories."""
    if not (root / ".git").exists():
        return sorted(_beneath(root))
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True).stdout
    return sorted(root / name.decode() for name in listed.split(b"\0") if name and (root / name.decode()).is_file())


def _beneath(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        if path.name in _MADE or path.suffix == ".egg-info" or (path.name[0] == "." and path.name not in _HIDDEN):
            continue
        if path.is_dir():
            yield from _beneath(path)
        else:
            yield path
