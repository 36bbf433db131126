"""The crosscheck states where we and tshark agree, where not, and what tshark says about it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.pipeline.run import analyze
from analyzer.pipeline.tshark_crosscheck import CrosscheckResult, crosscheck
from analyzer.results.analysis import Analysis

pytestmark = pytest.mark.needs("tshark")

CAPTURES = Path(__file__).parents[2] / "captures"


def checked(name: str, *, out_of_order: bool = False, secrets: str | None = None) -> tuple[Analysis, CrosscheckResult]:
    keyring = Keyring.load(CAPTURES / secrets) if secrets is not None else None
    analysis = analyze([CAPTURES / name], keyring)
    exchanges = list(analysis.calls)
    return analysis, crosscheck(CAPTURES / name, analysis.pdus, exchanges, analysis.bounds, out_of_order=out_of_order)


def test_a_clean_capture_is_the_same_pdu_by_pdu() -> None:
    analysis, result = checked("v1_samba_impacket_smb311_noauth.pcap")
    assert result.agrees
    assert result.same == len(analysis.pdus) > 20
    assert result.pairings_same > 10
    assert dict(result.same_by_type)["bind"] >= 1


def test_many_fragments_agree_too() -> None:
    _, result = checked("pcq_smbd_scapy_impacket_smb311_ntlm_privacy_frag256.pcap")
    assert not result.only_ours
    assert not result.only_tshark
    assert result.same > 100


def test_swapped_frames_cost_tshark_pdus_until_it_sorts_segments() -> None:
    _, unsorted = checked("n_v1_reordered.pcap")
    assert unsorted.only_ours
    assert not unsorted.only_tshark
    assert "tcp.reassemble_out_of_order is off" in unsorted.to_text()
    assert "retransmission" in unsorted.only_ours[0].reason
    _, sorting = checked("n_v1_reordered.pcap", out_of_order=True)
    assert not sorting.only_ours


def test_only_contradictions_count() -> None:
    """Without the bind tshark pairs nothing, and out of order it sees less: neither contradicts."""
    for name in ("n_v1_midstream.pcap", "n_v1_reordered.pcap"):
        _, result = checked(name)
        assert result.pairings_different
        assert {difference.contradicts for difference in result.pairings_different} == {False}
        assert result.agrees
        assert "0 of " in result.to_text()
    assert "the bind is not in the capture" in checked("n_v1_midstream.pcap")[1].to_text()


def test_what_only_a_key_opens_is_ours_alone_and_says_so() -> None:
    name = "pcq_smbd_scapy_sambalib_smb311gcm128_ntlm_seal"
    analysis, result = checked(f"{name}.pcap", secrets=f"{name}.secrets.json")
    assert len(result.only_ours) == len(analysis.pdus) > 20
    assert {difference.reason for difference in result.only_ours} == {
        "inside SMB3 encryption, for which tshark was given no key"
    }


def test_what_we_miss_is_listed_as_tsharks() -> None:
    path = CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"
    analysis = analyze([path])
    exchanges = list(analysis.calls)
    lost = analysis.pdus[5]
    result = crosscheck(path, [pdu for pdu in analysis.pdus if pdu is not lost], exchanges[1:], analysis.bounds)
    assert not result.agrees
    (difference,) = result.only_tshark
    assert difference.contradicts
    assert (difference.pdu.call_id, difference.pdu.ptype) == (lost.call_id, lost.ptype)
    assert [different.request for different in result.pairings_different] == [()]


def test_a_wrong_pair_is_reported_with_the_frames_of_both() -> None:
    path = CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"
    analysis = analyze([path])
    first, second, *rest = list(analysis.calls)
    result = crosscheck(path, analysis.pdus, [replace(first, response=second.response), second, *rest], analysis.bounds)
    (different,) = result.pairings_different
    assert different.contradicts
    assert different.request == first.request.frames
    assert different.tshark_request in first.request.frames
    assert f"call {first.call_id}: ours" in result.to_text()


def test_a_file_tshark_cannot_open_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "novel.txt"
    path.write_text("It was a dark and stormy night.")
    with pytest.raises(InputError, match="isn't a capture file"):
        crosscheck(path, [], [], [])
