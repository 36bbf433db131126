"""Values of data answers: all block types, text and numbers, bound to counters and instances as far as the capture states."""

from __future__ import annotations

from struct import pack

import pytest
from msgspec.structs import replace

from analyzer.interfaces.contents.sample_records import sample_records
from analyzer.interfaces.pcq.perflib_samples import PerflibSample, is_text, perflib_samples
from analyzer.results.analysis import Analysis
from analyzer.transport.rpc.exchange import Exchange
from tests.build.buffers import Block, identifier, instance_header, perf_data, string_table, wide
from tests.build.calls import COUNTERSET, HANDLE, OTHER_COUNTERSET, Calls, analysis_of
from tests.interfaces.pcq.test_perflib_layer import counterset_info
from tests.records import Record, plains

ANY = 0xFFFFFFFF
NUMBER, TEXT = 0x00010000, 0x00000B00


def number(value: int) -> bytes:
    return pack("<I", value)


def samples(analysis: Analysis) -> list[Record]:
    return list(plains(sample_records(analysis)))


def reported(make: Calls, *identifiers: bytes) -> list[Exchange]:
    """A handle that was opened, and whose blocks were named."""
    return [make.open_query(), make.counter_info(b"".join(identifiers))]


def values(records: list[Record], *keys: str) -> list[tuple[object, ...]]:
    return [tuple(record[key] for key in keys) for record in records]


def test_every_block_type_gives_its_values() -> None:
    blocks = [
        Block(0, status=0x1069),
        Block(1, values=((number(1),),)),
        Block(2, ids=(5, 6, 7), values=((number(2), pack("<Q", 1 << 40), wide("hi there")),)),
        Block(4, instances=(("a", 10), ("b", 11)), values=((number(3),), (number(4),))),
        Block(6, ids=(5, 6), instances=(("a", 10),), values=((number(5), number(6)),)),
    ]
    found = samples(analysis_of(Calls().counter_data(perf_data(blocks))))
    keys = ("block", "block_type", "counter_id", "instance", "instance_id", "raw", "data_size")
    assert values(found, *keys) == [
        (0, 0, None, None, None, None, None),
        (1, 1, None, None, None, 1, 4),
        (2, 2, 5, None, None, 2, 4),
        (2, 2, 6, None, None, 1 << 40, 8),
        (2, 2, 7, None, None, "hi there", 18),
        (3, 4, None, "a", 10, 3, 4),
        (3, 4, None, "b", 11, 4, 4),
        (4, 6, 5, "a", 10, 5, 4),
        (4, 6, 6, "a", 10, 6, 4),
    ]
    assert found[0]["block_status"] == 0x1069
    assert found[0]["block_status_name"] == "ERROR_WMI_INSTANCE_NOT_FOUND"
    assert {record["perf_time_100ns"] for record in found} == {133_541_156_967_890_000}
    assert {(record["perf_time_stamp"], record["perf_freq"]) for record in found} == {(5, 10_000_000)}
    assert {record["counterset"] for record in found} == {None}


def test_a_value_has_the_names_its_server_gave() -> None:
    make = Calls()
    data = perf_data([Block(1, values=((number(1),),)), Block(4, instances=(("x", 3),), values=((number(2),),))])
    analysis = analysis_of(
        *reported(make, identifier(COUNTERSET, counter=5, index=0, name="y", instance=8)),
        make.counter_data(data),
        # Names may come later; they hold for the whole capture.
        make.registration(1, counterset_info((5, NUMBER))),
        make.registration(9, wide("Processor")),
        make.registration(10, string_table([(5, "% Time")], from_start=True)),
    )
    first, second = samples(analysis)
    assert (first["counterset"], first["counterset_name"]) == (COUNTERSET, "Processor")
    assert (first["counter_id"], first["counter_name"], first["counter_type"]) == (5, "% Time", NUMBER)
    assert (first["instance"], first["instance_id"]) == ("y", 8)
    # Block 1 was not named, but all the handle's counters are of one set.
    assert (second["counterset"], second["counter_id"], second["instance"]) == (COUNTERSET, None, "x")


@pytest.mark.parametrize("declared", [NUMBER, TEXT])
@pytest.mark.parametrize("raw", [wide("z")[:4], wide("abc")], ids=["4 bytes", "8 bytes"])
def test_text_as_long_as_a_number_is_reported_by_the_declared_type(declared: int, raw: bytes) -> None:
    make = Calls()
    analysis = analysis_of(
        make.registration(1, counterset_info((5, declared))),
        *reported(make, identifier(COUNTERSET, counter=5, index=0)),
        make.counter_data(perf_data([Block(1, values=((raw,),))])),
    )
    (sample,) = samples(analysis)
    assert sample["raw"] == (
        raw.decode("utf-16-le").rstrip("\0") if declared == TEXT else int.from_bytes(raw, "little")
    )


def test_text_with_half_a_character_stays_apart_from_other_text() -> None:
    make = Calls()
    texts = [b"\x00\xd8\0\0", b"\x01\xd8\0\0"]
    found = [
        samples(
            analysis_of(
                make.registration(1, counterset_info((5, TEXT))),
                *reported(make, identifier(COUNTERSET, counter=5, index=0)),
                make.counter_data(perf_data([Block(1, values=((text,),))])),
            )
        )[0]["raw"]
        for text in texts
    ]
    assert len(set(found)) == 2


def test_a_wildcard_names_no_counter_and_no_instance() -> None:
    make = Calls()
    analysis = analysis_of(
        *reported(make, identifier(COUNTERSET, counter=ANY, instance=ANY, index=0, name="*")),
        make.counter_data(perf_data([Block(2, ids=(7,), values=((number(1),),)), Block(1, values=((number(2),),))])),
    )
    first, second = samples(analysis)
    assert (first["counterset"], first["counter_id"], first["instance"], first["instance_id"]) == (
        COUNTERSET,
        7,
        None,
        None,
    )
    assert (second["counter_id"], second["instance"]) == (None, None)


