"""What becomes of a judgement: by profile, severity and side a finding or a count; and which rules and requirements are asked."""

from types import SimpleNamespace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from analyzer.core.errors import InputError
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.findings_and_coverage import _MOST_REASONS, Accepted, Coverage, actor_of
from analyzer.questions.audit.rule_registry import Level, Look, Reads, Rule, catalogue, every_rule, select_rules
from analyzer.questions.audit.rule_verdicts import (
    Actor,
    At,
    Deviation,
    Judgement,
    Outcome,
    Severity,
    inconclusive,
    passed,
)
from analyzer.questions.audit.rules.queries import _Covering, _StatusCase
from analyzer.questions.audit.server_statements import InstanceList, Knowledge
from analyzer.questions.audit.values_with_counters import NO_HANDLE
from analyzer.results.methods.perflib import NONE_ID
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import identifier, instance_header
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, altered, analysis_of, sealed, unanswered
from tests.written import Tables, held

# Two that bind the server, one the client, and one that contradicts another.
SERVERS, OTHERS, CLIENTS = "PCQ-2.2.4.7-R02", "PCQ-2.2.4.7-R03", "PCQ-2.1-R04"
EXCLUDED = next(one.id for one in catalogue().values() if one.excludes is not None)
FAILED, WARNED = Outcome.FAILED, Outcome.WARNED
DEVIATIONS = {"known": Deviation("WBP 7", "known"), "other": Deviation("WBP 7", "known", OTHERS), None: None}
ANALYSIS = analysis_of(Calls().open_query())
TABLES = Tables()


def audited(
    *said: dict[str, Any], severity: Severity = Severity.ERROR, analysis: Any = ANALYSIS, **options: Any
) -> Audit:
    """An audit by one rule that says this of a call."""

    def check(call: Any) -> Any:
        for one in said:
            facts = {"outcome": FAILED, "requirements": (SERVERS,), "call": call, "message": "m", **one}
            facts["deviation"] = DEVIATIONS[one.get("deviation")]
            yield Judgement(**facts)

    needed = (SERVERS, OTHERS, CLIENTS, EXCLUDED)
    look: Look[CallEvidence] = Look("call", check, needed, Reads(), check, needs_answer="the example accuses either")
    rule = Rule("PCQ999", "a-rule", Level.STUBS, severity, call=look)
    return Audit(analysis, rules=[rule], **options)


WARNS, KNOWS = {"outcome": WARNED}, {"deviation": "known"}


@TABLES.of(
    # A failure is no mere information, and a doubt no error.
    *(("spec", {}, severity) for severity in Severity),
    *(("spec", WARNS, severity) for severity in Severity),
    *(("spec", said, "error") for said in ({**WARNS, "note": True}, {"note": True})),
    # The profile strict has neither warnings nor notes.
    *(("strict", WARNS, severity) for severity in ("error", "info")),
    ("strict", {**WARNS, "note": True}, "warning"),
    # What Windows is known for, only that profile lets pass.
    *((profile, KNOWS, "error") for profile in Profile),
    ("windows", {**WARNS, **KNOWS}, "error"),
)
def what_a_judgement_is_by_severity_and_profile(profile, said, severity):
    audit = audited(said, severity=Severity(severity), profile=Profile(profile))
    (finding,) = audit.findings()
    assert (finding.rule.code, finding.call, finding.place) == ("PCQ999", 1, None)
    outcome, coverage = finding.judgement.outcome, audit.coverage[SERVERS]
    # What is excused counts as kept.
    counted = {Outcome.PASSED: 1} if finding.is_excused else {outcome: 1}
    assert {one: count for one, count in coverage.counts.items() if count} == counted
    assert coverage.excused == finding.is_excused
    assert audit.found == ({} if finding.is_excused else counted)
    return [outcome.value, finding.severity.value, coverage.verdict, *["excused"] * finding.is_excused]


@TABLES.of(
    {"deviation": "other"},
    {"deviation": "known", "requirements": (EXCLUDED,)},
    {"deviation": "known", "requirements": (SERVERS, OTHERS)},
)
def of_two_readings_that_exclude_each_other_one_is_kept(**said):
    audit = audited(said, profile=Profile.WINDOWS)
    list(audit.findings())
    of = {name: audit.coverage[name] for name in said.get("requirements", (SERVERS,))}
    return [f"{name} passed {one.counts[Outcome.PASSED]}, excused {one.excused}" for name, one in of.items()]


