"""`analyze`, `open`, `iter_calls`, `save`: what is handed on of their arguments, and in which forms these may come."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import analyzer as pcq
from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.results.records.sample import BucketRecord
from analyzer.screens.formats.record_tables import reading_schema, table_schema
from analyzer.screens.notebook import notebook_capture as module
from analyzer.screens.notebook.notebook_capture import SECRETS_VARIABLE, Capture, _interval_ns, _keyring, _pseudonyms
from tests import truth
from tests.build.calls import analysis_of
from tests.commands.test_all_commands import HEAVY
from tests.screens.views.test_whole_views import broken, sound

# The smallest of the sample captures.
SMALL = truth.CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_integrity_denied.pcap"


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the pipeline was asked for."""
    asked: list[Any] = []

    def run(sources: Any, keyring: Any = None, **options: Any) -> Any:
        asked.append((sources, keyring, options))
        return analysis_of()

    monkeypatch.delenv(SECRETS_VARIABLE, raising=False)
    monkeypatch.setattr(module, "run", run)
    return asked


DEFAULTS: dict[str, Any] = dict.fromkeys(("metadata_from", "progress", "pseudonyms"))
DEFAULTS |= {"engine": "own", "metadata": [], "with_files": True}
FILE = BytesIO(b"x")


@pytest.mark.parametrize("path", ["x.pcap", Path("x.pcap"), FILE, ["x.pcap", Path("y")], ("x.pcap",)])
def test_a_capture_is_one_source_or_several(path: Any, ran: list[Any]) -> None:
    assert isinstance(pcq.analyze(path), Capture)
    assert ran == [(path if isinstance(path, list | tuple) else [path], None, DEFAULTS)]


