"""Every secret of the test captures, in every form in which it could slip out."""

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

from analyzer.auth.keyring import Keyring
from analyzer.auth.ntlm_keys import nt_hash

CAPTURES = Path(__file__).resolve().parent.parent / "captures"


def forms_of_text(secret: str) -> set[bytes]:
    """A password as it stands, as UTF-16, and both in hexadecimal and base64."""
    return {form for raw in (secret.encode(), secret.encode("utf-16-le")) for form in forms_of_bytes(raw)}


def forms_of_bytes(secret: bytes) -> set[bytes]:
    """A key as raw bytes, hexadecimal of either case, with separators, base64, and as Python or C would write it."""
    hexed = secret.hex()
    return {
        secret,
        hexed.encode(),
        hexed.upper().encode(),
        secret.hex(" ").encode(),
        secret.hex(":").encode(),
        base64.b64encode(secret).rstrip(b"="),
        base64.urlsafe_b64encode(secret).rstrip(b"="),
        repr(secret)[2:-1].encode(),
        hexed.encode("utf-16-le"),
    }


@cache
def all_secrets() -> dict[bytes, str]:
    """Each form of each secret, with words for what it is (never the secret itself)."""
    found: dict[bytes, str] = {}
    for path in sorted(CAPTURES.glob("*.secrets.json")):
        document = json.loads(path.read_text())
        for user in document.get("users", ()):
            _add(found, user.get("password"), f"a password of {path.name}")
            if user.get("password"):
                _add_key(found, nt_hash(user["password"]), f"an NT hash of {path.name}")
        _walk(found, document.get("sessions", ()), path.name)
    for path in sorted(CAPTURES.glob("*.keytab")):
        for key in Keyring.load(path).kerberos_keys:
            _add_key(found, key.key, f"a key of {path.name}")
    return found


def _walk(found: dict[bytes, str], node: Any, where: str) -> None:
    """Every value whose name says it is a key."""
    if isinstance(node, list):
        for item in node:
            _walk(found, item, where)
    elif isinstance(node, dict):
        for name, value in node.items():
            if isinstance(value, str) and name.casefold().endswith("key"):
                try:
                    _add_key(found, bytes.fromhex(value), f"{name} of {where}")
                except ValueError:
                    continue
            else:
                _walk(found, value, where)


def _add(found: dict[bytes, str], secret: str | None, what: str) -> None:
    if secret:
        found.update(dict.fromkeys(forms_of_text(secret), what))


def _add_key(found: dict[bytes, str], secret: bytes, what: str) -> None:
    if len(secret) >= 8 and any(secret):
        found.update(dict.fromkeys(forms_of_bytes(secret), what))


def leaks(output: bytes) -> list[str]:
    """What of the secrets stands in an output."""
    return sorted({what for form, what in all_secrets().items() if form in output})
