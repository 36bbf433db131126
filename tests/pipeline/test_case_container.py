"""The container of a case: one form, read at places, and not one bit of it other than it was written."""

import io
import json
import os
import random
import struct
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.capture.first_bytes import is_case
from analyzer.core.byte_log import ReadLog
from analyzer.core.byte_origins import NOWHERE
from analyzer.core.errors import CaseError, InputError
from analyzer.core.traced_bytes import StoredBytes
from analyzer.pipeline import case_container as module
from analyzer.pipeline.case import check_case, manifest_of, open_case, write_case
from analyzer.pipeline.case_container import CaseEntry, Container, EntryReader, _frame, measured, write
from analyzer.results.analysis import Analysis
from analyzer.results.saved_analysis import ENTRIES, LOG
from tests.build.calls import Calls, analysis_of
from tests.build.cases import contents, written

KEPT = Path(__file__).parent / "case-8.pcq"


def made(path: Path, **entries: bytes) -> dict[str, EntryReader]:
    stated = [measured(name, [data]) for name, data in entries.items()]
    with path.open("wb") as out:
        write(out, b"{}", [(one, lambda one=one: [entries[one.name]]) for one in stated])
    return Container(path).entries(stated)


def test_any_program_reads_it_as_a_zip_archive(tmp_path: Path) -> None:
    made(tmp_path / "x", one=b"1" * 100, two=b"")
    with zipfile.ZipFile(tmp_path / "x") as archive:
        assert archive.testzip() is None
        assert [entry.filename for entry in archive.infolist()] == ["manifest.json", "one", "two"]
        assert archive.read("one") == b"1" * 100
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.external_attr for entry in archive.infolist()} == {0o100600 << 16}
        assert archive.comment == f"manifest sha256 {sha256(b'{}').hexdigest()}".encode()


@pytest.mark.parametrize(
    "sizes", [(5, 6), (0xFFFF_FFFE, 1), (0xFFFF_FFFF, 1), (1, 5 << 30, 2), (3 << 30, 3 << 30, 7), (5 << 30, 6 << 30)]
)
def test_long_entries_have_numbers_of_64_bits(sizes: tuple[int, ...], tmp_path: Path) -> None:
    """A sparse file: nothing of this size is written."""
    entries = [CaseEntry(f"e{'abc'[at]}", size, 7, ()) for at, size in enumerate(sizes)]
    frame = _frame(b"manifest", entries)
    with (tmp_path / "x").open("wb") as out:
        for at, piece in frame:
            out.seek(at)
            out.write(piece)
    with zipfile.ZipFile(tmp_path / "x") as archive:
        found = archive.infolist()[1:]
        assert archive.read("manifest.json") == b"manifest"
    assert [(one.filename, one.file_size, one.compress_size, one.CRC) for one in found] == [
        (entry.name, entry.size, entry.size, 7) for entry in entries
    ]
    assert [one.header_offset for one in found] == [at for at, _ in frame[1:-1]]
    # The local header of a long entry has its sizes too (APPNOTE 4.5.3).
    for (_, header), size in zip(frame[1:-1], sizes, strict=True):
        assert (struct.pack("<HHQQ", 1, 16, size, size) in header) is (size >= 0xFFFF_FFFF)


