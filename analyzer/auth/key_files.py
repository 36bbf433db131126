"""Reads and writes keys in the forms of other tools: MIT keytabs, NT hashes, Wireshark's key lines.

A keytab has Kerberos keys (format 0x0502; the older 0x0501 is read in native byte order too). MIT Kerberos describes the format
in doc/formats/keytab_file_format.rst: a version, then entries with a signed 32-bit size. An entry with a negative size is a hole
that a deleted entry left.

Only this module turns secrets into something to print. Only the commands `keys` and `probe` print what it writes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Literal

from analyzer.auth.kerberos import RC4_HMAC, default_salt, etype_name, string_to_key
from analyzer.auth.keyring import Keyring, SmbKeys
from analyzer.core.errors import InputError, MalformedError, TruncatedError
from analyzer.core.printable_text import Discreet

# ------------------------------------------------------------------------------------------------------------------ keytab


_NT_PRINCIPAL = 1


class KerberosKey(Discreet, frozen=True):
    """One long-term Kerberos key, as a keytab holds it. `principal` is `service/host` without the realm. It is empty if the key was
    given without a principal."""

    hidden = ("key",)
    principal: str
    realm: str
    etype: int
    kvno: int | None
    key: bytes

    @property
    def name(self) -> str:
        """The name of a key as a keytab has it, for people: `principal@REALM (etype, kvno)`."""
        who = f"{self.principal}@{self.realm}" if self.realm else self.principal
        version = f", kvno {self.kvno}" if self.kvno is not None else ""
        return f"{who} ({etype_name(self.etype)}{version})"

    def __repr__(self) -> str:
        return f"KerberosKey({self.name})"


def is_keytab(data: bytes) -> bool:
    return data[:2] in (b"\x05\x02", b"\x05\x01")


def parse_keytab(data: bytes) -> tuple[KerberosKey, ...]:
    """Returns all keys of a keytab. Raises `DecodeError`."""
    if not is_keytab(data):
        raise MalformedError("does not begin with 0x0501 or 0x0502", field="keytab.version", start=0, stop=2)
    if data[1] == 2:
        return tuple(_read_entries(data, "big", old=False))
    # Version 1 is in the byte order of the machine that wrote it; the first entry's size states which that was.
    size = int.from_bytes(data[2:6], sys.byteorder, signed=True)
    other: Literal["little", "big"] = "big" if sys.byteorder == "little" else "little"
    return tuple(_read_entries(data, sys.byteorder if abs(size) <= len(data) else other, old=True))


def _read_entries(data: bytes, order: Literal["little", "big"], *, old: bool) -> Iterable[KerberosKey]:
    at = 2
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], order, signed=True)
        at += 4
        if size == 0:
            return
        stop = at + abs(size)
        if stop > len(data):
            raise TruncatedError("an entry runs past the end of the file", field="keytab.entry", start=at - 4, stop=at)
        if size > 0:
            yield _EntryReader(data[at:stop], order, at).read(old=old)
        at = stop


class _EntryReader:
    """Reads one entry of a keytab. `base` is its offset in the file."""

    def __init__(self, data: bytes, order: Literal["little", "big"], base: int) -> None:
        self._data = data
        self._order: Literal["little", "big"] = order
        self._base = base
        self._at = 0

    def _take(self, length: int, name: str) -> bytes:
        if self._at + length > len(self._data):
            start = self._base + self._at
            raise TruncatedError("runs past its entry", field=f"keytab.{name}", start=start, stop=start + length)
        self._at += length
        return self._data[self._at - length : self._at]

    def _number(self, length: int, name: str) -> int:
        return int.from_bytes(self._take(length, name), self._order)

    def _counted(self, name: str) -> bytes:
        return self._take(self._number(2, name), name)

    def read(self, *, old: bool) -> KerberosKey:
        # Version 1 counts the realm among the components and has no name type.
        components = self._number(2, "num_components") - (1 if old else 0)
        realm = self._counted("realm").decode("utf-8", "replace")
        if components < 0:
            raise MalformedError("negative number of components", field="keytab.num_components", start=self._base)
        names = [self._counted("component").decode("utf-8", "replace") for _ in range(components)]
        if not old:
            self._number(4, "name_type")
        self._number(4, "timestamp")
        kvno = self._number(1, "vno8")
        etype = self._number(2, "keytype")
        key = self._counted("key")
        if len(self._data) - self._at >= 4 and (wide := self._number(4, "vno")):
            kvno = wide
        return KerberosKey("/".join(names), realm, etype, kvno, key)


def write_keytab(keys: Iterable[KerberosKey]) -> bytes:
    """Returns a keytab (0x0502) with these keys. Timestamps are zero."""
    out = bytearray(b"\x05\x02")
    for key in keys:
        names = key.principal.split("/")
        entry = len(names).to_bytes(2, "big") + _counted(key.realm.encode())
        entry += b"".join(_counted(name.encode()) for name in names)
        kvno = key.kvno or 0
        entry += _NT_PRINCIPAL.to_bytes(4, "big") + bytes(4) + (kvno & 0xFF).to_bytes(1, "big")
        entry += key.etype.to_bytes(2, "big") + _counted(key.key) + kvno.to_bytes(4, "big")
        out += len(entry).to_bytes(4, "big") + entry
    return bytes(out)


def _counted(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data


# ---------------------------------------------------------------------------------------------------- keys for other tools


# The strongest first, as KDCs list them.
DEFAULT_ETYPES = (20, 19, 18, 17, RC4_HMAC)


_SMB_KEY_NAMES = ("session key", "server-to-client key", "client-to-server key")
# NTLM and RC4 keys and AES-128 have 16 bytes, AES-256 and SHA-384 Kerberos session keys 32; DES sessions have 8.
SMB_KEY_LENGTHS = (8, 16, 24, 32)


def seskey_line(
    session_id: int,
    session_key: bytes | None,
    server_to_client_key: bytes | None = None,
    client_to_server_key: bytes | None = None,
) -> str:
    """Writes keys of an SMB session as a line of Wireshark's key file `smb2_seskey_list`. Its session id is as on the wire."""
    fields = (session_id.to_bytes(8, "little"), session_key, server_to_client_key, client_to_server_key)
    return ",".join((field or b"").hex() if field else '""' for field in fields)


