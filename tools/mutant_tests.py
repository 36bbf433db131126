"""Runs the tests that meet a mutant: a copy of the project and places in, verdicts out.

Three kinds of processes are forked from one that has loaded the libraries and nothing of ours:

* `trace` runs tests under coverage.py, one process for each processor, and keeps which lines each runs, and for how long: a file
  for each file of tests, which counts for as long as that stays as it is. Of a file of the program that has changed since, all
  lines count. A line that runs in a fixture of a module or session belongs to each test that asks for the fixture; results that
  tests or program remember (`functools.cache`) are forgotten before each test.
* A host has collected the tests. For each mutant of a function it forks a process that gives the function its new code and runs the
  tests. Nothing is loaded, so a mutant costs as much as its tests.
* What runs when modules are loaded (tables, classes, defaults) is loaded anew, in a process of its own.

Near tests (those of the package) come first, each test function with the same share of time; behind them the others, each file
likewise; the quickest first. The first that fails ends the process. Examples of properties are a tenth, the same in each run,
and are not made smaller after a failure. A test is ended when it takes ten times its processor time. A test that has failed counts
only if it passes without the mutant.
"""

from __future__ import annotations

import ast
import functools
import gc
import hashlib
import importlib
import json
import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import CO_OPTIMIZED
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, NamedTuple

