"""What comes from a capture does nothing where it is shown, and says the same as before."""

import csv
import io
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.output.json import safe_json
from analyzer.core.output.safe_cells import safe_cells
from analyzer.core.printable_text import printable

HARMFUL = ["\x1b[2J", "\x9b2J", "\x7f", "\u202egnp.exe", "\u2066", "\u061c", "\u2028", "\ufeff", "\U000e0041", "a\rb"]


@pytest.mark.parametrize("text", [*HARMFUL, "a\nb", "\t", "\ud800"])
def test_nothing_that_a_terminal_obeys_is_printable(text: str) -> None:
    assert printable(f"é {text}").isprintable()
    assert "é" in printable(f"é {text}")


@given(st.text())
def test_json_says_the_same_after_escaping(text: str) -> None:
    document = json.dumps({"name": text}, ensure_ascii=False).encode("utf-8", "replace")
    assert json.loads(safe_json(document)) == json.loads(document)


@pytest.mark.parametrize("text", HARMFUL)
def test_json_has_no_control_characters(text: str) -> None:
    document = json.dumps({text: text}, ensure_ascii=False).encode()
    shown = safe_json(document).decode()
    assert shown.isprintable()
    assert json.loads(shown) == {text: text}


def cells(*texts: str | None) -> list[str]:
    table = safe_cells(pl.DataFrame({"name": list(texts), "number": range(len(texts))}))
    return [row["name"] for row in csv.DictReader(io.StringIO(table.write_csv(), newline=""))]


@pytest.mark.parametrize("text", ["=1+1", "+A1", "-A1", "@SUM(1)", "\t=1", "＝1", "-", "=\x1b[m"])
def test_no_cell_begins_a_formula(text: str) -> None:
    assert cells(text) == [f"'{printable(text) if text != chr(9) + '=1' else text}"]


@pytest.mark.parametrize("text", HARMFUL)
def test_no_cell_moves_the_cursor(text: str) -> None:
    (shown,) = cells(text)
    assert shown == printable(text)


def test_the_names_of_columns_are_cells_too() -> None:
    assert safe_cells(pl.DataFrame({"=x\x1b": [1]})).columns == ["'=x\\x1b"]
