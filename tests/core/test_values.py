"""`core.values.dataclass` against the library's: the same class, made by both, says the same of itself."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from dataclasses import field, fields, replace
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import analyzer
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


def test_a_class_that_inherits_is_not_taken_for_its_base() -> None:
    @values.dataclass(slots=True)
    class Base:
        one: int = 1

    @values.dataclass(slots=True)
    class Derived(Base):
        two: list[int] = field(default_factory=list)

    class Plain(Base):
        def __init__(self) -> None:
            Base.__init__(self, 7)

    assert (Plain().one, Plain.__match_args__) == (7, ("one",))
    assert Derived(5).two is not Derived(5).two
    assert Derived(5, [6]) == Derived(one=5, two=[6])
    assert Base() == Base(1)
    assert Base.__match_args__ == ("one",)
    assert Derived.__match_args__ == ("one", "two")
    assert [item.name for item in fields(Derived)] == ["one", "two"]
    assert [item.name for item in fields(Plain)] == [item.name for item in fields(Base)] == ["one"]


def test_what_follows_the_making_is_called() -> None:
    @values.dataclass(slots=True)
    class Doubled:
        one: int

        def __post_init__(self) -> None:
            self.one *= 2

    assert Doubled(2).one == Doubled(one=2).one == 4


def test_fields_without_a_default_come_first() -> None:
    @values.dataclass(slots=True)
    class Disordered:
        one: int = 1
        two: int  # type: ignore[misc]

    with pytest.raises(SyntaxError, match="default"):
        Disordered(1, 2)


@values.dataclass(frozen=True, slots=True)
class Kept:
    one: int
    two: dict[str, int] = field(default_factory=dict)


def test_objects_are_copied_and_pickled_before_any_is_made() -> None:
    program = f"import pickle, tests; print(pickle.loads({pickle.dumps(Kept(1, {'a': 2}))!r}))"
    text = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert text == "Kept(one=1, two={'a': 2})\n"
    assert copy.copy(Kept(1)) == copy.deepcopy(Kept(1)) == pickle.loads(pickle.dumps(Kept(1))) == Kept(1)


def test_wrong_arguments_are_refused_as_the_library_refuses_them() -> None:
    for given in ((), (1, 2, 3, 4)):
        with pytest.raises(TypeError, match=r"Derived\.__init__\(\)"):
            OURS["Derived"](*given)
    with pytest.raises(TypeError, match="unexpected keyword argument 'four'"):
        OURS["Derived"](1, four=4)


def all_of_ours() -> list[type]:
    names = [item.name for item in walk_packages(analyzer.__path__, "analyzer.")]
    modules = [import_module(name) for name in names if not name.endswith("__main__") and "_generated" not in name]
    found = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    return sorted((each for each in found if "_dataclass_written" in vars(each)), key=repr)


def test_every_class_of_ours_takes_what_the_library_says_its_fields_are() -> None:
    classes = all_of_ours()
    assert len(classes) > 200
    for each in classes:
        told = fields(each)
        assert all(item.init and not item.kw_only for item in told), each
        assert each.__match_args__ == tuple(item.name for item in told)
        assert "__init__" not in vars(vars(each)["_dataclass_written"]), each
        taken = list(inspect.signature(values._init_of(each)).parameters.values())[1:]
        assert [item.name for item in taken] == [item.name for item in told]
        for given, item in zip(taken, told, strict=True):
            if item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
                assert given.default is given.empty
            else:
                assert given.default is item.default, (each, item)


def test_no_module_makes_dataclasses_in_another_way() -> None:
    root = Path(analyzer.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in root.rglob("*.py") if path != Path(values.__file__)}
    assert [
        path for path, text in texts.items() if re.search(r"^from dataclasses import .*\bdataclass\b", text, re.M)
    ] == []
