"""Where results cannot be written: every command, and every form, on a full disk and into a pipe whose reader went away."""

import json
import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.commands.test_all_commands import CLEAR

COMMANDS = ["timeline", "sessions", "audit", "triage", "stats", "samples", "counters", "hosts"]
# Each command as text, whose lines are its own, and each of the forms, which have one writer for all but samples.
RESULTS = (
    *(f"{command} {{}}" for command in COMMANDS),
    *(f"timeline {{}} --format {form}" for form in ["jsonl", "json", "csv", "parquet", "timesketch", "ecs", "zeek"]),
    *("samples {} --format jsonl", "audit {} --format sarif", "audit {} --format junit"),
    *("report {}", "save {}", "export-metadata {}", "show {} --call 1", "keys keytab u@R --password x"),
)
PRINTED = (
    *("--help", "timeline --help", "--version", "docs PCQ101", "docs", "docs man", "docs limits --format jsonl"),
    *("audit --list", "keys nt-hash --password x", "timeline {} --names-from now", "probe --dry-run"),
    *("export {} --pcapng -", "export {} --slice -"),
)
LINES = (*(f"{line} -o -" for line in RESULTS), *PRINTED)
# Runs commands in processes of their own; what several need is loaded once. Their output is what the lines say.
RUN = """
import importlib, json, os, pkgutil, sys, tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the program has it; nothing may fork beside threads
import analyzer
from analyzer.commands.shared.guard import run_process

lines = json.load(sys.stdin)
for found in pkgutil.walk_packages(analyzer.__path__, "analyzer.") if len(lines) > 1 else ():
    if not any(part in found.name for part in ("_generated.", "__main__", ".probe", ".collect", ".browse", ".notebook")):
        importlib.import_module(found.name)

def run(words, output):
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.dup2(output(), 1)
            os.dup2(said.fileno(), 2)
            sys.argv[1:] = words
            try:
                run_process()
            except SystemExit as error:
                code = error.code
            try:
                sys.stdout.flush()
            except OSError:
                code = 120  # as the interpreter ends
            sys.stderr.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return code, said.read().decode()

def gone():
    reader, writer = os.pipe()
    os.close(reader)
    return writer

def full():
    return os.open("/dev/full", os.O_WRONLY)

json.dump([(run(words, full), run(words, gone)) for words in lines], sys.stdout)
"""


@pytest.mark.parametrize("lines", [LINES, pytest.param(["crosscheck {} -o -"], marks=pytest.mark.needs("tshark"))])
def test_a_full_disk_is_one_sentence_and_a_reader_that_went_away_is_no_error(lines: Sequence[str]) -> None:
    """Where nobody reads, the exit code is that of what the command found. `typed/` has disks that are full of files."""
    words = json.dumps([line.format(CLEAR).split() for line in lines])
    done = subprocess.run([sys.executable, "-c", RUN], input=words, capture_output=True, text=True, check=True)
    for line, (full, gone) in zip(lines, json.loads(done.stdout), strict=True):
        full[1], gone[1] = ([one for one in said.splitlines() if "pcq-analyzer: " in one] for _, said in (full, gone))
        assert (line, full) == (
            line,
            [1, ["pcq-analyzer: standard output cannot be written: No space left on device"]],
        )
        assert (line, gone) == (line, [11 if line.startswith(("audit {}", "triage {}")) else 0, []])
