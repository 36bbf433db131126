"""The records of `timeline` and `sessions`, made of the calls, problems and sessions of an analysis (docs/output.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from msgspec import UNSET, Raw, UnsetType

from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Problem
from analyzer.core.frames import file_of, number_of
from analyzer.core.ntstatus import nt_status_name
from analyzer.core.output.json import Pieces
from analyzer.core.times import iso_time
from analyzer.core.traced import Extent, TracedBytes
from analyzer.core.win32 import win32_name
from analyzer.interfaces.buffers import BufferDecode, ReadyTrees, decode_buffer, find_damage
from analyzer.interfaces.buffers.regular import RegularReader
from analyzer.results import scmr
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.call import (
    Call,
    CallRecord,
    CountersetFacts,
    ReadFacts,
    RegistryFacts,
    Side,
    SideName,
    SideRecord,
)
from analyzer.results.call_table import OrderedCalls, Tally
from analyzer.results.capture import SCHEMA, CaptureRecord, ProblemRecord, SessionRecord, StreamRecord, SummaryRecord
from analyzer.results.connection import SmbSession
from analyzer.results.name_tables import value_in_words
from analyzer.results.record import PlaceExtent, Record
from analyzer.results.registry import registry_value
from analyzer.results.service import service_facts
from analyzer.transport.rpc.status import fault_name


def numbered(frames: tuple[int, ...], facts: CaptureFacts) -> tuple[tuple[int, ...], tuple[int, ...] | UnsetType]:
    """`frames` as Wireshark's numbers, and with several files the position in `files` of each."""
    if len(facts.files) <= 1:
        return frames, UNSET  # ids of the first file are the numbers
    return tuple([number_of(frame) for frame in frames]), tuple([file_of(frame) for frame in frames])


def place_extents(extents: Iterable[Extent], facts: CaptureFacts) -> tuple[PlaceExtent, ...]:
    """Where bytes were captured, with the numbers of the frames."""
    out = []
    for extent in extents:
        frames, files = numbered((extent.frame,), facts)
        out.append(PlaceExtent(frames=frames, frame_files=files, start=extent.start, length=extent.length))
    return tuple(out)


def capture_record(facts: CaptureFacts) -> CaptureRecord:
    return CaptureRecord(
        schema=SCHEMA,
        files=facts.files,
        frames=facts.frames,
        bytes=facts.bytes,
        first_time_ns=facts.first_time_ns,
        last_time_ns=facts.last_time_ns,
    )


def stream_record(facts: CaptureFacts) -> StreamRecord:
    return StreamRecord(schema=SCHEMA, files=facts.files, first_time_ns=facts.first_time_ns, names_from="now")


def decoded_buffer(side: Side | None) -> BufferDecode | None:
    """The decoded `lpData` of one side, None where there is none or its layout is unknown."""
    if side is None or side.buffer_span is None or side.buffer_kind is None:
        return None
    return decode_buffer(side.buffer_kind, side.buffer_data, big_endian=buffer_order(side))


def buffer_damage(side: Side) -> DecodeError | None:
    """What is wrong with the `lpData` of one side."""
    if side.buffer_span is None or side.buffer_kind is None:
        return None
    return find_damage(side.buffer_kind, side.buffer_data, big_endian=buffer_order(side))


def buffer_order(side: Side) -> bool | None:
    """Whether the buffer is big-endian. An array of GUIDs follows the call's data representation; others say it or have none."""
    return side.big_endian if side.buffer_kind == "guids" else None


