"""Makes a `Call` of an RPC exchange. Its stubs are not decoded yet.

A layer above decodes them (`decoded_call`). The bytes of a buffer parameter (`lpData`) stay a part of the stub, with the name of
their kind, and are decoded when somebody looks at them. So a long capture costs its bytes and not their trees.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeVar

from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.results.calls.call import AuthFacts, Call, InterfaceFacts, Side, SideName, SmbFacts, StubProblem
from analyzer.results.connection import logon_key
from analyzer.results.methods.return_kinds import STATED, stated_kind
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import UNKNOWN_USER, AuthInfo, Decryption, Identity, level_name
from analyzer.transport.channel.channels import SmbInfo
from analyzer.transport.rpc.exchange_maker import Exchange
from analyzer.transport.rpc.rpc_names import interface_name, method_name

_STATUS_BYTES = 4
# Identity and logon in force: not stated if they are those under which the pipe was opened.
_NOBODY: tuple[Identity | None, int | None] = (None, None)


def plain_call(exchange: Exchange) -> Call:
    """Makes the undecoded call of an RPC exchange: its names and bytes, without parameters. Its status comes from the end of the
    response, if the method of an interface that is not decoded returns one."""
    interface, opnum, channel, smb = exchange.interface, exchange.opnum, exchange.channel, exchange.smb
    side, in_force = exchange.request or exchange.response, _NOBODY
    assert side is not None
    if smb is not None and smb.logon is not None and smb.logon != channel.logon:
        # Another logon than that under which the pipe was opened.
        in_force = smb.identity, smb.logon
    # In the order of the fields: so many keywords take six times as long.
    return Call(
        0,
        side.first_time_ns,
        channel.client,
        channel.server,
        channel.transport,
        channel.pipe,
        smb.session if smb is not None and smb.session is not None else channel.session,
        _smb(smb, channel.client, channel.server) if smb is not None else None,
        _auth(exchange.auth, channel.identity, channel.logon, *in_force),
        interface_facts(interface, exchange.version, is_recognised=False),
        exchange.syntax,
        opnum,
        method_name(interface, opnum) if interface is not None and opnum is not None else None,
        exchange.call_id,
        exchange.context_id,
        exchange.state,
        exchange.reason,
        _stated_status(exchange) if interface in STATED else None,
        exchange.fault,
        channel.number,
        channel.impersonation,
        exchange.auth,
        channel.identity,
        exchange.request,
        exchange.response,
    )


def _stated_status(exchange: Exchange) -> int | None:
    """Returns the status at the end of a call's response, if its method returns one (`results/methods/return_kinds.py`)."""
    side = exchange.response
    if side is None or side.missing is not None or exchange.fault is not None:
        return None
    if stated_kind(exchange.interface, exchange.opnum) is None or side.stub_length < _STATUS_BYTES:
        return None
    stub = side.stub
    assert not isinstance(stub, Missing)
    return int.from_bytes(stub.part(len(stub) - _STATUS_BYTES, len(stub)), "big" if side.big_endian else "little")


def decoded_call(call: Call, request: Side | None, response: Side | None) -> Call:
    """Returns the RPC call with its decoded request and response. A side that does not decode makes a complete call malformed.

    The response's `ReturnValue` is taken out of its parameters.
    """
    state, reason = call.state, call.reason
    for which, side in (("request", request), ("response", response)):
        if state == "complete" and side is not None and side.problem is not None:
            state, reason = "malformed", f"the {which} stub does not decode: {side.problem}"
    status = response.params.pop("ReturnValue", None) if response is not None else None
    return replace(call, state=state, reason=reason, status=status, request=request, response=response)


class DecodedStub(Protocol):
    """The decoded stub of a request or response of a call: its parameters, its return value, and how many bytes it took."""

    @property
    def params(self) -> dict[str, Any]: ...

    @property
    def status(self) -> int | None: ...

    @property
    def consumed(self) -> int: ...


_Decoded = TypeVar("_Decoded", bound=DecodedStub)


