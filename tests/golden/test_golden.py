"""What every command prints, to the byte. `make golden` writes anew what these compare with."""

from pathlib import Path

import pytest

from tests.golden import cases

# JSON Lines and other forms; terminals of some widths, folded and in colours; captures that lack frames, bytes and order.
RECORDS = (*cases.records(), *cases.on_terminals(), *cases.damaged())


@pytest.mark.parametrize("case", [*cases.texts()], ids=lambda case: case.name)
def test_the_text_of_a_command_is_what_it_was(case: cases.Case, tmp_path: Path) -> None:
    assert not cases.changed_text(case, tmp_path)


@pytest.mark.parametrize("case", RECORDS, ids=lambda case: case.name)
def test_what_else_is_printed_is_what_it_was(case: cases.Case, tmp_path: Path) -> None:
    assert not cases.changed_record(case, tmp_path)


def test_nothing_is_kept_that_no_case_compares() -> None:
    assert cases.kept_names() == {
        *(case.name for case in RECORDS),
        *(str(cases.text_file(case)) for case in cases.texts()),
    }
