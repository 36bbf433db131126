"""Files over SMB: what conversations do to files, and what of their content passed."""

import struct
from collections.abc import Iterable
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.events import Event
from analyzer.core.limits import DEFAULTS
from analyzer.pipeline.run import analyze
from analyzer.results.connection import SmbSession
from analyzer.results.records.opened_file import FileRecord, PassedContent
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.smb.files import file_log, file_tracker
from analyzer.transport.smb.files.file_log import FileLog
from analyzer.transport.smb.files.file_tracker import Carried, Content, EarlyBytes
from analyzer.transport.smb.smb_layer import SmbLayer
from analyzer.transport.tcp.stream_events import Connection
from tests.build.calls import smb_session
from tests.build.chain import through
from tests.build.smb import (
    ANDX_END,
    CLOSE,
    CREATE,
    FILE_ID,
    GCM_128,
    READ,
    SERVER,
    SESSION_ID,
    SESSION_KEY,
    WRITE,
    Talk,
    close_request,
    compound,
    create_request,
    framed,
    pdu,
    read_response,
    smb1,
    smb2,
    stream,
    with_hole,
    write_response,
)
from tests.corpus import CORPUS
from tests.test_corpus import XP
from tests.transport.smb.run import recognised
from tests.written import Told

SET_INFO = 0x11
OPENED, CREATED = 1, 2
ACCESS_DENIED = 0xC0000022
MZ = b"MZ\x90\0" + bytes(range(200))
SHARE = "\\\\FILES\\ADMIN$"
WRITTEN = f"tree:{SHARE} create:a.exe write:0..204@0"
NOT_TOLD = ("client", "server", "first_time_ns", "last_time_ns", "frame_files")


def found(events: Iterable[Event], keyring: Keyring | None = None) -> list[FileRecord]:
    """The files of the events of connections."""
    log = FileLog(DEFAULTS)
    ended = through([SmbLayer(keyring or Keyring(), message_log=log.take_message)], recognised(events))
    return list(log.found([one for one in ended if isinstance(one, SmbSession)]).files)


def created(size: int = 0, action: int = CREATED, *, attributes: int = 0x80, file_id: bytes = FILE_ID) -> bytes:
    """The answer to a CREATE."""
    fixed = struct.pack("<HBBI32xQQII16s", 89, 0, 0, action, size, size, attributes, 0, file_id)
    return fixed + struct.pack("<II", 0, 0) + b"\0"


def write_at(data: bytes, offset: int, file_id: bytes = FILE_ID) -> bytes:
    return struct.pack("<HHIQ16sIIHHI", 49, 112, len(data), offset, file_id, 0, 0, 0, 0, 0) + data


def read_at(offset: int, length: int = 4096, file_id: bytes = FILE_ID) -> bytes:
    return struct.pack("<HBBIQ16sIIIHH", 49, 0, 0, length, offset, file_id, 0, 0, 0, 0, 0) + b"\0"


def set_info(level: int, buffer: bytes) -> bytes:
    return struct.pack("<HBBIHHI16s", 33, 1, level, len(buffer), 96, 0, 0, FILE_ID) + buffer


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def share_of(words: str) -> Talk:
    """A conversation in words: `tree:path`, `create:name@attributes`, `open:name@size`, `write:data@offset`, `rename:name`, ...

    Data is text, `DCERPC`, or bytes of a program as `from..to`; what ends in `!` is refused by the server.
    """
    talk = Talk().begin()
    for word in words.split():
        what, _, value = word.rstrip("!").partition(":")
        status = ACCESS_DENIED if word.endswith("!") else 0
        text, _, at = value.partition("@")
        data = MZ[slice(*map(int, text.split("..")))] if ".." in text else pdu() if text == "DCERPC" else text.encode()
        if what == "tree":
            talk.tree(value, share_type=2 if "IPC" in value else 1)
        elif what in ("create", "open"):
            body = created(int(at), OPENED) if what == "open" else created(attributes=int(at or "128"))
            number = talk.ask(CREATE, create_request(text), tree=1)
            talk.answer(number, CREATE, struct.pack("<HHI", 9, 0, 0) if status else body, tree=1, status=status)
        elif what == "write":
            talk.answer(
                talk.ask(WRITE, write_at(data, int(at)), tree=1),
                WRITE,
                write_response(len(data)),
                tree=1,
                status=status,
            )
        elif what == "read":
            talk.answer(talk.ask(READ, read_at(int(at)), tree=1), READ, read_response(data), tree=1, status=status)
        elif what == "close":
            talk.close()
        else:
            raw = value.encode("utf-16-le")
            level, buffer = {
                "rename": (10, struct.pack("<B7xQI", 0, 0, len(raw)) + raw),
                "delete": (13, b"\1"),
                "cut": (20, struct.pack("<Q", int(value or 0)) if what == "cut" else b""),
            }[what]
            talk.answer(talk.ask(SET_INFO, set_info(level, buffer)), SET_INFO, struct.pack("<H", 2), status=status)
    return talk


