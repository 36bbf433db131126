"""The byte-exact vectors: every structure of MS-PCQ and winperf.h with what it says, and buffers that have to be refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.interfaces.buffers import decode_buffer, decode_stub, guess_kind, map_fields, perf_data_rows, winperf_rows
from analyzer.results.buffer import BufferKind

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


def data_of(name: str) -> bytes:
    return (FOLDER / f"{name}.bin").read_bytes()


def kind_of(name: str) -> BufferKind:
    vector = VECTORS[name]
    if vector["kind"] == "reg_info":
        return BY_CODE.get(vector["request_code"], "string")
    kinds: dict[str, BufferKind] = {
        "query_data": "perf-data",
        "instances": "instances",
        "identifiers": "identifiers",
        "v1": "winperf",
    }
    return kinds[vector["kind"]]


@pytest.mark.parametrize("name", STUBS)
def test_a_stub_says_what_the_vector_says(name: str) -> None:
    vector = VECTORS[name]
    data = data_of(name)
    stub = decode_stub(
        "perflib-v2", vector["opnum"], vector["direction"], data, ndr64=vector["transfer_syntax"] == "ndr64"
    )
    stated: dict[str, Any] = dict(stub.params)
    if stub.status is not None:
        stated["ReturnValue"] = stub.status
    if stub.layout is not None:
        assert stub.data is not None
        assert data[stub.data_start :].startswith(stub.data)
        stated["max_count"] = stub.layout.max_count
        if stub.layout.offset is not None:
            stated |= {"offset": stub.layout.offset, "actual_count": stub.layout.actual_count}
        if vector["opnum"] == 0:
            stated["lpData"] = decode_buffer("guids", stub.data).tree["guids"]
        else:
            stated["lpData_hex"] = stub.data.hex()
    assert stated == vector["decoded"]
    assert stub.consumed == len(data)


@pytest.mark.parametrize("name", BUFFERS)
def test_a_buffer_says_what_the_vector_says(name: str) -> None:
    decoded = decode_buffer(kind_of(name), data_of(name))
    assert decoded.problem is None
    assert SHAPES[kind_of(name)](decoded.tree, decoded.notes, data_of(name)) == VECTORS[name]["decoded"]


@pytest.mark.parametrize("name", BUFFERS)
def test_the_kind_of_a_buffer_is_guessed(name: str) -> None:
    assert guess_kind(data_of(name))[0][0] == kind_of(name)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_buffer_is_refused_where_it_is_bad(name: str) -> None:
    data = data_of(name)
    decoded = decode_buffer(kind_of(name), data)
    assert decoded.problem is not None
    start = decoded.problem.start
    assert start is not None
    assert 0 <= start <= len(data)
    rows = (perf_data_rows if kind_of(name) == "perf-data" else winperf_rows)(data)
    assert str(rows.problem) == str(decoded.problem) == str(map_fields(kind_of(name), data).problem)


def test_the_place_of_damage_is_named() -> None:
    stated = {name: str(decode_buffer(kind_of(name), data_of(name)).problem) for name in BAD}
    assert stated == {
        "bad_data_block_size_overrun": "blocks[0].missing at byte 80: 4064 bytes wanted, 0 left",
        "bad_data_block_size_zero": "blocks[0].size at byte 56: 0 is below 16",
        "bad_data_count_mismatch": "blocks[1].status at byte 80: 4 bytes wanted, 0 left",
        "bad_data_unknown_dwtype": "blocks[0].block_type at byte 52: 3 is none of the values defined",
        "bad_v1_signature": "signature at byte 0: 5100450052004600 is not allowed here",
        "bad_v1_total_length": "missing at byte 640: 8 bytes wanted, 0 left",
    }


def test_the_base_of_string_offsets_is_reported() -> None:
    notes = decode_buffer("string-table", data_of("reg_code05_counter_names_start_of_buffer")).notes
    assert notes == ("offsets count from the start of the block (Windows SDK, perflib.h)",)


# ---------------------------------------------------------------- our trees in the shape of the vectors

SYSTEM_TIME = {
    "year": "wYear",
    "month": "wMonth",
    "day_of_week": "wDayOfWeek",
    "day": "wDay",
    "hour": "wHour",
    "minute": "wMinute",
    "second": "wSecond",
    "milliseconds": "wMilliseconds",
}
TYPE_NAMES = {
    0: "PERF_ERROR_RETURN",
    1: "PERF_SINGLE_COUNTER",
    2: "PERF_MULTI_COUNTERS",
    4: "PERF_MULTI_INSTANCES",
    6: "PERF_COUNTERSET",
}


def renamed(tree: Any, names: dict[str, str]) -> dict[str, Any]:
    return {names[key]: value for key, value in tree.items() if key in names}


def reg_counter(tree: Any, *_: object) -> dict[str, Any]:
    return renamed(
        tree,
        {
            "counter_id": "CounterId",
            "counter_type": "Type",
            "attributes": "Attrib",
            "detail_level": "DetailLevel",
            "default_scale": "DefaultScale",
            "base_counter_id": "BaseCounterId",
            "perf_time_id": "PerfTimeId",
            "perf_freq_id": "PerfFreqId",
            "multi_id": "MultiId",
            "aggregate_func": "AggregateFunc",
            "reserved": "Reserved",
        },
    )


def counterset(tree: Any, *_: object) -> dict[str, Any]:
    names = {
        "counterset_guid": "CounterSetGuid",
        "counterset_type": "CounterSetType",
        "detail_level": "DetailLevel",
        "num_counters": "NumCounters",
        "instance_type": "InstanceType",
    }
    return renamed(tree, names) | {"Counters": [reg_counter(item) for item in tree["counters"]]}


def strings(tree: Any, notes: tuple[str, ...], _: bytes) -> dict[str, Any]:
    base = "end_of_headers" if "end of the headers" in notes[0] else "start_of_buffer"
    names = {"counter_id": "dwCounterId", "ofs_string": "dwOffset", "string": "String"}
    entries = [renamed(item, names) for item in tree["strings"]]
    return {"dwSize": tree["total_size"], "dwCounters": tree["num_counters"], "OffsetBase": base, "Strings": entries}


def instance(tree: Any) -> dict[str, Any]:
    return renamed(tree, {"size": "Size", "instance_id": "InstanceId", "name": "InstanceName"})


def identifier(tree: Any) -> dict[str, Any]:
    return renamed(
        tree,
        {
            "counterset_guid": "CounterSetGuid",
            "status": "Status",
            "size": "Size",
            "counter_id": "CounterId",
            "instance_id": "InstanceId",
            "index": "Index",
            "reserved": "Reserved",
            "name": "InstanceName",
        },
    )


def perf_data(tree: Any, _: tuple[str, ...], data: bytes) -> dict[str, Any]:
    raws = iter([row.data for row in perf_data_rows(data).rows if row.data is not None])

    def value(item: Any) -> dict[str, Any]:
        raw = next(raws)
        number = item["value"] if isinstance(item["value"], int) else None
        assert number is not None or raw.decode("utf-16-le").rstrip("\0") == item["value"]
        return {"dwDataSize": item["data_size"], "dwSize": item["size"], "raw_hex": raw.hex(), "value": number}

    blocks = []
    for block in tree["blocks"]:
        kind, body = block["block_type"], block["body"]
        made = renamed(block, {"status": "dwStatus", "block_type": "dwType", "size": "dwSize", "reserved": "Reserved"})
        made["dwTypeName"] = TYPE_NAMES[kind]
        if "counters" in body:
            names = {"size": "dwSize", "num_counters": "dwCounters", "counter_ids": "CounterIds"}
            made["MultiCounters"] = renamed(body["counters"], names)
        if "instances" in body:
            made["MultiInstances"] = renamed(
                body["instances"], {"total_size": "dwTotalSize", "num_instances": "dwInstances"}
            )
            made["MultiInstances"]["Instances"] = [
                instance(item["header"]) | {"data": [value(entry) for entry in item["data"]]}
                for item in body["instances"]["instances"]
            ]
        elif kind == 1:
            made["data"] = value(body["data"])
        elif kind == 2:
            made["data"] = [value(item) for item in body["data"]]
        blocks.append(made)
    names = {
        "total_size": "dwTotalSize",
        "num_blocks": "dwNumCounter",
        "perf_time_stamp": "PerfTimeStamp",
        "perf_time_100ns": "PerfTime100NSec",
        "perf_freq": "PerfFreq",
    }
    return renamed(tree, names) | {"SystemTime": renamed(tree["system_time"], SYSTEM_TIME), "Blocks": blocks}


def winperf(tree: Any, *_: object) -> dict[str, Any]:
    def block(item: Any) -> dict[str, Any]:
        return {"ByteLength": item["byte_length"], "values": item["body"]["values"]}

    objects = []
    for item in tree["objects"]:
        body = item["body"]
        made = {"TotalByteLength": item["total_byte_length"]} | renamed(
            body,
            {
                "definition_length": "DefinitionLength",
                "header_length": "HeaderLength",
                "object_name_title_index": "ObjectNameTitleIndex",
                "object_help_title_index": "ObjectHelpTitleIndex",
                "detail_level": "DetailLevel",
                "num_counters": "NumCounters",
                "default_counter": "DefaultCounter",
                "num_instances": "NumInstances",
                "code_page": "CodePage",
                "perf_time": "PerfTime",
                "perf_freq": "PerfFreq",
            },
        )
        definition = {
            "byte_length": "ByteLength",
            "counter_name_title_index": "CounterNameTitleIndex",
            "counter_help_title_index": "CounterHelpTitleIndex",
            "default_scale": "DefaultScale",
            "detail_level": "DetailLevel",
            "counter_type": "CounterType",
            "counter_size": "CounterSize",
            "counter_offset": "CounterOffset",
        }
        made["Counters"] = [renamed(entry, definition) for entry in body["counters"]]
        if body["instances"] is None:
            made["CounterBlock"] = block(body["counter_block"])
        else:
            names = {
                "parent_object_title_index": "ParentObjectTitleIndex",
                "parent_object_instance": "ParentObjectInstance",
                "unique_id": "UniqueID",
                "name_offset": "NameOffset",
                "name_length": "NameLength",
                "name": "Name",
            }
            made["Instances"] = [
                {"ByteLength": entry["byte_length"]}
                | renamed(entry["definition"], names)
                | {"CounterBlock": block(entry["counter_block"])}
                for entry in body["instances"]
            ]
        objects.append(made)
    names = {
        "signature": "Signature",
        "little_endian": "LittleEndian",
        "version": "Version",
        "revision": "Revision",
        "total_byte_length": "TotalByteLength",
        "header_length": "HeaderLength",
        "num_object_types": "NumObjectTypes",
        "default_object": "DefaultObject",
        "perf_time": "PerfTime",
        "perf_freq": "PerfFreq",
        "perf_time_100ns": "PerfTime100nSec",
        "system_name_length": "SystemNameLength",
        "system_name_offset": "SystemNameOffset",
        "system_name": "SystemName",
    }
    return renamed(tree, names) | {"SystemTime": renamed(tree["system_time"], SYSTEM_TIME), "Objects": objects}


SHAPES: dict[BufferKind, Any] = {
    "perf-data": perf_data,
    "winperf": winperf,
    "counterset-info": counterset,
    "counter-info": lambda tree, *_: reg_counter(tree["counter"]),
    "string-table": strings,
    "string": lambda tree, _, data: {"String": tree["string"], "Bytes": len(data)},
    "guid": lambda tree, *_: {"Guid": tree["guid"]},
    "instances": lambda tree, *_: [instance(item) for item in tree["instances"]],
    "identifiers": lambda tree, *_: [identifier(item) for item in tree["identifiers"]],
}
