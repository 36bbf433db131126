"""Words for numbers and names: services, accounts, registry values, query handles."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.traced_bytes import TracedBytes, untraced
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.results.calls.call import Call
from analyzer.results.calls.query_state import Held, Identifier, InOrder
from analyzer.results.methods import scmr
from analyzer.results.methods.scmr import service_type_words
from analyzer.results.records.record_types import Endpoint
from analyzer.results.registry_and_service_facts import RegistryValue, service_facts
from analyzer.results.reported_names.counter_name_tables import (
    ENGLISH,
    NameTable,
    NameTables,
    is_index,
    table_language,
    value_in_words,
)
from analyzer.results.reported_names.server_names import MAX_REMEMBERED, Name, Named, SampleNames
from analyzer.results.security import Identity
from analyzer.screens.viewmodel.call_summary_words import service_answer_words, service_request_words
from tests.build.calls import Calls
from tests.written import Told, by_outcome


def number(word: str) -> int:
    return int(word, 0)


def fields(word: str) -> dict[str, Any]:
    """`a=1,b=x,c=x+y,d.e=2`: numbers, texts, lists of texts and what they are in; `-` is null."""
    found: dict[str, Any] = {}
    for name, _, value in (part.partition("=") for part in word.split(",") if part):
        inner = found
        *outer, last = name.split(".")
        for each in outer:
            inner = inner.setdefault(each, {})
        many = [None if one == "-" else one for one in value.split("+")]
        inner[last] = int(value) if value.isdecimal() else many if len(many) > 1 else many[0]
    return found


def service_call(word: str) -> Call:
    """`opnum,request|response`."""
    request, _, response = word.partition("|")
    opnum, _, request = request.partition(",")
    call = replace(plain_call(Calls(scmr.INTERFACE).exchange(int(opnum), b"", b"")), path="Spooler", status=0)
    assert call.request is not None
    assert call.response is not None
    return replace(
        call,
        request=replace(call.request, params=fields(request)),
        response=replace(call.response, params=fields(response)),
    )


def service(word: str) -> str:
    """What is said of its service by a call, and by its request alone."""
    call = service_call(word)
    alone = service_facts(replace(call, response=None))
    assert service_facts(replace(call, path=None, request=None, response=None)) is None
    assert service_facts(replace(call, interface=replace(call.interface, uuid="x"))) is None
    return f"{service_facts(call)}" + (f"; unanswered {alone}" if alone != service_facts(call) else "")


def account(word: str) -> str:
    who = Identity(**fields(word))
    return f"{who.account} by {who.account_source}: {who.who}"


def registry_value(word: str) -> str:
    """`type:text`, or `type:#hex`."""
    kind, _, text = word.partition(":")
    raw = bytes.fromhex(text[1:]) if text.startswith("#") else text.replace("_", "\0").encode("utf-16-le")
    value = RegistryValue("v", int(kind) if kind else None, untraced(raw))
    return f"{value.type_name} {value.content()!r}"


def table(word: str) -> str:
    """`name of a value@key`."""
    name, _, key = word.partition("@")
    return str(table_language(name, key or None))


def identifier_word(word: str) -> str:
    counter, _, instance = word.partition("@")
    asked = identifier(number(counter), None if instance == "-" else instance)
    return f"one counter {asked.names_one_counter}, one instance {asked.names_one_instance}"


def known(word: str, names: NameTable) -> str:
    """What a table of names does with `what:language:index=text,...`, or says of `what:index`."""
    what, *rest = word.split(":")
    entries = {int(key): value for key, _, value in (part.partition("=") for part in rest[-1].split(",")) if value}
    if what == "learn":
        names.learn(rest[0], entries)
        return ""
    if what == "give":
        return str(names.give(rest[0], entries))
    if what == "named":
        found = names.named(int(rest[0]))
        assert names.name(int(rest[0])) == found.best
        assert names.names(int(rest[0]), 4) == SampleNames(found, names.named(4))
        assert names.names(4, int(rest[0])) == SampleNames(names.named(4), found)
        local = f", {found.local.text} ({found.local.source}) in {found.language}" if found.local else ""
        return (f"{found.english.text} ({found.english.source})" if found.english else "no English name") + local
    assert what == "packed"
    assert names.packed()[0] == dict(names.reported)
    return str(names.packed())


READERS: dict[str, Callable[[str], object]] = {
    "type": lambda word: service_type_words(number(word)),
    "state": lambda word: service_answer_words(
        service_call(f"6|lpServiceStatus.dwCurrentState={word},lpServiceStatus.dwWin32ExitCode=0")
    ),
    "control": lambda word: service_request_words(service_call(f"1,dwControl={word}")),
    "start": lambda word: service_request_words(service_call(f"12,dwStartType={word}")),
    "asks": lambda word: service_request_words(service_call(word)),
    "answers": lambda word: service_answer_words(service_call(word)),
    "service": service,
    "account": account,
    "value": registry_value,
    "table": table,
    "index": is_index,
    "wants": lambda word: value_in_words(word, NameTable()),
    "identifier": identifier_word,
}


def said(words: str) -> str:
    """What comes of the words by the reader that the first names, and behind it these; names of a server are read in turn."""
    kind, *each = shlex.split(words)
    if kind == "names":
        names = NameTable()
        lines = [f"{one}: {found}" for one in each if (found := known(one, names))]
    else:
        lines = list(by_outcome((one, str(READERS[kind](one))) for one in each))
    return "".join(f"  = {line}\n" for line in lines)


TOLD = Told(Path(__file__).with_name("words.txt"), said)


@pytest.mark.parametrize("name", TOLD.words)
def test_each_number_and_name_has_its_words(name: str) -> None:
    TOLD.holds(name)


def test_nothing_is_known_of_who_somebody_is_before_it_is_stated() -> None:
    identity = Identity()
    assert (identity.kdc_frames, identity.is_anonymous, identity.allows, identity.mechanism) == ((), False, None, None)


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
    assert tables.table_of(server) is tables.at("10.0.0.1")
    tables.at("10.0.0.2").learn(ENGLISH, {2: "S"})
    tables.at("10.0.0.3").give(ENGLISH, {2: "S"})
    assert [ip for ip, _ in tables] == ["10.0.0.2"]
    assert [ip for ip, _ in tables.all()] == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


def test_ends_are_in_the_order_of_their_addresses_and_ports() -> None:
    ends = [Endpoint("10.0.0.2", 1), Endpoint("10.0.0.10", 9), Endpoint("10.0.0.10", 8)]
    assert sorted(ends) == [ends[2], ends[1], ends[0]]
    assert ends[2] < ends[1] <= ends[1]
