"""Which frames are read by the block, which are left to be read one by one, and which are dismissed: each length, each byte.

`ways.txt` has it for frames of each shape, cut at each length, and with each byte of their headers replaced by each value:

    p  TCP found by the block, of a port of ours        L  left, to be read alone
    u  TCP of another port, its payload is looked at    .  dismissed: it carries no TCP
    o  such TCP, and its payload may begin like ours    t  TCP of another port, whose payload begins like none of ours

Bytes with the same outcomes share a line. `22.. as ethernet 14..`: from byte 22 on it is as in that frame from byte 14 on.
Whatever is left is read right, and slowly; what is dismissed must be what the plain reader finds nothing in.
"""

import re
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from analyzer.capture.frame_blocks import FrameBlock, heads_of
from analyzer.transport.packet.common_frame_shapes import FEWEST_FRAMES, TcpFrames, is_common, sort_out
from analyzer.transport.packet.flow_candidates import may_begin_like_ours
from analyzer.transport.packet.frame_dissector import Found, FrameDissector, LostSegment
from analyzer.transport.packet.tunnels import Views
from tests.build.packet import T0, ethernet, gre, ipv4, ipv6, tcp, udp
from tests.transport.packet.test_link_layers_and_tunnels import EXTENDED, LINKS, PAYLOAD, TUNNELS, on_ethernet

HTTP = b"GET / HTTP/1.1\r\n"
SMB = b"\0\0\0\x40\xfeSMB" + bytes(8)
OTHER = {
    "http": (1, ethernet(ipv4(tcp(HTTP, dport=80)))),
    "http-6": (1, ethernet(ipv6(tcp(HTTP, dport=80)), 0x86DD)),
    "smb on another port": (1, ethernet(ipv4(tcp(SMB, dport=4450)))),
    "bare smb with options": (1, ethernet(ipv4(tcp(SMB[4:], dport=4450, options=b"\1" * 8)))),
    "dcerpc": (1, ethernet(ipv4(tcp(b"\5\0\x0b\3\x10\0\0\0" + bytes(8), sport=49664, dport=50001)))),
    "dns": (1, ethernet(ipv4(udp(bytes(30)), protocol=17))),
    "kdc": (1, ethernet(ipv4(udp(bytes(30), sport=88), protocol=17))),
    "kdc-6": (1, ethernet(ipv6(udp(bytes(30), sport=88), protocol=17), 0x86DD)),
    "icmp": (1, ethernet(ipv4(bytes(30), protocol=1))),
    "icmp-6": (1, ethernet(ipv6(bytes(30), protocol=58), 0x86DD)),
    "gre of another protocol": (1, ethernet(ipv4(gre(bytes(30), 0x1234), protocol=47))),
    "vxlan without a network": (1, ethernet(ipv4(udp(bytes(40), dport=4789), protocol=17))),
    "gtp-u without a packet": (1, ethernet(ipv4(udp(b"\x30\x01" + bytes(40), dport=2152), protocol=17))),
    "ipv4 options": (1, ethernet(ipv4(tcp(PAYLOAD), options=b"\1" * 8))),
    "fragment": (1, ethernet(ipv4(tcp(PAYLOAD), more=True))),
}
FRAMES: dict[str, tuple[int, bytes]] = {
    **{name: LINKS[name] for name in LINKS if LINKS[name][0] in (1, 113, 276, 101, 228, 229, 0, 108)},
    **{f"tunnel {name}": on_ethernet(one) for name, one in TUNNELS.items()},
    **{f"extended {name}": on_ethernet(one) for name, one in EXTENDED.items()},
    **OTHER,
}
# Of these each byte is replaced as well.
EACH_BYTE = (
    *(
        "ethernet",
        "ethernet-6",
        "qinq",
        "sll",
        "sll2-6",
        "raw",
        "null",
        "loop-6",
        "ipv4 options",
        "smb on another port",
    ),
    *("bare smb with options", "dcerpc", "dns"),
    *(
        f"tunnel {name}"
        for name in ("ip-in-ip", "6in6", "gre-all", "gre-bridged", "erspan-2", "erspan-3-more", "vxlan")
    ),
    *(f"tunnel {name}" for name in ("geneve", "geneve-ip", "gtp-u", "gtp-u-6", "gtp-u-extended")),
)


