"""PerflibLayer: every method in every representation, every way a call can fall short, and what calls teach."""

from __future__ import annotations

from struct import pack
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.interfaces.buffers import decode_buffer
from analyzer.interfaces.pcq.perflib_layer import Loss, PerflibLayer, identifiers_of, may_answer_validate_counters
from analyzer.interfaces.pcq.perflib_samples import perflib_samples
from analyzer.results.call import Call
from analyzer.results.catalog import Catalog
from analyzer.results.perflib import BUFFER_KIND_OF_CODE, RequestCode
from analyzer.results.query import Identifier
from analyzer.results.sample import NamesFacts
from analyzer.transport.channel.channel_events import ChannelGap
from analyzer.transport.rpc.exchange import Exchange
from tests.build.buffers import Block, identifier, instance_header, perf_data, string_table, wide
from tests.build.calls import COUNTERSET, HANDLE, MACHINE, MS, OTHER_COUNTERSET, Calls, sealed
from tests.build.rpc import CHANNEL, WINREG

ANY = 0xFFFFFFFF
REPRESENTATIONS = [(False, False), (True, False), (False, True), (True, True)]
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


@pytest.mark.parametrize(("ndr64", "big_endian"), REPRESENTATIONS)
def test_every_method_in_every_representation(ndr64: bool, big_endian: bool) -> None:
    make = Calls(ndr64=ndr64, big_endian=big_endian)
    guids = make.stub().uuid(COUNTERSET).uuid(OTHER_COUNTERSET).data
    ids = identifier(COUNTERSET, counter=1, name="a")
    query = {"attributes": 0, "uuid": HANDLE}
    expected = [
        (make.enumerate_sets(guids), "PerflibV2EnumerateCounterSet", "szMachine", MACHINE, None, "guids"),
        (make.registration(1, counterset_info((1, 2))), *_names("QueryCounterSetRegistrationInfo"), "counterset-info"),
        (
            make.exchange(2, make.stub().string(MACHINE).uuid(COUNTERSET).uint(64), make.sized(b"")),
            *_names("EnumerateCounterSetInstances"),
            None,
        ),
        (make.open_query(), "PerflibV2OpenQueryHandle", "szMachine", MACHINE, None, None),
        (make.close_query(), "PerflibV2CloseQueryHandle", "phQuery", query, None, None),
        (make.counter_info(ids), "PerflibV2QueryCounterInfo", "hQuery", query, None, "identifiers"),
        (make.counter_data(DATA), "PerflibV2QueryCounterData", "hQuery", query, None, "perf-data"),
        (make.validate(ids), "PerflibV2ValidateCounters", "dwAdd", 1, "identifiers", "identifiers"),
    ]
    for opnum, (exchange, method, name, value, asked, answered) in enumerate(expected):
        call = one(exchange)
        assert (call.opnum, call.method, call.state, call.status) == (opnum, method, "complete", 0)
        assert call.request is not None
        assert call.response is not None
        assert call.request.params[name] == value
        assert (call.request.buffer_kind, call.response.buffer_kind) == (asked, answered)
        assert "ReturnValue" not in call.response.params


def _names(method: str) -> tuple[str, str, object, None]:
    return f"PerflibV2{method}", "szMachine", MACHINE, None


def test_other_interfaces_pass_unchanged() -> None:
    exchange = Calls(WINREG).exchange(3, b"", b"")
    problem = Problem("note", "rpc", (1,), "something")
    assert list(PerflibLayer().feed(exchange)) == [exchange]
    assert list(PerflibLayer().feed(problem)) == [problem]


def test_a_fault_has_no_stub_to_decode() -> None:
    call = one(Calls().exchange(6, Calls().stub().handle(HANDLE).uint(1), b"\0\0\0\0", fault=0x1C00001A))
    assert (call.state, call.status, call.fault) == ("complete", None, 0x1C00001A)
    assert call.response is not None
    assert (call.response.params, call.response.problem) == ({}, None)


def test_a_request_without_answer_is_decoded() -> None:
    call = one(Calls().exchange(6, Calls().stub().handle(HANDLE).uint(99), None))
    assert call.request is not None
    assert (call.state, call.status, call.request.params["dwInSize"]) == ("request-only", None, 99)
    assert call.response is None


def test_an_answer_without_request_has_no_method() -> None:
    call = one(Calls().exchange(None, None, Calls().sized(DATA)))
    assert call.response is not None
    assert (call.state, call.method, call.status, call.response.params) == ("response-only", None, None, {})


def test_a_sealed_call_says_what_is_in_clear() -> None:
    call = one(sealed(Calls().counter_data(DATA)))
    assert (call.state, call.method, call.status, call.query) == ("sealed", "PerflibV2QueryCounterData", None, None)
    assert call.request is not None
    assert call.request.stub is Missing.SEALED


