"""Whole connections, segment by segment, and the streams that come out: `streams.txt` has both, and each name is a promise.

A line of words is what was sent: `c=ask` data of the client, `s.ack`, `c.fin`, `c.rst` segments without any, `open` the handshake
(`open1` to `open3` its segments), `mid` that it came before the capture. `a:` in front of a segment names it: `a` sends it once
more, `a=other` with other bytes. `-` behind it means that it is not captured there, and `+a` that it is captured here (`+s`: the
last one of the server). `~` behind the end: it acknowledges nothing new. `/6` behind data: so many more bytes were cut off.
`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes what comes out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.transport.packet.segment import Segment
from analyzer.transport.tcp.stream_events import Gap, StreamBatch, StreamClosed
from tests.build.tcp import Talk
from tests.transport.tcp.test_reassembler import run
from tests.written import Told

WORD = re.compile(
    r"((?P<name>\w+):)?(?P<end>[cs])(?P<old>~)?(\.(?P<flag>ack|fin|rst)|=(?P<data>[^/-]*)(/(?P<cut>\d+))?)(?P<lost>-)?"
)


def captured(words: str) -> list[Segment]:
    """The segments that the capture has, in its order."""
    isn = re.search(r"isn=(\d+)", words)
    talk = Talk(server_isn=int(isn[1]), client_isn=int(isn[1])) if isn else Talk()
    ends = {"c": talk.client, "s": talk.server}
    out: list[Segment] = []
    named: dict[str, Segment] = {}
    for word in words.split():
        if word.startswith("isn="):
            continue
        if word == "mid":
            talk.skip_handshake()
        elif word == "open":
            out += talk.open()
        elif opening := re.fullmatch(r"((\w+):)?open([123])(-)?", word):
            if opening[3] == "1":
                named |= dict(zip(("open1", "open2", "open3"), talk.open(), strict=True))
            segment = named[f"open{opening[3]}"]
            named[opening[2] or word] = segment
            out += [] if opening[4] else [segment]
        elif word.startswith("wait="):
            talk.wait(int(word[5:]))
        elif word.startswith("+"):
            out.append(named[word[1:]])
        elif found := WORD.fullmatch(word):
            end, data = ends[found["end"]], (found["data"] or "").replace("~", " ").encode()
            if found["flag"]:
                segment = getattr(talk, found["flag"])(end)
            else:
                segment = talk.send(end, data, missing=int(found["cut"] or 0))
            if found["old"]:
                segment = replace(segment, ack=(talk.client_isn if found["end"] == "s" else talk.server_isn) + 1)
            named[found["end"]] = named[found["name"] or found["end"]] = segment
            out += [] if found["lost"] else [segment]
        else:
            name, mark, other = word.partition("=")
            out.append(talk.again(named[name], other.encode() if mark else None))
    return out


def said(words: str) -> str:
    """What comes out: data with connection, direction, offset and frames; gaps, ends and problems."""
    return "".join(f"  = {line}\n" for event in run(captured(words)) if (line := line_of(event)))


def line_of(event: Event) -> str:
    match event:
        case StreamBatch(connection=which):
            known = "" if which.initiator_known else " (who began is not known)"
            what = f"{event.offset} {event.data.data.decode()!r} at {','.join(map(str, event.data.frames))}"
            return f"{which.number} {which.a} {'><'[event.direction]} {what}{known}"
        case Gap(connection=which):
            return f"{which.number} {'><'[event.direction]} {event.offset} {event.length} lost at {event.frames}: {event.reason}"
        case StreamClosed():
            return f"{event.connection.number} closed: {event.reason}"
        case Problem():
            return f"{event.kind} at {event.frames}: {event.text}"
    return ""


TOLD = Told(Path(__file__).parent / "streams.txt", said)


@pytest.mark.parametrize("name", TOLD.words)
def test_the_streams_of_a_connection_are_what_was_read_through(name: str) -> None:
    TOLD.holds(name)
