"""Who numbers what a capture has: sessions, logons, channels, key handles, service handles and reads, in the order they are met."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from msgspec import Struct, field


class Numbers(Struct, frozen=True):
    """Counts up the numbers of a capture's things (sessions, logons, channels, handles): the next number of each kind. Layers that
    read parts of one capture in several processes are given others (`pipeline.shard_worker`)."""

    sessions: Iterator[int] = field(default_factory=count)
    smb_logons: Iterator[int] = field(default_factory=count)
    rpc_logons: Iterator[int] = field(default_factory=count)
    channels: Iterator[int] = field(default_factory=count)
    keys: Iterator[int] = field(default_factory=lambda: count(1))
    services: Iterator[int] = field(default_factory=lambda: count(1))
    reads: Iterator[int] = field(default_factory=lambda: count(1))
