"""Counter paths: wildcards, case, every name a series goes by, machines by name, and near misses."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.errors import InputError
from analyzer.interfaces.call_contents.machine_names import machine_names
from analyzer.questions.series.counter_paths import selection_of, wildcard
from analyzer.questions.series.counter_records import buckets, counter_records, interval_of
from analyzer.questions.series.reading_batches import readings
from analyzer.results.analysis import Analysis
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, name_table, string_table, wide
from tests.build.calls import COUNTERSET
from tests.build.counters import NONE, Info, Reader, Watch, large
from tests.records import plains

BULK = 0x10410500


def named() -> Watch:
    """A set with English and German names, and instances of which one has parentheses in its name."""
    watch = Watch((Info(5, BULK),))
    watch.events += [
        watch.make.registration(9, wide("Processor (kernel)")),
        watch.make.registration(3, wide("Prozessor"), lcid=0x407),
        watch.make.registration(10, string_table([(5, "% Time")], from_start=True)),
        watch.make.registration(5, string_table([(5, "% Zeit")], from_start=True), lcid=0x407),
    ]
    watch.open(identifier(COUNTERSET, counter=5, instance=NONE, index=0, name="*"))
    for value in (0, 10):
        watch.poll(Block(4, instances=(("_Total", 1), ("disk (0)", 2)), values=(large(value), large(value))))
    return watch


def matching(analysis: Analysis, *patterns: str) -> list[str]:
    selection = selection_of(patterns, lambda: machine_names(analysis))
    return list(dict.fromkeys(record.path for record in counter_records(analysis, selection)))


TOTAL = "\\\\10.0.0.1\\Processor (kernel)(_Total)\\% Time"
DISK = "\\\\10.0.0.1\\Processor (kernel)(disk (0))\\% Time"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\Processor (kernel)(_Total)\% Time", [TOTAL]),
        (r"\processor (KERNEL)(_total)\% time", [TOTAL]),
        (r"Processor (kernel)(_Total)\% Time", [TOTAL]),
        (r"\Processor*(*)\*", [TOTAL, DISK]),
        (r"\Processor (kernel)(disk (?))\% Time", [DISK]),
        (r"\Prozessor(_Total)\% Zeit", [TOTAL]),
        (r"\Prozessor(_Total)\% Time", [TOTAL]),
        (rf"\{COUNTERSET}(_Total)\5", [TOTAL]),
        (rf"\{{{COUNTERSET.upper()}}}(_Total)\counter 5", [TOTAL]),
        (r"\\10.0.0.1\Processor (kernel)(_Total)\% Time", [TOTAL]),
        (r"\\SRV1\Processor (kernel)(_Total)\% Time", [TOTAL]),
        (r"\\*\Processor (kernel)(_Total)\% Time", [TOTAL]),
        (r"\\10.0.0.9\Processor (kernel)(_Total)\% Time", []),
        (r"\Processor (kernel)\% Time", []),
        (r"\Processor .kernel.(_Total)\% Time", []),
        (r"\*", [TOTAL, DISK]),
    ],
)
def test_a_path_means_the_series_it_names(pattern: str, expected: list[str]) -> None:
    assert matching(named().analysis, pattern) == expected


def test_several_paths_add_up() -> None:
    assert matching(named().analysis, r"\*(_Total)\*", r"\*(disk*)\*") == [TOTAL, DISK]


def test_a_path_that_means_nothing_is_reported_with_what_is_near() -> None:
    analysis = named().analysis
    paths = [r"\\srv1\Processr (kernel)(_Total)\% Time", r"\Processor*(_Total)\*"]
    selection = selection_of(paths, lambda: machine_names(analysis))
    assert len(list(counter_records(analysis, selection))) == 2
    assert list(selection.unmatched()) == [
        (r"\\srv1\Processr (kernel)(_Total)\% Time", [TOTAL.removeprefix("\\\\10.0.0.1"), DISK.removeprefix("\\\\10.0.0.1")])
    ]  # fmt: skip


def test_winperf_goes_by_indices_and_by_any_language() -> None:
    reader = Reader().read(PerfObject(230, (Counter(6, 0x00010000, 4),), (Instance("a", -1, (0, 0), (1,)),)))
    reader.events.append(
        reader.make.query_value("Counter 009", name_table([("230", "Process"), ("6", "% Processor Time")]))
    )
    reader.events.append(
        reader.make.query_value("Counter 007", name_table([("230", "Prozess"), ("6", "Prozessorzeit (%)")]))
    )
    for pattern in (
        r"\Process(a)\% Processor Time",
        r"\Prozess(a)\Prozessorzeit (%)",
        r"\230(a)\6",
        r"\object 230(*)\*",
    ):
        assert matching(reader.analysis, pattern) == ["\\\\10.0.0.1\\Process(a)\\% Processor Time"], pattern


# ------------------------------------------------------------------------------------------------ intervals


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5s", 5_000_000_000),
        ("500ms", 500_000_000),
        ("1.5m", 90_000_000_000),
        ("2h", 7_200_000_000_000),
        ("1 D", 86_400_000_000_000),
        ("3", 3_000_000_000),
    ],
)
def test_intervals_as_people_write_them(text: str, expected: int) -> None:
    assert interval_of(text) == expected


@pytest.mark.parametrize("text", ["", "0s", "-1s", "5 parsecs", "1e9s", "999999999d", "0.0000000001s"])
def test_what_is_no_interval_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        interval_of(text)


def test_buckets_hold_what_was_read_and_no_more() -> None:
    watch = Watch((Info(5, BULK),)).open(identifier(COUNTERSET, counter=5, instance=NONE, index=0, name="*"))
    for value in (0, 10, 30):
        watch.poll(Block(4, instances=(("a", 1),), values=(large(value),)))
    watch.make.frame += 1000  # a second without any traffic
    watch.poll(Block(4, instances=(("a", 1),), values=(large(70),)))
    found = list(buckets(readings(watch.analysis), 100_000_000))
    assert [(bucket.readings, bucket.values, bucket.last, bucket.mean) for bucket in found] == [
        (3, 2, 20, 15),
        (1, 1, 40, 40),
    ]
    assert (found[1].start_ns - found[0].start_ns) % 100_000_000 == 0
    assert found[1].start_ns - found[0].start_ns > 900_000_000
    records = list(plains(counter_records(watch.analysis, selection_of((), dict), 100_000_000)))
    assert [record["value"] for record in records] == [15.0, 40.0]
    assert [(record["minimum"], record["maximum"]) for record in records] == [(10, 20), (40, 40)]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(0, 400)), max_size=12), st.integers(1, 300))
def test_buckets_lose_nothing_and_invent_nothing(steps: list[tuple[int, int]], width_ms: int) -> None:
    """Each reading is in one bucket, that of its time; no bucket is empty; the mean lies between the extremes."""
    watch = Watch((Info(5, BULK),)).open(identifier(COUNTERSET, counter=5, instance=NONE, index=0, name="*"))
    value = 0
    for grown, waited_ms in steps:
        value += grown
        watch.make.frame += waited_ms
        watch.poll(Block(4, instances=(("a", 1), ("b", 2)), values=(large(value), large(2 * value))))
    taken = watch.points()
    found = list(buckets(readings(watch.analysis), width_ms * 1_000_000))
    assert sum(bucket.readings for bucket in found) == len(taken)
    assert len({(bucket.series.number, bucket.start_ns) for bucket in found}) == len(found)
    for bucket in found:
        inside = [
            point.formatted.value
            for point in taken
            if point.series.number == bucket.series.number
            and 0 <= point.time_ns - bucket.start_ns < width_ms * 1_000_000
        ]
        values = [one for one in inside if one is not None]
        assert (bucket.readings, bucket.values) == (len(inside), len(values))
        if not values:
            assert (bucket.mean, bucket.last) == (None, None)
            continue
        assert (bucket.last, bucket.minimum, bucket.maximum) == (values[-1], min(values), max(values))
        assert bucket.mean == pytest.approx(float(sum(values) / len(values)))


def test_names_of_a_capture_cannot_make_a_wildcard_go_back() -> None:
    # Every part of a pattern is looked for once: to try all places of each would take more steps than there is time.
    watch = Watch((Info(5, BULK),))
    watch.events += [watch.make.registration(9, wide("Set"))]
    watch.open(identifier(COUNTERSET, counter=5, instance=NONE, index=0, name="*"))
    watch.poll(Block(4, instances=(("a" * 16_000, 1),), values=(large(1),)))
    assert matching(watch.analysis, "\\" + "*a" * 12 + "*b*") == []
    assert len(matching(watch.analysis, "\\Set(" + "*a" * 12 + ")\\*")) == 1
    selection = selection_of(["\\Set(" + "a" * 9_000 + "b)\\counter 5"], lambda: machine_names(watch.analysis))
    assert list(counter_records(watch.analysis, selection)) == []
    assert [len(near) for _, near in selection.unmatched()] == [1]


@given(st.text("abA", max_size=12), st.text("ab*?", max_size=8))
def test_wildcards_mean_what_they_mean_to_the_shell(name: str, pattern: str) -> None:
    assert (wildcard(pattern).fullmatch(name) is not None) == fnmatchcase(name.lower(), pattern)
