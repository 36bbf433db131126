"""Machines and accounts in options: takes the text, then says of each call or session whether it is one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from msgspec import Struct

ANONYMOUS = "anonymous"


class Party(Struct, frozen=True):
    """A machine that a user wrote in an option, or all machines of a network. `text` is an address, a network, or a name that the
    traffic states."""

    text: str
    network: IPv4Network | IPv6Network | None

    def __str__(self) -> str:
        return self.text

    @classmethod
    def from_text(cls, text: str) -> Party:
        """Returns the machine that an option names. Raises `ValueError` for text that can be no machine."""
        try:
            return cls(text, ip_network(text.strip("[]"), strict=False))
        except ValueError:
            pass
        if "/" in text or not text.strip("\\. ") or text.replace(".", "").isdigit() or "::" in text:
            raise ValueError(
                f"{text} is no machine: write an address (10.0.0.5), a network (10.0.0.0/8) or a name that `hosts` shows"
            )
        return cls(text, None)

    def is_at(self, ip: str, names: Sequence[str]) -> bool:
        """Whether the machine of an option has this address or one of these names, whole or up to the first dot."""
        if self.network is not None:
            try:
                return ip_address(ip) in self.network
            except ValueError:
                return False
        wanted = self.text.strip("\\").casefold()
        return any(wanted in (name.casefold(), name.partition(".")[0].casefold()) for name in names)


class Parties(Struct, frozen=True):
    """Any of several machines that a user wrote in options; each address is looked up once."""

    wanted: tuple[Party, ...]
    names: Mapping[str, Sequence[str]]
    known: dict[str, bool]

    @classmethod
    def of_machines(cls, wanted: tuple[Party, ...], names: Mapping[str, Sequence[str]]) -> Parties:
        return cls(wanted, names, {})

    def has(self, ip: str) -> bool:
        found = self.known.get(ip)
        if found is None:
            names = self.names.get(ip, ())
            found = self.known[ip] = any(one.is_at(ip, names) for one in self.wanted)
        return found


class Account(Struct, frozen=True):
    """One account as a user wrote it: `DOMAIN\\\\name`, `name@REALM`, `name` of whichever domain, or `anonymous`."""

    text: str

    def __str__(self) -> str:
        return self.text

    def is_of(self, account: str | None, *, anonymous: bool) -> bool:
        if anonymous:
            return self.text.casefold() == ANONYMOUS or _same(self.text, account)
        return _same(self.text, account)


def _same(wanted: str, account: str | None) -> bool:
    if account is None:
        return False
    one, other = wanted.casefold(), account.casefold()
    if "\\" in one or "@" in one:
        return one == other
    domain, _, name = other.rpartition("\\")
    return one == (name if domain else name.partition("@")[0])