def said(words: str) -> str:
    """What is said of each file of a conversation, or of one over SMB1; digests of programs as what they are of."""
    sent = (
        [(way, framed(message)) for way, message in smb1_conversation()]
        if words.strip() == "smb1"
        else share_of(words).sent
    )
    lines = (
        ", ".join(
            f"{name}={getattr(one, name)!r}"
            for name in one.__struct_fields__
            if name not in NOT_TOLD and getattr(one, name) not in (None, ())
        )
        for one in found(stream(sent))
    )
    return "".join(f"  = {line}\n" for line in lines).replace(repr(digest(MZ)), "that of the program")


TOLD = Told(Path(__file__).with_name("file_tracker.txt"), said)


@pytest.mark.parametrize("name", TOLD.words)
def test_each_conversation_has_its_files(name: str) -> None:
    TOLD.holds(name)


def test_bytes_that_were_not_captured_are_missing() -> None:
    talk = share_of(WRITTEN)
    at = sum(len(data) for direction, data in talk.sent[:-1] if direction == 0) - 50
    (one,) = found(with_hole(stream(talk.sent), 0, at, at + 10))
    assert (one.written.ranges, one.written.sha256, one.written.is_whole) == (((0, 154), (164, 204)), None, False)


@pytest.mark.parametrize("length", range(4, 33))
def test_a_short_smb1_message_hides_no_file(length: int) -> None:
    """A capture with short frames has such messages: the negotiation, cut off before its flags."""
    talk = share_of(WRITTEN)
    negotiation = smb1(0x72, b"", b"\2NT LM 0.12\0")[:length]
    assert [one.written and one.written.sha256 for one in found(stream([(0, framed(negotiation)), *talk.sent]))] == [
        digest(MZ)
    ]


def test_both_sides_of_a_relay_have_files_of_their_own() -> None:
    """The public capture smb-length-5770 has such a relay: the same ids, from port 4445 on to port 445."""
    talk = share_of(f"{WRITTEN} close")
    relay = Connection(1, Endpoint("10.0.0.9", 50000), Endpoint(SERVER.ip, 4445), True)
    both = [event for pair in zip(stream(talk.sent), stream(talk.sent, relay), strict=True) for event in pair]
    assert [one.written and one.written.sha256 for one in found(both)] == [digest(MZ)] * 2


def test_related_operations_of_a_compound_mean_the_file_that_it_opens() -> None:
    talk = Talk().begin().tree(SHARE, share_type=1)
    any_file, related = b"\xff" * 16, {"session": SESSION_ID, "tree": 1}
    asked = (
        smb2(CREATE, create_request("a.exe"), 100, **related),
        smb2(WRITE, write_at(MZ, 0, any_file), 101, flags=4, **related),
        smb2(CLOSE, close_request(any_file), 102, flags=4, **related),
    )
    answered = (
        smb2(CREATE, created(), 100, response=True, **related),
        smb2(WRITE, write_response(len(MZ)), 101, response=True, flags=5, **related),
        smb2(CLOSE, struct.pack("<HH56x", 60, 0), 102, response=True, flags=5, **related),
    )
    together = [*talk.sent, (0, framed(compound(*asked))), (1, framed(compound(*answered)))]
    apart = [*talk.sent, (0, framed(compound(*asked))), *((1, framed(one)) for one in answered)]
    for sent in (together, apart):
        (one,) = found(stream(sent))
        assert (one.name, one.written.sha256, one.closed) == ("a.exe", digest(MZ), True)


