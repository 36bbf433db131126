"""Runs the fuzz targets: the same inputs for the same seed, or guided by coverage with atheris.

    python -m fuzz.run [TARGET|all] [--executions N] [--seconds S] [--seed N] [--counts FILE]
    python -m fuzz.run TARGET --guided [--seconds S] [--counts FILE]
    python -m fuzz.run [TARGET|all] --grow [--seconds S] [--seed N]

A finding is written to `fuzz/regressions/TARGET/` and ends the run with exit code 1; with `--go-on` the run goes on. `--counts`
adds the executions to a JSON file. `--grow` adds inputs to the corpus that go ways through the program which none in it goes.
tests/test_fuzz.py runs what is in the corpus and the regressions, and some hundred more.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from fuzz.mutation import Led, Mutator

HERE = Path(__file__).resolve().parent
CORPUS, REGRESSIONS = HERE / "corpus", HERE / "regressions"
# Address space of the process; a target that wants more than this is a finding.
_MOST_MEMORY = 3 << 30
_KEPT = 400
# Commands put off the collection of garbage; after so many inputs it is caught up on.
_COLLECTED = 500
_MOST_GROWN, _LARGEST_GROWN = 40, 3000
_PROGRAM = f"{HERE.parent.name}/analyzer/"
TraceFunction = Callable[[FrameType, str, Any], Any]


def inputs_of(name: str) -> list[bytes]:
    """Seeds, corpus and regressions of a target."""
    from fuzz.targets import TARGETS

    found = list(TARGETS[name].seeds())
    for folder in (CORPUS, REGRESSIONS):
        found += [path.read_bytes() for path in sorted((folder / name).glob("*"))]
    return found


def generated(name: str, seed: int) -> Iterator[bytes]:
    """Inputs without end, the same for the same seed."""
    from fuzz.targets import TARGETS

    rng, target = Mutator(f"{name}/{seed}"), TARGETS[name]
    known = inputs_of(name)
    if target.made is not None:
        while True:
            yield target.made(rng)
    while True:
        made = rng.changed(rng.choice(known), known)
        yield made
        # What was changed is changed again, so that changes add up.
        if rng.random() < 0.3 and len(made) < 20_000:
            if len(known) < _KEPT:
                known.append(made)
            else:
                known[rng.randrange(_KEPT // 2, _KEPT)] = made


class TooSlowError(Exception):
    """An input took longer than any may."""


def _alarm(number: int, frame: FrameType | None) -> None:
    raise TooSlowError


def execute(name: str, data: bytes) -> None:
    """Runs a target on an input, within its time."""
    from fuzz.targets import MOST_SECONDS, TARGETS

    signal.signal(signal.SIGVTALRM, _alarm)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        TARGETS[name].run(data)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def keep(name: str, data: bytes) -> Path:
    """Writes a finding where the tests will run it."""
    path = REGRESSIONS / name / hashlib.sha256(data).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def run(name: str, executions: int, seconds: float, seed: int, *, go_on: bool) -> tuple[int, int]:
    """How many inputs a target was given, and how many of them were findings."""
    done, findings, stop = 0, 0, time.monotonic() + seconds
    seen: set[str] = set()
    for data in generated(name, seed):
        if done >= executions or time.monotonic() > stop:
            break
        done += 1
        if done % _COLLECTED == 0:
            gc.collect()
        try:
            execute(name, data)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} {place.filename}:{place.lineno}"
            if kind not in seen:
                seen.add(kind)
                findings += 1
                _say(f"{name}: {kind}: {str(error)[:200]} ({keep(name, data)})")
            if not go_on:
                break
    return done, findings


class _Ways:
    """Which line was followed by which, in functions of the program, while an input was read."""

    def __init__(self) -> None:
        self.seen: set[tuple[CodeType, int, int]] = set()
        self.fresh = 0

    def _call(self, frame: FrameType, event: str, arg: object) -> TraceFunction | None:
        if _PROGRAM not in frame.f_code.co_filename:
            return None
        last = 0

        def line(frame: FrameType, event: str, arg: object) -> TraceFunction:
            nonlocal last
            way = (frame.f_code, last, frame.f_lineno)
            last = frame.f_lineno
            if way not in self.seen:
                self.seen.add(way)
                self.fresh += 1
            return line

        return line

    def of(self, name: str, data: bytes) -> int:
        """How many ways an input goes that none before it went."""
        self.fresh = 0
        sys.settrace(self._call)
        try:
            execute(name, data)
        finally:
            sys.settrace(None)
        return self.fresh


def grow(name: str, seconds: float, seed: int) -> int:
    """Adds small inputs to the corpus that go new ways; gives how many."""
    from fuzz.targets import TARGETS

    ways, added, stop = _Ways(), 0, time.process_time() + seconds
    if TARGETS[name].made is None:
        for data in inputs_of(name):
            ways.of(name, data)
    for data in generated(name, seed):
        if time.process_time() > stop or added >= _MOST_GROWN:
            break
        if len(data) <= _LARGEST_GROWN and ways.of(name, data):
            path = CORPUS / name / hashlib.sha256(data).hexdigest()[:16]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            added += 1
    return added


def guided(name: str, seconds: float, arguments: Sequence[str]) -> None:
    """Fuzzes by coverage; does not return. libFuzzer's messages go to standard error."""
    import atheris

    with atheris.instrument_imports(include=["analyzer"]):
        from fuzz.targets import TARGETS

    target = TARGETS[name]
    made, folder = target.made, CORPUS / name
    if made is not None:
        # What is changed are the numbers that inputs are made by.
        folder = Path(tempfile.mkdtemp(prefix=f"pcq-fuzz-{name}-"))
    folder.mkdir(parents=True, exist_ok=True)
    for data in target.seeds():
        path = folder / hashlib.sha256(data).hexdigest()[:16]
        if len(data) < 4096 and not path.exists():
            path.write_bytes(data)
    run = target.run if made is None else lambda data: target.run(made(Led(data)))
    options = [
        f"-max_total_time={int(seconds)}",
        "-timeout=10",
        "-rss_limit_mb=3000",
        "-max_len=4096",
        *(["-len_control=0"] if made is not None else []),
        f"-artifact_prefix={REGRESSIONS / name}/",
    ]
    (REGRESSIONS / name).mkdir(parents=True, exist_ok=True)
    atheris.Setup(["fuzz", *options, *arguments, str(folder)], run)
    atheris.Fuzz()


def _count(path: Path, name: str, done: int) -> None:
    known = json.loads(path.read_text()) if path.exists() else {}
    known[name] = known.get(name, 0) + done
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("target", nargs="?", default="all")
    options.add_argument("--executions", type=int, default=1 << 62)
    options.add_argument("--seconds", type=float, default=60, help="of each target")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--counts", type=Path)
    options.add_argument("--go-on", action="store_true")
    options.add_argument("--grow", action="store_true", help="the corpus, by inputs that go new ways")
    options.add_argument("--guided", action="store_true", help="by coverage, with atheris")
    given, rest = options.parse_known_args()
    if given.guided:
        guided(given.target, given.seconds, rest)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    from fuzz.targets import names

    failed = 0
    for name in names(given.target):
        if given.grow:
            _say(f"{name:16} {grow(name, given.seconds, given.seed)} inputs added to the corpus")
            continue
        start = time.monotonic()
        done, findings = run(name, given.executions, given.seconds, given.seed, go_on=given.go_on)
        failed += findings
        if given.counts:
            _count(given.counts, name, done)
        _say(f"{name:16} {done:9} inputs, {findings} findings, {time.monotonic() - start:.1f} s")
        gc.collect()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
