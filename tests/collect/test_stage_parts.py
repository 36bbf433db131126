"""Parts of the stages of `collect`, each by itself: sources, cutting, numbers of rows, files of rows, what a dataset lists."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from io import SEEK_SET
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest
import zstandard
from msgspec import msgpack
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.collect import analyse_stage as analyse_module
from analyzer.collect import capture_pieces, capture_sources, commit, cut_stage, render_stage
from analyzer.collect.analyse_stage import HELD, _Calls, _most, _number, _sessions
from analyzer.collect.capture_pieces import PieceFile, PiecePlace, PieceWriter, pack
from analyzer.collect.capture_sources import RetriedFile, SourceFile, _reason, find_sources
from analyzer.collect.commit import _DIRECTORIES, _LIBRARIES, _version, manifest_to_commit, tidy
from analyzer.collect.cut_stage import _order, cut_file, flows_met
from analyzer.collect.dataset_manifest import Facts, StageEntry
from analyzer.collect.dataset_schemas import STORED, TABLES, restored, stored
from analyzer.collect.render_stage import (
    NO_DAY,
    NO_SERVER,
    NUMBER_SHIFT,
    ROWS_OF_FILE,
    Numbering,
    _ConversationTables,
    partition,
)
from analyzer.collect.stage_tasks_and_facts import (
    AnalyseTask,
    CutTask,
    FileFacts,
    FilePart,
    Job,
    Judged,
    KindFacts,
    MetTask,
    RowsFacts,
    TableFile,
)
from analyzer.core.errors import InputError
from analyzer.core.frame_ids import frame_id
from analyzer.core.limits import DEFAULTS
from analyzer.core.output.file_store import Store
from analyzer.pipeline.case import open_case
from analyzer.questions.audit.rule_verdicts import Outcome
from analyzer.results.methods import perflib, scmr, winreg
from analyzer.results.records.handle import HandleEvent, HandleRecord
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.formats.record_tables import table_of_records
from analyzer.transport.packet.host_pair_sorter import FrameKind
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import Calls, analysis_of, sealed
from tests.build.capture import NANO, frames_of, pcap
from tests.build.rpc import CHANNEL
from tests.collect.test_stages import A, B, blocks, conversation, file_facts, placed
from tests.written import is_as_written

pytestmark = pytest.mark.needs("distributed")
# An interface that nobody looks at.
EPM = "e1af8308-5d1f-11c9-91a4-08002b14a0fa"


# ------------------------------------------------------------------------------------------------------------- sources


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(2, "x"), "there is no such file"),
        (PermissionError(13, "x"), "you may not read it"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (ValueError("odd"), "odd"),
        (OSError(), "OSError"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_why_a_file_cannot_be_read(error: Exception, words: str) -> None:
    assert _reason(error) == words


class Closing:
    def close(self) -> None:
        raise OSError("gone")


def test_a_file_of_this_machine_is_opened_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")
    (source,) = find_sources([str(tmp_path / "x")], [])
    file = RetriedFile(source, 0)
    assert file.seek(4) == 4
    assert (file.read(2), file.tell()) == (b"45", 6)
    file.close()
    assert (file.seek(1), file.read(2), file.tell(), file.seekable()) == (1, b"12", 3, True)
    file.close()
    # That closing fails is no matter of who has read it.
    file._file = Closing()
    file.close()
    assert file._file is None


@pytest.mark.parametrize(
    ("info", "version"),
    [
        ({"ETag": "e", "mtime": 5}, "e"),
        ({"mtime": 5.5, "created": 1}, "5.5"),
        ({"mtime": 0}, "0"),
        ({"ETag": None, "LastModified": "Monday"}, "Monday"),
        ({"md5Hash": "m", "generation": "7"}, "m"),
        ({"content_md5": "c", "modified": "x"}, "c"),
        ({"generation": 8, "last_modified": "l"}, "8"),
        ({"etag": "low"}, "low"),
        ({}, ""),
    ],
)
def test_what_shows_that_a_file_has_changed(
    info: dict[str, Any], version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Storage:
        protocol = ("s3",)

        def exists(self, path: str) -> bool:
            return True

        def info(self, path: str) -> dict[str, Any]:
            return {"type": "file", "size": 7, **info}

        def unstrip_protocol(self, path: str) -> str:
            return f"s3://{path}"

    monkeypatch.setattr(capture_sources, "file_system", lambda url: (Storage(), "bucket/x"))
    failures: list[InputError] = []
    assert find_sources(["s3://bucket/x"] * 2, failures) == [SourceFile("s3://bucket/x", 7, version)]
    assert failures == []


def test_storage_that_gives_no_answer_is_a_failure_and_a_mistake_of_ours_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def file_system(url: str) -> Any:
        raise {"s3": KeyError("odd"), "/o": OSError(5, "I/O"), "/v": ValueError("null"), "/k": KeyError("k")}[url[:2]]

    monkeypatch.setattr(capture_sources, "file_system", file_system)
    failures: list[InputError] = []
    assert find_sources(["s3://me:secret@b/x", "/o", "/v"], failures) == []
    assert list(map(str, failures)) == [
        "s3://b/x cannot be read: 'odd'",
        "/o cannot be read: I/O",
        "/v cannot be read: null",
    ]
    with pytest.raises(KeyError):
        find_sources(["/k"], failures)


# ----------------------------------------------------------------------------------------------------------------- cut


def job_of(dataset: Path | str) -> Job:
    return Job(str(dataset), DEFAULTS, 0, run="abc")


DATA = pcap(frames_of(5, size=60), magic=NANO)
TIMES = blocks(5).times_ns.tolist()


def cut_of(tmp_path: Path, data: bytes | None, number: int = 3, window: Any = (None, None), wanted: Any = ()) -> Any:
    path = tmp_path / "in.pcap"
    if data is not None:
        path.write_bytes(data)
    job = job_of(tmp_path / "out")
    (source,) = find_sources([str(path)], []) if data is not None else (SourceFile(str(path), 1, "v"),)
    return cut_file(CutTask(job, FileFacts(number, source, window, wanted=sorted(wanted))))


def test_pieces_of_a_file_are_named_by_their_content(tmp_path: Path) -> None:
    facts = cut_of(tmp_path, DATA, wanted={9, 4})
    pieces = (tmp_path / "out" / facts.pieces).read_bytes()
    assert facts.pieces == f"_pieces/{sha256(pieces).hexdigest()[:32]}"
    assert facts.pieces_bytes == len(pieces) == sum(place.length for one in facts.kinds for place in one.places)
    for one in facts.kinds:
        parts = [pieces[place.start : place.start + place.length] for place in one.places]
        assert one.digest == sha256(b"".join(parts)).digest()
    assert facts.met == (len(pieces), 0)
    assert 0 < facts.seconds < process_time()
    # The same frames, whatever their file is called, have the same name.
    assert cut_of(tmp_path, DATA, number=8, wanted={9, 4}).pieces == facts.pieces


def happening(
    made: list[RetriedFile], *, opened: Any = None, ended: str | None = None, sought: str | None = None
) -> type[RetriedFile]:
    """A file to which something happens as soon as it was opened, or which fails at its end, or when it is read again."""

    class Happening(RetriedFile):
        def __init__(self, source: SourceFile, retries: int) -> None:
            super().__init__(source, retries)
            made.append(self)
            if opened is not None:
                opened(Path(source.url))

        def read(self, size: int = -1) -> bytes:
            found = super().read(size)
            self.failure = self.failure or (None if found else ended)
            return found

        def seek(self, offset: int, whence: int = SEEK_SET) -> int:
            self.failure = self.failure or (sought if self.tell() else None)
            return super().seek(offset, whence)

    return Happening


# What is cut, and what happens meanwhile.
CUTS: list[tuple[str, bytes | None, dict[str, Any]]] = [
    ("a whole file", DATA, {"wanted": {9, 4}}),
    ("of a time only its frames are taken", DATA, {"window": (TIMES[1], TIMES[3])}),
    ("of a time without frames none are taken", DATA, {"window": (TIMES[4] + 1, None)}),
    ("times that run back are of both ends", pcap([frames_of(4)[at] for at in (2, 0, 3, 1)], magic=NANO), {}),
    ("a file that is not there", None, {}),
    ("text is no capture", b"no capture", {}),
    ("an empty file is no capture", b"", {}),
    ("frames of a link type that nobody knows", pcap(frames_of(2), magic=NANO, network=147), {}),  # LINKTYPE_USER0
    ("a file that ends within a frame", pcap(frames_of(3), magic=NANO)[:-5], {}),
    ("of one that cannot be read to its end the beginning stands", DATA, {"ended": "the line broke"}),
    ("one that cannot be searched for secrets is read again", DATA, {"sought": "the line broke"}),
    ("one that grows meanwhile", DATA, {"opened": lambda path: path.write_bytes(DATA + b"more")}),
    ("one that is written meanwhile", DATA, {"opened": lambda path: os.utime(path, (1, 1))}),
    ("one that is cut off meanwhile", DATA, {"opened": lambda path: path.write_bytes(DATA[:-4])}),
    ("one that is gone when it was opened", DATA, {"opened": lambda path: path.unlink()}),
]


def cut_lines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What is known of each file, but for what depends on the compression."""
    hidden = {"number", "source", "pieces", "pieces_bytes", "met", "seconds", "known_as"}
    for at, (promise, data, given) in enumerate(CUTS):
        (folder / str(at)).mkdir()
        happens = {name: given[name] for name in given if name in ("opened", "ended", "sought")}
        made: list[RetriedFile] = []
        monkeypatch.setattr(cut_stage, "RetriedFile", happening(made, **happens))
        facts = cut_of(folder / str(at), data, **{name: given[name] for name in given if name not in happens})
        assert [one._file for one in made] == [None] * len(made)
        facts.kinds = [(one.kind.pair, one.has_data, sum(place.frames for place in one.places)) for one in facts.kinds]
        links = {link: tally.frames for link, tally in facts.tallies.unknown_links.items()}
        yield f"{promise}: {'pieces' if facts.pieces else 'nothing is written'}\n"
        plain = FileFacts(3, facts.source, (None, None), "read", [], tallies=facts.tallies)
        for name in facts.__struct_fields__:
            if name not in hidden and getattr(facts, name) != getattr(plain, name):
                yield f"  {name}: {getattr(facts, name)}\n".replace(str(folder / str(at)), ".")
        yield f"  unknown links: {links}\n" if links else ""


