"""A film of each counterset, as one client polled it: what a machine showed, poll by poll.

A *film* is a table at every poll. Its rows are instances (`FilmRow`) and its columns counters (`FilmColumn`). Its cells are what a
performance monitor displays, with three decimals, and where the bytes of each value are. Polls are kept in blocks, cell by cell as
differences from poll to poll: unchanged cells cost next to nothing. The page of `report` takes the blocks as they are. `Film.frame`
reads one.

A cell has a *state*: `SHOWN` (a value without remarks), `NOT_ASKED` (the poll has no such cell), or the position of a remark in
`Films.says`. Values are whole numbers; columns with decimals count thousandths. Any other value is text in `exact`.

Whole numbers are kept in variable-length bytes: zigzag, then seven bits a byte (LEB128). Blocks deflate them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from isal import isal_zlib
from msgspec import Struct, field
from msgspec.json import Decoder

from analyzer.core.array_functions import distinct
from analyzer.core.output.json import dumps
from analyzer.results.records.record_types import Endpoint

if TYPE_CHECKING:
    import numpy.typing as npt

# -------------------------------------------------------------------------------------------------------------- varints


Ints: TypeAlias = "npt.NDArray[np.int64]"
# Nine bytes hold 63 bits; numbers of a film have 51, and their folded differences 53.
_MOST_BYTES = 9


# Level 3 of ISA-L takes a third of the time of level 4 of zlib, for some 3 hundredths more bytes.
_LEVEL = 3


def deflated(parts: Iterable[bytes]) -> bytes:
    """Returns the parts of a film's block deflated to one (RFC 1951)."""
    squeeze = isal_zlib.compressobj(_LEVEL, wbits=-15)
    return b"".join([*map(squeeze.compress, parts), squeeze.flush()])


def inflated(data: bytes) -> bytes:
    """Returns the bytes of a film's block that were deflated."""
    return isal_zlib.decompress(data, -15)


def varints(numbers: Ints) -> bytes:
    """Encodes the numbers of a film's block, whole ones of up to 62 bits, as variable-length bytes."""
    folded = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    sizes = np.ones(len(folded), np.int64)
    for byte in range(1, _MOST_BYTES):
        larger = folded >> np.uint64(7 * byte) != 0
        if not larger.any():
            break
        sizes += larger
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    for byte in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > byte)
        bits = (folded[rows] >> np.uint64(7 * byte)).astype(np.uint8) & np.uint8(0x7F)
        out[starts[rows] + byte] = bits | np.where(sizes[rows] > byte + 1, np.uint8(0x80), np.uint8(0))
    return out.tobytes()


def numbers_in_varints(data: bytes) -> Ints:
    """Decodes the numbers in a film's block, which are variable-length bytes."""
    held = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(held < 0x80)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1]) if len(ends) else ends
    folded = np.zeros(len(ends), np.uint64)
    for byte in range(int((ends - starts).max(initial=-1)) + 1):
        rows = np.flatnonzero(ends - starts >= byte)
        folded[rows] |= (held[starts[rows] + byte] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * byte)
    made: Ints = (folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).view(np.int64)
    return made


# ----------------------------------------------------------------------------------------------------------------- film


Change = Literal["started", "ended"]

SHOWN, NOT_ASKED = 0, 1
# Columns with decimals have three, as a performance monitor shows them.
DECIMALS = 3
# JavaScript's numbers hold differences of such numbers, folded, exactly.
MOST = 1 << 51
# PollCells of a block: what a browser reads in some milliseconds. More polls would be of no use to a step.
_CELLS, _MOST_POLLS = 250_000, 512
# No bytes are known of a cell.
NO_PLACE = -1


class FilmColumn(Struct, frozen=True):
    """A column of a film: a counter of its counterset. `names` are all it goes by, the one to show first; `size` is the length of a
    value in bytes."""

    names: tuple[str, ...]
    unit: str
    type: str | None
    decimals: int
    scale: int
    is_hex: bool
    needs_two: bool
    size: int


class FilmRow(Struct):
    """A row of a film: an instance; `name` is None for the only one of its counterset. Several may have one name at the same time.
    `identity` tells them apart, and at a poll their order in the answer does (`Film.names_at`). `spans` has first and last poll of
    each time that the instance was there."""

    name: str | None
    identity: str
    spans: list[list[int]] = field(default_factory=list)

    def is_there(self, poll: int) -> bool:
        """Returns whether a poll of the film has this row."""
        return any(first <= poll <= last for first, last in self.spans)