def test_half_of_a_call_is_read_where_the_other_half_is_missing() -> None:
    make = Calls()
    call = one(make.exchange(6, make.stub().handle(HANDLE).uint(5), Missing.NOT_CAPTURED, state="partial"))
    assert call.request is not None
    assert (call.state, call.request.params["dwInSize"], call.status) == ("partial", 5, None)


@pytest.mark.parametrize("side", ["request", "response"])
def test_a_stub_that_does_not_decode_is_malformed(side: str) -> None:
    make = Calls()
    good = make.counter_data(DATA)
    call = one(
        make.exchange(6, *((b"\1\2", make.sized(DATA)) if side == "request" else (good.request.stub.data, b"\1")))
    )
    assert call.state == "malformed"
    assert call.reason is not None
    assert call.reason.startswith(f"the {side} stub does not decode: {side}.")
    # What the other side says stands.
    assert (call.status == 0) if side == "request" else (call.request and call.request.params["dwInSize"] == 4096)


def test_a_method_nobody_described_keeps_its_bytes() -> None:
    call = one(Calls().exchange(9, b"abcd", b"\0\0\0\0"))
    assert (call.method, call.state, call.status) == (None, "complete", None)
    assert call.request is not None
    assert call.request.stub.data == b"abcd"


def test_what_aligns_a_verification_trailer_is_no_part_of_the_stub() -> None:
    make = Calls()
    stub = make.stub().handle(HANDLE).uint(5).conformant(b"abcde").uint(1)
    for trailer, left in (("ok", 0), (None, 2)):
        call = one(make.exchange(7, stub.data + b"\xaa\xaa", None, trailer=trailer))
        assert call.request is not None
        assert len(call.request.stub) == len(stub.data) + left


# ------------------------------------------------------------------------------------------------ what servers state


def _learnt(*exchanges: Exchange) -> PerflibLayer:
    layer = PerflibLayer()
    for exchange in exchanges:
        one(exchange, layer)
    return layer


def test_every_request_code_teaches_its_part() -> None:
    make = Calls()
    layer = _learnt(
        make.registration(1, counterset_info((1, 0x10410400), (2, 0x650))),
        make.registration(2, counter_info(3, 0x10000), lcid=3),
        make.registration(3, wide("Prozessor"), lcid=0x407),
        make.registration(4, wide("Hilfe"), lcid=0x407),
        make.registration(5, string_table([(1, "eins"), (2, None)], from_start=False), lcid=0x407),
        make.registration(6, string_table([(1, "Hilfe zu eins")], from_start=True), lcid=0x407),
        make.registration(7, wide("A.Provider")),
        make.registration(8, UUID(OTHER_COUNTERSET).bytes_le),
    )
    catalog = layer.learner.catalogs.of(CHANNEL.server)
    entry = catalog.countersets[COUNTERSET]
    assert (catalog.label(COUNTERSET), entry.help, entry.provider_name) == ("Prozessor", "Hilfe", "A.Provider")
    assert (entry.provider_guid, entry.instance_type) == (OTHER_COUNTERSET, 2)
    assert {number: (counter.type, counter.label) for number, counter in entry.counters.items()} == {
        1: (0x10410400, "eins"),
        2: (0x650, None),
        3: (0x10000, None),
    }
    assert entry.counters[1].help == "Hilfe zu eins"


def test_the_english_name_is_the_label_whenever_it_comes() -> None:
    make = Calls()
    english = [
        make.registration(9, wide("Processor")),
        make.registration(10, string_table([(1, "one")], from_start=True)),
    ]
    german = [
        make.registration(3, wide("Prozessor"), lcid=0x407),
        make.registration(5, string_table([(1, "eins")], from_start=True), lcid=0x407),
    ]
    for order in (english + german, german + english):
        catalog = _learnt(*order).learner.catalogs.of(CHANNEL.server)
        assert catalog.label(COUNTERSET) == "Processor"
        counter = catalog.counter(COUNTERSET, 1)
        assert counter is not None
        assert counter.label == "one"
        names = catalog.names(COUNTERSET, 1)
        assert names is not None
        assert names.source == "capture"
        assert NamesFacts.of(names) == NamesFacts("Processor", "Prozessor", "one", "eins", 0x407)


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
        catalog.learn(COUNTERSET, code, lcid, decode_buffer(BUFFER_KIND_OF_CODE[RequestCode(code)], data).tree)
    layer = _learnt(*[make.registration(code, data, lcid=lcid) for code, lcid, data in answers])
    assert _stated(layer.learner.catalogs.of(CHANNEL.server)) == _stated(catalog)


