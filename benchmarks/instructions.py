"""Counts the machine instructions of the hot paths with callgrind, and compares them with what they were.

    python benchmarks/instructions.py            # prints counts; ends with 1 where one is far from what it was
    python benchmarks/instructions.py --record   # writes the counts as the new ones, to be committed with what changed them

A busy machine does not change these counts, so they may decide where times may not. The bound is generous, since another
version of Python, numpy or polars counts otherwise: it notices a hot path that became slow, not a tenth here or there.
One that takes far fewer instructions may no longer do what its name says.
Only the second walk of a path is counted, so that start-up is not. A test counts the modules that a start loads.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDED = Path(__file__).with_name("instructions.json")
BOUND = 2.0
_CHILD = "--walk"


def paths(directory: Path) -> dict[str, Callable[[], object]]:
    """The hot paths, on small captures and buffers of their own."""
    from analyzer.auth.keyring import Keyring
    from analyzer.interfaces.buffers.perf_data_layout import PerfDataReader
    from analyzer.interfaces.buffers.tree_texts import TreeTexts
    from analyzer.interfaces.buffers.value_rows import perf_data_columns
    from analyzer.interfaces.call_contents.raw_samples import sample_chunks
    from analyzer.pipeline.run import analyze
    from analyzer.screens.formats.sample_json_lines import sample_json_lines
    from benchmarks import inside, traffic

    keyring = Keyring.build(passwords=[(traffic.SealedClient.USER, traffic.SealedClient.PASSWORD)])
    mixed, calls, sealed = (directory / f"{name}.pcap" for name in ("mixed", "calls", "sealed"))
    traffic.mixed(mixed, 1_000_000)
    traffic.calls(calls, 500_000)
    traffic.polling(sealed, 300_000, 100, 10)
    buffers = inside.shapes(0.01)
    reader, trees = PerfDataReader(), TreeTexts()
    analysis = analyze([str(calls)], pdus=False)
    large, tiny = buffers["6000 instances x 40 counters"], buffers["80,000 tiny blocks"]
    return {
        "mixed capture": lambda: analyze([str(mixed)], pdus=False),
        "calls in clear": lambda: analyze([str(calls)], pdus=False),
        "sealed calls": lambda: analyze([str(sealed)], keyring, pdus=False),
        "columns": repeated(20, lambda: perf_data_columns(large)),
        "columns of tiny blocks": repeated(5, lambda: perf_data_columns(tiny)),
        "columns of a known layout": repeated(200, lambda: reader.read(large)),
        "tree as JSON": repeated(20, lambda: inside.tree_json(trees, large)),
        "samples as JSON Lines": lambda: sum(map(len, sample_json_lines(sample_chunks(analysis)))),
    }


def repeated(count: int, work: Callable[[], object]) -> Callable[[], object]:
    """A short path often enough that the switching on and off of callgrind does not count beside it."""

    def path() -> None:
        for _ in range(count):
            work()

    return path


def walk(directory: Path) -> None:
    """Walks every path twice, and dumps the counts of the second time. This runs under valgrind, which counts from the first
    second walk on: each time that counting begins, valgrind translates all code again."""
    for number, (name, path) in enumerate(paths(directory).items()):
        path()
        if not number:
            _control("--instr=on")
        _control("--zero")
        path()
        _control(f"--dump={number} {name}")


def _control(option: str) -> None:
    """Gives callgrind a command. It listens while the program runs, so this must not wait idly, nor for nothing: that counts."""
    with subprocess.Popen(["callgrind_control", option, str(os.getpid())], stdout=subprocess.DEVNULL) as reported:
        while reported.poll() is None:
            time.sleep(0.002)


def counted() -> dict[str, int]:
    """Instructions by path."""
    with tempfile.TemporaryDirectory() as temporary:
        found = {}
        for dump in callgrind(temporary):
            name = re.search(r"^desc: Trigger: .*?(\d+) (.+)$", dump, re.MULTILINE)
            if name is not None and (total := _total(dump)):
                found[name[2]] = total
        return found


def callgrind(temporary: str) -> list[str]:
    """Walks the paths under callgrind; what that wrote."""
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={temporary}/counts"]
    fixed = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, sys.executable, str(Path(__file__).resolve()), _CHILD, temporary],
        env={**os.environ, **fixed},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"valgrind ended with {done.returncode}:\n{done.stderr}")
    return [path.read_text() for path in sorted(Path(temporary).glob("counts*"))]


def _total(dump: str) -> int:
    found = re.search(r"^(?:totals|summary): (\d+)", dump, re.MULTILINE)
    return int(found[1]) if found is not None else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="take what is counted now as right")
    parser.add_argument(_CHILD, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.walk is not None:
        walk(given.walk)
        return
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is not installed ('apt-get install valgrind' as root); nothing was counted")
    now = counted()
    if given.record:
        RECORDED.write_text(json.dumps(now, indent=2) + "\n")
    before = json.loads(RECORDED.read_text())
    for name in before:
        many = f"{now.get(name, 0) / 1e6:,.2f} million instructions, {before[name] / 1e6:,.2f} recorded"
        sys.stdout.write(f"{name}: {many}\n")
    if missing := before.keys() - now.keys():
        raise SystemExit(f"not counted: {', '.join(sorted(missing))}")
    if far := [name for name in before if not before[name] / BOUND <= now[name] <= BOUND * before[name]]:
        raise SystemExit(f"{BOUND} times what it was, or as much less: {', '.join(far)}; if that is right, --record it")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
