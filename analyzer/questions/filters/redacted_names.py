"""Replaces the names in a user's filter and selection by pseudonyms, because a redacted analysis holds only these."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.machines_and_accounts import ANONYMOUS, Account, Party


class RenamedFilter:
    """A filter with pseudonyms in place of the user's names. It is made on first use, because only then all names are known."""

    def __init__(self, original: Any, names: Pseudonyms) -> None:
        self._original, self._names = original, names
        self._made: Any = None

    def _renamed(self) -> Any:
        if self._made is None:
            self._made = self._original.again(self._names.filter(str(self._original)))
        return self._made

    @property
    def fields(self) -> Any:
        """Returns the fields that the renamed filter asks for; these have no pseudonyms."""
        return self._original.fields

    def __str__(self) -> str:
        return str(self._renamed())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._renamed(), name)


def renamed(selection: Selection, names: Pseudonyms) -> Selection:
    """The selection of calls with pseudonyms in place of the user's names. Raises `InputError` for networks: pseudonyms of
    neighbours are no neighbours."""
    return replace(
        selection,
        servers=tuple(_machine(machine, names) for machine in selection.servers),
        clients=tuple(_machine(machine, names) for machine in selection.clients),
        users=tuple(
            user if user.text.casefold() == ANONYMOUS else Account(names.name(user.text)) for user in selection.users
        ),
        filter=RenamedFilter(selection.filter, names) if selection.filter is not None else None,
    )


def _machine(machine: Party, names: Pseudonyms) -> Party:
    if machine.network is not None and machine.network.num_addresses > 1:
        raise InputError(
            f"{machine} is a network, which has no pseudonym", hint="With --redact, name single addresses."
        )
    return Party.from_text(names.address(machine.text.strip("[]")))
