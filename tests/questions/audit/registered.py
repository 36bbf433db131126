"""Calls by which a server describes its countersets, for rules that need to know them."""

from collections.abc import Mapping
from struct import pack
from uuid import UUID

from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Block, instance_header, perf_data
from tests.build.calls import COUNTERSET, Calls


def counterset(guid: str, instance_type: int, counters: Mapping[int, int], *, attributes: int = 0) -> bytes:
    """The answer to request code 1: counters by id, each with its type."""
    records = b"".join(
        pack("<IIQIiIIIIII", number, kind, attributes, 100, 0, 0, 0, 0, 0, 0, 0) for number, kind in counters.items()
    )
    return UUID(guid).bytes_le + pack("<4I", 0, 100, len(counters), instance_type) + records


def countersets(
    sets: Mapping[str, tuple[int, Mapping[int, int]]], calls: Calls | None = None, *, attributes: int = 0
) -> list[Exchange]:
    """Registrations by GUID: instance type, and counters with their types."""
    calls = calls or Calls()
    return [
        calls.registration(1, counterset(guid, kind, counters, attributes=attributes), guid=guid)
        for guid, (kind, counters) in sets.items()
    ]


def enumerated(guids: list[str], calls: Calls | None = None) -> Exchange:
    """The answer of EnumerateCounterSet."""
    return (calls or Calls()).enumerate_sets(b"".join(UUID(guid).bytes_le for guid in guids))


def instances(names: Mapping[int, str], calls: Calls | None = None, guid: str = COUNTERSET) -> Exchange:
    """The answer of EnumerateCounterSetInstances: names by instance id."""
    calls = calls or Calls()
    asked = calls.stub().string("\\\\SRV1").uuid(guid).uint(4096)
    listed = b"".join(instance_header(name, number) for number, name in names.items())
    return calls.exchange(2, asked, calls.sized(listed, room=4096))


def polled(
    identifiers: bytes,
    *blocks: Block,
    calls: Calls | None = None,
    clocks: tuple[int, int, int] = (5, 133_541_156_967_890_000, 7),
) -> list[Exchange]:
    """A handle that is opened, reported what it holds, and asked for its data once."""
    calls = calls or Calls()
    return [calls.open_query(), calls.counter_info(identifiers), calls.counter_data(perf_data(list(blocks), clocks))]
