"""PDUs of a message are what they were one by one: in memory, and packed with their call."""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.spill import Log, LoggedBytes
from analyzer.core.traced import TracedBytes
from analyzer.model import store
from analyzer.model.call import Call, Side
from analyzer.model.pdus import (
    Fragment,
    Fragments,
    Pdus,
    Plain,
    frame_range_of,
    frames_of,
    stub_length_of,
    stub_of,
)
from analyzer.model.store import CallStore, CallWriter, Moments
from analyzer.rpc.call import plain_call
from tests.build.calls import HANDLE, Calls

# Of each PDU: what stands before its stub, the stub, what stands behind it; one of them has none.
PARTS = [(b"<<", b"abcde", b">"), (b"<", b"", b">>"), (b"", b"fg", b""), (b"<<<", b"hijk", b">>"), (b"<", b"l", b">")]
OPENED = [b"ABCDE", b"", b"FG", b"HIJK", b"L"]


class Message:
    """Some PDUs and what came of their stubs; what the result should be, from the parts."""

    def __init__(
        self, parts: Sequence[tuple[bytes, bytes, bytes]], plains: Sequence[Plain], *, one_frame: bool
    ) -> None:
        wholes = [b"".join(part) for part in parts]
        if one_frame:
            self.whole = TracedBytes.of_frame(b"??" + b"".join(wholes), 5, 98, 500)[2:].replaced(
                b"".join(wholes), "smb3"
            )
        else:
            # Frames go down, so that the first is not the lowest.
            pieces = [TracedBytes.of_frame(whole, 9 - at, 100 * at, 10 * at) for at, whole in enumerate(wholes)]
            self.whole = TracedBytes.join(pieces).replaced(b"".join(wholes), "smb3")
        self.lengths = [len(whole) for whole in wholes]
        self.bounds = array("I", [end for head, stub, _ in parts for end in (len(head), len(head) + len(stub))])
        self.plains = tuple(plains)
        self.pdus = Pdus.of(self.whole, self.lengths, self.bounds, self.plains, "rpc")

    def fragments(self) -> list[Fragment]:
        """One by one."""
        found, begin = [], 0
        for at, length in enumerate(self.lengths):
            start, stop = self.bounds[2 * at], self.bounds[2 * at + 1]
            pdu, plain = self.whole[begin : begin + length], self.plains[at]
            opened: TracedBytes | Missing
            if isinstance(plain, bytes):
                opened = TracedBytes(plain, pdu.source, pdu.start + start, ("smb3", "rpc"))
            else:
                opened = pdu[start:stop] if plain is None else plain
            found.append(Fragment(pdu, start, stop, opened))
            begin += length
        return found


def message(count: int, kind: str, *, one_frame: bool) -> Message:
    plains: list[Plain] = list({"clear": [None] * 5, "opened": OPENED}.get(kind, [Missing.SEALED] * 5))
    if kind == "some":
        plains = [OPENED[0], Missing.SEALED, Missing.UNDECODABLE, OPENED[3], None]
    return Message(PARTS[:count], plains[:count], one_frame=one_frame)


CASES = [
    pytest.param(count, kind, one_frame, id=f"{count} {kind}{' of one frame' if one_frame else ''}")
    for count in (1, 2, 5)
    for kind in ("clear", "opened", "sealed", "some")
    for one_frame in (False, True)
]


def described(item: TracedBytes | Missing) -> object:
    """All that bytes say of themselves."""
    if isinstance(item, Missing):
        return item
    origin = [(extent.frame, extent.start, extent.length) for extent in item.origin(0, len(item))]
    return item.data, len(item), origin, item.steps, item.frames


def one_by_one(pdus: Fragments) -> list[object]:
    return [(described(one.pdu), one.stub_start, one.stub_stop, described(one.plain)) for one in pdus]


