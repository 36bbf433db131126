"""SMB2 and SMB3 conversations written here, and what the layer says of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.auth.keyring import Keyring, SmbKeys
from analyzer.core.events import Event, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.results.connection import SmbSession
from analyzer.results.record import Endpoint
from analyzer.results.security import Decryption
from analyzer.transport.channel.channel_events import ChannelBatch, ChannelClosed, ChannelGap
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.smb.smb_layer import SmbLayer
from analyzer.transport.smb.trees_and_opens import may_be_dcerpc
from analyzer.transport.tcp.recognition import Recognition
from analyzer.transport.tcp.stream_events import Connection, Direction
from tests.build import auth
from tests.build.chain import through, to_channels
from tests.build.smb import (
    CCM_128,
    CCM_256,
    CLIENT,
    CREATE,
    GCM_128,
    GCM_256,
    IOCTL,
    MORE_PROCESSING,
    OVERFLOW,
    READ,
    SERVER,
    SESSION_ID,
    SESSION_KEY,
    SETUP,
    WRITE,
    Talk,
    chained,
    compound,
    create_request,
    create_response,
    framed,
    ioctl_request,
    ioctl_response,
    negotiate_response,
    noisy,
    pdu,
    read_request,
    read_response,
    seal,
    setup_request,
    setup_response,
    smb2,
    stream,
    with_hole,
    write_request,
    write_response,
)

NO_KEYS = Keyring()
WITH_KEY = Keyring.build(smb_session_keys=[f"{SESSION_ID:x},{SESSION_KEY.hex()}"])
T = TypeVar("T")
ASK, SAY = pdu(0, 1, b"what is it?"), pdu(2, 1, b"it is this")


def run(events: Iterable[Event], keyring: Keyring = NO_KEYS, limits: Limits = DEFAULTS) -> list[Event]:
    return through(to_channels(keyring, limits=limits), recognised(events))


def recognised(events: Iterable[Event]) -> list[Event]:
    """What reassembly gives out of the events of a connection."""
    out, _ = Recognition().feed(list(events))
    return out


def stated(events: Iterable[Event]) -> list[tuple[int, bool, bytes]]:
    """Channel, direction and bytes; neighbouring data of one channel and direction are one, a gap is `?`."""
    out: list[tuple[int, bool, bytes]] = []
    for event in events:
        if isinstance(event, ChannelGap):
            out.append((event.channel.number, event.from_client, b"?" * (event.length or 1)))
        elif isinstance(event, ChannelBatch):
            out.append((event.channel.number, event.from_client, event.data.data))
    return out


def only(events: Iterable[Event], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def session_of(events: Iterable[Event]) -> SmbSession:
    (session,) = only(events, SmbSession)
    return session


def test_a_related_compound_writes_before_its_file_id_is_known() -> None:
    talk = Talk().begin().tree()
    any_file = b"\xff" * 16
    talk.raw(
        0,
        compound(
            smb2(CREATE, create_request("winreg"), 10),
            smb2(WRITE, write_request(ASK, any_file), 11, flags=4, session=2**64 - 1, tree=2**32 - 1),
            smb2(READ, read_request(any_file), 12, flags=4, session=2**64 - 1, tree=2**32 - 1),
        ),
    )
    talk.raw(
        1,
        compound(
            smb2(CREATE, create_response(), 10, response=True),
            smb2(WRITE, write_response(len(ASK)), 11, response=True, flags=4),
            smb2(READ, read_response(SAY), 12, response=True, flags=4),
        ),
    )
    assert stated(run(stream(talk.sent))) == [(0, True, ASK), (0, False, SAY)]


@pytest.mark.parametrize(("waiting", "is_paired"), [(4, True), (5, False), (7, False)])
def test_the_oldest_request_is_forgotten_where_more_wait_than_the_limit(waiting: int, is_paired: bool) -> None:
    talk = Talk().begin().tree().open().open("samr", b"S" * 16)
    first = talk.ask(READ, read_request(b"S" * 16))
    for _ in range(waiting - 1):
        talk.ask(READ, read_request())
    talk.answer(first, READ, read_response(SAY))
    out = run(stream(talk.sent), limits=Limits(requests=4))
    assert ((1, False, SAY) in stated(out)) is is_paired
    assert [problem.text for problem in only(out, Problem) if problem.kind == "limit"] == (
        [] if is_paired else ["more than 4 requests without an answer; the oldest are forgotten"]
    )


def test_other_fsctls_are_not_data() -> None:
    talk = Talk().begin().tree().open()
    number = talk.ask(IOCTL, ioctl_request(ASK, code=0x00140204))
    talk.answer(number, IOCTL, ioctl_response(SAY, code=0x00140204))
    assert stated(run(stream(talk.sent))) == []


@pytest.mark.parametrize(
    ("dialect", "cipher"),
    [(0x0300, CCM_128), (0x0302, CCM_128), (0x0311, CCM_128), (0x0311, GCM_128), (0x0311, CCM_256), (0x0311, GCM_256)],
)
def test_encryption_opens_with_the_session_key(dialect: int, cipher: int) -> None:
    key = bytes(range(32)) if cipher in (CCM_256, GCM_256) else SESSION_KEY
    talk = Talk(dialect, cipher, session_key=key).begin().sealed()
    talk.tree().open().transceive(ASK, SAY).close()
    keyring = Keyring.build(smb_session_keys=[f"{SESSION_ID:x},{key.hex()}"])
    out = run(stream(talk.sent), keyring)
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    first = only(out, ChannelBatch)[0]
    assert first.smb is not None
    assert first.smb.encrypted
    assert first.data.steps == ("smb3-decrypt",)
    session = session_of(out)
    assert session.decryption is Decryption.DECRYPTED
    assert (session.encrypted_messages, session.decrypted_messages) == (8, 8)
    assert session.cipher == {1: "AES-128-CCM", 2: "AES-128-GCM", 3: "AES-256-CCM", 4: "AES-256-GCM"}[cipher]


def test_encryption_opens_with_keys_given_for_each_direction_even_without_the_setup() -> None:
    talk = Talk(cipher=GCM_128).begin().sealed()
    begun = len(talk.sent)
    talk.tree().open().transceive(ASK, SAY)
    assert talk.keys is not None
    line = f"{SESSION_ID:x},,{talk.keys.server_to_client.hex()},{talk.keys.client_to_server.hex()}"
    connection = Connection(0, Endpoint("10.0.0.2", 49152), Endpoint("10.0.0.1", 445), False)
    out = run(stream(talk.sent[begun:], connection), Keyring.build(smb_session_keys=[line]))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    assert session_of(out).cipher == "AES-128-GCM"


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "without-setup"])
@pytest.mark.parametrize("cipher", [CCM_128, GCM_128, CCM_256, GCM_256])
def test_keys_of_the_directions_open_in_either_order(cipher: int, whole: bool) -> None:
    talk = Talk(cipher=cipher, session_key=SESSION_KEY).begin().sealed()
    begun = 0 if whole else len(talk.sent)
    talk.tree().open().transceive(ASK, SAY)
    assert talk.keys is not None
    ends = talk.keys.server_to_client.hex(), talk.keys.client_to_server.hex()
    connection = Connection(0, Endpoint("10.0.0.2", 49152), Endpoint("10.0.0.1", 445), whole)
    for order in (ends, ends[::-1]):
        line = f'{SESSION_ID.to_bytes(8, "little").hex()},"",{",".join(order)}'
        out = run(stream(talk.sent[begun:], connection), Keyring.build(smb_session_keys=[line]))
        assert stated(out) == [(0, True, ASK), (0, False, SAY)]
        assert only(out, Problem) == []


def test_the_key_of_one_direction_opens_that_direction() -> None:
    talk = Talk(cipher=GCM_256, session_key=SESSION_KEY).begin().sealed().tree().open().transceive(ASK, SAY)
    assert talk.keys is not None
    line = f"{SESSION_ID:x},,{talk.keys.client_to_server.hex()}"
    out = run(stream(talk.sent), Keyring.build(smb_session_keys=[line]))
    assert [(client, data) for _, client, data in stated(out)] == [(True, ASK), (False, b"?")]
    (problem,) = (problem for problem in only(out, Problem) if problem.kind == "sealed")
    assert "3 of 6 encrypted messages" in problem.text
    assert "one direction only" in problem.text


def test_what_stays_sealed_is_reported_once_with_its_reason() -> None:
    conversation = auth.ntlm_handshake("perfmon", "LAB", "secret")
    talk = (
        Talk(cipher=GCM_128, session_key=conversation.session_key)
        .begin(conversation.tokens)
        .sealed()
        .tree()
        .open()
        .transceive(ASK, SAY)
    )

    out = run(stream(talk.sent))
    (problem,) = only(out, Problem)
    assert problem.kind == "sealed"
    assert "6 of 6 encrypted messages" in problem.text
    assert "LAB\\perfmon" in problem.text
    assert "password or NT hash" in problem.text
    assert session_of(out).decryption is Decryption.NO_KEY

    out = run(stream(talk.sent), Keyring.build(passwords=[("LAB\\perfmon", "wrong")]))
    assert session_of(out).decryption is Decryption.WRONG_KEY
    assert len(only(out, Problem)) == 1

    out = run(stream(talk.sent[4:]))
    assert session_of(out).decryption is Decryption.NO_HANDSHAKE

    out = run(stream(talk.sent), Keyring.build(passwords=[("LAB\\perfmon", "secret")]))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    assert only(out, Problem) == []
    channel = only(out, ChannelBatch)[0].channel
    assert channel.identity is not None
    assert channel.identity.account == "LAB\\perfmon"
    assert session_of(out).reason is None


def test_a_given_key_that_does_not_fit_is_called_wrong() -> None:
    talk = Talk(cipher=GCM_128).begin().sealed().tree()
    keyring = Keyring.build(smb_session_keys=[f"{SESSION_ID:x},{bytes(16).hex()}"])
    assert session_of(run(stream(talk.sent), keyring)).decryption is Decryption.WRONG_KEY


def test_without_the_negotiation_a_3_1_1_key_cannot_be_derived() -> None:
    talk = Talk(cipher=GCM_128).begin().sealed().tree().open().transceive(ASK, SAY)
    whole = stream(talk.sent)
    holed = with_hole(whole, 1, 100, 120)
    out = run(holed, WITH_KEY)
    assert stated(out) == []
    assert session_of(out).decryption is Decryption.BYTES_MISSING


@pytest.mark.parametrize(
    ("dialect", "signing"), [(0x0202, None), (0x0300, None), (0x0311, None), (0x0311, 2), (0x0311, 0)]
)
def test_signatures_are_checked_where_a_key_allows(dialect: int, signing: int | None) -> None:
    talk = Talk(dialect, signing=signing).begin().tree().open()
    talk.transceive(ASK, SAY, signed=True)
    out = run(stream(talk.sent), WITH_KEY)
    assert [item.smb and item.smb.signature_ok for item in only(out, ChannelBatch)] == [True, True]
    session = session_of(out)
    assert (session.signed_messages, session.verified_messages) == (3, 3)
    assert [item.smb and item.smb.signature_ok for item in only(run(stream(talk.sent)), ChannelBatch)] == [None, None]


def test_a_wrong_signature_is_noted_and_the_data_still_read() -> None:
    talk = Talk(0x0210).begin().tree().open().transceive(ASK, SAY, signed=True)
    direction, message = talk.sent[-2]
    talk.sent[-2] = direction, message[:-1] + bytes([message[-1] ^ 1])
    out = run(stream(talk.sent), WITH_KEY)
    assert [item.smb and item.smb.signature_ok for item in only(out, ChannelBatch)] == [False, True]
    (problem,) = only(out, Problem)
    assert problem.kind == "note"
    assert "1 message with a wrong signature" in problem.text


def test_a_second_channel_signs_with_its_own_key_and_shares_the_session() -> None:
    conversations = [auth.ntlm_handshake("perfmon", "LAB", "secret", seed=seed) for seed in (1, 2)]
    first = Talk(cipher=GCM_128, session_key=conversations[0].session_key).begin(conversations[0].tokens).tree().open()
    other = Connection(1, Endpoint("10.0.1.2", 50000), Endpoint("10.0.1.1", 445), True)
    second = Talk(cipher=GCM_128, session_key=conversations[1].session_key, connection=other)
    second.begin(conversations[1].tokens, binding=True).transceive(ASK, SAY, signed=True)
    second.sealing, second.keys = True, first.keys
    second.transceive(SAY, ASK)
    events = stream(first.sent, closed=False) + stream(second.sent, other)
    out = run(events, Keyring.build(passwords=[("LAB\\perfmon", "secret")]))
    assert stated(out) == [(0, True, ASK), (0, False, SAY), (0, True, SAY), (0, False, ASK)]
    session = session_of(out)
    assert (session.signed_messages, session.verified_messages) == (4, 4)
    assert (session.encrypted_messages, session.decrypted_messages) == (2, 2)
    # What a message came over is stated by the message: the open is of the first connection, its use of the other.
    assert {event.channel.client.ip for event in only(out, ChannelBatch)} == {"10.0.0.2"}
    assert {(str(event.smb.client), str(event.smb.server)) for event in only(out, ChannelBatch) if event.smb} == {
        ("10.0.1.2:50000", "10.0.1.1:445")
    }


@pytest.mark.parametrize("with_request", [True, False])
def test_an_answer_may_name_the_volatile_half_of_its_open_alone(with_request: bool) -> None:
    """As a server answered in a public capture: FSCTL_PIPE_TRANSCEIVE with a persistent FileId of zero."""
    file_id = b"\xe0\0\0\0\0\0\0\0" + b"VOLATILE"
    talk = Talk().begin().tree().open(file_id=file_id)
    number = talk.ask(IOCTL, ioctl_request(ASK, file_id))
    talk.answer(number if with_request else number + 7, IOCTL, ioctl_response(SAY, bytes(8) + b"VOLATILE"))
    assert stated(run(stream(talk.sent))) == [(0, True, ASK), (0, False, SAY)]


def test_renewing_a_session_keeps_its_keys() -> None:
    """[MS-SMB2] 3.3.5.5.3: a SESSION_SETUP on a valid session authenticates anew, the session's keys stay."""
    first, second = (auth.ntlm_handshake("perfmon", "LAB", "secret", seed=seed) for seed in (1, 2))
    talk = Talk(cipher=GCM_128, session_key=first.session_key).begin(first.tokens).tree().open().sealed()
    for token, reply, status in ((second.negotiate, second.challenge, 0xC0000016), (second.authenticate, b"", 0)):
        talk.answer(talk.ask(SETUP, setup_request(token)), SETUP, setup_response(reply), status=status)
    talk.transceive(ASK, SAY)
    out = run(stream(talk.sent), Keyring.build(passwords=[("LAB\\perfmon", "secret")]))
    assert stated(out) == [(0, True, ASK), (0, False, SAY)]
    assert session_of(out).encrypted_messages == session_of(out).decrypted_messages == 6


