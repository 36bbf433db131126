"""Every leaf of every call of every capture: the bytes at its offset encode its value, and come from the frames it names."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from analyzer.core.errors import InputError
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.calls.call import Side
from analyzer.screens.views.show import Show
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.calls import Calls, analysis_of
from tests.build.capture import read
from tests.records import plains

NUMBERS = {"u1": "<B", "u2": "<H", "u4": "<I", "u8": "<Q", "s4": "<i", "s8": "<q"}


def encodes(leaf: dict[str, Any], raw: bytes) -> bool:
    """Whether the bytes say the value, by an encoding of our own."""
    value, kind = leaf["value"], leaf["type"]
    if isinstance(value, int):
        if kind in NUMBERS and struct.calcsize(NUMBERS[kind]) == len(raw):
            return struct.pack(NUMBERS[kind], value) == raw
        return value.to_bytes(len(raw), "little", signed=value < 0) == raw
    if kind in ("ms_dtyp.guid", "ndr.uuid"):
        return UUID(value).bytes_le == raw
    if kind == "bytes":
        return bytes.fromhex(value) == raw
    wide = value.encode("utf-16-le")
    return raw.startswith(wide) and not raw[len(wide) :].strip(b"\0")


def leaves(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "children" not in tree:
        yield tree
    for child in tree.get("children", ()):
        yield from leaves(child)


def sources(call: Any, layers: dict[str, Any]) -> Iterator[tuple[Side, dict[str, Any], TracedBytes]]:
    for name, layer in layers.items():
        side = getattr(call, name)
        for part, tree in (("stub", layer["stub"]), ("buffer", layer["buffer"])):
            if tree is not None:
                yield side, tree, getattr(side, part)


@pytest.mark.parametrize("capture", truth.handful(), ids=lambda capture: capture.file)
def test_the_bytes_at_its_offset_encode_the_value_of_each_leaf(capture: truth.Capture) -> None:
    analysis = analysis_of_file(capture.file)
    frames = {frame.frame: frame.data for frame in read([capture.path])[0]}
    seen = 0
    for number, call in enumerate(analysis.calls, 1):
        (record,) = plains(Show(analysis, number).records())
        for side, tree, source in sources(call, record["layers"]):
            for leaf in leaves(tree):
                start, stop = leaf["offset"], leaf["offset"] + leaf["length"]
                raw = bytes.fromhex(leaf["raw"])
                place = f"call {number}, {leaf['name']} at {start}: {leaf['value']!r} in {leaf['raw']}"
                assert raw == source.data[start:stop], place
                assert leaf["value"] is not None, place
                assert encodes(leaf, raw), place
                extents = source.origin(start, stop)
                assert leaf["frames"] == sorted({extent.frame for extent in extents}), place
                assert set(leaf["frames"]) <= set(side.frames), place
                found = b"".join(frames[one.frame][one.start : one.start + one.length] for one in extents)
                assert len(found) == len(raw), place
                if not source.steps:
                    assert found == raw, place
                seen += 1
    assert seen or not analysis.calls or capture.damaged


@pytest.mark.parametrize("capture", truth.captures()[:4], ids=lambda capture: capture.file)
def test_the_leaves_of_a_stub_cover_it_without_overlap(capture: truth.Capture) -> None:
    analysis = analysis_of_file(capture.file)
    for number, call in enumerate(analysis.calls, 1):
        (record,) = plains(Show(analysis, number).records())
        for _, tree, source in sources(
            call, {name: layer | {"buffer": None} for name, layer in record["layers"].items()}
        ):
            at = 0
            for leaf in sorted(leaves(tree), key=lambda one: one["offset"]):
                assert leaf["offset"] == at, f"call {number}: {leaf['name']}"
                at += leaf["length"]
            assert at == len(source), f"call {number}"


def test_a_number_that_is_no_call_is_said_so() -> None:
    analysis = analysis_of(Calls().open_query())
    for number in (0, 2, -1):
        with pytest.raises(InputError, match="there is no call"):
            list(Show(analysis, number).records())