def check(pdus: Fragments, expected: list[Fragment]) -> None:
    """All that PDUs say of themselves."""
    assert len(pdus) == len(expected)
    assert one_by_one(pdus) == one_by_one(tuple(expected))
    assert pdus == tuple(expected)
    assert one_by_one(tuple(pdus[1:])) == one_by_one(tuple(expected[1:]))
    assert one_by_one((pdus[-1],)) == one_by_one((expected[-1],))
    with pytest.raises(IndexError):
        pdus[len(expected)]
    joined = TracedBytes.join([one.plain for one in expected if isinstance(one.plain, TracedBytes)])
    frames = sorted({frame for one in expected for frame in one.pdu.frames})
    assert frames_of(pdus) == tuple(frames)
    assert frame_range_of(pdus) == (frames[0], frames[-1])
    for stub in (stub_of(pdus), stub_of(pdus)):
        assert (stub.data, len(stub)) == (joined.data, len(joined))
        assert [*stub.origin(0, len(stub))] == [*joined.origin(0, len(joined))]
        assert stub.steps == joined.steps
        for start in range(len(joined) + 1):
            for stop in range(start, len(joined) + 1):
                assert stub.part(start, stop) == joined.data[start:stop]
                assert stub.view(start, stop).frames == joined[start:stop].frames
                assert stub.origin(start, stop) == joined.origin(start, stop)
    assert stub_length_of(pdus) == len(joined)
    if isinstance(pdus, Pdus):
        for length in range(len(joined) + 3):
            assert pdus.stub_bytes(length) == joined.data[:length]


@pytest.mark.parametrize(("count", "kind", "one_frame"), CASES)
def test_joined_pdus_are_what_each_of_them_was(count: int, kind: str, one_frame: bool) -> None:
    made = message(count, kind, one_frame=one_frame)
    check(made.pdus, made.fragments())
    check(tuple(made.fragments()), made.fragments())
    check(pickle.loads(pickle.dumps(made.pdus)), made.fragments())
    assert made.pdus != message(count, "sealed" if kind != "sealed" else "clear", one_frame=one_frame).pdus
    assert made.pdus != len(made.pdus)
    assert hash(made.pdus) == hash(made.whole)


