"""The evidence that audit rules see: calls with their decoded parts, each decoded once, and the captured bytes of fields."""

from __future__ import annotations

import re
from array import array
from collections.abc import Hashable, Iterator, Sequence
from heapq import merge
from typing import Any

from msgspec import Struct

from analyzer.core.absence import Missing
from analyzer.core.byte_origins import FrameExtent
from analyzer.core.caches import cached_property
from analyzer.core.errors import DecodeError
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.buffers.buffer_trees import BufferDecode
from analyzer.interfaces.buffers.field_map import Field, map_head
from analyzer.interfaces.buffers.stub_decoding import StubDecode, decode_stub
from analyzer.interfaces.buffers.winperf_layout import WINPERF, WinperfParts
from analyzer.interfaces.call_contents.call_field_maps import buffer_fields, stub_fields
from analyzer.interfaces.call_contents.damaged_buffers import decoded_buffer
from analyzer.questions.audit.data_answers import DataAnswer, read_answer
from analyzer.questions.audit.identifier_lists import IdentifierList, read_identifiers
from analyzer.questions.audit.rule_verdicts import At, SideName
from analyzer.questions.audit.server_statements import STATING, Knowledge
from analyzer.questions.statistics.handle_lifetimes import HandleLifetime, handle_lifetimes
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.calls.call import Call, Side, is_altered
from analyzer.results.calls.call_row_columns import Context, context_of
from analyzer.results.calls.held_calls import HeldCall, HeldSide
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.calls.pdus import pdu_at
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods import perflib as pcq
from analyzer.results.methods import winreg
from analyzer.results.reported_names.counterset_catalog import Catalog

# A place without its bytes: `part`, `start`, `stop` and `pdu` of a `Place`.
Spot = tuple[str, int, int, int | None]


class Place(Struct, frozen=True):
    """The place of evidence: the bytes `start` to `stop` of `part` (`request stub`, `response PDU 1`), and where they were
    captured.

    `source` are the bytes of the part, `field` the described field that stands there, if any. `pdu` is the number of the PDU if the
    part is one.
    """

    part: str
    start: int
    stop: int
    source: TracedBytes
    field: Field | None = None
    pdu: int | None = None

    @property
    def spot(self) -> Spot:
        return self.part, self.start, self.stop, self.pdu

    @property
    def extents(self) -> tuple[FrameExtent, ...]:
        """Returns the frame extents that carried the bytes at this place in a call, as evidence."""
        base, source = self.source.start, self.source.source
        if (
            self.stop <= len(self.source)
            and (one := source.only_extent(base + self.start, base + self.stop)) is not None
        ):
            return (one,)
        return self.source.origin(self.start, self.stop)

    @property
    def frames(self) -> tuple[int, ...]:
        """Returns the ids of the frames that carried the bytes at this place in a call, as evidence, ascending."""
        extents = self.extents
        return (extents[0].frame,) if len(extents) == 1 else tuple(sorted({extent.frame for extent in extents}))


