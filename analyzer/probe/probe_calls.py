"""The calls of the probe: methods with parameters in, answers and log entries out.

A `Lab` opens associations to one server and keeps the log; a `Talk` is one association at one authentication level. Each entry says
in words what was sent, what came back, and which triggers of requirements that was (`questions/audit/rule_registry.py`).

Requests are encoded in NDR and NDR64 ([MS-PCQ] section 6, [MS-RRP] section 6, C706 chapter 14, [MS-RPCE] section 2.2.5). Some
stubs are wrong on purpose. Answers are read with the analyzer's own parsers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, Protocol, TypedDict, Unpack
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.dcerpc_encoding import NDR, NDR64, NdrWriter
from analyzer.core.errors import DecodeError
from analyzer.interfaces.buffers.buffer_trees import decode_buffer
from analyzer.interfaces.buffers.stub_decoding import decode_stub
from analyzer.probe.dcerpc_client import BoundStream, Credentials, LostError, OfferedContext, Reply, handle_of
from analyzer.questions.audit.data_answers import read_answer
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.methods import perflib, winreg
from analyzer.results.methods.perflib import Opnum
from analyzer.results.security import AuthLevel

# -------------------------------------------------------------------------------------------------------- request stubs


NO_HANDLE = bytes(20)
ANY = 0xFFFFFFFF
MACHINE = "\\\\probed"


def context_handle(uuid: bytes | str) -> bytes:
    """Encodes an RPC context handle of 20 bytes for a call of the probe."""
    raw = UUID(uuid).bytes_le if isinstance(uuid, str) else uuid
    return bytes(4) + raw


def identifier(
    counterset: str, *, counter: int = ANY, instance: int = ANY, name: str | None = None, size: int | None = None
) -> bytes:
    """Encodes a _PERF_COUNTER_IDENTIFIER (section 2.2.4.6) for the probe, its name padded to 8 bytes; `size` overrides Size."""
    text = b"" if name is None else (name + "\0").encode("utf-16-le")
    text += bytes(-len(text) % 8)
    length = 40 + len(text) if size is None else size
    numbers = (0, length, counter, instance, 0, 0)
    return UUID(counterset).bytes_le + b"".join(number.to_bytes(4, "little") for number in numbers) + text


def query_value(handle: bytes, name: str, room: int, *, ndr64: bool = False) -> bytes:
    """Encodes the stub of BaseRegQueryValue for the probe, with `room` bytes and none of them sent ([MS-RRP] section 3.1.5.17)."""
    stub = NdrWriter(ndr64=ndr64).handle(handle).unicode_string(name, 0).pointer(1).uint(0)
    stub.pointer(2).count(room).count(0).count(0)
    return stub.pointer(3).uint(room).pointer(4).uint(0).data


# ---------------------------------------------------------------------------------------------------------- probe calls


PERFLIB, WINREG = (perflib.INTERFACE, 1, 0), (winreg.INTERFACE, 1, 0)
# The range of dwInSize of EnumerateCounterSet, in GUIDs ([MS-PCQ] section 6).
MOST_GUIDS = 256
NOT_ENOUGH_MEMORY, ACCESS_DENIED = 8, 5
METHODS = {
    0: "EnumerateCounterSet",
    1: "QueryCounterSetRegistrationInfo",
    2: "EnumerateCounterSetInstances",
    3: "OpenQueryHandle",
    4: "CloseQueryHandle",
    5: "QueryCounterInfo",
    6: "QueryCounterData",
    7: "ValidateCounters",
}
Impersonation = Literal["impersonation", "identification"]


class Triggers(TypedDict, total=False):
    """The triggers that a call of the probe counts for: once answered, once successful. `never_given_out`: the server does not know
    its handle."""

    causes: tuple[str, ...]
    returns: tuple[str, ...]
    never_given_out: bool


class Connector(Protocol):
    """Opens streams for calls of the probe to the server that the user named."""

    def open(self, credentials: Credentials, pipe: str, impersonation: Impersonation) -> BoundStream: ...


class LogEntry(Struct, frozen=True):
    """One call in the probe's log: its step, what was sent in words, at which level, and what came back.

    `triggers` are the triggers of requirements that it brought about, in the words of the catalogue.
    """

    step: str
    association: int
    level: int
    words: str
    answer: Reply
    triggers: tuple[str, ...]


class Lab:
    """Makes the calls of the probe to one server, and keeps their log. `pause` is called before every call and keeps the rate.
    `tell` takes lines for people: the progress of the run, and calls without an answer."""

    def __init__(
        self,
        connector: Connector,
        credentials: Credentials,
        pause: Callable[[], None],
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.connector, self.credentials, self._pause, self.tell = connector, credentials, pause, tell
        self.log: list[LogEntry] = []
        self.failures: list[str] = []
        self.step = ""
        self._open: list[Talk] = []
        self.associations = 0

    def join(
        self,
        level: int = AuthLevel.PRIVACY,
        *,
        interface: tuple[str, int, int] = PERFLIB,
        transfer: tuple[str, int] = NDR,
        pipe: str = "winreg",
        impersonation: Impersonation = "impersonation",
        credentials: Credentials | None = None,
    ) -> Talk | None:
        """Opens a new association for calls of the probe to the server. Returns None and notes a failure if there is none to be
        had."""
        self._pause()
        who = self.credentials if credentials is None else credentials
        self.associations += 1
        words = f"bind at level {level}"
        try:
            association = self.connector.open(who, pipe, impersonation)
            talk = Talk(self, association, self.associations)
            self._open.append(talk)
            context = talk.add_context(OfferedContext(interface, transfer), level)
        except (LostError, OSError, ConnectionError) as error:
            self.fail(f"{words}: {error}")
            return None
        if context is None:
            self.fail(f"{words}: the server rejected the presentation context")
            return None
        return talk

    @property
    def calls(self) -> int:
        """Returns how many probe calls were sent; the log has binds too."""
        return sum(entry.answer.opnum >= 0 for entry in self.log)

    def fail(self, why: str) -> None:
        """Notes beside the log of the probe's calls what went wrong in this step, and tells it."""
        self.failures.append(f"{self.step}: {why}")
        self.tell(self.failures[-1])

    def note(self, entry: LogEntry) -> None:
        self.log.append(entry)

    def add_triggers(self, *triggers: str) -> None:
        """Adds triggers to the log entry of the last probe call, because its answer shows them."""
        last = self.log[-1]
        self.log[-1] = replace(last, triggers=tuple(dict.fromkeys((*last.triggers, *triggers))))

    def before_call(self) -> None:
        self._pause()

    def end_step(self) -> None:
        """Closes the associations that the calls of a step of the probe left open."""
        for talk in self._open:
            talk.close()
        self._open.clear()


