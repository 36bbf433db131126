"""An analysis as bytes and back, what is damaged in it, the captured packets beside it, and where a layer's bytes were captured."""

import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from analyzer.core.byte_origins import FrameExtent
from analyzer.core.errors import CaseError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id
from analyzer.core.traced_bytes import TracedBytes, untraced
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.interfaces.pcq.perflib_layer import perflib_call
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.calls.call import Call, InterfaceFacts
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.calls.pdus import Pdus
from analyzer.results.calls.query_state import Held, Identifier, InOrder, QueryView
from analyzer.results.captured_packets import CapturedFrame, Packets
from analyzer.results.methods import scmr
from analyzer.results.records.display_records import LayerBytes, Node, Run, SideView
from analyzer.results.reported_names.server_names import Name
from analyzer.results.saved_analysis import LOG, RECORDS, dump, load
from tests.build.calls import HANDLE, Calls, analysis_of
from tests.build.cases import Kept, kept, rows_of, with_columns, with_tables
from tests.results.test_pdus import call_with, message
from tests.written import by_outcome, is_as_written

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
        # Files are told of where the capture itself is read.
        if name not in ("calls", "catalogs", "name_tables", "files"):
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


_NO_HANDLE, _OF_NO_SERVICE = "is no handle", "is not what its method has"


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("lpServiceStatus", {"dwCurrentState": 4, "dwWaitHint": 0}, None),
        ("lpServiceStatus", {"dwCurrentState": "4"}, _OF_NO_SERVICE),
        ("lpServiceConfig", {"dwStartType": 2, "lpDisplayName": None, "lpBinaryPathName": "x"}, None),
        ("lpServiceConfig", {"lpDisplayName": 3}, _OF_NO_SERVICE),
        ("lpServiceConfig", {"dwStartType": None}, _OF_NO_SERVICE),
        ("lpSecurityAttributes", {"nLength": 12, "lpSecurityDescriptor": {"cbInSecurityDescriptor": 0}}, None),
        ("lpSecurityAttributes", {"uuid": 1, "attributes": 0}, _NO_HANDLE),
        ("hService", {"uuid": HANDLE, "attributes": 0}, None),
        ("hService", {"uuid": HANDLE, "attributes": None}, _NO_HANDLE),
        ("phKey", {"attributes": 0}, _NO_HANDLE),
        ("lpScHandle", {}, _NO_HANDLE),
    ],
)
def test_parameters_with_members_are_handles_or_structures(name: str, value: object, wrong: str | None) -> None:
    (call,) = polls(1)
    assert call.response is not None
    call = replace(call, response=replace(call.response, params={name: value}))
    calls = again(some_analysis([call])).calls
    if wrong is None:
        assert calls[0].response is not None
        assert calls[0].response.params == {name: value}
        return
    with pytest.raises(CaseError, match=rf"^the case is damaged: call 1 cannot be read \(its {name} {wrong}\)$"):
        calls[0]


def damaged(analysis: Analysis, columns: Mapping[str, Sequence[int]] | None = None, **tables: Any) -> Analysis:
    """The analysis with other columns of calls, and other records in its tables."""
    return load(*kept(with_tables(with_columns(dump(analysis), columns or {}), **tables)))


WHOLE = TracedBytes.of_frame(b"0123456789", 3, 50, 7)


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
    last = TracedBytes.of_frame(b"\4\4", 4, 3)
    packets.add_message(last, last.replaced(b"others", "x"), "last")
    packets.add_message(last, last[1:])
    found = list(packets.messages([whole_frame(2), whole_frame(1), whole_frame(2)]))
    assert [(one.sent.data, one.message.data, one.message.steps, one.reason) for one in found] == [
        (b"\1\1\1\2\2", b"\1\1\1\2\2", (), "cut"),
        (b"\1\1\1\2\2", b"plain", ("smb3",), ""),
        (b"\1\1\1\2\2", b"p", ("lz77",), ""),
    ]
    assert all(one.sent == first for one in found)
    assert found[1].message == opened
    assert found[2].message == shorter
    assert [one.message.data for one in packets.messages([whole_frame(4)])] == [b"others", b"\4"]
    sent_as_read = list(packets.messages([whole_frame(4)]))[1]
    assert (sent_as_read.sent, sent_as_read.message) == (last, last[1:])
    # Bytes before a message are not its own: its header in byte 3, and what was sent before that.
    assert [one.message.data for one in packets.messages([FrameExtent(4, 3, 1)])] == [b"others"]
    assert list(packets.messages([FrameExtent(4, 0, 3)])) == []
    assert list(packets.messages([whole_frame(3), whole_frame(9)])) == []
    assert list(packets.messages([])) == []
    # What is added later is found too.
    packets.add_message(TracedBytes.of_frame(b"\4", 4, 0), last)
    assert [one.reason for one in packets.messages([whole_frame(4), whole_frame(1)])] == ["cut", "", "", "last", "", ""]


