"""Reads a folder of tools/windows/collect.py for `calibrate`, and compares our displayed values with PDH's.

It decodes the buffers in the folder. If the documents contradict each other on a point, it finds which reading a buffer decides.
Output is a record for each buffer, displayed value and decided point.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, TypedDict, cast, get_args

import msgspec
from msgspec import Struct

from analyzer.core.errors import InputError
from analyzer.interfaces.buffers.ambiguous_readings import string_offsets
from analyzer.interfaces.buffers.buffer_trees import decode_buffer
from analyzer.questions.audit.data_answers import FlawKind, read_answer
from analyzer.questions.audit.identifier_lists import read_identifiers
from analyzer.questions.series.formulas import Reading, format_raw
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET
from analyzer.results.records.calibration import (
    CalibrationSummaryRecord,
    CalibrationVerdict,
    DecisionRecord,
    DisplayedRecord,
    StoredBufferRecord,
)
from analyzer.results.records.record_types import Record

_FORMAT = 1
_LAYOUTS = frozenset(get_args(BufferKind))
# PDH takes its samples a moment before or after ours.
_TOLERANCE = 0.05


_Arguments = dict[str, str | int | float | None]


class _Buffer(Struct, frozen=True):
    """An entry of the calibration's manifest: a call that was made on the Windows machine."""

    call: str
    kind: str
    status: int
    file: str | None
    arguments: _Arguments


class _Displayed(TypedDict):
    """An entry of the calibration's manifest: a value that PDH displayed, and the buffers that were read before and after."""

    counterset: str
    counter_id: int
    instance: str
    path: str
    older: str | None
    newer: str | None
    value: float | None


class _Manifest(Struct, frozen=True):
    """The part of the calibration's manifest that this module reads."""

    buffers: list[_Buffer]
    displayed: list[_Displayed]
    failures: list[dict[str, Any]] = []


class CalibrationCall(Struct, frozen=True):
    """One call of a calibration: its name, its status, the buffer that it filled (None: none), and the kind of that buffer."""

    call: str
    kind: str
    status: int
    file: str | None
    arguments: _Arguments
    data: bytes


