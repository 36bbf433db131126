"""One run of the probe: a server in; what was sent and received as pcapng, and the list of what it triggered out.

The list is JSON of format 1: `server`, `begun`, `calls`, `failures`, and `triggered`, which holds for each requirement of the
catalogue the steps that brought its trigger about. `pcq audit --triggered` reads it.

It connects to the one server that the user named: by the winreg pipe over SMB 2 and 3 (impacket), or by TCP.
"""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from struct import pack
from types import FrameType
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from analyzer.auth.ntlm_keys import nt_hash
from analyzer.core.dcerpc_encoding import NDR, NDR64
from analyzer.core.errors import InputError
from analyzer.core.printable_text import Discreet
from analyzer.probe.dcerpc_client import BoundStream, Credentials, LostError, OfferedContext, Reply
from analyzer.probe.probe_calls import Impersonation, Lab, LogEntry, context_handle
from analyzer.probe.probe_recording import Relay, captured_by, pcapng
from analyzer.probe.probe_script import Options, Script
from analyzer.questions.audit.rule_registry import FORMAT, catalogue, causable_by_client
from analyzer.results.methods import perflib

# ---------------------------------------------------------------------------------------------------- server connection


_NO_ANSWER = "no answer within --timeout"
_READ = 4280
# [MS-SMB2] section 2.2.13.
_IMPERSONATION: dict[Impersonation, int] = {"identification": 1, "impersonation": 2}
_ACCESS, _SHARE, _OPEN, _NON_DIRECTORY, _NORMAL = 0x0012019F, 3, 1, 0x40, 0x80


class PipeStream:
    """An open SMB pipe of a run of the probe."""

    def __init__(self, connection: Any, tree: int, file: Any) -> None:
        self._connection, self._tree, self._file = connection, tree, file

    def send(self, data: bytes) -> None:
        with _lost():
            self._connection.writeFile(self._tree, self._file, data)

    def receive(self) -> bytes:
        with _lost():
            return bytes(self._connection.readFile(self._tree, self._file, bytesToRead=_READ))

    def close(self) -> None:
        try:
            self._connection.closeFile(self._tree, self._file)
        except Exception:  # the server may have ended it
            return


class PipeConnector:
    """Opens SMB pipes of the server for a run of the probe. Sessions are kept by caller, so that an association costs one open of
    the pipe."""

    def __init__(self, name: str, address: tuple[str, int], timeout_s: float) -> None:
        self._name, self._address, self._timeout_s = name, address, timeout_s
        self._sessions: dict[tuple[str, str], tuple[Any, int]] = {}

    def open(self, credentials: Credentials, pipe: str, impersonation: Impersonation) -> BoundStream:
        who = credentials.domain, credentials.username
        with _lost():
            if who not in self._sessions:
                self._sessions[who] = self._session(credentials)
            connection, tree = self._sessions[who]
            try:
                file = self._pipe(connection, tree, pipe, impersonation)
            except Exception:
                # The server may have ended the session over what was sent before.
                connection, tree = self._sessions[who] = self._session(credentials)
                file = self._pipe(connection, tree, pipe, impersonation)
        return BoundStream(PipeStream(connection, tree, file), credentials)

    def _session(self, credentials: Credentials) -> tuple[Any, int]:
        from impacket.smb import SMB_DIALECT
        from impacket.smbconnection import SMBConnection

        connection = SMBConnection(self._name, self._address[0], sess_port=self._address[1], timeout=self._timeout_s)
        if connection.getDialect() == SMB_DIALECT:
            raise LostError("the server speaks SMB 1 only")
        connection.getSMBServer().get_socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.login(credentials.username, credentials.password, credentials.domain, "", credentials.nt_hash)
        return connection, connection.connectTree("IPC$")

    def _pipe(self, connection: Any, tree: int, pipe: str, impersonation: Impersonation) -> Any:
        return connection.getSMBServer().create(
            tree, pipe, _ACCESS, _SHARE, _NON_DIRECTORY, _OPEN, _NORMAL, _IMPERSONATION[impersonation]
        )

    def close(self) -> None:
        for connection, _ in self._sessions.values():
            try:
                connection.close()
            except Exception:  # the server may have ended it
                continue


