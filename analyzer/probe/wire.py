"""DCERPC as the probe speaks it: a stream of bytes to the server in, associations with calls out.

Own PDUs (C706 section 12.6, [MS-RPCE] section 2.2), so that any of them may be wrong on purpose; NTLM comes from impacket. Several
security contexts may live in one association ([MS-RPCE] section 3.3.1.5.2), which is how a call below a level gets at the handle
of one above it.
"""

from __future__ import annotations

from struct import pack, unpack_from
from typing import Any, Protocol
from uuid import UUID

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.core.discreet import Discreet
from analyzer.core.errors import InputError
from analyzer.results.security import AuthLevel

NDR, NDR64 = ("8a885d04-1ceb-11c9-9fe8-08002b104860", 2), ("71710533-beba-4937-8319-b5dbef9ccc36", 1)
FEATURES = ("6cb71c2c-9812-4540-0300-000000000000", 1)
_REQUEST, _RESPONSE, _FAULT, _BIND, _BIND_ACK, _BIND_NAK, _ALTER, _ALTER_RESP, _AUTH3 = 0, 2, 3, 11, 12, 13, 14, 15, 16
_FIRST, _LAST = 1, 2
_WINNT = 10
_SIGNATURE_LEN = 16
# What a bind offers to receive; stubs go out in pieces of no more than this.
_FRAGMENT, _PIECE = 4280, 4000
# No answer of a counter server is longer.
_MOST_ANSWER = 64 << 20


class Credentials(Discreet, frozen=True):
    """Who calls. Either a password or an NT hash in hexadecimal."""

    hidden = ("password", "nt_hash")

    username: str
    domain: str
    password: str = field(default="")
    nt_hash: str = field(default="")


class Stream(Protocol):
    """Bytes to and from the server: a TCP connection, or an open pipe."""

    def send(self, data: bytes) -> None: ...

    def receive(self) -> bytes:
        """What has come, empty at the end."""
        ...

    def close(self) -> None: ...


class Answer(Struct, frozen=True):
    """What came back of a call of `opnum` (-1: of a bind): the stub of a response, the status of a fault, or neither, and then why.

    A call on an association that has ended is not sent.
    """

    stub: bytes = b""
    fault: int | None = None
    lost: str | None = None
    opnum: int = -1
    ndr64: bool = False
    is_sent: bool = True

    @property
    def status(self) -> int | None:
        """The return value, which ends every response of PerflibV2 and winreg; None where there is none."""
        return (
            int.from_bytes(self.stub[-4:], "little") if self.lost is None and self.fault is None and self.stub else None
        )

    @property
    def is_answered(self) -> bool:
        return self.lost is None


class Context(Struct, frozen=True):
    """A presentation context to be offered: interface UUID, major and minor version, transfer syntax."""

    interface: tuple[str, int, int]
    transfer: tuple[str, int] = NDR


class LostError(Exception):
    """The server ended the connection, or answered what is no PDU."""