# Frames that others end as, from some byte on.
ENDS = ("ethernet", "ethernet-6")


def block_of(frames: list[bytes], link_type: int) -> FrameBlock:
    """Frames one behind the other, with two bytes between them."""
    captured = np.array([len(frame) for frame in frames], np.int64)
    starts = 16 + np.cumsum(captured + 2) - captured - 2
    data = bytes(16) + b"\xee\xee".join(frames)
    numbers = np.arange(1, len(frames) + 1)
    times = T0 + numbers * 1000
    return FrameBlock(data, link_type, numbers, times, starts, captured, captured, heads_of(data, starts))


def letters(block: FrameBlock) -> str:
    views = Views(block.data)
    found, left = sort_out(block, views)
    way = np.full(len(block), ".")
    way[found.index] = np.where(found.by_port, "p", np.where(found.unclear, "u", "t"))
    assert not (found.by_port & found.unclear).any()
    way[found.index[may_begin_like_ours(block, views, found)]] = "o"
    way[left] = "L"
    assert not np.isin(left, found.index).any()
    assert (np.diff(found.index) > 0).all()
    assert (np.diff(left) > 0).all()
    return "".join(way.tolist())


def runs(way: str) -> str:
    """`.34 p100`: how many of each, one after the other."""
    return " ".join(f"{letter}{len(list(alike))}" for letter, alike in groupby(way))


def ranges(way: str) -> str:
    """Which values of a byte have which letter; the letter that most have comes last, without its values."""
    usual = max(sorted(set(way)), key=way.count)
    parts = []
    for letter in sorted(set(way) - {usual}):
        places = [at for at, one in enumerate(way) if one == letter]
        spans: list[list[int]] = []
        for at in places:
            if spans and spans[-1][1] == at - 1:
                spans[-1][1] = at
            else:
                spans.append([at, at])
        shown = ",".join(f"{low:02x}" if low == high else f"{low:02x}-{high:02x}" for low, high in spans)
        parts.append(f"{letter} {shown};")
    return " ".join([*parts, f"else {usual}"])


def replaced(frame: bytes, at: int) -> list[bytes]:
    return [frame[:at] + bytes([value]) + frame[at + 1 :] for value in range(256)]


def of_rows(rows: dict[int, str], name: str, table: Path) -> str:
    """A frame's outcomes by offset; where it ends as a frame of the table does, only that."""
    tail = ""
    for base in () if name in ENDS else ENDS:
        found = re.findall(r"^ +([\d ]+): (.*)$", stated(base, table), re.MULTILINE)
        known = {int(at): outcome for offsets, outcome in found for at in offsets.split()}
        shift = max(rows, default=0) - max(known)
        last = max((at for at in range(max(known) + 1) if rows.get(at + shift) != known.get(at)), default=-1)
        same = [at for at in known if at > last]
        if len(same) > 2:
            rows = {at: outcome for at, outcome in rows.items() if at < min(same) + shift}
            tail = f"  {min(same) + shift:3}.. as {base} {min(same)}..\n"
            break
    places: dict[str, list[str]] = {}
    for at, outcome in rows.items():
        places.setdefault(outcome, []).append(f"{at:3}")
    return "".join(f"  {' '.join(each)}: {outcome}\n" for outcome, each in places.items()) + tail


