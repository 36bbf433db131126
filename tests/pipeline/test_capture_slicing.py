"""Which frames a slice is made of, message by message."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import CaptureInfo
from analyzer.core.events import Problem
from analyzer.core.limits import DEFAULTS
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, RST, SYN
from analyzer.core.traced_bytes import TracedBytes
from analyzer.pipeline import capture_slicing_and_conversion
from analyzer.pipeline.capture_slicing_and_conversion import (
    _IN_MEMORY,
    _PIECE,
    _SMB1_HEADER,
    Slice,
    _essence,
    _Needs,
    _SlicedFrames,
    slice_of,
)
from analyzer.results.calls.call import Call
from analyzer.results.connection import Pdu
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.segment import Segment, SegmentBatch
from analyzer.transport.rpc.pdu import Ptype
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.tcp.stream_events import Connection, Direction
from tests.build.calls import HANDLE, Calls, analysis_of
from tests.build.rpc import CHANNEL
from tests.build.smb import CLIENT, PENDING, READ, SERVER, smb1, smb2
from tests.written import Tables, held

TABLES = Tables()

CONNECTION = Connection(0, CLIENT, SERVER, True)


def frames_for(needed: int, *sent: tuple[Direction, bytes]) -> set[int]:
    """The frames that come with one of these messages, which lie in frames 1, 2, ..."""
    packets = _SlicedFrames(_Needs({needed}, set(), set(), set()))
    for number, (direction, data) in enumerate(sent, 1):
        message = Message.of_bytes(TracedBytes.of_frame(data, number, 54, number))
        packets.take_message(CONNECTION, direction, message, message)
    return packets.frames()


@TABLES.of(
    *((needed, {"pid": pid, "mid": 5}) for needed in (1, 4) for pid in (0x0102, 0x0201)),
    *((needed, {"mid": mid}) for needed in (1, 4) for mid in (0x0106, 0x0205)),
)
def smb1_requests_differ_by_process_and_multiplex_id(needed, other):
    """[MS-CIFS] 2.2.3.1: PIDLow and MID together name a request, all bits of both. What follows the header is no part of it: a
    response has another number of words than its request."""
    both = {"pid": 0x0101, "mid": 0x0105} | ({"mid": 5} if "pid" in other else {}), other
    sent: list[tuple[Direction, bytes]] = [(0, smb1(0x2E, b"\x0c" + bytes(26), **one)) for one in both]
    sent += [(1, smb1(0x2E, b"\x01" + bytes(4), response=True, **one)) for one in both]
    return sorted(frames_for(needed, *sent))


def test_smb1_transactions_go_on_in_messages_of_both_sides() -> None:
    """[MS-CIFS] 2.2.4.34: a secondary request belongs to the first, and so does every response."""
    both = [(0, smb1(0x25, b"")), (0, smb1(0x26, b"")), (1, smb1(0x25, b"", response=True))]
    sent: list[tuple[Direction, bytes]] = [*both, (1, smb1(0x25, b"", response=True)), (0, smb1(0x25, b""))]
    assert frames_for(2, *sent) == {1, 2, 3, 4}


def test_an_interim_response_is_not_the_last() -> None:
    """[MS-SMB2] 3.3.4.2: the final response has the same MessageId, and another READ with it is another exchange."""
    sent: list[tuple[Direction, bytes]] = [
        (0, smb2(READ, bytes(48), 7)),
        (1, smb2(READ, bytes(8), 7, response=True, status=PENDING, async_id=1)),
        (1, smb2(READ, bytes(16), 7, response=True, async_id=1)),
        (1, smb2(READ, bytes(16), 7, response=True)),
    ]
    assert frames_for(1, *sent) == {1, 2, 3}


@pytest.mark.parametrize("head", [b"\xffSMB\x2e", b"\xfeSMB" + bytes(30)])
def test_a_message_cut_in_its_header_is_no_exchange(head: bytes) -> None:
    assert frames_for(9, (0, head)) == {9}


# ---------------------------------------------------------------------------------- what belongs to the messages

KDC = Endpoint("10.0.0.53", 88)
OTHER = Endpoint("10.0.0.2", 50000)
STRANGER = Endpoint("192.0.2.9", 50000)


def a_frame(number: int, src: Endpoint, dst: Endpoint, flags: int = ACK, data: bytes = b"x") -> SegmentBatch:
    payload = TracedBytes.of_frame(data, number, 54, number)
    return SegmentBatch.of_segment(Segment(src, dst, 1, 1, flags, 512, payload, 0, number, number))


def taken(
    needs: _Needs, segments: list[SegmentBatch], messages: Sequence[tuple[Connection, int, Direction, bytes]] = ()
) -> set[int]:
    packets = _SlicedFrames(needs)
    for segment in segments:
        packets.take_segments(segment)
    for connection, frame, direction, data in messages:
        message = Message.of_bytes(TracedBytes.of_frame(data, frame, 54, frame))
        packets.take_message(connection, direction, message, message)
    return packets.frames()


def needs_of(**changes: Any) -> _Needs:
    given = {"frames": {2}, "ends": {frozenset((CLIENT, SERVER))}, "hosts": {frozenset((CLIENT.ip, SERVER.ip))}}
    return _Needs(**(given | {"sessions": {0x1D}} | changes))


@pytest.mark.parametrize("flags", [SYN, FIN | ACK, RST, SYN | ACK])
def test_of_a_connection_with_calls_its_beginning_and_end_are_taken(flags: int) -> None:
    sent = [a_frame(1, CLIENT, SERVER, flags), a_frame(2, CLIENT, SERVER), a_frame(3, SERVER, CLIENT, ACK | PSH)]
    assert taken(needs_of(), sent) == {1, 2}
    # Other connections of the same hosts, and those of others, are not of it.
    beside = [
        a_frame(5, OTHER, SERVER, flags),
        a_frame(6, STRANGER, SERVER, flags),
        a_frame(7, SERVER, STRANGER, flags),
    ]
    assert taken(needs_of(), [*sent, *beside]) == {1, 2}


def test_a_connection_that_is_needed_whole_is_taken_whole() -> None:
    sent = [a_frame(number, CLIENT, SERVER, SYN if number == 1 else ACK) for number in (1, 2, 3, 4)]
    other = [a_frame(number, OTHER, SERVER) for number in (7, 8)]
    assert taken(needs_of(whole={frozenset((CLIENT, SERVER))}), [*sent, *other]) == {1, 2, 3, 4}
    assert taken(needs_of(whole={frozenset((OTHER, SERVER))}), [*sent, *other]) == {1, 2, 7, 8}


def test_of_a_kdc_the_connection_that_issued_a_ticket_is_taken_whole() -> None:
    """The reply alone is needed; what is asked of a KDC in other connections is not."""
    asked = [a_frame(1, STRANGER, KDC, SYN), a_frame(2, KDC, STRANGER), a_frame(3, STRANGER, KDC)]
    beside = [a_frame(4, OTHER, KDC, SYN), a_frame(5, KDC, OTHER)]
    assert taken(needs_of(), [*asked, *beside]) == {1, 2, 3}
    assert taken(needs_of(frames={9}), [*asked, *beside]) == {9}


SETUP = Connection(1, CLIENT, SERVER, True)
SAME_HOSTS = Connection(2, OTHER, SERVER, True)
CONNECTIONS = {
    "of the calls": SETUP,
    "between the same hosts": SAME_HOSTS,
    "of another client": Connection(3, STRANGER, SERVER, True),
}


def of_session(command: int, message_id: int, session: int, *, response: bool = False) -> bytes:
    return smb2(command, bytes(8), message_id, response=response, session=session)


# The connection of the calls is set up whatever session it is of. Another client's session may have its number by chance.
@TABLES.of(
    *(("of the calls", session) for session in (0x1D, 0x99)),
    *(("between the same hosts", session) for session in (0x1D, 0x99, 0)),
    ("of another client", 0x1D),
)
def setups_of_connections_that_share_a_session_are_taken(connection, session):
    """NEGOTIATE, SESSION_SETUP, TREE_CONNECT and CREATE with their answers, but no READ."""
    sent: Any = [
        (CONNECTIONS[connection], 10 + number * 2 + to, to, of_session(command, number, session, response=to == 1))
        for number, command in enumerate((0, 1, 3, 5, 8), 1)
        for to in (0, 1)
    ]
    return sorted(taken(needs_of(sessions={0x1D, 0}), [], sent))


@pytest.mark.parametrize("command", [0x72, 0x73, 0x75, 0xA2, 0x2D])
def test_setups_of_smb1_are_taken(command: int) -> None:
    """NEGOTIATE, SESSION_SETUP_ANDX, TREE_CONNECT_ANDX, NT_CREATE_ANDX and OPEN_ANDX ([MS-CIFS] section 2.2.2.1)."""
    sent = [(SETUP, 11, 0, smb1(command, b"")), (SETUP, 12, 1, smb1(command, b"", response=True))]
    assert taken(needs_of(), [], sent) == {2, 11, 12}
    sent = [(SETUP, 11, 0, smb1(0x2E, b"")), (SETUP, 12, 1, smb1(0x2E, b"", response=True))]
    assert taken(needs_of(), [], sent) == {2}


def test_a_slice_is_read_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_slicing_and_conversion, "_PIECE", 10)
    made = capture_slicing_and_conversion.Slice()
    for part in (b"12345", b"67890", b"abcdefghijklm", b"rest"):
        assert made.write(part) == len(part)
    assert list(made.pieces()) == [b"1234567890", b"abcdefghijklm", b"rest"]
    reader = made.reader()
    assert [(reader.read(size), reader.tell()) for size in (3, 8, 100, 5)] == [
        (b"123", 3),
        (b"4567890a", 11),
        (b"bcdefghijklmrest", 27),
        (b"", 27),
    ]


def test_of_another_channel_of_a_session_its_beginning_and_end_are_taken() -> None:
    sent = [a_frame(20, OTHER, SERVER, SYN), a_frame(21, OTHER, SERVER), a_frame(22, SERVER, OTHER, FIN | ACK)]
    for session, expected in ((0x1D, {2, 9, 20, 22}), (0x99, {2})):
        messages = [(SAME_HOSTS, 9, 0, of_session(1, 1, session))]
        assert taken(needs_of(), sent, messages) == expected


# ------------------------------------------------------------------------------------------- what is needed of a call


def calls_of(*events: Any) -> list[tuple[int, Call]]:
    return list(enumerate(analysis_of(*events).calls, 1))


def test_of_a_call_are_needed_its_frames_ends_session_and_the_issue_of_its_tickets() -> None:
    """The reply of a KDC names the user; without it the same call would be nobody's."""
    ticket = SimpleNamespace(kdc_frames=(90, 91))
    of_smb = SimpleNamespace(kdc_frames=(92,))
    smb = SimpleNamespace(session_id="0x1d")
    told = {"frames": (5, 6), "channel": 3, "session": 7, "carriers": (CLIENT, SERVER)}
    told |= {"client": CLIENT, "server": SERVER}
    one = SimpleNamespace(**told, smb=smb, security=SimpleNamespace(identity=ticket), smb_identity=of_smb)
    other = SimpleNamespace(
        **(told | {"frames": (8,), "channel": 4, "session": None, "carriers": (OTHER, SERVER), "client": OTHER})
    )
    other = SimpleNamespace(**vars(other), smb=None, security=SimpleNamespace(identity=None), smb_identity=None)
    sessions = [SimpleNamespace(number=number, frames=(10 * number,)) for number in (6, 7)]

    def pdu(kind: int, channel: int, frame: int) -> Pdu:
        return SimpleNamespace(ptype=kind, channel=SimpleNamespace(number=channel), frames=(frame,))

    binding = (Ptype.BIND, Ptype.BIND_ACK, Ptype.BIND_NAK, Ptype.ALTER_CONTEXT, Ptype.ALTER_CONTEXT_RESP, Ptype.AUTH3)
    pdus = [pdu(kind, 3, 200 + kind) for kind in Ptype] + [pdu(Ptype.BIND, 5, 300), pdu(Ptype.BIND, 4, 301)]
    analysis: Any = SimpleNamespace(sessions=sessions, pdus=pdus)
    bound: Any = {7: [SimpleNamespace(client=Endpoint("10.9.0.2", 5), server=Endpoint("10.9.0.1", 445))]}
    assert _Needs.needs_of(analysis, [(1, one), (2, other)], bound) == _Needs(
        frames={5, 6, 8, 90, 91, 92, 70, 301, *(200 + kind for kind in binding)},
        ends={
            *(frozenset((client, SERVER)) for client in (CLIENT, OTHER)),
            frozenset((Endpoint("10.9.0.2", 5), Endpoint("10.9.0.1", 445))),
        },
        hosts={*(frozenset((client.ip, SERVER.ip)) for client in (CLIENT, OTHER)), frozenset(("10.9.0.2", "10.9.0.1"))},
        sessions={0x1D},
    )