@pytest.mark.parametrize(("count", "kind", "one_frame"), CASES)
@pytest.mark.parametrize("inline", [0, 4, 2048])
def test_pdus_are_the_same_when_they_were_packed(
    count: int, kind: str, one_frame: bool, inline: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept with their call, or beside it in the log; in one message, or as PDUs that were carried differently."""
    monkeypatch.setattr(store, "_INLINE", inline)
    made = message(count, kind, one_frame=one_frame)
    apart: Fragments = tuple(made.fragments())
    for pdus in (made.pdus, apart):
        writer = CallWriter(memory=0)
        writer.append(call_with(pdus))
        check(packed_request(writer[0]).pdus, made.fragments())
        # Once more, through what is read: as it is put in order, or known better.
        writer.replace(0, writer[0])
        check(packed_request(writer[0]).pdus, made.fragments())
        # And in another log, as in a case.
        other = CallWriter(memory=0)
        other.append(writer[0])
        places, lengths, shared, log = other.packed()
        read = CallWriter.of(log, places, lengths, shared)
        check(packed_request(read[0]).pdus, made.fragments())
        assert read.tally == other.tally == writer.tally


def call_with(pdus: Fragments) -> Call:
    call = plain_call(Calls().exchange(6, b"", b"answer"))
    assert call.request is not None
    return replace(call, request=replace(call.request, pdus=pdus, stub_length=stub_length_of(pdus)))


def packed_request(call: Call) -> Side:
    assert call.request is not None
    return call.request


def test_only_what_was_asked_for_of_a_packed_stub_is_read() -> None:
    made = message(1, "clear", one_frame=True)
    writer = CallWriter()
    writer.append(call_with(made.pdus))
    pdus = packed_request(writer[0]).pdus
    with pytest.raises(AttributeError):
        _ = pdus.nothing  # type: ignore[union-attr]
    assert pdus.stub_bytes(3) == b"abc"  # type: ignore[union-attr]


# ----------------------------------------------------------------------------------------------------------- calls


def calls_of_all_kinds() -> list[Call]:
    """Answered, unanswered, without a request, faulted; of two interfaces, and of none that is known."""
    calls = Calls()
    made = [
        plain_call(each)
        for each in (
            calls.exchange(6, b"ask", b"answer"),
            calls.exchange(3, b"ask", None),
            calls.exchange(None, None, b"answer"),
            calls.faulted(6, b"ask", 5),
            Calls("12345678-1234-1234-1234-123456789012", first_frame=90).exchange(1, b"", b""),
        )
    ]
    return [*made, replace(made[0], interface=replace(made[0].interface, uuid=None, name=None), context_id=3)]


def plainly(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {name: one_by_one(side.pdus) if name == "pdus" else getattr(side, name) for name in side.__struct_fields__}


def test_a_call_that_was_packed_is_the_call() -> None:
    """Every field, with values that no default has."""
    side = packed_request(call_with(message(2, "opened", one_frame=True).pdus))
    full = replace(
        side,
        missing=Missing.UNDECODABLE,
        stub_length=3,
        wire_length=77,
        verification_trailer="bad",
        big_endian=True,
        first_time_ns=5,
        last_time_ns=9,
        frames_of_dropped=(3, 8),
        params={"hQuery": {"attributes": 0, "uuid": HANDLE}, "n": 3},
        buffer_span=(1, 4),
        buffer_kind="perf-data",
    )
    for base in calls_of_all_kinds():
        writer = CallWriter()
        call = replace(base, request=full, state="partial", reason="why", status=234, fault=7, call_id=12, context_id=4)
        call = replace(call, key="HKEY_PERFORMANCE_DATA", key_number=3, path="HKLM\\X", impersonation=2, session=9)
        assert writer.append(base) == 0
        assert writer.append(call) == 1
        for at, each in enumerate((base, call)):
            read = writer[at]
            for name in each.__struct_fields__:
                if name == "time_ns":
                    first = each.request or each.response
                    assert read.time_ns == (first.first_time_ns if first is not None else 0)
                elif name in ("request", "response"):
                    assert plainly(getattr(read, name)) == plainly(getattr(each, name))
                else:
                    assert getattr(read, name) == getattr(each, name), name


def test_calls_are_counted_by_state_interface_and_method() -> None:
    writer = CallWriter()
    for call in calls_of_all_kinds():
        writer.append(call)
    perflib = ("complete", "PerflibV2", "PerflibV2QueryCounterData")
    assert dict(writer.tally) == {
        perflib: 2,
        ("request-only", "PerflibV2", "PerflibV2OpenQueryHandle"): 1,
        ("response-only", "PerflibV2", None): 1,
        ("complete", "12345678-1234-1234-1234-123456789012", 1): 1,
        ("complete", "unknown", "PerflibV2QueryCounterData"): 1,
    }
    assert {key: list(places) for key, places in writer.unbound.items()} == {(writer[0].channel, 3): [5]}
    writer.replace(0, replace(writer[0], state="partial"))
    assert writer.tally[perflib] == 1
    assert writer.tally["partial", "PerflibV2", "PerflibV2QueryCounterData"] == 1
    assert len(writer) == 6


def test_moments_of_calls_say_when_each_began_and_ended() -> None:
    moments = Moments()
    made = calls_of_all_kinds()
    poll = replace(
        made[0], request=replace(packed_request(made[0]), params={"hQuery": {"attributes": 0, "uuid": HANDLE}})
    )
    listing = replace(made[0], opnum=0)
    for call in (*made, poll, listing):
        moments.add(call)
    ms = 1_000_000
    channel = made[0].channel
    rows = [tuple(moments[at]) for at in range(8)]
    assert rows == [
        (1 * ms, 1, 1 * ms, 1, 2 * ms, 2, True, True, -1, channel, 1),
        (3 * ms, 3, 3 * ms, 3, -1, -1, True, True, -1, channel, 2),
        (4 * ms, 4, 4 * ms, 4, 4 * ms, 4, True, False, -1, channel, 3),
        (5 * ms, 5, 5 * ms, 5, 6 * ms, 6, True, True, -1, channel, 4),
        (90 * ms, 90, 90 * ms, 90, 91 * ms, 91, False, True, -2, channel, 1),
        (1 * ms, 1, 1 * ms, 1, 2 * ms, 2, False, True, -2, channel, 1),
        (1 * ms, 1, 1 * ms, 1, 2 * ms, 2, True, True, 0, channel, 1),
        (1 * ms, 1, 1 * ms, 1, 2 * ms, 2, True, True, -2, channel, 1),
    ]
    assert list(moments.handle_names) == [(made[0].server, HANDLE)]
    assert moments.column("end_frame").tolist() == [2, -1, 4, 6, 91, 2, 2, 2]
    # What kind of call it is can become known later; when it was is known.
    moments.replace(4, replace(poll, call_id=9, channel=77))
    assert tuple(moments[4]) == (90 * ms, 90, 90 * ms, 90, 91 * ms, 91, True, True, 0, channel, 1)


def test_a_call_without_sides_began_at_no_time() -> None:
    call = replace(calls_of_all_kinds()[0], request=None, response=None)
    writer = CallWriter()
    writer.append(call)
    assert writer[0].time_ns == 0
    assert tuple(writer.moments[0])[:6] == (0, 0, 0, 0, -1, -1)


def test_calls_in_order_have_their_numbers_and_the_states_of_their_handles() -> None:
    writer = CallWriter()
    for call in calls_of_all_kinds():
        writer.append(call)
    states: list[Any] = ["first", "second"]
    calls = CallStore(writer, [4, 0, 2], [1, -1, 0], states)
    assert [(call.number, call.query) for call in calls] == [(1, "second"), (2, None), (3, "first")]
    assert [call.call_id for call in calls] == [1, 1, 3]
    assert [call.number for call in calls[1:]] == [2, 3]
    assert (len(calls), calls[-1].number, calls[0].time_ns) == (3, 3, 90_000_000)
    assert calls[0] is calls[0]
    assert calls.tally == writer.tally
    with pytest.raises(IndexError):
        calls[3]
    plain = CallStore(writer, [0, 1])
    assert [(call.number, call.query) for call in plain] == [(1, None), (2, None)]


def test_long_bytes_are_moved_into_the_log_in_parts_and_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_INLINE", 40)
    monkeypatch.setattr(store, "_AT_ONCE", 50)
    appended: list[int] = []
    append = Log.append

    def counted(self: Log, data: bytes) -> int:
        appended.append(len(data))
        return append(self, data)

    monkeypatch.setattr(Log, "append", counted)
    for length, lengths in ((40, []), (41, [41]), (50, [50]), (51, [50, 1]), (100, [50, 50]), (101, [50, 50, 1])):
        data = bytes(range(100, 100 + length))
        aside = Log(1000)
        place = append(aside, data)
        logged = LoggedBytes(aside, place, length, TracedBytes.of_frame(data, 3, 7).source)
        appended.clear()
        writer = CallWriter()
        writer.append(call_with(Pdus(logged, None, array("I", (1, length)))))
        assert appended[:-1] == lengths
        request = packed_request(writer[0])
        assert request.stub_data == data[1:]
        assert request.frames == (3,)
        # What lies in this log already stays where it is.
        appended.clear()
        writer.replace(0, writer[0])
        assert len(appended) == 1
        assert packed_request(writer[0]).stub_data == data[1:]


def test_what_calls_have_in_common_is_kept_once() -> None:
    writer = CallWriter()
    calls = Calls()
    for _ in range(20):
        writer.append(plain_call(calls.exchange(6, b"ask", b"answer")))
    writer.append(replace(writer[0], pipe="other"))
    writer.append(writer[0])
    _, _, shared, log = writer.packed()
    assert len(shared.smbs) == 1
    assert shared.texts.count("PerflibV2QueryCounterData") == 1
    assert shared.tally == [(("complete", "PerflibV2", "PerflibV2QueryCounterData"), 22)]
    assert sum(map(len, log.pieces())) < 22 * 300
    assert [writer[at].pipe for at in (0, 20, 21)] == [writer[0].pipe, "other", writer[0].pipe]


def test_moments_are_dropped_when_nobody_asks_any_more() -> None:
    writer = CallWriter()
    for call in calls_of_all_kinds():
        writer.append(call)
    writer.drop_moments()
    assert writer.moments.column("first_time").tolist() == []
    assert len(writer) == 6