class StoredCalibration(Struct, frozen=True):
    """The contents of one calibration folder."""

    folder: str
    stored: tuple[CalibrationCall, ...]
    displayed: tuple[_Displayed, ...]
    failures: tuple[dict[str, Any], ...]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Reads the calibration folder that collect.py wrote. Raises `InputError` if it is no such folder."""
        path = folder / "manifest.json"
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["format"] != _FORMAT:
                raise InputError(f"{path} is of format {document['format']}; this program knows {_FORMAT}")
            manifest = msgspec.convert(document, _Manifest)
            stored = tuple(_stored(folder, entry) for entry in manifest.buffers)
            return cls(str(folder), stored, tuple(manifest.displayed), tuple(manifest.failures))
        except OSError as error:
            raise InputError(f"{error.filename} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(
                f"{path} is no manifest of a calibration", hint="tools/windows/collect.py writes one"
            ) from None

    def inputs(self) -> tuple[str, ...]:
        return (str(Path(self.folder) / "manifest.json"),)

    def decisions(self) -> Iterator[DecisionRecord]:
        """Yields every point that the buffers stored beside PDH's values decide, buffer by buffer."""
        single = {
            one.arguments.get("counterset")
            for one in self.stored
            if one.kind == "counterset-info" and len(one.data) >= 32 and not int.from_bytes(one.data[28:32], "little")
        }
        for one in self.stored:
            if one.file is not None:
                for id, reading in _decided(one, single):
                    yield DecisionRecord(id=id, reading=reading, file=one.file)

    def compared(self) -> Iterator[tuple[_Displayed, float | None, str | None]]:
        """Yields each value that PDH displayed: its manifest entry, our value, and why we have none."""
        types = _types(self.stored)
        files: dict[str | None, bytes] = {one.file: one.data for one in self.stored if one.file is not None}
        for entry in self.displayed:
            registered = types.get(entry["counterset"], {})
            info = registered.get(entry["counter_id"])
            older, newer = (_values(files.get(entry[name], b"")) for name in ("older", "newer"))
            if info is None:
                yield entry, None, "the registration of the counter was not stored"
                continue
            key = entry["instance"].casefold()
            readings = [_reading(values, registered, info, key) for values in (older, newer)]
            if readings[1] is None:
                yield entry, None, "the counter is not in the data"
                continue
            formatted = format_raw(info["counter_type"] & 0xFFFFFFFF, readings[0], readings[1])
            value = float(formatted.value) if formatted.value is not None else None
            yield entry, value, None if value is not None else str(formatted.why)

    def records(self) -> Iterator[Record]:
        counts = {"buffers": 0, "damaged": 0, "compared": 0, "differ": 0}
        for one in self.stored:
            problem = _problem(one)
            counts["buffers"] += one.file is not None
            counts["damaged"] += problem is not None
            yield StoredBufferRecord(
                call=one.call,
                arguments=one.arguments,
                status=one.status,
                file=one.file,
                kind=one.kind,
                size=len(one.data),
                problem=problem,
            )
        for entry, value, why in self.compared():
            verdict = _verdict(entry["value"], value)
            counts["compared"] += verdict != "not compared"
            counts["differ"] += verdict == "differs"
            yield DisplayedRecord(
                path=entry["path"],
                instance=entry["instance"],
                value=value,
                pdh=entry["value"],
                why_null=why,
                verdict=verdict,
            )
        decided: dict[str, set[str]] = {}
        for decision in self.decisions():
            decided.setdefault(decision.id, set()).add(decision.reading)
            yield decision
        yield CalibrationSummaryRecord(
            **counts,
            failures=self.failures,
            decided={id: tuple(sorted(readings)) for id, readings in sorted(decided.items())},
        )


def _stored(folder: Path, entry: _Buffer) -> CalibrationCall:
    data = b""
    if entry.file is not None:
        path = folder / entry.file
        if Path(entry.file).name != entry.file or not path.is_file():
            raise ValueError("no file of this folder")
        data = path.read_bytes()
    return CalibrationCall(entry.call, entry.kind, entry.status, entry.file, entry.arguments, data)


def _problem(one: CalibrationCall) -> str | None:
    if one.file is None or one.kind not in _LAYOUTS:
        return None
    found = decode_buffer(cast(BufferKind, one.kind), one.data).problem
    return str(found) if found is not None else None


def _verdict(pdh: float | None, value: float | None) -> CalibrationVerdict:
    if pdh is None or value is None:
        return "not compared"
    return "agrees" if abs(pdh - value) <= _TOLERANCE * max(abs(pdh), abs(value), 1.0) else "differs"


