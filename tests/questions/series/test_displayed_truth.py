"""Displayed values of the sample captures, computed a second time from the recorded truth and compared exactly.

Nothing of the analyzer is used for it: raw values, clocks, counter types and what each block of an answer is come from the
truth files, the formulas from `recomputed.py`. Pairs are made by the handle and by what the server recorded of it.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from uuid import UUID

import pytest

from analyzer.questions.series.counter_paths import selection_of
from analyzer.questions.series.counter_records import counter_records
from tests import truth
from tests.analyses import analysis_of_file
from tests.questions.series.recomputed import FORMULAS
from tests.records import Record, plains

NONE = 0xFFFFFFFF
ALL = [capture for capture in truth.captures() if not capture.damaged]


AGGREGATES = {
    1: ("total", lambda values: sum(values, Fraction(0))),
    2: ("average", lambda values: sum(values, Fraction(0)) / len(values)),
    3: ("minimum", min),
    4: ("maximum", max),
}


@pytest.mark.parametrize("capture", ALL, ids=lambda capture: capture.file)
def test_displayed_values_are_those_of_the_recorded_truth(capture: truth.Capture) -> None:
    analysis = analysis_of_file(capture.file)
    document = json.loads(gzip.decompress(capture.truth_path.read_bytes()))
    is_v1 = document["kind"] == "V1"
    totals: list[tuple[Any, ...]] = []
    expected = Counter(_winperf_values(document) if is_v1 else _perflib_values(document, totals))
    records = list(plains(counter_records(analysis, selection_of((), dict), exact=True)))
    polls = _polls(records)
    key = _winperf_key if is_v1 else _perflib_key
    read = Counter((*key(record, polls), record["exact"]) for record in records if record["aggregate"] is None)
    assert read == expected
    together = [
        (*polls[record["call"]], record["aggregate"], record["exact"]) for record in records if record["aggregate"]
    ]
    assert sorted(together, key=str) == sorted(totals, key=str)
    assert all((record["value"] is None) == (record["why_null"] is not None) for record in records)


def _polls(records: list[Record]) -> dict[int, tuple[str, int]]:
    """Which handle a call polled, and the how many-eth poll of it that brought values it was."""
    found: dict[int, tuple[str, int]] = {}
    counts: Counter[str] = Counter()
    for record in records:
        if record["source"] == "perflib-v2" and record["call"] not in found:
            found[record["call"]] = record["query"], counts[record["query"]]
            counts[record["query"]] += 1
    return found


def test_some_captures_have_aggregates() -> None:
    found = []
    for capture in ALL:
        document = json.loads(gzip.decompress(capture.truth_path.read_bytes()))
        if document["kind"] != "V1":
            totals: list[tuple[Any, ...]] = []
            for _ in _perflib_values(document, totals):
                pass
            found += totals
    assert len({function for _, _, function, _ in found}) > 1


def _exact(value: Fraction | None) -> str | None:
    return f"{value.numerator}/{value.denominator}" if value is not None else None


# ------------------------------------------------------------------------------------------------ PerflibV2


def _perflib_key(record: Record, polls: dict[int, tuple[str, int]]) -> tuple[Any, ...]:
    place = tuple(record[key] for key in ("block", "counter_id", "instance", "instance_id"))
    return *polls[record["call"]], *place


def _perflib_values(document: dict[str, Any], totals: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """One key a value: handle, its poll, block, counter, instance, instance id, and the exact value. Aggregates go to `totals`."""
    polls: Counter[str] = Counter()
    infos: dict[tuple[str, int], dict[str, Any]] = {}
    for seen in document["server_view"]:
        if seen["opnum"] == 1 and seen["status"] == 0 and isinstance(seen["decoded"], dict):
            for info in seen["decoded"].get("counters", ()):
                infos[seen["decoded"]["guid"], info["id"]] = info | {"set": seen["decoded"]["instance_type"]}
    remembered: dict[Any, dict[Any, Fraction]] = {}
    held: dict[str, list[dict[str, Any]]] = {}
    before: dict[tuple[Any, ...], dict[str, Any]] = {}
    answers: Counter[Any] = Counter()
    for seen in document["server_view"]:
        done = seen.get("status") == 0 and seen.get("decoded") is not None
        if seen["opnum"] == 7 and done and seen["add"]:
            known = held.setdefault(seen["handle"], [])
            known += [item for item in seen["decoded"] if item["status"] == 0]
        elif seen["opnum"] == 5 and done:
            held[seen["handle"]] = sorted(seen["decoded"], key=lambda item: item["index"])
        elif seen["opnum"] == 6 and done:
            clocks = {f"{name}_size": 8 for name in ("ticks", "time")}
            clocks |= {"ticks": seen["decoded"]["perf_time_stamp"], "time": seen["decoded"]["perf_time_100nsec"]}
            clocks |= {"freq": seen["decoded"]["perf_freq"]}
            poll = str(UUID(bytes_le=bytes.fromhex(seen["handle"]))), polls[seen["handle"]]
            polls[seen["handle"]] += bool(seen["decoded"]["blocks"])
            pools: dict[tuple[str, int], dict[Any, Fraction]] = {}
            for place, block in enumerate(seen["decoded"]["blocks"]):
                item = held[seen["handle"]][place]
                added = (seen["handle"], item["guid"], item["counter_id"], item["instance_id"], item["instance"])
                answers[added] += 1
                for name, number, values in _rows(item, block):
                    for counter in values:
                        now = None
                        if block["type"] != 0:
                            now = clocks | _reading(infos, item["guid"], counter, values)
                        key = (*added, counter, name, number)
                        older = before.get(key)
                        if older is not None and older["answer"] != answers[added] - 1:
                            older = None
                        value = None
                        info = infos[item["guid"], counter]
                        if now is not None:
                            value = FORMULAS[info["type"]](now, older)
                            before[key] = now | {"answer": answers[added]}
                        yield *poll, place, counter, name, number, _exact(value)
                        if info["agg"] and (info["set"] == 6 or (info["set"] in (4, 12) and "*" in item["instance"])):
                            pool = pools.setdefault((item["guid"], counter), {})
                            if value is not None:
                                pool[name, number] = value
            for counter, pool in pools.items():
                if infos[counter]["set"] == 12:
                    pool = remembered.setdefault((seen["handle"], *counter), {}) | pool
                    remembered[seen["handle"], *counter] = pool
                function, of = AGGREGATES[infos[counter]["agg"]]
                totals.append((*poll, function, _exact(of(list(pool.values())) if pool else None)))


def _rows(item: dict[str, Any], block: dict[str, Any]) -> Iterator[tuple[str | None, int | None, dict[Any, Any]]]:
    """Instance, its id, and values by counter."""
    asked = item["counter_id"] if item["counter_id"] != NONE else None
    name = None if "*" in item["instance"] else item["instance"]
    number = None if item["instance_id"] == NONE else item["instance_id"]
    if block["type"] == 0:
        yield name, number, {asked: None}
    elif block["type"] in (1, 2):
        yield name, number, dict(zip(block.get("counter_ids", [asked]), block["values"], strict=True))
    else:
        for instance_id, instance, values in block["instances"]:
            yield instance, instance_id, dict(zip(block.get("counter_ids", [asked]), values, strict=True))


def _reading(infos: dict[tuple[str, int], Any], guid: str, counter: int, values: dict[int, Any]) -> dict[str, Any]:
    info = infos[guid, counter]

    def size(number: int) -> int:
        return 8 if infos[guid, number]["type"] & 0x100 else 4

    reading = {"x": values[counter], "x_size": size(counter)}
    for name, key in (("base", "base"), ("clock", "time"), ("clock_freq", "freq"), ("multi", "multi")):
        reading[name] = values.get(info[key])
        reading[f"{name}_size"] = size(info[key]) if info[key] != NONE else None
    return reading


# ------------------------------------------------------------------------------------------------ winperf


def _winperf_key(record: Record, _polls: dict[int, tuple[str, int]]) -> tuple[Any, ...]:
    return tuple(record[key] for key in ("call", "object_index", "counter_index", "instance"))


def _winperf_values(document: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """One key a value: call, object, counter, instance, and the exact value."""
    before: dict[tuple[Any, ...], dict[str, Any]] = {}
    for call, stated in enumerate(document["calls"], 1):
        block = (stated.get("decoded") or {}).get("perf_data_block") if stated["opnum"] == 17 else None
        if block is None or block["end_offset"] < block["buffer_length"]:
            continue
        clocks = {"ticks": block["PerfTime"], "time": block["PerfTime100nSec"], "freq": block["PerfFreq"]}
        clocks |= {"ticks_size": 8, "time_size": 8}
        for item in block["objects"]:
            rows = [(None, item["values"])] if item.get("values") is not None else []
            rows += [(one["Name"], one["values"]) for one in item.get("instances") or ()]
            own = {"clock": item["PerfTime"], "clock_freq": item["PerfFreq"]}
            for name, values in rows:
                for at, (counter, raw) in enumerate(zip(item["counters"], values, strict=True)):
                    key = (item["ObjectNameTitleIndex"], counter["CounterNameTitleIndex"], name)
                    now = clocks | own | {"x": raw, "x_size": counter["CounterSize"], "base": None, "base_size": None}
                    if at + 1 < len(values):
                        now |= {"base": values[at + 1], "base_size": item["counters"][at + 1]["CounterSize"]}
                    yield call, *key, _exact(FORMULAS[counter["CounterType"]](now, before.get(key)))
                    before[key] = now
