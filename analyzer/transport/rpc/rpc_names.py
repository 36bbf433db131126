"""Names DCERPC interfaces and methods, transfer syntaxes, fault status codes, and the reasons of refused binds, in the spelling of
the specifications.

PerflibV2 ([MS-PCQ] section 3.1.4.1) and winreg ([MS-RRP] section 3.1.5, [MS-RSP] section 3.1.4) are built in. The methods of other
Microsoft interfaces are looked up in the sources of scapy-rpc, as text. Importing them would load all of scapy and take over a
second. Reading the one module that mentions the UUID takes milliseconds, and only when a foreign interface occurs.

Transfer syntaxes are named by UUID (C706 appendix I; [MS-RPCE] 2.2.4.12, 2.2.5, 3.3.1.5.3). Faults are named by C706 appendix E and
12.6.3.1, and [MS-RPCE] 2.2.2.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path

from msgspec import Struct

from analyzer.core.error_code_names import win32_name, win32_numbers

# -------------------------------------------------------------------------------------------------------------- interfaces


PERFLIB_V2 = "da5a86c5-12c2-4943-ab30-7f74a813d853"
WINREG = "338cd001-2244-31f1-aaaa-900038001003"

PERFLIB_V2_METHODS = (
    "PerflibV2EnumerateCounterSet",
    "PerflibV2QueryCounterSetRegistrationInfo",
    "PerflibV2EnumerateCounterSetInstances",
    "PerflibV2OpenQueryHandle",
    "PerflibV2CloseQueryHandle",
    "PerflibV2QueryCounterInfo",
    "PerflibV2QueryCounterData",
    "PerflibV2ValidateCounters",
)

WINREG_METHODS = (
    "OpenClassesRoot",
    "OpenCurrentUser",
    "OpenLocalMachine",
    "OpenPerformanceData",
    "OpenUsers",
    "BaseRegCloseKey",
    "BaseRegCreateKey",
    "BaseRegDeleteKey",
    "BaseRegDeleteValue",
    "BaseRegEnumKey",
    "BaseRegEnumValue",
    "BaseRegFlushKey",
    "BaseRegGetKeySecurity",
    "BaseRegLoadKey",
    "Opnum14NotImplemented",
    "BaseRegOpenKey",
    "BaseRegQueryInfoKey",
    "BaseRegQueryValue",
    "BaseRegReplaceKey",
    "BaseRegRestoreKey",
    "BaseRegSaveKey",
    "BaseRegSetKeySecurity",
    "BaseRegSetValue",
    "BaseRegUnLoadKey",
    "BaseInitiateSystemShutdown",
    "BaseAbortSystemShutdown",
    "BaseRegGetVersion",
    "OpenCurrentConfig",
    "Opnum28NotImplemented",
    "BaseRegQueryMultipleValues",
    "BaseInitiateSystemShutdownEx",
    "BaseRegSaveKeyEx",
    "OpenPerformanceText",
    "OpenPerformanceNlsText",
    "BaseRegQueryMultipleValues2",
    "BaseRegDeleteKeyEx",
)

_METHODS = {PERFLIB_V2: PERFLIB_V2_METHODS, WINREG: WINREG_METHODS}

# The names people know, which for some differ from the IDL's (`ept`, `logon`), and interfaces scapy-rpc does not have.
_NAMES = {
    PERFLIB_V2: "PerflibV2",
    WINREG: "winreg",
    "e1af8308-5d1f-11c9-91a4-08002b14a0fa": "epmapper",
    "afa8bd80-7d8a-11c9-bef4-08002b102989": "mgmt",
    "12345778-1234-abcd-ef00-0123456789ab": "lsarpc",
    "12345778-1234-abcd-ef00-0123456789ac": "samr",
    "4b324fc8-1670-01d3-1278-5a47bf6ee188": "srvsvc",
    "6bffd098-a112-3610-9833-46c3f87e345a": "wkssvc",
    "367abb81-9844-35f1-ad32-98f038001003": "svcctl",
    "12345678-1234-abcd-ef00-01234567cffb": "netlogon",
    "12345678-1234-abcd-ef00-0123456789ab": "spoolss",
    "e3514235-4b06-11d1-ab04-00c04fc2dcd2": "drsuapi",
    "3919286a-b10c-11d0-9ba8-00c04fd92ef5": "dssetup",
    "82273fdc-e32a-18c3-3f78-827929dc23ea": "eventlog",
    "f6beaff7-1e19-4fbb-9f8f-b89e2018337c": "IEventService",
    "1ff70682-0a51-30e8-076d-740be8cee98b": "atsvc",
    "378e52b0-c0a9-11cf-822d-00aa0051e40f": "sasec",
    "86d35949-83c9-4044-b424-db363231fd0c": "ITaskSchedulerService",
    "4fc742e0-4a10-11cf-8273-00aa004ae673": "netdfs",
    "894de0c0-0d55-11d3-a322-00c04fa321a1": "InitShutdown",
    "c681d488-d850-11d0-8c52-00c04fd90f7e": "efsrpc",
    "df1941c5-fe89-4e79-bf10-463657acf44d": "efsrpc",
    "99fcfec4-5260-101b-bbcb-00aa0021347a": "IObjectExporter",
    "000001a0-0000-0000-c000-000000000046": "IRemoteSCMActivator",
    "4d9f4ab8-7d1c-11cf-861e-0020af6e7c57": "IActivation",
    "6bffd098-a112-3610-9833-012892020162": "browser",
    "5a7b91f8-ff00-11d0-a9b2-00c04fb6e6fc": "msgsvcsend",
    "8d9f4e40-a03d-11ce-8f69-08003e30051b": "plugplay",
    "4b112204-0e19-11d3-b42b-0000f81feb9f": "ssdpsrv",
    "2f5f6520-ca46-1067-b319-00dd010662da": "tapsrv",
    "57674cd0-5200-11ce-a897-08002b2e9c6d": "llsrpc",
    "342cfd40-3c6c-11ce-a893-08002b2e9c6d": "llsrpc",
    "d6d70ef0-0e3b-11cb-acc3-08002b1d29c4": "nsi",
    "98716d03-89ac-44c7-bb8c-285824e51c4a": "scmanager-remote",
    "484809d6-4239-471b-b5bc-61df8c23ac48": "TermSrvSession",
    "76f03f96-cdfd-44fc-a22c-64950a001209": "IRemoteWinspool",
    "f5cc5a18-4264-101a-8c59-08002b2f8426": "nspi",
    "ecec0d70-a603-11d0-96b1-00a0c91ece30": "ntdsbackup",
    "50abc2a4-574d-40b3-9d66-ee4fd5fba076": "DnsServer",
}

_REGISTERED = r"(?ms)^register_(?:dcerpc|com)_interface\((?P<body>.*?)^\)"
_ARGUMENT = r"\b(name|version|opnums)=\"?([^\",\n]+)\"?|UUID\(\"([0-9A-Fa-f-]{36})\"\)"
_OPERATION = r"\b(\d+): DceRpcOp\(\s*(\w+?)_Request\b"


class _Foreign(Struct, frozen=True):
    """A DCERPC interface and its methods, as scapy-rpc defines them."""

    name: str
    major: int | None
    methods: dict[int, str]


@cache
def _sources() -> tuple[tuple[Path, str], ...]:
    """Returns the modules of scapy-rpc in lower case, to search them for interface UUIDs; none if it is not installed."""
    spec = importlib.util.find_spec("msrpcs")
    places = spec.submodule_search_locations if spec is not None else None
    found = []
    for place in places or ():
        for path in sorted(Path(place).glob("*.py")):
            try:
                found.append((path, path.read_text("utf-8").lower()))
            except (OSError, UnicodeDecodeError):
                continue
    return tuple(found)


@cache
def _foreign(uuid: str) -> tuple[_Foreign, ...]:
    """Returns the DCERPC interfaces of this UUID in scapy-rpc: several if their versions differ."""
    found: dict[int | None, _Foreign] = {}
    for path, lowered in _sources():
        if uuid not in lowered:
            continue
        text = path.read_text("utf-8")
        for match in re.finditer(_REGISTERED, text):
            stated: dict[str, str] = {}
            for key, value, stated_uuid in re.findall(_ARGUMENT, match["body"]):
                stated["uuid" if stated_uuid else key] = stated_uuid.lower() or value
            if stated.get("uuid") != uuid:
                continue
            table = re.search(rf"^{re.escape(stated.get('opnums', ''))} = \{{([^}}]*)\}}", text, re.MULTILINE)
            methods = {int(opnum): name for opnum, name in re.findall(_OPERATION, table[1])} if table else {}
            digits = stated.get("version", "").partition(".")[0]
            major = int(digits) if digits.isdigit() else None
            # Two specifications may share an interface, as [MS-LSAD] and [MS-LSAT] do.
            earlier = found.get(major)
            found[major] = _Foreign(
                earlier.name if earlier else stated.get("name", uuid),
                major,
                (earlier.methods if earlier else {}) | methods,
            )
    return tuple(found.values())


def _pick(uuid: str, version: tuple[int, int] | None) -> _Foreign | None:
    candidates = _foreign(uuid)
    for candidate in candidates:
        if version is not None and candidate.major == version[0]:
            return candidate
    return candidates[0] if candidates else None


@cache
def interface_names() -> frozenset[str]:
    """Returns all names of DCERPC interfaces that `interface_name` may return."""
    names = set(_NAMES.values())
    for path, _ in _sources():
        for match in re.finditer(_REGISTERED, path.read_text("utf-8")):
            names |= {value for key, value, _ in re.findall(_ARGUMENT, match["body"]) if key == "name"}
    return frozenset(names)


def interface_name(uuid: str, version: tuple[int, int] | None = None) -> str | None:
    """Returns the name of a DCERPC interface, None if it is unknown."""
    uuid = uuid.lower()
    if (known := _NAMES.get(uuid)) is not None:
        return known
    foreign = _pick(uuid, version)
    return foreign.name if foreign is not None else None


def method_name(uuid: str, opnum: int) -> str | None:
    """Returns the name of an interface's method by its opnum, None if it is unknown."""
    uuid = uuid.lower()
    if (methods := _METHODS.get(uuid)) is not None:
        return methods[opnum] if 0 <= opnum < len(methods) else None
    foreign = _pick(uuid, None)
    return foreign.methods.get(opnum) if foreign is not None else None