def test_names_that_are_not_text_do_not_leave_as_half_characters() -> None:
    talk = Talk().begin().tree("\\\\FILES\\IPC$").open("\ud800winreg")
    (pipe,) = session_of(run(stream(talk.sent))).pipes
    assert pipe.encode().decode() == pipe


def test_a_compressed_message_is_opened() -> None:
    talk = Talk().begin().tree().open()
    message = smb2(WRITE, write_request(ASK + bytes(200)), 9)
    packed = chained(len(message), (0, message[:-200], None), (4, struct.pack("<BBHI", 0, 0, 0, 200), None))
    talk.raw(0, packed)
    out = run(stream(talk.sent))
    assert stated(out) == [(0, True, ASK + bytes(200))]
    (data,) = only(out, ChannelBatch)
    assert data.smb is not None
    assert data.smb.compressed


def test_many_small_messages_that_grow_are_a_bomb_too() -> None:
    talk = Talk().begin().tree().open()
    message = smb2(WRITE, write_request(ASK + bytes(100_000)), 9)
    packed = chained(len(message), (0, message[:-100_000], None), (4, struct.pack("<BBHI", 0, 0, 0, 100_000), None))
    for _ in range(4):
        talk.raw(0, packed)
    out = run(stream(talk.sent), limits=Limits(smb_decompressed_free=150_000))
    (problem,) = only(out, Problem)
    assert problem.kind == "limit"
    assert "(3 times)" in problem.text
    assert stated(out) == [(0, True, ASK + bytes(100_000)), (0, True, b"?")]


