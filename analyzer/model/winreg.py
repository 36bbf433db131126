"""The remote registry interface as far as performance data travels in it ([MS-RRP] section 3.1.5)."""

from enum import IntEnum

INTERFACE = "338cd001-2244-31f1-aaaa-900038001003"
NAME = "winreg"
ERROR_SUCCESS = 0
ERROR_MORE_DATA = 234
REG_MULTI_SZ = 7
# What a PERF_DATA_BLOCK begins with, in either byte order (winperf.h).
SIGNATURES = ("PERF".encode("utf-16-le"), "PERF".encode("utf-16-be"))


class Opnum(IntEnum):
    OPEN_PERFORMANCE_DATA = 3
    BASE_REG_CLOSE_KEY = 5
    BASE_REG_ENUM_VALUE = 10
    BASE_REG_QUERY_INFO_KEY = 16
    BASE_REG_QUERY_VALUE = 17
    BASE_REG_QUERY_MULTIPLE_VALUES = 29
    OPEN_PERFORMANCE_TEXT = 32
    OPEN_PERFORMANCE_NLS_TEXT = 33
    BASE_REG_QUERY_MULTIPLE_VALUES2 = 34


# Methods that give out a handle of a performance key, and that key's predefined name.
PERFORMANCE_KEYS = {
    Opnum.OPEN_PERFORMANCE_DATA: "HKEY_PERFORMANCE_DATA",
    Opnum.OPEN_PERFORMANCE_TEXT: "HKEY_PERFORMANCE_TEXT",
    Opnum.OPEN_PERFORMANCE_NLS_TEXT: "HKEY_PERFORMANCE_NLSTEXT",
}
