"""The keyring: all keys that the user gave, for everybody who opens something sealed.

Nothing here is ever shown: `repr` and `str` of everything give names and counts. `analyzer.auth.secrets` reads secrets. It is
loaded if there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

from analyzer.core.printable_text import Discreet

if TYPE_CHECKING:
    from analyzer.auth.key_files import KerberosKey


class UserKey(Discreet, frozen=True):
    """The keys of a user in the keyring: NT hash, and password if known. `username` None means that they apply to everybody."""

    hidden = ("nt_hash", "password")
    username: str | None
    domain: str | None
    nt_hash: bytes
    password: str | None = None

    @property
    def name(self) -> str:
        """The name of the keyring's user for people: `DOMAIN\\name`, or `any user`."""
        if self.username is None:
            return "any user"
        return f"{self.domain}\\{self.username}" if self.domain else self.username

    @property
    def kind(self) -> str:
        return "password" if self.password is not None else "NT hash"

    def __repr__(self) -> str:
        return f"UserKey({self.name}, {self.kind})"


class SmbKeys(Discreet, frozen=True):
    """Keys of one SMB session that the user gave: `session_key`, or the decryption keys of each direction, or both.

    `session_id` is the id in the form given; see `Keyring.smb_keys_for` about its byte order.
    """

    hidden = ("session_key", "client_to_server_key", "server_to_client_key")
    session_id: int
    session_key: bytes | None = None
    client_to_server_key: bytes | None = None
    server_to_client_key: bytes | None = None

    def __repr__(self) -> str:
        return f"SmbKeys(session {self.session_id:#x})"


class Keyring:
    """All known passwords, NT hashes, Kerberos keys and SMB session keys. It is immutable; `merged` makes a larger one. `files` are
    those that it was read from."""

    __slots__ = ("_kerberos", "_smb", "_users", "files")

    def __init__(
        self,
        users: Iterable[UserKey] = (),
        kerberos_keys: Iterable[KerberosKey] = (),
        smb_keys: Iterable[SmbKeys] = (),
        files: Iterable[Path] = (),
    ) -> None:
        self._users = tuple(dict.fromkeys(users))
        self._kerberos = tuple(dict.fromkeys(kerberos_keys))
        self._smb = tuple(dict.fromkeys(smb_keys))
        self.files = tuple(files)

    @classmethod
    def load(cls, path: str | Path, note: Callable[[str], None] = warn) -> Keyring:
        """Returns the keyring that a secrets file holds: TOML or JSON by content, or a bare keytab. Raises `InputError`.

        `note` gets a sentence for each key of the file that is not used but nearly is one of ours.
        """
        from analyzer.auth.secrets import read_secrets

        return read_secrets(Path(path), note)

    @classmethod
    def from_document(cls, document: Mapping[str, Any], note: Callable[[str], None] = warn) -> Keyring:
        """Returns the keyring that a dictionary holds, in the form of such a file (`Keyring.load`). Raises `InputError`. Keytab
        paths are relative to the working directory."""
        from analyzer.auth.secrets import read_document

        return read_document(document, Path(), note)

    @classmethod
    def build(
        cls,
        *,
        passwords: Sequence[str | tuple[str, str]] = (),
        nt_hashes: Sequence[str | tuple[str, str]] = (),
        keytabs: Sequence[str | Path] = (),
        smb_session_keys: Sequence[str] = (),
    ) -> Keyring:
        """Returns the keyring that holds these passwords, hashes and keys. A bare password or NT hash applies to every user,
        `(user, value)` only to that user (`DOMAIN\\name` or `name@domain`). Session keys are lines of Wireshark's
        `smb2_seskey_list`."""
        if not (passwords or nt_hashes or keytabs or smb_session_keys):
            return cls()
        from analyzer.auth.secrets import read_single_secrets

        return read_single_secrets(passwords, nt_hashes, keytabs, smb_session_keys)

    def merged(self, *others: Keyring) -> Keyring:
        """Returns one keyring with the keys of this and other keyrings. Keys that were given first are tried first."""
        rings = (self, *others)
        return Keyring(
            (user for ring in rings for user in ring._users),
            (key for ring in rings for key in ring._kerberos),
            (keys for ring in rings for keys in ring._smb),
            (path for ring in rings for path in ring.files),
        )

    def named(self, names: Iterable[str]) -> Keyring:
        """Returns a keyring with only the keys of these names: users (`DOMAIN\\name`, `any user`), principals (`name@REALM`),
        sessions (`0x1d`). Raises `KeyError` with the first name that has none."""
        chosen = Keyring()
        for name in names:
            wanted = name.casefold()
            one = Keyring(
                (user for user in self._users if user.name.casefold() == wanted),
                (key for key in self._kerberos if f"{key.principal}@{key.realm}".casefold() == wanted),
                (keys for keys in self._smb if f"{keys.session_id:#x}" == wanted),
            )
            if not one:
                raise KeyError(name)
            chosen = chosen.merged(one)
        return chosen

    @property
    def names(self) -> tuple[str, ...]:
        """The names of users, principals and sessions in the keyring that `named` accepts."""
        users = (user.name for user in self._users)
        principals = (f"{key.principal}@{key.realm}" for key in self._kerberos)
        return tuple(dict.fromkeys((*users, *principals, *(f"{keys.session_id:#x}" for keys in self._smb))))

    def users_for(self, username: str, domain: str | None = None) -> tuple[UserKey, ...]:
        """Returns the keyring's keys for this user: first those of name and domain, then of the name, then those for anybody."""
        folded = username.casefold()
        wanted = (domain or "").casefold()

        def rank(user: UserKey) -> tuple[bool, bool]:
            is_anybody = user.username is None
            return is_anybody, not is_anybody and (user.domain or "").casefold() != wanted

        # The same account may be known as `name`, or as `name@dns.domain` (a user principal name).
        names = {folded, folded.partition("@")[0]}
        fitting = [user for user in self._users if user.username is None or user.username.casefold() in names]
        return tuple(sorted(fitting, key=rank))

    def smb_keys_for(self, session_id: int) -> tuple[SmbKeys, ...]:
        """Returns the keys given for an SMB session. Wireshark wants the id as the bytes on the wire, people read it as a number.
        Both are accepted."""
        if not self._smb or not 0 <= session_id < 1 << 64:
            return ()
        turned = int.from_bytes(session_id.to_bytes(8, "big"), "little")
        return tuple(keys for keys in self._smb if keys.session_id in (session_id, turned))

    @property
    def users(self) -> tuple[UserKey, ...]:
        return self._users

    @property
    def kerberos_keys(self) -> tuple[KerberosKey, ...]:
        return self._kerberos

    @property
    def smb_keys(self) -> tuple[SmbKeys, ...]:
        return self._smb

    def __bool__(self) -> bool:
        return bool(self._users or self._kerberos or self._smb)

    def __repr__(self) -> str:
        return (
            f"Keyring(users={len(self._users)}, kerberos_keys={len(self._kerberos)}, smb_session_keys={len(self._smb)})"
        )
