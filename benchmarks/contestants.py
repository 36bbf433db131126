"""The programs that are compared: for each a command over a capture, and what its output says that it saw there."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks import traffic

REQUEST, RESPONSE, FAULT = 0, 2, 3

_SCAPY_PACKETS = """
import sys
from scapy.utils import PcapReader
import scapy.layers.inet, scapy.layers.l2
packets = found = 0
for packet in PcapReader(sys.argv[1]):
    packets += 1
    found += packet.haslayer("TCP") and 445 in (packet["TCP"].sport, packet["TCP"].dport)
print(packets, found)
"""
_SCAPY_SESSION = """
import sys
from scapy.all import load_layer, sniff, TCPSession
load_layer("smb"); load_layer("smb2"); load_layer("msrpce.rpcclient")
counted = []
sniff(offline=sys.argv[1], session=TCPSession, store=False, prn=lambda packet: counted.append(None))
"""
_PYSHARK = """
import asyncio, sys
import pyshark
asyncio.set_event_loop(asyncio.new_event_loop())
capture = pyshark.FileCapture(sys.argv[1], display_filter="dcerpc", keep_packets=False)
for packet in capture:
    print(packet.number)
capture.close()
"""


_KAITAI = """
import sys
from analyzer.interfaces.buffers.buffer_trees import plan_for
from analyzer.pipeline.run import analyze
calls = analyze([sys.argv[1]], pdus=False).calls
for call in calls:
    side = call.response
    if side is not None and side.buffer is not None and side.buffer_kind == "perf-data":
        plan_for("perf-data", side.buffer.data, None).fresh("plain")
