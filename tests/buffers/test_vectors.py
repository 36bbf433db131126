"""The byte-exact vectors: every structure of MS-PCQ with what it says, and buffers that have to be refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.buffers import BufferKind, decode_stub
from analyzer.buffers.decode import SPECS, decode_buffer

FOLDER = Path(__file__).parent / "vectors"
VECTORS = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
STUBS = [name for name, vector in VECTORS.items() if vector["kind"] == "stub"]


def data_of(name: str) -> bytes:
    return (FOLDER / f"{name}.bin").read_bytes()


@pytest.mark.parametrize("name", STUBS)
def test_a_stub_says_what_the_vector_says(name: str) -> None:
    vector = VECTORS[name]
    data = data_of(name)
    stub = decode_stub("perflib-v2", vector["opnum"], vector["direction"], data, ndr64=vector["transfer_syntax"] == "ndr64")
    said: dict[str, Any] = dict(stub.params)
    if stub.status is not None:
        said["ReturnValue"] = stub.status
    if stub.layout is not None:
        assert stub.data is not None
        assert data[stub.data_start :].startswith(stub.data)
        said["max_count"] = stub.layout.max_count
        if stub.layout.offset is not None:
            said |= {"offset": stub.layout.offset, "actual_count": stub.layout.actual_count}
        if vector["opnum"] == 0:
            said["lpData"] = decode_buffer("guids", stub.data).tree["guids"]
        else:
            said["lpData_hex"] = stub.data.hex()
    assert said == vector["decoded"]
    assert stub.consumed == len(data)


def test_every_kind_of_buffer_has_a_description() -> None:
    kinds: list[BufferKind] = list(SPECS)
    assert len(kinds) == 11
