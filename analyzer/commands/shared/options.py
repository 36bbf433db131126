"""The options that several commands share: their names, values and help texts. Some select calls and samples: filters, with
completion of their fields, and handles and sessions to follow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from inspect import signature
from operator import attrgetter
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from msgspec import Struct
from msgspec.structs import replace

from analyzer.commands.shared.exit_codes import EXIT_USAGE, say_why
from analyzer.commands.shared.help import KEYS, READING, SHOWN, WRITING
from analyzer.core.environment_variables import SECRETS_VARIABLE
from analyzer.core.errors import InputError
from analyzer.core.output.gate import STANDARD_OUTPUT, is_terminal, put

if TYPE_CHECKING:
    from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
    from analyzer.questions.filters.call_selection import Selection
    from analyzer.questions.filters.filter import SampleFilter
    from analyzer.questions.filters.filterable_fields import FilterField
    from analyzer.results.analysis import Analysis


# ----------------------------------------------------------------------------------------------------------------- options


# Options of one panel of --help.
of_keys = partial(typer.Option, rich_help_panel=KEYS)
of_reading = partial(typer.Option, rich_help_panel=READING)
of_writing = partial(typer.Option, rich_help_panel=WRITING)
PASSWORD_VARIABLE = "PCQ_PASSWORD"
REDACT_KEY_VARIABLE = "PCQ_REDACT_KEY"


# Literals, since to make an enumeration takes as long as to make ten options.
Format = Literal["text", "jsonl", "json", "csv", "parquet"]
# The forms of calls, sessions and findings: besides those of everything, what programs of others read.
EntryFormat = Literal["text", "jsonl", "json", "csv", "parquet", "timesketch", "ecs", "zeek"]
# What names are taken from: the whole capture, or what of it was read by then.
NamesFrom = Literal["capture", "now"]
EngineName = Literal["own", "tshark"]


Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Captures (pcap, pcapng, etl), globs; - is stdin. Compressed ones too."),
]
ReadFiles = Annotated[
    list[str] | None, of_reading("-r", "--read", metavar="FILE", help="A capture, named as tshark names it.")
]
Secrets = Annotated[
    list[Path] | None,
    typer.Option(
        "--secrets",
        metavar="FILE",
        help=f"File of keys; default: the one {SECRETS_VARIABLE} names. "
        "TOML or JSON: users with passwords or NT hashes, keytabs, SMB session keys.",
    ),
]
PasswordOf = Annotated[
    str | None,
    of_keys(
        "--password-of",
        metavar="NAME",
        help="Account that --password or --nt-hash belongs to. DOMAIN\\name or name. Default: try every account.",
    ),
]
Password = Annotated[
    list[str] | None,
    of_keys("--password", help=f"A password; - asks for it. Better: the variable {PASSWORD_VARIABLE}."),
]
NtHash = Annotated[list[str] | None, of_keys("--nt-hash", help="An NT hash, 32 hexadecimal digits; - asks for it.")]
Keytab = Annotated[list[Path] | None, of_keys("--keytab", help="A Kerberos keytab.")]
SmbSessionKey = Annotated[
    list[str] | None,
    of_keys(
        "--smb-session-key",
        metavar="LINE",
        help="A line of Wireshark's smb2_seskey_list. SESSION_ID,KEY[,S2C_KEY,C2S_KEY]; - asks for it.",
    ),
]
Engine = Annotated[
    EngineName,
    of_reading("--engine", metavar="NAME", help="What reads the file: own or tshark. tshark reads more formats."),
]


def asked_password(user: str | None) -> str:
    """Asks for the password of an option: on the terminal, or reads the next line of standard input if that is no terminal."""
    return asked_secret("-", "Password", user)


def asked_secret(word: str, what: str, user: str | None) -> str:
    """Returns the value of an option with a secret; for `-` asks on the terminal, or reads the next line of standard input if that
    is no terminal."""
    if word != "-":
        return word
    if sys.stdin is None:
        raise InputError(
            f"there is no standard input to read the {what[0].lower()}{what[1:]} from",
            hint="The - of an option asks for it.",
        )
    if sys.stdin.isatty():
        from getpass import getpass

        return getpass(f"{what}{f' of {user}' if user else ''}: ")
    # Not through the text layer, which reads ahead: a capture may follow on standard input.
    return sys.stdin.buffer.readline().decode("utf-8", "surrogateescape").rstrip("\r\n")


def _output(context: typer.Context, path: Path | None) -> Path | None:
    """Checks the option `--output`: Parquet is not for terminals. `--format` is known here, since given options are handled
    first."""
    if context.params.get("output_format") == "parquet":
        to_terminal = str(path) == STANDARD_OUTPUT and is_terminal()
        if path is None or to_terminal:
            raise typer.BadParameter("--format parquet needs a file to write: -o FILE, or -o - into a pipe")
    return path


# Eager: the checks of other options need the form, wherever it stands in the line.
OutputFormat = Annotated[
    Format,
    typer.Option("--format", metavar="FORMAT", is_eager=True, help="text, jsonl, json, csv, or parquet with -o."),
]
OutputEntryFormat = Annotated[
    EntryFormat,
    typer.Option(
        "--format",
        metavar="FORMAT",
        is_eager=True,
        help="text, jsonl, json, csv, or parquet with -o. Also timesketch, ecs and zeek, for these programs.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", callback=_output, help="Write to this file; - is standard output."),
]


def force_option(writing: str) -> Any:
    """Makes the option `--force` for a command; `writing` names the options of the files that it writes."""
    return of_writing("--force", help=f"Let {writing} replace a file that exists.")


Force = Annotated[bool, force_option("-o")]
CsvRaw = Annotated[
    bool,
    of_writing(
        "--csv-raw", help="CSV: do not escape cells. A terminal may obey such a cell, and a spreadsheet may run it."
    ),
]


def _columns(context: typer.Context, text: str | None) -> str | None:
    """Checks `--columns`: only records have columns. `--format` is known here."""
    if text is not None and context.params.get("output_format") not in ("csv", "parquet", "jsonl", "json"):
        raise typer.BadParameter("only records have columns: add --format csv, parquet, jsonl or json")
    return text


Columns = Annotated[
    str | None,
    of_writing(
        "--columns", metavar="A,B,C", callback=_columns, help="CSV, Parquet, JSON: these columns, in this order."
    ),
]


TimeZone = Annotated[
    str | None,
    of_writing("--tz", metavar="ZONE", help="Text: times of this zone, not UTC. Europe/Berlin, +02:00 or local."),
]
NoPager = Annotated[
    bool,
    of_writing(
        "--no-pager", help="Do not page text on a terminal. Default: PCQ_PAGER, PAGER or less shows a screen at a time."
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 4 where something could not be read.")]


MaxStub = Annotated[
    int | None,
    of_reading("--max-stub", min=1, metavar="BYTES", help="Largest stub joined from fragments (64 MiB)."),
]
MaxHeld = Annotated[
    int | None,
    of_reading("--max-held", min=1, metavar="BYTES", help="Out-of-order TCP data held at any time (48 MiB)."),
]
MaxConnections = Annotated[
    int | None, of_reading("--max-connections", min=1, help="TCP connections followed at a time (32768).")
]

ReadFrames = Annotated[
    int | None,
    of_reading("--read-frames", min=1, metavar="N", help="Read only the first N frames."),
]
MaxRatio = Annotated[int | None, of_reading("--max-ratio", min=1, help="Bytes each compressed byte may become (50).")]


Jobs = Annotated[
    int | None,
    of_reading(
        "--jobs",
        min=1,
        metavar="N",
        help="Decode calls in N processes. Default: one for each core, if the capture is large. The output is the same.",
    ),
]
Hash = Annotated[
    bool | None,
    of_writing(
        "--hash/--no-hash",
        help="State in the result what it was made from. SHA-256 and size of each file, options, limits reached; "
        "`verify` compares. SARIF states it without this option.",
        show_default=False,
    ),
]
MetadataFiles = Annotated[
    list[Path] | None,
    of_reading(
        "--metadata",
        metavar="FILE",
        help="Counter names that the capture does not state. What export-metadata wrote, or another capture.",
    ),
]
MetadataFrom = Annotated[
    str | None,
    of_reading(
        "--metadata-from",
        metavar="SERVER",
        help="Use this server's names for other servers. --metadata has the names; addresses differ between captures.",
    ),
]


Redact = Annotated[
    bool,
    of_writing(
        "--redact",
        help="Replace names and addresses by pseudonyms. Those of users, hosts, domains, instances, services and keys, "
        "in all that is written.",
    ),
]
RedactKey = Annotated[
    str | None,
    of_writing(
        "--redact-key",
        metavar="KEY",
        help="Key that makes pseudonyms agree between captures. - asks for it. "
        f"Better: the variable {REDACT_KEY_VARIABLE}.",
    ),
]


NamesFromOption = Annotated[
    NamesFrom,
    typer.Option(
        "--names-from",
        metavar="NAME",
        help="capture (read it first) or now (print at once). With now, print each call as soon as all earlier calls are complete, "
        "with the names known by then (text, jsonl).",
    ),
]


# --------------------------------------------------------------------------------------------------------------- selection


TimeColumn = Literal["absolute", "relative", "delta"]


def checked(make: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wraps the parser of a selection option, so that mistakes in the user's words are reported before any capture is read."""

    def checked(text: str) -> Any:
        try:
            return make(text)
        except InputError as error:
            say_why(error)
            raise typer.Exit(EXIT_USAGE) from None
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return checked


