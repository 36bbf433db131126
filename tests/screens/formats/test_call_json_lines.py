"""The lines of a timeline are the same, whether one process makes them or several."""

import pytest
from msgspec.structs import replace

from analyzer.core import child_processes
from analyzer.pipeline.run import analyze
from analyzer.questions.filters.call_selection import EVERYTHING, Selection
from analyzer.screens.formats import call_json_lines as module
from analyzer.screens.formats.view_writer import json_lines
from analyzer.screens.views.timeline import Timeline
from tests.collect.sets import CAPTURES, keyring_of

NAMES = ("v1_samba_impacket_smb311_ntlm_privacy.pcap", "n_v1_snap160.pcap")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("selection", [EVERYTHING, Selection(tail=20)])
@pytest.mark.parametrize("count", [1, 7])
def test_copies_make_the_same_lines(
    name: str, selection: Selection, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = analyze([CAPTURES / name], keyring_of(name), pdus=False)
    alone = b"".join(json_lines(Timeline(analysis, selection)))
    monkeypatch.setattr(module, "_CALLS", count)
    monkeypatch.setattr(child_processes, "may_copy", lambda: True)
    assert b"".join(json_lines(Timeline(replace(analysis, jobs=3), selection))) == alone
