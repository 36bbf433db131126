"""Bounds inside of the rules about PERF_DATA_BLOCK, on both sides: lengths, counts and clocks just possible, and just not."""

from collections import Counter
from datetime import UTC, datetime
from struct import pack
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from analyzer.questions.audit.rule_verdicts import Outcome
from analyzer.questions.audit.rules import winperf_header, winperf_objects
from analyzer.questions.audit.rules.winperf_objects import INSTANCE, NAME
from tests.build.buffers import wide
from tests.questions.audit.judging import ANY, judgement_words
from tests.questions.audit.test_rule_bounds import ticks_of
from tests.written import Tables, held

TABLES = Tables()


def clock(moment, *, microseconds=0, **changes):
    names = {"year": moment.year, "month": moment.month, "day_of_week": moment.isoweekday() % 7, "day": moment.day}
    more = {"hour": moment.hour, "minute": moment.minute, "second": moment.second}
    shown = {**names, **more, "milliseconds": moment.microsecond // 1000, **changes}
    return {"perf_time_100ns": ticks_of(moment) + 10 * microseconds, "system_time": shown}


@TABLES.of(
    {"at": "2024-03-05T12:34:56.789"},
    *({"at": at} for at in ("1979-12-31T23:59:59", "1980-01-01", "2199-12-31T23:59:59.999", "2200-01-01")),
    *({"at": "2024-03-05", "microseconds": later} for later in (1_000_000, 1_000_001)),
    *({"at": "2024-03-05", **part} for part in ({"month": 13}, {"year": 2023})),
)
def the_clocks_of_a_block_are_of_times_that_can_be_meant(at, **changes):
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    return judgement_words(winperf_header._dates(ANY, clock(moment, **changes)))


@TABLES.of(
    *([(5, by)] for by in (10, 1, 0, -1)),
    [(5, 10), (5, 10)],
    [(5, 10), (4, 10)],
    # With another frequency the machine was started anew.
    [(5, 10), (4, 11)],
    [(5, 10), (4, 11), (3, 11)],
    [(5, 10), (9, 10), (8, 10)],
)
def the_performance_counter_of_a_server_does_not_go_back(readings):
    """What is said of each reading, were all of one server, and were each of another."""
    fields = clock(datetime(2024, 3, 5, tzinfo=UTC))
    found = []
    before = SimpleNamespace(response=SimpleNamespace(side=SimpleNamespace(first_time_ns=0)))
    for servers in ("a" * 9, "abcdefghi"):
        evidence = SimpleNamespace(call=lambda number: before, is_in_order=lambda number, call: True)
        watch = winperf_header.WinperfClockImplausible.call.watch(evidence)
        for server, (at, by) in zip(servers, readings, strict=False):
            header = {**fields, "perf_time": at, "perf_freq": by}
            with patch.object(winperf_header, "header_of", lambda call, header=header: header):
                call = SimpleNamespace(server=server, judged_side="response", number=1, time_ns=0)
                first, *_, last = watch.feed(call)
            assert (first.requirement, last.requirement) == ("WP-DB-R13", "WP-DB-R09")
            found.append(last.outcome.value)
        assert list(watch.finish()) == []
    return [" ".join(found[: len(readings)]), " ".join(found[len(readings) :])]


@pytest.mark.parametrize(("answered", "is_in_order"), [(1, True), (0, False)])
def test_a_performance_counter_that_went_back_by_an_uncertain_order_did_not(answered, is_in_order):
    """The one before was answered after this one was sent, or the frames are in another order than their bytes."""
    before = SimpleNamespace(response=SimpleNamespace(side=SimpleNamespace(first_time_ns=answered)))
    evidence = SimpleNamespace(call=lambda number: before, is_in_order=lambda number, call: is_in_order)
    watch, fields = winperf_header.WinperfClockImplausible.call.watch(evidence), clock(datetime(2024, 3, 5, tzinfo=UTC))
    for ticks, expected in ((5, "pass"), (4, "inconclusive")):
        header = {**fields, "perf_time": ticks, "perf_freq": 10}
        with patch.object(winperf_header, "header_of", lambda call, header=header: header):
            call = SimpleNamespace(server="a", judged_side="response", number=1, time_ns=0)
            assert [one.outcome.value for one in watch.feed(call)][-1] == expected


# ------------------------------------------------------------------------------------------------ the header


def winperf_call(data):
    return SimpleNamespace(reply=SimpleNamespace(data=data), judged_side="response")


# No counter runs at a terahertz: where the bytes 4 earlier make a frequency, the clocks stand there.
@TABLES.of(
    *((frequency, 5) for frequency in (10_000_000, 1, (1 << 40) - 1, 1 << 40, 0)),
    *((-1, 1), (0, (1 << 40) - 1), (0, 1 << 40), (0, 0)),
)
def the_clocks_stand_behind_their_padding(frequency, unpadded):
    found = []
    for mark, little in (("<", 1), (">", 0)):
        data = b"\xee" * 60 + pack(f"{mark}Q", unpadded) + b"\xee" * 20
        block = SimpleNamespace(fields={"perf_freq": frequency, "little_endian": little})
        found.append(winperf_header._clocks_place(winperf_call(data), block).outcome.value)
    return found


@TABLES.of((88, 16), (87, 16), (88, 15), (90, 16), (90, 14), (0, 0), (999, 0))
def the_name_of_the_system_lies_in_the_header(start, length):
    fields = {"system_name_offset": start, "system_name_length": length, "header_length": 104}
    found = winperf_header._system_name(ANY, SimpleNamespace(fields=fields, header_length=None))
    assert found.seen is None or found.seen == f"bytes {start} to {start + length}"
    return found.outcome.value


@TABLES.of(
    *((total, 1, [100], 200) for total in (200, 201, 199)),
    *((200, 2, [60, 40], 300), (100, 0, [], 100), (200, 2, [100], 200), (200, 1, [101], 200)),
    # Of an object that begins where the bytes end, nothing was read.
    (200, 1, [100, None], 200),
)
def the_length_and_the_number_of_objects_agree(total, number, sizes, size):
    objects = [SimpleNamespace(fields={} if one is None else {"total_byte_length": one}) for one in sizes]
    fields = {"total_byte_length": total, "num_object_types": number, "header_length": 100}
    made = list(winperf_header._objects(ANY, SimpleNamespace(fields=fields, objects=objects, size=size)))
    return [*judgement_words(made), made[0].expected or "as expected"]


# ------------------------------------------------------------------------------------------------ objects


def thing(start=104, **fields):
    sizes = {"total_byte_length": 300, "definition_length": 104, "header_length": 64, "detail_level": 100}
    fields = {**sizes, "code_page": 0, "counters": [{"byte_length": 40}], **fields}
    return SimpleNamespace(path="lpData.objects[0]", start=start, fields=fields, instances=())


@TABLES.of(
    *({"size": size} for size in (404, 403)),
    *({"total_byte_length": length} for length in (104, 103)),
    *({"header_length": length} for length in (63, 65)),
    *({"definition_length": length} for length in (103, 105)),
    *({"counters": counters} for counters in ([{}], [{"byte_length": 40}, {"byte_length": 1}])),
)
def the_lengths_of_an_object_fit(size=404, **fields):
    return judgement_words(winperf_objects._lengths(ANY, thing(**fields), size))


@TABLES.of(
    *({"num_instances": number} for number in (-4, -3)),
    *({name: length} for name in ("definition_length", "header_length") for length in (63, 64)),
    {"num_instances": -9, "definition_length": 0, "header_length": 0},
)
def why_an_object_cannot_be_read(**fields):
    *made, doubts = winperf_objects._judge_unreadable_object(
        ANY, SimpleNamespace(path="lpData.objects[0]", fields=fields)
    )
    assert doubts.outcome is Outcome.INCONCLUSIVE
    failed = [one.requirement for one in made if one.outcome is Outcome.FAILED]
    assert sorted([*failed, *doubts.requirements]) == [f"WP-OT-R0{number}" for number in range(1, 8)]
    return failed


@TABLES.of(
    *({"num_counters": number, "num_instances": -1} for number in (1, 2, 0)),
    *({"num_instances": -2, "total_byte_length": length} for length in (104, 105)),
    {"num_instances": -3, "total_byte_length": 103},
    *({"num_instances": number, "instances": [{"counter_block": {}}, {}]} for number in (1, 2)),
)
def as_many_counters_and_instances_as_are_stated(num_counters=1, **fields):
    with patch.object(winperf_objects, "_uncounted_instances", lambda *_: 0):
        return judgement_words(winperf_objects._counts(ANY, thing(num_counters=num_counters, **fields), None))


def instance(length, values):
    return pack("<I", length) + bytes(length - 4) + pack("<I", values) + bytes(max(0, values - 4))


BEHIND = {
    "nothing": b"",
    "24 bytes and values of 4": instance(24, 4),
    "two": instance(24, 8) + instance(40, 16),
    "one and a byte": instance(24, 8) + b"\0",
    "23 bytes": instance(23, 8),
    "values of 3": instance(24, 3) + bytes(1),
    "one cut short": instance(24, 8)[:-1],
}


@TABLES.of(*BEHIND)
def instances_behind_the_last_one_that_is_counted(name):
    """An instance of 24 bytes and more, and a counter block of 4 and more, up to the end of the object; of both byte orders."""
    behind = BEHIND[name]
    found = []
    turned = b"".join(behind[at : at + 4][::-1] for at in range(0, len(behind), 4))
    for little, data in ((True, behind), (False, turned)):
        block = SimpleNamespace(fields={"little_endian": little})
        item = thing(total_byte_length=100 + len(data), definition_length=100)
        found.append(winperf_objects._uncounted_instances(winperf_call(bytes(204) + data + b"more"), item, block))
    return found


@TABLES.of(
    {},
    {"instances": [{"definition": {"name": "a"}}, {"definition": None}, {}]},
    {"instances": [{"definition": {"name": "a"}}, {"definition": {"name": "\ufffd"}}]},
    *({"detail_level": level} for level in (0, 99, 100, 101, 199, 200, 299, 300, 399, 400, 401)),
)
def names_and_details_of_an_object(**fields):
    return judgement_words(winperf_objects._names(ANY, thing(**fields)))


# ------------------------------------------------------------------------------------------------ definitions and instances


def structure(start=0, **fields):
    return SimpleNamespace(path="lpData.x", start=start, fields=fields)


RAW, LARGE_RAW, ZERO_SIZED, TEXT, DOUBLE = 0x10000, 0x10100, 0x10200, 0xB00, 0x12000
RAW_FRACTION, BASE, TIMER = 0x20020400, 0x40030403, 0x20670500


@TABLES.of(
    *((RAW, size, 0) for size in (4, 8)),
    *((LARGE_RAW, size, scale) for size, scale in ((8, 10), (4, -10))),
    *((ZERO_SIZED, size, scale) for size, scale in ((0, 11), (4, -11))),
    # Texts have a size of their own; a double has 8 bytes whatever its bits say.
    (TEXT, 17, 0),
    *((DOUBLE, size, 0) for size in (8, 4)),
    *((RAW_FRACTION, 4, 0, follower) for follower in (BASE, RAW, None)),
    *((TIMER, 8, 0, follower) for follower in (BASE, None)),
)
def a_definition_agrees_with_its_type(kind, size, scale, follower=None):
    one = structure(counter_type=kind, counter_size=size, default_scale=scale)
    behind = structure(counter_type=follower) if follower is not None else None
    return judgement_words(winperf_objects._definition(ANY, one, behind))


@TABLES.of((4, 4, [8]), (3, 4, [8]), (4, 5, [8]), (4, 5, [8, 9]), (0, 0, [8]), (0, 9, []))
def a_value_lies_behind_the_length_of_its_block(start, size, sizes):
    return judgement_words(winperf_objects._value_place(ANY, structure(counter_offset=start, counter_size=size), sizes))


@TABLES.of((0, 24, 0), (0, 23, 0), (0, 28, 0), (0, 32, 8), (0, 31, 8), (0, 24, 1), (76, 24, 0), (77, 24, 0))
def the_length_of_an_instance_covers_its_name(start, length, name):
    """Where it begins in a buffer of 100 bytes, its length, and that of its name; what was expected."""
    one = structure(start, byte_length=length, name_length=name, name_offset=24)
    kept = Counter()
    found = list(winperf_objects._judge_instance_length(ANY, one, SimpleNamespace(size=100), kept))
    return [f"{judged.outcome.value} {judged.expected}" for judged in found] + ["pass"] * kept[INSTANCE]


@TABLES.of(
    *((wide("ab")[:size], 0) for size in (0, 6, 4)),
    *((name, 0) for name in (b"a\0\0", b"abc\0")),
    *((name, 1252) for name in (b"ab\0", b"ab")),
)
def the_name_of_an_instance_ends_in_a_nul(name, code_page):
    call = winperf_call(b"before" + b"1234" + name + b"\xee\xee")
    kept = Counter()
    found = winperf_objects._judge_instance_name(
        call, structure(6, name_length=len(name), name_offset=4), code_page, kept
    )
    return judgement_words(found) + ["pass"] * kept[NAME]


test_each_side_of_a_bound_is_judged_as_was_read_through = held(__file__, TABLES)


def test_the_bounds_are_those_that_are_judged():
    assert (winperf_header._FIRST, winperf_header._LAST) == (315_532_800 * 10**9, 7_258_118_400 * 10**9)
