"""Connects the probe to the one server that the user named: by the winreg pipe over SMB 2 and 3 (impacket), or by TCP."""

from __future__ import annotations

import socket
from typing import Any

from analyzer.probe.dcerpc_client import BoundStream, Credentials, LostError
from analyzer.probe.probe_calls import Impersonation

_NO_ANSWER = "no answer within --timeout"
_READ = 4280
# [MS-SMB2] section 2.2.13.
_IMPERSONATION: dict[Impersonation, int] = {"identification": 1, "impersonation": 2}
_ACCESS, _SHARE, _OPEN, _NON_DIRECTORY, _NORMAL = 0x0012019F, 3, 1, 0x40, 0x80


class PipeStream:
    """An open SMB pipe of the probe."""

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
    """Opens SMB pipes of the probed server. Sessions are kept by caller, so that an association costs one open of the pipe."""

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
    """A TCP connection of the probe to its server."""

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
    """Connects the probe to an endpoint of ncacn_ip_tcp; nothing there says what a server may do in the caller's name."""

    def __init__(self, address: tuple[str, int], timeout_s: float) -> None:
        self._address, self._timeout_s = address, timeout_s

    def open(self, credentials: Credentials, pipe: str, impersonation: Impersonation) -> BoundStream:
        return BoundStream(TcpStream(self._address, self._timeout_s), credentials)

    def close(self) -> None:
        """Closes nothing: the probe's connections over TCP share nothing."""


class _lost:  # noqa: N801  # a context manager, used like a function
    """Turns impacket's errors on the probe's connection into `LostError`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, LostError):
            from impacket.nmb import NetBIOSTimeout

            is_late = isinstance(error, NetBIOSTimeout | TimeoutError)
            raise LostError(_NO_ANSWER if is_late else str(error) or type(error).__name__) from None
