"""SMB2 and SMB3 conversations written here, and what the layer says of them: `smb2_reader.txt` has it, and each name is a
promise."""

import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.auth.keyring import Keyring, SmbKeys
from analyzer.core.events import Event, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.results.connection import SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.channel.channels import ChannelBatch
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.smb.smb_layer import SmbLayer
from analyzer.transport.smb.trees_and_opens import may_be_dcerpc
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
from tests.transport.smb.run import ASK, NO_KEYS, SAY, WITH_KEY, comparable, only, recognised, run, said, stated
from tests.transport.smb.test_smb1_reader import GOOD as GOOD_SMB1
from tests.written import Outcomes

ANY_FILE = b"\xff" * 16
NOTHING: dict[str, Any] = {"flags": 4, "session": 2**64 - 1, "tree": 2**32 - 1}
PERFMON = Keyring.build(passwords=[("LAB\\perfmon", "secret")])
LEGS = [auth.ntlm_handshake("perfmon", "LAB", "secret", seed=seed) for seed in (1, 2)]
NOBODY = auth.ntlm_handshake(anonymous=True)
OTHER = Connection(1, Endpoint("10.0.1.2", 50000), Endpoint("10.0.1.1", 445), True)
Said = tuple[Direction, bytes]


def keys(*parts: bytes | str) -> Keyring:
    """Keys of the session: its own, then those of the directions."""
    given = [part if isinstance(part, str) else part.hex() for part in parts]
    return Keyring.build(smb_session_keys=[",".join([f"{SESSION_ID:x}", *given])])


def usual(dialect: int = 0x0311, cipher: int | None = None, **more: Any) -> Talk:
    return Talk(dialect, cipher, **more).begin().tree().open()


def of_account(legs: auth.NtlmConversation = LEGS[0], connection: Connection | None = None, **options: bool) -> Talk:
    """A session that a password opens."""
    more = {} if connection is None else {"connection": connection}
    return Talk(cipher=GCM_128, session_key=legs.session_key, **more).begin(legs.tokens, **options)


def ends_of(talk: Talk) -> tuple[bytes, bytes]:
    return talk.keys.client_to_server, talk.keys.server_to_client


def with_raw(talk: Talk, *messages: Said) -> Talk:
    for direction, message in messages:
        talk.raw(direction, message)
    return talk


def changed(talk: Talk, at: int, change: Callable[[bytes], bytes]) -> Talk:
    direction, message = talk.sent[at]
    talk.sent[at] = direction, change(message)
    return talk


def of_another_session(message: bytes) -> bytes:
    """A framed message with a wrong bit in its SessionId."""
    return message[:44] + bytes([message[44] ^ 0x40]) + message[45:]


def last_bit(message: bytes) -> bytes:
    return message[:-1] + bytes([message[-1] ^ 1])


def heard(*talks: Talk, keyring: Keyring = NO_KEYS, after: int = 0, **limits: int) -> list[Event]:
    """What is said of connections one after another; of the first, from a message on."""
    events: list[Event] = []
    for at, talk in enumerate(talks):
        sent = talk.sent if at else talk.sent[after:]
        events += stream(sent, talk.connection, closed=talk is talks[-1])
    return run(events, keyring, Limits(**limits) if limits else DEFAULTS)


def holed(talk: Talk, direction: Direction, start: int, stop: int, keyring: Keyring = NO_KEYS) -> list[Event]:
    return run(with_hole(stream(talk.sent), direction, start, stop), keyring)


def related(first: bytes, answer: bytes, parts: Iterable[tuple[int, bytes, bytes]], **fields: Any) -> Talk:
    """A compound whose first operation names what the others leave out, and its answer."""
    asked, answers = [first], [answer]
    for number, (command, request, response) in enumerate(parts, 21):
        asked.append(smb2(command, request, number, **NOTHING))
        answers.append(smb2(command, response, number, response=True, **{"flags": 4, **fields}))
    return with_raw(Talk().begin().tree().open(), (0, compound(*asked)), (1, compound(*answers)))


