"""Holders share a limit of memory; those silent longest give way."""

from __future__ import annotations

from analyzer.core.budget import MemoryBudget


def test_what_a_holder_held_before_counts_no_more() -> None:
    budget = MemoryBudget(100)
    for _ in range(10):
        assert budget.holds(1, 90) == []
    assert budget.holds(1, 5) == []
    assert budget.holds(2, 95) == []
    budget.ends(2)
    budget.ends(2)
    assert budget.holds(3, 95) == []


def test_one_that_is_too_large_alone_gives_way_itself() -> None:
    budget = MemoryBudget(100)
    assert budget.holds(1, 0) == []
    assert budget.holds(2, 101) == [2]
    assert budget.holds(3, 100) == []
