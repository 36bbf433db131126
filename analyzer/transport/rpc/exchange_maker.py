"""Makes exchanges, the output of the RPC layer: each is a DCERPC request with its response, and what its association knows.

It finds and checks the verification trailer behind the stub of a request ([MS-RPCE] 2.2.2.13).
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.auth.security_types import Sender
from analyzer.core.absence import Missing
from analyzer.core.byte_cursor import ByteOrder, Cursor
from analyzer.core.byte_origins import spanned
from analyzer.core.errors import DecodeError
from analyzer.core.events import Event, Moment
from analyzer.core.frame_ids import number_of
from analyzer.core.wire_numbers import WireNumbers
from analyzer.results.calls.call import CallState, Side
from analyzer.results.calls.pdus import stub_of
from analyzer.results.connection import Channel
from analyzer.results.security import AuthInfo, AuthLevel, AuthType, Decryption, Identity
from analyzer.transport.channel.channels import SmbInfo
from analyzer.transport.rpc.call_pairing import CallSide, PendingCall, SideState
from analyzer.transport.rpc.pdu import Ptype, Syntax
from analyzer.transport.rpc.presentations import Presentations
from analyzer.transport.rpc.security_table import Security, SecurityTable

# ------------------------------------------------------------------------------------------------------------- exchange


_EMPTY = SideState.EMPTY
# The state of most calls.
_COMPLETE: tuple[CallState, str | None] = ("complete", None)
_NO_SECURITY = AuthInfo(AuthType.NONE, AuthLevel.NONE, "none", None, Decryption.NOT_SEALED, None, None)
# Nothing states who authenticated or how: the PDUs announce a security trailer that was not captured, or a fault stands alone.
_NOT_CAPTURED = AuthInfo(
    AuthType.DEFAULT, AuthLevel.UNKNOWN, "unknown", Identity("unknown"), Decryption.BYTES_MISSING, None, None
)


class OpenCall(Struct, frozen=True):
    """A DCERPC exchange that is under way on a channel, and the time and frame of its beginning."""

    channel: int
    call_id: int
    began: Moment


class Exchange(Event, frozen=True):
    """One DCERPC call, its request paired with its response by channel, context and call id.

    `interface` is a UUID as text (None if the bind was not captured), `version` is (major, minor), and `syntax` the transfer
    syntax. `fault` is the status of a fault PDU. `orphaned` and `cancelled` tell whether the client gave up. `reason` is a sentence
    for every state but `complete`.
    """

    channel: Channel
    smb: SmbInfo | None
    auth: AuthInfo
    interface: str | None
    version: tuple[int, int] | None
    syntax: Literal["ndr", "ndr64"]
    opnum: int | None
    call_id: int
    context_id: int
    object_uuid: str | None
    request: Side | None
    response: Side | None
    fault: int | None
    state: CallState
    reason: str | None
    cancelled: bool
    orphaned: bool


OVERTOOK = "another call of its channel came before it and was captured later, so the order of the frames is not that of the calls"
# Whether a call is wanted, by its channel, what carried it and its security.
Selection = Callable[[Channel, SmbInfo | None, AuthInfo, PendingCall], bool]


def numbers(frames: tuple[int, ...]) -> str:
    """Returns the first four of some frame numbers as text, for the reasons of an exchange."""
    shown = ", ".join(str(number_of(frame)) for frame in frames[:4])
    return shown + (", ..." if len(frames) > 4 else "")


class ExchangeMaker:
    """Makes the exchanges (request with response) of one association. Its binds set `channel`."""

    def __init__(
        self,
        channel: Channel,
        presentations: Presentations,
        security: SecurityTable,
        max_stub: int,
        set_back: Sequence[int],
        selected: Selection | None = None,
    ) -> None:
        """`set_back` are the frames before which the clock of the capture went back, ascending; more come while it is read. In an
        SMB session only `selected` calls become exchanges, and these leave out the response if there is a request."""
        self.channel = channel
        # Why something that the client sent could not be read, though it was captured; of several the last.
        self._unread: str | None = None
        self._presentations = presentations
        self._security = security
        self._max_stub = max_stub
        self._set_back = set_back
        self._selected = selected
        # The latest time of an answer so far with its place among them, and that of a request (by `is_request`).
        self._latest = [(0, 0), (0, 0)]

    def not_read(self, sender: Sender, why: str) -> None:
        """Notes for the exchanges to make that something of a sender was captured, and that it cannot be read what it is."""
        self._presentations.has_loss = True
        if sender == "initiator":
            self._unread = why

    def make_exchange(self, call: PendingCall, why: str) -> Exchange | None:
        """Makes the exchange of a call that was paired, as far as it got; None if it is not selected. `why` explains a missing
        response."""
        request, response, wrong = call.request, call.response, None
        presentation = self._presentations.get(call.context_id)
        if presentation is None or call.answer_context is not None:
            presentation, wrong = self._presentations.of_call(call.context_id, _answered_context(call))
        elif response.state is not _EMPTY and call.fault is None:
            self._presentations.used.add(call.context_id)
        call.presentation = presentation
        security, level = self._security_of(call)
        if security is not None:
            auth = self._auth(call, security, level)
        else:
            auth = _NO_SECURITY if level == AuthLevel.NONE else _NOT_CAPTURED
        smb = request.smb if request.state is not _EMPTY else response.smb
        if (request.is_altered or response.is_altered) and smb is not None:
            smb = replace(smb, signature_ok=False)
        selected = self._selected if presentation is not None and self.channel.session is not None else None
        if selected is not None and not selected(self.channel, smb, auth, call):
            if security is not None:
                self._note_use(call, security, None)
            return None
        asked = self._side(call, request, is_request=True) if request.state is not _EMPTY else None
        answered = None
        if response.state is not _EMPTY and (selected is None or asked is None):
            answered = self._side(call, response, is_request=False)
        if security is not None:
            self._note_use(call, security, answered)
        state, reason = _COMPLETE
        if not (asked and answered and asked.missing is answered.missing is None and presentation is not None):
            state, reason = self._state(call, why, wrong)
        else:
            reason = wrong or ("the answer was captured before the request" if call.is_swapped else None)
            if reason is None and (asked.overtook_ns is not None or answered.overtook_ns is not None):
                reason = OVERTOOK
        if asked is not None and answered is not None:
            is_set_back = call.is_swapped or (self._set_back and self._is_set_back(asked, answered))
            if is_set_back or response.lacks_first or request.state is SideState.PARTIAL or request.has_cut:
                answered = replace(answered, is_untimed=True)
        return Exchange(
            self.channel,
            smb,
            auth,
            presentation.abstract.uuid if presentation else None,
            presentation.abstract.version if presentation else None,
            "ndr64" if presentation and presentation.is_ndr64 else "ndr",
            call.opnum,
            call.call_id,
            call.context_id,
            call.object_uuid,
            asked,
            answered,
            call.fault,
            state,
            reason,
            call.cancelled,
            call.orphaned,
        )

    @staticmethod
    def _note_use(call: PendingCall, security: Security, answered: Side | None) -> None:
        """Tells the security context of an exchange that is made how its call ended. `answered` is the response, if it was made."""
        response = call.response
        if response.state is _EMPTY:
            security.asked()
            return
        last_ns = answered.last_time_ns if answered is not None else (response.times or (0, 0))[1]
        if call.fault is None or response.trailer is not None:
            # A fault with a trailer is protected with the context, so the server has it.
            security.granted(last_ns)
        else:
            security.faulted(last_ns, call.fault, tuple(sorted(response.frames)))

    def _is_set_back(self, asked: Side, answered: Side) -> bool:
        """Whether the capture's clock went back between the last frame of a request and the first frame of its response."""
        return bisect(self._set_back, asked.last_frame) < bisect(self._set_back, answered.first_frame)

    def _state(self, call: PendingCall, why: str, wrong: str | None) -> tuple[CallState, str | None]:
        """Makes the state of an exchange that lacks something, and all reasons why it is not complete. `wrong` is what is wrong
        with its presentation context."""
        request, response, has_request = call.request, call.response, call.has_request
        has_response = response.state is not _EMPTY
        state: CallState = "complete"
        reasons: list[str] = []
        sealed = request.still_sealed or response.still_sealed
        if sealed is not None:
            state = "sealed"
            reasons.append(sealed.reason or sealed.decryption.value)
        if not has_request:
            state = "response-only"
            reasons.insert(0, f"the request was not captured{self._or_not_read()}")
        elif not has_response and not call.maybe:
            state = "request-only"
            reasons.insert(0, _unanswered(call, why))
        lacking = None
        if has_request and not request.whole:
            lacking = request
        elif has_response and not response.whole:
            lacking = response
        if lacking is not None:
            reasons.insert(0, self._lacks(lacking, "request" if lacking is request else "answer"))
            if state != "response-only":
                state = "partial"
        if call.presentation is None and state == "complete":
            state = "partial"
            lacks = f"the bind was not captured{self._or_not_read()}"
            if self._unread is None and self._presentations:
                lacks = f"no captured bind tells what presentation context {call.context_id} is"
            reasons.append(f"{wrong or lacks}, so the interface and the meaning of the stubs are unknown")
        elif wrong is not None:
            reasons.append(wrong)
        malformed = request.malformed or response.malformed
        if malformed is not None:
            state = "malformed"
            reasons.insert(0, malformed)
        return state, "; ".join(reasons) or None

    def _or_not_read(self) -> str:
        return f" or not readable ({self._unread})" if self._unread is not None else ""

    def _lacks(self, side: CallSide, name: str) -> str:
        if side.over_limit:
            return f"the stub of the {name} is larger than the limit of {self._max_stub} bytes"
        short = None
        if side.state is SideState.COMPLETE:
            short = f"{side.wire_length} of {side.hint} announced bytes are there"
        return f"the {name} is not whole: {side.damage or short or 'its last fragment was not captured'}"

    def _side(self, call: PendingCall, side: CallSide, *, is_request: bool) -> Side:
        """Makes one side of an exchange: its request or response, whose parameters are not decoded yet."""
        missing, verdict, length = None, None, 0
        fragments, times = side.pdus.kept()
        if side.malformed is not None:
            missing = Missing.UNDECODABLE
        elif not side.whole:
            missing = Missing.NOT_CAPTURED
        elif side.still_sealed is not None:
            missing = Missing.SEALED
        else:
            length = side.wire_length
            if is_request and SIGNATURE in (stub := stub_of(fragments).data):
                length, verdict = self._verification(call, stub) or (length, None)
        if side.dropped_times is not None:
            times = spanned([side.dropped_times, times])
        first, last = times or (0, 0)
        overtook_ns = None
        if place := side.place:
            # Messages of one end come in the order of its bytes, whatever the order of the frames.
            latest_ns, before = self._latest[is_request]
            if last != latest_ns and (last > latest_ns) is not (place > before):
                overtook_ns = latest_ns
            if last >= latest_ns:
                self._latest[is_request] = last, place
        return Side(
            pdus=fragments,
            missing=missing,
            stub_length=length,
            wire_length=side.wire_length,
            verification_trailer=verdict,
            big_endian=side.order_big,
            first_time_ns=first,
            last_time_ns=last,
            frames_of_dropped=tuple(sorted(side.dropped_frames)) if side.dropped_frames else (),
            overtook_ns=overtook_ns,
        )

    def _verification(self, call: PendingCall, stub: bytes) -> tuple[int, Literal["ok", "bad"]] | None:
        presentation = call.presentation
        assert call.opnum is not None
        expected = Expected(
            call.drep,
            "big" if call.request.order_big else "little",
            call.call_id,
            call.context_id,
            call.opnum,
            self._presentations.header_signing,
            presentation.abstract if presentation else None,
            presentation.transfer if presentation else None,
        )
        return find_trailer(stub, expected)

    def _security_of(self, call: PendingCall) -> tuple[Security | None, int]:
        """Finds the security context for an exchange to make, None if it has none or if it is not known, and its level."""
        request, response = call.request, call.response
        for side in (request, response):
            if side.security is not None and side.trailer is not None:
                return side.security, side.trailer.level
        if request.hides_trailer or response.hides_trailer or (request.state is _EMPTY and self._is_silent_fault(call)):
            return None, AuthLevel.UNKNOWN
        connect = self._security.connect_level()
        return (connect, AuthLevel.CONNECT) if connect is not None else (None, AuthLevel.NONE)

    def _is_silent_fault(self, call: PendingCall) -> bool:
        """Whether the exchange to make is a fault without a request that does not say what secured that request. It needs no
        trailer itself, so it says nothing if the bind was not captured, or if others used a security context."""
        return call.fault is not None and (call.presentation is None or self._security.is_in_use)

    @staticmethod
    def _auth(call: PendingCall, security: Security, level: int) -> AuthInfo:
        request, response = call.request, call.response
        sealed = request.still_sealed or response.still_sealed
        decryption = Decryption.NOT_SEALED
        if sealed is not None:
            decryption = sealed.decryption
        elif request.is_sealed or response.is_sealed:
            decryption = Decryption.DECRYPTED
        verdicts = request.verdicts | response.verdicts
        is_proven = verdicts == {True} and not (request.is_bare or response.is_bare)
        verified = False if False in verdicts else True if is_proven else None
        signed = request.header_signed | response.header_signed
        return security.stated_of_call(level, decryption, verified, next(iter(signed)) if len(signed) == 1 else None)


