"""`diff` of datasets: all conversations of a dataset, joined, are what one run over its captures gives."""

import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import analyzer as pcq
from analyzer.auth.keyring import Keyring
from analyzer.collect.dataset_manifest import read_dataset
from analyzer.collect.joined_dataset import _Places, joined
from analyzer.collect.stage_tasks_and_facts import ConversationFacts
from analyzer.core.byte_origins import FrameExtent
from analyzer.core.errors import InputError
from analyzer.core.frame_ids import frame_id
from analyzer.core.traced_bytes import TracedBytes
from analyzer.pipeline.run import analyze
from tests.build.calls import write_capture
from tests.collect.sets import (
    CAPTURES,
    collected,
    dataset_of_two_servers,
    difference,
    frames_of,
    keyring_of,
    put,
    readdressed,
    rotated,
    same_rows,
    tables_of,
)
from tests.commands.test_all_commands import records, run
from tests.questions.differences.script import everything, perflib, registry, services

pytestmark = pytest.mark.needs("distributed")
NAMES = ("v1_samba_impacket_smb311_ntlm_privacy.pcap", "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_2clients.pcap")


def dataset_of(directory: Path, name: str, *made: Any) -> tuple[Path, Path]:
    """A capture of these calls, and its dataset."""
    (directory / name).mkdir()
    capture = write_capture(directory / name / "x.pcapng", *made)
    collected(directory / name, directory / f"{name}-dataset", Keyring())
    return capture, directory / f"{name}-dataset"


