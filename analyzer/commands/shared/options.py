"""The options that several commands share: their names, values and help texts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from analyzer.commands.shared.help import KEYS, READING, WRITING
from analyzer.core.environment_variables import SECRETS_VARIABLE
from analyzer.core.output.gate import STANDARD_OUTPUT, is_terminal

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


def _output(context: typer.Context, path: Path | None) -> Path | None:
    """Checks `--output`: Parquet is not for terminals. `--format` is known here, since given options are handled first."""
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
