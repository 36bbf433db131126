"""Facts that the parameters of one call state, about a registry value or a service.

The data of a value of the remote registry are decoded by type ([MS-RRP] section 3.1.1.5). A Windows service has the program that
it runs ([MS-SCMR] section 3.1.4).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.calls.call import Call, ServiceFacts
from analyzer.results.methods.scmr import QUERYING, START_TYPES
from analyzer.results.methods.winreg import ERROR_SUCCESS, ValueType, WinregOpnum

# ------------------------------------------------------------------------------------------------------ registry values


class RegistryValue(Struct, frozen=True):
    """The facts that a call states about a registry value: its name, type and data, None where the call does not carry them."""

    name: str | None
    kind: int | None
    data: TracedBytes | None

    def content(self) -> Any:
        """Returns among the facts of a call the data of a registry value, by its type: text, a list of texts, or a number. Returns
        bytes if the type is unknown or does not fit."""
        if self.data is None:
            return None
        raw = self.data.data
        match self.kind:
            case ValueType.REG_SZ | ValueType.REG_EXPAND_SZ | ValueType.REG_LINK if len(raw) % 2 == 0:
                return raw.decode("utf-16-le", "replace").rstrip("\0")
            case ValueType.REG_MULTI_SZ if len(raw) % 2 == 0:
                text = raw.decode("utf-16-le", "replace").rstrip("\0")
                return text.split("\0") if text else []
            case ValueType.REG_DWORD if len(raw) == 4:
                return int.from_bytes(raw, "little")
            case ValueType.REG_DWORD_BIG_ENDIAN if len(raw) == 4:
                return int.from_bytes(raw, "big")
            case ValueType.REG_QWORD if len(raw) == 8:
                return int.from_bytes(raw, "little")
        return raw

    @property
    def type_name(self) -> str | None:
        return ValueType.label(self.kind) if self.kind is not None else None


def registry_value(call: Call) -> RegistryValue | None:
    """Returns the facts about a registry value that a winreg call states; None for performance keys and calls about no value."""
    if not call.is_winreg or call.key is not None or call.read is not None:
        return None
    asked = call.request.params if call.request is not None else {}
    given = call.response.params if call.response is not None else {}
    has_answer = call.status == ERROR_SUCCESS
    answer = call.response.buffer if call.response is not None and has_answer else None
    match call.opnum:
        case WinregOpnum.BASE_REG_QUERY_VALUE:
            return RegistryValue(asked.get("lpValueName"), given.get("lpType") if has_answer else None, answer)
        case WinregOpnum.BASE_REG_ENUM_VALUE:
            name, kind = (given.get("lpValueNameOut"), given.get("lpType")) if has_answer else (None, None)
            return RegistryValue(name, kind, answer)
        case WinregOpnum.BASE_REG_SET_VALUE:
            data = call.request.buffer if call.request is not None else None
            return RegistryValue(asked.get("lpValueName"), asked.get("dwType"), data)
        case WinregOpnum.BASE_REG_DELETE_VALUE:
            return RegistryValue(asked.get("lpValueName"), None, None)
    return None


# ------------------------------------------------------------------------------------------------------ service of call


def service_facts(call: Call) -> ServiceFacts | None:
    """Returns the facts that the parameters of a svcctl call state about a service; None for other interfaces, and if nothing is
    known about it."""
    if not call.is_svcctl:
        return None
    params: dict[str, Any] = dict(call.request.params) if call.request is not None else {}
    if call.opnum in QUERYING and call.response is not None:
        params |= call.response.params.get("lpServiceConfig") or {}
    facts = ServiceFacts(
        name=call.path,
        display_name=params.get("lpDisplayName"),
        image_path=params.get("lpBinaryPathName"),
        account=params.get("lpServiceStartName"),
        start=START_TYPES.get(params.get("dwStartType", -1)),
        arguments=tuple(one or "" for one in params["argv"]) if isinstance(params.get("argv"), list) else None,
    )
    return facts if any(getattr(facts, name) for name in facts.__struct_fields__) else None
