"""What a server told about its countersets: names, types and relations of counters ([MS-PCQ] section 3.1.4.1.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from analyzer.packet.segment import Endpoint
from analyzer.pcq.identity import RequestCode


@dataclass(slots=True)
class CounterEntry:
    """One counter as far as the server described it. `info` is its registration information (`ksy/` ids)."""

    info: dict[str, Any] | None = None
    name: str | None = None
    english_name: str | None = None
    help: str | None = None

    @property
    def label(self) -> str | None:
        return self.english_name or self.name

    @property
    def type(self) -> int | None:
        return self.info["counter_type"] if self.info is not None else None


@dataclass(slots=True)
class CountersetEntry:
    """One counterset as far as the server described it."""

    guid: str
    name: str | None = None
    english_name: str | None = None
    help: str | None = None
    provider_name: str | None = None
    provider_guid: str | None = None
    instance_type: int | None = None
    counters: dict[int, CounterEntry] = field(default_factory=dict)

    @property
    def label(self) -> str | None:
        """The name for people: the neutral English one where it is known, else that of the language asked for."""
        return self.english_name or self.name

    def counter(self, counter_id: int) -> CounterEntry:
        return self.counters.setdefault(counter_id, CounterEntry())


_STRING_FIELDS = {
    RequestCode.COUNTERSET_NAME_STRING: "name",
    RequestCode.COUNTERSET_HELP_STRING: "help",
    RequestCode.PROVIDER_NAME: "provider_name",
    RequestCode.PROVIDER_GUID: "provider_guid",
    RequestCode.COUNTERSET_ENGLISH_NAME: "english_name",
}
_TABLE_FIELDS = {
    RequestCode.COUNTER_NAME_STRINGS: "name",
    RequestCode.COUNTER_HELP_STRINGS: "help",
    RequestCode.COUNTER_ENGLISH_NAMES: "english_name",
}


class Catalog:
    """The countersets of one server."""

    def __init__(self) -> None:
        self.countersets: dict[str, CountersetEntry] = {}

    def learn(self, guid: str, code: int, tree: dict[str, Any]) -> None:
        """Notes the answer to one request code, decoded to `tree`. Unknown codes teach nothing."""
        entry = self.countersets.setdefault(guid, CountersetEntry(guid))
        if code == RequestCode.COUNTERSET_STRUCT:
            entry.instance_type = tree["instance_type"]
            for info in tree["counters"]:
                entry.counter(info["counter_id"]).info = info
        elif code == RequestCode.COUNTER_STRUCT:
            entry.counter(tree["counter"]["counter_id"]).info = tree["counter"]
        elif code in _STRING_FIELDS:
            setattr(
                entry,
                _STRING_FIELDS[RequestCode(code)],
                tree["guid" if code == RequestCode.PROVIDER_GUID else "string"],
            )
        elif code in _TABLE_FIELDS:
            for row in tree["strings"]:
                if row.get("string") is not None:
                    setattr(entry.counter(row["counter_id"]), _TABLE_FIELDS[RequestCode(code)], row["string"])

    def label(self, guid: str | None) -> str | None:
        entry = self.countersets.get(guid) if guid is not None else None
        return entry.label if entry is not None else None

    def counter(self, guid: str | None, counter_id: int | None) -> CounterEntry | None:
        entry = self.countersets.get(guid) if guid is not None else None
        return entry.counters.get(counter_id) if entry is not None and counter_id is not None else None


class Catalogs:
    """One catalog for each server address: what one machine calls a counter says nothing of another's."""

    def __init__(self) -> None:
        self._by_ip: dict[str, Catalog] = {}

    def of(self, server: Endpoint) -> Catalog:
        return self._by_ip.setdefault(server.ip, Catalog())
