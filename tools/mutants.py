"""Mutation testing: changes the program in one small way at a time and sees whether the tests of its package notice.

    python tools/mutants.py [PACKAGE|FILE ...] [--tests PATH ...] [--sample N] [--seed S] [--line L] [--list]

PACKAGE is a name below `analyzer/` (`smb`), FILE a path; without any, all packages. Of each, N places are drawn by the seed (all
with --sample 0). The tests run in a copy, so the checkout stays as it is: those of the package, and `ALSO` where others hold it, or
those that --tests names; of these, the ones that run the line. A mutant is killed when one of them fails, or takes ten times the
processor time of all. Survivors that change nothing that can be observed stand in tools/mutants_equivalent.toml with the reason,
and are not counted.

A process that has loaded the libraries is forked for each mutant, since to load them takes longer than most tests.

Prints each survivor as a diff of one line, then what was killed by package; exits with 1 where a package is below `FLOOR`.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import resource
import shutil
import sqlite3
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FLOOR = 0.9
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.toml")
# Tests of other folders that hold a package.
ALSO: dict[str, tuple[str, ...]] = {
    "core": ("tests/tcp", "tests/rpc"),
    "channel": ("tests/smb", "tests/rpc"),
    "contents": ("tests/formats", "tests/views", "tests/cli/test_commands.py"),
    "model": ("tests/formats", "tests/views", "tests/pcq"),
    "pipeline": ("tests/cli/test_commands.py", "tests/cli/test_evidence.py"),
    "resolution": ("tests/pcq", "tests/test_captures.py"),
    "statistics": ("tests/views", "tests/cli/test_triage.py"),
    "winperf": ("tests/test_captures.py",),
    "pcq": ("tests/test_captures.py",),
    "notebook": ("tests/test_notebook_api.py", "tests/test_notebook_parts.py"),
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.FloorDiv: "*",
    ast.Mod: "+",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.LShift: ">>",
    ast.RShift: "<<",
}


class Mutant(NamedTuple):
    """The characters `start` to `stop` of a file are replaced; `line` is where."""

    path: Path
    line: int
    start: int
    stop: int
    new: str

    def applied(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.stop :]


def mutants_of(path: Path) -> list[Mutant]:
    """All places of a file, in order. Docstrings, types, messages and what only mypy reads are left alone."""
    source = path.read_text("utf-8")
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    raw = source.encode()

    def offset(line: int, column: int) -> int:
        return len(raw[: starts[line - 1] + column].decode())

    found: list[Mutant] = []

    def add(node: ast.expr | ast.stmt, new: str, *, begin: int | None = None, end: int | None = None) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = offset(node.lineno, node.col_offset) if begin is None else begin
        stop = offset(node.end_lineno, node.end_col_offset) if end is None else end
        found.append(Mutant(path, source.count("\n", 0, start) + 1, start, stop, new))

    def between(left: ast.expr, right: ast.expr, new: str) -> None:
        """Replaces the operator between two operands."""
        assert left.end_lineno is not None
        assert left.end_col_offset is not None
        begin, end = offset(left.end_lineno, left.end_col_offset), offset(right.lineno, right.col_offset)
        gap = source[begin:end]
        word = gap.strip("() \n\\")
        if word and "#" not in gap:
            at = begin + gap.index(word)
            add(left, new, begin=at, end=at + len(word))

    for node in _code(ast.parse(source)):
        match node:
            case ast.Compare(left=left, ops=ops, comparators=right):
                for one, op, other in zip([left, *right], ops, right, strict=False):
                    between(one, other, _COMPARE[type(op)])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                between(left, right, _BINARY[type(op)])
            case ast.BoolOp(op=op, values=values):
                for one, other in pairwise(values):
                    between(one, other, "or" if isinstance(op, ast.And) else "and")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                add(node, ast.get_source_segment(source, operand) or "True")
            case ast.Constant(value=bool(value)):
                add(node, str(not value))
            case ast.Constant(value=int(value)):
                add(node, str(value + 1))
            case ast.Continue():
                add(node, "break")
            case ast.Break():
                add(node, "continue")
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                add(value, "None")
            case ast.AugAssign() | ast.Expr(value=ast.Call()):
                add(node, "pass")
    return sorted(set(found), key=lambda one: (one.start, one.stop))


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """What runs and can be observed: no annotations, no messages of errors, no assertions."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise | ast.Assert):
                yield child
                yield from _code(child)


def tests_of(package: str) -> list[str]:
    own = f"tests/{package}"
    return [*([own] if (ROOT / own).is_dir() else []), *ALSO.get(package, ())]


class Tests:
    """Tests of a package in a copy of the project: which of them run a line, and whether they pass."""

    def __init__(self, copy: Path, tests: Sequence[str], covered: Sequence[Path]) -> None:
        """Runs all of them once. `covered` are the files whose lines are asked for."""
        self._copy, self._tests = copy, tests
        data, before = copy / "lines.sqlite", resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        data.unlink(missing_ok=True)
        self.are_green = self._forked(tests, 3600, lambda: _traced(data, covered))
        self.seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        self._lines = _lines_of(data, copy)

    def of(self, path: str, line: int) -> Sequence[str]:
        """The tests that run a line; all where it runs when the module is loaded, or begins further up."""
        lines = self._lines.get(path, {})
        for at in range(line, max(line - _LONGEST_STATEMENT, 0), -1):
            if at in lines:
                return sorted(lines[at])[:_MOST_TESTS] or self._tests
        return ()

    def pass_on(self, tests: Sequence[str]) -> bool:
        """Whether tests pass, within ten times the processor time that all of them take."""
        return self._forked(tests, int(10 * self.seconds) + 10, lambda: None)

    def _forked(self, tests: Sequence[str], seconds: int, prepare: Callable[[], object]) -> bool:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                _become_tester(self._copy, seconds)
                ended = prepare()
                code = int(import_module("pytest").main([*_OPTIONS, *tests]))
                if callable(ended):
                    ended()
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


