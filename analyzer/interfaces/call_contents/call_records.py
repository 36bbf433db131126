"""Makes the records of calls out of the rows of their table (docs/output.md). Every output of call records uses them: JSON Lines,
tables, the page of `report`, and lines for other programs.

The records of problems stand here too: those of decoded calls are found with their buffers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import starmap
from typing import Any

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.byte_origins import FrameExtent
from analyzer.core.caches import cached_property
from analyzer.core.errors import DecodeError
from analyzer.core.events import Problem
from analyzer.core.output.json import Pieces
from analyzer.core.times import iso_time
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces import buffers
from analyzer.interfaces.call_contents.client_programs import client_programs
from analyzer.interfaces.call_contents.damaged_buffers import Damages, buffer_order
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import (
    Call,
    CallRecord,
    CountersetFacts,
    PerformanceRead,
    ReadFacts,
    RegistryFacts,
    Side,
    SideName,
    SideRecord,
    key_handle_uuid,
)
from analyzer.results.calls.held_calls import HeldCall, HeldSide, held_call_of
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods import perflib, scmr, winreg
from analyzer.results.methods.return_kinds import status_name
from analyzer.results.records.capture_records import ProblemRecord
from analyzer.results.records.record_types import Endpoint, PlaceExtent
from analyzer.results.registry_and_service_facts import registry_value, service_facts
from analyzer.results.reported_names.counter_name_tables import value_in_words
from analyzer.transport.rpc.rpc_names import fault_name

# --------------------------------------------------------------------------------------------------------- call records


# Bytes of a stub that are held at once.
_LONG = 1 << 20
# Records of calls that are alike, which are kept.
_MOST_ALIKE = 1 << 10


def known_stub(side: Side, opnum: int | None) -> TracedBytes | Missing:
    """Returns the stub of a call's side, for its record. Without its request, an answer's method is unknown: its stub counts as
    undecodable."""
    return side.stub if opnum is not None else Missing.UNDECODABLE


def _handle_of(query: QueryView | None, held: HeldCall) -> tuple[str | None, str | None]:
    """Returns name and UUID of the handle for a call's record."""
    if query is not None:
        return f"q{query.number}", query.handle
    if held.key_number is None:
        return None, None
    kind = "s" if held.shared.interface.uuid == scmr.INTERFACE else "k"
    return f"{kind}{held.key_number}", key_handle_uuid(held.request, held.response)


