"""Stubs of PerflibV2 and winreg in every representation, whole, cut and changed: what is read at once is what the parser reads."""

from collections.abc import Callable, Iterator
from pathlib import Path
from struct import pack, unpack_from
from typing import Any, NamedTuple, cast
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.errors import DecodeError
from analyzer.core.traced_bytes import untraced
from analyzer.interfaces import buffers
from analyzer.interfaces.buffers import stub_decoding
from analyzer.interfaces.buffers.buffer_trees import decode_buffer
from analyzer.interfaces.buffers.compiled_stubs import compiled_stub
from analyzer.interfaces.buffers.field_map import StubKind, map_fields
from analyzer.interfaces.buffers.stub_decoding import Interface, Side, StubDecode, StubPlaces, decode_stub, stub_places
from tests.build.buffers import Ndr, Order, wide
from tests.interfaces.buffers.strategies import u32

GUID, OTHER = "383487a6-3676-4870-a4e7-d45b30c35629", "51d1685c-35ed-45be-99fe-17261a4f27f3"
HANDLE = "5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10"
HQUERY = {"attributes": 9, "uuid": HANDLE}
GUIDS = UUID(GUID).bytes_le + UUID(OTHER).bytes_le


def query(stub: Ndr, *values: str) -> Ndr:
    """lpType, lpData with its room, lpcbData, lpcbLen; each a null pointer where it is `-`."""
    for number, value in enumerate(values):
        if value == "-":
            stub.null()
        elif "/" in value:
            stub.pointer(number).array(value.partition("/")[0].encode(), int(value.partition("/")[2]))
        else:
            stub.pointer(number).uint(int(value))
    return stub


def security(stub: Ndr) -> Ndr:
    """SECURITY_ATTRIBUTES with a descriptor of 8 bytes."""
    return stub.align(stub.width).uint(24).pointer(5).uint(8).uint(8).uint(1, 1).array(b"security", 8)


def several(stub: Ndr) -> Ndr:
    """Two entries of BaseRegQueryMultipleValues."""
    stub.count(2).count(0).count(2)
    for number in range(2):
        stub.align(stub.width).pointer(number).uint(10).count(0 if number else 0x30000).uint(3).align(stub.width)
    return stub.align(stub.width).unicode_string("Global").uint(4).unicode_string("2 4")


# How each word of a stub is written, by what it begins with; the rest of the word is what is written.
WORDS: dict[str, Callable[[Ndr, str], Ndr]] = {
    "int:": lambda ndr, text: ndr.uint(int(text, 0)),
    "short:": lambda ndr, text: ndr.uint(int(text, 0), 2),
    "text:": lambda ndr, text: ndr.string(text),
    "name:": lambda ndr, text: ndr.unicode_string(text.replace("_", " ")),
    "name2:": lambda ndr, text: ndr.unicode_string(text, 2),
    "to:": lambda ndr, text: ndr.pointer(int(text)),
    "null": lambda ndr, _: ndr.null(),
    "guid": lambda ndr, _: ndr.uuid(GUID),
    "handle": lambda ndr, _: ndr.handle(HANDLE, 9),
    "bytes:": lambda ndr, text: ndr.array(text.partition("/")[0].encode(), int(text.partition("/")[2])),
    "guids:": lambda ndr, text: ndr.array(GUIDS, int(text), 16),
    "sized:": lambda ndr, text: ndr.conformant(text.encode()),
    "query:": lambda ndr, text: query(ndr, *text.split(",")),
    "empty": lambda ndr, _: ndr.align(ndr.width).uint(0, 2).uint(0, 2).null(),
    "security": lambda ndr, _: security(ndr),
    "several": lambda ndr, _: several(ndr),
}
VALUES: dict[str, Any] = {
    "None": None,
    "GUID": GUID,
    "HANDLE": HQUERY,
    "GUIDS": GUIDS,
    "EMPTY": b"",
    "TIME": 0x019DB1DE_D53E8000,
    "SECURITY": {"nLength": 24, "cbOutSecurityDescriptor": 8, "bInheritHandle": 1},
    "SEVERAL": [
        {"ve_valuename": "Global", "ve_valuelen": 10, "ve_valueptr": 4, "ve_type": 3},
        {"ve_valuename": "2 4", "ve_valuelen": 10, "ve_valueptr": None, "ve_type": 3},
    ],
}


