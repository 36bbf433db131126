"""The versioned JSON form of the model: one dictionary a record, as documented in docs/output.md (schema 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct

from analyzer.buffers import BufferDecode, ReadyTrees, decode_buffer, find_damage
from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Problem
from analyzer.core.frames import file_of, number_of
from analyzer.core.ntstatus import nt_status_name
from analyzer.core.times import iso_time
from analyzer.core.traced import TracedBytes
from analyzer.core.win32 import win32_name
from analyzer.model.analysis import SCHEMA, Analysis, CaptureFacts
from analyzer.model.call import AuthFacts, Call, Side, SideName, SmbFacts
from analyzer.model.connection import SmbSession
from analyzer.model.name_tables import value_in_words
from analyzer.model.record import Endpoint
from analyzer.model.registry import registry_value
from analyzer.rpc.status import fault_name

Record = dict[str, Any]


def frames_json(frames: tuple[int, ...], facts: CaptureFacts) -> Record:
    """`frames` as Wireshark's numbers; with several files also `frame_files`, the position in `files` of each."""
    if len(facts.files) <= 1:
        return {"frames": list(frames)}  # ids of the first file are the numbers
    return {
        "frames": [number_of(frame) for frame in frames],
        "frame_files": [file_of(frame) for frame in frames],
    }


def capture_record(facts: CaptureFacts) -> Record:
    return {
        "record": "capture",
        "schema": SCHEMA,
        "files": list(facts.files),
        "frames": facts.frames,
        "bytes": facts.bytes,
        "first_time_ns": facts.first_time_ns,
        "last_time_ns": facts.last_time_ns,
    }


def endpoint_json(endpoint: Endpoint) -> Record:
    return {"ip": endpoint.ip, "port": endpoint.port}


def smb_json(smb: SmbFacts | None) -> Record | None:
    if smb is None:
        return None
    return {
        "dialect": smb.dialect,
        "session_id": smb.session_id,
        "encrypted": smb.encrypted,
        "signed": smb.signed,
        "signature_ok": smb.signature_ok,
        "compressed": smb.compressed,
    }


def auth_json(auth: AuthFacts) -> Record:
    """Who made the call, and how it was secured."""
    return {
        "type": auth.type,
        "level": auth.level,
        "user": auth.user,
        "user_from": auth.user_from,
        "user_source": auth.user_source,
        "anonymous": auth.anonymous,
        "workstation": auth.workstation,
        "verified": auth.verified,
        "door": auth.decryption,
    }


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


class ReadyJson(Struct, frozen=True):
    """A value of a record that is JSON text already."""

    text: bytes


class Damages:
    """What is wrong with the sides of calls that were decoded already, so that they need not be decoded again for that."""

    def __init__(self) -> None:
        # For each call a bit for each side of which it is known that nothing is wrong.
        self._sound = bytearray()
        self._buffers: dict[tuple[int, SideName], DecodeError] = {}

    def note(self, number: int, name: SideName, side: Side, damage: DecodeError | None) -> None:
        """A side was decoded: what is wrong with its buffer."""
        if damage is not None:
            self._buffers[number, name] = damage
        elif side.problem is None:
            self._set(number, name)

    def note_absent(self, number: int, name: SideName, side: Side | None) -> None:
        """A side was looked at: where it has neither a buffer nor a problem, nothing is wrong."""
        if side is None or (side.buffer_span is None and side.problem is None):
            self._set(number, name)

    def _set(self, number: int, name: SideName) -> None:
        if number >= len(self._sound):
            self._sound.extend(bytes(number + 1024 - len(self._sound)))
        self._sound[number] |= _BITS[name]

    def is_sound(self, number: int) -> bool:
        """Whether nothing is wrong with both sides, as far as it was looked at."""
        return number < len(self._sound) and self._sound[number] == 3

    def of(self, number: int, name: SideName, side: Side) -> DecodeError | None:
        """What is wrong with the buffer of a side; it is decoded where that was not done before."""
        known = self._buffers.get((number, name))
        if known is not None or (number < len(self._sound) and self._sound[number] & _BITS[name]):
            return known
        return buffer_damage(side)


_BITS: dict[SideName, int] = {"request": 1, "response": 2}


def known_stub(side: Side, opnum: int | None) -> TracedBytes | Missing:
    """The stub of a side. That of an unknown method (its request was not captured) counts as undecodable: nothing can be said
    of what it means."""
    return side.stub if opnum is not None else Missing.UNDECODABLE


