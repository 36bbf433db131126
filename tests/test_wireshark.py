"""The Wireshark dissector: what tshark shows with it is what we decode, field by field, value by value, call by call.

In the clear, and sealed with the keys given to tshark itself. Captures that tshark does not open or does not put together are left
out: NTLM inside SPNEGO spends keystream that tshark 4.0 does not account for, and it cannot read keys of AES-SHA2.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from analyzer.core.absence import Missing
from analyzer.core.frame_ids import number_of
from analyzer.interfaces.buffers.field_map import Field, StubKind, map_fields
from analyzer.interfaces.buffers.stub_decoding import decode_stub
from analyzer.results.calls.call import Call, Side
from tests import truth
from tests.analyses import analysis_of_file
from wireshark import descriptions, in_lua

FOLDER = Path(__file__).parent.parent / "wireshark"
SCRIPT = FOLDER / "pcq.lua"
needs_tshark = pytest.mark.needs("tshark")
READ = (
    "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap",
    "pcq_smbd_scapy_impacket_smb311_ntlm_integrity_denied.pcap",
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap",
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_frag256.pcap",
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_ipv6.pcap",
    "pcq_smbd_scapy_scapycli_smb311_ndr64.pcap",
    "pcq_impacketsmb_impacket_smb2002_ntlm_privacy_port4451.pcap",
    "pcq_smbd_scapy_impacket_smb311ccm_ntlm_privacy.pcap",
    "pcq_smbd_scapy_sambalib_krb5rc4only_krb5_seal.pcap",
    "pcq_smbd_scapy_sambalib_smb311gcm128_ntlm_seal.pcap",
    "v1_samba_impacket_smb311_noauth.pcap",
    "v1_samba_impacket_smb311_ntlm_privacy.pcap",
)
CAPTURES = {capture.file: capture for capture in truth.captures()}


def test_the_committed_dissectors_are_what_the_descriptions_give() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "wireshark.generate", "--check"],
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_the_filters_of_the_documentation_exist() -> None:
    text = SCRIPT.read_text("utf-8")
    named = {
        name
        for line in text.split("local pcq")[0].splitlines()
        for name in re.findall(r"\b(?:pcq|winperf)\.[\w.]+", line)
    }
    assert "pcq.query_counter_data.block.type" in named
    for name in named - {"pcq.lua", "winperf.h"}:
        assert f'["{name}"]' in text, name


@cache
def registered() -> dict[str, descriptions.Shown]:
    """The fields of the dissectors by filter."""
    made = in_lua.Generator()
    made.run(FOLDER / "runtime.lua")
    return made.fields


# ------------------------------------------------------------------------------------------------- ours

Leaf = tuple[int, int, str, str | int]


def leaves(field: Field, path: str = "", outer: str = "") -> Iterator[Leaf]:
    """The values of a field: where, how long, under which filter, and what."""
    for child in field.children:
        name = re.sub(r"\[\d+\]$", "", child.name)
        stated = descriptions.filter_name(field.type, name)
        if child.children:
            yield from leaves(child, field.type, stated)
            continue
        if field.type in descriptions.WRAPPERS and name == "data":
            stated = f"{outer}.data"
        elif child.type == "winperf.counter_value":
            stated = "winperf.counter_block.value"
        value = child.value
        if value is None or stated not in registered() or registered()[stated].kind == "none":
            continue
        if f"{stated}.text" in registered() and isinstance(value, str):
            stated = f"{stated}.text"
        yield child.start, child.length, stated, value


def ours(capture: truth.Capture) -> Iterator[tuple[int, str, list[Leaf]]]:
    """Of each side of each call that tshark shows: the frame, and its values."""
    found = []
    for call in analysis_of_file(capture.file).calls:
        for name in ("request", "response"):
            side: Side | None = getattr(call, name)
            if side is None or isinstance(side.stub, Missing) or not side.pdus:
                continue
            frame = number_of(side.pdus[-1].pdu.frames[-1])
            # A fault carries no stub of the method.
            is_shown = name == "request" or call.fault is None
            if call.is_perflib and call.opnum is not None and is_shown:
                found.append((frame, name, list(of_stub(call, side, name))))
            elif call.is_winreg and side.buffer is not None and side.buffer_kind is not None:
                mapped = map_fields(side.buffer_kind, side.buffer.data)
                found.append((frame, name, list(leaves(mapped.root))))
    return iter(sorted(found, key=lambda item: item[0]))


def of_stub(call: Call, side: Side, name: Any) -> Iterator[Leaf]:
    opnum = call.opnum
    assert opnum is not None
    assert not isinstance(side.stub, Missing)
    ndr64, big_endian = call.syntax == "ndr64", side.big_endian
    kind = StubKind("perflib-v2", opnum, name, ndr64, big_endian)
    yield from leaves(map_fields(kind, side.stub.data).root)
    if side.buffer is not None and side.buffer_kind is not None:
        start = decode_stub("perflib-v2", opnum, name, side.stub.data, ndr64=ndr64, big_endian=big_endian).data_start
        mapped = map_fields(side.buffer_kind, side.buffer.data, big_endian=big_endian)
        yield from leaves(mapped.root.shifted(start))


# ---------------------------------------------------------------------------------------------- tshark's


def keys(capture: truth.Capture) -> list[str]:
    """tshark's options for the keys of a capture."""
    secrets = json.loads(capture.secrets_path.read_text("utf-8"))
    options = [
        f"-ontlmssp.nt_password:{user['password']}" for user in secrets.get("users", ()) if user.get("password")
    ][:1]
    for table in secrets.get("keytabs", ()):
        options += ["-okerberos.decrypt:TRUE", f"-K{capture.secrets_path.parent / table}"]
    for session in secrets.get("sessions", ()):
        smb = session.get("smb", {})
        # Wireshark takes the id of a session as it stands in the packet, least significant byte first.
        if smb.get("EncryptData"):
            number = bytes.fromhex(smb["session_id"])[::-1].hex()
            options.append(f'-ouat:smb2_seskey_list:{number},{smb["SessionKey"]},"",""')
    return options