def whole_frame(number: int) -> FrameExtent:
    return FrameExtent(number, 0, 10)


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


def looked_at(analysis: Analysis) -> None:
    for sequence in (analysis.problems, analysis.sessions, analysis.bounds, analysis.calls, analysis.features):
        list(sequence)
    list(analysis.catalogs)
    list(analysis.name_tables.all())
    shared = analysis.calls.table.shared
    for values in (shared.contexts, shared.smbs, shared.handles):
        list(values)


# ------------------------------------------------------------------------------------------------------------ damage


def given_lost() -> Analysis:
    return replace(some_analysis(polls(3)), closed=frozenset({4}), problems=(Problem("gap", "tcp", (3, 4), "lost"),))


def viewed() -> Analysis:
    view = QueryView(HANDLE, 1, {}, GUID, None, Held(ITEMS))
    return some_analysis([replace(call, query=view) for call in polls(3)])


def stated(name: str, **changes: Any) -> Analysis:
    """A case whose manifest says something else of a table."""
    facts, entries = kept(dump(given_lost()))
    return load(replace(facts, tables=facts.tables | {name: replace(facts.tables[name], **changes)}), entries)


def widths(name: str, other: str) -> Analysis:
    return stated(name, widths=dump(given_lost())[0].tables[name].widths.replace("u1", other, 1))


def of_pdus(stops: tuple[int, ...] | None, bounds: tuple[int, ...], plains: Any = None) -> Analysis:
    return changed_request(
        pdus=Pdus(WHOLE, array("I", stops) if stops is not None else None, array("I", bounds), "rpc", plains)
    )


def changed_request(call: Call | None = None, **changes: Any) -> Analysis:
    call = call or polls(1)[0]
    assert call.request is not None
    return again(some_analysis([replace(call, request=replace(call.request, **changes))]))


def changed_call(**changes: Any) -> Analysis:
    return again(some_analysis([replace(polls(1)[0], **changes)]))


def changed_params(change: dict[str, Any]) -> Analysis:
    params = {key: value for key, value in {**POLL.request.params, **change}.items() if value is not None}
    return changed_request(POLL, params=params)


def too_long(name: str) -> Analysis:
    """Otherwise a case of a megabyte, each call of which has it whole, would be a gigabyte."""
    whole = some_analysis(polls(2))
    return damaged(whole, {name: (0, whole.calls.table.log.end)})


def broken(name: str) -> Analysis:
    facts, entries = kept(dump(given_lost()))
    return load(facts, {**entries, f"tables/{name}.arrow": Kept(b"x" * 99_999)})


def with_counters(**tables: Any) -> Analysis:
    whole = analysis_of()
    whole.catalogs.at("a").entry(GUID).counter(3).fill_english("three")
    return damaged(whole, **tables)


def without_log() -> Analysis:
    facts, entries = kept(dump(some_analysis(polls(3))))
    return load(facts, {**entries, LOG: Kept(b"")})