def side_json(
    call: Call,
    name: SideName,
    facts: CaptureFacts,
    damages: Damages | None = None,
    *,
    ready: ReadyTrees | None = None,
) -> Record | None:
    """One side of a call. What is wrong with its buffer is noted in `damages`; what `ready` can make of its buffer, is."""
    side = call.request if name == "request" else call.response
    if side is None:
        if damages is not None:
            damages.note_absent(call.number, name, side)
        return None
    stub = known_stub(side, call.opnum)
    out: Record = frames_json(side.frames, facts)
    data = None if isinstance(stub, Missing) else stub.data
    out["stub_length"] = len(data) if data is not None else None
    out["stub_sha256"] = sha256(data).hexdigest() if data is not None else None
    out["wire_length"] = side.wire_length
    out["why_missing"] = stub.value if isinstance(stub, Missing) else None
    out["verification_trailer"] = side.verification_trailer
    out["params"] = side.params
    out["buffer_kind"] = side.buffer_kind
    tree, problem, notes = _buffer_of(side, data, ready)
    if damages is not None:
        damages.note(call.number, name, side, problem)
    out["buffer"] = tree
    if notes:
        out["buffer_notes"] = list(notes)
    if problem is not None:
        out["buffer_problem"] = str(problem)
    return out


def _buffer_of(
    side: Side, stub: bytes | None, ready: ReadyTrees | None
) -> tuple[Record | ReadyJson | None, DecodeError | None, Sequence[str]]:
    """The tree of the buffer of a side, whose stub is at hand; what is wrong with it, and what else there is to say."""
    if side.buffer_span is None or side.buffer_kind is None:
        return None, None, ()
    # A long stub is not read twice.
    data = stub[slice(*side.buffer_span)] if stub is not None else side.buffer_data
    kind, order = side.buffer_kind, buffer_order(side)
    if ready is not None and (made := ready.tree(kind, data, big_endian=order)) is not None:
        return ReadyJson(made.text), made.problem, made.notes
    decoded = decode_buffer(kind, data, big_endian=order)
    return decoded.tree, decoded.problem.alone() if decoded.problem is not None else None, decoded.notes


def call_record(
    number: int, call: Call, analysis: Analysis, damages: Damages | None = None, *, ready: ReadyTrees | None = None
) -> Record:
    """The record of call `number` (from 1). What is wrong with its buffers is noted in `damages`; `ready` as for `side_json`."""
    facts = analysis.capture
    out = call_head(number, call, analysis)
    # Put in their place among the other keys, where readers of earlier releases know them.
    read = out.pop("read")
    out["request"] = side_json(call, "request", facts, damages, ready=ready)
    out["response"] = side_json(call, "response", facts, damages, ready=ready)
    out["read"] = read
    return out


def call_head(number: int, call: Call, analysis: Analysis) -> Record:
    """The record of a call without its two sides, which cost hashes and the trees of buffers."""
    facts = analysis.capture
    time_ns = call.time_ns
    out: Record = {
        "record": "call",
        "number": number,
        "time_ns": time_ns,
        "time": iso_time(time_ns),
        "time_relative_ns": time_ns - facts.first_time_ns if facts.first_time_ns is not None else None,
        "client": endpoint_json(call.client),
        "server": endpoint_json(call.server),
        "transport": call.transport,
        "pipe": call.pipe,
        "smb": smb_json(call.smb),
        "auth": auth_json(call.auth),
        "interface": {
            "uuid": call.interface.uuid,
            "version": call.interface.version,
            "name": call.interface.name,
            "recognised": call.interface.recognised,
        },
        "syntax": call.syntax,
        "opnum": call.opnum,
        "method": call.method,
        "call_id": call.call_id,
        "context_id": call.context_id,
        "state": call.state,
        "reason": call.reason,
        "status": call.status,
        "status_name": win32_name(call.status) if call.status is not None else None,
        "fault": call.fault,
        "fault_name": fault_name(call.fault) if call.fault is not None else None,
        "latency_ns": call.latency_ns,
        "handle": handle_json(call),
        "counterset": counterset_json(call, analysis),
    }
    read = call.read if call.is_winreg else None
    out["registry"] = registry_json(call)
    out["read"] = None
    if read is not None:
        words = value_in_words(read.value_name, analysis.name_tables.of(call.server), read.key)
        out["read"] = {"number": read.number, "attempt": read.attempt, "key": read.key, "value": words}
    return out


def registry_json(call: Call) -> Record | None:
    """The key and value that a winreg call is about; None for performance keys and other interfaces."""
    value = registry_value(call)
    if call.path is None and value is None:
        return None
    content = value.content() if value is not None else None
    return {
        "path": call.path,
        "value": value.name if value is not None else None,
        "type": value.type_name if value is not None else None,
        "data": content.hex() if isinstance(content, bytes) else content,
    }


def counterset_json(call: Call, analysis: Analysis) -> Record | None:
    """The counterset a call names among its parameters, by the name the capture tells for it."""
    if not call.is_perflib or call.counterset is None:
        return None
    return {"guid": call.counterset, "name": analysis.catalogs.of(call.server).label(call.counterset)}


