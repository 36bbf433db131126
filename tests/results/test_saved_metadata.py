"""Metadata that one capture reported fills the gaps of another, says so, and changes nothing the other says."""

import json
from collections.abc import Sequence
from pathlib import Path
from struct import pack
from typing import Any
from uuid import UUID

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.events import Event, Problem
from analyzer.core.output.json import dumps
from analyzer.interfaces.call_contents.raw_samples import sample_records
from analyzer.pipeline.loaded_metadata import load_metadata, metadata_of
from analyzer.results.analysis import Analysis
from analyzer.results.reported_names.counter_name_tables import NameTables
from analyzer.results.reported_names.counterset_catalog import Catalog, Catalogs
from analyzer.results.reported_names.saved_metadata import (
    Metadata,
    fill_from_metadata,
    metadata_from_json,
    metadata_record,
)
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.buffers import (
    Block,
    Counter,
    Instance,
    PerfObject,
    identifier,
    name_table,
    perf_data,
    string_table,
    wide,
    winperf,
)
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, analysis_of, winreg
from tests.build.rpc import CHANNEL
from tests.records import plains
from tests.written import Told, came_of

SERVER = CHANNEL.server.ip
DATA = perf_data([Block(1, values=((pack("<I", 7),),))])
INFO = pack("<IIQIi6I", 1, 0x10410400, 0, 100, -2, 2, *[0xFFFFFFFF] * 3, 1, 0)


def reported() -> list[Event]:
    make = Calls()
    return [
        make.registration(1, UUID(COUNTERSET).bytes_le + pack("<4I", 0, 100, 1, 6) + INFO),
        make.registration(3, wide("Prozessor"), lcid=0x407),
        make.registration(4, wide("Hilfe"), lcid=0x407),
        make.registration(5, string_table([(1, "% Leerlauf")], from_start=True), lcid=0x407),
        make.registration(7, wide("A.Provider")),
        make.registration(8, UUID(OTHER_COUNTERSET).bytes_le),
        make.registration(9, wide("Processor")),
        make.registration(10, string_table([(1, "% Idle")], from_start=True)),
        winreg(first_frame=50).query_value(
            "Counter 009", name_table([("1", "2"), ("238", "Processor"), ("6", "% Time")]), kind=7
        ),
    ]


def polled() -> list[Event]:
    make = Calls(first_frame=100)
    return [
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=1, name="a")),
        make.counter_data(DATA),
        winreg(first_frame=150).query_value(
            "238", winperf([PerfObject(238, (Counter(6, 0x10410400, 4),), (Instance("a", 1, (0, 0), (7,)),))])
        ),
    ]


def saved(analysis: Analysis, origin: str = "saved.json") -> Metadata:
    return metadata_from_json(dumps(metadata_record(analysis.catalogs, analysis.name_tables)), origin)


def filled(analysis: Analysis, *given: Metadata, instead: str | None = None) -> list[Problem]:
    return list(fill_from_metadata(analysis.catalogs, analysis.name_tables, [SERVER], given, instead=instead))


def samples(analysis: Analysis, *, without: Sequence[str] = ()) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in one.items() if key not in without} for one in plains(sample_records(analysis))
    ]


def described(catalog: Catalog) -> dict[str, Any]:
    """Everything a catalog knows, without where it is from."""
    out: dict[str, Any] = {}
    for guid, entry in catalog.countersets.items():
        for place, one in ((f"{guid}", entry), *((f"{guid}/{number}", one) for number, one in entry.counters.items())):
            out[place] = (
                one.english_name,
                {lcid: name.text for lcid, name in one.names},
                {lcid: name.text for lcid, name in one.helps},
                getattr(one, "info", None),
            )
        out[f"{guid}/provider"] = (entry.provider_name, entry.provider_guid, entry.instance_type)
    return out


def test_names_from_a_file_are_those_of_the_capture_that_reported_them() -> None:
    whole, bare = analysis_of(*reported(), *polled()), analysis_of(*polled())
    unnamed = samples(bare)
    assert [(one["counter_name"], one["name_source"]) for one in unnamed] == [
        (None, None),
        ("% Processor Time", "well-known"),
    ]
    assert not filled(bare, saved(whole))
    ignored = ("call", "name_source")
    assert samples(bare, without=ignored) == samples(whole, without=ignored)
    assert {one["name_source"] for one in samples(bare)} == {"metadata"}
    assert {one["name_source"] for one in samples(whole)} == {"capture"}
    # What came from a file is not written as if this capture had reported it.
    assert metadata_record(bare.catalogs, bare.name_tables).servers == ()


def test_a_server_that_a_file_knows_keeps_its_own_part_also_where_those_of_another_are_asked_for() -> None:
    known = saved(analysis_of(*reported())).servers[SERVER]
    both = Metadata("both.json", {SERVER: known, "192.0.2.9": known})
    assert not filled(analysis_of(*polled()), both, instead="192.0.2.9")
    (note,) = filled(analysis_of(*polled()), Metadata("other.json", {"192.0.2.9": known}), instead="192.0.2.9")
    assert note.text == f"names of {SERVER} are taken from other.json, where they are those of 192.0.2.9"


GUID = {"guid": COUNTERSET}


def said(content: str) -> str:
    """What is read of a metadata file, or what it is refused for."""
    data = content.removeprefix("  ").removesuffix("\n").encode("latin-1")
    return "".join(f"  = {line}\n" for line in came_of(lambda: [*metadata_from_json(data, "x.json").servers]))


TOLD = Told(Path(__file__).with_name("saved_metadata.txt"), said)


@pytest.mark.parametrize("name", TOLD.words)
def test_a_file_that_is_none_is_one_sentence(name: str) -> None:
    TOLD.holds(name)


def test_a_file_that_is_nested_too_deep_is_none() -> None:
    with pytest.raises(InputError, match="no JSON"):
        metadata_from_json(b"[" * 100_000, "x.json")


def test_unknown_keys_are_ignored_and_a_byte_order_mark_too() -> None:
    data = json.dumps({"version": 1, "later": 1, "servers": [{"ip": "a", "more": 1, "countersets": [GUID | {"x": 1}]}]})
    metadata = metadata_from_json(b"\xef\xbb\xbf" + data.encode(), "x.json")
    assert list(metadata.servers["a"].catalog.countersets) == [COUNTERSET]


@pytest.mark.parametrize("capture", truth.captures(), ids=lambda capture: capture.file)
def test_what_a_capture_reported_comes_back(capture: truth.Capture, tmp_path: Path) -> None:
    keyring = Keyring.load(capture.secrets_path)
    analysis = analysis_of_file(capture.file)
    path = tmp_path / "x.json"
    path.write_bytes(dumps(metadata_record(analysis.catalogs, analysis.name_tables)))
    read = load_metadata(path)
    for ip, catalog in analysis.catalogs:
        assert described(read.servers[ip].catalog) == described(catalog)
    for ip, table in analysis.name_tables:
        assert read.servers[ip].tables == table.reported
    catalogs, tables = Catalogs(), NameTables()
    assert bool(list(fill_from_metadata(catalogs, tables, read.servers, [read]))) == (not read.servers)
    for ip, catalog in analysis.catalogs:
        assert described(catalogs.at(ip)) == described(catalog)
    # Another capture serves as a file does.
    again = load_metadata(capture.path, keyring)
    assert {ip: described(server.catalog) for ip, server in again.servers.items()} == {
        ip: described(server.catalog) for ip, server in read.servers.items()
    }
    assert metadata_of(catalogs, tables, "x").servers == {}
