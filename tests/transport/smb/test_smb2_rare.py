"""What SMB2 has and few captures show: refusals, ids that are left out, what is cut inside a header, and bounds that are met."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.results.connection import SmbSession
from analyzer.results.record import Endpoint
from analyzer.results.security import Decryption
from analyzer.transport.channel.events import ChannelBatch, ChannelClosed, ChannelGap
from analyzer.transport.smb.framing import Message
from analyzer.transport.smb.layer import SmbLayer
from analyzer.transport.smb.state import may_be_dcerpc
from analyzer.transport.tcp.events import Connection, Direction
from tests.build import auth
from tests.build.chain import through, to_channels
from tests.build.smb import (
    CANCEL,
    CLIENT,
    CLOSE,
    CREATE,
    GCM_128,
    IOCTL,
    LOGOFF,
    MORE_PROCESSING,
    NEGOTIATE,
    OVERFLOW,
    PENDING,
    READ,
    SERVER,
    SESSION_ID,
    SETUP,
    TREE,
    TREE_DISCONNECT,
    WRITE,
    Talk,
    chained,
    compound,
    create_response,
    ioctl_request,
    ioctl_response,
    read_request,
    read_response,
    seal,
    setup_request,
    setup_response,
    smb2,
    stream,
    tree_response,
    with_hole,
    write_request,
    write_response,
)
from tests.transport.smb.test_smb2 import ASK, SAY, WITH_KEY, only, recognised, run, session_of, stated

ANY_FILE = b"\xff" * 16
NO_SESSION = 2**64 - 1
ACCESS_DENIED, PIPE_BROKEN, NOT_SUPPORTED, LOGON_FAILURE = 0xC0000022, 0xC000014B, 0xC00000BB, 0xC000006D
ERROR = struct.pack("<HBBI", 9, 0, 0, 0) + b"\0"
MID_STREAM = Connection(0, CLIENT, SERVER, False)


def sent_so_far(talk: Talk, direction: Direction) -> int:
    return sum(len(message) for way, message in talk.sent if way == direction)


def texts(events: Iterable[Event]) -> list[tuple[str, str]]:
    return [(problem.kind, problem.text) for problem in only(events, Problem)]


# Refusals and answers of another shape


@pytest.mark.parametrize(
    ("command", "body"),
    [(TREE_DISCONNECT, b"\x04\0\0\0"), (LOGOFF, b"\x04\0\0\0"), (TREE, tree_response()), (NEGOTIATE, ERROR)],
)
def test_what_the_server_refuses_changes_nothing(command: int, body: bytes) -> None:
    """[MS-SMB2] 3.3.4.4: an error response ends no tree and no session, and connects none."""
    talk = Talk().begin().tree().open().write(ASK)
    talk.answer(talk.ask(command, body), command, body, status=ACCESS_DENIED)
    out = run(stream(talk.write(SAY).sent))
    assert stated(out) == [(0, True, ASK), (0, True, SAY)]
    assert session_of(out).trees == ("\\\\FILES\\IPC$",)
    assert session_of(out).dialect == "3.1.1"


@pytest.mark.parametrize("command", [READ, IOCTL])
@pytest.mark.parametrize("status", [PIPE_BROKEN, OVERFLOW])
def test_an_error_response_has_no_data(command: int, status: int) -> None:
    """[MS-SMB2] 2.2.2: what answers in place of the data has a StructureSize of 9, whatever the status."""
    talk = Talk().begin().tree().open()
    body = read_request() if command == READ else ioctl_request(ASK)
    talk.answer(talk.ask(command, body), command, ERROR, status=status)
    out = run(stream(talk.read(SAY).sent))
    assert [data for _, from_client, data in stated(out) if not from_client] == [SAY]
    assert texts(out) == []


def test_a_failed_transceive_has_no_data_in_a_response_of_its_own_shape() -> None:
    talk = Talk().begin().tree().open()
    talk.answer(talk.ask(IOCTL, ioctl_request(ASK)), IOCTL, ioctl_response(SAY), status=PIPE_BROKEN)
    assert stated(run(stream(talk.sent))) == [(0, True, ASK)]


def test_answers_whose_requests_were_not_captured() -> None:
    """A CLOSE names nothing in its answer, and another FSCTL carries no data of the pipe."""
    talk = Talk().begin().tree().open().write(ASK)
    talk.answer(77, CLOSE, struct.pack("<HH56x", 60, 0))
    talk.answer(78, IOCTL, ioctl_response(SAY, code=0x00140204))
    talk.answer(79, IOCTL, ioctl_response(SAY))
    out = run(stream(talk.write(ASK).sent))
    assert stated(out) == [(0, True, ASK), (0, False, SAY), (0, True, ASK)]


def test_an_open_whose_request_was_not_captured_shows_by_its_data() -> None:
    """A CREATE that failed opens nothing; of one that succeeded the name is unknown, and its CLOSE still ends it."""
    talk = Talk().begin().tree()
    talk.answer(70, CREATE, ERROR, status=ACCESS_DENIED)
    talk.answer(71, CREATE, create_response())
    out = run(stream(talk.transceive(ASK, SAY).close().write(SAY).sent))
    assert stated(out) == [(0, True, ASK), (0, False, SAY), (1, True, SAY)]
    assert [event.channel.pipe for event in only(out, ChannelClosed)] == [None, None]


def test_an_answer_with_the_message_id_of_another_command_answers_nothing() -> None:
    """The request was not captured; that another one had its number says nothing of what was read."""
    talk = Talk().begin().tree().open("winreg", b"A" * 16)
    number = talk.ask(WRITE, write_request(ASK, b"A" * 16))
    talk.answer(number, READ, read_response(SAY))
    assert stated(run(stream(talk.sent))) == [(0, True, ASK), (0, False, SAY)]
    talk.open("samr", b"B" * 16).answer(talk.ask(WRITE, write_request(ASK, b"B" * 16)), READ, read_response(SAY))
    out = run(stream(talk.sent))
    assert SAY not in [data for number, _, data in stated(out) if number == 1]


def test_a_cancel_names_the_read_that_still_gets_its_answer() -> None:
    """[MS-SMB2] 3.3.5.16: CANCEL has the MessageId of the request it is about, and no answer of its own."""
    talk = Talk().begin().tree().open("winreg", b"A" * 16).open("samr", b"B" * 16)
    number = talk.ask(READ, read_request(b"B" * 16))
    talk.answer(number, READ, ERROR, status=PENDING, async_id=5)
    talk.raw(0, smb2(CANCEL, b"\x04\0\0\0", number))
    talk.answer(number, READ, read_response(SAY), async_id=5)
    assert stated(run(stream(talk.sent))) == [(1, False, SAY)]


# Ids that are left out


def test_related_answers_may_leave_out_the_session() -> None:
    """[MS-SMB2] 3.2.5.1: what answers a related operation belongs where its request does."""
    talk = Talk().begin().tree().open()
    nothing: dict[str, Any] = {"flags": 4, "session": NO_SESSION, "tree": 2**32 - 1}
    talk.raw(
        0,
        compound(
            smb2(WRITE, write_request(ASK), 20),
            smb2(READ, read_request(ANY_FILE), 21, **nothing),
            smb2(IOCTL, ioctl_request(ASK, ANY_FILE), 22, **nothing),
        ),
    )
    talk.raw(
        1,
        compound(
            smb2(WRITE, write_response(len(ASK)), 20, response=True),
            smb2(READ, read_response(SAY), 21, response=True, **nothing),
            smb2(IOCTL, ioctl_response(SAY, ANY_FILE), 22, response=True, **nothing),
        ),
    )
    out = run(stream(talk.sent))
    assert stated(out) == [(0, True, ASK + ASK), (0, False, SAY + SAY)]
    assert {event.smb.session_id for event in only(out, ChannelBatch) if event.smb} == {SESSION_ID}


def test_the_file_of_the_operation_before_needs_one_before() -> None:
    """[MS-SMB2] 3.3.5.2.7.2: without a related one before it, such a FileId names nothing; nothing is guessed."""
    talk = Talk().begin().tree().open()
    talk.ask(WRITE, write_request(ASK, ANY_FILE))
    assert stated(run(stream(talk.write(SAY).sent))) == [(0, True, SAY)]


def test_no_session_has_the_number_zero() -> None:
    """[MS-SMB2] 2.2.1.2: 0 stands for none, so a WRITE in it reaches no pipe and makes no session up."""
    talk = Talk().begin().tree().open()
    talk.ask(WRITE, write_request(ASK), session=0)
    out = run(stream(talk.sent))
    assert stated(out) == []
    assert session_of(out).session_id == SESSION_ID


def test_many_sessions_on_one_connection_keep_their_numbers() -> None:
    talk = Talk().begin()
    numbers = range(1000, 1300)
    for number in numbers:
        talk.ask(WRITE, write_request(ASK), session=number)
    found = [event.smb.session_id for event in only(run(stream(talk.sent)), ChannelBatch) if event.smb]
    assert found == list(numbers)


# Sessions, and the connections they span


def test_a_session_spans_connections_of_a_client_whose_binding_was_not_captured() -> None:
    talk = Talk().begin().tree().open().write(ASK)
    other = Connection(1, Endpoint(CLIENT.ip, 50001), SERVER, False)
    second = Talk(connection=other).write(SAY)
    out = run(stream(talk.sent, closed=False) + stream(second.sent, other))
    assert stated(out) == [(0, True, ASK), (0, True, SAY)]
    session = session_of(out)
    # The frames of the second connection have earlier times: where the session was met is not when it began.
    assert session.first_time_ns == 1000


@pytest.mark.parametrize("server", ["10.0.0.1", "10.0.0.9"])
def test_a_channel_is_bound_to_the_session_of_its_server(server: str) -> None:
    """[MS-SMB2] 3.3.5.5.2: servers number their sessions for themselves."""
    first = Talk().begin().tree().open()
    other = Connection(1, Endpoint("10.0.0.2", 50001), Endpoint(server, 445), True)
    second = Talk(0x0302, connection=other)
    second.begin(binding=True)
    # Another server has another GUID, in the answer to the negotiation.
    guid_at = 4 + 64 + 8
    second.sent[1] = 1, second.sent[1][1][:guid_at] + b"\x99" * 16 + second.sent[1][1][guid_at + 16 :]
    sessions = only(run(stream(first.sent, closed=False) + stream(second.sent, other)), SmbSession)
    assert [session.binds for session in sessions] == ([False] if server == "10.0.0.1" else [True, False])


def test_a_setup_without_its_last_answer_is_a_session() -> None:
    legs = auth.ntlm_handshake("perfmon", "LAB", "secret")
    talk = Talk().begin((legs.negotiate, legs.challenge, legs.authenticate))
    assert session_of(run(stream(talk.sent[:-1]))).identity.account == "LAB\\perfmon"


@pytest.mark.parametrize(
    ("direction", "missing"), [(0, "the NTLM authenticate message is not"), (1, "the NTLM challenge message is not")]
)
def test_a_hole_in_a_token_is_no_wrong_password(direction: Direction, missing: str) -> None:
    legs = auth.ntlm_handshake("perfmon", "LAB", "secret")
    talk = Talk(cipher=GCM_128, session_key=legs.session_key)
    talk.begin((legs.negotiate, legs.challenge, legs.authenticate))
    talk.sealing = True
    talk.tree().open().transceive(ASK, SAY)
    # Of the client the last message of the setup, of the server the one but last.
    stop = sum(len(message) for way, message in talk.sent[: 5 if direction == 0 else 4] if way == direction)
    keyring = Keyring.build(passwords=[("LAB\\perfmon", "secret")])
    out = run(with_hole(stream(talk.sent), direction, stop - 20, stop), keyring)
    assert stated(out) == []
    session = session_of(out)
    assert session.decryption is Decryption.NO_HANDSHAKE
    assert (session.reason or "").startswith(missing)
    assert [kind for kind, _ in texts(out)] == ["sealed"]


def test_setups_under_way_are_bounded() -> None:
    talk = Talk()
    for number in range(1, 6):
        talk.answer(
            talk.ask(SETUP, setup_request(), session=0), SETUP, setup_response(), status=MORE_PROCESSING, session=number
        )
    out = run(stream(talk.sent), limits=Limits(sessions=2))
    assert {session.session_id for session in only(out, SmbSession)} == {4, 5}
    assert texts(out) == [
        ("limit", "more than 2 session setups under way on one connection; the oldest are forgotten (3 times)")
    ]


def test_a_renewal_that_fails_leaves_the_session_as_it_was() -> None:
    talk = Talk().begin().tree().open().write(ASK)
    talk.answer(talk.ask(SETUP, setup_request()), SETUP, ERROR, status=LOGON_FAILURE)
    out = run(stream(talk.write(SAY).sent))
    assert stated(out) == [(0, True, ASK), (0, True, SAY)]
    assert session_of(out).refused is None


def test_the_frames_named_of_a_session_are_bounded() -> None:
    talk = Talk().begin()
    for _ in range(40):
        talk.answer(talk.ask(SETUP, setup_request()), SETUP, setup_response())
    assert len(session_of(run(stream(talk.sent))).frames) == 64


def test_the_log_of_keys_gets_each_session_once_and_no_channel() -> None:
    legs = auth.ntlm_handshake("perfmon", "LAB", "secret")
    tokens = (legs.negotiate, legs.challenge, legs.authenticate)
    first = Talk(session_key=legs.session_key).begin(tokens)
    other = Connection(1, Endpoint("10.0.1.2", 50000), Endpoint("10.0.1.1", 445), True)
    second = Talk(session_key=legs.session_key, connection=other).begin(tokens, binding=True)
    logged: list[tuple[int, bytes]] = []
    layers = to_channels(
        Keyring.build(passwords=[("LAB\\perfmon", "secret")]), key_log=lambda number, key: logged.append((number, key))
    )
    through(layers, recognised(stream(first.sent, closed=False) + stream(second.sent, other)))
    assert logged == [(SESSION_ID, legs.session_key)]


def test_the_log_of_messages_gets_them_as_sent_and_as_read() -> None:
    talk = Talk(cipher=GCM_128).begin()
    talk.sealing = True
    talk.tree()
    logged: list[tuple[Direction, Message, Message]] = []
    layer = SmbLayer(WITH_KEY, message_log=lambda _, way, outer, inner: logged.append((way, outer, inner)))
    through([layer], recognised(stream(talk.sent)))
    assert [way for way, _, _ in logged] == [0, 1] * 4
    assert [outer.head.data[:4] for _, outer, _ in logged] == [b"\xfeSMB"] * 6 + [b"\xfdSMB"] * 2
    assert {inner.head.data[:4] for _, _, inner in logged} == {b"\xfeSMB"}


# Who is the client


def test_the_client_is_who_does_not_have_the_servers_port() -> None:
    talk = Talk().begin().tree().open().transceive(ASK, SAY)
    sent: list[tuple[Direction, bytes]] = [(0 if way else 1, message) for way, message in talk.sent]
    out = run(stream(sent, Connection(0, SERVER, CLIENT, False)))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    assert only(out, ChannelBatch)[0].channel.client == CLIENT


def test_a_server_may_be_asked_by_its_address() -> None:
    out = run(stream(Talk().begin().tree("\\\\10.0.0.1\\IPC$").sent))
    assert session_of(out).trees == ("\\\\10.0.0.1\\IPC$",)
    assert session_of(out).hosts == ()


# Pipes that show by their data


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", True),
        (b"\5", True),
        (b"\5\0\x0b", True),
        (b"\5\1\x13\3", True),  # [C706] 12.6.3.1: minor versions 0 and 1; [MS-RPCE] 2.2.2: types up to 19
        (b"\4", False),
        (b"\5\2", False),
        (b"\5\0\x14", False),
    ],
)
def test_few_bytes_may_begin_a_pdu(data: bytes, expected: bool) -> None:
    assert may_be_dcerpc(data) is expected
    talk = Talk().begin().tree().open("custom").write(data).write(ASK)
    assert (ASK in [found[-len(ASK) :] for _, _, found in stated(run(stream(talk.sent)))]) is expected


def test_an_open_whose_first_bytes_were_lost() -> None:
    """A pipe stays one, as nothing shows that it carries something else; what may be a file is no channel for a loss."""
    for whole in (True, False):
        talk = Talk().begin().tree().open("custom")
        begun = 0 if whole else len(talk.sent)
        skipped = sum(len(message) for way, message in talk.sent[:begun] if way == 0)
        data_at = sent_so_far(talk, 0) + 4 + 64 + 48 - skipped
        talk.write(ASK)
        out = run(with_hole(stream(talk.sent[begun:]), 0, data_at, data_at + 4))
        assert stated(out) == ([(0, True, b"????"), (0, True, ASK[4:])] if whole else [])


def test_data_of_a_read_from_before_the_capture_that_are_no_dcerpc_are_nothing() -> None:
    talk = Talk()
    talk.answer(5, READ, read_response(b"rows of a file"))
    out = run(stream(talk.sent, MID_STREAM))
    assert stated(out) == []
    assert texts(out) == []


def test_a_pipe_that_is_met_by_its_answers_alone_ends_with_the_session() -> None:
    talk = Talk()
    for number in range(2):
        talk.answer(number, READ, read_response(SAY))
    out = run(stream(talk.sent, MID_STREAM))
    assert stated(out) == [(0, False, SAY), (0, False, SAY)]
    assert [event.channel.number for event in only(out, ChannelClosed)] == [0]


# What is cut, and what is damaged


def test_a_transform_cut_in_its_header_loses_its_message() -> None:
    talk = Talk(cipher=GCM_128).begin()
    talk.sealing = True
    talk.tree().open()
    at = sent_so_far(talk, 0)
    talk.write(ASK).write(SAY)
    out = run(with_hole(stream(talk.sent), 0, at + 10, at + 20), WITH_KEY)
    assert stated(out) == [(0, True, b"?"), (0, True, SAY)]
    ((kind, text),) = texts(out)
    assert kind == "truncated"
    assert text.startswith("an SMB2 message from 10.0.0.2:49152 is cut")


def test_what_is_encrypted_in_a_session_that_was_set_up_before_names_what_would_decrypt_it() -> None:
    talk = Talk(cipher=GCM_128).begin()
    talk.sealing = True
    begun = len(talk.sent)
    out = run(stream(talk.tree().sent[begun:], MID_STREAM))
    ((kind, text),) = texts(out)
    assert kind == "sealed"
    assert text.endswith(
        ": the session setup is not in the capture; only the session's encryption keys would decrypt them"
    )


def test_a_hole_in_what_is_encrypted_leaves_that_message_undecrypted() -> None:
    """[MS-SMB2] 2.2.41: one tag over the whole message, so that no part of it can be trusted."""
    talk = Talk(cipher=GCM_128).begin()
    talk.sealing = True
    talk.tree().open()
    at = sent_so_far(talk, 0)
    talk.write(ASK).write(SAY)
    out = run(with_hole(stream(talk.sent), 0, at + 80, at + 90), WITH_KEY)
    assert stated(out) == [(0, True, b"?"), (0, True, SAY)]
    ((kind, text),) = texts(out)
    assert kind == "sealed"
    assert "1 of 8 encrypted messages not decrypted" in text
    assert session_of(out).decryption is Decryption.DECRYPTED


def test_a_wrong_tag_after_right_ones_is_damage_and_no_wrong_key() -> None:
    talk = Talk(cipher=GCM_128).begin()
    talk.sealing = True
    talk.tree().open()
    for _ in range(40):
        talk.write(ASK)
        talk.sent[-2] = 0, talk.sent[-2][1][:-1] + bytes([talk.sent[-2][1][-1] ^ 1])
    out = run(stream(talk.write(SAY).sent), WITH_KEY)
    assert stated(out) == [(0, True, b"?"), (0, True, SAY)]
    (problem,) = only(out, Problem)
    assert "40 of 86 encrypted messages" in problem.text
    assert "its authentication tag is wrong, though the session's key opened others" in problem.text
    assert len(problem.frames) == 32


def test_an_encrypted_message_names_a_session() -> None:
    talk = Talk(cipher=GCM_128).begin().tree().open()
    assert talk.keys is not None
    message = smb2(WRITE, write_request(ASK), 50)
    talk.raw(0, seal(message, talk.keys.client_to_server, GCM_128, b"nonce", session=0))
    out = run(stream(talk.write(SAY).sent), WITH_KEY)
    assert stated(out) == [(0, True, b"?"), (0, True, SAY)]
    assert texts(out) == [("malformed", "transform.session_id at byte 44: an encrypted message without a session")]


def test_what_is_encrypted_without_being_smb_says_nothing_of_who_is_who() -> None:
    """Neither port shows the server, so both keys are tried until a message shows it."""
    talk = Talk(cipher=GCM_128).begin()
    assert talk.keys is not None
    talk.sealing = True
    begun = len(talk.sent)
    talk.raw(0, b"no SMB at all, and longer than a header of 64 bytes, which has to be told from it")
    talk.transceive(ASK, SAY)
    line = f"{SESSION_ID:x},,{talk.keys.client_to_server.hex()},{talk.keys.server_to_client.hex()}"
    connection = Connection(0, CLIENT, Endpoint(SERVER.ip, 4450), False)
    out = run(stream(talk.sent[begun:], connection), Keyring.build(smb_session_keys=[line]))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    assert texts(out) == [("malformed", "header.protocol_id at byte 0: no SMB header")]


def test_a_second_connection_taken_up_in_its_middle_decrypts_with_the_keys_of_the_session() -> None:
    server = Endpoint(SERVER.ip, 4450)
    first = Talk(cipher=GCM_128, connection=Connection(0, CLIENT, server, True)).begin()
    first.sealing = True
    first.tree().open().write(ASK)
    other = Connection(1, Endpoint(CLIENT.ip, 50001), server, False)
    second = Talk(cipher=GCM_128, connection=other, keys=first.keys, sealing=True).transceive(SAY, ASK)
    out = run(stream(first.sent, first.connection, closed=False) + stream(second.sent, other), WITH_KEY)
    assert stated(out) == [(0, True, ASK), (0, True, SAY), (0, False, ASK)]
    assert session_of(out).encrypted_messages == session_of(out).decrypted_messages == 8


def test_a_compressed_message_with_a_hole_is_lost_as_a_whole() -> None:
    talk = Talk().begin().tree().open()
    at = sent_so_far(talk, 0)
    message = smb2(WRITE, write_request(ASK + bytes(200)), 9)
    talk.raw(0, chained(len(message), (0, message[:-200], None), (4, struct.pack("<BBHI", 0, 0, 0, 200), None)))
    out = run(with_hole(stream(talk.write(SAY).sent), 0, at + 40, at + 50))
    assert stated(out) == [(0, True, b"?"), (0, True, SAY)]
    ((kind, text),) = texts(out)
    assert kind == "truncated"
    assert text.startswith("an SMB message from 10.0.0.2:49152 is cut")


def test_a_header_has_its_size() -> None:
    """[MS-SMB2] 2.2.1.2: StructureSize MUST be 64."""
    talk = Talk().begin().tree().open()
    message = smb2(WRITE, write_request(ASK), 50)
    talk.raw(0, message[:4] + b"\x41\0" + message[6:])
    out = run(stream(talk.write(SAY).sent))
    assert stated(out)[-1] == (0, True, SAY)
    assert texts(out) == [("malformed", "header.structure_size at byte 4: 65 is not 64")]


@pytest.mark.parametrize(("left", "field"), [(1, "write.structure_size"), (20, "file_id"), (31, "file_id")])
def test_the_field_in_which_a_message_ends_is_named(left: int, field: str) -> None:
    talk = Talk().begin().tree().open()
    talk.raw(0, smb2(WRITE, write_request(ASK), 50)[: 64 + left])
    out = run(stream(talk.write(SAY).sent))
    assert stated(out)[-1] == (0, True, SAY)
    ((kind, text),) = texts(out)
    assert kind == "truncated"
    assert text.startswith(f"{field} at byte ")


# Bounds


def test_frames_of_what_repeats_are_bounded_and_its_count_is_not() -> None:
    talk = Talk().begin()
    at = sent_so_far(talk, 0)
    for _ in range(70):
        talk.raw(0, b"\xfeSMB" + bytes(30))
    out = run(stream(talk.sent))
    (problem,) = only(out, Problem)
    assert problem.text.endswith("(70 times)")
    assert len(problem.frames) == 64
    assert at > 0


def test_opens_beyond_those_of_all_sessions_are_no_channels() -> None:
    """One session has all that may be open: of another nothing is followed, nothing made up, and it is reported once."""
    talk = Talk().begin().tree().open("winreg", b"A" * 16).open("samr", b"B" * 16)
    for _ in range(3):
        talk.raw(0, smb2(WRITE, write_request(ASK, b"C" * 16), talk.next_id, session=77))
        talk.next_id += 1
    out = run(stream(talk.write(SAY, b"A" * 16).sent), limits=Limits(opens_in_all=2))
    assert stated(out) == [(0, True, SAY)]
    assert [(kind, text) for kind, text in texts(out)] == [
        ("limit", "more than 2 files and pipes are open; others are not read")
    ]
    assert sorted(event.channel.number for event in only(out, ChannelClosed)) == [0, 1]
    assert only(out, ChannelGap) == []
