"""What the crosscheck makes of what tshark may show: given here, not asked for, so that no tshark is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.pipeline import crosscheck as module
from analyzer.pipeline.crosscheck import CrosscheckResult, crosscheck
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis
from analyzer.results.connection import Pdu
from analyzer.transport.packet.tshark import Complaint
from analyzer.transport.rpc.pdu import Ptype

CAPTURE = Path(__file__).parents[2] / "captures" / "v1_samba_impacket_smb311_noauth.pcap"
PLAIN = "eth:ip:tcp:nbss:smb2:dcerpc"
NOT_SHOWN = "tshark shows no DCERPC in this frame and says nothing about it"


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyze([CAPTURE])


def layer(pdu: Pdu, **more: Any) -> dict[str, Any]:
    return {
        "dcerpc.ver": "5",
        "dcerpc.pkt_type": str(pdu.ptype),
        "dcerpc.cn_call_id": str(pdu.call_id),
        "dcerpc.cn_flags": hex(pdu.flags),
        "dcerpc.cn_frag_len": str(pdu.length),
        **more,
    }


def shown(
    frame: int, *layers: dict[str, Any], protocols: str = PLAIN, remarks: tuple[str, ...] = ()
) -> module._ShownFrame:
    return module._ShownFrame(frame, protocols, layers, remarks)


def checked(
    monkeypatch: pytest.MonkeyPatch,
    analysis: Analysis,
    theirs: Sequence[module._ShownFrame | Complaint],
    *,
    bound: bool = True,
    out_of_order: bool = False,
    calls: Any = None,
    pdus: Any = None,
) -> CrosscheckResult:
    monkeypatch.setattr(module, "in_thread", lambda _: iter(theirs))
    found = calls if calls is not None else list(analysis.calls)
    return crosscheck(
        CAPTURE,
        analysis.pdus if pdus is None else pdus,
        found,
        analysis.bounds if bound else (),
        out_of_order=out_of_order,
    )


def of_a_call(analysis: Analysis) -> tuple[Any, Pdu, Pdu]:
    """The second call, which has an answer, with the PDUs of both."""
    call = list(analysis.calls)[1]
    assert call.request is not None
    assert call.response is not None
    asked = next(pdu for pdu in analysis.pdus if pdu.frames == call.request.frames)
    answered = next(pdu for pdu in analysis.pdus if pdu.frames == call.response.frames)
    assert (asked.ptype, answered.ptype) == (Ptype.REQUEST, Ptype.RESPONSE)
    return call, asked, answered


@pytest.mark.parametrize(
    ("there", "bound", "out_of_order", "reason", "contradicts"),
    [
        ({"remarks": ("This frame is a (suspected) retransmission",)}, True, True, "suspected", False),
        ({"remarks": ("Out-Of-Order segment",)}, True, False, "(tcp.reassemble_out_of_order is off)", False),
        ({"remarks": ("Malformed Packet",)}, True, True, "tshark says: Malformed Packet", True),
        ({"protocols": "eth:ip:tcp:nbss:smb2"}, True, True, "inside SMB3 encryption, for which", False),
        ({}, True, True, "tshark shows other DCERPC in this frame", True),
        (None, False, True, "the bind is not in the capture", False),
        (None, True, True, NOT_SHOWN, True),
    ],
)
def test_why_tshark_does_not_show_a_pdu(
    there: dict[str, Any] | None,
    bound: bool,
    out_of_order: bool,
    reason: str,
    contradicts: bool,
    analysis: Analysis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, pdu, _ = of_a_call(analysis)
    theirs: list[Any] = [shown(pdu.frames[0], **there)] if there is not None else []
    result = checked(monkeypatch, analysis, theirs, bound=bound, out_of_order=out_of_order, calls=[], pdus=[pdu])
    (difference,) = result.only_ours
    assert reason in difference.reason
    assert difference.contradicts is contradicts
    assert result.agrees is not contradicts


@pytest.mark.parametrize("out_of_order", [True, False])
def test_a_lost_segment_before_may_be_what_tshark_waits_for(
    out_of_order: bool, analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where it was asked to sort segments: else it goes on behind the hole."""
    _, pdu, _ = of_a_call(analysis)
    before = shown(pdu.frames[0] - 1, remarks=("Previous segment(s) not captured",))
    result = checked(monkeypatch, analysis, [before], out_of_order=out_of_order, calls=[], pdus=[pdu])
    (difference,) = result.only_ours
    assert difference.contradicts is not out_of_order
    if out_of_order:
        assert difference.reason.endswith(f"waiting since frame {pdu.frames[0] - 1} for a lost segment")
    else:
        assert difference.reason == NOT_SHOWN


