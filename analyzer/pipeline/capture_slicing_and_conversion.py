"""Cuts a slice out of a capture, the packets from which some calls can be read again; or converts a whole capture to pcapng.

A slice has the packets that carried the calls, and the whole SMB messages around these, with their requests and responses. It also
has what is needed to read and decrypt them: SYN, FIN and RST of their TCP connections; the negotiation, logons, trees and opens of
SMB; bind, alter_context and auth3 of DCERPC. For Kerberos, it has the exchange with the KDC that issued the ticket. The slice is
then read with the same keys, and its calls are compared. If calls of a connection differ, the slice takes the whole connection. For
example, the keystream of NTLM's RC4 runs through all messages of a connection ([MS-NLMP] section 3.4.3), and is not always found
again behind a gap.

In a converted capture each frame has the number that this program gives it. Wireshark numbers the packets in the file. A number
whose frame cannot be read gets an empty packet, so that the other frames keep theirs. So does each further appearance of a packet
in an event trace log, which this program reads once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

import numpy as np
from msgspec import Struct, field

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import BLOCK_BYTES, CaptureReader, Source
from analyzer.capture.decompression import ByteStream, Peeked, open_stream
from analyzer.capture.etl import EtlFile, TracedBlock
from analyzer.capture.first_bytes import HEAD_LEN, is_etl
from analyzer.capture.frame_blocks import Frame, FrameBlock, LinkType
from analyzer.capture.pcapng import SECRETS_OF_OURS
from analyzer.core.absence import Missing
from analyzer.core.byte_log import Log
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import file_of, number_of
from analyzer.core.limits import Limits
from analyzer.core.printable_text import text_of_path
from analyzer.core.tcpip_encoding import FIN, RST, SYN
from analyzer.pipeline.packet_rereading import CHANGED, broke_off, follow_messages
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, Side
from analyzer.results.connection import Logon
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.formats.pcapng_writer import PcapngWriter
from analyzer.transport.packet.segment import SegmentBatch
from analyzer.transport.rpc.pdu import Ptype
from analyzer.transport.smb import smb1_reader, smb2_header
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.tcp.stream_events import Connection, Direction

# -------------------------------------------------------------------------------------------------------------- conversion


# A link type that Wireshark shows as bytes.
_UNREAD = LinkType.USER0


class Converted:
    """The outcome of converting a whole capture, not a slice, to pcapng: the counts of frames and of empty packets, and the
    problems of the file."""

    def __init__(self) -> None:
        self.frames = 0
        self.empty = 0
        self.problems: list[Problem] = []


def convert(path: Path, out: BinaryIO, limits: Limits) -> Converted:
    """Writes all frames of a capture, not a slice, as pcapng. Raises `InputError` if the file is no capture."""
    name = text_of_path(path)
    writer = PcapngWriter(out, application=f"pcq-analyzer {version('pcq-analyzer')}", comment=f"all frames of {name}")
    done = _Writing(writer, name)
    stream, _ = open_stream(path, name, limits)
    try:
        head = stream.read(HEAD_LEN)
        if is_etl(head):
            done.take_trace(_trace(head, stream, limits))
            return done.converted
    finally:
        stream.close()
    done.write_frames(CaptureReader([path], limits=limits))
    return done.converted


def _trace(head: bytes, stream: ByteStream, limits: Limits) -> EtlFile:
    return EtlFile(Peeked(head, stream), 0, {}, block_bytes=BLOCK_BYTES, limits=limits, appearances=True)


class _Writing:
    """A pcapng file that is being written, and the interfaces that it has so far."""

    def __init__(self, writer: PcapngWriter, name: str) -> None:
        self._writer = writer
        self._name = name
        self._interfaces: dict[tuple[int, int], int] = {}
        self.converted = Converted()

    def write_frames(self, items: Iterable[FrameBlock | Problem]) -> None:
        """Writes the frames of a capture that is converted, by their link types."""
        for item in items:
            if isinstance(item, Problem):
                self.converted.problems.append(item)
                continue
            interface = self._interface(-1, item.link_type, self._name)
            for index in range(len(item)):
                self._write(item.frame(index), interface)

    def take_trace(self, trace: EtlFile) -> None:
        """Writes the frames of an event trace log that is converted, with what the log says of each."""
        for item in trace:
            if isinstance(item, Problem):
                self.converted.problems.append(item)
                continue
            interfaces = trace.interfaces
            for index, (number, process, sent, comment) in enumerate(_said_of_frames(item)):
                known = interfaces[number]
                interface = self._interface(number, item.link_type, known.name, known.description)
                text = f"PID={process} (it ran when the packet was noted; often it is not the sender){comment}"
                self._write(item.frame(index), interface, text, sent)

    def _interface(self, number: int, link_type: int, name: str, description: str = "") -> int:
        key = number, link_type
        if key not in self._interfaces:
            self._interfaces[key] = self._writer.interface(link_type, name, description)
        return self._interfaces[key]

    def _write(self, frame: Frame, interface: int, comment: str = "", sent: bool | None = None) -> None:
        while self._writer.packets + 1 < frame.frame:
            unread = self._interface(-1, _UNREAD, "not read")
            text = f"frame {self._writer.packets + 1} of {self._name} could not be read"
            self._writer.packet(unread, frame.time_ns, b"", 0, text)
            self.converted.empty += 1
        self._writer.packet(interface, frame.time_ns, frame.data, frame.original_length, comment, sent)
        self.converted.frames += 1


def _said_of_frames(block: TracedBlock) -> Iterator[tuple[int, int, bool | None, str]]:
    """Yields what an event trace log that is converted says of each frame: its interface, its process, whether it was sent, and a
    comment."""
    columns = (block.rows[name].tolist() for name in ("interface", "process", "sent", "received", "dropped"))
    for interface, process, sent, received, dropped in zip(*columns, strict=True):
        direction = sent if sent or received else None
        yield interface, process, direction, "; dropped" if dropped else ""


# ------------------------------------------------------------------------------------------------------------------ slices


Ends = frozenset[Endpoint]

_KDC_PORT = 88
# A slice beyond this lies in a temporary file until it is known to be whole.
_IN_MEMORY = 16 * 1024 * 1024
_PIECE = 1024 * 1024
_BINDING = frozenset(
    (Ptype.BIND, Ptype.BIND_ACK, Ptype.BIND_NAK, Ptype.ALTER_CONTEXT, Ptype.ALTER_CONTEXT_RESP, Ptype.AUTH3)
)
_SMB2_SETUP = frozenset(
    (smb2_header.NEGOTIATE, smb2_header.SESSION_SETUP, smb2_header.TREE_CONNECT, smb2_header.CREATE)
)
_SMB1_SETUP = frozenset(
    (
        smb1_reader.NEGOTIATE,
        smb1_reader.SESSION_SETUP_ANDX,
        smb1_reader.TREE_CONNECT_ANDX,
        smb1_reader.NT_CREATE_ANDX,
        smb1_reader.OPEN_ANDX,
    )
)
_SMB1_HEADER = 32
_STATUS_PENDING = 0x103


class Slice:
    """A slice of a capture: packets as a pcapng file, in memory or in a temporary file."""

    def __init__(self) -> None:
        self._log = Log(_IN_MEMORY)
        # The place and length of each piece in the log; the bytes of the unfinished piece.
        self._places: list[tuple[int, int]] = []
        self._last = bytearray()
        self.packets = 0
        # Connections that were taken whole; calls that the slice does not give again.
        self.whole = 0
        self.lacking = 0

    def write(self, data: bytes) -> int:
        self._last += data
        if len(self._last) >= _PIECE:
            self._places.append((self._log.append(bytes(self._last)), len(self._last)))
            self._last.clear()
        return len(data)

    def pieces(self) -> Iterator[bytes]:
        """Yields the bytes of the slice's pcapng file, piece by piece."""
        for place, length in self._places:
            yield self._log.read(place, length)
        yield bytes(self._last)

    def reader(self) -> BinaryIO:
        """The slice's file for reading, from its beginning."""
        return _Reader(self.pieces())  # type: ignore[return-value]


