"""WinregLayer: reads of performance values, the tries they take, the keys they use, and what their data is."""

from __future__ import annotations

import pytest

from analyzer.core.events import Problem
from analyzer.interfaces.winperf.winperf_samples import winperf_samples
from analyzer.interfaces.winperf.winreg_layer import KeyPaths, WinregLayer
from analyzer.results.call import Call
from analyzer.results.name_tables import NameTable
from analyzer.results.registry import registry_value
from analyzer.transport.rpc.exchange import Exchange
from tests.build.buffers import Counter, Instance, Ndr, PerfObject, name_table, wide, winperf
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls, sealed, value_stub, winreg
from tests.build.rpc import CHANNEL

BLOCK = winperf([PerfObject(238, (Counter(6, 0x20510500, 8),), (Instance("0", -1, (0, 0), (5,)),))])
MORE_DATA = 234


def read_all(*exchanges: Exchange, layer: WinregLayer | None = None) -> list[Call]:
    layer = layer or WinregLayer()
    calls = []
    for exchange in exchanges:
        (call,) = layer.feed(exchange)
        assert call.is_winreg
        calls.append(call)
    return calls


def reads(*exchanges: Exchange) -> list[tuple[int, int] | None]:
    return [(call.read.number, call.read.attempt) if call.read else None for call in read_all(*exchanges)]


def kind(call: Call) -> str | None:
    assert call.response is not None
    return call.response.buffer_kind


@pytest.mark.parametrize(("ndr64", "big_endian"), [(False, False), (True, False), (False, True), (True, True)])
def test_a_read_in_every_representation(ndr64: bool, big_endian: bool) -> None:
    make = winreg(ndr64=ndr64, big_endian=big_endian)
    opened, read, closed = read_all(make.open_key(), make.query_value("Global", BLOCK), make.close_key())
    assert [call.method for call in (opened, read, closed)] == [
        "OpenPerformanceData",
        "BaseRegQueryValue",
        "BaseRegCloseKey",
    ]
    assert {call.key for call in (opened, read, closed)} == {"HKEY_PERFORMANCE_DATA"}
    assert {call.key_number for call in (opened, read, closed)} == {1}
    assert read.read is not None
    assert (read.read.value_name, read.read.handle, read.read.key) == ("Global", HANDLE, "HKEY_PERFORMANCE_DATA")
    assert (read.state, read.status, kind(read)) == ("complete", 0, "winperf")
    assert read.response is not None
    assert read.response.buffer is not None
    assert read.response.buffer.data == BLOCK


def test_other_interfaces_pass_unchanged() -> None:
    exchange, problem = Calls().open_query(), Problem("note", "rpc", (1,), "something")
    assert list(WinregLayer().feed(exchange)) == [exchange]
    assert list(WinregLayer().feed(problem)) == [problem]


def test_calls_that_fall_short() -> None:
    make = winreg()
    good = make.query_value("Global", BLOCK)
    assert good.request is not None
    asked = good.request.stub.data
    unanswered, orphan, malformed, fault = read_all(
        make.exchange(17, asked, None),
        make.exchange(None, None, b"\0\0\0\0"),
        make.exchange(17, asked, b"\1\2\3"),
        make.exchange(17, asked, b"\0\0\0\0", fault=0x6F7),
    )
    assert (unanswered.state, unanswered.read, unanswered.status) == ("request-only", None, None)
    assert (orphan.state, orphan.method, orphan.status) == ("response-only", None, None)
    assert malformed.state == "malformed"
    assert "response" in str(malformed.reason)
    assert (fault.state, fault.status, fault.response and fault.response.params) == ("complete", None, {})
    (unread,) = read_all(sealed(good))
    assert (unread.state, unread.method, unread.read, unread.key) == ("sealed", "BaseRegQueryValue", None, None)


def test_every_method_has_its_return_value() -> None:
    opened, other = read_all(
        winreg().exchange(15, b"\0" * 40, b"\0" * 20 + b"\2\0\0\0"),
        winreg(big_endian=True).exchange(15, b"", b"\0\0\0\2"),
    )
    assert (opened.method, opened.status) == ("BaseRegOpenKey", 2)
    assert other.status is None


# ------------------------------------------------------------------------------------------------ tries


def test_tries_with_growing_buffers_are_one_read() -> None:
    make = winreg()
    assert reads(
        make.open_key(),
        make.query_value("Global", b"", status=MORE_DATA, room=64),
        make.query_value("global", b"", status=MORE_DATA, room=128),
        make.query_value("Global", BLOCK),
        make.query_value("Global", BLOCK),
    ) == [None, (1, 1), (1, 2), (1, 3), (2, 1)]