LIBRARIES = (
    "pytest hypothesis numpy polars msgspec orjson cryptography typer zstandard lz4.block isal.igzip lark coverage"
)
_OPTIONS = ("-q", "--capture=sys", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist")
# The near tests of a mutant take so much processor time together, at most, and the others as well: more of them hold hardly more.
# A test may take so much longer than without a mutant before it is ended, and wait for so long.
_SECONDS, _SLOWER, _GRACE, _WAITING = 6.0, 10.0, 3.0, 60.0
_CPU, _MEMORY = 600, 8 << 30
_CORES = len(os.sched_getaffinity(0))
# How a process that ran tests ends.
_PASSED, _FAILED, _NOT_REPLACED = 0, 3, 4


class Place(NamedTuple):
    """A mutant: its file in the project, the lines of its statement, the file as it is and as it becomes, the names that a
    statement of a module or class gives to what it makes (none inside of functions)."""

    file: str
    line: int
    lines: range
    source: str
    mutated: str
    names: tuple[str, ...]


class Verdict(NamedTuple):
    """Whether a mutant was killed, and by which test; why not: `survived`, or no test runs the line (`not run`)."""

    killed: bool
    why: str


class Known(NamedTuple):
    """Of each test that passes, the lines it runs by file (a bit each), and its processor time; lines that run while modules are
    loaded."""

    lines: dict[str, dict[str, int]]
    seconds: dict[str, float]
    imported: dict[str, int]
    failing: tuple[str, ...]
    # The file of the tests that look at every class, whichever lines they run.
    of_classes: str = ""
    # The files of tests.
    texts: Mapping[str, str] = MappingProxyType({})

    def tests_of(self, place: Place, sources: Sources, near: str = "") -> list[str]:
        """The tests that run a place, those whose names begin with `near` before the others; of what is made when a module is
        loaded, those that run what it is made into (`Sources.made_with`), and those of files that name it."""
        wanted = {place.file: 1 << place.line}
        if not self._that_run(wanted):
            wanted = {place.file: _bits(place.lines)}
        if place.names:
            wanted, names = sources.made_with(place.names)
            word = _word(names)
        found = self._that_run(wanted)
        if place.names:
            naming = {file for file, text in self.texts.items() if word.search(text)}
            found = list(dict.fromkeys([*found, *(test for test in self.lines if test.partition("::")[0] in naming)]))
        own = [test for test in found if test.startswith(near)]
        if not found and self.is_imported(place):
            # What it made is used somewhere, most likely where the rest of the file is.
            own, found = self._that_run({place.file: -1}), list(self.lines)
        if place.source.splitlines()[place.lines[0] - 1].lstrip().startswith("class "):
            own += [test for test in self.lines if test.startswith(f"{self.of_classes}::")]
        others = set(found).difference(own)
        by_function = self._in_turn(own, lambda test: test.partition("[")[0])
        by_file = self._in_turn(others, lambda test: test.partition("::")[0])
        return [*self._within(by_function), *self._within(by_file)]

    def _that_run(self, wanted: Mapping[str, int]) -> list[str]:
        return [test for test, by in self.lines.items() if any(by.get(file, 0) & bits for file, bits in wanted.items())]

    def _in_turn(self, tests: Iterable[str], group_of: Callable[[str], str]) -> list[str]:
        """The quickest of each group, and further ones of a group as long as its tests took no longer together than the first of
        another: tests of a group are often one test with other values."""
        spent: dict[str, float] = {}
        turns: list[tuple[float, str]] = []
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            group = group_of(test)
            # What takes no time that can be measured takes some.
            spent[group] = spent.get(group, 0.0) + max(self.seconds[test], 0.001)
            turns.append((spent[group], test))
        return [test for _, test in sorted(turns)]

    def _within(self, tests: Iterable[str]) -> Iterator[str]:
        total = 0.0
        for test in tests:
            if total and total + self.seconds[test] > _SECONDS:
                break
            total += self.seconds[test]
            yield test

    def is_imported(self, place: Place) -> bool:
        """Whether the place runs while modules are loaded, so that a function cannot be replaced afterwards."""
        return bool(place.names) or bool(self.imported.get(place.file, 0) & _bits(place.lines))


class Sources:
    """The files of the program, and what their statements make while they are loaded."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def made_with(self, names: Sequence[str]) -> tuple[dict[str, int], set[str]]:
        """By file, the lines with one of the names, and those of the functions and classes that are made with it: an option
        that stands in the signature of a command is met by what runs the command. All their names, these too."""
        made, lines, new = set(names), {}, set(names)
        while new:
            word = _word(new)
            new = set()
            for file, text in self.texts.items():
                if not word.search(text):
                    continue
                found = _bits(number for number, line in enumerate(text.splitlines(), 1) if word.search(line))
                for one in self._statements[file]:
                    if not made.isdisjoint(one.uses):
                        found |= _bits(one.lines)
                        new |= set(one.names) - made
                lines[file] = lines.get(file, 0) | found
            made |= new
        return lines, made

    @functools.cached_property
    def _statements(self) -> dict[str, list[_Made]]:
        return {file: list(_made(ast.parse(text).body)) for file, text in self.texts.items()}


class _Made(NamedTuple):
    """A statement of a module or class: what it makes, of what, while it is loaded; of a function or class, all its lines."""

    names: tuple[str, ...]
    uses: frozenset[str]
    lines: range


def _made(body: Iterable[ast.stmt]) -> Iterator[_Made]:
    for one in body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            parts: list[ast.AST] = [one.args, *one.decorator_list]
        elif isinstance(one, ast.ClassDef):
            parts = [*one.bases, *one.keywords, *one.decorator_list]
            yield from (each._replace(names=(one.name,)) for each in _made(one.body))
        elif isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign):
            parts = [one]
        else:
            continue
        uses = frozenset(each.id for part in parts for each in ast.walk(part) if isinstance(each, ast.Name))
        lines = range(one.lineno, (one.end_lineno or one.lineno) + 1)
        yield _Made(_names(one), uses - set(_names(one)), lines)


def _word(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")


def _bits(lines: Iterable[int]) -> int:
    found = 0
    for line in lines:
        found |= 1 << line
    return found


class Tests:
    """Tests of a package in a copy of the project, and what they say of mutants."""

    def __init__(self, copy: Path, tests: Sequence[str], program: str, cache: Path, *, of_classes: str = "") -> None:
        """`program` is the folder in the copy whose lines are asked for, `of_classes` the file of the tests of every class."""
        self._copy = copy
        self._sound: dict[str, bool] = {}
        self.sources = Sources(
            {
                path.relative_to(copy).as_posix(): path.read_text("utf-8")
                for path in sorted((copy / program).rglob("*.py"))
            }
        )
        files = sorted(set(chain.from_iterable(_test_files(copy / one.partition("::")[0]) for one in tests)))
        cache.mkdir(exist_ok=True)
        known = {path: cache / f"{_key_of(copy, path)}.json" for path in files}
        stale = [path for path, kept in known.items() if not kept.exists()]
        shares = [share for number in range(_CORES) if (share := stale[number::_CORES])]
        _forked(*(partial(_trace, copy, program, {path: known[path] for path in share}) for share in shares))
        texts = {path.relative_to(copy).as_posix(): path.read_text("utf-8") for path in files}
        read = _read((kept for kept in known.values() if kept.exists()), self.sources.texts, of_classes)
        self.known = read._replace(texts=texts)

    def verdicts(self, places: Sequence[Place], near: str = "") -> Iterator[tuple[Place, Verdict]]:
        """Tries each place, with the tests whose names begin with `near` first; those that have to be loaded anew come last."""
        chosen = {place: self.known.tests_of(place, self.sources, near) for place in places}
        loaded: list[Place] = []
        live = []
        for place in places:
            if not chosen[place]:
                yield place, Verdict(False, "not run")
            elif self.known.is_imported(place):
                loaded.append(place)
            else:
                live.append(place)
        for place, verdict in self._hosted(live, chosen):
            if verdict is None:
                loaded.append(place)
            else:
                yield place, verdict
        for place in loaded:
            yield place, self._anew(place, chosen[place])

    def _hosted(self, places: list[Place], chosen: Mapping[Place, list[str]]) -> Iterator[tuple[Place, Verdict | None]]:
        if not places:
            return
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _end_after(lambda: _host(self._copy, places, chosen, self.known.seconds, write))
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as lines:
            for line in lines:
                number, killed, why = json.loads(line)
                yield places[number], None if killed is None else Verdict(killed, why)
        if os.waitpid(child, 0)[1]:
            raise RuntimeError("the process that had collected the tests ended early")

    def _anew(self, place: Place, tests: list[str]) -> Verdict:
        with _Mutated(self._copy, place):
            failed = self._first_that_fails(tests)
        if failed is None:
            return Verdict(False, "survived")
        if failed not in self._sound:
            self._sound[failed] = self._first_that_fails([failed]) is None
        if self._sound[failed]:
            return Verdict(True, failed)
        return (
            self._anew(place, rest) if (rest := [one for one in tests if one != failed]) else Verdict(False, "survived")
        )

    def _first_that_fails(self, tests: Sequence[str]) -> str | None:
        return _first_that_fails(tests, lambda begun: _run_anew(self._copy, tests, self.known.seconds, begun))


class _Mutated:
    """The file in the copy is the mutated one for as long: processes that tests start load it from there."""

    def __init__(self, copy: Path, place: Place) -> None:
        self._path, self._new = copy / place.file, place.mutated

    def __enter__(self) -> None:
        self._old, self._times = self._path.read_bytes(), self._path.stat()
        self._path.write_text(self._new, "utf-8")

    def __exit__(self, *error: object) -> None:
        self._path.write_bytes(self._old)
        os.utime(self._path, ns=(self._times.st_atime_ns, self._times.st_mtime_ns))


def _test_files(path: Path) -> list[Path]:
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def _key_of(copy: Path, path: Path) -> str:
    """Of a file of tests, and what lies beside it: helpers and data."""
    beside = (one for one in path.parent.iterdir() if one.is_file() and not one.name.startswith("test_"))
    found = hashlib.sha256()
    for one in (path, *sorted(beside)):
        found.update(str(one.relative_to(copy)).encode() + one.read_bytes())
    return found.hexdigest()[:32]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(kept: Iterable[Path], sources: Mapping[str, str], of_classes: str) -> Known:
    """What was found at any time. Of a file that has changed since, every line was run by the tests that ran one."""
    known = Known({}, {}, {}, (), of_classes)
    failing: list[str] = []
    digests = {file: _digest(text) for file, text in sources.items()}
    same: dict[int, int] = {}
    for path in kept:
        found = json.loads(path.read_text("utf-8"))
        new = {file: -1 for file in digests if file not in found["program"]}
        changed = {file for file, digest in digests.items() if found["program"].get(file) != digest}
        failing += found["failing"]
        for test, (seconds, lines) in found["tests"].items():
            known.seconds[test] = seconds
            own = {file: -1 if file in changed else int(bits, 16) for file, bits in lines.items()} | new
            known.lines[test] = {file: same.setdefault(bits, bits) for file, bits in own.items()}
        for file, bits in found["imported"].items():
            if file not in changed:
                known.imported[file] = known.imported.get(file, 0) | int(bits, 16)
    return known._replace(failing=tuple(failing))


# In forked processes.


def _forked(*runs: Callable[[], int | None]) -> int:
    """How the last of the processes ended; they run side by side."""
    children = []
    for run in runs:
        child = os.fork()
        if child == 0:
            _end_after(run)
        children.append(child)
    return max((os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children), default=0)


def _end_after(run: Callable[[], int | None]) -> None:
    code = 1
    try:
        code = run() or 0
    finally:
        os._exit(code)


def _first_that_fails(tests: Sequence[str], run: Callable[[Callable[[int], object]], int]) -> str | None:
    """Runs tests in a forked process, which reports the number of each as it begins: the one that it did not get past."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    ended = _forked(lambda: run(lambda number: os.write(write, f"{number}\n".encode())))
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as lines:
        begun = [int(line) for line in lines]
    if ended == _NOT_REPLACED:
        raise _NotReplacedError
    return None if ended == _PASSED else tests[begun[-1] if begun else 0]


class _NotReplacedError(Exception):
    """The mutant is more than the code of functions."""


def _become_tester(copy: Path) -> None:
    """Nothing of ours has been loaded yet in this process; what will be is that of the copy."""
    # Collecting what was inherited would copy all its pages, which took seconds of a test's time behind a large process.
    gc.freeze()
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    sys.dont_write_bytecode = True
    os.environ.update(PCQ_PROPERTIES="0.1", PYTHONPATH=str(copy), PYTHONDONTWRITEBYTECODE="1", CI="1")
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)