@given(st.binary(max_size=60), st.lists(st.integers(0, 60)), st.integers(1, 20))
def test_an_entry_is_measured_alike_however_it_comes(data: bytes, cuts: list[int], piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", piece)
        places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
        pieces = [data[first:last] for first, last in pairwise(places)]
        found = measured("x", pieces)
        assert found == measured("x", [data])
        assert found.sha256 == tuple(sha256(data[at : at + piece]).hexdigest() for at in range(0, len(data), piece))


@given(
    st.binary(min_size=1, max_size=60),
    st.integers(1, 20),
    st.integers(1, 7),
    st.lists(st.tuples(st.integers(-1, 61), st.integers(-1, 9))),
)
def test_a_part_of_an_entry_is_read_alone(data: bytes, piece: int, part: int, parts: list[tuple[int, int]]) -> None:
    class File:
        case = Path("x.pcq")

        def read(self, place: int, length: int) -> bytes:
            return (b"??" + data)[place : place + length]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", piece)
        patch.setattr(module, "PART", part)
        patch.setattr(module, "_HELD", 1)
        patch.setattr(module, "_HELD_PARTS", 2)
        reader = EntryReader(File(), 2, measured("x", [data]))
        assert reader.read(0, len(data)) == data
        for position, length in parts:
            if 0 <= position <= position + length <= len(data):
                assert reader.read(position, length) == data[position : position + length]
            else:
                with pytest.raises(CaseError, match="x ends before what it holds"):
                    reader.read(position, length)


def test_whoever_reads_here_and_there_reads_little(tmp_path: Path) -> None:
    """Calls that end in another order than they begin lie far from each other; nothing is given out that was not compared."""
    path, data = tmp_path / "x.pcq", random.Random(1).randbytes(8 << 20)
    reader = made(path, log=data)["log"]
    read: list[int] = []
    whole = reader._file.read
    reader._file.read = lambda place, length: read.append(length) or whole(place, length)
    places = [(piece << 20) + 300 * at for at in range(1000) for piece in range(8)]
    assert all(reader.read(place, 300) == data[place : place + 300] for place in places)
    # Each piece twice as a whole, then its first 300,000 bytes in parts.
    assert sum(read) < (8 << 20) * 3
    held = len(read)
    assert reader.read(0, 900_000) == data[:900_000]
    assert len(read) == held + 1
    changed = bytearray(path.read_bytes())
    at = changed.index(data[1 << 20 : (1 << 20) + 99])
    changed[at] ^= 1
    path.write_bytes(changed)
    with pytest.raises(CaseError, match="log is not what was written"):
        reader.read(1 << 20, 10)


def small_case(path: Path) -> Path:
    with path.open("wb") as out:
        write_case(analysis_of(Calls().open_query()), out)
    return path


def flips(path: Path, places: list[int], rng: random.Random) -> Iterator[str]:
    """Flips one bit at each of the places, in turn, and gives what is said of the case then."""
    data = path.read_bytes()
    with path.open("r+b") as file:
        for at in places:
            file.seek(at)
            file.write(bytes([data[at] ^ 1 << rng.randrange(8)]))
            file.flush()
            try:
                check_case(path)
            except InputError as error:
                yield str(error)
            else:
                yield ""
            file.seek(at)
            file.write(data[at : at + 1])


def test_no_bit_of_a_case_can_be_another(tmp_path: Path) -> None:
    """All bytes between the entries, and bytes of each entry."""
    rng = random.Random(7)
    path = small_case(tmp_path / "x.pcq")
    manifest = manifest_of(path)
    text = contents(path)["manifest.json"]
    places = []
    for at, piece in _frame(text, manifest.entries):
        length = len(piece) if at else 60
        places += range(at, at + length)
    places += rng.sample(range(60, len(text)), 150)
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist()[1:]:
            start = entry.header_offset + 30 + len(entry.filename)
            places += {start, start + entry.file_size - 1, *(start + rng.randrange(entry.file_size) for _ in range(20))}
    assert check_case(path) == manifest
    said = list(flips(path, places, rng))
    assert len(said) > 1500
    missed = [place for place, one in zip(places, said, strict=True) if not one]
    assert missed == []
    assert check_case(path) == manifest


def test_each_entry_is_checked_when_it_is_used(tmp_path: Path) -> None:
    data = KEPT.read_bytes()
    with zipfile.ZipFile(KEPT) as archive:
        entries = {one.filename: one.header_offset + 40 + len(one.filename) for one in archive.infolist()}
    tables = manifest_of(KEPT).tables
    empty = {f"tables/{name}.arrow" for name, table in tables.items() if not table.rows}
    for name, at in entries.items():
        if name in empty:
            continue  # nothing of it is used
        path = tmp_path / "x.pcq"
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(InputError, match=r"is a damaged case|is no case"):
            check_case(path)
        with pytest.raises(InputError, match=r"is a damaged case|is no case"):
            read_whole(open_case(path))


def read_whole(analysis: Analysis) -> None:
    """Looks at all that an analysis holds."""
    shared = analysis.calls.table.shared
    of_calls = analysis.calls, analysis.calls.states, shared.contexts, shared.smbs, shared.handles
    names = "problems sessions bounds pdus features marks logons flow_links catalogs name_tables"
    for values in (*of_calls, *(getattr(analysis, name) for name in names.split())):
        list(values)


def test_cases_that_are_cut_or_go_on_are_refused(tmp_path: Path) -> None:
    data, path = small_case(tmp_path / "x.pcq").read_bytes(), tmp_path / "y.pcq"
    for length in (43, 44, 50, 1000, len(data) - 100, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(CaseError, match="is a damaged case"):
            open_case(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(CaseError, match="it goes on behind its end"):
        open_case(path)


def test_a_case_that_another_process_shortens_is_an_error_of_its_reading(tmp_path: Path) -> None:
    """A file that is mapped would end the program by a signal."""
    path = tmp_path / "x.pcq"
    path.write_bytes(KEPT.read_bytes())
    analysis = open_case(path)
    os.truncate(path, 3 << 10)
    with pytest.raises(CaseError, match="it ends before it should"):
        len([call.method for call in analysis.calls])


def test_what_another_process_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.pcq"
    path.write_bytes(KEPT.read_bytes())
    analysis = open_case(path)
    with zipfile.ZipFile(path) as archive:
        at = archive.getinfo(LOG).header_offset + 1000
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes(100))
    with pytest.raises(CaseError, match=f"{LOG} is not what was written"):
        len([call.method for call in analysis.calls])


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "state/../../x", "state", "x/y/z.json", "tables/a.b/c", "", "x\0"]
)
def test_entries_lie_below_their_directory(name: str, tmp_path: Path) -> None:
    entry = {"name": name, "size": 1, "crc32": 0, "sha256": ["0" * 64]}
    (tmp_path / "x").write_bytes(b"1")
    folder = tmp_path / "case"
    folder.mkdir()
    manifest = json.loads(contents(KEPT)["manifest.json"]) | {"entries": [entry]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"an entry that no case has|is not there, or no file"):
        check_case(folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"size": -1}, "an entry that no case has"),
        ({"crc32": -1}, "an entry that no case has"),
        ({"crc32": 1 << 32}, "an entry that no case has"),
        ({"size": 1 << 62}, "states 1 of 4398046511104 digests"),
        ({"sha256": []}, "states 0 of 1 digests"),
        ({"size": 1 << 20}, "has 1 bytes, not 1048576"),
    ],
)
def test_a_manifest_that_states_what_cannot_be_is_refused(
    changes: dict[str, object], said: str, tmp_path: Path
) -> None:
    entry = {"name": "state/x.log", "size": 1, "crc32": 0, "sha256": ["0" * 64]} | changes
    (tmp_path / "state").mkdir()
    (tmp_path / "state/x.log").write_bytes(b"1")
    manifest = json.loads(contents(KEPT)["manifest.json"]) | {"entries": [entry]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CaseError, match=said):
        check_case(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"entries": [entry, entry]}))
    with pytest.raises(CaseError, match="twice" if said.startswith("has") else "is a damaged case"):
        check_case(tmp_path)


