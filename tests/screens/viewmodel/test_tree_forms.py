"""Trees by their form: what a display reads from the bytes is what a tree of these bytes says, whatever was met before."""

from collections.abc import Callable, Hashable
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.printable_text import guid_text
from analyzer.interfaces.buffers.field_map import StubKind, map_fields
from analyzer.interfaces.call_contents.call_field_maps import status_name
from analyzer.results.captured_packets import CapturedFrame
from analyzer.results.records.display_records import Form, Node
from analyzer.screens.viewmodel import layer_fields as module
from analyzer.screens.viewmodel.call_layers import form_of, pdu_tree, side_view, sides_of
from analyzer.screens.viewmodel.carrier_layers import frame_tree, message_tree, sent_tree
from analyzer.screens.viewmodel.layer_fields import Forms
from tests.build.buffers import Counter, Instance, Order, PerfObject, winperf
from tests.build.machine import Machine
from tests.page import THREE, analysis_named

Fields = list[tuple[Any, ...]]


class Noting(Forms):
    """Notes what is asked for: keys, bytes, and what makes a form of other bytes in their place."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Hashable, bytes, Callable[[], Form | None]]] = []

    def form(self, key: Hashable, data: bytes, make: Callable[[], Form | None]) -> Form | None:
        self.asked.append((key, data, make))
        return super().form(key, data, make)


def fields(form: Form | None, data: bytes) -> Fields | None:
    """The fields of a form in the bytes of a layer, as a display reads them."""
    if form is None:
        return None
    named = {spot.position: spot.meaning(data) for spot in form.telling}
    return [
        (*_place(node), _read(node, data), named.get(position, node.meaning))
        for position, node in enumerate(form.tree.in_order())
    ]


def _place(node: Node) -> tuple[Any, ...]:
    return node.name, node.spelling, node.type, node.start, node.length, node.reference


def _read(node: Node, data: bytes) -> Any:
    raw = data[node.start : node.stop]
    match node.reads:
        case "le" | "be":
            return int.from_bytes(raw, "little" if node.reads == "le" else "big")
        case "signed-le" | "signed-be":
            return int.from_bytes(raw, "little" if node.reads == "signed-le" else "big", signed=True)
        case "guid-le" | "guid-be":
            return guid_text(raw, "little" if node.reads == "guid-le" else "big")
        case "bytes":
            return raw.hex()
    return node.value


def said(form: Form | None) -> Any:
    """What a tree says of the bytes that it was made of, its notes and its damage."""
    if form is None:
        return None
    nodes = [(*_place(node), node.value, node.meaning) for node in form.tree.in_order()]
    return nodes, form.notes, form.problem


def shown(form: Form | None, data: bytes) -> Any:
    return None if form is None else (fields(form, data), form.notes, form.problem)


@cache
def asked(file: str) -> list[tuple[Hashable, bytes, Callable[[], Form | None]]]:
    analysis, forms = analysis_named(file), Noting()
    for call in analysis.calls:
        for name, side in sides_of(call):
            side_view(call, name, side, analysis.packets, forms)
    return forms.asked


@pytest.mark.parametrize("file", THREE)
def test_what_is_read_by_a_form_is_what_a_tree_says(file: str) -> None:
    forms = Forms()
    made: list[Hashable] = []

    def counted(key: Hashable, make: Callable[[], Form | None]) -> Form | None:
        made.append(key)
        return make()

    for key, data, make in asked(file):
        form = forms.form(key, data, partial(counted, key, make))
        assert shown(form, data) == said(make()), key
    assert len(made) < len(asked(file))


def test_raw_values_of_counters_tell_nothing() -> None:
    """A page asks none of them what it means: of an answer, they are nearly all."""
    silent = 0
    for _, data, make in asked(THREE[0]):
        form = make()
        for spot in form.spots if form is not None else ():
            if form is not None and spot not in form.telling:
                silent += 1
                assert spot.meaning(data) is None
    assert silent > 500


def remade(key: Any, data: bytes) -> tuple[Hashable, Callable[[], Form | None]]:
    """What would be asked for of such a layer with other bytes."""
    match key:
        case ("frame", link_type):
            return key, lambda: Form(frame_tree(CapturedFrame(1, link_type, data, len(data))))
        case ("sent", is_framed, _):
            key = "sent", is_framed, data[4:8] if is_framed else data[:4]
            return key, lambda: Form(sent_tree(data, is_framed=is_framed))
        case ("message", _):
            return ("message", data[:4]), lambda: Form(message_tree(data))
        case ("pdu", start, stop):
            return key, lambda: Form(tree) if (tree := pdu_tree(data, start, stop)) is not None else None
        case ("stub", side, _, opnum, syntax, big_endian, _):
            stub = StubKind("perflib-v2", opnum, side, syntax == "ndr64", big_endian)
            return key, lambda: form_of(map_fields(stub, data, status_name=status_name))
        case (None, _):
            return key, lambda: None
        case (kind, order):
            return key, lambda: form_of(map_fields(kind, data, big_endian=order, status_name=status_name))
    raise AssertionError(key)


@cache
def remembered(file: str) -> list[tuple[Any, bytes]]:
    """A layer of each form of a capture, the shorter ones."""
    forms = Forms()
    found: list[tuple[Any, bytes]] = []

    def noted(key: Hashable, data: bytes, make: Callable[[], Form | None]) -> Form | None:
        if len(data) < 2_000:
            found.append((key, data))
        return make()

    for key, data, make in asked(file):
        forms.form(key, data, partial(noted, key, data, make))
    return found


@pytest.mark.parametrize("file", [THREE[0], THREE[2]])
@given(data=st.data())
def test_other_bytes_never_get_a_form_that_is_not_theirs(file: str, data: st.DataObject) -> None:
    key, before = data.draw(st.sampled_from(remembered(file)))
    forms = Forms()
    changed = bytearray(before)
    for _ in range(4):
        known, make = remade(key, bytes(changed))
        form = forms.form(known, bytes(changed), make)
        assert shown(form, bytes(changed)) == said(make()), (known, changed.hex())
        if not changed:
            return
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at] ^= data.draw(st.sampled_from((1, 2, 4, 16, 128, 255)))


def test_forms_are_forgotten_when_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 100_000)
    forms = Forms()
    for number in range(3_000):
        data = number.to_bytes(40, "big")
        made = Form(Node("a", "a", "text", 0, 40, data.hex(), None, ""))
        assert forms.form("text", data, lambda made=made: made) is made
        assert forms.held <= 100_000


def test_what_is_damaged_alike_is_taken_apart_once() -> None:
    forms = Forms()
    made: list[bytes] = []

    def damaged(data: bytes) -> Form | None:
        def make() -> Form:
            made.append(data)
            return Form(Node("stub", "stub", "bytes", 0, len(data), data.hex(), None, ""), (), f"cut behind {data!r}")

        return forms.form("stub", data, make)

    given = [b"abcd", b"abcd", b"abce", b"abcd", b"abc", b"abcd"]
    assert [form.problem for form in map(damaged, given) if form is not None] == [
        f"cut behind {data!r}" for data in given
    ]
    assert made == [b"abcd", b"abce", b"abcd", b"abc"]


@given(at=st.integers(0, 500), bits=st.sampled_from((1, 2, 16, 128, 255)))
@settings(max_examples=40)
def test_polls_of_a_machine_share_a_form(at: int, bits: int) -> None:
    """They differ in clocks and values. What differs elsewhere has the form of its own bytes."""
    forms, machine = Forms(), Machine(2, changes=0)
    made: list[bytes] = []

    def show(data: bytes) -> None:
        key, make = remade(("winperf", None), data)

        def counted() -> Form | None:
            made.append(data)
            return make()

        assert shown(forms.form(key, data, counted), data) == said(make())

    for _ in range(3):
        show(machine.step().answer())
    assert len(made) == 1
    changed = bytearray(machine.answer())
    changed[at] ^= bits
    show(bytes(changed))


@pytest.mark.parametrize("order", ["little", "big"])
def test_numbers_with_a_sign_are_read_by_a_form(order: Order) -> None:
    forms = Forms()
    for clock in (5, -1, -(1 << 60)):
        item = PerfObject(230, (Counter(784, 0x00010000, 4),), (Instance("a", -1, (0, 0), (clock & 0xFF,)),))
        data = winperf([item], order, clocks=(clock, 10_000_000, 133_541_156_967_890_000))
        form = forms.form("winperf", data, lambda data=data: form_of(map_fields("winperf", data)))
        assert shown(form, data) == said(form_of(map_fields("winperf", data)))
