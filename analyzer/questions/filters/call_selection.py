"""Selects the calls of a capture to show: by time, machine, user, interface, handle, session, filter, or the last of them.

In: what the user asked for. Out: calls with their numbers, which stay those of the whole capture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.results.analysis import Analysis, Part, Selected
from analyzer.results.calls.call import Call
from analyzer.results.connection import SmbSession
from analyzer.transport.rpc.rpc_names import interface_names

if TYPE_CHECKING:
    from analyzer.questions.filters.filter import CallFilter
    from analyzer.questions.filters.times_machines_and_users import Account, Party, TimeBound


# Fields that are known once the whole capture is read, by their paths.
_OF_THE_WHOLE = {"time_delta_ns": "time_delta", "program": "program"}
# The calls that a message lists for a choice.
_CHOICES = 12


class Selection(Struct, frozen=True):
    """The user's selection of calls. Each given part must hold; of several interfaces, servers, clients or users, one must.
    `handle` and `session` are as the user wrote them. `since` and `until` bound the time of a call's request; both are included."""

    interfaces: tuple[str, ...] = ()
    handle: str | None = None
    session: str | None = None
    filter: CallFilter | None = None
    head: int | None = None
    tail: int | None = None
    since: TimeBound | None = None
    until: TimeBound | None = None
    servers: tuple[Party, ...] = ()
    clients: tuple[Party, ...] = ()
    users: tuple[Account, ...] = ()

    def calls(self, analysis: Analysis) -> Selected:
        """Returns the calls of this selection in order, before `head` and `tail`."""
        shown = Selected(analysis.calls, range(1, len(analysis.calls) + 1))
        if replace(self, head=None, tail=None) == EVERYTHING:
            return shown
        from analyzer.questions.filters.field_values import CallColumns  # as a rule everything is shown
        from analyzer.questions.filters.times_machines_and_users import expression_of

        numbers = np.array(shown.numbers)
        return shown.only(numbers[expression_of(self, analysis).passing(CallColumns(analysis), numbers)].tolist())

    def test(self, analysis: Analysis) -> Callable[[Call], bool]:
        """Returns the test whether a call is selected, before `head` and `tail`. See `needs_all` for what it needs."""
        from analyzer.interfaces.call_contents.call_records import CallRecords
        from analyzer.questions.filters.field_values import LookedAt
        from analyzer.questions.filters.times_machines_and_users import expression_of

        wanted, records = expression_of(self, analysis), CallRecords(analysis)
        return lambda call: wanted.passes(LookedAt(call, records))

    @property
    def needs_all(self) -> str | None:
        """Returns the option of the selection that needs the whole capture before it can select a call; None if there is none."""
        if self.tail is not None:
            return "--tail"
        if self.session is not None and self.session.startswith("#"):
            return "--follow-session with the number of a call"
        for field in self.filter.fields if self.filter is not None else ():
            if (path := field.paths[0]) in _OF_THE_WHOLE:
                return f"the field {_OF_THE_WHOLE[path]}"
        names = [one.text for one in (*self.servers, *self.clients) if one.network is None]
        return f"the name {names[0]}" if names else None

    def ends_of(self, calls: Selected) -> Selected:
        """Returns the first `head` or the last `tail` of these selected calls; with both, the last of the first."""
        calls = calls[: self.head]
        return calls if self.tail is None else calls[max(len(calls) - self.tail, 0) :]

    def shown(self, analysis: Analysis) -> Selected:
        """Returns the calls of this selection in order, after `head` and `tail`."""
        return self.ends_of(self.calls(analysis))

    def one(self, analysis: Analysis) -> int:
        """Returns the number of the only call that this selection of calls shows. Raises `InputError` if it is no call or
        several."""
        shown = self.shown(analysis)
        if len(shown) == 1:
            return shown.numbers[0]
        if not shown:
            raise InputError(f"no call passes: {self.words}")
        first = ", ".join(f"#{number}" for number in shown.numbers[:_CHOICES])
        more = f" and {len(shown) - _CHOICES:,} more" if len(shown) > _CHOICES else ""
        raise InputError(f"{len(shown):,} calls pass: {self.words}", hint=f"choose one by --call: {first}{more}")

    def finds(self, analysis: Analysis) -> bool:
        """Whether the selection asks for some kind of call (`is_asking`), and the analysis has such calls."""
        return self.is_asking and len(self.calls(analysis)) > 0

    @property
    def is_asking(self) -> bool:
        """Whether the selection asks for calls by interface, handle, session or filter, not only by time, machine or user."""
        return bool(self.interfaces or self.handle or self.session) or self.filter is not None

    def selected_analysis(self, analysis: Analysis) -> Analysis:
        """Returns the analysis with only the selected calls shown. Returns it unchanged if everything is selected."""
        if self.words is None:
            return analysis
        calls = self.shown(analysis)
        sessions = tuple(self._sessions(analysis, calls))
        return replace(analysis, part=Part(calls.numbers, sessions, self.words, not self.is_asking))

    def _sessions(self, analysis: Analysis, calls: Selected) -> Iterator[SmbSession]:
        """Yields the SMB sessions of this selection of calls: those of its machines, users and time. If it asks for more, only
        those that carry a selected call."""
        from analyzer.questions.filters.times_machines_and_users import Ends

        numbers = {call.session for _, call in calls} if self.is_asking else None
        ends = Ends(self, analysis)
        for session in analysis.sessions:
            if (numbers is None or session.number in numbers) and ends.of_session(session):
                yield session

    @property
    def asks_for_ends(self) -> bool:
        """Whether the selection asks for a time, a machine or a user."""
        return bool(self.servers or self.clients or self.users or self.since or self.until)

    @property
    def words(self) -> str | None:
        """Returns the selection of calls in words; None if everything is shown."""
        parts = []
        if self.since is not None:
            parts.append(f"since {self.since.text}")
        if self.until is not None:
            parts.append(f"until {self.until.text}")
        for noun, wanted in (("server", self.servers), ("client", self.clients), ("user", self.users)):
            if wanted:
                parts.append(f"{noun} {' or '.join(one.text for one in wanted)}")
        if self.interfaces:
            parts.append(f"interface {' or '.join(self.interfaces)}")
        if self.handle is not None:
            parts.append(f"handle {self.handle}")
        if self.session is not None:
            parts.append(f"session {'of call ' if self.session.startswith('#') else ''}{self.session}")
        if self.filter is not None:
            parts.append(f"filter {self.filter}")
        if self.head is not None:
            parts.append(f"the first {self.head}")
        if self.tail is not None:
            parts.append(f"the last {self.tail}")
        return ", ".join(parts) or None


