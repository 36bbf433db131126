"""What is measured inside one process: decoding beside the plain compiled parser, opening beside the ciphers, stages of the
way from a sealed capture to Parquet beside what the libraries can do.

Results are processor time. Values are compared before anything is timed: a decoder that says anything else ends the run.
"""

from __future__ import annotations

import gc
import hmac
import io
import os
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import CaptureReader
from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.events import CaptureEnds, Event
from analyzer.core.limits import Limits
from analyzer.core.output.json import dumps
from analyzer.interfaces.buffers.buffer_trees import decode_buffer, plan_for
from analyzer.interfaces.buffers.perf_data_layout import PerfDataReader
from analyzer.interfaces.buffers.tree_texts import TreeTexts
from analyzer.interfaces.buffers.value_rows import (
    columns_of,
    perf_data_columns,
    perf_data_rows,
    plain_perf_data_rows,
    winperf_rows,
)
from analyzer.interfaces.buffers.winperf_layout import WinperfReader, read_winperf
from analyzer.interfaces.call_contents.raw_samples import sample_chunks
from analyzer.pipeline.run import analyze
from analyzer.screens.formats.sample_and_reading_tables import sample_tables
from analyzer.screens.formats.table_writer import write_pieces
from analyzer.transport.channel.channels import Channels, TcpChannels
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.rpc.rpc_layer import RpcLayer
from analyzer.transport.smb.smb_layer import SmbLayer
from analyzer.transport.tcp.reassembler import Reassembler
from benchmarks import traffic
from tests.build import buffers
from tests.build.layouts import forget_layouts


@dataclass(frozen=True)
class Spread:
    """Measured times, or what they amount to."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        return f"{shown(self.median)} ({shown(min(self.values))} - {shown(max(self.values))})"


def shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def timed(work: Callable[[], object], at_least: float = 0.02) -> float:
    """Processor seconds of a piece of work, repeated where it is short."""
    begun = time.process_time()
    work()
    taken = time.process_time() - begun
    if taken >= at_least:
        return taken
    repeats = int(at_least / max(taken, 1e-6)) + 1
    begun = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - begun) / repeats


# --- Decoding ---------------------------------------------------------------------------------------------------------


def _number(value: int, size: int = 8) -> bytes:
    return value.to_bytes(size, "little")


def shapes(scale: float = 1.0) -> dict[str, bytes]:
    """Buffers by what is in them."""
    rng = random.Random(5)

    def many(count: int) -> int:
        return max(1, int(count * scale))

    def several(count: int) -> buffers.Block:
        values = tuple(_number(rng.getrandbits(31), rng.choice((4, 8))) for _ in range(count))
        return buffers.Block(2, ids=tuple(range(count)), values=(values,))

    def tiny(number: int) -> buffers.Block:
        if number % 3 == 0:
            return buffers.Block(0, status=0x1069)
        return buffers.Block(1, values=((_number(rng.getrandbits(63)),),)) if number % 3 == 1 else several(4)

    names = tuple((f"proc_{number}", number) for number in range(many(80_000)))
    one = buffers.Block(4, instances=names, values=tuple((_number(rng.getrandbits(63)),) for _ in names))
    return {
        "6000 instances x 40 counters": traffic.counterset(many(6000), 40, rng),
        "180 x 20": traffic.counterset(180, 20, rng),
        "8 x 20": traffic.counterset(8, 20, rng),
        "80,000 instances x 1": buffers.perf_data([one]),
        "80,000 tiny blocks": buffers.perf_data([tiny(number) for number in range(many(80_000))]),
        "30 tiny blocks": buffers.perf_data([tiny(number) for number in range(30)]),
    }


def decoding(rounds: int, scale: float = 1.0) -> list[str]:
    """A table of decoders and buffers."""
    made = shapes(scale)
    plain = "plain compiled parser, objects only"
    cells: dict[str, list[str]] = {}
    for data in made.values():
        again, trees = PerfDataReader(), TreeTexts()
        decoders: dict[str, Callable[[], object]] = {
            plain: lambda data=data: plan_for("perf-data", data, None).fresh("plain"),  # type: ignore[misc]
            "rows from the plain parser": lambda data=data: plain_perf_data_rows(data),  # type: ignore[misc]
            "rows": lambda data=data: _first(perf_data_rows, data),  # type: ignore[misc]
            "tree": lambda data=data: _first(partial(decode_buffer, "perf-data"), data),  # type: ignore[misc]
            "tree as JSON, of a layout met before": lambda data=data, trees=trees: tree_json(trees, data),  # type: ignore[misc]
            "columns": lambda data=data: _first(perf_data_columns, data),  # type: ignore[misc]
            "columns of a layout met before": lambda data=data, again=again: again.read(data),  # type: ignore[misc]
        }
        count = _checked(data, again)
        tree_json(trees, data)
        times: dict[str, list[float]] = {name: [] for name in decoders}
        for _ in range(rounds):
            for name, decoder in decoders.items():
                times[name].append(timed(decoder) * 1e9 / count)
        for name, taken in times.items():
            ratios = Spread(tuple(base / own for base, own in zip(times[plain], taken, strict=True)))
            cells.setdefault(name, []).append(f"{shown(Spread(tuple(taken)).median)} ns, {shown(ratios.median)}x")
    return [
        f"| decoder | {' | '.join(made)} |",
        "|---|" + "---|" * len(made),
        *(f"| {name} | {' | '.join(row)} |" for name, row in cells.items()),
    ]


def tree_json(trees: TreeTexts, data: bytes) -> bytes:
    """The JSON text of a buffer's tree, whole: that of a long buffer is made while it is written."""
    tree = trees.tree("perf-data", data)
    assert tree is not None
    return dumps(tree.text)


