"""Forms that programs read, whole: tables as CSV with their types, SARIF, JUnit XML, and the blocks of data of the page.

They stand in `tests/screens/formats/forms/`, which `tests/written.py` says how to write anew. The conversations are those of
the pages of text (`tests/screens/views/test_whole_views.py`), and a client that reads counters of many types.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.rule_registry import every_rule, select_rules
from analyzer.questions.series.series_limit import SeriesLimit
from analyzer.results.analysis import Analysis, EvidenceRecord, Input
from analyzer.screens.formats import report_page, report_page_call_sides
from analyzer.screens.formats.junit import junit_xml
from analyzer.screens.formats.report_page import (
    page_parts,
    record_blocks,
    rows_block,
    series_block,
    value_blocks,
)
from analyzer.screens.formats.report_page_call_sides import calls_with_layers, detail_blocks, exact
from analyzer.screens.formats.sarif import sarif_log
from analyzer.screens.formats.table_writer import table_of, write_csv
from analyzer.screens.viewmodel.plotted_series import series_views
from analyzer.screens.views.audit import AuditView
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.processes import Processes
from analyzer.screens.views.report import Report
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts, Sessions
from analyzer.screens.views.stats import Stats
from analyzer.screens.views.timeline import Timeline
from tests.build.buffers import Block, name_table, wide
from tests.build.calls import analysis_of, winreg
from tests.build.counters import Info, Watch, whole
from tests.build.machine import NAMES, Machine
from tests.page import blocks
from tests.screens.views.test_whole_views import broken, captured, matrix, of_registry, of_services, sound
from tests.written import as_json, by_outcome, differing, is_as_written

FORMS = Path(__file__).with_name("forms")
# Type of the counter, size of its values, power of ten of its DefaultScale.
TYPES = (
    (0x00010000, 4, 0),
    (0x00010100, 8, 3),
    (0x00000000, 4, 0),
    (0x00000100, 8, 2),
    (0x10410400, 4, -2),
    (0x10410500, 8, 1),
    (0x20510500, 8, 0),
    (0x20410500, 8, 0),
    (0x00400500, 8, -10),
    (0x00400400, 4, 400),
    (0x20020400, 4, 0),
    (0x40030403, 4, 0),
    (0x30240500, 8, 0),
    (0x00012000, 8, 0),
)


@cache
def watched() -> Analysis:
    """Two instances read five times, of which one is new at the third and values fall at the fourth, and a text."""
    infos = tuple(
        Info(number, kind, base=12 if kind == 0x20020400 else 0xFFFFFFFF, scale=scale)
        for number, (kind, _, scale) in enumerate(TYPES, 1)
    )
    watch = Watch((*infos, Info(99, 0xB00))).open(whole())
    ids = tuple(range(1, len(TYPES) + 1))

    def row(times: int, factor: int) -> tuple[bytes, ...]:
        step = 3 if times == 3 else times
        return tuple(
            pack("<d", step * 1.5) if kind == 0x00012000 else (step * factor * (place + 7) + 1).to_bytes(size, "little")
            for place, (kind, size, _) in enumerate(TYPES)
        )

    for times in (0, 1, 4, 3, 9):
        names = (("a", 1),) if times < 4 and times != 3 else (("a", 1), ("b#1", 2))
        rows = tuple(row(times, factor) for factor in (1000, 7_000_000)[: len(names)])
        watch.poll(Block(6, ids=ids, instances=names, values=rows))
    watch.poll(Block(6, ids=(99,), instances=(("a", 1),), values=((wide("=SUM(A1)"),),)))
    return watch.analysis


TABLES: dict[str, Callable[[], Any]] = {
    "counters": lambda: Counters(watched()),
    "counters-exact": lambda: Counters(watched(), ("\\*(a)\\*",), exact=True),
    "counters-means": lambda: Counters(watched(), ("\\*(a)\\*",), interval_ns=2_000_000_000),
    "samples": lambda: Samples(sound()),
    "timeline-broken": lambda: Timeline(broken()),
    "timeline-registry": lambda: Timeline(of_registry()),
    "timeline-services": lambda: Timeline(of_services()),
    "sessions": lambda: Sessions(broken()),
    "hosts": lambda: Hosts(broken()),
    "handles": lambda: Handles(sound()),
    "processes": lambda: Processes(sound()),
    "stats": lambda: Stats(broken()),
    "findings": lambda: AuditView(Audit(broken(), profile=Profile.SPEC)),
    "matrix": matrix,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_as_csv(name: str) -> None:
    out = BytesIO()
    write_csv(TABLES[name](), out, raw_cells=False)
    is_as_written(FORMS / f"{name}.csv.txt", out.getvalue().decode())


def test_columns_of_tables_have_types() -> None:
    types = {
        name: [(column, str(kind)) for column, kind in table_of(make()).schema.items()] for name, make in TABLES.items()
    }
    text = "".join("\n  ".join([name, *by_outcome(columns)]) + "\n" for name, columns in types.items())
    is_as_written(FORMS / "types.txt", text)


def test_a_reading_as_text() -> None:
    for name, interval, width in (("counters", None, 100), ("counters-means", 2_000_000_000, None)):
        lines = Counters(watched(), interval_ns=interval).lines(width)
        is_as_written(FORMS / f"{name}.txt", "".join(f"{line}\n" for line in lines))


def located(path: Path, numbers: Collection[int]) -> Mapping[int, int]:
    """Every frame but those with a number that 7 divides is 1,000 bytes long."""
    return {number: number * 1000 for number in numbers if number % 7}


EVIDENCE = EvidenceRecord(
    tool="a tool",
    version="1.2",
    command="audit",
    options={"profile": "spec"},
    inputs=(Input(role="capture", name="a.pcap", size=7, sha256="ab" * 32),),
    limits_reached=("so many",),
    result="cd" * 32,
)


def test_findings_as_sarif(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.screens.formats.sarif.version", lambda name: "0.0.0")
    view = AuditView(Audit(broken(), profile=Profile.WINDOWS))
    log = sarif_log(view, every_rule(), located, [], EVIDENCE)
    (run,) = log["runs"]
    run["tool"]["driver"]["rules"] = run["tool"]["driver"]["rules"][:2]
    # One of each rule.
    run["results"] = list({result["ruleId"]: result for result in run["results"]}.values())
    is_as_written(FORMS / "findings.sarif.json", as_json(log))


def test_coverage_as_junit_xml() -> None:
    pages = select_rules(every_rule(), ("PCQ101", "PCQ130", "PCQ425"), ())
    view = AuditView(Audit(broken(), profile=Profile.WINDOWS, rules=pages))
    failing: tuple[Any, ...] = ("fail", "warn"), ("fail",), ("not-exercised", "inconclusive", "untestable")
    texts = {", ".join(verdicts): junit_xml(view, verdicts, EVIDENCE).decode() for verdicts in failing}
    is_as_written(FORMS / "coverage.xml.txt", differing(texts))


def test_blocks_of_the_page() -> None:
    is_as_written(FORMS / "page-rows.json", as_json(rows_block(broken())))
    (records,) = record_blocks(broken(), range(1, len(broken().calls) + 1))
    buffers = list(records.buffers())
    shown = [[json.loads(records.heads)[at], json.loads(buffers[at])] for at in (0, 1, 7, 17)]
    is_as_written(FORMS / "page-records.json", as_json(shown))
    (block,) = detail_blocks(captured(), [1, 96])
    details = [json.loads(b"".join(block.shared.content)), block.frames, block.calls, block.data.hex()]
    is_as_written(FORMS / "page-details.json", as_json(details))
    report = Report(audit=Audit(watched()))
    series = b"".join(series_block(*series_views(report.analysis), 1_000_000))
    is_as_written(FORMS / "page-series.json", as_json(json.loads(series)))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (2**53 - 1, 2**53 - 1),
        (2**53, {"$int": "9007199254740992"}),
        (-(2**53) + 1, -(2**53) + 1),
        (-(2**53), {"$int": "-9007199254740992"}),
        (True, True),
        ((1, 2**60), [1, {"$int": "1152921504606846976"}]),
        ({"a": [2**60]}, {"a": [{"$int": "1152921504606846976"}]}),
        (1.5, 1.5),
        (None, None),
    ],
)
def test_numbers_that_javascript_does_not_hold_are_texts(value: Any, found: Any) -> None:
    assert exact(value) == found
    assert type(exact(value)) is type(found)


def blocks_of(report: Report) -> dict[str, Any]:
    """The blocks of data in a page, by their names."""
    return blocks(b"".join(page_parts(report, value_blocks(report.analysis), EVIDENCE)).decode())


@pytest.mark.parametrize(
    ("heads", "details", "most", "most_bytes", "held"),
    [
        (500, 25, 50_000, 1 << 30, 25),
        (10, 5, 50_000, 1 << 30, 25),
        (10, 5, 12, 1 << 30, 12),
        (10, 5, 10, 1 << 30, 10),
        (10, 5, 50_000, 0, 0),
    ],
)
def test_a_page_holds_the_layers_of_as_many_calls_as_a_browser_can(
    heads: int, details: int, most: int, most_bytes: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 25 calls are listed with their records; buffers are there in blocks of records whose layers are."""
    monkeypatch.setattr(report_page, "HEADS_IN_BLOCK", heads)
    for module in (report_page, report_page_call_sides):
        monkeypatch.setattr(module, "DETAILS_IN_BLOCK", details)
    monkeypatch.setattr(report_page, "MAX_DETAILS", most)
    monkeypatch.setattr(report_page, "MAX_DETAIL_BYTES", most_bytes)
    found = blocks_of(Report(audit=Audit(broken())))
    records = [one["number"] for name in found if name.startswith("heads-") for one in found[name]]
    assert records == list(range(1, 26))
    assert found["tail"] == {"details": held}
    calls = [len(found[name]["calls"]) for name in found if name.startswith("details-")]
    assert calls == [min(details, held - at) for at in range(0, held, details)]
    buffers = [name for name in found if name.startswith("buffers-")]
    assert buffers == [f"buffers-{number}" for number in range(-(-held // heads))]
    assert len(found["rows"]["time"]) == 25


def test_long_calls_have_no_layers_and_no_buffers_in_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others of their block do, as far as they fit. A block begins with all of its room."""
    analysis = broken()
    lengths = [
        sum(max(side.stub_length, side.wire_length) for side in (call.request, call.response) if side is not None)
        for call in (analysis.calls[at] for at in range(len(analysis.calls)))
    ]
    whole_page = blocks_of(Report(audit=Audit(analysis)))
    most = sorted(lengths)[-4]
    for module in (report_page, report_page_call_sides):
        monkeypatch.setattr(module, "DETAILS_IN_BLOCK", 5)
    monkeypatch.setattr(report_page_call_sides, "MAX_CARRIED_BYTES", most)
    expected: list[int | None] = []
    for at in range(0, 25, 5):
        left = most
        for number, length in enumerate(lengths[at : at + 5], at + 1):
            expected.append(number if length <= left else None)
            left -= length if length <= left else 0
    assert 3 <= expected.count(None) < 22
    assert calls_with_layers(analysis, 50_000) == expected
    assert calls_with_layers(analysis, 7) == expected[:7]
    found = blocks_of(Report(audit=Audit(analysis)))
    calls = [call for name in found if name.startswith("details-") for call in found[name]["calls"]]
    assert [call is not None for call in calls] == [number is not None for number in expected]
    last = max(number for number in expected if number is not None)
    assert found["buffers-0"] == [
        both if number is not None else None
        for both, number in zip(whole_page["buffers-0"][:last], expected[:last], strict=True)
    ]
    assert found["heads-0"] == whole_page["heads-0"]
    assert found["tail"] == {"details": 25 - expected.count(None)}


def test_buffers_are_compressed_as_soon_as_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_page = blocks_of(Report(audit=Audit(broken())))
    monkeypatch.setattr(report_page, "_COMPRESSED_AT_ONCE", 400)
    parts: list[bytes] = []
    deflated = report_page.deflated
    monkeypatch.setattr(report_page, "deflated", lambda some: deflated(parts.append(one) or one for one in some))
    assert blocks_of(Report(audit=Audit(broken()))) == whole_page
    assert len([part for part in parts if part.startswith(b",")]) > 3


def test_a_page_of_a_long_poll_states_what_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report(audit=Audit(watched()))
    monkeypatch.setattr(report_page, "MAX_READINGS", 10)
    monkeypatch.setattr(report_page, "MAX_FILM_BYTES", -1)
    found = blocks_of(report)
    left_out = {"readings": found["series"]["left_out"], "polls": found["films"]["left_out"]}
    assert min(left_out.values()) > 0
    assert found["tail"]["left_out"] == left_out


def test_a_page_states_what_a_limit_left_out_of_its_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that the overview shows are those of all answers."""
    machine, make = Machine(12), winreg()
    events = [make.open_key(), make.query_value("Counter 009", name_table(NAMES))]
    events += [make.query_value("230 238 4 2", machine.step().answer(), room=1 << 20) for _ in range(3)]
    report = Report(audit=Audit(analysis_of(*events)))
    processes = report.overview.processes
    monkeypatch.setattr(report_page, "SeriesLimit", partial(SeriesLimit, 30))
    values = value_blocks(report.analysis)
    found = blocks(b"".join(page_parts(replace(report, processes=values.processes), values, EVIDENCE)).decode())
    assert replace(report, processes=values.processes).overview.processes == processes
    process = {"server": "10.0.0.1", "group": "Process", "kept": 5, "instances": 12, "readings": 3 * 7 * 6}
    assert found["tail"]["left_out"] == {"series": [process]}
    assert len({one["instance"] for one in found["series"]["series"] if one["group"] == "Process"}) == 5
    assert len(next(one for one in found["films"]["films"] if one["name"] == "Process")["rows"]) == 5


def test_a_page_says_what_it_is_and_lets_nothing_else_in() -> None:
    text = b"".join(page_parts(Report(audit=Audit(broken()), name="<b>&"), value_blocks(broken()), EVIDENCE)).decode()
    assert "<title>&lt;b&gt;&amp;</title>" in text
    assert "<h1>&lt;b&gt;&amp;</h1>" in text
    policy = re.search(r'content="(default-src [^"]+)"', text)
    assert policy is not None
    for tag in ("script", "style"):
        (inner,) = (one for one in re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL))
        digest = b64encode(sha256(inner.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    head = re.search(r'id="head">([^<]*)</script>', text)
    stated = json.loads(head[1])
    assert (stated["title"], stated["heads"], stated["details"], stated["profile"]) == ("<b>&", 500, 50, "windows")
    assert stated["base"] == "190000000"
    assert stated["evidence"]["command"] == "audit"