def test_a_call_is_the_same_again_where_all_of_it_is() -> None:
    ((_, one),) = calls_of(Calls().open_query())
    assert _essence(one) == _essence(replace(one, number=99))
    assert hash(_essence(one)) == hash(_essence(one))
    changes: dict[str, Any] = {
        "time_ns": one.time_ns + 1,
        "client": OTHER,
        "server": OTHER,
        "opnum": 9,
        "call_id": 99,
        "status": 5,
        "fault": 5,
        "state": "malformed",
        "request": None,
        "response": None,
    }
    for name, value in changes.items():
        assert _essence(replace(one, **{name: value})) != _essence(one), name
    make = Calls()
    ((_, first), (_, second)) = calls_of(make.close_query(HANDLE), make.close_query("aa" + HANDLE[2:]))
    same = replace(second, time_ns=first.time_ns, call_id=first.call_id)
    assert _essence(same)[:-2] == _essence(first)[:-2]
    assert _essence(same)[-2] != _essence(first)[-2]


# --------------------------------------------------------------------------------------------------------- the slice


def sliced(
    monkeypatch: pytest.MonkeyPatch, calls: list[tuple[int, Call]], *again: list[Call]
) -> tuple[Slice, list[set[Any]]]:
    """The slice of calls, of which the first, second, ... reading gives these; and which connections were taken whole."""
    given = iter(again)
    whole: list[set[Any]] = []
    held: list[_SlicedFrames] = []

    def follow(sources: Any, keyring: Any, limits: Any, *, message_log: Any, segment_log: Any, **more: Any) -> None:
        held.append(message_log.__self__)

    def written(*_: Any) -> Slice:
        whole.append(set(held[0]._needs.whole))
        return Slice()

    monkeypatch.setattr(capture_slicing_and_conversion, "follow_messages", follow)
    monkeypatch.setattr(capture_slicing_and_conversion, "_written", written)

    def analysed(sources: Any, keyring: Any, *, limits: Any, pdus: bool) -> Any:
        # Of what is read to be compared, nobody asks for PDUs, which take memory.
        assert not pdus
        return SimpleNamespace(calls=next(given))

    monkeypatch.setattr(capture_slicing_and_conversion, "analyze", analysed)
    analysis: Any = SimpleNamespace(sessions=(), pdus=(), logons_by_session={})
    return slice_of(["a"], analysis, calls, Keyring(), DEFAULTS), whole


