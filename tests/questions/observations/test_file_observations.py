"""What is observed of files over SMB: each file once, with what became of it."""

from msgspec.structs import replace

from analyzer.questions.observations.file_observations import _MOST_PROGRAMS
from analyzer.questions.observations.observation_making import Scene
from analyzer.questions.observations.observations import observations
from analyzer.results.records.observation import Observation
from analyzer.results.records.opened_file import FileRecord, FoundFiles
from tests.build.calls import analysis_of, smb_session
from tests.build.smb import stream
from tests.transport.smb.test_file_tracker import MZ, WRITTEN, digest, found, share_of

PUBLIC = "tree:\\\\FILES\\public"


def observed(*files: FileRecord) -> tuple[Observation, ...]:
    return observations(Scene(replace(analysis_of(), files=FoundFiles(files))), "made.pcap")


def one_file(words: str) -> FileRecord:
    (one,) = found(stream(share_of(f"{words} close").sent))
    return one


def test_a_program_for_an_administrative_share_is_grave_and_has_its_digest() -> None:
    written = one_file(WRITTEN)
    (one,) = observed(written)
    assert (one.severity, one.kind, one.outcome, one.count) == ("high", "program-written", "answered", 1)
    assert one.objects == ("\\\\FILES\\ADMIN$\\a.exe",)
    assert one.detail == f"with {len(MZ)} bytes, SHA-256 {digest(MZ)}"
    assert one.frames == written.frames


def test_other_files_are_counted_by_what_was_done() -> None:
    conversations = {
        "file-change": f"{PUBLIC} create:a.txt write:text@0",
        "file-read": f"{PUBLIC} open:a.exe@4 read:text@0",
    }
    for kind, words in conversations.items():
        one = one_file(words)
        (seen,) = observed(one, one)
        assert (seen.severity, seen.kind, seen.outcome, seen.count) == ("info", kind, "answered", 2)


def test_what_was_done_to_a_file_is_said() -> None:
    (seen,) = observed(one_file(f"{PUBLIC} create:a.txt write:text@0"))
    assert seen.detail == "created and written"
    assert "created and wrote files of" in seen.text


def test_what_was_refused_was_tried() -> None:
    (one,) = observed(*found(stream(share_of("tree:\\\\FILES\\ADMIN$ create:a.exe!").sent)))
    assert (one.kind, one.outcome, one.reason) == ("file-open", "refused", "STATUS_ACCESS_DENIED")
    assert "tried to open files or directories of" in one.text


def test_files_of_a_session_with_wrong_signatures_are_in_doubt() -> None:
    session = replace(smb_session(7), wrong_signatures=1, wrong_signature_frames=(7,))
    files = (
        replace(one_file(WRITTEN), session=session.number),
        replace(one_file(f"{PUBLIC} open:a.exe@4 read:text@0"), session=8),
    )
    analysis = replace(analysis_of(session), files=FoundFiles(files))
    seen = {one.kind: one for one in observations(Scene(analysis), "made.pcap")}
    said = "; messages of the session have a wrong signature, so others may have changed this"
    assert seen["program-written"].text.endswith(said)
    assert said not in seen["file-read"].text
    assert [seen[kind].confidence for kind in ("program-written", "file-read")] == ["possible", "certain"]


def test_very_many_programs_are_one_observation_beyond_the_most() -> None:
    program = one_file(WRITTEN)
    many = [replace(program, name=f"{number}.exe") for number in range(_MOST_PROGRAMS + 3)]
    seen = observed(*many)
    assert (len(seen), sum(one.count for one in seen)) == (_MOST_PROGRAMS + 1, _MOST_PROGRAMS + 3)
