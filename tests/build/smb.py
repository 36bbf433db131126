"""Builds SMB traffic for tests: SMB1 and SMB2 messages byte by byte, conversations with keys, and TCP events that carry them."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import cmac, hashes, hmac
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.kdf.kbkdf import KBKDFHMAC, CounterLocation, Mode

from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.tcp.stream_events import Connection, Direction, Gap, StreamBatch, StreamClosed

CLIENT = Endpoint("10.0.0.2", 49152)
SERVER = Endpoint("10.0.0.1", 445)
SESSION_ID = 0x0000_1000_0000_0019
SESSION_KEY = bytes(range(16))
FILE_ID = bytes(range(0x40, 0x50))
NEGOTIATE, SETUP, LOGOFF, TREE, TREE_DISCONNECT, CREATE, CLOSE, READ, WRITE, IOCTL, CANCEL = (*range(7), 8, 9, 11, 12)
TRANSCEIVE = 0x0011C017
PENDING, OVERFLOW, MORE_PROCESSING = 0x103, 0x80000005, 0xC0000016
CCM_128, GCM_128, CCM_256, GCM_256 = 1, 2, 3, 4


def framed(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


def netbios_name(name: str) -> bytes:
    """RFC 1001 section 14.1: each half of a byte is a letter from A on; the sixteenth byte is a suffix."""
    raw = name.encode().ljust(15) + b"\x20"
    return b"\x20" + bytes(0x41 + half for byte in raw for half in (byte >> 4, byte & 15)) + b"\0"


def noisy(
    sent: Sequence[tuple[Direction, bytes]], index: int, at: int, noise: bytes, *, insert: bool
) -> list[tuple[Direction, bytes]]:
    """What was sent, with noise in one of the messages: behind `at` bytes of it, or in the place of what follows these."""
    made = list(sent)
    direction, message = made[index]
    at %= len(message)
    made[index] = direction, message[:at] + noise + message[at if insert else at + len(noise) :]
    return made


def pdu(ptype: int = 0, call_id: int = 1, body: bytes = b"stubstub") -> bytes:
    return struct.pack("<BBBB4sHHI", 5, 0, ptype, 3, b"\x10\0\0\0", 16 + len(body), 0, call_id) + body


def smb2(
    command: int,
    body: bytes,
    message_id: int,
    *,
    response: bool = False,
    status: int = 0,
    flags: int = 0,
    tree: int = 1,
    session: int = SESSION_ID,
    next_command: int = 0,
    async_id: int | None = None,
) -> bytes:
    """One SMB2 message, [MS-SMB2] 2.2.1."""
    flags |= (1 if response else 0) | (2 if async_id is not None else 0)
    middle = struct.pack("<Q", async_id) if async_id is not None else struct.pack("<II", 0xFEFF, tree)
    fixed = struct.pack("<4sHHIHHIIQ", b"\xfeSMB", 64, 1, status, command, 1, flags, next_command, message_id)
    return fixed + middle + struct.pack("<Q16s", session, b"") + body


def contexts(*items: tuple[int, bytes]) -> bytes:
    out = b""
    for kind, data in items:
        out += bytes(-len(out) % 8) + struct.pack("<HHI", kind, len(data), 0) + data
    return out


PREAUTH = (1, struct.pack("<HHH", 1, 4, 1) + b"salt")


def negotiate_request(dialects: Sequence[int] = (0x0202, 0x0311)) -> bytes:
    listed = b"".join(struct.pack("<H", dialect) for dialect in dialects)
    start = 64 + 36 + len(listed)
    pad = -start % 8
    body = struct.pack("<HHHHI16sIHH", 36, len(dialects), 1, 0, 0x7F, bytes(range(16)), start + pad, 2, 0) + listed
    return body + bytes(pad) + contexts(PREAUTH, (2, struct.pack("<HHH", 2, 2, 1)))


def negotiate_response(dialect: int = 0x0311, cipher: int | None = None, signing: int | None = None) -> bytes:
    items = [PREAUTH]
    if cipher is not None:
        items.append((2, struct.pack("<HH", 1, cipher)))
    if signing is not None:
        items.append((8, struct.pack("<HH", 1, signing)))
    capabilities = 0x7F if cipher is not None else 0x07
    count, start = (len(items), 128) if dialect == 0x0311 else (0, 0)
    fixed = struct.pack("<HHHH16sI", 65, 1, dialect, count, bytes(range(16, 32)), capabilities)
    body = fixed + struct.pack("<IIIQQHHI", 1 << 20, 1 << 20, 1 << 20, 0, 0, 128, 0, start)
    return body + (contexts(*items) if dialect == 0x0311 else b"")


def setup_request(token: bytes = b"", *, binding: bool = False) -> bytes:
    return struct.pack("<HBBIIHHQ", 25, binding, 1, 0, 0, 88, len(token), 0) + token


def setup_response(token: bytes = b"") -> bytes:
    return struct.pack("<HHHH", 9, 0, 72, len(token)) + token


def tree_request(path: str) -> bytes:
    raw = path.encode("utf-16-le")
    return struct.pack("<HHHH", 9, 0, 72, len(raw)) + raw


def tree_response(share_type: int = 2) -> bytes:
    return struct.pack("<HBBIII", 16, share_type, 0, 0, 0, 0x1F01FF)


def create_contexts(*items: tuple[bytes, bytes]) -> bytes:
    """A list of SMB2_CREATE_CONTEXT, [MS-SMB2] 2.2.13.2."""
    out = b""
    for number, (name, data) in enumerate(items, 1):
        body = struct.pack("<HHHHI", 16, len(name), 0, 24, len(data)) + name.ljust(8, b"\0") + data
        body += bytes(-(len(body) + 4) % 8)
        out += struct.pack("<I", len(body) + 4 if number < len(items) else 0) + body
    return out


def create_request(name: str, *asked: tuple[bytes, bytes]) -> bytes:
    raw = name.encode("utf-16-le", "surrogatepass")
    listed = create_contexts(*asked)
    at = 120 + len(raw) + -len(raw) % 8 if listed else 0
    fixed = struct.pack("<HBBIQQIIIIIHHII", 57, 0, 0, 2, 0, 0, 3, 0, 3, 1, 0, 120, len(raw), at, len(listed))
    return fixed + (raw or b"\0") + (bytes(-len(raw) % 8) + listed if listed else b"")


def create_response(file_id: bytes = FILE_ID, *granted: tuple[bytes, bytes]) -> bytes:
    listed = create_contexts(*granted)
    fixed = struct.pack("<HBBI32xQQII16s", 89, 0, 0, 1, 0, 0, 0x80, 0, file_id)
    return fixed + struct.pack("<II", 152 if listed else 0, len(listed)) + (listed or b"\0")


def close_request(file_id: bytes = FILE_ID) -> bytes:
    return struct.pack("<HHI16s", 24, 0, 0, file_id)


def read_request(file_id: bytes = FILE_ID, length: int = 4096) -> bytes:
    return struct.pack("<HBBIQ16sIIIHH", 49, 0, 0, length, 0, file_id, 0, 0, 0, 0, 0) + b"\0"


def read_response(data: bytes) -> bytes:
    return struct.pack("<HBBIII", 17, 80, 0, len(data), 0, 0) + data


def write_request(data: bytes, file_id: bytes = FILE_ID) -> bytes:
    return struct.pack("<HHIQ16sIIHHI", 49, 112, len(data), 0, file_id, 0, 0, 0, 0, 0) + data


def write_response(length: int) -> bytes:
    return struct.pack("<HHIIHH", 17, 0, length, 0, 0, 0)


def ioctl_request(data: bytes, file_id: bytes = FILE_ID, code: int = TRANSCEIVE) -> bytes:
    return struct.pack("<HHI16sIIIIIIII", 57, 0, code, file_id, 120, len(data), 0, 0, 0, 4096, 1, 0) + data


def ioctl_response(data: bytes, file_id: bytes = FILE_ID, code: int = TRANSCEIVE) -> bytes:
    return struct.pack("<HHI16sIIIIII", 49, 0, code, file_id, 112, 0, 112, len(data), 0, 0) + data


def compound(*messages: bytes) -> bytes:
    """Messages with their NextCommand filled in, each padded to 8 bytes."""
    out = b""
    for index, message in enumerate(messages):
        if index < len(messages) - 1:
            message += bytes(-len(message) % 8)
            message = message[:20] + struct.pack("<I", len(message)) + message[24:]
        out += message
    return out


@dataclass(frozen=True)
class Keys:
    """What both ends of a session derive, [MS-SMB2] 3.1.4.2."""

    signing: bytes
    client_to_server: bytes
    server_to_client: bytes


def kdf(key: bytes, label: bytes, context: bytes, length: int = 16) -> bytes:
    return KBKDFHMAC(
        algorithm=hashes.SHA256(),
        mode=Mode.CounterMode,
        length=length,
        rlen=4,
        llen=4,
        location=CounterLocation.BeforeFixed,
        label=label,
        context=context,
        fixed=None,
    ).derive(key)


def keys_of(dialect: int, session_key: bytes, preauth: bytes, cipher: int | None) -> Keys:
    length = 32 if cipher in (CCM_256, GCM_256) else 16
    secret = session_key if length == 32 else session_key[:16]
    if dialect < 0x0300:
        return Keys(session_key[:16], b"", b"")
    if dialect < 0x0311:
        signing = kdf(session_key[:16], b"SMB2AESCMAC\0", b"SmbSign\0")
        ways = (b"ServerIn \0", b"ServerOut\0")
        return Keys(signing, *(kdf(secret, b"SMB2AESCCM\0", way, length) for way in ways))
    return Keys(
        kdf(session_key[:16], b"SMBSigningKey\0", preauth),
        kdf(secret, b"SMBC2SCipherKey\0", preauth, length),
        kdf(secret, b"SMBS2CCipherKey\0", preauth, length),
    )


def sign(message: bytes, key: bytes, algorithm: int) -> bytes:
    """The message with flag and signature, [MS-SMB2] 3.1.4.1."""
    flags = struct.unpack_from("<I", message, 16)[0] | 8
    message = message[:16] + struct.pack("<I", flags) + message[20:48] + bytes(16) + message[64:]
    if algorithm == 0:
        mac = hmac.HMAC(key, hashes.SHA256())
        mac.update(message)
        signature = mac.finalize()[:16]
    elif algorithm == 1:
        mac1 = cmac.CMAC(AES(key))
        mac1.update(message)
        signature = mac1.finalize()
    else:
        nonce = message[24:32] + struct.pack("<I", flags & 1 | (2 if message[12] == CANCEL else 0))
        signature = AESGCM(key).encrypt(nonce, b"", message)
    return message[:48] + signature + message[64:]


def seal(message: bytes, key: bytes, cipher: int, nonce: bytes, session: int = SESSION_ID) -> bytes:
    """The message in an SMB3 transform, [MS-SMB2] 2.2.41."""
    header = nonce.ljust(16, b"\0") + struct.pack("<IHHQ", len(message), 0, 1, session)
    if cipher in (CCM_128, CCM_256):
        sealed = AESCCM(key, tag_length=16).encrypt(header[:11], message, header)
    else:
        sealed = AESGCM(key).encrypt(header[:12], message, header)
    return b"\xfdSMB" + sealed[-16:] + header + sealed[:-16]


def unchained(message: bytes, offset: int, algorithm: int, packed: bytes) -> bytes:
    """A compression transform whose first `offset` bytes stay as they are, [MS-SMB2] 2.2.42.1."""
    fixed = struct.pack("<4sIHHI", b"\xfcSMB", len(message) - offset, algorithm, 0, offset)
    return fixed + message[:offset] + packed


def chained(size: int, *payloads: tuple[int, bytes, int | None]) -> bytes:
    """[MS-SMB2] 2.2.42.2: algorithm, data, and the original size where the algorithm has one."""
    out = struct.pack("<4sI", b"\xfcSMB", size)
    for index, (algorithm, data, original) in enumerate(payloads):
        body = (struct.pack("<I", original) if original is not None else b"") + data
        out += struct.pack("<HHI", algorithm, 1 if index == 0 else 0, len(body)) + body
    return out


@dataclass
class Talk:
    """A conversation on one connection: what each side sends, message by message."""

    dialect: int = 0x0311
    cipher: int | None = None
    signing: int | None = None
    session_key: bytes = SESSION_KEY
    session: int = SESSION_ID
    connection: Connection = field(default_factory=lambda: Connection(0, CLIENT, SERVER, True))
    sent: list[tuple[Direction, bytes]] = field(default_factory=list)
    preauth: bytes = bytes(64)
    keys: Keys | None = None
    sealing: bool = False
    next_id: int = 0

    @property
    def algorithm(self) -> int:
        if self.signing is not None:
            return self.signing
        return 1 if self.dialect >= 0x0300 else 0

    def raw(self, direction: Direction, message: bytes) -> None:
        """One message, sealed if the session is."""
        if self.sealing and self.keys is not None and self.cipher is not None:
            key = self.keys.server_to_client if direction else self.keys.client_to_server
            message = seal(message, key, self.cipher, len(self.sent).to_bytes(11, "little"), self.session)
        self.sent.append((direction, framed(message)))

    def ask(self, command: int, body: bytes, *, signed: bool = False, **header: Any) -> int:
        message = smb2(command, body, self.next_id, **{"session": self.session, **header})
        if signed and self.keys is not None:
            message = sign(message, self.keys.signing, self.algorithm)
        self.raw(0, message)
        self.next_id += 1
        return self.next_id - 1

    def answer(self, message_id: int, command: int, body: bytes, *, signed: bool = False, **header: Any) -> None:
        fields = {"session": self.session, **header}
        message = smb2(command, body, message_id, response=True, **fields)
        if signed and self.keys is not None:
            message = sign(message, self.keys.signing, self.algorithm)
        self.raw(1, message)

    def _hashed(self) -> None:
        self.preauth = hashlib.sha512(self.preauth + self.sent[-1][1][4:]).digest()

    def begin(self, tokens: Sequence[bytes] = (b"", b"", b""), *, binding: bool = False) -> Talk:
        """Negotiation and session setup of two legs."""
        self.preauth = bytes(64)
        self.answer(self.ask_hashed(NEGOTIATE, negotiate_request(), session=0), NEGOTIATE, self._answer(), session=0)
        self._hashed()
        first = 0 if not binding else self.session
        number = self.ask_hashed(SETUP, setup_request(tokens[0], binding=binding), session=first)
        self.answer(number, SETUP, setup_response(tokens[1]), status=MORE_PROCESSING)
        self._hashed()
        number = self.ask_hashed(SETUP, setup_request(tokens[2], binding=binding))
        self.keys = keys_of(self.dialect, self.session_key, self.preauth, self.cipher)
        self.answer(number, SETUP, setup_response(), signed=True)
        return self

    def sealed(self) -> Talk:
        """What follows is encrypted."""
        self.sealing = True
        return self

    def _answer(self) -> bytes:
        return negotiate_response(self.dialect, self.cipher, self.signing)

    def ask_hashed(self, command: int, body: bytes, **header: Any) -> int:
        number = self.ask(command, body, **header)
        self._hashed()
        return number

    def tree(self, path: str = "\\\\FILES\\IPC$", share_type: int = 2, tree: int = 1) -> Talk:
        number = self.ask(TREE, tree_request(path), tree=0)
        self.answer(number, TREE, tree_response(share_type), tree=tree)
        return self

    def open(self, name: str = "winreg", file_id: bytes = FILE_ID, tree: int = 1) -> Talk:
        self.answer(self.ask(CREATE, create_request(name), tree=tree), CREATE, create_response(file_id), tree=tree)
        return self

    def transceive(self, request: bytes, response: bytes, file_id: bytes = FILE_ID, **options: Any) -> Talk:
        number = self.ask(IOCTL, ioctl_request(request, file_id), **options)
        self.answer(number, IOCTL, ioctl_response(response, file_id), **options)
        return self

    def write(self, data: bytes, file_id: bytes = FILE_ID) -> Talk:
        self.answer(self.ask(WRITE, write_request(data, file_id)), WRITE, write_response(len(data)))
        return self

    def read(self, data: bytes, file_id: bytes = FILE_ID, status: int = 0) -> Talk:
        self.answer(self.ask(READ, read_request(file_id)), READ, read_response(data), status=status)
        return self

    def close(self, file_id: bytes = FILE_ID) -> Talk:
        self.answer(self.ask(CLOSE, close_request(file_id)), CLOSE, struct.pack("<HH56x", 60, 0))
        return self


# --- SMB1 -------------------------------------------------------------------------------------------------------------


def smb1(
    command: int,
    words: bytes,
    data: bytes = b"",
    *,
    response: bool = False,
    status: int = 0,
    flags2: int = 0xC801,
    tid: int = 7,
    uid: int = 100,
    mid: int = 1,
    pid: int = 0xFEFF,
) -> bytes:
    """One SMB1 message with one command, [MS-CIFS] 2.2.3."""
    header = struct.pack(
        "<4sBIBH12xHHHH", b"\xffSMB", command, status, 0x98 if response else 0x18, flags2, tid, pid, uid, mid
    )
    return header + bytes([len(words) // 2]) + words + struct.pack("<H", len(data)) + data


ANDX_END = b"\xff\0\0\0"


def trans_request(data: bytes, fid: int = 0x4000, *, subcommand: int = 0x26, total: int | None = None) -> bytes:
    """Words and bytes of TransactNmPipe; the data lie at 84."""
    name = b"\0" + "\\PIPE\\".encode("utf-16-le") + b"\0\0"
    start = 32 + 1 + 32 + 2 + len(name)
    pad = -start % 4
    whole = len(data) if total is None else total
    words = struct.pack(
        "<HHHHBBHIHHHHHBBHH",
        0,
        whole,
        0,
        4096,
        0,
        0,
        0,
        0,
        0,
        0,
        start + pad,
        len(data),
        start + pad,
        2,
        0,
        subcommand,
        fid,
    )
    return bytes([len(words) // 2]) + words + struct.pack("<H", len(name) + pad + len(data)) + name + bytes(pad) + data


def trans_secondary(data: bytes, displacement: int, total: int) -> bytes:
    words = struct.pack("<HHHHHHHH", 0, total, 0, 0, 0, len(data), 32 + 1 + 16 + 2, displacement)
    return bytes([len(words) // 2]) + words + struct.pack("<H", len(data)) + data


def trans_response(data: bytes, displacement: int = 0, total: int | None = None) -> bytes:
    whole = len(data) if total is None else total
    words = struct.pack("<HHHHHHHHHBB", 0, whole, 0, 0, 0, 0, len(data), 32 + 1 + 20 + 2, displacement, 0, 0)
    return bytes([len(words) // 2]) + words + struct.pack("<H", len(data)) + data


def smb1_raw(command: int, block: bytes, **header: Any) -> bytes:
    """A message whose block (word count to bytes) is given."""
    return smb1(command, b"", **header)[:32] + block


# --- TCP events -------------------------------------------------------------------------------------------------------


def stream(
    sent: Iterable[tuple[Direction, bytes]],
    connection: Connection | None = None,
    cuts: Sequence[int] = (),
    *,
    closed: bool = True,
) -> list[Event]:
    """The messages as stream chunks, a frame for each; `cuts` are sizes that the pieces of messages go through, in turn."""
    connection = connection or Connection(0, CLIENT, SERVER, True)
    events: list[Event] = []
    offsets = [0, 0]
    turn = 0
    for number, (direction, data) in enumerate(sent, 1):
        at = 0
        while at < len(data):
            size = cuts[turn % len(cuts)] if cuts else len(data)
            turn += 1
            piece = TracedBytes.of_frame(data, number, 54, number * 1000)[at : at + size]
            events.append(StreamBatch.of_part(connection, direction, offsets[direction], piece))
            offsets[direction] += len(piece)
            at += len(piece)
    if closed:
        events.append(StreamClosed(connection, "end"))
    return events


def with_hole(events: Sequence[Event], direction: Direction, start: int, stop: int | None) -> list[Event]:
    """The same, the bytes `start` to `stop` of a direction lost; None: all that follows, and nobody knows how much."""
    out: list[Event] = []
    reported = False
    for event in events:
        if not isinstance(event, StreamBatch) or event.direction != direction:
            out.append(event)
            continue
        end = event.offset + len(event.data)
        if event.offset < start:
            out.append(
                StreamBatch.of_part(event.connection, direction, event.offset, event.data[: start - event.offset])
            )
        if not reported and end > start:
            reported = True
            length = None if stop is None else stop - start
            out.append(Gap(event.connection, direction, start, length, (1, 2), "lost in the test"))
        if stop is not None and end > stop:
            first = max(event.offset, stop)
            out.append(StreamBatch.of_part(event.connection, direction, first, event.data[first - event.offset :]))
    return out
