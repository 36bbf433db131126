"""Prints `--help`: one screen of 80 columns with the options of the task, the others by name; `--help-all` explains all.

`ABOUT` has the help entries of all commands: group, one line, and examples (a purpose, and the command line for it).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

import typer
from msgspec import Struct
from typer.core import TyperCommand, TyperGroup, TyperOption

from analyzer.core.output.gate import put

# --------------------------------------------------------------------------------------------------------- help entries


HAPPENED, SEEN, SCREENS, COUNTERS, CONFORMANCE, KEPT, HELP = (
    "What happened",
    "Who and what",
    "Look around",
    "Counters",
    "Conformance",
    "Keep, share",
    "Help",
)


class AboutCommand(Struct, frozen=True):
    """The help entry of a command: its group, its line, its examples, and the options that `--help` explains (none named: those
    that only this command has)."""

    group: str
    line: str
    examples: tuple[tuple[str, str], ...]
    first: tuple[str, ...] = ()


_CALLS = ("-Y", "--since", "--until", "--user", "--server", "--client")
_PRINTED = ("--secrets", "--format", "-o")


# In the order of `--help`.
ABOUT: Mapping[str, AboutCommand] = {
    "triage": AboutCommand(
        HAPPENED,
        "who did what to what, where (also: pcq FILE)",
        (
            ("the first look at a folder of captures", "triage 'captures/*.pcap*'"),
            ("each observation with its frames, and the processes", "triage x.pcapng -v"),
            ("for scripts, one record a file", "triage 'captures/*.pcap*' --format jsonl"),
        ),
        ("-v", "--fail-on", "--since", "--until", "--user", "--server", "--client", *_PRINTED),
    ),
    "timeline": AboutCommand(
        HAPPENED,
        "every call: who asked what, and the answer",
        (
            ("every call, encrypted ones opened", "timeline x.pcapng --secrets keys.toml"),
            ("failed polls", "timeline x.pcapng -Y 'opnum == 6 && (status != 0 || fault)'"),
            ("one query handle from its opening to its end", "timeline x.pcapng --follow-handle q2"),
        ),
        ("-Y", "--head", "--tail", "--since", "--user", "--server", "--follow-handle", *_PRINTED),
    ),
    "show": AboutCommand(
        HAPPENED,
        "one call: each field, its bytes and frames",
        (
            ("one call down to its bytes", "show x.pcapng --call 12"),
            ("one field and the frames that carried it", "show x.pcapng --call 12 --field response.lpData.perf_freq"),
        ),
        ("--call", "--field", "--packets", "-Y", "--follow-handle", *_PRINTED),
    ),
    "diff": AboutCommand(
        HAPPENED,
        "what differs between two captures",
        (
            ("what changed between two captures of a machine", "diff before.pcapng after.pcapng --secrets keys.toml"),
            ("what runs on a machine that did not run before", "diff today.pcapng --baseline host.json"),
            ("the same questions to another server", "diff windows.pcapng mine.pcapng --interface PerflibV2"),
        ),
        ("--at", "--baseline", "--write-baseline", "--values", "-Y", "--user", "--server", *_PRINTED),
    ),
    "stats": AboutCommand(
        HAPPENED,
        "response times, errors, who looked at what",
        (("response times, failures, who looked at what", "stats x.pcapng --secrets keys.toml"),),
        (*_CALLS, *_PRINTED),
    ),
    "sessions": AboutCommand(
        SEEN,
        "logons over SMB: who, and what protects them",
        (("who was logged on, and what would open it", "sessions x.pcapng"),),
        (*_CALLS, *_PRINTED),
    ),
    "hosts": AboutCommand(
        SEEN,
        "machines, their names and roles",
        (("the machines and their names", "hosts x.pcapng"),),
        (*_CALLS, *_PRINTED),
    ),
    "processes": AboutCommand(
        SEEN,
        "processes of each machine, and what is odd",
        (("what ran on the machines, and since when", "processes x.pcapng --secrets keys.toml"),),
        (*_CALLS, *_PRINTED),
    ),
    "files": AboutCommand(
        SEEN,
        "files copied over SMB, with SHA-256",
        (("what was copied to the machines, with digests", "files x.pcapng --secrets keys.toml"),),
        ("--secrets", "--format", "-o", "--tz", "--redact"),
    ),
    "handles": AboutCommand(
        SEEN,
        "query handles and registry keys that were polled",
        (("what each query asked for, and when", "handles x.pcapng --secrets keys.toml"),),
        ("--follow-handle", *_CALLS, *_PRINTED),
    ),
    "report": AboutCommand(
        SCREENS,
        "one page for a browser, with everything",
        (("a page for a browser, with everything in it", "report x.pcapng --secrets keys.toml -o report.html"),),
        ("-o", "--secrets", "--title", "--profile", "--live", "--metadata", "--redact", "--force"),
    ),
    "browse": AboutCommand(
        SCREENS,
        "three panes in the terminal",
        (("three panes in the terminal", "browse x.pcapng --secrets keys.toml"),),
        ("--secrets", "--password", "--keytab", "--metadata", "--read-until"),
    ),
    "counters": AboutCommand(
        COUNTERS,
        "rates and percentages, as PerfMon shows them",
        (
            ("what a performance monitor would have shown", "counters x.pcapng"),
            (
                "one counter, a mean each minute",
                r"counters x.pcapng --counter '\Processor(*)\% Processor Time' --interval 1m",
            ),
        ),
        ("--counter", "--interval", "--exact", "-Y", "--since", "--until", "--server", *_PRINTED),
    ),
    "samples": AboutCommand(
        COUNTERS,
        "raw counter values, one a line",
        (
            ("all raw values for other programs", "samples x.pcapng --format parquet -o samples.parquet"),
            ("values of one instance", "samples x.pcapng -Y 'instance == \"_Total\"'"),
        ),
        ("-Y", "--since", "--until", "--server", "--follow-handle", *_PRINTED),
    ),
    "export-metadata": AboutCommand(
        COUNTERS,
        "counter names, for captures without them",
        (
            ("names of counters for captures that lack them", "export-metadata old.pcapng -o names.json"),
            ("and how they are used", "timeline new.pcapng --metadata names.json"),
        ),
        ("-o", "--secrets", "--force"),
    ),
    "audit": AboutCommand(
        CONFORMANCE,
        "which requirement of MS-PCQ was broken, where",
        (
            ("every requirement of the specification", "audit x.pcapng --secrets keys.toml"),
            ("for code scanning", "audit x.pcapng --format sarif -o x.sarif"),
            ("only what is new since somebody looked", "audit x.pcapng --baseline accepted.json"),
        ),
        ("--select", "--ignore", "--actor", "--profile", "--fail-on", "--baseline", "--list", *_PRINTED),
    ),
    "probe": AboutCommand(
        CONFORMANCE,
        "send every kind of call to a server of yours",
        (
            ("what would be sent, without sending it", "probe --dry-run"),
            (
                "a server of your own, for audit --triggered",
                r"probe srv --password-of 'LAB\prober' --password - -w probe.pcapng --triggered triggered.json",
            ),
        ),
        (
            "--dry-run",
            "-w",
            "--triggered",
            "--keys",
            "--password-of",
            "--password",
            "--tcp-port",
            "--rate",
            "--timeout",
            "--yes",
        ),
    ),
    "calibrate": AboutCommand(
        CONFORMANCE,
        "our values beside what Windows displayed",
        (("what Windows returned, beside what we make of it", "calibrate collected/"),),
    ),
    "crosscheck": AboutCommand(
        CONFORMANCE,
        "our DCERPC PDUs beside tshark's",
        (("what tshark sees in the same capture", "crosscheck x.pcapng"),),
        ("--out-of-order", *_PRINTED),
    ),
    "decode": AboutCommand(
        CONFORMANCE,
        "a buffer from a file, without a capture",
        (
            ("a buffer that a program gave you", "decode buffer.bin"),
            ("a hex dump from standard input", "decode - --as winperf"),
        ),
        ("--as", "--at", "--samples", "--format", "-o"),
    ),
    "save": AboutCommand(
        KEPT,
        "a case: the analysis in one file, without keys",
        (
            ("everything in one file, decrypted, without keys", "save x.pcapng --secrets keys.toml -o x.pcq"),
            ("and read again by any command", "timeline x.pcq"),
        ),
        ("-o", "--secrets", "--metadata", "--redact", "--force"),
    ),
    "export": AboutCommand(
        KEPT,
        "the calls as a capture for Wireshark",
        (
            ("the decrypted calls for Wireshark", "export x.pcapng --secrets keys.toml --pcapng clear.pcapng"),
            ("a trace of Windows for Wireshark", "export x.etl --frames x.pcapng"),
            (
                "the packets of failed calls, for a colleague",
                "export x.pcapng -Y 'status != 0 || fault' --slice failed.pcapng",
            ),
        ),
        ("--pcapng", "--slice", "--frames", "--dsb", "-Y", "--head", "--tail", "--user", "--secrets", "--force"),
    ),
    "collect": AboutCommand(
        KEPT,
        "many captures into Parquet tables",
        (
            (
                "a directory as tables; next time only new files are read",
                "collect /captures --secrets keys.toml -o dataset",
            ),
            (
                "object storage, on a cluster",
                "collect 's3://sensors/*.pcapng' -o s3://tables/pcq --scheduler tls://head:8786",
            ),
        ),
        (
            "-o",
            "--secrets",
            "--since",
            "--until",
            "--site",
            "--workers",
            "--memory",
            "--scheduler",
            "--repair",
            "--allow-fewer-rows",
        ),
    ),
    "verify": AboutCommand(
        KEPT,
        "whether a result belongs to its captures",
        (
            ("a result that states what it was made from", "timeline x.pcapng --hash -o x.txt"),
            ("and whether it belongs to a capture", "verify x.txt x.pcapng"),
        ),
    ),
    "keys": AboutCommand(
        KEPT,
        "keys in the formats of other tools",
        (
            ("the keys of a capture for Wireshark", "keys wireshark x.pcapng --secrets keys.toml -o seskey_list"),
            ("a keytab from a password", "keys keytab host/srv.example.com@EXAMPLE.COM -o srv.keytab"),
        ),
    ),
    "docs": AboutCommand(
        HELP,
        "pages, rules, attacks and limits, offline",
        (
            ("what there is to read", "docs"),
            ("what a rule looks for, and why", "docs PCQ101"),
            ("what a capture may cost, and why", "docs limits"),
        ),
    ),
}


def examples_of(name: str) -> str | None:
    """Returns the end of a command's help: what somebody wants, and below it the command line for it."""
    examples = ABOUT[name].examples
    return "\n".join(f"{what[:1].upper()}{what[1:]}:\n  pcq {words}" for what, words in examples) or None


