"""A case is the analysis it was saved of: every view prints the same, NumPy reads its columns, nothing secret is in it."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from io import BytesIO
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.capture.first_bytes import is_case
from analyzer.core.errors import InputError
from analyzer.core.limits import DEFAULTS
from analyzer.pipeline import case as case_module
from analyzer.pipeline import case_container as container_module
from analyzer.pipeline.case import VERSION, check_case, manifest_of, open_case, write_case
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.audit_engine import Audit
from analyzer.results.analysis import Analysis
from analyzer.results.calls.pdus import Pdus
from analyzer.results.calls.saved_calls import SAVED, SavedCalls, saved_columns
from analyzer.results.saved_analysis import (
    CALLS,
    ENTRIES,
    LOG,
    CaseContents,
    _SavedState,
    dump,
    load,
)
from analyzer.screens.formats.view_writer import json_lines
from analyzer.screens.views.audit import AuditView
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts, Sessions
from analyzer.screens.views.show import Show
from analyzer.screens.views.stats import Stats
from analyzer.screens.views.timeline import Timeline
from analyzer.screens.views.view_type import View
from benchmarks import traffic
from tests.analyses import analysis_of_file
from tests.build.calls import Calls, analysis_of
from tests.build.cases import contents, entries_of, kept, with_columns, with_tables, written
from tests.commands.test_all_commands import PCQ, SECRETS, run
from tests.corpus import CORPUS, expected
from tests.records_document import case_document
from tests.secrets import leaks

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = [
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap",
    "v1_samba_impacket_smb311_ntlm_privacy.pcap",
    "n_v1_midstream.pcap",
    "n_v1_reordered.pcap",
    "n_v1_snap160.pcap",
]
# Saved by version 0.1.0, as a case of version 8.
KEPT = Path(__file__).parent / "case-8.pcq"


def read(name: str, *, sealed: bool = False) -> Analysis:
    return analysis_of_file(name, is_keyed=not sealed)


def views(analysis: Analysis) -> Iterator[View]:
    yield Timeline(analysis)
    yield Samples(analysis)
    yield Counters(analysis, exact=True)
    yield Counters(analysis, interval_ns=1_000_000_000)
    yield Sessions(analysis)
    yield Hosts(analysis)
    yield Handles(analysis)
    yield Stats(analysis)
    yield AuditView(Audit(analysis))
    for number in range(1, len(analysis.calls) + 1, 40):
        yield Show(analysis, number)


def saved(analysis: Analysis, path: Path) -> Path:
    with path.open("wb") as out:
        write_case(analysis, out)
    return path


@pytest.mark.parametrize("name", [*NAMES, "sealed"])
def test_every_view_prints_the_same(name: str, tmp_path: Path) -> None:
    before = read(NAMES[0], sealed=True) if name == "sealed" else read(name)
    after = open_case(saved(before, tmp_path / "x.pcq"))
    for one, other in zip(views(before), views(after), strict=True):
        assert b"".join(json_lines(one)) == b"".join(json_lines(other)), type(one).__name__
        assert list(one.lines(100)) == list(other.lines(100)), type(one).__name__


RECORDED = sorted(Path(__file__).parents[1].rglob("*.pcap"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_case_has_every_call_of_its_capture_whatever_it_is_about(path: Path, tmp_path: Path) -> None:
    _comes_back(path, tmp_path / "x.pcq")


@pytest.mark.corpus
def test_a_case_has_every_call_of_a_public_capture(tmp_path: Path) -> None:
    with_pdus = [CORPUS / name for name, counts in expected().items() if counts["dcerpc"]["pdus_by_type"]]
    small = [path for path in with_pdus if path.suffix == ".pcap" and path.stat().st_size < 1_000_000]
    with_calls = [path for path in small if _comes_back(path, tmp_path / "x.pcq")]
    assert len(with_calls) > 50


def _comes_back(path: Path, case: Path) -> bool:
    """Saves a capture and holds its timeline to that of its case. Whether there are calls in it."""
    analysis = analyze([path], failed=lambda _: None)
    before, after = Timeline(analysis), Timeline(open_case(saved(analysis, case)))
    assert b"".join(json_lines(before)) == b"".join(json_lines(after))
    return len(analysis.calls) > 0


def test_a_case_of_a_case_is_the_same_case(tmp_path: Path) -> None:
    first = saved(read(NAMES[0]), tmp_path / "first.pcq")
    second = saved(open_case(first), tmp_path / "second.pcq")
    assert first.read_bytes() == second.read_bytes()


def test_the_manifest_counts_calls_and_what_could_not_be_read(tmp_path: Path) -> None:
    case = tmp_path / "x.pcq"
    run("save", CAPTURES / "n_pcq_dropseg.pcap", "-o", case)
    manifest, analysis = manifest_of(case), open_case(case)
    assert (manifest.calls, manifest.problems) == (len(analysis.calls), len(analysis.problems))
    assert manifest.problems > 0
    assert manifest.options == {"engine": "own"}


def test_the_manifest_states_the_options_that_decide_what_was_read(tmp_path: Path) -> None:
    case = tmp_path / "x.pcq"
    bounds = ["--read-frames", "400", "--read-until", "2h"]
    run("save", PCQ, "--secrets", SECRETS, *bounds, "--metadata", KEPT, "--redact", "-o", case)
    options = manifest_of(case).options
    assert list(options) == ["engine", "read-frames", "read-until", "metadata", "redact"]
    assert (options["read-frames"], options["read-until"], options["redact"]) == ("400", "2h", "")


def test_a_case_is_read_without_the_layers() -> None:
    """They are what takes a command longest to start."""
    code = (
        "import atexit, sys; sys.argv[1:] = ['sessions', {case!r}, '--format', 'jsonl']\n"
        "atexit.register(lambda: print(*[name for name in sys.modules if name.startswith('analyzer.')], file=sys.stderr))\n"
        "from analyzer.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code.format(case=str(KEPT))], capture_output=True, text=True, check=False, timeout=600
    )
    loaded = set(done.stderr.split())
    assert "analyzer.pipeline.case" in loaded
    assert not loaded & {
        "analyzer.transport.smb.smb_layer",
        "analyzer.capture.capture_reader",
        "analyzer.transport.rpc.rpc_layer",
        "analyzer.screens.views.audit",
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from((0, 1, 3, 5, 6, 7)),
            st.sampled_from((0, 1, 40, 3000)),
            st.sampled_from((0, 4, 2048, 2049, 60_000)),
            st.binary(max_size=1),
        ),
        max_size=8,
    )
)
def test_whatever_is_saved_opens_and_prints_the_same(asked: list[tuple[int, int, int, bytes]]) -> None:
    make = Calls()
    calls = [make.exchange(opnum, data * size, data * length) for opnum, size, length, data in asked]
    before = analysis_of(*calls)
    with TemporaryDirectory() as folder:
        path = saved(before, Path(folder) / "x.pcq")
        check_case(path)
        after = open_case(path)
        assert b"".join(json_lines(Timeline(before))) == b"".join(json_lines(Timeline(after)))


@pytest.mark.parametrize("shape", ["connections", "pipes"])
def test_what_many_connections_and_pipes_leave_is_opened_again(shape: str, tmp_path: Path) -> None:
    """Their sessions and binds are alike. Packed, they became a fortieth, and nobody read a state that became so much."""
    many = analysis_of(Calls().open_query())
    session = read(NAMES[0]).sessions[0]
    bound = read(NAMES[0]).bounds[0]
    if shape == "connections":
        many = replace(many, sessions=tuple(replace(session, number=number) for number in range(8000)))
    else:
        many = replace(many, bounds=(bound,) * 16_000)
    found = open_case(saved(many, tmp_path / "x.pcq"))
    assert sum(map(len, contents(tmp_path / "x.pcq").values())) > 2 << 20
    assert (tuple(found.sessions), tuple(found.bounds)) == (many.sessions, many.bounds)
    # Some of them are read alone.
    assert (found.sessions[7990:], found.bounds[15_990:]) == ([*many.sessions[7990:]], [*many.bounds[15_990:]])


def test_a_large_conversation_of_many_clients_is_saved_and_opened(tmp_path: Path) -> None:
    """As `collect` makes of files with the same addresses: thousands of calls of hundreds of clients."""
    size = traffic.repeated(tmp_path / "x.pcap", 4 << 20, PCQ)
    assert size > 10_000
    analysis = analyze([tmp_path / "x.pcap"], Keyring.load(SECRETS), pdus=False)
    found = open_case(saved(analysis, tmp_path / "x.pcq"))
    assert len(found.calls) == len(analysis.calls) > 2000
    assert [call.method for call in found.calls] == [call.method for call in analysis.calls]


def test_save_says_so_where_what_it_wrote_does_not_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(out: IO[bytes], manifest: bytes, entries: Any) -> None:
        made = BytesIO()
        container_module.write(made, manifest, entries)
        data = bytearray(made.getvalue())
        data[data.index(b"ARROW1") + 50] ^= 1
        out.write(data)

    monkeypatch.setattr(case_module, "write", write)
    done = run("save", PCQ, "--secrets", SECRETS, "-o", tmp_path / "x.pcq")
    assert (done.exit_code, list(tmp_path.iterdir())) == (1, [])
    why = "what was written does not read back (is a damaged case: tables/calls.arrow is not what was written)"
    assert why in str(done.exception)


def test_the_manifest_says_what_it_was_made_of(tmp_path: Path) -> None:
    case = tmp_path / "x.pcq"
    run("save", PCQ, "--secrets", SECRETS, "-o", case)
    manifest = manifest_of(case)
    assert (manifest.format, manifest.version, manifest.files) == ("pcq-case", VERSION, (str(PCQ),))
    assert manifest.digests[0].size == PCQ.stat().st_size
    assert manifest.limits["stub"] == DEFAULTS.stub
    assert tuple(entry.name for entry in manifest.entries) == tuple(dump(open_case(case)).entries) == ENTRIES
    assert is_case(case)
    assert not is_case(PCQ)


def test_other_programs_read_a_case_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of docs/case-file.md, run in order, with a case of the name they have."""
    monkeypatch.chdir(tmp_path)
    Path("x.pcq").write_bytes(KEPT.read_bytes())
    with zipfile.ZipFile("x.pcq") as archive:
        archive.extractall("x")
    page = (Path(__file__).parents[2] / "docs" / "case-file.md").read_text()
    examples = [text for text in re.findall(r"```python\n(.*?)```", page, re.S) if "import" in text]
    assert len(examples) == 2
    names: dict[str, Any] = {}
    for example in examples:
        exec(example, names)
    calls = open_case(KEPT).calls
    expected = Counter((call.client.ip, call.server.ip, call.method) for call in calls)
    refused = Counter((call.client.ip, call.server.ip, call.method) for call in calls if call.status)
    rows = {row[:3]: row[3:] for row in names["asked"].fetchall()}
    assert {key: (count, failed) for key, (count, failed, _) in rows.items()} == {
        key: (count, refused[key]) for key, count in expected.items()
    }
    for key, (_, _, ms) in rows.items():
        took = [call.latency_ns for call in calls if (call.client.ip, call.server.ip, call.method) == key]
        assert ms == pytest.approx(median(one for one in took if one is not None) / 1e6)
    assert names["failed"]["status"].to_list() == [call.status for call in calls if call.status]
    assert names["failed"]["first_time"].dt.epoch("ns").to_list() == [call.time_ns for call in calls if call.status]
    assert names["sessions"].to_pylist() == [
        {"number": one.number, "dialect": one.dialect} for one in open_case(KEPT).sessions
    ]


