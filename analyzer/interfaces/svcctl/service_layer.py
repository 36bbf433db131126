"""The layer of the service control manager: exchanges in, decoded calls out ([MS-SCMR] section 3.1.4); all else passes unchanged.

These calls share the SMB session with performance calls. A responder asks for them next: which service was created, from which
file, and who started it. Handles are followed to the names of their services.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.events import Event
from analyzer.core.printable_text import guid_text
from analyzer.core.session_and_handle_numbers import Numbers
from analyzer.interfaces.buffers.stub_decoding import decode_stub
from analyzer.interfaces.calls_from_exchanges import decoded_call, decoded_side, plain_call
from analyzer.results.calls.call import Call, handle_of
from analyzer.results.methods.scmr import (
    CREATING,
    DECODED,
    ERROR_SUCCESS,
    INTERFACE,
    OPENING,
    OPENING_MANAGER,
    ScmrOpnum,
)
from analyzer.transport.rpc.exchange_maker import Exchange

# A context handle: attributes and a UUID (C706 appendix N).
_HANDLE_BYTES = 20
# A client that opens services without end must not make us hold all their names; the oldest is forgotten.
MAX_HANDLES = 65_536
_decode = partial(decode_stub, "svcctl")


class ServiceLayer:
    """Decodes svcctl exchanges, and follows their handles to the names of services."""

    takes: ClassVar[frozenset[type[Event]]] = frozenset({Exchange})

    def __init__(self, numbers: Numbers | None = None) -> None:
        """`numbers` gives out the numbers of service handles."""
        # By server and handle: the number of the handle, and the name of its service (the manager's has none).
        self._handles: dict[tuple[str, str], tuple[int, str | None]] = {}
        self._numbers = (numbers or Numbers()).services

    def feed(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Exchange) and event.interface == INTERFACE:
            yield self._followed(service_call(plain_call(event)))
        else:
            yield event

    def finish(self) -> Iterator[Event]:
        return iter(())

    def _followed(self, call: Call) -> Call:
        """The svcctl call with the name of its service and the number of its handle."""
        server, opnum = call.server.ip, call.opnum
        given = handle_of(call.response, "lpServiceHandle") or handle_of(call.response, "lpScHandle")
        used = handle_of(call.request, "hService") or handle_of(call.request, "hSCObject")
        if opnum not in DECODED:
            used = self._first_handle(call)
        number, name = self._handles.get((server, used), (None, None)) if used is not None else (None, None)
        if used is not None and number is None:
            number = self._learn((server, used), None)
        if opnum in OPENING or opnum in CREATING:
            named = call.request.params.get("lpServiceName") if call.request is not None else None
            name = named if isinstance(named, str) else None
        if call.status == ERROR_SUCCESS and given is not None and (opnum in OPENING_MANAGER or name is not None):
            # Others may have changed the name or the handle.
            number = self._learn((server, given), name if not call.is_altered else None)
        if opnum == ScmrOpnum.CLOSE_SERVICE_HANDLE and used is not None and call.status == ERROR_SUCCESS:
            self._handles.pop((server, used), None)
        return replace(call, path=name, key_number=number)

    def _first_handle(self, call: Call) -> str | None:
        """Returns the service handle at the beginning of an undecoded request, if the server gave out such a handle."""
        side = call.request
        if side is None or side.missing is not None or side.big_endian:
            return None
        stub = side.stub
        if isinstance(stub, Missing) or len(stub) < _HANDLE_BYTES:
            return None
        handle = guid_text(stub.part(4, _HANDLE_BYTES))
        return handle if (call.server.ip, handle) in self._handles else None

    def _learn(self, place: tuple[str, str], name: str | None) -> int:
        """Notes a service handle with the name of its service; returns its number."""
        self._handles.pop(place, None)
        if len(self._handles) >= MAX_HANDLES:
            del self._handles[next(iter(self._handles))]
        number = next(self._numbers)
        self._handles[place] = number, name
        return number


def service_call(call: Call) -> Call:
    """Decodes a call of the service control manager."""
    request, _ = decoded_side(call.request, call, "request", DECODED, _decode)
    response = call.response
    if call.fault is None:
        response, _ = decoded_side(response, call, "response", DECODED, _decode)
    return decoded_call(call, request, response)
