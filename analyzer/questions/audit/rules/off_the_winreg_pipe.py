"""PerflibV2 was offered or called elsewhere than on the pipe winreg over SMB.

Looks for: every channel on which the interface was bound or called: whether it is a named pipe (ncacn_np), and its name.

Why it matters: the endpoint is well known. A client finds no server elsewhere unless both were made for each other, and what
guards the pipe (SMB signing and encryption, rules of firewalls) does not guard another transport.

Specification: [MS-PCQ] section 2.1: the protocol sequence is ncacn_np, the endpoint the pipe name \\PIPE\\winreg; section 1.9
lists it. Section 1.5 takes it for granted that the client knows the server's name or address, which every connection shows.

Flagged: a bind on the pipe `perflib`; a bind over TCP port 49664.

Accepted: the pipe `WinReg`; a pipe that the remote registry uses as well.

Silent: where the opening of the pipe was not captured, so that its name is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.results.call import Call
from analyzer.results.connection import Channel
from analyzer.results.perflib import INTERFACE

KNOWN, PIPE, SEQUENCE = "PCQ-1.5-R01", "PCQ-1.9-R02", "PCQ-2.1-R01"

RULE = Rule("PCQ110", "off-the-winreg-pipe", Level.TRANSPORT, Severity.ERROR)


@RULE.afterwards((KNOWN, PIPE, SEQUENCE), about="association", needs_answer="the pipe is that of all calls")
def look(evidence: Evidence) -> Iterator[Judgement]:
    channels: dict[int, tuple[Channel | Call, tuple[int, ...], CallEvidence | None]] = {}
    for bound in evidence.analysis.bounds:
        if bound.interface == INTERFACE:
            channels.setdefault(bound.channel.number, (bound.channel, bound.frames, None))
    for number, first_call in evidence.index.first.items():
        call = evidence.call(first_call)
        channels[number] = call.decoded, channels[number][1] if number in channels else call.frames, call
    for channel, frames, first in channels.values():
        yield passed(KNOWN)
        at = At("request", "pdu") if first is not None and first.request is not None else None
        if channel.transport != "ncacn_np":
            message = "the interface was used over another transport than a named pipe"
            seen = f"{channel.transport}, port {channel.server.port}"
            yield failed(SEQUENCE, first, at, message, expected="ncacn_np", seen=seen, frames=frames, also=(PIPE,))
            continue
        yield passed(SEQUENCE)
        if channel.pipe is None:
            yield inconclusive(PIPE, "the opening of the pipe was not captured", first)
        elif channel.pipe.casefold() == "winreg":
            yield passed(PIPE)
        else:
            message = "the interface was used on another pipe"
            yield failed(PIPE, first, at, message, expected="winreg", seen=channel.pipe, frames=frames)
