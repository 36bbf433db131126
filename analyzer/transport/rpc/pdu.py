"""Splits one direction of a channel into DCERPC PDUs, and parses their fields (C706 chapter 12; [MS-RPCE] 2.2.2).

What was lost between PDUs is stated. A direction is in sequence (the next byte begins a PDU, or continues the one that is held), or
it seeks the next header:

    state         input                            output         next state
    in sequence   the bytes of whole PDUs          RawPdu each    in sequence; alike middle fragments are one RawPdu
    in sequence   a part of a PDU                  -              in sequence, the part is held
    in sequence   bytes that are no header         CutPdu         seeking
    in sequence   a gap                            CutPdu         seeking
    seeking       a gap                            CutPdu         seeking
    seeking       a plausible header               LostPdus       in sequence
    seeking       the end of the channel           LostPdus       -

Where a message of the transport begins (`fresh`) a header is believed more easily than in the middle of other bytes.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from analyzer.auth.token_handshake import is_first_token
from analyzer.core.byte_cursor import ByteOrder, Cursor
from analyzer.core.errors import DecodeError, MalformedError, TruncatedError
from analyzer.core.traced_bytes import EMPTY, TracedBuffer, TracedBytes
from analyzer.core.wire_numbers import WireNumbers
from analyzer.transport.channel.channels import ChannelBatch, ChannelGap, SmbInfo

# --------------------------------------------------------------------------------------------------------- pdu


HEADER_LEN = 16
SEC_TRAILER_LEN = 8
RESPONSE_LEN = 24
FAULT_LEN = 32

FIRST_FRAG = 0x01
LAST_FRAG = 0x02
SUPPORT_HEADER_SIGN = 0x04  # in bind and alter_context; the same bit means PENDING_CANCEL in a request
MAYBE = 0x40
OBJECT_UUID = 0x80
_NOT_PLAIN = FIRST_FRAG | LAST_FRAG | OBJECT_UUID


class Ptype(metaclass=WireNumbers):
    """PDU types of the connection-oriented protocol, C706 12.6.4 and [MS-RPCE] 2.2.2."""

    REQUEST = 0
    RESPONSE = 2
    FAULT = 3
    BIND = 11
    BIND_ACK = 12
    BIND_NAK = 13
    ALTER_CONTEXT = 14
    ALTER_CONTEXT_RESP = 15
    SHUTDOWN = 17
    AUTH3 = 16
    CO_CANCEL = 18
    ORPHANED = 19
    # RPC over HTTP connection control, [MS-RPCH] 2.2.3.5.
    RTS = 20


CLIENT_PTYPES = frozenset(
    {Ptype.REQUEST, Ptype.BIND, Ptype.ALTER_CONTEXT, Ptype.AUTH3, Ptype.CO_CANCEL, Ptype.ORPHANED}
)
_REQUEST, _RESPONSE = Ptype.REQUEST, Ptype.RESPONSE
_KNOWN_PTYPES = frozenset(Ptype)
_SHORTEST = {Ptype.REQUEST: 24, Ptype.RESPONSE: 24, Ptype.FAULT: 24, Ptype.BIND: 28, Ptype.BIND_ACK: 26}


class PduHeader(Struct, frozen=True, gc=False):
    """The 16-byte header of a DCERPC PDU. `order` is the byte order of its integers, as drep states it."""

    minor: int
    ptype: int
    flags: int
    drep: bytes
    order: ByteOrder
    frag_length: int
    auth_length: int
    call_id: int

    @property
    def first(self) -> bool:
        return bool(self.flags & FIRST_FRAG)

    @property
    def last(self) -> bool:
        return bool(self.flags & LAST_FRAG)


_LITTLE = struct.Struct("<BBBB4sHHI")
_BIG = struct.Struct(">BBBB4sHHI")
# auth_type, auth_level, auth_pad_length, one reserved byte, auth_context_id.
_LITTLE_SEC = struct.Struct("<BBBxI")
_BIG_SEC = struct.Struct(">BBBxI")
# alloc_hint, p_cont_id and, in a request, opnum.
_LITTLE_CALL = struct.Struct("<IHH")
_BIG_CALL = struct.Struct(">IHH")


def read_header(data: bytes, start: int = 0) -> PduHeader:
    """Reads the header of the DCERPC PDU at `start`. There must be 16 bytes."""
    # The first nibble of drep is the byte order of integers: 0 big, 1 little endian (C706 14.1).
    drep = data[start + 4]
    little = drep & 0xF0 == 0x10
    version, minor, ptype, flags, label, frag_length, auth_length, call_id = (_LITTLE if little else _BIG).unpack_from(
        data, start
    )
    if version != 5 or minor > 1:
        raise MalformedError(f"version {version}.{minor} is not 5.0 or 5.1", field="rpc_vers", start=0, stop=2)
    if drep & 0xF0 not in (0x00, 0x10):
        raise MalformedError(f"data representation {drep:#04x} has no byte order", field="drep", start=4, stop=8)
    if frag_length < HEADER_LEN:
        raise MalformedError(
            f"{frag_length} is below the {HEADER_LEN}-byte header", field="frag_length", start=8, stop=10
        )
    return PduHeader(minor, ptype, flags, label, "little" if little else "big", frag_length, auth_length, call_id)


def looks_like_header(data: bytes, start: int, *, strict: bool) -> bool:
    """Whether the bytes at `start` look like the header of a DCERPC PDU. There must be 16 bytes.

    In the middle of other bytes (`strict`) every redundancy of the header counts: random bytes pass once in about 10^13.
    """
    if data[start] != 5 or data[start + 1] > 1 or data[start + 2] not in _KNOWN_PTYPES:
        return False
    try:
        header = read_header(data, start)
    except MalformedError:
        return False
    if header.frag_length < _SHORTEST.get(header.ptype, HEADER_LEN):
        return False
    if header.auth_length and HEADER_LEN + SEC_TRAILER_LEN + header.auth_length > header.frag_length:
        return False
    if not strict:
        return True
    return header.drep[0] in (0x00, 0x10) and header.drep[1] <= 3 and header.drep[2:] == b"\0\0"


class SecTrailer(Struct, frozen=True, gc=False):
    """The sec_trailer of a PDU ([MS-RPCE] 2.2.2.11), and where it begins and its auth_value ends in the PDU."""

    auth_type: int
    level: int
    pad_length: int
    context_id: int
    start: int
    stop: int

    @property
    def value(self) -> slice:
        return slice(self.start + SEC_TRAILER_LEN, self.stop)


def find_sec_trailer(header: PduHeader, data: bytes, body_start: int, at: int = 0) -> SecTrailer | None:
    """Parses the security trailer of the whole PDU at `at`; returns None if the PDU has none. The trailer must lie behind
    `body_start`.

    All positions are those in the PDU. Raises `MalformedError`.
    """
    if not header.auth_length:
        return None
    start = header.frag_length - header.auth_length - SEC_TRAILER_LEN
    if start < body_start:
        raise MalformedError(
            f"{header.auth_length} bytes and their trailer do not fit behind byte {body_start} of {header.frag_length}",
            field="auth_length",
            start=10,
            stop=12,
        )
    sec = _LITTLE_SEC if header.order == "little" else _BIG_SEC
    auth_type, level, pad, context_id = sec.unpack_from(data, at + start)
    return SecTrailer(auth_type, level, pad, context_id, start, header.frag_length)


class Syntax(Struct, frozen=True):
    """An interface or transfer syntax in a DCERPC PDU: UUID as text, version as (major, minor)."""

    uuid: str
    version: tuple[int, int]


class Offer(Struct, frozen=True):
    """One presentation context element of a bind or alter_context PDU."""

    context_id: int
    abstract: Syntax
    transfer: tuple[Syntax, ...]


class Bind(Struct, frozen=True):
    """The body of a bind or alter_context PDU (C706 12.6.4.3)."""

    max_xmit_frag: int
    max_recv_frag: int
    assoc_group_id: int
    offers: tuple[Offer, ...]


class Result(Struct, frozen=True):
    """One answer of a DCERPC bind_ack PDU: result 0 accepted, 1 and 2 refused for `reason`, 3 bind-time features in `reason`."""

    result: int
    reason: int
    transfer: Syntax


class BindAck(Struct, frozen=True):
    """The body of a bind_ack or alter_context_resp PDU (C706 12.6.4.4)."""

    max_xmit_frag: int
    max_recv_frag: int
    assoc_group_id: int
    secondary_address: str
    results: tuple[Result, ...]


# What a count of 8 bits can state, and the bytes of a UUID with its version.
_MOST_OFFERS, _SYNTAX_LEN = 255, 20


def _read_syntax(cur: Cursor, field: str) -> Syntax:
    uuid = cur.guid(field)
    version = cur.u32(field + "_version")
    # The u32 holds the major version in its low half (C706 12.6.3.1, p_syntax_id_t).
    return Syntax(uuid, (version & 0xFFFF, version >> 16))


def parse_bind(header: PduHeader, data: bytes, stop: int, *, is_damaged: bool = False) -> Bind:
    """Parses the fields of a bind or alter_context PDU behind its header. `stop` is where its security trailer begins. If it
    `is_damaged`, the offers are those whose interface is whole."""
    cur = Cursor(data, HEADER_LEN, stop, order=header.order)
    max_xmit, max_recv = cur.u16("max_xmit_frag"), cur.u16("max_recv_frag")
    group = cur.u32("assoc_group_id")
    count = cur.u8("n_context_elem")
    cur.skip("reserved", 3)
    if not count and not is_damaged:
        raise MalformedError("a bind offers nothing", field="n_context_elem", start=24, stop=25)
    offers: list[Offer] = []
    while len(offers) < (count or _MOST_OFFERS):
        try:
            offers.append(_read_offer(cur, is_damaged=is_damaged))
        except TruncatedError:
            if not is_damaged:
                raise
            break
    return Bind(max_xmit, max_recv, group, tuple(offers))


def _read_offer(cur: Cursor, *, is_damaged: bool) -> Offer:
    context_id = cur.u16("p_cont_id")
    num_transfer = cur.u8("n_transfer_syn")
    cur.skip("reserved", 1)
    abstract = _read_syntax(cur, "abstract_syntax")
    if is_damaged:
        num_transfer = min(num_transfer, cur.left // _SYNTAX_LEN)
    transfer = tuple(_read_syntax(cur, "transfer_syntax") for _ in range(num_transfer))
    return Offer(context_id, abstract, transfer)


def parse_damaged_bind(header: PduHeader, data: bytes, trailer: SecTrailer | None) -> Bind | None:
    """Parses the fields of a bind or alter_context PDU that is cut, or in which one number is wrong. Returns None for other PDUs,
    and if no offer is whole."""
    if header.ptype not in (Ptype.BIND, Ptype.ALTER_CONTEXT):
        return None
    # If a token stands where its length says, it is the number of offers that is wrong.
    is_trailer = trailer is not None and is_first_token(data[trailer.value])
    try:
        bind = parse_bind(
            header, data, trailer.start if trailer is not None and is_trailer else len(data), is_damaged=True
        )
    except TruncatedError:
        return None
    return bind if bind.offers else None


def parse_bind_ack(header: PduHeader, data: bytes, stop: int) -> BindAck:
    """Parses the body of a bind_ack or alter_context_resp PDU. `stop` is where its security trailer begins."""
    cur = Cursor(data, HEADER_LEN, stop, order=header.order)
    max_xmit, max_recv = cur.u16("max_xmit_frag"), cur.u16("max_recv_frag")
    group = cur.u32("assoc_group_id")
    address = cur.take_bytes("sec_addr", cur.u16("sec_addr_length")).rstrip(b"\0").decode("latin-1")
    cur.align(4)
    count = cur.u8("n_results")
    cur.skip("reserved", 3)
    results = []
    for _ in range(count):
        result, reason = cur.u16("result"), cur.u16("reason")
        results.append(Result(result, reason, _read_syntax(cur, "transfer_syntax")))
    return BindAck(max_xmit, max_recv, group, address, tuple(results))


def parse_bind_nak(header: PduHeader, data: bytes) -> int:
    """Returns the reason in a bind_nak PDU why the bind was refused (C706 12.6.4.5)."""
    return Cursor(data, HEADER_LEN, order=header.order).u16("provider_reject_reason")


class CallHead(Struct, frozen=True, gc=False):
    """The fields between the header and the stub of a request, response or fault PDU.

    `stub` is where the stub begins. `opnum` and `object_uuid` are a request's, `status` a fault's.
    """

    alloc_hint: int
    context_id: int
    stub: int
    opnum: int | None = None
    object_uuid: str | None = None
    status: int | None = None


def parse_call_head(header: PduHeader, data: bytes, at: int = 0, stop: int | None = None) -> CallHead:
    """Parses the fields before the stub of a request, response or fault from `at` to `stop` (C706 12.6.4.7 to 12.6.4.10)."""
    length = (len(data) if stop is None else stop) - at
    if length < RESPONSE_LEN:
        raise TruncatedError(f"{length} bytes, {RESPONSE_LEN} wanted", field="alloc_hint", start=16, stop=length)
    call = _LITTLE_CALL if header.order == "little" else _BIG_CALL
    hint, context_id, opnum = call.unpack_from(data, at + HEADER_LEN)
    if header.ptype == _RESPONSE:
        return CallHead(hint, context_id, RESPONSE_LEN)
    if header.ptype == _REQUEST and not header.flags & OBJECT_UUID:
        return CallHead(hint, context_id, RESPONSE_LEN, opnum)
    cur = Cursor(data[at : at + length], RESPONSE_LEN, order=header.order)
    if header.ptype == _REQUEST:
        object_uuid = cur.guid("object")
        return CallHead(hint, context_id, cur.pos, opnum, object_uuid)
    status = cur.u32("status")
    # Four reserved bytes align the stub; some servers leave them out where no stub follows.
    return CallHead(hint, context_id, min(FAULT_LEN, length), status=status)


def head_of_damaged(header: PduHeader, data: bytes) -> CallHead | None:
    """Returns the head of a request, response or fault that violates its specification: the fields that identify its call stand
    before the damage. None for other PDUs, and where the fields are not whole."""
    if header.ptype not in (_REQUEST, _RESPONSE, Ptype.FAULT) or len(data) < RESPONSE_LEN:
        return None
    opnum = int.from_bytes(data[22:24], header.order) if header.ptype == _REQUEST else None
    return CallHead(0, int.from_bytes(data[20:22], header.order), len(data), opnum)


# ----------------------------------------------------------------------------------------------------------------- framing


# A loss may span thousands of frames; a report is served by the first of them.
_MAX_FRAMES = 64


class RawPdu(Struct, frozen=True):
    """One whole DCERPC PDU: bytes of `piece` from `start` on, as many as its header states.

    `alike` says where PDUs lie that follow it with an equal header: more fragments from the middle of the same request or response,
    without a security trailer.
    """

    header: PduHeader
    piece: TracedBytes
    start: int
    smb: SmbInfo | None
    alike: Sequence[tuple[TracedBytes, int]] = ()

    def each(self) -> Iterator[RawPdu]:
        """Yields this framed PDU and those alike, one by one."""
        for piece, start in ((self.piece, self.start), *self.alike):
            yield RawPdu(self.header, piece, start, self.smb)

    @property
    def data(self) -> TracedBytes:
        """The bytes of this framed PDU alone."""
        return pdu_bytes(self.piece, self.start, self.header.frag_length)


def pdu_bytes(piece: TracedBytes, at: int, length: int) -> TracedBytes:
    """Returns the bytes of a framed PDU alone: `length` bytes of a piece from `at` on."""
    return piece if length == len(piece) else piece[at : at + length]


def _may_have_alike(header: PduHeader) -> bool:
    """Whether other PDUs may be like this one of the middle of a request or response. It has nothing behind its stub, and before
    that only what every request and response has."""
    return not header.auth_length and header.ptype in (_REQUEST, _RESPONSE) and header.frag_length >= RESPONSE_LEN


class CutPdu(Struct, frozen=True):
    """The event that PDU framing loses its place: the beginning of a PDU whose rest is missing.

    `header` is None if not even the header is whole. `data` is empty if the bytes that follow are no PDU.
    """

    header: PduHeader | None
    data: TracedBytes
    smb: SmbInfo | None


class LostPdus(Struct, frozen=True):
    """The event that PDU framing finds a PDU again (or ends) after `length` bytes without one. `length` is None if unknown."""

    length: int | None
    frames: tuple[int, ...]
    reason: str
    captured: bool


class Framer:
    """Splits one direction of a channel into DCERPC PDUs."""

    def __init__(self) -> None:
        # The held beginning of a PDU.
        self.held = TracedBuffer()
        self._position = 0
        self._spans: deque[tuple[int, SmbInfo | None, bool]] = deque()
        self._seeking = False
        self._lost_length: int | None = 0
        self._lost_frames: set[int] = set()
        self._lost_reason = ""
        self._lost_captured = True

    @property
    def since_ns(self) -> int | None:
        """The time when the held PDU began, None if no PDU is held."""
        return None if self._seeking else self.held.since_ns

    def feed(self, batch: ChannelBatch | ChannelGap) -> list[RawPdu | CutPdu | LostPdus]:
        """Takes bytes of a channel in order; returns its whole PDUs. A gap cuts the held PDU, and the held part is returned."""
        out: list[RawPdu | CutPdu | LostPdus] = []
        if isinstance(batch, ChannelGap):
            out.append(self._gap(batch))
            return out
        # The header of the last PDU, if others may be alike, its length, and where they lie.
        head, size = b"", 0
        alike: list[tuple[TracedBytes, int]] = []
        for piece, start, stop in batch.spans:
            at = start
            while at < stop:
                if not self.held.length and not self._seeking:
                    # Whole PDUs stay where they lie.
                    data, begun = piece.data, at
                    while stop - at >= HEADER_LEN:
                        if head and at + size <= stop and data[at : at + HEADER_LEN] == head:
                            alike.append((piece, at))
                            at += size
                            continue
                        try:
                            header = read_header(data, at)
                        except DecodeError:
                            break
                        size = header.frag_length
                        if at + size > stop:
                            break
                        if not header.flags & _NOT_PLAIN and _may_have_alike(header):
                            head, alike = data[at : at + HEADER_LEN], []
                            out.append(RawPdu(header, piece, at, batch.smb, alike))
                        else:
                            head = b""
                            out.append(RawPdu(header, piece, at, batch.smb))
                        at += size
                    self._position += at - begun
                    if at == stop:
                        break
                    head = b""
                if batch.fresh and at == start and self.held.length and self._is_another(piece, at, stop):
                    out += self._cut_short()
                    continue
                # Only bytes that complete the held PDU are joined with it. Later bytes stay where they are.
                lacking = self._lacking()
                end = at + lacking if 0 < lacking < stop - at else stop
                self._hold(piece[at:end], batch.smb, batch.fresh and at == start)
                at = end
                self._take_held(out)
        return out

    def _is_another(self, piece: TracedBytes, at: int, stop: int) -> bool:
        """Whether a message of the pipe is a whole PDU of its own, and does not continue the held PDU. No PDU crosses the end of
        its message, whatever its header says ([MS-RPCE] section 2.1.1.2)."""
        if self._seeking or stop - at < HEADER_LEN:
            return False
        head = piece[at : at + HEADER_LEN].data
        return looks_like_header(head, 0, strict=True) and read_header(head).frag_length == stop - at

    def _cut_short(self) -> list[CutPdu | LostPdus]:
        """Gives up the held PDU, because another one begins before its end: no more of it will come."""
        header = read_header(self.held.peek(HEADER_LEN)) if len(self.held) >= HEADER_LEN else None
        promised = f", its header promises {header.frag_length}" if header is not None else ""
        self._lose(f"another PDU begins {len(self.held)} bytes into a PDU{promised}", captured=True)
        return [self._cut(), self._found()]

    def _lacking(self) -> int:
        """Returns how many bytes the held PDU lacks; 0 if no header is held."""
        if self._seeking or len(self.held) < HEADER_LEN:
            return 0
        # Bytes that are no header are not held.
        return read_header(self.held.peek(HEADER_LEN)).frag_length - len(self.held)

    def _hold(self, data: TracedBytes, smb: SmbInfo | None, fresh: bool) -> None:
        if fresh or not self._spans or self._spans[-1][1] != smb:
            self._spans.append((self._position + len(self.held), smb, fresh))
        self.held.append(data)

    def _take_held(self, out: list[RawPdu | CutPdu | LostPdus]) -> None:
        """Takes the whole PDUs out of the bytes that PDU framing holds."""
        while len(self.held) >= HEADER_LEN:
            if self._seeking:
                if not self._seek():
                    return
                out.append(self._found())
            try:
                header = read_header(self.held.peek(HEADER_LEN))
            except DecodeError as error:
                # These bytes are no PDU: everything up to the next plausible header is lost.
                self._lose(str(error), captured=True)
                out.append(CutPdu(None, EMPTY, None))
                continue
            if len(self.held) < header.frag_length:
                return
            smb = self._smb(header.frag_length)
            out.append(RawPdu(header, self._take(header.frag_length), 0, smb))

    def _gap(self, gap: ChannelGap) -> CutPdu:
        self._lose(gap.reason, captured=False)
        if gap.length is None:
            self._lost_length = None
        elif self._lost_length is not None:
            self._lost_length += gap.length
        self._note_frames(gap.frames)
        return self._cut() if self.held else CutPdu(None, EMPTY, None)

    def finish(self) -> list[CutPdu | LostPdus]:
        """Ends PDU framing of this direction; returns what was cut and lost."""
        out: list[CutPdu | LostPdus] = []
        if self.held:
            self._lose("the stream ends in the middle of a PDU", captured=False)
            out.append(self._cut())
        if self._seeking:
            out.append(self._found())
        return out

    def _cut(self) -> CutPdu:
        smb = self._smb(len(self.held))
        held = self.held.peek(HEADER_LEN)
        rest = self._take(len(self.held))
        self._count(rest)
        header = None
        if len(held) == HEADER_LEN and looks_like_header(held, 0, strict=True):
            header = read_header(held)
        return CutPdu(header, rest, smb)

    def _lose(self, reason: str, *, captured: bool) -> None:
        if not self._seeking:
            self._seeking = True
            self._lost_length = 0
            self._lost_frames.clear()
            self._lost_reason = reason
            self._lost_captured = captured
        elif self._lost_captured and not captured:
            self._lost_reason, self._lost_captured = reason, False

    def _found(self) -> LostPdus:
        self._seeking = False
        return LostPdus(self._lost_length, tuple(sorted(self._lost_frames)), self._lost_reason, self._lost_captured)

    def _note_frames(self, frames: tuple[int, ...]) -> None:
        self._lost_frames.update(frames[: max(_MAX_FRAMES - len(self._lost_frames), 0)])

    def _count(self, dropped: TracedBytes) -> None:
        if self._lost_length is not None:
            self._lost_length += len(dropped)
        self._note_frames(dropped.frames)

    def _take(self, length: int) -> TracedBytes:
        self._position += length
        return self.held.take_bytes(length)

    def _smb(self, length: int) -> SmbInfo | None:
        """Returns how SMB carried the first byte that PDU framing holds. If the signature of a message does not fit that
        carried one of the first `length` held bytes, that is stated."""
        while len(self._spans) > 1 and self._spans[1][0] <= self._position:
            self._spans.popleft()
        first = self._spans[0][1] if self._spans else None
        for at, smb, _ in self._spans:
            if at >= self._position + length:
                break
            if smb is not None and smb.signature_ok is False:
                return first and replace(first, signature_ok=False)
        return first

    def _seek(self) -> bool:
        """Drops bytes of the channel up to the next plausible PDU header. Returns False if none is in sight yet."""
        data = self.held.peek(len(self.held))
        fresh = {at - self._position for at, _, fresh in self._spans if fresh}
        last = len(data) - HEADER_LEN
        at = data.find(5)
        while 0 <= at <= last:
            if looks_like_header(data, at, strict=at not in fresh):
                break
            at = data.find(5, at + 1)
        skip = at if 0 <= at <= last else last + 1
        if skip:
            self._count(self._take(skip))
            self._smb(0)
        return 0 <= at <= last