def test_a_refused_session_is_reported_with_its_status() -> None:
    talk = Talk()
    talk.begin()
    direction, last = talk.sent[-1]
    talk.sent[-1] = direction, last[:12] + struct.pack("<I", 0xC000006D) + last[16:]
    session = session_of(run(stream(talk.sent)))
    assert session.refused == 0xC000006D
    assert session.reason == "the server refused the session: STATUS_LOGON_FAILURE"


def test_an_anonymous_logon_is_a_state_of_its_own() -> None:
    conversation = auth.ntlm_handshake(anonymous=True)
    talk = Talk().begin(conversation.tokens)
    identity = session_of(run(stream(talk.sent))).identity
    assert identity.is_anonymous
    assert identity.account == identity.who == "NT AUTHORITY\\ANONYMOUS LOGON"
    assert session_of(run(stream(Talk().begin().sent))).identity.who == "unknown user"


def test_clients_that_share_a_session_number_are_two_where_no_setup_binds_them() -> None:
    """Two hosts behind one image have the same client GUID, and servers number their sessions from the same start."""
    events: list[Event] = []
    for number, ip in enumerate(("10.0.0.2", "10.0.0.3")):
        talk = Talk().begin().tree().open().transceive(ASK, SAY)
        connection = Connection(number, Endpoint(ip, 49152), Endpoint("10.0.0.1", 445), True)
        # The setup itself was captured of the first alone.
        events += stream(talk.sent if not number else talk.sent[6:], connection, closed=False)
    out = run(events)
    assert {data.channel.client.ip for data in only(out, ChannelBatch)} == {"10.0.0.2", "10.0.0.3"}
    assert {session.client.ip for session in only(out, SmbSession)} == {"10.0.0.2", "10.0.0.3"}


