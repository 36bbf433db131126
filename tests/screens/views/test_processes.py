"""Processes as text: what is left out where a terminal is narrow."""

import pytest

from analyzer.screens.views.processes import Processes
from tests.build.buffers import identifier
from tests.build.calls import COUNTERSET, Calls, altered, analysis_of, winreg
from tests.questions.processes.test_processes import CMD, PROCESS, STAYS, answer
from tests.questions.statistics.test_who_looked_at_what import ANY, process_set, processes

NAME = "a" * 40


def heads(width: int | None) -> list[str]:
    """The titles of the table at a width, of processes whose parent, start, processor time and memory nobody asked for."""
    make = Calls()
    query = identifier(COUNTERSET, counter=ANY, instance=ANY, name="*")
    answer = processes((NAME, 0, 4), ("System", 1, 8))
    events = [*process_set(make), make.open_query(), make.validate(query), make.counter_data(answer)]
    lines = list(Processes(analysis_of(*events)).lines(width))
    at = next(at for at, line in enumerate(lines) if line.split()[:1] == ["pid"])
    assert width is None or all(len(line) <= width for line in lines[at:])
    return lines[at].replace(" seen", "-seen").split()


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (None, "pid parent name started first-seen last-seen processor memory"),
        (200, "pid parent name started first-seen last-seen processor memory"),
        (120, "pid name started first-seen last-seen processor memory"),
        (100, "pid name first-seen last-seen memory"),
        (80, "pid name first-seen"),
        (60, "pid name"),
    ],
)
def test_columns_without_a_value_make_room_first(width: int | None, titles: str) -> None:
    assert heads(width) == titles.split()


def test_a_process_that_others_may_have_made_up_says_so() -> None:
    make, said = winreg(), "only answers that others may have changed show it"
    opened, true, other = (
        make.open_key(),
        *(make.query_value(str(PROCESS), answer(*one)) for one in ((STAYS,), (STAYS, CMD))),
    )
    lines = list(Processes(analysis_of(opened, true, altered(other))).lines(None))
    assert [line for line in lines if said in line] == [f"[yellow]  cmd: {said}[/]"]
    assert lines[-1] == "[yellow]1 answer may have been changed, because a signature does not fit: #3[/]"
    assert said not in "".join(Processes(analysis_of(opened, true, other)).lines(None))
