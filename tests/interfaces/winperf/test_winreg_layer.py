"""WinregLayer: reads of performance values, the tries they take, the keys they use, and what their data is; `winreg_layer.txt`
has what is said of the calls of each case, and each name is a promise."""

from pathlib import Path

import pytest

from analyzer.core.events import Event, Problem
from analyzer.interfaces.winperf.winperf_samples import winperf_samples
from analyzer.interfaces.winperf.winreg_layer import KeyPaths, WinregLayer
from analyzer.results.calls.call import Call
from analyzer.results.reported_names.counter_name_tables import NameTable
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Counter, Instance, Ndr, PerfObject, name_table, wide, winperf
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls, altered, sealed, value_stub, winreg
from tests.build.rpc import CHANNEL
from tests.interfaces.calls import said, without_lengths
from tests.written import Outcomes

BLOCK = winperf([PerfObject(238, (Counter(6, 0x20510500, 8),), (Instance("0", -1, (0, 0), (5,)),))])
MORE_DATA = 234
MAKE = winreg()
OPENED, READ, CLOSED = MAKE.open_key(), MAKE.query_value("Global", BLOCK), MAKE.close_key()
ASKED = READ.request.stub.data
THIRD, NOBODY = "00000000-0000-0000-0000-000000000003", "00000000-0000-0000-0000-000000000000"
TABLE = name_table([("1", "2"), ("2", "System")])


def events_of(*given: Event) -> list[Event]:
    layer = WinregLayer()
    return [event for one in given for event in layer.feed(one)]


def read_all(*exchanges: Exchange, layer: WinregLayer | None = None) -> list[Call]:
    layer = layer or WinregLayer()
    calls = []
    for exchange in exchanges:
        (call,) = layer.feed(exchange)
        assert call.is_winreg
        calls.append(call)
    return calls


def short(value: str, handle: str = HANDLE) -> Exchange:
    """A try that has too little room."""
    return MAKE.query_value(value, b"", handle, status=MORE_DATA)


def below(name: str, given: str, parent: str = HANDLE, status: int = 0) -> Exchange:
    """BaseRegOpenKey."""
    asked = MAKE.stub().handle(parent).unicode_string(name).uint(0).uint(0x20019)
    return MAKE.exchange(15, asked, MAKE.stub().handle(given).uint(status))


def start(handle: str) -> Exchange:
    return MAKE.query_value("Start", b"\2\0\0\0", handle, kind=4)


def represented(**representation: bool) -> list[Event]:
    make = winreg(**representation)
    return [make.open_key(), make.query_value("Global", BLOCK), make.close_key()]


