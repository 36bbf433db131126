"""What is stated of captures that lack frames, bytes and order, to the byte. `make golden` writes anew what these compare with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import cases


@pytest.mark.parametrize("case", [*cases.damaged()], ids=lambda case: case.name)
def test_the_calls_and_problems_of_a_damaged_capture_are_what_they_were(case: cases.Case, tmp_path: Path) -> None:
    assert not cases.changed_record(case, tmp_path)
