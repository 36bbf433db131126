"""The dissector in C, as a plugin of the tshark that is installed: it shows what the one in Lua shows, item by item.

tshark loads no plugins for root, so root runs it as nobody, with a home of its own.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import analyze
from fuzz.run import generated
from tests import test_wireshark as lua

UPSTREAM = Path(__file__).parent.parent / "upstream/wireshark"
# idl2wrs comes with the headers (wireshark-dev).
pytestmark = pytest.mark.needs("tshark", "idl2wrs", "pkg-config", "gcc", "make", "setpriv")
NOBODY = 65534
# Packets with trees of ours.
OURS = "-Ypcq || winperf"
CLEAR, WINPERF = "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap", "v1_samba_impacket_smb311_noauth.pcap"


class Plugin(NamedTuple):
    """A home with the plugin in it, and a tshark that loads it."""

    home: Path
    tshark: Path

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.home)}

    def copied(self, path: Path) -> Path:
        """A file where nobody can read it."""
        copy = self.home / path.name
        shutil.copyfile(path, copy)
        copy.chmod(0o644)
        return copy

    def shown(self, path: Path, *options: str) -> ElementTree.Element:
        """What tshark shows of a capture."""
        given = [f"-K{self.copied(Path(one[2:]))}" if one.startswith("-K") else one for one in options]
        ran = subprocess.run(
            [self.tshark, "-dtcp.port==4451,nbss", *given, OURS, "-r", self.copied(path), "-Tpdml"],
            capture_output=True,
            check=True,
            env=self.env,
        )
        # Where others stumble over damage is not ours.
        assert not re.findall(rb"Dissector bug, protocol (?:PCQ|WINPERF).*|.*Lua Error.*", ran.stderr)
        return ElementTree.fromstring(ran.stdout)


@pytest.fixture(scope="module")
def plugin() -> Iterator[Plugin]:
    """The plugin, built as its Makefile builds it: any warning is an error."""
    home = Path(tempfile.mkdtemp(prefix="pcq-wireshark-"))
    try:
        folder = UPSTREAM / "plugin"
        built = subprocess.run(
            ["make", "-C", folder, "install", f"HOME={home}", f"BUILD={home / 'build'}", "CFLAGS=-O1"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert built.returncode == 0, built.stderr
        program = home / "tshark"
        as_nobody = f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups " if os.geteuid() == 0 else ""
        program.write_text(f'#!/bin/sh\nexec {as_nobody}tshark "$@"\n', "utf-8")
        program.chmod(0o755)
        for path in (home, *home.rglob("*")):
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
        yield Plugin(home, program)
    finally:
        shutil.rmtree(home)


# ------------------------------------------------------------------------------------------- what is shown

# What Wireshark itself adds to a call that it hands to a dissector in C.
FROM_DCERPC = re.compile(r"dcerpc\..*|pcq\.opnum")
Item = tuple[Any, ...]


def items(parent: ElementTree.Element) -> Iterator[Item]:
    """What stands below a node: filter, text, value, place and length of each item, and what stands below it."""
    for field in parent.findall("field"):
        name, show = field.get("name", ""), field.get("show", "")
        if FROM_DCERPC.fullmatch(name) or (not name and show == "Long frame"):
            continue
        if name == "_ws.expert":
            yield name, *(whole_numbers(one.get("show", "")) for one in field if one.get("name") == f"{name}.message")
            continue
        stated = tuple(field.get(key) for key in ("showname", "value", "pos", "size"))
        yield name, show if name else whole_numbers(show), *stated, list(items(field))


def whole_numbers(text: str) -> str:
    """A text with numbers of 64 bits as far as Lua's have digits."""
    return re.sub(r"\d{16,}", lambda found: f"{float(found[0]):.14e}", text)


def trees(root: ElementTree.Element) -> dict[str, list[list[Item]]]:
    """Of each frame, its trees of ours that say more than the name of a method."""
    found: dict[str, list[list[Item]]] = {}
    for packet in root.iter("packet"):
        number = next(field.get("show", "") for field in packet.iter("field") if field.get("name") == "num")
        for proto in packet.iter("proto"):
            if proto.get("name") in ("pcq", "winperf") and (inside := list(items(proto))):
                found.setdefault(number, []).append(inside)
    return found


