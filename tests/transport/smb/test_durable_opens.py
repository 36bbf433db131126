"""Durable opens that are opened again over another connection, and requests that are sent again ([MS-SMB2] 3.2.4.4, 3.3.5.2.10,
3.3.5.9.6 to 3.3.5.9.12)."""

import struct
from collections.abc import Iterable

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.events import Conflict, Event, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.channel.channels import ChannelBatch, ChannelClosed
from analyzer.transport.tcp.stream_events import Connection
from tests.build.chain import through, to_channels
from tests.build.smb import (
    CREATE,
    FILE_ID,
    IOCTL,
    LOGOFF,
    SERVER,
    WRITE,
    Talk,
    create_request,
    create_response,
    ioctl_request,
    ioctl_response,
    pdu,
    stream,
    write_request,
    write_response,
)
from tests.transport.smb.run import only, recognised, stated

ASK, SAY = pdu(0, 1, b"what is it?"), pdu(2, 1, b"it is this")
REPLAY = 0x20000000
GUID = b"the create guid!"
AGAIN = bytes(range(0x40, 0x48)) + b"VOLATILE"
OTHER = Connection(1, Endpoint("10.0.0.2", 50001), SERVER, True)
# What a client asks a new open for, what the server grants, and what it opens it again with.
DURABLE = {
    "durable": ((b"DHnQ", bytes(16)), (b"DHnQ", bytes(8)), (b"DHnC", FILE_ID)),
    "durable-2": (
        (b"DH2Q", struct.pack("<IIQ16s", 0, 0, 0, GUID)),
        (b"DH2Q", struct.pack("<II", 60000, 0)),
        (b"DH2C", FILE_ID + GUID + bytes(4)),
    ),
    "persistent": (
        (b"DH2Q", struct.pack("<IIQ16s", 0, 2, 0, GUID)),
        (b"DH2Q", struct.pack("<II", 60000, 2)),
        (b"DH2C", FILE_ID + GUID + struct.pack("<I", 2)),
    ),
}
LEASE = (b"RqLs", bytes(32))
Context = tuple[bytes, bytes]


def opened(talk: Talk, asked: Context, granted: Context, file_id: bytes = FILE_ID, name: str = "winreg") -> Talk:
    number = talk.ask(CREATE, create_request(name, LEASE, asked))
    talk.answer(number, CREATE, create_response(file_id, (b"MxAc", bytes(8)), granted))
    return talk


def read(events: Iterable[Event], limits: Limits = DEFAULTS) -> list[Event]:
    return through(to_channels(Keyring(), limits=limits), recognised(events))


def carriers(out: Iterable[Event]) -> list[tuple[int, int | None]]:
    """The channel of each batch, and the number of the session that carried it."""
    return [(one.channel.number, one.smb.session if one.smb else None) for one in only(out, ChannelBatch)]


def used(kind: str = "durable") -> Talk:
    asked, granted, _ = DURABLE[kind]
    return opened(Talk().begin().tree(), asked, granted).transceive(ASK, SAY)


def used_again(kind: str = "durable", connection: Connection = OTHER) -> Talk:
    """Another session opens the pipe again."""
    _, granted, again = DURABLE[kind]
    talk = opened(Talk(session=77, connection=connection).begin().tree(tree=5), again, granted, AGAIN)
    return talk.transceive(ASK, SAY, AGAIN)


@pytest.mark.parametrize("kind", DURABLE)
@pytest.mark.parametrize("ends", ["connection", "logoff", "not seen"])
def test_a_durable_pipe_that_is_opened_again_is_the_same_pipe(kind: str, ends: str) -> None:
    first, second = used(kind), used_again(kind).close(AGAIN)
    if ends == "logoff":
        first.answer(first.ask(LOGOFF, b"\4\0\0\0"), LOGOFF, b"\4\0\0\0")
    out = read([*stream(first.sent, closed=ends != "not seen"), *stream(second.sent, OTHER)])
    assert stated(out) == [(0, True, ASK), (0, False, SAY)] * 2
    assert carriers(out) == [(0, 0), (0, 0), (0, 1), (0, 1)]
    # It is closed once, by the second session.
    kinds = [type(one) for one in out if isinstance(one, ChannelBatch | ChannelClosed)]
    assert kinds.count(ChannelClosed) == 1
    assert kinds[-1] is ChannelClosed


