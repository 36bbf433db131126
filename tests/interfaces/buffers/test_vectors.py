"""The byte-exact vectors: every structure of MS-PCQ and winperf.h with what it says, and buffers that have to be refused."""

import json
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from analyzer.interfaces.buffers.buffer_trees import decode_buffer
from analyzer.interfaces.buffers.field_map import Field, StubKind, map_fields
from analyzer.interfaces.buffers.kind_guess import guess_kind
from analyzer.interfaces.buffers.stub_decoding import decode_stub
from analyzer.interfaces.buffers.value_rows import perf_data_rows, winperf_rows
from analyzer.results.buffer_kinds import BufferKind
from tests.interfaces.buffers.strategies import any_buffer

FOLDER = Path(__file__).parent / "vectors"
VECTORS: dict[str, Any] = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
STUBS = [name for name, vector in VECTORS.items() if vector["kind"] == "stub"]
BUFFERS = [name for name, vector in VECTORS.items() if vector["kind"] != "stub" and vector["expect"] == "ok"]
BAD = [name for name, vector in VECTORS.items() if vector["expect"] == "error"]
BY_CODE: dict[int, BufferKind] = {
    1: "counterset-info",
    2: "counter-info",
    5: "string-table",
    6: "string-table",
    8: "guid",
    10: "string-table",
}
KINDS: dict[str, BufferKind] = {
    "query_data": "perf-data",
    "instances": "instances",
    "identifiers": "identifiers",
    "v1": "winperf",
}


def data_of(name: str) -> bytes:
    return (FOLDER / f"{name}.bin").read_bytes()


def kind_of(name: str) -> BufferKind:
    vector = VECTORS[name]
    return KINDS[vector["kind"]] if vector["kind"] in KINDS else BY_CODE.get(vector["request_code"], "string")


def stub_kind(name: str) -> StubKind:
    vector = VECTORS[name]
    return StubKind("perflib-v2", vector["opnum"], vector["direction"], vector["transfer_syntax"] == "ndr64")


@pytest.mark.parametrize("name", STUBS)
def test_a_stub_says_what_the_vector_says(name: str) -> None:
    data, kind = data_of(name), stub_kind(name)
    stub = decode_stub("perflib-v2", kind.opnum, kind.side, data, ndr64=kind.ndr64)
    stated: dict[str, Any] = dict(stub.params)
    if stub.status is not None:
        stated["ReturnValue"] = stub.status
    if stub.layout is not None:
        assert stub.data is not None
        assert data[stub.data_start :].startswith(stub.data)
        stated["max_count"] = stub.layout.max_count
        if stub.layout.offset is not None:
            stated |= {"offset": stub.layout.offset, "actual_count": stub.layout.actual_count}
        if kind.opnum == 0:
            stated["lpData"] = decode_buffer("guids", stub.data).tree["guids"]
        else:
            stated["lpData_hex"] = stub.data.hex()
    assert stated == VECTORS[name]["decoded"]
    assert stub.consumed == len(data)


# What vectors call otherwise than the descriptions, and what only they state.
NAMES = {"CounterIds": "CounterId", "Name": "(name)", "SystemName": "(system name)", "values": "(value)"}
NAMES |= {"String": "text", "Guid": "text", "lpData": "text", "(string)": "text"}
VECTORS_ONLY = {"dwTypeName", "OffsetBase", "Bytes"}
FIELDS_ONLY = re.compile(r"\(padding\)|\(alignment\)|\(between\)|\w+Title")


def scalars(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """What a tree has, one behind the other; nothing for what is absent."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from scalars(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from scalars(inner, name)
    elif value is not None:
        yield name, value


def by_name(pairs: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Sorted by names; what has one name stays in its order."""
    return sorted(pairs, key=lambda pair: pair[0])


def with_values(decoded: Any) -> Any:
    """The values of counters under the name that fields have, as a number or, where they are none, as the text of their bytes."""
    if isinstance(decoded, list):
        return [with_values(item) for item in decoded]
    if not isinstance(decoded, dict):
        return decoded
    if "raw_hex" in decoded:
        raw, number = bytes.fromhex(decoded.pop("raw_hex")), decoded.pop("value")
        decoded["(data)"] = raw.decode("utf-16-le").rstrip("\0") if number is None else number
    return {key: with_values(item) for key, item in decoded.items() if key not in VECTORS_ONLY}


@pytest.mark.parametrize("name", BUFFERS)
def test_a_buffer_says_what_the_vector_says_in_the_spelling_of_the_specification(name: str) -> None:
    leaves = map_fields(kind_of(name), data_of(name)).root.leaves()
    found = [(leaf.spelling, leaf.value) for leaf in leaves if not FIELDS_ONLY.fullmatch(leaf.spelling)]
    stated = scalars(with_values(deepcopy(VECTORS[name]["decoded"])))
    assert by_name((NAMES.get(key, key), value) for key, value in found) == by_name(
        (NAMES.get(key, key), value) for key, value in stated
    )


def assert_tree_has_fields(kind: BufferKind, data: bytes) -> None:
    def name_of(leaf: Field) -> str:
        return "values" if leaf.spelling == "(value)" else leaf.name.partition("[")[0]

    tree = by_name(scalars(decode_buffer(kind, data).tree))
    names = {name for name, _ in tree}
    leaves = map_fields(kind, data).root.leaves()
    assert tree == by_name((name_of(leaf), leaf.value) for leaf in leaves if name_of(leaf) in names)


@pytest.mark.parametrize("name", BUFFERS)
def test_the_tree_of_a_vector_has_what_its_fields_have(name: str) -> None:
    assert_tree_has_fields(kind_of(name), data_of(name))


@settings(max_examples=60)
@given(any_buffer())
def test_the_tree_of_any_buffer_has_what_its_fields_have(made: tuple[BufferKind, bytes]) -> None:
    assert_tree_has_fields(*made)


@pytest.mark.parametrize("name", BUFFERS)
def test_the_kind_of_a_buffer_is_guessed(name: str) -> None:
    assert guess_kind(data_of(name))[0][0] == kind_of(name)


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("bad_data_block_size_overrun", "blocks[0].missing at byte 80: 4064 bytes wanted, 0 left"),
        ("bad_data_block_size_zero", "blocks[0].size at byte 56: 0 is below 16"),
        ("bad_data_count_mismatch", "blocks[1].status at byte 80: 4 bytes wanted, 0 left"),
        ("bad_data_unknown_dwtype", "blocks[0].block_type at byte 52: 3 is none of the values defined"),
        ("bad_v1_signature", "signature at byte 0: 5100450052004600 is not allowed here"),
        ("bad_v1_total_length", "missing at byte 640: 8 bytes wanted, 0 left"),
    ],
)
def test_a_bad_buffer_is_refused_where_it_is_bad_by_all_who_read_it(name: str, stated: str) -> None:
    assert name in BAD
    data, kind = data_of(name), kind_of(name)
    rows = (perf_data_rows if kind == "perf-data" else winperf_rows)(data)
    assert [str(read.problem) for read in (decode_buffer(kind, data), rows, map_fields(kind, data))] == [stated] * 3
