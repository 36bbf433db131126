"""Keeps the form of layers' field trees, so that layers with the same layout share one form.

Most layers of a capture have the layout of another one. A field that decides on no other (`Node.reads`) may differ between two
trees of one form; a display reads its value from the bytes. So a tree is made only of the first layer of a form.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypedDict

from msgspec import Struct

from analyzer.interfaces.buffers.field_map import deciding
from analyzer.results.records.display_records import Form, Node

# When forms hold more bytes than these, all are forgotten at once, except the newest, whatever its size: a long answer is polled
# again and again.
MAX_BYTES = 16 << 20
# About so many bytes for each field.
_OF_A_FIELD = 300
# Damaged layers that are remembered, and how long they may be.
_DAMAGED, _MOST_DAMAGED = 64, 4096


class _Alike(Struct):
    """Forms of layers that the same bytes tell apart: those of `mask` within the first `stop` bytes."""

    mask: int
    stop: int
    forms: dict[int, Form]


class Fields(TypedDict, total=False):
    """The fields of a layer and their form, as arguments of `LayerBytes`."""

    tree: Node | None
    form: Form
    notes: tuple[str, ...]
    problem: str | None


class Forms:
    """Keeps the forms of layers' trees that were met so far."""

    def __init__(self) -> None:
        self._known: dict[Hashable, list[_Alike]] = {}
        # The last damaged layer of each key, recognised by all of its bytes: what is sent again is often the same.
        self._damaged: dict[Hashable, tuple[bytes, Form]] = {}
        # About so many bytes are remembered.
        self.held = 0

    def form(self, key: Hashable, data: bytes, make: Callable[[], Form | None]) -> Form | None:
        """Returns the form of a layer's tree, made by `make` if it is new. `key` is what the layout depends on besides bytes."""
        key = key, len(data)
        known = self._known.get(key, ())
        for alike in known:
            form = alike.forms.get(int.from_bytes(data[: alike.stop], "little") & alike.mask)
            if form is not None:
                return form
        damaged = self._damaged.get(key)
        if damaged is not None and damaged[0] == data:
            return damaged[1]
        form = make()
        if form is not None and form.problem is None:
            self._remember(key, data, form)
        elif form is not None and len(data) <= _MOST_DAMAGED:
            if len(self._damaged) >= _DAMAGED:
                self._damaged.clear()
            self._damaged[key] = data, form
        return form

    def _remember(self, key: Hashable, data: bytes, form: Form) -> None:
        mask_of_all = deciding_bytes(form.tree, len(data)).rstrip(b"\0")
        stop = len(mask_of_all)
        cost = 3 * stop + _OF_A_FIELD * sum(1 for _ in form.tree.in_order())
        self.held += cost
        if self.held > MAX_BYTES:
            self._known.clear()
            self.held = cost
        mask = int.from_bytes(mask_of_all, "little")
        known = self._known.setdefault(key, [])
        alike = next((one for one in known if one.mask == mask), None)
        if alike is None:
            known.append(alike := _Alike(mask, stop, {}))
        alike.forms[int.from_bytes(data[:stop], "little") & mask] = form


def fields_of(forms: Forms | None, key: Hashable, data: bytes, make: Callable[[], Form | None]) -> Fields:
    """Returns the fields of a layer: as a form if there are `forms`, else as a tree."""
    form = make() if forms is None else forms.form(key, data, make)
    if form is None:
        return {}
    if forms is None:
        return {"tree": form.tree, "notes": form.notes, "problem": form.problem}
    return {"form": form, "notes": form.notes, "problem": form.problem}


def deciding_bytes(tree: Node, length: int) -> bytes:
    """Returns a mask of the layer's bytes that decide on its form."""
    spans = [(node.start, node.stop, bool(node.reads)) for node in tree.in_order() if not node.children]
    return deciding(spans, length)
