"""What is laid out for other projects reads and writes recorded conversations."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests import truth

pytestmark = pytest.mark.needs("impacket")
MODULE = Path(__file__).parent.parent / "upstream/impacket/impacket/dcerpc/v5/pcq.py"
CAPTURE = next(one for one in truth.captures() if one.file == "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap")


@pytest.fixture(scope="module")
def pcq() -> ModuleType:
    spec = importlib.util.spec_from_file_location("upstream_pcq", MODULE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recorded() -> Iterator[truth.TrueCall]:
    return (one for one in truth.load(CAPTURE) if one.interface == truth.PCQ and one.opnum <= 7)


def test_impackets_module_writes_the_requests_that_it_reads(pcq: ModuleType) -> None:
    seen = set()
    for one in recorded():
        if one.fault is not None:
            continue
        read = pcq.OPNUMS[one.opnum][0](one.request)
        assert read.getData() == one.request, one.opnum
        seen.add(one.opnum)
    assert seen == set(range(8))


def test_impackets_module_reads_every_answer(pcq: ModuleType) -> None:
    for one in recorded():
        if one.response is None or one.fault is not None:
            continue
        read = pcq.OPNUMS[one.opnum][1](one.response)
        assert read["ErrorCode"] == one.status, one.opnum


class Server:
    """Answers each request of a helper with the next answer that was recorded for its method."""

    def __init__(self, pcq: ModuleType) -> None:
        self._pcq = pcq
        self.sent: list[int] = []

    def request(self, request: Any, checkError: bool = True) -> Any:  # noqa: N803 - impacket's name
        self.sent.append(request.opnum)
        request.getData()
        answer = next(
            one.response
            for one in recorded()
            if one.opnum == request.opnum and one.response and (one.status == 8) is (len(self.sent) == 1)
        )
        return self._pcq.OPNUMS[request.opnum][1](answer)


def test_impackets_helpers_ask_again_with_the_room_that_is_needed(pcq: ModuleType) -> None:
    """The first recorded answer states that 5 countersets want room, and a helper offers 256 at once: of instances it does not."""
    server = Server(pcq)
    named = pcq.hPerflibV2EnumerateCounterSetInstances(
        server, "\\\\RIG", "b4fc721a-0378-476f-89ba-a5a79f810b36", size=1
    )
    assert server.sent == [2, 2]
    assert named
    assert all(isinstance(number, int) and name for number, name in named)
