"""Runs the layers up to SMB over the events of connections, and says what they say."""

from collections.abc import Iterable, Iterator
from typing import TypeVar
from zlib import crc32

from analyzer.auth.keyring import Keyring
from analyzer.core.events import Event, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.results.connection import SmbSession
from analyzer.results.security import Identity
from analyzer.transport.channel.channels import ChannelBatch, ChannelClosed, ChannelGap, SmbInfo
from analyzer.transport.tcp.protocol_recognition import Recognition
from tests.build.chain import through, to_channels
from tests.build.smb import SESSION_ID, SESSION_KEY, pdu

T = TypeVar("T")
NO_KEYS = Keyring()
WITH_KEY = Keyring.build(smb_session_keys=[f"{SESSION_ID:x},{SESSION_KEY.hex()}"])
ASK, SAY = pdu(0, 1, b"what is it?"), pdu(2, 1, b"it is this")
NAMED = {"ASK": ASK, "SAY": SAY, "HALF": b"\x05\0", "LONG": pdu(0, 1, bytes(1000))}


def run(events: Iterable[Event], keyring: Keyring = NO_KEYS, limits: Limits = DEFAULTS) -> list[Event]:
    return through(to_channels(keyring, limits=limits), recognised(events))


def recognised(events: Iterable[Event]) -> list[Event]:
    """What reassembly gives out of the events of a connection."""
    out, _ = Recognition().feed(list(events))
    return out


def stated(events: Iterable[Event]) -> list[tuple[int, bool, bytes]]:
    """Channel, direction and bytes; neighbouring data of one channel and direction are one, a gap is `?`."""
    out: list[tuple[int, bool, bytes]] = []
    for event in events:
        if isinstance(event, ChannelGap):
            out.append((event.channel.number, event.from_client, b"?" * (event.length or 1)))
        elif isinstance(event, ChannelBatch):
            out.append((event.channel.number, event.from_client, event.data.data))
    return out


def only(events: Iterable[Event], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def session_of(events: Iterable[Event]) -> SmbSession:
    (session,) = only(events, SmbSession)
    return session


def comparable(events: Iterable[Event]) -> list[object]:
    """Everything but where the chunks were cut: origins as extents."""
    out: list[object] = []
    for event in events:
        if isinstance(event, ChannelBatch):
            extents = event.data.origin(0, len(event.data))
            out.append((event.channel, event.from_client, event.data.data, event.smb, event.fresh, extents))
        else:
            out.append(event)
    return out


# What most conversations have: the end of a pipe that carried something, who it is and how many messages were opened, and which
# trees, pipes and hosts.
_PLACES = (
    "  trees ('\\\\\\\\FILES\\\\IPC$',) pipes ('winreg',) hosts (('10.0.0.1', 'FILES', 'tree path'),) "
    "refused None binds False"
)
USUAL = (
    "0 winreg closed, 10.0.0.2:49152 to 10.0.0.1:445, level 2",
    (
        "  unknown user: NO_HANDSHAKE (no authentication token is in the capture), opened 0 of 0, verified 0 of 1, server "
        "13121110-1514-1716-1819-1a1b1c1d1e1f"
    ),
    _PLACES,
)
USUAL_OF_SMB1 = (
    "0 winreg closed, 10.0.0.2:49152 to 10.0.0.1:445, level None",
    (
        "  LAB\\perfmon (10.0.19041 to 10.0.20348): NO_KEY (no password or NT hash given for LAB\\perfmon), opened 0 of 0, "
        "verified 0 of 0, server 03020100-0504-0706-0809-0a0b0c0d0e0f"
    ),
    _PLACES,
)


def said(events: Iterable[Event]) -> list[str]:
    """What the layers say of data, gaps, ends, problems and sessions, a line each, but for what is usual."""
    events = list(events)
    usual = USUAL_OF_SMB1 if "1.0" in [event.dialect for event in only(events, SmbSession)] else USUAL
    carried = dict.fromkeys(event.channel.number for event in only(events, ChannelBatch))
    ended = [event.channel.number for event in only(events, ChannelClosed)]
    lines = [
        line
        for event in events
        for line in _lines_of(event)
        if line not in usual or (isinstance(event, ChannelClosed) and event.channel.number not in carried)
    ]
    return [*lines, *(f"{one} closed {ended.count(one)} times" for one in carried if ended.count(one) != 1)]


def _lines_of(event: Event) -> Iterator[str]:
    match event:
        case ChannelBatch(channel=channel):
            frames = ",".join(map(str, event.data.frames))
            way = "<>"[event.from_client]
            yield " ".join([str(channel.number), _pipe(event), way, _data(event), "at", frames, *_marks(event)])
        case ChannelGap(channel=channel):
            way = "<>"[event.from_client]
            yield f"{channel.number} {_pipe(event)} {way} {event.length} lost at {_few(event.frames)}: {event.reason}"
        case ChannelClosed(channel=channel):
            ends = f"{channel.client} to {channel.server}, level {channel.impersonation}"
            yield f"{channel.number} {_pipe(event)} closed, {ends}"
        case Problem():
            yield f"{event.kind} at {_few(event.frames)}: {event.text}"
        case SmbSession():
            times = f"{event.first_time_ns // 1000}-{event.last_time_ns // 1000}"
            which = f"session {event.number} {event.session_id:#x} {event.dialect} {event.cipher} {event.signing}"
            yield f"{which}, {event.client} to {event.server}, frames {_few(event.frames)}, {times} us"
            who = f"{event.identity.who}{''.join(_systems(event.identity))}: {event.decryption.name} ({event.reason})"
            opened = f"opened {event.decrypted_messages} of {event.encrypted_messages}"
            verified = f"verified {event.verified_messages} of {event.signed_messages}"
            yield f"  {who}, {opened}, {verified}, server {event.server_guid}"
            places = f"trees {event.trees} pipes {event.pipes} hosts {event.hosts}"
            yield f"  {places} refused {event.refused} binds {event.binds}"


def _systems(identity: Identity) -> Iterator[str]:
    """What was granted where it is no account, and what both ends run."""
    if identity.granted not in (None, "account"):
        yield f" granted {identity.granted}"
    if identity.client_os_version or identity.os_version:
        yield f" ({identity.client_os_version} to {identity.os_version})"


def _pipe(event: ChannelBatch | ChannelGap | ChannelClosed) -> str:
    channel = event.channel
    return str(channel.pipe) if channel.transport == "ncacn_np" else channel.transport


def _data(event: ChannelBatch) -> str:
    data = event.data.data
    shown = repr(data) if len(data) < 60 else f"{len(data)} bytes ({crc32(data):08x})"
    return next((name for name, one in NAMED.items() if one == data), shown)


def _few(frames: tuple[int, ...]) -> str:
    return str(frames) if len(frames) < 12 else f"{frames[0]}...{frames[-1]} ({len(frames)})"


def _marks(event: ChannelBatch) -> Iterator[str]:
    """What is unusual: how it was protected and undone, another connection or session than that of the open, a continuation."""
    smb, channel = event.smb or SmbInfo(None, 0, False, False, False), event.channel
    yield from (name for name in ("encrypted", "signed", "compressed") if getattr(smb, name))
    if smb.signature_ok is not None:
        yield "verified" if smb.signature_ok else "with a wrong signature"
    yield from event.data.steps
    if smb.client not in (None, channel.client) or smb.server not in (None, channel.server):
        yield f"over {smb.client} to {smb.server}"
    if smb.session not in (None, channel.session):
        yield f"by session {smb.session}"
    if not event.fresh:
        yield "going on"
