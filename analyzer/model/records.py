"""The versioned JSON form of the model: one dictionary a record, as documented in docs/output.md (schema 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, cast

from msgspec import Struct

from analyzer.auth.context import AuthLevel, Door, Identity
from analyzer.buffers import BufferDecode, BufferKind, ReadyTrees, decode_buffer, find_damage
from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Problem
from analyzer.core.frames import file_of, number_of
from analyzer.core.ntstatus import nt_status_name
from analyzer.core.times import iso_time
from analyzer.core.traced import TracedBytes
from analyzer.core.win32 import win32_name
from analyzer.model.analysis import SCHEMA, Analysis, CaptureFacts
from analyzer.packet.segment import Endpoint
from analyzer.pcq.layer import PerflibCall
from analyzer.rpc.call import Call, CallSide, handle_of
from analyzer.rpc.events import AuthInfo
from analyzer.rpc.interfaces import interface_name
from analyzer.rpc.status import fault_name
from analyzer.smb.events import SmbInfo, SmbSession
from analyzer.winperf.layer import WinregCall
from analyzer.winperf.names import value_in_words

Record = dict[str, Any]

LEVEL_NAMES = {
    AuthLevel.NONE: "none",
    AuthLevel.CONNECT: "connect",
    AuthLevel.CALL: "call",
    AuthLevel.PKT: "pkt",
    AuthLevel.INTEGRITY: "integrity",
    AuthLevel.PRIVACY: "privacy",
}


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


def smb_json(smb: SmbInfo | None) -> Record | None:
    if smb is None:
        return None
    return {
        "dialect": smb.dialect,
        "session_id": f"{smb.session_id:#018x}",
        "encrypted": smb.encrypted,
        "signed": smb.signed,
        "signature_ok": smb.signature_ok,
        "compressed": smb.compressed,
    }


def level_name(level: int) -> str:
    """The contract's name of an RPC authentication level; an unknown one stays a number."""
    return LEVEL_NAMES[AuthLevel(level)] if level in LEVEL_NAMES else str(level)


def identity_of(call: Call) -> Identity | None:
    """The RPC identity, else that of the SMB session, on which a server without RPC security relies."""
    identity = call.exchange.auth.identity
    return identity if identity is not None and identity.account is not None else call.exchange.channel.identity


def auth_json(auth: AuthInfo, call: Call) -> Record:
    """Who made the call, and how it was secured."""
    identity = identity_of(call)
    account = identity.account if identity is not None else None
    source = "rpc" if identity is auth.identity else "smb"
    return {
        "type": auth.mechanism,
        "level": level_name(auth.level),
        "user": account,
        "user_from": source if account is not None else None,
        "user_source": identity.account_source if identity is not None else None,
        "anonymous": identity.is_anonymous if identity is not None else None,
        "workstation": identity.workstation if identity is not None else None,
        "verified": auth.verified,
        "door": None if auth.door in (Door.OPEN, Door.NOT_SEALED) else auth.door.value,
    }


def decoded_buffer(side: CallSide | None) -> BufferDecode | None:
    """The decoded `lpData` of one side, None where there is none or its layout is unknown."""
    if side is None or side.buffer is None or side.buffer_kind is None:
        return None
    kind = cast(BufferKind, side.buffer_kind)
    return decode_buffer(kind, side.buffer.data, big_endian=buffer_order(side))


def buffer_damage(side: CallSide) -> DecodeError | None:
    """What is wrong with the `lpData` of one side."""
    if side.buffer is None or side.buffer_kind is None:
        return None
    kind = cast(BufferKind, side.buffer_kind)
    return find_damage(kind, side.buffer.data, big_endian=buffer_order(side))


def buffer_order(side: CallSide) -> bool | None:
    """Whether the buffer is big-endian. An array of GUIDs follows the call's data representation; others say it or have none."""
    return side.message.big_endian if side.buffer_kind == "guids" else None


class ReadyJson(Struct, frozen=True):
    """A value of a record that is JSON text already."""

    text: bytes


# What is wrong with the buffers of sides that were decoded already (None: nothing), by identity of the side.
Damages = dict[int, DecodeError | None]


