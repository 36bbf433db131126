"""What commands decide before and after an analysis: exit codes, what is asked for, what is refused."""

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import ReadBound
from analyzer.commands import audit, collect, probe, triage
from analyzer.commands.shared import (
    capture_reading,
    command_function,
    completion,
    exit_codes,
    options,
)
from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.core.errors import InputError
from analyzer.core.limits import DEFAULTS
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.questions.audit.rule_verdicts import Outcome
from analyzer.questions.filters.times_machines_and_users import TimeBound
from analyzer.screens.views.docs import amount
from tests.commands.test_all_commands import CLEAR, run
from tests.commands.test_collect_progress import Terminal
from tests.written import Tables, held

TABLES = Tables()

READING = CaptureReading(Keyring(), "own", DEFAULTS)

# ------------------------------------------------------------------------------------------------ numbers


@TABLES.of(
    *((1 << 20, "bytes"), ((1 << 20) - 1, "bytes"), (3 << 20, "bytes"), (1 << 20, "frames"), (0, "")),
)
def a_limit_is_written_for_people(number, unit):
    return amount(number, unit)


@TABLES.of(
    *("80%", "80", "0", "100%", "12.5%", 50.0),
)
def a_percentage_is_a_share(text):
    return audit._percentage(text)


@TABLES.of(
    *("-0.1", "100.1", "nan", "most", "8%0", ""),
)
def what_is_no_percentage(text):
    with pytest.raises(typer.BadParameter) as raised:
        audit._percentage(text)
    return str(raised.value)


# ------------------------------------------------------------------------------------------------ exit codes


READ = "analyzer.screens.viewmodel.unread"
ALL = {"unread": True, "strict": True}


@TABLES.of(
    *({"strict": True}, {"unread": True}, ALL, ALL | {"unreadable": True}),
    *({"sentence": "Nothing."} | more for more in (ALL, ALL | {"unreadable": True}, {"asked_for": False})),
    *({"sentence": "Nothing.", "asked_for": True} | more for more in ({}, ALL)),
)
def what_was_read_decides_the_exit_code(sentence=None, unreadable=False, unread=False, strict=False, asked_for=None):
    """And what is said; behind that, the exit code where what was read is enough."""
    asked = None if asked_for is None else lambda: asked_for
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(io.StringIO()) as said:
        for name, found in (("no_performance_call_words", sentence), ("unread", unread)):
            patch.setattr(f"{READ}.{name}", lambda *_, found=found: found)
        analysis: Any = SimpleNamespace(unreadable_files=unreadable, has_performance_call=sentence is None)
        code = exit_codes.exit_of(analysis, strict=strict, asked_for=asked)
        return [
            code,
            said.getvalue().strip() or "nothing said",
            exit_codes.exit_of(analysis, strict=strict, is_enough=True),
        ]


@TABLES.of(
    *(({"findings": {"high": 1, "medium": 1}},), ({"findings": {"medium": 1}},), ({"findings": {"low": 9}},)),
    *(({"findings": {"medium": 1}, "unreadable": 1},), ({"unreadable": 1, "with_performance_traffic": 1},)),
    *(({"with_performance_traffic": 1},), ({"unclear": 1},), ({},)),
)
def triage_ends_by_its_gravest_finding(facts):
    summary: Any = SimpleNamespace(
        **{"findings": {}, "unreadable": 0, "with_performance_traffic": 0, "unclear": 0, **facts}
    )
    return [triage._exit_of(summary, triage.FailOnSeverity(word)) for word in ("high", "medium", "never")]


@TABLES.of(
    *("fail", "warn", "inconclusive", "not-exercised"),
)
def each_verdict_that_fails_includes_those_before_it(fail_on):
    return audit.FailOn(fail_on).failing


