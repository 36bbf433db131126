"""Finds what no key opened in a conversation, and whether the keys of this run may open it.

The dataset holds nothing of a key, so it cannot say which keys were tried. It says what stayed sealed, by account, and keeps a
digest of the names that keys were given for: a name is no secret (`Keyring.names`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

import msgspec

from analyzer.auth.keyring import Keyring
from analyzer.results.analysis import Analysis
from analyzer.results.security import Decryption, Identity

# What stands for a service whose ticket no key opened: names of keys of services are not those of accounts.
_SERVICE = "krb5"


def lacking_of(analysis: Analysis) -> list[str]:
    """Lists what stayed sealed in a conversation by the key it lacks: claimed accounts ("" if none was captured), SMB sessions
    (`0x1d`), and `krb5`."""
    return sorted(set(_lacking(analysis)))


def _lacking(analysis: Analysis) -> Iterator[str]:
    for session in analysis.sessions:
        if session.encrypted_messages > session.decrypted_messages and _is_unopened(session.decryption):
            yield f"{session.session_id:#x}"
            yield _who(session.identity.mechanism, session.identity)
    for context in analysis.calls.contexts_by_last_call():
        if _is_unopened((security := context.security).decryption):
            yield _who(security.mechanism, security.identity)


def _is_unopened(status: Decryption) -> bool:
    return status.lacks_key or status is Decryption.NO_HANDSHAKE


def _who(mechanism: str | None, identity: Identity | None) -> str:
    if "krb5" in (mechanism or ""):
        return _SERVICE
    return (identity.claimed if identity is not None else None) or ""


def names_given(keyring: Keyring, files: Iterable[str]) -> str:
    """Returns a digest of the names that keys were given for (users, principals, sessions), and of files that carry secrets."""
    return sha256(msgspec.msgpack.encode((sorted(keyring.names), sorted(files)))).hexdigest()


def may_open(lacking: Sequence[str], keyring: Keyring) -> bool:
    """Tells whether a key is given by the name of an account or SMB session that stayed sealed. A key that was wrong before may be
    right now."""
    return any(_fits(name, keyring) for name in lacking if name != _SERVICE)


def _fits(name: str, keyring: Keyring) -> bool:
    if name.startswith("0x"):
        return bool(keyring.smb_keys_for(int(name, 16)))
    domain, _, user = name.rpartition("\\")
    return bool(keyring.users_for(user, domain or None))
