"""A second opinion: tshark counts the same DCERPC PDUs of each type in the shipped captures, and pairs the same frames.

Captures whose pipe runs inside SMB3 encryption are left out, for without their keys tshark sees no PDU in them; so are damaged
ones, where tshark goes on guessing.
"""

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.core.frame_ids import number_of
from analyzer.results.analysis import Analysis
from tests import truth
from tests.analyses import analysis_of_file

pytestmark = pytest.mark.needs("tshark")

# tshark takes port 4451 for something else unless stated, and drops what comes out of order unless stated.
OPTIONS = ("-dtcp.port==4451,nbss", "-otcp.reassemble_out_of_order:TRUE")
REQUEST = 0
# Where segments came early, tshark gives their PDUs to the later frame that filled the hole, and pairs only one of two requests
# that it has put into one frame. We name the frame that carried them; so there only the types are compared.
OUT_OF_ORDER = {"n_v1_reordered.pcap"}

IN_CLEAR = [
    capture
    for capture in truth.captures()
    if not capture.damaged and not any(cipher in capture.file for cipher in ("ccm", "gcm"))
]


def _tshark(path: Path) -> tuple[Counter[int], set[tuple[int, int]]]:
    """PDUs by type, and the pairs tshark makes: frame of the request's first fragment, frame of each fragment of the answer."""
    fields = [word for name in ("frame.number", "dcerpc.pkt_type", "dcerpc.request_in") for word in ("-e", name)]
    ran = subprocess.run(
        ["tshark", *OPTIONS, "-r", path, "-Ydcerpc", "-Tfields", *fields], capture_output=True, text=True, check=True
    )
    types: Counter[int] = Counter()
    pairs: set[tuple[int, int]] = set()
    for frame, kinds, asked in (line.split("\t") for line in ran.stdout.splitlines()):
        types.update(map(int, kinds.split(",")))
        pairs |= {(int(one), int(frame)) for one in asked.split(",") if one}
    return types, pairs


def _pairs(analysis: Analysis) -> Iterator[tuple[int, int]]:
    """Our pairs in tshark's terms, which puts a PDU in the frame that completes it."""
    for call in analysis.calls:
        request, response = call.request, call.response
        if request is not None and response is not None:
            asked = number_of(request.pdus[0].pdu.frames[-1])
            yield from ((asked, number_of(fragment.pdu.frames[-1])) for fragment in response.pdus)


@pytest.mark.parametrize("capture", IN_CLEAR, ids=lambda capture: capture.file)
def test_tshark_counts_the_same_pdus_and_pairs_the_same_frames(capture: truth.Capture) -> None:
    types, pairs = _tshark(capture.path)
    ours = analysis_of_file(capture.file, is_keyed=False)
    assert types[REQUEST], "tshark saw no request"
    assert Counter(pdu.ptype for pdu in ours.pdus) == types
    if capture.file not in OUT_OF_ORDER:
        assert set(_pairs(ours)) == pairs
