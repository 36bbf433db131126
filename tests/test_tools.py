"""What the tests themselves are made with: locked versions, more examples, mutants."""

from __future__ import annotations

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
from tools import mutants

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
        assert property_of_seven._hypothesis_internal_use_settings.max_examples == 140  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["smb/compression.py", "rpc/framing.py", "capture/pcap.py"])
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


def test_every_package_has_tests_that_mutants_are_run_with() -> None:
    for path in (ROOT / "analyzer").iterdir():
        if path.is_dir() and path.name not in ("__pycache__",) and any(path.glob("*.py")):
            assert all((ROOT / one).exists() for one in mutants.tests_of(path.name)), path.name


def test_the_tests_of_a_mutant_are_those_that_run_its_line(tmp_path: Path) -> None:
    """In a project of its own: one test runs the line, one does not, and one statement runs when the module is loaded."""
    for name in ("lib", "checks"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    module = tmp_path / "lib" / "some.py"
    module.write_text("MOST = 3\n\n\ndef doubled(n):\n    return n * 2\n\n\ndef halved(n):\n    return n // 2\n")
    checks = "def test_doubled():\n    assert some.doubled(2) == 4\n\n\ndef test_halved():\n    assert some.halved(4)\n"
    (tmp_path / "checks/test_some.py").write_text("from lib import some\n\n\n" + checks)
    found = mutants.Tests(tmp_path, ["checks"], [module])
    assert found.are_green
    assert list(found.of("lib/some.py", 5)) == ["checks/test_some.py::test_doubled"]
    assert list(found.of("lib/some.py", 9)) == ["checks/test_some.py::test_halved"]
    assert list(found.of("lib/some.py", 1)) == ["checks"]
    module.write_text(module.read_text().replace("n * 2", "n + 1").replace("n // 2", "n // 1"))
    assert not found.pass_on(found.of("lib/some.py", 5))
    assert found.pass_on(found.of("lib/some.py", 9))


def test_the_table_of_hostile_shapes_takes_the_place_of_the_former_one() -> None:
    page = (ROOT / "docs/reliability.md").read_text("utf-8")
    written = hostile.with_table(page, ["| shape |", "| --- |", "| new |"], 7)
    assert written.count("<!-- shapes -->") == written.count("<!-- end of shapes -->") == 1
    assert "| new |" in written
    assert "--unit 7 --write" in written
    assert "| records-of-nothing |" not in written
    assert hostile.with_table(written, ["| shape |", "| --- |", "| new |"], 7) == written
    assert [row.split("|")[1].strip() for row in page.splitlines() if row.startswith("| rpc-calls-unanswered |")]
