"""Names of objects and counters by title index: the capture's own name tables first, well-known ones as a marked last resort.

A server keeps its names as `Counter nnn` and `Help nnn` values, nnn a language id in hexadecimal (winperf.h reference, "Retrieving
Counter Names and Help Text"). Indices below 1848 are the base system's and the same on every Windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.server_names import MAX_REMEMBERED, Name, Named, SampleNames

ENGLISH = "009"

# Base indices as published in the Windows NT Workstation Resource Kit ("Performance Counters", with their Index lines) and in
# the winperf.h reference pages. Kept small: a name that is not here is shown as its number.
WELL_KNOWN: Mapping[int, str] = {
    2: "System",
    4: "Memory",
    6: "% Processor Time",
    10: "File Read Operations/sec",
    12: "File Write Operations/sec",
    14: "File Control Operations/sec",
    16: "File Read Bytes/sec",
    18: "File Write Bytes/sec",
    20: "File Control Bytes/sec",
    24: "Available Bytes",
    26: "Committed Bytes",
    28: "Page Faults/sec",
    30: "Commit Limit",
    32: "Write Copies/sec",
    34: "Transition Faults/sec",
    36: "Cache Faults/sec",
    38: "Demand Zero Faults/sec",
    40: "Pages/sec",
    42: "Page Reads/sec",
    44: "Processor Queue Length",
    46: "Thread State",
    48: "Pages Output/sec",
    50: "Page Writes/sec",
    56: "Pool Paged Bytes",
    58: "Pool Nonpaged Bytes",
    60: "Pool Paged Allocs",
    64: "Pool Nonpaged Allocs",
    86: "Cache",
    142: "% User Time",
    144: "% Privileged Time",
    146: "Context Switches/sec",
    148: "Interrupts/sec",
    150: "System Calls/sec",
    172: "Virtual Bytes Peak",
    174: "Virtual Bytes",
    178: "Working Set Peak",
    180: "Working Set",
    182: "Page File Bytes Peak",
    184: "Page File Bytes",
    186: "Private Bytes",
    198: "Current Disk Queue Length",
    200: "% Disk Time",
    202: "% Disk Read Time",
    204: "% Disk Write Time",
    206: "Avg. Disk sec/Transfer",
    208: "Avg. Disk sec/Read",
    210: "Avg. Disk sec/Write",
    212: "Disk Transfers/sec",
    214: "Disk Reads/sec",
    216: "Disk Writes/sec",
    218: "Disk Bytes/sec",
    220: "Disk Read Bytes/sec",
    222: "Disk Write Bytes/sec",
    230: "Process",
    232: "Thread",
    234: "PhysicalDisk",
    236: "LogicalDisk",
    238: "Processor",
    248: "Processes",
    250: "Threads",
    260: "Objects",
    262: "Redirector",
    330: "Server",
    510: "Network Interface",
    674: "System Up Time",
    680: "Thread Count",
    682: "Priority Base",
    684: "Elapsed Time",
    696: "% DPC Time",
    698: "% Interrupt Time",
    700: "Paging File",
    784: "ID Process",
    952: "Handle Count",
    1334: "DPCs Queued/sec",
    1336: "DPC Rate",
    1410: "Creating Process ID",
    1412: "IO Read Operations/sec",
    1414: "IO Write Operations/sec",
    1416: "IO Data Operations/sec",
    1418: "IO Other Operations/sec",
    1420: "IO Read Bytes/sec",
    1422: "IO Write Bytes/sec",
    1424: "IO Data Bytes/sec",
    1426: "IO Other Bytes/sec",
    1746: "% Idle Time",
    1748: "% C1 Time",
    1750: "% C2 Time",
    1752: "% C3 Time",
    1754: "C1 Transitions/sec",
    1756: "C2 Transitions/sec",
    1758: "C3 Transitions/sec",
}


class NameTable:
    """The counter names that one server reported, by title index and language id. Names of a metadata file only fill gaps."""

    def __init__(self) -> None:
        self._reported: dict[str, dict[int, str]] = {}
        self._given: dict[str, dict[int, str]] = {}
        self._named: dict[int, Named] = {}
        self._names: dict[tuple[int, int], SampleNames] = {}

    def learn(self, language: str, entries: Mapping[int, str]) -> None:
        """Notes the counter names by title index that the capture states."""
        self._forget()
        self._reported.setdefault(language, {}).update(entries)

    def give(self, language: str, entries: Mapping[int, str]) -> dict[int, str]:
        """Notes the counter names by title index that a metadata file states. Returns the capture's names that differ; these
        stand."""
        self._forget()
        reported = self._reported.get(language, {})
        given = self._given.setdefault(language, {})
        given.update({index: text for index, text in entries.items() if index not in given})
        return {index: reported[index] for index, text in entries.items() if reported.get(index, text) != text}

    def packed(self) -> tuple[dict[str, dict[int, str]], dict[str, dict[int, str]]]:
        """Returns the counter names of the capture and those of a metadata file, by language id."""
        return self._reported, self._given

    def unpack(self, reported: dict[str, dict[int, str]], given: dict[str, dict[int, str]]) -> None:
        """Replaces all counter names by those that `packed` returned."""
        self._forget()
        self._reported, self._given = reported, given

    @property
    def reported(self) -> Mapping[str, Mapping[int, str]]:
        """The counter names that the capture says, by language id."""
        return self._reported

    def named(self, index: int) -> Named:
        """The names of a title index: English and another language, as reported or given; well-known English else."""
        if (known := self._named.get(index)) is None:
            if len(self._named) >= MAX_REMEMBERED:
                self._forget()
            known = self._named[index] = self._looked_up(index)
        return known

    def names(self, object_index: int, counter_index: int) -> SampleNames:
        """All names of a winperf counter and its object, by their title indexes."""
        key = object_index, counter_index
        if (known := self._names.get(key)) is None:
            if len(self._names) >= MAX_REMEMBERED:
                self._forget()
            known = self._names[key] = SampleNames(self.named(object_index), self.named(counter_index))
        return known

    def name(self, index: int) -> Name | None:
        """The name of a title index for people: English, another language, or well-known."""
        return self.named(index).best

    def _forget(self) -> None:
        self._named.clear()
        self._names.clear()

    def _looked_up(self, index: int) -> Named:
        english, local, language = self._find(ENGLISH, index), None, None
        for other in (*self._reported, *self._given):
            if other != ENGLISH and (local := self._find(other, index)) is not None:
                language = other
                break
        if english is None and local is None and index in WELL_KNOWN:
            english = Name(WELL_KNOWN[index], "well-known")
        return Named(english, local, language)

    def _find(self, language: str, index: int) -> Name | None:
        reported = self._reported.get(language)
        if reported is not None and index in reported:
            return Name(reported[index], "capture")
        given = self._given.get(language)
        return Name(given[index], "metadata") if given is not None and index in given else None


class NameTables:
    """The tables of counter names, one for each server address."""

    def __init__(self) -> None:
        self._by_ip: dict[str, NameTable] = {}

    def table_of(self, server: Endpoint) -> NameTable:
        return self.at(server.ip)

    def at(self, ip: str) -> NameTable:
        return self._by_ip.setdefault(ip, NameTable())

    def all(self) -> Iterator[tuple[str, NameTable]]:
        """Yields every server's table of counter names, even an empty one."""
        return iter(self._by_ip.items())

    def __iter__(self) -> Iterator[tuple[str, NameTable]]:
        """Yields the servers that reported counter names, with their tables."""
        return ((ip, table) for ip, table in self._by_ip.items() if table.reported)


