"""What a rule is, and all of them: one file each in `rules/`, whose docstring is the page that `pcq explain` prints."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from analyzer.audit.verdicts import Judgement, Severity

if TYPE_CHECKING:
    from analyzer.audit.evidence import CallEvidence, Evidence


class Level(StrEnum):
    """The layer a rule reads."""

    TRANSPORT = "transport"
    RPC = "rpc"
    STUBS = "stubs"
    BUFFERS = "buffers"
    VALUES = "values"
    SEQUENCES = "sequences"
    WINPERF = "winperf"


Part = Literal["request", "response", "request.lpData", "response.lpData"]


class Reads(Struct, frozen=True):
    """What a rule reads: calls of `opnums` of an interface (none: of any), and the parts of them that have to be readable.

    A call of these opnums whose parts cannot be read (sealed, not captured, damaged) is inconclusive for all requirements of the
    rule, with that reason; the rule is not asked. With `damaged`, parts that were captured but do not decode are handed over too.
    With `success`, only calls that returned 0 count, and with `failure` only those that did not; a fault answers no `response`.
    `codes` narrows opnum 1 to some request codes.
    """

    opnums: tuple[int, ...] = ()
    parts: tuple[Part, ...] = ()
    interface: Literal["PerflibV2", "winreg"] = "PerflibV2"
    success: bool = False
    failure: bool = False
    damaged: bool = False
    codes: tuple[int, ...] = ()


Check = Callable[["CallEvidence"], Iterable[Judgement]]


class Watch(Protocol):
    """A rule that remembers: it sees the calls it reads in order, then the end of the capture."""

    def feed(self, call: CallEvidence) -> Iterable[Judgement]: ...

    def finish(self) -> Iterable[Judgement]: ...


class _Afterwards:
    """A rule that judges the whole capture at once."""

    def __init__(self, look: Callable[[Evidence], Iterable[Judgement]], evidence: Evidence) -> None:
        self._look, self._evidence = look, evidence

    def feed(self, call: CallEvidence) -> Iterable[Judgement]:
        return ()

    def finish(self) -> Iterable[Judgement]:
        return self._look(self._evidence)


def afterwards(look: Callable[[Evidence], Iterable[Judgement]]) -> Callable[[Evidence], Watch]:
    """`watch` for a rule that judges the whole capture by one function, such as binds, which are no calls."""
    return partial(_Afterwards, look)


class Rule(Struct, frozen=True):
    """One rule. `name` says what was seen, and makes sense after "we allow ..."; the code is for ever.

    Either `check` judges each call by itself, or `watch` makes an object that follows the whole capture. Of calls that are alike
    (see `likeness`), `check` is shown the first alone, unless it judges times, clocks or values (`of_values`). `by_method` states
    which of the requirements a method's calls are judged by, for rules that judge the same thing of several methods.
    """

    code: str
    name: str
    level: Level
    severity: Severity
    requirements: tuple[str, ...]
    reads: Reads | None = None
    check: Check | None = None
    watch: Callable[[Evidence], Watch] | None = None
    since: str = "0.1.0"
    by_method: Mapping[int, tuple[str, ...]] | None = None
    of_values: bool = False

    def concerning(self, opnum: int | None) -> tuple[str, ...]:
        """The requirements that a call of this method is judged by."""
        if self.by_method is None or opnum is None:
            return self.requirements
        return self.by_method.get(opnum, ())


class RulePage(Struct, frozen=True):
    """A rule with its page: the docstring of its file."""

    rule: Rule
    page: str

    @property
    def title(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0]


@cache
def rule_pages() -> tuple[RulePage, ...]:
    """Every rule, by code."""
    return tuple(sorted(_found(), key=lambda page: page.rule.code))


def _found() -> Iterator[RulePage]:
    package = import_module("analyzer.audit.rules")
    for entry in pkgutil.iter_modules(package.__path__):
        module = import_module(f"analyzer.audit.rules.{entry.name}")
        yield RulePage(module.RULE, inspect.getdoc(module) or "")