# Damage


def texts(events: Iterable[Event]) -> list[tuple[str, str]]:
    return [(problem.kind, problem.text) for problem in only(events, Problem)]


WRITING = smb2(WRITE, write_request(ASK), 50)
ANSWER = smb2(IOCTL, ioctl_response(SAY), 50, response=True)
BOMB = chained(8, (4, struct.pack("<BBHI", 0, 0, 0, 0xFFFFFFFF), None))


@pytest.mark.parametrize(
    ("message", "problems"),
    [
        (
            WRITING[:68] + b"\xff\xff\xff\x7f" + WRITING[72:],
            "malformed buffer: 2147483647 bytes at 112 lie outside of the 139-byte message",
        ),
        (
            ANSWER[:100] + b"\xff\xff\xff\x7f" + ANSWER[104:],
            "malformed buffer: 2147483647 bytes at 112 lie outside of the 138-byte message",
        ),
        (
            smb2(READ, read_request(), 9, next_command=1),
            "malformed header.next_command at byte 20: 1 leads out of the compound",
        ),
        (
            smb2(READ, read_request(), 9, next_command=64),
            "truncated read.fixed at byte 64: 16 bytes wanted, 0 left; header at byte 0: 64 bytes wanted, 49 there",
        ),
        (
            smb2(READ, read_request(), 9, next_command=0xFFFFFFF0),
            "malformed header.next_command at byte 20: 4294967280 leads out of the compound",
        ),
        (
            compound(*[smb2(0x0D, b"\x04\0\0\0", 20)] * 3000),
            "limit more than 1024 operations in one compound; the rest is not read",
        ),
        (BOMB, "limit pattern.repetitions: 4294967295 is more than the message promised"),
        # [MS-SMB2] 2.2.1.2: StructureSize MUST be 64.
        (WRITING[:4] + b"\x41\0" + WRITING[6:], "malformed header.structure_size at byte 4: 65 is not 64"),
        (WRITING[: 64 + 1], "truncated write.structure_size at byte 64: 2 bytes wanted, 1 left"),
        (WRITING[: 64 + 20], "truncated file_id at byte 80: 16 bytes wanted, 4 left"),
        (WRITING[: 64 + 31], "truncated file_id at byte 80: 16 bytes wanted, 15 left"),
    ],
    ids=[
        "data",
        "answer",
        "next-1",
        "next-64",
        "next-far",
        "endless",
        "bomb",
        "header-size",
        "cut-1",
        "cut-20",
        "cut-31",
    ],
)
def test_a_damaged_message_costs_only_itself_and_its_damage_is_named(message: bytes, problems: str) -> None:
    talk = Talk().begin().tree().open()
    talk.raw(1 if message[16] & 1 and message[:4] == b"\xfeSMB" else 0, message)
    out = run(stream(talk.write(SAY).sent))
    # What cannot be opened may have had data; where the damage is inside, it is known that none were lost.
    gap = [(0, True, b"?")] if message == BOMB or "structure_size at byte 4:" in problems else []
    assert stated(out) == [*gap, (0, True, SAY)]
    (kind,) = {kind for kind, _ in texts(out)}
    assert f"{kind} {'; '.join(text for _, text in texts(out))}" == problems


