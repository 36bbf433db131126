"""What the probe sends, call by call, and what it makes of what comes back: nothing else may go to a server."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from struct import pack
from uuid import UUID

import pytest

from analyzer.interfaces.buffers.stub_decoding import decode_stub
from analyzer.probe import dcerpc_client, probe_run
from analyzer.probe.dcerpc_client import (
    BoundStream,
    Credentials,
    LostError,
    OfferedContext,
    Reply,
    handle_of,
)
from analyzer.probe.probe_calls import (
    ANY,
    Impersonation,
    Lab,
    block_types_of,
    context_handle,
    data_of,
    guids_of,
    identifier,
    names_of,
    needed_of,
    query_value,
    registration_of,
)
from analyzer.probe.probe_run import Rehearsal
from analyzer.probe.probe_script import Counterset, Known, Options, Script
from analyzer.results.security import AuthLevel
from tests.build import buffers, calls, rpc
from tests.build.buffers import Block, Ndr, instance_header, perf_data
from tests.interfaces.pcq.test_perflib_layer import counterset_info
from tests.written import is_as_written

HANDLE = "5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10"
GUID = "383487a6-3676-4870-a4e7-d45b30c35629"
CALLER, OTHER = Credentials("user", "domain", "password"), Credentials("other", "domain", "password")


class Recording(Rehearsal):
    """Opens associations to nobody, and notes what is sent: who opens which pipe, and each call."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.calls: list[str] = []

    def open(self, credentials: Credentials, pipe: str, impersonation: Impersonation) -> BoundStream:
        self.opened.append(f"{credentials.username} {pipe} {impersonation}")
        association = super().open(credentials, pipe, impersonation)
        original = association.call

        def call(context: int, opnum: int, stub: bytes) -> Reply:
            self.calls.append(f"context {context}, opnum {opnum}, {len(stub)} {sha256(stub).hexdigest()[:12]}")
            return original(context, opnum, stub)

        association.call = call
        return association


def ran(options: Options) -> tuple[Lab, Recording, list[str]]:
    """The whole script, and where it paused and waited."""
    recording, rests = Recording(), list[str]()
    lab = Lab(recording, CALLER, lambda: rests.append("pause"))
    Script(lab, options, lambda seconds: rests.append(f"wait {seconds}")).run()
    assert lab.failures == []
    return lab, recording, rests


WHOLE = Options(other=OTHER, large=True, polls=3, interval=0.5)


def told() -> Iterator[str]:
    lab, recording, rests = ran(WHOLE)
    sent = iter(recording.calls)
    triggers = list(dict.fromkeys(entry.triggers for entry in lab.log))
    for (step, association), entries in groupby(lab.log, key=lambda entry: (entry.step, entry.association)):
        yield f"{step}, association {association}: {recording.opened[association - 1]}"
        for entry in entries:
            call = f"; {next(sent)}" if entry.answer.opnum >= 0 else ""
            yield f" level {entry.level}, {entry.words} ({triggers.index(entry.triggers)}){call}"
    assert list(sent) == []
    yield ", ".join(f"{len(list(same))} {rest}" for rest, same in groupby(rests))
    for number, each in enumerate(triggers):
        yield f"{number}: {' '.join(each)}"


def test_the_whole_script() -> None:
    """`probe_script.txt` holds what a client with a second account sends: a call by its words, the number of its triggers, which
    the end lists, and its stub's length and beginning of its SHA-256."""
    is_as_written(Path(__file__).with_name("probe_script.txt"), "".join(f"{line}\n" for line in told()))


def test_a_client_of_one_account_sends_what_is_in_range() -> None:
    lab, recording, rests = ran(Options(polls=1))
    whole = {entry.words for entry in ran(WHOLE)[0].log}
    sent = {entry.words for entry in lab.log}
    assert set(rests) == {"pause"}
    assert not [one for one in recording.opened if one.startswith("other")]
    assert len(whole - sent) == len(whole) - len(sent) == 5