class SideEvidence:
    """The evidence that audit rules see of a call's request or response: parameters, array counts, decoded buffer."""

    def __init__(self, call: _LookedAt, name: SideName, side: Side | HeldSide) -> None:
        self._call, self.name, self.side = call, name, side

    @property
    def call(self) -> Call:
        """Returns the call that this side of evidence belongs to."""
        return self._call.whole

    @property
    def whole(self) -> Side:
        """Returns the call's side with its bytes, for audit rules. `side` has only what columns state."""
        side = self._call.whole.request if self.name == "request" else self._call.whole.response
        assert side is not None
        return side

    @property
    def params(self) -> dict[str, Any]:
        return self.side.params

    @cached_property
    def captured(self) -> TracedBytes | Missing:
        """Returns the stub of the audited call's side, or why there is none; read once, for it may lie in the spill file."""
        return self.whole.stub

    @cached_property
    def frames(self) -> tuple[int, ...]:
        """Returns the ids of the frames that carried the audited call's side. Several findings of a call share them."""
        return self.side.frames

    @property
    def is_readable(self) -> bool:
        return self.side.missing is None and self.side.problem is None

    @cached_property
    def stub(self) -> bytes:
        """Returns the unsealed stub of an audited call's request or response; call it only for captured and opened sides."""
        side = self.side
        assert side.missing is None
        if isinstance(side, Side):
            return side.stub_data
        assert isinstance(side.stub, bytes)
        return side.stub

    @cached_property
    def data(self) -> bytes:
        """Returns the bytes of `lpData` on this side of an audited call; empty if there is none."""
        span = self.side.buffer_span
        return self.stub[span[0] : span[1]] if span is not None and self.side.missing is None else b""

    @cached_property
    def layout(self) -> StubDecode | None:
        """Returns how the stub of an audited call's side is laid out (array counts, bytes consumed, notes); None if it does not
        decode."""
        interface = _INTERFACES.get(self.call.interface.uuid or "")
        if interface is None or self.call.opnum is None or isinstance(self.captured, Missing):
            return None
        if self.name == "response" and self.call.fault is not None:
            return None
        try:
            return decode_stub(
                interface,
                self.call.opnum,
                self.name,
                self.captured.data,
                ndr64=self.call.syntax == "ndr64",
                big_endian=self.side.big_endian,
            )
        except DecodeError:
            return None

    @cached_property
    def buffer(self) -> BufferDecode | None:
        """Returns the decoded `lpData` of an audited call's side, as far as it decodes; None if there is none, or its layout is
        unknown."""
        return decoded_buffer(self.whole)

    @property
    def tree(self) -> dict[str, Any]:
        """Returns the decoded `lpData` of an audited call's side by the ids of `ksy/`; empty if there is none."""
        return self.buffer.tree if self.buffer is not None else {}

    @cached_property
    def answer(self) -> DataAnswer:
        """Returns the `lpData` of an audited call as an answer of QueryCounterData, damaged or not."""
        return read_answer(self.data)

    @cached_property
    def block(self) -> WinperfParts | None:
        """Returns the `lpData` of an audited call as an undamaged PERF_DATA_BLOCK; None if it is none."""
        return WINPERF.read(self.data) if self.side.buffer_kind == "winperf" else None

    @cached_property
    def identifiers(self) -> IdentifierList:
        """Returns the `lpData` of an audited call as a list of counter identifiers, damaged or not."""
        return read_identifiers(self.data)

    def place(self, path: str, span: tuple[int, int] | None = None) -> Place | None:
        """Returns the place of the field at `path` in an audited call (see `At`); of a path without bytes, the nearest field around
        it."""
        if span is not None and self.side.buffer_span is not None:
            return self._place_of_range("lpData", str(span[0]), str(span[1]))
        if (named := _RANGE.fullmatch(path)) is not None:
            return self._place_of_range(*named.groups())
        if path.startswith("pdu"):
            return self._place_in_pdu(path)
        stub = self.captured
        if isinstance(stub, Missing):
            return None
        head, _, rest = path.partition(".")
        found: Field | None = None
        if head == "lpData" and self.side.buffer_span is not None:
            base = self.layout.data_start if self.layout is not None else None
            if base is None:
                return None
            start, stop = base, base + len(self.data)
            if rest and (found := self._buffer_field(rest)) is not None:
                start, stop = base + found.start, base + found.stop
        else:
            start, stop = 0, len(stub)
            root = self.stub_fields
            if path and root is not None and (found := _field_on_path(root, path)) is not None:
                start, stop = found.start, found.stop
        return Place(f"{self.name} stub", start, stop, stub, found)

    def _buffer_field(self, path: str) -> Field | None:
        if self.side.buffer_kind == "winperf" and not path.startswith(_OBJECTS):
            found = _field_on_path(self._head_fields, path)
            if found is not None and path.rpartition(".")[2] in (found.name, found.spelling):
                return found
        return _field_on_path(self.buffer_fields, path)

    def _place_of_range(self, whole: str, first: str, stop: str) -> Place | None:
        """Returns the place in the call of a byte range without a name that is to be evidence: `stub[8:12]` or `lpData[16:24]`."""
        stub = self.captured
        if isinstance(stub, Missing) or (whole == "lpData" and self.layout is None):
            return None
        base = self.layout.data_start if whole == "lpData" and self.layout is not None else 0
        return Place(f"{self.name} stub", base + int(first), min(base + int(stop), len(stub)), stub)

    def _place_in_pdu(self, path: str) -> Place | None:
        """Returns the place in a PDU of the call that is to be evidence: `pdu`, or `pdu[2]` for the second one, whole; `pdu.8:16`
        for bytes of it."""
        fragments = self.whole.pdus
        head, _, span = path.partition(".")
        number = int(head[4:-1]) if head != "pdu" else 1
        if not 1 <= number <= len(fragments):
            return None
        pdu = pdu_at(fragments, number - 1)
        start, stop = 0, len(pdu)
        if span:
            start, stop = (int(word) for word in span.split(":"))
        return Place(f"{self.name} PDU {number}", start, min(stop, len(pdu)), pdu, pdu=number)

    def place_as(self, part: str, start: int, stop: int, pdu: int | None) -> Place:
        """Returns the place of evidence in this call that was found in a call that is alike."""
        if pdu is not None:
            return Place(part, start, stop, pdu_at(self.whole.pdus, pdu - 1), None, pdu)
        stub = self.captured
        assert not isinstance(stub, Missing)
        return Place(part, start, stop, stub)

    def extents_as(self, part: str, start: int, stop: int, pdu: int | None) -> tuple[FrameExtent, ...]:
        """Returns the frame extents in this call of a place of evidence that was found in a call that is alike."""
        held = None if isinstance(self.side, Side) else self.side.pdus
        if held is not None and held.place is not None and start < stop:
            (frame, at), data = held.place, held.data if pdu is not None else self.stub
            if stop <= len(data):
                return (FrameExtent(frame, at + start + (held.stub_start if pdu is None else 0), stop - start),)
        return self.place_as(part, start, stop, pdu).extents

    @cached_property
    def stub_fields(self) -> Field | None:
        """Returns the fields of an audited call's stub beside their bytes; None if its layout is unknown."""
        fields = stub_fields(self.call, self.name)
        return fields.root if fields is not None else None

    @cached_property
    def buffer_fields(self) -> Field:
        """Returns the fields of an audited call's `lpData` beside their bytes; only for sides with a buffer of a known layout."""
        fields = buffer_fields(self.whole)
        assert fields is not None
        return fields.root

    @cached_property
    def _head_fields(self) -> Field:
        """Returns, as evidence, those fields of the PERF_DATA_BLOCK in an audited call that are outside its objects: they are few,
        and most findings point at one."""
        return map_head(self.data).root


