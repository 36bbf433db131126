"""Data answers of which one number, or where something stands, is another: every flaw that is found.

`sweeps/answers-*.txt` hold it, a file a buffer: each flaw with its bytes, what was expected and what was seen, and behind it the
changes that lead to it, with their places. What is read in spite of flaws, `readings/` holds. `tests/written.py` says how to
write them anew.
"""

from collections.abc import Iterator
from pathlib import Path
from struct import pack, pack_into

import pytest

from analyzer.questions.audit import data_answers
from analyzer.questions.audit.data_answers import (
    _MOST_COUNTERS,
    _MOST_REREAD,
    _MOST_ROWS,
    _WAYS,
    DataAnswer,
    FlawKind,
    _Way,
    read_answer,
    rounded,
)
from tests.build.buffers import Block, perf_data
from tests.questions.audit.test_data_rules import COUNTERS, ERROR, INSTANCES, SEVERAL, SINGLE
from tests.written import by_finding, is_as_written

SWEEPS = Path(__file__).with_name("sweeps")
CHANGES = {"-4": -4, "-1": -1, "+1": 1, "+8": 8}
ODD = Block(6, ids=(1, 2, 3), instances=(("a", 0), ("bb", 1), ("", 2)), values=((b"1", b"22222222", b""),) * 3)
BUFFERS = {
    "plain": [SINGLE, COUNTERS, ERROR],
    "instances": [INSTANCES, SINGLE],
    "counterset": [ERROR, SEVERAL],
    "last": [ODD],
}


def told(answer: DataAnswer) -> list[tuple[str, str]]:
    """The flaws of an answer with how many blocks were found, and what was seen."""
    found = []
    for flaw in answer.flaws:
        where = f"{flaw.path.removeprefix('lpData.')} {flaw.span[0]}:{flaw.span[1]} of type {flaw.block_type}"
        found.append((f"{flaw.kind.name} {where}, {len(answer.blocks)} blocks, expected {flaw.expected}", flaw.seen))
    return found


def changed(data: bytes, at: int) -> Iterator[tuple[str, bytes]]:
    value = int.from_bytes(data[at : at + 4], "little")
    for name, by in CHANGES.items():
        yield name, data[:at] + pack("<I", (value + by) & 0xFFFFFFFF) + data[at + 4 :]
    yield "max", data[:at] + b"\xff" * 4 + data[at + 4 :]
    for size in (4, 8):
        more = data[:at] + bytes(size) + data[at:]
        less = data[:at] + data[at + size :]
        for name, other in ((f"{size} more", more), (f"{size} less", less)):
            yield name, other
            # The same where the header counts it.
            yield f"{name} counted", pack("<I", len(other)) + other[4:]


def sweep(data: bytes) -> Iterator[str]:
    assert told(read_answer(data)) == []
    # The clocks of the header are no sizes.
    places = (0, 4, 8, *range(48, len(data), 4))
    changes = ((at, name, read_answer(other)) for at in places for name, other in changed(data, at))
    return by_finding((at, name, *flaw) for at, name, answer in changes for flaw in told(answer))


@pytest.mark.parametrize("buffer", BUFFERS)
def test_what_is_read_of_an_answer_that_was_changed(buffer: str) -> None:
    is_as_written(SWEEPS / f"answers-{buffer}.txt", "".join(sweep(perf_data(BUFFERS[buffer]))))


# ------------------------------------------------------------------------------------------------ what is not tried


def test_how_much_is_read_again() -> None:
    """A block beyond 512 counters or 4096 instances is not searched for one bad row; 4 MiB are read again in all."""
    assert (_MOST_COUNTERS, _MOST_ROWS, _MOST_REREAD) == (512, 4096, 4_194_304)
    assert DataAnswer(b"").rereads == _MOST_REREAD


def test_numbers_are_doubted_one_at_a_time() -> None:
    """Where the counter ids end (4 ways), how many there are (3), the sizes of values and of names: at their word first."""
    assert _WAYS[0] == _Way()
    assert _WAYS[1] == _Way(ids_end=1)
    assert sorted(_WAYS[2:]) == sorted(
        [
            *(_Way(ids_end=end) for end in (2, 3)),
            *(_Way(ids_end=end, counted=counted) for end in (0, 1) for counted in (1, 2)),
            *(_Way(natural_values=True, ids_end=end) for end in (0, 1)),
            *(_Way(natural_names=True, ids_end=end) for end in (0, 1)),
        ]
    )
    assert [way.corrections for way in _WAYS] == [0] * 2 + [1] * (len(_WAYS) - 2)
    other = _Way(True, True, 2, 1, (0, 1))
    assert (other.corrections, other._replace(ids_end=1).corrections, other._replace(other_row=None).corrections) == (
        5,
        4,
        4,
    )