def test_the_page_lists_all_tables_and_columns(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "case-file.md").read_text()
    assert case_document(page) == page
    listed = {name for row in re.findall(r"^\| (`.*?) \| ", page, re.M) for name in re.findall(r"`(\w+)`", row)}
    with zipfile.ZipFile(KEPT) as archive:
        archive.extractall(tmp_path)
    for path in (tmp_path / "tables").iterdir():
        assert path.stem in listed
        pl.read_ipc(path)
    sides = re.compile("^(request|response)_")
    columns = pl.read_ipc_schema(tmp_path / "tables" / "calls.arrow")
    described = re.findall(r"^\| `(\S+)` \| (?:number|time)", page, re.M)
    assert list(dict.fromkeys(sides.sub("*_", name) for name in columns)) == described


def test_no_secret_is_in_it(tmp_path: Path) -> None:
    for name, data in contents(saved(read(NAMES[0]), tmp_path / "x.pcq")).items():
        assert not leaks(data), name


def test_a_case_that_was_kept_still_opens() -> None:
    """When this fails, cases that people saved no longer open: raise the version."""
    assert manifest_of(KEPT).version == VERSION == 8
    analysis = open_case(KEPT)
    assert len(analysis.calls) == 103
    assert sum(1 for _ in Counters(analysis).records()) > 0
    assert list(Timeline(analysis).lines(100))


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5, 6, 7, 99])
def test_a_case_of_another_version_is_refused_in_a_sentence(version: int, tmp_path: Path) -> None:
    path = written(tmp_path / "x.pcq", contents(KEPT), version=version)
    assert refusal(path) == f"{path} is a case of version {version}, saved by pcq-analyzer 0.1.0"
    assert f"case of version {version}" in str(run("timeline", path).exception)