def _with_tests(tests: Sequence[str], run: Callable[[dict[str, Any]], None]) -> None:
    """Collects tests and hands them over by name, in place of running all."""
    import pytest
    from hypothesis import Phase, settings

    class Instead:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            for item in items:
                test: Any = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
                given = getattr(test, "_hypothesis_internal_use_settings", None)
                if given is not None:
                    phases = (Phase.explicit, Phase.generate)
                    test._hypothesis_internal_use_settings = settings(given, phases=phases, database=None)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session: Any) -> bool:
            run({item.nodeid: item for item in session.items})
            return True

    pytest.main([*_OPTIONS, "--continue-on-collection-errors", *tests], plugins=[Instead()])


def _passes(item: Any, following: Any) -> bool:
    from _pytest.runner import runtestprotocol

    return not any(report.failed for report in runtestprotocol(item, nextitem=following, log=False))


def _run(
    items: Mapping[str, Any], tests: Sequence[str], seconds: Mapping[str, float], begun: Callable[[int], object]
) -> int:
    """Runs tests up to the first that fails. One that takes too long ends the process (SIGPROF, SIGALRM)."""
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU, _CPU))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for at, test in enumerate(tests):
        begun(at)
        signal.setitimer(signal.ITIMER_PROF, _GRACE + _SLOWER * seconds[test])
        signal.setitimer(signal.ITIMER_REAL, _WAITING + 2 * _SLOWER * seconds[test])
        following = items.get(tests[at + 1]) if at + 1 < len(tests) else None
        if test not in items or not _passes(items[test], following):
            return _FAILED
    return _PASSED