_OPTIONS = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist")
# A statement that no line of is run begins so many lines further up, at most; more tests than so many hold nothing more.
_LONGEST_STATEMENT, _MOST_TESTS = 30, 80
_LIBRARIES = (
    "pytest hypothesis numpy polars msgspec orjson cryptography typer zstandard lz4.block isal.igzip lark coverage"
)


def _become_tester(copy: Path, seconds: int) -> None:
    """Nothing of ours has been loaded yet in this process; what will be is that of the copy."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    sys.dont_write_bytecode = True
    os.environ.update(PCQ_PROPERTIES="0.1", PYTHONPATH=str(copy), PYTHONDONTWRITEBYTECODE="1", CI="")
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)


def _traced(data: Path, covered: Sequence[Path]) -> Callable[[], None]:
    import coverage

    found = coverage.Coverage(str(data), include=[str(path) for path in covered], config_file=False)
    found.set_option("run:dynamic_context", "test_function")
    found.start()

    def ended() -> None:
        found.stop()
        found.save()

    return ended


def _lines_of(data: Path, copy: Path) -> dict[str, dict[int, set[str]]]:
    """By file and line, the tests that run it; none where it runs outside of tests."""
    from coverage.numbits import numbits_to_nums

    found: dict[str, dict[int, set[str]]] = {}
    if not data.exists():
        return found
    with closing(sqlite3.connect(data)) as known:
        rows = known.execute(
            "SELECT file.path, context.context, numbits FROM line_bits JOIN file ON file.id = file_id "
            "JOIN context ON context.id = context_id"
        )
        for path, context, bits in rows:
            lines = found.setdefault(os.path.relpath(path, copy), {})
            for line in numbits_to_nums(bits):
                lines.setdefault(line, set()).update(_node_of(context, copy))
    return found


def _node_of(context: str, copy: Path) -> Iterator[str]:
    """What pytest calls the test that coverage calls `tests.smb.test_framing.test_name`."""
    words = context.split(".")
    for count in range(len(words) - 1, 0, -1):
        path = Path(*words[:count]).with_suffix(".py")
        if (copy / path).is_file():
            yield "::".join((path.as_posix(), *words[count:]))
            return


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("what", nargs="*", help="packages below analyzer/, or files")
    options.add_argument("--tests", nargs="+", help="tests to run in place of the package's")
    options.add_argument("--sample", type=int, default=20, help="places for each package; 0 for all (20)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--line", type=int, help="only the places of this line")
    options.add_argument("--list", action="store_true", help="only list the places")
    given = options.parse_args()
    packages = sorted({path.relative_to(ROOT / "analyzer").parts[0] for path in (ROOT / "analyzer").rglob("*.py")})
    tested = [name for name in packages if tests_of(name)]
    reasons = {(one["file"], one["line"], one["new"]): one["reason"] for one in _equivalents()}
    killed, tried = Counter[str](), Counter[str]()
    for name in _LIBRARIES.split():
        import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "copy"
        for what in given.what or tested:
            path = ROOT / what if "/" in what else None
            package = path.relative_to(ROOT / "analyzer").parts[0] if path else what
            places = [each for one in ([path] if path else _files(package)) for each in mutants_of(one)]
            places = [each for each in places if given.line in (None, each.line)]
            if given.sample and len(places) > given.sample:
                places = sorted(random.Random(f"{given.seed}/{what}").sample(places, given.sample))
            if given.list:
                for each in places:
                    _show(each, "")
                continue
            if not copy.exists():
                ignore = shutil.ignore_patterns(".git", ".venv", "node_modules", "__pycache__", ".*_cache")
                shutil.copytree(ROOT, copy, ignore=ignore)
            tests = Tests(
                copy, given.tests or tests_of(package), [copy / one.relative_to(ROOT) for one in _files(package)]
            )
            if not tests.are_green:
                sys.exit(f"The tests of {package} fail without any mutant.")
            for each in places:
                key = _key(each)
                if key in reasons:
                    continue
                name = each.path.relative_to(ROOT).as_posix()
                target, source, chosen = copy / name, each.path.read_text("utf-8"), tests.of(name, each.line)
                target.write_text(each.applied(source), "utf-8")
                survived = not chosen or tests.pass_on(chosen)
                target.write_text(source, "utf-8")
                tried[package] += 1
                killed[package] += not survived
                if survived:
                    _show(each, "survived")
    for package, count in sorted(tried.items()):
        _say(f"{package:12} {killed[package]:4} of {count:4} killed ({killed[package] / count:.0%})")
    return 1 if any(killed[package] < FLOOR * count for package, count in tried.items()) else 0


def _files(package: str) -> list[Path]:
    found = ROOT / "analyzer" / package
    paths = sorted(found.rglob("*.py")) if found.is_dir() else [found]
    return [path for path in paths if "_generated" not in path.parts]


def _equivalents() -> list[dict[str, str]]:
    found: list[dict[str, str]] = tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", [])
    return found


def _key(mutant: Mutant) -> tuple[str, str, str]:
    """File, line as it stands, and line as it becomes."""
    source = mutant.path.read_text("utf-8")
    old = source.splitlines()[mutant.line - 1].strip()
    return mutant.path.relative_to(ROOT).as_posix(), old, mutant.applied(source).splitlines()[mutant.line - 1].strip()


def _show(mutant: Mutant, verdict: str) -> None:
    name, old, new = _key(mutant)
    _say(f"{name}:{mutant.line} {verdict}\n  - {old}\n  + {new}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
