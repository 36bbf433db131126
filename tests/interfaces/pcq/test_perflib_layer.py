"""PerflibLayer: every method in every representation, every way a call can fall short, and what calls teach; `perflib_layer.txt`
has what is said of each call and what is known of the counterset then, and each name is a promise."""

from collections.abc import Iterator
from pathlib import Path
from struct import pack
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.interfaces.buffers.buffer_trees import decode_buffer
from analyzer.interfaces.pcq.perflib_layer import Loss, PerflibLayer, identifiers_of, may_answer_validate_counters
from analyzer.interfaces.pcq.perflib_samples import perflib_samples
from analyzer.results.calls.call import Call
from analyzer.results.calls.query_state import Identifier
from analyzer.results.methods.perflib import BUFFER_KIND_OF_CODE
from analyzer.results.records.sample import NamesFacts
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.transport.channel.channels import ChannelGap
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Block, identifier, instance_header, perf_data, string_table, wide
from tests.build.calls import COUNTERSET, HANDLE, MACHINE, MS, OTHER_COUNTERSET, Calls, altered, sealed
from tests.build.rpc import CHANNEL, WINREG
from tests.interfaces.calls import said, without_lengths
from tests.written import Outcomes, told

ANY = 0xFFFFFFFF
DATA = perf_data([Block(1, values=((pack("<I", 7),),))])


def one(exchange: Exchange, layer: PerflibLayer | None = None) -> Call:
    (call,) = (layer or PerflibLayer()).feed(exchange)
    assert call.is_perflib
    return call


def counter_info(counter_id: int, kind: int) -> bytes:
    """_PERF_COUNTER_REG_INFO, 48 bytes ([MS-PCQ] section 2.2.4.2)."""
    return pack("<IIQIIIIIIiI", counter_id, kind, 0, 100, 0, ANY, ANY, ANY, ANY, 0, 0)


def counterset_info(*counters: tuple[int, int], guid: str = COUNTERSET, instance_type: int = 2) -> bytes:
    """_PERF_COUNTERSET_REG_INFO and its counters ([MS-PCQ] section 2.2.4.1)."""
    head = UUID(guid).bytes_le + pack("<IIII", 0, 100, len(counters), instance_type)
    return head + b"".join(counter_info(*counter) for counter in counters)


MAKE = Calls()
QUERY = MAKE.stub().handle(HANDLE)
ASKED = MAKE.counter_data(DATA).request.stub.data
IDS = identifier(COUNTERSET, counter=1, name="a")
PADDED = MAKE.stub().handle(HANDLE).uint(5).conformant(b"abcde").uint(1).data + b"\xaa\xaa"
ENGLISH = [
    MAKE.registration(9, wide("Processor")),
    MAKE.registration(10, string_table([(1, "one")], from_start=True)),
]
GERMAN = [
    MAKE.registration(3, wide("Prozessor"), lcid=0x407),
    MAKE.registration(5, string_table([(1, "eins")], from_start=True), lcid=0x407),
]


def every_method(**representation: bool) -> list[Exchange]:
    make = Calls(**representation)
    instances = make.stub().string(MACHINE).uuid(COUNTERSET).uint(64)
    return [
        make.enumerate_sets(make.stub().uuid(COUNTERSET).uuid(OTHER_COUNTERSET).data),
        make.registration(1, counterset_info((1, 2))),
        make.exchange(2, instances, make.sized(b"")),
        make.open_query(),
        make.close_query(),
        make.counter_info(IDS),
        make.counter_data(DATA),
        make.validate(IDS),
    ]


def listed(*instances: tuple[str, int]) -> Exchange:
    """EnumerateCounterSetInstances."""
    asked = MAKE.stub().string("\\\\S").uuid(COUNTERSET).uint(4096)
    return MAKE.exchange(2, asked, MAKE.sized(b"".join(instance_header(*one) for one in instances)))


