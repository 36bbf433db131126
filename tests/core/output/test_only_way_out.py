"""Nothing but `analyzer/core/output` opens a file for writing, or writes to a standard stream."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "analyzer"
# Files that nobody asked for, which are gone with the process: what is too large for memory, what a pipe brings.
SPILLS = ("core/byte_log.py", "capture/growing_file.py")
WRITING = {"write_text", "write_bytes", "touch", "mkdir", "hardlink_to", "symlink_to", "rename", "unlink"}
OF_SYSTEM = {"open", "write", "dup2", "replace", "rename", "link", "unlink", "remove", "makedirs", "mkdir", "fdopen"}


# click's writer of help writes into itself, and columns of a table get the names of this mapping.
NO_FILES = {"formatter.write_text"}
NAMES_OF_COLUMNS = ["KEYS_OF_CALLS"]


def ways_out(source: str) -> set[str]:
    """What a module does that only the gate may do: `sys.stdout`, `print`, `Path.write_text`, `open("w")`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr", "__stdout__"):
            found |= {ast.unparse(node)} & {"sys.stdout", "sys.stderr", "sys.__stdout__"}
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        owner, _, attribute = name.rpartition(".")
        modes = [
            *(node.args[1:] if name == "open" else node.args[:1]),
            *(item.value for item in node.keywords if item.arg == "mode"),
        ]
        writes = any(isinstance(one, ast.Constant) and one.value in MODES for one in modes)
        if (
            name
            in (
                "print",
                "Console",
                "TemporaryFile",
                "NamedTemporaryFile",
                "typer.echo",
                "typer.secho",
                "logging.basicConfig",
            )
            or (owner == "os" and attribute in OF_SYSTEM)
            or (
                owner
                and attribute in WRITING
                and name not in NO_FILES
                and [*map(ast.unparse, node.args)] != NAMES_OF_COLUMNS
            )
            or ((name == "open" or attribute == "open") and writes)
        ):
            found.add(name)
    return found


MODES = {way + binary + plus for way in "wxa" for binary in ("", "b", "t") for plus in ("", "+")} | {"r+", "rb+", "r+b"}


def test_nothing_else_writes() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        is_ours = not name.startswith(("core/output/", "interfaces/buffers/_generated/")) and name not in SPILLS
        if is_ours and (ways := ways_out(path.read_text())):
            found[name] = ways
    assert found == {}


@pytest.mark.parametrize(
    "source",
    ["print(1)", "import sys\nsys.stdout.write('x')", "p.write_text('x')", "open('x', 'wb')", "p.open(mode='a')",
     "os.open('x', 1)", "Console(stderr=True)", "typer.echo('x')"],
)  # fmt: skip
def test_what_writes_would_be_found(source: str) -> None:
    assert ways_out(source)


@pytest.mark.parametrize(
    "source", ["open('x', 'rb')", "p.open()", "source.open('rb', buffering=0)", "sealed.open(a, b)"]
)
def test_what_reads_is_let_through(source: str) -> None:
    assert not ways_out(source)
