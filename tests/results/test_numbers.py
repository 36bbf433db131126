"""Numbers of the wire have the meanings of their specifications: each table whole, as the document prints it.

One test for all of them: a number that changes shows here, whatever else it does.
"""

from collections.abc import Mapping

from analyzer.core.wire_numbers import WireNumbers
from analyzer.results.methods import perflib, scmr, winreg
from analyzer.results.reported_names.counter_name_tables import WELL_KNOWN
from analyzer.results.security import AuthLevel, AuthType

# [MS-PCQ] section 3.1.4.
PERFLIB = """
    0 EnumerateCounterSet, 1 QueryCounterSetRegistrationInfo, 2 EnumerateCounterSetInstances, 3 OpenQueryHandle,
    4 CloseQueryHandle, 5 QueryCounterInfo, 6 QueryCounterData, 7 ValidateCounters
"""
# [MS-PCQ] section 3.1.4.1.2: PERF_REG_..., the number in decimal.
REQUEST_CODES = """
    1 CountersetStruct, 2 CounterStruct, 3 CountersetNameString, 4 CountersetHelpString, 5 CounterNameStrings,
    6 CounterHelpStrings, 7 ProviderName, 8 ProviderGuid, 9 CountersetEnglishName, 10 CounterEnglishNames
"""
# [MS-RRP] section 3.1.5; those that are decoded.
WINREG = """
    0 OpenClassesRoot, 1 OpenCurrentUser, 2 OpenLocalMachine, 3 OpenPerformanceData, 4 OpenUsers, 5 BaseRegCloseKey,
    6 BaseRegCreateKey, 7 BaseRegDeleteKey, 8 BaseRegDeleteValue, 9 BaseRegEnumKey, 10 BaseRegEnumValue,
    11 BaseRegFlushKey, 13 BaseRegLoadKey, 15 BaseRegOpenKey, 16 BaseRegQueryInfoKey, 17 BaseRegQueryValue,
    20 BaseRegSaveKey, 22 BaseRegSetValue, 26 BaseRegGetVersion, 27 OpenCurrentConfig,
    29 BaseRegQueryMultipleValues, 31 BaseRegSaveKeyEx, 32 OpenPerformanceText, 33 OpenPerformanceNlsText,
    34 BaseRegQueryMultipleValues2, 35 BaseRegDeleteKeyEx
"""
# [MS-SCMR] section 3.1.4, without the R before each; those that are decoded.
SVCCTL = """
    0 CloseServiceHandle, 1 ControlService, 2 DeleteService, 6 QueryServiceStatus, 11 ChangeServiceConfigW,
    12 CreateServiceW, 15 OpenScManagerW, 16 OpenServiceW, 17 QueryServiceConfigW, 19 StartServiceW,
    23 ChangeServiceConfigA, 24 CreateServiceA, 27 OpenScManagerA, 28 OpenServiceA, 29 QueryServiceConfigA,
    31 StartServiceA, 44 CreateServiceWow64A, 45 CreateServiceWow64W, 60 CreateWowService
"""


# [MS-RRP] section 3.1.1.5.
VALUE_TYPES = (
    "0 REG_NONE, 1 REG_SZ, 2 REG_EXPAND_SZ, 3 REG_BINARY, 4 REG_DWORD, 5 REG_DWORD_BIG_ENDIAN, 6 REG_LINK, 7 REG_MULTI_SZ, "
    "11 REG_QWORD"
)
PERFORMANCE_KEYS = "3 HKEY_PERFORMANCE_DATA, 32 HKEY_PERFORMANCE_TEXT, 33 HKEY_PERFORMANCE_NLSTEXT"
STATES = "1 stopped, 2 start pending, 3 stop pending, 4 running, 5 continue pending, 6 pause pending, 7 paused"
AUTH_TYPES = "0 NONE, 9 GSS_NEGOTIATE, 10 WINNT, 14 GSS_SCHANNEL, 16 GSS_KERBEROS, 68 NETLOGON, 255 DEFAULT"


def listed(names: Mapping[int, str]) -> str:
    return ", ".join(f"{number} {name}" for number, name in sorted(names.items()))


def named(kinds: WireNumbers) -> str:
    return listed(kinds.names)


def by_number(table: str) -> dict[int, str]:
    """Without case and underscores, as specifications and we spell names differently."""
    rows = (row.split() for row in table.split(","))
    return {int(number): name.casefold() for number, name in rows}


def ours(names: WireNumbers) -> dict[int, str]:
    return {number: name.replace("_", "").casefold() for number, name in names.names.items()}


def test_numbers_mean_what_their_specifications_say() -> None:
    assert ours(perflib.Opnum) == by_number(PERFLIB)
    assert ours(perflib.RequestCode) == by_number(REQUEST_CODES)
    assert perflib.NONE_ID == 2**32 - 1
    assert ours(winreg.WinregOpnum) == by_number(WINREG)
    assert ours(scmr.ScmrOpnum) == by_number(SVCCTL)
    assert set(scmr.DECODED) == set(by_number(SVCCTL))
    assert named(winreg.ValueType) == VALUE_TYPES
    assert (winreg.ERROR_SUCCESS, winreg.ERROR_MORE_DATA, winreg.REG_MULTI_SZ) == (0, 234, 7)
    assert listed(winreg.PREDEFINED_KEYS) == "0 HKCR, 1 HKCU, 2 HKLM, 4 HKU, 27 HKCC"
    assert listed(winreg.PERFORMANCE_KEYS) == PERFORMANCE_KEYS
    assert winreg.SIGNATURES == (b"P\0E\0R\0F\0", b"\0P\0E\0R\0F")
    # [MS-SCMR] sections 2.2.47 (states), 2.2.15 (start types), 3.1.4.2 (controls) and 3.1.4.12.
    assert (scmr.ERROR_SUCCESS, scmr.SERVICE_NO_CHANGE) == (0, 2**32 - 1)
    assert listed(scmr.STATES) == STATES
    assert listed(scmr.START_TYPES) == "0 boot, 1 system, 2 automatic, 3 on demand, 4 disabled"
    assert listed(scmr.CONTROLS) == "1 stop, 2 pause, 3 continue, 4 interrogate, 6 parameters changed"
    assert {12, 24, 44, 45, 60} == scmr.CREATING
    assert ({11, 23}, {16, 28}, {15, 27}) == (scmr.CHANGING, scmr.OPENING, scmr.OPENING_MANAGER)
    assert ({19, 31}, {17, 29}) == (scmr.STARTING, scmr.QUERYING)
    # [MS-RPCE] sections 2.2.1.1.7 and 2.2.1.1.8.
    assert named(AuthType) == AUTH_TYPES
    assert named(AuthLevel) == "0 UNKNOWN, 1 NONE, 2 CONNECT, 3 CALL, 4 PKT, 5 INTEGRITY, 6 PRIVACY"
    # Names have even indices, the odd ones are those of their help texts; 1846 is the last one of the base system.
    assert all(index % 2 == 0 and 2 <= index <= 1846 for index in WELL_KNOWN)
