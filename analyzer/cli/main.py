"""The command line: arguments in, exit codes out. Everything heavy is imported when a command needs it."""

from __future__ import annotations

import gc
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.main import get_command_name

from analyzer.cli.audit import audit, explain
from analyzer.cli.counters import counters
from analyzer.cli.exits import EXIT_DIFFERS, EXIT_DONE, EXIT_UNUSABLE, exit_of
from analyzer.cli.filters import (
    CallFilterOption,
    FollowHandle,
    FollowSession,
    ListCallFields,
    ListSampleFields,
    SampleFilterOption,
    Tail,
    Time,
    TimeColumn,
)
from analyzer.cli.handles import handles
from analyzer.cli.keys import app as keys_app
from analyzer.cli.metadata import export_metadata
from analyzer.cli.options import (
    CaptureReading,
    Files,
    Format,
    Interface,
    Output,
    OutputFormat,
    Strict,
    reads_captures,
)
from analyzer.cli.stats import stats
from analyzer.core.errors import InputError

# [MS-PCQ] section 3.1.4.1.6 lets a data answer be 1 GiB; as hex text that is three times as much.
MAX_BUFFER_BYTES = 3 << 30

app = typer.Typer(
    name="pcq-analyzer",
    help="Reads Windows performance-counter traffic ([MS-PCQ] and HKEY_PERFORMANCE_DATA) out of packet captures.",
    epilog="Exit codes: 0 done, 1 unusable input, 2 wrong usage, 3 readable but nothing of ours in it, 4 --strict and "
    "something could not be read, 5 crosscheck found a difference, 10 audit found warnings only, 11 audit found failures.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


app.add_typer(keys_app, name="keys")
app.command()(audit)
app.command()(explain)
app.command()(counters)
app.command()(handles)
app.command()(stats)
app.command()(export_metadata)


class CrosscheckFormat(StrEnum):
    text = "text"
    json = "json"


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


@app.command()
@reads_captures
def timeline(
    reading: CaptureReading,
    files: Files,
    call_filter: CallFilterOption = None,
    list_fields: ListCallFields = False,
    interface: Interface = None,
    follow_handle: FollowHandle = None,
    follow_session: FollowSession = None,
    tail: Tail = None,
    time: Time = TimeColumn.relative,
    all_attempts: Annotated[
        bool, typer.Option("--all-attempts", help="Show every try of a registry read, not only the last (text).")
    ] = False,
    output_format: OutputFormat = Format.text,
    output: Output = None,
    strict: Strict = False,
) -> None:
    """Every call: who asked what, when, and what came back."""
    from analyzer.report.output import Timeline, write
    from analyzer.timeline.selection import Selection

    selection = Selection(interface, follow_handle, follow_session, call_filter, tail)
    analysis = reading.analysis(files)
    write(Timeline(analysis, selection, all_attempts, time.value), output_format.value, output)
    raise typer.Exit(exit_of(analysis, strict=strict))


@app.command()
@reads_captures
def samples(
    reading: CaptureReading,
    files: Files,
    sample_filter: SampleFilterOption = None,
    list_fields: ListSampleFields = False,
    output_format: OutputFormat = Format.text,
    output: Output = None,
    strict: Strict = False,
) -> None:
    """Every raw counter value that was answered, one a line."""
    from analyzer.report.output import Samples, write

    analysis = reading.analysis(files)
    write(Samples(analysis, sample_filter), output_format.value, output)
    raise typer.Exit(exit_of(analysis, strict=strict))


@app.command()
@reads_captures
def sessions(
    reading: CaptureReading,
    files: Files,
    output_format: OutputFormat = Format.text,
    output: Output = None,
) -> None:
    """Every SMB session: who, on what, protected how, and which key opened it."""
    from analyzer.report.output import Sessions, write

    analysis = reading.analysis(files)
    write(Sessions(analysis), output_format.value, output)
    raise typer.Exit(EXIT_DONE if analysis.sessions else exit_of(analysis, strict=False))


@app.command()
@reads_captures
def hosts(
    reading: CaptureReading,
    files: Files,
    output_format: OutputFormat = Format.text,
    output: Output = None,
) -> None:
    """Every machine that took part, with the names the traffic gives it and where each was said."""
    from analyzer.report.output import Hosts, write

    analysis = reading.analysis(files)
    write(Hosts(analysis), output_format.value, output)
    raise typer.Exit(EXIT_DONE if analysis.sessions else exit_of(analysis, strict=False))


@app.command()
@reads_captures
def show(
    reading: CaptureReading,
    files: Files,
    call: Annotated[int, typer.Option("--call", help="Number of the call, as `timeline` prints it.")],
    field: Annotated[
        str | None, typer.Option("--field", help="Only this place, as an audit names it: response.lpData.perf_freq")
    ] = None,
    output_format: OutputFormat = Format.text,
    output: Output = None,
) -> None:
    """One call taken apart: each field beside its bytes and the frames that carried them."""
    from analyzer.report.output import write
    from analyzer.report.place import ShowPlace
    from analyzer.report.show import Show

    analysis = reading.analysis(files)
    view = Show(analysis, call) if field is None else ShowPlace(analysis, call, field)
    write(view, output_format.value, output)


@app.command()
@reads_captures
def crosscheck(
    reading: CaptureReading,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A capture.")],
    out_of_order: Annotated[
        bool, typer.Option("--out-of-order", help="Let tshark put swapped segments in order (it does not by default).")
    ] = False,
    output_format: Annotated[
        CrosscheckFormat, typer.Option("--format", help="How to print it.")
    ] = CrosscheckFormat.text,
) -> None:
    """Our DCERPC PDUs and pairs beside tshark's, one by one. Exit 0 where both agree, 5 where they do not."""
    from analyzer.pipeline.crosscheck import crosscheck as compare
    from analyzer.report.output import dumps

    analysis = reading.analysis([file], pdus=True)
    exchanges = [call.exchange for call in analysis.calls]
    result = compare(Path(file), analysis.pdus, exchanges, out_of_order=out_of_order)
    if output_format is CrosscheckFormat.text:
        typer.echo(result.to_text())
    else:
        typer.echo(dumps(result.to_json()).decode())
    raise typer.Exit(EXIT_DONE if result.agrees else EXIT_DIFFERS)


@app.command()
def decode(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The buffer, binary or as a hex dump; - for standard input.")
    ],
    kind: Annotated[KindName, typer.Option("--as", help="What the buffer is.")] = KindName.auto,
    at: Annotated[
        str, typer.Option("--at", metavar="OFFSET", help="Where it begins in the file (0x... allowed).")
    ] = "0",
    samples_only: Annotated[bool, typer.Option("--samples", help="Print the raw values, one a line.")] = False,
    tree: Annotated[bool, typer.Option("--tree", help="Each field beside its bytes (what text shows anyway).")] = False,
    output_format: Annotated[
        Format | None, typer.Option("--format", help="How to print it (jsonl; text with --tree).")
    ] = None,
    output: Output = None,
) -> None:
    """A buffer from a file: what PerfQueryCounterData, RegQueryValueEx and their relatives gave somebody."""
    from analyzer.report.decode import Decode, bytes_of
    from analyzer.report.output import write

    try:
        offset = int(at, 0)
    except ValueError:
        raise typer.BadParameter(f"{at} is no offset", param_hint="--at") from None
    data, is_dump = bytes_of(_buffer_bytes(file))
    if is_dump:
        typer.echo(f"read as a hex dump of {len(data)} bytes", err=True)
    if not 0 <= offset < len(data):
        raise InputError(f"offset {offset} is outside the {len(data)} bytes of {file}")
    view = Decode.of(data[offset:], kind.value, samples=samples_only, source=file)
    form = output_format or (Format.text if tree or sys.stdout.isatty() else Format.jsonl)
    write(view, form.value, output)
    problem = view.decoded().problem
    if view.guess is not None and form is not Format.text:
        typer.echo(f"taken for {view.kind}: {view.guess}", err=True)
    if problem is not None:
        typer.echo(f"damaged: {problem}", err=True)
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


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"pcq-analyzer {version('pcq-analyzer')}")
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def _leave_only(names: list[str]) -> None:
    """Where the first word is a command, takes the others out: to read all their options takes longer than most captures."""
    named = [
        command
        for command in app.registered_commands
        if command.callback and (command.name or get_command_name(command.callback.__name__)) in names
    ]
    if named:
        app.registered_commands, app.registered_groups = named, []


def main() -> None:
    """Runs the command. Unusable input is one sentence and exit code 1; a reader that went away (`| head`) is no error."""
    # What was read is kept to the end, and to look through it for cycles every 700 objects costs a tenth of the time.
    gc.set_threshold(10_000, 10, 10)
    # numpy's linear algebra, of which we use nothing, would start a thread a core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _leave_only(sys.argv[1:2])
    try:
        app()
    except InputError as error:
        typer.echo(f"pcq-analyzer: {error}", err=True)
        if error.hint is not None:
            typer.echo(f"  {error.hint}", err=True)
        sys.exit(EXIT_UNUSABLE)
    except BrokenPipeError:
        # Python flushes standard output once more at exit; there is nobody left to read it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_DONE)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # The interpreter looks for cycles once more when it ends, in all that was read, which goes with it anyway.
        gc.freeze()
