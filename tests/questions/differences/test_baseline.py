"""A baseline and what is new, and two moments of a capture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.questions.differences.baseline import NewThings, read_usual, usual_json
from analyzer.questions.differences.difference_records import Differences
from analyzer.questions.differences.state_at_moment import at_moment
from analyzer.results.record_types import Endpoint
from analyzer.results.security import Identity
from analyzer.transport.rpc.exchange import Exchange
from tests.build.calls import MS, analysis_of, sealed
from tests.questions.differences.script import everything, perflib, polled, registry, services, told
from tests.questions.differences.test_changes import of_server, with_identity


def new(path: Path, before: Sequence[Exchange], after: Sequence[Exchange]) -> NewThings:
    path.write_bytes(usual_json(analysis_of(*before))[0])
    return NewThings(read_usual(path), str(path), analysis_of(*after))


def lines(found: NewThings) -> list[str]:
    return [f"{one.about} {one.name}: {one.text}" for one in found.found]


def test_nothing_is_new_of_what_the_baseline_was_made_of(tmp_path: Path) -> None:
    found = new(tmp_path / "x", everything(), everything())
    assert (lines(found), found.summary.outcome) == ([], "equal")


def test_less_than_usual_is_nothing_new(tmp_path: Path) -> None:
    assert lines(new(tmp_path / "x", everything(), perflib(("System",)))) == []


def test_a_new_process_is_told_and_another_of_a_usual_name_is_not(tmp_path: Path) -> None:
    found = new(tmp_path / "x", perflib(), perflib(("System", "lsass", "calc", "System")))
    assert lines(found) == ["process calc (pid 102): not in the baseline"]
    assert found.found[0].b is not None
    assert found.summary.text == "1 thing that is not usual"


def test_a_new_account_is_told_and_a_new_place_it_asks_from(tmp_path: Path) -> None:
    alice = Identity("ntlm", "alice", "LAB", granted="account")
    found = new(tmp_path / "x", everything(), [*perflib(), *with_identity(registry(), alice), *services()])
    assert lines(found) == ["account LAB\\alice: not in the baseline"]
    moved = [replace(one, channel=replace(one.channel, number=9, client=Endpoint("10.1.1.1", 9))) for one in perflib()]
    found = new(tmp_path / "x", everything(), [*everything(), *moved])
    assert lines(found) == [
        "machine 10.1.1.1: not in the baseline",
        "account unknown user: from: 10.1.1.1: not in the baseline",
    ]


def test_a_new_program_of_a_service_is_told(tmp_path: Path) -> None:
    found = new(tmp_path / "x", everything(), [*perflib(), *registry(), *services("C:\\y.exe")])
    assert lines(found) == ["service FAX: runs: C:\\y.exe: not in the baseline"]


def test_a_machine_is_known_by_its_name_at_another_address(tmp_path: Path) -> None:
    assert lines(new(tmp_path / "x", everything(), of_server(everything(), "10.9.9.9"))) == []


def test_sealed_calls_say_nothing_of_what_is_new(tmp_path: Path) -> None:
    found = new(tmp_path / "x", everything(), [*perflib()[:12], *map(sealed, perflib()[12:])])
    assert (found.summary.outcome, [one.why for one in found.uncompared]) == ("incomplete", ["sealed"])


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '{"schema": 2, "made_of": [], "machines": [], "usual": []}', "[" * 100_000, "\udcff"],
    ids=["nothing", "empty", "list", "later", "deep", "bytes"],
)
def test_what_is_no_baseline_is_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match="baseline"):
        read_usual(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_usual(tmp_path / "none.json")


def test_a_baseline_is_text_that_can_be_edited(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    document = json.loads(usual_json(analysis_of(*perflib()))[0])
    document["usual"] = [one for one in document["usual"] if one["name"] != "lsass (pid 101)"]
    path.write_text(json.dumps(document))
    found = NewThings(read_usual(path), "x.json", analysis_of(*perflib()))
    assert lines(found) == ["process lsass (pid 101): not in the baseline"]


def moments(exchanges: Sequence[Exchange], first: int, second: int) -> Differences:
    whole = analysis_of(*exchanges)
    then, later = at_moment(whole, first * MS, "then"), at_moment(whole, second * MS, "later")
    return Differences(then.analysis, later.analysis, running=(then.processes, later.processes))


def test_a_moment_has_the_last_answer_to_each_question() -> None:
    """Of three polls by the same handle, the last that was sent by then."""
    whole = analysis_of(*perflib())
    polls = [number for number, call in enumerate(whole.calls, 1) if call.opnum == 6]
    for number in polls:
        part = at_moment(whole, whole.calls[number - 1].time_ns, "then").analysis
        assert [one for one in part.shown.numbers if one in polls] == [number]


def test_what_started_and_ended_between_two_moments_is_told() -> None:
    calls = perflib()
    poll, later = calls[13], perflib()[14]
    other = perflib(("System", "calc"))[14]
    found = moments([*calls[:13], poll, other], 28, 30)
    assert [line for line in told(found) if line.startswith("process")] == [
        "process only-a lsass (pid 101)",
        "process only-b calc (pid 101)",
    ]
    assert moments([*calls[:13], poll, later], 28, 30).summary.outcome == "equal"
    assert polled("System") != polled("System", first=8)


def test_what_was_asked_since_is_told() -> None:
    found = moments(everything(), 31, 10_000)
    assert {one.kind for one in found.found if one.about != "account"} == {"only-b"}
    (account,) = (one for one in found.found if one.about == "account")
    assert account.text == "asks: PerflibV2 in A, PerflibV2, svcctl, winreg in B"
