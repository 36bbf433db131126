"""The columns of a row in the table of calls: their meaning, their number formats, and the facts that only few calls have.

`call_table.py` describes the log beside them. The columns are no annotations of a type: evaluating those of a row takes a
hundredth of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple, get_args

from msgspec import Struct, msgpack

from analyzer.core.absence import Missing
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.calls.call import (
    AuthFacts,
    CallState,
    InterfaceFacts,
    PerformanceRead,
    Side,
    SmbFacts,
    StubProblem,
    Syntax,
    Transport,
)
from analyzer.results.methods.return_kinds import return_kind
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import AuthInfo, Identity


class StoredColumn(Struct, frozen=True):
    """A column of numbers in the table of calls: its format in `struct`, what it says, whether it is -1 where it is absent, and
    whether it is a time."""

    form: str
    meaning: str
    may_lack: bool = False
    is_time: bool = False


# A row of the table of calls, but for its two sides. By its first frame (that of the answer where there is no request) a call has
# its place among others; frames settle what has the same time.
OF_CALL: Mapping[str, StoredColumn] = {
    "context": StoredColumn("I", "its presentation context: row of `contexts`, from 0"),
    "opnum": StoredColumn("i", "number of the method", may_lack=True),
    "method": StoredColumn("I", "name of the method: row of `texts`"),
    "call_id": StoredColumn("I", "call_id of its PDUs"),
    "context_id": StoredColumn("I", "p_cont_id of its PDUs"),
    "state": StoredColumn("B", "number of its state among " + ", ".join(get_args(CallState))),
    "status": StoredColumn("q", "return value of the method", may_lack=True),
    "fault": StoredColumn("q", "status of a DCERPC fault", may_lack=True),
    "smb": StoredColumn("I", "how SMB carried it: row of `smbs`"),
    "key_number": StoredColumn("q", "number of its key handle or service handle", may_lack=True),
    "handle": StoredColumn(
        "i", "query handle of an answered poll: row of `handles`; null for other calls", may_lack=True
    ),
    "first_time": StoredColumn("q", "time of the first frame of the request", is_time=True),
    "first_frame": StoredColumn("q", "number of that frame"),
    "begin_time": StoredColumn("q", "time of the last frame of the request", is_time=True),
    "begin_frame": StoredColumn("q", "number of that frame"),
    "end_time": StoredColumn("q", "time of the first frame of the answer", may_lack=True, is_time=True),
    "end_frame": StoredColumn("q", "number of that frame", may_lack=True),
    "last_time": StoredColumn("q", "time of the last frame of the answer", may_lack=True, is_time=True),
    "place": StoredColumn("Q", "offset in the log of its parameters and of its rare facts, which few calls have"),
    "rare": StoredColumn("I", "length of the rare facts in the log"),
}
# The columns of a side of a call, but for its PDUs. Their names have `request_` or `response_` before them.
OF_SIDE: Mapping[str, StoredColumn] = {
    "side": StoredColumn(
        "b", "0 if the stub is present, else the number of the reason why it is missing", may_lack=True
    ),
    "stub_length": StoredColumn("I", "length of the stub in bytes"),
    "wire_length": StoredColumn("Q", "length of the captured part of the stub as it was sent"),
    "flags": StoredColumn(
        "B",
        "bits: 1 the stub is big-endian, 2 its verification trailer is right, 4 the trailer is wrong, 8 the response time is "
        "unknown: the last frame of the request or the first one of the answer was not captured, or the clock went back, 16 "
        "a request or answer that came before it on its channel was captured later",
    ),
    "buffer_kind": StoredColumn(
        "b", "number of the layout of lpData among " + ", ".join(get_args(BufferKind)), may_lack=True
    ),
    "buffer_start": StoredColumn("i", "offset of lpData in the stub", may_lack=True),
    "buffer_stop": StoredColumn("i", "end of lpData in the stub", may_lack=True),
    "params": StoredColumn("I", "length of its parameters in the log"),
}


class PdusRow(NamedTuple):
    """The columns of the PDUs of a side in the table of calls, named likewise. In the log lie where they were captured, their
    bytes, what was unsealed of them, and where each of several ends."""

    pdus: int
    pdus_place: int
    origins: int
    whole: int
    unsealed: int
    ends: int
    stub_start: int
    stub_stop: int
    steps: int
    step: int


OF_PDUS: Mapping[str, StoredColumn] = {
    "pdus": StoredColumn("I", "number of PDUs"),
    "pdus_place": StoredColumn("Q", "offset in the log of the PDUs and what belongs to them"),
    "origins": StoredColumn("I", "length in the log of the places where the PDUs were captured"),
    "whole": StoredColumn("I", "length of the PDUs in the log"),
    "unsealed": StoredColumn("i", "length of the unsealed stubs in the log; null if nothing was sealed", may_lack=True),
    "ends": StoredColumn("I", "length in the log of the list of their ends"),
    "stub_start": StoredColumn("I", "of a single PDU: offset of its stub"),
    "stub_stop": StoredColumn("I", "of a single PDU: end of its stub"),
    "steps": StoredColumn("I", "decoding steps that were needed to reach the PDUs: row of `steps`"),
    "step": StoredColumn("I", "step that unsealed the PDUs: row of `texts`"),
}
# All columns of the table, in the order of a row.
STORED: Mapping[str, StoredColumn] = {
    **OF_CALL,
    **{
        side + name: column
        for side in ("request_", "response_")
        for columns in (OF_SIDE, OF_PDUS)
        for name, column in columns.items()
    },
}
FORMATS: Mapping[str, str] = {name: column.form for name, column in STORED.items()}
BIG_ENDIAN, TRAILER_OK, TRAILER_BAD, UNTIMED, OVERTOOK = 1, 2, 4, 8, 16
# PDUs that were carried or unsealed in different ways: each is described by itself, among the rare facts.
APART = (1 << 32) - 1

STATES: tuple[CallState, ...] = get_args(CallState)
KINDS: tuple[BufferKind, ...] = get_args(BufferKind)
STATE_NUMBERS = {state: number for number, state in enumerate(STATES)}
KIND_NUMBERS: dict[BufferKind | None, int] = {None: -1, **{kind: number for number, kind in enumerate(KINDS)}}
MISSING = (None, *Missing)
MISSING_NUMBERS = {missing: number for number, missing in enumerate(MISSING)}
TRAILER_FLAGS: Mapping[Literal["ok", "bad"], int] = {"ok": TRAILER_OK, "bad": TRAILER_BAD}


def flags_of(side: Side) -> int:
    """Returns the flags of a call's side as the number in the table's column."""
    flags = BIG_ENDIAN if side.big_endian else 0
    if side.verification_trailer is not None:
        flags |= TRAILER_FLAGS[side.verification_trailer]
    if side.overtook_ns is not None:
        flags |= OVERTOOK
    return flags | UNTIMED if side.is_untimed else flags


def trailer_of(flags: int) -> Literal["ok", "bad"] | None:
    """Returns whether the verification trailer of a call's side is right, read from the flags column; None if there is none."""
    return "ok" if flags & TRAILER_OK else "bad" if flags & TRAILER_BAD else None


