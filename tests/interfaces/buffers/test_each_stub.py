"""Each stub of PerflibV2 cut at each place and with each number changed: what is read at once is what the compiled parser reads."""

from __future__ import annotations

from collections.abc import Iterator
from struct import pack, unpack_from
from uuid import UUID

import pytest

from analyzer.core.errors import DecodeError
from analyzer.core.traced import untraced
from analyzer.interfaces.buffers import StubKind, map_fields, stubs
from analyzer.interfaces.buffers.stubs import (
    Interface,
    Side,
    StubDecode,
    StubPlaces,
    compiled_stub,
    decode_stub,
    stub_places,
)
from tests.build.buffers import Ndr
from tests.interfaces.buffers.test_fast import HANDLE, stated_of

ARRAY = b"some bytes, as many as these"


def answer(data: bytes = ARRAY, room: int | None = None) -> Ndr:
    return Ndr().uint(len(data)).uint(77).array(data, len(data) if room is None else room).uint(0x1234)


STUBS: list[tuple[str, int, Side, Ndr]] = [
    ("all countersets", 0, "request", Ndr().string("\\\\S").uint(256)),
    ("all countersets, answer", 0, "response", Ndr().uint(1).uint(2).array(UUID(HANDLE).bytes_le, 256, 16).uint(5)),
    ("registration", 1, "request", Ndr().string("\\\\SRV").uuid(HANDLE).uint(3).uint(0x407).uint(99)),
    ("registration, even name", 1, "request", Ndr().string("\\\\S").uuid(HANDLE).uint(3).uint(0x407).uint(99)),
    ("registration, answer", 1, "response", answer()),
    ("instances", 2, "request", Ndr().string("\\\\SRV1").uuid(HANDLE).uint(7)),
    ("instances, answer", 2, "response", answer(b"odd length...", 4096)),
    ("open", 3, "request", Ndr().string("\\\\SRV1")),
    ("open, answer", 3, "response", Ndr().handle(HANDLE, 9).uint(5)),
    ("close", 4, "request", Ndr().handle(HANDLE, 9)),
    ("close, answer", 4, "response", Ndr().handle(HANDLE, 9).uint(5)),
    ("info", 5, "request", Ndr().handle(HANDLE, 9).uint(300)),
    ("info, answer", 5, "response", answer(b"")),
    ("data", 6, "request", Ndr().handle(HANDLE, 9).uint(300)),
    ("data, answer", 6, "response", answer(b"x", 5)),
    ("validate", 7, "request", Ndr().handle(HANDLE, 9).uint(5).conformant(b"abcde").uint(1)),
    ("validate, answer", 7, "response", Ndr().conformant(b"abcdefgh").uint(5)),
    ("no such method", 8, "request", Ndr().uint(1)),
]


def each_changed(data: bytes) -> Iterator[bytes]:
    yield data
    yield data + b"\1"
    yield data + bytes(8)
    yield from (data[:length] for length in range(len(data)))
    for at in range(0, len(data) - 3, 4):
        (old,) = unpack_from("<I", data, at)
        for new in {0, 1, 2, 0xFFFFFFFF, old + 1, old - 1, old + 4, old - 4}:
            yield data[:at] + pack("<I", new & 0xFFFFFFFF) + data[at + 4 :]


@pytest.mark.parametrize(("opnum", "side", "stub"), [one[1:] for one in STUBS], ids=[one[0] for one in STUBS])
def test_a_stub_is_read_alike_in_each_way(opnum: int, side: Side, stub: Ndr) -> None:
    for data in each_changed(stub.data):
        stated = stated_of(lambda data=data: compiled_stub("perflib-v2", opnum, side, data))  # type: ignore[misc]
        assert stated_of(lambda data=data: decode_stub("perflib-v2", opnum, side, data)) == stated  # type: ignore[misc]
        places = stated_of(lambda data=data: stub_places("perflib-v2", opnum, side, untraced(data)))  # type: ignore[misc]
        if isinstance(stated, StubDecode):
            assert isinstance(places, StubPlaces)
            assert (places.params, places.status, places.consumed) == (stated.params, stated.status, stated.consumed)
            assert (data[slice(*places.data)] if places.data is not None else None) == stated.data
        else:
            assert places == stated


