"""The notebooks run from top to bottom as they lie in the repository, offline, and display what is kept with them."""

import base64
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tools.notebooks import NOTEBOOKS, displayed, executed, kernel

pytestmark = pytest.mark.needs("nbformat", "nbclient", "altair")

CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
NAMES = ["conformance.ipynb", "counters.ipynb", "formats.ipynb", "incident.ipynb", "machines.ipynb"]


@pytest.fixture(scope="module")
def manager() -> Iterator[Any]:
    with kernel() as found:
        yield found


def kept(path: Path) -> Any:
    import nbformat

    return nbformat.read(path, as_version=4)


def test_there_are_five() -> None:
    assert [path.name for path in NOTEBOOKS] == NAMES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_and_displays_what_is_kept(path: Path, manager: Any) -> None:
    """Where it displays something else on purpose: `python tools/notebooks.py --write`, and look at it."""
    notebook = executed(path, manager)
    pictures = [
        output.data["image/png"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]
    assert pictures
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)
    found = displayed(notebook)
    assert not [text for _, kind, text in found if kind == "stderr"]
    # How tables are written depends on the version of polars.
    if f"polars=={version('polars')}" in CONSTRAINTS.read_text(encoding="utf-8").splitlines():
        assert found == displayed(kept(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_uses_nothing_that_is_not_public(path: Path) -> None:
    code = "\n".join(cell.source for cell in kept(path).cells if cell.cell_type == "code")
    assert "import analyzer as pcq" in code
    assert "from analyzer" not in code
    assert ".analysis" not in code
    assert "._" not in code


def test_a_notebook_imports_what_the_extra_installs() -> None:
    """The program's own packages, and those of `[notebook]`."""
    project = tomllib.loads((CONSTRAINTS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["notebook"]]
    installed = {re.split(r"[\[<>=;~! ]", one)[0].replace("-", "_") for one in wanted}
    for path in NOTEBOOKS:
        code = "\n".join(cell.source for cell in kept(path).cells if cell.cell_type == "code")
        imported = {name.partition(".")[0] for name in re.findall(r"^\s*(?:import|from) (\w[\w.]*)", code, re.M)}
        assert imported <= installed | sys.stdlib_module_names | {"analyzer"}, path.name