class Said(NamedTuple):
    """A stub by its words, and what it says; not all its parameters are stated where `is_part`."""

    interface: Interface
    opnum: int
    side: Side
    words: tuple[str, ...]
    params: dict[str, Any]
    is_part: bool
    data: bytes | None
    status: int | None

    def stub(self, ndr64: bool = False, order: Order = "little", *, referent: bool = False) -> bytes:
        ndr = Ndr(ndr64=ndr64, order=order)
        if referent:
            ndr.pointer(0)
        for word in self.words:
            begin = next(one for one in WORDS if word.startswith(one) and (one.endswith(":") or word == one))
            WORDS[begin](ndr, word.removeprefix(begin))
        return ndr.data


def read_through() -> Iterator[tuple[str, Said]]:
    """`stub_decoding.txt`: interface, methods, side and name of each stub, its words, what it says (`...` where it says more)."""
    lines = (Path(__file__).parent / "stub_decoding.txt").read_text("utf-8").splitlines()
    for of, words, says in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        (interface, opnums, side), name = of.partition(": ")[0].split(), of.partition(": ")[2]
        parts = says.split()[1:]
        held = [part.removeprefix("data:") for part in parts if part.startswith("data:")]
        ended = [int(part.removeprefix("status:")) for part in parts if part.startswith("status:")]
        stated = {
            key: VALUES[value] if value in VALUES else int(value) if value.isdecimal() else value.replace("_", " ")
            for key, mark, value in (part.partition("=") for part in parts)
            if mark
        }
        data = VALUES[held[0]] if held and held[0] in VALUES else held[0].encode() if held else None
        for opnum in map(int, opnums.split(",")):
            yield (
                f"{interface} {opnum} {name}",
                Said(
                    *(
                        cast(Interface, interface),
                        opnum,
                        cast(Side, side),
                        tuple(words.split()),
                        stated,
                        "..." in parts,
                    ),
                    *(data, ended[0] if ended else None),
                ),
            )


SAID = dict(read_through())
PERFLIB = {name: one for name, one in SAID.items() if one.interface == "perflib-v2"}
OURS = {name: (one.opnum, one.side, one.stub()) for name, one in PERFLIB.items()}
OURS["no such method"] = (8, "request", bytes(4))
DATA_ANSWER = OURS["perflib-v2 6 data, answer"][2]
every_representation = pytest.mark.parametrize(
    ("ndr64", "order"), [(False, "little"), (True, "little"), (False, "big"), (True, "big")]
)


@every_representation
@pytest.mark.parametrize("name", SAID)
def test_a_stub_says_what_was_put_in_and_keeps_what_stands_before_a_cut(name: str, ndr64: bool, order: Order) -> None:
    interface, opnum, side, _, params, is_part, data, status = SAID[name]
    stub = SAID[name].stub(ndr64, order)
    big = order == "big"
    found = [decode_stub(interface, opnum, side, stub, ndr64=ndr64, big_endian=big)]
    if (ndr64, big, interface) == (False, False, "perflib-v2"):
        found.append(compiled_stub(interface, opnum, side, stub))
    for made in found:
        params = {**params, **made.params} if is_part else params
        assert (made.params, made.data, made.status) == (params, data, status)
        assert (made.consumed, made.notes) == (len(stub), ())
        assert not made.data or stub[made.data_start :].startswith(made.data)
    mapped = map_fields(StubKind(interface, opnum, side, ndr64, big), stub)
    assert (mapped.problem, sum(leaf.length for leaf in mapped.root.leaves())) == (None, len(stub))
    kept: list[dict[str, Any]] = []
    for stop in range(0, len(stub), 3):
        try:
            decode_stub(interface, opnum, side, stub[:stop], ndr64=ndr64, big_endian=big)
        except DecodeError as error:
            kept.append(error.params)
    assert [list(one.items()) for one in kept] == [list(params.items())[: len(one)] for one in kept]
    assert [len(one) for one in kept] == sorted(len(one) for one in kept)


def test_guids_have_the_byte_order_of_their_stub() -> None:
    big = Ndr(order="big").uuid(GUID).uuid(OTHER).data
    for data, big_endian in ((GUIDS, False), (big, True)):
        assert decode_buffer("guids", data, big_endian=big_endian).tree == {"guids": [GUID, OTHER]}


