"""Which calls of a capture are shown: of one interface, on one handle, in one session, that pass a filter, the last of them.

In: what the user asked for. Out: calls with their numbers, which stay those of the whole capture.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, overload

from msgspec import Struct

from analyzer.core.errors import InputError
from analyzer.model.analysis import Analysis
from analyzer.model.call import Call
from analyzer.rpc.interfaces import interface_names

if TYPE_CHECKING:
    from analyzer.filters.filter import CallFilter

Numbered = tuple[int, Call]


class Selected(Sequence[Numbered]):
    """Calls of an analysis with their numbers, each made when it is looked at."""

    def __init__(self, calls: Sequence[Call], numbers: Sequence[int]) -> None:
        self._calls, self._numbers = calls, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, where: int) -> Numbered: ...

    @overload
    def __getitem__(self, where: slice) -> Selected: ...

    def __getitem__(self, where: int | slice) -> Numbered | Selected:
        if isinstance(where, slice):
            return Selected(self._calls, self._numbers[where])
        number = self._numbers[where]
        return number, self._calls[number - 1]

    def only(self, numbers: Iterable[int]) -> Selected:
        """Those of these numbers."""
        return Selected(self._calls, array("q", numbers))


class Selection(Struct, frozen=True):
    """What is to be shown; each part that is given must hold, and of the interfaces one. `handle` and `session` are as the user
    wrote them."""

    interfaces: tuple[str, ...] = ()
    handle: str | None = None
    session: str | None = None
    filter: CallFilter | None = None
    tail: int | None = None

    def calls(self, analysis: Analysis) -> Selected:
        """The calls selected, in their order, before `tail`."""
        everything = range(1, len(analysis.calls) + 1)
        if not self.interfaces and self.handle is None and self.session is None and self.filter is None:
            return Selected(analysis.calls, everything)
        numbered: Iterator[Numbered] = enumerate(analysis.calls, 1)
        if self.interfaces:
            wanted = self.interfaces
            numbered = (item for item in numbered if any(is_of(item[1], one) for one in wanted))
        if self.handle is not None:
            numbered = _on_handle(numbered, self.handle)
        if self.session is not None:
            numbered = _in_session(numbered, self.session, analysis)
        if self.filter is not None:
            passes = self.filter
            numbered = (item for item in numbered if passes(*item, analysis))
        return Selected(analysis.calls, array("q", (number for number, _ in numbered)))

    def last(self, calls: Selected) -> Selected:
        """The last of the calls, where only those are asked for."""
        return calls if self.tail is None else calls[max(len(calls) - self.tail, 0) :]

    def shown(self, analysis: Analysis) -> Selected:
        return self.last(self.calls(analysis))

    @property
    def words(self) -> str | None:
        """What selects, in words; None where everything is shown."""
        parts = []
        if self.interfaces:
            parts.append(f"interface {' or '.join(self.interfaces)}")
        if self.handle is not None:
            parts.append(f"handle {self.handle}")
        if self.session is not None:
            parts.append(f"session {'of call ' if self.session.startswith('#') else ''}{self.session}")
        if self.filter is not None:
            parts.append(f"filter {self.filter}")
        if self.tail is not None:
            parts.append(f"the last {self.tail}")
        return ", ".join(parts) or None


EVERYTHING = Selection()
_UUID = re.compile(r"\{?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\}?")


def is_of(call: Call, interface: str) -> bool:
    """Whether a call is one of the interface of this name or UUID."""
    names = {call.interface.uuid, call.interface.name}
    return interface.casefold().strip("{}") in {name.casefold() for name in names if name is not None}


def known_interface(text: str) -> str:
    """The name or UUID of an interface that the user wrote. Raises `ValueError` for what is neither."""
    wanted = text.strip("{}").casefold()
    if _UUID.fullmatch(text):
        return wanted
    names = {name.casefold(): name for name in interface_names()}
    if wanted in names:
        return names[wanted]
    near = [names[name] for name in get_close_matches(wanted, names)]
    raise ValueError(
        f"{text} is no interface that is known by name: write its UUID"
        + (f", or {' or '.join(near)}, if that is meant" if near else "")
    )


def handle_name(text: str) -> str:
    """`q2`, `k1` or a UUID, as reports write them, of what a user wrote; a number alone is a query handle's."""
    if match := _UUID.fullmatch(text):
        return match[1].lower()
    if match := re.fullmatch(r"([qkQK]?)(\d{1,9})", text):
        return f"{match[1].lower() or 'q'}{int(match[2])}"
    raise ValueError(f"{text} is no handle: write q2 or 2 for a query handle, k1 for a registry key, or a UUID")


def session_name(text: str) -> str:
    """`0x1d`, the id of an SMB session, or `#12`, a call in it, of what a user wrote; a number alone is a call's."""
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", text):
        return f"{int(text, 16):#x}"
    if match := re.fullmatch(r"#?(\d{1,9})", text):
        return f"#{int(match[1])}"
    raise ValueError(f"{text} is no session: write its id as 0x1d, or the number of a call in it")


def _on_handle(calls: Iterable[Numbered], handle: str) -> Iterator[Numbered]:
    for number, call in calls:
        if handle in (call.handle, call.handle_uuid):
            yield number, call


def _in_session(calls: Iterable[Numbered], session: str, analysis: Analysis) -> Iterator[Numbered]:
    """The calls of an SMB session, or of the TCP connection of a call that came without SMB."""
    if not session.startswith("#"):
        session_id = int(session, 16)
        for number, call in calls:
            if call.smb is not None and int(call.smb.session_id, 16) == session_id:
                yield number, call
        return
    number = int(session[1:])
    if not 1 <= number <= len(analysis.calls):
        count = len(analysis.calls)
        raise InputError(f"there is no call {session}; the capture has {count} call{'s' if count != 1 else ''}")
    place = _place(analysis.calls[number - 1])
    yield from (item for item in calls if _place(item[1]) == place)


def _place(call: Call) -> tuple[str, int]:
    return ("session", call.session) if call.session is not None else ("channel", call.channel)
