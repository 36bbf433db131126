"""Messages in which every field has a value of its own, so that none is read in another's place ([MS-SMB2] section 2.2, [MS-CIFS]
section 2.2.4), and the whole records of the sessions that they make."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.errors import TruncatedError
from analyzer.core.events import Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.connection import SmbSession
from analyzer.transport.channel.channels import ChannelBatch
from analyzer.transport.smb.compressed_messages import lz77_huffman
from analyzer.transport.smb.smb1_message import Smb1Header
from analyzer.transport.smb.smb1_message import read_header as read_smb1_header
from analyzer.transport.smb.smb2_header import Smb2Header, read_header
from analyzer.transport.smb.smb_connection_state import SharedState
from analyzer.transport.smb.smb_framing import Framing, Message
from analyzer.transport.smb.smb_layer import SmbConnection
from analyzer.transport.tcp.stream_events import Connection, Gap
from tests.build.smb import (
    ANDX_END,
    CLIENT,
    CLOSE,
    CREATE,
    FILE_ID,
    IOCTL,
    LOGOFF,
    NEGOTIATE,
    READ,
    SERVER,
    TRANSCEIVE,
    TREE,
    TREE_DISCONNECT,
    WRITE,
    Talk,
    contexts,
    framed,
    negotiate_request,
    smb1,
    smb1_raw,
    smb2,
    stream,
)
from tests.transport.smb.run import ASK, SAY, only, run, said
from tests.transport.smb.test_smb1_reader import (
    FID,
    Sent,
    connected,
    tell,
    wide,
)
from tests.written import Outcomes

NOISE = 0xA5


def noisy(kinds: str, *values: Any) -> bytes:
    """A structure in which each pad byte is 0xA5."""
    out = b""
    left = list(values)
    for kind in kinds.split():
        if kind.endswith("x"):
            out += bytes([NOISE]) * int(kind[:-1] or 1)
        else:
            out += struct.pack(f"<{kind}", left.pop(0))
    assert not left
    return out


# SMB2: each structure with its fields in the order of the specification, buffers a few bytes behind the fixed part.


def noisy_create(path: str) -> bytes:
    raw = path.encode("utf-16-le")
    start = 64 + 56 + 4
    return noisy("H 2x I 36x H H 8x 4x", 57, 3, start, len(raw)) + raw + b"\xa5" * 6


def noisy_create_response(file_id: bytes = FILE_ID) -> bytes:
    return noisy("H 62x 16s 8x", 89, file_id)


def noisy_tree(path: str) -> bytes:
    raw = path.encode("utf-16-le")
    return noisy("H 2x H H 6x", 9, 64 + 8 + 6, len(raw)) + raw + b"\xa5" * 3


def noisy_tree_response(share_type: int) -> bytes:
    return noisy("H B 13x", 16, share_type)


def noisy_write(data: bytes) -> bytes:
    return noisy("2x H I 8x 16s 16x 3x", 64 + 48 + 3, len(data), FILE_ID) + data + b"\xa5" * 5


def noisy_read() -> bytes:
    return noisy("16x 16s 16x 1x", FILE_ID)


def noisy_read_response(data: bytes) -> bytes:
    return noisy("H B 1x I 8x 9x", 17, 64 + 16 + 9, len(data)) + data + b"\xa5" * 5


def noisy_ioctl(data: bytes, code: int = TRANSCEIVE) -> bytes:
    return noisy("4x I 16s I I 24x 8x", code, FILE_ID, 64 + 56 + 8, len(data)) + data + b"\xa5" * 5


def noisy_ioctl_response(data: bytes, code: int = TRANSCEIVE) -> bytes:
    return noisy("H 2x I 16s 8x I I 8x 7x", 49, code, FILE_ID, 64 + 48 + 7, len(data)) + data + b"\xa5" * 5


def noisy_close() -> bytes:
    return noisy("8x 16s 4x", FILE_ID)


def noisy_talk(dialect: int = 0x0210) -> Talk:
    """All that carries data, with noise wherever the reader has nothing to look for."""
    talk = Talk(dialect=dialect).begin()
    talk.answer(talk.ask(TREE, noisy_tree("\\\\FILES\\named"), tree=9), TREE, noisy_tree_response(2), tree=3)
    talk.answer(talk.ask(CREATE, noisy_create("WINREG"), tree=3), CREATE, noisy_create_response(), tree=3)
    talk.answer(talk.ask(WRITE, noisy_write(ASK), tree=3), WRITE, b"\xa5" * 16, tree=3)
    talk.answer(talk.ask(READ, noisy_read(), tree=3), READ, noisy_read_response(SAY), tree=3)
    talk.answer(talk.ask(IOCTL, noisy_ioctl(ASK), tree=3), IOCTL, noisy_ioctl_response(SAY), tree=3)
    return talk


def closed_talk() -> Talk:
    talk = noisy_talk()
    talk.answer(talk.ask(CLOSE, noisy_close(), tree=3), CLOSE, b"\xa5" * 60, tree=3)
    return talk


def of_tree(share_type: int, path: str) -> Talk:
    talk = Talk().begin()
    talk.answer(talk.ask(TREE, noisy_tree(path), tree=0), TREE, noisy_tree_response(share_type), tree=3)
    talk.answer(talk.ask(CREATE, noisy_create("\\pipe\\Other"), tree=3), CREATE, noisy_create_response(), tree=3)
    talk.answer(talk.ask(WRITE, noisy_write(ASK), tree=3), WRITE, b"", tree=3)
    return talk


def disconnected() -> Talk:
    talk, other = noisy_talk(), b"B" * 16
    talk.answer(talk.ask(TREE, noisy_tree("\\\\FILES\\IPC$"), tree=0), TREE, noisy_tree_response(2), tree=4)
    talk.answer(talk.ask(CREATE, noisy_create("samr"), tree=4), CREATE, noisy_create_response(other), tree=4)
    talk.answer(talk.ask(TREE_DISCONNECT, b"\x04\0\0\0", tree=3), TREE_DISCONNECT, b"\x04\0\0\0", tree=3)
    talk.sent += Talk(next_id=90).write(ASK, other).sent
    return talk


def many_opens(count: int) -> Talk:
    """So many are remembered; one more, and the oldest goes."""
    talk = Talk().begin().tree()
    for number in range(1, count + 1):
        talk.open("samr", bytes([number]) * 16)
    return talk.write(ASK, b"\1" * 16)


def many_trees(count: int) -> Talk:
    talk = Talk().begin()
    for number in range(1, count + 1):
        talk.tree(f"\\\\FILES\\T{number}", tree=number)
    return talk.open("samr", tree=1).write(ASK)


def cut_behind(second: bytes) -> Talk:
    """A message of a segment behind a whole one."""
    talk = Talk().begin().tree().open()
    talk.ask(READ, noisy_read())
    talk.sent.append((1, framed(smb2(0x0D, b"", 98, response=True)) + second))
    return talk


def test_a_header_is_read_field_by_field() -> None:
    raw = struct.pack(
        "<4sHHIHHIIQIIQ16s", b"\xfeSMB", 64, 0x11, 0xC0000022, 0x33, 0x44, 0x8, 0x66, 0x77, 0x88, 0x99, 0xAA, b"s" * 16
    )
    expected = Smb2Header(0xC0000022, 0x33, 0x8, 0x66, 0x77, 0x99, 0xAA)
    assert read_header(b"??" + raw, 2, 64) == expected
    assert (expected.failed, expected.is_response) == (True, False)
    assert read_header(raw[:16] + struct.pack("<I", 3) + raw[20:], 0, 64) == replace(expected, flags=3, tree_id=None)
    assert [replace(expected, status=status).failed for status in (0, 0x103, 0x80000005, 0xBFFFFFFF, 0xC0000000)] == [
        False
    ] * 4 + [True]


def test_an_smb1_header_is_read_field_by_field() -> None:
    raw = struct.pack("<4sBIBH12sHHHH", b"\xffSMB", 0x25, 0xC0000022, 0x98, 0x8004, b"x" * 12, 0x11, 0x22, 0x33, 0x44)
    expected = Smb1Header(0x25, 0xC0000022, 0x98, 0x8004, 0x11, 0x22, 0x33, 0x44)
    assert read_smb1_header(raw) == expected
    assert (expected.is_response, expected.unicode) == (True, True)
    assert (replace(expected, flags=0x7F).is_response, replace(expected, flags2=0x7FFF).unicode) == (False, False)


@pytest.mark.parametrize(
    ("status", "flags2", "failed"),
    [
        *((status, 0x4000, False) for status in (0, 0x80000005, 0xBFFFFFFF)),
        (0xC0000022, 0x4000, True),
        # Without NT status codes, class and code of a DOS error.
        *((status, 0, False) for status in (0, 0x00EA0001, 0x80000005)),
        *((status, 0, True) for status in (0x00050001, 0x00EA0002, 0x80000006)),
    ],
)
def test_which_smb1_statuses_are_failures(status: int, flags2: int, failed: bool) -> None:
    assert Smb1Header(0, status, 0, flags2, 0, 0, 0, 0).failed == failed


# Negotiation


def noisy_negotiate_response(dialect: int, capabilities: int, *items: tuple[int, bytes]) -> bytes:
    fixed = noisy("4x H H 16s I 32x I", dialect, len(items), bytes(range(16, 32)), capabilities, 128 + 8)
    return fixed + b"\xa5" * 8 + contexts(*items) + b"\xa5" * 3


def negotiated_talk(dialect: int, capabilities: int, *items: tuple[int, bytes]) -> Talk:
    talk, response = Talk(), noisy_negotiate_response(dialect, capabilities, *items)
    talk.answer(talk.ask(NEGOTIATE, negotiate_request(), session=0), NEGOTIATE, response, session=0)
    return talk.tree()


# SMB1: words with noise between those that are read


def smb1_data() -> Sent:
    sent = connected()
    write = struct.pack("<H8sHHHHH", FID, b"\xa5" * 8, 8, 0xA5A5, 0, len(ASK), 70) + b"\xa5" * 4
    tell(sent, smb1_raw(0x2F, bytes([14]) + ANDX_END + write + struct.pack("<H", 0) + b"\xa5" * (70 - 63) + ASK))
    read = b"\xa5" * 6 + struct.pack("<HHH", len(SAY), 70, 0) + b"\xa5" * 8
    tell(sent, smb1(0x2E, ANDX_END + struct.pack("<H", FID) + b"\xa5" * 18))
    tell(
        sent,
        smb1_raw(0x2E, bytes([12]) + ANDX_END + read + struct.pack("<H", 0) + b"\xa5" * (70 - 59) + SAY, response=True),
    )
    tell(sent, smb1(0x0B, struct.pack("<HH", FID, len(ASK)) + b"\xa5" * 6, b"\x01" + b"\xa5" * 2 + ASK))
    tell(sent, smb1(0x0A, struct.pack("<H", FID) + b"\xa5" * 8))
    tell(sent, smb1(0x0A, struct.pack("<H", len(SAY)) + b"\xa5" * 8, b"\x01" + b"\xa5" * 2 + SAY, response=True))
    tell(sent, smb1(0x2C, struct.pack("<HH", FID, len(ASK)) + b"\xa5" * 8, b"\xa5" + ASK))
    tell(sent, smb1(0x2C, b"\xa5\xa5", response=True))
    tell(sent, smb1(0x0B, struct.pack("<HH", FID, len(ASK)) + b"\xa5" * 6, b"\x01" + b"\xa5" * 2 + ASK))
    return sent


def raw_write(mode: int) -> Sent:
    """[MS-CIFS] 2.2.4.43.1: in raw mode with the start of a message, its length stands before it."""
    sent = connected()
    data = struct.pack("<H", len(ASK)) + ASK
    words = struct.pack("<HIIHHHHHI", FID, 0, 0, mode, 0, 0, len(data), 64, 0)
    return tell(sent, smb1_raw(0x2F, bytes([14]) + ANDX_END + words + struct.pack("<H", 0) + b"\0" + data))


def transactions() -> Sent:
    sent = connected()
    name = wide("\\PIPE\\", pad=True)
    start = 32 + 1 + 32 + 2 + len(name) + 5
    words = b"\xa5" * 22 + struct.pack("<HHBBHH", len(ASK), start, 2, NOISE, 0x26, FID)
    tell(sent, smb1_raw(0x25, bytes([16]) + words + struct.pack("<H", 0) + name + b"\xa5" * 5 + ASK))
    start = 32 + 1 + 20 + 2 + 3
    words = (
        b"\xa5" * 2 + struct.pack("<H", len(SAY)) + b"\xa5" * 8 + struct.pack("<HHH", len(SAY), start, 0) + b"\0\xa5"
    )
    return tell(sent, smb1_raw(0x25, bytes([10]) + words + struct.pack("<H", 0) + b"\xa5" * 3 + SAY, response=True))


def smb1_tree(service: bytes, path: str) -> Sent:
    sent = connected()
    words = ANDX_END + struct.pack("<HH", 0xA5A5, 3)
    tell(sent, smb1(0x75, words, b"\xa5" * 3 + wide(path, pad=False) + b"?????\0", tid=0))
    tell(sent, smb1(0x75, ANDX_END + b"\xa5\xa5", service + b"\0\0", response=True, tid=9))
    words = ANDX_END + struct.pack("<BH", NOISE, 10) + b"\xa5" * 43
    tell(sent, smb1(0xA2, words, wide("samr"), tid=9))
    tell(sent, smb1(0xA2, ANDX_END + struct.pack("<BH", NOISE, 0x77) + b"\xa5" * 61, response=True, tid=9))
    write = struct.pack("<HIIHHHHHI", 0x77, 0, 0, 8, 0, 0, len(ASK), 64, 0)
    return tell(sent, smb1_raw(0x2F, bytes([14]) + ANDX_END + write + struct.pack("<H", 0) + b"\0" + ASK, tid=9))


GCM, MANY = struct.pack("<HH", 1, 2), struct.pack("<HHH", 2, 1, 2)
CONTEXTS: dict[str, tuple[tuple[int, bytes], ...]] = {
    "a cipher": ((2, GCM),),
    "a cipher and an algorithm": ((2, struct.pack("<HH", 1, 4)), (8, GCM)),
    "an algorithm among others": ((1, b"salty"), (8, struct.pack("<HH", 1, 0)), (3, b"\x01")),
    "a cipher that is none": ((2, struct.pack("<HH", 1, 0)),),
    "several of each": ((2, MANY), (8, struct.pack("<HHH", 2, 2, 0))),
    "a cipher behind 63 others": (*[(1, b"")] * 63, (2, struct.pack("<HH", 1, 1))),
    "a cipher behind 64 others": (*[(1, b"")] * 64, (2, struct.pack("<HH", 1, 1))),
}
# Conversations of which each field of all records is told, where others are told in short.
WHOLE = [closed_talk().sent, smb1_data()]
CASES: dict[str, tuple[Sent, Limits]] = {
    **{
        name: (sent, DEFAULTS)
        for name, sent in {
            "data of SMB2 among fields of any value": WHOLE[0],
            **{
                f"a share of type {share_type} at {path}": of_tree(share_type, path).sent
                for share_type, path in (
                    *((2, "\\\\FILES\\named"), (1, "\\\\FILES\\ipc$"), (1, "\\\\FILES\\named")),
                    *((3, "\\\\FILES\\IPC$x"), (0, "IPC$")),
                )
            },
            "a tree that is disconnected closes its own opens alone": disconnected().sent,
            **{
                f"dialect {dialect:#06x} with capabilities {capabilities:#x}": negotiated_talk(
                    dialect, capabilities
                ).sent
                for dialect in (0x0202, 0x0210, 0x02FF, 0x0300, 0x0302, 0x0310, 0x0311, 0x0320)
                for capabilities in (0x40, 0xFFFFFFBF)
            },
            # [MS-SMB2] 2.2.4.1: one cipher, one algorithm; what names several was not understood.
            **{f"a negotiation of {name}": negotiated_talk(0x0311, 0, *items).sent for name, items in CONTEXTS.items()},
            # The last write of all closes the pipe; the same number is another open then.
            "data of SMB1 among fields of any value": WHOLE[1],
            # What does not begin like DCERPC goes to a pipe all the same that is known for it.
            **{f"a write in mode {mode:#x}": raw_write(mode) for mode in (0x0C, 0x0D, 0x08, 0x04, 0x00)},
            "transactions among words of any value": transactions(),
            **{
                f"a tree of SMB1 of {service!r} at {path}": smb1_tree(service, path)
                for service, path in (
                    *((b"IPC\0", "\\\\FILES\\x"), (b"A:\0", "\\\\FILES\\IPC$"), (b"A:\0", "\\\\FILES\\x")),
                    (b"IPCS\0", "IPC$"),
                )
            },
            "a second message of a segment cut in its header": cut_behind(framed(smb2(CREATE, b"", 99)[:63])).sent,
            "a second message of a segment that is a header": cut_behind(
                framed(smb2(CREATE, b"", 99, response=True))
            ).sent,
        }.items()
    },
    **{f"{count} opens of 3": (many_opens(count).sent, replace(DEFAULTS, opens=3)) for count in (3, 4)},
    **{f"{count} trees of 3": (many_trees(count).sent, replace(DEFAULTS, trees=3)) for count in (3, 4)},
}


def told(case: tuple[Sent, Limits]) -> Iterator[str]:
    sent, limits = case
    events = run(stream(sent), limits=limits)
    yield from said(events)
    if sent in WHOLE:
        batches = only(events, ChannelBatch)
        records = [
            *(batch.channel for batch in batches),
            *(batch.smb for batch in batches),
            *only(events, SmbSession),
        ]
        # What is not known is left out.
        yield from dict.fromkeys(re.sub(r"\w+=None, |, \w+=None(?=\))", "", str(record)) for record in records)


OUTCOMES = Outcomes(Path(__file__).with_name("message_fields.txt"), CASES, told)


@pytest.mark.parametrize("name", CASES)
def test_each_field_is_read_in_its_own_place(name: str) -> None:
    OUTCOMES.holds(name)


def test_fields_are_as_written() -> None:
    OUTCOMES.is_as_written()


# Memory


def memory_after(sent: Sent) -> list[int]:
    """About how many bytes a connection takes after each message."""
    connection = SmbConnection(SharedState(Keyring()), Connection(0, CLIENT, SERVER, True))
    found = []
    for event in stream(sent, closed=False):
        connection.feed(event)
        found.append(connection.memory)
    return found


def test_a_connection_takes_memory_for_requests_setups_sessions_trees_and_what_is_not_whole() -> None:
    """4000 for itself, 400 a request and what it keeps, 6000 a setup or session, 500 a tree and its path."""
    talk = Talk().begin().tree("\\\\F\\IPC$")
    waiting = memory_after([*talk.sent, (0, framed(smb2(CREATE, noisy_create("winreg"), 90)))])
    tree = 500 + len("\\\\F\\IPC$")
    assert waiting == [
        *(4400, 4000),
        *(4400, 4000 + 6000),
        *(10400, 10000),
        *(10400 + len("\\\\F\\IPC$"), 10000 + tree),
        10400 + tree + len("winreg"),
    ]
    number = talk.ask(LOGOFF, b"\x04\0\0\0")
    talk.answer(number, LOGOFF, b"\x04\0\0\0")
    assert memory_after(talk.sent)[-1] == 4000
    # A message that is coming in: its bytes, and 300 for each piece of them.
    assert memory_after([(0, framed(smb2(CREATE, noisy_create("winreg"), 1))[:50])]) == [4050]


def test_an_smb1_connection_takes_memory_for_requests_and_setups() -> None:
    sent = connected()
    tree = 500 + len("\\\\FILES\\IPC$")
    assert memory_after(sent) == [
        *(4500 + 400, 4400),
        *(4900, 4400 + 6000),
        *(10900, 10400),
        *(10900, 10400 + tree),
        *(10900 + tree, 10400 + tree),
    ]


# Cut and crowded messages


def test_a_table_of_codes_may_be_all_there_is() -> None:
    """The reader runs ahead, and what it takes from behind the end are zeros."""
    lengths = bytearray(256)
    lengths[ord("A") // 2] = 0x10
    assert lz77_huffman(bytes(lengths), 3) == b"AAA"
    with pytest.raises(TruncatedError):
        lz77_huffman(bytes(lengths[:-1]), 3)


def test_bytes_around_a_loss_are_no_header_together() -> None:
    """The beginning of a header before the loss, and the rest of another one behind it."""
    connection = Connection(0, CLIENT, SERVER, True)
    message = framed(smb2(CREATE, b"", 1))
    framing = Framing("here", seeking=True)
    out = framing.feed(TracedBytes.of_frame(b"noise" + message[:6], 1, 0, 1))
    out += framing.gap(Gap(connection, 0, 0, 9, (1, 2), "lost"))
    out += framing.feed(TracedBytes.of_frame(message[6:] + message, 2, 0, 2))
    found = [event for event in out if isinstance(event, Message)]
    assert [(one.length, one.frames) for one in found] == [(64, (2,))]
    assert [event.text for event in out if isinstance(event, Problem)] == [
        f"here: 9 bytes of SMB messages not captured (lost), {5 + 6 + 62} more passed over to the next SMB header"
    ]
