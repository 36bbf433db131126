"""What is kept, and what goes when there is no room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.kept import Kept


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 20))
def test_the_values_used_last_are_kept_up_to_their_cost(keys: list[int], most: int) -> None:
    """Each value costs its key; the plain definition is a list in the order of use."""
    kept: Kept[str] = Kept(most)
    used: list[int] = []
    for key in keys:
        made: list[int] = []
        assert kept.get(key, lambda key=key, made=made: made.append(key) or str(key), int) == str(key)  # type: ignore[misc]
        assert bool(made) == (key not in used)
        used = [*(one for one in used if one != key), key]
        while sum(used) > most and len(used) > 1:
            del used[0]
        assert (len(kept), kept.cost) == (len(used), sum(used))


def test_nothing_can_be_a_value() -> None:
    kept: Kept[None] = Kept(1)
    made: list[int] = []
    for _ in range(2):
        assert kept.get("x", lambda: made.append(1), lambda _: 1) is None
    assert made == [1]