print(len(calls))
"""


@dataclass(frozen=True)
class Capture:
    """A capture and what decrypts it: our options, and tshark's. `notes` are sentences about who saw less, `calls` counts what we
    saw."""

    name: str
    path: Path
    packets: int
    options: tuple[str, ...] = ()
    tshark_options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    calls: int = 0


@dataclass(frozen=True)
class Seen:
    """What a program says that it saw, as far as it says: packets, PDUs by type, and the frames these end in.

    `logged` are the requests that a program logged which does not aim at all of them.
    """

    packets: int | None = None
    types: Counter[int] | None = None
    frames: frozenset[int] | None = None
    logged: int | None = None


@dataclass(frozen=True)
class Contestant:
    """A program. `packets` limits the capture it gets, because it would need minutes; its time is then scaled. `ends` are the exit
    codes of one that did its work. `before` is run once, and not measured.

    In the words of commands, `{out}` is a file, `{new}` a directory that is not there, and `{case}` is kept for the others on the
    same capture.
    """

    name: str
    command: Callable[[Capture], list[str]]
    seen: Callable[[Path], Seen] | None = None
    packets: int | None = None
    ends: tuple[int, ...] = (0,)
    before: Callable[[Capture], list[str]] | None = None


_SESSION = f"""
import sys
import analyzer as pcq
users = [{{"username": {traffic.SealedClient.USER!r}, "password": {traffic.SealedClient.PASSWORD!r}}}]
cap = pcq.analyze(sys.argv[1], secrets={{"users": users}})
tables = cap.samples, cap.counters()
"""


def _ours(command: str, *options: str) -> Callable[[Capture], list[str]]:
    return lambda one: [sys.executable, "-m", "analyzer", command, str(one.path), *one.options, *options]


def _python(code: str) -> Callable[[Capture], list[str]]:
    return lambda one: [sys.executable, "-c", code, str(one.path)]


_FIELDS = ("-T", "fields", "-e", "frame.number", "-e", "dcerpc.pkt_type")


def _tshark(*output: str) -> Callable[[Capture], list[str]]:
    return lambda one: ["tshark", "-r", str(one.path), *one.tshark_options, "-Y", "dcerpc", *output]


def _tcpdump(one: Capture) -> list[str]:
    options = " ".join(one.tshark_options)
    first = f"tcpdump -r '{one.path}' -w - port 445 2>/dev/null"
    return ["sh", "-c", f"{first} | tshark -r - {options} -Y dcerpc {' '.join(_FIELDS)}"]


def _suricata(one: Capture) -> list[str]:
    options = f"-c '{Path(__file__).with_name('suricata.yaml')}' -S /dev/null --runmode single"
    return [
        "sh",
        "-c",
        f'logs=$(mktemp -d) && suricata -r \'{one.path}\' {options} -l "$logs" >&2 && cat "$logs/eve.json"; rm -r "$logs"',
    ]


def _first_lines(command: Callable[[Capture], list[str]]) -> Callable[[Capture], list[str]]:
    """A command until its second line."""
    return lambda one: ["sh", "-c", f"{shlex.join(command(one))} | head -2"]


def _seen_by_us(output: Path) -> Seen:
    """Of a timeline: calls as a request and an answer each."""
    packets, types, frames = None, Counter[int](), set[int]()
    with output.open("rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            if record["record"] == "capture":
                packets = record["frames"]
            elif record["record"] == "call":
                answer = FAULT if record["fault"] is not None else RESPONSE
                for side, kind in ((record["request"], REQUEST), (record["response"], answer)):
                    if side is not None:
                        types[kind] += 1
                        frames.update(side["frames"])
    return Seen(packets, types, frozenset(frames))


def _seen_by_tshark(output: Path) -> Seen:
    types, frames = Counter[int](), set[int]()
    for line in output.read_text().splitlines():
        number, kinds = line.split("\t")
        found = [int(kind) for kind in kinds.split(",")]
        types.update(found)
        if {REQUEST, RESPONSE, FAULT} & set(found):
            frames.add(int(number))
    return Seen(None, types, frozenset(frames))


def _seen_by_scapy(output: Path) -> Seen:
    return Seen(int(output.read_text().split()[0]))


def _seen_by_pyshark(output: Path) -> Seen:
    return Seen(None, None, frozenset(map(int, output.read_text().split())))


def _seen_by_suricata(output: Path) -> Seen:
    events = map(orjson.loads, output.read_bytes().splitlines())
    calls = [event["smb"].get("dcerpc") if "smb" in event else event.get("dcerpc") for event in events]
    return Seen(logged=sum(call is not None and call.get("request") == "REQUEST" for call in calls))


def _seen_by_kaitai(output: Path) -> Seen:
    return Seen(None, Counter({REQUEST: int(output.read_text())}))


OURS = Contestant("pcq-analyzer timeline", _ours("timeline", "--format", "jsonl"), _seen_by_us)
PARQUET = Contestant(
    "pcq-analyzer samples to Parquet", _ours("samples", "--format", "parquet", "--force", "-o", "{out}")
)
SAMPLES = Contestant("pcq-analyzer samples as JSON Lines", _ours("samples", "--format", "jsonl"))
COUNTERS = Contestant(
    "pcq-analyzer counters to Parquet", _ours("counters", "--format", "parquet", "--force", "-o", "{out}")
)
# Some million samples of `polling`, both tables held at once.
NOTEBOOK = Contestant(
    "notebook session, samples and counters",
    lambda one: [sys.executable, "-c", _SESSION, str(one.path)],
    packets=20_000,
)
AUDIT = Contestant("pcq-analyzer audit", _ours("audit", "--format", "jsonl"), ends=(0, 10, 11))
SAVE = Contestant("pcq-analyzer save", _ours("save", "--force", "-o", "{out}"))
OPENING = Contestant(
    "pcq-analyzer sessions, of the case",
    lambda one: [sys.executable, "-m", "analyzer", "sessions", "{case}", "--format", "jsonl"],
    before=_ours("save", "--force", "-o", "{case}"),
)
REPORT = Contestant("pcq-analyzer report", _ours("report", "--force", "-o", "{out}"))
SESSIONS = Contestant("pcq-analyzer sessions", _ours("sessions", "--format", "jsonl"))
HOSTS = Contestant("pcq-analyzer hosts", _ours("hosts", "--format", "jsonl"))
TRIAGE = Contestant("pcq-analyzer triage", _ours("triage", "--format", "jsonl"), ends=(0, 10, 11))
COLLECT = Contestant("pcq-analyzer collect, one worker", _ours("collect", "--workers", "1", "-o", "{new}"))
# What is made of an analysis as a whole.
WHOLE = (SESSIONS, HOSTS, AUDIT, TRIAGE, SAVE, OPENING, REPORT, COLLECT)
# Until the first call is written; then the pipe is closed.
FIRST_LINE = Contestant("pcq-analyzer timeline, first call", _first_lines(OURS.command))
CAT = Contestant("cat", lambda one: ["cat", str(one.path)])
# What any program pays that is written in Python and holds arrays in numpy, before it has read a byte.
START = Contestant(
    "Python with numpy, nothing else",
    lambda one: [sys.executable, "-c", "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import numpy"],
)
DECOMPRESSORS = {
    name: Contestant(f"{name} -dc", lambda one, name=name: ["sh", "-c", f"{name} -dc < '{one.path}'"])  # type: ignore[misc]
    for name in traffic.COMPRESSIONS
}
TSHARK = Contestant("tshark -T fields", _tshark(*_FIELDS), _seen_by_tshark)
SURICATA = Contestant("suricata, SMB and DCERPC only", _suricata, _seen_by_suricata)
TSHARK_FIRST = Contestant("tshark -T fields, first line", _first_lines(TSHARK.command))
TSHARK_EK = Contestant("tshark -T ek", _tshark("-T", "ek"))
TCPDUMP = Contestant("tcpdump port 445, tshark", _tcpdump, _seen_by_tshark)


def slow_peers(packets: int) -> list[Contestant]:
    """Peers that get the first packets of a capture only."""
    found = []
    if _has("scapy"):
        found.append(Contestant("scapy PcapReader", _python(_SCAPY_PACKETS), _seen_by_scapy, packets))
        found.append(Contestant("scapy TCPSession", _python(_SCAPY_SESSION), None, packets // 4))
    if _has("pyshark") and shutil.which("tshark"):
        found.append(Contestant("pyshark", _python(_PYSHARK), _seen_by_pyshark, packets))
    return found


def kaitai(packets: int) -> Contestant:
    """Our layers, and behind them the compiled parser as Kaitai Struct makes it, whose objects nobody looks at."""
    return Contestant("plain Kaitai behind our layers", _python(_KAITAI), _seen_by_kaitai, packets)


def _has(module: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def shortfalls(seen: dict[str, Seen]) -> Iterable[str]:
    """Who logged fewer requests than we saw, where nobody could demand more: sentences."""
    ours = seen[OURS.name].types
    for name, other in seen.items():
        if other.logged is not None and ours is not None:
            yield f"{name}: logged {other.logged:,} of {ours[REQUEST]:,} requests, and decodes no value."


def differences(seen: dict[str, Seen]) -> Iterable[str]:
    """Where programs contradict each other about one capture: sentences."""
    ours, tshark = seen[OURS.name], seen.get(TSHARK.name)
    for name, other in seen.items():
        if other.packets is not None and other.packets != ours.packets:
            yield f"{name} saw {other.packets} packets, we {ours.packets}"
        if name == OURS.name or other.types is None or ours.types is None or ours.frames is None:
            continue
        if other.types[REQUEST] != ours.types[REQUEST]:
            yield f"{name} saw {other.types[REQUEST]} requests, we {ours.types[REQUEST]} calls"
        # An answer of ours is whole, one of theirs each of its fragments. Behind tcpdump, frames have other numbers.
        if name == TSHARK.name and other.frames is not None and not other.frames <= ours.frames:
            missing = sorted(other.frames - ours.frames)
            yield f"{name} saw calls in {len(missing)} frames where we saw none, the first is {missing[0]}"
        if name == TCPDUMP.name and tshark is not None and other.types != tshark.types:
            yield f"{name} saw {dict(other.types)}, tshark alone {dict(tshark.types or {})}"
    if tshark is not None and ours.types is not None and tshark.types is not None and tshark.types[REQUEST] == 0:
        yield "tshark saw no call at all"
    pyshark = seen.get("pyshark")
    if pyshark is not None and pyshark.frames is not None and tshark is not None and tshark.frames is not None:
        missing = sorted(tshark.frames - pyshark.frames)
        if missing:
            yield f"pyshark did not see {len(missing)} of tshark's {len(tshark.frames)} frames"