class CallRecords:
    """Makes the records of an analysis's calls, one after the other."""

    def __init__(self, analysis: Analysis, *, for_json: bool = False) -> None:
        """With `for_json`, buffers are `Raw` if their JSON is quickly made. Only code that writes JSON as it is can use these."""
        # A reader of a stream replaces it by the analysis so far.
        self.analysis = analysis
        self._programs = client_programs(analysis)
        self._for_json = for_json
        self._before: int | None = None
        self._known: dict[Hashable, CallRecord] = {}

    @cached_property
    def _texts(self) -> buffers.TreeTexts:
        """The texts of buffers that are alike, for call records; a capture without buffers has none."""
        return buffers.TreeTexts()

    def records_of(self, numbers: Sequence[int], damages: Damages | None = None) -> Iterator[CallRecord]:
        """Makes the records of the calls with these numbers, each with the time since the one before it. Notes damage of their
        buffers in `damages`."""
        for number, query, held, call in self._rows(numbers):
            yield self._after_the_last(number, query, held, call, damages)

    def go_on_after(self, time_ns: int | None) -> None:
        """Sets the time of the call before the next call record; None if there is none before."""
        self._before = time_ns

    def after_the_last(self, call: Call, damages: Damages | None = None) -> CallRecord:
        """Makes the call record of one more call, with the time since the call of the record before."""
        return self._after_the_last(call.number, call.query, held_call_of(call), call, damages)

    def heads(self, numbers: Sequence[int]) -> Iterator[CallRecord]:
        """Yields call records without `request` and `response`. These would cost hashes and trees of buffers."""
        return starmap(self._record, self._rows(numbers))

    def head(self, call: Call) -> CallRecord:
        """Returns one call's record without `request` and `response`."""
        return self._record(call.number, call.query, held_call_of(call, stubs=False), call)

    def record(self, call: Call, damages: Damages | None = None) -> CallRecord:
        """Returns the record of one call, without a time since another."""
        held = held_call_of(call)
        return self._record(call.number, call.query, held, call, sides=self._sides(call.number, held, damages))

    def _rows(self, numbers: Sequence[int]) -> Iterator[tuple[int, QueryView | None, HeldCall, Call | None]]:
        """Yields for each call record: the number, the state of the query handle, the held call, and the `Call` if it had to be
        read."""
        calls = self.analysis.calls
        views, states = calls.views, calls.states
        for number, held in zip(numbers, calls.held(numbers), strict=True):
            view, call = views[number - 1], None
            if held is None:
                held = held_call_of(call := calls[number - 1])
            yield number, states[view] if view >= 0 else None, held, call

    def _after_the_last(
        self, number: int, query: QueryView | None, held: HeldCall, call: Call | None, damages: Damages | None
    ) -> CallRecord:
        delta = held.time_ns - self._before if self._before is not None else None
        self._before = held.time_ns
        return self._record(number, query, held, call, delta, self._sides(number, held, damages))

    def _record(
        self,
        number: int,
        query: QueryView | None,
        held: HeldCall,
        call: Call | None,
        time_delta_ns: int | UnsetType | None = UNSET,
        sides: tuple[SideRecord | None, SideRecord | None] = (None, None),
    ) -> CallRecord:
        """Returns the record of a call. The `Call` is only read for the few facts that need it."""
        shared, rare, time_ns = held.shared, held.rare, held.time_ns
        interface, begun = shared.interface.uuid, self.analysis.capture.first_time_ns
        handle, handle_uuid = _handle_of(query, held)
        counterset, registry, service = None, None, None
        if interface == perflib.INTERFACE:
            if held.request is not None and "CounterSetGuid" in held.request.params:
                counterset = self._counterset(held.request.params["CounterSetGuid"], shared.server)
        elif interface == scmr.INTERFACE:
            service = service_facts(call or self.analysis.calls[number - 1])
        elif interface == winreg.INTERFACE and (rare.path is not None or (rare.key is None and rare.read is None)):
            registry = registry_facts(call or self.analysis.calls[number - 1])
        record = replace(
            self._alike(held),
            number=number,
            time_ns=time_ns,
            call_id=held.call_id,
            context_id=held.context_id,
            reason=rare.reason,
            time=iso_time(time_ns),
            time_relative_ns=time_ns - begun if begun is not None else None,
            time_delta_ns=time_delta_ns,
            latency_ns=held.latency_ns,
            handle=handle,
            handle_uuid=handle_uuid,
            request=sides[0],
            response=sides[1],
        )
        if counterset is None and registry is None and service is None and rare.read is None:
            return record
        read = self._read(rare.read, shared.server) if rare.read is not None else None
        return replace(record, counterset=counterset, registry=registry, service=service, read=read)

    def _alike(self, held: HeldCall) -> CallRecord:
        """Returns a call record with what many calls have alike, made once for them. A record with all its keywords takes five
        times as long as its own fields."""
        shared, opnum, status, fault = held.shared, held.opnum, held.status, held.fault
        key = shared, held.smb, opnum, held.method, held.state, status, fault
        known = self._known.get(key)
        if known is None:
            if len(self._known) == _MOST_ALIKE:
                self._known.clear()
            interface, program = shared.interface.uuid, self._programs.between(shared.client, shared.server)
            known = self._known[key] = CallRecord(
                number=0,
                time_ns=0,
                client=shared.client,
                server=shared.server,
                transport=shared.transport,
                pipe=shared.pipe,
                session=shared.session,
                smb=held.smb,
                auth=shared.auth,
                interface=shared.interface,
                syntax=shared.syntax,
                opnum=opnum,
                method=held.method,
                call_id=0,
                context_id=0,
                state=held.state,
                reason=None,
                status=status,
                fault=fault,
                time="",
                time_relative_ns=None,
                status_name=status_name(interface, opnum, status) if status is not None else None,
                fault_name=fault_name(fault) if fault is not None else None,
                latency_ns=None,
                handle=None,
                handle_uuid=None,
                counterset=None,
                request=None,
                response=None,
                read=None,
                program=program.name if program is not None else None,
            )
        return known

    def _counterset(self, guid: object, server: Endpoint) -> CountersetFacts | None:
        """Returns the counterset that a PerflibV2 call asks about, for its record."""
        return (
            CountersetFacts(guid, self.analysis.catalogs.catalog_of(server).label(guid))
            if isinstance(guid, str)
            else None
        )

    def _read(self, read: PerformanceRead, server: Endpoint) -> ReadFacts:
        """Returns the read of a performance value that a call belongs to, for its record."""
        words = value_in_words(read.value_name, self.analysis.name_tables.table_of(server), read.key)
        return ReadFacts(read.number, read.attempt, read.key, words)

    def _sides(
        self, number: int, held: HeldCall, damages: Damages | None
    ) -> tuple[SideRecord | None, SideRecord | None]:
        """Returns both sides for a call's record. Notes damage of their buffers in `damages`."""
        request, wrong = self._side(held.request, held.opnum) if held.request is not None else _NO_SIDE
        response, wrong_answer = self._side(held.response, held.opnum) if held.response is not None else _NO_SIDE
        if damages is not None:
            damages.note_call(number, held, wrong, wrong_answer)
        return request, response

    def _side(self, held: HeldSide, opnum: int | None) -> tuple[SideRecord, DecodeError | None]:
        """Returns one side for a call's record, and the damage of its buffer. The stub of an unknown method counts as
        undecodable."""
        params, kind, stub, missing = held.params, held.buffer_kind, held.stub, held.missing
        if opnum is None:
            missing = Missing.UNDECODABLE
        tree, problem, notes = self._tree(held, stub) if kind is not None and stub is not None else _NO_TREE
        frames, files, facts = held.frames, _NO_FILES, self.analysis.capture
        if len(facts.files) > 1:
            frames, files = facts.numbered(frames)
        digest = None
        if missing is None and stub is not None:
            digest = sha256(stub).hexdigest() if isinstance(stub, bytes) else _digest(stub)
        record = SideRecord(
            frames=frames,
            frame_files=files,
            stub_length=held.stub_length if missing is None else None,
            stub_sha256=digest,
            wire_length=held.wire_length,
            why_missing=missing.value if missing is not None else None,
            verification_trailer=held.verification_trailer,
            params=params,
            buffer_kind=kind,
            buffer=tree,  # type: ignore[arg-type]  # `Pieces` are `Raw` that is not made yet
            buffer_notes=tuple(notes) if notes else UNSET,
            buffer_problem=str(problem) if problem is not None else UNSET,
        )
        return record, problem

    def _tree(self, held: HeldSide, stub: bytes | TracedBytes) -> _Tree:
        """Returns the tree of a buffer for a call's record, its damage, and its notes."""
        kind, span, order = held.buffer_kind, held.buffer_span, buffer_order(held)
        if kind is None or span is None:
            return _NO_TREE
        data = stub[span[0] : span[1]] if isinstance(stub, bytes) else stub.part(*span)
        if self._for_json and (made := self._texts.tree(kind, data, big_endian=order)) is not None:
            return made.text, made.problem, made.notes
        decoded = buffers.decode_buffer(kind, data, big_endian=order)
        return decoded.tree, decoded.problem.alone() if decoded.problem is not None else None, decoded.notes


