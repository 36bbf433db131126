"""Stubs of PerflibV2 and winreg in every representation, whole, cut and changed: what is read at once is what the parser reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import pack, unpack_from
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.errors import DecodeError
from analyzer.core.traced import untraced
from analyzer.interfaces.buffers import StubKind, decode_buffer, decode_stub, map_fields, stubs
from analyzer.interfaces.buffers.stubs import Interface, Side, StubDecode, StubPlaces, compiled_stub, stub_places
from tests.build.buffers import Ndr, Order, wide
from tests.interfaces.buffers.strategies import u32

GUID, OTHER = "383487a6-3676-4870-a4e7-d45b30c35629", "51d1685c-35ed-45be-99fe-17261a4f27f3"
HANDLE = "5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10"
HQUERY = {"attributes": 9, "uuid": HANDLE}
ARRAY = b"some bytes, as many as these"
GUIDS = UUID(GUID).bytes_le + UUID(OTHER).bytes_le


def query(stub: Ndr, kind: int | None, data: bytes | None, room: int, size: int | None, length: int | None) -> Ndr:
    """lpType, lpData, lpcbData, lpcbLen; each a null pointer where it is None."""
    for number, value in enumerate((kind, data, size, length)):
        if value is None:
            stub.null()
        elif isinstance(value, bytes):
            stub.pointer(number).array(value, room)
        else:
            stub.pointer(number).uint(value)
    return stub


def security(stub: Ndr) -> Ndr:
    """SECURITY_ATTRIBUTES with a descriptor of 8 bytes."""
    stub.align(stub.width).uint(24).pointer(5).uint(8).uint(8).uint(1, 1)
    return stub.array(b"security", 8)


def several(stub: Ndr) -> Ndr:
    """Two entries of BaseRegQueryMultipleValues."""
    stub.count(2).count(0).count(2)
    for number in range(2):
        stub.align(stub.width).pointer(number).uint(10).count(0 if number else 0x30000).uint(3).align(stub.width)
    return stub.align(stub.width).unicode_string("Global").uint(4).unicode_string("2 4")


def key_info(stub: Ndr) -> Ndr:
    for number in range(7):
        stub.unicode_string("class") if not number else None
        stub.uint(number)
    return stub.uint(0xD53E8000).uint(0x019DB1DE).uint(0)


SEVERAL = [
    {"ve_valuename": "Global", "ve_valuelen": 10, "ve_valueptr": 4, "ve_type": 3},
    {"ve_valuename": "2 4", "ve_valuelen": 10, "ve_valueptr": None, "ve_type": 3},
]
NAMED, NOBODY = {"szMachine": "\\\\SRV1"}, {"ServerName": None, "samDesired": 1}
SIZED = {"hQuery": HQUERY, "dwInSize": 300}
# By name: interface, opnum, side, how it is built, and what it says: parameters, data and status.
Said = tuple[Interface, int, Side, Callable[[Ndr], Ndr], dict[str, Any], bytes | None, int | None]
PERFLIB: dict[str, Said] = {
    name: ("perflib-v2", *rest)
    for name, rest in {
        "all countersets": (
            *(0, "request", lambda ndr: ndr.string("\\\\SRV1").uint(256)),
            *(NAMED | {"dwInSize": 256}, None, None),
        ),
        "all countersets, answer": (
            *(0, "response", lambda ndr: ndr.uint(1).uint(2).array(GUIDS, 256, 16).uint(5)),
            *({"pdwOutSize": 1, "pdwRtnSize": 2}, GUIDS, 5),
        ),
        "registration": (
            *(1, "request", lambda ndr: ndr.string("\\\\SRV1").uuid(GUID).uint(3).uint(0x407).uint(99)),
            NAMED | {"CounterSetGuid": GUID, "RequestCode": 3, "RequestLCID": 0x407, "dwInSize": 99},
            *(None, None),
        ),
        "registration, even name": (
            *(1, "request", lambda ndr: ndr.string("\\\\S").uuid(GUID).uint(3).uint(0x407).uint(99)),
            {"szMachine": "\\\\S", "CounterSetGuid": GUID, "RequestCode": 3, "RequestLCID": 0x407, "dwInSize": 99},
            *(None, None),
        ),
        "instances": (
            *(2, "request", lambda ndr: ndr.string("\\\\SRV1").uuid(GUID).uint(7)),
            *(NAMED | {"CounterSetGuid": GUID, "dwInSize": 7}, None, None),
        ),
        "open": (3, "request", lambda ndr: ndr.string("\\\\SRV1"), NAMED, None, None),
        "open, answer": (3, "response", lambda ndr: ndr.handle(HANDLE, 9).uint(5), {"phQuery": HQUERY}, None, 5),
        "close": (4, "request", lambda ndr: ndr.handle(HANDLE, 9), {"phQuery": HQUERY}, None, None),
        "close, answer": (4, "response", lambda ndr: ndr.handle(HANDLE, 9).uint(5), {"phQuery": HQUERY}, None, 5),
        "info": (5, "request", lambda ndr: ndr.handle(HANDLE, 9).uint(300), SIZED, None, None),
        "data": (6, "request", lambda ndr: ndr.handle(HANDLE, 9).uint(300), SIZED, None, None),
        "validate": (
            *(7, "request", lambda ndr: ndr.handle(HANDLE, 9).uint(5).conformant(b"abcde").uint(1)),
            *({"hQuery": HQUERY, "dwInSize": 5, "dwAdd": 1}, b"abcde", None),
        ),
        "validate, answer": (7, "response", lambda ndr: ndr.conformant(b"abcdefgh").uint(5), {}, b"abcdefgh", 5),
        **{
            f"{name}, answer": (
                *(opnum, "response"),
                lambda ndr, held=held, room=room: ndr.uint(len(held)).uint(77).array(held, room).uint(0x1234),
                *({"pdwOutSize": len(held), "pdwRtnSize": 77}, held, 0x1234),
            )
            for name, opnum, held, room in (
                ("registration", 1, ARRAY, 28),
                ("instances", 2, b"odd length...", 4096),
                ("info", 5, b"", 0),
                ("data", 6, b"x", 5),
            )
        },
    }.items()
}  # type: ignore[assignment]
KEY = {"hKey": HQUERY}
WINREG: dict[str, Said] = {
    f"{opnum} {side} {number}": ("winreg", opnum, side, build, params, data, status)
    for number, (opnums, side, build, params, data, status) in enumerate(
        [
            (
                *((3, 32, 33), "request", lambda ndr: ndr.pointer(0).uint(0x5C, 2).uint(0x02000000)),
                *({"ServerName": 0x5C, "samDesired": 0x02000000}, None, None),
            ),
            ((0, 1, 2, 3, 4, 27, 32, 33), "request", lambda ndr: ndr.null().uint(1), NOBODY, None, None),
            (
                *((0, 1, 2, 3, 4, 27, 32, 33), "response", lambda ndr: ndr.handle(HANDLE, 9).uint(0)),
                *({"phKey": HQUERY}, None, 0),
            ),
            ((5,), "request", lambda ndr: ndr.handle(HANDLE, 9), KEY, None, None),
            ((5,), "response", lambda ndr: ndr.handle(HANDLE, 9).uint(0), KEY, None, 0),
            (
                (6,),
                "request",
                lambda ndr: (
                    (ndr.handle(HANDLE, 9).unicode_string("New").unicode_string("Class", 2).uint(1).uint(2).null())
                    .pointer(3)
                    .uint(0)
                ),
                KEY
                | {"lpSubKey": "New", "lpClass": "Class", "dwOptions": 1, "samDesired": 2}
                | {"lpSecurityAttributes": None, "lpdwDisposition": 0},
                *(None, None),
            ),
            (
                *((6,), "response", lambda ndr: ndr.handle(HANDLE, 9).pointer(0).uint(1).uint(0)),
                *({"phkResult": HQUERY, "lpdwDisposition": 1}, None, 0),
            ),
            (
                *((7,), "request", lambda ndr: ndr.handle(HANDLE, 9).unicode_string("Old")),
                *(KEY | {"lpSubKey": "Old"}, None, None),
            ),
            (
                *((8,), "request", lambda ndr: ndr.handle(HANDLE, 9).unicode_string("Old")),
                *(KEY | {"lpValueName": "Old"}, None, None),
            ),
            ((7, 8), "response", lambda ndr: ndr.uint(5), {}, None, 5),
            (
                *((9,), "response"),
                lambda ndr: ndr.unicode_string("Perflib").null().pointer(3).uint(0xD53E8000).uint(0x019DB1DE).uint(0),
                {"lpNameOut": "Perflib", "lplpClassOut": None, "lpftLastWriteTime": 0x019DB1DE_D53E8000},
                *(None, 0),
            ),
            (
                *((10,), "response"),
                lambda ndr: query(ndr.unicode_string("Counter 009"), 7, b"ab", 2, 2, 2).uint(0),
                {"lpValueNameOut": "Counter 009", "lpType": 7, "lpcbData": 2, "lpcbLen": 2},
                *(b"ab", 0),
            ),
            (
                *((15,), "request"),
                lambda ndr: ndr.handle(HANDLE, 9).unicode_string("SOFTWARE").uint(0).uint(0x20019),
                KEY | {"lpSubKey": "SOFTWARE", "dwOptions": 0, "samDesired": 0x20019},
                *(None, None),
            ),
            ((15,), "response", lambda ndr: ndr.handle(HANDLE, 9).uint(2), {"phkResult": HQUERY}, None, 2),
            (
                *((16,), "request"),
                lambda ndr: ndr.handle(HANDLE, 9).align(ndr.width).uint(0, 2).uint(0, 2).null(),
                *(KEY | {"lpClassIn": None}, None, None),
            ),
            (
                *((16,), "response", key_info),
                {"lpClassOut": "class", "lpcSubKeys": 0, "lpcbMaxSubKeyLen": 1, "lpcbMaxClassLen": 2, "lpcValues": 3}
                | {"lpcbMaxValueNameLen": 4, "lpcbMaxValueLen": 5, "lpcbSecurityDescriptor": 6}
                | {"lpftLastWriteTime": 0x019DB1DE_D53E8000},
                *(None, 0),
            ),
            *(
                # What impacket sends: a whole buffer of blanks. What Windows and Samba send: room for one, nothing in it.
                (
                    *((17,), "request"),
                    lambda ndr, held=held: query(
                        ndr.handle(HANDLE, 9).unicode_string("Global"), 0, held, 30, 30, len(held)
                    ),
                    KEY | {"lpValueName": "Global", "lpType": 0, "lpcbData": 30, "lpcbLen": len(held)},
                    *(held, None),
                )
                for held in (b" " * 30, b"")
            ),
            (
                *((17,), "response", lambda ndr: query(ndr, 3, b"12345", 8, 5, 5).uint(0)),
                *({"lpType": 3, "lpcbData": 5, "lpcbLen": 5}, b"12345", 0),
            ),
            (
                *((17,), "response", lambda ndr: query(ndr, None, None, 0, None, None).uint(0xEA)),
                *({"lpType": None, "lpcbData": None, "lpcbLen": None}, None, 0xEA),
            ),
            (
                *((20,), "request"),
                lambda ndr: security(ndr.handle(HANDLE, 9).unicode_string("C:\\sam.hiv").pointer(4)),
                KEY
                | {"lpFile": "C:\\sam.hiv"}
                | {"pSecurityAttributes": {"nLength": 24, "cbOutSecurityDescriptor": 8, "bInheritHandle": 1}},
                *(None, None),
            ),
            (
                *((22,), "request"),
                lambda ndr: ndr.handle(HANDLE, 9).unicode_string("Start").uint(4).conformant(b"\2\0\0\0").uint(4),
                *(KEY | {"lpValueName": "Start", "dwType": 4, "cbData": 4}, b"\2\0\0\0", None),
            ),
            ((26,), "response", lambda ndr: ndr.uint(6).uint(0), {"lpdwVersion": 6}, None, 0),
            (
                *((29, 34), "request"),
                lambda ndr: several(ndr.handle(HANDLE, 9)).uint(2).pointer(9).array(b"abcd").uint(4),
                *(KEY | {"val_listIn": SEVERAL, "num_vals": 2, "ldwTotsize": 4}, b"abcd", None),
            ),
            *(
                (
                    *((opnum,), "response", lambda ndr: several(ndr).pointer(9).array(b"abcd").uint(20).uint(0xEA)),
                    *({"val_listOut": SEVERAL, last: 20}, b"abcd", 0xEA),
                )
                for opnum, last in ((29, "ldwTotsize"), (34, "ldwRequiredSize"))
            ),
        ]
    )
    for opnum in opnums
}  # type: ignore[misc]
SAID = PERFLIB | WINREG
OURS = {name: (one[1], one[2], one[3](Ndr()).data) for name, one in PERFLIB.items()}
OURS["no such method"] = (8, "request", bytes(4))
every_representation = pytest.mark.parametrize(
    ("ndr64", "order"), [(False, "little"), (True, "little"), (False, "big"), (True, "big")]
)


@every_representation
@pytest.mark.parametrize("name", SAID)
def test_a_stub_says_what_was_put_in_and_keeps_what_stands_before_a_cut(name: str, ndr64: bool, order: Order) -> None:
    interface, opnum, side, build, params, data, status = SAID[name]
    stub = build(Ndr(ndr64=ndr64, order=order)).data
    big = order == "big"
    found = [decode_stub(interface, opnum, side, stub, ndr64=ndr64, big_endian=big)]
    if (ndr64, big, interface) == (False, False, "perflib-v2"):
        found.append(compiled_stub(interface, opnum, side, stub))
    for made in found:
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


@settings(deadline=None, max_examples=150)
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
@pytest.mark.parametrize("name", [name for name, one in PERFLIB.items() if "szMachine" in one[4]])
def test_a_referent_before_the_name_of_the_server_is_read_over(name: str, ndr64: bool, order: Order) -> None:
    """A peer that took szMachine for a unique pointer sends one first ([MS-PCQ] section 6; C706 14.3.10)."""
    _, opnum, side, build, params, _, _ = PERFLIB[name]
    stub = build(Ndr(ndr64=ndr64, order=order).pointer(0)).data
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


# What collectors ask for once in a while, and the parser reads: PerflibV2EnumerateCounterSet and the request to open a query.
SELDOM = {"all countersets", "all countersets, answer", "open", "no such method"}


@pytest.mark.parametrize("name", OURS)
def test_what_collectors_call_all_day_never_meets_the_parser(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stubs, "compiled_stub", refused)
    opnum, side, stub = OURS[name]
    if name not in SELDOM:
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
    monkeypatch.setattr(stubs, "compiled_stub", refused)
    monkeypatch.setattr(stubs, "_common_stub", lambda *_: "quick")
    data = OURS["data, answer"][2]
    assert decode_stub("perflib-v2", 6, "response", data) == "quick"
    with pytest.raises(AssertionError, match="not on the quick path"):
        decode_stub(interface, 6, "response", data, ndr64=ndr64, big_endian=big_endian)


@pytest.mark.parametrize("opnum", [1, 2, 5, 6])
@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 28])
def test_a_long_answer_is_read_from_both_its_ends(opnum: int, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Down to the shortest one, of which lpData has no bytes; the array is padded to 4 before the status."""
    data = Ndr().uint(length).uint(77).array(bytes(range(length)), length + 9).uint(0x1234).data
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
    data = untraced(OURS["data, answer"][2])
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
