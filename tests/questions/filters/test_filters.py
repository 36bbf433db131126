"""Filters: what they say, what they mean, and that their fast path (calls) and their plain one (records) agree."""

import re
from collections.abc import Callable, Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import msgspec.inspect as inspect
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.interfaces import buffers
from analyzer.interfaces.buffers.compiled_parsers import types
from analyzer.interfaces.call_contents.call_records import CallRecords, call_record
from analyzer.interfaces.call_contents.raw_samples import sample_records
from analyzer.pipeline.run import analyze
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.field_values import CallColumns, LookedAt, of_record
from analyzer.questions.filters.filter import CallFilter, SampleFilter
from analyzer.questions.filters.filterable_fields import (
    _OF_ITS_CALL,
    _SHORT,
    buffer_field,
    call_fields,
    counter_fields,
    sample_fields,
    vocabulary,
)
from analyzer.questions.filters.grammar import (
    And,
    Compare,
    Exists,
    FilterError,
    Function,
    In,
    Node,
    Not,
    Or,
    Range,
    Text,
    Word,
    Xor,
    parse,
)
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import CallRecord
from analyzer.results.records.record_types import Kind
from analyzer.results.records.sample import CounterRecord, SampleRecord
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, perf_data, winperf
from tests.build.calls import COUNTERSET, HANDLE, Calls, analysis_of, sealed, winreg
from tests.records import plains

# ------------------------------------------------------------------------------------------------ text and tree

_KEYWORDS = {"not", "any", "all"}
words = st.from_regex(r"[A-Za-z_][\w.:/\\$@*+%#-]{0,8}", fullmatch=True).filter(
    lambda word: ".." not in word and not word.endswith(".") and word.lower() not in _KEYWORDS
)
operands = st.one_of(
    words.map(Word),
    st.from_regex(r"-?[0-9]{1,4}(\.[0-9]{1,3})?|0x[0-9a-f]{1,4}|10\.0\.0\.0/8|::1", fullmatch=True).map(Word),
    st.text(max_size=8).map(Text),
)
fields_only = words.map(Word)
left = st.one_of(operands, st.builds(Function, st.sampled_from(["len", "count", "lower", "upper"]), fields_only))
quantifiers = st.sampled_from([None, None, "any", "all"])
relations: st.SearchStrategy[Node] = st.one_of(
    left.map(Exists),
    st.builds(
        Compare,
        fields_only,
        st.sampled_from(["==", "!=", "===", "!==", "<", "<=", ">", ">=", "&", "contains", "matches"]),
        operands,
        quantifiers,
    ),
    st.builds(
        In,
        fields_only,
        st.lists(st.one_of(operands, st.builds(Range, operands, operands)), min_size=1, max_size=3).map(tuple),
        quantifiers,
    ),
)


def _joined(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(inner.map(Not), several.map(And), several.map(Or), several.map(Xor))


trees = st.recursive(relations, _joined, max_leaves=8)


@given(trees)
@settings(max_examples=150)
def test_what_is_printed_is_read_as_the_same_tree(tree: Node) -> None:
    assert parse(str(tree)) == tree


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("opnum==6&&status!=0", "opnum == 6 and status != 0"),
        ("!(a eq 1) || NOT b ne 2", "not a == 1 or not b != 2"),
        ("a and b or c xor d and not e", "a and b or c xor d and not e"),
        ("(a or b) and (c and d)", "(a or b) and (c and d)"),
        ("0.1 < latency <= 500ms", "0.1 < latency and latency <= 500ms"),
        ("a not in {1..5,0x10, ::1,'x y'}", 'not a in {1..5, 0x10, ::1, "x y"}'),
        ("a ~ r'^\\d'", 'a matches "^\\\\d"'),
        ('a == "LAB\\perfmon\\x41\\n"', 'a == "LAB\\\\perfmonA\\n"'),
        ("a === b or a !== b or a any_ne b", "a === b or a !== b or a !== b"),
        ("any a == 1 and all a != 2 and all == 3", "any a == 1 and all a != 2 and all == 3"),
        ("state == and", "state == and"),
        ("a & 0x80", "a & 0x80"),
        (r"user == LAB\perfmon", r"user == LAB\perfmon"),
        ("((((a))))", "a"),
    ],
)
def test_one_meaning_has_one_form(written: str, printed: str) -> None:
    assert str(parse(written)) == printed
    assert str(parse(printed)) == printed


