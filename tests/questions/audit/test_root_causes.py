"""A referent before a query handle displaces everything behind it: one violation, and what follows from it is only counted."""

import pytest
from msgspec.structs import replace

from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.rule_verdicts import Outcome
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import analysis_of, with_stub
from tests.questions.audit.conversation import full_conversation

ON_HANDLES = [
    number
    for number, event in enumerate(full_conversation())
    if isinstance(event, Exchange) and event.opnum in (4, 5, 6, 7)
]


def audited(*numbers: int) -> Audit:
    """The conversation in which nothing is wrong, with a referent before the handle of some of its calls."""
    events = full_conversation()
    for number in numbers:
        event = events[number]
        assert isinstance(event, Exchange)
        stub = b"\0\0\2\0" + bytes(event.request.stub.data)
        moved = with_stub(event.request, event.request.stub.replaced(stub, "mutated"))
        events[number] = replace(event, request=moved)
    return Audit(analysis_of(*events))


@pytest.mark.parametrize("number", ON_HANDLES)
def test_a_referent_before_a_handle_is_one_finding_that_counts_the_others(number: int) -> None:
    audit = audited(number)
    (finding,) = audit.findings()
    assert (finding.rule.code, finding.call) == ("PCQ203", number)
    assert (finding.place.start, finding.place.stop) == (0, 4)
    assert finding.follow >= 2
    assert audit.found == {Outcome.FAILED: 1}
    failed = [name for name, coverage in audit.coverage.items() if coverage.verdict in ("fail", "warn")]
    assert failed == ["PCQ-2.2.2-R01"]


def test_each_call_has_its_own() -> None:
    findings = list(audited(*ON_HANDLES[:3]).findings())
    assert [(finding.rule.code, finding.call) for finding in findings] == [("PCQ203", one) for one in ON_HANDLES[:3]]
