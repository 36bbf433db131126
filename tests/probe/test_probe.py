"""The probe against a model server on the loopback interface: every trigger that a client can bring about is brought about, and the
audit of what was captured judges all of them."""

import json
import signal
import socket
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from os import geteuid
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analyzer.auth.keyring import Keyring
from analyzer.commands.shared.all_commands import command_line
from analyzer.core.errors import InputError
from analyzer.pipeline.run import analyze
from analyzer.probe.probe_run import rehearse
from analyzer.probe.probe_script import Options
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.findings_and_coverage import JUDGED
from analyzer.questions.audit.rule_registry import catalogue
from analyzer.results.analysis import Analysis
from tests.probe.server import DOMAIN, OTHER, PASSWORD, USER, Server

pytestmark = pytest.mark.needs("impacket")
# How many requirements have a trigger that a client can bring about.
CAUSABLE = 285
# The model takes NDR64, which [MS-PCQ] section 2.1 does not allow, so that the probe comes by it; and it lists a name that the
# probe gave to a counterset without instances.
MEANT = {"PCQ113", "PCQ412"}


def run(*words: str, input: str = "") -> tuple[int, str]:
    done = CliRunner().invoke(command_line(["probe"]), ["probe", *words], input=input)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder with what a probe over SMB wrote, and what it said."""
    folder = tmp_path_factory.mktemp("probed")
    server = Server()
    words = ["--smb-port", str(server.smb()), "--password-of", f"{DOMAIN}\\{USER}", "--password", PASSWORD]
    words += ["--other-user", f"{DOMAIN}\\{OTHER}", "--other-password", PASSWORD, "--capture-with", "own"]
    words += ["--rate", "1000000", "--interval", "0", "--yes", *_files(folder)]
    code, said = run("127.0.0.1", *words)
    server.close()
    assert code == 0, said
    return folder, said


def _files(folder: Path) -> list[str]:
    return [
        *("-w", str(folder / "probe.pcapng")),
        *("--triggered", str(folder / "triggered.json")),
        *("--keys", str(folder / "keys.json")),
    ]


@cache
def _analysis(folder: Path) -> Analysis:
    return analyze([folder / "probe.pcapng"], Keyring.load(folder / "keys.json"))


def test_every_trigger_a_client_can_bring_about_is_brought_about(probed: tuple[Path, str]) -> None:
    folder, said = probed
    document = json.loads((folder / "triggered.json").read_bytes())
    causable = {name for name, requirement in catalogue().items() if requirement.caused_by == "client"}
    assert len(causable) == CAUSABLE
    assert causable == set(document["triggered"])
    assert document["failures"] == []
    assert f"{CAUSABLE} of {CAUSABLE} requirements triggered" in said


def test_the_audit_of_the_capture_judges_all_of_them(probed: tuple[Path, str]) -> None:
    audit = Audit(_analysis(probed[0]))
    findings = list(audit.findings())
    causable = {name for name, requirement in catalogue().items() if requirement.caused_by == "client"}
    assert not {name for name in causable if audit.coverage[name].verdict not in JUDGED}
    # The server keeps to the specification; what is amiss is what the client sent on purpose.
    assert {finding.rule.code for finding in findings if finding.actor.value != "client"} == MEANT


def test_the_capture_holds_every_call(probed: tuple[Path, str]) -> None:
    analysis = _analysis(probed[0])
    document = json.loads((probed[0] / "triggered.json").read_bytes())
    states = Counter(call.state for call in analysis.calls)
    # Broken stubs do not decode.
    assert set(states) == {"complete", "malformed"}
    assert 300 < len(analysis.calls) == document["calls"]
    assert f"\n{len(analysis.calls)} calls, captured by its own record; " in probed[1]
    levels = {call.auth.level if hasattr(call, "auth") else "" for call in analysis.calls}
    assert levels >= {"none", "connect", "call", "pkt", "integrity", "privacy"}
    assert {call.syntax for call in analysis.calls} == {"ndr", "ndr64"}


def test_keys_are_for_their_owner_and_hold_no_password(probed: tuple[Path, str]) -> None:
    folder, said = probed
    keys = folder / "keys.json"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    for text in (said, keys.read_text(), (folder / "triggered.json").read_text()):
        assert PASSWORD not in text


def test_it_asks_before_it_starts_and_sends_nothing_after_a_no(tmp_path: Path) -> None:
    server = Server()
    words = ["--tcp-port", str(server.port), "--password-of", USER, "--password", PASSWORD, *_files(tmp_path)]
    code, said = run("127.0.0.1", *words, input="n\n")
    assert code != 0
    assert "will be sent to 127.0.0.1" in said
    assert not list(tmp_path.iterdir())
    assert server.accepted == 0
    server.close()


def test_a_dry_run_prints_the_script_and_needs_no_server() -> None:
    code, said = run("--dry-run")
    lines = said.splitlines()
    assert code == 0
    for step in ("countersets:", "sizes:", "handles:", "levels:", "registry:", "long poll:"):
        assert any(line.startswith(step) for line in lines)
    assert sum("CloseQueryHandle" in line for line in lines) > 10
    assert len(lines) > 350


def test_a_rate_is_kept_by_a_pause_before_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    from analyzer.probe import probe_run as runs

    slept: list[float] = []
    monkeypatch.setattr(runs.time, "sleep", slept.append)
    server = Server()
    target = runs.Target("127.0.0.1", server.port, is_pipe=False)
    credentials = runs.Credentials(USER, DOMAIN, PASSWORD)
    done = runs.run_probe(target, credentials, runs.Options(polls=3, interval=7.0), runs.Pace(4.0, 30.0), "own")
    server.close()
    assert slept.count(0.25) > done.calls - 100
    assert slept.count(7.0) == 2


@pytest.fixture
def mute() -> Iterator[int]:
    """The port of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def probing(port: int, folder: Path, *words: str) -> subprocess.Popen[str]:
    given = ["probe", "127.0.0.1", "--tcp-port", str(port), "--capture-with", "own", "--rate", "1000000", "--yes"]
    return subprocess.Popen(
        [sys.executable, "-m", "analyzer", *given, *_files(folder), *words], stderr=subprocess.PIPE, text=True
    )


