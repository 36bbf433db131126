"""What is printed on terminals of some widths, folded and in colours, to the byte. `make golden` writes anew what this compares."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import cases


@pytest.mark.parametrize("case", [*cases.on_terminals()], ids=lambda case: case.name)
def test_a_terminal_shows_what_it_did(case: cases.Case, tmp_path: Path) -> None:
    assert not cases.changed_record(case, tmp_path)