CASES: dict[str, list[Exchange]] = {
    "every method is read": every_method(),
    "a fault has no stub to decode": [MAKE.exchange(6, QUERY.uint(1), b"\0\0\0\0", fault=0x1C00001A)],
    "a request without answer is decoded": [MAKE.exchange(6, MAKE.stub().handle(HANDLE).uint(99), None)],
    "an answer without request has no method": [MAKE.exchange(None, None, MAKE.sized(DATA))],
    "a sealed call says what is in clear": [sealed(MAKE.counter_data(DATA))],
    "half of a call is read where the other half is missing": [
        MAKE.exchange(6, MAKE.stub().handle(HANDLE).uint(5), Missing.NOT_CAPTURED, state="partial")
    ],
    "a request that does not decode is malformed, and what the answer says stands": [
        MAKE.exchange(6, b"\1\2", MAKE.sized(DATA))
    ],
    "an answer that does not decode is malformed, and what the request says stands": [MAKE.exchange(6, ASKED, b"\1")],
    "a method nobody described keeps its bytes": [MAKE.exchange(9, b"abcd", b"\0\0\0\0")],
    "what aligns a verification trailer is no part of the stub": [
        MAKE.exchange(7, PADDED, None, trailer=trailer) for trailer in ("ok", None)
    ],
    "every request code teaches its part": [
        MAKE.registration(1, counterset_info((1, 0x10410400), (2, 0x650))),
        MAKE.registration(2, counter_info(3, 0x10000), lcid=3),
        MAKE.registration(3, wide("Prozessor"), lcid=0x407),
        MAKE.registration(4, wide("Hilfe"), lcid=0x407),
        MAKE.registration(5, string_table([(1, "eins"), (2, None)], from_start=False), lcid=0x407),
        MAKE.registration(6, string_table([(1, "Hilfe zu eins")], from_start=True), lcid=0x407),
        MAKE.registration(7, wide("A.Provider")),
        MAKE.registration(8, UUID(OTHER_COUNTERSET).bytes_le),
    ],
    "the English name is the label when it comes first": ENGLISH + GERMAN,
    "the English name is the label when it comes last": GERMAN + ENGLISH,
    "names of two languages are kept apart": [
        MAKE.registration(3, wide("Prozessor"), lcid=0x407),
        MAKE.registration(3, wide("Processeur"), lcid=0x40C),
        MAKE.registration(5, string_table([(1, "un")], from_start=True), lcid=0x40C),
    ],
    "instances have the names the server lists for their numbers": [
        listed(("a", 1), ("b", 2)),
        listed(("a", 1), ("c", 2), ("d", 3)),
    ],
    "data that comes with an error is not laid out as an answer": [MAKE.counter_data(DATA, status=8)],
    "a name that comes with an error is not learnt": [MAKE.registration(3, wide("No"), status=8)],
    "a name that is sealed is not learnt": [sealed(MAKE.registration(3, wide("No")))],
    "what answers an unknown request code is not learnt": [MAKE.registration(77, wide("No"))],
    "what is damaged is not learnt": [MAKE.registration(1, counterset_info((1, 2))[:-7])],
}


def said_of(exchanges: list[Exchange]) -> Iterator[str]:
    """What is said of calls, how many values are in them, and what was learnt."""
    layer = PerflibLayer()
    calls = [one(exchange, layer) for exchange in exchanges]
    yield from said(calls)
    catalog = layer.learner.catalogs.catalog_of(CHANNEL.server)
    samples = [len(list(perflib_samples(call, catalog))) for call in calls]
    if any(samples):
        yield f"values {samples}"
    for guid, entry in catalog.countersets.items():
        names, helps = ({lcid: name.text for lcid, name in texts} for texts in (entry.names, entry.helps))
        what = f"type {entry.instance_type}, provider {entry.provider_name} {entry.provider_guid}"
        yield f"{guid} {catalog.label(guid)!r} of {names}, help {entry.help!r} of {helps}, {what}, instances {entry.instances}"
        for number, counter in entry.counters.items():
            found = catalog.names(guid, number)
            yield f"  counter {number} {counter.label!r} by {found.source}, type {counter.type}, help {counter.help!r}"
            yield from (f"  {line}" for line in told(NamesFacts.from_names(found)))


