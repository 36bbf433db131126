"""The remote registry interface: the methods that are decoded, predefined keys, types of values ([MS-RRP] section 3.1.5)."""

from analyzer.core.wire_numbers import WireNumbers

INTERFACE = "338cd001-2244-31f1-aaaa-900038001003"
NAME = "winreg"
ERROR_SUCCESS = 0
ERROR_MORE_DATA = 234
REG_MULTI_SZ = 7
# The beginning of a PERF_DATA_BLOCK, in either byte order (winperf.h): PERF in UTF-16.
SIGNATURES = (b"P\0E\0R\0F\0", b"\0P\0E\0R\0F")


class WinregOpnum(metaclass=WireNumbers):
    """Methods of the remote registry that are decoded."""

    OPEN_CLASSES_ROOT = 0
    OPEN_CURRENT_USER = 1
    OPEN_LOCAL_MACHINE = 2
    OPEN_PERFORMANCE_DATA = 3
    OPEN_USERS = 4
    BASE_REG_CLOSE_KEY = 5
    BASE_REG_CREATE_KEY = 6
    BASE_REG_DELETE_KEY = 7
    BASE_REG_DELETE_VALUE = 8
    BASE_REG_ENUM_KEY = 9
    BASE_REG_ENUM_VALUE = 10
    BASE_REG_FLUSH_KEY = 11
    BASE_REG_LOAD_KEY = 13
    BASE_REG_OPEN_KEY = 15
    BASE_REG_QUERY_INFO_KEY = 16
    BASE_REG_QUERY_VALUE = 17
    BASE_REG_SAVE_KEY = 20
    BASE_REG_SET_VALUE = 22
    BASE_REG_GET_VERSION = 26
    OPEN_CURRENT_CONFIG = 27
    BASE_REG_QUERY_MULTIPLE_VALUES = 29
    BASE_REG_SAVE_KEY_EX = 31
    OPEN_PERFORMANCE_TEXT = 32
    OPEN_PERFORMANCE_NLS_TEXT = 33
    BASE_REG_QUERY_MULTIPLE_VALUES2 = 34
    BASE_REG_DELETE_KEY_EX = 35


class ValueType(metaclass=WireNumbers):
    """Types of registry values ([MS-RRP] section 3.1.1.5)."""

    REG_NONE = 0
    REG_SZ = 1
    REG_EXPAND_SZ = 2
    REG_BINARY = 3
    REG_DWORD = 4
    REG_DWORD_BIG_ENDIAN = 5
    REG_LINK = 6
    REG_MULTI_SZ = 7
    REG_QWORD = 11


# Methods that give out a handle of a predefined key, and that key's usual short name.
PREDEFINED_KEYS = {
    WinregOpnum.OPEN_CLASSES_ROOT: "HKCR",
    WinregOpnum.OPEN_CURRENT_USER: "HKCU",
    WinregOpnum.OPEN_LOCAL_MACHINE: "HKLM",
    WinregOpnum.OPEN_USERS: "HKU",
    WinregOpnum.OPEN_CURRENT_CONFIG: "HKCC",
}


# Methods that give out a handle of a performance key, and that key's predefined name.
PERFORMANCE_KEYS = {
    WinregOpnum.OPEN_PERFORMANCE_DATA: "HKEY_PERFORMANCE_DATA",
    WinregOpnum.OPEN_PERFORMANCE_TEXT: "HKEY_PERFORMANCE_TEXT",
    WinregOpnum.OPEN_PERFORMANCE_NLS_TEXT: "HKEY_PERFORMANCE_NLSTEXT",
}
