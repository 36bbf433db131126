"""A conversation with everything in it, made anew for each test, and what becomes of it when something is changed."""

from collections.abc import Iterator, Sequence
from struct import pack
from typing import NamedTuple

from msgspec.structs import replace

from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.buffers.field_map import Field
from analyzer.interfaces.call_contents.call_field_maps import buffer_fields, stub_fields
from analyzer.questions.differences.difference_records import Differences
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import SideName
from analyzer.results.methods import scmr
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import (
    Block,
    Counter,
    Instance,
    PerfObject,
    identifier,
    instance_header,
    name_table,
    perf_data,
    string_table,
    wide,
    winperf,
)
from tests.build.calls import COUNTERSET, HANDLE, OTHER_HANDLE, Calls, analysis_of, winreg, with_stub
from tests.build.counters import Info, registration_info
from tests.build.rpc import CHANNEL

INFOS = (Info(1, 0x20510500), Info(4, 0x10000, scale=1))
NAMES = [(1, "% Processor Time"), (4, "ID Process")]
REGISTRY = replace(CHANNEL, number=1)
SERVICES = replace(CHANNEL, number=2, pipe="svcctl")
SERVICE_HANDLE = bytes(4) + b"\x11" * 16


def wire_guid(text: str) -> bytes:
    return identifier(text)[:16]


def polled(*names: str, first: int = 7, clock: int = 5) -> bytes:
    """An answer with two values of each process, the second of which is its id."""
    rows = tuple((pack("<Q", first + at), pack("<I", 100 + at)) for at in range(len(names)))
    instances = tuple((name, at) for at, name in enumerate(names))
    return perf_data(
        [Block(6, ids=(1, 4), instances=instances, values=rows)], (clock, 133_541_156_967_890_000 + clock, 10_000_000)
    )


def block(*names: str, value: int = 7) -> bytes:
    """The object Process of the registry."""
    counters = (Counter(6, 0x20510500, 8), Counter(784, 0x10000, 4))
    found = tuple(Instance(name, -1, (0, 0), (value, 100 + at)) for at, name in enumerate(names))
    return winperf([PerfObject(230, counters, found, clock=(value, 10_000_000))], clocks=(value, 10_000_000, value))


def perflib(processes: Sequence[str] = ("System", "lsass"), *, handle: str = HANDLE, first: int = 7) -> list[Exchange]:
    make = Calls()
    instances = b"".join(instance_header(name, at) for at, name in enumerate(processes))
    added = identifier(COUNTERSET, counter=1, name="*") + identifier(COUNTERSET, counter=4, instance=1, name="*")
    guid = wire_guid(COUNTERSET)
    return [
        make.enumerate_sets(guid),
        make.registration(1, registration_info(*INFOS)),
        make.registration(2, INFOS[1].encoded()),
        make.registration(3, wide("Process"), lcid=0x409),
        make.registration(5, string_table(list(NAMES), from_start=True), lcid=0x409),
        make.registration(7, wide("Provider")),
        make.registration(8, guid),
        make.registration(9, wide("Process V2")),
        make.registration(10, string_table(list(NAMES), from_start=True)),
        make.exchange(2, make.stub().string("\\\\SRV1").uuid(COUNTERSET).uint(4096), make.sized(instances, room=4096)),
        make.open_query(handle),
        make.validate(added, handle=handle),
        make.counter_info(added, handle),
        *(make.counter_data(polled(*processes, first=first + at, clock=at), handle) for at in range(3)),
        make.close_query(handle),
    ]


def registry(processes: Sequence[str] = ("System", "lsass"), *, handle: str = OTHER_HANDLE) -> list[Exchange]:
    make = winreg(channel=REGISTRY, first_frame=100)
    names = name_table([("230", "Process"), ("784", "ID Process")])
    return [
        make.open_key(handle=handle),
        make.query_value("Counter 009", names, handle),
        make.query_value("230", block(*processes), handle),
        make.query_value("230", block(*processes, value=9), handle),
        make.query_value("nothing", None, handle, status=2),
        make.close_key(handle),
    ]


def services(image: str = "C:\\x.exe", status: int = 0) -> list[Exchange]:
    """A service is opened by its name, and what it runs is changed."""
    make = Calls(scmr.INTERFACE, channel=SERVICES, first_frame=200)
    opened_data = SERVICE_HANDLE + _scm_text("FAX") + pack("<I", 0xF01FF)
    path = _scm_text(image)
    changed = SERVICE_HANDLE + pack("<3I", 0xFFFFFFFF, 2, 0xFFFFFFFF) + pack("<I", 0x20000) + path
    changed += bytes(32)
    return [
        make.exchange(16, opened_data, SERVICE_HANDLE + pack("<I", 0)),
        make.exchange(11, changed, bytes(4) + pack("<I", status)),
    ]


def _scm_text(text: str) -> bytes:
    data = f"{text}\0".encode("utf-16-le")
    return pack("<3I", len(text) + 1, 0, len(text) + 1) + data + bytes(-len(data) % 4)


def everything() -> list[Exchange]:
    return [*perflib(), *registry(), *services()]


def difference(a: Sequence[Exchange], b: Sequence[Exchange], *, values: bool = False) -> Differences:
    return Differences(analysis_of(*a), analysis_of(*b, files=("other.pcap",)), counts_values=values)


def told(found: Differences) -> list[str]:
    """Each difference in a line: what it is about, its kind, its name, and what differs."""
    return [
        " ".join(
            [record.about, record.kind, record.name]
            + [f"{one.name}={one.a}|{one.b}" for one in record.properties]
            + [f"{one.path}={one.a}|{one.b}" for one in record.fields if not one.follows]
        )
        for record in found.found
    ]


class Leaf(NamedTuple):
    """A field without fields in it: the position of its exchange, and its bytes in the stub."""

    at: int
    side: SideName
    field: Field
    start: int
    parent: str

    @property
    def name(self) -> str:
        method = f"{self.at} {self.side}"
        return f"{method} {self.parent}.{self.field.name} at {self.start}"


def leaves(analysis: Analysis) -> Iterator[Leaf]:
    """The fields of all stubs and buffers."""
    for at, call in enumerate(analysis.calls):
        for side, message in (("request", call.request), ("response", call.response)):
            name: SideName = "request" if side == "request" else "response"
            stub = stub_fields(call, name)
            if message is None or stub is None:
                continue
            buffer = buffer_fields(message)
            for field, parent in _leaves(stub.root):
                if buffer is None or field.spelling != "(elements)" or field.type == "text":
                    yield Leaf(at, name, field, field.start, parent)
            if buffer is not None and message.buffer_span is not None:
                for field, parent in _leaves(buffer.root):
                    yield Leaf(at, name, field, message.buffer_span[0] + field.start, parent)


def _leaves(root: Field) -> Iterator[tuple[Field, str]]:
    for child in root.children:
        if child.children:
            yield from _leaves(child)
        elif child.length:
            yield child, root.type


def with_bytes(exchange: Exchange, side: SideName, start: int, data: bytes) -> Exchange:
    """The exchange with other bytes from a place of a stub on."""
    message = exchange.request if side == "request" else exchange.response
    stub = message.stub
    assert isinstance(stub, TracedBytes)
    changed = stub.data[:start] + data + stub.data[start + len(data) :]
    traced = TracedBytes.of_frame(changed, message.first_frame, 100, message.first_time_ns)
    return replace(exchange, **{side: with_stub(message, traced)})