def test_what_is_known_of_a_file_is_what_was_read_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_as_written(Path(__file__).with_name("cut.txt"), "".join(cut_lines(tmp_path, monkeypatch)))


def test_a_url_that_nothing_reads_is_a_problem(tmp_path: Path) -> None:
    job = job_of(tmp_path / "out")
    facts = cut_file(CutTask(job, FileFacts(1, SourceFile("nosuch://x", 1, ""), (None, None))))
    assert facts.status == "unreadable"
    assert facts.problems[0].text.startswith("nosuch://x cannot be used")
    for url, words in (("nosuch://x", "cannot be used"), (str(tmp_path / "none"), "No such file")):
        with pytest.raises(InputError, match=words):
            cut_stage.secrets_in(SourceFile(url, 1, ""), 0)


def test_secrets_that_a_file_carries_are_found_and_the_file_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    class Noted(RetriedFile):
        def __init__(self, source: SourceFile, retries: int) -> None:
            super().__init__(source, retries)
            opened.append(f"{Path(source.url).name} {retries}")

        def close(self) -> None:
            opened.append("closed")
            super().close()

    monkeypatch.setattr(cut_stage, "RetriedFile", Noted)
    (tmp_path / "x").write_bytes(b"x")
    for found in ((b"secret",), ()):
        monkeypatch.setattr(cut_stage, "embedded_secrets", lambda file, found=found: found)
        assert cut_stage.secrets_in(SourceFile(str(tmp_path / "x"), 1, ""), 4) == found
        assert opened == ["x 4", "closed"]
        assert cut_of(tmp_path, pcap(frames_of(2))).has_secrets is bool(found)
        opened.clear()


