"""Cases that were changed, as directories: what a case holds is read by every command, and anybody can write one.

An input is a byte that says which command reads it, and the entries of the case as MessagePack: names and bytes.
"""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.case import FORMAT, VERSION
from analyzer.pipeline.container import measured
from analyzer.pipeline.run import analyze
from analyzer.results.saved import ENTRIES, LOG, STATE, dump
from fuzz import captures
from fuzz.mutation import Mutator

_MANIFEST = {
    "format": FORMAT,
    "version": VERSION,
    "program": "fuzz",
    "schema": 2,
    "files": [],
    "frames": 1,
    "bytes": 1,
    "first_time_ns": None,
    "last_time_ns": None,
    "calls": 1,
    "problems": 0,
    "limits": {},
}
_CAPTURES = ("pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap", "v1_samba_impacket_smb311_ntlm_privacy.pcap")
_FRAMES = 450
_NUMBERS = (-1, 0, 1, 2, 255, 1 << 31, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1)


@cache
def _cases() -> tuple[dict[str, bytes], ...]:
    """The entries of what the first frames of two captures hold, without their PDUs."""
    found = []
    for name in _CAPTURES:
        path = captures.ROOT / "captures" / name
        records = captures.records_of(path.read_bytes())[:_FRAMES]
        data = path.read_bytes()[: 24 + sum(len(header) + len(frame) for header, frame in records)]
        analysis = analyze([io.BytesIO(data)], Keyring.load(path.with_suffix(".secrets.json")), pdus=False)
        found.append({entry: b"".join(pieces()) for entry, pieces in dump(analysis).items()})
    return tuple(found)


def case(rng: Mutator) -> bytes:
    """Entries of which one was changed."""
    entries = dict(rng.choice(_cases()))
    chance = rng.random()
    if chance < 0.4:
        value = msgspec.msgpack.decode(entries[STATE])
        for _ in range(1 << rng.randrange(3)):
            _change(rng, value)
        entries[STATE] = msgspec.msgpack.encode(value)
    else:
        name = LOG if chance < 0.6 else rng.choice([*entries])
        made = bytearray(entries[name])
        for _ in range(1 << rng.randrange(3)):
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
        entries[name] = bytes(made)
    return msgspec.msgpack.encode(entries)


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


def write(folder: Path, data: bytes) -> None:
    """A directory as a case is unpacked to; none for what is no input of ours."""
    try:
        entries = msgspec.msgpack.decode(data, type=dict[str, bytes])
    except (msgspec.MsgspecError, RecursionError):
        return
    stated = []
    for name in ENTRIES:
        if (content := entries.get(name)) is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            stated.append(measured(name, [content]))
    (folder / "manifest.json").write_bytes(msgspec.json.encode({**_MANIFEST, "entries": stated}))