def test_a_case_of_another_schema_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for schema in (0, 1, 3):
        assert f"with records of schema {schema}" in refusal(written(tmp_path / "x.pcq", contents(KEPT), schema=schema))


def test_what_is_no_case_is_refused_in_a_sentence(tmp_path: Path) -> None:
    entries = contents(KEPT)
    for changes in ({"format": "pcq-cose"}, {"version": "2"}, {"version": None}, {"frames": []}, {"limits": 5}):
        path = written(tmp_path / "x.pcq", entries, **changes)
        assert "is no case" in refusal(path) or "damaged case: its manifest is none" in refusal(path)
        assert isinstance(run("timeline", path).exception, InputError)
    for text in (b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff"):
        (tmp_path / "manifest.json").write_bytes(text)
        said = "is no case" if text in (b"[]", b"null", b"[" * 100_000) else "damaged case: its manifest is none"
        assert said in refusal(tmp_path)


# ------------------------------------------------------------------------------------------------ hostile cases


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        [side.stub for call in open_case(path).calls for side in (call.request, call.response) if side]
    return str(caught.value)


@pytest.mark.parametrize("name", ["contexts", "smbs", "texts", "steps", "held"])
def test_a_case_that_contradicts_itself_is_a_sentence(name: str, tmp_path: Path) -> None:
    good = saved(read(NAMES[0]), tmp_path / "good.pcq")
    changed = with_tables(dump(open_case(good)), **{name: []})
    assert "damaged" in refusal(written(tmp_path / "x.pcq", entries_of(changed, contents(good)["manifest.json"])))


def test_handles_are_uuids(tmp_path: Path) -> None:
    """The audit looks for the bytes of a query handle in stubs."""
    good = open_case(saved(read(NAMES[0]), tmp_path / "good.pcq"))
    state = next(call.query for call in good.calls if call.query is not None)
    for text in (f"{state.handle[:-1]}g", "7", f"{{{state.handle}}}"):
        view = _SavedState(text, state.number, state.counterset, state.id_source, state.unknown, None, None, {})
        changed = with_tables(dump(good), views=[view] * 1000)
        entries = entries_of(changed, contents(tmp_path / "good.pcq")["manifest.json"])
        assert f"views cannot be read ({text} is no UUID)" in refusal(written(tmp_path / "x.pcq", entries))


def test_calls_that_are_none_are_a_sentence(tmp_path: Path) -> None:
    entries = contents(KEPT)
    for log in (b"", bytes(len(entries[LOG])), entries[LOG][:-1], b"\xc1" * len(entries[LOG])):
        assert "damaged" in refusal(written(tmp_path / "x.pcq", {**entries, LOG: log}))


def test_calls_have_as_many_bytes_as_they_state(tmp_path: Path) -> None:
    """36 kB whose calls all were the same record took half a minute and printed 1.6 GB."""
    analysis = open_case(KEPT)
    table = analysis.calls.table
    for count in (1 << 10, 1 << 16):
        same = with_columns(dump(analysis), {name: [table.number(name, 0)] * count for name in SAVED})
        assert "damaged" in refusal(written(tmp_path / "x.pcq", entries_of(same, contents(KEPT)["manifest.json"])))
    for count in (1 << 62, -1):
        entries = contents(KEPT)
        manifest = json.loads(entries["manifest.json"])
        manifest["tables"]["calls"]["rows"] = count
        path = written(tmp_path / "x.pcq", {**entries, "manifest.json": json.dumps(manifest).encode()})
        assert "damaged" in refusal(path)


@pytest.mark.parametrize("opnum", [-(1 << 31), -7, 1 << 17, (1 << 31) - 1])
def test_a_method_of_any_number_is_of_its_own_interface(opnum: int) -> None:
    facts, entries = kept(with_columns(dump(open_case(KEPT)), {"opnum": np.full(103, opnum, np.int32)}))
    assert list(Stats(load(facts, entries)).lines(100))


@pytest.mark.parametrize("name", [*NAMES, "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_frag256.pcap"])
def test_calls_that_were_saved_are_read_as_rows_where_those_of_the_capture_are(name: str, tmp_path: Path) -> None:
    before = read(name)
    after, numbers = open_case(saved(before, tmp_path / "x.pcq")), range(1, len(before.calls) + 1)
    as_rows = [one is not None for one in before.calls.held(numbers)]
    assert [one is not None for one in after.calls.held(numbers)] == as_rows
    assert any(as_rows) or not before.calls
    for calls in (before.calls, after.calls):
        stated = [(calls.frames(number), calls.rare(number).reason, calls.rare(number).key) for number in numbers]
        assert stated == [(call.frames, call.reason, call.key) for call in before.calls]


def test_buffers_lie_in_the_bytes_of_their_calls() -> None:
    beyond = np.full(103, 1 << 30, SAVED["response_buffer_stop"].form)
    facts, entries = kept(with_columns(dump(open_case(KEPT)), {"response_buffer_stop": beyond}))
    assert (load(facts, entries).calls.table.buffers("response")[0] == -1).all()
    assert (open_case(KEPT).calls.table.buffers("response")[0] >= 0).any()


@cache
def kept_case() -> CaseContents:
    return dump(open_case(KEPT))


@given(
    st.sampled_from(sorted(SAVED)),
    st.integers(0, 102),
    st.sampled_from((-1, 0, 1, 2, 3, 16, 255, 1 << 31)),
    st.booleans(),
)
def test_what_is_found_to_fit_a_block_at_a_time_fits(name: str, at: int, number: int, is_added: bool) -> None:
    """Where a column was changed, what is printed or said does not depend on how the row was checked."""
    dumped = kept_case()
    there = saved_columns(dumped.facts.tables[CALLS], kept(dumped)[1][f"tables/{CALLS}.arrow"]).column(name)
    values, bounds = there.tolist(), np.iinfo(SAVED[name].form)
    values[at] = max(int(bounds.min), min(number + is_added * values[at], int(bounds.max)))
    facts, entries = kept(with_columns(dumped, {name: np.array(values, SAVED[name].form)}))

    def said() -> tuple[bytes, str]:
        try:
            analysis = load(facts, entries)
            list(analysis.calls)
            return b"".join(json_lines(Timeline(analysis))), ""
        except InputError as error:
            return b"", str(error)

    by_blocks = said()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SavedCalls, "_row_fits", lambda *_: False)
        assert said() == by_blocks


