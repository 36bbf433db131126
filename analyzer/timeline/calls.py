"""Calls of every interface in the order of their request's first frame."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from analyzer.rpc.call import Call, plain_side
from analyzer.rpc.events import Exchange
from analyzer.rpc.interfaces import interface_name, method_name


def plain_call(exchange: Exchange) -> Call:
    """A call of an interface whose stubs are not decoded: its names, its bytes, no return value."""
    interface, opnum = exchange.interface, exchange.opnum
    return Call(
        exchange,
        interface_name(interface, exchange.version) if interface is not None else None,
        method_name(interface, opnum) if interface is not None and opnum is not None else None,
        exchange.state,
        exchange.reason,
        None,
        plain_side(exchange.request),
        plain_side(exchange.response),
    )


def sort_calls(calls: Iterable[Call]) -> tuple[Call, ...]:
    """By the first frame of the request (of the response where that is all there is), then as they completed."""
    by_time = sorted(calls, key=_first_time)
    # Frames are looked up only where times do not tell.
    if any(_first_time(one) == _first_time(other) for one, other in pairwise(by_time)):
        by_time.sort(key=_order)
    return tuple(by_time)


def _first_time(call: Call) -> int:
    return call.exchange.first_time_ns


def _order(call: Call) -> tuple[int, int]:
    side = call.request or call.response
    assert side is not None
    return side.message.first_time_ns, side.message.first_frame