@pytest.mark.parametrize(("size", "up"), [(0, 0), (1, 8), (7, 8), (8, 8), (9, 16)])
def test_sizes_are_rounded_up_to_eight(size: int, up: int) -> None:
    assert rounded(size) == up


def one_row_short(rows: int = 3) -> bytes:
    """A block of three counters whose last instance has two values."""
    value = (b"1", b"2", b"3")
    names = tuple((chr(97 + number), number) for number in range(rows))
    return perf_data([Block(6, ids=(1, 2, 3), instances=names, values=(*(value,) * (rows - 1), value[:2])), SINGLE])


def kinds(data: bytes) -> list[str]:
    return [flaw.kind.name for flaw in read_answer(data).flaws]


@pytest.mark.parametrize(
    ("name", "most", "is_found"),
    [("_MOST_COUNTERS", 3, True), ("_MOST_COUNTERS", 2, False), ("_MOST_ROWS", 4, True), ("_MOST_ROWS", 1, False)],
)
def test_one_bad_row_is_looked_for_within_limits(
    name: str, most: int, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_answers, name, most)
    assert (kinds(one_row_short()) == ["ROW_COUNT"]) is is_found


def test_a_forged_answer_is_read_again_so_far() -> None:
    """Twelve ways in vain, then row after row up to the bad one, then its first other number of values: 16 readings of the block,
    of which the last may go beyond what is left."""
    data = one_row_short()
    size = 16 + 24 + 8 + 2 * (16 + 48) + 16 + 32
    for budget, kind, left in ((15 * size, FlawKind.ROW_COUNT, -size), (15 * size - 1, FlawKind.CONTENT, -1)):
        answer = DataAnswer(data, header=(len(data), 2), rereads=budget)
        block = data_answers._block(answer, 0, 48)
        assert block.stop - block.at == size
        assert [flaw.kind for flaw in answer.flaws] == [kind]
        assert answer.rereads == left
    # What comes out as it stands costs nothing.
    sound = perf_data([SEVERAL])
    answer = DataAnswer(sound, header=(len(sound), 1), rereads=0)
    data_answers._block(answer, 0, 48)
    assert (answer.flaws, answer.rereads) == ([], 0)


def test_a_value_is_counted_with_its_padding() -> None:
    """The rules read values by row and column."""
    answer = read_answer(perf_data([SEVERAL]))
    (block,) = answer.blocks
    assert block.num_values == 6
    assert [list(block.names(answer.data)), [row.instance_id for row in block.rows]] == [["a", "b"], [0, 1]]
    row = block.rows[1]
    assert [row.value(answer.data, column) for column in range(3)] == [b"\1\0\0\0", b"\2" + bytes(7), b"\3\0\0\0"]
    assert [row.value_at(column) - row.begin for column in range(3)] == [8, 24, 40]
    assert block.shapes == [(row.shape, 2)]


def test_answers_of_one_layout_share_it_and_what_was_made_of_it() -> None:
    first, second, broken = perf_data([SINGLE]), perf_data([COUNTERS]), perf_data([SINGLE])[:-1]
    found = [read_answer(data) for data in (first, second, first, second, broken, first)]
    layouts = [answer.layout for answer in found]
    assert layouts[4] is None
    assert layouts[0] is layouts[2] is layouts[5]
    assert layouts[1] is layouts[3] is not layouts[0]
    assert found[5].blocks is found[2].blocks
    assert [answer.data for answer in found[:2]] == [first, second]


def test_flaws_are_found_by_kind_and_type_of_block() -> None:
    data = bytearray(perf_data([SINGLE, COUNTERS]))
    pack_into("<I", data, 0, 5)
    pack_into("<I", data, 48 + 16 + 4, 5)
    answer = read_answer(bytes(data))
    assert [(flaw.kind, flaw.block_type) for flaw in answer.flaws] == [(FlawKind.VALUE_SIZE, 1), (FlawKind.TOTAL, None)]
    assert [flaw.kind for flaw in answer.flaws_of(FlawKind.TOTAL)] == [FlawKind.TOTAL]
    assert answer.flaws_of(FlawKind.VALUE_SIZE, block_types=(2, 4)) == []
    assert len(answer.flaws_of(FlawKind.VALUE_SIZE, FlawKind.TOTAL, block_types=(1,))) == 1
    assert [block.kind for block in answer.of_type(2, 6)] == [2]