def test_stubs_lie_in_their_pdus(tmp_path: Path) -> None:
    """Bounds beyond the bytes of a PDU, and bytes without an origin, are noticed when the call is looked at."""
    analysis = read("v1_samba_impacket_smb311_ntlm_privacy.pcap")
    entries = contents(saved(analysis, tmp_path / "good.pcq"))
    found = 0
    for number in range(1, len(analysis.calls), 7):
        side = analysis.calls[number].request
        bounds = side.pdus.bounds.tobytes() if side is not None and isinstance(side.pdus, Pdus) else b""
        if bounds and (at := entries[LOG].find(bounds)) >= 0:
            log = bytearray(entries[LOG])
            log[at + 6 : at + 8] = b"\xff\xff"
            found += 1
            assert "damaged" in refusal(written(tmp_path / "x.pcq", {**entries, LOG: bytes(log)}))
    assert found


def test_a_case_goes_to_a_device_and_through_a_pipe(tmp_path: Path) -> None:
    analysis = open_case(KEPT)
    with Path(os.devnull).open("wb") as out:
        write_case(analysis, out)
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source, ThreadPoolExecutor(1) as pool:
        whole = pool.submit(source.read)
        with os.fdopen(writer, "wb") as out:
            write_case(analysis, out)
        assert whole.result() == KEPT.read_bytes()


def test_an_unpacked_case_is_made_of_files(tmp_path: Path) -> None:
    for name in ("manifest.json", "tables/calls.arrow", LOG):
        folder = tmp_path / name.replace("/", "-")
        with zipfile.ZipFile(KEPT) as archive:
            archive.extractall(folder)
        assert len(open_case(folder).calls) == 103
        (folder / name).unlink()
        os.mkfifo(folder / name)
        # One that is never written to would be waited for, for ever.
        assert not is_case(folder) if name == "manifest.json" else "no file" in refusal(folder)
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")
        assert not is_case(folder) if name == "manifest.json" else "no file" in refusal(folder)


def test_what_comes_out_of_a_pipe_is_read_but_once() -> None:
    reader, writer = os.pipe()
    data = (CAPTURES / "n_v1_snap160.pcap").read_bytes()[:60_000]
    os.write(writer, data)
    os.close(writer)
    assert not is_case(f"/dev/fd/{reader}")
    with os.fdopen(reader, "rb") as file:
        assert file.read() == data
