"""What was measured as a page and a picture: scores in, Markdown and a chart out."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import contestants, traffic
from tools.markdown import document_lines

if TYPE_CHECKING:
    from benchmarks.contestants import Capture
    from benchmarks.run import Score

MB = 1_000_000

_ABOUT = {
    "mixed": "TLS, HTTP, DNS and QUIC of 5,000 flows; one packet of a hundred is SMB2 with PerflibV2 queries in clear",
    "scan": "SYNs to port 445 of one host after the other, every other one refused, behind a single PerflibV2 query",
    "foreign": "web requests to port 445, a connection each, refused in words, behind a single PerflibV2 query",
    "files": "SMB2 only: nine tenths of the bytes are file contents, the others PerflibV2 queries in clear",
    "files, twice": "`files` with every frame twice, the way a mirror port of both ends sends it",
    "files, disordered": "`files` with one frame of twenty behind the two after it",
    "sealed-files": "file contents of encrypted sessions without a key, behind a single PerflibV2 query in clear",
    "files-large": "more of `files`, where starting counts for little",
    "sealed-files-large": "more of `sealed-files`, where starting counts for little",
    "calls": "SMB2 only, and nothing but PerflibV2 queries in clear, with answers of 3 to 65 KB",
    "tiny": "ten thousand of the smallest polls there are, one counter of one instance, by eight clients in clear",
    "handles": "query handles, two thousand of them: each is opened, polled three times and closed, by eight clients in clear",
    "thousand": "a thousand calls like those of `tiny`",
    "hundred thousand": "a hundred thousand calls like those of `tiny`",
    "million": "a million calls like those of `tiny`",
    "blocks": "one answer of 160,000 blocks, each the 16 bytes of an error",
    "winperf": "300 instances of 27 counters, polled as a PERF_DATA_BLOCK (HKEY_PERFORMANCE_DATA) in clear",
    "watched": "a machine with 300 processes, polled once a second as HKEY_PERFORMANCE_DATA, in clear; processes begin and end",
    "recorded": "the calls of a recorded conversation (NTLM privacy) again and again, each time by another client; most are small",
    "polling": "one conversation, encrypted with AES-128-GCM and sealed with RC4 inside, that polls 2,000 instances of 40 counters",
    "hours": "eight hours in which 300 processes of 12 counters are polled, sealed alike; now and then one begins or ends",
    "reply": "a conversation like that of `polling`, with a single answer of 64 MB",
    "large": "more of `mixed`",
}

# Contestant, the work it does, and what it misses.
_WORK = (
    (
        "`pcq-analyzer timeline`",
        "everything, from reassembly to opening, and every value of every answer, written as JSON Lines",
        "nothing of a call",
    ),
    (
        "`pcq-analyzer samples`",
        "the same, and only the values, as a Parquet file or JSON Lines",
        "calls without values",
    ),
    (
        "`pcq-analyzer counters`",
        "the same, and every value formatted as a performance monitor does, as a Parquet file",
        "calls without values",
    ),
    (
        "`pcq-analyzer audit`",
        "the same as `timeline`, and what each call breaks of 402 requirements, as JSON Lines",
        "calls that break nothing",
    ),
    (
        "`pcq-analyzer triage`",
        "everything, and what a responder looks at first, as JSON Lines",
        "what nobody has to act on",
    ),
    (
        "`pcq-analyzer save`",
        "everything, as a case that is read back",
        "nothing",
    ),
    (
        "`pcq-analyzer sessions` of the case",
        "opens a case, and lists its SMB sessions as JSON Lines",
        "calls: it lists who was logged on",
    ),
    (
        "`pcq-analyzer report`",
        "everything, as a page for a browser",
        "series, layers and processes beyond its bounds, which the page states",
    ),
    (
        "`pcq-analyzer collect`",
        "everything, as a dataset of Parquet tables",
        "nothing",
    ),
    (
        "first call, first line",
        "until the first one is written; then the pipe is closed",
        "all that follows",
    ),
    (
        "`cat`, `gzip -dc`, `zstd -dc`, `lz4 -dc`",
        "read the file, which every program must do",
        "what the bytes mean",
    ),
    (
        "Python with numpy, nothing else",
        "starts and ends: no program like ours can do with less",
        "the capture",
    ),
    (
        "`tshark -T fields`",
        "numbers and types of the DCERPC frames. It decodes no call",
        "parameters, answers, values, states of handles",
    ),
    (
        "`tcpdump`, `tshark`",
        "the same behind `tcpdump port 445`: cheap where little is SMB, at the price of the frame numbers",
        "the same, frame numbers, and calls on other ports",
    ),
    (
        "`suricata`",
        "reassembles, parses SMB and DCERPC and logs their transactions as JSON, without rules; it decodes no call",
        "the same, and each call that the notes below a table count",
    ),
    (
        "`scapy PcapReader`",
        "takes packets apart, and looks for port 445",
        "all above TCP",
    ),
    (
        "`scapy TCPSession`",
        "the same with TCP reassembly and the SMB and DCERPC layers loaded",
        "pairs of requests and answers, PerflibV2, what is sealed",
    ),
    (
        "plain Kaitai",
        "the calls, and of each answer the objects that the compiled parser makes, without looking at them",
        "what the objects state",
    ),
    (
        "`pyshark`",
        "the DCERPC frames as Python objects (it runs tshark)",
        "as `tshark -T fields`",
    ),
)

_HOW = """\
`python benchmarks/run.py --large --write` writes this page (see `benchmarks/README.md`). No test depends on it.

