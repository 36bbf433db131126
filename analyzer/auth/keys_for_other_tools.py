"""Writes keys in the forms of other tools: NT hashes, Wireshark's key lines, keytabs.

Only this module turns secrets into something to print. Only the commands `keys` and `probe` call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analyzer.auth.kerberos import RC4_HMAC, default_salt, string_to_key
from analyzer.auth.keyring import Keyring
from analyzer.auth.keytab import KerberosKey, write_keytab
from analyzer.auth.ntlm import nt_hash
from analyzer.core.errors import InputError

__all__ = [
    "DEFAULT_ETYPES",
    "keys_from_password",
    "nt_hash",
    "ntlm_keytab",
    "seskey_line",
    "split_principal",
    "write_keytab",
]

# The strongest first, as KDCs list them.
DEFAULT_ETYPES = (20, 19, 18, 17, RC4_HMAC)


def seskey_line(
    session_id: int,
    session_key: bytes | None,
    server_to_client_key: bytes | None = None,
    client_to_server_key: bytes | None = None,
) -> str:
    """Returns the session keys as a line of Wireshark's `smb2_seskey_list`. Its session id is the bytes as they are on the wire."""
    fields = (session_id.to_bytes(8, "little"), session_key, server_to_client_key, client_to_server_key)
    return ",".join((field or b"").hex() if field else '""' for field in fields)


def split_principal(text: str) -> tuple[str, str]:
    """Splits a Kerberos name `service/host@REALM` into principal and realm. Raises `InputError`."""
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
    """Returns the long-term Kerberos keys that a password gives a principal. `salt` None means the default salt."""
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
