"""How many processes are kept, and what a damaged instance shows; `test_who_looked_at_what.py` has who saw which."""

import pytest

from analyzer.questions.statistics import process_sightings as module
from tests.build.buffers import Counter, Instance, PerfObject, identifier, winperf
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, winreg
from tests.questions.statistics.test_who_looked_at_what import ANY, RAW, look, polling_all, process_set, processes


def test_a_server_with_processes_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_IMAGES", 2)
    make = Calls()
    found = look(
        *process_set(make),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=ANY, instance=ANY, name="*")),
        make.counter_data(processes(*((f"p{number}", number, number) for number in range(5)))),
    )
    assert (len(found.images), found.forgotten_images) == (2, 3)
    assert OTHER_COUNTERSET not in {one.target for one in found.activities}


def test_as_many_processes_as_there_is_room_for_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_IMAGES", 3)
    make = Calls()
    found = look(*polling_all(make), make.counter_data(processes(("a", 1, 1), ("b", 2, 2), ("c", 3, 3))))
    assert (len(found.images), found.forgotten_images) == (3, 0)


def test_an_instance_that_is_cut_before_its_process_id_has_none() -> None:
    counters = (Counter(6, RAW, 4), Counter(784, RAW, 4))
    whole = winperf([PerfObject(230, counters, tuple(Instance(name, -1, (0, 0), (7, 30)) for name in ("a", "b")))])
    for cut in range(1, 40):
        make = winreg()
        found = look(make.open_key(), make.query_value("230", whole[:-cut]))
        processes_found = [(one.key[3], one.pid) for one in found.images]
        assert processes_found[:1] == [("a", 30)]
        assert [pid for name, pid in processes_found if name == "b"] in ([], [None], [30])
