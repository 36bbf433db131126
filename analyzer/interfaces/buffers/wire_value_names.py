"""Names of wire numbers from the value tables in `ksy/`: a number in, the specification's spelling out."""

from __future__ import annotations

from functools import cache

from analyzer.interfaces.buffers._compiled import enum_names, types


def counter_type_name(kind: int) -> str | None:
    """The name of a counter type: `PERF_COUNTER_COUNTER` for 0x10410400 ([MS-PCQ] section 2.2.4.2); None for a type without a
    name."""
    found = _counter_types().get(kind)
    return found[0] if found is not None else None


def counter_type_numbers() -> dict[str, int]:
    """The number of each counter type that has a name."""
    return {name: number for number, (name, _) in _counter_types().items()}


@cache
def _counter_types() -> dict[int, tuple[str, str]]:
    return enum_names("ms_pcq::counter_type")


@cache
def buffer_field_names() -> frozenset[str]:
    """The ids of all fields that may be in a decoded buffer (the keys of its tree)."""
    return frozenset(
        field.name
        for spec in types().values()
        if not spec.path.startswith(("ms_pcq_stubs", "ms_rrp_stubs", "ms_scmr_stubs"))
        for field in spec.fields
        if not field.is_filler
    )
