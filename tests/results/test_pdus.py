"""PDUs of a message are what they were one by one: in memory, and packed with their call."""

import pickle
from array import array
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.core import growing_columns
from analyzer.core.absence import Missing
from analyzer.core.byte_log import Log
from analyzer.core.traced_bytes import StoredBytes, TracedBytes
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.calls import call_table, ordered_calls
from analyzer.results.calls.call import Call, CallState, PerformanceRead, Side, StubProblem
from analyzer.results.calls.call_row_columns import FORMATS
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.held_calls import HeldSide
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.calls.pdus import (
    Fragment,
    Fragments,
    Pdus,
    Plain,
    frame_range_of,
    frames_of,
    stub_length_of,
    stub_of,
)
from analyzer.results.methods import perflib
from analyzer.results.saved_analysis import dump, load
from tests.build.calls import HANDLE, Calls, analysis_of
from tests.build.cases import kept

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
        self.pdus = Pdus.from_lengths(self.whole, self.lengths, self.bounds, self.plains, "rpc")

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
        for start, stop in combinations_with_replacement(range(len(joined) + 1), 2):
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
@pytest.mark.parametrize("at_once", [0, 4, 2048])
def test_pdus_are_the_same_when_they_are_in_a_table(
    count: int, kind: str, one_frame: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read at once, or when they are asked for; of one message, or as PDUs that were carried differently."""
    monkeypatch.setattr(call_table, "_READ_AT_ONCE", at_once)
    made = message(count, kind, one_frame=one_frame)
    apart: Fragments = tuple(made.fragments())
    for pdus in (made.pdus, apart):
        table = CallTable(memory=0)
        table.append(call_with(pdus))
        check(packed_request(table[0]).pdus, made.fragments())
        # Once more, through what is read: as it is known better, and in another table.
        assert table.replaced(0, table[0]) == 1
        check(packed_request(table[1]).pdus, made.fragments())
        other = CallTable(memory=0)
        other.append(table[1])
        check(packed_request(other[0]).pdus, made.fragments())
        assert other.tally == {kind: count for kind, count in table.tally.items() if count}


@pytest.mark.parametrize(("count", "kind", "one_frame"), CASES)
def test_a_row_states_the_stub_of_its_call_unless_a_part_of_it_is_lacking(
    count: int, kind: str, one_frame: bool
) -> None:
    made = message(count, kind, one_frame=one_frame)
    call, table = call_with(made.pdus), CallTable(memory=0)
    shorter = replace(call.request, stub_length=max(call.request.stub_length - 1, 0))
    for request in (call.request, shorter):
        table.append(replace(call, request=request, response=None))
    whole, cut = table.held([0, 1])
    if not any(isinstance(plain, Missing) for plain in made.plains):
        stub = stub_of(made.pdus).data
        assert bytes_of(whole.request if whole is not None else None) == (stub, frames_of(made.pdus))
        assert bytes_of(cut.request if cut is not None else None) == (stub[:-1], frames_of(made.pdus))
    else:
        assert whole is cut is None


def bytes_of(side: Side | HeldSide | None) -> tuple[bytes, tuple[int, ...]] | None:
    """The stub of a side, and the frames that carried it."""
    if side is None:
        return None
    if isinstance(side, Side):
        return side.stub_data, side.frames
    assert side.stub is None or isinstance(side.stub, bytes)
    return side.stub or b"", side.frames


def call_with(pdus: Fragments) -> Call:
    call = plain_call(Calls().exchange(6, b"", b"answer"))
    assert call.request is not None
    return replace(call, request=replace(call.request, pdus=pdus, stub_length=stub_length_of(pdus)))


def packed_request(call: Call) -> Side:
    assert call.request is not None
    return call.request


def test_only_what_was_asked_for_of_a_packed_stub_is_read() -> None:
    made = message(1, "clear", one_frame=True)
    writer = CallTable()
    writer.append(call_with(made.pdus))
    pdus = packed_request(writer[0]).pdus
    with pytest.raises(AttributeError):
        _ = pdus.nothing
    assert pdus.stub_bytes(3) == b"abc"


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


def facts(call: Call) -> dict[str, Any]:
    """Every field of a call."""
    return {
        name: plainly(getattr(call, name)) if name in ("request", "response") else getattr(call, name)
        for name in call.__struct_fields__
    }


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
        writer = CallTable()
        call = replace(base, request=full, state="partial", reason="why", status=234, fault=7, call_id=12, context_id=4)
        call = replace(call, key="HKEY_PERFORMANCE_DATA", key_number=3, path="HKLM\\X", impersonation=2, session=9)
        assert writer.append(base) == 0
        assert writer.append(call) == 1
        for at, each in enumerate((base, call)):
            first = each.request or each.response
            time_ns = first.first_time_ns if first is not None else 0
            assert facts(writer[at]) == facts(replace(each, time_ns=time_ns))


def test_calls_are_counted_by_state_interface_and_method() -> None:
    writer = CallTable()
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
    assert writer.replaced(0, replace(writer[0], state="partial")) == 6
    assert writer.tally[perflib] == 1
    assert writer.tally["partial", "PerflibV2", "PerflibV2QueryCounterData"] == 1


MOMENTS = ["first_time", "first_frame", "begin_time", "begin_frame", "end_time", "end_frame", "handle", "call_id"]


def test_columns_say_when_each_call_began_and_ended() -> None:
    table = CallTable()
    made = calls_of_all_kinds()
    poll = replace(
        made[0], request=replace(packed_request(made[0]), params={"hQuery": {"attributes": 0, "uuid": HANDLE}})
    )
    listing = replace(made[0], opnum=0)
    for call in (*made, poll, listing):
        table.append(call)
    ms = 1_000_000
    rows = [
        (1 * ms, 1, 1 * ms, 1, 2 * ms, 2, -1, 1),
        (3 * ms, 3, 3 * ms, 3, -1, -1, -1, 2),
        (4 * ms, 4, 4 * ms, 4, 4 * ms, 4, -1, 3),
        (5 * ms, 5, 5 * ms, 5, 6 * ms, 6, -1, 4),
        (90 * ms, 90, 90 * ms, 90, 91 * ms, 91, -2, 1),
        (1 * ms, 1, 1 * ms, 1, 2 * ms, 2, -2, 1),
        (1 * ms, 1, 1 * ms, 1, 2 * ms, 2, 0, 1),
        (1 * ms, 1, 1 * ms, 1, 2 * ms, 2, -2, 1),
    ]
    assert [tuple(table.number(name, at) for name in MOMENTS) for at in range(8)] == rows
    assert list(zip(*(table.column(name).tolist() for name in MOMENTS), strict=True)) == rows
    assert table.is_of(perflib.INTERFACE).tolist() == [True, True, True, True, False, False, True, True]
    assert (table.column("request_side") >= 0).tolist() == [True, True, False, True, True, True, True, True]
    assert [table.context(at).channel for at in range(8)] == [made[0].channel] * 8
    assert list(table.shared.handles) == [(made[0].server, HANDLE)]


def test_a_call_without_sides_began_at_no_time() -> None:
    call = replace(calls_of_all_kinds()[0], request=None, response=None)
    table = CallTable()
    table.append(call)
    assert table[0].time_ns == 0
    assert [table.number(name, 0) for name in MOMENTS[:6]] == [0, 0, 0, 0, -1, -1]


def test_calls_in_order_have_their_numbers_and_the_states_of_their_handles() -> None:
    writer = CallTable()
    for call in calls_of_all_kinds():
        writer.append(call)
    states: list[Any] = ["first", "second"]
    calls = OrderedCalls(writer, [4, 0, 2], [1, -1, 0], states)
    assert [(call.number, call.query) for call in calls] == [(1, "second"), (2, None), (3, "first")]
    assert [call.call_id for call in calls] == [1, 1, 3]
    assert [call.number for call in calls[1:]] == [2, 3]
    assert (len(calls), calls[-1].number, calls[0].time_ns) == (3, 3, 90_000_000)
    assert calls[0] is calls[0]
    assert calls.tally == writer.tally
    assert calls.column("first_frame").tolist() == [90, 1, 4]
    with pytest.raises(IndexError):
        calls[3]
    assert calls.first_of_contexts([1, 2, 3]) == [1, 2]
    assert calls.first_of_contexts([2, 3]) == [2]
    assert (calls.of_perflib([6]), calls.of_perflib([1, 3]), calls.of_perflib([])) == ([2], [], [])
    plain = OrderedCalls(writer, [0, 1])
    assert [(call.number, call.query) for call in plain] == [(1, None), (2, None)]


def test_the_first_call_is_found_of_those_whose_requests_have_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    make = Calls()
    other = make.exchange(0, make.stub().string("\\\\OTHER").uint(64), make.sized(b"", element=16))
    calls = analysis_of(*[make.registration(code, b"") for code in (3, 5)], other, make.close_query()).calls
    assert calls.first_by_text([1, 2, 3, 4], "szMachine") == [1, 2, 4]
    assert (calls.first_by_text([3, 4], "szMachine"), calls.first_by_text([], "szMachine")) == ([3, 4], [])
    assert calls.first_by_text([1, 2, 3], "RequestCode") == [1]
    monkeypatch.setattr(ordered_calls, "_TEXTS_KEPT", 1)
    assert calls.first_by_text([2, 1, 3], "szMachine") == [2, 1, 3]
    # Parameters of a damaged case are as they are.
    log = calls.table.log
    log._tail = [part.replace(b"\\\\OTHER", b"\\\\\xf3THER") for part in log._tail]
    assert b"".join(log._tail).count(b"\xf3THER") == 1
    assert calls.first_by_text([1, 2, 3], "szMachine") == [1, 2]


def test_long_bytes_are_moved_into_the_log_in_parts_and_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_table, "_WRITTEN_AT_ONCE", 200)
    appended: list[int] = []
    append = Log.append

    def counted(self: Log, data: bytes) -> int:
        if data:
            appended.append(len(data))
        return append(self, data)

    monkeypatch.setattr(Log, "append", counted)
    for length in (199, 200, 201, 400, 401):
        data = bytes(at % 256 for at in range(length))
        aside = Log(1000)
        place = append(aside, data)
        logged = StoredBytes.from_store(aside, place, length, TracedBytes.of_frame(data, 3, 7).source)
        appended.clear()
        table = CallTable()
        table.append(call_with(Pdus(logged, None, array("I", (1, length)))))
        assert max(appended) <= 200
        request = packed_request(table[0])
        assert request.stub_data == data[1:]
        assert request.frames == (3,)
        # What lies in this log already stays where it is.
        appended.clear()
        table.replaced(0, table[0])
        assert sum(appended) < 100
        assert packed_request(table[1]).stub_data == data[1:]


def test_what_calls_have_in_common_is_kept_once() -> None:
    table = CallTable()
    calls = Calls()
    for _ in range(20):
        table.append(plain_call(calls.exchange(6, b"ask", b"answer")))
    table.append(replace(table[0], pipe="other"))
    table.append(table[0])
    shared = table.shared
    assert len(shared.contexts) == 2
    assert len(shared.smbs) == 1
    assert shared.texts.count("PerflibV2QueryCounterData") == 1
    assert table.tally == {("complete", "PerflibV2", "PerflibV2QueryCounterData"): 22}
    assert table.log.end < 22 * 200
    assert [table[at].pipe for at in (0, 20, 21)] == [table[0].pipe, "other", table[0].pipe]


_TEXTS = st.none() | st.text(max_size=3)
_PARAMS = st.dictionaries(st.text(max_size=3), st.integers(-(1 << 63), (1 << 64) - 1) | _TEXTS, max_size=2)


@st.composite
def any_call(draw: st.DrawFn) -> Call:
    """Any call that a layer can complete."""

    def side() -> Side:
        made = message(
            draw(st.sampled_from((1, 2, 5))),
            draw(st.sampled_from(("clear", "opened", "sealed", "some"))),
            one_frame=draw(st.booleans()),
        )
        fragments: Fragments = draw(st.sampled_from((made.pdus, tuple(made.fragments()), ())))
        return Side(
            pdus=fragments,
            missing=draw(st.none() | st.sampled_from(Missing)),
            stub_length=draw(st.integers(0, 9)),
            wire_length=draw(st.integers(0, 1 << 40)),
            verification_trailer=draw(st.sampled_from((None, "ok", "bad"))),
            big_endian=draw(st.booleans()),
            first_time_ns=draw(st.integers(0, (1 << 63) - 1)),
            last_time_ns=draw(st.integers(0, (1 << 63) - 1)),
            frames_of_dropped=draw(st.sampled_from(((), (3, 8)))),
            params=draw(_PARAMS),
            buffer_span=draw(st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9))),
            buffer_kind=draw(st.none() | st.sampled_from(get_args(BufferKind))),
            problem=draw(st.none() | st.just(StubProblem("malformed", "a", "b", 1, None))),
        )

    number = st.none() | st.integers(0, (1 << 32) - 1)
    base = draw(st.sampled_from(calls_of_all_kinds()))
    request, response = (side() if draw(st.booleans()) else None for _ in range(2))
    first = request or response
    return replace(
        base,
        time_ns=first.first_time_ns if first is not None else 0,
        request=request,
        response=response,
        state=draw(st.sampled_from(get_args(CallState))),
        reason=draw(_TEXTS),
        # What the methods of PerflibV2 are called with is held by test_state.py.
        opnum=draw(st.none() | st.integers(8, (1 << 16) - 1)),
        status=draw(number),
        fault=draw(number),
        call_id=draw(st.integers(0, (1 << 32) - 1)),
        context_id=draw(st.integers(0, (1 << 16) - 1)),
        pipe=draw(_TEXTS),
        session=draw(number),
        key=draw(_TEXTS),
        key_number=draw(number),
        path=draw(_TEXTS),
        read=draw(st.none() | st.just(PerformanceRead(1, 2, None, HANDLE, "Global"))),
    )


@given(st.lists(any_call(), max_size=8), st.integers(1, 4))
def test_any_calls_come_back_from_a_table_and_from_a_case(calls: list[Call], group: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_columns, "GROUP", group)
        table = CallTable(memory=0)
        for call in calls:
            table.append(call)
        expected = [facts(call) for call in calls]
        assert [facts(table[at]) for at in range(len(table))] == expected
        again = load(*kept(dump(replace(analysis_of(), calls=OrderedCalls(table, range(len(table))))))).calls
        for name in FORMATS:
            assert again.column(name).tolist() == table.column(name).tolist(), name
        assert [facts(replace(call, number=0)) for call in again] == expected
        for call, held in zip(calls, table.held(range(len(table))), strict=True):
            assert held is None or [bytes_of(one) for one in (held.request, held.response)] == [
                bytes_of(one) for one in (call.request, call.response)
            ]