# --------------------------------------------------------------------------------------------------- the text of --help


# Groups of options that several commands share.
SHOWN, KEYS, READING, WRITING = "Selection", "Keys", "Reading", "Output"
_TASK, _MORE = "Options", "Also"
_ALL = "help_all"
# Longer names of options get a line of their own.
_WIDEST = 24
# Placeholder for the value of an option without a metavar, by type.
_VALUES = {"int": "N", "int range": "N", "float range": "N", "path": "FILE", "str": "TEXT", "choice": "NAME"}


def _explain_all(context: Any, _: Any, wanted: bool) -> None:
    if wanted:
        context.meta[_ALL] = True
        put(*context.get_help().splitlines())
        raise typer.Exit


class Command(TyperCommand):
    """A command whose `--help` shows options in groups."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Returns the command's parameters with `--help`, and with `--help-all` if that shows more."""
        params = super().get_params(ctx)
        if len([item for item in params if item.param_type_name == "option"]) > 1:
            every = ["--help-all"]
            params.append(
                TyperOption(
                    param_decls=every,
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_explain_all,
                    help="Show every option, and exit.",
                )
            )
        return params

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Writes the first paragraph of a command's help; with `--help-all` all paragraphs."""
        text = (self.help or "").strip()
        paragraphs = text.split("\n\n") if ctx.meta.get(_ALL) else [text.partition("\n\n")[0]]
        for paragraph in paragraphs:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the task's options into the help, one a line, and the names of the others; with `--help-all` every option and
        default."""
        groups: dict[str, list[Any]] = {_TASK: [], _MORE: [], SHOWN: []}
        first = _first_options(ctx)
        for item in self.get_params(ctx):
            if not getattr(item, "hidden", False):
                groups.setdefault(_group(item, first), []).append(item)
        groups[_TASK].sort(key=lambda item: (item.param_type_name != "argument", _place(item, first)))
        if ctx.meta.get(_ALL):
            for name, items in groups.items():
                if items:
                    with formatter.section(name):
                        formatter.write_dl([_record(item, ctx) for item in items], col_max=_WIDEST)
            return
        with formatter.section(_TASK):
            shown = [item for item in groups.pop(_TASK) if item.name not in ("help", _ALL)]
            formatter.write_dl([_brief(item) for item in shown], col_max=_WIDEST)
        if others := {name: items for name, items in groups.items() if items}:
            with formatter.section("More options (--help-all explains them)"):
                for name, items in others.items():
                    formatter.write("".join(f"  {line}\n" for line in _named(name, items, formatter.width - 2)))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes a command's examples into the help, one a line and not wrapped, so that they can be copied."""
        _write_examples(self.epilog, formatter, explained=ctx.meta.get(_ALL, False))