def not_granted() -> Talk:
    """[MS-SMB2] 3.3.5.9.6: a server that does not grant it leaves its context out of the answer."""
    talk = Talk().begin().tree()
    talk.answer(talk.ask(CREATE, create_request("winreg", DURABLE["durable"][0])), CREATE, create_response())
    return talk.transceive(ASK, SAY)


@pytest.mark.parametrize("first", [not_granted(), used().close()], ids=["not made durable", "closed"])
def test_an_open_that_is_not_durable_or_was_closed_is_not_opened_again(first: Talk) -> None:
    out = read([*stream(first.sent), *stream(used_again().sent, OTHER)])
    assert carriers(out) == [(0, 0), (0, 0), (1, 1), (1, 1)]


@pytest.mark.parametrize("other", [Endpoint("10.0.0.9", 445), SERVER])
def test_a_file_id_is_that_of_one_server(other: Endpoint) -> None:
    connection = Connection(1, Endpoint("10.0.0.2", 50001), other, True)
    second = used_again(connection=connection)
    if other != SERVER:
        at = 4 + 64 + 8
        second.sent[1] = 1, second.sent[1][1][:at] + b"\x99" * 16 + second.sent[1][1][at + 16 :]
    out = read([*stream(used().sent), *stream(second.sent, connection)])
    assert len({channel for channel, _ in carriers(out)}) == (1 if other == SERVER else 2)


def test_durable_pipes_that_nobody_opens_again_are_bounded_and_closed_at_the_end() -> None:
    asked, granted, _ = DURABLE["durable"]
    events: list[Event] = []
    for number in range(4):
        connection = Connection(number, Endpoint("10.0.0.2", 50000 + number), SERVER, True)
        talk = Talk(session=70 + number, connection=connection).begin().tree()
        opened(talk, asked, granted, bytes([number]) * 16).transceive(ASK, SAY, bytes([number]) * 16)
        events += stream(talk.sent, connection)
    out = read(events, Limits(opens=2))
    met = [
        (type(one) is ChannelClosed, one.channel.number) for one in out if isinstance(one, ChannelBatch | ChannelClosed)
    ]
    closed = [number for is_closed, number in met if is_closed]
    assert closed == [0, 1, 2, 3]
    # The first had to make room for the third, the others stayed to the end.
    assert met.index((True, 0)) < met.index((False, 3)) < met.index((True, 2))


@pytest.mark.parametrize("length", range(0, 96, 7))
def test_create_contexts_that_are_cut_or_lead_astray_open_a_pipe_all_the_same(length: int) -> None:
    asked, _, again = DURABLE["durable"]
    talk = Talk().begin().tree()
    body = create_request("winreg", again, asked)[: 56 + 16 + length]
    damaged = body[:56] + b"\xff" * length + body[56 + length :]
    for one in (body, damaged):
        talk.answer(talk.ask(CREATE, one), CREATE, create_response(AGAIN))
    talk.transceive(ASK, SAY, AGAIN)
    assert [data for _, _, data in stated(read(stream(talk.sent)))] == [ASK, SAY]


# Requests that are sent again


def two_channels() -> tuple[Talk, Talk]:
    first = Talk().begin().tree().open()
    return first, Talk(connection=OTHER).begin(binding=True)


def both(first: Talk, second: Talk) -> list[Event]:
    """What two connections carry: the second is bound before the first is used."""
    ones, others = stream(first.sent, closed=False), stream(second.sent, OTHER)
    opening, binding = len(Talk().begin().tree().open().sent), len(Talk().begin(binding=True).sent)
    return [*ones[:opening], *others[:binding], *ones[opening:], *others[binding:]]


@pytest.mark.parametrize("command", [WRITE, IOCTL])
@pytest.mark.parametrize("refusal", [None, 0xC0000467])
def test_a_request_that_is_sent_again_is_one_request(command: int, refusal: int | None) -> None:
    """STATUS_FILE_NOT_AVAILABLE makes the client send it once more ([MS-SMB2] 3.2.5.14)."""
    first, second = two_channels()
    make = write_request if command == WRITE else ioctl_request
    number = first.ask(command, make(ASK))
    if refusal is not None:
        first.answer(number, command, b"\t\0\0\0\0\0\0\0", status=refusal)
    number = second.ask(command, make(ASK), flags=REPLAY)
    if command == WRITE:
        second.answer(number, WRITE, write_response(len(ASK)))
        second.read(SAY)
    else:
        second.answer(number, IOCTL, ioctl_response(SAY))
    out = read(both(first, second))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    (note,) = [one for one in only(out, Problem) if one.kind == "note"]
    assert note.text == "a request to the pipe winreg was sent again (SMB2_FLAGS_REPLAY_OPERATION); both are one call"
    assert len(note.frames) == 2


