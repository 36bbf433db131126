"""The notebook runs from top to bottom as it lies in the repository, offline, and draws its picture."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("nbformat", "nbclient")

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
ALL = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_a_notebook_runs_from_top_to_bottom(path: Path) -> None:
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(NOTEBOOKS)}}
    )
    client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    assert pictures
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)
    assert not [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    """Outputs go stale unnoticed; the test above shows that they can be had. Clear them before committing."""
    import nbformat

    code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert code
    assert not [cell.source for cell in code if cell.outputs or cell.execution_count is not None]
