"""Golden files: what the commands printed when their output was last compared with the recorded truth, kept to be compared with.

They state no reason why it is right: that is what the other tests are for (recorded truth, vectors, specifications, properties).
They hold all the rest of it, to the byte: a change of any of it is seen, and shown as the lines that differ. `make golden` writes
them anew, and prints what is different; whoever changes output on purpose reads that, and commits it with the change.

`text/` has the text of each command, a file each; `records/` the JSON Lines and other forms, and what is printed of damaged
captures, by the name of the case (JSON, compressed by xz).
"""

from __future__ import annotations

import difflib
import io
import json
import lzma
import random
import re
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from analyzer import __version__
from analyzer.commands.shared.all_commands import command_line
from analyzer.core.output import gate
from analyzer.core.output import terminal as output_terminal
from tests.commands.test_all_commands import CAPTURES, VECTORS, run

# Commands import `is_terminal` by name: all of them, before it is patched.
command_line(())

HERE = Path(__file__).resolve().parent
TEXTS, RECORDS = HERE / "text", HERE / "records"
KEY = "00112233445566778899aabbccddeeff"

SEALED = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy"
CLEAR = "v1_samba_impacket_smb311_noauth"
# One of each kind: authentication, encryption, interface, and what is wrong with it.
BASES = (
    SEALED,
    CLEAR,
    "n_pcq_dropseg",
    "n_v1_snap160",
    "n_v1_midstream",
    "n_v1_reordered",
    "pcq_smbd_scapy_impacket_smb311_ntlm_integrity_denied",
    "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed",
    "pcq_smbd_scapy_sambalib_krb5rc4only_krb5_seal",
    "pcq_smbd_scapy_scapycli_smb311_ndr64",
    "v1_samba_sambapy_krb5sha384_krb5_seal",
)
COMMANDS = ("timeline", "sessions", "hosts", "handles", "stats", "processes", "counters", "samples", "triage", "audit")
# Further options, with the sealed capture: those that print text, and those that print another form.
TEXT_OPTIONS = (
    "timeline --time absolute",
    "timeline --time delta --unfold",
    "timeline --all-attempts --interface svcctl --interface winreg",
    "timeline --follow-handle q1",
    "timeline --since 0.5s --until 1s",
    "timeline --names-from now",
    "timeline --hash -Y status!=0",
    "timeline --tail 12",
    f"timeline --redact-key {KEY}",
    f"sessions --redact-key {KEY}",
    f"hosts --redact-key {KEY}",
    f"triage --redact-key {KEY}",
    "triage --verbose",
    f"counters --redact-key {KEY}",
    "counters --interval 200ms",
    "counters --exact",
    "audit --actor client",
    "audit --profile strict",
    "audit --profile windows --select PCQ1",
    "audit --ignore PCQ1 --fail-on warn --min-coverage 90%",
    "audit --list",
    "audit --matrix",
    "docs limits",
    "docs PCQ101 PCQ412",
    "stats -Y opnum==6",
    "handles --follow-handle q2",
    *(f"show --call {number}" for number in (1, 2, 3, 5, 8, 13, 21, 34, 55, 70, 80)),
    *(f"show --call {number} --packets" for number in (2, 40)),
    "show --call 3 --field response.lpData",
)
RECORD_OPTIONS = (
    *(f"{command} --format {form}" for command in ("timeline", "samples") for form in ("json", "csv")),
    *(f"timeline --format {form}" for form in ("timesketch", "ecs", "zeek")),
    *(f"audit --format {form}" for form in ("json", "csv", "sarif", "junit", "timesketch", "ecs", "zeek")),
    *(f"show --call {number} --packets --format jsonl" for number in range(1, 84, 3)),
    "export-metadata",
    "docs limits --format jsonl",
    "audit --list --format jsonl",
    "audit --matrix --format jsonl",
    "counters --interval 200ms --format jsonl",
    "counters --exact --format jsonl",
    f"timeline --redact-key {KEY} --format jsonl",
    f"samples --redact-key {KEY} --format jsonl",
    f"audit --redact-key {KEY} --format jsonl",
)
_DIGEST = re.compile(r'("result": ?"|  result  sha256 )[0-9a-f]{64}')
NO_CAPTURE = ("docs", "audit --list")


