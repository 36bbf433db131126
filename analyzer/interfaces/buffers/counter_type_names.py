"""Names counter types by their value table in `ksy/`, in the specification's spelling."""

from __future__ import annotations

from functools import cache

from analyzer.interfaces.buffers.ksy_descriptions import enum_names


def counter_type_name(kind: int) -> str | None:
    """Returns the name of a counter type, `PERF_COUNTER_COUNTER` for 0x10410400 ([MS-PCQ] section 2.2.4.2). None if it has no
    name."""
    found = _counter_types().get(kind)
    return found[0] if found is not None else None


def counter_type_numbers() -> dict[str, int]:
    """Returns the number of each counter type that has a name."""
    return {name: number for number, (name, _) in _counter_types().items()}


@cache
def _counter_types() -> dict[int, tuple[str, str]]:
    return enum_names("ms_pcq::counter_type")
