"""The script of the probe: what it sends to a server, step by step. Every requirement whose trigger a client can bring about gets
its trigger.

A step opens the associations it needs, and closes them. Nothing else is ever sent. `rehearse` runs the same steps without a server;
so the dry run prints the script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct, field

from analyzer.core.dcerpc_encoding import FEATURES, NDR64, NdrWriter
from analyzer.probe.dcerpc_client import Credentials, OfferedContext, Reply
from analyzer.probe.probe_calls import (
    ANY,
    MACHINE,
    MOST_GUIDS,
    NO_HANDLE,
    PERFLIB,
    WINREG,
    Impersonation,
    Lab,
    LogEntry,
    Talk,
    block_types_of,
    context_handle,
    guids_of,
    identifier,
    names_of,
    needed_of,
    registration_of,
)
from analyzer.questions.audit.rules.parameters import LIMITS
from analyzer.results.methods.perflib import Opnum
from analyzer.results.security import AuthLevel

# A GUID no counterset has, a handle no server gives out, a language no server speaks, a counter id no set has.
UNKNOWN = "00000000-dead-4bad-8bad-00000000beef"
FOREIGN = context_handle("00000000-dead-4bad-8bad-0000000000fe")
NO_LANGUAGE, ENGLISH, NO_COUNTER = 0x7FFF, 0x409, 0xFFFFFFF0
WITHOUT_LANGUAGE, WITH_LANGUAGE = (1, 7, 8, 9, 10), (3, 4, 5, 6)
BELOW_PRIVACY = (AuthLevel.NONE, AuthLevel.CONNECT, AuthLevel.CALL, AuthLevel.PKT, AuthLevel.INTEGRITY)
ON_HANDLES = (5, 6, 7, 4)
_STRANGER = ("Counter data were asked for on a handle whose counters are known.",)
_STRUCTURES = (
    "Structures were returned.",
    "A structure with content was returned.",
    "A buffer with numbers was sent or returned.",
)
_REGISTERED = (
    "A registration (RequestCode 1) was returned.",
    "A registration was returned.",
    "A registration with counters was returned.",
    "A counter was registered.",
    *_STRUCTURES,
)
_ONE_COUNTER = (
    "One counter (RequestCode 2) was returned.",
    "A registration was returned.",
    "A counter was registered.",
    *_STRUCTURES,
)
_STRING = ("A string (RequestCode 3, 4 or 9) was returned.",)
_TABLE = (
    "A table of strings (RequestCode 5, 6 or 10) was returned.",
    "A table of strings of a counterset whose registration is known was returned.",
    *_STRUCTURES,
)
# The triggers of success by RequestCode.
_RETURNED: dict[int, tuple[str, ...]] = {
    1: _REGISTERED,
    3: _STRING,
    4: _STRING,
    5: _TABLE,
    6: _TABLE,
    7: ("A provider name (RequestCode 7) was returned.",),
    8: ("A provider GUID (RequestCode 8) was returned.",),
    9: _STRING,
    10: _TABLE,
}
_SENT_WITHOUT = ("RequestCode 1, 7, 8, 9 or 10 was sent.",)
_BOTH_LANGUAGES = ("RequestCode 1, 7, 8, 9 or 10 was sent with a language, and also without one.",)
_NOT_LISTED = "A counterset that is in no list of the server was asked for by {}."
_USED = ("A query handle was sent.", "A query handle was used.", "A query handle was used by opnum 5, 6 or 7.")
_SENT = (
    *_USED,
    "Identifiers were sent.",
    "Identifiers were sent or returned.",
    "Identifiers were sent to be added.",
    "An identifier of a counterset whose registration is known was sent.",
    "An identifier of a counterset with instances was sent.",
    "An identifier that names an InstanceId was sent.",
    "An identifier with a name was sent or returned.",
    "ValidateCounters was called and answered.",
    "A buffer with numbers was sent or returned.",
)
_ADDED = (
    "Identifiers came back from ValidateCounters.",
    "Identifiers were returned.",
    "A counter was added or removed with Status 0.",
)
_FAILED = ("An identifier failed in a call that succeeded.", "Identifiers came back from ValidateCounters.")
_LISTED = (
    "Identifiers were returned by QueryCounterInfo.",
    "Identifiers were returned.",
    "QueryCounterInfo was answered with identifiers.",
    "QueryCounterInfo was answered for a handle whose counters are known.",
    "An identifier with padding after its name was returned by QueryCounterInfo.",
)
_WITHOUT_NAME = "An identifier of Size 40, or with a name, was sent or returned for a single-instance counterset."
_SINGLE: dict[str | None, tuple[str, ...]] = {
    None: (_WITHOUT_NAME,),
    "": (),
    "name": (_WITHOUT_NAME, "An identifier with a name was sent for a single-instance counterset."),
}
_DATA = (
    "Counter data were returned.",
    "A block of counter data was returned.",
    "Counter data were returned for a handle whose counters are known.",
    "Data were returned after the Index of their counters.",
    "Data of an identifier with CounterId 0xFFFFFFFF were returned.",
    'Data of an identifier with the instance "*" were returned.',
    "A value was returned.",
    "A value of a registered counter was returned.",
    *_STRUCTURES,
)
# The triggers of a block by its type, beside those of any block.
_OF_TYPE: dict[int, tuple[str, ...]] = {
    2: ("A block of type 2 with values of registered counters was returned.", "A block with counter ids was returned."),
    4: (
        "A block with instances was returned.",
        "An instance with padding after its name was returned in a block of type 4.",
    ),
    6: (
        "A block of type 6 with values of registered counters was returned.",
        "A block with counter ids was returned.",
        "A block with instances was returned.",
        "The instances of a wildcard were returned within a minute of a list of them.",
    ),
}
_STATUS_1068 = "Status 0x1068 was returned, or a counterset that is in no list of the server was added."
_STATUS_106A = "Status 0x106A was returned, or a counter that its counterset does not have was added."
_STATUS_3 = "Status 3 was returned, or an instance that was not listed was added."
_STATUS_B7 = "Status 0xB7 was returned, or a counter was added again."
_STATUS_57 = "Status 0x57 was returned, or a counter that the query does not hold was removed."
_SHORT = ("ValidateCounters was called with a buffer or a Size below 40.",)
_BROKEN = ("A request whose stub contradicts the IDL was sent.",)
_WINPERF = (
    "A PERF_DATA_BLOCK was returned.",
    "An object of a PERF_DATA_BLOCK was returned.",
    "A counter definition of a PERF_DATA_BLOCK was returned.",
    "An instance of a PERF_DATA_BLOCK was returned.",
    "A counter block of a PERF_DATA_BLOCK was returned.",
)


class Counterset(Struct):
    """A counterset that the probe's script asks for, as the server registered it: its counters, whether it has instances, and their
    names."""

    guid: str
    counters: list[int] = field(default_factory=list)
    has_instances: bool = False
    instances: list[str] = field(default_factory=list)


class Options(Struct, frozen=True):
    """Options of the probe: `countersets` to go through, `polls` with `interval` seconds between them; `other` is a second account,
    without rights."""

    countersets: int = 4
    polls: int = 10
    interval: float = 1.0
    other: Credentials | None = None
    large: bool = False


class Known(Struct):
    """What earlier steps of the probe learned about the server."""

    guids: list[str] = field(default_factory=list)
    sets: list[Counterset] = field(default_factory=list)

    @property
    def multiple(self) -> Counterset | None:
        """Returns a counterset with instances for the script of the probe, one with at least two counters if there is one."""
        found = [one for one in self.sets if one.has_instances and one.counters and one.instances]
        return max(found, key=lambda one: min(len(one.counters), 2), default=None)

    @property
    def single(self) -> Counterset | None:
        return next((one for one in self.sets if not one.has_instances and one.counters), None)

    def identifiers(self) -> list[bytes]:
        """Returns counter identifiers that steps of the script send: for blocks of type 1, 2, 4 and 6, and of a single-instance
        counterset."""
        made: list[bytes] = []
        if (one := self.multiple) is not None:
            first, name = one.counters[0], one.instances[0]
            made.append(identifier(one.guid, counter=first, name=name))
            made.append(identifier(one.guid, name=one.instances[-1]))
            made.append(identifier(one.guid, counter=one.counters[-1], name="*"))
            made.append(identifier(one.guid, name="*"))
        if (one := self.single) is not None:
            made.append(identifier(one.guid, counter=one.counters[0], instance=0, name=""))
        return made


class Script(Struct):
    """The steps of the probe's script, and what they share. `wait` sleeps between long polls."""

    lab: Lab
    options: Options
    wait: Callable[[float], None]
    known: Known = field(default_factory=Known)

    def run(self) -> None:
        """Runs every step of the script, in order."""
        for number, (name, step) in enumerate(STEPS, 1):
            self.lab.step = name
            self.lab.tell(f"step {number} of {len(STEPS)}, {name}; {self.lab.calls} calls so far")
            try:
                step(self)
            finally:
                self.lab.end_step()

    # --- what is registered ----------------------------------------------------------------------------------------------

    def countersets(self) -> None:
        """Lists the countersets, twice, and with too little room."""
        talk = self.lab.join()
        if talk is None:
            return
        self.known.guids = guids_of(talk.enumerate())
        talk.enumerate(causes=("The countersets were counted twice.",))
        for room in (0, 1, max(len(self.known.guids) - 1, 0)):
            talk.enumerate(room, causes=("EnumerateCounterSet was offered room for fewer GUIDs than there are.",))
        talk.enumerate(max(len(self.known.guids), 1))

    def registrations(self) -> None:
        """Every RequestCode of the first countersets, in a language and without, then their instances."""
        talk = self.lab.join()
        if talk is None:
            return
        for guid in self._chosen(talk):
            found = Counterset(guid)
            info = talk.register(guid, 1, returns=_REGISTERED)
            found.counters, found.has_instances = registration_of(info)
            self.known.sets.append(found)
            for code in WITHOUT_LANGUAGE:
                answered = (f"RequestCode {code} was answered.", *_SENT_WITHOUT)
                talk.register(guid, code, causes=answered, returns=_RETURNED.get(code, ()))
                talk.register(guid, code, ENGLISH, causes=(*answered, *_BOTH_LANGUAGES))
            for code in WITH_LANGUAGE:
                answered = (f"RequestCode {code} was answered.", "RequestCode 3, 4, 5 or 6 was sent.")
                talk.register(guid, code, ENGLISH, causes=answered, returns=_RETURNED.get(code, ()))
                talk.register(
                    guid, code, NO_LANGUAGE, causes=("A language that the server does not have was asked for.",)
                )
            for counter in found.counters[:8]:
                talk.register(guid, 2, counter, returns=_ONE_COUNTER)
            listed = talk.instances(guid, returns=("Instances were listed.", *_STRUCTURES))
            found.instances = names_of(listed)

    def _chosen(self, talk: Talk) -> list[str]:
        """Returns the first countersets for the steps of the probe, with one with instances and one without, if the first hundred
        have them."""
        chosen = self.known.guids[: self.options.countersets]
        kinds = {registration_of(talk.register(guid, 1))[1] for guid in chosen}
        for guid in self.known.guids[len(chosen) : 100]:
            if len(kinds) == 2:
                break
            _, has_instances = registration_of(talk.register(guid, 1))
            if has_instances not in kinds:
                kinds.add(has_instances)
                chosen = [*chosen, guid]
        return chosen

    def unknown(self) -> None:
        """What the server does not have: RequestCodes, countersets, counters."""
        talk = self.lab.join()
        if talk is None:
            return
        for code in range(1, 11):
            talk.register(UNKNOWN, code, causes=(_NOT_LISTED.format("QueryCounterSetRegistrationInfo"),))
        talk.instances(UNKNOWN, causes=(_NOT_LISTED.format("EnumerateCounterSetInstances"),))
        for one in self.known.sets[:1]:
            for code in (0, 11, ANY):
                talk.register(one.guid, code, causes=("A RequestCode outside 1 to 10 was sent.",))
            missing = ("RequestCode 2 was sent for a counter id that the counterset does not have.",)
            talk.register(one.guid, 2, NO_COUNTER, causes=missing)

    def sizes(self) -> None:
        """dwInSize at and around each bound: nothing, one less than needed, as needed, beyond the range."""
        talk = self.lab.join()
        if talk is None:
            return
        out = ("A dwInSize out of the range of its method was sent.",)
        for room in (MOST_GUIDS + 1, ANY):
            talk.enumerate(room, causes=out)
        for one in self.known.sets[:2]:
            for code in range(1, 11):
                self._around(partial(_registered, talk, one.guid, code))
            self._around(partial(talk.instances, one.guid))
        guid = self.known.guids[0] if self.known.guids else UNKNOWN
        for room, causes in self._beyond(Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO):
            talk.register(guid, 1, 0, room, causes=causes)
        for room, causes in self._beyond(Opnum.ENUMERATE_COUNTER_SET_INSTANCES):
            talk.instances(guid, room, causes=causes)
        handle = self._filled(talk)
        if handle is None:
            return
        self._around(lambda room: talk.info(handle, room))
        self._around(lambda room: talk.data(handle, room), again=True)
        for room, causes in self._beyond(Opnum.QUERY_COUNTER_INFO):
            talk.info(handle, room, causes=causes)
        for room, causes in self._beyond(Opnum.QUERY_COUNTER_DATA):
            talk.data(handle, room, causes=causes)
        for room, causes in self._beyond(Opnum.VALIDATE_COUNTERS):
            stub = talk.stub().handle(handle).uint(room).conformant(b"", room).uint(1)
            talk.send(7, stub, f"ValidateCounters, dwInSize {room} and no bytes", causes=(*causes, *_BROKEN))
        talk.close_query(handle)

    def _beyond(self, opnum: int) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yields buffer sizes for a step of the probe at the end of a method's range, and their triggers. The end itself is in
        range, and a server may then reserve so much memory: it is sent only on demand."""
        most = LIMITS[opnum][0]
        if self.options.large:
            yield most, ()
        for room in (most + 1, ANY):
            yield room, ("A dwInSize out of the range of its method was sent.",)

    def _around(self, call: Callable[[int], Reply], *, again: bool = False) -> None:
        """Makes a call, in a step of the probe, with no room in the buffer, with too little, and with what the server says it
        needs."""
        needed = needed_of(call(0))
        if not needed:
            return
        call(needed - 1)
        if call(needed).is_answered and again:
            self.lab.add_triggers("ERROR_NOT_ENOUGH_MEMORY came with a size, and the client asked again with it.")

    # --- queries ------------------------------------------------------------------------------------------------------------

    def query(self) -> None:
        """A query of every form of identifier: what it holds, its data, a counter less and one more, and its end."""
        talk = self.lab.join()
        if talk is None:
            return
        before = talk.enumerate()
        handle = talk.open(returns=("A query handle was sent or returned.",))
        if handle is None:
            return
        same = ("The same question was asked by opnum 0, 1 or 2 with and without an open query.",)
        if before.is_answered:
            talk.enumerate(causes=same)
        for one in self.known.sets[:1]:
            talk.register(one.guid, 1, causes=same)
            talk.instances(one.guid, causes=same)
        held = self.known.identifiers()
        if not held:
            talk.close_query(handle)
            return
        talk.validate(handle, b"".join(held), f"{len(held)} identifiers of every form", causes=_SENT, returns=_ADDED)
        talk.info(handle, causes=_USED, returns=_LISTED)
        multiple = self.known.multiple
        if multiple is not None:
            talk.instances(multiple.guid)
        for poll in range(3):
            self._poll(talk, handle, is_first=poll == 0)
        talk.validate(handle, held[-1], "the last of them", add=0, causes=_SENT, returns=_ADDED)
        talk.validate(handle, held[-1], "the last of them", causes=_SENT, returns=_ADDED)
        talk.info(handle, causes=_USED, returns=_LISTED)
        self._poll(talk, handle, is_first=False)
        talk.close_query(handle, causes=("A query handle was opened, and its channel seen to its end.",))

    def _poll(self, talk: Talk, handle: bytes, *, is_first: bool) -> None:
        answer = talk.data(handle, causes=(*_USED, *_STRANGER))
        kinds = block_types_of(answer)
        if not kinds:
            return
        triggers = [*_DATA, *(["Counter data were returned twice on one handle."] if not is_first else [])]
        for kind in kinds:
            triggers += [
                f"A block of type {kind} was returned.",
                f"A block of type {kind} was returned for a known identifier.",
            ]
            triggers += _OF_TYPE.get(kind, ())
        self.lab.add_triggers(*triggers)

    def single(self) -> None:
        """A single-instance counterset named in every way: without a name, with an empty one, with one."""
        talk, one = self.lab.join(), self.known.single
        handle = talk.open() if talk is not None and one is not None else None
        if talk is None or one is None or handle is None:
            return
        for name in (None, "", "name"):
            made = identifier(one.guid, counter=one.counters[0], instance=0, name=name)
            words = "a single-instance counterset " + ("without a name" if name is None else f'named "{name}"')
            talk.validate(handle, made, words, causes=(*_SENT, *_SINGLE[name]), returns=_ADDED)
            talk.validate(handle, made, words, add=0, causes=_SENT)
        talk.close_query(handle)

    def refused_identifiers(self) -> None:
        """Identifiers a server has to refuse one by one, and buffers it has to refuse whole."""
        talk = self.lab.join()
        handle = talk.open() if talk is not None else None
        if talk is None or handle is None:
            return
        one = self.known.multiple or self.known.single
        guid, counter = (one.guid, one.counters[0]) if one is not None else (UNKNOWN, 0)
        name = one.instances[0] if one is not None and one.instances else ""
        good = identifier(guid, counter=counter, name=name)
        refused = (
            (identifier(UNKNOWN, counter=0, name=""), "a counterset that is in no list", _STATUS_1068),
            (identifier(guid, counter=NO_COUNTER, name=name), "a counter its counterset does not have", _STATUS_106A),
            (identifier(guid, counter=counter, name="no such instance"), "an instance that was not listed", _STATUS_3),
        )
        for made, words, trigger in refused:
            talk.validate(handle, made, words, causes=(*_SENT, trigger), returns=_FAILED)
        talk.validate(handle, good, "a counter", causes=_SENT, returns=_ADDED)
        talk.validate(handle, good, "the same counter again", causes=(*_SENT, _STATUS_B7), returns=_FAILED)
        talk.validate(handle, good, "the counter", add=0, causes=_SENT, returns=_ADDED)
        talk.validate(handle, good, "a counter that is not held", add=0, causes=(*_SENT, _STATUS_57), returns=_FAILED)
        for length in (0, 1, 39):
            talk.validate(handle, good[:length], f"{length} bytes", causes=_SHORT)
        for size in (0, 39, 41, len(good) + 8, ANY):
            made = identifier(guid, counter=counter, name=name, size=size)
            talk.validate(handle, made, f"an identifier with Size {size}", causes=_SHORT if size < 40 else ())
        talk.close_query(handle)

    # --- handles ------------------------------------------------------------------------------------------------------------

    def handles(self) -> None:
        """Handles that are none of the client's: foreign, null, closed, of winreg, of another association."""
        talk, other, registry = self.lab.join(), self.lab.join(), self.lab.join(interface=WINREG)
        if talk is None:
            return
        for opnum in ON_HANDLES:
            talk.handled(opnum, FOREIGN, "a handle that nobody gave out", never_given_out=True)
            talk = self._again(talk)
            talk.handled(opnum, NO_HANDLE, "a null handle", never_given_out=True)
            talk = self._again(talk)
        key = registry.open_performance_data() if registry is not None else None
        theirs = other.open() if other is not None else None
        for handle, whose in ((key, "a handle of winreg"), (theirs, "a handle of another association")):
            for opnum in ON_HANDLES if handle is not None else ():
                assert handle is not None
                talk.handled(opnum, handle, whose, never_given_out=True)
                talk = self._again(talk)
        closed = ("A handle was used after it had been closed.",)
        for opnum in ON_HANDLES:
            mine = talk.open()
            if mine is None:
                break
            talk.close_query(mine)
            talk.handled(opnum, mine, "a closed handle", causes=closed, never_given_out=True)
            talk = self._again(talk)

    def _again(self, talk: Talk, level: int = AuthLevel.PRIVACY) -> Talk:
        """Goes on with a step of the script: returns its association, or a new one if the server ended it after the last call."""
        if self.lab.log and not self.lab.log[-1].answer.is_answered:
            return self.lab.join(level) or talk
        return talk

    def side_by_side(self) -> None:
        """Two handles of one client, then two clients, at once: what one holds, the other does not."""
        first, second = self.lab.join(), self.lab.join()
        held = self.known.identifiers()
        for one, two in ((first, first), (first, second)):
            if one is None or two is None or len(held) < 2:
                continue
            mine, yours = one.open(), two.open()
            if mine is None or yours is None:
                continue
            one.validate(mine, held[0], "one counter, on the first handle", causes=_SENT, returns=_ADDED)
            two.validate(yours, held[-1], "another counter, on the second handle", causes=_SENT, returns=_ADDED)
            apart = ("Counters were listed while another handle of the server was open and held some.",)
            one.info(mine, whose="the first handle", causes=_USED, returns=(*_LISTED, *apart))
            two.info(yours, whose="the second handle", causes=_USED, returns=(*_LISTED, *apart))
            self._poll(one, mine, is_first=True)
            self._poll(two, yours, is_first=True)
            one.close_query(mine, "the first handle")
            two.close_query(yours, "the second handle")

    def long_poll(self) -> None:
        """Polls on one handle over a longer time."""
        talk = self.lab.join()
        handle = self._filled(talk) if talk is not None else None
        if talk is None or handle is None:
            return
        for poll in range(self.options.polls):
            if poll:
                self.wait(self.options.interval)
            self._poll(talk, handle, is_first=poll == 0)
        talk.close_query(handle)

    def _filled(self, talk: Talk) -> bytes | None:
        """A query handle for a step of the probe, with counters of every form."""
        handle = talk.open()
        held = self.known.identifiers()
        if handle is not None and held:
            talk.validate(handle, b"".join(held), f"{len(held)} identifiers", causes=_SENT, returns=_ADDED)
        return handle

    # --- stubs, syntaxes, levels ------------------------------------------------------------------------------------------

    def broken_stubs(self) -> None:
        """Stubs that contradict the IDL, null pointers, and methods there are not. Each on an association of its own: a server
        may end it."""
        for words, opnum, stub in _broken():
            talk = self.lab.join()
            if talk is not None:
                talk.send(opnum, stub, words, causes=_BROKEN)
        for opnum in (8, 9, 0xFFFF):
            talk = self.lab.join()
            if talk is not None:
                talk.send(opnum, b"", f"opnum {opnum}")
        for referent in (0, 0x20000):
            talk = self.lab.join()
            if talk is not None:
                pointed = talk.stub().count(referent)
                if referent:
                    pointed.string(MACHINE)
                words = f"EnumerateCounterSet, szMachine as a pointer with referent {referent:#x}"
                talk.send(
                    0, pointed.uint(MOST_GUIDS), words, causes=("A null pointer was sent for szMachine.", *_BROKEN)
                )

    def syntaxes(self) -> None:
        """NDR64 in place of NDR, and the features that a bind can offer."""
        talk = self.lab.join(transfer=NDR64)
        if talk is not None:
            talk.enumerate()
            for one in self.known.sets[:1]:
                talk.register(one.guid, 1)
                talk.instances(one.guid)
            handle = self._filled(talk)
            if handle is not None:
                talk.info(handle)
                talk.data(handle)
                talk.close_query(handle)
        plain = self.lab.join()
        if plain is not None:
            plain.add_context(OfferedContext(PERFLIB, FEATURES), AuthLevel.NONE)

    def levels(self) -> None:
        """Every method at every authentication level below the one that is asked for, also on a handle that was opened above it."""
        guid = self.known.guids[0] if self.known.guids else UNKNOWN
        for level in BELOW_PRIVACY:
            talk = self.lab.join(level)
            if talk is None:
                continue
            talk.enumerate()
            talk.register(guid, 1)
            talk.instances(guid)
            talk.open()
            for opnum in ON_HANDLES:
                talk.handled(opnum, FOREIGN, "a handle that nobody gave out", never_given_out=True)
                talk = self._again(talk, level)
        for level in BELOW_PRIVACY:
            self._below(level)

    def _below(self, level: int) -> None:
        """Uses, in a step of the probe, a handle that was opened at level 6 at a lower level of the same association, and then
        again at level 6."""
        talk = self.lab.join()
        handle = self._filled(talk) if talk is not None else None
        if talk is None or handle is None:
            return
        high, low = talk.context, talk.add_context(OfferedContext(PERFLIB), level)
        if low is not None:
            for opnum in ON_HANDLES:
                talk.handled(opnum, handle, "a handle opened at level 6")
        talk.use_context(high)
        again = "CloseQueryHandle was refused below authentication level 6, and the handle used again."
        talk.info(handle, causes=(*_USED, *((again,) if low is not None else ())))
        talk.close_query(handle)

    def callers(self) -> None:
        """A pipe opened so that the server may act in the client's name, one so that it may not, and a caller without rights."""
        acts = ("A call was answered whose caller is known to let the server act in its name, or not to.",)
        both: tuple[Impersonation, ...] = ("impersonation", "identification")
        for impersonation in both:
            talk = self.lab.join(impersonation=impersonation)
            if talk is not None:
                talk.enumerate(causes=acts)
        if self.options.other is not None:
            talk = self.lab.join(credentials=self.options.other)
            if talk is not None:
                talk.enumerate()
                talk.open()

    def registry(self) -> None:
        """HKEY_PERFORMANCE_DATA through winreg, on the same pipe: a PERF_DATA_BLOCK twice."""
        talk = self.lab.join(interface=WINREG)
        key = talk.open_performance_data() if talk is not None else None
        if talk is None or key is None:
            return
        for _ in range(2):
            room = 1 << 16
            answer = talk.query_value(key, "238", room)
            while answer.status == 234 and room < 1 << 22:  # ERROR_MORE_DATA
                room *= 4
                answer = talk.query_value(key, "238", room)
            if answer.status == 0:
                self.lab.add_triggers(*_WINPERF)
        talk.close_key(key)