def parse_seskey_line(line: str, place: str = "SMB session key line") -> SmbKeys:
    """Parses a line of Wireshark's key file `smb2_seskey_list`: session id, session key, server-to-client key,
    client-to-server key. They are hexadecimal, quoted or not, the last three possibly empty. Raises `InputError`."""
    parts = [part.strip().strip('"') for part in line.strip().split(",")]
    if not 2 <= len(parts) <= 4:
        raise InputError(
            f"{place}: {len(parts)} fields, expected session id, session key, server-to-client key, client-to-server key",
            hint="write it as Wireshark's smb2_seskey_list does: sessionid,seskey[,s2ckey,c2skey], all in hexadecimal",
        )
    parts += [""] * (4 - len(parts))
    session_id = session_id_of(parts[0], place)
    keys = [
        bytes_of_hex(part, f"{place}, {name}", SMB_KEY_LENGTHS) if part else None
        for part, name in zip(parts[1:], _SMB_KEY_NAMES, strict=True)
    ]
    if not any(keys):
        raise InputError(f"{place}: no key in it")
    return SmbKeys(session_id, session_key=keys[0], server_to_client_key=keys[1], client_to_server_key=keys[2])


def session_id_of(text: str, place: str) -> int:
    digits = text.strip().removeprefix("0x").removeprefix("0X")
    if not re.fullmatch(r"[0-9A-Fa-f]{1,16}", digits):
        raise InputError(f"{place} is not a session id in hexadecimal")
    return int(digits, 16)


def bytes_of_hex(text: str, place: str, lengths: tuple[int, ...]) -> bytes:
    cleaned = re.sub(r"[\s:]", "", text).removeprefix("0x")
    if not re.fullmatch(r"(?:[0-9A-Fa-f]{2})*", cleaned):
        raise InputError(f"{place} is not hexadecimal ({len(cleaned)} characters)")
    data = bytes.fromhex(cleaned)
    if len(data) not in lengths:
        expected = " or ".join(str(2 * length) for length in lengths)
        raise InputError(f"{place} has {len(cleaned)} hexadecimal digits, expected {expected}")
    return data


def split_principal(text: str) -> tuple[str, str]:
    """Splits the Kerberos name for a keytab's keys, `service/host@REALM`, into principal and realm. Raises `InputError`."""
    principal, at, realm = text.rpartition("@")
    if not at or not principal or not realm:
        raise InputError(f"{text} is no principal with a realm", hint="write it as host/server.example.com@EXAMPLE.COM")
    return principal, realm


def keys_from_password(
    principal: str,
    realm: str,
    password: str,
    *,
    etypes: Sequence[int] = DEFAULT_ETYPES,
    kvno: int = 1,
    salt: str | None = None,
) -> tuple[KerberosKey, ...]:
    """Returns the keys for a keytab file that a password gives a principal. `salt` None means the default salt."""
    salted = default_salt(principal, realm) if salt is None else salt
    return tuple(
        KerberosKey(principal, realm, etype, kvno, string_to_key(etype, password, salted))
        for etype in dict.fromkeys(etypes)
    )


def ntlm_keytab(keyring: Keyring) -> bytes:
    """Returns a keytab with the NT hashes of a keyring as RC4 keys. Wireshark tries each of them on NTLM. So it opens traffic of
    several users at once, also with hashes whose password is unknown."""

    def entries() -> Iterable[KerberosKey]:
        for user in keyring.users:
            yield KerberosKey(user.username or "any", user.domain or "NTLM", RC4_HMAC, 1, user.nt_hash)

    return write_keytab(entries())
