"""What a connection carries, by its first bytes: each bound of the formats from both sides, and what is held meanwhile."""

from itertools import product
from pathlib import Path

import pytest

from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.tcp.protocol_recognition import (
    Recognition,
    begins_kerberos,
    looks_like_dcerpc,
    recognise_header,
)
from analyzer.transport.tcp.stream_events import Connection, Direction, Gap, Recognised, StreamBatch, StreamClosed
from tests.written import Outcomes, Told, counted

# A bind of C706 section 12.6.4.3 up to its length: version 5.0, type 11, both fragments, little-endian, 72 bytes.
BIND = bytes.fromhex("05000b03 10000000 4800")
# NetBIOS length, then the SMB2 magic and header size.
SMB2 = bytes.fromhex("00000044 fe534d42 4000")
# A length of 0x200 and the tag of an AS-REQ (RFC 4120 sections 7.2.2 and 5.4.1).
AS_REQ = bytes.fromhex("00000200 6a8201fc")


def connection(a: int = 50000, b: int = 9999, *, whole: bool = True) -> Connection:
    return Connection(0, Endpoint("192.0.2.1", a), Endpoint("192.0.2.2", b), whole)


def part(data: bytes, at: int = 0, way: Direction = 0, *, of: Connection) -> StreamBatch:
    return StreamBatch.of_part(of, way, at, TracedBytes.of_frame(data, 1, 54, 0))


def fed(recognition: Recognition, *events: Event) -> tuple[list[Event], list[Connection]]:
    out: list[Event] = []
    others: list[Connection] = []
    for event in events:
        given, other = recognition.feed([event])
        out += given
        others += other
    return out, others


def protocol(data: bytes, *, of: Connection | None = None) -> str:
    """What a connection with these first bytes is taken for."""
    which = of or connection()
    out, others = fed(Recognition(), part(data, of=which))
    if others:
        assert others == [which]
        assert not out
        return "other"
    if not out:
        return "open"
    first = out[0]
    assert isinstance(first, Recognised)
    return first.protocol


