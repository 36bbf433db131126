"""`export`: what it writes gives the same calls again, decrypted for Wireshark or cut out of the capture."""

import json
import struct
import subprocess
from pathlib import Path

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import CaptureReader
from analyzer.capture.pcapng import SECRETS_OF_OURS
from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.core.limits import DEFAULTS
from analyzer.core.output.gate import Destination
from analyzer.pipeline.capture_slicing_and_conversion import Slice, slice_of
from analyzer.pipeline.run import analyze, with_embedded
from analyzer.questions.filters.call_selection import Selection
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, Side
from analyzer.screens.formats.pcapng_writer import PcapngWriter
from analyzer.screens.formats.unsealed_packets import write_conversation
from tests import truth
from tests.analyses import analysis_of_file
from tests.commands.test_all_commands import CLEAR, PCQ, SECRETS, run
from tests.secrets import leaks

CAPTURES = {capture.file: capture for capture in truth.captures()}
HANDFUL = [capture.file for capture in truth.handful()]
# Of these all calls are cut out too: one of each way to be sealed, and one that lacks segments.
WHOLE = [file for file in CAPTURES if "2clients" in file or "krb5aes256" in file or "ccm" in file or "dropseg" in file]
LUA = truth.CAPTURES.parent / "wireshark" / "pcq.lua"


def stub(side: Side | None) -> bytes | Missing | None:
    if side is None:
        return None
    return side.stub if isinstance(side.stub, Missing) else side.stub.data


def essence(call: Call) -> tuple[object, ...]:
    ends = (call.client, call.server, call.transport, call.pipe, call.interface.uuid, call.opnum, call.call_id)
    return (*ends, call.status, call.fault, call.syntax, stub(call.request), stub(call.response))


def decrypted(analysis: Analysis, selection: Selection, folder: Path) -> Analysis:
    """What is read, without keys, from the decrypted calls."""
    path = folder / "decrypted.pcapng"
    with Destination(path).opened() as out:
        write_conversation(selection.shown(analysis), out, files=analysis.capture.files, names={})
    return analyze([path])


@pytest.mark.parametrize("file", HANDFUL)
def test_decrypted_calls_are_read_again_without_keys(file: str, tmp_path: Path) -> None:
    analysis = analysis_of_file(file)
    whole = [
        call
        for call in analysis.calls
        if call.state in ("complete", "request-only", "response-only")
        if not any(isinstance(stub(side), Missing) for side in (call.request, call.response))
    ]
    again = decrypted(analysis, Selection(), tmp_path).calls
    assert len(again) == len(analysis.calls)
    found = {essence(call) for call in again}
    assert [call.number for call in whole if essence(call) not in found] == []
    assert all(call.auth.level == "none" for call in again if call.state == "complete")


@pytest.mark.parametrize(
    "name",
    [
        "call_contents/programs/scapy_ntlm.pcap",
        "call_contents/programs/gomsrpc_connect.pcap",
        "call_contents/programs/samba_rpcclient_sign.pcap",
    ],
)
@pytest.mark.parametrize("kept", [221, 236])
def test_of_frames_that_were_cut_the_same_is_said_again(name: str, kept: int, tmp_path: Path) -> None:
    """What follows a cut PDU stands where it stood, and is not taken for its end."""
    data = (Path(__file__).parents[1] / "interfaces" / name).read_bytes()
    out, at = bytearray(data[:24]), 24
    while at < len(data):
        time, captured, length = data[at : at + 8], *struct.unpack_from("<II", data, at + 8)
        at += 16
        out += time + struct.pack("<II", min(captured, kept), length) + data[at : at + min(captured, kept)]
        at += captured
    (cut := tmp_path / "cut.pcap").write_bytes(out)
    analysis = analyze([cut])
    again = decrypted(analysis, Selection(), tmp_path).calls
    assert [(call.state, *essence(call)[5:]) for call in again] == [
        (call.state, *essence(call)[5:]) for call in analysis.calls
    ]
    assert any(call.state == "partial" for call in again)


