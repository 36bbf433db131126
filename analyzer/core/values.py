"""Dataclasses that are quick to define and quick to make: used as `dataclasses.dataclass` is, with one difference.

Python looks at each field of a dataclass, and writes and compiles up to six functions for a frozen one; for all of ours that
was a third of what starting the program took, though a run makes objects of few of them. Here a class gets its slots when it is
defined, its `__init__` when the first object is made, and what `fields` and `replace` want to know, from the library, when one
of them asks. Comparing, hashing and printing are the same few functions for every class, with a getter of its fields. And
`frozen` is a matter of the type checker alone, which holds every one of our modules to it: at run time nothing stops an
assignment, and in return making an object costs a third. `match` and inheritance from others of their kind work as ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    from dataclasses import MISSING, Field, fields
    from dataclasses import dataclass as library_dataclass
    from operator import attrgetter
    from threading import RLock

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True, order=False):
        """See `dataclasses.dataclass`; the parameters that are not here are not used by us, nor those of `field` for `__init__`."""
        if cls is None:
            return lambda each: dataclass(each, frozen=frozen, slots=slots, eq=eq, repr=repr, order=order)

        def first_init(self, *values, **named):
            made.__init__ = _init_of(made)
            made.__init__(self, *values, **named)

        own = vars(cls)
        # Annotations are text (PEP 563).
        names = [name for name, kind in cls.__annotations__.items() if not kind.startswith("ClassVar")]
        body = {name: value for name, value in own.items() if name not in names and name not in _OF_EACH_CLASS}
        body["__qualname__"] = cls.__qualname__
        body["_dataclass_written"] = cls
        body["_dataclass_given"] = {name: own.get(name, MISSING) for name in names}
        if slots:
            inherited = {name for base in cls.__mro__[1:] for name in vars(base).get("__slots__", ())}
            body["__slots__"] = tuple(name for name in names if name not in inherited)
        body.setdefault("__init__", first_init)
        if repr:
            body.setdefault("__repr__", _repr)
        if eq and "__eq__" not in body:
            body["__eq__"] = _eq
            # As the library does: what may change under its hash has none.
            body.setdefault("__hash__", _hash if frozen else None)
            if order:
                body |= {"__lt__": _lt, "__le__": _le, "__gt__": _gt, "__ge__": _ge}
        made = type(cls)(cls.__name__, cls.__bases__, _LATE | body)
        return made

    _OF_EACH_CLASS = ("__dict__", "__weakref__")

    def _given_to(cls):
        """The default of each field, or what `field` said of it, by name; the fields of the bases come first."""
        found = {}
        for each in reversed(cls.__mro__):
            found |= vars(each).get("_dataclass_given", {})
        return found

    def _init_of(cls):
        """`__init__` as one would write it, since every object runs through it."""
        known = {"__name__": cls.__module__, "MISSING": MISSING}
        parameters, lines = ["self"], []
        for name, given in _given_to(cls).items():
            default = given.default if isinstance(given, Field) else given
            factory = given.default_factory if isinstance(given, Field) else MISSING
            value = name
            if factory is not MISSING:
                known[f"{name}_factory"] = factory
                value = f"{name}_factory() if {name} is MISSING else {name}"
            if factory is not MISSING or default is not MISSING:
                known[f"{name}_default"] = default
                parameters.append(f"{name}={name}_default")
            else:
                parameters.append(name)
            lines.append(f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), known)
        made = known["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        return made

    def _compared_of(cls):
        names = [name for name, given in _given_to(cls).items() if not isinstance(given, Field) or given.compare]
        return staticmethod(attrgetter(*names) if names else _nothing)

    _ASKING = RLock()

    def _library_of(cls):
        """The class as it was written, as a dataclass of the library."""
        written = next(vars(each)["_dataclass_written"] for each in cls.__mro__ if "_dataclass_written" in vars(each))
        with _ASKING:
            if "__dataclass_fields__" not in vars(written):
                library_dataclass(init=False, repr=False, eq=False, match_args=False)(written)
        return written

    class _Late:
        """An attribute that a class finds out when it is first asked for."""

        def __init__(self, name, find):
            self._name, self._find = name, find

        def __get__(self, _, cls):
            setattr(cls, self._name, self._find(cls))
            return getattr(cls, self._name)

    _LATE = {
        name: _Late(name, find)
        for name, find in {
            "_compared": _compared_of,
            "__match_args__": lambda cls: tuple(_given_to(cls)),
            "__dataclass_fields__": lambda cls: _library_of(cls).__dataclass_fields__,
            "__dataclass_params__": lambda cls: _library_of(cls).__dataclass_params__,
        }.items()
    }

    def _nothing(_):
        return ()

    def _repr(self):
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
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
