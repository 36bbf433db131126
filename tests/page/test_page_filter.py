"""The filter language in the page: on every call of sample captures it passes what the command's passes, and refuses the same."""

import json
import random
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.output.standard_json import document
from analyzer.interfaces.call_contents.call_records import CallRecords
from analyzer.questions.filters import binder
from analyzer.questions.filters.filter import CallFilter
from analyzer.questions.filters.filterable_fields import vocabulary
from analyzer.questions.filters.grammar import FilterError
from analyzer.screens.formats.report_page import record_blocks
from tests.page import THREE, analysis_named, built
from tests.truth import handful

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.needs("npm", "node")
FILTERS = [
    "number in {1, 3, 5..9}",
    "opnum == 6 && status != 0",
    "status == ERROR_SUCCESS or fault",
    "not (status == 0) xor opnum > 3",
    "status_name matches '^error_(not|more)'",
    "method == QueryCounterData and latency > 1ms",
    "PerflibV2QueryCounterSetRegistrationInfo == method",
    'method contains "Query" and interface == perflibv2',
    "interface == winreg || pipe contains winreg",
    "ip == 127.0.0.0/8 and !(client.port < 1024)",
    "client.ip in {127.0.0.1..127.0.0.3, ::1, 10.0.0.0/255.0.0.0}",
    "ip == ::1/128",
    "time > 2020-01-01 and time < 2030-01-01T00:00:00.5+01:00",
    "time_relative >= 0.05 and time_relative < 1.5s",
    "1ms < latency <= 20ms",
    "user contains 'perfmon' or user ~ 'SYSTEM$'",
    r'user == "LAB\\perfmon" or user == LAB\perfmon',
    "lower(user) == 'lab\\\\perfmon' and len(user) > 3",
    "count(frame) > 2 and frame & 1",
    "any frame > 20 and all frame < 100000",
    "frame !== 12 and number === 3",
    "frame ~= 12",
    "handle in {q1, 2, k1}",
    "handle == null",
    'counterset != null and counterset == "Processor Information"',
    "params.dwInSize >= 4096 or request.params.dwInSize == 0x1000",
    "params.RequestCode == COUNTER_NAME_STRINGS or params.RequestCode in {1, 2, 3..4}",
    "params.hQuery.uuid == handle_uuid",
    "request and not response",
    "response.buffer and request.stub_length < response.stub_length",
    "buffer.counter_type == PERF_COUNTER_RAWCOUNT or buffer.counter_type & 0x400",
    "response.buffer.dw_counter_id == 3 or buffer.counter_id > 1",
    "buffer.name contains '0' or buffer.string matches '(?-i)Processor'",
    "buffer.perf_time_stamp > 0 and buffer.perf_freq >= 10000000",
    "buffer.raw > 18446744073709551615",
    "auth.level == privacy and auth.verified == true",
    "auth.user_from == smb",
    "smb.dialect == 3.1.1 and smb.encrypted == false and smb.session_id > 0x10",
    "session & 0xff",
    "state == complete and reason == null",
    'verification_trailer == ok or why_missing in {sealed, "not captured"}',
    "registry.path contains 'HKLM' or read.attempt > 1",
    "read and read.value contains 'Global'",
    "stub_sha256 matches '^[0-7]'",
    "transport == ncacn_np AND syntax != ndr64",
    "status > 0x7fffffffffffffffff",
    "latency_ns % 2",
    "latency == 1.5e-3",
    'user == "\\x4c\\u0041B\\\\perfmon"',
    "in == 3",
    "not not number == 1",
    "(((number == 1 or number == 2) and opnum) or fault) and not (state == sealed)",
    "buffer_kind == perf-data and buffer_notes",
    "opnum in {}",
    "opnum in {6",
    "opnum = 6",
    "status == NO_SUCH_STATUS",
    "nothing == 1",
    "latency > soon",
    "user > 3",
    "'text'",
    "any opnum",
    "number == 1 and",
    "ip == 300.1.1.1",
    "time == 2026-02-30",
    "auth.level == strong",
    "number in {5..3}",
    "user matches '('",
    "user matches '(?=a)'",
    "buffer.nothing_like_it == 1",
    "client == server",
    "client",
    "client.ip == server.ip",
    "user == workstation",
    "number < latency",
    "(" * 60 + "number" + ")" * 60,
    "not " * 49 + "number == 1",
    "",
    "x" * 10_001,
]
SCRIPT = """
import { readFileSync } from "node:fs";
import { compile, knowledge, ofRecord, FilterError } from "./filter.mjs";
const { fields, filters, captures } = JSON.parse(readFileSync("input.json", "utf8"));
const known = knowledge(fields);
const out = filters.map((source) => {
  try {
    const bound = compile(source, known);
    const passes = ([record, buffers]) => bound.passes(ofRecord({ record, buffers }));
    return captures.map((calls) => calls.flatMap((call, at) => (passes(call) ? [at + 1] : [])));
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return [error.message, Array.from(source.slice(0, error.at[0])).length];
  }
});
process.stdout.write(JSON.stringify(out));
"""
Outcome = list[Any]