def _first(decoder: Callable[[bytes], object], data: bytes) -> object:
    """What a decoder makes of a buffer whose layout was not met before."""
    forget_layouts()
    return decoder(data)


def _checked(data: bytes, reader: PerfDataReader) -> int:
    """How many values a buffer has, after making sure that arrays and the plain parser agree about them."""
    rows = plain_perf_data_rows(data).rows
    raw = [(it.block, it.block_type, it.status, it.counter_id, it.instance, it.instance_id, it.data) for it in rows]
    plain, columns = columns_of(raw), perf_data_columns(data)
    reader.read(data)
    again = reader.read(data)
    for name in ("block", "block_type", "status", "counter_id", "instance_id", "value", "name", "data_size"):
        if not np.array_equal(getattr(plain, name), getattr(columns, name)):
            raise SystemExit(f"columns and the plain parser disagree about {name}")
    if again is None or not np.array_equal(again.values, plain.value):
        raise SystemExit("columns of a layout met before are not those of the plain parser")
    return len(plain)


def decoding_winperf(rounds: int, scale: float = 1.0) -> list[str]:
    """A table of decoders of PERF_DATA_BLOCK: a Process object, as a client polls it.

    The compiled parser makes most objects of this buffer when they are asked for, so its rows are what the others are compared
    with.
    """
    rng = random.Random(6)
    counters = tuple(buffers.Counter(230 + 2 * at, 0x10000 + 0x100 * (at % 2), 4 + 4 * (at % 2)) for at in range(27))
    rows = max(30, int(1000 * scale))
    instances = tuple(
        buffers.Instance(f"process_{at}", -1, (0, 0), tuple(rng.getrandbits(30) for _ in counters))
        for at in range(rows)
    )
    data = buffers.winperf([buffers.PerfObject(230, counters, instances)])
    again = WinperfReader()
    read = again.read(data)
    stated = [value for one in winperf_rows(data).objects[0].instances for value in one.values]
    if read is None or read.values.tolist() != stated:
        raise SystemExit("arrays and the plain parser disagree about a PERF_DATA_BLOCK")
    decoders: dict[str, Callable[[], object]] = {
        "rows from the plain parser": lambda: winperf_rows(data),
        "columns": lambda: read_winperf(data),
        "columns of a layout met before": lambda: again.read(data),
    }
    times: dict[str, list[float]] = {name: [] for name in decoders}
    for _ in range(rounds):
        for name, decoder in decoders.items():
            times[name].append(timed(decoder) * 1e9 / len(stated))
    plain = times["rows from the plain parser"]
    out = [f"| decoder | PERF_DATA_BLOCK, {rows:,} instances x 27 counters |", "|---|---|"]
    for name, taken in times.items():
        ratio = statistics.median(base / own for base, own in zip(plain, taken, strict=True))
        out.append(f"| {name} | {shown(statistics.median(taken))} ns, {shown(ratio)}x |")
    return out


# --- Opening ----------------------------------------------------------------------------------------------------------


class _Room:
    """A room whose own time is counted."""

    def __init__(self, feed: Callable[[Event], Iterable[Event]], finish: Callable[[], Iterable[Event]]) -> None:
        self._feed, self._finish = feed, finish
        self.seconds = 0.0

    def feed(self, events: Iterable[Event], *, last: bool = False) -> list[Event]:
        begun = time.process_time()
        out = [higher for event in events for higher in self._feed(event)]
        if last:
            out += self._finish()
        self.seconds += time.process_time() - begun
        return out


