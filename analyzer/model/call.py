"""A remote call: as the analysis holds it (`Call`), and as the line that is printed of it (`CallRecord`).

Both have the same keys and add their own: `Call` the bytes of the two sides and where these were captured, `CallRecord` what is
derived from them: names of numbers, hashes, and the decoded buffer.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Raw, UnsetType

from analyzer.model.capture import Decryption
from analyzer.model.record import Endpoint, FrameFiles, Frames, PlaceExtent, Record, Value, doc

CallState = Literal["complete", "request-only", "response-only", "partial", "sealed", "malformed"]
SideName = Literal["request", "response"]
Syntax = Literal["ndr", "ndr64"]
Transport = Literal["ncacn_np", "ncacn_ip_tcp"]


class SmbFacts(Value, frozen=True):
    """How SMB carried a call."""

    dialect: Annotated[str | None, doc("`3.1.1`, ..., `1.0`; null where the negotiation was not captured")]
    session_id: Annotated[str, doc("SessionId in hexadecimal", source="[MS-SMB2] section 2.2.1.2")]
    encrypted: Annotated[bool, doc("in an SMB3 transform", source="[MS-SMB2] section 2.2.41")]
    signed: Annotated[bool, doc("with a signature", source="[MS-SMB2] section 3.1.4.1")]
    signature_ok: Annotated[bool | None, doc("whether the signature fits; null where there is none or no key for it")]
    compressed: Annotated[bool, doc("compressed", source="[MS-SMB2] section 2.2.42")]


class AuthFacts(Value, frozen=True):
    """Who made a call, and how it was secured."""

    type: Annotated[str, doc("`none`, `ntlm`, `spnego-ntlm`, `krb5`, `spnego-krb5`, `schannel`, ...")]
    level: Annotated[
        str,
        doc(
            "`none`, `connect`, `call`, `pkt`, `integrity`, `privacy`; any other as a number",
            source="[MS-RPCE] section 2.2.1.1.8",
        ),
    ]
    user: Annotated[str | None, doc("account, `DOMAIN\\name` or `name@REALM`")]
    user_from: Annotated[Literal["rpc", "smb"] | None, doc("whose authentication states the account")]
    workstation: Annotated[str | None, doc("the client's name for itself", source="[MS-NLMP] section 2.2.1.3")]
    verified: Annotated[bool | None, doc("whether the signatures fit; null where there are none or no key for them")]
    decryption: Annotated[
        Decryption | None, doc("why a sealed call could not be unsealed; null where nothing was in the way")
    ]
    decrypted_by: Annotated[str | None, doc("which of the given keys decrypted it, in words; null where none did")]


class InterfaceFacts(Value, frozen=True):
    """The interface of a call."""

    uuid: Annotated[str | None, doc("UUID; null where the bind was not captured")]
    version: Annotated[str | None, doc("`1.0`")]
    name: Annotated[str | None, doc("name as in its specification, null where this program has none")]
    recognised: Annotated[bool, doc("the bind was not captured, and the stubs themselves show which interface it is")]


class CountersetFacts(Value, frozen=True):
    """The counterset that a call asks about."""

    guid: Annotated[str, doc("CounterSetGuid", source="[MS-PCQ] section 3.1.4.1.2")]
    name: Annotated[str | None, doc("its name, as far as the capture or a metadata file gives it")]


class ReadFacts(Value, frozen=True):
    """A read of performance data through the registry. A client asks again with a larger buffer until it is large enough."""

    number: Annotated[int, doc("counts the reads, from 1")]
    attempt: Annotated[int, doc("counts the tries of this read, from 1")]
    key: Annotated[str | None, doc("the predefined key; null where its opening was not captured")]
    value: Annotated[str | None, doc("what is read, in words")]


class CallKeys(Record, frozen=True, kw_only=True):
    """What every form of a call has."""

    number: Annotated[int, doc("number of the call, from 1, over all calls of the capture; `call` of other records")]
    time_ns: Annotated[int, doc("first frame of the request, since 1970 UTC", unit="ns")]
    client: Annotated[Endpoint, doc("who called")]
    server: Annotated[Endpoint, doc("who was called")]
    transport: Annotated[Transport, doc("protocol sequence: over a named pipe or over TCP")]
    pipe: Annotated[str | None, doc("name of the pipe")]
    session: Annotated[int | None, doc("number of the SMB session, as in `sessions`")]
    smb: Annotated[SmbFacts | None, doc("how SMB carried it; null on TCP")]
    auth: Annotated[AuthFacts, doc("who called, and how it was secured")]
    interface: Annotated[InterfaceFacts, doc("the interface")]
    syntax: Annotated[Syntax, doc("transfer syntax", source="[MS-RPCE] section 2.2.5")]
    opnum: Annotated[int | None, doc("number of the method; null where the request was not captured")]
    method: Annotated[str | None, doc("name of the method as in its specification")]
    call_id: Annotated[int, doc("call_id of its PDUs", source="C706 section 12.6.3.1")]
    context_id: Annotated[int, doc("p_cont_id of its PDUs", source="C706 section 12.6.4.9")]
    state: Annotated[
        CallState,
        doc(
            "`complete`; `request-only`, `response-only`; `partial` bytes are missing; `sealed` no key; `malformed` a stub does "
            "not decode"
        ),
    ]
    reason: Annotated[str | None, doc("a sentence for every state but `complete`")]
    status: Annotated[int | None, doc("the method's return value, unsigned")]
    fault: Annotated[int | None, doc("status of a DCERPC fault", source="C706 section 12.6.4.7")]
    handle: Annotated[
        str | None,
        doc(
            "the handle that the call works on or gives out: `q2` the second query handle, `k1` the first registry key"
        ),
    ]
    handle_uuid: Annotated[str | None, doc("UUID of that context handle")]


class SideRecord(Value, frozen=True, kw_only=True):
    """The request or the response of a call, as it is printed."""

    frames: Frames
    frame_files: FrameFiles = UNSET
    stub_length: Annotated[
        int | None,
        doc("length of the stub: unsealed, fragments joined, without padding and verification trailer", unit="bytes"),
    ]
    stub_sha256: Annotated[str | None, doc("SHA-256 of the stub, in hexadecimal")]
    wire_length: Annotated[int, doc("length of the stub as it was sent", unit="bytes")]
    why_missing: Annotated[
        Literal["not captured", "sealed", "undecodable"] | None,
        doc("why there is no stub. That of an answer whose request was not captured is `undecodable`"),
    ]
    verification_trailer: Annotated[
        Literal["ok", "bad"] | None,
        doc("whether it is right; null where there is none", source="[MS-RPCE] section 2.2.2.13"),
    ]
    params: Annotated[
        dict[str, Any],
        doc(
            "parameters by the spelling of the IDL: `szMachine`, `CounterSetGuid`, `RequestCode`, `RequestLCID`, `dwInSize`, "
            "`pdwOutSize`, `pdwRtnSize`, `hQuery` or `phQuery` as `{attributes, uuid}`, `dwAdd`; of winreg `hKey`, "
            "`lpValueName`, `lpType`, `lpcbData`, `lpcbLen`"
        ),
    ]
    buffer_kind: Annotated[str | None, doc("how `lpData` is laid out; null where there is none or it is not known")]
    buffer: Annotated[Raw | dict[str, Any] | None, doc("the decoded `lpData`, by the ids of `ksy/`")]
    buffer_notes: Annotated[
        tuple[str, ...] | UnsetType, doc("readings that were chosen; left out where there are none")
    ] = UNSET
    buffer_problem: Annotated[str | UnsetType, doc("damage of the buffer; left out where there is none")] = UNSET


class CallRecord(CallKeys, frozen=True, kw_only=True, tag="call"):
    """A remote call of any interface; those of PerflibV2 and winreg are decoded."""

    time: Annotated[str, doc("the same as `time_ns`, in ISO 8601, UTC")]
    time_relative_ns: Annotated[int | None, doc("the same since the first frame of the capture", unit="ns")]
    time_delta_ns: Annotated[
        int | UnsetType | None,
        doc("since the call printed before it, null for the first; only in `timeline`", unit="ns"),
    ] = UNSET
    status_name: Annotated[str | None, doc("name of `status`", source="[MS-ERREF] section 2.2")]
    fault_name: Annotated[str | None, doc("name of `fault`", source="[MS-RPCE] section 2.2.2.10 and C706 appendix E")]
    latency_ns: Annotated[int | None, doc("first frame of the response minus last frame of the request", unit="ns")]
    counterset: Annotated[CountersetFacts | None, doc("the counterset that the call asks about")]
    request: Annotated[SideRecord | None, doc("what the client sent; null where it was not captured")]
    response: Annotated[SideRecord | None, doc("what the server answered; null where it was not captured")]
    read: Annotated[ReadFacts | None, doc("of a BaseRegQueryValue that reads performance data: which read it is")]


class PduRecord(Value, frozen=True):
    """One DCERPC PDU of a message."""

    length: Annotated[int, doc("its length", unit="bytes")]
    steps: Annotated[tuple[str, ...], doc("what was undone to reach it: decryption and decompression of SMB")]
    stub_start: Annotated[int, doc("where its part of the stub begins", unit="bytes")]
    stub_stop: Annotated[int, doc("where its part of the stub ends", unit="bytes")]
    decrypted_by: Annotated[tuple[str, ...], doc("what unsealed its part of the stub")]
    extents: Annotated[tuple[PlaceExtent, ...], doc("where it was captured")]