def later(where: str, **given: Any) -> Callable[..., Any]:
    """Returns a function that loads a parser of option values (`module:name`) when it is called; `given` goes to every call."""
    module, name = where.split(":")
    return lambda *values: attrgetter(name)(import_module(f"analyzer.{module}"))(*values, **given)


def completed(complete: Callable[..., Iterable[Any]], *given: Any) -> Callable[[typer.Context, str], Iterable[Any]]:
    """Returns a completion of option values, loaded later and with what is `given` for it, as typer calls it: when a shell asks."""

    def completed(context: typer.Context, incomplete: str) -> Iterable[Any]:
        return complete(*given, context, incomplete)

    return completed


_call_fields = later("questions.filters.filterable_fields:call_fields")
_sample_fields = later("questions.filters.filterable_fields:sample_fields")
_counter_fields = later("questions.filters.filterable_fields:counter_fields")
_call_filter = later("questions.filters.filter:CallFilter")
_sample_filter = later("questions.filters.filter:SampleFilter")
_counter_filter = later("questions.filters.filter:SampleFilter", of_counters=True)
_time = later("questions.filters.times_machines_and_users:TimeBound.from_text")
_machine = later("questions.filters.times_machines_and_users:Party.from_text")


def _listing(fields: Callable[[], Mapping[str, FilterField]]) -> Callable[[bool], None]:
    """Returns a function that prints the fields which a filter can use, and ends the command."""

    def print_fields(wanted: bool) -> None:
        if not wanted:
            return
        from analyzer.results.records.record_types import Kind

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
            words = [word for word in field.choices if word and word not in field.meaning]
            field_line(field.name, field.kind, field.meaning + (f": {', '.join(field.choices)}" if words else ""))
        field_line("buffer.NAME", Kind.ANY, "part of decoded lpData, by its key at any depth (buffer.instances.name)")
        put("Fields marked (either side) take a prefix: request. or response.")
        raise typer.Exit

    return print_fields


