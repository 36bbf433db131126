"""Evasions that are known from intrusion detection, and what comes of each: `evasions.txt` has both, and each name is a promise.

Most are of Ptacek and Newsham, "Insertion, Evasion, and Denial of Service" (1998), of Novak's and Sturges's models of overlaps
(2005, 2007), of what fragroute does, and of what Suricata's stream events are named for; all bytes are ours.

A word is a frame: `c@0=ask` data of the client from byte 0 on, which is the first behind its greeting, `~`, by which SMB is
recognised; `c.fin@3`, `c.rst@3`, `c.syn@3`, `c.ack@3` segments with flags of their own, with data behind `=` or without; `open` is
a handshake and the greeting, of which nothing is said where it comes first. `^2` behind the place: it acknowledges only so much of
the other end. Behind `!` stands what is odd:

* `sum`, `ipsum` wrong checksums; `null` no flags, `urg` the urgent flag beside the others; `ttl` hops that do not suffice;
* `paws` a timestamp that is too old, `md5` a signature that nobody asked for, `route` strict source routing;
* `doff` a TCP header longer than the segment, `ihl` an IP header shorter than one, `long`, `short` a length that is not the
  packet's, `pad` bytes behind the packet;
* `part=8:24` the fragment of these bytes of what IP carries (`8:` to the end), `id=2` of this datagram;
* `v6` IPv6, `ext=3` so many extension headers, `atomic` a fragment header though it is whole; `vlan=2`, `ipip=2`, `gre`, `vxlan`
  what is around it.

`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes what comes out.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pytest

from analyzer.core.events import CaptureEnds, Event
from analyzer.core.limits import DEFAULTS
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, RST, SYN, URG
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.tcp.reassembler import Reassembler
from analyzer.transport.tcp.stream_events import StreamBatch
from analyzer.transport.tcp.tcp_states import TcpTimeouts
from tests.build.packet import (
    CLIENT,
    CLIENT6,
    SERVER,
    SERVER6,
    block,
    ethernet,
    extension,
    gre,
    ipv4,
    ipv6,
    ipv6_fragment,
    smb2,
    tcp,
    vxlan,
    with_checksum,
)
from tests.build.tcp import Everything
from tests.transport.tcp.test_whole_connections import line_of, lines_of
from tests.written import Told

_WORD = re.compile(
    r"(?P<end>[cs])(\.(?P<flag>syn|ack|fin|rst))?@(?P<at>-?\d+)(\^(?P<ack>\d+))?(=(?P<data>[^!]*))?(?P<odd>(!.*)?)"
)
_ISN = {"c": 1000, "s": 9000}
_PORTS = {"c": 50000, "s": 445}
_GREETING = smb2()
# Where the client's SYN stands, in front of the greeting.
_SYN_AT = -len(_GREETING) - 1
_FLAGS = {"syn": SYN, "ack": ACK, "fin": FIN | ACK, "rst": RST | ACK, None: ACK | PSH}
# A TCP timestamp, one that is older, and a signature (RFC 7323, RFC 2385); strict source routing (RFC 791).
_OPTIONS = {"paws": b"\1\1\x08\x0a" + pack(">II", 1, 0), "md5": b"\x13\x12" + bytes(16) + b"\1\1"}
_ROUTE = b"\x89\x07\x04\x01\x02\x03\x04\0"


class _Scene:
    """The frames of a paragraph; each end knows how much the other sent."""

    def __init__(self) -> None:
        # Up to where each end has sent, and the other acknowledges.
        self._sent = {"c": _SYN_AT + 1, "s": 0}
        self.frames: list[bytes] = []

    def add(self, word: str) -> None:
        if word == "open":
            for one in (f"c.syn@{_SYN_AT}", "s.syn@-1", "c.ack@0", f"c@{-len(_GREETING)}=~"):
                self.add(one)
            return
        found = _WORD.fullmatch(word)
        assert found is not None, word
        odd = dict(part.partition("=")[::2] for part in found["odd"].split("!")[1:])
        end, data = found["end"], (found["data"] or "").encode().replace(b"~", _GREETING)
        ack = self._sent["s" if end == "c" else "c"] if found["ack"] is None else int(found["ack"])
        flags = 0 if "null" in odd else _FLAGS[found["flag"]] | URG * ("urg" in odd)
        flags |= ACK * (found["flag"] == "syn" and end == "s")
        self._segment(end, flags, int(found["at"]), ack, data, odd)
        # Nobody acknowledges what is forged.
        if set(odd) <= {"v6", "urg"} and (found["flag"] is None or int(found["at"]) == _SYN_AT):
            self._sent[end] = max(self._sent[end], int(found["at"]) + len(data))

    def _segment(self, end: str, flags: int, at: int, ack: int, data: bytes, odd: dict[str, str]) -> None:
        other = "s" if end == "c" else "c"
        src, dst = (CLIENT6, SERVER6) if "v6" in odd else (CLIENT, SERVER)
        made = tcp(
            data,
            sport=_PORTS[end],
            dport=_PORTS[other],
            seq=_ISN[end] + 1 + at,
            ack=_ISN[other] + 1 + ack if flags & ACK else 0,
            flags=flags,
            options=next((option for name, option in _OPTIONS.items() if name in odd), b""),
        )
        if "doff" in odd:
            made = made[:12] + b"\xf0" + made[13:]
        ends = (src, dst) if end == "c" else (dst, src)
        made = with_checksum(made, *ends)
        if "sum" in odd:
            made = made[:16] + bytes([made[16] ^ 0x55]) + made[17:]
        self.frames.append(_around(_ip(made, *ends, odd), odd))


def _ip(segment: bytes, src: str, dst: str, odd: dict[str, str]) -> bytes:
    start, _, stop = odd.get("part", "0:").partition(":")
    first, last = int(start), int(stop) if stop else len(segment)
    piece, more = segment[first:last], bool(stop)
    ident = int(odd.get("id", 1))
    if "v6" in odd:
        protocol = 6
        if "part" in odd or "atomic" in odd:
            piece, protocol = ipv6_fragment(protocol, piece, offset=first, more=more, ident=ident), 44
        for _ in range(int(odd.get("ext", 0))):
            piece, protocol = extension(protocol, piece), 60
        return ipv6(piece, src=src, dst=dst, protocol=protocol)
    total = 20 + len(piece) + (8 if "long" in odd else -4) if {"long", "short"} & set(odd) else None
    made = ipv4(
        piece,
        src=src,
        dst=dst,
        ident=ident,
        offset=first,
        more=more,
        total=total,
        options=_ROUTE if "route" in odd else b"",
        checksum=0x1234 if "ipsum" in odd else None,
    )
    if "ttl" in odd:  # one hop in place of 64, and a checksum of that
        total = int.from_bytes(made[10:12], "big") + (63 << 8)
        made = made[:8] + b"\1" + made[9:10] + pack(">H", (total & 0xFFFF) + (total >> 16)) + made[12:]
    return b"\x44" + made[1:] if "ihl" in odd else made


def _around(packet: bytes, odd: dict[str, str]) -> bytes:
    kind = 0x86DD if "v6" in odd else 0x0800
    if "gre" in odd:
        packet, kind = ipv4(gre(packet, kind), src="10.9.0.1", dst="10.9.0.2", protocol=47), 0x0800
    if "vxlan" in odd:
        packet, kind = ipv4(vxlan(ethernet(packet, kind)), src="10.9.0.1", dst="10.9.0.2", protocol=17), 0x0800
    for _ in range(int(odd.get("ipip", 0))):
        packet, kind = ipv4(packet, src="10.9.0.1", dst="10.9.0.2", protocol=41 if kind == 0x86DD else 4), 0x0800
    made = ethernet(packet, kind, tags=[0x8100] * int(odd.get("vlan", 0)))
    return made + b"PADDED" * ("pad" in odd)


def _events(frames: list[bytes], *, fast: bool) -> Iterator[Event]:
    dissector = Dissector(fast=fast)
    streams = Reassembler(DEFAULTS, Everything(), timeouts=TcpTimeouts())
    for below in [*dissector.feed(block(frames)), *dissector.finish(), CaptureEnds()]:
        yield from streams.feed(below)
    yield from streams.finish()


def said(words: str) -> str:
    """What comes out, which is the same however frames are read."""
    scene = _Scene()
    for word in words.split():
        scene.add(word)
    lines, plainly = (lines_of(_events(scene.frames, fast=fast), _line) for fast in (True, False))
    assert lines == plainly
    if words.split()[0] == "open":
        assert lines.pop(0) == "0 > 0 '~' at 4"
    return "".join(f"  = {line}\n" for line in lines)


def _line(event: Event | str) -> str:
    if not isinstance(event, StreamBatch):
        return line_of(event)
    data = event.data.data.replace(_GREETING, b"~").decode()
    frames = ",".join(map(str, event.data.frames))
    return f"{event.connection.number} {'><'[event.direction]} {event.offset} {data!r} at {frames}"


TOLD = Told(Path(__file__).parent / "evasions.txt", said)


@pytest.mark.parametrize("name", TOLD.words)
def test_what_comes_of_an_evasion_is_what_was_read_through(name: str) -> None:
    TOLD.holds(name)
