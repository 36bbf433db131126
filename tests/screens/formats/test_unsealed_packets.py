"""The packets that `export` makes of calls, whole: lengths, checksums and numbers as RFC 9293, [MS-SMB2] and C706 lay them out.

The bytes of each packet are taken apart by scapy and by the layouts of the documents, not by what wrote them.
"""

import struct
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6

from analyzer.core.absence import Missing
from analyzer.core.frame_ids import frame_id
from analyzer.pipeline.run import analyze
from analyzer.results.calls.call import Call
from analyzer.results.calls.pdus import Fragment
from analyzer.results.connection import Channel
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.formats import unsealed_packets as module
from analyzer.screens.formats.unsealed_packets import (
    IpPacket,
    Unwritten,
    frames_in_words,
    packets_of,
    write_conversation,
)
from analyzer.transport.smb.smb2_header import IOCTL, TREE_CONNECT
from tests.build.calls import Calls, analysis_of
from tests.build.rpc import CHANNEL
from tests.written import is_as_written

MS = 1_000_000
TCP_CHANNEL = Channel(4, "ncacn_ip_tcp", Endpoint("10.0.0.3", 50000), Endpoint("10.0.0.1", 49153), None, None, None)
OVER_IPV6 = replace(TCP_CHANNEL, client=Endpoint("fe80::3", 50000), server=Endpoint("fe80::1", 49153))


def calls_of(*exchanges: Any) -> list[tuple[int, Call]]:
    return list(enumerate(analysis_of(*exchanges).calls, 1))


def made(*exchanges: Any, unwritten: Unwritten | None = None) -> list[IpPacket]:
    return list(packets_of(calls_of(*exchanges), ["a.pcap"], unwritten))


def dissected(packet: IpPacket) -> Any:
    """The packet by scapy, whose checksums of IP and TCP have to be those that are written."""
    kind = IPv6 if packet.data[0] >> 4 == 6 else IP
    found = kind(packet.data)
    anew = kind(packet.data)
    del anew[TCP].chksum
    if kind is IP:
        del anew[IP].chksum
    assert bytes(anew) == packet.data
    return found


def tcp_facts(packet: IpPacket) -> tuple[Any, ...]:
    ip = dissected(packet)
    segment = ip[TCP]
    return segment.sport, segment.dport, segment.seq, segment.ack, str(segment.flags), len(bytes(segment.payload))


def payload(packet: IpPacket) -> bytes:
    return bytes(dissected(packet)[TCP].payload)


def test_a_call_over_tcp_is_a_connection_of_its_own() -> None:
    """A bind is 72 bytes, its answer 56 (C706 sections 12.6.4.3 and 12.6.4.4), a header of a request or response 24."""
    packets = made(Calls(channel=TCP_CHANNEL).exchange(3, b"abcdefgh", b"ijkl"))
    lines = [
        f"{one.time_ns // MS} ms, port {src} to {dst}, seq {seq}, ack {ack}, {flags}, {length} bytes: {one.comment}\n"
        for one, (src, dst, seq, ack, flags, length) in zip(packets, map(tcp_facts, packets), strict=True)
    ]
    is_as_written(Path(__file__).parent / "forms" / "connection.txt", "".join(lines))
    ip = dissected(packets[5])
    assert (ip.version, ip.ihl, ip.tos, ip.len, ip.id, str(ip.flags), ip.frag, ip.ttl, ip.proto) == (
        *(4, 5, 0, 20 + 20 + 32, 0, "DF", 0, 64, 6),
    )
    assert (ip.src, ip.dst) == ("10.0.0.3", "10.0.0.1")
    assert (ip[TCP].dataofs, ip[TCP].window, ip[TCP].urgptr) == (5, 0xFFFF, 0)


NDR_SYNTAX = UUID("8a885d04-1ceb-11c9-9fe8-08002b104860").bytes_le + struct.pack("<HH", 2, 0)
NDR64_SYNTAX = UUID("71710533-beba-4937-8319-b5dbef9ccc36").bytes_le + struct.pack("<HH", 1, 0)
PCQ_SYNTAX = UUID("da5a86c5-12c2-4943-ab30-7f74a813d853").bytes_le + struct.pack("<HH", 1, 0)


