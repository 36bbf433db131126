"""What is said of calls that are not whole: every reason, the one that matters most first; and the numbers of PDUs."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from analyzer.core.byte_log import Log
from analyzer.core.traced_bytes import TracedBytes
from analyzer.pipeline.run import analyze
from analyzer.transport.channel.channels import ChannelGap
from analyzer.transport.rpc import call_pairing as rpc_pdus
from analyzer.transport.rpc import pdu as rpc_pdu
from analyzer.transport.rpc import rpc_names
from analyzer.transport.rpc.call_pairing import FragmentPart, PduList
from tests.build.capture import NANO, pcap, read
from tests.build.rpc import (
    NDR,
    PCQ,
    TOY_FIRST,
    WINREG,
    Auth,
    Conversation,
    bind,
    bind_ack,
    context,
    request,
    response,
)
from tests.transport.rpc.run import calls, only_call


def test_pdus_have_the_numbers_of_c706_and_ms_rpce() -> None:
    """C706 section 12.6.3.1 and 12.6.4; [MS-RPCE] section 2.2.2; RTS of [MS-RPCH] section 2.2.3.5."""
    assert {name: kind for kind, name in rpc_pdu.Ptype.names.items()} == {
        "REQUEST": 0,
        "RESPONSE": 2,
        "FAULT": 3,
        "BIND": 11,
        "BIND_ACK": 12,
        "BIND_NAK": 13,
        "ALTER_CONTEXT": 14,
        "ALTER_CONTEXT_RESP": 15,
        "AUTH3": 16,
        "SHUTDOWN": 17,
        "CO_CANCEL": 18,
        "ORPHANED": 19,
        "RTS": 20,
    }
    assert {int(kind) for kind in rpc_pdu.CLIENT_PTYPES} == {0, 11, 14, 16, 18, 19}
    assert (rpc_pdu.FIRST_FRAG, rpc_pdu.LAST_FRAG, rpc_pdu.SUPPORT_HEADER_SIGN) == (1, 2, 4)
    assert (rpc_pdu.MAYBE, rpc_pdu.OBJECT_UUID) == (0x40, 0x80)
    assert (rpc_pdu.HEADER_LEN, rpc_pdu.SEC_TRAILER_LEN, rpc_pdu.RESPONSE_LEN, rpc_pdu.FAULT_LEN) == (16, 8, 24, 32)


# --------------------------------------------------------------------------------------------------- PDUs under way


@pytest.mark.parametrize(
    ("length", "spilled", "later"), [(4 << 20, [], [4 << 20, 40]), ((4 << 20) + 1, [(4 << 20) + 1], [(4 << 20) + 1])]
)
def test_four_megabytes_of_a_message_stays_in_memory(
    length: int, spilled: list[int], later: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    appended: list[int] = []
    append = Log.append
    monkeypatch.setattr(Log, "append", lambda log, data: appended.append(len(data)) or append(log, data))
    pdus = PduList(Log(0))
    pdus.add(FragmentPart(TracedBytes.of_frame(bytes(length), 1), 0, length, None, 24, length, None))
    assert appended == spilled
    pdus.add(FragmentPart(TracedBytes.of_frame(bytes(40), 2), 0, 40, None, 24, 40, None))
    assert appended == later


def test_frames_of_what_is_under_way_are_those_of_its_pdus_alone() -> None:
    pdus = PduList()
    piece = TracedBytes.join([TracedBytes.of_frame(bytes(30), number, 0, number) for number in (1, 2, 3, 4)])
    held = [pdus.add(FragmentPart(piece, at, 30, None, 24, 30, None)) for at in (30, 60)]
    held.append(pdus.add(FragmentPart(TracedBytes.of_frame(bytes(30), 9, 0, 9), 0, 30, None, 24, 30, None)))
    assert held == [120, 0, 30], "each piece once"
    frames = {77}
    pdus.note_frames(frames)
    assert frames == {77, 2, 3, 9}
    assert pdus.times == (2, 9)
    assert PduList().times is None
    assert PduList().kept() == ((), None)


@pytest.mark.parametrize("log", [False, True])
def test_pdus_that_were_carried_or_opened_differently_are_kept_one_by_one(
    log: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc_pdus, "_ROOM", 50)
    pdus = PduList(Log(0) if log else None)
    wholes = [bytes(at for at in range(number, number + 40)) for number in (0, 50, 100)]
    pieces = [TracedBytes.of_frame(b"??" + whole, 5 + at, 70, at) for at, whole in enumerate(wholes)]
    pieces[1] = pieces[1].replaced(pieces[1].data, "smb3")
    stubs = [whole[24:36] for whole in wholes]
    plains: list[bytes | None] = [b"opened first", None, b"opened other"]
    for piece, plain, step in zip(pieces, plains, ("one", "", "two"), strict=True):
        pdus.add(FragmentPart(piece, 2, 40, None, 24, 36, plain, step))
    kept, times = pdus.kept()
    assert times == (0, 2)
    assert isinstance(kept, tuple)
    found = [
        (one.pdu.data, one.pdu.frames, one.pdu.steps, one.stub_start, one.stub_stop, one.plain.data, one.plain.steps)
        for one in kept
        if isinstance(one.plain, TracedBytes)
    ]
    assert found == [
        (wholes[0], (5,), (), 24, 36, b"opened first", ("one",)),
        (wholes[1], (6,), ("smb3",), 24, 36, stubs[1], ("smb3",)),
        (wholes[2], (7,), (), 24, 36, b"opened other", ("two",)),
    ]
    assert [extent.start for one in kept for extent in one.pdu.extents()] == [72, 72, 72]


# ------------------------------------------------------------------------------------------ names from another package

MODULE = """
ONE = {
    0: DceRpcOp(First_Request, First_Response),
    12: DceRpcOp(
        Second_Request, Second_Response),
}
register_dcerpc_interface(
    name="alpha",
    uuid=uuid.UUID("AAAAAAAA-0000-0000-0000-000000000001"),
    version="1.0",
    opnums=ONE,
)
TWO = {3: DceRpcOp(Third_Request, Third_Response)}
register_dcerpc_interface(
    name="alpha2",
    uuid=uuid.UUID("aaaaaaaa-0000-0000-0000-000000000001"),
    version="2.0",
    opnums=TWO,
)
register_com_interface(
    name="IBeta",
    uuid=uuid.UUID("bbbbbbbb-0000-0000-0000-000000000002"),
    opnums=NONE,
)
"""
MORE = """
MORE = {
    12: DceRpcOp(Other_Request, Other_Response),
    13: DceRpcOp(Last_Request, Last_Response),
}
register_dcerpc_interface(
    name="later",
    uuid=uuid.UUID("aaaaaaaa-0000-0000-0000-000000000001"),
    version="1.0",
    opnums=MORE,
)
"""
ALPHA, BETA = "aaaaaaaa-0000-0000-0000-000000000001", "bbbbbbbb-0000-0000-0000-000000000002"
CACHES = (
    rpc_names._sources,
    rpc_names._foreign,
    rpc_names.interface_names,
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package like scapy-rpc, in which one file is no text."""
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(rpc_names.importlib.util, "find_spec", lambda name: spec if name == "msrpcs" else None)
    (tmp_path / "a.py").write_text(MODULE)
    (tmp_path / "b.py").write_bytes(b"\xff\xfe aaaaaaaa-0000-0000-0000-000000000001")
    (tmp_path / "c.py").write_text(MORE)
    (tmp_path / "d.txt").write_text(MORE.replace("later", "never"))
    for cache in CACHES:
        cache.cache_clear()
    yield tmp_path
    for cache in CACHES:
        cache.cache_clear()