OUTCOMES = Outcomes(Path(__file__).parent / "perflib_layer.txt", CASES, said_of)


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_calls_of_perflib_is_what_was_read_through(name: str) -> None:
    OUTCOMES.holds(name)


def test_what_is_said_of_calls_of_perflib_is_written_as_it_is() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    OUTCOMES.is_as_written()


@pytest.mark.parametrize(("ndr64", "big_endian"), [(True, False), (False, True), (True, True)])
def test_every_method_is_read_alike_in_every_representation(ndr64: bool, big_endian: bool) -> None:
    plain, other = every_method(), every_method(ndr64=ndr64, big_endian=big_endian)
    assert without_lengths(said_of(other)) == without_lengths(said_of(plain))


def test_other_interfaces_pass_unchanged() -> None:
    exchange = Calls(WINREG).exchange(3, b"", b"")
    problem = Problem("note", "rpc", (1,), "something")
    assert list(PerflibLayer().feed(exchange)) == [exchange]
    assert list(PerflibLayer().feed(problem)) == [problem]


def _learnt(*exchanges: Exchange) -> PerflibLayer:
    layer = PerflibLayer()
    for exchange in exchanges:
        one(exchange, layer)
    return layer


_TEXTS = st.sampled_from([wide("a"), wide("b"), wide("c")])
_TABLES = st.lists(st.tuples(st.integers(1, 2), st.sampled_from(["a", "b", None])), max_size=2).map(
    lambda strings: string_table(strings, from_start=False)
)
_INFOS = st.tuples(st.integers(1, 2), st.sampled_from([0x650, 0x10000]))


@st.composite
def reported(draw: st.DrawFn) -> tuple[int, int, bytes]:
    """Request code, language and answer."""
    code, lcid = draw(st.integers(1, 10)), draw(st.sampled_from([1, 2, 0x407]))
    if code == 1:
        return code, lcid, counterset_info(*draw(st.lists(_INFOS, max_size=2)), instance_type=draw(st.integers(2, 3)))
    if code == 2:
        return code, lcid, counter_info(*draw(_INFOS))
    if code == 8:
        return code, lcid, UUID(draw(st.sampled_from([COUNTERSET, OTHER_COUNTERSET]))).bytes_le
    return code, lcid, draw(_TABLES if code in (5, 6, 10) else _TEXTS)


@given(st.lists(reported(), min_size=2, max_size=6), st.data())
def test_what_is_reported_again_is_as_if_learnt_again(
    answers: list[tuple[int, int, bytes]], draw: st.DataObject
) -> None:
    answers = draw.draw(st.lists(st.sampled_from(answers), min_size=2, max_size=16))
    make, catalog = Calls(), Catalog()
    for code, lcid, data in answers:
        catalog.learn(COUNTERSET, code, lcid, decode_buffer(BUFFER_KIND_OF_CODE[code], data).tree)
    layer = _learnt(*[make.registration(code, data, lcid=lcid) for code, lcid, data in answers])
    assert _stated(layer.learner.catalogs.catalog_of(CHANNEL.server)) == _stated(catalog)


def _stated(catalog: Catalog) -> list[object]:
    """All that was reported of the counterset and its counters."""
    entry = catalog.countersets[COUNTERSET]
    counters = [(number, counter.info) for number, counter in entry.counters.items()]
    texts = [(one.english, list(one.names), list(one.helps)) for one in (entry, *entry.counters.values())]
    return [entry.provider_name, entry.provider_guid, entry.instance_type, counters, texts]


