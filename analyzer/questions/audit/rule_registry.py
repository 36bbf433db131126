"""Defines audit rules, and finds all of them: decorated functions and classes in `rules/`, whose docstrings `pcq docs` prints.
Reads the catalog of requirements that they judge, `requirements.json`.

`PCQ-*` are of [MS-PCQ] v13.0, `WP-*` of winperf.h (PERF_DATA_BLOCK and what it holds), `PL-*` of perflib.h (PerfQueryCounterData).

The list of triggers that `pcq probe` writes is read too (JSON of format 1): which requirements it triggered, and by which steps of
its script. The result has the steps by requirement. A requirement that was triggered, but
that the capture does not show, is then inconclusive, not `not-exercised`.
"""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache, partial, wraps
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from msgspec import Struct
from msgspec.json import decode

from analyzer.core.errors import InputError
from analyzer.questions.audit.rule_verdicts import Judgement, Severity

if TYPE_CHECKING:
    from analyzer.questions.audit.call_evidence import AskedEvidence, CallEvidence, Evidence, SideEvidence


# -------------------------------------------------------------------------------------------------- requirement catalog


# ------------------------------------------------------------------------------------------------------------ requirements


class Requirement(Struct, frozen=True):
    """One requirement of a specification that audit rules judge.

    - `level` is the text's own word, or IMPLIED where the text describes without such a word.
    - `observable` says whether traffic can show it: `wire` (decoded directly), `partially` (only in some histories), or `no`.
      `why` gives the reason.
    - `trigger` is what has to happen before it can pass or fail. It is None where no traffic can show it.
    - `caused_by` is the side that can bring the trigger about (the server: by what it registers or runs into). `provoked` says that
      conforming peers do so only to provoke the other side.
    - `passes` and `fails` are what a capture has to show.
    - `excludes` is another requirement that contradicts this one: on the same bytes, at most one of the two is kept.
    """

    id: str
    section: str
    level: Literal["MUST", "SHOULD", "MAY", "IMPLIED"]
    actor: Literal["client", "server", "both"]
    statement: str
    observable: Literal["wire", "partially", "no"]
    why: str
    passes: str
    fails: str
    note: str | None = None
    trigger: str | None = None
    caused_by: Literal["client", "server"] | None = None
    provoked: bool = False
    excludes: str | None = None


@cache
def catalogue() -> Mapping[str, Requirement]:
    """Returns every requirement that audit rules judge, by id, in the order of the documents."""
    entries = decode(Path(__file__).with_name("requirements.json").read_bytes(), type=list[Requirement])
    return MappingProxyType({requirement.id: requirement for requirement in entries})


def causable_by_client() -> frozenset[str]:
    """Returns the requirements of the catalog whose trigger a client, as the probe is one, can bring about."""
    return frozenset(name for name, requirement in catalogue().items() if requirement.caused_by == "client")


# ------------------------------------------------------------------------------------------------------- probe triggers


FORMAT = 1
Triggered = Mapping[str, tuple[str, ...]]


def read_triggered(path: Path) -> Triggered:
    """Reads which requirements of the catalog a probe triggered, for an audit, from the list that it wrote; raises `InputError` if
    it is no such list."""
    try:
        document = json.loads(path.read_bytes())
        found = {name: tuple(map(str, steps)) for name, steps in document["triggered"].items()}
        if document["format"] != FORMAT:
            raise InputError(f"{path} is of format {document['format']}; this program knows {FORMAT}")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is no list of a probe", hint="pcq-analyzer probe --triggered writes one") from None
    unknown = sorted(set(found) - set(catalogue()))
    if unknown:
        raise InputError(f"{path} names the requirement {unknown[0]}, which there is not")
    return found


def why_not_shown(steps: tuple[str, ...]) -> str:
    """Says why a requirement of the catalog is inconclusive: a probe triggered it, by the list that `read_triggered` read, and the
    capture does not show it."""
    return f"the probe triggered it ({', '.join(steps)}), and the capture does not show it"


# ------------------------------------------------------------------------------------------------------------------- rules


