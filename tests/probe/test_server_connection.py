"""How the probe reaches its server: pipes of one session, TCP, the relay in between; and what it makes of programs that capture."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analyzer.core.errors import InputError
from analyzer.probe import probe_recording, probe_run
from analyzer.probe.dcerpc_client import Credentials, LostError, require_impacket
from analyzer.probe.probe_recording import Captured, Relay, captured_by
from analyzer.probe.probe_run import Pace, PipeConnector, Target, TcpConnector, run_probe
from analyzer.probe.probe_script import Options
from analyzer.questions.audit.rule_registry import causable_by_client
from tests.build.capture import read

pytestmark = pytest.mark.needs("impacket")
CALLER = Credentials("user", "LAB", "password", "ab" * 16)
OTHER = Credentials("other", "LAB", "word")


class Connection:
    """An SMB connection that notes what is asked of it."""

    dialect = 0x311
    made: list[Connection]

    def __init__(self, *given: object, **named: object) -> None:
        self.asked: list[Any] = [(given, named)]
        self.failing: list[Exception] = []
        self.made.append(self)

    def getDialect(self) -> object:  # noqa: N802
        return self.dialect

    def getSMBServer(self) -> Connection:  # noqa: N802
        return self

    def get_socket(self) -> SimpleNamespace:
        return SimpleNamespace(setsockopt=lambda *given: self.asked.append(given))

    def login(self, *given: object) -> None:
        self.asked.append(given)

    def connectTree(self, name: str) -> int:  # noqa: N802
        self.asked.append(name)
        return 5

    def create(self, *given: object) -> str:
        if self.failing:
            raise self.failing.pop()
        self.asked.append(given)
        return "a file"

    def writeFile(self, *given: object) -> None:  # noqa: N802
        self.asked.append(given)

    def readFile(self, *given: object, **named: object) -> bytes:  # noqa: N802
        self.asked.append((given, named))
        return b"data"

    def closeFile(self, *given: object) -> None:  # noqa: N802
        self.asked.append(given)
        raise OSError("gone")

    def close(self) -> None:
        self.asked.append("closed")
        raise OSError("gone")


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Connection]:
    made: list[Connection] = []
    monkeypatch.setattr(Connection, "made", made, raising=False)
    monkeypatch.setattr("impacket.smbconnection.SMBConnection", Connection)
    return made


def test_a_pipe_is_opened_in_the_session_of_its_caller(connections: list[Connection]) -> None:
    """[MS-SMB2] section 2.2.13: desired access 0x0012019F, shared for reading and writing, opened only where it is there."""
    connector = PipeConnector("srv", ("10.0.0.1", 4445), 7.5)
    stream: Any = connector.open(CALLER, "winreg", "impersonation")._stream
    connector.open(CALLER, "winreg", "identification")
    connector.open(OTHER, "perf", "impersonation")
    assert len(connections) == 2
    first, second = connections
    session = [
        (("srv", "10.0.0.1"), {"sess_port": 4445, "timeout": 7.5}),
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        ("user", "password", "LAB", "", "ab" * 16),
        "IPC$",
    ]
    assert first.asked == [
        *session,
        (5, "winreg", 0x0012019F, 3, 0x40, 1, 0x80, 2),
        (5, "winreg", 0x0012019F, 3, 0x40, 1, 0x80, 1),
    ]
    assert second.asked[2:] == [("other", "word", "LAB", "", ""), "IPC$", (5, "perf", 0x0012019F, 3, 0x40, 1, 0x80, 2)]
    first.asked.clear()
    stream.send(b"asked")
    assert stream.receive() == b"data"
    stream.close()
    assert first.asked == [
        (5, "a file", b"asked"),
        ((5, "a file"), {"bytesToRead": 4280}),
        (5, "a file"),
    ]
    connector.close()
    assert [one.asked[-1] for one in connections] == ["closed", "closed"]


def test_a_session_that_was_ended_is_opened_once_more(connections: list[Connection]) -> None:
    connector = PipeConnector("srv", ("10.0.0.1", 445), 7.5)
    connector.open(CALLER, "winreg", "impersonation")
    connections[0].failing = [ValueError("session deleted")]
    stream: Any = connector.open(CALLER, "winreg", "impersonation")._stream
    assert len(connections) == 2
    assert connections[1].asked[-1][1] == "winreg"
    stream.send(b"x")
    assert connections[1].asked[-1] == (5, "a file", b"x")
    # The new session is kept.
    connector.open(CALLER, "winreg", "impersonation")
    assert len(connections) == 2


def test_what_impacket_raises_is_that_the_server_was_lost(
    connections: list[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise ValueError("STATUS_LOGON_FAILURE")

    monkeypatch.setattr(Connection, "login", refused)
    with pytest.raises(LostError, match="STATUS_LOGON_FAILURE"):
        PipeConnector("srv", ("10.0.0.1", 445), 7.5).open(CALLER, "winreg", "impersonation")
    monkeypatch.setattr(Connection, "dialect", "NT LM 0.12")
    with pytest.raises(LostError, match=r"^the server speaks SMB 1 only$"):
        PipeConnector("srv", ("10.0.0.1", 445), 7.5).open(CALLER, "winreg", "impersonation")
    with pytest.raises(LostError, match=r"^no answer within --timeout$"), probe_run._lost():
        raise TimeoutError
    with pytest.raises(LostError, match=r"^ConnectionResetError$"), probe_run._lost():
        raise ConnectionResetError
    with pytest.raises(KeyboardInterrupt), probe_run._lost():
        raise KeyboardInterrupt
    with probe_run._lost():
        pass


# ------------------------------------------------------------------------------------------------ TCP and the relay


@contextmanager
def echoing() -> Iterator[tuple[str, int]]:
    """A server that answers what it is sent with its capitals, up to its end."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                one, _ = listener.accept()
            except OSError:
                return
            with one:
                while data := one.recv(65536):
                    one.sendall(data.upper())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[:2]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(timeout=60)


