"""Numbers the sessions, logons, channels, key handles, service handles and reads of a capture, in the order they are met."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from msgspec import Struct, field


class Numbers(Struct, frozen=True):
    """The counters that number a capture's sessions, logons, channels, handles and reads. Layers that read a capture in several
    processes get other counters (`pipeline.shard_worker`)."""

    sessions: Iterator[int] = field(default_factory=count)
    smb_logons: Iterator[int] = field(default_factory=count)
    rpc_logons: Iterator[int] = field(default_factory=count)
    channels: Iterator[int] = field(default_factory=count)
    keys: Iterator[int] = field(default_factory=lambda: count(1))
    services: Iterator[int] = field(default_factory=lambda: count(1))
    reads: Iterator[int] = field(default_factory=lambda: count(1))
