"""Branch coverage by package, of the data that `coverage run` left: a table for docs/testing.md on standard output."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tools.packages import package_of


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "coverage.json"
        subprocess.run([sys.executable, "-m", "coverage", "json", "-q", "-o", str(path), *sys.argv[1:]], check=True)
        files = json.loads(path.read_text())["files"]
    lines: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name, one in files.items():
        package = package_of(Path(name))
        found = one["summary"]
        counts = (found["num_statements"], found["covered_lines"], found["num_branches"], found["covered_branches"])
        lines[package] = [a + b for a, b in zip(lines[package], counts, strict=True)]
    sys.stdout.write("| package | lines | covered | branches | covered |\n|---|---:|---:|---:|---:|\n")
    for package, (statements, covered, branches, taken) in sorted(lines.items()):
        share = f"{taken / branches:.1%}" if branches else ""
        sys.stdout.write(
            f"| `{package}` | {statements:,} | {covered / max(statements, 1):.1%} | {branches:,} | {share} |\n"
        )


if __name__ == "__main__":
    main()
