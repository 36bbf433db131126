"""`pcq keys`: what an analyst otherwise scripts by hand. The only command that prints secrets, and it says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_FILES
from analyzer.commands.shared.help import Command, SubGroup
from analyzer.commands.shared.options import Files, asked_password
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.output.gate import put, say, write_document

if TYPE_CHECKING:
    from analyzer.core.events import Problem

WARNING = "warning: what follows is as good as the password; keep it off screens and out of logs that others read"

keys = typer.Typer(
    help="Keys in the formats of other tools. Prints secrets: this command only.",
    no_args_is_help=True,
    cls=SubGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
KeytabOutput = Annotated[
    Path | None, typer.Option("--keytab-output", help="Write the NT hashes as a keytab for Wireshark.")
]


@keys.command("nt-hash", cls=Command, short_help="the NT hash of a password")
def keys_nt_hash(
    password: Annotated[str, typer.Option("--password", help="The password; - asks for it.")] = "-",
) -> None:
    """The NT hash of a password ([MS-NLMP] section 3.3.1), for --nt-hash and other tools."""
    from analyzer.auth.ntlm_keys import nt_hash

    given = asked_password(None) if password == "-" else password
    say(WARNING)
    put(nt_hash(given).hex())


@keys.command("wireshark", cls=Command, short_help="SMB session keys, for Wireshark")
@command
def wireshark(
    reading: CaptureReading,
    writing: Writing,
    files: Files,
    keytab_output: KeytabOutput = None,
) -> None:
    """The SMB session keys of a capture as lines of Wireshark's smb2_seskey_list, so that it opens the same capture.

    RPC sealed by NTLM is opened by Wireshark with NT hashes from a keytab: --keytab-output writes one from the users given.
    """
    from analyzer.auth.key_files import ntlm_keytab, seskey_line
    from analyzer.core.output.terminal import watching
    from analyzer.pipeline.run import smb_session_keys
    from analyzer.pipeline.segment_sources import sources_of

    reading.refuse_cases(files, "no key is in it")
    reading.refuse_redaction("keys are of no use under pseudonyms")
    lines, keytab = writing.beside(writing.path, private=True), writing.beside(keytab_output, private=True)
    lost: list[Problem] = []
    with watching(files) as progress:
        found = smb_session_keys(
            sources_of(files),
            reading.keyring,
            engine=reading.engine,
            limits=reading.limits,
            lost=lost.append,
            progress=progress,
            bound=reading.bound,
        )
    say(*[problem.text for problem in lost])
    say(WARNING)
    write_document("".join(f"{seskey_line(session_id, key)}\n" for session_id, key in found.items()).encode(), lines)
    if not found:
        what = "what could be read of this capture" if lost else "this capture"
        say(f"no SMB2 session of {what} could be opened with the keys given")
    if keytab_output is not None:
        write_document(ntlm_keytab(reading.keyring), keytab)
    raise typer.Exit(EXIT_FILES if any(problem.kind == "unreadable" for problem in lost) else EXIT_DONE)


@keys.command("keytab", cls=Command, short_help="a keytab from a password")
@command
def keys_keytab(
    writing: Writing,
    principal: Annotated[str, typer.Argument(help="service/host@REALM or user@REALM.")],
    password: Annotated[str, typer.Option("--password", help="Its password; - asks for it.")] = "-",
    etype: Annotated[
        list[int] | None, typer.Option("--etype", help="Encryption types (all: 20, 19, 18, 17, 23).")
    ] = None,
    kvno: Annotated[int, typer.Option("--kvno", min=0, max=0xFFFFFFFF, help="Key version number.")] = 1,
    salt: Annotated[str | None, typer.Option("--salt", help="The salt, where it is not the principal's own.")] = None,
) -> None:
    """A keytab from a password, salted by the principal (RFC 4120 section 4)."""
    from analyzer.auth.key_files import DEFAULT_ETYPES, keys_from_password, split_principal, write_keytab

    if writing.path is None:
        raise typer.BadParameter("a keytab needs a file to write, or - for a pipe", param_hint="-o")
    destination = writing.beside(writing.path, private=True)
    name, realm = split_principal(principal)
    unknown = [number for number in etype or () if number not in DEFAULT_ETYPES]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]} is none of {', '.join(map(str, DEFAULT_ETYPES))}", param_hint="--etype")
    given = asked_password(principal) if password == "-" else password
    keys = keys_from_password(name, realm, given, etypes=etype or DEFAULT_ETYPES, kvno=kvno, salt=salt)
    say(WARNING.replace("what follows", str(writing.path)))
    write_document(write_keytab(keys), destination)
