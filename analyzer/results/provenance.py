"""Provenance of a result: its input files, options and limits. They suffice to make it again, and to check its capture.

`DatasetOrigin` states the dataset of `collect` that an analysis was made of, and the numbers that its calls have there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from analyzer.results.records.record_types import Record, Value, doc

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


# ----------------------------------------------------------------------------------------------------------- provenance


class Given(Struct, frozen=True):
    """The files, options (in words), interfaces and filter of calls that a command was given."""

    files: tuple[str, ...]
    options: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    filter: str | None = None


class FileDigest(Struct, frozen=True):
    """Size in bytes and SHA-256 in hexadecimal of an input file when it was read; both None if it could not be read."""

    name: str
    size: int | None
    sha256: str | None


class Input(Value, frozen=True, kw_only=True):
    """A file that went into a result. Files of secrets are not among them: their digests would help to guess them."""

    role: Annotated[str, doc("`capture`, `metadata`, `baseline` or `triggered`")]
    name: Annotated[str, doc("as given; `-` is standard input")]
    size: Annotated[int | None, doc("null where it could not be read", unit="bytes")]
    sha256: Annotated[str | None, doc("of the file as it is, compressed or not; null likewise", source="FIPS 180-4")]


class EvidenceRecord(Record, frozen=True, kw_only=True, tag="evidence"):
    """What a result was made from: the first record, with `--hash`."""

    tool: Annotated[str, doc("name of this program")]
    version: Annotated[str, doc("its version")]
    command: Annotated[str, doc("the command")]
    options: Annotated[
        dict[str, str], doc("options that were given, by name, but for secrets and where the result went")
    ]
    inputs: Annotated[tuple[Input, ...], doc("the files it was made from, captures in the order of `files`")]
    limits_reached: Annotated[tuple[str, ...], doc("each limit that was reached, once, as its problem says it")]
    result: Annotated[
        str | None,
        doc(
            "of all bytes of the result, with these 64 digits as zeros; null on a terminal",
            source="SHA-256, FIPS 180-4",
        ),
    ]


# Where the record stands in Parquet's metadata, and the name of the property that holds it in JUnit XML.
EVIDENCE_KEY = "pcq-analyzer.evidence"
# Stands before the record in text. The last such line is ours, whatever names a capture holds.
TEXT_MARK = "evidence: "
# Stands before the digest of a text.
TEXT_RESULT = "  result  sha256 "


def evidence_lines(record: EvidenceRecord) -> Iterator[str]:
    """Yields the evidence record as text for people: one line, then one for each file and limit."""
    options = "".join(f" --{name} {value}".rstrip() for name, value in record.options.items())
    yield f"{TEXT_MARK}{record.tool} {record.version}, {record.command}{options}"
    for item in record.inputs:
        size = f"{item.size} bytes" if item.size is not None else "unreadable"
        yield f"  {item.role}  sha256 {item.sha256 or '-'}  {size}  {item.name}"
    for text in record.limits_reached:
        yield f"  limit  {text}"
    if record.result is not None:
        yield f"{TEXT_RESULT}{record.result}"


# ------------------------------------------------------------------------------------------------------- dataset origin


# A conversation's number stands in front of its own numbers, which have so many bits.
NUMBER_SHIFT = 32


class DatasetOrigin:
    """The dataset that an analysis was made of, by its directory or URL. `numbers` are the numbers of calls in the dataset's
    tables, in the order of the analysis; they are not sorted. `cases` are the case files on this machine, by the number of their
    conversation."""

    def __init__(self, path: str, captures: int, numbers: npt.NDArray[np.int64], cases: Mapping[int, str]) -> None:
        self.path, self.captures, self.cases = path, captures, cases
        self._numbers = numbers
        self._order = numbers.argsort()

    def known_as(self, number: int) -> int:
        """Returns the number that a call of the analysis has in the dataset's tables."""
        return int(self._numbers[number - 1])

    def number_of(self, known: int) -> int:
        """Returns the number in the analysis of a call with this number in the dataset's tables."""
        return int(self._order[self._numbers.searchsorted(known, sorter=self._order)]) + 1

    def in_case(self, known: int) -> tuple[str, int] | None:
        """Returns the case file with a call of the dataset's tables, and its number there; None if it is on another machine."""
        case = self.cases.get(known >> NUMBER_SHIFT)
        return (case, known & ((1 << NUMBER_SHIFT) - 1)) if case is not None else None
