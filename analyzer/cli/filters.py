"""The options that pick calls and samples: filters, with completion of their fields, and handles and sessions to follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from analyzer.cli.exits import EXIT_USAGE, say_why
from analyzer.core.errors import InputError
from analyzer.output.gate import is_terminal, put

if TYPE_CHECKING:
    from analyzer.filters.fields import Field


class TimeColumn(StrEnum):
    absolute = "absolute"
    relative = "relative"
    delta = "delta"


def checked(make: Callable[[str], Any]) -> Callable[[str], Any]:
    """What the user wrote, made into what is asked for before any capture is read, so that mistakes are reported at once."""

    def checked(text: str) -> Any:
        try:
            return make(text)
        except InputError as error:
            say_why(error)
            raise typer.Exit(EXIT_USAGE) from None
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return checked


def _call_filter(text: str) -> Any:
    from analyzer.filters.filter import CallFilter

    return CallFilter(text)


def _sample_filter(text: str) -> Any:
    from analyzer.filters.filter import SampleFilter

    return SampleFilter(text)


def _handle(text: str) -> str:
    from analyzer.filters.selection import handle_name

    return handle_name(text)


def _session(text: str) -> str:
    from analyzer.filters.selection import session_name

    return session_name(text)


def _call_fields() -> Mapping[str, Field]:
    from analyzer.filters.fields import call_fields

    return call_fields()


def _sample_fields() -> Mapping[str, Field]:
    from analyzer.filters.fields import sample_fields

    return sample_fields()


def _completing(fields: Callable[[], Mapping[str, Field]]) -> Callable[[str], Iterator[tuple[str, str]]]:
    """Completes the last word of a filter with the fields that begin like it."""

    def complete(incomplete: str) -> Iterator[tuple[str, str]]:
        last = re.search(r"[\w.]*$", incomplete)
        assert last is not None
        before = incomplete[: last.start()]
        for field in fields().values():
            if field.name.startswith(last[0]):
                yield before + field.name, field.meaning

    return complete


def _listing(fields: Callable[[], Mapping[str, Field]]) -> Callable[[bool], None]:
    """Prints the fields there are, and ends the command."""

    def print_fields(wanted: bool) -> None:
        if not wanted:
            return
        from analyzer.filters.fields import Kind

        # Fields of one side repeat those of either side.
        shown = [field for field in fields().values() if not field.name.startswith(("request.", "response."))]
        names, kinds = max(len(field.name) for field in shown), max(len(field.kind) for field in shown)
        terminal = get_terminal_size().columns if is_terminal() else None

        def field_line(name: str, kind: str, meaning: str) -> None:
            line = f"{name:{names}}  {kind:{kinds}}  {meaning}"
            indent = names + kinds + 4
            lines = wrap(line, max(terminal, indent + 30), subsequent_indent=" " * indent) if terminal else [line]
            put(*lines)

        for field in shown:
            field_line(
                field.name, field.kind, field.meaning + (f": {', '.join(field.choices)}" if field.choices else "")
            )
        field_line("buffer.NAME", Kind.ANY, "part of decoded lpData, by its key at any depth (buffer.instances.name)")
        put("What has (either side) is of one side with request. or response. before it.")
        raise typer.Exit

    return print_fields


_FILTER_HELP = "Show only what passes this filter, in the manner of Wireshark: 'opnum == 6 && status != 0'."
_LIST_HELP = "List the fields a filter may name, and exit."

# What the parser makes of the text; its type would have to be loaded to be named.
CallFilterOption = Annotated[
    Any,
    typer.Option(
        "--filter",
        "-Y",
        metavar="EXPR",
        help=_FILTER_HELP,
        parser=checked(_call_filter),
        autocompletion=_completing(_call_fields),
    ),
]
SampleFilterOption = Annotated[
    Any,
    typer.Option(
        "--filter",
        "-Y",
        metavar="EXPR",
        help=_FILTER_HELP,
        parser=checked(_sample_filter),
        autocompletion=_completing(_sample_fields),
    ),
]
ListCallFields = Annotated[
    bool, typer.Option("--list-fields", is_eager=True, callback=_listing(_call_fields), help=_LIST_HELP)
]
ListSampleFields = Annotated[
    bool, typer.Option("--list-fields", is_eager=True, callback=_listing(_sample_fields), help=_LIST_HELP)
]
FollowHandle = Annotated[
    str | None,
    typer.Option(
        "--follow-handle",
        metavar="HANDLE",
        parser=checked(_handle),
        help="Only calls on this query handle (q2, 2) or registry key (k1), by number or UUID.",
    ),
]
FollowSession = Annotated[
    str | None,
    typer.Option(
        "--follow-session",
        metavar="SESSION",
        parser=checked(_session),
        help="Only calls of this SMB session: its id (0x1d), or the number of a call in it. "
        "For a call over plain TCP: those of its connection.",
    ),
]
Tail = Annotated[int | None, typer.Option("--tail", min=1, metavar="N", help="Only the last N calls.")]
Time = Annotated[
    TimeColumn,
    typer.Option("--time", help="Time of day, or seconds since the first frame or the call shown before (text)."),
]
