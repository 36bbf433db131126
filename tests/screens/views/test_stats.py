"""`stats` as records and as text, on every capture."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.frame_ids import frame_id
from analyzer.questions.statistics.who_looked_at_what import ActivityFindings, omissions
from analyzer.results.analysis import Analysis
from analyzer.results.records.statistics import ActivityRecord, ErrorStatsRecord, ImageRecord, Who
from analyzer.screens.views import stats
from analyzer.screens.views.stats import (
    _SHOWN_CALLS,
    _SHOWN_NAME,
    _activity_words,
    _calls,
    _columns,
    _error_lines,
    _image_lines,
    _short,
    _span,
    counted,
    duration,
)
from tests.build.calls import Calls, analysis_of
from tests.records import record_of
from tests.written import Tables, held, is_as_written

TABLES = Tables()


@TABLES.of(
    None, *("0", "999", "1_500", "12_345_678", "999_960_000", "123_456_789_012", "-2_000_000", "98_765_432_100_000")
)
def durations_have_four_digits(time_ns):
    return duration(time_ns and int(time_ns))


def test_a_name_and_a_list_of_calls_are_short() -> None:
    """A table of processes keeps to a hundred columns; of calls and sessions, half a dozen leads to the others."""
    assert (_SHOWN_NAME, _SHOWN_CALLS) == (40, 6)


@TABLES.of(
    *(([3], 1), ([3, 3, 4], 3), ([1, 2, 3, 4, 5, 6], 6), ([1, 2, 3, 4, 5, 6, 7], 7), ([1, 2, 3, 4, 5, 6], 7)),
    # The same call seven times is one call, of which there are no more.
    *(([1] * 7, 7), ([1] * 7, 2)),
)
def calls_are_named_and_counted(calls, count):
    return _calls(calls, count)


@TABLES.of(
    *((["000000000000001d"],), [f"{number:016x}" for number in range(6)]),
    [f"{number:016x}" for number in range(8)],
)
def sessions_are_named_and_counted(sessions):
    return _short(sessions)


def test_numbers_agree_with_their_nouns() -> None:
    assert [counted(number, "call") for number in (0, 1, 2, 1200)] == ["0 calls", "1 call", "2 calls", "1,200 calls"]


def test_a_moment_is_one_time() -> None:
    assert _span(0, 0) == "1970-01-01T00:00:00.000000Z"
    assert _span(0, 1_000) == "1970-01-01T00:00:00.000000Z to 1970-01-01T00:00:00.000001Z"


def test_columns_are_as_wide_as_their_widest() -> None:
    rows = [("", "one", "two"), ("日本", "1", "12345"), ("abc", "", "")]
    assert list(_columns(rows, 1)) == ["        one    two", "  日本    1  12345", "  abc"]
    assert list(_columns(rows, 2)) == ["        one    two", "  日本  1    12345", "  abc"]


def error(**changes: Any) -> ErrorStatsRecord:
    facts = {"kind": "return", "code": 5, "interface": "PerflibV2", "method": "PerflibV2OpenQueryHandle"}
    return record_of(ErrorStatsRecord, **facts | {"count": 12, "total": 12, "call_numbers": (7,)} | changes)


def errors(*found: ErrorStatsRecord) -> list[tuple[str, str | None]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stats, "error_stats", lambda analysis: found)
        return list(_error_lines(analysis_of()))


def activity(**changes: Any) -> ActivityRecord:
    facts = {"kind": "poll", "who": Who(None, "10.0.0.2", "10.0.0.1"), "target": 230, "count": 1, "with_data": 1}
    return record_of(ActivityRecord, **facts | {"call_numbers": (1,), "frames": (1,)} | changes)


def image(name: str, **changes: Any) -> ImageRecord:
    facts = {"server_ip": "10.0.0.1", "target": "5a8d", "name": name, "pid": 7, "calls": 1, "frames": (11, 12)}
    return record_of(ImageRecord, **facts | {"first_call": 2, "last_call": 2, "last_time_ns": 1_000} | changes)


def images(
    analysis: Analysis, *found: ImageRecord, forgotten: int = 0, width: int | None = None
) -> list[tuple[str, str | None]]:
    return list(_image_lines(found, omissions(ActivityFindings((), (), forgotten)), analysis, width))


def of_errors() -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    once: dict[str, Any] = {"count": 1, "total": 1}
    yield "an error without a name", errors(error())
    yield "an error with a name", errors(error(name="ERROR_ACCESS_DENIED", **once))
    yield "a fault", errors(error(kind="fault", code=0x1C, **once))
    yield "a counter that is refused", errors(error(kind="counter", **once))
    yield "a method of another interface", errors(error(interface="winreg", method="PerflibV2x", **once))
    opened, closed = error(count=300, total=301), error(count=1, total=301, method="PerflibV2CloseQueryHandle")
    yield "an error of several methods", errors(opened, closed, error(kind="fault", **once))


def of_activities() -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    refused = {"with_data": 0, "without_data": {"ERROR_ACCESS_DENIED": 1}}
    sealed = {"count": 3, "with_data": 0, "without_data": {"sealed": 2, "empty answer": 1}}
    for number, changes in enumerate((
        {}, {"name": "Process"}, {"target": "5a8d", "count": 2},
        {"count": 3, "without_data": {"no answer": 1}, "with_data": 2},
        {"name": "Process", "target": "5a8d", **refused},
        {"kind": "list-instances", **sealed},
        {"kind": "describe-counterset", "name": "Process"},
        {"kind": "list-instances", "name": "Process"},
        {"kind": "read-names", "target": None, "detail": "help texts"},
        {"target": None, "detail": "something"},
        {"kind": "list-countersets", "target": None},
        {"kind": "list-countersets", "target": None, "detail": "12 of them"},
    )):  # fmt: skip
        yield f"activity {number}: {changes}", [(_activity_words(activity(**changes)), None)]


def of_images() -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    numbered = image("a" * 40, pid=None, instance_id=5, calls=2, first_call=2, last_call=4, frames=(11, 17))
    found = image("b", server_ip="10.0.0.2"), image("a", instance_id=5), numbered, image("a" * 41, pid=None)
    yield "processes are listed by server with what numbers them", images(analysis_of(), *found, forgotten=3)
    yield "on a narrow terminal processes have fewer columns", images(analysis_of(), image("a" * 40), width=80)
    calls = [Calls(first_frame=frame_id(*at)).close_query() for at in ((0, 5), (0, 7), (1, 3), (1, 5))]
    for files in (("a.pcap", "b.pcap"), ("a.pcap",)):
        seen = image("a", first_call=2, last_call=3, calls=2)
        yield f"the first and the last frame of {len(files)} files", images(analysis_of(*calls, files=files), seen)


def test_all_lines_are_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    found = chain(of_errors(), of_activities(), of_images())
    told = (f"{name}\n" + "".join(f"  {style or 'plain'}: {line}\n" for line, style in lines) for name, lines in found)
    is_as_written(Path(__file__).parent / "texts" / "stats.txt", "".join(told))


test_durations_and_lists_are_as_they_were_read_through = held(__file__, TABLES)
