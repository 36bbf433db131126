"""Reads secrets into a `Keyring`: from a TOML or JSON file, a keytab, Wireshark key lines, or the command line.

Error messages name the place of a mistake, never the text found there.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from analyzer.auth.key_files import (
    SMB_KEY_LENGTHS,
    KerberosKey,
    bytes_of_hex,
    is_keytab,
    parse_keytab,
    parse_seskey_line,
    session_id_of,
)
from analyzer.auth.keyring import Keyring, SmbKeys, UserKey
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.core.errors import DecodeError, InputError

# A secrets file is written by hand or by a script for one capture; a larger one is some other file. Parsed, text takes up to
# two hundred times its size.
_MAX_FILE_BYTES = 16 * 1024 * 1024
_MAX_TEXT_BYTES = 1024 * 1024
# Python's TOML parser takes time and memory by the square of the parts of a key, and secrets files have no use for dots.
_LONG_KEY = re.compile(r"""(?<![\w"'-])(?:(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){16}""")

# The keys of a secrets file, table by table, and words that people write instead.
_KNOWN_KEYS = {
    "": ("users", "keytabs", "smb_session_keys", "kerberos_keys"),
    "users": ("username", "domain", "password", "nt_hash"),
    "smb_session_keys": ("line", "session_id", "session_key", "client_to_server_key", "server_to_client_key"),
    "kerberos_keys": ("principal", "etype", "kvno", "key"),
}
_OTHER_WORDS = {
    "user": ("users", "username"),
    "account": ("users", "username"),
    "accounts": ("users",),
    "name": ("username",),
    "login": ("username",),
    "pass": ("password",),
    "passwd": ("password",),
    "pwd": ("password",),
    "secret": ("password",),
    "hash": ("nt_hash",),
    "ntlmhash": ("nt_hash",),
    "sessionkeys": ("smb_session_keys",),
    "seskey": ("session_key",),
    "c2skey": ("client_to_server_key",),
    "s2ckey": ("server_to_client_key",),
}
_LONGEST_WORD, _MOST_NOTES = 30, 10


def read_secrets(path: Path, note: Callable[[str], None]) -> Keyring:
    """Reads a secrets file or keytab into a keyring (`Keyring.load`)."""
    try:
        data = _read_file(path, "secrets file")
        if is_keytab(data):
            return Keyring(kerberos_keys=_parse_keytab(path, data), files=[path])
        keyring = read_document(_parse_document(path, data), path, note)
    except MemoryError:
        raise InputError(f"there is not enough memory to read the secrets file {path}") from None
    return keyring


def keyring_of_documents(path: Path, documents: Iterable[bytes]) -> Keyring:
    """Reads documents of secrets (`document_of`) that came with a pcapng capture into a keyring. Raises `InputError`.

    Such a document comes with the capture and not from the user: the files it names are not read.
    """
    keyring = Keyring()
    for data in documents:
        document = _parse_document(path, data)
        keyring = keyring.merged(
            _FileReader(path).read({key: value for key, value in document.items() if key != "keytabs"})
        )
    return keyring


def document_of(keyring: Keyring) -> bytes:
    """Returns the keys of a keyring as a JSON document in the form of a secrets file."""
    users = [
        {"username": user.username, "domain": user.domain}
        | ({"password": user.password} if user.password is not None else {"nt_hash": user.nt_hash.hex()})
        for user in keyring.users
    ]
    kerberos = [
        {"principal": f"{key.principal}@{key.realm}", "etype": key.etype, "key": key.key.hex()}
        | ({"kvno": key.kvno} if key.kvno is not None else {})
        for key in keyring.kerberos_keys
    ]
    smb = [
        {"session_id": f"{keys.session_id:#x}"}
        | {name: key.hex() for name in _SMB_KEYS if (key := getattr(keys, name))}
        for keys in keyring.smb_keys
    ]
    return json.dumps({"users": users, "kerberos_keys": kerberos, "smb_session_keys": smb}).encode()


_SMB_KEYS = ("session_key", "client_to_server_key", "server_to_client_key")


def read_document(document: Mapping[str, Any], path: Path, note: Callable[[str], None]) -> Keyring:
    """Reads the parsed document of the secrets file at `path` into a keyring. `note` gets a sentence for each word that is probably
    misspelt."""
    keyring = _FileReader(path).read(document)
    for place, word, meant in islice(_near_misses(document), _MOST_NOTES):
        note(f'the secrets file {path}: {place}"{word}" is not used; "{meant}" was probably meant')
    return keyring


def _near_misses(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yields keys of a secrets document that are nearly one of ours: the place, the word, and our word."""
    for word, meant in _misspelt(document, _KNOWN_KEYS[""]):
        yield "", word, meant
    for key, known in _KNOWN_KEYS.items():
        for number, entry in enumerate(document.get(key) or () if key else (), 1):
            if isinstance(entry, dict):
                for word, meant in _misspelt(entry, known):
                    yield f"{key}[{number}]: ", word, meant


def _misspelt(table: Mapping[str, Any], known: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    plain = {word.replace("_", ""): word for word in known if word not in table}
    for word in table:
        folded = re.sub(r"[\s_-]", "", word[: 2 * _LONGEST_WORD]).casefold()
        if word in known or not folded or len(folded) > _LONGEST_WORD:
            continue
        meant = next((each for each in _OTHER_WORDS.get(folded, ()) if each in plain.values()), None)
        if meant is None:
            from difflib import get_close_matches

            close = get_close_matches(folded, plain, 1, 0.8)
            meant = plain[close[0]] if close else None
        if meant is not None:
            yield word, meant


def read_single_secrets(
    passwords: Sequence[str | tuple[str, str]],
    nt_hashes: Sequence[str | tuple[str, str]],
    keytabs: Sequence[str | Path],
    smb_session_keys: Sequence[str],
) -> Keyring:
    """Reads secrets that were given one by one, not in a file, into a keyring (`Keyring.build`)."""
    users: list[UserKey] = []
    for password in passwords:
        who, value = password if isinstance(password, tuple) else (None, password)
        username, domain = _split_account(who)
        users.append(UserKey(username, domain, nt_hash(value), value))
    for number, hashed in enumerate(nt_hashes, 1):
        who, value = hashed if isinstance(hashed, tuple) else (None, hashed)
        username, domain = _split_account(who)
        users.append(UserKey(username, domain, _nt_hash_of(value, f"NT hash number {number}")))
    keys = [key for path in keytabs for key in _parse_keytab(Path(path), _read_file(Path(path), "keytab"))]
    smb = [parse_seskey_line(line, f"SMB session key line {number}") for number, line in enumerate(smb_session_keys, 1)]
    return Keyring(users, keys, smb, map(Path, keytabs))


def _split_account(who: str | None) -> tuple[str | None, str | None]:
    if not who:
        return None, None
    if "\\" in who:
        domain, _, username = who.partition("\\")
        return username, domain or None
    username, _, domain = who.partition("@")
    return username, domain or None


# Paths by which shells pass the output of a command as a file: <(command).
_OF_SHELLS = ("/dev/fd/", "/proc/self/fd/")


def _read_file(path: Path, what: str) -> bytes:
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory, not a {what}", hint="give the file itself")
        if path.is_fifo() and not str(path).startswith(_OF_SHELLS):
            # Opening it would wait for somebody to write.
            raise InputError(f"{_shown(path)} is a named pipe, not a {what}", hint="write its content to a file")
        with path.open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read the {what} {_shown(path)}: {error.strerror}", hint="check the path") from None
    except ValueError:
        raise InputError(f"the path of the {what} holds a character that no path has", hint="check the path") from None
    if len(data) > _MAX_FILE_BYTES:
        raise InputError(f"{path} is too large for a {what}", hint="is it a capture? give captures as plain arguments")
    return data


def _shown(path: Path) -> str:
    """Returns the path of a secrets file for people, shortened if it is long."""
    text = str(path)
    return text if len(text) <= 200 else f"{text[:100]}...{text[-50:]}"


def _parse_keytab(path: Path, data: bytes) -> tuple[KerberosKey, ...]:
    try:
        return parse_keytab(data)
    except DecodeError as error:
        reason = str(error)
    raise InputError(
        f"{path} is not a readable keytab: {reason}", hint="keytabs come from ktutil, ktpass or net ads keytab"
    )


def _parse_document(path: Path, data: bytes) -> Mapping[str, Any]:
    """Parses a secrets file to its top-level table. The parsers' own exceptions contain the text, so ours do not chain them."""
    if len(data) > _MAX_TEXT_BYTES:
        raise InputError(
            f"{path} is too large for a secrets file", hint="is it a capture? give captures as plain arguments"
        )
    places: list[str] = []
    document: Any = None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        places.append(f"byte {error.start} is not UTF-8")
    else:
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            places.append(f"as JSON: line {error.lineno} column {error.colno}")
        except ValueError:
            places.append("as JSON: a number of too many digits")
        except RecursionError:
            places.append("as JSON: nested too deep")
        if document is None and _LONG_KEY.search(text):
            places.append("as TOML: a key of too many parts")
        elif document is None:
            try:
                document = tomllib.loads(text)
            except tomllib.TOMLDecodeError as error:
                found = re.search(r"\(at ([^()]*)\)$", str(error))
                places.append(f"as TOML: {found[1] if found else 'unreadable'}")
            except ValueError:
                places.append("as TOML: a number of too many digits")
            except RecursionError:
                places.append("as TOML: nested too deep")
    if document is None:
        raise InputError(
            f"the secrets file {path} is neither TOML nor JSON ({'; '.join(places)})",
            hint='a password in TOML needs quotes: password = "..."',
        )
    if not isinstance(document, dict):
        raise InputError(f"the secrets file {path} holds no table of users, keytabs or smb_session_keys")
    return document


class _FileReader:
    """Reads a secrets document into a keyring. Its errors name the place of a mistake."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, document: Mapping[str, Any]) -> Keyring:
        users = [user for entry, place in self._tables(document, "users") for user in self._users(entry, place)]
        smb = [self._smb(entry, place) for entry, place in self._tables(document, "smb_session_keys")]
        keys: list[KerberosKey] = []
        files = [self._path] if self._path.name else []
        for number, name in enumerate(self._list(document, "keytabs"), 1):
            if not isinstance(name, str):
                raise self._error(f"keytabs[{number}]", "is not a path")
            path = self._path.parent / name
            files.append(path)
            keys += _parse_keytab(path, _read_file(path, "keytab"))
        keys += [self._kerberos(entry, place) for entry, place in self._tables(document, "kerberos_keys")]
        return Keyring(users, keys, smb, files)

    def _error(self, place: str, what: str) -> InputError:
        return InputError(f"the secrets file {self._path}: {place} {what}")

    def _list(self, document: Mapping[str, Any], key: str) -> list[Any]:
        value = document.get(key, [])
        if not isinstance(value, list):
            raise self._error(key, "is not a list")
        return value

    def _tables(self, document: Mapping[str, Any], key: str) -> Iterable[tuple[Mapping[str, Any], str]]:
        for number, entry in enumerate(self._list(document, key), 1):
            place = f"{key}[{number}]"
            if key == "smb_session_keys" and isinstance(entry, str):
                yield {"line": entry}, place
            elif isinstance(entry, dict):
                yield entry, place
            else:
                raise self._error(place, "is not a table")

    def _text(self, entry: Mapping[str, Any], key: str, place: str) -> str | None:
        value = entry.get(key)
        if value is None or isinstance(value, str):
            return value
        raise self._error(f"{place}.{key}", "is not a text")

    def _users(self, entry: Mapping[str, Any], place: str) -> Iterator[UserKey]:
        """Yields the keys of one user in a secrets file: the one of its password, then a hash that is not that password's."""
        username = self._text(entry, "username", place)
        domain = self._text(entry, "domain", place)
        password = self._text(entry, "password", place)
        hashed = self._text(entry, "nt_hash", place)
        if username and domain is None:
            username, domain = _split_account(username)
        if password is not None and any("\ud800" <= character <= "\udfff" for character in password):
            raise self._error(f"{place}.password", "holds a character that no password has")
        if password is not None:
            yield UserKey(username or None, domain or None, nt_hash(password), password)
        if hashed:
            given = _nt_hash_of(hashed, f"the secrets file {self._path}: {place}.nt_hash")
            if password is None or given != nt_hash(password):
                yield UserKey(username or None, domain or None, given)

    def _smb(self, entry: Mapping[str, Any], place: str) -> SmbKeys:
        where = f"the secrets file {self._path}: {place}"
        if line := self._text(entry, "line", place):
            return parse_seskey_line(line, where)
        given = entry.get("session_id")
        if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 1 << 64:
            session_id = given
        elif isinstance(given, str):
            session_id = session_id_of(given, f"{where}.session_id")
        else:
            raise self._error(f"{place}.session_id", "is missing or no number")
        keys: dict[str, bytes | None] = {}
        for name in ("session_key", "client_to_server_key", "server_to_client_key"):
            text = self._text(entry, name, place)
            keys[name] = bytes_of_hex(text, f"{where}.{name}", SMB_KEY_LENGTHS) if text else None
        if not any(keys.values()):
            raise self._error(place, "has no key")
        return SmbKeys(session_id, **keys)

    def _kerberos(self, entry: Mapping[str, Any], place: str) -> KerberosKey:
        where = f"the secrets file {self._path}: {place}"
        principal, _, realm = (self._text(entry, "principal", place) or "").partition("@")
        etype, kvno = entry.get("etype"), entry.get("kvno")
        if not isinstance(etype, int) or (kvno is not None and not isinstance(kvno, int)):
            raise self._error(place, "needs etype (and kvno, if given) as numbers")
        key = bytes_of_hex(self._text(entry, "key", place) or "", f"{where}.key", (8, 16, 24, 32))
        return KerberosKey(principal, realm, etype, kvno, key)


def _nt_hash_of(text: str, place: str) -> bytes:
    # pwdump style `LM:NT` is accepted: the NT hash is the second half.
    return bytes_of_hex(
        text.rpartition(":")[2] if re.fullmatch(r"\s*[0-9A-Fa-f]{32}:[0-9A-Fa-f]{32}\s*", text) else text, place, (16,)
    )
