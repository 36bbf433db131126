"""A conversation in which nothing is wrong: every method, every form of answer, and two PERF_DATA_BLOCKs over [MS-RRP]."""

from struct import pack
from uuid import UUID

from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.results.security import AuthLevel
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, perf_data, string_table, wide, winperf
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, winreg
from tests.questions.audit.handles import bound, closed
from tests.questions.audit.registered import enumerated, instances

MULTIPLE, SINGLE = COUNTERSET, OTHER_COUNTERSET
ALL = 0xFFFFFFFF
# 2024-03-05 12:34:56.789 UTC, when the conversation begins.
NOW = 133_541_156_967_890_000
BEGUN_NS = (NOW - 116_444_736_000_000_000) * 100
FREQUENCY = 10_000_000

RAW, BULK, FRACTION, BASE, SAMPLE, SAMPLE_BASE = 0x10000, 0x10410500, 0x20020400, 0x40030403, 0x20C20400, 0x40030401


def u4(value: int) -> bytes:
    return value.to_bytes(4, "little")


def u8(value: int) -> bytes:
    return value.to_bytes(8, "little")


def counter(number: int, kind: int, base: int = 0) -> bytes:
    """A _PERF_COUNTER_REG_INFO (2.2.4.2)."""
    return pack("<IIQIiIIIIII", number, kind, 0, 100, 0, base, 0, 0, 0, 0, 0)


COUNTERS = (counter(1, RAW), counter(2, BULK), counter(3, SAMPLE, 4), counter(4, SAMPLE_BASE))


def record(guid: str, kind: int, *counters: bytes) -> bytes:
    """A _PERF_COUNTERSET_REG_INFO (2.2.4.1) with its counters."""
    return UUID(guid).bytes_le + pack("<4I", 0, 100, len(counters), kind) + b"".join(counters)


HELD = (
    identifier(MULTIPLE, counter=1, instance=ALL, name="a"),
    identifier(MULTIPLE, counter=ALL, instance=ALL, name="b"),
    identifier(MULTIPLE, counter=2, instance=ALL, name="*"),
    identifier(MULTIPLE, counter=ALL, instance=ALL, name="*"),
    identifier(SINGLE, counter=1, name=""),
)
LATER = identifier(MULTIPLE, counter=2, instance=ALL, name="a")


def positioned(held: tuple[bytes, ...]) -> bytes:
    """The same identifiers, as QueryCounterInfo states their positions."""
    return b"".join(one[:32] + u4(number) + one[36:] for number, one in enumerate(held))


def answer(poll: int, *, last: bool = True) -> bytes:
    row = (u4(poll), u8(1 << 20), u4(3), u4(4))
    both = (("a", 0), ("b", 1))
    blocks = [
        Block(1, values=((u4(poll),),)),
        Block(2, ids=(1, 2, 3, 4), values=(row,)),
        Block(4, instances=both, values=((u8(7),), (u8(8),))),
        Block(6, ids=(1, 2, 3, 4), instances=both, values=(row, row)),
        Block(0, status=0x1069),
    ]
    # Half a second by both clocks from one to the next, so that the moment in words is never more than one off.
    ticks, now = (100 + poll) * FREQUENCY // 2, NOW + poll * 5_000_000
    return perf_data(blocks if last else blocks[:-1], (ticks, now, FREQUENCY))


def perflib() -> list[Exchange]:
    """Every PerflibV2 method, in the order of a client that knows what it does."""
    calls = Calls(level=AuthLevel.PRIVACY)
    names = string_table([(1, "one"), (2, "two"), (3, "three"), (4, "four")], from_start=False)
    made = [
        enumerated([MULTIPLE, SINGLE], calls),
        calls.registration(1, record(MULTIPLE, 2, *COUNTERS)),
        calls.registration(1, record(SINGLE, 0, counter(1, RAW)), guid=SINGLE),
        calls.registration(2, counter(2, BULK), lcid=2),
        calls.registration(3, wide("Name of it"), lcid=0x409),
        calls.registration(5, names, lcid=0x409),
        calls.registration(7, wide("provider")),
        calls.registration(8, UUID(MULTIPLE).bytes_le),
        calls.registration(10, names),
        instances({0: "a", 1: "b"}, calls),
        calls.open_query(),
        calls.validate(b"".join(HELD)),
        calls.counter_info(positioned(HELD)),
        calls.counter_data(answer(0)),
        calls.counter_data(answer(1)),
        calls.validate(HELD[4], add=0),
        calls.validate(LATER),
        calls.validate(LATER, add=0),
        calls.counter_info(positioned(HELD[:4])),
        calls.counter_data(answer(2, last=False)),
        calls.close_query(),
    ]
    return [in_time(call) for call in made]


def registry() -> list[Exchange]:
    """A performance key read twice over [MS-RRP]."""
    calls = winreg(first_frame=1000, level=AuthLevel.PRIVACY)
    counters = (Counter(784, RAW, 4), Counter(6, FRACTION, 4), Counter(8, BASE, 4))
    objects = [PerfObject(230, counters, (Instance("a", 1, (0, 0), (7, 8, 9)), Instance("b", 2, (0, 0), (4, 5, 6))))]
    made = [calls.open_key(), *(calls.query_value("230", winperf(objects)) for _ in range(2)), calls.close_key()]
    return [in_time(call) for call in made]


def full_conversation() -> list[Event]:
    return [replace(bound(), offered=("ndr",)), *perflib(), closed()]


def in_time(call: Exchange) -> Exchange:
    """The same call at the time the headers of its answers state."""
    moved = {}
    for side in ("request", "response"):
        message = getattr(call, side)
        if message is not None:
            times = {name: getattr(message, name) + BEGUN_NS for name in ("first_time_ns", "last_time_ns")}
            moved[side] = replace(message, **times)
    return replace(call, **moved)