# ------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("written", "column", "sentence"),
    [
        ("", 1, "the filter is empty"),
        ("opnum = 6", 7, "a single = is no operator, write == or !="),
        ("opnum ==", 9, "the filter ends here, but a field or a value must follow"),
        ("(opnum == 6", 12, "the filter ends here, but ) must follow"),
        ("opnum in 6", 10, "6 was not expected here, but {"),
        ("opnum == 6 statsu", 12, "statsu was not expected here, but one of ==, !=, <, >, contains, matches, and, or"),
        ("opnum ! 6", 9, "6 was not expected here, but in"),
        ("opnum ü", 7, "ü was not expected here, but one of ==, !=, <, >, contains, matches, in, and, or"),
        ("opnum in {6 7}", 13, "7 was not expected here, but one of }, a comma"),
        ("opnum in {6,}", 13, "} was not expected here, but a field or a value"),
        ("user == 'x", 9, "this text has no closing quote"),
        ("any opnum", 5, "any stands before a comparison, and this is none"),
        ("status == 5 or statsu == 3", 16, "no field is called statsu; near it: status, state"),
        ("ip.addr == 10.0.0.1", 1, "no field is called ip.addr; what Wireshark calls so is ip"),
        ("failed and opnum == 6", 1, "no field is called failed; calls that failed pass: status != 0 or fault"),
        (
            "RequestCode == 5",
            1,
            "no field is called RequestCode; near it: params.RequestCode, request.params.RequestCode",
        ),
        ("buffer.identifiers.nam == x", 1, "no field is called buffer.identifiers.nam"),
        ("5 in {6}", 1, "no field is called 5"),
        ("'a' == 'b'", 1, "one side of a comparison must be a field"),
        ("'a' contains user", 1, "the field stands before contains"),
        ("'a'", 1, "a text alone says nothing; compare a field with it"),
        (
            "status == ERROR_ACCES_DENIED",
            11,
            "ERROR_ACCES_DENIED is no status by number or name; near it: ERROR_ACCESS_DENIED",
        ),
        ("opnum == six", 10, "opnum is a number, and six is none"),
        ("opnum in {7..6}", 11, "the range 7..6 is empty: its first value is the greater"),
        ("user in {a..b}", 10, "a range is of numbers, times or addresses, and user is text"),
        ("client.ip == host", 14, "host is no IP address or network"),
        ("ip in {10.0.0.9..10.0.0.1}", 8, "10.0.0.9..10.0.0.1 is no range of addresses"),
        ("ip > 10.0.0.1", 4, "> needs a number or a time, and ip is an address"),
        ("latency > 5x", 11, "latency is in seconds, and 5x is no duration like 0.5 or 500ms"),
        ("time > yesterday", 8, "yesterday is no time like 2026-11-20"),
        ("time > 2026-13-01", 8, "2026-13-01 is no time like 2026-11-20"),
        ("smb.signed == yes", 15, "smb.signed is true or false, and yes is neither"),
        ("state == done", 10, "state is never done; it is one of complete, request-only"),
        ("smb == 3.1.1", 1, "smb is a group of fields and has no value"),
        ("interface.uuid == x", 19, "interface.uuid is a GUID, and x is none"),
        ("opnum contains 6", 16, "contains and matches need text, and opnum is a number"),
        ("user matches '(a'", 14, "this is no regular expression: unclosed group"),
        ("user matches '(a{1000}){1000}'", 14, "this is no regular expression: Compiled regex exceeds size limit"),
        ("user matches '(?=a)'", 14, "this is no regular expression: look-around, including"),
        ("user > null", 8, "null is only compared with == and !="),
        ("user == server.ip", 6, "user is text and server.ip is an address; quote server.ip to mean the text"),
        ("len(opnum) == 1", 1, "len needs a field of text, and opnum is a number"),
        ("user & 1", 6, "& needs a number, and user is text"),
        ("opnum & 0.5", 9, "0.5 has no bits"),
        ("!" * 200 + "opnum", 52, "this filter nests deeper than 50 levels"),
        ("(" * 200 + "opnum" + ")" * 200, 52, "this filter nests deeper than 50 levels"),
        ("len(" * 200 + "user" + ")" * 200 + " == 1", 205, "this filter nests deeper than 50 levels"),
        ("a" * 10_001, 1, "a filter may have 10,000 characters, this one has 10,001"),
        ("user matches '" + "a" * 1001 + "'", 14, "a pattern may have 1,000 characters, this one has 1,001"),
        ("opnum == 1e999999999", 10, "opnum is a number, and 1e999999999 is none"),
        ("opnum == " + "9" * 5000, 10, "opnum is a number, and"),
        ("user == \x00", 9, "'\\x00' was not expected here"),
        # A letter that is an s in capitals makes no operator of a word.
        ("user contain\u017f x", 6, "contain\u017f was not expected here"),
    ],
)
def test_a_mistake_is_reported_with_its_place(written: str, column: int, sentence: str) -> None:
    with pytest.raises(FilterError) as caught:
        CallFilter(written)
    error = caught.value
    assert (error.column, error.sentence[: len(sentence)]) == (column, sentence)
    assert str(error) == f"column {column} of the filter: {error.sentence}"
    # The carets stand below the place, however long the filter.
    shown, carets = error.hint.split("\n  ")
    at = carets.index("^")
    assert carets.strip("^ ") == ""
    assert len(carets) <= len(shown) + 1
    if column <= len(written):
        under = written[column - 1]
        assert shown[at] == (under if under.isprintable() else " ")


