"""`python -m rig.run` holds conversations and compares; it ends with 1 where anything differs, and with 2 where it cannot run."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from rig.cells import Cell, cells
from rig.check import Commands, Logged, Truth, collected, damaged, differences
from rig.conversation import Reply, Request, Wishes, conversation
from rig.made import Made, made_cells, make
from rig.model import Model
from rig.network import CannotRunError, Network, require
from rig.servers import DOMAIN, PASSWORD, REALM, USER, Servers, Witness
from rig.wear import WEARS
from tests.build.capture import read
from tests.probe.server import without_trailer

HERE = Path(__file__).resolve().parent.parent
_MODULES = {"smbprotocol": "own", "rpcclient": "tool", "net": "tool", "nmap": "tool"}
_DOCUMENT, _BEGIN, _END = HERE / "docs/testing.md", "<!-- rig -->", "<!-- end of rig -->"


class ClientError(Exception):
    """A client of the rig ended; the message is what it said last."""


def held(cell: Cell, seed: int, network: Network, servers: Servers, capture: Path) -> Truth:
    """One conversation of a cell, captured. Raises `ClientError`."""
    model = Model(seed)
    # libdcerpc and scapy count no message for a fault, whatever protects it.
    witness = servers.serve(model, seals_faults=cell.client not in ("samba", "scapy") and seed % 2 == 0)
    options = {**cell.options, **({"carrier": "smbprotocol"} if cell.client == "smbprotocol" else {})}
    if cell.kerberos:
        options["krb5_config"], options["tickets"] = str(servers.krb5_config), str(servers.tickets)
    python = cell.python or sys.executable
    module = f"rig.clients.{_MODULES.get(cell.client, cell.client)}_client"
    command = ["ip", "netns", "exec", network.client, python, "-m", module, json.dumps(options)]
    wishes = Wishes(seed, winreg=cell.winreg, polls=cell.polls, ndr64=cell.ndr64, faults=cell.faults)
    calls: list[Logged] = []
    with network.captured(capture, interface=cell.interface, options=cell.extra):
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=HERE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            script = conversation(model, wishes)
            line = process.stdout.readline()
            request = next(script, None) if line else None
            while request is not None:
                asked = {"interface": request.interface, "opnum": request.opnum, "stub": request.stub.hex()}
                begun = time.time_ns()
                process.stdin.write(json.dumps(asked) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
                if not line:
                    break
                answer = json.loads(line)
                reply = Reply(bytes.fromhex(answer.get("stub", "")), answer.get("fault"))
                calls.append(Logged(request, begun, time.time_ns(), reply.stub, reply.fault))
                try:
                    request = script.send(reply)
                except StopIteration:
                    break
            process.stdin.close()
            said = process.stderr.read()
            process.wait(30)
        finally:
            process.kill()
            process.wait()
    if cell.decides:
        return _told_by_the_server(cell, model, witness, said)
    if not line:
        raise ClientError(said.strip().splitlines()[-1] if said.strip() else "it ended without a word")
    account = f"{USER}@{REALM}" if cell.kerberos else f"{DOMAIN}\\{USER}"
    return Truth(calls, witness.calls, model, account, cell.level, cell.ndr64, cell.server != "tcp")


def _told_by_the_server(cell: Cell, model: Model, witness: Witness, said: str) -> Truth:
    """The truth of a client that decides itself what it calls: what the server logged."""
    if said.strip():
        raise ClientError(said.strip().splitlines()[-1])
    calls = [
        Logged(Request(interface, opnum, without_trailer(stub), {}), 0, 0, answer.stub, answer.fault)
        for interface, opnum, stub, answer in witness.calls
    ]
    is_known = cell.client != "nmap"
    return Truth(calls, witness.calls, model, f"{DOMAIN}\\{USER}", cell.level, has_session=is_known, is_timed=False)


def main(words: Sequence[str] | None = None) -> int:
    """Runs what was chosen; the number of differences decides the exit code."""
    parser = argparse.ArgumentParser(prog="python -m rig.run", description=__doc__)
    parser.add_argument("--sample", type=int, help="so many cells, chosen by the seed; all of them if not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only cells whose name contains this")
    parser.add_argument(
        "--worn", type=int, help="wear each capture in so many ways, chosen by the seed; in all of them if not given"
    )
    parser.add_argument("--keep", type=Path, help="leave captures here")
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the counts to docs/testing.md; with --only, rows of which all cells ran",
    )
    chosen = parser.parse_args(words)
    try:
        require()
    except CannotRunError as error:
        sys.stderr.write(f"rig: {error}\n")
        return 2
    named = [one for one in cells() if chosen.only in one.name]
    if chosen.sample is not None and chosen.sample < len(named) and not chosen.write:
        named = random.Random(chosen.seed).sample(named, chosen.sample)
    results, of_all = _run(named, chosen.seed, chosen.keep, chosen.worn)
    made = [one for one in made_cells() if chosen.only in one.name]
    if chosen.sample is not None and not chosen.write:
        made = random.Random(chosen.seed).sample(made, min(chosen.sample, len(made)))
    wrong = sum(1 for one in results if one.differences) + len(_made(made, chosen.seed)) + bool(of_all)
    calls = sum(one.calls for one in results)
    _say(
        f"rig: {calls} calls in {len(results)} conversations between stacks, {len(made)} conversations made, seed {chosen.seed}"
    )
    _say(f"{len(results) + len(made) + bool(results) - wrong} passed, {wrong} failed")
    if chosen.write:
        write_counts(
            results,
            "" if chosen.only else f"; beside these, {len(made)} conversations were made byte by byte",
            chosen.seed,
        )
    return 1 if wrong else 0


def _made(chosen: Sequence[Made], seed: int) -> list[str]:
    """Differences of the cells that are made."""
    found: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rig") as folder:
        capture, secrets = Path(folder, "made.pcap"), Path(folder, "made.json")
        for number, cell in enumerate(chosen):
            truth, keys = make(cell, seed * 1000 + number, capture)
            secrets.write_text(json.dumps(keys))
            texts = list(differences(truth, Commands(capture, secrets), Path(folder)))
            _say(f"{'DIFFERENT' if texts else 'ok':9}          {cell.name}")
            for text in texts[:12]:
                _say(f"          {text[:400]}")
            found += [f"{cell.name}: {text}" for text in texts[:1]]
    return found


class Result(Struct, frozen=True):
    """What a cell came to."""

    cell: Cell
    truth: Truth | None
    values: int
    differences: Sequence[str]

    @property
    def calls(self) -> int:
        return len(self.truth.calls) if self.truth is not None else 0


def _run(chosen: Sequence[Cell], seed: int, keep: Path | None, worn: int | None) -> tuple[list[Result], list[str]]:
    """What each cell came to, and differences of the dataset of all of them."""
    network = Network()
    of_all: list[str] = []
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="rig") as folder:
        scratch = keep or Path(folder)
        scratch.mkdir(parents=True, exist_ok=True)
        secrets = scratch / "secrets.json"
        users = [{"username": USER, "domain": DOMAIN, "password": PASSWORD}]
        servers = Servers(network)
        secrets.write_text(json.dumps({"users": users, "keytabs": [str(servers.keytab)]}))
        try:
            for number, cell in enumerate(chosen):
                begun = time.monotonic()
                some = list(WEARS) if worn is None else random.Random(seed * 1000 + number).sample(list(WEARS), worn)
                result = _result(
                    cell, seed * 1000 + number, network, servers, scratch / f"{number}.pcap", secrets, some
                )
                results.append(result)
                word = "DIFFERENT" if result.differences else "ok"
                _say(f"{word:9} {time.monotonic() - begun:5.1f} s  {cell.name}")
                for text in result.differences[:12]:
                    _say(f"          {text[:400]}")
            held_ones = [(one.truth, scratch / f"{number}.pcap") for number, one in enumerate(results) if one.truth]
            if held_ones:
                truths, captures = zip(*held_ones, strict=True)
                of_all = list(collected(truths, captures, secrets, Path(folder)))
                _say(f"{'DIFFERENT' if of_all else 'ok':9}          the dataset of all of them")
                for text in of_all:
                    _say(f"          {text[:400]}")
        finally:
            servers.close()
            network.close()
    return results, of_all


def _result(
    cell: Cell, seed: int, network: Network, servers: Servers, capture: Path, secrets: Path, wears: Sequence[str]
) -> Result:
    try:
        truth = held(cell, seed, network, servers, capture)
    except ClientError as error:
        return Result(cell, None, 0, [f"client: {error}"])
    found = list(differences(truth, Commands(capture, secrets), capture.parent))
    for wear in wears:
        found += [f"{wear}: {text}" for text in _worn(truth, wear, seed, capture, secrets)]
    values = sum(call.samples.total() for call in truth.called() if call.samples is not None) if not found else 0
    return Result(cell, truth, values, found)


def _worn(truth: Truth, wear: str, seed: int, capture: Path, secrets: Path) -> Iterator[str]:
    """Differences once the capture has been through this."""
    frames = [(frame.time_ns, bytes(frame.data)) for frame in read(capture)[0]]
    worn = WEARS[wear](frames, random.Random(f"{wear} {seed}"))
    path = capture.with_suffix(f".{list(WEARS).index(wear)}.worn")
    path.write_bytes(worn.data)
    if worn.lost_ns is None:
        yield from differences(truth, Commands(path, secrets), capture.parent)
    else:
        yield from damaged(truth, Commands(path, secrets), worn.lost_ns)


def write_counts(results: Sequence[Result], beside: str, seed: int) -> None:
    """The table of docs/testing.md: a row for each server and client, with what their conversations had.

    Without `beside`, which is said of a run of everything, rows of others stay. They are of the same seed, or refused.
    """
    ran: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        ran.setdefault((one.cell.server, one.cell.client), []).append(one)
    text = _DOCUMENT.read_text("utf-8")
    head, rest = text.split(_BEGIN)
    table, tail = rest.split(_END)
    title = next(line for line in table.splitlines() if line.startswith("Seed "))
    if not beside and not title.startswith(f"Seed {seed}"):
        raise SystemExit(f"the rows of docs/testing.md are of another seed ({title.rstrip(':')})")
    kept = (
        {}
        if beside
        else dict(_row_of(line) for line in table.splitlines() if line.startswith("| ") and "---" not in line)
    )
    lines = [
        f"Seed {seed}{beside}:" if beside else title,
        "",
        "| server | client | cells | carriers | calls | values | differences |",
        "|---|---|---:|---|---:|---:|---:|",
    ]
    for key, count in Counter((one.server, one.client) for one in cells()).items():
        if len(ran.get(key, ())) == count:
            lines.append(_counted(key, ran[key]))
        elif key in kept:
            lines.append(kept[key])
    _DOCUMENT.write_text(head + _BEGIN + "\n".join(["", *lines, ""]) + _END + tail, "utf-8")


def _row_of(line: str) -> tuple[tuple[str, str], str]:
    server, client = (cell.strip() for cell in line.split("|")[1:3])
    return (server, client), line


def _counted(key: tuple[str, str], some: Sequence[Result]) -> str:
    carriers = "; ".join(dict.fromkeys(one.cell.carrier for one in some))
    numbers = [
        sum(one.calls for one in some),
        sum(one.values for one in some),
        sum(len(one.differences) for one in some),
    ]
    return f"| {' | '.join(key)} | {len(some)} | {carriers} | " + " | ".join(f"{n:,}" for n in numbers) + " |"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    code = main()
    # Threads of servers that wait for connections would keep the process.
    os._exit(code)
