"""Every requirement has a trigger, and is judged only where that occurred: a conversation that provokes nothing proves nothing
about errors."""

from __future__ import annotations

from functools import cache

from analyzer.audit.catalogue import catalogue
from analyzer.audit.engine import Audit
from analyzer.audit.findings import JUDGED, Coverage
from tests.audit.conversation import full_conversation, registry
from tests.build.calls import analysis_of

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
