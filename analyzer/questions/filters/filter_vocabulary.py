"""The vocabulary of filters besides fields of calls and samples: fields of decoded buffers, methods, and named numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzer.core.error_code_names import hresult_numbers, nt_status_numbers, win32_numbers
from analyzer.core.times import UNITS_NS
from analyzer.questions.filters.filterable_fields import call_fields
from analyzer.questions.filters.grammar import tables
from analyzer.results.methods.perflib import RequestCode
from analyzer.results.records.record_types import Kind
from analyzer.transport.rpc.fault_names import fault_numbers
from analyzer.transport.rpc.interface_names import PERFLIB_V2_METHODS

NAMED = (Kind.STATUS, Kind.FAULT, Kind.REQUEST_CODE, Kind.COUNTER_TYPE)


def numbers_of(kind: Kind) -> Mapping[str, int]:
    """Returns the named numbers of a kind that filters can name, by name in capitals; empty for a kind without names."""
    match kind:
        case Kind.STATUS:
            return hresult_numbers() | nt_status_numbers() | win32_numbers()
        case Kind.FAULT:
            return fault_numbers()
        case Kind.REQUEST_CODE:
            return {name: code for code, name in RequestCode.names.items()}
        case Kind.COUNTER_TYPE:
            from analyzer.interfaces.buffers.wire_value_names import counter_type_numbers

            return counter_type_numbers()
    return {}


def buffer_names() -> frozenset[str]:
    """The keys of decoded buffers that filters can name, at any depth."""
    from analyzer.interfaces.buffers.wire_value_names import buffer_field_names

    return buffer_field_names()


def named_methods() -> Mapping[str, str]:
    """Returns the methods of PerflibV2 that filters can name, by their names in small letters without the interface's."""
    return {name.removeprefix("PerflibV2").lower(): name for name in PERFLIB_V2_METHODS}


def with_article(kind: Kind) -> str:
    """Returns the kind of a filter's values in the words of messages: `a number`, `text`, `in seconds`."""
    if kind in (Kind.TEXT, Kind.SECONDS, Kind.FLAG, Kind.ANY):
        return {Kind.SECONDS: "in seconds"}.get(kind, str(kind))
    return f"an {kind}" if str(kind)[0] in "aeiou" else f"a {kind}"


def vocabulary() -> dict[str, Any]:
    """Returns the whole vocabulary of filters for the script of the page, which reads filters itself. It has the fields of calls
    with kind, paths, choices and meaning, and the grammar."""
    return {
        "fields": [
            [field.name, field.kind.name, list(field.paths), list(field.choices), field.meaning]
            for field in call_fields().values()
        ],
        "buffers": sorted(buffer_names()),
        "methods": list(PERFLIB_V2_METHODS),
        "numbers": {kind.name: numbers_of(kind) for kind in NAMED},
        "kinds": {kind.name: with_article(kind) for kind in Kind},
        "units": UNITS_NS,
        "grammar": tables(),
    }