@pytest.mark.usefixtures("package")
def test_names_are_read_out_of_the_package_by_uuid_and_version() -> None:
    name, method = rpc_names.interface_name, rpc_names.method_name
    assert [name(ALPHA), name(ALPHA.upper(), (1, 7)), name(ALPHA, (2, 0)), name(ALPHA, (9, 0))] == [
        "alpha",
        "alpha",
        "alpha2",
        "alpha",
    ]
    # Two specifications of one interface: the first names it, and both have methods of it.
    assert [method(ALPHA, opnum) for opnum in (0, 1, 12, 13, 3)] == ["First", None, "Other", "Last", None]
    assert (name(BETA), name(BETA, (1, 0)), method(BETA, 0)) == ("IBeta", "IBeta", None)
    assert name("cccccccc-0000-0000-0000-000000000003") is None
    assert method("cccccccc-0000-0000-0000-000000000003", 0) is None
    found = rpc_names.interface_names()
    assert {"alpha", "alpha2", "IBeta", "later", "PerflibV2", "winreg"} <= found
    assert "never" not in found


@pytest.mark.usefixtures("package")
def test_without_the_package_our_own_names_are_all_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for spec in (None, SimpleNamespace(submodule_search_locations=None)):
        monkeypatch.setattr(rpc_names.importlib.util, "find_spec", lambda _, spec=spec: spec)
        for cache in CACHES:
            cache.cache_clear()
        assert rpc_names.interface_name(ALPHA) is None
        assert rpc_names.interface_name(rpc_names.WINREG) == "winreg"
        assert rpc_names.method_name(rpc_names.WINREG, -1) is None
        assert "alpha" not in rpc_names.interface_names()


# ---------------------------------------------------------------------------------------- captured, and yet not readable

