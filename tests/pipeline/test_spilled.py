"""A report is the same wherever the bytes of calls lie."""

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.contents.lines import timeline_records
from analyzer.contents.samples import sample_records
from analyzer.model import store
from analyzer.pipeline.run import analyze
from tests.truth import CAPTURES

NAMES = ("pcq_smbd_scapy_impacket_smb311_ntlm_privacy", "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed")


@pytest.mark.parametrize("name", NAMES)
def test_the_report_is_the_same_from_a_temporary_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring, path = Keyring.load(CAPTURES / f"{name}.secrets.json"), CAPTURES / f"{name}.pcap"
    in_memory = analyze([path], keyring)
    monkeypatch.setattr(store, "ROOM_BYTES", 0)
    spilled = analyze([path], keyring)
    assert list(timeline_records(spilled)) == list(timeline_records(in_memory))
    assert list(sample_records(spilled)) == list(sample_records(in_memory))