def _run_anew(copy: Path, tests: Sequence[str], seconds: Mapping[str, float], begun: Callable[[int], object]) -> int:
    _become_tester(copy)
    ended = [_FAILED]

    def run(items: dict[str, Any]) -> None:
        ended[0] = _run(items, tests, seconds, begun)

    _with_tests(sorted({test.partition("::")[0] for test in tests}), run)
    return ended[0]


def _host(
    copy: Path,
    places: Sequence[Place],
    chosen: Mapping[Place, list[str]],
    seconds: Mapping[str, float],
    answers: int,
) -> None:
    _become_tester(copy)
    files = sorted({test.partition("::")[0] for place in places for test in chosen[place]})

    def run(items: dict[str, Any]) -> None:
        for file in {place.file for place in places}:
            _load(file)
        host = _Host(copy, items, seconds)
        for number, place in enumerate(places):
            killed, why = host.tries(place, chosen[place])
            os.write(answers, f"{json.dumps([number, killed, why])}\n".encode())

    _with_tests(files, run)


class _Host:
    """A process that has collected the tests, and forks one for each mutant."""

    def __init__(self, copy: Path, items: Mapping[str, Any], seconds: Mapping[str, float]) -> None:
        self._copy, self._items, self._seconds = copy, items, seconds
        self._functions = _functions(copy)
        self._sound: dict[str, bool] = {}
        for one in _remembering(copy):
            one.cache_clear()
        gc.collect()
        gc.freeze()

    def tries(self, place: Place, tests: Sequence[str]) -> tuple[bool | None, str]:
        """Whether a mutant is killed, and by which test; None where it has to be loaded anew."""
        try:
            with _Mutated(self._copy, place):
                failed = _first_that_fails(tests, lambda begun: self._with(place, tests, begun))
        except _NotReplacedError:
            return None, ""
        if failed is None:
            return False, "survived"
        if failed not in self._sound:
            clean = _first_that_fails([failed], lambda begun: _run(self._items, [failed], self._seconds, begun))
            self._sound[failed] = clean is None
        if self._sound[failed]:
            return True, failed
        rest = [one for one in tests if one != failed]
        return self.tries(place, rest) if rest else (False, "survived")

    def _with(self, place: Place, tests: Sequence[str], begun: Callable[[int], object]) -> int:
        path = str(self._copy / place.file)
        old = compile(place.source, path, "exec")
        if not _replace(self._functions, old, compile(place.mutated, path, "exec")):
            return _NOT_REPLACED
        return _run(self._items, tests, self._seconds, begun)


