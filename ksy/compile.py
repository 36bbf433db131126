"""Compiles ksy/*.ksy into analyzer/buffers/_generated with kaitai-struct-compiler 0.11.0 (npm, version locked beside this file).

`python ksy/compile.py` writes three things: `plain/` (the parsers), `positions/` (the same parsers, which also record where each
field was read) and `specs.json` (the descriptions themselves, for names and meanings at run time). `--check` writes nothing,
compiles again and says what differs. The first run fetches the compiler: `npm ci` in this folder.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "analyzer" / "buffers" / "_generated"
PACKAGES = {
    "__init__.py": "What ksy/compile.py writes; see ksy/.",
    "plain/__init__.py": "Parsers compiled from ksy/.",
    "positions/__init__.py": "Parsers compiled from ksy/, which record where each field was read.",
}


class CompileError(Exception):
    """One sentence for whoever ran the script."""


def compiled() -> dict[str, str]:
    """Every generated file by its path below the target folder."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise CompileError(
            "node and npm are needed to compile the .ksy files, and were not found (Debian: apt install npm)."
        )
    if not (HERE / "node_modules" / "kaitai-struct-compiler").is_dir():
        fetched = subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund"], cwd=HERE, capture_output=True, text=True, check=False
        )
        if fetched.returncode:
            raise CompileError(f"the compiler could not be fetched: npm ci in {HERE} failed.\n{fetched.stderr.strip()}")
    ran = subprocess.run([node, str(HERE / "compile.cjs")], cwd=HERE, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise CompileError(ran.stderr.strip() or "the compiler failed without a word.")
    files: dict[str, str] = json.loads(ran.stdout)
    files.update((name, f'"""{text}"""\n') for name, text in PACKAGES.items())
    return files


def differences(files: dict[str, str]) -> list[str]:
    """What is to be said about the committed files, nothing where they are what the compiler writes."""
    said = []
    for name, text in sorted(files.items()):
        path = TARGET / name
        if not path.is_file():
            said.append(f"{name} is missing")
        elif path.read_bytes() != text.encode():
            said.append(f"{name} differs")
    present = {
        path.relative_to(TARGET).as_posix() for path in TARGET.rglob("*") if path.is_file() and path.suffix != ".pyc"
    }
    said.extend(f"{name} has no source" for name in sorted(present - files.keys()))
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile the .ksy files into the package.")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with what is committed")
    options = parser.parse_args()
    try:
        files = compiled()
    except CompileError as error:
        print(f"ksy/compile.py: {error}", file=sys.stderr)  # noqa: T201
        return 2
    if options.check:
        said = differences(files)
        for line in said:
            print(f"analyzer/buffers/_generated/{line}; run python ksy/compile.py", file=sys.stderr)  # noqa: T201
        return 1 if said else 0
    shutil.rmtree(TARGET, ignore_errors=True)
    for name, text in files.items():
        path = TARGET / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