class Level(StrEnum):
    """The protocol layer that an audit rule reads."""

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
    """The calls and parts that an audit rule reads: calls of `opnums` of an interface (none: of any), parts that must be readable.

    A call of these opnums whose parts cannot be read (sealed, not captured, damaged) is inconclusive for all requirements of the
    look, with that reason; the rule is not asked. With `damaged`, parts that were captured but do not decode are handed over too.
    With `success`, only calls that returned 0 count, and with `failure` only those that did not; a fault has no `response`. `codes`
    narrows opnum 1 to some request codes.
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
        """Tells whether what a registered rule reads has anything of an answer in it."""
        return self.success or self.failure or any(part.startswith("response") for part in self.parts)


# The requirements of a look: one, several, or those of each method by its opnum.
OfMethods = str | tuple[str, ...] | Mapping[Any, tuple[str, ...]]
# What calls are shown as: `AskedEvidence`, the request alone, or `CallEvidence`, the request with its answer.
Shown = TypeVar("Shown", contravariant=True)


class Check(Protocol[Shown]):
    """A check of an audit rule that judges one call by itself."""

    def __call__(self, call: Shown, /) -> Iterable[Judgement]: ...


class Watch(Protocol[Shown]):
    """A check of an audit rule that remembers: it sees the calls it reads in order, then the end of the capture."""

    def feed(self, call: Shown, /) -> Iterable[Judgement]: ...

    def finish(self) -> Iterable[Judgement]:
        return ()


class Look(Struct, Generic[Shown], frozen=True):
    """The look of an audit rule at one side, which judges it: `made` is the function or class that was decorated.

    Either `check` judges each call by itself, or `watch` makes an object that follows the whole capture, or `at_end` judges it
    when it has ended. `check` is shown only the first of calls that are alike (see `alike_calls`). With `of_each` it is shown all,
    since it judges what these differ in: times, clocks, values, what came before. `by_method` states which of the requirements
    a method's calls are judged by, for rules that judge the same thing of several methods.

    `about` is what its findings are of beside the call they point at: they stay where another call of the same query handle,
    association, or pair of hosts was asked for.

    `needs_answer` says why a violation by the client shows only together with what the server answered. Without it, a look at
    whole calls that accuses the client is a mistake, which ends the audit: the answer must not decide about the request.
    """

    side: Literal["request", "call"]
    made: Callable[..., Any]
    requirements: tuple[str, ...]
    reads: Reads | None = None
    check: Check[Shown] | None = None
    watch: Callable[[Evidence], Watch[Shown]] | None = None
    at_end: Callable[[Evidence], Iterable[Judgement]] | None = None
    by_method: Mapping[int, tuple[str, ...]] | None = None
    of_each: bool = False
    about: About = "call"
    needs_answer: str | None = None

    def concerning(self, opnum: int | None) -> tuple[str, ...]:
        """Returns the requirements by which an audit rule judges a call of this method."""
        if self.by_method is None or opnum is None:
            return self.requirements
        return self.by_method.get(opnum, ())


class Rule(Struct, eq=False):
    """One rule of the audit. `name` says what was seen, and makes sense after "we allow ...". The code never changes. `page` is
    what `pcq docs` prints."""

    code: str
    name: str
    level: Level
    severity: Severity
    page: str = ""
    # Former names, which still select the rule.
    formerly: tuple[str, ...] = ()
    request: Look[AskedEvidence] | None = None
    call: Look[CallEvidence] | None = None
    since: str = "0.1.0"

    def also(self, look: Look[Any]) -> Look[Any]:
        """Decorates the audit rule's look at the other side."""
        if look.side == "request":
            self.request = look
        else:
            self.call = look
        return look

    @property
    def title(self) -> str:
        """Returns the title of the audit rule: the first line of its page."""
        return self.page.partition("\n")[0]

    @property
    def looks(self) -> tuple[Look[Any], ...]:
        """Returns the looks of an audit rule: at requests, then at calls."""
        return tuple(look for look in (self.request, self.call) if look is not None)

    @property
    def requirements(self) -> tuple[str, ...]:
        """Returns all requirements that an audit rule judges."""
        return tuple(dict.fromkeys(name for look in self.looks for name in look.requirements))


Looks = tuple[Look[Any], ...]


def rule(code: str, level: Level, severity: Severity, *formerly: str) -> Callable[[Look[Any] | Looks], Rule]:
    """Makes an audit rule from looks of `of_requests`, `of_calls` or the like, named like the decorated function or class."""

    def rule_of(looks: Look[Any] | Looks) -> Rule:
        looks = looks if isinstance(looks, tuple) else (looks,)
        look = looks[0]
        name = re.sub("(?<=.)(?=[A-Z])", "-", look.made.__name__).replace("_", "-").lower()
        made = Rule(code, name, level, severity, inspect.getdoc(look.made) or "", formerly)
        for one in looks:
            made.also(one)
        return made

    return rule_of


