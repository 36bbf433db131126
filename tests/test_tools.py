"""What the tests themselves are made with: locked versions, more examples, mutants."""

import ast
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz import hostile
from tests import conftest
from tools import mutant_tests, mutants

ROOT = Path(__file__).resolve().parent.parent


def pins(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text("utf-8")
    found = re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", one).lower(): version for one, version in found}


def test_locked_versions_have_hashes_and_are_those_of_the_constraints() -> None:
    """`make constraints` writes both."""
    locked, constraints = pins("requirements.lock"), pins("constraints.txt")
    both = locked.keys() & constraints.keys()
    assert len(both) > 50
    assert {name: locked[name] for name in both} == {name: constraints[name] for name in both}
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text("utf-8"))
    assert all("--hash=sha256:" in entry for entry in entries if not entry.startswith("#"))


@settings(max_examples=7)
@given(st.booleans())
def property_of_seven(value: bool) -> None: ...


def test_properties_are_tried_more_often_whatever_they_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "_TIMES", 20.0)
    item: Any = SimpleNamespace(obj=property_of_seven)
    for _ in range(2):
        conftest._with_other_examples(item)
        assert property_of_seven._hypothesis_internal_use_settings.max_examples == 140


@pytest.mark.parametrize("name", ["transport/smb/compressed_messages.py", "transport/rpc/pdu.py", "capture/pcap.py"])
def test_mutants_are_programs(name: str) -> None:
    path = ROOT / "analyzer" / name
    source = path.read_text("utf-8")
    found = mutants.mutants_of(path)
    assert len(found) > 50
    for mutant in found:
        assert mutant.applied(source) != source
        ast.parse(mutant.applied(source))


def test_a_mutant_of_each_kind_is_made(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        'def f(a: int = 1) -> int:\n    """Doc."""\n    x = a + 2 if not a < 3 and a else True\n    g(x)\n    return x\n'
    )
    source = path.read_text()
    changed = [mutant.applied(source).splitlines() for mutant in mutants.mutants_of(path)]
    lines = {
        line
        for each in changed
        for line, old in zip(each, source.splitlines(), strict=True)
        if line.strip() != old.strip()
    }
    assert {line.strip() for line in lines} == {
        "def f(a: int = 2) -> int:",
        "x = a - 2 if not a < 3 and a else True",
        "x = a + 3 if not a < 3 and a else True",
        "x = a + 2 if a < 3 and a else True",
        "x = a + 2 if not a <= 3 and a else True",
        "x = a + 2 if not a < 4 and a else True",
        "x = a + 2 if not a < 3 or a else True",
        "x = a + 2 if not a < 3 and a else False",
        "pass",
        "return None",
    }


def test_arguments_that_nobody_can_observe_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text("class A(B, frozen=True, kw_only=True, cache_hash=True):\n    x = zip(a, b, strict=False)\n")
    assert [(mutant.line, mutant.new) for mutant in mutants.mutants_of(path)] == [(1, "False")]


def test_mutants_are_tried_with_the_whole_suite_but_for_what_works_by_other_programs() -> None:
    assert all((ROOT / "tests" / name).is_file() for name in mutants.LEFT_OUT.split())
    found = mutants.tests()
    assert len(found) > 200
    assert mutants.STRUCTS in found
    assert not {f"tests/{name}" for name in mutants.LEFT_OUT.split()} & set(found)


