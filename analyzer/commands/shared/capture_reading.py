"""Reads the captures of a command (`CaptureReading`), with the keys, limits and metadata that its options give."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.commands.shared.options import (
    PASSWORD_VARIABLE,
    REDACT_KEY_VARIABLE,
    Engine,
    EngineName,
    Hash,
    Jobs,
    Keytab,
    MaxConnections,
    MaxHeld,
    MaxRatio,
    MaxStub,
    MetadataFiles,
    MetadataFrom,
    NtHash,
    Password,
    PasswordOf,
    ReadFrames,
    ReadUntil,
    Redact,
    RedactKey,
    Secrets,
    SmbSessionKey,
    asked_secret,
)
from analyzer.core.environment_variables import SECRETS_VARIABLE
from analyzer.core.errors import InputError
from analyzer.core.output.gate import STANDARD_OUTPUT, say
from analyzer.core.printable_text import without_raw_bytes

if TYPE_CHECKING:
    from analyzer.auth.keyring import Keyring
    from analyzer.capture.capture_reader import ReadBound
    from analyzer.core.limits import Limits
    from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
    from analyzer.pipeline.live_reading import Stream
    from analyzer.pipeline.run import InSessions
    from analyzer.questions.filters.times_machines_and_users import TimeBound
    from analyzer.results.analysis import Analysis, FileDigest, Given
    from analyzer.results.reported_names.saved_metadata import Metadata

# At most this many unreadable files are named on standard error.
_NAMED = 10
# Options whose values are names of files.
_OPTIONS_OF_FILES = frozenset({"--secrets", "--keytab", "--metadata"})


class CaptureReading(Struct, frozen=True):
    """The options of a command for reading captures: keys, engine, limits and so on, as the user gave them."""

    keyring: Keyring
    engine: EngineName
    limits: Limits
    metadata: tuple[Path, ...] = ()
    metadata_from: str | None = None
    # Unforeseen errors that ended a reading early.
    failures: list[Exception] = field(default_factory=list)
    hashing: bool = False
    # The digests of what was read, and the limits that were reached, for evidence.
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
        """Refuses to read captures with `--redact`: it is wrong usage of commands whose output cannot do without names."""
        if self.pseudonyms is not None:
            raise typer.BadParameter(why, param_hint="--redact")

    def refuse_jobs(self, why: str) -> None:
        """Refuses to read captures with `--jobs`: it is wrong usage of commands that have their own option for processes."""
        if self.jobs is not None:
            raise typer.BadParameter(why, param_hint="--jobs")

    def refuse_bounds(self, why: str) -> None:
        """Refuses to read captures with `--read-frames` or `--read-until`: it is wrong usage of commands that read captures in
        their own order."""
        if self.bound is not None:
            raise typer.BadParameter(why, param_hint="--read-frames, --read-until")

    @staticmethod
    def refuse_cases(files: Sequence[str], why: str) -> None:
        """Refuses case files, for commands that read captured packets or keys again: no case holds these."""
        from analyzer.capture.first_bytes import is_case

        for file in files:
            if is_case(file):
                from analyzer.pipeline.case import manifest_of

                captures = ", ".join(manifest_of(file).files)
                raise InputError(f"{file} is a case, and {why}", hint=f"The case was saved of {captures}.")

    @property
    def files(self) -> tuple[Path, ...]:
        """Returns the files that a command reads besides the captures: secrets, keytabs, metadata."""
        return (*self.keyring.files, *self.metadata)

    @property
    def stated(self) -> dict[str, str]:
        """Returns, as a case states them, the options given for this reading of captures that decide what is read."""
        given = {
            "engine": self.engine,
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
        with_links: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Analysis:
        """Reads the captures of a command into one analysis; `-` is standard input. `pdus`, `in_sessions`, `with_files` and
        `with_links` are as for `pipeline.run.analyze`. Without `progress`, it writes the progress to standard error."""
        from analyzer.core.output.terminal import watching
        from analyzer.pipeline.run import analyze
        from analyzer.pipeline.segment_sources import sources_of

        # What is loaded by now stays, and so does what is read. Looking through it every 700 objects costs a tenth of the time.
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        given = self.given_metadata()
        if self.bound is not None:
            self.refuse_cases(files, "is read as a whole")
        with watching(named_files({"files": files})) if progress is None else nullcontext(progress) as progress:
            analysis = analyze(
                sources_of(files),
                self.keyring,
                engine=self.engine,
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
                with_links=with_links,
                jobs=self.jobs,
            )
        self.note(analysis)
        return replace(analysis, given=self._given_of(files))

    def analysis_or_dataset(self, files: list[str]) -> Analysis:
        """Reads captures or a case into an analysis, or opens a dataset of `collect` and joins its cases."""
        from analyzer.collect.dataset_manifest import is_dataset

        if not any(map(is_dataset, files)):
            return self.analysis(files, with_links=True)
        from analyzer.collect.dataset_manifest import read_dataset
        from analyzer.collect.joined_dataset import joined
        from analyzer.results.reported_names.saved_metadata import filled

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
        """Returns the options that a command got to read and select captures. With `--redact`, typed names become their pseudonyms,
        so call it after reading, and files lose their directories, which are often named after people."""
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
        """Notes for the command's evidence which captures it read under which limits, and says which files could not be read."""

        if self.hashing:
            self.read.append(analysis.capture.digests)
            self.limits_reached.update(
                dict.fromkeys(problem.text for problem in analysis.problems if problem.kind == "limit")
            )
        lost = analysis.unreadable_files
        say(*lost[:_NAMED], *([f"and {len(lost) - _NAMED} more files that could not be read"] if lost[_NAMED:] else []))

    @contextmanager
    def stream(self, files: list[str], *, watched: bool) -> Iterator[Stream]:
        """Opens the captures of a command as a stream of calls that are read as they are taken. Writes progress if `watched`."""
        from analyzer.core.output.terminal import watching
        from analyzer.pipeline.live_reading import stream
        from analyzer.pipeline.segment_sources import sources_of

        if self.engine != "own":
            raise typer.BadParameter("tshark reads captures as a whole", param_hint="--names-from now")
        self.refuse_cases(files, "has all names; leave --names-from out")
        self.refuse_redaction("names that come later could stand in what is printed before; leave --names-from out")
        with watching(named_files({"files": files})) if watched else nullcontext() as progress:
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
        """Returns the analysis with the packets of calls with these numbers (default: all): reads the captures of the command
        again, with its keys and limits."""
        from analyzer.pipeline.packet_rereading import packets_of
        from analyzer.pipeline.segment_sources import sources_of
        from analyzer.results.captured_packets import Packets

        if self.pseudonyms is not None:
            return replace(analysis, packets=Packets("packets hold the names that --redact replaces"))
        packets = packets_of(
            sources_of(files), analysis, self.keyring, numbers=numbers, engine=self.engine, limits=self.limits
        )
        return replace(analysis, packets=packets)

    def given_metadata(self) -> list[Metadata]:
        """Reads the metadata files of a command, with the same keys as the captures."""
        if not self.metadata:
            if self.metadata_from is not None:
                raise typer.BadParameter("it needs --metadata FILE", param_hint="--metadata-from")
            return []
        from analyzer.pipeline.loaded_metadata import load_metadata

        given = [load_metadata(path, self.keyring, engine=self.engine, limits=self.limits) for path in self.metadata]
        known = [ip for metadata in given for ip in metadata.servers]
        if self.metadata_from is not None and self.metadata_from not in known:
            raise InputError(
                f"no metadata file knows the server {self.metadata_from}",
                hint=f"They know {', '.join(known) or 'none'}.",
            )
        return given


