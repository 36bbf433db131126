"""The command as users meet it: what it prints, what it says when something is wrong, and its exit codes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
from typer import Typer, testing
from typer.testing import CliRunner, Result

from analyzer.commands.shared import all_commands
from analyzer.commands.shared.all_commands import command_line
from analyzer.commands.shared.guard import guarded
from tests import truth

CAPTURES = truth.CAPTURES
PCQ = CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
SECRETS = CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.secrets.json"
CLEAR = CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"
VECTORS = Path(__file__).resolve().parent.parent / "interfaces" / "buffers" / "vectors"
USER = json.loads(SECRETS.read_bytes())["users"][0]
# Loading any of these takes longer than answering --help.
HEAVY = {"altair", "cryptography", "kaitaistruct", "lark", "numpy", "polars", "pyshark", "scapy"}


# To make a command of its function takes as long as to run it.
testing._get_command = cache(testing._get_command)


@cache
def _command_line(*words: str) -> Typer:
    return command_line(words)


def run(*arguments: object, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Result:
    """In this process; what the command raises stays in the result, as `main` would get it. Of the command line as much is built as
    the program builds, once: that takes longer than most captures."""
    words = [str(one) for one in arguments]
    return CliRunner().invoke(
        _command_line(*words[:1]), words, input=stdin, env={"PCQ_PASSWORD": "", "PCQ_SECRETS": "", **(env or {})}
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


# ------------------------------------------------------------------------------------------------ exit codes


def frame(text: bytes = b"hello") -> bytes:
    """A UDP datagram over Ethernet."""
    udp = b"\0\x35\0\x36" + (8 + len(text)).to_bytes(2, "big") + b"\0\0" + text
    head = b"\x45\0" + (20 + len(udp)).to_bytes(2, "big") + b"\0\0\0\0\x40\x11\0\0\x0a\0\0\1\x0a\0\0\2"
    return b"\2" * 12 + b"\x08\0" + head + udp


# ------------------------------------------------------------------------------------------------ the process


def test_the_version() -> None:
    from importlib.metadata import version

    assert run("--version").stdout == f"pcq-analyzer {version('pcq-analyzer')}\n"


def modules_of(*arguments: str) -> set[str]:
    """What a command loads."""
    code = (
        "import atexit, sys\n"
        f"sys.argv = ['pcq', *{arguments!r}]\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "from analyzer.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["timeline", "--help"], ["decode", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    loaded = modules_of(*arguments)
    assert "analyzer.commands.shared.guard" in loaded
    assert not loaded & HEAVY


def test_the_version_loads_no_more_than_the_command_line() -> None:
    ours = {name for name in modules_of("--version") if name.startswith("analyzer.")}
    ends = ("all_commands", "exit_codes", "guard", "help")
    line = ("__main__", "commands", "commands.shared", *(f"commands.shared.{name}" for name in ends))
    below = ("core", "core.errors", "core.output", "core.output.gate", "core.printable_text")
    assert ours == {f"analyzer.{name}" for name in (*line, *below)}


def test_a_small_capture_loads_what_reads_it_and_no_more() -> None:
    """What cases, filters and statistics need is loaded where they are asked for; a module more is some 0.2 ms more."""
    loaded = modules_of("timeline", "--format", "jsonl", str(CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"))
    ours = {name.removeprefix("analyzer.") for name in loaded if name.startswith("analyzer.")}
    elsewhere = ("collect", "probe", "screens.browse", "screens.notebook", "questions.audit", "questions.series")
    assert not {name for name in ours if name.startswith((*elsewhere, "questions.statistics", "interfaces.redaction"))}
    assert not ours & {
        "auth.hmac_key",
        "auth.kerberos",
        "auth.ntlm_keys",
        "capture.decompressors",
        "capture.file_digest",
        "capture.pcapng",
        "commands.shared.completion",
        "core.arrow_files",
        "core.child_processes",
        "core.output.standard_json",
        "interfaces.buffers.ambiguous_readings",
        "interfaces.buffers.field_map",
        "interfaces.call_contents.machine_names",
        "interfaces.call_contents.raw_samples",
        "pipeline.case",
        "pipeline.case_container",
        "questions.filters.field_values",
        "questions.filters.filterable_fields",
        "questions.filters.grammar",
        "questions.filters.times_machines_and_users",
        "results.captured_packets",
        "results.records.display_records",
        "results.records.opened_file",
        "results.records.saved_record_tables",
        "results.records.sample",
        "results.records.session_and_host",
        "results.saved_analysis",
        "screens.formats.table_writer",
        "screens.viewmodel.unread",
        "transport.packet.sender_mac_and_ttl",
    }
    assert not loaded & {"lark", "numpy.typing", "polars", "pyshark", "rich", "scapy", "textual"}
    assert "transport.rpc.rpc_layer" in ours
    assert len(ours) <= 169


def test_a_capture_that_begins_after_the_logon_loads_nothing_that_reads_tokens() -> None:
    loaded = modules_of("timeline", "--format", "jsonl", str(CAPTURES / "n_v1_midstream.pcap"))
    assert "analyzer.auth.token_handshake" in loaded
    readers = ("client_marks_in_tokens", "der", "kerberos", "ntlm", "spnego")
    assert not loaded & {f"analyzer.auth.{name}" for name in readers}
    assert len([name for name in loaded if name.startswith("analyzer.")]) <= 152


def test_readers_of_buffers_are_loaded_with_the_first_buffer() -> None:
    """All that this client asked for was refused."""
    capture = CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_integrity_denied.pcap"
    loaded = modules_of("timeline", "--format", "jsonl", str(capture))
    assert "analyzer.interfaces.buffers.stub_decoding" in loaded
    readers = {"buffer_trees", "compiled_stubs", "perf_data_layout", "struct_layouts", "tree_texts"}
    assert not loaded & {f"analyzer.interfaces.buffers.{name}" for name in readers}
    # Where coverage is measured, it loads json itself.
    assert not loaded & ({"json", "kaitaistruct", "orjson"} - ({"json"} if "coverage" in loaded else set()))
    assert len([name for name in loaded if name.startswith("analyzer.")]) <= 157


@pytest.mark.parametrize("command", ["sessions", "hosts"])
def test_lists_of_who_took_part_load_nothing_that_reads_counters(command: str) -> None:
    loaded = modules_of(command, "--format", "jsonl", str(CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"))
    ours = {name.removeprefix("analyzer.") for name in loaded if name.startswith("analyzer.")}
    assert "interfaces.call_contents.client_programs" in ours
    elsewhere = ("observations", "processes", "series", "films", "audit", "differences")
    assert not {name for name in ours if name.startswith(tuple(f"questions.{one}" for one in elsewhere))}


def test_what_is_loaded_later_is_there() -> None:
    """Names of modules in texts are not seen by any checker."""
    modules = Path(all_commands.__file__).parents[1].rglob("*.py")
    named = [name for path in modules for name in re.findall(r'\blater\(\s*"([^"]+)"', path.read_text())]
    assert len(named) > 10
    for module, name in (one.split(":") for one in named):
        assert callable(attrgetter(name)(import_module(f"analyzer.{module}"))), name


def test_a_password_loads_no_more_than_what_uses_it() -> None:
    capture = CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
    loaded = modules_of("timeline", "--format", "jsonl", "--secrets", str(SECRETS), str(capture))
    assert not loaded & {"lark", "polars", "pyshark", "rich", "scapy", "textual"}
    assert "analyzer.auth.ntlm_context" in loaded
    assert len([name for name in loaded if name.startswith("analyzer.")]) <= 173


# ------------------------------------------------------------------------------------------------ what is shown


def test_shells_complete_the_fields_of_filters() -> None:
    def completed(line: str) -> list[str]:
        variables = {"_PCQ_ANALYZER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        result = CliRunner().invoke(command_line(), [], prog_name="pcq-analyzer", env=variables)
        return result.stdout.split()

    assert completed("pcq-analyzer timeline -Y laten") == ["latency", "latency_ns"]
    assert "timeline" in completed("pcq-analyzer ti")


@pytest.mark.parametrize("command", ["timeline", "export-metadata"])
def test_a_command_without_the_others_is_the_same(command: str) -> None:
    assert len(command_line(["no-such-command"]).registered_commands) > 5
    alone = command_line([command])
    assert len(alone.registered_commands) == 1
    result = CliRunner().invoke(alone, [command, "--help"])
    assert (result.exit_code, result.stdout) == (0, run(command, "--help").stdout)
