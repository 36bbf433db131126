"""Makes the layers that carried a side of a call: its frames, the TCP payload and SMB messages in them, outermost first.

Fields of SMB messages stand beside their bytes. For SMB2 these are framing and transforms ([MS-SMB2] sections 2.1, 2.2.41, 2.2.42),
headers (2.2.1), and bodies that carry data (2.2.19 to 2.2.22, 2.2.31, 2.2.32). For SMB1 they are the headers ([MS-CIFS] section
2.2.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from ipaddress import ip_address

from msgspec.structs import replace

from analyzer.capture.frame_blocks import LinkType
from analyzer.core.byte_origins import FrameExtent
from analyzer.core.error_code_names import nt_status_name
from analyzer.core.errors import TruncatedError
from analyzer.core.frame_ids import file_of, number_of
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.calls.call import SideName
from analyzer.results.calls.pdus import Fragments, Pdus, frames_of
from analyzer.results.captured_packets import CapturedFrame, Packets, SmbMessage
from analyzer.results.records.display_records import Form, LayerBytes, Node, Run
from analyzer.screens.viewmodel.layer_fields import (
    FieldSpec,
    Forms,
    PlacedLayers,
    bits,
    fields_of,
    numbers,
    one_of,
    raw,
    runs_of,
    size_of,
    structure,
)
from analyzer.transport.packet.frame_dissector import IPV4_LEN, IPV6_LEN, TCP, TCP_LEN
from analyzer.transport.packet.link_layers import ETHERNET_LEN, IPV4, IPV6, LINKS, VLAN_TAGS
from analyzer.transport.smb.smb2_header import FLAG_ASYNC, FLAG_RESPONSE, HEADER_LEN, IOCTL, READ, WRITE
from analyzer.transport.smb.smb_framing import HEADER_LEN as FRAMING_LEN
from analyzer.transport.tcp.protocol_recognition import (
    COMPRESSION_MAGIC,
    MAGICS,
    SMB1_MAGIC,
    SMB2_MAGIC,
    TRANSFORM_MAGIC,
)

# ----------------------------------------------------------------------------------------------------------- smb fields


# By their numbers, from 0 on.
_COMMANDS = dict(
    enumerate(
        (
            *(
                "NEGOTIATE",
                "SESSION_SETUP",
                "LOGOFF",
                "TREE_CONNECT",
                "TREE_DISCONNECT",
                "CREATE",
                "CLOSE",
                "FLUSH",
                "READ",
            ),
            *("WRITE", "LOCK", "IOCTL", "CANCEL", "ECHO", "QUERY_DIRECTORY", "CHANGE_NOTIFY", "QUERY_INFO", "SET_INFO"),
            "OPLOCK_BREAK",
        )
    )
)
_SMB1_COMMANDS = {0x25: "SMB_COM_TRANSACTION", 0x26: "SMB_COM_TRANSACTION_SECONDARY", 0x2E: "SMB_COM_READ_ANDX"}
_SMB1_COMMANDS |= {0x2F: "SMB_COM_WRITE_ANDX", 0x0B: "SMB_COM_WRITE", 0x0A: "SMB_COM_READ"}
_FLAGS = {FLAG_RESPONSE: "SERVER_TO_REDIR", FLAG_ASYNC: "ASYNC_COMMAND", 4: "RELATED_OPERATIONS", 8: "SIGNED"}
_FLAGS |= {0x10000000: "DFS_OPERATIONS", 0x20000000: "REPLAY_OPERATION"}
_CIPHER_FLAGS = one_of({1: "Encrypted"})
_CHAINED = 1
_ALGORITHMS = one_of(dict(enumerate(("NONE", "LZNT1", "LZ77", "LZ77+Huffman", "Pattern_V1", "LZ4"))))
_FSCTLS = one_of({0x0011C017: "FSCTL_PIPE_TRANSCEIVE"})


def _unnamed(*fields: tuple[str, str, int]) -> tuple[FieldSpec, ...]:
    return tuple((*one, None) for one in fields)


_TRANSFORM: tuple[FieldSpec, ...] = (
    *_unnamed(("protocol_id", "ProtocolId", -4), ("signature", "Signature", -16), ("nonce", "Nonce", -16)),
    *_unnamed(("original_message_size", "OriginalMessageSize", 4), ("reserved", "Reserved", 2)),
    ("flags", "Flags", 2, _CIPHER_FLAGS),
    ("session_id", "SessionId", 8, hex),
)
_COMPRESSION: tuple[FieldSpec, ...] = (
    *_unnamed(
        ("protocol_id", "ProtocolId", -4), ("original_compressed_segment_size", "OriginalCompressedSegmentSize", 4)
    ),
    ("compression_algorithm", "CompressionAlgorithm", 2, _ALGORITHMS),
    ("flags", "Flags", 2, one_of({_CHAINED: "CHAINED"})),
    ("offset", "Offset/Length", 4, None),
)
_HEAD: tuple[FieldSpec, ...] = (
    *_unnamed(("protocol_id", "ProtocolId", -4), ("structure_size", "StructureSize", 2)),
    ("credit_charge", "CreditCharge", 2, None),
)
_REQUESTED = _unnamed(("channel_sequence", "ChannelSequence", 2), ("reserved", "Reserved", 2))
_ANSWERED: tuple[FieldSpec, ...] = (("status", "Status", 4, nt_status_name),)
_COMMAND: tuple[FieldSpec, ...] = (
    ("command", "Command", 2, one_of(_COMMANDS)),
    ("credits", "CreditRequest/CreditResponse", 2, None),
    ("flags", "Flags", 4, bits(_FLAGS)),
    *_unnamed(("next_command", "NextCommand", 4), ("message_id", "MessageId", 8)),
)
_ASYNC = _unnamed(("async_id", "AsyncId", 8))
_SYNC = _unnamed(("reserved2", "Reserved", 4), ("tree_id", "TreeId", 4))
_TAIL: tuple[FieldSpec, ...] = (("session_id", "SessionId", 8, hex), ("signature", "Signature", -16, None))

_CONTROL: FieldSpec = ("ctl_code", "CtlCode", 4, _FSCTLS)
_FILE_ID: FieldSpec = ("file_id", "FileId", -16, None)
_READ_ANSWER = _unnamed(
    ("structure_size", "StructureSize", 2),
    ("data_offset", "DataOffset", 1),
    ("reserved", "Reserved", 1),
    ("data_length", "DataLength", 4),
    ("data_remaining", "DataRemaining", 4),
    ("reserved2", "Reserved2", 4),
)
_WRITE_REQUEST: tuple[FieldSpec, ...] = (
    *_unnamed(("structure_size", "StructureSize", 2), ("data_offset", "DataOffset", 2), ("length", "Length", 4)),
    ("offset", "Offset", 8, None),
    _FILE_ID,
    *_unnamed(("channel", "Channel", 4), ("remaining_bytes", "RemainingBytes", 4)),
    *_unnamed(
        ("write_channel_info_offset", "WriteChannelInfoOffset", 2),
        ("write_channel_info_length", "WriteChannelInfoLength", 2),
        ("flags", "Flags", 4),
    ),
)
_IOCTL_HEAD: tuple[FieldSpec, ...] = (
    *_unnamed(("structure_size", "StructureSize", 2), ("reserved", "Reserved", 2)),
    _CONTROL,
    _FILE_ID,
    *_unnamed(("input_offset", "InputOffset", 4), ("input_count", "InputCount", 4)),
)
_IOCTL_REQUEST: tuple[FieldSpec, ...] = (
    *_IOCTL_HEAD,
    *_unnamed(("max_input_response", "MaxInputResponse", 4), ("output_offset", "OutputOffset", 4)),
    *_unnamed(("output_count", "OutputCount", 4), ("max_output_response", "MaxOutputResponse", 4)),
    *_unnamed(("flags", "Flags", 4), ("reserved2", "Reserved2", 4)),
)
_IOCTL_ANSWER: tuple[FieldSpec, ...] = (
    *_IOCTL_HEAD,
    *_unnamed(("output_offset", "OutputOffset", 4), ("output_count", "OutputCount", 4)),
    *_unnamed(("flags", "Flags", 4), ("reserved2", "Reserved2", 4)),
)
# By command and whether it is a response: the fixed fields, and the section that describes them.
_BODIES: dict[tuple[int, bool], tuple[tuple[FieldSpec, ...], str]] = {
    (READ, True): (_READ_ANSWER, "[MS-SMB2] section 2.2.20"),
    (WRITE, False): (_WRITE_REQUEST, "[MS-SMB2] section 2.2.21"),
    (IOCTL, False): (_IOCTL_REQUEST, "[MS-SMB2] section 2.2.31"),
    (IOCTL, True): (_IOCTL_ANSWER, "[MS-SMB2] section 2.2.32"),
}
_SMB1: tuple[FieldSpec, ...] = (
    ("protocol", "Protocol", -4, None),
    ("command", "Command", 1, one_of(_SMB1_COMMANDS)),
    ("status", "Status", 4, nt_status_name),
    ("flags", "Flags", 1, bits({0x80: "SMB_FLAGS_REPLY"})),
    *_unnamed(("flags2", "Flags2", 2), ("pid_high", "PIDHigh", 2), ("security_features", "SecurityFeatures", -8)),
    *_unnamed(("reserved", "Reserved", 2), ("tid", "TID", 2), ("pid_low", "PIDLow", 2), ("uid", "UID", 2)),
    ("mid", "MID", 2, None),
)


# The fields that the layout of a message depends on, besides its first four bytes.
_DECIDING_IN_SMB = frozenset({"protocol_id", "compression_algorithm", "flags", "offset", "structure_size"}) | {
    "command",
    "next_command",
    "word_count",
}


def sent_tree(data: bytes, *, is_framed: bool) -> Node:
    """Returns the fields of an SMB message as TCP carried it: framing header if it has one, encryption or compression header,
    rest."""
    children: list[Node] = []
    at = 0
    if is_framed:
        framing: tuple[FieldSpec, ...] = _unnamed(("type", "Type", 1), ("length", "StreamProtocolLength", 3))
        fields = tuple(numbers(data, 0, framing, "big"))
        children.append(structure("framing", "Direct TCP header", 0, FRAMING_LEN, "[MS-SMB2] section 2.1", fields))
        at = FRAMING_LEN
    magic, name = data[at : at + 4], "smb_message"
    for wanted, header_fields, what, section in (
        (TRANSFORM_MAGIC, _TRANSFORM, "TRANSFORM_HEADER", "[MS-SMB2] section 2.2.41"),
        (COMPRESSION_MAGIC, _COMPRESSION, "COMPRESSION_TRANSFORM_HEADER", "[MS-SMB2] section 2.2.42"),
    ):
        if magic == wanted and len(data) >= (stop := at + size_of(header_fields)):
            fields = tuple(numbers(data, at, header_fields, "little", _DECIDING_IN_SMB))
            children.append(structure(what.lower(), f"SMB2 {what}", at, stop, section, fields))
            at, name = stop, "encrypted" if wanted == TRANSFORM_MAGIC else "compressed"
            if wanted == COMPRESSION_MAGIC and not data[stop - 6] & _CHAINED:
                # Offset counts the uncompressed bytes before the compressed ones.
                plain = min(stop + int.from_bytes(data[stop - 4 : stop], "little"), len(data))
                children += raw(data, "uncompressed", stop, plain)
                at = plain
    children += raw(data, name, at, len(data))
    return structure("tcp_payload", "TCP payload", 0, len(data), "RFC 9293", children)


def message_tree(data: bytes) -> Node:
    """Returns the fields of a readable SMB message: header and body of each message of a compound ([MS-SMB2] section 3.2.4.1.4)."""
    if data[:4] == SMB2_MAGIC:
        children = list(_compound(data))
    elif data[:4] == SMB1_MAGIC:
        children = list(_smb1(data))
    else:
        children = list(raw(data, "data", 0, len(data)))
    return structure("smb", "SMB message", 0, len(data), "", children)


def _compound(data: bytes) -> Iterator[Node]:
    at = 0
    while data[at : at + 4] == SMB2_MAGIC and len(data) >= at + HEADER_LEN:
        following = int.from_bytes(data[at + 20 : at + 24], "little")
        stop = min(at + following, len(data)) if following >= HEADER_LEN else len(data)
        yield from _smb2(data, at, stop)
        at = stop
    yield from raw(data, "data", at, len(data), decides=True)


def _smb2(data: bytes, at: int, stop: int) -> Iterator[Node]:
    command, flags = (
        int.from_bytes(data[at + 12 : at + 14], "little"),
        int.from_bytes(data[at + 16 : at + 20], "little"),
    )
    is_answer = bool(flags & FLAG_RESPONSE)
    header = (
        *_HEAD,
        *(_ANSWERED if is_answer else _REQUESTED),
        *_COMMAND,
        *(_ASYNC if flags & FLAG_ASYNC else _SYNC),
        *_TAIL,
    )
    body = at + HEADER_LEN
    fields = tuple(numbers(data, at, header, "little", _DECIDING_IN_SMB))
    yield structure("smb2_header", "SMB2 header", at, body, "[MS-SMB2] section 2.2.1", fields)
    fixed, section = _BODIES.get((command, is_answer), ((), ""))
    end = body + size_of(fixed)
    # A response that failed has the fields of an ERROR response instead ([MS-SMB2] section 2.2.2).
    size = int.from_bytes(data[body : body + 2], "little")
    if not fixed or end > stop or size & ~1 != size_of(fixed):
        yield from raw(data, "body", body, stop, decides=True)
        return
    name = f"SMB2 {_COMMANDS[command]} {'response' if is_answer else 'request'}"
    yield structure(
        "smb2_body", name, body, end, section, tuple(numbers(data, body, fixed, "little", _DECIDING_IN_SMB))
    )
    yield from raw(data, "buffer", end, stop)


def _smb1(data: bytes) -> Iterator[Node]:
    size = size_of(_SMB1)
    header = tuple(numbers(data, 0, _SMB1, "little", _DECIDING_IN_SMB))
    if len(data) <= size:
        yield from raw(data, "data", 0, len(data))
        return
    yield structure("smb_header", "SMB_Header", 0, size, "[MS-CIFS] section 2.2.3.1", header)
    words = min(size + 1 + 2 * data[size], len(data))
    fields = (
        *numbers(data, size, _unnamed(("word_count", "WordCount", 1)), "little", _DECIDING_IN_SMB),
        *raw(data, "words", size + 1, words),
    )
    yield structure("smb_parameters", "SMB_Parameters", size, words, "[MS-CIFS] section 2.2.3.2", fields)
    count = tuple(numbers(data, words, _unnamed(("byte_count", "ByteCount", 2)), "little"))
    begin = words + 2 if count else words
    yield structure(
        "smb_data",
        "SMB_Data",
        words,
        len(data),
        "[MS-CIFS] section 2.2.3.3",
        (*count, *raw(data, "bytes", begin, len(data))),
    )


# ------------------------------------------------------------------------------------------------------- carrier layers


def carrier_layers(
    name: SideName, pdus: Fragments, packets: Packets, forms: Forms | None, *, has_smb: bool
) -> tuple[list[LayerBytes], str | None]:
    """Returns the layers of a call below its PDUs (frames, TCP, SMB), and the reason if there are none. `forms` as for
    `side_view`."""
    frames = frames_of(pdus)
    messages = list(packets.messages(_extents_of(pdus))) if has_smb else []
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


def _extents_of(pdus: Fragments) -> Iterator[FrameExtent]:
    """Yields the frame extents that carried these PDUs, to find their layers."""
    for one in (pdus.whole,) if isinstance(pdus, Pdus) else [each.pdu for each in pdus]:
        yield from one.extents()


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
    placed = PlacedLayers()
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
        placed.add(sent[-1])
        runs = runs_of(message.message)
        parent = placed.place_of(message.message, runs)
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
    """Returns the fields in the layer of a frame that carried a call, as a tree: link layer, VLAN tags (IEEE 802.1Q), IPv4 (RFC
    791), IPv6 (RFC 8200), TCP (RFC 9293).

    Tunnels, fragments and extension headers are not taken apart: they are `data`.
    """
    return structure(
        "frame", "Frame", 0, len(frame.data), LinkType.label(frame.link_type), tuple(_fields(frame.data, frame))
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
    """Returns the IPv4 header of a frame that carried a call, whether a TCP header follows, and the total length that it states; 0
    if it states none."""
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
    """Yields an address in a frame's layer as a field: 6 bytes are a network card's, others a host's."""
    for node in raw(data, name, at, at + size, _card if size == 6 else _host):
        yield replace(node, spelling=name.replace("_", " ").title())


def _card(raw: bytes) -> str:
    return raw.hex(":")


def _host(raw: bytes) -> str:
    return str(ip_address(raw))
