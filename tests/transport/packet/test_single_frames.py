"""What a frame on its own gives: cut at each length, and with each bit of its headers turned.

`alone.txt` has it for frames of each link layer, tunnel and extension header:

    F44+0   TCP with so many bytes of payload, and so many that were not captured       U30   a datagram of a KDC
    t m g l truncated, malformed, a gap, beyond a limit; with `e` where the ends of the flow are known
    .       nothing: it carries no TCP that is read

`cut` are outcomes of the lengths from 0 on, of frames that were cut by the snapshot length, then of such as were no longer on the
wire; below it, by offset, what becomes of the frame when bits of the byte there are turned, where that changes the outcome (`any`
for each of the eight; `22.. as ethernet 14..`: from byte 22 on it is as in that frame from byte 14 on).
"""

from itertools import groupby
from pathlib import Path

import pytest

from analyzer.capture.frame_blocks import Frame
from analyzer.transport.packet.frame_dissector import Found, FrameDissector, LostSegment
from analyzer.transport.packet.segment import UdpPayload
from tests.build.packet import T0
from tests.transport.packet.test_frames_read_by_block import FRAMES, LINKS, of_rows, stated
from tests.transport.packet.test_link_layers_and_tunnels import PAYLOAD

ALONE: dict[str, tuple[int, bytes]] = {
    **{name: one for name, one in LINKS.items() if not name.startswith("scapy")},
    **{name: one for name, one in FRAMES.items() if name not in LINKS and "scapy" not in name},
}
TABLE = Path(__file__).parent / "tables" / "alone.txt"


def outcome(link_type: int, data: bytes, wire: int) -> str:
    dissector = FrameDissector()
    items = [*dissector.dissect(Frame(1, T0, link_type, data, wire)), *dissector.finish()]
    shown = []
    for item in items:
        if isinstance(item, Found):
            shown.append(f"F{len(item.payload)}+{item.missing}")
        elif isinstance(item, LostSegment):
            shown.append(item.kind[0] + ("e" if item.ends is not None else ""))
        elif isinstance(item, UdpPayload):
            shown.append(f"U{len(item.payload)}")
        else:
            shown.append("P")
    return ",".join(shown) or "."


def runs(outcomes: list[str]) -> str:
    parts = []
    for one, alike in groupby(outcomes, lambda text: "F" if text.startswith("F") else text):
        found = list(alike)
        parts.append(f"{one} x{len(found)}" if one != "F" else f"{found[0]} to {found[-1]} x{len(found)}")
    return "; ".join(parts)


def turned(link_type: int, frame: bytes, at: int) -> str:
    """What each bit of a byte changes."""
    usual = outcome(link_type, frame, len(frame))
    changes: dict[str, list[str]] = {}
    for bit in range(8):
        other = frame[:at] + bytes([frame[at] ^ 1 << bit]) + frame[at + 1 :]
        found = outcome(link_type, other, len(frame))
        if found != usual:
            changes.setdefault(found, []).append(f"{1 << bit:02x}")
    return "; ".join(f"{'|'.join(bits) if len(bits) < 8 else 'any'} {found}" for found, bits in changes.items())


def described(name: str) -> str:
    link_type, frame = ALONE[name]
    stop = len(frame) - len(PAYLOAD) + 2 if PAYLOAD in frame else len(frame)
    snapped = [outcome(link_type, frame[:length], len(frame)) for length in range(stop + 1)]
    short = [outcome(link_type, frame[:length], length) for length in range(stop + 1)]
    rows = {at: changes for at in range(stop) if (changes := turned(link_type, frame, at))}
    return f"{name}\n  cut {runs(snapped)}\n  short {runs(short)}\n{of_rows(rows, name, TABLE)}"


@pytest.mark.parametrize("name", ALONE)
def test_each_length_and_each_bit_of_headers_decides_what_a_frame_gives(name: str) -> None:
    assert described(name) == stated(name, TABLE)


def test_the_table_has_no_other_frames() -> None:
    assert TABLE.read_text("utf-8") == "".join(stated(name, TABLE) for name in ALONE)
