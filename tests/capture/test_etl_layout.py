"""The descriptions of event trace logs: complete in their references; the compiled parsers and the reader agree on every event."""

import hashlib
import os
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from struct import pack_into

import numpy as np
import orjson
import pytest
from kaitaistruct import KaitaiStream

from analyzer.capture import etl_buffers
from analyzer.capture.etl_buffers import BufferIndex, Events, LogFile, log_file_of
from analyzer.core.limits import DEFAULTS
from analyzer.core.times import FILETIME_EPOCH_NS
from tests.build._generated.etl import Etl as CompiledEtl
from tests.build.capture import frames_of, read
from tests.build.etl import NDIS, PKTMON, T0, Etl, extended, ndis_packet, other_kinds, pktmon_packet, trace_of
from tests.interfaces.buffers.test_ksy import all_types

_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
SPECS = orjson.loads((Path(etl_buffers.__file__).parent / "_generated" / "specs.json").read_bytes())


TYPES = {path: node for name, spec in SPECS.items() for path, node in all_types(spec, name)}


def test_the_descriptions_at_run_time_are_those_in_the_folder() -> None:
    assert set(SPECS) == {path.stem for path in (Path(__file__).parents[2] / "ksy" / "captures").glob("*.ksy")}


@pytest.mark.parametrize("path", TYPES)
def test_a_type_and_its_fields_say_what_they_are_and_who_says_so(path: str) -> None:
    node = TYPES[path]
    assert node["doc"].strip()
    assert any(
        source in node["doc-ref"] for source in ("Windows SDK", "Driver Kit", "public symbols", "manifest", "Learn")
    )
    for name, field in [(each["id"], each) for each in node.get("seq", ())] + list(node.get("instances", {}).items()):
        assert field.get("-orig-id"), name


