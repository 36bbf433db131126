"""Builds DCERPC traffic for tests: PDUs byte by byte, and conversations of channel events with a frame for each message.

`Toy*` is a security provider of the tests' own, behind the protocols of `auth`: a keystream and a message count per
sender and a checksum over everything, so that order, loss, padding and header signing matter as they do with NTLM.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from analyzer.auth.security_types import SearchBudget, Sender, Unprotected
from analyzer.core import dcerpc_encoding as dcerpc
from analyzer.core.dcerpc_encoding import (  # noqa: F401 - tests have what PDUs are made of from here
    ALTER,
    ALTER_RESP,
    AUTH3,
    BIND,
    BIND_ACK,
    BIND_NAK,
    FAULT,
    FEATURES,
    FIRST,
    LAST,
    NDR,
    NDR64,
    REQUEST,
    RESPONSE,
    WHOLE,
    bind_body,
    call_head,
    fragments,
    syntax,
    uuid_bytes,
)
from analyzer.core.dcerpc_encoding import Verifier as Auth
from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.connection import Channel
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import AuthLevel, Decryption, Identity
from analyzer.transport.channel.channels import ChannelBatch, ChannelClosed, ChannelGap, SmbInfo
from tests.build.auth import KerberosConversation, NtlmConversation

PCQ = "da5a86c5-12c2-4943-ab30-7f74a813d853"
WINREG = "338cd001-2244-31f1-aaaa-900038001003"
HEADER_SIGN, MAYBE, OBJECT = 0x04, 0x40, 0x80
SHUTDOWN, CANCEL, ORPHANED = 17, 18, 19

CHANNEL = Channel(0, "ncacn_np", Endpoint("10.0.0.2", 49152), Endpoint("10.0.0.1", 445), "winreg", 0, None)
SMB = SmbInfo("3.1.1", 0x1D, encrypted=False, signed=False, compressed=False)


def pdu(
    ptype: int,
    body: bytes = b"",
    *,
    flags: int = WHOLE,
    call_id: int = 1,
    big: bool = False,
    minor: int = 0,
    auth: Auth | None = None,
    pad: int = 0,
    frag_length: int | None = None,
) -> bytes:
    """One PDU, also of another version, or of another length than it has."""
    whole = bytearray(dcerpc.pdu(ptype, body, flags=flags, call_id=call_id, verifier=auth, pad=pad, big=big))
    whole[1] = minor
    if frag_length is not None:
        struct.pack_into(">H" if big else "<H", whole, 8, frag_length)
    return bytes(whole)


def context(
    context_id: int, uuid: str, transfers: Sequence[tuple[str, int]] = (NDR,), *, version: int = 1, big: bool = False
) -> bytes:
    """One presentation context element."""
    return dcerpc.context(context_id, syntax(uuid, version, big=big), transfers, big=big)


def bind(
    contexts: Sequence[bytes] = (),
    *,
    ptype: int = BIND,
    flags: int = WHOLE,
    call_id: int = 1,
    auth: Auth | None = None,
    group: int = 0,
    big: bool = False,
) -> bytes:
    """A bind or alter_context."""
    body = bind_body(contexts or (context(0, PCQ, big=big),), group=group, big=big)
    return pdu(ptype, body, flags=flags, call_id=call_id, auth=auth, big=big)


def bind_ack(
    results: Sequence[tuple[int, int, tuple[str, int]]] = ((0, 0, NDR),),
    *,
    ptype: int = BIND_ACK,
    flags: int = WHOLE,
    call_id: int = 1,
    auth: Auth | None = None,
    group: int = 0x53,
    address: bytes = b"\\PIPE\\winreg\0",
    big: bool = False,
) -> bytes:
    """A bind_ack or alter_context_resp: (result, reason, transfer syntax) per offer."""
    body = dcerpc.bind_ack_body(results, address, group=group, big=big)
    return pdu(ptype, body, flags=flags, call_id=call_id, auth=auth, big=big)


def bind_nak(reason: int, *, call_id: int = 1) -> bytes:
    return pdu(BIND_NAK, struct.pack("<HBBB", reason, 1, 5, 0), call_id=call_id)


def request(
    opnum: int,
    stub: bytes,
    *,
    call_id: int = 1,
    context_id: int = 0,
    flags: int = WHOLE,
    hint: int | None = None,
    object_uuid: str | None = None,
    big: bool = False,
    sealer: Sealer | None = None,
) -> bytes:
    """One request fragment, sealed where a sealer is given."""
    head = call_head(len(stub) if hint is None else hint, context_id, opnum, big=big)
    head += uuid_bytes(object_uuid, big=big) if object_uuid is not None else b""
    flags |= OBJECT if object_uuid is not None else 0
    return _call(REQUEST, head, stub, call_id, flags, big, sealer)


def response(
    stub: bytes,
    *,
    call_id: int = 1,
    context_id: int = 0,
    flags: int = WHOLE,
    hint: int | None = None,
    big: bool = False,
    sealer: Sealer | None = None,
) -> bytes:
    """One response fragment."""
    head = call_head(len(stub) if hint is None else hint, context_id, 0, big=big)
    return _call(RESPONSE, head, stub, call_id, flags, big, sealer)


def fault(
    status: int, *, call_id: int = 1, context_id: int = 0, big: bool = False, sealer: Sealer | None = None
) -> bytes:
    head = call_head(32, context_id, 0, big=big) + struct.pack(">II" if big else "<II", status, 0)
    return _call(FAULT, head, b"", call_id, WHOLE, big, sealer)


def _call(ptype: int, head: bytes, stub: bytes, call_id: int, flags: int, big: bool, sealer: Sealer | None) -> bytes:
    if sealer is None:
        return pdu(ptype, head + stub, flags=flags, call_id=call_id, big=big)
    pad = -len(stub) % sealer.align
    blank = Auth(bytes(sealer.tag_len), sealer.level, sealer.auth_type, sealer.context_id)
    whole = pdu(ptype, head + stub + b"\xbb" * pad, flags=flags, call_id=call_id, big=big, auth=blank, pad=pad)
    return sealer.protect(whole, slice(16 + len(head), 16 + len(head) + len(stub) + pad))


VT_SIGNATURE = bytes.fromhex("8ae3137102f43671")
VT_END, VT_MUST = 0x4000, 0x8000


def verification_trailer(*commands: tuple[int, bytes]) -> bytes:
    """[MS-RPCE] 2.2.2.13; the last command gets the END bit."""
    out = VT_SIGNATURE
    for n, (command, value) in enumerate(commands):
        end = VT_END if n == len(commands) - 1 else 0
        out += struct.pack("<HH", command | end, len(value)) + value
    return out


def vt_bitmask(bits: int = 1) -> tuple[int, bytes]:
    return 1, struct.pack("<I", bits)


def vt_pcontext(uuid: str = PCQ, transfer: tuple[str, int] = NDR) -> tuple[int, bytes]:
    return 2, syntax(uuid, 1) + syntax(*transfer)


def vt_header2(opnum: int, *, call_id: int = 1, context_id: int = 0, ptype: int = REQUEST) -> tuple[int, bytes]:
    return 3, struct.pack("<BBH4sIHH", ptype, 0, 0, b"\x10\0\0\0", call_id, context_id, opnum)


class Sealer(Protocol):
    """One sender's end of an established security context."""

    align: int
    level: int
    auth_type: int
    context_id: int
    tag_len: int

    def protect(self, whole: bytes, body: slice) -> bytes:
        """The PDU with its body sealed (at PRIVACY) and its last `tag_len` bytes replaced by the auth_value."""