@TABLES.of(
    *(
        {},
        {"failed": 1, "warned": 1},
        {"failed": 1, "read": 3},
        {"warned": 1},
        {"read": 3},
        {"read": 6, "sealed": True},
    ),
    *({"warned": 1, "fail_on": fail_on} for fail_on in ("fail", "inconclusive")),
    *({"sealed": True}, {"sealed": True, "allow_undecrypted": True}, {"verdicts": ["inconclusive", "not-exercised"]}),
    *({"verdicts": [one], "fail_on": "inconclusive"} for one in ("inconclusive", "not-exercised")),
    *({"verdicts": ["pass", one], "fail_on": "not-exercised"} for one in ("not-exercised", "untestable")),
    *({"share": share, "min_coverage": least} for share, least in ((0.5, 0.5), (0.499, 0.5), (0.0, 0.0))),
)
def what_was_asked_of_an_audit_decides_its_exit_code(
    *, fail_on="warn", min_coverage=None, allow_undecrypted=False, read=0, sealed=False, verdicts=(), share=1.0, **found
):
    coverage = {number: SimpleNamespace(verdict=one) for number, one in enumerate(verdicts)}
    counts = {Outcome.FAILED: found.get("failed", 0), Outcome.WARNED: found.get("warned", 0)}
    judged = SimpleNamespace(analysis=None, found=counts, coverage=coverage, share_judged=share)
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(io.StringIO()) as said:
        patch.setattr(audit, "exit_of", lambda analysis: read)
        patch.setattr(f"{READ}.nothing_decrypted", lambda analysis: "sealed" if sealed else None)
        code = audit._Contract(audit.FailOn(fail_on), min_coverage, allow_undecrypted).exit_of(judged)
    return [code, *filter(None, [said.getvalue().strip()])]


