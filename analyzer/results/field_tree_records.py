"""Records of bytes beside their meaning: fields of stubs and buffers, the PDUs that carried them, and a place in them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType

from analyzer.results.calls.call import CallRecord, PduRecord, SideName
from analyzer.results.records.record_types import FrameFiles, PlaceExtent, Record, Value, doc


class FieldNode(Value, frozen=True, kw_only=True):
    """A field of a stub or a buffer, with its bytes and the fields in it."""

    name: Annotated[str, doc("id of the field in `ksy/`")]
    spelling: Annotated[str | None, doc("its name in the specification")]
    type: Annotated[str, doc("`u4`, `utf-16le`, `bytes`, ..., or the name of a structure")]
    offset: Annotated[int, doc("where it begins in the stub or buffer", unit="bytes")]
    length: Annotated[int, doc("its length", unit="bytes")]
    value: Annotated[Any, doc("its value; null of a structure")]
    meaning: Annotated[str | None, doc("name of the value, where it has one")]
    frames: Annotated[tuple[int, ...] | UnsetType, doc("numbers of the frames that carried it; only of a capture")] = (
        UNSET
    )
    frame_files: FrameFiles = UNSET
    children: Annotated[tuple[FieldNode, ...] | UnsetType, doc("the fields in it; left out where there are none")] = (
        UNSET
    )
    raw: Annotated[str | UnsetType, doc("its bytes in hexadecimal; left out where there are `children`")] = UNSET


class CarrierLayer(Value, frozen=True):
    """A frame, TCP payload or SMB message that carried a side of a call."""

    id: Annotated[str, doc("`request.frame1`, `response.smb1`")]
    length: Annotated[int, doc("how many bytes it has", unit="bytes")]
    steps: Annotated[tuple[str, ...], doc("what was undone to reach its bytes")]
    fields: Annotated[FieldNode, doc("its bytes as a tree of fields")]


class SideLayers(Value, frozen=True):
    """The request or the response of a call, layer by layer."""

    pdus: Annotated[tuple[PduRecord, ...], doc("the PDUs that carried it")]
    stub: Annotated[FieldNode | None, doc("the stub as a tree of fields; null where its layout is not known")]
    buffer: Annotated[FieldNode | None, doc("`lpData` as a tree of fields; null where its layout is not known")]
    carriers: Annotated[
        tuple[CarrierLayer, ...] | UnsetType, doc("what carried the PDUs, outermost first; only with `--packets`")
    ] = UNSET
    carriers_missing: Annotated[str | UnsetType, doc("why there are no `carriers`; only with `--packets`")] = UNSET


class ShowRecord(CallRecord, frozen=True, kw_only=True, tag="call"):
    """A call with each layer of its two sides."""

    layers: Annotated[dict[SideName, SideLayers], doc("of `request` and `response`, as far as they were captured")]


class PlaceRecord(Record, frozen=True, kw_only=True, tag="place"):
    """One place in a call, and where it was captured."""

    call: Annotated[int, doc("number of the call")]
    path: Annotated[str, doc("the place, as `--field` takes it")]
    found: Annotated[bool, doc("whether a field of this name was read; if not, the place is what is around it")]
    part: Annotated[str, doc("what `bytes` counts in: `response stub`, `request PDU 1`")]
    bytes: Annotated[tuple[int, int], doc("start and stop of the range", unit="bytes")]
    raw: Annotated[str, doc("the bytes in hexadecimal")]
    value: Annotated[Any, doc("value of the field")]
    meaning: Annotated[str | None, doc("name of the value, where it has one")]
    steps: Annotated[tuple[str, ...], doc("what was undone to reach the bytes")]
    extents: Annotated[tuple[PlaceExtent, ...], doc("where they were captured")]


class BufferProblem(Value, frozen=True):
    """Damage of a buffer."""

    field: Annotated[str, doc("which field")]
    offset: Annotated[int | None, doc("where, counted from the beginning of the buffer", unit="bytes")]
    reason: Annotated[str, doc("what is wrong, in a sentence")]


class BufferRecord(Record, frozen=True, kw_only=True, tag="buffer"):
    """A buffer that came without a capture."""

    kind: Annotated[str, doc("how it is laid out")]
    guess: Annotated[str | None, doc("why that kind; null where it was named")]
    confidence: Annotated[
        Literal["certain", "likely", "possible"] | None, doc("how sure that is; null where the kind was named")
    ]
    others: Annotated[tuple[str, ...], doc("kinds that fit as well")]
    length: Annotated[int, doc("its length", unit="bytes")]
    consumed: Annotated[int, doc("how much of it the layout describes", unit="bytes")]
    buffer: Annotated[dict[str, Any], doc("its content, by the ids of `ksy/`")]
    notes: Annotated[tuple[str, ...], doc("readings that were chosen")]
    problem: Annotated[BufferProblem | None, doc("its damage")]
