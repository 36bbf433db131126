"""Compares the analyzer with its peers, and itself with what it is made of: synthetic captures in, docs/performance.md out.

    python benchmarks/run.py [--small] [--large] [--rounds N] [--only NAME ...] [--keep DIRECTORY] [--write [DIRECTORY]]

Every contestant is a process of its own; what counts is the processor time (user and system) of it and its children, and its
peak memory. Contestants take turns, so that a noisy machine is noisy for all, and a ratio is the median of the ratios within a
turn. Before anything is timed, all must have seen the same packets and calls; where they did not, the run ends with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import contestants, page, traffic  # noqa: E402
from benchmarks.contestants import OURS, Capture, Contestant, Seen  # noqa: E402

MB = 1_000_000
RECORDED = ROOT / "captures" / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
SEALED_OPTIONS = ("--password-of", traffic.SealedClient.USER, "--password", traffic.SealedClient.PASSWORD)


@dataclass
class Score:
    """What the runs of one contestant on one capture took, turn by turn."""

    contestant: Contestant
    scale: float = 1.0
    seconds: list[float] = field(default_factory=list)
    rss_mb: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) * self.scale

    def ratio(self, ours: Score) -> float:
        """How many times our time it takes."""
        pairs = zip(self.seconds, ours.seconds, strict=False)
        return statistics.median(mine * self.scale / base for mine, base in pairs)


@dataclass(frozen=True)
class Trial:
    """A capture, who is measured on it, and how often."""

    capture: Capture
    contestants: Sequence[Contestant]
    rounds: int


def say(text: str, out: TextIO = sys.stderr) -> None:
    out.write(text + "\n")
    out.flush()


def measured(
    command: Sequence[str], directory: Path, output: Path | None = None, ends: Sequence[int] = (0,), name: str = ""
) -> tuple[float, float]:
    """Processor seconds of a command and its children, and the peak memory of the largest of them in MB; `name` is that of its
    capture."""
    # A process of its own in between: the kernel counts waited-for children, and only theirs is wanted.
    probe = (
        "import json, resource, subprocess, sys\n"
        "with open(sys.argv[1], 'wb') as out, open('/dev/null', 'wb') as null:\n"
        "    code = subprocess.run(sys.argv[2:], stdout=out, stderr=null).returncode\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6]))\n"
    )
    places = {"{out}": directory / "out", "{new}": directory / "new", "{case}": directory / f"{name}.case"}
    shutil.rmtree(places["{new}"], ignore_errors=True)
    filled = [str(places.get(word, word)) for word in command]
    done = subprocess.run(
        [sys.executable, "-c", probe, str(output or os.devnull), *filled],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
        check=True,
    )
    code, seconds, rss_mb = json.loads(done.stdout)
    if code not in ends:
        raise SystemExit(f"{command[0]} ended with {code}: {' '.join(filled)}")
    return seconds, rss_mb


def environment() -> dict[str, str]:
    """The environment of a command. Modules are compiled once, as those of an installed package are."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT)}


def limited(capture: Capture, packets: int | None, directory: Path) -> Capture:
    """The beginning of a capture, as a capture."""
    if packets is None or packets >= capture.packets:
        return capture
    short = directory / f"{capture.path.stem}-{packets}.pcap"
    if not short.exists():
        traffic.shortened(capture.path, short, packets)
    return replace(capture, path=short, packets=packets)


def run(score: Score, capture: Capture, directory: Path, output: Path | None = None) -> None:
    """One turn of one contestant."""
    capture, contestant = limited(capture, score.contestant.packets, directory), score.contestant
    name = capture.path.name
    if contestant.before is not None and not (directory / f"{name}.case").exists():
        measured(contestant.before(capture), directory, name=name)
    seconds, rss_mb = measured(contestant.command(capture), directory, output, contestant.ends, name)
    score.seconds.append(seconds)
    score.rss_mb = max(score.rss_mb, rss_mb)
    say(f"  {capture.name}: {score.contestant.name}: {seconds:.2f} s, {rss_mb:.0f} MB")


def scores_of(trial: Trial, directory: Path) -> list[Score]:
    """No turn yet for anybody."""
    sizes = [limited(trial.capture, one.packets, directory).packets for one in trial.contestants]
    return [Score(one, trial.capture.packets / size) for one, size in zip(trial.contestants, sizes, strict=True)]


