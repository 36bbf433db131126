"""What somebody may do who does not want to be seen, packet by packet, and what is read and said of it.

A recorded conversation of four calls is sent again: behind extension headers, in tunnels, in fragments, with other bytes for the
same place, with a clock that is set back, and with a PDU whose length is a lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from zlib import crc32

import pytest
from msgspec import Struct

from analyzer.core.times import NS_PER_S
from analyzer.interfaces.call_contents.call_records import CallRecords, call_record
from analyzer.interfaces.resolution.whole_capture_resolution import REASON
from analyzer.pipeline.case import open_case, write_case
from analyzer.pipeline.live_reading import stream
from analyzer.pipeline.run import analyze
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.filter import CallFilter
from analyzer.questions.statistics.shown_call_columns import ShownCalls
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call
from tests.build.capture import pcap
from tests.build.capture import read as frames_of
from tests.build.packet import ethernet, extension, ipv4, ipv6, ipv6_fragment
from tests.written import is_as_written

CLIENT4, SERVER4, CLIENT6, SERVER6 = "10.0.0.2", "10.0.0.1", "2001:db8::2", "2001:db8::1"
METHODS = ["OpenPerformanceData", "BaseRegQueryValue", "BaseRegQueryValue", "BaseRegCloseKey"]
HOUR_NS = 3600 * NS_PER_S


class Sent(Struct, frozen=True):
    """A TCP segment: when, by whom, and its bytes from the header on."""

    time_ns: int
    by_client: bool
    tcp: bytes

    @property
    def payload(self) -> bytes:
        return self.tcp[(self.tcp[12] >> 4) * 4 :]

    def with_payload(self, payload: bytes) -> Sent:
        return Sent(self.time_ns, self.by_client, self.tcp[: (self.tcp[12] >> 4) * 4] + payload)


Wrap = Callable[[Sent], Iterable[bytes]]


def recorded() -> list[Sent]:
    """The segments of the recorded conversation, without their checksums."""
    frames, _, _ = frames_of(Path(__file__).parent.parent / "transport" / "smb" / "captures" / "guest_smb21.pcap")
    found = []
    for frame in frames:
        packet = frame.data[14:]
        tcp = bytearray(packet[(packet[0] & 15) * 4 : int.from_bytes(packet[2:4], "big")])
        tcp[16:18] = b"\0\0"
        found.append(Sent(frame.time_ns, int.from_bytes(tcp[:2], "big") != 4450, bytes(tcp)))
    return found


def in_ipv4(sent: Sent) -> Iterator[bytes]:
    ends = (CLIENT4, SERVER4) if sent.by_client else (SERVER4, CLIENT4)
    yield ethernet(ipv4(sent.tcp, src=ends[0], dst=ends[1]))


def analysed(segments: Iterable[Sent], wrap: Wrap = in_ipv4) -> Analysis:
    frames = [(sent.time_ns, frame) for sent in segments for frame in wrap(sent)]
    return analyze([BytesIO(pcap(frames))])


def methods(analysis: Analysis) -> list[str | None]:
    return [call.method for call in analysis.calls]


def said(analysis: Analysis) -> list[tuple[str, str]]:
    return [(problem.kind, problem.text) for problem in analysis.problems]


def behind_extension_headers(count: int) -> Wrap:
    def wrap(sent: Sent) -> Iterator[bytes]:
        payload, protocol = sent.tcp, 6
        for _ in range(count):
            payload, protocol = extension(protocol, payload), 60
        ends = (CLIENT6, SERVER6) if sent.by_client else (SERVER6, CLIENT6)
        yield ethernet(ipv6(payload, protocol=protocol, src=ends[0], dst=ends[1]), 0x86DD)

    return wrap


def in_tunnels(count: int) -> Wrap:
    def wrap(sent: Sent) -> Iterator[bytes]:
        ends = (CLIENT4, SERVER4) if sent.by_client else (SERVER4, CLIENT4)
        packet = ipv4(sent.tcp, src=ends[0], dst=ends[1])
        for _ in range(count):
            packet = ipv4(packet, protocol=4)
        yield ethernet(packet)

    return wrap


def pieces(sent: Sent, number: int, data: bytes, cuts: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    ends = (CLIENT6, SERVER6) if sent.by_client else (SERVER6, CLIENT6)
    for start, stop in cuts:
        piece = ipv6_fragment(6, data[start:stop], offset=start, more=stop < len(data), ident=number)
        yield ethernet(ipv6(piece, protocol=44, src=ends[0], dst=ends[1]), 0x86DD)


def in_fragments(sent: Sent) -> Iterator[bytes]:
    """Of 8 bytes each, the last first."""
    cuts = [(at, min(at + 8, len(sent.tcp))) for at in range(0, len(sent.tcp), 8)]
    yield from pieces(sent, crc32(sent.tcp), sent.tcp, reversed(cuts))


def answer_of(segments: list[Sent], call: int) -> int:
    """The segment with the answer of a call."""
    frame = analysed(segments).calls[call - 1].response
    return frame.frames[0] - 1


def overlapping(segment: Sent) -> Wrap:
    """The fragments of one segment come twice, with other bytes at its end."""

    def wrap(sent: Sent) -> Iterator[bytes]:
        if sent is not segment:
            yield from behind_extension_headers(0)(sent)
            return
        last = len(sent.tcp) - 8 - len(sent.tcp) % 8
        other = sent.tcp[:last] + b"\xff" * (len(sent.tcp) - last)
        yield from pieces(sent, 1, sent.tcp, [(last, len(sent.tcp))])
        yield from pieces(sent, 1, other, [(last, len(other)), (0, last)])

    return wrap


@pytest.mark.parametrize("is_sent_first", [False, True])
def test_other_bytes_for_the_same_place_mark_the_call_that_used_them(is_sent_first: bool) -> None:
    segments = recorded()
    whole = analysed(segments)
    at = answer_of(segments, 2)
    answer = segments[at]
    other = answer.with_payload(answer.payload[:-4] + b"\x05\0\0\0")
    segments[at : at + 1] = [other, answer] if is_sent_first else [answer, other]
    analysis = analysed(segments)
    assert methods(analysis) == METHODS
    # The version that was captured first is the one that is read.
    assert analysis.calls[1].status == (5 if is_sent_first else whole.calls[1].status)
    assert [call.reason for call in analysis.calls] == [None, REASON, None, None]
    assert {call.state for call in analysis.calls} == {"complete"}
    frames = [(sent.time_ns, frame) for sent in segments for frame in in_ipv4(sent)]
    streamed = [item for item in stream([BytesIO(pcap(frames))]) if isinstance(item, Call)]
    assert [call.reason for call in streamed] == [call.reason for call in analysis.calls]
    assert [kind for kind, _ in said(analysis)] == ["conflict"]


def set_back_within_the_third_call(by_ns: int) -> list[Sent]:
    """Sent once more in the third call, with an earlier time: its request. The answer has its own time, later than the request."""
    segments = recorded()
    at = answer_of(segments, 3)
    asked = segments[at - 1]
    assert asked.by_client
    return [*segments[:at], Sent(asked.time_ns - by_ns, True, asked.tcp), *segments[at:]]


@pytest.mark.parametrize(
    ("by_ns", "is_known"), [(2 * HOUR_NS, False), (NS_PER_S, False), (NS_PER_S - 1000, True), (0, True)]
)
def test_no_latency_is_computed_across_a_clock_that_was_set_back_although_the_answer_has_a_later_time(
    by_ns: int, is_known: bool, tmp_path: Path
) -> None:
    """Every way to a latency says the same: the call, its record, all records at once, columns, a filter, and a saved case."""
    true = [call.latency_ns for call in analysed(recorded()).calls]
    assert None not in true
    wanted = true if is_known else [*true[:2], None, *true[3:]]
    analysis = analysed(set_back_within_the_third_call(by_ns))
    with (tmp_path / "a.pcq").open("wb") as out:
        write_case(analysis, out)
    for one in (analysis, open_case(tmp_path / "a.pcq")):
        assert [call.latency_ns for call in one.calls] == wanted
        assert [call_record(call, one).latency_ns for call in one.calls] == wanted
        assert [record.latency_ns for record in CallRecords(one).records_of(range(1, len(wanted) + 1))] == wanted
        has_latency, latencies = ShownCalls(one).latencies
        assert latencies[has_latency].tolist() == [latency for latency in wanted if latency is not None]
        timed = Selection(filter=CallFilter("latency_ns")).calls(one).numbers
        assert list(timed) == [number for number, latency in enumerate(wanted, 1) if latency is not None]


@pytest.mark.needs("tshark")
def test_the_second_engine_says_that_a_clock_was_set_back_too(tmp_path: Path) -> None:
    segments = set_back_within_the_third_call(HOUR_NS)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(sent.time_ns, frame) for sent in segments for frame in in_ipv4(sent)]))
    own, other = (analyze([path], engine=engine) for engine in ("own", "tshark"))
    assert [call.latency_ns for call in other.calls] == [call.latency_ns for call in own.calls]
    assert [call.latency_ns is None for call in own.calls].count(True) == 1
    assert said(other) == said(own) != []


def in_files(*parts: list[Sent]) -> Analysis:
    return analyze([BytesIO(pcap([(sent.time_ns, one) for sent in part for one in in_ipv4(sent)])) for part in parts])


def cases() -> Iterator[tuple[str, Analysis]]:
    segments = recorded()
    yield "as it was recorded", analysed(segments)
    for count in (16, 17):
        yield f"{count} extension headers", analysed(segments, behind_extension_headers(count))
    for count in (8, 9):
        yield f"{count} tunnels inside each other", analysed(segments, in_tunnels(count))
    yield "fragments in any order", analysed(segments, in_fragments)
    second, third = answer_of(segments, 2), answer_of(segments, 3)
    yield "fragments of the third answer that overlap and differ", analysed(segments, overlapping(segments[third]))
    late = [Sent(sent.time_ns - 2 * HOUR_NS, sent.by_client, sent.tcp) for sent in segments[second:]]
    yield "a clock that is set back before the second answer", analysed([*segments[:second], *late])
    # The clock of the first file was set back between request and answer, which are in two; nothing else lies across it.
    early = Sent(segments[third - 1].time_ns - HOUR_NS, True, segments[third - 1].tcp)
    yield "each file has a clock of its own", in_files([*segments[:third], early], segments[third:])
    last = Sent(segments[-2].time_ns - NS_PER_S + 10_000, segments[-1].by_client, segments[-1].tcp)
    yield "frames that were written out of order", analysed([*segments[:-1], last])


def lines() -> Iterator[str]:
    for evasion, analysis in cases():
        yield f"{evasion}\n"
        for call in analysis.calls:
            status = f"status {call.status}, at {call.time_ns}, latency {call.latency_ns}"
            yield f"  call {call.call_id} {call.method} {call.state}, {status}: {call.reason}\n"
        yield from (f"  {kind}: {text}\n" for kind, text in said(analysis))


def test_what_is_read_and_said_of_an_evasion_is_what_was_read_through() -> None:
    is_as_written(Path(__file__).with_name("evasions.txt"), "".join(lines()))


def test_a_length_that_reaches_into_the_next_message_of_the_pipe_costs_its_own_pdu_alone() -> None:
    segments = recorded()
    whole = analysed(segments)
    requests = [call.request.frames[0] - 1 for call in whole.calls if call.request is not None]
    first, second = (segments[requests[number]].payload for number in (1, 2))
    start = first.rindex(b"\x05\x00\x00\x03\x10\0\0\0")
    length = len(first) - start + len(second) - second.rindex(b"\x05\x00\x00\x03\x10\0\0\0")
    lie = first[: start + 8] + length.to_bytes(2, "little") + first[start + 10 :]
    segments[requests[1]] = segments[requests[1]].with_payload(lie)
    analysis = analysed(segments)
    true = whole.calls
    for number in (1, 3, 4):
        (call,) = (one for one in analysis.calls if one.call_id == true[number - 1].call_id)
        assert call.state == "complete"
        assert true[number - 1].request is not None
        assert bytes(call.request.stub) == bytes(true[number - 1].request.stub)
    (cut,) = (one for one in analysis.calls if one.call_id == true[1].call_id)
    assert cut.state != "complete"
    assert any(f"its header promises {length}" in text for _, text in said(analysis))
