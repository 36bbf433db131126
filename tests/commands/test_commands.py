"""The command as users meet it: what it prints, what it says when something is wrong, and its exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from analyzer.commands import commands
from analyzer.commands.commands import command_line
from analyzer.commands.guard import guarded
from analyzer.core.errors import InputError
from tests import truth
from tests.build.capture import frames_of, pcap, pcapng

CAPTURES = truth.CAPTURES
PCQ = CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
SECRETS = CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.secrets.json"
CLEAR = CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"
VECTORS = Path(__file__).resolve().parent.parent / "interfaces" / "buffers" / "vectors"
USER = json.loads(SECRETS.read_bytes())["users"][0]
# Loading any of these takes longer than answering --help.
HEAVY = {"altair", "cryptography", "kaitaistruct", "lark", "numpy", "polars", "pyshark", "scapy"}


def run(*arguments: object, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Result:
    """In this process; what the command raises stays in the result, as `main` would get it. Of the command line as much is built as
    the program builds: all of it takes longer than most captures."""
    words = [str(one) for one in arguments]
    return CliRunner().invoke(
        command_line(words[:1]), words, input=stdin, env={"PCQ_PASSWORD": "", "PCQ_SECRETS": "", **(env or {})}
    )


def process(
    *arguments: object, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "analyzer", *map(str, arguments)]
    environment = {**os.environ, "PCQ_PASSWORD": "", "PCQ_SECRETS": "", **(env or {})}
    return subprocess.run(command, input=stdin, capture_output=True, timeout=600, env=environment)


def here(
    *arguments: object, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """What `process` returns, without a process: the command with what is around it."""
    words = [str(one) for one in arguments]
    environment = {"PCQ_PASSWORD": "", "PCQ_SECRETS": "", **(env or {})}
    with CliRunner().isolation(input=stdin, env=environment) as (out, err, _):
        code = guarded(words)
        sys.stdout.flush()
        sys.stderr.flush()
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def records(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def states(result: Result) -> set[str]:
    assert result.exit_code == 0, (result.output, result.exception)
    return {str(record["state"]) for record in records(result.stdout) if record["record"] == "call"}


# ------------------------------------------------------------------------------------------------ as tshark has it


def test_a_capture_may_be_named_by_r() -> None:
    plain = run("timeline", CLEAR, "--format", "jsonl")
    assert run("timeline", "-r", CLEAR, "--format", "jsonl").stdout == plain.stdout
    assert run("timeline", "--read", CLEAR, "--format", "jsonl", "--hash").exit_code == 0
    both, either = (run("stats", *words).stdout for words in ((CLEAR, "-r", PCQ), (CLEAR, PCQ)))
    assert both == either


def test_only_the_first_calls() -> None:
    numbers = [
        record["number"]
        for record in records(run("timeline", CLEAR, "--head", "2", "--format", "jsonl").stdout)
        if record["record"] == "call"
    ]
    assert numbers == [1, 2]
    streamed = run("timeline", CLEAR, "--head", "2", "--format", "jsonl", "--names-from", "now").stdout
    assert [record["number"] for record in records(streamed) if record["record"] == "call"] == [1, 2]


def test_only_some_columns_in_the_order_they_are_named(tmp_path: Path) -> None:
    table = run("timeline", CLEAR, "--head", "2", "--format", "csv", "--columns", "opnum, number").stdout
    whole = pl.read_csv(io.StringIO(run("timeline", CLEAR, "--head", "2", "--format", "csv").stdout))
    assert table == whole.select("opnum", "number").write_csv()
    parquet = tmp_path / "x.parquet"
    assert run("samples", CLEAR, "--format", "parquet", "--columns", "raw,time", "-o", parquet).exit_code == 0
    assert pl.read_parquet(parquet).columns == ["raw", "time"]
    wrong = run("timeline", CLEAR, "--format", "csv", "--columns", "number,numbers")
    assert isinstance(wrong.exception, InputError)
    assert str(wrong.exception) == "the table has no column numbers"


def test_only_some_keys_of_json_by_the_names_of_columns_or_the_way_to_a_key() -> None:
    """Records keep their shape and their kind; those that a table has no rows for are left out."""
    one = (
        "timeline",
        CLEAR,
        "--head",
        "4",
        "--columns",
        "latency, server_ip, client.ip,response.params.lpcbData,number",
    )
    whole = [call for call in records(run(*one[:4], "--format", "jsonl").stdout) if call["record"] == "call"]
    lines = run(*one, "--format", "jsonl").stdout
    assert [list(call) for call in records(lines)] == [
        ["record", "latency_ns", "server", "client", "response", "number"]
    ] * 4
    for call, full in zip(records(lines), whole, strict=True):
        assert (call["latency_ns"], call["number"]) == (full["latency_ns"], full["number"])
        assert (call["server"], call["client"]) == ({"ip": full["server"]["ip"]}, {"ip": full["client"]["ip"]})
        params = full["response"]["params"]
        assert call["response"]["params"] == {key: params[key] for key in params if key == "lpcbData"}
    assert json.loads(run(*one, "--format", "json").stdout) == records(lines)
    assert run(*one, "--format", "jsonl", "--names-from", "now").stdout == lines


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("samples", "raw,time_ns"),
        ("counters", "path,value"),
        ("counters --interval 1s", "path,readings"),
        ("stats", "interface,total"),
        ("audit", "rule,call"),
        ("sessions", "user"),
        ("triage", "severity,text"),
    ],
)
def test_each_command_prints_only_the_keys_that_are_named(command: str, names: str) -> None:
    given = run(*command.split(), CLEAR, "--format", "jsonl", "--columns", names)
    assert given.exception is None or isinstance(given.exception, SystemExit), given.exception
    assert {key for record in records(given.stdout) for key in record} == {"record", *names.split(",")}


def test_a_key_that_no_record_has_is_refused_with_those_there_are() -> None:
    wrong = run("timeline", CLEAR, "--format", "jsonl", "--columns", "number,client.name")
    assert isinstance(wrong.exception, InputError)
    assert str(wrong.exception) == "no record has client.name"
    assert (wrong.exception.hint or "").startswith("Records have number, time, client_ip, client_port, server_ip")


@pytest.mark.parametrize(("zone", "time"), [("UTC", "T22:30:16.248807Z"), ("+02:00", "T00:30:16.248807+02:00")])
def test_text_shows_times_of_the_zone_that_is_asked_for_and_records_do_not(zone: str, time: str) -> None:
    one = ("timeline", PCQ, "--secrets", SECRETS, "--head", "1", "--tz", zone)
    assert time in run(*one, "--time", "absolute").stdout
    assert run(*one, "--format", "csv").stdout == run(*one[:-2], "--format", "csv").stdout


# ------------------------------------------------------------------------------------------------ exit codes


def test_strict_tells_what_could_not_be_read_by_4() -> None:
    assert run("timeline", PCQ).exit_code == 0
    for command in ("timeline", "samples", "handles", "stats"):
        assert run(command, PCQ, "--strict").exit_code == 4
    # Damage inside a buffer counts too: this client asked for a block with too little room.
    assert run("timeline", CLEAR, "--strict").exit_code == 0
    name = "v1_samba_impacket_smb311_ntlm_privacy"
    arguments = (CAPTURES / f"{name}.pcap", "--secrets", CAPTURES / f"{name}.secrets.json")
    assert states(run("timeline", *arguments, "--format", "jsonl")) == {"complete"}
    assert run("timeline", *arguments, "--strict").exit_code == 4


def frame(text: bytes = b"hello") -> bytes:
    """A UDP datagram over Ethernet."""
    udp = b"\0\x35\0\x36" + (8 + len(text)).to_bytes(2, "big") + b"\0\0" + text
    head = b"\x45\0" + (20 + len(udp)).to_bytes(2, "big") + b"\0\0\0\0\x40\x11\0\0\x0a\0\0\1\x0a\0\0\2"
    return b"\2" * 12 + b"\x08\0" + head + udp


@pytest.mark.parametrize("command", ["timeline", "samples", "sessions", "hosts"])
def test_a_capture_without_anything_of_ours_is_3(command: str, tmp_path: Path) -> None:
    path = tmp_path / "dns.pcap"
    path.write_bytes(pcap([(1_700_000_000_000_000_000, frame())]))
    result = run(command, path)
    assert result.exit_code == 3
    assert result.stderr == f"{path} holds 1 frame, but neither SMB nor DCERPC among them.\n"


def test_a_capture_without_frames_is_3(tmp_path: Path) -> None:
    path = tmp_path / "none.pcap"
    path.write_bytes(pcap([]))
    result = run("timeline", path)
    assert (result.exit_code, result.stderr) == (3, f"{path} holds no frames.\n")


# ------------------------------------------------------------------------------------------------ mistakes


def interfaces(result: Result) -> set[str]:
    calls = (json.loads(line) for line in result.stdout.splitlines())
    return {call["interface"]["name"] for call in calls if call["record"] == "call"}


def test_several_interfaces_add_up() -> None:
    names = ["--interface", "winreg", "--interface", "PERFLIBV2", "--format", "jsonl"]
    both = run("timeline", CLEAR, PCQ, *names)
    assert interfaces(both) == {"winreg", "PerflibV2"}
    assert interfaces(run("timeline", CLEAR, PCQ, *names[:2], "--format", "jsonl")) == {"winreg"}


def test_a_capture_is_never_written_over(tmp_path: Path) -> None:
    copy = tmp_path / "x.pcap"
    copy.write_bytes(CLEAR.read_bytes())
    for arguments in (["timeline", copy, "-o", copy], ["timeline", copy, "--format", "csv", "-o", copy]):
        result = run(*arguments)
        assert isinstance(result.exception, InputError)
    buffer = tmp_path / "b.bin"
    buffer.write_bytes(bytes(32))
    assert isinstance(run("decode", buffer, "--as", "guids", "-o", buffer).exception, InputError)
    assert copy.read_bytes() == CLEAR.read_bytes()
    assert buffer.read_bytes() == bytes(32)


# ------------------------------------------------------------------------------------------------ keys


def test_without_a_key_everything_is_sealed_and_said_why() -> None:
    assert states(run("timeline", PCQ, "--format", "jsonl")) == {"sealed"}
    text = run("timeline", PCQ).stdout
    assert "no password or NT hash given for LAB\\perfmon" in text
    assert "to decrypt what is sealed, give" in text


def test_a_wrong_password_is_said_by_user_and_opens_nothing() -> None:
    result = run("timeline", PCQ, "--password", "not this one", "--format", "jsonl")
    assert states(result) == {"sealed"}
    reasons = {str(record["reason"]) for record in records(result.stdout) if record["record"] == "call"}
    assert all("the password given for LAB\\perfmon is wrong" in reason for reason in reasons)
    assert "not this one" not in result.output


@pytest.mark.parametrize(
    ("arguments", "stdin", "env"),
    [
        (["--secrets", SECRETS], None, {}),
        (["--password", USER["password"]], None, {}),
        (["--password-of", "LAB\\perfmon", "--password", USER["password"]], None, {}),
        (["--password", "-"], f"{USER['password']}\n".encode(), {}),
        ([], None, {"PCQ_PASSWORD": USER["password"]}),
    ],
    ids=["secrets", "password", "user and password", "piped", "variable"],
)
def test_every_way_to_give_a_password(arguments: list[object], stdin: bytes | None, env: dict[str, str]) -> None:
    result = run("timeline", PCQ, "--format", "jsonl", *arguments, stdin=stdin, env=env)
    assert states(result) == {"complete"}
    assert USER["password"] not in result.output


def test_a_password_and_a_capture_can_both_come_from_standard_input() -> None:
    given = f"{USER['password']}\n".encode() + PCQ.read_bytes()
    done = here("timeline", "-", "--password", "-", "--format", "jsonl", stdin=given)
    assert done.returncode == 0, done.stderr
    assert b'"state":"sealed"' not in done.stdout


def test_a_hash_opens_as_well() -> None:
    from analyzer.auth.key_export import nt_hash

    value = nt_hash(USER["password"]).hex()
    assert states(run("timeline", PCQ, "--format", "jsonl", "--nt-hash", value)) == {"complete"}


# ------------------------------------------------------------------------------------------------ formats


def test_json_is_the_records_in_one_array(tmp_path: Path) -> None:
    lines = records(run("timeline", CLEAR, "--format", "jsonl").stdout)
    assert json.loads(run("timeline", CLEAR, "--format", "json").stdout) == lines
    empty = tmp_path / "none.pcap"
    empty.write_bytes(pcap([]))
    assert json.loads(run("samples", empty, "--format", "json").stdout) == []


def test_json_lines_go_out_and_messages_go_aside() -> None:
    done = process("samples", CLEAR, "--format", "jsonl")
    assert (done.returncode, done.stderr) == (0, b"")
    assert {record["record"] for record in records(done.stdout.decode())} == {"sample"}


@pytest.mark.parametrize("command", ["timeline", "samples", "sessions", "hosts"])
def test_tables_read_back(command: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    assert run(command, CLEAR, "--format", "parquet", "-o", path).exit_code == 0
    table = pl.read_parquet(path)
    assert table.height > 0
    text = run(command, CLEAR, "--format", "csv")
    assert text.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(text.stdout)))
    assert len(rows) == table.height
    assert list(rows[0]) == table.columns
    assert [row[table.columns[0]] for row in rows] == [str(value) for value in table[table.columns[0]].to_list()]


def test_a_table_of_nothing_is_a_table(tmp_path: Path) -> None:
    empty = tmp_path / "none.pcap"
    empty.write_bytes(pcap([]))
    for command in ("timeline", "samples", "sessions", "hosts"):
        for form in ("csv", "parquet"):
            result = run(command, empty, "--format", form, "-o", tmp_path / "out", "--force")
            assert result.exit_code == 3, (command, form, result.exception)


def test_one_call_can_be_had_in_every_form(tmp_path: Path) -> None:
    assert "PDU 1 of 1" in run("show", CLEAR, "--call", 2).stdout
    (record,) = records(run("show", CLEAR, "--call", 2, "--format", "jsonl").stdout)
    assert record["number"] == 2
    assert run("show", CLEAR, "--call", 2, "--format", "csv", "-o", tmp_path / "x.csv").exit_code == 0


# ------------------------------------------------------------------------------------------------ input


def test_several_files_and_globs_are_one_capture() -> None:
    named = records(run("timeline", CLEAR, PCQ, "--format", "jsonl").stdout)
    assert named[0]["files"] == [str(CLEAR), str(PCQ)]
    assert all("frame_files" in record["request"] for record in named if record["record"] == "call")  # type: ignore[operator]
    globbed = records(run("timeline", CAPTURES / "v1_samba_impacket_*noauth.pcap", "--format", "jsonl").stdout)
    assert globbed[0]["files"] == [str(CLEAR)]


def test_only_one_interface() -> None:
    for name, some in (("winreg", True), ("PerflibV2", False), ("338cd001-2244-31f1-aaaa-900038001003", True)):
        found = records(run("timeline", CLEAR, "--interface", name, "--format", "jsonl").stdout)
        assert any(one["record"] == "call" for one in found) is some
        # The summary speaks of the whole capture.
        assert found[-1]["calls"] == 15


# ------------------------------------------------------------------------------------------------ decode


JSONL = ("--format", "jsonl")


def test_decode_reads_files_dumps_and_standard_input(tmp_path: Path) -> None:
    path = VECTORS / "data_type6_counterset.bin"
    data = path.read_bytes()
    (expected,) = records(run("decode", path, *JSONL).stdout)
    assert expected["kind"] == "perf-data"
    (tmp_path / "x.hex").write_text(data.hex(" "))
    dumped = run("decode", tmp_path / "x.hex", *JSONL)
    assert records(dumped.stdout) == [expected]
    assert f"read as a hex dump of {len(data)} bytes" in dumped.stderr
    assert "taken for perf-data (certain): " in dumped.stderr
    assert records(run("decode", "-", *JSONL, stdin=data).stdout) == [expected]
    assert records(run("decode", path, "--as", "perf-data", *JSONL).stdout) == [
        expected | {"guess": None, "confidence": None, "others": []}
    ]
    (tmp_path / "behind").write_bytes(b"\xff" * 20 + data)
    for at in ("20", "0x14"):
        assert records(run("decode", tmp_path / "behind", "--at", at, *JSONL).stdout) == [expected]


def test_decode_prints_trees_samples_and_tables(tmp_path: Path) -> None:
    path = VECTORS / "data_type6_counterset.bin"
    assert "dwTotalSize = " in run("decode", path).stdout
    assert "dwTotalSize = " in run("decode", path, "--format", "text").stdout
    samples = records(run("decode", path, "--samples", *JSONL).stdout)
    assert {record["record"] for record in samples} == {"sample"}
    for extra in ([], ["--samples"]):
        result = run("decode", path, "--format", "csv", *extra)
        assert result.exit_code == 0, result.exception
    block = run("decode", VECTORS / "v1_perf_data_block.bin", "--samples", "--format", "parquet", "-o", tmp_path / "p")
    assert block.exit_code == 0, block.exception
    assert pl.read_parquet(tmp_path / "p").height > 0


def test_decode_says_how_sure_it_is_and_what_else_it_may_be() -> None:
    certain = run("decode", VECTORS / "v1_perf_data_block.bin").stdout.splitlines()[0]
    assert certain == "winperf (certain: begins with the signature PERF)"
    (record,) = records(run("decode", "-", *JSONL, stdin=bytes(16)).stdout)
    assert (record["kind"], record["confidence"], record["others"]) == ("guid", "possible", ["guids"])
    text = run("decode", "-", stdin=bytes(16)).stdout
    assert "it may also be guids" in text


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_capture_is_no_buffer_and_decode_says_so(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"some.{kind}"
    path.write_bytes(pcap(frames_of(3)) if kind == "pcap" else pcapng(frames_of(3)))
    result = run("decode", path)
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == f"{path} is a {kind} capture, not a buffer"
    assert "timeline" in str(result.exception.hint)


def test_a_damaged_buffer_is_reported_as_far_as_it_goes() -> None:
    for form in ([], ["--samples"], ["--samples", *JSONL]):
        result = run("decode", VECTORS / "bad_data_count_mismatch.bin", *form)
        assert result.exit_code == 1
        assert "3735928559" in result.stdout
        assert "damaged: blocks[1].status at byte 80: 4 bytes wanted, 0 left" in result.stderr
    assert here("decode", "-", stdin=b"").stderr == b"pcq-analyzer: standard input is empty\n"


# ------------------------------------------------------------------------------------------------ the process


def test_the_version() -> None:
    from importlib.metadata import version

    assert run("--version").stdout == f"pcq-analyzer {version('pcq-analyzer')}\n"


def modules_of(*arguments: str) -> set[str]:
    """What a command loads."""
    code = (
        "import sys\n"
        f"sys.argv = ['pcq', *{arguments!r}]\n"
        "from analyzer.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["timeline", "--help"], ["decode", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    loaded = modules_of(*arguments)
    assert "analyzer.commands.guard" in loaded
    assert not loaded & HEAVY


def test_the_version_loads_no_more_than_the_command_line() -> None:
    ours = {name for name in modules_of("--version") if name.startswith("analyzer.")}
    ends = ("about", "exits", "guard", "help")
    line = ("__main__", "commands", "commands.commands", *(f"commands.{name}" for name in ends))
    below = ("core", "core.errors", "core.output", "core.output.gate", "core.paths", "core.printable")
    assert ours == {f"analyzer.{name}" for name in (*line, *below)}


def test_a_small_capture_loads_what_reads_it_and_no_more() -> None:
    """What cases, filters and statistics need is loaded where they are asked for; a module more is some 0.2 ms more."""
    loaded = modules_of("timeline", "--format", "jsonl", str(CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"))
    ours = {name.removeprefix("analyzer.") for name in loaded if name.startswith("analyzer.")}
    elsewhere = ("collect", "probe", "screens.browse", "screens.notebook", "questions.audit", "questions.series")
    assert not {name for name in ours if name.startswith((*elsewhere, "questions.statistics", "interfaces.redaction"))}
    assert not ours & {
        "core.arrow",
        "pipeline.case",
        "questions.filters.call_columns",
        "questions.filters.grammar",
        "questions.filters.field_values",
        "results.rows",
        "results.saved",
        "screens.formats.tables",
    }
    assert not loaded & {"lark", "polars", "pyshark", "rich", "scapy", "textual"}
    assert "transport.rpc.rpc_layer" in ours
    assert len(ours) <= 234


def test_what_is_loaded_later_is_there() -> None:
    """Names of modules in texts are not seen by any checker."""
    modules = Path(commands.__file__).parent.glob("*.py")
    named = [name for path in modules for name in re.findall(r'\blater\(\s*"([^"]+)"', path.read_text())]
    assert len(named) > 10
    for module, name in (one.split(":") for one in named):
        assert callable(attrgetter(name)(import_module(f"analyzer.{module}"))), name


def test_a_password_loads_no_more_than_what_uses_it() -> None:
    capture = CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
    loaded = modules_of("timeline", "--format", "jsonl", "--secrets", str(SECRETS), str(capture))
    assert not loaded & {"lark", "polars", "pyshark", "rich", "scapy", "textual"}
    assert "analyzer.auth.ntlm_context" in loaded
    assert len([name for name in loaded if name.startswith("analyzer.")]) <= 237


# ------------------------------------------------------------------------------------------------ what is shown


def test_a_filter_leaves_calls_out_in_every_form(tmp_path: Path) -> None:
    wanted = ("timeline", CLEAR, "-Y", "opnum == 17 && status != 0")
    shown = records(run(*wanted, "--format", "jsonl").stdout)
    numbers = [one["number"] for one in shown if one["record"] == "call"]
    assert 0 < len(numbers) < 15
    assert shown[-1]["selected_by"] == "filter opnum == 17 and status != 0"
    assert [
        one["number"] for one in json.loads(run(*wanted, "--format", "json").stdout) if one["record"] == "call"
    ] == numbers
    rows = csv.DictReader(io.StringIO(run(*wanted, "--format", "csv").stdout))
    assert [int(row["number"]) for row in rows] == numbers
    assert run(*wanted, "--format", "parquet", "-o", tmp_path / "calls.parquet").exit_code == 0
    assert pl.read_parquet(tmp_path / "calls.parquet")["number"].to_list() == numbers
    text = run(*wanted, "--all-attempts").stdout
    assert [int(line.split("#")[1].split()[0]) for line in text.splitlines() if "  #" in line] == numbers
    assert f"{len(numbers)} of 15 calls: {len(numbers)} complete (filter opnum == 17 and status != 0)" in text


def test_samples_are_filtered_too() -> None:
    found = records(run("samples", CLEAR, "-Y", "instance == _Total and opnum == 17", "--format", "jsonl").stdout)
    assert {record["instance"] for record in found} == {"_Total"}
    assert "no value passes: filter instance == nobody" in run("samples", CLEAR, "-Y", "instance == nobody").stdout
    assert (
        " values pass: filter raw and instance == _Total\n"
        in run("samples", CLEAR, "-Y", "raw && instance == _Total").stdout
    )
    table = csv.DictReader(io.StringIO(run("samples", CLEAR, "-Y", "raw > 0", "--format", "csv").stdout))
    assert all(int(row["raw"]) > 0 for row in table)


@pytest.mark.parametrize("command", ["timeline", "samples"])
def test_a_mistake_in_a_filter_is_one_sentence_and_a_caret(command: str) -> None:
    result = run(command, "no-such-capture.pcap", "-Y", "opnum == 6 && statsu != 0")
    assert result.exit_code == 2
    sentence, text, carets = result.stderr.splitlines()
    assert sentence == "pcq-analyzer: column 15 of the filter: no field is called statsu; near it: status, state"
    assert (text, carets) == ("  opnum == 6 && statsu != 0", "                " + "^" * 6)


def test_handles_and_sessions_are_followed() -> None:
    def shown(*arguments: str) -> list[object]:
        found = records(run("timeline", CLEAR, "--format", "jsonl", *arguments).stdout)
        return [one for one in found if one["record"] == "call"]

    session = str(shown()[0]["smb"]["session_id"])  # type: ignore[index]
    assert len(shown("--follow-session", session)) == len(shown("--follow-session", "1")) == 15
    assert shown("--follow-session", "0x1") == []
    of_key = shown("--follow-handle", "k1")
    assert {one["handle"] for one in of_key} == {"k1"}  # type: ignore[index]
    assert shown("--follow-handle", of_key[0]["handle_uuid"]) == of_key  # type: ignore[index]
    assert run("timeline", CLEAR, "--follow-session", "16").exit_code == 1


def test_the_fields_are_listed_with_what_they_mean() -> None:
    listed = run("timeline", "--list-fields")
    assert listed.exit_code == 0
    assert "latency " in listed.stdout
    assert "params.RequestCode " in listed.stdout
    assert "counter_name " not in listed.stdout
    assert "counter_name " in run("samples", "--list-fields").stdout


def test_shells_complete_the_fields_of_filters() -> None:
    def completed(line: str) -> list[str]:
        variables = {"_PCQ_ANALYZER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        result = CliRunner().invoke(command_line(), [], prog_name="pcq-analyzer", env=variables)
        return result.stdout.split()

    assert completed("pcq-analyzer timeline -Y laten") == ["latency", "latency_ns"]
    assert completed("pcq-analyzer timeline -Y !request.buffer_") == [
        "!request.buffer_kind",
        "!request.buffer_notes",
        "!request.buffer_problem",
    ]
    assert completed("pcq-analyzer samples -Y counter_n") == ["counter_name"]
    assert "timeline" in completed("pcq-analyzer ti")


@pytest.mark.parametrize("command", ["timeline", "export-metadata"])
def test_a_command_without_the_others_is_the_same(command: str) -> None:
    assert len(command_line(["no-such-command"]).registered_commands) > 5
    alone = command_line([command])
    assert len(alone.registered_commands) == 1
    result = CliRunner().invoke(alone, [command, "--help"])
    assert (result.exit_code, result.stdout) == (0, run(command, "--help").stdout)


def test_a_near_miss_in_a_secrets_file_is_a_note_on_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[[users]]\nusername = "perfmon"\npasword = "never shown"\n')
    result = run("timeline", CLEAR, "--secrets", path)
    assert result.exit_code == 0
    assert 'users[1]: "pasword" is not used; "password" was probably meant' in result.stderr
    assert "never shown" not in result.output
