"""A capture that is printed while it is read is the same as one that is printed then, but for names that are reported later."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.capture import capture_reader as reader_module
from analyzer.capture import decompression
from analyzer.capture.capture_reader import CaptureReader
from analyzer.core.events import BlockEnds
from analyzer.core.limits import Limits
from analyzer.core.output.json import dumps
from analyzer.pipeline.live_reading import Stream, stream
from analyzer.pipeline.run import analyze
from analyzer.questions.filters.call_selection import EVERYTHING
from analyzer.results.calls.call import Call
from analyzer.results.records.record_types import Record
from analyzer.screens.views.streamed_timeline import StreamedTimeline
from analyzer.screens.views.timeline import Timeline
from analyzer.transport.tcp.reassembler import Reassembler
from tests.build.capture import pcap
from tests.collect.sets import keyring_of
from tests.commands.test_all_commands import CAPTURES, CLEAR, PCQ, SECRETS, run
from tests.commands.test_all_commands import records as lines
from tests.truth import handful

FILES = [*(capture.path for capture in handful()), CAPTURES / "n_v1_reordered.pcap"]
Json = dict[str, Any]


@pytest.fixture
def _always_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is read, nothing more is there for the moment; blocks do not grow."""
    monkeypatch.setattr(reader_module, "_MOST_STREAMED", 0)
    monkeypatch.setattr(CaptureReader, "is_drained", property(lambda self: True))


def documents(records: Iterator[Record]) -> list[Json]:
    return [json.loads(dumps(record)) for record in records]


def streamed(path: Path, *, block_bytes: int | None = 4000) -> list[Json]:
    reading = stream([path], keyring_of(path.name), block_bytes=block_bytes)
    return documents(StreamedTimeline(reading, (str(path),), EVERYTHING).records())


def whole(path: Path) -> list[Json]:
    return documents(Timeline(analyze([path], keyring_of(path.name))).records())


def of_kind(kind: str, records: list[Json]) -> list[Json]:
    return [one for one in records if one["record"] == kind]


def without_names(call: Json) -> Json:
    """What no later call can name."""
    counterset = {**call["counterset"], "name": None} if call["counterset"] is not None else None
    return {**call, "counterset": counterset}


# ------------------------------------------------------------------------------------------------ what is printed


@pytest.mark.usefixtures("_always_drained")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_same_is_printed_but_for_names_that_come_later(path: Path) -> None:
    before, now = whole(path), streamed(path)
    calls = {call["number"]: call for call in of_kind("call", now)}
    assert len(calls) == len(of_kind("call", now))
    in_order = list(calls) == sorted(calls)
    for call in of_kind("call", before):
        other = calls.pop(call["number"])
        if not in_order:
            # It was passed over, or is printed behind one that was.
            assert other.pop("time_delta_ns") != 0 or call["time_delta_ns"] == 0
            call.pop("time_delta_ns")
        # A client shows by its second call which program it is, when the first may be printed.
        assert other.pop("program") is None
        call.pop("program")
        assert without_names(other) == without_names(call)
        if call["counterset"] is not None:
            assert other["counterset"]["name"] in (None, call["counterset"]["name"])
    assert not calls
    for kind in ("problem", "capture", "summary"):
        assert sorted(map(dumps, of_kind(kind, now))) == sorted(map(dumps, of_kind(kind, before)))
    assert [one["record"] for one in (now[0], *now[-2:])] == ["stream", "capture", "summary"]


@pytest.mark.usefixtures("_always_drained")
def test_a_call_comes_before_the_rest_is_read_and_names_come_once_they_are_reported() -> None:
    reading = stream([PCQ], Keyring.load(SECRETS), block_bytes=8000)
    blocks = calls = 0
    seen = []
    for event in reading:
        blocks += isinstance(event, BlockEnds)
        calls += isinstance(event, Call)
        if isinstance(event, Call):
            seen.append(blocks)
    assert calls == 103
    # Neither at the end nor long after the block with its answer.
    assert len(set(seen)) > 10
    printed = of_kind("call", streamed(PCQ, block_bytes=8000))
    named = [call["counterset"]["name"] for call in printed if call["counterset"] is not None]
    assert named[0] is None
    assert named[-1] is not None


# ------------------------------------------------------------------------------------------------ how far it is read


