"""Data answers that contradict themselves in one or two ways: how each is read, block by block, to the byte.

`readings/` holds what the reader makes of each (tests/written.py says how to write it anew): the extent of every block, its counter
ids, rows and values (data/size of each) unless they are as they were made, what is off a multiple of 8, and each flaw with its
bytes, what was expected and what was seen. Answers of which the same is read stand together.
"""

import textwrap
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, groupby
from pathlib import Path
from struct import pack

import pytest
from msgspec import Struct
from msgspec.structs import replace

from analyzer.questions.audit.data_answers import _MOST_REREAD, Block, DataAnswer, FlawKind, read_answer, value_path
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


def wrapped(words: str) -> list[str]:
    return textwrap.wrap(words, 124, subsequent_indent="    ", break_on_hyphens=False)


def contents(data: bytes, block: Block) -> list[str]:
    """The counter ids of a block, and its rows, of which those that are alike but for their place stand together."""
    names = list(block.names(data)) or [None]
    rows = []
    for number, row in enumerate(block.rows):
        sizes, held = row.shape.sizes, row.shape.data_sizes
        # Values stand one behind the other, each behind its header.
        starts = [row.begin + sum(sizes[:column]) + 8 for column in range(len(sizes))]
        assert [row.value_at(column) for column in range(len(sizes))] == starts
        assert [row.value(data, column) for column in range(len(sizes))] == [
            data[at : at + size] for at, size in zip(starts, held, strict=True)
        ]
        values = " ".join(f"{one}/{of}" for one, of in zip(held, sizes, strict=True)) or "no values"
        path = value_path(block, number, 1).removeprefix(f"lpData.blocks[{block.number}].body.")
        path = path.replace(f"instances[{number}]", "instances[_]")
        rows.append(
            (
                f"{values} in {path} of",
                f"{row.instance_id} {names[number]!r} {row.header_size}+{row.begin - row.name_at}",
            )
        )
    found = [f"ids {block.ids}"] if block.ids is not None else []
    for values, alike in groupby(rows, lambda one: one[0]):
        found += wrapped(f"  {values} {', '.join(words for _, words in alike)}")
    return found


def block_words(data: bytes, block: Block) -> Iterator[str]:
    """What a block states, where its parts are, counted from where it begins, and what it has, unless that is as it was made."""

    def place(at: int | None) -> int | str:
        return "-" if at is None else at - block.at

    held = contents(data, block)
    as_made = (block.kind, held) in ((kind, of) for kind, of, _ in MADE)
    off = [f"{path.replace(f'lpData.blocks[{block.number}].body.', '')} at {at}" for path, at in block.misplaced]
    yield ", ".join(
        (
            f"{block.status}/{block.kind}/{block.size}/{block.reserved} of {block.stop - block.at} bytes",
            *[f"ids at {place(block.ids_at)}+{block.ids_size}"] * (block.ids is not None),
            *[f"{block.num_instances} instances at {place(block.instances_at)}"] * (block.instances_at is not None),
            *(f"{block.num_values} values", *["not whole"] * (not block.is_whole)),
            *(*["moved by ids"] * block.moved_by_ids, *["as made"] * as_made),
        )
    )
    yield from [] if as_made else held
    yield from wrapped(f"  off 8: {', '.join(off)}") if off else []


def flaw_words(answer: DataAnswer) -> Iterator[str]:
    """The flaws, of which those with the same numbers stand together."""
    flaws = [
        (
            f"{one.kind.name} of type {one.block_type}, {one.expected}, seen {one.seen}:",
            f"{one.path.removeprefix('lpData.blocks[0].body.')} {one.span[0]}:{one.span[1]}",
        )
        for one in answer.flaws
    ]
    for numbers, alike in groupby(flaws, lambda one: one[0]):
        yield from wrapped(f"{numbers} " + "; ".join(path for _, path in alike))


def answer_words(answer: DataAnswer) -> Iterator[str]:
    """What the answer states where this is not so, how much was read again, the blocks in their order, and the flaws."""
    if answer.header is None:
        yield "no header"
    elif answer.header[:2] != (len(answer.data), len(answer.blocks)):
        yield f"states {answer.header[0]} bytes and {answer.header[1]} blocks, has {len(answer.data)} bytes"
    if not answer.is_walked:
        yield "not walked"
    if answer.rereads != _MOST_REREAD:
        yield f"{_MOST_REREAD - answer.rereads} bytes read again"
    found = [(block, list(block_words(answer.data, block))) for block in answer.blocks]
    for is_sound, blocks in groupby(found, lambda one: one[1] in (words for *_, words in MADE)):
        if is_sound:
            yield f"sound: {', '.join(f'type {block.kind} at {block.at}' for block, _ in blocks)}"
        else:
            for block, (first, *more) in blocks:
                yield from (f"at {block.at} {first}", *more)
    yield from flaw_words(answer)


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


