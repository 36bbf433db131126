"""The view model of a call: layers with their trees, ranges and frames; rows; what each display is made from."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.traced_bytes import TracedBytes
from analyzer.pipeline.packet_rereading import packets_of
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis
from analyzer.results.captured_packets import CapturedFrame
from analyzer.results.records.display_records import CARRIERS, CallView, LayerBytes, Node, Run
from analyzer.screens.viewmodel.call_layers import NOT_READ, call_view
from analyzer.screens.viewmodel.call_list import rows
from analyzer.screens.viewmodel.carrier_layers import frame_tree, message_tree, sent_tree
from analyzer.screens.viewmodel.layer_fields import runs_of
from tests import truth
from tests.build import packet, rpc, smb
from tests.build.buffers import identifier
from tests.build.calls import COUNTERSET, HANDLE, Calls, analysis_of, sealed
from tests.build.capture import pcap, read
from tests.page import analysis_named

CAPTURES = {capture.file: capture for capture in truth.captures()}


def with_packets(file: str) -> Analysis:
    capture, analysis = CAPTURES[file], analysis_named(file)
    return replace(analysis, packets=packets_of([capture.path], analysis, Keyring.load(capture.secrets_path)))


def layer(view: CallView, id: str) -> LayerBytes:
    return next(layer for side in view.sides for layer in side.layers if layer.id == id)


def analysis_of_pieces(path: Path, pieces: list[tuple[int, bytes]], port: int = 445) -> Analysis:
    """What is read of a connection that sent these pieces, a frame each, with its packets."""
    ends = (packet.CLIENT, 50000), (packet.SERVER, port)
    sent, frames = [1000, 2000], []
    for number, (direction, data) in enumerate(pieces):
        (src, sport), (dst, dport) = ends[direction], ends[1 - direction]
        segment = packet.tcp(data, sport=sport, dport=dport, seq=sent[direction], ack=sent[1 - direction])
        frames.append((packet.T0 + number * 1000, packet.ethernet(packet.ipv4(segment, src=src, dst=dst))))
        sent[direction] += len(data)
    path.write_bytes(pcap(frames))
    analysis = analyze([path])
    return replace(analysis, packets=packets_of([path], analysis, Keyring()))


def leaves(view: CallView, id: str) -> list[Node]:
    tree = layer(view, id).tree
    return list(tree.leaves())


def leaves_cover(tree: Node, length: int) -> None:
    """The leaves follow each other without gap or overlap from 0 to the end."""
    at = 0
    for leaf in sorted(tree.leaves(), key=lambda one: one.start):
        assert leaf.start == at, leaf
        at = leaf.stop
    assert at == length


def test_the_request_of_a_faulted_call_has_its_fields() -> None:
    make = Calls()
    view = call_view(analysis_of(make.faulted(6, make.stub().handle(HANDLE).uint(4096), 0x1C00001A)), 1)
    tree = layer(view, "request.stub").tree
    assert ("dwInSize", 4096) in [(leaf.spelling, leaf.value) for leaf in tree.leaves()]
    pdu = layer(view, "response.pdu1").tree
    assert "nca_s_fault_context_mismatch" in [leaf.meaning for leaf in pdu.leaves()]
    assert layer(view, "response.stub").tree is None
    assert view.row.outcome == "failed"


def test_the_answer_of_validate_counters_has_its_fields() -> None:
    asked = identifier(COUNTERSET)
    view = call_view(analysis_of(Calls().validate(asked)), 1)
    tree = layer(view, "response.stub").tree
    assert ("(return value)", 0) in [(leaf.spelling, leaf.value) for leaf in tree.leaves()]
    leaves_cover(tree, len(layer(view, "response.stub").data))


@pytest.mark.parametrize("file", [capture.file for capture in truth.handful()])
def test_each_layer_is_where_it_says(file: str) -> None:
    analysis = with_packets(file)
    frames = {frame.frame: frame.data for frame in read([CAPTURES[file].path])[0]}
    for number, call in enumerate(analysis.calls, 1):
        view = call_view(analysis, number)
        for side in view.sides:
            layers = {layer.id: layer for layer in side.layers}
            assert len(layers) == len(side.layers)
            for one in side.layers:
                place = f"{file}, call {number}, {one.id}"
                found = b"".join(frames[run.frame][run.start : run.start + run.length] for run in one.runs)
                assert len(found) == len(one.data), place
                if not one.steps:
                    assert found == one.data, place
                if one.parent is not None:
                    assert layers[one.parent].data[one.offset : one.offset + len(one.data)] == one.data, place
                if one.kind in CARRIERS:
                    assert one.tree is not None, place
                    leaves_cover(one.tree, len(one.data))
                if one.kind == "pdu":
                    assert one.tree is not None, place
                    leaves_cover(one.tree, len(one.data))
                    numbers = {leaf.name: leaf.value for leaf in one.tree.leaves()}
                    assert (numbers["call_id"], numbers["frag_length"]) == (call.call_id, len(one.data)), place


def test_frames_tcp_and_smb_lie_around_each_other() -> None:
    view = call_view(with_packets("pcq_smbd_scapy_impacket_smb311_ntlm_privacy_ipv6.pcap"), 5)
    assert [side.lacking for side in view.sides] == [None, None]
    ids = ["request.frame1", "request.tcp1", "request.smb1", "request.pdu1", "request.sealed1", "request.stub"]
    assert [one.id for one in view.sides[0].layers][:6] == ids
    parents = [(layer(view, id).parent, layer(view, id).offset) for id in ids[1:5]]
    assert parents == [(None, 0), ("request.tcp1", 4), ("request.smb1", 112), ("request.pdu1", 24)]
    frame = {leaf.spelling: (leaf.value, leaf.meaning) for leaf in leaves(view, "request.frame1")}
    assert frame["EtherType"] == (0x86DD, "IPv6")
    assert frame["Destination Address"][1] == "::1"
    assert frame["Destination Port"] == (445, None)
    assert frame["Control bits"][1] == "PSH | ACK"
    sent = {leaf.spelling: leaf.value for leaf in leaves(view, "request.tcp1")}
    assert (sent["Type"], sent["StreamProtocolLength"]) == (0, len(layer(view, "request.smb1").data))
    smb = {leaf.spelling: leaf.meaning for leaf in leaves(view, "request.smb1")}
    assert smb["Command"] == "WRITE"
    assert {leaf.spelling: leaf.meaning for leaf in leaves(view, "response.smb1")}["Command"] == "READ"


def test_an_encrypted_message_shows_what_encrypts_it_and_what_it_is() -> None:
    file = "v1_samba_sambapy_smb311gcm256_krb5aes256_seal.pcap"
    view = call_view(with_packets(file), 3)
    sent, message = layer(view, "request.tcp1"), layer(view, "request.smb1")
    found = {leaf.name: leaf.value for leaf in leaves(view, "request.tcp1")}
    assert found["original_message_size"] == len(message.data)
    assert (message.steps, message.parent, sent.steps) == (("smb3-decrypt",), None, ())
    assert "encrypted" in found
    assert layer(view, "request.pdu1").parent == "request.smb1"


def test_a_message_whose_framing_header_came_alone_has_the_frames_of_both(tmp_path: Path) -> None:
    talk = smb.Talk().begin().tree().open()
    talk.write(rpc.bind()).read(rpc.bind_ack())
    talk.transceive(rpc.request(2, bytes(8), call_id=2), rpc.response(bytes(8), call_id=2))
    pieces = [(direction, part) for direction, message in talk.sent for part in (message[:4], message[4:])]
    view = call_view(analysis_of_pieces(tmp_path / "made.pcap", pieces), 1)
    assert [one.id for one in view.sides[0].layers][:3] == ["request.frame1", "request.frame2", "request.tcp1"]
    assert [leaf.value for leaf in leaves(view, "request.frame1")][-1] == layer(view, "request.tcp1").data[:4].hex()
    assert len(layer(view, "request.tcp1").frames) == 2


def test_pdus_on_tcp_alone_are_its_payload(tmp_path: Path) -> None:
    pieces = [(0, rpc.bind()), (1, rpc.bind_ack()), (0, rpc.request(2, bytes(8))), (1, rpc.response(bytes(8)))]
    view = call_view(analysis_of_pieces(tmp_path / "made.pcap", pieces, port=49200), 1)
    assert [one.kind for one in view.sides[0].layers] == ["frame", "tcp", "pdu", "stub"]
    assert layer(view, "request.tcp1").data == layer(view, "request.pdu1").data == pieces[2][1]
    assert (layer(view, "request.pdu1").parent, layer(view, "request.pdu1").offset) == ("request.tcp1", 0)


@given(
    st.binary(max_size=200), st.sampled_from([b"", b"\xfeSMB@\0", b"\xffSMB", b"\xfdSMB", b"\xfcSMB"]), st.booleans()
)
def test_any_bytes_have_fields_that_cover_them(data: bytes, magic: bytes, is_framed: bool) -> None:
    leaves_cover(message_tree(magic + data), len(magic + data))
    head = b"\0\0\0\1" if is_framed else b""
    leaves_cover(sent_tree(head + magic + data, is_framed=is_framed), len(head + magic + data))
    frame = packet.ethernet(data, 0x86DD if is_framed else 0x0800)
    leaves_cover(frame_tree(CapturedFrame(1, 1, frame, len(frame))), len(frame))


def test_without_packets_the_reason_stands_in_their_place() -> None:
    analysis = analysis_of(Calls().open_query())
    packets = packets_of(["tests/pipeline/case-8.pcq"], analysis, Keyring())
    view = call_view(replace(analysis, packets=packets), 1)
    assert {side.lacking for side in view.sides} == {"a case does not hold captured packets"}
    assert {one.kind for side in view.sides for one in side.layers} == {"pdu", "stub"}
    assert {side.lacking for side in call_view(analysis, 1).sides} == {NOT_READ}


def test_packets_beyond_the_most_are_left_out_with_the_reason() -> None:
    file = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
    analysis, path = analysis_named(file), CAPTURES[file].path
    packets = packets_of([path], analysis, Keyring.load(CAPTURES[file].secrets_path), most_bytes=2 << 10)
    view = call_view(replace(analysis, packets=packets), len(analysis.calls))
    assert {side.lacking for side in view.sides} == {"it is beyond the first 0 MiB of packets with calls"}
    assert "frame" in {one.kind for one in call_view(replace(analysis, packets=packets), 1).sides[0].layers}


def test_what_is_sealed_is_a_layer_of_its_pdu_without_a_tree() -> None:
    make = Calls()
    view = call_view(analysis_of(sealed(make.exchange(6, make.stub().handle(HANDLE).uint(4096), None))), 1)
    (side,) = view.sides
    assert [one.kind for one in side.layers] == ["pdu", "sealed"]
    unread = layer(view, "request.sealed1")
    assert (unread.parent, unread.tree, unread.undone_by, unread.problem) == ("request.pdu1", None, (), "sealed")
    assert side.missing == "sealed"
    assert view.row.outcome == "sealed"


def test_bytes_that_were_compressed_came_from_all_of_what_was_captured() -> None:
    plain = TracedBytes.of_frame(b"abcd", 1, 100)
    expanded = TracedBytes.of_frame(b"xy", 2, 50).replaced(b"0123456789", "LZ77")
    runs = runs_of(TracedBytes.join([plain, expanded]))
    assert {(run.frame, run.start, run.length) for run in runs} == {(1, 100, 4), (2, 50, 2)}
    made = LayerBytes(id="a", kind="stub", title="", data=b"abcd0123456789", runs=runs, steps=())
    assert made.frames_at(0, 4) == ((0, 1),)
    assert made.frames_at(3, 5) == ((0, 1), (0, 2))
    assert made.frames_at(7, 8) == ((0, 2),)
    assert made.frames_at(4, 4) == ()
    assert [run.length for run in made.runs_at(1, 3)] == [2]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=8), st.integers(-1, 30), st.integers(-1, 30))
def test_the_places_of_some_bytes_are_those_of_the_runs_they_lie_in(
    parts: list[tuple[int, int]], start: int, stop: int
) -> None:
    """Parts as they were captured (frames 1), and such as were compressed, in one or two frames."""
    runs, at = [], 0
    for length, frames in parts:
        runs += [Run(at, at + length, 1 + frame, 0, 100, 40 if frames else length) for frame in range(max(frames, 1))]
        at += length
    layer = LayerBytes(id="a", kind="stub", title="", data=bytes(at), runs=tuple(runs), steps=())
    touched = [run for run in runs if max(run.at, start) < min(run.stop, stop)]
    assert [(run.frame, run.at) for run in layer.runs_at(start, stop)] == [
        (run.frame, max(run.at, start) if run.stop - run.at == run.length else run.at) for run in touched
    ]


def test_a_row_says_what_the_timeline_says() -> None:
    analysis = analysis_named("pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap")
    listed = list(rows(analysis))
    assert [row.number for row in listed] == list(range(1, len(analysis.calls) + 1))
    third = listed[2]
    assert (third.method, third.status, third.outcome) == ("QueryCounterSetRegistrationInfo", "ERROR_SUCCESS", "ok")
    assert third.asked.startswith("Processor Information")
    assert {row.outcome for row in listed} > {"ok", "size"}


def test_bytes_of_a_layer_are_not_in_its_repr() -> None:
    analysis = analysis_named("pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap")
    made = call_view(analysis, 3).sides[0].layers[0]
    assert "data=" not in repr(made)
    assert made.data.hex() not in repr(made)
