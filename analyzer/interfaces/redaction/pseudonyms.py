"""Pseudonyms for names, by HMAC (RFC 2104) with a key that is held only here. Equal names have equal pseudonyms.

Names are split into words, at every character that is not a letter, a digit, `-` or `_`: `LAB\\alice` and `alice@lab.example` share
the words `lab` and `alice`. A word becomes a word of as many UTF-16 units; capitals stay capitals, numbers stay numbers. An address
becomes one with as many digits in each part. No two words of one run share a pseudonym, as long as there are enough.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable
from hashlib import sha256
from ipaddress import ip_address
from uuid import UUID

_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_WORD = re.compile(r"[\w-]+")
_QUOTED = re.compile(r"""(["'])(?:(?!\1|\\).|\\.)*\1""", re.DOTALL)
# A word without quotes that a filter compares with: it follows an operator, or is one of a set.
_COMPARED = re.compile(r"((?:[=!<>~]=?=?|\b(?:(?:any_|all_)?(?:eq|ne)|[gl][te]|contains|matches)\b|[{,])\s*)([\w-]+)")
# Text that may be an address. `ip_address` decides.
_ADDRESS = re.compile(
    r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)|(?<![\w.:])(?=[0-9a-fA-F]*:[0-9a-fA-F]*:)[0-9a-fA-F:]{2,39}(?![\w:])"
)
# After this many attempts, words of this length count as used up; then some share a pseudonym.
_ATTEMPTS = 256
_NULL_GUID = "00000000-0000-0000-0000-000000000000"
# Words that are equal everywhere and have a meaning: predefined keys, accounts, shares, instances, service classes.
KEPT = frozenset(
    word.casefold()
    for word in (
        "cifs", "host", "krbtgt", "ldap", "http", "rpc", "RestrictedKrbHost",
        "_Total", "IPC", "ADMIN", "PIPE", "NT", "AUTHORITY", "ANONYMOUS", "LOGON",
        "HKLM", "HKCU", "HKCR", "HKU", "HKPD", "HKPT", "HKPN", "HKCC", "HKDD",
        "HKEY_LOCAL_MACHINE", "HKEY_CURRENT_USER", "HKEY_CLASSES_ROOT", "HKEY_USERS", "HKEY_PERFORMANCE_DATA",
        "HKEY_PERFORMANCE_TEXT", "HKEY_PERFORMANCE_NLSTEXT", "HKEY_CURRENT_CONFIG",
    )
)  # fmt: skip


class Pseudonyms:
    """Makes pseudonyms for `--redact` with one key. Once a word has a pseudonym, it is replaced in free text too."""

    def __init__(self, key: bytes | None = None) -> None:
        """Without a key, makes one that nobody learns: then pseudonyms are equal only within this run."""
        self._key = sha256(key).digest() if key is not None else secrets.token_bytes(32)
        self._words: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        # The pseudonyms in use, and the text of each.
        self._taken: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Pseudonyms({len(self._words)} words, {len(self._addresses)} addresses)"

    def name(self, text: str) -> str:
        """Returns the pseudonym of a name: every word and address in it is replaced."""
        return self._replaced(text, self._word)

    def free(self, text: str) -> str:
        """A sentence with pseudonyms for addresses, and for words that were in names."""
        return self._replaced(text, lambda word: self._word(word) if word.casefold() in self._words else word)

    def filter(self, text: str) -> str:
        """Returns a filter with pseudonyms for the known words that it compares with, and for addresses."""
        out, at = [], 0
        for match in _QUOTED.finditer(text):
            out += [self._compared(text[at : match.start()]), self.free(match[0])]
            at = match.end()
        return "".join((*out, self._compared(text[at:])))

    def _compared(self, text: str) -> str:
        """Puts pseudonyms in what a filter has outside quotes: in place of the words that it compares with."""
        words = _COMPARED.sub(lambda match: match[1] + self.free(match[2]), text)
        return self._replaced(words, lambda word: word)

    def address(self, text: str) -> str:
        """Returns the pseudonym of an IP address as text; any other text is replaced as a name."""
        try:
            ip_address(text)
        except ValueError:
            return self.name(text)
        found = self._addresses.get(text)
        if found is None:
            found = self._addresses[text] = self._unique(text, _address_of)
        return found

    def guid(self, text: str | None) -> str | None:
        """Returns the pseudonym of a machine's GUID, because the GUID may be made of the machine's name."""
        if text is None or text == _NULL_GUID:
            return text
        return str(UUID(bytes=self._digest(text, 0)[:16]))

    def _replaced(self, text: str, word: Callable[[str], str]) -> str:
        out, at = [], 0
        for match in _ADDRESS.finditer(text):
            if _is_address(match[0]):
                out += [_WORD.sub(lambda found: word(found[0]), text[at : match.start()]), self.address(match[0])]
                at = match.end()
        return "".join((*out, _WORD.sub(lambda found: word(found[0]), text[at:])))

    def _word(self, word: str) -> str:
        if not any(letter.isalpha() for letter in word):
            return word
        folded = word.casefold()
        if folded in KEPT:
            return word
        found = self._words.get(folded)
        if found is None:
            # Words of other letters are longer in UTF-16 than they look.
            length = len(word.encode("utf-16-le", "surrogatepass")) // 2
            found = self._words[folded] = self._unique(folded, lambda digest: _word_of(digest, length))
        return found.upper() if word.isupper() else found

    def _unique(self, text: str, make: Callable[..., str]) -> str:
        """Returns a pseudonym that nothing else has, as long as there are enough."""
        found = ""
        for attempt in range(_ATTEMPTS):
            digest = self._digest(text, attempt)
            found = make(digest, text) if make is _address_of else make(digest)
            if self._taken.get(found, text) == text and found != text:
                break
        self._taken[found] = text
        return found

    def _digest(self, text: str, attempt: int) -> bytes:
        data = f"{attempt} {text.casefold()}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, data, "sha512")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _word_of(digest: bytes, length: int) -> str:
    while len(digest) < length:
        digest += sha256(digest).digest()
    return "".join(_LETTERS[byte % (26 if at == 0 else 32)] for at, byte in enumerate(digest[:length]))


def _address_of(digest: bytes, text: str) -> str:
    """Returns a pseudonymous address with as many digits in each part, so that its length stays."""
    numbers = iter(digest)

    def part(match: re.Match[str]) -> str:
        digits, number = match[0], next(numbers)
        if "." in text:
            low, high = ((0, 9), (10, 99), (100, 255))[len(digits) - 1]
            return str(low + number % (high - low + 1))
        if digits == "0":
            return digits
        first = "123456789abcdef"[number % 15]
        return first + "".join(f"{next(numbers) % 16:x}" for _ in digits[1:])

    return re.sub(r"[0-9a-fA-F]+", part, text)