class Damages:
    """What is wrong with the sides of calls that were decoded already, so that they need not be decoded again for that."""

    def __init__(self, first: int = 0) -> None:
        """Of calls with this number and higher ones."""
        self._first = first
        # For each call a bit for each side of which it is known that nothing is wrong.
        self._sound = bytearray()
        self._buffers: dict[tuple[int, SideName], DecodeError] = {}
        self._reader: RegularReader | None = None

    def note(self, number: int, name: SideName, side: Side, damage: DecodeError | None) -> None:
        """A side was decoded: what is wrong with its buffer."""
        if damage is not None:
            self._buffers[number, name] = damage
        elif side.problem is None:
            self.note_sound(number, name)

    def note_sound(self, number: int, name: SideName) -> None:
        """Nothing is wrong with a side."""
        self._set(number, name)

    def note_without_buffers(self, calls: OrderedCalls) -> None:
        """Notes what the columns of all calls state: with a side without a buffer, and without a problem, nothing is wrong."""
        import numpy as np

        count = len(calls)
        self._sound.extend(bytes(max(count + 1 - len(self._sound), 0)))
        sound = np.frombuffer(self._sound, np.uint8)[1 : count + 1]
        # A problem is among what few calls have.
        is_plain = calls.column("rare") == 0
        for name, bit in _BITS.items():
            sound[is_plain & (calls.column(f"{name}_buffer_kind") < 0)] |= bit

    def note_absent(self, number: int, name: SideName, side: Side | None) -> None:
        """A side was looked at: where it has neither a buffer nor a problem, nothing is wrong."""
        if side is None or (side.buffer_span is None and side.problem is None):
            self._set(number, name)

    def _set(self, number: int, name: SideName) -> None:
        at = number - self._first
        if at >= len(self._sound):
            self._sound.extend(bytes(at + 1024 - len(self._sound)))
        self._sound[at] |= _BITS[name]

    def _known(self, number: int) -> int:
        """The bits of a call."""
        at = number - self._first
        return self._sound[at] if at < len(self._sound) else 0

    def is_sound(self, number: int) -> bool:
        """Whether nothing is wrong with both sides, as far as it was looked at."""
        return self._known(number) == 3

    def of(self, number: int, name: SideName, side: Side) -> DecodeError | None:
        """What is wrong with the buffer of a side; it is decoded where that was not done before."""
        known = self._buffers.get((number, name))
        if known is None and not self._known(number) & _BITS[name]:
            known = self._found(side)
            self.note(number, name, side, known)
        return known

    def of_call(self, call: Call) -> Iterator[DecodeError | None]:
        """What is wrong with the buffers of both sides of a call, as far as they are there."""
        sides: tuple[tuple[SideName, Side | None], ...] = ("request", call.request), ("response", call.response)
        return (self.of(call.number, name, side) for name, side in sides if side is not None)

    def _found(self, side: Side) -> DecodeError | None:
        """What is wrong with the buffer of a side, which is decoded; one of a layout that was met before is compared with that."""
        if side.buffer_kind == "perf-data" and side.buffer_span is not None:
            self._reader = self._reader or RegularReader()
            if self._reader.read(side.buffer_data) is not None:
                return None
        return buffer_damage(side)


_BITS: dict[SideName, int] = {"request": 1, "response": 2}
# Bytes of a stub that are held at once.
_LONG = 1 << 20


def known_stub(side: Side, opnum: int | None) -> TracedBytes | Missing:
    """The stub of a side. That of an unknown method (its request was not captured) counts as undecodable: nothing can be stated
    of what it means."""
    return side.stub if opnum is not None else Missing.UNDECODABLE


def side_record(
    call: Call,
    name: SideName,
    facts: CaptureFacts,
    damages: Damages | None = None,
    *,
    ready: ReadyTrees | None = None,
) -> SideRecord | None:
    """One side of a call. What is wrong with its buffer is noted in `damages`; what `ready` can make of its buffer, is `Raw`."""
    side = call.request if name == "request" else call.response
    if side is None:
        if damages is not None:
            damages.note_absent(call.number, name, side)
        return None
    missing = side.missing if call.opnum is not None else Missing.UNDECODABLE
    frames, files = numbered(side.frames, facts)
    # A short stub is read once, a long one in parts.
    data = side.stub_data if missing is None and side.stub_length <= _LONG else None
    tree, problem, notes = _buffer_of(side, data, ready)
    if damages is not None:
        damages.note(call.number, name, side, problem)
    return SideRecord(
        frames=frames,
        frame_files=files,
        stub_length=None if missing is not None else len(data) if data is not None else side.stub_length,
        stub_sha256=None if missing is not None else sha256(data).hexdigest() if data is not None else _digest(side),
        wire_length=side.wire_length,
        why_missing=missing.value if missing is not None else None,
        verification_trailer=side.verification_trailer,
        params=side.params,
        buffer_kind=side.buffer_kind,
        buffer=tree,  # type: ignore[arg-type]  # `Pieces` are `Raw` that is not made yet
        buffer_notes=tuple(notes) if notes else UNSET,
        buffer_problem=str(problem) if problem is not None else UNSET,
    )


def _digest(side: Side) -> str:
    """The SHA-256 of a long stub."""
    found, stub = sha256(), side.stub
    assert not isinstance(stub, Missing)
    for at in range(0, len(stub), _LONG):
        found.update(stub.part(at, min(at + _LONG, len(stub))))
    return found.hexdigest()


