"""Cases that were changed: what a case holds is read by every command, and anybody can write one.

An input is a byte that says which command reads it, and the entries of the case as MessagePack: names and bytes. Under the name
`facts` it has what the manifest says of them.
"""

from __future__ import annotations

import io
from functools import cache, partial
from struct import pack
from typing import Any

import msgspec

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.case import FORMAT, VERSION
from analyzer.pipeline.case_container import measured, write
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis
from analyzer.results.records.saved_record_tables import CONTRADICTIONS, Rows, TableFacts, saved
from analyzer.results.saved_analysis import ENTRIES, LOG, RECORDS, CaseFacts, dump
from fuzz import captures
from fuzz.mutation import Mutator
from tests.build.buffers import Block, identifier, instance_header, perf_data, wide
from tests.build.calls import COUNTERSET, MACHINE, Calls, analysis_of

_MANIFEST = {
    "format": FORMAT,
    "version": VERSION,
    "program": "fuzz",
    "schema": 2,
    "calls": 1,
    "problems": 0,
    "limits": {},
}
# Each with how many of its frames: few calls are read quickly, and every method is among those that are built.
_CAPTURES = (
    ("pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap", 60),
    ("v1_samba_impacket_smb311_ntlm_privacy.pcap", 108),
)
_NUMBERS = (-1, 0, 1, 2, 255, 1 << 31, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1)


_FACTS = "facts"


@cache
def _cases() -> tuple[tuple[CaseFacts, dict[str, bytes]], ...]:
    """The entries of what the first frames of two captures hold, without their PDUs, and of calls of every method of [MS-PCQ]."""
    found = [_polls()]
    for name, count in _CAPTURES:
        path = captures.ROOT / "captures" / name
        records = captures.records_of(path.read_bytes())[:count]
        data = path.read_bytes()[: 24 + sum(len(header) + len(frame) for header, frame in records)]
        analysis = analyze([io.BytesIO(data)], Keyring.load(path.with_suffix(".secrets.json")), pdus=False)
        found.append(analysis)
    return tuple(
        [(facts, {name: b"".join(one()) for name, one in pieces.items()}) for facts, pieces in map(dump, found)]
    )


def _polls() -> Analysis:
    """A query handle that is opened, filled, polled twice and closed, and what the server reports of its counters."""
    make, ids = Calls(), identifier(COUNTERSET, counter=1)
    polls = (perf_data([Block(1, values=((pack("<I", value),),))]) for value in (1, 2))
    return analysis_of(
        make.exchange(0, make.stub().string(MACHINE).uint(64), make.sized(b"", element=16)),
        make.registration(3, wide("Processor")),
        make.exchange(2, make.stub().string(MACHINE).uuid(COUNTERSET).uint(64), make.sized(instance_header("a", 1))),
        make.open_query(),
        make.validate(ids),
        make.counter_info(ids),
        *map(make.counter_data, polls),
        make.close_query(),
    )


@cache
def _records(number: int, name: str) -> bytes:
    """The records of a table of one of the cases, as MessagePack."""
    facts, entries = _cases()[number]
    data = entries[f"tables/{name}.arrow"]
    table = facts.tables[name]
    return msgspec.msgpack.encode(list(Rows(name, RECORDS[name], _Bytes(data), table.rows, table.widths)))


class _Bytes:
    """An entry in memory."""

    def __init__(self, data: bytes) -> None:
        self._data, self.size = data, len(data)

    def read(self, position: int, length: int) -> bytes:
        return self._data[position : position + length]


def case(rng: Mutator) -> bytes:
    """Entries of which one was changed."""
    number = rng.randrange(len(_cases()))
    facts, known = _cases()[number]
    entries = dict(known)
    chance = rng.random()
    stated: Any = msgspec.to_builtins(facts)
    if chance < 0.4:
        # Records that no analysis has, in a table of the right form.
        name = rng.choice([name for name in RECORDS if facts.tables[name].rows])
        value = msgspec.msgpack.decode(_records(number, name))
        for _ in range(1 << rng.randrange(3)):
            _change(rng, value)
        try:
            records = msgspec.convert(value, list[RECORDS[name]])  # type: ignore[misc]
            made = saved(RECORDS[name], records)
            entries[f"tables/{name}.arrow"] = b"".join(made.pieces())
            stated["tables"][name] = msgspec.to_builtins(TableFacts(made.rows, made.widths))
        except CONTRADICTIONS:
            pass  # a value of another type: no table holds it
    elif chance < 0.5:
        _change(rng, stated)
    else:
        name = LOG if chance < 0.7 else rng.choice([*entries])
        changed = bytearray(entries[name])
        for _ in range(1 << rng.randrange(3)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        entries[name] = bytes(changed)
    return msgspec.msgpack.encode({**entries, _FACTS: msgspec.json.encode(stated)})


def _change(rng: Mutator, value: Any) -> None:
    """Changes one of the values that lie in a value."""
    while True:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        if not keys:
            return
        key = rng.choice(keys)
        if not isinstance(value[key], dict | list) or not value[key] or rng.random() < 0.1:
            break
        value = value[key]
    old = value[key]
    if isinstance(old, bool) or old is None or rng.random() < 0.1:
        value[key] = rng.choice((None, True, "", [], {}, b"", 7, "10.0.0.1"))
    elif isinstance(old, int):
        value[key] = rng.choice((*_NUMBERS, min(old + 1, _NUMBERS[-1]), max(old - 1, 0)))
    elif isinstance(old, bytes):
        value[key] = rng.changed(old)
    elif isinstance(old, str):
        value[key] = rng.changed(old.encode()).decode("utf-8", "replace")
    elif isinstance(old, list) and isinstance(value, dict | list):
        value[key] = rng.choice((old[1:], old * 2, old[::-1], []))
    else:
        del value[key]


def packed(data: bytes) -> bytes:
    """A case with these entries; nothing for what is no input of ours."""
    try:
        given = msgspec.msgpack.decode(data, type=dict[str, bytes])
    except (msgspec.MsgspecError, RecursionError):
        return b""
    try:
        facts = msgspec.json.decode(given.get(_FACTS, b"{}"), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        facts = {}
    entries = [
        (measured(name, [content]), partial(iter, [content]))
        for name in ENTRIES
        if (content := given.get(name)) is not None
    ]
    stated = {**_MANIFEST, **facts, "entries": [entry for entry, _ in entries]}
    out = io.BytesIO()
    write(out, msgspec.json.encode(stated), entries)
    return out.getvalue()