# As evntrace.h, evntcons.h and the manifests lay them out, written down once more.
FORMATS = {
    "BUFFER_HEADER": "<I4xI28xH6xIHH",
    "EVENT_START": "<HBBH",
    "SYSTEM_EVENT": "<4xHBB8xq",
    "EXTENDED_ITEM": "<HHHH",
    "LOG_FILE_HEADER": "<I4xIIq8xI8xIII",
    "SIZED": "<I",
    "SWITCH_SOURCE": "<III",
    "SWITCH_DESTINATION": "<I",
    "PKTMON_COMPONENT": "<HH",
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_layout_is_that_of_its_header(name: str) -> None:
    assert getattr(etl_buffers, name).format == FORMATS[name]


def test_headers_are_as_long_as_windows_has_them() -> None:
    assert etl_buffers.BUFFER_HEADER_LEN == 72
    assert etl_buffers.SYSTEM_EVENT_LEN == 32
    assert etl_buffers.MANIFEST_EVENT_LEN == 80
    assert (etl_buffers.NDIS_FRAGMENT.itemsize, etl_buffers.PKTMON_PACKET.itemsize) == (12, 34)
    # TRACE_LOGFILE_HEADER.
    whole = {size: etl_buffers.LOG_FILE_HEADER_LEN + clock.size for size, clock in etl_buffers.LOG_FILE_CLOCKS.items()}
    assert whole == {4: 0x110, 8: 0x118}


class _File(BytesIO):
    """A trace in memory, at any place."""

    @property
    def size(self) -> int:
        return len(self.getvalue())

    def read(self, place: int, length: int) -> bytes:
        return self.getvalue()[place : place + length]


def compiled_events(data: bytes) -> list[tuple[int, str, int, int, int]]:
    """Of each event, in the order of the file: kind of header, whose it is, its number, its length and its time stamp."""
    found = []
    for buffer in CompiledEtl(KaitaiStream(BytesIO(data))).buffers:
        for event in buffer.events.events:
            body = event.body
            kind = getattr(event.header_type, "value", event.header_type)
            if isinstance(body, CompiledEtl.ManifestEvent):
                whose, number = body.provider_id.hex(), body.id
            elif hasattr(body, "hook_type"):
                whose, number = "", body.hook_group << 8 | body.hook_type
            else:
                whose, number = getattr(body, "guid", b"").hex(), 0
            found.append((kind, whose, number, event.len_event, getattr(body, "time_stamp", 0)))
    return found


def read_events(data: bytes) -> tuple[LogFile, list[tuple[int, int]]]:
    """What the reader says of the file; of each event kind of header and length, in the order of the file."""
    whole = _File(data)
    log_file = log_file_of(data)
    index = BufferIndex(DEFAULTS)
    index.fill(whole, log_file.buffer_size)
    runs = [run for run, _ in index.runs(lambda: 1)]
    places = sorted(place for run in runs for place in run)
    events = Events(whole, places)
    assert not events.damaged
    lengths = (events.ends - events.starts).tolist()
    return log_file, list(zip((events.kinds() & 0xFF).tolist(), lengths, strict=True))


def test_the_compiled_parser_and_the_reader_see_the_same_events() -> None:
    etl = Etl().event(T0, PKTMON, 160, pktmon_packet(b"x" * 70, 1), items=extended(b"abc", b"d"))
    for event in other_kinds(etl.stamp(T0)):
        etl.raw(event)
    for data in (etl.computer(T0, "PC").data(), trace_of(frames_of(200)), trace_of(frames_of(9), pointer_size=4)):
        _, events = read_events(data)
        assert events == [(kind, length) for kind, _, _, length, _ in compiled_events(data)]
        assert len(events) >= 7


# Of three traces of real Windows (airbus-cert/etl-parser, Apache-2.0), by an independent reader: events, their digest, build of the
# operating system, lost events, first and last time.
REAL = {
    "AMSITrace.etl": (
        21,
        "dfd197e3be8e57a1",
        18362,
        3,
        "2020-02-17T12:48:30.420313+00:00",
        "2020-02-17T12:49:49.975370+00:00",
    ),
    "ShutdownPerfDiagLogger.etl": (
        17078,
        "94318a4d48583635",
        18362,
        0,
        "2020-02-28T09:03:47.744579+00:00",
        "2020-02-28T17:15:51.653812+00:00",
    ),
    "lxcore_kernel.etl": (
        4,
        "ad8e6a8071bd3a66",
        19041,
        0,
        "2020-07-14T12:04:31.138736+00:00",
        "2020-07-14T12:04:36.902651+00:00",
    ),
}


def real_trace(name: str) -> bytes:
    folder = os.environ.get("PCQ_CORPUS")
    if not folder:
        pytest.skip("PCQ_CORPUS names no folder of public captures")
    return (Path(folder) / "etl" / name).read_bytes()


@pytest.mark.corpus
@pytest.mark.parametrize("name", REAL)
def test_packets_are_found_in_buffers_that_windows_wrote(name: str, tmp_path: Path) -> None:
    given_frames = frames_of(20)
    data = bytearray(real_trace(name))
    log_file = log_file_of(bytes(data))
    stamp = log_file.clock.first + 1
    events = b""
    for number, (_, frame) in enumerate(given_frames):
        event = Etl(first_stamp=stamp + number).event(T0, NDIS, 1001, ndis_packet(frame)).data()[8192 + 72 :]
        events += event[: int.from_bytes(event[:2], "little") + 7 & ~7]
    # The last buffer that Windows wrote once more, with these events instead of its own.
    last = bytearray(data[-log_file.buffer_size :])
    pack_into("<I", last, 48, 72 + len(events))
    last[72 : 72 + len(events)] = events
    path = tmp_path / "with packets.etl"
    path.write_bytes(data + last)
    frames, problems, _ = read(path)
    assert [frame.data for frame in frames] == [frame for _, frame in given_frames]
    # Ticks of 100 ns, as the clocks of these three count.
    wanted = [log_file.started_ns + 100 * (number + 1) for number in range(20)]
    assert [frame.time_ns for frame in frames] == wanted
    assert {problem.kind for problem in problems} <= {"gap"}


@pytest.mark.corpus
@pytest.mark.parametrize("name", REAL)
def test_real_traces_are_read_event_by_event(name: str) -> None:
    data = real_trace(name)
    events = compiled_events(data)
    log_file, read = read_events(data)
    assert read == [(kind, length) for kind, _, _, length, _ in events]
    times = (
        log_file.clock.times_ns(np.array([stamp for *_, stamp in events], np.int64)) // 100 - FILETIME_EPOCH_NS // 100
    )
    lines = "".join(
        f"{kind} {whose} {number} {time}\n"
        for (kind, whose, number, _, _), time in zip(events, times.tolist(), strict=True)
    )
    bounds = [(_EPOCH + timedelta(microseconds=int(at))).isoformat() for at in times[[0, -1]] // 10]
    count, digest, build, lost, begins, ends = REAL[name]
    assert (len(events), hashlib.sha256(lines.encode()).hexdigest()[:16]) == (count, digest)
    assert (log_file.os_build, log_file.events_lost) == (build, lost)
    assert bounds == [begins, ends]
