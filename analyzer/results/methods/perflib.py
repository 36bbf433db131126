"""The interface of [MS-PCQ] section 1.9 and its method numbers (section 3.1.4)."""

from analyzer.core.wire_numbers import WireNumbers
from analyzer.results.buffer_kinds import BufferKind

INTERFACE = "da5a86c5-12c2-4943-ab30-7f74a813d853"
NAME = "PerflibV2"
ERROR_NOT_ENOUGH_MEMORY = 8
NONE_ID = 0xFFFFFFFF  # "all" in an identifier, "no such counter" in registration information (perflib.h)

# dwType of a _PERF_COUNTER_HEADER (2.2.4.8): an error, one value, values of several counters, of several instances, of both.
ERROR, SINGLE, COUNTERS, INSTANCES, COUNTERSET = 0, 1, 2, 4, 6
KINDS = (ERROR, SINGLE, COUNTERS, INSTANCES, COUNTERSET)


class Opnum(metaclass=WireNumbers):
    ENUMERATE_COUNTER_SET = 0
    QUERY_COUNTER_SET_REGISTRATION_INFO = 1
    ENUMERATE_COUNTER_SET_INSTANCES = 2
    OPEN_QUERY_HANDLE = 3
    CLOSE_QUERY_HANDLE = 4
    QUERY_COUNTER_INFO = 5
    QUERY_COUNTER_DATA = 6
    VALIDATE_COUNTERS = 7


# The parameters that a whole stub has, by method and side, in the spelling of the IDL ([MS-PCQ] section 6). A handle
# has `attributes` and `uuid`.
_SIZES: dict[str, type] = {"pdwOutSize": int, "pdwRtnSize": int}
_TARGET: dict[str, type] = {"szMachine": str, "CounterSetGuid": str}
PARAMS: dict[tuple[int, str], dict[str, type]] = {
    (Opnum.ENUMERATE_COUNTER_SET, "request"): {"szMachine": str, "dwInSize": int},
    (Opnum.ENUMERATE_COUNTER_SET, "response"): _SIZES,
    (Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO, "request"): {
        **_TARGET,
        "RequestCode": int,
        "RequestLCID": int,
        "dwInSize": int,
    },
    (Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO, "response"): _SIZES,
    (Opnum.ENUMERATE_COUNTER_SET_INSTANCES, "request"): {**_TARGET, "dwInSize": int},
    (Opnum.ENUMERATE_COUNTER_SET_INSTANCES, "response"): _SIZES,
    (Opnum.OPEN_QUERY_HANDLE, "request"): {"szMachine": str},
    (Opnum.OPEN_QUERY_HANDLE, "response"): {"phQuery": dict},
    (Opnum.CLOSE_QUERY_HANDLE, "request"): {"phQuery": dict},
    (Opnum.CLOSE_QUERY_HANDLE, "response"): {"phQuery": dict},
    (Opnum.QUERY_COUNTER_INFO, "request"): {"hQuery": dict, "dwInSize": int},
    (Opnum.QUERY_COUNTER_INFO, "response"): _SIZES,
    (Opnum.QUERY_COUNTER_DATA, "request"): {"hQuery": dict, "dwInSize": int},
    (Opnum.QUERY_COUNTER_DATA, "response"): _SIZES,
    (Opnum.VALIDATE_COUNTERS, "request"): {"hQuery": dict, "dwInSize": int, "dwAdd": int},
}


class RequestCode(metaclass=WireNumbers):
    """[MS-PCQ] section 3.1.4.1.2; the names are those of perflib.h."""

    COUNTERSET_STRUCT = 1
    COUNTER_STRUCT = 2
    COUNTERSET_NAME_STRING = 3
    COUNTERSET_HELP_STRING = 4
    COUNTER_NAME_STRINGS = 5
    COUNTER_HELP_STRINGS = 6
    PROVIDER_NAME = 7
    PROVIDER_GUID = 8
    COUNTERSET_ENGLISH_NAME = 9
    COUNTER_ENGLISH_NAMES = 10


# The layout of the answer to each request code.
BUFFER_KIND_OF_CODE: dict[int, BufferKind] = {
    RequestCode.COUNTERSET_STRUCT: "counterset-info",
    RequestCode.COUNTER_STRUCT: "counter-info",
    RequestCode.COUNTERSET_NAME_STRING: "string",
    RequestCode.COUNTERSET_HELP_STRING: "string",
    RequestCode.COUNTER_NAME_STRINGS: "string-table",
    RequestCode.COUNTER_HELP_STRINGS: "string-table",
    RequestCode.PROVIDER_NAME: "string",
    RequestCode.PROVIDER_GUID: "guid",
    RequestCode.COUNTERSET_ENGLISH_NAME: "string",
    RequestCode.COUNTER_ENGLISH_NAMES: "string-table",
}

# The layout of the other methods' lpData, by (opnum, side).
BUFFER_KIND_OF_METHOD: dict[tuple[int, str], BufferKind] = {
    (Opnum.ENUMERATE_COUNTER_SET, "response"): "guids",
    (Opnum.ENUMERATE_COUNTER_SET_INSTANCES, "response"): "instances",
    (Opnum.QUERY_COUNTER_INFO, "response"): "identifiers",
    (Opnum.QUERY_COUNTER_DATA, "response"): "perf-data",
    (Opnum.VALIDATE_COUNTERS, "request"): "identifiers",
    (Opnum.VALIDATE_COUNTERS, "response"): "identifiers",
}

# Parts of a counter type (winperf.h).
_CLASS_MASK, _CLASS_COUNTER, _CLASS_TEXT = 0x00000C00, 0x00000400, 0x00000800
_SUBTYPE_MASK, _SUBTYPE_BASE = 0x00070000, 0x00030000


def is_text(counter_type: int | None) -> bool:
    """Whether a counter type says that values are text."""
    return counter_type is not None and counter_type & _CLASS_MASK == _CLASS_TEXT


def is_base(counter_type: int) -> bool:
    """Whether a counter type is PERF_COUNTER_BASE: it has no value of its own, but is the denominator of the one before it."""
    return counter_type & (_CLASS_MASK | _SUBTYPE_MASK) == _CLASS_COUNTER | _SUBTYPE_BASE
