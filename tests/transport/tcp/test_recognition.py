"""What a connection carries, by its first bytes: each bound of the formats from both sides, and what is held meanwhile."""

from __future__ import annotations

import pytest

from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.results.record import Endpoint
from analyzer.transport.tcp.recognition import Recognition, begins_kerberos, find_header, looks_like_dcerpc
from analyzer.transport.tcp.stream_events import Connection, Direction, Gap, Recognised, StreamBatch, StreamClosed

# A bind of C706 section 12.6.4.3 up to its length: version 5.0, type 11, both fragments, little-endian, 72 bytes.
BIND = bytes.fromhex("05000b03 10000000 4800")
# NetBIOS length, then the SMB2 magic and header size.
SMB2 = bytes.fromhex("00000044 fe534d42 4000")
# A length of 0x200 and the tag of an AS-REQ (RFC 4120 sections 7.2.2 and 5.4.1).
AS_REQ = bytes.fromhex("00000200 6a8201fc")


def connection(a: int = 50000, b: int = 9999, *, whole: bool = True) -> Connection:
    return Connection(0, Endpoint("192.0.2.1", a), Endpoint("192.0.2.2", b), whole)


def part(data: bytes, at: int = 0, way: Direction = 0, *, of: Connection) -> StreamBatch:
    return StreamBatch.of(of, way, at, TracedBytes.of_frame(data, 1, 54, 0))


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


@pytest.mark.parametrize(
    ("at", "value", "is_one"),
    [
        (0, 4, False),
        (0, 6, False),
        (1, 1, True),  # the minor version of C706 section 12.6.3.1: 0 or 1
        (1, 2, False),
        (2, 0, True),
        (2, 19, True),  # orphaned, the last type (section 12.6.4)
        (2, 20, False),
        (4, 0x00, True),  # big-endian: 0x4800 is a length too
        (4, 0x01, False),  # the lower half names characters: ASCII or EBCDIC, of which only ASCII is seen
        (4, 0x20, False),
        (5, 3, True),  # floating point: IEEE, VAX, Cray, IBM
        (5, 4, False),
        (8, 16, True),
        (8, 15, False),  # no PDU is shorter than its header
    ],
)
def test_a_dcerpc_header_is_recognised_by_its_fixed_fields(at: int, value: int, is_one: bool) -> None:
    assert looks_like_dcerpc(changed(BIND, at, value)) is is_one


def test_a_dcerpc_header_is_not_recognised_before_its_length() -> None:
    assert not looks_like_dcerpc(BIND[:9])
    big = bytes.fromhex("05000b03 00000000 0010")
    assert looks_like_dcerpc(big)
    assert not looks_like_dcerpc(changed(big, 9, 15))
    assert not looks_like_dcerpc(changed(big, 4, 0x10)[:8] + b"\x0f\x00")


@pytest.mark.parametrize(
    ("head", "is_one"),
    [
        ("00000200 6a", True),
        ("00000200 6b", True),
        ("00000200 6c", True),
        ("00000200 6d", True),
        ("00000200 6e", True),
        ("00000200 6f", True),
        ("00000200 7e", True),
        ("00000200 69", False),
        ("00000200 70", False),
        ("00000200 7d", False),
        ("00000200", False),
        ("000fffff 6a", True),
        ("00100000 6a", False),  # a megabyte, which no KDC sends
        ("01000000 6a", False),
    ],
)
def test_a_kerberos_message_has_a_length_and_a_tag(head: str, is_one: bool) -> None:
    assert begins_kerberos(bytes.fromhex(head)) is is_one


@pytest.mark.parametrize("cut", [2, 4, 5, 8])
def test_kerberos_is_recognised_on_its_port_alone_even_where_the_length_comes_first(cut: int) -> None:
    assert protocol(AS_REQ[:cut], of=connection(b=88)) == "kerberos"
    assert protocol(AS_REQ[:cut]) == "open"
    assert protocol(AS_REQ + bytes(8)) == "other"
    assert protocol(b"\0\0\2\0\x69", of=connection(b=88)) != "kerberos"
    assert protocol(b"\0", of=connection(b=88)) == "open"