class Case(NamedTuple):
    """A command line of which the output is kept; `damage` changes the frames of the capture first. With `columns` it prints to a
    terminal of that width, in colours."""

    name: str
    line: tuple[str, ...]
    capture: Path | None
    damage: Callable[[list[Frame]], list[Frame]] | None = None
    columns: int | None = None

    def output(self, folder: Path) -> str:
        """What the command prints on standard output and standard error, and its exit code."""
        path = self.capture
        given = path.with_name(f"{path.stem}.secrets.json") if path else None
        secrets = ("--secrets", str(given)) if given and given.is_file() else ()
        if self.damage is not None:
            written = folder / path.name
            written.write_bytes(_with_frames(path.read_bytes(), self.damage))
            path = written
        command, *options = self.line
        environment = {
            "COLUMNS": str(self.columns or 120),
            "TZ": "UTC",
            "TERM": "xterm",
            "COLORTERM": "",
            "NO_COLOR": "",
        }
        with _terminal(self.columns is not None) as terminal:
            done = run(command, *([path] if path else []), *options, *secrets, env=environment)
        # Versions of rich differ in whether a space at the very end of a line is printed.
        shown = "".join(f"{line.rstrip(' ')}\n" for line in terminal.getvalue().splitlines())
        printed = f"{shown}{done.stdout}{done.stderr}exit code {done.exit_code}\n"
        printed = _DIGEST.sub(r"\1DIGEST", printed)  # of a text with other paths in it
        return printed.replace(str(path), "CAPTURE").replace(str(CAPTURES), "CAPTURES").replace(__version__, "VERSION")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def _terminal(is_one: bool) -> Iterator[_Terminal]:
    """Where it `is_one`, commands print their text to it."""
    terminal = _Terminal()
    with pytest.MonkeyPatch.context() as patch:
        if is_one:
            patch.setattr(output_terminal, "text_output", lambda: nullcontext(terminal))
            patch.setattr(gate, "is_terminal", lambda: True)
        yield terminal


class Frame(NamedTuple):
    """A packet of a pcap file: its record header without lengths, its length on the wire, what was captured of it."""

    time: bytes
    length: int
    data: bytes


def _with_frames(raw: bytes, change: Callable[[list[Frame]], list[Frame]]) -> bytes:
    found, at = [], 24
    while at + 16 <= len(raw):
        captured, length = struct.unpack_from("<II", raw, at + 8)
        found.append(Frame(raw[at : at + 8], length, raw[at + 16 : at + 16 + captured]))
        at += 16 + captured
    made = (one.time + struct.pack("<II", len(one.data), one.length) + one.data for one in change(found))
    return raw[:24] + b"".join(made)


def _lost(share: float, seed: int) -> Callable[[list[Frame]], list[Frame]]:
    def change(frames: list[Frame]) -> list[Frame]:
        chance = random.Random(seed)
        return [one for one in frames if chance.random() >= share]

    return change


def _moved(most: int, seed: int) -> Callable[[list[Frame]], list[Frame]]:
    def change(frames: list[Frame]) -> list[Frame]:
        chance = random.Random(seed)
        places = sorted(range(len(frames)), key=lambda at: at + chance.randint(0, most))
        return [frames[at]._replace(time=frames[to].time) for to, at in enumerate(places)]

    return change


def _twice(frames: list[Frame]) -> list[Frame]:
    return [one for frame in frames for one in (frame, frame)]


def _cut(most: int) -> Callable[[list[Frame]], list[Frame]]:
    return lambda frames: [one._replace(data=one.data[:most]) for one in frames]


def _spoilt(share: float, seed: int) -> Callable[[list[Frame]], list[Frame]]:
    """One byte of a payload is another."""

    def change(frames: list[Frame]) -> list[Frame]:
        chance, made = random.Random(seed), []
        for one in frames:
            data = bytearray(one.data)
            if len(data) > 80 and chance.random() < share:
                data[chance.randrange(66, len(data))] ^= 1 << chance.randrange(8)
            made.append(one._replace(data=bytes(data)))
        return made

    return change


def _one_sided(port: int) -> Callable[[list[Frame]], list[Frame]]:
    """Only what is sent to, or from, the port of SMB (with Ethernet and IPv4 without options)."""
    return lambda frames: [one for one in frames if int.from_bytes(one.data[port : port + 2], "big") == 445]


DAMAGES: dict[str, Callable[[list[Frame]], list[Frame]]] = {
    **{f"behind frame {count}": lambda frames, count=count: frames[count:] for count in (3, 5, 9, 14, 20, 40, 80)},
    **{f"before frame {count}": lambda frames, count=count: frames[:count] for count in (8, 16, 30, 60)},
    **{f"lost {share:.0%} {seed}": _lost(share, seed) for share in (0.02, 0.1, 0.3) for seed in (1, 2, 3)},
    **{f"moved {most} {seed}": _moved(most, seed) for most in (2, 6, 30) for seed in (1, 2)},
    **{f"spoilt {share:.0%} {seed}": _spoilt(share, seed) for share in (0.03, 0.3) for seed in (1, 2, 3, 4)},
    **{f"cut at {most}": _cut(most) for most in (60, 90, 120, 200, 400, 1000)},
    "twice": _twice,
    "lost and twice": lambda frames: _twice(_lost(0.1, 4)(frames)),
    "to the server": _one_sided(36),
    "to the client": _one_sided(34),
    "backwards": lambda frames: frames[::-1],
}


