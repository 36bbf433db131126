"""What leaves the RPC layer: whole exchanges, each a request with its response, unsealed and joined as far as possible."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from analyzer.channel.events import SmbInfo
from analyzer.core.absence import Missing
from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.model.call import CallState
from analyzer.model.connection import Channel
from analyzer.model.pdus import Fragments, frame_range_of, frames_of
from analyzer.model.security import AuthInfo


class Message(Struct, frozen=True):
    """A request or a response, whole.

    `stub` is the unsealed, joined stub without authentication padding and verification trailer; Missing where it is not to
    be had. `wire_length` counts its bytes as sent (sealed, padding excluded). `trailer`: the verification trailer
    ([MS-RPCE] 2.2.2.13) was absent (None), right or wrong; where there is one, up to 3 bytes of alignment before it may
    still end the stub. `fragments` are none where the stub was too long to be kept; then `frames_of_dropped` carried it.
    """

    fragments: Fragments
    stub: TracedBytes | Missing
    wire_length: int
    trailer: Literal["ok", "bad"] | None
    big_endian: bool
    first_time_ns: int
    last_time_ns: int
    frames_of_dropped: tuple[int, ...] = ()

    @property
    def frames(self) -> tuple[int, ...]:
        """Ids of the frames that carried it, ascending. They are looked up, not kept: a long answer came in many."""
        return self.frames_of_dropped or frames_of(self.fragments)

    @property
    def first_frame(self) -> int:
        """The lowest of `frames`, 0 where there are none."""
        if self.frames_of_dropped:
            return self.frames_of_dropped[0]
        span = frame_range_of(self.fragments)
        return span[0] if span is not None else 0

    @property
    def last_frame(self) -> int:
        """The highest of `frames`, 0 where there are none."""
        if self.frames_of_dropped:
            return self.frames_of_dropped[-1]
        span = frame_range_of(self.fragments)
        return span[1] if span is not None else 0


class Exchange(Event, frozen=True):
    """One remote call, paired by channel, context and call id.

    `interface` is a UUID as text (None where the bind was not captured), `version` as (major, minor); `syntax` the transfer
    syntax. `fault` is the status of a fault PDU, `orphaned` and `cancelled` whether the client gave up. `reason` is a sentence for
    every state but `complete`. `recognised`: the bind was not captured, and what the calls carry shows the interface.
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
    request: Message | None
    response: Message | None
    fault: int | None
    state: CallState
    reason: str | None
    cancelled: bool
    orphaned: bool
    recognised: bool = False

    @property
    def first_time_ns(self) -> int:
        side = self.request or self.response
        assert side is not None
        return side.first_time_ns
