"""The framing below SMB on its own: each bound of the headers, what a hole costs, and what is said of bytes passed over."""

import pytest

from analyzer.core.events import Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.transport.smb.smb_framing import Framed, Framing, Hole, LostMessages, Message, NetbiosNames
from analyzer.transport.tcp.stream_events import Connection, Gap
from tests.build.smb import CLIENT, SERVER, framed, netbios_name

ASK = framed(b"\xfeSMB\x40\0" + bytes(range(20)))
CONNECTION = Connection(0, CLIENT, SERVER, True)


class Wire:
    """One direction; each piece is a frame of its own, 1 us apart."""

    def __init__(self, *, seeking: bool = False) -> None:
        self.framing = Framing("the client", seeking=seeking)
        self.frame = 0

    def take(self, data: bytes) -> list[Framed]:
        self.frame += 1
        return self.framing.feed(TracedBytes.of_frame(data, self.frame, 0, self.frame * 1000))

    def gap(self, length: int | None, *frames: int, reason: str = "a hole") -> list[Framed]:
        return self.framing.gap(Gap(CONNECTION, 0, 0, length, frames, reason))


def messages(items: list[Framed]) -> list[Message]:
    return [item for item in items if isinstance(item, Message)]


@pytest.mark.parametrize("first", range(1, len(ASK) + 1))
def test_a_message_is_whole_with_its_last_byte_however_it_is_cut(first: int) -> None:
    wire, both = Wire(), ASK + ASK + ASK[:9]
    out = wire.take(both[:first]) + wire.take(both[first:])
    assert [message.head.data for message in messages(out)] == [ASK[4:], ASK[4:]]
    assert all(message.whole for message in messages(out))
    assert len(out) == 2
    assert wire.framing.memory >= 9
    (last,) = wire.framing.finish()
    assert isinstance(last, Message)
    assert (last.head.data, last.length, last.whole) == (ASK[4:9], 26, False)
    assert last.reason == "the stream ends inside the message"
    assert wire.framing.finish() == []


@pytest.mark.parametrize(
    ("header", "is_taken"),
    [
        # An empty session message, a keep-alive (RFC 1002 section 4.3.7), and what says more.
        *((header, True) for header in (b"\0\0\0\0", b"\x85\0\0\0", b"\x82\0\0\0", b"\x83\0\0\x01\x8f")),
        (b"\x84\0\0\x06" + bytes(6), True),
        # The longest session request with scopes.
        (b"\x81\0\x04\0" + bytes(1024), True),
        (b"\x81\0\x04\x01" + bytes(1025), False),
        *((kind + b"\0\0\0", False) for kind in (b"\x80", b"\x86", b"\x01")),
        *((header, False) for header in (b"\0\0\0\x03abc", b"\0\0\0\x04\xfbSMB")),
    ],
)
@pytest.mark.parametrize("cut", [1, 4, 100])
def test_netbios_packets_that_hold_no_message_are_passed_over(header: bytes, is_taken: bool, cut: int) -> None:
    wire = Wire()
    out = wire.take(header[:cut]) if cut < len(header) else []
    out += wire.take((header[cut:] if cut < len(header) else header) + ASK)
    assert [message.head.data for message in messages(out)] == [ASK[4:]]
    problems = [item for item in out if isinstance(item, Problem)]
    if is_taken:
        assert not problems
        return
    (lost,) = (item for item in out if isinstance(item, LostMessages))
    assert (lost.length, lost.frames) == (0, (1,))
    (problem,) = problems
    text = f"the client: no SMB header where one was due; {len(header)} bytes passed over to the next one"
    assert (problem.kind, problem.frames, problem.text) == ("malformed", (1,), text)


def test_a_message_of_the_magic_alone_is_one() -> None:
    for magic in (b"\xffSMB", b"\xfeSMB", b"\xfdSMB", b"\xfcSMB"):
        (message,) = messages(Wire().take(framed(magic)))
        assert (message.head.data, message.length) == (magic, 4)


