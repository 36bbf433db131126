"""A buffer that `decode` is given without a capture: its kind, its records, its samples, and its bytes as a layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from analyzer.capture.decompression import capture_in
from analyzer.core.errors import InputError
from analyzer.core.traced_bytes import untraced
from analyzer.interfaces.buffers.buffer_trees import BufferDecode, decode_buffer
from analyzer.interfaces.buffers.field_map import map_fields
from analyzer.interfaces.buffers.kind_guess import Guess, guess_kind
from analyzer.interfaces.buffers.value_rows import perf_data_rows, winperf_rows
from analyzer.interfaces.call_contents.call_field_maps import status_name
from analyzer.interfaces.call_contents.raw_samples import sample_record
from analyzer.interfaces.pcq.perflib_samples import samples_of as perflib_samples_of
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.interfaces.redaction.redacted_stubs import redacted_buffer
from analyzer.interfaces.winperf.winperf_samples import samples_of as winperf_samples_of
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.field_tree_records import BufferProblem, BufferRecord
from analyzer.results.records.display_records import LayerBytes
from analyzer.results.records.sample import SampleRecord
from analyzer.results.reported_names.counter_name_tables import NameTable
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.screens.viewmodel.call_layers import form_of, layer_of
from analyzer.screens.viewmodel.layer_fields import fields_of


class LoneBuffer(Struct, frozen=True):
    """A buffer without a capture, of `kind`. `guess` says why this kind was chosen and how sure that is, None if the user named it.
    `others` are the kinds that would fit as well."""

    data: bytes
    kind: BufferKind
    guess: Guess | None
    samples: bool = False
    source: str | None = None
    others: tuple[str, ...] = ()

    @classmethod
    def from_bytes(cls, data: bytes, kind: str, *, samples: bool = False, source: str | None = None) -> Self:
        """Makes a lone buffer of these bytes, of the named or guessed kind. Raises `InputError` if `kind` is `auto` and nothing
        fits, or if `samples` are asked of a kind that has none.
        """
        guess = None
        others: tuple[str, ...] = ()
        chosen = kind
        if kind == "auto":
            if (capture := capture_in(data)) is not None:
                raise InputError(
                    f"{source or 'this'} is {capture}, not a buffer",
                    hint="timeline shows the calls in it; decode reads what one of them carried (or name the kind with --as)",
                )
            guesses = guess_kind(data)
            if not guesses:
                raise InputError(
                    f"these {len(data)} bytes look like no buffer of ours",
                    hint="name the kind with --as, or the place where it begins with --at",
                )
            guess, *more = guesses
            chosen, others = guess.kind, tuple(other.kind for other in more)
        if samples and chosen not in ("perf-data", "winperf"):
            raise InputError(f"a buffer of kind {chosen} holds no samples", hint="perf-data and winperf do")
        return cls(data, chosen, guess, samples, source, others)  # type: ignore[arg-type]  # the command allows only these names

    def redacted(self, names: Pseudonyms) -> Self:
        """Returns this lone buffer with pseudonyms for names; bytes that no field describes are zero."""
        return replace(self, data=redacted_buffer(self.kind, self.data, names))

    def inputs(self) -> tuple[str, ...]:
        return () if self.source is None else (self.source,)

    def decoded(self) -> BufferDecode:
        return decode_buffer(self.kind, self.data)

    def records(self) -> Iterator[BufferRecord | SampleRecord]:
        if self.samples:
            yield from self.sample_records()
            return
        decoded = self.decoded()
        problem = decoded.problem
        yield BufferRecord(
            kind=self.kind,
            guess=self.guess.why if self.guess is not None else None,
            confidence=self.guess.confidence if self.guess is not None else None,
            others=self.others,
            length=len(self.data),
            consumed=decoded.consumed,
            buffer=decoded.tree,
            notes=tuple(decoded.notes),
            problem=BufferProblem(problem.field, problem.start, problem.reason) if problem is not None else None,
        )

    def sample_records(self) -> Iterator[SampleRecord]:
        if self.kind == "perf-data":
            return map(sample_record, perflib_samples_of(perf_data_rows(self.data), None, Catalog()))
        return map(sample_record, winperf_samples_of(winperf_rows(self.data), NameTable()))

    def layer(self) -> LayerBytes:
        """Returns the bytes of the lone buffer as a layer with its fields."""
        mapped = map_fields(self.kind, self.data, status_name=status_name)
        fields = fields_of(None, self.kind, self.data, lambda: form_of(mapped))
        return layer_of("buffer", self.kind, untraced(self.data), fields, parent="")
