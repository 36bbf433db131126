"""The times, machines and users that a selection of calls asks for, and all that it asks of a call as one expression.

Options have bounds of time, machines and accounts as text. A redacted analysis holds only pseudonyms, so they replace the names in
a user's filter and selection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.core.printable_text import counted
from analyzer.core.times import UNITS_NS, parse_duration, parse_time
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.questions.filters.bound_expression import Asked, Expression, Joined
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.filterable_fields import FilterField, call_fields
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.connection import SmbSession
from analyzer.results.records.record_types import Kind

# ---------------------------------------------------------------------------------------------------------- bounds of time


_OF_DAY = r"(?i)(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z?"
_DAY_NS = UNITS_NS["d"]


class TimeBound(Struct, frozen=True):
    """A bound on the time of selected calls as a user wrote it. `ns` counts from 1970 (`absolute`), from midnight of a day in UTC
    (`of-day`), or from the first frame of the capture (`relative`)."""

    text: str
    kind: Literal["absolute", "of-day", "relative"]
    ns: int

    def __str__(self) -> str:
        return self.text

    @classmethod
    def from_text(cls, text: str) -> TimeBound:
        """The time that a selection names as a bound; raises `ValueError` for what is no time."""
        text = text.strip()
        if (absolute := parse_time(text)) is not None:
            return cls(text, "absolute", absolute)
        if (match := re.fullmatch(_OF_DAY, text)) is not None:
            hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
            if hour < 24 and minute < 60 and second < 60:
                fraction = int((match[4] or "0").ljust(9, "0"))
                return cls(text, "of-day", (hour * 3600 + minute * 60 + second) * UNITS_NS["s"] + fraction)
        if (duration := parse_duration(text.removeprefix("+"))) is not None:
            return cls(text, "relative", duration)
        raise ValueError(
            f"{text} is no time: write 2026-11-20T13:50:16Z or 13:50:16 (UTC), or 90s, 5m, 2h after the first frame"
        )

    def at(self, facts: CaptureFacts) -> int:
        """Returns the bound on selected calls as a time in this capture. A time of day is on the day of the first frame. If the
        capture began later that day and lasts until then, it is on the next day."""
        first, last = facts.first_time_ns, facts.last_time_ns
        if self.kind == "absolute" or first is None:
            return self.ns
        if last is None:
            return self.after(first)
        if self.kind == "relative":
            return first + self.ns
        moment = first // _DAY_NS * _DAY_NS + self.ns
        return moment + _DAY_NS if moment < first and moment + _DAY_NS <= last else moment

    def after(self, first_ns: int) -> int:
        """Returns the bound on selected calls as a time in a capture of which only the time of the first frame is known."""
        if self.kind == "absolute":
            return self.ns
        if self.kind == "relative":
            return first_ns + self.ns
        moment = first_ns // _DAY_NS * _DAY_NS + self.ns
        return moment if moment >= first_ns else moment + _DAY_NS


# --------------------------------------------------------------------------------------------------- machines and accounts


ANONYMOUS = "anonymous"


class Party(Struct, frozen=True):
    """A machine whose calls a user selects, or all machines of a network. `text` is an address, a network, or a name that the
    traffic states."""

    text: str
    network: IPv4Network | IPv6Network | None

    def __str__(self) -> str:
        return self.text

    @classmethod
    def from_text(cls, text: str) -> Party:
        """Returns the machine that a selection names. Raises `ValueError` for text that can be no machine."""
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
        """Whether the machine of a selection has this address or one of these names, whole or up to the first dot."""
        if self.network is not None:
            try:
                return ip_address(ip) in self.network
            except ValueError:
                return False
        wanted = self.text.strip("\\").casefold()
        return any(wanted in (name.casefold(), name.partition(".")[0].casefold()) for name in names)


class Parties(Struct, frozen=True):
    """Any of several machines whose calls a user selects; each address is looked up once."""

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
    """One account whose calls a user selects: `DOMAIN\\\\name`, `name@REALM`, `name` of whichever domain, or `anonymous`."""

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


# --------------------------------------------------------------------------------------------------- pseudonyms in filters


class RenamedFilter:
    """The filter of a selection with pseudonyms in place of the user's names. It is made on first use, because only then all names
    are known."""

    def __init__(self, original: Any, names: Pseudonyms) -> None:
        self._original, self._names = original, names
        self._made: Any = None

    def _renamed(self) -> Any:
        if self._made is None:
            self._made = self._original.again(self._names.filter(str(self._original)))
        return self._made

    @property
    def fields(self) -> Any:
        """Returns the fields that the filter asks for. Machines and users in it have pseudonyms, fields have none."""
        return self._original.fields

    def __str__(self) -> str:
        return str(self._renamed())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._renamed(), name)


def renamed(selection: Selection, names: Pseudonyms) -> Selection:
    """The selection with pseudonyms in place of the machines and users that it names. Raises `InputError` for networks: pseudonyms
    of neighbours are no neighbours."""
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


# -------------------------------------------------------------------------------------------------------------- expression


# The channel and session of a call, as the analysis counts them.
_CHANNEL = FilterField("channel", Kind.NUMBER, "number of the channel", ("channel",))
_SESSION = FilterField("session", Kind.NUMBER, "number of the SMB session", ("session",))


def expression_of(selection: Selection, analysis: Analysis) -> Expression:
    """Returns the expression for the times, machines, users and other parts of a selection. A call must pass it before `head` and
    `tail` are applied."""
    parts: list[Expression] = list(Ends(selection, analysis).of_calls()) if selection.asks_for_ends else []
    if (wanted := frozenset(one.strip("{}").casefold() for one in selection.interfaces)) != frozenset():
        interface = _field("interface")
        parts.append(Asked((interface,), lambda values: any(one.casefold() in wanted for one in values(interface))))
    if selection.handle is not None:
        parts.append(_is_one("handle", selection.handle))
    if selection.session is not None:
        parts.append(_in_session(selection.session, analysis))
    if selection.filter is not None:
        parts.append(selection.filter.expression)
    return Joined("and", tuple(parts))


class Ends:
    """The time, machines and users of a selection, looked up in one capture."""

    def __init__(self, selection: Selection, analysis: Analysis) -> None:
        facts = analysis.capture
        self._since = selection.since.at(facts) if selection.since is not None else None
        self._until = selection.until.at(facts) if selection.until is not None else None
        machines = (*selection.servers, *selection.clients)
        names: dict[str, tuple[str, ...]] = {}
        if any(one.network is None for one in machines):
            from analyzer.interfaces.call_contents.machine_names import machine_names

            names = machine_names(analysis)
        self._servers = Parties.of_machines(selection.servers, names) if selection.servers else None
        self._clients = Parties.of_machines(selection.clients, names) if selection.clients else None
        self._users = selection.users

    def of_calls(self) -> Iterator[Asked]:
        """Yields the selection's questions about a call's time, machines and user."""
        time = _field("time_ns")
        # In a session with several connections, the ends of any.
        server, client = [(_field(f"{end}.ip"), _field(f"smb.{end}.ip")) for end in ("server", "client")]
        yield Asked((time,), lambda values: all(self._is_between(one, one) for one in values(time)))
        if (servers := self._servers) is not None:
            yield Asked(server, lambda values: any(servers.has(ip) for one in server for ip in values(one)))
        if (clients := self._clients) is not None:
            yield Asked(client, lambda values: any(clients.has(ip) for one in client for ip in values(one)))
        if self._users:
            user, anonymous = _field("user"), _field("auth.anonymous")
            yield Asked(
                (user, anonymous), lambda values: self._is_of_user(values(user), is_anonymous=any(values(anonymous)))
            )

    def of_session(self, session: SmbSession) -> bool:
        """Whether an SMB session is of the selection's machines, users and time."""
        accounts = [name for one in session.identities for name in (one.account, one.claimed_otherwise)]
        is_anonymous = any(one.is_anonymous for one in session.identities)
        return (
            self._is_between(session.first_time_ns, session.last_time_ns)
            and (self._servers is None or self._servers.has(session.server.ip))
            and (self._clients is None or self._clients.has(session.client.ip))
            and (not self._users or self._is_of_user(accounts, is_anonymous=is_anonymous))
        )

    def _is_between(self, first_ns: int, last_ns: int) -> bool:
        return (self._since is None or last_ns >= self._since) and (self._until is None or first_ns <= self._until)

    def _is_of_user(self, accounts: Sequence[str | None], *, is_anonymous: bool) -> bool:
        """Whether one of the accounts is a user of the selection. An anonymous caller may have no account."""
        return any(user.is_of(one, anonymous=is_anonymous) for user in self._users for one in accounts or (None,))


def _field(name: str) -> FilterField:
    return call_fields()[name]


def _is_one(name: str, wanted: str | int) -> Asked:
    """Returns the question, beside those about times, machines and users, whether a field of a call has the value that the
    selection asks for."""
    field = _field(name)
    return Asked((field,), lambda values: wanted in values(field))


def _in_session(session: str, analysis: Analysis) -> Asked:
    """Returns the question, beside those about times, machines and users, whether a call is of an SMB session; for a call without
    SMB, of its TCP connection."""
    if not session.startswith("#"):
        return _is_one("session", int(session, 16))
    number = int(session[1:])
    if not 1 <= number <= len(analysis.calls):
        count = len(analysis.calls)
        raise InputError(f"there is no call {session}; the capture has {counted(count, 'call')}")
    call = analysis.calls[number - 1]
    if call.session is None:
        return Asked((_CHANNEL, _SESSION), lambda values: not values(_SESSION) and call.channel in values(_CHANNEL))
    return Asked((_SESSION,), lambda values: call.session in values(_SESSION))