# The part of a PERF_DATA_BLOCK with very many fields.
_OBJECTS = "objects"
# Calls that are alike share at most this many places.
_MOST_SHARED = 256
# Places are remembered for at most this many kinds of calls.
_MOST_PLACES = 1024
_RANGE = re.compile(r"(stub|lpData)\[(\d+):(\d+)\]")
_INTERFACES: dict[str, Any] = {pcq.INTERFACE: "perflib-v2", winreg.INTERFACE: "winreg"}


def _field_on_path(root: Field, path: str) -> Field | None:
    """Finds the field of a call that is evidence: the one that a path leads to, by ids or the specification's spelling. Levels that
    only wrap others may be left out of the path.

    If a path leads further than the bytes do, it returns the last field that is there.
    """
    at, found = root, None
    for word in path.split("."):
        below = _below(at, word)
        if below is None:
            return found
        at = found = below
    return found


def _below(field: Field, word: str) -> Field | None:
    for child in field.children:
        if word in (child.name, child.spelling):
            return child
    for child in field.children:
        if child.children and (found := _below(child, word)) is not None:
            return found
    return None


class _LookedAt:
    """Makes an audited call when it is first looked at: most calls are judged by what columns state."""

    __slots__ = ("_call", "_calls", "_number")

    def __init__(self, call: Call | None, calls: Sequence[Call] = (), number: int = 0) -> None:
        self._call, self._calls, self._number = call, calls, number

    @property
    def whole(self) -> Call:
        call = self._call
        if call is None:
            call = self._call = self._calls[self._number - 1]
        return call


class AskedEvidence:
    """The evidence that audit rules see of a request alone: what a client sent, without anything of its answer.

    `security` is that of the association, `handle` the number of the query handle, `catalog` what the server reported about its
    countersets. `knowledge` is what servers stated, over the whole capture, like `catalog`. `whole` is for the audit, not for
    rules.
    """

    # The side of a finding whose path names none.
    judged_side: SideName = "request"

    def __init__(self, call: CallEvidence) -> None:
        self.number, self.opnum, self.server = call.number, call.opnum, call.server
        self.request, self.asked = call.request, call.asked
        self.security, self.time_ns = call.context.security, call.time_ns
        self.handle = call.query.number if call.query is not None else None
        self.whole = call

    @property
    def catalog(self) -> Catalog:
        return self.whole.catalog

    @property
    def knowledge(self) -> Knowledge:
        return self.whole.knowledge

    @property
    def sent(self) -> SideEvidence:
        """Returns the request of the audited call, for looks that read it."""
        return self.whole.sent


