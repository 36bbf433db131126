"""Fields beside their bytes: columns, folding and what is cut; and bytes without fields as a dump."""

from __future__ import annotations

from typing import Any

import pytest
from rich.text import Text

from analyzer.results.analysis import CaptureFacts
from analyzer.results.display import LayerBytes, Node, Run
from analyzer.results.field_tree import FieldNode
from analyzer.screens.views.field_lines import (
    _RAW_SHOWN,
    _RAW_SHOWN_NARROW,
    _TEXT_SHOWN,
    _WIDE,
    _hex,
    field_record,
    node_words,
    tree_lines,
)
from analyzer.screens.views.show import _hex_lines

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


def lines(one: LayerBytes, width: int | None = None, facts: CaptureFacts | None = FACTS, **more: int) -> list[str]:
    return [Text.from_markup(line, emoji=False).plain for line in tree_lines(one, facts, width, **more)]


def test_sixteen_bytes_are_shown_on_wide_pages_and_eight_on_narrow_ones() -> None:
    assert (_RAW_SHOWN, _RAW_SHOWN_NARROW, _WIDE, _TEXT_SHOWN) == (16, 8, 132, 200)
    heads = [lines(layer(), width)[0] for width in (None, 132, 131)]
    wide = f"    offset  length  {'bytes':<48} field  (all in frame 3)"
    assert heads == [wide, wide, f"    offset  length  {'bytes':<24} field  (all in frame 3)"]


def test_fields_stand_under_each_other() -> None:
    raw = "28 29 2a 2b 2c 2d 2e 2f 30 31 32 33 34 35 36 …"
    assert lines(layer())[1:] == [
        f"         0      24  {'':48} Top: [MS-PCQ] 2.2",
        f"         0       4  {'20 21 22 23':48}   dwSize = 24",
        f"         4       4  {'':48}   Inner:",
        f"         4       4  {'24 25 26 27':48}     dwKind = 7 (A_KIND)",
        f"         8       0  {'':48}   empty = ",
        f"         8      17  {raw:48}   rest",
    ]
    assert lines(layer(), indent=4)[2] == f"    {'0':>8} {'4':>7}  {'20 21 22 23':48}   dwSize = 24"


def test_of_several_frames_each_field_names_its_own() -> None:
    runs = Run(0, 6, 3, 0, 100, 6), Run(6, 64, 5, 0, 100, 58)
    found = lines(layer(*runs))
    assert found[0] == f"    offset  length  {'bytes':<48} field"
    assert [line.partition("   [")[2] for line in found[1:]] == ["", "frame 3]", "", "frames 3, 5]", "", "frame 5]"]
    # Without a capture no frame is named.
    for one in (layer(*runs), layer()):
        bare = lines(one, facts=None)
        assert bare[0] == f"    offset  length  {'bytes':<48} field"
        assert not any("[frame" in line for line in bare)


def test_fields_fold_below_themselves_or_at_the_left() -> None:
    """Below themselves where twenty columns are left for that; a line that goes on is two columns further in."""
    tree = leaf("name", 0, 40, "word " * 20, type="text")
    deep = 2 + 8 + 1 + 7 + 2 + 3 * 8 + 1 + 2
    for width, indent in ((deep + 20, deep), (deep + 19, 4)):
        found = lines(layer(tree=tree), width)[1:]
        assert len(found) > 2
        assert {len(line) - len(line.lstrip()) for line in found[1:]} == {indent}, width
    parent = Node("top", "Top", "top", 0, 40, None, None, "", (tree,))
    found = lines(layer(tree=parent), deep + 22)[2:]
    assert {len(line) - len(line.lstrip()) for line in found[1:]} == {deep + 2}


def test_readings_chosen_and_damage_stand_below() -> None:
    found = list(tree_lines(layer(notes=("one reading",), problem="dwSize at byte 0: too small"), FACTS, None))
    assert found[-2:] == ["[cyan]  note: one reading[/]", "[red]  damaged: dwSize at byte 0: too small[/]"]
    assert len(found) == len(list(tree_lines(layer(), FACTS, None))) + 2


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


def test_bytes_without_fields_are_eight_lines_of_sixteen() -> None:
    data = bytes([0x1F, 0x20, 0x7E, 0x7F, *range(0x41, 0x4D)])
    line = "      0000  1f 20 7e 7f 41 42 43 44 45 46 47 48 49 4a 4b 4c  . ~.ABCDEFGHIJKL"
    assert list(_hex_lines(data)) == [line]
    assert list(_hex_lines(b"[b]")) == [f"      0000  {'5b 62 5d':48} \\[b]"]
    for size, more in ((128, []), (129, ["      … 1 bytes more"]), (200, ["      … 72 bytes more"])):
        found = list(_hex_lines(bytes(size)))
        assert [one[6:10] for one in found[:8]] == [f"{at:04x}" for at in range(0, 128, 16)]
        assert found[8:] == more