def _answered_context(call: PendingCall) -> int | None:
    """Returns the context id that the answer gives an exchange to make, None if the server did not carry it out."""
    if call.response.state is _EMPTY or call.fault is not None:
        return None
    return call.context_id if call.answer_context is None else call.answer_context


def _unanswered(call: PendingCall, why: str) -> str:
    if call.answer_gap is not None:
        around = f" around frames {numbers(call.answer_gap)}" if call.answer_gap else ""
        return f"the answer was not captured: bytes missing{around}"
    if call.orphaned:
        return "the client gave up waiting (orphaned)"
    return why


# ------------------------------------------------------------------------------------------------- verification trailer


SIGNATURE = bytes.fromhex("8ae3137102f43671")
_COMMAND_MASK = 0x3FFF
_END = 0x4000
_MUST_PROCESS = 0x8000
_CLIENT_SUPPORT_HEADER_SIGNING = 0x00000001
# A trailer is at the very end; should its signature occur by chance in the data too, the last few are tried.
_MAX_TRIES = 8


class TrailerCommand(metaclass=WireNumbers):
    """Commands of the verification trailer in an exchange's request, [MS-RPCE] 2.2.2.13.2 to 2.2.2.13.4."""

    BITMASK_1 = 1
    PCONTEXT = 2
    HEADER2 = 3


