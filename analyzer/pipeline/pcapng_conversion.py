"""Converts a capture to a pcapng file, in which each frame has the number that this program gives it.

Wireshark numbers the packets in the file. A number whose frame cannot be read gets an empty packet, so that the other frames keep
theirs. So does each further appearance of a packet in an event trace log, which this program reads once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from analyzer.capture.capture_reader import BLOCK_BYTES, CaptureReader
from analyzer.capture.decompression import ByteStream, Peeked, open_stream
from analyzer.capture.etl import EtlFile, TracedBlock, is_etl
from analyzer.capture.first_bytes import HEAD_LEN
from analyzer.capture.frame_blocks import Frame, FrameBlock
from analyzer.capture.linktypes import LinkType
from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from analyzer.core.printable_text import text_of_path
from analyzer.screens.formats.pcapng_writer import PcapngWriter

# A link type that Wireshark shows as bytes.
_UNREAD = LinkType.USER0


class Converted:
    """The outcome of a conversion to pcapng: the counts of frames and of empty packets, and the problems of the file."""

    def __init__(self) -> None:
        self.frames = 0
        self.empty = 0
        self.problems: list[Problem] = []


def convert(path: Path, out: BinaryIO, limits: Limits) -> Converted:
    """Writes all frames of a capture as pcapng. Raises `InputError` if the file is no capture."""
    name = text_of_path(path)
    writer = PcapngWriter(out, application=f"pcq-analyzer {version('pcq-analyzer')}", comment=f"all frames of {name}")
    done = _Writing(writer, name)
    stream, _ = open_stream(path, name, limits)
    try:
        head = stream.read(HEAD_LEN)
        if is_etl(head):
            done.take_trace(_trace(head, stream, limits))
            return done.converted
    finally:
        stream.close()
    done.write_frames(CaptureReader([path], limits=limits))
    return done.converted


def _trace(head: bytes, stream: ByteStream, limits: Limits) -> EtlFile:
    return EtlFile(Peeked(head, stream), 0, {}, block_bytes=BLOCK_BYTES, limits=limits, appearances=True)


class _Writing:
    """A pcapng file that is being written, and the interfaces that it has so far."""

    def __init__(self, writer: PcapngWriter, name: str) -> None:
        self._writer = writer
        self._name = name
        self._interfaces: dict[tuple[int, int], int] = {}
        self.converted = Converted()

    def write_frames(self, items: Iterable[FrameBlock | Problem]) -> None:
        """Writes the frames of any capture to the pcapng file, by their link types."""
        for item in items:
            if isinstance(item, Problem):
                self.converted.problems.append(item)
                continue
            interface = self._interface(-1, item.link_type, self._name)
            for index in range(len(item)):
                self._write(item.frame(index), interface)

    def take_trace(self, trace: EtlFile) -> None:
        """Writes the frames of an event trace log to the pcapng file, with what the log says of each."""
        for item in trace:
            if isinstance(item, Problem):
                self.converted.problems.append(item)
                continue
            interfaces = trace.interfaces
            for index, (number, process, sent, comment) in enumerate(_said(item)):
                known = interfaces[number]
                interface = self._interface(number, item.link_type, known.name, known.description)
                text = f"PID={process} (it ran when the packet was noted; often it is not the sender){comment}"
                self._write(item.frame(index), interface, text, sent)

    def _interface(self, number: int, link_type: int, name: str, description: str = "") -> int:
        key = number, link_type
        if key not in self._interfaces:
            self._interfaces[key] = self._writer.interface(link_type, name, description)
        return self._interfaces[key]

    def _write(self, frame: Frame, interface: int, comment: str = "", sent: bool | None = None) -> None:
        while self._writer.packets + 1 < frame.frame:
            unread = self._interface(-1, _UNREAD, "not read")
            text = f"frame {self._writer.packets + 1} of {self._name} could not be read"
            self._writer.packet(unread, frame.time_ns, b"", 0, text)
            self.converted.empty += 1
        self._writer.packet(interface, frame.time_ns, frame.data, frame.original_length, comment, sent)
        self.converted.frames += 1


def _said(block: TracedBlock) -> Iterator[tuple[int, int, bool | None, str]]:
    """Yields what an event trace log says of each frame: its interface, its process, whether it was sent, and a comment."""
    columns = (block.rows[name].tolist() for name in ("interface", "process", "sent", "received", "dropped"))
    for interface, process, sent, received, dropped in zip(*columns, strict=True):
        direction = sent if sent or received else None
        yield interface, process, direction, "; dropped" if dropped else ""