WRITING, READ_IT = (WRITE, write_request(ASK, ANY_FILE), write_response(len(ASK))), read_request(ANY_FILE)
TRANSACTING = IOCTL, ioctl_request(ASK, ANY_FILE), ioctl_response(SAY, ANY_FILE)
CREATING = smb2(CREATE, create_request("samr"), 20), smb2(CREATE, create_response(b"S" * 16), 20, response=True)
ASKING = smb2(WRITE, write_request(ASK), 20), smb2(WRITE, write_response(len(ASK)), 20, response=True)


def waiting(count: int) -> Talk:
    """Two pipes, and the answer to the first of so many requests."""
    talk = usual().open("samr", b"S" * 16)
    first = talk.ask(READ, read_request(b"S" * 16))
    for _ in range(count - 1):
        talk.ask(READ, read_request())
    talk.answer(first, READ, read_response(SAY))
    return talk


def other_fsctl() -> Talk:
    talk = usual()
    number = talk.ask(IOCTL, ioctl_request(ASK, code=0x00140204))
    talk.answer(number, IOCTL, ioctl_response(SAY, code=0x00140204))
    return talk


def sealed(dialect: int, cipher: int) -> list[Event]:
    key = bytes(range(32)) if cipher in (CCM_256, GCM_256) else SESSION_KEY
    talk = Talk(dialect, cipher, session_key=key).begin().sealed()
    return heard(talk.tree().open().transceive(ASK, SAY).close(), keyring=keys(key))


def asked_of_account() -> Talk:
    return of_account().sealed().tree().open().transceive(ASK, SAY)


def two_channels() -> list[Event]:
    first, second = of_account().tree().open(), of_account(LEGS[1], OTHER, binding=True)
    second.transceive(ASK, SAY, signed=True)
    second.sealing, second.keys = True, first.keys
    return heard(first, second.transceive(SAY, ASK), keyring=PERFMON)


def volatile(*, with_request: bool) -> Talk:
    """As a server answered in a public capture: FSCTL_PIPE_TRANSCEIVE with a persistent FileId of zero."""
    file_id = b"\xe0\0\0\0\0\0\0\0" + b"VOLATILE"
    talk = Talk().begin().tree().open(file_id=file_id)
    number = talk.ask(IOCTL, ioctl_request(ASK, file_id))
    talk.answer(number if with_request else number + 7, IOCTL, ioctl_response(SAY, bytes(8) + b"VOLATILE"))
    return talk


def renewed() -> Talk:
    talk, second = of_account().tree().open().sealed(), LEGS[1]
    for token, reply, status in ((second.negotiate, second.challenge, 0xC0000016), (second.authenticate, b"", 0)):
        talk.answer(talk.ask(SETUP, setup_request(token)), SETUP, setup_response(reply), status=status)
    return talk.transceive(ASK, SAY)


def packed(fill: int) -> bytes:
    """A WRITE whose last bytes are said to be repeated."""
    message = smb2(WRITE, write_request(ASK + bytes(fill)), 9)
    return chained(len(message), (0, message[:-fill], None), (4, struct.pack("<BBHI", 0, 0, 0, fill), None))


def alike_clients() -> list[Event]:
    """Two hosts behind one image have the same client GUID, and servers number their sessions from the same start."""
    events: list[Event] = []
    for number, ip in enumerate(("10.0.0.2", "10.0.0.3")):
        connection = Connection(number, Endpoint(ip, 49152), Endpoint("10.0.0.1", 445), True)
        # The setup itself was captured of the first alone.
        events += stream(usual().transceive(ASK, SAY).sent[6 if number else 0 :], connection, closed=False)
    return run(events)


def asked_many(numbers: Iterable[int], command: int, body: bytes, talk: Talk | None = None, **options: bool) -> Talk:
    """A request of each session."""
    talk = talk or Talk().begin()
    for number in numbers:
        talk.ask(command, body, session=number, **options)
    return talk