def texts() -> Iterator[Case]:
    for base in BASES:
        for command in COMMANDS:
            yield Case(f"{base}/{command}", (command,), CAPTURES / f"{base}.pcap")
    for line in TEXT_OPTIONS:
        yield _case(f"options/{_named(line)}", line)
    for vector in sorted(VECTORS.glob("*.bin")):
        yield Case(f"decode/{vector.stem}", ("decode",), vector)


def records() -> Iterator[Case]:
    for base in BASES:
        for command in COMMANDS:
            yield Case(f"{base}/{command}", (command, "--format", "jsonl"), CAPTURES / f"{base}.pcap")
    for line in RECORD_OPTIONS:
        yield _case(f"options/{_named(line)}", line)
    for vector in sorted(VECTORS.glob("*.bin")):
        yield Case(f"decode/{vector.stem}", ("decode", "--format", "jsonl"), vector)


def on_terminals() -> Iterator[Case]:
    """Lines folded at the width of a terminal, and colours."""
    for base, widths in ((SEALED, (44, 80, 160)), (CLEAR, (80,)), ("n_pcq_dropseg", (44,))):
        for command in COMMANDS:
            for columns in widths:
                yield Case(f"terminal/{base}/{command}/{columns}", (command,), CAPTURES / f"{base}.pcap", None, columns)
    for line in TEXT_OPTIONS:
        case = _case(f"terminal/options/{_named(line)}", line)
        yield case._replace(columns=72)


def damaged() -> Iterator[Case]:
    """The calls, and the problems with where they lie."""
    for base in (SEALED, CLEAR, "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed"):
        for name, damage in DAMAGES.items():
            yield Case(f"{base}-damaged/{name}", ("timeline", "--format", "jsonl"), CAPTURES / f"{base}.pcap", damage)


def _case(name: str, line: str) -> Case:
    words = tuple(line.split(" "))
    return Case(name, words, None if line.startswith(NO_CAPTURE) else CAPTURES / f"{SEALED}.pcap")


def _named(line: str) -> str:
    return line.replace(KEY, "KEY").replace("--", "").replace(" ", "_").replace("!=", "-ne-").replace("==", "-eq-")


def text_file(case: Case) -> Path:
    return TEXTS / f"{case.name}.txt"


def changed_text(case: Case, folder: Path) -> str:
    """What is different from the kept text, empty where nothing is."""
    return difference(case, text_file(case).read_text("utf-8"), case.output(folder))


def changed_record(case: Case, folder: Path) -> str:
    """What is different from the kept record, empty where nothing is."""
    return difference(case, _of_group(case.name.partition("/")[0])[case.name], case.output(folder))


@cache
def _of_group(group: str) -> dict[str, str]:
    path = RECORDS / f"{group}.json.xz"
    found: dict[str, str] = json.loads(lzma.decompress(path.read_bytes())) if path.exists() else {}
    return found


def kept_names() -> set[str]:
    """Of all that is kept: paths of texts, and names of records."""
    groups = (path.name.removesuffix(".json.xz") for path in RECORDS.glob("*.json.xz"))
    names = {name for group in groups for name in _of_group(group)}
    return names | {str(path) for path in TEXTS.rglob("*.txt")}


def difference(case: Case, kept: str, now: str) -> str:
    """The lines that differ, as a unified diff of at most forty."""
    if kept == now:
        return ""
    names = f"{case.name} (kept)", f"{case.name} (now)"
    lines = difflib.unified_diff(kept.splitlines(), now.splitlines(), *names, lineterm="", n=1)
    return "".join(f"{line[:400]}\n" for line, _ in zip(lines, range(40), strict=False))


def main() -> None:
    """Writes all of them, and prints what is different."""
    groups: dict[str, dict[str, str]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for case in texts():
            path, now = text_file(case), case.output(folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            sys.stdout.write(difference(case, path.read_text("utf-8") if path.exists() else "", now))
            path.write_text(now, "utf-8")
        for case in (*records(), *on_terminals(), *damaged()):
            group, now = case.name.partition("/")[0], case.output(folder)
            sys.stdout.write(difference(case, _of_group(group).get(case.name, ""), now))
            groups.setdefault(group, {})[case.name] = now
    for path in {*TEXTS.rglob("*.txt")} - {text_file(case) for case in texts()}:
        path.unlink()
    shutil.rmtree(RECORDS, ignore_errors=True)
    RECORDS.mkdir()
    for group, found in groups.items():
        (RECORDS / f"{group}.json.xz").write_bytes(lzma.compress(json.dumps(found, indent=0).encode(), preset=9))


if __name__ == "__main__":
    main()
