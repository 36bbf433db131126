"""Channels of DCERPC on TCP (C706 section 12.6): which bytes go where, and where a PDU may begin."""

import pytest

from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.channel.channels import ChannelBatch, ChannelClosed, ChannelGap, Channels, TcpChannels
from analyzer.transport.tcp.stream_events import Connection, Gap, Recognised, StreamBatch, StreamClosed

CLIENT, SERVER = Endpoint("192.0.2.1", 50000), Endpoint("192.0.2.2", 49664)
CONNECTION = Connection(7, CLIENT, SERVER, True)
# The header of a request ([MS-RPCE] section 2.2.2, C706 section 12.6.3.1), and what begins like none.
PDU = bytes.fromhex("050000031000000018000000010000000000000000000000")
REST = b"rest of a stub that went on before"


def opened(client_direction: int = 0) -> TcpChannels:
    channels = TcpChannels(Channels())
    (event,) = channels.feed(Recognised(CONNECTION, "dcerpc", 1 if client_direction else 0))
    assert isinstance(event, Recognised)
    return channels


def sent(data: bytes, *, reply: bool = False) -> StreamBatch:
    return StreamBatch.of_part(CONNECTION, 1 if reply else 0, 0, TracedBytes.of_frame(data, 1, 0, 1))


def fresh(events: list[Event]) -> list[bool]:
    return [event.fresh for event in events if isinstance(event, ChannelBatch)]


def test_a_pdu_may_begin_with_the_first_bytes_of_each_direction_and_behind_a_gap() -> None:
    channels = opened()
    assert fresh(channels.feed(sent(REST))) == [True]
    assert fresh(channels.feed(sent(REST))) == [False]
    assert fresh(channels.feed(sent(REST, reply=True))) == [True]
    assert fresh(channels.feed(sent(REST, reply=True))) == [False]
    (gap,) = channels.feed(Gap(CONNECTION, 1, 0, 5, (3,), "lost"))
    assert isinstance(gap, ChannelGap)
    assert (gap.from_client, gap.length, gap.frames, gap.reason) == (False, 5, (3,), "lost")
    # In the other direction nothing was lost.
    assert fresh(channels.feed(sent(REST))) == [False]
    assert fresh(channels.feed(sent(REST, reply=True))) == [True]


def test_a_pdu_may_begin_where_bytes_look_like_its_header() -> None:
    channels = opened()
    channels.feed(sent(REST))
    assert fresh(channels.feed(sent(PDU))) == [True]
    assert fresh(channels.feed(sent(PDU[:3]))) == [False]


def test_each_part_of_a_batch_goes_its_own_way_and_empty_ones_nowhere() -> None:
    channels = opened()
    data = TracedBytes.of_frame(PDU + b"answer" + PDU, 1, 0, 1)
    borders = [0, len(PDU), len(PDU) + 6, len(PDU) + 6, len(data)]
    batch = StreamBatch(CONNECTION, 0, 0, data, borders, [False, True, False, False])
    out = [event for event in channels.feed(batch) if isinstance(event, ChannelBatch)]
    assert [(event.from_client, event.spans) for event in out] == [
        (True, [(data, 0, len(PDU))]),
        (False, [(data, len(PDU), len(PDU) + 6)]),
        (True, [(data, len(PDU) + 6, len(data))]),
    ]
    assert {event.smb for event in out} == {None}


@pytest.mark.parametrize("client_direction", [0, 1])
def test_a_channel_has_the_ends_of_its_connection_by_who_is_the_client(client_direction: int) -> None:
    channels = opened(client_direction)
    (batch,) = channels.feed(sent(PDU))
    assert isinstance(batch, ChannelBatch)
    assert batch.from_client == (client_direction == 0)
    ends = (CLIENT, SERVER) if client_direction == 0 else (SERVER, CLIENT)
    channel = batch.channel
    assert (channel.client, channel.server, channel.transport, channel.pipe) == (*ends, "ncacn_ip_tcp", None)
    assert channels.feed(StreamClosed(CONNECTION, "fin")) == [ChannelClosed(channel)]
    # It is gone: what comes now is of nobody.
    late = sent(PDU)
    assert channels.feed(late) == [late]


def test_connections_of_other_protocols_pass_unchanged_and_the_end_closes_what_is_open() -> None:
    channels = TcpChannels(Channels())
    passing: list[Event] = [Recognised(CONNECTION, "smb", 0), sent(PDU), StreamClosed(CONNECTION, "fin")]
    assert [channels.feed(event) for event in passing] == [[event] for event in passing]
    channels = opened()
    (closed,) = channels.finish()
    assert isinstance(closed, ChannelClosed)
    assert (closed.channel.number, channels.finish()) == (0, [])


def test_channels_are_numbered_as_they_are_met() -> None:
    channels = Channels()
    pipe = channels.pipe(CLIENT, SERVER, "winreg", 3, None, 2)
    assert (pipe.number, pipe.transport, pipe.pipe, pipe.session, pipe.impersonation) == (0, "ncacn_np", "winreg", 3, 2)
    assert channels.tcp(CLIENT, SERVER).number == 1
