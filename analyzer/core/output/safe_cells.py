"""Makes text from captures and file names harmless in spreadsheets.

A name in a capture may hold whatever its sender liked. Examples are escape sequences that a terminal obeys (ECMA-48), marks that
turn the order of letters round (Unicode Standard Annex 9), line ends that forge a line, and formulas that a spreadsheet runs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from analyzer.core.printable_text import printable

if TYPE_CHECKING:
    import polars as pl

# DEL, C1, the controls of bidirectional text, line and paragraph separators, the byte order mark, tags, and all of C0 but tab and
# line feed, which a quoted cell may hold (RFC 4180 section 2).
_CELL_CONTROLS = "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
# Characters that begin a formula for spreadsheets (OWASP, "CSV Injection"), with their wide forms.
_FORMULA = r"^[=+\-@\t\r＝＋－＠]"
_TO_ESCAPE = f"{_FORMULA}|{_CELL_CONTROLS}"
_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"


def safe_cells(table: pl.DataFrame) -> pl.DataFrame:
    """Escapes a table for CSV: a text that would begin a formula gets `'` before it, and control characters become escapes.

    Numbers stay as they are, even those written as text. The names of columns are escaped too.
    """
    import polars as pl

    changed = [
        column.map_elements(_safe_cell, return_dtype=pl.String)
        for column in table.get_columns()
        if column.dtype == pl.String and column.str.contains(_TO_ESCAPE).any()
    ]
    return table.with_columns(changed).rename(_safe_cell)


def _safe_cell(text: str) -> str:
    shown = re.sub(_CELL_CONTROLS, lambda match: printable(match[0]), text)
    return f"'{shown}" if re.match(_FORMULA, shown) and not re.fullmatch(_NUMBER, shown) else shown