def test_another_value_begins_another_read() -> None:
    make = winreg()
    assert reads(
        make.open_key(),
        make.query_value("230", b"", status=MORE_DATA),
        make.query_value("238", b"", status=MORE_DATA),
        make.query_value("238", BLOCK),
        make.query_value("230", BLOCK),
    ) == [None, (1, 1), (2, 1), (2, 2), (3, 1)]


def test_two_handles_do_not_mix() -> None:
    make = winreg()
    assert reads(
        make.open_key(),
        make.open_key(handle=OTHER_HANDLE),
        make.query_value("Global", b"", status=MORE_DATA),
        make.query_value("Global", b"", OTHER_HANDLE, status=MORE_DATA),
        make.query_value("Global", BLOCK),
        make.query_value("Global", BLOCK, OTHER_HANDLE),
    ) == [None, None, (1, 1), (2, 1), (1, 2), (2, 2)]


def test_closing_the_key_ends_a_read() -> None:
    make = winreg()
    assert reads(
        make.open_key(),
        make.query_value("Global", b"", status=MORE_DATA),
        make.close_key(),
        make.open_key(),
        make.query_value("Global", BLOCK),
    ) == [None, (1, 1), None, None, (2, 1)]


def test_the_lifetime_of_a_key() -> None:
    make = winreg()
    calls = read_all(
        make.open_key(3, status=5),
        make.open_key(3),
        make.open_key(32, OTHER_HANDLE),
        make.close_key(status=6),
        make.query_value("Global", BLOCK),
        make.close_key(),
        make.query_value("No block", b"\1\2\3\4"),
        make.open_key(33),
    )
    data, text, nls = "HKEY_PERFORMANCE_DATA", "HKEY_PERFORMANCE_TEXT", "HKEY_PERFORMANCE_NLSTEXT"
    assert [call.key for call in calls] == [data, data, text, data, data, data, None, nls]
    assert [call.key_number for call in calls] == [None, 1, 2, 1, 1, 1, 1, 3]
    assert calls[6].read is None


# ------------------------------------------------------------------------------------------------ kinds of data


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("Global", BLOCK, "winperf"),
        ("Global", BLOCK[:6], "winperf"),
        ("Counter 009", name_table([("1", "2")]), "name-table"),
        ("explain 407", name_table([("3", "help")]), "name-table"),
        ("Counter 009", BLOCK, "winperf"),
        ("Global", winperf([], "big"), "winperf"),
    ],
)
def test_what_a_value_of_a_performance_key_is(name: str, data: bytes, expected: str) -> None:
    make = winreg()
    assert kind(read_all(make.open_key(), make.query_value(name, data))[1]) == expected


def test_data_that_comes_with_an_error_is_not_the_value() -> None:
    make = winreg()
    calls = read_all(
        make.open_key(),
        make.query_value("Counter 009", b"\x20" * 40, status=MORE_DATA),
        make.query_value("Global", b"\x20" * 40, status=MORE_DATA),
        make.query_value("Global", BLOCK, status=MORE_DATA),
    )
    assert [kind(call) for call in calls[1:]] == [None, None, None]


def test_an_attempt_is_known_by_the_block_that_comes_with_the_error() -> None:
    make = winreg()
    first, second = read_all(make.query_value("230", BLOCK, status=MORE_DATA), make.query_value("230", BLOCK))
    assert first.read is not None
    assert second.read is not None
    assert (second.read.number, second.read.attempt) == (first.read.number, 2)


def test_without_the_key_s_opening_the_data_must_say_what_it_is() -> None:
    make = winreg()
    block, table, other, named = read_all(
        make.query_value("Global", BLOCK),
        make.query_value("Counter 009", name_table([("1", "2"), ("2", "System")]), kind=7),
        make.query_value("Counter 009", b"\1\0\0\0", kind=4),
        make.query_value("Path", wide("C:\\")),
    )
    assert (kind(block), block.key, block.read is not None) == ("winperf", None, True)
    assert (kind(table), table.read is not None) == ("name-table", True)
    assert (kind(other), other.read) == (None, None)
    assert (kind(named), named.read) == (None, None)


def test_enumerated_values_are_read_too() -> None:
    make = winreg()
    calls = read_all(
        make.open_key(), make.enumerate_value(0, "Global", BLOCK), make.enumerate_value(1, "x", b"\1\0\0\0")
    )
    assert [kind(call) for call in calls[1:]] == ["winperf", "winperf"]
    (outside,) = read_all(winreg().enumerate_value(1, "x", b"\1\0\0\0"))
    assert kind(outside) is None


# ------------------------------------------------------------------------------------------------ names


def learnt(value: str, data: bytes, *, opnum: int = 3, status: int = 0) -> WinregLayer:
    make, layer = winreg(), WinregLayer()
    read_all(make.open_key(opnum), make.query_value(value, data, status=status), layer=layer)
    return layer


