"""The process list of a real Windows XP, as an intruder's client read it, from the public capture of that."""

from __future__ import annotations

import pytest

from analyzer.pipeline.run import analyze
from analyzer.questions.statistics.activity import findings
from tests.corpus import CORPUS
from tests.test_corpus import XP

pytestmark = pytest.mark.corpus


def test_the_processes_of_windows_xp_are_listed_with_their_ids() -> None:
    found = findings(analyze([CORPUS / XP]))
    processes = {image.pid: image.name for image in found.images}
    assert (len(processes), processes[0], processes[4], processes[760]) == (27, "Idle", "System", "lsass")
    # Nine of one name, distinguished by their ids; and the service that the intruder had installed.
    assert list(processes.values()).count("svchost") == 9
    assert "qyFQReH" in processes.values()
    (polled,) = (activity for activity in found.activities if activity.category == "process")
    assert (polled.kind, polled.target, polled.name, polled.who.user) == (
        "poll",
        230,
        "Process",
        "NONE-B91CFA7B93\\whitecell",
    )