@pytest.mark.parametrize("ndr64", [False, True])
def test_a_bind_names_interface_and_transfer_syntax(ndr64: bool) -> None:
    """C706 sections 12.6.4.3 and 12.6.4.4: one context, max_xmit_frag and max_recv_frag of 65,528, accepted."""
    make = Calls(channel=TCP_CHANNEL, ndr64=ndr64)
    make.call_id = 6
    packets = made(make.exchange(3, b"abcd", None))
    transfer = NDR64_SYNTAX if ndr64 else NDR_SYNTAX
    head = struct.pack("<4BIHHI", 5, 0, 11, 3, 0x10, 72, 0, 7) + struct.pack("<HHI", 65528, 65528, 0)
    assert payload(packets[3]) == head + b"\1\0\0\0" + struct.pack("<HBB", 0, 1, 0) + PCQ_SYNTAX + transfer
    answer = struct.pack("<4BIHHI", 5, 0, 12, 3, 0x10, 56, 0, 7) + struct.pack("<HHI", 65528, 65528, 1)
    answer += struct.pack("<H", 1) + b"\0" + b"\0" + b"\1\0\0\0" + struct.pack("<HH", 0, 0) + transfer
    assert payload(packets[4]) == answer


def test_another_context_of_a_channel_is_altered() -> None:
    """C706 sections 12.6.4.1 and 12.6.4.2. What has no interface has no bind."""
    make = Calls(channel=TCP_CHANNEL)
    one, two, three = (make.exchange(3, b"abcd", None) for _ in range(3))
    calls = calls_of(one, two, three)
    bare = replace(calls[2][1].interface, uuid=None)
    calls[1] = 2, replace(calls[1][1], context_id=5, interface=replace(calls[1][1].interface, version="2.7"))
    calls[2] = 3, replace(calls[2][1], context_id=6, interface=bare)
    found = [payload(packet) for packet in packets_of(calls, ["a.pcap"])]
    assert [one[2] for one in found if one] == [11, 12, 0, 14, 15, 0, 0]
    altered, answered = (one for one in found if one and one[2] in (14, 15))
    assert altered[24:32] == b"\1\0\0\0" + struct.pack("<HBB", 5, 1, 0)
    assert altered[48:52] == struct.pack("<HH", 2, 7)
    assert answered[24:28] == b"\1\0\0\0"


def test_over_ipv6_too() -> None:
    packets = made(Calls(channel=OVER_IPV6).exchange(3, b"abc", b"defgh"))
    ip = dissected(packets[5])
    assert (ip.version, ip.tc, ip.fl, ip.plen, ip.nh, ip.hlim) == (6, 0, 0, 20 + 24 + 3, 6, 64)
    assert (ip.src, ip.dst) == ("fe80::3", "fe80::1")
    assert payload(packets[5])[24:] == b"abc"


def smb2(data: bytes) -> dict[str, Any]:
    """An SMB2 message behind its Direct TCP header ([MS-SMB2] sections 2.1 and 2.2.1.2)."""
    assert data[:1] == b"\0"
    assert int.from_bytes(data[1:4], "big") == len(data) - 4
    names = "mark size credit_charge status command credits flags next message_id reserved tree session signature"
    found = dict(zip(names.split(), struct.unpack_from("<4sHHIHHIIQIIQ16s", data, 4), strict=True))
    assert (found.pop("mark"), found.pop("size"), found.pop("signature")) == (b"\xfeSMB", 64, bytes(16))
    return found | {"body": data[68:]}


