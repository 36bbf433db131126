"""The catalog of countersets that a server reported: names, types and relations of counters ([MS-PCQ] section 3.1.4.1.2).

English names (request codes 9 and 0xA) and those of a language (codes 3 to 6, by the LCID asked for) are kept apart. Facts from a
metadata file are marked and never replace those of the capture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from analyzer.results.methods.perflib import RequestCode
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.server_names import MAX_REMEMBERED, Name, Named, NameSource, SampleNames, Texts

# The lower ten bits of an LCID are its primary language, 9 is English ([MS-LCID] section 2.1).
_PRIMARY_LANGUAGE, _ENGLISH = 0x3FF, 0x09
_SINGLE_INSTANCE = 0x00  # an InstanceType


def is_english(lcid: int) -> bool:
    return lcid & _PRIMARY_LANGUAGE == _ENGLISH


class Described(Struct):
    """A counter or counterset with its names: the English one, and name and help text in each language asked for, by LCID."""

    english: Name | None = None
    names: Texts[int] = field(default_factory=Texts)
    helps: Texts[int] = field(default_factory=Texts)

    @property
    def named(self) -> Named:
        """Returns both names that the catalog has of a counter or counterset. If the neutral English one is known, the other is not
        English."""
        wants_english = self.english is None
        language, local = self.names.first(lambda lcid: is_english(lcid) == wants_english)
        return Named(self.english, local, language)

    @property
    def label(self) -> str | None:
        """Returns the name that the catalog has of a counter or counterset for people: the neutral English one if known, else one
        asked for."""
        return self.english.text if self.english is not None else self.name

    @property
    def name(self) -> str | None:
        """The name that the catalog has of a counter or counterset in a language asked for."""
        local = self.named.local
        return local.text if local is not None else None

    @property
    def english_name(self) -> str | None:
        return self.english.text if self.english is not None else None

    @property
    def help(self) -> str | None:
        _, text = self.helps.first()
        return text.text if text is not None else None

    def learn_english(self, text: str) -> bool:
        """Notes the English name of a counter or counterset that the capture states; returns whether it is new."""
        known, self.english = self.english, Name(text, "capture")
        return known != self.english

    def fill_english(self, text: str) -> Name | None:
        """Notes the English name of a counter or counterset that a metadata file states, like `Texts.fill`."""
        known = self.english
        if known is None:
            self.english = Name(text, "metadata")
            return None
        return known if known.source == "capture" and known.text != text else None


class CounterEntry(Described):
    """One counter as far as the server described it. `info` is its registration information (`ksy/` ids)."""

    info: dict[str, Any] | None = None
    info_source: NameSource | None = None

    @property
    def type(self) -> int | None:
        return self.info["counter_type"] if self.info is not None else None

    def learn_info(self, info: dict[str, Any]) -> bool:
        """Notes a counter's registration information that the capture states; returns whether it is new."""
        known, self.info, self.info_source = self.info, info, "capture"
        return known != info

    def fill_info(self, info: dict[str, Any]) -> bool:
        """Notes a counter's registration information that a metadata file states. Returns False if the capture's differs; that
        stands."""
        if self.info is None:
            self.info, self.info_source = info, "metadata"
            return True
        return self.info_source != "capture" or self.info == info


class CountersetEntry(Described):
    """One counterset in the catalog, as far as the server described it."""

    guid: str = ""
    provider_name: str | None = None
    provider_guid: str | None = None
    instance_type: int | None = None
    # The fields above that a metadata file reported.
    given: set[str] = field(default_factory=set)
    counters: dict[int, CounterEntry] = field(default_factory=dict)
    # Names of instances by number; None where the number was reported with different names.
    instances: dict[int, str | None] = field(default_factory=dict)

    def counter(self, counter_id: int) -> CounterEntry:
        return self.counters.setdefault(counter_id, CounterEntry())


