"""Files as text: what is said of opens to which nothing was done."""

from msgspec.structs import replace

from analyzer.results.records.opened_file import FileRecord, FoundFiles
from analyzer.screens.views.files import FilesView
from tests.build.calls import analysis_of
from tests.build.smb import stream
from tests.transport.smb.test_file_tracker import found, share_of


def test_opens_without_an_answer_are_not_refused() -> None:
    tree = "tree:\\\\FILES\\public"
    (opened, refused) = found(stream(share_of(f"{tree} open:a.txt@4 close create:b.txt!").sent))
    asked = replace(refused, status=None, status_name=None)

    def said(*files: FileRecord) -> list[str]:
        return list(FilesView(analysis_of(), FoundFiles(files)).lines(None))

    assert said(opened) == ["1 more open, of which 0 were refused; no content of it was captured"]
    assert said(opened, refused) == ["2 more opens, of which 1 was refused; no content of them was captured"]
    assert said(opened, asked) == [
        "2 more opens, of which 0 were refused, and 1 without an answer in the capture; no content of them was captured"
    ]