class RealSealer:
    """One end of a conversation of `tests.build.auth`."""

    def __init__(
        self,
        conversation: NtlmConversation | KerberosConversation,
        sender: Sender,
        *,
        level: int = AuthLevel.PRIVACY,
        auth_type: int = 10,
        context_id: int = 0,
        align: int = 16,
        header_signed: bool = True,
    ) -> None:
        self._conversation, self._sender, self._header_signed = conversation, sender, header_signed
        self.level, self.auth_type, self.context_id, self.align = level, auth_type, context_id, align
        self.tag_len = conversation.signature_len(level)

    def protect(self, whole: bytes, body: slice) -> bytes:
        """See `Sealer.protect`."""
        trailer = whole[body.stop : -self.tag_len]
        wire, value = self._conversation.protect(
            self._sender, self.level, whole[: body.start], whole[body], trailer, header_signed=self._header_signed
        )
        return whole[: body.start] + wire + trailer + value


# The toy security provider

TAG_LEN = 20
TOY_FIRST = b"NTLMSSP\0\x01\0\0\0"
TOY_ANSWER = b"NTLMSSP\0\x02\0\0\0"
TOY_LAST = b"NTLMSSP\0\x03\0\0\0"


class _ToyStream:
    """A keystream and a count for one sender."""

    def __init__(self, key: bytes, sender: Sender) -> None:
        self._key = key + sender.encode()
        self.position = 0
        self.count = 0

    def take(self, length: int) -> bytes:
        first, last = self.position // 32, (self.position + length) // 32
        blocks = b"".join(hashlib.sha256(self._key + n.to_bytes(8, "big")).digest() for n in range(first, last + 1))
        return blocks[self.position - first * 32 :][:length]

    def tag(self, covered: bytes) -> bytes:
        return self.count.to_bytes(4, "little") + hmac.digest(self._key, self.count.to_bytes(4, "big") + covered, "md5")


