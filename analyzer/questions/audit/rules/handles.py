"""Rules about query handles: what they look like, who gives them out, how long they live, and whose each is."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator

from analyzer.questions.audit.call_evidence import CallEvidence, Evidence, SideEvidence
from analyzer.questions.audit.rule_registry import Level, Reads, Watch, of_calls, of_capture, of_sides, rule
from analyzer.questions.audit.rule_verdicts import (
    At,
    Confidence,
    Judgement,
    OfCall,
    Severity,
    failed,
    inconclusive,
    judge,
    passed,
    warned,
)
from analyzer.questions.audit.stub_and_pdu_fields import ACCESS_DENIED, HANDLING, NULL_HANDLE, left_over, returned
from analyzer.questions.statistics.handle_lifetimes import HandleCall, HandleLifetime
from analyzer.results.methods import winreg
from analyzer.results.methods.perflib import Opnum
from analyzer.results.security import AuthLevel

OPENING = Reads((Opnum.OPEN_QUERY_HANDLE,), ("response",))
ASKED_ON = Reads(HANDLING, ("request",))
GIVEN_OUT = "the server gave out the handle"
DISORDERED = "the order of the frames contradicts that of the bytes, so which of two calls came first is not certain"


def handle_events(
    evidence: Evidence, is_wanted: Callable[[HandleCall], bool], *, opened: bool = True
) -> Iterator[tuple[HandleLifetime, HandleCall]]:
    """The wanted calls on query handles for rules about handles, each with the lifetime of its handle (see `HandleEvents.where`):
    of all handles, or of those alone whose opening was not captured."""
    for lifetime in evidence.lifetimes:
        if opened or lifetime.origin != "opened":
            for event in lifetime.events.where(is_wanted):
                yield lifetime, event


def _is_use(event: HandleCall) -> bool:
    return event.kind != "open"


def _handle_in(event: HandleCall, part: str = "") -> At:
    """Where the query handle stands in the request of a call on it."""
    return At("request", f"{'phQuery' if event.kind == 'close' else 'hQuery'}{part}")


def _is_disordered(evidence: Evidence, lifetime: HandleLifetime, event: HandleCall) -> bool:
    """Whether a call on a query handle, its opening or its close may have been made at another time than frames say."""
    return not evidence.analysis.calls.disordered.isdisjoint((event.call, lifetime.opened, lifetime.closed))


SHAPE, REFERENCE = "PCQ-2.2.1-R01", "PCQ-2.2.2-R01"
_REFERENTS = (4, 8)


@rule("PCQ203", Level.STUBS, Severity.ERROR, "query-handle-misshapen")
@of_sides(
    (SHAPE, REFERENCE),
    Reads(HANDLING, ("request",)),
    (SHAPE, REFERENCE),
    Reads((Opnum.OPEN_QUERY_HANDLE, *HANDLING)),
)
def query_handle_malformed(call: OfCall, side: SideEvidence) -> Iterator[Judgement]:
    """A query handle is not the 20 bytes of a context handle.

    Looks for: handles with attributes other than zero, in requests and answers; handles that are preceded by a referent, which
    shows by the bytes that are too many and by attributes that are none.

    Why it matters: the runtime of the server finds its state by these 20 bytes. A handle that is shifted by a referent is no
    handle.

    Specification: [MS-PCQ] sections 2.2.1 and 2.2.2: RPC_HQUERY is a context handle, PRPC_HQUERY a pointer to one. C706 appendix N,
    [MS-RPCE] section 2.2.5.3.4: attributes (zero) and a UUID, aligned on 4. A top-level pointer is a reference and leaves nothing
    on the wire.

    Flagged: attributes 1; 28 bytes for dwInSize and a handle, which begin with 0x00020000.

    Accepted: attributes 0 with any UUID, and 20 zero bytes for no handle.

    Silent: where the stub is sealed, was not captured, or does not decode.
    """
    for name in ("phQuery", "hQuery") if side.is_readable else ():
        handle = side.params.get(name)
        if not isinstance(handle, dict):
            continue
        attributes, rest = handle["attributes"], left_over(side)
        seen = f"{attributes:#x}"
        if attributes and rest in _REFERENTS:
            message, displaces = "a query handle is preceded by a referent", side.name == "request"
            yield failed(call, f"stub[0:{rest}]", message, "the handle", seen, of=REFERENCE, displaces=displaces)
        else:
            yield passed(REFERENCE)
            message = "the attributes of a query handle are not zero"
            yield judge(not attributes, call, f"{name}.attributes", message, "0", seen, of=SHAPE)


ON_SUCCESS, ON_FAILURE = "PCQ-2.2.1-R02", "PCQ-3.1.4.1.4-R09"


@rule("PCQ710", Level.SEQUENCES, Severity.ERROR)
@of_calls((ON_SUCCESS, ON_FAILURE), OPENING)
class HandleGivenWithWrongStatus(Watch[CallEvidence]):
    """OpenQueryHandle succeeded without a handle, or failed and gave one.

    Looks for: return value 0 with a handle of zeros; another return value with a handle that is none, and whether that handle
    works.

    Why it matters: a client that gets success calls on with the handle it got. One that gets an error throws away what
    came with it, and never closes it.

    Specification: [MS-PCQ] section 2.2.1: the server returns the handle when the client begins; section 3.1.4.1.4: the method
    returns a handle, or an error. A null context handle is 20 zero bytes (C706 appendix N).

    Flagged: return value 0 and 20 zero bytes; return value 5 and a handle that a later QueryCounterData succeeds with.

    Accepted: return value 5 and 20 zero bytes. A handle along with an error that nobody uses is a warning.

    Silent: where the answer is sealed or was not captured, and where a fault was the answer.
    """

    def __init__(self, evidence: Evidence) -> None:
        # The first call with success on each handle that no successful call had given out before.
        self._working: dict[tuple[str, str], int] = {}
        for lifetime, event in handle_events(evidence, lambda event: event.succeeded, opened=False):
            self._working.setdefault((lifetime.server.ip, lifetime.handle), event.call)

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        handle, zeros = call.answered["phQuery"]["uuid"], "20 zero bytes"
        if call.status == 0:
            message = "the server opened a query and gave no handle for it"
            yield judge(handle != NULL_HANDLE, call, "phQuery", message, "a handle", zeros, of=ON_SUCCESS)
            return
        message, seen = "the server gave a handle along with an error", f"{handle}, {returned(call)}"
        worked, say = self._working.get((call.server, handle), 0), warned
        if worked > call.number:
            message, say = f"{message}, and call {worked} succeeded with it", failed
        yield judge(handle == NULL_HANDLE, call, "phQuery", message, zeros, seen, of=ON_FAILURE, say=say)


@rule("PCQ711", Level.SEQUENCES, Severity.ERROR)
@of_calls("PCQ-3.1.4.1.8-R06", Reads((Opnum.CLOSE_QUERY_HANDLE,), ("response",), success=True))
def closed_handle_not_null(call: CallEvidence) -> Iterator[Judgement]:
    """CloseQueryHandle gave the handle back.

    Looks for: successful answers of CloseQueryHandle whose handle is not 20 zero bytes.

    Why it matters: the null handle informs the client's runtime that the context is gone. One that gets the handle back keeps it,
    and uses or closes it again.

    Specification: [MS-PCQ] section 3.1.4.1.8: on return, phQuery is NULL.

    Flagged: return value 0 and the handle that was sent.

    Accepted: return value 0 and 20 zero bytes; the handle along with an error, since it stays open then.

    Silent: where the answer is sealed or was not captured, and where a fault was the answer.
    """
    handle = call.answered["phQuery"]
    is_null = handle["uuid"] == NULL_HANDLE and not handle["attributes"]
    message = "the server closed a query handle and gave it back"
    yield judge(is_null, call, "phQuery", message, "20 zero bytes", handle["uuid"])


UNCHANGED, OPENED = "PCQ-2.2.1-R03", "PCQ-3.2.1-R02"


@rule("PCQ712", Level.SEQUENCES, Severity.ERROR)
@of_capture(
    {opnum: (UNCHANGED,) if opnum == Opnum.CLOSE_QUERY_HANDLE else (UNCHANGED, OPENED) for opnum in HANDLING},
    ASKED_ON,
    about="handle",
    needs_answer=GIVEN_OUT,
)
def handle_never_given_out(evidence: Evidence) -> Iterator[Judgement]:
    """A client used a query handle that no server gave out.

    Looks for:

    - Calls on handles that no OpenQueryHandle of the capture returned. The whole lifetime of the channel has to be in the
      capture.
    - Calls on another association group than the one the handle was opened in (a warning).

    Why it matters: such a call cannot succeed. The client has changed the handle, kept it from an earlier session, or never opened
    one.

    Specification: [MS-PCQ] section 2.2.1: the handle comes from the server, and its content is the server's; section 3.2.1: a
    client that wants data first creates a handle by OpenQueryHandle. [MS-RPCE] section 3.1.1.5: a context handle belongs to its
    association group.

    Flagged: QueryCounterData on a handle whose last byte differs from the one that was given out.

    Accepted: a handle used unchanged, also on another connection of the same association group. Another rule judges what a
    server makes of a handle that is not its own.

    Silent: where the beginning of the channel, or a call that may have opened the handle, was not captured or is sealed. The rule
    is also silent where bytes contradict the order of the frames of the opening and the call.
    """
    kept: Counter[tuple[str, ...]] = Counter()
    for lifetime, event in handle_events(evidence, _is_use):
        of = (UNCHANGED,) if event.kind == "close" else (UNCHANGED, OPENED)
        at = _handle_in(event, ".uuid")
        if lifetime.origin == "not captured":
            reason = f"the opening of a query handle is not in the capture: {lifetime.reason}"
            yield inconclusive(reason, None, *of)
        elif lifetime.opened is not None and event.call < lifetime.opened and _is_disordered(evidence, lifetime, event):
            yield inconclusive(DISORDERED, None, *of)
        elif lifetime.origin == "never opened" or (lifetime.opened is not None and event.call < lifetime.opened):
            call, message = evidence.call(event.call), "the client used a handle that the server had not given out"
            yield failed(call, at, message, "a handle that the server gave out", lifetime.handle, of=of)
        elif "other-association" in event.violations:
            call = evidence.call(event.call)
            message = "the client used a handle outside the association group that it was opened in"
            expected, sure = f"the group that call {lifetime.opened} opened it in", Confidence.MEDIUM
            yield warned(call, at, message, expected, lifetime.handle, of=UNCHANGED, confidence=sure)
            if OPENED in of:
                kept[(OPENED,)] += 1
        else:
            kept[of] += 1
    yield from (passed(*of, count=count) for of, count in kept.items())


OTHER_INTERFACE = "PCQ-3.1.4-R03"
FOREIGN_HANDLES = {
    Opnum.CLOSE_QUERY_HANDLE: "PCQ-3.1.4.1.8-R03",
    Opnum.QUERY_COUNTER_INFO: "PCQ-3.1.4.1.5-R07",
    Opnum.QUERY_COUNTER_DATA: "PCQ-3.1.4.1.6-R07",
    Opnum.VALIDATE_COUNTERS: "PCQ-3.1.4.1.7-R04",
}
_OF_KIND = {
    "close": Opnum.CLOSE_QUERY_HANDLE,
    "info": Opnum.QUERY_COUNTER_INFO,
    "poll": Opnum.QUERY_COUNTER_DATA,
    "add": Opnum.VALIDATE_COUNTERS,
    "remove": Opnum.VALIDATE_COUNTERS,
}


@rule("PCQ713", Level.SEQUENCES, Severity.ERROR)
@of_capture({opnum: (OTHER_INTERFACE, one) for opnum, one in FOREIGN_HANDLES.items()}, ASKED_ON, about="handle")
def foreign_handle_served(evidence: Evidence) -> Iterator[Judgement]:
    """A server carried out a call on a query handle that it never gave out.

    Looks for:

    - Calls that succeed on handles that no OpenQueryHandle of the capture returned. The whole lifetime of the channel has to be
      in the capture.
    - Calls that succeed on handles of the remote registry, the other interface of the pipe.

    Why it matters: a handle is what keeps the queries of clients apart. A server that accepts any gives one client the query of
    another, or takes the state of another interface for a query.

    Specification: [MS-PCQ] sections 3.1.4.1.5 to 3.1.4.1.8: an exception is thrown or an error returned if the handle did not
    originate from OpenQueryHandle. Section 3.1.4: handles made by another interface are rejected (strict_context_handle).

    Flagged: QueryCounterData on an unknown handle, return value 0; the same on a handle of OpenPerformanceData.

    Accepted: fault 0x1C00001A (context mismatch), fault 6, or any return value but 0, on such a handle.

    Silent: where the opening may have been missed, and where the answer was not captured or is sealed.
    """
    keys = _registry_handles(evidence)
    for lifetime, event in handle_events(evidence, lambda event: event.kind in _OF_KIND, opened=False):
        is_key = (lifetime.server.ip, lifetime.handle) in keys
        if is_key or lifetime.origin == "never opened":
            method = FOREIGN_HANDLES[_OF_KIND[event.kind]]
            of = (method, OTHER_INTERFACE) if is_key else (method,)
            message = "the server carried out a call on a handle that it had not given out"
            yield _refused(evidence, lifetime, event, _handle_in(event, ".uuid"), message, "foreign", of)


def _registry_handles(evidence: Evidence) -> set[tuple[str, str]]:
    """The handles of the remote registry with their servers, which rules about query handles tell from query handles."""
    found: set[tuple[str, str]] = set()
    for call in evidence.calls_of(winreg.INTERFACE):
        if call.status == 0 and not call.is_altered:
            for value in call.answered.values():
                if isinstance(value, dict) and value.get("uuid", NULL_HANDLE) != NULL_HANDLE:
                    found.add((call.server, value["uuid"]))
    return found


def _refused(
    evidence: Evidence,
    lifetime: HandleLifetime,
    event: HandleCall,
    at: At,
    message: str,
    kind: str,
    of: tuple[str, ...],
) -> Judgement:
    """The verdict on a call on a query handle that the server has to refuse."""
    if event.succeeded:
        return failed(evidence.call(event.call), at, message, "a fault or an error", lifetime.handle, of=of)
    if event.fault is not None or event.status:
        return passed(*of)
    return inconclusive(f"what came of a call on a {kind} handle is not in the capture", None, *of)


@rule("PCQ714", Level.SEQUENCES, Severity.ERROR)
@of_capture("PCQ-3.1.4.1.8-R08", ASKED_ON, about="handle")
def closed_handle_served(evidence: Evidence) -> Iterator[Judgement]:
    """A server carried out a call on a query handle after closing it.

    Looks for: calls that succeed on a handle after CloseQueryHandle succeeded on it.

    Why it matters: what the handle stood for was given back. A server that goes on using it reads memory that is somebody else's by
    now.

    Specification: [MS-PCQ] section 3.1.4.1.8: the method closes the handle; what a server does to a call on a handle that is not
    valid is that an RPC exception is thrown or an error returned.

    Flagged: CloseQueryHandle with return value 0, then QueryCounterData with return value 0 on the same handle.

    Accepted: fault 0x1C00001A, or any return value but 0, after the close; the same bytes given out anew by OpenQueryHandle.

    Silent: where the close or its answer was not captured or is sealed.
    """
    for lifetime, event in handle_events(evidence, _is_use) if evidence.analysis.calls.disordered else ():
        if lifetime.closed not in (None, event.call) and _is_disordered(evidence, lifetime, event):
            yield inconclusive(DISORDERED)
    for lifetime, event in handle_events(evidence, lambda event: "after-close" in event.violations):
        message = f"the server carried out a call on a handle that call {lifetime.closed} had closed"
        yield _refused(evidence, lifetime, event, _handle_in(event), message, "closed", ())


# What a handle that is gone ends in: nca_s_fault_context_mismatch, an invalid handle, RPC_X_SS_CONTEXT_DAMAGED.
_GONE = (0x1C00001A, 6, 1777)


@rule("PCQ715", Level.SEQUENCES, Severity.ERROR, "handle-dead-after-refused-close")
@of_capture("PCQ-3.1.4.1.8-R07", Reads((Opnum.CLOSE_QUERY_HANDLE,), ("request",)), about="handle")
def handle_invalid_after_refused_close(evidence: Evidence) -> Iterator[Judgement]:
    """A query handle died although its close was refused.

    Looks for: CloseQueryHandle at an authentication level below PKT_PRIVACY that returned ERROR_ACCESS_DENIED (5), and what the
    next call on the handle came to.

    Why it matters: the client has been informed that nothing happened, and has to close the handle by a sealed request. If the
    handle is gone already, the client sees an error that it cannot explain.

    Specification: [MS-PCQ] section 3.1.4.1.8: with ERROR_ACCESS_DENIED the opened handle remains unchanged until the client
    closes it at level PKT_PRIVACY.

    Flagged: return value 5 to a close at level 5, then fault 0x1C00001A (context mismatch) to a sealed close.

    Accepted: return value 5, then a close at level 6 that succeeds.

    Silent: where the handle is not used again, or what came of it is not in the capture.
    """
    for lifetime in evidence.lifetimes:
        if lifetime.origin != "opened":
            continue
        for event in lifetime.events.where(lambda event: event.kind == "close" and event.status == ACCESS_DENIED):
            refused = evidence.call(event.call)
            if refused.context.security.level >= AuthLevel.PRIVACY:
                continue
            after = lifetime.events[bisect_right(lifetime.events.calls, event.call) :]
            answered = (one for one in after if one.fault is not None or one.status is not None)
            later = next(answered, None)
            if later is None:
                yield inconclusive("the handle was not used again", refused)
                continue
            is_kept = later.fault not in _GONE and later.status not in _GONE
            path = "pdu" if later.fault is not None else "status"
            message = f"a handle is gone, though the server refused to close it in call {event.call}"
            call, seen = evidence.call(later.call), f"{later.fault or later.status or 0:#x}"
            yield judge(is_kept, call, path, message, "a handle that is open", seen)


@rule("PCQ716", Level.SEQUENCES, Severity.WARNING)
@of_capture(
    ("PCQ-2.2.1-R05", "PCQ-3.2.1-R05"),
    Reads((Opnum.OPEN_QUERY_HANDLE,), ("response",), success=True),
    about="handle",
    needs_answer=GIVEN_OUT,
)
def handle_left_open(evidence: Evidence) -> Iterator[Judgement]:
    """A client ended without closing a query handle.

    Looks for: handles that were opened in the capture, and whose pipes or connections ended before any CloseQueryHandle succeeded
    on them.

    Why it matters: the server keeps the query, its counters and what their providers need until it notices that the client is gone.
    A collector that forgets a handle at each run exhausts it in time.

    Specification: [MS-PCQ] section 2.2.1: the client closes the handle when it is done, so that the server can free what belongs to
    it; section 3.2.1 likewise.

    Flagged: OpenQueryHandle, some calls, and the end of the pipe (a warning: the runtime runs the handle down).

    Accepted: a close that succeeds.

    Silent: where the capture ends before the pipe does, or a call that may have been the close was not captured or is sealed.
    """
    for lifetime in evidence.lifetimes:
        if lifetime.origin != "opened" or lifetime.opened is None:
            continue
        if lifetime.end == "closed" or any(lifetime.events.where(lambda event: event.kind == "close")):
            yield passed()
        elif lifetime.end == "never closed" and evidence.analysis.closed.issuperset(lifetime.channels):
            message = "the client ended without closing a query handle"
            seen = f"{len(lifetime.events)} calls on it, and the end of the pipe"
            yield warned(evidence.call(lifetime.opened), "phQuery", message, "CloseQueryHandle", seen)
        else:
            yield inconclusive(lifetime.reason or "the capture ends before the pipe does")


ADDED, MODEL = "PCQ-3.2.1-R03", "PCQ-4.1-R01"


@rule("PCQ717", Level.SEQUENCES, Severity.WARNING)
@of_capture(
    (ADDED, MODEL),
    ASKED_ON,
    by_method={opnum: (ADDED, MODEL) if opnum == Opnum.QUERY_COUNTER_DATA else (MODEL,) for opnum in HANDLING},
    about="handle",
    needs_answer=GIVEN_OUT,
)
def calls_out_of_order(evidence: Evidence) -> Iterator[Judgement]:
    """A client called on a query before it opened it, asked it for data before it added counters, or went on after it closed it.

    Looks for: calls on handles that were not given out before, QueryCounterData on handles that hold no counter, and calls on
    handles after they were closed. All are warnings.

    Why it matters: nothing is wrong with the answer, a header without blocks or a fault. The client does not do what its author
    meant.

    Specification: [MS-PCQ] section 3.2.1: counters are added to the handle before their data is asked for; section 4.1 shows the
    model: open, add, ask again and again, close.

    Flagged: ValidateCounters, then OpenQueryHandle; OpenQueryHandle, then QueryCounterData; a poll of a handle whose close
    succeeded.

    Accepted: polls of a handle to which at least one counter was added.

    Silent: where what the handle holds is not known: its opening was not captured, or an addition is sealed or was lost.
    """
    kept: Counter[tuple[str, ...]] = Counter()
    first_open: dict[str, int] = {}
    for lifetime in evidence.lifetimes:
        if lifetime.opened is not None:
            first_open[lifetime.server.ip] = min(lifetime.opened, first_open.get(lifetime.server.ip, lifetime.opened))
    for lifetime, event in handle_events(evidence, _is_use):
        # A handle that is not of this server's is no matter of order where the client has opened others: PCQ712 reports it.
        never_opened, call = lifetime.origin == "never opened", event.call
        if never_opened and first_open.get(lifetime.server.ip, call) < call:
            continue
        at = _handle_in(event)
        if _is_disordered(evidence, lifetime, event):
            yield inconclusive(DISORDERED)
        elif never_opened or (lifetime.opened is not None and call < lifetime.opened):
            message = "the client called on a handle before it opened one"
            yield warned(evidence.call(call), at, message, "OpenQueryHandle first", lifetime.handle, of=MODEL)
        elif "after-close" in event.violations:
            message = f"the client called on a handle that call {lifetime.closed} had closed"
            yield warned(evidence.call(call), at, message, "a handle that is open", lifetime.handle, of=MODEL)
        elif event.kind != "poll":
            kept[(MODEL,)] += 1
        elif event.view.held is None:
            yield inconclusive(f"what a handle holds is not known: {event.view.unknown}")
        elif event.view.held:
            kept[(ADDED, MODEL)] += 1
        else:
            message = "the client asked for data of a query without counters"
            yield warned(evidence.call(call), at, message, "counters added before", "none held")
    yield from (passed(*of, count=count) for of, count in kept.items())