MAKE = Calls()
POLL = perflib_call(plain_call(MAKE.exchange(6, MAKE.stub().handle(HANDLE).uint(4096), MAKE.sized(b""))))
OPENED = perflib_call(
    plain_call(MAKE.exchange(0, MAKE.stub().string("\\\\FILES").uint(64), MAKE.sized(b"", element=16)))
)
APART = call_with(tuple(message(2, "some", one_frame=True).fragments()))
COLUMNS = {"request_pdus": 3, "request_ends": 4, "context": 1, "state": 6, "method": 9, "request_side": 20}
CASES: dict[str, Callable[[], Analysis]] = {
    "nothing is wrong": given_lost,
    "no calls": lambda: damaged(some_analysis([])),
    "of the first no state is known": lambda: damaged(viewed(), {"view": (-1, 0, 0)}),
    **{
        f"the last has state {wrong}": lambda wrong=wrong: damaged(viewed(), {"view": (0, 0, wrong)})
        for wrong in (-2, 1)
    },
    "call ids in another order": lambda: damaged(viewed(), {"call_id": (7, 9, 8)}),
    **{
        f"{name} is {wrong}": lambda name=name, wrong=wrong: damaged(viewed(), {name: (wrong,) * 3})
        for name, wrong in (COLUMNS | {"request_buffer_kind": 99}).items()
    },
    "the last has another context": lambda: damaged(viewed(), {"context": (0, 0, 1)}),
    **{f"{rows} calls": partial(stated, "calls", rows=rows) for rows in (-1, 1 << 20, 2, 4)},
    **{
        f"{name} of {other or 'nothing'}": partial(widths, name, other)
        for name in ("calls", "problems", "closed")
        for other in ("u2", "f8", "u8", "u1 u1", "")
    },
    **{
        f"PDUs that end at {stops}, stubs at {bounds}, {len(plains) if plains else 'no'} opened": partial(
            of_pdus, stops, bounds, plains
        )
        for stops, bounds, plains in [
            *((None, bounds, None) for bounds in ((2, 9), (2, 10), (10, 10), (0, 0), (2, 11), (9, 2))),
            *(((4, stop), (0, 4, 2, end), None) for stop, end in ((10, 6), (9, 5), (11, 6), (10, 7))),
            *(((first, 4), (0, 4, 0, 0), None) for first in (6, 4)),
            ((4, 10), (0, 5, 2, 6), None),
            *(((4, 10), (0, 4, 2, 6), plains) for plains in ((None, b"open"), (None,), (None, None, None))),
        ]
    },
    "bytes without an origin": lambda: changed_request(pdus=Pdus(untraced(b"0123456789"), None, array("I", (0, 1)))),
    "some bytes without an origin": lambda: changed_request(
        pdus=Pdus(TracedBytes.join([WHOLE[:9], untraced(b"9")]), None, array("I", (0, 1)))
    ),
    **{
        f"{name} is as long as the log": partial(too_long, name)
        for name in ("rare", "request_params", "response_origins", "request_whole", "response_unsealed", "request_ends")
    },
    "PDUs apart have bytes of their own": lambda: damaged(some_analysis([APART, APART]), {"request_whole": (0, 1)}),
    "a poll": lambda: changed_request(POLL),
    **{
        f"a poll of {change}": partial(changed_params, change)
        for change in (
            *({"hQuery": query} for query in (None, {"attributes": None, "uuid": HANDLE}, "handle")),
            *({"dwInSize": size} for size in ("many", None)),
        )
    },
    "a name of a machine may be null": lambda: changed_request(OPENED, params={"szMachine": None, "dwInSize": 64}),
    "a name of a machine may not be missing": lambda: changed_request(OPENED, params={"dwInSize": 64}),
    "a call of a file that is not there": lambda: changed_request(frames_of_dropped=(frame_id(1, 7),)),
    "a problem of a file that is not there": lambda: again(
        replace(analysis_of(), problems=[Problem("note", "tcp", (frame_id(1, 7),), "of another file")])
    ),
    **{
        f"a call of {name} {str(value)[:20]}": partial(changed_call, **{name: value})
        for name, value in (
            *(("impersonation", number) for number in (1 << 32, -1)),
            ("channel", 1 << 40),
            ("pipe", "w" * 40_000),
        )
    },
    "a call of no uuid": lambda: changed_call(interface=InterfaceFacts("no uuid", "1.0", None, False)),
    "a call of no version": lambda: changed_call(interface=InterfaceFacts(HANDLE, "one", None, False)),
    "a client without an address": lambda: changed_call(client=replace(polls(1)[0].client, ip="nowhere")),
    **{
        f"port {port}": lambda port=port: changed_call(server=replace(polls(1)[0].server, port=port))
        for port in (-1, 1 << 16)
    },
    **{
        f"session {text!r}": lambda text=text: changed_call(smb=replace(polls(1)[0].smb, session_id=text))
        for text in ("0x1g", "", "-0x1", "0x10000000000000000")
    },
    **{
        f"{name} is no table": partial(broken, name)
        for name in ("calls", *RECORDS)
        if dump(given_lost())[0].tables[name].rows
    },
    **{
        f"{name} has no rows": lambda name=name: damaged(viewed(), **{name: []})
        for name in ("contexts", "smbs", "texts", "steps", "views", "held")
    },
    "counters of a counterset": with_counters,
    "counters of a counterset that is not there": lambda: with_counters(countersets=[]),
    "a log without bytes": without_log,
}
# What is read of a case, each on its own.
READ: dict[str, Callable[[Analysis], object]] = {
    "calls": lambda analysis: [call.call_id for call in analysis.calls],
    "params": lambda analysis: [call.request.params for call in analysis.calls if call.request is not None],
    "handles": lambda analysis: [call.query is not None for call in analysis.calls],
    "polls": lambda analysis: analysis.calls.of_perflib((6,)),
    "views": lambda analysis: np.asarray(analysis.calls.views).tolist(),
    "channels": lambda analysis: analysis.calls.table.by_context("channel").tolist(),
    "ids": lambda analysis: analysis.calls.column("call_id").tolist(),
    "one": lambda analysis: analysis.calls.table.number("call_id", 0) if len(analysis.calls) else None,
    "rows": lambda analysis: len(analysis.calls.table.rows(np.arange(len(analysis.calls)))),
    "tally": lambda analysis: sum(analysis.calls.tally.values()),
    "problems": lambda analysis: [one.frames for one in analysis.problems],
    "rest": looked_at,
}