def tshark(path: Path, *options: str) -> ElementTree.Element:
    ran = subprocess.run(
        ["tshark", f"-Xlua_script:{SCRIPT}", "-dtcp.port==4451,nbss", *options, "-r", path, "-Tpdml"],
        capture_output=True,
        check=True,
    )
    return ElementTree.fromstring(ran.stdout)


def shown(capture: truth.Capture) -> Iterator[tuple[int, list[Leaf]]]:
    """Of each tree of ours in tshark: the frame, and its values."""
    for packet in tshark(capture.path, *keys(capture), "-Ypcq || winperf").iter("packet"):
        frame = next(int(field.get("show", "")) for field in packet.iter("field") if field.get("name") == "num")
        for proto in packet.iter("proto"):
            if proto.get("name") in ("pcq", "winperf"):
                yield frame, list(values(proto, int(proto.get("pos", ""))))


def values(proto: ElementTree.Element, base: int) -> Iterator[Leaf]:
    for field in proto.iter("field"):
        name, text = field.get("name", ""), field.get("show", "")
        form = registered().get(name)
        if form is None or form.kind == "none" or name == "pcq.opnum" or "value" not in field.attrib:
            continue
        raw = bytes.fromhex(field.get("value", ""))
        value: str | int = text
        if "int" in form.kind:
            value = int(text, 0)
        elif form.kind == "absolute_time":
            value = int.from_bytes(raw, "little")
        elif form.kind == "bytes":
            value = text.replace(":", "")
        yield int(field.get("pos", "")) - base, int(field.get("size", "")), name, value


@needs_tshark
@pytest.mark.parametrize("file", READ)
def test_tshark_shows_what_we_decode(file: str) -> None:
    capture = CAPTURES[file]
    expected, seen = list(ours(capture)), list(shown(capture))
    assert expected
    assert [frame for frame, _ in seen] == [frame for frame, _, _ in expected]
    for (frame, name, mine), (_, theirs) in zip(expected, seen, strict=True):
        assert sorted(theirs, key=repr) == sorted(mine, key=repr), (frame, name)


