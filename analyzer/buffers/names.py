"""Names of wire numbers from the value tables in `ksy/`: a number in, the specification's spelling out."""

from __future__ import annotations

from functools import cache

from analyzer.buffers._compiled import enum_names


def counter_type_name(kind: int) -> str | None:
    """`PERF_COUNTER_COUNTER` for 0x10410400 ([MS-PCQ] section 2.2.4.2); None for a type without a name."""
    found = _counter_types().get(kind)
    return found[0] if found is not None else None


@cache
def _counter_types() -> dict[int, tuple[str, str]]:
    return enum_names("ms_pcq::counter_type")