def from_smb1() -> Talk:
    offer = b"\xffSMB\x72" + bytes(27) + b"\0" + struct.pack("<H", 11) + b"\x02SMB 2.???\0"
    talk = usual().write(ASK)
    talk.sent[:0] = [(0, framed(offer)), (1, framed(smb2(0, negotiate_response(0x02FF), 0, response=True, session=0)))]
    return talk


def many_open(count: int, talk: Talk | None = None) -> Talk:
    talk = talk or Talk().begin().tree()
    for number in range(count):
        talk.open("winreg", number.to_bytes(16, "little"))
    return talk


def compressed_everywhere() -> list[Talk]:
    body = smb2(READ, read_request(), 9)
    message = chained(1000 + len(body), (0, body, None), (4, struct.pack("<BBHI", 0, 0, 0, 1000), None))
    ends = [Connection(number, Endpoint("10.0.0.1", 50000 + number), SERVER, True) for number in range(4)]
    return [with_raw(Talk(connection=one).begin(), (0, message)) for one in ends]


def bound_to(server: str) -> list[Event]:
    """[MS-SMB2] 3.3.5.5.2: servers number their sessions for themselves."""
    second = Talk(0x0302, connection=Connection(1, Endpoint("10.0.0.2", 50001), Endpoint(server, 445), True))
    # Another server has another GUID, in the answer to the negotiation.
    at = 4 + 64 + 8
    other = changed(second.begin(binding=True), 1, lambda data: data[:at] + b"\x99" * 16 + data[at + 16 :])
    return heard(usual(), other)


def without_token(direction: Direction) -> list[Event]:
    """Of the client the last message of the setup has a hole, of the server the one but last."""
    talk = asked_of_account()
    stop = sum(len(message) for way, message in talk.sent[: 5 if direction == 0 else 4] if way == direction)
    return holed(talk, direction, stop - 20, stop, PERFMON)


def setups(numbers: Iterable[int]) -> Talk:
    talk, more = Talk(), MORE_PROCESSING
    for number in numbers:
        asked = talk.ask(SETUP, setup_request(), session=0)
        talk.answer(asked, SETUP, setup_response(), status=more, session=number)
    return talk


def set_up_again(times: int) -> Talk:
    talk = Talk().begin()
    for _ in range(times):
        talk.answer(talk.ask(SETUP, setup_request()), SETUP, setup_response())
    return talk


def turned() -> list[Event]:
    sent: list[Said] = [(0 if way else 1, message) for way, message in usual().transceive(ASK, SAY).sent]
    return run(stream(sent, Connection(0, SERVER, CLIENT, False)))


def wrong_tags(times: int) -> Talk:
    talk = Talk(cipher=GCM_128).begin().sealed().tree().open()
    for _ in range(times):
        changed(talk.write(ASK), -2, last_bit)
    return talk.write(SAY)


def of_no_session() -> Talk:
    talk = usual(cipher=GCM_128)
    message = seal(smb2(WRITE, write_request(ASK), 50), ends_of(talk)[0], GCM_128, b"nonce", session=0)
    return with_raw(talk, (0, message)).write(SAY)


def no_smb_inside() -> list[Event]:
    """Neither port shows the server, so both keys are tried until a message shows it."""
    talk = Talk(cipher=GCM_128, connection=Connection(0, CLIENT, Endpoint(SERVER.ip, 4450), False)).begin().sealed()
    begun = len(talk.sent)
    with_raw(talk, (0, b"no SMB at all, and longer than a header of 64 bytes, which has to be told from it"))
    return heard(talk.transceive(ASK, SAY), keyring=keys(b"", *ends_of(talk)), after=begun)


def taken_up_twice() -> list[Event]:
    server = Endpoint(SERVER.ip, 4450)
    first = Talk(cipher=GCM_128, connection=Connection(0, CLIENT, server, True)).begin().sealed().tree().open()
    other = Connection(1, Endpoint(CLIENT.ip, 50001), server, False)
    second = Talk(cipher=GCM_128, connection=other, keys=first.keys, sealing=True)
    return heard(first.write(ASK), second.transceive(SAY, ASK), keyring=WITH_KEY)


