"""Every sample capture through the fast roads of ingest and through the plain ones: the same records, to the byte."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.capture.reader import CaptureReader
from analyzer.contents.lines import timeline_records
from analyzer.packet.dissector import Dissector
from analyzer.packet.segment import Dialogue
from analyzer.pipeline import run
from analyzer.report.output import dumps
from analyzer.tcp.reassembler import Reassembler
from tests import truth


def printed(capture: truth.Capture) -> Sequence[bytes]:
    analysis = run.analyze([capture.path], Keyring.load(capture.secrets_path), pdus=True)
    return [dumps(record) for record in timeline_records(analysis)]


def test_the_plain_roads_print_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    feed_dialogue = Reassembler.feed_dialogue

    def counted(self: Reassembler, said: Dialogue) -> object:
        taken.append(len(said.replies))
        return feed_dialogue(self, said)

    with monkeypatch.context() as patch:
        patch.setattr(Reassembler, "feed_dialogue", counted)
        fast = [printed(capture) for capture in truth.captures()]
    assert sum(taken) > 100
    # Without arrays each segment comes on its own.
    monkeypatch.setattr(run, "CaptureReader", partial(CaptureReader, fast=False))
    monkeypatch.setattr(run, "Dissector", partial(Dissector, fast=False))
    monkeypatch.delattr(Reassembler, "feed_dialogue")
    assert [printed(capture) for capture in truth.captures()] == fast
