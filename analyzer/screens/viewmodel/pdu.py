"""The header and trailer of a DCERPC PDU as fields beside their bytes (C706 chapter 12; [MS-RPCE] section 2.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analyzer.core.errors import DecodeError
from analyzer.core.labels import label
from analyzer.results.view import Node
from analyzer.screens.viewmodel.nodes import bits, numbers, one_of, raw
from analyzer.transport.rpc.call import level_name
from analyzer.transport.rpc.pdu import (
    FAULT_LEN,
    HEADER_LEN,
    OBJECT_UUID,
    SEC_TRAILER_LEN,
    PduHeader,
    Ptype,
    read_header,
)
from analyzer.transport.rpc.status import fault_name

_FLAGS = {
    0x01: "PFC_FIRST_FRAG",
    0x02: "PFC_LAST_FRAG",
    0x04: "PFC_PENDING_CANCEL",
    0x10: "PFC_CONC_MPX",
    0x20: "PFC_DID_NOT_EXECUTE",
    0x40: "PFC_MAYBE",
    0x80: "PFC_OBJECT_UUID",
}
# Names of the fields of the header every PDU has, with their lengths.
_COMMON = (
    ("rpc_vers", 1),
    ("rpc_vers_minor", 1),
    ("PTYPE", 1),
    ("pfc_flags", 1),
    ("packed_drep", 4),
    ("frag_length", 2),
    ("auth_length", 2),
    ("call_id", 4),
)
_BODY = {
    Ptype.REQUEST: (("alloc_hint", 4), ("p_cont_id", 2), ("opnum", 2)),
    Ptype.RESPONSE: (("alloc_hint", 4), ("p_cont_id", 2), ("cancel_count", 1), ("reserved", 1)),
    Ptype.FAULT: (
        ("alloc_hint", 4),
        ("p_cont_id", 2),
        ("cancel_count", 1),
        ("fault_flags", 1),
        ("status", 4),
        ("reserved2", 4),
    ),
}
_TRAILER = (
    ("auth_type", 1),
    ("auth_level", 1),
    ("auth_pad_length", 1),
    ("auth_reserved", 1),
    ("auth_context_id", 4),
)
_AUTH_TYPES = {
    0: "RPC_C_AUTHN_NONE",
    9: "RPC_C_AUTHN_GSS_NEGOTIATE",
    10: "RPC_C_AUTHN_WINNT",
    14: "RPC_C_AUTHN_GSS_SCHANNEL",
    16: "RPC_C_AUTHN_GSS_KERBEROS",
    68: "RPC_C_AUTHN_NETLOGON",
}


# What the layout of a PDU depends on.
_DECIDING = frozenset({"rpc_vers", "rpc_vers_minor", "PTYPE", "pfc_flags", "packed_drep", "frag_length", "auth_length"})


def pdu_tree(data: bytes, stub_start: int, stub_stop: int) -> Node | None:
    """The fields of a PDU whose stub lies between the two; None where it is not the header of one."""
    try:
        header = read_header(data)
        ptype = Ptype(header.ptype)
    except (DecodeError, ValueError):
        return None
    children = list(_numbers(data, 0, _COMMON, header))
    at = HEADER_LEN
    body = _BODY.get(ptype, ())
    children += _numbers(data, at, body, header)
    at += sum(length for _, length in body)
    if ptype is Ptype.REQUEST and header.flags & OBJECT_UUID:
        children += raw(data, "object", at, min(at + 16, stub_start))
        at = min(at + 16, stub_start)
    at = max(at, stub_start if ptype is not Ptype.FAULT else min(FAULT_LEN, stub_start))
    children += raw(data, "stub_data", at, stub_stop)
    trailer = len(data) - header.auth_length - SEC_TRAILER_LEN
    if header.auth_length and trailer >= stub_stop:
        children += raw(data, "auth_pad", stub_stop, trailer)
        children += _numbers(data, trailer, _TRAILER, header)
        children += raw(data, "auth_value", trailer + SEC_TRAILER_LEN, len(data))
    else:
        children += raw(data, "rest", stub_stop, len(data))
    return Node("pdu", "PDU", ptype.name, 0, len(data), None, None, "C706 section 12.6", tuple(children))


def _numbers(data: bytes, at: int, fields: tuple[tuple[str, int], ...], header: PduHeader) -> Iterator[Node]:
    for name, length in fields:
        if name == "packed_drep":
            words = _little if header.order == "little" else _big
            yield from raw(data, name, at, min(at + length, len(data)), words, decides=True)
        else:
            yield from numbers(data, at, ((name, name, length, _WORDS.get(name)),), header.order, _DECIDING)
        at += length


def _little(_: bytes) -> str:
    return "little-endian integers"


def _big(_: bytes) -> str:
    return "big-endian integers"


_WORDS: dict[str, Callable[[int], str | None]] = {
    "PTYPE": lambda value: label(Ptype, value),
    "pfc_flags": bits(_FLAGS),
    "auth_type": one_of(_AUTH_TYPES),
    "auth_level": level_name,
    "status": fault_name,
}