class _Reader:
    name = "the slice"

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (piece := next(self._pieces, b"")):
            self._rest += piece
        data, self._rest = self._rest[:size], self._rest[size:]
        self._at += len(data)
        return data

    def tell(self) -> int:
        return self._at


def slice_of(
    sources: Sequence[Source],
    analysis: Analysis,
    calls: Sequence[tuple[int, Call]],
    keyring: Keyring,
    limits: Limits,
    secrets: bytes | None = None,
) -> Slice:
    """Returns the slice of some calls. The analysis was made of these sources with all PDUs. `secrets` are written into it."""
    logons = analysis.logons_by_session
    needs = _Needs.needs_of(analysis, calls, logons)
    packets = _SlicedFrames(needs)
    lost: list[Problem] = []
    follow_messages(
        sources, keyring, limits, message_log=packets.take_message, segment_log=packets.take_segments, lost=lost.append
    )
    last = max((max(call.frames, default=0) for _, call in calls), default=0)
    if (why := broke_off(lost, analysis, last)) is not None:
        raise InputError(f"{why[0].upper()}{why[1:]}")
    wanted = Counter(_essence(call) for _, call in calls)
    # First what should do, then whole connections where it did not.
    for _ in range(2):
        found = _written(sources, analysis, packets.frames(), limits, secrets)
        again = Counter(_essence(call) for call in analyze([found.reader()], keyring, limits=limits, pdus=False).calls)
        missing = wanted - again
        found.whole, found.lacking = len(needs.whole), missing.total()
        lacking = {ends for _, call in calls if _essence(call) in missing for ends in _connections(call, logons)}
        if lacking <= needs.whole:
            break
        needs.whole |= lacking
    return found