def test_occurrences_are_counted_for_each_requirement() -> None:
    passes = {"outcome": Outcome.PASSED, "call": None, "count": 3}
    doubts = {"outcome": Outcome.INCONCLUSIVE, "count": 2, "requirements": (SERVERS, OTHERS)}
    audit = audited({"count": 4, "requirements": (SERVERS, CLIENTS, "PCQ-5.1-R01")}, passes, doubts)
    assert len(list(audit.findings())) == 1
    first = audit.coverage[SERVERS]
    assert dict(first.counts) == {FAILED: 4, Outcome.PASSED: 3, Outcome.INCONCLUSIVE: 1}
    assert (dict(first.reasons), first.occurrences, first.rules) == ({"m": 1}, 7, ("PCQ999",))
    assert audit.coverage[CLIENTS].counts == {FAILED: 4}
    assert audit.coverage[OTHERS].counts == {Outcome.INCONCLUSIVE: 1}
    assert "PCQ-5.1-R01" not in audit.coverage


@TABLES.of(*Actor)
def of_one_side_only_what_binds_it_is_reported(actor):
    """A violation of which nobody knows whose it is belongs to both."""
    audit = audited({}, {"requirements": (CLIENTS,)}, {"actor": Actor.EITHER}, actor=actor)
    return [f"{len(list(audit.findings()))} findings", *audit.coverage]


BOTH = next(one.id for one in catalogue().values() if one.actor == "both")


@TABLES.of(
    *((SERVERS, "request"), (CLIENTS, None), (BOTH, None)),
    *((BOTH, side) for side in ("request", "response")),
    (BOTH, "response", Actor.EITHER),
)
def a_side_is_that_of_the_requirement_or_of_the_bytes(requirement, side, actor=None):
    return actor_of(Judgement(FAILED, (requirement,), at=At(side) if side else None, actor=actor)).value


def test_a_baseline_accepts_what_it_names() -> None:
    entry = Accepted("PCQ999", SERVERS, "PerflibV2OpenQueryHandle", "response", "5")
    whatever, another = entry.whatever_seen, Accepted("PCQ998", SERVERS, None, None, None)
    said = {"at": At("response"), "seen": "5"}
    for baseline, accepted, unmatched in (
        ((entry,), 1, ()),
        ((whatever,), 1, ()),
        ((another,), 0, (another.words,)),
        ((), 0, ()),
    ):
        audit = audited(said, {**said, "seen": "6", "outcome": Outcome.PASSED}, baseline=baseline)
        assert len(list(audit.findings())) == 1 - accepted
        assert (audit.accepted, audit.unmatched) == (accepted, unmatched)
        assert audit.coverage[SERVERS].accepted == accepted
        assert audit.found == ({} if accepted else {FAILED: 1})
    # What is excused needs no entry.
    audit = audited({**said, "deviation": "known"}, baseline=(entry,))
    assert (len(list(audit.findings())), audit.accepted) == (1, 0)


def test_the_share_that_was_judged_is_of_what_can_be() -> None:
    testable = [one for one in (SERVERS, OTHERS, CLIENTS, EXCLUDED) if catalogue()[one].observable != "no"]
    audit = audited({}, {"requirements": (OTHERS,), "outcome": Outcome.INCONCLUSIVE})
    assert audit.share_judged == 0
    list(audit.findings())
    assert audit.share_judged == 1 / len(testable)
    audit.coverage.clear()
    assert audit.share_judged == 1.0


def test_calls_that_are_alike_are_counted_all() -> None:
    """The rule is asked once; more than so many plans are settled in between."""
    make = Calls()
    polls = analysis_of(make.open_query(), *(make.close_query() for _ in range(5)))
    audit = audited({"outcome": Outcome.PASSED, "call": None, "count": 2}, {}, analysis=polls)
    assert [finding.call for finding in audit.findings()] == [1, 2, 3, 4, 5, 6]
    assert audit.coverage[SERVERS].counts == {Outcome.PASSED: 12, FAILED: 6}


@TABLES.of(
    *(
        {},
        {"inconclusive": 1},
        {"inconclusive": 1, "pass": 1},
        {"pass": 9, "warn": 1},
        {"pass": 9, "warn": 1, "fail": 1},
    ),
    {"observable": False, "fail": 1},
)
def the_worst_that_was_seen_is_the_verdict(observable=True, **counts):
    coverage = Coverage(next(one for one in catalogue().values() if (one.observable != "no") is observable))
    coverage.counts.update({Outcome(name): count for name, count in counts.items()})
    return coverage.verdict


def test_so_many_reasons_are_kept_and_all_are_counted() -> None:
    """Five different sentences say why; more would say it no better."""
    coverage = Coverage(catalogue()[SERVERS])
    for number in range(7):
        coverage.doubt(f"reason {number}", 2)
    coverage.doubt("reason 4", 1)
    assert _MOST_REASONS == 5
    assert dict(coverage.reasons) == {f"reason {number}": 2 + (number == 4) for number in range(5)}
    assert coverage.counts[Outcome.INCONCLUSIVE] == 15


# ------------------------------------------------------------------------------------------------ selections