def test_files_of_an_encrypted_session_are_read_with_its_key() -> None:
    talk = Talk(cipher=GCM_128)
    talk.begin().sealed().tree(SHARE, share_type=1)
    talk.answer(talk.ask(CREATE, create_request("a.exe"), tree=1), CREATE, created(), tree=1)
    talk.answer(talk.ask(WRITE, write_at(MZ, 0)), WRITE, write_response(len(MZ)))
    key = Keyring.build(smb_session_keys=[f"{SESSION_ID:x},{SESSION_KEY.hex()}"])
    assert found(stream(talk.sent)) == []
    (one,) = found(stream(talk.sent), key)
    assert one.written.sha256 == digest(MZ)


def smb1_conversation() -> list[tuple[int, bytes]]:
    path, name = f"{SHARE}\0".encode("utf-16-le"), "\\a.exe\0".encode("utf-16-le")
    tree = ANDX_END + struct.pack("<HH", 0, 1)
    create = ANDX_END + struct.pack("<BHIIIQIIIIIB", 0, len(name), 0, 0, 0, 0, 0, 0, 5, 0, 2, 0)
    opened = ANDX_END + struct.pack("<BHI32xIQQHHB", 0, 0x4000, 2, 0x80, 0, 0, 0, 0, 0)
    start = 32 + 1 + 28 + 2
    write = ANDX_END + struct.pack("<HIIHHHHHI", 0x4000, 0, 0, 0, 0, 0, len(MZ), start, 0)
    read_start = 32 + 1 + 24 + 2
    read = ANDX_END + struct.pack("<HIHHIHI", 0x4000, 0, 4096, 0, 0, 0, 0)
    answer = ANDX_END + struct.pack("<HHHHHH8x", 0, 0, 0, len(MZ), read_start, 0)
    return [
        (0, smb1(0x75, tree, b"\0" + path + b"?????\0", mid=1)),
        (1, smb1(0x75, ANDX_END + bytes(2), b"A:\0", response=True, mid=1)),
        (0, smb1(0xA2, create, b"\0" + name, mid=2)),
        (1, smb1(0xA2, opened, response=True, mid=2)),
        (0, smb1(0x2F, write, MZ, mid=3)),
        (1, smb1(0x2F, ANDX_END + bytes(8), response=True, mid=3)),
        (0, smb1(0x2E, read, mid=4)),
        (1, smb1(0x2E, answer, MZ, response=True, mid=4)),
        (0, smb1(0x04, struct.pack("<HI", 0x4000, 0), mid=5)),
        (1, smb1(0x04, b"", response=True, mid=5)),
        (0, smb1(0x06, struct.pack("<H", 0), b"\4" + name, mid=6)),
        (1, smb1(0x06, b"", response=True, mid=6)),
        (0, smb1(0x07, struct.pack("<H", 0), b"\4" + name + b"\4\0" + "\\b\0".encode("utf-16-le"), mid=7)),
        (1, smb1(0x07, b"", response=True, mid=7)),
    ]


def test_more_files_than_are_listed_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_log, "MAX_FILES", 1)
    log = FileLog(DEFAULTS)
    talk = share_of(f"tree:{SHARE} create:a.exe close")
    talk.answer(talk.ask(CREATE, create_request("b"), tree=1), CREATE, created(), tree=1)
    through([SmbLayer(Keyring(), message_log=log.take_message)], recognised(stream(talk.sent)))
    listed = log.found(())
    assert (len(listed.files), [one.text for one in listed.omissions]) == (
        1,
        ["1 file beyond the first 1 is not listed"],
    )


# Content


@st.composite
def pieces(draw: st.DrawFn) -> tuple[bytes, list[tuple[int, int]]]:
    data = draw(st.binary(min_size=1, max_size=60))
    cuts = sorted(draw(st.sets(st.integers(0, len(data)), max_size=6)) | {0, len(data)})
    ranges = [*pairwise(cuts)]
    return data, draw(st.lists(st.sampled_from(ranges), unique=True, min_size=1)) if ranges else []


