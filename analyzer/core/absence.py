"""States why a value is missing. Zero is a perfectly good counter, so absence has a type of its own."""

from enum import Enum


class Missing(Enum):
    """The reason why a value is missing. Compare it by identity or type, never by truth."""

    NOT_CAPTURED = "not captured"
    SEALED = "sealed"
    UNDECODABLE = "undecodable"