def good_talk() -> Talk:
    talk = Talk(cipher=GCM_128).begin().tree().open().write(ASK).read(SAY, status=OVERFLOW)
    return talk.transceive(ASK, SAY, signed=True).sealed().transceive(SAY, ASK).close()


GOOD = good_talk().sent


def comparable(events: Iterable[Event]) -> list[object]:
    """Everything but where the chunks were cut: origins as extents."""
    out: list[object] = []
    for event in events:
        if isinstance(event, ChannelBatch):
            extents = event.data.origin(0, len(event.data))
            out.append((event.channel, event.from_client, event.data.data, event.smb, event.fresh, extents))
        else:
            out.append(event)
    return out


@settings(max_examples=40)
@given(st.lists(st.integers(1, 90), min_size=1, max_size=20))
def test_cutting_never_changes_the_events(cuts: list[int]) -> None:
    assert comparable(run(stream(GOOD, cuts=cuts), WITH_KEY)) == comparable(run(stream(GOOD), WITH_KEY))


def test_origins_lead_back_to_the_same_bytes() -> None:
    frames = {number: bytes(54) + data for number, (_, data) in enumerate(GOOD, 1)}
    for item in only(run(stream(GOOD, cuts=[7, 31, 50]), WITH_KEY), ChannelBatch):
        found = b"".join(frames[e.frame][e.start : e.start + e.length] for e in item.data.extents())
        if item.smb is not None and item.smb.encrypted:
            assert len(found) == len(item.data)
        else:
            assert found == item.data.data


