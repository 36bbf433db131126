"""An analysis as bytes and back, what is damaged in it, the captured packets beside it, and where a layer's bytes were captured."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from analyzer.core.errors import CaseError, InputError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id
from analyzer.core.server_names import Name
from analyzer.core.traced import TracedBytes, untraced
from analyzer.interfaces.pcq.perflib_layer import perflib_call
from analyzer.results import scmr
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.call import Call, InterfaceFacts
from analyzer.results.call_table import CallTable, OrderedCalls
from analyzer.results.display import LayerBytes, Node, Run, SideView
from analyzer.results.packets import CapturedFrame, Packets
from analyzer.results.pdus import Pdus
from analyzer.results.query import Held, Identifier, InOrder, QueryView
from analyzer.results.saved import LOG, RECORDS, dump, load
from analyzer.transport.rpc.plain_call import plain_call
from tests.build.calls import HANDLE, Calls, analysis_of
from tests.build.cases import Kept, kept, rows_of, with_columns, with_tables
from tests.results.test_pdus import call_with, message

GUID = "383487a6-3676-4870-a4e7-d45b30c35629"
ITEMS = [Identifier(GUID, 0, number, 5, number, f"i{number}") for number in range(4)]


def again(analysis: Analysis) -> Analysis:
    return load(*kept(dump(analysis)))


def some_analysis(calls: Sequence[Call]) -> Analysis:
    """Calls of one handle are of one state where it is the same object."""
    table, states = CallTable(), list[QueryView]()
    views = []
    for call in calls:
        table.append(call)
        known = [at for at, state in enumerate(states) if state is call.query]
        if call.query is not None and not known:
            known = [len(states)]
            states.append(call.query)
        views.append(known[0] if known else -1)
    return replace(analysis_of(), calls=OrderedCalls(table, range(len(table)), views, states))


def polls(count: int) -> list[Call]:
    make = Calls(scmr.INTERFACE)
    return [replace(plain_call(make.exchange(6, b"ask", b"answer")), number=at + 1) for at in range(count)]


def test_what_handles_held_is_kept_once_and_comes_back() -> None:
    grown = list(ITEMS)
    held = Held.first(grown, 2)
    in_order = QueryView(HANDLE, 1, InOrder(held), GUID, "replay", held)
    by_index = QueryView(HANDLE, 1, {7: ITEMS[3], 0: ITEMS[1]}, None, "index", Held(grown), None)
    unknown = QueryView(HANDLE[:-1] + "2", 2, {}, None, None, None, "never seen")
    calls = [
        replace(call, query=view)
        for call, view in zip(polls(6), (in_order, by_index, unknown, None, in_order, by_index), strict=True)
    ]
    assert [one.items for one in rows_of(some_analysis(calls), "held")] == [ITEMS]
    assert len(rows_of(some_analysis(calls), "views")) == 3
    found = [call.query for call in again(some_analysis(calls)).calls]
    assert found[0] == found[4] == in_order
    assert found[1] == found[5] == by_index
    assert (found[2], found[3]) == (unknown, None)
    assert found[0] is not None
    assert isinstance(found[0].blocks, InOrder)
    assert len(found[0].held or ()) == 2


def test_all_else_of_an_analysis_comes_back() -> None:
    whole = analysis_of(*(Calls().registration(9, "N\0a\0m\0e\0\0\0".encode("latin-1")) for _ in range(2)))
    whole.catalogs.at("a").entry(GUID).counter(3).fill_english("three")
    whole.catalogs.at("a").entry(GUID).given.add("provider_name")
    whole.catalogs.at("a").entry(GUID).counter(3).fill_info({"counter_type": 7})
    whole.catalogs.at("a").learn_instances(GUID, {"instances": [{"instance_id": 1, "name": "i"}]})
    whole.name_tables.at("b").learn("009", {2: "S"})
    whole.name_tables.at("b").give("007", {4: "M"})
    whole = replace(
        whole,
        problems=(Problem("gap", "tcp", (3, 4), "lost"),),
        closed=frozenset({5, 2}),
        connections={"pipe": 3},
        secrets_given=True,
        capture=replace(whole.capture, names={"10.0.0.1": "dc"}),
    )
    found = again(whole)
    for name in whole.__struct_fields__:
        there, here = getattr(found, name), getattr(whole, name)
        if name not in ("calls", "catalogs", "name_tables"):
            assert (tuple(there) if isinstance(here, tuple) else there) == here, name
    entry, before = (one.catalogs.at("a").countersets[GUID] for one in (found, whole))
    assert (entry.given, entry.instances) == ({"provider_name"}, {1: "i"})
    assert (entry.counters[3].english, entry.counters[3].info, entry.counters[3].info_source) == (
        Name("three", "metadata"),
        {"counter_type": 7},
        "metadata",
    )
    assert before.counters[3].english == entry.counters[3].english
    assert found.name_tables.at("b").packed() == ({"009": {2: "S"}}, {"007": {4: "M"}})
    assert [call.method for call in found.calls] == [call.method for call in whole.calls]


def damaged(analysis: Analysis, columns: Mapping[str, Sequence[int]] | None = None, **tables: Any) -> Analysis:
    """The analysis with other columns of calls, and other records in its tables."""
    return load(*kept(with_tables(with_columns(dump(analysis), columns or {}), **tables)))


def test_calls_that_do_not_fit_what_is_said_of_them_are_refused() -> None:
    view = QueryView(HANDLE, 1, {}, None)
    whole = some_analysis([replace(call, query=view) for call in polls(3)])
    assert len(damaged(whole).calls) == 3
    assert [call.query for call in damaged(whole, {"view": (-1, 0, 0)}).calls] == [None, view, view]
    for wrong in (-2, 1):
        with pytest.raises(CaseError, match="a state of a handle that is not there"):
            damaged(whole, {"view": (0, 0, wrong)}).calls[2]
    assert [call.call_id for call in damaged(whole, {"call_id": (7, 9, 8)}).calls] == [7, 9, 8]
    for name, wrong in (
        ("request_pdus", 3),
        ("request_ends", 4),
        ("context", 1),
        ("state", 6),
        ("method", 9),
        ("request_side", 20),
        ("request_buffer_kind", 99),
    ):
        found = damaged(whole, {name: (wrong, wrong, wrong)})
        with pytest.raises(CaseError, match="call 1 cannot be read"):
            found.calls[0]
    assert len(damaged(some_analysis([])).calls) == 0
    # Columns are read as a whole, too.
    with pytest.raises(CaseError, match="a context that is not there"):
        damaged(whole, {"context": (0, 0, 1)}).calls.of_perflib((6,))
    for wrong in (-2, 1):
        with pytest.raises(CaseError, match="a state of a handle that is not there"):
            np.asarray(damaged(whole, {"view": (0, 0, wrong)}).calls.views)


@pytest.mark.parametrize(
    ("rows", "said"), [(-1, "it has -1 calls"), (1 << 20, "it has 1048576 calls"), (2, "damaged"), (4, "damaged")]
)
def test_a_table_has_as_many_rows_as_the_manifest_says(rows: int, said: str) -> None:
    facts, entries = kept(dump(some_analysis(polls(3))))
    tables = facts.tables | {"calls": replace(facts.tables["calls"], rows=rows)}
    with pytest.raises((ValueError, CaseError), match=said):
        load(replace(facts, tables=tables), entries).calls[0]


@pytest.mark.parametrize("name", ["calls", "problems", "closed"])
@pytest.mark.parametrize("other", ["u2", "f8", "u8", "u1 u1", ""])
def test_a_table_has_the_columns_that_the_manifest_says(name: str, other: str) -> None:
    analysis = replace(
        some_analysis(polls(3)), closed=frozenset({4}), problems=(Problem("gap", "tcp", (3, 4), "lost"),)
    )
    facts, entries = kept(dump(analysis))
    stated = replace(facts.tables[name], widths=facts.tables[name].widths.replace("u1", other, 1))
    with pytest.raises((ValueError, CaseError)):
        looked_at(load(replace(facts, tables=facts.tables | {name: stated}), entries))


WHOLE = TracedBytes.of_frame(b"0123456789", 3, 50, 7)


@pytest.mark.parametrize(
    ("stops", "bounds", "plains", "words"),
    [
        (None, (2, 9), None, None),
        (None, (2, 10), None, None),
        (None, (10, 10), None, None),
        (None, (0, 0), None, None),
        (None, (2, 11), None, "stubs that do not lie in their PDUs"),
        (None, (9, 2), None, "stubs that do not lie in their PDUs"),
        ((4, 10), (0, 4, 2, 6), None, None),
        ((4, 9), (0, 4, 2, 5), None, None),
        ((4, 11), (0, 4, 2, 6), None, "PDUs that do not lie in their bytes"),
        ((6, 4), (0, 4, 0, 0), None, "PDUs that do not lie in their bytes"),
        ((4, 4), (0, 4, 0, 0), None, None),
        ((4, 10), (0, 5, 2, 6), None, "stubs that do not lie in their PDUs"),
        ((4, 10), (0, 4, 2, 7), None, "stubs that do not lie in their PDUs"),
        ((4, 10), (0, 4, 2, 6), (None, b"open"), None),
        ((4, 10), (0, 4, 2, 6), (None,), "more or fewer stubs than PDUs"),
        ((4, 10), (0, 4, 2, 6), (None, None, None), "more or fewer stubs than PDUs"),
    ],
)
def test_a_call_whose_pdus_cannot_be_is_damaged(
    stops: tuple[int, ...] | None, bounds: tuple[int, ...], plains: Any, words: str | None
) -> None:
    pdus = Pdus(WHOLE, array("I", stops) if stops is not None else None, array("I", bounds), "rpc", plains)
    (call,) = polls(1)
    assert call.request is not None
    found = again(some_analysis([replace(call, request=replace(call.request, pdus=pdus))]))
    if words is None:
        assert found.calls[0].call_id == 1
        return
    with pytest.raises(InputError) as caught:
        found.calls[0]
    assert str(caught.value) == f"the case is damaged: call 1 cannot be read ({words})"


def test_a_call_without_origins_is_damaged() -> None:
    (call,) = polls(1)
    assert call.request is not None
    for data in (untraced(b"0123456789"), TracedBytes.join([WHOLE[:9], untraced(b"9")])):
        pdus = Pdus(data, None, array("I", (0, 1)))
        found = again(some_analysis([replace(call, request=replace(call.request, pdus=pdus))]))
        with pytest.raises(InputError, match="bytes without an origin"):
            found.calls[0]


# ----------------------------------------------------------------------------------------------------------- packets


def test_packets_are_frames_and_the_messages_in_them() -> None:
    packets = Packets("the capture is gone")
    assert (packets.lacking, packets.size, packets.frame(1)) == ("the capture is gone", 0, None)
    frames = [CapturedFrame(number, 1, bytes([number]) * 10, 60 + number) for number in (1, 2, 4)]
    for frame in frames:
        packets.add_frame(frame)
    assert packets.size == 30
    assert [packets.frame(number) for number in (1, 2, 3, 4)] == [frames[0], frames[1], None, frames[2]]
    assert "\\x01" not in repr(frames[0])
    first = TracedBytes.join([TracedBytes.of_frame(b"\1\1\1", 1, 2), TracedBytes.of_frame(b"\2\2", 2, 0)])
    opened = first.replaced(b"plain", "smb3")
    shorter = first.replaced(b"p", "lz77")
    lost = TracedBytes.join([TracedBytes.of_frame(b"\1", 1, 0), TracedBytes.of_frame(b"?", 3, 0)])
    packets.add_message(first, first, "cut")
    packets.add_message(first, opened)
    packets.add_message(first, shorter)
    packets.add_message(first[:2], lost)
    packets.add_message(lost, opened)
    whole = first.replaced(b"other", "x")
    packets.add_message(TracedBytes.of_frame(b"\4\4", 4, 3), whole, "last")
    found = list(packets.messages([2, 1, 2]))
    assert [(one.sent.data, one.message.data, one.message.steps, one.reason) for one in found] == [
        (b"\1\1\1\2\2", b"\1\1\1\2\2", (), "cut"),
        (b"\1\1\1\2\2", b"plain", ("smb3",), ""),
        (b"\1\1\1\2\2", b"p", ("lz77",), ""),
    ]
    assert all(one.sent == first for one in found)
    assert found[1].message == opened
    assert found[2].message == shorter
    assert [one.message.data for one in packets.messages([4])] == [b"other"]
    assert list(packets.messages([3, 9])) == []
    assert list(packets.messages([])) == []
    # What is added later is found too.
    packets.add_message(TracedBytes.of_frame(b"\4", 4, 0), whole)
    assert [one.reason for one in packets.messages([4, 1])] == ["cut", "", "", "last", ""]


def test_selected_calls_have_their_numbers() -> None:
    calls = polls(5)
    selected = Selected(calls, [2, 3, 5])
    assert list(selected) == [(2, calls[1]), (3, calls[2]), (5, calls[4])]
    assert (len(selected), selected[-1], selected[0]) == (3, (5, calls[4]), (2, calls[1]))
    assert list(selected[1:]) == [(3, calls[2]), (5, calls[4])]
    assert [number for number in range(7) if selected.holds(number)] == [2, 3, 5]
    assert not Selected(calls, []).holds(1)


# ------------------------------------------------------------------------------------------------------------ layers


def test_bytes_of_a_layer_are_found_in_their_frames() -> None:
    runs = (Run(0, 4, 7, 0, 54, 4), Run(4, 10, 3, 1, 60, 6), Run(10, 40, 9, 0, 20, 5))
    layer = LayerBytes(id="x", kind="stub", title="x", data=b"secret", runs=runs, steps=())
    assert list(layer.runs_at(0, 10)) == list(runs[:2])
    assert list(layer.runs_at(2, 5)) == [Run(2, 4, 7, 0, 56, 2), Run(4, 5, 3, 1, 60, 1)]
    assert list(layer.runs_at(9, 11)) == [Run(9, 10, 3, 1, 65, 1), runs[2]]
    assert list(layer.runs_at(4, 4)) == list(layer.runs_at(40, 50)) == list(layer.runs_at(4, 3)) == []
    assert list(layer.runs_at(39, 40)) == [runs[2]]
    assert layer.frames == ((0, 7), (1, 3), (0, 9))
    assert layer.frames_at(3, 11) == ((0, 7), (0, 9), (1, 3))
    assert layer.frames_at(4, 10) == ((1, 3),)
    assert (layer.stub_start, layer.stub_stop, layer.offset, layer.undone_by, layer.notes) == (0, 0, 0, (), ())
    assert (layer.parent, layer.tree, layer.problem) == (None, None, None)
    assert "secret" not in repr(layer)
    side = SideView(name="request", missing=None, buffer_kind=None, layers=(layer, replace(layer, id="y")))
    assert side.layer("stub") is layer
    assert side.layer("buffer") is None


def test_fields_end_where_they_end_and_have_leaves() -> None:
    def node(name: str, start: int, length: int, *children: Node) -> Node:
        return Node(name, name, "u4", start, length, None, None, "", children)

    tree = node("all", 2, 9, node("a", 2, 4), node("b", 6, 5, node("c", 6, 1), node("d", 7, 4)))
    assert [leaf.name for leaf in tree.leaves()] == ["a", "c", "d"]
    assert [leaf.stop for leaf in tree.leaves()] == [6, 7, 11]
    assert (tree.stop, list(tree.children[0].leaves())) == (11, [tree.children[0]])


def test_calls_have_no_more_bytes_than_there_are() -> None:
    """Otherwise a case of a megabyte, each call of which has it whole, would be a gigabyte."""
    make = Calls(scmr.INTERFACE)
    calls = [replace(plain_call(make.exchange(6, bytes(5000), b"")), number=at + 1) for at in range(2)]
    whole = some_analysis(calls)
    length = whole.calls.table.number("request_whole", 0)
    assert len(damaged(whole, {"request_whole": (length, length)}).calls[0].frames) == 2
    for name in ("rare", "request_params", "response_origins", "request_whole", "response_unsealed", "request_ends"):
        with pytest.raises(CaseError, match="more than there are"):
            damaged(whole, {name: (0, whole.calls.table.log.end)}).calls[0]
    apart = call_with(tuple(message(2, "some", one_frame=True).fragments()))
    found = damaged(some_analysis([apart, apart]), {"request_whole": (0, 1)})
    with pytest.raises(CaseError, match="PDUs that are not its own"):
        found.calls[0]


@pytest.mark.parametrize(
    "change",
    [
        {"hQuery": None},
        {"hQuery": {"attributes": None, "uuid": HANDLE}},
        {"hQuery": "handle"},
        {"dwInSize": "many"},
        {"dwInSize": None},
    ],
)
def test_a_call_that_lacks_what_its_method_has_is_damaged(change: dict[str, Any]) -> None:
    make = Calls()
    call = perflib_call(plain_call(make.exchange(6, make.stub().handle(HANDLE).uint(4096), make.sized(b""))))
    assert call.request is not None
    read = again(some_analysis([call])).calls[0].request
    assert read is not None
    assert read.params == call.request.params
    params = {key: value for key, value in {**call.request.params, **change}.items() if value is not None}
    forged = replace(call, request=replace(call.request, params=params))
    with pytest.raises(CaseError, match="call 1 cannot be read"):
        again(some_analysis([forged])).calls[0]


def test_a_name_of_a_machine_may_be_null_but_not_missing() -> None:
    make = Calls()
    stub = make.stub().string("\\\\FILES").uint(64)
    call = perflib_call(plain_call(make.exchange(0, stub, make.sized(b"", element=16))))
    assert call.request is not None
    for params in ({"szMachine": None, "dwInSize": 64}, {"dwInSize": 64}):
        found = again(some_analysis([replace(call, request=replace(call.request, params=params))]))
        if "szMachine" in params:
            assert (request := found.calls[0].request) is not None
            assert request.params == params
        else:
            with pytest.raises(CaseError, match="its szMachine is not what its method has"):
                found.calls[0]


def test_frames_are_of_a_file_that_is_there() -> None:
    make = Calls()
    call = perflib_call(plain_call(make.exchange(6, make.stub().handle(HANDLE).uint(4096), make.sized(b""))))
    assert call.request is not None
    forged = replace(call, request=replace(call.request, frames_of_dropped=(frame_id(1, 7),)))
    problem = Problem("note", "tcp", (frame_id(1, 7),), "of another file")
    found = again(replace(some_analysis([forged]), problems=[problem]))
    for ask in (lambda: found.calls[0], lambda: found.problems[0]):
        with pytest.raises(CaseError, match="frames of a file that is not there"):
            ask()


@pytest.mark.parametrize(
    "change",
    [
        {"impersonation": 1 << 32},
        {"impersonation": -1},
        {"channel": 1 << 40},
        {"pipe": "w" * 40_000},
        {"interface": InterfaceFacts("no uuid", "1.0", None, False)},
        {"interface": InterfaceFacts(HANDLE, "one", None, False)},
    ],
)
def test_a_call_is_of_a_context_that_messages_have_room_for(change: dict[str, Any]) -> None:
    (call,) = polls(1)
    assert again(some_analysis([call])).calls[0].channel == call.channel
    found = again(some_analysis([replace(call, **change)]))
    with pytest.raises(CaseError, match="damaged"):
        found.calls[0]


def test_an_end_of_a_connection_has_an_address() -> None:
    (call,) = polls(1)
    found = again(some_analysis([replace(call, client=replace(call.client, ip="nowhere"))]))
    for ask in (lambda: found.calls[0], lambda: found.calls.table.by_context("channel")):
        with pytest.raises(CaseError, match="does not appear to be"):
            ask()


@pytest.mark.parametrize("port", [-1, 1 << 16])
def test_an_end_of_a_connection_has_a_port(port: int) -> None:
    (call,) = polls(1)
    found = again(some_analysis([replace(call, server=replace(call.server, port=port))]))
    with pytest.raises(CaseError, match=f"{port} is no port"):
        found.calls[0]


@pytest.mark.parametrize("text", ["0x1g", "", "-0x1", "0x10000000000000000"])
def test_a_session_has_an_id(text: str) -> None:
    (call,) = polls(1)
    assert call.smb is not None
    assert again(some_analysis([call])).calls[0].smb == call.smb
    found = again(some_analysis([replace(call, smb=replace(call.smb, session_id=text))]))
    with pytest.raises(CaseError, match=r"is no SessionId|invalid literal"):
        found.calls[0]


def test_a_column_that_is_none_is_damage() -> None:
    facts, entries = kept(dump(some_analysis(polls(3))))
    calls = load(facts, {**entries, "tables/calls.arrow": Kept(b"x" * 99_999)}).calls
    for ask in (
        lambda: calls.column("opnum"),
        lambda: calls.table.number("opnum", 0),
        lambda: calls[0],
        lambda: calls.tally,
        lambda: calls.table.rows(np.array([0, 1])),
    ):
        with pytest.raises(CaseError, match="the case is damaged"):
            ask()


def test_a_table_of_records_that_is_none_is_damage() -> None:
    whole = replace(some_analysis(polls(3)), problems=(Problem("gap", "tcp", (3, 4), "lost"),))
    facts, entries = kept(dump(whole))
    for name in RECORDS:
        if facts.tables[name].rows:
            found = {**entries, f"tables/{name}.arrow": Kept(b"x" * 99_999)}
            with pytest.raises(CaseError, match=f"the case is damaged: {name} cannot be read"):
                looked_at(load(facts, found))


def looked_at(analysis: Analysis) -> None:
    for sequence in (analysis.problems, analysis.sessions, analysis.bounds, analysis.calls, analysis.features):
        list(sequence)  # type: ignore[call-overload]
    list(analysis.catalogs)
    list(analysis.name_tables.all())
    shared = analysis.calls.table.shared
    for values in (shared.contexts, shared.smbs, shared.handles):
        list(values)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["contexts", "smbs", "texts", "steps", "views", "held"])
def test_tables_that_refer_to_rows_that_are_not_there_are_damage(name: str) -> None:
    view = QueryView(HANDLE, 1, {}, GUID, None, Held(ITEMS))
    whole = some_analysis([replace(call, query=view) for call in polls(2)])
    assert damaged(whole).calls[0].query == view
    with pytest.raises(CaseError, match="the case is damaged"):
        damaged(whole, **{name: []}).calls[0]


@pytest.mark.parametrize("name", ["context", "smb", "method", "state"])
def test_numbers_that_mean_nothing_are_damage(name: str) -> None:
    whole = some_analysis(polls(2))
    meaning = damaged(whole).calls.table.meaning(name)
    assert meaning(0) == whole.calls.table.meaning(name)(0)
    with pytest.raises(CaseError, match=f"{name} of a call cannot be read"):
        meaning(99)


def test_counters_of_a_counterset_that_is_not_there_are_damage() -> None:
    whole = analysis_of()
    whole.catalogs.at("a").entry(GUID).counter(3).fill_english("three")
    found = damaged(whole, countersets=[])
    with pytest.raises(CaseError, match="a counterset that is not there"):
        list(found.catalogs)


def test_calls_are_counted_as_they_were_when_they_completed() -> None:
    make = Calls()
    queries = [perflib_call(plain_call(make.exchange(6, b"", b""))) for _ in range(2)]
    whole = some_analysis([*polls(3), *queries])
    assert whole.calls.tally
    assert dict(again(whole).calls.tally) == dict(whole.calls.tally)


def test_the_log_of_calls_is_read_when_a_call_is() -> None:
    facts, entries = kept(dump(some_analysis(polls(3))))
    found = load(facts, {**entries, LOG: Kept(b"")})
    assert found.calls.column("call_id").tolist()
    with pytest.raises(CaseError, match="more than there are"):
        found.calls[0]