NAME_TABLE_WORDS = frozenset({"counter", "help", "explain"})


# HKEY_PERFORMANCE_TEXT and HKEY_PERFORMANCE_NLSTEXT have the tables as `Counter` and `Help`, without a language: English in the
# former, that of the server's user in the latter (winperf.h reference, "Retrieving Counter Names and Help Text").
_LANGUAGE_OF_KEY = {"HKEY_PERFORMANCE_TEXT": ENGLISH}
OWN_LANGUAGE = "the server's own"


def table_language(value_name: str, key: str | None = None) -> tuple[str, str] | None:
    """Returns (`counter` or `help`, language id) for a name-table value such as `Counter 009`; None for any other value name.

    `key` is the performance key that the value is read from, if known. Samba spells `Help` as `Explain`.
    """
    words = value_name.casefold().split()
    if not words or words[0] not in NAME_TABLE_WORDS:
        return None
    table = "counter" if words[0] == "counter" else "help"
    if len(words) == 2:
        return table, words[1]
    if len(words) == 1 and key is not None:
        return table, _LANGUAGE_OF_KEY.get(key, OWN_LANGUAGE)
    return None


def is_index(word: str) -> bool:
    """Whether a word is an index into a table of counter names: a DWORD in decimal."""
    return word.isascii() and word.isdecimal() and len(word) <= 10


def value_in_words(value_name: str, table: NameTable, key: str | None = None) -> str:
    """Describes with the names of a table what a performance value name asks for: `objects 230 Process, 238 Processor`, `counter
    names (language 009)`."""
    words = value_name.split()
    if language := table_language(value_name, key):
        kind, code = language
        return f"{'counter names' if kind == 'counter' else 'help texts'} (language {code})"
    if words and all(map(is_index, words)):
        return _objects_in_words(words, table)
    # Asked without values, an object answers with its counter definitions alone (winperf.h, Windows 10 version 20H1).
    if len(words) > 1 and words[0].casefold() == "metadata" and all(map(is_index, words[1:])):
        return f"metadata of {_objects_in_words(words[1:], table)}"
    return _SETS_OF_OBJECTS.get(value_name.casefold(), f'value "{value_name}"')


_SETS_OF_OBJECTS = {
    "global": "Global (all objects that are cheap to collect)",
    "costly": "Costly (all objects that are expensive to collect)",
    "metadataglobal": "MetadataGlobal (counter definitions, without values, of all objects that are cheap to collect)",
    "metadatacostly": "MetadataCostly (counter definitions, without values, of all objects that are expensive to collect)",
}


def _objects_in_words(indices: Sequence[str], table: NameTable) -> str:
    named = []
    for index in indices:
        name = table.name(int(index))
        named.append(f"{index} {name.text}" if name is not None else index)
    return ("objects " if len(indices) > 1 else "object ") + ", ".join(named)
