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
    from functools import cache
    from operator import attrgetter
    from threading import RLock
    from types import FunctionType

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
        given = _given_to(cls)
        defaults = [each.default if isinstance(each, Field) else each for each in given.values()]
        factories = [each.default_factory if isinstance(each, Field) else MISSING for each in given.values()]
        optional = [any(one is not MISSING for one in pair) for pair in zip(defaults, factories, strict=True)]
        if optional != sorted(optional):
            raise TypeError(f"{cls.__qualname__}: a field without a default follows one that has one")
        code = _init_code(tuple(factory is not MISSING for factory in factories), hasattr(cls, "__post_init__"))
        named = {f"field_{at}": name for at, name in enumerate(given)}
        code = code.replace(
            co_names=tuple(named.get(name, name) for name in code.co_names),
            co_varnames=tuple(named.get(name, name) for name in code.co_varnames),
            co_qualname=f"{cls.__qualname__}.__init__",
        )
        known = {"__name__": cls.__module__, "MISSING": MISSING}
        known |= {f"factory_{at}": factory for at, factory in enumerate(factories)}
        return FunctionType(code, known, "__init__", tuple(defaults[len(defaults) - sum(optional) :]))

    @cache
    def _init_code(made, has_more):
        """The code of an `__init__` whose fields have numbers for names. To compile costs ten times what naming does."""
        names = [f"field_{at}" for at in range(len(made))]
        lines = [
            f"self.{name} = factory_{at}() if {name} is MISSING else {name}" if made[at] else f"self.{name} = {name}"
            for at, name in enumerate(names)
        ]
        if has_more:
            lines.append("self.__post_init__()")
        known = {}
        exec(f"def __init__({', '.join(['self', *names])}):\n " + "\n ".join(lines or ["pass"]), known)
        return known["__init__"].__code__

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