@given(st.text(alphabet="ab01 .<>=!&|(){},\"'\\~:-/x\n\0é", max_size=30))
@settings(max_examples=200)
def test_any_text_is_a_filter_or_a_mistake(text: str) -> None:
    try:
        made = CallFilter(text)
    except FilterError:
        return
    assert parse(str(made)) == made.tree


# ------------------------------------------------------------------------------------------------ meaning

Record = dict[str, Any]
Predicate = Callable[[Record], bool]
USERS = ["LAB\\perfmon", "perfmon@LAB.TEST", "admin", ""]
ADDRESSES = ["10.0.0.1", "10.1.2.3", "192.168.0.7", "::1", "fe80::2"]
STATES = ["complete", "sealed", "request-only"]
maybe_number = st.one_of(st.none(), st.integers(0, 9))


def _side() -> st.SearchStrategy[Any]:
    params = st.fixed_dictionaries(
        {}, optional={"RequestCode": st.integers(1, 10), "szMachine": st.sampled_from(USERS)}
    )
    tree = st.fixed_dictionaries(
        {"identifiers": st.lists(st.fixed_dictionaries({"name": st.sampled_from(USERS), "index": st.integers(0, 9)}))}
    )
    side = st.fixed_dictionaries(
        {"frames": st.lists(st.integers(1, 9), min_size=1, max_size=3), "params": params, "buffer": st.none() | tree}
    )
    return st.none() | side


call_records: st.SearchStrategy[Record] = st.fixed_dictionaries(
    {
        "number": st.integers(1, 9),
        "time_ns": st.integers(0, 9).map(lambda n: n * 1_000_000_000),
        "client": st.fixed_dictionaries({"ip": st.sampled_from(ADDRESSES), "port": st.integers(1, 9)}),
        "server": st.fixed_dictionaries({"ip": st.sampled_from(ADDRESSES), "port": st.integers(1, 9)}),
        "smb": st.none()
        | st.fixed_dictionaries({"session_id": st.integers(0, 9).map(lambda n: f"{n:#018x}"), "signed": st.booleans()}),
        "auth": st.fixed_dictionaries({"user": st.none() | st.sampled_from(USERS)}),
        "state": st.sampled_from(STATES),
        "opnum": maybe_number,
        "status": maybe_number,
        "latency_ns": st.none() | st.integers(0, 9).map(lambda n: n * 250_000_000),
        "request": _side(),
        "response": _side(),
    }
)


def frames_of(record: Record) -> list[int]:
    return [frame for side in ("request", "response") if record[side] for frame in record[side]["frames"]]


def codes_of(record: Record) -> list[int]:
    sides = [record[side] for side in ("request", "response") if record[side]]
    return [side["params"]["RequestCode"] for side in sides if "RequestCode" in side["params"]]


def indexes_of(record: Record) -> list[int]:
    sides = [record[side] for side in ("request", "response") if record[side] and record[side]["buffer"]]
    return [item["index"] for side in sides for item in side["buffer"]["identifiers"]]


NUMBERS: dict[str, Callable[[Record], list[int]]] = {
    "opnum": lambda record: [] if record["opnum"] is None else [record["opnum"]],
    "status": lambda record: [] if record["status"] is None else [record["status"]],
    "frame": frames_of,
    "port": lambda record: [record["client"]["port"], record["server"]["port"]],
    "session": lambda record: [int(record["smb"]["session_id"], 16)] if record["smb"] else [],
    "params.RequestCode": codes_of,
    "buffer.identifiers.index": indexes_of,
    "buffer.index": indexes_of,
}