def of_requests(
    requirements: OfMethods, reads: Reads, **facts: Any
) -> Callable[[Callable[[AskedEvidence], Iterable[Judgement]] | type[Watch[AskedEvidence]]], Look[AskedEvidence]]:
    """Decorates an audit check that is shown the client's bytes only, so that a request is judged alike whatever the answer. It is
    asked about captured requests.

    `requirements` may be given by opnum; `facts` are further fields of `Look`.
    """
    if reads.wants_answer:
        raise ValueError("a look at requests reads answers")
    return partial(_look, "request", requirements, reads, facts)


def of_calls(
    requirements: OfMethods, reads: Reads, **facts: Any
) -> Callable[[Callable[[CallEvidence], Iterable[Judgement]] | type[Watch[CallEvidence]]], Look[CallEvidence]]:
    """Decorates an audit check that is shown requests with their answers."""
    return partial(_look, "call", requirements, reads, facts)


def of_capture(
    requirements: OfMethods, reads: Reads | None = None, **facts: Any
) -> Callable[[Callable[[Evidence], Iterable[Judgement]]], Look[CallEvidence]]:
    """Decorates an audit check that judges the whole capture at its end."""
    return lambda made: _look("call", requirements, reads, {"at_end": made, **facts}, made)


def of_sides(
    asked: OfMethods, of_request: Reads, answered: OfMethods, of_response: Reads
) -> Callable[[Callable[[CallEvidence | AskedEvidence, SideEvidence], Iterable[Judgement]]], Looks]:
    """Decorates an audit check that judges each side of a call by itself in the same way: it is shown the call and one captured
    side."""

    def looks_of(check: Callable[[CallEvidence | AskedEvidence, SideEvidence], Iterable[Judgement]]) -> Looks:
        @wraps(check)
        def request(call: AskedEvidence) -> Iterable[Judgement]:
            return check(call, call.sent)

        def response(call: CallEvidence) -> Iterable[Judgement]:
            return check(call, call.response) if call.response is not None else ()

        return of_requests(asked, of_request)(request), of_calls(answered, of_response)(response)

    return looks_of


def _look(
    side: Literal["request", "call"],
    requirements: OfMethods,
    reads: Reads | None,
    facts: dict[str, Any],
    made: Callable[..., Any],
) -> Look[Any]:
    if isinstance(requirements, str):
        requirements = (requirements,)
    elif isinstance(requirements, Mapping):
        facts = {"by_method": requirements, **facts}
        requirements = tuple(dict.fromkeys(chain.from_iterable(requirements.values())))
    if "at_end" not in facts:
        facts = {"watch" if isinstance(made, type) else "check": made, **facts}
    return Look(side, made, requirements, reads, **facts)


@cache
def every_rule() -> tuple[Rule, ...]:
    """Returns all audit rules of the modules in `rules/`, by code."""
    package = import_module("analyzer.questions.audit.rules")
    modules = [import_module(f"{package.__name__}.{entry.name}") for entry in pkgutil.iter_modules(package.__path__)]
    found = {one for module in modules for one in vars(module).values() if isinstance(one, Rule)}
    return tuple(sorted(found, key=lambda one: one.code))


def select_rules(rules: Sequence[Rule], chosen: Collection[str], ignored: Collection[str]) -> tuple[Rule, ...]:
    """Selects the audit rules that a user asks for among those registered: by code or its beginning (`PCQ1`), by name, by layer
    (`buffers`), by section (`2.2.4.2`), or by a requirement's id or level (`MUST`). Raises `InputError` for a word that names none,
    and if none is left."""

    def matches(rule: Rule, word: str) -> bool:
        folded = word.casefold()
        required = [catalogue()[requirement] for requirement in rule.requirements]
        return (
            rule.code.casefold().startswith(folded)
            or folded in (rule.name, rule.level.value, *rule.formerly)
            or any(item.section == word or item.section.startswith(f"{word}.") for item in required)
            or any(folded in (item.id.casefold(), item.level.casefold()) for item in required)
        )

    for word in (*chosen, *ignored):
        if not any(matches(rule, word) for rule in rules):
            raise InputError(f"there is no rule {word}", hint="`pcq-analyzer audit --list` shows them all")
    left = tuple(
        rule
        for rule in rules
        if (not chosen or any(matches(rule, word) for word in chosen))
        and not any(matches(rule, word) for word in ignored)
    )
    if not left:
        raise InputError("no rule is left of this selection", hint="`pcq-analyzer audit --list` shows them all")
    return left
