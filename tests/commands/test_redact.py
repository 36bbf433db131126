"""`--redact`: nothing that is written holds a name, in any encoding, and everything that is no name is as before."""

import base64
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from rich.text import Text

from analyzer.auth.keyring import Keyring
from analyzer.interfaces.call_contents.machine_names import machine_names
from analyzer.interfaces.redaction.pseudonyms import KEPT, Pseudonyms
from analyzer.interfaces.winperf.winreg_layer import UNKNOWN
from analyzer.pipeline.run import analyze
from analyzer.questions.filters.call_selection import Selection
from analyzer.results.analysis import Analysis
from analyzer.results.security import Identity
from analyzer.screens.formats.unsealed_packets import write_conversation
from analyzer.screens.formats.view_writer import json_lines
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.timeline import Timeline
from tests import truth
from tests.collect.sets import frames_of, put
from tests.commands.test_all_commands import CLEAR, PCQ, SECRETS, here, records, run
from tests.page import blocks

CAPTURES = {capture.file: capture for capture in truth.captures()}
KEY = "a key for tests"
EVERY = (
    *(
        f"{one}{form}"
        for one in ("timeline", "triage", "sessions", "handles", "stats", "samples")
        for form in ("", " --format jsonl")
    ),
    *(f"timeline --format {form}" for form in ("csv", "parquet", "timesketch", "ecs --tail 30", "zeek")),
    *(f"audit{form}" for form in ("", *(f" --format {form}" for form in ("jsonl", "sarif", "junit", "zeek")))),
    *("counters", "counters --format parquet", "samples --format parquet", "hosts", "processes"),
    *("timeline --unfold --hash", "show --call 1", "show --call 4 --format json"),
    *("export --pcapng", "export-metadata", "report", "save"),
    # The commands that these print repeat what was typed.
    *("triage --user perfmon --server 127.0.0.1", "timeline --user perfmon", "audit --filter user==perfmon"),
)
# Instances whose names are words of the program, of counters, or of help texts.
_WORDS = frozenset(
    ("idle", "system", "test", "global", "string", "text", "poll", "build", "memory", "process", "total", "zweiter")
)


@cache
def analyses(file: str) -> tuple[Analysis, Analysis]:
    """As it is, and redacted."""
    capture = CAPTURES[file]
    keyring = Keyring.load(capture.secrets_path)
    return analyze([capture.path], keyring), analyze([capture.path], keyring, pseudonyms=Pseudonyms(KEY.encode()))


def samples_of(analysis: Analysis) -> Iterator[dict[str, Any]]:
    return (msgspec.to_builtins(record) for record in Samples(analysis).records())


def texts(analysis: Analysis, file: str) -> Iterator[str]:
    """Everything in a capture that names somebody or something."""

    def of_identity(identity: Identity | None) -> Iterator[str]:
        server = ("server_name", "server_domain", "server_dns_name", "server_dns_domain")
        for name in ("account", "workstation", *server, "service", "realm"):
            yield getattr(identity, name, None) or ""

    for user in json.loads(CAPTURES[file].secrets_path.read_bytes()).get("users", ()):
        yield from (user.get("username") or "", user.get("domain") or "")
    for session in analysis.sessions:
        yield from (session.client.ip, session.server.ip, *session.trees)
        yield from of_identity(session.identity)
    for call in analysis.calls:
        yield from of_identity(call.security.identity)
        yield from (call.client.ip, call.server.ip)
        for name in ("szMachine", "lpSubKey"):
            value = call.request.params.get(name) if call.request is not None else None
            if isinstance(value, str) and "Perflib" not in value:
                yield value
        if call.path is not None and "Perflib" not in call.path:
            yield call.path.removeprefix(UNKNOWN)
    for sample in samples_of(analysis):
        yield from (sample.get("instance") or "", sample.get("parent_instance") or "")
        if isinstance(sample["raw"], str):
            yield sample["raw"]


@cache
def names_of(file: str) -> frozenset[str]:
    """The words and addresses of a capture that name somebody or something, in small letters."""
    words: set[str] = set()
    for text in set(texts(analyses(file)[0], file)):
        words |= {text} if re.fullmatch(r"[\d.]{7,}|[0-9a-f:]*::[0-9a-f:]*", text) else set(re.findall(r"[\w-]+", text))
    return frozenset(
        word.casefold()
        for word in words
        if (len(word) >= 4 or not word.isascii()) and any(one.isalpha() or one in ".:" for one in word)
        if word.casefold() not in KEPT | _WORDS
    )


