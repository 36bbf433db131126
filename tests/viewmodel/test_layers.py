"""The view model of a call: layers with their trees, ranges and frames; rows; what each display is made from."""

from __future__ import annotations

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.traced import TracedBytes
from analyzer.model.analysis import Analysis
from analyzer.model.view import CallView, Layer, Node
from analyzer.pipeline.run import analyze
from analyzer.viewmodel.layers import call_view, runs_of
from analyzer.viewmodel.rows import rows
from tests import truth
from tests.build.buffers import identifier
from tests.build.calls import COUNTERSET, HANDLE, Calls, analysis_of, sealed
from tests.build.capture import read

CAPTURES = {capture.file: capture for capture in truth.captures()}


def analysis_named(file: str) -> Analysis:
    capture = CAPTURES[file]
    return analyze([capture.path], Keyring.load(capture.secrets_path))


def layer(view: CallView, id: str) -> Layer:
    return next(layer for side in view.sides for layer in side.layers if layer.id == id)


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
    assert tree is not None
    assert ("dwInSize", 4096) in [(leaf.spelling, leaf.value) for leaf in tree.leaves()]
    pdu = layer(view, "response.pdu1").tree
    assert pdu is not None
    assert "nca_s_fault_context_mismatch" in [leaf.meaning for leaf in pdu.leaves()]
    assert layer(view, "response.stub").tree is None
    assert view.row.outcome == "failed"


def test_the_answer_of_validate_counters_has_its_fields() -> None:
    asked = identifier(COUNTERSET)
    view = call_view(analysis_of(Calls().validate(asked)), 1)
    tree = layer(view, "response.stub").tree
    assert tree is not None
    assert ("(return value)", 0) in [(leaf.spelling, leaf.value) for leaf in tree.leaves()]
    leaves_cover(tree, len(layer(view, "response.stub").data))


@pytest.mark.parametrize("file", CAPTURES)
def test_each_layer_is_where_it_says(file: str) -> None:
    analysis = analysis_named(file)
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
                if one.kind == "pdu":
                    assert one.tree is not None, place
                    leaves_cover(one.tree, len(one.data))
                    numbers = {leaf.name: leaf.value for leaf in one.tree.leaves()}
                    assert (numbers["call_id"], numbers["frag_length"]) == (call.call_id, len(one.data)), place


def test_what_is_sealed_is_a_layer_of_its_pdu_without_a_tree() -> None:
    make = Calls()
    view = call_view(analysis_of(sealed(make.exchange(6, make.stub().handle(HANDLE).uint(4096), None))), 1)
    (side,) = view.sides
    assert [one.kind for one in side.layers] == ["pdu", "sealed"]
    shut = layer(view, "request.sealed1")
    assert (shut.parent, shut.tree, shut.undone_by, shut.problem) == ("request.pdu1", None, (), "sealed")
    assert side.missing == "sealed"
    assert view.row.outcome == "sealed"


def test_bytes_that_were_compressed_came_from_all_of_what_was_captured() -> None:
    plain = TracedBytes.of_frame(b"abcd", 1, 100)
    expanded = TracedBytes.of_frame(b"xy", 2, 50).replaced(b"0123456789", "LZ77")
    runs = runs_of(TracedBytes.join([plain, expanded]))
    assert {(run.frame, run.start, run.length) for run in runs} == {(1, 100, 4), (2, 50, 2)}
    made = Layer(id="a", kind="stub", title="", data=b"abcd0123456789", runs=runs, steps=())
    assert made.frames_at(0, 4) == ((0, 1),)
    assert made.frames_at(3, 5) == ((0, 1), (0, 2))
    assert made.frames_at(7, 8) == ((0, 2),)
    assert made.frames_at(4, 4) == ()
    assert [run.length for run in made.runs_at(1, 3)] == [2]


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
