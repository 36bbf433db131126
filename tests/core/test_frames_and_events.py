"""Sets of frame ids, and the problems that errors in bytes amount to."""

import pytest

from analyzer.core.byte_cursor import Cursor
from analyzer.core.errors import DecodeError, InputError, MalformedError, TruncatedError, UnsupportedError
from analyzer.core.events import Problem, kind_of
from analyzer.core.frame_ids import FrameSet, frame_id
from analyzer.core.limits import MemoryBudget
from analyzer.core.traced_bytes import TracedBytes


def test_a_set_of_frames_has_those_that_were_added_and_no_neighbour() -> None:
    frames = FrameSet()
    added = {1, 7, 8, 9, 64, 1000, frame_id(1, 7), frame_id(3, 16)}
    frames.update(sorted(added, reverse=True))
    frames.update([7])
    near = {file << 40 | number for file in range(4) for number in range(1100)}
    assert {frame for frame in near if frame in frames} == added
    assert frames.issuperset(added)
    assert frames.issuperset([])
    assert not frames.issuperset([1, 2])
    assert not FrameSet().issuperset([0])


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TruncatedError("cut"), "truncated"),
        (UnsupportedError("new"), "unsupported"),
        (MalformedError("wrong"), "malformed"),
        (DecodeError("wrong"), "malformed"),
    ],
)
def test_an_error_is_a_problem_of_its_kind_at_the_frames_of_its_bytes(error: DecodeError, kind: str) -> None:
    assert kind_of(error) == kind
    where = TracedBytes.join([TracedBytes.of_frame(b"a", 5), TracedBytes.of_frame(b"b", 3)])
    assert Problem.from_error("rpc", error, where) == Problem(kind, "rpc", (3, 5), str(error))
    assert Problem.from_error("rpc", error, [9, 2]) == Problem(kind, "rpc", (9, 2), str(error))


def test_a_problem_is_of_a_file_where_reading_broke_off_and_not_where_something_is_noted() -> None:
    problems = [Problem(kind, layer, (), "") for layer in ("capture", "rpc") for kind in ("truncated", "note")]
    assert [problem.is_of_file for problem in problems] == [True, False, False, False]


def failing() -> None:
    try:
        raise KeyError("inner")
    except KeyError as inner:
        raise MalformedError("outer") from inner


def test_an_error_that_is_kept_holds_on_to_nothing() -> None:
    with pytest.raises(MalformedError) as caught:
        failing()
    assert isinstance(caught.value.__cause__, KeyError)
    kept = caught.value.alone()
    assert kept is caught.value
    assert (kept.__traceback__, kept.__context__, kept.__cause__) == (None, None, None)


def test_the_hint_of_an_error_of_the_user_is_a_note_of_it() -> None:
    assert InputError("no file").hint is None
    assert not hasattr(InputError("no file"), "__notes__")
    error = InputError("no file", hint="name one")
    assert (str(error), error.hint, error.__notes__) == ("no file", "name one", ["name one"])


def test_a_cursor_reads_to_its_own_end_and_says_what_is_left() -> None:
    cursor = Cursor(b"0123456789", 2, 8)
    assert (cursor.pos, cursor.stop, cursor.left) == (2, 8, 6)
    assert cursor.take_bytes("a", 0) == b""
    assert cursor.take_bytes("a", 1) == b"2"
    cursor.skip("b", 2)
    assert (cursor.pos, cursor.left) == (5, 3)
    for wrong in (4, -1):
        with pytest.raises(TruncatedError, match=rf"c at byte 5: {wrong} bytes wanted, 3 left") as caught:
            cursor.take_bytes("c", wrong)
        assert (caught.value.start, caught.value.stop, cursor.pos) == (5, 8, 5)
    assert cursor.take_bytes("c", 3) == b"567"
    assert cursor.rest() == b""
    assert Cursor(b"0123456789", 4).rest() == b"456789"


def test_a_window_of_a_cursor_opens_up_to_the_end_and_closes_where_it_was_opened() -> None:
    cursor = Cursor(b"0123456789", 2, 8)
    with cursor.window("w", 6):
        assert cursor.rest() == b"234567"
    assert (cursor.pos, cursor.stop) == (8, 8)
    with cursor.window("empty", 0):
        assert cursor.left == 0
    for wrong in (1, -1):
        with (
            pytest.raises(TruncatedError, match=rf"v at byte 8: {wrong} bytes wanted, 0 left") as caught,
            cursor.window("v", wrong),
        ):
            pytest.fail("opened")
        assert (caught.value.start, caught.value.stop) == (8, 8)
    cursor = Cursor(b"0123456789", 2, 8)
    with pytest.raises(MalformedError, match="w at byte 3: 2 bytes left over") as left, cursor.window("w", 3):
        cursor.u8("x")
    assert (left.value.start, left.value.stop, cursor.stop) == (3, 5, 8)


@pytest.mark.parametrize(("start", "size", "base", "after"), [(4, 4, 0, 4), (5, 4, 0, 8), (3, 8, 3, 3), (4, 8, 3, 11)])
def test_a_cursor_moves_to_the_next_multiple_or_stays(start: int, size: int, base: int, after: int) -> None:
    cursor = Cursor(bytes(16), start)
    cursor.align(size, base=base)
    assert cursor.pos == after


def test_a_guid_follows_the_byte_order_of_its_cursor() -> None:
    raw = bytes(range(16))
    assert Cursor(raw).guid("g") == "03020100-0504-0706-0809-0a0b0c0d0e0f"
    assert Cursor(raw, order="big").guid("g") == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert Cursor(raw).u64("n") == 0x0706050403020100
    assert Cursor(raw, order="big").u64("n") == 0x0001020304050607


def test_a_budget_frees_a_quarter_and_not_a_byte_more() -> None:
    budget = MemoryBudget(100)
    for holder in range(10):
        assert budget.holds(holder, 10) == []
    # 101 bytes: what leaves brings it to 75 or fewer, which is when three of ten bytes have left.
    assert budget.holds(10, 1) == [0, 1, 2]
    assert budget.holders == [*range(3, 10), 10]
    assert budget.given_up == 3
    # 71 are held; those without a byte are no help, and stay.
    budget = MemoryBudget(100)
    budget.holds(1, 0)
    budget.holds(2, 26)
    assert budget.holds(3, 75) == [2]
    assert budget.holders == [1, 3]
    assert budget.holds(4, 25) == []
    assert budget.holds(5, 1) == [3]
    assert budget.given_up == 2


# The cursor reads what is there and says where it stopped.


def test_integers_follow_the_byte_order() -> None:
    data = bytes.fromhex("0102 01020304 0102030405060708 ff")
    little, big = Cursor(data), Cursor(data, order="big")
    assert (little.u16("a"), little.u32("b"), little.u64("c"), little.u8("d")) == (
        0x201,
        0x4030201,
        0x807060504030201,
        255,
    )
    assert (big.u16("a"), big.u32("b")) == (0x102, 0x1020304)


def test_reading_past_the_end_names_field_and_place() -> None:
    cursor = Cursor(b"abc")
    cursor.u16("first")
    with pytest.raises(TruncatedError, match=r"second at byte 2: 4 bytes wanted, 1 left"):
        cursor.u32("second")


def test_a_window_confines_and_must_be_used_up() -> None:
    cursor = Cursor(b"abcdef")
    with pytest.raises(TruncatedError), cursor.window("w", 2):
        cursor.u32("too much")
    cursor = Cursor(b"abcdef")
    with pytest.raises(MalformedError, match="1 bytes left over"), cursor.window("w", 3):
        cursor.u16("too little")
    assert cursor.stop == 6
