"""Turns a capture that is still written to a pipe into a file that grows by whole frames on request.

A thread of its own takes the bytes, so that the writer never waits for the reader of the file.
"""

from __future__ import annotations

import struct
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from io import RawIOBase
from pathlib import Path

from analyzer.capture.first_bytes import MICRO, NANO, Order, pcap_order, section_order
from analyzer.capture.pcapng import MAX_BLOCK_BYTES

_FILE_HEADER, _RECORD_HEADER, _BLOCK_HEADER = 24, 16, 12
_PIECE = 1 << 20


class FrameCutter:
    """Cuts the bytes of a growing pcap or pcapng capture behind its whole records. Other bytes pass as they come."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._form: str | None = None
        self._order: Order = "<"

    def feed(self, data: bytes) -> bytes:
        """Returns the bytes of the growing capture up to the end of its last whole record."""
        self._held += data
        at = self._begin()
        while self._form in ("pcap", "pcapng") and (stop := self._stop(at)) is not None and stop <= len(self._held):
            at = stop
        if self._form == "other":
            at = len(self._held)
        found = bytes(self._held[:at])
        del self._held[:at]
        return found

    def left(self) -> bytes:
        """Returns the incomplete record that is left of a growing capture."""
        found = bytes(self._held)
        self._held.clear()
        return found

    def _begin(self) -> int:
        """Finds the format of a growing capture, and returns where its first record begins."""
        if self._form is not None or len(self._held) < _FILE_HEADER:
            return 0
        if (order := pcap_order(self._held, (MICRO, NANO))) is not None:
            self._form, self._order = "pcap", order
            return _FILE_HEADER
        self._form = "other" if section_order(self._held) is None else "pcapng"
        return 0

    def _stop(self, at: int) -> int | None:
        """Returns where the record at a place of a growing capture ends, None if unknown yet. Behind a damaged record everything
        passes."""
        least, length_at = (_RECORD_HEADER, 8) if self._form == "pcap" else (_BLOCK_HEADER, 4)
        if len(self._held) < at + least:
            return None
        if self._form == "pcapng":
            self._order = section_order(self._held, at) or self._order
        length = int(struct.unpack_from(f"{self._order}I", self._held, at + length_at)[0])
        if self._form == "pcap":
            length += _RECORD_HEADER
        if not least <= length <= MAX_BLOCK_BYTES:
            self._form = "other"
            return None
        return at + length


class GrowingCapture:
    """A capture that comes from a pipe, as a file in a folder of its own. `grow` adds the frames that have come. `is_ended`: the
    pipe has ended.

    `source` has no buffer: a thread that waits for it in a buffer would hold that buffer, and the process could not end.
    """

    def __init__(self, source: RawIOBase, folder: Path) -> None:
        self.path = folder / "standard-input"
        self._file = self.path.open("wb")
        self._incoming = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._cutter = FrameCutter()
        self._changed = threading.Condition()
        self._waiting = 0
        self.is_ended = self._is_closed = False
        # Signals reach the main thread only: an interrupt never ends the adding half way.
        self._growing = ThreadPoolExecutor(1)
        threading.Thread(target=self._take, args=(source,), daemon=True).start()

    def _take(self, source: RawIOBase) -> None:
        while data := source.read(_PIECE):
            with self._changed:
                if self._is_closed:
                    return
                self._incoming.write(data)
                self._waiting += len(data)
                self._changed.notify_all()
        with self._changed:
            self.is_ended = True
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Waits until bytes of the growing capture come, the pipe ends, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self.is_ended, seconds)

    def rest(self, seconds: float) -> None:
        """Waits until the pipe of the growing capture ends, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_ended, seconds)

    def grow(self) -> int:
        """Appends the whole frames that have come to the growing capture's file; at the end of the pipe, all bytes. Returns how
        many bytes."""
        return self._growing.submit(self._grow).result()

    def _grow(self) -> int:
        before = self._file.tell()
        with self._changed:
            self._incoming.seek(0)
            while data := self._incoming.read(_PIECE):
                self._file.write(self._cutter.feed(data))
            self._incoming.seek(0)
            self._incoming.truncate()
            self._waiting = 0
            if self.is_ended:
                self._file.write(self._cutter.left())
        self._file.flush()
        return self._file.tell() - before

    def close(self) -> None:
        """Closes both files of the growing capture."""
        self._growing.shutdown()
        with self._changed:
            self._is_closed = True
            self._file.close()
            self._incoming.close()
