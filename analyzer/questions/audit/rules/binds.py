"""Rules about where PerflibV2 is found and how it is bound: pipe, endpoint, UUID and version, transfer syntax, contexts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from analyzer.core.absence import Missing
from analyzer.interfaces.resolution.whole_capture_resolution import interface_carried
from analyzer.questions.audit.call_evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule_registry import Level, of_capture, rule
from analyzer.questions.audit.rule_verdicts import (
    Actor,
    At,
    Confidence,
    Deviation,
    Judgement,
    Severity,
    failed,
    inconclusive,
    passed,
    warned,
)
from analyzer.results.analysis import Selected
from analyzer.results.calls.call import Call
from analyzer.results.connection import Bound, Channel
from analyzer.results.methods.perflib import INTERFACE

NO_BIND, NO_ANSWER = "the bind was not captured", "the answer to a bind was not captured"


def _ours(evidence: Evidence) -> list[Bound]:
    """The binds of PerflibV2 that the capture holds."""
    return [bound for bound in evidence.analysis.bounds if bound.interface == INTERFACE]


KNOWN, PIPE, SEQUENCE = "PCQ-1.5-R01", "PCQ-1.9-R02", "PCQ-2.1-R01"


@rule("PCQ110", Level.TRANSPORT, Severity.ERROR, "off-the-winreg-pipe")
@of_capture((KNOWN, PIPE, SEQUENCE), about="association", needs_answer="the pipe is that of all calls")
def not_on_winreg_pipe(evidence: Evidence) -> Iterator[Judgement]:
    r"""PerflibV2 was offered or called elsewhere than on the pipe winreg over SMB.

    Looks for: every channel on which the interface was bound or called: whether it is a named pipe (ncacn_np), and its name.

    Why it matters: the endpoint is well known. A client finds no server elsewhere unless both were made for each other, and what
    guards the pipe (SMB signing and encryption, rules of firewalls) does not guard another transport.

    Specification: [MS-PCQ] section 2.1: the protocol sequence is ncacn_np, the endpoint the pipe name \PIPE\winreg; section 1.9
    lists it. Section 1.5 takes it for granted that the client knows the server's name or address, which every connection shows.

    Flagged: a bind on the pipe `perflib`; a bind over TCP port 49664.

    Accepted: the pipe `WinReg`; a pipe that the remote registry uses as well.

    Silent: where the opening of the pipe was not captured, so that its name is not known.
    """
    channels: dict[int, tuple[Channel | Call, tuple[int, ...], CallEvidence | None]] = {}
    for bound in _ours(evidence):
        channels.setdefault(bound.channel.number, (bound.channel, bound.frames, None))
    for number, first_call in evidence.index.first.items():
        call = evidence.call(first_call)
        channels[number] = call.decoded, channels[number][1] if number in channels else call.decoded.frames, call
    for channel, frames, first in channels.values():
        yield passed(KNOWN)
        at = At("request", "pdu") if first is not None and first.request is not None else None
        if channel.transport != "ncacn_np":
            message = "the interface was used over another transport than a named pipe"
            seen = f"{channel.transport}, port {channel.server.port}"
            yield failed(first, at, message, "ncacn_np", seen, of=(SEQUENCE, PIPE), frames=frames)
            continue
        yield passed(SEQUENCE)
        if channel.pipe is None:
            yield inconclusive("the opening of the pipe was not captured", first, PIPE)
        elif channel.pipe.casefold() == "winreg":
            yield passed(PIPE)
        else:
            message = "the interface was used on another pipe"
            yield failed(first, at, message, "winreg", channel.pipe, of=PIPE, frames=frames)


_MAPPER = "e1af8308-5d1f-11c9-91a4-08002b14a0fa"
_MAP = 3
_UUIDS = (UUID(INTERFACE).bytes_le, UUID(INTERFACE).bytes)


@rule("PCQ111", Level.TRANSPORT, Severity.ERROR)
@of_capture("PCQ-2.1-R02", about="conversation", needs_answer="what was bound is in no request")
def endpoint_was_asked_for(evidence: Evidence) -> Iterator[Judgement]:
    r"""A client asked the endpoint mapper where PerflibV2 is.

    Looks for: ept_map calls whose tower names the interface, and where the same client then used it.

    Why it matters: the endpoint is fixed. A client that asks for it depends on a service that need not be reachable, and follows
    whatever answers it.

    Specification: [MS-PCQ] section 2.1: a well-known endpoint, the pipe \PIPE\winreg. The endpoint mapper and its towers: C706
    appendix I and O, [MS-RPCE] section 2.2.1.2.

    Flagged: an ept_map call for da5a86c5-12c2-4943-ab30-7f74a813d853 (a warning), followed by a bind over TCP (a failure).

    Accepted: a bind on the pipe with no such question before it.

    Silent: where no use of the interface was captured.
    """
    ours = _ours(evidence)
    elsewhere = {one.channel.client.ip: min(one.frames) for one in ours if one.channel.transport != "ncacn_np"}
    was_asked = False
    for evident in evidence.calls_of(_MAPPER, _MAP):
        call = evident.decoded
        if call.request is None or isinstance(call.request.stub, Missing):
            continue
        stub = call.request.stub.data
        if not any(uuid in stub for uuid in _UUIDS):
            continue
        was_asked = True
        message = "the client asked the endpoint mapper for an interface whose endpoint is well known"
        say = warned
        if elsewhere.get(call.client.ip, -1) > min(call.frames):
            message, say = f"{message}, and used it elsewhere", failed
        yield say(evident, None, message, "\\PIPE\\winreg", "ept_map")
    if ours and not was_asked:
        yield passed(count=len(ours))


UUID_ASSIGNED, VERSION = "PCQ-1.9-R01", "PCQ-6-R01"


@rule("PCQ112", Level.RPC, Severity.ERROR)
@of_capture((UUID_ASSIGNED, VERSION), about="association", needs_answer="what was bound is in no request")
def interface_misidentified(evidence: Evidence) -> Iterator[Judgement]:
    """The interface was bound by another version, or what it does goes by another UUID.

    Looks for:

    - Binds of PerflibV2 with another version than 1.0.
    - Presentation contexts of interfaces that this program does not know, where every call reads as one of PerflibV2. Some of
      these calls carry what only PerflibV2 carries.

    Why it matters: a server matches UUID and version when the client binds. What calls itself otherwise is another interface, and
    no client or server of this one finds it.

    Specification: [MS-PCQ] section 1.9 assigns the UUID da5a86c5-12c2-4943-ab30-7f74a813d853; the IDL in section 6 gives version
    1.0.

    Flagged: a bind of version 2.0; answers of performance data under a UUID that differs in its last digit.

    Accepted: the UUID with version 1.0.

    Silent: where the bind was not captured, and where calls of another interface are sealed.
    """
    for bound in _ours(evidence):
        yield passed(UUID_ASSIGNED)
        if bound.version == (1, 0):
            yield passed(VERSION)
        else:
            message, seen = "the interface was bound by another version", ".".join(map(str, bound.version))
            yield failed(None, None, message, "1.0", seen, of=VERSION, frames=bound.frames, channel=bound.channel)
    for unbound in evidence.unbound:
        yield inconclusive(NO_BIND, unbound)
    for numbers in evidence.index.nameless.values():
        group = [call for _, call in Selected(evidence.analysis.calls, numbers)]
        if interface_carried(group) == "perflib-v2":
            first = evidence.call(numbers[0])
            message, sure = "calls of another interface carry what PerflibV2 does", Confidence.MEDIUM
            other, at = first.decoded.interface.uuid, At("request", "pdu")
            yield failed(first, at, message, INTERFACE, other, of=UUID_ASSIGNED, confidence=sure)


_OFFERS = Deviation(
    "[MS-RPCE] section 2.2.5",
    "64-bit Windows runtimes offer NDR64 beside NDR for every interface, and let the server choose",
)


@rule("PCQ113", Level.RPC, Severity.ERROR)
@of_capture("PCQ-2.2-R01", about="association", needs_answer="the transfer syntax is agreed on in the bind")
def ndr64_negotiated(evidence: Evidence) -> Iterator[Judgement]:
    """PerflibV2 was bound with another transfer syntax than NDR.

    Looks for: binds of the interface that a server accepted with NDR64 or another syntax, and offers of such.

    Why it matters: under NDR64 counts have 8 bytes and other alignments. Implementations by the letter know NDR only, and whoever
    decodes their traffic as NDR reads noise.

    Specification: [MS-PCQ] section 2.2: the protocol informs the RPC runtime that it supports the NDR transfer syntax only (C706
    part IV). What a generic runtime offers on its own account is no more than an offer; a server that accepts it has informed its
    runtime otherwise.

    Flagged: a bind_ack that accepts 71710533-beba-4937-8319-b5dbef9ccc36; an offer of it (a warning).

    Accepted: 8a885d04-1ceb-11c9-9fe8-08002b104860 accepted, whatever was offered besides.

    Silent: where the bind or its answer was not captured, unless the calls themselves show NDR64.
    """
    for bound in _ours(evidence):
        others = ", ".join(syntax for syntax in bound.offered or (bound.syntax,) if syntax != "ndr")
        if bound.accepted and bound.syntax != "ndr":
            message = "the server accepted another transfer syntax than NDR"
            yield failed(None, None, message, "ndr", bound.syntax, frames=bound.frames, channel=bound.channel)
            continue
        if others:
            message = "the client offered another transfer syntax than NDR"
            facts: dict[str, Any] = {"frames": bound.frames, "channel": bound.channel, "deviation": _OFFERS}
            yield warned(None, None, message, "ndr", others, **facts)
        if bound.accepted:
            yield passed()
        elif bound.accepted is None:
            yield inconclusive(NO_ANSWER)
    for call in evidence.unbound:
        if call.decoded.syntax == "ndr64" and call.decoded.response is not None:
            message = "the bind was not captured, but the calls are in another transfer syntax than NDR"
            at, sure = At("request", "pdu"), Confidence.MEDIUM
            # The client may only have offered it: as with a bind that was captured, both sides agreed on it.
            yield failed(call, at, message, "ndr", "ndr64", confidence=sure, actor=Actor.EITHER)
        else:
            yield inconclusive(NO_BIND, call)


@rule("PCQ114", Level.RPC, Severity.ERROR)
@of_capture("PCQ-1.5-R03", about="association", needs_answer="the server refused the context in the bind")
def called_after_refusal(evidence: Evidence) -> Iterator[Judgement]:
    """A client called PerflibV2 on a presentation context that the server had refused.

    Looks for: requests on contexts whose bind or alter_context was refused, and no later one accepted.

    Why it matters: such a call cannot succeed. A server that answers it has not looked at its own refusal, nor a client that makes
    it at the answer.

    Specification: [MS-PCQ] section 1.5 relies on the preconditions of RPC interfaces; C706 12.6.3.1 and [MS-RPCE] section 3.3.1.5:
    a context that was refused does not exist.

    Flagged: bind_ack with "provider rejection: abstract syntax not supported", and a request under the same context id.

    Accepted: a refused context of the interface and another one, accepted, on which the calls are made.

    Silent: where the answer to the bind was not captured.
    """
    refused: dict[tuple[int, int], Bound] = {}
    for bound in evidence.analysis.bounds:
        context, is_ours = (bound.channel.number, bound.context_id), bound.interface == INTERFACE
        if bound.accepted:
            refused.pop(context, None)
            if is_ours:
                yield passed()
        elif is_ours and bound.accepted is None:
            yield inconclusive(NO_ANSWER)
        elif is_ours:
            refused[context] = bound
    for call in evidence.unbound:
        yield inconclusive(NO_BIND, call)
    for number, later in enumerate(evidence.analysis.calls, 1) if refused else ():
        before = refused.get((later.channel, later.context_id))
        if before is None or later.request is None or min(later.request.frames, default=-1) < max(before.frames):
            continue
        at = At("request", "pdu.20:22")
        message = "the client called on a presentation context that the server had refused"
        yield failed(evidence.call(number), at, message, "a context that was accepted", before.reason)


@rule("PCQ115", Level.RPC, Severity.ERROR, "features-taken-for-a-context")
@of_capture("PCQ-2.2-R02", about="association", needs_answer="the context is agreed on in the bind")
def bind_time_features_used_as_context(evidence: Evidence) -> Iterator[Judgement]:
    """Bind-time feature negotiation was taken for a presentation context.

    Looks for: binds that offer 6cb71c2c-9812-4540-... as a transfer syntax, what the server answered, and calls under that context
    id.

    Why it matters: the offer is a list of features in the clothes of a context. A server that accepts it as one promises to decode
    calls in a syntax that does not exist.

    Specification: [MS-PCQ] says nothing of it and leaves RPC to [MS-RPCE], whose section 3.3.1.5.3 lets a server acknowledge the
    features (result 3), or refuse the syntax if it does not know them.

    Flagged: result 0 (acceptance) for the features; a request under their context id.

    Accepted: results 3 and 2.

    Silent: where the answer to the bind was not captured, or the features were never offered.
    """
    ours = {bound.channel.number for bound in _ours(evidence)}
    offered = [one for one in evidence.analysis.features if one.channel.number in ours]
    contexts = {(one.channel.number, one.context_id) for one in offered}
    for bound in evidence.analysis.bounds:
        contexts.discard((bound.channel.number, bound.context_id))
    for one in offered:
        if one.result is None:
            yield inconclusive(NO_ANSWER)
        elif one.result == 0:
            message = "the server accepted bind-time features as a presentation context"
            yield failed(None, None, message, "3 or 2", "0 (acceptance)", frames=one.frames, channel=one.channel)
        else:
            yield passed()
    for number, call in enumerate(evidence.analysis.calls, 1) if contexts else ():
        if (call.channel, call.context_id) in contexts and call.request is not None:
            at, message = At("request", "pdu.20:22"), "a call was made on the context id of bind-time features"
            expected = "the id of a presentation context"
            yield failed(evidence.call(number), at, message, expected, call.context_id)
