"""Reads answers to the probe with the analyzer's own parsers: countersets, counters, instances, types of blocks."""

from __future__ import annotations

from analyzer.core.errors import DecodeError
from analyzer.interfaces.buffers import decode_buffer, decode_stub
from analyzer.probe.dcerpc_client import Reply
from analyzer.questions.audit.data_answers import read_answer
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.methods.perflib import Opnum


def data_of(answer: Reply) -> bytes:
    """Returns the `lpData` of an answer to the probe; empty if the call failed or its answer does not decode."""
    if answer.status != 0:
        return b""
    try:
        return decode_stub("perflib-v2", answer.opnum, "response", answer.stub, ndr64=answer.ndr64).data or b""
    except DecodeError:
        return b""


def needed_of(answer: Reply) -> int | None:
    """Returns the buffer size that the server says the probe needs: pdwRtnSize of an answer by opnum 0, 1, 2, 5 or 6."""
    return int.from_bytes(answer.stub[4:8], "little") if answer.status in (0, 8) and len(answer.stub) >= 12 else None


def _tree(answer: Reply, kind: BufferKind) -> dict[str, object]:
    data = data_of(answer)
    return decode_buffer(kind, data).tree if data else {}


def guids_of(answer: Reply) -> list[str]:
    """The countersets that an answer of EnumerateCounterSet lists for the probe."""
    found = _tree(answer, "guids").get("guids", ())
    return list(found) if isinstance(found, list | tuple) else []


def registration_of(answer: Reply) -> tuple[list[int], bool]:
    """The counter ids of a registration that the probe got, and whether the counterset has instances."""
    tree = _tree(answer, "counterset-info")
    counters = tree.get("counters", ())
    ids = [one["counter_id"] for one in counters] if isinstance(counters, list | tuple) else []
    return ids, bool(tree.get("instance_type", 0))


def names_of(answer: Reply) -> list[str]:
    """The instance names that an answer of EnumerateCounterSetInstances lists for the probe."""
    found = _tree(answer, "instances").get("instances", ())
    return [one.get("name") or "" for one in found] if isinstance(found, list | tuple) else []


def block_types_of(answer: Reply) -> list[int]:
    """Returns the types of the blocks in a data answer to the probe."""
    assert answer.opnum == Opnum.QUERY_COUNTER_DATA
    data = data_of(answer)
    return [block.kind for block in read_answer(data).blocks] if data else []
