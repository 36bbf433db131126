"""Reads the TCP segments, and the datagrams of KDCs, of any file that tshark opens: the second engine (pyshark drives tshark, JSON
with raw positions).

Wireshark's link layers, tunnels, file formats and IP defragmentation do the work of our layers `capture` and `packet`. Its TCP
reassembly and everything above is switched off, so each segment arrives unchanged, for our own `tcp` layer. Frames are read one at
a time; tshark's memory for IP fragments aside, nothing grows with the capture. Checksums are not looked at.

Where a payload lies in its frame is known from tshark's positions, checked against the frame's bytes. It does not lie
in one where the datagram was fragmented or decrypted: there offsets count from the payload's own first byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
import queue
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from analyzer.capture.capture_reader import CaptureInfo, Clock, named_captures, none_readable, unreadable
from analyzer.capture.first_bytes import is_event_trace, special_file
from analyzer.core.errors import InputError
from analyzer.core.events import ClockSetBack, Event, Problem
from analyzer.core.frame_ids import frame_id
from analyzer.core.printable_text import text_of_path
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.flow_candidates import KERBEROS_PORT, PORTS
from analyzer.transport.packet.frame_dissector import LostSegment
from analyzer.transport.packet.frame_tallies import Tallies
from analyzer.transport.packet.ip_fragments import REMEMBERED
from analyzer.transport.packet.segment import Segment, SegmentBatch, UdpPayload

if TYPE_CHECKING:
    from pyshark.packet.packet import Packet

_T = TypeVar("_T")
_Items = list[Event | LostSegment]

_PREFERENCES = {
    "tcp.desegment_tcp_streams": "FALSE",
    "tcp.analyze_sequence_numbers": "FALSE",
    "tcp.relative_sequence_numbers": "FALSE",
    "tcp.calculate_timestamps": "FALSE",
    "ip.defragment": "TRUE",
    "ipv6.defragment": "TRUE",
}
# The payload is all we want; the dissectors that would read most of ours need not run.
_DISABLED = ("nbss", "smb", "smb2", "dcerpc")
# Frames between the thread that reads tshark and the one that uses them: enough to keep both busy, a few MiB at worst.
_BATCH = 64
_BATCHES_AHEAD = 8
# Layers below IP that end a frame's list of protocols where its bytes end.
_LINK_LAYERS = frozenset({"eth", "vlan", "ieee8021ad", "sll", "llc"})
# More fragments, as tshark gives the flags of IPv4: three bits, before version 4.0 in their place among sixteen.
_MORE_FRAGMENTS = 0x2001
_IP_TCP = "6"
# Where the source address stands in a header of IPv4.
_SOURCE_AT = 12


def find_tshark(tshark_path: str | None = None) -> str:
    """Returns the path of the tshark program. Raises `InputError` that says how to install it."""
    found = shutil.which(tshark_path or "tshark")
    if found is None:
        what = f"There is no tshark at {tshark_path}" if tshark_path else "tshark is not installed"
        raise InputError(f"{what}; on Debian and Ubuntu it is the package `tshark`.", hint="apt install tshark")
    return found


def _is_news(record: logging.LogRecord) -> bool:
    """Whether pyshark's log entry is worth showing. asyncio remarks that tshark ended before it looked, which is no error."""
    return "Unknown child process" not in record.getMessage()


def use_common_watcher() -> None:
    """Undoes what pyshark does to child processes of other event loops.

    One watcher waits for the child processes of all loops. pyshark, used on the main thread, attaches it to its own loop; with that
    loop closed or idle, no other loop hears of a process that ends, or may start one. From Python 3.12 on this is deprecated.
    """
    if sys.version_info < (3, 14):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            watcher = asyncio.get_child_watcher()
            if not isinstance(watcher, asyncio.ThreadedChildWatcher | asyncio.PidfdChildWatcher):
                asyncio.set_child_watcher(asyncio.ThreadedChildWatcher())


def open_capture(path: Path, tshark_path: str | None, **options: Any) -> Any:
    """Opens a `pyshark.FileCapture` with an event loop of its own, so that it also works inside a running loop (Jupyter)."""
    try:
        import pyshark
    except ImportError:
        text = "This needs pyshark, which comes with the extra `pcq-analyzer[tshark]`."
        raise InputError(text, hint="pip install 'pcq-analyzer[tshark]'") from None
    program = find_tshark(tshark_path)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    logging.getLogger("asyncio").addFilter(_is_news)
    loop = asyncio.new_event_loop()
    use_common_watcher()
    try:
        with _starting(path):
            return pyshark.FileCapture(str(path), keep_packets=False, tshark_path=program, eventloop=loop, **options)
    except BaseException:
        loop.close()
        raise


