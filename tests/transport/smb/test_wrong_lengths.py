"""Lengths of SMB messages that are wrong: what a message's own fields prove about its end, and what they do not."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.events import Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.pipeline.run import analyze
from analyzer.transport.smb.message_ends import MAX_PADDING, end_by_fields
from analyzer.transport.smb.smb_framing import Framed, Framing, LostMessages, Message
from tests.build import smb
from tests.build.capture import NANO, pcap, read
from tests.build.smb import ANDX_END, framed, smb1, smb1_raw, smb2

CAPTURES = Path(__file__).parent / "captures"
SHARED = Path(__file__).parents[3] / "captures"
ASK = smb2(smb.IOCTL, smb.ioctl_request(smb.pdu()), 7)
NEXT = smb2(smb.READ, smb.read_request(), 8)
COVERED = framed(NEXT)


class Wire:
    """One direction; each piece is a frame of its own."""

    def __init__(self) -> None:
        self.framing = Framing("the client")
        self.out: list[Framed] = []
        self.frame = 0

    def take(self, *pieces: bytes) -> Wire:
        for data in pieces:
            self.frame += 1
            self.out += self.framing.feed(TracedBytes.of_frame(data, self.frame, 0, self.frame * 1000))
        return self

    def ends(self) -> tuple[list[bytes], list[str]]:
        """What the stream gave: the messages, and what is stated."""
        self.out += self.framing.finish()
        assert not [item for item in self.out if isinstance(item, LostMessages)]
        stated = [item.text for item in self.out if isinstance(item, Problem)]
        return [item.head.data for item in self.out if isinstance(item, Message)], stated


def wrong(message: bytes, length: int) -> bytes:
    return struct.pack(">I", length) + message


def in_own_frames(length: int) -> Wire:
    return Wire().take(wrong(ASK, length), COVERED, COVERED)


def in_one_frame(length: int) -> Wire:
    return Wire().take(wrong(ASK, length) + COVERED + COVERED)


def in_small_frames(length: int) -> Wire:
    # The first has all the fields. None ends where the wrong length does, nor soon after an end: nothing would show there what is
    # wrong.
    data, ends = wrong(ASK, length) + COVERED + COVERED, (4 + length, 4 + len(ASK))
    size = next(size for size in range(124, 147) if all(-end % size > 9 for end in ends))
    return Wire().take(*(data[at : at + size] for at in range(0, len(data), size)))


@pytest.mark.parametrize("sent", [in_own_frames, in_one_frame, in_small_frames])
def test_a_wrong_length_hides_no_message(sent: Callable[[int], Wire]) -> None:
    """Any bit of it: the message and the next ones are read, and what is wrong is stated once."""
    for bit in range(24):
        length = len(ASK) ^ 1 << bit
        got, stated = sent(length).ends()
        assert got == [ASK, NEXT, NEXT], (bit, stated)
        (text,) = stated
        assert text.startswith(f"the client: an SMB message announces {length} bytes; by its own fields and what"), bit
        assert text.endswith(f"follows it has {len(ASK)}, and is read so"), bit
    assert sent(len(ASK)).ends() == ([ASK, NEXT, NEXT], [])


def test_a_wrong_type_hides_no_message_whose_lengths_agree() -> None:
    for bit in range(8):
        kind = bytes([1 << bit])
        got, stated = Wire().take(kind + framed(ASK)[1:] + COVERED, COVERED).ends()
        assert got == [ASK, NEXT, NEXT]
        text = (
            f"the client: an SMB message stands in a NetBIOS packet of type {1 << bit:#04x}; it is as long as both say"
        )
        assert stated == [f"{text}, and is read"]
        # A length that is wrong too leaves nothing to agree with.
        wire = Wire().take(kind + wrong(ASK, 40)[1:], COVERED)
        assert [type(item) for item in wire.out] == [LostMessages, Problem, Message]


def test_a_message_is_whole_when_the_other_side_goes_on() -> None:
    """So a request stands before its answer."""
    wire = Wire().take(wrong(ASK, 0x10000))
    assert wire.out == []
    assert wire.framing.memory
    assert [type(item) for item in wire.framing.answered()] == [Problem, Message]
    assert wire.framing.memory == 0
    assert wire.framing.answered() == []
    # A message that is longer than its fields, or is not all there, waits.
    for begun in (wrong(ASK, 0x10000)[:-1], framed(ASK + bytes(MAX_PADDING + 2))[:-1]):
        wire = Wire().take(begun)
        assert wire.framing.answered() == []


def test_smb_inside_file_content_is_no_message() -> None:
    """By its own fields a message ends behind its content: what lies inside it proves nothing, whatever stands there."""
    content = COVERED * 20
    for message in (
        smb2(smb.READ, smb.read_response(content), 7, response=True),
        smb2(smb.WRITE, smb.write_request(content), 7),
        smb2(smb.IOCTL, smb.ioctl_response(content), 7, response=True),
    ):
        data = framed(message)
        begin = data.index(COVERED)
        for cut in (begin, begin + len(COVERED), begin + 30):
            assert Wire().take(data[:cut], data[cut:], COVERED).ends() == ([message, NEXT], [])
        # Even where the length is wrong.
        assert Wire().take(wrong(message, 1 << 20), COVERED, COVERED).ends()[0] == [message, NEXT, NEXT]
        cut_off = Wire().take(data[:begin], data[begin:-1])
        assert cut_off.framing.answered() == []
        got, stated = cut_off.ends()
        assert (got, len(stated)) == ([data[4:-1]], 1)


def test_what_fields_do_not_state_is_left() -> None:
    """A message of an unknown command keeps the length that it announces, and so do fields that are wrong themselves."""
    unknown = smb2(99, bytes(40), 7)
    assert end_by_fields(unknown) is None
    assert Wire().take(wrong(unknown, 1 << 20), COVERED).ends()[0] == [unknown + COVERED]
    beyond = smb2(
        smb.WRITE, smb.write_request(b"x" * 40).replace(struct.pack("<I", 40), struct.pack("<I", 1 << 20), 1), 7
    )
    assert Wire().take(framed(beyond) + COVERED[:3], COVERED[3:]).ends() == ([beyond, NEXT], [])
    for short in range(len(ASK)):
        assert end_by_fields(ASK[:short]) in (None, len(ASK))


@pytest.mark.parametrize("parts", [(COVERED, COVERED), (COVERED + COVERED,), ()])
def test_fields_that_promise_more_than_comes_cover_nothing(parts: tuple[bytes, ...]) -> None:
    """Noise behind a message whose fields are noise too: what the framing announces stays."""
    noise = smb2(smb.WRITE, smb.write_request(b"x" * 40).replace(struct.pack("<I", 40), struct.pack("<I", 5000), 1), 7)
    wire = Wire().take(framed(noise) + b"\xaa" * 20, *parts)
    wire.out += wire.framing.finish()
    messages = [item.head.data for item in wire.out if isinstance(item, Message)]
    assert messages == [noise, *([NEXT] * 2 if parts else [])]
    assert [item.reason for item in wire.out if isinstance(item, LostMessages)] == ["no SMB header where one was due"]


_TRANSACTION = smb.trans_request(smb.pdu())
_CREATE_WORDS = b"\xff\0\0\0" + bytes(80)


@pytest.mark.parametrize(
    "message",
    [
        smb2(smb.NEGOTIATE, smb.negotiate_request(), 0),
        smb2(smb.NEGOTIATE, smb.negotiate_request((0x0202, 0x0210))[:40], 0),
        smb2(smb.NEGOTIATE, smb.negotiate_response(cipher=2), 0, response=True),
        smb2(smb.NEGOTIATE, smb.negotiate_response(0x0300), 0, response=True),
        smb2(smb.SETUP, smb.setup_request(b"token"), 1),
        smb2(smb.SETUP, smb.setup_response(b"token"), 1, response=True, status=smb.MORE_PROCESSING),
        smb2(smb.TREE, smb.tree_request("\\\\server\\IPC$"), 2),
        smb2(smb.TREE, smb.tree_response(), 2, response=True),
        smb2(smb.CREATE, smb.create_request("winreg", (b"DHnQ", bytes(16))), 3),
        smb2(smb.CREATE, smb.create_response(smb.FILE_ID, (b"DHnQ", bytes(8))), 3, response=True),
        smb2(smb.CLOSE, smb.close_request(), 4),
        smb2(smb.READ, smb.read_request(), 5),
        smb2(smb.READ, smb.read_response(b"data"), 5, response=True),
        smb2(smb.READ, struct.pack("<HHI", 9, 0, 0), 5, response=True, status=0xC0000011),
        smb2(smb.READ, struct.pack("<HHI", 9, 0, 0) + b"\0", 5, response=True, status=smb.PENDING, async_id=1),
        smb2(smb.WRITE, smb.write_request(b"data"), 6),
        smb2(smb.WRITE, smb.write_response(4), 6, response=True),
        smb2(smb.IOCTL, smb.ioctl_response(b"data"), 7, response=True),
        smb.compound(smb2(smb.CREATE, smb.create_request("a"), 1), smb2(smb.CLOSE, smb.close_request(), 2)),
        smb.seal(ASK, bytes(16), smb.GCM_128, bytes(12)),
        smb1(0x72, b"", b"\x02NT LM 0.12\0"),
        smb1(0x75, ANDX_END + bytes(4), b"\0\\\\server\\IPC$\0"),
        smb1(
            0x75,
            b"\x2e\0" + struct.pack("<H", 32 + 1 + 8 + 2 + 5) + bytes(4),
            b"\0name" + b"\x0a" + ANDX_END + bytes(18),
        ),
        smb1_raw(0x25, _TRANSACTION),
        smb1_raw(0x25, smb.trans_response(smb.pdu()), response=True),
        # The last words of this answer are not counted.
        smb1(0xA2, _CREATE_WORDS, response=True) + bytes(14),
        smb1(0x2E, struct.pack("<4s6xHHH8x", ANDX_END, 1, 60, 1), b"\0", response=True) + bytes(65537),
        smb1(0x2F, struct.pack("<4s14xHHH", ANDX_END, 1, 1, 60), b"\0") + bytes(65537),
    ],
)
def test_messages_end_where_their_fields_say(message: bytes) -> None:
    end = end_by_fields(message)
    assert end is not None
    assert 0 <= len(message) - end <= MAX_PADDING
    # So the next one is found behind it.
    assert Wire().take(wrong(message, len(message) + 0x20000), COVERED).ends()[0] == [message, NEXT]


@pytest.mark.parametrize(
    ("path", "secrets"),
    [
        (CAPTURES / "two_users_smb1.pcap", None),
        (CAPTURES / "guest_smb21.pcap", None),
        (SHARED / "v1_samba_impacket_smb311_noauth.pcap", None),
        (SHARED / "v1_samba_sambapy_smb311gcm256_krb5aes256_seal.pcap", SHARED / "aes256.keytab"),
    ],
    ids=["smb1", "smb2", "smb3", "encrypted"],
)
def test_a_wrong_length_in_a_capture_costs_no_call(path: Path, secrets: Path | None, tmp_path: Path) -> None:
    keyring = Keyring.load(secrets) if secrets is not None else None
    frames = [(frame.time_ns, bytes(frame.data)) for frame in read(path)[0]]

    def calls(given: list[tuple[int, bytes]]) -> Counter[object]:
        written = tmp_path / "wrong.pcap"
        written.write_bytes(pcap(given, magic=NANO))
        analysis = analyze([written], keyring)
        return Counter((call.number, call.state, call.opnum, call.status, call.pipe) for call in analysis.calls)

    whole, chosen = calls(frames), random.Random(path.name)
    assert whole
    begin = 14 + 20 + 32
    lengths = [at for at, (_, frame) in enumerate(frames) if frame[begin + 5 : begin + 8] == b"SMB"]
    for _ in range(12):
        at, bit = chosen.choice(lengths), chosen.randrange(24)
        time_ns, frame = frames[at]
        changed = bytearray(frame)
        changed[begin + 1 + bit // 8] ^= 1 << bit % 8
        assert calls([*frames[:at], (time_ns, bytes(changed)), *frames[at + 1 :]]) == whole, (at + 1, bit)
