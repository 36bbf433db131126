"""Parts of a capture, charts, and what a notebook shows: `cap.filter`, `cap.between`, `cap.handle`, `cap.series`, `cap.plot`."""

import re
import shlex
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import analyzer as pcq
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_table import CallTable
from tests import truth
from tests.build.buffers import name_table
from tests.build.calls import analysis_of, winreg
from tests.build.machine import NAMES, Machine
from tests.commands.test_all_commands import records, run
from tests.pyright import complaints
from tests.tree import ROOT

CAPTURE = truth.captures()[0]
CLEAR = next(one for one in truth.captures() if one.file == "v1_samba_impacket_smb311_noauth.pcap")
PATH = r"\Processor Information(_Total)\% User Time"


@pytest.fixture(scope="module")
def cap() -> pcq.Capture:
    return pcq.analyze(CAPTURE.path, secrets=CAPTURE.secrets_path)


def test_calls_stream_in_memory_that_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given out is left behind, with the log it lies in."""
    monkeypatch.setattr("analyzer.capture.capture_reader.FEWEST_BLOCK_BYTES", 4000)
    monkeypatch.setattr("analyzer.capture.capture_reader._MOST_STREAMED", 0)
    monkeypatch.setattr("analyzer.capture.capture_reader.CaptureReader.is_drained", property(lambda self: True))
    monkeypatch.setattr("analyzer.interfaces.resolution.streamed_calls._MOVED", 8)
    append, longest = CallTable.append, [0]

    def noted(self: CallTable, call: Call) -> int:
        at = append(self, call)
        longest[0] = max(longest[0], at + 1)
        return at

    monkeypatch.setattr(CallTable, "append", noted)
    assert sum(1 for _ in pcq.iter_calls(CAPTURE.path)) == 103
    assert 8 <= longest[0] < 40


def test_problems_are_those_of_the_part(cap: pcq.Capture) -> None:
    damaged = int(cap.problems["text"].str.extract(r"call #(\d+)").drop_nulls()[0])
    assert cap.filter(f"number == {damaged}").problems.height == 1 == cap.problems.height
    assert cap.filter(f"number < {damaged}").problems.height == 0
    lost = pcq.analyze(CAPTURE.path.with_name("n_pcq_dropseg.pcap"), secrets=CAPTURE.secrets_path)
    gaps = lost.problems.filter(pl.col("kind") == "gap")
    around = lost.between(until=0.6).problems.filter(pl.col("kind") == "gap")
    assert gaps.height == 3
    assert set(around["text"]) <= set(gaps["text"])
    assert lost.handle("q1").problems.filter(pl.col("kind") == "gap").height == 0


def public() -> dict[str, Any]:
    """Every public name with its object: of the package, and of what its functions give."""
    from analyzer.screens.notebook.charts import Plots

    found: dict[str, Any] = {name: getattr(pcq, name) for name in pcq.__all__ if name != "__version__"}
    for kind in (pcq.Capture, Plots):
        for name, member in vars(kind).items():
            if not name.startswith("_"):
                found[f"{kind.__name__}.{name}"] = (
                    getattr(member, "func", None) or getattr(member, "fget", None) or member
                )
    return found


# What a name gives is in units, which its documentation names.
UNITS = {
    "Capture.calls": ("UTC", "nanoseconds", "bytes"),
    "Capture.samples": ("UTC", "ticks a second"),
    "Capture.counters": ("`/s`", "`%`", "`s`"),
    "Capture.stats": ("nanoseconds", "bytes"),
    "Capture.sessions": ("UTC",),
    "Capture.handles": ("UTC",),
    "Capture.between": ("UTC", "seconds"),
    "Plots.timeline": ("UTC",),
    "Plots.counters": ("unit",),
    "Plots.latency": ("milliseconds",),
    "Plots.polls": ("seconds",),
}


@pytest.mark.parametrize("name", sorted(public()))
def test_a_public_name_says_what_it_gives_and_raises_with_an_example(name: str) -> None:
    text = public()[name].__doc__ or ""
    assert len(text.splitlines()[0]) > 20
    if name not in ("InputError", "Keyring"):
        assert re.search(r"^\s+(cap\b|pcq\.|for call in )", text, re.MULTILINE), "an example"
        assert name == "Capture" or "Raises" in text or "raise" in text, "what is raised"
    for unit in UNITS.get(name, ()):
        assert unit in text


def test_threads_are_spoken_of() -> None:
    assert "thread" in (pcq.Capture.__doc__ or "")


# ------------------------------------------------------------------------------------------------ what is shown


@pytest.mark.needs("node", "npm")
def test_a_users_script_is_well_typed_for_pyright(tmp_path: Path) -> None:
    """All but the line that is wrong on purpose. `make lint` has mypy read the script."""
    script = tmp_path / "script.py"
    written = (ROOT / "tests" / "users_script.py").read_text()
    script.write_text(f"{written}wrong: str = len(methods)\n")
    assert [found["rule"] for found in complaints(script)] == ["reportAssignmentType"]


# Columns of one name that say something else in each table: kinds and grades of different things,
# and counts of what is a flag of a single row.
OF_ONE_TABLE = {"kind", "severity", "confidence", "level", "verdict", "excused", "repeated", "requirement"}


def test_tables_join_on_every_key_that_both_have(cap: pcq.Capture) -> None:
    tables = {
        "calls": cap.calls,
        "samples": cap.samples,
        "counters": cap.counters(),
        "intervals": cap.counters(interval="100ms"),
        "problems": cap.problems,
        "handles": cap.handles,
        "processes": cap.processes,
        "sessions": cap.sessions,
        "hosts": cap.hosts,
        "triage": cap.triage,
        **cap.stats,
        **cap.audit(),
    }
    joined = 0
    for (first, left), (second, right) in combinations(tables.items(), 2):
        for key in set(left.columns) & set(right.columns) - OF_ONE_TABLE:
            assert left.schema[key] == right.schema[key], (first, second, key)
            left.head(9).join(right.head(9), on=key)  # raises where types differ
            joined += 1
    assert joined > 200
    both = ["call", "instance", "counter_name"]
    assert cap.samples.join(cap.counters(), on=both, nulls_equal=True).height >= cap.samples.height


def test_two_captures_are_compared_as_tables(cap: pcq.Capture) -> None:
    same = pcq.diff(cap, cap)
    assert (len(same.differences), len(same.not_compared), same.summary["outcome"]) == (0, 0, "equal")
    assert "no difference" in repr(same)
    found = pcq.diff(cap, cap.filter("opnum == 6"))
    assert set(found.differences["kind"].cast(pl.String)) == {"only-a"}
    assert "only A" in repr(found)


def test_two_moments_and_a_baseline_are_compared_as_the_command_does(cap: pcq.Capture, tmp_path: Path) -> None:
    assert pcq.diff(cap, at=("100s", 200)).summary["outcome"] == "equal"
    assert pcq.diff(cap, at=(0, "100s")).differences.height > 0
    other = pcq.analyze(truth.CAPTURES / "v1_samba_impacket_smb311_noauth.pcap")
    path = pcq.write_baseline(other, tmp_path / "host.json")
    assert pcq.diff(other, baseline=path).summary["outcome"] == "equal"
    found = pcq.diff(cap, baseline=path)
    assert set(found.differences["kind"].cast(pl.String)) <= {"only-b", "changed"}
    assert found.differences.height > 0
    assert repr(found).startswith(f"A  {path}: what is usual")
    with pytest.raises(pcq.InputError, match=r"host\.json"):
        pcq.write_baseline(cap, path)
    for wrong in ({}, {"b": cap, "baseline": path}):
        with pytest.raises(pcq.InputError, match="compares with one thing"):
            pcq.diff(cap, **wrong)


def test_a_machine_at_a_moment_has_a_table_for_each_counterset(cap: pcq.Capture) -> None:
    moment = cap.host(at=cap.host().moments[-2])
    processors = moment["Processor Information"]
    assert processors["instance"].is_unique().all()
    total = processors.filter(pl.col("instance") == "_Total")["% User Time"].item()
    known = cap.counters(PATH).filter(pl.col("time") <= moment.time)["value"].drop_nulls()
    assert total == pytest.approx(known[-1], abs=0.0005)
    assert "<script" not in moment._repr_html_()
    assert cap.host(at=0).cells.height == 0
    for wrong in ("nobody", "10.9.9.9"):
        with pytest.raises(pcq.InputError, match="was not polled"):
            cap.host(wrong)
    with pytest.raises(pcq.InputError, match="no machine"):
        cap.filter("opnum == 1").host()


def test_an_address_names_one_machine_though_another_is_called_by_it() -> None:
    """Clients call the machine at ::1 by 127.0.0.1 in one of these."""
    names = [f"pcq_smbd_scapy_impacket_smb311_ntlm_privacy{more}" for more in ("", "_ipv6")]
    secrets = [truth.CAPTURES / f"{name}.secrets.json" for name in names]
    keyring = pcq.Keyring.load(secrets[0]).merged(pcq.Keyring.load(secrets[1]))
    both = pcq.analyze([truth.CAPTURES / f"{name}.pcap" for name in names], keyring)
    assert [both.host(ip).machine for ip in ("127.0.0.1", "::1")] == ["PERFSRV (127.0.0.1)", "PERFSRV (::1)"]
    with pytest.raises(pcq.InputError, match="several machines"):
        both.host("PERFSRV")


def test_cells_of_a_moment_lead_to_their_bytes() -> None:
    machine, make = Machine(6), winreg()
    events = [make.open_key(), make.query_value("Counter 009", name_table(NAMES))]
    events += [make.query_value("230 238 4 2", machine.step().answer(), room=1 << 20) for _ in range(3)]
    cap = pcq.Capture(analysis_of(*events))
    moment = cap.host()
    assert moment["Process"].select("ID Process", "Working Set").rows() == [
        (pid, one.memory) for pid, one in machine.truth.items()
    ]
    for place in moment.cells.filter(counter="Working Set").iter_rows(named=True):
        side = cap.analysis.calls[place["call"] - 1].response
        raw = side.buffer.data[place["start"] : place["start"] + place["size"]]
        assert int.from_bytes(raw, "little") == place["value"]


def test_a_part_between_two_times_has_the_sessions_of_this_time() -> None:
    """Those that carried no call too, as commands have them with --since."""
    cap = pcq.analyze(ROOT / "tests/transport/smb/captures/refused_smb311.pcap")
    assert (cap.sessions.height, cap.calls.height) == (1, 0)
    first = cap.sessions["first_time"][0]
    assert cap.between(until=first).sessions.height == cap.between(until=first).between(0).sessions.height == 1
    assert cap.between(10**6).sessions.height == cap.filter("opnum == 6").between(0).sessions.height == 0
    assert cap.between(0).filter("opnum == 6").sessions.height == 0


def test_the_commands_of_a_part_select_it() -> None:
    """What `triage` names reads and selects what the part has."""
    cap = pcq.analyze(CLEAR.path, secrets=CLEAR.secrets_path)
    parts = [
        cap.filter("opnum == 17 || status != 0"),
        cap.between(0.27, 0.3),
        cap.between(until=0.28).between(0.27).between(0.275),
        cap.handle("k1").filter("opnum == 17"),
        cap.series(r"\Process(*)\*"),
        cap.only([2, 3], "two"),
    ]
    for part in parts:
        (command,) = {one for one in part.triage["command"] if shlex.split(one)[1] == "sessions"}
        words = [word for word in shlex.split(command)[2:] if word != str(CLEAR.path)]
        shown = run("timeline", CLEAR.path, *words, "--format", "jsonl").stdout
        numbers = [one["number"] for one in records(shown) if one["record"] == "call"]
        assert numbers == part.calls["call"].to_list()
        assert 0 < len(numbers) < cap.calls.height
    # A choice of more calls has no command line.
    given = pcq.analyze(CAPTURE.path, secrets=CAPTURE.secrets_path).only(range(1, 66), "many").analysis.given
    assert given.filter is None
