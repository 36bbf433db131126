"""Words for numbers and names: services, accounts, registry values, query handles."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.core.server_names import MAX_REMEMBERED, Name, Named, SampleNames
from analyzer.core.traced import TracedBytes, untraced
from analyzer.results.name_tables import (
    ENGLISH,
    OWN_LANGUAGE,
    WELL_KNOWN,
    NameTable,
    NameTables,
    is_index,
    table_language,
    value_in_words,
)
from analyzer.results.query import Held, Identifier, InOrder
from analyzer.results.record import Endpoint
from analyzer.results.registry import RegistryValue
from analyzer.results.scmr import service_type_words
from analyzer.results.security import ANONYMOUS_LOGON, Identity


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (0x1, "kernel driver"),
        (0x2, "file system driver"),
        (0x10, "own process"),
        (0x20, "shared process"),
        (0x110, "own process, interactive"),
        (0x133, "kernel driver, file system driver, own process, shared process, interactive"),
        (0x50, "own process, 0x40"),
        (0x4, "0x4"),
        (0x0, "0x0"),
        (0xFFFFFECC, "0xfffffecc"),
    ],
)
def test_a_type_of_service_is_named_bit_by_bit(kind: int, words: str) -> None:
    """[MS-SCMR] section 2.2.15."""
    assert service_type_words(kind) == words


@pytest.mark.parametrize(
    ("identity", "account", "source", "who"),
    [
        (Identity(), None, None, "unknown user"),
        (Identity(domain="LAB"), None, None, "unknown user"),
        (Identity(user="ada"), "ada", "handshake", "ada"),
        (Identity(user="ada", domain=""), "ada", "handshake", "ada"),
        (Identity(user="ada", domain="LAB"), "LAB\\ada", "handshake", "LAB\\ada"),
        (Identity(is_anonymous=True, user=""), ANONYMOUS_LOGON, "handshake", ANONYMOUS_LOGON),
        (Identity(client_principal="ada@LAB", user="x"), "ada@LAB", "ticket", "ada@LAB"),
        (
            Identity(client_principal="ada@LAB", kdc_frames=(3,)),
            "ada@LAB",
            "kdc-reply",
            "ada@LAB (from the KDC's reply, not verified)",
        ),
    ],
)
def test_an_account_is_named_with_what_names_it(
    identity: Identity, account: str | None, source: str | None, who: str
) -> None:
    assert (identity.account, identity.account_source, identity.who) == (account, source, who)


def test_nothing_is_known_of_who_somebody_is_before_it_is_stated() -> None:
    identity = Identity()
    assert (identity.kdc_frames, identity.is_anonymous, identity.allows, identity.mechanism) == ((), False, None, None)


# [MS-RRP] section 3.1.1.5; strings as they are stored, with and without their terminator.
@pytest.mark.parametrize(
    ("kind", "data", "name", "content"),
    [
        (0, b"ab", "REG_NONE", b"ab"),
        (1, "text\0".encode("utf-16-le"), "REG_SZ", "text"),
        (1, "text".encode("utf-16-le"), "REG_SZ", "text"),
        (1, b"", "REG_SZ", ""),
        (1, b"a\0b", "REG_SZ", b"a\0b"),
        (1, b"\x00\xd8", "REG_SZ", "\ufffd"),
        (2, "%A%\0\0".encode("utf-16-le"), "REG_EXPAND_SZ", "%A%"),
        (3, b"\1\2\3\4", "REG_BINARY", b"\1\2\3\4"),
        (4, b"\1\2\3\4", "REG_DWORD", 0x04030201),
        (4, b"\1\2\3", "REG_DWORD", b"\1\2\3"),
        (4, b"\1\2\3\4\5", "REG_DWORD", b"\1\2\3\4\5"),
        (5, b"\1\2\3\4", "REG_DWORD_BIG_ENDIAN", 0x01020304),
        (5, b"\1\2\3", "REG_DWORD_BIG_ENDIAN", b"\1\2\3"),
        (5, b"\1\2\3\4\5", "REG_DWORD_BIG_ENDIAN", b"\1\2\3\4\5"),
        (6, "\\Registry\0".encode("utf-16-le"), "REG_LINK", "\\Registry"),
        (7, "a\0bc\0\0".encode("utf-16-le"), "REG_MULTI_SZ", ["a", "bc"]),
        (7, "a\0bc".encode("utf-16-le"), "REG_MULTI_SZ", ["a", "bc"]),
        (7, "\0\0".encode("utf-16-le"), "REG_MULTI_SZ", []),
        (7, b"", "REG_MULTI_SZ", []),
        (7, b"a", "REG_MULTI_SZ", b"a"),
        (11, bytes(range(1, 9)), "REG_QWORD", 0x0807060504030201),
        (11, bytes(7), "REG_QWORD", bytes(7)),
        (11, bytes(9), "REG_QWORD", bytes(9)),
        (12, bytes(8), "0xc?", bytes(8)),
        (None, b"ab", None, b"ab"),
    ],
)
def test_the_data_of_a_value_is_read_by_its_type(kind: int | None, data: bytes, name: str | None, content: Any) -> None:
    value = RegistryValue("v", kind, untraced(data))
    assert (value.type_name, value.content()) == (name, content)


def test_a_value_without_data_has_no_content() -> None:
    assert RegistryValue("v", 1, None).content() is None
    assert RegistryValue("v", 1, TracedBytes.of_frame(b"a\0", 3)).content() == "a"


def identifier(counter_id: int = 1, instance: str | None = None, **more: Any) -> Identifier:
    given = {"counterset": "guid", "status": 0, "instance_id": 5, "index": 2, **more}
    return Identifier(counter_id=counter_id, instance=instance, **given)


def test_identifiers_are_the_same_whatever_their_status_index_and_case() -> None:
    one = identifier(7, "Total", status=0, index=1)
    assert one.key == identifier(7, "TOTAL", status=9, index=4).key == ("guid", 7, 5, "total")
    assert identifier(7, None).key == ("guid", 7, 5, None)
    assert identifier(7, "").key == ("guid", 7, 5, "")
    for other in (
        identifier(8, "total"),
        identifier(7, "tota"),
        identifier(7, "total", instance_id=6),
        identifier(7, "total", counterset="x"),
    ):
        assert other.key != one.key


@pytest.mark.parametrize(
    ("counter_id", "instance", "counter", "one"),
    [
        (0, "a", True, True),
        (0xFFFFFFFF, "a", False, True),
        (0xFFFFFFFE, None, True, False),
        (1, "a*", True, False),
        (1, "?", True, False),
        (1, "", True, True),
    ],
)
def test_an_identifier_names_one_counter_and_instance_or_many(
    counter_id: int, instance: str | None, counter: bool, one: bool
) -> None:
    asked = identifier(counter_id, instance)
    assert (asked.names_one_counter, asked.names_one_instance) == (counter, one)


def test_what_a_handle_held_stays_while_its_list_grows() -> None:
    items = [identifier(number) for number in range(3)]
    held, first = Held(items), Held.first(items, 2)
    items.append(identifier(9))
    assert (len(held), len(first), len(Held(items))) == (3, 2, 4)
    assert list(held) == [held[at] for at in range(3)] == items[:3]
    assert [held[at] for at in range(-3, 0)] == items[:3]
    assert held[1:] == tuple(items[1:3])
    assert held[::-1] == tuple(items[2::-1])
    assert (first[-1], first[1], first[-2]) == (items[1], items[1], items[0])
    for at in (3, -4):
        with pytest.raises(IndexError):
            held[at]
    assert held.whole is items
    assert (held == items[:3], held == items, held == 3, first == held) == (True, False, False, False)
    assert repr(first) == repr(tuple(items[:2]))
    assert items[2] in held
    assert items[3] not in held


def test_counters_in_order_are_those_that_are_held() -> None:
    items = [identifier(number) for number in range(3)]
    in_order = InOrder(Held.first(items, 2))
    assert dict(in_order) == {0: items[0], 1: items[1]}
    assert (len(in_order), list(in_order)) == (2, [0, 1])
    for block in (-1, 2):
        assert in_order.get(block) is None
    assert repr(in_order) == repr({0: items[0], 1: items[1]})
    assert in_order.held == items[:2]


@pytest.mark.parametrize(
    ("value_name", "key", "language"),
    [
        ("Counter 009", None, ("counter", "009")),
        ("COUNTER  007", None, ("counter", "007")),
        ("Help 009", None, ("help", "009")),
        ("Explain 009", None, ("help", "009")),
        ("Counter", None, None),
        ("Counter", "HKEY_PERFORMANCE_TEXT", ("counter", "009")),
        ("help", "HKEY_PERFORMANCE_NLSTEXT", ("help", "the server's own")),
        ("Counter 009 2", "HKEY_PERFORMANCE_TEXT", None),
        ("Counters 009", None, None),
        ("", "HKEY_PERFORMANCE_TEXT", None),
        ("Global", None, None),
    ],
)
def test_the_name_of_a_value_says_which_name_table_it_is(
    value_name: str, key: str | None, language: tuple[str, str] | None
) -> None:
    assert table_language(value_name, key) == language
    assert (ENGLISH, OWN_LANGUAGE) == ("009", "the server's own")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("0", True),
        ("4294967295", True),
        ("12345678901", False),
        ("", False),
        ("-1", False),
        ("\u0661", False),
        ("1a", False),
    ],
)
def test_a_title_index_is_a_dword_in_decimal(word: str, expected: bool) -> None:
    assert is_index(word) == expected


@pytest.mark.parametrize(
    ("value_name", "words"),
    [
        ("Counter 009", "counter names (language 009)"),
        ("Help 007", "help texts (language 007)"),
        ("238", "object 238 Processor"),
        ("230 238 9", "objects 230 Process, 238 Processor, 9"),
        ("Metadata 238", "metadata of object 238 Processor"),
        ("METADATA 9 10", "metadata of objects 9, 10 File Read Operations/sec"),
        ("Metadata", 'value "Metadata"'),
        ("Other 238", 'value "Other 238"'),
        ("238 x", 'value "238 x"'),
        ("Metadata 238 x", 'value "Metadata 238 x"'),
        ("", 'value ""'),
        ("GLOBAL", "Global (all objects that are cheap to collect)"),
        ("costly", "Costly (all objects that are expensive to collect)"),
        (
            "MetadataGlobal",
            "MetadataGlobal (counter definitions, without values, of all objects that are cheap to collect)",
        ),
        (
            "metadatacostly",
            "MetadataCostly (counter definitions, without values, of all objects that are expensive to collect)",
        ),
    ],
)
def test_what_a_value_asks_for_is_said_in_words(value_name: str, words: str) -> None:
    assert value_in_words(value_name, NameTable()) == words


def test_names_of_the_capture_stand_before_those_of_files_and_those_before_ours() -> None:
    table = NameTable()
    assert table.named(2) == Named(Name("System", "well-known"))
    assert table.named(99_999) == Named()
    assert table.name(99_999) is None
    assert table.give(ENGLISH, {2: "from a file", 4: "Memory of a file"}) == {}
    assert table.give(ENGLISH, {2: "from another", 6: "%"}) == {}
    assert table.named(2) == Named(Name("from a file", "metadata"))
    table.learn(ENGLISH, {2: "seen"})
    assert table.named(2) == Named(Name("seen", "capture"))
    assert table.named(4) == Named(Name("Memory of a file", "metadata"))
    assert table.named(6) == Named(Name("%", "metadata"))
    # What a file says otherwise is returned; what it says alike, or of what was not reported, is not.
    assert table.give(ENGLISH, {2: "otherwise", 4: "whatever"}) == {2: "seen"}
    assert table.give(ENGLISH, {2: "seen"}) == {}
    assert dict(table.reported) == {ENGLISH: {2: "seen"}}
    assert table.packed() == ({ENGLISH: {2: "seen"}}, {ENGLISH: {2: "from a file", 4: "Memory of a file", 6: "%"}})


def test_a_name_in_another_language_takes_the_place_of_ours() -> None:
    table = NameTable()
    table.give("007", {2: "System (Datei)", 4: "Speicher (Datei)"})
    table.learn("00C", {4: "M\u00e9moire"})
    table.learn("007", {6: "Prozessorzeit"})
    # Languages of the capture come first, whatever the file says in others.
    assert table.named(4) == Named(None, Name("M\u00e9moire", "capture"), "00C")
    assert table.named(2) == Named(None, Name("System (Datei)", "metadata"), "007")
    assert table.named(6) == Named(None, Name("Prozessorzeit", "capture"), "007")
    assert table.name(6) == Name("Prozessorzeit", "capture")
    table.learn(ENGLISH, {4: "Memory"})
    assert table.named(4) == Named(Name("Memory", "capture"), Name("M\u00e9moire", "capture"), "00C")
    assert table.names(2, 4) == SampleNames(table.named(2), table.named(4))
    assert table.names(4, 2) == SampleNames(table.named(4), table.named(2))


def test_what_was_looked_up_is_looked_up_anew_when_more_is_known() -> None:
    table = NameTable()
    before = table.names(2, 4)
    assert table.names(2, 4) is before
    assert table.named(2) is table.named(2)
    table.learn(ENGLISH, {2: "S"})
    assert table.names(2, 4) == SampleNames(Named(Name("S", "capture")), Named(Name("Memory", "well-known")))
    table.give(ENGLISH, {4: "M"})
    assert table.names(2, 4).counter == Named(Name("M", "metadata"))
    table.unpack({}, {"009": {4: "other"}})
    assert table.names(2, 4) == SampleNames(Named(Name("System", "well-known")), Named(Name("other", "metadata")))


def test_names_that_were_put_together_are_not_kept_without_end() -> None:
    table = NameTable()
    first, pair = table.named(2), table.names(2, 4)
    for index in range(10, MAX_REMEMBERED + 8):
        table.named(index)
    assert table.named(2) is first
    table.named(MAX_REMEMBERED + 8)
    assert table.named(2) is not first
    assert table.named(2) == first
    assert table.names(2, 4) is not pair


def test_each_server_has_a_table_of_its_own() -> None:
    tables = NameTables()
    server = Endpoint("10.0.0.1", 445)
    assert tables.of(server) is tables.at("10.0.0.1")
    tables.at("10.0.0.2").learn(ENGLISH, {2: "S"})
    tables.at("10.0.0.3").give(ENGLISH, {2: "S"})
    assert [ip for ip, _ in tables] == ["10.0.0.2"]
    assert [ip for ip, _ in tables.all()] == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


def test_well_known_names_are_those_that_every_windows_has() -> None:
    """winperf.h and the Resource Kit: objects, and the counters that every tool reads."""
    table = NameTable()
    names = {index: table.name(index) for index in (2, 4, 6, 24, 230, 238, 1746)}
    assert {index: name.text for index, name in names.items() if name is not None} == {
        2: "System",
        4: "Memory",
        6: "% Processor Time",
        24: "Available Bytes",
        230: "Process",
        238: "Processor",
        1746: "% Idle Time",
    }
    assert all(index % 2 == 0 for index in WELL_KNOWN if table.name(index) is not None)


def test_ends_are_in_the_order_of_their_addresses_and_ports() -> None:
    ends = [Endpoint("10.0.0.2", 1), Endpoint("10.0.0.10", 9), Endpoint("10.0.0.10", 8)]
    assert sorted(ends) == [ends[2], ends[1], ends[0]]
    assert ends[2] < ends[1] <= ends[1]