def described(name: str) -> str:
    link_type, frame = FRAMES[name]
    # Behind the headers and the first bytes of the payload nothing is looked at.
    stop = len(frame) - len(PAYLOAD) + 16 if PAYLOAD in frame else len(frame)
    cuts = [frame[:length] for length in range(stop + 1)]
    ways = {at: letters(block_of(replaced(frame, at), link_type)) for at in range(stop) if name in EACH_BYTE}
    rows = {at: ranges(way) for at, way in ways.items() if len(set(way)) > 1}
    return f"{name}\n  cut {runs(letters(block_of(cuts, link_type)))}\n{of_rows(rows, name, TABLE)}"


TABLE = Path(__file__).parent / "tables" / "ways.txt"


def stated(name: str, table: Path) -> str:
    """What a table has of a frame."""
    found = re.search(rf"^{re.escape(name)}\n(?: .*\n)+", table.read_text("utf-8"), re.MULTILINE)
    return found[0] if found else ""


@pytest.mark.parametrize("name", FRAMES)
def test_each_length_and_each_byte_of_headers_decides_how_a_frame_is_read(name: str) -> None:
    assert described(name) == stated(name, TABLE)


def test_the_table_has_no_other_frames() -> None:
    assert TABLE.read_text("utf-8") == "".join(stated(name, TABLE) for name in FRAMES)


@pytest.mark.parametrize("name", EACH_BYTE)
def test_what_the_block_says_of_changed_frames_is_what_each_says_alone(name: str) -> None:
    """A sample of the same frames, each byte with some of its values."""
    link_type, frame = FRAMES[name]
    stop = len(frame) - len(PAYLOAD) if PAYLOAD in frame else len(frame)
    frames = [one for at in range(stop) for one in replaced(frame, at)[at % 101 :: 101]]
    frames += [frame[:length] for length in range(0, stop, 7)]
    block = block_of(frames, link_type)
    found, left = sort_out(block, Views(block.data))
    tcp_at = dict(zip(found.index.tolist(), (found.tcp - block.starts[found.index]).tolist(), strict=True))
    plain = FrameDissector()
    for index in sorted({*range(len(frames))} - {*left.tolist()}):
        items = [item for item in plain.dissect(block.frame(index)) if isinstance(item, Found | LostSegment)]
        if index not in tcp_at:
            assert items == []
        else:
            (item,) = items
            at = tcp_at[index]
            ports = (
                int.from_bytes(frames[index][at : at + 2], "big"),
                int.from_bytes(frames[index][at + 2 : at + 4], "big"),
            )
            if isinstance(item, Found):
                assert (item.src[1], item.dst[1]) == ports
            else:
                assert (item.ends[0][1], item.ends[1][1]) == ports


@pytest.mark.parametrize(
    ("link_type", "is_known"),
    [
        *((one, True) for one in (0, 1, 101, 108, 113, 228, 229, 276)),
        *((one, False) for one in (9, 12, 50, 105, 239, 258)),
    ],
)
def test_few_frames_and_seldom_link_types_are_read_one_by_one(link_type: int, is_known: bool) -> None:
    assert FEWEST_FRAMES == 16
    for count in (15, 16, 17):
        assert is_common(block_of([bytes(60)] * count, link_type)) == (is_known and count >= 16)


def test_both_directions_of_a_flow_have_one_pair_of_ports() -> None:
    ports = [(50000, 445), (445, 50000), (1, 2), (2, 1), (65535, 0), (7, 7)]
    block = block_of([ethernet(ipv4(tcp(b"x", sport=one, dport=other))) for one, other in ports], 1)
    views = Views(block.data)
    found, _ = sort_out(block, views)
    assert isinstance(found, TcpFrames)
    assert found.port_pairs(views).tolist() == [min(ends) << 16 | max(ends) for ends in ports]
    chosen = found.chosen(np.array([1, 3]))
    assert (chosen.index.tolist(), chosen.by_port.tolist()) == ([1, 3], [True, False])
    assert chosen.unclear.tolist() == [False, False]
    assert (chosen.tcp - chosen.ip).tolist() == [20, 20]
    assert (chosen.ip - block.starts[chosen.index]).tolist() == [14, 14]
