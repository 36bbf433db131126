"""What a query handle's blocks mean is only what QueryCounterInfo said, or what cannot be otherwise."""

from analyzer.packet.segment import Endpoint
from analyzer.pcq.queries import Identifier, QueryBook

SERVER, OTHER = Endpoint("10.0.0.1", 445), Endpoint("10.0.0.2", 445)
PROCESSOR, THERMAL = "b4fc721a-0378-476f-89ba-a5a79f810b36", "52bc5412-dac2-449c-8bc2-96443888fe6b"
ANY = 0xFFFFFFFF


def identifier(counter: int, index: int = 0, *, status: int = 0, counterset: str = PROCESSOR) -> Identifier:
    return Identifier(counterset, status, counter, ANY, index, "*")


def test_the_answer_of_query_counter_info_names_the_blocks() -> None:
    book = QueryBook()
    book.opened(SERVER, 1, "h")
    book.told(SERVER, "h", [identifier(5, 1), identifier(7, 0)])
    view = book.view(SERVER, 1, "h")
    assert {block: known.counter_id for block, known in view.blocks.items()} == {0: 7, 1: 5}
    assert view.counterset == PROCESSOR


def test_an_index_given_twice_names_nothing() -> None:
    book = QueryBook()
    book.told(SERVER, "h", [identifier(5, 0), identifier(7, 0), identifier(9, 1)])
    assert list(book.view(SERVER, 1, "h").blocks) == [1]


def test_validate_counters_ends_what_was_told() -> None:
    book = QueryBook()
    book.opened(SERVER, 1, "h")
    book.told(SERVER, "h", [identifier(5, 0), identifier(7, 1)])
    book.validated(SERVER, "h", [identifier(9)], add=True)
    assert book.view(SERVER, 1, "h").blocks == {}
    assert book.view(SERVER, 1, "h").counterset == PROCESSOR


def test_a_query_that_has_held_one_counter_since_it_was_opened_has_one_meaning() -> None:
    book = QueryBook()
    book.opened(SERVER, 1, "h")
    book.validated(SERVER, "h", [identifier(5), identifier(6, status=0x106A)], add=True)
    assert book.view(SERVER, 1, "h").blocks[0].counter_id == 5
    book.validated(SERVER, "h", [identifier(8, counterset=THERMAL)], add=True)
    assert book.view(SERVER, 1, "h").blocks == {}
    assert book.view(SERVER, 1, "h").counterset is None
    book.validated(SERVER, "h", [identifier(5)], add=False)
    assert book.view(SERVER, 1, "h").blocks[0].counter_id == 8


def test_a_handle_whose_opening_was_not_captured_has_no_meaning_until_told() -> None:
    book = QueryBook()
    book.validated(SERVER, "h", [identifier(5)], add=True)
    assert book.view(SERVER, 1, "h").blocks == {}
    assert book.view(SERVER, 1, "h").counterset is None


def test_a_call_that_could_not_be_read_takes_the_knowledge_away() -> None:
    book = QueryBook()
    for handle in ("h", "i"):
        book.opened(SERVER, 1, handle)
        book.told(SERVER, handle, [identifier(5, 0), identifier(7, 1)])
    book.doubt(1, "h")
    assert book.view(SERVER, 1, "h").blocks == {}
    assert len(book.view(SERVER, 1, "i").blocks) == 2
    book.doubt(1, None)
    assert book.view(SERVER, 1, "i").blocks == {}


def test_equal_handles_of_two_servers_are_two_queries() -> None:
    book = QueryBook()
    assert book.opened(SERVER, 1, "h").number == 1
    assert book.opened(OTHER, 2, "h").number == 2
    book.told(SERVER, "h", [identifier(5, 0)])
    assert book.view(OTHER, 2, "h").blocks == {}


def test_the_oldest_query_is_forgotten_first() -> None:
    book = QueryBook()
    book.MAX_QUERIES = 2
    for handle in ("a", "b", "c"):
        book.opened(SERVER, 1, handle)
        book.told(SERVER, handle, [identifier(5, 0)])
    assert book.view(SERVER, 1, "c").blocks
    assert book.view(SERVER, 1, "a").blocks == {}