@pytest.mark.parametrize(("a", "b", "way"), [(50000, 88, 0), (88, 50000, 1), (88, 88, 1)])
def test_requests_of_kerberos_go_to_the_port_of_the_kdc(a: int, b: int, way: int) -> None:
    which = connection(a, b)
    event = part(AS_REQ, of=which)
    out, others = fed(Recognition(), event)
    assert out == [Recognised(which, "kerberos", 1 if way else 0), event]
    assert not others


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (SMB2, "smb"),
        (changed(SMB2, 4, 0xFF), "smb"),
        (changed(SMB2, 4, 0xFD), "smb"),
        (changed(SMB2, 4, 0xFC), "smb"),
        (changed(SMB2, 4, 0xFB), "other"),
        (SMB2[:8], "smb"),
        (SMB2[:7], "open"),
        (bytes.fromhex("81000044 20"), "smb"),  # a session request: the first label of a NetBIOS name has 32 bytes
        (bytes.fromhex("81010044 20 0000000000"), "other"),
        (bytes.fromhex("81000044 1f 0000000000"), "other"),
        (bytes.fromhex("81000044"), "open"),
        (bytes.fromhex("82000000"), "smb"),
        (bytes.fromhex("82000000") + SMB2, "smb"),
        (bytes.fromhex("82000001 000000000000"), "other"),
        (bytes.fromhex("85000000"), "smb"),
        (bytes.fromhex("85000000") + SMB2, "smb"),
        (bytes.fromhex("8500"), "open"),
        (bytes.fromhex("85000001 000000000000"), "other"),
        (bytes.fromhex("83000001 8f"), "other"),
        (BIND, "dcerpc"),
        (BIND[:9], "open"),
        (b"GET", "other"),
    ],
)
def test_what_the_first_bytes_of_a_connection_are_taken_for(data: bytes, found: str) -> None:
    assert protocol(data) == found


@pytest.mark.parametrize(
    ("data", "at"),
    [
        (b"xx" + SMB2, 2),
        (b"xx" + SMB2[:9], -1),  # the size of an SMB2 header is part of it
        (b"xx" + changed(SMB2, 9, 1), -1),
        (b"xx" + changed(SMB2, 4, 0xFF)[:8], 2),
        (changed(SMB2, 4, 0xFD), 0),
        (changed(SMB2, 4, 0xFC)[:8] + SMB2, 0),
        (changed(SMB2, 0, 1), -1),
    ],
)
def test_the_first_header_in_a_stream_is_found(data: bytes, at: int) -> None:
    assert find_header(data) == at


def test_a_connection_taken_up_in_its_middle_is_searched_for_a_header() -> None:
    which = connection(whole=False)
    before, begin, rest = b"y" * 30 + SMB2[:4], SMB2[4:9], SMB2[9:] + b"z"
    events = [part(before, of=which), part(begin, 34, of=which), part(rest, 39, of=which)]
    out, others = fed(Recognition(), *events)
    assert not others
    assert out[0] == Recognised(which, "smb", 0)
    assert b"".join(one.data.data for one in out[1:] if isinstance(one, StreamBatch)).endswith(SMB2 + b"z")
    # What was searched and holds no beginning of a header is not given out.
    early = part(b"w" * 100, of=which)
    late = [part(b"y" * 30, 100, of=which), part(SMB2, 130, of=which)]
    out, _ = fed(Recognition(), early, *late)
    assert out[1:] == late
    assert protocol(b"GET / HTTP/1.1", of=which) == "open"


@pytest.mark.parametrize("port", [445, 139, 135])
def test_a_connection_on_a_port_of_ours_is_searched_even_from_its_beginning(port: int) -> None:
    assert protocol(b"GET / HTTP/1.1", of=connection(b=port)) == "open"
    assert protocol(b"GET / HTTP/1.1", of=connection(a=port)) == "open"
    assert protocol(b"GET / HTTP/1.1", of=connection(b=port + 1)) == "other"


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