class Talk:
    """One association of the probe. Calls go over the presentation context that was bound last; `use_context` selects another."""

    def __init__(self, lab: Lab, association: BoundStream, number: int) -> None:
        self._lab, self._association, self.number = lab, association, number
        self._levels: dict[int, int] = {}
        self._ndr64: dict[int, bool] = {}
        self._interfaces: dict[int, str] = {}
        self._last = 0

    def add_context(self, context: OfferedContext, level: int) -> int | None:
        """Adds a presentation context for probe calls to their association, with a security context of its own; returns its
        number."""
        number = self._association.bind(context, level)
        triggers = ["The interface was called or bound.", "The interface was bound.", *_TRAILERS[level > 1]]
        if number is not None:
            self._last = number
            self._levels[number] = level
            self._ndr64[number] = context.transfer == NDR64
            self._interfaces[number] = context.interface[0]
            triggers.append("The interface was bound and the bind answered.")
        elif context.transfer not in (NDR, NDR64):
            triggers.append("Bind-time features were offered.")
        if context.interface == PERFLIB:
            words = f"bind of PerflibV2 at level {level}{', NDR64' if context.transfer == NDR64 else ''}"
            self._lab.note(LogEntry(self._lab.step, self.number, level, words, Reply(b"", None, None), tuple(triggers)))
        return number

    @property
    def context(self) -> int:
        """Returns the presentation context that probe calls go over."""
        return self._last

    def use_context(self, context: int) -> None:
        """Sends later probe calls over this presentation context."""
        self._last = context

    def stub(self) -> NdrWriter:
        """An empty stub in the transfer syntax of the context that calls go over."""
        return NdrWriter(ndr64=self._ndr64[self._last])

    def close(self) -> None:
        self._association.close()

    def send(
        self,
        opnum: int,
        stub: bytes | NdrWriter,
        words: str,
        *,
        causes: tuple[str, ...] = (),
        returns: tuple[str, ...] = (),
        never_given_out: bool = False,
    ) -> Reply:
        """Sends one call of the probe. `causes` are triggers of any answer, `returns` triggers of success. `never_given_out` says
        that the server did not give out the handle."""
        context = self._last
        data = stub.data if isinstance(stub, NdrWriter) else stub
        self._lab.before_call()
        answer = self._association.call(context, opnum, data)
        if not answer.is_sent:
            return answer
        if answer.lost is not None:
            self._lab.tell(f"{self._lab.step}: {words}: {answer.lost}")
        triggers: list[str] = []
        level = self._levels[context]
        if self._interfaces[context] == perflib.INTERFACE:
            triggers += _triggers_of_any(answer, level)
            triggers += _triggers_of_method(opnum, answer, level, never_given_out=never_given_out)
        if answer.is_answered:
            triggers += causes
        if answer.status == 0:
            triggers += returns
        entry = LogEntry(self._lab.step, self.number, level, words, answer, tuple(dict.fromkeys(triggers)))
        self._lab.note(entry)
        return answer

    # --- the methods of PerflibV2 ---------------------------------------------------------------------------------

    def enumerate(self, in_size: int = MOST_GUIDS, **triggers: Unpack[Triggers]) -> Reply:
        return self.send(
            0, self.stub().string(MACHINE).uint(in_size), f"EnumerateCounterSet, dwInSize {in_size}", **triggers
        )

    def register(
        self, guid: str, code: int, language: int = 0, in_size: int = 1 << 16, **triggers: Unpack[Triggers]
    ) -> Reply:
        stub = self.stub().string(MACHINE).uuid(guid).uint(code).uint(language).uint(in_size)
        words = f"QueryCounterSetRegistrationInfo of {guid}, RequestCode {code}, RequestLCID {language:#x}, dwInSize {in_size}"
        return self.send(1, stub, words, **triggers)

    def instances(self, guid: str, in_size: int = 1 << 16, **triggers: Unpack[Triggers]) -> Reply:
        stub = self.stub().string(MACHINE).uuid(guid).uint(in_size)
        return self.send(2, stub, f"EnumerateCounterSetInstances of {guid}, dwInSize {in_size}", **triggers)

    def open(self, **triggers: Unpack[Triggers]) -> bytes | None:
        return handle_of(self.send(3, self.stub().string(MACHINE), "OpenQueryHandle", **triggers))

    def close_query(self, handle: bytes, whose: str = "the handle", **triggers: Unpack[Triggers]) -> Reply:
        return self.send(4, self.stub().handle(handle), f"CloseQueryHandle of {whose}", **triggers)

    def info(
        self, handle: bytes, in_size: int = 1 << 16, whose: str = "the handle", **triggers: Unpack[Triggers]
    ) -> Reply:
        stub = self.stub().handle(handle).uint(in_size)
        return self.send(5, stub, f"QueryCounterInfo of {whose}, dwInSize {in_size}", **triggers)

    def data(
        self, handle: bytes, in_size: int = 1 << 16, whose: str = "the handle", **triggers: Unpack[Triggers]
    ) -> Reply:
        stub = self.stub().handle(handle).uint(in_size)
        return self.send(6, stub, f"QueryCounterData of {whose}, dwInSize {in_size}", **triggers)

    def validate(
        self,
        handle: bytes,
        identifiers: bytes,
        words: str,
        *,
        add: int = 1,
        size: int | None = None,
        whose: str = "the handle",
        **triggers: Unpack[Triggers],
    ) -> Reply:
        stub = self.stub().handle(handle).uint(len(identifiers) if size is None else size)
        stub.conformant(identifiers).uint(add)
        sent = f"ValidateCounters of {whose}, dwAdd {add}: {words}"
        return self.send(7, stub, sent, **triggers)

    def handled(self, opnum: int, handle: bytes, whose: str, **triggers: Unpack[Triggers]) -> Reply:
        """Calls the method of opnum 4 to 7 on this query handle for the probe."""
        match opnum:
            case 4:
                return self.close_query(handle, whose, **triggers)
            case 5:
                return self.info(handle, whose=whose, **triggers)
            case 6:
                return self.data(handle, whose=whose, **triggers)
            case _:
                return self.validate(handle, b"", "no identifier", whose=whose, **triggers)

    # --- winreg -------------------------------------------------------------------------------------------------------

    def open_performance_data(self) -> bytes | None:
        stub = self.stub().count(0).uint(0x02000000)
        return handle_of(self.send(3, stub, "OpenPerformanceData of winreg"))

    def query_value(self, handle: bytes, name: str, size: int, **triggers: Unpack[Triggers]) -> Reply:
        stub = query_value(handle, name, size, ndr64=self._ndr64[self._last])
        return self.send(17, stub, f'BaseRegQueryValue of "{name}", room for {size} bytes', **triggers)

    def close_key(self, handle: bytes) -> Reply:
        return self.send(5, self.stub().handle(handle), "BaseRegCloseKey")


