"""Fields beside their bytes: columns, folding and what is cut; and bytes without fields as a dump."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from analyzer.results.analysis import CaptureFacts
from analyzer.results.field_tree_records import FieldNode
from analyzer.results.records.display_records import LayerBytes, Node, Run
from analyzer.screens.views.show import (
    _RAW_SHOWN,
    _RAW_SHOWN_NARROW,
    _TEXT_SHOWN,
    _WIDE,
    _hex,
    _hex_lines,
    field_record,
    node_words,
    tree_lines,
)
from tests.written import is_as_written

TEXT = Path(__file__).parent / "texts" / "fields.txt"
FACTS = CaptureFacts(("a.pcap",), 3, 180, 0, 0)
DATA = bytes(range(0x20, 0x60))


def leaf(name: str, start: int, length: int, value: Any = 5, **more: Any) -> Node:
    facts: dict[str, Any] = {"spelling": name, "type": "u4", "meaning": None, "reference": "", **more}
    return Node(name=name, start=start, length=length, value=value, **facts)


TREE = Node(
    "top",
    "Top",
    "top",
    0,
    24,
    None,
    None,
    "[MS-PCQ] 2.2",
    (
        leaf("dwSize", 0, 4, 24),
        Node("inner", "Inner", "inner", 4, 4, None, None, "", (leaf("dwKind", 4, 4, 7, meaning="A_KIND"),)),
        leaf("empty", 8, 0, ""),
        leaf("rest", 8, 17, None),
    ),
)


def layer(*runs: Run, tree: Node = TREE, **more: Any) -> LayerBytes:
    found = runs or (Run(0, 64, 3, 0, 100, 64),)
    return LayerBytes(id="response.stub", kind="stub", title="stub", data=DATA, runs=found, steps=(), tree=tree, **more)


# Below themselves where twenty columns are left for that; a line that goes on is two columns further in.
DEEP = 2 + 8 + 1 + 7 + 2 + 3 * 8 + 1 + 2
WORDS = leaf("name", 0, 40, "word " * 20, type="text")
IN_TOP = Node("top", "Top", "top", 0, 40, None, None, "", (WORDS,))
TWO_FRAMES = layer(Run(0, 6, 3, 0, 100, 6), Run(6, 64, 5, 0, 100, 58))
NOTED = layer(notes=("one reading",), problem="dwSize at byte 0: too small")
CASES: dict[str, Iterable[str]] = {
    **{f"a page of {width}": tree_lines(layer(), FACTS, width) for width in (None, 132, 131)},
    "deeper": tree_lines(layer(), FACTS, None, indent=4),
    "of several frames each field names its own": tree_lines(TWO_FRAMES, FACTS, None),
    **{f"without a capture, {len(one.runs)} runs": tree_lines(one, None, None) for one in (TWO_FRAMES, layer())},
    **{f"fields fold at {width}": tree_lines(layer(tree=WORDS), FACTS, width) for width in (DEEP + 20, DEEP + 19)},
    "fields in a field fold": tree_lines(layer(tree=IN_TOP), FACTS, DEEP + 22),
    "readings chosen and damage stand below": tree_lines(NOTED, FACTS, None),
    **{
        f"{len(data)} bytes without fields": _hex_lines(data)
        for data in (bytes([0x1F, 0x20, 0x7E, 0x7F, *range(0x41, 0x4D)]), b"[b]", bytes(128), bytes(129), bytes(200))
    },
}


def test_all_fields_are_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    is_as_written(TEXT, "".join("\n  ".join([name, *lines]) + "\n" for name, lines in CASES.items()))


def test_sixteen_bytes_are_shown_on_wide_pages_and_eight_on_narrow_ones() -> None:
    assert (_RAW_SHOWN, _RAW_SHOWN_NARROW, _WIDE, _TEXT_SHOWN) == (16, 8, 132, 200)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (leaf("a", 0, 4), "a = 5"),
        (leaf("a", 0, 4, spelling="dwA"), "dwA = 5"),
        (leaf("a", 0, 4, spelling=""), "a = 5"),
        (leaf("a", 0, 4, None), "a"),
        (leaf("a", 0, 4, None, meaning="NAME"), "a (NAME)"),
        (leaf("a", 0, 16, "00" * 16, type="bytes"), f"a = {'00' * 16}"),
        (leaf("a", 0, 17, "00" * 17, type="bytes"), "a: 17 bytes"),
        (leaf("a", 0, 17, 5, type="bytes"), "a = 5"),
        (leaf("a", 0, 34, "x" * 17, type="text"), f"a = {'x' * 17}"),
        (leaf("a", 0, 402, "x" * 201, type="text"), f"a = {'x' * 200}… (402 bytes)"),
    ],
)
def test_a_field_has_a_name_a_value_and_a_meaning(node: Node, words: str) -> None:
    assert node_words(node) == words


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, ""), (7, "00 01 02 03 04 05 06"), (8, "00 01 02 03 04 05 06 07"), (9, "00 01 02 03 04 05 06 …")],
)
def test_bytes_that_do_not_fit_end_in_dots(size: int, shown: str) -> None:
    assert _hex(bytes(range(size)), 8) == shown


@pytest.mark.parametrize(("files", "named"), [(1, False), (2, True), (3, True)])
def test_records_name_files_where_there_are_several(files: int, named: bool) -> None:
    one = layer(Run(0, 64, 3, 1, 100, 64))
    facts = CaptureFacts(("a.pcap", "b.pcap", "c.pcap")[:files], 3, 180, 0, 0)
    record = field_record(TREE, one, facts)
    assert isinstance(record, FieldNode)
    assert (record.frame_files == (1,)) is named
    assert isinstance(record.children, tuple)
    assert [child.name for child in record.children] == ["dwSize", "inner", "empty", "rest"]
    assert (record.children[0].raw, record.children[0].value) == ("20212223", 24)
