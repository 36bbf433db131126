"""The result of an analysis: everything a report may show, as plain values, and nothing that needs the capture again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from analyzer.core.events import Problem
from analyzer.model.catalog import Catalogs
from analyzer.model.connection import Bound, FeaturesOffered, Pdu, SmbSession
from analyzer.model.evidence import FileDigest
from analyzer.model.name_tables import NameTables
from analyzer.model.store import CallStore


class CaptureFacts(Struct, frozen=True):
    """What the capture is: files as given, frames and captured bytes, the times of its first and last frame.

    `names` maps addresses to host names that the capture file itself carries (pcapng name-resolution blocks). `digests` states
    what the files were, where that was asked for.
    """

    files: tuple[str, ...]
    frames: int
    bytes: int
    first_time_ns: int | None
    last_time_ns: int | None
    names: Mapping[str, str] = field(default_factory=dict)
    digests: tuple[FileDigest, ...] = ()


class Analysis(Struct, frozen=True, eq=False):
    """One capture, read.

    `calls` are in the order of their request's first frame; a call's number is its position plus 1. `catalogs` and
    `name_tables` hold what the servers reported about their counters, over the whole capture. `closed` are the numbers of the
    channels whose end is in the capture. `connections` counts TCP connections by what they carry, `smb` or `dcerpc`.
    """

    capture: CaptureFacts
    calls: CallStore
    problems: Sequence[Problem]
    sessions: Sequence[SmbSession]
    bounds: Sequence[Bound]
    pdus: Sequence[Pdu]
    catalogs: Catalogs
    name_tables: NameTables
    secrets_given: bool = False
    features: Sequence[FeaturesOffered] = ()
    closed: frozenset[int] = frozenset()
    connections: Mapping[str, int] = field(default_factory=dict)