@pytest.mark.parametrize(("away", "is_same"), [(0, True), (64, True), (-64, True), (65, False)])
def test_a_copy_of_a_frame_stands_near_by(
    away: int, is_same: bool, analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    pdu = replace(of_a_call(analysis)[1], frames=(100,))
    result = checked(monkeypatch, analysis, [shown(100 + away, layer(pdu))], calls=[], pdus=[pdu])
    assert result.same == is_same
    assert len(result.only_ours) == len(result.only_tshark) == (not is_same)
    if not is_same:
        assert result.only_tshark[0].reason == "no remark"
        assert result.only_tshark[0].contradicts


def test_what_is_no_pdu_of_a_connection_is_passed_over(analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 4 is the connectionless protocol, and a fragment that tshark did not put together has no type."""
    _, pdu, _ = of_a_call(analysis)
    connectionless = layer(pdu) | {"dcerpc.ver": "4"}
    fragment = {name: value for name, value in layer(pdu).items() if name != "dcerpc.pkt_type"}
    result = checked(monkeypatch, analysis, [shown(9, connectionless, fragment)], calls=[], pdus=[])
    assert result.only_tshark == ()
    assert result.agrees


@pytest.mark.parametrize("ptype", [Ptype.RESPONSE, Ptype.FAULT])
def test_both_ends_of_a_pair_name_the_other(ptype: Ptype, analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either name is enough, and one that is given twice counts once."""
    call, asked, answered = of_a_call(analysis)
    answered = replace(answered, ptype=ptype.value)
    one, two = asked.frames[0], answered.frames[0]
    names_answer = shown(one, layer(asked, **{"dcerpc.response_in": [str(two), "4000"]}))
    names_request = shown(two, layer(answered, **{"dcerpc.request_in": str(one)}))
    nothing = shown(two, layer(answered, **{"dcerpc.request_in": []}))
    for theirs in ([names_answer, nothing], [shown(one, layer(asked)), names_request], [names_answer, names_request]):
        result = checked(monkeypatch, analysis, theirs, calls=[call], pdus=[asked, answered])
        assert (result.pairings_same, result.pairings_different) == (1, ())
        assert result.agrees


def test_a_pair_of_tsharks_alone_contradicts(analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    _, asked, _ = of_a_call(analysis)
    theirs = [shown(asked.frames[0], layer(asked, **{"dcerpc.response_in": "4000"}))]
    result = checked(monkeypatch, analysis, theirs, calls=[], pdus=[asked])
    (difference,) = result.pairings_different
    assert str(difference) == f"call {asked.call_id}: ours none -> none, tshark pairs {asked.frames[0]} -> 4000"
    assert difference.contradicts


@pytest.mark.parametrize("what", ["unbound", "ndr64", "hidden", "remark", "nothing"])
def test_what_tshark_lacks_to_pair_a_call(what: str, analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    call, asked, answered = of_a_call(analysis)
    remarks = ("This frame is a (suspected) retransmission",) if what == "remark" else ()
    theirs = [shown(asked.frames[0], layer(asked)), shown(answered.frames[0], layer(answered), remarks=remarks)]
    if what == "hidden":
        theirs.pop()
    if what == "ndr64":
        call = replace(call, syntax="ndr64")
    result = checked(monkeypatch, analysis, theirs, bound=what != "unbound", calls=[call], pdus=[asked, answered])
    (difference,) = result.pairings_different
    assert (
        difference.lacks
        == {
            "unbound": "the bind is not in the capture, without which tshark pairs nothing",
            "ndr64": "tshark does not pair calls in NDR64",
            "hidden": "tshark does not show one of the two",
            "remark": "tshark says: This frame is a (suspected) retransmission",
            "nothing": None,
        }[what]
    )
    assert difference.contradicts is (what == "nothing")


def test_a_call_that_is_not_whole_is_no_pair(analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    call, asked, _ = of_a_call(analysis)
    result = checked(
        monkeypatch,
        analysis,
        [shown(asked.frames[0], layer(asked))],
        calls=[replace(call, response=None)],
        pdus=[asked],
    )
    assert (result.pairings_same, result.pairings_different) == (0, ())


def test_a_complaint_is_an_error_only_where_nothing_was_shown(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, pdu, _ = of_a_call(analysis)
    complaint = Complaint("The file appears to have been cut short")
    result = checked(monkeypatch, analysis, [shown(pdu.frames[0], layer(pdu)), complaint], calls=[], pdus=[pdu])
    assert result.complaint == complaint.text
    assert result.to_text().endswith(f"tshark: {complaint.text}\n")
    with pytest.raises(InputError, match="tshark: The file appears to have been cut short"):
        checked(monkeypatch, analysis, [complaint], calls=[], pdus=[pdu])


def test_what_tshark_does_not_state_of_a_pdu_is_zero(analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = shown(9, {"dcerpc.ver": "5", "dcerpc.pkt_type": "2"})
    result = checked(monkeypatch, analysis, [bare], calls=[], pdus=[])
    assert [one.pdu for one in result.only_tshark] == [module.SeenPdu(2, 0, 0, 0, (9,))]


def seen(*frames: int, call_id: int = 7) -> module.SeenPdu:
    return module.SeenPdu(0, call_id, 3, 100, frames)


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ([seen(5)], [seen(5)], 1),
        ([seen(4, 5, 6)], [seen(5)], 1),
        # What lies in no frame of ours is looked for from frame 0 on.
        ([seen()], [seen(64)], 1),
        ([seen()], [seen(65)], 0),
        # From the last frame of ours, and the nearest.
        ([seen(1, 100)], [seen(164)], 1),
        ([seen(1, 100)], [seen(165)], 0),
        ([seen(100)], [seen(100, call_id=8)], 0),
        # Each is matched once; who shares a frame goes before who is near.
        ([seen(5), seen(6)], [seen(6)], 1),
        ([seen(5), seen(5)], [seen(5)], 1),
        ([seen(5), seen(6)], [seen(6), seen(7)], 2),
    ],
)
def test_pdus_are_matched_by_frame_and_then_near_by(
    ours: list[module.SeenPdu], theirs: list[module.SeenPdu], same: int
) -> None:
    matched, only_ours, only_theirs = module._compare(ours, theirs)
    assert (len(matched), len(only_ours), len(only_theirs)) == (same, len(ours) - same, len(theirs) - same)


def test_the_nearest_of_several_copies_is_matched() -> None:
    matched, _, left = module._compare([seen(100)], [seen(150), seen(90), seen(120)])
    assert matched == [(seen(100), seen(90))]
    assert left == [seen(120), seen(150)]


def test_a_pdu_of_several_segments_is_paired_by_any_of_its_frames(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tshark names the frame in which it had the whole, which may be one that we do not count to it."""
    call, asked, answered = of_a_call(analysis)
    one, two = asked.frames[0], answered.frames[0]
    late, later = one + 1000, one + 1010
    shown_in = {(asked.call_id, late): (one,), (asked.call_id, later): (two,)}

    def pairs(found: dict[tuple[int, int], tuple[int, ...]], *pair: int) -> tuple[int, int]:
        given = {(call.call_id, *pair)}
        same, different = module._compare_pairs([call], given, found, {call.channel}, set(), module._Theirs())  # type: ignore[arg-type]
        return same, len(different)

    assert pairs(shown_in, late, later) == (1, 0)
    assert pairs(shown_in, one, later) == (1, 0)
    assert pairs(shown_in, late, two) == (1, 0)
    assert pairs({}, one, two) == (1, 0)
    # The frames of one are none of the other's.
    assert pairs({(asked.call_id, late): (two,), (asked.call_id, later): (one,)}, late, later)[0] == 0
    assert pairs({(asked.call_id + 1, late): (one,)}, late, two) == (0, 1)
