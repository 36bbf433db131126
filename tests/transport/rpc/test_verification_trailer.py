"""The verification trailer is found, judged against its call and taken off the stub."""

import pytest

from analyzer.transport.rpc.exchange_maker import SIGNATURE
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


RIGHT = (vt_bitmask(), vt_pcontext(), vt_header2(6))
SHORT, LONG = ((vt_pcontext()[0], value) for value in (vt_pcontext()[1][:-1], vt_pcontext()[1] + b"!"))


@pytest.mark.parametrize(
    ("commands", "options", "verdict", "left"),
    [
        (RIGHT, {}, "ok", STUB),
        (RIGHT, {"size": 21}, "ok", STUB),  # cut by fragments
        *(((one,), {}, "ok", STUB) for one in RIGHT),
        # The alignment before it stays on the stub; what looks like it before it does not hide it.
        ((vt_bitmask(),), {"stub": b"stub12\0\0"}, "ok", b"stub12\0\0"),
        ((vt_bitmask(),), {"stub": SIGNATURE + STUB}, "ok", SIGNATURE + STUB),
        *(
            ((vt_bitmask(), one), {}, "bad", STUB)
            for one in (
                *(vt_pcontext(WINREG), vt_pcontext(transfer=NDR64), vt_header2(5), vt_header2(6, call_id=9)),
                *(vt_header2(6, context_id=1), vt_header2(6, ptype=2), (3, b"short"), (9 | VT_MUST, b"????")),
            )
        ),
        # A client that claims header signing has said so in the bind.
        ((vt_bitmask(1),), {"flags": WHOLE}, "bad", STUB),
        ((vt_bitmask(0),), {"flags": WHOLE}, "ok", STUB),
        # [MS-RPCE] 2.2.2.13.3: a presentation context has 40 bytes. A command that is not known may have as many.
        *(((one,), {}, "bad", STUB) for one in (SHORT, LONG)),
        *((((9, bytes(size)),), {}, "ok", STUB) for size in (4, 16, 40)),
        (((9, b"????"), vt_bitmask()), {}, "ok", STUB),
        # No trailer: a signature inside the data, and one off its alignment.
        ((vt_bitmask(),), {"tail": b"more data"}, None, None),
        ((vt_bitmask(),), {"stub": b"odd"}, None, None),
    ],
)
def test_a_trailer_is_taken_off_and_judged_by_its_call(commands, options, verdict, left):
    call = trailed(*commands, **options)
    assert call.request.verification_trailer == verdict
    assert left is None or stub(call.request) == left
    assert left is not None or stub(call.request).startswith(options.get("stub", STUB) + VT_SIGNATURE)
    assert call.response.verification_trailer is None


@pytest.mark.parametrize(
    ("bound", "raw", "verdict"),
    [
        # Without the bind it is judged by the call alone; without its end it is none; the end is no part of the command.
        (False, verification_trailer(*RIGHT), "ok"),
        (True, VT_SIGNATURE + b"\x01\0\x04\0\x01\0\0\0", None),
        (True, VT_SIGNATURE + (1 | VT_END | VT_MUST).to_bytes(2, "little") + b"\x04\0\0\0\0\0", "ok"),
    ],
)
def test_a_trailer_needs_its_end_and_no_bind(bound, raw, verdict):
    talk = Conversation().bound() if bound else Conversation()
    call = only_call(talk.client(request(6, STUB + raw)))
    assert (call.request.verification_trailer, stub(call.request) == STUB) == (verdict, verdict == "ok")