def check(trial: Trial, directory: Path) -> tuple[Seen, Capture, list[Score]]:
    """Lets every contestant read the capture once, and compares what each says it saw; what we saw, the capture with notes."""
    scores = scores_of(trial, directory)
    output = directory / "output"
    seen: dict[int, dict[str, Seen]] = {}
    notes: list[str] = []
    for score in scores:
        capture = limited(trial.capture, score.contestant.packets, directory)
        run(score, trial.capture, directory, output)
        if score.contestant.seen is not None:
            seen.setdefault(capture.packets, {})[score.contestant.name] = score.contestant.seen(output)
    for packets, by_name in seen.items():
        capture = limited(trial.capture, packets, directory)
        for one in (OURS, contestants.TSHARK):
            if one in trial.contestants and one.name not in by_name and one.seen is not None:
                measured(one.command(capture), directory, output)
                by_name[one.name] = one.seen(output)
        notes += contestants.shortfalls(by_name)
        if found := list(contestants.differences(by_name)):
            raise SystemExit(f"{capture.path.name}: " + "; ".join(found))
        say(f"  {capture.name}: {', '.join(by_name)} agree about {packets:,} packets")
    output.unlink()
    ours = seen[trial.capture.packets][OURS.name]
    calls = ours.types[contestants.REQUEST] if ours.types is not None else 0
    return ours, replace(trial.capture, notes=tuple(notes), calls=calls), scores


# Captures of which the time on the clock is taken too.
_ON_CORES = ("mixed", "files", "calls", "tiny", "hundred thousand", "handles", "recorded")


def cores(captures: Sequence[Capture], directory: Path, rounds: int) -> list[str]:
    """A table of seconds on the clock: of one process, of one for each core, and by default. The last column is what perfect
    sharing would take: as many processes at once that share nothing, by their number."""
    count = os.cpu_count() or 1
    ways = {
        "one process": ("--jobs", "1"),
        f"{count} processes": ("--jobs", str(count)),
        "by default": (),
    }
    head = ("capture", *ways, "by default, of one", "perfect, of one")
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for capture in captures:
        taken: dict[str, list[float]] = {way: [] for way in ways}
        perfect: list[float] = []
        for _ in range(rounds):
            perfect.append(_at_once([*OURS.command(capture), "--jobs", "1"], count) / count)
            for way, options in ways.items():
                begun = time.perf_counter()
                measured([*OURS.command(capture), *options], directory)
                taken[way].append(time.perf_counter() - begun)
        least = [min(seconds) for seconds in taken.values()]
        shown = " | ".join(f"{seconds:.2f}" for seconds in least)
        rows.append(f"| `{capture.name}` | {shown} | {least[-1] / least[0]:.2f} | {min(perfect) / least[0]:.2f} |")
        say(f"  {capture.name}: {shown} s on the clock")
    return rows


def _at_once(command: Sequence[str], count: int) -> float:
    """Seconds on the clock until so many processes, begun at the same time, have all done the same."""
    begun = time.perf_counter()
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment()) for _ in range(count)]
    codes = [one.wait() for one in started]
    if any(codes):
        raise SystemExit(f"{command[0]} ended with {codes}")
    return time.perf_counter() - begun


def _as_much(seen: Seen, of_plain: Seen, *, is_disturbed: bool) -> bool:
    """Whether what we see in a capture is what we see in the one it was made from; frames have other numbers in a disturbed one."""
    return seen.types == of_plain.types if is_disturbed else seen == of_plain


def compare(trial: Trial, directory: Path) -> list[Score]:
    scores = scores_of(trial, directory)
    for turn in range(trial.rounds):
        for score in scores:
            if score.scale == 1.0 or not turn:
                run(score, trial.capture, directory)
    return scores


def _peers() -> list[Contestant]:
    """Who is compared with us on ordinary captures, as far as they are installed."""
    peers = [contestants.CAT]
    if shutil.which("tshark"):
        peers.append(contestants.TSHARK)
        peers += [contestants.TCPDUMP] if shutil.which("tcpdump") else []
    return peers + ([contestants.SURICATA] if shutil.which("suricata") else [])