def _buffer_of(
    side: Side, stub: bytes | None, ready: ReadyTrees | None
) -> tuple[dict[str, Any] | Raw | Pieces | None, DecodeError | None, Sequence[str]]:
    """The tree of the buffer of a side, whose stub may be at hand; what is wrong with it, and what else there is to say."""
    if side.buffer_span is None or side.buffer_kind is None:
        return None, None, ()
    data = stub[slice(*side.buffer_span)] if stub is not None else side.buffer_data
    kind, order = side.buffer_kind, buffer_order(side)
    if ready is not None and (made := ready.tree(kind, data, big_endian=order)) is not None:
        return made.text, made.problem, made.notes
    decoded = decode_buffer(kind, data, big_endian=order)
    return decoded.tree, decoded.problem.alone() if decoded.problem is not None else None, decoded.notes


def call_record(
    call: Call,
    analysis: Analysis,
    damages: Damages | None = None,
    *,
    ready: ReadyTrees | None = None,
    time_delta_ns: int | UnsetType | None = UNSET,
    sides: bool = True,
) -> CallRecord:
    """The record of a call. What is wrong with its buffers is noted in `damages`; `ready` as for `side_record`. Without `sides`,
    which cost hashes and the trees of buffers, these are None."""
    facts = analysis.capture
    counterset = call.counterset
    read = None
    if call.read is not None:
        words = value_in_words(call.read.value_name, analysis.name_tables.of(call.server), call.read.key)
        read = ReadFacts(call.read.number, call.read.attempt, call.read.key, words)
    return CallRecord(
        number=call.number,
        time_ns=call.time_ns,
        client=call.client,
        server=call.server,
        transport=call.transport,
        pipe=call.pipe,
        session=call.session,
        smb=call.smb,
        auth=call.auth,
        interface=call.interface,
        syntax=call.syntax,
        opnum=call.opnum,
        method=call.method,
        call_id=call.call_id,
        context_id=call.context_id,
        state=call.state,
        reason=call.reason,
        status=call.status,
        fault=call.fault,
        time=iso_time(call.time_ns),
        time_relative_ns=call.time_ns - facts.first_time_ns if facts.first_time_ns is not None else None,
        time_delta_ns=time_delta_ns,
        status_name=win32_name(call.status) if call.status is not None else None,
        fault_name=fault_name(call.fault) if call.fault is not None else None,
        latency_ns=call.latency_ns,
        handle=call.handle,
        handle_uuid=call.handle_uuid,
        counterset=CountersetFacts(counterset, analysis.catalogs.of(call.server).label(counterset))
        if counterset is not None
        else None,
        request=side_record(call, "request", facts, damages, ready=ready) if sides else None,
        response=side_record(call, "response", facts, damages, ready=ready) if sides else None,
        registry=registry_facts(call),
        service=service_facts(call),
        read=read,
    )


def delta_before(number: int, call: Call, analysis: Analysis) -> int | None:
    """Nanoseconds since the call before call `number` in the capture; None for the first."""
    return call.time_ns - analysis.calls[number - 2].time_ns if number > 1 else None


class CallRecords:
    """Makes the records of calls that are shown, one after the other."""

    def __init__(self, *, for_json: bool = False) -> None:
        """`for_json`, buffers whose JSON is quickly had are `Raw`, for those who write it as it is."""
        self._ready = ReadyTrees() if for_json else None
        self._before: int | None = None

    def record(self, call: Call, analysis: Analysis, damages: Damages | None = None) -> CallRecord:
        """The record of the next call. What is wrong with its buffers is noted in `damages`."""
        delta = call.time_ns - self._before if self._before is not None else None
        self._before = call.time_ns
        return call_record(call, analysis, damages, ready=self._ready, time_delta_ns=delta)


def call_records(calls: Iterable[tuple[int, Call]], analysis: Analysis) -> Iterator[CallRecord]:
    """The records of some calls; buffers whose JSON is quickly had come as JSON text."""
    made = CallRecords(for_json=True)
    return (made.record(call, analysis) for _, call in calls)


def registry_facts(call: Call) -> RegistryFacts | None:
    """The key and value that a winreg call is about; None for performance keys and other interfaces."""
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


def problem_record(problem: Problem, facts: CaptureFacts) -> ProblemRecord:
    frames, files = numbered(problem.frames, facts)
    return ProblemRecord(kind=problem.kind, layer=problem.layer, frames=frames, frame_files=files, text=problem.text)


