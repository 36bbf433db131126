"""What a rule is, and all of them: one file each in `rules/`, whose docstring is the page that `pcq explain` prints."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from msgspec import Struct

from analyzer.questions.audit.verdicts import Judgement, Severity

if TYPE_CHECKING:
    from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence, Evidence


class Level(StrEnum):
    """The layer a rule reads."""

    TRANSPORT = "transport"
    RPC = "rpc"
    STUBS = "stubs"
    BUFFERS = "buffers"
    VALUES = "values"
    SEQUENCES = "sequences"
    WINPERF = "winperf"


About = Literal["call", "handle", "association", "conversation"]
Part = Literal["request", "response", "request.lpData", "response.lpData"]


class Reads(Struct, frozen=True):
    """What a rule looks at: calls of `opnums` of an interface (none: of any), and the parts of them that have to be readable.

    A call of these opnums whose parts cannot be read (sealed, not captured, damaged) is inconclusive for all requirements of the
    look, with that reason; the rule is not asked. With `damaged`, parts that were captured but do not decode are handed over too.
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

    @property
    def wants_answer(self) -> bool:
        """Whether anything of an answer has to be there."""
        return self.success or self.failure or any(part.startswith("response") for part in self.parts)


# What calls are shown as: `AskedEvidence`, the request alone, or `CallEvidence`, the request with its answer.
Shown = TypeVar("Shown", contravariant=True)


class Check(Protocol[Shown]):
    """Judges one call by itself."""

    def __call__(self, call: Shown, /) -> Iterable[Judgement]: ...


class Watch(Protocol[Shown]):
    """A rule that remembers: it sees the calls it reads in order, then the end of the capture."""

    def feed(self, call: Shown, /) -> Iterable[Judgement]: ...

    def finish(self) -> Iterable[Judgement]:
        return ()


class _Afterwards:
    """A rule that judges the whole capture at once."""

    def __init__(self, look: Callable[[Evidence], Iterable[Judgement]], evidence: Evidence) -> None:
        self._look, self._evidence = look, evidence

    def feed(self, call: CallEvidence) -> Iterable[Judgement]:
        return ()

    def finish(self) -> Iterable[Judgement]:
        return self._look(self._evidence)


class Look(Struct, Generic[Shown], frozen=True):
    """What a rule judges of one side, and how.

    Either `check` judges each call by itself, or `watch` makes an object that follows the whole capture. Of calls that are alike
    (see `likeness`), `check` is shown the first alone, unless it judges times, clocks or values (`of_values`). `by_method` states
    which of the requirements a method's calls are judged by, for rules that judge the same thing of several methods.

    `about` is what its findings are of beside the call they point at: they stay where another call of the same query handle,
    association, or pair of hosts was asked for.

    `needs_answer` says why a violation by the client shows only together with what the server answered. Without it, a look at
    whole calls that accuses the client is a mistake, which ends the audit: the answer must not decide about the request.
    """

    requirements: tuple[str, ...]
    reads: Reads | None = None
    check: Check[Shown] | None = None
    watch: Callable[[Evidence], Watch[Shown]] | None = None
    by_method: Mapping[int, tuple[str, ...]] | None = None
    of_values: bool = False
    about: About = "call"
    needs_answer: str | None = None

    def concerning(self, opnum: int | None) -> tuple[str, ...]:
        """The requirements that a call of this method is judged by."""
        if self.by_method is None or opnum is None:
            return self.requirements
        return self.by_method.get(opnum, ())


# What a decorator of a rule takes and gives back: a function that judges a call, or a class that follows the capture.
OfRequests = TypeVar(
    "OfRequests",
    bound="Callable[[AskedEvidence], Iterable[Judgement]] | Callable[[Evidence], Watch[AskedEvidence]]",
)
OfCalls = TypeVar(
    "OfCalls", bound="Callable[[CallEvidence], Iterable[Judgement]] | Callable[[Evidence], Watch[CallEvidence]]"
)
OfCapture = TypeVar("OfCapture", bound="Callable[[Evidence], Iterable[Judgement]]")


class Rule(Struct, eq=False):
    """One rule. `name` says what was seen, and makes sense after "we allow ..."; the code is for ever.

    What `requests` decorates is shown the client's bytes and nothing else, so that a request is judged alike whatever it was
    answered. What `calls` decorates is shown requests with their answers, and what `afterwards` does the whole capture at its end.
    Each takes the requirements, what is read, and what `Look` has besides.
    """

    code: str
    name: str
    level: Level
    severity: Severity
    request: Look[AskedEvidence] | None = None
    call: Look[CallEvidence] | None = None
    since: str = "0.1.0"

    def requests(self, requirements: tuple[str, ...], reads: Reads, **facts: Any) -> Callable[[OfRequests], OfRequests]:
        if reads.wants_answer:
            raise ValueError(f"{self.code} judges requests, and reads answers")

        def take(made: OfRequests) -> OfRequests:
            self.request = Look(requirements, reads, **_as_look(made), **facts)
            return made

        return take

    def calls(self, requirements: tuple[str, ...], reads: Reads, **facts: Any) -> Callable[[OfCalls], OfCalls]:
        def take(made: OfCalls) -> OfCalls:
            self.call = Look(requirements, reads, **_as_look(made), **facts)
            return made

        return take

    def afterwards(
        self, requirements: tuple[str, ...], reads: Reads | None = None, **facts: Any
    ) -> Callable[[OfCapture], OfCapture]:
        def take(made: OfCapture) -> OfCapture:
            self.call = Look(requirements, reads, watch=partial(_Afterwards, made), **facts)
            return made

        return take

    @property
    def looks(self) -> tuple[Look[Any], ...]:
        """What it judges, of requests first."""
        return tuple(look for look in (self.request, self.call) if look is not None)

    @property
    def requirements(self) -> tuple[str, ...]:
        """All requirements it judges."""
        return tuple(dict.fromkeys(name for look in self.looks for name in look.requirements))


def _as_look(made: Callable[..., Any]) -> dict[str, Any]:
    return {"watch" if isinstance(made, type) else "check": made}


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
    package = import_module("analyzer.questions.audit.rules")
    for entry in pkgutil.iter_modules(package.__path__):
        module = import_module(f"analyzer.questions.audit.rules.{entry.name}")
        yield RulePage(module.RULE, inspect.getdoc(module) or "")
