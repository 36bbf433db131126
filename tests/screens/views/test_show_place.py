"""`show --field`: rows of bytes around a place, cut where the part ends or the place is long, and what is no place."""

from __future__ import annotations

import pytest
from rich.text import Text

from analyzer.core.errors import InputError
from analyzer.core.traced_bytes import TracedBytes
from analyzer.questions.audit.call_evidence import Place
from analyzer.screens.views.show_place import _AROUND, _ROW, ShowPlace, _dump
from tests.build.calls import Calls, analysis_of


def dump(start: int, stop: int, size: int) -> list[str]:
    data = TracedBytes.of_frame(bytes(at % 256 for at in range(size)), 1)
    return list(_dump(Place("response stub", start, stop, data)))


def row(at: int, size: int = 16) -> str:
    return f"  {at:06x}  " + " ".join(f"{(at + one) % 256:02x}" for one in range(size))


def test_rows_are_of_sixteen_with_two_before_and_behind() -> None:
    assert (_ROW, _AROUND) == (16, 32)


def test_a_place_in_the_middle_has_two_rows_on_both_sides() -> None:
    marked = "  000040  40 41 42<[bold]43[/] [bold]44[/]>45 46 47 48 49 4a 4b 4c 4d 4e 4f"
    assert dump(0x43, 0x45, 0x200) == [row(0x20), row(0x30), marked, row(0x50), row(0x60)]
    assert dump(0x43, 0x45, 0x46) == [row(0x20), row(0x30), marked[: marked.index(" 46")]]


def test_a_place_that_ends_its_row_or_begins_one() -> None:
    lines = [Text.from_markup(line).plain for line in dump(0x0F, 0x11, 0x20)]
    assert lines == [
        "  000000  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e<0f>",
        "  000010 <10>11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f",
    ]
    one = [Text.from_markup(line).plain for line in dump(0, 1, 3)]
    assert one == ["  000000 <00>01 02"]
    last = [Text.from_markup(line).plain for line in dump(2, 3, 3)]
    assert last == ["  000000  00 01<02>"]


@pytest.mark.parametrize(
    ("stop", "rows", "more"), [(0x80, 8, []), (0x81, 8, ["  … 1 bytes more of it"]), (0x7F, 8, [])]
)
def test_of_a_long_place_eight_rows_are_shown(stop: int, rows: int, more: list[str]) -> None:
    lines = dump(0, stop, 0x200)
    assert lines[rows:] == more
    assert [line[2:8] for line in lines[:rows]] == [f"{at:06x}" for at in range(0, 16 * rows, 16)]
    assert all("bold" in line for line in lines[:rows])


def test_a_place_up_to_the_end_has_nothing_more() -> None:
    assert [line[:8] for line in dump(0x10, 0x30, 0x30)] == ["  000000", "  000010", "  000020"]


def test_a_place_near_the_beginning_starts_there() -> None:
    for start, first in ((0x1F, 0), (0x20, 0), (0x2F, 0), (0x30, 0x10), (0x3F, 0x10), (0x40, 0x20)):
        assert dump(start, start + 1, 0x100)[0][:8] == f"  {first:06x}", start


def test_lines_of_a_place_fold() -> None:
    analysis = analysis_of(Calls().open_query())
    view = ShowPlace(analysis, 1, "response.status")
    whole = [Text.from_markup(line).plain for line in view.lines(None)]
    at = whole.index("")
    assert whole[at + 1 :][:4] == [
        "response.status: bytes 20 to 24 of the response stub (24 bytes)",
        "  (return value) = 0 (ERROR_SUCCESS)",
        "  frame 2, bytes 144 to 148",
        "",
    ]
    folded = [Text.from_markup(line).plain for line in view.lines(24)]
    at = folded.index("")
    assert folded[at + 1 :][:8] == [
        "response.status: bytes",
        "    20 to 24 of the",
        "    response stub (24",
        "    bytes)",
        "  (return value) = 0",
        "    (ERROR_SUCCESS)",
        "  frame 2, bytes 144 to",
        "    148",
    ]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("dwStatus", "dwStatus is no field: the name of a field begins with request or response"),
        ("", " is no field"),
        ("answer.dwStatus", "answer.dwStatus is no field"),
        ("response.pdu9.0:4", "call 1 has no response.pdu9.0:4, or it was not captured or not opened"),
    ],
)
def test_what_is_no_place_is_said(path: str, reason: str) -> None:
    view = ShowPlace(analysis_of(Calls().open_query()), 1, path)
    with pytest.raises(InputError) as raised:
        list(view.records())
    assert str(raised.value).startswith(reason)


def test_sides_are_not_mixed_up() -> None:
    analysis = analysis_of(Calls().open_query())
    (asked,) = ShowPlace(analysis, 1, "request").records()
    (answered,) = ShowPlace(analysis, 1, "response").records()
    assert (asked.part, answered.part) == ("request stub", "response stub")
    assert (asked.value, asked.meaning, asked.extents[0].frames) == (None, None, (1,))
    assert answered.extents[0].frames == (2,)
