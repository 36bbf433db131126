"""Records of what was done to files over SMB, and what of their content passed."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Struct

from analyzer.results.records.capture_records import OmissionRecord
from analyzer.results.records.record_types import Endpoint, FrameFiles, Frames, Kind, Record, Value, doc

FileAction = Literal["created", "overwritten", "opened", "read", "written", "renamed", "deleted"]
FileWarning = Literal["executable-to-administrative-share"]


class PassedContent(Value, frozen=True):
    """Content of a file that passed in one direction."""

    bytes: Annotated[int, doc("how many bytes passed, repetitions counted", unit="bytes")]
    ranges: Annotated[
        tuple[tuple[int, int], ...],
        doc(
            "which bytes of the file they are, each range from its first byte to behind its last; the first 256 ranges"
        ),
    ]
    is_whole: Annotated[
        bool, doc("they are the whole file: one range from 0 to its size, which is known, and nothing written twice")
    ]
    sha256: Annotated[
        str | None,
        doc(
            "SHA-256 of these bytes, in hexadecimal, where they are one range: of the file if `is_whole`, else of a part. Null "
            "where bytes are missing in between, where some were written twice, and where they came too far out of order"
        ),
    ]
    begins: Annotated[
        str | None, doc("the first bytes of the file, in hexadecimal, at most 16; null where they did not pass")
    ]


class FileRecord(Record, frozen=True, kw_only=True, tag="file"):
    """One open of a file or directory over SMB, or a file that was deleted or renamed by its name."""

    session: Annotated[int | None, doc("number of the SMB session, as in `sessions`; null where nothing shows it")]
    user: Annotated[str | None, doc("the account that the session was logged on as")]
    client: Annotated[Endpoint, doc("who opened it")]
    server: Annotated[Endpoint, doc("whose file it is")]
    share: Annotated[
        str | None, doc("path of the share, `\\\\server\\ADMIN$`; null where its connecting was not captured")
    ]
    name: Annotated[str | None, doc("path in the share; null where its opening was not captured")]
    is_directory: Annotated[bool | None, doc("a directory; null where nothing shows it")]
    actions: Annotated[tuple[FileAction, ...], doc("what was done to it, each once, in the order of the first time")]
    status: Annotated[
        int | None,
        doc(
            "NTSTATUS of the answer to its opening; null where it was not captured, or no status of that kind",
            kind=Kind.STATUS,
        ),
    ]
    status_name: Annotated[str | None, doc("its name", source="[MS-ERREF] section 2.3")]
    size: Annotated[
        int | None, doc("its size, as the server stated it last, or by what was written to a new file", unit="bytes")
    ]
    renamed_to: Annotated[str | None, doc("its new name")]
    read: Annotated[PassedContent | None, doc("what was read of it")]
    written: Annotated[PassedContent | None, doc("what was written to it")]
    is_executable: Annotated[
        bool | None, doc("it begins with `MZ`, as programs of Windows do; null where its beginning did not pass")
    ]
    warnings: Annotated[
        tuple[FileWarning, ...],
        doc(
            "a program, by content or by name, was written to `ADMIN$` or the share of a drive (`C$`): so tools install services"
        ),
    ]
    first_time_ns: Annotated[int, doc("first message about it", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int, doc("last message about it", unit="ns since 1970 UTC")]
    closed: Annotated[bool, doc("its closing was captured")]
    frames: Annotated[
        Frames, doc("frames of the first and last messages about it, as Wireshark counts them, ascending; at most 64")
    ]
    frame_files: FrameFiles = UNSET


class FoundFiles(Struct, frozen=True):
    """The records of files that a capture shows, and what was left out because there was too much of it."""

    files: tuple[FileRecord, ...]
    omissions: tuple[OmissionRecord, ...] = ()
