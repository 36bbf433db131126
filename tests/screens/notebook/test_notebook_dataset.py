"""A dataset in a notebook: which rows each part and each question gives, of two conversations of two servers on two days.

polars asks for tables that are made in threads of its own; here they are made where they are asked for.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from analyzer.collect.dataset_manifest import Manifest, is_dataset
from analyzer.collect.dataset_schemas import PARTITIONED, TABLES
from analyzer.core.errors import InputError
from analyzer.core.output.file_store import StorageError
from analyzer.results.records.sample import BucketRecord
from analyzer.screens.formats.record_tables import reading_schema, table_schema
from analyzer.screens.notebook.notebook_capture import Capture
from analyzer.screens.notebook.notebook_dataset import _IN_CONVERSATION, Dataset, _asked, _in_text, _later, _lazy
from tests.build.capture import T0
from tests.build.rpc import request, response
from tests.collect.sets import collected, dataset_of_two_servers, logon_by_rpc, on_the_wire, put
from tests.written import Tables, held, is_as_written

pytestmark = pytest.mark.needs("distributed")
ROWS = Tables()
# The first conversation has calls on keys alone, the second one on query handles.
OLD, NEW = 1 << 32, 2 << 32


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset_of_two_servers(tmp_path_factory.mktemp("two"))


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are made in this thread, and have the columns that were promised."""

    def register(read: Callable[..., Iterator[pl.DataFrame]], *, schema: Mapping[str, Any]) -> pl.LazyFrame:
        pieces = list(read(None, None, None, None))
        assert all(dict(piece.schema) == dict(schema) for piece in pieces)
        return pl.concat(pieces).lazy() if pieces else pl.LazyFrame(schema=schema)

    monkeypatch.setattr("polars.io.plugins.register_io_source", register)


@pytest.fixture
def ds(place: Path) -> Dataset:
    return Dataset.open(place)


def conversations(ds: Dataset) -> dict[int, Capture]:
    return {number: ds.conversation(number) for number in (1, 2)}


def numbers(ds: Dataset) -> list[int]:
    return ds.calls.collect()["call"].sort().to_list()


# -------------------------------------------------------------------------------------------------------------- parts


def test_a_number_is_that_of_the_conversation_and_of_the_call_in_it(ds: Dataset) -> None:
    assert _IN_CONVERSATION == 0xFFFFFFFF  # the lower 32 bits, as docs/scale.md has it
    assert numbers(ds) == [*range(OLD + 1, OLD + 16), *range(NEW + 1, NEW + 104)]
    assert ds.filter("opnum == 6 and status == 0 and handle == q2-1")._shown == {
        2: [number - NEW for number in numbers(ds.filter("opnum == 6 and status == 0 and handle == q2-1"))]
    }
    found = ds.filter("number in {1, 4294967298, 8589934593}")
    assert found._shown == {1: [2], 2: [1]}
    assert ds.call(NEW + 3)["method"] == conversations(ds)[2].call(3)["method"]
    with pytest.raises(InputError, match="there is no conversation 0"):
        ds.call(3)
    with pytest.raises(InputError, match="there is no call 104"):
        ds.call(NEW + 104)
    with pytest.raises(InputError, match="there is no table nothing"):
        ds.table("nothing")


def test_calls_come_a_conversation_after_the_other(ds: Dataset) -> None:
    assert [call["number"] for call in ds.iter_calls()] == [*range(1, 16), *range(1, 104)]
    part = ds.filter("status != 0")
    expected = [number % OLD for number in numbers(part)]
    assert [call["number"] for call in part.iter_calls()] == expected != []
    assert {cap._paths for _, cap in part._parts()} == {()}
    assert [cap.analysis.part and cap.analysis.part.words for _, cap in part._parts()] == ["filter status != 0"] * 2
    # Times count from the first frame of the dataset.
    first = {cap.analysis.capture.first_time_ns for _, cap in ds._parts()}
    assert first == {ds.manifest.first_time_ns}


def test_parts_are_loaded_of_conversations_with_calls_that_are_shown(ds: Dataset) -> None:
    for part, expected in (
        (ds, [1, 2]),
        (ds.filter("server.ip == 10.0.1.1"), [2]),
        (ds.handle("k1-1"), [1]),
        (ds.filter("opnum == 999"), []),
    ):
        assert [one.number for one, _ in part._parts()] == expected
        # And again each time somebody asks.
        loaded = part._parts()
        assert len(list(loaded)) == len(list(loaded)) == len(expected)


