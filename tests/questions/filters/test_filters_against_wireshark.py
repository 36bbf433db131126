"""A second opinion on what operators mean: the same questions, asked of tshark in its own words, pick the same frames."""

import subprocess

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import analyze
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.filter import CallFilter
from analyzer.results.analysis import Analysis
from tests import truth

pytestmark = pytest.mark.needs("tshark")

# Not sealed, and every message in one frame.
CAPTURE = truth.CAPTURES / "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap"


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyze([CAPTURE], Keyring())


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("opnum == 6 || opnum == 0 && frame < 100", "dcerpc.opnum == 6 || dcerpc.opnum == 0 && frame.number < 100"),
        ("opnum in {1..3, 7}", "dcerpc.opnum in {1..3, 7}"),
        ("opnum != 1 and frame in {1..300}", "dcerpc.opnum != 1 and frame.number in {1..300}"),
        ("not opnum == 1 and request", "not dcerpc.opnum == 1 and dcerpc.pkt_type == 0"),
        ("call_id & 4", "dcerpc.cn_call_id & 4"),
        ("port != 445", "tcp.port != 445"),
        ("any port != 445", "any tcp.port != 445"),
        ("ip in {127.0.0.0/8} and not port == 1", "ip.addr in {127.0.0.0/8} and not tcp.port == 1"),
        ("time_relative > 0.5 and ip !== ::1", "frame.time_relative > 0.5 and dcerpc"),
    ],
)
def test_both_pick_the_same_requests(analysis: Analysis, ours: str, theirs: str) -> None:
    passed = Selection(filter=CallFilter(ours)).calls(analysis)
    picked = {frame for _, call in passed if call.request is not None for frame in call.request.frames}
    command = [*f"tshark -r {CAPTURE} -T fields -e frame.number -Y".split(), f"({theirs}) && dcerpc.pkt_type == 0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert picked == {int(frame) for frame in done.stdout.split()}
