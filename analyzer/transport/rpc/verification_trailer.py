"""Finds and checks the verification trailer behind the stub of a DCERPC request ([MS-RPCE] 2.2.2.13)."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from msgspec import Struct

from analyzer.core.byte_cursor import ByteOrder, Cursor
from analyzer.core.errors import DecodeError
from analyzer.transport.rpc.pdu import Ptype, Syntax

SIGNATURE = bytes.fromhex("8ae3137102f43671")
_COMMAND_MASK = 0x3FFF
_END = 0x4000
_MUST_PROCESS = 0x8000
_CLIENT_SUPPORT_HEADER_SIGNING = 0x00000001
# A trailer is at the very end; should its signature occur by chance in the data too, the last few are tried.
_MAX_TRIES = 8


class TrailerCommand(IntEnum):
    """Commands of a verification trailer, [MS-RPCE] 2.2.2.13.2 to 2.2.2.13.4."""

    BITMASK_1 = 1
    PCONTEXT = 2
    HEADER2 = 3


class Expected(Struct, frozen=True):
    """The values of a call that its verification trailer should repeat; None for what was not captured."""

    drep: bytes
    order: ByteOrder
    call_id: int
    context_id: int
    opnum: int
    header_signing: bool | None
    abstract: Syntax | None
    transfer: Syntax | None


def find_trailer(stub: bytes, expected: Expected) -> tuple[int, Literal["ok", "bad"]] | None:
    """Returns where a request's verification trailer begins, and whether it fits the call. None if the stub has no trailer."""
    at = stub.rfind(SIGNATURE)
    for _ in range(_MAX_TRIES):
        if at < 0:
            return None
        if at % 4 == 0 and (verdict := _check(stub, at, expected)) is not None:
            return at, verdict
        at = stub.rfind(SIGNATURE, 0, at + len(SIGNATURE) - 1)
    return None


def _check(stub: bytes, at: int, expected: Expected) -> Literal["ok", "bad"] | None:
    """Returns the verdict on the verification trailer at `at`, None if its commands do not end with the stub."""
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
    return which not in set(TrailerCommand) and not command & _MUST_PROCESS