_Tree = tuple[dict[str, Any] | Raw | Pieces | None, DecodeError | None, Sequence[str]]
_NO_TREE: _Tree = (None, None, ())
_NO_SIDE = (None, None)
_NO_FILES: tuple[int, ...] | UnsetType = UNSET


def _digest(stub: TracedBytes) -> str:
    """The SHA-256 of a long stub in a call's record."""
    found = sha256()
    for at in range(0, len(stub), _LONG):
        found.update(stub.part(at, min(at + _LONG, len(stub))))
    return found.hexdigest()


def call_record(call: Call, analysis: Analysis) -> CallRecord:
    """The record of one call."""
    return CallRecords(analysis).record(call, None)


def registry_facts(call: Call) -> RegistryFacts | None:
    """The key and value that a winreg call is about, for its record; None for performance keys and other interfaces."""
    value = registry_value(call)
    if not call.is_winreg or (call.path is None and value is None):
        return None
    content = value.content() if value is not None else None
    return RegistryFacts(
        call.path,
        value.name if value is not None else None,
        value.type_name if value is not None else None,
        content.hex() if isinstance(content, bytes) else tuple(content) if isinstance(content, list) else content,
    )


# --------------------------------------------------------------------------------------------------------- problem records


def place_extents(extents: Iterable[FrameExtent], facts: CaptureFacts) -> tuple[PlaceExtent, ...]:
    """Returns where bytes were captured, with Wireshark's frame numbers, for the record of a place."""
    out = []
    for extent in extents:
        frames, files = facts.numbered((extent.frame,))
        out.append(PlaceExtent(frames=frames, frame_files=files, start=extent.start, length=extent.length))
    return tuple(out)