def _stated(catalog: Catalog) -> list[object]:
    """All that was reported of the counterset and its counters."""
    entry = catalog.countersets[COUNTERSET]
    counters = [(number, counter.info) for number, counter in entry.counters.items()]
    texts = [(one.english, list(one.names), list(one.helps)) for one in (entry, *entry.counters.values())]
    return [entry.provider_name, entry.provider_guid, entry.instance_type, counters, texts]


def test_names_of_two_languages_are_kept_apart() -> None:
    make = Calls()
    catalog = _learnt(
        make.registration(3, wide("Prozessor"), lcid=0x407),
        make.registration(3, wide("Processeur"), lcid=0x40C),
        make.registration(5, string_table([(1, "un")], from_start=True), lcid=0x40C),
    ).learner.catalogs.of(CHANNEL.server)
    entry = catalog.countersets[COUNTERSET]
    assert {lcid: name.text for lcid, name in entry.names} == {0x407: "Prozessor", 0x40C: "Processeur"}
    names = catalog.names(COUNTERSET, 1)
    assert names is not None
    assert (entry.named.language, names.counter.language) == (0x407, 0x40C)


def test_instances_have_the_names_the_server_lists_for_their_numbers() -> None:
    make = Calls()

    def listed(*instances: tuple[str, int]) -> Exchange:
        asked = make.stub().string("\\\\S").uuid(COUNTERSET).uint(4096)
        return make.exchange(2, asked, make.sized(b"".join(instance_header(*one) for one in instances)))

    layer = _learnt(listed(("a", 1), ("b", 2)), listed(("a", 1), ("c", 2), ("d", 3)))
    catalog = layer.learner.catalogs.of(CHANNEL.server)
    assert [catalog.instance(COUNTERSET, number) for number in (1, 2, 3, 4)] == ["a", None, "d", None]
    assert catalog.instance(OTHER_COUNTERSET, 1) is None


@pytest.mark.parametrize("status", [0, 8])
def test_what_comes_with_an_error_is_not_laid_out_as_an_answer(status: int) -> None:
    make = Calls()
    calls = [one(make.counter_data(DATA, status=status)), one(make.registration(3, wide("No"), status=status))]
    for call, kind in zip(calls, ("perf-data", "string"), strict=True):
        assert call.response is not None
        assert len(call.response.buffer_data) > 0
        assert call.response.buffer_kind == (kind if status == 0 else None)
    assert bool(list(perflib_samples(calls[0], Catalog()))) is (status == 0)


@pytest.mark.parametrize(
    "exchange",
    [
        Calls().registration(3, wide("No"), status=8),
        sealed(Calls().registration(3, wide("No"))),
        Calls().registration(77, wide("No")),
        Calls().registration(1, counterset_info((1, 2))[:-7]),
    ],
    ids=["error", "sealed", "unknown code", "damaged"],
)
def test_what_was_not_said_is_not_learnt(exchange: Exchange) -> None:
    layer = _learnt(exchange)
    assert layer.learner.catalogs.of(CHANNEL.server).label(COUNTERSET) is None
    assert not layer.learner.catalogs.of(CHANNEL.server).countersets


def test_names_of_one_server_say_nothing_of_another() -> None:
    layer = _learnt(Calls().registration(9, wide("Processor")))
    elsewhere = replace(CHANNEL.server, ip="10.9.9.9")
    assert layer.learner.catalogs.of(elsewhere).label(COUNTERSET) is None
    assert layer.learner.catalogs.of(replace(CHANNEL.server, port=139)).label(COUNTERSET) == "Processor"


def test_calls_know_their_frames() -> None:
    call = one(Calls().counter_data(DATA))
    assert isinstance(call, Call)
    assert call.frames == (1, 2)


@pytest.mark.parametrize(
    ("stub", "expected"),
    [
        (Calls().stub().conformant(identifier(COUNTERSET, counter=1)).uint(0).data, True),
        (Calls().stub().conformant(b"").uint(0).data, True),
        # Some stacks pad a sealed stub to 8 bytes.
        (Calls().stub().conformant(b"").uint(0).data + bytes(7), True),
        (Calls().stub().conformant(b"").uint(0).data + bytes(8), False),
        (Calls().stub().conformant(identifier(COUNTERSET, counter=1)[:-1]).uint(0).data, False),
        (b"\1", False),
        (Missing.SEALED, True),
    ],
)
def test_an_answer_alone_may_be_one_of_validate_counters(stub: bytes | Missing, expected: bool) -> None:
    assert may_answer_validate_counters(one(Calls().exchange(None, None, stub))) == expected


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
    assert not layer.learner.catalogs.of(CHANNEL.server).countersets
