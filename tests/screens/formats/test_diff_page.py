"""The page of `diff`: all that differs is in it, nothing of a capture is markup, and it loads nothing."""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from analyzer.questions.differences.difference_records import Differences
from analyzer.screens.formats import diff_page as module
from analyzer.screens.formats.diff_page import diff_page
from analyzer.screens.formats.report_page import asset
from analyzer.screens.views.diff import DifferencesView
from tests.build.calls import Calls, analysis_of
from tests.page import THREE, analysis_named
from tests.page.test_page_data import hostile


class Elements(HTMLParser):
    """Names of the elements of a page, with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(view: DifferencesView) -> str:
    return b"".join(diff_page(view)).decode()


@cache
def captures() -> DifferencesView:
    return DifferencesView(Differences(*map(analysis_named, THREE[:2]), counts_values=True))


def test_every_difference_is_in_the_page() -> None:
    view = captures()
    text = Elements(page_of(view)).text
    found = view.differences.found
    assert len({one.about for one in found}) > 3
    assert text.count("only A") + text.count("only B") == sum(one.kind != "changed" for one in found)
    for one in found:
        assert one.name in text
        for field in one.fields:
            assert field.follows or field.path in text
        for each in one.properties:
            assert f"{each.name}{each.a}{each.b}" in text
        for breach in one.breaches:
            assert breach.statement in text
    assert view.differences.summary.text in text


def test_bytes_that_differ_are_marked() -> None:
    assert module._cell("7", "0700ff", "0800ff", 4).startswith("7<code><mark>07</mark> 00 ff</code>")
    assert "<mark>01</mark>" in module._cell(None, "0001", "00", 0)
    assert module._cell(None, None, "00", None) == "<em>not there</em>"


def test_text_of_a_capture_is_no_markup() -> None:
    evil, plain = hostile(), analysis_of(Calls().open_query())
    page = page_of(DifferencesView(Differences(evil, plain)))
    assert "onerror" in page
    assert "\u202e" not in page
    assert "img" not in Elements(page).tags


def test_nothing_is_loaded_and_no_script_runs() -> None:
    page = page_of(captures())
    digest = b64encode(sha256(asset("diff.css")).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'" in page
    elements = Elements(page)
    assert {"script", "img", "link", "iframe"}.isdisjoint(elements.tags)
    assert elements.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "open"}
    assert set(re.findall(r'href="([^"]*)"', page)) <= {f"#s{at}" for at in range(9)}


def test_what_is_left_out_of_a_page_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SHOWN", 2)
    text = Elements(page_of(captures())).text
    assert "more are not in this page: --format jsonl has them." in text