def without_numbers(found: list[Any]) -> list[Any]:
    """Records of `diff` but for what calls and captures are known by."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items() if key not in ("calls", "frame_files")}
        return [plain(one) for one in value] if isinstance(value, list) else value

    for one in found:
        one["text"] = re.sub(r"^call \d+ of A, \d+ of B", "", str(one["text"]))
        if one["record"] == "diff-summary":
            one["a"] = one["b"] = None
    return [plain(one) for one in found]


@pytest.mark.parametrize("name", NAMES)
def test_joined_conversations_are_one_run(name: str, tmp_path: Path) -> None:
    """Files are not in the order of time, so that frames of a conversation are of other files in the dataset."""
    rotated(name, tmp_path / "in", 4, 5)
    keyring = keyring_of(name)
    collected(tmp_path / "in", tmp_path / "out", keyring)
    one_run = analyze(sorted((tmp_path / "in").iterdir()), keyring, pdus=False)
    found = joined(*read_dataset(tmp_path / "out"))
    rows = [
        {
            table: rows
            for table, rows in same_rows(tables_of(one), one.capture.files, alone=False).items()
            # Limits, and what is wrong with files, are of the whole here and of conversations there.
            if table != "problems"
        }
        for one in (one_run, found)
    ]
    assert not difference(*rows)


def test_bytes_that_were_compressed_lead_to_the_frames_of_the_dataset() -> None:
    """All of them to each frame that carried some; what stands around them was captured as it is."""
    frames = [frame_id(0, 3), frame_id(1, 4)]
    head, *parts, tail = (TracedBytes.of_frame(bytes(8), frame, 60) for frame in (frames[0], *frames, frames[1]))
    data = TracedBytes.join([head, TracedBytes.join(parts).replaced(bytes(99), "smb-lz77"), tail])
    moved = _Places(ConversationFacts(1, (("a", "b"),), [5, 2]))._moved(data)
    first, second = (FrameExtent(frame, 60, 8) for frame in (frame_id(5, 3), frame_id(2, 4)))
    assert moved.data == data.data
    assert [moved.origin(at, at + 1) for at in (8, 106)] == [(first, second)] * 2
    assert list(moved.extents()) == [first, first, second, second]


def test_conversations_of_servers_are_in_the_order_of_time(tmp_path: Path) -> None:
    dataset = dataset_of_two_servers(tmp_path)
    found = joined(*read_dataset(dataset))
    clear, sealed = "v1_samba_impacket_smb311_noauth.pcap", "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
    keyring = Keyring().merged(keyring_of(clear), keyring_of(sealed))
    one_run = analyze(sorted((tmp_path / "in").iterdir()), keyring, pdus=False)
    assert [call.method for call in found.calls] == [call.method for call in one_run.calls]
    assert len({call.channel for call in found.calls}) == len({call.channel for call in one_run.calls})
    stored = dict(enumerate(pcq.open(dataset).calls.collect().sort("time")["call"], 1))
    assert {number: found.known_as(number) for number in stored} == stored
    assert all(found.number_of(known) == number for number, known in stored.items())


def test_processes_and_a_host_are_those_of_one_run(tmp_path: Path) -> None:
    capture, dataset = dataset_of(tmp_path, "a", *everything())
    found, whole = pcq.open(dataset), pcq.analyze(capture)
    assert pcq.Capture(found.joined()).calls["call"].to_list() == whole.calls["call"].to_list()
    early = found.host().moments[0]
    assert early < found.host().moments[-1]
    for one, other in ((found, whole), (found.between(until=early), whole.between(until=early))):
        processes = one.processes.collect()
        assert processes.height > 0
        assert processes.drop("frame_files").equals(other.processes.drop("frame_files"))
        assert one.host(at=early).cells.equals(other.host(at=early).cells)
    assert found.processes.filter(pl.col("pid") == -1).collect().is_empty()
    with pytest.raises(InputError, match="nowhere"):
        found.host("nowhere")


def test_one_change_is_told_as_of_captures(tmp_path: Path) -> None:
    a, of_a = dataset_of(tmp_path, "a", *everything())
    b, of_b = dataset_of(tmp_path, "b", *perflib(("System", "lsass", "calc")), *registry(), *services())
    told = [records(run("diff", *files, "--format", "jsonl").stdout) for files in ((a, b), (of_a, b), (a, of_b))]
    assert any(one["about"] == "process" and "calc" in str(one["name"]) for one in told[0][:-1])
    assert [one["a"] for one in told[1] if one["record"] == "diff-summary"] == [[str(of_a)]]
    expected = without_numbers(told[0])
    assert all(without_numbers(found) == expected for found in told[1:])
    result = run("diff", of_a, of_b)
    assert result.exit_code == 10
    assert f"{of_a} (1 capture): " in result.stdout.replace("\n", " ").replace("   ", "")


def test_the_page_leads_to_the_case_of_a_call(tmp_path: Path) -> None:
    _, of_a = dataset_of(tmp_path, "a", *everything())
    b = write_capture(tmp_path / "b.pcapng", *perflib(), *registry(), *services("C:\\y.exe"))
    page = tmp_path / "page.html"
    assert run("diff", of_a, b, "--format", "html", "-o", page).exit_code == 10
    commands = re.findall(r"<code>(pcq-analyzer show [^<]*_state/[^<]*)</code>", page.read_text())
    shown = run(*shlex.split(commands[-1])[1:])
    assert shown.exit_code == 0
    assert "RChangeServiceConfigW" in shown.stdout


def test_calls_have_the_numbers_of_the_tables(tmp_path: Path) -> None:
    _, of_a = dataset_of(tmp_path, "a", *everything())
    b = write_capture(tmp_path / "b.pcapng", *perflib(), *registry(), *services("C:\\y.exe"))
    dataset = pcq.open(of_a)
    found = pcq.diff(dataset, pcq.analyze(b)).differences
    (changed,) = found.filter(found["about"] == "call").to_dicts()
    (number,) = changed["a_calls"]
    assert dataset.call(number)["method"] == "RChangeServiceConfigW"
    part = pcq.diff(dataset.filter("opnum == 11 && interface.name == svcctl"), pcq.analyze(b))
    assert part.summary["a_calls"] == 1
    assert f"1 call of {len(everything())} (filter " in repr(part)


def test_moments_and_baselines_are_of_datasets_too(tmp_path: Path) -> None:
    link_type, frames = frames_of(CAPTURES / "v1_samba_impacket_smb311_noauth.pcap")
    put(tmp_path / "in" / "x.pcap", readdressed(frames, "10.0.0.1", "10.0.1.1"), link_type)
    collected(tmp_path / "in", tmp_path / "out", Keyring())
    for options in (["--at", "10s", "--at", "20s"], ["--at", "0.275s", "--at", "10s"]):
        of_capture, of_dataset = (run("diff", tmp_path / one, *options) for one in ("in/x.pcap", "out"))
        assert of_dataset.exit_code == of_capture.exit_code
    baseline = tmp_path / "host.json"
    assert run("diff", tmp_path / "out", "--write-baseline", baseline).exit_code == 0
    assert run("diff", tmp_path / "out", "--baseline", baseline).exit_code == 0
    assert run("diff", tmp_path / "in" / "x.pcap", "--baseline", baseline).exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--redact"], "not redacted"), (["--read-frames", "5"], "is read as a whole"), (["--at", "1s"], "opened alone")],
)
def test_what_a_dataset_cannot_do_is_said(options: list[str], words: str, tmp_path: Path) -> None:
    capture, dataset = dataset_of(tmp_path, "a", *everything())
    result = run("diff", capture, dataset, *options, *(["--at", "2s"] if "--at" in options else []))
    assert result.exit_code in (1, 2)
    assert words in result.stderr + str(result.exception) + result.stdout
