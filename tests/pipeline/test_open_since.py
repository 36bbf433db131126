"""Layers say since when something waits in them for what is still to come."""

from analyzer.auth.keyring import Keyring
from analyzer.core.traced_bytes import TracedBytes
from analyzer.transport.channel.channels import ChannelBatch
from analyzer.transport.packet.segment import SegmentBatch
from analyzer.transport.rpc.exchange_maker import OpenCall
from analyzer.transport.rpc.rpc_layer import RpcLayer
from analyzer.transport.smb.smb_framing import Framing
from analyzer.transport.tcp.reassembler import Reassembler
from tests.build.packet import smb2
from tests.build.rpc import CHANNEL, SMB, request, response
from tests.build.tcp import Talk


def test_what_lies_behind_a_hole_waits() -> None:
    talk = Talk()
    hello = talk.open()
    lost, later = talk.c(b"x" * 10), talk.c(b"y" * 10)
    layer = Reassembler()
    for segment in (*hello, later):
        layer.feed(SegmentBatch.of_segment(segment))
    assert layer.open_since(0) == later.time_ns
    assert layer.open_since(later.time_ns + 1) is None
    layer.feed(SegmentBatch.of_segment(lost))
    assert layer.open_since(0) is None


def test_a_connection_whose_beginning_is_not_known_waits() -> None:
    segment = Talk().c(b"x" * 10)
    layer = Reassembler()
    layer.feed(SegmentBatch.of_segment(segment))
    assert layer.open_since(0) == segment.time_ns
    assert layer.open_since(segment.time_ns + 1) is None


def test_a_message_that_is_not_whole_waits() -> None:
    message = b"\0\0\0\x40" + smb2()[4:68].ljust(64, b"\0")
    framing = Framing("from somebody")
    framing.feed(TracedBytes.of_frame(message[:20], 1, 0, 700))
    assert framing.since_ns == 700
    framing.feed(TracedBytes.of_frame(message[20:], 2, 0, 800))
    assert framing.since_ns is None


def fed(layer: RpcLayer, data: bytes, frame: int, *, from_client: bool) -> None:
    layer.feed(
        ChannelBatch.of_span(CHANNEL, from_client, TracedBytes.of_frame(data, frame, 0, frame * 100), SMB, fresh=True)
    )


def test_a_call_waits_for_its_answer() -> None:
    layer = RpcLayer(Keyring())
    fed(layer, request(6, b"ask", call_id=3), 5, from_client=True)
    assert layer.open_since(0) == 500
    assert layer.open_since(501) is None
    assert list(layer.open_before(500)) == []
    assert list(layer.open_before(501)) == [OpenCall(CHANNEL.number, 3, (500, 5))]
    fed(layer, response(b"answer", call_id=3), 6, from_client=False)
    assert layer.open_since(0) is None
    assert list(layer.open_before(1000)) == []


def test_an_answer_without_its_request_is_under_way_and_holds_nobody_up() -> None:
    layer = RpcLayer(Keyring())
    fed(layer, response(b"answer", call_id=3), 6, from_client=False)
    assert layer.open_since(0) is None
    assert list(layer.open_before(1000)) == [OpenCall(CHANNEL.number, 3, (600, 6))]


def test_a_part_of_a_pdu_waits() -> None:
    layer = RpcLayer(Keyring())
    fed(layer, request(6, b"ask")[:20], 5, from_client=True)
    assert layer.open_since(0) == 500
