"""A remote call with its meaning: an exchange whose stubs were decoded where this program knows the interface.

The decoded parameters are kept; what lies in a buffer parameter (`lpData`) is kept as traced bytes with the name of its
kind and decoded when somebody looks, so that a long capture costs its bytes and not their trees.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct

from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.rpc.events import Exchange, ExchangeState, Message


class CallSide(Struct, frozen=True):
    """The request or the response of a call.

    `stub` is the message's stub without what precedes a verification trailer as alignment; `params` is keyed by the IDL's
    spelling. `buffer` is the content of `lpData` and `buffer_kind` what it is laid out as (a kind of `analyzer.buffers`, None
    where it is not known); `fault` tells why the stub could not be decoded.
    """

    message: Message
    stub: TracedBytes | Missing
    params: dict[str, Any]
    buffer: TracedBytes | None = None
    buffer_kind: str | None = None
    trouble: DecodeError | None = None


class Call(Event, frozen=True):
    """One call of any interface. `status` is the method's return value; `state` and `reason` as in the exchange, or
    `malformed` where a stub was had but does not decode."""

    exchange: Exchange
    interface_name: str | None
    method: str | None
    state: ExchangeState
    reason: str | None
    status: int | None
    request: CallSide | None
    response: CallSide | None

    @property
    def frames(self) -> tuple[int, ...]:
        """Ids of all frames of both messages, ascending."""
        sides = (side.message.frames for side in (self.request, self.response) if side is not None)
        return tuple(sorted({frame for frames in sides for frame in frames}))


_AnyCall = TypeVar("_AnyCall", bound=Call)


def decoded_call(
    kind: type[_AnyCall],
    exchange: Exchange,
    names: tuple[str, str | None],
    request: CallSide | None,
    response: CallSide | None,
) -> _AnyCall:
    """A call whose stubs were decoded; one that did not decode makes a complete exchange malformed.

    `names` are those of interface and method. The response's `ReturnValue` is taken out of its parameters.
    """
    state, reason = exchange.state, exchange.reason
    for which, side in (("request", request), ("response", response)):
        if state == "complete" and side is not None and side.trouble is not None:
            state, reason = "malformed", f"the {which} stub does not decode: {side.trouble}"
    status = response.params.pop("ReturnValue", None) if response is not None else None
    return kind(exchange, *names, state, reason, status, request, response)


def handle_of(side: CallSide | None, name: str) -> str | None:
    """The UUID of a context handle among the parameters."""
    value = side.params.get(name) if side is not None else None
    return value["uuid"] if isinstance(value, dict) else None


def plain_side(message: Message | None) -> CallSide | None:
    """The side of a call whose interface is not decoded."""
    return None if message is None else CallSide(message, message.stub, {})


def trimmed(stub: TracedBytes, consumed: int, *, has_trailer: bool) -> TracedBytes:
    """The stub without the up to 3 bytes that align a verification trailer ([MS-RPCE] section 2.2.2.13)."""
    return stub.view(0, consumed) if has_trailer and 0 < len(stub) - consumed < 4 else stub