@cache
def encoded_names(file: str) -> tuple[bytes, ...]:
    """The same as UTF-16, hexadecimal, Base64 and with JSON's escapes, in small letters and in capitals."""
    found: set[bytes] = set()
    for text in (change(name) for name in names_of(file) for change in (str.lower, str.upper)):
        if not text.isascii():
            found.add(json.dumps(text)[1:-1].encode())
        for raw in (text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be")):
            found |= {raw.hex().encode(), raw.hex(" ").encode()} | ({raw} if b"\0" in raw else set())
            for shift in range(3):
                # Without the letters that the bytes before and behind decide, too.
                inner = base64.b64encode(b"\0" * shift + raw)[4 if shift else 0 :].rstrip(b"=")
                inner = inner[:-1] if (shift + len(raw)) % 3 else inner
                if len(inner) >= 6:
                    found.add(inner)
    assert found
    return tuple(found)


def unpacked_page(page: str) -> bytes:
    """What is in a page, its blocks decompressed, without its script and style."""
    shown = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    found = blocks(page)
    texts = json.dumps(found, ensure_ascii=False, default=lambda data: "").encode()
    return b"\n".join([shown.encode(), texts, *(block["data"] for block in found.values() if "data" in block)])


def unpacked_case(path: Path) -> bytes:
    """What is in a case; nothing there is compressed."""
    with zipfile.ZipFile(path) as case:
        return b"\n".join(map(case.read, case.namelist()))


def written(command: str, file: str, folder: Path) -> bytes:
    """What a command writes on standard output and into its file, redacted."""
    name, *options = command.split()
    capture, path = CAPTURES[file], folder / "out"
    target = [path] if "--pcapng" in options else ["-o", path]
    secrets = ["--secrets", capture.secrets_path]
    result = run(name, capture.path, *options, *target, *secrets, "--redact-key", KEY)
    assert result.exit_code in (0, 3, 10, 11, 12), (command, result.output, result.exception)
    data = path.read_bytes() if path.exists() else b""
    if "parquet" in options:
        data = pl.read_parquet(path).write_json().encode()
    elif name == "report":
        data = unpacked_page(data.decode())
    elif name == "save":
        data = unpacked_case(path)
    path.unlink(missing_ok=True)
    shown = result.output.encode() + data
    # The names of the files are the user's own.
    return re.sub(rb"[\w./-]*/captures/", b"", shown).replace(str(folder).encode(), b"")


def names_in(data: bytes, file: str) -> set[bytes]:
    """The names of a capture that are in what was written."""
    text = data.decode("utf-8", "replace").casefold()
    words = set(re.findall(r"[\w-]+", text)) | set(re.findall(r"(?:\d+\.){3}\d+|[0-9a-f:]*::[0-9a-f:]*", text))
    return {word.encode() for word in words & names_of(file)} | {one for one in encoded_names(file) if one in data}


@pytest.mark.parametrize("file", [capture.file for capture in truth.handful()])
def test_no_name_of_a_capture_is_written(file: str) -> None:
    """Its lines, its records, and its calls as packets; every command writes those of two captures below."""
    redacted, packets = analyses(file)[1], io.BytesIO()
    write_conversation(Selection().shown(redacted), packets, files=(), names=machine_names(redacted))
    view = Timeline(redacted)
    lines = [Text.from_markup(line, emoji=False).plain for line in view.lines(None)]
    data = b"\n".join([*(line.encode() for line in lines), *json_lines(view)])
    assert names_in(data.replace(os.fsencode(truth.CAPTURES), b""), file) == set()
    assert names_in(packets.getvalue(), file) == set()
    assert len(packets.getvalue()) > 100 * len(redacted.calls)


@pytest.mark.parametrize(("at", "command"), list(enumerate(EVERY)))
def test_no_command_writes_a_name(at: int, command: str, tmp_path: Path) -> None:
    file = (PCQ, CLEAR)[at % 2].name
    # The pages of rules, which are in SARIF and in the page, speak of a process that is on every Windows.
    known = {b"svchost"} if "sarif" in command or command == "report" else set()
    assert names_in(written(command, file, tmp_path), file) <= known


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_a_lone_buffer_is_without_names_too(form: str, tmp_path: Path) -> None:
    call = next(
        call for call in analyses(CLEAR.name)[0].calls if call.response and call.response.buffer_kind == "winperf"
    )
    path = tmp_path / "buffer"
    path.write_bytes(call.response.buffer.data)
    plain, redacted = (run("decode", path, "--format", form, *key) for key in ((), ("--redact-key", KEY)))
    assert plain.exit_code == redacted.exit_code == 0
    assert names_in(plain.output.encode(), CLEAR.name)
    assert names_in(redacted.output.encode(), CLEAR.name) == set()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_names_would_be_found(encoding: str) -> None:
    raw = "xx LAB\\perfmon".encode(encoding)
    for data in (raw, raw.hex().encode(), *(base64.b64encode(b"12"[:at] + raw) for at in range(3))):
        assert names_in(data, PCQ.name)
    assert names_in(b"at 127.0.0.1:445, PERFSRV", PCQ.name) == {b"127.0.0.1", b"perfsrv"}


of_call = attrgetter(
    *("state", "status", "fault", "opnum", "method", "frames", "time_ns", "latency_ns", "interface", "handle")
)
of_side = attrgetter("stub_length", "buffer_kind", "wire_length")


@pytest.mark.parametrize("file", [capture.file for capture in truth.handful()])
def test_numbers_states_and_frames_stay(file: str) -> None:
    plain, redacted = analyses(file)
    for before, after in zip(plain.calls, redacted.calls, strict=True):
        assert of_call(before) == of_call(after), before.number
        for one, other in ((before.request, after.request), (before.response, after.response)):
            assert (one and of_side(one)) == (other and of_side(other))
    names = ("server", "instance", "parent_instance", "raw")
    pairs = zip(samples_of(plain), samples_of(redacted), strict=True)
    for sample, other_sample in pairs:
        assert {key: value for key, value in sample.items() if key not in names} == {
            key: value for key, value in other_sample.items() if key not in names
        }
        if not isinstance(sample["raw"], str):
            assert sample["raw"] == other_sample["raw"]
        assert (sample["instance"] is None) == (other_sample["instance"] is None)


def test_output_and_a_case_say_that_they_are_redacted(tmp_path: Path) -> None:
    words = "redacted: names and addresses are pseudonyms"
    commands = ("timeline", "stats", "audit", "sessions", "hosts", "processes", "handles", "counters", "samples")
    case = tmp_path / "x.pcq"
    assert words in run("save", CLEAR, "--redact", "-o", case).stderr
    for given in ((CLEAR, "--redact"), (case,)):
        for command in commands:
            assert run(command, *given, "--format", "text").stdout.startswith(words), (command, given)
        assert words in run("triage", *given).stdout
        assert records(run("timeline", *given, "--format", "jsonl").stdout)[0]["redacted"] is True
    for command in ("timeline", "triage"):
        assert "redacted" not in run(command, CLEAR).stdout + run(command, CLEAR, "--format", "jsonl").stdout


def test_the_key_is_written_nowhere(tmp_path: Path) -> None:
    arguments = ("timeline", PCQ, "--secrets", SECRETS, "--hash", "--format", "jsonl", "-Y", 'user == "LAB\\\\perfmon"')
    shown = here(*arguments, "--redact-key", "sesame0815")
    assert b"sesame0815" not in shown.stdout + shown.stderr
    assert b"perfmon" not in shown.stdout
    keyed = here(*arguments, "--redact", env={"PCQ_REDACT_KEY": "sesame0815"})
    assert keyed.stdout.splitlines()[1:] == shown.stdout.splitlines()[1:]
    failed = here("timeline", PCQ, "--redact-key", "sesame0815", "-o", "/dev/full", "--format", "jsonl")
    assert b"sesame0815" not in failed.stderr


def test_the_key_is_not_shown_by_what_holds_it() -> None:
    assert "key" not in repr(Pseudonyms(b"sesame"))
    assert "sesame" not in repr(vars(Pseudonyms(b"sesame")))


def test_sentences_lose_the_names_that_are_known() -> None:
    names = Pseudonyms(b"k")
    user = names.name("LAB\\alice")
    assert (
        names.free("no key for LAB\\alice at 10.0.0.1:445") == f"no key for {user} at {names.address('10.0.0.1')}:445"
    )
    assert names.free("the laboratory of 2026-11-22") == "the laboratory of 2026-11-22"


def test_answers_without_their_requests_leave_the_same_in_doubt(tmp_path: Path) -> None:
    """One may be of ValidateCounters. As zeros, it would show that the handle holds what it held."""
    calls = [one for one in shown("timeline", PCQ) if one["record"] == "call"]
    lost = {
        frame for call in calls if call["method"] == "PerflibV2ValidateCounters" for frame in call["request"]["frames"]
    }
    link_type, frames = frames_of(PCQ)
    lossy = put(tmp_path / "lossy.pcap", [one for at, one in enumerate(frames, 1) if at not in lost], link_type)
    for command, keys in (("audit", ("rule", "call", "field")), ("handles", ("handle", "end", "holdings"))):
        real, redacted = (
            [tuple(one.get(key) for key in keys) for one in shown(command, lossy, *options)]
            for options in ((), ("--redact-key", KEY))
        )
        assert real == redacted
    assert "a request was lost that may have changed the handle" in str(real)


def shown(command: str, path: Path, *options: str) -> list[dict[str, Any]]:
    return records(run(command, path, "--secrets", SECRETS, "--format", "jsonl", *options).stdout)