@contextlib.contextmanager
def _starting(path: Path) -> Iterator[None]:
    """Turns an `OSError` of pyshark, which opens the file and starts tshark late, into an `InputError`."""
    try:
        yield
    except OSError as error:
        raise InputError(f"tshark cannot read {path}: {error.strerror or error}") from error


class Complaint(Struct, frozen=True):
    """The error message of tshark about a file that it could not read to its end."""

    text: str


def packets(capture: Any) -> Iterator[Any]:
    """Yields the packets of a capture as tshark gives them, then a `Complaint` if tshark complained."""
    from pyshark.capture.capture import TSharkCrashException

    crash = ""
    try:
        try:
            with _starting(capture.input_filepath):
                yield from capture
        except TSharkCrashException as error:
            crash = str(error)
    finally:
        with contextlib.suppress(TSharkCrashException):
            capture.close()
        # A process that ended in error stays in pyshark's books, and would be closed again without a loop.
        capture._running_processes.clear()
        # Transports of the finished process close in the next turn of the loop.
        capture.eventloop.run_until_complete(asyncio.sleep(0))
        capture.eventloop.close()
    # tshark ends with what went wrong; other lines (a warning to root, say) do not begin with its name.
    stated = str(getattr(capture, "_last_error_line", None) or "")
    if stated.startswith("tshark:"):
        yield Complaint(stated.removeprefix("tshark:").strip())
    elif crash:
        yield Complaint(stated or crash)


def in_thread(make: Callable[[], Iterator[_T]]) -> Iterator[_T]:
    """Runs pyshark's iterator in a thread, because an event loop cannot run inside another one."""
    batches: queue.Queue[list[_T] | BaseException | None] = queue.Queue(maxsize=_BATCHES_AHEAD)
    stopped = threading.Event()

    def put(item: list[_T] | BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                batches.put(item, timeout=0.2)
                return True
            except queue.Full:
                continue
        return False

    def run() -> None:
        items = make()
        try:
            batch: list[_T] = []
            for item in items:
                batch.append(item)
                if len(batch) >= _BATCH:
                    if not put(batch):
                        return
                    batch = []
            put(batch)
            put(None)
        except BaseException as error:
            put(error)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=run, name="tshark", daemon=True)
    thread.start()
    try:
        while (got := batches.get()) is not None:
            if isinstance(got, BaseException):
                raise got
            yield from got
    finally:
        stopped.set()
        thread.join()


def _no_trace(path: Path) -> InputError:
    return InputError(
        f"{text_of_path(path)} is an event trace log of Windows, which tshark does not read.",
        hint="Leave --engine tshark out, or give it what `pcq-analyzer export FILE --frames OUT.pcapng` writes.",
    )


class _Datagrams:
    """Follows the fragmented datagrams of IPv4 with TCP data in one file, which tshark joins. Those of IPv6 are not followed."""

    def __init__(self) -> None:
        # By addresses and identification: the first of an incomplete datagram's frames gives the time, the last one its number.
        self._open: dict[tuple[str, ...], LostSegment] = {}
        self._others: set[tuple[str, ...]] = set()
        # The first datagram of each kind that was given up because more were open, with the number of those after it.
        self._given_up: dict[str, LostSegment] = {}
        self._joined: dict[tuple[str, ...], None] = {}

    def note(self, packet: Packet, ip: dict[str, Any], frame: int, time_ns: int) -> bool:
        """Notes a frame in which tshark shows `ip` as innermost header of IPv4. Returns whether it is a fragment that completes
        nothing."""
        flags, offset = int(ip.get("ip.flags", "0"), 0), int(ip.get("ip.frag_offset", "0"))
        if ip.get("ip.proto") != _IP_TCP or not (flags & _MORE_FRAGMENTS or offset):
            return False
        key = (ip["ip.src"], ip["ip.dst"], ip["ip.id"])
        if "ip.fragments" in ip or "ip.fragments_tree" in ip:
            self._open.pop(key, None)
            self._joined[key] = None
            if len(self._joined) > REMEMBERED:
                del self._joined[next(iter(self._joined))]
            return False
        if key not in self._joined:
            # A mirror port repeats fragments of datagrams that are whole already.
            first = self._open.get(key)
            is_cut = _is_cut(packet) or (first is not None and first.kind == "truncated")
            since_ns = time_ns if first is None else first.time_ns
            self._open[key] = LostSegment("truncated" if is_cut else "gap", None, frame, since_ns)
            if not offset and not _is_port_of_ours(packet, ip):
                self._others.add(key)
            if len(self._open) > REMEMBERED:
                self._give_up(next(iter(self._open)))
        return True

    def _give_up(self, key: tuple[str, ...]) -> None:
        lost = self._open.pop(key)
        if key in self._others:
            self._others.remove(key)
            return
        known = self._given_up.setdefault(lost.kind, lost)
        if known is not lost:
            self._given_up[lost.kind] = replace(known, more=known.more + 1)

    def lost(self) -> Iterator[LostSegment]:
        """Yields the segments that tshark never saw whole, except those that their ports show to be none of ours."""
        yield from self._given_up.values()
        yield from (lost for key, lost in self._open.items() if key not in self._others)