class Catalog:
    """The catalog of the countersets of one server."""

    def __init__(self) -> None:
        self.countersets: dict[str, CountersetEntry] = {}
        self._names: dict[tuple[str, int | None], SampleNames] = {}

    def entry(self, guid: str) -> CountersetEntry:
        """Returns the catalog's entry of a counterset; makes one if there is none."""
        self._names.clear()
        return self.countersets.setdefault(guid, CountersetEntry(guid=guid))

    def learn(self, guid: str, code: int, lcid: int, tree: dict[str, Any]) -> bool:
        """Notes a server's answer to one request code about a counterset, decoded to `tree`; returns whether it changed anything.
        Ignores unknown codes."""
        entry = self.entry(guid)
        changed = False
        if code == RequestCode.COUNTERSET_STRUCT:
            changed = entry.instance_type != tree["instance_type"]
            entry.instance_type = tree["instance_type"]
            for info in tree["counters"]:
                changed |= entry.counter(info["counter_id"]).learn_info(info)
        elif code == RequestCode.COUNTER_STRUCT:
            changed = entry.counter(tree["counter"]["counter_id"]).learn_info(tree["counter"])
        elif code == RequestCode.COUNTERSET_ENGLISH_NAME:
            changed = entry.learn_english(tree["string"])
        elif code == RequestCode.COUNTERSET_NAME_STRING:
            changed = entry.names.learn(lcid, tree["string"])
        elif code == RequestCode.COUNTERSET_HELP_STRING:
            changed = entry.helps.learn(lcid, tree["string"])
        elif code == RequestCode.PROVIDER_NAME:
            changed = entry.provider_name != tree["string"]
            entry.provider_name = tree["string"]
        elif code == RequestCode.PROVIDER_GUID:
            changed = entry.provider_guid != tree["guid"]
            entry.provider_guid = tree["guid"]
        elif code in (
            RequestCode.COUNTER_NAME_STRINGS,
            RequestCode.COUNTER_HELP_STRINGS,
            RequestCode.COUNTER_ENGLISH_NAMES,
        ):
            for row in tree["strings"]:
                if (text := row.get("string")) is None:
                    continue
                counter = entry.counter(row["counter_id"])
                if code == RequestCode.COUNTER_ENGLISH_NAMES:
                    changed |= counter.learn_english(text)
                else:
                    texts = counter.names if code == RequestCode.COUNTER_NAME_STRINGS else counter.helps
                    changed |= texts.learn(lcid, text)
        return changed

    def learn_instances(self, guid: str, tree: dict[str, Any]) -> None:
        """Notes in the catalog the instances that EnumerateCounterSetInstances lists. Instances come and go: a number given anew
        names none."""
        known = self.entry(guid).instances
        for item in tree["instances"]:
            number, name = item["instance_id"], item["name"]
            known[number] = name if known.get(number, name) == name else None

    def instance(self, guid: str, number: int) -> str | None:
        """Returns the name that the catalog has of a counterset's instance, if all captured lists agree on it."""
        entry = self.countersets.get(guid)
        return entry.instances.get(number) if entry is not None else None

    def is_single(self, counterset: str | None) -> bool:
        """Whether the catalog says of a counterset that it has one instance only, whose name and id mean nothing ([MS-PCQ] section
        2.2.4.1)."""
        entry = self.countersets.get(counterset) if counterset is not None else None
        return entry is not None and entry.instance_type == _SINGLE_INSTANCE

    def label(self, guid: str | None) -> str | None:
        entry = self.countersets.get(guid) if guid is not None else None
        return entry.label if entry is not None else None

    def counter(self, guid: str | None, counter_id: int | None) -> CounterEntry | None:
        entry = self.countersets.get(guid) if guid is not None else None
        return entry.counters.get(counter_id) if entry is not None and counter_id is not None else None

    def names(self, guid: str | None, counter_id: int | None) -> SampleNames | None:
        """Returns all names of a counter and its counterset; None if nothing was reported about the counterset."""
        if guid is None or (entry := self.countersets.get(guid)) is None:
            return None
        key = guid, counter_id
        if (found := self._names.get(key)) is None:
            if len(self._names) >= MAX_REMEMBERED:
                self._names.clear()
            counter = entry.counters.get(counter_id) if counter_id is not None else None
            found = self._names[key] = SampleNames(entry.named, counter.named if counter is not None else Named())
        return found


class Catalogs:
    """The counterset catalogs, one for each server address: the names on one machine say nothing about another's."""

    def __init__(self) -> None:
        self._by_ip: dict[str, Catalog] = {}

    def catalog_of(self, server: Endpoint) -> Catalog:
        return self.at(server.ip)

    def at(self, ip: str) -> Catalog:
        return self._by_ip.setdefault(ip, Catalog())

    def __iter__(self) -> Iterator[tuple[str, Catalog]]:
        """Yields the servers that reported countersets, with their catalogs."""
        return ((ip, catalog) for ip, catalog in self._by_ip.items() if catalog.countersets)
