"""Every limit, when it is reached, is a problem of kind `limit` that names what was given up; the analysis goes on."""

from pathlib import Path
from typing import Any

import pytest
import zstandard
from msgspec import structs

from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.limits import Limits
from analyzer.pipeline.run import analyze
from fuzz.shapes import PASSWORD, SHAPES
from tests.build.capture import pcap

# By limit: a hostile shape, its size, the limits it is read with, and words of the problem.
REACHED: dict[str, tuple[str, int, dict[str, int], str]] = {
    "decompressed_ratio": (
        "bomb-gzip",
        1 << 16,
        {"decompressed_ratio": 2, "decompressed_free": 1 << 16},
        "--max-ratio",
    ),
    "decompressed_free": ("bomb-zstd", 1 << 16, {"decompressed_free": 1 << 16}, "the file is read no further"),
    "interfaces": (
        "interfaces",
        4000,
        {"interfaces": 5},
        "more than 5 interfaces are described; the rest are not read",
    ),
    "address_names": ("names", 4000, {"address_names": 5}, "more than 5 names of addresses"),
    "trace_buffers": ("etl-buffers", 9000, {"trace_buffers": 3}, "more than 3 buffers; the rest are not read"),
    "trace_waiting": (
        "etl-out-of-order",
        7_000_000,
        {"trace_waiting": 9000},
        "so far apart in the file that some are out of order",
    ),
    "flows": ("flows-elsewhere", 20_000, {"flows": 5}, "flows were forgotten"),
    "flow_links": ("connections-that-begin", 20_000, {"flow_links": 5}, "senders were met than are noted"),
    "datagrams": ("fragments-alone", 4000, {"datagrams": 5}, "more than 5 datagrams"),
    "datagram_bytes": ("fragments-alone", 20_000, {"datagram_bytes": 9000}, "9000 bytes wait for fragments"),
    "connections": ("connections-that-begin", 20_000, {"connections": 8}, "more than 8 connections at once"),
    "held_stream": ("backwards", 40_000, {"held_stream": 9000}, "more than 9000 bytes of memory held behind a hole"),
    "held_total": (
        "backwards",
        40_000,
        {"held_total": 9000},
        "more than 9000 bytes of memory held behind holes of all",
    ),
    "smb_ratio": ("smb-bomb-pattern", 4000, {"smb_ratio": 1, "smb_decompressed_free": 0}, "grow more than 1 times"),
    "smb_decompressed_free": ("smb-bomb-pattern", 4000, {"smb_decompressed_free": 5000}, "compressed messages"),
    "compound": (
        "smb-compounds",
        4000,
        {"compound": 3},
        "more than 3 operations in one compound; the rest is not read",
    ),
    "sessions": ("smb-sessions", 9000, {"sessions": 3}, "more than 3 sessions on one connection; the oldest"),
    "trees": ("smb-trees", 9000, {"trees": 3}, "more than 3 trees of one session are connected; the oldest"),
    "opens": ("smb-opens", 9000, {"opens": 3}, "more than 3 files and pipes are open in one session; the oldest"),
    "opens_in_all": ("smb-opens", 9000, {"opens_in_all": 3}, "more than 3 files and pipes are open; others"),
    "requests": (
        "smb-requests-unanswered",
        9000,
        {"requests": 3},
        "more than 3 requests without an answer; the oldest",
    ),
    "smb_memory": ("smb-many-hosts", 90_000, {"smb_memory": 90_000}, "memory for all SMB connections"),
    "security_contexts": ("rpc-security-contexts", 9000, {"security_contexts": 3}, "more than 3 security contexts"),
    "calls_pending": ("rpc-calls-unanswered", 9000, {"calls_pending": 3}, "more than 3 calls of one association wait"),
    "stub": ("handles-opened", 9000, {"stub": 20}, "is larger than 20 bytes"),
    "rpc_memory": ("rpc-calls-unanswered", 20_000, {"rpc_memory": 9000, "stub": 5000}, "for all DCERPC associations"),
    "search_tries": ("keystream-damage", 4000, {"search_tries": 0}, "were not looked for in their keystream"),
    "search_keystream": ("keystream-numbers", 4000, {"search_keystream": 0}, "were not looked for in their keystream"),
    "problems": ("smb-malformed", 9000, {"problems": 3}, "more problems of kind malformed"),
    "listed": ("smb-sessions", 9000, {"listed": 3}, "more SMB sessions were met than are listed"),
    "listed_memory": ("smb-sessions", 9000, {"listed_memory": 3000}, "more SMB sessions were met than are listed"),
}
# These refuse a whole file.
REFUSED = {"wrappings", "decompressors"}
# Segments that no longer wait: their flow, should it ever send what is ours, is read as one whose beginning was not captured.
# Packets of pktmon that are forgotten: should they come again, TCP takes them for sent again.
NOTHING_LOST = {"waiting", "waiting_bytes", "started", "trace_packets"}
# Calls that are printed while a capture is read (tests/pipeline/test_live_reading.py,
# tests/interfaces/resolution/test_streamed_calls.py).
OUT_OF_ORDER = {"order_time", "order_calls"}


def limited(paths: list[Path], **limits: Any) -> list[str]:
    analysis = analyze(paths, Keyring.build(passwords=[PASSWORD]), limits=Limits(**limits))
    return [problem.text for problem in analysis.problems if problem.kind == "limit"]


def test_every_limit_is_tried() -> None:
    tried = REACHED.keys() | REFUSED | NOTHING_LOST | OUT_OF_ORDER
    assert tried == {field.name for field in structs.fields(Limits)}


@pytest.mark.parametrize("name", REACHED)
def test_reaching_a_limit_is_a_problem_that_names_what_was_given_up(tmp_path: Path, name: str) -> None:
    shape, size, limits, words = REACHED[name]
    path = tmp_path / "shape"
    SHAPES[shape].write(path, size)
    assert any(words in text for text in limited([path], **limits))
    # What makes the difference is the limit.
    assert not any(words in text for text in limited([path], **{**limits, name: 1 << 40}))


def test_too_many_compressions_inside_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "shape"
    SHAPES["bomb-gzip"].write(path, 4000)
    with pytest.raises(InputError, match="compressed more than 0 times over"):
        limited([path], wrappings=0)


def test_compressed_files_that_overlap_share_the_memory_of_decompressors(tmp_path: Path) -> None:
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.pcap.zst")
        paths[-1].write_bytes(zstandard.compress(pcap([(time, bytes(60)) for time in range(number, 9)])))
    assert limited(paths) == []
    (text,) = limited(paths, decompressors=20 << 20)
    assert text.startswith(f"{paths[2]}: ")
    assert "this one is not read" in text
    # Files that follow each other need no more than one does.
    assert limited(paths[:1], decompressors=9 << 20) == []
