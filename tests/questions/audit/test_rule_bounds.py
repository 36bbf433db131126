"""Bounds inside of rules, on both sides: dates, sizes and counts that are just possible, and just not."""

from __future__ import annotations

from datetime import UTC, datetime
from struct import pack
from types import SimpleNamespace
from typing import Any

import pytest

from analyzer.questions.audit.data_answers import Block
from analyzer.questions.audit.engine import Audit
from analyzer.questions.audit.identifier_lists import chained
from analyzer.questions.audit.rule import every_rule
from analyzer.questions.audit.rules.clocks import _moment, _place, system_time_implausible
from analyzer.questions.audit.rules.encoding import _FITS, _misplaced
from analyzer.questions.audit.rules.winperf_header import (
    _FIRST,
    _LAST,
    WinperfClockImplausible,
    _clocks_place,
    _dates,
    _objects,
    _system_name,
)
from analyzer.questions.audit.rules.winperf_objects import _counts, _follow, _lengths, _names, _unreadable
from analyzer.questions.audit.verdicts import At, Outcome
from tests.build.buffers import identifier
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, analysis_of
from tests.questions.audit.registered import countersets

# A call of which a rule asks nothing but where its findings are.
ANY: Any = SimpleNamespace(judged_side="response")
EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def ticks_of(moment: datetime) -> int:
    """FILETIME: 100 ns since 1601 ([MS-DTYP] 2.3.3)."""
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 10_000_000 + since.microseconds * 10


def said(judgements: Any) -> list[str]:
    """Of each judgement its outcome, its requirements (of what points anywhere the first), and where it points."""
    return [
        f"{one.outcome.value} {of}" + (f" {one.at.path.removeprefix('lpData.')}" if one.at is not None else "")
        for one in judgements
        for of in (one.requirements[:1] if one.at is not None else one.requirements) or ("-",)
    ]


# ------------------------------------------------------------------------------------------------ clocks of winperf


def clock(moment: datetime, system: datetime | None = None, *, microseconds: int = 0, **changes: int) -> dict[str, Any]:
    shown = system if system is not None else moment
    names = {"year": shown.year, "month": shown.month, "day_of_week": shown.isoweekday() % 7, "day": shown.day}
    more = {
        "hour": shown.hour,
        "minute": shown.minute,
        "second": shown.second,
        "milliseconds": shown.microsecond // 1000,
    }
    return {"perf_time_100ns": ticks_of(moment) + 10 * microseconds, "system_time": {**names, **more, **changes}}


SOUND = ["pass WP-DB-R10", "pass WP-DB-R08"]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (clock(datetime(2024, 3, 5, 12, 34, 56, 789_000, UTC)), SOUND),
        (clock(datetime(1980, 1, 1, tzinfo=UTC)), SOUND),
        (clock(datetime(2199, 12, 31, 23, 59, 59, 999_000, UTC)), SOUND),
        (clock(datetime(2200, 1, 1, tzinfo=UTC)), ["fail WP-DB-R10 perf_time_100ns", "pass WP-DB-R08"]),
        (clock(datetime(1979, 12, 31, 23, 59, 59, tzinfo=UTC)), ["fail WP-DB-R10 perf_time_100ns", "pass WP-DB-R08"]),
        (clock(datetime(2024, 3, 5, tzinfo=UTC), microseconds=1_000_000), SOUND),
        (
            clock(datetime(2024, 3, 5, tzinfo=UTC), microseconds=1_000_001),
            ["pass WP-DB-R10", "warn WP-DB-R08 system_time"],
        ),
        (clock(datetime(2024, 3, 5, tzinfo=UTC), month=13), ["pass WP-DB-R10", "fail WP-DB-R08 system_time.month"]),
        (clock(datetime(2024, 3, 5, tzinfo=UTC), year=2023), ["pass WP-DB-R10", "warn WP-DB-R08 system_time.year"]),
    ],
)
def test_the_clocks_of_a_block_are_of_times_that_can_be_meant(fields: dict[str, Any], found: list[str]) -> None:
    assert (_FIRST, _LAST) == (315_532_800 * 10**9, 7_258_118_400 * 10**9)
    made = said(_dates(ANY, fields))
    assert made[0] == found[0]
    # Which part of the date is to blame is for those who compare dates to say.
    assert [one.split(".")[0] for one in made] == [one.split(".")[0] for one in found]


