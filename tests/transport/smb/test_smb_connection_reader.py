"""What a connection is, recognised from its first bytes, and the framing below SMB."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.events import Event, Problem
from analyzer.core.traced_bytes import TracedBytes, untraced
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.channel.channel_events import ChannelBatch, ChannelClosed, ChannelGap
from analyzer.transport.smb.smb_framing import Framing, Hole, Message
from analyzer.transport.smb.trees_and_opens import pipe_name
from analyzer.transport.tcp.protocol_recognition import looks_like_dcerpc
from analyzer.transport.tcp.stream_events import Connection, Direction, Gap, StreamBatch
from tests.build.smb import CLIENT, SERVER, Talk, framed, pdu, smb2, stream
from tests.transport.smb.run import ASK, SAY, only, run, session_of, stated

RPC = Connection(3, Endpoint("10.0.0.2", 50000), Endpoint("10.0.0.1", 49664), True)
BIND, BIND_ACK = pdu(11, 1), pdu(12, 1)


def test_dcerpc_on_tcp_is_one_channel() -> None:
    out = run(stream([(0, BIND), (1, BIND_ACK), (0, ASK), (1, SAY)], RPC))
    assert stated(out) == [(0, True, BIND), (0, False, BIND_ACK), (0, True, ASK), (0, False, SAY)]
    channel = only(out, ChannelBatch)[0].channel
    assert (channel.transport, channel.client, channel.pipe) == ("ncacn_ip_tcp", RPC.a, None)
    assert only(out, ChannelClosed) == [ChannelClosed(channel)]


def test_who_answers_is_the_server_even_if_it_is_seen_first() -> None:
    turned = Connection(3, RPC.b, RPC.a, False)
    out = run(stream([(0, BIND_ACK), (1, ASK)], turned))
    assert only(out, ChannelBatch)[0].channel.client == RPC.a
    assert [client for _, client, _ in stated(out)] == [False, True]


def test_a_gap_in_dcerpc_on_tcp_is_a_channel_gap() -> None:
    items: list[Event] = [
        StreamBatch.of(RPC, 0, 0, untraced(BIND)),
        Gap(RPC, 0, len(BIND), 100, (4, 5), "not captured"),
        StreamBatch.of(RPC, 0, len(BIND) + 100, untraced(ASK)),
    ]
    out = run(items)
    (gap,) = only(out, ChannelGap)
    assert (gap.length, gap.frames, gap.from_client) == (100, (4, 5), True)
    assert [item.fresh for item in only(out, ChannelBatch)] == [True, True]


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03", bytes(40)])
def test_other_traffic_is_not_ours_and_reported_once(first: bytes) -> None:
    connection = Connection(8, CLIENT, Endpoint("10.0.0.9", 8080), True)
    out = run(stream([(0, first), (1, first), (0, framed(smb2(0, b"", 0)))], connection))
    assert out == []


def test_a_stream_taken_up_inside_a_message_is_found() -> None:
    sent = Talk().begin().tree().open().transceive(ASK, SAY).sent
    events = stream(sent, Connection(1, CLIENT, Endpoint("10.0.0.1", 4451), False))
    first = events[0]
    assert isinstance(first, StreamBatch)
    events[0] = StreamBatch.of(first.connection, first.direction, 0, first.data[30:])
    out = run(events)
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    (problem,) = only(out, Problem)
    assert "passed over" in problem.text


def test_a_gap_before_the_first_bytes_is_reported() -> None:
    whole = stream(Talk().begin().tree().open().transceive(ASK, SAY).sent)
    first = next(event for event in whole if isinstance(event, StreamBatch) and event.direction == 1)
    events: list[Event] = [Gap(first.connection, 1, 0, len(first.data), (1,), "not captured")]
    out = run(events + [event for event in whole if event is not first])
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    assert [problem.kind for problem in only(out, Problem)] == ["gap"]
    assert session_of(out).dialect is None


@pytest.mark.parametrize("port", [445, 4451])
def test_a_header_may_lie_across_chunks_behind_other_bytes(port: int) -> None:
    connection = Connection(1, CLIENT, Endpoint("10.0.0.1", port), False)
    sent: list[tuple[Direction, bytes]] = [(0, b"x" * 5000), (1, b"y" * 5000)]
    out = run(stream(sent + Talk().begin().tree().open().transceive(ASK, SAY).sent, connection, cuts=[3]))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]


def netbios(name: str) -> bytes:
    raw = name.ljust(15).encode() + b"\x20"
    return b"\x20" + b"".join(bytes((0x41 + (byte >> 4), 0x41 + (byte & 15))) for byte in raw) + b"\0"


def test_a_netbios_session_names_its_ends() -> None:
    connection = Connection(0, CLIENT, Endpoint("10.0.0.1", 139), True)
    names = netbios("FILES") + netbios("CLIENT7")
    request = b"\x81\0" + struct.pack(">H", len(names)) + names
    sent: list[tuple[Direction, bytes]] = [(0, request), (1, b"\x82\0\0\0"), (0, b"\x85\0\0\0")]
    out = run(stream(sent + Talk().begin().tree().open().transceive(ASK, SAY).sent, connection))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    session = session_of(out)
    assert ("10.0.0.1", "FILES", "NetBIOS session request") in session.hosts
    assert ("10.0.0.2", "CLIENT7", "NetBIOS session request") in session.hosts


def test_a_server_called_by_the_name_of_all_servers_is_not_named() -> None:
    """[MS-NBTE] and RFC 1001 know no host `*SMBSERVER`: clients call so what they have only an address of."""
    connection = Connection(0, CLIENT, Endpoint("10.0.0.1", 139), True)
    names = netbios("*SMBSERVER") + netbios("CLIENT7")
    sent: list[tuple[Direction, bytes]] = [(0, b"\x81\0" + struct.pack(">H", len(names)) + names), (1, b"\x82\0\0\0")]
    session = session_of(run(stream(sent + Talk().begin().sent, connection)))
    assert session.hosts == (("10.0.0.2", "CLIENT7", "NetBIOS session request"),)


def test_pipe_names() -> None:
    assert {pipe_name(path) for path in ("winreg", "\\PIPE\\WinReg", "\\winreg", "PIPE\\\\winreg", "/pipe/winreg")} == {
        "winreg"
    }


def test_what_looks_like_dcerpc() -> None:
    assert looks_like_dcerpc(BIND)
    big = b"\5\0\0\3\0\0\0\0\0\x18\0\0\0\0\0\1"
    assert looks_like_dcerpc(big)
    assert not looks_like_dcerpc(b"\5\0\0\3\x10\0\0\0\5\0\0\0")
    assert not looks_like_dcerpc(b"\5\2" + BIND[2:])
    assert not looks_like_dcerpc(BIND[:9])


# Framing by itself

MESSAGES = [smb2(14, bytes([number]) * (number * 7), number) for number in range(1, 9)]
STREAM = b"".join(framed(message) for message in MESSAGES)


def traced(data: bytes, start: int = 0) -> TracedBytes:
    return TracedBytes.of_frame(data, 1, start)


def hole(length: int | None, frames: tuple[int, ...]) -> Gap:
    return Gap(RPC, 0, 0, length, frames, "lost")


@settings(max_examples=150)
@given(st.integers(0, len(STREAM) - 1), st.integers(1, 300))
def test_a_hole_costs_only_the_messages_it_touches(start: int, length: int) -> None:
    stop = min(start + length, len(STREAM))
    framing = Framing("test")
    found = [*framing.feed(traced(STREAM[:start])), *framing.feed(hole(stop - start, (1,)))]
    found += [*framing.feed(traced(STREAM[stop:], stop)), *framing.finish()]
    wholes = [event.head.data for event in found if isinstance(event, Message) and event.whole]
    expected, at = [], 0
    for message in MESSAGES:
        end = at + 4 + len(message)
        if end <= start or at >= stop:
            expected.append(message)
        at = end
    assert wholes == expected
    # In between, what was captured stands where it stood.
    for event in found:
        if isinstance(event, Message) and not event.whole:
            assert (
                sum(
                    part.length if isinstance(part, Hole) else part[2] - part[1]
                    for part in event.spans(0, event.length)
                )
                == event.length
            )


@settings(max_examples=100)
@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 3)), max_size=12))
def test_any_bytes_and_gaps_give_events_and_nothing_else(pieces: list[tuple[bytes, int]]) -> None:
    connection = Connection(0, CLIENT, SERVER, False)
    events: list[Event] = []
    offset = 0
    for data, kind in pieces:
        if kind == 0:
            events.append(Gap(connection, 0, offset, len(data), (1,), "lost"))
        else:
            noise = b"" if kind == 1 else framed(b"\xfeSMB\x40\0" if kind == 2 else b"\xffSMB")
            data = noise + data
            events.append(StreamBatch.of(connection, 0, offset, traced(data)))
        offset += len(data)
    assert all(isinstance(event, Event) for event in run(events))
