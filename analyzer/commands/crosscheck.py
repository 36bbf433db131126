"""`pcq crosscheck`: what we see beside what tshark sees."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_DIFFERS, EXIT_DONE
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.output.gate import say, write_document
from analyzer.core.printable_text import printable


class CrosscheckFormat(StrEnum):
    text = "text"
    json = "json"


@command
def crosscheck(
    reading: CaptureReading,
    writing: Writing,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A capture.")],
    out_of_order: Annotated[
        bool, typer.Option("--out-of-order", help="Let tshark put swapped segments in order.")
    ] = False,
    output_format: Annotated[CrosscheckFormat, typer.Option("--format", help="text or json.")] = CrosscheckFormat.text,
) -> None:
    """Our DCERPC PDUs and pairs beside tshark's, one by one. Exit 5 where tshark contradicts, else 0."""
    from analyzer.core.output.json import line
    from analyzer.pipeline.tshark_crosscheck import crosscheck as compare

    reading.refuse_redaction("tshark compares what was captured")
    reading.refuse_cases([file], "tshark reads captured packets")
    analysis = reading.analysis([file], pdus=True)
    say(*[problem.text for problem in analysis.problems if problem.is_of_file])
    result = compare(Path(file), analysis.pdus, analysis.calls, analysis.bounds, out_of_order=out_of_order)
    if output_format is CrosscheckFormat.text:
        document = "".join(f"{printable(line)}\n" for line in result.to_text().splitlines()).encode()
    else:
        document = line(result.to_json())
    write_document(document, writing.destination)
    raise typer.Exit(EXIT_DONE if result.agrees else EXIT_DIFFERS)
