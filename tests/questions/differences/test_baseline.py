"""A baseline and what is new, and two moments of a capture."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.questions.differences.baseline import NewThings, read_usual, usual_json
from analyzer.questions.differences.difference_records import Differences
from analyzer.questions.differences.state_at_moment import at_moment
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Identity
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import MS, analysis_of, sealed
from tests.questions.differences.script import everything, perflib, polled, registry, services, told
from tests.questions.differences.test_changes import of_server, with_identity
from tests.written import Outcomes


def lines(found: NewThings) -> list[str]:
    return [f"{one.about} {one.name}: {one.text}" for one in found.found]


ALICE = Identity("ntlm", "alice", "LAB", granted="account")
MOVED = [replace(one, channel=replace(one.channel, number=9, client=Endpoint("10.1.1.1", 9))) for one in perflib()]
# What is usual, and what is seen then.
CASES = {
    "what the baseline was made of": (everything(), everything()),
    "less than usual": (everything(), perflib(("System",))),
    "a process, and another one of a usual name": (perflib(), perflib(("System", "lsass", "calc", "System"))),
    "an account": (everything(), [*perflib(), *with_identity(registry(), ALICE), *services()]),
    "a place that an account asks from": (everything(), [*everything(), *MOVED]),
    "a program of a service": (everything(), [*perflib(), *registry(), *services("C:\\y.exe")]),
    "a machine of a usual name at another address": (everything(), of_server(everything(), "10.9.9.9")),
    "sealed calls": (everything(), [*perflib()[:12], *map(sealed, perflib()[12:])]),
}


def said(case: tuple[Sequence[Exchange], Sequence[Exchange]]) -> Iterator[str]:
    """The outcome, then each new thing, and what could not be compared."""
    before, after = case
    with TemporaryDirectory() as folder:
        path = Path(folder) / "baseline.json"
        path.write_bytes(usual_json(analysis_of(*before))[0])
        found = NewThings(read_usual(path), "baseline.json", analysis_of(*after))
    yield f"{found.summary.outcome}: {found.summary.text}"
    yield from (
        f"{line}{', with its record' * (one.b is not None)}"
        for line, one in zip(lines(found), found.found, strict=True)
    )
    yield from (f"not compared, {one.why}" for one in found.uncompared)


NEW = Outcomes(Path(__file__).with_name("baseline.txt"), CASES, said)


@pytest.mark.parametrize("name", CASES)
def test_what_is_new_beside_a_baseline_is_what_was_read_through(name: str) -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    NEW.holds(name)


def test_the_text_has_what_is_new() -> None:
    NEW.is_as_written()


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
