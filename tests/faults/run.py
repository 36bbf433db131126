"""Tries faults on commands: `python -m tests.faults.run [--only WORDS] [--write]`, or some: `'OPERATION AT FAULT -- COMMAND'`.

The program is loaded once; each try is a process forked from it, in a fresh folder, and so are the workers of `collect`. There is a
runner for each core, with a folder of its own. Afterwards these must hold:

* the command ended by itself, without a traceback, and with exit code 70 only where memory or a standard stream is gone;
* its file is the older one, or whole; exit code 0 means whole, and something else than the whole is named in a sentence;
* nothing else lies in the folder, unless the process was killed; what it read is as it was;
* the same command without a fault then gives the whole.
"""

import argparse
import errno
import fcntl
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import sleep
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tests.faults.inject import FAULTS, FULL_AT, KILL, Injector
from tests.faults.scenarios import MADE, OLD, SCENARIOS, Scenario, prepare

DOCUMENT = Path(__file__).parents[2] / "docs" / "reliability.md"
# Some two minutes.
_MOST_TURNS = 2200
_MOST_CPU_S = 60
# Where there are more operations of a kind, so many of them are tried, spread over all.
_MOST = 12
_POINTS_OF_ONE = 8
_OF_ALL = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
_ERRORS = {name: number for number, name in errno.errorcode.items()}
# A command that ends so does nothing that could fail.
_UNUSABLE = (1, 2, 70)
_ALLOWED_70 = ("memory ran out", "standard output is closed")


class Point(Struct, frozen=True):
    """An operation of a command, and what is wrong with it."""

    scenario: Scenario
    operation: str
    at: int
    fault: str

    def __str__(self) -> str:
        return f"{self.operation} {self.at} {self.fault} -- {self.scenario.name}"


class Outcome(Struct, frozen=True):
    """How a process ended (a signal below 0), what it wrote, what lay in the folder that was not there before, and what in all."""

    code: int
    out: bytes
    err: str
    result: bytes | None
    is_folder: bool
    leftovers: tuple[str, ...]
    lies: tuple[str, ...]
    is_read_unchanged: bool
    counts: dict[str, int]
    modules: tuple[str, ...]


