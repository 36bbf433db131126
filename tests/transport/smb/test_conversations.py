"""Whole conversations of SMB2, and all that is said of them: `conversations.txt` has both, and each name is a promise.

A line of words is a conversation of `Talk`: `open:samr,B` opens the pipe `samr` with a file id of Bs, `write:B=ASK` writes to it,
`call=ASK,SAY` is a transceive; `ask.read` and `answer.read=SAY` are the two halves of one. In braces stand the status, the number
of the request that is answered (`id=7`; `last`: the one before) and fields of headers. `lose>+2..20` leaves out bytes of the client
that follow, `lose<` all of the server until `keep<`; the capture begins at `middle`. Lines behind `=` are what the layer says.
`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes them.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.events import Event, Problem
from analyzer.results.connection import SmbSession
from analyzer.results.record import Endpoint
from analyzer.transport.channel.channel_events import ChannelBatch, ChannelClosed, ChannelGap
from analyzer.transport.tcp.stream_events import Connection, Direction
from tests.build import smb as build
from tests.transport.smb.test_smb2_reader import (
    ACCESS_DENIED,
    ANY_FILE,
    ASK,
    ERROR,
    LOGON_FAILURE,
    NO_KEYS,
    PIPE_BROKEN,
    SAY,
    WITH_KEY,
    run,
)
from tests.written import Told

WORD = re.compile(r"(?P<what>[a-z.]+)(:(?P<of>[^=]*?))?(=(?P<data>[^{]*))?(\{(?P<more>.*)\})?")
NAMED = {"ASK": ASK, "SAY": SAY, "HALF": b"\x05\0", "LONG": build.pdu(0, 1, bytes(1000))}
STATUS = {
    "over": build.OVERFLOW,
    "pending": build.PENDING,
    "broken": PIPE_BROKEN,
    "denied": ACCESS_DENIED,
    "logon": LOGON_FAILURE,
}
COMMANDS = {
    name: getattr(build, name.upper())
    for name in ("negotiate", "setup", "logoff", "tree", "create", "close", "read", "write", "ioctl")
} | {"disconnect": build.TREE_DISCONNECT}
EMPTY = b"\x04\0\0\0"


def data_of(text: str) -> bytes:
    """Bytes by their name, cut where `[from:to]` stands behind it, or the text itself."""
    name, _, cut = text.partition("[")
    start, _, stop = cut.rstrip("]").partition(":")
    return NAMED.get(name, name.encode())[int(start or 0) : int(stop) if stop else None]


class Spoken:
    """A conversation that is made word by word, and what the capture lacks of it."""

    def __init__(self, words: str) -> None:
        self.talk, self.keyring, self.closed = build.Talk(), NO_KEYS, True
        self.begun, self.connection = 0, self.talk.connection
        self.lost: list[Any] = []
        self.numbers: dict[str, int] = {}
        self.last = ("", 0)
        for word in words.split():
            self._say(word)

    def _sent(self, way: Direction) -> int:
        return sum(len(message) for direction, message in self.talk.sent[self.begun :] if direction == way)

    def _say(self, word: str) -> None:
        talk = self.talk
        if hole := re.fullmatch(r"(lose|keep)([<>])(\+(\d+)\.\.(\d+))?", word):
            way: Direction = 0 if hole[2] == ">" else 1
            at = self._sent(way)
            if hole[1] == "keep":
                self.lost[2] = at
            else:
                self.lost = [way, at + int(hole[4] or 0), at + int(hole[5] or 0)]
            return
        found = WORD.fullmatch(word)
        assert found is not None, word
        what, of, data = found["what"], (found["of"] or "").split(","), found["data"] or ""
        file_id = {"": build.FILE_ID, "*": ANY_FILE}.get(of[0], of[0].encode() * 16)
        match what:
            case "key":
                self.keyring = WITH_KEY
            case "cipher" | "signing":
                setattr(talk, what, build.GCM_128 if data == "gcm" else int(data))
            case "begin" | "tree" if of == [""]:
                getattr(talk, what)()
            case "tree":
                talk.tree(of[0], *map(int, of[1:]))
            case "open":
                name, letter, tree = [*of, *["", "", "1"][len(of) :]]
                talk.open(name or "winreg", letter.encode() * 16 or build.FILE_ID, int(tree))
            case "write" | "read":
                getattr(talk, what)(data_of(data), file_id)
            case "call":
                talk.transceive(*map(data_of, data.split(",")), file_id)
            case "close":
                talk.close(file_id)
            case "seal":
                talk.sealing = True
            case "cancel":
                talk.raw(0, build.smb2(build.CANCEL, EMPTY, self.last[1]))
            case "middle":
                server = Endpoint(build.SERVER.ip, int(of[0] or 445))
                self.begun, self.connection = len(talk.sent), Connection(0, build.CLIENT, server, False)
            case "stays":
                self.closed = False
            case _:
                self._half(*what.split("."), of[0], file_id, data_of(data), found["more"] or "")

    def _half(self, side: str, name: str, of: str, file_id: bytes, data: bytes, more: str) -> None:
        """A request without its answer, or an answer."""
        options = [one for one in more.split(",") if one]
        given = {key: int(value) for key, mark, value in (one.partition("=") for one in options) if mark}
        header: dict[str, Any] = {name: value for name, value in given.items() if name == "session"}
        header.update(("status", STATUS[one]) for one in options if one in STATUS)
        header.update(("async_id", 5) for one in options if one == "async")
        if side == "ask":
            body = {
                "read": build.read_request(file_id),
                "write": build.write_request(data, file_id),
                "ioctl": build.ioctl_request(data),
                "tree": build.tree_request(of),
                "setup": build.setup_request(),
                "negotiate": build.negotiate_request(),
            }.get(name, EMPTY)
            self.numbers[name] = self.talk.ask(COMMANDS[name], body, **header)
            self.last = name, self.numbers[name]
            return
        asked = self.last[0] if name == "error" else name
        number = given.get("id", self.last[1] if "last" in options else self.numbers.get(asked, 0))
        body = {
            "read": build.read_response(data),
            "ioctl": build.ioctl_response(data, code=given.get("code", build.TRANSCEIVE)),
            "create": build.create_response() if "denied" not in options else ERROR,
            "tree": build.tree_response(),
            "close": struct.pack("<HH56x", 60, 0),
            "error": ERROR,
        }.get(name, EMPTY)
        self.talk.answer(number, COMMANDS[asked], body, **header)

    def events(self) -> list[Event]:
        made = build.stream(self.talk.sent[self.begun :], self.connection, closed=self.closed)
        return run(build.with_hole(made, *self.lost) if self.lost else made, self.keyring)


def said(words: str) -> str:
    """What the layer says of data, gaps, ends, problems and sessions, a line each."""
    lines = (line for event in Spoken(words).events() for line in lines_of(event))
    return "".join(f"  = {line}\n" for line in lines if line not in USUAL)


# What most conversations have: who it is and how many messages were opened, and which trees, pipes and hosts.
USUAL = (
    (
        "  unknown user: NO_HANDSHAKE (no authentication token is in the capture), opened 0 of 0, verified 0 of 1, server "
        "13121110-1514-1716-1819-1a1b1c1d1e1f"
    ),
    "  trees ('\\\\\\\\FILES\\\\IPC$',) pipes ('winreg',) hosts (('10.0.0.1', 'FILES', 'tree path'),) refused None binds False",
)


def lines_of(event: Event) -> list[str]:
    match event:
        case ChannelBatch(channel=channel, smb=smb):
            data = event.data.data
            shown = next(
                (name for name, one in NAMED.items() if one == data),
                repr(data) if len(data) < 60 else f"{len(data)} bytes",
            )
            marks = [name for name in ("encrypted", "signed", "compressed") if getattr(smb, name)]
            frames = ",".join(map(str, event.data.frames))
            return [
                f"{channel.number} {channel.pipe} {'<>'[event.from_client]} {shown} at {frames} {' '.join(marks)}".rstrip()
            ]
        case ChannelGap(channel=channel):
            return [
                f"{channel.number} {channel.pipe} {'<>'[event.from_client]} {event.length} lost at {event.frames}: {event.reason}"
            ]
        case ChannelClosed(channel=channel):
            return [
                f"{channel.number} {channel.pipe} closed, {channel.client} to {channel.server}, level {channel.impersonation}"
            ]
        case Problem():
            return [f"{event.kind} at {event.frames}: {event.text}"]
        case SmbSession():
            times = f"{event.first_time_ns // 1000}-{event.last_time_ns // 1000}"
            ends, frames = f"{event.client} to {event.server}", f"frames {event.frames}"
            counts = f"opened {event.decrypted_messages} of {event.encrypted_messages}, "
            counts += f"verified {event.verified_messages} of {event.signed_messages}"
            which = f"session {event.number} {event.session_id:#x} {event.dialect} {event.cipher} {event.signing}"
            return [
                f"{which}, {ends}, {frames}, {times} us",
                f"  {event.identity.who}: {event.decryption.name} ({event.reason}), {counts}, server {event.server_guid}",
                f"  trees {event.trees} pipes {event.pipes} hosts {event.hosts} refused {event.refused} binds {event.binds}",
            ]
    return []


TOLD = Told(Path(__file__).parent / "conversations.txt", said)


@pytest.mark.parametrize("name", TOLD.words)
def test_all_that_is_said_of_a_conversation_is_what_was_read_through(name: str) -> None:
    TOLD.holds(name)
