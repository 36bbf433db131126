"""Options and messages of commands, asked in this process: what they say beside their result, and how they end."""

from types import SimpleNamespace

import pytest

from analyzer.commands.shared import options
from tests.commands.test_all_commands import run


@pytest.mark.parametrize(("columns", "most"), [(200, 200), (120, 120), (20, None)])
def test_fields_are_listed_as_wide_as_the_terminal(
    columns: int, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal that is too narrow for a column of meanings still gets 30 characters of each."""
    whole = run("timeline", "--list-fields").stdout.splitlines()
    monkeypatch.setattr(options, "is_terminal", lambda: True)
    monkeypatch.setattr(options, "get_terminal_size", lambda: SimpleNamespace(columns=columns))
    shown = run("timeline", "--list-fields").stdout.splitlines()[:-1]
    indent = next(line.index("number of the call") for line in whole if "number of the call" in line)
    # Words are parted where a line ends.
    assert "".join("".join(shown).split()) == "".join("".join(whole[:-1]).split())
    assert max(map(len, shown)) <= (most or indent + 30)
    assert max(map(len, shown)) > (most or indent + 30) - 15
    assert {line[:indent].strip() == "" for line in shown if line.startswith(" ")} <= {True}
