"""Names wire numbers when they are shown. Inside the program they stay numbers."""

from enum import IntEnum


def label(names: type[IntEnum], value: int) -> str:
    """Returns the name of a wire number in an enumeration, or the number in hexadecimal with a question mark: `0x2a?`."""
    try:
        return names(value).name
    except ValueError:
        return f"{value:#x}?"
