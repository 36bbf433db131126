"""Resolves what only the whole capture shows: takes calls as the layers emitted them, returns the calls in order.

Calls without a captured bind are recognised and decoded if that is certain. Then all calls are put in order, and the state of each
one's query handle is found (`pcq.query_handles`). Nothing goes back into a layer. What recognised calls say about countersets, keys
and names is learnt by the functions that the layers use.

Calls that were read from conflicting bytes are marked: two versions of these bytes were captured. A machine in the path may send
other bytes again than the first ones. Then the server reads something else than a person who watches. Such a call keeps its state,
and its reason says so.

Calls without a bind are recognised by what they carry. Example: a program polls a server for days over one open pipe, and the
capture begins in the middle. Stubs that are not sealed can still be read, if it is certain which interface they belong to. All
calls of one presentation context of one channel are judged together. They are taken for PerflibV2 or winreg only if

* every captured stub decodes to its last byte as that interface's method,
* at least one of them carries what no other interface has: performance data, identifiers, registration information of the
  counterset asked about ([MS-PCQ] section 2.2.4), or a PERF_DATA_BLOCK, and
* the other interface does not fit in the same way.

Such calls say that they were recognised, and a note states why.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.byte_origins import FrameExtent
from analyzer.core.errors import DecodeError
from analyzer.core.events import Conflict, Problem
from analyzer.core.printable_text import counted
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces import buffers
from analyzer.interfaces.buffers.stub_decoding import Interface, decode_stub
from analyzer.interfaces.calls_from_exchanges import interface_facts
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, Loss, perflib_call
from analyzer.interfaces.pcq.query_handles import Following
from analyzer.interfaces.winperf.winreg_layer import KeyFollower, winreg_call
from analyzer.results.calls.call import Call, Side
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.calls.pdus import pdus_alone
from analyzer.results.connection import LateLogon, logon_key
from analyzer.results.methods import perflib as pcq
from analyzer.results.methods import winreg
from analyzer.results.security import UNKNOWN_USER
from analyzer.transport.rpc.rpc_names import method_name

# ---------------------------------------------------------------------------------------------------- calls without a bind


_UUIDS: dict[Interface, str] = {"perflib-v2": pcq.INTERFACE, "winreg": winreg.INTERFACE}
NAMES: dict[Interface, str] = {"perflib-v2": pcq.NAME, "winreg": winreg.NAME}
# [MS-RRP] section 3.1.5 numbers its methods from 0 to 35.
_WINREG_METHODS = 36
_WINREG_DECODED = frozenset(winreg.WinregOpnum)
_PERFLIB_DECODED = frozenset(pcq.Opnum)
_MOST_FRAMES = 16


class ContextGuess(Struct, frozen=True):
    """The interface and syntax that resolution takes the calls of a context without a bind for, and how many calls prove it."""

    interface: Interface
    syntax: Literal["ndr", "ndr64"]
    proofs: int


def recognise(calls: CallTable, learner: CatalogLearner, follower: KeyFollower) -> tuple[Sequence[int], list[Problem]]:
    """Recognises and decodes calls without a bind by all that the whole capture shows of them.

    Returns the positions of all calls in the order in which they are decoded, those without a bind last. Also returns a note for
    each recognised context.
    """
    notes: list[Problem] = []
    unbound = [position for positions in calls.unbound.values() for position in positions]
    is_bound = np.ones(len(calls), np.bool_)
    is_bound[unbound] = False
    taken = array("I", np.flatnonzero(is_bound).astype(np.uint32).tobytes())
    if not unbound:
        return taken, notes
    first_times = calls.column("first_time")
    for positions in list(calls.unbound.values()):
        guess = _only_reading(_Some(calls, positions))
        if guess is None:
            taken.extend(positions)
            continue
        frames: set[int] = set()
        in_order = sorted(positions, key=first_times.__getitem__)
        for at in in_order:
            call = recognised(calls[at], guess, follower)
            learner.learn(call)
            taken.append(calls.replaced(at, call))
            frames_noted(frames, call)
        notes.append(note_of(len(positions), guess, frames))
    return taken, notes


def frames_noted(frames: set[int], call: Call) -> None:
    """Adds the frames of a recognised call to the frames of its note, up to a limit."""
    if len(frames) < 4 * _MOST_FRAMES:
        frames.update(call.frames)


def note_of(count: int, guess: ContextGuess, frames: Collection[int]) -> Problem:
    """Returns the note that says what the calls of a context without a bind were taken for; `count` is their number."""
    text = (
        f"no captured bind tells the interface of {counted(count, 'call')}; {'it is' if count == 1 else 'they are'} taken for "
        f"{NAMES[guess.interface]}, because every stub decodes as such and "
        f"{counted(guess.proofs, 'of them carries', 'of them carry')} what no other interface does"
    )
    return Problem("note", "timeline", tuple(sorted(frames))[:_MOST_FRAMES], text)


class _Some(Iterable[Call]):
    """Some calls of a context without a bind. A `Call` is made when it is looked at: a context may have a million."""

    def __init__(self, calls: CallTable, positions: Sequence[int]) -> None:
        self._calls, self._positions = calls, positions

    def __iter__(self) -> Iterator[Call]:
        return (self._calls[at] for at in self._positions)


def interface_carried(calls: Sequence[Call]) -> Interface | None:
    """Returns which of the two interfaces the calls of one context without a bind certainly carry; None for neither."""
    guess = _only_reading(calls)
    return guess.interface if guess is not None else None


_READINGS: tuple[tuple[Interface, Literal["ndr", "ndr64"]], ...] = (
    ("perflib-v2", "ndr"),
    ("winreg", "ndr"),
    ("perflib-v2", "ndr64"),
    ("winreg", "ndr64"),
)


class ContextReadings:
    """The interfaces and syntaxes that fit all calls of one presentation context without a bind, call by call."""

    def __init__(self) -> None:
        # How many calls prove each reading that none has contradicted.
        self._proofs = dict.fromkeys(_READINGS, 0)
        self.count = 0

    def take_call(self, call: Call) -> None:
        """Reads one more call of the context without a bind, and drops the interfaces that it contradicts."""
        self.count += 1
        if call.opnum is None or call.fault is not None:
            return
        for interface, syntax in list(self._proofs):
            request = _read(call.request, interface, call.opnum, "request", syntax)
            response = _read(call.response, interface, call.opnum, "response", syntax)
            if request is False or response is False:
                del self._proofs[interface, syntax]
            else:
                self._proofs[interface, syntax] += _proves(interface, call.opnum, request, response)

    @property
    def is_undecided(self) -> bool:
        """Whether any interface is left that no call of the context without a bind contradicts."""
        return bool(self._proofs)

    @property
    def only(self) -> ContextGuess | None:
        """Returns the only interface that fits all calls of the context without a bind, if a call proves it. None for none, or for
        two."""
        found = [
            ContextGuess(interface, syntax, proofs) for (interface, syntax), proofs in self._proofs.items() if proofs
        ]
        return found[0] if len({guess.interface for guess in found}) == 1 else None


def _only_reading(calls: Iterable[Call]) -> ContextGuess | None:
    """Returns the only interface that fits all these calls without a bind, and the proofs."""
    readings = ContextReadings()
    for call in calls:
        readings.take_call(call)
        if not readings.is_undecided:
            return None
    return readings.only


def _read(
    side: Side | None, interface: Interface, opnum: int, name: Literal["request", "response"], syntax: str
) -> tuple[dict[str, object], bytes] | Literal[False] | None:
    """Returns parameters and lpData of an unbound call's stub, read as this method. False: it is none; None: nobody can say."""
    if side is None or isinstance(stub := side.stub, Missing):
        return None
    if interface == "winreg" and opnum not in _WINREG_DECODED:
        return None if opnum < _WINREG_METHODS else False
    if interface == "perflib-v2" and opnum not in _PERFLIB_DECODED:
        return False
    data = stub.data
    ndr64 = syntax == "ndr64"
    try:
        decoded = decode_stub(interface, opnum, name, data, ndr64=ndr64, big_endian=side.big_endian)
    except DecodeError:
        return False
    if len(data) - decoded.consumed >= (8 if ndr64 else 4):
        return False
    return decoded.params, decoded.data or b""


