"""pcapng files: sections, interfaces, clocks and every block that carries a frame (draft-ietf-opsawg-pcapng, section 4), each field
at its bounds. `pcapng.txt` has what is read and said of each file, and each name is a promise."""

from collections.abc import Callable
from functools import partial
from io import BytesIO
from itertools import groupby
from pathlib import Path
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.frame_blocks import Frame
from analyzer.capture.pcapng import time_ns
from analyzer.capture.record_walk import SpeculativeScan
from analyzer.core.limits import Limits
from tests.build.capture import T0, Pcapng, as_given, frames_of, pcapng, read
from tests.written import Outcomes

FRAMES = frames_of(300)
A, B = b"a" * 60, b"b" * 61
SECOND = 10**9


def section(order: str) -> Pcapng:
    return Pcapng(order).section()


def plain(order: str = "<") -> Pcapng:
    """A section with one interface."""
    return section(order).interface()


def described(order: str, *options: tuple[int, bytes], link_type: int = 1, body: bytes | None = None) -> Pcapng:
    """An interface with these options, and one frame of 3,000,000 units on it."""
    packed = b"".join(Pcapng(order).option(code, value) for code, value in options)
    fixed = pack(order + "HHI", link_type, 0, 0)
    return section(order).block(1, body or fixed + packed).enhanced(3_000_000, A)


def numbered(order: str, kind: int) -> Pcapng:
    return plain(order).enhanced(1, A).block(kind, bytes(24)).enhanced(2, A)


def resolved(order: str, resolution: int, units: int) -> Pcapng:
    return section(order).interface(resolution=resolution).enhanced(units, A)


def snapped(order: str, wire: int, snaplen: int) -> Pcapng:
    return section(order).interface(snaplen=snaplen).enhanced(7_000_000, A).simple(A, wire=wire)


def after_name(order: str, name: bytes) -> Pcapng:
    return described(order, (2, name), (9, b"\x03"))


def secret(order: str, kind: int) -> Pcapng:
    return section(order).block(10, pack(order + "II", kind, 20) + b"CLIENT_RANDOM 00 112")


def damaged(order: str, length: int) -> Pcapng:
    """Between good blocks one that says it has so many bytes."""
    file = plain(order).enhanced(1, A).enhanced(2, B)
    bad = Pcapng(order).enhanced(3, A).data
    file.data += bad[:4] + pack(order + "I", length) + bad[8:] + Pcapng(order).enhanced(1, A).data * 3
    return file


def cut(file: Pcapng, size: int) -> Pcapng:
    file.data = file.data[:size]
    return file


def simple_packets(order: str) -> Pcapng:
    file = plain(order).simple(A).enhanced(5_000_000, A).simple(A).simple(A)
    return file.interface(resolution=9).enhanced(4 * SECOND, A, interface=1).simple(A)


def obsolete(order: str) -> Pcapng:
    file = section(order).interface(1).interface(113).obsolete(1_000_000, A, interface=1, drops=9)
    return file.obsolete(2_000_000, A, interface=0, drops=0xFFFF)


def longer_frame(order: str, captured: int) -> Pcapng:
    head = pack(order + "IIIII", 0, 0, 9, captured, 60)
    return plain(order).enhanced(1, A).block(6, head + A).enhanced(2, A)


def three_links(order: str) -> Pcapng:
    file = plain(order).interface(113).interface(101)
    return file.enhanced(1, A, interface=1).enhanced(2, A, interface=2)


def named(order: str) -> Pcapng:
    file = section(order)
    four, six = bytes([10, 0, 0, 1]), bytes(15) + b"\1"
    records = [
        (3, b"unknown"),
        (1, four),
        (1, four + b"\0rest"),
        (1, four + b"first\0second\0"),
        (1, four + b"later\0"),
    ]
    records += [(2, six + b"x" * 300), (0, b""), (1, bytes([10, 0, 0, 2]) + b"behind\0")]
    return file.block(4, b"".join(file.option(*one) for one in records)).interface().enhanced(1, A)


def cut_name(order: str, more: int) -> Pcapng:
    """Options and names without what ends them (section 3.5); the name says it is longer than it is."""
    file = section(order)
    file.block(1, pack(order + "HHI", 1, 0, 0) + file.option(14, pack(order + "q", 5)))
    record = bytes([192, 0, 2, 1]) + b"abcdefg\0"
    return file.block(4, pack(order + "HH", 1, len(record) + more) + record).enhanced(1_000_000, A)