def stages(path: Path, keyring: Keyring, *, max_stub: int) -> dict[str, float]:
    """Processor seconds of each layer from a file to exchanges, a block of frames at a time."""
    # As the command does before it reads.
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    reader, dissector, streams = CaptureReader([path]), Dissector(), Reassembler()
    channels = Channels()
    smb, tcp = SmbLayer(keyring, channels), TcpChannels(channels)
    rpc = RpcLayer(keyring, limits=Limits(stub=max_stub), pdus=False)
    layers = {
        "reading the file, packets": _Room(lambda block: dissector.feed(block), dissector.finish),  # type: ignore[arg-type]
        "TCP streams": _Room(streams.feed, lambda: chain([CaptureEnds()], streams.finish())),
        "SMB, decryption": _Room(smb.feed, smb.finish),
        "DCERPC on TCP": _Room(tcp.feed, tcp.finish),
        "DCERPC, unsealing": _Room(rpc.feed, rpc.finish),
    }
    first = layers["reading the file, packets"]
    blocks = iter(reader)
    last = False
    while not last:
        begun = time.process_time()
        block = next(blocks, None)
        first.seconds += time.process_time() - begun
        last = block is None
        events: Iterable[Any] = [block] if isinstance(block, FrameBlock) else []
        for layer in layers.values():
            events = layer.feed(events, last=last)
    return {name: layer.seconds for name, layer in layers.items()}


def ciphers(sealed: int, fragment: int) -> dict[str, float]:
    """Processor seconds that `cryptography` and OpenSSL need for so many bytes, a fragment at a time: the floor of opening."""
    count = max(1, sealed // fragment)
    piece = os.urandom(fragment)
    key = os.urandom(16)
    gcm, nonce = AESGCM(key), bytes(12)
    packed = gcm.encrypt(nonce, piece, b"")
    stream = Cipher(ARC4(key), mode=None).decryptor()

    def decrypt() -> None:
        for _ in range(count):
            gcm.decrypt(nonce, packed, b"")

    def unseal() -> None:
        for _ in range(count):
            hmac.digest(key, stream.update(piece), "md5")

    return {"SMB, decryption": timed(decrypt), "DCERPC, unsealing": timed(unseal)}


# --- From a sealed capture to Parquet ---------------------------------------------------------------------------------


def to_parquet(path: Path, keyring: Keyring) -> tuple[int, dict[str, tuple[float, float | None]]]:
    """How many samples, and the seconds of each stage beside what its library needs for the same (None: no library does it)."""
    measured: dict[str, tuple[float, float | None]] = {}
    own = stages(path, keyring, max_stub=1 << 30)
    floors = ciphers(path.stat().st_size, traffic.MAX_STUB)
    read = timed(lambda: path.read_bytes())
    for name, seconds in own.items():
        measured[name] = seconds, {"reading the file, packets": read, **floors}.get(name)
    analysis = analyze([str(path)], keyring, pdus=False)
    values = 0

    def chunks() -> None:
        nonlocal values
        values = sum(len(chunk.values) for chunk in sample_chunks(analysis) if not isinstance(chunk, dict))

    seconds = timed(chunks, 0.0)
    measured["decoding into columns"] = seconds, _copied(8 * 2 * values)
    tables: list[pl.DataFrame] = []
    begun = time.process_time()
    written = io.BytesIO()
    streamed: Iterator[pl.DataFrame] = sample_tables(sample_chunks(analysis))
    write_pieces(streamed, written)
    whole = time.process_time() - begun
    library = 0.0
    for table in sample_tables(sample_chunks(analysis)):
        tables.append(table)
        if len(tables) == 8:
            library += timed(lambda: pl.concat(tables).write_parquet(io.BytesIO()), 0.0)
            tables.clear()
    if tables:
        library += timed(lambda: pl.concat(tables).write_parquet(io.BytesIO()), 0.0)
    laid_out = timed(lambda: sum(len(table) for table in sample_tables(sample_chunks(analysis))), 0.0)
    measured["laying out tables"] = max(laid_out - seconds, 0.0), None
    measured["writing Parquet"] = max(whole - laid_out, 0.0), library
    return values, measured


def _copied(size: int) -> float:
    """Seconds to read so many bytes of memory and write a half of them, as taking every other word does."""
    words = np.zeros(size // 8, np.uint64)
    return timed(lambda: words[1::2].copy(), 0.0)
