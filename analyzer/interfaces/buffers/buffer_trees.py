"""Decodes buffers of both generations: a kind and bytes become a tree of plain values, keyed by the ids in `ksy/`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, get_args

from kaitaistruct import BytesIO, KaitaiStream
from msgspec import Struct

from analyzer.core.errors import DecodeError
from analyzer.interfaces.buffers.compiled_parsers import (
    PARSER_ERRORS,
    Encoding,
    Flavour,
    JsonValue,
    LazyError,
    TreeFiller,
    contained,
    damage_of,
    located,
    parser,
    plain_value,
    unfinished_in,
)
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA
from analyzer.interfaces.buffers.perf_data_trees import perf_data_tree
from analyzer.interfaces.buffers.windows_text import without_unpaired
from analyzer.results.buffer_kinds import BufferKind

KINDS: tuple[BufferKind, ...] = get_args(BufferKind)
SPECS: dict[BufferKind, str] = {
    "guids": "ms_pcq_guid_list",
    "counterset-info": "ms_pcq_counterset_info",
    "counter-info": "ms_pcq_counter_info",
    "string": "ms_pcq_string",
    "string-table": "ms_pcq_string_table",
    "guid": "ms_pcq_provider_guid",
    "instances": "ms_pcq_instance_list",
    "identifiers": "ms_pcq_identifier_list",
    "perf-data": "ms_pcq_perf_data",
    "winperf": "winperf",
    "name-table": "name_table",
}
# Kinds whose text the compiled parsers decode themselves, and strictly.
_STRICT_TEXT: dict[BufferKind, int] = {"string": 0, "string-table": 8, "name-table": 0}


class BufferDecode(Struct, frozen=True):
    """A decoded buffer: its tree up to `problem` (None for an undamaged buffer), and notes on the readings that were chosen.

    An object of winperf.h that is damaged costs no other one: `problem` is the first damage, and the tree holds what was read
    of each object.
    """

    kind: BufferKind
    tree: dict[str, Any]
    consumed: int
    problem: DecodeError | None
    notes: tuple[str, ...]


class ParsePlan(Struct, frozen=True):
    """The plan for parsing a buffer to a tree: the parameters of its description, chosen from the data."""

    kind: BufferKind
    data: bytes
    arguments: tuple[Any, ...]
    reading: Encoding
    notes: tuple[str, ...]

    def fresh(self, flavour: Flavour) -> Any:
        """Makes the object over the buffer's data that becomes its tree by this plan. The plain flavour reads at once, the other
        one with `_read`."""
        return parser(SPECS[self.kind], flavour)(*self.arguments, KaitaiStream(BytesIO(self.data)))


def plan_for(kind: BufferKind, data: bytes, big_endian: bool | None) -> ParsePlan:
    """Plans how to parse a buffer to a tree, and by which of its readings. Raises a DecodeError for a table that must not be
    read."""
    if kind == "guids":
        return ParsePlan(kind, data, (bool(big_endian),), Encoding(bool(big_endian)), ())
    if kind == "perf-data":
        from analyzer.interfaces.buffers.ambiguous_readings import id_paddings  # buffers of winperf have one reading

        paddings, notes = id_paddings(data)
        return ParsePlan(kind, data, (paddings,), Encoding(), tuple(notes))
    if kind == "winperf":
        order = data[:1] == b"\0" or data[8:12] == bytes(4) if big_endian is None else big_endian
        return ParsePlan(kind, data, (order,), Encoding(order), ())
    arguments: tuple[Any, ...] = ()
    notes = []
    if kind == "string-table":
        from analyzer.interfaces.buffers.ambiguous_readings import check_strings, string_table_base

        base, notes = string_table_base(data)
        arguments = (base,)
        check_strings(data, base)
    if kind in _STRICT_TEXT:
        start = _STRICT_TEXT[kind]
        if kind == "string-table":
            start = min(8 + 8 * int.from_bytes(data[4:8], "little"), len(data))
        if len(data) % 2:
            data = data[:-1]
            notes.append("an odd byte at the end is left out")
        replaced = without_unpaired(data, start)
        if replaced is not None:
            data = replaced
            notes.append("unpaired surrogates are shown as U+FFFD")
    return ParsePlan(kind, data, arguments, Encoding(bool(big_endian)), tuple(notes))


def decode_buffer(kind: BufferKind, data: bytes, *, big_endian: bool | None = None) -> BufferDecode:
    """Decodes a buffer of a call to a tree. Damage does not raise: it is the `problem`, and the tree has everything before it."""
    tree = perf_data_tree(data) if kind == "perf-data" else None
    if kind == "winperf" and not big_endian:
        from analyzer.interfaces.buffers.winperf_layout import winperf_tree  # few captures have both generations

        tree = winperf_tree(data)
    if tree is not None:
        return BufferDecode(kind, tree, len(data), None, ())
    return plain_decode(kind, data, big_endian=big_endian)


def find_damage(kind: BufferKind, data: bytes, *, big_endian: bool | None = None) -> DecodeError | None:
    """Returns the `problem` that decoding a buffer to its tree (`decode_buffer`) would find. It makes no tree if that is not
    needed."""
    if kind == "perf-data" and PERF_DATA.read(data) is not None:
        return None
    if kind == "winperf" and not big_endian:
        from analyzer.interfaces.buffers.winperf_layout import WINPERF

        if WINPERF.read(data) is not None:
            return None
    if len(data) > _SHORT:
        return decode_buffer(kind, data, big_endian=big_endian).problem
    return _known_damage(kind, data, big_endian)


# Servers send the metadata of their countersets to every client: buffers up to this length, so many of them, are known again.
_SHORT, _KNOWN = 4096, 1024


@lru_cache(maxsize=_KNOWN)
def _known_damage(kind: BufferKind, data: bytes, big_endian: bool | None) -> DecodeError | None:
    """Returns the damage that the tree of a short buffer would state. The results are cached."""
    problem = decode_buffer(kind, data, big_endian=big_endian).problem
    return problem.alone() if problem is not None else None


def plain_decode(kind: BufferKind, data: bytes, *, big_endian: bool | None = None) -> BufferDecode:
    """Decodes a buffer to a tree like `decode_buffer`, but only with the plain parser."""
    try:
        plan = plan_for(kind, data, big_endian)
    except DecodeError as error:
        return BufferDecode(kind, {}, 0, error, ())
    try:
        compiled = plan.fresh("plain")
        tree = plain_value(compiled, plan.reading)
        return BufferDecode(kind, tree, compiled._io.pos(), None, notes_on(plan, compiled))
    except (*PARSER_ERRORS, LazyError):
        return _damaged(plan)


def notes_on(plan: ParsePlan, compiled: Any) -> tuple[str, ...]:
    """Returns the notes on a buffer beside its tree: the chosen readings, and remarks on what is unusual."""
    return (*plan.notes, *remarks(SPECS[plan.kind], compiled, len(plan.data)))


def _damaged(plan: ParsePlan) -> BufferDecode:
    """Decodes a damaged buffer with recorded positions: its tree up to the damage, and where reading ended."""
    compiled, problem = parse_positions(plan)
    consumed = compiled._io.pos()
    tree: dict[str, JsonValue] = {}
    filler = TreeFiller(unfinished_in(compiled) if problem else ())
    damage = filler.damage
    try:
        filler.fill(compiled, tree, plan.reading)
    except LazyError as error:
        damage.append(error)
    problem, others = damage_of(compiled, problem, damage, len(plan.data))
    notes = (*notes_on(plan, compiled), *others)
    # Its parts lead back to it, and what of them is not damaged would stay until the collector of cycles comes: 180 MB of 2 MB.
    vars(compiled).clear()
    return BufferDecode(plan.kind, tree, min(consumed, len(plan.data)), problem, notes)


def parse_positions(plan: ParsePlan) -> tuple[Any, DecodeError | None]:
    """Parses a buffer by its plan for a tree, with recorded positions, as far as possible. Returns the object, and the error that
    ended it."""
    compiled = plan.fresh("positions")
    try:
        compiled._read()
    except PARSER_ERRORS as error:
        return compiled, located(compiled, error, len(plan.data))
    return compiled, None


def remarks(spec: str, compiled: Any, size: int) -> Iterator[str]:
    """Yields a sentence for each unusual thing in a buffer of `size` bytes that becomes a tree all the same.

    These are sizes that disagree with what they size, and bytes that no field claims. If nothing is lost, nothing is damaged.
    """
    if spec == "ms_pcq_perf_data":
        yield from _perf_data(compiled)
    elif spec == "winperf":
        yield from _winperf(compiled)
    if spec == "ms_pcq_string_table":
        return  # what follows its headers are the strings
    rest = getattr(compiled, "rest", None)
    left = len(rest.strip(b"\0")) and len(rest) if isinstance(rest, bytes) else size - compiled._io.pos()
    if left > 0 and _reached_the_end(compiled):
        yield f"{left} bytes at the end belong to nothing"


def _reached_the_end(compiled: Any) -> bool:
    """Whether parsing a buffer to a tree reached its last field. In a damaged buffer, remaining bytes are not left over."""
    places = getattr(compiled, "_debug", None)
    return places is None or all("end" in place for name, place in places.items() if not name.startswith("_m_"))


def _perf_data(compiled: Any) -> Iterator[str]:
    at = 48
    for number, block in enumerate(getattr(compiled, "blocks", ())):
        body = getattr(block, "body", None)
        rest = getattr(body, "rest", b"")
        # A block is padded to a multiple of 8, which its size counts (Windows SDK, perflib.h, comment on PERF_COUNTER_HEADER).
        if rest and (len(rest) >= 8 or block.size % 8):
            yield f"block {number}: {len(rest)} bytes at its end belong to nothing"
        at += getattr(block, "size", 0)
        inner = getattr(body, "instances", None)
        # Bytes of the instances with their header: the block without its own header, counter ids and rest.
        if inner is not None and hasattr(inner, "instances") and hasattr(body, "rest"):
            ids = getattr(body, "counters", None)
            taken = block.size - 16 - len(rest) - (0 if ids is None else ids.size + len(ids.uncounted))
            if inner.total_size != taken and hasattr(block, "missing"):
                yield f"block {number}: dwTotalSize of the instances is {inner.total_size}, they take {taken} bytes"
    if _reached_the_end(compiled) and hasattr(compiled, "blocks") and compiled.total_size != at:
        yield f"dwTotalSize is {compiled.total_size}, the blocks end at byte {at}"


def _winperf(compiled: Any) -> Iterator[str]:
    objects = getattr(compiled, "objects", ())
    end = getattr(compiled, "header_length", 0) + sum(getattr(item, "total_byte_length", 0) for item in objects)
    if objects and hasattr(compiled, "rest") and end > compiled.total_byte_length:
        total = compiled.total_byte_length
        yield f"TotalByteLength is {total}, the objects end at byte {end} (Samba leaves out the header)"
    for number, item in enumerate(objects):
        body, _ = contained(item, "body")
        sizes = [
            entry.counter_offset + entry.counter_size
            for entry in getattr(body, "counters", ())
            if hasattr(entry, "counter_offset") and entry.counter_size
        ]
        needed = max(sizes, default=0)
        blocks = [getattr(instance, "counter_block", None) for instance in getattr(body, "instances", None) or ()]
        last = blocks[-1] if blocks else getattr(body, "counter_block", None)
        if getattr(last, "byte_length", needed) < needed:
            length = getattr(last, "byte_length", 0)
            yield f"object {number}: the last counter block says {length} bytes and holds values up to byte {needed}"