def _proves(
    interface: Interface,
    opnum: int,
    request: tuple[dict[str, object], bytes] | None,
    response: tuple[dict[str, object], bytes] | None,
) -> bool:
    """Whether the answer of a call without a bind carries what only this interface does."""
    if response is None or not response[1]:
        return False
    data = response[1]
    if interface == "winreg":
        return opnum == winreg.WinregOpnum.BASE_REG_QUERY_VALUE and data[:8] in winreg.SIGNATURES
    if opnum == pcq.Opnum.QUERY_COUNTER_DATA:
        decoded = buffers.decode_buffer("perf-data", data)
        return decoded.problem is None and decoded.tree["total_size"] == len(data)
    if opnum in (pcq.Opnum.QUERY_COUNTER_INFO, pcq.Opnum.VALIDATE_COUNTERS):
        return buffers.decode_buffer("identifiers", data).problem is None
    if opnum == pcq.Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO and request is not None:
        asked = request[0]
        if asked.get("RequestCode") != pcq.RequestCode.COUNTERSET_STRUCT:
            return False
        decoded = buffers.decode_buffer("counterset-info", data)
        return decoded.problem is None and decoded.tree["counterset_guid"] == asked.get("CounterSetGuid")
    return False


def recognised(call: Call, guess: ContextGuess, follower: KeyFollower) -> Call:
    """Decodes a call without a bind as a call of the interface that it is taken for."""
    call = _as_interface(call, guess)
    return perflib_call(call) if guess.interface == "perflib-v2" else follower.followed(winreg_call(call))


