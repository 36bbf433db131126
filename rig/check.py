"""What the commands print of a capture, compared with what client and server logged. Each difference comes out as a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from msgspec import Struct
from typer.testing import CliRunner

from analyzer.commands.shared.all_commands import command_line
from rig.conversation import Request
from rig.model import SIZES, Model
from tests.page import blocks
from tests.probe.server import Answer
from tests.truth import PCQ, WINREG, Sample, TrueCall, compare, compare_damaged

Record = dict[str, Any]
# The clocks of client, server and capture are one; what passes between a system call and the capture is shorter than this.
_SLACK_NS = 50_000_000


class Logged(Struct, frozen=True):
    """A call as its client logged it: what was asked, when (nanoseconds), and what came back."""

    request: Request
    begun_ns: int
    ended_ns: int
    stub: bytes
    fault: int | None


class Truth(Struct, frozen=True):
    """A conversation as both sides logged it. `account` called, at a level of [MS-RPCE] section 2.2.1.1.8."""

    calls: Sequence[Logged]
    served: Sequence[tuple[str, int, bytes, Answer]]
    model: Model
    account: str
    level: int
    ndr64: bool = False
    has_session: bool = True
    is_timed: bool = True
    big: bool = False
    # The server answers below level 6 as well, which the audit has to find.
    serves_anybody: bool = False

    def called(self) -> list[TrueCall]:
        """The calls in the form that the truths of `captures/` have."""
        return [
            TrueCall(
                number,
                one.request.interface,
                one.request.opnum,
                one.request.stub,
                *_answered(one, big=self.big),
                _samples(said),
            )
            for number, (one, (_, _, _, said)) in enumerate(zip(self.calls, self.served, strict=True), 1)
        ]


def _answered(one: Logged, *, big: bool) -> tuple[bytes | None, int | None, int | None]:
    if one.fault is not None:
        return None, None, one.fault
    return one.stub, int.from_bytes(one.stub[-4:], "big" if big else "little"), None


def _samples(answer: Answer) -> Counter[Sample] | None:
    """The values that an answer tells of, as `tests.truth` keys them."""
    if answer.blocks is not None:
        return Counter(
            (block, kind, status, counter, name, instance, None if value is None else int.from_bytes(value, "little"))
            for number, one in enumerate(answer.blocks)
            for block, kind, status, counter, name, instance, value in one.rows(number)
        )
    if answer.objects is not None:
        return Counter(
            (found.index, counter.index, row.name if found.has_instances else None, value)
            for found in answer.objects
            for row in found.instances
            for counter, value in zip(found.counters, row.values, strict=True)
        )
    return None


class Commands:
    """The commands on one capture, run in this process."""

    def __init__(self, capture: Path, secrets: Path) -> None:
        self._capture, self._secrets = capture, secrets

    def text(self, command: str, *options: str, other: Path | None = None) -> tuple[str, int]:
        """What it prints of the capture, or of it and another, and its exit code. A command that raises is a finding of its own."""
        files = [str(self._capture), *([str(other)] if other is not None else [])]
        words = [command, *files, "--secrets", str(self._secrets), *options]
        done = CliRunner().invoke(command_line(), words, env={"PCQ_PASSWORD": "", "PCQ_SECRETS": ""})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.stdout, done.exit_code

    def records(self, command: str, *options: str) -> list[Record]:
        text, _ = self.text(command, "--format", "jsonl", *options)
        return [json.loads(line) for line in text.splitlines()]


def differences(truth: Truth, commands: Commands, scratch: Path) -> Iterator[str]:
    """Every difference, by command."""
    if len(truth.calls) != len(truth.served):
        yield f"log: the client made {len(truth.calls)} calls, the server answered {len(truth.served)}"
        return
    timeline = commands.records("timeline")
    calls = [one for one in timeline if one["record"] == "call" and one["interface"]["uuid"] in (PCQ, WINREG)]
    samples = [one for one in commands.records("samples") if one["record"] == "sample"]
    yield from (f"timeline: {text}" for text in compare(truth.called(), calls, samples))
    yield from (f"timeline: {one['record']} {one['text']}" for one in timeline if one["record"] == "problem")
    if len(calls) != len(truth.calls):
        return
    yield from _of_calls(truth, calls)
    yield from _of_handles(truth, commands.records("handles"))
    yield from _of_sessions(truth, commands.records("sessions"))
    yield from _of_stats(truth, commands.records("stats"))
    yield from _of_counters(truth, commands.records("counters"))
    yield from _of_audit(truth, commands.records("audit"))
    yield from _of_export(truth, calls, commands, scratch)
    yield from _of_triage(truth, commands.records("triage"))
    yield from _of_report(truth, calls, commands, scratch)
    yield from _of_diff(truth, commands, scratch)


def damaged(truth: Truth, commands: Commands, lost_ns: int) -> Iterator[str]:
    """Differences where bytes are missing from a moment on: what came before is whole, and nothing else may be invented."""
    timeline = commands.records("timeline")
    calls = [one for one in timeline if one["record"] == "call"]
    samples = [one for one in commands.records("samples") if one["record"] == "sample"]
    # Nobody knows when calls ended of which only the server told.
    intact = sum(one.ended_ns < lost_ns - 1_000_000 for one in truth.calls) if truth.is_timed else 0
    yield from (f"timeline: {text}" for text in compare_damaged(truth.called(), calls, samples, intact))
    if not any(one["record"] == "problem" for one in timeline) and any(one["state"] != "complete" for one in calls):
        yield "timeline: something is missing, and no problem says so"


def _of_calls(truth: Truth, calls: Sequence[Record]) -> Iterator[str]:
    """Parameters, times, accounts, levels."""
    for one, call in zip(truth.calls, calls, strict=True):
        where = f"timeline: call {call['number']}, opnum {call['opnum']}"
        got = (call["request"] or {}).get("params", {})
        for name, value in one.request.params.items():
            if one.request.interface == PCQ and one.fault is None and got.get(name) != value:
                yield f"{where}: {name} is {value!r}, and {got.get(name)!r} was read"
        if one.request.handle and one.request.interface == PCQ and one.fault is None:
            read = (got.get("hQuery") or got.get("phQuery") or {}).get("uuid")
            if read is None or _uuid(one.request.handle, big=truth.big) != read:
                yield f"{where}: the handle {_uuid(one.request.handle, big=truth.big)} was read as {read}"
        if truth.is_timed:
            if not one.begun_ns - _SLACK_NS <= call["time_ns"] <= one.ended_ns + _SLACK_NS:
                yield f"{where}: made at {one.begun_ns}, read at {call['time_ns']}"
            if (call["latency_ns"] or 0) > one.ended_ns - one.begun_ns + _SLACK_NS:
                yield f"{where}: answered after {one.ended_ns - one.begun_ns} ns, {call['latency_ns']} ns were read"
        if call["syntax"] != ("ndr64" if truth.ndr64 else "ndr"):
            yield f"{where}: the transfer syntax was read as {call['syntax']}"
        level = {1: "none", 2: "connect", 4: "pkt", 5: "integrity", 6: "privacy"}[truth.level]
        if call["auth"]["level"] != level:
            yield f"{where}: level {level} was read as {call['auth']['level']}"
        if call["auth"]["user"] not in (truth.account, None if truth.level == 1 else truth.account):
            yield f"{where}: called by {truth.account}, read as {call['auth']['user']}"


def _uuid(handle: bytes, *, big: bool) -> str:
    return str(UUID(bytes=handle[4:20]) if big else UUID(bytes_le=handle[4:20]))


def _of_handles(truth: Truth, handles: Sequence[Record]) -> Iterator[str]:
    """Query handles: one for each that was opened, its polls, and how it ended."""
    opened = {_uuid(one.stub[:20], big=truth.big) for one in truth.calls if _is(one, 3) and one.stub[-4:] == bytes(4)}
    polls = Counter(_uuid(one.request.handle, big=truth.big) for one in truth.calls if _is(one, 6))
    read = {one["uuid"]: one for one in handles if one["record"] == "handle" and one["origin"] == "opened"}
    if set(read) != opened:
        yield f"handles: {sorted(opened)} were opened, {sorted(read)} were read"
    answered = Counter(
        _uuid(one.request.handle, big=truth.big)
        for one, (_, _, _, said) in zip(truth.calls, truth.served, strict=True)
        if _is(one, 6) and said.blocks is not None
    )
    for uuid, one in read.items():
        if not answered[uuid] <= one["polls"] <= polls[uuid]:
            yield f"handles: {uuid} was polled {polls[uuid]} times, {answered[uuid]} with success; {one['polls']} were read"
        if one["end"] != "closed":
            yield f"handles: {uuid} was closed, and {one['end']!r} was read"


def _is(one: Logged, opnum: int) -> bool:
    return one.request.interface == PCQ and one.request.opnum == opnum


def _of_sessions(truth: Truth, records: Sequence[Record]) -> Iterator[str]:
    """Every logon was the one account's."""
    if not truth.has_session:
        return
    logons = [one for one in records if one["record"] == "logon"]
    if not logons:
        yield "sessions: no logon was read"
    for one in logons:
        if one["user"] != truth.account or one["outcome"] not in ("account", "used"):
            yield f"sessions: {truth.account} logged on, {one['user']} was read, as {one['outcome']}"