LIB = """
from functools import cache

MOST = 3


def doubled(n):
    return n * 2


def halved(n):
    return n // 2


@cache
def filled():
    return tuple(range(doubled(1)))


class Sized:
    LEAST = 1

    def fits(self, n):
        def inner():
            return self.LEAST <= n <= MOST
        return inner()


def bumped(limit):
    count = 0
    while count < limit:
        count += 1
    return count


AT_IMPORT = halved(8)


def unused():
    return 1
"""
CHECKS = """
import pytest

from lib import some


@pytest.fixture(scope="module")
def eight():
    return some.doubled(4)


def test_doubled():
    assert some.doubled(2) == 4
    assert some.doubled(3) == 6


def test_of_a_fixture(eight):
    assert eight


def test_filled():
    assert len(some.filled()) == 2


def test_filled_again():
    assert some.filled()


def test_fits():
    assert some.Sized().fits(3)
    assert not some.Sized().fits(4)


def test_bumped():
    assert some.bumped(2) == 2


def test_at_import():
    assert some.AT_IMPORT == 4


def test_that_never_passes():
    assert some.halved(2) == 7
"""


def test_mutants_are_tried_with_the_tests_that_run_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a project of its own: functions, tables, fixtures, remembered results, loops without end, and lines of no test."""
    monkeypatch.setattr(mutant_tests, "_GRACE", 0.5)
    copy = tmp_path / "copy"
    for name, text in (("lib/some.py", LIB), ("checks/test_some.py", CHECKS)):
        (copy / name).parent.mkdir(parents=True)
        (copy / name).parent.joinpath("__init__.py").touch()
        (copy / name).write_text(text)
    found = mutant_tests.Tests(copy, ["checks"], "lib", tmp_path / "cache")
    assert found.known.failing == ("checks/test_some.py::test_that_never_passes",)

    def place(old: str, new: str) -> mutant_tests.Place:
        line = LIB[: LIB.index(old)].count("\n") + 1
        lines, names = mutant_tests.statement_of(ast.parse(LIB), line)
        return mutant_tests.Place("lib/some.py", line, lines, LIB, LIB.replace(old, new), names)

    def names(of: mutant_tests.Place) -> set[str]:
        return {one.rpartition("::")[2] for one in found.known.tests_of(of, found.sources)}

    wrong, right = place("n * 2", "n + 2"), place("n * 2", "2 * n")
    assert names(wrong) == {"test_doubled", "test_of_a_fixture", "test_filled", "test_filled_again"}
    table, more = place("MOST = 3", "MOST = 4"), place("LEAST = 1", "LEAST = 2")
    assert names(table) == names(more) == {"test_fits"}
    endless, nested = place("count += 1", "pass"), place("n <= MOST", "n < MOST")
    loaded, lost = place("n // 2", "n // 3"), place("return 1", "return 2")
    tried = [wrong, right, table, more, endless, nested, loaded, lost]
    verdicts = dict(found.verdicts(tried))
    assert {
        one.mutated.splitlines()[one.line - 1].strip(): verdicts[one] for one in tried if not verdicts[one].killed
    } == {
        "return 2 * n": (False, "survived"),
        "LEAST = 2": (False, "survived"),
        "return 2": (False, "not run"),
    }
    assert verdicts[wrong].why in {"checks/test_some.py::test_doubled", "checks/test_some.py::test_filled"}
    assert verdicts[loaded] == (True, "checks/test_some.py::test_at_import")
    assert (copy / "lib/some.py").read_text() == LIB
    known = mutant_tests.Tests(copy, ["checks"], "lib", tmp_path / "cache").known
    assert known == found.known

    # What a file that has changed since would run is not known: every test that ran a line of it.
    (copy / "lib/some.py").write_text(LIB + "\n")
    changed = mutant_tests.Tests(copy, ["checks"], "lib", tmp_path / "cache")
    assert changed.known.seconds == found.known.seconds
    assert {one.rpartition("::")[2] for one in changed.known.tests_of(wrong, changed.sources)} == {
        "test_doubled",
        "test_of_a_fixture",
        "test_filled",
        "test_filled_again",
        "test_fits",
        "test_bumped",
    }


def test_near_tests_come_first_and_each_function_or_file_has_its_share_of_time() -> None:
    seconds = {
        "a/x.py::1": 0.3,
        "a/x.py::2": 0.1,
        "b/y.py::1": 0.2,
        "b/y.py::2": 0.25,
        "b/z.py::1": 0.5,
        "c/w.py::1": 0.0,
    }
    lines = {test: {"some.py": 0b10} for test in seconds} | {"c/w.py::1": {"some.py": 0b100}}
    known, none = mutant_tests.Known(lines, seconds, {}, ()), mutant_tests.Sources({})
    place = mutant_tests.Place("some.py", 1, range(1, 2), "return 1\nreturn 2\n", "return 2\nreturn 2\n", ())
    assert known.tests_of(place, none, "a/") == ["a/x.py::2", "a/x.py::1", "b/y.py::1", "b/y.py::2", "b/z.py::1"]
    # What is made when a module is loaded is looked at by tests that name it, too.
    table = place._replace(names=("MOST",))
    named = known._replace(texts={"c/w.py": "assert MOST == 3"}, imported={"some.py": 0b10})
    assert named.tests_of(table, mutant_tests.Sources({"other.py": "\n\nMOST + 1\n"}), "a/") == ["c/w.py::1"]
    slow = known._replace(seconds={test: 10 * cost for test, cost in seconds.items()})
    assert slow.tests_of(place, none, "a/") == ["a/x.py::2", "a/x.py::1", "b/y.py::1", "b/y.py::2"]


def test_mutants_that_are_listed_as_equivalent_have_a_reason() -> None:
    """The command names those whose line is there no more; of those that are listed, there is none."""
    listed = mutants._equivalents()
    assert listed
    assert len({(one["file"], one["line"], one["new"]) for one in listed}) == len(listed)
    assert all((ROOT / one["file"]).is_file() and one["reason"] and one["line"] != one["new"] for one in listed)
    gone = {"file": "analyzer/__init__.py", "line": "this is no line of it", "new": "pass", "reason": "none"}
    assert mutants._stale([*listed, gone]) == [gone]


def test_floors_are_those_of_the_page() -> None:
    """The command fails below them."""
    floors = mutants._floors()
    assert floors
    assert all((ROOT / "analyzer" / name).exists() for name in floors)
    assert all(0 < floor <= 1 for floor in floors.values())


def test_rows_of_hostile_shapes_take_the_place_of_the_former_ones() -> None:
    page = (ROOT / "docs/reliability.md").read_text("utf-8")
    written = hostile.with_table(page, ["| shape |", "| --- |", "| new |", "| records-of-nothing | anew |"], 7)
    assert written.count("<!-- shapes -->") == written.count("<!-- end of shapes -->") == 1
    assert "| new |" in written
    assert "--unit 7 --write" in written
    # What was measured again takes the place of its row; the rows of other shapes stay.
    rows = [row for row in written.splitlines() if row.startswith("| records-of-nothing")]
    assert rows[0] == "| records-of-nothing | anew |"
    assert rows[1:] == [row for row in page.splitlines() if row.startswith("| records-of-nothing-")]
    assert hostile.with_table(written, ["| shape |", "| --- |", "| new |"], 7) == written
    assert [row.split("|")[1].strip() for row in page.splitlines() if row.startswith("| rpc-calls-unanswered |")]


def test_what_is_made_of_a_table_while_modules_are_loaded_is_followed() -> None:
    """An option in the signature of a command: tests of the command meet it; of what is only called in its body, they do not."""
    text = "A = 1\nB = [A]\ndef f(x: B = 2) -> int:\n    return x\nclass C(Base):\n    y: int = A\ndef g():\n    return f()\n"
    found = mutant_tests.Sources({"some.py": text, "other.py": "D = 4\n"})
    lines, names = found.made_with(["A"])
    assert names == {"A", "B", "f", "C"}
    assert set(lines) == {"some.py"}
    assert [line for line in range(10) if lines["some.py"] >> line & 1] == [1, 2, 3, 4, 5, 6, 8]
    assert found.made_with(["D"]) == ({"other.py": 0b10}, {"D"})