def _mix(data: bytes, stream: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(data, stream, strict=True))


class ToySealer:
    """One sender's end of an established toy context."""

    def __init__(
        self,
        key: bytes,
        sender: Sender,
        *,
        level: int = AuthLevel.PRIVACY,
        auth_type: int = 10,
        context_id: int = 0,
        align: int = 16,
    ) -> None:
        self.tag_len = TAG_LEN
        self._stream = _ToyStream(key, sender)
        self.level, self.auth_type, self.context_id, self.align = level, auth_type, context_id, align

    def protect(self, whole: bytes, body: slice) -> bytes:
        """See `Sealer.protect`."""
        sealed = whole[body]
        tag = self._stream.tag(whole[:-TAG_LEN])
        if self.level == AuthLevel.PRIVACY:
            sealed = _mix(sealed, self._stream.take(len(sealed)))
            self._stream.position += len(sealed)
        self._stream.count += 1
        return whole[: body.start] + sealed + whole[body.stop : -TAG_LEN] + tag


class ToyContext:
    """The analyzer's side: opens what comes in order, finds out when something is missing, never guesses."""

    def __init__(self, key: bytes) -> None:
        self._streams = {"initiator": _ToyStream(key, "initiator"), "acceptor": _ToyStream(key, "acceptor")}
        self.lost_calls: list[tuple[Sender, int | None]] = []

    def open(self, sender: Sender, level: int, whole: bytes, body: slice, verifier: slice) -> Unprotected:
        stream = self._streams[sender]
        wire = whole[body]
        sealed = level >= AuthLevel.PRIVACY
        if level < AuthLevel.PKT:
            return Unprotected(wire, None, Decryption.NOT_SEALED)
        tag = whole[verifier]
        plain = _mix(wire, stream.take(len(wire))) if sealed else wire
        if stream.tag(whole[: body.start] + plain + whole[body.stop : verifier.start]) == tag:
            stream.count += 1
            stream.position += len(wire) if sealed else 0
            return Unprotected(plain, True, Decryption.DECRYPTED if sealed else Decryption.NOT_SEALED, None, True)
        missing = int.from_bytes(tag[:4], "little") != stream.count
        decryption = Decryption.BYTES_MISSING if missing else Decryption.WRONG_KEY
        return Unprotected(
            None if sealed else wire, False, decryption if sealed else Decryption.NOT_SEALED, "toy says no", None
        )

    def lost(self, sender: Sender, length: int | None) -> None:
        self.lost_calls.append((sender, length))


class ToyHandshake:
    """Knows the key when it has heard all three tokens: the key is what follows the first token's magic."""

    def __init__(self, keys: ToyKeys) -> None:
        self._keys = keys
        self._tokens: dict[int, bytes] = {}
        self.missed_senders: list[Sender] = []
        self.contexts: list[ToyContext] = []

    def feed(self, sender: Sender, token: bytes) -> None:
        if len(token) > 8:
            self._tokens[token[8]] = token

    def missed(self, sender: Sender) -> None:
        self.missed_senders.append(sender)

    @property
    def identity(self) -> Identity:
        return Identity(mechanism="ntlm", user="perfmon" if 3 in self._tokens else None, domain="LAB")

    @property
    def decryption(self) -> Decryption:
        if not {1, 2, 3} <= set(self._tokens):
            return Decryption.NO_HANDSHAKE
        key = self._tokens[1][12:]
        return Decryption.DECRYPTED if key in self._keys.known else Decryption.NO_KEY

    @property
    def reason(self) -> str | None:
        return None if self.decryption is Decryption.DECRYPTED else f"toy: {self.decryption.name}"

    @property
    def session_key(self) -> bytes | None:
        return None

    @property
    def decrypted_by(self) -> str | None:
        return "a toy key" if self.decryption is Decryption.DECRYPTED else None

    @property
    def is_anonymous(self) -> bool:
        return False

    @property
    def proves_key(self) -> bool:
        return self._keys.proves_key

    def context(self, search: SearchBudget | None = None) -> ToyContext:
        made = (
            ToyContext(self._tokens[1][12:])
            if self.decryption is Decryption.DECRYPTED
            else KeylessToyContext(self.decryption, self.reason)
        )
        self.contexts.append(made)
        return made