def _connections(call: Call, logons: Mapping[int, Sequence[Logon]]) -> set[Ends]:
    """Returns the connections of a call that a slice needs: that on which its pipe was opened, that which carried it, and the
    others of its SMB session. The request may have come over one of them, and the answer over another."""
    of_session = logons.get(call.session, ()) if call.session is not None else ()
    return {frozenset(ends) for ends in ((call.client, call.server), call.carriers)} | {
        frozenset((logon.client, logon.server)) for logon in of_session
    }


def _essence(call: Call) -> tuple[object, ...]:
    """Returns the facts about a call that must be equal when the slice is read."""
    return (
        call.time_ns,
        call.client,
        call.server,
        call.transport,
        call.pipe,
        call.interface.uuid,
        call.opnum,
        call.call_id,
        call.auth.level,
        call.auth.user,
        call.status,
        call.fault,
        call.state,
        _stub(call.request),
        _stub(call.response),
    )


def _stub(side: Side | None) -> bytes | Missing | None:
    if side is None:
        return None
    stub = side.stub
    return stub if isinstance(stub, Missing) else hash(stub.data).to_bytes(8, "little", signed=True)


class _Needs(Struct):
    """The packets that a slice must have: frames, and those of connections and SMB sessions."""

    frames: set[int]
    ends: set[Ends]
    hosts: set[frozenset[str]]
    sessions: set[int]
    whole: set[Ends] = field(default_factory=set)

    @classmethod
    def needs_of(
        cls, analysis: Analysis, calls: Iterable[tuple[int, Call]], logons: Mapping[int, Sequence[Logon]]
    ) -> _Needs:
        needs = cls(set(), set(), set(), set())
        channels, numbers = set(), set()
        for _, call in calls:
            needs.frames.update(call.frames)
            needs.ends |= _connections(call, logons)
            channels.add(call.channel)
            if call.smb is not None:
                needs.sessions.add(int(call.smb.session_id, 16))
            numbers.add(call.session)
            for identity in (call.security.identity, call.smb_identity):
                if identity is not None:
                    needs.frames.update(identity.kdc_frames)
        needs.hosts = {frozenset(end.ip for end in ends) for ends in needs.ends}
        for session in analysis.sessions:
            if session.number in numbers:
                needs.frames.update(session.frames)
        for pdu in analysis.pdus:
            if pdu.ptype in _BINDING and pdu.channel.number in channels:
                needs.frames.update(pdu.frames)
        return needs


class _Exchange(Struct):
    """The frames of an SMB request and its responses, for a slice."""

    is_setup: bool
    frames: set[int] = field(default_factory=set)


class _Link(Struct):
    """One SMB connection of a slice: exchanges without a final response, frames of setups, and sessions."""

    ends: Ends
    pending: dict[int, _Exchange] = field(default_factory=dict)
    setup: set[int] = field(default_factory=set)
    sessions: set[int] = field(default_factory=set)


