"""The page of `report`: what is in it, read back without a browser."""

import json
import re
import sys
import zlib
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.packet_rereading import packets_of
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.results.analysis import Analysis
from analyzer.screens.formats.report_page import page_parts, value_blocks
from analyzer.screens.formats.report_page_call_sides import IN_FRAMES
from analyzer.screens.views.report import Report
from tests import truth
from tests.analyses import analysis_of_file

sys.path.insert(0, str(Path(__file__).parents[2] / "web"))
from build import built, fetch  # a script of the repository, in no package

sys.path.pop(0)

__all__ = ["built", "fetch"]

CAPTURES = {capture.file: capture for capture in truth.captures()}
THREE = (
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_2clients.pcap",
    "v1_samba_impacket_smb311_ntlm_privacy.pcap",
    "pcq_smbd_scapy_scapycli_smb311_ndr64.pcap",
)
_BLOCK = re.compile(r'<script type="text/plain" id="([a-z]+(?:-\d+)?)">([A-Za-z0-9+/=]*)</script>')


@cache
def analysis_named(file: str) -> Analysis:
    """A sample capture, read with its keys, and its packets."""
    capture = CAPTURES[file]
    analysis, keyring = analysis_of_file(file), Keyring.load(capture.secrets_path)
    return replace(analysis, packets=packets_of([capture.path], analysis, keyring))


@cache
def blocks_named(file: str) -> dict[str, Any]:
    """The blocks of the page of a sample capture."""
    return blocks(page_of(analysis_named(file)))


def page_of(analysis: Analysis) -> str:
    report = Report(Audit(analysis, profile=Profile.SPEC))
    return b"".join(page_parts(report, value_blocks(report.analysis))).decode()


def blocks(page: str) -> dict[str, Any]:
    """The blocks of a page by their names; those of details with their bytes as `data`."""
    found = {name: zlib.decompress(b64decode(text), -15) for name, text in _BLOCK.findall(page)}
    return {
        name: detail_block(content) if name.startswith(("details-", "film-")) else json.loads(content)
        for name, content in found.items()
    }


def findings(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings of a page, as the script puts them together (web/src/data.ts)."""
    alike = found["audit"]["alike"]
    return [alike[number] | {"call": call, "frames": frames} for number, call, frames in found["audit"]["findings"]]


def audit_of(found: dict[str, Any]) -> dict[str, Any]:
    """The block of the audit with these."""
    rest = {name: value for name, value in found["audit"].items() if name != "alike"}
    return rest | {"findings": findings(found)}


def detail_block(content: bytes) -> dict[str, Any]:
    stop = 4 + int.from_bytes(content[:4], "little")
    made: dict[str, Any] = json.loads(content[4:stop])
    return made | {"data": content[stop:]}


def whole(value: Any) -> Any:
    """A value of the page as Python has it."""
    return int(value["$int"]) if isinstance(value, dict) and "$int" in value else value


def layers(found: dict[str, Any], number: int, per_block: int) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The layers of a call with their bytes, as the script puts them together (web/src/calls.ts)."""
    block = found[f"details-{(number - 1) // per_block}"]
    shared = found[f"shared-{block['shared']}"]
    frames = [block["frames"][at : at + 4] for at in range(0, len(block["frames"]), 4)]
    _, *sides = block["calls"][(number - 1) % per_block]
    for template, numbers, own, words in sides:
        before: dict[str, bytes] = {}
        places = iter(own)
        for outline, form, length, at, runs, position in shared["outlines"][template][1]:
            id, kind, title, steps, undone, parent, notes, problem = shared["outlines"][outline]
            rows, parts = [], []
            for first in range(0, len(runs), 5):
                begin, stop, frame, start, size = runs[first : first + 5]
                file, frame_number, place, _ = frames[numbers[frame]]
                rows.append((begin, stop, frame_number, file, start, size))
                parts.append(block["data"][place + start : place + start + size])
            if kind == "frame":
                title = f"Frame {rows[0][2]}"
            if parent is not None:
                data = before[parent][at : at + length]
            elif at == IN_FRAMES:
                data = b"".join(parts)
            else:
                place = next(places)
                data = block["data"][place : place + length]
            said = shared["outlines"][words[position]] if position >= 0 else []
            before[id] = data
            named = dict(zip(said[::2], (shared["texts"][one] for one in said[1::2]), strict=True))
            made = {"id": id, "kind": kind, "title": title, "steps": steps, "undone": undone, "parent": parent}
            made |= {"notes": notes, "problem": problem, "runs": rows}
            yield made | {"tree": tree(shared["forms"][form], data, named) if form >= 0 else None}, data


def tree(form: list[Any], data: bytes, named: dict[int, str]) -> dict[str, Any]:
    """A tree: its form, the values that its bytes have, and the meanings that follow from them."""
    positions = count()

    def made(form: list[Any]) -> dict[str, Any]:
        name, spelling, kind, start, length, _, reads, value, meaning, fields = form
        position, raw = next(positions), data[start : start + length]
        if kind == "bytes":
            value = raw.hex()
        elif reads.removeprefix("signed-") in ("le", "be"):
            value = int.from_bytes(raw, "little" if reads.endswith("le") else "big", signed=reads.startswith("signed-"))
        elif reads:
            value = str(UUID(bytes_le=raw) if reads == "guid-le" else UUID(bytes=raw))
        return {
            "name": name,
            "spelling": spelling,
            "type": kind,
            "offset": start,
            "length": length,
            "value": whole(value),
            "meaning": named.get(position, meaning),
            "children": [made(field) for field in fields],
        }

    return made(form)
