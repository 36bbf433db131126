"""The calls of a capture, packed: a call is an object only while it is looked at.

A completed call is one record of MessagePack in a log, which lies in a temporary file when there are many. What calls have in
common (ends, security, interface) is kept once and referred to by number; PDUs and unsealed stubs that are long are kept beside
the record and read when asked for. `CallWriter` takes calls as they complete; `CallStore` has them in order.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, get_type_hints, overload

from msgspec import Struct, msgpack

from analyzer.core.absence import Missing
from analyzer.core.origins import PackedOrigins, pack_origins
from analyzer.core.rows import Rows
from analyzer.core.spill import Log, LoggedBytes
from analyzer.core.traced import TracedBytes
from analyzer.model.buffer import BufferKind
from analyzer.model.call import Call, CallState, PerformanceRead, Side, SmbFacts, StubProblem
from analyzer.model.pdus import Fragment, Pdus, Plain, StubSource
from analyzer.model.perflib import Opnum
from analyzer.model.query import QueryView
from analyzer.model.record import Endpoint

if TYPE_CHECKING:
    import numpy.typing as npt

# How much of calls stays in memory.
MEMORY_BYTES = 16 << 20
# Bytes up to so many are kept in the record of their call.
_INLINE = 2048
# Bytes beyond this are moved into the log in parts.
_AT_ONCE = 1 << 20
_Bytes = bytes | tuple[int, int]
# How many bytes state where the stub of a PDU begins and ends in it.
_BOUNDS = 2 * array("I").itemsize
_MISSING = tuple(Missing)

_Item = TypeVar("_Item", bound=Hashable)


class _Table(dict[_Item, int]):
    """Values that many calls share: the number of each, and the values by number."""

    def __init__(self) -> None:
        super().__init__()
        self.items_by_number: list[_Item] = []

    def __missing__(self, item: _Item) -> int:
        number = self[item] = len(self.items_by_number)
        self.items_by_number.append(item)
        return number


class _PackedPdus(Struct, array_like=True, frozen=True, gc=False):
    """PDUs that were carried alike; see `Pdus`. Numbers are packed as `array` has them."""

    whole: _Bytes
    origins: _Bytes
    steps: int
    bounds: bytes
    stops: bytes | None = None
    step: int = 0
    plains: tuple[bytes | int | None, ...] | None = None
    unsealed: _Bytes | None = None


class _StoredPdus(Pdus):
    """PDUs of a packed call: what is stated of them is read out of their row, what else is asked for is made of it."""

    __slots__ = ("_calls", "row")

    def __init__(self, row: _PackedPdus, calls: CallWriter) -> None:
        self.row, self._calls = row, calls

    def __getattr__(self, name: str) -> Any:
        # The fields of `Pdus`, of which none is there before the first is asked for.
        if name not in Pdus.__slots__:
            raise AttributeError(name)
        Pdus.__init__(self, *self._calls.unpacked(self.row))
        return getattr(self, name)

    def is_of(self, calls: CallWriter) -> bool:
        """Whether they lie in the log of these calls."""
        return self._calls is calls

    def __len__(self) -> int:
        return len(self.row.bounds) // _BOUNDS

    @property
    def frames(self) -> tuple[int, ...]:
        origins = self._calls.origins(self.row)
        return origins.frames(0, origins.length)

    @property
    def frame_range(self) -> tuple[int, int] | None:
        origins = self._calls.origins(self.row)
        return origins.frame_range(0, origins.length)

    def stub_bytes(self, length: int) -> bytes:
        row = self.row
        if isinstance(row.unsealed, bytes):
            return row.unsealed[:length]
        if row.unsealed is None and row.stops is None and row.plains is None and isinstance(row.whole, bytes):
            start, stop = array("I", row.bounds)
            return row.whole[start : min(start + length, stop)]
        return super().stub_bytes(length)


class _PackedSide(Struct, array_like=True, frozen=True, gc=False):
    pdus: tuple[_PackedPdus, ...]
    missing: int | None
    stub_length: int
    wire_length: int
    verification_trailer: str | None
    big_endian: bool
    first_time_ns: int
    last_time_ns: int
    params: dict[str, Any]
    buffer_kind: BufferKind | None
    buffer_span: tuple[int, int] | None = None
    problem: StubProblem | None = None
    frames_of_dropped: tuple[int, ...] = ()


class PackedCall(Struct, array_like=True, frozen=True, gc=False):
    """A call; what is a number in place of a value refers to `_Common` by that name."""

    common: int
    opnum: int | None
    method: int
    call_id: int
    context_id: int
    state: int
    reason: str | None
    status: int | None
    fault: int | None
    smb: int
    request: _PackedSide | None
    response: _PackedSide | None
    read: PerformanceRead | None = None
    key: str | None = None
    key_number: int | None = None
    path: str | None = None


# The fields of a call that all calls of one presentation context have in common, as a rule.
_COMMON = (
    "client",
    "server",
    "transport",
    "pipe",
    "session",
    "auth",
    "interface",
    "syntax",
    "channel",
    "impersonation",
    "security",
    "smb_identity",
)

_common_of = attrgetter(*_COMMON)
_ENCODER = msgpack.Encoder()
_DECODER = msgpack.Decoder(PackedCall)


# State, interface and method (its number, where it has no name) of a call.
Tally = tuple[CallState, str, str | int | None]


def tally_of(call: Call) -> Tally:
    """Where a call is counted."""
    return call.state, call.interface.name or call.interface.uuid or "unknown", call.method or call.opnum


# Of `CallMoments.handle`: nothing has to be known of the call but that it was made.
NO_HANDLE = -2
# Methods of PerflibV2 that name no query handle.
_WITHOUT_HANDLE = frozenset(
    {
        Opnum.ENUMERATE_COUNTER_SET,
        Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,
        Opnum.ENUMERATE_COUNTER_SET_INSTANCES,
    }
)


class CallMoments(NamedTuple):
    """When a call began and ended: times in ns, and frames for what has the same time.

    `first` is the first frame of the request (of the response where that is all there is), by which calls are ordered; `begin` its
    last, and `end` the first of the response, -1 for none. `perflib` and `request` say whether it is of PerflibV2, and whether
    its request is there. Most calls are polls: of those that were answered `handle` is the position of the query handle in
    `Moments.handle_names`; of calls that are about no query handle it is `NO_HANDLE`, of others -1.
    """

    first_time: int
    first_frame: int
    begin_time: int
    begin_frame: int
    end_time: int
    end_frame: int
    perflib: bool
    request: bool
    handle: int
    channel: int
    call_id: int


class Moments:
    """When calls began and ended, by position: see `CallMoments`."""

    def __init__(self) -> None:
        self._rows = Rows(
            first_time="q",
            first_frame="q",
            begin_time="q",
            begin_frame="q",
            end_time="q",
            end_frame="q",
            perflib="?",
            request="?",
            handle="i",
            channel="I",
            call_id="I",
        )
        self._names: _Table[tuple[Endpoint, str]] = _Table()

    @property
    def handle_names(self) -> Sequence[tuple[Endpoint, str]]:
        """Server and UUID of each handle."""
        return self._names.items_by_number

    def __getitem__(self, at: int) -> CallMoments:
        return CallMoments(*self._rows[at])  # type: ignore[arg-type]  # flags are bools

    def column(self, name: str) -> npt.NDArray[Any]:
        """A field of `CallMoments` of all calls."""
        return self._rows.column(name)

    def add(self, call: Call) -> None:
        request, answer = call.request, call.response
        side = request or answer
        first, last = side.frame_range if side is not None else (0, 0)
        self._rows.append(
            side.first_time_ns if side is not None else 0,
            first,
            side.last_time_ns if side is not None else 0,
            last,
            answer.first_time_ns if answer is not None else -1,
            answer.frame_range[0] if answer is not None else -1,
            call.is_perflib,
            request is not None,
            self._handle(call),
            call.channel,
            call.call_id,
        )

    def replace(self, at: int, call: Call) -> None:
        """What kind of call it is now."""
        self._rows[at] = self[at]._replace(perflib=call.is_perflib, handle=self._handle(call))

    def _handle(self, call: Call) -> int:
        """The position of the handle of a poll that was answered, else -1 or `NO_HANDLE`."""
        request = call.request
        if request is None:
            return -1
        if not call.is_perflib or call.opnum in _WITHOUT_HANDLE:
            return NO_HANDLE
        if call.opnum != Opnum.QUERY_COUNTER_DATA or call.response is None:
            return -1
        handle = request.params.get("hQuery")
        return self._names[call.server, handle["uuid"]] if isinstance(handle, dict) else -1


class Shared(Struct):
    """What calls have in common, by number, and how many there are of each kind."""

    commons: bytes
    smbs: list[SmbFacts | None]
    texts: list[str | None]
    steps: list[tuple[str, ...]]
    tally: list[tuple[Tally, int]]


class CallWriter:
    """Takes calls one by one; `at` is the position of a call as it was taken."""

    def __init__(self, memory: int | None = None) -> None:
        """So many bytes stay in memory, `MEMORY_BYTES` if none are named."""
        self._log = Log(MEMORY_BYTES if memory is None else memory)
        self._places = array("q")
        self._lengths = array("I")
        self.moments = Moments()
        self.tally: Counter[Tally] = Counter()
        self._commons: _Table[tuple[Any, ...]] = _Table()
        self._smbs: _Table[SmbFacts | None] = _Table()
        self._texts: _Table[str | None] = _Table()
        self._steps: _Table[tuple[str, ...]] = _Table()
        self._last_common: dict[int, tuple[tuple[Any, ...], int]] = {}
        # Positions of the calls whose interface is not known, by channel and presentation context.
        self.unbound: dict[tuple[int, int], array[int]] = {}

    @classmethod
    def of(cls, log: Log, places: bytes, lengths: bytes, shared: Shared) -> Self:
        """Calls that were packed elsewhere, to be read."""
        types = get_type_hints(Call)
        writer = cls()
        writer._log = log
        writer._places, writer._lengths = array("q", places), array("I", lengths)
        commons = msgpack.decode(shared.commons, type=list[tuple[tuple([types[name] for name in _COMMON])]])  # type: ignore[misc]
        writer._commons.items_by_number, writer._smbs.items_by_number = commons, shared.smbs
        writer._texts.items_by_number, writer._steps.items_by_number = shared.texts, shared.steps
        writer.tally.update(dict(shared.tally))
        return writer

    def packed(self) -> tuple[bytes, bytes, Shared, Log]:
        """Where each call lies in the log and how long it is, what calls share, and the log."""
        commons = _ENCODER.encode(self._commons.items_by_number)
        tables = self._smbs.items_by_number, self._texts.items_by_number, self._steps.items_by_number
        shared = Shared(commons, *tables, list(self.tally.items()))
        return self._places.tobytes(), self._lengths.tobytes(), shared, self._log

    def __len__(self) -> int:
        return len(self._places)

    def append(self, call: Call) -> int:
        """The position of the call from now on."""
        at = len(self._places)
        place, length = self._put(call)
        tally = tally_of(call)
        # What may fail comes first: after an error all columns are as long as each other, and what was read before is shown.
        self.moments.add(call)
        self._places.append(place)
        self._lengths.append(length)
        self.tally[tally] += 1
        if call.interface.uuid is None:
            self.unbound.setdefault((call.channel, call.context_id), array("I")).append(at)
        return at

    def replace(self, at: int, call: Call) -> None:
        """What is known of a call now; its time and frames are as they were."""
        self.tally[tally_of(self[at])] -= 1
        self.tally[tally_of(call)] += 1
        self._places[at], self._lengths[at] = self._put(call)
        self.moments.replace(at, call)

    def drop_moments(self) -> None:
        """The calls are in order and the states of their handles are known: nothing else asks when they began and ended."""
        self.moments = Moments()

    def __getitem__(self, at: int) -> Call:
        """The call at a position, without number and query handle."""
        return self.read(at, 0, None)

    # Packing

    def _put(self, call: Call) -> tuple[int, int]:
        # Tuples are packed as the structs they are read as, and quicker made.
        packed = _ENCODER.encode(
            (
                self._common(call),
                call.opnum,
                self._texts[call.method],
                call.call_id,
                call.context_id,
                self._texts[call.state],
                call.reason,
                call.status,
                call.fault,
                self._smbs[call.smb],
                self._packed_side(call.request),
                self._packed_side(call.response),
                call.read,
                call.key,
                call.key_number,
                call.path,
            )
        )
        return self._log.append(packed), len(packed)

    def _common(self, call: Call) -> int:
        """The number of what the call has in common with others: as a rule, with the last one of its channel."""
        common = _common_of(call)
        last = self._last_common.get(call.channel)
        if last is not None and all(map(is_, last[0], common)):
            return last[1]
        number = self._commons[common]
        self._last_common[call.channel] = common, number
        return number

    def _packed_side(self, side: Side | None) -> tuple[Any, ...] | None:
        """As `_PackedSide`."""
        if side is None:
            return None
        pdus, missing = side.pdus, side.missing
        return (
            # PDUs that were carried or unsealed differently are packed one by one.
            [self._packed(_alone(one)) for one in pdus] if isinstance(pdus, tuple) else (self._packed(pdus),),
            None if missing is None else _MISSING.index(missing),
            side.stub_length,
            side.wire_length,
            side.verification_trailer,
            side.big_endian,
            side.first_time_ns,
            side.last_time_ns,
            side.params,
            side.buffer_kind,
            side.buffer_span,
            side.problem,
            side.frames_of_dropped,
        )

    def _packed(self, pdus: Pdus) -> _PackedPdus | tuple[Any, ...]:
        """As `_PackedPdus`."""
        if type(pdus) is _StoredPdus and pdus.is_of(self):
            return pdus.row
        whole, stops, plains, unsealed = pdus.whole, pdus.stops, pdus.plains, pdus.unsealed
        return (
            self._bytes(whole),
            self._bytes(pack_origins(whole)),
            self._steps[whole.steps],
            pdus.bounds.tobytes(),
            None if stops is None else stops.tobytes(),
            self._texts[pdus.step],
            None if plains is None else [_MISSING.index(one) if isinstance(one, Missing) else one for one in plains],
            None if unsealed is None else self._bytes(unsealed),
        )

    def _bytes(self, data: TracedBytes | bytes) -> _Bytes:
        raw = data if isinstance(data, bytes) else data.data if type(data) is TracedBytes else None
        if raw is not None and len(raw) <= _INLINE:
            return raw
        if isinstance(data, LoggedBytes) and data.log is self._log:
            return data.position, len(data)
        length = len(data)
        if raw is None and length <= _AT_ONCE:
            raw = bytes(data)
        if raw is not None:
            return raw if length <= _INLINE else (self._log.append(raw), length)
        assert isinstance(data, TracedBytes)
        position = self._log.append(data.part(0, _AT_ONCE))
        for at in range(_AT_ONCE, length, _AT_ONCE):
            self._log.append(data.part(at, min(at + _AT_ONCE, length)))
        return position, length

    # Reading

    def row(self, at: int) -> PackedCall:
        """The call at a position as it is packed."""
        return _DECODER.decode(self._log.read(self._places[at], self._lengths[at]))

    def read(self, at: int, number: int, query: QueryView | None) -> Call:
        """The call at a position, with its number and the state of its query handle."""
        row = self.row(at)
        (
            client,
            server,
            transport,
            pipe,
            session,
            auth,
            interface,
            syntax,
            channel,
            impersonation,
            security,
            identity,
        ) = self._commons.items_by_number[row.common]
        side = row.request or row.response
        return Call(
            number=number,
            time_ns=side.first_time_ns if side is not None else 0,
            client=client,
            server=server,
            transport=transport,
            pipe=pipe,
            session=session,
            smb=self._smbs.items_by_number[row.smb],
            auth=auth,
            interface=interface,
            syntax=syntax,
            opnum=row.opnum,
            method=self._texts.items_by_number[row.method],
            call_id=row.call_id,
            context_id=row.context_id,
            state=self._texts.items_by_number[row.state],  # type: ignore[arg-type]  # it was one of them
            reason=row.reason,
            status=row.status,
            fault=row.fault,
            channel=channel,
            impersonation=impersonation,
            security=security,
            smb_identity=identity,
            request=self._side(row.request),
            response=self._side(row.response),
            read=row.read,
            key=row.key,
            key_number=row.key_number,
            path=row.path,
            query=query,
        )

    def _side(self, row: _PackedSide | None) -> Side | None:
        if row is None:
            return None
        pdus, missing = row.pdus, row.missing
        return Side(
            pdus=self._pdus(pdus[0]) if len(pdus) == 1 else tuple([self._pdus(one)[0] for one in pdus]),
            missing=None if missing is None else _MISSING[missing],
            stub_length=row.stub_length,
            wire_length=row.wire_length,
            verification_trailer=row.verification_trailer,  # type: ignore[arg-type]  # it was one of them
            big_endian=row.big_endian,
            first_time_ns=row.first_time_ns,
            last_time_ns=row.last_time_ns,
            frames_of_dropped=row.frames_of_dropped,
            params=row.params,
            buffer_span=row.buffer_span,
            buffer_kind=row.buffer_kind,
            problem=row.problem,
        )

    def _pdus(self, row: _PackedPdus) -> Pdus:
        return _StoredPdus(row, self)

    def origins(self, row: _PackedPdus) -> PackedOrigins:
        """Where PDUs were captured."""
        packed, whole = row.origins, row.whole
        length = len(whole) if isinstance(whole, bytes) else whole[1]
        return PackedOrigins(packed if isinstance(packed, bytes) else self._log.read(*packed), length)

    def unpacked(self, row: _PackedPdus) -> tuple[Any, ...]:
        """What `Pdus` are made of."""
        stops_packed, step = row.stops, self._texts.items_by_number[row.step] or ""
        origins = self.origins(row)
        steps = self._steps.items_by_number[row.steps]
        whole = self._traced(row.whole, origins, 0, steps)
        bounds = array("I", row.bounds)
        stops = None if stops_packed is None else array("I", stops_packed)
        plains: tuple[Plain, ...] | None = None
        if row.plains is not None:
            plains = tuple([_MISSING[one] if isinstance(one, int) else one for one in row.plains])
        if row.unsealed is None:
            return whole, stops, bounds, step, plains
        unsealed_steps = (*steps, step) if step else steps
        if stops is None:
            unsealed = self._traced(row.unsealed, origins, bounds[0], unsealed_steps)
        else:
            unsealed = self._traced(row.unsealed, StubSource(whole, stops, bounds), 0, unsealed_steps)
        return whole, stops, bounds, step, plains, unsealed

    def _traced(self, data: _Bytes, source: Any, start: int, steps: tuple[str, ...]) -> TracedBytes:
        if isinstance(data, bytes):
            return TracedBytes(data, source, start, steps)
        return LoggedBytes(self._log, *data, source, start, steps)


def _alone(fragment: Fragment) -> Pdus:
    """One PDU as if it were a message."""
    plain = fragment.plain
    bounds = array("I", (fragment.stub_start, fragment.stub_stop))
    if isinstance(plain, Missing):
        return Pdus(fragment.pdu, None, bounds, "", (plain,))
    if plain.steps == fragment.pdu.steps and plain == fragment.pdu[fragment.stub_start : fragment.stub_stop]:
        return Pdus(fragment.pdu, None, bounds)
    return Pdus(fragment.pdu, None, bounds, plain.steps[-1] if plain.steps else "", None, plain)


class CallStore(Sequence[Call]):
    """The calls of a capture in order: call number n is at position n - 1.

    `order` has the position of each call in the writer, `views` for each call the position of its query handle's state in
    `states`, -1 for none.
    """

    def __init__(
        self, writer: CallWriter, order: Sequence[int], views: Sequence[int] = (), states: Sequence[QueryView] = ()
    ) -> None:
        self._writer, self._order, self._views, self._states = writer, order, views, states
        self._last: Call | None = None

    @property
    def tally(self) -> Mapping[Tally, int]:
        """How many calls there are of each state, interface and method."""
        return self._writer.tally

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, where: int) -> Call: ...

    @overload
    def __getitem__(self, where: slice) -> Sequence[Call]: ...

    def __getitem__(self, where: int | slice) -> Call | Sequence[Call]:
        if isinstance(where, slice):
            return [self[at] for at in range(*where.indices(len(self)))]
        at = range(len(self._order))[where]
        # Who looks at a call often looks at it again at once; another thread may look at another one meanwhile.
        call = self._last
        if call is None or call.number != at + 1:
            view = self._views[at] if self._views else -1
            call = self._last = self._writer.read(self._order[at], at + 1, self._states[view] if view >= 0 else None)
        return call

    def __iter__(self) -> Iterator[Call]:
        for at in range(len(self._order)):
            yield self[at]
