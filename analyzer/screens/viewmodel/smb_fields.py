"""Makes trees of the fields of SMB messages beside their bytes.

For SMB2 these are framing and transforms ([MS-SMB2] sections 2.1, 2.2.41, 2.2.42), headers (2.2.1), and bodies that carry data
(2.2.19 to 2.2.22, 2.2.31, 2.2.32). For SMB1 they are the headers ([MS-CIFS] section 2.2.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.core.ntstatus import nt_status_name
from analyzer.results.records.display_records import Node
from analyzer.screens.viewmodel.header_fields import FieldSpec, bits, numbers, one_of, raw, size_of, structure
from analyzer.transport.smb.smb2_header import FLAG_ASYNC, FLAG_RESPONSE, HEADER_LEN, IOCTL, READ, WRITE
from analyzer.transport.smb.smb_framing import HEADER_LEN as FRAMING_LEN
from analyzer.transport.tcp.protocol_recognition import COMPRESSION_MAGIC, SMB1_MAGIC, SMB2_MAGIC, TRANSFORM_MAGIC

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
_DECIDING = frozenset({"protocol_id", "compression_algorithm", "flags", "offset", "structure_size"}) | {
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
    for wanted, fields_of, what, section in (
        (TRANSFORM_MAGIC, _TRANSFORM, "TRANSFORM_HEADER", "[MS-SMB2] section 2.2.41"),
        (COMPRESSION_MAGIC, _COMPRESSION, "COMPRESSION_TRANSFORM_HEADER", "[MS-SMB2] section 2.2.42"),
    ):
        if magic == wanted and len(data) >= (stop := at + size_of(fields_of)):
            fields = tuple(numbers(data, at, fields_of, "little", _DECIDING))
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
    fields = tuple(numbers(data, at, header, "little", _DECIDING))
    yield structure("smb2_header", "SMB2 header", at, body, "[MS-SMB2] section 2.2.1", fields)
    fixed, section = _BODIES.get((command, is_answer), ((), ""))
    end = body + size_of(fixed)
    # A response that failed has the fields of an ERROR response instead ([MS-SMB2] section 2.2.2).
    size = int.from_bytes(data[body : body + 2], "little")
    if not fixed or end > stop or size & ~1 != size_of(fixed):
        yield from raw(data, "body", body, stop, decides=True)
        return
    name = f"SMB2 {_COMMANDS[command]} {'response' if is_answer else 'request'}"
    yield structure("smb2_body", name, body, end, section, tuple(numbers(data, body, fixed, "little", _DECIDING)))
    yield from raw(data, "buffer", end, stop)


def _smb1(data: bytes) -> Iterator[Node]:
    size = size_of(_SMB1)
    header = tuple(numbers(data, 0, _SMB1, "little", _DECIDING))
    if len(data) <= size:
        yield from raw(data, "data", 0, len(data))
        return
    yield structure("smb_header", "SMB_Header", 0, size, "[MS-CIFS] section 2.2.3.1", header)
    words = min(size + 1 + 2 * data[size], len(data))
    fields = (
        *numbers(data, size, _unnamed(("word_count", "WordCount", 1)), "little", _DECIDING),
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
