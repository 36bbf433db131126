"""A remote call in two forms: `Call`, which an analysis holds, and `CallRecord`, which is printed as a line.

Both have the same keys and add their own. `Call` adds the bytes of the two sides and where they were captured. `CallRecord` adds
what is derived from them: names of numbers, hashes, and the decoded buffer. A `Call` knows no layer. It describes its bytes as
`TracedBytes`, wherever these are kept.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol

from msgspec import UNSET, Raw, UnsetType, field

from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import kind_of
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.calls.pdus import Fragments, frame_range_of, frames_of, stub_of
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods import perflib, scmr, winreg
from analyzer.results.methods.return_kinds import ReturnKind, return_kind
from analyzer.results.records.capture_records import Decryption
from analyzer.results.records.record_types import Endpoint, FrameFiles, Frames, Kind, PlaceExtent, Record, Value, doc
from analyzer.results.security import AccountSource, AuthInfo, AuthLevel, Identity

CallState = Literal["complete", "request-only", "response-only", "partial", "sealed", "malformed"]
# What the server did with a call, as far as the capture shows it.
CallOutcome = Literal["answered", "refused", "asked", "unreadable"]
SideName = Literal["request", "response"]
Syntax = Literal["ndr", "ndr64"]
Transport = Literal["ncacn_np", "ncacn_ip_tcp"]


class SmbFacts(Value, frozen=True, cache_hash=True, omit_defaults=True):
    """How SMB carried a call."""

    dialect: Annotated[str | None, doc("`3.1.1`, ..., `1.0`; null where the negotiation was not captured")]
    session_id: Annotated[str, doc("SessionId in hexadecimal", source="[MS-SMB2] section 2.2.1.2", kind=Kind.NUMBER)]
    encrypted: Annotated[bool, doc("in an SMB3 transform", source="[MS-SMB2] section 2.2.41")]
    signed: Annotated[bool, doc("with a signature", source="[MS-SMB2] section 3.1.4.1")]
    signature_ok: Annotated[
        bool | None,
        doc("whether the signatures of the messages that carried it fit; null where there is none or no key for it"),
    ]
    compressed: Annotated[bool, doc("compressed", source="[MS-SMB2] section 2.2.42")]
    client: Annotated[
        Endpoint | None,
        doc(
            "client's end of the connection that carried it, where that is not the one that the session began on; else left out",
            source="[MS-SMB2] section 3.3.5.5.2",
        ),
    ] = None
    server: Annotated[Endpoint | None, doc("its other end; left out likewise")] = None


class Signed(Protocol):
    """What carried a call, and says of its SMB signatures whether they fit."""

    @property
    def signature_ok(self) -> bool | None: ...


def is_altered(smb: Signed | None, security: AuthInfo | None) -> bool:
    """Whether others may have changed a call since it was sent: by what SMB and RPC state of the call, a signature does not fit."""
    return (smb is not None and smb.signature_ok is False) or (security is not None and security.verified is False)


class AuthFacts(Value, frozen=True, cache_hash=True):
    """Who made a call, and how it was secured."""

    type: Annotated[
        str,
        doc(
            "`none`, `ntlm`, `spnego-ntlm`, `krb5`, `spnego-krb5`, `schannel`, ...; `unknown` where what states it was not captured"
        ),
    ]
    level: Annotated[
        str,
        doc(
            "`none`, `connect`, `call`, `pkt`, `integrity`, `privacy`; `unknown` where what states it was not captured; "
            "any other as a number",
            source="[MS-RPCE] section 2.2.1.1.8",
            words=[name.lower() for name in AuthLevel.names.values()],
        ),
    ]
    user: Annotated[
        str | None,
        doc(
            "account, `DOMAIN\\name` or `name@REALM`; `guest` where the server let the client in as a guest, whatever it claimed"
        ),
    ]
    user_from: Annotated[Literal["rpc", "smb"] | None, doc("whose authentication states the account")]
    user_source: Annotated[
        AccountSource | None,
        doc(
            "what names the account: the logon, a Kerberos ticket that a key opened, the KDC's reply that issued the very ticket, "
            "which nothing verifies, or the server's answer, which granted less than was claimed"
        ),
    ]
    anonymous: Annotated[bool | None, doc("a null session; its user is `NT AUTHORITY\\ANONYMOUS LOGON`")]
    workstation: Annotated[str | None, doc("the client's name for itself", source="[MS-NLMP] section 2.2.1.3")]
    verified: Annotated[bool | None, doc("whether the signatures fit; null where there are none or no key for them")]
    decryption: Annotated[
        Decryption | None, doc("why a sealed call could not be unsealed; null where nothing was in the way")
    ]
    decrypted_by: Annotated[str | None, doc("which of the given keys decrypted it, in words; null where none did")]
    # Cases that were saved before have neither.
    claimed_user: Annotated[
        str | None,
        doc("the account that the client claimed, where the server granted another (a guest's, a null session)"),
    ] = None
    guest: Annotated[
        bool | None,
        doc(
            "the server let the client in as a guest; null where nothing states who it is",
            source="[MS-SMB2] section 2.2.6, [MS-CIFS] section 2.2.4.53.2",
        ),
    ] = None
    logon: Annotated[
        str | None,
        doc("the logon that states the account, `logon` of `logons`; null where it was not captured"),
    ] = None
    later_user: Annotated[
        str | None,
        doc(
            "account of the logon that was in force on the SMB session when the call was made, where that is a later one than that "
            "under which the pipe was opened; which of the two the server takes is its choice. Also of a renewal whose answer was "
            "not captured; `unknown user` where no message names it",
            source="[MS-SMB2] section 3.3.5.5.2",
        ),
    ] = None
    later_logon: Annotated[str | None, doc("that logon")] = None


class InterfaceFacts(Value, frozen=True, cache_hash=True):
    """The interface of a call."""

    uuid: Annotated[str | None, doc("UUID; null where the bind was not captured", kind=Kind.GUID)]
    version: Annotated[str | None, doc("`1.0`")]
    name: Annotated[
        str | None, doc("name as in its specification, null where this program has none", kind=Kind.INTERFACE)
    ]
    recognised: Annotated[bool, doc("the bind was not captured, and the stubs themselves show which interface it is")]


class CountersetFacts(Value, frozen=True):
    """The counterset that a call asks about."""

    guid: Annotated[str, doc("CounterSetGuid", source="[MS-PCQ] section 3.1.4.1.2", kind=Kind.GUID)]
    name: Annotated[str | None, doc("its name, as far as the capture or a metadata file gives it")]


class ReadFacts(Value, frozen=True):
    """A read of performance data through the registry. A client asks again with a larger buffer until it is large enough."""

    number: Annotated[int, doc("counts the reads, from 1")]
    attempt: Annotated[int, doc("counts the tries of this read, from 1")]
    key: Annotated[str | None, doc("the predefined key; null where its opening was not captured")]
    value: Annotated[str | None, doc("what is read, in words")]


class RegistryFacts(Value, frozen=True):
    """The key and value that a winreg call is about, other than performance data."""

    path: Annotated[
        str | None,
        doc(
            "the key, `HKLM\\SOFTWARE`; `?` stands for what was opened before the capture, null where nothing shows it"
        ),
    ]
    value: Annotated[str | None, doc("name of the value")]
    type: Annotated[str | None, doc("its type, `REG_SZ`", source="[MS-RRP] section 3.1.1.5")]
    data: Annotated[
        str | int | tuple[str, ...] | None, doc("its data by that type; hexadecimal where it is binary or does not fit")
    ]


class ServiceFacts(Value, frozen=True):
    """The service that a svcctl call is about, as far as the capture states it."""

    name: Annotated[str | None, doc("its name; null where its opening was not captured")]
    display_name: Annotated[str | None, doc("the name that people see")]
    image_path: Annotated[str | None, doc("what it runs: lpBinaryPathName", source="[MS-SCMR] section 3.1.4.12")]
    account: Annotated[str | None, doc("the account that it runs as")]
    start: Annotated[str | None, doc("when it starts: `automatic`, `on demand`, `disabled`, `boot`, `system`")]
    arguments: Annotated[tuple[str, ...] | None, doc("what it is started with")]


class CallKeys(Record, frozen=True):
    """What every form of a call has."""

    number: Annotated[int, doc("number of the call, from 1, over all calls of the capture; `call` of other records")]
    time_ns: Annotated[int, doc("first frame of the request", unit="ns since 1970 UTC")]
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
    method: Annotated[str | None, doc("name of the method as in its specification", kind=Kind.METHOD)]
    call_id: Annotated[int, doc("call_id of its PDUs", source="C706 section 12.6.3.1")]
    context_id: Annotated[int, doc("p_cont_id of its PDUs", source="C706 section 12.6.4.9")]
    state: Annotated[
        CallState,
        doc(
            "`complete`; `request-only`, `response-only`; `partial` bytes are missing; `sealed` no key; `malformed` a stub does "
            "not decode"
        ),
    ]
    reason: Annotated[
        str | None,
        doc("a sentence for every state but `complete`, and where two versions of bytes of the call were captured"),
    ]
    status: Annotated[
        int | None,
        doc(
            "the method's return value, unsigned: a Win32 code, an NTSTATUS or an HRESULT. Of an interface that is not decoded it "
            "is the end of the response; null where this program does not know that the method returns one",
            kind=Kind.STATUS,
        ),
    ]
    fault: Annotated[int | None, doc("status of a DCERPC fault", source="C706 section 12.6.4.7", kind=Kind.FAULT)]


class SideRecord(Value, frozen=True, kw_only=True):
    """The printed form of the request or the response of a call."""

    frames: Frames
    frame_files: FrameFiles = UNSET
    stub_length: Annotated[
        int | None,
        doc("length of the stub: unsealed, fragments joined, without padding and verification trailer", unit="bytes"),
    ]
    stub_sha256: Annotated[str | None, doc("SHA-256 of the stub, in hexadecimal")]
    wire_length: Annotated[int, doc("length of the stub as it was sent, as far as it was captured", unit="bytes")]
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
    buffer_kind: Annotated[
        BufferKind | None, doc("how `lpData` is laid out; null where there is none or it is not known")
    ]
    buffer: Annotated[Raw | dict[str, Any] | None, doc("the decoded `lpData`, by the ids of `ksy/`")]
    buffer_notes: Annotated[
        tuple[str, ...] | UnsetType, doc("readings that were chosen; left out where there are none")
    ] = UNSET
    buffer_problem: Annotated[str | UnsetType, doc("damage of the buffer; left out where there is none")] = UNSET


class CallRecord(CallKeys, frozen=True, kw_only=True, tag="call"):
    """A remote call of any interface; those of PerflibV2 and winreg are decoded."""

    time: Annotated[str, doc("`time_ns` in ISO 8601, UTC")]
    time_relative_ns: Annotated[int | None, doc("time since the first frame of the capture", unit="ns")]
    time_delta_ns: Annotated[
        int | UnsetType | None,
        doc(
            "time since the call printed before it (in filters: since the call before it), null for the first; in `timeline` "
            "and tables",
            unit="ns",
        ),
    ] = UNSET
    status_name: Annotated[str | None, doc("name of `status`", source="[MS-ERREF] section 2")]
    fault_name: Annotated[str | None, doc("name of `fault`", source="[MS-RPCE] section 2.2.2.10 and C706 appendix E")]
    latency_ns: Annotated[
        int | None,
        doc(
            "first frame of the response minus last frame of the request; null where one of them was not captured, and where the "
            "clock of the capture went back between them",
            unit="ns",
        ),
    ]
    handle: Annotated[
        str | None,
        doc(
            "the handle that the call works on or gives out: `q2` the second query handle, `k1` the first registry key, `s1` the "
            "first handle of a service or of the service control manager"
        ),
    ]
    handle_uuid: Annotated[str | None, doc("UUID of that context handle", kind=Kind.GUID)]
    counterset: Annotated[CountersetFacts | None, doc("the counterset that the call asks about")]
    registry: Annotated[RegistryFacts | None, doc("of winreg: the key and value that the call is about")] = None
    service: Annotated[ServiceFacts | None, doc("of svcctl: the service that the call is about")] = None
    request: Annotated[SideRecord | None, doc("what the client sent; null where it was not captured")]
    response: Annotated[SideRecord | None, doc("what the server answered; null where it was not captured")]
    read: Annotated[ReadFacts | None, doc("of a BaseRegQueryValue that reads performance data: which read it is")]
    program: Annotated[
        str | None,
        doc(
            "the program that the client is like by the marks of its connection, several with `or` between them "
            "(docs/programs.md); null where it is like none that is known, and with `--names-from now`"
        ),
    ] = None


class PduRecord(Value, frozen=True):
    """One DCERPC PDU of a message."""

    length: Annotated[int, doc("its length", unit="bytes")]
    steps: Annotated[tuple[str, ...], doc("what was undone to reach it: decryption and decompression of SMB")]
    stub_start: Annotated[int, doc("where its part of the stub begins", unit="bytes")]
    stub_stop: Annotated[int, doc("where its part of the stub ends", unit="bytes")]
    decrypted_by: Annotated[tuple[str, ...], doc("what unsealed its part of the stub")]
    extents: Annotated[tuple[PlaceExtent, ...], doc("where it was captured")]


class StubProblem(Value, frozen=True):
    """The reason why a call's stub does not decode, and the place in it."""

    kind: Literal["malformed", "truncated", "unsupported"]
    field: str
    reason: str
    start: int | None
    stop: int | None

    @classmethod
    def from_error(cls, error: DecodeError) -> StubProblem:
        return cls(kind_of(error), error.field, error.reason, error.start, error.stop)

    def __str__(self) -> str:
        return str(DecodeError(self.reason, field=self.field, start=self.start, stop=self.stop))

    @property
    def undecoded(self) -> int | None:
        """Returns how many bytes of a call's stub are not decoded, counted from where reading stopped to the end of the stub."""
        return self.stop - self.start if self.start is not None and self.stop is not None else None


