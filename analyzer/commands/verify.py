"""`pcq verify`: whether a result is what was written, and belongs to captures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_FOREIGN
from analyzer.core.output.gate import put


def verify(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="What a command with --hash wrote, in any form.")],
    captures: Annotated[list[Path], typer.Argument(metavar="CAPTURE...", help="The captures it is stated to be of.")],
) -> None:
    """Check that a result was not changed, and was made from just these captures. Exit 0 if so, 7 if not, 1 if it does not say."""
    from analyzer.pipeline.digest_verification import verify as compare

    found = compare(result, captures)
    put(f"{result}: {'is what was written' if found.unchanged else 'was changed after it was written'}")
    for file, given in found.matched:
        renamed = f" (called {given.name} then)" if file.name != given.name else ""
        put(f"{file.name}: went into {result}{renamed}, {file.size:,} bytes, sha256 {file.sha256}")
    for file in found.strangers:
        put(f"{file.name}: did not go into {result}, {file.size:,} bytes, sha256 {file.sha256}")
    for file in found.missing:
        put(f"{file.name}: went into {result} and is not among these files, sha256 {file.sha256}")
    raise typer.Exit(EXIT_DONE if found.belongs else EXIT_FOREIGN)
