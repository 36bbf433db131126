"""Every capture that ships is listed, unchanged, and read as its recorded truth says."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from ipaddress import ip_address
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.auth.keyring import Keyring
from analyzer.core.output.json import dumps
from analyzer.interfaces.call_contents.raw_samples import sample_records
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.observations.triage_records import triage
from analyzer.questions.statistics.call_statistics import method_stats
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import is_altered
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.statistics import MethodStatsRecord, Spread
from analyzer.screens.views.timeline import timeline_records
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.capture import NANO, Given, pcap, read
from tests.build.packet import with_checksum
from tests.commands.test_all_commands import here
from tests.records import Record

ALL = truth.captures()
# Captures whose calls are signed messages of SMB over IPv4, not encrypted.
SIGNED = [one for one in ALL if "noauth" in one.file or "norpcauth" in one.file]
# Where IP carries TCP in a frame, and where the body of an SMB2 message begins.
_IP, _PAYLOAD = 34, 34 + 32 + 4 + 64
NOT_LISTED = {"README.md", "manifest.toml"}


def _plain(records: Iterable[Record]) -> list[Record]:
    """The records as a program reads them."""
    return [json.loads(dumps(record)) for record in records]


def test_the_manifest_lists_every_file_and_no_other() -> None:
    manifest = truth.manifest()
    listed = {entry["file"] for entry in manifest["capture"]} | set(manifest["sha256"])
    assert listed == {path.name for path in truth.CAPTURES.iterdir()} - NOT_LISTED


def test_no_file_has_changed() -> None:
    manifest = truth.manifest()
    hashes = {entry["file"]: entry["sha256"] for entry in manifest["capture"]} | manifest["sha256"]
    assert hashes == {name: hashlib.sha256((truth.CAPTURES / name).read_bytes()).hexdigest() for name in hashes}


def test_secrets_and_truths_are_all_used() -> None:
    named = {name for capture in ALL for name in (capture.secrets, capture.truth)}
    named |= {keytab for capture in ALL for keytab in json.loads(capture.secrets_path.read_bytes()).get("keytabs", ())}
    assert named == set(truth.manifest()["sha256"])


@pytest.mark.parametrize("capture", ALL, ids=lambda capture: capture.file)
def test_reading_agrees_with_the_recorded_truth(capture: truth.Capture) -> None:
    analysis = analysis_of_file(capture.file)
    records = _plain(timeline_records(analysis))
    calls = [record for record in records if record["record"] == "call"]
    samples = _plain(sample_records(analysis))
    true = truth.load(capture)
    if capture.damaged:
        differences = truth.compare_damaged(true, calls, samples, capture.intact_calls)
        assert [record for record in records if record["record"] == "problem"], "nothing is stated about the damage"
    else:
        differences = truth.compare(true, calls, samples)
    assert not differences, "\n".join(differences[:20])


class _Whole(NamedTuple):
    """What is known of a capture that nothing was done to."""

    frames: list[Given]
    keyring: Keyring
    true: list[truth.TrueCall]
    calls: dict[int, Record]
    methods: dict[tuple[str | None, str | None], MethodStatsRecord]
    marks: set[tuple[Endpoint, Endpoint, str]]
    accused: set[tuple[str, str]]


@cache
def _whole(file: str) -> _Whole:
    (capture,) = (one for one in ALL if one.file == file)
    analysis = analysis_of_file(file)
    return _Whole(
        [(frame.time_ns, bytes(frame.data)) for frame in read(capture.path)[0]],
        Keyring.load(capture.secrets_path),
        truth.load(capture),
        {call["time_ns"]: call for call in _calls(analysis)},
        {(one.interface, one.method): one for one in method_stats(analysis)},
        _marks(analysis),
        _accused(analysis),
    )


def with_losses(frames: Sequence[Given], data: st.DataObject) -> list[Given]:
    """The frames of a capture that began late, ended early, lost some, or cut each."""
    match data.draw(st.sampled_from(["late", "early", "some", "cut"])):
        case "late":
            return list(frames[data.draw(st.integers(0, len(frames) - 1)) :])
        case "early":
            return list(frames[: data.draw(st.integers(1, len(frames)))])
        case "some":
            lost = data.draw(st.sets(st.integers(0, len(frames) - 1), min_size=1, max_size=8))
            return [frame for at, frame in enumerate(frames) if at not in lost]
        case _:
            length = data.draw(st.integers(60, 400))
            return [(time_ns, one[:length], len(one)) for time_ns, one, *_ in frames]


@pytest.mark.parametrize("capture", [one for one in ALL if not one.damaged], ids=lambda capture: capture.file)
@settings(max_examples=20)
@given(data=st.data())
def test_what_is_stated_of_a_capture_with_losses_is_true(
    capture: truth.Capture, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Frames that are missing or cut make no request, response, status, fault or sample that was not there, no other latency, no
    other length of a stub, and no other mark of a client."""
    whole = _whole(capture.file)
    path = tmp_path_factory.mktemp("losses") / capture.path.with_suffix(".pcap").name
    path.write_bytes(pcap(with_losses(whole.frames, data), magic=NANO))
    analysis = analyze([path], whole.keyring)
    calls = _calls(analysis)
    assert not truth.compare_damaged(whole.true, calls, _plain(sample_records(analysis)), 0)
    # A call whose first fragment is missing has another time.
    for call in calls:
        if call["time_ns"] in whole.calls:
            assert call["latency_ns"] in (None, whole.calls[call["time_ns"]]["latency_ns"])
    for one in method_stats(analysis):
        if (known := whole.methods.get((one.interface, one.method))) is not None:
            assert _within(one.request_bytes, known.request_bytes)
            assert _within(one.response_bytes, known.response_bytes)
    assert _marks(analysis) <= whole.marks
    assert _marks(analyze([path], whole.keyring, in_sessions="none")) == _marks(analysis)


