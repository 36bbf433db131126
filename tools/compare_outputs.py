"""Two checkouts in, every difference between what their commands print out: run before a change is believed to change nothing.

    tools/compare_outputs.py OLD [NEW] [--captures DIRECTORY ...] [--only TEXT] [--keep DIRECTORY]

Each checkout gets one interpreter, which loads the package once and forks for each command. Every capture (damaged ones too) is
given to every command in every form, with its keys and without; buffers of `tests/interfaces/buffers/vectors` go to `decode`.
Differences in JSON, CSV and Parquet are grouped by record and key, those in text by line with its numbers masked. Exit status 0
where there is none, else 1.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zlib
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "tests/interfaces/buffers/vectors"
CAPTURE_SUFFIXES = {".pcap", ".pcapng"}
FORMS = {
    "timeline": "text jsonl json csv timesketch ecs zeek",
    "sessions": "text jsonl timesketch ecs zeek",
    "hosts": "text jsonl",
    "handles": "text jsonl",
    "processes": "text jsonl",
    "files": "text jsonl",
    "stats": "text jsonl",
    "counters": "text jsonl",
    "samples": "text jsonl csv",
    "triage": "text jsonl",
    "audit": "text jsonl sarif junit ecs zeek",
}
TABLES = ("timeline", "sessions", "hosts", "handles", "stats", "processes", "files", "counters", "samples", "audit")
WITHOUT_KEYS = ("timeline", "sessions", "stats", "audit")
# What `decode` is to take the buffers of the vectors for; stubs are none.
BUFFERS = {
    "identifiers": "identifiers",
    "instances": "instances",
    "query_data": "perf-data",
    "v1": "winperf",
}
# The same for answers of QueryCounterSetRegistrationInfo, by request code.
REGISTRATION = {
    1: "counterset-info",
    2: "counter-info",
    5: "string-table",
    6: "string-table",
    8: "guid",
    10: "string-table",
}
# Calls of each capture that `show` prints, spread evenly over it.
CALLS_SHOWN = 8
_EXAMPLE_WIDTH = 160


class Job(NamedTuple):
    """One command: the name of its results, and its arguments. They are relative to a directory of its own."""

    name: str
    arguments: Sequence[str]


# ------------------------------------------------------------------------------------------------------ what is run


def secrets_of(capture: Path, results: Path) -> Path:
    """The keys of a capture: those of its entry in a manifest, those of its name, or else all of its folder in one file."""
    folder = capture.parent
    manifest = folder / "manifest.toml"
    for entry in tomllib.loads(manifest.read_text(encoding="utf-8"))["capture"] if manifest.exists() else ():
        if entry["file"] == capture.name:
            return folder / str(entry["secrets"])
    own = capture.with_suffix(".secrets.json")
    if own.exists():
        return own
    merged = results / f"{folder.name}.secrets.json"
    if not merged.exists():
        everything: dict[str, list[Any]] = defaultdict(list)
        for path in sorted(folder.glob("*.secrets.json")):
            for kind, values in json.loads(path.read_bytes()).items():
                if isinstance(values, list):
                    found = [str(folder / value) if kind == "keytabs" else value for value in values]
                    everything[kind] += [value for value in found if value not in everything[kind]]
        merged.write_text(json.dumps(everything))
    return merged


def jobs_of(capture: Path, secrets: Path) -> Iterator[Job]:
    """Every command and form on a capture, but for `show`, whose calls are known when `timeline` has run."""
    file, keys = str(capture), ["--secrets", str(secrets)]
    for command, forms in FORMS.items():
        for form in forms.split():
            yield Job(f"{command}.{form}", [command, file, *keys, "--format", form])
    for command in TABLES:
        yield Job(f"{command}.parquet", [command, file, *keys, "--format", "parquet", "-o", "table.parquet"])
    for command in WITHOUT_KEYS:
        yield Job(f"{command}.jsonl.sealed", [command, file, "--format", "jsonl"])
    yield Job("timeline.text.unfold", ["timeline", file, *keys, "--unfold"])
    yield Job(
        "timeline.jsonl.redacted", ["timeline", file, *keys, "--format", "jsonl", "--redact", "--redact-key", "00" * 16]
    )
    yield Job("counters.jsonl.exact", ["counters", file, *keys, "--format", "jsonl", "--exact"])
    yield Job("diff.jsonl.sealed", ["diff", file, file, "--format", "jsonl"])
    yield Job("diff.text", ["diff", file, file, *keys])
    yield Job("report.page", ["report", file, *keys, "-o", "page.html"])
    yield Job("export.pcapng", ["export", file, *keys, "--pcapng", "calls.pcapng"])
    yield Job("export.slice", ["export", file, *keys, "--slice", "slice.pcap"])
    yield Job("export-metadata.json", ["export-metadata", file, *keys, "-o", "metadata.json"])
    yield Job("keys.wireshark", ["keys", "wireshark", file, *keys])
    yield Job("save.case", ["save", file, *keys, "-o", "../case.pcq"])
    for command in ("timeline", "audit", "samples"):
        yield Job(f"{command}.jsonl.case", [command, "../case.pcq", "--format", "jsonl"])


def shown_calls(capture: Path, secrets: Path, timeline: Path) -> Iterator[Job]:
    """`show` for some calls of a capture, as text and JSON."""
    lines = timeline.read_bytes().splitlines() if timeline.exists() else []
    numbers = [record["number"] for line in lines if (record := json.loads(line))["record"] == "call"]
    keys = ["--secrets", str(secrets)]
    for number in numbers[:: max(1, len(numbers) // CALLS_SHOWN)]:
        for form in ("text", "jsonl"):
            yield Job(f"show.{form}.{number}", ["show", str(capture), *keys, "--call", str(number), "--format", form])
    for number in numbers[len(numbers) // 2 : len(numbers) // 2 + 1]:
        yield Job("show.text.packets", ["show", str(capture), *keys, "--call", str(number), "--packets"])


def decode_jobs(vectors: Path) -> Iterator[Job]:
    """`decode` on every buffer of a folder."""
    for buffer in sorted(vectors.glob("*.bin")):
        stated = json.loads(buffer.with_suffix(".json").read_bytes())
        kind = BUFFERS.get(stated["kind"]) or REGISTRATION.get(stated.get("request_code"))
        if kind is None:
            continue
        for form in ("text", "jsonl"):
            yield Job(f"decode.{form}.{buffer.stem}", ["decode", str(buffer), "--as", kind, "--format", form])
        yield Job(f"decode.jsonl.guessed.{buffer.stem}", ["decode", str(buffer), "--format", "jsonl"])
        if kind in {"perf-data", "winperf"}:
            samples = ["decode", str(buffer), "--as", kind, "--samples", "--format", "jsonl"]
            yield Job(f"decode.jsonl.samples.{buffer.stem}", samples)


# ------------------------------------------------------------------------------------------ one interpreter a checkout


def work(results: Path, captures: Sequence[Path], only: str) -> None:
    """Runs all commands in this interpreter's checkout, each in a fork."""
    results.mkdir(parents=True, exist_ok=True)
    _load()
    for capture in captures:
        folder = results / f"{capture.parent.name}_{capture.name}"
        secrets = secrets_of(capture, results)
        for job in jobs_of(capture, secrets):
            if only in job.name or (only.startswith("show") and job.name == "timeline.jsonl"):
                _run(job, folder / job.name)
        for job in shown_calls(capture, secrets, folder / "timeline.jsonl" / "stdout"):
            if only in job.name:
                _run(job, folder / job.name)
    for job in decode_jobs(VECTORS):
        if only in job.name:
            _run(job, results / "buffers" / job.name)


