"""JSON Lines and the other forms of every command, to the byte. `make golden` writes anew what these compare with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import cases


@pytest.mark.parametrize("case", [*cases.records()], ids=lambda case: case.name)
def test_the_records_of_a_command_are_what_they_were(case: cases.Case, tmp_path: Path) -> None:
    assert not cases.changed_record(case, tmp_path)
