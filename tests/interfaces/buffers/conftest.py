"""What several tests of buffers watch."""

from typing import Any

import pytest

from analyzer.core.errors import DecodeError
from analyzer.interfaces.buffers import field_map
from analyzer.interfaces.buffers.buffer_trees import ParsePlan


@pytest.fixture
def parsed_lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The length of each buffer that the compiled parser reads for the positions of its fields."""
    lengths: list[int] = []
    parse = field_map.parse_positions

    def noted(plan: ParsePlan) -> tuple[Any, DecodeError | None]:
        lengths.append(len(plan.data))
        return parse(plan)

    monkeypatch.setattr(field_map, "parse_positions", noted)
    return lengths