def compressed_with_a_hole() -> list[Event]:
    talk = usual()
    at = sum(len(message) for way, message in talk.sent if way == 0)
    return holed(with_raw(talk, (0, packed(200))).write(SAY), 0, at + 40, at + 50)


def crowded() -> Talk:
    """One session has all that may be open: of another nothing is followed, nothing made up."""
    talk = Talk().begin().tree().open("winreg", b"A" * 16).open("samr", b"B" * 16)
    return asked_many([77] * 3, WRITE, write_request(ASK, b"C" * 16), talk).write(SAY, b"A" * 16)


def bound_without_a_key() -> list[Event]:
    keyring = Keyring(smb_keys=[SmbKeys(SESSION_ID, session_key=SESSION_KEY)])
    second = Talk(session_key=b"c" * 16, connection=OTHER).begin(binding=True).transceive(SAY, ASK, signed=True)
    return heard(usual().transceive(ASK, SAY, signed=True), second, keyring=keyring)


def with_signature(dialect: int, signing: int | None = None) -> Talk:
    return usual(dialect, signing=signing).transceive(ASK, SAY, signed=True)


# [MS-SMB2] 2.2.1.2: StructureSize MUST be 64.
WRITTEN, ANSWER = smb2(WRITE, write_request(ASK), 50), smb2(IOCTL, ioctl_response(SAY), 50, response=True)
DAMAGED = {
    **{
        f"an answer of a size that no structure has, {command}": smb2(command, b"\x0f" + answer[1:], 50, response=True)
        for command, answer in ((READ, read_response(SAY)), (IOCTL, ioctl_response(SAY)))
    },
    "data": WRITTEN[:68] + b"\xff\xff\xff\x7f" + WRITTEN[72:],
    "an answer": ANSWER[:100] + b"\xff\xff\xff\x7f" + ANSWER[104:],
    "a next command at 1": smb2(READ, read_request(), 9, next_command=1),
    "a next command at 64": smb2(READ, read_request(), 9, next_command=64),
    "a next command far off": smb2(READ, read_request(), 9, next_command=0xFFFFFFF0),
    "a compound without end": compound(*[smb2(0x0D, b"\x04\0\0\0", 20)] * 3000),
    "a bomb": chained(8, (4, struct.pack("<BBHI", 0, 0, 0, 0xFFFFFFFF), None)),
    "the size of its header": WRITTEN[:4] + b"\x41\0" + WRITTEN[6:],
    **{f"its end after {size} bytes": WRITTEN[: 64 + size] for size in (1, 20, 31)},
}
CASES: dict[str, Callable[[], list[Event]]] = {
    "an answer that names no session is of that of its request": lambda: heard(
        changed(usual().write(ASK).read(SAY), -1, of_another_session)
    ),
    "a related compound writes before its file id is known": lambda: heard(
        related(*CREATING, [WRITING, (READ, READ_IT, read_response(SAY))])
    ),
    "related answers may leave out the session ([MS-SMB2] 3.2.5.1)": lambda: heard(
        related(*ASKING, [(READ, READ_IT, read_response(SAY)), TRANSACTING], **NOTHING)
    ),
    **{
        f"of {count} requests 4 may wait, and the oldest are forgotten": lambda count=count: heard(
            waiting(count), requests=4
        )
        for count in (4, 5, 7)
    },
    "other FSCTLs are not data": lambda: heard(other_fsctl()),
    **{
        f"encryption {cipher} of {dialect:#06x} opens with the session key": lambda dialect=dialect, cipher=cipher: (
            sealed(dialect, cipher)
        )
        for dialect, cipher in [(0x0300, 1), (0x0302, 1), (0x0311, 1), (0x0311, 2), (0x0311, 3), (0x0311, 4)]
    },
    "the key of one direction opens that direction": lambda: heard(
        talk := Talk(cipher=GCM_256).begin().sealed().tree().open().transceive(ASK, SAY),
        keyring=keys(b"", ends_of(talk)[0]),
    ),
    "what stays sealed is reported once with its reason": lambda: heard(asked_of_account()),
    "what stays sealed is reported once, for the password is wrong": lambda: heard(
        asked_of_account(), keyring=Keyring.build(passwords=[("LAB\\perfmon", "wrong")])
    ),
    "what stays sealed is reported once, for the handshake is missing": lambda: heard(asked_of_account(), after=4),
    "a password opens a session and names the account": lambda: heard(asked_of_account(), keyring=PERFMON),
    "a given key that does not fit is called wrong": lambda: heard(
        Talk(cipher=GCM_128).begin().sealed().tree(), keyring=keys(bytes(16))
    ),
    "without the negotiation a 3.1.1 key cannot be derived": lambda: holed(
        Talk(cipher=GCM_128).begin().sealed().tree().open().transceive(ASK, SAY), 1, 100, 120, WITH_KEY
    ),
    **{
        f"signatures of {dialect:#06x} by {signing} are checked where a key allows": lambda one=(dialect, signing): (
            heard(with_signature(*one), keyring=WITH_KEY)
        )
        for dialect, signing in [(0x0202, None), (0x0300, None), (0x0311, None), (0x0311, 2), (0x0311, 0)]
    },
    "signatures are not judged without a key": lambda: heard(with_signature(0x0202)),
    "a wrong signature is noted and the data still read": lambda: heard(
        changed(with_signature(0x0210), -2, last_bit), keyring=WITH_KEY
    ),
    "a second channel signs with its own key and shares the session": two_channels,
    "an answer may name the volatile half of its open alone": lambda: heard(volatile(with_request=True)),
    "an answer without its request may name the volatile half of its open": lambda: heard(volatile(with_request=False)),
    "renewing a session keeps its keys ([MS-SMB2] 3.3.5.5.3)": lambda: heard(renewed(), keyring=PERFMON),
    "names that are not text do not leave as half characters": lambda: heard(
        Talk().begin().tree().open("\ud800winreg")
    ),
    "a compressed message is opened": lambda: heard(with_raw(usual(), (0, packed(200)))),
    "many small messages that grow are a bomb too": lambda: heard(
        with_raw(usual(), *[(0, packed(100_000))] * 4), smb_decompressed_free=150_000
    ),
    "a refused session is reported with its status": lambda: heard(
        changed(Talk().begin(), -1, lambda data: data[:12] + struct.pack("<I", 0xC000006D) + data[16:])
    ),
    "an anonymous logon is a state of its own": lambda: heard(
        Talk(session_key=NOBODY.session_key).begin(NOBODY.tokens)
    ),
    "clients that share a session number are two where no setup binds them": alike_clients,
    **{
        f"a damaged message costs only itself: {name}": lambda message=message: heard(
            with_raw(usual(), (1 if message[16] & 1 and message[:4] == b"\xfeSMB" else 0, message)).write(SAY)
        )
        for name, message in DAMAGED.items()
    },
    "sessions of a connection are bounded": lambda: heard(
        asked_many(range(100, 106), READ, read_request(), signed=True), sessions=3
    ),
    "events of others pass": lambda: run([Problem("note", "tcp", (1,), "passing by")]),
    "unknown kinds of messages do not stop us": lambda: heard(
        asked_many([SESSION_ID], 0x40, b"\x04\0\0\0", usual()).write(ASK)
    ),
    "dialects are negotiated from SMB1": lambda: heard(from_smb1()),
    "opens of all sessions together are bounded and it is reported": lambda: heard(many_open(8), opens_in_all=5),
    "compressed messages of all connections count together": lambda: heard(
        *compressed_everywhere(), smb_decompressed_free=2300, smb_ratio=1
    ),
    # The frames of the second connection have earlier times: where the session was met is not when it began.
    "a session spans connections of a client whose binding was not captured": lambda: heard(
        usual().write(ASK), Talk(connection=Connection(1, Endpoint(CLIENT.ip, 50001), SERVER, False)).write(SAY)
    ),
    "a signature of a channel whose key is not known is not judged": bound_without_a_key,
    "a channel is bound to the session of its server": lambda: bound_to("10.0.0.1"),
    "a channel is not bound to the session of another server": lambda: bound_to("10.0.0.9"),
    "a setup without its last answer is a session": lambda: run(stream(of_account().sent[:-1])),
    "a hole in the token of the client is no wrong password": lambda: without_token(0),
    "a hole in the token of the server is no wrong password": lambda: without_token(1),
    "setups under way are bounded": lambda: heard(setups(range(1, 6)), sessions=2),
    "the frames named of a session are bounded": lambda: heard(set_up_again(40)),
    "the client is who does not have the server's port": turned,
    "a wrong tag after right ones is damage and no wrong key": lambda: heard(wrong_tags(40), keyring=WITH_KEY),
    "an encrypted message names a session": lambda: heard(of_no_session(), keyring=WITH_KEY),
    "what is encrypted without being SMB says nothing of who is who": no_smb_inside,
    "a second connection taken up in its middle decrypts with the keys of the session": taken_up_twice,
    "a compressed message with a hole is lost as a whole": compressed_with_a_hole,
    "frames of what repeats are bounded and its count is not": lambda: heard(
        with_raw(Talk().begin(), *[(0, b"\xfeSMB" + bytes(30))] * 70)
    ),
    "opens beyond those of all sessions are no channels": lambda: heard(crowded(), opens_in_all=2),
}
OUTCOMES = Outcomes(Path(__file__).parent / "smb2_reader.txt", CASES, lambda make: said(make()))


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_said_of_smb2_is_what_was_read_through(name: str) -> None:
    OUTCOMES.holds(name)