class Group(TyperGroup):
    """The command line, whose help shows commands in groups by their purpose."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a help line for each command, with the name of its group beside the first one."""
        places = {name: place for place, name in enumerate(ABOUT)}
        names = sorted(self.list_commands(ctx), key=lambda name: places.get(name, len(places)))
        widest = max(map(len, names))
        found: list[tuple[str, Any]] = [(name, self.get_command(ctx, name)) for name in names]
        panels = [one.rich_help_panel if isinstance(one.rich_help_panel, str) else "Commands" for _, one in found]
        margin = max(map(len, panels))
        before = None
        formatter.write("\n")
        for panel, (name, one) in zip(panels, found, strict=True):
            heading = panel if panel != before else ""
            formatter.write(f"{heading:{margin}}  {name:{widest}}  {one.get_short_help_str(200)}\n")
            before = panel

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands into the help of the command line, in place of its options."""
        self.format_commands(ctx, formatter)


class SubGroup(Group):
    """A command with commands below it, such as `keys`, whose help has examples."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the examples of a command with commands below it into its help."""
        _write_examples(self.epilog, formatter, explained=False)


def _first_options(context: Any) -> tuple[str, ...]:
    """Returns the options that `--help` explains; empty if these are the command's own."""
    about = ABOUT.get(context.info_name)
    return about.first if about is not None else ()


