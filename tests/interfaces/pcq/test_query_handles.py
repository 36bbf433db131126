"""What a query handle's blocks mean is what QueryCounterInfo stated, else the order in which counters were added."""

import struct

import pytest

from analyzer.interfaces.pcq.query_handles import BlockTypes, Happened, Query, QueryHandles, block_types
from analyzer.results.query import Identifier, QueryView
from analyzer.results.record import Endpoint

SERVER, OTHER = Endpoint("10.0.0.1", 445), Endpoint("10.0.0.2", 445)
PROCESSOR, THERMAL = "b4fc721a-0378-476f-89ba-a5a79f810b36", "52bc5412-dac2-449c-8bc2-96443888fe6b"
ANY = 0xFFFFFFFF


def identifier(counter: int, index: int = 0, *, status: int = 0, counterset: str = PROCESSOR) -> Identifier:
    return Identifier(counterset, status, counter, ANY, index, "*")


def test_the_answer_of_query_counter_info_names_the_blocks() -> None:
    query = opened()
    query.informed([identifier(5, 1), identifier(7, 0)])
    view = query.view()
    assert {block: known.counter_id for block, known in view.blocks.items()} == {0: 7, 1: 5}
    assert view.counterset == PROCESSOR


def test_an_index_given_twice_names_nothing() -> None:
    query = Query("h", 1, SERVER, Happened())
    query.informed([identifier(5, 0), identifier(7, 0), identifier(9, 1)])
    assert list(query.view().blocks) == [1]


def opened() -> Query:
    return QueryHandles().opened(SERVER, 1, "h")


def polled(query: Query, answer: BlockTypes) -> QueryView:
    query.contradicted(answer)
    return query.view()


def ids(view: QueryView) -> dict[int, int]:
    return {block: known.counter_id for block, known in view.blocks.items()}


def test_the_status_of_what_is_reported_does_not_matter() -> None:
    query = opened()
    query.informed([identifier(5, 0), identifier(7, 1, status=0x1069)])
    assert ids(query.view()) == {0: 5, 1: 7}
    assert len(query.view().held or ()) == 2


def test_validate_counters_ends_what_was_reported() -> None:
    query = opened()
    query.informed([identifier(5, 0), identifier(7, 2)])
    assert query.view().id_source == "index"
    query.validated([identifier(9)], add=True)
    view = query.view()
    assert (view.blocks, view.id_source, view.counterset) == ({}, None, PROCESSOR)
    assert view.unknown is not None
    assert [known.counter_id for known in view.held or ()] == [5, 7, 9]


def test_counters_added_after_a_whole_list_was_reported_stand_behind_it() -> None:
    query = Query("h", 1, SERVER, Happened())
    query.informed([identifier(5, 1), identifier(7, 0)])
    query.validated([identifier(9)], add=True)
    view = query.view()
    assert (ids(view), view.id_source) == ({0: 7, 1: 5, 2: 9}, "replay")


def test_counters_stand_in_the_order_in_which_they_were_added() -> None:
    query = opened()
    query.validated([identifier(5), identifier(6, status=0x106A)], add=True)
    assert ids(query.view()) == {0: 5}
    query.validated([identifier(8, counterset=THERMAL), identifier(5, status=0xB7)], add=True)
    view = query.view()
    assert (ids(view), view.id_source, view.counterset) == ({0: 5, 1: 8}, "replay", None)


def test_a_place_left_empty_may_be_filled_by_what_comes_next() -> None:
    query = opened()
    query.validated([identifier(5), identifier(6)], add=True)
    query.validated([identifier(6)], add=False)
    assert ids(query.view()) == {0: 5}
    query.validated([identifier(7)], add=True)
    assert query.view().blocks == {}
    query.validated([identifier(5), identifier(7)], add=False)
    query.validated([identifier(8), identifier(9)], add=True)
    assert ids(query.view()) == {0: 8, 1: 9}


