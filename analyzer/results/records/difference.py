"""Records of `diff`: what is in one of two sides only, what is there in both and differs, and what could not be compared."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from analyzer.results.calls.call import SideName
from analyzer.results.records.record_types import FrameFiles, Record, Value, doc

Subject = Literal["machine", "account", "counterset", "counter", "process", "service", "conversation", "call"]
DifferenceKind = Literal["only-a", "only-b", "changed"]
WhyNotCompared = Literal["sealed", "not captured", "undecodable", "layout unknown", "too much"]
DiffOutcome = Literal["equal", "different", "incomplete"]


class Occurrence(Value, frozen=True, kw_only=True):
    """Where one side shows it."""

    calls: Annotated[tuple[int, ...], doc("numbers of the first calls, 8 at most; of a dataset, those of its tables")]
    count: Annotated[int, doc("how many calls there are")]
    frames: Annotated[
        tuple[int, ...], doc("numbers of the frames of the first of them, as Wireshark counts them, ascending")
    ]
    frame_files: FrameFiles = UNSET
    altered: Annotated[
        int | UnsetType,
        doc(
            "how many of the calls have a signature that does not fit: others may have changed them; left out where none has. "
            "Tables have no column for it",
            in_tables=False,
        ),
    ] = UNSET


class PropertyDifference(Value, frozen=True):
    """A property that both have, and that differs."""

    name: Annotated[str, doc("which property, in words")]
    a: Annotated[str | None, doc("its value in A; null where A states none")]
    b: Annotated[str | None, doc("its value in B")]


class FieldDifference(Value, frozen=True, kw_only=True):
    """A field of a call that differs."""

    side: Annotated[SideName, doc("of the request or of the response")]
    path: Annotated[str, doc("where, as `show --field` takes it in A, or in B where A has no such field")]
    kind: Annotated[DifferenceKind, doc("whether both have it")]
    a: Annotated[str | None, doc("its value in A")]
    b: Annotated[str | None, doc("its value in B")]
    a_bytes: Annotated[str | None, doc("the first 64 bytes of it in A, hexadecimal")]
    b_bytes: Annotated[str | None, doc("those in B")]
    a_start: Annotated[int | None, doc("where it begins in the stub of A", unit="bytes")]
    b_start: Annotated[int | None, doc("where it begins in the stub of B", unit="bytes")]
    reference: Annotated[str, doc("document and section that define it; empty where nothing is known of it")]
    follows: Annotated[bool, doc("it is a length, count or offset, and follows from another difference")]


class Breach(Value, frozen=True):
    """What the specification says of one side: a requirement that it does not keep there."""

    side: Annotated[Literal["a", "b"], doc("whose call breaks it")]
    rule: Annotated[str, doc("code of the rule of `audit`")]
    requirement: Annotated[str, doc("id of the requirement")]
    statement: Annotated[str, doc("what it demands")]
    seen: Annotated[str | None, doc("what was seen instead")]


class DifferenceRecord(Record, frozen=True, kw_only=True, tag="difference"):
    """One difference."""

    about: Annotated[Subject, doc("what it is about")]
    kind: Annotated[DifferenceKind, doc("in A only, in B only, or in both and not the same")]
    machine: Annotated[str | None, doc("the machine that it is of, by its name in A")]
    name: Annotated[str, doc("what it is called; of calls, the method and what it asks")]
    text: Annotated[str, doc("the difference in one sentence")]
    properties: Annotated[tuple[PropertyDifference, ...], doc("the properties that differ")] = ()
    fields: Annotated[tuple[FieldDifference, ...], doc("of a call: the fields that differ, 64 at most")] = ()
    fields_left_out: Annotated[int, doc("how many more fields differ")] = 0
    breaches: Annotated[tuple[Breach, ...], doc("requirements that one side does not keep in these fields")] = ()
    a: Annotated[Occurrence | None, doc("where A shows it; of calls that differ alike the first is the one described")]
    b: Annotated[Occurrence | None, doc("where B shows it")]


class NotComparedRecord(Record, frozen=True, kw_only=True, tag="not-compared"):
    """Calls of which nothing can be said, and why: they are neither equal nor different."""

    why: Annotated[
        WhyNotCompared,
        doc(
            "`sealed` no key opened them, `not captured` a side of them is missing, `undecodable`, `layout unknown`: the bytes "
            "differ and nothing states which of them are handles, `too much`: more differs than is taken apart"
        ),
    ]
    method: Annotated[
        str, doc("interface and method; `counter`, `process` or the like for what calls of one side show")
    ]
    text: Annotated[str, doc("the same in one sentence")]
    a: Annotated[Occurrence | None, doc("the calls of A")]
    b: Annotated[Occurrence | None, doc("the calls of B")]


class DiffSummaryRecord(Record, frozen=True, kw_only=True, tag="diff-summary"):
    """Both sides and what came of it."""

    a: Annotated[tuple[str, ...], doc("files of A, its dataset, or the baseline")]
    b: Annotated[tuple[str, ...], doc("files of B, or its dataset")]
    a_calls: Annotated[int, doc("calls of A")]
    b_calls: Annotated[int, doc("calls of B")]
    outcome: Annotated[DiffOutcome, doc("`equal`, `different`; `incomplete`: no difference, and not all was compared")]
    text: Annotated[str, doc("the same in one sentence")]
    differences: Annotated[dict[str, int], doc("how many records of differences there are, by what they are about")]
    compared_calls: Annotated[int, doc("pairs of calls that were compared")]
    values: Annotated[int, doc("values of counters in them")]
    values_different: Annotated[int, doc("how many of these differ; alone, they make no difference without `--values`")]
    volatile: Annotated[
        dict[str, int],
        doc("what differs by its nature and is left out: handles, clocks, referent ids, padding, names of the server"),
    ]