def test_calls_on_a_pipe_are_transceived() -> None:
    """[MS-SMB2] sections 2.2.9, 2.2.10, 2.2.13, 2.2.14, 2.2.31 and 2.2.32."""
    make = Calls()
    packets = made(make.exchange(3, b"abcdefgh", b"ijkl"), make.exchange(4, b"mnop", None))
    messages = [smb2(payload(packet)) for packet in packets if payload(packet)]
    fixed = {"credit_charge": 1, "status": 0, "credits": 1, "next": 0, "reserved": 0xFEFF, "session": 0x1D}
    assert all(message.items() >= fixed.items() for message in messages)
    heads = [(one["command"], one["flags"], one["message_id"], one["tree"]) for one in messages]
    assert heads == [
        (3, 0, 1, 0),
        (3, 1, 1, 1),
        (5, 0, 2, 1),
        (5, 1, 2, 1),
        (11, 0, 3, 1),
        (11, 1, 3, 1),
        (11, 0, 4, 1),
        (11, 1, 4, 1),
        (11, 0, 5, 1),
    ]
    bodies = [one["body"] for one in messages]
    share, pipe = "\\\\10.0.0.1\\IPC$".encode("utf-16-le"), (CHANNEL.pipe or "").encode("utf-16-le")
    assert bodies[0] == struct.pack("<HHHH", 9, 0, 64 + 8, len(share)) + share
    assert bodies[1] == struct.pack("<HBBIII", 16, 2, 0, 0x30, 0, 0x001F01FF)
    # SecurityFlags, oplock level, impersonation, flags, access, attributes, sharing, disposition, options, name, contexts.
    asked = struct.pack("<HBBIQQIIIII", 57, 0, 0, 2, 0, 0, 0x0012019F, 0, 7, 1, 0)
    assert bodies[2] == asked + struct.pack("<HHII", 64 + 56, len(pipe), 0, 0) + pipe
    number = struct.pack("<QQ", CHANNEL.number + 1, CHANNEL.number + 1)
    times = bytes(32)
    created = struct.pack("<HBBI", 89, 0, 0, 1) + times + struct.pack("<QQII", 4096, 0, 0x80, 0) + number + bytes(8)
    assert bodies[3] == created
    code = 0x0011C017
    for body in (bodies[4], bodies[6], bodies[8]):
        length = len(body) - 56
        assert body[:56] == struct.pack("<HHI16sIIIIIIII", 57, 0, code, number, 120, length, 0, 120, 0, 0xFFFF, 1, 0)
    for body in (bodies[5], bodies[7]):
        length = len(body) - 48
        assert body[:48] == struct.pack("<HHI16sIIIIII", 49, 0, code, number, 112, 0, 112, length, 0, 0)
    assert [body[56:][2] for body in (bodies[4], bodies[6], bodies[8])] == [11, 0, 0]
    assert bodies[6][-8:] == b"abcdefgh"
    assert bodies[7][-4:] == b"ijkl"
    name = b"\\PIPE\\" + (CHANNEL.pipe or "").encode() + b"\0"
    answer = bodies[5][48:]
    assert answer[24 : 26 + len(name)] == struct.pack("<H", len(name)) + name
    assert (26 + len(name) + 3) // 4 * 4 + 28 == len(answer)


def test_what_is_not_known_of_a_pipe_is_left_out() -> None:
    (number, call), *_ = calls_of(Calls().exchange(3, b"abcd", None))
    for impersonation, stated in ((None, 2), (0, 0), (3, 3)):
        bare = replace(call, smb=None, impersonation=impersonation)
        messages = [smb2(payload(packet)) for packet in packets_of([(number, bare)], ["a.pcap"]) if payload(packet)]
        assert {message["session"] for message in messages} == {0}
        assert struct.unpack_from("<I", messages[2]["body"], 4) == (stated,)


def test_an_opening_of_a_pipe_without_a_name_is_not_made(tmp_path: Path) -> None:
    """So that the pipe has no name for whoever reads the packets."""
    exchange = Calls(channel=replace(CHANNEL, pipe=None)).exchange(3, b"abcd", b"efgh")
    calls, path = calls_of(exchange), tmp_path / "x.pcapng"
    commands = [smb2(payload(packet))["command"] for packet in packets_of(calls, ["a.pcap"]) if payload(packet)]
    assert {TREE_CONNECT, IOCTL} == set(commands)
    with path.open("wb") as out:
        write_conversation(calls, out, files=(), names={})
    (call,) = analyze([path]).calls
    assert (call.pipe, call.transport) == (None, "ncacn_np")


def test_a_response_without_its_request_has_a_message_id_of_its_own() -> None:
    packets = made(Calls().exchange(3, None, b"abcd"))
    last = [smb2(payload(packet)) for packet in packets if payload(packet)][-1]
    assert (last["flags"], last["message_id"]) == (1, 4)


