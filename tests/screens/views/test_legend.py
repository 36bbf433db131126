"""Short names of who talks to whom: how they are made, kept apart and counted; and which calls are runs."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.results import perflib
from analyzer.results import winreg as winreg_facts
from analyzer.results.call import Call
from analyzer.results.call_table import CallTable, OrderedCalls
from analyzer.results.record import Endpoint
from analyzer.screens.views import timeline_text
from analyzer.screens.views.call_runs import _FEWEST, find_runs
from analyzer.screens.views.timeline_text import _MOST_CHARACTERS, _SHOWN_PAIRS, Legend, _short
from tests.build.buffers import identifier, perf_data, winperf
from tests.build.calls import COUNTERSET, Calls, analysis_of, winreg


def call(
    user: str | None = "LAB\\perfmon",
    client: str = "10.0.0.2",
    server: str = "10.0.0.1",
    *,
    port: int = 49152,
    service: int = 445,
    workstation: str | None = None,
    anonymous: bool = False,
) -> Any:
    auth = SimpleNamespace(user=user, claimed_user=None, later_user=None, workstation=workstation, anonymous=anonymous)
    return SimpleNamespace(auth=auth, client=Endpoint(client, port), server=Endpoint(server, service))


def made(calls: Sequence[Any], names: dict[str, tuple[str, ...]] | None = None) -> tuple[Legend, list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_text, "machine_names", lambda analysis: names or {})
        held = SimpleNamespace(contexts_of=lambda numbers: [(calls[number - 1], 1) for number in numbers])
        found = Legend(SimpleNamespace(calls=held), range(1, len(calls) + 1))  # type: ignore[arg-type]
    return found, list(found.lines())


def test_names_are_short_and_pairs_a_dozen() -> None:
    assert (_MOST_CHARACTERS, _SHOWN_PAIRS) == (24, 12)


@pytest.mark.parametrize(
    ("one", "label"),
    [
        (call(), "perfmon@10.0.0.2 → srv1"),
        (call("bob@LAB.TEST"), "bob@10.0.0.2 → srv1"),
        (call("A\\B\\bob"), "bob@10.0.0.2 → srv1"),
        (call(None), "10.0.0.2 → srv1"),
        (call(""), "10.0.0.2 → srv1"),
        (call(None, anonymous=True), "anonymous@10.0.0.2 → srv1"),
        (call("LAB\\bob", anonymous=True), "anonymous@10.0.0.2 → srv1"),
        (call(workstation="WS 1.lab.test"), "perfmon@WS_1 → srv1"),
        (call(client="10.0.0.1"), "perfmon@srv1 → srv1"),
        (call(workstation="WS1", client="10.0.0.1"), "perfmon@WS1 → srv1"),
        (call(server="10.0.0.9"), "perfmon@10.0.0.2 → 10.0.0.9"),
        (call(" . "), "?@10.0.0.2 → srv1"),
    ],
)
def test_a_name_is_made_of_what_the_traffic_states(one: Any, label: str) -> None:
    found, _ = made([one], {"10.0.0.1": ("srv1.lab.test", "other")})
    assert found.label(one) == label
    assert len(found) == 1


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (None, "else"),
        ("", "else"),
        ("srv1.lab.test", "srv1"),
        (".lab", "else"),
        ("10.0.0.1", "10.0.0.1"),
        ("12", "12"),
        ("two words", "two_words"),
        ("a" * 24, "a" * 24),
        ("a" * 25, "a" * 24),
    ],
)
def test_a_name_is_one_word(name: str | None, word: str) -> None:
    assert _short(name, "else") == word


def test_pairs_of_one_name_are_numbered() -> None:
    calls = [call("A\\bob"), call("B\\bob"), call("C\\bob"), call("A\\bob")]
    found, lines = made(calls)
    assert [found.label(one) for one in calls] == [
        "bob@10.0.0.2 → 10.0.0.1",
        "bob@10.0.0.2 → 10.0.0.1#2",
        "bob@10.0.0.2 → 10.0.0.1#3",
        "bob@10.0.0.2 → 10.0.0.1",
    ]
    assert lines == [
        "bob@10.0.0.2 → 10.0.0.1: A\\bob at 10.0.0.2:49152 → 10.0.0.1:445, 2 calls",
        "bob@10.0.0.2 → 10.0.0.1#2: B\\bob at 10.0.0.2:49152 → 10.0.0.1:445, 1 call",
        "bob@10.0.0.2 → 10.0.0.1#3: C\\bob at 10.0.0.2:49152 → 10.0.0.1:445, 1 call",
    ]


@pytest.mark.parametrize(
    ("calls", "ends"),
    [
        ([call(), call()], "10.0.0.2:49152 → 10.0.0.1:445, 2 calls"),
        # Of several ports none is named.
        ([call(), call(port=5)], "10.0.0.2 → 10.0.0.1:445, 2 calls"),
        ([call(), call(port=5), call(port=6)], "10.0.0.2 → 10.0.0.1:445, 3 calls"),
        ([call(), call(service=139)], "10.0.0.2:49152 → 10.0.0.1, 2 calls"),
        ([call(), call(service=139), call(service=135)], "10.0.0.2:49152 → 10.0.0.1, 3 calls"),
        ([call(port=at) for at in range(1200)], "10.0.0.2 → 10.0.0.1:445, 1,200 calls"),
    ],
)
def test_ports_are_named_where_there_is_one(calls: list[Any], ends: str) -> None:
    _, lines = made(calls)
    assert lines == [f"perfmon@10.0.0.2 → 10.0.0.1: LAB\\perfmon at {ends}"]


def test_a_workstation_is_named_and_nobody_is_unknown() -> None:
    assert made([call(None, workstation="WS1")])[1] == [
        "WS1 → 10.0.0.1: unknown user on WS1 at 10.0.0.2:49152 → 10.0.0.1:445, 1 call"
    ]


@pytest.mark.parametrize(
    ("pairs", "last"),
    [
        (12, "u11@10.0.0.2 → 10.0.0.1: u11 at 10.0.0.2:49152 → 10.0.0.1:445, 1 call"),
        (13, "and 1 more: pcq-analyzer stats shows who called"),
        (1300, "and 1,288 more: pcq-analyzer stats shows who called"),
    ],
)
def test_so_many_pairs_are_listed(pairs: int, last: str) -> None:
    found, lines = made([call(f"u{number}") for number in range(pairs)])
    assert len(found) == pairs
    assert lines[-1] == last
    assert len(lines) == min(pairs, 13)


# ------------------------------------------------------------------------------------------------ runs


PLAIN = replace(
    analysis_of(Calls("a" * 8 + "-0000" * 3 + "-" + "0" * 12).exchange(6, b"", b"")).calls[0], key_number=None
)


def runs(*calls: Call, first: int = 1) -> dict[int, Any]:
    """The runs of calls whose first has this number."""
    table = CallTable()
    order = [table.append(call) for call in [PLAIN] * (first - 1) + list(calls)]
    whole: Any = SimpleNamespace(calls=OrderedCalls(table, order))
    return find_runs(whole, range(first, len(order) + 1))


def plain(*, time_ns: int = 0, uuid: str = "a", **facts: Any) -> Call:
    """A call of an interface that is not decoded."""
    assert PLAIN.request is not None
    request = replace(PLAIN.request, first_time_ns=time_ns)
    return replace(PLAIN, interface=replace(PLAIN.interface, uuid=uuid, name=None), request=request, **facts)


@pytest.mark.parametrize(
    "other",
    [
        plain(uuid="b"),
        plain(opnum=7),
        plain(method="Name"),
        plain(status=5),
        plain(fault=5),
        plain(state="sealed"),
        plain(uuid=perflib.INTERFACE),
        plain(uuid=winreg_facts.INTERFACE),
    ],
)
def test_a_run_is_three_calls_that_say_the_same(other: Call) -> None:
    assert _FEWEST == 3
    same = [plain(time_ns=at) for at in range(3)]
    (run,) = runs(*same, first=5).values()
    assert (list(run.numbers), list(run.times), run.is_polls) == ([5, 6, 7], [0, 1, 2], False)
    assert runs(*same[:2]) == {}
    assert runs(*same[:2], other, *same[:2]) == {}
    found = runs(*same, other, *same, same[0], first=5)
    assert {first: list(run.numbers) for first, run in found.items()} == {5: [5, 6, 7], 9: [9, 10, 11, 12]}


def test_polls_of_a_handle_are_a_run_and_those_of_values_where_the_value_is_the_same() -> None:
    make, keys, block = Calls(), winreg(), winperf([])
    ids = identifier(COUNTERSET, counter=1)
    queried = analysis_of(make.open_query(), make.validate(ids), *[make.counter_data(perf_data([])) for _ in range(4)])
    assert {first: len(run.numbers) for first, run in find_runs(queried, range(1, 7)).items()} == {3: 4}
    opened = keys.open_key()
    read = [keys.query_value(name, block) for name in ("238", "238", "238", "6", "6")]
    valued = analysis_of(opened, *read)
    assert {first: (len(run.numbers), run.is_polls) for first, run in find_runs(valued, range(1, 7)).items()} == {
        2: (3, True)
    }


def test_runs_of_several_channels_and_handles_interleave() -> None:
    made = [plain(channel=at % 2, key_number=at // 2 % 2, time_ns=at) for at in range(12)]
    found = runs(*made)
    assert {first: list(run.numbers) for first, run in found.items()} == {
        1: [1, 5, 9],
        2: [2, 6, 10],
        3: [3, 7, 11],
        4: [4, 8, 12],
    }
    assert list(found[4].times) == [3, 7, 11]