_TRAILERS = {False: (), True: ("A PDU with a security trailer was sent.",)}


def _triggers_of_any(answer: Reply, level: int) -> Iterator[str]:
    """Yields the triggers that any PerflibV2 call of the probe counts for."""
    yield "A request was sent."
    if level < AuthLevel.PRIVACY:
        yield "A request below authentication level 6 was sent."
    if not answer.is_answered:
        return
    yield "A call was answered."
    if level == AuthLevel.PRIVACY:
        yield "A call at authentication level 6 was answered."
    if answer.fault is not None:
        yield "A call was answered by a fault."
    if answer.status is not None:
        yield "A call was answered with a return value."
    if level == AuthLevel.PRIVACY and ACCESS_DENIED in (answer.status, answer.fault):
        yield "A caller at authentication level 6 was refused by error 5."


def _triggers_of_method(opnum: int, answer: Reply, level: int, *, never_given_out: bool) -> Iterator[str]:
    """Yields the triggers that a probe call counts for by its method."""
    if opnum not in METHODS:
        yield "A method above opnum 7 was called."
        return
    name = METHODS[opnum]
    yield f"{name} was called."
    if opnum <= Opnum.ENUMERATE_COUNTER_SET_INSTANCES:
        yield "Opnum 0, 1 or 2 was called."
    if level < AuthLevel.PRIVACY:
        yield f"{name} was called below authentication level 6."
    if never_given_out:
        yield f"{name} was called on a handle that the server had not given out."
        yield "A handle that another interface had given out, or none, was sent."
    if not answer.is_answered:
        return
    yield f"{name} was answered."
    if answer.status is None:
        return
    yield f"{name} was answered with a return value."
    yield f"{name} was answered with an array."
    if answer.status in (0, NOT_ENOUGH_MEMORY):
        yield f"{name} was answered with success or ERROR_NOT_ENOUGH_MEMORY."
    if answer.status == NOT_ENOUGH_MEMORY:
        yield f"{name} was offered a buffer that is too small."
    elif opnum == Opnum.QUERY_COUNTER_DATA and answer.status:
        yield "QueryCounterData failed by another error than ERROR_NOT_ENOUGH_MEMORY."
    if answer.status == 0:
        yield f"{name} was answered with success."
        yield f"{name} succeeded."


