"""Sample captures by arrays, in batches and in groups, and frame by frame, segment by segment and event by event: the same
records, to the byte."""

from collections.abc import Sequence
from functools import partial

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import CaptureReader
from analyzer.core.events import Event
from analyzer.core.limits import Limits
from analyzer.core.output.json import dumps
from analyzer.pipeline import layer_chain, run
from analyzer.screens.views.timeline import timeline_records
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.packet.segment import SegmentBatch
from analyzer.transport.tcp.reassembler import Reassembler
from tests import truth
from tests.collect.sets import keyring_of
from tests.pipeline.test_shard_coordinator import case_of


def printed(capture: truth.Capture) -> Sequence[bytes]:
    analysis = run.analyze([capture.path], Keyring.load(capture.secrets_path), pdus=True)
    return [dumps(record) for record in timeline_records(analysis)]


class OneByOne(Dissector):
    """Frames without arrays, and each segment as a batch of its own."""

    def __init__(self, limits: Limits, most_passed: int | None = None, *, with_links: bool) -> None:
        super().__init__(fast=False, limits=limits, most_passed=most_passed, with_links=with_links)


def test_frames_one_by_one_print_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[int] = []
    feed = Reassembler.feed

    def counted(self: Reassembler, event: Event) -> Sequence[Event]:
        parts.append(len(event.replies) if isinstance(event, SegmentBatch) else 0)
        return feed(self, event)

    monkeypatch.setattr(Reassembler, "feed", counted)
    fast = [printed(capture) for capture in truth.handful()]
    assert max(parts) > 10
    parts.clear()
    monkeypatch.setattr("analyzer.capture.capture_reader.CaptureReader", partial(CaptureReader, fast=False))
    monkeypatch.setattr("analyzer.transport.packet.block_dissector.Dissector", OneByOne)
    monkeypatch.setattr(layer_chain, "MOST_EVENTS", 1)
    assert [printed(capture) for capture in truth.handful()] == fast
    assert max(parts) == 1


def test_events_of_many_hosts_climb_in_groups_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [capture.file for capture in truth.handful()]
    keyring = Keyring().merged(*map(keyring_of, names))
    usual = case_of(names, 1, keyring)
    monkeypatch.setattr(layer_chain, "MOST_BYTES", 1 << 30)
    for most in (1, 7, 100_000):
        monkeypatch.setattr(layer_chain, "MOST_EVENTS", most)
        assert case_of(names, 1, keyring) == usual
