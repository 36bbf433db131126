"""What a crosscheck prints of its result, whole, for people and for programs."""

from __future__ import annotations

import pytest

from analyzer.pipeline.tshark_crosscheck import CrosscheckResult, PairingDifference, PduDifference, SeenPdu

REQUEST, ANSWER = SeenPdu(0, 7, 3, 100, (1, 2, 3, 4)), SeenPdu(2, 7, 3, 60, (1, 2, 3, 4, 5))
STRANGE = SeenPdu(77, 8, 0, 16, (9,))
AGREEING = CrosscheckResult("a.pcap", False, 3, (("request", 2), ("response", 1)), (), (), 1, (), None)
DIFFERING = CrosscheckResult(
    "a.pcap",
    True,
    0,
    (),
    (PduDifference(REQUEST, "hidden", False), PduDifference(ANSWER, "not shown", True)),
    (PduDifference(STRANGE, "ours lacks it", True),),
    4,
    (
        PairingDifference(7, (1, 2, 3, 4), (5, 6, 7, 8, 9), None, None, "the bind is lost"),
        PairingDifference(8, (), (), 3, 4),
        PairingDifference(9, (1,), (2,), 1, None),
    ),
    "a complaint",
)


def test_a_result_that_agrees() -> None:
    assert AGREEING.agrees
    assert AGREEING.to_text() == (
        "a.pcap, beside tshark not sorting TCP segments (tcp.reassemble_out_of_order)\n"
        "3 PDUs the same (2 request, 1 response)\n"
        "0 only ours\n"
        "0 only tshark's\n"
        "1 pairings the same, 0 different\n"
    )


def test_a_result_with_every_kind_of_difference() -> None:
    assert not DIFFERING.agrees
    assert DIFFERING.contradictions == 4
    assert DIFFERING.to_text() == (
        "a.pcap, beside tshark sorting TCP segments (tcp.reassemble_out_of_order)\n"
        "0 PDUs the same\n"
        "2 only ours\n"
        "  lacks  frame 1, 2, 3, 4: request, call 7, 100 bytes; hidden\n"
        "  contradicts  frame 1, 2, 3, 4 ...: response, call 7, 60 bytes; not shown\n"
        "1 only tshark's\n"
        "  contradicts  frame 9: type 77, call 8, 16 bytes; ours lacks it\n"
        "4 pairings the same, 3 different\n"
        "  lacks  call 7: ours 1, 2, 3, 4 -> 5, 6, 7, 8 ..., tshark does not pair them; the bind is lost\n"
        "  contradicts  call 8: ours none -> none, tshark pairs 3 -> 4\n"
        "  contradicts  call 9: ours 1 -> 2, tshark pairs 1 -> None\n"
        "4 of 6 differences contradict; the others are what tshark lacks the knowledge for\n"
        "tshark: a complaint\n"
    )


@pytest.mark.parametrize("result", [AGREEING, DIFFERING])
def test_a_document_says_the_same(result: CrosscheckResult) -> None:
    found = result.to_json()
    assert (found["record"], found["schema"], found["file"]) == ("crosscheck", 1, "a.pcap")
    assert (found["agrees"], found["contradictions"]) == (result.agrees, result.contradictions)
    assert found["same_by_type"] == dict(result.same_by_type)
    for name in ("only_ours", "only_tshark"):
        differences = getattr(result, name)
        assert [entry["frames"] for entry in found[name]] == [list(one.pdu.frames) for one in differences]
    pairs = [
        (entry["call_id"], entry["request"], entry["response"], entry["kind"]) for entry in found["pairings_different"]
    ]
    assert pairs == [
        (one.call_id, list(one.request), list(one.response), "contradicts" if one.contradicts else "lacks")
        for one in result.pairings_different
    ]