class CallEvidence:
    """The evidence that audit rules see of one call, with its number in the timeline: what columns state of it, and what rules ask
    about it. `decoded` makes the call itself if that is not enough.

    `context` is what it shares with other calls. `view` is the query handle that it works on, if known; `query` is the same for
    calls of PerflibV2.
    """

    # The side of a finding whose path names none.
    judged_side: SideName = "response"

    def __init__(
        self, number: int, call: Call | HeldCall, capture: Evidence | None = None, query: QueryView | None = None
    ) -> None:
        """Takes the audited call's row with the state of its query handle, or the call itself, which has that state."""
        self.number, self._capture = number, capture
        if isinstance(call, Call):
            self.context, query = Context(*context_of(call)), call.query
            self._looked_at = _LookedAt(call)
        else:
            assert capture is not None
            self.context = call.shared
            self._looked_at = _LookedAt(None, capture.analysis.calls, number)
        self.opnum, self.method, self.time_ns = call.opnum, call.method, call.time_ns
        self.status, self.fault = call.status, call.fault
        self.server = self.context.server.ip
        self.is_altered = is_altered(call.smb, self.context.security)
        self.view, self.query = query, query if self.context.interface.uuid == pcq.INTERFACE else None
        asked, answered = call.request, call.response
        self.request = SideEvidence(self._looked_at, "request", asked) if asked is not None else None
        self.response = SideEvidence(self._looked_at, "response", answered) if answered is not None else None
        # Why a part cannot be read (None: it can), by part and whether damage is allowed: many rules read the same parts.
        self.unreadable: dict[tuple[str, bool], str | None] = {}
        # Results that are the same for all calls that are alike (see `alike_calls`), which share them.
        self.shared: dict[Hashable, Any] = {}
        # What one rule made of this call alone, for the other rules.
        self.made: dict[Hashable, Any] = {}
        # Places of fields that findings point at, as far as they were searched in calls that are alike.
        self.places: Places = {}
        self._found: dict[At, Place | None] = {}

    def __repr__(self) -> str:
        return f"CallEvidence(#{self.number}, {self.method})"

    @property
    def decoded(self) -> Call:
        """Returns the audited call as the layers decoded it."""
        return self._looked_at.whole

    @property
    def frames(self) -> tuple[int, ...]:
        """Returns the ids of the frames that carried the audited call, ascending, each once."""
        sides = [side.frames for side in (self.request, self.response) if side is not None]
        return tuple(sorted({frame for frames in sides for frame in frames}))

    @property
    def catalog(self) -> Catalog:
        """Returns what the server reported about its countersets over the whole capture, as evidence with which audit rules compare
        this call."""
        return (
            self._capture.analysis.catalogs.catalog_of(self.context.server) if self._capture is not None else Catalog()
        )

    @property
    def knowledge(self) -> Knowledge:
        """Returns what servers stated over the whole capture, as evidence with which audit rules compare this call."""
        return self._capture.knowledge if self._capture is not None else Knowledge(())

    @property
    def asked(self) -> dict[str, Any]:
        """Returns the parameters of the audited call's request; empty without a request."""
        return self.request.params if self.request is not None else {}

    @property
    def answered(self) -> dict[str, Any]:
        """Returns the parameters of the audited call's response, without its return value; empty without a response."""
        return self.response.params if self.response is not None else {}

    @property
    def sent(self) -> SideEvidence:
        """Returns the request of the audited call, for looks that read it."""
        assert self.request is not None
        return self.request

    @property
    def reply(self) -> SideEvidence:
        """Returns the response of the audited call, for looks that read it."""
        assert self.response is not None
        return self.response

    def side(self, name: SideName) -> SideEvidence | None:
        return self.request if name == "request" else self.response

    def place(self, at: At) -> Place | None:
        """Returns the place of a field that is evidence in this call: its bytes, and its description if it has one."""
        side = self.side(at.side)
        return side.place(at.path, at.span) if side is not None else None

    def spot(self, at: At) -> Spot | None:
        """Returns the place of a field in the audited call without its bytes."""
        if at not in self.places and (place := self.find(at)) is not None:
            return place.spot
        return self.places.get(at)

    def find(self, at: At) -> Place | None:
        """Finds the place of a field in the audited call like `place`, perhaps without the description. It searches once for all
        calls that are alike."""
        if at in self._found:
            return self._found[at]
        if at in self.places:
            known, side = self.places[at], self.side(at.side)
            place = side.place_as(*known) if side is not None and known is not None else None
        else:
            place = self.place(at)
            if len(self.places) < _MOST_SHARED:
                self.places[at] = place.spot if place is not None else None
        self._found[at] = place
        return place


# Places without their bytes, by the fields that stand there: what calls that are alike share.
Places = dict[At, Spot | None]