# ------------------------------------------------------------------------------------------- transfer syntaxes


NDR = "8a885d04-1ceb-11c9-9fe8-08002b104860"
NDR64 = "71710533-beba-4937-8319-b5dbef9ccc36"
_FEATURES_PREFIX = "6cb71c2c-9812-4540-"

_SYNTAX_NAMES = {NDR: "ndr", NDR64: "ndr64"}


def is_feature_negotiation(uuid: str) -> bool:
    """Whether the UUID of a transfer syntax names none, but is a set of bind-time features. Its last 8 bytes are a bit mask."""
    return uuid.startswith(_FEATURES_PREFIX)


def syntax_name(uuid: str) -> str:
    """Returns the name of a transfer syntax: `ndr`, `ndr64`, or the UUID itself."""
    return _SYNTAX_NAMES.get(uuid, uuid)


# ------------------------------------------------------------------------------------------------------------------ faults


_FAULTS = {
    0x1C000001: "nca_s_fault_int_div_by_zero",
    0x1C000002: "nca_s_fault_addr_error",
    0x1C000003: "nca_s_fault_fp_div_zero",
    0x1C000004: "nca_s_fault_fp_underflow",
    0x1C000005: "nca_s_fault_fp_overflow",
    0x1C000006: "nca_s_fault_invalid_tag",
    0x1C000007: "nca_s_fault_invalid_bound",
    0x1C000008: "nca_s_rpc_version_mismatch",
    0x1C000009: "nca_s_unspec_reject",
    0x1C00000A: "nca_s_bad_actid",
    0x1C00000B: "nca_s_who_are_you_failed",
    0x1C00000C: "nca_s_manager_not_entered",
    0x1C00000D: "nca_s_fault_cancel",
    0x1C00000E: "nca_s_fault_ill_inst",
    0x1C00000F: "nca_s_fault_fp_error",
    0x1C000010: "nca_s_fault_int_overflow",
    0x1C000012: "nca_s_fault_unspec",
    0x1C000013: "nca_s_fault_remote_comm_failure",
    0x1C000014: "nca_s_fault_pipe_empty",
    0x1C000015: "nca_s_fault_pipe_closed",
    0x1C000016: "nca_s_fault_pipe_order",
    0x1C000017: "nca_s_fault_pipe_discipline",
    0x1C000018: "nca_s_fault_pipe_comm_error",
    0x1C000019: "nca_s_fault_pipe_memory",
    0x1C00001A: "nca_s_fault_context_mismatch",
    0x1C00001B: "nca_s_fault_remote_no_memory",
    0x1C00001C: "nca_s_invalid_pres_context_id",
    0x1C00001D: "nca_s_unsupported_authn_level",
    0x1C00001F: "nca_s_invalid_checksum",
    0x1C000020: "nca_s_invalid_crc",
    0x1C000021: "nca_s_fault_user_defined",
    0x1C000022: "nca_s_fault_tx_open_failed",
    0x1C000023: "nca_s_fault_codeset_conv_error",
    0x1C000024: "nca_s_fault_object_not_found",
    0x1C000025: "nca_s_fault_no_client_stub",
    0x1C010001: "nca_s_comm_failure",
    0x1C010002: "nca_s_op_rng_error",
    0x1C010003: "nca_s_unk_if",
    0x1C010006: "nca_s_wrong_boot_time",
    0x1C010009: "nca_s_you_crashed",
    0x1C01000B: "nca_s_proto_error",
    0x1C010013: "nca_s_out_args_too_big",
    0x1C010014: "nca_s_server_too_busy",
    0x1C010015: "nca_s_fault_string_too_long",
    0x1C010017: "nca_s_unsupported_type",
    0x000006F7: "nca_s_fault_ndr",
    0x00000005: "nca_s_fault_access_denied",
}