@pytest.mark.parametrize(
    ("kinds", "countersets", "chosen"),
    [
        ((2, 2, 0, 2), 1, [0, 2]),
        ((2, 2, 0, 2), 2, [0, 1, 2]),
        ((2, 0, 2, 0), 2, [0, 1]),
        ((2, 2, 2), 1, [0]),
        ((0, 0, 2), 1, [0, 2]),
        ((), 4, []),
        ((2,) * 99 + (0,), 1, [0, 99]),
        ((2,) * 100 + (0,), 1, [0]),
    ],
)
def test_a_counterset_of_either_kind_is_looked_for(
    kinds: tuple[int, ...], countersets: int, chosen: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = tuple((f"00000000-0000-4000-8000-{number:012}", kind) for number, kind in enumerate(kinds))
    monkeypatch.setattr(probe_run, "_SETS", sets)
    lab = Lab(Recording(), CALLER, lambda: None)
    script = Script(lab, Options(countersets=countersets), lambda _: None)
    script.countersets()
    script.registrations()
    assert script.known.guids == [guid for guid, _ in sets]
    assert [(one.guid, one.has_instances) for one in script.known.sets] == [
        (sets[number][0], sets[number][1] != 0) for number in chosen
    ]


def test_what_is_known_of_countersets_gives_identifiers_of_each_form() -> None:
    one = Counterset("1" * 8 + GUID[8:], [5], True, ["a"])
    two = Counterset("2" * 8 + GUID[8:], [7, 9, 8], True, ["b", "c"])
    bare = Counterset("3" * 8 + GUID[8:], [1, 2], True, [])
    single = Counterset("4" * 8 + GUID[8:], [3, 4], False)
    empty = Counterset("5" * 8 + GUID[8:], [], False)
    assert Known().multiple is Known().single is None
    assert Known(sets=[bare, empty]).identifiers() == []
    known = Known(sets=[bare, one, empty, two, single])
    assert (known.multiple, known.single) == (two, single)
    assert Known(sets=[one]).multiple == one
    assert Known(sets=[two, Counterset(GUID, [1, 2, 3, 4], True, ["x"])]).multiple == two
    expected = [
        buffers.identifier(two.guid, counter=7, instance=ANY, name="b"),
        buffers.identifier(two.guid, counter=ANY, instance=ANY, name="c"),
        buffers.identifier(two.guid, counter=8, instance=ANY, name="*"),
        buffers.identifier(two.guid, counter=ANY, instance=ANY, name="*"),
        buffers.identifier(single.guid, counter=3, instance=0, name=""),
    ]
    assert known.identifiers() == expected


# Stubs, against the builders of the tests


@pytest.mark.parametrize("ndr64", [False, True])
def test_the_request_of_a_value_is_read_as_it_was_meant(ndr64: bool) -> None:
    handle = context_handle(HANDLE)
    asked = query_value(handle, "238", 4096, ndr64=ndr64)
    decoded = decode_stub("winreg", 17, "request", asked, ndr64=ndr64)
    assert (decoded.consumed, decoded.notes) == (len(asked), ())
    assert decoded.params == {
        "hKey": {"attributes": 0, "uuid": HANDLE},
        "lpValueName": "238",
        "lpType": 0,
        "lpcbData": 4096,
        "lpcbLen": 0,
    }
    assert context_handle(HANDLE) == bytes(4) + UUID(HANDLE).bytes_le


@pytest.mark.parametrize("name", [None, "", "a", "abc", "name"])
def test_identifiers_are_those_of_another_builder(name: str | None) -> None:
    made_here = identifier(GUID, counter=3, instance=4, name=name)
    assert made_here == buffers.identifier(GUID, counter=3, instance=4, name=name)
    assert identifier(GUID, name=name, size=39)[20:24] == b"\x27\0\0\0"


# Answers


def answered(opnum: int, stub: Ndr | bytes, *, ndr64: bool = False) -> Reply:
    return Reply(stub.data if isinstance(stub, Ndr) else stub, opnum=opnum, ndr64=ndr64)


@pytest.mark.parametrize("ndr64", [False, True])
def test_what_answers_tell(ndr64: bool) -> None:
    make = calls.Calls(ndr64=ndr64)

    def of(opnum: int, data: bytes, status: int = 0, **options: int) -> Reply:
        return answered(opnum, make.sized(data, status, **options), ndr64=ndr64)

    guids = UUID(GUID).bytes_le + UUID(HANDLE).bytes_le
    assert guids_of(of(0, guids, element=16)) == [GUID, HANDLE]
    assert guids_of(of(0, b"", element=16)) == []
    assert registration_of(of(1, counterset_info((5, 0x10000), (7, 0x650)))) == ([5, 7], True)
    assert registration_of(of(1, counterset_info(instance_type=0))) == ([], False)
    assert registration_of(of(1, b"", 5)) == ([], False)
    assert names_of(of(2, instance_header("a", 1) + instance_header("", 2))) == ["a", ""]
    blocks = [Block(1, values=((b"1234",),)), Block(0, status=5), Block(4, instances=(("a", 1),), values=((b"1234",),))]
    assert block_types_of(of(6, perf_data(blocks))) == [1, 0, 4]
    assert block_types_of(of(6, b"")) == []
    assert data_of(of(6, b"x" * 8)) == b"x" * 8
    assert data_of(of(6, b"x" * 8, 5)) == b""
    assert data_of(answered(6, bytes(4))) == b""
    assert [needed_of(of(6, b"", status, needed=300)) for status in (0, 8, 5)] == [300, 300, None]
    assert needed_of(answered(6, pack("<II", 0, 9) + bytes(4))) == 9
    assert needed_of(answered(6, pack("<I", 9) + bytes(4))) is None


def test_answers_have_a_status_where_they_are_answers() -> None:
    assert Reply(pack("<II", 7, 8)).status == 8
    assert [one.status for one in (Reply(), Reply(b"1234", fault=5), Reply(b"1234", lost="gone"))] == [None] * 3
    assert [one.is_answered for one in (Reply(), Reply(fault=5), Reply(lost="gone"))] == [True, True, False]
    handle = context_handle(HANDLE)
    assert handle_of(Reply(handle + bytes(4))) == handle
    assert [handle_of(Reply(stub)) for stub in (handle + b"\5\0\0\0", handle[:19] + bytes(4), bytes(4))] == [None] * 3


# Associations: what is sent, and what comes back in pieces


class Scripted:
    """A stream whose answers are there already; what is sent is kept."""

    def __init__(self, *answers: bytes) -> None:
        self.sent: list[bytes] = []
        self.answers = list(answers)
        self.is_closed = False

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def receive(self) -> bytes:
        return self.answers.pop(0) if self.answers else b""

    def close(self) -> None:
        self.is_closed = True


PERFLIB = OfferedContext((rpc.PCQ, 1, 0))
ACK = rpc.bind_ack()


def bound(*answers: bytes) -> tuple[BoundStream, Scripted]:
    stream = Scripted(ACK, *answers)
    association = BoundStream(stream, CALLER)
    assert association.bind(PERFLIB, AuthLevel.NONE) == 0
    return association, stream


def test_a_bind_is_that_of_another_builder() -> None:
    association, stream = bound(
        rpc.bind_ack(ptype=rpc.ALTER_RESP), rpc.bind_ack([(2, 1, rpc.NDR)], ptype=rpc.ALTER_RESP)
    )
    assert stream.sent == [rpc.bind()]
    second = OfferedContext((rpc.WINREG, 1, 0), rpc.NDR64)
    assert association.bind(second, AuthLevel.NONE) == 1
    offered = rpc.context(1, rpc.WINREG, [rpc.NDR64])
    assert stream.sent[1] == rpc.bind([offered], ptype=rpc.ALTER, call_id=2)
    assert association.bind(PERFLIB, AuthLevel.NONE) is None
    assert [association.is_ndr64(number) for number in (0, 1)] == [False, True]
    association.close()
    assert stream.is_closed


@pytest.mark.parametrize("address", [b"", b"1\0", b"12\0", b"123\0", b"\\PIPE\\winreg\0"])
def test_results_of_a_bind_stand_behind_the_address(address: bytes) -> None:
    for result, number in ((0, 0), (2, None)):
        association = BoundStream(Scripted(rpc.bind_ack([(result, 0, rpc.NDR)], address=address)), CALLER)
        assert association.bind(PERFLIB, AuthLevel.NONE) == number


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (rpc.pdu(rpc.BIND_NAK, b"\0\0"), "the bind was refused"),
        (rpc.pdu(rpc.RESPONSE, bytes(8)), "the bind was not answered by an ack"),
        (b"", "the server ended the connection"),
        (rpc.pdu(rpc.BIND_ACK, bytes(8), frag_length=15), "the server sent what is no PDU"),
    ],
)
def test_a_bind_that_is_refused_says_why(answer: bytes, words: str) -> None:
    with pytest.raises(LostError, match=words):
        BoundStream(Scripted(answer), CALLER).bind(PERFLIB, AuthLevel.NONE)
    fault = rpc.pdu(rpc.FAULT, bytes(16))
    assert BoundStream(Scripted(fault), CALLER).bind(PERFLIB, AuthLevel.NONE) is None