def name(layer: WinregLayer, index: int) -> str | None:
    found = layer.follower.names.of(CHANNEL.server).name(index)
    return found.text if found is not None and found.source == "capture" else None


def test_a_name_table_is_learnt() -> None:
    layer = learnt("Counter 009", name_table([("1", "1848"), ("2", "My System"), ("9000", "Mine")]))
    assert (name(layer, 2), name(layer, 9000), name(layer, 1)) == ("My System", "Mine", None)


@pytest.mark.parametrize(
    "data",
    [
        name_table(
            [("2", "Mine"), ("x", "no index"), ("\u0665", "an Arabic 5"), ("9" * 5000, "too much"), ("", "none")]
        ),
        name_table([("2", "Mine")]) + wide("4"),
        name_table([("2", "Mine")])[:-2],
        name_table([("2", "Mine")]) + b"\1",
        name_table([("2", "lost"), ("2", "Mine")]),
    ],
    ids=["odd indices", "odd number of strings", "no end", "odd byte", "twice"],
)
def test_an_odd_table_teaches_what_it_says(data: bytes) -> None:
    layer = learnt("Counter 009", data)
    assert name(layer, 2) == "Mine"
    assert name(layer, 5) is None


def test_help_texts_and_errors_teach_no_names() -> None:
    assert name(learnt("Help 009", name_table([("2", "Help")])), 2) is None
    assert name(learnt("Counter 009", name_table([("2", "No")]), status=MORE_DATA), 2) is None


def test_the_text_keys_have_their_tables_without_a_language() -> None:
    english = learnt("Counter", name_table([("2", "English")]), opnum=32)
    assert name(english, 2) == "English"
    make = winreg()
    read_all(
        make.open_key(33), make.query_value("counter", name_table([("2", "Local"), ("4", "Nur hier")])), layer=english
    )
    assert (name(english, 2), name(english, 4)) == ("English", "Nur hier")


def test_an_endless_index_as_value_name_is_no_index() -> None:
    from analyzer.results.name_tables import NameTable, value_in_words

    assert value_in_words("9" * 5000, NameTable()).startswith("value")


def test_a_stub_can_be_empty() -> None:
    (call,) = read_all(winreg().exchange(17, Ndr(), Ndr()))
    assert call.state == "malformed"


def test_handles_are_followed_to_the_paths_of_their_keys() -> None:
    make = winreg()

    def opened(name: str, parent: str, handle: str, status: int = 0) -> Exchange:
        asked = make.stub().handle(parent).unicode_string(name).uint(0).uint(0x20019)
        return make.exchange(15, asked, make.stub().handle(handle).uint(status))

    third = "00000000-0000-0000-0000-000000000003"
    calls = read_all(
        make.open_key(2),
        opened("SYSTEM\\CurrentControlSet\\Services", HANDLE, OTHER_HANDLE),
        opened("winreg\\", OTHER_HANDLE, third),
        opened("missing", OTHER_HANDLE, "00000000-0000-0000-0000-000000000000", 2),
        make.query_value("Start", b"\2\0\0\0", third, kind=4),
        make.close_key(OTHER_HANDLE),
        make.query_value("Start", b"\2\0\0\0", OTHER_HANDLE, kind=4),
        opened("SOFTWARE", "00000000-0000-0000-0000-00000000000f", third),
    )
    services = "HKLM\\SYSTEM\\CurrentControlSet\\Services"
    assert [call.path for call in calls] == [
        "HKLM",
        services,
        f"{services}\\winreg",
        f"{services}\\missing",
        f"{services}\\winreg",
        services,
        None,
        "?\\SOFTWARE",
    ]
    value = registry_value(calls[4])
    assert value is not None
    assert (value.name, value.type_name, value.content()) == ("Start", "REG_DWORD", 2)
    assert {call.key for call in calls} == {None}
    assert [call.key_number for call in calls] == [1, 2, 3, 2, 3, 2, 2, 5]


def test_performance_keys_have_no_path() -> None:
    make = winreg()
    assert {call.path for call in read_all(make.open_key(), make.query_value("Global", BLOCK))} == {None}


@pytest.mark.parametrize(
    ("kind_of_value", "data", "content"),
    [
        (1, wide("text"), "text"),
        (2, wide("%SystemRoot%"), "%SystemRoot%"),
        (7, wide("one") + wide("two") + b"\0\0", ["one", "two"]),
        (7, b"\0\0", []),
        (4, b"\2\1\0\0", 0x102),
        (5, b"\0\0\1\2", 0x102),
        (11, b"\1" + bytes(7), 1),
        (3, b"\1\2", b"\1\2"),
        (4, b"\1\2\3", b"\1\2\3"),
        (1, b"odd", b"odd"),
        (99, b"x", b"x"),
    ],
)
def test_the_data_of_values_by_their_types(kind_of_value: int, data: bytes, content: object) -> None:
    make = winreg()
    (call,) = read_all(make.query_value("Value", data, kind=kind_of_value))
    value = registry_value(call)
    assert value is not None
    assert value.content() == content


