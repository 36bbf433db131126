"""`pcq probe`: exercises a counter server with the script of the requirements, and captures that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec.structs import replace

from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_UNUSABLE
from analyzer.commands.shared.options import PASSWORD_VARIABLE, asked_password, force_option
from analyzer.core.errors import InputError
from analyzer.core.output.gate import Destination, put, say, write_document

if TYPE_CHECKING:
    from analyzer.probe.dcerpc_client import Credentials
    from analyzer.probe.probe_run import Target
    from analyzer.probe.probe_script import Options

Program = Literal["auto", "dumpcap", "tcpdump", "own"]


ServerName = Annotated[
    str | None,
    typer.Argument(
        metavar="SERVER", help="Name or address of a server that you may probe. Your own, or with its owner's leave."
    ),
]
CaptureFile = Annotated[Path | None, typer.Option("-w", "--write", help="Write what was sent and received, as pcapng.")]
TriggeredFile = Annotated[
    Path | None,
    typer.Option("--triggered", help="Write which requirements were triggered. audit --triggered reads the file."),
]
KeysFile = Annotated[
    Path | None,
    typer.Option("--keys", help="Also write the keys of the capture (mode 600). They are as good as the password."),
]
UserName = Annotated[str, typer.Option("--password-of", metavar="NAME", help="Account that calls (DOMAIN\\name).")]
UserPassword = Annotated[
    str | None, typer.Option("--password", envvar=PASSWORD_VARIABLE, help="Its password; - asks for it.")
]
UserHash = Annotated[str | None, typer.Option("--nt-hash", help="NT hash of the account, not its password.")]
OtherUser = Annotated[str | None, typer.Option("--other-user", help="A second account, one without rights.")]
OtherPassword = Annotated[str | None, typer.Option("--other-password", help="Its password; - asks for it.")]
TcpPort = Annotated[int | None, typer.Option("--tcp-port", help="Call over TCP at this port, not over the pipe.")]
SmbPort = Annotated[int, typer.Option("--smb-port", help="The port of SMB.")]
CaptureProgram = Annotated[
    Program,
    typer.Option(
        "--capture-with",
        help="What captures: auto, dumpcap, tcpdump or own. own is the probe's record of what it sent and received.",
    ),
]
Rate = Annotated[float, typer.Option("--rate", min=0.01, help="Calls a second, at most.")]
Timeout = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Wait for an answer at most so long.")
]
Countersets = Annotated[
    int, typer.Option("--countersets", min=1, help="Number of countersets that are walked through.")
]
Polls = Annotated[int, typer.Option("--polls", min=1, help="Number of polls of the long poll.")]
Interval = Annotated[float, typer.Option("--interval", min=0.0, help="Seconds between them.")]
Large = Annotated[
    bool,
    typer.Option("--large", help="Also offer the largest buffers there can be. A server may reserve memory for them."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the script, and send nothing.")]
Replace = Annotated[bool, force_option("these options")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before it starts.")]


def probe(
    server: ServerName = None,
    capture: CaptureFile = None,
    triggered: TriggeredFile = None,
    keys: KeysFile = None,
    user: UserName = "",
    password: UserPassword = None,
    nt_hash: UserHash = None,
    other_user: OtherUser = None,
    other_password: OtherPassword = None,
    tcp_port: TcpPort = None,
    smb_port: SmbPort = 445,
    with_program: CaptureProgram = "auto",
    rate: Rate = 10.0,
    timeout: Timeout = 5.0,
    countersets: Countersets = 4,
    polls: Polls = 10,
    interval: Interval = 1.0,
    large: Large = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    force: Replace = False,
) -> None:
    """Send a counter server all that the requirements ask for, capture it, and list what was triggered.

    The script has what no client should send: unknown GUIDs, closed handles, broken stubs. Counters are only read; nothing is
    changed, and nothing beyond the script (--dry-run) is sent. Needs the extra `probe`.
    """
    from analyzer.probe.probe_run import rehearse
    from analyzer.probe.probe_script import Options, script_lines

    options = Options(countersets=countersets, polls=polls, interval=interval, large=large)
    if dry_run:
        for line in script_lines(rehearse(options).log):
            put(line)
        return
    if server is None or capture is None or triggered is None:
        raise typer.BadParameter("a server, -w and --triggered are needed (or --dry-run)", param_hint="SERVER")
    from analyzer.probe.dcerpc_client import require_impacket
    from analyzer.probe.probe_run import Pace, Target, run_probe

    require_impacket()
    files = [
        Destination(path, force=force, private=path is keys) for path in (capture, triggered, keys) if path is not None
    ]
    for file in files:
        file.check()
    credentials = _credentials(user, password, nt_hash)
    other = _credentials(other_user, other_password, None) if other_user is not None else None
    target = Target(server, smb_port if tcp_port is None else tcp_port, is_pipe=tcp_port is None)
    options = replace(options, other=other)
    _ask(target, options, rate, yes)
    done = run_probe(target, credentials, options, Pace(rate, timeout, say), with_program)
    write_document(done.capture, files[0])
    write_document(done.triggered, files[1])
    if keys is not None:
        write_document(done.keys, files[2])
    say(f"{done.calls} calls, captured by {done.captured_by}; {done.number} of {done.causable} requirements triggered")
    raise typer.Exit(EXIT_DONE if done.calls else EXIT_UNUSABLE)


def _credentials(user: str, password: str | None, nt_hash: str | None) -> Credentials:
    from analyzer.probe.dcerpc_client import Credentials

    domain, _, name = user.rpartition("\\")
    if nt_hash is not None:
        if len(nt_hash) != 32 or not set(nt_hash) <= set("0123456789abcdefABCDEF"):
            raise InputError("an NT hash has 32 hexadecimal digits")
        return Credentials(name, domain, nt_hash=nt_hash)
    if password is None and name:
        raise InputError("a password is needed", hint=f"--password - asks for it; {PASSWORD_VARIABLE} may hold it")
    given = asked_password(user) if password == "-" else password or ""
    return Credentials(name, domain, password=given)


def _ask(target: Target, options: Options, rate: float, yes: bool) -> None:
    """Asks the user before `probe` sends anything."""
    from analyzer.probe.probe_run import rehearse

    number = rehearse(options).calls
    say(f"About {number} calls, no more than {rate:g} a second, will be sent to {target.words}.")
    say("Some of them no client should send. Probe only what is yours, or what its owner lets you probe.")
    if not yes and not typer.confirm("Go on?", err=True):
        raise typer.Abort
