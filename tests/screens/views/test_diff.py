"""The text of `diff` on a terminal of 80 columns, for pairs of captures."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.text import Text

from analyzer.questions.differences.difference_records import Differences
from analyzer.screens.views.diff import DifferencesView
from tests.page import analysis_named
from tests.written import is_as_written

_PCQ = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy"
PAIRS = {
    "another stack": (_PCQ, "pcq_smbd_scapy_sambalib_smb311_spnego_seal"),
    "refused": (_PCQ, "pcq_smbd_scapy_impacket_smb311_ntlm_integrity_denied"),
    "registry": ("v1_samba_impacket_smb311_ntlm_privacy", "v1_samba_sambapy_smb311gcm256_krb5aes256_seal"),
    "another syntax": (
        "pcq_impacketsmb_impacket_smb2002_ntlm_privacy_port4451",
        "pcq_smbd_scapy_scapycli_smb311_ndr64",
    ),
    "two clients": (_PCQ, f"{_PCQ}_2clients"),
}
_GUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@cache
def view(pair: str) -> DifferencesView:
    return DifferencesView(Differences(*(analysis_named(f"{name}.pcap") for name in PAIRS[pair])))


def shown(pair: str, width: int | None) -> list[str]:
    return [Text.from_markup(line, emoji=False).plain for line in view(pair).lines(width)]


@pytest.mark.parametrize("pair", PAIRS)
def test_no_line_is_longer_than_the_terminal(pair: str) -> None:
    lines = shown(pair, 80)
    assert max(map(len, lines)) <= 80
    assert not any("\xa0" in line for line in lines)
    # What is folded is all there, and no GUID is cut in two.
    whole = "\n".join(shown(pair, None))
    assert sorted(_GUID.findall("\n".join(lines))) == sorted(_GUID.findall(whole))


@pytest.mark.parametrize("pair", PAIRS)
def test_bytes_that_are_shown_of_both_sides_differ(pair: str) -> None:
    lines = shown(pair, 80)
    both = [
        (one.partition("bytes: A ")[2], other.strip().removeprefix("B "))
        for one, other in pairwise(lines)
        if "bytes: A " in one and other.strip().startswith("B ")
    ]
    both += [one.groups() for line in lines if (one := re.search(r"bytes: A (\S+) at byte \d+, B (\S+) at", line))]
    assert all(a.partition(" at ")[0] != b.partition(" at ")[0] for a, b in both)


def test_counters_of_a_counterset_that_one_side_has_are_counted() -> None:
    lines = shown("refused", 80)
    assert "  only A  28 counters of countersets that are only there" in lines
    assert not any("Processor Information: " in line for line in lines)


def test_of_many_files_some_are_named() -> None:
    a, b = (analysis_named(f"{name}.pcap") for name in PAIRS["registry"])
    many = replace(a, capture=replace(a.capture, files=("1", "2", "3", "4", "5", "6")))
    found = DifferencesView(Differences(many, b))
    assert next(found.lines(None)) == "[bold]A  1, 2, 3, 4 and 2 more files: 17 calls[/]"
    assert found.differences.summary.a == many.capture.files


def test_the_text_of_a_pair() -> None:
    lines = shown("registry", 80)
    # The names of captures depend on where they lie.
    is_as_written(Path(__file__).with_name("diff.txt"), "\n".join(lines[lines.index("Machines") :]) + "\n")