def test_an_answer_to_each_of_two_that_are_one_is_one_answer() -> None:
    first, second = two_channels()
    asked = [first.ask(IOCTL, ioctl_request(ASK)), second.ask(IOCTL, ioctl_request(ASK), flags=REPLAY)]
    for talk, number in zip((second, first), reversed(asked), strict=True):
        talk.answer(number, IOCTL, ioctl_response(SAY))
    assert stated(read(both(first, second))) == [(0, True, ASK), (0, False, SAY)]


def test_a_request_that_is_sent_again_with_other_bytes_is_a_conflict_and_the_first_version_counts() -> None:
    first, second = two_channels()
    changed = bytearray(ASK)
    changed[-1] ^= 4
    first.ask(IOCTL, ioctl_request(ASK))
    number = second.ask(IOCTL, ioctl_request(bytes(changed)), flags=REPLAY)
    second.answer(number, IOCTL, ioctl_response(SAY))
    out = read(both(first, second))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    (conflict,) = only(out, Conflict)
    (problem,) = [one for one in only(out, Problem) if one.kind == "conflict"]
    assert {extent.frame for extent in conflict.extents} <= set(problem.frames)
    assert "sent again (SMB2_FLAGS_REPLAY_OPERATION) with other bytes" in problem.text


def test_a_request_that_is_met_behind_the_one_that_repeats_it_is_one_with_it() -> None:
    """Bytes of the first connection were captured late."""
    first, second = two_channels()
    sent = [first.ask(IOCTL, ioctl_request(ASK)), second.ask(IOCTL, ioctl_request(ASK), flags=REPLAY)]
    second.answer(sent[1], IOCTL, ioctl_response(SAY))
    ones, others = stream(first.sent, closed=False), stream(second.sent, OTHER)
    out = read([*ones[:-1], *others[:-1], ones[-1], others[-1]])
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    # Once more without the flag, it is a request of its own.
    first.ask(IOCTL, ioctl_request(ASK))
    ones = stream(first.sent, closed=False)
    out = read([*ones[:-2], *others[:-1], *ones[-2:], others[-1]])
    assert [data for _, _, data in stated(out)] == [ASK, SAY, ASK]


@pytest.mark.parametrize(("flags", "sent"), [(0, ASK), (REPLAY, pdu(0, 2, b"what is it?")), (0, b"\5\0\0")])
def test_what_is_not_sent_again_is_a_request_of_its_own(flags: int, sent: bytes) -> None:
    """The same bytes without the flag, other bytes with it: those before were not captured. Bytes may be fewer than a header."""
    first, second = two_channels()
    first.ask(WRITE, write_request(ASK))
    second.ask(WRITE, write_request(sent), flags=flags)
    assert [data for _, _, data in stated(read(both(first, second)))] == [ASK, sent]


def test_a_create_that_is_sent_again_opens_nothing_new() -> None:
    """[MS-SMB2] 3.3.5.9.10: the server answers it with the open that it has made already."""
    asked, granted, _ = DURABLE["durable-2"]
    first, second = used("durable-2"), Talk(connection=OTHER).begin(binding=True)
    number = second.ask(CREATE, create_request("winreg", asked), flags=REPLAY)
    second.answer(number, CREATE, create_response(FILE_ID, granted))
    out = read(both(first, second.transceive(ASK, SAY)))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)] * 2
    assert len(only(out, ChannelClosed)) == 1


def test_a_durable_open_takes_what_was_sent_with_it() -> None:
    asked, granted, again = DURABLE["persistent"]
    first = opened(Talk().begin().tree(), asked, granted)
    first.ask(IOCTL, ioctl_request(ASK))
    second = opened(Talk(session=77, connection=OTHER).begin().tree(), again, granted, AGAIN)
    number = second.ask(IOCTL, ioctl_request(ASK, AGAIN), flags=REPLAY)
    second.answer(number, IOCTL, ioctl_response(SAY, AGAIN))
    out = read([*stream(first.sent), *stream(second.sent, OTHER)])
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