def _as_interface(call: Call, guess: ContextGuess) -> Call:
    """Returns a call without a bind as one of the recognised interface. It becomes complete if only its bind was missing."""
    sides = [side for side in (call.request, call.response) if side is not None]
    is_whole = call.request is not None and all(side.missing is None for side in sides)
    complete = call.state == "partial" and is_whole
    uuid = _UUIDS[guess.interface]
    return replace(
        call,
        interface=interface_facts(uuid, (1, 0), is_recognised=True),
        method=method_name(uuid, call.opnum) if call.opnum is not None else None,
        syntax=guess.syntax,
        state="complete" if complete else call.state,
        reason=None if complete else call.reason,
    )


# ------------------------------------------------------------------------------------------- conflicting bytes


REASON = "two versions of its bytes were captured; the first one was read"


def mark_conflicts(calls: CallTable, taken: Sequence[int], conflicts: Sequence[Conflict]) -> Sequence[int]:
    """Sets the reason of calls whose bytes the whole capture has in two versions. `taken` has the positions of all calls; returns
    their new positions."""
    marks, positions = Marks(), array("I", taken)
    marks.add(conflicts)
    rows = np.array(taken, np.int64)
    first, last, began = (calls.column(name)[rows] for name in ("first_frame", "begin_frame", "end_frame"))
    channel = calls.by_context("channel")[rows]
    places: set[int] = set()
    for frame in marks.frames:
        # Those whose request may have come in this frame; and of each channel the one whose answer began last before it or in it.
        places.update(np.flatnonzero((first <= frame) & (frame <= last)).tolist())
        answered = np.flatnonzero((began >= 0) & (began <= frame))
        answered = answered[np.argsort(began[answered], kind="stable")[::-1]]
        places.update(answered[np.unique(channel[answered], return_index=True)[1]].tolist())
    for place in sorted(places):
        call = calls[positions[place]]
        if (found := marks.marked(call)) is not call:
            positions[place] = calls.replaced(positions[place], found)
    return positions