class Expected(Struct, frozen=True):
    """The values of an exchange that its verification trailer should repeat; None for what was not captured."""

    drep: bytes
    order: ByteOrder
    call_id: int
    context_id: int
    opnum: int
    header_signing: bool | None
    abstract: Syntax | None
    transfer: Syntax | None


def find_trailer(stub: bytes, expected: Expected) -> tuple[int, Literal["ok", "bad"]] | None:
    """Returns where the verification trailer of an exchange's request begins, and whether it fits the call. None if the stub has no
    trailer."""
    at = stub.rfind(SIGNATURE)
    for _ in range(_MAX_TRIES):
        if at < 0:
            return None
        if at % 4 == 0 and (verdict := _check(stub, at, expected)) is not None:
            return at, verdict
        at = stub.rfind(SIGNATURE, 0, at + len(SIGNATURE) - 1)
    return None


def _check(stub: bytes, at: int, expected: Expected) -> Literal["ok", "bad"] | None:
    """Checks the verification trailer at `at` for an exchange to make. Returns the verdict, None if its commands do not end with
    the stub."""
    for order in dict.fromkeys((expected.order, "little")):
        cur = Cursor(stub, at + len(SIGNATURE), order=order)
        try:
            right, ended = True, False
            while not ended:
                command = cur.u16("command")
                ended = bool(command & _END)
                with cur.window("command", cur.u16("length")):
                    right &= _command_holds(cur, command, expected)
            if cur.left == 0:
                return "ok" if right else "bad"
        except DecodeError:
            continue
    return None


