"""Records about a capture as a whole: the files, sessions and hosts in it, what could not be read, and counts. Records of `files`:
what was done to files over SMB, and what of their content passed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType

from analyzer.core.events import ProblemKind
from analyzer.results.records.record_types import Endpoint, FrameFiles, Frames, IsAltered, Kind, Record, Value, doc
from analyzer.results.security import AccountSource, Granted, LogonOutcome, RefusedBy

# ---------------------------------------------------------------------------------------------------------- the capture


SCHEMA = 2

Decryption = Annotated[
    Literal[
        "decrypted",
        "not sealed",
        "no key given for this principal",
        "key given, wrong",
        "handshake not in the capture",
        "bytes missing",
        "algorithm unsupported",
    ],
    doc("whether encrypted messages could be decrypted, else why not"),
]


class TraceInterface(Value, frozen=True, kw_only=True):
    """What saw packets of an event trace log."""

    provider: Annotated[Literal["ndis", "pktmon", "ras"], doc("which provider says so")]
    number: Annotated[int, doc("interface index of Windows; of pktmon the id of a component; 0 for a VPN")]
    link_type: Annotated[int, doc("how its packets begin", source="LINKTYPE_ numbers of the pcap registry")]
    name: Annotated[str, doc("its name as microsoft/etl2pcapng makes it, or that of the component")]
    description: Annotated[str, doc("what else is said of it")]


class ProcessHint(Value, frozen=True, kw_only=True):
    """A process that ran when packets were written to the trace. Often it is not the one that sent them."""

    process: Annotated[int, doc("id of the process")]
    frames: Annotated[int, doc("how many frames were written while it ran")]


class EventTrace(Value, frozen=True, kw_only=True):
    """What an event trace log (`.etl`) says beside packets."""

    file: Annotated[str, doc("the file, as in `files`")]
    computer: Annotated[str | None, doc("name of the computer; null where the trace does not have it")]
    os_build: Annotated[int, doc("build of Windows", source="TRACE_LOGFILE_HEADER ProviderVersion")]
    processors: Annotated[int, doc("processors of the computer")]
    clock: Annotated[Literal["performance counter", "system time", "cpu cycles"], doc("what its time stamps count")]
    started_ns: Annotated[int, doc("when the trace was started", unit="ns since 1970 UTC")]
    ended_ns: Annotated[int | None, doc("when it was stopped; null where it was not", unit="ns since 1970 UTC")]
    events_lost: Annotated[int, doc("events that were lost while it was written")]
    buffers_lost: Annotated[int, doc("buffers that were lost while it was written")]
    appearances: Annotated[int, doc("frames left out: packets that pktmon saw before at another component")]
    dropped: Annotated[int, doc("frames that are packets that Windows dropped, as pktmon noted")]
    interfaces: Annotated[tuple[TraceInterface, ...], doc("what saw packets")]
    process_hints: Annotated[
        tuple[ProcessHint, ...],
        doc("processes that ran when packets were written, those with most frames first, 64 at most: a hint, no proof"),
    ]


class CaptureRecord(Record, frozen=True, kw_only=True, tag="capture"):
    """What was read: files as given, frames, captured bytes, first and last time."""

    schema: Annotated[int, doc("version of this form of output")]
    files: Annotated[tuple[str, ...], doc("the files, as given")]
    frames: Annotated[int, doc("how many frames were read")]
    bytes: Annotated[int, doc("how many bytes of them were captured", unit="bytes")]
    first_time_ns: Annotated[int | None, doc("time of the first frame", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int | None, doc("time of the last frame", unit="ns since 1970 UTC")]
    traces: Annotated[
        tuple[EventTrace, ...] | UnsetType,
        doc("what event trace logs among the files say; left out where there are none"),
    ] = UNSET
    redacted: Annotated[
        bool | UnsetType, doc("true where names and addresses are pseudonyms (`--redact`); else left out")
    ] = UNSET


class StreamRecord(Record, frozen=True, kw_only=True, tag="stream"):
    """What follows is printed while the capture is read; `capture` comes near the end then."""

    schema: Annotated[int, doc("version of this form of output")]
    files: Annotated[tuple[str, ...], doc("the files, as given")]
    first_time_ns: Annotated[int | None, doc("time of the first frame", unit="ns since 1970 UTC")]
    names_from: Annotated[Literal["now"], doc("what names are taken from: what was printed before")]


class ProblemRecord(Record, frozen=True, kw_only=True, tag="problem"):
    """Something that could not be read, or was read with a reservation."""

    kind: Annotated[
        ProblemKind,
        doc(
            "`gap` not captured, `sealed` no key, `truncated` cut short, `malformed` against its specification, `unsupported` not "
            "read by this program, `conflict` two versions of the same bytes, `limit` a bound of this program, `failed` it "
            "failed and read no further, `note` nothing lost"
        ),
    ]
    layer: Annotated[
        str, doc("the layer that noticed: `capture`, `packet`, `tcp`, `smb`, `rpc`, `pcq`, `winperf`, ...")
    ]
    frames: Frames
    frame_files: FrameFiles = UNSET
    text: Annotated[str, doc("one sentence")]


class SummaryRecord(Record, frozen=True, kw_only=True, tag="summary"):
    """Counts of the whole capture, whatever is shown of it."""

    calls: Annotated[int, doc("calls of all interfaces")]
    calls_by_state: Annotated[dict[str, int], doc("calls by their `state`")]
    calls_by_method: Annotated[dict[str, int], doc("calls by interface and method")]
    problems: Annotated[int, doc("problems of all kinds")]
    problems_by_kind: Annotated[dict[str, int], doc("problems by their `kind`")]
    sessions: Annotated[int, doc("SMB sessions")]
    calls_shown: Annotated[int, doc("calls that were printed")]
    selected_by: Annotated[str | None, doc("what these were selected by, in words; null where all are shown")]


class SessionRecord(Record, frozen=True, kw_only=True, tag="session"):
    """One SMB session, as far as the capture shows it."""

    session: Annotated[int, doc("number of the session in the capture, from 0; `session` of a call")]
    session_id: Annotated[str, doc("SessionId in hexadecimal", source="[MS-SMB2] section 2.2.1.2")]
    client: Annotated[Endpoint, doc("who opened the connection")]
    server: Annotated[Endpoint, doc("who answered")]
    dialect: Annotated[str | None, doc("`3.1.1`, ..., `1.0`; null where the negotiation was not captured")]
    client_guid: Annotated[str | None, doc("ClientGuid", source="[MS-SMB2] section 2.2.3")]
    server_guid: Annotated[str | None, doc("ServerGuid", source="[MS-SMB2] section 2.2.4")]
    cipher: Annotated[str | None, doc("encryption by name (`AES-128-GCM`)", source="[MS-SMB2] section 2.2.3.1.2")]
    signing: Annotated[
        str | None,
        doc(
            "signing by name (`AES-CMAC`), null where what decides it was not captured",
            source="[MS-SMB2] section 2.2.3.1.7",
        ),
    ]
    mechanism: Annotated[
        str | None, doc("how the user was authenticated: `ntlm`, `spnego-ntlm`, `krb5`, `spnego-krb5`, ...")
    ]
    user: Annotated[
        str | None,
        doc(
            "account, `DOMAIN\\name` or `name@REALM`; `guest` where the server let the client in as a guest, whatever it claimed. "
            "Of a refused logon: who asked for it"
        ),
    ]
    user_source: Annotated[
        AccountSource | None,
        doc(
            "what names the account: the logon, an opened Kerberos ticket, the KDC's reply, which nothing verifies, or the "
            "server's answer, which granted less than was claimed"
        ),
    ]
    claimed_user: Annotated[
        str | None,
        doc("the account that the client claimed, where the server granted another (a guest's, a null session)"),
    ]
    granted: Annotated[
        Granted | None,
        doc(
            "what the server granted: the account, a guest's session, a null session; null where it refused or its answer was not "
            "captured",
            source="[MS-SMB2] section 2.2.6, [MS-CIFS] section 2.2.4.53.2",
        ),
    ]
    anonymous: Annotated[bool, doc("a null session")]
    refused: Annotated[int | None, doc("status with which the server refused the logon")]
    refused_name: Annotated[str | None, doc("its name", source="[MS-ERREF] section 2.3")]
    domain: Annotated[str | None, doc("domain of the account, as the client gave it")]
    workstation: Annotated[str | None, doc("the client's name for itself", source="[MS-NLMP] section 2.2.1.3")]
    server_name: Annotated[str | None, doc("NetBIOS name of the server", source="[MS-NLMP] section 2.2.2.1")]
    server_domain: Annotated[str | None, doc("NetBIOS domain of the server", source="[MS-NLMP] section 2.2.2.1")]
    server_dns_name: Annotated[str | None, doc("DNS name of the server", source="[MS-NLMP] section 2.2.2.1")]
    server_dns_domain: Annotated[str | None, doc("DNS domain of the server", source="[MS-NLMP] section 2.2.2.1")]
    server_os_version: Annotated[str | None, doc("VERSION of the server", source="[MS-NLMP] section 2.2.2.10")]
    client_os_version: Annotated[str | None, doc("VERSION of the client", source="[MS-NLMP] section 2.2.2.10")]
    service: Annotated[str | None, doc("service principal of the Kerberos ticket", source="RFC 4120 section 5.3")]
    realm: Annotated[str | None, doc("realm of the Kerberos ticket", source="RFC 4120 section 5.3")]
    etype: Annotated[int | None, doc("encryption type of the ticket", source="RFC 4120 section 5.2.9")]
    kvno: Annotated[int | None, doc("key version of the ticket", source="RFC 4120 section 5.2.9")]
    decryption: Decryption
    reason: Annotated[
        str | None,
        doc("a sentence about `decryption`, where there is more to say, or where only requests name the session"),
    ]
    first_time_ns: Annotated[int, doc("first frame of the session", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int, doc("last frame of the session", unit="ns since 1970 UTC")]
    frames: Frames
    frame_files: FrameFiles = UNSET
    encrypted_messages: Annotated[int, doc("messages in an SMB3 transform", source="[MS-SMB2] section 2.2.41")]
    decrypted_messages: Annotated[int, doc("how many of these were decrypted")]
    signed_messages: Annotated[int, doc("messages with a signature")]
    verified_messages: Annotated[int, doc("how many of the signatures were verified")]
    trees: Annotated[tuple[str, ...], doc("paths of the shares that were connected")]
    pipes: Annotated[tuple[str, ...], doc("names of the pipes that were opened")]
    later_users: Annotated[
        tuple[str, ...],
        doc("accounts that logged on to it later, in that order", source="[MS-SMB2] section 3.3.5.5.2"),
    ] = ()
    program: Annotated[
        str | None,
        doc(
            "the program that its client is like, several with `or` between them; null where it is like none that is known"
        ),
    ] = None
    program_marks: Annotated[
        tuple[str, ...],
        doc("the marks of its connection that are those of this program, by their names in docs/programs.md"),
    ] = ()
    altered: IsAltered = UNSET


# What a server did with an account that it did not grant.
ClaimOutcome = Literal["guest", "anonymous", "refused", "not captured"]


class LogonRecord(Record, frozen=True, kw_only=True, tag="logon"):
    """One logon: somebody authenticated, or tried to, by SMB or by RPC."""

    logon: Annotated[str, doc("names it: `smb0` the first by SMB, `rpc0` the first by RPC; `auth.logon` of a call")]
    by: Annotated[Literal["smb", "rpc"], doc("by a session setup of SMB, or by a security context of RPC")]
    session: Annotated[int | None, doc("number of the SMB session that it belongs to, or whose pipe carried it")]
    channel: Annotated[int | None, doc("of RPC: number of the open of a pipe or of the TCP connection")]
    client: Annotated[Endpoint, doc("who logged on")]
    server: Annotated[Endpoint, doc("where")]
    outcome: Annotated[
        LogonOutcome,
        doc(
            "what the server granted: the `account`, a `guest`'s session, an `anonymous` one; `bound`: a further connection of the "
            "session; `refused`; `unanswered`: no answer to it was captured; `undecided`: what was captured of an RPC logon "
            "does not show what the server decided",
            source="[MS-SMB2] section 3.3.5.5",
        ),
    ]
    user: Annotated[str | None, doc("account that was granted; of a refused logon the one that was asked for")]
    user_source: Annotated[AccountSource | None, doc("what names the account, as in `session`")]
    claimed_user: Annotated[str | None, doc("the account that the client claimed, where the server granted another")]
    mechanism: Annotated[str | None, doc("`ntlm`, `spnego-ntlm`, `krb5`, `spnego-krb5`, ...")]
    workstation: Annotated[str | None, doc("the client's name for itself", source="[MS-NLMP] section 2.2.1.3")]
    refused: Annotated[
        int | None,
        doc("status with which the server refused it: of SMB an NTSTATUS, of RPC a fault or the reason of a bind_nak"),
    ]
    refused_name: Annotated[str | None, doc("its name", source="[MS-ERREF], C706 section 12.6.3.1")]
    verified: Annotated[
        Literal["key", "answer", "none"],
        doc(
            "how far it is known to be true: a given `key` opened the handshake, so the client has the account's secret; the "
            "server's `answer` grants it; nothing but the client's word (`none`)"
        ),
    ]
    decrypted_by: Annotated[str | None, doc("which of the given keys opened the handshake, in words")]
    first_time_ns: Annotated[int, doc("first message of its handshake", unit="ns since 1970 UTC")]
    until_time_ns: Annotated[
        int, doc("when another took its place, or what it belongs to was seen last", unit="ns since 1970 UTC")
    ]
    frames: Frames
    frame_files: FrameFiles = UNSET
    refused_by: Annotated[RefusedBy | None, doc("the message with which the server refused it")] = None
    seen: Annotated[
        str | None,
        doc(
            "of an RPC logon: what shows the outcome, or what was captured in its place, in words. Null of SMB, where the "
            "answer to the session setup shows it"
        ),
    ] = None


class HostName(Value, frozen=True):
    """A name of a host, and where it was stated."""

    name: Annotated[str, doc("the name")]
    source: Annotated[str, doc("what showed it: the message and its field, in words")]


class HostClaim(Value, frozen=True):
    """An account that a client claimed in an SMB logon and did not get."""

    user: Annotated[str, doc("the account that was claimed")]
    outcome: Annotated[
        ClaimOutcome,
        doc(
            "what the server did: let the client in as a guest, without a name, or not at all; or its answer was not captured"
        ),
    ]


# What a machine is known by.
MarkKind = Literal[
    "DNS name",
    "NetBIOS name",
    "server GUID",
    "client GUID",
    "server OS version",
    "workstation",
    "client OS version",
    "MAC address",
    "hop limit",
]


class HostMark(Value, frozen=True):
    """What a machine is known by: what it states of itself, and what its frames show."""

    kind: Annotated[
        MarkKind,
        doc(
            "what it is: names and VERSION of NTLM, as server (`DNS name`, `NetBIOS name`, `server OS version`) and as client "
            "(`workstation`, `client OS version`); ServerGuid and ClientGuid of SMB, which are others after a restart; "
            "`MAC address`, from which its frames came, of packets that no router forwarded as their hop limit shows; `hop limit` "
            "(time to live) as captured, with what it probably began with",
            source="[MS-NLMP] section 2.2.2, [MS-SMB2] sections 2.2.3 and 2.2.4, RFC 791",
        ),
    ]
    value: Annotated[str, doc("its value")]
    frames: Annotated[tuple[int, ...], doc("numbers of the first frames of sessions and logons that show it")]
    frame_files: FrameFiles = UNSET


class HostProgram(Value, frozen=True):
    """A program that connections of a machine are like, as a client."""

    name: Annotated[str, doc("the program, several with `or` between them")]
    alike: Annotated[
        tuple[str, ...],
        doc("the marks that are those of the program, of the connection that shows most, by their names"),
    ]
    marks: Annotated[int, doc("how many marks this connection shows")]
    connections: Annotated[int, doc("how many connections are like it")]
    frames: Annotated[tuple[int, ...], doc("numbers of the first frames that show the marks")]
    frame_files: FrameFiles = UNSET


class HostRecord(Record, frozen=True, kw_only=True, tag="host"):
    """One machine at one address, with everything that the traffic states about who it is. An address that was several machines
    has several records."""

    ip: Annotated[str, doc("address")]
    roles: Annotated[tuple[str, ...], doc("`SMB client`, `SMB server`, `DCERPC client`, `DCERPC server`")]
    names: Annotated[tuple[HostName, ...], doc("its names")]
    users: Annotated[tuple[str, ...], doc("accounts that were used from there")]
    claims: Annotated[tuple[HostClaim, ...], doc("accounts that were claimed from there and not granted")]
    os_versions: Annotated[tuple[str, ...], doc("versions of the operating system that it sent")]
    dialects: Annotated[tuple[str, ...], doc("SMB dialects that it negotiated as a server")]
    machine: Annotated[
        int | None,
        doc("number of the machine, from 1: its addresses share it; null where no session or logon shows it"),
    ] = None
    first_time_ns: Annotated[
        int | None, doc("first frame of the sessions and logons that show it there", unit="ns since 1970 UTC")
    ] = None
    last_time_ns: Annotated[int | None, doc("last frame of these", unit="ns since 1970 UTC")] = None
    marks: Annotated[tuple[HostMark, ...], doc("what it is known by")] = ()
    apart: Annotated[
        str | None, doc("why it is not the machine before it at this address; null where there is none before it")
    ] = None
    other_ips: Annotated[tuple[str, ...], doc("other addresses of this machine, at most 64")] = ()
    joined_by: Annotated[str | None, doc("what shows that these are of one machine")] = None
    programs: Annotated[
        tuple[HostProgram, ...], doc("the programs that its clients are like, as docs/programs.md has them")
    ] = ()
    altered: IsAltered = UNSET


class OmissionRecord(Record, frozen=True, kw_only=True, tag="omission"):
    """What was left out of the records because there was too much of it."""

    text: Annotated[str, doc("one sentence")]


class LimitRecord(Record, frozen=True, kw_only=True, tag="limit"):
    """A bound of this program."""

    name: Annotated[str, doc("its name")]
    default: Annotated[int, doc("how much, unless an option says otherwise")]
    unit: Annotated[str | None, doc("what is counted; null for a plain number")]
    what: Annotated[str, doc("what is bounded, in words")]
    reason: Annotated[str, doc("why")]
    option: Annotated[str | None, doc("the option that changes it; null where it is fixed")]


# --------------------------------------------------------------------------------------------------------- opened files


FileAction = Literal["created", "overwritten", "opened", "read", "written", "renamed", "deleted"]
FileWarning = Literal["executable-to-administrative-share"]


class PassedContent(Value, frozen=True):
    """Content of a file that passed in one direction."""

    bytes: Annotated[int, doc("how many bytes passed, repetitions counted", unit="bytes")]
    ranges: Annotated[
        tuple[tuple[int, int], ...],
        doc(
            "which bytes of the file they are, each range from its first byte to behind its last; the first 256 ranges"
        ),
    ]
    is_whole: Annotated[
        bool, doc("they are the whole file: one range from 0 to its size, which is known, and nothing written twice")
    ]
    sha256: Annotated[
        str | None,
        doc(
            "SHA-256 of these bytes, in hexadecimal, where they are one range: of the file if `is_whole`, else of a part. Null "
            "where bytes are missing in between, where some were written twice, and where they came too far out of order"
        ),
    ]
    begins: Annotated[
        str | None, doc("the first bytes of the file, in hexadecimal, at most 16; null where they did not pass")
    ]


class FileRecord(Record, frozen=True, kw_only=True, tag="file"):
    """One open of a file or directory over SMB, or a file that was deleted or renamed by its name."""

    session: Annotated[int | None, doc("number of the SMB session, as in `sessions`; null where nothing shows it")]
    user: Annotated[str | None, doc("the account that the session was logged on as")]
    client: Annotated[Endpoint, doc("who opened it")]
    server: Annotated[Endpoint, doc("whose file it is")]
    share: Annotated[
        str | None, doc("path of the share, `\\\\server\\ADMIN$`; null where its connecting was not captured")
    ]
    name: Annotated[str | None, doc("path in the share; null where its opening was not captured")]
    is_directory: Annotated[bool | None, doc("a directory; null where nothing shows it")]
    actions: Annotated[tuple[FileAction, ...], doc("what was done to it, each once, in the order of the first time")]
    status: Annotated[
        int | None,
        doc(
            "NTSTATUS of the answer to its opening; null where it was not captured, or no status of that kind",
            kind=Kind.STATUS,
        ),
    ]
    status_name: Annotated[str | None, doc("its name", source="[MS-ERREF] section 2.3")]
    size: Annotated[
        int | None, doc("its size, as the server stated it last, or by what was written to a new file", unit="bytes")
    ]
    renamed_to: Annotated[str | None, doc("its new name")]
    read: Annotated[PassedContent | None, doc("what was read of it")]
    written: Annotated[PassedContent | None, doc("what was written to it")]
    is_executable: Annotated[
        bool | None, doc("it begins with `MZ`, as programs of Windows do; null where its beginning did not pass")
    ]
    warnings: Annotated[
        tuple[FileWarning, ...],
        doc(
            "a program, by content or by name, was written to `ADMIN$` or the share of a drive (`C$`): so tools install services"
        ),
    ]
    first_time_ns: Annotated[int, doc("first message about it", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int, doc("last message about it", unit="ns since 1970 UTC")]
    closed: Annotated[bool, doc("its closing was captured")]
    frames: Annotated[
        Frames, doc("frames of the first and last messages about it, as Wireshark counts them, ascending; at most 64")
    ]
    frame_files: FrameFiles = UNSET


class FoundFiles(Struct, frozen=True):
    """The records of files that a capture shows, and what was left out because there was too much of it."""

    files: tuple[FileRecord, ...]
    omissions: tuple[OmissionRecord, ...] = ()