NOT_CAPTURED = "the bind was not captured, so the interface and the meaning of the stubs are unknown"


def test_a_bind_that_was_captured_and_cannot_be_read_is_not_called_lost() -> None:
    """One wrong number in it: the version, the type."""
    whole = bind()
    damaged = {
        (0, 4): "the bind was not captured or not readable (rpc_vers at byte 0: version 4.0 is not 5.0 or 5.1)",
        (2, 10): "the bind was not captured or not readable (PDU type 10 is not of the connection-oriented protocol)",
    }
    for (at, value), reason in damaged.items():
        talk = Conversation().client(whole[:at] + bytes([value]) + whole[at + 1 :]).server(bind_ack())
        for call_id in (2, 3):
            talk.client(request(6, b"ask", call_id=call_id)).server(response(b"tell", call_id=call_id))
        called = calls(talk)
        assert [call.state for call in called] == ["partial"] * 2
        rest = ", so the interface and the meaning of the stubs are unknown"
        assert [call.reason for call in called] == [reason + rest] * 2, at
    lost = Conversation().gap(True, 72).server(bind_ack())
    lost.client(request(6, b"ask", call_id=2)).server(response(b"tell", call_id=2))
    assert only_call(lost).reason == NOT_CAPTURED


def test_a_request_that_was_captured_and_cannot_be_read_is_not_called_lost() -> None:
    for captured, more in ((False, ""), (True, " or not readable (it says nonsense)")):
        talk = Conversation().bound()
        around = (talk.frame, talk.frame + 2)
        talk.events.append(ChannelGap(talk.channel, True, None, around, "it says nonsense", captured))
        assert only_call(talk.server(response(b"tell", call_id=2))).reason == f"the request was not captured{more}"


def test_an_smb_message_with_a_wrong_length_inside_is_not_called_lost(tmp_path: Path) -> None:
    capture = Path(__file__).parents[1] / "smb" / "captures" / "guest_smb1.pcap"
    frames = [(one.time_ns, bytes(one.data)) for one in read(capture)[0]]
    at, (time_ns, frame) = next((at, one) for at, one in enumerate(frames) if b"\x05\x00\x0b\x03\x10" in one[1])
    # SMB1 WRITE_ANDX: the low half of its data length.
    length = 66 + 4 + 32 + 1 + 20
    assert int.from_bytes(frame[length : length + 2], "little") == len(frame) - frame.index(b"\x05\x00\x0b\x03\x10")
    frames[at] = time_ns, frame[: length + 1] + b"\x7f" + frame[length + 2 :]
    written = tmp_path / "damaged.pcap"
    written.write_bytes(pcap(frames, magic=NANO))
    reasons = {call.reason for call in analyze([written], None).calls}
    (reason,) = reasons
    assert reason is not None
    assert re.match(r"the bind was not captured or not readable \(data: \d+ bytes at 63 lie outside of", reason)


@pytest.mark.parametrize("auth", [None, Auth(TOY_FIRST + b"key")], ids=["clear", "sealed"])
@pytest.mark.parametrize(
    ("at", "value"),
    [(24, 9), (8, 0xFF), (10, 1), (10, 60), (11, 1)],
    ids=["too many offers", "a long PDU", "a short token", "a long token", "a very long token"],
)
def test_a_bind_with_one_wrong_length_still_names_its_interface(auth: Auth | None, at: int, value: int) -> None:
    """Each offer states its own length, so those that are whole are known."""
    whole = bind((context(0, PCQ), context(1, WINREG)), auth=auth)
    talk = Conversation().client(whole[:at] + bytes([value]) + whole[at + 1 :])
    talk.server(bind_ack([(0, 0, NDR)] * 2))
    for call_id, context_id in ((2, 0), (3, 1)):
        talk.client(request(6, b"ask", call_id=call_id, context_id=context_id))
        talk.server(response(b"tell", call_id=call_id, context_id=context_id))
    read_calls = calls(talk)
    assert [call.interface for call in read_calls] == [PCQ, WINREG]
    assert [call.state for call in read_calls] == ["complete"] * 2


def test_a_bind_that_is_cut_offers_what_is_whole_in_it() -> None:
    whole = bind((context(0, PCQ), context(1, WINREG)))
    for length, known in ((24, [None, None]), (28 + 23, [None, None]), (28 + 24, [PCQ, None]), (28 + 67, [PCQ, None])):
        talk = Conversation().client(whole[:length]).gap(True, len(whole) - length)
        for call_id, context_id in ((2, 0), (3, 1)):
            talk.client(request(6, b"ask", call_id=call_id, context_id=context_id))
            talk.server(response(b"tell", call_id=call_id, context_id=context_id))
        assert [call.interface for call in calls(talk)] == known, length
