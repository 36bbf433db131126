"""Names for the numbers that a protocol gives to things. The numbers stay numbers; names are looked up when shown."""

from __future__ import annotations

from collections.abc import Iterator


class WireNumbers(type):
    """The metaclass of a class whose constants are the numbers of a protocol field: `LinkType.ETHERNET` is 1.

    To make an enumeration takes ten times as long, and its members are slower to compare.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], constants: dict[str, object]) -> None:
        super().__init__(name, bases, constants)
        # The names of the numbers, in the order of the class.
        cls.names = {number: name for name, number in constants.items() if isinstance(number, int)}

    def __iter__(cls) -> Iterator[int]:
        return iter(cls.names)

    def __contains__(cls, number: object) -> bool:
        return number in cls.names

    def label(cls, number: int) -> str:
        """Returns the name of a wire number in this class, or the number in hexadecimal with a question mark: `0x2a?`."""
        return cls.names.get(number) or f"{number:#x}?"