# A server's security provider did not take the client for whom it claims to be (RPC_S_SEC_PKG_ERROR, [MS-ERREF] section 2.2).
NOT_AUTHENTICATED = frozenset({0x721})

_NAK_REASONS = {
    0: "reason not specified",
    1: "temporary congestion",
    2: "local limit exceeded",
    3: "called presentation address unknown",
    4: "protocol version not supported",
    5: "default context not supported",
    6: "user data not readable",
    7: "no presentation service access point available",
    8: "authentication type not recognized",
    9: "invalid checksum",
}

_RESULTS = {0: "acceptance", 1: "user rejection", 2: "provider rejection", 3: "negotiate acknowledged"}

_PROVIDER_REASONS = {
    0: "reason not specified",
    1: "abstract syntax not supported",
    2: "proposed transfer syntaxes not supported",
    3: "local limit exceeded",
}


def fault_name(status: int) -> str | None:
    """Returns the name of a DCERPC fault status, None if it has none. Windows servers also send Win32 codes ([MS-RPCE] 2.2.2.8)."""
    return _FAULTS.get(status) or win32_name(status)


def fault_words(status: int) -> str:
    """Says for people that a call ended in a DCERPC fault with this status: `fault nca_s_op_rng_error`, `fault 0x1c00001e`."""
    return f"fault {fault_name(status) or hex(status)}"


def fault_numbers() -> dict[str, int]:
    """Returns the status of each DCERPC fault name. The names are in capitals."""
    return win32_numbers() | {name.upper(): status for status, name in _FAULTS.items()}


def bind_nak_reason(reason: int) -> str:
    """Returns the reason why a whole bind was refused, in words (C706 12.6.3.1 p_reject_reason_t)."""
    return _NAK_REASONS.get(reason, f"reason {reason}")


def bind_result_reason(result: int, reason: int) -> str:
    """Returns the reason why a bind's presentation context was refused (C706 12.6.3.1 p_cont_def_result_t, p_provider_reason_t)."""
    return f"{_RESULTS.get(result, f'result {result}')}: {_PROVIDER_REASONS.get(reason, f'reason {reason}')}"