def test_a_conversation_without_a_case_has_no_calls(ds: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = ds._facts
    empty = replace(facts.conversations[0], state=None)
    monkeypatch.setitem(ds.__dict__, "_facts", replace(facts, conversations=[empty, facts.conversations[1]]))
    assert [one.number for one, _ in ds._parts()] == [2]
    with pytest.raises(InputError, match="there is no conversation 1") as caught:
        ds.conversation(1)
    assert caught.value.hint == "conversations() lists them"
    assert ds.conversations()["conversation"].to_list() == [1, 2]


def test_a_case_in_other_storage_is_fetched(ds: Dataset, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []

    class Elsewhere:
        local, root = None, "s3://bucket"

        def fetch(self, name: str, to: Path) -> Path:
            fetched.append(name)
            to.write_bytes((place / name).read_bytes())
            return to

    one = ds._facts.conversations[0]
    monkeypatch.setattr(ds, "_store", Elsewhere())
    assert len(ds.conversation(1).analysis.calls) == 15
    assert fetched == [one.state]


@ROWS.of((None, None), (1, None), (None, 2), (1, 2), (2, 1), (0, -1))
def of_two_bounds_the_narrower_is_taken(one, other):
    return _later(one, other, max)


def test_bounds_of_parts_are_those_of_all(ds: Dataset) -> None:
    first = ds.manifest.first_time_ns
    assert first is not None
    s = 10**9
    for part, since, until in (
        (ds.between(5), first + 5 * s, None),
        (ds.between(until=9), None, first + 9 * s),
        (ds.between(5).between(until=9), first + 5 * s, first + 9 * s),
        (ds.between(until=9).between(5), first + 5 * s, first + 9 * s),
        (ds.between(5, 9).between(4, 10), first + 5 * s, first + 9 * s),
        (ds.between(4, 10).between(5, 9), first + 5 * s, first + 9 * s),
        (ds.between(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)), s, None),
        (ds.between(5, 9).filter("number").handle("q2-1"), first + 5 * s, first + 9 * s),
    ):
        assert part._bounds == (since, until)
    assert ds._bounds == (None, None)
    assert ds.between(5, 9)._words == "since 5 s, until 9 s"
    assert ds.between(until=9)._words == "until 9 s"
    assert ds.between() is ds
    assert ds.between(5).handle("q2-1")._words == "since 5 s, handle q2-1"
    assert ds._facts_of_time.last_time_ns == ds.manifest.last_time_ns


def test_a_bound_is_of_the_nanosecond_and_belongs_to_the_part(ds: Dataset) -> None:
    times = ds.calls.sort("time").select(pl.col("time").to_physical()).collect()["time"].to_list()
    middle = times[14]  # the last of the first day
    assert ds.manifest.first_time_ns is not None
    for change, since, until in ((-1, 104, 14), (0, 104, 15), (1, 103, 15)):
        part = replace_bounds(ds, middle + change, None), replace_bounds(ds, None, middle + change)
        assert tuple(one.calls.collect().height for one in part) == (since, until)


def replace_bounds(ds: Dataset, since: int | None, until: int | None) -> Dataset:
    part = ds.between(0)
    part._bounds = since, until
    return part


def test_servers_are_those_of_the_directories(ds: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ds._servers == ["10.0.1.0", "10.0.1.1"]
    calls = ds.manifest.tables["calls"]
    files = ["calls/day=2026-11-20/server=fe80%3A%3A1/x.parquet", "calls/server=server=b/x", "calls/x/server=a/server"]
    monkeypatch.setitem(ds.manifest.tables, "calls", replace(calls, files=files))
    assert ds._servers == ["a", "fe80::1", "server=b"]


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("server.ip == 10.0.1.1 and status == 0", ("10.0.1.1",)),
        ("server.ip == 10.0.1.0 or status == 0", ("10.0.1.0", "10.0.1.1")),
        ("server.ip == 10.9.9.9", ()),
        ("status == 0", None),
    ],
)
def test_only_servers_that_a_filter_asks_for_are_read(text: str, servers: tuple[str, ...] | None, ds: Dataset) -> None:
    part = ds.filter(text)
    assert part._conditions[0].servers == servers
    rows = ds.calls.collect()
    chosen = {
        "10.0.1.1": rows.filter((pl.col("server_ip") == "10.0.1.1") & (pl.col("status") == 0)),
        "10.0.1.0": rows.filter((pl.col("server_ip") == "10.0.1.0") | (pl.col("status") == 0)),
        "10.9.9.9": rows.clear(),
    }.get(text[13:21], rows.filter(pl.col("status") == 0))
    assert numbers(part) == chosen["call"].sort().to_list()
    assert set(part.samples.collect()["call"]) <= set(numbers(part))