def response(stub: bytes, *, flags: int = rpc.WHOLE, call_id: int = 2) -> bytes:
    return rpc.pdu(rpc.RESPONSE, pack("<IHH", len(stub), 0, 0) + stub, flags=flags, call_id=call_id)


def test_calls_go_out_in_pieces_and_answers_come_in_pieces() -> None:
    whole = response(b"first", flags=rpc.FIRST) + response(b"middle", flags=0) + response(b"last", flags=rpc.LAST)
    association, stream = bound(*(whole[at : at + 7] for at in range(0, len(whole), 7)))
    asked = bytes(range(256)) * 40
    assert association.call(0, 6, asked) == Reply(b"firstmiddlelast", opnum=6)
    pieces = [asked[:4000], asked[4000:8000], asked[8000:]]
    assert stream.sent[1:] == [
        rpc.pdu(rpc.REQUEST, pack("<IHH", len(asked), 0, 6) + piece, flags=flags, call_id=2)
        for piece, flags in zip(pieces, (rpc.FIRST, 0, rpc.LAST), strict=True)
    ]
    for length, count in ((0, 1), (3999, 1), (4000, 1), (4001, 2)):
        association, stream = bound(response(b"ok"))
        association.call(0, 3, bytes(length))
        assert len(stream.sent) - 1 == count


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (rpc.pdu(rpc.FAULT, bytes(8) + pack("<II", 0x1C010003, 0)), Reply(fault=0x1C010003, opnum=6)),
        (rpc.pdu(rpc.BIND_ACK, bytes(8)), Reply(lost="a PDU of type 12 came in place of an answer", opnum=6)),
        (b"", Reply(lost="the server ended the connection", opnum=6)),
        (response(b"half")[:-1], Reply(lost="the server ended the connection", opnum=6)),
        (rpc.pdu(rpc.RESPONSE, bytes(8), frag_length=9), Reply(lost="the server sent what is no PDU", opnum=6)),
    ],
)
def test_what_comes_in_place_of_an_answer(answer: bytes, expected: Reply) -> None:
    association, _ = bound(answer)
    assert association.call(0, 6, b"") == expected


def test_an_answer_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dcerpc_client, "_MOST_ANSWER", 1000)
    piece = response(bytes(500), flags=0)
    association, stream = bound()
    stream.receive = lambda: piece
    found = association.call(0, 6, b"")
    assert found.lost == "the answer is longer than any can be"
    # As much as that and one piece more is an answer still.
    association, _ = bound(piece, response(bytes(501), flags=rpc.LAST))
    assert len(association.call(0, 6, b"").stub) == 1001


def test_padding_of_the_trailer_is_no_part_of_an_answer() -> None:
    body = pack("<IHH", 5, 0, 0) + b"12345" + bytes(11)
    padded = rpc.pdu(rpc.RESPONSE, body, call_id=2, auth=rpc.Auth(bytes(16), 1, 10, 9), pad=11)
    association, _ = bound(padded)
    assert association.call(0, 6, b"").stub == b"12345"
