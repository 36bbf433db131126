"""Data answers that contradict themselves in one or two ways: how each is read, block by block, to the byte.

`readings/` holds what the reader makes of each (tests/written.py says how to write it anew): the extent of every block, its counter
ids, rows and values, what is off a multiple of 8, and each flaw with its bytes, what was expected and what was seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from struct import pack

import pytest
from msgspec import Struct
from msgspec.structs import replace

from analyzer.questions.audit.data_answers import DataAnswer, read_answer, value_path
from tests.written import is_as_written

READINGS = Path(__file__).with_name("readings")


class Made(Struct, frozen=True):
    """A block: numbers of counter ids and values by instance, and what is wrong with it (0: nothing)."""

    kind: int
    ids: int = 3
    rows: tuple[int, ...] = (3, 3, 3)
    names: tuple[str, ...] = ("ab", "", "instance")
    held: int = 8
    # Padding behind the counter ids, whether their size counts it, and what is added to size and number.
    ids_padding: int = 4
    ids_counted: bool = True
    ids_size: int = 0
    ids_count: int = 0
    # What is added to the size of the instances, their number, and to one of the headers.
    total_size: int = 0
    instances: int = 0
    header_size: int = 0
    # Bytes behind a name that its header counts, and bytes behind it that nothing counts.
    unpadded_names: bool = False
    # What is added to the size of the second value of the second row, to what it holds, and what is missing at the end.
    value_size: int = 0
    value_held: int = 0
    unpadded_values: bool = False
    behind: int = 0
    size: int = 0
    reserved: int = 0
    status: int = 0

    def encoded(self) -> bytes:
        body = b""
        if self.kind in (2, 6):
            padding = self.ids_padding if self.ids % 2 else 0
            stated = 8 + 4 * self.ids + (padding if self.ids_counted else 0) + self.ids_size
            body += pack("<II", stated % (1 << 32), (self.ids + self.ids_count) % (1 << 32))
            body += b"".join(pack("<I", 7 + number) for number in range(self.ids)) + bytes(padding)
        if self.kind in (1, 2):
            body += self._values(1, self.rows[1] if self.kind == 2 and self.rows else 1)
        if self.kind in (4, 6):
            inner = b""
            for number, (name, values) in enumerate(zip(self.names, self.rows, strict=False)):
                text = (name + "\0").encode("utf-16-le")
                room = len(text) if self.unpadded_names else -(-len(text) // 8) * 8
                size = 8 + room + (self.header_size if number == 1 else 0)
                inner += pack("<II", size, number - 1 & 0xFFFFFFFF) + text + bytes(room - len(text))
                inner += self._values(number, values if self.kind == 6 else min(values, 1))
            count = min(len(self.names), len(self.rows)) + self.instances
            body += pack("<II", 8 + len(inner) + self.total_size, count % (1 << 32)) + inner
        body += bytes(max(self.behind, 0))
        body = body[: max(len(body) + min(self.behind, 0), 0)]
        return pack("<4I", self.status, self.kind, 16 + len(body) + self.size, self.reserved) + body

    def _values(self, row: int, count: int) -> bytes:
        made = b""
        for number in range(count):
            data = bytes(range(self.held))
            padding = 0 if self.unpadded_values else -len(data) % 8
            is_one = row == 1 and number == min(1, count - 1)
            held = len(data) + (self.value_held if is_one else 0)
            size = 8 + len(data) + padding + (self.value_size if is_one else 0)
            made += pack("<II", held % (1 << 32), size % (1 << 32)) + data + bytes(padding)
        return made


def answer_of(*blocks: Made, length: int = 0, count: int = 0, gap: int = 0) -> bytes:
    """A whole answer; `gap` bytes between its header and the blocks."""
    body = bytes(gap) + b"".join(block.encoded() for block in blocks)
    head = pack(
        "<II3Q8H",
        48 + len(body) + length,
        len(blocks) + count & 0xFFFFFFFF,
        5,
        133_541_156_967_890_000,
        10**7,
        *[1] * 8,
    )
    return head + body


def described(words: str, answer: DataAnswer) -> Iterator[str]:
    stated = (
        f"states {answer.header[0]} bytes and {answer.header[1]} blocks" if answer.header is not None else "no header"
    )
    yield f"{words}: {stated}, {'walked' if answer.is_walked else 'not walked'}, {answer.rereads} bytes left to read again"
    for block in answer.blocks:
        yield (
            f"  {block.number} at {block.at}:{block.stop} {block.status}/{block.kind}/{block.size}/{block.reserved} "
            f"ids {block.ids} at {block.ids_at}+{block.ids_size} instances {block.num_instances} at {block.instances_at} "
            f"{'whole' if block.is_whole else 'not whole'} {block.num_values} values of {list(block.names(answer.data))}, "
            f"moved {block.moved_by_ids}, {block.misplaced}"
        )
        for number, row in enumerate(block.rows):
            values = [
                (row.value_at(column), len(row.value(answer.data, column))) for column in range(len(row.shape.sizes))
            ]
            shape = list(row.shape.sizes), list(row.shape.data_sizes)
            path = value_path(block, number, 1)
            yield f"    {row.header_size} {row.instance_id} {row.name_at} {row.begin} {shape} {values} {path}"
    for flaw in answer.flaws:
        yield f"  {flaw.kind.name} {flaw.path} {flaw.span} {flaw.expected!r} {flaw.seen!r} {flaw.block_type}"


KINDS = (0, 1, 2, 4, 6)
WRONG: dict[str, dict[str, object]] = {
    "ids without padding": {"ids_padding": 0},
    "ids with padding that is not counted": {"ids_counted": False},
    "size of ids -8": {"ids_size": -8},
    "size of ids -4": {"ids_size": -4},
    "size of ids +4": {"ids_size": 4},
    "size of ids +1000": {"ids_size": 1000},
    "one id less": {"ids_count": -1},
    "one id more": {"ids_count": 1},
    "two ids more": {"ids_count": 2},
    "many ids": {"ids_count": 1 << 30},
    "size of instances -8": {"total_size": -8},
    "size of instances +8": {"total_size": 8},
    "one instance less": {"instances": -1},
    "one instance more": {"instances": 1},
    "many instances": {"instances": 1 << 30},
    "header +8": {"header_size": 8},
    "header -4": {"header_size": -4},
    "header -8": {"header_size": -8},
    "names without padding": {"unpadded_names": True},
    "value of 4 bytes": {"held": 4},
    "values without padding": {"held": 4, "unpadded_values": True},
    "values of 12 without padding": {"held": 12, "unpadded_values": True},
    "empty values": {"held": 0},
    "size of a value -8": {"value_size": -8},
    "size of a value +8": {"value_size": 8},
    "size of a value -16": {"value_size": -16},
    "a value that holds less": {"value_held": -4},
    "a value that holds more": {"value_held": 4},
    "a value that holds much more": {"value_held": 1 << 20},
    "a value less": {"rows": (3, 2, 3)},
    "no values": {"rows": (3, 0, 3)},
    "a value more": {"rows": (3, 4, 3)},
    "two values more": {"rows": (3, 5, 3)},
    "three values more": {"rows": (3, 6, 3)},
    "a value less in the first": {"rows": (2, 3, 3)},
    "a value more in the last": {"rows": (3, 3, 4)},
    "a value less in the last": {"rows": (3, 3, 2)},
    "two ids": {"ids": 2, "rows": (2, 2, 2)},
    "one id": {"ids": 1, "rows": (1, 1, 1)},
    "no ids": {"ids": 0, "rows": (0, 0, 0)},
    "no instances": {"rows": ()},
    "4 bytes behind": {"behind": 4},
    "8 bytes behind": {"behind": 8},
    "24 bytes behind": {"behind": 24},
    "4 bytes missing": {"behind": -4},
    "8 bytes missing": {"behind": -8},
    "size -8": {"size": -8},
    "size -4": {"size": -4},
    "size +4": {"size": 4},
    "size +8": {"size": 8},
    "size 8": {"behind": -1000, "size": -8},
    "reserved": {"reserved": 9, "status": 5},
}


def with_wrong(block: Made, *names: str) -> Made:
    return replace(block, **{name: value for one in names for name, value in WRONG[one].items()})


def readings(cases: Iterator[tuple[str, bytes]]) -> str:
    lines = []
    for words, data in cases:
        lines += described(words, read_answer(data))
    return "".join(f"{line}\n" for line in lines)


# A sound block stands behind what is wrong: it is found, or it is said that it cannot be.
LAST = Made(6, ids=2, rows=(2,), names=("x",))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_once(kind: int) -> None:
    block = Made(kind)
    cases = ((name, answer_of(with_wrong(block, name), LAST)) for name in WRONG)
    is_as_written(READINGS / f"once-{kind}.txt", readings(cases))


@pytest.mark.parametrize("kind", [2, 4, 6])
def test_what_is_wrong_twice(kind: int) -> None:
    """Of what is wrong alone in a way that is understood, pairs: mostly both are not, and the block is said to end elsewhere."""
    block = Made(kind)
    some = list(WRONG)[::2] if kind == 6 else list(WRONG)[::3]
    cases = ((f"{one}; {two}", answer_of(with_wrong(block, one, two), LAST)) for one, two in combinations(some, 2))
    # How much was read again and each flaw; what blocks and rows are read as, the files of what is wrong once hold.
    kept = "".join(line for line in readings(cases).splitlines(keepends=True) if not re.match(r"  +\d", line))
    is_as_written(READINGS / f"twice-{kind}.txt", kept)


def test_what_is_wrong_with_the_answer() -> None:
    blocks = [Made(kind) for kind in KINDS]
    cases = [
        ("sound", answer_of(*blocks)),
        ("nothing", b""),
        ("47 bytes", answer_of()[:47]),
        ("48 bytes", answer_of()),
        ("a block of 15 bytes", answer_of(Made(0))[:-1]),
        *((f"length {length:+}", answer_of(*blocks, length=length)) for length in (-48, -8, -1, 1, 8, 1 << 20)),
        *((f"count {count:+}", answer_of(*blocks, count=count)) for count in (-6, -2, -1, 1, 2, 1 << 20)),
        *((f"gap {gap}", answer_of(*blocks, gap=gap)) for gap in (1, 4, 8, 16)),
        *((f"type {kind}", answer_of(Made(kind), LAST)) for kind in (3, 5, 7, 8, 1 << 16)),
        *((f"cut to {size}", answer_of(*blocks)[:size]) for size in range(48, len(answer_of(*blocks)), 13)),
        ("rows that begin off 8", answer_of(*[Made(4, rows=(1,) * 12, names=("a",) * 12, unpadded_names=True)] * 2)),
        ("values off 8", answer_of(Made(6, rows=(3,) * 12, names=("abc",) * 12, held=4, unpadded_values=True), LAST)),
        ("two shapes", answer_of(Made(6, rows=(3, 3), names=("a", "b")), Made(2, held=4), Made(1, held=200))),
    ]
    is_as_written(READINGS / "answers.txt", readings(iter(cases)))