# -------------------------------------------------------------------------------------------------- damage


def patched(file: str, kind: str, at: int, data: bytes, folder: Path) -> tuple[Path, int]:
    """A capture in the clear with other bytes in the largest of its buffers of a kind; and the buffer's frame."""
    capture = CAPTURES[file]
    sides = [
        side
        for call in analysis_of_file(capture.file).calls
        if (call.is_perflib or call.is_winreg) and (side := call.response) is not None
        if side.buffer_kind == kind and side.buffer is not None
    ]
    side = max(sides, key=lambda one: len(one.buffer or b""))
    raw = bytearray(capture.path.read_bytes())
    place = raw.index(side.buffer.data)
    raw[place + at : place + at + len(data)] = data
    path = folder / file
    path.write_bytes(raw)
    return path, number_of(side.pdus[-1].pdu.frames[-1])


def experts(path: Path, frame: int) -> list[tuple[str, str]]:
    """Of each mark of damage in a frame: the field it is at, and what it says."""
    marks = []
    for packet in tshark(path, f"-Yframe.number=={frame}").iter("packet"):
        parents = {child: parent for parent in packet.iter() for child in parent}
        for field in packet.iter("field"):
            if field.get("name") == "_ws.expert.message" and any(
                one.get("name") == "pcq.damaged" for one in parents[field].iter("field")
            ):
                marks.append((parents[parents[field]].get("name", ""), field.get("show", "")))
    return marks


@needs_tshark
def test_damage_is_marked_at_its_field(tmp_path: Path) -> None:
    path, frame = patched(READ[0], "perf-data", 48 + 4, b"\x03\0\0\0", tmp_path)
    assert experts(path, frame) == [
        ("pcq.query_counter_data.block.type", "dwType: 3 is none of the values defined"),
    ]


@needs_tshark
def test_a_damaged_object_costs_no_other_in_wireshark_either(tmp_path: Path) -> None:
    file = "v1_samba_impacket_smb311_noauth.pcap"
    whole = experts(CAPTURES[file].path, patched(file, "winperf", 0, b"P", tmp_path)[1])
    assert whole == []
    # HeaderLength of the block is at 24; DefinitionLength of the first object 4 bytes into it.
    header = int.from_bytes(largest_block(file)[24:28], "little")
    path, frame = patched(file, "winperf", header + 4, bytes(4), tmp_path)
    assert experts(path, frame) == [("winperf.object.definition_length", "DefinitionLength: 0 is below 64")]
    packets = list(tshark(path, f"-Yframe.number=={frame}").iter("packet"))
    titles = [field for field in packets[0].iter("field") if field.get("name") == "winperf.object.name_title_index"]
    objects = map_fields("winperf", largest_block(file)).root.children
    assert len(titles) == len([one for one in objects if one.name.startswith("objects[")]) - 1 > 0


@needs_tshark
def test_a_response_without_its_request_is_shown_as_one(tmp_path: Path) -> None:
    capture = CAPTURES[READ[0]]
    call = next(
        one
        for one in analysis_of_file(capture.file, is_keyed=False).calls
        if one.is_perflib and one.request and one.response
    )
    asked, answered = (number_of(side.pdus[-1].pdu.frames[-1]) for side in (call.request, call.response))
    lost = tmp_path / "lost.pcap"
    subprocess.run(["editcap", capture.path, lost, str(asked)], check=True)
    (packet,) = tshark(lost, f"-Yframe.number=={answered - 1}").iter("packet")
    (proto,) = (one for one in packet.iter("proto") if one.get("name") == "pcq")
    assert proto.get("showname", "").endswith("response to a request that was not captured")


def largest_block(file: str) -> bytes:
    capture = CAPTURES[file]
    sides = [call.response for call in analysis_of_file(capture.file, is_keyed=False).calls if call.is_winreg]
    return max((one.buffer.data for one in sides if one and one.buffer and one.buffer_kind == "winperf"), key=len)
