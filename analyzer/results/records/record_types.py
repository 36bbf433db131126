"""What every record type is made of: frozen structs whose fields say in their annotations what they hold.

A record type is written once, with `doc` for each field: what it is, its unit, and the document it comes from. JSON lines, tables,
JSON Schema files and the tables of docs/output.md are derived from that. The class docstring is the record's description.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from analyzer.core.events import Event

# The unit of a point in time.
INSTANT = "ns since 1970 UTC"


class Kind(StrEnum):
    """The kind of the values of a record's field: one word for people."""

    NUMBER = "number"
    STATUS = "status"  # a Win32 code, by number or name
    FAULT = "fault status"
    REQUEST_CODE = "request code"
    COUNTER_TYPE = "counter type"
    SECONDS = "seconds"
    TIME = "time"
    TEXT = "text"
    CHOICE = "word"
    METHOD = "method"
    INTERFACE = "interface"
    NAME = "name or GUID"
    HANDLE = "handle"
    GUID = "GUID"
    ADDRESS = "address"
    FLAG = "true or false"
    ANY = "anything"
    GROUP = "group"  # is there or not, and has no value of its own


def doc(
    text: str,
    *,
    unit: str | None = None,
    source: str | None = None,
    kind: Kind | None = None,
    words: Sequence[str] = (),
    in_tables: bool = True,
) -> Meta:
    """What a field of a record holds: a phrase, the unit of its number (`ns`, `bytes`), and the document and section that define
    it. For filters: `kind` where its type does not say it, and the `words` that it has names for where there may be others. Not
    `in_tables`: only JSON has it."""
    extra = {key: value for key, value in (("unit", unit), ("source", source)) if value is not None}
    known: dict[str, Any] = {"kind": kind} if kind is not None else {}
    if words:
        known |= {"kind": Kind.CHOICE, "words": tuple(words)}
    if not in_tables:
        known |= {"in_tables": False}
    return Meta(description=text, extra_json_schema=extra or None, extra=known or None)


# A number of 64 bits without a sign; others have one.
Unsigned = Annotated[int, Meta(ge=0)]


class Value(Struct, frozen=True):
    """A part of records: it has no line of its own."""


class Record(Event, frozen=True, kw_only=True, tag_field="record"):
    """One line of output. The tag of the class is its `record` key. Layers emit records as they do events."""


# Frames by Wireshark's numbers, ascending; the file of each where there are several.
Frames = Annotated[tuple[int, ...], doc("numbers of the frames that carried it, as Wireshark counts them, ascending")]
FrameFiles = Annotated[
    tuple[int, ...] | UnsetType,
    doc("for each of `frames` the position of its file in `files`; left out where there is but one file"),
]
# Of what a record counts, how much others may have changed.
Altered = Annotated[
    int | UnsetType,
    doc(
        "how many of what it counts have a signature that does not fit: others may have changed them; left out where none has"
    ),
]
# Whether others may have changed what a record rests on.
IsAltered = Annotated[
    bool | UnsetType,
    doc(
        "true where a signature of what this rests on does not fit: others may have changed it; else left out. Tables have no "
        "column for it",
        in_tables=False,
    ),
]
# How far what was sealed could be read.
Decryption = Annotated[
    Literal[
        "decrypted",
        "not sealed",
        "no key given for this principal",
        "key given, wrong",
        "handshake not in the capture",
        "bytes missing",
        "algorithm unsupported",
    ],
    doc("whether encrypted messages could be decrypted, else why not"),
]


class Endpoint(Value, frozen=True, cache_hash=True, order=True):
    """One end of a connection: address and port."""

    ip: Annotated[str, doc("address as text", source="RFC 5952 for IPv6", kind=Kind.ADDRESS)]
    port: Annotated[int, doc("TCP port")]

    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if ":" in self.ip else f"{self.ip}:{self.port}"


class Extent(Value, frozen=True):
    """A run of captured bytes in one frame."""

    frame: Annotated[int, doc("number of the frame, as Wireshark counts them")]
    start: Annotated[int, doc("first byte, counted from the beginning of the frame's captured bytes", unit="bytes")]
    length: Annotated[int, doc("how many bytes", unit="bytes")]


class PlaceExtent(Value, frozen=True, kw_only=True):
    """A run of captured bytes."""

    frames: Frames
    frame_files: FrameFiles = UNSET
    start: Annotated[int, doc("first byte, counted from the beginning of the frame's captured bytes", unit="bytes")]
    length: Annotated[int, doc("how many bytes", unit="bytes")]