# ------------------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_files_has_its_columns(name: str, ds: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ds.table(name).collect_schema()
    divided = ["day", "server"] if name in PARTITIONED else ["server"] if name == "metadata" else []
    assert list(whole) == [*TABLES[name], *divided]
    monkeypatch.setitem(ds.manifest.tables, name, replace(ds.manifest.tables[name], files=[]))
    empty = ds.table(name).collect()
    assert empty.height == 0
    assert dict(empty.schema) == dict(whole)


def test_rows_of_a_part_are_those_of_its_calls(ds: Dataset) -> None:
    part = ds.handle("q2-1")
    calls = set(numbers(part))
    assert 0 < len(calls) < 103
    for name in ("samples", "counters", "findings"):
        whole = ds.table(name).collect()
        found = part._of_calls(name).collect()
        assert found.height == whole.filter(pl.col("call").is_in(list(calls))).height > 0
        assert ds._of_calls(name).collect().equals(whole)
    assert part.counters().collect().equals(part._of_calls("counters").collect())
    assert ds.sessions.collect().height == 2
    assert part.sessions.collect()["session"].to_list() == [part.calls.collect()["session"][0]]
    assert part.metadata.collect().height == ds.metadata.collect().height == 2


def test_tables_that_are_made_of_a_part_are_those_of_its_conversations(ds: Dataset) -> None:
    part = ds.filter("status != 0")
    caps = {number: cap.filter("status != 0") for number, cap in conversations(ds).items()}
    ours = [text for cap in caps.values() for text in cap.problems["text"]]
    assert [re.sub(r"#\d+", "#", text) for text in part.problems.collect()["text"]] == [
        re.sub(r"#\d+", "#", text) for text in ours
    ]
    assert {int(number) >> 32 for number in re.findall(r"#(\d+)", "".join(part.problems.collect()["text"]))} == {2}
    assert [name[:3] for name in part.handles.collect()["handle"]] == ["q2-"] * sum(
        cap.handles.height for cap in caps.values()
    )
    # The captures are of two days, and so the client of each may be another machine.
    hosts = part.hosts.collect().select("ip", "site").rows()
    assert sorted((ip, site.rpartition("/")[2]) for ip, site in hosts) == [
        ("10.0.0.1", "0.pcap"),
        ("10.0.0.1", "1.pcap"),
        ("10.0.1.0", "0.pcap"),
        ("10.0.1.1", "1.pcap"),
    ]
    assert sorted(hosts) == sorted(ds.hosts.collect().select("ip", "site").rows())
    assert ds.filter("server.ip == 10.0.1.0").hosts.collect()["ip"].to_list() == ["10.0.0.1", "10.0.1.0"]
    for found, expected in (
        (part.triage, {number: cap.triage for number, cap in caps.items()}),
        *((table, {number: cap.stats[name] for number, cap in caps.items()}) for name, table in part.stats.items()),
    ):
        rows = found.collect()
        assert rows["conversation"].to_list() == [number for number in (1, 2) for _ in range(expected[number].height)]
        for number, table in expected.items():
            assert rows.filter(pl.col("conversation") == number).height == table.height
    # Of the whole they are stored.
    for name in ("handles", "problems", "hosts"):
        assert getattr(ds, name).collect().equals(ds.table(name).collect())


def test_logons_of_a_part_are_those_of_its_sessions_and_of_its_calls(tmp_path: Path) -> None:
    """A logon by RPC over TCP is of no session. One without a call is of no part."""
    stub = [(0, request(6, bytes(24))), (1, response(bytes(8)))]
    for number, calls in enumerate((stub, [])):
        talk = on_the_wire([*logon_by_rpc(), *calls], f"10.0.0.{number}", "10.0.9.9", T0, port=49152)
        put(tmp_path / "in" / f"{number}.pcap", talk)
    collected(tmp_path / "in", tmp_path / "out")
    ds = Dataset.open(tmp_path / "out")
    assert (ds.calls.collect().height, ds.logons.collect().height) == (1, 2)
    logons = ds.filter("opnum == 6").logons.collect()
    assert logons.select("logon", "client_ip").rows() == [("rpc1-0", "10.0.0.0")]


