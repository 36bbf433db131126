"""Baselines: what of an entry has to be there, what may be absent, and what is no baseline."""

import json
from pathlib import Path

import pytest

from analyzer.core.errors import InputError
from analyzer.questions.audit.findings_and_coverage import Accepted, read_baseline

WHOLE = {"rule": "PCQ1", "requirement": "R", "method": "M", "field": "response.x[]", "seen": "5"}


def written(folder: Path, *entries: object, schema: object = 2) -> Path:
    path = folder / "baseline.json"
    path.write_text(json.dumps({"schema": schema, "accepted": list(entries)}), "utf-8")
    return path


def test_method_field_and_what_was_seen_may_be_absent(tmp_path: Path) -> None:
    bare = {"rule": "PCQ2", "requirement": "R"}
    nothing = {**bare, "method": None, "field": None, "seen": None, "count": 3, "reason": "so"}
    found = read_baseline(written(tmp_path, WHOLE, bare, nothing, WHOLE))
    assert found == (Accepted("PCQ1", "R", "M", "response.x[]", "5"), Accepted("PCQ2", "R", None, None, None))
    assert [one.words for one in found] == ["PCQ1 R, M, response.x[]: 5", "PCQ2 R"]
    assert found[0].whatever_seen == Accepted("PCQ1", "R", "M", "response.x[]", None)
    assert found[0].whatever_seen.words == "PCQ1 R, M, response.x[]"


@pytest.mark.parametrize("missing", ["rule", "requirement"])
def test_rule_and_requirement_have_to_be_there(missing: str, tmp_path: Path) -> None:
    entry = {key: value for key, value in WHOLE.items() if key != missing}
    with pytest.raises(InputError, match=r"baseline\.json is not a baseline") as refused:
        read_baseline(written(tmp_path, entry))
    assert refused.value.hint == "`audit --write-baseline` writes one"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 2, "accepted": [5]}', "\udcff"])
def test_what_is_no_baseline(text: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match="is not a baseline"):
        read_baseline(path)


def test_a_baseline_of_another_schema_and_one_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a baseline of schema 1; this program knows 2"):
        read_baseline(written(tmp_path, schema=1))
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        read_baseline(tmp_path / "none")