def test_an_entry_that_is_missing_is_a_sentence(tmp_path: Path) -> None:
    for name in ENTRIES:
        entries = {one: data for one, data in contents(KEPT).items() if one != name}
        with pytest.raises(CaseError, match=f"{name} is not in it"):
            open_case(written(tmp_path / "x.pcq", entries))


def test_a_manifest_may_be_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody would read is not written."""
    assert (module.MOST_MANIFEST, module.PIECE) == (67_108_864, 1_048_576)
    size = len(contents(KEPT)["manifest.json"])
    monkeypatch.setattr(module, "MOST_MANIFEST", size)
    assert manifest_of(KEPT).calls == 103
    out = io.BytesIO()
    write(out, bytes(size), [])
    assert out.getvalue()
    monkeypatch.setattr(module, "MOST_MANIFEST", size - 1)
    with pytest.raises(CaseError, match=f"its manifest has {size} bytes, more than {size - 1}"):
        manifest_of(KEPT)
    with pytest.raises(CaseError, match=f"its manifest would have {size} bytes"):
        write(io.BytesIO(), bytes(size), [])


def test_archives_of_other_programs_are_refused(tmp_path: Path) -> None:
    """A case that was unpacked and packed again is read from its directory."""
    with zipfile.ZipFile(KEPT) as archive:
        archive.extractall(tmp_path / "case")
        with zipfile.ZipFile(tmp_path / "x.pcq", "w", zipfile.ZIP_DEFLATED) as other:
            other.writestr("manifest.json", archive.read("manifest.json"), zipfile.ZIP_STORED)
            for entry in archive.infolist()[1:]:
                other.writestr(entry.filename, archive.read(entry))
    assert is_case(tmp_path / "x.pcq")
    with pytest.raises(CaseError, match="is a damaged case"):
        open_case(tmp_path / "x.pcq")
    assert len(open_case(tmp_path / "case").calls) == 103


def test_a_case_begins_with_its_manifest(tmp_path: Path) -> None:
    path = tmp_path / "x"
    head = b"PK\3\4" + bytes(26) + b"manifest.json"
    for data, found in (
        (head, True),
        (head + b"more", True),
        (head[:-1], False),
        (b"PK\3\5" + head[4:], False),
        (b"", False),
    ):
        path.write_bytes(data)
        assert is_case(path) is is_case(str(path)) is found
    path.write_bytes(head[:30] + b"xmanifest.json")
    assert not is_case(path)
    assert not is_case(tmp_path)
    (tmp_path / "manifest.json").write_bytes(b"{}")
    assert is_case(tmp_path)
    assert not is_case(tmp_path / "lost")
    assert not is_case(5)
    assert not is_case("a\0b")


def test_parts_of_a_log_are_read_through_the_container(tmp_path: Path) -> None:
    log = ReadLog(made(tmp_path / "x", log=bytes(range(200)))["log"])
    assert StoredBytes.from_store(log, 100, 50, NOWHERE).part(5, 8) == bytes(range(105, 108))
