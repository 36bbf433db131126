"""The DCERPC client of the probe: a stream of bytes to the server in, associations with calls out.

It builds its own PDUs (C706 section 12.6, [MS-RPCE] section 2.2), so that any of them may be wrong on purpose; NTLM comes from
impacket. One association may have several security contexts ([MS-RPCE] section 3.3.1.5.2). So a call at a lower level can use the
handle of a call at a higher one.
"""

from __future__ import annotations

from struct import unpack_from
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.core import dcerpc_encoding as dcerpc
from analyzer.core.errors import InputError
from analyzer.core.printable_text import Discreet
from analyzer.results.security import AuthLevel

_SIGNATURE_LEN = 16
# Stubs go out in pieces of no more than this.
_PIECE = 4000
# No answer of a counter server is longer.
_MOST_ANSWER = 64 << 20


class Credentials(Discreet, frozen=True):
    """The account and password that the probe's DCERPC client logs on with. Either a password or an NT hash in hexadecimal."""

    hidden = ("password", "nt_hash")

    username: str
    domain: str
    password: str = field(default="")
    nt_hash: str = field(default="")


class ServerStream(Protocol):
    """A stream of bytes between the DCERPC client of the probe and the server: a TCP connection, or an open pipe."""

    def send(self, data: bytes) -> None: ...

    def receive(self) -> bytes:
        """Bytes that have come from the server to the probe's DCERPC client, empty at the end."""
        ...

    def close(self) -> None: ...


class Reply(Struct, frozen=True):
    """The server's reply to a DCERPC request of the probe with `opnum` (-1: to a bind). It has the stub of a response, the status
    of a fault, or a sentence that says why there is neither.

    A call on an ended association is not sent.
    """

    stub: bytes = b""
    fault: int | None = None
    lost: str | None = None
    opnum: int = -1
    ndr64: bool = False
    is_sent: bool = True

    @property
    def status(self) -> int | None:
        """Returns the return value in a reply that the DCERPC client received: it ends every response of PerflibV2 and winreg; None
        if there is none."""
        return (
            int.from_bytes(self.stub[-4:], "little") if self.lost is None and self.fault is None and self.stub else None
        )

    @property
    def is_answered(self) -> bool:
        return self.lost is None


class OfferedContext(Struct, frozen=True):
    """A presentation context that the probe's DCERPC client offers: interface UUID, major and minor version, transfer syntax."""

    interface: tuple[str, int, int]
    transfer: dcerpc.TransferSyntax = dcerpc.NDR


class LostError(Exception):
    """The error of a DCERPC client of the probe whose server ended the connection, or sent bytes that are no PDU."""


class _Ntlm:
    """One NTLM security context of the probe's DCERPC client."""

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
        """Returns the NTLM token that answers the server's challenge. From then on messages are protected."""
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
        """Protects with NTLM the body of a PDU that the DCERPC client sends; returns the body in its sent form, and the
        signature."""
        wire = self._seal[0](body) if self.level == AuthLevel.PRIVACY else body
        made = self._ntlm.MAC(self._flags, self._seal[0], self._sign[0], self._sent, head + body + trailer)
        self._sent += 1
        return bytes(wire), bytes(made.getData())

    def unprotect(self, body: bytes, signature: bytes) -> bytes:
        """Opens the body of a PDU that answers the probe. The analyzer judges the signature; here it only advances the
        keystream."""
        plain = self._seal[1](body) if self.level == AuthLevel.PRIVACY else body
        if self._flags & self._ntlm.NTLMSSP_NEGOTIATE_KEY_EXCH:
            self._seal[1](signature[4:12])
        return bytes(plain)


