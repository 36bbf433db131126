"""Bounds of time as users write them in options: text in, nanoseconds since 1970 out, once the capture is known."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from analyzer.core.times import UNITS_NS, parse_duration, parse_time
from analyzer.results.analysis import CaptureFacts

_OF_DAY = r"(?i)(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z?"
_DAY_NS = UNITS_NS["d"]


class TimeBound(Struct, frozen=True):
    """A moment as a user wrote it in an option. `ns` counts from 1970 (`absolute`), from midnight of a day in UTC (`of-day`), or
    from the first frame of the capture (`relative`)."""

    text: str
    kind: Literal["absolute", "of-day", "relative"]
    ns: int

    def __str__(self) -> str:
        return self.text

    @classmethod
    def from_text(cls, text: str) -> TimeBound:
        """The moment that an option states; raises `ValueError` for what is no time."""
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
        """Returns the moment of an option as a time in this capture. A time of day is on the day of the first frame. If the capture
        began later that day and lasts until then, it is on the next day."""
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
        """Returns the moment of an option as a time in a capture of which only the time of the first frame is known."""
        if self.kind == "absolute":
            return self.ns
        if self.kind == "relative":
            return first_ns + self.ns
        moment = first_ns // _DAY_NS * _DAY_NS + self.ns
        return moment if moment >= first_ns else moment + _DAY_NS
