"""Metadata files: what servers reported about their counters, as versioned JSON that fills the gaps of a capture.

A metadata file holds, for each server by its address, the registration information and names of countersets ([MS-PCQ] section
3.1.4.1.2) and the name tables of winperf. What the capture states always stands; if a file differs, a note says so. Names of one
server say nothing about another's: they are used for another only when the user says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.results.analysis import Analysis
from analyzer.results.methods import perflib, winreg
from analyzer.results.records.record_types import Record, Value, doc
from analyzer.results.reported_names.counter_name_tables import NameTable, NameTables
from analyzer.results.reported_names.counterset_catalog import (
    Catalog,
    Catalogs,
    CounterEntry,
    CountersetEntry,
    Described,
)
from analyzer.results.reported_names.server_names import Name

Json = dict[str, Any]
VERSION = 1
_UINT32 = 0xFFFFFFFF
# The fields of _PERF_COUNTER_REG_INFO that are not 32 bits without a sign ([MS-PCQ] section 2.2.4.2).
_RANGES = {"attributes": (0, (1 << 64) - 1), "default_scale": (-(1 << 31), (1 << 31) - 1)}
_INFO_FIELDS = (
    "counter_id",
    "counter_type",
    "attributes",
    "detail_level",
    "default_scale",
    "base_counter_id",
    "perf_time_id",
    "perf_freq_id",
    "multi_id",
    "aggregate_func",
    "reserved",
)


class ServerMetadata(Struct, frozen=True):
    """What a metadata file states about one server's counters; the source of all names in it is `metadata`."""

    catalog: Catalog
    tables: Mapping[str, Mapping[int, str]]


class Metadata(Struct, frozen=True):
    """The content of a metadata file, `origin` being what the user called it. Servers are named by their address."""

    origin: str
    servers: Mapping[str, ServerMetadata] = field(default_factory=dict)


_Texts = Annotated[dict[str, str] | UnsetType, doc("by the LCID in decimal; left out where there are none")]


class _DescribedFacts(Value, frozen=True, kw_only=True):
    """The names of a counterset or counter, as far as the server stated them."""

    english: Annotated[str | UnsetType, doc("English name; left out where it was not reported")] = UNSET
    names: _Texts = UNSET
    helps: _Texts = UNSET

    @property
    def is_empty(self) -> bool:
        """Whether the metadata states nothing about a counterset or counter but its number."""
        return all(getattr(self, name) is UNSET for name in self.__struct_fields__ if name not in ("id", "guid"))


class CounterMetadata(_DescribedFacts, frozen=True, kw_only=True):
    """A counter as a server described it."""

    id: Annotated[int, doc("id of the counter in its counterset")]
    info: Annotated[
        dict[str, int] | UnsetType,
        doc("its registration; left out where it was not reported", source="[MS-PCQ] section 2.2.4.2"),
    ] = UNSET


class CountersetMetadata(_DescribedFacts, frozen=True, kw_only=True):
    """A counterset as a server described it."""

    guid: Annotated[str, doc("CounterSetGuid")]
    provider_name: Annotated[str | UnsetType, doc("name of its provider; left out where it was not reported")] = UNSET
    provider_guid: Annotated[str | UnsetType, doc("GUID of its provider; left out where it was not reported")] = UNSET
    instance_type: Annotated[
        int | UnsetType,
        doc("kind of its instances; left out where it was not reported", source="[MS-PCQ] section 2.2.4.1"),
    ] = UNSET
    counters: Annotated[tuple[CounterMetadata, ...] | UnsetType, doc("its counters; left out for none")] = UNSET


class ServerFacts(Value, frozen=True, kw_only=True):
    """What one server stated of its countersets and counter names, in a metadata file."""

    ip: Annotated[str, doc("its address")]
    countersets: Annotated[tuple[CountersetMetadata, ...], doc("its countersets")]
    name_tables: Annotated[
        dict[str, dict[str, str]], doc("names of winperf by language id, then by title index in decimal")
    ]


class MetadataRecord(Record, frozen=True, kw_only=True, tag="metadata"):
    """What the servers of a capture stated about their counters: the content of a metadata file."""

    version: Annotated[int, doc("version of this form")]
    servers: Annotated[tuple[ServerFacts, ...], doc("each server that reported something")]


def metadata_record(catalogs: Catalogs, tables: NameTables) -> MetadataRecord:
    """Returns a metadata file's content: what a capture reported about counters. Leaves out what came from another file."""
    reported: dict[str, tuple[CountersetMetadata, ...]] = {}
    for ip, catalog in catalogs:
        entries = (_counterset_facts(entry) for entry in catalog.countersets.values())
        reported[ip] = tuple(entry for entry in entries if not entry.is_empty)
    named = {ip: {language: _keyed(names) for language, names in table.reported.items()} for ip, table in tables}
    return MetadataRecord(
        version=VERSION,
        servers=tuple(
            ServerFacts(ip=ip, countersets=reported.get(ip, ()), name_tables=named.get(ip, {}))
            for ip in sorted({*reported, *named})
            if reported.get(ip) or named.get(ip)
        ),
    )


