"""Compares the analyzer with its peers: synthetic captures in, a table of medians and ratios out.

    python benchmarks/run.py [--quick] [--rounds N] [--only NAME ...] [--keep DIRECTORY]

Every contestant is a process of its own; what counts is the processor time (user and system) of it and its children, and its
peak memory. Contestants take turns, so that a noisy machine is noisy for all. What is measured, and what a ratio does not say,
stands in `benchmarks/README.md`. Not a test: nothing here passes or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import traffic  # noqa: E402

MB = 1_000_000
SEALED = ROOT / "captures" / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
SECRETS = SEALED.with_suffix(".secrets.json")
# Peers that need minutes get this many packets, and their time is scaled to the capture.
SLOW_PACKETS = 20_000

_SCAPY_PACKETS = """
import sys
from scapy.utils import PcapReader
import scapy.layers.inet, scapy.layers.l2
found = 0
for packet in PcapReader(sys.argv[1]):
    found += packet.haslayer("TCP") and 445 in (packet["TCP"].sport, packet["TCP"].dport)
"""
_SCAPY_SESSION = """
import sys
from scapy.all import load_layer, sniff, TCPSession
load_layer("smb"); load_layer("smb2"); load_layer("msrpce.rpcclient")
sniff(offline=sys.argv[1], session=TCPSession, store=False, prn=lambda packet: None)
"""
_PYSHARK = """
import asyncio, sys
import pyshark
asyncio.set_event_loop(asyncio.new_event_loop())
capture = pyshark.FileCapture(sys.argv[1], display_filter="dcerpc", keep_packets=False)
found = sum(1 for packet in capture)
capture.close()
"""


@dataclass(frozen=True)
class Contestant:
    """A command for a capture; `packets` limits it to that many, and its time is scaled by what they leave out."""

    name: str
    command: Callable[[Path], list[str]]
    packets: int | None = None


@dataclass
class Score:
    """What the runs of one contestant on one capture took."""

    seconds: list[float] = field(default_factory=list)
    rss_mb: float = 0.0
    scale: float = 1.0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) * self.scale


def ours(*options: str) -> Callable[[Path], list[str]]:
    return lambda path: [sys.executable, "-m", "analyzer", *options[:1], str(path), "--format", "jsonl", *options[1:]]


def python(code: str) -> Callable[[Path], list[str]]:
    return lambda path: [sys.executable, "-c", code, str(path)]


def tshark(*options: str) -> Callable[[Path], list[str]]:
    return lambda path: ["tshark", "-r", str(path), "-Y", "dcerpc", *options]


FIELDS = ("-T", "fields", "-e", "frame.number", "-e", "dcerpc.pkt_type", "-e", "dcerpc.opnum")


def contestants(capture: str) -> list[Contestant]:
    """Who takes part on a capture: ourselves first."""
    secrets = ("--secrets", str(SECRETS)) if capture == "sealed" else ()
    found = [
        Contestant("pcq-analyzer timeline", ours("timeline", *secrets)),
        Contestant("pcq-analyzer sessions", ours("sessions", *secrets)),
    ]
    if shutil.which("tshark"):
        found.append(Contestant("tshark -T fields", tshark(*FIELDS)))
        if capture != "mixed":
            found.append(Contestant("tshark -T ek", tshark("-T", "ek")))
    if has("scapy"):
        found.append(Contestant("scapy PcapReader", python(_SCAPY_PACKETS), SLOW_PACKETS))
        found.append(Contestant("scapy TCPSession", python(_SCAPY_SESSION), SLOW_PACKETS // 4))
    if has("pyshark") and shutil.which("tshark"):
        found.append(Contestant("pyshark", python(_PYSHARK), SLOW_PACKETS))
    return found


def say(text: str, out: TextIO = sys.stdout) -> None:
    out.write(text + "\n")
    out.flush()


def has(module: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def measured(command: Sequence[str], directory: Path) -> tuple[float, float]:
    """Processor seconds of a command and its children, and the peak memory of the largest of them in MB."""
    # A process of its own in between: the kernel counts waited-for children, and only theirs is wanted.
    probe = (
        "import json, os, resource, subprocess, sys\n"
        "null = open(os.devnull, 'wb')\n"
        "code = subprocess.run(sys.argv[1:], stdout=null, stderr=null).returncode\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *command],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment(directory),
        check=True,
    )
    code, seconds, rss_mb = json.loads(done.stdout)
    if code:
        raise SystemExit(f"{command[0]} ended with {code}: {' '.join(command)}")
    return seconds, rss_mb


def environment(directory: Path) -> dict[str, str]:
    """The environment of a command. Modules are compiled once, as those of an installed package are."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(directory / "pycache")}


def shortened(path: Path, packets: int, directory: Path) -> Path:
    """The first packets of a capture, as a capture."""
    short = directory / f"{path.stem}-{packets}.pcap"
    if not short.exists():
        with path.open("rb") as source, short.open("wb") as out:
            out.write(source.read(24))
            for _ in range(packets):
                head = source.read(16)
                if len(head) < 16:
                    break
                out.write(head + source.read(int.from_bytes(head[8:12], "little")))
    return short