def _load(file: str) -> None:
    name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    try:
        importlib.import_module(name)
    except ImportError:  # of an extra that is not installed
        return


def _functions(copy: Path) -> dict[tuple[str, str, int], list[FunctionType]]:
    """All functions of ours that exist, by file, name and line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(str(copy)):
            code = one.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(one)
    return found


def _remembering(copy: Path) -> list[Any]:
    """Functions of ours whose results `functools.cache` remembers."""
    cached = type(functools.cache(len))
    return [
        one
        for one in gc.get_objects()
        if type(one) is cached
        and isinstance(wrapped := getattr(one, "__wrapped__", None), FunctionType)
        and wrapped.__code__.co_filename.startswith(str(copy))
    ]


def _replace(functions: Mapping[tuple[str, str, int], list[FunctionType]], old: CodeType, new: CodeType) -> bool:
    """Gives the functions that a mutant changes their new code; false where it changes what runs when the module is loaded."""
    pairs = _changed(old, new)
    if not pairs:
        return False
    for before, after in pairs:
        inner = list(_inner(before, after))
        if not any((one.co_filename, one.co_qualname, one.co_firstlineno) in functions for one, _ in inner):
            return False
        for one, other in inner:
            for function in functions.get((one.co_filename, one.co_qualname, one.co_firstlineno), ()):
                try:
                    function.__code__ = other
                except ValueError:  # it closes over fewer variables now
                    return False
    return True


def _changed(old: CodeType, new: CodeType) -> list[tuple[CodeType, CodeType]] | None:
    """The functions of a module or class that differ; None where more does."""
    before, after = _codes(old), _codes(new)
    if _own(old) != _own(new) or len(before) != len(after):
        return None
    found: list[tuple[CodeType, CodeType]] = []
    for one, other in zip(before, after, strict=True):
        if one == other:
            continue
        if one.co_flags & CO_OPTIMIZED:
            found.append((one, other))
        elif (deeper := _changed(one, other)) is None:
            return None
        else:
            found += deeper
    return found


def _inner(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """A function, and those defined in it."""
    yield old, new
    before, after = _codes(old), _codes(new)
    if [one.co_qualname for one in before] == [one.co_qualname for one in after]:
        for one, other in zip(before, after, strict=True):
            yield from _inner(one, other)


def _codes(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _own(code: CodeType) -> object:
    return code.co_code, code.co_names, repr([one for one in code.co_consts if not isinstance(one, CodeType)])


# Which test runs which line.


def _trace(copy: Path, program: str, files: Mapping[Path, Path]) -> int:
    """Runs the tests of files in one process, and writes what they run to a file each."""
    import coverage

    _become_tester(copy)
    data = copy / f"lines-{os.getpid()}.sqlite"
    tracer = coverage.Coverage(str(data), source=[program], config_file=False)
    tracer.start()
    for path in sorted((copy / program).rglob("*.py")):
        _load(path.relative_to(copy).as_posix())
    seconds: dict[str, float] = {}
    failing: list[str] = []
    users: dict[str, list[str]] = {}

    def run(items: dict[str, Any]) -> None:
        import pytest

        class Fixtures:
            """What a fixture runs for more than one test is each one's."""

            @pytest.hookimpl(wrapper=True)
            def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, object, object]:
                context = users.setdefault(f"fixture {fixturedef.baseid} {fixturedef.argname}", [])
                context[:] = [name for name, item in items.items() if _asks(item, fixturedef)]
                if fixturedef.scope == "function":
                    return (yield)
                tracer.switch_context(f"fixture {fixturedef.baseid} {fixturedef.argname}")
                result = yield
                tracer.switch_context(request.node.nodeid if request.node.nodeid in items else now[0])
                return result

        now, remembering = [""], _remembering(copy)
        names = list(items)
        if names:
            items[names[0]].config.pluginmanager.register(Fixtures())
        for name, following in zip(names, [*names[1:], None], strict=True):
            for one in remembering:
                one.cache_clear()
            now[0] = name
            tracer.switch_context(name)
            begun = sum(os.times()[:4])
            if not _passes(items[name], items[following] if following else None):
                failing.append(name)
            seconds[name] = sum(os.times()[:4]) - begun

    _with_tests([str(path.relative_to(copy)) for path in files], run)
    tracer.stop()
    tests, imported = _lines(tracer.get_data(), copy, users)
    program_files = {
        path.relative_to(copy).as_posix(): _digest(path.read_text("utf-8")) for path in (copy / program).rglob("*.py")
    }
    for path, kept in files.items():
        name = path.relative_to(copy).as_posix()
        of_file = [test for test in seconds if test.partition("::")[0] == name]
        own = {test: (seconds[test], tests.get(test, {})) for test in of_file if test not in failing}
        lost = [test for test in of_file if test in failing]
        _write_whole(kept, {"program": program_files, "tests": own, "imported": imported, "failing": lost})
    data.unlink()
    return 0


