"""Remarks on what is unusual and can be read all the same: a compiled buffer in, a sentence for each remark out.

Sizes that disagree with what they size, and bytes that no field claims; where nothing is lost, nothing is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyzer.interfaces.buffers.adapt import contained


def remarks(spec: str, compiled: Any, size: int) -> Iterator[str]:
    """The remarks on a buffer of `size` bytes, read whole or in part."""
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
    """Whether reading came to the last field; of a damaged buffer, what is left is not left over."""
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
        # What the instances take up, with their header: the block without its own header, counter ids and rest.
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