def second_section(_: str, head: bytes) -> Pcapng:
    order = "<" if head[8:12] != pack(">I", 0x1A2B3C4D) else ">"
    file = plain().enhanced(1, A)
    file.data += head + Pcapng(order).section().data[12:] + Pcapng(order).interface().enhanced(2, A).data
    return file


def cut_section(_: str, size: int) -> Pcapng:
    file = plain().enhanced(1, A)
    file.data += pack("<III", 0x0A0D0D0A, 28, 7)[:size]
    return file


def many_clocks(order: str, count: int) -> Pcapng:
    file = section(order)
    for number in range(count):
        file.interface(resolution=number % 10, offset_s=-number)
    for number in range(count):
        file.enhanced(3 * 10 ** (number % 10), A, interface=number)
    return file


def far_off(order: str, offset_s: int, count: int) -> Pcapng:
    file = section(order).interface(offset_s=offset_s)
    for unit in range(count):
        file.enhanced(unit, A)
    return file


def options_of(order: str, size: int) -> Pcapng:
    """Of no options and of no names, whatever the length of a block would be as an option."""
    return plain(order).block(4, b"").block(0x99, bytes(size)).enhanced(1_000_000, A)


RESOLUTIONS = {
    0: 3,
    6: 1_700_000_000_000_001,
    9: T0 + 1,
    12: 1_000_001_999,
    0x81: 3,
    0x80 | 30: (1_700_000_000 << 30) + (1 << 29),
    0x80 | 32: 1 << 31,
}
NUMBERED = (9, 0xBAD, 0x40000BAD, 0x204, 0x208, 0x216, 0x217, 0x221, 0x222)
LIMITED: dict[str, dict[str, int]] = {
    "interfaces beyond the bound are not read and their frames left out": {"interfaces": 2},
    "interfaces up to the bound are read": {"interfaces": 3},
    "names beyond the bound are counted": {"address_names": 2},
}
CASES: dict[str, Callable[[str], Pcapng]] = {
    "sections have their own byte order and interfaces": lambda order: (
        (section("<").interface(1).enhanced(1_000_000, A).section(">").interface(101).enhanced(2_000_000, B))
        .section("<")
        .interface(113)
        .enhanced(3_000_000, A)
    ),
    "interfaces have their own link type and clock": lambda order: (
        (section(order).interface(1, resolution=9).interface(101, resolution=3, offset_s=100))
        .enhanced(5, A)
        .enhanced(7, B, interface=1)
        .enhanced(6, A)
    ),
    **{
        f"time stamps are whole nanoseconds in resolution {resolution:#x}": partial(
            resolved, resolution=resolution, units=units
        )
        for resolution, units in RESOLUTIONS.items()
    },
    "all three packet blocks are frames in their order": lambda order: (
        (section(order).interface(snaplen=50).interface().enhanced(5_000, A, wire=1500))
        .simple(b"s" * 50, wire=900)
        .obsolete(6_000, B, interface=1, drops=3)
    ),
    # tshark 4.0 numbers journal entries and custom blocks, and passes over statistics and unknown blocks.
    "unknown blocks are skipped and numbers are Wireshark's": lambda order: (
        (section(order).block(0x77, b"unknown").interface().enhanced(1, A).block(9, b"__REALTIME_TIMESTAMP=1\n"))
        .enhanced(2, A)
        .block(0xBAD, b"1234x")
        .enhanced(3, A)
        .block(5, bytes(12))
        .block(0x99, bytes(4000))
        .enhanced(4, A)
    ),
    **{
        f"a block of type {kind:#x} has {'a' if kind in NUMBERED else 'no'} number, as in Wireshark": partial(
            numbered, kind=kind
        )
        for kind in (*NUMBERED, 5, 7, 8, 11, 0x205, 0x220)
    },
    "a huge unknown block is passed over without being held": lambda order: (
        plain(order).enhanced(1, A).block(0x99, bytes(17 << 20)).enhanced(2, B)
    ),
    "a huge unknown block may be cut": lambda order: cut(
        plain(order).enhanced(1, A).block(0x99, bytes(17 << 20)).enhanced(2, B), 17 << 20
    ),
    "names come from name resolution blocks": lambda order: section(order).names(
        [("192.0.2.1", "dc1.example"), ("2001:db8::1", "fs.example")]
    ),
    **{
        f"a damaged length ends the file with a problem: {length:#x}": lambda order, length=length: damaged(
            order, length
        )
        for length in (3, 0xFFFFFFF0, 96)
    },
    "a cut file gives everything before the cut and a problem": lambda order: cut(
        plain(order).enhanced(1, A).enhanced(2, B), -7
    ),
    **{
        f"{count} times beyond 64 bits of nanoseconds stop at the last there is, from {offset}": partial(
            far_off, offset_s=offset, count=count
        )
        for offset in (-(1 << 62), 1 << 62)
        for count in (1, 20)
    },
    "a resolution is one byte": lambda order: described(order, (9, b"\x03")),
    "a resolution is not two bytes": lambda order: described(order, (9, b"\x03\x00")),
    "a resolution is not without bytes": lambda order: described(order, (9, b"")),
    **{
        f"an option of {len(name)} bytes is passed over with its padding": partial(after_name, name=name)
        for name in (b"eth", b"eth0", b"ether")
    },
    "nothing is read behind the end of options": lambda order: described(order, (0, b""), (9, b"\x03")),
    "the last of two options counts": lambda order: described(order, (9, b"\x03"), (9, b"\x06")),
    "an offset of an interface may be negative": lambda order: described(order, (14, pack(order + "q", -5))),
    "an offset of an interface has eight bytes": lambda order: described(order, (14, bytes(4))),
    "a resolution may be finer than any time": lambda order: described(order, (9, b"\x7f")),
    "an interface too short to say anything has no known link type, and microseconds": lambda order: described(
        order, body=b"\1\0\0\0"
    ),
    "an interface has its link type": lambda order: described(order, link_type=113),
    **{
        f"a simple packet of {wire} bytes holds what the snapshot length {snaplen} left": partial(
            snapped, wire=wire, snaplen=snaplen
        )
        for wire, snaplen in ((60, 0), (60, 48), (100, 0), (60, 61), (58, 0))
    },
    "simple packets before any time are at zero, and after a block keep the last one": simple_packets,
    "a simple packet without an interface is left out": lambda order: section(order).simple(A).interface().simple(A),
    "an obsolete packet counts its drops beside its interface": obsolete,
    **{
        f"a frame of {captured:#x} bytes in a block for 60": partial(longer_frame, captured=captured)
        for captured in (60, 0, 61, 64, 1 << 31)
    },
    **dict.fromkeys([*LIMITED][:2], three_links),
    "names are read with their bounds": named,
    "names beyond the bound are counted": lambda order: (
        section(order).names([("10.0.0.1", "a"), ("10.0.0.2", "b"), ("10.0.0.1", "c"), ("10.0.0.3", "d")])
    ).names([("10.0.0.4", "e")]),
    **{
        f"secrets are named by their kind and not shown: {kind:#x}": partial(secret, kind=kind)
        for kind in (0x544C534B, 0x57474B4C, 0x5353484B, 0x12345678, 0x50435153)
    },
    "secrets of no bytes are named too": lambda order: section(order).block(10, pack(order + "II", 0x544C534B, 0)),
    "secrets without their length say nothing": lambda order: section(order).block(10, b"KLST"),
    **{
        f"a section header must be whole: {name}": partial(second_section, head=head)
        for name, head in {
            "it is": pack("<III", 0x0A0D0D0A, 28, 0x1A2B3C4D),
            "another byte order": pack("<II", 0x0A0D0D0A, 0x1C000000) + pack(">I", 0x1A2B3C4D),
            "a wrong mark": pack("<III", 0x0A0D0D0A, 28, 0x1A2B3C4E),
            "too short": pack("<III", 0x0A0D0D0A, 27, 0x1A2B3C4D),
            "too long": pack("<III", 0x0A0D0D0A, (16 << 20) + 1, 0x1A2B3C4D),
        }.items()
    },
    "a damaged section header is named once its byte order is there": partial(cut_section, size=12),
    "a damaged section header is a cut block before its byte order is there": partial(cut_section, size=11),
    **{f"{count} clocks give the times of each": partial(many_clocks, count=count) for count in (16, 17)},
    **{
        f"options and names may end with their block, and a name is read if all of it is there: {more}": partial(
            cut_name, more=more
        )
        for more in range(4)
    },
}


