"""What SMB1 has and few use: the old commands, answers without their requests, what was refused, and setups cut short."""

from __future__ import annotations

import struct

import pytest

from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from analyzer.results.connection import SmbSession
from analyzer.results.record import Endpoint
from analyzer.results.security import Decryption
from analyzer.transport.channel.events import ChannelBatch, ChannelClosed
from analyzer.transport.tcp.events import Connection
from tests.build import auth
from tests.build.smb import (
    ANDX_END,
    CLIENT,
    SERVER,
    smb1,
    smb1_raw,
    stream,
    trans_request,
    trans_response,
    trans_secondary,
)
from tests.transport.smb.test_smb1 import (
    ASK,
    FID,
    MORE,
    SAY,
    Sent,
    answer,
    ask,
    connected,
    extended_setup,
    negotiated,
    read_block,
    read_words,
    wide,
    write_block,
)
from tests.transport.smb.test_smb2 import only, run, session_of, stated

ACCESS_DENIED = 0xC0000022
OLD_READ, OLD_WRITE, WRITE_AND_CLOSE, TREE_DISCONNECT, LOGOFF = 0x0A, 0x0B, 0x2C, 0x71, 0x74


def create_answer(fid: int) -> bytes:
    words = ANDX_END + struct.pack("<BHI32xIQQHHB", 0, fid, 1, 0x80, 0, 0, 2, 0x5FF, 0)
    return smb1(0xA2, words, response=True)


def two_pipes() -> Sent:
    sent = connected()
    answer(sent, create_answer(FID + 1))
    ask(sent, smb1_raw(0x2F, write_block(ASK, fid=FID + 1), mid=9))
    return sent


@pytest.mark.parametrize(("command", "words"), [(TREE_DISCONNECT, b""), (LOGOFF, ANDX_END)])
def test_what_ends_the_tree_or_the_session_ends_its_pipes(command: int, words: bytes) -> None:
    sent = connected()
    ask(sent, smb1_raw(0x25, trans_request(ASK)))
    ask(sent, smb1(command, words))
    answer(sent, smb1(command, words, response=True))
    out = run(stream(sent))
    assert len(only(out, ChannelClosed)) == 1
    if command == TREE_DISCONNECT:
        # Refused, it ends nothing.
        sent[-1] = (1, sent[-1][1][:9] + struct.pack("<I", ACCESS_DENIED) + sent[-1][1][13:])
        ask(sent, smb1_raw(0x25, trans_request(ASK)))
        assert stated(run(stream(sent))) == [(0, True, ASK)] * 2


def test_transactions_that_are_not_of_pipes_are_not_data() -> None:
    sent = connected()
    mailslot = bytearray(trans_request(ASK))
    mailslot[1 + 26] = 0
    ask(sent, smb1_raw(0x25, bytes(mailslot)))
    answer(sent, smb1_raw(0x25, trans_response(SAY), response=True))
    ask(sent, smb1_raw(0x25, trans_request(ASK, subcommand=0x21), mid=2))  # TRANS_QUERY_NMPIPE_STATE
    answer(sent, smb1_raw(0x25, trans_response(SAY), response=True, mid=2))
    ask(sent, smb1_raw(0x26, trans_secondary(ASK, 0, len(ASK)), mid=3))  # of a request that was not captured
    ask(sent, smb1_raw(0x25, trans_request(b""), mid=4))
    assert stated(run(stream(sent))) == []


def test_a_refused_transaction_is_over() -> None:
    sent = connected()
    ask(sent, smb1_raw(0x25, trans_request(ASK[:10], total=len(ASK))))
    answer(sent, smb1(0x25, b"", response=True, status=ACCESS_DENIED))
    ask(sent, smb1_raw(0x26, trans_secondary(ASK[10:], 10, len(ASK))))
    assert stated(run(stream(sent))) == [(0, True, ASK[:10])]


@pytest.mark.parametrize("command", ["transaction", "read"])
def test_an_answer_without_its_request_is_of_the_only_pipe_and_of_none_where_there_are_several(command: str) -> None:
    message = (
        smb1_raw(0x25, trans_response(SAY), response=True, mid=7)
        if command == "transaction"
        else smb1_raw(0x2E, read_block(SAY), response=True, mid=7)
    )
    sent = connected()
    ask(sent, smb1_raw(0x25, trans_request(ASK)))
    answer(sent, message)
    assert stated(run(stream(sent))) == [(0, True, ASK), (0, False, SAY)]
    sent = two_pipes()
    answer(sent, message)
    out = run(stream(sent))
    assert SAY not in [data for _, _, data in stated(out)]
    texts = [problem.text for problem in only(out, Problem)]
    assert texts == (
        ["the request of a READ was not captured, so its data cannot be assigned to a pipe"]
        if command == "read"
        else []
    )
    sent = negotiated()
    extended_setup(sent)
    answer(sent, message)
    assert stated(run(stream(sent))) == []


def test_a_pipe_of_a_tree_that_was_not_seen_shows_by_its_name() -> None:
    sent = negotiated()
    extended_setup(sent)
    words = ANDX_END + struct.pack("<BHIIIQIIIIIB", 0, 24, 0, 0, 3, 0, 0, 7, 1, 0, 2, 0)
    ask(sent, smb1(0xA2, words, wide("\\PIPE\\winreg")))
    answer(sent, create_answer(FID))
    ask(sent, smb1_raw(0x2F, write_block(ASK)))
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
    sent: Sent = []
    ask(sent, smb1(0x72, b"", b"\x02NT LM 0.12\0", uid=0, tid=0))
    answer(sent, smb1(0x72, words, response=True, status=status, uid=0, tid=0))
    ask(sent, smb1_raw(0x2F, write_block(ASK)))
    assert session_of(run(stream(sent))).dialect == dialect