def test_what_is_said_of_smb2_is_written_as_it_is() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    OUTCOMES.is_as_written()


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "without-setup"])
@pytest.mark.parametrize("cipher", [CCM_128, GCM_128, CCM_256, GCM_256])
def test_keys_of_the_directions_open_in_either_order(cipher: int, whole: bool) -> None:
    talk = Talk(cipher=cipher, connection=Connection(0, CLIENT, SERVER, whole)).begin().sealed()
    begun = 0 if whole else len(talk.sent)
    talk.tree().open().transceive(ASK, SAY)
    for order in (ends_of(talk), ends_of(talk)[::-1]):
        line = f'{SESSION_ID.to_bytes(8, "little").hex()},"",{order[0].hex()},{order[1].hex()}'
        out = heard(talk, keyring=Keyring.build(smb_session_keys=[line]), after=begun)
        assert stated(out) == [(0, True, ASK), (0, False, SAY)]
        assert only(out, Problem) == []


def good_talk() -> Talk:
    talk = usual(cipher=GCM_128).write(ASK).read(SAY, status=OVERFLOW)
    return talk.transceive(ASK, SAY, signed=True).sealed().transceive(SAY, ASK).close()


GOOD = good_talk().sent
EITHER = pytest.mark.parametrize("good", [GOOD, GOOD_SMB1], ids=["SMB2", "SMB1"])