def _note(sentence: str) -> None:
    say(f"pcq-analyzer: note: {sentence}")


def capture_reading(
    secrets: Secrets = None,
    password_of: PasswordOf = None,
    password: Password = None,
    nt_hash: NtHash = None,
    keytab: Keytab = None,
    smb_session_key: SmbSessionKey = None,
    engine: Engine = "own",
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
    """Collects the keys that the user gave a command, from files, options, environment and prompt, and its limits."""
    from analyzer.auth.keyring import Keyring
    from analyzer.core.limits import DEFAULTS

    keyring = Keyring()
    named = os.environ.get(SECRETS_VARIABLE)
    for path in secrets or ([Path(named)] if named else []):
        keyring = keyring.merged(Keyring.load(path, _note))
    given = [asked_secret(word, "Password", password_of) for word in password or ()]
    hashed = [asked_secret(word, "NT hash", password_of) for word in nt_hash or ()]
    lines = [asked_secret(word, "SMB session key line", None) for word in smb_session_key or ()]
    redact_key = asked_secret(redact_key, "Redaction key", None) if redact_key is not None else None
    if from_environment := os.environ.get(PASSWORD_VARIABLE):
        given.append(from_environment)
    keyring = keyring.merged(
        Keyring.build(passwords=[(password_of, word) if password_of else word for word in given]),
        _typed_keyring("--nt-hash", nt_hashes=[(password_of, value) if password_of else value for value in hashed]),
        Keyring.build(keytabs=keytab or ()),
        _typed_keyring("--smb-session-key", smb_session_keys=lines),
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
    """Returns where a command stops reading captures, from its options; None if nowhere."""
    if frames is None and until is None:
        return None
    if engine != "own":
        raise typer.BadParameter("tshark reads captures as a whole", param_hint="--read-frames, --read-until")
    from analyzer.capture.capture_reader import ReadBound

    return ReadBound(frames, until.after if until is not None else None)


def pseudonyms_of(redact: bool, key: str | None) -> Pseudonyms | None:
    """Returns the pseudonyms with which a command reads captures, if its options ask for them, else None. The environment variable
    only gives the key."""
    if key == "":
        raise typer.BadParameter("an empty key is none", param_hint="--redact-key")
    if not redact and key is None:
        return None
    from analyzer.interfaces.redaction.pseudonyms import Pseudonyms

    key = key or os.environ.get(REDACT_KEY_VARIABLE)
    return Pseudonyms(key.encode("utf-8", "surrogateescape") if key else None)


def _typed_keyring(option: str, **values: Any) -> Keyring:
    """Makes the keyring of a `CaptureReading` from keys that the user typed; a mistake in them is wrong usage."""
    from analyzer.auth.keyring import Keyring

    try:
        return Keyring.build(**values)
    except InputError as error:
        raise typer.BadParameter(f"{error}" + (f"; {error.hint}" if error.hint else ""), param_hint=option) from None


def named_files(values: dict[str, Any]) -> list[Path]:
    """Returns the existing files that a command was given to read, with globs expanded."""
    names = [values["file"]] if isinstance(values.get("file"), str) else values.get("files") or []
    found: list[Path] = []
    for name in names:
        if name != STANDARD_OUTPUT and not Path(name).exists():
            import glob

            found += map(Path, glob.iglob(name, recursive=True))  # noqa: PTH207
        elif name != STANDARD_OUTPUT:
            found.append(Path(name))
    return found