def test_flows_that_a_file_has_met(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    flows = np.array([5, 7, 1 << 63], "<u8")
    Store(str(tmp_path)).write("_pieces/p", b"xxx" + flows.tobytes() + b"rest")
    Store(str(tmp_path)).write("q-old", b"xxx" + flows.tobytes())
    for name in ("_pieces/p", "q-old"):
        task = MetTask(job, 4, name, (3, 24), frozenset({1 << 63, 5, 6}))
        assert flows_met(task) == frozenset({5, 1 << 63})
    assert flows_met(MetTask(job, 4, "q-old", (3, 16), frozenset({1 << 63}))) == frozenset()


def test_kinds_are_in_the_order_of_their_hosts() -> None:
    kinds = [FrameKind(B, None), FrameKind(A, "10.0.0.2"), FrameKind(A, None), FrameKind(A, "10.0.0.1")]
    assert [one for one, _ in sorted(((kind, 0) for kind in kinds), key=_order)] == [
        FrameKind(A, None),
        FrameKind(A, "10.0.0.1"),
        FrameKind(A, "10.0.0.2"),
        FrameKind(B, None),
    ]


def test_pieces_of_a_file_come_in_order_with_its_number(tmp_path: Path) -> None:
    assert (capture_pieces.PIECE_BYTES, capture_pieces.WAITING_BYTES) == (2 << 20, 64 << 20)  # docs/scale.md
    store = Store(str(tmp_path))
    with store.writing("p") as out:
        writer = PieceWriter(out)
        writer.put(b"before")
        for count in (2, 3):
            writer.add(FrameKind(A, None), placed(blocks(count)))
            writer.finish()
    file = PieceFile(store, "p", writer.places[FrameKind(A, None)], 6, 99)
    assert (file.number, file.first_time_ns) == (6, 99)
    found = list(file.items())
    assert [len(block) for block in found] == [2, 3]
    assert found[0].frames.tolist() == [frame_id(6, 1), frame_id(6, 2)]
    assert len(pack([placed(blocks(200))])) < 200 * 60  # compressed


def test_places_and_pieces_are_stored_as_arrays() -> None:
    """Later runs read them: they have no names, which every one of very many would repeat."""
    assert msgpack.encode(PiecePlace(1, 2, 3, 4)) == b"\x94\1\2\3\4"
    stored_piece = msgpack.decode(zstandard.ZstdDecompressor().decompress(pack([placed(blocks(2, 101))])))
    assert (len(stored_piece), stored_piece[0]) == (7, 101)
    assert np.frombuffer(stored_piece[1], "<i8").tolist() == [1, 2]
    assert np.frombuffer(stored_piece[3], "<i8").tolist() == [7, 8]
    assert np.frombuffer(stored_piece[4], "<u4").tolist() == blocks(2).captured.tolist()


# ------------------------------------------------------------------------------------------------------------- analyse


def answering(*servers: str, interface: str = EPM, change: Callable[[Exchange], Exchange] = lambda one: one) -> Any:
    """The calls that these servers answered, one each."""
    channels = (replace(CHANNEL, number=at, server=Endpoint(ip, 445)) for at, ip in enumerate(servers))
    made = [change(Calls(interface, channel=channel).exchange(99, b"q", b"r")) for channel in channels]
    return analysis_of(*made).calls


@pytest.mark.parametrize(("calls", "server"), [("bab", "b"), ("ba", "a"), ("a", "a"), ("", "")])
def test_the_server_of_a_conversation_is_the_one_that_answers_most(calls: str, server: str) -> None:
    assert _Calls(answering(*calls)).server == _most(Counter(calls)) == server


@pytest.mark.parametrize(
    ("change", "readable"),
    [
        (lambda one: one, 4),
        (lambda one: replace(one, state="request-only", response=None), 2),
        (lambda one: replace(one, state="response-only", request=None), 2),
        (sealed, 0),
    ],
)
def test_requests_and_responses_that_are_not_sealed_are_readable(change: Any, readable: int) -> None:
    assert _Calls(answering("a", "b", change=change)).readable == readable


@pytest.mark.parametrize(
    ("interface", "links"),
    [(perflib.INTERFACE, 2), (winreg.INTERFACE, 2), (scmr.INTERFACE, 2), (EPM, 0)],
)
def test_conversations_are_linked_by_servers_that_are_looked_at(interface: str, links: int) -> None:
    found = _Calls(answering("b", "a", "b", interface=interface)).links
    assert found == sorted({_number("server a"), _number("server b")})[:links]


def test_a_session_is_known_by_its_id_and_either_guids_or_server() -> None:
    def session(id: int, binds: bool, server: str = "s", guid: str = "g") -> Any:
        return SimpleNamespace(session_id=id, binds=binds, client_guid=guid, server_guid="h", server=server)

    one, again, other = session(1, False), session(1, True, server="t"), session(2, True)
    has, lacks = _sessions(SimpleNamespace(sessions=[one, again, other]))
    assert has == sorted({_number("session 1 g h"), _number("session 1 s")})
    assert lacks == sorted({_number(f"session {words}") for words in ("1 g h", "1 t", "2 g h", "2 s")})
    assert _sessions(SimpleNamespace(sessions=[])) == ([], [])
    # 56 bits of SHA-256, which MessagePack and every reader of JSON hold.
    assert _number("abc") == 0xBA7816BF8F01CF


def test_a_conversation_is_analysed_of_its_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, keyring = Store(str(tmp_path)), Keyring()
    parts = []
    for number, count, start in ((4, 3, 50), (7, 2, 90)):
        with store.writing(f"p{number}-abc") as out:
            writer = PieceWriter(out)
            writer.add(FrameKind(A, None), placed(blocks(count)))
            writer.finish()
        (places,) = writer.places.values()
        kinds = [KindFacts(FrameKind(A, None), True, places)]
        parts.append(FilePart(number, f"f{number}", start, f"p{number}-abc", kinds, [] if number == 4 else kinds))
    asked: list[Any] = []

    def tickets_in(frames: Any, limits: Any) -> str:
        asked.append([block.frames.tolist() for block in frames])
        return "tickets"

    def analyze_frames(
        frames: Any, facts: Any, keys: Any, limits: Any, *, tallies: Any, tickets: Any, set_back: Any
    ) -> Any:
        assert set_back == []
        found = [number for block in frames for number in block.frames.tolist()]
        asked.append((sorted(found), keys, tickets))
        for frame in found:
            tallies.bad_checksums.note(frame, frame)
        return replace(analysis_of(), capture=facts())

    def keyring_of_documents(path: Path, secrets: Any) -> Keyring:
        if secrets == "odd":
            raise InputError("they are damaged")
        asked.append((path, secrets))
        return Keyring()

    monkeypatch.setattr(analyse_module, "tickets_in", tickets_in)
    monkeypatch.setattr(analyse_module, "analyze_frames", analyze_frames)
    monkeypatch.setattr(
        analyse_module, "secrets_in", lambda file, retries: {"b": "odd"}.get(file.url, f"{file.url} {retries}")
    )
    monkeypatch.setattr(analyse_module, "keyring_of_documents", keyring_of_documents)
    HELD["k"] = keyring
    job = Job(str(tmp_path), DEFAULTS, 2, keys="k")
    try:
        facts = analyse_module.analyse(AnalyseTask(job, 6, (A,), parts))
        assert asked == [
            [[frame_id(1, 1), frame_id(1, 2)]],
            ([*(frame_id(0, at) for at in (1, 2, 3)), frame_id(1, 1), frame_id(1, 2)], keyring, "tickets"),
        ]
        times = blocks(3).times_ns.tolist()
        assert (facts.number, facts.pairs, facts.files, facts.frames, facts.calls) == (6, (A,), [4, 7], 5, 0)
        assert (facts.first_time_ns, facts.last_time_ns, facts.server) == (times[0], times[2], "10.0.0.2")
        assert sorted(facts.tallies.bad_checksums.frames) == [
            *(frame_id(4, at) for at in (1, 2, 3)),
            *(frame_id(7, at) for at in (1, 2)),
        ]
        # There is nothing in it, and no case of it.
        assert (facts.state, facts.state_bytes, facts.shows) == (None, 0, False)
        asked.clear()
        facts = analyse_module.analyse(AnalyseTask(job, 6, (A,), parts, tuple(SourceFile(one, 1, "") for one in "ab")))
    finally:
        del HELD["k"]
    assert asked[0] == (Path("a"), "a 2")
    assert facts.state.startswith("_state/000006-")
    case = tmp_path / facts.state
    assert facts.state_bytes == case.stat().st_size > 0
    whole = open_case(case)
    assert [(one.kind, one.layer, one.text) for one in whole.problems] == [
        ("note", "capture", "the secrets that b carries are not used: they are damaged")
    ]
    assert whole.capture.files == ("f4", "f7")
    # Its rows are in the tables of the dataset.
    with ZipFile(case) as names:
        assert not [name for name in names.namelist() if name.endswith(".parquet")]


# -------------------------------------------------------------------------------------------------------------- render


WORDS = ("text", "message", "expected", "seen")


def numbered() -> Iterator[tuple[str, pl.DataFrame]]:
    """Tables of a conversation, with the numbers that the dataset has in place of its own."""
    table = {"number": [1], "call": [2], "session": [0], "series": [3], "read_number": [4], "opnum": [6]}
    table |= {"previous_call": pl.Series([None], dtype=pl.Int64), "handle": ["q12"], "frames": [[1, 2, 3]]}
    table |= {"name": pl.Series(["x"], dtype=pl.Categorical), "frame_files": [[0, 1, 0]]}
    yield "numbers of a conversation", Numbering(5, [7, 9]).numbered_table("calls", pl.DataFrame(table))
    names = pl.DataFrame({"handle": ["k1", "x", "q1-2", None, "1", "q"]})
    yield "names of handles", Numbering(5, [7, 9]).numbered_table("calls", names)
    nowhere = pl.Series([None, None, None], dtype=pl.List(pl.Int64))
    frames = pl.DataFrame({"request_frames": [[1, 2], [], None], "request_frame_files": nowhere})
    yield "frames of the only file", Numbering(1, [8]).numbered_table("calls", frames)
    for kind in ("problems", "findings", "calls"):
        said = pl.DataFrame({name: ["call #3 and call #12, calls 4, call 3, recall 5", None, ""] for name in WORDS})
        yield f"calls that are named in the words of {kind}", Numbering(2, [0]).numbered_table(kind, said)
    given: dict[str, Any] = dict.fromkeys(HandleRecord.__struct_fields__)
    event: dict[str, Any] = dict.fromkeys(HandleEvent.__struct_fields__)
    events = (
        HandleEvent(**{**event, "call": 1, "channel": 0, "frames": (4, 5), "frame_files": (1, 0)}),
        HandleEvent(**{**event, "call": 2, "channel": 1, "frames": (6, 7), "frame_files": None}),
    )
    known = {"handle": "q12", "channels": (0, 1), "opened": 1, "closed": None, "events": events}
    record = HandleRecord(**{**given, **known})
    both = table_of_records(HandleRecord, [record, replace(record, closed=0, events=())])
    yield "a handle", Numbering(3, [8, 9]).numbered_table("handles", both)


def test_numbers_of_a_conversation_become_those_of_the_dataset() -> None:
    assert NUMBER_SHIFT == 32
    assert dict(numbered())["numbers of a conversation"].schema["name"] == pl.String
    lines = [
        line
        for about, table in numbered()
        for line in (f"{about}\n", *map("  {}\n".format, map(bare, table.to_dicts())))
    ]
    is_as_written(Path(__file__).with_name("numbers.txt"), "".join(lines))


def bare(row: Any) -> Any:
    """A row without what it has not."""
    if isinstance(row, dict):
        return {name: bare(value) for name, value in row.items() if value is not None}
    return [bare(one) for one in row] if isinstance(row, list) else row


@pytest.mark.parametrize(
    ("day", "server", "place"),
    [
        ("2026-11-20", "10.0.0.1", "day=2026-11-20/server=10.0.0.1"),
        ("", "fe80::1", "server=fe80%3A%3A1"),
        (NO_DAY, NO_SERVER, "day=1970-01-01/server=none"),
        ("d", "a/b c_-", "day=d/server=a%2Fb%20c_-"),
    ],
)
def test_directories_of_a_day_and_a_server(day: str, server: str, place: str) -> None:
    assert partition(day, server) == place


def hosts(rows: int) -> pl.DataFrame:
    return pl.DataFrame(schema=dict(TABLES["hosts"])).clear(rows)


def test_rows_are_written_when_they_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ROWS_OF_FILE == 100_000  # docs/scale.md
    monkeypatch.setattr(render_stage, "ROWS_OF_FILE", 10)
    job = job_of(tmp_path)
    store = Store(str(tmp_path))
    facts = RowsFacts("k")
    tables = _ConversationTables(store, job, conversation(12, A), facts)

    def names() -> list[tuple[str, int]]:
        return [(re.sub("[0-9a-f]{32}", "DIGEST", file.name), file.rows) for file in facts.files]

    tables.add("hosts", "d", "a", hosts(4))
    tables.add("hosts", "d", "a", hosts(5))
    assert names() == []
    tables.add("hosts", "d", "a", hosts(1))
    assert names() == [("hosts/day=d/server=a/000012-DIGEST.parquet", 10)]
    # Of many that wait, the largest is written, as soon as there are more than two files of rows.
    for server, rows in (("a", 6), ("b", 7), ("c", 7)):
        tables.add("hosts", "d", server, hosts(rows))
    assert len(facts.files) == 1
    tables.add("hosts", "", "c", hosts(1))
    assert names()[1:] == [("hosts/day=d/server=b/000012-DIGEST.parquet", 7)]
    tables.finish()
    assert names()[2:] == [
        ("hosts/day=d/server=a/000012-DIGEST.parquet", 6),
        ("hosts/day=d/server=c/000012-DIGEST.parquet", 7),
        ("hosts/server=c/000012-DIGEST.parquet", 1),
    ]
    for file in facts.files:
        path = tmp_path / "_staging/abc" / file.name
        assert (file.table, file.bytes, pl.read_parquet(path).height) == ("hosts", path.stat().st_size, file.rows)


@pytest.mark.parametrize(
    ("counts", "excused", "accepted", "reasons"),
    [({}, 0, 0, {}), ({"PASSED": 2}, 0, 0, {}), ({}, 1, 0, {}), ({}, 0, 3, {}), ({}, 0, 0, {"why": 4})],
)
def test_what_an_audit_counted_is_kept_where_it_counted_anything(
    counts: dict[str, int], excused: int, accepted: int, reasons: dict[str, int]
) -> None:
    found = SimpleNamespace(
        counts={Outcome[name]: count for name, count in counts.items()},
        excused=excused,
        accepted=accepted,
        reasons=reasons,
    )
    judged: dict[str, Judged] = {"other": Judged()}
    audit: Any = SimpleNamespace(coverage={"R1": found})
    render_stage.add_judged(judged, audit)
    is_kept = bool(counts or excused or accepted or reasons)
    assert judged == {"other": Judged(), **({"R1": Judged(counts, excused, accepted, reasons)} if is_kept else {})}
    render_stage.add_judged(judged, audit)
    if is_kept:
        assert judged["R1"].excused == 2 * excused
        assert judged["R1"].counts == {name: 2 * count for name, count in counts.items()}


def test_what_was_judged_is_added_up() -> None:
    one = Judged({"PASSED": 1}, 1, 2, {"a": 1})
    one.add(Judged({"PASSED": 2, "FAILED": 3}, 3, 4, {"a": 2, "b": 1}))
    assert one == Judged({"PASSED": 3, "FAILED": 3}, 4, 6, {"a": 3, "b": 1})


# -------------------------------------------------------------------------------------------------------------- commit


def facts_of() -> Facts:
    files = [
        file_facts(
            0, "ssh://me:secret@host/a", pieces="_pieces/a", frames=5, bytes=50, first_time_ns=9, last_time_ns=20
        ),
        file_facts(1, "b", window=(1, 2), frames=2, bytes=7, first_time_ns=4, last_time_ns=11, sha256="f"),
        file_facts(2, "c", status="partial"),
    ]
    rows = [
        RowsFacts("k", [TableFile("calls", "calls/z", 3, 9), TableFile("hosts", "hosts/h", 1, 9)]),
        RowsFacts("k", [TableFile("calls", "calls/a", 4, 9)]),
    ]
    conversations = [conversation(1, A, state="_state/1", rows=rows[0]), conversation(2, B, rows=rows[1])]
    return Facts(files, conversations, [TableFile("hosts", "hosts/all", 2, 9)])


def test_a_manifest_states_what_the_facts_are(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = [StageEntry(stage="cut", tasks=1, failed=0, cpu_s=0, elapsed_s=0, bytes_in=0, bytes_out=0)]
    job = job_of("out")
    stated = {"stages": stages, "skipped": [], "options": {"profile": "spec"}, "asked": {"keys": "x"}}
    found = manifest_to_commit(job, facts_of(), {0: "lab", 1: "in", 2: "in"}, **stated)
    assert (found.run, found.first_time_ns, found.last_time_ns, found.frames, found.bytes) == ("abc", 4, 20, 7, 57)
    assert (found.conversations, found.options, found.asked) == (2, {"profile": "spec"}, {"keys": "x"})
    assert [(one.url, one.status, one.since_ns, one.until_ns, one.problems) for one in found.sources] == [
        ("ssh://host/a", "read", None, None, 0),
        ("b", "read", 1, 2, 0),
        ("c", "partial", None, None, 0),
    ]
    assert [one.site for one in found.sources] == ["lab", "in", "in"]
    assert (found.stages, found.skipped) == (stages, [])
    assert list(found.tables) == list(STORED)
    calls, hosts_ = found.tables["calls"], found.tables["hosts"]
    assert (calls.rows, calls.files) == (7, ["calls/a", "calls/z"])
    assert (hosts_.rows, hosts_.files) == (3, ["hosts/all", "hosts/h"])
    assert (found.tables["samples"].rows, found.tables["samples"].files) == (0, [])
    assert set(found.versions) == set(_LIBRARIES)
    monkeypatch.setattr(commit, "_LIBRARIES", ("polars", "no-such-library"))
    empty = manifest_to_commit(job, Facts(), {})
    assert (empty.first_time_ns, empty.last_time_ns, empty.frames) == (None, None, 0)
    assert list(empty.versions) == ["polars"]
    assert _version("no-such-library") is None


def test_what_a_dataset_does_not_list_is_removed_from_its_directories(tmp_path: Path) -> None:
    assert set(STORED) | {"_pieces", "_state", "_facts", "_staging"} == _DIRECTORIES
    facts = facts_of()
    sizes = {"_pieces/a": 7, "_state/1": 0, "calls/a": 9, "calls/z": 9, "hosts/h": 9, "hosts/all": 9}
    facts.files[0].pieces_bytes = 7
    assert facts.sizes == sizes
    store = Store(str(tmp_path))
    ours = {"_pieces/old", "_state/2", "calls/old/x", "_facts/old", "_staging/r/x", "findings/f"}
    theirs = {"notes.txt", "mine/calls/x", "callsx/y", "_lock/1.json"}
    kept = {*sizes, "_facts/f", "manifest.json"}
    for name in kept | ours | theirs:
        store.write(name, b"x")
    assert tidy(store, {*sizes, "_facts/f"}) == dict.fromkeys(kept | theirs, 1)
    assert set(store.names("")) == kept | theirs
    assert not (tmp_path / "findings").exists()
    tidy(store, ())
    assert set(store.names("")) == theirs | {"manifest.json"}


# -------------------------------------------------------------------------------------------------------------- schemas


def test_times_are_stored_twice_wherever_they_stand() -> None:
    time = pl.Datetime("ns", "UTC")
    for name in TABLES:
        table = pl.DataFrame(schema=dict(TABLES[name])).clear(2)
        there = stored(table)
        assert dict(there.schema) == dict(STORED[name])
        assert restored(there.lazy(), name).collect().equals(table)
        top = [column for column, kind in TABLES[name].items() if kind == time]
        assert [column for column in STORED[name] if column.endswith("_ns") and column not in TABLES[name]] == [
            f"{column}_ns" for column in top
        ]
        assert all(STORED[name][column] == pl.Datetime("us", "UTC") for column in top)