class TsharkEngine:
    """Reads capture files with tshark: iterates over batches of one segment and `Problem`, in time order. Afterwards `info` has the
    facts."""

    def __init__(self, sources: str | Path | Sequence[str | Path | BinaryIO], tshark_path: str | None = None) -> None:
        failures: list[InputError] = []
        found = named_captures([sources] if isinstance(sources, str | Path) else sources, failures)
        self._paths: list[Path] = []
        for source in found:
            if not isinstance(source, Path) or str(source) == "-":
                raise InputError("The tshark engine reads files by name, not standard input.", hint="Save it first.")
            if source.is_file() and is_event_trace(source):
                failures.append(_no_trace(source))
            elif source.is_file():
                self._paths.append(source)
            else:
                kind = special_file(source)
                failures.append(InputError(f"{source} is {kind}." if kind else f"There is no file {source}."))
        if not self._paths:
            raise none_readable(failures)
        self._is_one_of_several = len(self._paths) + len(failures) > 1
        self._unreadable = [unreadable(error) for error in failures]
        self._tshark = find_tshark(tshark_path)
        self._ends: dict[tuple[str, str], Endpoint] = {}
        self._frames = 0
        self._bytes = 0
        self._first: int | None = None
        self._last: int | None = None
        self._tallies = Tallies()

    @property
    def info(self) -> CaptureInfo:
        """The facts of the capture files that tshark read so far."""
        files = tuple(map(text_of_path, self._paths))
        return CaptureInfo(files, self._frames, self._bytes, self._first, self._last)

    def __iter__(self) -> Iterator[Event]:
        yield from self._unreadable
        for item in self._items():
            if isinstance(item, LostSegment):
                self._tallies.lose(item.kind, item.frame, item.time_ns, item.more)
            else:
                yield item
        yield from self._tallies.problems()

    def _items(self) -> Iterator[Event | LostSegment]:
        """Yields what tshark reads of all files, in time order."""
        if len(self._paths) == 1:
            for _, events in in_thread(lambda: self._read(0)):
                yield from events
            return
        # A file is opened when its time has come, so a ring of a thousand files does not start a thousand processes.
        waiting = sorted((self._first_time(at), at) for at in range(len(self._paths)))
        waiting.reverse()
        open_files: list[tuple[int, int, _Items, Iterator[tuple[int, _Items]]]] = []
        while waiting or open_files:
            while waiting and (not open_files or waiting[-1][0] <= open_files[0][0]):
                at = waiting.pop()[1]
                self._push(open_files, at, 0, in_thread(lambda at=at: self._read(at)))  # type: ignore[misc]
            if open_files:
                time_ns, at, events, rest = heapq.heappop(open_files)
                yield from events
                self._push(open_files, at, time_ns, rest)

    @staticmethod
    def _push(
        open_files: list[tuple[int, int, _Items, Iterator[tuple[int, _Items]]]],
        at: int,
        time_ns: int,
        rest: Iterator[tuple[int, _Items]],
    ) -> None:
        for frame_time, events in rest:
            # Never back in time: the frames of one file keep their order.
            heapq.heappush(open_files, (max(time_ns, frame_time), at, events, rest))
            return

    def _first_time(self, at: int) -> int:
        def first() -> Iterator[int]:
            capture = self._open(self._paths[at], ["-c", "1", "-j", "frame"])
            for packet in packets(capture):
                yield _nanoseconds(str(packet.sniff_timestamp)) if not isinstance(packet, Complaint) else 0

        return next(iter(list(in_thread(first))), 0)

    def _open(self, path: Path, parameters: list[str]) -> Any:
        for name in _DISABLED:
            parameters += ["--disable-protocol", name]
        return open_capture(
            path,
            self._tshark,
            use_json=True,
            include_raw=True,
            override_prefs=_PREFERENCES,
            custom_parameters=parameters,
        )

    def _read(self, at: int) -> Iterator[tuple[int, _Items]]:
        """Yields for each frame of a file that tshark read its time and its events."""
        frame = time_ns = 0
        set_back: list[int] = []
        clock, datagrams = Clock(set_back), _Datagrams()
        for packet in packets(self._open(self._paths[at], ["-j", "frame ip ipv6 tcp udp"])):
            if isinstance(packet, Complaint):
                text = f"tshark: {packet.text}"
                if not frame:
                    if not self._is_one_of_several:
                        raise InputError(text)
                    yield time_ns, [unreadable(InputError(f"{self._paths[at]}: {text}"))]
                    return
                yield time_ns, [*clock.problems(), Problem("truncated", "capture", (frame,), text)]
                return
            frame = frame_id(at, int(packet.number))
            time_ns = _nanoseconds(str(packet.sniff_timestamp))
            self._frames += 1
            self._bytes += _captured(packet)
            self._first = time_ns if self._first is None else min(self._first, time_ns)
            self._last = time_ns if self._last is None else max(self._last, time_ns)
            clock.tick(frame, time_ns)
            events: _Items = [ClockSetBack(tuple(set_back))] if set_back else []
            set_back.clear()
            found = self._segment(packet, frame, time_ns)
            layer = next((layer for layer in packet.layers if layer.layer_name == "ip"), None)
            if layer is not None and datagrams.note(packet, _innermost(layer), frame, time_ns):
                found = None
            yield time_ns, [*events, found] if found is not None else events
        yield time_ns, [*clock.problems(), *datagrams.lost()]

    def _segment(self, packet: Packet, frame: int, time_ns: int) -> Event | LostSegment | None:
        protocols = str(_fields(packet.frame_info).get("frame.protocols", "")).split(":")
        # A header quoted in an ICMP message was not sent here.
        if "icmp" in protocols or "icmpv6" in protocols:
            return None
        if "tcp" not in protocols:
            # Nobody knows what lies behind an IP header that is not whole.
            stated = next((_innermost(one) for one in packet.layers if one.layer_name == protocols[-1]), {})
            if protocols[-1] in ("ip", "ipv6") and f"{protocols[-1]}.dst" not in stated:
                return LostSegment("truncated" if _is_cut(packet) else "malformed", None, frame, time_ns)
            if protocols[-1] in _LINK_LAYERS and _is_cut(packet):
                return LostSegment("truncated", None, frame, time_ns)
            return self._datagram(packet, frame, time_ns)
        below = protocols[: len(protocols) - 1 - protocols[::-1].index("tcp")]
        network = next((name for name in reversed(below) if name in ("ip", "ipv6")), None)
        layers = {layer.layer_name: layer for layer in reversed(packet.layers)}
        if network is None or network not in layers or "tcp" not in layers:
            return LostSegment("truncated", None, frame, time_ns) if network and _is_cut(packet) else None
        ip, tcp = _innermost(layers[network]), _innermost(layers["tcp"])
        try:
            src = self._end(ip[f"{network}.src"], tcp["tcp.srcport"])
            dst = self._end(ip[f"{network}.dst"], tcp["tcp.dstport"])
            seq, ack = int(tcp["tcp.seq"]), int(tcp.get("tcp.ack", 0))
            flags, window = int(tcp["tcp.flags"], 0) & 0xFF, int(tcp["tcp.window_size_value"])
            length = int(tcp["tcp.len"])
            data = _payload(packet, tcp.get("tcp.payload_raw") or _behind_header(packet, tcp, length), frame, time_ns)
        except (KeyError, TypeError, ValueError):
            return LostSegment("truncated" if _is_cut(packet) else "malformed", None, frame, time_ns)
        missing = max(0, length - len(data))
        return SegmentBatch.of_segment(Segment(src, dst, seq, ack, flags, window, data, missing, frame, time_ns))

    @staticmethod
    def _datagram(packet: Packet, frame: int, time_ns: int) -> Event | None:
        """Returns what a KDC sent in a datagram, as tshark shows it: it may name the user of a ticket."""
        layer = next((layer for layer in packet.layers if layer.layer_name == "udp"), None)
        if layer is None:
            return None
        udp = _innermost(layer)
        if udp.get("udp.srcport") != str(KERBEROS_PORT) or not udp.get("udp.payload_raw"):
            return None
        return UdpPayload(_payload(packet, udp["udp.payload_raw"], frame, time_ns))

    def _end(self, ip: str, port: str) -> Endpoint:
        end = self._ends.get((ip, port))
        if end is None:
            if len(self._ends) >= 1 << 16:
                self._ends.clear()
            end = self._ends[ip, port] = Endpoint(ip, int(port))
        return end


