"""Sessions are the same where the calls that they carry are not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import analyze
from tests.commands.test_commands import run

CAPTURES = sorted((Path(__file__).parents[2] / "captures").glob("*.pcap*"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_sessions_and_calls_outside_them_are_read(path: Path) -> None:
    secrets = path.with_name(path.name.partition(".pcap")[0] + ".secrets.json")
    keyring = Keyring.load(secrets) if secrets.exists() else None
    whole, alone = analyze([path], keyring), analyze([path], keyring, in_sessions=False)
    assert alone.sessions == whole.sessions
    assert [call.frames for call in alone.calls] == [call.frames for call in whole.calls if call.session is None]


@pytest.mark.parametrize("more", [[], ["--user", "nobody"], ["--redact"]], ids=["all", "selected", "redacted"])
@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_the_command_reads_calls_where_it_needs_them(
    form: str, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def noted(*args: object, in_sessions: bool = True, **options: object) -> object:
        asked.append(in_sessions)
        return analyze(*args, in_sessions=in_sessions, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("analyzer.pipeline.run.analyze", noted)
    path = next(path for path in CAPTURES if path.with_suffix(".secrets.json").exists())
    for keys in ([], ["--secrets", path.with_suffix(".secrets.json")]):
        done = run("sessions", path, "--format", form, *keys, *more)
        assert done.exit_code == 0, done.exception
    with_keys = bool(more) or form == "text"
    assert asked == [bool(more), with_keys]
