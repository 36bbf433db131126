"""The kind of status that methods return, for interfaces that are not decoded: there it is the last four bytes of a response.

The table holds the methods that return nothing else, by their specifications (the IDL of each document). PerflibV2, winreg and
svcctl are not in it: their stubs are decoded. For a method in none of these documents, the outcome of its calls is unknown.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache, lru_cache

from msgspec import Struct

from analyzer.core.error_code_names import hresult_name, known_nt_status_name, win32_name

# [MS-SRVS] section 3.1.4.8, [MS-WKST] section 3.2.4.3: the request succeeded, and there are more entries than had room.
_ERROR_MORE_DATA = 234
# [MS-LSAD] section 3.1.4.7.8: an enumeration has come to its end.
_STATUS_NO_MORE_ENTRIES = 0x8000001A
# From here on, a number is a warning or an error ([MS-ERREF] sections 2.1 and 2.3).
_HIGH_BIT = 0x80000000


class ReturnKind(IntEnum):
    """The kind of number that a method returns as its status: Win32 error, NTSTATUS or HRESULT."""

    WIN32 = 0
    NET_API = 1
    NTSTATUS = 2
    HRESULT = 3

    def is_failure(self, status: int) -> bool:
        """Whether this status of a method means that it failed."""
        match self:
            case ReturnKind.WIN32:
                return status != 0
            case ReturnKind.NET_API:
                return status not in (0, _ERROR_MORE_DATA)
            case ReturnKind.NTSTATUS:
                return status >= _HIGH_BIT and status != _STATUS_NO_MORE_ENTRIES
            case _:
                return status >= _HIGH_BIT

    def name_of(self, status: int) -> str | None:
        """Returns the name of a status that a method returned, None if we know no name."""
        match self:
            case ReturnKind.NTSTATUS:
                return known_nt_status_name(status)
            case ReturnKind.HRESULT:
                return hresult_name(status)
            case _:
                return win32_name(status)

    def words_of(self, status: int) -> str:
        """The name of a status that a method returns, else its number."""
        is_code = self in (ReturnKind.WIN32, ReturnKind.NET_API)
        return self.name_of(status) or (f"error {status}" if is_code else f"{status:#010x}")


class _Returns(Struct, frozen=True):
    """The methods of an interface that return a status: numbers of methods as `0-3 5`, and where they are specified."""

    document: str
    methods: dict[ReturnKind, str]


_WIN32, _NET_API, _NTSTATUS, _HRESULT = ReturnKind

_EFSRPC = _Returns("[MS-EFSR] section 3.1.4.2", {_WIN32: "0-2 4-9 11-13 15-16 18-22"})
_RETURNS = {
    # netlogon
    "12345678-1234-abcd-ef00-01234567cffb": _Returns(
        "[MS-NRPC] section 3.5.4",
        {
            _NTSTATUS: "2-10 15-17 19 21-22 26 29-32 39 42 44-46 48-49 59",
            _NET_API: "0-1 11-14 18 20 23-25 27-28 33-38 40-41 43",
        },
    ),
    # lsarpc
    "12345778-1234-abcd-ef00-0123456789ab": _Returns(
        "[MS-LSAD] section 3.1.4, [MS-LSAT] section 3.1.4",
        {_NTSTATUS: "0 2-4 6-8 10-20 23-51 53-55 57-59 68 73-74 76-77 129-130 132-133 135-141"},
    ),
    # samr
    "12345778-1234-abcd-ef00-0123456789ac": _Returns(
        "[MS-SAMR] section 3.1.5", {_NTSTATUS: "0-3 5-41 44-58 62 64-67 73-74 77"}
    ),
    # srvsvc; what compares names and paths (32, 35) returns how they compare
    "4b324fc8-1670-01d3-1278-5a47bf6ee188": _Returns(
        "[MS-SRVS] section 3.1.4", {_NET_API: "8-28 30-31 33-34 36-41 43-46 48-57"}
    ),
    # wkssvc
    "6bffd098-a112-3610-9833-46c3f87e345a": _Returns("[MS-WKST] section 3.2.4", {_NET_API: "0-2 5-11 13 20 22-37"}),
    "c681d488-d850-11d0-8c52-00c04fd90f7e": _EFSRPC,
    "df1941c5-fe89-4e79-bf10-463657acf44d": _EFSRPC,
    # drsuapi, dsaop
    "e3514235-4b06-11d1-ab04-00c04fc2dcd2": _Returns("[MS-DRSR] section 4.1", {_WIN32: "0-30"}),
    "7c44d7d4-31d5-424c-bd5e-2b3e1f323d22": _Returns("[MS-DRSR] section 4.2", {_WIN32: "0-1"}),
    # dssetup
    "3919286a-b10c-11d0-9ba8-00c04fd92ef5": _Returns("[MS-DSSP] section 3.2.5.1", {_WIN32: "0"}),
    # eventlog, IEventService
    "82273fdc-e32a-18c3-3f78-827929dc23ea": _Returns("[MS-EVEN] section 3.1.4", {_NTSTATUS: "0-18 22 24-26"}),
    "f6beaff7-1e19-4fbb-9f8f-b89e2018337c": _Returns("[MS-EVEN6] section 3.1.4", {_WIN32: "0-28"}),
    # atsvc, sasec, ITaskSchedulerService
    "1ff70682-0a51-30e8-076d-740be8cee98b": _Returns("[MS-TSCH] section 3.2.5.2", {_NET_API: "0-3"}),
    "378e52b0-c0a9-11cf-822d-00aa0051e40f": _Returns("[MS-TSCH] section 3.2.5.3", {_HRESULT: "0-3"}),
    "86d35949-83c9-4044-b424-db363231fd0c": _Returns("[MS-TSCH] section 3.2.5.4", {_HRESULT: "0-19"}),
    # netdfs; method 0 returns a version
    "4fc742e0-4a10-11cf-8273-00aa004ae673": _Returns("[MS-DFSNM] section 3.1.4", {_NET_API: "1-6 10-25"}),
    # InitShutdown, WindowsShutdown
    "894de0c0-0d55-11d3-a322-00c04fa321a1": _Returns("[MS-RSP] section 3.2.4", {_WIN32: "0-2"}),
    "d95afe70-a6d5-4259-822e-2c84da1ddb0d": _Returns("[MS-RSP] section 3.3.4", {_WIN32: "0-1"}),
    # spoolss, IRemoteWinspool
    "12345678-1234-abcd-ef00-0123456789ab": _Returns(
        "[MS-RPRN] section 3.1.4",
        {
            _WIN32: "0-36 39-42 46-48 51-53 56 58-62 65-67 69-73 77-82 84-89 96-97 110-113 116-117",
            _HRESULT: "102 104 119-123",
        },
    ),
    "76f03f96-cdfd-44fc-a22c-64950a001209": _Returns(
        "[MS-PAR] section 3.1.4", {_WIN32: "0-57 68-74", _HRESULT: "58-67"}
    ),
    # DnsServer
    "50abc2a4-574d-40b3-9d66-ee4fd5fba076": _Returns("[MS-DNSP] section 3.1.4", {_WIN32: "0-9"}),
    # FileServerVssAgent, whose numbers are HRESULTs (section 2.2.4), Witness
    "a8e0653c-2744-4389-a61d-7373df8b2292": _Returns("[MS-FSRVP] section 3.1.4", {_HRESULT: "0-12"}),
    "ccd8c074-d0e5-4a40-92b4-d074faa6ba28": _Returns("[MS-SWN] section 3.1.4", {_WIN32: "0-5"}),
    # BackupKey, ICertPassage, ISDKey
    "3dde7c30-165d-11d1-ab8f-00805f14db40": _Returns("[MS-BKRP] section 3.1.4.1", {_WIN32: "0"}),
    "91ae6020-9e3c-11cf-8d7c-00aa00c091be": _Returns("[MS-ICPR] section 3.2.4.1", {_HRESULT: "0"}),
    "b9785960-524f-11df-8b6d-83dcded72085": _Returns("[MS-GKDI] section 3.1.4", {_HRESULT: "0"}),
    # IObjectExporter, IRemoteSCMActivator, IRemUnknown, IRemUnknown2
    "99fcfec4-5260-101b-bbcb-00aa0021347a": _Returns("[MS-DCOM] section 3.1.2.5.1", {_WIN32: "0-5"}),
    "000001a0-0000-0000-c000-000000000046": _Returns("[MS-DCOM] section 3.1.2.5.2", {_HRESULT: "3-4"}),
    "00000131-0000-0000-c000-000000000046": _Returns("[MS-DCOM] section 3.1.1.5.6", {_HRESULT: "3-5"}),
    "00000143-0000-0000-c000-000000000046": _Returns("[MS-DCOM] section 3.1.1.5.7", {_HRESULT: "3-6"}),
    # IDispatch, ITypeInfo
    "00020400-0000-0000-c000-000000000046": _Returns("[MS-OAUT] section 3.1.4", {_HRESULT: "3-6"}),
    "00020401-0000-0000-c000-000000000046": _Returns("[MS-OAUT] section 3.7.4", {_HRESULT: "3-21"}),
    # IWbemLevel1Login, IWbemLoginClientID, IWbemServices, IEnumWbemClassObject
    "f309ad18-d86a-11d0-a075-00c04fb68820": _Returns("[MS-WMI] section 3.1.4.1", {_HRESULT: "3-6"}),
    "d4781cd6-e5d3-44df-ad94-930efe48a887": _Returns("[MS-WMI] section 3.1.4.8", {_HRESULT: "3"}),
    "9556dc99-828c-11cf-a37e-00aa003240c7": _Returns("[MS-WMI] section 3.1.4.3", {_HRESULT: "3-25"}),
    "027947e1-d731-11ce-a357-000000000001": _Returns("[MS-WMI] section 3.1.4.4", {_HRESULT: "3-7"}),
    # FrsTransport, browser, msgsvcsend, msgsvc
    "897e2e5f-93f3-4376-9c9c-fd2277495c27": _Returns("[MS-FRS2] section 3.2.4.1", {_WIN32: "0-17"}),
    "6bffd098-a112-3610-9833-012892020162": _Returns("[MS-BRWSA] section 3.1.4", {_NET_API: "0-11"}),
    "5a7b91f8-ff00-11d0-a9b2-00c04fb6e6fc": _Returns("[MS-MSRP] section 3.2.4", {_WIN32: "0"}),
    "17fdd703-1827-4e34-79d4-24a55c53bb37": _Returns("[MS-MSRP] section 3.1.4", {_NET_API: "0-3"}),
    # TermSrvSession, TermSrvEnumeration
    "484809d6-4239-471b-b5bc-61df8c23ac48": _Returns("[MS-TSTS] section 3.3.4.1", {_HRESULT: "0-12 15-17 21"}),
    "88143fd0-c28d-4b2b-8fef-8d882f6a9390": _Returns("[MS-TSTS] section 3.3.4.3", {_HRESULT: "0-6 8-11"}),
}
# The interfaces with methods whose kind of status is known.
STATED = frozenset(_RETURNS)


@cache
def _by_opnum(interface: str) -> dict[int, ReturnKind]:
    found: dict[int, ReturnKind] = {}
    for kind, methods in _RETURNS[interface].methods.items():
        for part in methods.split():
            first, _, last = part.partition("-")
            found |= dict.fromkeys(range(int(first), int(last or first) + 1), kind)
    return found


def stated_kind(interface: str | None, opnum: int | None) -> ReturnKind | None:
    """Returns the kind of status in the last four bytes of a method's response; None if they are no status, or if it is unknown."""
    if interface not in _RETURNS or opnum is None:
        return None
    return _by_opnum(interface).get(opnum)


def return_kind(interface: str | None, opnum: int | None) -> ReturnKind:
    """Returns the kind of status that a method returns. Methods of decoded interfaces return Win32 codes."""
    return stated_kind(interface, opnum) or ReturnKind.WIN32


@lru_cache(maxsize=4096)
def status_name(interface: str | None, opnum: int | None, status: int) -> str | None:
    """Returns the name of a call's status by interface and method, None if we know no name. Many calls share one."""
    return return_kind(interface, opnum).name_of(status)