@EITHER
@settings(max_examples=40)
@given(st.lists(st.integers(1, 90), min_size=1, max_size=20))
def test_cutting_never_changes_the_events(good: list[Said], cuts: list[int]) -> None:
    assert comparable(run(stream(good, cuts=cuts), WITH_KEY)) == comparable(run(stream(good), WITH_KEY))


def test_origins_lead_back_to_the_same_bytes() -> None:
    frames = {number: bytes(54) + data for number, (_, data) in enumerate(GOOD, 1)}
    for item in only(run(stream(GOOD, cuts=[7, 31, 50]), WITH_KEY), ChannelBatch):
        found = b"".join(frames[e.frame][e.start : e.start + e.length] for e in item.data.extents())
        if item.smb is not None and item.smb.encrypted:
            assert len(found) == len(item.data)
        else:
            assert found == item.data.data


@EITHER
@settings(max_examples=175)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 400), st.binary(min_size=1, max_size=30), st.booleans())
def test_random_bytes_in_a_good_message_give_events_and_nothing_else(
    good: list[Said], index: int, at: int, noise: bytes, insert: bool
) -> None:
    sent = noisy(good, index % len(good), at, noise, insert=insert)
    assert all(isinstance(event, Event) for event in run(stream(sent), WITH_KEY))


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