class _SlicedFrames:
    """Collects the frames of a slice while the capture is read."""

    def __init__(self, needs: _Needs) -> None:
        self._needs = needs
        self._links: dict[int, _Link] = {}
        self._messages: set[int] = set()
        # SYN, FIN and RST; and everything of connections between these hosts, and with KDCs.
        self._control: dict[Ends, set[int]] = {}
        self._all: dict[Ends, set[int]] = {}

    def take_segments(self, batch: SegmentBatch) -> None:
        ends = frozenset((batch.src, batch.dst))
        of_ours = frozenset((batch.src.ip, batch.dst.ip)) in self._needs.hosts
        if not of_ours and _KDC_PORT not in (batch.src.port, batch.dst.port):
            return
        every = self._all.setdefault(ends, set())
        control = self._control.setdefault(ends, set())
        for segment in batch:
            frames = (*segment.payload.frames, segment.frame)
            every.update(frames)
            if segment.flags & (SYN | FIN | RST):
                control.update(frames)

    def take_message(self, connection: Connection, direction: Direction, sent: Message, message: Message) -> None:
        frames = sent.frames
        link = self._links.get(connection.number)
        if link is None:
            link = self._links[connection.number] = _Link(frozenset((connection.a, connection.b)))
        head = message.begins_with(smb2_header.HEADER_LEN)
        if head[:1] == b"\xff":
            if len(head) < _SMB1_HEADER:
                return
            command, key, is_response = head[4], int.from_bytes(head[26:28] + head[30:32], "little"), head[9] >> 7
            # Transactions go on in further messages of both sides.
            is_setup, is_last, is_new = command in _SMB1_SETUP, False, not is_response and command != 0x26
        else:
            if len(head) < smb2_header.HEADER_LEN:
                return
            header = smb2_header.read_header(head, 0, len(head))
            key, is_setup = header.message_id, header.command in _SMB2_SETUP
            is_last, is_new = header.is_response and header.status != _STATUS_PENDING, not header.is_response
            link.sessions.add(header.session_id)
        exchange = link.pending.get(key)
        if exchange is None or is_new:
            self._settle(link, link.pending.pop(key, None))
            exchange = link.pending[key] = _Exchange(is_setup)
        exchange.frames.update(frames)
        if is_last:
            self._settle(link, link.pending.pop(key))

    def _settle(self, link: _Link, exchange: _Exchange | None) -> None:
        if exchange is None:
            return
        if exchange.is_setup:
            link.setup |= exchange.frames
        if not exchange.frames.isdisjoint(self._needs.frames):
            self._messages |= exchange.frames

    def frames(self) -> set[int]:
        """Returns the ids of all frames that the slice needs."""
        found = self._needs.frames | self._messages
        ends = set(self._needs.ends)
        for link in self._links.values():
            for key in list(link.pending):
                self._settle(link, link.pending.pop(key))
            same_hosts = frozenset(end.ip for end in link.ends) in self._needs.hosts
            if link.ends in ends or (same_hosts and not link.sessions.isdisjoint(self._needs.sessions - {0})):
                ends.add(link.ends)
                found |= link.setup
        found |= self._messages
        for connection, every in self._all.items():
            is_kdc = any(end.port == _KDC_PORT for end in connection)
            if connection in self._needs.whole or (is_kdc and not every.isdisjoint(self._needs.frames)):
                found |= every
            elif connection in ends:
                found |= self._control[connection]
        return found


def _written(
    sources: Sequence[Source], analysis: Analysis, frames: set[int], limits: Limits, secrets: bytes | None
) -> Slice:
    """Writes the captured frames of the sources into a slice."""
    from importlib.metadata import version

    from analyzer.interfaces.call_contents.machine_names import machine_names

    out = Slice()
    files = analysis.capture.files
    comment = f"{len(frames)} packets cut out of {', '.join(files)}"
    writer = PcapngWriter(out, application=f"pcq-analyzer {version('pcq-analyzer')}", comment=comment)  # type: ignore[arg-type]
    ids = np.array(sorted(frames), np.int64)
    writer.names(machine_names(analysis))
    if secrets is not None:
        writer.secrets(SECRETS_OF_OURS, secrets)
    interfaces: dict[tuple[int, int], int] = {}
    failed = CHANGED
    reader = CaptureReader(sources, limits=limits)
    if reader.info.files != files:
        raise InputError(CHANGED)
    for block in reader:
        if isinstance(block, Problem):
            failed = block.text
            continue
        for index in np.flatnonzero(np.isin(block.frames, ids)).tolist():
            frame = block.frame(index)
            file = file_of(frame.frame)
            key = (file, frame.link_type)
            if key not in interfaces:
                interfaces[key] = writer.interface(frame.link_type, files[file])
            comment = f"frame {number_of(frame.frame)} of {files[file]}"
            writer.packet(interfaces[key], frame.time_ns, frame.data, frame.original_length, comment)
    if writer.packets < len(ids):
        lacking = len(ids) - writer.packets
        raise InputError(f"{lacking:,} of {len(ids):,} packets of the slice could not be read a second time: {failed}")
    out.packets = writer.packets
    return out
