"""Where results cannot be written: every command, and every form, on a full disk and into a pipe whose reader went away."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.commands.test_commands import CLEAR

FULL = "/dev/full"
FORMS = ("text", "jsonl", "json", "csv", "parquet")
# Each command as text, whose lines are its own, and in one of the forms, which have one writer for all.
RESULTS = (
    *(
        f"{command} {{}} --format {form}"
        for at, command in enumerate(
            ("timeline", "sessions", "audit", "triage", "stats", "samples", "counters", "hosts")
        )
        for form in ("text", FORMS[1 + at % 4])
    ),
    *(f"audit {{}} --format {form}" for form in ("sarif", "junit", "timesketch", "ecs", "zeek")),
    *("report {}", "save {}", "export-metadata {}", "show {} --call 1"),
    "keys keytab u@R --password x",
)
PRINTED = (
    *(
        "--help",
        "timeline --help",
        "--version",
        "docs PCQ101",
        "docs",
        "docs man",
        "docs limits",
        "docs limits --format jsonl",
    ),
    *("audit --list", "keys nt-hash --password x", "timeline {} --names-from now", "probe --dry-run"),
    *("export {} --pcapng -", "export {} --slice -"),
)
TO_OUTPUT = (*(f"{line} -o -" for line in RESULTS), *PRINTED)
TO_FILE = (
    *(f"{line} -o {FULL}" for line in RESULTS),
    *(f"{line} {FULL}" for line in ("export {} --pcapng", "export {} --slice", "audit {} --write-baseline")),
)
# What runs tshark.
CROSSCHECK_TO_OUTPUT, CROSSCHECK_TO_FILE = ("crosscheck {} -o -",), (f"crosscheck {{}} -o {FULL}",)
WITH_TSHARK = pytest.mark.needs("tshark")
# Runs commands in processes of their own; what several need is loaded once. Their output is what the lines say.
RUN = """
import importlib, json, os, pkgutil, sys, tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the program has it; nothing may fork beside threads
import analyzer
from analyzer.commands.guard import run_process

lines, output = json.load(sys.stdin)
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

json.dump([run(words, globals()[output]) for words in lines], sys.stdout)
"""


def ended(lines: tuple[str, ...], output: str) -> list[tuple[str, int, str]]:
    """Of each command: its exit code, and what it said."""
    words = [line.format(CLEAR).split() for line in lines]
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps([words, output]), capture_output=True, text=True, check=True
    )
    return [(line, code, said) for line, (code, said) in zip(lines, json.loads(done.stdout), strict=True)]


def sentences(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("pcq-analyzer: ")]


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        pytest.param(TO_OUTPUT, "standard output", id="standard output"),
        pytest.param(TO_FILE, FULL, id="a file"),
        pytest.param(CROSSCHECK_TO_OUTPUT, "standard output", id="crosscheck, standard output", marks=WITH_TSHARK),
        pytest.param(CROSSCHECK_TO_FILE, FULL, id="crosscheck, a file", marks=WITH_TSHARK),
    ],
)
def test_a_full_disk_is_one_sentence_and_exit_code_1(lines: tuple[str, ...], place: str) -> None:
    sentence = f"pcq-analyzer: {place} cannot be written: No space left on device"
    for line, code, said in ended(lines, "full"):
        assert (line, code, sentences(said)) == (line, 1, [sentence])


@pytest.mark.parametrize(
    "lines",
    [pytest.param(TO_OUTPUT, id="all"), pytest.param(CROSSCHECK_TO_OUTPUT, id="crosscheck", marks=WITH_TSHARK)],
)
def test_a_reader_that_went_away_is_no_error(lines: tuple[str, ...]) -> None:
    """The exit code is that of what the command found."""
    for line, code, said in ended(lines, "gone"):
        assert code == 0 or (code, line.split()[0]) in ((11, "audit"), (11, "triage")), (line, code, said)
        assert sentences(said) == [], line
