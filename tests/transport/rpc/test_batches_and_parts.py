"""A batch gives what its parts give one by one, in every layer above TCP, on real conversations and on what is left of them.

Each capture is read up to its streams; these are cut and joined anew, some are damaged and some lost. Then all layers take them
part by part, in batches of both directions, and span by span.
"""

import random
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate, groupby

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.connection import Pdu
from analyzer.transport.channel.channels import ChannelBatch
from analyzer.transport.rpc.rpc_layer import RpcLayer
from analyzer.transport.tcp.reassembler import Reassembler
from analyzer.transport.tcp.stream_events import Gap, StreamBatch
from tests.build.chain import segments, through, to_channels
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


@cache
def parts(name: str) -> tuple[list[Event], Keyring]:
    """The streams of a capture, each part on its own, and what opens them."""
    out: list[Event] = []
    for event in through([Reassembler()], segments(CAPTURES / f"{name}.pcap")):
        out += event if isinstance(event, StreamBatch) else [event]
    return out, Keyring.load(CAPTURES / f"{name}.secrets.json")


def direction(event: Event) -> object:
    return (event.connection.number, event.direction) if isinstance(event, StreamBatch) else id(event)


def mangled(events: list[Event], rng: random.Random) -> Iterator[Event]:
    """The same events: neighbouring parts joined, all cut anew; some bytes flipped, some lost."""
    damage, loss = rng.choice(((0, 0), (0, 0), (0.05, 0), (0, 0.04), (0.03, 0.03)))
    longest = rng.choice((17, 300, 1460, 20_000))
    for _, group in groupby(events, direction):
        run = list(group)
        first = run[0]
        if not isinstance(first, StreamBatch):
            yield from run
            continue
        data = TracedBytes.join([part.data for part in run if isinstance(part, StreamBatch)])
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
                yield StreamBatch.of_part(first.connection, first.direction, offset, part)


def in_batches(events: list[Event], rng: random.Random) -> Iterator[Event]:
    """The same events: parts of both directions of a connection that follow each other together, now and then."""
    longest = rng.choice((2, 5, 100))
    for _, group in groupby(
        events, lambda event: event.connection.number if isinstance(event, StreamBatch) else id(event)
    ):
        left = list(group)
        while left:
            run, left = left[:longest], left[longest:]
            first = run[0]
            if not isinstance(first, StreamBatch) or len(run) == 1:
                yield first
                continue
            batches = [part for part in run if isinstance(part, StreamBatch)]
            yield StreamBatch(
                first.connection,
                first.direction,
                first.offset,
                TracedBytes.join([part.data for part in batches]),
                list(accumulate((len(part.data) for part in batches), initial=0)),
                [part.direction != first.direction for part in batches],
                next((part.offset for part in batches if part.direction != first.direction), 0),
            )


def span_by_span(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        if isinstance(event, ChannelBatch):
            yield from (replace(event, spans=[span]) for span in event.spans)
        else:
            yield event


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=2)
@example(None)
@given(st.integers(0, 2**48))
def test_a_batch_gives_what_its_parts_give(name: str, seed: int | None) -> None:
    events, keyring = parts(name)
    rng = random.Random(seed)
    given = events if seed is None else list(mangled(events, rng))
    alone = through([RpcLayer(keyring, pdus=False)], span_by_span(through(to_channels(keyring), given)))
    batches = list(in_batches(given, rng))
    assert seed is not None or any(len(each.replies) > 1 for each in batches if isinstance(each, StreamBatch))
    carried = through(to_channels(keyring), batches)
    assert through([RpcLayer(keyring, pdus=False)], carried) == alone
    listed = through([RpcLayer(keyring)], carried)
    assert [event for event in listed if not isinstance(event, Pdu)] == alone
