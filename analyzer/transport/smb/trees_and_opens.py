"""Trees and opens of SMB sessions, and which opens are pipes that carry DCERPC.

A tree ([MS-SMB2] section 3.3.1.9) of a session, by its TreeId:

    -            TREE_CONNECT response with success                     CONNECTED
    CONNECTED    TREE_DISCONNECT response, more than `Limits.trees`     forgotten; its opens are closed at a disconnect
    CONNECTED    the session is over                                    forgotten

An open ([MS-SMB2] section 3.3.1.10), by its FileId; its kind (`Open.kind`: pipe or file) may be known later than the open itself:

    -            CREATE response with success                           OPEN: pipe or file, as the tree says
    -            a READ, WRITE or IOCTL that names it                   OPEN: unknown, the CREATE was not captured
    OPEN         its first data: they begin like DCERPC, or not         OPEN: a pipe with a channel, or a file
    OPEN         CLOSE response, the same id again, its tree's or its   closed: `ChannelClosed` where it had a channel; one that is
                 session's end, more than `Limits.opens`                durable may outlive tree and session (`durable_opens`)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from analyzer.results.connection import Channel
from analyzer.transport.smb.durable_opens import DurableKey, SentAlready
from analyzer.transport.tcp.protocol_recognition import looks_like_dcerpc

if TYPE_CHECKING:
    from analyzer.transport.smb.smb_session import SessionLogon

# So much of its data decides what an open of unknown kind is.
LOOKED_AT = 16
OpenKind = Literal["pipe", "file", "unknown"]


def may_be_dcerpc(data: bytes) -> bool:
    """Whether data of an open may begin a DCERPC PDU. The header may be incomplete."""
    if len(data) >= 10:
        return looks_like_dcerpc(data)
    return not data or (data[0] == 5 and data[1:2] <= b"\1" and data[2:3] <= b"\x13")


# Pipes whose protocol is DCERPC, whatever is read from them (the "well-known endpoints" of the Windows protocol documents).
RPC_PIPES = frozenset(
    (
        "atsvc",
        "browser",
        "efsrpc",
        "epmapper",
        "eventlog",
        "fssagentrpc",
        "initshutdown",
        "keysvc",
        "lsarpc",
        "lsass",
        "msgsvc",
        "netdfs",
        "netlogon",
        "ntsvcs",
        "plugplay",
        "protected_storage",
        "router",
        "samr",
        "scerpc",
        "spoolss",
        "srvsvc",
        "svcctl",
        "tapsrv",
        "trkwks",
        "w32time",
        "winreg",
        "wkssvc",
    )
)


def whole_file_id(opens: Mapping[bytes, Open], file_id: bytes) -> bytes:
    """Returns the whole FileId of an open, if a message leaves out its persistent half ([MS-SMB2] section 2.2.14.1). Some servers
    answer FSCTL_PIPE_TRANSCEIVE like this. It is the only open with this volatile half."""
    if file_id in opens or any(file_id[:8]):
        return file_id
    found = [known for known in opens if known[8:] == file_id[8:]]
    return found[0] if len(found) == 1 else file_id


def pipe_name(path: str) -> str:
    """Returns the name of an SMB pipe from its path, `\\\\PIPE\\\\WinReg` as `winreg`."""
    name = path.replace("/", "\\").lstrip("\\").lower()
    return name.removeprefix("pipe\\").lstrip("\\")


class ConnectedTree(Struct):
    path: str
    kind: OpenKind


class Open(Struct):
    """An SMB open of a file or pipe. An open of unknown kind becomes a pipe when its data shows DCERPC.

    `is_dcerpc` states whether a pipe carries DCERPC: by its name, else by its first bytes, None before there are any. Other pipes
    are not read further, like files. `durable` is the key with which a client opens it again, None if the server did not grant
    that. `sent` is what the client sent over it, if it may send that again. `logon` is the logon under which it was opened, None if
    unknown.
    """

    kind: OpenKind
    name: str | None
    tree_id: int | None = None
    channel: Channel | None = None
    impersonation: int | None = None
    is_dcerpc: bool | None = None
    durable: DurableKey | None = None
    sent: SentAlready | None = None
    logon: SessionLogon | None = None
