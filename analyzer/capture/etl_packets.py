"""Reads the packets in the events of a Windows trace: a row of numbers for each, and its bytes. Packets that lie in several events
are joined, and those that pktmon reported at several components are recognised.

Microsoft-Windows-NDIS-PacketCapture (`netsh trace start capture=yes`), Microsoft-Windows-Ras-NdisWanPacketCapture and
Microsoft-Windows-PktMon (`pktmon start --capture`) carry packets. Interfaces are named as the published converter names them
(microsoft/etl2pcapng).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

import numpy as np
from msgspec.structs import replace

from analyzer.capture.etl_buffers import (
    DIRECTION_TAGS,
    EXTENDED_ITEM,
    KEYWORDS,
    MANIFEST_EVENT,
    MANIFEST_EVENT_LEN,
    NDIS_FRAGMENT,
    PACKET_TYPES,
    PKTMON_COMPONENT,
    PKTMON_PACKET,
    SIZED,
    SWITCH_DESTINATION,
    SWITCH_SOURCE,
    Events,
    Int64s,
)
from analyzer.capture.frame_blocks import Heads, LinkType, rows_at
from analyzer.capture.pcap import MAX_FRAME_BYTES
from analyzer.capture.record_walk import words_of
from analyzer.core.limits import Limits
from analyzer.results.records.capture_records import TraceInterface

if TYPE_CHECKING:
    import numpy.typing as npt


def _guid(text: str) -> tuple[int, int]:
    """Returns the GUID of a provider of traced packets as the two numbers that stand in an event."""
    data = UUID(text).bytes_le
    return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")


NDIS_CAPTURE = _guid("2ed6006e-4729-4609-b423-3ee7bcd678ef")
RAS_CAPTURE = _guid("d84521f7-2235-4237-a7c0-14e3a9676286")
PKTMON = _guid("4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac")
_FRAGMENT, _SWITCH_FRAGMENT = 1001, 1003
_RAS_SENT, _RAS_RECEIVED = 5001, 5002
_COMPONENT, _PACKET, _DROPPED_PACKET = 20, 160, 170
_EXTENDED = 1
# There are not so many types of extended data items.
_MOST_ITEMS = 32
# Link types of packets that become no frame: unknown first bytes, missing events.
NO_LINK, LACKING = 0xFFFF, 0xFFFE
_LINKS = {
    PACKET_TYPES["ethernet"]: LinkType.ETHERNET,
    PACKET_TYPES["wifi"]: LinkType.IEEE802_11,
    PACKET_TYPES["ip"]: LinkType.RAW,
}
_OUT = tuple(DIRECTION_TAGS[name] for name in ("out", "tx", "egress"))
_IN = tuple(DIRECTION_TAGS[name] for name in ("in", "rx", "ingress"))
_MOST_NAME = 255
# The lengths of an Ethernet header and of the shortest IP headers.
_ETHERNET_LEN, _IPV4_LEN, _IPV6_LEN = 14, 20, 40
_ETHERTYPE_IPV4, _ETHERTYPE_IPV6 = 0x0800, 0x86DD
# Number 4 of what NDIS keeps beside a packet (NDIS_NET_BUFFER_LIST_INFO): priority, a bit, and the VLAN from bit 4 on.
_VLAN_PLACE, _VLAN_SHIFT, _VLAN_MASK = 4, 4, 0xFFF

# What an event says of its packet. `part`, `start` and `size` say where its bytes are, `at` where they lie in the file; `turn` is
# what packets are put in order by. `key` tells events of one thread, `group` and `place` tell a packet of pktmon; `link` is a
# LINKTYPE_ number.
ROW = np.dtype(
    [
        ("stamp", "<i8"),
        ("turn", "<i8"),
        ("original", "<i8"),
        ("at", "<i8"),
        ("start", "<i8"),
        ("size", "<i8"),
        ("key", "<u8"),
        ("group", "<u8"),
        ("process", "<u4"),
        ("interface", "<u4"),
        ("place", "<u2"),
        ("link", "<u2"),
        ("part", "u1"),
        ("begins", "?"),
        ("ends", "?"),
        ("sent", "?"),
        ("received", "?"),
        ("dropped", "?"),
    ]
)
Rows: TypeAlias = "npt.NDArray[np.void]"

# So many packets of several events may be incomplete at the same time.
_MOST_OPEN = 4096
# The place of the addresses in an IP header, and their number of 4-byte words, by version.
_ADDRESSES = {4: (12, 2), 6: (8, 8)}
# The header of an event between two packets, and what else may be there.
_MOST_TAKEN_ALONG = 256
# Bit 6 of the second byte of an 802.11 header.
_PROTECTED = 0x40
# An odd number without pattern: 2**64 divided by the golden ratio.
_MIX = np.uint64(0x9E3779B97F4A7C15)

# ------------------------------------------------------------------------------------------------------- packets in events


class PacketEvents:
    """Reads the packets in trace events, and collects the interfaces and the names of components."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._numbers: dict[tuple[int | str, ...], int] = {}
        self._interfaces: list[TraceInterface] = []
        self._components: dict[int, tuple[str, str]] = {}
        # Packet events that are shorter than they say.
        self.damaged = 0

    @property
    def interfaces(self) -> tuple[TraceInterface, ...]:
        """The interfaces in the packet events of the trace, with the names met so far."""
        return tuple(
            replace(each, name=self._components[each.number][0], description=self._components[each.number][1])
            if each.provider == "pktmon" and each.number in self._components
            else each
            for each in self._interfaces
        )

    def packets_of(self, events: Events) -> Rows:
        """Returns the packets in these trace events, one row each."""
        of_manifests = events.of_manifests()
        starts, ends = events.starts[of_manifests], events.ends[of_manifests]
        whole = ends - starts >= MANIFEST_EVENT_LEN
        starts, ends = starts[whole], ends[whole]
        heads = rows_at(events.data, starts, MANIFEST_EVENT_LEN).view(MANIFEST_EVENT)
        guids = np.ascontiguousarray(heads["provider_id"]).view("<u8").reshape(-1, 2)
        found = [np.empty(0, ROW)]
        for guid, take in ((NDIS_CAPTURE, self._ndis), (PKTMON, self._pktmon), (RAS_CAPTURE, self._ras)):
            mine = np.flatnonzero((guids[:, 0] == guid[0]) & (guids[:, 1] == guid[1]))
            if len(mine):
                theirs = chosen(heads, mine)
                at, stops = _data_places(events.data, theirs, starts[mine], ends[mine])
                found += take(events.data, theirs, at, stops)
        rows = together(found)
        if len(found) > 2:
            rows = chosen(rows, np.argsort(rows["start"]))
        rows["turn"] = events.turns(rows["start"], rows["stamp"])
        rows["at"] = events.in_file(rows["start"])
        return rows

    def _ndis(self, data: bytes, heads: Heads, at: Int64s, stops: Int64s) -> Iterator[Rows]:
        plain = np.flatnonzero(heads["id"] == _FRAGMENT)
        if len(plain):
            yield self._fragments(data, chosen(heads, plain), at[plain], stops[plain])
        odd = np.flatnonzero(heads["id"] == _SWITCH_FRAGMENT)
        if len(odd):
            yield self._one_by_one(data, heads[odd], at[odd], stops[odd], self._switch_fragment)

    def _fragments(self, data: bytes, heads: Heads, at: Int64s, stops: Int64s) -> Rows:
        places = at + NDIS_FRAGMENT.itemsize
        fields = rows_at(data, at, NDIS_FRAGMENT.itemsize).view(NDIS_FRAGMENT)
        sizes = fields["fragment_size"].astype(np.int64)
        good = places + sizes <= stops
        if not good.all():
            self.damaged += int((~good).sum())
            heads, fields, places, sizes = heads[good], fields[good], places[good], sizes[good]
        keywords = heads["keyword"]
        rows = _rows(heads, places, sizes)
        rows["link"] = _links(keywords)
        rows["original"] = _original(data, places, sizes, rows["link"])
        rows["interface"] = self._known(
            (fields["lower_if_index"], fields["miniport_if_index"], rows["link"]), self._adapter
        )
        return rows

    def _switch_fragment(self, data: bytes) -> tuple[int, int, int]:
        """Returns where the bytes of a virtual switch's packet lie in its trace event, how many there are, and its interface."""
        _, lower, port = SWITCH_SOURCE.unpack_from(data)
        port_name, at = _text(data, SWITCH_SOURCE.size)
        nic_name, at = _text(data, at)
        nic_type, at = _text(data, at)
        (count,) = SIZED.unpack_from(data, at)
        at += SIZED.size
        for _ in range(count):
            at += SWITCH_DESTINATION.size
            for _ in range(3):
                _, at = _text(data, at)
        place, size = _sized(data, at)
        beside, length = _sized(data, place + size)
        words = np.frombuffer(data, "<u8", length // 8, beside)
        vlan = int(words[_VLAN_PLACE]) >> _VLAN_SHIFT & _VLAN_MASK if len(words) > _VLAN_PLACE else 0
        name = f"vNIC:{nic_type}:{port_name}:{lower}:{vlan}"
        made = _interface("ndis", lower, LinkType.ETHERNET, name, nic_name)
        return place, size, self._number(("switch", lower, port, vlan), lambda: made)

    def _ras(self, data: bytes, heads: Heads, at: Int64s, stops: Int64s) -> Iterator[Rows]:
        mine = np.flatnonzero((heads["id"] == _RAS_SENT) | (heads["id"] == _RAS_RECEIVED))
        if len(mine):
            rows = self._one_by_one(data, heads[mine], at[mine], stops[mine], self._ras_packet)
            rows["begins"] = rows["ends"] = True
            yield rows

    def _ras_packet(self, data: bytes) -> tuple[int, int, int]:
        domain, at = _text(data, 0)
        user, at = _text(data, at)
        made = _interface("ras", 0, LinkType.ETHERNET, f"Rras:0:{domain}:{user}")
        return *_sized(data, at), self._number(("ras", domain, user), lambda: made)

    def _one_by_one(
        self, data: bytes, heads: Heads, at: Int64s, stops: Int64s, read: Callable[[bytes], tuple[int, int, int]]
    ) -> Rows:
        """Returns the packet rows of trace events that hold texts of any length before the packet. All packets are Ethernet."""
        found, good = [], []
        for index, (start, stop) in enumerate(zip(at.tolist(), stops.tolist(), strict=True)):
            try:
                place, size, interface = read(data[start:stop])
            except (ValueError, struct.error):
                self.damaged += 1
                continue
            found.append((start + place, size, interface))
            good.append(index)
        columns = np.array(found, np.int64).reshape(-1, 3)
        rows = _rows(heads[good], columns[:, 0], columns[:, 1])
        rows["interface"] = columns[:, 2]
        rows["link"] = LinkType.ETHERNET
        rows["original"] = _original(data, rows["start"], rows["size"], rows["link"])
        return rows

    def _pktmon(self, data: bytes, heads: Heads, at: Int64s, stops: Int64s) -> Iterator[Rows]:
        for index in np.flatnonzero(heads["id"] == _COMPONENT).tolist():
            self._component(data[int(at[index]) : int(stops[index])])
        mine = np.flatnonzero((heads["id"] == _PACKET) | (heads["id"] == _DROPPED_PACKET))
        heads, at, stops = chosen(heads, mine), at[mine], stops[mine]
        places = at + PKTMON_PACKET.itemsize
        fields = rows_at(data, at, PKTMON_PACKET.itemsize).view(PKTMON_PACKET)
        sizes = fields["logged_payload_size"].astype(np.int64)
        good = places + sizes <= stops
        if not good.all():
            self.damaged += int((~good).sum())
            heads, fields, places, sizes = heads[good], fields[good], places[good], sizes[good]
        if not len(heads):
            return
        rows = _rows(heads, places, sizes)
        rows["begins"] = rows["ends"] = True
        rows["sent"], rows["received"] = np.isin(fields["dir_tag"], _OUT), np.isin(fields["dir_tag"], _IN)
        rows["dropped"] = heads["id"] == _DROPPED_PACKET
        rows["group"], rows["place"] = fields["pkt_group_id"], fields["pkt_number"]
        rows["original"] = np.maximum(fields["original_payload_size"], fields["logged_payload_size"])
        rows["link"] = NO_LINK
        for kind, link in _LINKS.items():
            rows["link"][fields["packet_type"] == kind] = link
        zero = np.zeros(len(rows), np.uint32)
        rows["interface"] = self._known((fields["component_id"], zero, rows["link"]), self._pktmon_interface)
        yield rows

    def _component(self, data: bytes) -> None:
        try:
            number, _ = PKTMON_COMPONENT.unpack_from(data)
            name, at = _text(data, PKTMON_COMPONENT.size)
            description, _ = _text(data, at)
        except (ValueError, struct.error):
            self.damaged += 1
            return
        self._components[number] = name, description

    def _known(
        self, columns: tuple[npt.NDArray[np.generic], ...], make: Callable[[int, int, int], TraceInterface]
    ) -> npt.NDArray[np.uint32]:
        """Returns the numbers of the trace's interfaces that these columns of packet events identify."""
        stacked = np.stack([column.astype(np.int64) for column in columns], axis=1)
        first = stacked[:1]
        if (stacked == first).all():
            found, which = first, np.zeros(len(stacked), np.int64)
        else:
            found, which = np.unique(stacked, axis=0, return_inverse=True)
        numbers = [self._number((make.__name__, *key), lambda key=key: make(*key)) for key in found.tolist()]  # type: ignore[misc]
        return np.array(numbers, np.uint32)[which.reshape(-1)]

    def _number(self, key: tuple[int | str, ...], make: Callable[[], TraceInterface]) -> int:
        number = self._numbers.get(key)
        if number is None:
            if len(self._interfaces) >= self._limits.interfaces:
                return len(self._interfaces) - 1
            number = self._numbers[key] = len(self._interfaces)
            self._interfaces.append(make())
        return number

    @staticmethod
    def _adapter(lower: int, miniport: int, link: int) -> TraceInterface:
        names = {LinkType.IEEE802_11: f"wifi:{lower}", LinkType.RAW: f"mbb:{lower}"}
        above = "" if lower == miniport else f"LWF over IfIndex {miniport}"
        return _interface("ndis", lower, link, names.get(link, f"eth:{lower}:0"), above)

    @staticmethod
    def _pktmon_interface(component: int, _: int, link: int) -> TraceInterface:
        return _interface("pktmon", component, link, f"component {component}")


def chosen(rows: Rows, index: npt.NDArray[Any]) -> Rows:
    """Returns the trace's packet rows at some places, or those that are marked. They are copied as raw bytes, because numpy copies
    structured rows field by field."""
    found: Rows = rows.view(f"V{rows.itemsize}")[index].view(rows.dtype)
    return found


def together(parts: Sequence[Rows]) -> Rows:
    """Joins the packet rows of several sets of trace events, one behind the other."""
    size = f"V{ROW.itemsize}"
    return np.concatenate([part.view(size) for part in parts]).view(ROW)


def _interface(
    provider: Literal["ndis", "pktmon", "ras"], number: int, link_type: int, name: str, description: str = ""
) -> TraceInterface:
    return TraceInterface(
        provider=provider, number=number, link_type=int(link_type), name=name, description=description
    )


def _rows(heads: Heads, places: Int64s, sizes: Int64s) -> Rows:
    """Makes the packet rows from the headers of trace events."""
    rows = np.zeros(len(heads), ROW)
    keywords = heads["keyword"]
    rows["stamp"] = heads["time_stamp"]
    rows["start"], rows["size"] = places, sizes
    rows["process"] = heads["process_id"]
    rows["key"] = heads["process_id"].astype(np.uint64) << np.uint64(32) | heads["thread_id"]
    rows["begins"] = keywords & np.uint64(KEYWORDS["start"]) != 0
    rows["ends"] = keywords & np.uint64(KEYWORDS["end"]) != 0
    rows["sent"] = keywords & np.uint64(KEYWORDS["send"]) != 0
    rows["received"] = keywords & np.uint64(KEYWORDS["receive"]) != 0
    return rows


def _links(keywords: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    return np.where(
        keywords & np.uint64(KEYWORDS["native_80211"]) != 0,
        LinkType.IEEE802_11,
        np.where(keywords & np.uint64(KEYWORDS["wireless_wan"]) != 0, LinkType.RAW, LinkType.ETHERNET),
    )


def _data_places(data: bytes, heads: Heads, starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s]:
    """Returns where the data of each packet's trace event begins and ends, behind its extended data items; none if items are
    damaged."""
    at = starts + MANIFEST_EVENT_LEN
    more = heads["second"] & _EXTENDED != 0
    for _ in range(_MOST_ITEMS):
        these = np.flatnonzero(more)
        if not len(these):
            return at, ends
        items = rows_at(data, at[these], EXTENDED_ITEM.size).view("<u2").reshape(len(these), -1)
        sizes = items[:, 0].astype(np.int64)
        sizes += -sizes % 8
        good = (sizes >= EXTENDED_ITEM.size) & (at[these] + sizes <= ends[these])
        at[these] = np.where(good, at[these] + sizes, ends[these])
        more[these] = good & (items[:, 2] & 1 != 0)
    at[more] = ends[more]
    return at, ends


def _original(data: bytes, places: Int64s, sizes: Int64s, links: npt.NDArray[np.uint16]) -> Int64s:
    """Returns the length of each traced packet on the wire, which IP states and NDIS does not. It is never below the captured
    length. Without a length in the IP header (large send offload) it is the captured length."""
    if len(data) < 2 or not len(places):
        return sizes.copy()
    shorts = np.ndarray((len(data) - 1,), ">u2", data, strides=(1,))
    last = len(shorts) - 1
    frame = np.where(links == LinkType.ETHERNET, _ETHERNET_LEN, 0)
    kinds = shorts[np.minimum(places + 12, last)]
    versions = shorts[np.minimum(places, last)] >> 12
    is_raw = links == LinkType.RAW
    is_ethernet = links == LinkType.ETHERNET
    is_v4 = (is_ethernet & (kinds == _ETHERTYPE_IPV4)) | (is_raw & (versions == 4))
    is_v6 = (is_ethernet & (kinds == _ETHERTYPE_IPV6)) | (is_raw & (versions == 6))
    v4 = shorts[np.minimum(places + frame + 2, last)].astype(np.int64) + frame
    v6 = shorts[np.minimum(places + frame + 4, last)].astype(np.int64) + _IPV6_LEN + frame
    stated = np.where(is_v4 & (sizes >= frame + _IPV4_LEN), v4, np.where(is_v6 & (sizes >= frame + _IPV6_LEN), v6, 0))
    return np.maximum(stated, sizes)


def _text(data: bytes, at: int) -> tuple[str, int]:
    """Reads a UTF-16 text in a packet's trace event up to its NUL. Returns its beginning, and the offset behind it. Raises
    ValueError without a NUL."""
    end = data.index(b"\0\0", at)
    while (end - at) % 2:
        end = data.index(b"\0\0", end + 1)
    return data[at : min(end, at + 2 * _MOST_NAME)].decode("utf-16-le", "replace"), end + 2


def _sized(data: bytes, at: int) -> tuple[int, int]:
    """Returns place and number of counted bytes in a packet's trace event, behind their count. Raises ValueError if some are
    missing."""
    (size,) = SIZED.unpack_from(data, at)
    at += SIZED.size
    if size > len(data) - at:
        raise ValueError
    return at, size


# ------------------------------------------------------------------------------------------------------- packets as frames


class _Begun:
    """A frame of a trace whose packet began and did not end: its bytes, up to the limit, and their total number."""

    __slots__ = ("data", "size")

    def __init__(self) -> None:
        self.data = bytearray()
        self.size = 0

    def add(self, data: bytes, start: int, size: int) -> None:
        self.data += data[start : start + min(size, MAX_FRAME_BYTES - len(self.data))]
        self.size += size


class PacketPieces:
    """Makes one frame of each packet that comes in several events of a trace. It holds those that began and did not end, by thread
    and interface."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.trace_waiting
        self._held = 0
        self.open: dict[tuple[int, int], _Begun] = {}
        # Packets that lack their beginning or their end.
        self.lacking = 0

    def joined(self, rows: Rows, parts: tuple[bytes, ...]) -> tuple[Rows, bytes]:
        """Returns the packets that end in these rows, each as one frame of the trace, with the rows of their last events, and the
        bytes of joined packets as one more part. A packet without its beginning gets no link type."""
        ended: list[int] = []
        whole: list[_Begun | None] = []
        columns = (rows[name].tolist() for name in ("key", "interface", "begins", "ends", "part", "start", "size"))
        for index, (key, interface, begins, ends, part, start, size) in enumerate(zip(*columns, strict=True)):
            begun = self._taken((key, interface))
            if begins:
                self.lacking += begun is not None
                begun = _Begun()
            if begun is not None:
                begun.add(parts[part], start, size)
            if ends:
                ended.append(index)
                whole.append(begun)
            elif begun is not None:
                self._keep((key, interface), begun)
        found = rows[ended]
        self.lacking += (lacking := whole.count(None))
        if lacking:
            found["link"][[begun is None for begun in whole]] = LACKING
        data = [begun.data if begun is not None else b"" for begun in whole]
        sizes = np.array([len(each) for each in data], np.int64)
        found["part"], found["start"], found["size"] = len(parts), np.cumsum(sizes) - sizes, sizes
        lengths = np.array([begun.size if begun is not None else 0 for begun in whole], np.int64)
        found["original"] = np.where(found["begins"], found["original"], lengths)
        return found, b"".join(data)

    def _taken(self, place: tuple[int, int]) -> _Begun | None:
        begun = self.open.pop(place, None)
        if begun is not None:
            self._held -= len(begun.data)
        return begun

    def _keep(self, place: tuple[int, int], begun: _Begun) -> None:
        self.open[place] = begun
        self._held += len(begun.data)
        while len(self.open) > _MOST_OPEN or self._held > self._most:
            self._taken(next(iter(self.open)))
            self.lacking += 1


class Appearances:
    """Recognises packets that pktmon reported before, so that each is one frame of the trace: by their group, their number in it,
    and their addresses. A packet that a NAT changed counts as another one. Seen packets are kept as numbers made of these."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.trace_packets
        # Two generations: what was seen last, and what was seen before that.
        self._seen: set[int] = set()
        self._before: set[int] = set()
        self.count = 0

    def first(self, rows: Rows, data: bytes, starts: Int64s) -> npt.NDArray[np.bool_]:
        """Tells which packets become frames of the trace, because pktmon had not reported them before. Group 0 means that a packet
        has no group."""
        found = np.ones(len(rows), np.bool_)
        mixed = rows["group"] * _MIX
        mixed ^= rows["place"].astype(np.uint64) * (_MIX + np.uint64(2))
        mixed ^= _addresses(data, starts, rows["size"], rows["link"])
        seen, before = self._seen, self._before
        in_groups = np.flatnonzero(rows["group"])
        for index, number in zip(in_groups.tolist(), mixed[in_groups].tolist(), strict=True):
            if number in seen or number in before:
                found[index] = False
                continue
            seen.add(number)
            if len(seen) >= self._most:
                self._before, self._seen = before, seen = seen, set()
        self.count += len(found) - int(found.sum())
        return found


def _addresses(data: bytes, starts: Int64s, sizes: Int64s, links: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint64]:
    """Returns for each frame of a trace a number made of its IP addresses, 0 if it carries no IP packet."""
    mixed = np.zeros(len(starts), np.uint64)
    frame = np.where(links == LinkType.ETHERNET, _ETHERNET_LEN, 0)
    is_read = ((links == LinkType.ETHERNET) | (links == LinkType.RAW)) & (sizes > frame)
    octets = np.frombuffer(data, np.uint8)
    words = words_of(data, "<") if len(data) > 4 else np.empty(0, np.uint32)
    headers = starts + frame
    versions = np.zeros(len(starts), np.uint8)
    versions[is_read] = octets[headers[is_read]] >> 4
    for version, (place, count) in _ADDRESSES.items():
        these = np.flatnonzero((versions == version) & (sizes >= frame + place + 4 * count))
        for word in range(count):
            mixed[these] = (mixed[these] ^ words[headers[these] + place + 4 * word]) * _MIX
    return mixed


def gathered(rows: Rows, parts: tuple[bytes, ...]) -> tuple[bytes, Int64s]:
    """Returns the bytes of packets that become frames of a trace, one behind the other, and where each begins. Short gaps between
    packets are copied too."""
    if not len(rows):
        return b"", np.empty(0, np.int64)
    part, start, size = rows["part"], rows["start"], rows["size"]
    gaps = start[1:] - start[:-1] - size[:-1]
    begins = np.concatenate(
        ([0], np.flatnonzero((gaps < 0) | (gaps > _MOST_TAKEN_ALONG) | (part[1:] != part[:-1])) + 1)
    )
    ends = np.append(begins[1:], len(rows)) - 1
    first, last = start[begins], start[ends] + size[ends]
    columns = (column.tolist() for column in (part[begins], first, last))
    data = b"".join([parts[which][begin:end] for which, begin, end in zip(*columns, strict=True)])
    moved = np.cumsum(last - first) - last
    return data, start + np.repeat(moved, np.diff(begins, append=len(rows)))


def unprotected(data: bytes, starts: Int64s) -> bytes:
    """Clears the encryption bit in 802.11 frames of a trace. NDIS gives decrypted frames and leaves the bit set."""
    octets = np.frombuffer(data, np.uint8).copy()
    octets[starts + 1] &= np.uint8(~_PROTECTED & 0xFF)
    return octets.tobytes()