def test_what_was_removed_leaves_a_place_nobody_knows() -> None:
    query = opened()
    query.validated([identifier(5), identifier(6), identifier(7)], add=True)
    query.validated([identifier(9, status=0x106A)], add=False)
    assert ids(query.view()) == {0: 5, 1: 6, 2: 7}
    query.validated([identifier(6)], add=False)
    view = query.view()
    assert (view.blocks, view.id_source) == ({}, None)
    assert [known.counter_id for known in view.held or ()] == [5, 7]
    query.validated([identifier(5)], add=False)
    assert ids(query.view()) == {0: 7}


def test_an_answer_that_contradicts_the_replay_ends_it() -> None:
    for answer in (BlockTypes(3, (4, 4, 4)), BlockTypes(2, (4, 6)), BlockTypes(2, (2,)), BlockTypes(0, ())):
        query = opened()
        query.validated([identifier(5), identifier(6)], add=True)
        assert ids(polled(query, BlockTypes(2, (4, 0)))) == {0: 5, 1: 6}
        view = polled(query, answer)
        assert (view.blocks, view.id_source) == ({}, None)
        assert view.unknown is not None
        assert polled(query, BlockTypes(2, (4, 4))).id_source is None
        query.informed([identifier(6, 0), identifier(5, 1)])
        assert ids(polled(query, answer)) == {0: 6, 1: 5}


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


def test_a_handle_whose_opening_was_not_captured_has_no_meaning_until_reported() -> None:
    query = Query("h", 1, SERVER, Happened())
    query.validated([identifier(5)], add=True)
    assert query.view().blocks == {}
    assert query.view().counterset is None


def test_a_call_that_could_not_be_read_takes_the_knowledge_away() -> None:
    book = QueryHandles()
    for handle in ("h", "i"):
        book.opened(SERVER, 1, handle).informed([identifier(5, 0), identifier(7, 1)])
    book.of(SERVER, 1, "h").forget("a reason")
    assert book.of(SERVER, 1, "h").view().unknown == "a reason"
    assert len(book.of(SERVER, 1, "i").view().blocks) == 2
    book.doubt(2)
    assert len(book.of(SERVER, 1, "i").view().blocks) == 2
    book.doubt(1)
    assert book.of(SERVER, 1, "i").view().blocks == {}


def test_a_lost_request_suspends_the_knowledge() -> None:
    book = QueryHandles()

    def known() -> dict[int, int]:
        return ids(book.of(SERVER, 2, "h").view())

    book.opened(SERVER, 1, "h").informed([identifier(5, 0)])
    assert known() == {0: 5}
    for channel in (1, 2):
        book.lost(channel)
    assert known() == {}
    book.found(1)
    assert known() == {}
    book.found(2)
    assert known() == {0: 5}
    book.lost(1)
    book.of(SERVER, 2, "h").informed([identifier(7, 0)])
    assert known() == {0: 7}
    book.lost(1)
    assert known() == {}


def test_what_happened_on_a_channel_before_a_handle_came_there_says_nothing_of_it() -> None:
    book = QueryHandles()
    book.lost(2)
    book.doubt(2)
    book.opened(SERVER, 1, "h").informed([identifier(5, 0)])
    assert ids(book.of(SERVER, 2, "h").view()) == {0: 5}
    book.doubt(2)
    assert book.of(SERVER, 1, "h").view().held is None


def test_a_handle_on_channels_without_end_is_not_followed() -> None:
    book = QueryHandles()
    book.opened(SERVER, 0, "h").informed([identifier(5, 0)])
    for channel in range(Query.MAX_CHANNELS):
        assert ids(book.of(SERVER, channel, "h").view()) == {0: 5}
    view = book.of(SERVER, 1000, "h").view()
    assert (view.blocks, view.held) == ({}, None)
    assert view.unknown is not None


def test_equal_handles_of_two_servers_are_two_queries() -> None:
    book = QueryHandles()
    assert book.opened(SERVER, 1, "h").number == 1
    assert book.opened(OTHER, 2, "h").number == 2
    book.of(SERVER, 1, "h").informed([identifier(5, 0)])
    assert book.of(OTHER, 2, "h").view().blocks == {}


def test_the_oldest_query_is_forgotten_first() -> None:
    book = QueryHandles()
    book.MAX_QUERIES = 2
    for handle in ("a", "b", "c"):
        book.opened(SERVER, 1, handle).informed([identifier(5, 0)])
    assert book.of(SERVER, 1, "c").view().blocks
    assert book.of(SERVER, 1, "a").view().blocks == {}