def latencies_in(column: Callable[[str], Any]) -> tuple[Any, Any]:
    """Returns two arrays made of the columns of calls: which calls have a latency, and each latency (`Call.latency_ns`)."""
    latency = column("end_time") - column("begin_time")
    is_known = (latency >= 0) & (column("response_flags") & UNTIMED == 0)
    return is_known & (column("request_side") >= 0) & (column("response_side") >= 0), latency


def return_kinds_in(column: Callable[[str], Any], contexts: Sequence[Context]) -> Any:
    """Returns a column with the kind of status of each row (`Call.return_kind`), made of the columns `context` and `opnum`."""
    import numpy as np

    from analyzer.core.array_functions import distinct  # what is printed while it is read needs no arrays

    # A case may state any number.
    codes = column("context").astype(np.int64) * _METHODS + np.clip(column("opnum"), -1, _METHODS - 2) + 1
    different = distinct(codes)
    found = [return_kind(contexts[one // _METHODS].interface.uuid, one % _METHODS - 1) for one in different.tolist()]
    return np.array(found, np.int64)[np.searchsorted(different, codes)]


# There are fewer numbers of methods (C706 section 12.6.4.9), and -1 for a method that is not known.
_METHODS = 1 << 17


class Context(Struct, array_like=True, frozen=True, cache_hash=True):
    """The fields that the rows of all calls of one presentation context have in common, as a rule. One column has their number."""

    client: Endpoint
    server: Endpoint
    transport: Transport
    pipe: str | None
    session: int | None
    auth: AuthFacts
    interface: InterfaceFacts
    syntax: Syntax
    channel: int
    impersonation: int | None
    security: AuthInfo
    smb_identity: Identity | None


context_of = attrgetter(*Context.__struct_fields__)


NO_PDUS = PdusRow(0, 0, 0, 0, -1, 0, 0, 0, 0, 0)
NO_SIDE = (-1, 0, 0, 0, -1, -1, -1, 0, *NO_PDUS)
PackedPlains = tuple[bytes | int | None, ...]


class RareOfSide(Struct, array_like=True, frozen=True, gc=False):
    frames_of_dropped: tuple[int, ...] = ()
    problem: StubProblem | None = None
    plains: PackedPlains | None = None
    apart: tuple[tuple[PdusRow, PackedPlains | None], ...] = ()
    overtook_ns: int | None = None


class RareOfCall(Struct, array_like=True, frozen=True, gc=False):
    """Facts that only few calls have. They are saved beside the columns of the table of calls."""

    reason: str | None = None
    read: PerformanceRead | None = None
    key: str | None = None
    path: str | None = None
    request: RareOfSide | None = None
    response: RareOfSide | None = None


class SharedValues(Struct, frozen=True, eq=False):
    """Values that many calls share. Columns of the table of calls have their numbers."""

    contexts: Sequence[Context]
    smbs: Sequence[SmbFacts | None]
    texts: Sequence[str | None]
    steps: Sequence[tuple[str, ...]]
    handles: Sequence[tuple[Endpoint, str]]


def rare_of(data: bytes) -> RareOfCall:
    """Decodes the rare facts of a row, which stand beside its columns in the log."""
    return msgpack.decode(data, type=RareOfCall)


PARAMS_DECODER = msgpack.Decoder(dict[str, Any])
NO_RARE = (None,) * len(RareOfCall.__struct_fields__)
NOTHING_RARE, NOTHING_RARE_OF_SIDE = RareOfCall(), RareOfSide()

# How many columns a call has of its own, how many a side has but for its PDUs, and with them; and which is that of parameters.
OWN_OF_CALL, OWN_OF_SIDE, PARAMS_AT = len(OF_CALL), len(OF_SIDE), list(OF_SIDE).index("params")
SIDE_COLUMNS = OWN_OF_SIDE + len(OF_PDUS)