def _place(item: Any, first: tuple[str, ...]) -> int:
    """Returns the position of an option among the first ones in the help."""
    return min((first.index(name) for name in item.opts if name in first), default=len(first))


def _group(item: Any, first: tuple[str, ...]) -> str:
    """Returns the help section that shows an argument or option."""
    if item.param_type_name == "argument" or item.name in ("help", _ALL):
        return _TASK
    panel = getattr(item, "rich_help_panel", None)
    own = panel if isinstance(panel, str) else _TASK
    if not first:
        return own
    return _TASK if _place(item, first) < len(first) else _MORE if own == _TASK else own


def _name(item: Any) -> str:
    """Returns an argument or option as the user types it, for the help."""
    if item.param_type_name == "argument":
        return str(item.metavar or item.name.upper())
    names = ", ".join(sorted(item.opts, key=len))
    if item.secondary_opts:
        names = f"{names}/{', '.join(item.secondary_opts)}"
    return names if item.is_flag or item.count else f"{names} {item.metavar or _VALUES.get(item.type.name, 'VALUE')}"


def _brief(item: Any) -> tuple[str, str]:
    """Returns the short help of an option: what is typed, and the first sentence of its help."""
    return _name(item), re.split(r"(?<=[.]) ", item.help or "", maxsplit=1)[0]


def _record(item: Any, context: Any) -> tuple[str, str]:
    """Returns the full help of an option: what is typed, and its whole help with the default."""
    record = item.get_help_record(context)
    return _name(item), record[1] if record is not None else item.help or ""


def _named(group: str, items: list[Any], width: int) -> Iterator[str]:
    """Yields help lines with the names of options, after the name of their group."""
    lines = wrap(" ".join(max(item.opts, key=len) for item in items), width - 11, break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield f"{group if number == 0 else '':9}  {line}"


def _write_examples(epilog: str | None, formatter: Any, *, explained: bool) -> None:
    """Writes examples of a command into the help, as they are typed; `explained` ones below their purpose."""
    if epilog:
        lines = epilog.splitlines()
        with formatter.section("Examples"):
            formatter.write(
                "".join(
                    f"  {line}\n" if explained else f"  {line.strip()}\n"
                    for line in lines
                    if explained or line.startswith(" ")
                )
            )
