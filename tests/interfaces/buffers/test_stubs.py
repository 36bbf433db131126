"""Stubs of PerflibV2 and winreg in every representation: NDR20 and NDR64, little- and big-endian, with and without pointers."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.core.errors import DecodeError
from analyzer.interfaces.buffers import StubKind, decode_buffer, decode_stub, map_fields
from tests.build.buffers import Ndr, Order, wide

GUID = "383487a6-3676-4870-a4e7-d45b30c35629"
OTHER = "51d1685c-35ed-45be-99fe-17261a4f27f3"
HANDLE = "5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10"
HQUERY = {"attributes": 0, "uuid": HANDLE}
REPRESENTATIONS = [(False, "little"), (True, "little"), (False, "big"), (True, "big")]

every_representation = pytest.mark.parametrize(("ndr64", "order"), REPRESENTATIONS)


def decoded(interface: Any, opnum: int, side: Any, stub: Ndr) -> Any:
    made = decode_stub(interface, opnum, side, stub.data, ndr64=stub.width == 8, big_endian=stub.order == "big")
    assert made.consumed == len(stub.data)
    what_stands_before_a_cut_is_kept(interface, opnum, side, stub, made.params)
    mapped = map_fields(StubKind(interface, opnum, side, stub.width == 8, stub.order == "big"), stub.data)
    assert mapped.problem is None
    assert sum(leaf.length for leaf in mapped.root.leaves()) == len(stub.data)
    return made


def what_stands_before_a_cut_is_kept(interface: Any, opnum: int, side: Any, stub: Ndr, whole: dict[str, Any]) -> None:
    """Of a stub that breaks off, the parameters before are given as they are, in their order; those behind are not there."""
    found: list[dict[str, Any]] = []
    for stop in range(0, len(stub.data), 3):
        try:
            decode_stub(interface, opnum, side, stub.data[:stop], ndr64=stub.width == 8, big_endian=stub.order == "big")
        except DecodeError as error:
            found.append(error.params)
    assert [list(one.items()) for one in found] == [list(whole.items())[: len(one)] for one in found]
    assert [len(one) for one in found] == sorted(len(one) for one in found)


@every_representation
def test_perflib_requests(ndr64: bool, order: Order) -> None:
    def new() -> Ndr:
        return Ndr(ndr64=ndr64, order=order)

    name = "\\\\SRV1"
    assert decoded("perflib-v2", 0, "request", new().string(name).uint(256)).params == {
        "szMachine": name,
        "dwInSize": 256,
    }
    stub = new().string(name).uuid(GUID).uint(2).uint(7).uint(48)
    assert decoded("perflib-v2", 1, "request", stub).params == {
        "szMachine": name,
        "CounterSetGuid": GUID,
        "RequestCode": 2,
        "RequestLCID": 7,
        "dwInSize": 48,
    }
    stub = new().string(name).uuid(GUID).uint(0)
    assert decoded("perflib-v2", 2, "request", stub).params == {
        "szMachine": name,
        "CounterSetGuid": GUID,
        "dwInSize": 0,
    }
    assert decoded("perflib-v2", 3, "request", new().string(name)).params == {"szMachine": name}
    assert decoded("perflib-v2", 4, "request", new().handle(HANDLE)).params == {"phQuery": HQUERY}
    for opnum in (5, 6):
        stub = new().handle(HANDLE).uint(64)
        assert decoded("perflib-v2", opnum, "request", stub).params == {"hQuery": HQUERY, "dwInSize": 64}
    made = decoded("perflib-v2", 7, "request", new().handle(HANDLE).uint(5).conformant(b"abcde").uint(1))
    assert made.params == {"hQuery": HQUERY, "dwInSize": 5, "dwAdd": 1}
    assert made.data == b"abcde"


@every_representation
def test_perflib_responses(ndr64: bool, order: Order) -> None:
    def new() -> Ndr:
        return Ndr(ndr64=ndr64, order=order)

    guids = Ndr(order=order).uuid(GUID).uuid(OTHER).data
    made = decoded("perflib-v2", 0, "response", new().uint(2).uint(2).array(guids, 10, 16).uint(0))
    assert decode_buffer("guids", made.data, big_endian=order == "big").tree == {"guids": [GUID, OTHER]}
    assert (made.status, made.layout.max_count, made.layout.actual_count) == (0, 10, 2)
    for opnum in (1, 2, 5, 6):
        made = decoded("perflib-v2", opnum, "response", new().uint(3).uint(9).array(b"xyz", 16).uint(8))
        assert made.params == {"pdwOutSize": 3, "pdwRtnSize": 9}
        assert (made.data, made.status) == (b"xyz", 8)
    for opnum in (3, 4):
        made = decoded("perflib-v2", opnum, "response", new().handle(HANDLE).uint(5))
        assert (made.params, made.status) == ({"phQuery": HQUERY}, 5)
    made = decoded("perflib-v2", 7, "response", new().conformant(b"abcde").uint(0))
    assert (made.params, made.data, made.status) == ({}, b"abcde", 0)


@every_representation
def test_a_referent_before_the_machine_name_is_noticed(ndr64: bool, order: Order) -> None:
    stub = Ndr(ndr64=ndr64, order=order).pointer(0).string("\\\\SRV1").uint(256)
    made = decode_stub("perflib-v2", 0, "request", stub.data, ndr64=ndr64, big_endian=order == "big")
    assert made.params == {"szMachine": "\\\\SRV1", "dwInSize": 256}
    assert made.notes == ("szMachine is preceded by a referent, as if it were a unique pointer",)
    assert map_fields(StubKind("perflib-v2", 0, "request", ndr64, order == "big"), stub.data).notes == made.notes


@every_representation
def test_opening_performance_data(ndr64: bool, order: Order) -> None:
    for opnum in (3, 32, 33):
        named = Ndr(ndr64=ndr64, order=order).pointer(0).uint(0x5C, 2).uint(0x02000000)
        assert decoded("winreg", opnum, "request", named).params == {"ServerName": 0x5C, "samDesired": 0x02000000}
        unnamed = Ndr(ndr64=ndr64, order=order).null().uint(1)
        assert decoded("winreg", opnum, "request", unnamed).params == {"ServerName": None, "samDesired": 1}
        made = decoded("winreg", opnum, "response", Ndr(ndr64=ndr64, order=order).handle(HANDLE).uint(0))
        assert (made.params, made.status) == ({"phKey": HQUERY}, 0)


@every_representation
def test_predefined_keys_and_keys_below_them(ndr64: bool, order: Order) -> None:
    def new() -> Ndr:
        return Ndr(ndr64=ndr64, order=order)

    for opnum in (0, 1, 2, 4, 27):
        assert decoded("winreg", opnum, "request", new().null().uint(1)).params == {"ServerName": None, "samDesired": 1}
        assert decoded("winreg", opnum, "response", new().handle(HANDLE).uint(0)).params == {"phKey": HQUERY}
    made = decoded("winreg", 15, "request", new().handle(HANDLE).unicode_string("SOFTWARE").uint(0).uint(0x20019))
    assert made.params == {"hKey": HQUERY, "lpSubKey": "SOFTWARE", "dwOptions": 0, "samDesired": 0x20019}
    made = decoded("winreg", 15, "response", new().handle(HANDLE).uint(2))
    assert (made.params, made.status) == ({"phkResult": HQUERY}, 2)
    stub = (
        new().handle(HANDLE).unicode_string("New").unicode_string("Class", 2).uint(1).uint(2).null().pointer(3).uint(0)
    )
    made = decoded("winreg", 6, "request", stub)
    assert (made.params["lpSubKey"], made.params["lpClass"]) == ("New", "Class")
    assert (made.params["lpSecurityAttributes"], made.params["lpdwDisposition"]) == (None, 0)
    made = decoded("winreg", 6, "response", new().handle(HANDLE).pointer(0).uint(1).uint(0))
    assert (made.params["lpdwDisposition"], made.status) == (1, 0)
    for opnum in (7, 8):
        name = "lpSubKey" if opnum == 7 else "lpValueName"
        assert decoded("winreg", opnum, "request", new().handle(HANDLE).unicode_string("Old")).params[name] == "Old"
        assert decoded("winreg", opnum, "response", new().uint(5)).status == 5


@every_representation
def test_security_attributes_are_read_over(ndr64: bool, order: Order) -> None:
    stub = Ndr(ndr64=ndr64, order=order).handle(HANDLE).unicode_string("C:\\sam.hiv").pointer(4)
    stub.align(stub.width).uint(24).pointer(5).uint(8).uint(8).uint(1, 1).array(b"security", 8)
    made = decoded("winreg", 20, "request", stub)
    assert made.params["lpFile"] == "C:\\sam.hiv"
    assert made.params["pSecurityAttributes"] == {
        "nLength": 24,
        "cbOutSecurityDescriptor": 8,
        "bInheritHandle": 1,
    }


@every_representation
def test_enumerating_keys_and_setting_values(ndr64: bool, order: Order) -> None:
    def new() -> Ndr:
        return Ndr(ndr64=ndr64, order=order)

    stub = new().handle(HANDLE).uint(4).unicode_string("").pointer(1).unicode_string("", 2).pointer(3).uint(0).uint(0)
    assert decoded("winreg", 9, "request", stub).params["dwIndex"] == 4
    stub = new().unicode_string("Perflib").null().pointer(3).uint(0xD53E8000).uint(0x019DB1DE).uint(0)
    made = decoded("winreg", 9, "response", stub)
    assert (made.params["lpNameOut"], made.params["lplpClassOut"], made.status) == ("Perflib", None, 0)
    assert made.params["lpftLastWriteTime"] == 0x019DB1DE_D53E8000
    stub = new().handle(HANDLE).unicode_string("Start").uint(4).conformant(b"\2\0\0\0").uint(4)
    made = decoded("winreg", 22, "request", stub)
    assert made.params == {"hKey": HQUERY, "lpValueName": "Start", "dwType": 4, "cbData": 4}
    assert made.data == b"\2\0\0\0"
    assert decoded("winreg", 26, "response", new().uint(6).uint(0)).params == {"lpdwVersion": 6}


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


@every_representation
def test_reading_a_value(ndr64: bool, order: Order) -> None:
    def new() -> Ndr:
        return Ndr(ndr64=ndr64, order=order)

    # What impacket sends: a whole buffer of blanks. What Windows and Samba send: room for one, and nothing in it.
    for data in (b" " * 30, b""):
        stub = query(new().handle(HANDLE, 1).unicode_string("Global"), 0, data, 30, 30, len(data))
        made = decoded("winreg", 17, "request", stub)
        key = {"attributes": 1, "uuid": HANDLE}
        assert made.params == {"hKey": key, "lpValueName": "Global", "lpType": 0, "lpcbData": 30, "lpcbLen": len(data)}
        assert (made.data, made.layout.max_count) == (data, 30)
    made = decoded("winreg", 17, "response", query(new(), 3, b"12345", 8, 5, 5).uint(0))
    assert made.params == {"lpType": 3, "lpcbData": 5, "lpcbLen": 5}
    assert (made.data, made.status) == (b"12345", 0)
    made = decoded("winreg", 17, "response", query(new(), None, None, 0, None, None).uint(0xEA))
    assert made.params == {"lpType": None, "lpcbData": None, "lpcbLen": None}
    assert (made.data, made.status) == (None, 0xEA)


@every_representation
def test_enumerating_values_and_asking_about_the_key(ndr64: bool, order: Order) -> None:
    def new() -> Ndr:
        return Ndr(ndr64=ndr64, order=order)

    stub = query(new().handle(HANDLE).uint(3).unicode_string("x"), 0, None, 0, 0, 0)
    assert decoded("winreg", 10, "request", stub).params["dwIndex"] == 3
    made = decoded("winreg", 10, "response", query(new().unicode_string("Counter 009"), 7, b"ab", 2, 2, 2).uint(0))
    assert made.params == {"lpValueNameOut": "Counter 009", "lpType": 7, "lpcbData": 2, "lpcbLen": 2}
    empty = new().handle(HANDLE).align(8 if ndr64 else 4).uint(0, 2).uint(0, 2).null()
    assert decoded("winreg", 16, "request", empty).params["lpClassIn"] is None
    stub = new().unicode_string("class")
    for number in range(7):
        stub.uint(number)
    made = decoded("winreg", 16, "response", stub.uint(0xD53E8000).uint(0x019DB1DE).uint(0))
    assert made.params["lpClassOut"] == "class"
    assert [made.params[key] for key in ("lpcSubKeys", "lpcValues", "lpcbSecurityDescriptor")] == [0, 3, 6]
    assert made.params["lpftLastWriteTime"] == 0x019DB1DED53E8000


@every_representation
def test_reading_several_values_at_once(ndr64: bool, order: Order) -> None:
    def values(stub: Ndr) -> Ndr:
        stub.count(2).count(0).count(2)
        for number in range(2):
            stub.align(stub.width).pointer(number).uint(10).count(0 if number else 0x30000).uint(3)
            stub.align(stub.width)
        stub.align(stub.width).unicode_string("Global").uint(4)
        return stub.unicode_string("2 4")

    expected = [
        {"ve_valuename": "Global", "ve_valuelen": 10, "ve_valueptr": 4, "ve_type": 3},
        {"ve_valuename": "2 4", "ve_valuelen": 10, "ve_valueptr": None, "ve_type": 3},
    ]
    for opnum, last in ((29, "ldwTotsize"), (34, "ldwRequiredSize")):
        stub = values(Ndr(ndr64=ndr64, order=order).handle(HANDLE)).uint(2).pointer(9).array(b"abcd").uint(4)
        made = decoded("winreg", opnum, "request", stub)
        assert made.params == {"hKey": HQUERY, "val_listIn": expected, "num_vals": 2, "ldwTotsize": 4}
        stub = values(Ndr(ndr64=ndr64, order=order)).pointer(9).array(b"abcd").uint(20).uint(0xEA)
        made = decoded("winreg", opnum, "response", stub)
        assert (made.params, made.data, made.status) == ({"val_listOut": expected, last: 20}, b"abcd", 0xEA)


@every_representation
def test_closing_the_key(ndr64: bool, order: Order) -> None:
    key = Ndr(ndr64=ndr64, order=order).handle(HANDLE)
    assert decoded("winreg", 5, "request", key).params == {"hKey": HQUERY}
    assert decoded("winreg", 5, "response", key.uint(0)).status == 0


@pytest.mark.parametrize(
    ("stub", "stated"),
    [
        (b"", "response.out_size at byte 0: 4 bytes wanted, 0 left"),
        (bytes(8) + b"\1\0\0\0" + bytes(4) + b"\2\0\0\0", "response.lp_data.actual_count at byte 16: 2 is above 1"),
        (bytes(8) + b"\1\0\0\0" + b"\1\0\0\0", "response.lp_data.offset at byte 12: 1 where only 0 is allowed"),
        (
            bytes(8) + b"\xff\xff\xff\xff" + bytes(4) + b"\xff\xff\xff\xff",
            "response.lp_data.data at byte 20: 4294967295 bytes wanted, 0 left",
        ),
    ],
)
def test_what_is_wrong_with_a_stub_is_said_and_located(stub: bytes, stated: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_stub("perflib-v2", 6, "response", stub)
    assert str(caught.value) == stated
    assert caught.value.params == ({"pdwOutSize": 0, "pdwRtnSize": 0} if len(stub) >= 8 else {})


def test_a_call_that_is_not_described_is_refused() -> None:
    with pytest.raises(DecodeError, match="opnum 8 is not described"):
        decode_stub("perflib-v2", 8, "request", bytes(100))


def test_bytes_after_the_stub_are_left_to_the_caller() -> None:
    made = decode_stub("perflib-v2", 4, "request", Ndr().handle(HANDLE).data + b"\xaa\xaa")
    assert made.consumed == 20


def test_text_after_the_nul_is_not_part_of_a_name() -> None:
    stub = Ndr().array(wide("A") + wide("B"), element=2).uint(1)
    assert decode_stub("perflib-v2", 0, "request", stub.data).params["szMachine"] == "A"
