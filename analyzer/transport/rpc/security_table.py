"""Keeps the security contexts of one association, and opens or checks the PDUs that they protect ([MS-RPCE] 3.3.1.5.2).

A context is known by its auth_context_id. It begins with the first token of a bind or alter_context, grows with the tokens
of both sides and AUTH3, and is asked for the first time when a PDU protected by it comes. Another first token under the same
id begins a new authentication; a repeated last token does not. Each protected PDU passes through it in the order sent,
also those whose stub is not needed, since sealing may be one stream per direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from analyzer.auth.security_types import SearchBudget, SecurityContext, Sender, Unprotected
from analyzer.auth.token_handshake import TokenHandshake, is_first_token
from analyzer.core.events import Problem
from analyzer.core.frame_ids import number_of
from analyzer.core.printable_text import counted
from analyzer.results.connection import Channel, Logon
from analyzer.results.security import AuthInfo, AuthLevel, AuthType, Decryption, Identity, RefusedBy
from analyzer.transport.rpc.pdu import SecTrailer
from analyzer.transport.rpc.rpc_names import NOT_AUTHENTICATED, fault_words

_MECHANISMS = {
    AuthType.NONE: "none",
    AuthType.GSS_NEGOTIATE: "spnego",
    AuthType.WINNT: "ntlm",
    AuthType.GSS_SCHANNEL: "schannel",
    AuthType.GSS_KERBEROS: "krb5",
    AuthType.NETLOGON: "netlogon",
    AuthType.DEFAULT: "default",
}
_PRIVACY = AuthLevel.PRIVACY
# A sealed association may span thousands of frames; a report is served by the first of them.
_MAX_FRAMES = 64


class Security:
    """One security context of a DCERPC association: its handshake, its keys, and the outcome of its logon."""

    def __init__(
        self, auth_type: int, level: int, handshake: TokenHandshake, search: SearchBudget, logon: int | None = None
    ) -> None:
        """`logon` is the number of this security context's logon, None if no message of its handshake was captured."""
        self.logon = logon
        self.auth_type = auth_type
        self.level = level
        self._handshake = handshake
        self._search = search
        self._context: SecurityContext | None = None
        self._lost_before: list[tuple[Sender, int | None]] = []
        self._heard: set[Sender] = set()
        self._identity: Identity | None = None
        self._step: str | None = None
        # The outcome of the last call, and what was stated of it. Only tokens change the rest.
        self._of_call: tuple[tuple[int, Decryption, bool | None, bool | None], AuthInfo] | None = None
        self._sealed = 0
        self._still_sealed = 0
        self._sealed_frames: set[int] = set()
        self._sealed_reason = ""
        # Whether the key fitted a PDU.
        self._is_proven = False
        self._failed = 0
        self._failed_frames: set[int] = set()
        self._first_time_ns: int | None = None
        self._last_time_ns = 0
        self._frames: set[int] = set()
        self._is_answered = False
        # The refusal: kind of message, status, and words. Then what was captured in place of an answer.
        self._refusal: tuple[RefusedBy, int, str] | None = None
        self._last_leg = ""
        self._calls = 0
        self._first_fault: str | None = None

    @property
    def identity(self) -> Identity:
        """The identity that authenticated this security context of an association, as far as its tokens show. Only tokens change
        it."""
        if self._identity is None:
            self._identity = self._handshake.identity
        return self._identity

    @property
    def is_answer_alone(self) -> bool:
        """Whether only the acceptor's tokens for this security context of an association came so far."""
        return self._heard == {"acceptor"}

    @property
    def decrypted_by(self) -> str | None:
        """The key that opened this security context's handshake, in words."""
        return self._handshake.decrypted_by

    @property
    def mechanism(self) -> str:
        """The name of the mechanism in reports, such as `ntlm`, for this security context of an association."""
        if (mechanism := self.identity.mechanism) is not None:
            return mechanism
        return _MECHANISMS.get(self.auth_type, "") if self.auth_type in AuthType else f"auth-{self.auth_type:#x}"

    @property
    def step(self) -> str:
        """The name of the step that opens PDUs under this security context. Only tokens change it."""
        if self._step is None:
            self._step = f"rpc-{self.mechanism}-seal"
        return self._step

    def stated_of_call(
        self, level: int, decryption: Decryption, verified: bool | None, header_signed: bool | None
    ) -> AuthInfo:
        """Returns what a call under this security context states of it. Call after call has the same, and all are kept."""
        outcome = level, decryption, verified, header_signed
        if self._of_call is None or self._of_call[0] != outcome:
            auth = AuthInfo(
                self.auth_type,
                level,
                self.mechanism,
                self.identity,
                decryption,
                verified,
                header_signed,
                self.decrypted_by,
                self.logon,
            )
            self._of_call = outcome, auth
        return self._of_call[1]

    def problems(self) -> list[Problem]:
        """Returns the problems of this security context: PDUs with a wrong checksum, and PDUs that stayed sealed."""
        found: list[Problem] = []
        if self._failed:
            whose = counted(self._failed, "signed PDU has", "signed PDUs have")
            text = f"{whose} a wrong checksum: changed on the way or in the capture; shown as captured"
            if not self._is_known:
                text = f"{whose} a checksum that does not fit, and none one that does: the handshake may be damaged in the capture"
            found.append(
                Problem("malformed" if self._is_known else "note", "rpc", tuple(sorted(self._failed_frames)), text)
            )
        if self.still_sealed:
            text = f"{self._still_sealed} of {counted(self._sealed, 'sealed PDU')} stayed sealed: {self._sealed_reason}"
            found.append(Problem("sealed", "rpc", tuple(sorted(self._sealed_frames)), text))
        return found

    @property
    def still_sealed(self) -> bool:
        """Whether any PDU that this security context of an association protects stayed sealed."""
        return bool(self._sealed_reason)

    @property
    def _is_known(self) -> bool:
        """Whether the security context surely has the right key. One wrong bit in the handshake makes another key, with which right
        PDUs do not fit."""
        return self._is_proven or self._handshake.proves_key

    def failed_check(self, unsealed: Unprotected, frames: tuple[int, ...]) -> Unprotected:
        """Notes that the checksum of a PDU in clear does not fit under this security context. Returns it with what that shows."""
        self._failed += 1
        self._failed_frames.update(frames[: max(_MAX_FRAMES - len(self._failed_frames), 0)])
        return unsealed if self._is_known else replace(unsealed, verified=None)

    def stays_sealed(self, frames: tuple[int, ...], reason: str) -> None:
        """Notes that a PDU stayed sealed under this security context."""
        self._still_sealed += 1
        self._sealed_reason = self._sealed_reason or reason
        self._sealed_frames.update(frames[: max(_MAX_FRAMES - len(self._sealed_frames), 0)])

    def carried(self, time_ns: int, frames: tuple[int, ...], leg: str | None = None) -> None:
        """Notes the frames that carried a message of the security context's handshake. `leg` names the message; None if it refuses
        the handshake."""
        if leg is not None and frames:
            self._last_leg = f"{leg} in frame {number_of(frames[0])}"
        self._first_time_ns = time_ns if self._first_time_ns is None else self._first_time_ns
        self._last_time_ns = max(self._last_time_ns, time_ns)
        self._frames.update(frames[: max(_MAX_FRAMES - len(self._frames), 0)])

    def granted(self, until_ns: int) -> None:
        """Notes that the server answered a call under this security context at that time, so it has let the client in."""
        if until_ns > self._last_time_ns:
            self._last_time_ns = until_ns
        self._is_answered = True

    def asked(self) -> None:
        """Notes that the capture has no answer to a call under this security context."""
        self._calls += 1

    def faulted(self, until_ns: int, fault: int, frames: tuple[int, ...]) -> None:
        """Notes that the server answered a call under this security context with an unprotected fault."""
        self._last_time_ns = max(self._last_time_ns, until_ns)
        if self._is_answered or self._refusal is not None:
            return
        words = f"{fault_words(fault)}, frame {number_of(frames[0])}"
        if fault in NOT_AUTHENTICATED:
            self._refusal = ("fault", fault, f"refused by {words}")
        elif self._first_fault is None:
            self._first_fault = words

    def refused(self, by: RefusedBy, status: int, words: str) -> None:
        """Notes that the server refused the message that carries the handshake of this security context."""
        self._refusal = self._refusal or (by, status, words)

    def _seen(self) -> tuple[bool, str]:
        """Returns whether the server's decision on this security context stays open though its answers were captured, and in words
        what was seen."""
        if self._is_answered:
            return False, "a call under it was answered"
        if self._refusal is not None:
            return False, self._refusal[2]
        if self._first_fault is not None:
            words = (
                f"a call under it got {self._first_fault}, which does not say whether the logon or the call was refused"
            )
            return True, words
        if self._calls:
            return False, f"of {counted(self._calls, 'call')} under it no answer was captured"
        is_done = self._last_leg.startswith("auth3") or "acceptor" in self._heard
        why = ", which has no answer of its own" if self._last_leg.startswith("auth3") else ""
        return is_done, f"the last message of its handshake is {self._last_leg}{why}; no call under it was captured"

    def stated(self, channel: Channel) -> Logon | None:
        """Returns the logon of this security context, None if no message of its handshake was captured."""
        if self.logon is None or self._first_time_ns is None:
            return None
        is_undecided, seen = self._seen()
        refusal = None if self._is_answered else self._refusal
        return Logon(
            number=self.logon,
            by="rpc",
            session=channel.session,
            channel=channel.number,
            client=channel.client,
            server=channel.server,
            identity=self.identity,
            first_time_ns=self._first_time_ns,
            until_ns=self._last_time_ns,
            frames=tuple(sorted(self._frames)),
            refused=refusal[1] if refusal is not None else None,
            is_answered=self._is_answered,
            opened_by=self.decrypted_by,
            refused_by=refusal[0] if refusal is not None else None,
            is_undecided=is_undecided,
            seen=seen,
        )

    def token(self, sender: Sender, token: bytes) -> None:
        if token:
            self._heard.add(sender)
            self._identity = self._step = self._of_call = None
            self._handshake.feed(sender, token)

    def missed(self, sender: Sender) -> None:
        if self._context is None:
            self._handshake.missed(sender)

    def lost(self, sender: Sender, length: int | None) -> None:
        if self._context is not None:
            self._context.lost(sender, length)
        else:
            self._lost_before.append((sender, length))

    def open(self, sender: Sender, trailer: SecTrailer, pdu: bytes, start: int) -> Unprotected:
        """Unseals or checks one PDU that has a security trailer and whose body begins at `start`.

        Below level PRIVACY the body is returned in its form on the wire, whatever its checksum.
        """
        context = self._context or self._established()
        sealed = trailer.level >= _PRIVACY
        self._sealed += sealed
        result = context.open(sender, trailer.level, pdu, slice(start, trailer.start), trailer.value)
        if sealed:
            if result.body is not None and result.verified and len(result.body) == trailer.start - start:
                return result
            decryption = (
                result.decryption
                if result.decryption not in (Decryption.DECRYPTED, Decryption.NOT_SEALED)
                else Decryption.WRONG_KEY
            )
            why = result.reason or self._handshake.reason
            return Unprotected(None, None, decryption, f"{decryption.value}: {why}" if why else decryption.value)
        verified = result.verified
        self._is_proven |= verified is True
        # A PDU that names a lower level than its context was bound with is believed only if its checksum is right.
        if self.level >= _PRIVACY and not verified:
            self._sealed += 1
            doubt = "its level is below that of the bind, and nothing proves it"
            return Unprotected(None, None, Decryption.WRONG_KEY, f"{Decryption.WRONG_KEY.value}: {doubt}")
        if verified is None and result.body is None and self._handshake.decryption is Decryption.DECRYPTED:
            verified = False
        return Unprotected(pdu[start : trailer.start], verified, Decryption.NOT_SEALED, None, result.header_signed)

    def _established(self) -> SecurityContext:
        """Returns the security context that the handshake established. The first protected PDU asks for it."""
        if self._heard == {"initiator"}:
            # The client seals, so the server has answered.
            self._handshake.missed("acceptor")
        self._context = context = self._handshake.context(self._search)
        for side, length in self._lost_before:
            context.lost(side, length)
        self._lost_before.clear()
        return context