def handle_json(call: Call) -> Record | None:
    return {"label": call.handle, "uuid": call.handle_uuid} if call.handle is not None else None


def problem_record(problem: Problem, facts: CaptureFacts) -> Record:
    return {
        "record": "problem",
        "kind": problem.kind,
        "layer": problem.layer,
        **frames_json(problem.frames, facts),
        "text": problem.text,
    }


def all_problems(analysis: Analysis, damages: Damages | None = None) -> Iterator[Problem]:
    """The problems of the layers, then those of decoded calls: damaged buffers and stubs that do not decode.

    `damages` tells of the buffers that were decoded before, which need not be decoded again.
    """
    yield from analysis.problems
    damages = damages if damages is not None else Damages()
    for number in range(1, len(analysis.calls) + 1):
        if damages.is_sound(number):
            continue
        call = analysis.calls[number - 1]
        layer = "winperf" if call.is_winreg else "pcq"
        sides: tuple[tuple[SideName, Side | None], ...] = ("request", call.request), ("response", call.response)
        for name, side in sides:
            if side is None:
                continue
            if side.problem is not None:
                yield Problem(
                    "malformed", layer, side.frames, f"call #{number}: {name} stub does not decode: {side.problem}"
                )
            if (damage := damages.of(number, name, side)) is not None:
                of_buffer = Problem.of(layer, damage, side.frames)
                yield Problem(
                    of_buffer.kind,
                    layer,
                    of_buffer.frames,
                    f"call #{number}: {side.buffer_kind} buffer of the {name} is damaged: {of_buffer.text}",
                )


def summary_record(analysis: Analysis, problems: Counter[str]) -> Record:
    """Counts: calls by state, by interface and method, problems by kind."""
    states: Counter[str] = Counter()
    methods: Counter[str] = Counter()
    for (state, interface, method), count in analysis.calls.tally.items():
        states[state] += count
        methods[f"{interface}.{method}"] += count
    return {
        "record": "summary",
        "calls": len(analysis.calls),
        "calls_by_state": _sorted(states),
        "calls_by_method": _sorted(methods),
        "problems": sum(problems.values()),
        "problems_by_kind": dict(sorted(problems.items())),
        "sessions": len(analysis.sessions),
    }


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if count}


def session_record(session: SmbSession, facts: CaptureFacts) -> Record:
    identity = session.identity
    return {
        "record": "session",
        "session_id": f"{session.session_id:#018x}",
        "client": endpoint_json(session.client),
        "server": endpoint_json(session.server),
        "dialect": session.dialect,
        "client_guid": session.client_guid,
        "server_guid": session.server_guid,
        "cipher": session.cipher,
        "signing": session.signing,
        "mechanism": identity.mechanism,
        "user": identity.account,
        "user_source": identity.account_source,
        "anonymous": identity.is_anonymous,
        "refused": session.refused,
        "refused_name": nt_status_name(session.refused) if session.refused is not None else None,
        "domain": identity.domain,
        "workstation": identity.workstation,
        "server_name": identity.server_name,
        "server_domain": identity.server_domain,
        "server_dns_name": identity.server_dns_name,
        "server_dns_domain": identity.server_dns_domain,
        "server_os_version": identity.os_version,
        "client_os_version": identity.client_os_version,
        "service": identity.service,
        "realm": identity.realm,
        "etype": identity.etype,
        "kvno": identity.kvno,
        "door": session.door.value,
        "reason": session.reason,
        "first_time_ns": session.first_time_ns,
        "last_time_ns": session.last_time_ns,
        **frames_json(session.frames, facts),
        "encrypted_messages": session.encrypted_messages,
        "opened_messages": session.opened_messages,
        "signed_messages": session.signed_messages,
        "verified_messages": session.verified_messages,
        "trees": list(session.trees),
        "pipes": list(session.pipes),
    }


def timeline_records(
    analysis: Analysis,
    *,
    shown: Sequence[tuple[int, Call]] | None = None,
    selected_by: str | None = None,
    ready: ReadyTrees | None = None,
) -> Iterator[Record]:
    """Everything `timeline` says, in the order it says it: all calls, or those `shown`, selected by what the text says.

    What `ready` can make of buffers is `ReadyJson`, for those who write it as it is.
    """
    facts = analysis.capture
    damages = Damages()
    yield capture_record(facts)
    before: int | None = None
    count = 0
    for number, call in shown if shown is not None else enumerate(analysis.calls, 1):
        record = call_record(number, call, analysis, damages, ready=ready)
        record["time_delta_ns"] = call.time_ns - before if before is not None else None
        before = call.time_ns
        count += 1
        yield record
    kinds: Counter[str] = Counter()
    for problem in all_problems(analysis, damages):
        kinds[problem.kind] += 1
        yield problem_record(problem, facts)
    yield summary_record(analysis, kinds) | {"calls_shown": count, "selected_by": selected_by}