# Words of Python, which are other ones in other versions.
PYTHON = re.compile(r"(?:zip\(\) argument|range object|tuple index|list index|invalid literal)[^)]*?(?=\)?$)")


def said(make: Callable[[], Analysis]) -> str:
    """What is said of the damage of a case, and what of it cannot be read; or all that is read of one that is sound."""
    damage: dict[str, list[str]] = {}
    sound: dict[str, object] = {}
    try:
        analysis = make()
    except (ValueError, CaseError) as error:
        return PYTHON.sub("what Python says", f"{type(error).__name__}: {error}")
    for name, read in READ.items():
        try:
            sound[name] = read(analysis)
        except (ValueError, CaseError) as error:
            damage.setdefault(PYTHON.sub("what Python says", f"{type(error).__name__}: {error}"), []).append(name)
    if damage:
        return "\n".join(f"{', '.join(names)}: {line}" for line, names in damage.items())
    return ", ".join(f"{name} {value}" for name, value in sound.items())


def test_a_case_that_is_damaged_says_so_where_it_is_read() -> None:
    """`state.txt` has what is said, and behind it the cases that it is said of; what is not named there is read."""
    lines = by_outcome((name, said(make)) for name, make in CASES.items())
    is_as_written(Path(__file__).with_name("state.txt"), "".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("name", ["context", "smb", "method", "state"])
def test_numbers_that_mean_nothing_are_damage(name: str) -> None:
    whole = some_analysis(polls(2))
    meaning = damaged(whole).calls.table.meaning(name)
    assert meaning(0) == whole.calls.table.meaning(name)(0)
    with pytest.raises(CaseError, match=f"{name} of a call cannot be read"):
        meaning(99)


def test_calls_are_counted_as_they_were_when_they_completed() -> None:
    make = Calls()
    queries = [perflib_call(plain_call(make.exchange(6, b"", b""))) for _ in range(2)]
    whole = some_analysis([*polls(3), *queries])
    assert whole.calls.tally
    assert dict(again(whole).calls.tally) == dict(whole.calls.tally)
