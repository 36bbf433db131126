"""No secret leaves the program other than through `keys`: whatever is printed, exported, raised or shown is searched."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.output.json import dumps
from analyzer.pipeline.run import smb_session_keys
from analyzer.results.analysis import Analysis
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts, Sessions
from analyzer.screens.views.show import Show
from analyzer.screens.views.timeline import Timeline
from analyzer.screens.views.view_type import View
from tests.analyses import analysis_of_file
from tests.secrets import all_secrets, forms_of_bytes, leaks
from tests.truth import Capture, handful


def views(analysis: Analysis) -> Iterator[View]:
    yield Timeline(analysis)
    yield Timeline(analysis, all_attempts=True)
    yield Samples(analysis)
    yield Sessions(analysis)
    yield Hosts(analysis)
    for number in range(1, min(len(analysis.calls), 12) + 1):
        yield Show(analysis, number)


def printed(analysis: Analysis) -> bytes:
    """Everything every command but `keys` prints of an analysis, in text and records, and the repr of what it is made of."""
    out = io.BytesIO()
    for view in views(analysis):
        for record in view.records():
            out.write(dumps(record) + b"\n")
        for line in view.lines(None):
            out.write(line.encode("utf-8", "backslashreplace") + b"\n")
    out.write(repr(analysis).encode("utf-8", "backslashreplace"))
    for call in analysis.calls[:20]:
        out.write(repr(call).encode("utf-8", "backslashreplace"))
    for session in analysis.sessions:
        out.write(repr(session).encode("utf-8", "backslashreplace"))
    return out.getvalue()


def test_the_search_finds_what_it_looks_for() -> None:
    assert len(all_secrets()) > 100
    for form in all_secrets():
        assert leaks(b"before " + form + b" after")
    assert leaks(b"nothing of ours") == []


@pytest.mark.parametrize("capture", handful(), ids=lambda capture: capture.file)
def test_no_command_prints_a_secret(capture: Capture) -> None:
    keyring = Keyring.load(capture.secrets_path)
    analysis = analysis_of_file(capture.file)
    output = printed(analysis)
    assert leaks(output) == []
    for key in smb_session_keys([capture.path], keyring).values():
        assert not [form for form in forms_of_bytes(key) if form in output], "a derived session key was printed"
    assert leaks(repr(keyring).encode()) == []
    assert leaks(repr(vars(keyring) if hasattr(keyring, "__dict__") else keyring).encode()) == []


@pytest.mark.parametrize(
    "content",
    [
        '{"users": [{"username": "perfmon", "password": "P3rfC@pture!", "nt_hash": "not hex"}]}',
        '{"users": [{"username": 5, "password": "P3rfC@pture!"}]}',
        '{"users": "P3rfC@pture!"}',
        '{"smb_session_keys": [{"session_id": "zz", "session_key": "59583041426537374e336259436e504a"}]}',
        '{"keytabs": ["P3rfC@pture!"], "password": "P3rfC@pture!"',
        'users = [{username = "perfmon", password = "P3rfC@pture!"',
    ],
    ids=["bad hash", "bad name", "no list", "bad session id", "cut JSON", "cut TOML"],
)
def test_a_bad_secrets_file_is_named_without_its_secrets(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secrets"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        Keyring.load(path)
    stated = f"{caught.value} {caught.value.hint}"
    assert "59583041426537374e336259436e504a" not in stated
    if '"keytabs"' not in content:  # the name of a missing file has to be stated
        assert leaks(stated.encode()) == []
