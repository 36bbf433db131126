"""Every number of a data answer changed by itself: it is the one flaw, where it stands, with what it should be."""

from collections.abc import Iterator
from struct import pack_into, unpack_from

import pytest

from analyzer.interfaces.buffers.struct_layouts import DATA_HEADER
from analyzer.questions.audit.data_answers import FlawKind, read_answer
from tests.build.buffers import Block, perf_data

ROW = (b"\1\0\0\0", bytes(8), b"\3\0\0\0", b"\4\0\0\0")
SOUND = perf_data(
    [
        Block(1, values=(ROW[:1],)),
        Block(2, ids=(1, 2, 3, 4), values=(ROW,)),
        Block(4, instances=(("a", 0), ("bcd", 1)), values=(ROW[:1],) * 2),
        Block(6, ids=(1, 2), instances=(("a", 0), ("b", 1)), values=(ROW[:2],) * 2),
        Block(0, status=0x1069),
    ]
)
CHANGES = (-8, -4, -1, 1, 4, 8, 1 << 20)


def numbers() -> Iterator[tuple[str, int, FlawKind]]:
    """Name, offset and flaw of each size and count ([MS-PCQ] sections 2.2.4.7 to 2.2.4.11), by the sizes alone."""
    yield "total", 0, FlawKind.TOTAL
    yield "blocks", 4, FlawKind.BLOCK_COUNT
    at = DATA_HEADER.size
    while at < len(SOUND):
        _, kind, size, _ = unpack_from("<4I", SOUND, at)
        stop, pos = at + size, at + 16
        yield f"size of the block of type {kind}", at + 8, FlawKind.BLOCK_SIZE
        columns = 1
        if kind in (2, 6):
            ids, columns = unpack_from("<II", SOUND, pos)
            yield f"size of ids in type {kind}", pos, FlawKind.IDS_SIZE
            yield f"number of ids in type {kind}", pos + 4, FlawKind.IDS_COUNT
            pos += ids
        rows = 1 if kind in (1, 2) else 0
        if kind in (4, 6):
            (rows,) = unpack_from("<I", SOUND, pos + 4)
            yield f"size of instances in type {kind}", pos, FlawKind.INSTANCES_SIZE
            yield f"number of instances in type {kind}", pos + 4, FlawKind.INSTANCE_COUNT
            pos += 8
        for row in range(rows):
            if kind in (4, 6):
                yield f"size of instance {row} in type {kind}", pos, FlawKind.INSTANCE_SIZE
                pos += unpack_from("<I", SOUND, pos)[0]
            for column in range(columns):
                yield f"size of value {column} of row {row} in type {kind}", pos + 4, FlawKind.VALUE_SIZE
                pos += unpack_from("<I", SOUND, pos + 4)[0]
        assert pos == stop
        at = stop


NUMBERS = {name: (at, kind) for name, at, kind in numbers()}
# Where another number could be the wrong one just as well.
AMBIGUOUS = {
    ("number of ids in type 2", -4): "as if there were neither ids nor values",
    ("size of the block of type 4", 8): "the first words of the next block are no instance",
    ("size of instance 0 in type 6", 8): "the first value begins with what could be zeros of a value without data",
    ("size of instance 1 in type 6", 8): "the same",
}


def changed(at: int, by: int) -> bytes | None:
    data = bytearray(SOUND)
    value = unpack_from("<I", data, at)[0] + by
    if value < 0:
        return None
    pack_into("<I", data, at, value)
    return bytes(data)


def test_the_answer_is_sound() -> None:
    assert not read_answer(SOUND).flaws
    assert len(NUMBERS) == 30


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_is_wrong_alone_is_the_one_that_is_reported(name: str) -> None:
    at, kind = NUMBERS[name]
    was = unpack_from("<I", SOUND, at)[0]
    for by in CHANGES:
        data = changed(at, by)
        if data is None or (name, by) in AMBIGUOUS:
            continue
        flaws = read_answer(data).flaws
        assert len(flaws) == 1, (by, flaws)
        (flaw,) = flaws
        assert (flaw.span, flaw.seen) == ((at, at + 4), str(was + by)), by
        # With one id less, the values are one too many.
        counts = {FlawKind.VALUE_COUNT} if kind is FlawKind.IDS_COUNT else set()
        unpadded = counts | {kind, FlawKind.VALUE_UNPADDED, FlawKind.INSTANCE_UNPADDED, FlawKind.BLOCK_UNPADDED}
        assert flaw.kind in unpadded, (by, flaw)
        # What it should be stands in the finding, as a number or as a range that holds it.
        low, _, high = flaw.expected.replace(" or ", " to ").partition(" to ")
        assert int(low) <= was <= int(high or low), (by, flaw)


def test_a_value_longer_than_its_place_is_reported_at_its_size() -> None:
    """dwDataSize may be any up to 8 below dwSize; beyond, the size is what does not hold it."""
    for name, (at, kind) in NUMBERS.items():
        if kind is not FlawKind.VALUE_SIZE:
            continue
        held, size = unpack_from("<II", SOUND, at - 4)
        for new in (0, size - 8, size - 7, size, 1 << 16):
            data = bytearray(SOUND)
            pack_into("<I", data, at - 4, new)
            flaws = [(flaw.kind, flaw.span, flaw.expected, flaw.seen) for flaw in read_answer(bytes(data)).flaws]
            wanted = 8 + new + -new % 8
            if (new <= size - 8 and wanted == size) or new <= held:
                assert not flaws, (name, new)
            elif new > size - 8:
                assert flaws == [(FlawKind.VALUE_SIZE, (at, at + 4), str(wanted), str(size))], (name, new)
