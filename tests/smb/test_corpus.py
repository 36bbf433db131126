"""Public captures: the PDUs that pipes and TCP connections carry are those tshark counts, and published keys open what they should.

`DIFFERENT` lists the captures where tshark 4.0.17 counts something else, each with the reason.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from analyzer.auth.context import Door
from analyzer.auth.keyring import Keyring
from analyzer.capture.frame import FrameBlock
from analyzer.capture.reader import CaptureReader
from analyzer.core.errors import InputError
from analyzer.core.events import Event, Problem
from analyzer.packet.dissector import Dissector
from analyzer.packet.segment import Segment
from analyzer.smb.compression import decompress_message
from analyzer.smb.events import ChannelData, ChannelGap, SmbSession
from analyzer.smb.state import looks_like_dcerpc
from analyzer.smb.transport import Transport
from analyzer.tcp.events import StreamChunk
from analyzer.tcp.reassembler import Reassembler

pytestmark = pytest.mark.corpus

CORPUS = Path(os.environ.get("PCQ_CORPUS", ""))
TYPES = {
    0: "request",
    2: "response",
    3: "fault",
    11: "bind",
    12: "bind_ack",
    13: "bind_nak",
    14: "alter_context",
    15: "alter_context_resp",
    16: "auth3",
    17: "shutdown",
    18: "co_cancel",
    19: "orphaned",
}
# What tshark counts that is not there, or does not count though it is.
DIFFERENT = {
    "ITI-ICS-Security-Tools/pcaps__ModbusTCP__mb2.pcap": "8 of its requests are connectionless (version 4, UDP)",
    "OISF-suricata-verify/tests__dcerpc__zerologon__input.pcap": "misses one request of a pipe, and counts its response",
    "OISF-suricata-verify/tests__smb-length-5770__input.pcap": "port 4445 carries SMB too, and is not looked at",
    "OISF-suricata-verify/tests__smb2-03-rule__smb2.pcap": "counts the one request twice",
    "OISF-suricata-verify/tests__smb2-ntlmssp-order__smb2.pcap": "counts the one request twice",
    "OISF-suricata-verify/tests__truncate-applayer-test-01__input.pcap": "misses the last of 24 responses",
    "arkime-arkime/tests__pcap__dcerpc_synthetic.pcap": "does not look at the pipes and ports made up there",
    "nfstream-nfstream/tests__pcaps__dcerpc.pcap": "connectionless (version 4, UDP)",
    "odedshimon-BruteShark/Pcap_Examples__Kerberos_-_v5_UDP.pcap": "goes on behind a forged RST",
    "odedshimon-BruteShark/Pcap_Examples__PCAPNG_Examples__Kerberos_-_v5_UDP.pcapng": "goes on behind a forged RST",
    "zeek-zeek/testing__btest__Traces__dce-rpc__mapi.pcap": "misses PDUs that share a segment with another",
}
# Microsoft Network Monitor's format is left to the second engine.
OTHER_FORMATS = {"mlgualtieri-NTLMRawUnHide/examples__capture.cap"}
WIRESHARK = "wireshark-4.0.17/captures__"


def tcp_events(path: Path) -> Iterator[Event]:
    """What the rooms below SMB say of a capture."""
    dissector, reassembler = Dissector(), Reassembler()

    def up(events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, Segment):
                yield from reassembler.feed(event)
            else:
                yield event

    for block in CaptureReader([path]):
        yield from up(dissector.feed(block) if isinstance(block, FrameBlock) else [block])
    yield from up(dissector.finish())
    yield from reassembler.finish()


def read(path: Path, keyring: Keyring | None = None) -> list[Event]:
    transport = Transport(keyring or Keyring())
    out = [made for event in tcp_events(path) for made in transport.feed(event)]
    return out + list(transport.finish())


def pdus(events: list[Event]) -> Counter[str]:
    """Counts PDUs by their headers, channel by channel; what does not begin like one is passed over."""
    found: Counter[str] = Counter()
    held: dict[tuple[int, bool], bytes] = {}
    for event in events:
        if isinstance(event, ChannelGap):
            held.pop((event.channel.number, event.from_client), None)
        if not isinstance(event, ChannelData):
            continue
        key = event.channel.number, event.from_client
        data = held.get(key, b"") + event.data.data
        while looks_like_dcerpc(data):
            length = int.from_bytes(data[8:10], "little" if data[4] else "big")
            if len(data) < length:
                break
            found[TYPES.get(data[2], str(data[2]))] += 1
            data = data[length:]
        held[key] = data if looks_like_dcerpc(data) or len(data) < 16 else b""
    return found


def expected() -> list[tuple[str, dict[str, int]]]:
    listing = CORPUS / "expected.tshark.json"
    if not os.environ.get("PCQ_CORPUS") or not listing.is_file():
        return []
    files = json.loads(listing.read_text())["files"]
    return sorted((name, (entry.get("dcerpc") or {}).get("pdus_by_type") or {}) for name, entry in files.items())


@pytest.mark.parametrize(("name", "counts"), expected())
def test_pdus_are_those_tshark_counts(name: str, counts: dict[str, int]) -> None:
    if name in OTHER_FORMATS:
        with pytest.raises(InputError):
            read(CORPUS / name)
        return
    found = dict(pdus(read(CORPUS / name)))
    if name in DIFFERENT:
        assert found != counts
    else:
        assert found == counts


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("smb300-aes-128-ccm.pcap.gz", "1900009c003c0000,9a9ea16a0cdbeb6064772318073f172f"),
        ("smb311-aes-128-ccm.pcap.gz", "2900009c003c0000,f1fa528d3cd182cca67bd4596dabd885"),
        ("smb311-aes-128-gcm.pcap.gz", "3900000000400000,e79161ded03bda1449b2c8e58f753953"),
    ],
)
def test_wiresharks_keys_open_wiresharks_captures(name: str, line: str) -> None:
    """The keys are those of Wireshark's test/suite_decryption.py; what opens is the connect to the tree."""
    path = CORPUS / (WIRESHARK + name)
    (session,) = (
        event for event in read(path, Keyring.build(smb_session_keys=[line])) if isinstance(event, SmbSession)
    )
    assert session.door is Door.OPEN
    assert session.opened_messages == session.encrypted_messages == 2
    assert session.trees == ("\\\\dfsroot1.foo.test\\IPC$",)
    assert session.verified_messages == session.signed_messages == 1
    (session,) = (event for event in read(path) if isinstance(event, SmbSession))
    assert session.door is Door.NO_KEY
    assert session.trees == ()


def test_chains_of_windows_are_decompressed() -> None:
    """A WRITE with LZNT1 and Pattern_V1 and the READ of the same 256 bytes, each in one segment."""
    path = CORPUS / (WIRESHARK + "smb311-chained-patternv1-lznt1.pcapng.gz")
    chunks = [event for event in tcp_events(path) if isinstance(event, StreamChunk)]
    assert len(chunks) == 2
    for chunk in chunks:
        opened = decompress_message(chunk.data[4:])
        assert opened.data[:4] == b"\xfeSMB"
        assert opened.data[-256:] == b"\xaa" * 256
        assert opened.frames == chunk.data.frames
    assert {event.kind for event in read(path) if isinstance(event, Problem)} <= {"gap"}
