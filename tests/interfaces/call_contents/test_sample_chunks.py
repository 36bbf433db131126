"""Which values come in chunks, and how long what is known of a layout is kept (what chunks say: tests/screens/formats)."""

from typing import Any

import pytest

from analyzer.interfaces.call_contents import raw_samples as module
from analyzer.interfaces.call_contents.bound_answers import Bindings
from analyzer.interfaces.call_contents.raw_samples import SampleChunk, sample_chunks, sample_records
from analyzer.results.analysis import Analysis
from tests.build.buffers import Block, Counter, Instance, PerfObject, perf_data, winperf
from tests.build.calls import HANDLE, Calls, analysis_of, winreg
from tests.screens.formats.test_sample_chunks import REGULAR, assert_same, described, polls

ONE = Block(1, values=((b"\1\0\0\0",),))
TWO = Block(4, instances=(("a", 0), ("b", 1)), values=((b"\1\0\0\0",), (b"\2\0\0\0",)))


def kinds(analysis: Analysis) -> list[int]:
    """How many values each chunk has; 0 for a record."""
    return [len(one.values) if isinstance(one, SampleChunk) else 0 for one in sample_chunks(analysis)]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The layouts of which parts were made."""
    found: list[object] = []
    for name in ("_perflib_parts", "_winperf_parts"):
        make = getattr(module, name)

        def counted(layout: Any, *arguments: Any, make: Any = make) -> Any:
            found.append(layout)
            return make(layout, *arguments)

        monkeypatch.setattr(module, name, counted)
    return found


def alternating(times: int) -> Analysis:
    make = Calls()
    return analysis_of(*(make.counter_data(perf_data([block])) for _ in range(times) for block in (ONE, TWO)))


def test_parts_are_made_once_for_a_layout(made: list[object]) -> None:
    assert kinds(alternating(5)) == [1, 2] * 5
    assert len(made) == 2


def test_parts_are_made_anew_when_too_many_values_are_kept(made: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout that was met last is kept, however large."""
    monkeypatch.setattr(Bindings, "MAX_VALUES", 2)
    assert kinds(alternating(3)) == [1, 2] * 3
    assert len(made) == 6
    made.clear()
    make = Calls()
    assert kinds(analysis_of(*(make.counter_data(perf_data([TWO, TWO])) for _ in range(3)))) == [2, 2] * 3
    assert len(made) == 1


def test_parts_of_as_many_values_as_may_be_kept_are_kept(made: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bindings, "MAX_VALUES", 3)
    kinds(alternating(3))
    assert len(made) == 2


def test_parts_of_very_many_blocks_are_not_kept(made: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    make = Calls()
    analysis = analysis_of(*(make.counter_data(perf_data([ONE] * 10)) for _ in range(3)))
    for most, times in ((10, 1), (9, 3)):
        made.clear()
        monkeypatch.setattr(module._Chunks, "MAX_COLUMNS", most)
        assert sum(kinds(analysis)) == 30
        assert len(made) == times


def test_of_very_many_blocks_chunks_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    make = Calls()
    analysis = analysis_of(*(make.counter_data(perf_data([ONE] * 10)) for _ in range(2)))
    assert kinds(analysis) == [10, 10]
    for most, expected in ((10, [10]), (9, [9, 1]), (5, [5, 5]), (3, [3, 3, 3, 1])):
        monkeypatch.setattr(module._Chunks, "MAX_COLUMNS", most)
        assert kinds(analysis) == expected * 2
        assert_same(analysis)


@pytest.mark.parametrize("blocks", [REGULAR, [ONE, TWO], [Block(0, status=5), ONE]])
def test_numbers_come_in_chunks(blocks: list[Block]) -> None:
    make = Calls()
    analysis = analysis_of(*described(make), *polls(make, blocks, 3))
    assert 0 not in kinds(analysis)
    assert_same(analysis)


def test_an_object_with_text_comes_in_records_and_those_beside_it_in_chunks() -> None:
    number, text = Counter(6, 0x20510500, 8), Counter(8, 0xB00, 16)
    objects = [
        PerfObject(230, (number,), (Instance("a", -1, (0, 0), (5,)), Instance("b", -1, (0, 0), (6,)))),
        PerfObject(232, (number, text), (Instance("c", -1, (0, 0), (7, "text")),)),
        PerfObject(234, (number,), ()),
        PerfObject(238, (number,), (Instance("d", -1, (230, 1), (8,)),)),
    ]
    make = winreg()
    analysis = analysis_of(make.open_key(), *(make.query_value("Global", winperf(objects)) for _ in range(2)))
    assert kinds(analysis) == [2, 0, 0, 1] * 2
    assert_same(analysis)


def test_chunks_are_compared_by_identity() -> None:
    """Their arrays have no single truth, and the same values come again and again."""
    (first, _), (again, _) = (tuple(sample_chunks(alternating(1))) for _ in range(2))
    assert isinstance(first, SampleChunk)
    assert isinstance(again, SampleChunk)
    assert len({first, again, first.part, again.part}) == 4


def test_a_counter_may_have_the_number_0() -> None:
    make = Calls()
    block = Block(2, ids=(0, 5), values=((b"\1\0\0\0", b"\2\0\0\0"),))
    analysis = analysis_of(*polls(make, [block], 2))
    assert kinds(analysis) == [2, 2]
    assert [record.counter_id for record in sample_records(analysis)] == [0, 5] * 2
    assert_same(analysis)


def test_a_call_without_an_answer_has_no_values() -> None:
    make = Calls()
    assert kinds(analysis_of(make.exchange(6, make.stub().handle(HANDLE).uint(4096), None))) == []
