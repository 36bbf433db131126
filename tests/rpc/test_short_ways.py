"""The short ways of framing, SMB2, DCERPC and its security give what the long ways give, on real conversations and on what is
left of them.

Each capture is read up to its stream chunks; these are cut and joined anew, some are damaged and some lost, and both ways
take them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, groupby

import pytest

from analyzer.auth.kerberos_context import KerberosContext
from analyzer.auth.keyring import Keyring
from analyzer.auth.ntlm_context import NtlmContext
from analyzer.capture.reader import CaptureReader
from analyzer.core.events import CaptureEnds, Event
from analyzer.core.traced import TracedBytes
from analyzer.packet.dissector import Dissector
from analyzer.packet.segment import Segment
from analyzer.rpc.association import Association
from analyzer.rpc.layer import RpcLayer
from analyzer.smb.framing import Framing
from analyzer.smb.smb2 import Smb2Reader
from analyzer.smb.transport import Transport
from analyzer.tcp.events import Gap, StreamChunk, StreamDialogue
from analyzer.tcp.reassembler import Reassembler
from tests.truth import CAPTURES

NAMES = (
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy",
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_frag256",
    "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed",
    "pcq_impacketsmb_impacket_smb2002_ntlm_privacy_port4451",
    "pcq_smbd_scapy_impacket_krb5aes256_spnego_privacy",
    "pcq_smbd_scapy_impacket_smb311ccm_ntlm_privacy",
    "pcq_smbd_scapy_sambalib_smb311gcm128_ntlm_seal",
    "v1_samba_sambapy_smb311gcm256_krb5aes256_seal",
)


def chunks(name: str) -> list[Event]:
    reassembler, dissector, out = Reassembler(), Dissector(), []
    items = [item for block in CaptureReader([CAPTURES / f"{name}.pcap"]) for item in dissector.feed(block)]
    for item in (*items, *dissector.finish()):
        out += list(reassembler.feed(item)) if isinstance(item, Segment) else [item]
    return [*out, CaptureEnds(), *reassembler.finish()]


def direction(event: Event) -> object:
    return (event.connection.number, event.direction) if isinstance(event, StreamChunk) else id(event)


def mangled(events: list[Event], rng: random.Random) -> Iterator[Event]:
    """The same events: neighbouring chunks joined, all cut anew; some bytes flipped, some chunks lost."""
    damage, loss = rng.choice(((0, 0), (0, 0), (0.05, 0), (0, 0.04), (0.03, 0.03)))
    longest = rng.choice((17, 300, 1460, 20_000))
    for _, group in groupby(events, direction):
        run = list(group)
        first = run[0]
        if not isinstance(first, StreamChunk):
            yield from run
            continue
        data = TracedBytes.join([chunk.data for chunk in run if isinstance(chunk, StreamChunk)])
        at = 0
        while at < len(data):
            part = data[at : at + rng.randint(1, longest)]
            offset, at = first.offset + at, at + len(part)
            if rng.random() < damage:
                bad = bytearray(part.data)
                bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
                part = TracedBytes(bytes(bad), part.source, part.start, part.steps)
            if rng.random() < loss:
                length = len(part) if rng.random() < 0.8 else None
                yield Gap(first.connection, first.direction, offset, length, part.frames, "lost")
            else:
                yield StreamChunk(first.connection, first.direction, offset, part)


def in_dialogues(events: list[Event], rng: random.Random) -> Iterator[Event]:
    """The same events: chunks of both directions of a connection that follow each other together, now and then."""
    longest = rng.choice((1, 2, 5, 100))
    for _, group in groupby(
        events, lambda event: event.connection.number if isinstance(event, StreamChunk) else id(event)
    ):
        told = list(group)
        while told:
            chunks, told = told[:longest], told[longest:]
            first = chunks[0]
            if not isinstance(first, StreamChunk) or len(chunks) == 1:
                yield first
                continue
            said = [chunk for chunk in chunks if isinstance(chunk, StreamChunk)]
            replies = [chunk.direction != first.direction for chunk in said]
            offset = next((chunk.offset for chunk in said if chunk.direction != first.direction), 0)
            borders = list(accumulate((len(chunk.data) for chunk in said), initial=0))
            data = TracedBytes.join([chunk.data for chunk in said])
            replied = sum(len(chunk.data) for chunk, is_reply in zip(said, replies, strict=True) if is_reply)
            yield StreamDialogue(
                first.connection, first.direction, first.offset, offset, data, borders, replies, replied
            )


def read(events: list[Event], keyring: Keyring) -> list[Event]:
    transport, layer = Transport(keyring), RpcLayer(keyring, pdus=False)
    carried = [item for event in events for item in transport.feed(event)] + list(transport.finish())
    said = [item for event in carried for item in layer.feed(event)]
    return said + list(layer.finish())


@contextmanager
def the_long_way() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Framing, "offer", lambda self, data: False)
        patch.setattr(Smb2Reader, "quick", lambda self, speaker, data, messages, replies, first, out: (first, None))
        patch.setattr(
            Association,
            "_quick",
            lambda self, from_client, smb, out, spans, number=0: (number, spans[number][1]),
        )
        for context in (NtlmContext, KerberosContext):
            patch.setattr(context, "open_next", lambda self, sender, pdu, start, stop: None)
        yield


@pytest.mark.parametrize("name", NAMES)
def test_short_and_long_ways_lead_to_the_same_place(name: str) -> None:
    events = chunks(name)
    keyring = Keyring.load(CAPTURES / f"{name}.secrets.json")
    rng = random.Random(name)
    for turn in range(5):
        given = list(mangled(events, rng)) if turn else events
        with the_long_way():
            expected = read(given, keyring)
        assert read(given, keyring) == expected
        assert read(list(in_dialogues(given, rng)), keyring) == expected
