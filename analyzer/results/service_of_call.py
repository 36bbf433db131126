"""The Windows service that a svcctl call is about, with the program that it runs ([MS-SCMR] section 3.1.4)."""

from __future__ import annotations

from typing import Any

from analyzer.results.calls.call import Call, ServiceFacts
from analyzer.results.methods.scmr import QUERYING, START_TYPES


def service_facts(call: Call) -> ServiceFacts | None:
    """Returns the service that a svcctl call is about; None for other interfaces, and if nothing is known about it."""
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
