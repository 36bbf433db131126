"""Sides of calls for the page: by a template that was met before, a side says what it says when it is taken apart."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.packet_rereading import packets_of
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call
from analyzer.results.captured_packets import Packets
from analyzer.screens.formats.report_page_call_sides import LaidSide, PageSides
from benchmarks import traffic
from tests.commands.test_all_commands import CLEAR
from tests.page import THREE, analysis_named


def said(side: LaidSide) -> Any:
    """What a page shows of a side, without the bytes of layers."""
    template, data = side.template, side.data
    layers = []
    for layer in template.layers:
        form = layer.form
        nodes = [] if form is None else [(*nodes_of(one),) for one in form.tree.in_order()]
        layers.append((layer.outline, layer.place, nodes))
    words = [[spot.meaning(data[one.start : one.stop]) for spot in one.form.spots] for one in template.words]
    return template.outline, layers, words, side.frames, side.own


def nodes_of(node: Any) -> Iterator[Any]:
    yield from (node.name, node.type, node.start, node.length, node.reads)
    yield None if node.reads or node.type == "bytes" else node.value
    yield None if node.words is not None and (node.reads or node.children) else node.meaning


def sides_of_all(calls: Iterable[Call], sides: PageSides) -> list[Any]:
    return [said(side) for call in calls for side in sides.sides_of(call)]


def sides_of_each(calls: Iterable[Call], packets: Packets | None) -> list[Any]:
    return [said(side) for call in calls for side in PageSides(packets).sides_of(call)]


@pytest.mark.parametrize("file", THREE)
@pytest.mark.parametrize("has_packets", [True, False])
def test_templates_say_what_sides_say_by_themselves(file: str, has_packets: bool) -> None:
    analysis = analysis_named(file)
    packets = analysis.packets if has_packets else None
    sides = PageSides(packets)
    assert sides_of_all(analysis.calls, sides) == sides_of_each(analysis.calls, packets)
    # The second time, no further template is needed.
    again = PageSides(packets)
    first = [side.template for call in analysis.calls for side in again.sides_of(call)]
    second = [side.template for call in analysis.calls for side in again.sides_of(call)]
    kept = [side.template for side in map(next, [again.sides_of(analysis.calls[0])])]
    assert kept[0] is first[0] is second[0]
    assert len(set(second)) < len(second)


def test_calls_on_other_handles_have_the_templates_of_those_before(tmp_path: Path) -> None:
    """Requests and answers of four methods: a handle decides on the layout of nothing."""
    path = tmp_path / "handles.pcap"
    traffic.handles(path, 80_000)
    analysis, packets = read(path)
    sides = PageSides(packets)
    templates = {side.template for call in analysis.calls for side in sides.sides_of(call)}
    assert len({call.handle_uuid for call in analysis.calls}) > 10
    assert len(templates) == 8


def read(path: Path) -> tuple[Analysis, Packets]:
    analysis = analyze([path], Keyring())
    return analysis, packets_of([path], analysis, Keyring())


def test_a_side_with_other_bytes_says_what_these_say(tmp_path: Path) -> None:
    """Bytes all over a call are changed in turn: a template of what was met before is taken where it says the same."""
    analysis, packets = read(CLEAR)
    call = analysis.calls[4]
    places = [
        (frame.frame, at)
        for frame in (packets.frame(number) for number in call.frames)
        if frame is not None
        for at in range(26, len(frame.data), 61)
    ]
    data = CLEAR.read_bytes()
    starts = {}
    for number, _ in places:
        frame = packets.frame(number)
        starts[number] = data.index(frame.data)
    sides, compared = PageSides(packets), 0
    sides_of_all(analysis.calls, sides)
    path = tmp_path / "changed.pcap"
    for number, at in places:
        changed = bytearray(data)
        changed[starts[number] + at] ^= 0x41
        path.write_bytes(changed)
        other, its_packets = read(path)
        sides._packets = its_packets
        changed_calls = [one for one in other.calls if number in one.frames]
        compared += len(changed_calls)
        assert sides_of_all(changed_calls, sides) == sides_of_each(changed_calls, its_packets), (number, at)
    assert compared > len(places) / 2