def of_frame(one: Frame) -> str:
    return f"{one.time_ns} ns link {one.link_type} {one.data[:1]!r}*{len(one.data)} of {one.original_length}"


def said(name: str) -> list[str]:
    """What is read and said of a file, which is the same in both byte orders and by both walks."""
    limits = Limits(**LIMITED.get(name, {}))
    found = []
    for order in "<>":
        for fast in (True, False):
            frames, problems, reader = read(BytesIO(CASES[name](order).data), fast=fast, limits=limits)
            lines = []
            for (_, what), run in groupby(enumerate(frames), lambda one: (one[1].frame - one[0], of_frame(one[1]))):
                numbers = [one.frame for _, one in run]
                lines.append(f"{numbers[0]}{f' to {numbers[-1]}' * (len(numbers) > 1)} {what}")
            lines += [f"{ip} is {called[:20]} ({len(called)})" for ip, called in reader.info.names.items()]
            found.append([*lines, *(f"{one.kind} at {one.frames}: {one.text}" for one in problems)])
    assert all(one == found[0] for one in found)
    return found[0]


OUTCOMES = Outcomes(Path(__file__).parent / "pcapng.txt", {name: name for name in CASES}, said)


@pytest.mark.parametrize("name", CASES)
def test_what_is_read_of_a_file_is_what_was_read_through(name: str) -> None:
    OUTCOMES.holds(name)