@settings(max_examples=150)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 400), st.binary(min_size=1, max_size=30), st.booleans())
def test_random_bytes_in_a_good_message_give_events_and_nothing_else(
    index: int, at: int, noise: bytes, insert: bool
) -> None:
    sent = noisy(GOOD, index, at, noise, insert=insert)
    out = run(stream(sent), WITH_KEY)
    assert all(isinstance(event, Event) for event in out)


@settings(max_examples=80)
@given(st.integers(0, 1), st.integers(0, 900), st.integers(1, 400))
def test_a_hole_anywhere_never_makes_bytes_up(direction: int, start: int, length: int) -> None:
    whole: dict[tuple[int, bool], bytes] = {}
    for number, client, data in stated(run(stream(GOOD), WITH_KEY)):
        whole[number, client] = whole.get((number, client), b"") + data
    out = run(with_hole(stream(GOOD), 1 if direction else 0, start, start + length), WITH_KEY)
    everything = b"|".join(whole.values())
    for item in only(out, ChannelBatch):
        assert item.data.data in everything


def test_sessions_of_a_connection_are_bounded() -> None:
    talk = Talk().begin()
    for number in range(10):
        talk.ask(READ, read_request(), session=100 + number, signed=True)
    out = run(stream(talk.sent), limits=Limits(sessions=3))
    assert len(only(out, SmbSession)) == 11
    assert "limit" in {problem.kind for problem in only(out, Problem)}


