"""`core.values.dataclass` against the library's: the same class, made by both, says the same of itself."""

from __future__ import annotations

import dataclasses
from dataclasses import field, fields, replace
from typing import Any

import pytest

from analyzer.core import values


def made_by(dataclass: Any) -> dict[str, Any]:
    @dataclass(frozen=True, slots=True)
    class Base:
        one: int

    @dataclass(frozen=True, slots=True)
    class Derived(Base):
        two: str = "b"
        three: list[int] = field(default_factory=list, compare=False, repr=False)

        @property
        def double(self) -> int:
            return self.one * 2

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        one: int
        two: str

    @dataclass(frozen=True, slots=True, repr=False)
    class Secret:
        one: int

        def __repr__(self) -> str:
            return "Secret(...)"

    @dataclass(frozen=True, eq=False)
    class Identity:
        one: int

    @dataclass(slots=True)
    class Changing:
        one: int = 1

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    found = locals()
    del found["dataclass"]
    for each in found.values():
        each.__qualname__ = each.__name__
    return found


OURS, THEIRS = made_by(values.dataclass), made_by(dataclasses.dataclass)
ARGUMENTS = {
    "Base": [(1,), (2,)],
    "Derived": [(1,), (1, "a"), (1, "b", [3])],
    "Ordered": [(1, "a"), (1, "b"), (0, "z")],
    "Secret": [(1,), (2,)],
    "Changing": [(), (2,)],
    "Empty": [()],
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_objects_print_compare_and_hash_as_the_librarys_do(name: str) -> None:
    ours, theirs = ([each(*given) for given in ARGUMENTS[name]] for each in (OURS[name], THEIRS[name]))
    assert [repr(one) for one in ours] == [repr(one) for one in theirs]
    assert [field.name for field in fields(ours[0])] == [field.name for field in fields(theirs[0])]
    for first, second in zip(ours, theirs, strict=True):
        assert [first == other for other in ours] == [second == other for other in theirs]
        assert first != second
        assert first == replace(first)
        assert (type(first).__hash__ is None) == (type(second).__hash__ is None)
        if type(first).__hash__ is not None:
            assert hash(first) == hash(replace(first))
    if name == "Ordered":
        assert [ARGUMENTS[name][ours.index(one)] for one in sorted(ours)] == sorted(ARGUMENTS[name])
        assert all((ours[0] <= ours[1], ours[1] >= ours[0], ours[0] < ours[1], ours[1] > ours[0]))


def test_classes_keep_slots_properties_and_patterns() -> None:
    one = OURS["Derived"](4, three=[1])
    assert one.double == 8
    assert not hasattr(one, "__dict__")
    match one:
        case object(one=4, two="b"):
            pass
        case _:
            raise AssertionError
    assert OURS["Derived"].__match_args__ == THEIRS["Derived"].__match_args__
    assert OURS["Base"](4) != one


def test_identity_is_kept_where_asked_for() -> None:
    one, other = OURS["Identity"](1), OURS["Identity"](1)
    assert one != other
    assert len({one, other}) == 2