def known_stub(side: CallSide, opnum: int | None) -> TracedBytes | Missing:
    """The stub of a side. That of an unknown method (its request was not captured) counts as undecodable: nothing can be said
    of what it means."""
    return side.stub if opnum is not None else Missing.UNDECODABLE


def side_json(
    side: CallSide | None,
    opnum: int | None,
    facts: CaptureFacts,
    damages: Damages | None = None,
    *,
    ready: ReadyTrees | None = None,
) -> Record | None:
    """One side of a call. What is wrong with its buffer is noted in `damages`; what `ready` can make of its buffer, is."""
    if side is None:
        return None
    stub = known_stub(side, opnum)
    out: Record = frames_json(side.message.frames, facts)
    data = None if isinstance(stub, Missing) else stub.data
    out["stub_length"] = len(data) if data is not None else None
    out["stub_sha256"] = sha256(data).hexdigest() if data is not None else None
    out["wire_length"] = side.message.wire_length
    out["why_missing"] = stub.value if isinstance(stub, Missing) else None
    out["verification_trailer"] = side.message.trailer
    out["params"] = side.params
    out["buffer_kind"] = side.buffer_kind
    tree, problem, notes = _buffer_of(side, data, ready)
    if damages is not None:
        damages[id(side)] = problem
    out["buffer"] = tree
    if notes:
        out["buffer_notes"] = list(notes)
    if problem is not None:
        out["buffer_problem"] = str(problem)
    return out


def _buffer_of(
    side: CallSide, stub: bytes | None, ready: ReadyTrees | None
) -> tuple[Record | ReadyJson | None, DecodeError | None, Sequence[str]]:
    """The tree of the buffer of a side, whose stub is at hand; what is wrong with it, and what else there is to say."""
    if side.buffer is None or side.buffer_kind is None:
        return None, None, ()
    # A long stub is not read from the shelf twice.
    data = side.buffer.data if stub is None else side.buffer.data_in(side.stub, stub)
    kind, order = cast(BufferKind, side.buffer_kind), buffer_order(side)
    if ready is not None and (made := ready.tree(kind, data, big_endian=order)) is not None:
        return ReadyJson(made.text), made.problem, made.notes
    decoded = decode_buffer(kind, data, big_endian=order)
    return decoded.tree, decoded.problem.alone() if decoded.problem is not None else None, decoded.notes


def call_record(
    number: int, call: Call, analysis: Analysis, damages: Damages | None = None, *, ready: ReadyTrees | None = None
) -> Record:
    """The record of call `number` (from 1). What is wrong with its buffers is noted in `damages`; `ready` as for `side_json`."""
    opnum, facts = call.exchange.opnum, analysis.capture
    out = call_head(number, call, analysis)
    # Put in their place among the other keys, where readers of earlier releases know them.
    read = out.pop("read")
    out["request"] = side_json(call.request, opnum, facts, damages, ready=ready)
    out["response"] = side_json(call.response, opnum, facts, damages, ready=ready)
    out["read"] = read
    return out


def call_head(number: int, call: Call, analysis: Analysis) -> Record:
    """The record of a call without its two sides, which cost hashes and the trees of buffers."""
    facts = analysis.capture
    exchange = call.exchange
    channel = exchange.channel
    version = exchange.version
    time_ns = exchange.first_time_ns
    out: Record = {
        "record": "call",
        "number": number,
        "time_ns": time_ns,
        "time": iso_time(time_ns),
        "time_relative_ns": time_ns - facts.first_time_ns if facts.first_time_ns is not None else None,
        "client": endpoint_json(channel.client),
        "server": endpoint_json(channel.server),
        "transport": channel.transport,
        "pipe": channel.pipe,
        "smb": smb_json(exchange.smb),
        "auth": auth_json(exchange.auth, call),
        "interface": {
            "uuid": exchange.interface,
            "version": f"{version[0]}.{version[1]}" if version is not None else None,
            "name": call.interface_name
            or (interface_name(exchange.interface, version) if exchange.interface is not None else None),
            "recognised": exchange.recognised,
        },
        "syntax": exchange.syntax,
        "opnum": exchange.opnum,
        "method": call.method,
        "call_id": exchange.call_id,
        "context_id": exchange.context_id,
        "state": call.state,
        "reason": call.reason,
        "status": call.status,
        "status_name": win32_name(call.status) if call.status is not None else None,
        "fault": exchange.fault,
        "fault_name": fault_name(exchange.fault) if exchange.fault is not None else None,
        "latency_ns": latency_ns(call),
        "handle": handle_json(call),
        "counterset": counterset_json(call, analysis),
    }
    read = call.read if isinstance(call, WinregCall) else None
    out["read"] = None
    if read is not None:
        words = value_in_words(read.value_name, analysis.name_tables.of(channel.server), read.key)
        out["read"] = {"number": read.number, "attempt": read.attempt, "key": read.key, "value": words}
    return out


