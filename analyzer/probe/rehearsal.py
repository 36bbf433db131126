"""Nobody, as the probe sees a server: every call succeeds, so that a dry run comes by everything the script would send."""

from __future__ import annotations

from struct import pack
from uuid import UUID

from analyzer.core.dcerpc import NDR, NDR64
from analyzer.probe.stubs import context_handle
from analyzer.probe.talk import Impersonation
from analyzer.probe.wire import BoundStream, Credentials, OfferedContext, Reply
from analyzer.results import perflib

_SETS = (("00000000-0000-4000-8000-000000000001", 2), ("00000000-0000-4000-8000-000000000002", 0))
_HANDLE = context_handle("00000000-0000-4000-8000-0000000000aa")


class _Nothing:
    """A stream that carries nothing."""

    def send(self, data: bytes) -> None:
        raise AssertionError("a rehearsal sends nothing")

    def receive(self) -> bytes:
        raise AssertionError("a rehearsal receives nothing")

    def close(self) -> None:
        return


class _Answers(BoundStream):
    """An association whose answers are made up."""

    def __init__(self, credentials: Credentials) -> None:
        super().__init__(_Nothing(), credentials)
        self._offered: list[OfferedContext] = []

    def bind(self, context: OfferedContext, level: int = 6) -> int | None:
        if context.transfer not in (NDR, NDR64):
            return None
        self._offered.append(context)
        return len(self._offered) - 1

    def is_ndr64(self, context: int) -> bool:
        return self._offered[context].transfer == NDR64

    def call(self, context: int, opnum: int, stub: bytes) -> Reply:
        ndr64 = self.is_ndr64(context)
        if self._offered[context].interface[0] != perflib.INTERFACE:
            return Reply(_HANDLE + bytes(4), opnum=opnum, ndr64=ndr64)
        return Reply(_answer(opnum, stub, ndr64), opnum=opnum, ndr64=ndr64)


class Rehearsal:
    """Opens associations to nobody."""

    def open(self, credentials: Credentials, pipe: str, impersonation: Impersonation) -> BoundStream:
        return _Answers(credentials)


def _answer(opnum: int, stub: bytes, ndr64: bool) -> bytes:
    """What a server with two countersets answers."""
    data, size = b"", 1
    match opnum:
        case 0:
            data, size = b"".join(UUID(guid).bytes_le for guid, _ in _SETS), 16
        case 1:
            guid, kind = next((one for one in _SETS if UUID(one[0]).bytes_le in stub), _SETS[0])
            counter = pack("<IIQIiIIIIII", 1, 0x10000, 0, 100, 0, 0, 0, 0, 0, 0, 0)
            data = UUID(guid).bytes_le + pack("<4I", 0, 100, 1, kind) + counter
        case 2:
            data = pack("<II", 16, 0) + "a\0".encode("utf-16-le") + bytes(4)
        case 3 | 4:
            return _HANDLE + bytes(4)
        case 6:
            data = pack("<IIQQQ16x", 48, 0, 0, 0, 1)
        case 7:
            return bytes(12 if ndr64 else 8)
        case _:
            pass
    counts = pack("<QQQ" if ndr64 else "<III", len(data) // size, 0, len(data) // size)
    return pack("<II", len(data) // size, len(data) // size) + counts + data + bytes(-len(data) % 4 + 4)
