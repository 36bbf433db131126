"""Regular expressions for a filter's `matches`. The engine's time is linear in the text, so that no pattern can make it hang.

The engine is that of the Rust crate `regex`, which polars, our library for tables, has built in. Case is ignored, like in
Wireshark, unless the pattern says `(?-i)`.
"""

from __future__ import annotations

import polars as pl

# Values repeat: a capture has few users, methods and names.
_REMEMBERED = 4096


class PatternError(ValueError):
    """The error for a text that is no regular expression; `str()` says why."""


class Pattern:
    def __init__(self, pattern: str) -> None:
        self._pattern = "(?i)" + _storable(pattern)
        self._known: dict[str, bool] = {}
        try:
            self.found_in("")
        except pl.exceptions.ComputeError as error:
            raise PatternError(_reason(str(error))) from None

    def found_in(self, text: str) -> bool:
        """Whether the regular expression occurs anywhere in the text."""
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = bool(pl.Series([_storable(text)]).str.contains(self._pattern)[0])
            self._known[text] = known
        return known


def _storable(text: str) -> str:
    """Returns text for the regular-expression engine. A lone surrogate has no UTF-8 form and becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _reason(message: str) -> str:
    """Returns why the engine refused a regular expression, without the drawing around the message."""
    for line in message.splitlines():
        if line.startswith("error: "):
            return line.removeprefix("error: ")
    return message.partition("\n")[0].removeprefix("regex error: ")