class Room:
    """A folder with the files that commands read, and the way to run them there."""

    def __init__(self, base: Path) -> None:
        self._kept, self.folder, self._streams = base / "kept", base / "work", base / "streams"
        for folder in (self._kept, self._streams):
            folder.mkdir(parents=True)
        prepare(self._kept)
        self._older: dict[str, bytes | None] = {}
        self._references: dict[Scenario, Outcome] = {}
        self._ended: dict[tuple[Scenario, bytes], Outcome] = {}

    def _fill(self, scenario: Scenario) -> None:
        """Makes the folder anew, with what commands made before that this one reads."""
        for name in MADE.keys() & set(scenario.words) - self._older.keys():
            self._older[name] = OLD
            made = Scenario((*MADE[name], "-o", name), name)
            self._fill(made)
            done = self.run(made)
            assert done.code == 0, done.err
            (shutil.copytree if done.is_folder else shutil.copy)(self.folder / name, self._kept / name)
            self._older[name] = done.result
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self._kept, self.folder)

    def reference(self, scenario: Scenario) -> Outcome:
        """What a command does without a fault, and how many operations that takes."""
        if scenario not in self._references:
            self._fill(scenario)
            self._references[scenario] = found = self.run(scenario)
            assert found.code not in _UNUSABLE, f"{scenario.name}: {found.err}"
            # What it loaded is loaded here, so that no try does it again.
            for name in self._references[scenario].modules:
                with suppress(ImportError):
                    import_module(name)
        return self._references[scenario]

    def run(self, scenario: Scenario, operation: str = "", at: int = 0, fault: str = "") -> Outcome:
        """Runs a command in the folder as it is."""
        before = {path.name for path in self.folder.iterdir()}
        out, told = self._streams / "out", self._streams / "told"
        told.write_bytes(b"{}")
        # A pipe, which the most bytes of a file do not bound.
        err, ours = os.pipe()
        fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, 1 << 20)
        other = os.fork() if scenario.beside and at else None
        if other == 0:
            quiet = os.open(os.devnull, os.O_WRONLY)
            self._become(scenario, Injector(str(self.folder), "none"), self._streams / "other", quiet, None)
        child = os.fork()
        if child == 0:
            self._become(scenario, Injector(str(self.folder), operation, at, fault), out, ours, told)
        os.close(ours)
        code = _waited(child)
        if other is not None:
            _waited(other)
        with os.fdopen(err, "rb") as stream:
            said = stream.read().decode("utf-8", "replace")
        known = json.loads(told.read_bytes())
        result = self.folder / scenario.output if scenario.output is not None else None
        lies = {path.name for path in self.folder.iterdir()}
        return Outcome(
            code,
            out.read_bytes(),
            said,
            self._content(result) if result is not None and result.exists() else None,
            result is not None and result.is_dir(),
            tuple(sorted(lies - before - {scenario.output})),
            tuple(sorted(lies)),
            all((self.folder / path.name).read_bytes() == path.read_bytes() for path in self._kept.glob("*.*")),
            known.get("counts", {}),
            tuple(known.get("modules", ())),
        )

    def _become(self, scenario: Scenario, injector: Injector, out: Path, err: int, told: Path | None) -> None:
        """In the forked process: the command, and nothing of the runner any more."""
        code = 99
        try:
            os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            os.dup2(err, 2)
            os.chdir(self.folder)
            os.environ["TMPDIR"] = tempfile.tempdir = str(self.folder)
            resource.setrlimit(resource.RLIMIT_CPU, (_MOST_CPU_S, _MOST_CPU_S))
            words = [str(self.folder / word) if (self.folder / word).exists() else word for word in scenario.words]
            if scenario.output is not None:
                words = [str(self.folder / word) if word == scenario.output else word for word in words]
            from analyzer.collect import local_workers
            from analyzer.commands.shared.guard import guarded
            from analyzer.core.output.gate import buffer_standard_output, flush_streams

            # The program is loaded: nothing is gained by starting Python again.
            local_workers.get_context = lambda _: get_context("fork")
            buffer_standard_output()
            injector.install()
            code = guarded(words)
            sys.setprofile(None)
            flush_streams()
            if told is not None and injector.counts:
                told.write_text(json.dumps({"counts": injector.counts, "modules": list(sys.modules)}), "utf-8")
        finally:
            os._exit(code)

    def _content(self, result: Path) -> bytes:
        """A file's bytes, or the rows of a dataset, sorted."""
        if result.is_file():
            return result.read_bytes()
        rows = self._streams / "rows"
        rows.write_bytes(b"")
        child = os.fork()
        if child == 0:
            try:
                rows.write_bytes(_rows_of(result))
            except Exception as error:
                rows.write_text(f"no dataset: {error}", "utf-8")
            finally:
                os._exit(0)
        _waited(child)
        return rows.read_bytes()

    def outcome(self, point: Point) -> Outcome:
        """What a command does that meets a fault."""
        scenario = point.scenario
        self.reference(scenario)
        self._fill(scenario)
        if scenario.output is not None and not scenario.is_dataset:
            (self.folder / scenario.output).write_bytes(OLD)
        return self.run(scenario, point.operation, point.at, point.fault)

    def tried(self, point: Point) -> Iterator[str]:
        """What is wrong after a fault."""
        return self.judged(point, self.outcome(point))

    def judged(self, point: Point, found: Outcome) -> Iterator[str]:
        """What is wrong with the outcome of a fault, and with the next run in the same folder."""
        scenario, whole = point.scenario, self.reference(point.scenario)
        older = self._older.get(scenario.output or "", OLD)
        is_killed = found.code == -signal.SIGKILL and point.fault == KILL
        yield from _wrong(point, found, whole, older, is_killed=is_killed)
        again = self._again(scenario)
        is_told_alike = scenario.is_dataset or again.out == whole.out
        if (again.code, again.result) != (whole.code, whole.result) or not is_told_alike:
            yield f"the next run ends in {again.code}: {again.err[-200:]}"
        if scenario.output is not None and (left := [name for name in again.lies if name.startswith(".pcq-")]):
            yield f"left behind by the next run too: {', '.join(left)}"

    def _again(self, scenario: Scenario) -> Outcome:
        """What the command does without a fault in the folder as it is; it is run once for each state of the folder."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        state = sha256(b"".join(str(path).encode() + sha256(path.read_bytes()).digest() for path in files)).digest()
        if (scenario, state) not in self._ended:
            self._ended[scenario, state] = self.run(scenario)
        return self._ended[scenario, state]


def _rows_of(dataset: Path) -> bytes:
    """What a dataset holds, without the names of its files."""
    from analyzer.screens.notebook.notebook_dataset import Dataset

    opened = Dataset.open(dataset)
    tables = (opened.calls.collect(), opened.samples.collect(), opened.sessions.collect(), opened.problems.collect())
    return "\n".join(sorted(str(row) for table in tables for row in table.rows())).encode("utf-8", "backslashreplace")


def _wrong(point: Point, found: Outcome, whole: Outcome, older: bytes | None, *, is_killed: bool) -> Iterator[str]:
    is_said = bool(found.err.strip())
    if "Traceback" in found.err or "an error in this program" in found.err:
        yield f"a mistake of the program: {found.err[-300:]}"
    if found.code == 70 and not any(words in found.err for words in _ALLOWED_70):
        yield f"exit code 70: {found.err[-200:]}"
    if found.code < 0 and not is_killed:
        yield f"ended by signal {-found.code}"
    is_whole = found.result == whole.result and (point.scenario.is_dataset or found.out == whole.out)
    is_named = _names_loss(found, point.fault)
    if (
        point.scenario.output is not None
        and found.result not in (older, whole.result)
        and (
            found.result is None
            or _is_torn(found.result, whole.result or b"")
            or not (is_named or (found.code > 0 and is_said))
        )
    ):
        yield "the result is neither the older one nor whole, and names no loss"
    if not is_whole and found.code == 0 and not is_named:
        yield "exit code 0, and the result is not whole"
    if not is_whole and not is_killed and not is_said and not is_named:
        yield f"exit code {found.code} without a sentence"
    if found.leftovers and not is_killed:
        yield f"left behind: {', '.join(found.leftovers)}"
    if not found.is_read_unchanged:
        yield "what is read was changed"


def _is_torn(result: bytes, whole: bytes) -> bool:
    """Whether it ends within something. A beginning of the other that ends with a line is of fewer records."""
    is_of_lines = not result or result.endswith(b"\n")
    return whole.startswith(result) and (whole.startswith(b"PAR1") or not is_of_lines)


def _names_loss(found: Outcome, fault: str) -> bool:
    """Whether the result itself, or a sentence beside it, states what could not be read."""
    said = (found.result or b"") + found.out + found.err.encode()
    stated = (
        b"could not be read",
        b'"unreadable"',
        *([os.strerror(_ERRORS[fault]).encode()] if fault in _ERRORS else []),
    )
    return any(words in said for words in stated)


def _waited(child: int) -> int:
    """The exit code of a process, or its signal below 0; one that does not end is ended."""
    for turn in range(_MOST_TURNS):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        sleep(0.002 if turn < 1000 else 0.1)
    os.kill(child, signal.SIGABRT)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def points_of(room: Room, scenario: Scenario) -> Iterator[Point]:
    """The points of a command that are tried."""
    whole = room.reference(scenario)
    for operation, faults in FAULTS.items():
        count = whole.counts.get(operation, 0)
        chosen = (
            range(1, count + 1)
            if count <= _MOST
            else sorted({1 + count * at // _MOST for at in range(_MOST)} | {count})
        )
        for at in chosen:
            for fault in faults:
                yield Point(scenario, operation, at, fault)
    written = len(whole.result) if whole.result is not None else len(whole.out)
    for share in range(8):
        yield Point(scenario, FULL_AT, written * share // 8, "EFBIG")


def sampled(room: Room, scenarios: Sequence[Scenario], count: int, seed: int) -> Iterator[Point]:
    """Some points of so many commands."""
    chance = random.Random(seed)
    for scenario in chance.sample([one for one in scenarios if not one.is_dataset], count):
        points = list(points_of(room, scenario))
        yield from chance.sample(points, min(_POINTS_OF_ONE, len(points)))


def shuffled(room: Room, scenarios: Sequence[Scenario], seed: int) -> Iterator[Point]:
    """All points in an order of the seed's, so that an end before all is a sample."""
    points = [point for scenario in scenarios for point in points_of(room, scenario)]
    random.Random(seed).shuffle(points)
    return iter(points)