def _marks(analysis: Analysis) -> set[tuple[Endpoint, Endpoint, str]]:
    return {(one.client, one.server, mark) for one in analysis.marks for mark in one.marks}


def _within(some: Spread, every: Spread) -> bool:
    """Whether each of some values may be one of `every`."""
    if some.min is None or some.max is None:
        return True
    return every.min is not None and every.max is not None and every.min <= some.min and some.max <= every.max


def with_a_bit_changed(frame: bytes, data: st.DataObject) -> bytes:
    """A frame of which one bit was changed behind the headers of SMB, with the TCP checksum that it has then."""
    at = data.draw(st.integers(_PAYLOAD, len(frame) - 1))
    changed = bytearray(frame)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    return bytes(changed[:_IP]) + with_checksum(
        bytes(changed[_IP:]), *map(str, map(ip_address, (frame[26:30], frame[30:34])))
    )


@pytest.mark.parametrize("capture", SIGNED, ids=lambda capture: capture.file)
@settings(max_examples=20)
@given(data=st.data())
def test_a_call_of_which_a_bit_was_changed_says_so(
    capture: truth.Capture, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever a signature covers is not stated as it was sent without a word: the call, and not another one, says that it does not
    fit. Nobody is accused of what somebody else may have changed."""
    whole = _whole(capture.file)
    frames, true = [*whole.frames], whole.calls
    long = [number for number, (_, frame) in enumerate(frames, 1) if len(frame) > _PAYLOAD]
    number = data.draw(st.sampled_from(sorted({one for call in true.values() for one in _frames_of(call)} & set(long))))
    frames[number - 1] = frames[number - 1][0], with_a_bit_changed(frames[number - 1][1], data)
    path = tmp_path_factory.mktemp("changed") / "changed.pcap"
    path.write_bytes(pcap(frames, magic=NANO))
    analysis = analyze([path], whole.keyring)
    assert _accused(analysis) <= whole.accused
    # Triage tells of it, and marks what it tells of the call.
    findings = triage(analysis, "changed.pcap", None).findings
    assert [one for one in findings if one.kind == "altered" and number in one.frames]
    changed = {at for at, call in enumerate(analysis.calls, 1) if is_altered(call.smb, call.security)}
    for one in findings:
        assert not changed.intersection(one.call_numbers) or (one.altered and one.confidence == "possible"), one.text
    for call in _calls(analysis):
        if call["state"] == "complete" and number in _frames_of(call):
            assert False in (call["smb"]["signature_ok"], call["auth"]["verified"])
        elif call["state"] == "complete":
            assert (call["smb"]["signature_ok"], call["auth"]["verified"]) == (
                True,
                true[call["time_ns"]]["auth"]["verified"],
            )


def _accused(analysis: Analysis) -> set[tuple[str, str]]:
    return {(finding.rule, finding.actor) for finding in Audit(analysis).findings()}


def _calls(analysis: Analysis) -> list[dict[str, Any]]:
    return [record for record in _plain(timeline_records(analysis)) if record["record"] == "call"]


def _frames_of(call: Mapping[str, Any]) -> set[int]:
    return {frame for side in ("request", "response") if call[side] for frame in call[side]["frames"]}


@pytest.mark.parametrize("command", ["timeline", "samples"])
def test_the_command_prints_these_records(command: str) -> None:
    capture = ALL[0]
    done = here(command, capture.path, "--secrets", capture.secrets_path, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    analysis = analysis_of_file(capture.file)
    records = timeline_records(analysis) if command == "timeline" else sample_records(analysis)
    assert [json.loads(line) for line in done.stdout.splitlines()] == _plain(records)