EVERYTHING = Selection()
_UUID = r"\{?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\}?"


def known_interface(text: str) -> str:
    """Returns the interface of the calls that a selection asks for by name or UUID. Raises `ValueError` for an unknown name."""
    wanted = text.strip("{}").casefold()
    if re.fullmatch(_UUID, text):
        return wanted
    names = {name.casefold(): name for name in interface_names()}
    if wanted in names:
        return names[wanted]
    from difflib import get_close_matches  # only mistakes need it

    near = [names[name] for name in get_close_matches(wanted, names)]
    raise ValueError(
        f"{text} is no interface that is known by name: write its UUID"
        + (f", or {' or '.join(near)}, if that is meant" if near else "")
    )


def handle_name(text: str) -> str:
    """Returns the handle of the calls that a selection asks for: `q2`, `k1`, `s1` or a UUID. A number alone means a query
    handle."""
    if match := re.fullmatch(_UUID, text):
        return match[1].lower()
    if match := re.fullmatch(r"([qksQKS]?)(\d{1,9})", text):
        return f"{match[1].lower() or 'q'}{int(match[2])}"
    raise ValueError(
        f"{text} is no handle: write q2 or 2 for a query handle, k1 for a registry key, s1 for a service, or a UUID"
    )


def session_name(text: str) -> str:
    """Returns the SMB session of the calls that a selection asks for: `0x1d`, the id of a session, or `#12`, a call in it; a number
    alone is a call's."""
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", text):
        return f"{int(text, 16):#x}"
    if match := re.fullmatch(r"#?(\d{1,9})", text):
        return f"#{int(match[1])}"
    raise ValueError(f"{text} is no session: write its id as 0x1d, or the number of a call in it")
