"""Options that several commands share, and the keyring they amount to."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from analyzer.auth.keyring import Keyring

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


def keyring_of(
    secrets: list[Path] | None,
    user: str | None,
    passwords: list[str] | None,
    nt_hashes: list[str] | None,
    keytabs: list[Path] | None,
    smb_session_keys: list[str] | None,
) -> Keyring:
    """Every key the user gave, from files, options, the environment and the prompt."""
    from analyzer.auth.keyring import Keyring

    keyring = Keyring()
    for path in secrets or ():
        keyring = keyring.merged(Keyring.load(path))
    given = [asked_password(user) if password == "-" else password for password in passwords or ()]
    if from_environment := os.environ.get(PASSWORD_VARIABLE):
        given.append(from_environment)
    return keyring.merged(
        Keyring.build(
            passwords=[(user, password) if user else password for password in given],
            nt_hashes=[(user, value) if user else value for value in nt_hashes or ()],
            keytabs=keytabs or (),
            smb_session_keys=smb_session_keys or (),
        )
    )


def asked_password(user: str | None) -> str:
    """A password from the terminal, or the first line of standard input where that is no terminal."""
    if sys.stdin.isatty():
        from getpass import getpass

        return getpass(f"Password{f' of {user}' if user else ''}: ")
    # Not through the text layer, which reads ahead: a capture may follow on standard input.
    return sys.stdin.buffer.readline().decode("utf-8", "surrogateescape").rstrip("\r\n")
