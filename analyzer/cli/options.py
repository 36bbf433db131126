"""Options that several commands share, and the keyring they amount to."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from analyzer.core.errors import InputError
from analyzer.core.values import dataclass

if TYPE_CHECKING:
    from analyzer.auth.keyring import Keyring
    from analyzer.model.analysis import Analysis
    from analyzer.model.metadata import Metadata
    from analyzer.pipeline.run import Limits

PASSWORD_VARIABLE = "PCQ_PASSWORD"


class Format(StrEnum):
    text = "text"
    jsonl = "jsonl"
    json = "json"
    csv = "csv"
    parquet = "parquet"


class EngineName(StrEnum):
    own = "own"
    tshark = "tshark"


Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Captures (pcap, pcapng; also compressed), globs, or - for standard input."),
]
Secrets = Annotated[
    list[Path] | None, typer.Option("--secrets", help="TOML or JSON with users, keytabs and SMB session keys.")
]
User = Annotated[
    str | None,
    typer.Option("--user", help="Whose --password or --nt-hash it is (DOMAIN\\name); anybody's if not given."),
]
Password = Annotated[
    list[str] | None,
    typer.Option("--password", help=f"A password; - asks for it. Better: the variable {PASSWORD_VARIABLE}."),
]
NtHash = Annotated[list[str] | None, typer.Option("--nt-hash", help="An NT hash, 32 hexadecimal digits.")]
Keytab = Annotated[list[Path] | None, typer.Option("--keytab", help="A Kerberos keytab.")]
SmbSessionKey = Annotated[
    list[str] | None,
    typer.Option("--smb-session-key", help="SESSION_ID,KEY[,S2C_KEY,C2S_KEY] as in Wireshark's smb2_seskey_list."),
]
Engine = Annotated[
    EngineName, typer.Option("--engine", help="Who reads the file: own reader, or tshark for its formats.")
]


def _output(context: typer.Context, path: Path | None) -> Path | None:
    """Tables of bytes are not for terminals or pipes. `--format` is known here: options given come before those that are not."""
    if path is None and context.params.get("output_format") == Format.parquet:
        raise typer.BadParameter("--format parquet needs a file to write: -o FILE")
    return path


OutputFormat = Annotated[Format, typer.Option("--format", help="How to print it; parquet needs -o.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", callback=_output, help="Write to this file instead of standard output."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 4 when something could not be read.")]
Interface = Annotated[
    str | None, typer.Option("--interface", help="Only calls of this interface (PerflibV2, winreg, a UUID).")
]


MaxStub = Annotated[
    int | None,
    typer.Option(
        "--max-stub", min=1, metavar="BYTES", help="Largest stub that is put together from fragments (64 MiB)."
    ),
]
MaxHeld = Annotated[
    int | None,
    typer.Option("--max-held", min=1, metavar="BYTES", help="Out-of-order TCP data held at any time (48 MiB)."),
]
MaxConnections = Annotated[
    int | None, typer.Option("--max-connections", min=1, help="TCP connections followed at any time (32768).")
]


MetadataFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--metadata",
        help="Names and types of counters that the capture does not tell: what export-metadata wrote, or another capture.",
    ),
]
MetadataFrom = Annotated[
    str | None,
    typer.Option(
        "--metadata-from",
        metavar="SERVER",
        help="Use this server's part of --metadata for servers that it does not know (addresses differ between captures).",
    ),
]


@dataclass(frozen=True, slots=True)
class CaptureReading:
    """How the captures of a command are to be read: keys, engine and limits, as the user gave them."""

    keyring: Keyring
    engine: EngineName
    limits: Limits
    metadata: tuple[Path, ...] = ()
    metadata_from: str | None = None

    def analysis(self, files: list[str], *, pdus: bool = False) -> Analysis:
        """Reads the captures; `-` is standard input. `pdus` as for `pipeline.run.analyze`."""
        from analyzer.cli.progress import watching
        from analyzer.pipeline.run import analyze, sources_of

        # What is loaded by now stays. What is read does too, and to look through it every 700 objects costs a tenth of the time.
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        given = self._given_metadata()
        with watching() as progress:
            return analyze(
                sources_of(files),
                self.keyring,
                engine=self.engine.value,
                limits=self.limits,
                progress=progress,
                pdus=pdus,
                metadata=given,
                metadata_from=self.metadata_from,
            )

    def _given_metadata(self) -> list[Metadata]:
        """The metadata files, read with the same keys."""
        if not self.metadata:
            if self.metadata_from is not None:
                raise typer.BadParameter("it needs --metadata FILE", param_hint="--metadata-from")
            return []
        from analyzer.pipeline.metadata import load_metadata

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


def _reading(
    secrets: Secrets = None,
    user: User = None,
    password: Password = None,
    nt_hash: NtHash = None,
    keytab: Keytab = None,
    smb_session_key: SmbSessionKey = None,
    engine: Engine = EngineName.own,
    max_stub: MaxStub = None,
    max_held: MaxHeld = None,
    max_connections: MaxConnections = None,
    metadata: MetadataFiles = None,
    metadata_from: MetadataFrom = None,
) -> CaptureReading:
    """Every key the user gave, from files, options, the environment and the prompt, and the limits."""
    from analyzer.auth.keyring import Keyring
    from analyzer.pipeline.run import Limits
    from analyzer.tcp.reassembler import TcpLimits

    keyring = Keyring()
    for path in secrets or ():
        keyring = keyring.merged(Keyring.load(path))
    given = [asked_password(user) if word == "-" else word for word in password or ()]
    if from_environment := os.environ.get(PASSWORD_VARIABLE):
        given.append(from_environment)
    keyring = keyring.merged(
        Keyring.build(
            passwords=[(user, word) if user else word for word in given],
            nt_hashes=[(user, value) if user else value for value in nt_hash or ()],
            keytabs=keytab or (),
            smb_session_keys=smb_session_key or (),
        )
    )
    tcp = TcpLimits()
    if max_held is not None:
        tcp = replace(tcp, held_total=max_held, held_stream=min(tcp.held_stream, max_held))
    if max_connections is not None:
        tcp = replace(tcp, max_connections=max_connections)
    limits = Limits(tcp) if max_stub is None else Limits(tcp, max_stub)
    return CaptureReading(keyring, engine, limits, tuple(metadata or ()), metadata_from)


def reads_captures(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of `_reading`, and as its first argument what they amount to.

    Typer makes options of a function's parameters; commands that read captures would have to repeat all of these.
    """
    own = list(signature(command, eval_str=True).parameters.values())[1:]
    shared = list(signature(_reading, eval_str=True).parameters.values())

    @wraps(command)
    def with_options(**values: Any) -> None:
        given = {item.name: values.pop(item.name) for item in shared}
        command(_reading(**given), **values)

    parameters = [item.replace(kind=Parameter.KEYWORD_ONLY) for item in (*own, *shared)]
    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {item.name: item.annotation for item in parameters}
    return with_options


def asked_password(user: str | None) -> str:
    """A password from the terminal, or the first line of standard input where that is no terminal."""
    if sys.stdin.isatty():
        from getpass import getpass

        return getpass(f"Password{f' of {user}' if user else ''}: ")
    # Not through the text layer, which reads ahead: a capture may follow on standard input.
    return sys.stdin.buffer.readline().decode("utf-8", "surrogateescape").rstrip("\r\n")