def problem_record(problem: Problem, facts: CaptureFacts) -> ProblemRecord:
    frames, files = facts.numbered(problem.frames)
    return ProblemRecord(kind=problem.kind, layer=problem.layer, frames=frames, frame_files=files, text=problem.text)


def shown_problems(analysis: Analysis) -> Iterator[Problem]:
    """Yields the problems that get records beside the call records of the shown calls: those that name one of their frames. If the
    calls are consecutive, a frame between their first and last one counts too. Yields all problems if all calls are shown."""
    if analysis.part is None:
        yield from all_problems(analysis)
        return
    numbers = analysis.part.numbers
    frames = {
        frame for _, call in analysis.shown for side in (call.request, call.response) if side for frame in side.frames
    }
    is_stretch = bool(frames) and numbers[-1] - numbers[0] + 1 == len(numbers)
    between = range(min(frames), max(frames)) if is_stretch else ()
    for problem in all_problems(analysis):
        if any(frame in between or frame in frames for frame in problem.frames):
            yield problem


def all_problems(analysis: Analysis, damages: Damages | None = None) -> Iterator[Problem]:
    """Yields all problems that get records beside those of calls: those of the layers, then those of decoded calls (damaged buffers
    and stubs that do not decode).

    `damages` describes the buffers that were decoded before, which need not be decoded again.
    """
    yield from analysis.problems
    damages = damages if damages is not None else Damages()
    for number in damages.unsure(analysis.calls):
        yield from call_problems(analysis.calls[number - 1], damages)


def call_problems(call: Call, damages: Damages) -> Iterator[Problem]:
    """Yields the problems that get records beside that of one decoded call; `damages` is described at `all_problems`."""
    number, layer = call.number, "pcq" if call.is_perflib else "winperf" if call.is_winreg else scmr.NAME
    sides: tuple[tuple[SideName, Side | None], ...] = ("request", call.request), ("response", call.response)
    for name, side in sides:
        if side is None:
            continue
        if side.problem is not None:
            text = f"call #{number}: {name} stub does not decode: {side.problem}"
            if side.problem.undecoded is not None:
                text += f"; {side.problem.undecoded} of {side.stub_length} bytes are not decoded"
            yield Problem("malformed", layer, side.frames, text)
        if (damage := damages.problem_of(number, name, side)) is not None:
            found = Problem.from_error(layer, damage, side.frames)
            text = f"call #{number}: {side.buffer_kind} buffer of the {name} is damaged: {found.text}"
            yield Problem(found.kind, layer, found.frames, text)
