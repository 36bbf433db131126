"""Texts of trees are made once: what is kept of them, for how long, and how the text of a long buffer is cut."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from analyzer.core.output.json import Pieces
from analyzer.interfaces.buffers import tree_texts, winperf_layout
from analyzer.interfaces.buffers.buffer_trees import plain_decode
from analyzer.interfaces.buffers.tree_texts import (
    _FEW_VALUES,
    _LONG,
    _VALUES_AT_ONCE,
    TreeTexts,
    _grouped,
    _TextTemplate,
)
from analyzer.results.buffer_kinds import BufferKind
from tests.build.buffers import Block, Counter, Instance, PerfObject, perf_data, wide, winperf
from tests.build.layouts import forget_layouts
from tests.interfaces.buffers.test_perf_data_layout import assert_ready


def eight(number: int) -> bytes:
    return number.to_bytes(8, "little")


def grid(rows: int, sizes: list[int]) -> Block:
    values = tuple(
        tuple((row * 7 + at).to_bytes(size, "little") for at, size in enumerate(sizes)) for row in range(rows)
    )
    return Block(
        6, ids=tuple(range(len(sizes))), instances=tuple((f"i%d{row}", row) for row in range(rows)), values=values
    )


def controls(kind: BufferKind) -> bytes:
    """Returns a buffer whose texts have control characters that JSON allows, and lines of this program escape."""
    if kind == "winperf":
        instance = Instance("\x7f\u202e", -1, (0, 0), (7,))
        return winperf([PerfObject(5, (Counter(1, 0x10100, 8),), (instance,))])
    named = Block(6, ids=(1,), instances=(("\x7f\u202e", 1),), values=((eight(7),),))
    return perf_data([named, Block(1, values=((wide("\u2028\x85"),),))])


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Any]]:
    """Counts calls of a function of `tree_texts` or `winperf_layout`, while no layout is known from another test."""
    forget_layouts()

    def counted(name: str) -> list[Any]:
        home = tree_texts if hasattr(tree_texts, name) else winperf_layout
        function, found = getattr(home, name), []

        def call(*given: Any, **named: Any) -> Any:
            made = function(*given, **named)
            found.append(made)
            return made

        monkeypatch.setattr(home, name, call)
        return found

    return counted


def test_what_is_kept_of_texts() -> None:
    """16 KB: the metadata of the largest counterset of Windows; 4 MB: those of some thousand countersets with their texts.

    A text beyond 16 KB of buffer is made while it is written; 2,000 values a piece keep pieces at some 100 KB.
    """
    assert (TreeTexts.MAX_LENGTH, TreeTexts.MAX_BYTES) == (16 << 10, 4 << 20)
    assert (_LONG, _VALUES_AT_ONCE, _FEW_VALUES) == (16 << 10, 2000, 64)


def test_performance_data_need_no_compiled_parser() -> None:
    """A capture of a collector has nothing else for hours."""
    data = perf_data([grid(3, [8, 4])])
    code = (
        "import sys\n"
        "from analyzer.interfaces.buffers.tree_texts import TreeTexts\n"
        f"assert TreeTexts().tree('perf-data', bytes.fromhex('{data.hex()}'))\n"
        "print(*[name.rpartition('.')[2] for name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    loaded = set(done.stdout.split())
    assert "perf_data_layout" in loaded
    others = {"ambiguous_readings", "buffer_trees", "compiled_parsers", "winperf_layout", "winperf_structs"}
    assert not loaded & {"kaitaistruct", *others}


@pytest.mark.parametrize(("length", "is_kept"), [(100, True), (98, True), (102, False)])
def test_buffers_up_to_a_length_are_decoded_once(
    length: int, is_kept: bool, calls: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TreeTexts, "MAX_LENGTH", 100)
    decoded, trees = calls("_decoded"), TreeTexts()
    data = wide("x" * (length // 2 - 1))
    assert len(data) == length
    found = [trees.tree("string", data) for _ in range(3)]
    assert len(decoded) == int(is_kept)
    assert (found[0] is not None) == is_kept
    assert found[0] is found[1] is found[2]
    # Another kind, or another order of bytes, is another tree.
    if is_kept:
        trees.tree("name-table", data)
        trees.tree("string", data, big_endian=True)
        trees.tree("string", data, big_endian=False)
        assert len(decoded) == 4


def test_texts_not_used_for_longest_are_forgotten(
    calls: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 16 + len(orjson.dumps(plain_decode("guid", bytes(16)).tree))
    monkeypatch.setattr(TreeTexts, "MAX_BYTES", 3 * size)
    decoded, trees = calls("_decoded"), TreeTexts()
    guids = [number.to_bytes(16, "little") for number in range(5)]
    for number in (0, 1, 2, 0, 1, 2):
        trees.tree("guid", guids[number])
    assert (len(decoded), trees._cached.cost) == (3, 3 * size)
    # The first is used again, so that the second is what goes.
    trees.tree("guid", guids[0])
    trees.tree("guid", guids[3])
    assert (len(decoded), trees._cached.cost) == (4, 3 * size)
    for number, total in ((0, 4), (3, 4), (2, 4), (1, 5), (0, 6)):
        trees.tree("guid", guids[number])
        assert len(decoded) == total
    assert trees._cached.cost == 3 * size


def test_the_text_around_values_is_made_once_for_a_layout(calls: Callable[[str], list[Any]]) -> None:
    made, trees = calls("_pieces"), TreeTexts()
    for stamp in range(4):
        block = Block(1, values=((eight(stamp),),))
        assert_ready(trees, "perf-data", perf_data([block, Block(0, status=5), grid(3, [8, 4])], (stamp, 2, 3)))
    assert len(made) == 1
    # A text among the values is part of the layout.
    for text, count in (("text!", 2), ("text!", 2), ("other", 3)):
        assert_ready(trees, "perf-data", perf_data([Block(1, values=((wide(text),),))]))
        assert len(made) == count


def test_the_text_of_a_block_of_the_first_version_is_made_once_for_a_layout(
    calls: Callable[[str], list[Any]],
) -> None:
    made, trees = calls("winperf_form"), TreeTexts()
    counters = (Counter(1, 0x10100, 8), Counter(2, 0x40000200, 0), Counter(3, 0x10000, 4))
    names = ("100 %d", "a\0b", '"', "\x01")
    for number in range(1, 4):
        instances = tuple(Instance(name, -1, (0, 0), (number << 40, 0, number)) for name in names)
        item = PerfObject(5, counters, instances, clock=(number, 7))
        own = PerfObject(7, counters[:1], (Instance(None, -1, (0, 0), (number,)),), has_instances=False)
        assert_ready(trees, "winperf", winperf([item, own, item], clocks=(number, number + 1, number + 2)))
    assert len(made) == 1


def test_a_number_of_more_than_64_bits_has_no_text() -> None:
    """A definition that is damaged can state one."""
    item = PerfObject(5, (Counter(1, 0x10000, 16),), (Instance("a", -1, (0, 0), (1 << 100,)),))
    assert TreeTexts().tree("winperf", winperf([item])) is None


def test_a_block_that_is_too_long_to_be_known_again_has_no_form(
    calls: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = calls("winperf_form")
    data = winperf([PerfObject(5, (Counter(1, 0x10100, 8),), (Instance("a", -1, (0, 0), (7,)),))])
    for most, count in ((len(data) - 1, 0), (len(data), 1)):
        monkeypatch.setattr(winperf_layout, "MAX_BYTES", most)
        assert_ready(TreeTexts(), "winperf", data)
        assert len(made) == count


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([], [0]),
        ([5], [5]),
        ([1999, 5], [2004, 0]),
        ([1999], [1999]),
        ([2000, 5], [2000, 5]),
        ([1999, 1, 1999, 1, 7], [2000, 2000, 7]),
    ],
)
def test_texts_are_joined_up_to_two_thousand_values(counts: list[int], expected: list[int]) -> None:
    pieces = list(_grouped(_TextTemplate(b"%d" * count, count) for count in counts))
    assert [piece.count for piece in pieces] == expected
    assert b"".join(piece.text for piece in pieces if isinstance(piece, _TextTemplate)) == b"%d" * sum(counts)


@pytest.mark.parametrize(
    ("sizes", "rows", "kind"),
    [
        # 64 values for each run of columns of one size, or they are written one by one.
        ([8], 63, "_TextTemplate"),
        ([8], 64, "_Grid"),
        ([8] * 8, 7, "_TextTemplate"),
        ([8] * 8, 8, "_Grid"),
        ([8, 4], 63, "_TextTemplate"),
        ([8, 4], 64, "_Grid"),
        ([8, 8, 4, 4], 31, "_TextTemplate"),
        ([8, 8, 4, 4], 32, "_Grid"),
        ([8, 3], 100, "_TextTemplate"),
        ([8, 4, 8], 64, "_Grid"),
    ],
)
def test_rows_of_numbers_are_written_by_columns(
    sizes: list[int], rows: int, kind: str, calls: Callable[[str], list[Any]]
) -> None:
    made = calls("_row_texts")
    data = perf_data([grid(rows, sizes)])
    assert_ready(TreeTexts(), "perf-data", data)
    assert {type(piece).__name__ for piece in made} == {kind}
    assert {sum(piece.count for piece in made) % (rows * len(sizes))} == {0}


@pytest.mark.parametrize(("columns", "pieces"), [(1, [500]), (4, [2000]), (5, [2000, 500]), (1500, [1500] * 5)])
def test_a_grid_is_cut_where_two_thousand_values_are_full(
    columns: int, pieces: list[int], calls: Callable[[str], list[Any]]
) -> None:
    made = calls("_row_texts")
    data = perf_data([grid(500 if columns < 1500 else 5, [8] * columns)])
    assert_ready(TreeTexts(), "perf-data", data)
    assert [piece.count for piece in made] == pieces


def test_of_a_long_buffer_nothing_is_made_before_it_is_asked_for(
    calls: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = calls("_layout_text")
    data = perf_data([grid(30, [8, 4])])
    monkeypatch.setattr(tree_texts, "_LONG", len(data) - 1)
    found = TreeTexts().tree("perf-data", data)
    assert isinstance(found.text, Pieces)
    assert made == []
    assert orjson.loads(b"".join(found.text.made())) == plain_decode("perf-data", data).tree
    assert len(made) == 1


@pytest.mark.parametrize("kind", ["perf-data", "winperf"])
def test_only_the_text_of_a_long_buffer_is_made_in_pieces(kind: BufferKind, monkeypatch: pytest.MonkeyPatch) -> None:
    data = controls(kind)
    for most, in_pieces in ((len(data), False), (len(data) - 1, True)):
        monkeypatch.setattr(tree_texts, "_LONG", most)
        trees = TreeTexts()
        assert_ready(trees, kind, data)
        assert isinstance(trees.tree(kind, data).text, Pieces) == in_pieces
