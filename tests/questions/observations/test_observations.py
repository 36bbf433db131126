"""What holds of every account, of kept and of public captures: all of it is shown by calls or frames, and counts once."""

import functools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from analyzer import analyze
from analyzer.core.errors import InputError
from analyzer.questions.observations.observation_making import Scene
from analyzer.questions.observations.observations import observations
from analyzer.questions.observations.triage_records import triage
from analyzer.results.records.observation import Observation
from tests.corpus import CORPUS
from tests.truth import handful

CAPTURES = [capture.path for capture in handful()]
NAMES = (
    sorted(
        str(path.relative_to(CORPUS)) for path in CORPUS.rglob("*") if path.name.endswith((".pcap", ".pcapng", ".gz"))
    )
    if Path() != CORPUS
    else []
)


@functools.cache
def account(path: Path) -> tuple[Scene, tuple[Observation, ...]]:
    secrets = path.with_suffix(".secrets.json")
    analysis = (analyze(path, secrets=secrets) if secrets.exists() else analyze(path)).analysis
    scene = Scene(analysis)
    return scene, observations(scene, path.name)


def check(scene: Scene, found: tuple[Observation, ...]) -> None:
    analysis = scene.analysis
    lost_without_a_trace = [one for one in analysis.problems if not one.frames]
    for one in found:
        assert one.call_numbers or one.frames or (one.kind == "losses" and lost_without_a_trace), one
        assert (one.count > 0, one.object_count >= len(one.objects), bool(one.text)) == (True, True, True)
    # None is there twice.
    same = Counter((one.kind, one.who, one.outcome, one.objects, one.detail) for one in found)
    assert not [key for key, count in same.items() if count > 1]
    # Every call that is none of performance is in one of them.
    others = [one for one in found if one.call_numbers and not _is_performance(scene, one)]
    assert not scene.left.any()
    assert sum(one.count for one in others) == int((~scene.performance).sum())
    # So is every file.
    files = {"program-written", "file-change", "file-read", "file-open"}
    assert sum(one.count for one in found if one.kind in files) == len(analysis.shown_files)
    # So is every logon that was refused, and every one that let an account in, or may have.
    outcomes = Counter(one.outcome for one in analysis.logons)
    assert sum(one.count for one in found if one.kind == "refused-logon") == outcomes["refused"]
    asked = outcomes["account"] + outcomes["unanswered"] + outcomes["undecided"]
    assert sum(one.count for one in found if one.kind == "logon") == asked


def _is_performance(scene: Scene, one: Observation) -> bool:
    return bool(scene.performance[np.searchsorted(scene.calls.numbers, one.call_numbers[0])])


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_an_account_of_a_kept_capture_adds_up(path: Path) -> None:
    check(*account(path))


@pytest.mark.corpus
def test_accounts_of_public_captures_add_up() -> None:
    for name in NAMES:
        try:
            check(*account(CORPUS / name))
        except InputError:
            continue


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_what_is_said_of_a_file_is_the_sum_of_its_account(path: Path) -> None:
    scene, found = account(path)
    file = triage(scene.analysis, path.name, None).file
    assert file.findings == dict(Counter(one.severity for one in found))
    sealed = scene.performance & scene.calls.is_one("state", "sealed")
    assert file.encrypted_calls == int(sealed.sum())