def test_each_session_has_its_tree_and_each_open_its_pipe() -> None:
    one = Calls()
    again = Calls(channel=replace(CHANNEL, number=7), first_frame=10)
    other = Calls(channel=replace(CHANNEL, number=8), first_frame=20)
    exchanges = [one.exchange(3, b"abcd", None), again.exchange(3, b"abcd", None)]
    exchanges.append(other.exchange(3, b"abcd", None))
    calls = calls_of(*exchanges)
    smb = calls[2][1].smb
    assert smb is not None
    calls[2] = 3, replace(calls[2][1], smb=replace(smb, session_id="0x000000000000001e"))
    messages = [smb2(payload(packet)) for packet in packets_of(calls, ["a.pcap"]) if payload(packet)]
    assert [(one["command"], one["session"], one["tree"]) for one in messages if not one["flags"]] == [
        *((3, 0x1D, 0), (5, 0x1D, 1), (11, 0x1D, 1), (11, 0x1D, 1)),
        *((5, 0x1D, 1), (11, 0x1D, 1), (11, 0x1D, 1)),
        *((3, 0x1E, 0), (5, 0x1E, 2), (11, 0x1E, 2), (11, 0x1E, 2)),
    ]


def pdus(packets: list[IpPacket]) -> list[bytes]:
    """The requests and responses of a connection over TCP, in its own order."""
    data = b"".join(payload(packet) for packet in packets)
    found = []
    while data:
        length = int.from_bytes(data[8:10], "little" if data[4] else "big")
        found.append(data[:length])
        data = data[length:]
    return [one for one in found if one[2] in (0, 2, 3)]


