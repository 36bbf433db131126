"""Conversations that no stack here holds, made byte by byte: big-endian calls, ciphers of SMB3, encryption types of Kerberos.

The same script as everywhere asks, and the same model answers; `tests.build` has the PDUs, the messages of SMB and the frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Struct

from analyzer.transport.tcp.stream_events import Direction
from rig.check import Logged, Truth
from rig.conversation import Reply, Wishes, conversation
from rig.model import Model
from tests.build import packet, rpc, smb
from tests.build.auth import KerberosConversation, NtlmConversation, kerberos_handshake, ntlm_handshake
from tests.build.capture import NANO, pcap
from tests.build.compression import pack_huffman, pack_lz77, pack_lznt1
from tests.build.smb import CCM_128, CCM_256, GCM_128, GCM_256
from tests.probe.server import Answer, Caller
from tests.truth import PCQ

_FIRST_NS = 1_780_000_000_000_000_000
_STEP_NS = 500_000
LEVELS = {"none": 1, "pkt": 4, "integrity": 5, "privacy": 6}
CIPHERS = {"AES-128-CCM": CCM_128, "AES-128-GCM": GCM_128, "AES-256-CCM": CCM_256, "AES-256-GCM": GCM_256}
NTLM, SPNEGO, KERBEROS = 10, 9, 16
# [MS-SMB2] section 2.2.3.1.3: LZNT1, LZ77 and LZ77+Huffman.
PACKERS = {"LZNT1": (1, pack_lznt1), "LZ77": (2, pack_lz77), "LZ77+Huffman": (3, pack_huffman)}
_UNPACKED, _RELATED = 64, 4
_ANY_FILE, _ANY_SESSION, _ANY_TREE = b"\xff" * 16, (1 << 64) - 1, (1 << 32) - 1
# A PDU travels on one of two connections of a session; where one is enough, on the first.
Sent = list[tuple[int, bool, bytes]]


class Made(Struct, frozen=True):
    """A cell that is made: the dialect of SMB or (None) TCP, its cipher and signing, the mechanism and level of RPC, and how many
    bytes of a stub a PDU carries."""

    smb: int | None = None
    cipher: str | None = None
    signing: int | None = None
    by_read: bool = False
    mechanism: str = ""
    level: str = "none"
    etype: int = 18
    ndr64: bool = False
    big: bool = False
    fragment: int = 4000
    compressed: str = ""
    chained: bool = False
    travel: str = ""

    @property
    def name(self) -> str:
        carrier = "TCP" if self.smb is None else f"SMB {self.smb:#x}" + (" by WRITE and READ" if self.by_read else "")
        packed = f"{self.compressed}{' chained' if self.chained else ''}"
        words = [
            carrier,
            self.travel,
            packed,
            self.cipher or "",
            f"signing {self.signing}" if self.signing is not None else "",
        ]
        words += ["NDR64" if self.ndr64 else "NDR", "big-endian" if self.big else "", f"fragments of {self.fragment}"]
        mechanism = f"{self.mechanism} {self.etype}" if "Kerberos" in self.mechanism else self.mechanism
        return f"made / made / {', '.join(word for word in words if word)} / {mechanism or 'no'} {self.level}"


def made_cells() -> Iterator[Made]:
    """Every cell that is made."""
    for ndr64 in (False, True):
        for big in (False, True):
            for fragment in (4000, 200):
                yield Made(ndr64=ndr64, big=big, fragment=fragment)
                yield Made(smb=0x0311, ndr64=ndr64, big=big, fragment=fragment)
    for level in ("pkt", "integrity", "privacy"):
        for mechanism in ("NTLM", "SPNEGO NTLM", "Kerberos", "SPNEGO Kerberos"):
            for etype in (17, 18, 19, 20, 23) if "Kerberos" in mechanism else (18,):
                for fragment in (4000, 200):
                    yield Made(mechanism=mechanism, level=level, etype=etype, fragment=fragment)
    for dialect in (0x0202, 0x0210, 0x0300, 0x0302, 0x0311):
        for by_read in (False, True):
            yield Made(smb=dialect, by_read=by_read, mechanism="NTLM", level="privacy")
    for cipher in CIPHERS:
        for by_read in (False, True):
            yield Made(smb=0x0311, cipher=cipher, by_read=by_read, mechanism="NTLM", level="privacy")
    for signing in (0, 1, 2):
        yield Made(smb=0x0311, signing=signing)
    for compressed in PACKERS:
        for chained in (False, True):
            yield Made(smb=0x0311, compressed=compressed, chained=chained, mechanism="NTLM", level="privacy")
            yield Made(smb=0x0311, compressed=compressed, chained=chained, by_read=True, fragment=200)
            yield Made(smb=0x0311, compressed=compressed, chained=chained, cipher="AES-256-GCM")
    for travel in ("compounds", "asynchronous", "two channels"):
        for fragment in (4000, 200):
            yield Made(smb=0x0311, travel=travel, fragment=fragment)
            yield Made(smb=0x0311, travel=travel, cipher="AES-128-GCM", fragment=fragment)
            yield Made(smb=0x0311, travel=travel, mechanism="NTLM", level="privacy", fragment=fragment)


class _Pipe(rpc.Conversation):
    """The PDUs of a conversation as they are sent, beside the events that `tests.build` makes of them."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[bool, bytes]] = []

    def send(self, from_client: bool, data: bytes, *, fresh: bool = True) -> _Pipe:
        self.sent.append((from_client, data))
        return self


