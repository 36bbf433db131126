"""Executes the notebooks, and keeps what they display: `python tools/notebooks.py [--write]`.

Without `--write` it says which notebooks would display something else now, and ends with 1. Outputs are written without what
differs from run to run (times of execution), so that the same program on the same captures gives the same file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@contextmanager
def kernel() -> Iterator[Any]:
    """A process in which notebooks run one after the other: what they import is loaded once."""
    from jupyter_client.manager import KernelManager

    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(FOLDER))
    try:
        yield manager
    finally:
        manager.shutdown_kernel()


def executed(path: Path, manager: Any) -> Any:
    """A notebook as it is after a run from top to bottom in a kernel. Raises `nbclient.exceptions.CellExecutionError`."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    # No name of another notebook is left.
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    client = nbclient.NotebookClient(notebook, km=manager, timeout=600)
    client.execute()
    client.kc.stop_channels()
    del notebook.cells[0]
    for count, cell in enumerate((one for one in notebook.cells if one.cell_type == "code"), 1):
        for one in (cell, *(output for output in cell.outputs if "execution_count" in output)):
            one.execution_count = count
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def displayed(notebook: Any) -> list[tuple[int, str, str]]:
    """What is displayed, cell by cell, as text; of a picture only that there is one, since fonts differ from machine to machine."""
    shown = []
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                shown.append((number, output.name, output.text))
            for kind, data in sorted(output.get("data", {}).items()):
                shown.append((number, kind, "" if kind == "image/png" else data))
    return shown


def main() -> int:
    """Says on standard output what became of each notebook."""
    import nbformat

    changed = 0
    with kernel() as manager:
        for path in NOTEBOOKS:
            notebook = executed(path, manager)
            if "--write" in sys.argv[1:]:
                nbformat.write(notebook, path)  # pictures too, which are not compared
            elif displayed(notebook) != displayed(nbformat.read(path, as_version=4)):
                changed += 1
                sys.stdout.write(f"{path.name} displays something else now\n")
    return changed


if __name__ == "__main__":
    sys.exit(main())
