"""What a query handle's blocks mean is what QueryCounterInfo stated, else the order in which counters were added:
`query_handles.txt` says what is known after each word, and each name is a promise.

`open` and `close` are the calls of that name, `add=5,6` and `remove=5` a ValidateCounters, `info=5@1,7@0` an answer of
QueryCounterInfo with positions, `poll=2:4,0` a data answer of two blocks of these types. Behind a counter stand its status
(`!106A`), `^` for another counterset, `'` for one instance. `use=2/h` goes on over channel 2 with handle h (`@other`: of another
server), `lost=2` and `found=2` are a request there, `doubt=2` a call there that was not read, `forget` one of the handle, `max=2`
a bound. `PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes what is known.
"""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.interfaces.buffers.struct_layouts import BlockTypes, block_types
from analyzer.interfaces.pcq.query_handles import Query, QueryHandles
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.records.record_types import Endpoint
from tests.written import Told

SERVER, OTHER = Endpoint("10.0.0.1", 445), Endpoint("10.0.0.2", 445)
PROCESSOR, THERMAL = "b4fc721a-0378-476f-89ba-a5a79f810b36", "52bc5412-dac2-449c-8bc2-96443888fe6b"
NAMES = {PROCESSOR: "Processor", THERMAL: "Thermal", None: "various"}
ANY = 0xFFFFFFFF
COUNTER = re.compile(r"(\d+)(\^)?(')?(@(\d+))?(!(\w+))?")


def identifier(counter: int, index: int = 0, *, status: int = 0) -> Identifier:
    return Identifier(PROCESSOR, status, counter, ANY, index, "*")


def identifiers(words: str) -> list[Identifier]:
    found = []
    for counter, other, one, _, index, _, status in COUNTER.findall(words):
        instance = (3, "a") if one else (ANY, "*")
        counterset = THERMAL if other else PROCESSOR
        found.append(
            Identifier(counterset, int(status or "0", 16), int(counter), instance[0], int(index or 0), instance[1])
        )
    return found


def ids(view: QueryView) -> dict[int, int]:
    return {block: known.counter_id for block, known in view.blocks.items()}


def known_of(words: str) -> Iterator[str]:
    """What is known of the handle in use after each word."""
    book, at, is_met = QueryHandles(), (SERVER, 1, "h"), False
    for word in words.split():
        name, _, value = word.partition("=")
        more = ""
        match name:
            case "use":
                channel, handle, _, other = re.fullmatch(r"(\d+)/(\w)(@(other))?", value).groups()
                at = (OTHER if other else SERVER, int(channel), handle)
            case "max":
                book.MAX_QUERIES = int(value)
            case "lost" | "found" | "doubt":
                getattr(book, name)(int(value))
            case "open":
                book.opened(*at)
            case "close":
                book.query_of(*at).closed()
            case "forget":
                book.query_of(*at).forget("a reason")
            case "add" | "remove":
                book.query_of(*at).validated(identifiers(value), add=name == "add")
            case "info":
                book.query_of(*at).informed(identifiers(value))
            case "poll":
                count, _, kinds = value.partition(":")
                types = BlockTypes(int(count), tuple(int(kind) for kind in kinds.split(",") if kind))
                more = " contradicts," * book.query_of(*at).contradicted(types)
        is_met = is_met or name not in ("max", "lost", "found", "doubt")
        if is_met:
            query = book.query_of(*at)
            view = query.view()
            held = [one.counter_id for one in view.held] if view.held is not None else "unknown"
            what = f"blocks {ids(view)}, held {held}, {NAMES[view.counterset]}"
            yield f"{word}:{more} handle {query.number}, {what}, by {view.id_source} ({view.unknown})"


TOLD = Told(
    Path(__file__).parent / "query_handles.txt", lambda words: "".join(f"  = {one}\n" for one in known_of(words))
)


@pytest.mark.parametrize("name", TOLD.words)
def test_what_is_known_of_a_handle_is_what_was_read_through(name: str) -> None:
    TOLD.holds(name)


def opened() -> Query:
    return QueryHandles().opened(SERVER, 1, "h")


def test_block_types_are_read_from_their_headers_alone() -> None:
    def block(kind: int, size: int) -> bytes:
        return struct.pack("<IIII", 0, kind, size, 0) + bytes(max(0, size - 16))

    def answer(promised: int, *blocks: bytes) -> bytes:
        return struct.pack("<II", 0, promised) + bytes(40) + b"".join(blocks)

    assert block_types(answer(2, block(1, 32), block(6, 48))) == BlockTypes(2, (1, 6))
    assert block_types(answer(1, block(1, 32), block(6, 48))) == BlockTypes(1, (1,))
    assert block_types(answer(0xFFFFFFFF, block(1, 0), block(6, 48))) == BlockTypes(0xFFFFFFFF, (1,))
    assert block_types(answer(2, block(1, 32)[:12])) == BlockTypes(2, ())
    assert block_types(bytes(47)) is None
    # A block of 16 bytes is one without a value.
    assert block_types(answer(3, block(0, 16), block(0, 15), block(1, 32))) == BlockTypes(3, (0, 0))
    assert block_types(answer(2, block(0, 16), block(1, 32))) == BlockTypes(2, (0, 1))