def make(cell: Made, seed: int, capture: Path) -> tuple[Truth, dict[str, Any]]:
    """Writes a conversation of this cell; its truth, and the secrets that open it."""
    model = Model(seed)
    caller = Caller(model)
    pipe = _Pipe()
    sealers, secrets = _secured(cell, seed, pipe)
    wishes = Wishes(seed, ndr64=cell.ndr64, big=cell.big, winreg=not cell.ndr64, pcq=True)
    calls: list[Logged] = []
    served: list[tuple[str, int, bytes, Answer]] = []
    bound: dict[str, int] = {PCQ: 0} if cell.mechanism else {}
    script = conversation(model, wishes)
    request = next(script, None)
    transfer = rpc.NDR64 if cell.ndr64 else rpc.NDR
    number = 10
    while request is not None:
        number += 1
        if request.interface not in bound:
            first = not bound
            bound[request.interface] = context = len(bound)
            offered = (rpc.context(context, request.interface, (transfer,), big=cell.big),)
            kinds = (rpc.BIND, rpc.BIND_ACK) if first else (rpc.ALTER, rpc.ALTER_RESP)
            pipe.client(rpc.bind(offered, ptype=kinds[0], call_id=number, big=cell.big))
            pipe.server(rpc.bind_ack(((0, 0, transfer),), ptype=kinds[1], call_id=number, big=cell.big))
            number += 1
        shared = {"call_id": number, "context_id": bound[request.interface], "big": cell.big}
        answer = caller.answer(
            request.interface, request.opnum, request.stub, allowed=True, ndr64=cell.ndr64, big=cell.big
        )
        served.append((request.interface, request.opnum, request.stub, answer))
        for flags, piece in rpc.fragments(request.stub, cell.fragment):
            pipe.client(rpc.request(request.opnum, piece, flags=flags, sealer=sealers[0], **shared))
        if answer.fault is not None:
            pipe.server(rpc.fault(answer.fault, sealer=sealers[1], **shared))
        else:
            for flags, piece in rpc.fragments(answer.stub, cell.fragment):
                pipe.server(rpc.response(piece, flags=flags, sealer=sealers[1], **shared))
        calls.append(Logged(request, 0, 0, answer.stub, answer.fault))
        try:
            request = script.send(Reply(answer.stub, answer.fault, big=cell.big))
        except StopIteration:
            break
    capture.write_bytes(_written(cell, pipe.sent))
    if cell.smb is not None:
        session = {"session_id": f"{smb.SESSION_ID:#x}", "session_key": smb.SESSION_KEY.hex()}
        secrets = {**secrets, "smb_session_keys": [session]}
    account = "perfmon@LAB.TEST" if "Kerberos" in cell.mechanism else "LAB\\perfmon"
    truth = Truth(
        calls,
        served,
        model,
        account,
        LEVELS[cell.level],
        cell.ndr64,
        has_session=False,
        is_timed=False,
        big=cell.big,
        serves_anybody=True,
    )
    return truth, secrets


def _secured(cell: Made, seed: int, pipe: _Pipe) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """Both ends' sealers, once the legs of the mechanism were sent; and the secret of its account."""
    if not cell.mechanism:
        return (None, None), {"users": []}
    spnego = cell.mechanism.startswith("SPNEGO")
    made: NtlmConversation | KerberosConversation
    if "Kerberos" in cell.mechanism:
        subkey = cell.etype
        made = kerberos_handshake(
            etype=cell.etype, initiator_subkey=subkey, acceptor_subkey=subkey, spnego=spnego, seed=seed
        )
        secrets: dict[str, Any] = {"kerberos_keys": [{"etype": cell.etype, "key": made.service_key.hex()}]}
    else:
        made = ntlm_handshake(spnego=spnego, seed=seed)
        secrets = {"users": [{"username": "perfmon", "domain": "LAB", "password": "correct horse"}]}
    auth_type = SPNEGO if spnego else KERBEROS if "Kerberos" in cell.mechanism else NTLM
    sealers = pipe.authenticated(made, level=LEVELS[cell.level], auth_type=auth_type)
    return sealers, secrets


