"""The simulation of benchmarks/collect.py: what it says of stages whose length anybody can work out."""

import numpy as np
import pytest

from benchmarks.collect import (
    ASSUMED,
    PAGE,
    SCHEDULER_S,
    Measured,
    Storage,
    Work,
    conversations,
    other,
    put,
    replay,
    storages,
    stretched,
)
from tests.build.capture import frames_of, pcap

FAST = Storage("fast", 1e12, float("inf"))


def test_a_stage_takes_as_long_as_its_bound() -> None:
    even = [Work(1.0, 1e6, 0.0)] * 100
    assert replay(even, 10, FAST).seconds == pytest.approx(10.0, abs=0.2)
    assert replay(even, 10, FAST).bound == "processors"
    assert replay([*even, Work(500.0, 0.0, 0.0)], 10, FAST).bound == "longest task"
    assert replay([*even, Work(500.0, 0.0, 0.0)], 10, FAST).seconds == pytest.approx(500.0, abs=0.2)
    slow = Storage("slow", 1e9, 1e6)
    assert replay(even, 100, slow).bound == "storage"
    assert replay(even, 100, slow).seconds == pytest.approx(101.0, abs=0.2)
    many = [Work(1e-6, 0.0, 0.0)] * 10_000
    assert replay(many, 1000, FAST).bound == "scheduler"
    assert replay(many, 1000, FAST).seconds == pytest.approx(10_000 * SCHEDULER_S, rel=0.01)


def test_tasks_are_stretched_to_what_there_is() -> None:
    tasks = list(stretched([Work(2.0, 100.0, 10.0)], 1000.0, 300.0))
    assert [task.read for task in tasks] == [300.0, 300.0, 300.0, 100.0]
    assert sum(task.cpu for task in tasks) == pytest.approx(20.0)
    sizes = [task.read for task in conversations(1e6, Work(1e-6, 1.0, 1.0), 50, 0.1)]
    assert sizes[0] == pytest.approx(1e5)
    assert sum(sizes) == pytest.approx(1e6)
    assert sizes[1:] == sorted(sizes[1:], reverse=True)


def test_a_capture_of_other_hosts_is_as_right_as_it_was() -> None:
    ip = bytes.fromhex("4500002800000000400600000a0000010a000101") + bytes(20)
    capture = np.frombuffer(pcap([(time, bytes(12) + b"\x08\x00" + ip) for time, _ in frames_of(3)]), np.uint8)
    changed = other(capture, 5).tobytes()
    before = capture.tobytes()
    assert len(changed) == len(before)
    first, moved = before[40 + 26 : 40 + 34], changed[40 + 26 : 40 + 34]
    assert moved == bytes((10, 5, 0, 1, 9, 251, 1, 1))
    assert sum(first[0::2]) * 256 + sum(first[1::2]) == sum(moved[0::2]) * 256 + sum(moved[1::2])


def test_storage_that_was_measured_stands_beside_what_is_assumed() -> None:
    disk, *others = storages([Measured("disk", 200.0, 50.0, 0.001)])
    assert (disk.name, disk.worker, disk.all) == ("disk", pytest.approx(80e6), float("inf"))
    assert tuple(others) == ASSUMED


@pytest.mark.parametrize("name", ["runs", "stages", "storage", "simulation"])
def test_tables_take_their_places_in_the_page(name: str) -> None:
    page = PAGE.read_text()
    written = put(page, name, ["| new |", "|---|"])
    assert f"<!-- measured: {name} -->\n| new |\n|---|\n<!-- end: {name} -->" in written
    assert put(written, name, []) == put(page, name, [])
    with pytest.raises(ValueError, match="no place for"):
        put(page, "nothing", [])
