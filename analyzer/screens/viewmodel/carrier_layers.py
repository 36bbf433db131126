"""Makes the layers that carried a side of a call: its frames, the TCP payload and SMB messages in them, outermost first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from ipaddress import ip_address

from msgspec.structs import replace

from analyzer.capture.linktypes import LinkType
from analyzer.core.errors import TruncatedError
from analyzer.core.frame_ids import file_of, number_of
from analyzer.core.names_of_numbers import label
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.calls.call import SideName
from analyzer.results.calls.pdus import Fragments, Pdus, frames_of
from analyzer.results.captured_packets import CapturedFrame, Packets, SmbMessage
from analyzer.results.records.display_records import Form, LayerBytes, Node, Run
from analyzer.screens.viewmodel.byte_runs import place_of, runs_of
from analyzer.screens.viewmodel.header_fields import FieldSpec, bits, numbers, one_of, raw, structure
from analyzer.screens.viewmodel.smb_fields import message_tree, sent_tree
from analyzer.screens.viewmodel.tree_forms import Forms, fields_of
from analyzer.transport.packet.frame_dissector import IPV4_LEN, IPV6_LEN, TCP, TCP_LEN
from analyzer.transport.packet.link_layers import ETHERNET_LEN, IPV4, IPV6, LINKS, VLAN_TAGS
from analyzer.transport.tcp.protocol_recognition import MAGICS


def carrier_layers(
    name: SideName, pdus: Fragments, packets: Packets, forms: Forms | None, *, has_smb: bool
) -> tuple[list[LayerBytes], str | None]:
    """Returns the layers of a call below its PDUs (frames, TCP, SMB), and the reason if there are none. `forms` as for
    `side_view`."""
    frames = frames_of(pdus)
    messages = messages_of(packets, frames, pdus) if has_smb else []
    wanted = sorted({*frames, *(frame for one in messages for frame in one.sent.frames)})
    found = [frame for frame in map(packets.frame, wanted) if frame is not None]
    if len(found) < len(wanted):
        return [], packets.lacking
    layers = [_frame_layer(name, number, frame, forms) for number, frame in enumerate(found, 1)]
    if has_smb:
        layers += _smb_layers(name, messages, forms)
    elif pdus:
        layers.append(_stream_layer(name, pdus, forms))
    return layers, None


def messages_of(packets: Packets, frames: Iterable[int], pdus: Fragments) -> list[SmbMessage]:
    """Returns the SMB messages that carried bytes of these PDUs."""
    carried: dict[int, list[tuple[int, int]]] = {}
    for one in (pdus.whole,) if isinstance(pdus, Pdus) else [each.pdu for each in pdus]:
        for extent in one.extents():
            carried.setdefault(extent.frame, []).append((extent.start, extent.start + extent.length))
    return [
        message
        for message in packets.messages(frames)
        if any(
            extent.start < stop and start < extent.start + extent.length
            for extent in message.message.extents()
            for start, stop in carried.get(extent.frame, ())
        )
    ]


def _frame_layer(name: SideName, number: int, frame: CapturedFrame, forms: Forms | None) -> LayerBytes:
    length = len(frame.data)
    cut = frame.original_length > length
    fields = fields_of(forms, ("frame", frame.link_type), frame.data, lambda: Form(frame_tree(frame)))
    if cut:
        fields["problem"] = f"{length} of {frame.original_length} bytes were captured"
    return LayerBytes(
        id=f"{name}.frame{number}",
        kind="frame",
        title=f"Frame {number_of(frame.frame)}",
        data=frame.data,
        runs=(Run(0, length, number_of(frame.frame), file_of(frame.frame), 0, length),),
        steps=(),
        **fields,
    )


def _smb_layers(name: SideName, messages: Sequence[SmbMessage], forms: Forms | None) -> Iterator[LayerBytes]:
    """Yields the SMB layers of a call: all messages as TCP carried them, then all as they were read (decrypted, decompressed)."""
    sent: list[LayerBytes] = []
    read: list[LayerBytes] = []
    for number, message in enumerate(messages, 1):
        place = f" {number} of {len(messages)}" if len(messages) > 1 else ""
        carried, data = message.sent.data, message.message.data
        is_framed = carried[:4] not in MAGICS
        key = "sent", is_framed, carried[4:8] if is_framed else carried[:4]
        fields = fields_of(forms, key, carried, partial(_sent_form, carried, is_framed=is_framed))
        if message.reason:
            fields["problem"] = f"bytes are missing: {message.reason}"
        sent.append(
            LayerBytes(
                id=f"{name}.tcp{number}",
                kind="tcp",
                title=f"TCP payload{place}",
                data=carried,
                runs=runs_of(message.sent),
                steps=message.sent.steps,
                **fields,
            )
        )
        runs = runs_of(message.message)
        parent = place_of(message.message, runs, sent)
        read.append(
            LayerBytes(
                id=f"{name}.smb{number}",
                kind="smb",
                title=f"SMB message{place}",
                data=data,
                runs=runs,
                steps=message.message.steps,
                parent=parent[0] if parent is not None else None,
                offset=parent[1] if parent is not None else 0,
                **fields_of(forms, ("message", data[:4]), data, partial(_message_form, data)),
            )
        )
    yield from sent
    yield from read


def _sent_form(data: bytes, *, is_framed: bool) -> Form:
    return Form(sent_tree(data, is_framed=is_framed))


def _message_form(data: bytes) -> Form:
    return Form(message_tree(data))


def _stream_layer(name: SideName, pdus: Fragments, forms: Forms | None) -> LayerBytes:
    """Makes the layer of PDUs that TCP carries without SMB, one after the other ([C706] chapter 12)."""
    whole = TracedBytes.join([one.pdu for one in pdus])
    data = whole.data
    children: list[Node] = []
    at = 0
    for one in pdus:
        children += raw(data, "pdu", at, at + len(one.pdu))
        at += len(one.pdu)
    tree = structure("tcp_payload", "TCP payload", 0, len(data), "RFC 9293", children)
    return LayerBytes(
        id=f"{name}.tcp1",
        kind="tcp",
        title="TCP payload",
        data=data,
        runs=runs_of(whole),
        steps=whole.steps,
        **fields_of(forms, ("stream", *(node.length for node in children)), data, lambda: Form(tree)),
    )


_ETHERTYPES = one_of({IPV4: "IPv4", IPV6: "IPv6", 0x8100: "802.1Q", 0x88A8: "802.1ad"})
_PROTOCOLS = one_of({4: "IPv4", TCP: "TCP", 17: "UDP", 41: "IPv6", 44: "Fragment", 47: "GRE", 51: "AH"})
_FRAGMENT_BITS = 0x3FFF

_VLAN: tuple[FieldSpec, ...] = (("tci", "TCI", 2, None), ("ether_type", "EtherType", 2, _ETHERTYPES))
_IPV4: tuple[FieldSpec, ...] = (
    ("version_ihl", "Version, IHL", 1, lambda value: f"version {value >> 4}, header of {(value & 15) * 4} bytes"),
    ("dscp_ecn", "DSCP, ECN", 1, None),
    ("total_length", "Total Length", 2, None),
    ("identification", "Identification", 2, None),
    ("flags_fragment_offset", "Flags, Fragment Offset", 2, bits({0x4000: "DF", 0x2000: "MF"})),
    ("ttl", "Time to Live", 1, None),
    ("protocol", "Protocol", 1, _PROTOCOLS),
    ("header_checksum", "Header Checksum", 2, None),
)
_IPV6: tuple[FieldSpec, ...] = (
    ("version_class_label", "Version, Traffic Class, Flow Label", 4, lambda value: f"version {value >> 28}"),
    ("payload_length", "Payload Length", 2, None),
    ("next_header", "Next Header", 1, _PROTOCOLS),
    ("hop_limit", "Hop Limit", 1, None),
)
_TCP: tuple[FieldSpec, ...] = (
    ("source_port", "Source Port", 2, None),
    ("destination_port", "Destination Port", 2, None),
    ("sequence_number", "Sequence Number", 4, None),
    ("acknowledgment_number", "Acknowledgment Number", 4, None),
    ("data_offset", "Data Offset", 1, lambda value: f"header of {(value >> 4) * 4} bytes"),
    (
        "control_bits",
        "Control bits",
        1,
        bits({1: "FIN", 2: "SYN", 4: "RST", 8: "PSH", 16: "ACK", 32: "URG", 64: "ECE", 128: "CWR"}),
    ),
    ("window", "Window", 2, None),
    ("checksum", "Checksum", 2, None),
    ("urgent_pointer", "Urgent Pointer", 2, None),
)


# The fields that the layout of a frame depends on.
_DECIDING = frozenset({"ether_type", "version_ihl", "total_length", "flags_fragment_offset", "protocol"}) | {
    "payload_length",
    "next_header",
    "data_offset",
}


def frame_tree(frame: CapturedFrame) -> Node:
    """Returns the fields of a frame as a tree: link layer, VLAN tags (IEEE 802.1Q), IPv4 (RFC 791), IPv6 (RFC 8200), TCP (RFC
    9293).

    Tunnels, fragments and extension headers are not taken apart: they are `data`.
    """
    return structure(
        "frame", "Frame", 0, len(frame.data), label(LinkType, frame.link_type), tuple(_fields(frame.data, frame))
    )


def _fields(data: bytes, frame: CapturedFrame) -> Iterator[Node]:
    try:
        ethertype, at = LINKS[frame.link_type](data, 0)
    except (KeyError, TruncatedError):
        yield from raw(data, "data", 0, len(data), decides=True)
        return
    yield from _link(data, frame.link_type, at)
    while ethertype in VLAN_TAGS and at + 4 <= len(data):
        yield structure(
            "vlan", "VLAN tag", at, at + 4, "IEEE 802.1Q", tuple(numbers(data, at, _VLAN, "big", _DECIDING))
        )
        ethertype, at = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
    stop = len(data)
    if ethertype == IPV4 and len(data) >= at + IPV4_LEN:
        node, is_tcp, length = _ipv4(data, at)
    elif ethertype == IPV6 and len(data) >= at + IPV6_LEN:
        node, is_tcp, length = _ipv6(data, at)
    else:
        yield from raw(data, "data", at, stop, decides=True)
        return
    yield node
    # The length is 0 if the network card does the segmentation; short Ethernet frames are padded.
    stop = min(at + length, stop) if length else stop
    at = node.stop
    if is_tcp and at + TCP_LEN <= stop:
        begin = min(max(at + (data[at + 12] >> 4) * 4, at + TCP_LEN), stop)
        children = (*numbers(data, at, _TCP, "big", _DECIDING), *raw(data, "options", at + TCP_LEN, begin))
        yield structure("tcp", "TCP header", at, begin, "RFC 9293 section 3.1", children)
        at = begin
    yield from raw(data, "data", at, stop)
    yield from raw(data, "trailer", stop, len(data))


def _link(data: bytes, link_type: int, stop: int) -> Iterator[Node]:
    if link_type == LinkType.ETHERNET and stop == ETHERNET_LEN:
        addresses = (*_address(data, "destination", 0, 6), *_address(data, "source", 6, 6))
        kind = numbers(data, 12, (("ether_type", "EtherType", 2, _ETHERTYPES),), "big", _DECIDING)
        yield structure("ethernet", "Ethernet header", 0, stop, "IEEE 802.3", (*addresses, *kind))
    else:
        yield from raw(data, "link_header", 0, stop, decides=True)


def _ipv4(data: bytes, at: int) -> tuple[Node, bool, int]:
    """Returns the fields of an IPv4 header, whether a TCP header follows, and the total length that it states; 0 if it states
    none."""
    stop = min(at + max((data[at] & 15) * 4, IPV4_LEN), len(data))
    addresses = _addresses(data, at + 12, 4)
    children = (*numbers(data, at, _IPV4, "big", _DECIDING), *addresses, *raw(data, "options", at + IPV4_LEN, stop))
    is_fragment = int.from_bytes(data[at + 6 : at + 8], "big") & _FRAGMENT_BITS
    node = structure("ipv4", "IPv4 header", at, stop, "RFC 791 section 3.1", children)
    return node, data[at + 9] == TCP and not is_fragment, int.from_bytes(data[at + 2 : at + 4], "big")


def _ipv6(data: bytes, at: int) -> tuple[Node, bool, int]:
    stop = at + IPV6_LEN
    children = (*numbers(data, at, _IPV6, "big", _DECIDING), *_addresses(data, at + 8, 16))
    length = int.from_bytes(data[at + 4 : at + 6], "big")
    node = structure("ipv6", "IPv6 header", at, stop, "RFC 8200 section 3", children)
    return node, data[at + 6] == TCP, IPV6_LEN + length if length else 0


def _addresses(data: bytes, at: int, size: int) -> Iterator[Node]:
    yield from _address(data, "source_address", at, size)
    yield from _address(data, "destination_address", at + size, size)


def _address(data: bytes, name: str, at: int, size: int) -> Iterator[Node]:
    """Yields an address in a frame as a field: 6 bytes are a network card's, others a host's."""
    for node in raw(data, name, at, at + size, _card if size == 6 else _host):
        yield replace(node, spelling=name.replace("_", " ").title())


def _card(raw: bytes) -> str:
    return raw.hex(":")


def _host(raw: bytes) -> str:
    return str(ip_address(raw))
