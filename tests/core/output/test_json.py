"""JSON text of records: the usual way and that for what UTF-8 cannot hold give the same."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from analyzer.core.output import json as module
from analyzer.core.output.json import Pieces, dumps, line, lines
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.sample import SampleRecord

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def sample(name: str, raw: Any = 1) -> SampleRecord:
    return SampleRecord(
        call=1,
        time_ns=2,
        source="winperf",
        server=Endpoint("10.0.0.1", 445),
        handle=None,
        counter_name=name,
        counter_type=None,
        instance="ä\x7f\u202e",
        instance_id=None,
        raw=raw,
        data_size=4,
        name_source=None,
        names=None,
        object_index=7,
    )


def test_a_lone_surrogate_is_an_escape_and_all_else_as_ever() -> None:
    usual, escaped = dumps(sample("a")), dumps(sample("\ud800"))
    assert escaped == usual.replace(b'"counter_name":"a"', b'"counter_name":"\\ud800"')
    assert b"\x7f" not in usual
    assert json.loads(escaped)["counter_name"] == "\ud800"
    assert "block" not in json.loads(usual)
    assert line(sample("a")) == usual + b"\n"


def test_what_is_json_already_is_written_as_it_is() -> None:
    for name in ("a", "\ud800"):
        assert b'"raw":{"x": 1.50}' in dumps(sample(name, Raw(b'{"x": 1.50}')))


def test_what_is_left_out_is_not_there() -> None:
    assert sample("a").query is UNSET
    for name in ("a", "\ud800"):
        assert b"query" not in dumps(sample(name))


@given(VALUES)
def test_any_value_goes_there_and_back(value: Any) -> None:
    assert json.loads(dumps(value)) == value
    assert json.loads(dumps([value, "\ud800"])) == [value, "\ud800"]


def test_a_text_in_pieces_stands_where_it_would_whole() -> None:
    pieces = Pieces(lambda: iter([b'{"a":', b'["\\u0085",1]', b"}"]))
    for name in ("x", "\ud800"):
        whole = line(sample(name, Raw(b'{"a":["\\u0085",1]}')))
        assert dumps(sample(name, pieces)) + b"\n" == whole
        assert b"".join(lines([sample(name), sample(name, pieces)])) == line(sample(name)) + whole


def test_a_long_piece_comes_alone_and_short_ones_with_what_is_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long piece is given out as it was made: it is not copied, and nothing is sought in it."""
    long = b'"' + b"\x7f" * 500 + b'"'
    pieces = Pieces(lambda: iter([b"[1", b",2,", long, b",3", b"]"]))
    first, last = line(sample("x")), line(sample("x", Raw(b"[4]"))).partition(b"[4]")
    monkeypatch.setattr(module, "_AT_ONCE", 500)
    made = list(lines([sample("x"), sample("x", pieces)]))
    assert made == [first + last[0] + b"[1,2,", long, b",3]" + last[2]]
    assert made[1] is long


@given(st.lists(st.sampled_from(["x", "\u0085", "\ud800", "\x7f", "é" * 50, None]), max_size=12), st.integers(1, 2000))
def test_lines_are_the_same_however_many_come_at_once(names: list[str | None], at_once: int) -> None:
    """A name of None stands for a text in pieces."""
    records = [sample("p", Pieces(lambda: iter([b'"a', b'b"']))) if name is None else sample(name) for name in names]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_AT_ONCE", at_once)
        made = list(lines(records))
    assert b"".join(made) == b"".join(line(record) for record in records)
    assert all(made)


def test_lines_before_a_record_that_cannot_be_made_come_first() -> None:
    def records() -> Iterator[SampleRecord]:
        yield sample("one")
        yield sample("two")
        raise KeyError("no more")

    made = lines(records())
    assert next(made) == line(sample("one")) + line(sample("two"))
    with pytest.raises(KeyError, match="no more"):
        next(made)


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(TypeError, match="object in a record"):
        dumps(sample("x", object()))