class FilmBlock(Struct, frozen=True):
    """A block of a film: successive polls from number `first` on. `data`, inflated, holds the length of a JSON head, the head, and
    numbers (`varints`). The numbers are the state of each column, row and poll, then the values, then for each layout the place of
    each cell's bytes, all as differences."""

    first: int
    polls: int
    data: bytes


class BlockHead(Struct, frozen=True):
    """The head of a film's block: its rows and its numbers of columns and polls. `layouts` has the poll from which each layout is
    used, `exact` the cells with text by position."""

    rows: list[int]
    columns: int
    polls: int
    layouts: list[int]
    exact: dict[str, str]


class FilmFrame(Struct, frozen=True, eq=False):
    """A block of a film after reading: its rows; state and value of each column, row and poll; texts by position."""

    rows: list[int]
    states: Ints
    values: Ints
    places: Ints
    layouts: list[int]
    exact: Mapping[int, str]

    def place_of(self, row: int) -> int | None:
        """Returns the place of a row of the film in the block; None if no poll of the block has that row."""
        place = bisect_left(self.rows, row)
        return place if place < len(self.rows) and self.rows[place] == row else None

    def first_start_of(self, place: int, at: int) -> int:
        """Returns where the first bytes of a film's row begin in the buffer of its answer; 0 if unknown."""
        starts = self.places[bisect_right(self.layouts, at) - 1, :, place]
        return int(min((starts[starts != NO_PLACE]), default=0))

    def start_of(self, column: int, place: int, at: int) -> int | None:
        """Returns where the bytes of a film's cell begin in the buffer of its answer; None if unknown."""
        start = int(self.places[bisect_right(self.layouts, at) - 1, column, place])
        return None if start == NO_PLACE else start


class PollCells(Struct, frozen=True, eq=False):
    """The cells of one poll of a film, in the order of the answer. Each has row, column, place of its bytes, state and value;
    `exact` has texts by position."""

    rows: Ints
    columns: Ints
    places: Ints
    states: Ints
    values: Ints
    exact: Mapping[int, str]
    present: Ints


