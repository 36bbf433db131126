"""How much of a capture is read before its first call is printed, and in what time: captures in, a table out.

    python benchmarks/first_line.py [CAPTURE ...]

Without captures, `tiny` (one tiny call after the other) and `mixed` (one frame in a hundred of calls) of 100 MB are made. For each,
the records of `timeline` are made in a process of its own until there is a call, with --names-from now and with capture: what was
read of the capture by then, and processor time with the start of Python.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

_SIZE = 100_000_000


class Counted(io.FileIO):
    """A file that counts what is read of it."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self.taken += len(data)
        return data


def first_call(path: Path, names: str) -> dict[str, Any]:
    """Bytes read and seconds taken by this process until the first call is there."""
    from analyzer.pipeline.live_reading import stream
    from analyzer.pipeline.run import analyze
    from analyzer.questions.filters.call_selection import EVERYTHING
    from analyzer.results.calls.call import CallRecord
    from analyzer.screens.views.streamed_timeline import StreamedTimeline
    from analyzer.screens.views.timeline import Timeline

    with Counted(path) as source:
        if names == "now":
            records = StreamedTimeline(stream([source]), (), EVERYTHING).records()
        else:
            records = Timeline(analyze([source], pdus=False)).records()
        next(record for record in records if isinstance(record, CallRecord))
        return {"bytes": source.taken, "seconds": process_time()}


def measured(path: Path, names: str) -> dict[str, Any]:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--first-call", names, str(path)], capture_output=True, check=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(paths: Sequence[Path]) -> list[str]:
    """The rows of the table, with its head."""
    rows = ["| capture | size | names from | read | seconds |", "|---|---|---|---|---|"]
    for path in paths:
        for names in ("now", "capture"):
            found = measured(path, names)
            size, read = (f"{number / 1e6:,.1f} MB" for number in (path.stat().st_size, found["bytes"]))
            rows.append(f"| {path.stem} | {size} | `{names}` | {read} | {found['seconds']:.2f} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", nargs="*", type=Path)
    parser.add_argument("--first-call", choices=("now", "capture"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.first_call is not None:
        sys.stdout.write(json.dumps(first_call(given.captures[0], given.first_call)))
        return
    if given.captures:
        sys.stdout.write("\n".join([*table(given.captures), ""]))
        return
    from benchmarks import traffic

    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / f"{make.__name__}.pcap" for make in (traffic.tiny, traffic.mixed)]
        for path, make in zip(paths, (traffic.tiny, traffic.mixed), strict=True):
            make(path, _SIZE)
        sys.stdout.write("\n".join([*table(paths), ""]))


if __name__ == "__main__":
    main()
