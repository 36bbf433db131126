"""Maps the fields of a call's stub and buffer to their bytes: chooses the layout of a side, and returns its map."""

from __future__ import annotations

from analyzer.core.absence import Missing
from analyzer.core.error_code_names import win32_name
from analyzer.interfaces.buffers.field_map import FieldMap, StubKind, map_fields
from analyzer.interfaces.buffers.stub_decoding import Interface
from analyzer.interfaces.call_contents.damaged_buffers import buffer_order
from analyzer.results.calls.call import Call, Side, SideName
from analyzer.results.methods import perflib, scmr, winreg

_INTERFACES: dict[str, Interface] = {
    perflib.INTERFACE: "perflib-v2",
    winreg.INTERFACE: "winreg",
    scmr.INTERFACE: "svcctl",
}


def stub_fields(call: Call, name: SideName) -> FieldMap | None:
    """Returns a map of the fields in the stub of a call's side, up to its damage if it has some.

    Returns None if there is no stub, if nothing of it decodes, or if its layout is unknown. That is so for calls of other
    interfaces, for unknown methods, and for answers that are faults: these carry no stub of the method (C706 section 12.6.4.7).
    """
    side = call.request if name == "request" else call.response
    interface = _INTERFACES.get(call.interface.uuid or "")
    if side is None or call.opnum is None or interface is None:
        return None
    if name == "response" and call.fault is not None:
        return None
    stub = side.stub
    if isinstance(stub, Missing):
        return None
    kind = StubKind(interface, call.opnum, name, call.syntax == "ndr64", side.big_endian)
    try:
        fields = map_fields(kind, stub.data, status_name=status_name)
    except KeyError:
        return None
    return fields if fields.root.children else None


def buffer_fields(side: Side) -> FieldMap | None:
    """Returns a map of the fields in a call's `lpData`; None if there is none, or if its kind is unknown."""
    if side.buffer_span is None or side.buffer_kind is None:
        return None
    return map_fields(side.buffer_kind, side.buffer_data, big_endian=buffer_order(side), status_name=status_name)


def status_name(status: int) -> str:
    """Returns the name of the Win32 status of a call, for the map of its fields; `error 4711` if we know no name."""
    return win32_name(status) or f"error {status}"
