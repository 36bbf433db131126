"""Handles as text: what is said of the times between reads of a registry value."""

from analyzer.screens.views.handles import Handles
from tests.build.calls import altered, analysis_of, winreg

BLOCK = "PERF".encode("utf-16-le")


def test_intervals_that_are_not_known_are_not_said_to_be_like_the_others() -> None:
    make = winreg()
    opened, *reads = make.open_key(), *(make.query_value("238", BLOCK) for _ in range(4))
    for events, said in (
        ([opened, *reads], "4 polls answered, every 2.000 ms"),
        (
            [opened, *reads[:2], altered(reads[2]), reads[3]],
            "4 polls answered; 1 interval known, 2.000 ms in the median",
        ),
    ):
        (line,) = (line for line in Handles(analysis_of(*events)).lines(None) if "polls answered" in line)
        assert line.endswith(said)
