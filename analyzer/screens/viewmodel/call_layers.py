"""Takes one call apart into layers, each with its fields and the frames behind it.

The layers are frames, TCP payload and SMB messages (if its packets were read), PDUs, sealed stubs, stub and buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError, InputError
from analyzer.core.times import shown_time
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.buffers.field_map import FieldMap
from analyzer.interfaces.call_contents.call_field_maps import buffer_fields, stub_fields
from analyzer.interfaces.call_contents.damaged_buffers import buffer_order
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, Side, SideName
from analyzer.results.calls.pdus import Fragment
from analyzer.results.captured_packets import Packets
from analyzer.results.records.display_records import CallView, Fact, Form, LayerBytes, Node, SideView
from analyzer.results.security import level_name, who_words
from analyzer.screens.viewmodel.call_list import frame_label, row_of
from analyzer.screens.viewmodel.layer_fields import (
    Fields,
    Forms,
    PlacedLayers,
    bits,
    fields_of,
    node_of,
    numbers,
    one_of,
    raw,
    runs_of,
)
from analyzer.transport.rpc.pdu import (
    FAULT_LEN,
    HEADER_LEN,
    OBJECT_UUID,
    SEC_TRAILER_LEN,
    PduHeader,
    Ptype,
    read_header,
)
from analyzer.transport.rpc.rpc_names import fault_name

NOT_READ = "the captured packets were not read for it"


def the_call(analysis: Analysis, number: int) -> Call:
    """Looks up call `number` of the timeline to take it apart into layers; raises `InputError` if there is none."""
    if not 1 <= number <= len(analysis.calls):
        raise InputError(
            f"there is no call {number}: the capture has {len(analysis.calls)} calls",
            hint="`timeline` prints the number of each call behind a #",
        )
    return analysis.calls[number - 1]


# Displays by forms show no fields of longer stubs or buffers: at 80 bytes a node, a browser would hold 100 MB for one call.
MAX_TREE_BYTES = 1 << 20


def call_view(analysis: Analysis, number: int) -> CallView:
    """Takes call `number` apart into the layers of both sides. Raises `InputError` if there is no such call."""
    call = the_call(analysis, number)
    return CallView(
        row_of(call, analysis), tuple(facts_beside_layers(call, analysis)), tuple(side_views(call, analysis.packets))
    )


def side_views(call: Call, packets: Packets | None = None) -> Iterator[SideView]:
    """Yields the captured request and response of a call as layers, with the frames if there are `packets`."""
    return (side_view(call, name, side, packets) for name, side in sides_of(call))


def sides_of(call: Call) -> Iterator[tuple[SideName, Side]]:
    """Yields the captured request and response of a call that is taken apart into layers, with their names."""
    if call.request is not None:
        yield "request", call.request
    if call.response is not None:
        yield "response", call.response


def side_view(
    call: Call, name: SideName, side: Side, packets: Packets | None = None, forms: Forms | None = None
) -> SideView:
    """Takes one side of a call apart into layers. With `forms`, layers have a form in place of a tree."""
    stub, pdus = side.stub, side.pdus
    carriers: Sequence[LayerBytes] = ()
    lacking: str | None = NOT_READ
    if packets is not None:
        from analyzer.screens.viewmodel.carrier_layers import carrier_layers

        carriers, lacking = carrier_layers(name, pdus, packets, forms, has_smb=call.smb is not None)
    return SideView(
        name=name,
        missing=stub.value if isinstance(stub, Missing) else None,
        buffer_kind=side.buffer_kind,
        layers=(*carriers, *_layers(call, name, side, stub, carriers, forms)),
        problem=str(side.problem) if side.problem is not None else None,
        lacking=lacking,
    )


def _layers(
    call: Call,
    name: SideName,
    side: Side,
    stub: TracedBytes | Missing,
    carriers: Sequence[LayerBytes],
    forms: Forms | None,
) -> Iterator[LayerBytes]:
    fragments = side.pdus
    inner = PlacedLayers(layer for layer in carriers if layer.kind != "frame")
    for number, fragment in enumerate(fragments, 1):
        yield from _fragment_layers(name, number, len(fragments), fragment, inner, forms)
    if isinstance(stub, Missing):
        return
    fault = call.fault is not None
    key = "stub", name, call.interface.uuid, call.opnum, call.syntax, side.big_endian, fault
    fields = _kept(forms, key, stub.data, lambda: form_of(stub_fields(call, name)))
    yield layer_of(f"{name}.stub", "Stub", stub, fields)
    if side.buffer is not None and side.buffer_span is not None:
        start, _ = side.buffer_span
        kind = side.buffer_kind or "of a kind this program does not know"
        buffer = side.buffer
        kind_and_order = side.buffer_kind, buffer_order(side)
        fields = _kept(forms, kind_and_order, buffer.data, lambda: form_of(buffer_fields(side)))
        yield layer_of(f"{name}.buffer", f"lpData, {kind}", buffer, fields, parent=f"{name}.stub", at=start)


def _fragment_layers(
    name: SideName,
    number: int,
    count: int,
    fragment: Fragment,
    carriers: PlacedLayers,
    forms: Forms | None,
) -> Iterator[LayerBytes]:
    """Yields the layers of a PDU fragment: the PDU as sent, placed in the layer that carried it, and its encrypted part."""
    pdu, start, stop = fragment.pdu, fragment.stub_start, fragment.stub_stop
    data = pdu.data
    place = f" {number} of {count}" if count > 1 else ""
    id = f"{name}.pdu{number}"
    runs = runs_of(pdu)
    parent = carriers.place_of(pdu, runs)
    yield LayerBytes(
        id=id,
        kind="pdu",
        title=f"PDU{place}",
        data=data,
        runs=runs,
        steps=pdu.steps,
        parent=parent[0] if parent is not None else None,
        offset=parent[1] if parent is not None else 0,
        **fields_of(forms, ("pdu", start, stop), data, lambda: _form_of_pdu(data, start, stop)),
        stub_start=start,
        stub_stop=stop,
    )
    if isinstance(fragment.plain, Missing) or len(fragment.plain.steps) > len(pdu.steps):
        sealed = pdu[start:stop]
        undone = () if isinstance(fragment.plain, Missing) else fragment.plain.steps[len(pdu.steps) :]
        yield LayerBytes(
            id=f"{name}.sealed{number}",
            kind="sealed",
            title=f"Sealed stub{place}",
            data=sealed.data,
            runs=runs_of(sealed),
            steps=sealed.steps,
            parent=id,
            offset=start,
            undone_by=undone,
            problem=fragment.plain.value if isinstance(fragment.plain, Missing) else None,
        )


def layer_of(
    id: str, title: str, source: TracedBytes, fields: Fields, parent: str | None = None, at: int = 0
) -> LayerBytes:
    return LayerBytes(
        id=id,
        kind="buffer" if parent is not None else "stub",
        title=title,
        data=source.data,
        runs=runs_of(source),
        steps=source.steps,
        parent=parent,
        offset=at,
        **fields,
    )


def form_of(fields: FieldMap | None) -> Form | None:
    """Returns the form of a stub's or buffer's layer."""
    if fields is None:
        return None
    return Form(node_of(fields.root), fields.notes, str(fields.problem) if fields.problem is not None else None)


def _form_of_pdu(data: bytes, start: int, stop: int) -> Form | None:
    tree = pdu_tree(data, start, stop)
    return Form(tree) if tree is not None else None


def _kept(forms: Forms | None, key: tuple[object, ...], data: bytes, make: Callable[[], Form | None]) -> Fields:
    """Returns the fields of a stub's or buffer's layer. With `forms`, a long one has none: its display would hold too much."""
    if forms is None or len(data) <= MAX_TREE_BYTES:
        return fields_of(forms, key, data, make)
    return {"notes": (f"its fields are not in this page: it is longer than {MAX_TREE_BYTES} bytes",)}


def facts_beside_layers(call: Call, analysis: Analysis) -> Iterator[Fact]:
    """Yields the lines beside the layers of a call: frames, connection and security, from the frames up."""
    before, after = shared_facts(call)
    yield from frame_facts(call, analysis)
    yield from before
    yield id_fact(call)
    yield from after


def frame_facts(call: Call, analysis: Analysis) -> Iterator[Fact]:
    """Yields the lines beside the layers of a call about the frames and times of its request and response."""
    for name, side in (("request", call.request), ("response", call.response)):
        if side is not None:
            frames = ", ".join([frame_label(frame, analysis.capture) for frame in side.frames])
            yield Fact("frames", f"frames of the {name}", frames or "none")
            if side.pdus:
                yield Fact("frames", f"time of the {name}", shown_time(side.first_time_ns))


def id_fact(call: Call) -> Fact:
    return Fact("DCERPC", "call id, context", f"{call.call_id}, {call.context_id}")


def shared_facts(call: Call) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """Returns the lines beside the layers of a call before and after `id_fact`. Calls with the same `context` and `smb` (`OF_CALL`)
    share them."""
    return tuple(_connection_facts(call)), tuple(_security_facts(call))


def _connection_facts(call: Call) -> Iterator[Fact]:
    yield Fact("TCP", "client", str(call.client))
    yield Fact("TCP", "server", str(call.server))
    if (smb := call.smb) is not None:
        yield Fact("SMB", "dialect", smb.dialect or "not captured")
        yield Fact("SMB", "session", smb.session_id)
        yield Fact("SMB", "pipe", call.pipe or "of unknown name")
        yield Fact("SMB", "encrypted", "yes" if smb.encrypted else "no")
        yield Fact("SMB", "signed", _signed(smb.signed, smb.signature_ok))
        yield Fact("SMB", "compressed", "yes" if smb.compressed else "no")
    interface = call.interface
    yield Fact(
        "DCERPC", "interface", " ".join(word for word in (interface.name, interface.uuid, interface.version) if word)
    )
    yield Fact("DCERPC", "transfer syntax", call.syntax)


def _security_facts(call: Call) -> Iterator[Fact]:
    auth = call.auth
    yield Fact("DCERPC", "security", f"{auth.type}, level {auth.level}")
    if auth.user is not None:
        who = who_words(auth.user, auth.claimed_user, auth.later_user)
        yield Fact("DCERPC", "user", who + (f" on {auth.workstation}" if auth.workstation else ""))
    if auth.decryption is not None:
        yield Fact("DCERPC", "decryption", str(auth.decryption))
    if auth.decrypted_by is not None:
        yield Fact("DCERPC", "decrypted by", auth.decrypted_by)


def _signed(signed: bool, fits: bool | None) -> str:
    if not signed:
        return "no"
    return "yes" if fits is None else "yes, the signature fits" if fits else "yes, the signature does not fit"


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


# The fields that the layout of a PDU depends on.
_DECIDING = frozenset({"rpc_vers", "rpc_vers_minor", "PTYPE", "pfc_flags", "packed_drep", "frag_length", "auth_length"})


def pdu_tree(data: bytes, stub_start: int, stub_stop: int) -> Node | None:
    """Returns the tree of a PDU layer: header, stub and trailer (C706 chapter 12; [MS-RPCE] section 2.2.2). Returns None if the
    bytes begin with no PDU header."""
    try:
        header = read_header(data)
    except DecodeError:
        return None
    if (ptype := header.ptype) not in Ptype:
        return None
    children = list(_numbers(data, 0, _COMMON, header))
    at = HEADER_LEN
    body = _BODY.get(ptype, ())
    children += _numbers(data, at, body, header)
    at += sum(length for _, length in body)
    if ptype == Ptype.REQUEST and header.flags & OBJECT_UUID:
        children += raw(data, "object", at, min(at + 16, stub_start))
        at = min(at + 16, stub_start)
    at = max(at, stub_start if ptype != Ptype.FAULT else min(FAULT_LEN, stub_start))
    children += raw(data, "stub_data", at, stub_stop)
    trailer = len(data) - header.auth_length - SEC_TRAILER_LEN
    if header.auth_length and trailer >= stub_stop:
        children += raw(data, "auth_pad", stub_stop, trailer)
        children += _numbers(data, trailer, _TRAILER, header)
        children += raw(data, "auth_value", trailer + SEC_TRAILER_LEN, len(data))
    else:
        children += raw(data, "rest", stub_stop, len(data))
    return Node("pdu", "PDU", Ptype.names[ptype], 0, len(data), None, None, "C706 section 12.6", tuple(children))


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
    "PTYPE": Ptype.label,
    "pfc_flags": bits(_FLAGS),
    "auth_type": one_of(_AUTH_TYPES),
    "auth_level": level_name,
    "status": fault_name,
}
