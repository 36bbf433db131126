"""What hostile captures cost: each shape at growing sizes, in a process of its own with bounded memory and time.

    python -m fuzz.hostile [--unit KIB] [--only WORD] [--markdown | --write]

Prints processor time and peak memory at one, two, four and eight times a size, the seconds for each megabyte at the largest, less
what an empty capture takes, and how the time grows: 1.0 is linear, 2.0 the square. Exits with 1 where a shape exceeds what
docs/reliability.md promises. `--write` puts the rows into that page, when all is measured.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fuzz.shapes import SHAPES, TIMELINE, expressions

TIMES = (1, 2, 4, 8)
MOST_S_PER_MB, MOST_MB = 5.0, 400
# A run may exceed what is promised, so that it is seen by how much, but not by any amount.
_ADDRESS_SPACE, _CPU_SECONDS = 4 << 30, 120
PAGE = Path(__file__).resolve().parents[1] / "docs/reliability.md"
_TABLE: list[str] = []
# Below this, what a run takes is mostly starting Python.
_NOISE_S = 0.3


class Run:
    """One run of the command: exit code, seconds of processor time, peak memory in MB."""

    def __init__(self, arguments: Sequence[str]) -> None:
        with tempfile.TemporaryFile() as errors:
            pid = os.fork()
            if pid == 0:
                resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
                resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 1))
                null = os.open(os.devnull, os.O_RDWR)
                os.dup2(null, 0)
                os.dup2(null, 1)
                os.dup2(errors.fileno(), 2)
                module, words = ("fuzz.browsed", arguments[1:]) if arguments[0] == "browse" else ("analyzer", arguments)
                os.execv(sys.executable, [sys.executable, "-m", module, *words])
            _, status, used = os.wait4(pid, 0)
            self.code = os.waitstatus_to_exitcode(status)
            self.seconds = used.ru_utime + used.ru_stime
            self.megabytes = used.ru_maxrss / 1024
            errors.seek(0)
            self.printed = errors.read().decode("utf-8", "replace")

    @property
    def is_sound(self) -> bool:
        """It ended by itself, with an exit code of ours and without a traceback."""
        return 0 <= self.code < 70 and "Traceback" not in self.printed


def _growth(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The exponent that fits the last doubling but one to the last: log of the time's growth by that of the size's."""
    if len(sizes) < 2 or sizes[-1] <= sizes[0]:
        return 0.0
    first, last = max(seconds[0], _NOISE_S / 4), seconds[-1]
    return math.log(last / first) / math.log(sizes[-1] / sizes[0]) if last > _NOISE_S else 0.0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--unit", type=int, default=256, metavar="KIB", help="the smallest size (256)")
    options.add_argument("--only", default="", metavar="WORD", help="shapes whose name holds this word")
    options.add_argument("--markdown", action="store_true", help="print a table for docs/reliability.md")
    options.add_argument("--write", action="store_true", help="write its rows into docs/reliability.md")
    given = options.parse_args()
    given.markdown |= given.write
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.pcap"
        SHAPES["records-of-nothing"].write(empty, 16)
        base = min((Run(("timeline", str(empty), "--format", "jsonl")) for _ in range(3)), key=lambda run: run.seconds)
        bases = {TIMELINE[0]: base.seconds}
        head = ("shape", "file MB", "CPU s at 1, 2, 4, 8", "s/MB", "growth", "peak MB")
        _row(given.markdown, head)
        if given.markdown:
            _row(True, ("---",) * len(head))
        for each in SHAPES.values():
            if given.only not in each.name + "-":
                continue
            if (command := each.command[0]) not in bases:
                words = {"FILE": str(empty), "OUT": f"{folder}/empty-{command}"}
                bases[command] = Run([words.get(word, word) for word in each.command]).seconds
            path = Path(folder) / "shape"
            sizes, runs = [], []
            for times in TIMES:
                each.write(path, given.unit * 1024 * times)
                sizes.append(path.stat().st_size)
                words = {"FILE": str(path), "OUT": f"{folder}/{each.name}-{times}"}
                runs.append(Run([words.get(word, word) for word in each.command]))
                if not runs[-1].is_sound or runs[-1].seconds > _CPU_SECONDS / 3:
                    break
            seconds = [max(run.seconds - bases[command], 0.0) for run in runs]
            # Of small files what a megabyte would cost is noise, and what the command loads besides.
            rate = max(seconds[-1] - _NOISE_S, 0) / (sizes[-1] / 1e6)
            peak = max(run.megabytes for run in runs)
            growth = _growth(sizes, seconds)
            bad = not all(run.is_sound for run in runs) or rate > MOST_S_PER_MB or peak > MOST_MB or growth > 1.35
            failed += bad
            _row(
                given.markdown,
                (
                    each.name,
                    f"{sizes[-1] / 1e6:.3f}",
                    " ".join(f"{second:.2f}" for second in seconds),
                    f"{rate:.2f}",
                    f"{growth:.2f}",
                    f"{peak:.0f}" + (" !" if bad else ""),
                ),
            )
            if bad and (problem := [run for run in runs if not run.is_sound]):
                _say(f"  exit {problem[0].code}: {problem[0].printed.strip()[-600:]}")
        for name, command in expressions():
            if given.only not in name:
                continue
            run = Run([str(empty) if word == "FILE" else word for word in command])
            bad = not run.is_sound or run.seconds - base.seconds > MOST_S_PER_MB
            failed += bad
            _row(
                given.markdown,
                (
                    name,
                    "0.04",
                    f"{run.seconds - base.seconds:.2f}",
                    "",
                    "",
                    f"{run.megabytes:.0f}" + (" !" if bad else ""),
                ),
            )
            if bad:
                _say(f"  exit {run.code}: {run.printed.strip()[-600:]}")
    if given.write:
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), _TABLE, given.unit), "utf-8")
    _say(f"\nAn empty capture takes {base.seconds:.2f} s and {base.megabytes:.0f} MB. {failed} beyond the bounds.")
    return 1 if failed else 0


def with_table(page: str, rows: Sequence[str], unit: int) -> str:
    """The page with these rows in its table, those of the same name replaced and new ones behind the row before them."""
    before, start, rest = page.partition("<!-- shapes -->\n")
    table, end, after = rest.partition("<!-- end of shapes -->")
    if not start or not end:
        sys.exit(f"{PAGE} has no place for the table.")
    found = {_name(row): row for row in table.splitlines() if row.startswith("|")}
    names = list(found)
    last = -1
    for row in rows:
        name = _name(row)
        if name not in found:
            names.insert(last + 1, name)
        last = names.index(name)
        found[name] = row
    text = f"Measured by `make hostile HOSTILE_ARGS='--unit {unit} --write'`.\n\n" + "\n".join(
        map(found.__getitem__, names)
    )
    return f"{before}{start}{text}\n{end}{after}"


def _name(row: str) -> str:
    return row.split("|")[1].strip()


def _row(markdown: bool, cells: Sequence[str]) -> None:
    if markdown:
        _TABLE.append("| " + " | ".join(cells) + " |")
        _say(_TABLE[-1])
    else:
        _say(f"{cells[0]:34} " + " ".join(f"{cell:>12}" for cell in cells[1:]))


if __name__ == "__main__":
    sys.exit(main())
