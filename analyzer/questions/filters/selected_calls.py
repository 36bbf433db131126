"""What a selection asks of calls: its time, machines, users, interface, handle, session and filter as one expression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analyzer.core.errors import InputError
from analyzer.core.printable_text import counted
from analyzer.questions.filters.bound_expression import Asked, Expression, Joined
from analyzer.questions.filters.filterable_fields import FilterField, call_fields
from analyzer.questions.filters.machines_and_accounts import Parties
from analyzer.results.analysis import Analysis
from analyzer.results.connection import SmbSession
from analyzer.results.records.record_types import Kind

if TYPE_CHECKING:
    from analyzer.questions.filters.call_selection import Selection

# The channel and session of a call, as the analysis counts them.
_CHANNEL = FilterField("channel", Kind.NUMBER, "number of the channel", ("channel",))
_SESSION = FilterField("session", Kind.NUMBER, "number of the SMB session", ("session",))


def expression_of(selection: Selection, analysis: Analysis) -> Expression:
    """Returns the expression that a call of this selection must pass, before `head` and `tail`."""
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
    """Returns the selection's question whether a field has this value."""
    field = _field(name)
    return Asked((field,), lambda values: wanted in values(field))


def _in_session(session: str, analysis: Analysis) -> Asked:
    """Returns the selection's question whether a call is of an SMB session; for a call without SMB, of its TCP connection."""
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