def _fields(layer: Any) -> dict[str, Any]:
    """Returns the fields of a layer in tshark's own form. pyshark's accessors would make an object of each field."""
    fields: dict[str, Any] = layer._all_fields
    return fields


def _innermost(layer: Any) -> dict[str, Any]:
    return _fields(layer.duplicate_layers[-1] if layer.duplicate_layers else layer)


def _captured(packet: Packet) -> int:
    """Returns how many bytes of tshark's frame were captured."""
    return int(_fields(packet.frame_info).get("frame.cap_len", packet.length))


def _is_cut(packet: Packet) -> bool:
    return _captured(packet) < int(packet.length)


def _payload(packet: Packet, raw: Sequence[Any] | None, frame: int, time_ns: int) -> TracedBytes:
    """Returns a payload from tshark's digits and position."""
    payload, offset = (bytes.fromhex(raw[0]), int(raw[1])) if raw else (b"", 0)
    if payload and not _lies_at(packet, offset, payload.hex()):
        offset = 0
    return TracedBytes.of_frame(payload, frame, offset, time_ns)


def _behind_header(packet: Packet, tcp: dict[str, Any], length: int) -> tuple[str, int] | None:
    """Returns the digits and position of a payload that tshark does not state: it stops at TCP options that it cannot read. Returns
    None if there is no payload, or none in this frame."""
    stated = [tcp[name] for name in ("tcp.srcport_raw", "tcp.dstport_raw", "tcp.seq_raw") if name in tcp]
    if not length or len(stated) < 3:
        return None
    start = int(stated[0][1])
    if not _lies_at(packet, start, "".join(digits for digits, *_ in stated)):
        return None
    begin = start + int(tcp["tcp.hdr_len"])
    return _digits(packet)[2 * begin : 2 * (begin + length)], begin


