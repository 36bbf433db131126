"""A second opinion: tshark counts the same DCERPC PDUs of each type in the shipped captures, and pairs the same frames.

Captures whose pipe runs inside SMB3 encryption are left out, for without their keys tshark sees no PDU in them; so are damaged
ones, where tshark goes on guessing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.core.frame_ids import number_of
from analyzer.results.analysis import Analysis
from analyzer.transport.packet.tshark import use_common_watcher
from tests import truth
from tests.analyses import analysis_of_file

pytestmark = pytest.mark.needs("tshark", "pyshark")

# tshark takes port 4451 for something else unless stated, and drops what comes out of order unless stated.
DECODE_AS = {"tcp.port==4451": "nbss"}
PREFERENCES = {"tcp.reassemble_out_of_order": "TRUE"}
REQUEST = 0
# Where segments came early, tshark gives their PDUs to the later frame that filled the hole, and pairs only one of two requests
# that it has put into one frame. We name the frame that carried them; so there only the types are compared.
OUT_OF_ORDER = {"n_v1_reordered.pcap"}

IN_CLEAR = [
    capture
    for capture in truth.captures()
    if not capture.damaged and not any(cipher in capture.file for cipher in ("ccm", "gcm"))
]


@pytest.fixture(autouse=True)
def _own_event_loop() -> Iterator[None]:
    """pyshark takes the current event loop, or makes one that nobody closes."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    use_common_watcher()
    loop.close()


def _tshark(path: Path) -> tuple[Counter[int], set[tuple[int, int]]]:
    """PDUs by type, and the pairs tshark makes: frame of the request's first fragment, frame of each fragment of the answer."""
    import pyshark

    types: Counter[int] = Counter()
    pairs: set[tuple[int, int]] = set()
    with pyshark.FileCapture(
        str(path), display_filter="dcerpc", decode_as=DECODE_AS, override_prefs=PREFERENCES
    ) as frames:
        for frame in frames:
            for layer in frame.get_multiple_layers("dcerpc"):
                types[int(layer.pkt_type)] += 1
                if "request_in" in layer.field_names:
                    pairs.add((int(layer.request_in), int(frame.number)))
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
