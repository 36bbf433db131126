"""The data of the page: the same calls, fields, values, ranges, series and findings as the other views, and no HTML."""

import json
import re
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analyzer.core.output.standard_json import document
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.filter import CallFilter
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import CallRecord
from analyzer.screens.formats.report_page import asset, exact_text
from analyzer.screens.formats.report_page_call_sides import exact
from analyzer.screens.viewmodel.placed_findings import finding_views
from analyzer.screens.viewmodel.plotted_series import series_views
from analyzer.screens.views.stats import stats_records
from analyzer.screens.views.timeline import Timeline
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.calls import Calls, analysis_of
from tests.page import THREE, analysis_named, blocks, blocks_named, findings, page_of, whole


def without_places(tree: dict[str, Any] | None) -> dict[str, Any] | None:
    """A tree of `show` without the frames and bytes beside each field, which the page has for the layer."""
    if tree is None:
        return None
    kept = {key: tree[key] for key in ("name", "spelling", "type", "offset", "length", "value", "meaning")}
    return kept | {"children": [without_places(child) for child in tree.get("children", ())]}


def frames_at(layer: dict[str, Any], start: int, stop: int) -> list[int]:
    """As the page finds them (web/src/calls.ts, framesOf)."""
    return sorted({run[2] for run in layer["runs"] if max(run[0], start) < min(run[1], stop)})


def same_places(tree: dict[str, Any], layer: dict[str, Any], data: bytes) -> None:
    start, stop = tree["offset"], tree["offset"] + tree["length"]
    assert frames_at(layer, start, stop) == tree["frames"]
    if "children" not in tree:
        assert data[start:stop].hex() == tree["raw"]
    for child in tree.get("children", ()):
        same_places(child, layer, data)


@pytest.mark.parametrize("file", THREE)
def test_records_series_and_findings_are_whole(file: str) -> None:
    analysis = analysis_named(file)
    found = blocks_named(file)
    records = [document(record) for record in Timeline(analysis).records() if isinstance(record, CallRecord)]
    heads = [head for name, block in found.items() if name.startswith("heads-") for head in block]
    buffers = [both for name, block in found.items() if name.startswith("buffers-") for both in block]
    for record, head, both in zip(records, heads, buffers, strict=True):
        made = dict(record)
        for side, buffer in zip(("request", "response"), both, strict=True):
            if made[side] is not None:
                assert exact(made[side]["buffer"]) == buffer
                made[side] = {key: value for key, value in made[side].items() if key != "buffer"}
                made[side]["has_buffer"] = bool(buffer)
        assert head == exact(made)
    series, _ = series_views(analysis)
    assert [(one["path"], [whole(value) for value in one["values"]]) for one in found["series"]["series"]] == [
        (one.path, list(one.values)) for one in series
    ]
    views = finding_views(analysis, Audit(analysis, profile=Profile.SPEC))
    assert findings(found) == [document(view) for view in views]