def handle_label(call: Call) -> str | None:
    """The handle a call works on: `q2` for the second query handle of the capture, `k1` for the first registry key."""
    if isinstance(call, PerflibCall) and call.query is not None:
        return f"q{call.query.number}"
    if isinstance(call, WinregCall) and call.key_number is not None:
        return f"k{call.key_number}"
    return None


def counterset_json(call: Call, analysis: Analysis) -> Record | None:
    """The counterset a call names among its parameters, by the name the capture tells for it."""
    if not isinstance(call, PerflibCall) or call.counterset is None:
        return None
    return {"guid": call.counterset, "name": analysis.catalogs.of(call.exchange.channel.server).label(call.counterset)}


def handle_json(call: Call) -> Record | None:
    label = handle_label(call)
    if label is None:
        return None
    if isinstance(call, PerflibCall):
        return {"label": label, "uuid": call.query.handle if call.query is not None else None}
    return {"label": label, "uuid": handle_of(call.request, "hKey") or handle_of(call.response, "phKey")}


def latency_ns(call: Call) -> int | None:
    """First response frame minus last request frame; None where one side is missing."""
    if call.request is None or call.response is None:
        return None
    return call.response.message.first_time_ns - call.request.message.last_time_ns


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
    for number, call in enumerate(analysis.calls, 1):
        layer = "winperf" if isinstance(call, WinregCall) else "pcq"
        for name, side in (("request", call.request), ("response", call.response)):
            if side is None:
                continue
            if side.trouble is not None:
                yield Problem(
                    "malformed",
                    layer,
                    side.message.frames,
                    f"call #{number}: {name} stub does not decode: {side.trouble}",
                )
            if damages is not None and id(side) in damages:
                damage = damages[id(side)]
            else:
                damage = buffer_damage(side)
            if damage is not None:
                of_buffer = Problem.of(layer, damage, side.message.frames)
                yield Problem(
                    of_buffer.kind,
                    layer,
                    of_buffer.frames,
                    f"call #{number}: {side.buffer_kind} buffer of the {name} is damaged: {of_buffer.text}",
                )


def summary_record(analysis: Analysis, problems: Counter[str]) -> Record:
    """Counts: calls by state, by interface and method, problems by kind."""
    methods = Counter(
        f"{call.interface_name or call.exchange.interface or 'unknown'}.{call.method or call.exchange.opnum}"
        for call in analysis.calls
    )
    return {
        "record": "summary",
        "calls": len(analysis.calls),
        "calls_by_state": dict(sorted(Counter(call.state for call in analysis.calls).items())),
        "calls_by_method": dict(sorted(methods.items())),
        "problems": sum(problems.values()),
        "problems_by_kind": dict(sorted(problems.items())),
        "sessions": len(analysis.sessions),
    }


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
    damages: Damages = {}
    yield capture_record(facts)
    calls = shown if shown is not None else list(enumerate(analysis.calls, 1))
    before: int | None = None
    for number, call in calls:
        time_ns = call.exchange.first_time_ns
        record = call_record(number, call, analysis, damages, ready=ready)
        record["time_delta_ns"] = time_ns - before if before is not None else None
        before = time_ns
        yield record
    kinds: Counter[str] = Counter()
    for problem in all_problems(analysis, damages):
        kinds[problem.kind] += 1
        yield problem_record(problem, facts)
    yield summary_record(analysis, kinds) | {"calls_shown": len(calls), "selected_by": selected_by}
