"""Calls whose bytes were captured in two versions: the reason says so, beside what it says already of a complete call."""

import pytest
from msgspec.structs import replace

from analyzer.core.events import Conflict
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.interfaces.resolution.whole_capture_resolution import REASON, Marks
from analyzer.results.calls.pdus import pdus_alone
from tests.build.calls import Calls


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("complete", None, REASON),
        ("complete", "out of order", f"out of order; {REASON}"),
        ("partial", "bytes are missing", "bytes are missing"),
        ("complete", REASON, REASON),
    ],
)
def test_the_reason_says_that_two_versions_were_captured(state: str, reason: str | None, expected: str) -> None:
    call = replace(plain_call(Calls().open_query()), state=state, reason=reason)
    assert call.request is not None
    (pdu, *_) = pdus_alone(call.request.pdus)
    marks = Marks()
    assert marks.marked(call) is call
    marks.add([Conflict(pdu.origin(0, 1))])
    assert marks.marked(call).reason == expected
