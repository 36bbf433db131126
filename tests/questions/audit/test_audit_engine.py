"""What the engine does with rules: which it asks about a call, and how it counts what they say."""

from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.rule_registry import Level, Reads, Rule, of_calls, of_capture
from analyzer.questions.audit.rule_verdicts import Outcome, Severity, failed, passed
from analyzer.results.methods.perflib import Opnum
from tests.build.calls import Calls, analysis_of, sealed

FIRST, SECOND = "PCQ-6-R03", "PCQ-6-R06"


def audited(rule_parts, *events):
    rule = Rule("TEST1", "a-test", Level.STUBS, Severity.ERROR)
    if "whole" in rule_parts:
        rule.also(of_capture((FIRST, SECOND))(rule_parts["whole"]))
    else:
        check, reads = rule_parts.pop("check"), rule_parts.pop("reads")
        rule.also(of_calls((FIRST, SECOND), reads, needs_answer="an example", **rule_parts)(check))
    audit = Audit(analysis_of(*events), rules=[rule])
    return audit, list(audit.findings())


def test_a_call_that_cannot_be_read_concerns_the_requirements_of_its_method():
    parts = {
        "reads": Reads((Opnum.OPEN_QUERY_HANDLE, Opnum.QUERY_COUNTER_DATA), ("request",)),
        "check": lambda call: [],
        "by_method": {Opnum.OPEN_QUERY_HANDLE: (FIRST,), Opnum.QUERY_COUNTER_DATA: (SECOND,)},
    }
    audit, _ = audited(parts, sealed(Calls().open_query()))
    assert (audit.coverage[FIRST].verdict, audit.coverage[SECOND].verdict) == ("inconclusive", "not-exercised")


def test_a_rule_that_names_no_method_is_asked_about_all_of_them():
    asked = []

    def check(call):
        asked.append(call.opnum)
        return []

    calls = Calls()
    audited({"reads": Reads(), "check": check}, calls.open_query(), calls.exchange(9, b"", b""))
    assert asked == [3, 9]


def test_what_several_requirements_demand_is_reported_once_and_counted_for_each():
    parts = {"reads": Reads(), "check": lambda call: [failed(call, None, "it was wrong")]}
    audit, findings = audited(parts, Calls().open_query())
    assert [finding.judgement.requirements for finding in findings] == [(FIRST, SECOND)]
    assert [audit.coverage[name].counts[Outcome.FAILED] for name in (FIRST, SECOND)] == [1, 1]


def test_a_rule_may_look_at_the_whole_capture_when_it_has_ended():
    def look(evidence):
        yield passed(FIRST, count=len(list(evidence.calls())))

    calls = Calls()
    audit, _ = audited({"whole": look}, calls.open_query(), calls.close_query())
    assert audit.coverage[FIRST].occurrences == 2


def test_an_empty_buffer_where_there_is_always_one_cannot_be_judged():
    parts = {
        "reads": Reads((Opnum.QUERY_COUNTER_DATA,), ("response.lpData",), success=True),
        "check": lambda call: [1 / 0],
    }
    audit, _ = audited(parts, Calls().counter_data(b""))
    assert audit.coverage[FIRST].reasons == {"the buffer of the response is empty": 1}
