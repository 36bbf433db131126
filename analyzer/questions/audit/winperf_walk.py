"""Walks a PERF_DATA_BLOCK for the audit rules about winperf.h: every structure with its path, fields, and where it must begin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, Literal, cast

from msgspec import Struct

from analyzer.core.caches import cached_property
from analyzer.interfaces.buffers.winperf_layout import winperf_header
from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.rule_registry import Look, OfMethods, Reads, of_calls
from analyzer.questions.audit.rule_verdicts import Judgement, inconclusive
from analyzer.results.methods.winreg import WinregOpnum

# Values of a performance key are read one by one, or enumerated ([MS-RRP] sections 3.1.5.17 and 3.1.5.11).
# With an error the data is undefined.
READS = Reads(
    (WinregOpnum.BASE_REG_QUERY_VALUE, WinregOpnum.BASE_REG_ENUM_VALUE),
    ("response.lpData",),
    interface="winreg",
    success=True,
    damaged=True,
)


# Reasons why nothing can be stated of objects, and of fields after the damage in a block.
NO_OBJECTS = "HeaderLength does not lead to the objects"
CUT_OFF = "the block is damaged before what is to be judged"

# The fixed part of a header (winperf.h, PERF_DATA_BLOCK), and of that of an object; a name of 255 characters makes it longer.
HEADER_LENGTH, OBJECT_LENGTH = 88, 64
_MOST_HEADER = HEADER_LENGTH + 2 * 256 + 8
# No performance counter is that quick.
MAX_FREQUENCY = 1 << 40


class Definition(Struct, frozen=True):
    """A counter definition in a PERF_DATA_BLOCK: its `path` for findings, and its fields by the ids of `ksy/`."""

    path: str
    fields: dict[str, Any]


class Structure(Definition, frozen=True, dict=True):
    """A structure of a PERF_DATA_BLOCK that is no counter definition, with its offset in the block."""

    start: int

    @cached_property
    def instances(self) -> tuple[Structure, ...]:
        """Returns the instance definitions of a winperf object; a counter block follows each."""
        found = []
        at = self.start + self.fields.get("definition_length", 0)
        for number, instance in enumerate(self.fields.get("instances") or ()):
            fields = {**instance, **(instance.get("definition") or {})}
            found.append(Structure(f"{self.path}.instances[{number}]", fields, at))
            counters = instance.get("counter_block") or {}
            at += instance.get("byte_length", 0) + counters.get("byte_length", 0)
        return tuple(found)


class WinperfBlock(Struct, frozen=True, dict=True):
    """The PERF_DATA_BLOCK of an answer, and its size in bytes."""

    fields: dict[str, Any]
    size: int
    # The right HeaderLength, if the objects show that the stated one is wrong.
    header_length: int | None = None

    @cached_property
    def objects(self) -> tuple[Structure, ...]:
        """Returns the objects of a PERF_DATA_BLOCK, each at the TotalByteLength of the one before; their fields include those of
        their bodies. Empty if HeaderLength leads elsewhere: what stands there are no objects."""
        if self.header_length is not None:
            return ()
        found = []
        at = self.fields.get("header_length", 0)
        for number, item in enumerate(self.fields.get("objects", ())):
            fields = {**item, **(item.get("body") or {})}
            found.append(Structure(f"lpData.objects[{number}]", fields, at))
            at += item.get("total_byte_length", 0)
        return tuple(found)


def block_of(call: CallEvidence) -> WinperfBlock | None:
    """Returns the PERF_DATA_BLOCK of an answer, made once for all rules; None if the answer carries none."""
    side = call.response
    if side is None or side.side.buffer_kind != "winperf" or side.buffer is None:
        return None
    if (block := call.made.get(WinperfBlock)) is None:
        block = WinperfBlock(side.tree, len(side.data), _header_length(side.tree, side.data))
        call.made[WinperfBlock] = block
    return cast("WinperfBlock", block)


def header_of(call: CallEvidence) -> dict[str, Any] | None:
    """Returns the header fields of an answer's PERF_DATA_BLOCK without a walk if it is undamaged, else from the walk, perhaps with
    others. None if the answer carries none."""
    if call.response is not None and call.response.block is not None:
        return winperf_header(call.response.data)
    block = block_of(call)
    return block.fields if block is not None else None


def _header_length(fields: dict[str, Any], data: bytes) -> int | None:
    """Returns the true header length of a PERF_DATA_BLOCK, if HeaderLength is wrong: the only offset from which the stated number
    of objects leads to TotalByteLength. None if HeaderLength is right, or no single offset fits."""
    needed = ("little_endian", "total_byte_length", "header_length", "num_object_types")
    if len(data) < HEADER_LENGTH or not all(name in fields for name in needed) or not fields["num_object_types"]:
        return None
    order: Literal["little", "big"] = "little" if fields["little_endian"] else "big"
    count, total, stated = fields["num_object_types"], fields["total_byte_length"], fields["header_length"]

    def leads(at: int) -> bool:
        for _ in range(count):
            length = int.from_bytes(data[at : at + 4], order)
            if length < OBJECT_LENGTH or at + length > min(total, len(data)):
                return False
            at += length
        return bool(at == total)

    if leads(stated):
        return None
    found = [at for at in range(HEADER_LENGTH, min(len(data), _MOST_HEADER), 4) if leads(at)]
    return found[0] if len(found) == 1 else None


OfBlocks = Callable[[CallEvidence, WinperfBlock], Iterable[Judgement]]


def of_blocks(requirements: OfMethods, *, of_objects: bool = False) -> Callable[[OfBlocks], Look[CallEvidence]]:
    """Decorates an audit check that gets the walk of a PERF_DATA_BLOCK; with `of_objects`, only of those whose HeaderLength leads
    to the objects."""

    def look_of(check: OfBlocks) -> Look[CallEvidence]:
        @of_calls(requirements, READS)
        @wraps(check)
        def look(call: CallEvidence) -> Iterator[Judgement]:
            block = block_of(call)
            if block is not None and of_objects and block.header_length is not None:
                yield inconclusive(NO_OBJECTS, call)
            elif block is not None:
                yield from check(call, block)

        return look

    return look_of


def definitions_of(item: Structure) -> Iterator[Definition]:
    """Walks over the counter definitions of an audited winperf object, which follow its header, and yields each."""
    for number, definition in enumerate(item.fields.get("counters", ())):
        yield Definition(f"{item.path}.counters[{number}]", definition)


def counter_blocks_of(item: Structure) -> Iterator[Structure]:
    """Yields the counter blocks of a winperf object: its own if it never has instances, else one for each instance."""
    if (own := item.fields.get("counter_block")) is not None:
        yield Structure(f"{item.path}.counter_block", own, item.start + item.fields.get("definition_length", 0))
    for instance in item.instances:
        if (counters := instance.fields.get("counter_block")) is not None:
            start = instance.start + instance.fields.get("byte_length", 0)
            yield Structure(f"{instance.path}.counter_block", counters, start)
