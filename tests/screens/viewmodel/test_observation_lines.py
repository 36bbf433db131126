"""What every display shows of an account first: each number of it is a sum over observations."""

from itertools import pairwise
from typing import get_args

import pytest

from analyzer.questions.observations.observation_making import Scene
from analyzer.questions.observations.observations import observations
from analyzer.results.calls.call import CallOutcome
from analyzer.results.records.observation import SEVERITIES, Observation, ObservationKind
from analyzer.screens.viewmodel.overview import _WORDS, account_lines, overview_of
from tests.analyses import analysis_of_file
from tests.records import record_of
from tests.truth import Capture, handful


def test_every_kind_has_words() -> None:
    assert set(_WORDS) == set(get_args(ObservationKind))


def test_what_no_answer_shows_to_be_done_was_tried_or_asked_for() -> None:
    """A refused creation of a service created none, and one without an answer may have."""
    facts = {"kind": "service", "count": 1, "objects": ("a",)}

    def words(*endings: tuple[CallOutcome, str | None]) -> str:
        made = (record_of(Observation, **facts, outcome=outcome, reason=reason) for outcome, reason in endings)
        return account_lines(made)[0].words

    assert words(("answered", None)) == "service created: a; 1 call"
    assert words(("refused", "denied")) == "tried to create a service: a; 1 call, 1 refused"
    assert words(("answered", "not decoded")) == "asked to create a service: a; 1 call"
    assert words(("asked", "none")) == "asked to create a service: a; 1 call, 1 without an answer"
    assert words(("answered", None), ("asked", "none")) == "service created: a; 2 calls, 1 without an answer"


@pytest.mark.parametrize("capture", handful(), ids=lambda capture: capture.file)
def test_the_lines_of_an_account_are_sums_over_its_observations(capture: Capture) -> None:
    analysis = analysis_of_file(capture.file)
    scene = Scene(analysis)
    found = observations(scene, capture.file)
    lines = account_lines(found)
    assert sum(line.observations for line in lines) == len(found)
    assert {kind: sum(one.count for one in found if one.kind == kind) for kind in {one.kind for one in found}} == {
        kind: sum(line.count for line in lines if line.kind == kind) for kind in {line.kind for line in lines}
    }
    # One line for each machine and kind, the machines together and the gravest line of each first.
    assert len({(line.machine, line.kind) for line in lines}) == len(lines)
    machines = [line.machine for line in lines]
    assert len(dict.fromkeys(machines)) == 1 + sum(one != other for one, other in pairwise(machines))
    for machine in dict.fromkeys(machines):
        ranks = [SEVERITIES.index(line.severity) for line in lines if line.machine == machine]
        assert ranks == sorted(ranks)
    # The page shows the very same, and the processes that the answers show.
    page = overview_of(analysis)
    assert page.account == lines
    assert [(one.name, one.pid) for one in page.processes] == [(one.name, one.pid) for one in scene.processes]
