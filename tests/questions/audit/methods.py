"""Stubs of every PerflibV2 method, for rules that judge the same thing of several."""

from typing import Any

from msgspec.structs import replace

from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Ndr
from tests.build.calls import COUNTERSET, HANDLE, MACHINE, NO_HANDLE, Calls

NAMING = (0, 1, 2, 3)


def request(calls: Calls, opnum: int, size: int = 64, *, name: Ndr | None = None) -> Ndr:
    """A request that offers a buffer of `size`; `name` is a stub that holds the name of the machine already."""
    stub = calls.stub()
    if opnum in NAMING:
        stub = name if name is not None else stub.string(MACHINE)
    match opnum:
        case 0:
            return stub.uint(size)
        case 1:
            return stub.uuid(COUNTERSET).uint(1).uint(0).uint(size)
        case 2:
            return stub.uuid(COUNTERSET).uint(size)
        case 3:
            return stub
        case 4:
            return stub.handle(HANDLE)
        case 7:
            return stub.handle(HANDLE).uint(size).conformant(bytes(size if size < 1000 else 0)).uint(1)
    return stub.handle(HANDLE).uint(size)


def response(calls: Calls, opnum: int, status: int = 0, size: int = 64) -> Ndr:
    """An answer without data to a request that offered `size`."""
    match opnum:
        case 3:
            return calls.stub().handle(HANDLE).uint(status)
        case 4:
            return calls.stub().handle(NO_HANDLE).uint(status)
        case 7:
            return calls.stub().conformant(bytes(size)).uint(status)
    return calls.sized(b"", status, room=size, element=16 if opnum == 0 else 1)


def call(opnum: int, calls: Calls | None = None, *, status: int = 0) -> Exchange:
    """A whole call."""
    calls = calls if calls is not None else Calls()
    return calls.exchange(opnum, request(calls, opnum), response(calls, opnum, status))


# Where the trailer of an OpenQueryHandle request stands: 24 bytes of header, 26 of stub, padded to 16.
TRAILER = 56


def patched(message: Any, at: int, value: bytes) -> Any:
    """The message with other bytes in its only PDU."""
    (fragment,) = message.pdus
    data = fragment.pdu.data[:at] + value + fragment.pdu.data[at + len(value) :]
    return replace(message, pdus=(replace(fragment, pdu=fragment.pdu.replaced(data, "test")),))