@TABLES.of(*(((one, other),) for one, other in pairwise((0, 0, 3, 12, 6, 10, 11, 0))))
def a_matrix_ends_with_the_gravest_of_its_captures(codes):
    read, files = iter(codes), [f"{number}.pcap" for number in range(len(codes))]
    written: list[object] = []
    given: Any = [
        SimpleNamespace(analysis=lambda files: files),
        files,
        lambda analysis: SimpleNamespace(coverage=analysis, findings=lambda: iter(())),
        SimpleNamespace(exit_of=lambda judged: next(read)),
        audit.AuditFormat.csv,
        SimpleNamespace(write=lambda view, form: written.append((view, form))),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analyzer.screens.views.audit.MatrixView", lambda names, coverages: (names, coverages))
        code = audit._matrix(*given)
    assert written == [((tuple(files), [[name] for name in files]), "csv")]
    return code


# ------------------------------------------------------------------------------------------------ options


def reading(**values: Any) -> CaptureReading:
    return capture_reading.capture_reading(**values)


def test_limits_that_are_given_are_those_of_the_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PCQ_PASSWORD", raising=False)
    found = reading()
    assert not found.keyring
    assert (found.engine, found.limits, found.hashing, found.files) == ("own", DEFAULTS, False, ())
    assert (found.pseudonyms, found.bound, found.until, found.metadata_from) == (None, None, None, None)
    found = reading(max_held=5, max_connections=7, max_stub=9, max_ratio=11)
    changed = {name: (getattr(found.limits, name), getattr(DEFAULTS, name)) for name in DEFAULTS.__struct_fields__}
    assert {name: new for name, (new, old) in changed.items() if new != old} == {
        "held_total": 5,
        "held_stream": 5,
        "connections": 7,
        "stub": 9,
        "decompressed_ratio": 11,
    }
    # What one stream may hold stays what it was where all of them may hold more.
    assert reading(max_held=DEFAULTS.held_stream + 1).limits.held_stream == DEFAULTS.held_stream


def test_what_is_asked_of_a_reading_is_in_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PCQ_PASSWORD", raising=False)
    until = TimeBound.from_text("90s")
    found = reading(
        metadata=[tmp_path], metadata_from="10.0.0.1", hashes=True, redact=True, read_frames=3, read_until=until
    )
    assert (found.metadata, found.metadata_from, found.hashing, found.until) == ((tmp_path,), "10.0.0.1", True, until)
    assert found.bound == ReadBound(3, until.after)
    assert found.files == (tmp_path,)
    assert found.stated == {
        "engine": "own",
        "read-frames": "3",
        "read-until": str(until),
        "metadata": found.pseudonyms.free(str(tmp_path)),
        "metadata-from": found.pseudonyms.free("10.0.0.1"),
        "redact": "",
    }
    assert reading(engine="tshark").stated == {"engine": "tshark"}
    assert reading(read_until=until).bound == ReadBound(None, until.after)
    assert reading(read_frames=1).bound == ReadBound(1, None)
    assert reading().bound is None
    for bounds in ({"read_frames": 1}, {"read_until": until}):
        with pytest.raises(typer.BadParameter, match="tshark reads captures as a whole"):
            reading(engine="tshark", **bounds)


def test_pseudonyms_are_asked_for_and_the_variable_is_only_their_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def name(pseudonyms: Pseudonyms | None) -> str:
        return pseudonyms.free("10.0.0.1")

    monkeypatch.delenv("PCQ_REDACT_KEY", raising=False)
    assert capture_reading.pseudonyms_of(False, None) is None
    assert name(capture_reading.pseudonyms_of(True, None)) != name(capture_reading.pseudonyms_of(True, None))
    assert (
        name(capture_reading.pseudonyms_of(False, "k"))
        == name(Pseudonyms(b"k"))
        == name(capture_reading.pseudonyms_of(True, "k"))
    )
    monkeypatch.setenv("PCQ_REDACT_KEY", "of the variable")
    assert capture_reading.pseudonyms_of(False, None) is None
    assert name(capture_reading.pseudonyms_of(True, None)) == name(Pseudonyms(b"of the variable"))
    assert name(capture_reading.pseudonyms_of(True, "k")) == name(Pseudonyms(b"k"))
    with pytest.raises(typer.BadParameter, match="an empty key is none"):
        capture_reading.pseudonyms_of(True, "")


def test_tables_of_bytes_are_not_for_terminals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parquet: Any = SimpleNamespace(params={"output_format": "parquet"})
    text: Any = SimpleNamespace(params={"output_format": "text"})
    for is_terminal in (False, True):
        monkeypatch.setattr(options, "is_terminal", lambda is_terminal=is_terminal: is_terminal)
        assert options._output(parquet, tmp_path) == tmp_path
        assert options._output(text, None) is None
        assert options._output(text, Path("-")) == Path("-")
        with pytest.raises(typer.BadParameter, match="--format parquet needs a file to write: -o FILE, or -o - into"):
            options._output(parquet, None)
    with pytest.raises(typer.BadParameter, match="--format parquet needs a file to write"):
        options._output(parquet, Path("-"))
    monkeypatch.setattr(options, "is_terminal", lambda: False)
    assert options._output(parquet, Path("-")) == Path("-")


def test_files_of_patterns_are_found_below_directories(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    for name in (deep / "x.pcap", tmp_path / "y.pcap"):
        name.touch()
    pattern = f"{tmp_path}/**/*.pcap"
    assert sorted(capture_reading.named_files({"files": [pattern, "-"]})) == [deep / "x.pcap", tmp_path / "y.pcap"]
    assert capture_reading.named_files({"file": str(deep), "files": ["left"]}) == [deep]
    for nothing in ({}, {"file": None}, {"files": None}, {"file": "-"}, {"files": [str(tmp_path / "none")]}):
        assert capture_reading.named_files(nothing) == []


def test_ten_files_that_cannot_be_read_are_named_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    for number, last in ((10, "9.pcap"), (11, "and 1 more files that could not be read"), (0, "")):
        lost = [f"{one}.pcap" for one in range(number)]
        analysis: Any = SimpleNamespace(unreadable_files=lost)
        READING.note(analysis)
        said = capsys.readouterr().err.splitlines()
        assert said == (lost[:10] if number <= 10 else [*lost[:10], last])


def test_a_password_is_asked_for_at_a_terminal_with_the_name_of_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answered(question: str) -> str:
        asked.append(question)
        return "it"

    monkeypatch.setattr("getpass.getpass", answered)
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert [options.asked_password(user) for user in (None, "LAB\\u")] == ["it", "it"]
    assert asked == ["Password: ", "Password of LAB\\u: "]
    for data, password in ((b"a b \r\nrest", "a b "), (b"\xff\n", "\udcff"), (b"x", "x"), (b"", "")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert options.asked_password(None) == password
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="there is no standard input to read the password from"):
        options.asked_password(None)


def test_a_command_that_fails_states_what_it_had_read(tmp_path: Path) -> None:
    made: list[str] = []

    def function(reading: CaptureReading, files: list[str]) -> None:
        made.append(files[0])
        reading.failures.append(ValueError("of a library"))
        raise typer.Exit(3)

    function.__annotations__ = {"reading": CaptureReading, "files": list[str]}
    with pytest.raises(exit_codes.ReadingFailedError, match="the capture was read in part only") as failed:
        command_function.command(function)(files=["x"], **defaults(capture_reading.capture_reading))
    assert (made, str(failed.value.__cause__)) == (["x"], "of a library")

    def mistaken(reading: CaptureReading, files: list[str]) -> None:
        raise KeyError(files[0])

    # A mistake of ours is never said to be damage of what was given, captures or a case.
    mistaken.__annotations__ = function.__annotations__
    case = str(tmp_path / "x.pcq")
    assert run("save", CLEAR, "-o", case).exit_code == 0
    for given in (str(CLEAR), case):
        with pytest.raises(KeyError):
            command_function.command(mistaken)(files=[given], **defaults(capture_reading.capture_reading))


def defaults(function: Any) -> dict[str, Any]:
    from inspect import signature

    return {name: item.default for name, item in signature(function).parameters.items()}


# ------------------------------------------------------------------------------------------------ filters, completions


def test_what_is_wrong_with_an_option_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def refusing(error: Exception) -> Any:
        def make(text: str) -> str:
            raise error

        return options.checked(make)

    assert options.checked(str.upper)("x") == "X"
    with pytest.raises(typer.Exit) as ended:
        refusing(InputError("no", hint="so"))("x")
    assert ended.value.exit_code == 2
    assert capsys.readouterr().err == "pcq-analyzer: no\n  so\n"
    with pytest.raises(typer.BadParameter, match="it is none"):
        refusing(ValueError("it is none"))("x")


@TABLES.of("opnum == 6 && status_n", "status_n", "!status_n", "nothing_like_it")
def the_last_word_of_a_filter_is_completed(text):
    found = dict(completion.complete_filter(options._call_fields, None, text))
    assert all(found.values())
    return [*found]


def test_a_filter_of_no_word_may_begin_with_any_field() -> None:
    fields = options._call_fields()
    assert len(list(completion.complete_filter(lambda: fields, None, ""))) == len(fields)


def on_the_line(*files: object) -> Any:
    return SimpleNamespace(params={"files": list(map(str, files))})


def test_captures_on_the_line_are_read_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    size = CLEAR.stat().st_size
    for most, is_read in ((size, True), (size - 1, False)):
        monkeypatch.setattr(completion, "MOST_BYTES", most)
        assert (completion._analysis(on_the_line(CLEAR)) is not None) is is_read
    monkeypatch.setattr(completion, "MOST_BYTES", 2 * size - 1)
    assert completion._analysis(on_the_line(CLEAR, CLEAR)) is None
    assert completion._analysis(SimpleNamespace(params={"files": None})) is None


def test_what_is_completed_begins_as_it_was_written_and_is_sorted() -> None:
    context = on_the_line(CLEAR)
    machines = list(completion.complete_machine(context, ""))
    assert machines == sorted(machines)
    assert machines == [("127.0.0.1", "PERFSRV, vm"), ("PERFSRV", "127.0.0.1"), ("vm", "127.0.0.1")]
    assert list(completion.complete_machine(context, "PERF")) == list(completion.complete_machine(context, "perf"))
    units = dict(completion.complete_counter(context, "\\process"))
    assert units["\\Process(*)\\% Processor Time"] == "%"
    assert units["\\Process(*)\\Elapsed Time"] == "s"
    assert units["\\Process(*)\\Handle Count"] == ""
    counters = [path for path, _ in completion.complete_counter(context, "\\PROCESS(")]
    assert counters
    assert all(path.startswith("\\Process(*)\\") for path in counters)
    assert counters == sorted(set(counters))
    assert completion.complete_interface(None, "PERF") == ["PerflibV2"]
    assert completion.complete_interface(None, "") == sorted(completion.complete_interface(None, ""))
    assert list(completion.complete_page("out")) == [("output", "")]
    assert next(completion.complete_page("PCQ101"))[0] == "PCQ101"
    assert list(completion.complete_rule("")) == [
        (code, title) for code, title in completion.complete_rule("PCQ") if code.startswith("PCQ")
    ]


def test_accounts_are_completed_from_calls_and_sessions_with_and_without_their_domain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contexts = [SimpleNamespace(auth=SimpleNamespace(user=name)) for name in ("LAB\\Ann", None, "bob")]
    sessions = [SimpleNamespace(identities=(SimpleNamespace(account=name),)) for name in ("LAB\\Cyd", "bob", None)]
    calls = SimpleNamespace(contexts_by_last_call=lambda: contexts)
    analysis = SimpleNamespace(calls=calls, sessions=sessions)
    monkeypatch.setattr(completion, "_analysis", lambda context: analysis)
    found = list(completion.complete_account(on_the_line(), ""))
    assert found == [
        ("Ann", "LAB\\Ann"),
        ("Cyd", "LAB\\Cyd"),
        ("LAB\\Ann", ""),
        ("LAB\\Cyd", ""),
        ("bob", ""),
    ]
    assert list(completion.complete_account(on_the_line(), "a")) == found[:1]


def test_progress_is_watched_unless_somebody_else_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[Any] = []
    heard: list[tuple[int, int]] = []

    @contextmanager
    def watching(files: Any) -> Iterator[Any]:
        watched.append(files)
        yield lambda done, total: None

    monkeypatch.setattr("analyzer.core.output.terminal.watching", watching)
    READING.analysis([str(CLEAR)])
    assert watched == [[CLEAR]]
    READING.analysis([str(CLEAR)], progress=lambda done, total: heard.append((done, total)))
    assert len(watched) == 1
    assert {total for _, total in heard} == {CLEAR.stat().st_size}
    # Nothing of a stream is read here.
    monkeypatch.setattr("analyzer.pipeline.live_reading.stream", lambda sources, keyring, **given: given["progress"])
    for is_watched in (True, False):
        watched.clear()
        with READING.stream([str(CLEAR)], watched=is_watched) as stream:
            assert (stream is not None) is bool(watched) is is_watched


# ------------------------------------------------------------------------------------------------ probe, collect


def probing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *words: object, calls: int = 3
) -> tuple[int, list[Any], str]:
    """The exit code, what was asked of the probe, and what was said."""
    asked: list[Any] = []

    def run_probe(*given: Any) -> Any:
        asked.extend(given)
        return SimpleNamespace(
            capture=b"packets",
            triggered=b"list",
            keys=b"secrets",
            calls=calls,
            number=2,
            causable=5,
            captured_by="own",
            failures=("q9 was not answered",),
        )

    monkeypatch.setattr("analyzer.probe.probe_run.run_probe", run_probe)
    files = ["-w", tmp_path / "w", "--triggered", tmp_path / "t", "--keys", tmp_path / "k"]
    result = run("probe", "srv", *files, *words)
    return result.exit_code, asked, result.stderr


@pytest.mark.needs("impacket")
def test_a_probe_is_asked_for_as_the_options_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    who = "--password-of LAB\\u --password secret --other-user v --other-password w --yes"
    what = "--rate 2.5 --polls 3 --countersets 2 --interval 0.5 --large --capture-with own"
    code, asked, said = probing(monkeypatch, tmp_path, *f"{who} {what}".split())
    target, credentials, options, pace, program = asked
    assert code == 0
    assert (target.name, target.port, target.is_pipe) == ("srv", 445, True)
    assert (credentials.username, credentials.domain, credentials.password) == ("u", "LAB", "secret")
    assert (options.other.username, options.other.domain, options.other.password) == ("v", "", "w")
    assert (options.countersets, options.polls, options.interval, options.large) == (2, 3, 0.5, True)
    assert (pace.rate, pace.timeout_s, program) == (2.5, 5.0, "own")
    lines = said.splitlines()
    assert lines[0].startswith("About ")
    assert lines[0].endswith(
        " calls, no more than 2.5 a second, will be sent to srv, pipe winreg over SMB at port 445."
    )
    assert lines[-1] == "3 calls, captured by own; 2 of 5 requirements triggered"
    assert [(tmp_path / name).read_bytes() for name in "wtk"] == [b"packets", b"list", b"secrets"]
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "wtk"]
    umask = os.umask(0)
    os.umask(umask)
    assert modes == [0o666 & ~umask, 0o666 & ~umask, 0o600]

    # What is there is not written over, which is known before anything is sent.
    code, asked, _ = probing(monkeypatch, tmp_path, "--yes")
    assert (code, asked) == (1, [])
    code, asked, _ = probing(monkeypatch, tmp_path, "--yes", "--force", "--tcp-port", "49664", calls=0)
    assert code == 1
    assert (asked[0].port, asked[0].is_pipe, asked[1].username, asked[2].other) == (49664, False, "", None)
    assert (asked[3].rate, asked[4], asked[2].countersets, asked[2].polls) == (10.0, "auto", 4, 10)