of_shown = partial(typer.Option, rich_help_panel=SHOWN)
_LIST_HELP = "List the fields of a filter, and exit."


def _filter_option(parse: Callable[[str], Any], fields: Callable[[], Mapping[str, FilterField]]) -> Any:
    return of_shown(
        "--filter",
        "-Y",
        metavar="EXPR",
        help="Only what passes: 'opnum == 6 && status != 0'. A filter as in Wireshark; --list-fields names the fields.",
        parser=checked(parse),
        autocompletion=completed(later("commands.shared.completion:complete_filter"), fields),
    )


def _list_option(fields: Callable[[], Mapping[str, FilterField]]) -> Any:
    return of_shown("--list-fields", is_eager=True, callback=_listing(fields), help=_LIST_HELP)


def _option(*names: str, parse: Callable[[str], Any], panel: str = SHOWN, **said: Any) -> Any:
    return typer.Option(*names, parser=checked(parse), rich_help_panel=panel, **said)


# `Any` is what a parser makes of the text: to name its type would mean to load it.
CallFilterOption = Annotated[Any, _filter_option(_call_filter, _call_fields)]
SampleFilterOption = Annotated[Any, _filter_option(_sample_filter, _sample_fields)]
CounterFilterOption = Annotated[Any, _filter_option(_counter_filter, _counter_fields)]
ListCallFields = Annotated[bool, _list_option(_call_fields)]
ListSampleFields = Annotated[bool, _list_option(_sample_fields)]
ListCounterFields = Annotated[bool, _list_option(_counter_fields)]
Since = Annotated[
    Any,
    _option(
        "--since",
        metavar="TIME",
        parse=_time,
        help="Only calls from this time on: 13:50:16 or 90s. 2026-11-20T13:50:16Z is a moment, 13:50:16 a time of day (UTC); "
        "90s and 5m count from the first frame.",
    ),
]
Until = Annotated[
    Any, _option("--until", metavar="TIME", parse=_time, help="Only calls until this time. Written as for --since.")
]
ReadUntil = Annotated[
    Any,
    _option(
        "--read-until",
        metavar="TIME",
        parse=_time,
        help="Read only up to this time: 13:50:16 or 90s. A moment (2026-11-20T13:50:16Z), a time of day (UTC), or a time after "
        "the first frame.",
        panel=READING,
    ),
]
At = Annotated[
    list[Any] | None,
    _option(
        "--at",
        metavar="TIME",
        parse=_time,
        help="Compare two moments of one capture: give it twice. Each moment shows the last answers until then. Written as for "
        "--since.",
    ),
]
Server = Annotated[
    list[Any] | None,
    _option(
        "--server",
        metavar="HOST",
        parse=_machine,
        autocompletion=completed(later("commands.shared.completion:complete_machine")),
        help="Only calls to this machine: name, IP or network. Given more than once: to any of them.",
    ),
]
Client = Annotated[
    list[Any] | None,
    _option(
        "--client",
        metavar="HOST",
        parse=_machine,
        autocompletion=completed(later("commands.shared.completion:complete_machine")),
        help="Only calls from this machine. Written as for --server.",
    ),
]
User = Annotated[
    list[Any] | None,
    _option(
        "--user",
        metavar="NAME",
        parse=later("questions.filters.times_machines_and_users:Account"),
        autocompletion=completed(later("commands.shared.completion:complete_account")),
        help=r"Only calls of this account (LAB\perfmon). Also perfmon, perfmon@REALM, anonymous or guest. "
        "Calls of those who claimed to be this account are shown too.",
    ),
]
Interface = Annotated[
    list[str] | None,
    _option(
        "--interface",
        metavar="NAME",
        parse=later("questions.filters.call_selection:known_interface"),
        autocompletion=completed(later("commands.shared.completion:complete_interface")),
        help="Only calls of this interface: PerflibV2, winreg. Or a UUID. Given more than once: of any of them.",
    ),
]
FollowHandle = Annotated[
    str | None,
    _option(
        "--follow-handle",
        metavar="HANDLE",
        parse=later("questions.filters.call_selection:handle_name"),
        help="Only calls on this handle: q2 or its UUID. Also a registry key (k1) or a service (s1).",
    ),
]
FollowSession = Annotated[
    str | None,
    _option(
        "--follow-session",
        metavar="SESSION",
        parse=later("questions.filters.call_selection:session_name"),
        help="Only calls of this SMB session: 0x1d. Or the number of a call in it. For a call over plain TCP: the calls of its "
        "connection.",
    ),
]
Tail = Annotated[int | None, of_shown("--tail", min=1, metavar="N", help="Only the last N calls.")]
Head = Annotated[int | None, of_shown("--head", min=1, metavar="N", help="Only the first N calls.")]
Time = Annotated[
    TimeColumn,
    typer.Option(
        "--time",
        metavar="CLOCK",
        help="absolute, relative or delta (text). Time of day, seconds since the first frame, or since the call shown before.",
    ),
]