def _is_first(sender: Sender, token: bytes) -> bool:
    """Whether an authentication token begins the handshake of a security context."""
    return sender == "initiator" and is_first_token(token)


class SecurityTable:
    """The security contexts of one DCERPC association, by auth_context_id."""

    def __init__(
        self, begin: Callable[[int], TokenHandshake], search: SearchBudget, most: int, logons: Iterator[int]
    ) -> None:
        """`most` is the largest number of security contexts that are kept; `forgotten` counts the ones dropped for that. `logons`
        numbers their logons."""
        self._logons = logons
        self._over: list[Security] = []
        self.most = most
        self.forgotten = 0
        self._begin = begin
        self._search = search
        self._by_id: dict[int, Security] = {}
        self._former: list[Security] = []
        # How many contexts are held.
        self.held = 0
        self._has_strangers = False
        self._any: Security | None = None

    def offered(
        self, sender: Sender, trailer: SecTrailer, token: bytes, time_ns: int, frames: tuple[int, ...], leg: str
    ) -> Security:
        """Takes the authentication token of a PDU (bind, alter_context, their answers, AUTH3: `leg`). Returns its security
        context."""
        security, is_first = self._by_id.get(trailer.context_id), _is_first(sender, token)
        # The answer may be there before the first token, if the capture swapped frames.
        if security is None or (is_first and not security.is_answer_alone):
            security = self._new(trailer, next(self._logons))
            if not is_first:
                security.missed("initiator")
        security.carried(time_ns, frames, leg)
        security.token(sender, token)
        return security

    def read_as_the_only_one(self, sender: Sender, trailer: SecTrailer, token: bytes) -> str | None:
        """Gives the only security context of the association a second id, if a token goes on with its handshake under an id that no
        handshake began. Returns what is wrong then."""
        begun = self.current()
        if _is_first(sender, token) or len(begun) != 1 or not self.was_never_offered(trailer):
            return None
        (only,) = begun
        if (only.auth_type, only.level) != (trailer.auth_type, trailer.level):
            return None
        self._by_id[trailer.context_id] = only
        return f"auth_context_id: no handshake began security context {trailer.context_id}; its token is read for the only one"

    def used(self, trailer: SecTrailer) -> Security:
        """Returns the security context that a protected PDU names. It has no keys if its handshake was not captured."""
        security = self._by_id.get(trailer.context_id)
        if security is None:
            self._has_strangers = True
            security = self._new(trailer)
        return security

    @property
    def is_in_use(self) -> bool:
        """Whether any handshake or PDU of the association named a security context."""
        return bool(self._by_id)

    def known(self, context_id: int) -> Security | None:
        """Returns the security context of that id, None if there is none yet."""
        return self._by_id.get(context_id)

    def was_never_offered(self, trailer: SecTrailer) -> bool:
        """Whether a PDU names a security context that no handshake offered, though the association's handshakes were captured."""
        return trailer.context_id not in self._by_id and bool(self._by_id) and not self._has_strangers

    def connect_level(self) -> Security | None:
        """Returns the security context of requests without a trailer: level CONNECT authenticates only at the bind. If several
        accounts have one, the result is a context without an account."""
        if not self._by_id:
            return None
        found = [security for security in self._by_id.values() if security.level == AuthLevel.CONNECT]
        if len(found) < 2 or len({security.identity.account for security in found}) == 1:
            return found[0] if found else None
        if self._any is None:
            self._any = Security(found[0].auth_type, AuthLevel.CONNECT, self._begin(found[0].auth_type), self._search)
        return self._any

    def lost(self, sender: Sender, length: int | None) -> None:
        for security in self.current():
            security.lost(sender, length)

    def current(self) -> tuple[Security, ...]:
        """Returns the security contexts in force, in the order they came."""
        return tuple(dict.fromkeys(self._by_id.values()))

    def all(self) -> tuple[Security, ...]:
        """Returns all security contexts that the association had, in the order they came."""
        return (*self._former, *self.current())

    def take_over(self) -> list[Security]:
        """Returns the security contexts that were replaced since the last call."""
        over, self._over = self._over, []
        return over

    def _new(self, trailer: SecTrailer, logon: int | None = None) -> Security:
        former = self._by_id.pop(trailer.context_id, None)
        if former is None and len(self._by_id) >= self.most:
            former = self._by_id.pop(next(iter(self._by_id)))
            self.forgotten += 1
        if former is not None and former.still_sealed and len(self._former) < self.most:
            self._former.append(former)
        if former is not None:
            self._over.append(former)
        security = Security(trailer.auth_type, trailer.level, self._begin(trailer.auth_type), self._search, logon)
        self._by_id[trailer.context_id] = security
        self.held = len(self._by_id) + len(self._former)
        return security