def test_a_probe_needs_an_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for answer, is_sent in ((b"y\n", True), (b"n\n", False), (b"\n", False)):
        asked: list[Any] = []
        monkeypatch.setattr("analyzer.probe.probe_run.run_probe", lambda *given, asked=asked: asked.append(given))
        monkeypatch.setattr("analyzer.probe.dcerpc_client.require_impacket", lambda: None)
        result = run("probe", "srv", "-w", tmp_path / "w", "--triggered", tmp_path / "t", stdin=answer)
        assert bool(asked) is is_sent
        assert "Go on? [y/N]:" in result.stderr
        assert result.exit_code == 1  # also where it is sent: no result came of it


@TABLES.of(
    *((("LAB\\u", "p", None),), (("u", "p", None),), (("u@LAB.TEST", "", None),), (("", None, None),)),
    *((("", "p", None),), (("u", "p", "0123456789abcdefABCDEF0123456789"),)),
)
def who_calls(given):
    found = probe._credentials(*given)
    facts = {name: getattr(found, name) for name in ("username", "domain", "password", "nt_hash")}
    return {name: fact for name, fact in facts.items() if fact}


def test_who_calls_without_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="a password is needed") as missing:
        probe._credentials("u", None, None)
    assert missing.value.hint == "--password - asks for it; PCQ_PASSWORD may hold it"
    monkeypatch.setattr(probe, "asked_password", lambda user: f"of {user}")
    assert probe._credentials("LAB\\u", "-", None).password == "of LAB\\u"
    for wrong in ("0" * 31, "0" * 33, "g" * 32, ""):
        with pytest.raises(InputError, match="an NT hash has 32 hexadecimal digits"):
            probe._credentials("u", None, wrong)


