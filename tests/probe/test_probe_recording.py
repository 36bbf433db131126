"""What the probe records is what TCP would have carried, byte by byte as another implementation writes it."""

import threading
from itertools import pairwise
from pathlib import Path
from struct import unpack_from

import pytest

from analyzer.probe.probe_recording import Recorded, _arguments, _Flow, captured_by, pcapng
from tests.build.capture import read

FOUR, SIX = (("10.0.0.2", 49152), ("10.0.0.1", 445)), (("fe80::2", 49152), ("2001:db8::1", 135))
ENDS = [FOUR, SIX]


def flow(ends: tuple[tuple[str, int], tuple[str, int]], *sent: tuple[int, bytes]) -> list[Recorded]:
    packets: list[Recorded] = []
    made = _Flow(packets, threading.Lock(), *ends)
    for direction, data in sent:
        made.send(direction, data)
    made.close()
    return packets


@pytest.mark.parametrize("ends", ENDS, ids=["IPv4", "IPv6"])
def test_segments_are_those_of_another_implementation(ends: tuple[tuple[str, int], tuple[str, int]]) -> None:
    """Of scapy, which computes lengths and checksums (RFC 791, RFC 8200 and RFC 9293)."""
    from scapy.layers.inet import IP, TCP
    from scapy.layers.inet6 import IPv6

    asked, said = b"what is it?", b"it is this, at length"
    found = flow(ends, (0, asked), (1, said), (0, b""), (1, b"x"))
    client, server = ends
    expected = [
        # direction, sequence number, acknowledged, flags, data
        (0, 1000, 0, "S", b""),
        (1, 5000, 1001, "SA", b""),
        (0, 1001, 5001, "A", b""),
        (0, 1001, 5001, "PA", asked),
        (1, 5001, 1001 + len(asked), "PA", said),
        (1, 5001 + len(said), 1001 + len(asked), "PA", b"x"),
        (0, 1001 + len(asked), 5002 + len(said), "FA", b""),
        (1, 5002 + len(said), 1002 + len(asked), "FA", b""),
    ]
    for one, (direction, number, acknowledged, flags, data) in zip(found, expected, strict=True):
        source, target = (client, server) if direction == 0 else (server, client)
        ip = (
            IP(src=source[0], dst=target[0], id=0, flags="DF", ttl=64)
            if ends is FOUR
            else IPv6(src=source[0], dst=target[0], hlim=64)
        )
        tcp = TCP(sport=source[1], dport=target[1], seq=number, ack=acknowledged, flags=flags, window=65535)
        assert one.data == bytes(ip / tcp / data)
    assert all(before.time_ns <= after.time_ns for before, after in pairwise(found))


def test_long_data_are_cut_into_segments_of_32_kib() -> None:
    data = bytes(range(256)) * 300
    found = flow(FOUR, (1, data))[3:-2]
    assert [len(one.data) - 40 for one in found] == [32768, 32768, len(data) - 65536]
    assert b"".join(one.data[40:] for one in found) == data
    assert [unpack_from(">I", one.data, 24)[0] for one in found] == [5001, 5001 + 32768, 5001 + 65536]


def test_a_recording_is_a_pcapng_file(tmp_path: Path) -> None:
    packets = [
        Recorded(1_700_000_000_123_456_789, flow(FOUR, (0, b"odd"))[3].data),
        Recorded((1 << 32) * 395_812_345 + 7, flow(FOUR, (0, b"even"))[3].data),
    ]
    data = pcapng(packets, "pcq-analyzer 1.0")
    (tmp_path / "made.pcapng").write_bytes(data)
    frames = read([tmp_path / "made.pcapng"])[0]
    assert [(frame.time_ns, frame.data) for frame in frames] == [(one.time_ns, one.data) for one in packets]
    blocks, at = [], 0
    while at < len(data):
        kind, length = unpack_from("<II", data, at)
        assert (length % 4, unpack_from("<I", data, at + length - 4)[0]) == (0, length)
        blocks.append((kind, data[at + 8 : at + length - 4]))
        at += length
    # draft-ietf-opsawg-pcapng: section header with shb_userappl (4), interface of LINKTYPE_RAW with if_tsresol (9) 10^-9.
    assert [kind for kind, _ in blocks] == [0x0A0D0D0A, 1, 6, 6]
    assert blocks[0][1] == bytes.fromhex("4d3c2b1a01000000ffffffffffffffff04001000") + b"pcq-analyzer 1.0" + bytes(4)
    assert blocks[1][1] == bytes.fromhex("65000000000000000900010009000000" + "00000000")
    length = len(packets[0].data)
    assert unpack_from("<IIIII", blocks[2][1]) == (0, *divmod(packets[0].time_ns, 1 << 32), length, length)
    assert pcapng([], "") == pcapng(packets, "")[: len(pcapng([], ""))]


def test_other_programs_are_told_what_to_capture() -> None:
    wanted = "tcp and host 10.0.0.1 and port 445"
    server = ("10.0.0.1", 445)
    assert _arguments("dumpcap", Path("f"), server) == ["-i", "any", "-q", "-f", wanted, "-w", "f"]
    assert _arguments("tcpdump", Path("f"), server) == [
        *("-i", "any", "-U", "--immediate-mode", "-s", "0", "-w", "f"),
        wanted,
    ]
    with captured_by("no-such-program-anywhere", server) as captured:
        assert captured is None