class _Elements(HTMLParser):
    """Every element of a page with its attributes, and the text in scripts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


HOSTILE = "</script><img src=x onerror=alert(1)><!--&lt;\u202e"


def hostile() -> Analysis:
    make = Calls()
    asked = make.stub().string(HOSTILE).uuid("383487a6-3676-4870-a4e7-d45b30c35629").uint(5).uint(0).uint(4096)
    return analysis_of(make.exchange(1, asked, make.sized(b"")), files=(f"{HOSTILE[:40]}.pcap",))


def test_text_of_captures_is_never_an_element() -> None:
    elements, plain = _Elements(), _Elements()
    elements.feed(page_of(hostile()))
    plain.feed(page_of(analysis_of(Calls().open_query())))
    assert [tag for tag, _ in elements.tags if tag in ("img", "iframe", "object", "a")] == []
    assert [tag for tag, _ in elements.tags] == [tag for tag, _ in plain.tags]


def test_the_policy_allows_this_script_and_this_style_and_nothing_else() -> None:
    page = page_of(hostile())
    elements = _Elements()
    elements.feed(page)
    (policy,) = (one["content"] for tag, one in elements.tags if one.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digests = {
        name: f"'sha256-{b64encode(sha256(asset(file)).digest()).decode()}'"
        for name, file in (("script-src", "report.js"), ("style-src", "report.css"))
    }
    assert rules == digests | {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    code = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert code[1].encode() == asset("report.js")
    attributes = {name for _, attrs in elements.tags for name in attrs}
    assert attributes <= {"lang", "charset", "http-equiv", "content", "name", "id", "class", "type"}
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page


def test_the_head_is_json_of_the_overview() -> None:
    page = page_of(hostile())
    text = re.search(r'<script type="application/json" id="head">(.*?)</script>', page, re.DOTALL)
    assert not set("<>&") & set(text[1])
    head = json.loads(text[1])
    assert head["overview"]["calls"] == 1
    assert head["title"].endswith(".pcap")
    # The page prints the number of a call behind it.
    assert re.fullmatch(r"pcq-analyzer show '.+\.pcap' --call", head["show"])


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON)
@example('a"1234567890123456789,\\"1234567890123456789')
def test_numbers_in_json_keep_their_digits_and_texts_stay(value: Any) -> None:
    assert json.loads(exact_text(json.dumps(value).encode())) == exact(value)


UNREAD = "state in {partial, sealed, malformed, response-only} or buffer_problem"


@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize("capture", truth.handful(), ids=lambda capture: capture.file)
def test_every_number_of_the_page_is_that_of_stats(capture: truth.Capture, keys: bool) -> None:
    """What the tiles, sentences and lists count, and what the filters behind the tiles show."""
    analysis = analysis_of_file(capture.file, is_keyed=keys)
    records = [document(one) for one in stats_records(analysis)]
    methods = [one for one in records if one["record"] == "method-stats"]
    page = page_of(analysis)
    (text,) = re.findall(r'id="head">(.*?)</script>', page)
    overview = json.loads(text)["overview"]
    for name in ("calls", "failed", "unanswered", "unread"):
        assert overview[name] == sum(one[name] for one in methods), name
    assert overview["methods"] == {f"{one['interface']}.{one['method']}": one["calls"] for one in methods}
    people = [one for one in records if one["record"] == "identity-stats"]
    assert [(one["user"], one["calls"], one["failed"], one["unread"]) for one in overview["identities"]] == [
        (one["user"], one["calls"], one["failed"], one["unread"]) for one in people
    ]
    shown = {"status > 0 or fault": "failed", UNREAD: "unread", "not response": "unanswered"}
    for source, name in shown.items():
        assert len(Selection(filter=CallFilter(source)).selected_analysis(analysis).shown) == overview[name], name
    found = blocks(page)
    columns = found["rows"]
    outcomes = Counter(columns["texts"][at] for at in columns["outcome"])
    assert len(columns["outcome"]) == overview["calls"]
    assert outcomes["failed"] + outcomes["size"] == overview["failed"]
    assert outcomes["size"] == sum(one["retried"] for one in methods)
    verdicts = sum((Counter(one["verdicts"]) for one in found["audit"]["coverage"]), Counter[str]())
    judged = verdicts["pass"] + verdicts["warn"] + verdicts["fail"]
    if found["audit"]["findings"]:
        assert found["audit"]["nothing"] is None
    elif judged:
        assert f"nothing was found in the {judged} requirement" in found["audit"]["nothing"]
    else:
        assert "no requirement could be judged" in found["audit"]["nothing"]


def test_an_audit_that_judged_nothing_does_not_say_that_it_found_nothing() -> None:
    nothing = blocks(page_of(analysis_of()))["audit"]["nothing"]
    assert nothing.startswith("no requirement could be judged")
    judged = blocks(page_of(analysis_of(Calls().open_query(), Calls(first_frame=3).close_query())))["audit"]
    assert judged["nothing"] is None or re.match(r"nothing was found in the \d+ requirements", judged["nothing"])