def compare(name: str, path: Path, packets: int, rounds: int, directory: Path) -> list[str]:
    """The lines of a table for one capture."""
    found = contestants(name)
    scores = {one.name: Score() for one in found}
    for one in found:
        measured(one.command(shortened(path, 1000, directory)), directory)
    for turn in range(rounds):
        for one in found:
            limited = one.packets is not None and one.packets < packets
            if limited and turn:
                continue
            file = shortened(path, one.packets, directory) if limited and one.packets else path
            score = scores[one.name]
            score.scale = packets / one.packets if limited and one.packets else 1.0
            seconds, rss_mb = measured(one.command(file), directory)
            score.seconds.append(seconds)
            score.rss_mb = max(score.rss_mb, rss_mb)
            say(f"  {name}: {one.name}: {seconds:.2f} s, {rss_mb:.0f} MB", sys.stderr)
    base = scores[found[0].name].median
    lines = [f"\n{name}: {path.stat().st_size / MB:.0f} MB, {packets:,} packets\n"]
    lines.append("| contestant | CPU s, median | min | max | x ours | peak MB | runs |")
    lines.append("|---|---|---|---|---|---|---|")
    for one in found:
        score = scores[one.name]
        low, high = (edge(score.seconds) * score.scale for edge in (min, max))
        about = "~" if score.scale != 1.0 else ""
        note = f" (first {one.packets:,} packets, scaled)" if about else ""
        lines.append(
            f"| {one.name}{note} | {about}{score.median:.2f} | {about}{low:.2f} | {about}{high:.2f} | "
            f"{about}{score.median / base:.1f} | {score.rss_mb:.0f} | {len(score.seconds)} |"
        )
    return lines


def buffers(rounds: int) -> list[str]:
    """The lines of a table on decoding performance data."""
    from analyzer.buffers import decode_buffer, perf_data_columns, perf_data_rows
    from analyzer.buffers.columns import plain_perf_data_rows
    from analyzer.buffers.decode import plain_decode, plan_for

    rng = random.Random(5)
    lines = [
        "\nDecoding performance data, nanoseconds of CPU a value (median, min - max) and how many times the parser's speed\n"
    ]
    lines.append("| decoder | 6000 instances x 40 | 180 x 20 | 8 x 20 |")
    lines.append("|---|---|---|---|")
    shapes = ((6000, 40), (180, 20), (8, 20))
    decoders: list[tuple[str, Callable[[bytes], object]]] = [
        ("compiled parser, objects only", lambda data: plan_for("perf-data", data, None).fresh("plain")),
        ("tree by the compiled parser", lambda data: plain_decode("perf-data", data)),
        ("tree", lambda data: decode_buffer("perf-data", data)),
        ("rows by the compiled parser", plain_perf_data_rows),
        ("rows", perf_data_rows),
        ("columns", perf_data_columns),
    ]
    cells: dict[str, list[str]] = {name: [] for name, _ in decoders}
    for instances, counters in shapes:
        data = traffic.counterset(instances, counters, rng)
        values = instances * counters
        repeats = max(1, 20_000 // values)
        times: dict[str, list[float]] = {name: [] for name, _ in decoders}
        for _ in range(rounds):
            for name, decoder in decoders:
                begun = time.process_time()
                for _ in range(repeats):
                    decoder(data)
                times[name].append((time.process_time() - begun) * 1e9 / values / repeats)
        parser = statistics.median(times[decoders[0][0]])
        for name, taken in times.items():
            middle = statistics.median(taken)
            cells[name].append(f"{middle:.0f} ({min(taken):.0f} - {max(taken):.0f}), {parser / middle:.1f}x")
    return [*lines, *(f"| {name} | {' | '.join(row)} |" for name, row in cells.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller captures, fewer rounds: a few minutes")
    parser.add_argument("--rounds", type=int, help="how often each contestant runs (7, or 3 with --quick)")
    parser.add_argument("--only", nargs="+", choices=("mixed", "files", "calls", "sealed", "buffers"))
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="make the captures here, and leave them")
    given = parser.parse_args()
    rounds = given.rounds or (3 if given.quick else 7)
    wanted = given.only or ["mixed", "files", "calls", "sealed", "buffers"]
    sizes = (
        {"mixed": 500, "files": 150, "calls": 60, "sealed": 20}
        if given.quick
        else {"mixed": 500, "files": 300, "calls": 150, "sealed": 60}
    )
    say(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as temporary:
        directory = given.keep or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        makers: dict[str, Callable[[Path, int], int]] = {
            "mixed": traffic.mixed,
            "files": traffic.files,
            "calls": traffic.calls,
            "sealed": lambda path, size: traffic.repeated(path, size, SEALED),
        }
        for name, make in makers.items():
            if name in wanted:
                path = directory / f"{name}.pcap"
                packets = make(path, sizes[name] * MB)
                say("\n".join(compare(name, path, packets, rounds, directory)))
        if "buffers" in wanted:
            say("\n".join(buffers(rounds)))


if __name__ == "__main__":
    main()
