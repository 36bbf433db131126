"""Public captures: published keys open what they should, and what Windows compressed comes out."""

from pathlib import Path

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.events import Event, Problem
from analyzer.results.connection import SmbSession
from analyzer.results.security import Decryption
from analyzer.transport.smb.compressed_messages import decompress_message
from analyzer.transport.tcp.reassembler import Reassembler
from analyzer.transport.tcp.stream_events import StreamBatch
from tests.build.chain import segments, through, to_channels
from tests.corpus import CORPUS

pytestmark = pytest.mark.corpus

WIRESHARK = "wireshark-4.0.17/captures__"


def tcp_events(path: Path) -> list[Event]:
    """What the layers below SMB give of a capture."""
    return through([Reassembler()], segments(path))


def read(path: Path, keyring: Keyring | None = None) -> list[Event]:
    return through([Reassembler(), *to_channels(keyring or Keyring())], segments(path))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("smb300-aes-128-ccm.pcap.gz", "1900009c003c0000,9a9ea16a0cdbeb6064772318073f172f"),
        ("smb311-aes-128-ccm.pcap.gz", "2900009c003c0000,f1fa528d3cd182cca67bd4596dabd885"),
        ("smb311-aes-128-gcm.pcap.gz", "3900000000400000,e79161ded03bda1449b2c8e58f753953"),
        (
            "smb300-aes-128-ccm.pcap.gz",
            '1900009c003c0000,"",8be6cc53d4beba29387e69aef035d497,bff985870e81784d533fdc09497b8eab',
        ),
        (
            "smb311-aes-128-ccm.pcap.gz",
            '2900009c003c0000,"",763d5552dbc9650b700869467a5857e4,35e69833c6578e438c8701cb40bf483e',
        ),
        (
            "smb311-aes-128-gcm.pcap.gz",
            '3900000000400000,"",b02f5de25e0562075c3dc329fa2aa396,7201623a31754e6581864581209dd3d2',
        ),
        (
            "smb311-aes-128-gcm.pcap.gz",
            '3900000000400000,"",7201623a31754e6581864581209dd3d2,b02f5de25e0562075c3dc329fa2aa396',
        ),
    ],
    ids=["smb300-ccm", "smb311-ccm", "smb311-gcm", "smb300-ccm-s2c-c2s", "smb311-ccm-s2c-c2s", "s2c-c2s", "c2s-s2c"],
)
def test_wiresharks_keys_open_wiresharks_captures(name: str, line: str) -> None:
    """The keys are those of Wireshark's test/suite_decryption.py; what opens is the connect to the tree."""
    path = CORPUS / (WIRESHARK + name)
    (session,) = (
        event for event in read(path, Keyring.build(smb_session_keys=[line])) if isinstance(event, SmbSession)
    )
    assert session.decryption is Decryption.DECRYPTED
    assert session.decrypted_messages == session.encrypted_messages == 2
    assert session.trees == ("\\\\dfsroot1.foo.test\\IPC$",)
    # Without the session key nothing states the key of the signatures.
    by_session_key = ',"",' not in line
    assert session.signed_messages == 1
    assert session.verified_messages == by_session_key
    (session,) = (event for event in read(path) if isinstance(event, SmbSession))
    assert session.decryption is Decryption.NO_KEY
    assert session.trees == ()


def test_chains_of_windows_are_decompressed() -> None:
    """A WRITE with LZNT1 and Pattern_V1 and the READ of the same 256 bytes, each in one segment."""
    path = CORPUS / (WIRESHARK + "smb311-chained-patternv1-lznt1.pcapng.gz")
    chunks = [event for event in tcp_events(path) if isinstance(event, StreamBatch)]
    assert len(chunks) == 2
    for chunk in chunks:
        opened = decompress_message(chunk.data[4:])
        assert opened.data[:4] == b"\xfeSMB"
        assert opened.data[-256:] == b"\xaa" * 256
        assert opened.frames == chunk.data.frames
    assert {event.kind for event in read(path) if isinstance(event, Problem)} <= {"gap"}