def test_gaps_before_a_connection_is_known_are_kept_and_only_so_many() -> None:
    which = connection()
    gaps = [Gap(which, 0, 10 * number, 5, (number,), "lost") for number in range(256)]
    recognition = Recognition()
    out, others = fed(recognition, *gaps[:255], part(SMB2, 2560, of=which))
    assert out == [Recognised(which, "smb", 0), *gaps[:255], part(SMB2, 2560, of=which)]
    assert not others
    assert fed(Recognition(), *gaps) == ([], [which])


def test_a_gap_makes_a_connection_patient_and_forgets_what_came_before() -> None:
    """What was sent before the hole cannot be the beginning of what comes behind it."""
    which = connection()
    hole = Gap(which, 0, 4, 5, (1,), "lost")
    out, others = fed(Recognition(), part(SMB2[:4], of=which), hole, part(SMB2[4:], 9, of=which))
    assert (out, others) == ([], [])
    out, others = fed(Recognition(), part(b"\0", of=which), hole, part(b"wxyz", 9, of=which), part(SMB2, 13, of=which))
    assert [type(one) for one in out] == [Recognised, Gap, StreamBatch, StreamBatch]
    assert not others


@pytest.mark.parametrize(
    ("ptype", "from_client"),
    [
        (0, True),
        (11, True),
        (14, True),
        (16, True),
        (18, True),
        (19, True),
        (2, False),
        (3, False),
        (12, False),
        (15, False),
    ],
)
def test_the_first_pdu_shows_who_the_client_is(ptype: int, from_client: bool) -> None:
    which = connection()
    for way in (0, 1):
        out, _ = fed(Recognition(), part(changed(BIND, 2, ptype), way=1 if way else 0, of=which))
        assert isinstance(out[0], Recognised)
        assert out[0].client_direction == (way if from_client else 1 - way)


def test_a_pdu_that_begins_a_later_segment_is_found_behind_a_short_one() -> None:
    which = connection(whole=False)
    out, _ = fed(Recognition(), part(b"rest of a PDU", of=which), part(BIND, 13, of=which))
    assert out[0] == Recognised(which, "dcerpc", 0)
    assert out[-1] == part(BIND, 13, of=which)
    answered = connection()
    out, others = fed(Recognition(), part(BIND[:3], of=answered), part(BIND[3:], 3, of=answered))
    assert out == [Recognised(answered, "dcerpc", 0), part(BIND[:3], of=answered), part(BIND[3:], 3, of=answered)]
    assert not others


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


def test_a_connection_that_ends_undecided_is_none_of_ours_and_one_of_ours_ends() -> None:
    which = connection()
    closed = StreamClosed(which, "fin")
    assert fed(Recognition(), part(SMB2[:3], of=which), closed) == ([], [which])
    recognition = Recognition()
    assert not recognition.is_ours(which)
    assert fed(recognition, part(SMB2, of=which), closed)[0][-1] == closed
    assert not recognition.is_ours(which)
    recognition = Recognition()
    fed(recognition, part(SMB2, of=which))
    assert recognition.is_ours(which)
    recognition.forget(which)
    assert not recognition.is_ours(which)


def test_of_a_connection_of_others_nothing_more_is_looked_at() -> None:
    which = connection()
    recognition = Recognition()
    assert fed(recognition, part(b"GET", of=which)) == ([], [which])
    assert fed(recognition, part(SMB2, 3, of=which)) == ([], [])
    assert not recognition.is_ours(which)


def test_what_a_stream_begins_with_is_looked_for_at_its_beginning_alone() -> None:
    """The second part begins like a NetBIOS keep-alive; that the first was forgotten does not make it the beginning."""
    which = connection(whole=False)
    for begin in (b"\x85\0\0\0", b"\x82\0\0\0", b"\x81\0\0\x44\x20"):
        assert protocol(begin + b"z" * 40, of=which) == "smb"
        parts = [b"zz", begin + b"z" * 40, b"zzz"]
        events = [part(data, sum(map(len, parts[:at])), of=which) for at, data in enumerate(parts)]
        assert fed(Recognition(), *events) == ([], [])