def of_the_page(directory: Path, filters: list[str], files: Iterable[str]) -> list[Outcome]:
    """Which calls of each capture pass each filter in the page, or its mistake and where."""
    built(directory)
    captures = []
    for analysis in map(analysis_named, files):
        captured = []
        for block in record_blocks(analysis, range(1, len(analysis.calls) + 1)):
            buffers = [json.loads(text) for text in block.buffers()]
            captured += zip(json.loads(block.heads), buffers, strict=True)
        captures.append(captured)
    given: dict[str, Any] = {"fields": vocabulary(), "filters": filters, "captures": captures}
    (directory / "input.json").write_text(json.dumps(given), encoding="utf-8")
    (directory / "run.mjs").write_text(SCRIPT, encoding="utf-8")
    ran = subprocess.run(["node", "run.mjs"], cwd=directory, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    passed: list[Outcome] = json.loads(ran.stdout)
    return passed


def of_the_command(source: str, captures: list[list[dict[str, Any]]]) -> Outcome:
    try:
        wanted = CallFilter(source)
    except FilterError as error:
        return [error.sentence, error.column - 1]
    return [[record["number"] for record in records if wanted.passes(record)] for records in captures]


def same(filters: list[str], directory: Path, files: Iterable[str]) -> list[Outcome]:
    """Asserts that the page and the command do the same with each filter; returns what they do."""
    files = list(files)
    passed = of_the_page(directory, filters, files)
    captures = [
        [document(record) for record in CallRecords(analysis).records_of(range(1, len(analysis.calls) + 1))]
        for analysis in map(analysis_named, files)
    ]
    for source, found in zip(filters, passed, strict=True):
        expected = of_the_command(source, captures)
        assert sentence(found) == sentence(expected), source[:80]
    return passed


def sentence(outcome: Outcome) -> Outcome:
    """Without what each says of names that are near, and of patterns by its own engine."""
    if outcome and isinstance(outcome[0], str):
        known = re.match(
            r"no field is called .*?(?=;|$)|this is no regular expression|.* by number or name", outcome[0], re.S
        )
        return [known[0] if known else outcome[0], outcome[1]]
    return outcome


def is_mistake(outcome: Outcome) -> bool:
    return bool(outcome) and isinstance(outcome[0], str)


def test_the_page_passes_what_the_command_passes(tmp_path: Path) -> None:
    passed = same(FILTERS, tmp_path, [capture.file for capture in handful()])
    # Both pass something for most, and refuse what makes no sense.
    assert sum(not is_mistake(found) and any(found) for found in passed) > 40
    assert sum(map(is_mistake, passed)) > 15


def of_the_documents() -> list[str]:
    """What stands in quotes after -Y, or between backticks and may be a filter."""
    texts = [path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]]
    shown = {found for text in texts for found in re.findall(r"(?:-Y|--filter) '([^'\n]+)'", text)}
    quoted = {part for text in texts for line in text.splitlines() for part in line.split("`")[1::2]}
    return sorted(shown | {part for part in quoted if len(part) < 100})


# Words of the language, of which most orders make no sense and some do.
_FIELDS = """opnum status user ip frame latency time state smb.signed method handle counterset buffer.name params.dwInSize
time_delta request.frame_files registry.data client.ip session smb response"""
_VALUES = """null 0x1d -3 1.5e3 10.0.0.0/8 ::1 2026-11-20 500ms 5m 2d ERROR_MORE_DATA sealed q1 LAB@perfmon 1 5 10.0.0.1
'a' "x\\n" r'\\d' true QueryCounterData"""
_COMPARISONS = "== != === !== < <= > >= & contains CONTAINS matches ~ ~= eq any_ne"
_OTHERS = """(?-i)x é \u017f \x00 . .. ; = any all not ! in and && or || xor ^^ ( ) { } , {1,3..5} {10.0.0.1..10.0.0.9} len( count(
lower( 'open \\U00110000"""


def random_filters(count: int) -> list[str]:
    draw = random.Random(4)
    fields, values, comparisons, others = (words.split() for words in (_FIELDS, _VALUES, _COMPARISONS, _OTHERS))

    def relation() -> list[str]:
        name = draw.choice(fields)
        if draw.random() < 0.2:
            return [name, "in", "{", draw.choice(values), *draw.choice(([], [",", draw.choice(values)])), "}"]
        return [*draw.choice(([], ["any"], ["all"])), name, draw.choice(comparisons), draw.choice(values)]

    found = []
    for _ in range(count):
        parts = relation()
        while draw.random() < 0.4:
            parts += [draw.choice(("and", "or", "xor")), *draw.choice(([], ["not"])), *relation()]
        if draw.random() < 0.5:
            parts[draw.randrange(len(parts))] = draw.choice(draw.choice((fields, values, comparisons, others)))
        found.append(draw.choice((" ", " ", "  ", "")).join(parts))
    return found


def test_both_do_the_same_with_what_the_documents_show_and_with_random_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Names that are spelled alike are not compared, and take half of the time.
    monkeypatch.setattr(binder, "get_close_matches", lambda *_, **__: [])
    passed = same([*of_the_documents(), *random_filters(1500)], tmp_path, THREE)
    assert sum(not is_mistake(found) for found in passed) > 300
    assert len({found[0] for found in passed if is_mistake(found)}) > 200