def stated_of(decode: Callable[[], StubDecode | StubPlaces]) -> StubDecode | StubPlaces | tuple[object, ...]:
    """What comes of decoding, or why nothing does."""
    try:
        return decode()
    except DecodeError as error:
        return type(error), str(error), error.field, error.start, error.stop


def assert_alike(opnum: int, side: Side, data: bytes) -> None:
    """The parser, the quick path and the places of an answer in a log agree, on damage too."""
    stated = stated_of(lambda: compiled_stub("perflib-v2", opnum, side, data))
    quick = stated_of(lambda: decode_stub("perflib-v2", opnum, side, data))
    places = stated_of(lambda: stub_places("perflib-v2", opnum, side, untraced(data)))
    assert quick == stated
    if isinstance(stated, StubDecode):
        assert isinstance(places, StubPlaces)
        assert isinstance(quick, StubDecode)
        assert (places.params, places.status, places.consumed) == (stated.params, stated.status, stated.consumed)
        assert list(places.params) == list(quick.params) == list(stated.params)
        assert (data[slice(*places.data)] if places.data is not None else None) == stated.data
    else:
        assert places == stated


def each_changed(data: bytes) -> Iterator[bytes]:
    yield from (data, data + b"\1", data + bytes(8))
    yield from (data[:length] for length in range(len(data)))
    for at in range(0, len(data) - 3, 4):
        (old,) = unpack_from("<I", data, at)
        for new in {0, 1, 2, 0xFFFFFFFF, old + 1, old - 1, old + 4, old - 4}:
            yield data[:at] + pack("<I", new & 0xFFFFFFFF) + data[at + 4 :]


@pytest.mark.parametrize("name", OURS)
def test_a_stub_is_read_alike_in_each_way_whole_cut_and_with_each_number_changed(name: str) -> None:
    opnum, side, whole = OURS[name]
    for data in each_changed(whole):
        assert_alike(opnum, side, data)


