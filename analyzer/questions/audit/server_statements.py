"""Collects what servers stated over a capture, for audit rules that compare other calls with it.

These are the countersets they listed (EnumerateCounterSet), the instances they listed (EnumerateCounterSetInstances), and query
handles to which the same counter was added twice. What servers registered is in the catalog of an analysis; rules about buffers ask
here for what it says of a counterset.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct

from analyzer.interfaces.call_contents.damaged_buffers import decoded_buffer
from analyzer.interfaces.pcq.perflib_layer import identifiers_of
from analyzer.questions.audit.rule_verdicts import OfCall
from analyzer.results.analysis import Numbered
from analyzer.results.calls.call import Call
from analyzer.results.methods.perflib import Opnum

if TYPE_CHECKING:
    from analyzer.questions.audit.call_evidence import CallEvidence


class InstanceList(Struct, frozen=True):
    """The instances of a counterset at one moment: `call` is the number of the call that listed them."""

    call: int
    time_ns: int
    names: tuple[str, ...]
    ids: tuple[int, ...]

    @property
    def folded(self) -> frozenset[str]:
        """Returns the instance names of a server's list in lower case, for comparison."""
        return frozenset(name.casefold() for name in self.names)


_time = attrgetter("time_ns")
# The methods whose answers state these things.
STATING = (Opnum.ENUMERATE_COUNTER_SET, Opnum.ENUMERATE_COUNTER_SET_INSTANCES, Opnum.VALIDATE_COUNTERS)


