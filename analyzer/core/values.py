"""Dataclasses that are quick to define and quick to make: used as `dataclasses.dataclass` is, with one difference.

Python writes and compiles up to six functions for each frozen dataclass; for all of ours that was a third of what starting
the program took. Here only `__init__` is written. Comparing, hashing and printing are the same few functions for every class,
with a getter of its fields. And `frozen` is a matter of the type checker alone, which holds every one of our modules to it:
at run time nothing stops an assignment, and in return making an object costs a third. `fields`, `replace`, `match` and
inheritance work as ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from operator import attrgetter

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True, order=False):
        """See `dataclasses.dataclass`; the parameters that are not here are not used by us."""
        if cls is None:
            return lambda each: dataclass(each, frozen=frozen, slots=slots, eq=eq, repr=repr, order=order)
        own = cls.__dict__
        made = dataclasses.dataclass(repr=False, eq=False, slots=slots)(cls)
        if repr and "__repr__" not in own:
            made.__repr__ = _repr
        if eq and "__eq__" not in own:
            names = [field.name for field in dataclasses.fields(made) if field.compare]
            made._compared = staticmethod(attrgetter(*names) if names else _nothing)
            made.__eq__ = _eq
            if "__hash__" not in own:
                # As the library does: what may change under its hash has none.
                made.__hash__ = _hash if frozen else None
            if order:
                made.__lt__, made.__le__, made.__gt__, made.__ge__ = _lt, _le, _gt, _ge
        return made

    def _nothing(_):
        return ()

    def _repr(self):
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _eq(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or self._compared(self) == self._compared(other)

    def _hash(self):
        return hash(self._compared(self))

    def _lt(self, other):
        return self._compared(self) < self._compared(other) if other.__class__ is self.__class__ else NotImplemented

    def _le(self, other):
        return self._compared(self) <= self._compared(other) if other.__class__ is self.__class__ else NotImplemented

    def _gt(self, other):
        return self._compared(self) > self._compared(other) if other.__class__ is self.__class__ else NotImplemented

    def _ge(self, other):
        return self._compared(self) >= self._compared(other) if other.__class__ is self.__class__ else NotImplemented