@pytest.mark.parametrize(("length", "names"), [(34 + 34, ("FILES", "CLIENT1")), (34 + 33, ("FILES", "")), (33, None)])
def test_a_session_request_names_both_ends(length: int, names: tuple[str, str] | None) -> None:
    body = (netbios_name("FILES") + netbios_name("CLIENT1"))[:length]
    out = Wire().take(b"\x81\0" + length.to_bytes(2, "big") + body)
    assert out == ([NetbiosNames(*names)] if names else [])
    damaged = body[:1] + b"\x51" + body[2:]
    assert Wire().take(b"\x81\0" + length.to_bytes(2, "big") + damaged) == []
    last = body[:1] + b"\x50" + body[2:]
    assert len(Wire().take(b"\x81\0" + length.to_bytes(2, "big") + last)) == (names is not None)


@pytest.mark.parametrize("before", [4, 5, 7, 8, 12])
@pytest.mark.parametrize("hole", [1, 5, 17])
def test_a_hole_inside_a_message_leaves_the_rest_in_its_place(before: int, hole: int) -> None:
    wire = Wire()
    assert wire.take(ASK[:before]) == []
    assert wire.gap(hole, 1, 2) == []
    (message, whole) = messages(wire.take(ASK[before + hole :] + ASK))
    assert message.length == 26
    assert message.reason == "a hole"
    assert not message.whole
    assert whole.whole
    assert whole.reason == ""
    spans = list(message.spans(0, 26))
    got = [span.length if isinstance(span, Hole) else span[0].data[span[1] : span[2]] for span in spans]
    expected = [ASK[4:before], hole, ASK[before + hole :]]
    assert got == [one for one in expected if one != b""]
    assert message.frames == ((1, 2) if before > 4 else (2,))
    assert message.time_ns == (1000 if before > 4 else 0)


def test_a_hole_that_reaches_the_end_of_a_message_completes_it() -> None:
    wire = Wire()
    wire.take(ASK[:10])
    (message,) = messages(wire.gap(20, 1))
    assert (message.head.data, message.length, message.reason) == (ASK[4:10], 26, "a hole")
    assert [one.whole for one in messages(wire.take(ASK))] == [True]


@pytest.mark.parametrize(("length", "lost"), [(21, 1), (60, 40), (None, None)])
def test_a_hole_beyond_the_end_of_a_message_loses_what_follows(length: int | None, lost: int | None) -> None:
    wire = Wire()
    wire.take(ASK[:10])
    message, report = wire.gap(length, 1, 5)
    assert isinstance(message, Message)
    assert message.head.data == ASK[4:10]
    assert report == LostMessages(lost, (1, 5), "a hole")
    problem, whole = wire.take(b"tail" + ASK)
    assert isinstance(whole, Message)
    assert isinstance(problem, Problem)
    amount = "an unknown number of bytes" if lost is None else f"{lost} byte{'s' if lost != 1 else ''}"
    more = ", 4 more passed over to the next SMB header"
    assert problem.text == f"the client: {amount} of SMB messages not captured (a hole){more}"
    assert (problem.kind, problem.frames) == ("gap", (1, 5))


def test_losses_before_the_next_header_are_one() -> None:
    wire = Wire()
    assert wire.gap(5, 1, 2, reason="first") == [LostMessages(5, (1, 2), "first")]
    wire.take(b"some bytes")
    assert wire.gap(7, 2, 3, reason="second") == []
    problem = wire.take(ASK)[0]
    assert isinstance(problem, Problem)
    assert problem.frames == (1, 2, 3)
    assert problem.text.startswith("the client: 12 bytes of SMB messages not captured (first), 10 more")
    wire.gap(5, 1)
    wire.gap(None, 2)
    unknown = wire.framing.finish()[0]
    assert isinstance(unknown, Problem)
    assert "an unknown number of bytes" in unknown.text


def test_less_than_a_header_before_a_hole_is_passed_over() -> None:
    wire = Wire()
    wire.take(ASK[:3])
    assert wire.gap(4, 1) == [LostMessages(4, (1,), "a hole")]
    problem = wire.take(ASK)[0]
    assert isinstance(problem, Problem)
    assert problem.text.endswith("(a hole), 3 more passed over to the next SMB header")


def test_a_stream_taken_up_in_its_middle_says_how_much_it_passed_over() -> None:
    for cut in range(1, 14):
        wire, data = Wire(seeking=True), b"ten bytes." + ASK
        out = wire.take(data[:cut]) + wire.take(data[cut:])
        assert [type(item) for item in out] == [Problem, Message], cut
        assert isinstance(out[0], Problem)
        assert out[0].text == "the client: 10 bytes before the first SMB header passed over"
    wire = Wire(seeking=True)
    assert [type(item) for item in wire.take(ASK)] == [Message]
    assert Wire(seeking=True).framing.finish() == []


