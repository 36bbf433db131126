"""What a call of the service control manager asked and was answered, in words for people."""

from __future__ import annotations

from typing import Any

from analyzer.results.call import Call
from analyzer.results.scmr import (
    CHANGING,
    CONTROLS,
    CREATING,
    OPENING_MANAGER,
    QUERYING,
    SERVICE_NO_CHANGE,
    START_TYPES,
    STARTING,
    STATES,
    ScmrOpnum,
    service_type_words,
)

_SHOWN_TEXT = 200


def service_request_words(call: Call) -> str:
    """The service, and what is to become of it."""
    params = call.request.params if call.request is not None else {}
    opnum = call.opnum
    if opnum in OPENING_MANAGER:
        return _text(params.get("lpMachineName"))
    name = f'"{_text(call.path)}"' if call.path is not None else ""
    words = [name] if name else []
    if opnum in CREATING or opnum in CHANGING:
        return f"{name} {', '.join(_settings(params))}".strip()
    if opnum in STARTING and params.get("argv"):
        words.append("with " + ", ".join(f'"{_text(one)}"' for one in params["argv"]))
    if opnum == ScmrOpnum.CONTROL_SERVICE:
        control = params.get("dwControl")
        words.append(CONTROLS.get(control, f"control {control}") if isinstance(control, int) else "")
    return " ".join(words)


def service_answer_words(call: Call) -> str:
    """The state of the service, or how it is configured."""
    params = call.response.params if call.response is not None else {}
    status = params.get("lpServiceStatus")
    if isinstance(status, dict) and call.status == 0:
        state, code = status["dwCurrentState"], status["dwWin32ExitCode"]
        return STATES.get(state, f"state {state}") + (f", exit code {code}" if code else "")
    config = params.get("lpServiceConfig")
    if call.opnum in QUERYING and isinstance(config, dict) and call.status == 0:
        return ", ".join(_settings(config))
    return ""


def _settings(params: dict[str, Any]) -> list[str]:
    """What a service runs, as whom and when, as far as it is stated."""
    found = []
    if display := params.get("lpDisplayName"):
        found.append(f'shown as "{_text(display)}"')
    if path := params.get("lpBinaryPathName"):
        found.append(f'runs "{_text(path)}"')
    if (kind := params.get("dwServiceType")) not in (None, SERVICE_NO_CHANGE):
        found.append(service_type_words(kind))
    if (start := params.get("dwStartType")) not in (None, SERVICE_NO_CHANGE):
        found.append(f"start {START_TYPES.get(start, start)}")
    if account := params.get("lpServiceStartName"):
        found.append(f"as {_text(account)}")
    return found


def _text(text: Any) -> str:
    """One line of it; `show` has the whole."""
    line = " ".join(str(text or "").split())
    return line if len(line) <= _SHOWN_TEXT else line[: _SHOWN_TEXT - 1] + "…"
