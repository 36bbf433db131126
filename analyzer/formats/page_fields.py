"""What the page needs to know to read filters as the command does: the fields, their kinds, and the numbers that have names."""

from __future__ import annotations

from typing import Any

from analyzer.buffers.names import buffer_field_names, counter_type_numbers
from analyzer.core.win32 import win32_numbers
from analyzer.filters.fields import call_fields
from analyzer.model.perflib import RequestCode
from analyzer.rpc.interfaces import PERFLIB_V2_METHODS
from analyzer.rpc.status import fault_numbers


def fields_block() -> dict[str, Any]:
    """The fields of calls with kind, paths, choices and meaning; names of buffer fields; names of numbers by kind."""
    return {
        "fields": [
            [field.name, field.kind.name, list(field.paths), list(field.choices), field.meaning]
            for field in call_fields().values()
        ],
        "buffers": sorted(buffer_field_names()),
        "methods": list(PERFLIB_V2_METHODS),
        "numbers": {
            "STATUS": win32_numbers(),
            "FAULT": fault_numbers(),
            "REQUEST_CODE": {code.name: code.value for code in RequestCode},
            "COUNTER_TYPE": counter_type_numbers(),
        },
    }
