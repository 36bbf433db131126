"""What a connection is, recognised from its first bytes, and the framing below SMB."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.events import Event, Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.channel.channels import ChannelBatch, ChannelClosed
from analyzer.transport.smb.smb_framing import Framing, Hole, Message
from analyzer.transport.smb.trees_and_opens import pipe_name
from analyzer.transport.tcp.stream_events import Connection, Direction, Gap, StreamBatch
from tests.build.smb import CLIENT, SERVER, Talk, framed, netbios_name, pdu, smb2, stream
from tests.transport.smb.run import ASK, SAY, only, run, session_of, stated

RPC = Connection(3, Endpoint("10.0.0.2", 50000), Endpoint("10.0.0.1", 49664), True)
BIND, BIND_ACK = pdu(11, 1), pdu(12, 1)


def test_dcerpc_on_tcp_is_one_channel() -> None:
    out = run(stream([(0, BIND), (1, BIND_ACK), (0, ASK), (1, SAY)], RPC))
    assert stated(out) == [(0, True, BIND), (0, False, BIND_ACK), (0, True, ASK), (0, False, SAY)]
    channel = only(out, ChannelBatch)[0].channel
    assert (channel.transport, channel.client, channel.pipe) == ("ncacn_ip_tcp", RPC.a, None)
    assert only(out, ChannelClosed) == [ChannelClosed(channel)]


def test_a_stream_taken_up_inside_a_message_is_found() -> None:
    sent = Talk().begin().tree().open().transceive(ASK, SAY).sent
    events = stream(sent, Connection(1, CLIENT, Endpoint("10.0.0.1", 4451), False))
    first = events[0]
    assert isinstance(first, StreamBatch)
    events[0] = StreamBatch.of_part(first.connection, first.direction, 0, first.data[30:])
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


# [MS-NBTE] and RFC 1001 know no host `*SMBSERVER`: clients call so what they have only an address of.
@pytest.mark.parametrize(("called", "named"), [("FILES", [("10.0.0.1", "FILES")]), ("*SMBSERVER", [])])
def test_a_netbios_session_names_its_ends(called: str, named: list[tuple[str, str]]) -> None:
    connection = Connection(0, CLIENT, Endpoint("10.0.0.1", 139), True)
    request = b"\x81\0\0\x44" + netbios_name(called) + netbios_name("CLIENT7")
    sent: list[tuple[Direction, bytes]] = [(0, request), (1, b"\x82\0\0\0"), (0, b"\x85\0\0\0")]
    out = run(stream(sent + Talk().begin().tree().open().transceive(ASK, SAY).sent, connection))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    given = [(ip, name) for ip, name, source in session_of(out).hosts if source == "NetBIOS session request"]
    assert sorted(given) == [*named, ("10.0.0.2", "CLIENT7")]


def test_pipe_names() -> None:
    assert {pipe_name(path) for path in ("winreg", "\\PIPE\\WinReg", "\\winreg", "PIPE\\\\winreg", "/pipe/winreg")} == {
        "winreg"
    }


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
    found = [*framing.feed(traced(STREAM[:start])), *framing.gap(hole(stop - start, (1,)))]
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
            events.append(StreamBatch.of_part(connection, 0, offset, traced(data)))
        offset += len(data)
    assert all(isinstance(event, Event) for event in run(events))
