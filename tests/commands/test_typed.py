"""The command line as users meet it: `typed/` has what is typed and what comes of it, and each name there is a promise."""

from pathlib import Path

import pytest

from tests.commands.typed import said
from tests.written import Told

TOLD = {path.stem: Told(path, said) for path in sorted((Path(__file__).parent / "typed").glob("*.txt"))}


@pytest.mark.parametrize(("about", "name"), [(about, name) for about, told in TOLD.items() for name in told.words])
def test_what_comes_of_what_is_typed_is_what_was_read_through(about: str, name: str) -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    TOLD[about].holds(name)
