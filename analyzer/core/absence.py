"""Why a value is not there. Zero is a perfectly good counter, so absence has a type of its own."""

from enum import Enum


class Missing(Enum):
    """Why a value is not there: ask by identity or type, never by truth."""

    NOT_CAPTURED = "not captured"
    SEALED = "sealed"
    UNDECODABLE = "undecodable"