class BoundStream:
    """One DCERPC association of the probe: a stream with bound interfaces."""

    def __init__(self, stream: ServerStream, credentials: Credentials) -> None:
        self._stream, self._credentials = stream, credentials
        self._held = b""
        self._call_id = 0
        self._contexts = 0
        self._securities: dict[int, _Ntlm] = {}
        self._bound: dict[int, tuple[_Ntlm | None, bool]] = {}
        self._has_ended = False

    def bind(self, context: OfferedContext, level: int = AuthLevel.PRIVACY) -> int | None:
        """Offers a presentation context of the DCERPC client to the server, by bind or (once bound) alter_context. Its number, None
        where the server rejected it."""
        number = self._contexts
        security = _Ntlm(number + 1, level, self._credentials) if level > AuthLevel.NONE else None
        interface = dcerpc.syntax(*context.interface)
        body = dcerpc.bind_body([dcerpc.context(number, interface, [context.transfer])])
        kind = dcerpc.ALTER if self._contexts else dcerpc.BIND
        self._call_id += 1
        self._stream.send(self._pdu(kind, body, security.token() if security is not None else b"", security))
        self._contexts += 1
        answer = self._receive()
        if answer[2] == dcerpc.FAULT:
            return None
        if answer[2] not in (dcerpc.BIND_ACK, dcerpc.ALTER_RESP):
            raise LostError(
                "the bind was refused" if answer[2] == dcerpc.BIND_NAK else "the bind was not answered by an ack"
            )
        auth_length = unpack_from("<H", answer, 10)[0]
        if security is not None:
            self._securities[security.number] = security
            token = security.answer(answer[len(answer) - auth_length :])
            self._stream.send(self._pdu(dcerpc.AUTH3, bytes(4), token, security))
        # A secondary address comes before the results, and is aligned to 4.
        at = 26 + unpack_from("<H", answer, 24)[0]
        at += -at % 4
        if answer[at] != 1 or unpack_from("<H", answer, at + 4)[0] != 0:
            return None
        self._bound[number] = security, context.transfer == dcerpc.NDR64
        return number

    def is_ndr64(self, context: int) -> bool:
        return self._bound[context][1]

    def call(self, context: int, opnum: int, stub: bytes) -> Reply:
        """Sends one call of the probe as DCERPC to the server and waits for its answer. Without an answer, the association ends."""
        if self._has_ended:
            return Reply(lost="the association has ended", opnum=opnum, is_sent=False)
        security = self._bound[context][0]
        self._call_id += 1
        head = dcerpc.call_head(len(stub), context, opnum)
        try:
            for flags, piece in dcerpc.fragments(stub, _PIECE):
                self._stream.send(self._request(flags, head, piece, security))
            return replace(self._answer(), opnum=opnum, ndr64=self.is_ndr64(context))
        except (LostError, OSError) as error:
            self._has_ended = True
            return Reply(lost=str(error) or type(error).__name__, opnum=opnum)

    def close(self) -> None:
        self._stream.close()

    def _request(self, flags: int, head: bytes, piece: bytes, security: _Ntlm | None) -> bytes:
        if security is None or not security.protects:
            return dcerpc.pdu(dcerpc.REQUEST, head + piece, flags=flags, call_id=self._call_id)
        pad = -len(piece) % 16
        verifier = dcerpc.Verifier(bytes(_SIGNATURE_LEN), security.level, context_id=security.number)
        whole = dcerpc.pdu(
            dcerpc.REQUEST,
            head + piece + bytes(pad),
            flags=flags,
            call_id=self._call_id,
            verifier=verifier,
            pad=pad,
        )
        start, stop = dcerpc.HEADER_LEN + len(head), -_SIGNATURE_LEN - dcerpc.SEC_TRAILER_LEN
        trailer = whole[stop:-_SIGNATURE_LEN]
        wire, signature = security.protect(whole[:start], whole[start:stop], trailer)
        return whole[:start] + wire + trailer + signature

    def _pdu(self, kind: int, body: bytes, token: bytes, security: _Ntlm | None) -> bytes:
        if security is None:
            return dcerpc.pdu(kind, body, call_id=self._call_id)
        pad = -len(body) % 4
        verifier = dcerpc.Verifier(token, security.level, context_id=security.number)
        return dcerpc.pdu(kind, body + bytes(pad), call_id=self._call_id, verifier=verifier, pad=pad)

    def _answer(self) -> Reply:
        stub = bytearray()
        while len(stub) < _MOST_ANSWER:
            pdu = self._receive()
            kind, flags = pdu[2], pdu[3]
            auth_length = unpack_from("<H", pdu, 10)[0]
            # The header of a fault is 8 bytes longer and holds its status, which is never sealed (C706 section 12.6.4.7).
            start = 32 if kind == dcerpc.FAULT else 24
            body = pdu[start:]
            if auth_length:
                at = len(pdu) - auth_length - 8
                security = self._securities.get(unpack_from("<I", pdu, at + 4)[0])
                body = pdu[start:at]
                if security is not None and security.protects:
                    body = security.unprotect(body, pdu[at + 8 :])
                body = body[: len(body) - pdu[at + 2]]
            if kind == dcerpc.FAULT:
                return Reply(fault=int.from_bytes(pdu[24:28], "little"))
            if kind != dcerpc.RESPONSE:
                raise LostError(f"a PDU of type {kind} came in place of an answer")
            stub += body
            if flags & dcerpc.LAST:
                return Reply(bytes(stub))
        raise LostError("the answer is longer than any can be")

    def _receive(self) -> bytes:
        """Receives the server's next PDU for the probe."""
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


def handle_of(answer: Reply) -> bytes | None:
    """Returns the context handle at the beginning of a reply that the DCERPC client received, None if the call failed."""
    return answer.stub[:20] if answer.status == 0 and len(answer.stub) >= 24 else None


def require_impacket() -> None:
    """Raises `InputError` if impacket, which the probe's DCERPC client needs, is not installed."""
    try:
        import impacket  # noqa: F401
    except ImportError:
        raise InputError("pcq probe needs impacket", hint="pip install 'pcq-analyzer[probe]'") from None
