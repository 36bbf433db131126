"""What the crosscheck makes of what tshark may show: given here, not asked for, so that no tshark is needed."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.pipeline import tshark_crosscheck as module
from analyzer.pipeline.run import analyze
from analyzer.pipeline.tshark_crosscheck import CrosscheckResult, crosscheck
from analyzer.results.analysis import Analysis
from analyzer.results.connection import Pdu
from analyzer.transport.packet.tshark_engine import Complaint
from analyzer.transport.rpc.pdu import Ptype
from tests.written import is_as_written, told

CAPTURE = Path(__file__).parents[2] / "captures" / "v1_samba_impacket_smb311_noauth.pcap"
PLAIN = "eth:ip:tcp:nbss:smb2:dcerpc"


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
    analysis: Analysis,
    *theirs: module._ShownFrame | Complaint,
    pdus: Sequence[Pdu],
    calls: Sequence[Any] = (),
    bound: bool = True,
    out_of_order: bool = False,
) -> CrosscheckResult:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "in_thread", lambda _: iter(theirs))
        bounds = analysis.bounds if bound else ()
        return crosscheck(CAPTURE, pdus, calls, bounds, out_of_order=out_of_order)


def of_a_call(analysis: Analysis) -> tuple[Any, Pdu, Pdu]:
    """The second call, which has an answer, with the PDUs of both."""
    call = list(analysis.calls)[1]
    assert call.request is not None
    assert call.response is not None
    asked = next(pdu for pdu in analysis.pdus if pdu.frames == call.request.frames)
    answered = next(pdu for pdu in analysis.pdus if pdu.frames == call.response.frames)
    assert (asked.ptype, answered.ptype) == (Ptype.REQUEST, Ptype.RESPONSE)
    return call, asked, answered


RETRANSMISSION = ("This frame is a (suspected) retransmission",)


def of_pdus(analysis: Analysis) -> Iterator[tuple[str, CrosscheckResult]]:
    """What tshark shows of a PDU, and what is made of it."""
    _, asked, _ = of_a_call(analysis)
    at = asked.frames[0]

    def alone(*theirs: module._ShownFrame, **given: Any) -> CrosscheckResult:
        return checked(analysis, *theirs, **{"pdus": [asked], **given})

    yield "suspected to be sent once more", alone(shown(at, remarks=RETRANSMISSION), out_of_order=True)
    yield "not in order, and tshark does not sort", alone(shown(at, remarks=("Out-Of-Order segment",)))
    yield "damaged, says tshark", alone(shown(at, remarks=("Malformed Packet",)), out_of_order=True)
    yield "inside encryption", alone(shown(at, protocols="eth:ip:tcp:nbss:smb2"), out_of_order=True)
    yield "other DCERPC is shown in its frame", alone(shown(at), out_of_order=True)
    yield "its bind is not in the capture", alone(bound=False, out_of_order=True)
    yield "nothing is said of its frame", alone(out_of_order=True)
    # Only where tshark was asked to sort segments does it wait: else it goes on behind the hole.
    lost = shown(at - 1, remarks=("Previous segment(s) not captured",))
    yield "a lost segment is waited for", alone(lost, out_of_order=True)
    yield "a lost segment is not waited for", alone(lost)
    for away in (0, 64, -64, 65):
        far = replace(asked, frames=(100,))
        yield f"a copy of a frame {away} frames away", alone(shown(100 + away, layer(far)), pdus=[far])
    # Version 4 is the connectionless protocol, and a fragment that tshark did not put together has no type.
    fragment = {name: value for name, value in layer(asked).items() if name != "dcerpc.pkt_type"}
    yield "no PDUs of a connection", alone(shown(9, layer(asked) | {"dcerpc.ver": "4"}, fragment), pdus=[])
    yield "what tshark does not state is zero", alone(shown(9, {"dcerpc.ver": "5", "dcerpc.pkt_type": "2"}), pdus=[])
    complaint = Complaint("The file appears to have been cut short")
    yield "a complaint behind what was shown", checked(analysis, shown(at, layer(asked)), complaint, pdus=[asked])


def of_pairs(analysis: Analysis) -> Iterator[tuple[str, CrosscheckResult]]:
    """What tshark shows of a request and its answer, and what is made of it."""
    call, asked, answered = of_a_call(analysis)
    at, to = asked.frames[0], answered.frames[0]

    def pair(*theirs: module._ShownFrame, **given: Any) -> CrosscheckResult:
        return checked(analysis, *theirs, **{"pdus": [asked, answered], "calls": [call], **given})

    # Either name is enough, and one that is given twice counts once.
    names_answer = shown(at, layer(asked, **{"dcerpc.response_in": [str(to), "4000"]}))
    ask = shown(at, layer(asked))
    for kind in (Ptype.RESPONSE, Ptype.FAULT):
        ended = replace(answered, ptype=kind)
        names_request = shown(to, layer(ended, **{"dcerpc.request_in": str(at)}))
        nothing, both = shown(to, layer(ended, **{"dcerpc.request_in": []})), [asked, ended]
        yield f"the request names the {Ptype.names[kind]}", pair(names_answer, nothing, pdus=both)
        yield f"the {Ptype.names[kind]} names the request", pair(ask, names_request, pdus=both)
        yield f"request and {Ptype.names[kind]} name each other", pair(names_answer, names_request, pdus=both)
    alone_theirs = shown(at, layer(asked, **{"dcerpc.response_in": "4000"}))
    yield "a pair of tshark's alone", pair(alone_theirs, pdus=[asked], calls=[])
    answer = shown(to, layer(answered))
    yield "tshark pairs nothing without a bind", pair(ask, answer, bound=False)
    yield "tshark does not pair NDR64", pair(ask, answer, calls=[replace(call, syntax="ndr64")])
    yield "tshark does not show one of a pair", pair(ask)
    yield "tshark has a remark on one of a pair", pair(ask, shown(to, layer(answered), remarks=RETRANSMISSION))
    yield "tshark does not pair what it shows", pair(ask, answer)
    yield "a call that is not whole is no pair", pair(ask, calls=[replace(call, response=None)], pdus=[asked])


def lines(analysis: Analysis) -> Iterator[str]:
    for promise, result in chain(of_pdus(analysis), of_pairs(analysis)):
        yield f"{promise}: {'agrees' if result.agrees else 'contradicts'}\n"
        yield from (f"  {line}\n" for line in told(result))


def test_what_is_made_of_what_tshark_shows_is_what_was_read_through(analysis: Analysis) -> None:
    is_as_written(Path(__file__).with_name("crosscheck_reasons.txt"), "".join(lines(analysis)))


def test_a_complaint_is_an_error_where_nothing_was_shown(analysis: Analysis) -> None:
    complaint = Complaint("The file appears to have been cut short")
    with pytest.raises(InputError, match="tshark: The file appears to have been cut short"):
        checked(analysis, complaint, pdus=[])


def seen(*frames: int, call_id: int = 7) -> module.SeenPdu:
    return module.SeenPdu(0, call_id, 3, 100, frames)


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        *(([[5]], [[5]], 1), ([[4, 5, 6]], [[5]], 1)),
        # What lies in no frame of ours is looked for from frame 0 on; else from the last frame of ours, and the nearest.
        *(([[]], [[64]], 1), ([[]], [[65]], 0), ([[1, 100]], [[164]], 1), ([[1, 100]], [[165]], 0)),
        # Each is matched once; who shares a frame goes before who is near.
        *(([[5], [6]], [[6]], 1), ([[5], [5]], [[5]], 1), ([[5], [6]], [[6], [7]], 2)),
    ],
)
def test_pdus_are_matched_by_frame_and_then_near_by(ours: list[Any], theirs: list[Any], same: int) -> None:
    """By the frames of each of ours and of theirs."""
    matched, only_ours, only_theirs = module._compare(*([seen(*frames) for frames in each] for each in (ours, theirs)))
    assert (len(matched), len(only_ours), len(only_theirs)) == (same, len(ours) - same, len(theirs) - same)


def test_the_nearest_of_several_copies_is_matched() -> None:
    matched, _, left = module._compare([seen(100)], [seen(150), seen(90), seen(120)])
    assert matched == [(seen(100), seen(90))]
    assert left == [seen(120), seen(150)]
    assert module._compare([seen(100)], [seen(100, call_id=8)])[0] == []


def test_a_pdu_of_several_segments_is_paired_by_any_of_its_frames(analysis: Analysis) -> None:
    """tshark names the frame in which it had the whole, which may be one that we do not count to it."""
    call, asked, answered = of_a_call(analysis)
    one, two = asked.frames[0], answered.frames[0]
    late, later = one + 1000, one + 1010
    shown_in = {(asked.call_id, late): (one,), (asked.call_id, later): (two,)}

    def pairs(found: dict[tuple[int, int], tuple[int, ...]], *pair: int) -> tuple[int, int]:
        given = {(call.call_id, *pair)}
        same, different = module._compare_pairs([call], given, found, {call.channel}, set(), module._Theirs())
        return same, len(different)

    assert pairs(shown_in, late, later) == (1, 0)
    assert pairs(shown_in, one, later) == (1, 0)
    assert pairs(shown_in, late, two) == (1, 0)
    assert pairs({}, one, two) == (1, 0)
    # The frames of one are none of the other's.
    assert pairs({(asked.call_id, late): (two,), (asked.call_id, later): (one,)}, late, later)[0] == 0
    assert pairs({(asked.call_id + 1, late): (one,)}, late, two) == (0, 1)
