"""What is published of the records: schemas and tables of keys are those of the types, and every record keeps to them."""

import json
from functools import cache
from typing import Any

import jsonschema
import msgspec
import pytest

from analyzer.core.output.json import dumps
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.statistics.handle_lifetimes import handle_records
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.records.record_types import Record
from analyzer.screens.views.audit import AuditView
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.show import Show
from analyzer.screens.views.stats import stats_records
from analyzer.screens.views.timeline import timeline_records
from tests import truth
from tests.analyses import analysis_of_file
from tests.records_document import DOCS, document, documented, record_types, schema_text

# Records of a type that are validated by the schema, which is slower than by the type.
_BY_SCHEMA = 3


def test_the_files_are_those_of_the_types() -> None:
    """`python -m tests.records_document` writes them."""
    written = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "schema").glob("*.json")}
    assert written == {name: schema_text(name, kind) for name, kind in record_types().items()}


def test_the_page_lists_every_key_of_every_record() -> None:
    page = (DOCS / "output.md").read_text(encoding="utf-8")
    assert document(page) == page
    assert sorted(documented(page)) == sorted(record_types())


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((DOCS / "schema" / f"{name}.json").read_bytes()))


def check(records: Any, seen: dict[str, int]) -> None:
    for record in records:
        kind = type(record)
        text = dumps(record)
        # What `Raw` holds is what it became; all else is of its type, as strictly as msgspec knows.
        assert isinstance(msgspec.json.decode(text, type=kind), Record)
        name = next(name for name, known in record_types().items() if known is kind)
        seen[name] = seen.get(name, 0) + 1
        if seen[name] <= _BY_SCHEMA:
            validator(name).validate(json.loads(text))


@pytest.mark.parametrize("with_secrets", [True, False])
@pytest.mark.parametrize("capture", truth.handful(), ids=lambda capture: capture.file)
def test_every_record_keeps_to_its_schema(capture: truth.Capture, with_secrets: bool) -> None:
    analysis = analysis_of_file(capture.file, is_keyed=with_secrets)
    seen: dict[str, int] = {}
    for records in (
        timeline_records(analysis),
        Samples(analysis).records(),
        Counters(analysis).records(),
        Counters(analysis, interval_ns=1_000_000_000).records(),
        handle_records(analysis),
        host_records(analysis),
        stats_records(analysis),
        AuditView(Audit(analysis)).records(),
        Show(analysis, 1).records() if analysis.calls else (),
    ):
        check(records, seen)
    assert {"capture", "summary", "host", "coverage", "audit-summary"} <= set(seen)
    if analysis.calls:
        assert {"call", "show", "method-stats"} <= set(seen)