def test_an_old_negotiation_may_send_the_domain_alone_or_nothing() -> None:
    for names in (b"", wide("LAB", pad=False)):
        sent: Sent = []
        ask(sent, smb1(0x72, b"", b"\x02NT LM 0.12\0", uid=0, tid=0))
        words = struct.pack("<HBHHIIIIQhB", 0, 3, 50, 1, 16644, 65536, 0, 0xC3FD, 0, 0, 8)
        answer(sent, smb1(0x72, words, b"challeng" + names, response=True, uid=0, tid=0))
        ask(sent, smb1_raw(0x2F, write_block(ASK)))
        assert session_of(run(stream(sent))).hosts == ()


def test_requests_without_answers_are_bounded_and_it_is_reported_once() -> None:
    sent = connected()
    for mid in range(10, 16):
        ask(sent, smb1(0x2E, read_words(), mid=mid))
    answer(sent, smb1_raw(0x2E, read_block(SAY), response=True, mid=15))
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
    ask(sent, smb1_raw(0x2E, blocks))
    ask(sent, smb1_raw(0x25, trans_request(ASK), mid=2))
    out = run(stream(sent))
    assert [problem.kind for problem in only(out, Problem)] == ["malformed"]
    assert stated(out)[-1] == (0, True, ASK)


@pytest.mark.parametrize("captured", ["the first request", "the first answer", "both"])
def test_a_setup_whose_end_is_not_in_the_capture_is_a_session_all_the_same(captured: str) -> None:
    sent = negotiated()
    whole: Sent = []
    extended_setup(whole)
    sent += {"the first request": whole[:1], "the first answer": whole[1:2], "both": whole[:2]}[captured]
    ask(sent, smb1_raw(0x2F, write_block(ASK)))
    sessions = only(run(stream(sent)), SmbSession)
    assert sessions
    assert all(session.decryption is not Decryption.DECRYPTED for session in sessions)


def test_a_renewal_without_its_request_keeps_the_session() -> None:
    sent = connected()
    legs = auth.ntlm_handshake("other", "LAB", "x")
    words = ANDX_END + struct.pack("<HH", 0, len(legs.challenge))
    answer(sent, smb1(0x73, words, legs.challenge, response=True, status=MORE, mid=5))
    answer(sent, smb1(0x73, ANDX_END + struct.pack("<HH", 0, 0), b"", response=True, mid=6))
    session = session_of(run(stream(sent)))
    assert session.identity.account == "LAB\\perfmon"


def test_who_asks_is_the_client_where_no_port_shows_it() -> None:
    sent = connected()
    ask(sent, smb1_raw(0x25, trans_request(ASK)))
    answer(sent, smb1_raw(0x25, trans_response(SAY), response=True))
    for begun in (len(sent) - 2, len(sent) - 1):
        connection = Connection(0, SERVER, CLIENT, False)
        turned: Sent = [(0 if way else 1, message) for way, message in sent[begun:]]
        other = Connection(0, Endpoint(SERVER.ip, 4450), CLIENT, False)
        for each in (connection, other):
            assert session_of(run(stream(turned, each))).client == CLIENT


def test_a_command_behind_one_that_failed_was_not_done() -> None:
    """[MS-CIFS] 3.3.5.2.3: the rest of an AndX chain is not processed behind an error."""
    sent = negotiated()
    extended_setup(sent)
    path = b"\0" + wide("\\\\FILES\\IPC$", pad=False) + b"?????\0"
    setup = bytes([3, 0x75, 0]) + struct.pack("<HH", 32 + 9, 0) + struct.pack("<H", 0)
    tree = bytes([3]) + ANDX_END + struct.pack("<H", 1) + struct.pack("<H", 7) + b"IPC\0\0\0\0"
    request = bytes([4]) + ANDX_END + struct.pack("<HH", 8, 1) + struct.pack("<H", len(path)) + path
    ask(sent, smb1_raw(0x75, request, mid=9))
    answer(sent, smb1_raw(0x73, setup + tree, response=True, status=ACCESS_DENIED, mid=9))
    ask(sent, smb1_raw(0x2F, write_block(ASK)))
    assert session_of(run(stream(sent))).trees == ()


def test_a_setup_of_lan_manager_has_one_password() -> None:
    """[MS-CIFS] 2.2.4.53.1: ten words, of which one is the length of the only password."""
    sent = negotiated(extended=False)
    words = ANDX_END + struct.pack("<HHHIHI", 16644, 50, 0, 0, 24, 0)
    ask(sent, smb1(0x73, words, bytes(24) + b"perfmon\0", uid=0, tid=0, flags2=0x4801))
    answer(sent, smb1(0x73, ANDX_END + b"\0\0", response=True, tid=0, flags2=0x4801))
    session = session_of(run(stream(sent)))
    assert session.identity.account == "perfmon"
    assert session.identity.client_os_version is None


def test_data_outside_of_the_message_are_malformed() -> None:
    sent = connected()
    block = bytearray(write_block(ASK))
    struct.pack_into("<H", block, 1 + 22, 2000)
    ask(sent, smb1_raw(0x2F, bytes(block)))
    ask(sent, smb1_raw(0x2F, write_block(SAY), mid=2))
    out = run(stream(sent))
    ((kind, text),) = ((problem.kind, problem.text) for problem in only(out, Problem))
    assert kind == "malformed"
    assert f"{len(ASK)} bytes at 2000 lie outside of the" in text
    assert stated(out)[-1] == (0, True, SAY)


def test_a_setup_without_its_last_answer_is_a_session() -> None:
    sent = negotiated()
    whole: Sent = []
    extended_setup(whole)
    assert session_of(run(stream(sent + whole[:3]))).identity.account == "LAB\\perfmon"