class _Ntlm:
    """One NTLM security context of a client."""

    def __init__(self, number: int, level: int, credentials: Credentials) -> None:
        from impacket import ntlm

        self.number, self.level = number, level
        self._ntlm: Any = ntlm
        self._credentials = credentials
        self._first = ntlm.getNTLMSSPType1("", "", signingRequired=True, use_ntlmv2=True)
        self._flags = self._sent = 0

    def token(self) -> bytes:
        return bytes(self._first.getData())

    def answer(self, challenge: bytes) -> bytes:
        """The last token; from then on messages are protected."""
        from Cryptodome.Cipher import ARC4

        ntlm, who = self._ntlm, self._credentials
        nt_hash = bytes.fromhex(who.nt_hash) if who.nt_hash else ""
        last, key = ntlm.getNTLMSSPType3(
            self._first, challenge, who.username, who.password, who.domain, "", nt_hash, use_ntlmv2=True
        )
        self._flags = last["flags"]
        self._sign = [ntlm.SIGNKEY(self._flags, key, mode) for mode in ("Client", "Server")]
        self._seal = [ARC4.new(ntlm.SEALKEY(self._flags, key, mode)).encrypt for mode in ("Client", "Server")]
        return bytes(last.getData())

    @property
    def protects(self) -> bool:
        return self.level >= AuthLevel.CALL

    def protect(self, head: bytes, body: bytes, trailer: bytes) -> tuple[bytes, bytes]:
        """The body as it goes out, and the signature."""
        wire = self._seal[0](body) if self.level == AuthLevel.PRIVACY else body
        made = self._ntlm.MAC(self._flags, self._seal[0], self._sign[0], self._sent, head + body + trailer)
        self._sent += 1
        return bytes(wire), bytes(made.getData())

    def unprotect(self, body: bytes, signature: bytes) -> bytes:
        """The body of an answer; its signature is for the analyzer to judge, the keystream runs on all the same."""
        plain = self._seal[1](body) if self.level == AuthLevel.PRIVACY else body
        if self._flags & self._ntlm.NTLMSSP_NEGOTIATE_KEY_EXCH:
            self._seal[1](signature[4:12])
        return bytes(plain)


