"""The two kinds of errors that are no bugs: unusable input (such as a damaged case), and bytes that violate their specification."""

from __future__ import annotations

from typing import Any, Self

from msgspec import MsgspecError

from analyzer.core.printable_text import printable, without_raw_bytes

# Errors of decoding damaged bytes or values that contradict each other.
CONTRADICTIONS = (MsgspecError, LookupError, ValueError, TypeError, ArithmeticError, RecursionError)


class InputError(Exception):
    """The error that the user's input cannot be used. `str()` is one sentence for the user; `hint` is the next thing to try, or
    None.

    Both may name captured text: characters that do not print are escaped, also where Python shows the error. A hint may be a
    drawing of several lines.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(printable(without_raw_bytes(message)))
        lines = hint.split("\n") if hint is not None else []
        self.hint = "\n".join([printable(without_raw_bytes(line)) for line in lines]) if hint is not None else None
        if self.hint is not None:
            self.add_note(self.hint)


class CaseError(InputError):
    """The error that a saved case is damaged. Only readers of cases raise it."""


class DecodeError(Exception):
    """The error that bytes violate their specification, with the place.

    `field` names what was being read (as in `ksy/`), `start` and `stop` are offsets in the structure's own bytes (None where there
    is no such place). For a stub, `params` are the parameters that were read before.
    """

    def __init__(self, reason: str, *, field: str = "", start: int | None = None, stop: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field
        self.start = start
        self.stop = stop
        self.params: dict[str, Any] = {}

    def alone(self) -> Self:
        """Returns the decode error without traceback and causes, for keeping: a traceback holds on to the bytes that were read."""
        self.__traceback__ = self.__context__ = self.__cause__ = None
        return self

    def __str__(self) -> str:
        place = f" at byte {self.start}" if self.start is not None else ""
        return f"{self.field}{place}: {self.reason}" if self.field else self.reason


class MalformedError(DecodeError):
    """The decode error that a field has an impossible value."""


class TruncatedError(DecodeError):
    """The decode error that the bytes end before the structure does."""


class OutputLimitError(DecodeError):
    """The decode error that compressed bytes promise or become more bytes than they may."""


class UnsupportedError(DecodeError):
    """The decode error that the bytes are valid, but this program does not read that part of their specification."""
