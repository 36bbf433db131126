"""The verdict of an audit rule on one occurrence of what it judges, and the place in a call that it speaks of: a field, or bytes.

    passed       as required
    warned       not as it should be, and yet not against the letter
    failed       against the letter
    inconclusive the capture lacks what the judgement needs, with the reason

A failure that Windows, or an SDK page, is known to commit carries that `deviation`: the profiles decide what it counts as. Every
violation has an `actor`, the side that committed it.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from msgspec import Struct

from analyzer.results.connection import Channel

if TYPE_CHECKING:
    from analyzer.questions.audit.call_evidence import AskedEvidence, CallEvidence


# ------------------------------------------------------------------------------------------------------------------ places


SideName = Literal["request", "response"]


class At(Struct, frozen=True, cache_hash=True):
    """The place in a call of a field that an audit rule speaks of.

    `path` goes by the names `show` prints: `dwInSize`, `lpData.counters[2].counter_type`; empty for the whole stub. A path into the
    PDU itself (authentication trailer) begins with `pdu`. `span` are the bytes of `lpData` themselves, given by a rule that knows
    them better than the path does: in a damaged buffer, a path may lead nowhere.
    """

    side: SideName
    path: str = ""
    span: tuple[int, int] | None = None

    @property
    def spelled(self) -> str:
        """Returns the violation's place as `show --field` takes it: `response.lpData.perf_freq`, `request.lpData[28:48]`."""
        inside = f"lpData[{self.span[0]}:{self.span[1]}]" if self.span is not None else self.path
        return f"{self.side}.{inside}" if inside else self.side


class Violation(NamedTuple):
    """A violation that an audit rule found: a wrong value. `span` are its bytes in `lpData`, `path` leads to them by the names of
    `ksy/`."""

    path: str
    span: tuple[int, int]
    expected: str
    seen: str


# ---------------------------------------------------------------------------------------------------------------- verdicts


# A call as a rule was shown it; a verdict is one on the whole call.
OfCall: TypeAlias = "CallEvidence | AskedEvidence"
# One requirement, or several that demand the same thing; none: all that the look judges of the method.
Requirements = str | tuple[str, ...]


class Outcome(StrEnum):
    PASSED = "pass"
    WARNED = "warn"
    FAILED = "fail"
    INCONCLUSIVE = "inconclusive"


class Actor(StrEnum):
    """The side that committed an audit violation; `either` if it is a property of both, or the capture does not show which."""

    CLIENT = "client"
    SERVER = "server"
    EITHER = "either"


class Severity(StrEnum):
    """How bad an audit violation is: `error` breaks the protocol for somebody, `warning` may, `info` is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Confidence(IntEnum):
    """How sure an audit rule is of what it says."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3


class Deviation(Struct, frozen=True):
    """A known deviation from the letter of a requirement: who is known for it (`authority`, document and place), in our words.

    `instead` is the requirement that the same bytes keep, where two contradict each other: then a profile that lets the departure
    pass counts it for that one alone.
    """

    authority: str
    text: str
    instead: str | None = None


class Judgement(Struct, frozen=True):
    """One verdict of an audit rule. `count` occurrences at once, for what passed. `frames` are those of the side `at` names, unless
    given.

    `requirements` demand the same thing: it is reported once, for the first, and counted for each. None: it is a verdict on all
    that the look judges of this method. `expected` and `seen` are values in words; `message` is one sentence without them, in
    past tense. `actor` is given where it does not follow from the requirement and the side (see `actor_of`). A `note`
    is a warning that only informs; the profile `strict` has none. `channel` is given for a verdict on an association rather
    than on a call.

    `displaces` says that the parameters of the call are not where the IDL puts them. Whatever other rules find in this call, or
    in what it changed about its handle, follows from this.
    """

    outcome: Outcome
    requirements: tuple[str, ...] = ()
    call: CallEvidence | None = None
    at: At | None = None
    message: str = ""
    expected: str | None = None
    seen: str | None = None
    count: int = 1
    confidence: Confidence = Confidence.HIGH
    deviation: Deviation | None = None
    frames: tuple[int, ...] | None = None
    actor: Actor | None = None
    note: bool = False
    displaces: bool = False
    channel: Channel | None = None

    @property
    def requirement(self) -> str:
        """Returns the requirement that the verdict is reported for."""
        return self.requirements[0]


def passed(*requirements: str, count: int = 1) -> Judgement:
    """Returns the verdict that all is as required, `count` times."""
    return Judgement(Outcome.PASSED, requirements, count=count)


def inconclusive(reason: str, call: OfCall | None = None, *requirements: str) -> Judgement:
    """Returns the verdict that nothing can be stated, for this reason (`the counterset's registration is not in the capture`)."""
    return Judgement(Outcome.INCONCLUSIVE, requirements, cast("CallEvidence | None", call), message=reason)


class _Say(Struct, frozen=True):
    """Makes an audit rule's verdicts of one outcome on what is not as it should be."""

    outcome: Outcome

    def __call__(
        self,
        call: OfCall | None,
        at: At | str | tuple[str, str] | None,
        message: str,
        expected: object = None,
        seen: object = None,
        *,
        of: Requirements = (),
        **facts: Any,
    ) -> Judgement:
        """Makes a verdict on `at`: a place, or a path in the side that the look judges (whole, or a structure and its field).
        `facts` are further fields of `Judgement`."""
        if isinstance(at, str | tuple):
            assert call is not None
            at = At(call.judged_side, at if isinstance(at, str) else ".".join(at))
        wanted, found = (None if one is None else str(one) for one in (expected, seen))
        # A request stands for its call until the audit puts the whole call in its place.
        whole, of = cast("CallEvidence | None", call), of if isinstance(of, tuple) else (of,)
        return Judgement(self.outcome, of, whole, at, message, wanted, found, **facts)


# Against the letter.
failed = _Say(Outcome.FAILED)
# Not as it should be, and yet not against the letter; a failure under the profile `strict`.
warned = _Say(Outcome.WARNED)


def judge(
    is_kept: bool,
    call: OfCall,
    at: At | str | tuple[str, str],
    message: str,
    expected: object,
    seen: object,
    *,
    of: Requirements = (),
    say: _Say = failed,
    **facts: Any,
) -> Judgement:
    """Returns an audit verdict on requirements: passed if `is_kept`, else the verdict that `say` makes."""
    if is_kept:
        return Judgement(Outcome.PASSED, of if isinstance(of, tuple) else (of,))
    return say(call, at, message, expected, seen, of=of, **facts)
