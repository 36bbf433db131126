"""What leaves the RPC layer: whole exchanges, each a request with its response, unsealed and joined as far as possible."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from analyzer.core.events import Event, Moment
from analyzer.results.call import CallState, Side
from analyzer.results.connection import Channel
from analyzer.results.security import AuthInfo
from analyzer.transport.channel.channel_events import SmbInfo


class OpenCall(Struct, frozen=True):
    """A call that is under way on a channel, and when it began."""

    channel: int
    call_id: int
    began: Moment


class Exchange(Event, frozen=True):
    """One remote call, paired by channel, context and call id.

    `interface` is a UUID as text (None where the bind was not captured), `version` as (major, minor); `syntax` the transfer
    syntax. `fault` is the status of a fault PDU, `orphaned` and `cancelled` whether the client gave up. `reason` is a sentence for
    every state but `complete`.
    """

    channel: Channel
    smb: SmbInfo | None
    auth: AuthInfo
    interface: str | None
    version: tuple[int, int] | None
    syntax: Literal["ndr", "ndr64"]
    opnum: int | None
    call_id: int
    context_id: int
    object_uuid: str | None
    request: Side | None
    response: Side | None
    fault: int | None
    state: CallState
    reason: str | None
    cancelled: bool
    orphaned: bool

    @property
    def first_time_ns(self) -> int:
        side = self.request or self.response
        assert side is not None
        return side.first_time_ns
