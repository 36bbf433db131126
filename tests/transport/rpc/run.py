"""Runs the RPC layer over channel events and sorts what it emits."""

from collections.abc import Iterable
from typing import Any

from analyzer.auth.keyring import Keyring
from analyzer.core.events import Event, Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.calls.call import Side
from analyzer.results.connection import Bound, Pdu
from analyzer.transport.rpc.exchange_maker import Exchange
from analyzer.transport.rpc.rpc_layer import RpcLayer
from tests.build.rpc import Conversation, ToyKeys


def reported(events: Conversation | Iterable[Event], keys: ToyKeys | None = None, **options: Any) -> list[Event]:
    """Everything the layer emits, with the toy security provider."""
    layer = RpcLayer(Keyring(), begin=(keys or ToyKeys()).begin, **options)
    out: list[Event] = []
    for event in events.events if isinstance(events, Conversation) else events:
        out.extend(layer.feed(event))
    out.extend(layer.finish())
    return out


def calls(events: Conversation | Iterable[Event], keys: ToyKeys | None = None, **options: Any) -> list[Exchange]:
    return [event for event in reported(events, keys, **options) if isinstance(event, Exchange)]


def only_call(events: Conversation | Iterable[Event], keys: ToyKeys | None = None, **options: Any) -> Exchange:
    (call,) = calls(events, keys, **options)
    return call


def problems(events: Conversation | Iterable[Event], keys: ToyKeys | None = None, **options: Any) -> list[Problem]:
    return [event for event in reported(events, keys, **options) if isinstance(event, Problem)]


def bounds(events: Conversation | Iterable[Event]) -> list[Bound]:
    return [event for event in reported(events) if isinstance(event, Bound)]


def pdus(events: Conversation | Iterable[Event]) -> list[Pdu]:
    return [event for event in reported(events) if isinstance(event, Pdu)]


def stub(message: Side | None) -> bytes:
    """The stub's bytes, which must be there."""
    assert isinstance(message.stub, TracedBytes), message.stub
    return message.stub.data