class KeylessToyContext(ToyContext):
    def __init__(self, decryption: Decryption, reason: str | None) -> None:
        super().__init__(b"")
        self._verdict = decryption, reason

    def open(self, sender: Sender, level: int, whole: bytes, body: slice, verifier: slice) -> Unprotected:
        if level >= AuthLevel.PRIVACY:
            return Unprotected(None, None, *self._verdict)
        return Unprotected(whole[body], None, Decryption.NOT_SEALED)


@dataclass
class ToyKeys:
    """Stands for the keyring; remembers the handshakes it began."""

    known: set[bytes] = field(default_factory=lambda: {b"key"})
    proves_key: bool = True
    begun: list[ToyHandshake] = field(default_factory=list)

    def begin(self, keyring: object, auth_type: int | None = None) -> ToyHandshake:
        made = ToyHandshake(self)
        self.begun.append(made)
        return made


class Conversation:
    """Channel events in the making: every message gets the next frame, one millisecond later."""

    def __init__(self, channel: Channel = CHANNEL, smb: SmbInfo | None = SMB) -> None:
        self.channel, self.smb = channel, smb
        self.events: list[Event] = []
        self.frame = 0

    def send(self, from_client: bool, data: bytes, *, fresh: bool = True) -> Conversation:
        self.frame += 1
        traced = TracedBytes.of_frame(data, self.frame, 100, self.frame * 1_000_000)
        self.events.append(ChannelBatch.of_span(self.channel, from_client, traced, self.smb, fresh=fresh))
        return self

    def client(self, *pdus: bytes) -> Conversation:
        for one in pdus:
            self.send(True, one)
        return self

    def server(self, *pdus: bytes) -> Conversation:
        for one in pdus:
            self.send(False, one)
        return self

    def gap(self, from_client: bool, length: int | None) -> Conversation:
        self.frame += 1
        around = (self.frame - 1, self.frame + 1)
        self.events.append(ChannelGap(self.channel, from_client, length, around, "a segment was not captured"))
        return self

    def closed(self) -> Conversation:
        self.events.append(ChannelClosed(self.channel))
        return self

    def bound(self, uuid: str = PCQ) -> Conversation:
        """A bind without authentication, answered."""
        return self.client(bind((context(0, uuid),))).server(bind_ack())

    def authenticated(
        self,
        conversation: NtlmConversation | KerberosConversation,
        *,
        level: int = AuthLevel.PRIVACY,
        auth_type: int = 10,
        header_signed: bool = True,
    ) -> tuple[RealSealer, RealSealer]:
        """A bind with the legs of a real mechanism; gives both ends' sealers."""
        for n, (sender, token) in enumerate(conversation.legs):
            auth = Auth(token, level, auth_type)
            if sender == "acceptor":
                self.server(bind_ack(ptype=BIND_ACK if n == 1 else ALTER_RESP, call_id=1 + n // 2, auth=auth))
            elif n == 0:
                self.client(bind(auth=auth, flags=WHOLE | (HEADER_SIGN if header_signed else 0)))
            elif n + 1 == len(conversation.legs):
                self.client(pdu(AUTH3, bytes(4), auth=auth))
            else:
                self.client(bind(ptype=ALTER, call_id=1 + n // 2, auth=auth))
        return (
            RealSealer(conversation, "initiator", level=level, auth_type=auth_type, header_signed=header_signed),
            RealSealer(conversation, "acceptor", level=level, auth_type=auth_type, header_signed=header_signed),
        )

    def sealed(self, key: bytes = b"key", *, level: int = AuthLevel.PRIVACY) -> tuple[ToySealer, ToySealer]:
        """A bind with the toy's three legs; gives both ends' sealers."""
        self.client(bind(auth=Auth(TOY_FIRST + key, level)))
        self.server(bind_ack(auth=Auth(TOY_ANSWER, level)))
        self.client(pdu(AUTH3, bytes(4), auth=Auth(TOY_LAST, level)))
        return ToySealer(key, "initiator", level=level), ToySealer(key, "acceptor", level=level)


def cut(events: Iterable[Event], at: Sequence[int]) -> list[Event]:
    """The same bytes in more pieces: every data event is cut at the given places, which only its first piece begins fresh."""
    out: list[Event] = []
    for event in events:
        if not isinstance(event, ChannelBatch):
            out.append(event)
            continue
        places = sorted({place % len(event.data) for place in at if len(event.data)} - {0})
        starts, stops = [0, *places], [*places, len(event.data)]
        for start, stop in zip(starts, stops, strict=True):
            fresh = event.fresh and start == 0
            out.append(
                ChannelBatch.of_span(event.channel, event.from_client, event.data[start:stop], event.smb, fresh=fresh)
            )
    return out
