"""Options that several commands share, and the keyring they amount to."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from datetime import UTC
from enum import StrEnum
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.commands.exits import ReadingFailedError
from analyzer.commands.help import KEYS, READING, WRITING
from analyzer.commands.selection_options import SELECTIONS, CallSelection, ReadUntil, renamed
from analyzer.core.environment import SECRETS_VARIABLE
from analyzer.core.errors import InputError
from analyzer.core.output.gate import STANDARD_OUTPUT, Destination, guarded_output, is_terminal, say, write_document
from analyzer.core.output.pager import paged, pager_command
from analyzer.core.paths import without_raw_bytes
from analyzer.core.times import show_times_in, zone_of

if TYPE_CHECKING:
    from analyzer.auth.keyring import Keyring
    from analyzer.capture.reader import ReadBound
    from analyzer.core.limits import Limits
    from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
    from analyzer.pipeline.run import InSessions
    from analyzer.pipeline.stream import Stream
    from analyzer.questions.filters.bounds import TimeBound
    from analyzer.results.analysis import Analysis
    from analyzer.results.evidence import EvidenceRecord, FileDigest
    from analyzer.results.metadata import Metadata
    from analyzer.results.next_command import Given
    from analyzer.screens.views.streamed_timeline import StreamedTimeline
    from analyzer.screens.views.view import View

# So many files that could not be read are named on standard error.
_NAMED = 10
# Options of one panel of --help.
of_keys = partial(typer.Option, rich_help_panel=KEYS)
of_reading = partial(typer.Option, rich_help_panel=READING)
of_writing = partial(typer.Option, rich_help_panel=WRITING)
PASSWORD_VARIABLE = "PCQ_PASSWORD"
REDACT_KEY_VARIABLE = "PCQ_REDACT_KEY"


class Format(StrEnum):
    text = "text"
    jsonl = "jsonl"
    json = "json"
    csv = "csv"
    parquet = "parquet"


class EntryFormat(StrEnum):
    """The forms of calls, sessions and findings: besides those of everything, what programs of others read."""

    text = "text"
    jsonl = "jsonl"
    json = "json"
    csv = "csv"
    parquet = "parquet"
    timesketch = "timesketch"
    ecs = "ecs"
    zeek = "zeek"


class NamesFrom(StrEnum):
    """What names are taken from: the whole capture, or what of it was read by then."""

    capture = "capture"
    now = "now"


class EngineName(StrEnum):
    own = "own"
    tshark = "tshark"


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
    """Tables of bytes are not for terminals. `--format` is known here: options given come before those that are not."""
    if context.params.get("output_format") == Format.parquet:
        to_terminal = str(path) == STANDARD_OUTPUT and is_terminal()
        if path is None or to_terminal:
            raise typer.BadParameter("--format parquet needs a file to write: -o FILE, or -o - into a pipe")
    return path


# Eager: what other options may be depends on the form, wherever it stands in the line.
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
    """`--force` of a command whose options in `writing` name the files that it writes."""
    return of_writing("--force", help=f"Let {writing} replace a file that exists.")


Force = Annotated[bool, force_option("-o")]
CsvRaw = Annotated[
    bool,
    of_writing(
        "--csv-raw", help="CSV: do not escape cells. A terminal may obey such a cell, and a spreadsheet may run it."
    ),
]


def _columns(context: typer.Context, text: str | None) -> str | None:
    """Records have columns. `--format` is known here."""
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


class CaptureReading(Struct, frozen=True):
    """How the captures of a command are to be read: keys, engine and limits, as the user gave them."""

    keyring: Keyring
    engine: EngineName
    limits: Limits
    metadata: tuple[Path, ...] = ()
    metadata_from: str | None = None
    # What ended a reading early, beyond all that was foreseen.
    failures: list[Exception] = field(default_factory=list)
    hashing: bool = False
    # What was read, and the limits that were reached, where that is to be stated.
    read: list[tuple[FileDigest, ...]] = field(default_factory=list)
    limits_reached: dict[str, None] = field(default_factory=dict)
    pseudonyms: Pseudonyms | None = None
    bound: ReadBound | None = None
    # The time that `bound` was made of.
    until: TimeBound | None = None
    # How many processes decode calls, None for as many as pay.
    jobs: int | None = None
    # What the command was given to read and select by, without its files.
    given: Given | None = None

    def refuse_redaction(self, why: str) -> None:
        """For commands whose output cannot be without names: wrong usage."""
        if self.pseudonyms is not None:
            raise typer.BadParameter(why, param_hint="--redact")

    def refuse_jobs(self, why: str) -> None:
        """For commands whose processes have an option of their own: wrong usage."""
        if self.jobs is not None:
            raise typer.BadParameter(why, param_hint="--jobs")

    def refuse_bounds(self, why: str) -> None:
        """For commands that read captures in their own order: wrong usage."""
        if self.bound is not None:
            raise typer.BadParameter(why, param_hint="--read-frames, --read-until")

    @staticmethod
    def refuse_cases(files: Sequence[str], why: str) -> None:
        """For commands that read captured packets or keys again, which no case holds."""
        from analyzer.pipeline.container import is_case

        for file in files:
            if is_case(file):
                from analyzer.pipeline.case import manifest_of

                captures = ", ".join(manifest_of(file).files)
                raise InputError(f"{file} is a case, and {why}", hint=f"The case was saved of {captures}.")

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that are read besides the captures: secrets, keytabs, metadata."""
        return (*self.keyring.files, *self.metadata)

    @property
    def stated(self) -> dict[str, str]:
        """The options that decide what is read of a capture, where they were given, as a case states them."""
        given = {
            "engine": self.engine.value,
            "read-frames": self.bound.frames if self.bound is not None else None,
            "read-until": self.until,
            "metadata": " ".join(map(str, self.metadata)) or None,
            "metadata-from": self.metadata_from,
            "redact": "" if self.pseudonyms is not None else None,
        }
        texts = {name: without_raw_bytes(str(value)) for name, value in given.items() if value is not None}
        return (
            {name: self.pseudonyms.free(text) for name, text in texts.items()} if self.pseudonyms is not None else texts
        )

    def analysis(
        self,
        files: list[str],
        *,
        pdus: bool = False,
        in_sessions: InSessions = "all",
        with_files: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Analysis:
        """Reads the captures; `-` is standard input. `pdus`, `in_sessions` and `with_files` are as for `pipeline.run.analyze`.
        Where nobody else hears of the progress, it is written to standard error."""
        from analyzer.core.output.progress import watching
        from analyzer.pipeline.run import analyze, sources_of

        # What is loaded by now stays. What is read does too, and to look through it every 700 objects costs a tenth of the time.
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        given = self.given_metadata()
        if self.bound is not None:
            self.refuse_cases(files, "is read as a whole")
        with watching(_named({"files": files})) if progress is None else nullcontext(progress) as progress:
            analysis = analyze(
                sources_of(files),
                self.keyring,
                engine=self.engine.value,
                limits=self.limits,
                progress=progress,
                pdus=pdus,
                metadata=given,
                metadata_from=self.metadata_from,
                failed=self.failures.append,
                hashing=self.hashing,
                pseudonyms=self.pseudonyms,
                bound=self.bound,
                in_sessions=in_sessions,
                with_files=with_files,
                jobs=self.jobs,
            )
        self.note(analysis)
        return replace(analysis, given=self._given_of(files))

    def analysis_or_dataset(self, files: list[str]) -> Analysis:
        """Reads captures or a case, or opens a dataset of `collect`, whose calls are read from its cases."""
        from analyzer.collect.manifest import is_dataset

        if not any(map(is_dataset, files)):
            return self.analysis(files)
        from analyzer.collect.joined import joined
        from analyzer.collect.manifest import read_dataset
        from analyzer.results.metadata import filled

        if len(files) > 1:
            raise InputError("a dataset is opened alone", hint="`collect` adds captures to it.")
        self.refuse_bounds("a dataset is read as a whole")
        if self.pseudonyms is not None:
            raise InputError("a dataset is not redacted", hint="Compare its captures.")
        analysis = joined(*read_dataset(files[0]))
        if given := self.given_metadata():
            analysis = filled(analysis, given, self.metadata_from)
        self.note(analysis)
        return replace(analysis, given=self._given_of(files))

    def _given_of(self, files: Sequence[str]) -> Given | None:
        """What was given. Names that were typed are the pseudonyms that they have once everything is read, and files are without
        their directories, which are often named after people."""
        if self.given is None or self.pseudonyms is None:
            return self.given and replace(self.given, files=tuple(files))
        free, words = self.pseudonyms.free, self.given.options
        options = (
            Path(word).name if before in _OPTIONS_OF_FILES else free(word)
            for before, word in zip(("", *words), words, strict=False)
        )
        made = replace(self.given, files=tuple(Path(name).name for name in files), options=tuple(options))
        return replace(made, filter=free(made.filter) if made.filter is not None else None)

    def note(self, analysis: Analysis) -> None:
        """Everything was read: notes what it was, and says which files could not be read."""
        from analyzer.screens.viewmodel.reading_verdict import unreadable

        if self.hashing:
            self.read.append(analysis.capture.digests)
            self.limits_reached.update(
                dict.fromkeys(problem.text for problem in analysis.problems if problem.kind == "limit")
            )
        lost = unreadable(analysis)
        say(*lost[:_NAMED], *([f"and {len(lost) - _NAMED} more files that could not be read"] if lost[_NAMED:] else []))

    @contextmanager
    def stream(self, files: list[str], *, watched: bool) -> Iterator[Stream]:
        """The captures, to be read while calls are taken from them. The progress is written where it is `watched`."""
        from analyzer.core.output.progress import watching
        from analyzer.pipeline.run import sources_of, stream

        if self.engine is not EngineName.own:
            raise typer.BadParameter("tshark reads captures as a whole", param_hint="--names-from now")
        self.refuse_cases(files, "has all names; leave --names-from out")
        self.refuse_redaction("names that come later could stand in what is printed before; leave --names-from out")
        with watching(_named({"files": files})) if watched else nullcontext() as progress:
            yield stream(
                sources_of(files),
                self.keyring,
                limits=self.limits,
                progress=progress,
                metadata=self.given_metadata(),
                metadata_from=self.metadata_from,
                failed=self.failures.append,
                hashing=self.hashing,
                bound=self.bound,
            )

    def with_packets(self, analysis: Analysis, files: list[str], numbers: Iterable[int] | None = None) -> Analysis:
        """The analysis with the packets of calls with these numbers, of all by default, which are read once more."""
        from analyzer.pipeline.packet_reader import packets_of
        from analyzer.pipeline.run import sources_of
        from analyzer.results.packets import Packets

        if self.pseudonyms is not None:
            return replace(analysis, packets=Packets("packets hold the names that --redact replaces"))
        packets = packets_of(
            sources_of(files), analysis, self.keyring, numbers=numbers, engine=self.engine.value, limits=self.limits
        )
        return replace(analysis, packets=packets)

    def given_metadata(self) -> list[Metadata]:
        """The metadata files, read with the same keys."""
        if not self.metadata:
            if self.metadata_from is not None:
                raise typer.BadParameter("it needs --metadata FILE", param_hint="--metadata-from")
            return []
        from analyzer.pipeline.loaded_metadata import load_metadata

        given = [
            load_metadata(path, self.keyring, engine=self.engine.value, limits=self.limits) for path in self.metadata
        ]
        known = [ip for metadata in given for ip in metadata.servers]
        if self.metadata_from is not None and self.metadata_from not in known:
            raise InputError(
                f"no metadata file knows the server {self.metadata_from}",
                hint=f"They know {', '.join(known) or 'none'}.",
            )
        return given


def _note(sentence: str) -> None:
    say(f"pcq-analyzer: note: {sentence}")


def _reading(
    secrets: Secrets = None,
    password_of: PasswordOf = None,
    password: Password = None,
    nt_hash: NtHash = None,
    keytab: Keytab = None,
    smb_session_key: SmbSessionKey = None,
    engine: Engine = EngineName.own,
    max_stub: MaxStub = None,
    max_held: MaxHeld = None,
    max_connections: MaxConnections = None,
    max_ratio: MaxRatio = None,
    read_frames: ReadFrames = None,
    read_until: ReadUntil = None,
    jobs: Jobs = None,
    metadata: MetadataFiles = None,
    metadata_from: MetadataFrom = None,
    hashes: Hash = None,
    redact: Redact = False,
    redact_key: RedactKey = None,
) -> CaptureReading:
    """Every key the user gave, from files, options, the environment and the prompt, and the limits."""
    from analyzer.auth.keyring import Keyring
    from analyzer.core.limits import DEFAULTS

    keyring = Keyring()
    named = os.environ.get(SECRETS_VARIABLE)
    for path in secrets or ([Path(named)] if named else []):
        keyring = keyring.merged(Keyring.load(path, _note))
    given = [_asked(word, "Password", password_of) for word in password or ()]
    hashed = [_asked(word, "NT hash", password_of) for word in nt_hash or ()]
    lines = [_asked(word, "SMB session key line", None) for word in smb_session_key or ()]
    redact_key = _asked(redact_key, "Redaction key", None) if redact_key is not None else None
    if from_environment := os.environ.get(PASSWORD_VARIABLE):
        given.append(from_environment)
    keyring = keyring.merged(
        Keyring.build(passwords=[(password_of, word) if password_of else word for word in given]),
        _of_option("--nt-hash", nt_hashes=[(password_of, value) if password_of else value for value in hashed]),
        Keyring.build(keytabs=keytab or ()),
        _of_option("--smb-session-key", smb_session_keys=lines),
    )
    given_limits = {
        "held_total": max_held,
        "held_stream": min(DEFAULTS.held_stream, max_held) if max_held is not None else None,
        "connections": max_connections,
        "stub": max_stub,
        "decompressed_ratio": max_ratio,
    }
    return CaptureReading(
        keyring,
        engine,
        replace(DEFAULTS, **{name: value for name, value in given_limits.items() if value is not None}),
        tuple(metadata or ()),
        metadata_from,
        hashing=bool(hashes),
        pseudonyms=pseudonyms_of(redact, redact_key),
        bound=_bound(read_frames, read_until, engine),
        until=read_until,
        jobs=jobs,
    )


def _bound(frames: int | None, until: TimeBound | None, engine: EngineName) -> ReadBound | None:
    """Where reading ends, of what the options ask for."""
    if frames is None and until is None:
        return None
    if engine is not EngineName.own:
        raise typer.BadParameter("tshark reads captures as a whole", param_hint="--read-frames, --read-until")
    from analyzer.capture.reader import ReadBound

    return ReadBound(frames, until.after if until is not None else None)


def pseudonyms_of(redact: bool, key: str | None) -> Pseudonyms | None:
    """The pseudonyms that the options ask for. The variable is a key, not a wish."""
    if key == "":
        raise typer.BadParameter("an empty key is none", param_hint="--redact-key")
    if not redact and key is None:
        return None
    from analyzer.interfaces.redaction.pseudonyms import Pseudonyms

    key = key or os.environ.get(REDACT_KEY_VARIABLE)
    return Pseudonyms(key.encode("utf-8", "surrogateescape") if key else None)


def _of_option(option: str, **values: Any) -> Keyring:
    """Keys that stand in an option: a mistake in one is one of usage."""
    from analyzer.auth.keyring import Keyring

    try:
        return Keyring.build(**values)
    except InputError as error:
        raise typer.BadParameter(f"{error}" + (f"; {error.hint}" if error.hint else ""), param_hint=option) from None


class Writing:
    """Where the result of a command goes, as the user chose, and how much of it is escaped on the way."""

    # What states what the result was made from, once everything is read.
    evidence: Callable[[], EvidenceRecord | None] = staticmethod(lambda: None)

    def __init__(
        self,
        path: Path | None,
        destination: Destination,
        *,
        raw_cells: bool = False,
        force: bool = False,
        pager: list[str] | None = None,
        columns: tuple[str, ...] = (),
    ) -> None:
        self.path = path
        self.destination = destination
        self._raw_cells = raw_cells
        self._force = force
        self._pager = pager
        self._columns = columns

    def sparing(self, paths: Iterable[Path]) -> Writing:
        """A writer with these settings that does not write over these files. It is checked at once: before anything is read in
        vain.
        """
        destination = self.destination.sparing(paths)
        destination.check()
        writing = copy(self)
        writing.destination = destination
        return writing

    def beside(self, path: Path | None, *, private: bool = False) -> Destination:
        """Where something else of this command goes, checked likewise; what is `private`, only its owner can read."""
        destination = Destination(path, force=self._force, reads=self.destination.reads, private=private)
        destination.check()
        return destination

    def stream(self, view: StreamedTimeline, form: str, ended: Callable[[], object]) -> None:
        """Writes a view while it is made; `ended` is called when it is made to its end."""
        from analyzer.screens.formats.write import write_streamed

        def evidence() -> EvidenceRecord | None:
            ended()
            return self.evidence()

        write_streamed(view, form, self.destination, columns=self._columns, evidence=evidence)

    def write(self, view: View, form: str) -> None:
        from analyzer.screens.formats.write import write

        write(
            view,
            form,
            self.destination,
            columns=self._columns,
            raw_cells=self._raw_cells,
            evidence=self.evidence(),
            pager=self._pager,
        )

    def document(self, document: bytes) -> None:
        """Writes a text that is made as a whole."""
        if self._pager is not None and self.path is None:
            with guarded_output(), paged(self._pager) as stream:
                stream.write(document.decode())
        else:
            write_document(document, self.destination)


def _writing(
    output: Output = None,
    force: Force = False,
    columns: Columns = None,
    csv_raw: CsvRaw = False,
    time_zone: TimeZone = None,
    no_pager: NoPager = False,
) -> Writing:
    try:
        show_times_in(UTC if time_zone is None else zone_of(time_zone))
    except ValueError:
        raise typer.BadParameter(
            f"this machine knows no zone {time_zone}; +02:00 needs no knowledge", param_hint="--tz"
        ) from None
    pager = None if no_pager or not is_terminal() else pager_command(os.environ)
    names = tuple(name.strip() for name in columns.split(",")) if columns is not None else ()
    return Writing(output, Destination(output, force=force), raw_cells=csv_raw, force=force, pager=pager, columns=names)


def destination_of(
    path: Path | None, files: list[str], reading: CaptureReading, *, force: bool, private: bool = False
) -> Destination:
    """A file that a command writes beside its result, checked at once: it takes the place of nothing that is read."""
    destination = Destination(path, force=force, private=private).sparing([*_named({"files": files}), *reading.files])
    destination.check()
    return destination


def command(function: Callable[..., None], *, hashing: bool = False) -> Callable[..., None]:
    """Gives a command the options of what it takes: of a `Writing` those of `_writing`, of a `CaptureReading` those of `_reading`,
    of a selection those of its maker in `filters.SELECTIONS`.

    Typer makes options of a function's parameters; commands that share options would have to repeat all of them. A command that
    is `hashing` states what its result was made from, unless --no-hash is given.
    """
    makers: dict[Any, Callable[..., Any]] = {Writing: _writing, CaptureReading: _reading, **SELECTIONS}
    own = list(signature(function, eval_str=True).parameters.values())
    taken = {item.annotation: item.name for item in own if item.annotation in makers}
    shared = {
        kind: list(signature(makers[kind], eval_str=True).parameters.values()) for kind in makers if kind in taken
    }

    parameters = [item for item in own if item.annotation not in makers]
    of_files = next((item for item in parameters if item.name == "files"), None)
    if of_files is not None:
        parameters[parameters.index(of_files)] = of_files.replace(default=None)
        parameters.append(Parameter("read", Parameter.KEYWORD_ONLY, default=None, annotation=ReadFiles))
    parameters += [item for items in shared.values() for item in items]
    parameters = [item.replace(kind=Parameter.KEYWORD_ONLY) for item in parameters]

    @wraps(function)
    def with_options(**values: Any) -> None:
        if of_files is not None:
            values["files"] = _all_files(values, needed=of_files.default is Parameter.empty)
        given = dict(values)
        if values.get("hashes") is None and CaptureReading in taken:
            values["hashes"] = hashing or values.get("output_format") == "sarif"
        made = {
            kind: makers[kind](**{item.name: values.pop(item.name) for item in items}) for kind, items in shared.items()
        }
        if (writing := made.get(Writing)) is not None:
            reading = made.get(CaptureReading)
            made[Writing] = writing.sparing([*_named(values), *(reading.files if reading is not None else ())])
            if reading is not None and reading.hashing:
                if str(values.get("output_format")) in ("timesketch", "ecs", "zeek"):
                    raise typer.BadParameter("this form has no place for it", param_hint="--hash")
                made[Writing].destination.seal()
                made[Writing].evidence = partial(
                    _evidence,
                    function.__name__.replace("_", "-"),
                    parameters,
                    given,
                    reading,
                    made[Writing].destination.mark,
                )
        if CaptureReading in made:
            made[CaptureReading] = replace(made[CaptureReading], given=_given(shared, given))
        if CaptureReading in made and made[CaptureReading].pseudonyms is not None:
            made = {kind: renamed(one, made[CaptureReading].pseudonyms) for kind, one in made.items()}
        with _in_part(made[CaptureReading].failures if CaptureReading in made else []):
            function(**{taken[kind]: one for kind, one in made.items()}, **values)

    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {item.name: item.annotation for item in parameters}
    return with_options


@contextmanager
def _in_part(failures: Sequence[Exception]) -> Iterator[None]:
    """Raises `ReadingFailedError` where reading failed, whatever exit code the command came to with what was read."""
    try:
        yield
    except typer.Exit:
        if not failures:
            raise
    if failures:
        raise ReadingFailedError("the capture was read in part only") from failures[0]


def _all_files(values: dict[str, Any], *, needed: bool) -> list[str]:
    """The captures that were named, by -r or without it, which is taken out of the values."""
    files = [*(values.pop("read", None) or ()), *(values["files"] or ())]
    if not files and needed:
        raise typer.BadParameter("name a capture", param_hint="FILE")
    return files


# What says where a result goes, not what it is; and secrets, of which only that some were given is stated.
_NOT_STATED = frozenset({"output", "force", "no_pager", "files", "file", "hashes", "new_baseline", "time_zone", "jobs"})
# Options whose values are names of files.
_OPTIONS_OF_FILES = frozenset({"--secrets", "--keytab", "--metadata"})
_SECRETS = frozenset({"password", "nt_hash", "smb_session_key", "password_of", "redact_key"})


def _option_name(item: Parameter) -> str:
    """What an option is called on the command line, without its dashes."""
    for one in get_args(item.annotation)[1:]:
        # In an annotation, what is the default elsewhere is the first of the names.
        for word in (getattr(one, "default", None), *(getattr(one, "param_decls", None) or ())):
            if isinstance(word, str) and word.startswith("--"):
                return word.removeprefix("--")
    return item.name.replace("_", "-")


# Which options are no part of another command: what they say is of this one alone.
_OF_ONE_COMMAND = frozenset({"hashes", "list_fields", "jobs"})


def _given(shared: Mapping[Any, list[Parameter]], given: dict[str, Any]) -> Given:
    """What was given to read and to select by, for the commands that are printed: as it was written, without secrets."""
    from analyzer.results.next_command import Given

    def words(item: Parameter) -> Iterator[str]:
        value = given.get(item.name)
        if item.name in _OF_ONE_COMMAND or value is None or value == item.default:
            return
        for one in value if isinstance(value, list) else [value]:
            yield f"--{_option_name(item)}"
            if one is not True:
                yield "-" if item.name in _SECRETS - {"password_of"} else str(one)

    kinds = [kind for kind in shared if kind is CaptureReading or kind in SELECTIONS]
    options = [item for kind in kinds for item in shared[kind] if item.name not in ("interface", "call_filter")]
    chosen = {item.name: list(words(item))[1::2] for kind in kinds for item in shared[kind]}
    # A filter of values is none of calls.
    filters = chosen.get("call_filter", ()) if CallSelection in kinds else ()
    return Given(
        files=(),
        options=tuple(word for item in options for word in words(item)),
        interfaces=tuple(chosen.get("interface", ())),
        filter=next(iter(filters), None),
    )


def _evidence(
    command: str, parameters: Sequence[Parameter], given: dict[str, Any], reading: CaptureReading, mark: str | None
) -> EvidenceRecord:
    """What a result is made from, with what was read so far; `parameters` are those of the command. Where the result is written,
    `mark` becomes its digest."""
    from importlib.metadata import version

    from analyzer.capture.digest import digest_of
    from analyzer.results.evidence import EvidenceRecord, Input

    names = {item.name: _option_name(item) for item in parameters}
    defaults = {item.name: item.default for item in parameters}
    options = {}
    for name, value in sorted(given.items()):
        if name not in _NOT_STATED and value is not None and value != defaults[name]:
            text = without_raw_bytes(" ".join(map(str, value)) if isinstance(value, list) else str(value))
            text = reading.pseudonyms.free(text) if reading.pseudonyms is not None else text  # names that were typed
            shown = "" if value is True else "(given)" if name in _SECRETS else text
            options[names[name]] = shown
    digests = [("capture", digest) for digests in reading.read for digest in digests]
    paths = [("metadata", path) for path in reading.metadata]
    paths += [("baseline", given["baseline"])] if given.get("baseline") is not None else []
    paths += [("triggered", given["triggered"])] if given.get("triggered") is not None else []
    digests += [(role, digest_of(path)) for role, path in paths]
    return EvidenceRecord(
        tool="pcq-analyzer",
        version=version("pcq-analyzer"),
        command=command,
        options=options,
        inputs=tuple(Input(role=role, name=one.name, size=one.size, sha256=one.sha256) for role, one in digests),
        limits_reached=tuple(reading.limits_reached),
        result=mark,
    )


def _named(values: dict[str, Any]) -> list[Path]:
    """The files that a command was given to read."""
    names = [values["file"]] if isinstance(values.get("file"), str) else values.get("files") or []
    found: list[Path] = []
    for name in names:
        if name != STANDARD_OUTPUT and not Path(name).exists():
            import glob

            found += map(Path, glob.iglob(name, recursive=True))  # noqa: PTH207
        elif name != STANDARD_OUTPUT:
            found.append(Path(name))
    return found


def asked_password(user: str | None) -> str:
    """A password from the terminal, or the first line of standard input where that is no terminal."""
    return _asked("-", "Password", user)


def _asked(word: str, what: str, user: str | None) -> str:
    """A secret that was typed in an option; for `-` from the terminal, or the next line of standard input where that is none."""
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