def test_what_is_asked_for_is_handed_on(ran: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    monkeypatch.setattr(
        module, "load_metadata", lambda path, keyring, *, engine: read.append((path, keyring, engine)) or str(path)
    )
    keyring = Keyring()
    for given, files in (("a", ["a"]), (Path("a"), ["a"]), (["a", Path("b")], ["a", "b"]), ((), [])):
        pcq.analyze("x", keyring, metadata=given, metadata_from="10.0.0.1", engine="tshark")
        sources, secrets, options = ran.pop()
        asked = {"engine": "tshark", "metadata": files, "metadata_from": "10.0.0.1"}
        assert (sources, options) == (["x"], DEFAULTS | asked)
        assert secrets is keyring
        assert read == [(Path(name), keyring, "tshark") for name in files]
        read.clear()


def test_progress_is_shown_below_a_cell_or_told(ran: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[Any] = []

    @contextmanager
    def watching(sources: Any, *, notebook: bool) -> Iterator[str]:
        watched.append((sources, notebook))
        yield "shown"
        watched.append("done")

    monkeypatch.setattr(module, "watching", watching)

    def told(frames: int, done: int) -> None: ...

    for given, progress, expected in ((False, None, []), (told, told, []), (True, "shown", [(["x"], True), "done"])):
        pcq.analyze("x", progress=given)
        assert ran.pop()[2] == {**DEFAULTS, "progress": progress}
        assert watched == expected


def test_pseudonyms_agree_by_their_key(ran: list[Any]) -> None:
    assert _pseudonyms(False) is None
    with pytest.raises(InputError, match="an empty key is none") as caught:
        _pseudonyms("")
    assert caught.value.hint == "redact=True makes pseudonyms without one."
    one, other, another, chance = (_pseudonyms(given) for given in ("a key", "a key", "b", True))
    names = [each.name("alice") for each in (one, other, another, chance) if each is not None]
    assert names[0] == names[1] != "alice"
    assert len(set(names)) == 3
    pcq.analyze("x", redact=True)
    assert ran.pop()[2]["pseudonyms"] is not None


def test_keys_come_in_any_form_or_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "s.json"
    file.write_text('{"users": [{"username": "alice", "password": "x"}]}')
    monkeypatch.delenv(SECRETS_VARIABLE, raising=False)
    assert SECRETS_VARIABLE == "PCQ_SECRETS"  # as README.md has it
    assert _keyring(None) is None
    keyring = Keyring()
    assert _keyring(keyring) is keyring
    document: Any = {"users": [{"username": "alice", "password": "x"}]}
    monkeypatch.setenv(SECRETS_VARIABLE, str(file))
    for given in (document, file, str(file), None):
        assert [user.username for user in (_keyring(given) or keyring).users] == ["alice"]
    assert _keyring(keyring) is keyring
    monkeypatch.setenv(SECRETS_VARIABLE, "")
    assert _keyring(None) is None


@pytest.mark.parametrize(
    ("interval", "ns"),
    [
        ("5s", 5 * 10**9),
        ("500ms", 500_000_000),
        (5, 5 * 10**9),
        (0.5, 500_000_000),
        (1e-9, 1),
        (timedelta(milliseconds=1500), 1_500_000_000),
        (timedelta(days=1), 86_400 * 10**9),
        (timedelta(microseconds=1), 1000),
    ],
)
def test_an_interval_is_text_seconds_or_a_span(interval: Any, ns: int) -> None:
    assert _interval_ns(interval) == ns


def test_calls_come_one_by_one_from_any_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pcq.analyze(SMALL)
    expected = whole.calls["call"].to_list()
    assert expected
    case = whole.save(tmp_path / "x.pcq")
    for given in (SMALL, str(SMALL), [SMALL], (str(SMALL),), case, [case]):
        assert [call["number"] for call in pcq.iter_calls(given)] == expected
    asked: list[Any] = []

    class Reading:
        def __iter__(self) -> Iterator[Any]:
            return iter(())

    monkeypatch.setattr(
        "analyzer.pipeline.live_reading.stream",
        lambda sources, keyring, *, engine: asked.append((sources, engine)) or Reading(),
    )
    assert list(pcq.iter_calls(SMALL, engine="tshark")) == list(pcq.iter_calls([SMALL, SMALL])) == []
    assert asked == [([SMALL], "tshark"), ([SMALL, SMALL], "own")]


def test_a_case_is_saved_once_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "x.pcq"
    whole = Capture(broken())
    assert whole.save(str(path)) == path
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        whole.save(path)
    assert path.read_bytes() == before
    part = Capture(sound()).handle("q1")
    assert part.save(path, force=True) == path
    opened = pcq.open(path)
    assert isinstance(opened, Capture)
    # Of a part, too, the whole is saved.
    assert opened.analysis.capture.files == sound().capture.files != broken().capture.files
    assert opened.calls.height == len(sound().calls) > part.calls.height
    (tmp_path / "none").write_bytes(b"no case")
    with pytest.raises(InputError, match="none is no case") as caught:
        pcq.open(tmp_path / "none")
    assert caught.value.hint == "analyze() reads captures; save() makes cases of them."


def test_a_case_does_not_take_the_place_of_its_capture(tmp_path: Path) -> None:
    copy = tmp_path / "x.pcap"
    copy.write_bytes(SMALL.read_bytes())
    with pytest.raises(InputError, match="is read by this command"):
        pcq.analyze(copy).save(copy, force=True)
    assert copy.read_bytes() == SMALL.read_bytes()


def test_counters_are_exact_where_that_is_asked_for() -> None:
    plain, exact = (list(reading_schema(exact=exact)) for exact in (False, True))
    whole = Capture(analysis_of())
    assert whole.counters().columns == whole.counters(exact=False).columns == plain
    assert whole.counters(exact=True).columns == exact != plain
    assert whole.counters(interval=1).columns == list(table_schema(BucketRecord))


def test_an_audit_is_under_the_profile_of_windows_unless_it_is_said() -> None:
    whole = Capture(sound())
    assert whole.audit()["coverage"].equals(whole.audit("windows")["coverage"])
    for profile in ("spec", "windows", "strict"):
        found = whole.audit(profile)
        assert list(found) == ["findings", "coverage"]
        assert found["coverage"].height > 100
    with pytest.raises(InputError, match="letter is no profile") as caught:
        whole.audit("letter")
    assert caught.value.hint == "there are spec, windows, strict"


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda cap: cap.series("\\nothing"), "nothing is no counter"),
        *((lambda cap, at=at: cap.call(at), f"there is no call {at}") for at in (0, -1, len(sound().calls) + 1)),
    ],
)
def test_what_means_nothing_is_an_error(ask: Callable[[Capture], object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        ask(Capture(sound()))


def test_a_wide_table_has_a_column_for_each_path_and_the_values_of_counters() -> None:
    import polars as pl

    cap = pcq.analyze(truth.CAPTURES / "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap")
    long, wide = cap.counters(), cap.wide()
    assert set(wide.columns) == {"time", *long["path"].unique()}
    assert wide["time"].n_unique() == wide.height == long["time"].n_unique()
    for path in long["path"].unique().to_list()[:20]:
        first = long.filter(pl.col("path") == path).group_by("time", maintain_order=True).first()
        found = wide.select("time", pl.col(path).alias("found")).join(first, on="time", how="inner")
        assert found["found"].to_list() == found["value"].to_list()


def test_only_what_is_asked_for_is_imported() -> None:
    code = "import sys, analyzer; print(*sys.modules); print(*sorted(analyzer.__all__)); analyzer.nothing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    loaded, names = (line.split() for line in done.stdout.splitlines())
    assert not HEAVY & set(loaded)
    assert names == [
        *("Capture", "InputError", "Keyring", "__version__", "analyze", "diff", "iter_calls", "open", "write_baseline")
    ]
    assert done.stderr.endswith("AttributeError: module 'analyzer' has no attribute 'nothing'\n")
