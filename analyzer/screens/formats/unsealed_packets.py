"""Writes calls as packets: unsealed DCERPC over TCP, as it would have been captured without encryption and segmentation.

Addresses, ports and times are the captured ones. TCP is made new (RFC 9293), one packet a PDU if it fits. PDUs of a named pipe lie
in FSCTL_PIPE_TRANSCEIVE requests and responses of SMB2 ([MS-SMB2] sections 2.2.31 and 2.2.32), since programs read DCERPC on port
445 only there. A tree connect and an open before them carry the names. Binds ([C706] section 12.6.4.3) are made from what the calls
say of their interface. Messages that stayed sealed are written as they were captured, with their trailer. Bytes of a PDU that were
not captured are a hole in TCP: the next PDU has the sequence number that it would have behind them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO

from msgspec import Struct

from analyzer.core import dcerpc_encoding as dcerpc
from analyzer.core.absence import Missing
from analyzer.core.frame_ids import file_of, number_of
from analyzer.core.printable_text import plural
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, SYN, tcp_packet
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.calls.call import Call, Side, SideName
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.formats.pcapng_writer import PcapngWriter

LINKTYPE_RAW = 101
# Of IPv4's 65,535 bytes, room for both headers (RFC 791 section 3.1).
_MOST_PAYLOAD = 65_000
# frag_length has 16 bits; stubs are cut at multiples of 8 ([MS-RPCE] section 2.2.2.1).
_MOST_STUB = 64_000
# The largest fragment that each end offers to receive.
_MOST_FRAGMENT = 65_528
# States of calls whose captured messages are whole.
_WHOLE = ("complete", "request-only", "response-only")
_TREE_CONNECT, _CREATE, _IOCTL = 3, 5, 11
_FSCTL_PIPE_TRANSCEIVE = 0x0011C017
_SMB2_HEADER = 64
# Begins the comments of packets that were not captured in any form.
_MADE = "made by pcq-analyzer: "
# A comment names no more than so many of the frames.
_NAMED_FRAMES = 8


class IpPacket(Struct, frozen=True):
    """An IP packet of the unsealed conversation: its time, its bytes, and a comment."""

    time_ns: int
    data: bytes
    comment: str


class Unwritten(Struct):
    """Counts what the unsealed packets lack: messages longer than are kept, and those that stayed sealed."""

    dropped: int = 0
    sealed: int = 0


def write_conversation(
    calls: Iterable[tuple[int, Call]],
    out: BinaryIO,
    *,
    files: Sequence[str],
    names: Mapping[str, Iterable[str]],
    unwritten: Unwritten | None = None,
) -> int:
    """Writes the unsealed packets of calls as a pcapng file, with the names of the addresses; returns their number."""
    from importlib.metadata import version

    comment = f"decrypted from {', '.join(files)}: TCP, SMB2 headers and binds are made anew"
    writer = PcapngWriter(out, application=f"pcq-analyzer {version('pcq-analyzer')}", comment=comment)
    writer.names(names)
    interface = writer.interface(LINKTYPE_RAW, "decrypted")
    for packet in packets_of(calls, files, unwritten):
        writer.packet(interface, packet.time_ns, packet.data, len(packet.data), packet.comment)
    return writer.packets


def packets_of(
    calls: Iterable[tuple[int, Call]], files: Sequence[str], unwritten: Unwritten | None = None
) -> Iterator[IpPacket]:
    """Yields the unsealed packets of numbered calls, by time. Counts what cannot be written in `unwritten`."""
    count = unwritten if unwritten is not None else Unwritten()
    messages: list[tuple[int, int, int, Call]] = []
    for number, call in calls:
        for order, side in enumerate((call.request, call.response)):
            if side is not None:
                messages.append((side.last_time_ns, number, order, call))
    messages.sort(key=lambda message: message[:3])
    connections: dict[tuple[Endpoint, Endpoint, int], _Connection] = {}
    for time_ns, number, order, call in messages:
        side = call.response if order else call.request
        assert side is not None
        pdus = _pdus(call, side)
        if not pdus:
            count.dropped += 1
            continue
        count.sealed += side.missing is Missing.SEALED
        over_tcp = call.transport == "ncacn_ip_tcp"
        key = (call.client, call.server, call.channel if over_tcp else 0)
        connection = connections.get(key)
        if connection is None:
            connection = connections[key] = _Connection(call.client, call.server)
            yield from connection.opened(time_ns)
        comment = _comment(number, call, side, "response" if order else "request", files)
        yield from connection.bound(call, time_ns)
        if over_tcp:
            for pdu in pdus:
                yield from connection.send(not order, pdu, time_ns, comment, _lost(pdu))
        else:
            yield from connection.transceive(call, number, not order, pdus, time_ns, comment)
    if messages:
        for connection in connections.values():
            yield from connection.closed(messages[-1][0])


def _pdus(call: Call, side: Side) -> list[bytes]:
    """Returns the unsealed PDUs of one message: cut anew if the stub is whole, else the captured ones, unsealed as far as
    possible."""
    if not side.pdus:
        return []
    first, stub = side.pdus[0], side.stub
    if isinstance(stub, TracedBytes) and call.state in _WHOLE and first.stub_start >= dcerpc.HEADER_LEN:
        return list(_cut(first.pdu[: first.stub_start].data, stub.data))
    found = []
    for fragment in side.pdus:
        pdu = fragment.pdu.data
        if isinstance(fragment.plain, TracedBytes) and fragment.stub_start >= dcerpc.HEADER_LEN and not _lost(pdu):
            pdu = _pdu(pdu[: fragment.stub_start], fragment.plain.data, None, pdu[3])
        found.append(pdu)
    return found


def _lost(pdu: bytes) -> int:
    """Returns how many bytes the end of a PDU lacks that goes into an unsealed packet, by its frag_length ([C706] section
    12.6.3.1)."""
    length = int.from_bytes(pdu[8:10], "little" if pdu[4] & 0x10 else "big")
    return max(length - len(pdu), 0)


def _cut(head: bytes, stub: bytes) -> Iterator[bytes]:
    left = len(stub)
    for flags, part in dcerpc.fragments(stub, _MOST_STUB):
        yield _pdu(head, part, left, head[3] & ~dcerpc.WHOLE | flags)
        left -= len(part)


def _pdu(head: bytes, stub: bytes, hint: int | None, flags: int) -> bytes:
    """Makes an unsealed PDU without authentication from its head, with corrected lengths, and its stub."""
    order = "<" if head[4] & 0x10 else ">"
    out = bytearray(head + stub)
    out[3] = flags
    struct.pack_into(f"{order}HH", out, 8, len(out), 0)
    if hint is not None and len(head) >= dcerpc.HEADER_LEN + 4:
        struct.pack_into(f"{order}I", out, dcerpc.HEADER_LEN, hint)
    return bytes(out)


def _comment(number: int, call: Call, side: Side, name: SideName, files: Sequence[str]) -> str:
    """Returns the comment on an unsealed packet: what it is, and the frames it was made from."""
    sealed = side.missing is Missing.SEALED
    state = (
        "as captured, still sealed"
        if sealed
        else call.security.decrypted_by and f"unsealed with {call.security.decrypted_by}"
    )
    method = call.method or f"opnum {call.opnum}"
    words = [f"call {number}: {name} of {method}", state, f"from {frames_in_words(side.frames, files)}"]
    return "; ".join(word for word in words if word)


def frames_in_words(frames: Sequence[int], files: Sequence[str]) -> str:
    """Lists the frames of an unsealed packet: `frames 3, 4 of a.pcap`, file after file."""
    by_file: dict[int, list[int]] = {}
    for frame in frames:
        by_file.setdefault(file_of(frame), []).append(number_of(frame))
    return ", ".join(
        f"{plural(len(numbers), 'frame')} {_numbers(numbers)} of {files[file] if file < len(files) else file}"
        for file, numbers in by_file.items()
    )


def _numbers(numbers: Sequence[int]) -> str:
    if len(numbers) <= _NAMED_FRAMES:
        return ", ".join(map(str, numbers))
    return f"{numbers[0]} to {numbers[-1]} ({len(numbers)} of them)"


class _Connection:
    """One TCP connection of the unsealed packets: sequence numbers of both ends, and its SMB trees, pipes and DCERPC contexts."""

    def __init__(self, client: Endpoint, server: Endpoint) -> None:
        self._ends = (client.ip, client.port), (server.ip, server.port)
        self._sequence = [1, 1]
        self._message_id = 0
        self._trees: dict[int, int] = {}
        # Contexts of each channel; the SMB2 MessageId of each call that waits.
        self._contexts: dict[int, set[int]] = {}
        self._waiting: dict[int, int] = {}

    def opened(self, time_ns: int) -> Iterator[IpPacket]:
        handshake = ((True, 0, 0, SYN), (False, 0, 1, SYN | ACK), (True, 1, 1, ACK))
        for from_client, sequence, acknowledged, flags in handshake:
            data = tcp_packet(*self._way(from_client), sequence, acknowledged, flags, b"")
            yield IpPacket(time_ns, data, f"{_MADE}beginning of a connection")

    def closed(self, time_ns: int) -> Iterator[IpPacket]:
        for from_client in (True, False):
            mine, other = self._sequence[not from_client], self._sequence[from_client]
            data = tcp_packet(*self._way(from_client), mine, other, FIN | ACK, b"")
            yield IpPacket(time_ns, data, f"{_MADE}end of a connection")
            self._sequence[not from_client] += 1

    def send(self, from_client: bool, data: bytes, time_ns: int, comment: str, lost: int = 0) -> Iterator[IpPacket]:
        """Yields the packets of some bytes, behind which as many as `lost` were not captured."""
        for start in range(0, len(data), _MOST_PAYLOAD):
            part = data[start : start + _MOST_PAYLOAD]
            mine, other = self._sequence[not from_client], self._sequence[from_client]
            yield IpPacket(time_ns, tcp_packet(*self._way(from_client), mine, other, PSH | ACK, part), comment)
            self._sequence[not from_client] += len(part)
        self._sequence[not from_client] += lost

    def bound(self, call: Call, time_ns: int) -> Iterator[IpPacket]:
        """Yields the packets of the bind of a call's context, before its first use."""
        contexts = self._contexts.get(call.channel)
        is_first = contexts is None
        if contexts is None:
            contexts = self._contexts[call.channel] = set()
            if call.transport == "ncacn_np":
                yield from self._pipe_opened(call, time_ns)
        if call.context_id in contexts or call.interface.uuid is None:
            return
        contexts.add(call.context_id)
        how = "recognised by its stubs" if call.interface.recognised else "as captured"
        comment = f"{_MADE}binding of {call.interface.name or call.interface.uuid}, {how}"
        for from_client, pdu in (
            (True, _bind(call, is_first=is_first)),
            (False, _bind_answer(call, is_first=is_first)),
        ):
            if call.transport == "ncacn_np":
                yield from self.transceive(call, -1, from_client, [pdu], time_ns, comment)
            else:
                yield from self.send(from_client, pdu, time_ns, comment)

    def transceive(
        self, call: Call, number: int, from_client: bool, pdus: Sequence[bytes], time_ns: int, comment: str
    ) -> Iterator[IpPacket]:
        """Yields the packets of PDUs in an FSCTL_PIPE_TRANSCEIVE ([MS-SMB2] sections 2.2.31 and 2.2.32)."""
        length = sum(len(pdu) + _lost(pdu) for pdu in pdus)
        if from_client:
            self._waiting[number] = message_id = self._next_id()
            body = struct.pack(
                "<HHI16sIIIIIIII",
                57,
                0,
                _FSCTL_PIPE_TRANSCEIVE,
                _file_id(call),
                120,
                length,
                0,
                120,
                0,
                0xFFFF,
                1,
                0,
            )
        else:
            # A response without a captured request gets a MessageId of its own.
            message_id = self._waiting.pop(number, 0) or self._next_id()
            body = struct.pack(
                "<HHI16sIIIIII", 49, 0, _FSCTL_PIPE_TRANSCEIVE, _file_id(call), 112, 0, 112, length, 0, 0
            )
        yield from self._smb2(call, _IOCTL, message_id, from_client, body, time_ns, comment, pdus)

    def _pipe_opened(self, call: Call, time_ns: int) -> Iterator[IpPacket]:
        """Yields the packets that connect the tree, once for each session, and open the pipe of a call. The opening of a pipe whose
        name was not captured is not captured either."""
        session = _session_id(call)
        if session not in self._trees:
            self._trees[session] = len(self._trees) + 1
            path = f"\\\\{call.server.ip}\\IPC$"
            comment, at = f"{_MADE}tree of {path}", self._next_id()
            share = path.encode("utf-16-le")
            request = struct.pack("<HHHH", 9, 0, _SMB2_HEADER + 8, len(share)) + share
            yield from self._smb2(call, _TREE_CONNECT, at, True, request, time_ns, comment)
            # ShareType 2: a pipe.
            response = struct.pack("<HBBIII", 16, 2, 0, 0x30, 0, 0x001F01FF)
            yield from self._smb2(call, _TREE_CONNECT, at, False, response, time_ns, comment)
        if call.pipe is None:
            return
        name, at = call.pipe.encode("utf-16-le"), self._next_id()
        comment = f"{_MADE}opening of the pipe {call.pipe}"
        request = struct.pack(
            "<HBBIQQIIIIIHHII", 57, 0, 0, call.impersonation if call.impersonation is not None else 2, 0, 0, 0x0012019F, 0, 7, 1, 0,
            _SMB2_HEADER + 56, len(name), 0, 0,
        )  # fmt: skip
        yield from self._smb2(call, _CREATE, at, True, request + (name or b"\0"), time_ns, comment)
        response = struct.pack("<HBBI32xQQII16sII", 89, 0, 0, 1, 4096, 0, 0x80, 0, _file_id(call), 0, 0)
        yield from self._smb2(call, _CREATE, at, False, response, time_ns, comment)

    def _smb2(
        self,
        call: Call,
        command: int,
        message_id: int,
        from_client: bool,
        body: bytes,
        time_ns: int,
        comment: str,
        pdus: Sequence[bytes] = (),
    ) -> Iterator[IpPacket]:
        """Yields the packets of one SMB2 message after its Direct TCP header ([MS-SMB2] sections 2.1 and 2.2.1.2), with the PDUs
        behind its body."""
        session = _session_id(call)
        tree = 0 if command == _TREE_CONNECT and from_client else self._trees[session]
        head = struct.pack(
            "<4sHHIHHIIQIIQ16x",
            b"\xfeSMB",
            _SMB2_HEADER,
            1,
            0,
            command,
            1,
            not from_client,
            0,
            message_id,
            0xFEFF,
            tree,
            session,
        )
        message, length = head + body, len(head) + len(body) + sum(len(pdu) + _lost(pdu) for pdu in pdus)
        message = length.to_bytes(4, "big") + message
        for pdu in pdus:
            message += pdu
            if lost := _lost(pdu):
                yield from self.send(from_client, message, time_ns, comment, lost)
                message = b""
        yield from self.send(from_client, message, time_ns, comment)

    def _way(self, from_client: bool) -> tuple[tuple[str, int], tuple[str, int]]:
        """Returns sender and receiver of a packet on this connection."""
        return self._ends if from_client else self._ends[::-1]

    def _next_id(self) -> int:
        self._message_id += 1
        return self._message_id