class Marks:
    """The bytes that were captured in two versions, for the resolution of calls, as far as the capture was read."""

    def __init__(self) -> None:
        self.frames: dict[int, list[FrameExtent]] = {}
        self._added = 0

    def add(self, conflicts: Sequence[Conflict]) -> None:
        """Takes the conflicts that are new in the list: calls that use their bytes are to be marked."""
        for conflict in conflicts[self._added :]:
            for extent in conflict.extents:
                self.frames.setdefault(extent.frame, []).append(extent)
        self._added = len(conflicts)

    def marked(self, call: Call) -> Call:
        """Returns the resolved call, with a reason if its bytes were captured in two versions. The reason of a call that is not
        complete stays."""
        reason = call.reason
        if (reason is not None and (call.state != "complete" or REASON in reason)) or not self._are_used_by(call):
            return call
        return replace(call, reason=REASON if reason is None else f"{reason}; {REASON}")

    def _are_used_by(self, call: Call) -> bool:
        sides = (side for side in (call.request, call.response) if side is not None)
        extents = (own for side in sides for data in _captured(side) for own in data.extents())
        return any(_overlap(one, own) for own in extents for one in self.frames.get(own.frame, ()))


def _captured(side: Side) -> Iterator[TracedBytes]:
    """Yields the bytes of a call's side that the capture may have in two versions: its PDUs, or the stub if it is too long for its
    PDUs to be kept."""
    if len(side.pdus):
        yield from pdus_alone(side.pdus)
    elif isinstance(side.stub, TracedBytes):
        yield side.stub


def _overlap(one: FrameExtent, other: FrameExtent) -> bool:
    return one.frame == other.frame and one.start < other.start + other.length and other.start < one.start + one.length


# ------------------------------------------------------------------------------------ whole capture resolution


def resolved(
    calls: CallTable,
    learner: CatalogLearner,
    follower: KeyFollower,
    losses: Iterable[Loss],
    conflicts: Sequence[Conflict] = (),
    late: Sequence[LateLogon] = (),
) -> tuple[OrderedCalls, list[Problem]]:
    """Returns the calls of the whole capture in order, and notes on recognised calls."""
    taken, notes = recognise(calls, learner, follower)
    if conflicts:
        taken = mark_conflicts(calls, taken, conflicts)
    if late:
        taken = mark_late_logons(calls, taken, late)
    order, following = call_order(calls, taken), Following(calls, list(losses))
    following.add(order)
    following.until(None)
    return OrderedCalls(calls, order, following.views, following.states), notes


def call_order(calls: CallTable, taken: Sequence[int]) -> Sequence[int]:
    """Returns positions of the whole capture's calls in order: by the first frame of the request (of the response if there is no
    request), then as in `taken`."""
    positions = np.asarray(taken, np.uint32)
    times, frames = (calls.column(name)[positions] for name in ("first_time", "first_frame"))
    earlier = (times[1:] < times[:-1]) | ((times[1:] == times[:-1]) & (frames[1:] < frames[:-1]))
    if not earlier.any():
        return taken
    return array("I", positions[np.lexsort((frames, times))].tobytes())


def mark_late_logons(calls: CallTable, taken: Sequence[int], late: Sequence[LateLogon]) -> Sequence[int]:
    """Sets the later user of calls for which the whole capture shows two possible logons, because the later one was read after
    them.

    Such a call was sent before the logon was read, over a further connection of its session. Bytes of that connection are missing
    ([MS-SMB2] section 3.3.5.5.2). `taken` has the positions of all calls; returns their new positions.
    """
    positions, rows = array("I", taken), np.array(taken, np.int64)
    session, time_ns = calls.by_context("session")[rows], calls.column("first_time")[rows]
    for one in late:
        is_between = (session == one.session) & (time_ns >= one.since_ns) & (time_ns <= one.until_ns)
        for place in np.flatnonzero(is_between).tolist():
            call = calls[positions[place]]
            if (found := _with_later(call, one)) is not call:
                positions[place] = calls.replaced(positions[place], found)
    return positions


def _with_later(call: Call, late: LateLogon) -> Call:
    """Returns a call with the user of a later logon beside its own, if SMB names its account and the two differ."""
    auth, user = call.auth, late.identity.account or UNKNOWN_USER
    if auth.user_from == "rpc" or auth.later_user is not None or auth.user == user:
        return call
    return replace(call, auth=replace(auth, later_user=user, later_logon=logon_key("smb", late.logon)))