class Counted(io.BytesIO):
    """A source that counts the bytes that were read of it."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data

    def read1(self, size: int | None = -1) -> bytes:
        data = super().read1(size)
        self.taken += len(data)
        return data


def followed_by_others(megabytes: int) -> bytes:
    """A capture of calls, then so much of what has nothing to do with them."""
    junk = pcap([(2_000_000_000 * 10**9, bytes(1500))] * 700)[24:]
    return CLEAR.read_bytes() + junk * megabytes


def test_no_more_is_read_than_the_first_calls_need() -> None:
    source = Counted(followed_by_others(12))
    reading = stream([source])
    first = next(event for event in reading if isinstance(event, Call))
    assert first.number == 1
    # What may show that another flow is ours, and the blocks until there.
    assert source.taken < 7 << 20
    end = source.seek(0, io.SEEK_END)
    assert end > 11 << 20


COMMAND = (sys.executable, "-m", "analyzer", "timeline", "-", "--format", "jsonl", "--names-from", "now")


def test_what_comes_through_a_pipe_is_printed_before_the_rest_is_sent() -> None:
    data = CLEAR.read_bytes()
    half = len(data) // 2
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process:
        process.stdin.write(data[:half])
        process.stdin.flush()
        first, call = (json.loads(process.stdout.readline()) for _ in range(2))
        assert (first["record"], call["record"], call["number"]) == ("stream", "call", 1)
        process.stdin.write(data[half:])
        process.stdin.close()
        printed = [call, *(json.loads(line) for line in process.stdout)]
    assert process.returncode == 0
    expected = of_kind("call", whole(CLEAR))
    assert [call["number"] for call in of_kind("call", printed)] == [call["number"] for call in expected]


def test_a_reader_that_goes_away_ends_the_reading() -> None:
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    junk = followed_by_others(1)[len(CLEAR.read_bytes()) :]
    with process:
        process.stdin.write(CLEAR.read_bytes())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["record"] == "stream"
        process.stdout.close()
        with pytest.raises(BrokenPipeError):
            # It would be read on for ever.
            process.stdin.writelines(junk for _ in range(1000))
        assert process.stderr.read() == b""
        process.stdin.raw.close()
    assert process.returncode == 0


def test_nothing_is_waited_for_longer_than_the_limit() -> None:
    reading = stream([CLEAR], limits=Limits(order_time=3))
    read = 10 * 10**9, 7
    reading._open_since = lambda since_ns: since_ns + 5
    assert reading._before(read) == (7 * 10**9 + 5, 0)
    reading._open_since = lambda since_ns: None
    assert reading._before(read) == read
    assert list(reading)


# ------------------------------------------------------------------------------------------------ the command


@pytest.mark.parametrize(
    "path", [CLEAR, *(path for path in FILES if path.name.startswith("n_"))], ids=lambda path: path.name
)
@pytest.mark.parametrize("strict", [(), ("--strict",)], ids=["", "strict"])
def test_the_exit_code_is_the_same(path: Path, strict: tuple[str, ...]) -> None:
    before, now = (run("timeline", path, *strict, "--names-from", names) for names in ("capture", "now"))
    assert now.exit_code == before.exit_code
    assert now.stderr == before.stderr


def test_what_selects_by_one_call_selects_while_it_is_read() -> None:
    options = ("timeline", PCQ, "--secrets", SECRETS, "--format", "jsonl", "-Y", "opnum == 6", "--follow-handle", "q1")
    before, now = (lines(run(*options, "--names-from", names).stdout) for names in ("capture", "now"))
    assert of_kind("call", now) == [{**call, "program": None} for call in of_kind("call", before)] != []
    assert of_kind("summary", now) == of_kind("summary", before)


@pytest.mark.parametrize("layer", ["the stream", "a layer"])
def test_a_failure_states_itself_and_closes_the_capture_though_somebody_keeps_the_error(
    monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    def fails(self: Any, *arguments: Any) -> Any:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(*((Stream, "_before", fails) if layer == "the stream" else (Reassembler, "feed", fails)))
    files: list[BinaryIO] = []
    begin = decompression.FileStream.__init__

    def noted(self: Any, file: BinaryIO, **arguments: Any) -> None:
        files.append(file)
        begin(self, file, **arguments)

    monkeypatch.setattr(decompression.FileStream, "__init__", noted)
    errors: list[Exception] = []
    reading = stream([CLEAR], failed=errors.append, block_bytes=4000)
    assert any(getattr(event, "kind", None) == "failed" for event in list(reading))
    assert ([str(error) for error in errors], reading.is_finished) == (["on purpose"], True)
    assert files
    assert all(file.closed for file in files)