@settings(max_examples=150)
@given(st.integers(0, 40), u32, st.integers(0, 3), st.binary(max_size=40), st.data())
def test_any_answer_is_read_alike_in_each_way(
    size: int, status: int, room: int, held: bytes, draw: st.DataObject
) -> None:
    opnum = draw.draw(st.sampled_from([1, 2, 5, 6, 7]))
    made = Ndr().uint(size).uint(status).array(held, len(held) + room) if opnum != 7 else Ndr().conformant(held)
    data = bytearray(made.uint(status).data)
    at = 4 * draw.draw(st.integers(0, len(data) // 4 - 1))
    data[at : at + 4] = draw.draw(st.one_of(st.integers(0, 40), u32)).to_bytes(4, "little")
    assert_alike(opnum, "response", bytes(data))


REFERENT = "szMachine is preceded by a referent, as if it were a unique pointer"


@every_representation
@pytest.mark.parametrize("name", [name for name, one in PERFLIB.items() if "szMachine" in one.params])
def test_a_referent_before_the_name_of_the_server_is_read_over(name: str, ndr64: bool, order: Order) -> None:
    """A peer that took szMachine for a unique pointer sends one first ([MS-PCQ] section 6; C706 14.3.10)."""
    opnum, side, params = PERFLIB[name].opnum, PERFLIB[name].side, PERFLIB[name].params
    stub = PERFLIB[name].stub(ndr64, order, referent=True)
    found = decode_stub("perflib-v2", opnum, side, stub, ndr64=ndr64, big_endian=order == "big")
    assert (found.params, found.consumed, found.notes) == (params, len(stub), (REFERENT,))
    assert map_fields(StubKind("perflib-v2", opnum, side, ndr64, order == "big"), stub).notes == (REFERENT,)


@pytest.mark.parametrize(
    ("opnum", "side", "stub"),
    [
        *((opnum, "request", Ndr().uint(0x20000).string("\\\\S").data[:12]) for opnum in (4, 5, 6, 7)),
        *((3, "response", stub) for stub in (b"", Ndr().uint(0x20000).data)),
    ],
)
def test_where_there_is_no_name_of_a_server_a_referent_helps_nothing(opnum: int, side: Side, stub: bytes) -> None:
    first = stated_of(lambda: compiled_stub("perflib-v2", opnum, side, stub))
    mapped = map_fields(StubKind("perflib-v2", opnum, side), stub)
    assert isinstance(first, tuple)
    assert (str(mapped.problem), mapped.notes) == (first[1], ())


def refused(*_: object, **__: object) -> StubDecode:
    raise AssertionError("not on the quick path")


@pytest.mark.parametrize("name", OURS)
def test_what_collectors_call_all_day_never_meets_the_parser(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "compiled_stub", refused)
    opnum, side, stub = OURS[name]
    if name != "no such method":
        assert decode_stub("perflib-v2", opnum, side, stub).consumed == len(stub)
        stub = stub[:-1]
    with pytest.raises(AssertionError, match="not on the quick path"):
        decode_stub("perflib-v2", opnum, side, stub)


@pytest.mark.parametrize(
    ("ndr64", "big_endian", "interface"),
    [(True, False, "perflib-v2"), (False, True, "perflib-v2"), (True, True, "perflib-v2"), (False, False, "winreg")],
)
def test_only_little_endian_ndr20_of_perflib_is_read_quickly(
    ndr64: bool, big_endian: bool, interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers, "compiled_stub", refused)
    monkeypatch.setattr(stub_decoding, "_common_stub", lambda *_: "quick")
    data = DATA_ANSWER
    assert decode_stub("perflib-v2", 6, "response", data) == "quick"
    with pytest.raises(AssertionError, match="not on the quick path"):
        decode_stub(interface, 6, "response", data, ndr64=ndr64, big_endian=big_endian)


@pytest.mark.parametrize(("opnum", "element"), [(0, 16), (1, 1), (2, 1), (5, 1), (6, 1)])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 28])
def test_a_long_answer_is_read_from_both_its_ends(
    opnum: int, element: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Down to the shortest one, of which lpData has no bytes; the array is padded to 4 before the status."""
    length = element * count
    array = pack("<3I", count + 9, 0, count) + (bytes(range(256)) * 2)[:length] + bytes(-length % 4)
    data = pack("<2I", length, 77) + array + pack("<I", 0x1234)
    monkeypatch.setattr(stub_decoding, "decode_stub", refused)
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
        *(("perflib-v2", opnum, "response", False, False) for opnum in (3, 4, 7, 8)),
    ],
)
def test_other_stubs_are_read_whole(
    interface: Interface, opnum: int, side: Side, ndr64: bool, big_endian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stub_decoding, "decode_stub", refused)
    data = untraced(DATA_ANSWER)
    with pytest.raises(AssertionError, match="not on the quick path"):
        stub_places(interface, opnum, side, data, ndr64=ndr64, big_endian=big_endian)


@pytest.mark.parametrize(
    ("opnum", "side", "stub", "stated"),
    [
        (6, "response", b"", "response.out_size at byte 0: 4 bytes wanted, 0 left"),
        (6, "response", pack("<5I", 0, 0, 1, 0, 2), "response.lp_data.actual_count at byte 16: 2 is above 1"),
        (6, "response", pack("<4I", 0, 0, 1, 1), "response.lp_data.offset at byte 12: 1 where only 0 is allowed"),
        (
            *(6, "response", pack("<5I", 0, 0, 0xFFFFFFFF, 0, 0xFFFFFFFF)),
            "response.lp_data.data at byte 20: 4294967295 bytes wanted, 0 left",
        ),
        (8, "request", bytes(100), "opnum: opnum 8 is not described"),
    ],
)
def test_what_is_wrong_with_a_stub_is_said_and_located(opnum: int, side: Side, stub: bytes, stated: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_stub("perflib-v2", opnum, side, stub)
    assert str(caught.value) == stated
    assert caught.value.params == ({"pdwOutSize": 0, "pdwRtnSize": 0} if stub and opnum == 6 else {})


def test_bytes_after_a_stub_and_text_after_a_nul_are_left_out() -> None:
    assert decode_stub("perflib-v2", 4, "request", Ndr().handle(HANDLE).data + b"\xaa\xaa").consumed == 20
    stub = Ndr().array(wide("A") + wide("B"), element=2).uint(1)
    assert decode_stub("perflib-v2", 0, "request", stub.data).params["szMachine"] == "A"
