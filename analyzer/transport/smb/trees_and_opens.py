"""Trees and opens of SMB sessions: which opens are pipes that carry DCERPC, and which outlive their connection.

A tree ([MS-SMB2] section 3.3.1.9) of a session, by its TreeId:

    -            TREE_CONNECT response with success                     CONNECTED
    CONNECTED    TREE_DISCONNECT response, more than `Limits.trees`     forgotten; its opens are closed at a disconnect
    CONNECTED    the session is over                                    forgotten

An open ([MS-SMB2] section 3.3.1.10), by its FileId; its kind (`Open.kind`: pipe or file) may be known later than the open itself:

    -            CREATE response with success                           OPEN: pipe or file, as the tree says
    -            a READ, WRITE or IOCTL that names it                   OPEN: unknown, the CREATE was not captured
    OPEN         its first data: they begin like DCERPC, or not         OPEN: a pipe with a channel, or a file
    OPEN         CLOSE response, the same id again, its tree's or its   closed: `ChannelClosed` where it had a channel; one that is
                 session's end, more than `Limits.opens`                durable may outlive tree and session (see below)

Durable opens outlive their connection, and requests are sent again. A client whose connection was lost opens a durable or
persistent handle again over another one, and names it by its FileId ([MS-SMB2] sections 3.2.4.4, 3.3.5.9.7 and 3.3.5.9.12). This is
the same open, under another FileId of another session. The client also sends again what was not answered, with
SMB2_FLAGS_REPLAY_OPERATION. The server answers a CREATE that it granted already with the same FileId (3.3.5.9.10). A WRITE or IOCTL
that is sent again counts once (3.3.5.2.10).

[MS-SMB2] section 3.3.5.9.6 grants durability with a batch oplock or a lease that caches handles, 3.3.5.9.10 also on a share that is
continuously available. A named pipe has none of these. We still read it if a server grants it.

    state     input                                                     next state
    -         CREATE response with DHnQ or DH2Q                          DURABLE, with its session
    DURABLE   the end of its session or of its tree                      KEPT: without a session, its channel stays open
    DURABLE   CREATE response to DHnC or DH2C with its FileId            DURABLE, with the session that asked
    KEPT      the same                                                   DURABLE, with the session that asked
    DURABLE   CLOSE response, the same id again, more than allowed       closed
    KEPT      more than `Limits.opens` kept, the capture ends            closed, the oldest first
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from analyzer.core.byte_origins import FrameExtent, Source
from analyzer.core.events import Event
from analyzer.results.connection import Channel
from analyzer.transport.channel.channels import ChannelClosed
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.tcp.protocol_recognition import looks_like_dcerpc

if TYPE_CHECKING:
    from analyzer.transport.smb.channel_emitter import Emitter
    from analyzer.transport.smb.smb_session import Session, SessionLogon


# --------------------------------------------------------------------------------------------------------- trees and opens


# So much of its data decides what an open of unknown kind is.
LOOKED_AT = 16
OpenKind = Literal["pipe", "file", "unknown"]


def may_be_dcerpc(data: bytes) -> bool:
    """Whether data that an open carries first may begin a DCERPC PDU, as on a pipe. The header may be incomplete."""
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
    """Returns the name of an opened SMB pipe from its path, `\\\\PIPE\\\\WinReg` as `winreg`."""
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


# ----------------------------------------------------------------------------------------------------------- durable opens


# The server, by its GUID or its address, and the FileId that it gave.
DurableKey = tuple[str, bytes]


# So many of what a client sent last over a pipe are compared with what it sends again.
_MOST_SENT = 16
# The header of a DCERPC PDU, the place of its flags, and those of a PDU that is first and last (C706 section 12.6.3.1).
_HEAD_LEN, _FLAGS_AT, _WHOLE = 16, 3, 0x03


class SentData(Struct):
    """The data that an SMB request carried to an open pipe: a digest, and where it was captured. `head` are its first bytes: the
    header of a PDU. `is_answered`: an answer to it carried data. `is_ahead`: it was sent again, and the first is to come."""

    digest: int
    head: bytes
    source: Source
    start: int
    stop: int
    is_answered: bool = False
    is_ahead: bool = False

    @property
    def frames(self) -> tuple[int, ...]:
        """The frames that carried the SMB request to the open pipe."""
        return self.source.frames(self.start, self.stop)

    @property
    def extents(self) -> tuple[FrameExtent, ...]:
        """The frame extents that carried the data of the SMB request to the open pipe."""
        return tuple(self.source.extents(self.start, self.stop))

    def is_first_answer(self) -> bool:
        """Notes an answer to data that an SMB request sent to a pipe. Returns whether it is the first answer with data."""
        is_first, self.is_answered = not self.is_answered, True
        return is_first


class SentAlready:
    """The data that a client sent last over one open SMB pipe, to recognise data that is sent again."""

    __slots__ = ("_sent",)

    def __init__(self) -> None:
        self._sent: deque[SentData] = deque(maxlen=_MOST_SENT)

    def note(
        self, message: Message, span: tuple[int, int], *, is_replay: bool
    ) -> tuple[SentData | None, Literal["first", "same", "other"]]:
        """Notes the data that an SMB message carries to an open pipe, None if they are not whole.

        Returns the data as they were sent `first`. `same`: they were sent before. `other`: the same PDU was sent before, by its
        header, with other bytes. A client sends again what it sent, so one of the two was changed on the way.
        """
        start, stop = message.start + span[0], message.start + span[1]
        if stop > message.stop:
            return None, "first"
        data = message.data
        carried = data.part(start, stop)
        digest, head = hash(carried), carried[:_HEAD_LEN]
        # The connection of the first request may have been waited for, because bytes of it came late.
        alike = [one for one in self._sent if (is_replay or one.is_ahead) and one.stop - one.start == stop - start]
        found = next((one for one in alike if one.digest == digest), None)
        # The fragments of a long message may have equal headers.
        if found is None and len(head) == _HEAD_LEN and head[_FLAGS_AT] & _WHOLE == _WHOLE:
            found = next((one for one in alike if one.head == head), None)
        if found is not None:
            found.is_ahead = found.is_ahead and is_replay
            return found, "same" if found.digest == digest else "other"
        made = SentData(digest, head, data.source, data.start + start, data.start + stop, is_ahead=is_replay)
        self._sent.append(made)
        return made, "first"


class DurableOpens:
    """The durable opens of all SMB sessions, by their server and the FileId with which a client opens them again."""

    def __init__(self) -> None:
        self._owners: dict[DurableKey, Session] = {}
        self._kept: dict[DurableKey, Open] = {}

    def granted(self, session: Session, file_id: bytes, opened: Open) -> None:
        """Notes that the server grants a durable open: the client may open it again after a lost connection."""
        if opened.kind != "file":
            opened.durable = self.key_of(session, file_id)
            self._owners[opened.durable] = session

    def closed(self, key: DurableKey) -> None:
        """Notes that a durable open was closed."""
        self._owners.pop(key, None)

    def lost(self, session: Session, file_id: bytes, out: Emitter) -> None:
        """Ends a durable or other open whose tree or session is over. A durable pipe is kept for a client that opens it again."""
        opened = session.opens[file_id]
        if opened.durable is None or opened.channel is None:
            session.close(file_id, out)
            return
        session.detach(file_id)
        self.closed(opened.durable)
        if len(self._kept) >= session.state.shared.limits.opens:
            gone = self._kept.pop(next(iter(self._kept)))
            if gone.channel is not None:
                out.append(ChannelClosed(gone.channel))
        self._kept[opened.durable] = opened

    def take_open(self, session: Session, file_id: bytes) -> Open | None:
        """Takes the durable open that a session opens again from its owner. Returns None if its grant was not captured."""
        key = self.key_of(session, file_id)
        owner = self._owners.pop(key, None)
        return owner.detach(file_id) if owner is not None else self._kept.pop(key, None)

    @staticmethod
    def key_of(session: Session, file_id: bytes) -> DurableKey:
        """Returns the key of a durable open that a session has, or opens again."""
        return session.state.server_guid or session.server.ip, file_id

    def finish(self) -> list[Event]:
        """Closes all durable opens that are kept, at the end of the capture."""
        closed: list[Event] = [ChannelClosed(one.channel) for one in self._kept.values() if one.channel is not None]
        self._kept.clear()
        return closed


def may_be_sent_again(session: Session, opened: Open) -> bool:
    """Whether a client may send data over an SMB pipe again: over another connection of the session, or after it opened the pipe
    again. Capabilities do not tell: smbd binds connections of clients that announce no multichannel."""
    return opened.kind == "pipe" and (
        opened.sent is not None or opened.durable is not None or len(session.connections) > 1
    )