class Film(Struct, eq=False):
    """A film of one counterset (or object) of a machine, as one client polled it."""

    server: Endpoint
    client: str
    names: tuple[str, ...]
    source: str
    handles: list[str] = field(default_factory=list)
    columns: list[FilmColumn] = field(default_factory=list)
    rows: list[FilmRow] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    times_ns: list[int] = field(default_factory=list)
    # Whether a poll asked for all instances, so that one that is not in it was not there.
    whole: list[bool] = field(default_factory=list)
    blocks: list[FilmBlock] = field(default_factory=list)
    _open: list[PollCells] = field(default_factory=list)
    _present: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, call: int, time_ns: int, handle: str, cells: PollCells, *, is_whole: bool) -> None:
        """Adds the next poll of the counterset to this film."""
        number = len(self.calls)
        if not self.handles or self.handles[-1] != handle:
            self.handles.append(handle)
        self.calls.append(call)
        self.times_ns.append(time_ns)
        self.whole.append(is_whole)
        if cells.present is not self._present:
            before = set(self._present.tolist())
            for row in set(cells.present.tolist()) - before:
                self.rows[row].spans.append([number, -1])
            for row in before - set(cells.present.tolist()):
                self.rows[row].spans[-1][1] = number - 1
            self._present = cells.present
        self._open.append(cells)
        if len(self._open) >= min(_MOST_POLLS, max(8, _CELLS // (len(cells.rows) + 1))):
            self.close_block()

    def end(self) -> None:
        """Ends this film, and the times of its rows, after its last poll."""
        self.close_block()
        for row in self._present.tolist():
            self.rows[row].spans[-1][1] = len(self.calls) - 1
        self._present = np.zeros(0, np.int64)

    def close_block(self) -> None:
        """Packs the polls of this film since its last block as another block."""
        if self._open:
            self.blocks.append(packed_block(self._open, len(self.calls) - len(self._open), len(self.columns)))
            self._open = []

    def block_of(self, poll: int) -> FilmBlock:
        """Returns the block of the film that a poll is in."""
        return self.blocks[bisect_right(self.blocks, poll, key=lambda block: block.first) - 1]

    def frame(self, poll: int) -> tuple[FilmFrame, int]:
        """Returns the block of the film that a poll is in, read, and its position there."""
        block = self.block_of(poll)
        return read_block(block), poll - block.first

    def poll_at(self, time_ns: int) -> int:
        """Returns the last poll of the film at a time; -1 before the first."""
        return bisect_right(self.times_ns, time_ns) - 1

    def names_at(self, poll: int, frame: FilmFrame) -> dict[int, str]:
        """Returns the names of the rows at a poll of the film by row number, in the spelling of counter paths. The second row with
        a name is `#1`. `frame` is the block of the poll."""
        there = [
            (number, row.name) for number, row in enumerate(self.rows) if row.name is not None and row.is_there(poll)
        ]
        at = poll - self.block_of(poll).first

        def order(number: int) -> tuple[int, int]:
            place = frame.place_of(number)
            return (0 if place is None else frame.first_start_of(place, at)), number

        names: dict[int, str] = {}
        seen: dict[str, int] = {}
        for number, name in sorted(there, key=lambda one: order(one[0])):
            nth = seen[name] = seen.get(name, -1) + 1
            names[number] = f"{name}#{nth}" if nth else name
        return names

    def change(self, row: FilmRow, poll: int) -> Change | None:
        """Returns whether a poll is the first of the film with an instance, or the first without it. None if unknown: this poll or
        the one before did not ask for all instances."""
        if poll < 1 or not self.whole[poll] or not self.whole[poll - 1]:
            return None
        if any(first == poll for first, _ in row.spans):
            return "started"
        return "ended" if any(last == poll - 1 for _, last in row.spans) else None


class Films(Struct, frozen=True, eq=False):
    """The films of a capture. `says` has the remarks on cells (whether there is a value, and the words). `left_out` counts the
    polls that were too many."""

    films: list[Film]
    says: list[tuple[bool, str]]
    left_out: int = 0

    def machines(self) -> dict[str, list[Film]]:
        """Returns these films by the machine that each one shows: by its address."""
        found: dict[str, list[Film]] = {}
        for film in self.films:
            found.setdefault(film.server.ip, []).append(film)
        return found


def packed_block(polls: Sequence[PollCells], first: int, num_columns: int) -> FilmBlock:
    """Packs successive polls of a film as one of its blocks."""
    rows = distinct(np.concatenate([cells.rows for cells in polls]))
    shape = num_columns, len(rows)
    states = np.full((*shape, len(polls)), NOT_ASKED, np.int64)
    values = np.zeros((*shape, len(polls)), np.int64)
    exact: dict[str, str] = {}
    layouts: list[int] = []
    places: list[Ints] = []
    known: Ints | None = None
    at: tuple[Ints, Ints] = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for number, cells in enumerate(polls):
        if cells.places is not known:
            known = cells.places
            at = cells.columns, np.searchsorted(rows, cells.rows)
            laid = np.full(shape, NO_PLACE, np.int64)
            laid[at] = cells.places
            layouts.append(number)
            places.append(np.diff(laid.reshape(-1), prepend=0))
        if number:
            values[:, :, number] = values[:, :, number - 1]
        states[*at, number] = cells.states
        values[*at, number] = cells.values
        for position, text in cells.exact.items():
            cell = int(at[0][position]) * shape[1] + int(at[1][position])
            exact[str(cell * len(polls) + number)] = text
    head = dumps(BlockHead(rows.tolist(), num_columns, len(polls), layouts, exact))
    differences = [np.diff(each, axis=2, prepend=0).reshape(-1) for each in (states, values)]
    numbers = varints(np.concatenate([*differences, *places]))
    return FilmBlock(first, len(polls), deflated((len(head).to_bytes(4, "little"), head, numbers)))


_HEADS = Decoder(BlockHead)


def read_block(block: FilmBlock) -> FilmFrame:
    """Reads a packed block of a film."""
    data = inflated(block.data)
    stop = 4 + int.from_bytes(data[:4], "little")
    head = _HEADS.decode(data[4:stop])
    shape = head.columns, len(head.rows), head.polls
    cells = head.columns * len(head.rows)
    numbers = numbers_in_varints(data[stop:])
    ends = [cells * head.polls, 2 * cells * head.polls]
    states, values, places = np.split(numbers, ends)
    return FilmFrame(
        head.rows,
        np.cumsum(states.reshape(shape), axis=2),
        np.cumsum(values.reshape(shape), axis=2),
        np.cumsum(places.reshape(len(head.layouts), cells), axis=1).reshape(len(head.layouts), *shape[:2]),
        head.layouts,
        {int(at): text for at, text in head.exact.items()},
    )


def moments(films: Sequence[Film], most_ns: int = 500_000_000) -> list[int]:
    """Returns the moments of a machine's films: the time of the last poll of each round. In a round, no film is polled twice, and
    it takes at most half a second."""
    polls = sorted((time, number) for number, film in enumerate(films) for time in film.times_ns)
    found: list[int] = []
    seen: set[int] = set()
    begun = 0
    for time, number in polls:
        if found and number not in seen and time - begun <= most_ns:
            found[-1] = time
        else:
            found.append(time)
            seen.clear()
            begun = time
        seen.add(number)
    return found
