"""The versioned JSON form of the model: one dictionary a record, as documented in docs/output.md (schema 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, cast

from analyzer.auth.context import AuthLevel, Door
from analyzer.buffers import BufferDecode, BufferKind, decode_buffer
from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Problem
from analyzer.core.frames import file_of, number_of
from analyzer.core.times import iso_time
from analyzer.core.win32 import win32_name
from analyzer.model.analysis import SCHEMA, Analysis, CaptureFacts
from analyzer.packet.segment import Endpoint
from analyzer.rpc.call import Call, CallSide
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
    out: Record = {"frames": [number_of(frame) for frame in frames]}
    if len(facts.files) > 1:
        out["frame_files"] = [file_of(frame) for frame in frames]
    return out


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


def auth_json(auth: AuthInfo, call: Call) -> Record:
    """Who made the call: the RPC identity, else that of the SMB session, on which a server without RPC security relies."""
    identity, source = auth.identity, "rpc"
    if identity is None or identity.account is None:
        identity, source = call.exchange.channel.identity, "smb"
    account = identity.account if identity is not None else None
    return {
        "type": auth.mechanism,
        "level": level_name(auth.level),
        "user": account,
        "user_from": source if account is not None else None,
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


def buffer_order(side: CallSide) -> bool | None:
    """Whether the buffer is big-endian. An array of GUIDs follows the call's data representation; others say it or have none."""
    return side.message.big_endian if side.buffer_kind == "guids" else None


# What is wrong with the buffers of sides that were decoded already, by identity of the side.
_Damages = dict[int, DecodeError]


def side_json(
    side: CallSide | None, opnum: int | None, facts: CaptureFacts, damages: _Damages | None = None
) -> Record | None:
    """One side of a call. A stub of an unknown method (its request was not captured) counts as undecodable: nothing can be
    said of what it means. What is wrong with its buffer is noted in `damages`."""
    if side is None:
        return None
    stub = side.stub if opnum is not None else Missing.UNDECODABLE
    out: Record = frames_json(side.message.frames, facts)
    out["stub_length"] = None if isinstance(stub, Missing) else len(stub)
    out["stub_sha256"] = None if isinstance(stub, Missing) else sha256(stub.data).hexdigest()
    out["wire_length"] = side.message.wire_length
    out["why_missing"] = stub.value if isinstance(stub, Missing) else None
    out["verification_trailer"] = side.message.trailer
    out["params"] = side.params
    decoded = decoded_buffer(side)
    if damages is not None and decoded is not None and decoded.problem is not None:
        damages[id(side)] = decoded.problem
    out["buffer_kind"] = side.buffer_kind
    out["buffer"] = decoded.tree if decoded is not None else None
    if decoded is not None and decoded.notes:
        out["buffer_notes"] = list(decoded.notes)
    if decoded is not None and decoded.problem is not None:
        out["buffer_problem"] = str(decoded.problem)
    return out


def call_record(number: int, call: Call, analysis: Analysis, damages: _Damages | None = None) -> Record:
    """The record of call `number` (from 1). What is wrong with its buffers is noted in `damages`."""
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
        "request": side_json(call.request, exchange.opnum, facts, damages),
        "response": side_json(call.response, exchange.opnum, facts, damages),
    }
    read = call.read if isinstance(call, WinregCall) else None
    out["read"] = None
    if read is not None:
        words = value_in_words(read.value_name, analysis.name_tables.of(channel.server), read.key)
        out["read"] = {"number": read.number, "attempt": read.attempt, "key": read.key, "value": words}
    return out


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


def all_problems(
    analysis: Analysis, damages: _Damages | None = None, interface: str | None = None
) -> Iterator[Problem]:
    """The problems of the layers, then those of decoded calls: damaged buffers and stubs that do not decode.

    Where `damages` are given, the buffers of the calls of `interface` (None: of all) were decoded, and need not be again.
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
            if damages is not None and (interface is None or is_of(call, interface)):
                damage = damages.get(id(side))
            else:
                decoded = decoded_buffer(side)
                damage = decoded.problem if decoded is not None else None
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


def timeline_records(analysis: Analysis, *, interface: str | None = None) -> Iterator[Record]:
    """Everything `timeline` says, in the order it says it. `interface` keeps the calls of one (by name or UUID)."""
    facts = analysis.capture
    damages: _Damages = {}
    yield capture_record(facts)
    for number, call in enumerate(analysis.calls, 1):
        if interface is None or is_of(call, interface):
            yield call_record(number, call, analysis, damages)
    kinds: Counter[str] = Counter()
    for problem in all_problems(analysis, damages, interface):
        kinds[problem.kind] += 1
        yield problem_record(problem, facts)
    yield summary_record(analysis, kinds)


def is_of(call: Call, interface: str) -> bool:
    names = {call.exchange.interface, call.interface_name}
    return interface.casefold().strip("{}") in {name.casefold() for name in names if name is not None}
