"""Short names of who talks to whom: how they are made, kept apart and counted; and which calls are runs."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.results.calls.call import Call
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.methods import perflib
from analyzer.results.methods import winreg as winreg_facts
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.views import timeline_text
from analyzer.screens.views.text_report import _FEWEST, find_runs
from analyzer.screens.views.timeline_text import _MOST_CHARACTERS, _SHOWN_PAIRS, Legend, _short
from tests.build.buffers import identifier, perf_data, winperf
from tests.build.calls import COUNTERSET, Calls, analysis_of, winreg
from tests.written import is_as_written


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
        found = Legend(SimpleNamespace(calls=held), range(1, len(calls) + 1))
    return found, list(found.lines())


def test_names_are_short_and_pairs_a_dozen() -> None:
    assert (_MOST_CHARACTERS, _SHOWN_PAIRS) == (24, 12)


NAMES = {"10.0.0.1": ("srv1.lab.test", "other")}
BOBS = [call(f"{domain}\\bob") for domain in "ABCA"]
CALLS: dict[str, tuple[list[Any], dict[str, tuple[str, ...]] | None]] = {
    **{
        f"a user {user}": ([call(user)], NAMES)
        for user in ("LAB\\perfmon", "bob@LAB.TEST", "A\\B\\bob", None, "", " . ")
    },
    **{f"anonymous {user}": ([call(user, anonymous=True)], NAMES) for user in (None, "LAB\\bob")},
    "a workstation": ([call(workstation="WS 1.lab.test")], NAMES),
    "the server itself": ([call(client="10.0.0.1")], NAMES),
    "a workstation at the server": ([call(workstation="WS1", client="10.0.0.1")], NAMES),
    "a server without a name": ([call(server="10.0.0.9")], NAMES),
    "pairs of one name are numbered": (BOBS, None),
    # Of several ports none is named.
    **{f"from ports {ports}": ([call(port=at) for at in ports], None) for ports in ((1, 1), (1, 5), (1, 5, 6))},
    **{f"to ports {ports}": ([call(service=at) for at in ports], None) for ports in ((445, 139), (445, 139, 135))},
    "many ports": ([call(port=at) for at in range(1200)], None),
    "nobody": ([call(None, workstation="WS1")], None),
    **{f"{count} pairs": ([call(f"u{at}") for at in range(count)], None) for count in (12, 13, 1300)},
}


def told(name: str) -> str:
    calls, names = CALLS[name]
    found, lines = made(calls, names)
    labels = dict.fromkeys(found.label(one) for one in calls)
    return "\n  ".join([f"{name}: {len(found)} pairs", *(f"label {label}" for label in [*labels][:5]), *lines]) + "\n"


def test_all_legends_are_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    is_as_written(Path(__file__).parent / "texts" / "legends.txt", "".join(map(told, CALLS)))


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