def test_counters_are_stored_where_nothing_is_asked_for(ds: Dataset) -> None:
    exact, plain = (list(reading_schema(exact=exact)) for exact in (True, False))
    assert list(ds.counters().collect_schema()) == [*plain, "day", "server"]
    assert list(ds.counters(exact=True).collect_schema()) == exact
    assert list(ds.counters(interval=1).collect_schema()) == list(table_schema(BucketRecord))
    path = "\\" + str(ds.counters().collect()["path"].drop_nulls()[0]).lstrip("\\").partition("\\")[2]
    found = ds.counters(path).collect()
    assert list(found.schema) == plain
    expected = {number: cap.counters(path).height for number, cap in conversations(ds).items() if is_in(cap, path)}
    assert found.height == sum(expected.values()) > 0
    assert {call >> 32 for call in found["call"]} == set(expected)
    part = ds.series(path)
    assert part._words == f"counters {path}"
    assert numbers(part) == sorted(set(found["call"]))
    # The paths of a part are those of its counters, also of a part of it.
    assert part.filter("number").counters().collect().height == found.height
    with pytest.raises(InputError, match="is no counter of this capture"):
        ds.counters("\\nothing")


def is_in(cap: Capture, path: str) -> bool:
    try:
        return cap.counters(path).height > 0
    except InputError:
        return False


def test_an_audit_under_another_profile_is_made_anew(ds: Dataset) -> None:
    assert ds.manifest.options["profile"] == "windows"
    stored, same, strict = ds.audit(), ds.audit("windows"), ds.audit("strict")
    assert list(stored) == list(strict) == ["findings", "coverage"]
    for name in stored:
        assert stored[name].collect().equals(same[name].collect())
        assert "day" not in strict[name].collect_schema()
    caps = {number: cap.audit("strict") for number, cap in conversations(ds).items()}
    found = strict["findings"].collect()
    assert found.height == sum(one["findings"].height for one in caps.values())
    assert {call >> 32 for call in found["call"].drop_nulls()} == {1, 2}
    verdicts = strict["coverage"].collect()
    assert verdicts.height == caps[1]["coverage"].height
    for column in ("checked", "passed", "failed"):
        if column in verdicts.columns:
            assert verdicts[column].sum() == sum(one["coverage"][column].sum() for one in caps.values())
    # Of a part, both are made anew.
    part = ds.handle("q2-1").audit()
    assert not any("day" in part[name].collect_schema() for name in part)
    with pytest.raises(InputError, match="loose is no profile") as caught:
        ds.audit("loose")
    assert caught.value.hint == "there are spec, windows, strict"