def test_a_server_that_says_nothing_is_reported_call_by_call(mute: int, tmp_path: Path) -> None:
    with probing(mute, tmp_path, "--timeout", "0.1") as started:
        said = started.stderr.read().splitlines()
    assert started.returncode == 1  # no call was sent
    assert "step 1 of 15, countersets; 0 calls so far" in said
    assert "countersets: bind at level 6: no answer within --timeout" in said
    assert said[-1].startswith("0 calls, captured by its own record; 0 of 285 ")
    assert json.loads((tmp_path / "triggered.json").read_bytes())["failures"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_was_captured_is_whole_when_a_signal_ends_the_run(number: signal.Signals, tmp_path: Path) -> None:
    server = Server()
    account = ["--password-of", f"{DOMAIN}\\{USER}", "--password", PASSWORD]
    # In the background a shell has signals ignored, and whoever is started there would ignore them too.
    before = signal.signal(number, signal.SIG_DFL)
    with probing(server.port, tmp_path, *account, "--interval", "60") as started:
        signal.signal(number, before)
        assert any(line.startswith("step 15 of 15") for line in started.stderr)
        started.send_signal(number)
        said = started.stderr.read()
    server.close()
    assert started.returncode == 128 + number
    assert "long poll: the run was ended here" in said
    document = json.loads((tmp_path / "triggered.json").read_bytes())
    analysis = _analysis(tmp_path)
    assert len(analysis.calls) == document["calls"] > 300
    assert not [problem for problem in analysis.problems if problem.kind == "truncated"]
    assert document["failures"] == ["long poll: the run was ended here"]


def test_what_is_no_server_is_said(tmp_path: Path) -> None:
    server = Server()
    port = server.port
    server.close()
    words = ["--tcp-port", str(port), "--password-of", USER, "--password", PASSWORD, "--yes", "--rate", "1000000"]
    code, said = run("127.0.0.1", *words, "--capture-with", "own", *_files(tmp_path))
    assert code == 1
    assert "bind at level 6" in said


@pytest.mark.needs("tcpdump")
def test_tcpdump_captures_the_same_calls_where_it_may(tmp_path: Path) -> None:
    server = Server()
    words = ["--tcp-port", str(server.port), "--password-of", f"{DOMAIN}\\{USER}", "--password", PASSWORD]
    words += ["--yes", "--rate", "1000000", "--interval", "0", "--capture-with", "tcpdump", *_files(tmp_path)]
    may = geteuid() == 0
    with nullcontext() if may else pytest.raises(InputError, match="may not capture"):
        code, said = run("127.0.0.1", *words)
        assert code == 0, said
        assert "captured by tcpdump" in said
        assert len(_analysis(tmp_path).calls) > 100
    assert bool(server.accepted) == may
    server.close()


def test_what_was_triggered_and_is_not_shown_is_inconclusive(tmp_path: Path) -> None:
    from analyzer.questions.audit.rule_registry import read_triggered
    from tests.build.calls import analysis_of
    from tests.questions.audit.conversation import full_conversation

    path = tmp_path / "triggered.json"
    path.write_text(json.dumps({"format": 1, "triggered": {"PCQ-3.1.4-R04": ["sizes"], "PCQ-2.1-R01": ["levels"]}}))
    audit = Audit(analysis_of(*full_conversation()), triggered=read_triggered(path))
    assert not list(audit.findings())
    shown, hidden = audit.coverage["PCQ-2.1-R01"], audit.coverage["PCQ-3.1.4-R04"]
    assert (shown.verdict, hidden.verdict) == ("pass", "inconclusive")
    assert list(hidden.reasons) == ["the probe triggered it (sizes), and the capture does not show it"]
    plain = Audit(analysis_of(*full_conversation()))
    assert not list(plain.findings())
    assert plain.coverage["PCQ-3.1.4-R04"].verdict == "not-exercised"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "is no list of a probe"),
        ("{", "is no list of a probe"),
        ("[" * 100_000, "is no list of a probe"),
        ('{"format": 2, "triggered": {}}', "is of format 2"),
        ('{"format": 1, "triggered": {"PCQ-0": ["x"]}}', "PCQ-0, which there is not"),
    ],
)
def test_what_is_no_list_is_said(tmp_path: Path, text: str, message: str) -> None:
    from analyzer.questions.audit.rule_registry import read_triggered

    path = tmp_path / "list.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_triggered(path)


def test_every_trigger_of_the_script_is_one_of_the_catalogue() -> None:
    """A trigger that is worded otherwise there would be brought about and not counted."""
    known = {requirement.trigger for requirement in catalogue().values()}
    lab = rehearse(Options())
    # These say more than the catalogue asks for.
    surplus = (
        "RequestCode ",
        "OpenQueryHandle ",
        "CloseQueryHandle ",
        "ValidateCounters ",
        "QueryCounter",
        "Enumerate",
    )
    triggers = {trigger for entry in lab.log for trigger in entry.triggers}
    assert not {trigger for trigger in triggers - known if not trigger.startswith(surplus)}