def shown_problems(analysis: Analysis) -> Iterator[Problem]:
    """The problems of the calls that were asked for: those that name a frame of theirs; of calls that follow each other, also
    a frame between the first and the last of theirs. All of them where all calls are shown."""
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
    """The problems of the layers, then those of decoded calls: damaged buffers and stubs that do not decode.

    `damages` describes the buffers that were decoded before, which need not be decoded again.
    """
    yield from analysis.problems
    damages = damages if damages is not None else Damages()
    damages.note_without_buffers(analysis.calls)
    for number in range(1, len(analysis.calls) + 1):
        if damages.is_sound(number):
            continue
        yield from call_problems(analysis.calls[number - 1], damages)


def call_problems(call: Call, damages: Damages) -> Iterator[Problem]:
    """The problems of a decoded call; `damages` as for `all_problems`."""
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
        if (damage := damages.of(number, name, side)) is not None:
            found = Problem.of(layer, damage, side.frames)
            text = f"call #{number}: {side.buffer_kind} buffer of the {name} is damaged: {found.text}"
            yield Problem(found.kind, layer, found.frames, text)


def summary_record(
    tally: Mapping[Tally, int], sessions: int, problems: Counter[str], shown: int, selected_by: str | None
) -> SummaryRecord:
    """Counts: calls by state, by interface and method, problems by kind. `tally` counts all calls, and `shown` those shown."""
    states: Counter[str] = Counter()
    methods: Counter[str] = Counter()
    for (state, interface, method), count in tally.items():
        states[state] += count
        methods[f"{interface}.{method}"] += count
    return SummaryRecord(
        calls=sum(tally.values()),
        calls_by_state=_sorted(states),
        calls_by_method=_sorted(methods),
        problems=sum(problems.values()),
        problems_by_kind=_sorted(problems),
        sessions=sessions,
        calls_shown=shown,
        selected_by=selected_by,
    )


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if count}


def session_record(session: SmbSession, facts: CaptureFacts) -> SessionRecord:
    identity = session.identity
    frames, files = numbered(session.frames, facts)
    return SessionRecord(
        session=session.number,
        session_id=f"{session.session_id:#018x}",
        client=session.client,
        server=session.server,
        dialect=session.dialect,
        client_guid=session.client_guid,
        server_guid=session.server_guid,
        cipher=session.cipher,
        signing=session.signing,
        mechanism=identity.mechanism,
        user=identity.account,
        user_source=identity.account_source,
        claimed_user=identity.claimed_otherwise,
        granted=identity.granted,
        anonymous=identity.is_anonymous,
        refused=session.refused,
        refused_name=nt_status_name(session.refused) if session.refused is not None else None,
        domain=identity.domain,
        workstation=identity.workstation,
        server_name=identity.server_name,
        server_domain=identity.server_domain,
        server_dns_name=identity.server_dns_name,
        server_dns_domain=identity.server_dns_domain,
        server_os_version=identity.os_version,
        client_os_version=identity.client_os_version,
        service=identity.service,
        realm=identity.realm,
        etype=identity.etype,
        kvno=identity.kvno,
        decryption=session.decryption.value,
        reason=session.reason,
        first_time_ns=session.first_time_ns,
        last_time_ns=session.last_time_ns,
        frames=frames,
        frame_files=files,
        encrypted_messages=session.encrypted_messages,
        decrypted_messages=session.decrypted_messages,
        signed_messages=session.signed_messages,
        verified_messages=session.verified_messages,
        trees=session.trees,
        pipes=session.pipes,
    )


def timeline_records(
    analysis: Analysis,
    *,
    shown: Sequence[tuple[int, Call]] | None = None,
    selected_by: str | None = None,
    for_json: bool = False,
) -> Iterator[Record]:
    """Everything `timeline` says, in the order it says it: all calls, or those `shown`, selected by what the text says.

    `for_json`, buffers whose JSON is quickly had are `Raw`, for those who write it as it is.
    """
    facts = analysis.capture
    damages = Damages()
    made = CallRecords(for_json=for_json)
    yield capture_record(facts)
    count = 0
    for _, call in shown if shown is not None else enumerate(analysis.calls, 1):
        yield made.record(call, analysis, damages)
        count += 1
    kinds: Counter[str] = Counter()
    for problem in all_problems(analysis, damages):
        kinds[problem.kind] += 1
        yield problem_record(problem, facts)
    yield summary_record(analysis.calls.tally, len(analysis.sessions), kinds, count, selected_by)