SETTING.

Processor time, user and system, of a program and its children, with a warm page cache. The programs take turns on each
capture. `x ours` is the median of the ratios within a turn. Above 1, the other program needs more time than ours.

Before the timing, a check compares what the programs see: as many calls as tshark sees requests, all frames of tshark, as
many packets as scapy.

![Processor time by capture and contestant](performance.svg)
"""

_DECODING = """\
## Decoding

Nanoseconds of processor time a value, and how many times the speed of the first row. In the first table this is the compiled
parser, which makes objects and does nothing with them. For a PERF_DATA_BLOCK it makes most objects only when asked, so the
second table begins with rows.

`columns` reads a buffer as the first of its kind, `of a layout met before` as the next answer to the same query. A check
first compares the values of all.
"""

_STAGES = """\
## From a sealed capture to Parquet

Each layer measured alone. Beside it stands what its library takes for the same bytes. Packets stand beside reading the file
at once. Decryption and unsealing stand beside AES-GCM and RC4 with HMAC-MD5 over as many pieces of the same size. Decoding
stands beside copying every other word, and Parquet beside polars writing the same tables.
"""

_REASONS = """\
Why a stage takes more than 1.5 times its library: Windows and its peers send pieces of some 4 KB. Packets, streams, SMB and
DCERPC handle each piece in Python, while AES-GCM opens it in a microsecond. Decoding compares every bit of an answer with
the one before, and takes the values.
"""

_CORES = """\
## One core and more