def _session_id(call: Call) -> int:
    return int(call.smb.session_id, 16) if call.smb is not None else 0


def _file_id(call: Call) -> bytes:
    """Returns the FileId of a pipe's open in the unsealed packets: the number of its channel, which is unique in the capture."""
    return struct.pack("<QQ", call.channel + 1, call.channel + 1)


def _bind(call: Call, *, is_first: bool) -> bytes:
    """Makes a bind, or an alter_context if it is not the first, of one context with the agreed transfer syntax ([C706] sections
    12.6.4.3 and 12.6.4.1)."""
    assert call.interface.uuid is not None
    major, _, minor = (call.interface.version or "1.0").partition(".")
    interface = dcerpc.syntax(call.interface.uuid, int(major), int(minor or 0))
    body = dcerpc.bind_body([dcerpc.context(call.context_id, interface, [_transfer(call)])], most=_MOST_FRAGMENT)
    return dcerpc.pdu(dcerpc.BIND if is_first else dcerpc.ALTER, body, call_id=call.call_id)


def _bind_answer(call: Call, *, is_first: bool) -> bytes:
    """Makes the answer that accepts a bind or alter_context ([C706] sections 12.6.4.4 and 12.6.4.2)."""
    name = b"".join((b"\\PIPE\\", (call.pipe or "").encode("ascii", "replace"), b"\0")) if call.pipe else b"\0"
    body = dcerpc.bind_ack_body([(0, 0, _transfer(call))], name, most=_MOST_FRAGMENT, group=1)
    return dcerpc.pdu(dcerpc.BIND_ACK if is_first else dcerpc.ALTER_RESP, body, call_id=call.call_id)


def _transfer(call: Call) -> dcerpc.TransferSyntax:
    return dcerpc.NDR64 if call.syntax == "ndr64" else dcerpc.NDR