SET = MAKE.stub().handle(HANDLE).unicode_string("ImagePath").uint(1).conformant(wide("evil.exe")).uint(18)
KINDS = {
    "a block": ("Global", BLOCK),
    "a block that is cut": ("Global", BLOCK[:6]),
    "a table of names": ("Counter 009", name_table([("1", "2")])),
    "a table of help texts": ("explain 407", name_table([("3", "help")])),
    "a block in the place of a table": ("Counter 009", BLOCK),
    "a block of the other byte order": ("Global", winperf([], "big")),
}
CASES: dict[str, list[Event]] = {
    "a key is opened, read and closed": represented(),
    "other interfaces and problems pass unchanged": [Problem("note", "rpc", (1,), "something")],
    "a call without an answer": [MAKE.exchange(17, ASKED, None)],
    "an answer without its call": [MAKE.exchange(None, None, b"\0\0\0\0")],
    "an answer that is none": [MAKE.exchange(17, ASKED, b"\1\2\3")],
    "a fault says nothing of the method": [MAKE.exchange(17, ASKED, b"\0\0\0\0", fault=0x6F7)],
    "a sealed call says what is in clear": [sealed(READ)],
    "a stub may be empty": [MAKE.exchange(17, Ndr(), Ndr())],
    "a method that is not decoded has its return value": [MAKE.exchange(15, b"\0" * 40, b"\0" * 20 + b"\2\0\0\0")],
    "a method that is not decoded has no return value in the other byte order": [
        winreg(big_endian=True).exchange(15, b"", b"\0\0\0\2")
    ],
    "tries with growing buffers are one read": [OPENED, short("Global"), short("global"), READ, READ],
    "another value begins another read": [
        OPENED,
        short("230"),
        short("238"),
        MAKE.query_value("238", BLOCK),
        MAKE.query_value("230", BLOCK),
    ],
    "reads of two handles do not mix": [
        OPENED,
        MAKE.open_key(handle=OTHER_HANDLE),
        short("Global"),
        short("Global", OTHER_HANDLE),
        READ,
        MAKE.query_value("Global", BLOCK, OTHER_HANDLE),
    ],
    "closing the key ends a read": [OPENED, short("Global"), CLOSED, OPENED, READ],
    "a key lives from its opening to its closing": [
        MAKE.open_key(3, status=5),
        OPENED,
        MAKE.open_key(32, OTHER_HANDLE),
        MAKE.close_key(status=6),
        READ,
        CLOSED,
        MAKE.query_value("No block", b"\1\2\3\4"),
        MAKE.open_key(33),
    ],
    **{f"a value of a performance key is {what}": [OPENED, MAKE.query_value(*one)] for what, one in KINDS.items()},
    "data that comes with an error is not the value": [
        OPENED,
        MAKE.query_value("Counter 009", b"\x20" * 40, status=MORE_DATA),
        MAKE.query_value("Global", b"\x20" * 40, status=MORE_DATA),
        MAKE.query_value("Global", BLOCK, status=MORE_DATA),
    ],
    "an attempt is known by the block that comes with the error": [
        MAKE.query_value("230", BLOCK, status=MORE_DATA),
        MAKE.query_value("230", BLOCK),
    ],
    "without the key's opening the data must say what it is": [
        READ,
        MAKE.query_value("Counter 009", TABLE, kind=7),
        MAKE.query_value("Counter 009", b"\1\0\0\0", kind=4),
        MAKE.query_value("Path", wide("C:\\")),
    ],
    "enumerated values are read too": [
        OPENED,
        MAKE.enumerate_value(0, "Global", BLOCK),
        MAKE.enumerate_value(1, "x", b"\1\0\0\0"),
    ],
    "enumerated values of no known key are no performance data": [MAKE.enumerate_value(1, "x", b"\1\0\0\0")],
    "handles are followed to the paths of their keys": [
        MAKE.open_key(2),
        below("SYSTEM\\CurrentControlSet\\Services", OTHER_HANDLE),
        below("winreg\\", THIRD, OTHER_HANDLE),
        below("missing", NOBODY, OTHER_HANDLE, 2),
        start(THIRD),
        MAKE.close_key(OTHER_HANDLE),
        start(OTHER_HANDLE),
        below("SOFTWARE", THIRD, "00000000-0000-0000-0000-00000000000f"),
    ],
    "a key that was not opened teaches no path": [
        MAKE.open_key(2),
        below("SOFTWARE", OTHER_HANDLE, status=5),
        start(OTHER_HANDLE),
        below("SOFTWARE", OTHER_HANDLE),
        start(OTHER_HANDLE),
    ],
    # `net rpc registry getvalue HKPD "Counter 009"` opens HKPD, below it "", and reads the value there.
    "a key that is opened again by an empty subkey is the same key": [
        OPENED,
        below("", OTHER_HANDLE),
        MAKE.query_value("Counter 009", TABLE, OTHER_HANDLE),
        below("Software", OTHER_HANDLE),
        MAKE.query_value("Counter 009", TABLE, OTHER_HANDLE),
    ],
    "a key is not known from an opening that others may have changed": [
        OPENED,
        altered(OPENED),
        READ,
        MAKE.open_key(2),
        below("SOFTWARE", OTHER_HANDLE),
        altered(below("SAFTWARE", OTHER_HANDLE)),
        start(OTHER_HANDLE),
        OPENED,
        altered(below("", OTHER_HANDLE)),
        MAKE.query_value("Counter 009", TABLE, OTHER_HANDLE),
    ],
    "values are set, enumerated and refused": [
        MAKE.exchange(22, SET, MAKE.stub().uint(0)),
        MAKE.enumerate_value(0, "Name", b"\1\2\3"),
        MAKE.query_value("Secret", None, status=5),
    ],
}
OUTCOMES = Outcomes(Path(__file__).parent / "winreg_layer.txt", CASES, lambda given: said(events_of(*given)))


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_calls_of_the_registry_is_what_was_read_through(name: str) -> None:
    OUTCOMES.holds(name)


def test_what_is_said_of_calls_of_the_registry_is_written_as_it_is() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    OUTCOMES.is_as_written()


@pytest.mark.parametrize(("ndr64", "big_endian"), [(True, False), (False, True), (True, True)])
def test_a_read_is_one_in_every_representation(ndr64: bool, big_endian: bool) -> None:
    plain, other = represented(), represented(ndr64=ndr64, big_endian=big_endian)
    assert without_lengths(said(events_of(*other))) == without_lengths(said(events_of(*plain)))


def test_calls_of_other_interfaces_pass_unchanged() -> None:
    exchange = Calls().open_query()
    assert list(WinregLayer().feed(exchange)) == [exchange]


# ------------------------------------------------------------------------------------------------ names


def learnt(value: str, data: bytes, *, opnum: int = 3, status: int = 0) -> WinregLayer:
    make, layer = winreg(), WinregLayer()
    read_all(make.open_key(opnum), make.query_value(value, data, status=status), layer=layer)
    return layer


def name(layer: WinregLayer, index: int) -> str | None:
    found = layer.follower.names.table_of(CHANNEL.server).name(index)
    return found.text if found is not None and found.source == "capture" else None


def test_a_name_table_is_learnt() -> None:
    layer = learnt("Counter 009", name_table([("1", "1848"), ("2", "My System"), ("9000", "Mine")]))
    assert (name(layer, 2), name(layer, 9000), name(layer, 1)) == ("My System", "Mine", None)


def test_a_name_table_that_others_may_have_changed_teaches_nothing() -> None:
    make, layer = winreg(), WinregLayer()
    table, changed = (name_table([("2", text)]) for text in ("My System", "Your System"))
    read_all(make.open_key(), altered(make.query_value("Counter 009", changed)), layer=layer)
    assert name(layer, 2) is None
    read_all(make.query_value("Counter 009", table), layer=layer)
    read_all(altered(make.query_value("Counter 009", changed)), layer=layer)
    assert name(layer, 2) == "My System"


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
    assert table.response.buffer_kind == "name-table"
    assert list(winperf_samples(table, NameTable())) == []
    assert [sample.raw for sample in winperf_samples(read, NameTable())] == [5]