def test_tcp_sends_at_once_and_does_not_wait_for_ever() -> None:
    with echoing() as address:
        association: Any = TcpConnector(address, 7.5).open(CALLER, "winreg", "impersonation")
        stream = association._stream
        assert stream._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert stream._socket.gettimeout() == 7.5
        stream.send(b"asked")
        assert stream.receive() == b"ASKED"
        stream.close()
        assert stream._socket.fileno() == -1


def test_the_relay_passes_on_and_records_both_directions(tmp_path: Path) -> None:
    with echoing() as server:
        relay = Relay(server, 7.5)
        assert relay.address[0] == "127.0.0.1"
        assert relay.address != server
        for words in (b"first", b"second"):
            with socket.create_connection(relay.address, timeout=60) as near:
                near.sendall(words)
                assert near.recv(100) == words.upper()
                near.shutdown(1)  # of the sending direction
                assert near.recv(100) == b""
        relay.close()
    (tmp_path / "x.pcapng").write_bytes(probe_recording.pcapng(relay.packets, "test"))
    frames = read([tmp_path / "x.pcapng"])[0]
    port = server[1].to_bytes(2, "big")
    sent = [(frame.data[22:24] == port, frame.data[33], frame.data[40:]) for frame in frames]
    assert [(to_server, data) for to_server, _, data in sent if data] == [
        (True, b"first"),
        (False, b"FIRST"),
        (True, b"second"),
        (False, b"SECOND"),
    ]
    assert [flags & 1 for _, flags, _ in sent].count(1) == 4
    assert len(frames) == 2 * 7


def test_a_relay_without_a_server_ends_what_connects() -> None:
    # A port that is taken and does not listen: one that was given back could be another test's by now.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with closing(Relay(taken.getsockname()[:2], 7.5)) as relay:
            for _ in range(2):
                with socket.create_connection(relay.address, timeout=60) as near:
                    assert near.recv(1) == b""
    assert relay.packets == []


# ------------------------------------------------------------------------------------------------ programs that capture

PROGRAM = """#!/bin/sh
for word; do last=$file; file=$word; [ "$last" = -w ] && out=$word; done
trap 'printf packets > "$out"; exit 0' TERM
{first}
while :; do sleep 0.01; done
"""


