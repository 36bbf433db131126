"""Whole conversations, and all that is said of them: `conversations.txt` has both, and each name is a promise.

A line of words is a conversation: `>6=ask!#2` a request for method 6 with a stub and call id 2, `<=tell#2` its response, `!5` a
fault, `gap>28` 28 bytes of the client that were not captured, `|` the end of the channel. Behind a word stand flags (`/f` first,
`/l` last, `/0` neither, `/m` maybe), `@1` the context, `:12` the announced length, `[20]` where the PDU is cut, `^` big-endian, `~`
protected by the context of `sealed`, `signed`, `packet` or `connect` (`~5`: at that level), `-` not captured, `{24^1}` and `{-9=0}`
bytes that are changed. `bind$1.key` begins a handshake with that key, `ack$2` answers it and `auth3$3` ends it (`:2`: its level,
`@1` its context). `middle` forgets all before it, `limit.stub=25` is a limit. Lines behind `=` are what the layer says.
`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes them.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.auth.security_types import Sender
from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.calls.call import Side
from analyzer.results.connection import Bound, Logon, Pdu
from analyzer.results.security import AuthLevel
from analyzer.transport.channel.channels import ChannelBatch
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.rpc import (
    ALTER,
    ALTER_RESP,
    AUTH3,
    BIND_ACK,
    CANCEL,
    CHANNEL,
    FEATURES,
    FIRST,
    LAST,
    MAYBE,
    NDR,
    NDR64,
    ORPHANED,
    PCQ,
    TOY_ANSWER,
    TOY_FIRST,
    TOY_LAST,
    WHOLE,
    WINREG,
    Auth,
    Conversation,
    ToySealer,
    bind,
    bind_ack,
    bind_nak,
    context,
    fault,
    pdu,
    request,
    response,
)
from tests.transport.rpc.run import reported
from tests.written import Told

WORD = re.compile(
    r"(?P<way>[<>])?(?P<what>!?[a-z]*\d*)(\((?P<list>.*)\))?(\$(?P<leg>\d)(\.(?P<key>\w+))?)?(=(?P<stub>[\w!~]*?))?(#(?P<id>\d+))?"
    r"(@(?P<context>\d))?(/(?P<flags>\w+))?(:(?P<hint>\d+))?(\[(?P<cut>\d+)\])?(?P<big>\^)?(?P<sealed>~\d?)?(?P<changes>(\{-?\d+[=^]\d+\})*)(?P<lost>-)?"
)
LEVELS = {
    "sealed": AuthLevel.PRIVACY,
    "signed": AuthLevel.INTEGRITY,
    "packet": AuthLevel.PKT,
    "connect": AuthLevel.CONNECT,
}
FLAGS = {None: WHOLE, "f": FIRST, "l": LAST, "0": 0, "fl": WHOLE, "m": WHOLE | MAYBE}
OFFERS = {
    "perflib": (PCQ, (NDR,)),
    "winreg": (WINREG, (NDR,)),
    "perflib64": (PCQ, (NDR64,)),
    "perflib|64": (PCQ, (NDR, NDR64)),
    "features": (PCQ, (FEATURES,)),
}
NONE = ("00000000-0000-0000-0000-000000000000", 0)
RESULTS = {
    "ok": (0, 0, NDR),
    "ok64": (0, 0, NDR64),
    "no1": (2, 1, NONE),
    "no2": (2, 2, NONE),
    "negotiate3": (3, 3, NONE),
}
NAMES = {PCQ: "perflib", WINREG: "winreg"}


class Spoken:
    """The conversation that a line of words is."""

    def __init__(self, words: str) -> None:
        self.talk, self.limits = Conversation(), dict[str, int]()
        self._sealers = dict[bool, ToySealer]()
        for word in words.split():
            self._say(word)

    def _say(self, word: str) -> None:
        talk = self.talk
        if word == "|":
            talk.closed()
        elif word == "middle":
            talk.events.clear()
        elif limit := re.fullmatch(r"limit\.(\w+)=(\d+)", word):
            self.limits[limit[1]] = int(limit[2])
        elif gap := re.fullmatch(r"gap([<>])(\d+)", word):
            talk.gap(gap[1] == ">", int(gap[2]))
        else:
            found = WORD.fullmatch(word)
            assert found is not None, word
            self._send(found, found["what"])

    def _send(self, found: re.Match[str], what: str) -> None:
        talk = self.talk
        if what in LEVELS:
            ours, theirs = talk.sealed((found["list"] or "key").encode(), level=LEVELS[what])
            self._sealers = {True: ours, False: theirs}
        elif what == "bound":
            talk.bound()
        else:
            way = found["way"] == ">" if found["way"] else what in ("bind", "alter", "auth3")
            if key := found["key"]:
                level = int(found["hint"] or AuthLevel.PRIVACY)
                ends: dict[bool, Sender] = {True: "initiator", False: "acceptor"}
                self._sealers = {one: ToySealer(key.encode(), end, level=level) for one, end in ends.items()}
            made = bytearray(self._encoded(found, way))
            for at, how, value in re.findall(r"\{(-?\d+)([=^])(\d+)\}", found["changes"]):
                made[int(at)] = int(value) if how == "=" else made[int(at)] ^ int(value)
            _ = talk.gap(way, len(made)) if found["lost"] else talk.send(way, bytes(made))

    def _encoded(self, found: re.Match[str], way: bool) -> bytes:
        """The PDU of a word, cut where it says."""
        sealer = self._sealers.get(way) if found["sealed"] else None
        if sealer is not None and (level := (found["sealed"] or "")[1:]):
            sealer.level = int(level)
        return encoded(found, (found["list"] or "").split(","), sealer)[: int(found["cut"] or 0) or None]


def handshake_of(found: re.Match[str]) -> dict[str, Any]:
    """The token that a PDU carries."""
    if not found["leg"]:
        return {}
    token = {"1": TOY_FIRST + (found["key"] or "").encode(), "2": TOY_ANSWER, "3": TOY_LAST}[found["leg"]]
    return {"auth": Auth(token, int(found["hint"] or AuthLevel.PRIVACY), context_id=int(found["context"] or 0))}


def encoded(found: re.Match[str], listed: list[str], sealer: Any) -> bytes:
    """The PDU of a word."""
    what, stub = found["what"], (found["stub"] or "").replace("~", " ").encode()
    named: dict[str, Any] = {"call_id": int(found["id"] or 1), "big": bool(found["big"])}
    call = {**named, "context_id": int(found["context"] or 0), "sealer": sealer}
    call |= {"flags": FLAGS[found["flags"]], "hint": int(found["hint"]) if found["hint"] else None}
    if what in ("bind", "alter"):
        offers = tuple(
            context(at, *OFFERS[one or "perflib"], big=named["big"]) for at, one in enumerate(listed) if one != "-"
        )
        return bind(offers, **named, **handshake_of(found), **({"ptype": ALTER} if what == "alter" else {}))
    if what in ("ack", "altered"):
        results, ptype = tuple(RESULTS[one or "ok"] for one in listed), ALTER_RESP if what == "altered" else BIND_ACK
        return bind_ack(results, **named, **handshake_of(found), ptype=ptype)
    if what == "auth3":
        return pdu(AUTH3, bytes(4), **named, **handshake_of(found))
    if what.startswith("nak"):
        return bind_nak(int(what[3:]), call_id=named["call_id"])
    if what.startswith("pdu"):
        return pdu(int(what[3:]), b"\0\0", **named)
    if what == "cancel" and sealer is not None:
        return bytes(sealer.protect(pdu(CANCEL, **named, auth=Auth(bytes(20))), slice(16, 16)))
    if what in ("cancel", "orphaned"):
        return pdu({"cancel": CANCEL, "orphaned": ORPHANED}[what], **named)
    if what.startswith("!"):
        return fault(int(what[1:]), **named, sealer=sealer)
    return request(int(what), stub, **call) if what else response(stub, **call)


def said(words: str) -> str:
    """What the layer says of calls, contexts, logons and problems, a line each, with the place of each byte."""
    lines, spoken = [], Spoken(words)
    for event in reported(spoken.talk, limits=Limits(**spoken.limits)):
        match event:
            case Exchange():
                lines.append(of_call(event))
            case Bound():
                answer = {None: "unanswered", True: "accepted", False: f"refused ({event.reason})"}[event.accepted]
                what = f"context {event.context_id} {NAMES[event.interface]} {event.version[0]}.{event.version[1]} {event.syntax}"
                where = f"frames {event.frames}, group {event.assoc_group_id}"
                lines.append(f"{what} of {'|'.join(event.offered)}: {answer}, {where}")
            case Logon():
                lines.append(f"logon {event.key}: {event.outcome} by {event.refused_by} ({event.seen})")
            case Problem():
                lines.append(f"{event.kind} at {event.frames}: {event.text}")
    return "".join(f"  = {line}\n" for line in lines if line not in USUAL)


USUAL = (
    "context 0 perflib 1.0 ndr of ndr: accepted, frames (1, 2), group 83",
    "logon rpc0: account by None (a call under it was answered)",
)


def of_call(call: Exchange) -> str:
    marks = [f"fault {call.fault:#x}"] if call.fault is not None else []
    marks += ["cancelled"] * call.cancelled + ["orphaned"] * call.orphaned
    marks += ["turned"] * (call.channel.client != CHANNEL.client)
    auth, where = call.auth, NAMES.get(call.interface or "", call.interface)
    if auth.mechanism != "none":
        account = auth.identity.account if auth.identity else None
        marks.append(f"level {auth.level} {auth.mechanism} {auth.decryption.name} verified {auth.verified}")
        marks.append(f"header {auth.header_signed} {account} by {auth.decrypted_by}")
    marks.append(f"{call.state} ({call.reason})" if call.reason else call.state)
    sides = f"> {of_side(call.request)} < {of_side(call.response)}"
    return f"#{call.call_id}@{call.context_id} {where} {call.syntax} {call.opnum} {sides}: {', '.join(marks)}"


def of_side(side: Side | None) -> str:
    if side is None:
        return "nothing"
    stub = side.stub
    if not isinstance(stub, TracedBytes):
        return f"{stub.name} of {side.wire_length} in {side.frames}"
    places = " ".join(f"{one.frame}:{one.start}+{one.length}" for one in stub.extents()) or f"{side.frames}"
    return f"{stub.data.decode()!r} at {places}{' big' * side.big_endian}{''.join(f' {step}' for step in stub.steps)}"


TOLD = Told(Path(__file__).parent / "conversations.txt", said)


@pytest.mark.parametrize("name", TOLD.words)
def test_all_that_is_said_of_a_conversation_is_what_was_read_through(name: str) -> None:
    TOLD.holds(name)


def in_batches(events: list[Event]) -> Iterator[Event]:
    """The same events: what one end sends until the other does, in one batch."""
    for _, group in groupby(events, lambda event: event.from_client if isinstance(event, ChannelBatch) else id(event)):
        first, *others = group
        spans = [span for event in (first, *others) if isinstance(event, ChannelBatch) for span in event.spans]
        yield replace(first, spans=spans) if isinstance(first, ChannelBatch) else first


@pytest.mark.parametrize("name", TOLD.words)
def test_a_conversation_says_the_same_in_batches(name: str) -> None:
    spoken = Spoken(TOLD.words[name])
    alone, together = (
        reported(events, limits=Limits(**spoken.limits))
        for events in (spoken.talk.events, list(in_batches(spoken.talk.events)))
    )
    # Of fragments that are taken together, the PDUs are stated first.
    for are_pdus in (True, False):
        one, other = ([event for event in out if isinstance(event, Pdu) is are_pdus] for out in (alone, together))
        assert other == one