class CallSelection(Struct, frozen=True):
    """The calls that the selection options of a command choose."""

    selection: Selection

    def selected_analysis(self, analysis: Analysis) -> Analysis:
        return self.selection.selected_analysis(analysis)

    def finds(self, analysis: Analysis) -> Callable[[], bool]:
        """Returns for a command a function that tells whether its options select calls of some kind, and there are some."""
        return lambda: self.selection.finds(analysis)


class SampleSelection(Struct, frozen=True):
    """The calls that the selection options of a command choose, with a `filter` of values."""

    selection: Selection
    filter: SampleFilter | None

    def selected_analysis(self, analysis: Analysis) -> Analysis:
        return self.selection.selected_analysis(analysis)


class CounterSelection(SampleSelection, frozen=True):
    """The calls that the selection options of a command choose, with a filter of formatted values."""


def renamed(made: Any, names: Pseudonyms) -> Any:
    """Replaces the names that options select calls or samples by with their pseudonyms; returns what other options gave
    unchanged."""
    if not isinstance(made, CallSelection | SampleSelection):
        return made
    from analyzer.questions.filters.times_machines_and_users import RenamedFilter
    from analyzer.questions.filters.times_machines_and_users import renamed as by_pseudonyms

    made = replace(made, selection=by_pseudonyms(made.selection, names))
    if isinstance(made, SampleSelection) and made.filter is not None:
        made = replace(made, filter=RenamedFilter(made.filter, names))
    return made