def test_names_of_one_server_say_nothing_of_another() -> None:
    layer = _learnt(Calls().registration(9, wide("Processor")))
    elsewhere = replace(CHANNEL.server, ip="10.9.9.9")
    assert layer.learner.catalogs.catalog_of(elsewhere).label(COUNTERSET) is None
    assert layer.learner.catalogs.catalog_of(replace(CHANNEL.server, port=139)).label(COUNTERSET) == "Processor"


def test_nothing_is_learnt_of_what_others_may_have_changed() -> None:
    """A signature of the call does not fit. The next answer says what the server said."""
    true, changed = Calls().registration(9, wide("Processor")), altered(Calls().registration(9, wide("Qrocessor")))
    assert _learnt(changed).learner.catalogs.catalog_of(CHANNEL.server).label(COUNTERSET) is None
    assert _learnt(changed, true).learner.catalogs.catalog_of(CHANNEL.server).label(COUNTERSET) == "Processor"


def test_calls_know_their_frames() -> None:
    call = one(Calls().counter_data(DATA))
    assert isinstance(call, Call)
    assert call.frames == (1, 2)


def test_an_answer_alone_may_be_one_of_validate_counters() -> None:
    """Some stacks pad a sealed stub to 8 bytes."""
    asked = identifier(COUNTERSET, counter=1)
    whole, empty, cut = (MAKE.stub().conformant(data).uint(0).data for data in (asked, b"", asked[:-1]))
    may_be: list[bytes | Missing] = [whole, empty, empty + bytes(7), Missing.SEALED]
    stubs = [*may_be, empty + bytes(8), cut, b"\1"]
    assert [stub for stub in stubs if may_answer_validate_counters(one(Calls().exchange(None, None, stub)))] == may_be


def test_no_answer_may_be_one_of_validate_counters_and_a_fault_is_none() -> None:
    make = Calls()
    assert may_answer_validate_counters(one(make.exchange(7, b"", None)))
    assert not may_answer_validate_counters(one(make.faulted(7, b"", 5)))


def test_losses_are_after_the_answer_that_began_last() -> None:
    """Of each channel, and only of requests."""
    make, layer = Calls(), PerflibLayer()
    other = replace(CHANNEL, number=7)
    first, second = make.open_query(), make.open_query()
    for event in (
        ChannelGap(CHANNEL, True, 1, (9,), "lost"),
        second,
        first,
        make.exchange(3, b"", None),
        ChannelGap(CHANNEL, True, 1, (9,), "lost"),
        ChannelGap(CHANNEL, False, 1, (9,), "lost"),
        Calls(WINREG, first_frame=20).exchange(3, b"", b""),
        ChannelGap(other, True, 1, (9,), "lost"),
        ChannelGap(CHANNEL, True, 1, (9,), "lost"),
    ):
        list(layer.feed(event))
    assert layer.losses == [
        Loss((-1, -1), 0),
        Loss((4 * MS, 4), 0),
        Loss((-1, -1), 7),
        Loss((21 * MS, 21), 0),
    ]


def test_identifiers_of_a_side_are_read_whole_or_not_at_all() -> None:
    """Short lists are remembered, long ones read each time."""
    for count in (0, 1, 85, 86, 200):
        made = b"".join(
            identifier(COUNTERSET, status=2, counter=number, instance=3, index=4, name="a") for number in range(count)
        )
        side = one(Calls().validate(made)).response
        assert identifiers_of(side) == tuple(Identifier(COUNTERSET, 2, number, 3, 4, "a") for number in range(count))
        if count:
            assert identifiers_of(one(Calls().validate(made[:-1])).response) is None
    assert identifiers_of(None) == ()


def test_who_learns_elsewhere_does_not_learn_here() -> None:
    layer = PerflibLayer(learning=False)
    one(Calls().registration(9, wide("Processor")), layer)
    assert not layer.learner.catalogs.catalog_of(CHANNEL.server).countersets
