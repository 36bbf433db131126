"""Records of who took part in a capture: SMB sessions, logons, and the machines with their names and programs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET

from analyzer.results.records.record_types import (
    Decryption,
    Endpoint,
    FrameFiles,
    Frames,
    IsAltered,
    Record,
    Value,
    doc,
)
from analyzer.results.security import AccountSource, Granted, LogonOutcome, RefusedBy

# What a server did with an account that it did not grant.
ClaimOutcome = Literal["guest", "anonymous", "refused", "not captured"]
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
