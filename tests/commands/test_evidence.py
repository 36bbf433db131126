"""What a result was made from stands in every form of it, and `verify` states whether it belongs to captures."""

import gzip
import hashlib
import tracemalloc
from pathlib import Path

import polars as pl
import pytest

from analyzer.capture.file_digest import digest_of
from analyzer.core.errors import InputError
from analyzer.pipeline.digest_verification import stated_by
from analyzer.pipeline.run import analyze
from tests.commands.test_all_commands import CAPTURES, CLEAR, here, records, run

OTHER = CAPTURES / "n_v1_midstream.pcap"
SHA256 = hashlib.sha256(CLEAR.read_bytes()).hexdigest()


def made(tmp_path: Path, *arguments: object) -> Path:
    path = tmp_path / "result"
    result = run(*arguments, "-o", path, "--force")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return path


def test_standard_input_compressed_and_damaged_files_are_hashed_whole(tmp_path: Path) -> None:
    def digests(*sources: object) -> list[str | None]:
        facts = analyze(list(sources), hashing=True).capture
        return [one.sha256 for one in facts.digests]

    packed, cut, junk = tmp_path / "x.gz", tmp_path / "cut.pcap", tmp_path / "junk.pcap"
    packed.write_bytes(gzip.compress(CLEAR.read_bytes()))
    cut.write_bytes(CLEAR.read_bytes()[:-7])
    junk.write_bytes(gzip.compress(CLEAR.read_bytes())[:-300] + bytes(3_000_000))
    for path in (packed, cut, junk):
        expected = hashlib.sha256(path.read_bytes()).hexdigest()
        assert digests(path) == [expected]
        with path.open("rb") as file:
            assert digests(file) == [expected]
    assert digests(CLEAR, OTHER) == [digest_of(path).sha256 for path in (OTHER, CLEAR)]
    given = here("timeline", "-", "--format", "jsonl", "--hash", stdin=CLEAR.read_bytes())
    assert records(given.stdout.decode())[0]["inputs"] == [
        {"role": "capture", "name": "-", "size": CLEAR.stat().st_size, "sha256": SHA256}
    ]


@pytest.mark.needs("tshark")
def test_what_tshark_reads_is_hashed_too() -> None:
    by_tshark = records(run("timeline", CLEAR, "--engine", "tshark", "--format", "jsonl", "--hash").stdout)
    assert by_tshark[0]["inputs"][0]["sha256"] == SHA256


# ------------------------------------------------------------------------------------------------ verify


def test_a_hostile_result_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "result.xml"
    for body in ("<a>" * 400_000, '<a b="1"/>' * 300_000):
        path.write_text(f'<?xml version="1.0"?><x>{body}')
        tracemalloc.start()
        with pytest.raises(InputError, match="does not say"):
            stated_by(path)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
        tracemalloc.stop()


def test_names_in_a_capture_cannot_pass_for_evidence(tmp_path: Path) -> None:
    path = made(tmp_path, "timeline", CLEAR, "--hash")
    forged = f"evidence: pcq-analyzer\\n  capture  sha256 {'0' * 64}  1 bytes  x\n"
    path.write_text(forged + path.read_text())
    assert [digest.sha256 for digest in stated_by(path)[0]] == [SHA256]


def test_tables_with_evidence_read_back(tmp_path: Path) -> None:
    for command in ("samples", "timeline"):
        with_it = made(tmp_path, command, CLEAR, "--format", "csv", "--hash")
        table = pl.read_csv(with_it, comment_prefix="# ", infer_schema=False)
        without = made(tmp_path, command, CLEAR, "--format", "csv")
        assert table.equals(pl.read_csv(without, infer_schema=False))
