"""Wire numbers stay numbers; their names are looked up when shown."""

from enum import IntEnum


def label(names: type[IntEnum], value: int) -> str:
    """The name of a wire number's enum member, or the number in hexadecimal with a question mark: `0x2a?`."""
    try:
        return names(value).name
    except ValueError:
        return f"{value:#x}?"