@pytest.mark.parametrize(
    ("readings", "outcomes"),
    [
        ([(5, 10)], ["pass"]),
        ([(5, 1)], ["pass"]),
        ([(5, 0)], ["fail"]),
        ([(5, -1)], ["fail"]),
        ([(5, 10), (5, 10)], ["pass", "pass"]),
        ([(5, 10), (4, 10)], ["pass", "fail"]),
        # With another frequency the machine was started anew.
        ([(5, 10), (4, 11)], ["pass", "pass"]),
        ([(5, 10), (4, 11), (3, 11)], ["pass", "pass", "fail"]),
        ([(5, 10), (9, 10), (8, 10)], ["pass", "pass", "fail"]),
    ],
)
def test_the_performance_counter_does_not_go_back(
    readings: list[tuple[int, int]], outcomes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = clock(datetime(2024, 3, 5, tzinfo=UTC))
    headers = [{**fields, "perf_time": at, "perf_freq": by} for at, by in readings]
    found = []
    for servers in (["a"] * 9, [str(number) for number in range(9)]):
        pending = iter(headers)
        monkeypatch.setattr(
            "analyzer.questions.audit.rules.winperf_header.header_of", lambda call, given=pending: next(given)
        )
        watch: Any = WinperfClockImplausible.call.watch(None)
        calls = [
            SimpleNamespace(server=server, judged_side="response") for server, _ in zip(servers, headers, strict=False)
        ]
        made = [list(watch.feed(call)) for call in calls]
        assert [one[0].requirement for one in made] == ["WP-DB-R13"] * len(calls)
        found.append([one[-1].outcome.value for one in made])
        assert {one[-1].requirement for one in made} == {"WP-DB-R09"}
        assert list(watch.finish()) == []
    assert found[0] == outcomes
    # Each server has a counter of its own.
    assert found[1] == ["pass" if by > 0 else "fail" for _, by in readings]


# ------------------------------------------------------------------------------------------------ lengths of winperf


def winperf_call(data: bytes) -> Any:
    return SimpleNamespace(reply=SimpleNamespace(data=data), judged_side="response")


@pytest.mark.parametrize(
    ("frequency", "unpadded", "outcome"),
    [
        (10_000_000, 5, "pass"),
        (1, 5, "pass"),
        ((1 << 40) - 1, 5, "pass"),
        # No counter runs at a terahertz: where the bytes 4 earlier make a frequency, the clocks stand there.
        (1 << 40, 5, "fail"),
        (0, 5, "fail"),
        (-1, 1, "fail"),
        (0, (1 << 40) - 1, "fail"),
        (0, 1 << 40, "pass"),
        (0, 0, "pass"),
    ],
)
def test_the_clocks_stand_behind_their_padding(frequency: int, unpadded: int, outcome: str) -> None:
    for mark, little in (("<", 1), (">", 0)):
        data = b"\xee" * 60 + pack(f"{mark}Q", unpadded) + b"\xee" * 20
        block: Any = SimpleNamespace(fields={"perf_freq": frequency, "little_endian": little})
        assert _clocks_place(winperf_call(data), block).outcome.value == outcome


@pytest.mark.parametrize(
    ("start", "length", "outcome"),
    [
        (88, 16, "pass"),
        (87, 16, "fail"),
        (88, 15, "fail"),
        (90, 16, "fail"),
        (90, 14, "pass"),
        (0, 0, "pass"),
        (999, 0, "pass"),
    ],
)
def test_the_name_of_the_system_lies_in_the_header(start: int, length: int, outcome: str) -> None:
    fields = {"system_name_offset": start, "system_name_length": length, "header_length": 104}
    block: Any = SimpleNamespace(fields=fields, header_length=None)
    found = _system_name(ANY, block)
    assert found.outcome.value == outcome
    assert found.seen is None or found.seen == f"bytes {start} to {start + length}"


@pytest.mark.parametrize(
    ("total", "number", "sizes", "size", "found"),
    [
        (200, 1, [100], 200, ["pass WP-DB-R04", "pass WP-DB-R06"]),
        (200, 2, [60, 40], 300, ["pass WP-DB-R04", "pass WP-DB-R06"]),
        (100, 0, [], 100, ["pass WP-DB-R04", "pass WP-DB-R06"]),
        (201, 1, [100], 200, ["fail WP-DB-R04 total_byte_length", "pass WP-DB-R06"]),
        (199, 1, [100], 200, ["fail WP-DB-R04 total_byte_length", "pass WP-DB-R06"]),
        (200, 2, [100], 200, ["pass WP-DB-R04", "fail WP-DB-R06 num_object_types"]),
        (200, 1, [101], 200, ["fail WP-DB-R04 total_byte_length", "fail WP-DB-R06 num_object_types"]),
        # Of an object that begins where the bytes end, nothing was read.
        (200, 1, [100, None], 200, ["pass WP-DB-R04", "pass WP-DB-R06"]),
    ],
)
def test_the_length_and_the_number_of_objects_agree(
    total: int, number: int, sizes: list[int | None], size: int, found: list[str]
) -> None:
    objects = [SimpleNamespace(fields={} if one is None else {"total_byte_length": one}) for one in sizes]
    fields = {"total_byte_length": total, "num_object_types": number, "header_length": 100}
    block: Any = SimpleNamespace(fields=fields, objects=objects, size=size)
    made = list(_objects(ANY, block))
    assert said(made) == found
    assert made[0].expected in (None, f"at most {size}", f"{100 + sum(one or 0 for one in sizes)}")


# ------------------------------------------------------------------------------------------------ objects of winperf


def thing(start: int = 104, **fields: Any) -> Any:
    sizes = {
        "total_byte_length": 300,
        "definition_length": 104,
        "header_length": 64,
        "detail_level": 100,
        "code_page": 0,
    }
    return SimpleNamespace(
        path="lpData.objects[0]",
        start=start,
        fields={**sizes, "counters": [{"byte_length": 40}], **fields},
        instances=(),
    )


@pytest.mark.parametrize(
    ("fields", "size", "outcomes"),
    [
        ({}, 404, ["pass", "pass", "pass"]),
        ({}, 403, ["fail", "pass", "pass"]),
        ({"total_byte_length": 104}, 404, ["pass", "pass", "pass"]),
        ({"total_byte_length": 103}, 404, ["fail", "pass", "pass"]),
        ({"header_length": 63}, 404, ["pass", "fail", "pass"]),
        ({"header_length": 65}, 404, ["pass", "fail", "fail"]),
        ({"definition_length": 103}, 404, ["pass", "pass", "fail"]),
        ({"definition_length": 105}, 404, ["pass", "pass", "pass"]),
        ({"counters": [{}]}, 404, ["pass", "pass", "pass"]),
        ({"counters": [{"byte_length": 40}, {"byte_length": 1}]}, 404, ["pass", "pass", "fail"]),
    ],
)
def test_the_lengths_of_an_object_fit(fields: dict[str, Any], size: int, outcomes: list[str]) -> None:
    made = list(_lengths(ANY, thing(start=104, **fields), size))
    assert [one.requirement for one in made] == ["WP-OT-R01", "WP-OT-R03", "WP-OT-R02"]
    assert [one.outcome.value for one in made] == outcomes


@pytest.mark.parametrize(
    ("fields", "failed"),
    [
        ({"num_instances": -4}, ["WP-OT-R04"]),
        ({"num_instances": -3}, []),
        ({"definition_length": 63}, ["WP-OT-R02"]),
        ({"definition_length": 64}, []),
        ({"header_length": 63}, ["WP-OT-R03"]),
        ({"num_instances": -9, "definition_length": 0, "header_length": 0}, ["WP-OT-R04", "WP-OT-R02", "WP-OT-R03"]),
    ],
)
def test_why_an_object_cannot_be_read(fields: dict[str, int], failed: list[str]) -> None:
    item: Any = SimpleNamespace(path="lpData.objects[0]", fields=fields)
    *made, doubts = _unreadable(ANY, item)
    assert [one.requirement for one in made if one.outcome is Outcome.FAILED] == failed
    assert doubts.outcome is Outcome.INCONCLUSIVE
    assert sorted([*failed, *doubts.requirements]) == [f"WP-OT-R0{number}" for number in range(1, 8)]


@pytest.mark.parametrize(
    ("fields", "outcomes"),
    [
        ({"num_counters": 1, "num_instances": -1}, ["pass", "pass"]),
        ({"num_counters": 2, "num_instances": -1}, ["fail", "pass"]),
        ({"num_counters": 0, "num_instances": -1}, ["fail", "pass"]),
        ({"num_counters": 1, "num_instances": -2, "total_byte_length": 104}, ["pass", "pass"]),
        ({"num_counters": 1, "num_instances": -3, "total_byte_length": 103}, ["pass", "pass"]),
        ({"num_counters": 1, "num_instances": -2, "total_byte_length": 105}, ["pass", "warn"]),
        ({"num_counters": 1, "num_instances": 1, "instances": [{"counter_block": {}}, {}]}, ["pass", "pass"]),
        ({"num_counters": 1, "num_instances": 2, "instances": [{"counter_block": {}}, {}]}, ["pass", "fail"]),
    ],
)
def test_as_many_counters_and_instances_as_are_stated(
    fields: dict[str, Any], outcomes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzer.questions.audit.rules.winperf_objects._follow", lambda *_: 0)
    made = list(_counts(ANY, thing(**fields), None))  # type: ignore[arg-type]
    assert [one.requirement for one in made] == ["WP-OT-R06", "WP-OT-R04"]
    assert [one.outcome.value for one in made] == outcomes


def instance(length: int, values: int, mark: str = "<") -> bytes:
    return pack(f"{mark}I", length) + bytes(length - 4) + pack(f"{mark}I", values) + bytes(max(0, values - 4))


@pytest.mark.parametrize(
    ("behind", "found"),
    [
        (b"", 0),
        (instance(24, 4), 1),
        (instance(24, 8) + instance(40, 16), 2),
        (instance(24, 8) + b"\0", 0),
        (instance(23, 8), 0),
        (instance(24, 3) + bytes(1), 0),
        (instance(24, 8)[:-1], 0),
    ],
)
@pytest.mark.parametrize("mark", ["<", ">"])
def test_instances_behind_the_last_one_that_is_counted(behind: bytes, found: int, mark: str) -> None:
    """An instance of 24 bytes and more, and a counter block of 4 and more, up to the end of the object."""
    if mark == ">":
        behind = b"".join(behind[at : at + 4][::-1] for at in range(0, len(behind), 4))
    data = bytes(204) + behind
    block: Any = SimpleNamespace(fields={"little_endian": mark == "<"})
    assert (
        _follow(winperf_call(data + b"more"), thing(total_byte_length=100 + len(behind), definition_length=100), block)
        == found
    )


@pytest.mark.parametrize(
    ("fields", "outcomes"),
    [
        ({}, ["pass", "pass"]),
        ({"instances": [{"definition": {"name": "a"}}, {"definition": None}, {}]}, ["pass", "pass"]),
        ({"instances": [{"definition": {"name": "a"}}, {"definition": {"name": "\ufffd"}}]}, ["fail", "pass"]),
        *(({"detail_level": level}, ["pass", "pass"]) for level in (100, 200, 300, 400)),
        *(({"detail_level": level}, ["pass", "warn"]) for level in (0, 99, 101, 199, 299, 399, 401)),
    ],
)
def test_names_and_details_of_an_object(fields: dict[str, Any], outcomes: list[str]) -> None:
    made = list(_names(ANY, thing(**fields)))
    assert [one.requirement for one in made] == ["WP-OT-R05", "WP-OT-R07"]
    assert [one.outcome.value for one in made] == outcomes


# ------------------------------------------------------------------------------------------------ orders of bytes


def u4(*numbers: int) -> bytes:
    return pack(f"<{len(numbers)}I", *numbers)


@pytest.mark.parametrize(
    ("kind", "data", "fits"),
    [
        ("instances", u4(8, 0), True),
        ("instances", u4(8, 0, 12, 0, 0), True),
        ("instances", u4(7, 0), False),
        ("instances", u4(9, 0), False),
        ("instances", u4(8, 0, 8), False),
        ("identifiers", bytes(20) + u4(40) + bytes(16), True),
        ("identifiers", bytes(20) + u4(44) + bytes(20), True),
        ("identifiers", bytes(20) + u4(39) + bytes(16), False),
        ("identifiers", bytes(20) + u4(44) + bytes(16), False),
        ("counterset-info", bytes(24) + u4(0, 0), True),
        ("counterset-info", bytes(24) + u4(1, 0) + bytes(48), True),
        ("counterset-info", bytes(24) + u4(1, 0) + bytes(47), False),
        ("counterset-info", bytes(24) + u4(2, 0) + bytes(48), False),
        ("counter-info", bytes(16) + u4(100), True),
        ("counter-info", bytes(16) + u4(200), True),
        ("counter-info", bytes(16) + u4(101), False),
        ("counter-info", bytes(16) + u4(300), False),
        ("string-table", u4(0, 0), True),
        ("string-table", u4(0, 1, 0, 0), True),
        ("string-table", u4(0, 1, 0), False),
        ("perf-data", u4(48, 999) + bytes(40), True),
        ("perf-data", u4(47, 0) + bytes(40), True),
        ("perf-data", u4(48, 0) + bytes(39), False),
        ("perf-data", u4(0, 1) + bytes(40) + bytes(8) + u4(16, 0), True),
        ("perf-data", u4(0, 4) + bytes(40) + bytes(8) + u4(16, 0), True),
        ("perf-data", u4(0, 5) + bytes(40) + bytes(8) + u4(16, 0), False),
        ("perf-data", u4(0, 1) + bytes(40) + bytes(8) + u4(15, 0), False),
        ("perf-data", u4(0, 1) + bytes(40) + bytes(8) + u4(17, 0), False),
    ],
)
def test_numbers_make_sense_in_an_order_of_bytes(kind: str, data: bytes, fits: bool) -> None:
    look = _FITS[kind][0]
    assert look(data, "little") is fits
    turned = b"".join(data[at : at + 4][::-1] for at in range(0, len(data) - 3, 4)) + data[len(data) & ~3 :]
    assert look(turned, "big") is fits


def test_the_first_size_or_count_is_what_shows_the_order() -> None:
    places = {kind: (path, at) for kind, (_, path, at) in _FITS.items()}
    assert places == {
        "perf-data": ("total_size", 0),
        "identifiers": ("identifiers[0].size", 20),
        "instances": ("instances[0].size", 0),
        "counterset-info": ("num_counters", 24),
        "counter-info": ("counter.detail_level", 16),
        "string-table": ("num_counters", 4),
    }


# ------------------------------------------------------------------------------------------------ structures and dates


def test_structures_begin_at_multiples_of_eight() -> None:
    cause = Block(number=0, at=48, status=0, kind=1, size=36, reserved=0, stop=84)
    found = _misplaced([("a", 0), ("b", 8), ("c", 12), ("d", 84)], {"d": cause, "b": cause})
    assert [tuple(one) for one in found] == [
        ("c", (12, 20), "a multiple of 8", "offset 12"),
        ("lpData.blocks[0].size", (56, 60), "a multiple of 8", "36, so that the next begins at 84"),
    ]
    assert list(chained(u4(8, 0) + u4(12, 0, 0) + u4(8, 0), 0, 8)) == [(0, 8), (8, 12), (20, 8)]
    assert list(chained(u4(8, 0) + u4(7, 0), 0, 8)) == [(0, 8), (8, 7)]
    assert list(chained(u4(8, 0) + u4(8), 0, 8)) == [(0, 8)]


def data_answer(
    moment: datetime, *, shift: float = 0, captured: float | None = None, date: tuple[int, ...] = ()
) -> list[str]:
    """What is said of an answer of a moment, whose date is `shift` seconds later, captured `captured` seconds after it."""
    seconds = (ticks_of(moment) - 116_444_736_000_000_000) / 10_000_000
    later = datetime.fromtimestamp(seconds + shift, UTC)
    shown = (later.year, later.month, later.isoweekday() % 7, later.day, later.hour, later.minute, later.second)
    header = (0, 0, 0, ticks_of(moment), 0, *(date or (*shown, later.microsecond // 1000)))
    side = SimpleNamespace(last_time_ns=int((seconds + (captured or 0)) * 1e9))
    reply = SimpleNamespace(side=side, is_readable=True, answer=SimpleNamespace(header=header))
    look: Any = system_time_implausible.call
    return said(look.check(SimpleNamespace(reply=reply, judged_side="response")))


OK = ["pass PCQ-2.2.4.7-R05", "pass PCQ-2.2.4.7-R08", "pass PCQ-2.2.4.7-R09"]
NOON = datetime(2024, 3, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (data_answer(NOON), OK),
        (data_answer(datetime(2000, 1, 1, tzinfo=UTC)), OK),
        (data_answer(datetime(2100, 12, 31, 23, 59, 59, tzinfo=UTC)), OK),
        (data_answer(datetime(2101, 1, 1, tzinfo=UTC)), ["fail PCQ-2.2.4.7-R05 perf_time_100ns", OK[1]]),
        (data_answer(datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC)), ["fail PCQ-2.2.4.7-R05 perf_time_100ns", OK[1]]),
        (data_answer(NOON, captured=86_399), OK),
        (data_answer(NOON, captured=-86_399), OK),
        (data_answer(NOON, captured=86_402), ["inconclusive PCQ-2.2.4.7-R05", *OK[1:]]),
        (data_answer(NOON, captured=-86_402), ["inconclusive PCQ-2.2.4.7-R05", *OK[1:]]),
        (data_answer(NOON, shift=1), OK),
        (data_answer(NOON, shift=-1), OK),
        (data_answer(NOON, shift=1.5), [*OK[:2], "warn PCQ-2.2.4.7-R09 system_time.second"]),
        (data_answer(NOON, date=(2024, 13, 2, 5, 12, 0, 0, 0)), [OK[0], "fail PCQ-2.2.4.7-R08 system_time.month"]),
        (data_answer(NOON, date=(2024, 3, 3, 5, 12, 0, 0, 0)), [OK[0], "fail PCQ-2.2.4.7-R08 system_time.day_of_week"]),
    ],
)
def test_a_system_time_is_of_this_century_and_the_date_beside_it_the_same(
    found: list[str], expected: list[str]
) -> None:
    assert found == expected


def test_where_a_part_of_a_date_stands() -> None:
    """SYSTEMTIME has eight numbers of two bytes ([MS-DTYP] 2.3.13), at 32 of the header."""
    names = ("year", "month", "day_of_week", "day", "hour", "minute", "second", "milliseconds")
    for number, name in enumerate(names):
        assert _place(name) == At("response", f"lpData.system_time.{name}", (32 + 2 * number, 34 + 2 * number))
    assert _place(None) == At("response", "lpData.system_time", (32, 48))
    assert _moment((2024, 3, 2, 5, 12, 34, 56, 789)) == datetime(2024, 3, 5, 12, 34, 56, 789_000, UTC)
    assert _moment((2024, 3, 3, 5, 12, 34, 56, 789)) is None
    # A Sunday is 0.
    assert _moment((2024, 3, 0, 3, 0, 0, 0, 0)) == datetime(2024, 3, 3, tzinfo=UTC)


# ------------------------------------------------------------------------------------------------ identifiers


def test_names_of_counters_without_instances_are_counted() -> None:
    """Of three such identifiers one has a name; an empty name is neither kept nor broken."""
    registered = countersets({COUNTERSET: (2, {1: 0x10000}), OTHER_COUNTERSET: (0, {1: 0x10000})})
    listed = [*[identifier(OTHER_COUNTERSET)] * 2, *(identifier(OTHER_COUNTERSET, name=name) for name in ("a", ""))]
    info = Calls(first_frame=90).counter_info(b"".join([*listed, identifier(COUNTERSET, name="a")]))
    (rule,) = (rule for rule in every_rule() if rule.code == "PCQ412")
    audit = Audit(analysis_of(*registered, info), rules=[rule])
    assert len(list(audit.findings())) == 1
    assert audit.coverage["PL-QCD-R11"].counts[Outcome.PASSED] == 2
