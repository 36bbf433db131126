"""`decode`: a buffer that somebody holds without a capture, as a record, as samples or as a tree beside its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzer.buffers import (
    BufferDecode,
    BufferKind,
    decode_buffer,
    guess_kind,
    map_fields,
    perf_data_rows,
    winperf_rows,
)
from analyzer.core.errors import InputError
from analyzer.core.traced import untraced
from analyzer.model.records import Record
from analyzer.model.samples import perflib_json, winperf_json
from analyzer.pcq.catalog import Catalog
from analyzer.pcq.samples import samples_of as perflib_samples_of
from analyzer.report.text import counter_path, safe
from analyzer.report.tree import tree_lines
from analyzer.report.words import status_name
from analyzer.winperf.names import NameTable
from analyzer.winperf.samples import samples_of as winperf_samples_of

if TYPE_CHECKING:
    import polars as pl

# `0010: 5000 4500 ...  P.E.` (xxd), `00000010  50 00 45 00  |P.E.|` (hexdump -C), Wireshark's and ours.
_DUMP_LINE = re.compile(
    r"^\s*[0-9a-fA-F]{2,8}:?\s\s*((?:[0-9a-fA-F]{2,8}\s{1,3})*[0-9a-fA-F]{2,8})(?:\s{2,}.*|\s*\|.*\|)?\s*$"
)
_PLAIN_HEX = re.compile(rb"^(?:[0-9a-fA-F]{2}[\s,:]*)+$")


def bytes_of(data: bytes) -> bytes:
    """The buffer in a file: the bytes themselves, or what a hex dump spells out."""
    stripped = data.strip()
    if not stripped or not stripped.isascii() or b"\0" in stripped:
        return data
    compact = stripped.removeprefix(b"0x")
    if _PLAIN_HEX.match(compact):
        return bytes.fromhex(re.sub(rb"[\s,:]", b"", compact).decode())
    lines = stripped.decode().splitlines()
    found = [_DUMP_LINE.match(line) for line in lines]
    if not all(found):
        return data
    return bytes.fromhex("".join(re.sub(r"\s", "", match[1]) for match in found if match))


@dataclass(frozen=True, slots=True)
class Decode:
    """A buffer of `kind`; `guess` says why the kind was chosen, None where the user named it."""

    data: bytes
    kind: BufferKind
    guess: str | None
    samples: bool = False

    @classmethod
    def of(cls, data: bytes, kind: str, *, samples: bool = False) -> Decode:
        """Raises `InputError` where `kind` is `auto` and nothing fits."""
        guess = None
        chosen = kind
        if kind == "auto":
            guesses = guess_kind(data)
            if not guesses:
                raise InputError(
                    f"these {len(data)} bytes look like no buffer of ours",
                    hint="name the kind with --as, or the place where it begins with --at",
                )
            chosen, guess = guesses[0]
        return cls(data, chosen, guess, samples)  # type: ignore[arg-type]  # the command allows only these names

    def decoded(self) -> BufferDecode:
        return decode_buffer(self.kind, self.data)

    def records(self) -> Iterator[Record]:
        if self.samples:
            yield from self._samples()
            return
        decoded = self.decoded()
        problem = decoded.problem
        yield {
            "record": "buffer",
            "kind": self.kind,
            "guess": self.guess,
            "length": len(self.data),
            "consumed": decoded.consumed,
            "buffer": decoded.tree,
            "notes": list(decoded.notes),
            "problem": None
            if problem is None
            else {"field": problem.field, "offset": problem.start, "reason": problem.reason},
        }

    def _samples(self) -> Iterator[Record]:
        common: Record = {"record": "sample", "call": None, "time_ns": None}
        if self.kind == "perf-data":
            for sample in perflib_samples_of(perf_data_rows(self.data), None, Catalog()):
                yield common | {"source": "perflib-v2", "server": None} | perflib_json(sample)
        elif self.kind == "winperf":
            for value in winperf_samples_of(winperf_rows(self.data), NameTable()):
                yield common | {"source": "winperf", "server": None} | winperf_json(value)
        else:
            raise InputError(f"a buffer of kind {self.kind} holds no samples", hint="perf-data and winperf do")

    def lines(self, width: int | None) -> Iterator[str]:
        if self.samples:
            for record in self._samples():
                yield safe(f"{counter_path(record)} = {record['raw']}")
            return
        if self.guess is not None:
            yield f"[bold]{self.kind}[/] ({safe(self.guess)})"
        else:
            yield f"[bold]{self.kind}[/]"
        mapped = map_fields(self.kind, self.data, status_name=status_name)
        yield from tree_lines(mapped, untraced(self.data), None, width)
        if mapped.problem is None and (left := len(self.data) - self.decoded().consumed) > 0:
            yield f"  {left} bytes follow the buffer"

    def table(self) -> pl.DataFrame:
        from analyzer.report.tables import records_table

        return records_table(self.records())
