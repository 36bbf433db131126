"""What a call of the service control manager is about: a call in, the service out, with what it runs ([MS-SCMR] section 3.1.4)."""

from __future__ import annotations

from typing import Any

from analyzer.results.calls.call import Call, ServiceFacts
from analyzer.results.methods.scmr import QUERYING, START_TYPES


def service_facts(call: Call) -> ServiceFacts | None:
    """The service of a call, None for calls of other interfaces, and where neither name nor anything else is known."""
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