class PerformanceRead(Value, frozen=True):
    """The read of a performance value that a call is part of: `number` counts reads from 1, `attempt` the tries of this one from 1.

    `key` is the predefined key the handle was opened as, None where its opening was not captured.
    """

    number: int
    attempt: int
    key: str | None
    handle: str
    value_name: str


class Side(Value, frozen=True, kw_only=True):
    """The request or the response of a remote call.

    `missing` says why there is no stub. If there is one, its first `stub_length` bytes count; alignment before a verification
    trailer may follow. `params` is keyed by the IDL's spelling. `buffer_span` is the place of the content of `lpData` in the stub.
    `buffer_kind` is its layout, None if unknown. `problem` says why the stub does not decode. `wire_length` counts the captured
    bytes of the stub as sent. A message too long to be kept has no `pdus`, but `frames_of_dropped`. In a response, `is_untimed`
    says that the last frame of its request or its own first frame was not captured, or that the clock of the capture went back
    between them. `overtook_ns` is set if a request or answer that came before it on its channel was captured later: the time of
    that one.
    """

    pdus: Fragments
    missing: Missing | None
    stub_length: int
    wire_length: int
    verification_trailer: Literal["ok", "bad"] | None
    big_endian: bool
    first_time_ns: int
    last_time_ns: int
    frames_of_dropped: tuple[int, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    buffer_span: tuple[int, int] | None = None
    buffer_kind: BufferKind | None = None
    problem: StubProblem | None = None
    is_untimed: bool = False
    overtook_ns: int | None = None

    @property
    def stub(self) -> TracedBytes | Missing:
        """Returns the unsealed, joined stub of a call's side, without authentication padding and verification trailer."""
        if self.missing is not None:
            return self.missing
        stub = stub_of(self.pdus)
        return stub if len(stub) == self.stub_length else stub.view(0, self.stub_length)

    @property
    def stub_data(self) -> bytes:
        """Returns the bytes of a call's `stub`, empty if there is none."""
        if self.missing is not None:
            return b""
        pdus = self.pdus
        length = self.stub_length
        return stub_of(pdus).part(0, length) if isinstance(pdus, tuple) else pdus.stub_bytes(length)

    @property
    def buffer(self) -> TracedBytes | None:
        """Returns the content of a call's `lpData`, None if there is none."""
        return stub_of(self.pdus).view(*self.buffer_span) if self.buffer_span is not None else None

    @property
    def buffer_data(self) -> bytes:
        """Returns the bytes of a call's `buffer`, empty if there is none."""
        return stub_of(self.pdus).part(*self.buffer_span) if self.buffer_span is not None else b""

    @property
    def frames(self) -> tuple[int, ...]:
        """Ids of the frames that carried the request or response, ascending."""
        return self.frames_of_dropped or frames_of(self.pdus)

    @property
    def first_frame(self) -> int:
        """The lowest frame id of this side of a `Call`, 0 where there are none."""
        return self.frame_range[0]

    @property
    def last_frame(self) -> int:
        """The highest frame id of this side of a call, 0 where there are none."""
        return self.frame_range[1]

    @property
    def frame_range(self) -> tuple[int, int]:
        """The lowest and the highest frame id of this side of a call, 0 where there are none."""
        if self.frames_of_dropped:
            return self.frames_of_dropped[0], self.frames_of_dropped[-1]
        return frame_range_of(self.pdus) or (0, 0)


class Call(CallKeys, frozen=True, tag="held-call"):
    """A remote call with its bytes. `number` is 0 until the calls are put in order.

    The call came over `channel`, the number of an open of a pipe or of a TCP connection. `impersonation` is the level with which
    the pipe was opened ([MS-SMB2] section 2.2.13). Both authentications are in `security` and `smb_identity`. `query` is the query
    handle of a PerflibV2 call, in its state before the call.

    For a call of the registry, `read` is set for reads of performance values, and `key` for calls on a performance key. Its
    `key_number` counts the key handles of the capture (the first is 1). Its `path` is any other key that it opens, deletes or works
    on (`HKLM\\SOFTWARE`), if the openings of handles were captured. For a call of the service control manager, `key_number` counts
    its handles likewise, and `path` is the name of the service.
    """

    channel: int
    impersonation: int | None
    security: AuthInfo
    smb_identity: Identity | None
    request: Side | None
    response: Side | None
    query: QueryView | None = None
    read: PerformanceRead | None = None
    key: str | None = None
    key_number: int | None = None
    path: str | None = None

    @property
    def is_altered(self) -> bool:
        """Whether a signature of the call does not fit, so that others may have changed it."""
        return is_altered(self.smb, self.security)

    @property
    def is_perflib(self) -> bool:
        """Whether this `Call` is of PerflibV2."""
        return self.interface.uuid == perflib.INTERFACE

    @property
    def is_winreg(self) -> bool:
        """Whether the call is of the remote registry."""
        return self.interface.uuid == winreg.INTERFACE

    @property
    def is_svcctl(self) -> bool:
        """Whether this `Call` is of the service control manager."""
        return self.interface.uuid == scmr.INTERFACE

    @property
    def is_performance(self) -> bool:
        """Whether the call is about performance counters, or may be as far as the capture states."""
        if self.is_perflib or not self.is_winreg:
            return self.is_perflib
        return self.key is not None or self.read is not None or self.request is None or self.request.missing is not None

    @property
    def frames(self) -> tuple[int, ...]:
        """Ids of all frames of the call's request and response, ascending."""
        sides = (side.frames for side in (self.request, self.response) if side is not None)
        return tuple(sorted({frame for frames in sides for frame in frames}))

    @property
    def identity(self) -> Identity | None:
        """Returns the identity of the account that made the call (`AuthInfo.caller`)."""
        return self.security.caller(self.smb_identity)

    @property
    def return_kind(self) -> ReturnKind:
        """Returns what the `status` of this call is: a Win32 error, an NTSTATUS or an HRESULT."""
        return return_kind(self.interface.uuid, self.opnum)

    @property
    def carriers(self) -> tuple[Endpoint, Endpoint]:
        """Returns the client's and the server's end of the connection that carried the call. In an SMB session with several
        connections, these may differ from `client` and `server`."""
        smb = self.smb
        if smb is None or smb.client is None or smb.server is None:
            return self.client, self.server
        return smb.client, smb.server

    @property
    def outcome(self) -> CallOutcome:
        """Returns the outcome of the call: answered, refused, asked without an answer, unreadable. Every statement that a call
        failed or was read uses it.

        `refused`: the call has a fault, or its return value says so. That is a Win32 code other than 0, or an NTSTATUS that is a
        warning or an error, except the end of an enumeration.
        `asked`: no answer was captured. `unreadable`: the answer is sealed, cut or malformed, or its request was not captured.
        `answered`: all others.
        """
        if self.fault is not None or (self.status and self.return_kind.is_failure(self.status)):
            return "refused"
        if self.state == "complete":
            return "answered"
        return "asked" if self.response is None and self.state in ("request-only", "sealed") else "unreadable"

    @property
    def asks_size(self) -> bool:
        """Whether the server refused the call and returned the buffer size that it needs. Clients ask for sizes in this way."""
        if self.fault is not None:
            return False
        if not self.is_perflib:
            return self.status == winreg.ERROR_MORE_DATA
        needed = self.response.params.get("pdwRtnSize") if self.response is not None else None
        return self.status == perflib.ERROR_NOT_ENOUGH_MEMORY and bool(needed)

    @property
    def latency_ns(self) -> int | None:
        """Returns the latency of the call: first response frame minus last request frame. None if one of these frames was not
        captured, or if the clock of the capture went back between them."""
        if self.request is None or self.response is None or self.response.is_untimed:
            return None
        latency = self.response.first_time_ns - self.request.last_time_ns
        return latency if latency >= 0 else None

    @property
    def counterset(self) -> str | None:
        """Returns the counterset that the call names in its request (CounterSetGuid of PerflibV2), None for calls that name
        none."""
        guid = self.request.params.get("CounterSetGuid") if self.is_perflib and self.request is not None else None
        return guid if isinstance(guid, str) else None

    @property
    def request_code(self) -> int | None:
        """Returns the RequestCode in this call's request: None but for a `Call` of PerflibV2QueryCounterSetRegistrationInfo."""
        code = self.request.params.get("RequestCode") if self.is_perflib and self.request is not None else None
        return code if isinstance(code, int) else None

    @property
    def handle(self) -> str | None:
        """Returns the name of the handle that the call works on. `q2` is the second query handle of the capture, `k1` the first
        registry key, `s1` the first handle of a service or of the service control manager."""
        if self.query is not None:
            return f"q{self.query.number}"
        return f"{'s' if self.is_svcctl else 'k'}{self.key_number}" if self.key_number is not None else None

    @property
    def handle_uuid(self) -> str | None:
        """The UUID of the handle the call works on."""
        if self.query is not None:
            return self.query.handle
        if self.key_number is None:
            return None
        return key_handle_uuid(self.request, self.response)


# Where handles of keys and services stand among the parameters: those that are used, and those that are given out.
_USED = ("hKey", "hService", "hSCObject")
_GIVEN = ("phKey", "lpServiceHandle", "lpScHandle")


class HasParams(Protocol):
    """The request or response of a call. Only its parameters are needed."""

    @property
    def params(self) -> dict[str, Any]: ...


def key_handle_uuid(request: HasParams | None, response: HasParams | None) -> str | None:
    """Returns the UUID of the registry key handle or service handle that a `Call` or held call uses or returns."""
    named = ((request, _USED), (response, _GIVEN))
    return next((found for side, names in named for name in names if (found := handle_of(side, name))), None)


def handle_of(side: HasParams | None, name: str) -> str | None:
    """Returns the UUID of the context handle that a call's parameter holds, None if it holds none."""
    value = side.params.get(name) if side is not None else None
    return value["uuid"] if isinstance(value, dict) else None