def test_a_handle_on_channels_without_end_is_not_followed() -> None:
    book = QueryHandles()
    book.opened(SERVER, 0, "h").informed([identifier(5, 0)])
    for channel in range(Query.MAX_CHANNELS):
        assert ids(book.query_of(SERVER, channel, "h").view()) == {0: 5}
    view = book.query_of(SERVER, 1000, "h").view()
    assert (view.blocks, view.held) == ({}, None)
    assert view.unknown is not None


def test_what_was_held_stays_as_it_was_when_more_is_added() -> None:
    query = opened()
    views = []
    for counter in range(3):
        views.append(query.view())
        query.validated([identifier(counter), identifier(counter)], add=True)
    assert [[one.counter_id for one in view.held or ()] for view in views] == [[], [0], [0, 1]]
    last = views[-1]
    assert (last.held[-1], last.held[0:1], len(last.held)) == (identifier(1), (identifier(0),), 2)
    assert last.held == (identifier(0), identifier(1))
    with pytest.raises(IndexError):
        last.held[2]
    assert dict(last.blocks) == {0: identifier(0), 1: identifier(1)}
    assert (last.blocks.get(2), 0 in last.blocks, -1 in last.blocks) == (None, True, False)
    assert repr(last.held) == repr(tuple(last.held))
    assert repr(last.blocks) == repr(dict(last.blocks))


@pytest.mark.parametrize(("room", "is_known"), [(11, False), (12, True)])
def test_so_many_counters_may_be_copied(room: int, is_known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four, three and five counters were held when one was removed."""
    monkeypatch.setattr(Query, "MAX_COPIED", room)
    query = opened()
    query.validated([identifier(counter) for counter in range(4)], add=True)
    query.validated([identifier(0)], add=False)
    query.validated([identifier(1)], add=False)
    query.validated([identifier(7, status=5)], add=False)
    query.validated([identifier(counter) for counter in (5, 6, 7)], add=True)
    query.validated([identifier(5)], add=False)
    view = query.view()
    assert (view.held is not None) == is_known
    assert view.unknown == (
        "counters were removed, and no answer of QueryCounterInfo has given the positions of the others since"
        if is_known
        else "too many counters were removed from a list too long to be followed"
    )


def test_views_are_one_as_long_as_nothing_changes() -> None:
    book = QueryHandles()
    query = book.opened(SERVER, 1, "h")
    query.informed([identifier(5, 0)])
    epoch = query.epoch
    first = query.view()
    assert book.query_of(SERVER, 1, "h").view() is first
    book.lost(9)
    assert (book.query_of(SERVER, 1, "h").view() is first, query.epoch) == (True, epoch)
    book.lost(1)
    assert (book.query_of(SERVER, 1, "h").view() is first, query.epoch) == (False, epoch + 1)
    book.found(1)
    book.query_of(SERVER, 1, "h")
    assert query.epoch == epoch + 2
    query.contradicted(BlockTypes(9, ()))
    assert (query.epoch, query.view().id_source) == (epoch + 2, "index")


def test_counters_are_the_same_by_all_but_status_index_and_case() -> None:
    query = opened()
    one = Identifier(PROCESSOR, 0, 5, 3, 0, "Name")
    others = [
        Identifier(THERMAL, 0, 5, 3, 0, "Name"),
        Identifier(PROCESSOR, 0, 6, 3, 0, "Name"),
        Identifier(PROCESSOR, 0, 5, 4, 0, "Name"),
        Identifier(PROCESSOR, 0, 5, 3, 0, "Other"),
        Identifier(PROCESSOR, 0, 5, 3, 0, None),
    ]
    query.validated([one, Identifier(PROCESSOR, 0, 5, 3, 9, "nAME"), *others], add=True)
    assert list(query.view().held or ()) == [one, *others]
    query.validated([Identifier(PROCESSOR, 0, 5, 3, 77, "NAME")], add=False)
    assert list(query.view().held or ()) == others


@pytest.mark.parametrize(
    ("identifier", "fitting"),
    [
        # dwType of blocks ([MS-PCQ] section 2.2.4.9): 0 error, 1 one value, 2 counters, 4 instances, 6 both.
        (Identifier(PROCESSOR, 0, 5, 3, 0, "a"), {0, 1}),
        (Identifier(PROCESSOR, 0, ANY, 3, 0, "a"), {0, 2}),
        (Identifier(PROCESSOR, 0, 5, ANY, 0, "*"), {0, 1, 4}),
        (Identifier(PROCESSOR, 0, ANY, ANY, 0, "a?"), {0, 2, 6}),
        (Identifier(PROCESSOR, 0, 5, 3, 0, ""), {0, 1, 4}),
        (Identifier(PROCESSOR, 0, ANY, 3, 0, None), {0, 2, 6}),
    ],
)
def test_a_block_has_a_type_that_its_identifier_asks_for(identifier: Identifier, fitting: set[int]) -> None:
    def fits(kind: int) -> bool:
        query = opened()
        query.validated([identifier], add=True)
        return not query.contradicted(BlockTypes(1, (kind,)))

    assert {kind for kind in range(8) if fits(kind)} == fitting
