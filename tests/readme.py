"""Writes the sample in README.md anew: `python -m tests.readme`. A test compares it with what the command prints today."""

import re
from contextlib import chdir
from pathlib import Path

from rich.text import Text

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import analyze
from analyzer.screens.views.timeline import Timeline

ROOT = Path(__file__).resolve().parent.parent
CAPTURE = "captures/pcq_smbd_scapy_impacket_smb311_ntlm_privacy"
WIDTH = 118
# Calls worth a look, by number; the rest stands as `...`.
CALLS = {1, 2, 3, 68, 103}
_BLOCK = re.compile(r"(<!-- sample: make timeline -->\n```\n).*?(\n```\n<!-- end of sample -->)", re.DOTALL)


def sample() -> str:
    """What `make timeline` prints on a terminal of WIDTH columns, with most calls left out."""
    with chdir(ROOT):
        analysis = analyze([f"{CAPTURE}.pcap"], Keyring.load(f"{CAPTURE}.secrets.json"))
        lines = [Text.from_markup(line).plain for line in Timeline(analysis).lines(WIDTH)]
    shown: list[str] = []
    keep = True
    for line in lines:
        call = re.match(r" *[\d.]+  #(\d+) ", line)
        if call is not None:
            keep = int(call[1]) in CALLS
        elif not line:
            keep = True
        if keep:
            shown.append(line)
        elif shown[-1] != "...":
            shown.append("...")
    return "\n".join(shown)


def with_sample(readme: str) -> str:
    """The text with today's sample in its place."""
    block = _BLOCK.search(readme)
    assert block is not None, "README.md has no place for the sample"
    return readme[: block.start()] + block[1] + sample() + block[2] + readme[block.end() :]


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(with_sample(path.read_text(encoding="utf-8")), encoding="utf-8")