def test_a_slice_that_gives_all_calls_again_takes_no_connection_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    make = Calls()
    calls = calls_of(make.open_query(), make.close_query())
    found, whole = sliced(monkeypatch, calls, [call for _, call in calls])
    assert (found.whole, found.lacking, whole) == (0, 0, [set()])


def test_a_connection_whose_calls_do_not_come_again_is_taken_whole_once(monkeypatch: pytest.MonkeyPatch) -> None:
    make = Calls()
    other = Calls(channel=replace(CHANNEL, number=9, client=OTHER), first_frame=50)
    calls = calls_of(make.open_query(), make.close_query(), other.open_query())
    first, second, third = (call for _, call in calls)
    ends = frozenset((first.client, first.server))
    found, whole = sliced(monkeypatch, calls, [first, third], [first, second, third])
    assert (found.whole, found.lacking, whole) == (1, 0, [set(), {ends}])
    # What lacks then is stated; it is not tried again.
    found, whole = sliced(monkeypatch, calls, [third], [first, third])
    assert (found.whole, found.lacking, whole) == (1, 1, [set(), {ends}])
    found, whole = sliced(monkeypatch, calls, [], [])
    assert (found.whole, found.lacking) == (2, 3)
    assert len(whole) == 2
    # Not even where another connection's calls lack the second time.
    found, whole = sliced(monkeypatch, calls, [first, third], [first, second])
    assert (found.whole, found.lacking, len(whole)) == (1, 1, 2)
    # The same call twice has to come twice.
    twice = [*calls[:1], *calls[:1]]
    found, _ = sliced(monkeypatch, twice, [first], [first])
    assert found.lacking == 1


