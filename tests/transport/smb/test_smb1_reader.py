"""SMB1 conversations written here: pipes by TRANSACTION, READ and WRITE, chains, names, and identities of both kinds of setup."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.cursor import Cursor
from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.results.connection import SmbSession
from analyzer.results.record import Endpoint
from analyzer.results.security import Decryption
from analyzer.transport.channel.channel_events import ChannelBatch, ChannelClosed, ChannelGap
from analyzer.transport.smb.smb1_message import text_of
from analyzer.transport.tcp.stream_events import Connection, Direction
from tests.build import auth
from tests.build.smb import (
    ANDX_END,
    CLIENT,
    SERVER,
    framed,
    noisy,
    pdu,
    smb1,
    smb1_raw,
    stream,
    trans_request,
    trans_response,
    trans_secondary,
    with_hole,
)
from tests.transport.smb.test_smb2_reader import comparable, only, run, session_of, stated

ASK, SAY = pdu(0, 1, b"what is it?"), pdu(2, 1, b"it is this")
FID = 0x4000
MORE = 0xC0000016
OVERFLOW = 0x80000005
Sent = list[tuple[Direction, bytes]]


def tell(sent: Sent, *messages: bytes) -> Sent:
    """What was sent, and these messages, each in the direction that its flags say."""
    sent += [(1 if message[9] & 0x80 else 0, framed(message)) for message in messages]
    return sent


def wide(text: str, *, pad: bool = True) -> bytes:
    return (b"\0" if pad else b"") + text.encode("utf-16-le") + b"\0\0"


def negotiated(*, extended: bool = True) -> Sent:
    sent = tell([], smb1(0x72, b"", b"\x02NT LM 0.12\0\x02SMB 2.002\0", uid=0, tid=0))
    capabilities = 0x8000C3FD if extended else 0x0000C3FD
    words = struct.pack("<HBHHIIIIQhB", 0, 3, 50, 1, 16644, 65536, 0, capabilities, 0, 0, 0 if extended else 8)
    guid = bytes(range(16))
    names = wide("LAB", pad=False) + wide("FILES", pad=False)
    tell(sent, smb1(0x72, words, guid if extended else b"challeng" + names, response=True, uid=0, tid=0))
    return sent


def logged_on() -> Sent:
    """Negotiated, and set up by two legs of NTLM."""
    sent, legs = negotiated(), auth.ntlm_handshake("perfmon", "LAB", "secret")
    for token, reply, status, uid in ((legs.negotiate, legs.challenge, MORE, 0), (legs.authenticate, b"", 0, 100)):
        words = ANDX_END + struct.pack("<HHHIHII", 16644, 50, 0, 0, len(token), 0, 0x8000C3FD)
        system = wide("Windows 5.1", pad=len(token) % 2 == 0) + wide("LAN", pad=False)
        tell(sent, smb1(0x73, words, token + system, uid=uid, tid=0))
        words = ANDX_END + struct.pack("<HH", 0, len(reply))
        system = wide("Unix", pad=len(reply) % 2 == 0) + wide("Samba", pad=False)
        tell(sent, smb1(0x73, words, reply + system, response=True, status=status, tid=0))
    return sent


def connected(*messages: bytes, unicode: bool = True) -> Sent:
    """A session with the pipe `winreg` open, and what follows."""
    sent = logged_on()
    flags2 = 0xC801 if unicode else 0x4801
    path = wide("\\\\FILES\\IPC$", pad=False) if unicode else b"\\\\FILES\\IPC$\0"
    tell(sent, smb1(0x75, ANDX_END + struct.pack("<HH", 8, 1), b"\0" + path + b"?????\0", flags2=flags2, tid=0))
    tell(sent, smb1(0x75, ANDX_END + struct.pack("<H", 1), b"IPC\0\0\0", response=True, flags2=flags2))
    name = wide("\\winreg") if unicode else b"\\winreg\0"
    words = ANDX_END + struct.pack("<BHIIIQIIIIIB", 0, 14, 0, 0, 3, 0, 0, 7, 1, 0, 2, 0)
    tell(sent, smb1(0xA2, words, name, flags2=flags2))
    words = ANDX_END + struct.pack("<BHI32xIQQHHB", 0, FID, 1, 0x80, 0, 0, 2, 0x5FF, 0)
    return tell(sent, smb1(0xA2, words, response=True, flags2=flags2), *messages)


def read_words(fid: int = FID) -> bytes:
    return ANDX_END + struct.pack("<HIHHIH", fid, 0, 4096, 4096, 0, 0)


def read_block(data: bytes) -> bytes:
    words = ANDX_END + struct.pack("<HHHHHH8x", 0, 0, 0, len(data), 60, 0)
    return bytes([12]) + words + struct.pack("<H", len(data) + 1) + b"\0" + data


def write_block(data: bytes, mode: int = 8, fid: int = FID) -> bytes:
    words = ANDX_END + struct.pack("<HIIHHHHHI", fid, 0, 0, mode, len(data), 0, len(data), 64, 0)
    return bytes([14]) + words + struct.pack("<H", len(data) + 1) + b"\0" + data


TRANSACT = smb1_raw(0x25, trans_request(ASK))
TRANSACTED = smb1_raw(0x25, trans_response(SAY), response=True)
WRITTEN, READING = smb1_raw(0x2F, write_block(ASK)), smb1(0x2E, read_words())
WAS_READ = smb1_raw(0x2E, read_block(SAY), response=True)


def test_a_transaction_gives_both_directions_and_the_session_its_names() -> None:
    sent = connected(TRANSACT, TRANSACTED, smb1(0x04, struct.pack("<HI", FID, 0)), smb1(0x04, b"", response=True))
    out = run(stream(sent))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    channel = only(out, ChannelBatch)[0].channel
    assert channel.pipe == "winreg"
    assert channel.identity is not None
    assert channel.identity.account == "LAB\\perfmon"
    assert only(out, ChannelClosed) == [ChannelClosed(channel)]
    session = session_of(out)
    assert (session.dialect, session.trees, session.pipes) == ("1.0", ("\\\\FILES\\IPC$",), ("winreg",))
    assert session.server_guid == "03020100-0504-0706-0809-0a0b0c0d0e0f"
    assert session.identity.client_os_version == "10.0.19041"
    assert only(out, Problem) == []


def test_names_in_the_oem_code_page() -> None:
    assert only(run(stream(connected(TRANSACT, unicode=False))), ChannelBatch)[0].channel.pipe == "winreg"


@pytest.mark.parametrize(
    ("data", "start", "text", "stop"),
    [
        (b"a\0b\0\0\0c\0", 0, "ab", 6),
        (b"a\0b\0", 0, "ab", 4),
        (b"a\0b\0!", 0, "ab", 5),
        (b"?!a\0\0\0", 1, "a", 6),
        (b"", 0, "", 0),
    ],
)
def test_a_text_of_utf16_begins_at_an_even_place_and_ends_with_its_nul(
    data: bytes, start: int, text: str, stop: int
) -> None:
    """[MS-CIFS] 2.2.1.1.2 and 2.2.4.1: padding before it is left out; one that is cut ends with its last whole character."""
    cursor = Cursor(data)
    cursor.skip("before", start)
    assert (text_of(cursor, True), cursor.pos) == (text, stop)


def test_an_old_setup_says_who_in_clear() -> None:
    sent = negotiated(extended=False)
    words = ANDX_END + struct.pack("<HHHIHHII", 16644, 50, 0, 0, 24, 24, 0, 0xD4)
    names = b"".join(wide(text, pad=False) for text in ("perfmon", "LAB", "Windows 2000", "LAN"))
    tell(sent, smb1(0x73, words, bytes(48) + b"\0" + names, uid=0, tid=0))
    names = wide("Windows 5.0") + wide("LAN", pad=False) + wide("LAB", pad=False)
    tell(sent, smb1(0x73, ANDX_END + struct.pack("<H", 0), names, response=True, tid=0))
    session = session_of(run(stream(sent)))
    assert session.identity.account == "LAB\\perfmon"
    assert (session.identity.client_os_version, session.identity.os_version) == ("Windows 2000", "Windows 5.0")
    assert ("10.0.0.1", "FILES", "SMB1 negotiation") in session.hosts


def test_an_old_setup_without_a_name_is_anonymous() -> None:
    sent = negotiated(extended=False)
    words = ANDX_END + struct.pack("<HHHIHHII", 16644, 50, 0, 0, 0, 0, 0, 0xD4)
    names = b"".join(wide(text, pad=False) for text in ("", "", "Windows 2000", "LAN"))
    tell(sent, smb1(0x73, words, b"\0" + names, uid=0, tid=0))
    tell(sent, smb1(0x73, ANDX_END + struct.pack("<H", 0), wide("Windows 5.0"), response=True, tid=0))
    identity = session_of(run(stream(sent))).identity
    assert identity.is_anonymous
    assert identity.who == "NT AUTHORITY\\ANONYMOUS LOGON"


def test_secondary_requests_and_several_answers_join_by_displacement() -> None:
    sent = connected(smb1_raw(0x25, trans_request(ASK[:10], total=len(ASK))), smb1(0x25, b"", response=True))
    tell(sent, smb1_raw(0x26, trans_secondary(ASK[10:], 10, len(ASK))))
    tell(sent, smb1_raw(0x25, trans_response(SAY[:7], 0, len(SAY)), response=True))
    tell(sent, smb1_raw(0x25, trans_response(SAY[7:], 7, len(SAY)), response=True))
    out = run(stream(sent))
    assert stated(out) == [(0, True, ASK[:10]), (0, True, ASK[10:]), (0, False, SAY[:7]), (0, False, SAY[7:])]
    assert [item.fresh for item in only(out, ChannelBatch)] == [True, False, True, False]


def test_a_missing_secondary_is_a_gap_and_a_repeated_one_is_not_said_twice() -> None:
    sent = connected(smb1_raw(0x25, trans_request(ASK[:4], total=len(ASK))))
    tell(sent, smb1_raw(0x26, trans_secondary(ASK[10:], 10, len(ASK))))
    tell(sent, smb1_raw(0x26, trans_secondary(ASK[8:], 8, len(ASK))))
    assert stated(run(stream(sent))) == [(0, True, ASK[:4]), (0, True, b"?" * 6), (0, True, ASK[10:])]


def test_write_and_read_with_an_answer_that_continues() -> None:
    sent = connected(WRITTEN, smb1(0x2F, ANDX_END + struct.pack("<HHI", len(ASK), 0, 0), response=True))
    for part, status in ((SAY[:9], OVERFLOW), (SAY[9:], 0)):
        tell(sent, READING, smb1_raw(0x2E, read_block(part), response=True, status=status))
    # The same with an error of DOS: class ERRDOS, code ERRmoredata.
    tell(sent, READING, smb1_raw(0x2E, read_block(SAY), response=True, status=0x00EA0001, flags2=0x8001))
    assert stated(run(stream(sent))) == [(0, True, ASK), (0, False, SAY[:9]), (0, False, SAY[9:]), (0, False, SAY)]


def test_a_raw_write_without_the_length_is_not_cut() -> None:
    assert stated(run(stream(connected(smb1_raw(0x2F, write_block(ASK, mode=0x0C)))))) == [(0, True, ASK)]


def test_a_chain_opens_and_reads() -> None:
    """[MS-CIFS] 2.2.3.4: SMB_COM_OPEN_ANDX followed by SMB_COM_READ_ANDX."""
    sent = connected()
    name = wide("\\PIPE\\spoolss")
    first = 32 + 1 + 30 + 2 + len(name)
    words = struct.pack("<BBH", 0x2E, 0, first) + struct.pack("<HHHHIHIII", 0, 2, 0, 0, 0, 1, 0, 0, 0)
    message = smb1(0x2D, words, name) + bytes([10]) + read_words(0xFFFF) + b"\0\0"
    tell(sent, message)
    words = (
        struct.pack("<BBH", 0x2E, 0, 32 + 1 + 30 + 2)
        + struct.pack("<HHIIHHHIHH", 0x4001, 0, 0, 0, 0, 2, 0, 0, 0, 0)[:26]
    )
    opened = smb1(0x2D, words, response=True)
    block = bytes([12]) + ANDX_END + struct.pack("<HHHHHH8x", 0, 0, 0, len(SAY), len(opened) + 27, 0)
    tell(sent, opened + block + struct.pack("<H", len(SAY)) + SAY)
    out = run(stream(sent))
    assert [(client, data) for _, client, data in stated(out)] == [(False, SAY)]
    assert only(out, ChannelBatch)[0].channel.pipe == "spoolss"


def test_a_chain_that_turns_back_ends() -> None:
    sent = connected()
    words = struct.pack("<BBH", 0x2E, 0, 32) + read_words()[4:]
    tell(sent, smb1(0x2E, words), TRANSACT)
    assert stated(run(stream(sent))) == [(0, True, ASK)]


def test_mid_stream_pipes_show_by_their_data() -> None:
    sent = tell([], WRITTEN, READING, WAS_READ)
    out = run(stream(sent, Connection(0, CLIENT, SERVER, False)))
    assert [(client, data) for _, client, data in stated(out)] == [(True, ASK), (False, SAY)]


def test_a_hole_in_a_write_is_a_gap_of_its_length() -> None:
    sent = connected()
    start = sum(len(message) for direction, message in sent if direction == 0)
    long = pdu(0, 1, bytes(500))
    tell(sent, smb1_raw(0x2F, write_block(long)))
    out = run(with_hole(stream(sent), 0, start + 200, start + 300))
    assert b"".join(data for _, _, data in stated(out)) == long[:132] + b"?" * 100 + long[232:]
    assert len(only(out, ChannelGap)) == 1


GOOD = connected(TRANSACT, TRANSACTED, WRITTEN, READING, WAS_READ)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 90), min_size=1, max_size=20))
def test_cutting_never_changes_the_events(cuts: list[int]) -> None:
    assert comparable(run(stream(GOOD, cuts=cuts))) == comparable(run(stream(GOOD)))


@settings(max_examples=200)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 300), st.binary(min_size=1, max_size=12), st.booleans())
def test_random_bytes_in_a_good_message_give_events_and_nothing_else(
    index: int, at: int, noise: bytes, insert: bool
) -> None:
    assert all(isinstance(event, Event) for event in run(stream(noisy(GOOD, index, at, noise, insert=insert))))


# What SMB1 has and few use: the old commands, answers without their requests, what was refused, and setups cut short.

ACCESS_DENIED = 0xC0000022
OLD_READ, OLD_WRITE, WRITE_AND_CLOSE, TREE_DISCONNECT, LOGOFF = 0x0A, 0x0B, 0x2C, 0x71, 0x74


def create_answer(fid: int) -> bytes:
    words = ANDX_END + struct.pack("<BHI32xIQQHHB", 0, fid, 1, 0x80, 0, 0, 2, 0x5FF, 0)
    return smb1(0xA2, words, response=True)


def two_pipes() -> Sent:
    return connected(create_answer(FID + 1), smb1_raw(0x2F, write_block(ASK, fid=FID + 1), mid=9))


@pytest.mark.parametrize(("command", "words"), [(TREE_DISCONNECT, b""), (LOGOFF, ANDX_END)])
def test_what_ends_the_tree_or_the_session_ends_its_pipes(command: int, words: bytes) -> None:
    sent = connected(TRANSACT, smb1(command, words), smb1(command, words, response=True))
    assert len(only(run(stream(sent)), ChannelClosed)) == 1
    if command == TREE_DISCONNECT:
        # Refused, it ends nothing.
        sent[-1] = (1, sent[-1][1][:9] + struct.pack("<I", ACCESS_DENIED) + sent[-1][1][13:])
        tell(sent, TRANSACT)
        assert stated(run(stream(sent))) == [(0, True, ASK)] * 2


def test_what_is_closed_behind_a_logoff_is_of_no_further_session() -> None:
    sent = connected(smb1(LOGOFF, ANDX_END), smb1(LOGOFF, ANDX_END, response=True))
    # So Windows leaves its tree; a handle may be left too.
    tell(sent, smb1(TREE_DISCONNECT, b""), smb1(TREE_DISCONNECT, b"", response=True))
    tell(sent, smb1(0x04, struct.pack("<HI", FID, 0)), smb1(0x04, b"", response=True))
    assert len(only(run(stream(sent)), SmbSession)) == 1


def test_transactions_that_are_not_of_pipes_are_not_data() -> None:
    sent = connected()
    mailslot = bytearray(trans_request(ASK))
    mailslot[1 + 26] = 0
    tell(sent, smb1_raw(0x25, bytes(mailslot)), TRANSACTED)
    tell(sent, smb1_raw(0x25, trans_request(ASK, subcommand=0x21), mid=2))  # TRANS_QUERY_NMPIPE_STATE
    tell(sent, smb1_raw(0x25, trans_response(SAY), response=True, mid=2))
    tell(sent, smb1_raw(0x26, trans_secondary(ASK, 0, len(ASK)), mid=3))  # of a request that was not captured
    tell(sent, smb1_raw(0x25, trans_request(b""), mid=4))
    assert stated(run(stream(sent))) == []


def test_a_refused_transaction_is_over() -> None:
    sent = connected(smb1_raw(0x25, trans_request(ASK[:10], total=len(ASK))))
    tell(sent, smb1(0x25, b"", response=True, status=ACCESS_DENIED))
    tell(sent, smb1_raw(0x26, trans_secondary(ASK[10:], 10, len(ASK))))
    assert stated(run(stream(sent))) == [(0, True, ASK[:10])]


@pytest.mark.parametrize("command", ["transaction", "read"])
def test_an_answer_without_its_request_is_of_the_only_pipe_and_of_none_where_there_are_several(command: str) -> None:
    message = (
        smb1_raw(0x25, trans_response(SAY), response=True, mid=7)
        if command == "transaction"
        else smb1_raw(0x2E, read_block(SAY), response=True, mid=7)
    )
    sent = connected(TRANSACT, message)
    assert stated(run(stream(sent))) == [(0, True, ASK), (0, False, SAY)]
    sent = two_pipes()
    tell(sent, message)
    out = run(stream(sent))
    assert SAY not in [data for _, _, data in stated(out)]
    texts = [problem.text for problem in only(out, Problem)]
    assert texts == (
        ["the request of a READ was not captured, so its data cannot be assigned to a pipe"]
        if command == "read"
        else []
    )
    sent = logged_on()
    tell(sent, message)
    assert stated(run(stream(sent))) == []


def test_a_pipe_of_a_tree_that_was_not_seen_shows_by_its_name() -> None:
    sent = logged_on()
    words = ANDX_END + struct.pack("<BHIIIQIIIIIB", 0, 24, 0, 0, 3, 0, 0, 7, 1, 0, 2, 0)
    tell(sent, smb1(0xA2, words, wide("\\PIPE\\winreg")), create_answer(FID), WRITTEN)
    out = run(stream(sent))
    assert stated(out) == [(0, True, ASK)]
    assert only(out, ChannelBatch)[0].channel.pipe == "winreg"


@pytest.mark.parametrize(
    ("words", "status", "dialect"),
    [
        (b"\xff\xff", 0, None),  # no dialect pleased
        (struct.pack("<H", 5) + bytes(24), 0, "1.0"),  # 13 words: LAN Manager
        (b"\0\0", ACCESS_DENIED, None),
    ],
)
def test_what_the_server_negotiates(words: bytes, status: int, dialect: str | None) -> None:
    sent = tell([], smb1(0x72, b"", b"\x02NT LM 0.12\0", uid=0, tid=0))
    tell(sent, smb1(0x72, words, response=True, status=status, uid=0, tid=0), WRITTEN)
    assert session_of(run(stream(sent))).dialect == dialect


def test_an_old_negotiation_may_send_the_domain_alone_or_nothing() -> None:
    for names in (b"", wide("LAB", pad=False)):
        sent: Sent = []
        tell(sent, smb1(0x72, b"", b"\x02NT LM 0.12\0", uid=0, tid=0))
        words = struct.pack("<HBHHIIIIQhB", 0, 3, 50, 1, 16644, 65536, 0, 0xC3FD, 0, 0, 8)
        tell(sent, smb1(0x72, words, b"challeng" + names, response=True, uid=0, tid=0), WRITTEN)
        assert session_of(run(stream(sent))).hosts == ()


def test_requests_without_answers_are_bounded_and_it_is_reported_once() -> None:
    sent = connected()
    for mid in range(10, 16):
        tell(sent, smb1(0x2E, read_words(), mid=mid))
    tell(sent, smb1_raw(0x2E, read_block(SAY), response=True, mid=15))
    out = run(stream(sent), limits=Limits(requests=3))
    assert [problem.text for problem in only(out, Problem)] == [
        "more than 3 requests without an answer; the oldest are forgotten"
    ]
    assert stated(out) == [(0, False, SAY)]


def test_a_chain_that_goes_on_and_on_is_refused() -> None:
    sent = connected()
    blocks, at = b"", 32
    for _ in range(20):
        at += 27
        blocks += bytes([12]) + struct.pack("<BBH", 0x2E, 0, at) + read_words()[4:].ljust(20, b"\0") + b"\0\0"
    tell(sent, smb1_raw(0x2E, blocks), smb1_raw(0x25, trans_request(ASK), mid=2))
    out = run(stream(sent))
    assert [problem.kind for problem in only(out, Problem)] == ["malformed"]
    assert stated(out)[-1] == (0, True, ASK)


@pytest.mark.parametrize("captured", ["the first request", "the first answer", "both"])
def test_a_setup_whose_end_is_not_in_the_capture_is_a_session_all_the_same(captured: str) -> None:
    negotiation, whole = logged_on()[:2], logged_on()[2:]
    kept = {"the first request": whole[:1], "the first answer": whole[1:2], "both": whole[:2]}[captured]
    sent = tell(negotiation + kept, WRITTEN)
    sessions = only(run(stream(sent)), SmbSession)
    assert [one.decryption for one in sessions] == [Decryption.NO_HANDSHAKE]


def test_a_renewal_without_its_request_keeps_the_session() -> None:
    sent = connected()
    legs = auth.ntlm_handshake("other", "LAB", "x")
    words = ANDX_END + struct.pack("<HH", 0, len(legs.challenge))
    tell(sent, smb1(0x73, words, legs.challenge, response=True, status=MORE, mid=5))
    tell(sent, smb1(0x73, ANDX_END + struct.pack("<HH", 0, 0), b"", response=True, mid=6))
    session = session_of(run(stream(sent)))
    assert session.identity.account == "LAB\\perfmon"


def test_who_asks_is_the_client_where_no_port_shows_it() -> None:
    sent = connected(TRANSACT, TRANSACTED)
    for begun in (len(sent) - 2, len(sent) - 1):
        connection = Connection(0, SERVER, CLIENT, False)
        turned: Sent = [(0 if way else 1, message) for way, message in sent[begun:]]
        other = Connection(0, Endpoint(SERVER.ip, 4450), CLIENT, False)
        for each in (connection, other):
            assert session_of(run(stream(turned, each))).client == CLIENT


def test_a_command_behind_one_that_failed_was_not_done() -> None:
    """[MS-CIFS] 3.3.5.2.3: the rest of an AndX chain is not processed behind an error."""
    sent = logged_on()
    path = b"\0" + wide("\\\\FILES\\IPC$", pad=False) + b"?????\0"
    setup = bytes([3, 0x75, 0]) + struct.pack("<HH", 32 + 9, 0) + struct.pack("<H", 0)
    tree = bytes([3]) + ANDX_END + struct.pack("<H", 1) + struct.pack("<H", 7) + b"IPC\0\0\0\0"
    request = bytes([4]) + ANDX_END + struct.pack("<HH", 8, 1) + struct.pack("<H", len(path)) + path
    tell(sent, smb1_raw(0x75, request, mid=9), smb1_raw(0x73, setup + tree, response=True, status=ACCESS_DENIED, mid=9))
    tell(sent, WRITTEN)
    assert session_of(run(stream(sent))).trees == ()


def test_a_setup_of_lan_manager_has_one_password() -> None:
    """[MS-CIFS] 2.2.4.53.1: ten words, of which one is the length of the only password."""
    sent = negotiated(extended=False)
    words = ANDX_END + struct.pack("<HHHIHI", 16644, 50, 0, 0, 24, 0)
    tell(sent, smb1(0x73, words, bytes(24) + b"perfmon\0", uid=0, tid=0, flags2=0x4801))
    tell(sent, smb1(0x73, ANDX_END + b"\0\0", response=True, tid=0, flags2=0x4801))
    session = session_of(run(stream(sent)))
    assert session.identity.account == "perfmon"
    assert session.identity.client_os_version is None


def test_data_outside_of_the_message_are_malformed() -> None:
    sent = connected()
    block = bytearray(write_block(ASK))
    struct.pack_into("<H", block, 1 + 22, 2000)
    tell(sent, smb1_raw(0x2F, bytes(block)), smb1_raw(0x2F, write_block(SAY), mid=2))
    out = run(stream(sent))
    ((kind, text),) = ((problem.kind, problem.text) for problem in only(out, Problem))
    assert kind == "malformed"
    assert f"{len(ASK)} bytes at 2000 lie outside of the" in text
    assert stated(out)[-1] == (0, True, SAY)


def test_a_setup_without_its_last_answer_is_a_session() -> None:
    assert session_of(run(stream(logged_on()[:-1]))).identity.account == "LAB\\perfmon"
