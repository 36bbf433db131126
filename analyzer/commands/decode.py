"""`pcq decode`: a buffer without a capture."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from analyzer.commands.shared.capture_reading import pseudonyms_of
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_UNUSABLE
from analyzer.commands.shared.hex_dump import bytes_of
from analyzer.commands.shared.options import OutputFormat, Redact, RedactKey
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.errors import InputError
from analyzer.core.output.gate import say

# [MS-PCQ] section 3.1.4.1.6 lets a data answer be 1 GiB; as hex text that is three times as much.
MAX_BUFFER_BYTES = 3 << 30


class KindName(StrEnum):
    auto = "auto"
    perf_data = "perf-data"
    counterset_info = "counterset-info"
    counter_info = "counter-info"
    string = "string"
    string_table = "string-table"
    guid = "guid"
    guids = "guids"
    instances = "instances"
    identifiers = "identifiers"
    winperf = "winperf"
    name_table = "name-table"


@command
def decode(
    writing: Writing,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The buffer, binary or as a hex dump; - is stdin.")],
    kind: Annotated[
        KindName, typer.Option("--as", metavar="KIND", help=f"What the buffer is; auto guesses. {', '.join(KindName)}.")
    ] = KindName.auto,
    at: Annotated[
        str, typer.Option("--at", metavar="OFFSET", help="Where it begins in the file (0x... allowed).")
    ] = "0",
    samples_only: Annotated[bool, typer.Option("--samples", help="Print the raw values, one a line.")] = False,
    output_format: OutputFormat = "text",
    redact: Redact = False,
    redact_key: RedactKey = None,
) -> None:
    """A buffer from a file: what PerfQueryCounterData, RegQueryValueEx and their relatives gave somebody."""
    from analyzer.screens.views.decode import Decode

    try:
        offset = int(at, 0)
    except ValueError:
        raise typer.BadParameter(f"{at} is no offset", param_hint="--at") from None
    data, is_dump = bytes_of(_buffer_bytes(file))
    if is_dump:
        say(f"read as a hex dump of {len(data)} bytes")
    if not 0 <= offset < len(data):
        raise InputError(f"offset {offset} is outside the {len(data)} bytes of {file}")
    view = Decode.from_bytes(data[offset:], kind.value, samples=samples_only, source=file)
    if (names := pseudonyms_of(redact, redact_key)) is not None:
        view = view.redacted(names)
    writing.write(view, output_format)
    problem = view.decoded().problem
    if view.guess is not None and output_format != "text":
        also = f"; it may also be {', '.join(view.others)}" if view.others else ""
        say(f"taken for {view.kind} ({view.guess.confidence}): {view.guess.why}{also}")
    if problem is not None:
        say(f"damaged: {problem}")
        raise typer.Exit(EXIT_UNUSABLE)


def _buffer_bytes(name: str) -> bytes:
    if name == "-":
        name, data = "standard input", sys.stdin.buffer.read(MAX_BUFFER_BYTES + 1)
    else:
        try:
            with Path(name).open("rb") as file:
                data = file.read(MAX_BUFFER_BYTES + 1)
        except (OSError, ValueError) as error:
            raise InputError(f"{name} cannot be read: {getattr(error, 'strerror', error)}") from None
    if len(data) > MAX_BUFFER_BYTES:
        raise InputError(f"{name} is larger than any buffer of ours ({MAX_BUFFER_BYTES} bytes)")
    if not data:
        raise InputError(f"{name} is empty")
    return data