@pytest.mark.parametrize(("pieces", "is_kept"), [(1023, True), (1024, False)])
def test_a_message_of_too_many_pieces_is_handed_over_as_it_is(pieces: int, is_kept: bool) -> None:
    wire = Wire()
    size = 4 * 1100
    wire.take(framed(b"\xfeSMB" + bytes(size))[:8])
    out: list[Framed] = []
    for number in range(pieces - 1):
        out += wire.gap(2, number)
        out += wire.take(b"ab")
    assert out == []
    out = wire.gap(2, 5000)
    assert [type(item) for item in out] == ([] if is_kept else [Message, LostMessages])


def test_memory_is_what_is_held_and_given_back() -> None:
    wire = Wire()
    wire.take(framed(b"\xfeSMB" + bytes(5000))[:1000])
    assert wire.framing.memory >= 1000
    wire.gap(10, 1)
    assert wire.framing.memory >= 1000
    wire.take(bytes(5000))
    assert wire.framing.memory < 1000


def test_a_framing_header_alone_is_no_piece_of_its_message() -> None:
    wire = Wire()
    wire.take(framed(b"\xfeSMB" + bytes(96))[:4])
    wire.gap(50, 1)
    assert wire.framing.memory == 0
    (message,) = messages(wire.take(bytes(50)))
    assert (message.length, [(at, part.data) for at, part in message.rest]) == (100, [(50, bytes(50))])


def test_parts_of_a_message_keep_their_holes() -> None:
    def piece(data: bytes, frame: int) -> TracedBytes:
        return TracedBytes.of_frame(data, frame, 0, frame)

    message = Message.of_pieces([(0, piece(b"0123", 1)), (6, piece(b"6789", 2)), (12, piece(b"cdef", 3))], 18, "why")
    assert message.begins_with(3) == b"012"
    assert message.begins_with(9) == b"0123"
    inner = message.part(2, 14)
    assert (inner.length, inner.reason, inner.frames) == (12, "why", (1, 2, 3))

    def short(part: Message, start: int, stop: int) -> list[object]:
        return [
            (span.length, span.frames) if isinstance(span, Hole) else span[0].data[span[1] : span[2]]
            for span in part.spans(start, stop)
        ]

    assert short(inner, 0, 12) == [b"23", (2, (1, 2)), b"6789", (2, (2, 3)), b"cd"]
    assert short(message, 4, 6) == [(2, (1,))]
    assert short(message, 11, 18) == [(1, (2, 3)), b"cdef", (2, (3,))]
    assert short(message, 2, 2) == []
    assert short(message, 1, 3) == [b"12"]
    assert short(message.part(5, 9), 0, 4) == [(1, (2,)), b"678"]
    assert message.part(3, 2).length == 0
    whole = Message.of_bytes(piece(b"abcdef", 4))
    assert (whole.whole, whole.part(1, 4).head.data, whole.part(1, 4).whole) == (True, b"bcd", True)
    assert Message.of_pieces([], 5).frames == ()


@pytest.mark.parametrize("changed", [0x10, 0])
def test_a_length_that_swallows_later_messages_is_stated(changed: int) -> None:
    """Where the message's own fields do not prove its end, what a wrong length covers is not read: a file may hold such bytes."""
    wire = Wire()
    out = wire.take(ASK[:2] + bytes([ASK[2] | changed]) + ASK[3:]) + wire.take(ASK) + wire.take(ASK[:9])
    out += wire.framing.finish()
    stated = [item for item in out if isinstance(item, Problem)]
    if not changed:
        assert (len(messages(out)), stated) == (3, [])
        return
    (last,), (problem,) = messages(out), stated
    assert (last.length, last.stop - last.start, last.whole) == (0x1000 + len(ASK) - 4, 2 * len(ASK) + 5, False)
    assert (problem.kind, problem.frames) == ("malformed", (2,))
    assert f"announces {0x1000 + len(ASK) - 4} bytes, but the stream ends before" in problem.text
