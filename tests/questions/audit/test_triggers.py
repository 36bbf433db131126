"""Every requirement has a trigger, and is judged only where that occurred: a conversation that provokes nothing proves nothing
about errors."""

import sys
from functools import cache

import pytest

from analyzer.core.events import Event
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.findings_and_coverage import JUDGED, Coverage
from analyzer.questions.audit.rule_registry import catalogue, every_rule
from analyzer.questions.audit.rule_verdicts import Deviation, Outcome
from tests.build.buffers import Block, identifier, perf_data, string_table, wide
from tests.build.calls import Calls, analysis_of
from tests.questions.audit.conversation import RAW, SINGLE, counter, full_conversation, positioned, record, registry

# What the conversation leaves out although a client could bring it about without provoking anything.
LEFT_OUT = {
    "PCQ-2.1-R06": "the model has no handshake that states what the client allows",
    "PCQ-3.1.1.5-R01": "nothing is asked twice",
    "PCQ-3.1.4.1.1-R15": "the countersets are listed once",
    "PCQ-3.1.4.1.2-R19": "RequestCode 4 is not asked",
    "PCQ-3.1.4.1.2-R21": "RequestCode 6 is not asked",
    "PCQ-3.1.4.1.2-R24": "RequestCode 9 is not asked",
    "PL-QCD-R11": "names of single-instance countersets are sent empty, as [MS-PCQ] has it",
}


@cache
def clean() -> dict[str, Coverage]:
    """The coverage of a conversation in which nothing is wrong and nothing is provoked."""
    audit = Audit(analysis_of(*full_conversation(), *registry()))
    assert not list(audit.findings())
    return audit.coverage


def test_a_requirement_has_a_trigger_unless_no_traffic_shows_it() -> None:
    for requirement in catalogue().values():
        testable = requirement.observable != "no"
        assert (requirement.trigger is not None) == (requirement.caused_by is not None) == testable, requirement.id
        assert testable or not requirement.provoked, requirement.id


def test_a_conversation_that_provokes_nothing_exercises_no_error_path() -> None:
    provoked = {name for name, requirement in catalogue().items() if requirement.provoked}
    assert len(provoked) == 56
    judged = {name for name, coverage in clean().items() if coverage.verdict in JUDGED}
    assert not judged & provoked
    # Those that were once taken for kept without their trigger.
    assert provoked >= {
        "PCQ-2.1-R05",
        "PCQ-2.2.1-R04",
        "PCQ-2.2.4.1-R13",
        "PCQ-3.1.4-R04",
        *(f"PCQ-3.1.4.1.2-R{number}" for number in (10, 11)),
        *(f"PCQ-3.1.4.1.3-R{number:02}" for number in (9, 10, 11, 12)),
        "PCQ-3.1.4.1.5-R10",
        "PCQ-3.1.4.1.6-R10",
    }


def test_it_exercises_all_that_a_client_brings_about_without_provoking_anything() -> None:
    usual = {
        name
        for name, requirement in catalogue().items()
        if requirement.caused_by == "client" and not requirement.provoked
    }
    assert usual - {name for name, coverage in clean().items() if coverage.verdict == "pass"} == set(LEFT_OUT)


def test_requirements_exclude_each_other_in_pairs() -> None:
    for requirement in catalogue().values():
        if requirement.excludes is not None:
            assert catalogue()[requirement.excludes].excludes == requirement.id


def test_of_requirements_that_exclude_each_other_at_most_one_passes() -> None:
    for name, coverage in clean().items():
        if coverage.requirement.excludes is not None:
            assert "not-exercised" in (coverage.verdict, clean()[coverage.requirement.excludes].verdict), name


def _info(*held: bytes) -> list[Event]:
    calls = Calls()
    known = calls.registration(1, record(SINGLE, 0, counter(1, RAW)), guid=SINGLE)
    return [known, calls.open_query(), calls.validate(b"".join(held)), calls.counter_info(positioned(held))]


def _table(*, from_start: bool, text: str = "one") -> list[Event]:
    calls = Calls()
    table = string_table([(1, text)], from_start=from_start)
    size = 16 + len(wide(text))
    data = size.to_bytes(4, "little") + table[4:size]
    known = calls.registration(1, record(SINGLE, 0, counter(1, RAW)), guid=SINGLE)
    return [known, calls.registration(10, data, guid=SINGLE)]


def _data() -> list[Event]:
    calls = Calls()
    block = Block(2, ids=(1,), values=(((5).to_bytes(4, "little"),),), padding="none")
    return [calls.open_query(), calls.counter_data(perf_data([block]))]


NAMELESS, NAMED = identifier(SINGLE, counter=1, name=None), identifier(SINGLE, counter=1, name="x")
# Requirements that contradict each other, and bytes on which they do: [MS-PCQ] against the SDK's header, or against itself.
CONTRADICTIONS = {
    "offsets from the start": ("PCQ-2.2.4.4-R02", "PL-QCD-R14", _table(from_start=True)),
    "offsets from the end of the headers": ("PCQ-2.2.4.4-R02", "PL-QCD-R14", _table(from_start=False)),
    "a single instance without a name": ("PCQ-3.1.4.1.7-R14", "PL-QCD-R11", _info(NAMELESS)),
    "a single instance with a name": ("PCQ-3.1.4.1.7-R14", "PL-QCD-R11", _info(NAMED)),
    "the same in what is listed": ("PCQ-3.1.4.1.5-R12", "PL-QCD-R11", _info(NAMELESS)),
    "a table without padding": ("PCQ-3.1.4.1.2-R35", "PCQ-2.2.4.3-R01", _table(from_start=True, text="four")),
    "ids without padding": ("PCQ-2.2.4-R02", "PCQ-2.2.4.11-R01", _data()),
    "the same in what is returned": ("PCQ-3.1.4.1-R03", "PCQ-2.2.4.11-R01", _data()),
}


def _kept(events: list[Event], profile: Profile, name: str) -> int:
    audit = Audit(analysis_of(*events), profile=profile)
    list(audit.findings())
    return audit.coverage[name].counts[Outcome.PASSED]


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_bytes_on_which_two_requirements_contradict_each_other_keep_one_of_them(case: str, profile: Profile) -> None:
    """Whatever a profile lets pass: what it excuses is not kept as well. What else the two are judged by is counted as ever."""
    first, second, events = CONTRADICTIONS[case]
    strictly = {name: _kept(events, Profile.SPEC, name) for name in (first, second)}
    assert strictly == {name: _kept(events, profile, name) for name in (first, second)}
    audit = Audit(analysis_of(*events))
    list(audit.findings())
    # The profile of Windows lets one of the two pass.
    assert audit.coverage[first].excused or audit.coverage[second].excused or 0 in strictly.values()
    if case not in ("ids without padding", "the same in what is returned", "a table without padding"):
        assert 0 in strictly.values()


def test_every_deviation_that_another_requirement_asks_for_is_among_them() -> None:
    pairs = {(first, second) for first, second, _ in CONTRADICTIONS.values()}
    excluding = {(one.id, one.excludes) for one in catalogue().values() if one.excludes is not None}
    assert {frozenset(pair) for pair in excluding} <= {frozenset(pair) for pair in pairs}
    found = set()
    for rule in every_rule():
        for look in rule.looks:
            module = sys.modules[look.check.__module__] if look.check is not None else object
            found |= {one.instead for one in vars(module).values() if isinstance(one, Deviation)}
    assert found - {None} == {"PCQ-2.2.4.11-R01", "PCQ-2.2.4.3-R01", "PL-QCD-R11"}
    assert found - {None} <= {second for _, second in pairs}