def test_values_that_are_set_and_enumerated() -> None:
    make = winreg()
    asked = make.stub().handle(HANDLE).unicode_string("ImagePath").uint(1).conformant(wide("evil.exe")).uint(18)
    calls = read_all(
        make.exchange(22, asked, make.stub().uint(0)),
        make.enumerate_value(0, "Name", b"\1\2\3"),
        make.query_value("Secret", None, status=5),
    )
    values = [value for call in calls if (value := registry_value(call)) is not None]
    assert [(value.name, value.type_name, value.content()) for value in values] == [
        ("ImagePath", "REG_SZ", "evil.exe"),
        ("Name", "REG_BINARY", b"\1\2\3"),
        ("Secret", None, None),
    ]


def test_the_paths_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.interfaces.winperf.winreg_layer.MAX_PATHS", 1)
    make = winreg()
    calls = read_all(
        make.open_key(2),
        make.open_key(4, OTHER_HANDLE),
        make.query_value("x", b"", HANDLE),
        make.query_value("x", b"", OTHER_HANDLE),
    )
    assert [call.path for call in calls] == ["HKLM", "HKU", None, "HKU"]


def test_so_many_paths_are_remembered_at_once() -> None:
    paths = KeyPaths()
    for number in range(65_540):
        paths.learn(("192.0.2.1", str(number)), "HKLM")
    assert [paths.find(("192.0.2.1", str(number))) for number in (3, 4, 65_539)] == [None, "HKLM", "HKLM"]


def test_what_a_query_sends_as_data_is_no_value() -> None:
    """[MS-RRP] 3.1.5.17: lpData of the request is the room for the answer; only what is set is a value of a request."""
    make = winreg()
    asked = value_stub(make.stub().handle(HANDLE).unicode_string("Global"), 0, BLOCK, 4096, 4096, len(BLOCK))
    (read,) = read_all(make.exchange(17, asked, None))
    assert read.request is not None
    assert read.request.params["lpValueName"] == "Global"
    assert read.request.buffer is None
    (unanswered,) = read_all(winreg().exchange(17, b"", None))
    assert list(winperf_samples(unanswered, NameTable())) == []


def test_names_and_text_are_no_samples() -> None:
    make = winreg()
    _, table, read = read_all(
        make.open_key(),
        make.query_value("Counter 009", name_table([("2", "System")])),
        make.query_value("Global", BLOCK),
    )
    assert kind(table) == "name-table"
    assert list(winperf_samples(table, NameTable())) == []
    assert [sample.raw for sample in winperf_samples(read, NameTable())] == [5]


def test_a_key_that_was_not_opened_teaches_no_path() -> None:
    make = winreg()
    refused = make.stub().handle(HANDLE).unicode_string("SOFTWARE").uint(0).uint(0x20019)
    calls = read_all(
        make.open_key(2),
        make.exchange(15, refused, make.stub().handle(OTHER_HANDLE).uint(5)),
        make.query_value("Start", b"\2\0\0\0", OTHER_HANDLE, kind=4),
        make.exchange(15, refused, make.stub().handle(OTHER_HANDLE).uint(0)),
        make.query_value("Start", b"\2\0\0\0", OTHER_HANDLE, kind=4),
    )
    assert [call.path for call in calls] == ["HKLM", "HKLM\\SOFTWARE", None, "HKLM\\SOFTWARE", "HKLM\\SOFTWARE"]


def test_a_key_that_is_opened_again_by_an_empty_subkey_is_the_same_key() -> None:
    """`net rpc registry getvalue HKPD "Counter 009"` opens HKPD, below it "", and reads the value there."""
    make = winreg()

    def opened(name: str, given: str, parent: str = HANDLE) -> Exchange:
        asked = make.stub().handle(parent).unicode_string(name).uint(0).uint(0x02000000)
        return make.exchange(15, asked, make.stub().handle(given).uint(0))

    performance, table = "HKEY_PERFORMANCE_DATA", name_table([("1", "2"), ("2", "System")])
    calls = read_all(
        make.open_key(),
        opened("", OTHER_HANDLE),
        make.query_value("Counter 009", table, OTHER_HANDLE),
        opened("Software", OTHER_HANDLE),
        make.query_value("Counter 009", table, OTHER_HANDLE),
    )
    assert [(call.key, kind(call)) for call in calls] == [
        (performance, None),
        (performance, None),
        (performance, "name-table"),
        (performance, None),
        (None, None),
    ]
