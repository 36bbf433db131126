"""Names of objects and counters by title index: the capture's own name tables first, well-known ones as a marked last resort.

A server keeps its names as `Counter nnn` and `Help nnn` values, nnn a language id in hexadecimal (winperf.h reference, "Retrieving
Counter Names and Help Text"). Indices below 1848 are the base system's and the same on every Windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from analyzer.packet.segment import Endpoint

NameSource = Literal["capture", "well-known"]

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


@dataclass(frozen=True, slots=True)
class Name:
    """A name and where it was taken from."""

    text: str
    source: NameSource


class NameTable:
    """The names one server told, by language id."""

    def __init__(self) -> None:
        self._names: dict[str, dict[int, str]] = {}

    def learn(self, language: str, entries: Mapping[int, str]) -> None:
        self._names.setdefault(language, {}).update(entries)

    def name(self, index: int) -> Name | None:
        """The name of a title index: English as told, another language as told, or well-known."""
        tables = [self._names[ENGLISH]] if ENGLISH in self._names else []
        tables += [table for language, table in self._names.items() if language != ENGLISH]
        for table in tables:
            if index in table:
                return Name(table[index], "capture")
        return Name(WELL_KNOWN[index], "well-known") if index in WELL_KNOWN else None


class NameTables:
    """One name table for each server address."""

    def __init__(self) -> None:
        self._by_ip: dict[str, NameTable] = {}

    def of(self, server: Endpoint) -> NameTable:
        return self._by_ip.setdefault(server.ip, NameTable())


NAME_TABLE_WORDS = frozenset({"counter", "help", "explain"})


# HKEY_PERFORMANCE_TEXT and HKEY_PERFORMANCE_NLSTEXT have the tables as `Counter` and `Help`, without a language: English in the
# former, that of the server's user in the latter (winperf.h reference, "Retrieving Counter Names and Help Text").
_LANGUAGE_OF_KEY = {"HKEY_PERFORMANCE_TEXT": ENGLISH}
OWN_LANGUAGE = "the server's own"


def table_language(value_name: str, key: str | None = None) -> tuple[str, str] | None:
    """(`counter` or `help`, language id) of a name-table value such as `Counter 009`; None for any other value name.

    `key` is the performance key the value is read from, as far as that is known. `Explain` is how Samba spells `Help`.
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
    """Whether a word is a title index: a DWORD in decimal."""
    return word.isascii() and word.isdecimal() and len(word) <= 10


def value_in_words(value_name: str, table: NameTable, key: str | None = None) -> str:
    """What a performance value name asks for: `objects 230 Process, 238 Processor`, `counter names (language 009)`."""
    words = value_name.split()
    if language := table_language(value_name, key):
        kind, code = language
        return f"{'counter names' if kind == 'counter' else 'help texts'} (language {code})"
    if words and all(map(is_index, words)):
        named = []
        for word in words:
            name = table.name(int(word))
            named.append(f"{word} {name.text}" if name is not None else word)
        return ("objects " if len(words) > 1 else "object ") + ", ".join(named)
    folded = value_name.casefold()
    if folded == "global":
        return "Global (all objects that are cheap to collect)"
    if folded == "costly":
        return "Costly (all objects that are expensive to collect)"
    return f'value "{value_name}"'