def _is_port_of_ours(packet: Packet, ip: dict[str, Any]) -> bool:
    """Whether tshark's first fragment of a datagram has a port that makes its flow ours, or is too short to show its ports."""
    source = ip.get("ip.src_raw")
    if source is None:
        return True
    begin = int(source[1]) - _SOURCE_AT + int(ip["ip.hdr_len"])
    ports = bytes.fromhex(_digits(packet)[2 * begin : 2 * begin + 8])
    return len(ports) < 4 or bool({int.from_bytes(ports[:2], "big"), int.from_bytes(ports[2:], "big")} & PORTS)


def _digits(packet: Packet) -> str:
    """Returns the bytes of a frame as hexadecimal digits; none if tshark does not state them."""
    found = next((layer.value for layer in packet.layers if layer.layer_name == "frame_raw"), None)
    return found if isinstance(found, str) else ""


def _lies_at(packet: Packet, offset: int, digits: str) -> bool:
    return _digits(packet)[2 * offset : 2 * offset + len(digits)] == digits


def _nanoseconds(text: str) -> int:
    """Returns the time of tshark's frame in nanoseconds. tshark gives seconds since 1970 with up to nine decimals, or ISO 8601 (4.2
    and later)."""
    if "T" in text:
        day, _, fraction = text.rstrip("Z").partition(".")
        seconds = str(int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()))
    else:
        seconds, _, fraction = text.partition(".")
    nanoseconds = int(fraction[:9].ljust(9, "0"))
    return int(seconds) * 1_000_000_000 + (-nanoseconds if seconds.startswith("-") else nanoseconds)
