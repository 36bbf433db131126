"""What a capture may have without end is counted beyond a limit, not listed."""

import pytest

from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from analyzer.pipeline.run import EventCollector
from analyzer.results.connection import ClientMarks
from analyzer.results.records.record_types import Endpoint


def test_problems_beyond_the_limit_are_counted_by_kind() -> None:
    collected = EventCollector(Limits(problems=2))
    for kind in ("gap", "malformed", "gap", "malformed", "malformed"):
        collected.take_event(Problem(kind, "smb", (1,), "something"))
    assert [problem.kind for problem in collected.problems] == ["gap", "malformed"]
    assert [problem.text for problem in collected.unlisted()] == [
        "1 more problems of kind gap were met than are listed",
        "2 more problems of kind malformed were met than are listed",
    ]


@pytest.mark.parametrize("limits", [{"listed": 2}, {"listed_memory": 1000}])
def test_marks_of_programs_beyond_the_limit_are_counted_and_those_seen_before_are_not(limits: dict[str, int]) -> None:
    collected, server = EventCollector(Limits(**limits)), Endpoint("10.0.0.2", 445)
    for port in (1, 2, 1, 3, 4):
        marks = tuple(f"smb2.{name}" for name in ("dialects=0311", "header=x"))
        collected.take_event(ClientMarks(Endpoint("10.0.0.1", port), server, port, (port,), marks))
    assert [one.client.port for one in collected.marks] == [1, 2]
    assert collected.marks[0].marks is collected.marks[1].marks
    assert [problem.text for problem in collected.unlisted()] == [
        "2 more marks of programs were met than are listed",
    ]