def call_selection(
    since: Since = None,
    until: Until = None,
    call_filter: CallFilterOption = None,
    interface: Interface = None,
    server: Server = None,
    client: Client = None,
    user: User = None,
    follow_handle: FollowHandle = None,
    follow_session: FollowSession = None,
    list_fields: ListCallFields = False,
) -> CallSelection:
    """Makes the call selection that the options of a command ask for."""
    from analyzer.questions.filters.call_selection import Selection

    interfaces, servers = tuple(interface or ()), tuple(server or ())
    clients, users = tuple(client or ()), tuple(user or ())
    handle, session = follow_handle, follow_session
    return CallSelection(
        Selection(interfaces, handle, session, call_filter, None, None, since, until, servers, clients, users)
    )


def _of_values(kind: type[SampleSelection], value_filter: Any, list_fields: Any) -> Callable[..., SampleSelection]:
    """Returns the maker of a value command's selection: it takes the options of `call_selection`, with another filter."""

    def made(*, call_filter: SampleFilter | None = None, **values: Any) -> SampleSelection:
        return kind(call_selection(**values).selection, call_filter)

    of_calls = signature(call_selection, eval_str=True)
    own = {"call_filter": value_filter, "list_fields": list_fields}
    made.__signature__ = of_calls.replace(  # type: ignore[attr-defined]
        parameters=[
            item.replace(annotation=own.get(item.name, item.annotation)) for item in of_calls.parameters.values()
        ],
        return_annotation=kind,
    )
    return made


# The makers of selections, each made for the command that takes it.
SELECTIONS: Mapping[Any, Callable[[], Callable[..., Any]]] = {
    CallSelection: lambda: call_selection,
    SampleSelection: lambda: _of_values(SampleSelection, SampleFilterOption, ListSampleFields),
    CounterSelection: lambda: _of_values(CounterSelection, CounterFilterOption, ListCounterFields),
}
