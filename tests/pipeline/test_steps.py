"""What one sealed answer takes, in calls of functions: docs/architecture.md states it, and no way round grows beside it unseen."""

from __future__ import annotations

from tools.count_calls import calls_of_answer, read_up_to


def test_a_sealed_answer_takes_as_many_calls_as_the_architecture_states() -> None:
    counts = calls_of_answer(read_up_to)
    assert 100 < sum(counts.values()) <= 200
    assert sum(number for (file, _), number in counts.items() if file.startswith("smb/")) <= 30