Seconds on the clock for `timeline` as JSON Lines, in turns, the least of each. By default, processes are started only where the
beginning of a capture lets expect enough calls of several hosts. The last column is the bound of the machine: as many processes at
once, each reading the whole capture, take so much of the time of one for each of them. Cores that share units are slower together.
"""

# Captures of calls alike, by how many there are.
_OF_CALLS = ("thousand", "tiny", "hundred thousand", "million")

# Where what was measured ends, and what somebody wrote about it begins, which is kept.
_PROSE = "## How to read the tables\n"


def prose(page: str) -> str:
    """What somebody wrote on a page."""
    return page[page.index(_PROSE) :]


def setting(rounds: int) -> str:
    """What is measured and where: the commit, how many turns each program has, how busy the machine is without them, and the
    versions of all that takes part."""
    model = re.search(r"model name\s*: (.+)", _text("/proc/cpuinfo"))
    memory = re.search(r"MemTotal:\s*(\d+)", _text("/proc/meminfo"))
    parts = [
        f"{datetime.now(UTC):%-d %B %Y}",
        f"commit {_commit()}, {rounds} turn{'s' if rounds != 1 else ''}",
        f"{model[1].strip() if model else platform.machine()}, {os.cpu_count()} cores"
        + (f", {int(memory[1]) / 1e6:.0f} GB" if memory else ""),
        platform.system(),
        f"Python {platform.python_version()}",
        *(_first_line(program, "--version") for program in ("tshark", "tcpdump", "suricata")),
        *(
            f"{name} {_version(name)}"
            for name in ("numpy", "polars", "cryptography", "kaitaistruct", "scapy", "pyshark")
        ),
    ]
    first = ", ".join(part for part in parts[:5] if part)
    busy = f"load average {os.getloadavg()[0]:.1f} when it began"
    return f"{first}; {busy}. Versions: {', '.join(parts[5:])}"


def _commit() -> str:
    """The commit that is measured, and whether files differ from it."""
    run = partial(subprocess.run, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    commit = run(["git", "rev-parse", "--short=8", "HEAD"]).stdout.strip()
    return f"{commit} with changes" if run(["git", "status", "--porcelain"]).stdout.strip() else commit


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _first_line(*command: str) -> str:
    try:
        stated = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return f"{command[0]} not installed"
    found = re.search(r"(\S+)\s+(?:\(Wireshark\)\s+|version\s+)?(\d[\d.]+)", stated.stdout)
    return f"{command[0]} {found[2]}" if found else command[0]


def inside(directory: Path, sizes: dict[str, int], rounds: int, scale: float) -> dict[str, list[str]]:
    """What is measured without contestants: tables by name."""
    from analyzer.auth.keyring import Keyring
    from benchmarks import inside as within

    keyring = Keyring.build(passwords=[(traffic.SealedClient.USER, traffic.SealedClient.PASSWORD)])
    out = {"decoding": [*within.decoding(rounds, scale), "", *within.decoding_winperf(rounds, scale)]}
    for name in ("reply", "polling"):
        path = directory / f"{name}.pcap"
        if name not in sizes or not path.exists():
            continue
        values, found = within.to_parquet(path, keyring)
        rows = [f"| stage of `{name}` | CPU s | its library alone | x |", "|---|---|---|---|"]
        for stage, (seconds, floor) in found.items():
            beside = ("-", "-") if floor is None else (f"{floor:.2f}", f"{seconds / max(floor, 1e-9):.1f}")
            rows.append(f"| {stage} | {seconds:.2f} | {beside[0]} | {beside[1]} |")
        total = sum(seconds for seconds, _ in found.values())
        rows.append(f"| together: {values:,} samples, {values / total / 1e6:.2f} million a second | {total:.2f} | | |")
        out[name] = rows
    return out


def written(
    results: Sequence[tuple[Capture, Sequence[Score]]], tables: dict[str, list[str]], setting: str, about: str
) -> str:
    """The page: what was measured in a `setting`, and what somebody wrote `about` it on the page before."""
    out = ["# Performance\n", *document_lines(_HOW.strip().replace("SETTING", setting))]
    out += ["| contestant | the work it does | what it misses |", "|---|---|---|"]
    out += [*(f"| {' | '.join(row)} |" for row in _WORK), ""]
    out += _aims(results, tables)
    if results:
        out.append("## Captures\n")
    for capture, scores in results:
        size = capture.path.stat().st_size / MB
        stated = _ABOUT.get(capture.name)
        what = f". {stated[0].upper()}{stated[1:]}." if stated else ""
        out += document_lines(f"`{capture.name}`: {size:,.0f} MB, {capture.packets:,} packets{what}")
        out.append("| contestant | CPU s, median | min | max | x ours | peak MB | runs |")
        out.append("|---|---|---|---|---|---|---|")
        out += [_row(score, scores[0]) for score in scores]
        out += ["", *(document_lines(" ".join(capture.notes)) if capture.notes else [])]
    out += _a_call(results)
    if "decoding" in tables:
        out += [*document_lines(_DECODING.strip()), *tables["decoding"], ""]
    if stages := [row for name in ("polling", "reply") if name in tables for row in (*tables[name], "")]:
        out += [*document_lines(_STAGES.strip()), *stages, *document_lines(_REASONS.strip())]
    if "cores" in tables:
        out += [*document_lines(_CORES.strip()), *tables["cores"], ""]
    out.append(about)
    return "\n".join(out)


def _costs_of_calls(results: Sequence[tuple[Capture, Sequence[Score]]]) -> list[tuple[int, str, float]]:
    """How many calls, who, and microseconds of processor time a call, of captures of calls alike."""
    return [
        (capture.calls, score.contestant.name, score.median / capture.calls * 1e6)
        for name in _OF_CALLS
        for capture, scores in results
        if capture.name == name and capture.calls
        for score in scores
        if score.contestant in (contestants.OURS, contestants.TSHARK, contestants.SURICATA)
    ]


def _a_call(results: Sequence[tuple[Capture, Sequence[Score]]]) -> list[str]:
    """What a call costs, by how many there are."""
    costs = _costs_of_calls(results)
    if not costs:
        return []
    who = list(dict.fromkeys(name for _, name, _ in costs))
    found = {(calls, name): f"{each:,.0f}" for calls, name, each in costs}
    return [
        "## A call against the size\n",
        *document_lines(
            "Microseconds of processor time a call, with the start of the program, of captures of the smallest polls."
        ),
        f"| calls | {' | '.join(who)} |",
        "|---" * (len(who) + 1) + "|",
        *(
            f"| {calls:,} | {' | '.join(found.get((calls, name), '-') for name in who)} |"
            for calls in dict.fromkeys(calls for calls, _, _ in costs)
        ),
        "",
    ]


def _decoding_aims(table: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    columns = [cell for row in table if row.startswith("| columns |") for cell in row.split("|")[2:-1]]
    least = {
        0: ("columns of 6000 instances x 40 counters", 30),
        3: ("columns of 80,000 instances x 1", 30),
        4: ("columns of 80,000 tiny blocks", 5),
    }
    for at, (what, wanted) in least.items():
        if at < len(columns):
            found = float(columns[at].split(", ")[-1].strip(" x").replace(",", ""))
            yield f"{what}: at least {wanted} times the plain parser", f"{found:.0f}", found >= wanted


def _aims(results: Sequence[tuple[Capture, Sequence[Score]]], tables: dict[str, list[str]]) -> list[str]:
    """What was aimed at, and what was measured."""
    scores = {capture.name: {score.contestant.name: score for score in found} for capture, found in results}
    packets = {capture.name: capture.packets for capture, _ in results}
    ours = {name: found[contestants.OURS.name] for name, found in scores.items() if contestants.OURS.name in found}
    rows: list[tuple[str, str, bool]] = []

    def times(capture: str, other: contestants.Contestant, least: float) -> None:
        if capture in ours and other.name in scores[capture]:
            ratio = scores[capture][other.name].ratio(ours[capture])
            rows.append((f"`{capture}`: at least {least:g} times {other.name}", f"{ratio:.1f}", ratio >= least))

    for capture, other, least in _OF_PEERS:
        times(capture, other, least)
    if "mixed" in ours and contestants.CAT.name in scores["mixed"]:
        ratio = 1 / scores["mixed"][contestants.CAT.name].ratio(ours["mixed"])
        rows.append(("`mixed`: at most 4 times `cat`", f"{ratio:.1f}", ratio <= 4))
    rows += _ratio_aims(ours, scores)
    if "million" in ours:
        million = ours["million"]
        rows.append(("`million`: at most 200 MB of memory", f"{million.rss_mb:.0f} MB", million.rss_mb <= 200))
    if "large" in ours and "mixed" in ours:
        each = [ours[name].median / packets[name] for name in ("large", "mixed")]
        rows.append(
            (
                "`large`: a packet costs at most 1.2 times what it does in `mixed`",
                f"{each[0] / each[1]:.2f}",
                each[0] <= 1.2 * each[1],
            )
        )
        rows.append(
            ("`large`: at most 150 MB of memory", f"{ours['large'].rss_mb:.0f} MB", ours["large"].rss_mb <= 150)
        )
    for form in traffic.FORMS:
        if (name := f"mixed, {form}") in ours:
            part = ours["mixed"].median / ours[name].median
            rows.append((f"`{name}`: at least half the speed of `mixed`", f"{part:.2f}", part >= 0.5))
    rows += _decoding_aims(tables.get("decoding", ()))
    rows += _cores_aims(tables.get("cores", ()))
    opening = [row.split("|")[2:4] for row in tables.get("reply", ()) if "decryption" in row or "unsealing" in row]
    if opening:
        own, floor = (sum(float(row[at]) for row in opening) for at in (0, 1))
        ratio = own / max(floor, 0.001)
        rows.append(("`reply`: opening it takes at most twice what the ciphers take", f"{ratio:.1f}", ratio <= 2))
    if not rows:
        return []
    return [
        "## Aims\n",
        "| aim | measured | | what stands in the way |",
        "|---|---|---|---|",
        *(f"| {aim} | {stated} | reached | |" if yes else _missed(aim, stated) for aim, stated, yes in rows),
        "",
    ]


def _missed(aim: str, stated: str) -> str:
    """The row of an aim that was not reached, with what stands in its way where that was measured."""
    reason = next((why for begin, why in _IN_THE_WAY.items() if aim.startswith(begin)), "")
    return f"| {aim} | {stated} | not reached | {reason} |"


def _cores_aims(table: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """What several processes may take of the time of one on dense captures."""
    for row in table:
        name, *_, part, _ = (cell.strip() for cell in row.strip("|").split("|"))
        if name.strip("`") in _DENSE:
            yield f"{name}: several processes take at most 0.6 of the time of one", part, float(part) <= 0.6


def _ratio_aims(ours: dict[str, Score], scores: dict[str, dict[str, Score]]) -> Iterator[tuple[str, str, bool]]:
    """How much more than the plain case, or the plain command, something may take."""
    for name, most in (("files, twice", 1.5), ("files, disordered", 1.3)):
        if name in ours and "files" in ours:
            ratio = ours[name].median / ours["files"].median
            yield f"`{name}`: at most {most} times the time of `files`", f"{ratio:.2f}", ratio <= most
    for one, words, most in _OF_TIMELINE:
        for name in ours:
            if one.name in scores[name]:
                ratio = scores[name][one.name].ratio(ours[name])
                yield (
                    f"`{name}`: `{words}` takes at most {most:g} times the time of `timeline`",
                    f"{ratio:.2f}",
                    ratio <= most,
                )
    for name in ours:
        if contestants.OPENING.name in scores[name]:
            seconds = scores[name][contestants.OPENING.name].median
            yield f"`{name}`: `sessions` of the case takes at most 0.3 s", f"{seconds:.2f} s", seconds <= 0.3


# How many times as much as ours others may need.
_OF_PEERS = (
    ("mixed", contestants.TSHARK, 50),
    ("mixed", contestants.TCPDUMP, 1.5),
    ("mixed", contestants.SURICATA, 1),
    ("scan", contestants.TSHARK, 5),
    ("foreign", contestants.TSHARK, 5),
    ("foreign", contestants.SURICATA, 1),
    ("files", contestants.TSHARK, 8),
    ("files", contestants.SURICATA, 1),
    ("files-large", contestants.SURICATA, 1),
    ("sealed-files", contestants.SURICATA, 1),
    ("sealed-files-large", contestants.SURICATA, 1),
    ("tiny", contestants.TSHARK, 2),
    ("calls", contestants.TSHARK, 3),
    ("recorded", contestants.TSHARK, 3),
    ("polling", contestants.TSHARK, 3),
)
# Captures dense with calls of several hosts.
_DENSE = ("hundred thousand", "recorded")

# What stands in the way of an aim, by how it begins. Shares are of samples of the processor time of the command that it names, else
# of `timeline` (29 and 30 November 2026).
_IN_THE_WAY: Mapping[str, str] = {
    "`mixed`": "45 % is reading the file and finding its frames, 22 % the start of Python and its libraries",
    "`mixed, gzip`": "decompression alone takes twice as long as all else",
    "`mixed, lz4`": "decompressing and copying take half as long as all else (0.7 where nothing else runs)",
    **dict.fromkeys(
        ("`files`", "`files-large`"),
        "34 % is packets (copies and checksums of all that is SMB), 11 % the start, 10 % reading, 25 % decoding calls",
    ),
    "`sealed-files": "43 % is packets (copies and checksums of all that is SMB), 23 % the start, 21 % reading",
    "`tiny`: at least": "each call passes some 160 functions of ours; no room takes more than 16 %. tshark decodes no call",
    "`recorded`: at least": "21 % is PDUs, 18 % SMB, 15 % rows of calls, 11 % bytes with their origin. tshark decodes no call",
    "`calls`: at least": "22 % is bytes with their origin, 20 % buffers, 11 % SMB, 11 % packets. tshark decodes no call",
    "`polling`: at least": "27 % is bytes with their origin, 16 % ciphers, 14 % buffers, 13 % SMB. tshark decodes no call",
    "`handles`: `audit`": "four findings a call, which take 45 % of its time",
    "`handles`: `hosts`": "38 % is the start of Python and its libraries, 19 % SMB, 18 % PDUs and pairing",
    "`handles`: `triage`": "19 % are handles, polls and what was looked at, 3 % files: `timeline` follows none of these",
    "`recorded`: `triage`": "20 % is what was looked at, 7 % files, 4 % what could not be read: `timeline` follows none of these",
    "`files, twice`": "every frame is found and looked at twice before the second one is left out",
    "`large`: a packet": "the file came from the disk (from memory, `cat` takes 0.5 s of processor time and ours 6 to 7 s)",
    "`recorded`: `hosts`": "a quarter is SMB, a quarter PDUs and pairing, a tenth unsealing (RC4 is followed through every answer)",
    "`recorded`: `sessions` of": "137 sessions are listed, with their programs; opening alone takes 0.2 s",
    "`reply`: `triage`": "22 % is 94,117 processes, each of which is seen once, 4 % files: `timeline` follows none of these",
    "`tiny`: `audit`": "five findings a call are made and written: 50,000 of 10,000 calls",
    "`tiny`: `report`": "31 % is reading twice, 29 % calls with their layers and records, 14 % the audit, 11 % series and films",
    "`handles`: `report`": "29 % is reading twice, 26 % calls with their layers and records, 15 % series and films of 2,000 "
    "handles, 13 % the audit",
    "`watched`: `report`": "42 % are answers of 35 KB with their layers and records, whose 58 layouts have some 6,000 fields each, "
    "25 % series and films, 11 % reading twice",
    "`recorded`: `report`": "33 % is reading twice, 21 % are calls with layers and records, 20 % series and films, 11 % the audit",
    "`reply`: opening": "pieces of some 4 KB are handled in Python, one by one (see below)",
    **dict.fromkeys(
        [f"`{name}`: several processes" for name in _DENSE],
        "the start and putting tables together are done once, and each process finds all packets",
    ),
}

# How many times the time of `timeline` commands may take.
_OF_TIMELINE = (
    (contestants.SESSIONS, "sessions", 0.5),
    (contestants.HOSTS, "hosts", 0.5),
    (contestants.AUDIT, "audit", 1.5),
    (contestants.TRIAGE, "triage", 1.1),
    (contestants.SAVE, "save", 1.2),
    (contestants.REPORT, "report", 3),
)


def _row(score: Score, ours: Score) -> str:
    about = "~" if score.scale != 1.0 else ""
    low, high = (edge(score.seconds) * score.scale for edge in (min, max))
    note = f" (first {score.contestant.packets:,} packets, scaled)" if about else ""
    return (
        f"| {score.contestant.name}{note} | {about}{score.median:.2f} | {about}{low:.2f} | {about}{high:.2f} | "
        f"{about}{score.ratio(ours):.1f} | {score.rss_mb:.0f} | {len(score.seconds)} |"
    )


def picture(results: Sequence[tuple[Capture, Sequence[Score]]]) -> Any:
    """Processor time of each contestant on the captures that have several."""
    import altair as alt

    rows = [
        {
            "capture": f"{capture.name}, {capture.path.stat().st_size / MB:,.0f} MB",
            "contestant": score.contestant.name + (" (scaled)" if score.scale != 1.0 else ""),
            "seconds": score.median,
            "label": f"{score.median:.2f} s" if score.median < 10 else f"{score.median:.0f} s",
            "who": "we" if score.contestant.name.startswith(contestants.OURS.name.split()[0]) else "others",
        }
        for capture, scores in results
        if len(scores) > 1
        for score in scores
    ]
    charts = []
    for name in dict.fromkeys(row["capture"] for row in rows):
        data = alt.Data(values=[row for row in rows if row["capture"] == name])
        across = alt.X("seconds:Q", scale=alt.Scale(type="log", domain=[0.01, 1000], clamp=True), title=None)
        along = alt.Y("contestant:N", sort=None, title=None, axis=alt.Axis(labelLimit=260, minExtent=190))
        colour = alt.Color("who:N", scale=alt.Scale(domain=["we", "others"], range=["#1f6f8b", "#b8b8b8"]), legend=None)
        bars = alt.Chart(data).mark_bar().encode(x=across, x2=alt.datum(0.01), y=along, color=colour)
        labels = alt.Chart(data).mark_text(align="left", dx=4).encode(x=across, y=along, text="label:N")
        charts.append((bars + labels).properties(width=420, title=alt.Title(name, anchor="start")))
    charts += _line_of_calls(results)
    whole = alt.vconcat(*charts).properties(title="Processor time in seconds (logarithmic)")
    # The last chart has colours of its own: with those of the bars, its lines would have none.
    return whole.resolve_scale(color="independent").configure_view(stroke=None).configure_axis(grid=False)


def _line_of_calls(results: Sequence[tuple[Capture, Sequence[Score]]]) -> list[Any]:
    """The chart of what a call costs against how many there are, if that was measured."""
    import altair as alt

    rows = [{"calls": calls, "contestant": name, "us": each} for calls, name, each in _costs_of_calls(results)]
    if not rows:
        return []
    across = alt.X("calls:Q", scale=alt.Scale(type="log"), title="calls in the capture")
    along = alt.Y("us:Q", scale=alt.Scale(type="log"), title="microseconds a call")
    lines = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
    shown = lines.encode(x=across, y=along, color=alt.Color("contestant:N", title=None))
    return [shown.properties(width=420, title=alt.Title("A call against the size", anchor="start"))]
