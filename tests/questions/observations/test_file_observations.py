"""What is observed of files over SMB: each file once, with what became of it."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.questions.observations.file_observations import _MOST_PROGRAMS
from analyzer.questions.observations.observation_making import Scene
from analyzer.questions.observations.observations import observations
from analyzer.results.file import FileRecord, FoundFiles
from analyzer.results.observation import Observation
from tests.build.calls import analysis_of
from tests.build.smb import stream
from tests.transport.smb.test_file_tracker import ACCESS_DENIED, MZ, OPENED, Share, created, digest, found


def observed(*files: FileRecord) -> tuple[Observation, ...]:
    return observations(Scene(replace(analysis_of(), files=FoundFiles(files))), "made.pcap")


def one_file(talk: Share) -> FileRecord:
    (one,) = found(stream(talk.close().sent))
    return one


def test_a_program_for_an_administrative_share_is_grave_and_has_its_digest() -> None:
    written = one_file(Share().opened("a.exe").written(MZ))
    (one,) = observed(written)
    assert (one.severity, one.kind, one.outcome, one.count) == ("high", "program-written", "answered", 1)
    assert one.objects == ("\\\\FILES\\ADMIN$\\a.exe",)
    assert one.detail == f"with {len(MZ)} bytes, SHA-256 {digest(MZ)}"
    assert one.frames == written.frames


def test_other_files_are_counted_by_what_was_done() -> None:
    talks = {
        "file-change": Share().opened("a.txt", path="\\\\FILES\\public").written(b"text"),
        "file-read": Share().opened(path="\\\\FILES\\public", body=created(4, OPENED)).was_read(b"text"),
    }
    for kind, talk in talks.items():
        one = one_file(talk)
        (seen,) = observed(one, one)
        assert (seen.severity, seen.kind, seen.outcome, seen.count) == ("info", kind, "answered", 2)


def test_what_was_done_to_a_file_is_said() -> None:
    (seen,) = observed(one_file(Share().opened("a.txt", path="\\\\FILES\\public").written(b"text")))
    assert seen.detail == "created and written"
    assert "created and wrote files of" in seen.text


def test_what_was_refused_was_tried() -> None:
    (one,) = observed(*found(stream(Share().opened(status=ACCESS_DENIED, body=b"\t\0" + bytes(7)).sent)))
    assert (one.kind, one.outcome, one.reason) == ("file-open", "refused", "STATUS_ACCESS_DENIED")
    assert "tried to open files or directories of" in one.text


def test_very_many_programs_are_one_observation_beyond_the_most() -> None:
    program = one_file(Share().opened("a.exe").written(MZ))
    many = [replace(program, name=f"{number}.exe") for number in range(_MOST_PROGRAMS + 3)]
    seen = observed(*many)
    assert (len(seen), sum(one.count for one in seen)) == (_MOST_PROGRAMS + 1, _MOST_PROGRAMS + 3)