def test_what_is_read_of_files_is_written_as_it_is() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    OUTCOMES.is_as_written()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("fast", [True, False])
def test_either_byte_order_gives_the_same_frames(order: str, fast: bool) -> None:
    frames, problems, _ = read(BytesIO(pcapng(FRAMES, order=order)), fast=fast)
    assert as_given(frames) == FRAMES
    assert not problems


@pytest.mark.parametrize("order", ["<", ">"])
def test_no_options_and_no_names_may_be_of_any_length(order: str) -> None:
    for size in range(0, 40, 4):
        assert [frame.time_ns for frame in read(BytesIO(options_of(order, size).data))[0]] == [SECOND]


@pytest.mark.parametrize(("units", "per_s", "offset", "at_ns"), [(7, 4, 0, 1_750_000_000), (1, 3, -1, -666_666_667)])
def test_a_time_is_rounded_down_to_whole_nanoseconds(units: int, per_s: int, offset: int, at_ns: int) -> None:
    assert time_ns(units, per_s, offset) == at_ns


def test_many_interfaces_and_clocks_stay_quick():
    file = Pcapng().section()
    parts = []
    for number in range(3000):
        file.interface(offset_s=number).enhanced(number, A, interface=number)
        parts.append(file.data)
        file.data = b""
    frames, problems, _ = read(BytesIO(b"".join(parts)))
    assert [frame.time_ns for frame in frames] == [n * 10**9 + n * 1000 for n in range(3000)]
    assert not problems


def test_short_sections_are_not_walked_to_the_end_of_the_file(monkeypatch):
    def walk(*_):
        raise AssertionError("a walk through all that is left of the block")

    monkeypatch.setattr(SpeculativeScan, "walk_records", walk)
    section = Pcapng().section().interface().enhanced(7, A).data
    frames, problems, _ = read(BytesIO(section * 500))
    assert len(frames) == 500
    assert not problems


@settings(max_examples=25)
@given(st.integers(0, 1500), st.integers(0, 2500), st.integers(0, 2**32), st.integers(0, 70_000), st.booleans())
def test_the_fast_walk_finds_what_the_plain_one_finds(count, size, seed, cut, big):
    sizes = [(seed * (n + 1) >> 3) % (size + 1) for n in range(count)]
    frames = [(T0 + n * 10**6, (b"\6\0\0\0\x40\0\0\0" * size)[:length]) for n, length in enumerate(sizes)]
    data = pcapng(frames, order=">" if big else "<")
    data = data[: max(len(data) - cut, 48)]
    assert read(BytesIO(data))[:2] == read(BytesIO(data), fast=False)[:2]


@settings(max_examples=60)
@given(st.binary(max_size=200), st.integers(0, 40_000), st.booleans())
def test_spliced_bytes_give_frames_and_problems_and_nothing_else(noise, place, fast):
    data = pcapng(FRAMES)
    place = 48 + place % (len(data) - 48)
    frames, _, _ = read(BytesIO(data[:place] + noise + data[place:]), fast=fast)
    assert as_given(frames)[:1] == FRAMES[:1] or place < 200