@pytest.fixture
def collecting(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was asked of workers or of a cluster, and of a collection."""
    from analyzer.collect import dask_cluster

    asked: list[Any] = []

    @contextmanager
    def of(*given: Any, **options: Any) -> Iterator[Any]:
        asked.append((given, options))
        yield "those"

    def collected(request: Any, executor: Any, watcher: Any) -> Any:
        asked.append((request, executor))
        return SimpleNamespace(request=request)

    monkeypatch.setattr("analyzer.collect.local_workers.LocalWorkers", of)
    monkeypatch.setattr(dask_cluster, "cluster", of)
    monkeypatch.setattr(dask_cluster, "DaskExecutor", lambda client, retries: (client, retries))
    monkeypatch.setattr("analyzer.collect.collect_run.collect", collected)
    monkeypatch.setattr(collect, "_report", lambda done, output, *, repair: 5 if output else 4)
    return asked


@pytest.mark.needs("distributed")
def test_a_collection_is_asked_for_as_the_options_say(collecting: list[Any], tmp_path: Path) -> None:
    words = ["--since", "2026-11-20", "--until", "2026-11-20T00:00:01", "--retries", "7", "--profile", "strict"]
    result = run("collect", CLEAR, "-o", tmp_path / "a" / ".." / "set", *words, "--workers", "2", "--memory", "1GB")
    assert result.exit_code == 5, result.output
    ((keyring,), given), (request, executor) = collecting
    assert not keyring
    keys = given.pop("keys")
    assert len(keys) == 16
    assert int(keys, 16) >= 0
    assert given == {"workers": 2, "memory": "1GB", "retries": 7}
    assert executor == "those"
    assert [one.url for one in request.sources] == [str(CLEAR)]
    assert request.job.dataset == str(tmp_path / "set")
    day = 1_795_132_800_000_000_000
    assert request.window == (day, day + 1_000_000_000)
    assert (request.job.retries, request.job.profile, request.job.keys, request.missing) == (7, "strict", keys, [])
    assert request.asked == {
        "sources": str(CLEAR),
        "since": "2026-11-20",
        "until": "2026-11-20T00:00:01",
        "retries": "7",
        "workers": "2",
        "memory": "1GB",
    }


@pytest.mark.needs("distributed")
@pytest.mark.parametrize("words", [(), ("--insecure",)])
def test_a_collection_on_a_cluster_is_asked_for_as_the_options_say(
    words: tuple[str, ...], collecting: list[Any], tmp_path: Path
) -> None:
    result = run("collect", CLEAR, "-o", tmp_path / "set", "--scheduler", "tls://host:1", "--password", "x", *words)
    assert result.exit_code == 5, result.output
    ((keyring, scheduler), given), (request, executor) = collecting
    assert keyring
    assert scheduler == "tls://host:1"
    assert given == {"keys": request.job.keys, "insecure": bool(words)}
    assert executor == ("those", 3)
    assert (request.job.retries, request.job.profile) == (3, "windows")


test_decisions_are_as_they_were_read_through = held(__file__, TABLES)
