"""Some faults on some commands, chosen by a seed; `make faults` tries all. What faults showed once stays mended."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.results.calls import call_table
from analyzer.results.calls.call_table import CallTable
from tests.build.calls import Calls, analysis_of

# A point for each defect that was found: the result was torn, or the command ended in a traceback or in exit code 70.
MENDED = (
    "full-at 12934 EFBIG -- timeline a.pcap --secrets a.secrets.json --format parquet -o out --force",
    "read 16 EIO -- export a.pcap --secrets a.secrets.json --slice out --force",
    "open 5 ENOENT -- audit a.pcap --secrets a.secrets.json --format sarif -o out --force",
    "memory 3 MemoryError -- docs filters -o out --force",
    "memory 5252 MemoryError -- show a.pcap --secrets a.secrets.json --call 1",
)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: its children are forked, which threads of another test would not survive."""
    command = [sys.executable, "-m", "tests.faults.run", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_after_a_fault_the_result_is_the_older_one_or_whole_or_names_a_loss() -> None:
    done = run("--sample", "1", "--seed", "4", "--runners", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 points" in done.stdout


def test_what_a_fault_showed_once_stays_mended() -> None:
    done = run(*MENDED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(MENDED)} points" in done.stdout


def test_a_call_that_memory_runs_out_at_leaves_the_others_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    table = CallTable()
    make = Calls()
    first, second = analysis_of(make.open_query(), make.close_query()).calls
    table.append(first)

    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(call_table, "_handle_of", fails)
    with pytest.raises(MemoryError):
        table.append(second)
    assert len(table) == len(table.column("first_time")) == 1
    monkeypatch.undo()
    table.append(second)
    assert [table[at].opnum for at in range(2)] == [3, 4]
    assert len(table.column("first_time")) == sum(table.tally.values()) == 2


@pytest.mark.parametrize("unbuffered", ["1", ""])
def test_a_full_disk_behind_standard_output_is_said_with_and_without_a_buffer(unbuffered: str, tmp_path: Path) -> None:
    """Of a write that does not fit, the system takes a part. Without a buffer nobody wrote the rest, and the exit code was 0."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (210, 210))

    command = [sys.executable, "-m", "analyzer", "docs", "filters"]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            command, stdout=out, stderr=subprocess.PIPE, text=True, check=False, env=environment, preexec_fn=bounded
        )
    assert (done.returncode, done.stderr) == (1, "pcq-analyzer: standard output cannot be written: File too large\n")
