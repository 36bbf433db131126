"""Whole conversations, and all that is said of them: `conversations.txt` has both, and each name is a promise.

A line of words is a conversation: `>6=ask!#2` a request for method 6 with a stub and call id 2, `<=tell#2` its response, `!5` a
fault, `gap>28` 28 bytes of the client that were not captured, `|` the end of the channel. Behind a word stand flags (`/f` first,
`/l` last, `/0` neither, `/m` maybe), `@1` the context, `:12` the announced length, `[20]` where the PDU is cut, `^` big-endian, `~`
protected by the context of `sealed`, `signed`, `packet` or `connect`, `-` not captured. Lines behind `=` are what the layer says.
`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.traced import TracedBytes
from analyzer.results.call import Side
from analyzer.results.connection import Bound
from analyzer.results.security import AuthLevel
from analyzer.transport.rpc.exchange import Exchange
from tests.build.rpc import (
    ALTER,
    ALTER_RESP,
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
    WHOLE,
    WINREG,
    Conversation,
    bind,
    bind_ack,
    context,
    fault,
    pdu,
    request,
    response,
)
from tests.transport.rpc.run import reported
from tests.written import Told

WORD = re.compile(
    r"(?P<way>[<>])?(?P<what>!?[a-z]*\d*)(\((?P<list>.*)\))?(=(?P<stub>[\w!~]*?))?(#(?P<id>\d+))?"
    r"(@(?P<context>\d))?(/(?P<flags>\w+))?(:(?P<hint>\d+))?(\[(?P<cut>\d+)\])?(?P<big>\^)?(?P<sealed>~)?(?P<lost>-)?"
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


def spoken(words: str) -> Conversation:
    """The conversation that a line of words is."""
    talk, sealers = Conversation(), dict[bool, Any]()
    for word in words.split():
        if word == "|":
            talk.closed()
            continue
        if gap := re.fullmatch(r"gap([<>])(\d+)", word):
            talk.gap(gap[1] == ">", int(gap[2]))
            continue
        found = WORD.fullmatch(word)
        assert found is not None, word
        what, listed = found["what"], (found["list"] or "").split(",")
        if what in LEVELS:
            ours, theirs = talk.sealed((found["list"] or "key").encode(), level=LEVELS[what])
            sealers = {True: ours, False: theirs}
        elif what == "bound":
            talk.bound()
        else:
            way = found["way"] == ">" if found["way"] else what in ("bind", "alter")
            made = encoded(found, listed, sealers.get(way) if found["sealed"] else None)
            _ = talk.gap(way, len(made)) if found["lost"] else talk.send(way, made)
    return talk


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
        return bind(offers, **named, **({"ptype": ALTER} if what == "alter" else {}))
    if what in ("ack", "altered"):
        return bind_ack(
            tuple(RESULTS[one or "ok"] for one in listed),
            **named,
            **({"ptype": ALTER_RESP} if what == "altered" else {}),
        )
    if what.startswith("pdu"):
        return pdu(int(what[3:]), b"\0\0", **named)
    if what in ("cancel", "orphaned"):
        return pdu({"cancel": CANCEL, "orphaned": ORPHANED}[what], **named)
    if what.startswith("!"):
        return fault(int(what[1:]), **named, sealer=sealer)
    made = request(int(what), stub, **call) if what else response(stub, **call)
    return made[: int(found["cut"] or len(made))]


def said(talk: Conversation) -> str:
    """What the layer says of calls, contexts and problems, a line each, with the place of each byte."""
    lines = []
    for event in reported(talk):
        if isinstance(event, Exchange):
            lines.append(of_call(event))
        elif isinstance(event, Bound):
            answer = {None: "unanswered", True: "accepted", False: f"refused ({event.reason})"}[event.accepted]
            where = f"{NAMES[event.interface]} {event.version[0]}.{event.version[1]} {event.syntax} of {'|'.join(event.offered)}"
            lines.append(
                f"context {event.context_id} {where}: {answer}, frames {event.frames}, group {event.assoc_group_id}"
            )
        elif hasattr(event, "kind"):
            lines.append(f"{event.kind} at {event.frames}: {event.text}")  # type: ignore[attr-defined]
    return "".join(f"  = {line}\n" for line in lines if line != USUAL)


USUAL = "context 0 perflib 1.0 ndr of ndr: accepted, frames (1, 2), group 83"


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


TOLD = Told(Path(__file__).parent / "conversations.txt", lambda words: said(spoken(words)))


@pytest.mark.parametrize("name", TOLD.words)
def test_all_that_is_said_of_a_conversation_is_what_was_read_through(name: str) -> None:
    TOLD.holds(name)