@given(pieces())
def test_a_digest_is_of_one_range_whatever_the_order(made: tuple[bytes, list[tuple[int, int]]]) -> None:
    data, parts = made
    content = Content(EarlyBytes())
    for start, stop in parts:
        content.add(start, data[start:stop], is_new=True)
    passed = content.passed(len(data))
    assert {at for part in parts for at in range(*part)} == {at for part in passed.ranges for at in range(*part)}
    if len(passed.ranges) == 1:
        start, stop = passed.ranges[0]
        assert passed.sha256 == digest(data[start:stop])
    assert passed.is_whole == (passed.ranges == ((0, len(data)),))
    assert (passed.sha256 is None) == (len(passed.ranges) > 1)


def test_too_much_out_of_order_has_no_digest_and_holds_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_tracker, "MAX_WAITING", 10)
    waiting = EarlyBytes()
    content = Content(waiting)
    content.add(0, b"a", is_new=False)
    for start in range(20, 2, -2):
        content.add(start, b"bc", is_new=False)
    content.add(1, b"x", is_new=False)
    content.add(2, b"y", is_new=False)
    passed = content.passed(22)
    assert (passed.ranges, passed.sha256, waiting.bytes) == (((0, 3), (4, 22)), None, 0)


def test_what_was_read_before_is_not_read_again() -> None:
    content = Content(EarlyBytes())
    for start, data in ((0, b"abc"), (1, b"bcd"), (0, b"ab")):
        content.add(start, data, is_new=False)
    assert content.passed(4) == PassedContent(8, ((0, 4),), True, digest(b"abcd"), b"abcd".hex())


# Captures


def test_a_file_is_of_the_session_that_carried_it_where_others_have_its_number() -> None:
    """UIDs of SMB1 begin anew on each connection; those of SMB2 are of all connections between two machines."""
    server, ends = Endpoint("10.0.0.2", 445), [Endpoint("10.0.0.1", port) for port in (1, 2, 3)]

    def session(number: int, client: Endpoint, first: int, dialect: str) -> SmbSession:
        made = smb_session(number)
        return replace(made, client=client, server=server, session_id=0x800, dialect=dialect, first_time_ns=first)

    def of(client: Endpoint, time_ns: int) -> int | None:
        record = sessions.session_of(Carried(client, server, 0x800, time_ns, ()))
        return record.number if record is not None else None

    sessions = file_log._BySession(
        [session(1, ends[0], 10, "1.0"), session(2, ends[0], 20, "1.0"), session(3, ends[1], 5, "1.0")]
    )
    assert [of(ends[0], time) for time in (5, 10, 19, 20, 30)] == [1, 1, 1, 2, 2]
    assert (of(ends[1], 30), of(ends[2], 30)) == (3, None)
    sessions = file_log._BySession([session(4, ends[0], 10, "3.1.1")])
    assert (of(ends[0], 30), of(ends[2], 30)) == (4, 4)


def test_files_are_of_captures_that_were_read_for_them() -> None:
    from tests.truth import CAPTURES

    source = CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"
    assert analyze([source], in_sessions="none", with_files=True).listed_files().files == ()
    with pytest.raises(InputError, match="files are read from captures"):
        analyze([source], in_sessions="none").listed_files()


@pytest.mark.corpus
def test_programs_that_an_intruder_copied_to_windows_xp() -> None:
    source = CORPUS / XP
    found = analyze([source], in_sessions="none", with_files=True).listed_files().files
    copied = [(one.name, one.size, one.written and one.written.sha256) for one in found if one.warnings]
    assert copied == [
        ("PSEXESVC.EXE", 181064, "1d4d787047200fc7bcbfc03a496cafda8e49075d2fbf2ff7feab90a4fdea8f89"),
        ("PSKLLSVC.EXE", 465672, "ab46c7b740a7a994608c4210ae8c4d253e49cc23cc8b63e89d0400ea83b1ae77"),
    ]


@pytest.mark.corpus
def test_programs_that_were_written_without_a_name_are_of_the_anonymous_session() -> None:
    source = CORPUS / "OISF-suricata-verify/tests__smb-filename__input.pcap"
    found = analyze([source], in_sessions="none", with_files=True).listed_files().files
    assert [one.user for one in found if one.warnings] == ["NT AUTHORITY\\ANONYMOUS LOGON"] * 2
