"""The table of docs/testing.md: a run of some cells renews the rows that it has all cells of, and leaves the others."""

from pathlib import Path

import pytest

from rig import run
from rig.cells import cells

TABLE = """before
<!-- rig -->
Seed 7:

| server | client | cells | carriers | calls | values | differences |
|---|---|---:|---|---:|---:|---:|
| smbd | impacket | 1 | SMB 1 | 5 | 6 | 0 |
| tcp | own | 2 | TCP | 1 | 1 | 0 |
<!-- end of rig -->
after
"""


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "testing.md"
    path.write_text(TABLE, "utf-8")
    monkeypatch.setattr(run, "_DOCUMENT", path)
    return path


def results(server: str, client: str) -> list[run.Result]:
    return [run.Result(one, None, 20, []) for one in cells() if (one.server, one.client) == (server, client)]


def test_rows_of_which_all_cells_ran_are_renewed(document: Path) -> None:
    run.write_counts([*results("tcp", "own"), results("smbd", "impacket")[0]], "", 7)
    text = document.read_text("utf-8")
    assert "| tcp | own | 2 | TCP; TCP, NDR64 | 0 | 40 | 0 |" in text
    assert "| smbd | impacket | 1 | SMB 1 | 5 | 6 | 0 |" in text
    assert text.startswith("before\n<!-- rig -->\nSeed 7:\n\n| server")
    assert text.endswith("<!-- end of rig -->\nafter\n")


def test_rows_of_two_seeds_are_not_mixed(document: Path) -> None:
    with pytest.raises(SystemExit, match="another seed"):
        run.write_counts(results("tcp", "own"), "", 8)
    assert document.read_text("utf-8") == TABLE


def test_a_run_of_everything_leaves_nothing_of_the_old(document: Path) -> None:
    run.write_counts(results("tcp", "own"), "; beside these, 3 conversations were made byte by byte", 8)
    text = document.read_text("utf-8")
    assert "Seed 8; beside these, 3 conversations" in text
    assert "impacket" not in text