def _of_stats(truth: Truth, records: Sequence[Record]) -> Iterator[str]:
    """Calls and failures of each method."""
    made: Counter[tuple[str, int]] = Counter()
    failed: Counter[tuple[str, int]] = Counter()
    names = {PCQ: "PerflibV2", WINREG: "winreg"}
    for one in truth.called():
        key = names[one.interface], one.opnum
        made[key] += 1
        failed[key] += one.fault is not None or one.status != 0
    read = {(one["interface"], one["opnum"]): one for one in records if one["record"] == "method-stats"}
    ours = {key: one for key, one in read.items() if key[0] in names.values()}
    if {key: one["calls"] for key, one in ours.items()} != dict(made):
        yield f"stats: {dict(made)} calls were made, { ({key: one['calls'] for key, one in ours.items()}) } were read"
    for key, one in ours.items():
        if one["failed"] != failed[key]:
            yield f"stats: {failed[key]} calls of {key} failed, {one['failed']} were read"


def _of_counters(truth: Truth, records: Sequence[Record]) -> Iterator[str]:
    """Values as they are displayed, of counters whose type was told: raw ones are what they are, and rates are recomputed."""
    from fractions import Fraction

    from rig.model import RATE, RATE_LARGE, RAW, RAW_LARGE, STEP, TIMER

    ticks = int(STEP.total_seconds() * 10_000_000)
    before: dict[tuple[Any, ...], int] = {}
    for one in records:
        if one["record"] != "counter" or one["source"] != "perflib-v2" or one["raw"] is None:
            continue
        kind, raw = one["counter_type"], one["raw"]
        key = (
            one["handle"],
            one["block"],
            one["counterset"],
            one["counter_id"],
            one["instance"],
            one["instance_id"],
            one["series"],
        )
        last = before.get(key)
        before[key] = raw
        told = truth.model.told.get(one["counterset"])
        if told is None or kind is None:
            continue
        true = next((each for each in told.counters if each.number == one["counter_id"]), None)
        if true is None or ((true.kind, true.name) != (kind, one["counter_name"]) and one["counter_name"] is not None):
            yield f"counters: {true} was read as {kind}, {one['counter_name']!r}"
            continue
        if kind in (RAW, RAW_LARGE):
            wanted: Fraction | None = Fraction(raw)
        elif last is None or one["value"] is None:
            continue
        else:
            moved = (raw - last) % 256 ** SIZES[kind]
            wanted = Fraction(100 * moved, ticks) if kind == TIMER else Fraction(moved * 10_000_000, ticks)
            assert kind in (TIMER, RATE, RATE_LARGE)
        if one["value"] is None or abs(Fraction(one["value"]) - wanted) > abs(wanted) / 10**9:
            yield f"counters: {one['path']} of call {one['call']} is {float(wanted)}, and {one['value']} was read"