def test_events_of_others_pass_and_unknown_kinds_of_messages_do_not_stop_us() -> None:
    note = Problem("note", "tcp", (1,), "passing by")
    assert run([note]) == [note]
    talk = Talk().begin().tree().open()
    talk.ask(0x40, b"\x04\0\0\0")
    assert stated(run(stream(talk.write(ASK).sent))) == [(0, True, ASK)]


def test_dialects_negotiated_from_smb1() -> None:
    offer = b"\xffSMB\x72" + bytes(27) + b"\0" + struct.pack("<H", 11) + b"\x02SMB 2.???\0"
    answer = smb2(0, negotiate_response(0x02FF), 0, response=True, session=0)
    talk = Talk().begin().tree().open().write(ASK)
    sent: list[tuple[Direction, bytes]] = [(0, framed(offer)), (1, framed(answer)), *talk.sent]
    out = run(stream(sent))
    assert session_of(out).dialect == "3.1.1"


def test_opens_of_all_sessions_together_are_bounded_and_it_is_reported() -> None:
    talk = Talk().begin().tree()
    for number in range(8):
        talk.open("winreg", number.to_bytes(16, "little"))
    events = run(stream(talk.sent, closed=False), limits=Limits(opens_in_all=5))
    assert [event.channel.number for event in only(events, ChannelClosed)][:3] == [0, 1, 2]
    (problem,) = (event for event in only(events, Problem) if event.kind == "limit")
    assert problem.text.startswith("more than 5 files and pipes are open; others count as closed")


def test_what_is_open_is_counted_down_again() -> None:
    talk = Talk().begin().tree()
    for number in range(4):
        talk.open("winreg", number.to_bytes(16, "little"))
    talk.close(bytes(16))
    layers = to_channels(NO_KEYS)
    smb_layer = layers[0]
    assert isinstance(smb_layer, SmbLayer)
    for event in recognised(stream(talk.sent, closed=False)):
        list(smb_layer.feed(event))
    assert smb_layer._shared.opens == 3
    list(smb_layer.finish())
    assert smb_layer._shared.opens == 0


def test_compressed_messages_of_all_connections_count_together() -> None:
    body = smb2(READ, read_request(), 9)
    message = chained(1000 + len(body), (0, body, None), (4, struct.pack("<BBHI", 0, 0, 0, 1000), None))
    events: list[Event] = []
    for number in range(4):
        talk = Talk(
            connection=Connection(number, Endpoint("10.0.0.1", 50000 + number), Endpoint("10.0.0.2", 445), True)
        )
        talk.begin()
        talk.raw(0, message)
        events += stream(talk.sent, talk.connection)
    limited = [
        event
        for event in only(run(events, limits=Limits(smb_decompressed_free=2300, smb_ratio=1)), Problem)
        if event.kind == "limit"
    ]
    assert len(limited) == 2
    assert "compressed messages of the capture grow" in limited[0].text


# What SMB2 has and few captures show: refusals, ids that are left out, what is cut inside a header, and bounds that are met.

