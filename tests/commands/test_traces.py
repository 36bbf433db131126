"""Event trace logs of Windows at the commands: alone, compressed, in sets, from a pipe, collected, saved, for Wireshark."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from analyzer.capture.capture_reader import CaptureReader
from tests.build.capture import Pcapng, read
from tests.build.etl import PKTMON, T0, Etl, pktmon_component, pktmon_packet
from tests.commands.test_all_commands import here
from tests.commands.typed import trace_data

CAPTURE = Path(__file__).resolve().parents[2] / "captures" / "n_v1_pcapng.pcapng"


def text(*arguments: str, stdin: bytes = b"") -> str:
    return here(*arguments, stdin=stdin).stdout.decode()


def said(*arguments: str) -> tuple[int, str]:
    ran = here(*arguments)
    return ran.returncode, ran.stderr.decode()


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "net.etl"
    path.write_bytes(trace_data())
    return path


def calls_of(output: str) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in output.splitlines()]
    return [record for record in records if record["record"] in ("call", "session", "problem")]


def test_a_trace_and_pcapng_of_one_conversation_are_read_in_the_order_of_their_times(
    trace: Path, tmp_path: Path
) -> None:
    frames, _, _ = read(CAPTURE)
    etl, section = Etl(buffer_size=16384, started_ns=frames[0].time_ns), Pcapng().section().interface(resolution=9)
    for number, frame in enumerate(frames):
        if number % 2:
            section.enhanced(frame.time_ns, frame.data)
        else:
            etl.ndis(frame.time_ns, frame.data, processor=number % 3)
    (tmp_path / "a.etl").write_bytes(etl.data())
    (tmp_path / "b.pcapng").write_bytes(section.data)
    pair = [str(tmp_path / name) for name in ("a.etl", "b.pcapng")]
    calls, wanted = (
        [one for one in calls_of(text("timeline", *files, "--format", "jsonl")) if one["record"] == "call"]
        for files in (pair, [str(CAPTURE)])
    )
    assert [(one["time_ns"], one["method"], one["state"], one["latency_ns"]) for one in calls] == [
        (one["time_ns"], one["method"], one["state"], one["latency_ns"]) for one in wanted
    ]
    for one, whole in zip(calls, wanted, strict=True):
        for side in ("request", "response"):
            place = [((number - 1) // 2 + 1, (number - 1) % 2) for number in whole[side]["frames"]]
            assert list(zip(one[side]["frames"], one[side]["frame_files"], strict=True)) == place
    case = tmp_path / "both.pcq"
    assert here("save", *pair, "-o", str(case)).returncode == 0
    assert text("timeline", str(case), "--format", "jsonl") == text("timeline", *pair, "--format", "jsonl")
    assert here("verify", str(case), *pair).returncode == 0
    page = tmp_path / "both.html"
    assert here("report", *pair, "-o", str(page)).returncode == 0
    assert b"a.etl" in page.read_bytes()


@pytest.mark.needs("tshark")
def test_wireshark_learns_which_way_pktmon_saw_a_packet_go_and_that_it_was_dropped(tmp_path: Path) -> None:
    etl = Etl()
    for number, event in enumerate((160, 160, 170)):
        packet = pktmon_packet(b"\2" * 60, number + 1, direction=(3, 4, 0)[number])
        etl.event(T0 + number, PKTMON, event, packet, keyword=0)
    path, out = tmp_path / "p.etl", tmp_path / "p.pcapng"
    path.write_bytes(etl.data())
    assert said("export", str(path), "--frames", str(out))[0] == 0
    fields = ("-T", "fields", "-e", "frame.packet_flags_direction", "-e", "frame.comment")
    ran = subprocess.run(["tshark", "-r", str(out), *fields], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    assert [row[0] for row in rows] == ["0x00000001", "0x00000002", ""]
    assert [row[1].endswith("; dropped") for row in rows] == [False, False, True]


def test_numbers_stay_where_packets_are_left_out(tmp_path: Path) -> None:
    etl = Etl().event(T0, PKTMON, 20, pktmon_component(5, "vNIC", "a switch"), keyword=0)
    for at, (group, kind) in enumerate([(1, 1), (1, 1), (2, 4), (3, 1)]):
        etl.event(T0 + at * 1000, PKTMON, 160, pktmon_packet(b"\2" * 60, group, kind=kind), keyword=0)
    path, out = tmp_path / "p.etl", tmp_path / "p.pcapng"
    path.write_bytes(etl.data())
    assert [frame.frame for frame in read(path)[0]] == [1, 4]
    code, words = said("export", str(path), "--frames", str(out))
    assert code == 0
    assert "1 number of frames that could not be read" in words
    assert [(frame.frame, frame.link_type, len(frame.data)) for frame in read(out)[0]] == [
        (1, 1, 60),
        (2, 1, 60),
        (3, 147, 0),
        (4, 1, 60),
    ]
    assert b"vNIC" in out.read_bytes()
    assert b"a switch" in out.read_bytes()


@pytest.mark.needs("tshark")
def test_tshark_numbers_what_was_written_as_we_do(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    said("export", str(trace), "--frames", str(out))
    fields = ("-Tfields", *(f"-eframe.{name}" for name in ("number", "len", "interface_name", "comment")))
    ran = subprocess.run(["tshark", "-r", str(out), *fields], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    frames = read(trace)[0]
    assert [(int(row[0]), int(row[1])) for row in rows] == [(frame.frame, frame.original_length) for frame in frames]
    assert {row[2] for row in rows} == {"eth:12:0"}
    assert all(row[3].startswith("PID=") for row in rows)


@pytest.mark.needs("tshark", "pyshark")
def test_the_second_engine_refuses_a_trace_in_one_sentence(trace: Path) -> None:
    code, words = said("timeline", str(trace), "--engine", "tshark")
    assert code == 1
    assert "is an event trace log of Windows, which tshark does not read" in words
    assert "export FILE --frames OUT.pcapng" in words


def test_the_reader_states_what_traces_say_in_the_order_of_files(trace: Path) -> None:
    reader = CaptureReader([trace, CAPTURE])
    assert reader.traces == ()
    assert sum(1 for _ in reader)
    assert [each.file for each in reader.traces] == [str(trace)]
