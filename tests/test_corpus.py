"""Public captures, from file to calls: what we count is what tshark counts, and nothing breaks, hangs or grows without bound."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from analyzer.interfaces.buffers.value_rows import winperf_rows
from analyzer.interfaces.call_contents.raw_samples import sample_records
from analyzer.pipeline.run import analyze
from analyzer.results.methods.winreg import ERROR_MORE_DATA
from tests.corpus import CORPUS, DIFFERENT, OTHER_FORMATS, expected
from tests.records import plains

pytestmark = pytest.mark.corpus

MAX_PEAK_KIB = 500 * 1024
XP = "OISF-suricata-verify/tests__filestore-filecontainer-smb__filecontainer-smb.pcap"


@cache
def ours() -> tuple[dict[str, dict[str, Any]], int]:
    """Our counts by file, and the peak of memory, from one process that reads all captures."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.corpus"],
        cwd=Path(__file__).resolve().parent.parent,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    *lines, last = map(json.loads, ran.stdout.splitlines())
    return {line["file"]: line for line in lines}, last["peak_kib"]


def test_every_capture_is_read_within_bounds() -> None:
    files, peak = ours()
    assert files.keys() == expected().keys()
    assert {name for name, line in files.items() if "unusable" in line} == OTHER_FORMATS
    assert peak < MAX_PEAK_KIB
    assert max(line.get("seconds", 0) for line in files.values()) < 60
    assert [
        name
        for name, line in files.items()
        if line.get("frames", expected()[name]["frames"]) != expected()[name]["frames"]
    ] == []


def test_pdus_by_type_and_opnums_by_interface_are_those_of_tshark() -> None:
    files, _ = ours()
    wrong = []
    for name, stated in expected().items():
        if name in OTHER_FORMATS:
            continue
        theirs, mine = stated["dcerpc"], files[name]
        same = all(mine[key] == theirs[key] for key in ("pdus_by_type", "request_opnums_by_interface"))
        if same and name in DIFFERENT:
            wrong.append((name, "no longer differs: take it off the list"))
        elif not same and name not in DIFFERENT:
            wrong.append(
                (name, {key: (mine[key], theirs[key]) for key in ("pdus_by_type", "request_opnums_by_interface")})
            )
    assert not wrong


def test_bound_interfaces_are_those_of_tshark() -> None:
    files, _ = ours()
    for name, stated in expected().items():
        if name in OTHER_FORMATS or name in DIFFERENT:
            continue
        assert set(files[name]["bound"]) == set(stated["dcerpc"]["bind_context_uuids"]), name


def test_the_registry_reads_of_a_real_windows_xp() -> None:
    """SMB1 in VLAN frames: two opens and 12 QueryValue calls, 10 of them too small; Processor and Process come back."""
    analysis = analyze([CORPUS / XP])
    calls = [call for call in analysis.calls if call.is_winreg]
    opens = [call for call in calls if call.method == "OpenPerformanceData"]
    reads = [call for call in calls if call.method == "BaseRegQueryValue"]
    assert (len(opens), len(reads)) == (2, 12)
    assert [call.status for call in reads].count(ERROR_MORE_DATA) == 10
    blocks = [
        call.response.buffer.data
        for call in reads
        if call.status == 0 and call.response is not None and call.response.buffer is not None
    ]
    assert [len(block) for block in blocks] == [1096, 7768]
    assert {call.read.number for call in reads if call.read is not None} == {1, 2}
    carved = sorted((CORPUS / "perfdata").glob("*.bin"), key=lambda path: path.stat().st_size)
    assert blocks == [path.read_bytes() for path in carved]
    processor, process = (winperf_rows(block).objects[0] for block in blocks)
    assert (processor.name_index, len(processor.definitions), len(processor.instances)) == (238, 15, 2)
    assert (process.name_index, len(process.definitions), len(process.instances)) == (230, 27, 28)


def test_the_values_of_a_real_windows_xp_are_plausible() -> None:
    """Names, ids and times agree with each other; the times of `Idle` XP left uninitialised, and they are shown as they are."""
    analysis = analyze([CORPUS / XP])
    samples = list(plains(sample_records(analysis)))
    assert len(samples) == 2 * 15 + 28 * 27
    by_counter = {
        (sample["object_index"], sample["instance"], sample["counter_name"]): sample["raw"] for sample in samples
    }
    assert by_counter[238, "0", "% Processor Time"] == by_counter[238, "_Total", "% Processor Time"]
    assert by_counter[230, "System", "ID Process"] == 4
    assert by_counter[230, "Idle", "ID Process"] == 0
    names = {sample["instance"] for sample in samples if sample["object_index"] == 230}
    assert {"Idle", "System", "smss", "csrss", "winlogon", "services", "lsass", "_Total"} <= names
    # A process has used less processor time than the machine is old (here in seconds; the raw times are in 100 ns).
    age = samples[0]["perf_time"] / samples[0]["perf_freq"]
    used = [
        sample["raw"] / 10_000_000
        for sample in samples
        if sample["counter_name"] == "% User Time" and sample["instance"] not in ("Idle", "_Total")
    ]
    assert len(used) == 28 + 2 - 2 - 1  # 28 processes and 2 processors, without both _Total and Idle
    assert max(used) < age
    assert sum(used) > 0
    assert all(sample["counter_name"] is not None for sample in samples)
    assert {sample["name_source"] for sample in samples} == {"well-known"}