ANY_FILE = b"\xff" * 16
NO_SESSION = 2**64 - 1
ACCESS_DENIED, PIPE_BROKEN, NOT_SUPPORTED, LOGON_FAILURE = 0xC0000022, 0xC000014B, 0xC00000BB, 0xC000006D
ERROR = struct.pack("<HBBI", 9, 0, 0, 0) + b"\0"


def sent_so_far(talk: Talk, direction: Direction) -> int:
    return sum(len(message) for way, message in talk.sent if way == direction)


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


def test_a_signature_of_a_channel_whose_key_is_not_known_is_not_judged() -> None:
    keyring = Keyring(smb_keys=[SmbKeys(SESSION_ID, session_key=SESSION_KEY)])
    first = Talk().begin().tree().open().transceive(ASK, SAY, signed=True)
    other = Connection(1, Endpoint("10.0.1.2", 50000), Endpoint("10.0.1.1", 445), True)
    second = Talk(session_key=b"c" * 16, connection=other).begin(binding=True).transceive(SAY, ASK, signed=True)
    out = run(stream(first.sent, closed=False) + stream(second.sent, other), keyring=keyring)
    assert not only(out, Problem)
    session = session_of(out)
    # Of the first connection alone: the last answer of the setup, and the transaction.
    assert (session.signed_messages, session.verified_messages) == (6, 3)


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
    talk = Talk().begin(legs.tokens)
    assert session_of(run(stream(talk.sent[:-1]))).identity.account == "LAB\\perfmon"


@pytest.mark.parametrize(
    ("direction", "missing"), [(0, "the NTLM authenticate message is not"), (1, "the NTLM challenge message is not")]
)
def test_a_hole_in_a_token_is_no_wrong_password(direction: Direction, missing: str) -> None:
    legs = auth.ntlm_handshake("perfmon", "LAB", "secret")
    talk = Talk(cipher=GCM_128, session_key=legs.session_key).begin(legs.tokens).sealed()
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


def test_the_frames_named_of_a_session_are_bounded() -> None:
    talk = Talk().begin()
    for _ in range(40):
        talk.answer(talk.ask(SETUP, setup_request()), SETUP, setup_response())
    assert len(session_of(run(stream(talk.sent))).frames) == 64


def test_the_log_of_keys_gets_each_session_once_and_no_channel() -> None:
    legs = auth.ntlm_handshake("perfmon", "LAB", "secret")
    first = Talk(session_key=legs.session_key).begin(legs.tokens)
    other = Connection(1, Endpoint("10.0.1.2", 50000), Endpoint("10.0.1.1", 445), True)
    second = Talk(session_key=legs.session_key, connection=other).begin(legs.tokens, binding=True)
    logged: list[tuple[int, bytes]] = []
    layers = to_channels(
        Keyring.build(passwords=[("LAB\\perfmon", "secret")]), key_log=lambda number, key: logged.append((number, key))
    )
    through(layers, recognised(stream(first.sent, closed=False) + stream(second.sent, other)))
    assert logged == [(SESSION_ID, legs.session_key)]


def test_the_log_of_messages_gets_them_as_sent_and_as_read() -> None:
    talk = Talk(cipher=GCM_128).begin().sealed().tree()
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


# What is cut, and what is damaged


def test_a_wrong_tag_after_right_ones_is_damage_and_no_wrong_key() -> None:
    talk = Talk(cipher=GCM_128).begin().sealed().tree().open()
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
    assert texts(out) == [
        ("malformed", "transform.session_id at byte 44: an encrypted message of no session, its SessionId is 0")
    ]


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
    first.sealed().tree().open().write(ASK)
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


# Bounds


def test_frames_of_what_repeats_are_bounded_and_its_count_is_not() -> None:
    talk = Talk().begin()
    for _ in range(70):
        talk.raw(0, b"\xfeSMB" + bytes(30))
    out = run(stream(talk.sent))
    (problem,) = only(out, Problem)
    assert problem.text.endswith("(70 times)")
    assert len(problem.frames) == 64


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
