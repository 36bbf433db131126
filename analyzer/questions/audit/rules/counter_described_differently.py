"""A server described a counter differently from one answer to the next.

Looks for: a counter in the registration of its counterset (RequestCode 1) and in the answer about it alone (RequestCode 2), in
either order, whose type, scale, aggregate function or related counters differ.

Why it matters: the type says how a value is computed, the base by what it is divided. A client that asks for single counters shows
other numbers than one that asks for the whole counterset.

Specification: [MS-PCQ] section 3.1.4.1.2: RequestCode 1 returns a _PERF_COUNTER_REG_INFO for each counter of the counterset,
RequestCode 2 the one of the counter asked about. Both describe the same registration.

Flagged: type 0x10410500 in the one answer and 0x00010000 in the other.

Accepted: the same in both.

Silent: where only one of the two was asked in the capture, or the answer is sealed or was not captured; where a value is wrong in
itself, which other rules report. A provider may be installed anew between the two, so the confidence is medium.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from analyzer.questions.audit.counter_types import DELTAS, LISTED
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.registration import COUNTERS_ASKED, records_of
from analyzer.questions.audit.rule import Level, Rule, Watch
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, Severity, failed, passed

REQUIREMENT = "PCQ-3.1.4.1.2-R17"


# What decides on the displayed value.
_FIELDS = (
    "counter_type",
    "default_scale",
    "base_counter_id",
    "perf_time_id",
    "perf_freq_id",
    "multi_id",
    "aggregate_func",
)


def _is_sound(record: dict[str, Any]) -> bool:
    """Whether the fields that can be wrong in themselves are not."""
    kind = record["counter_type"] & 0xFFFFFFFF
    return kind in {*LISTED, *DELTAS} and -10 <= record["default_scale"] <= 10 and record["aggregate_func"] <= 4


RULE = Rule("PCQ330", "counter-described-differently", Level.VALUES, Severity.ERROR)


@RULE.calls((REQUIREMENT,), COUNTERS_ASKED)
class _Descriptions(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        # By server, counterset and counter: which RequestCode described it first, in which call, and how.
        self._first: dict[tuple[str, str, int], tuple[int, int, dict[str, Any]]] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        code, guid = call.asked["RequestCode"], call.asked["CounterSetGuid"]
        records = list(records_of(call))
        ids = Counter(record["counter_id"] for _, record in records)
        for path, record in records:
            if ids[record["counter_id"]] > 1:
                continue
            key = call.server, guid, record["counter_id"]
            first_code, number, first = self._first.setdefault(key, (code, call.number, record))
            if first_code == code or not (_is_sound(first) and _is_sound(record)):
                continue
            field = next((field for field in _FIELDS if first[field] != record[field]), None)
            if field is None:
                yield passed(REQUIREMENT)
                continue
            yield failed(
                REQUIREMENT,
                call,
                At("response", f"{path}.{field}"),
                f"a counter is described otherwise than by RequestCode {first_code} in call {number}",
                expected=f"{first[field]:#x}",
                seen=f"{record[field]:#x}",
                confidence=Confidence.MEDIUM,
            )
