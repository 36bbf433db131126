"""SMB1 conversations written here: pipes by TRANSACTION, READ and WRITE, chains, names, and identities of both kinds of setup;
`smb1_reader.txt` has what is said of them, and each name is a promise."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.core.byte_cursor import Cursor
from analyzer.core.errors import TruncatedError
from analyzer.core.events import Event
from analyzer.core.limits import Limits
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.smb.smb1_message import Smb1Block
from analyzer.transport.tcp.stream_events import Connection, Direction
from tests.build import auth
from tests.build.smb import (
    ANDX_END,
    CLIENT,
    SERVER,
    framed,
    smb1,
    smb1_raw,
    stream,
    trans_request,
    trans_response,
    trans_secondary,
    with_hole,
)
from tests.transport.smb.run import ASK, NAMED, SAY, run, said
from tests.written import Outcomes

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

ACCESS_DENIED, LOGON_FAILURE = 0xC0000022, 0xC000006D
OLD_READ, OLD_WRITE, WRITE_AND_CLOSE, TREE_DISCONNECT, LOGOFF = 0x0A, 0x0B, 0x2C, 0x71, 0x74
LEFT, LEAVING = smb1(LOGOFF, ANDX_END, response=True), smb1(LOGOFF, ANDX_END)
DISCONNECT = smb1(TREE_DISCONNECT, b""), smb1(TREE_DISCONNECT, b"", response=True)
CLOSE = smb1(0x04, struct.pack("<HI", FID, 0)), smb1(0x04, b"", response=True)
PART = smb1_raw(0x25, trans_request(ASK[:10], total=len(ASK)))
LAST = smb1_raw(0x26, trans_secondary(ASK[10:], 10, len(ASK)))
LEGS = auth.ntlm_handshake("perfmon", "LAB", "secret")
MIDDLE = Connection(0, CLIENT, SERVER, False)


def after_old_negotiation(words: bytes, names: bytes, answer: bytes, *, flags2: int = 0xC801) -> Sent:
    """A session setup without tokens."""
    sent = tell(negotiated(extended=False), smb1(0x73, words, names, uid=0, tid=0, flags2=flags2))
    return tell(sent, smb1(0x73, ANDX_END + b"\0\0", answer, response=True, tid=0, flags2=flags2))


def old_setup(user: str, domain: str, passwords: int) -> Sent:
    words = ANDX_END + struct.pack("<HHHIHHII", 16644, 50, 0, 0, passwords, passwords, 0, 0xD4)
    names = b"".join(wide(text, pad=False) for text in (user, domain, "Windows 2000", "LAN"))
    answer = wide("Windows 5.0") + wide("LAN", pad=False) + wide("LAB", pad=False)
    return after_old_negotiation(words, bytes(2 * passwords) + b"\0" + names, answer)


def lan_manager() -> Sent:
    """[MS-CIFS] 2.2.4.53.1: ten words, of which one is the length of the only password."""
    words = ANDX_END + struct.pack("<HHHIHI", 16644, 50, 0, 0, 24, 0)
    return after_old_negotiation(words, bytes(24) + b"perfmon\0", b"", flags2=0x4801)


def continued() -> Sent:
    """Answers that continue, at last with an error of DOS: class ERRDOS, code ERRmoredata."""
    sent = connected(WRITTEN, smb1(0x2F, ANDX_END + struct.pack("<HHI", len(ASK), 0, 0), response=True))
    for part, status in ((SAY[:9], OVERFLOW), (SAY[9:], 0)):
        tell(sent, READING, smb1_raw(0x2E, read_block(part), response=True, status=status))
    return tell(sent, READING, smb1_raw(0x2E, read_block(SAY), response=True, status=0x00EA0001, flags2=0x8001))


def chain() -> Sent:
    """[MS-CIFS] 2.2.3.4: SMB_COM_OPEN_ANDX followed by SMB_COM_READ_ANDX."""
    name = wide("\\PIPE\\spoolss")
    words = struct.pack("<BBH", 0x2E, 0, 32 + 1 + 30 + 2 + len(name))
    asked = smb1(0x2D, words + struct.pack("<HHHHIHIII", 0, 2, 0, 0, 0, 1, 0, 0, 0), name)
    words = struct.pack("<BBH", 0x2E, 0, 32 + 1 + 30 + 2)
    opened = smb1(0x2D, words + struct.pack("<HHIIHHHIHH", 0x4001, 0, 0, 0, 0, 2, 0, 0, 0, 0)[:26], response=True)
    block = bytes([12]) + ANDX_END + struct.pack("<HHHHHH8x", 0, 0, 0, len(SAY), len(opened) + 27, 0)
    asked += bytes([10]) + read_words(0xFFFF) + b"\0\0"
    return connected(asked, opened + block + struct.pack("<H", len(SAY)) + SAY)


def long_chain() -> Sent:
    blocks, at = b"", 32
    for _ in range(20):
        at += 27
        blocks += bytes([12]) + struct.pack("<BBH", 0x2E, 0, at) + read_words()[4:].ljust(20, b"\0") + b"\0\0"
    return connected(smb1_raw(0x2E, blocks), smb1_raw(0x25, trans_request(ASK), mid=2))


def failed_chain() -> Sent:
    """[MS-CIFS] 3.3.5.2.3: the rest of an AndX chain is not processed behind an error."""
    path = b"\0" + wide("\\\\FILES\\IPC$", pad=False) + b"?????\0"
    setup = bytes([3, 0x75, 0]) + struct.pack("<HHH", 32 + 9, 0, 0)
    tree = bytes([3]) + ANDX_END + struct.pack("<HH", 1, 7) + b"IPC\0\0\0\0"
    request = bytes([4]) + ANDX_END + struct.pack("<HHH", 8, 1, len(path)) + path
    answer = smb1_raw(0x73, setup + tree, response=True, status=ACCESS_DENIED, mid=9)
    return tell(logged_on(), smb1_raw(0x75, request, mid=9), answer, WRITTEN)


def holed() -> list[Event]:
    sent = connected()
    start = sum(len(message) for direction, message in sent if direction == 0)
    return run(with_hole(stream(tell(sent, smb1_raw(0x2F, write_block(NAMED["LONG"])))), 0, start + 200, start + 300))


def create_answer(fid: int) -> bytes:
    words = ANDX_END + struct.pack("<BHI32xIQQHHB", 0, fid, 1, 0x80, 0, 0, 2, 0x5FF, 0)
    return smb1(0xA2, words, response=True)


def not_of_pipes() -> Sent:
    mailslot = bytearray(trans_request(ASK))
    mailslot[1 + 26] = 0
    sent = connected(smb1_raw(0x25, bytes(mailslot)), TRANSACTED)
    tell(sent, smb1_raw(0x25, trans_request(ASK, subcommand=0x21), mid=2))  # TRANS_QUERY_NMPIPE_STATE
    tell(sent, smb1_raw(0x25, trans_response(SAY), response=True, mid=2))
    tell(sent, smb1_raw(0x26, trans_secondary(ASK, 0, len(ASK)), mid=3))  # of a request that was not captured
    return tell(sent, smb1_raw(0x25, trans_request(b""), mid=4))


ALONE = {
    "a transaction": smb1_raw(0x25, trans_response(SAY), response=True, mid=7),
    "a read": smb1_raw(0x2E, read_block(SAY), response=True, mid=7),
}


def two_pipes() -> Sent:
    return connected(create_answer(FID + 1), smb1_raw(0x2F, write_block(ASK, fid=FID + 1), mid=9))


def of_no_tree() -> Sent:
    words = ANDX_END + struct.pack("<BHIIIQIIIIIB", 0, 24, 0, 0, 3, 0, 0, 7, 1, 0, 2, 0)
    return tell(logged_on(), smb1(0xA2, words, wide("\\PIPE\\winreg")), create_answer(FID), WRITTEN)


def answered_negotiation(words: bytes, data: bytes = b"", status: int = 0) -> Sent:
    sent = tell([], smb1(0x72, b"", b"\x02NT LM 0.12\0", uid=0, tid=0))
    return tell(sent, smb1(0x72, words, data, response=True, status=status, uid=0, tid=0), WRITTEN)


OLD_WORDS = struct.pack("<HBHHIIIIQhB", 0, 3, 50, 1, 16644, 65536, 0, 0xC3FD, 0, 0, 8)


def unanswered() -> Sent:
    reading = [smb1(0x2E, read_words(), mid=mid) for mid in range(10, 16)]
    return connected(*reading, smb1_raw(0x2E, read_block(SAY), response=True, mid=15))


def renewed_without_request() -> Sent:
    legs = auth.ntlm_handshake("other", "LAB", "x")
    words = ANDX_END + struct.pack("<HH", 0, len(legs.challenge))
    sent = connected(smb1(0x73, words, legs.challenge, response=True, status=MORE, mid=5))
    return tell(sent, smb1(0x73, ANDX_END + struct.pack("<HH", 0, 0), b"", response=True, mid=6))


def renewed(status: int) -> Sent:
    names = b"".join(wide(text, pad=False) for text in ("other", "DOM", "System", "LAN"))
    words = ANDX_END + struct.pack("<HHHIHHII", 16644, 50, 0, 0, 0, 0, 0, 0xD4)
    sent = connected(smb1(0x73, words, b"\0" + names, tid=0))
    answer = smb1(0x73, ANDX_END + b"\0\0", wide("New"), response=True, status=status, tid=0)
    return tell(sent, answer, WRITTEN)


def turned(last: int, server: Endpoint) -> list[Event]:
    sent: Sent = [(0 if way else 1, message) for way, message in connected(TRANSACT, TRANSACTED)[-last:]]
    return run(stream(sent, Connection(0, server, CLIENT, False)))


def outside() -> Sent:
    block = bytearray(write_block(ASK))
    struct.pack_into("<H", block, 1 + 22, 2000)
    return connected(smb1_raw(0x2F, bytes(block)), smb1_raw(0x2F, write_block(SAY), mid=2))


def refused() -> Sent:
    words = ANDX_END + struct.pack("<HHHIHII", 16644, 50, 0, 0, len(LEGS.negotiate), 0, 0x8000C3FD)
    sent = tell(negotiated(), smb1(0x73, words, LEGS.negotiate, uid=0, tid=0))
    return tell(sent, smb1(0x73, b"", response=True, status=LOGON_FAILURE, tid=0))


def begun_before() -> Sent:
    words = ANDX_END + struct.pack("<HH", 0, len(LEGS.challenge))
    return tell(negotiated(), smb1(0x73, words, LEGS.challenge, response=True, status=MORE, tid=0), WRITTEN)


def calls(answers: list[int]) -> Sent:
    """TRANS_CALL_NMPIPE twice."""
    asked = [smb1_raw(0x25, trans_request(ASK, subcommand=0x54), mid=mid) for mid in (1, 2)]
    return connected(*asked, *(smb1_raw(0x25, trans_response(SAY), response=True, mid=mid) for mid in answers))


SENT: dict[str, Sent] = {
    "a transaction gives both directions and the session its names": connected(TRANSACT, TRANSACTED, *CLOSE),
    "names may be in the OEM code page": connected(TRANSACT, unicode=False),
    "an old setup says who in clear": old_setup("perfmon", "LAB", 24),
    "an old setup without a name is anonymous": old_setup("", "", 0),
    "a setup of LAN Manager has one password": lan_manager(),
    "secondary requests and several answers join by displacement": connected(
        PART,
        smb1(0x25, b"", response=True),
        LAST,
        smb1_raw(0x25, trans_response(SAY[:7], 0, len(SAY)), response=True),
        smb1_raw(0x25, trans_response(SAY[7:], 7, len(SAY)), response=True),
    ),
    "a missing secondary is a gap and a repeated one is not said twice": connected(
        smb1_raw(0x25, trans_request(ASK[:4], total=len(ASK))),
        LAST,
        smb1_raw(0x26, trans_secondary(ASK[8:], 8, len(ASK))),
    ),
    "write and read, with an answer that continues": continued(),
    "a raw write without the length is not cut": connected(smb1_raw(0x2F, write_block(ASK, mode=0x0C))),
    "a chain opens and reads": chain(),
    "a chain that turns back ends": connected(
        smb1(0x2E, struct.pack("<BBH", 0x2E, 0, 32) + read_words()[4:]), TRANSACT
    ),
    "a chain that goes on and on is refused": long_chain(),
    "a command behind one that failed was not done": failed_chain(),
    "a tree that is left ends its pipes": connected(TRANSACT, *DISCONNECT),
    "a tree that may not be left keeps its pipes": connected(
        TRANSACT, DISCONNECT[0], smb1(TREE_DISCONNECT, b"", response=True, status=ACCESS_DENIED), TRANSACT
    ),
    "a logoff ends the pipes": connected(TRANSACT, LEAVING, LEFT),
    "an answer of another command is not that of its request": connected(
        WRITTEN, READING, WAS_READ[:4] + b"\x2c" + WAS_READ[5:], READING, WAS_READ
    ),
    "an answer that names no session is of that of its request": connected(
        WRITTEN, READING, WAS_READ[:28] + b"\x99\0" + WAS_READ[30:]
    ),
    "an SMB1 session ends with its logoff": connected(LEAVING, LEFT, WRITTEN),
    # So Windows leaves its tree; a handle may be left too.
    "what is closed behind a logoff is of no further session": connected(LEAVING, LEFT, *DISCONNECT, *CLOSE),
    "transactions that are not of pipes are not data": not_of_pipes(),
    "a refused transaction is over": connected(PART, smb1(0x25, b"", response=True, status=ACCESS_DENIED), LAST),
    **{
        f"the answer to {what} without its request is of the only pipe": connected(TRANSACT, one)
        for what, one in ALONE.items()
    },
    **{
        f"the answer to {what} without its request is of none of several": tell(two_pipes(), one)
        for what, one in ALONE.items()
    },
    **{f"the answer to {what} without any pipe is no data": tell(logged_on(), one) for what, one in ALONE.items()},
    "a pipe of a tree that was not seen shows by its name": of_no_tree(),
    "no dialect pleased the server": answered_negotiation(b"\xff\xff"),
    "the server negotiates LAN Manager in 13 words": answered_negotiation(struct.pack("<H", 5) + bytes(24)),
    "the server negotiates nothing where it refuses": answered_negotiation(b"\0\0", status=ACCESS_DENIED),
    "an old negotiation may send nothing behind its challenge": answered_negotiation(OLD_WORDS, b"challeng"),
    "an old negotiation may send the domain alone": answered_negotiation(
        OLD_WORDS, b"challeng" + wide("LAB", pad=False)
    ),
    **{
        f"a setup of which {name} alone was captured is a session": tell(negotiated() + logged_on()[2:][kept], WRITTEN)
        for name, kept in {"the first request": slice(1), "the first answer": slice(1, 2), "one leg": slice(2)}.items()
    },
    "a setup without its last answer is a session": logged_on()[:-1],
    "a setup whose beginning was not captured says so": begun_before(),
    "a setup without any token misses them": tell(
        negotiated(), smb1(0x73, ANDX_END + struct.pack("<HH", 0, 0), response=True, tid=0)
    ),
    "a failed setup is a session that was refused": refused(),
    "a renewal without its request keeps the session": renewed_without_request(),
    "a session goes on as it was when it is renewed": renewed(0),
    "a session goes on as it was when its renewal is refused": renewed(LOGON_FAILURE),
    "data outside of the message are malformed": outside(),
    # [MS-CIFS] 2.2.5: TRANS_RAW_WRITE_NMPIPE, TRANSACT, READ, WRITE and CALL.
    **{
        f"a transaction {number:#x} {'carries data' if number not in (0x21, 0x53, 0x11) else 'carries none'}": connected(
            smb1_raw(0x25, trans_request(ASK, subcommand=number)), TRANSACTED
        )
        for number in (0x31, 0x26, 0x36, 0x37, 0x54, 0x21, 0x53, 0x11)
    },
    "a call is a pipe for its transaction alone": calls([2, 1]),
}
CASES: dict[str, Callable[[], list[Event]]] = {
    **{name: lambda sent=sent: run(stream(sent)) for name, sent in SENT.items()},
    "mid-stream pipes show by their data": lambda: run(stream(tell([], WRITTEN, READING, WAS_READ), MIDDLE)),
    "a hole in a write is a gap of its length": holed,
    "requests without answers are bounded and it is reported once": lambda: run(
        stream(unanswered()), limits=Limits(requests=3)
    ),
    **{
        f"who asks is the client where the port is {server.port}, of the last {last}": (
            lambda last=last, server=server: turned(last, server)
        )
        for server in (SERVER, Endpoint(SERVER.ip, 4450))
        for last in (1, 2)
    },
}
OUTCOMES = Outcomes(Path(__file__).parent / "smb1_reader.txt", CASES, lambda make: said(make()))


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_said_of_smb1_is_what_was_read_through(name: str) -> None:
    OUTCOMES.holds(name)


def test_what_is_said_of_smb1_is_written_as_it_is() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    OUTCOMES.is_as_written()


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
    """[MS-CIFS] 2.2.1.1.2 and 2.2.4.1: padding before it is left out; one without a NUL ends with its last whole character."""
    block = block_of(data, start, is_whole=True)
    assert (block.text(True), block.data.pos) == (text, stop)


@pytest.mark.parametrize(
    ("data", "unicode", "length", "text"),
    [
        (b"ab", False, None, None),
        (b"ab\0", False, None, "ab"),
        (b"a\0b\0", True, None, None),
        (b"a\0b\0\0", True, None, None),
        (b"a\0b\0\0\0", True, None, "ab"),
        (b"", False, None, None),
        (b"ab", False, 2, "ab"),
        (b"ab", False, 3, None),
    ],
)
def test_a_text_that_the_capture_cuts_is_none(data: bytes, unicode: bool, length: int | None, text: str | None) -> None:
    block = block_of(data, 0, is_whole=False)
    if text is not None:
        assert block.text(unicode, length) == text
        return
    with pytest.raises(TruncatedError, match=r"^bytes at byte 0: a string is cut$"):
        block.text(unicode, length)
    if length is None:
        assert (block.text_or_none(unicode), block.data.left) == (None, 0)


def block_of(data: bytes, start: int, *, is_whole: bool) -> Smb1Block:
    cursor = Cursor(data, start)
    return Smb1Block(0, cursor, 0, cursor, is_whole)


GOOD = connected(TRANSACT, TRANSACTED, WRITTEN, READING, WAS_READ)