def test_sizes_of_a_slice_and_of_a_header() -> None:
    """Beyond 16 MiB it lies in a temporary file, by pieces of one; [MS-CIFS] 2.2.3.1 has a header of 32 bytes."""
    assert (_IN_MEMORY, _PIECE, _SMB1_HEADER) == (1 << 24, 1 << 20, 32)
    empty = Slice()
    assert (empty.packets, empty.whole, empty.lacking, list(empty.pieces())) == (0, 0, 0, [b""])


def test_an_smb1_header_without_a_body_is_an_exchange() -> None:
    header = smb1(0x2E, b"")[:32]
    assert len(header) == 32
    answer = smb1(0x2E, b"", response=True)
    assert frames_for(1, (0, header), (1, answer)) == {1, 2}
    assert frames_for(1, (0, header[:31]), (1, answer)) == {1}


def test_what_is_written_names_hosts_and_frames_and_passes_over_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file has an interface of its own for each of its link types."""
    from analyzer.core.frame_ids import frame_id

    told: list[tuple[Any, ...]] = []

    class Writer:
        packets = 7

        def __init__(self, out: Any, *, application: str, comment: str) -> None:
            told.append(("comment", comment))

        def __getattr__(self, name: str) -> Any:
            return lambda *given: told.append((name, *given)) or len(told)

    class Block:
        def __init__(self, *frames: tuple[int, int]) -> None:
            self._all = [
                SimpleNamespace(frame=id, link_type=link, time_ns=5, data=b"d", original_length=9)
                for id, link in frames
            ]
            self.frames = [one.frame for one in self._all]

        def frame(self, index: int) -> Any:
            return self._all[index]

    second = frame_id(1, 3)
    blocks = [Block((1, 1), (2, 1)), Problem("gap", "capture", (), "x"), Block((4, 1), (second, 1), (6, 101))]
    monkeypatch.setattr(capture_slicing_and_conversion, "PcapngWriter", Writer)

    class Reader(list[Any]):
        info = CaptureInfo(files=("a.pcap", "b.pcap"))

    monkeypatch.setattr(capture_slicing_and_conversion, "CaptureReader", lambda sources, limits: Reader(blocks))
    analysis = analysis_of(Calls().open_query(), files=("a.pcap", "b.pcap"))
    names = {"10.0.0.7": "host7"}
    analysis = replace(analysis, capture=replace(analysis.capture, names=names))
    written = capture_slicing_and_conversion._written(["x"], analysis, {2, 4, second, 6}, DEFAULTS, b"keys")
    assert written.packets == 7
    assert told[0] == ("comment", "4 packets cut out of a.pcap, b.pcap")
    assert told[1][0] == "names"
    assert told[1][1]["10.0.0.7"] == ("host7",)
    assert told[2][::2] == ("secrets", b"keys")
    assert told[3:] == [
        ("interface", 1, "a.pcap"),
        ("packet", 4, 5, b"d", 9, "frame 2 of a.pcap"),
        ("packet", 4, 5, b"d", 9, "frame 4 of a.pcap"),
        ("interface", 1, "b.pcap"),
        ("packet", 7, 5, b"d", 9, "frame 3 of b.pcap"),
        ("interface", 101, "a.pcap"),
        ("packet", 9, 5, b"d", 9, "frame 6 of a.pcap"),
    ]
    told.clear()
    capture_slicing_and_conversion._written(["x"], analysis, {2}, DEFAULTS, None)
    assert [entry[0] for entry in told] == ["comment", "names", "interface", "packet"]


test_frames_that_are_taken_are_as_they_were_read_through = held(__file__, TABLES)