@st.composite
def number_tests(draw: st.DrawFn) -> tuple[str, Predicate]:
    name, number = draw(st.sampled_from(sorted(NUMBERS))), draw(st.integers(0, 9))
    values = NUMBERS[name]
    digits = draw(st.sampled_from([str(number), hex(number), f'"{number}"' if "buffer" not in name else str(number)]))
    match draw(
        st.sampled_from(
            ["==", "!=", "===", "!==", "<", ">=", "all <", "all ==", "any !=", "in", "not in", "exists", "null"]
        )
    ):
        case "==":
            return f"{name} == {digits}", lambda record: number in values(record)
        case "!=":
            return f"{name} != {digits}", lambda record: values(record) != [] and number not in values(record)
        case "===":
            return f"{name} === {digits}", lambda record: set(values(record)) == {number}
        case "!==":
            return f"{name} !== {digits}", lambda record: bool(set(values(record)) - {number})
        case "<":
            return f"{name} < {digits}", lambda record: min(values(record), default=99) < number
        case ">=":
            return f"{digits} <= {name}", lambda record: max(values(record), default=-99) >= number
        case "all <":
            return f"all {name} < {digits}", lambda record: max(values(record), default=99) < number
        case "all ==":
            return f"all {name} == {digits}", lambda record: set(values(record)) == {number}
        case "any !=":
            return f"any {name} != {digits}", lambda record: bool(set(values(record)) - {number})
        case "in":
            return f"{name} in {{{digits}, 3..5}}", lambda record: bool({number, 3, 4, 5} & set(values(record)))
        case "not in":
            return f"{name} not in {{{digits}, 3..5}}", lambda record: not {number, 3, 4, 5} & set(values(record))
        case "exists":
            return name, lambda record: values(record) != []
        case _:
            return f"{name} == null", lambda record: values(record) == []


