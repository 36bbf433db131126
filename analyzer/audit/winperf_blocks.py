"""A PERF_DATA_BLOCK as the rules about winperf.h walk it: every structure with its path, its fields, and where it has to begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from analyzer.audit.checks import cannot_say
from analyzer.audit.evidence import CallEvidence
from analyzer.audit.rule import Reads
from analyzer.audit.verdicts import Judgement
from analyzer.model.winreg import Opnum

# Values of a performance key are read one by one, or enumerated ([MS-RRP] sections 3.1.5.17 and 3.1.5.11).
# With an error the data is undefined.
READS = Reads(
    (Opnum.BASE_REG_QUERY_VALUE, Opnum.BASE_REG_ENUM_VALUE),
    ("response.lpData",),
    interface="winreg",
    success=True,
    damaged=True,
)


class Definition(Struct, frozen=True):
    """The definition of a counter: its `path` for findings, and its fields by the ids of `ksy/`."""

    path: str
    fields: dict[str, Any]


class Structure(Definition, frozen=True):
    """Another structure of a block, with its offset in the block."""

    start: int


class Block(Struct, frozen=True):
    """The block an answer carried, and how many bytes did."""

    fields: dict[str, Any]
    size: int

    @property
    def objects(self) -> Iterator[Structure]:
        """Its objects, each followed by the next at its TotalByteLength; their fields with those of their bodies."""
        at = self.fields.get("header_length", 0)
        for number, item in enumerate(self.fields.get("objects", ())):
            fields = {**item, **(item.get("body") or {})}
            yield Structure(f"lpData.objects[{number}]", fields, at)
            at += item.get("total_byte_length", 0)


def block_of(call: CallEvidence) -> Block | None:
    """The block of an answer; None for answers that carry none."""
    side = call.response
    if side is None or side.side.buffer_kind != "winperf" or side.buffer is None:
        return None
    return Block(side.tree, len(side.data))


def cut_off(requirements: Iterable[str], call: CallEvidence) -> Iterator[Judgement]:
    """What is to be stated of requirements about fields that the damage of a block leaves out."""
    return cannot_say(requirements, "the block is damaged before what is to be judged", call)


def definitions_of(item: Structure) -> Iterator[Definition]:
    """The counter definitions of an object, one after the other behind its header."""
    for number, definition in enumerate(item.fields.get("counters", ())):
        yield Definition(f"{item.path}.counters[{number}]", definition)


def instances_of(item: Structure) -> Iterator[Structure]:
    """The instance definitions of an object, each followed by its counter block."""
    at = item.start + item.fields.get("definition_length", 0)
    for number, instance in enumerate(item.fields.get("instances") or ()):
        yield Structure(f"{item.path}.instances[{number}]", {**instance, **(instance.get("definition") or {})}, at)
        counters = instance.get("counter_block") or {}
        at += instance.get("byte_length", 0) + counters.get("byte_length", 0)


def counter_blocks_of(item: Structure) -> Iterator[Structure]:
    """The counter blocks of an object: its own where it never has instances, else one for each instance."""
    if (own := item.fields.get("counter_block")) is not None:
        yield Structure(f"{item.path}.counter_block", own, item.start + item.fields.get("definition_length", 0))
    for instance in instances_of(item):
        if (counters := instance.fields.get("counter_block")) is not None:
            start = instance.start + instance.fields.get("byte_length", 0)
            yield Structure(f"{instance.path}.counter_block", counters, start)