@pytest.mark.parametrize(("file", "some"), [*((file, True) for file in HANDFUL), *((file, False) for file in WHOLE)])
def test_a_slice_gives_the_same_calls_with_the_same_keys(file: str, some: bool) -> None:
    analysis, keyring = analysis_of_file(file), Keyring.load(CAPTURES[file].secrets_path)
    sources = [CAPTURES[file].path]
    calls = Selection().shown(analysis)
    if some:
        calls = calls.only(range(max(len(calls) // 2, 1), len(calls) + 1, 9))
    found = slice_of(sources, analysis, calls, keyring, DEFAULTS)
    assert found.lacking == 0
    again = analyze([found.reader()], keyring).calls
    timed = {(call.time_ns, call.state, call.auth.user, *essence(call)) for call in again}
    for _, call in calls:
        assert (call.time_ns, call.state, call.auth.user, *essence(call)) in timed, call.number
    assert found.packets <= analysis.capture.frames
    if len(calls) < len(analysis.calls) / 2 and not found.whole:
        assert found.packets <= analysis.capture.frames / 2


@pytest.mark.parametrize("name", ["sent_again_smb311", "channel_lost_smb300", "multichannel_smb300_signed"])
def test_a_slice_of_a_call_has_all_connections_of_its_session(name: str) -> None:
    """They are between other addresses; one opened the pipe, another carried the call or only its answer."""
    path = Path(__file__).parents[1] / "transport" / "smb" / "captures" / f"{name}.pcap"
    analysis = analyze([path])
    for call in analysis.calls:
        found = slice_of([path], analysis, [(call.number, call)], Keyring(), DEFAULTS)
        assert found.lacking == 0, call.number
        again = {(one.time_ns, one.state, *essence(one)) for one in analyze([found.reader()]).calls}
        assert (call.time_ns, call.state, *essence(call)) in again


def test_a_slice_that_is_read_differently_says_so_and_names_no_cause(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (lacking := Slice()).lacking = 2
    monkeypatch.setattr("analyzer.pipeline.capture_slicing_and_conversion.slice_of", lambda *_: lacking)
    done = run("export", CLEAR, "--slice", tmp_path / "slice.pcapng")
    assert done.exit_code == 0
    assert "2 calls of these read differently from the slice: keep the whole capture too\n" in done.stderr


def test_packets_of_a_slice_are_those_that_were_captured(tmp_path: Path) -> None:
    path = tmp_path / "slice.pcapng"
    assert run("export", PCQ, "--secrets", SECRETS, "--slice", path, "-Y", "opnum == 6").exit_code == 0
    frames = [
        {(int(frame.time_ns), frame.data, frame.original_length, frame.link_type) for frame in all_frames(one)}
        for one in (path, PCQ)
    ]
    assert frames[0] < frames[1]


def all_frames(path: Path) -> list[object]:
    blocks = [block for block in CaptureReader([path]) if not isinstance(block, Problem)]
    return [block.frame(index) for block in blocks for index in range(len(block))]


@pytest.mark.needs("tshark")
@pytest.mark.parametrize(
    "file",
    [PCQ.name, "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_ipv6.pcap", "pcq_smbd_scapy_scapycli_smb311_ndr64.pcap"],
)
def test_wireshark_shows_what_was_sealed(file: str, tmp_path: Path) -> None:
    path = tmp_path / "clear.pcapng"
    secrets = CAPTURES[file].secrets_path
    result = run("export", CAPTURES[file].path, "--secrets", secrets, "--pcapng", path)
    assert result.exit_code == 0, result.output
    calls = analysis_of_file(file).calls
    columns = ["frame.comment", "pcq.opnum", "pcq.status", "ip.checksum.status", "tcp.checksum.status"]
    checks = ["-oip.check_checksum:TRUE", "-otcp.check_checksum:TRUE"]
    options = [f"-Xlua_script:{LUA}", *checks, "-Tfields", *(f"-e{name}" for name in columns)]
    shown = subprocess.run(
        ["tshark", "-r", path, "-Ypcq", *options], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    rows = [line.split("\t") for line in shown]
    assert [int(row[1], 0) for row in rows if row[2] == ""] == [call.opnum for call in calls if call.is_perflib]
    answered = [call for call in calls if call.is_perflib and call.status is not None]
    assert [int(row[2], 0) for row in rows if row[2]] == [call.status for call in answered]
    assert all("frame" in row[0] and CAPTURES[file].file in row[0] for row in rows)
    assert {row[4] for row in rows} == {"1"}
    assert {row[3] for row in rows} <= {"1", ""}


@pytest.mark.needs("tshark")
def test_names_of_addresses_go_with_it(tmp_path: Path) -> None:
    for option in ("--pcapng", "--slice"):
        path = tmp_path / f"{option[2:]}.pcapng"
        assert run("export", PCQ, "--secrets", SECRETS, option, path).exit_code == 0
        shown = subprocess.run(
            ["tshark", "-r", path, "-Nn", "-Tfields", "-eip.src_host"], capture_output=True, text=True, check=True
        )
        # Of several names, Wireshark 4.0 shows the last, 4.4 the first.
        assert set(shown.stdout.split()) <= {"PERFSRV", "perfsrv.lab.test", "vm"}


@pytest.mark.parametrize("option", ["--pcapng", "--slice"])
def test_no_secret_is_in_what_is_written(option: str, tmp_path: Path) -> None:
    assert run("export", PCQ, "--secrets", SECRETS, option, tmp_path / "x").exit_code == 0
    assert not leaks((tmp_path / "x").read_bytes())


# ------------------------------------------------------------------------------------------------------- --dsb


def states_of(path: Path, *options: object) -> set[str]:
    lines = map(json.loads, run("timeline", path, "--format", "jsonl", *options).stdout.splitlines())
    return {line["state"] for line in lines if line["record"] == "call"}


def test_a_slice_with_the_keys_of_a_keytab_needs_no_other(tmp_path: Path) -> None:
    capture, path = CAPTURES["pcq_smbd_scapy_sambalib_krb5rc4only_krb5_seal.pcap"], tmp_path / "slice.pcapng"
    options = [word for one in Keyring.load(capture.secrets_path).names for word in ("--dsb", one)]
    result = run("export", capture.path, "--secrets", capture.secrets_path, "--slice", path, *options)
    assert result.exit_code == 0, result.output
    assert "warning: the slice will hold the keys of" in result.stderr
    assert path.stat().st_mode & 0o077 == 0
    assert states_of(path) == states_of(capture.path, "--secrets", capture.secrets_path)
    assert "sealed" in states_of(capture.path)
    assert not [problem.text for problem in analyze([path]).problems if "secrets" in problem.text]


def test_files_that_a_capture_names_as_keytabs_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "hostile.pcapng"
    keytab = next(truth.CAPTURES.glob("*.keytab"))
    with path.open("wb") as out:
        writer = PcapngWriter(out, application="x", comment="y")
        writer.secrets(SECRETS_OF_OURS, json.dumps({"keytabs": [str(keytab)]}).encode())
        writer.secrets(SECRETS_OF_OURS, b"{")
        writer.interface(1, "z")
    assert with_embedded([path], Keyring())[0].kerberos_keys == ()
    (problem,) = with_embedded([path], Keyring())[1]
    assert (problem.kind, "not used" in problem.text) == ("note", True)


@pytest.mark.needs("tshark")
def test_wireshark_passes_over_the_keys(tmp_path: Path) -> None:
    path = tmp_path / "slice.pcapng"
    run("export", PCQ, "--secrets", SECRETS, "--slice", path, "--dsb", "LAB\\perfmon", "-Y", "opnum == 6")
    shown = subprocess.run(["tshark", "-r", path], capture_output=True, text=True, check=True).stdout
    assert "Negotiate Protocol Request" in shown