def test_many_sessions_on_one_connection_keep_their_numbers() -> None:
    out = heard(asked_many(range(1000, 1300), WRITE, write_request(ASK)))
    assert [one.smb.session_id for one in only(out, ChannelBatch) if one.smb] == list(range(1000, 1300))


def test_what_is_open_is_counted_down_again() -> None:
    layer = to_channels(NO_KEYS)[0]
    assert isinstance(layer, SmbLayer)
    for event in recognised(stream(many_open(4).close(bytes(16)).sent, closed=False)):
        list(layer.feed(event))
    assert layer._shared.opens == 3
    list(layer.finish())
    assert layer._shared.opens == 0


def test_the_log_of_keys_gets_each_session_once_and_no_channel() -> None:
    first, second = of_account(), of_account(LEGS[0], OTHER, binding=True)
    logged: list[tuple[int, bytes]] = []
    layers = to_channels(PERFMON, key_log=lambda number, key: logged.append((number, key)))
    through(layers, recognised(stream(first.sent, closed=False) + stream(second.sent, OTHER)))
    assert logged == [(SESSION_ID, LEGS[0].session_key)]


def test_the_log_of_messages_gets_them_as_sent_and_as_read() -> None:
    talk = Talk(cipher=GCM_128).begin().sealed().tree()
    logged: list[tuple[Direction, Message, Message]] = []
    layer = SmbLayer(WITH_KEY, message_log=lambda _, way, outer, inner: logged.append((way, outer, inner)))
    through([layer], recognised(stream(talk.sent)))
    assert [way for way, _, _ in logged] == [0, 1] * 4
    assert [outer.head.data[:4] for _, outer, _ in logged] == [b"\xfeSMB"] * 6 + [b"\xfdSMB"] * 2
    assert {inner.head.data[:4] for _, _, inner in logged} == {b"\xfeSMB"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # [C706] 12.6.3.1: minor versions 0 and 1; [MS-RPCE] 2.2.2: types up to 19.
        *((data, True) for data in (b"", b"\5", b"\5\0\x0b", b"\5\1\x13\3")),
        *((data, False) for data in (b"\4", b"\5\2", b"\5\0\x14")),
    ],
)
def test_few_bytes_may_begin_a_pdu(data: bytes, expected: bool) -> None:
    assert may_be_dcerpc(data) is expected
    out = heard(Talk().begin().tree().open("custom").write(data).write(ASK))
    assert (ASK in [found[-len(ASK) :] for _, _, found in stated(out)]) is expected


@pytest.mark.parametrize(
    ("status", "is_shown"),
    [(None, False), (0xC0000203, False), (0xC0000022, True), (0x103, True), (0, True)],
    ids=["nothing", "no such session", "access denied", "wait", "success"],
)
def test_a_session_that_only_requests_name_says_so(status: int | None, is_shown: bool) -> None:
    """STATUS_USER_SESSION_DELETED: the server knows no such session ([MS-SMB2] section 3.3.5.2.9)."""
    talk = usual()
    asked = talk.ask(WRITE, write_request(SAY), session=77)
    if status is not None:
        body = write_response(len(SAY)) if status == 0 else b"\x09\0" + bytes(7)
        talk.answer(asked, WRITE, body, session=77, status=status)
    first, other = sorted(only(heard(talk), SmbSession), key=lambda one: one.number)
    assert first.reason is not None
    assert "only requests" not in first.reason
    assert other.reason is not None
    assert ("only requests name the session" in other.reason) is not is_shown
