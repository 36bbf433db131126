"""What leaves the RPC room: whole exchanges, each a request with its response, unsealed and joined as far as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from analyzer.auth.context import Door, Identity
from analyzer.core.absence import Missing
from analyzer.core.events import Event
from analyzer.core.shelf import Kept
from analyzer.core.traced import TracedBytes
from analyzer.rpc.pdus import Fragment as Fragment
from analyzer.rpc.pdus import frame_range_of, frames_of, kept_by
from analyzer.smb.events import Channel, SmbInfo

ExchangeState = Literal["complete", "request-only", "response-only", "partial", "sealed", "malformed"]


class Message(Struct, frozen=True):
    """A request or a response, whole.

    `stub` is the unsealed, joined stub without authentication padding and verification trailer; Missing where it is not to
    be had. `wire_length` counts its bytes as sent (sealed, padding excluded). `trailer`: the verification trailer
    ([MS-RPCE] 2.2.2.13) was absent (None), right or wrong; where there is one, up to 3 bytes of alignment before it may
    still end the stub. `fragments` are none where the stub was too long to be kept; then `frames_of_dropped` carried it.
    """

    fragments: Sequence[Fragment]
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


class AuthInfo(Struct, frozen=True):
    """The security of one call: provider and level as wire numbers, who authenticated, and whether it could be opened.

    `mechanism` is the contract's name of it: `none`, `ntlm`, `spnego-ntlm`, `krb5`, `spnego-krb5`, `schannel`, ...;
    `opened_by` says in words which of the user's keys opened it (`the NT hash of LAB\\\\perfmon`), None where none did.
    """

    auth_type: int
    level: int
    mechanism: str
    identity: Identity | None
    door: Door
    verified: bool | None
    header_signed: bool | None
    opened_by: str | None = None


class Exchange(Event, frozen=True):
    """One remote call, paired by channel, context and call id.

    `interface` is a UUID as text (None where the bind was not captured), `version` as (major, minor); `syntax` the transfer
    syntax. `fault` is the status of a fault PDU, `orphaned` and `cancelled` whether the client gave up. `reason` is a sentence for
    every state but `complete`. `recognised`: the bind was not captured, and the interface was told by what the calls carry.
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
    state: ExchangeState
    reason: str | None
    cancelled: bool
    orphaned: bool
    recognised: bool = False

    @property
    def kept(self) -> tuple[Kept, ...]:
        """The bytes that it takes."""
        return tuple(
            [kept for side in (self.request, self.response) if side is not None for kept in kept_by(side.fragments)]
        )

    @property
    def first_time_ns(self) -> int:
        side = self.request or self.response
        assert side is not None
        return side.first_time_ns


class Pdu(Event, frozen=True):
    """One DCERPC PDU as seen, for counting and comparing with other dissectors."""

    channel: Channel
    from_client: bool
    ptype: int
    flags: int
    call_id: int
    frames: tuple[int, ...]
    length: int
    auth_type: int | None
    auth_level: int | None


class Bound(Event, frozen=True):
    """A presentation context was offered and answered (bind or alter_context).

    `accepted` is None where the answer was not captured; `reason` says why it was refused, `assoc_group_id` is the answer's.
    `syntax` is the one agreed on, else the first of those that were `offered`. `joins_group`: the client asked for an association
    group that existed before, whose handles it may use.
    """

    channel: Channel
    context_id: int
    interface: str
    version: tuple[int, int]
    syntax: str
    accepted: bool | None
    frames: tuple[int, ...]
    reason: str | None = None
    assoc_group_id: int | None = None
    offered: tuple[str, ...] = ()
    joins_group: bool = False


class FeaturesOffered(Event, frozen=True):
    """A bind offered bind-time features in the place of a presentation context ([MS-RPCE] 3.3.1.5.3).

    `result` is that of the answer (3: acknowledged, 2: refused), None where it was not captured.
    """

    channel: Channel
    context_id: int
    result: int | None
    frames: tuple[int, ...]
