"""`show --field`: rows of bytes around a place, cut where the part ends or the place is long, and what is no place."""

from pathlib import Path

import pytest
from rich.text import Text

from analyzer.core.errors import InputError
from analyzer.core.traced_bytes import TracedBytes
from analyzer.questions.audit.call_evidence import Place
from analyzer.screens.views.show import _AROUND, _ROW, ShowPlace, _dump
from tests.build.calls import Calls, analysis_of
from tests.written import differing, is_as_written


def test_rows_are_of_sixteen_with_two_before_and_behind() -> None:
    assert (_ROW, _AROUND) == (16, 32)


def dump(start: int, stop: int, size: int) -> str:
    data = TracedBytes.of_frame(bytes(at % 256 for at in range(size)), 1)
    return "\n".join(_dump(Place("response stub", start, stop, data)))


# In the middle, to the end or nearly, at the end of a row and the beginning of one, alone, up to eight rows and more, and near
# the beginning.
PLACES = (
    *((0x43, 0x45, 0x200), (0x43, 0x45, 0x46), (0x0F, 0x11, 0x20), (0, 1, 3), (2, 3, 3), (0x10, 0x30, 0x30)),
    *((0, stop, 0x200) for stop in (0x80, 0x81)),
    *((start, start + 1, start + 2) for start in (0x1F, 0x20, 0x2F, 0x30, 0x3F, 0x40)),
)


def test_rows_around_a_place_mark_its_bytes() -> None:
    dumps = {f"{start:#x} to {stop:#x} of {size:#x}": dump(start, stop, size) for start, stop, size in PLACES}
    is_as_written(Path(__file__).parent / "texts" / "places.txt", differing(dumps))


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