def _command_holds(cur: Cursor, command: int, expected: Expected) -> bool:
    which = command & _COMMAND_MASK
    if which == TrailerCommand.BITMASK_1 and cur.left == 4:
        signing = cur.u32("bits") & _CLIENT_SUPPORT_HEADER_SIGNING
        # "If this bit is set, the PFC_SUPPORT_HEADER_SIGN bit MUST be present in the PDU header for the bind."
        return not (signing and expected.header_signing is False)
    if which == TrailerCommand.PCONTEXT and cur.left == 40:
        stated = []
        for _ in range(2):
            uuid, version = cur.guid("syntax"), cur.u32("version")
            stated.append(Syntax(uuid, (version & 0xFFFF, version >> 16)))
        return stated[0] == (expected.abstract or stated[0]) and stated[1] == (expected.transfer or stated[1])
    if which == TrailerCommand.HEADER2 and cur.left == 16:
        ptype = cur.u8("ptype")
        cur.skip("reserved", 3)
        stated_head = (ptype, cur.take_bytes("drep", 4), cur.u32("call_id"), cur.u16("p_cont_id"), cur.u16("opnum"))
        return stated_head == (Ptype.REQUEST, expected.drep, expected.call_id, expected.context_id, expected.opnum)
    cur.rest()
    # A known command of another length contradicts its definition; an unknown one matters only if it must be processed.
    return which not in TrailerCommand and not command & _MUST_PROCESS
