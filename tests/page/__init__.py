"""The page of `report`: what is in it, read back without a browser."""

from __future__ import annotations

import json
import re
import sys
import zlib
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.packets import packets_of
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.engine import Audit, Profile
from analyzer.results.analysis import Analysis
from analyzer.screens.formats.page import page_parts
from analyzer.screens.views.report import Report
from tests import truth

sys.path.insert(0, str(Path(__file__).parents[2] / "web"))
from build import built, fetch  # type: ignore[import-not-found]  # a script of the repository, in no package

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
    keyring = Keyring.load(capture.secrets_path)
    analysis = analyze([capture.path], keyring)
    return replace(analysis, packets=packets_of([capture.path], analysis, keyring))


@cache
def blocks_named(file: str) -> dict[str, Any]:
    """The blocks of the page of a sample capture."""
    return blocks(page_of(analysis_named(file)))


def page_of(analysis: Analysis) -> str:
    report = Report(Audit(analysis, profile=Profile.SPEC))
    return b"".join(page_parts(report)).decode()


def blocks(page: str) -> dict[str, Any]:
    """The blocks of a page by their names."""
    return {name: json.loads(zlib.decompress(b64decode(text), -15)) for name, text in _BLOCK.findall(page)}


def whole(value: Any) -> Any:
    """A value of the page as Python has it."""
    return int(value["$int"]) if isinstance(value, dict) and "$int" in value else value


def layers(found: dict[str, Any], number: int, per_block: int) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The layers of a call with their bytes."""
    block = found[f"details-{(number - 1) // per_block}"]
    call = block["calls"][(number - 1) % per_block]
    for side in call["sides"]:
        data: dict[str, bytes] = {}
        for layer in side["layers"]:
            if "hex" in layer:
                data[layer["id"]] = bytes.fromhex(layer["hex"])
            elif layer["parent"] is None:
                data[layer["id"]] = b"".join(
                    bytes.fromhex(block["frames"][f"{file}:{frame}"])[start : start + length]
                    for _, _, frame, file, start, length in layer["runs"]
                )
            else:
                start = layer["offset"]
                data[layer["id"]] = data[layer["parent"]][start : start + layer["length"]]
            yield layer | {"tree": tree(block["shapes"], layer, data[layer["id"]])}, data[layer["id"]]


def tree(shapes: list[Any], layer: dict[str, Any], data: bytes) -> dict[str, Any] | None:
    """The tree of a layer, its shape and its values put together again."""
    if "shape" not in layer:
        return None
    values, meanings = iter(enumerate(layer["values"])), dict(layer["meanings"])

    def made(shape: list[Any]) -> dict[str, Any]:
        name, spelling, kind, start, length, _, children = shape
        at, value = next(values)
        return {
            "name": name,
            "spelling": spelling,
            "type": kind,
            "offset": start,
            "length": length,
            "value": data[start : start + length].hex() if kind == "bytes" else whole(value),
            "meaning": meanings.get(at),
            "children": [made(child) for child in children],
        }

    return made(shapes[layer["shape"]])
