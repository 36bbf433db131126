"""A counter that needs two values was read once only.

Looks for: query handles that hold counters whose type needs the value of a query before (rates, timers, averages), and how
often their data were queried.

Why it matters: of one value no rate can be made. It is no fault: the client may have opened the query to see whether it works.
What this rule gives is the count of handles that were read again, which shows that the client keeps values.

Specification: [MS-PCQ] section 2.2.4.2: unless the type says that its value is instantaneous, the client may need to keep it
and compare it with that of the next query.

Flagged: nothing; a MAY cannot be broken.

Accepted: two answers on one handle (counted as a pass).

Silent: where a handle was read once, or its counters' types are not in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import DATA
from analyzer.questions.audit.counter_types import LISTED
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.values import known_columns, query_of
from analyzer.questions.audit.verdicts import Judgement, Severity, inconclusive, passed

REQUIREMENT = "PCQ-2.2.4.2-R41"
# Raw counts, text, and the bases of others.
INSTANTANEOUS = frozenset((*LISTED[:5], *LISTED[-4:]))

RULE = Rule("PCQ615", "rate-counter-polled-once", Level.VALUES, Severity.INFO)


@RULE.calls((REQUIREMENT,), DATA, needs_answer="a value is kept where one was answered")
class _Polls:
    def __init__(self, evidence: Evidence) -> None:
        # By number of the handle: whether it holds such a counter, and how many answers it had.
        self._holds: dict[int, bool] = {}
        self._answers: dict[int, int] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        assert call.response is not None
        query = query_of(call)
        if query is not None and call.response.is_readable:
            self._answers[query.number] = self._answers.get(query.number, 0) + 1
            if not self._holds.get(query.number):
                types = {column.type for column in known_columns(call, call.response.answer)}
                self._holds[query.number] = bool(types & set(LISTED) - INSTANTANEOUS)
        return iter(())

    def finish(self) -> Iterator[Judgement]:
        for number, answers in self._answers.items():
            if self._holds[number] and answers > 1:
                yield passed(REQUIREMENT)
            elif self._holds[number]:
                yield inconclusive(
                    REQUIREMENT, "a handle was read once only, so whether its value was kept does not show"
                )