def changed(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes((value,)) + data[at + 1 :]


def client_of(ptype: int) -> str:
    """Who the client is where a PDU comes first, seen of both ends."""
    which = connection()
    ways = []
    for way in (0, 1):
        out, _ = fed(Recognition(), part(changed(BIND, 2, ptype), way=1 if way else 0, of=which))
        assert isinstance(out[0], Recognised)
        ways.append(out[0].client_direction == way)
    return {(True, True): "the sender", (False, False): "the receiver"}[ways[0], ways[1]]


BIG = bytes.fromhex("05000b03 00000000 0010")
KDC = connection(b=88)
GET = b"GET / HTTP/1.1"
# The fields of a header with values at their bounds: minor versions of C706 section 12.6.3.1, types up to the last one of section
# 12.6.4, integers of either order and characters of ASCII, four formats of floating point, a length that holds the header.
FIELDS = {0: (4, 5, 6), 1: (1, 2), 2: (0, 19, 20), 4: (0x00, 0x01, 0x20), 5: (3, 4), 8: (15, 16)}
HEADS = {
    "the length of Kerberos and a tag": [f"00000200 {tag:02x}" for tag in (*range(0x69, 0x71), 0x7D, 0x7E)],
    "the length of Kerberos, which is below a megabyte, and a tag": [
        "00000200",
        "000fffff 6a",
        "00100000 6a",
        "01000000 6a",
    ],
}
FIRST: dict[str, bytes] = {
    "SMB2": SMB2,
    **{f"SMB with {value:#x}": changed(SMB2, 4, value) for value in (0xFF, 0xFD, 0xFC, 0xFB)},
    "8 bytes of SMB2": SMB2[:8],
    "7 bytes of SMB2": SMB2[:7],
    # A session request: the first label of a NetBIOS name has 32 bytes.
    "a session request": bytes.fromhex("81000044 20"),
    "a session request with flags": bytes.fromhex("81010044 20 0000000000"),
    "a session request of another name": bytes.fromhex("81000044 1f 0000000000"),
    "a session request without a name": bytes.fromhex("81000044"),
    "a session answer": bytes.fromhex("82000000"),
    "a session answer and SMB2": bytes.fromhex("82000000") + SMB2,
    "a session answer with a length": bytes.fromhex("82000001 000000000000"),
    "a keep-alive": bytes.fromhex("85000000"),
    "a keep-alive and SMB2": bytes.fromhex("85000000") + SMB2,
    "half a keep-alive": bytes.fromhex("8500"),
    "a keep-alive with a length": bytes.fromhex("85000001 000000000000"),
    "a session refusal": bytes.fromhex("83000001 8f"),
    "a bind": BIND,
    "9 bytes of a bind": BIND[:9],
    "HTTP": b"GET",
    "a request of Kerberos": AS_REQ + bytes(8),
}
FOUND = {
    "behind two bytes": b"xx" + SMB2,
    "without the size of its header": b"xx" + SMB2[:9],
    "with another size": b"xx" + changed(SMB2, 9, 1),
    "of SMB1, which has no size": b"xx" + changed(SMB2, 4, 0xFF)[:8],
    "that is encrypted": changed(SMB2, 4, 0xFD),
    "that is compressed": changed(SMB2, 4, 0xFC)[:8] + SMB2,
    "of another type of NetBIOS": changed(SMB2, 0, 1),
}
CASES: dict[str, object] = {
    **{
        f"a header of DCERPC with {value:#x} at {at}": looks_like_dcerpc(changed(BIND, at, value))
        for at, values in FIELDS.items()
        for value in values
    },
    "a header of DCERPC in big-endian": looks_like_dcerpc(changed(BIND, 4, 0x00)),
    "a header of DCERPC before its length": looks_like_dcerpc(BIND[:9]),
    "a header of DCERPC in big-endian of 16 bytes": looks_like_dcerpc(BIG),
    "a header of DCERPC in big-endian of 15 bytes": looks_like_dcerpc(changed(BIG, 9, 15)),
    "a header of DCERPC of 15 bytes": looks_like_dcerpc(changed(BIG, 4, 0x10)[:8] + b"\x0f\x00"),
    **{f"{what}: {head}": begins_kerberos(bytes.fromhex(head)) for what, heads in HEADS.items() for head in heads},
    **{
        f"{cut} bytes of Kerberos at port {which.b.port}": protocol(AS_REQ[:cut], of=which)
        for cut in (2, 4, 5, 8)
        for which in (KDC, connection())
    },
    "another tag at the port of Kerberos": protocol(b"\0\0\2\0\x69", of=KDC),
    "one byte at the port of Kerberos": protocol(b"\0", of=KDC),
    **{f"a connection that begins with {what}": protocol(data) for what, data in FIRST.items()},
    **{f"the place of a header {what}": recognise_header(data) for what, data in FOUND.items()},
    # On a port of ours a connection is searched even from its beginning.
    **{
        f"a connection of HTTP from port {a} to {b}": protocol(GET, of=connection(a=a, b=b))
        for port in (445, 139, 135)
        for a, b in ((50000, port), (port, 9999), (50000, port + 1))
    },
    "a connection of HTTP from its middle": protocol(GET, of=connection(whole=False)),
    **{
        f"the client where a PDU of type {ptype} comes first": client_of(ptype)
        for ptype in (*range(4), 11, 12, 14, 15, 16, 18, 19)
        if ptype != 1
    },
}
OUTCOMES = Outcomes(Path(__file__).parent / "recognition.txt", CASES, lambda found: [str(found)])


def test_what_first_bytes_are_taken_for_is_what_was_read_through() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    OUTCOMES.is_as_written()


NAMED = {"SMB2": SMB2, "BIND": BIND, "AS_REQ": AS_REQ, "KEEP": b"\x85\0\0\0", "ANSWER": b"\x82\0\0\0"}
NAMED |= {"ASKED": b"\x81\0\0\x44\x20", "ZERO": b"\0"}


def bytes_in(word: str) -> bytes:
    """`SMB2[..4]+y30`: bytes of that name, cut, or a letter so many times."""
    found = b""
    for one in word.split("+"):
        name, _, bounds = one.rstrip("]").partition("[")
        first, _, stop = bounds.partition("..")
        data = NAMED[name] if name in NAMED else name[0].encode() * int(name[1:] or 1)
        found += data[int(first or 0) : int(stop) if stop else None]
    return found


def said(words: str) -> str:
    """What is said of a connection between two ports, `middle` of which the beginning was not captured: `>bytes` and `<bytes` that
    are sent, `gap:length`, as often as `*` says, `close`, and `forget`."""
    ports, *each = words.split()
    a, b = map(int, ports.split("-"))
    which, recognition, lines = connection(a, b, whole="middle" not in each), Recognition(), list[str]()
    places = {0: 0, 1: 0}
    for word in each:
        what, _, times = word.partition("*")
        for _ in range(int(times or 1)):
            way: Direction = 1 if word[0] == "<" else 0
            event: Event = StreamClosed(which, "fin")
            if word[0] in "<>":
                event = part(bytes_in(what[1:]), places[way], way, of=which)
                places[way] += len(bytes_in(what[1:]))
            elif what.startswith("gap:"):
                event = Gap(which, 0, places[0], int(what[4:]), (1,), "lost")
                places[0] += int(what[4:])
            elif what == "forget":
                recognition.forget(which)
            if what in ("middle", "forget"):
                continue
            out, others = recognition.feed([event])
            assert not others or others == [which]
            lines += [f"{word}: {shown(one)}" for one in out] + [f"{word}: of others"] * len(others)
    lines.append("one of ours" if recognition.is_ours(which) else "none of ours")
    return counted(lines)


def shown(event: Event) -> str:
    if isinstance(event, Recognised):
        return f"{event.protocol}, the client sends {'<>'[event.client_direction == 0]}"
    if isinstance(event, StreamBatch):
        return f"{'<>'[event.direction == 0]} at {event.offset} {event.data.data.hex(' ', -4)}"
    return f"a gap of {event.length}" if isinstance(event, Gap) else type(event).__name__


TOLD = Told(Path(__file__).with_name("recognised.txt"), said)


@pytest.mark.parametrize("name", TOLD.words)
def test_a_connection_is_recognised_by_what_it_begins_with(name: str) -> None:
    TOLD.holds(name)


@pytest.mark.parametrize(("port", "most"), [(9999, 64 * 1024), (445, 16 * 1024 * 1024)])
def test_the_search_for_a_header_ends(port: int, most: int) -> None:
    """Elsewhere it would find only chance (16 MiB is more than the longest message on a port of ours)."""
    which = connection(b=port, whole=False)
    recognition = Recognition()
    assert fed(recognition, part(bytes(most - 1), of=which)) == ([], [])
    assert fed(recognition, part(b"\0", most - 1, of=which)) == ([], [which])
    again = Recognition()
    fed(again, part(b"x" * (most - 1), of=which))
    out, _ = fed(again, part(SMB2, most - 1, of=which))
    assert isinstance(out[0], Recognised)


def test_of_a_batch_the_parts_behind_the_one_that_decides_follow_it() -> None:
    which = connection(whole=False)
    data = TracedBytes.of_frame(b"yy" + SMB2 + b"later" + b"last", 1, 54, 0)
    batch = StreamBatch(which, 0, 0, data, [0, 2, 12, 17, 21], [False, False, True, False])
    out, _ = fed(Recognition(), batch)
    assert isinstance(out[0], Recognised)
    parts = [one for event in out[1:] if isinstance(event, StreamBatch) for one in event]
    assert [(one.direction, one.offset, one.data.data) for one in parts] == [
        (0, 0, b"yy"),
        (0, 2, SMB2),
        (1, 0, b"later"),
        (0, 12, b"last"),
    ]
    whole, _ = fed(Recognition(), StreamBatch(which, 0, 0, data, [0, 2, 12], [False, False]))
    assert [event.offset for event in whole if isinstance(event, StreamBatch)] == [0, 2]


ASK = BIND[:8] + (72).to_bytes(2, "little") + bytes(62)
ACK = changed(BIND, 2, 12)


@pytest.mark.parametrize(
    ("ask", "answer", "found"),
    [
        (ASK, ACK, "dcerpc"),
        (changed(ASK, 3, 7), ACK, "dcerpc"),
        (SMB2 + bytes(62), SMB2, "smb"),
        (changed(SMB2, 4, 0xFF)[:8] + bytes(60), SMB2, "smb"),
    ],
)
def test_one_wrong_byte_in_the_first_message_hides_no_connection(ask: bytes, answer: bytes, found: str) -> None:
    """What the other side answers decides, and the damaged message is given out with it. Two wrong bytes are another protocol."""
    constant = (0, 1, 2, 4, 5, 8) if found == "dcerpc" else (0, *range(4, 8))
    for (at, other), port in product(zip(constant, (*constant[1:], constant[0]), strict=True), (9999, 445)):
        # A length of less than a header, so that it is no other length.
        damaged = changed(ask, at, 0x0F if at == 8 else ask[at] ^ 0x80)
        of = connection(b=port)
        recognition = Recognition()
        first, reply = part(damaged, of=of), part(answer, way=1, of=of)
        out, others = fed(recognition, first, reply)
        assert not others, at
        recognised, *rest = out
        assert isinstance(recognised, Recognised)
        assert (recognised.protocol, recognised.client_direction) == (found, 0)
        assert rest == [first, reply]
        assert protocol(changed(damaged, other, 0x0E)) == "other", at
        _, others = fed(Recognition(), first, part(b"HTTP/1.1 200 OK", way=1, of=of))
        assert others == ([of] if port == 9999 else [])