# What each of these says, by its builder.
SAID = {
    "all countersets": ({"szMachine": "\\\\S", "dwInSize": 256}, None, None),
    "all countersets, answer": ({"pdwOutSize": 1, "pdwRtnSize": 2}, UUID(HANDLE).bytes_le, 5),
    "registration": (
        {"szMachine": "\\\\SRV", "CounterSetGuid": HANDLE, "RequestCode": 3, "RequestLCID": 0x407, "dwInSize": 99},
        None,
        None,
    ),
    "registration, answer": ({"pdwOutSize": 28, "pdwRtnSize": 77}, ARRAY, 0x1234),
    "instances": ({"szMachine": "\\\\SRV1", "CounterSetGuid": HANDLE, "dwInSize": 7}, None, None),
    "instances, answer": ({"pdwOutSize": 13, "pdwRtnSize": 77}, b"odd length...", 0x1234),
    "open": ({"szMachine": "\\\\SRV1"}, None, None),
    "open, answer": ({"phQuery": {"attributes": 9, "uuid": HANDLE}}, None, 5),
    "close": ({"phQuery": {"attributes": 9, "uuid": HANDLE}}, None, None),
    "close, answer": ({"phQuery": {"attributes": 9, "uuid": HANDLE}}, None, 5),
    "info": ({"hQuery": {"attributes": 9, "uuid": HANDLE}, "dwInSize": 300}, None, None),
    "info, answer": ({"pdwOutSize": 0, "pdwRtnSize": 77}, b"", 0x1234),
    "data": ({"hQuery": {"attributes": 9, "uuid": HANDLE}, "dwInSize": 300}, None, None),
    "data, answer": ({"pdwOutSize": 1, "pdwRtnSize": 77}, b"x", 0x1234),
    "validate": ({"hQuery": {"attributes": 9, "uuid": HANDLE}, "dwInSize": 5, "dwAdd": 1}, b"abcde", None),
    "validate, answer": ({}, b"abcdefgh", 5),
}


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_stub_says_what_was_put_in(name: str, compiled: bool) -> None:
    opnum, side, stub = next(one[1:] for one in STUBS if one[0] == name)
    found = (compiled_stub if compiled else decode_stub)("perflib-v2", opnum, side, stub.data)
    assert (found.params, found.data, found.status) == SAID[name]
    assert (found.consumed, found.notes) == (len(stub.data), ())
    if found.data:
        assert stub.data[found.data_start :].startswith(found.data)


@pytest.mark.parametrize("opnum", range(8))
def test_a_referent_before_the_name_of_the_server_is_read_over(opnum: int) -> None:
    """A peer that took szMachine for a unique pointer sends one first ([MS-PCQ] section 6; C706 14.3.10)."""
    whole = {
        0: Ndr().uint(0x20000).string("\\\\S").uint(256),
        1: Ndr().uint(0x20000).string("\\\\S").uuid(HANDLE).uint(3).uint(4).uint(99),
        2: Ndr().uint(0x20000).string("\\\\S").uuid(HANDLE).uint(7),
        3: Ndr().uint(0x20000).string("\\\\S"),
    }
    if opnum in whole:
        found = decode_stub("perflib-v2", opnum, "request", whole[opnum].data)
        assert (found.params["szMachine"], found.consumed) == ("\\\\S", len(whole[opnum].data))
        assert found.notes == ("szMachine is preceded by a referent, as if it were a unique pointer",)


def refused(*_: object, **__: object) -> StubDecode:
    raise AssertionError("not on the quick path")


# What collectors ask for once in a while, and the parser reads: PerflibV2EnumerateCounterSet and the request to open a query.
SELDOM = {"all countersets", "all countersets, answer", "open", "no such method"}