class CallIndex:
    """An index of the capture's calls for audit rules, made in one pass, so that rules about few calls need not go through all.

    `first` has the first PerflibV2 call of each channel. `nameless` has the calls of interfaces that this program has no name for,
    by channel and presentation context.
    """

    def __init__(self, calls: OrderedCalls) -> None:
        self._methods: dict[tuple[str | None, int | None], array[int]] = {}
        self.first: dict[int, int] = {}
        self.nameless: dict[tuple[int, int], array[int]] = {}
        contexts = calls.table.contexts
        columns = (calls.column(name).tolist() for name in ("context", "opnum", "context_id"))
        for number, (row, opnum, context_id) in enumerate(zip(*columns, strict=True), 1):
            context = contexts[row]
            interface = context.interface
            method = interface.uuid, opnum if opnum >= 0 else None
            if method not in self._methods:
                self._methods[method] = array("q")
            self._methods[method].append(number)
            if interface.uuid == pcq.INTERFACE:
                self.first.setdefault(context.channel, number)
            elif interface.name is None and interface.uuid is not None:
                self.nameless.setdefault((context.channel, context_id), array("q")).append(number)

    def numbers(self, interface: str, *opnums: int) -> Sequence[int]:
        """Returns the numbers of the calls of some methods of an interface (all, if none are named), ascending, so that rules ask
        for the evidence of these alone."""
        found = (
            of_method
            for (uuid, opnum), of_method in self._methods.items()
            if uuid == interface and (not opnums or opnum in opnums)
        )
        return array("q", merge(*found))


class Evidence:
    """The evidence of the whole capture, for audit rules that remember."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        # The places that each call shares with others, by their number; 0 for calls that were not met yet, or are like none.
        self._shares = array("H", bytes(2 * (len(analysis.calls) + 1)))
        self._places: list[Places] = [{}]
        self._number_of: dict[int, int] = {}

    @cached_property
    def index(self) -> CallIndex:
        """Returns the index of the capture's calls as evidence: it tells audit rules which calls are there."""
        return CallIndex(self.analysis.calls)

    @cached_property
    def knowledge(self) -> Knowledge:
        """Returns, as evidence for audit rules that remember, what the servers stated over the whole capture."""
        return Knowledge(Selected(self.analysis.calls, self.index.numbers(pcq.INTERFACE, *STATING)))

    @cached_property
    def lifetimes(self) -> tuple[HandleLifetime, ...]:
        """Returns, as evidence for audit rules that remember, the lifetime of every query handle."""
        return handle_lifetimes(self.analysis)

    def is_in_order(self, before: int, after: CallEvidence) -> bool:
        """Tells, as evidence for audit rules, whether the order of two calls is certain: neither is disordered; on two channels, no
        call of the capture is."""
        disordered = self.analysis.calls.disordered
        if disordered and self.call(before).context.channel != after.context.channel:
            return False
        return before not in disordered and after.number not in disordered

    @cached_property
    def unbound(self) -> tuple[CallEvidence, ...]:
        """Returns the first PerflibV2 call of each channel whose bind was not captured, for audit rules."""
        bound = {one.channel.number for one in self.analysis.bounds if one.interface == pcq.INTERFACE}
        return tuple(self.call(number) for channel, number in self.index.first.items() if channel not in bound)

    def call(self, number: int) -> CallEvidence:
        """Returns the evidence of the call with this number, for audit rules."""
        made = CallEvidence(number, self.analysis.calls[number - 1], self)
        if (share := self._shares[number]) > 0:
            made.places = self._places[share]
        return made

    def note_places(self, call: CallEvidence) -> None:
        """Remembers the places of evidence that a call shares with others, for rules that come back to it."""
        share = self._number_of.get(id(call.places))
        if share is None and len(self._places) < _MOST_PLACES:
            share = self._number_of[id(call.places)] = len(self._places)
            self._places.append(call.places)
        if share is not None:
            self._shares[call.number] = share

    def calls(self) -> Iterator[CallEvidence]:
        """Yields the call evidence of every PerflibV2 and winreg call in the order of the timeline, made anew so that none is
        held."""
        numbers = array("q", merge(self.index.numbers(pcq.INTERFACE), self.index.numbers(winreg.INTERFACE)))
        calls = self.analysis.calls
        for number, held in zip(numbers, calls.held(numbers, pdus=True), strict=True):
            if held is None:
                yield self.call(number)
                continue
            view = calls.views[number - 1]
            yield CallEvidence(number, held, self, calls.states[view] if view >= 0 else None)

    def calls_of(self, interface: str, *opnums: int) -> Iterator[CallEvidence]:
        """Yields the evidence of the calls of an interface, or of some of its methods."""
        return map(self.call, self.index.numbers(interface, *opnums))