def _keyed(texts: Mapping[int, str]) -> dict[str, str]:
    return {str(key): text for key, text in sorted(texts.items())}


def _described(entry: Described) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if entry.english is not None and entry.english.source == "capture":
        out["english"] = entry.english.text
    for key, texts in (("names", entry.names), ("helps", entry.helps)):
        if reported := {lcid: name.text for lcid, name in texts if name.source == "capture"}:
            out[key] = _keyed(reported)
    return out


def _counterset_facts(entry: CountersetEntry) -> CountersetMetadata:
    stated = _described(entry)
    for key in ("provider_name", "provider_guid", "instance_type"):
        if (value := getattr(entry, key)) is not None and key not in entry.given:
            stated[key] = value
    counters = []
    for counter_id, counter in sorted(entry.counters.items()):
        info = dict(counter.info) if counter.info is not None and counter.info_source == "capture" else UNSET
        facts = CounterMetadata(id=counter_id, info=info, **_described(counter))
        if not facts.is_empty:
            counters.append(facts)
    return CountersetMetadata(guid=entry.guid, counters=tuple(counters) if counters else UNSET, **stated)


# --------------------------------------------------------------------------------------------------------- reading


def looks_like_metadata(head: bytes) -> bool:
    """Whether a file begins like one of our metadata files: JSON begins with a brace, a capture does not."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def metadata_from_json(data: bytes, origin: str) -> Metadata:
    """Reads the metadata of counters in a file. Raises `InputError` in one sentence if it is no metadata file."""
    import json

    try:
        document = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{origin} is no JSON: {error}") from None
    if not isinstance(document, dict) or "servers" not in document:
        raise InputError(
            f"{origin} is no metadata file", hint="pcq-analyzer export-metadata CAPTURE -o FILE writes one."
        )
    if document.get("version") != VERSION:
        raise InputError(
            f"{origin} is a metadata file of version {document.get('version')}, this program reads {VERSION}"
        )
    try:
        servers = {
            _typed(server["ip"], str, "ip"): _server(server) for server in _typed(document["servers"], list, "servers")
        }
    except (KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{origin} is no metadata file: {what}") from None
    return Metadata(origin, servers)


_Kind = TypeVar("_Kind")


def _typed(value: object, kind: type[_Kind], name: str) -> _Kind:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name} is no {kind.__name__}")
    return value


def _number(value: object, name: str, low: int = 0, high: int = _UINT32) -> int:
    number = _typed(value, int, name)
    if not low <= number <= high:
        raise ValueError(f"{name} is {number}")
    return number


def _texts(value: object, name: str) -> Iterator[tuple[int, str]]:
    for key, text in _typed(value, dict, name).items():
        if not (key.isascii() and key.isdecimal() and len(key) <= 10):
            raise ValueError(f"{name} has the key {key!r}, which is no number")
        yield _number(int(key), name), _typed(text, str, name)


def _server(value: object) -> ServerMetadata:
    server = _typed(value, dict, "server")
    catalog = Catalog()
    for counterset in _typed(server.get("countersets", []), list, "countersets"):
        _read_counterset(catalog, _typed(counterset, dict, "counterset"))
    tables = {
        language: dict(_texts(names, "name table"))
        for language, names in _typed(server.get("name_tables", {}), dict, "name_tables").items()
    }
    return ServerMetadata(catalog, tables)


def _read_counterset(catalog: Catalog, value: Json) -> None:
    entry = catalog.entry(str(UUID(_typed(value["guid"], str, "guid"))))
    _read_described(entry, value)
    if value.get("provider_name") is not None:
        entry.provider_name = _typed(value["provider_name"], str, "provider_name")
    if value.get("provider_guid") is not None:
        entry.provider_guid = str(UUID(_typed(value["provider_guid"], str, "provider_guid")))
    if value.get("instance_type") is not None:
        entry.instance_type = _number(value["instance_type"], "instance_type")
    for counter in _typed(value.get("counters", []), list, "counters"):
        counter_id = _number(_typed(counter, dict, "counter")["id"], "id")
        known = entry.counter(counter_id)
        _read_described(known, counter)
        if (info := counter.get("info")) is not None:
            known.fill_info(
                {name: _number(info[name], name, *_RANGES.get(name, (0, _UINT32))) for name in _INFO_FIELDS}
            )


def _read_described(entry: Described, value: Json) -> None:
    if (english := value.get("english")) is not None:
        entry.fill_english(_typed(english, str, "english"))
    for key, texts in (("names", entry.names), ("helps", entry.helps)):
        for lcid, text in _texts(value.get(key, {}), key):
            texts.fill(lcid, text)


# --------------------------------------------------------------------------------------------------------- filling


class _Differences(Struct):
    """Counts the facts in which a metadata file differs from the capture; has the first of them in words."""

    count: int = 0
    first: str = ""

    def add(self, what: str, kept: str, given: str) -> None:
        self.count += 1
        self.first = self.first or f"{what} {kept!r}, the file {given!r}"

    def name(self, known: Name | None, what: str, given: str) -> None:
        if known is not None:
            self.add(what, known.text, given)


def filled(analysis: Analysis, given: Sequence[Metadata], instead: str | None) -> Analysis:
    """Returns the analysis with its gaps filled from saved metadata (`fill_from_metadata`); the notes are among its problems."""
    known = analysis.calls.contexts_by_last_call()
    servers = {one.server.ip for one in known if one.interface.uuid in (perflib.INTERFACE, winreg.INTERFACE)}
    notes = fill_from_metadata(analysis.catalogs, analysis.name_tables, servers, given, instead=instead)
    return replace(analysis, problems=(*analysis.problems, *notes))


def fill_from_metadata(
    catalogs: Catalogs,
    tables: NameTables,
    servers: Iterable[str],
    given: Sequence[Metadata],
    *,
    instead: str | None = None,
) -> Iterator[Problem]:
    """Fills gaps in what the `servers` of a capture reported from saved metadata, earlier files first. Yields notes on which names
    were used, and where a file contradicts the capture. `instead` is a server of a file; servers that the file does not know get
    its metadata."""
    here = sorted(set(servers))
    for metadata in given:
        strangers = [ip for ip in here if ip not in metadata.servers]
        for ip in here:
            source = ip if ip in metadata.servers else instead
            if source is None or (found := metadata.servers.get(source)) is None:
                continue
            if source != ip:
                yield _note(f"names of {ip} are taken from {metadata.origin}, where they are those of {source}")
            differences = _fill_server(catalogs.at(ip), tables.at(ip), found)
            if differences.count:
                more = f", and {differences.count - 1} more" if differences.count > 1 else ""
                yield _note(
                    f"{metadata.origin} contradicts what {ip} says in the capture, which stands: the capture has for "
                    f"{differences.first}{more}"
                )
        if strangers and metadata.servers and instead not in metadata.servers:
            known = ", ".join(metadata.servers)
            yield _note(
                f"{metadata.origin} has names of {known}, none of {', '.join(strangers)}; --metadata-from takes those of "
                "another server"
            )
        elif not metadata.servers:
            yield _note(f"{metadata.origin} has no names of any server")


def _note(text: str) -> Problem:
    return Problem("note", "model", (), text)


def _fill_server(catalog: Catalog, table: NameTable, given: ServerMetadata) -> _Differences:
    differences = _Differences()
    for guid, entry in given.catalog.countersets.items():
        known = catalog.entry(guid)
        _fill_names_and_helps(known, entry, f"counterset {guid}", differences)
        for key in ("provider_name", "provider_guid", "instance_type"):
            mine, theirs = getattr(known, key), getattr(entry, key)
            if mine is None and theirs is not None:
                setattr(known, key, theirs)
                known.given.add(key)
            elif theirs is not None and mine != theirs and key not in known.given:
                differences.add(f"{key} of {guid}", str(mine), str(theirs))
        for counter_id, counter in entry.counters.items():
            _fill_counter(known.counter(counter_id), counter, f"counter {counter_id} of {guid}", differences)
    for language, names in given.tables.items():
        for index, reported in table.give(language, names).items():
            differences.add(f"index {index} in language {language}", reported, names[index])
    return differences


def _fill_counter(known: CounterEntry, counter: CounterEntry, what: str, differences: _Differences) -> None:
    _fill_names_and_helps(known, counter, what, differences)
    mine, theirs = known.info, counter.info
    if theirs is not None and not known.fill_info(theirs):
        assert mine is not None
        name = next(name for name in _INFO_FIELDS if mine[name] != theirs[name])
        differences.add(f"{name} of {what}", str(mine[name]), str(theirs[name]))


def _fill_names_and_helps(known: Described, given: Described, what: str, differences: _Differences) -> None:
    if given.english is not None:
        differences.name(known.fill_english(given.english.text), f"the English name of {what}", given.english.text)
    for mine, theirs in ((known.names, given.names), (known.helps, given.helps)):
        for lcid, name in theirs:
            differences.name(mine.fill(lcid, name.text), f"{what} in language {lcid}", name.text)