@pytest.mark.parametrize("one", STUBS, ids=[one[0] for one in STUBS])
def test_what_collectors_call_all_day_never_meets_the_parser(
    one: tuple[str, int, Side, Ndr], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stubs, "compiled_stub", refused)
    name, opnum, side, stub = one
    if name in SELDOM:
        with pytest.raises(AssertionError, match="not on the quick path"):
            decode_stub("perflib-v2", opnum, side, stub.data)
    else:
        assert decode_stub("perflib-v2", opnum, side, stub.data).consumed == len(stub.data)
        with pytest.raises(AssertionError, match="not on the quick path"):
            decode_stub("perflib-v2", opnum, side, stub.data[:-1])


@pytest.mark.parametrize(
    ("ndr64", "big_endian", "interface"),
    [(True, False, "perflib-v2"), (False, True, "perflib-v2"), (True, True, "perflib-v2"), (False, False, "winreg")],
)
def test_only_little_endian_ndr20_of_perflib_is_read_quickly(
    ndr64: bool, big_endian: bool, interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stubs, "compiled_stub", refused)
    monkeypatch.setattr(stubs, "_common_stub", lambda *_: "quick")
    assert decode_stub("perflib-v2", 6, "response", answer().data) == "quick"
    with pytest.raises(AssertionError, match="not on the quick path"):
        decode_stub(interface, 6, "response", answer().data, ndr64=ndr64, big_endian=big_endian)


LENGTHS = [0, 1, 3, 4, 5, 28]


@pytest.mark.parametrize("opnum", [1, 2, 5, 6])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_long_answer_is_read_from_both_its_ends(opnum: int, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Down to the shortest one, of which lpData has no bytes; the array is padded to 4 before the status."""
    data = answer(bytes(range(length)), length + 9).data
    monkeypatch.setattr(stubs, "decode_stub", refused)
    for behind in (b"", b"more"):
        assert stub_places("perflib-v2", opnum, "response", untraced(data + behind)) == StubPlaces(
            {"pdwOutSize": length, "pdwRtnSize": 77}, (20, 20 + length), 0x1234, len(data)
        )
    with pytest.raises(AssertionError, match="not on the quick path"):
        stub_places("perflib-v2", opnum, "response", untraced(data[:-1]))


@pytest.mark.parametrize(
    ("interface", "opnum", "side", "ndr64", "big_endian"),
    [
        ("winreg", 6, "response", False, False),
        ("perflib-v2", 6, "request", False, False),
        ("perflib-v2", 6, "response", True, False),
        ("perflib-v2", 6, "response", False, True),
        *(("perflib-v2", opnum, "response", False, False) for opnum in (0, 3, 4, 7, 8)),
    ],
)
def test_other_stubs_are_read_whole(
    interface: Interface, opnum: int, side: Side, ndr64: bool, big_endian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stubs, "decode_stub", refused)
    with pytest.raises(AssertionError, match="not on the quick path"):
        stub_places(interface, opnum, side, untraced(answer().data), ndr64=ndr64, big_endian=big_endian)


@pytest.mark.parametrize("opnum", [4, 5, 6, 7])
def test_where_there_is_no_name_of_a_server_a_referent_helps_nothing(opnum: int) -> None:
    stub = Ndr().uint(0x20000).string("\\\\S")
    with pytest.raises(DecodeError):
        compiled_stub("perflib-v2", opnum, "request", stub.data[:12])
    mapped = map_fields(StubKind("perflib-v2", opnum, "request"), stub.data[:12])
    assert mapped.problem is not None
    assert mapped.notes == ()


def test_an_answer_is_never_read_with_a_referent() -> None:
    """Only requests have szMachine; damage of an answer is what it is at the first reading."""
    for data in (b"", Ndr().uint(0x20000).data):
        first = stated_of(lambda data=data: compiled_stub("perflib-v2", 3, "response", data))  # type: ignore[misc]
        mapped = map_fields(StubKind("perflib-v2", 3, "response"), data)
        assert isinstance(first, tuple)
        assert str(mapped.problem) == first[1]