class TcpStream:
    """A TCP connection of a run of the probe to its server."""

    def __init__(self, address: tuple[str, int], timeout_s: float) -> None:
        self._socket = socket.create_connection(address, timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> bytes:
        try:
            return self._socket.recv(65536)
        except TimeoutError:
            raise LostError(_NO_ANSWER) from None

    def close(self) -> None:
        self._socket.close()


class TcpConnector:
    """Connects a run of the probe to an endpoint of ncacn_ip_tcp; nothing there says what a server may do in the caller's name."""

    def __init__(self, address: tuple[str, int], timeout_s: float) -> None:
        self._address, self._timeout_s = address, timeout_s

    def open(self, credentials: Credentials, pipe: str, impersonation: Impersonation) -> BoundStream:
        return BoundStream(TcpStream(self._address, self._timeout_s), credentials)

    def close(self) -> None:
        """Closes nothing at the end of a run of the probe: its connections over TCP share nothing."""


class _lost:  # noqa: N801  # a context manager, used like a function
    """Turns impacket's errors on the connections of a run into `LostError`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, LostError):
            from impacket.nmb import NetBIOSTimeout

            is_late = isinstance(error, NetBIOSTimeout | TimeoutError)
            raise LostError(_NO_ANSWER if is_late else str(error) or type(error).__name__) from None


# ------------------------------------------------------------------------------------------------------------ probe run


Program = Literal["auto", "dumpcap", "tcpdump", "own"]


class Target(Struct, frozen=True):
    """The server of a run of the probe: its name, and its port of SMB or (without a pipe) of DCERPC over TCP."""

    name: str
    port: int
    is_pipe: bool

    @property
    def words(self) -> str:
        return f"{self.name}, {'pipe winreg over SMB at' if self.is_pipe else 'TCP'} port {self.port}"

    def address(self) -> tuple[str, int]:
        """Returns the address of the server to probe. Raises `InputError` if the name has no address."""
        try:
            found = socket.getaddrinfo(self.name, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise InputError(f"{self.name} has no address: {error.strerror or error}") from None
        return str(found[0][4][0]), self.port


class ProbeOutcome(Discreet, frozen=True):
    """The outcome of a run of the probe: the contents of the files to write. `number` of the `causable` requirements were
    triggered."""

    hidden = ("keys", "capture")

    capture: bytes
    triggered: bytes
    keys: bytes
    calls: int
    number: int
    causable: int
    captured_by: str
    failures: tuple[str, ...]


class Pace(Struct, frozen=True):
    """The pace of a run of the probe: calls a second at most, how long it waits for each answer, and who is told what happens
    meanwhile."""

    rate: float
    timeout_s: float
    tell: Callable[[str], None] = lambda line: None


def run_probe(target: Target, credentials: Credentials, options: Options, pace: Pace, program: Program) -> ProbeOutcome:
    """Runs the whole script of the probe, or as much as a signal leaves time for; the capture up to then is whole. Raises
    `InputError` if there is no server."""
    with _until_a_signal() as script_ended:
        return _probed(target, credentials, options, pace, program, script_ended)


@contextmanager
def _until_a_signal() -> Iterator[Callable[[], None]]:
    """Makes the first signal that asks for an end end only the probe's script. Once the script has ended (the caller says so),
    signals are ignored while the capture is written."""
    has_ended = False

    def end() -> None:
        nonlocal has_ended
        has_ended = True

    def taken(number: int, frame: FrameType | None) -> None:
        if not has_ended:
            end()
            before = known[number]
            if callable(before):
                before(number, frame)

    known = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in known.items():
        if callable(handler):
            signal.signal(number, taken)
    try:
        yield end
    finally:
        for number, handler in known.items():
            signal.signal(number, handler)


def _probed(
    target: Target,
    credentials: Credentials,
    options: Options,
    pace: Pace,
    program: Program,
    script_ended: Callable[[], None],
) -> ProbeOutcome:
    server = target.address()
    programs: tuple[str, ...] = {"auto": ("dumpcap", "tcpdump"), "own": ()}.get(program, (program,))
    for name in programs:
        with captured_by(name, server) as captured:
            lab = _run(target, server, credentials, options, pace, script_ended) if captured is not None else None
        if captured is not None and lab is not None:
            return _done(lab, captured.data, target, credentials, options, name)
    if program not in ("auto", "own"):
        raise InputError(f"{program} is not installed, or may not capture", hint="--capture-with own needs no rights")
    relay = Relay(server, pace.timeout_s)
    try:
        lab = _run(target, relay.address, credentials, options, pace, script_ended)
    finally:
        relay.close()
    data = pcapng(relay.packets, f"pcq-analyzer {version('pcq-analyzer')} probe")
    return _done(lab, data, target, credentials, options, "its own record")


def _run(
    target: Target,
    address: tuple[str, int],
    credentials: Credentials,
    options: Options,
    pace: Pace,
    script_ended: Callable[[], None],
) -> Lab:
    kept = pace.timeout_s
    connector = PipeConnector(target.name, address, kept) if target.is_pipe else TcpConnector(address, kept)
    lab = Lab(connector, credentials, lambda: time.sleep(1 / pace.rate), pace.tell)
    try:
        Script(lab, options, time.sleep).run()
    except KeyboardInterrupt:
        lab.fail("the run was ended here")
    finally:
        script_ended()
        connector.close()
    return lab


def _done(
    lab: Lab, capture: bytes, target: Target, credentials: Credentials, options: Options, captured: str
) -> ProbeOutcome:
    return ProbeOutcome(
        capture=capture,
        triggered=list_document(lab, target.words),
        keys=_keys(credentials, *([options.other] if options.other is not None else [])),
        calls=lab.calls,
        number=len(set(triggered(lab.log)) & causable_by_client()),
        causable=len(causable_by_client()),
        captured_by=captured,
        failures=tuple(lab.failures),
    )


def _keys(*accounts: Credentials) -> bytes:
    """Returns the keys that decrypt the capture of a run in the form that `--secrets` reads."""
    users = [
        {"username": one.username, "domain": one.domain, "nt_hash": one.nt_hash or nt_hash(one.password).hex()}
        for one in accounts
    ]
    return json.dumps({"users": users}, indent=1).encode() + b"\n"


def rehearse(options: Options) -> Lab:
    """Rehearses a run of the probe without a server: answers are made up, and nothing is sent."""
    lab = Lab(Rehearsal(), Credentials("nobody", ""), lambda: None)
    Script(lab, options, lambda seconds: None).run()
    return lab


def triggered(log: list[LogEntry]) -> dict[str, list[str]]:
    """Requirements whose trigger a run of the probe brought about, each with the steps that did so."""
    steps: dict[str, dict[str, None]] = {}
    for entry in log:
        for trigger in entry.triggers:
            steps.setdefault(trigger, {})[entry.step] = None
    return {
        name: list(steps[requirement.trigger])
        for name, requirement in catalogue().items()
        if requirement.trigger in steps
    }


def list_document(lab: Lab, server: str) -> bytes:
    """Returns the list of requirements that the run triggered as the bytes of a JSON file."""
    document = {
        "format": FORMAT,
        "server": server,
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "calls": lab.calls,
        "failures": lab.failures,
        "triggered": triggered(lab.log),
    }
    return json.dumps(document, indent=1).encode() + b"\n"


_SETS = (("00000000-0000-4000-8000-000000000001", 2), ("00000000-0000-4000-8000-000000000002", 0))
_HANDLE = context_handle("00000000-0000-4000-8000-0000000000aa")


class _Nothing:
    """A stream of a rehearsed run that carries nothing."""

    def send(self, data: bytes) -> None:
        raise AssertionError("a rehearsal sends nothing")

    def receive(self) -> bytes:
        raise AssertionError("a rehearsal receives nothing")

    def close(self) -> None:
        return


class _Answers(BoundStream):
    """An association of a rehearsed run, with made-up answers."""

    def __init__(self, credentials: Credentials) -> None:
        super().__init__(_Nothing(), credentials)
        self._offered: list[OfferedContext] = []

    def bind(self, context: OfferedContext, level: int = 6) -> int | None:
        if context.transfer not in (NDR, NDR64):
            return None
        self._offered.append(context)
        return len(self._offered) - 1

    def is_ndr64(self, context: int) -> bool:
        return self._offered[context].transfer == NDR64

    def call(self, context: int, opnum: int, stub: bytes) -> Reply:
        ndr64 = self.is_ndr64(context)
        if self._offered[context].interface[0] != perflib.INTERFACE:
            return Reply(_HANDLE + bytes(4), opnum=opnum, ndr64=ndr64)
        return Reply(_answer(opnum, stub, ndr64), opnum=opnum, ndr64=ndr64)


class Rehearsal:
    """A made-up server for a rehearsed run of the probe: every call succeeds, so that a dry run comes by everything the script
    would send."""

    def open(self, credentials: Credentials, pipe: str, impersonation: Impersonation) -> BoundStream:
        return _Answers(credentials)


def _answer(opnum: int, stub: bytes, ndr64: bool) -> bytes:
    """The answer that a made-up server with two countersets gives a rehearsed run."""
    data, size = b"", 1
    match opnum:
        case 0:
            data, size = b"".join(UUID(guid).bytes_le for guid, _ in _SETS), 16
        case 1:
            guid, kind = next((one for one in _SETS if UUID(one[0]).bytes_le in stub), _SETS[0])
            counter = pack("<IIQIiIIIIII", 1, 0x10000, 0, 100, 0, 0, 0, 0, 0, 0, 0)
            data = UUID(guid).bytes_le + pack("<4I", 0, 100, 1, kind) + counter
        case 2:
            data = pack("<II", 16, 0) + "a\0".encode("utf-16-le") + bytes(4)
        case 3 | 4:
            return _HANDLE + bytes(4)
        case 6:
            data = pack("<IIQQQ16x", 48, 0, 0, 0, 1)
        case 7:
            return bytes(12 if ndr64 else 8)
        case _:
            pass
    counts = pack("<QQQ" if ndr64 else "<III", len(data) // size, 0, len(data) // size)
    return pack("<II", len(data) // size, len(data) // size) + counts + data + bytes(-len(data) % 4 + 4)