def table_of(tried: Counter[tuple[str, str]]) -> str:
    """How many points of each kind were tried, as a table."""
    faults = list(dict.fromkeys(fault for _, fault in tried))
    rows = [f"| operation | {' | '.join(faults)} |", f"|---|{'---:|' * len(faults)}"]
    rows += [
        f"| {operation} | {' | '.join(f'{tried[operation, fault]:,}' if tried[operation, fault] else '' for fault in faults)} |"
        for operation in dict.fromkeys(operation for operation, _ in tried)
    ]
    return "\n".join(rows)


class Runners:
    """Processes that each try a share of points in a folder of their own."""

    def __init__(self, base: Path, points: Sequence[Point], number: int) -> None:
        self._runners = []
        context = get_context("fork")
        for at in range(min(number, len(points))):
            ours, theirs = context.Pipe(duplex=False)
            runner = context.Process(target=self._run, args=(base / str(at), points[at::number], ours, theirs))
            runner.start()
            theirs.close()
            self._runners.append((ours, runner))

    @staticmethod
    def _run(base: Path, points: Sequence[Point], ours: Connection, out: Connection) -> None:
        ours.close()
        with suppress(KeyboardInterrupt):
            room = Room(base)
            for point in points:
                out.send((point, list(room.tried(point))))

    def __iter__(self) -> Iterator[tuple[Point, list[str]]]:
        """Each point with what is wrong after it. Raises `KeyboardInterrupt` where not all were tried."""
        open_pipes: list[Any] = [pipe for pipe, _ in self._runners]
        while open_pipes:
            for pipe in wait(open_pipes):
                try:
                    yield pipe.recv()
                except EOFError:
                    open_pipes.remove(pipe)
        for _, runner in self._runners:
            runner.join()
            if runner.exitcode:
                raise KeyboardInterrupt


