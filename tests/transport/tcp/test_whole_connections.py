"""Whole connections, segment by segment, and the streams that come out: `whole_connections.txt` has both.

Each name there is a promise.

A line of words is what was sent: `c=ask` data of the client, `s.ack`, `c.fin`, `c.rst` segments without any, `open` the handshake
(`open1` to `open3` its segments), `mid` that it came before the capture. `a:` in front of a segment names it: `a` sends it once
more, `a=other` with other bytes. `-` behind it means that it is not captured there, and `+a` that it is captured here (`+s`: the
last one of the server). `~` behind the end: it acknowledges nothing new. `/6` behind data: so many more bytes were cut off.
`c@-1=x` is a segment beside the conversation, one byte before the next number (`@=5`: number 5), `^+1` acknowledges one byte more
than was sent; `.S`, `.RA`, `.FPA` are flags of such a segment. `x*9` are nine bytes, `(c=ask s.ack)*9` the same nine times (`#`
counts). `talk=7` goes on with the client at port 7 (`talk=7,500,900`: its numbers and the server's), `t=50ms-1` is when what
follows was captured, `held_stream=9` a limit, `idle_ns=9` a time. `|` stands for itself between what comes out. That a connection
ends with the capture is not said, but that one does not end. `PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes what comes out.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.core.limits import DEFAULTS
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, RST, SYN
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.segment import Segment
from analyzer.transport.tcp.stream_events import Gap, StreamBatch, StreamClosed
from analyzer.transport.tcp.tcp_states import TcpTimeouts
from tests.build.tcp import Streams, Talk
from tests.written import Told

WORD = re.compile(
    r"((?P<name>\w+):)?(?P<end>[cs])(?P<old>~)?(@(?P<seq>[=+-]\d+))?(\^(?P<ack>[=+-]\d+))?(\.(?P<flag>\w+))?"
    r"(=(?P<data>[^/*-]*)(\*(?P<times>\d+))?(/(?P<cut>\d+))?)?(?P<lost>-)?"
)
FLAGS = {"S": SYN, "A": ACK, "P": PSH, "F": FIN, "R": RST}
NAMES = {"ack": "A", "fin": "FA", "rst": "RA", None: "PA"}
NS = {"s": 10**9, "ms": 10**6, "ns": 1}


class Captured:
    """The segments that the capture has, in its order, with `|` where it stands, and what reassembly is bound by."""

    def __init__(self, words: str) -> None:
        isn = re.search(r"isn=(\d+)", words)
        self.talk = Talk(server_isn=int(isn[1]), client_isn=int(isn[1])) if isn else Talk()
        self.talks = {self.talk.client.port: self.talk}
        self.limits: dict[str, int] = {}
        self.timeouts: dict[str, int] = {}
        self.time_ns: int | None = None
        self.named: dict[str, Segment] = {}
        self.segments: list[Segment | str] = []
        repeated = re.sub(r"\(([^()]*)\)\*(\d+)", lambda found: _times(found[1], int(found[2])), words)
        for word in repeated.split():
            self.segments += [self._at(one) if isinstance(one, Segment) else one for one in self._said(word)]

    def _at(self, segment: Segment) -> Segment:
        """The segment, captured when `t=` says."""
        if self.time_ns is None:
            return segment
        payload = TracedBytes.of_frame(segment.payload.data, segment.frame, 54, self.time_ns)
        return replace(segment, payload=payload, time_ns=self.time_ns)

    def _said(self, word: str) -> list[Segment] | list[str]:
        talk, named = self.talk, self.named
        if found := WORD.fullmatch(word):
            segment = self._segment(found)
            named[found["end"]] = named[found["name"] or found["end"]] = segment
            return [] if found["lost"] else [segment]
        if opening := re.fullmatch(r"((\w+):)?open([123])(-)?", word):
            if opening[3] == "1":
                named |= dict(zip(("open1", "open2", "open3"), talk.open(), strict=True))
            segment = named[f"open{opening[3]}"]
            named[opening[2] or word] = segment
            return [] if opening[4] else [segment]
        if word == "open":
            return talk.open()
        if word == "|":
            return [word]
        if word.startswith("+"):
            return [named[word[1:]]]
        name, mark, value = word.partition("=")
        if name in named:
            return [talk.again(named[name], value.encode() if mark else None)]
        match name:
            case "mid":
                talk.skip_handshake()
            case "wait":
                talk.wait(int(value))
            case "t":
                time = re.fullmatch(r"(\d+)(\w+)([+-]\d+)?", value)
                self.time_ns = int(time[1]) * NS[time[2]] + int(time[3] or 0)
            case "talk":
                self._goes_on(*map(int, value.split(",")))
            case "isn":
                pass
            case _:
                (self.timeouts if name in TcpTimeouts.__struct_fields__ else self.limits)[name] = int(value)
        return []

    def _goes_on(self, port: int, client_isn: int = 1000, server_isn: int = 9000) -> None:
        """With the client at another port; numbers that are given begin anew."""
        frames = self.talk._frames
        if port not in self.talks or client_isn != 1000:
            self.talks[port] = Talk(Endpoint("192.0.2.1", port), client_isn=client_isn, server_isn=server_isn)
        self.talk = self.talks[port]
        self.talk._frames = frames

    def _segment(self, found: re.Match[str]) -> Segment:
        talk = self.talk
        end, data = {"c": talk.client, "s": talk.server}[found["end"]], (found["data"] or "").replace("~", " ").encode()
        data, cut, flag = data * int(found["times"] or 1), int(found["cut"] or 0), found["flag"]
        seq, ack = _number(found["seq"], talk.seq[end]), _number(found["ack"], talk.received[end])
        if found["seq"] or flag not in NAMES:
            flags = sum(FLAGS[letter] for letter in NAMES.get(flag, flag))
            segment = talk.raw(end, seq, ack, flags, data, missing=cut)
        else:
            segment = getattr(talk, flag)(end) if flag else talk.send(end, data, missing=cut)
        if found["ack"]:
            segment = replace(segment, ack=ack)
        if found["old"]:
            segment = replace(segment, ack=(talk.client_isn if found["end"] == "s" else talk.server_isn) + 1)
        return segment

    def events(self) -> Iterator[Event | str]:
        streams = Streams(replace(DEFAULTS, **self.limits), timeouts=TcpTimeouts(**self.timeouts))
        for segment in self.segments:
            yield from [segment] if isinstance(segment, str) else streams.feed(segment)
        yield from streams.finish()


def _times(words: str, count: int) -> str:
    return " ".join(words.replace("#", str(number)) for number in range(1, count + 1))


def _number(given: str | None, usual: int) -> int:
    if given is None:
        return usual
    return int(given[1:]) if given[0] == "=" else usual + int(given)


def said(words: str) -> str:
    """What comes out: data with connection, direction, offset and frames; gaps, ends and problems. Of many alike the ends stand."""
    lines = lines_of(Captured(words).events())
    runs = (list(run) for _, run in groupby(lines, lambda line: re.sub(r"\d+", "", line)))
    shown = (one for run in runs for one in (run if len(run) < 5 else [run[0], f"... {len(run) - 2} alike", run[-1]]))
    return "".join(f"  = {line}\n" for line in shown)


def line_of(event: Event | str) -> str:
    match event:
        case str():
            return event
        case StreamBatch(connection=which):
            known = "" if which.initiator_known else " (who began is not known)"
            data = event.data.data
            shown = repr(data.decode()) if len(data) < 40 else f"{data[:1].decode()!r}*{len(data)}"
            what = f"{event.offset} {shown} at {','.join(map(str, event.data.frames))}"
            return f"{which.number} {which.a} {'><'[event.direction]} {what}{known}"
        case Gap(connection=which):
            return f"{which.number} {'><'[event.direction]} {event.offset} {event.length} lost at {event.frames}: {event.reason}"
        case StreamClosed():
            return f"{event.connection.number} closed: {event.reason}"
        case Problem():
            return f"{event.kind} at {event.frames}: {event.text}"
    return ""


def lines_of(events: Iterable[Event | str], line: Callable[[Event | str], str] = line_of) -> list[str]:
    """What each event says, but that a connection ends with the capture; a connection that does not end is said to go on."""
    lines, going_on = list[str](), list[int]()
    for event in events:
        if isinstance(event, StreamBatch) and event.connection.number not in going_on:
            going_on.append(event.connection.number)
        if isinstance(event, StreamClosed) and event.connection.number in going_on:
            going_on.remove(event.connection.number)
            if event.reason == "end":
                continue
        lines += filter(None, [line(event)])
    return [*lines, *(f"{number} goes on" for number in going_on)]


TOLD = Told(Path(__file__).parent / "whole_connections.txt", said)


@pytest.mark.parametrize("name", TOLD.words)
def test_the_streams_of_a_connection_are_what_was_read_through(name: str) -> None:
    TOLD.holds(name)


@pytest.mark.parametrize("isn", [0xFFFFFFFF, 0xFFFFFFFE, 0x7FFFFFFF, 0])
@pytest.mark.parametrize(
    "words", ["open c=a s=b c=cc s=dd c.fin s.fin", "open c:c=a- s:s=b- +s +c c=cc s=dd c.fin s.fin"]
)
def test_numbers_may_pass_zero_anywhere(isn: int, words: str) -> None:
    """RFC 9293 section 3.4: the space of sequence numbers has no beginning."""
    assert said(f"isn={isn} {words}") == said(words)
