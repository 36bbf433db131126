"""What a catalog knows after each answer, and how a metadata file fills it: whole states, each difference alone."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.core.output.standard_json import document
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.results.calls.call import Call
from analyzer.results.methods.scmr import INTERFACE as SVCCTL
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names import counterset_catalog as catalog_module
from analyzer.results.reported_names.counter_name_tables import NameTables
from analyzer.results.reported_names.counterset_catalog import (
    Catalog,
    Catalogs,
    CounterEntry,
    CountersetEntry,
    is_english,
)
from analyzer.results.reported_names.saved_metadata import (
    fill_from_metadata,
    looks_like_metadata,
    metadata_from_json,
    metadata_record,
)
from analyzer.results.reported_names.server_names import Name, Named, SampleNames
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls
from tests.build.rpc import WINREG

GUID, OTHER = "383487a6-3676-4870-a4e7-d45b30c35629", "51d1685c-35ed-45be-99fe-17261a4f27f3"
GERMAN, FRENCH, AMERICAN, BRITISH = 0x407, 0x40C, 0x409, 0x809
INFO = {
    "counter_id": 1,
    "counter_type": 0x10410400,
    "attributes": 5,
    "detail_level": 100,
    "default_scale": -2,
    "base_counter_id": 2,
    "perf_time_id": 3,
    "perf_freq_id": 4,
    "multi_id": 6,
    "aggregate_func": 7,
    "reserved": 8,
}


def capture(text: str) -> Name:
    return Name(text, "capture")


def given(text: str) -> Name:
    return Name(text, "metadata")


@pytest.mark.parametrize(
    ("lcid", "english"), [(9, True), (AMERICAN, True), (BRITISH, True), (GERMAN, False), (0, False), (0x10009, True)]
)
def test_the_primary_language_of_an_lcid_says_whether_it_is_english(lcid: int, english: bool) -> None:
    """[MS-LCID] section 2.1."""
    assert is_english(lcid) is english


def test_each_answer_teaches_its_part_once() -> None:
    """[MS-PCQ] section 3.1.4.1.2: what each request code asks for. Learning the same again changes nothing."""
    catalog = Catalog()
    strings = {"strings": [{"counter_id": 1, "string": "eins"}, {"counter_id": 2}, {"counter_id": 3, "string": "drei"}]}
    answers: list[tuple[int, int, dict[str, Any]]] = [
        (1, 0, {"instance_type": 6, "counters": [INFO]}),
        (2, 0, {"counter": INFO | {"counter_id": 4}}),
        (3, GERMAN, {"string": "Prozessor"}),
        (4, GERMAN, {"string": "Hilfe"}),
        (5, GERMAN, strings),
        (6, GERMAN, {"strings": [{"counter_id": 1, "string": "Hilfe 1"}]}),
        (7, 0, {"string": "Provider"}),
        (8, 0, {"guid": OTHER}),
        (9, 0, {"string": "Processor"}),
        (10, 0, {"strings": [{"counter_id": 1, "string": "one"}]}),
    ]
    for code, lcid, tree in answers:
        assert catalog.learn(GUID, code, lcid, tree) is True, code
        assert catalog.learn(GUID, code, lcid, tree) is False, code
    assert catalog.learn(GUID, 11, 0, {"string": "later"}) is False
    entry = catalog.countersets[GUID]
    assert (entry.guid, entry.instance_type, entry.provider_name, entry.provider_guid) == (GUID, 6, "Provider", OTHER)
    assert entry.english == capture("Processor")
    assert list(entry.names) == [(GERMAN, capture("Prozessor"))]
    assert list(entry.helps) == [(GERMAN, capture("Hilfe"))]
    assert sorted(entry.counters) == [1, 3, 4]
    one, three, four = (entry.counters[number] for number in (1, 3, 4))
    assert (one.info, one.info_source, one.type) == (INFO, "capture", 0x10410400)
    assert (one.english, list(one.names), list(one.helps)) == (
        capture("one"),
        [(GERMAN, capture("eins"))],
        [(GERMAN, capture("Hilfe 1"))],
    )
    assert (three.info, three.type, list(three.names)) == (None, None, [(GERMAN, capture("drei"))])
    assert (four.info, list(four.names)) == (INFO | {"counter_id": 4}, [])
    # Each of them, answered otherwise, is another.
    for code, lcid, tree in (
        (1, 0, {"instance_type": 2, "counters": []}),
        (1, 0, {"instance_type": 2, "counters": [INFO | {"reserved": 0}]}),
        (2, 0, {"counter": INFO}),
        (3, GERMAN, {"string": "CPU"}),
        (5, GERMAN, {"strings": [{"counter_id": 1, "string": "eins"}, {"counter_id": 3, "string": "3"}]}),
        (5, GERMAN, {"strings": [{"counter_id": 1, "string": "1"}, {"counter_id": 3, "string": "3"}]}),
        (7, 0, {"string": "Other"}),
        (8, 0, {"guid": GUID}),
        (9, 0, {"string": "CPU"}),
        (10, 0, {"strings": [{"counter_id": 1, "string": "uno"}, {"counter_id": 4, "string": "four"}]}),
        (10, 0, {"strings": [{"counter_id": 1, "string": "1"}, {"counter_id": 4, "string": "four"}]}),
    ):
        assert catalog.learn(GUID, code, lcid, tree) is True, (code, tree)


def test_names_for_people_are_english_then_of_a_language_asked_for() -> None:
    entry = CountersetEntry(guid=GUID)
    assert (entry.label, entry.name, entry.english_name, entry.help, entry.named) == (None, None, None, None, Named())
    entry.names.learn(GERMAN, "Prozessor")
    assert (entry.label, entry.name, entry.english_name) == ("Prozessor", "Prozessor", None)
    # Without the neutral English name, that of an English LCID is one.
    entry.names.learn(AMERICAN, "Processor (US)")
    assert entry.named == Named(None, capture("Processor (US)"), AMERICAN)
    assert (entry.label, entry.name) == ("Processor (US)", "Processor (US)")
    # With it, the other name is of another language.
    assert entry.learn_english("Processor") is True
    assert entry.learn_english("Processor") is False
    assert entry.named == Named(capture("Processor"), capture("Prozessor"), GERMAN)
    assert (entry.label, entry.name, entry.english_name) == ("Processor", "Prozessor", "Processor")
    only = CountersetEntry(guid=GUID, english=capture("Processor"))
    only.names.learn(BRITISH, "Processor (UK)")
    assert only.named == Named(capture("Processor"), capture("Processor (UK)"), BRITISH)
    entry.helps.learn(FRENCH, "aide")
    assert entry.help == "aide"
    assert CounterEntry().type is None


def test_what_a_file_says_fills_gaps_and_is_told_apart() -> None:
    entry = CounterEntry()
    assert entry.fill_english("one") is None
    assert entry.fill_english("uno") is None
    assert entry.english == given("one")
    assert entry.learn_english("one") is True
    assert entry.fill_english("one") is None
    assert entry.fill_english("uno") == capture("one")
    assert entry.fill_info(INFO) is True
    assert (entry.info_source, entry.fill_info(INFO | {"reserved": 1}), entry.info) == ("metadata", True, INFO)
    assert entry.learn_info(INFO) is False
    assert (entry.info_source, entry.fill_info(INFO), entry.fill_info(INFO | {"reserved": 1})) == (
        "capture",
        True,
        False,
    )
    assert entry.learn_info(INFO | {"reserved": 1}) is True


def test_instances_that_were_listed_with_one_name_have_it() -> None:
    catalog = Catalog()
    listed = [{"instance_id": 1, "name": "a"}, {"instance_id": 2, "name": "b"}]
    catalog.learn_instances(GUID, {"instances": listed})
    assert [catalog.instance(GUID, number) for number in (1, 2, 3)] == ["a", "b", None]
    catalog.learn_instances(GUID, {"instances": [listed[0], {"instance_id": 2, "name": "c"}]})
    catalog.learn_instances(GUID, {"instances": [{"instance_id": 2, "name": "b"}]})
    assert [catalog.instance(GUID, number) for number in (1, 2)] == ["a", None]
    assert catalog.instance(OTHER, 1) is None


def test_a_catalog_answers_for_what_it_has_and_for_nothing_else() -> None:
    catalog = Catalog()
    catalog.learn(GUID, 1, 0, {"instance_type": 0, "counters": [INFO]})
    catalog.learn(OTHER, 1, 0, {"instance_type": 2, "counters": []})
    catalog.learn(GUID, 9, 0, {"string": "Processor"})
    assert [catalog.is_single(guid) for guid in (GUID, OTHER, "none", None)] == [True, False, False, False]
    assert [catalog.label(guid) for guid in (GUID, OTHER, "none", None)] == ["Processor", None, None, None]
    assert catalog.counter(GUID, 1) is catalog.countersets[GUID].counters[1]
    for guid, number in ((GUID, 2), (GUID, None), (OTHER, 1), ("none", 1), (None, 1)):
        assert catalog.counter(guid, number) is None
    group = Named(capture("Processor"))
    assert catalog.names(GUID, 1) == catalog.names(GUID, None) == SampleNames(group, Named())
    assert (catalog.names("none", 1), catalog.names(None, 1)) == (None, None)
    assert catalog.names(GUID, 1) is catalog.names(GUID, 1)
    catalog.learn(GUID, 10, 0, {"strings": [{"counter_id": 1, "string": "one"}]})
    assert catalog.names(GUID, 1) == SampleNames(group, Named(capture("one")))
    assert catalog.names(GUID, 7) == SampleNames(group, Named())


def test_names_are_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "MAX_REMEMBERED", 3)
    catalog = Catalog()
    catalog.entry(GUID)
    first = [catalog.names(GUID, number) for number in range(3)]
    assert all(catalog.names(GUID, number) is first[number] for number in range(3))
    catalog.names(GUID, 3)
    assert catalog.names(GUID, 0) is not first[0]


def test_catalogs_are_those_of_servers_that_reported_something() -> None:
    catalogs = Catalogs()
    assert catalogs.catalog_of(Endpoint("10.0.0.1", 445)) is catalogs.at("10.0.0.1")
    catalogs.at("10.0.0.2").entry(GUID)
    assert [ip for ip, _ in catalogs] == ["10.0.0.2"]


# ------------------------------------------------------------------------------------------------- metadata and files


def file_of(*countersets: dict[str, Any], tables: dict[str, dict[str, str]] | None = None, ip: str = "a") -> Any:
    servers = [{"ip": ip, "countersets": list(countersets), "name_tables": tables or {}}]
    return metadata_from_json(json.dumps({"version": 1, "servers": servers}).encode(), "x.json")


FULL = {
    "guid": GUID,
    "english": "Processor",
    "names": {str(GERMAN): "Prozessor"},
    "helps": {str(GERMAN): "Hilfe"},
    "provider_name": "Provider",
    "provider_guid": OTHER,
    "instance_type": 6,
    "counters": [{"id": 1, "english": "one", "names": {"7": "eins"}, "helps": {"7": "Hilfe"}, "info": INFO}],
}
CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"english": "CPU"}, f"the English name of counterset {GUID} 'Processor', the file 'CPU'"),
    ({"names": {str(GERMAN): "CPU"}}, f"counterset {GUID} in language 1031 'Prozessor', the file 'CPU'"),
    ({"helps": {str(GERMAN): "?"}}, f"counterset {GUID} in language 1031 'Hilfe', the file '?'"),
    ({"provider_name": "P"}, f"provider_name of {GUID} 'Provider', the file 'P'"),
    ({"provider_guid": GUID}, f"provider_guid of {GUID} '{OTHER}', the file '{GUID}'"),
    ({"instance_type": 2}, f"instance_type of {GUID} '6', the file '2'"),
    ({"counters": [{"id": 1, "english": "uno"}]}, f"the English name of counter 1 of {GUID} 'one', the file 'uno'"),
    ({"counters": [{"id": 1, "helps": {"7": "?"}}]}, f"counter 1 of {GUID} in language 7 'Hilfe', the file '?'"),
    *(
        (
            {"counters": [{"id": 1, "info": INFO | {name: 99}}]},
            f"{name} of counter 1 of {GUID} '{value}', the file '99'",
        )
        for name, value in INFO.items()
    ),
]


def reported() -> tuple[Catalogs, NameTables]:
    """What FULL says, as a capture states it."""
    catalogs, tables = Catalogs(), NameTables()
    catalog = catalogs.at("a")
    catalog.learn(GUID, 1, 0, {"instance_type": 6, "counters": [INFO]})
    for code, lcid, text in ((3, GERMAN, "Prozessor"), (4, GERMAN, "Hilfe"), (7, 0, "Provider"), (9, 0, "Processor")):
        catalog.learn(GUID, code, lcid, {"string": text})
    catalog.learn(GUID, 8, 0, {"guid": OTHER})
    for code, text in ((5, "eins"), (6, "Hilfe"), (10, "one")):
        catalog.learn(GUID, code, 7, {"strings": [{"counter_id": 1, "string": text}]})
    tables.at("a").learn("009", {2: "System", 6: "% Time"})
    return catalogs, tables


def test_a_record_holds_what_the_capture_states_and_no_more() -> None:
    catalogs, tables = reported()
    record = {
        "record": "metadata",
        "version": 1,
        "servers": [
            {
                "ip": "a",
                "countersets": [FULL | {"names": {"1031": "Prozessor"}}],
                "name_tables": {"009": {"2": "System", "6": "% Time"}},
            }
        ],
    }
    assert document(metadata_record(catalogs, tables)) == record
    # What a file fills in is not among it, nor are entries of which only the number is known.
    other = {"guid": OTHER, "english": "Other", "instance_type": 1, "counters": [{"id": 5, "info": INFO}]}
    more = {"guid": GUID, "counters": [{"id": 9, "english": "nine", "names": {"7": "neun"}}], "names": {"12": "fr"}}
    assert not list(
        fill_from_metadata(catalogs, tables, ["a"], [file_of(other, more, tables={"009": {"4": "Memory"}})])
    )
    catalogs.at("b").entry(GUID).counter(3)
    assert document(metadata_record(catalogs, tables)) == record
    assert document(metadata_record(Catalogs(), NameTables()))["servers"] == []


def test_servers_are_listed_by_address_with_what_each_stated() -> None:
    catalogs, tables = Catalogs(), NameTables()
    tables.at("c").learn("009", {10: "ten", 9: "nine"})
    catalogs.at("b").learn(GUID, 9, 0, {"string": "Processor"})
    assert document(metadata_record(catalogs, tables))["servers"] == [
        {"ip": "b", "countersets": [{"guid": GUID, "english": "Processor"}], "name_tables": {}},
        {"ip": "c", "countersets": [], "name_tables": {"009": {"9": "nine", "10": "ten"}}},
    ]


def test_a_file_says_all_that_a_record_holds() -> None:
    catalogs, tables = reported()
    assert list(fill_from_metadata(catalogs, tables, ["a"], [file_of(FULL, tables={"009": {"2": "System"}})])) == []
    bare, none = Catalogs(), NameTables()
    assert list(fill_from_metadata(bare, none, ["a"], [file_of(FULL, tables={"009": {"2": "System"}})])) == []
    entry = bare.at("a").countersets[GUID]
    assert (entry.provider_name, entry.provider_guid, entry.instance_type) == ("Provider", OTHER, 6)
    assert entry.given == {"provider_name", "provider_guid", "instance_type"}
    assert (entry.english, list(entry.names), list(entry.helps)) == (
        given("Processor"),
        [(GERMAN, given("Prozessor"))],
        [(GERMAN, given("Hilfe"))],
    )
    counter = entry.counters[1]
    assert (counter.info, counter.info_source, counter.english) == (INFO, "metadata", given("one"))
    assert none.at("a").name(2) == given("System")
    # A later file changes nothing, and contradicts nobody.
    later = [file_of({"guid": GUID} | change) for change, _ in CONTRADICTIONS]
    assert list(fill_from_metadata(bare, none, ["a"], later)) == []
    assert bare.at("a").countersets[GUID].provider_name == "Provider"


@pytest.mark.parametrize(("change", "words"), CONTRADICTIONS, ids=[words[:40] for _, words in CONTRADICTIONS])
def test_each_contradiction_is_told_in_its_words(change: dict[str, Any], words: str) -> None:
    catalogs, tables = reported()
    before = document(metadata_record(catalogs, tables))
    (note,) = fill_from_metadata(catalogs, tables, ["a"], [file_of({"guid": GUID} | change)])
    assert (note.kind, note.layer, note.frames) == ("note", "model", ())
    assert note.text == f"x.json contradicts what a says in the capture, which stands: the capture has for {words}"
    assert document(metadata_record(catalogs, tables)) == before


def test_contradictions_are_counted_and_the_first_is_told() -> None:
    catalogs, tables = reported()
    file = file_of({"guid": GUID, "english": "CPU", "instance_type": 2}, tables={"009": {"2": "S", "6": "% Time"}})
    (note,) = fill_from_metadata(catalogs, tables, ["a"], [file])
    assert note.text.endswith("'Processor', the file 'CPU', and 2 more")
    (note,) = fill_from_metadata(
        catalogs, tables, ["a"], [file_of({"guid": GUID, "english": "CPU", "instance_type": 2})]
    )
    assert note.text.endswith("'Processor', the file 'CPU', and 1 more")
    (note,) = fill_from_metadata(catalogs, tables, ["a"], [file_of(tables={"009": {"2": "S"}})])
    assert note.text.endswith("the capture has for index 2 in language 009 'System', the file 'S'")


def test_strangers_are_told_of_once_for_each_file() -> None:
    catalogs, tables = Catalogs(), NameTables()
    files = [file_of(FULL, ip="z")]
    (note,) = fill_from_metadata(catalogs, tables, ["b", "a", "b"], files)
    assert note.text == "x.json has names of z, none of a, b; --metadata-from takes those of another server"
    assert list(catalogs) == []
    notes = [note.text for note in fill_from_metadata(catalogs, tables, ["b", "a"], files, instead="z")]
    assert notes == [f"names of {ip} are taken from x.json, where they are those of z" for ip in ("a", "b")]
    assert [ip for ip, _ in catalogs] == ["a", "b"]
    assert "none of q" in next(fill_from_metadata(Catalogs(), NameTables(), ["q"], files, instead="nowhere")).text
    assert list(fill_from_metadata(Catalogs(), NameTables(), [], files)) == []
    empty = metadata_from_json(b'{"version": 1, "servers": []}', "e.json")
    assert [note.text for note in fill_from_metadata(Catalogs(), NameTables(), ["a"], [empty])] == [
        "e.json has no names of any server"
    ]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        (name, *{"attributes": (0, 2**64 - 1), "default_scale": (-(2**31), 2**31 - 1)}.get(name, (0, 2**32 - 1)))
        for name in INFO
    ],
)
def test_numbers_of_a_file_fit_the_fields_that_they_stand_for(name: str, low: int, high: int) -> None:
    """_PERF_COUNTER_REG_INFO, [MS-PCQ] section 2.2.4.2."""
    for value in (low, high):
        found = file_of({"guid": GUID, "counters": [{"id": 1, "info": INFO | {name: value}}]})
        assert found.servers["a"].catalog.countersets[GUID].counters[1].info == INFO | {name: value}
    for value in (low - 1, high + 1):
        with pytest.raises(InputError, match=f"{name} is {value}"):
            file_of({"guid": GUID, "counters": [{"id": 1, "info": INFO | {name: value}}]})
    lacking = {key: value for key, value in INFO.items() if key != name}
    with pytest.raises(InputError, match=f"'{name}' is missing"):
        file_of({"guid": GUID, "counters": [{"id": 1, "info": lacking}]})


def test_ids_and_languages_of_a_file_are_32_bits() -> None:
    most = 2**32 - 1
    found = file_of({"guid": GUID, "instance_type": most, "names": {str(most): "x"}, "counters": [{"id": most}]})
    entry = found.servers["a"].catalog.countersets[GUID]
    assert (entry.instance_type, [lcid for lcid, _ in entry.names], list(entry.counters)) == (most, [most], [most])
    for wrong in (
        {"instance_type": most + 1},
        {"names": {str(most + 1): "x"}},
        {"counters": [{"id": most + 1}]},
        {"instance_type": -1},
        {"names": {"\u0661": "x"}},
        {"provider_guid": "x"},
        {"provider_name": 5},
        {"counters": {}},
        {"counters": [5]},
    ):
        with pytest.raises(InputError, match=r"^x.json is no metadata file: "):
            file_of({"guid": GUID} | wrong)
    for fine in ({"provider_name": None}, {"english": None}, {"instance_type": None}, {"provider_guid": None}):
        assert file_of({"guid": GUID} | fine).servers["a"].catalog.countersets[GUID].given == set()


def test_a_metadata_file_begins_with_a_brace() -> None:
    heads = (b"{", b" \n{x", b"\xef\xbb\xbf {", b"", b"[", b"\x0a\x0d\x0d\x0a")
    assert [head for head in heads if looks_like_metadata(head)] == [b"{", b" \n{x", b"\xef\xbb\xbf {"]


# ------------------------------------------------------------------------------------------------------------- calls


def handled(call: Call, request: dict[str, Any], response: dict[str, Any]) -> Call:
    assert call.request is not None
    assert call.response is not None
    return replace(
        call, request=replace(call.request, params=request), response=replace(call.response, params=response)
    )


def test_a_call_names_the_handle_that_it_uses_before_the_one_that_it_gives_out() -> None:
    key = replace(plain_call(Calls(WINREG).exchange(15, b"", b"")), key_number=3)
    used, made = {"attributes": 0, "uuid": HANDLE}, {"attributes": 0, "uuid": OTHER_HANDLE}
    assert (key.handle, key.handle_uuid) == ("k3", None)
    for name in ("hKey", "hService", "hSCObject"):
        assert handled(key, {name: used}, {"phKey": made}).handle_uuid == HANDLE
    for name in ("phKey", "lpServiceHandle", "lpScHandle"):
        assert handled(key, {"hKey": None}, {name: made}).handle_uuid == OTHER_HANDLE
    assert handled(key, {"hOther": used}, {"hKey": made}).handle_uuid is None
    assert replace(handled(key, {"hKey": used}, {}), key_number=None).handle_uuid is None
    assert replace(handled(key, {}, {"phKey": made}), request=None).handle_uuid == OTHER_HANDLE
    service = replace(plain_call(Calls(SVCCTL).exchange(16, b"", b"")), key_number=1)
    assert service.handle == "s1"
    assert replace(service, key_number=None).handle is None


def test_a_call_says_what_it_asks_about_only_where_it_is_of_perflib() -> None:
    call = plain_call(Calls().exchange(1, b"", b""))
    asking = handled(call, {"CounterSetGuid": GUID, "RequestCode": 5}, {})
    assert (asking.counterset, asking.request_code) == (GUID, 5)
    assert (call.counterset, call.request_code) == (None, None)
    other = replace(asking, interface=replace(asking.interface, uuid=WINREG))
    assert (other.counterset, other.request_code, other.is_winreg, other.is_perflib) == (None, None, True, False)
    assert (replace(asking, request=None).counterset, replace(asking, request=None).request_code) == (None, None)
    odd = handled(call, {"CounterSetGuid": 5, "RequestCode": "5"}, {})
    assert (odd.counterset, odd.request_code) == (None, None)


def test_a_call_takes_from_its_last_frame_to_the_first_of_its_answer() -> None:
    call = plain_call(Calls().exchange(1, b"", b""))
    assert call.request is not None
    assert call.response is not None
    slow = replace(
        call,
        request=replace(call.request, first_time_ns=5, last_time_ns=7),
        response=replace(call.response, first_time_ns=20, last_time_ns=90),
    )
    assert slow.latency_ns == 13
    assert replace(slow, request=None).latency_ns is replace(slow, response=None).latency_ns is None
    assert call.frames == (1, 2)
    dropped = replace(call, request=replace(call.request, frames_of_dropped=(2, 9, 30)))
    assert dropped.frames == (2, 9, 30)
    side = dropped.request
    assert (side.first_frame, side.last_frame, side.frame_range) == (2, 30, (2, 30))
    assert replace(side, frames_of_dropped=(), pdus=()).frame_range == (0, 0)