def _load() -> None:
    """Loads what commands need, so that a fork has it; but not polars, which starts threads that a fork would lose."""
    import pkgutil

    import analyzer

    if Path(analyzer.__file__).resolve().parent.parent != Path.cwd().resolve():
        raise SystemExit(f"{analyzer.__file__} is not of this checkout")
    skipped = re.compile(
        r"analyzer\.(__main__|probe|collect|screens\.(browse|notebook)|commands\.(probe|browse|collect))"
    )
    sys.modules["polars"] = None  # type: ignore[assignment]  # what loads it cannot be loaded now
    for module in pkgutil.walk_packages(analyzer.__path__, "analyzer.", onerror=lambda _: None):
        if not skipped.match(module.name):
            try:
                __import__(module.name)
            except ImportError:
                continue
    del sys.modules["polars"]


def _run(job: Job, folder: Path) -> None:
    """Runs one command in a fork. Its standard output, error and exit code are files beside those that it writes.

    What has run already is kept: a run that was interrupted goes on, and one checkout can be compared with several others.
    """
    if (folder / "exit").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    child = os.fork()
    if child:
        (folder / "exit").write_text(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        return
    code = 70
    try:
        os.chdir(folder)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
        sys.argv = ["pcq-analyzer", *job.arguments]
        try:
            runpy.run_module("analyzer", run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


# ----------------------------------------------------------------------------------------------------- comparing


class Differences:
    """Differences by class: how often, in how many results, and an example of each."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._examples: dict[tuple[str, str], str] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, command: str, what: str, where: str, old: object = "", new: object = "") -> None:
        key = command, what
        self._found[key].append(where)
        self._examples.setdefault(key, f"{_short(old)} -> {_short(new)}" if old != new else "")

    def lines(self) -> Iterator[str]:
        for command, what in sorted(self._found):
            places = self._found[command, what]
            results = len(set(places))
            yield f"{command}: {what}  ({len(places)} in {results} result{'s' * (results != 1)}, first {places[0]})"
            if example := self._examples[command, what]:
                yield f"    {example}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _EXAMPLE_WIDTH else f"{text[:_EXAMPLE_WIDTH]}..."


def compare(old: Path, new: Path) -> tuple[int, Differences]:
    """The number of commands that both ran, and what differs between their results."""
    found, count = Differences(), 0
    for folder in sorted({path.parent.relative_to(root) for root in (old, new) for path in root.rglob("exit")}):
        count += 1
        command, where = folder.name.split(".")[0], str(folder)
        names = {path.name for root in (old, new) if (root / folder).exists() for path in (root / folder).iterdir()}
        for name in sorted(names):
            before, after = (
                (root / folder / name).read_bytes() if (root / folder / name).exists() else None for root in (old, new)
            )
            if before == after:
                continue
            if before is None or after is None:
                found.add(command, f"file {name} is {'new' if before is None else 'gone'}", where)
            else:
                _compare_file(found, command, name, where, before, after)
    return count, found


def _compare_file(found: Differences, command: str, name: str, where: str, old: bytes, new: bytes) -> None:
    """What differs in one file that both have."""
    form = where.rsplit("/", 1)[1].split(".")[1]
    if name.endswith(".parquet"):
        _compare_tables(found, command, where, *map(_parquet_rows, (old, new)))
    elif name.endswith(".html"):
        data, new_data = (_flat_records(_page_data(page)) for page in (old, new))
        if data == new_data:
            found.add(command, f"{name} beside its data (script, style)", where)
        else:
            _compare_records(found, command, where, data, new_data)
    elif (name == "stdout" and form in {"jsonl", "json", "ecs", "sarif", "zeek", "timesketch"}) or name.endswith(
        ".json"
    ):
        _compare_records(found, command, where, *(_flat_records(_json_values(text)) for text in (old, new)))
    elif name == "stdout" and form == "csv":
        _compare_tables(found, f"{command} (csv)", where, *map(_csv_rows, (old, new)))
    elif name.endswith((".pcap", ".pcapng")):
        found.add(command, f"bytes of {name}", where, f"{len(old)} bytes", f"{len(new)} bytes")
    else:
        _compare_text(found, f"{command} ({name})", where, old, new)


def _json_values(text: bytes) -> Sequence[Any]:
    """The values of JSON Lines, or those of one document."""
    try:
        value = json.loads(text)
    except ValueError:
        return [
            json.loads(line) if line[:1] in b"{[" else {"line": line.decode()} for line in text.splitlines() if line
        ]
    return value if isinstance(value, list) else [value]


def _page_data(page: bytes) -> Sequence[Any]:
    """The blocks of data that a page of `report` carries, plain or deflated; of a block that is no JSON, its hash."""
    blocks = re.findall(rb'<script type="([^"]*)" id="([^"]*)">(.*?)</script>', page, re.DOTALL)
    return [
        {
            "record": name.decode(),
            "data": _json_or_hash(zlib.decompress(b64decode(text), -15) if kind == b"text/plain" else text),
        }
        for kind, name, text in blocks
    ]


def _json_or_hash(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return hashlib.sha256(data).hexdigest()


def _flat_records(values: Sequence[Any]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Records by type, each as paths of keys and what is there."""
    records: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for value in values:
        name = str(value.get("record") or value.get("event", {}).get("action") or "") if isinstance(value, dict) else ""
        flat: dict[str, list[Any]] = defaultdict(list)
        _flatten(value, "", flat)
        records[name].append(flat)
    return records


def _flatten(value: Any, path: str, flat: dict[str, list[Any]]) -> None:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            _flatten(inner, f"{path}.{key}" if path else key, flat)
    elif isinstance(value, list) and value:
        for inner in value:
            _flatten(inner, f"{path}[]", flat)
    else:
        flat[path].append(value)


def _compare_records(
    found: Differences,
    command: str,
    where: str,
    old: Mapping[str, Sequence[Mapping[str, Any]]],
    new: Mapping[str, Sequence[Mapping[str, Any]]],
) -> None:
    for name in [*old, *(name for name in new if name not in old)]:
        before, after = old.get(name, ()), new.get(name, ())
        if len(before) != len(after):
            found.add(command, f"number of records `{name}`", where, len(before), len(after))
        for one, other in zip(before, after, strict=False):
            for path in one.keys() | other.keys():
                key = f"{name}: {path}" if name else path
                if path not in other:
                    found.add(command, f"{key} is gone", where, one[path], "")
                elif path not in one:
                    found.add(command, f"{key} is new", where, "", other[path])
                elif one[path] != other[path]:
                    found.add(command, f"{key} differs", where, *_first_difference(one[path], other[path]))
    if old == new:
        found.add(command, "order or spelling of JSON", where)


def _first_difference(old: Sequence[Any], new: Sequence[Any]) -> tuple[Any, Any]:
    if len(old) != len(new):
        return f"{len(old)} values", f"{len(new)} values"
    return next((one, other) for one, other in zip(old, new, strict=True) if one != other)


def _csv_rows(text: bytes) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    rows = list(csv.reader(text.decode().splitlines()))
    return (rows[0], rows[1:]) if rows else ((), ())


def _parquet_rows(data: bytes) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    import polars

    table = polars.read_parquet(data)
    return [f"{name} {kind}" for name, kind in table.schema.items()], table.rows()


_Table = tuple[Sequence[str], Sequence[Sequence[Any]]]


def _compare_tables(found: Differences, command: str, where: str, old: _Table, new: _Table) -> None:
    """Differences of two tables, column by column."""
    (columns, rows), (new_columns, new_rows) = old, new
    for column in [*columns, *new_columns]:
        if column not in new_columns or column not in columns:
            found.add(command, f"column {column} is {'gone' if column in columns else 'new'}", where)
    if len(rows) != len(new_rows):
        found.add(command, "number of rows", where, len(rows), len(new_rows))
    places = [(name, at, new_columns.index(name)) for at, name in enumerate(columns) if name in new_columns]
    for row, new_row in zip(rows, new_rows, strict=False):
        for name, at, new_at in places:
            if row[at] != new_row[new_at]:
                found.add(command, f"column {name} differs", where, row[at], new_row[new_at])
    if old == new:
        found.add(command, "bytes of the file, of equal tables", where)


def _compare_text(found: Differences, command: str, where: str, old: bytes, new: bytes) -> None:
    """Differences of two texts, by lines with numbers masked."""
    before, after = (text.decode(errors="replace").splitlines() for text in (old, new))
    for tag, start, stop, new_start, new_stop in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            continue
        one, other = before[start:stop], after[new_start:new_stop]
        masked = re.sub(r"\d+", "N", " / ".join(one[:2]) or " / ".join(other[:2]))
        kind = {"replace": "reads otherwise", "delete": "is gone", "insert": "is new"}[tag]
        found.add(
            command,
            f"{kind}: {_short(masked)}",
            where,
            "\n        ".join(["", *one[:3]]),
            "\n        ".join(["", *other[:3]]),
        )


# ------------------------------------------------------------------------------------------------------ command line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="a checkout, such as `git worktree add --detach DIRECTORY COMMIT` makes")
    parser.add_argument("new", type=Path, nargs="?", default=ROOT, help="another (default: this one)")
    parser.add_argument(
        "--captures", type=Path, action="append", help="folders of captures with their keys (default: captures/)"
    )
    parser.add_argument("--capture", default="", help="only captures whose name holds this")
    parser.add_argument("--only", default="", help="only commands and forms whose name holds this: timeline, .parquet")
    parser.add_argument(
        "--keep",
        type=Path,
        help="keep all that was printed in this directory, in old/ and new/; what is there is not run again",
    )
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    folders = [folder.resolve() for folder in options.captures or [ROOT / "captures"]]
    asked = [f"--captures={folder}" for folder in folders] + [f"--capture={options.capture}", f"--only={options.only}"]
    captures = [path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in CAPTURE_SUFFIXES]
    captures = [path for path in captures if options.capture in path.name]
    if options.worker is not None:
        work(options.worker, captures, options.only)
        return 0
    results = options.keep.resolve() if options.keep is not None else Path(tempfile.mkdtemp(prefix="outputs-"))
    workers = []
    for name, checkout in (("old", options.old.resolve()), ("new", options.new.resolve())):
        arguments = [str(checkout), *asked, "--worker", str(results / name)]
        environment = os.environ | {
            "PYTHONPATH": str(checkout),
            "PYTHONHASHSEED": "0",
            "COLUMNS": "120",
            "NO_COLOR": "1",
            "TZ": "UTC",
        }
        workers.append(subprocess.Popen([sys.executable, __file__, *arguments], cwd=checkout, env=environment))
    failed = [worker.wait() for worker in workers]
    if any(failed):
        return 2
    count, found = compare(results / "old", results / "new")
    sys.stdout.writelines(f"{line}\n" for line in (f"{count} commands on {len(captures)} captures", *found.lines()))
    if options.keep is None:
        shutil.rmtree(results)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