def _write_whole(path: Path, value: object) -> None:
    path.with_suffix(".part").write_text(json.dumps(value), "utf-8")
    path.with_suffix(".part").rename(path)


def _asks(item: Any, fixture: Any) -> bool:
    known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return fixture in known.get(fixture.argname, ())


def _lines(
    data: Any, copy: Path, users: Mapping[str, Sequence[str]]
) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """By test and file, the lines that run (a bit each, hexadecimal); and those that run outside of tests."""
    tests: dict[str, dict[str, str]] = {}
    imported: dict[str, str] = {}
    for path in data.measured_files():
        file = os.path.relpath(path, copy)
        found: dict[str, int] = {}
        for line, contexts in data.contexts_by_lineno(path).items():
            for context in contexts:
                found[context] = found.get(context, 0) | 1 << line
        by_test: dict[str, int] = {}
        for context, bits in found.items():
            for test in users.get(context, [context]):
                by_test[test] = by_test.get(test, 0) | bits
        imported[file] = f"{by_test.pop('', 0):x}"
        for test, bits in by_test.items():
            tests.setdefault(test, {})[file] = f"{bits:x}"
    return tests, imported


def statement_of(tree: ast.Module, line: int) -> tuple[range, tuple[str, ...]]:
    """The lines of the innermost statement at a line (of one with a body, those before the body), and the names it makes when it is
    run while the module is loaded; no names inside of functions."""
    best: tuple[range, tuple[str, ...]] = (range(line, line + 1), ())

    def walk(body: Iterable[ast.stmt], inside: bool, owner: tuple[str, ...]) -> None:
        nonlocal best
        for one in body:
            first = min([one.lineno, *(each.lineno for each in getattr(one, "decorator_list", ()))])
            if not first <= line <= (one.end_lineno or one.lineno):
                continue
            parts = [
                child
                for field in ("body", "orelse", "finalbody", "handlers", "cases")
                for child in getattr(one, field, ())
                if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)
            ]
            nested = [*chain.from_iterable(part.body if not isinstance(part, ast.stmt) else [part] for part in parts)]
            stop = min((part.lineno for part in nested), default=(one.end_lineno or one.lineno) + 1)
            names = _names(one) or owner
            best = (range(first, max(stop, first + 1)), () if inside else names)
            function = isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            walk(nested, inside or function, names if isinstance(one, ast.ClassDef) else owner)

    walk(tree.body, False, ())
    return best


def _names(statement: ast.stmt) -> tuple[str, ...]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=targets):
            return tuple(
                sorted({one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)})
            )
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            return (name,)
        case _:
            return tuple(sorted({one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}))
