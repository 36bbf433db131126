"""What is said of calls: a line for each call and for what is stated beside it."""

import re
from collections.abc import Iterable, Iterator

from analyzer.core.absence import Missing
from analyzer.core.events import Event
from analyzer.results.calls.call import Call, Side
from analyzer.results.registry_and_service_facts import registry_value, service_facts


def said(calls: Iterable[Event]) -> Iterator[str]:
    """Of each call its method and how it ended, its key or handle, its two sides, and the values in it."""
    for call in calls:
        if not isinstance(call, Call):
            yield repr(call)
            continue
        why = f" ({call.reason})" if call.reason else ""
        names = {"fault": call.fault, "handle": call.handle, "key": call.key, "path": call.path}
        marks = [f"{name} {value}" for name, value in names.items() if value is not None]
        if call.read is not None:
            marks.append(f"read {call.read.number}.{call.read.attempt} of {call.read.value_name!r}")
        yield ", ".join([f"{call.opnum} {call.method}: {call.state}{why}", f"status {call.status}", *marks])
        for name, side in (("asks", call.request), ("says", call.response)):
            if side is not None:
                yield f"  {name} {_of_side(side)}"
        if call.is_winreg and (value := registry_value(call)) is not None:
            yield f"  value {value.name!r} {value.type_name}: {_short(value.content())}"
        if (facts := service_facts(call)) is not None:
            yield f"  {facts}"


def _of_side(side: Side) -> str:
    if isinstance(side.stub, Missing):
        return side.stub.name
    params = ", ".join(f"{name}={_short(value)}" for name, value in side.params.items())
    buffer = f" {side.buffer_kind} of {len(side.buffer.data)}" if side.buffer is not None else ""
    problem = f" ({side.problem})" if side.problem is not None else ""
    return f"{len(side.stub)} bytes{f': {params}' if params else ''}{buffer}{problem}"


def _short(value: object) -> str:
    if isinstance(value, dict) and "uuid" in value:
        return f"<{value['uuid'][:8]}>"
    shown = repr(value)
    return shown if len(shown) < 50 else f"{shown[:40]}...{len(shown)}"


def without_lengths(lines: Iterable[str]) -> list[str]:
    """What is said of calls, without the lengths of their stubs, which differ between transfer syntaxes."""
    return [re.sub(r"\d+ bytes", "bytes", line) for line in lines]
