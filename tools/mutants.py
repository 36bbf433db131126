"""Mutation testing: changes the program in one small way at a time and sees whether the tests of its package notice.

    python -m tools.mutants [PACKAGE|FILE ...] [--tests PATH ...] [--sample N] [--seed S] [--line L] [--list]

PACKAGE is a folder below `analyzer/` (`transport/smb`), FILE a path; without any, all packages. Of each, N places are drawn by
the seed (all with --sample 0). The tests run in a copy, so the checkout stays as it is: those of the whole suite that run the
line, those of the folder of the package first, each group for six seconds at most (mutant_tests.py says how); or those that
--tests names. A mutant is killed when one of them fails, or takes ten times its processor time. Survivors that change nothing
that can be observed stand in tools/mutants_equivalent.toml with the reason, and are not counted.

Prints each survivor as a diff of one line, then what was killed by package; exits with 1 where a package is below its floor
(docs/testing.md).
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from tools import mutant_tests
from tools.packages import package_of

ROOT = Path(__file__).resolve().parent.parent
FLOOR = 0.9
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.toml")
# Tests of every value type: they meet what the line of a class says (`frozen=True`).
STRUCTS = "tests/core/test_structs.py"
# Tests that work by other programs, which would not run a mutant, or take a minute for one line.
LEFT_OUT = """
    test_against_tshark.py test_benchmarks.py test_corpus.py test_fuzz.py test_notebook.py test_project.py test_tools.py
    test_wireshark.py test_wireshark_in_c.py page/test_browser.py page/test_page_filter.py collect/test_dask_cluster.py
    collect/test_failing_runs.py