@st.composite
def other_tests(draw: st.DrawFn) -> tuple[str, Predicate]:
    user, address, half = draw(st.sampled_from(USERS)), draw(st.sampled_from(ADDRESSES)), draw(st.integers(0, 9))
    quoted = '"' + user.replace("\\", "\\\\") + '"'
    both: Callable[[Record], list[str]] = lambda record: [record["client"]["ip"], record["server"]["ip"]]  # noqa: E731
    names: Callable[[Record], list[str]] = lambda record: [  # noqa: E731
        item["name"]
        for side in ("request", "response")
        if record[side] and record[side]["buffer"]
        for item in record[side]["buffer"]["identifiers"]
    ]
    return draw(
        st.sampled_from(
            [
                (f"user == {quoted}", lambda record: record["auth"]["user"] == user),
                (f"user != {quoted}", lambda record: record["auth"]["user"] not in (None, user)),
                ("user contains perf", lambda record: "perf" in (record["auth"]["user"] or "")),
                ("user matches '^lab'", lambda record: (record["auth"]["user"] or "").lower().startswith("lab")),
                ("lower(user) contains lab", lambda record: "lab" in (record["auth"]["user"] or "").lower()),
                ("len(user) > 5", lambda record: len(record["auth"]["user"] or "") > 5),
                ("count(frame) > 2", lambda record: len(frames_of(record)) > 2),
                (f"buffer.name == {quoted}", lambda record: user in names(record)),
                ("buffer.identifiers.name contains '@'", lambda record: any("@" in name for name in names(record))),
                (f"ip == {address}", lambda record: address in both(record)),
                (f"ip != {address}", lambda record: address not in both(record)),
                ("client.ip == server.ip", lambda record: len(set(both(record))) == 1),
                (
                    "client.ip in {10.0.0.0/8, fe80::/10}",
                    lambda record: any(
                        ip_address(record["client"]["ip"]) in ip_network(net) for net in ("10.0.0.0/8", "fe80::/10")
                    ),
                ),
                ("client.ip in {10.0.0.1..10.1.0.0}", lambda record: record["client"]["ip"] == "10.0.0.1"),
                (f"latency > {half / 2}", lambda record: (record["latency_ns"] or -1) > half * 500_000_000),
                (
                    f"latency in {{{half * 250}ms..2s}}",
                    lambda record: (
                        record["latency_ns"] is not None and half * 250_000_000 <= record["latency_ns"] <= 2_000_000_000
                    ),
                )
                if half <= 8
                else ("latency", lambda record: record["latency_ns"] is not None),
                (f"time >= 1970-01-01T00:00:0{half}Z", lambda record: record["time_ns"] >= half * 1_000_000_000),
                ("smb", lambda record: record["smb"] is not None),
                ("smb.signed == true", lambda record: bool(record["smb"] and record["smb"]["signed"])),
                ("smb.signed != 1", lambda record: bool(record["smb"] and not record["smb"]["signed"])),
                ("state == sealed", lambda record: record["state"] == "sealed"),
                ("state in {complete, 'sealed'}", lambda record: record["state"] != "request-only"),
                ("response", lambda record: record["response"] is not None),
                (
                    "params",
                    lambda record: any(record[side] and record[side]["params"] for side in ("request", "response")),
                ),
                ("status & 4", lambda record: record["status"] is not None and record["status"] // 4 % 2 == 1),
            ]
        )
    )


Pair = tuple[str, Predicate]


def _together(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    return st.one_of(
        inner.map(lambda one: (f"not ({one[0]})", lambda record: not one[1](record))),
        st.tuples(inner, inner).map(
            lambda two: (f"({two[0][0]}) && {two[1][0]}", lambda record: two[0][1](record) and two[1][1](record))
        ),
        st.tuples(inner, inner).map(
            lambda two: (f"({two[0][0]} or ({two[1][0]}))", lambda record: two[0][1](record) or two[1][1](record))
        ),
        st.tuples(inner, inner).map(
            lambda two: (f"(({two[0][0]}) xor ({two[1][0]}))", lambda record: two[0][1](record) != two[1][1](record))
        ),
    )


leaves: st.SearchStrategy[Pair] = st.one_of(number_tests(), other_tests())
# What goes beside a looser operator is put in parentheses by the strategies above.
pairs = st.recursive(leaves, lambda inner: _together(inner.map(lambda one: (f"({one[0]})", one[1]))), max_leaves=5)


@given(pairs, st.lists(call_records, min_size=1, max_size=6))
@settings(max_examples=200)
def test_a_filter_passes_what_plain_python_passes(pair: Pair, records: list[Record]) -> None:
    """One record after the other; and many calls at once, as their records do."""
    text, predicate = pair
    made = CallFilter(text)
    again = CallFilter(str(made))
    for record in records:
        assert made.passes(record) == bool(predicate(record)), (text, record)
        assert again.passes(record) == made.passes(record)
    assert passing(text, CONVERSATION) == [record.number for record in RECORDS if made.passes(record)]


def test_a_pattern_made_to_hang_does_not() -> None:
    """What backtracks takes two to the 50,000th steps for it: that it ends at all is the test."""
    made = CallFilter("user matches '^(a+)+(a|a)*$'")
    assert not made.passes({"auth": {"user": "a" * 50_000 + "!"}})


def test_a_lone_surrogate_can_be_looked_at() -> None:
    record = {"auth": {"user": "a\ud800b"}}
    assert CallFilter(r"user matches 'ud800'").passes(record)
    assert CallFilter('user == "a\\ud800b"').passes(record)
    assert parse(str(CallFilter('user == "a\\ud800b"'))) == parse('user == "a\\ud800b"')


# ------------------------------------------------------------------------------------------------ calls


def conversation() -> Analysis:
    make, keys = Calls(), winreg(first_frame=100)
    block = winperf([PerfObject(238, (Counter(6, 0x20510500, 8),), (Instance("_Total", -1, (0, 0), (17,)),))])
    data = perf_data([Block(1, values=((b"\1\0\0\0",),))])
    return analysis_of(
        make.registration(9, "Name\0".encode("utf-16-le"), lcid=9),
        make.open_query(),
        make.validate(identifier(COUNTERSET, name="_Total")),
        make.counter_info(identifier(COUNTERSET, name="_Total")),
        make.counter_data(data),
        make.counter_data(b"", status=5),
        make.close_query(),
        sealed(make.counter_data(data)),
        make.exchange(6, make.stub().handle(HANDLE).uint(4096), None),
        make.exchange(9, b"abcd", None, fault=0x1C00001A),
        make.exchange(None, None, b"abc"),
        keys.open_key(),
        keys.query_value("Global", None, status=234, needed=900),
        keys.query_value("Global", block),
    )


CONVERSATION = conversation()
RECORDS = [call_record(call, CONVERSATION) for call in CONVERSATION.calls]


def agree(analysis: Analysis) -> None:
    extra = ("buffer.identifiers.name", "response.buffer.counter_id", "buffer.blocks.status", "buffer.name")
    fields = [*call_fields().values(), *filter(None, map(buffer_field, extra))]
    columns, numbers = CallColumns(analysis), np.arange(1, len(analysis.calls) + 1)
    by_column = {field: columns.values([field], numbers) for field in fields if columns.holds([field])}
    records = CallRecords(analysis)
    for number, record in enumerate(CallRecords(analysis).records_of(numbers.tolist()), 1):
        recorded = of_record(record)
        looked_at = LookedAt(analysis.calls[number - 1], records)
        for field in fields:
            assert list(looked_at(field)) == list(recorded(field)), (number, field.name)
            if field in by_column:
                codes, found = by_column[field]
                assert list(found[codes[number - 1]](field)) == list(recorded(field)), (number, field.name)
    for field in fields:
        # What is no column is looked at only where it may have a value.
        passed = passing(field.name, analysis)
        assert passed == [call.number for call in analysis.calls if LookedAt(call, records)(field)], field.name


def passing(text: str, analysis: Analysis) -> list[int]:
    return list(Selection(filter=CallFilter(text)).calls(analysis).numbers)


@pytest.mark.parametrize(
    "name",
    [
        None,
        "pcq_smbd_scapy_impacket_smb311_ntlm_integrity_denied",
        "pcq_smbd_scapy_scapycli_smb311_ndr64",
        "v1_samba_impacket_smb311_noauth",
    ],
)
def test_a_call_gives_what_its_record_gives(name: str | None) -> None:
    agree(analysis_of_file(f"{name}.pcap") if name else conversation())


def test_buffers_are_left_alone_where_the_filter_does(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = conversation()
    looked_at: list[object] = []

    def counting(real: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **options: Any) -> Any:
            looked_at.append(given)
            return real(*given, **options)

        return counted

    monkeypatch.setattr(buffers, "decode_buffer", counting(buffers.decode_buffer))

    for field in call_fields().values():
        if not field.name.rpartition(".")[2].startswith(("buffer", "stub_sha256")) or field.name.endswith("kind"):
            passing(field.name, analysis)
    assert looked_at == []
    assert passing("opnum == 7 and buffer.identifiers.name == _Total and buffer.index == 0", analysis) == [3]
    assert len(looked_at) == 2
    assert passing("buffer_problem or stub_sha256 == x", analysis) == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("method == QueryCounterData", [5, 6, 8, 9]),
        ("method == PerflibV2QueryCounterData and status == ERROR_ACCESS_DENIED", [6]),
        ("interface == winreg", [12, 13, 14]),
        ("interface == '{338CD001-2244-31F1-AAAA-900038001003}'", [12, 13, 14]),
        ("interface != winreg", list(range(1, 12))),
        ("params.RequestCode == COUNTERSET_ENGLISH_NAME", [1]),
        (f"params.CounterSetGuid == {COUNTERSET.upper()}", [1]),
        ("handle == q1 and opnum < 6", [2, 4, 7]),
        (f"params.hQuery == {HANDLE} and params.dwAdd == 1", [3]),
        ("handle == k1", [12, 13, 14]),
        ("counterset == Name", [1]),
        (f"counterset == {COUNTERSET.upper()}", [1]),
        ("counterset matches '^nam' and count(counterset) == 2", [1]),
        (f"not counterset == {COUNTERSET} and opnum < 3", []),
        ("handle == 1 and status == null", [9]),
        ("fault == nca_s_fault_context_mismatch", [10]),
        ("state == sealed and not params", [8]),
        ("request.stub_length == 4", [10]),
        ("frame == 3 or frame in {5..6}", [2, 3]),
        ("not request", [11]),
        ("read.attempt == 2", [14]),
        ("status == ERROR_MORE_DATA", [13]),
        ("buffer_kind == perf-data", [5]),
        ("buffer.blocks.block_type == 1", [5]),
        ("time_relative > 10ms and number <= 7", [6, 7]),
        ("not opnum", [11]),
        ("session == 0x1d and number == 1", [1]),
        # Two fields are compared where both have values.
        ("request.stub_length > response.stub_length", [1, 2, 3, 13]),
        ("request.stub_length == response.stub_length", [6]),
        ("status < opnum", [1, 2, 3, 4, 5, 6, 7, 12, 14]),
        ("opnum & call_id", [1, 2, 3, 4, 5, 6, 7, 10, 12, 14]),
        ("method contains interface", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("number != opnum", [2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14]),
    ],
)
def test_what_calls_pass(text: str, numbers: list[int]) -> None:
    assert passing(text, CONVERSATION) == numbers
    made = CallFilter(text)
    assert [record.number for record in RECORDS if made.passes(record)] == numbers


@pytest.mark.parametrize(
    ("text", "frames", "passes"),
    [
        ("frame in {3..5}", (2, 4), True),
        ("any frame in {3..5}", (2, 4), True),
        ("all frame in {3..5}", (2, 4), False),
        ("all frame in {3..5}", (3, 5), True),
        ("all frame in {3..5}", (), False),
        ("all frame not in {3..5}", (2, 4), True),
        ("any frame not in {3..5}", (2, 4), False),
    ],
)
def test_a_set_is_asked_about_any_value_or_all(text: str, frames: tuple[int, ...], passes: bool) -> None:
    assert CallFilter(text).passes({"request": {"frames": list(frames)}}) is passes


@pytest.mark.parametrize("value", [True, False, 0, 1, 5, "true", "1", "5"])
def test_a_literal_means_values_of_the_kinds_it_can_be_read_as(value: bool | int | str) -> None:
    """What is in a decoded buffer has no kind; true and false are no numbers, and what is in quotes is text."""
    of_words = {"true": [True, "true"], "TRUE": [True], "false": [False], "1": [1, "1"], "0x5": [5], "5": [5, "5"]}
    of_texts = {'"true"': ["true"], '"1"': ["1"], '"5"': ["5"]}
    record = {"request": {"buffer": {"index": value}}}
    for text, meant in (of_words | of_texts).items():
        expected = any(type(value) is type(one) and value == one for one in meant)
        assert CallFilter(f"buffer.index == {text}").passes(record) is expected, (text, value)


def test_a_whole_number_has_bits_however_it_is_written() -> None:
    assert CallFilter("opnum & 0.2e1").passes({"opnum": 6})
    assert not CallFilter("opnum & 1.0").passes({"opnum": 6})


def test_a_number_may_have_so_many_digits() -> None:
    """A longer one is a mistake, so that nothing is computed with it."""
    most = 100
    CallFilter(f"latency > {'1' * most}")
    with pytest.raises(FilterError, match="is no duration"):
        CallFilter(f"latency > {'1' * (most + 1)}")


def test_other_programs_get_all_that_filters_can_name() -> None:
    """The filter of the page of `report` reads it."""
    found = vocabulary()
    assert set(found) == {"fields", "buffers", "methods", "numbers", "kinds", "units", "grammar"}
    assert [one[0] for one in found["fields"]] == [field.name for field in call_fields().values()]
    assert all(len(one) == 5 for one in found["fields"])
    assert found["numbers"]["STATUS"]["ERROR_MORE_DATA"] == 234
    assert "num_blocks" in found["buffers"]
    assert found["methods"][3] == "PerflibV2OpenQueryHandle"


@pytest.mark.parametrize(
    ("start", "stop", "shown"),
    [
        (0, 3, range(43)),
        (50, 60, range(100)),
        (100, 190, range(40, 180)),
        (195, 260, range(135, 200)),
        (300, 1, range(140, 200)),
    ],
)
def test_a_mistake_is_shown_with_the_text_around_it(start: int, stop: int, shown: range) -> None:
    source = "".join(chr(0x4E00 + at) for at in range(200))
    text, carets = str(FilterError("a sentence", source, (start, stop)).hint).split("\n")
    assert text.strip("…") == source[shown.start : shown.stop]
    assert text.startswith("…") is (shown.start > 0)
    assert text.endswith("…") is (shown.stop < len(source))
    assert text[carets.index("^") - 2 :][:1] == (source[min(start, 200) :][:1])
    assert carets.count("^") == max(1, min(stop, shown.stop) - min(start, 200))


def test_samples_are_filtered_by_themselves_and_their_calls() -> None:
    analysis = conversation()
    everything = list(sample_records(analysis))
    assert {record.source for record in everything} == {"perflib-v2", "winperf"}

    def passing(text: str) -> list[Any]:
        found = list(SampleFilter(text).records(analysis))
        assert all(record in everything for record in found)
        return [record.call for record in found]

    assert passing("source == winperf and instance == _Total") == [14]
    assert passing("opnum == 6") == [5]
    assert passing("opnum == 6 and block == 7") == []
    assert passing("opnum == 17 and number == 14 and instance contains Total and server.port == 445") == [14]
    assert passing("raw > 0") == [5, 14]
    assert passing("interface == PerflibV2 or counter_index == 6") == [5, 14]
    assert passing("counter_type == PERF_100NSEC_TIMER") == [14]
    for record in plains(everything):
        for field in sample_fields().values():
            if field.name in record:
                assert not isinstance(record[field.name], dict) or field.kind is Kind.GROUP


# ------------------------------------------------------------------------------------------------ the table


def test_every_parameter_of_a_stub_has_a_field() -> None:
    spellings = {
        field.spelling
        for name, spec in types().items()
        if name.startswith(("MsPcqStubs.", "MsRrpStubs.")) and name.endswith(("Request", "Response"))
        for field in spec.fields
        if not field.is_filler and field.spelling not in ("lpData", "lpvalueBuf", "(return value)")
    }
    assert spellings == {name.split(".")[1] for name in call_fields() if name.startswith("params.")}


@pytest.mark.parametrize(
    ("fields", "kind"), [(call_fields, CallRecord), (sample_fields, SampleRecord), (counter_fields, CounterRecord)]
)
def test_every_key_of_a_record_has_a_field_and_its_meaning(fields: Callable[[], Any], kind: type[Any]) -> None:
    def told(kind: type[Any], path: str = "") -> Iterator[tuple[str, str]]:
        for field in inspect.type_info(kind).fields:
            found, meaning = field.type, ""
            while isinstance(found, inspect.Metadata):
                meaning = meaning or (found.extra_json_schema or {}).get("description", "")
                found = found.type
            yield path + field.name, meaning
            for part in getattr(found, "types", (found,)):
                if isinstance(part, inspect.StructType):
                    yield from told(part.cls, f"{path}{field.name}.")

    named, short = fields(), {field.name for field in _SHORT}
    known = {path for field in named.values() for path in (field.name, *field.paths)}
    for path, meaning in told(kind):
        assert path in known
        is_of_its_call = kind is not CallRecord and path.partition(".")[0] in _OF_ITS_CALL
        if path not in short and path != "time" and not is_of_its_call and path in named:
            assert meaning.replace("`", "") in named[path].meaning


def test_what_only_a_record_shows_can_be_asked_for() -> None:
    analysis = conversation()
    calls = list(analysis.calls)
    assert calls[1].time_ns > calls[0].time_ns
    passed = passing(f"time_delta == {calls[1].time_ns - calls[0].time_ns}ns and time_delta_ns", analysis)
    assert 2 in passed
    assert 1 not in passed
    two = replace(analysis, capture=replace(analysis.capture, files=("a.pcap", "b.pcap")))
    text = "request.frame_files == 0 and frame_files < 1 and not response.frame_files == 1"
    assert 1 in passing(text, two)
    assert passing(text, analysis) == []


def test_calls_are_picked_by_the_program_that_made_them() -> None:
    """Of both captures together, by columns, by the calls and by their records."""
    names = ("v1_samba_impacket_smb311_noauth.pcap", "v1_samba_sambapy_krb5sha384_krb5_seal.pcap")
    analysis = analyze([truth.CAPTURES / name for name in names], pdus=False)
    records = list(CallRecords(analysis).records_of(range(1, len(analysis.calls) + 1)))
    by_program = {
        name: [one.number for one in records if one.program == name] for name in ("impacket 0.13", "Samba 4.17")
    }
    assert all(by_program.values())
    assert sum(map(len, by_program.values())) == len(records)
    for text, name in (
        ('program == "impacket 0.13"', "impacket 0.13"),
        ("program contains impacket", "impacket 0.13"),
        ('program matches "^samba"', "Samba 4.17"),
        ("program and not program contains impacket and number > 0", "Samba 4.17"),
    ):
        assert passing(text, analysis) == by_program[name]
        made = CallFilter(text)
        assert [one.number for one in records if made.passes(one)] == by_program[name]
        looked = [LookedAt(call, CallRecords(analysis)) for call in analysis.calls]
        assert [at for at, one in enumerate(looked, 1) if made.expression.passes(one)] == by_program[name]
    assert "program" in sample_fields()
    assert "program" in counter_fields()


def test_fields_are_what_they_say_they_are() -> None:
    is_of = {
        **dict.fromkeys(Kind, str),
        **dict.fromkeys(
            (Kind.NUMBER, Kind.STATUS, Kind.FAULT, Kind.REQUEST_CODE, Kind.COUNTER_TYPE, Kind.SECONDS, Kind.TIME), int
        ),
        Kind.FLAG: bool,
        Kind.GROUP: bool,
    }
    analysis = conversation()
    for call in analysis.calls:
        values = LookedAt(call, CallRecords(analysis))
        for field in call_fields().values():
            for value in values(field):
                assert type(value) is is_of[field.kind], field.name
                assert not field.choices or value in field.choices, field.name


# ------------------------------------------------------------------------------------------------ the documents

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = (ROOT / "docs" / "filters.md").read_text(encoding="utf-8")


def test_the_expressions_of_the_document_are_filters() -> None:
    quoted = [text for line in DOCUMENT.splitlines() for text in line.split("`")[1::2]]
    expressions = [text for text in quoted if re.match(r"\w[\w.]* (==|!=|<|&|in|and|not|opnum|frame) ", text)]
    assert len(expressions) >= 10
    for text in expressions:
        CallFilter(text)


def test_the_mistake_of_the_document_is_reported_like_that() -> None:
    with pytest.raises(FilterError) as caught:
        CallFilter("status == 5 or statsu == 3")
    assert f"pcq-analyzer: {caught.value}\n  {caught.value.hint}\n" in DOCUMENT