# What Wireshark opens and puts together before it hands over a call (tests/test_wireshark.py) is the same for both: here are
# both syntaxes, both interfaces, and a refusal.
READ = (
    CLEAR,
    WINPERF,
    "pcq_smbd_scapy_impacket_smb311_ntlm_integrity_denied.pcap",
    "pcq_smbd_scapy_scapycli_smb311_ndr64.pcap",
)


@pytest.mark.parametrize("file", READ)
def test_the_plugin_shows_what_the_script_shows(plugin: Plugin, file: str) -> None:
    capture = lua.CAPTURES[file]
    expected = trees(lua.tshark(capture.path, *lua.keys(capture), OURS))
    assert expected
    assert trees(plugin.shown(capture.path, *lua.keys(capture))) == expected


def test_both_show_damaged_calls_alike(plugin: Plugin, tmp_path: Path) -> None:
    """Whether a damaged PDU carries a call at all is Wireshark's to say, and it says so to the plugin alone."""
    path = tmp_path / "damaged.pcap"
    path.write_bytes(next(generated("wireshark", 1)))
    mine, theirs = trees(plugin.shown(path)), trees(lua.tshark(path, OURS))
    both = mine.keys() & theirs.keys()
    assert len(both) > 0.8 * len(theirs)
    assert [mine[frame] for frame in both] == [theirs[frame] for frame in both]
    assert any("_ws.expert" in repr(mine[frame]) for frame in both)


@pytest.mark.parametrize(
    ("file", "kind", "at", "data"),
    [
        (CLEAR, "perf-data", 48 + 4, b"\x03\0\0\0"),
        (CLEAR, "perf-data", 48 + 8, b"\xff\xff\xff\xff"),
        (CLEAR, "perf-data", 4, b"\xff\xff\xff\xff"),
        (WINPERF, "winperf", 24, b"\xff\xff\xff\x7f"),
        (WINPERF, "winperf", 28, b"\xff\xff\xff\xff"),
    ],
    ids=["type of a block", "size of a block", "number of blocks", "length of the header", "number of objects"],
)
def test_damage_is_marked_at_the_same_field(
    plugin: Plugin, tmp_path: Path, file: str, kind: str, at: int, data: bytes
) -> None:
    path, frame = lua.patched(file, kind, at, data, tmp_path)
    shown = trees(plugin.shown(path))
    assert "_ws.expert" in repr(shown[str(frame)])
    assert shown == trees(lua.tshark(path, OURS))


def test_offsets_that_share_a_long_string_are_not_followed_for_ever(plugin: Plugin, tmp_path: Path) -> None:
    """As many strings as a table has headers, each of almost its whole length, would be much more than was captured."""
    table = largest_string_table()
    count = int.from_bytes(table[4:8], "little")
    assert count > 10
    offset = (8 + 8 * count).to_bytes(4, "little")
    headers = b"".join(table[at : at + 4] + offset for at in range(8, 8 + 8 * count, 8))
    text = b"A\0" * ((len(table) - 10 - 8 * count) // 2) + b"\0\0"
    path, frame = lua.patched(CLEAR, "string-table", 8, headers + text, tmp_path)
    shown = trees(plugin.shown(path))
    assert "bytes of texts in" in repr(shown[str(frame)])
    assert shown == trees(lua.tshark(path, OURS))


def largest_string_table() -> bytes:
    sides = [call.response for call in analyze([lua.CAPTURES[CLEAR].path], Keyring()).calls]
    return max((one.buffer.data for one in sides if one and one.buffer and one.buffer_kind == "string-table"), key=len)


# ------------------------------------------------------------------------------------------- what is sent


def suite() -> ModuleType:
    """The tests for Wireshark's own suite, with what they import from it."""
    helper: Any = SimpleNamespace(count_output=lambda text, pattern: len(re.findall(pattern, text)))
    sys.modules["subprocesstest"] = helper
    try:
        spec = importlib.util.spec_from_file_location("suite_dissect_pcq", UPSTREAM / "test/suite_dissect_pcq.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        del sys.modules["subprocesstest"]


CASES = [name for name in vars(suite().TestDissectPcq) if name.startswith("test_")]


@pytest.mark.parametrize("name", CASES)
def test_the_tests_for_wireshark_pass(plugin: Plugin, name: str) -> None:
    named = {"dcerpc_pcq.pcap": CLEAR, "dcerpc_winperf.pcap": WINPERF}

    def capture_file(name: str) -> str:
        return str(plugin.copied(lua.CAPTURES[named[name]].path))

    getattr(suite().TestDissectPcq(), name)(str(plugin.tshark), capture_file, plugin.env)
