"""A report is the same wherever the bytes of calls lie, and in however small parts they are looked at."""

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.traced_bytes import StoredBytes
from analyzer.interfaces.buffers import tree_texts
from analyzer.interfaces.call_contents import call_records, raw_samples
from analyzer.interfaces.call_contents.raw_samples import sample_records
from analyzer.interfaces.pcq import query_handles
from analyzer.pipeline.run import analyze
from analyzer.results.calls import call_table, held_calls
from analyzer.results.calls.pdus import Pdus
from analyzer.screens.formats.view_writer import json_lines
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.timeline import Timeline, timeline_records
from analyzer.transport.rpc import call_pairing
from tests.truth import CAPTURES

NAMES = ("pcq_smbd_scapy_impacket_smb311_ntlm_privacy", "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed")


@pytest.mark.parametrize("name", NAMES)
def test_the_report_is_the_same_from_a_temporary_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring, path = Keyring.load(CAPTURES / f"{name}.secrets.json"), CAPTURES / f"{name}.pcap"
    in_memory = analyze([path], keyring)
    monkeypatch.setattr(call_table, "MEMORY_BYTES", 0)
    spilled = analyze([path], keyring)
    assert list(timeline_records(spilled)) == list(timeline_records(in_memory))
    assert list(sample_records(spilled)) == list(sample_records(in_memory))


def test_the_report_is_the_same_in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_frag256"
    keyring, path = Keyring.load(CAPTURES / f"{name}.secrets.json"), CAPTURES / f"{name}.pcap"

    def written() -> tuple[bytes, bytes]:
        analysis = analyze([path], keyring)
        return b"".join(json_lines(Timeline(analysis))), b"".join(json_lines(Samples(analysis)))

    whole = written()
    joined: list[bool] = []
    make = Pdus.__init__

    def noted(self: Pdus, *given: object) -> None:
        make(self, *given)
        joined.append(isinstance(self.whole, StoredBytes))

    monkeypatch.setattr(Pdus, "__init__", noted)
    monkeypatch.setattr(call_pairing, "_ROOM", 100)
    monkeypatch.setattr(call_table, "MEMORY_BYTES", 0)
    monkeypatch.setattr(call_table, "_WRITTEN_AT_ONCE", 500)
    monkeypatch.setattr(call_table, "_READ_AT_ONCE", 50)
    monkeypatch.setattr(query_handles, "_AT_ONCE", 3)
    monkeypatch.setattr(call_records, "_LONG", 10)
    monkeypatch.setattr(held_calls, "_LONG_STUB", 10)
    monkeypatch.setattr(held_calls, "_STRETCH", 300)
    monkeypatch.setattr(held_calls, "_BLOCK", 7)
    monkeypatch.setattr(tree_texts, "_LONG", 10)
    monkeypatch.setattr(raw_samples._Chunks, "MAX_COLUMNS", 2)
    assert written() == whole
    assert any(joined)