def _registered(talk: Talk, guid: str, code: int, room: int) -> Reply:
    return talk.register(guid, code, ENGLISH if code in WITH_LANGUAGE else 0, room)


def _broken() -> Iterator[tuple[str, int, bytes]]:
    """Stubs for a step of the probe that contradict the IDL: words, opnum, stub."""
    whole = NdrWriter().string(MACHINE).uuid(UNKNOWN).uint(1).uint(0).uint(4096).data
    yield "QueryCounterSetRegistrationInfo, four bytes short", 1, whole[:-4]
    yield "EnumerateCounterSet without a stub", 0, b""
    name = NdrWriter().string(MACHINE).data
    yield "OpenQueryHandle, max_count of szMachine below its actual_count", 3, bytes(4) + name[4:]
    yield "OpenQueryHandle, offset of szMachine not 0", 3, name[:4] + b"\1\0\0\0" + name[8:]
    yield "OpenQueryHandle, actual_count of szMachine beyond the stub", 3, name[:8] + b"\xff\0\0\0" + name[12:]
    yield "OpenQueryHandle, szMachine without a NUL", 3, name[:-2] + b"x\0"
    good = identifier(UNKNOWN, counter=0, name="x")
    stub = NdrWriter().handle(FOREIGN).uint(len(good)).conformant(good, len(good) - 8).uint(1)
    yield "ValidateCounters, max_count of lpData below dwInSize", 7, stub.data
    yield "QueryCounterData, a handle of 12 bytes", 6, FOREIGN[:12]


STEPS: tuple[tuple[str, Callable[[Script], None]], ...] = (
    ("countersets", Script.countersets),
    ("registrations", Script.registrations),
    ("unknown", Script.unknown),
    ("query", Script.query),
    ("single instances", Script.single),
    ("refused identifiers", Script.refused_identifiers),
    ("sizes", Script.sizes),
    ("side by side", Script.side_by_side),
    ("handles", Script.handles),
    ("broken stubs", Script.broken_stubs),
    ("syntaxes", Script.syntaxes),
    ("levels", Script.levels),
    ("callers", Script.callers),
    ("registry", Script.registry),
    ("long poll", Script.long_poll),
)


def script_lines(log: list[LogEntry]) -> Iterator[str]:
    """Yields the steps of the script, and what each sent by the log of a run, as lines for people."""
    about = {name: (step.__doc__ or "").partition("\n")[0] for name, step in STEPS}
    step = ""
    for entry in log:
        if entry.step != step:
            step = entry.step
            yield f"{step}: {about[step]}"
        yield f"  level {entry.level}  association {entry.association}  {entry.words}"
