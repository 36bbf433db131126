"""The stages of `collect` one by one, on facts and files that are made by hand, and a small dataset to the last file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
import pytest
import zstandard
from msgspec.structs import replace

from analyzer.capture.capture_reader import CaptureReader
from analyzer.capture.frame_blocks import FrameBlock, PlacedBlock, heads_of
from analyzer.collect import capture_pieces, capture_sources
from analyzer.collect.capture_pieces import PiecePlace, PieceWriter, pack, unpack
from analyzer.collect.capture_sources import RetriedFile, SourceFile, find_sources, is_capture_name, shown
from analyzer.collect.cut_stage import _inside
from analyzer.collect.dataset_manifest import Facts, Manifest, packed_facts, read_facts, read_manifest
from analyzer.collect.dataset_schemas import STORED
from analyzer.collect.stage_tasks_and_facts import (
    ConversationFacts,
    FileFacts,
    FilePart,
    Judged,
    KindFacts,
    RowsFacts,
    Window,
)
from analyzer.collect.whole_dataset_tables import coverage_of, hosts_of, merged_hosts, problems_of
from analyzer.collect.work_plan import Groups, PieceIndex, grouped, reading, window_of_both
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id
from analyzer.core.limits import DEFAULTS
from analyzer.core.output.file_store import Store
from analyzer.results.records.session_and_host import HostMark, HostName, HostRecord
from analyzer.transport.packet.host_pair_sorter import FrameKind
from tests.build.capture import frames_of, pcap
from tests.collect.sets import CAPTURES, collected, keyring_of, of_dataset, put
from tests.collect.sets import frames_of as captured_frames
from tests.written import is_as_written

pytestmark = pytest.mark.needs("distributed")
A, B, C, D = PAIRS = [("10.0.0.1", f"10.0.0.{number}") for number in (2, 3, 4, 5)]

# ---------------------------------------------------------------------------------------------------------------- plan


def source(name: str, version: str = "1", size: int = 10) -> SourceFile:
    return SourceFile(name, size, version)


def file_facts(number: int, name: str, **changes: Any) -> FileFacts:
    window: Window = changes.pop("window", (None, None))
    return FileFacts(number, source(name), window, changes.pop("status", "read"), [], **changes)


@pytest.mark.parametrize(
    ("sources", "known", "window", "new"),
    [
        ([source("b"), source("a")], [], (None, None), [(0, "b"), (1, "a")]),
        ([source("a"), source("b")], [file_facts(4, "a")], (None, None), [(5, "b")]),
        ([source("a", "2")], [file_facts(4, "a")], (None, None), [(4, "a")]),
        ([source("a", size=11)], [file_facts(4, "a")], (None, None), [(4, "a")]),
        ([source("a")], [file_facts(0, "a", status="partial")], (None, None), [(0, "a")]),
        ([source("a")], [file_facts(0, "a", status="unreadable")], (None, None), [(0, "a")]),
        ([source("a")], [file_facts(0, "a", window=(5, 9))], (5, 9), []),
        ([source("a")], [file_facts(0, "a", window=(5, 9))], (6, 8), []),
        ([source("a")], [file_facts(0, "a", window=(5, 9))], (4, 9), [(0, "a")]),
        ([source("a")], [file_facts(0, "a", window=(5, 9))], (5, 10), [(0, "a")]),
        ([source("a")], [file_facts(0, "a", window=(5, 9))], (None, 9), [(0, "a")]),
        ([source("a")], [file_facts(0, "a", window=(5, 9))], (5, None), [(0, "a")]),
        ([source("a")], [file_facts(0, "a", window=(None, 9))], (5, 9), []),
        ([source("a")], [file_facts(0, "a", window=(5, None))], (5, 9), []),
    ],
)
def test_what_is_new_or_was_not_read_like_that_is_read(
    sources: list[SourceFile], known: list[FileFacts], window: Window, new: list[tuple[int, str]]
) -> None:
    assert [(number, one.url) for number, one in reading(sources, known, window).items()] == new


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ((5, 9), (3, 7), (3, 9)),
        ((5, 9), (6, 10), (5, 10)),
        ((None, 9), (3, 7), (None, 9)),
        ((5, None), (3, 7), (3, None)),
        ((5, 9), (None, None), (None, None)),
    ],
)
def test_times_of_two_runs_are_the_times_of_both(one: Window, other: Window, both: Window) -> None:
    assert window_of_both(one, other) == window_of_both(other, one) == both


def test_pairs_that_are_linked_to_the_same_are_one_group() -> None:
    groups = Groups()
    a, b, c, d = ((0, *pair) for pair in PAIRS)
    groups.join(c, d)
    groups.join(b, d)
    groups.join(c, b)
    assert [groups.conversation_of(one) for one in (a, b, c, d)] == [a, b, b, b]
    groups.join(a, d)
    assert [groups.conversation_of(one) for one in (a, b, c, d)] == [a] * 4
    # Without a file or conversation that links them, each stands alone; a link to a pair that is not there is none.
    linking = file_facts(0, "a", links=[(B, D), (A, C)])
    assert grouped({a, b, d}, [linking], [], {0: 0}) == [(a,), (b, d)]
    assert grouped({d, a}, [], [], {}) == [(a,), (d,)]


def conversation(number: int, pair: tuple[str, str], **changes: Any) -> ConversationFacts:
    return ConversationFacts(number, (pair,), [0], **changes)


@pytest.mark.parametrize(
    ("one", "other", "is_joined"),
    [
        ({"links": [1]}, {"links": [1]}, True),
        ({"links": [1]}, {"links": [2]}, False),
        ({"sessions": [7]}, {"bound": [7]}, True),
        ({"bound": [7]}, {"bound": [7]}, True),
        # Each was set up: they are alike, and not the same.
        ({"sessions": [7]}, {"sessions": [7]}, False),
        ({}, {}, False),
    ],
)
def test_conversations_that_share_a_server_or_a_session_are_one(
    one: dict[str, Any], other: dict[str, Any], is_joined: bool
) -> None:
    for site in (0, 1):
        found = [conversation(1, A, **one), conversation(2, B, **other), conversation(3, C, links=[99])]
        found[1].files = [1]
        nodes = [(0, *A), (site, *B), (0, *C)]
        # At another site, nothing is the same.
        groups = grouped(set(nodes), [], found, {0: 0, 1: site})
        assert sorted(groups) == sorted([tuple(nodes[:2]), (nodes[2],)] if is_joined and not site else zip(nodes))


def test_a_conversation_is_read_from_its_pieces_and_from_those_of_the_kdcs_its_hosts_asked() -> None:
    places = [PiecePlace(at, 1, 1, 10 * at) for at in range(6)]
    kdc = FrameKind(("10.0.0.2", "10.0.0.53"), "10.0.0.2")
    late = file_facts(0, "late.pcap", pieces="p0", opens_ns=50)
    late.kinds = [KindFacts(FrameKind(A, None), True, [places[0]]), KindFacts(kdc, False, [places[1]], b"one")]
    early = file_facts(1, "s3://who:secret@early.pcap", pieces="p1", opens_ns=10)
    early.kinds = [KindFacts(FrameKind(A, None), False, [places[2]]), KindFacts(FrameKind(B, None), False, [places[3]])]
    other = file_facts(2, "other.pcap", pieces="p2", opens_ns=50)
    other.kinds = [KindFacts(kdc, True, [places[4]], b"two")]
    empty, lost = file_facts(3, "empty.pcap", pieces="p3"), file_facts(4, "lost.pcap", opens_ns=1)
    index = PieceIndex([late, early, other, empty, lost], dict.fromkeys(range(5), 0))
    assert [facts.number for facts in index.files] == [1, 0, 2]
    assert index.nodes == {(0, *A), (0, *kdc.pair)}
    parts = index.parts([(0, *A)])
    assert parts == [
        FilePart(1, "s3://early.pcap", 10, "p1", early.kinds[:1], []),
        FilePart(0, "late.pcap", 50, "p0", late.kinds[:1], late.kinds[1:]),
        FilePart(2, "other.pcap", 50, "p2", [], other.kinds),
    ]
    # A pair is not read twice where it is of the conversation itself.
    both = index.parts([(0, *A), (0, *kdc.pair)])
    assert [part.kdc for part in both] == [[], [], []]
    assert [one.content == other.content for one, other in zip(parts, both, strict=True)] == [True, False, False]
    assert [part.number for part in index.parts([(0, *B)])] == [1]
    # Of another site, neither frames nor answers of a KDC are read.
    apart = PieceIndex([late, early, other], {0: 0, 1: 1, 2: 2})
    assert [part.number for part in apart.parts([(0, *A)])] == [0]
    assert apart.nodes == {(0, *A), (2, *kdc.pair)}


# ------------------------------------------------------------------------------------------------------------- sources


def test_names_of_captures() -> None:
    captures = ["a.pcap", "in/a.PCAPNG", "a.cap", "net.etl", "a.pcap.gz", "ring.pcap12", "ring.pcapng1"]
    others = [".a.pcap", "a.txt", "a.pcap/notes.txt", "pcap"]
    assert [path for path in captures + others if is_capture_name(path)] == captures


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/in/a.pcap", "/in/a.pcap"),
        ("/in/a@b.pcap", "/in/a@b.pcap"),
        ("s3://bucket/a@b.pcap", "s3://bucket/a@b.pcap"),
        ("ssh://who:secret@host/a.pcap", "ssh://host/a.pcap"),
        ("ssh://a@b@host/a@c", "ssh://host/a@c"),
    ],
)
def test_what_stands_before_a_host_is_not_shown(path: str, text: str) -> None:
    assert shown(path) == text


# What is named, and the files that are found then.
FOUND: dict[str, tuple[list[str], list[str]]] = {
    "each once, by name": (["c.txt", ".", "*.pcap"], ["a1.pcap", "b.pcap", "c.txt", "deep/d.pcapng"]),
    "files and no directories": (["?*"], ["a1.pcap", "b.pcap", "c.txt"]),
    "any of some letters": (["[ac]1.*"], ["a1.pcap"]),
    "what there is of several": (["lost.pcap", "b.pcap", "*.x", "empty"], ["b.pcap"]),
    "a pattern of directories alone": (["e*y"], []),
}
# Why others are not, and what may help.
FAILED = [
    ("./lost.pcap: there is no such file.", "Check the path; quote it if it has spaces."),
    ("./*.x: no file matches.", "Check the pattern and the directory it starts in."),
    ("./empty: no capture is below it", "Names that end in .pcap, .pcapng, .cap, .pcapng1, .etl are."),
    ("./e*y: no file matches.", "Check the pattern and the directory it starts in."),
]


def test_names_stand_for_files(tmp_path: Path) -> None:
    for name in ("b.pcap", "a1.pcap", "c.txt", "deep/d.pcapng"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * len(name))
    (tmp_path / "empty").mkdir()
    failures: list[InputError] = []
    for promise, (asked, names) in FOUND.items():
        found = find_sources([str(tmp_path / name) for name in asked], failures)
        assert [os.path.relpath(one.url, tmp_path) for one in found] == names, promise
        assert [one.size for one in found] == [len(name) for name in names]
        assert [float(one.version) for one in found] == [(tmp_path / name).stat().st_mtime for name in names]
    assert [(str(one).replace(str(tmp_path), "."), one.hint) for one in failures] == FAILED


class Failing(BytesIO):
    """A file whose reads fail at some attempts, which its storage counts."""

    def __init__(self, storage: Flaky) -> None:
        super().__init__(storage.data)
        self._storage = storage

    def read(self, size: int | None = -1) -> bytes:
        self._storage.attempts += 1
        if self._storage.attempts in self._storage.failing:
            raise self._storage.error
        return super().read(size)

    def close(self) -> None:
        self._storage.log.append("closed")
        super().close()


class Flaky:
    """Storage that opens no file at first, and fails later; `about` is what it states of its file then."""

    protocol = ("memory",)
    failing: Collection[int]
    error: Exception
    unopened: int
    data: bytes
    about: dict[str, Any] | None

    def __init__(self, **given: Any) -> None:
        known = {"failing": (), "error": TimeoutError("too slow"), "unopened": 0, "data": b"0123456789"}
        vars(self).update(known | {"about": {"size": 10, "ETag": 1}} | given)
        self.attempts, self.log = 0, list[str]()

    def invalidate_cache(self) -> None:
        pass

    def info(self, _: str) -> dict[str, Any]:
        if self.about is None:
            raise FileNotFoundError
        return dict(self.about)

    def open(self, path: str, mode: str, **options: Any) -> Any:
        self.unopened -= 1
        if self.unopened >= 0:
            raise ConnectionError("reset")
        self.log.append(f"opened {path} {mode} {options}" if not self.log else "opened")
        return Failing(self)


ALWAYS = range(2, 99)
# What is asked of a file in turn: `read 4`, `seek 2 1`, `tell`, `change`, `close`. `other` is that another file takes its place.
READS: dict[str, tuple[dict[str, Any], int, str]] = {
    "a read that failed is tried again at its place": ({"failing": {2, 3}}, 2, "read 4,read 4,tell,close,read 9"),
    "it goes on in the file that was found only": ({"failing": {2}}, 5, "read 4,other,read 4"),
    "one that goes on failing says why": ({"failing": ALWAYS}, 0, "read 4,read 4,tell,seekable"),
    "it is tried as often as asked": ({"failing": ALWAYS}, 2, "read 4,read 4,tell"),
    "what is not there is not tried again": ({"failing": {1}, "error": FileNotFoundError("x")}, 5, "read -1"),
    "what may not be read is not tried again": ({"failing": {1}, "error": PermissionError("x")}, 5, "read -1"),
    "a file is read from any place but its end": ({}, 0, "seek 3,read 2,seek 2 1,read 1,seek 1 0,read -1,seek 0 2"),
    "it is opened again, after twice as long each time": ({"unopened": 3}, 3, "read -1"),
    "one that cannot be opened says why": ({"unopened": 3}, 2, "read -1"),
    "nothing became of it": ({}, 0, "read -1,change"),
    "storage may state more than its listing did": (
        {"about": {"size": 10, "ETag": 2, "mtime": 1}},
        0,
        "read -1,change",
    ),
    "another file has its size": ({"about": {"size": 10, "ETag": 2}}, 0, "read -1,change"),
    "it has grown": ({"about": {"size": 12, "ETag": 2}, "data": b"0123456789ab"}, 0, "read -1,change"),
    "nothing is stated of it any more": ({"about": {}}, 0, "read -1,change"),
    "of one that is gone what was read stands": ({"about": None}, 0, "read -1,change"),
    "it ends before its size": ({"data": b"01234"}, 0, "read 4,read 4,read 4"),
}


def read_lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for promise, (given, retries, asked) in READS.items():
        storage, waited = Flaky(**given), list[float]()
        monkeypatch.setattr(capture_sources, "file_system", lambda url, storage=storage: (storage, "bucket/a"))
        monkeypatch.setattr(capture_sources.time, "sleep", waited.append)
        yield f"{promise}\n"
        file, found = None, list[str]()
        for word, *numbers in map(str.split, ["open", *asked.split(",")]):
            try:
                if word == "other":
                    storage.about = {"size": 10, "ETag": 2}
                elif file is None:
                    file = RetriedFile(SourceFile("memory://a", 10, "1"), retries)
                else:
                    found.append(f"{word} {' '.join(numbers)}: {getattr(file, word)(*map(int, numbers))!r}")
            except OSError as error:
                found.append(f"{word} {' '.join(numbers)}: {type(error).__name__} {error}")
                if file is None:
                    break
        yield f"  {'; '.join(found)}; failure {file and file.failure}\n"
        yield f"  {storage.attempts} attempts, waited {waited}, {storage.log}\n"


def test_what_is_read_where_storage_fails_is_what_was_read_through(monkeypatch: pytest.MonkeyPatch) -> None:
    assert capture_sources.FIRST_WAIT_S == 0.2  # docs/scale.md
    is_as_written(Path(__file__).with_name("stages.txt"), "".join(read_lines(monkeypatch)))


# -------------------------------------------------------------------------------------------------------------- pieces


def blocks(count: int, link_type: int = 1, size: int = 60) -> FrameBlock:
    (block,) = CaptureReader([BytesIO(pcap(frames_of(count, size=size), network=link_type))])
    assert isinstance(block, FrameBlock)
    return block


def placed(block: FrameBlock) -> Any:
    packed = block.only(np.arange(len(block)))
    keys = np.arange(len(block), dtype=np.int64) + 7
    return PlacedBlock(*(getattr(packed, name) for name in packed.__struct_fields__), keys)


def test_a_piece_is_the_frames_it_was_made_of() -> None:
    one, two = blocks(3), blocks(2, size=70)
    found = unpack(pack([placed(one), placed(two)]), 5)
    for number, expected in enumerate([*map(one.frame, range(3)), *map(two.frame, range(2))]):
        frame = found.frame(number)
        assert frame.frame == expected.frame + frame_id(5, 0)
        rest = ("time_ns", "link_type", "data", "original_length")
        assert [getattr(frame, name) for name in rest] == [getattr(expected, name) for name in rest]
    assert found.keys.tolist() == [7, 8, 9, 7, 8]
    assert found.heads.tolist() == heads_of(found.data, found.starts).tolist()


class _Out(BytesIO):
    pass


@pytest.mark.parametrize(
    ("piece_bytes", "waiting_bytes", "frames"),
    [
        # What is collected is written at the end.
        (10**6, 10**6, {"A": [6], "B": [2]}),
        # Each as soon as it is large enough: a block of 2 frames counts their 120 bytes, and 32 a frame.
        (1, 10**6, {"A": [2, 2, 2], "B": [2]}),
        (2 * 184, 10**6, {"A": [4, 2], "B": [2]}),
        (2 * 184 + 1, 10**6, {"A": [6], "B": [2]}),
        # Where too much waits, the largest is written.
        (10**6, 1, {"A": [2, 2, 2], "B": [2]}),
        (10**6, 3 * 184, {"A": [6], "B": [2]}),
        (10**6, 3 * 184 - 1, {"A": [4, 2], "B": [2]}),
    ],
)
def test_pieces_are_written_when_they_are_large(
    piece_bytes: int, waiting_bytes: int, frames: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture_pieces, "PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(capture_pieces, "WAITING_BYTES", waiting_bytes)
    out = _Out()
    writer = PieceWriter(out)
    kinds = {"A": FrameKind(A, None), "B": FrameKind(B, None)}
    for name in ("A", "B", "A", "A"):
        writer.add(kinds[name], placed(blocks(2)))
    writer.finish()
    found = {name: writer.places[kind] for name, kind in kinds.items()}
    assert {name: [place.frames for place in places] for name, places in found.items()} == frames
    data = out.getvalue()
    every = sorted((place for places in found.values() for place in places), key=lambda place: place.start)
    assert [place.start for place in every] == [0, *(place.start + place.length for place in every[:-1])]
    assert every[-1].start + every[-1].length == len(data)
    for place in every:
        piece = unpack(data[place.start : place.start + place.length], 0)
        assert (len(piece), int(piece.captured.sum())) == (place.frames, place.size)
    assert writer.put(b"rest") == (len(data), 4)
    assert writer.put(b"more") == (len(data) + 4, 4)


def test_frames_of_another_link_type_begin_a_piece() -> None:
    writer = PieceWriter(_Out())
    for link_type in (1, 1, 101, 1):
        writer.add(FrameKind(A, None), placed(blocks(2, link_type)))
    writer.finish()
    assert [place.frames for place in writer.places[FrameKind(A, None)]] == [4, 2, 2]


@pytest.mark.parametrize(
    ("window", "numbers"),
    [((None, None), [0, 1, 2]), ((1, None), [1, 2]), ((None, 1), [0]), ((1, 2), [1]), ((2, 2), []), ((3, None), [])],
)
def test_a_time_begins_with_its_first_moment_and_ends_before_its_last(window: Window, numbers: list[int]) -> None:
    block = blocks(3)
    start = int(block.times_ns[0])
    step = int(block.times_ns[1]) - start
    moments = tuple(None if bound is None else start + bound * step for bound in window)
    assert np.flatnonzero(_inside(block, moments)).tolist() == numbers


# -------------------------------------------------------------------------------------------------- facts and manifest


def test_a_manifest_is_of_this_program_and_this_version(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert read_manifest(store) is None
    manifest = {"format": "pcq-dataset", "version": 5, "program": "9.9", "schema": 1, "run": "r"}
    for changes, words in (
        ({}, None),
        ({"version": 4}, "is a dataset of version 4, which an earlier pcq-analyzer wrote"),
        ({"version": 6}, "is a dataset of version 6, written by pcq-analyzer 9.9"),
        ({"format": "other"}, "its manifest is of something else"),
        ({"run": 5}, "has a damaged manifest"),
        ({"version": "x"}, "has a damaged manifest"),
    ):
        (tmp_path / "manifest.json").write_text(json.dumps(manifest | changes))
        if words is None:
            found = read_manifest(store)
            assert found.run == "r"
        else:
            with pytest.raises(InputError, match=words):
                read_manifest(store)
    for text in (b"[]", b"{", b'{"format": "\xf3x"}', b"[" * 5000):
        (tmp_path / "manifest.json").write_bytes(text)
        with pytest.raises(InputError):
            read_manifest(store)


def test_facts_are_read_as_they_were_written(tmp_path: Path) -> None:
    facts = Facts([file_facts(1, "a", recognised=[5])], [conversation(2, A)], [], (3, None), 7)
    (tmp_path / "facts").write_bytes(packed_facts(facts))
    manifest = Manifest(program="p", schema=1, run="r", facts="facts")
    assert read_facts(Store(str(tmp_path)), manifest) == facts
    packed = [zstandard.compress(data) for data in (b"\xa2\xf3x", b"\x91" * 5000)]
    for data in (b"no zstd", packed_facts(facts)[:-3], *packed):
        (tmp_path / "facts").write_bytes(data)
        with pytest.raises(InputError, match="facts cannot be read"):
            read_facts(Store(str(tmp_path)), manifest)


# -------------------------------------------------------------------------------------------------------------- shared


def host(ip: str, *names: str, **more: Any) -> HostRecord:
    given = {"roles": (), "users": (), "claims": (), "os_versions": (), "dialects": ()} | more
    return HostRecord(ip=ip, names=tuple(HostName(name, "a test") for name in names), **given)


def test_hosts_are_merged_each_thing_once_in_the_order_it_was_stated() -> None:
    found = list(
        merged_hosts(
            [
                host("10.0.0.2", "b", "a", roles=("client",), users=("x",), os_versions=("1",), dialects=("2.1",)),
                host("10.0.0.1", "z"),
                host(
                    "10.0.0.2",
                    "a",
                    "c",
                    roles=("server", "client"),
                    users=("y",),
                    os_versions=("1", "2"),
                    dialects=("3",),
                ),
            ]
        )
    )
    more = {"roles": ("client", "server"), "users": ("x", "y"), "os_versions": ("1", "2"), "dialects": ("2.1", "3")}
    assert found == [host("10.0.0.1", "z"), host("10.0.0.2", "b", "a", "c", **more)]
    named = file_facts(0, "a", names={"10.0.0.9": "nine"})
    other = file_facts(1, "b", names={"10.0.0.9": "of another site"})
    talk = conversation(3, A, rows=RowsFacts("k", hosts=[host("10.0.0.9", "first"), host("10.0.0.1")]))
    of_sites = hosts_of(Facts([named, other], [talk]), {0: 0, 1: 1})
    in_file = "name resolution in the capture file"
    assert [one.ip for one in of_sites[0]] == ["10.0.0.1", "10.0.0.9"]
    assert of_sites[0][1].names == (HostName("first", "a test"), HostName("nine", in_file))
    assert [one.names for one in of_sites[1]] == [(HostName("of another site", in_file),)]


def test_hosts_of_several_captures_that_contradict_each_other_stay_apart() -> None:
    """Networks of two customers, say, that have the same private addresses, in files of one site."""

    def shown(name: str, time_ns: int) -> HostRecord:
        mark = HostMark(kind="NetBIOS name", value=name, frames=(time_ns,), frame_files=(0,))
        times = {"first_time_ns": time_ns, "last_time_ns": time_ns}
        return host("10.0.0.1", name, machine=1, marks=(mark,), **times)

    one, other = merged_hosts([shown("FILES", 1), shown("PRINT", 5), shown("FILES", 9)])
    assert (one.first_time_ns, one.last_time_ns, one.machine, one.apart) == (1, 9, 1, None)
    assert (other.first_time_ns, other.machine, other.apart) == (5, 2, "another NetBIOS name: PRINT, not FILES")
    assert [[name.name for name in host.names] for host in (one, other)] == [["FILES"], ["PRINT"]]


def test_coverage_is_added_up() -> None:
    one = Judged({"PASSED": 2, "FAILED": 1}, 1, 0, {"a": 1, "b": 2})
    other = Judged({"PASSED": 3}, 0, 4, {"b": 1, "c": 9, "d": 1, "e": 1, "f": 5, "g": 1})
    name = "PCQ-3.1.4.1.7-R10"
    records = {record.requirement: record for record in coverage_of([{name: one}, {name: other}])}
    found = records[name]
    assert (found.occurrences, found.passed, found.failed, found.excused, found.accepted) == (6, 5, 1, 1, 4)
    assert list(found.reasons) == ["c", "f", "b", "a", "d"]
    untouched = [record for record in records.values() if record.requirement != name]
    assert {(record.occurrences, record.passed) for record in untouched} == {(0, 0)}
    assert one.counts == {"PASSED": 2, "FAILED": 1}


def test_problems_of_files_come_first_and_are_counted_over_the_whole() -> None:
    file = file_facts(0, "a")
    file.problems = [Problem("unreadable", "capture", (), "one")]
    assert [problem.text for problem in problems_of([file, file_facts(1, "b")], [conversation(1, A)])] == ["one"]


# ------------------------------------------------------------------------------------------------------ a whole dataset

SMALL = "v1_samba_sambapy_krb5sha384_krb5_seal.pcap"


def small(directory: Path, **options: Any) -> Any:
    """A dataset of a capture that lies in two files, of a file that is none, and of one that is not there."""
    link_type, frames = captured_frames(CAPTURES / SMALL)

    given = directory / "in"
    half = len(frames) // 2
    for name, part in (("a.pcap", frames[:half]), ("b.pcap", frames[half:])):
        os.utime(put(given / name, part, link_type), (5, 5))
    (given / "c.pcap").write_bytes(b"no capture")
    os.utime(given / "c.pcap", (5, 5))
    return collected(given, directory / "out", keyring_of(SMALL), run="0123456789ab", **options)


# Files are named by their content, which is another with other versions of libraries.
_KEY = re.compile(r"\b[0-9a-f]{32}\b|_lock/\d+")


def without_chance(manifest: Manifest, directory: Path) -> str:
    """A manifest as text, without what is another on each machine."""
    stages = [replace(one, cpu_s=0.0, elapsed_s=0.0, bytes_in=0, bytes_out=0) for one in manifest.stages]
    plain = msgspec.to_builtins(replace(manifest, stages=stages, versions={}, program="this"))
    for entry in plain["sources"]:
        entry["url"] = os.path.relpath(entry["url"], directory)
    assert plain["limits"] == msgspec.to_builtins(DEFAULTS)
    plain["limits"] = "the defaults"
    for name, table in plain["tables"].items():
        assert table["columns"] == {column: str(kind) for column, kind in STORED[name].items()}
        table["columns"] = f"the {len(STORED[name])} that are stored"
    return _KEY.sub("DIGEST", json.dumps(plain, indent=1).replace(str(directory), ".")) + "\n"


def test_a_small_dataset_is_what_it_was(tmp_path: Path) -> None:
    done = small(tmp_path)
    here = Path(__file__).with_name("small")
    is_as_written(here / "manifest.json", without_chance(done.manifest, tmp_path))
    texts = [problem.text.replace(str(tmp_path), ".") for problem in done.problems]
    lines = [f"{done.read} read, {done.analysed} analysed, {done.rendered} rendered, shows {done.shows}", *texts]
    lines += sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file())
    tables, names = of_dataset(tmp_path / "out")
    lines += [os.path.relpath(name, tmp_path) for name in names]
    for name, table in tables.items():
        rows = repr(table.rows()).replace(str(tmp_path), ".")
        lines.append(f"{name}: {table.height} rows of {table.width}, {crc32(rows.encode()):08x}")
    is_as_written(here / "rows.txt", _KEY.sub("DIGEST", "".join(f"{line}\n" for line in lines)))