class Association:
    """One association: a stream on which an interface is bound."""

    def __init__(self, stream: Stream, credentials: Credentials) -> None:
        self._stream, self._credentials = stream, credentials
        self._held = b""
        self._call_id = 0
        self._contexts = 0
        self._securities: dict[int, _Ntlm] = {}
        self._bound: dict[int, tuple[_Ntlm | None, bool]] = {}
        self._has_ended = False

    def bind(self, context: Context, level: int = AuthLevel.PRIVACY) -> int | None:
        """Offers a context, by bind or (once bound) alter_context. Its number, None where the server rejected it."""
        number = self._contexts
        security = _Ntlm(number + 1, level, self._credentials) if level > AuthLevel.NONE else None
        body = pack("<HHIBBH", _FRAGMENT, _FRAGMENT, 0, 1, 0, 0) + _offer(number, context)
        kind = _ALTER if self._contexts else _BIND
        self._call_id += 1
        self._stream.send(self._pdu(kind, body, security.token() if security is not None else b"", security))
        self._contexts += 1
        answer = self._receive()
        if answer[2] == _FAULT:
            return None
        if answer[2] not in (_BIND_ACK, _ALTER_RESP):
            raise LostError("the bind was refused" if answer[2] == _BIND_NAK else "the bind was not answered by an ack")
        auth_length = unpack_from("<H", answer, 10)[0]
        if security is not None:
            self._securities[security.number] = security
            token = security.answer(answer[len(answer) - auth_length :])
            self._stream.send(self._pdu(_AUTH3, bytes(4), token, security))
        # A secondary address comes before the results, and is aligned to 4.
        at = 26 + unpack_from("<H", answer, 24)[0]
        at += -at % 4
        if answer[at] != 1 or unpack_from("<H", answer, at + 4)[0] != 0:
            return None
        self._bound[number] = security, context.transfer == NDR64
        return number

    def is_ndr64(self, context: int) -> bool:
        return self._bound[context][1]

    def call(self, context: int, opnum: int, stub: bytes) -> Answer:
        """One call; an answer that does not come ends the association."""
        if self._has_ended:
            return Answer(lost="the association has ended", opnum=opnum, is_sent=False)
        security = self._bound[context][0]
        self._call_id += 1
        pieces = [stub[at : at + _PIECE] for at in range(0, len(stub), _PIECE)] or [b""]
        try:
            for place, piece in enumerate(pieces):
                flags = (_FIRST if place == 0 else 0) | (_LAST if place == len(pieces) - 1 else 0)
                head = pack("<IHH", len(stub), context, opnum)
                self._stream.send(self._request(flags, head, piece, security))
            return replace(self._answer(), opnum=opnum, ndr64=self.is_ndr64(context))
        except (LostError, OSError) as error:
            self._has_ended = True
            return Answer(lost=str(error) or type(error).__name__, opnum=opnum)

    def close(self) -> None:
        self._stream.close()

    def _request(self, flags: int, head: bytes, piece: bytes, security: _Ntlm | None) -> bytes:
        if security is None or not security.protects:
            return _pdu(_REQUEST, flags, self._call_id, head + piece)
        pad = -len(piece) % 16
        body = piece + bytes(pad)
        trailer = pack("<BBBBI", _WINNT, security.level, pad, 0, security.number)
        length = 16 + len(head) + len(body) + len(trailer) + _SIGNATURE_LEN
        start = _header(_REQUEST, flags, length, _SIGNATURE_LEN, self._call_id) + head
        wire, signature = security.protect(start, body, trailer)
        return start + wire + trailer + signature

    def _pdu(self, kind: int, body: bytes, token: bytes, security: _Ntlm | None) -> bytes:
        if security is None:
            return _pdu(kind, _FIRST | _LAST, self._call_id, body)
        pad = -len(body) % 4
        trailer = pack("<BBBBI", _WINNT, security.level, pad, 0, security.number)
        length = 16 + len(body) + pad + len(trailer) + len(token)
        return _header(kind, _FIRST | _LAST, length, len(token), self._call_id) + body + bytes(pad) + trailer + token

    def _answer(self) -> Answer:
        stub = bytearray()
        while len(stub) < _MOST_ANSWER:
            pdu = self._receive()
            kind, flags = pdu[2], pdu[3]
            auth_length = unpack_from("<H", pdu, 10)[0]
            # The header of a fault is 8 bytes longer and holds its status, which is never sealed (C706 section 12.6.4.7).
            start = 32 if kind == _FAULT else 24
            body = pdu[start:]
            if auth_length:
                at = len(pdu) - auth_length - 8
                security = self._securities.get(unpack_from("<I", pdu, at + 4)[0])
                body = pdu[start:at]
                if security is not None and security.protects:
                    body = security.unprotect(body, pdu[at + 8 :])
                body = body[: len(body) - pdu[at + 2]]
            if kind == _FAULT:
                return Answer(fault=int.from_bytes(pdu[24:28], "little"))
            if kind != _RESPONSE:
                raise LostError(f"a PDU of type {kind} came in place of an answer")
            stub += body
            if flags & _LAST:
                return Answer(bytes(stub))
        raise LostError("the answer is longer than any can be")

    def _receive(self) -> bytes:
        """The next PDU."""
        while len(self._held) < 16 or len(self._held) < unpack_from("<H", self._held, 8)[0]:
            more = self._stream.receive()
            if not more:
                raise LostError("the server ended the connection")
            self._held += more
        length = unpack_from("<H", self._held, 8)[0]
        if length < 16:
            raise LostError("the server sent what is no PDU")
        pdu, self._held = self._held[:length], self._held[length:]
        return pdu


def _offer(number: int, context: Context) -> bytes:
    uuid, major, minor = context.interface
    offered = pack("<HBB", number, 1, 0) + UUID(uuid).bytes_le + pack("<HH", major, minor)
    return offered + UUID(context.transfer[0]).bytes_le + pack("<I", context.transfer[1])


def _header(kind: int, flags: int, length: int, auth_length: int, call_id: int) -> bytes:
    return pack("<BBBB4sHHI", 5, 0, kind, flags, b"\x10\0\0\0", length, auth_length, call_id)


def _pdu(kind: int, flags: int, call_id: int, body: bytes) -> bytes:
    return _header(kind, flags, 16 + len(body), 0, call_id) + body


def handle_of(answer: Answer) -> bytes | None:
    """The context handle an answer begins with, where it succeeded."""
    return answer.stub[:20] if answer.status == 0 and len(answer.stub) >= 24 else None


def require_impacket() -> None:
    """Raises `InputError` where the extra is not installed."""
    try:
        import impacket  # noqa: F401
    except ImportError:
        raise InputError("pcq probe needs impacket", hint="pip install 'pcq-analyzer[probe]'") from None
