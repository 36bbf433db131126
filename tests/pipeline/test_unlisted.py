"""What a capture may have without end is counted beyond a limit, not listed."""

from __future__ import annotations

from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from analyzer.pipeline.run import _Collector


def test_problems_beyond_the_limit_are_counted_by_kind() -> None:
    collected = _Collector(Limits(problems=2))
    for kind in ("gap", "malformed", "gap", "malformed", "malformed"):
        collected.take(Problem(kind, "smb", (1,), "something"))  # type: ignore[arg-type]
    assert [problem.kind for problem in collected.problems] == ["gap", "malformed"]
    assert [problem.text for problem in collected.unlisted()] == [
        "1 more problems of kind gap were met than are listed",
        "2 more problems of kind malformed were met than are listed",
    ]
