"""`show`, the page, the terminal browser and the notebook show the same fields, values and byte ranges of a call."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from msgspec.structs import astuple

import analyzer as pcq
from analyzer.core.printable_text import printable, shortened
from analyzer.results.analysis import Analysis
from analyzer.results.field_tree_records import FieldNode
from analyzer.results.records.display_records import Node
from analyzer.screens.formats.report_page_call_sides import DETAILS_IN_BLOCK
from analyzer.screens.notebook.notebook_html import _MOST_FIELDS, call_html
from analyzer.screens.viewmodel.call_layers import call_view
from analyzer.screens.views.show import Show
from tests.page import CAPTURES, THREE, analysis_named, blocks_named, layers

# A field: its name, where it begins and its length, its value and what that means.
Field = tuple[str, int, int, Any, str | None]
Shown = dict[str, list[Field]]


def of_show(analysis: Analysis, number: int) -> Shown:
    """The fields of each layer with a tree, as the records of `show` have them."""

    def fields(node: FieldNode) -> Iterator[Field]:
        yield node.name, node.offset, node.length, node.value, node.meaning
        for child in node.children or ():
            yield from fields(child)

    (record,) = Show(analysis, number).records()
    found: Shown = {}
    for name, side in record.layers.items():
        for layer in side.carriers or ():
            found[layer.id] = list(fields(layer.fields))
        for part in ("stub", "buffer"):
            if (root := getattr(side, part)) is not None:
                found[f"{name}.{part}"] = list(fields(root))
    return found


def of_the_page(file: str, number: int) -> Shown:
    def fields(node: dict[str, Any]) -> Iterator[Field]:
        yield node["name"], node["offset"], node["length"], node["value"], node["meaning"]
        for child in node["children"]:
            yield from fields(child)

    found = layers(blocks_named(file), number, DETAILS_IN_BLOCK)
    return {layer["id"]: list(fields(layer["tree"])) for layer, _ in found if layer["tree"] is not None}


def of_the_browser(analysis: Analysis, number: int) -> Shown:
    """The fields of the lines of its tree, of which the structure that is the whole layer is the line of the layer."""
    from analyzer.screens.browse.panes import Tree

    tree = Tree(id="tree")
    tree.view = call_view(analysis, number)
    tree.is_all_open = True
    found: Shown = {}
    for line in tree.lines():
        if line.layer is not None and line.layer.tree is not None:
            node = line.node or line.layer.tree
            found.setdefault(line.layer.id, []).append((node.name, node.start, node.length, node.value, node.meaning))
    return found


class _Fields(HTMLParser):
    """The text of each field of a notebook's output, by layer."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.shown: dict[str, list[str]] = {}
        self._layer, self._in_field = "", False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "details":
            self._layer = dict(attrs)["data-layer"] or ""
            self.shown[self._layer] = []
        elif tag == "li":
            self.shown[self._layer].append("")
        # The fields in a field come behind its own text, and the bytes behind all fields.
        self._in_field = tag == "li" or (tag == "small" and self._in_field)

    def handle_endtag(self, tag: str) -> None:
        self._in_field = self._in_field and tag != "li"

    def handle_data(self, data: str) -> None:
        if self._in_field:
            self.shown[self._layer][-1] += data


def as_text(field: Field) -> str:
    name, start, length, value, meaning = field
    shown = "" if value is None else f" = {printable(shortened(str(value)))}"
    return f"{start:#06x}+{length} {name}{shown}" + (f" ({meaning})" if meaning is not None else "")


@pytest.mark.needs("textual")
@pytest.mark.parametrize("file", THREE)
def test_every_display_shows_the_same_of_each_call(file: str) -> None:
    analysis = analysis_named(file)
    # Of calls that have the same fields, the last.
    for number in {(call.method, call.status, call.state): call.number for call in analysis.calls}.values():
        shown = of_show(analysis, number)
        assert {id.partition(".")[2].rstrip("0123456789") for id in shown} >= {"frame", "tcp", "smb"}
        # PDUs have fields of their headers, which `show` states as lengths. tests/page/test_page_data.py has the page.
        browser = {id: fields for id, fields in of_the_browser(analysis, number).items() if ".pdu" not in id}
        assert browser == shown, f"browser, call {number}"
        notebook = _Fields()
        notebook.feed(call_html(analysis, number))
        for id, fields in shown.items():
            wanted = [as_text(field) for field in fields[:_MOST_FIELDS]]
            assert notebook.shown[id] == wanted, f"notebook, call {number}, {id}"


@pytest.mark.needs("textual")
@pytest.mark.parametrize("file", THREE)
def test_layers_of_page_and_browser_are_those_of_the_view_model(file: str) -> None:
    """Their fields, their bytes, and where these were captured."""
    analysis, blocks = analysis_named(file), blocks_named(file)

    def fields(node: Node) -> Iterator[Field]:
        yield node.name, node.start, node.length, node.value, node.meaning
        for child in node.children:
            yield from fields(child)

    for number in range(1, len(analysis.calls) + 1):
        there = [one for side in call_view(analysis, number).sides for one in side.layers]
        wanted = {one.id: list(fields(one.tree)) for one in there if one.tree is not None}
        on_page = list(layers(blocks, number, DETAILS_IN_BLOCK))
        assert of_the_page(file, number) == wanted
        assert of_the_browser(analysis, number) == wanted
        assert [(layer["id"], data) for layer, data in on_page] == [(one.id, one.data) for one in there]
        assert [layer["runs"] for layer, _ in on_page] == [[*map(astuple, one.runs)] for one in there]


@pytest.mark.needs("polars")
def test_a_call_in_a_notebook_is_that_html() -> None:
    capture = CAPTURES[THREE[1]]
    call = pcq.analyze(capture.path, secrets=capture.secrets_path).call(3)
    html = call._repr_html_()
    assert html is not None
    assert "data-layer='request.stub' open" in html
