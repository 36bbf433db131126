"""The script of the probe against servers that refuse, lose or lack something: it goes on, and does not send what makes no sense.

`refusing_servers.txt` has what it did then: of each step that was not as usual how many calls it had and a digest of their words
and triggers, and all failures. `PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.probe import probe_run
from analyzer.probe.dcerpc_client import BoundStream, Credentials, LostError, OfferedContext, Reply
from analyzer.probe.probe_calls import Impersonation, Lab
from analyzer.probe.probe_run import Rehearsal
from analyzer.probe.probe_script import Options, Script
from tests.build.buffers import Block, perf_data
from tests.build.calls import Calls
from tests.written import Outcomes, by_outcome

CALLER, OTHER = Credentials("user", "domain", "password"), Credentials("other", "domain", "password")
OPTIONS = Options(other=OTHER, polls=2, interval=0.25)
WINREG = 1 << 8  # added to the opnums of winreg
Wrong = Callable[[int, Reply], Reply]
Done = tuple[dict[str, str], list[str]]


class Refusing(Rehearsal):
    """Loses some of the associations, by their number, and changes answers."""

    def __init__(
        self, *, lost: frozenset[int] = frozenset(), wrong: Wrong | None = None, bind: int | None = None
    ) -> None:
        self._lost, self._wrong, self._bind, self._opened = lost, wrong, bind, 0

    def open(self, credentials: Credentials, pipe: str, impersonation: Impersonation) -> BoundStream:
        self._opened += 1
        if self._opened in self._lost:
            raise LostError("the server ended the connection")
        association = super().open(credentials, pipe, impersonation)
        bound, call = association.bind, association.call
        contexts: list[OfferedContext] = []

        def bind(context: OfferedContext, level: int = 6) -> int | None:
            if level == self._bind:
                return None
            contexts.append(context)
            return bound(context, level)

        def answered(context: int, opnum: int, stub: bytes) -> Reply:
            answer = call(context, opnum, stub)
            is_winreg = contexts[context].interface[0].startswith("338cd001")
            return self._wrong(opnum + (WINREG if is_winreg else 0), answer) if self._wrong is not None else answer

        association.bind = bind
        association.call = answered
        return association


def done(connector: Rehearsal) -> Done:
    """What the whole script does in each step, and its failures."""
    lab, waits = Lab(connector, CALLER, lambda: None), list[float]()
    Script(lab, OPTIONS, waits.append).run()
    steps = {"waits": f"{waits}"}
    for step, entries in groupby(lab.log, key=lambda entry: entry.step):
        sent = [f"{one.association} {one.level} {one.words} {one.triggers}" for one in entries]
        steps[step] = f"{len(sent)} {sha256(repr(sent).encode()).hexdigest()[:8]}"
    return steps, lab.failures


def refusing(**what: Any) -> Done:
    return done(Refusing(**what))


@cache
def answered() -> Done:
    """By a server that answers everything."""
    return done(Rehearsal())


def unusual(server: Callable[[], Done]) -> Iterator[str]:
    """What is not done as with a server that answers everything."""
    steps, failures = server()
    usual = answered()[0] if server is not answered else {}
    different = [(f"{step} {found}", "not as usual") for step, found in steps.items() if usual.get(step) != found]
    different += [(step, "not done") for step in usual if step not in steps]
    different += [(step, words) for step, _, words in (failure.partition(": ") for failure in failures)]
    yield from by_outcome(different) if different else ["as usual"]


def of(opnum: int, answer: Reply) -> Wrong:
    return lambda asked, usual: replace(answer, opnum=usual.opnum, ndr64=usual.ndr64) if asked == opnum else usual


ANSWERS = {
    "refused": Reply(pack("<II", 0, 5)),
    "lost": Reply(lost="gone"),
    "fault": Reply(fault=5),
    "short": Reply(b"\0\0"),
    "empty": Reply(bytes(24)),
    "small": Reply(pack("<6I", 0, 40, 0, 0, 0, 8)),
}
METHODS = (0, 1, 2, 3, 4, 5, 6, 7, 3 | WINREG, 5 | WINREG, 17 | WINREG)


def cases() -> Iterator[tuple[str, Callable[[], Done]]]:
    yield "everything is answered", answered
    for name, answer in ANSWERS.items():
        for opnum in METHODS:
            method = f"opnum {opnum % WINREG}{' of winreg' if opnum > WINREG else ''}"
            yield f"{method}: {name}", partial(refusing, wrong=of(opnum, answer))
    yield "data with blocks of every type, at the first poll and later", partial(refusing, wrong=every_type)
    for number in range(1, 43):
        yield f"association {number} is lost", partial(refusing, lost=(number,))
    yield "all associations are lost", partial(refusing, lost=range(1000))
    for level in range(1, 7):
        yield f"level {level} is refused", partial(refusing, bind=level)
    for kinds in ((0,), (2,), (2, 2), (0, 0), (2, 0, 2), (4, 0, 2, 2, 2)):
        yield f"countersets {kinds}", partial(having, kinds)
    # ERROR_MORE_DATA is answered with four times the room, up to 4 MiB.
    for size in (0, 1, 1 << 14, 1 << 16, (1 << 16) + 1, 1 << 20, 1 << 22, 1 << 23):
        yield f"a registry value of {size} bytes", partial(needing, size)


def every_type(opnum: int, usual: Reply) -> Reply:
    blocks = [
        Block(1, values=((b"1234",),)),
        Block(0, status=5),
        Block(2, ids=(1,), values=((b"1234",),)),
        Block(4, instances=(("a", 1),), values=((b"1234",),)),
        Block(6, ids=(1,), instances=(("a", 1),), values=((b"1234",),)),
    ]
    stub = Calls(ndr64=usual.ndr64).sized(perf_data(blocks)).data
    return Reply(stub, opnum=opnum, ndr64=usual.ndr64) if opnum == 6 else usual


def needing(size: int) -> Done:
    sizes = iter([1 << 16, 1 << 18, 1 << 20, 1 << 22] * 2)

    def wrong(opnum: int, usual: Reply) -> Reply:
        if opnum != 17 | WINREG:
            return usual
        return Reply(pack("<IIIIII", 0, 0, 0, 0, 0, 234 if next(sizes, 0) < size else 0))

    return done(Refusing(wrong=wrong))


def having(kinds: tuple[int, ...]) -> Done:
    """With countersets of these kinds."""
    sets = tuple((f"00000000-0000-4000-8000-{number:012}", kind) for number, kind in enumerate(kinds))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe_run, "_SETS", sets)
        return done(Rehearsal())


OUTCOMES = Outcomes(Path(__file__).with_name("refusing_servers.txt"), dict(cases()), unusual)


@pytest.mark.parametrize("name", OUTCOMES.cases)
def test_the_script_goes_on_without_what_makes_no_sense(name: str) -> None:
    OUTCOMES.holds(name)


def test_the_text_has_these_cases() -> None:
    OUTCOMES.is_as_written()
    lab = Lab(Rehearsal(), CALLER, lambda: None)
    Script(lab, OPTIONS, lambda _: None).run()
    assert lab.associations == 42