def codes(*chosen: str, ignored: tuple[str, ...] = ()) -> set[str]:
    return {rule.code for rule in select_rules(every_rule(), chosen, ignored)}


def test_rules_are_chosen_by_code_name_layer_section_or_requirement() -> None:
    every = {rule.code: rule for rule in every_rule()}
    assert codes() == set(every)
    assert codes("pcq10") == {code for code in every if code.startswith("PCQ10")}
    assert codes("request-below-privacy") == {"PCQ101"}
    for rule in every.values():
        # A name that a rule had before still selects it, and no other.
        assert all(codes(name) == {rule.code} for name in (rule.name, *rule.formerly))
    assert codes("features-taken-for-a-context") == {"PCQ115"}
    assert codes("Stubs") == {code for code, rule in every.items() if rule.level is Level.STUBS}
    of_section = {
        code
        for code, rule in every.items()
        if any(catalogue()[one].section.startswith("2.2.4.7") for one in rule.requirements)
    }
    assert "PCQ501" in codes("2.2.4.7") <= of_section
    # A section has those below it, and no other that begins with the same digits.
    assert codes("2.2.4") > codes("2.2.4.7")
    assert codes("2.2.4.1").isdisjoint(codes("2.2.4.10") - codes("2.2.4.1"))
    assert "PCQ501" in codes(SERVERS.lower())
    assert codes("must") == {
        code for code, rule in every.items() if any(catalogue()[one].level == "MUST" for one in rule.requirements)
    }
    assert codes("PCQ1", ignored=("PCQ101",)) == codes("PCQ1") - {"PCQ101"}
    assert codes(ignored=("PCQ1", "stubs")) == set(every) - codes("PCQ1") - codes("stubs")


@TABLES.of((("PCQ9999",), ()), ((), ("nothing",)), (("2.2.4.",), ()), (("PCQ101",), ("PCQ1",)))
def a_selection_that_names_nothing_is_a_sentence(chosen, ignored):
    with pytest.raises(InputError) as raised:
        select_rules(every_rule(), chosen, ignored)
    return str(raised.value)


# ------------------------------------------------------------------------------------------------ knowledge


def known(*events: Any) -> Knowledge:
    analysis = analysis_of(*events)
    return Knowledge(enumerate(analysis.calls, 1))


def test_a_list_nearest_in_time_is_within_a_minute() -> None:
    knowledge = known()
    lists = [InstanceList(number, at * 1_000_000_000, (), ()) for number, at in ((1, 100), (2, 200))]
    knowledge._instances["s", "g"] = lists
    found = {at: knowledge.instances_about("s", "g", at * 1_000_000_000) for at in (39, 40, 149, 151, 260, 261)}
    assert {at: one.call if one is not None else None for at, one in found.items()} == {
        39: None,
        40: 1,
        149: 1,
        151: 2,
        260: 2,
        261: None,
    }
    assert knowledge.instances_about("s", "other", 100) is None
    assert knowledge.instances("s", "g") == lists


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 9))
def test_the_nearest_list_is_the_first_of_those_that_are_nearest(times: list[int], asked: int) -> None:
    knowledge = known()
    lists = [InstanceList(number, at, (), ()) for number, at in enumerate(times, 1)]
    knowledge._instances["s", "g"] = lists
    assert knowledge.instances_about("s", "g", asked) == min(
        lists, key=lambda one: abs(one.time_ns - asked), default=None
    )


def test_what_a_server_listed_is_known() -> None:
    make = Calls()
    guids = make.stub().uuid(COUNTERSET).data
    listed = known(make.enumerate_sets(guids))
    assert listed.lists_counterset("10.0.0.1", COUNTERSET) is True
    assert listed.lists_counterset("10.0.0.1", COUNTERSET[::-1]) is False
    assert listed.lists_counterset("10.0.0.2", COUNTERSET) is None
    # What does not decode states nothing, and neither does what others may have changed.
    assert known(make.enumerate_sets(guids[:-1])).lists_counterset("10.0.0.1", COUNTERSET) is None
    assert known(altered(make.enumerate_sets(guids))).lists_counterset("10.0.0.1", COUNTERSET) is None


@pytest.mark.parametrize("kind", ["altered", "sealed", "unanswered", "refused"])
def test_a_server_may_have_listed_more_than_was_read(kind: str) -> None:
    """What is not in the lists that were read may be in another one; what is in them was listed."""
    make = Calls()
    guids = make.stub().uuid(COUNTERSET).data
    whole, other = make.enumerate_sets(guids), make.enumerate_sets(guids)
    match kind:
        case "altered":
            other = altered(other)
        case "sealed":
            other = sealed(other)
        case "unanswered":
            other = unanswered(other)
        case "refused":
            other = make.exchange(0, make.stub().string("M").uint(256), make.sized(b"", 5, element=16, room=256))
    found = known(whole, other)
    assert found.lists_counterset("10.0.0.1", COUNTERSET) is True
    assert found.lists_counterset("10.0.0.1", COUNTERSET[::-1]) is (False if kind == "refused" else None)