def _of_audit(truth: Truth, records: Sequence[Record]) -> Iterator[str]:
    """The server keeps to the specification: nothing may be found of it. The client is found out where it calls below level 6."""
    found = [one for one in records if one["record"] == "finding" and one["verdict"] == "fail"]
    below_privacy = truth.serves_anybody and truth.level < 6
    if below_privacy and not any(one["name"] == "served-below-privacy" for one in found):
        yield "audit: the server answered below level 6, and nothing was found of it"
    for one in found:
        if one["actor"] == "server" and not (below_privacy and one["name"] == "served-below-privacy"):
            yield f"audit: {one['rule']} {one['name']} of call {one['call']}: {one['message']}, seen {one['seen']}"
    below = any(one["name"] == "request-below-privacy" and one["actor"] == "client" for one in found)
    if any(one.request.interface == PCQ for one in truth.calls) and (truth.level < 6) != below:
        names = sorted({one["name"] for one in found if one["actor"] == "client"})
        yield f"audit: called at level {truth.level}, and of the client was found: {', '.join(names) or 'nothing'}"


def _of_export(truth: Truth, calls: Sequence[Record], commands: Commands, scratch: Path) -> Iterator[str]:
    """tshark reads an export back: every call, by its opnum, and its stub."""
    out = scratch / "export.pcapng"
    out.unlink(missing_ok=True)
    commands.text("export", "--pcapng", str(out))
    # On any other port than 445, tshark has to be told that this is SMB.
    port = calls[0]["server"]["port"] if calls else 445
    told = [] if not truth.has_session or port == 445 else ["-d", f"tcp.port=={port},nbss"]
    words = [
        "tshark",
        "-r",
        str(out),
        *told,
        "-Y",
        "dcerpc.pkt_type == 0 && dcerpc.opnum",
        "-T",
        "fields",
        "-e",
        "dcerpc.opnum",
    ]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    read = Counter(word for line in ran.stdout.split() for word in line.split(","))
    made = Counter(str(one.request.opnum) for one in truth.calls)
    if read != made:
        yield f"export: calls by opnum were {dict(made)}, tshark reads {dict(read)}"