def decoded_side(
    side: Side | None, call: Call, name: SideName, opnums: Container[int], decode: Callable[..., _Decoded]
) -> tuple[Side | None, _Decoded | None]:
    """Decodes the request or response of an exchange whose method returns a Win32 code. Returns the side, and its decoded stub if
    there is one.

    `opnums` are the methods that are decoded. For the others the code is read, the last thing in a response. `decode` takes the
    method, `name`, the stub's bytes, and whether they are `ndr64` and `big_endian`.
    """
    opnum = call.opnum
    if side is None or side.missing is not None or opnum is None:
        return side, None
    stub = side.stub
    assert not isinstance(stub, Missing)
    if opnum not in opnums:
        if name == "response" and len(stub) >= 4 and not side.big_endian:
            return replace(side, params={"ReturnValue": int.from_bytes(stub.data[-4:], "little")}), None
        return side, None
    try:
        decoded = decode(opnum, name, stub.data, ndr64=call.syntax == "ndr64", big_endian=side.big_endian)
    except DecodeError as error:
        return replace(side, params=error.params, problem=StubProblem.from_error(error)), None
    params = dict(decoded.params)
    if decoded.status is not None:
        params["ReturnValue"] = decoded.status
    return replace(side, params=params, stub_length=trimmed_length(side, len(stub), decoded.consumed)), decoded


def trimmed_length(side: Side, length: int, consumed: int) -> int:
    """Returns how many bytes of an exchange's stub count for the call, without up to 3 that align a verification trailer ([MS-RPCE]
    section 2.2.2.13)."""
    return consumed if side.verification_trailer is not None and 0 < length - consumed < 4 else length


@lru_cache(maxsize=1024)
def interface_facts(uuid: str | None, version: tuple[int, int] | None, *, is_recognised: bool) -> InterfaceFacts:
    """Makes of an exchange's interface what its call states of that: name, version, and whether it was recognised."""
    return InterfaceFacts(
        uuid,
        f"{version[0]}.{version[1]}" if version is not None else None,
        interface_name(uuid, version) if uuid is not None else None,
        is_recognised,
    )


@lru_cache(maxsize=1024)
def _auth(
    auth: AuthInfo,
    smb_identity: Identity | None,
    smb_logon: int | None,
    identity_in_force: Identity | None,
    logon_in_force: int | None,
) -> AuthFacts:
    """Returns the security of an exchange for its call: who made it, and how it was secured. If the SMB session has another logon
    than when the pipe was opened, both are stated."""
    identity = auth.caller(smb_identity)
    account = identity.account if identity is not None else None
    # If somebody without a known name authenticated by RPC, that logon counts, not the session's.
    is_by_rpc = auth.identity is not None and (identity is None or identity is auth.identity)
    return AuthFacts(
        auth.mechanism,
        level_name(auth.level),
        account,
        None if account is None else "rpc" if is_by_rpc else "smb",
        identity.account_source if identity is not None else None,
        identity.is_anonymous if identity is not None else None,
        identity.workstation if identity is not None else None,
        auth.verified,
        None if auth.decryption in (Decryption.DECRYPTED, Decryption.NOT_SEALED) else auth.decryption.value,
        auth.decrypted_by,
        identity.claimed_otherwise if identity is not None else None,
        identity.is_guest if identity is not None else None,
        _key("rpc", auth.logon) if is_by_rpc else _key("smb", smb_logon),
        None if identity_in_force is None else identity_in_force.account or UNKNOWN_USER,
        _key("smb", logon_in_force),
    )


def _key(by: Literal["smb", "rpc"], number: int | None) -> str | None:
    return logon_key(by, number) if number is not None else None


@lru_cache(maxsize=1024)
def _smb(info: SmbInfo, client: Endpoint, server: Endpoint) -> SmbFacts:
    """Returns how SMB carried an exchange over a pipe between these ends, for its call. The message may have come over another
    connection."""
    is_other = info.client is not None and info.server is not None and {info.client, info.server} != {client, server}
    protection = info.encrypted, info.signed, info.signature_ok, info.compressed
    ends = (info.client, info.server) if is_other else (None, None)
    return SmbFacts(info.dialect, f"{info.session_id:#018x}", *protection, *ends)
