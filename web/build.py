"""Builds the pages of `report` and `diff`: web/src into analyzer/screens/formats/page_assets with esbuild.

`python web/build.py` checks the types and writes report.js, report.css and diff.css. `--check` writes nothing, builds again and
reports what differs. The first run fetches what it needs: `npm ci` in this folder.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "analyzer" / "screens" / "formats" / "page_assets"
BUILT = ("report.js", "report.css", "diff.css")


class BuildError(Exception):
    """One sentence for whoever ran the script."""


def fetch() -> str:
    """Fetches the packages where they are missing; where node is."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise BuildError("node and npm are needed to build the page, and were not found (Debian: apt install npm).")
    package = json.loads((HERE / "package.json").read_text("utf-8"))
    with (HERE / "package-lock.json").open("rb") as lock:
        # Tests that run side by side fetch once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all(
            (HERE / "node_modules" / name).is_dir() for name in package["dependencies"] | package["devDependencies"]
        ):
            _run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"])
    return node


def built(directory: Path) -> None:
    """Builds into a directory: report.js, report.css, diff.css, and filter.mjs, with which filters can be tried without a page."""
    _run([fetch(), "build.mjs", str(directory)])


def _run(command: list[str]) -> None:
    ran = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise BuildError(f"{Path(command[0]).name} {command[1]} failed.\n{ran.stdout}{ran.stderr}".strip())


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the pages of `report` and `diff`.")
    parser.add_argument("--check", action="store_true", help="write nothing, report what differs")
    check = parser.parse_args().check
    try:
        node = fetch()
        _run([node, str(HERE / "node_modules" / "typescript" / "bin" / "tsc"), "--noEmit"])
        with tempfile.TemporaryDirectory() as directory:
            built(Path(directory))
            made = {name: (Path(directory) / name).read_bytes() for name in BUILT}
    except BuildError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    differing = [name for name in BUILT if not (TARGET / name).is_file() or (TARGET / name).read_bytes() != made[name]]
    if check and differing:
        sys.stderr.write(f"not built from web/src as it is: {', '.join(differing)} (run python web/build.py)\n")
        return 1
    for name in differing:
        (TARGET / name).write_bytes(made[name])
    sizes = ", ".join(f"{name} {len(data):,} bytes" for name, data in made.items())
    sys.stdout.write(f"{'the same' if not differing else 'written'}: {sizes}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