def _of_triage(truth: Truth, records: Sequence[Record]) -> Iterator[str]:
    """How many calls there were, by whom and when, and how often each handle was polled."""
    (file,) = (one for one in records if one["record"] == "triage-file")
    of_counters = sum(one.request.interface == PCQ for one in truth.calls)
    if file["calls"] != len(truth.calls) or not of_counters <= file["performance_calls"] <= len(truth.calls):
        yield f"triage: {len(truth.calls)} calls were made, {file['calls']} were read, {file['performance_calls']} as ours"
    if of_counters and file["outcome"] != "performance traffic":
        yield f"triage: {of_counters} calls of PerflibV2 were made, and {file['outcome']!r} was read"
    users = {one["user"] for one in file["who"]}
    if not users <= {truth.account, None if truth.level == 1 else truth.account}:
        yield f"triage: {truth.account} called, {users} were read"
    if truth.is_timed and of_counters:
        begun, first = truth.calls[0].begun_ns, file["first_performance_ns"]
        if first is None or not begun - _SLACK_NS <= first <= truth.calls[0].ended_ns + _SLACK_NS:
            yield f"triage: the first call was made at {begun}, {first} was read"
    found = [one for one in records if one["record"] == "triage-finding"]
    yield from (f"triage: {one['text']}" for one in found if one["kind"] == "losses")
    polled = Counter(_uuid(one.request.handle, big=truth.big) for one in truth.calls if _is(one, 6))
    for one in found:
        if one["kind"] == "polling" and one["count"] not in polled.values():
            yield f"triage: handles were polled {sorted(polled.values())} times, and {one['text']!r} was read"


def _of_report(truth: Truth, calls: Sequence[Record], commands: Commands, scratch: Path) -> Iterator[str]:
    """The page has each call, and what became of it."""
    out = scratch / "report.html"
    out.unlink(missing_ok=True)
    commands.text("report", "-o", str(out))
    if not out.exists():
        yield "report: no page was written"
        return
    found = blocks(out.read_text("utf-8"))
    rows = found["rows"]
    if not calls:
        return
    read = list(zip(rows["opnum"], rows["code"], rows["fault"], strict=True))
    made = [(one.opnum, one.status, one.fault) for one in truth.called()]
    if read != made:
        wrong = next((pair for pair in zip(made, read, strict=False) if pair[0] != pair[1]), None)
        yield f"report: {len(made)} calls were made, {len(read)} are on the page; the first that differs: {wrong}"
    if found["tail"]["details"] != len(made):
        yield f"report: {len(made)} calls were made, the page has the bytes of {found['tail']['details']}"


def _of_diff(truth: Truth, commands: Commands, scratch: Path) -> Iterator[str]:
    """The packets of the calls alone say the same as the capture."""
    out = scratch / "slice.pcapng"
    out.unlink(missing_ok=True)
    commands.text("export", "--slice", str(out))
    if not out.exists():
        if truth.calls:
            yield "diff: no slice was written"
        return
    text, code = commands.text("diff", "--format", "jsonl", other=out)
    (summary,) = (one for one in map(json.loads, text.splitlines()) if one["record"] == "diff-summary")
    if code != 0 or summary["compared_calls"] != len(truth.calls):
        yield f"diff: a capture and its slice: {summary['text']}, {summary['compared_calls']} of {len(truth.calls)} calls"


def collected(truths: Sequence[Truth], captures: Sequence[Path], secrets: Path, scratch: Path) -> Iterator[str]:
    """All captures in one dataset: every call of every conversation, and what it ended with."""
    import polars as pl

    dataset = scratch / "dataset"
    words = [
        sys.executable,
        "-m",
        "analyzer",
        "collect",
        *map(str, captures),
        "-o",
        str(dataset),
        "--secrets",
        str(secrets),
    ]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    found = sorted(dataset.glob("calls/**/*.parquet"))
    if ran.returncode != 0 or not found:
        yield f"collect: it ended with {ran.returncode}: {ran.stderr[-200:]}"
        return
    columns = ("interface_uuid", "opnum", "status", "fault")
    rows = pl.concat([pl.read_parquet(path, columns=list(columns)) for path in found])
    read = Counter(row for row in rows.select(columns).iter_rows() if row[0] in (PCQ, WINREG))
    made = Counter((one.interface, one.opnum, one.status, one.fault) for truth in truths for one in truth.called())
    if read != made:
        yield f"collect: of {made.total()} calls are missing {dict(made - read)}, and were never made {dict(read - made)}"