@pytest.mark.parametrize("first", ["echo noise >&2; echo 'File: x' >&2", "echo 'tcpdump: listening on any' >&2"])
def test_a_program_that_captures_is_stopped_in_good_order(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dumpcap"
    program.write_text(PROGRAM.format(first=first))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    slept: list[float] = []
    monkeypatch.setattr(probe_recording.shutil, "which", lambda name: str(program) if name == "dumpcap" else None)
    monkeypatch.setattr(probe_recording.time, "sleep", slept.append)
    with captured_by("dumpcap", ("10.0.0.1", 445)) as captured:
        assert captured == Captured(b"")
    assert captured == Captured(b"packets")
    # Waiting for the process sleeps too.
    assert slept[0] == 1.0


def test_a_program_that_does_not_stop_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tcpdump"
    program.write_text("#!/bin/sh\ntrap '' TERM\necho $$ > pid\necho 'File: x' >&2\nwhile :; do sleep 0.01; done\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(probe_recording.shutil, "which", lambda name: str(program))
    monkeypatch.setattr(probe_recording, "_SETTLING_S", 0)
    monkeypatch.setattr(probe_recording, "_STOPPING_S", 0.1)
    with captured_by("tcpdump", ("10.0.0.1", 445)) as captured:
        number = int((tmp_path / "pid").read_text())
        os.kill(number, 0)
    assert captured == Captured(b"")
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_a_program_that_may_not_capture_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tcpdump"
    program.write_text("#!/bin/sh\necho 'tcpdump: any: no permission' >&2\nexit 1\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(probe_recording.shutil, "which", lambda name: str(program))
    monkeypatch.setattr(probe_recording, "_SETTLING_S", 0)
    with captured_by("tcpdump", ("10.0.0.1", 445)) as captured:
        assert captured is None


# ------------------------------------------------------------------------------------------------ a run


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Which programs were tried, and to where the script was run."""
    asked: list[Any] = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: [(0, 0, 0, "", ("10.0.0.9", 1))])

    class Noted:
        def __init__(self, lab: Any, options: Options, wait: object) -> None:
            asked.append((type(lab.connector).__name__, lab.connector._address))
            lab.failures.append("one")

        def run(self) -> None:
            asked.append("run")

    monkeypatch.setattr(probe_run, "Script", Noted)
    return asked


@pytest.mark.parametrize(
    ("program", "able", "tried", "by"),
    [
        ("auto", {"dumpcap", "tcpdump"}, ["dumpcap"], "dumpcap"),
        ("auto", {"tcpdump"}, ["dumpcap", "tcpdump"], "tcpdump"),
        ("auto", set(), ["dumpcap", "tcpdump"], "its own record"),
        ("dumpcap", {"dumpcap"}, ["dumpcap"], "dumpcap"),
        ("own", {"dumpcap"}, [], "its own record"),
        ("tcpdump", {"dumpcap"}, ["tcpdump"], None),
    ],
)
@pytest.mark.parametrize("is_pipe", [True, False])
def test_who_captures(
    program: Any,
    able: set[str],
    tried: list[str],
    by: str | None,
    is_pipe: bool,
    runs: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from Cryptodome.Hash import MD4

    names: list[str] = []

    @contextmanager
    def capturing(name: str, server: tuple[str, int]) -> Iterator[Captured | None]:
        assert server == ("10.0.0.9", 446)
        names.append(name)
        yield Captured(b"packets") if name in able else None

    monkeypatch.setattr(probe_run, "captured_by", capturing)
    target = Target("srv", 446, is_pipe)
    options = Options(other=OTHER)
    connector = "PipeConnector" if is_pipe else "TcpConnector"
    if by is None:
        with pytest.raises(InputError, match=r"^tcpdump is not installed, or may not capture") as refused:
            run_probe(target, CALLER, options, Pace(10.0, 7.5), program)
        assert (refused.value.hint, runs) == ("--capture-with own needs no rights", [])
        return
    done = run_probe(target, CALLER, options, Pace(10.0, 7.5), program)
    assert names == tried
    (kind, address), ran = runs
    assert (kind, ran) == (connector, "run")
    assert (address == ("10.0.0.9", 446)) is (by != "its own record")
    assert (done.captured_by, done.calls, done.number, done.failures) == (by, 0, 0, ("one",))
    assert done.causable == len(causable_by_client()) == 285
    assert (done.capture == b"packets") is (by != "its own record")
    document = json.loads(done.triggered)
    assert (document["format"], document["server"], document["calls"], document["failures"], document["triggered"]) == (
        1,
        f"srv, {'pipe winreg over SMB at' if is_pipe else 'TCP'} port 446",
        0,
        ["one"],
        {},
    )
    # [MS-NLMP] section 3.3.1: MD4 of the password in UTF-16.
    assert json.loads(done.keys)["users"] == [
        {"username": "user", "domain": "LAB", "nt_hash": "ab" * 16},
        {"username": "other", "domain": "LAB", "nt_hash": MD4.new("word".encode("utf-16-le")).hexdigest()},
    ]
    assert "nt_hash" not in repr(done)


def test_a_name_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*given: object, **named: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(InputError, match=r"^nowhere has no address: Name or service not known$"):
        Target("nowhere", 445, True).address()


def test_without_impacket_there_is_no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "impacket", None)
    with pytest.raises(InputError, match=r"^pcq probe needs impacket") as refused:
        require_impacket()
    assert refused.value.hint == "pip install 'pcq-analyzer[probe]'"
