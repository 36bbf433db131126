"""Secrets that a capture carries itself: used where they can be, and stated where not."""

from pathlib import Path

from analyzer.capture.capture_reader import CaptureReader
from analyzer.capture.pcapng import SECRETS_OF_OURS
from analyzer.core.events import Problem
from analyzer.pipeline.run import analyze
from analyzer.screens.formats.pcapng_writer import PcapngWriter
from tests.truth import CAPTURES

CLEAR = CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"


def test_secrets_that_cannot_be_read_are_a_note_and_cost_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "carrying.pcapng"
    with path.open("wb") as file:
        writer = PcapngWriter(file, application="test", comment="")
        writer.secrets(SECRETS_OF_OURS, b'{"users": "no list"')
        interface = writer.interface(1, "test")
        for block in CaptureReader([CLEAR]):
            assert not isinstance(block, Problem)
            for index in range(len(block)):
                frame = block.frame(index)
                writer.packet(interface, frame.time_ns, frame.data, frame.original_length, "")
    found = analyze([path])
    (problem,) = found.problems
    assert problem.kind == "note"
    assert problem.text.startswith(f"the secrets that {path} carries are not used: ")
    assert len(found.calls) == len(analyze([CLEAR]).calls) > 10
