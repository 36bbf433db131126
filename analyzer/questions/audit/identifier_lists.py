"""Reads lists of counter identifiers for audit rules: the `lpData` of QueryCounterInfo and ValidateCounters as blocks.

It also finds why blocks do not fill the buffer ([MS-PCQ] sections 2.2.4.6, 3.1.4.1.5 and 3.1.4.1.7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, field

from analyzer.core.printable_text import guid_text
from analyzer.interfaces.buffers.struct_layouts import IDENTIFIER
from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.questions.audit.rule_verdicts import Violation
from analyzer.results.methods.perflib import NONE_ID

if TYPE_CHECKING:
    from analyzer.questions.audit.call_evidence import SideEvidence

ByteOrder = Literal["little", "big"]
HEADER = IDENTIFIER.size
# Offsets of the numbers in a block, 4 bytes each.
OFFSETS = {"status": 16, "size": 20, "counter_id": 24, "instance_id": 28, "index": 32, "reserved": 36}
STATUS, SIZE = OFFSETS["status"], OFFSETS["size"]


class IdentifierBlock(NamedTuple):
    """One _PERF_COUNTER_IDENTIFIER with what follows it: `position` is its Index, `room` everything after its 40 bytes."""

    number: int
    at: int
    counterset: str
    status: int
    size: int
    counter_id: int
    instance_id: int
    position: int
    reserved: int
    room: bytes

    @property
    def path(self) -> str:
        return f"lpData.identifiers[{self.number}]"

    def wrong(self, name: str, expected: object, seen: object) -> Violation:
        """Makes the violation that a number of a counter identifier is not the expected one."""
        at = self.at + OFFSETS[name]
        return Violation(f"{self.path}.{name}", (at, at + 4), str(expected), str(seen))

    @property
    def name(self) -> str | None:
        """Returns the name after a counter identifier up to its NUL; None if nothing follows the structure."""
        if not self.room:
            return None
        return self.room[: utf16_length(self.room)].decode("utf-16-le", "backslashreplace")

    @property
    def has_nul(self) -> bool:
        return utf16_length(self.room) + 2 <= len(self.room)

    @property
    def name_span(self) -> tuple[int, int]:
        """Returns where the name after a counter identifier begins, and where its NUL ends."""
        return self.at + HEADER, self.padding[0]

    @property
    def whole(self) -> tuple[int, int]:
        """Returns where the block of a counter identifier begins and ends."""
        return self.at, self.at + self.size

    @property
    def room_span(self) -> tuple[int, int]:
        """Returns where the bytes after the 40 bytes of a counter identifier begin and end."""
        return self.at + HEADER, self.at + self.size

    @property
    def described(self) -> str:
        """Describes which counter this block of a list of identifiers asks for."""
        return f"counter {self.counter_id} of {self.counterset}, instance {self.name!r}"

    @property
    def padding(self) -> tuple[int, int]:
        """Returns where the bytes after the NUL of a counter identifier's name begin and end."""
        return self.at + HEADER + min(utf16_length(self.room) + 2, len(self.room)), self.at + HEADER + len(self.room)

    @property
    def natural_size(self) -> int:
        """Returns the Size that a counter identifier's name alone requires, rounded up to 8."""
        taken = utf16_length(self.room) + 2 if self.room else 0
        return HEADER + taken + -taken % 8

    @property
    def key(self) -> tuple[str, int, int, str]:
        """Returns what makes two counter identifiers the same, in one list or in two; an empty and an absent name are the same."""
        return self.counterset, self.counter_id, self.instance_id, (self.name or "").casefold()

    @property
    def asks_all_counters(self) -> bool:
        return self.counter_id == NONE_ID

    @property
    def asks_all_instances(self) -> bool:
        return self.name == "*"


class IdentifierList(Struct):
    """The blocks of a list of counter identifiers, up to the first one whose size does not lead on."""

    blocks: list[IdentifierBlock] = field(default_factory=list)
    flaw: Violation | None = None


def read_identifiers(data: bytes) -> IdentifierList:
    """Reads a list of counter identifiers as far as its sizes lead."""
    found = IdentifierList()
    at = 0
    while at < len(data):
        number = len(found.blocks)
        path = f"lpData.identifiers[{number}]"
        if at + HEADER > len(data):
            flaw = Violation(path, (at, len(data)), f"{HEADER} bytes", f"{len(data) - at} bytes")
            found.flaw = _first_cause(found.blocks) or _cut_short(data, found.blocks) or flaw
            return found
        guid, status, size, counter, instance, position, reserved = IDENTIFIER.unpack_from(data, at)
        if size < HEADER or size > len(data) - at:
            flaw = Violation(f"{path}.size", (at + SIZE, at + SIZE + 4), f"{HEADER} to {len(data) - at}", f"{size}")
            found.flaw = _first_cause(found.blocks) or _cut_short(data, found.blocks) or flaw
            return found
        room = data[at + HEADER : at + size]
        found.blocks.append(
            IdentifierBlock(number, at, guid_text(guid), status, size, counter, instance, position, reserved, room)
        )
        at += size
    return found


def readable_identifiers(side: SideEvidence | None) -> Sequence[IdentifierBlock]:
    """Returns the list of counter identifiers in one side of an audited call, as far as their sizes lead; empty if there is
    none."""
    if side is None or not side.is_readable or side.side.buffer_kind != "identifiers":
        return ()
    return side.identifiers.blocks


def _first_cause(blocks: list[IdentifierBlock]) -> Violation | None:
    """Returns why a list of counter identifiers derails: the first earlier block whose Size does not fit its name; else None."""
    for block in blocks:
        if block.size != block.natural_size or (block.room and not block.has_nul):
            wanted = f"{block.natural_size}" if block.has_nul else "room for the name and its NUL"
            return block.wrong("size", wanted, block.size)
    return None


def _cut_short(data: bytes, blocks: list[IdentifierBlock]) -> Violation | None:
    """Returns the wrong Size of the nameless identifier before a list derails, if the list leads on after a name; else None."""
    if not blocks or blocks[-1].room:
        return None
    last = blocks[-1]
    taken = utf16_length(data[last.at + HEADER :]) + 2
    size = HEADER + taken + -taken % 8
    if not tiles(data, SIZE, HEADER, start=last.at + size):
        return None
    return last.wrong("size", size, last.size)


def chained(data: bytes, at: int, head: int, order: ByteOrder = "little", start: int = 0) -> Iterator[tuple[int, int]]:
    """Yields the offset and size of structures that are chained like a list of identifiers, while there is room for a header of
    `head` bytes. The size stands at `at` of the header; one below `head` is the last."""
    while start + head <= len(data):
        size = int.from_bytes(data[start + at : start + at + 4], order)
        yield start, size
        if size < head:
            return
        start += size


def tiles(data: bytes, at: int, head: int, order: ByteOrder = "little", start: int = 0) -> bool:
    """Tells whether a list of identifiers, or of other structures that are chained like one, fills the buffer from `start` on."""
    for begin, size in chained(data, at, head, order, start):
        if size < head:
            return False
        start = begin + size
    return start == len(data)
