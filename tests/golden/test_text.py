"""The text of every command, to the byte. `make golden` writes anew what these compare with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import cases


@pytest.mark.parametrize("case", [*cases.texts()], ids=lambda case: case.name)
def test_the_text_of_a_command_is_what_it_was(case: cases.Case, tmp_path: Path) -> None:
    assert not cases.changed_text(case, tmp_path)


def test_nothing_is_kept_that_no_case_compares() -> None:
    names = {case.name for case in (*cases.records(), *cases.on_terminals(), *cases.damaged())}
    assert cases.kept_names() == names | {str(cases.text_file(case)) for case in cases.texts()}
