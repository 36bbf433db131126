"""The places in a call that audit rules speak of: the field of a verdict, and the bytes of a violation."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

SideName = Literal["request", "response"]


class At(Struct, frozen=True, cache_hash=True):
    """The place in a call of a field that an audit rule speaks of.

    `path` goes by the names `show` prints: `dwInSize`, `lpData.counters[2].counter_type`; empty for the whole stub. A path into the
    PDU itself (authentication trailer) begins with `pdu`. `span` are the bytes of `lpData` themselves, given by a rule that knows
    them better than the path does: in a damaged buffer, a path may lead nowhere.
    """

    side: SideName
    path: str = ""
    span: tuple[int, int] | None = None

    @property
    def spelled(self) -> str:
        """Returns the violation's place as `show --field` takes it: `response.lpData.perf_freq`, `request.lpData[28:48]`."""
        inside = f"lpData[{self.span[0]}:{self.span[1]}]" if self.span is not None else self.path
        return f"{self.side}.{inside}" if inside else self.side


class Violation(NamedTuple):
    """A violation that an audit rule found: a wrong value. `span` are its bytes in `lpData`, `path` leads to them by the names of
    `ksy/`."""

    path: str
    span: tuple[int, int]
    expected: str
    seen: str