class Knowledge:
    """The statements of servers over the capture, collected once from calls of the methods `STATING`, for audit rules."""

    def __init__(self, calls: Iterable[Numbered]) -> None:
        self._countersets: dict[str, set[str]] = {}
        self._instances: dict[tuple[str, str], list[InstanceList]] = {}
        # The same in the order of their times, as far as they were asked for.
        self._sorted: dict[tuple[str, str], list[InstanceList]] = {}
        self._ids: dict[tuple[str, str], frozenset[int]] = {}
        # Servers that listed countersets, and servers with countersets of which they listed instances (None: any), in calls that
        # were not read, or that others may have changed.
        self._unread_sets: set[str] = set()
        self._unread_instances: set[tuple[str, str | None]] = set()
        # By number of the handle: what was added with success, and the first call that added one of these again.
        self._added: dict[int, set[tuple[str, int, int, str | None]]] = {}
        self._doubled: dict[int, int] = {}
        for number, call in calls:
            if call.is_altered:
                self._miss(call, None)
            elif call.state == "complete" and call.status == 0:
                self._take(number, call)
            elif call.outcome != "refused":
                self._miss(call, call.counterset)

    def _take(self, number: int, call: Call) -> None:
        side, server = call.response, call.server.ip
        if side is None:
            return
        opnum = call.opnum
        if opnum == Opnum.VALIDATE_COUNTERS:
            self._follow(number, call)
        if opnum not in (Opnum.ENUMERATE_COUNTER_SET, Opnum.ENUMERATE_COUNTER_SET_INSTANCES):
            return
        decoded = decoded_buffer(side)
        if decoded is not None and decoded.problem is not None:
            self._miss(call, call.counterset)
            return
        tree = decoded.tree if decoded is not None else {}
        if opnum == Opnum.ENUMERATE_COUNTER_SET:
            self._countersets.setdefault(server, set()).update(tree.get("guids", ()))
        elif call.counterset is not None:
            rows = tree.get("instances", ())
            names = tuple(row.get("name") or "" for row in rows)
            ids = tuple(row["instance_id"] for row in rows)
            listed = InstanceList(number, call.time_ns, names, ids)
            self._instances.setdefault((server, call.counterset), []).append(listed)

    def _miss(self, call: Call, counterset: str | None) -> None:
        """Notes that a server may have listed more than is known. `counterset` is that of the instances, None if it is unknown."""
        if call.opnum == Opnum.ENUMERATE_COUNTER_SET:
            self._unread_sets.add(call.server.ip)
        elif call.opnum == Opnum.ENUMERATE_COUNTER_SET_INSTANCES:
            self._unread_instances.add((call.server.ip, counterset))

    def _follow(self, number: int, call: Call) -> None:
        if call.query is None or call.request is None:
            return
        added = self._added.setdefault(call.query.number, set())
        for identifier in identifiers_of(call.response) or ():
            if identifier.status:
                continue
            if not call.request.params.get("dwAdd"):
                added.discard(identifier.key)
            elif identifier.key in added:
                self._doubled.setdefault(call.query.number, number)
            else:
                added.add(identifier.key)

    def lists_counterset(self, server: str, guid: str) -> bool | None:
        """Tells whether a server listed a counterset; None if it listed none in the capture, or if a list was not read."""
        listed = self._countersets.get(server)
        if listed is None or (guid not in listed and server in self._unread_sets):
            return None
        return guid in listed

    def instances(self, server: str, guid: str) -> list[InstanceList]:
        """Returns every list that a server gave of a counterset's instances, in the order of the calls."""
        return self._instances.get((server, guid), [])

    def instance_ids(self, server: str, guid: str) -> frozenset[int] | None:
        """Returns every instance id that a server listed for a counterset; None if no list was captured, or one was not read."""
        key = server, guid
        if key in self._unread_instances or (server, None) in self._unread_instances:
            return None
        if key in self._instances and key not in self._ids:
            self._ids[key] = frozenset(number for one in self._instances[key] for number in one.ids)
        return self._ids.get(key)

    def instances_about(self, server: str, guid: str, time_ns: int) -> InstanceList | None:
        """Returns the server's instance list that is nearest in time; None if none is within a minute."""
        lists = self._by_time(server, guid)
        at = bisect_left(lists, time_ns, key=_time)
        near = lists[at : at + 1]
        if at > 0:  # of several of the same time the first
            near.append(lists[bisect_left(lists, lists[at - 1].time_ns, key=_time)])
        nearest = min(near, key=lambda item: (abs(item.time_ns - time_ns), item.call), default=None)
        return nearest if nearest is not None and abs(nearest.time_ns - time_ns) <= 60_000_000_000 else None

    def _by_time(self, server: str, guid: str) -> list[InstanceList]:
        found = self._sorted.get((server, guid))
        if found is None:
            found = self._sorted[server, guid] = sorted(self.instances(server, guid), key=_time)
        return found

    def is_doubled(self, handle: int, call: int) -> bool:
        """Tells whether servers had stated before a call that the same counter was added twice to a handle: it may be held once or
        twice."""
        return self._doubled.get(handle, call) < call


NO_REGISTRATION = "the registration of the counterset is not in the capture"


def instance_type_of(call: OfCall, counterset: str) -> int | None:
    """Returns the instance type that the server registered a counterset with ([MS-PCQ] section 2.2.4.1), for audit rules; None if
    that was not captured."""
    entry = call.catalog.countersets.get(counterset)
    return entry.instance_type if entry is not None else None


def has_instances(call: OfCall, counterset: str) -> bool | None:
    """Tells audit rules whether the server registered a counterset as one with named instances. None if that was not captured, or
    the type (an aggregate) leaves it open."""
    return {0: False, 2: True, 6: True, 0x16: True, None: None}.get(instance_type_of(call, counterset))


def counters_of_set(call: OfCall, counterset: str) -> frozenset[int] | None:
    """Returns the ids of the counters that the server registered in a counterset, for audit rules; None if no registration was
    captured."""
    if instance_type_of(call, counterset) is None:
        return None
    counters = call.catalog.countersets[counterset].counters
    return frozenset(number for number, counter in counters.items() if counter.info is not None)


def ids_of_set(call: CallEvidence) -> frozenset[int] | None:
    """Returns the ids of the counters that the server registered in the counterset that an audited call asks about; None if no
    registration was captured."""
    return counters_of_set(call, call.asked.get("CounterSetGuid", ""))
