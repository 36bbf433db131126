"""A captured frame as fields beside its bytes: link layer, VLAN tags (IEEE 802.1Q), IPv4 (RFC 791), IPv6 (RFC 8200), TCP
(RFC 9293)."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from msgspec.structs import replace

from analyzer.capture.linktypes import LinkType
from analyzer.core.errors import TruncatedError
from analyzer.core.labels import label
from analyzer.results.packets import CapturedFrame
from analyzer.results.view import Node
from analyzer.screens.viewmodel.nodes import FieldSpec, bits, numbers, one_of, raw, structure
from analyzer.transport.packet.links import ETHERNET_LEN, IPV4, IPV6, LINKS, VLAN_TAGS
from analyzer.transport.packet.plain import IPV4_LEN, IPV6_LEN, TCP, TCP_LEN

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


# What the layout of a frame depends on.
_DECIDING = frozenset({"ether_type", "version_ihl", "total_length", "flags_fragment_offset", "protocol"}) | {
    "payload_length",
    "next_header",
    "data_offset",
}


def frame_tree(frame: CapturedFrame) -> Node:
    """The fields of a frame. What this does not take apart (tunnels, fragments, extension headers) is `data`."""
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
    # Where segmentation was left to the network card, the length is 0; short Ethernet frames are filled up.
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
    """The header, whether a TCP header follows, and the length of both and what follows; 0 where it is not given."""
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
    """An address: of 6 bytes that of a network card, else that of a host."""
    for node in raw(data, name, at, at + size, _card if size == 6 else _host):
        yield replace(node, spelling=name.replace("_", " ").title())


def _card(raw: bytes) -> str:
    return raw.hex(":")


def _host(raw: bytes) -> str:
    return str(ip_address(raw))
