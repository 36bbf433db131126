"""Sessions are the same where the calls that they carry are not read."""

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import InSessions, analyze
from analyzer.questions.statistics.hosts import host_records
from tests.commands.test_all_commands import run
from tests.truth import Capture, handful


@pytest.mark.parametrize("capture", handful(), ids=lambda capture: capture.file)
def test_sessions_are_read_with_the_calls_outside_them_and_hosts_with_those_that_name_them(capture: Capture) -> None:
    keyring = Keyring.load(capture.secrets_path)
    whole, alone, naming = (analyze([capture.path], keyring, in_sessions=one) for one in ("all", "none", "naming"))
    assert alone.sessions == whole.sessions
    assert [call.frames for call in alone.calls] == [call.frames for call in whole.calls if call.session is None]
    assert list(host_records(naming)) == list(host_records(whole))
    assert len(naming.calls) <= len(whole.calls)


@pytest.mark.parametrize("more", [[], ["--user", "nobody"], ["--redact"]], ids=["all", "selected", "redacted"])
@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_the_command_reads_calls_where_it_needs_them(
    form: str, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def noted(*args: object, in_sessions: InSessions = "all", **options: object) -> object:
        asked.append(in_sessions)
        return analyze(*args, in_sessions=in_sessions, **options)

    monkeypatch.setattr("analyzer.pipeline.run.analyze", noted)
    capture = handful()[0]
    for keys in ([], ["--secrets", capture.secrets_path]):
        for command in ("sessions", "hosts"):
            done = run(command, capture.path, "--format", form, *keys, *more)
            assert done.exit_code == 0, done.exception
    without_keys = "all" if more else "none"
    of_hosts = "all" if more else "naming"
    assert asked == [without_keys, of_hosts, "all" if form == "text" else without_keys, of_hosts]