@pytest.mark.parametrize(
    ("change", "ids"), [(None, {7}), ("altered", None), ("sealed", None), ("unanswered", None), ("other", {7})]
)
def test_instances_that_were_not_read_leave_the_ids_unknown(change: str | None, ids: set[int] | None) -> None:
    make = Calls()

    def listed(counterset: str) -> Exchange:
        question = make.stub().string("M").uuid(counterset).uint(4096)
        data = instance_header("a", 7) + bytes(change == "damaged")
        return make.exchange(2, question, make.sized(data, room=4096))

    again = listed(OTHER_COUNTERSET if change == "other" else COUNTERSET)
    if change in ("other", "unanswered"):
        again = unanswered(again)
    elif change in ("altered", "sealed"):
        again = altered(again) if change == "altered" else sealed(again)
    whole = listed(COUNTERSET)
    found = known(whole, again).instance_ids("10.0.0.1", COUNTERSET)
    assert found == (ids if ids is None else frozenset(ids))


def test_a_counter_added_twice_may_be_held_twice() -> None:
    make = Calls()
    one, other = identifier(COUNTERSET), identifier(COUNTERSET, counter=2)
    refused = identifier(COUNTERSET, status=5)
    calls = [
        make.open_query(),
        make.validate(one),
        make.validate(other),
        make.validate(one, refused),
        make.validate(one),
    ]
    knowledge = known(*calls, make.validate(one))
    handle = analysis_of(*calls).calls[1].query
    doubled = [number for number in range(1, 9) if knowledge.is_doubled(handle.number, number)]
    assert doubled == [6, 7, 8]
    assert not knowledge.is_doubled(handle.number + 1, 9)
    # What was removed in between is not there twice.
    make = Calls()
    apart = [make.open_query(), make.validate(one), make.validate(one, add=0), make.validate(one)]
    assert not known(*apart).is_doubled(handle.number, 9)


def test_verdicts_in_short() -> None:
    assert passed(SERVERS) == Judgement(Outcome.PASSED, (SERVERS,))
    assert passed(SERVERS, count=5).count == 5
    assert inconclusive("why", None, SERVERS) == Judgement(Outcome.INCONCLUSIVE, (SERVERS,), message="why")


@TABLES.of(
    *([("g", counter, 0, name)] for counter, name in ((1, "a"), (NONE_ID, "a"), (1, "*"))),
    *([("g", 1, 0, "b*"), ("h", 1, NONE_ID, "")], []),
)
def all_counters_and_all_instances_are_wildcards(held):
    """[MS-PCQ] 2.2.4.6: PERF_WILDCARD_COUNTER is 0xFFFFFFFF, PERF_WILDCARD_INSTANCE is `*`."""
    covering = _Covering(held)
    return [f"of {sorted(covering.countersets)}", f"wildcards of {sorted(covering.wildcards)}"]


def asked(guid, counter, name):
    key = (guid, counter, 0, name)
    return SimpleNamespace(counterset=guid, name=name, asks_all_counters=counter == NONE_ID, key=key)


COVERING = _Covering([("g", NONE_ID, 0, ""), ("h", 5, 0, "b")])
ADDED = SimpleNamespace(asked={"dwAdd": 1})


# Of g a wildcard is held, of h another counter, of i nothing.
@TABLES.of(
    *(("g", 1, "a"), ("h", 1, "a"), ("h", NONE_ID, "a"), ("h", 1, "*"), ("h", 1, None), ("i", NONE_ID, "*")),
)
def what_a_query_may_hold_under_another_name(*block):
    one = asked(*block)
    found = set()
    for has, added, is_held in ((None, set(), False), (frozenset({one.key}), set(), True), (None, {one.key}, True)):
        case = _StatusCase(ADDED, one, 0, None, has, added, COVERING)
        assert (case.is_held, case.adds, case.unknown) == (is_held, True, NO_HANDLE)
        found.add(case.may_be_held_otherwise)
    return list(found)


@TABLES.of({"dwAdd": 0}, {}, {"dwAdd": 5})
def what_adds(**given):
    return _StatusCase(SimpleNamespace(asked=given), asked("g", 1, "a"), 0, None, None, set(), COVERING).adds


@TABLES.of(None, "a reason")
def why_it_is_not_known_what_a_query_holds(unknown):
    return _StatusCase(ADDED, asked("g", 1, "a"), 0, SimpleNamespace(unknown=unknown), None, set(), COVERING).unknown


test_what_becomes_of_a_judgement_is_as_was_read_through = held(__file__, TABLES)