def _types(stored: tuple[CalibrationCall, ...]) -> dict[str, dict[int, dict[str, Any]]]:
    """Returns the registered counters of each counterset in a calibration, by counter id."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for one in stored:
        if one.kind == "counterset-info" and one.file is not None:
            counters = decode_buffer("counterset-info", one.data).tree.get("counters", ())
            found[str(one.arguments.get("counterset"))] = {counter["counter_id"]: counter for counter in counters}
    return found


# Values of a data answer by counterset-wide order of blocks: counter id and folded instance to bytes; and its three clocks.
_Values = tuple[dict[tuple[int, str], bytes], tuple[int, ...]]


def _values(data: bytes) -> _Values:
    answer = read_answer(data)
    found: dict[tuple[int, str], bytes] = {}
    for block in answer.of_type(COUNTERS, COUNTERSET):
        names = list(block.names(data)) or [""]
        for row, name in zip(block.rows, names, strict=False):
            for column, counter in enumerate(block.ids or ()):
                found.setdefault((counter, name.casefold()), row.value(data, column))
    return found, answer.header[2:5] if answer.header is not None else (0, 0, 0)


def _reading(
    values: _Values, registered: dict[int, dict[str, Any]], info: dict[str, Any], instance: str
) -> Reading | None:
    """Returns the reading of one counter and instance in a calibration, as the formulas take it; None if the data lacks it."""
    held, (ticks, now, freq) = values

    def number(counter: int) -> int | None:
        raw = held.get((counter, instance)) if counter in registered or counter == info["counter_id"] else None
        return int.from_bytes(raw, "little") if raw else None

    raw = held.get((info["counter_id"], instance))
    if raw is None:
        return None
    return Reading(
        int.from_bytes(raw, "little"),
        len(raw),
        base=number(info["base_counter_id"]),
        ticks=ticks,
        freq=freq,
        time_100ns=now,
        object_ticks=number(info["perf_time_id"]),
        object_freq=number(info["perf_freq_id"]),
        multi=number(info["multi_id"]),
    )


# ------------------------------------------------------------------------------------------------- what a buffer decides


def _decided(one: CalibrationCall, single: set[Any]) -> Iterator[tuple[str, str]]:
    """Yields the points that one buffer stored beside PDH's values decides, each with the reading it shows."""
    data = one.data
    match one.kind:
        case "string-table" if len(data) >= 8:
            yield from _of_strings(data)
        case "identifiers":
            for block in read_identifiers(data).blocks:
                if block.counterset in single and one.call == "PerfQueryCounterInfo":
                    size = f"Size {block.size}"
                    yield (
                        "AMB-02",
                        f"a single-instance identifier is followed by {'a name' if block.room else 'nothing'}, {size}",
                    )
        case "perf-data":
            yield from _of_data(data)
        case "guids":
            room, needed = one.arguments.get("room"), one.arguments.get("needed")
            if isinstance(needed, int) and 0 < needed == len(data) // 16:
                yield "AMB-19", f"the size is counted in GUIDs ({needed} for {len(data)} bytes, room for {room})"
        case "instances" if one.arguments.get("counterset") in single and one.status == 0:
            yield "AMB-41", f"the instances of a single-instance counterset are listed in {len(data)} bytes"
        case _:
            return


def _of_strings(data: bytes) -> Iterator[tuple[str, str]]:
    size, count = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:8], "little")
    head = 8 + 8 * count
    if head > len(data):
        return
    offsets = [int.from_bytes(data[at + 4 : at + 8], "little") for at in range(8, head, 8)]
    found = string_offsets(data, offsets, head)
    if offsets and not found.lost:
        where = "the start of the block" if found.counts_from_start else "the end of the headers"
        yield "AMB-01", f"offsets of strings count from {where}"
    if size != len(data):
        yield "AMB-25", "dwSize of strings leaves out the padding"
    elif size % 8:
        yield "AMB-21", "a table of strings is not padded to 8"


def _of_data(data: bytes) -> Iterator[tuple[str, str]]:
    answer = read_answer(data)
    if answer.header is None or not answer.blocks:
        return
    yield "AMB-05", "the header of data takes 48 bytes"
    if answer.is_walked and not answer.flaws_of(FlawKind.BLOCK_COUNT):
        yield "AMB-16", "dwNumCounter is the number of blocks"
    for block in answer.blocks:
        for shape, _ in block.shapes:
            for held, size in zip(shape.data_sizes, shape.sizes, strict=True):
                if held % 8:
                    yield "AMB-03", f"dwSize of a value of {held} bytes is {size}"
        if block.ids is not None and len(block.ids) % 2:
            padded = "are padded to 8" if block.ids_size % 8 == 0 else "are not padded in their size"
            yield "AMB-03", f"an odd number of counter ids {padded}"
        if block.kind == COUNTERSET and block.rows and any(block.names(data)):
            yield "AMB-04", "instances of type 6 carry their names"