# --------------------------------------------------------------------------------------------------------- answer parts


def data_of(answer: Reply) -> bytes:
    """Returns the `lpData` of an answer to the probe; empty if the call failed or its answer does not decode."""
    if answer.status != 0:
        return b""
    try:
        return decode_stub("perflib-v2", answer.opnum, "response", answer.stub, ndr64=answer.ndr64).data or b""
    except DecodeError:
        return b""


def needed_of(answer: Reply) -> int | None:
    """Returns the buffer size that the server says the probe needs: pdwRtnSize of an answer by opnum 0, 1, 2, 5 or 6."""
    return int.from_bytes(answer.stub[4:8], "little") if answer.status in (0, 8) and len(answer.stub) >= 12 else None


def _tree(answer: Reply, kind: BufferKind) -> dict[str, object]:
    data = data_of(answer)
    return decode_buffer(kind, data).tree if data else {}


def guids_of(answer: Reply) -> list[str]:
    """The countersets that an answer of EnumerateCounterSet lists for the probe."""
    found = _tree(answer, "guids").get("guids", ())
    return list(found) if isinstance(found, list | tuple) else []


def registration_of(answer: Reply) -> tuple[list[int], bool]:
    """Reads a registration in the answer to a probe call: the ids of its counters, and whether the counterset has instances."""
    tree = _tree(answer, "counterset-info")
    counters = tree.get("counters", ())
    ids = [one["counter_id"] for one in counters] if isinstance(counters, list | tuple) else []
    return ids, bool(tree.get("instance_type", 0))


def names_of(answer: Reply) -> list[str]:
    """The instance names that an answer of EnumerateCounterSetInstances lists for the probe."""
    found = _tree(answer, "instances").get("instances", ())
    return [one.get("name") or "" for one in found] if isinstance(found, list | tuple) else []


def block_types_of(answer: Reply) -> list[int]:
    """Returns the types of the blocks in a data answer to the probe."""
    assert answer.opnum == Opnum.QUERY_COUNTER_DATA
    data = data_of(answer)
    return [block.kind for block in read_answer(data).blocks] if data else []