"""
# Arguments of calls and classes that can be left as they are: assertions (`strict`), speed (`cache_hash`), and what mypy reads.
_UNSEEN = {"strict", "cache_hash", "kw_only"}
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
            if isinstance(child, ast.keyword) and child.arg in _UNSEEN:
                continue
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise | ast.Assert):
                yield child
                yield from _code(child)


def tests() -> list[str]:
    """The files of tests that mutants are tried with by default."""
    left_out = {f"tests/{name}" for name in LEFT_OUT.split()}
    found = (path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py"))
    return sorted(name for name in found if name not in left_out)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("what", nargs="*", help="packages below analyzer/, or files")
    options.add_argument("--tests", nargs="+", help="tests to run in place of the whole suite")
    options.add_argument("--sample", type=int, default=40, help="places for each package; 0 for all (40)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--line", type=int, help="only the places of this line")
    options.add_argument("--list", action="store_true", help="only list the places")
    given = options.parse_args()
    for what in given.what:
        if not (ROOT / what).is_file() and not (ROOT / "analyzer" / what).is_dir():
            options.error(f"{what} is neither a package below analyzer/ nor a file")
    asked = given.what or sorted({package_of(path.relative_to(ROOT)) for path in (ROOT / "analyzer").rglob("*/*.py")})
    if given.list:
        for each in chain.from_iterable(_drawn(ROOT, what, given)[1] for what in asked):
            _show(_key(ROOT, each), each.line, "")
        return 0
    for name in mutant_tests.LIBRARIES.split():
        import_module(name)
    for one in _stale(_equivalents()):
        _say(f"{one['file']}: listed as equivalent, and there no more: {one['line']}")
    floors, are_met = _floors(), True
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "copy"
        ignore = shutil.ignore_patterns(".git", ".venv", "node_modules", ".hypothesis", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=ignore)
        tried_with = mutant_tests.Tests(
            copy, given.tests or tests(), "analyzer", ROOT / ".mutants_cache", of_classes=STRUCTS
        )
        for failing in tried_with.known.failing:
            _say(f"{failing} fails without any mutant, and is left out")
        for what in asked:
            counts = _Counts(what, *_drawn(copy, what, given))
            _try(copy, counts, tried_with)
            are_met = are_met and counts.share >= floors.get(what.removeprefix("analyzer/"), FLOOR)
            _say(str(counts))
    return 0 if are_met else 1


class _Counts:
    """The places of a package or file, and what became of those that were drawn."""

    def __init__(self, what: str, places: int, sampled: list[Mutant]) -> None:
        self.what, self.places, self.sampled = what, places, sampled
        self.package = package_of(Path(what)) if what.endswith(".py") else what
        self.killed = self.equivalent = 0
        self.seconds = 0.0

    @property
    def share(self) -> float:
        tried = len(self.sampled) - self.equivalent
        return self.killed / tried if tried else 1.0

    def __str__(self) -> str:
        numbers = f"{self.places} | {len(self.sampled)} | {self.killed} | {self.equivalent} | {self.share:.0%}"
        return f"| `{self.what}` | {numbers} |  ({self.seconds:.0f} s)"


def _drawn(root: Path, what: str, given: argparse.Namespace) -> tuple[int, list[Mutant]]:
    """How many places there are, and those that are tried."""
    places = [
        each for one in ([root / what] if what.endswith(".py") else _files(root, what)) for each in mutants_of(one)
    ]
    drawn = [each for each in places if given.line in (None, each.line)]
    if given.sample and len(drawn) > given.sample:
        drawn = sorted(random.Random(f"{given.seed}/{what}").sample(drawn, given.sample))
    return len(places), drawn


def _try(copy: Path, counts: _Counts, tests: mutant_tests.Tests) -> None:
    reasons = {(one["file"], one["line"], one["new"]) for one in _equivalents()}
    begun = sum(os.times()[:4])
    # Read now: while a mutant is tried, its file is in the copy.
    keys = {}
    for each in counts.sampled:
        if (key := _key(copy, each)) in reasons:
            counts.equivalent += 1
        else:
            keys[_place(copy, each)] = key
    for place, verdict in tests.verdicts(list(keys), f"tests/{counts.package}/"):
        counts.killed += verdict.killed
        if not verdict.killed:
            _show(keys[place], place.line, verdict.why)
    counts.seconds = sum(os.times()[:4]) - begun


def _place(root: Path, mutant: Mutant) -> mutant_tests.Place:
    source = mutant.path.read_text("utf-8")
    lines, names = mutant_tests.statement_of(ast.parse(source), mutant.line)
    name = mutant.path.relative_to(root).as_posix()
    return mutant_tests.Place(name, mutant.line, lines, source, mutant.applied(source), names)


def _floors() -> dict[str, float]:
    """By package or file, the share that has to be killed, as docs/testing.md has it in the last column of its table."""
    rows = re.findall(r"^\| `([\w/.]+)` \|.*\| (\d+)% \|$", (ROOT / "docs/testing.md").read_text("utf-8"), re.MULTILINE)
    return {what: int(percent) / 100 for what, percent in rows}


def _files(root: Path, package: str) -> list[Path]:
    found = root / "analyzer" / package
    paths = sorted(found.rglob("*.py")) if found.is_dir() else [found]
    return [path for path in paths if "_generated" not in path.parts]


def _equivalents() -> list[dict[str, str]]:
    found: list[dict[str, str]] = tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", [])
    return found


def _stale(listed: list[dict[str, str]]) -> list[dict[str, str]]:
    """Those of the listed mutants whose line is there no more."""
    lines = {
        name: {line.strip() for line in (ROOT / name).read_text("utf-8").splitlines()}
        for name in {one["file"] for one in listed}
    }
    return [one for one in listed if one["line"] not in lines[one["file"]]]


def _key(root: Path, mutant: Mutant) -> tuple[str, str, str]:
    """File, line as it stands, and line as it becomes."""
    source = mutant.path.read_text("utf-8")
    old = source.splitlines()[mutant.line - 1].strip()
    return mutant.path.relative_to(root).as_posix(), old, mutant.applied(source).splitlines()[mutant.line - 1].strip()


def _show(key: tuple[str, str, str], line: int, verdict: str) -> None:
    name, old, new = key
    _say(f"{name}:{line} {verdict}\n  - {old}\n  + {new}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
