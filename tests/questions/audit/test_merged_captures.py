"""Captures that hold the same traffic twice, by two clocks, with packets lost: the audit accuses nobody of what the copies did."""

from io import BytesIO
from random import Random

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.findings_and_coverage import Finding
from analyzer.questions.audit.rules.handles import DISORDERED
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.capture import NANO, as_given, pcap, read

PCQ = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_ipv6.pcap"
SAMBA = "pcq_smbd_scapy_sambalib_smb311_spnego_seal.pcap"
WINPERF = "v1_samba_impacket_smb311_noauth.pcap"
MS = 1_000_000


def merged(file: str, seed: int, later_ms: int) -> Audit:
    """The audit of a capture merged with a copy by another clock that lacks a tenth of the packets."""
    capture = next(one for one in truth.captures() if one.file == file)
    random, frames = Random(seed), as_given(read(capture.path)[0])
    copy = [(time_ns + later_ms * MS, *frame) for time_ns, *frame in frames if random.random() < 0.9]
    data = pcap(sorted([*frames, *copy], key=lambda frame: frame[0]), magic=NANO)
    return Audit(analyze([BytesIO(data)], Keyring.load(capture.secrets_path)))


def said(finding: Finding) -> tuple[str, str, str]:
    return finding.rule.code, finding.actor.value, finding.judgement.message


@pytest.mark.parametrize("later_ms", [-20, -3, -1, 1, 20])
@pytest.mark.parametrize("file", [PCQ, SAMBA, WINPERF])
def test_a_capture_and_its_copy_break_no_more_than_the_capture(file: str, later_ms: int) -> None:
    sound = {said(finding) for finding in Audit(analysis_of_file(file)).findings()}
    for seed in range(3):
        assert {said(finding) for finding in merged(file, seed, later_ms).findings()} <= sound


def test_what_two_copies_leave_open_is_not_judged_and_the_reason_is_stated() -> None:
    audit = merged(SAMBA, 1, -20)
    list(audit.findings())
    reasons = {reason for coverage in audit.coverage.values() for reason in coverage.reasons}
    assert DISORDERED in reasons


def test_calls_of_two_copies_say_that_their_order_is_not_that_of_their_frames() -> None:
    calls = merged(SAMBA, 1, -20).analysis.calls
    said_so = [call for call in calls if call.reason is not None and "another call of its channel" in call.reason]
    assert said_so
    assert all(call.state == "complete" for call in said_so)
    assert not any(call.reason for call in analysis_of_file(SAMBA).calls if call.state == "complete")