def test_ids_are_given_only_where_they_were_reported() -> None:
    make = Calls()
    two = identifier(COUNTERSET, counter=5, index=0) + identifier(OTHER_COUNTERSET, counter=6, index=1)
    analysis = analysis_of(
        make.open_query(),
        make.validate(two),
        make.counter_data(perf_data([Block(1, values=((number(1),),))])),
    )
    (sample,) = samples(analysis)
    assert (sample["counterset"], sample["counter_id"]) == (None, None)
    assert sample["query"] is not None


def test_an_error_or_a_sealed_answer_has_no_values() -> None:
    make = Calls()
    assert samples(analysis_of(make.counter_data(b"", status=8, needed=100))) == []
    assert samples(analysis_of(make.exchange(6, make.stub().handle(COUNTERSET).uint(1), None))) == []


def test_a_damaged_answer_gives_what_stands_before_the_damage() -> None:
    data = perf_data([Block(1, values=((number(1),),)), Block(1, values=((number(2),),))])
    (sample,) = samples(analysis_of(Calls().counter_data(data[:-20])))
    assert sample["raw"] == 1


def test_an_instance_asked_for_by_number_has_the_name_the_server_lists() -> None:
    make = Calls()
    asked = make.stub().string("\\\\S").uuid(COUNTERSET).uint(4096)
    listed = make.exchange(2, asked, make.sized(instance_header("first", 0) + instance_header("third", 3)))
    blocks = reported(
        make,
        identifier(COUNTERSET, counter=5, instance=3, index=0, name=""),
        identifier(COUNTERSET, counter=5, instance=4, index=1, name=""),
        identifier(COUNTERSET, counter=5, instance=3, index=2, name="mine"),
        identifier(COUNTERSET, counter=5, instance=ANY, index=3),
    )
    data = make.counter_data(perf_data([Block(1, values=((number(1),),))] * 4))
    assert values(samples(analysis_of(listed, *blocks, data)), "instance", "instance_id") == [
        ("third", 3),
        ("", 4),
        ("mine", 3),
        (None, None),
    ]


def test_every_field_of_a_value() -> None:
    make = Calls()
    analysis = analysis_of(
        make.registration(1, counterset_info((5, NUMBER), (6, TEXT))),
        make.registration(9, wide("Processor")),
        make.registration(10, string_table([(5, "% Time")], from_start=True)),
        *reported(
            make,
            identifier(COUNTERSET, counter=5, index=0, name="y", instance=8),
            identifier(COUNTERSET, counter=ANY, index=1, name="Y", instance=8),
        ),
        make.counter_data(
            perf_data(
                [
                    Block(1, values=((number(1),),)),
                    Block(2, ids=(5, 6), values=((number(2), wide("z")),)),
                    Block(0, status=0x1069),
                ]
            )
        ),
    )
    catalog = analysis.catalogs.of(analysis.calls[-1].server)
    common = PerflibSample(
        query=HANDLE,
        block=0,
        block_type=1,
        block_status=0,
        counterset=COUNTERSET,
        counterset_name="Processor",
        counter_id=5,
        counter_name="% Time",
        counter_type=NUMBER,
        instance="y",
        instance_id=8,
        raw=1,
        data_size=4,
        perf_time_stamp=5,
        perf_time_100ns=133_541_156_967_890_000,
        perf_freq=10_000_000,
        id_source="index",
        names=catalog.names(COUNTERSET, 5),
        repeated=False,
    )
    several = replace(common, block=1, block_type=2, instance="Y", raw=2, repeated=True)
    assert list(perflib_samples(analysis.calls[-1], catalog)) == [
        common,
        several,
        replace(
            several,
            counter_id=6,
            counter_name=None,
            counter_type=TEXT,
            raw="z",
            names=catalog.names(COUNTERSET, 6),
            repeated=False,
        ),
        replace(
            common,
            block=2,
            block_type=0,
            block_status=0x1069,
            counter_id=None,
            counter_name=None,
            counter_type=None,
            instance=None,
            instance_id=None,
            raw=None,
            data_size=None,
            id_source=None,
            names=catalog.names(COUNTERSET, None),
        ),
    ]


def test_the_instance_of_a_set_that_has_one_means_nothing() -> None:
    """The same counter in two blocks is one value, whatever the instance is called, where the set has but one instance."""
    for instance_type, repeated in ((0, [False, True]), (2, [False, False])):
        make = Calls()
        analysis = analysis_of(
            make.registration(1, counterset_info((5, NUMBER), instance_type=instance_type)),
            *reported(
                make,
                identifier(COUNTERSET, counter=5, index=0, name="a", instance=1),
                identifier(COUNTERSET, counter=5, index=1, name="b", instance=2),
            ),
            make.counter_data(perf_data([Block(1, values=((number(1),),))] * 2)),
        )
        catalog = analysis.catalogs.of(analysis.calls[-1].server)
        assert [one.repeated for one in perflib_samples(analysis.calls[-1], catalog)] == repeated


@pytest.mark.parametrize(
    ("counter_type", "expected"),
    [
        (None, False),
        (0x00000B00, True),
        (0x00000800, True),
        (0x00000C00, False),
        (0x00000400, False),
        (0x10410400, False),
        (0xFFFFFBFF, True),
    ],
)
def test_text_is_a_class_of_types(counter_type: int | None, expected: bool) -> None:
    """PERF_TYPE_TEXT is 0x800 in bits 10 and 11 (winperf.h)."""
    assert is_text(counter_type) == expected