def _group(name: str, slow: int) -> list[Contestant]:
    """Who is measured on a capture."""
    peers, tshark = _peers(), [contestants.TSHARK] if shutil.which("tshark") else []
    decoders = [one for one in peers if one not in (contestants.CAT, contestants.TCPDUMP)]
    match name:
        case "recorded" | "handles":
            return [OURS, *contestants.WHOLE, *decoders]
        case "tiny":
            return [OURS, *contestants.WHOLE, *peers]
        case "thousand" | "hundred thousand":
            return [OURS, *decoders]
        case "watched":
            return [OURS, contestants.REPORT, *decoders]
        case "winperf":
            return [OURS, contestants.AUDIT, *peers]
        case "blocks":
            return [OURS, contestants.SAMPLES, contestants.AUDIT, *tshark]
        case "million" | "files-large" | "sealed-files-large":
            # tshark, of which `tiny` and `files` show enough, would take a minute a turn.
            return [OURS, *(one for one in peers if one in (contestants.CAT, contestants.SURICATA))]
        case "polling":
            return [OURS, contestants.PARQUET, contestants.COUNTERS, contestants.NOTEBOOK, contestants.CAT, *tshark]
        case "hours":
            return [OURS, contestants.COUNTERS, contestants.AUDIT, contestants.CAT, *tshark]
        case "reply":
            return [OURS, contestants.AUDIT, contestants.TRIAGE, contestants.CAT, *tshark]
        case "scan" | "foreign" | "files" | "sealed-files":
            return [OURS, *peers]
        case "large":
            first = [contestants.FIRST_LINE, *([contestants.TSHARK_FIRST] if tshark else [])]
            return [OURS, *first, *peers]
        case "calls":
            ours = [OURS, contestants.AUDIT, contestants.TRIAGE]
            return [*ours, *peers, *contestants.slow_peers(slow // 4), contestants.kaitai(slow)]
    return [OURS, *peers, contestants.START, *contestants.slow_peers(slow)]


# What tshark needs for segments out of order.
_IN_ORDER = ("-o", "tcp.reassemble_out_of_order:TRUE")

MAKERS: dict[str, Callable[[Path, int], int]] = {
    "mixed": traffic.mixed,
    "scan": traffic.scan,
    "foreign": traffic.foreign,
    "files": traffic.files,
    "sealed-files": traffic.sealed_files,
    "calls": traffic.calls,
    "thousand": traffic.tiny,
    "tiny": traffic.tiny,
    "hundred thousand": traffic.tiny,
    "handles": traffic.handles,
    "million": traffic.tiny,
    "blocks": traffic.blocks,
    "winperf": traffic.winperf,
    "watched": traffic.watched,
    "recorded": lambda path, size: traffic.repeated(path, size, RECORDED),
    "polling": traffic.polling,
    "hours": traffic.hours,
    "reply": traffic.reply,
    "files-large": traffic.files,
    "sealed-files-large": traffic.sealed_files,
    "large": traffic.mixed,
}


def capture_of(name: str, path: Path, packets: int) -> Capture:
    """A capture, with what decrypts it."""
    if name == "recorded":
        return Capture(name, path, packets, ("--secrets", str(RECORDED.with_suffix(".secrets.json"))))
    if name not in ("polling", "hours", "reply"):
        return Capture(name, path, packets)
    session, key = traffic.sealed_session()
    options = (*SEALED_OPTIONS, "--max-stub", str(1 << 30))
    return Capture(name, path, packets, options, ("-o", f'uat:smb2_seskey_list:{session},{key},"",""'))


def trials(sizes: dict[str, float], directory: Path, rounds: int, slow: int, wanted: Sequence[str]) -> Iterator[Trial]:
    """The captures that are wanted, each made where it is not there yet, and others made of them."""
    for name, make in MAKERS.items():
        if name not in wanted or name not in sizes:
            continue
        path = directory / f"{name}.pcap"
        packets = made(path, lambda make=make, path=path, name=name: make(path, int(sizes[name] * MB)))  # type: ignore[misc]
        # tshark takes minutes for the largest: the turn that compares what all see is the one that counts.
        yield Trial(capture_of(name, path, packets), _group(name, slow), 0 if name in ("large", "million") else rounds)
        for form in traffic.FORMS if name == "mixed" else ():
            if form in wanted:
                other = directory / f"mixed.{form}"
                packets = made(other, lambda form=form, other=other, path=path: traffic.variant(path, other, form))  # type: ignore[misc]
                beside = [contestants.DECOMPRESSORS[form]] if shutil.which(form) else []
                yield Trial(Capture(f"mixed, {form}", other, packets), [OURS, *beside], rounds)
        for kind in traffic.DISTURBANCES if name == "files" else ():
            if kind in wanted:
                other = directory / f"files.{kind}"
                packets = made(other, lambda kind=kind, other=other, path=path: traffic.disturbed(path, other, kind))  # type: ignore[misc]
                capture = Capture(f"files, {kind}", other, packets, tshark_options=_IN_ORDER)
                yield Trial(capture, [OURS, *_peers()], rounds)


def made(path: Path, make: Callable[[], int]) -> int:
    """How many packets a capture has, which is made if it is not there."""
    note = path.with_name(path.name + ".packets")
    if not note.exists():
        say(f"  making {path.name}")
        note.write_text(str(make()))
    return int(note.read_text())


SIZES: dict[str, float] = {
    "mixed": 500,
    "scan": 20,
    "foreign": 40,
    "files": 300,
    "sealed-files": 300,
    "calls": 150,
    # A thousand, ten thousand and a hundred thousand calls.
    "thousand": 0.615,
    "tiny": 6.2,
    "hundred thousand": 61.5,
    # Two thousand query handles.
    "handles": 6.7,
    # An answer of 160,000 blocks.
    "blocks": 2.56,
    "winperf": 10,
    # A thousand polls of 300 processes. Eight hours, a poll a second, are 28,800 of them and 1,020 MB.
    "watched": 35.5,
    "recorded": 20,
    "polling": 200,
    "hours": 200,
    "reply": 64,
}
LARGE: dict[str, float] = {"million": 615, "files-large": 2000, "sealed-files-large": 2000, "large": 5000}
SMALL: dict[str, float] = {
    "mixed": 1,
    "scan": 0.1,
    "foreign": 1,
    "files": 1,
    "sealed-files": 1,
    "calls": 2,
    "thousand": 0.1,
    "tiny": 0.1,
    "hundred thousand": 0.3,
    "handles": 0.2,
    "blocks": 0.1,
    "winperf": 1,
    "watched": 0.5,
    "recorded": 1,
    "polling": 2,
    "hours": 2,
    "reply": 0.5,
    "million": 0.2,
    "files-large": 1,
    "sealed-files-large": 1,
    "large": 1,
}
NAMES = (*SIZES, *LARGE, *traffic.FORMS, *traffic.DISTURBANCES, "buffers")
PAGE = ROOT / "docs" / "performance.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--small",
        action="store_true",
        help="some MB, and only the turn that compares what all see: shows that it works",
    )
    parser.add_argument("--large", action="store_true", help="also a million calls, 2 GB of files and 5 GB")
    parser.add_argument("--rounds", type=int, help="how many turns (3)")
    parser.add_argument("--only", nargs="+", choices=NAMES)
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="make the captures here, and leave them")
    parser.add_argument(
        "--write",
        nargs="?",
        type=Path,
        const=PAGE.parent,
        metavar="DIRECTORY",
        help="write performance.md and its picture (to docs/)",
    )
    given = parser.parse_args()
    rounds = 0 if given.small else given.rounds or 3
    setting = page.setting(rounds or 1)
    sizes = dict(SMALL if given.small else SIZES)
    if given.large and not given.small:
        sizes |= LARGE
    with tempfile.TemporaryDirectory() as temporary:
        directory = (given.keep or Path(temporary)).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        results: list[tuple[Capture, list[Score]]] = []
        of_plain = Seen()
        for trial in trials(sizes, directory, rounds, 500 if given.small else 20_000, given.only or NAMES):
            seen, capture, scores = check(trial, directory)
            kind, *form = trial.capture.name.split(", ")
            if not form:
                of_plain = seen
            elif not _as_much(seen, of_plain, is_disturbed=kind == "files"):
                raise SystemExit(
                    f"{trial.capture.name}: we do not see there what we see in the capture it was made from"
                )
            results.append((capture, compare(trial, directory) if trial.rounds else scores))
        inside: dict[str, list[str]] = {}
        if "buffers" in (given.only or NAMES):
            inside = page.inside(directory, sizes, rounds or 1, 0.02 if given.small else 1.0)
            measured_on_cores = [capture for capture, _ in results if capture.name in _ON_CORES]
            inside["cores"] = cores(measured_on_cores[: 1 if given.small else None], directory, rounds or 1)
        text = page.written(results, inside, setting, page.prose(PAGE.read_text()))
        say(text, sys.stdout)
        if given.write:
            (given.write / PAGE.name).write_text(text)
            page.picture([(capture, scores) for capture, scores in results]).save(given.write / "performance.svg")


if __name__ == "__main__":
    main()
