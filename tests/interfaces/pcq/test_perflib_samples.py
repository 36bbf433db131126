"""Values of data answers: all block types, text and numbers, bound to counters and instances as far as the capture states."""

from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pytest

from analyzer.interfaces.call_contents.raw_samples import sample_records
from analyzer.interfaces.pcq.perflib_samples import perflib_samples
from analyzer.results.methods.perflib import is_text
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Block, identifier, instance_header, perf_data, string_table, wide
from tests.build.calls import COUNTERSET, HANDLE, OTHER_COUNTERSET, Calls, analysis_of
from tests.interfaces.pcq.test_perflib_layer import counterset_info
from tests.records import plains
from tests.written import Outcomes

ANY = 0xFFFFFFFF
NUMBER, TEXT = 0x00010000, 0x00000B00


MAKE = Calls()


def number(value: int) -> bytes:
    return pack("<I", value)


ONE, TWO = Block(1, values=((number(1),),)), Block(1, values=((number(2),),))
PROCESSOR = [
    MAKE.registration(9, wide("Processor")),
    MAKE.registration(10, string_table([(5, "% Time")], from_start=True)),
]


def data(*blocks: Block) -> Exchange:
    return MAKE.counter_data(perf_data(list(blocks)))


def reported(*identifiers: bytes) -> list[Exchange]:
    """A handle that was opened, and whose blocks were named."""
    return [MAKE.open_query(), MAKE.counter_info(b"".join(identifiers))]


def declared(kind: int, raw: bytes) -> list[Exchange]:
    """A value of a counter of that type."""
    info = MAKE.registration(1, counterset_info((5, kind)))
    return [info, *reported(identifier(COUNTERSET, counter=5, index=0)), data(Block(1, values=((raw,),)))]


def listed(*instances: tuple[str, int]) -> Exchange:
    asked = MAKE.stub().string("\\\\S").uuid(COUNTERSET).uint(4096)
    return MAKE.exchange(2, asked, MAKE.sized(b"".join(instance_header(*one) for one in instances)))


CASES: dict[str, list[Exchange]] = {
    "every block type gives its values": [
        data(
            Block(0, status=0x1069),
            ONE,
            Block(2, ids=(5, 6, 7), values=((number(2), pack("<Q", 1 << 40), wide("hi there")),)),
            Block(4, instances=(("a", 10), ("b", 11)), values=((number(3),), (number(4),))),
            Block(6, ids=(5, 6), instances=(("a", 10),), values=((number(5), number(6)),)),
        )
    ],
    "a value has the names its server gave, before or after; what is not named is of the set of the handle": [
        *reported(identifier(COUNTERSET, counter=5, index=0, name="y", instance=8)),
        data(ONE, Block(4, instances=(("x", 3),), values=((number(2),),))),
        MAKE.registration(1, counterset_info((5, NUMBER))),
        *PROCESSOR,
    ],
    **{
        f"text as long as a number is reported by the declared type: {kind:#x}, {len(raw)} bytes": declared(kind, raw)
        for kind in (NUMBER, TEXT)
        for raw in (wide("z")[:4], wide("abc"))
    },
    **{
        f"text with half a character stays apart from other text: {half}": declared(TEXT, bytes([half, 0xD8, 0, 0]))
        for half in (0, 1)
    },
    "a wildcard names no counter and no instance": [
        *reported(identifier(COUNTERSET, counter=ANY, instance=ANY, index=0, name="*")),
        data(Block(2, ids=(7,), values=((number(1),),)), TWO),
    ],
    "ids are given only where they were reported": [
        MAKE.open_query(),
        MAKE.validate(identifier(COUNTERSET, counter=5, index=0) + identifier(OTHER_COUNTERSET, counter=6, index=1)),
        data(ONE),
    ],
    "an error has no values": [MAKE.counter_data(b"", status=8, needed=100)],
    "a request without an answer has no values": [MAKE.exchange(6, MAKE.stub().handle(COUNTERSET).uint(1), None)],
    "a damaged answer gives what stands before the damage": [MAKE.counter_data(perf_data([ONE, TWO])[:-20])],
    "an instance asked for by number has the name the server lists": [
        listed(("first", 0), ("third", 3)),
        *reported(
            identifier(COUNTERSET, counter=5, instance=3, index=0, name=""),
            identifier(COUNTERSET, counter=5, instance=4, index=1, name=""),
            identifier(COUNTERSET, counter=5, instance=3, index=2, name="mine"),
            identifier(COUNTERSET, counter=5, instance=ANY, index=3),
        ),
        data(ONE, ONE, ONE, ONE),
    ],
    "the same counter of an instance in two blocks is one value, however its name is written": [
        MAKE.registration(1, counterset_info((5, NUMBER), (6, TEXT))),
        *PROCESSOR,
        *reported(
            identifier(COUNTERSET, counter=5, index=0, name="y", instance=8),
            identifier(COUNTERSET, counter=ANY, index=1, name="Y", instance=8),
        ),
        data(ONE, Block(2, ids=(5, 6), values=((number(2), wide("z")),)), Block(0, status=0x1069)),
    ],
    **{
        f"the instance of a set that has one means nothing: type {kind}": [
            MAKE.registration(1, counterset_info((5, NUMBER), instance_type=kind)),
            *reported(
                identifier(COUNTERSET, counter=5, index=0, name="a", instance=1),
                identifier(COUNTERSET, counter=5, index=1, name="b", instance=2),
            ),
            data(ONE, ONE),
        ]
        for kind in (0, 2)
    },
}


# What all answers of the builder have.
CLOCK = {"perf_time_stamp": 5, "perf_time_100ns": 133_541_156_967_890_000, "perf_freq": 10_000_000}
IDS = {COUNTERSET: "COUNTERSET", HANDLE: "HANDLE"}


def said(exchanges: list[Exchange]) -> Iterator[str]:
    """Each value with all that is known of it, and what its record adds to that."""
    analysis = analysis_of(*exchanges)
    found = [one for call in analysis.calls for one in perflib_samples(call, analysis.catalogs.catalog_of(call.server))]
    records = [one for one in plains(sample_records(analysis)) if one["record"] == "sample"]
    for one, record in zip(found, records, strict=True):
        known = [(name, getattr(one, name)) for name in one.__struct_fields__ if name != "names"]
        yield ", ".join(
            f"{name}={IDS.get(str(value), repr(value))}"
            for name, value in known
            if value is not None and CLOCK.get(name) != value
        )
        assert all(record.get(name) == value for name, value in known if name in record), record
        if one.names is not None:
            yield f" {one.names.group.english}, {one.names.counter.english}"
        if one.block_status:
            yield f" {record['block_status_name']}"


OUTCOMES = Outcomes(Path(__file__).with_name("perflib_samples.txt"), CASES, said)


@pytest.mark.parametrize("name", CASES)
def test_values_are_bound_as_far_as_the_capture_states(name: str) -> None:
    OUTCOMES.holds(name)


def test_values_are_as_written() -> None:
    OUTCOMES.is_as_written()


def test_text_is_a_class_of_types() -> None:
    """PERF_TYPE_TEXT is 0x800 in bits 10 and 11 (winperf.h)."""
    types = (None, 0xB00, 0x800, 0xC00, 0x400, 0x10410400, 0xFFFFFBFF)
    assert [one for one in types if is_text(one)] == [0xB00, 0x800, 0xFFFFFBFF]