def test_long_stubs_are_cut_into_fragments(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first has PFC_FIRST_FRAG, the last PFC_LAST_FRAG, and alloc_hint is what is left (C706 section 12.6.3.1)."""
    stub = bytes(range(200))
    for most, lengths in ((64_000, [200]), (200, [200]), (199, [199, 1]), (72, [72, 72, 56]), (100, [100, 100])):
        monkeypatch.setattr(module, "_MOST_STUB", most)
        found = pdus(made(Calls(channel=TCP_CHANNEL).exchange(3, stub, None)))
        assert [len(one) - 24 for one in found] == lengths
        flags = [3] if len(lengths) == 1 else [1, *[0] * (len(lengths) - 2), 2]
        assert [one[3] for one in found] == flags
        left = [200 - sum(lengths[:number]) for number in range(len(lengths))]
        assert [struct.unpack_from("<HHI", one, 8) for one in found] == [(len(one), 0, 1) for one in found]
        assert [struct.unpack_from("<I", one, 16)[0] for one in found] == left
        assert b"".join(one[24:] for one in found) == stub
    (empty,) = pdus(made(Calls(channel=TCP_CHANNEL).exchange(3, b"", None)))
    assert (len(empty), empty[3]) == (24, 3)


def test_big_endian_pdus_stay_so() -> None:
    (found,) = (
        one for one in pdus(made(Calls(channel=TCP_CHANNEL, big_endian=True).exchange(3, b"abcd", None))) if one[2] == 0
    )
    assert found[4:16] == bytes(4) + struct.pack(">HHI", 28, 0, 1)
    assert found[16:20] == struct.pack(">I", 4)


def test_packets_are_no_longer_than_ip_can_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_PAYLOAD", 30)
    packets = made(Calls(channel=TCP_CHANNEL).exchange(3, bytes(16), None))
    sent = [tcp_facts(packet) for packet in packets if payload(packet)]
    assert [(one[2], one[5]) for one in sent if one[0] == 50000] == [(1, 30), (31, 30), (61, 12), (73, 30), (103, 10)]
    assert [(one[2], one[5]) for one in sent if one[0] == 49153] == [(1, 30), (31, 26)]
    monkeypatch.undo()
    assert (
        max(len(packet.data) for packet in made(Calls(channel=TCP_CHANNEL).exchange(3, bytes(64_000), None))) < 65_536
    )


def test_messages_are_in_the_order_of_their_times() -> None:
    """One that waited for its answer is answered after the next was asked."""
    first, second = Calls(channel=TCP_CHANNEL), Calls(channel=TCP_CHANNEL, first_frame=10)
    slow = first.exchange(3, b"slow", b"at last")
    assert slow.response is not None
    slow = replace(slow, response=replace(slow.response, first_time_ns=30 * MS, last_time_ns=30 * MS))
    found = pdus(made(slow, second.exchange(4, b"fast", b"soon")))
    assert [one[24:] for one in found] == [b"slow", b"fast", b"soon", b"at last"]


def test_what_stayed_sealed_is_as_it_was_captured_and_counted() -> None:
    unwritten = Unwritten()
    make = Calls(channel=TCP_CHANNEL, level=6)
    packets = made(make.exchange(6, Missing.SEALED, Missing.SEALED), unwritten=unwritten)
    assert (unwritten.sealed, unwritten.dropped) == (2, 0)
    request, response = pdus(packets)
    # auth_length, and the security trailer behind the stub, as they came.
    assert struct.unpack_from("<H", request, 10) == struct.unpack_from("<H", response, 10) == (16,)
    assert request[-24:-16] == struct.pack("<BBBBI", 10, 6, 0, 0, 0)
    assert "call 1: request of PerflibV2QueryCounterData; as captured, still sealed; from frame 1 of a.pcap" in {
        packet.comment for packet in packets
    }


def test_of_a_call_that_is_not_whole_each_fragment_is_unsealed_alone() -> None:
    make = Calls(channel=TCP_CHANNEL, level=6)
    asked = make.exchange(3, b"abcdefgh", None, state="partial")
    (request,) = pdus(made(asked))
    assert request[:4] == bytes([5, 0, 0, 3])
    assert struct.unpack_from("<HHI", request, 8) == (32, 0, 1)
    assert request[24:] == b"abcdefgh"


@pytest.mark.parametrize("over_tcp", [True, False])
def test_bytes_that_a_pdu_lacks_are_a_hole(over_tcp: bool) -> None:
    """The lengths are those of the whole message, and the next begins behind it (RFC 9293 section 3.4)."""
    make = Calls(channel=TCP_CHANNEL if over_tcp else CHANNEL)
    first, then = make.exchange(3, b"abcdefgh", None, state="partial"), make.exchange(4, b"more", None)
    fragment = first.request.pdus[0]
    cut = Fragment(fragment.pdu[:-5], fragment.stub_start, fragment.stub_stop - 5, Missing.NOT_CAPTURED)
    packets = made(replace(first, request=replace(first.request, pdus=(cut,))), then)
    sent = [packet for packet in packets if packet.comment.startswith("call ")]
    assert [len(payload(packet)) for packet in sent] == ([27, 28] if over_tcp else [4 + 64 + 56 + 27, 4 + 64 + 56 + 28])
    assert dissected(sent[1])[TCP].seq - dissected(sent[0])[TCP].seq == len(payload(sent[0])) + 5
    if not over_tcp:
        message = payload(sent[0])
        assert int.from_bytes(message[:4], "big") == 64 + 56 + 32
        assert struct.unpack_from("<I", message, 4 + 64 + 28) == (32,)


def test_messages_that_were_not_kept_are_counted_and_left_out() -> None:
    unwritten = Unwritten()
    asked = Calls(channel=TCP_CHANNEL).exchange(3, b"abcd", b"efgh")
    assert asked.request is not None
    calls = calls_of(replace(asked, request=replace(asked.request, pdus=())))
    found = pdus(list(packets_of(calls, ["a.pcap"], unwritten)))
    assert [one[24:] for one in found] == [b"efgh"]
    assert (unwritten.dropped, unwritten.sealed) == (1, 0)
    assert list(packets_of([], ["a.pcap"])) == []


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ((3,), "frame 3 of a.pcap"),
        ((3, 4), "frames 3, 4 of a.pcap"),
        (tuple(range(1, 9)), "frames 1, 2, 3, 4, 5, 6, 7, 8 of a.pcap"),
        (tuple(range(1, 10)), "frames 1 to 9 (9 of them) of a.pcap"),
        ((3, frame_id(1, 7), frame_id(1, 8)), "frame 3 of a.pcap, frames 7, 8 of b.pcap"),
        ((frame_id(2, 7),), "frame 7 of 2"),
    ],
)
def test_frames_are_named_with_their_file(frames: tuple[int, ...], words: str) -> None:
    assert frames_in_words(frames, ["a.pcap", "b.pcap"]) == words


def test_the_file_holds_the_packets_and_the_names() -> None:
    out = BytesIO()
    make = Calls(channel=TCP_CHANNEL)
    calls = calls_of(make.exchange(3, b"abcd", b"efgh"))
    assert write_conversation(calls, out, files=["a.pcap", "b.pcap"], names={"10.0.0.1": ["SRV1"]}) == 9
    data = out.getvalue()
    assert b"decrypted from a.pcap, b.pcap: TCP, SMB2 headers and binds are made anew" in data
    assert b"SRV1\0" in data
    assert all(packet.data in data for packet in packets_of(calls, ["a.pcap", "b.pcap"]))
