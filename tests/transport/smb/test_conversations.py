"""Whole conversations of SMB2, and all that is said of them: `conversations.txt` has both, and each name is a promise.

A line of words is a conversation of `Talk`: `open:samr,B` opens the pipe `samr` with a file id of Bs, `write:B=ASK` writes to it,
`call=ASK,SAY` is a transceive; `ask.read` and `answer.read=SAY` are the two halves of one. In braces stand the status, the number
of the request that is answered (`id=7`; `last`: the one before) and fields of headers. `lose>+2..20` leaves out bytes of the client
that follow, `lose<` all of the server until `keep<`; the capture begins at `middle`. Lines behind `=` are what the layer says.
`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes them.
"""

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.events import Event
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.tcp.stream_events import Connection, Direction
from tests.build import smb as build
from tests.transport.smb.run import NAMED, NO_KEYS, WITH_KEY, run
from tests.transport.smb.run import said as heard
from tests.written import Told

WORD = re.compile(r"(?P<what>[a-z.]+)(:(?P<of>[^=]*?))?(=(?P<data>[^{]*))?(\{(?P<more>.*)\})?")
STATUS = {
    "over": build.OVERFLOW,
    "pending": build.PENDING,
    "broken": 0xC000014B,
    "denied": 0xC0000022,
    "logon": 0xC000006D,
}
COMMANDS = {
    name: getattr(build, name.upper())
    for name in ("negotiate", "setup", "logoff", "tree", "create", "close", "read", "write", "ioctl")
} | {"disconnect": build.TREE_DISCONNECT}
EMPTY, ERROR, ANY_FILE = b"\x04\0\0\0", struct.pack("<HBBI", 9, 0, 0, 0) + b"\0", b"\xff" * 16


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
    return "".join(f"  = {line}\n" for line in heard(Spoken(words).events()))


TOLD = Told(Path(__file__).parent / "conversations.txt", said)


@pytest.mark.parametrize("name", TOLD.words)
def test_all_that_is_said_of_a_conversation_is_what_was_read_through(name: str) -> None:
    TOLD.holds(name)
