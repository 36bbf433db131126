"""Two blocks that a Windows XP machine sent in 2012, from the public corpus."""

import os
from pathlib import Path

import pytest

from analyzer.interfaces.buffers.buffer_trees import decode_buffer
from analyzer.interfaces.buffers.field_map import map_fields
from analyzer.interfaces.buffers.kind_guess import guess_kind
from analyzer.interfaces.buffers.value_rows import WinPerf, winperf_rows
from tests.interfaces.buffers.test_field_map import encodes

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def folder() -> Path:
    named = os.environ.get("PCQ_CORPUS")
    if not named:
        pytest.skip("PCQ_CORPUS does not name the public corpus")
    return Path(named) / "perfdata"


def read(path: Path) -> tuple[bytes, WinPerf]:
    data = path.read_bytes()
    assert guess_kind(data)[0][0] == "winperf"
    assert decode_buffer("winperf", data).problem is None
    mapped = map_fields("winperf", data)
    assert mapped.problem is None
    assert all(encodes(leaf, ("little",)) for leaf in mapped.root.leaves())
    rows = winperf_rows(data)
    assert rows.problem is None
    assert rows.system_name == "NONE-B91CFA7B93"
    assert rows.perf_freq == 3_579_545  # the ACPI timer
    assert (rows.system_time.year, rows.system_time.month, rows.system_time.day) == (2012, 3, 16)
    return data, rows


def test_the_processor_block_reads_although_its_last_length_is_too_small(folder: Path) -> None:
    _, rows = read(folder / "xp-sp3_hkpd_query_238.perfdata.bin")
    (processor,) = rows.objects
    assert (processor.name_index, len(processor.definitions)) == (238, 15)
    assert [instance.name for instance in processor.instances] == ["0", "_Total"]
    # One processor: the total says the same.
    assert processor.instances[0].values == processor.instances[1].values
    assert rows.notes == ("object 0: the last counter block says 64 bytes and holds values up to byte 120",)


def test_the_process_block_has_its_processes(folder: Path) -> None:
    _, rows = read(folder / "xp-sp3_hkpd_query_230.perfdata.bin")
    (process,) = rows.objects
    assert (process.name_index, len(process.definitions), len(process.instances)) == (230, 27, 28)
    named = {instance.name: instance for instance in process.instances}
    by_index = {entry.name_index: at for at, entry in enumerate(process.definitions)}
    assert named["System"].values[by_index[784]] == 4  # ID Process
    assert {"Idle", "System", "_Total"} <= named.keys()