def test_a_profile_that_the_dataset_was_collected_with_is_the_one_taken(
    ds: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polars.io.plugins.register_io_source", lambda _, *, schema: pl.LazyFrame(schema=schema))
    for options, stored in (({"profile": "strict"}, "strict"), ({}, "windows")):
        monkeypatch.setattr(ds.manifest, "options", options)
        for profile in (None, "spec", "windows", "strict"):
            is_stored = "day" in ds.audit(profile)["findings"].collect_schema()
            assert is_stored == (profile in (None, stored))


def test_conversations_are_a_table(ds: Dataset) -> None:
    table = ds.conversations()
    assert table.drop("first_time", "last_time").rows() == [
        (1, "10.0.1.0", ["10.0.0.1", "10.0.1.0"], 98, 15),
        (2, "10.0.1.1", ["10.0.0.1", "10.0.1.1"], 592, 103),
    ]
    assert table["first_time"].dt.epoch("ns").min() == ds.manifest.first_time_ns
    assert table["last_time"].dt.epoch("ns").max() == ds.manifest.last_time_ns


# --------------------------------------------------------------------------------------------------- made when asked for


def pieces_made() -> list[pl.DataFrame]:
    """Made in the test: polars starts threads, which a process that is forked later has not."""
    return [pl.DataFrame({"b": [1, 2, 3], "more": 0, "a": ["x", "y", "z"]}), pl.DataFrame({"a": ["v"], "b": [4]})]


# Rows are counted before they are chosen, as polars does.
@ROWS.of(
    *({}, {"columns": ["b"]}, {"columns": ["b", "a"], "rows": 2}, {"rows": 3}, {"rows": 4}, {"rows": 9}),
    *({"columns": ["a"], "least": 2}, {"columns": ["a"], "least": 2, "rows": 3}),
)
def a_table_is_made_piece_by_piece(columns=None, least=None, rows=None):
    """How many are made, and what is in each."""
    given: list[Any] = []
    made: list[pl.DataFrame] = []

    def make() -> Iterator[pl.DataFrame]:
        for piece in pieces_made():
            made.append(piece)
            yield piece

    schema = {"a": pl.String(), "b": pl.Int64()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polars.io.plugins.register_io_source", lambda read, *, schema: given.append((read, schema)))
        _lazy(schema, make)
    ((read, promised),) = given
    assert promised == schema
    pieces = [piece.rows() for piece in read(columns, None if least is None else pl.col("b") > least, rows, None)]
    return [len(made), *pieces]


def test_polars_collects_what_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    table = _lazy({"a": pl.String(), "b": pl.Int64()}, pieces_made)
    assert table.collect().rows() == [("x", 1), ("y", 2), ("z", 3), ("v", 4)]
    assert table.filter(pl.col("b") >= 3).select("a").collect().rows() == [("z",), ("v",)]
    assert table.head(2).collect().rows() == [("x", 1), ("y", 2)]


@ROWS.of(*(([*answers],) for answers in ((1, 2), (None, 2), (1, None), (), (0, None), (None, None), (None,))))
def a_question_means_nothing_where_it_does_in_no_conversation(answers):
    def ask(at: Any) -> int:
        if answers[at] is None:
            raise InputError(f"{at} is none")
        return answers[at]

    try:
        return list(_asked([(f"c{at}", at) for at in range(len(answers))], ask))
    except InputError as error:
        return str(error)


def test_categories_are_text_where_tables_are_put_together() -> None:
    kinds = {"a": pl.Categorical(), "b": pl.Int64(), "c": pl.String(), "d": pl.Enum(["x"])}
    assert _in_text(kinds) == {**kinds, "a": pl.String()}


# ---------------------------------------------------------------------------------------------------------- what is one


def test_what_is_taken_for_a_dataset(tmp_path: Path) -> None:
    found = [is_dataset(tmp_path), is_dataset(tmp_path / "none"), is_dataset("s3://bucket/x"), is_dataset("s3:/x")]
    (tmp_path / "manifest.json").write_text("{}")
    found += [is_dataset(tmp_path), is_dataset(str(tmp_path)), is_dataset(tmp_path / "manifest.json")]
    (tmp_path / "state").mkdir()  # as cases have it
    found.append(is_dataset(tmp_path))
    assert found == [False, False, True, False, True, True, False, False]


def test_what_is_no_dataset_or_gives_no_answer_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="is no dataset: it has no manifest") as caught:
        Dataset.open(tmp_path)
    assert caught.value.hint == "collect writes one."

    def silent(store: object) -> Manifest:
        raise StorageError("no answer")

    monkeypatch.setattr("analyzer.collect.dataset_manifest.read_manifest", silent)
    with pytest.raises(InputError, match=r"^no answer$"):
        Dataset.open(tmp_path)


def test_a_dataset_says_what_it_holds(ds: Dataset, place: Path) -> None:
    text = "118 calls, 1,104 samples, 1,104 counters, 2 sessions, 3 logons, 4 hosts, 3 handles, 1 problems, 57 findings"
    whole = f"Dataset({place}: 2 files, {text}, 402 coverage, 2 metadata"
    assert repr(ds) == f"{whole})"
    assert repr(ds.handle("q2-1").filter("number")) == f"{whole}; shown: handle q2-1, filter number)"
    shown = ds._repr_html_().replace(str(place), ".").replace("<tr>", "\n<tr>")
    is_as_written(Path(__file__).parent / "shown" / "dataset.html.txt", f"{shown}\n")
    assert "<p>shown: handle &lt;b&gt;</p>" in ds.handle("<b>")._repr_html_()


test_bounds_pieces_and_questions_are_as_they_were_read_through = held(__file__, ROWS)