def write_document(words: str) -> None:
    text = DOCUMENT.read_text("utf-8")
    before, rest = text.split("<!-- faults -->\n")
    after = rest.partition("<!-- end of faults -->")[2]
    DOCUMENT.write_text(f"{before}<!-- faults -->\n{words}\n<!-- end of faults -->{after}", "utf-8")


def point_of(text: str) -> Point:
    """The point that its text names."""
    place, _, name = text.partition(" -- ")
    operation, at, fault = place.split()
    return Point(next(one for one in SCENARIOS if one.name == name), operation, int(at), fault)


def tried_here(room: Room, points: Iterable[Point]) -> Iterator[tuple[Point, list[str]]]:
    """Tries points in this process; what each does is printed."""
    for point in points:
        found = room.outcome(point)
        sys.stdout.write(f"{replace(found, modules=())}\n")
        yield point, list(room.judged(point, found))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("points", nargs="*", help="OPERATION AT FAULT -- COMMAND, each as one word")
    options.add_argument("--sample", type=int, help="of so many commands some points, chosen by the seed")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default="", help="commands whose words have this in them")
    options.add_argument("--runners", type=int, default=os.cpu_count() or 1, help="processes; one a core if not given")
    options.add_argument("--write", action="store_true", help="the counts to docs/reliability.md")
    given = options.parse_args()
    scenarios = [one for one in SCENARIOS if given.only in one.name]
    tried, findings = Counter[tuple[str, str]](), 0
    with tempfile.TemporaryDirectory(prefix="pcq-faults-", ignore_cleanup_errors=True) as folder:
        room = Room(Path(folder) / "room")
        done: Iterable[tuple[Point, list[str]]]
        if given.points:
            done = tried_here(room, map(point_of, given.points))
        elif given.sample is not None:
            done = Runners(Path(folder), list(sampled(room, scenarios, given.sample, given.seed)), given.runners)
        else:
            done = Runners(Path(folder), list(shuffled(room, scenarios, given.seed)), given.runners)
        met = set()
        # Ctrl-C ends the trying, and what was tried is stated; also where a script has it ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        is_all = False
        with suppress(KeyboardInterrupt):
            for point, wrong in done:
                met.add(point.scenario)
                tried[point.operation, point.fault] += 1
                findings += bool(wrong)
                for sentence in wrong:
                    sys.stdout.write(f"{point}: {sentence}\n")
                    sys.stdout.flush()
            is_all = True
    which = "" if is_all else ", chosen at random,"
    words = f"{tried.total():,} points{which} of {len(met)} commands, {findings} with a finding:\n\n{table_of(tried)}"
    used = sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime for who in _OF_ALL)
    sys.stdout.write(f"{words}\n\n{used:,.0f} s of processors\n")
    if given.write:
        write_document(words)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