def _written(cell: Made, sent: list[tuple[bool, bytes]]) -> bytes:
    """The PDUs as frames of one connection."""
    travelled = [(0, *one) for one in sent] if cell.smb is None else _in_smb(cell, sent)
    port = 445 if cell.smb is not None else 49700
    frames: list[tuple[int, bytes]] = []
    channels = sorted({channel for channel, _, _ in travelled})
    sequences = {channel: {True: 1000, False: 5000} for channel in channels}

    def frame(channel: int, from_client: bool, data: bytes, flags: int) -> None:
        sequence = sequences[channel]
        ports = (50000 + channel, port) if from_client else (port, 50000 + channel)
        ends = (packet.CLIENT, packet.SERVER) if from_client else (packet.SERVER, packet.CLIENT)
        segment = packet.tcp(
            data, sport=ports[0], dport=ports[1], seq=sequence[from_client], ack=sequence[not from_client], flags=flags
        )
        whole = packet.ipv4(packet.with_checksum(segment, *ends), src=ends[0], dst=ends[1])
        frames.append((_FIRST_NS + len(frames) * _STEP_NS, packet.ethernet(whole)))
        sequence[from_client] += len(data) + (flags & 3 != 0)

    for channel in channels:
        frame(channel, True, b"", 2)
        frame(channel, False, b"", 18)
        frame(channel, True, b"", 16)
    for channel, from_client, data in travelled:
        for at in range(0, len(data), 1400):
            frame(channel, from_client, data[at : at + 1400], 24)
    for channel in channels:
        frame(channel, True, b"", 17)
        frame(channel, False, b"", 17)
    return pcap(frames, magic=NANO)


class _Talk(smb.Talk):
    """Messages of SMB2, compressed where the cell says so."""

    packer: str = ""
    chained: bool = False

    def raw(self, direction: Direction, message: bytes) -> None:
        if self.packer and len(message) > 2 * _UNPACKED:
            number, pack = PACKERS[self.packer]
            head, rest = message[:_UNPACKED], message[_UNPACKED:]
            if self.chained:
                message = smb.chained(len(message), (0, head, None), (number, pack(rest), len(rest)))
            else:
                message = smb.unchained(message, _UNPACKED, number, pack(rest))
        super().raw(direction, message)


def _in_smb(cell: Made, sent: list[tuple[bool, bytes]]) -> Sent:
    """The PDUs in messages of SMB2: what is answered by one PDU is a transaction, all else is written and read."""
    cipher = CIPHERS[cell.cipher] if cell.cipher else None
    talks = [_Talk(dialect=cell.smb or 0, cipher=cipher, signing=cell.signing)]
    talks[0].begin()
    if cell.travel == "two channels":
        talks.append(_Talk(dialect=cell.smb or 0, cipher=cipher, signing=cell.signing).begin(binding=True))
        # [MS-SMB2] section 3.2.5.3.3: what encrypts belongs to the session, of which the first channel is.
        talks[1].keys = talks[0].keys if cipher is not None else talks[1].keys
    out: Sent = [(channel, direction == 0, data) for channel, talk in enumerate(talks) for direction, data in talk.sent]
    for talk in talks:
        talk.sent.clear()
        talk.sealing, talk.packer, talk.chained = cipher is not None, cell.compressed, cell.chained
    numbers = count(1)

    def take(channel: int) -> _Talk:
        """The messages of the other channel were sent before those that this one sends now."""
        for other, talk in enumerate(talks):
            out.extend((other, direction == 0, data) for direction, data in talk.sent)
            talk.sent.clear()
        return talks[channel]

    take(0).tree().open()
    at = 0
    while at < len(sent):
        from_client, data = sent[at]
        pair = sent[at + 1 : at + 2]
        talk = take(next(numbers) % len(talks))
        is_answered = from_client and pair and not pair[0][0]
        if is_answered and cell.travel == "compounds":
            _compound(talk, data, pair[0][1])
            at += 2
        elif is_answered and not cell.by_read:
            if cell.travel == "asynchronous":
                _late(talk, data, pair[0][1], next(numbers))
            else:
                talk.transceive(data, pair[0][1], signed=cell.signing is not None)
            at += 2
        else:
            (talk.write if from_client else talk.read)(data)
            at += 1
    take(0).close()
    take(0)
    return out


def _compound(talk: _Talk, asked: bytes, answered: bytes) -> None:
    """A PDU that is written and its answer that is read, in one message each way ([MS-SMB2] section 3.2.4.1.4)."""
    first = talk.next_id
    talk.next_id += 2
    related = {"flags": _RELATED, "session": _ANY_SESSION, "tree": _ANY_TREE}
    talk.raw(
        0,
        smb.compound(
            smb.smb2(smb.WRITE, smb.write_request(asked), first, session=talk.session),
            smb.smb2(smb.READ, smb.read_request(_ANY_FILE), first + 1, **related),
        ),
    )
    talk.raw(
        1,
        smb.compound(
            smb.smb2(smb.WRITE, smb.write_response(len(asked)), first, response=True, session=talk.session),
            smb.smb2(
                smb.READ, smb.read_response(answered), first + 1, response=True, flags=_RELATED, session=talk.session
            ),
        ),
    )


def _late(talk: _Talk, asked: bytes, answered: bytes, number: int) -> None:
    """A transaction that is answered by STATUS_PENDING first ([MS-SMB2] section 3.3.4.2)."""
    asking = talk.ask(smb.IOCTL, smb.ioctl_request(asked))
    talk.answer(asking, smb.IOCTL, b"\x09\0\0\0\0\0\0\0\0", status=smb.PENDING, async_id=number)
    talk.answer(asking, smb.IOCTL, smb.ioctl_response(answered), async_id=number)