def test_what_was_held_stays_as_it_was_when_more_is_added() -> None:
    query = opened()
    views = []
    for counter in range(3):
        views.append(query.view())
        query.validated([identifier(counter), identifier(counter)], add=True)
    assert [[one.counter_id for one in view.held or ()] for view in views] == [[], [0], [0, 1]]
    last = views[-1]
    assert last.held is not None
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
    assert book.of(SERVER, 1, "h").view() is first
    book.lost(9)
    assert (book.of(SERVER, 1, "h").view() is first, query.epoch) == (True, epoch)
    book.lost(1)
    assert (book.of(SERVER, 1, "h").view() is first, query.epoch) == (False, epoch + 1)
    book.found(1)
    book.of(SERVER, 1, "h")
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


def test_a_contradiction_is_said_in_words() -> None:
    query = opened()
    query.validated([Identifier(PROCESSOR, 0, 5, 3, 0, "a"), Identifier(PROCESSOR, 0, 6, 3, 0, "a")], add=True)
    assert not query.contradicted(BlockTypes(2, (1,)))
    assert query.contradicted(BlockTypes(2, (1, 2)))
    assert query.view().unknown == (
        "block 1 of a data answer is of type 2, which the counter added at that place does not ask for"
    )
    assert not query.contradicted(BlockTypes(3, ()))
    query = opened()
    assert query.contradicted(BlockTypes(1, (1,)))
    assert query.view().unknown == (
        "a data answer has 1 blocks, but by the calls before it the handle holds 0 counters"
    )


def test_positions_that_leave_places_out_are_no_order() -> None:
    query = opened()
    query.informed([identifier(5, 0), identifier(7, 2)])
    query.validated([identifier(9)], add=True)
    assert (query.view().blocks, query.view().unknown) == (
        {},
        "QueryCounterInfo gave positions that are not 0, 1, 2, ..., and counters were added since",
    )
    query = opened()
    query.informed([identifier(5, 0), identifier(5, 1), identifier(7, 2)])
    assert [one.counter_id for one in query.view().held or ()] == [5, 7]
    query.validated([identifier(9)], add=True)
    assert ids(query.view()) == {0: 5, 1: 7, 2: 9}


def test_a_handle_given_out_again_is_another_one() -> None:
    book = QueryHandles()
    first = book.opened(SERVER, 1, "h")
    first.informed([identifier(5, 0)])
    first.closed()
    assert (first.view().held, first.view().unknown) == (None, "the handle was closed")
    assert book.of(SERVER, 1, "h").number == 1
    second = book.opened(SERVER, 1, "h")
    assert (second.number, second.view().held, second.view().id_source) == (2, [], "replay")


def test_as_many_handles_as_may_are_remembered() -> None:
    book = QueryHandles()
    book.MAX_QUERIES = 3
    numbers = [book.of(SERVER, 1, handle).number for handle in ("a", "b", "c", "a", "b", "c", "d", "b", "c", "a")]
    assert numbers == [1, 2, 3, 1, 2, 3, 4, 2, 3, 5]


def test_why_a_handle_is_not_known_is_said_of_each_cause() -> None:
    book = QueryHandles()

    def why() -> str | None:
        return book.of(SERVER, 1, "h").view().unknown

    assert why() == (
        "the opening of the handle is not in the capture, and no answer of QueryCounterInfo lists what it holds"
    )
    book.opened(SERVER, 1, "h")
    assert why() is None
    book.doubt(1)
    assert why() == "a ValidateCounters that may have changed the handle could not be read"
    book.of(SERVER, 1, "h").informed([identifier(5, 0)])
    assert why() is None
    book.lost(1)
    assert why() == "a request was lost that may have changed the handle"
    book.found(1)
    assert why() is None
    book.of(SERVER, 1, "h").closed()
    assert why() == "the handle was closed"
    for channel in range(2, Query.MAX_CHANNELS + 2):
        query = book.of(SERVER, channel, "h")
    assert query.view().unknown == "the handle is used over too many connections to be followed"