def readings(cases: Iterable[tuple[str, bytes]], words: Callable[[DataAnswer], Iterable[str]] = answer_words) -> str:
    """What is read of answers; those of which the same is read stand together."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, data in cases:
        alike.setdefault(tuple(words(read_answer(data))), []).append(name)
    lines = []
    for found, names in alike.items():
        lines += wrapped("; ".join(names))
        lines += [f"  {line}" for line in found or ["nothing"]]
    return "".join(f"{line}\n" for line in lines)


# A sound block stands behind what is wrong: it is found, or it is said that it cannot be.
LAST = Made(6, ids=2, rows=(2,), names=("x",))
# Of sound blocks the type, what they hold, and all that is said of each.
MADE: list[tuple[int, list[str], list[str]]] = []
for sound in (read_answer(answer_of(*map(Made, KINDS), LAST)),):
    MADE += [(block.kind, contents(sound.data, block), []) for block in sound.blocks]
    for (*_, words), block in zip(MADE, sound.blocks, strict=True):
        words += block_words(sound.data, block)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_once(kind: int) -> None:
    cases = ((name, answer_of(with_wrong(Made(kind), name), LAST)) for name in WRONG)
    is_as_written(READINGS / f"once-{kind}.txt", readings(cases))


@pytest.mark.parametrize("kind", [2, 4, 6])
def test_what_is_wrong_twice(kind: int) -> None:
    """Of what is wrong alone in a way that is understood, pairs: mostly both are not, and the block is said to end elsewhere.
    Each flaw; what blocks and rows are read as, the files of what is wrong once hold."""
    some = combinations(list(WRONG)[::3], 2)
    cases = ((f"{one} and {two}", answer_of(with_wrong(Made(kind), one, two), LAST)) for one, two in some)
    is_as_written(READINGS / f"twice-{kind}.txt", readings(cases, flaw_words))


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
        *((f"cut to {size}", answer_of(*blocks)[:size]) for size in (48, 61, 87, 113, 205, 570)),
        ("rows that begin off 8", answer_of(*[Made(4, rows=(1,) * 12, names=("a",) * 12, unpadded_names=True)] * 2)),
        ("values off 8", answer_of(Made(6, rows=(3,) * 12, names=("abc",) * 12, held=4, unpadded_values=True), LAST)),
        ("two shapes", answer_of(Made(6, rows=(3, 3), names=("a", "b")), Made(2, held=4), Made(1, held=200))),
    ]
    made = "".join(f"{words[0]}\n" + "".join(f"  {line}\n" for line in held) for _, held, words in MADE)
    is_as_written(READINGS / "answers.txt", made + readings(cases))


def test_an_answer_that_is_cut_has_the_blocks_that_end_before() -> None:
    """And says of the one that does not, how far its size may go; of less than its header, nothing but that."""
    whole = answer_of(*map(Made, KINDS))
    blocks = read_answer(whole).blocks
    for size in range(48, len(whole)):
        cut = read_answer(whole[:size])
        complete = [block for block in blocks if block.stop <= size]
        at = complete[-1].stop if complete else 48
        left, of = size - at, f"lpData.blocks[{len(complete)}]"
        if left == 0:
            flaw = (FlawKind.BLOCK_COUNT, "lpData.num_blocks", (4, 8), str(len(complete)), "5")
        elif left < 16:
            flaw = (FlawKind.BLOCK_SIZE, of, (at, size), "16 bytes of a block's header", f"{left} bytes")
        else:
            stated = str(blocks[len(complete)].size)
            flaw = (FlawKind.BLOCK_SIZE, f"{of}.size", (at + 8, at + 12), f"16 to {left}", stated)
        total = (FlawKind.TOTAL, "lpData.total_size", (0, 4), str(size), str(len(whole)))
        assert [(one.kind, one.path, one.span, one.expected, one.seen) for one in cut.flaws] == [flaw, total]
        assert [(one.at, one.stop, one.num_values) for one in cut.blocks if one.is_whole] == [
            (one.at, one.stop, one.num_values) for one in complete
        ]
        assert cut.is_walked is (left == 0)
