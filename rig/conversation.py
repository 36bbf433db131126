"""What a client of the rig asks, drawn from a seed, one request after another: the same conversation for every stack.

`conversation` is a generator. It yields requests, is sent what came back, and knows the parameters of each as it wrote them.
"""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from typing import Any

from msgspec import Struct

from analyzer.core.dcerpc_encoding import NdrWriter
from analyzer.probe.probe_calls import context_handle, identifier, query_value
from rig.model import Model, SetTruth
from tests.truth import PCQ, WINREG

MACHINE = "\\\\RIG"
UNKNOWN = "00000000-dead-4bad-8bad-00000000beef"
FOREIGN = context_handle("00000000-dead-4bad-8bad-0000000000fe")
ROOM = 1 << 16


class Request(Struct, frozen=True):
    """A call to be made. `params` has the parameters as [MS-PCQ] names them, without buffers and handles."""

    interface: str
    opnum: int
    stub: bytes
    params: dict[str, Any]
    handle: bytes = b""


class Reply(Struct, frozen=True):
    """What came back: the stub of a response, or the status of a fault."""

    stub: bytes = b""
    fault: int | None = None
    big: bool = False

    @property
    def status(self) -> int | None:
        return int.from_bytes(self.stub[-4:], "big" if self.big else "little") if self.fault is None else None


Script = Generator[Request, Reply, None]


class Wishes(Struct, frozen=True):
    """What a conversation is to have: interfaces, polls, and (for a client that can send it) a call of no method."""

    seed: int
    pcq: bool = True
    winreg: bool = True
    polls: int = 3
    ndr64: bool = False
    faults: bool = True
    big: bool = False


class _Writer:
    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes

    def stub(self) -> NdrWriter:
        return NdrWriter(ndr64=self._wishes.ndr64, order="big" if self._wishes.big else "little")

    def enumerate(self, room: int) -> Request:
        stub = self.stub().string(MACHINE).uint(room)
        return Request(PCQ, 0, stub.data, {"szMachine": MACHINE, "dwInSize": room})

    def register(self, guid: str, code: int, language: int, room: int = ROOM) -> Request:
        stub = self.stub().string(MACHINE).uuid(guid).uint(code).uint(language).uint(room)
        params = {"szMachine": MACHINE, "CounterSetGuid": guid, "RequestCode": code, "RequestLCID": language}
        return Request(PCQ, 1, stub.data, {**params, "dwInSize": room})

    def instances(self, guid: str, room: int = ROOM) -> Request:
        stub = self.stub().string(MACHINE).uuid(guid).uint(room)
        return Request(PCQ, 2, stub.data, {"szMachine": MACHINE, "CounterSetGuid": guid, "dwInSize": room})

    def open(self) -> Request:
        return Request(PCQ, 3, self.stub().string(MACHINE).data, {"szMachine": MACHINE})

    def on_handle(self, opnum: int, handle: bytes, room: int | None = None) -> Request:
        stub = self.stub().handle(handle)
        if room is None:
            return Request(PCQ, opnum, stub.data, {}, handle)
        return Request(PCQ, opnum, stub.uint(room).data, {"dwInSize": room}, handle)

    def validate(self, handle: bytes, identifiers: bytes, add: int) -> Request:
        stub = self.stub().handle(handle).uint(len(identifiers)).conformant(identifiers).uint(add)
        return Request(PCQ, 7, stub.data, {"dwInSize": len(identifiers), "dwAdd": add}, handle)


def conversation(model: Model, wishes: Wishes) -> Script:
    """All that is asked of this server."""
    rng = Random(f"conversation {wishes.seed}")
    writer = _Writer(wishes)
    if wishes.pcq:
        yield from _registered(model, writer, rng)
        yield from _query(model, writer, rng, wishes)
    if wishes.winreg:
        yield from _winperf(model, writer, rng, wishes)


def _registered(model: Model, writer: _Writer, rng: Random) -> Script:
    yield writer.enumerate(rng.randint(0, len(model.sets) - 1))
    yield writer.enumerate(256)
    for guid, found in model.told.items():
        yield writer.register(guid, 1, 0)
        if rng.random() < 0.5:
            yield writer.register(guid, 1, 0, rng.randint(0, 32))
        for code in (3, 5, *rng.sample((4, 6, 7, 8, 9, 10), 2)):
            yield writer.register(guid, code, 0x409 if code < 7 else 0)
        yield writer.register(guid, 2, rng.choice(found.counters).number)
        yield writer.instances(guid)
    yield rng.choice(
        [
            writer.register(UNKNOWN, 1, 0),
            writer.instances(UNKNOWN),
            writer.register(model.sets[0], 3, 0x7FFF),
            writer.register(model.sets[0], 2, 0xFFF0),
        ]
    )


def _identifiers(found: SetTruth, rng: Random) -> list[bytes]:
    """Some of the ways in which counters of a counterset are asked for."""
    one = rng.choice(found.counters).number
    if found.instances is None:
        made = [identifier(found.guid, counter=one, instance=0, name=""), identifier(found.guid, instance=0, name="")]
    else:
        name = rng.choice(list(found.instances))
        made = [
            identifier(found.guid, counter=one, name=name),
            identifier(found.guid, name=name),
            identifier(found.guid, counter=one, name="*"),
            identifier(found.guid, name="*"),
        ]
    return rng.sample(made, rng.randint(1, len(made)))


def _query(model: Model, writer: _Writer, rng: Random, wishes: Wishes) -> Script:
    opened = yield writer.open()
    if opened.status != 0:
        return
    handle = opened.stub[:20]
    wanted = [one for found in model.told.values() for one in _identifiers(found, rng)]
    rng.shuffle(wanted)
    if rng.random() < 0.5:
        wanted.append(identifier(UNKNOWN, counter=1, name="*"))
    half = rng.randint(1, len(wanted))
    for some in (wanted[:half], wanted[half:]):
        if some:
            yield writer.validate(handle, b"".join(some), 1)
    yield writer.on_handle(5, handle, ROOM)
    yield writer.on_handle(6, handle, 16)
    for number in range(wishes.polls):
        model.move()
        yield writer.on_handle(6, handle, 1 << 20)
        if number == 0 and len(wanted) > 2:
            yield writer.validate(handle, wanted[0], 0)
            yield writer.on_handle(5, handle, ROOM)
    yield writer.on_handle(4, handle)
    if wishes.faults:
        yield writer.on_handle(6, rng.choice((handle, FOREIGN)), ROOM)


def _winperf(model: Model, writer: _Writer, rng: Random, wishes: Wishes) -> Script:
    opened = yield Request(WINREG, 3, writer.stub().null().uint(0x02000000).data, {})
    if opened.status != 0:
        return
    handle = opened.stub[:20]
    for _ in range(wishes.polls):
        model.move()
        name = rng.choice(("Global", "1000", "1000 1100"))
        yield Request(WINREG, 17, _value(writer, handle, name, wishes), {"lpValueName": name}, handle)
    yield Request(WINREG, 5, writer.stub().handle(handle).data, {}, handle)


def _value(writer: _Writer, handle: bytes, name: str, wishes: Wishes) -> bytes:
    """BaseRegQueryValue with room for all of it."""
    if not wishes.big:
        return query_value(handle, name, 1 << 16, ndr64=wishes.ndr64)
    stub = writer.stub().handle(handle).unicode_string(name, 0).pointer(1).uint(0)
    return stub.pointer(2).count(1 << 16).count(0).count(0).pointer(3).uint(1 << 16).pointer(4).uint(0).data
