"""The verification trailer is found, judged against its call and taken off the stub."""

from __future__ import annotations

import pytest

from analyzer.transport.rpc.trailer import SIGNATURE
from tests.build.rpc import (
    BIND,
    HEADER_SIGN,
    NDR64,
    VT_END,
    VT_MUST,
    VT_SIGNATURE,
    WHOLE,
    WINREG,
    Conversation,
    bind,
    bind_ack,
    fragments,
    request,
    response,
    verification_trailer,
    vt_bitmask,
    vt_header2,
    vt_pcontext,
)
from tests.transport.rpc.run import only_call, stub

STUB = b"stubstub"


def trailed(*commands, stub=STUB, flags=WHOLE | HEADER_SIGN, opnum=6, tail=b"", size=4096):
    talk = Conversation().client(bind(flags=flags, ptype=BIND)).server(bind_ack())
    whole = stub + verification_trailer(*commands) + tail
    for piece_flags, piece in fragments(whole, size):
        talk.client(request(opnum, piece, flags=piece_flags))
    return only_call(talk.server(response(b"ok")))


def test_a_right_trailer_is_taken_off():
    call = trailed(vt_bitmask(), vt_pcontext(), vt_header2(6))
    assert (call.request.verification_trailer, stub(call.request)) == ("ok", STUB)
    assert call.response.verification_trailer is None


def test_a_trailer_may_be_cut_by_fragments():
    call = trailed(vt_bitmask(), vt_pcontext(), vt_header2(6), size=21)
    assert (call.request.verification_trailer, stub(call.request)) == ("ok", STUB)


@pytest.mark.parametrize("command", [vt_bitmask(), vt_pcontext(), vt_header2(6)])
def test_each_command_may_stand_alone(command):
    assert trailed(command).request.verification_trailer == "ok"


def test_the_alignment_before_the_trailer_stays_on_the_stub():
    assert stub(trailed(vt_bitmask(), stub=b"stub12\0\0").request) == b"stub12\0\0"


@pytest.mark.parametrize(
    "command",
    [
        vt_pcontext(WINREG),
        vt_pcontext(transfer=NDR64),
        vt_header2(5),
        vt_header2(6, call_id=9),
        vt_header2(6, context_id=1),
        vt_header2(6, ptype=2),
        (3, b"short"),
        (9 | VT_MUST, b"????"),
    ],
)
def test_a_trailer_that_contradicts_its_call_is_bad(command):
    call = trailed(vt_bitmask(), command)
    assert (call.request.verification_trailer, stub(call.request)) == ("bad", STUB)


def test_a_client_that_claims_header_signing_must_have_said_so_in_the_bind():
    assert trailed(vt_bitmask(1), flags=WHOLE).request.verification_trailer == "bad"
    assert trailed(vt_bitmask(0), flags=WHOLE).request.verification_trailer == "ok"


def test_without_the_bind_a_trailer_is_judged_by_the_call_alone():
    talk = Conversation().client(request(6, STUB + verification_trailer(vt_bitmask(), vt_pcontext(), vt_header2(6))))
    call = only_call(talk)
    assert (call.request.verification_trailer, stub(call.request)) == ("ok", STUB)


def test_the_length_of_a_command_decides_nothing_for_another():
    """[MS-RPCE] 2.2.2.13.3: a presentation context has 40 bytes. A command that is not known may have as many."""
    assert trailed((9, bytes(40))).request.verification_trailer == "ok"
    short = vt_pcontext()
    assert trailed((short[0], short[1][:-1])).request.verification_trailer == "bad"
    assert trailed((short[0], short[1] + b"!")).request.verification_trailer == "bad"
    assert trailed((9, bytes(16))).request.verification_trailer == "ok"
    assert trailed((9, bytes(4))).request.verification_trailer == "ok"


def test_an_unknown_command_that_need_not_be_processed_is_passed_over():
    assert trailed((9, b"????"), vt_bitmask()).request.verification_trailer == "ok"


def test_a_signature_inside_the_data_is_no_trailer():
    call = trailed(vt_bitmask(), tail=b"more data")
    assert call.request.verification_trailer is None
    assert stub(call.request).endswith(b"more data")


def test_a_signature_off_its_alignment_is_no_trailer():
    assert trailed(vt_bitmask(), stub=b"odd").request.verification_trailer is None


def test_a_signature_in_the_data_before_the_trailer_does_not_hide_it():
    call = trailed(vt_bitmask(), stub=SIGNATURE + STUB)
    assert (call.request.verification_trailer, stub(call.request)) == ("ok", SIGNATURE + STUB)


def test_a_trailer_without_its_end_is_none():
    talk = Conversation().bound().client(request(6, STUB + VT_SIGNATURE + b"\x01\0\x04\0\x01\0\0\0"))
    assert only_call(talk).request.verification_trailer is None


def test_the_end_bit_is_no_part_of_the_command():
    raw = VT_SIGNATURE + (1 | VT_END | VT_MUST).to_bytes(2, "little") + b"\x04\0\0\0\0\0"
    talk = Conversation().bound().client(request(6, STUB + raw))
    assert only_call(talk).request.verification_trailer == "ok"
