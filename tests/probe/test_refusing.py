"""The script of the probe against servers that refuse, lose or lack something: it goes on, and does not send what makes no sense.

What it did then is held to `refusing/`: how many calls each step had, a digest of their words and triggers, and all failures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from struct import pack

import pytest
from msgspec.structs import replace

from analyzer.probe import probe_run
from analyzer.probe.dcerpc_client import BoundStream, Credentials, LostError, OfferedContext, Reply
from analyzer.probe.probe_calls import Impersonation, Lab
from analyzer.probe.probe_run import Rehearsal
from analyzer.probe.probe_script import Options, Script
from tests.build.buffers import Block, perf_data
from tests.build.calls import Calls
from tests.written import is_as_written

PAGES = Path(__file__).parent / "refusing"
CALLER, OTHER = Credentials("user", "domain", "password"), Credentials("other", "domain", "password")
OPTIONS = Options(other=OTHER, polls=2, interval=0.25)
WINREG = 1 << 8  # added to the opnums of winreg
Wrong = Callable[[int, Reply], Reply]


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

        association.bind = bind  # type: ignore[method-assign]
        association.call = answered  # type: ignore[method-assign]
        return association


def done(connector: Rehearsal) -> str:
    """What the whole script does."""
    lab, waits = Lab(connector, CALLER, lambda: None), list[float]()
    Script(lab, OPTIONS, waits.append).run()
    lines = [f"waits {waits}"]
    for step, entries in groupby(lab.log, key=lambda entry: entry.step):
        sent = [f"{one.association} {one.level} {one.words} {one.triggers}" for one in entries]
        lines.append(f"{step}: {len(sent)} {sha256(repr(sent).encode()).hexdigest()[:12]}")
    return "".join(f"{line}\n" for line in [*lines, *lab.failures])


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


def are_as_written(name: str, cases: Iterable[tuple[str, Rehearsal]]) -> None:
    is_as_written(PAGES / f"{name}.txt", "".join(f"--- {words}\n{done(connector)}" for words, connector in cases))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_method_that_does_not_succeed(name: str) -> None:
    are_as_written(
        f"methods-{name}",
        (
            (
                f"opnum {opnum % WINREG}{' of winreg' if opnum > WINREG else ''}",
                Refusing(wrong=of(opnum, ANSWERS[name])),
            )
            for opnum in METHODS
        ),
    )


def test_data_with_blocks_of_every_type() -> None:
    """What each is a trigger of, at the first poll and later."""
    blocks = [
        Block(1, values=((b"1234",),)),
        Block(0, status=5),
        Block(2, ids=(1,), values=((b"1234",),)),
        Block(4, instances=(("a", 1),), values=((b"1234",),)),
        Block(6, ids=(1,), instances=(("a", 1),), values=((b"1234",),)),
    ]
    made = {ndr64: Calls(ndr64=ndr64).sized(perf_data(blocks)).data for ndr64 in (False, True)}

    def wrong(opnum: int, usual: Reply) -> Reply:
        return Reply(made[usual.ndr64], opnum=opnum, ndr64=usual.ndr64) if opnum == 6 else usual

    are_as_written("data", [("blocks", Refusing(wrong=wrong))])


def test_associations_that_are_lost() -> None:
    """Each by itself, then all."""
    lab = Lab(Rehearsal(), CALLER, lambda: None)
    Script(lab, OPTIONS, lambda _: None).run()
    each = [(f"association {number}", frozenset({number})) for number in range(1, lab.associations + 1)]
    all_of_them = ("all", frozenset(range(1000)))
    are_as_written("associations", ((words, Refusing(lost=lost)) for words, lost in [*each, all_of_them]))


def test_levels_that_are_refused() -> None:
    are_as_written("levels", ((f"level {level}", Refusing(bind=level)) for level in range(1, 7)))


@pytest.mark.parametrize("kinds", [(0,), (2,), (2, 2), (0, 0), (2, 0, 2), (4, 0, 2, 2, 2)])
def test_a_server_with_so_many_countersets(kinds: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    sets = tuple((f"00000000-0000-4000-8000-{number:012}", kind) for number, kind in enumerate(kinds))
    monkeypatch.setattr(probe_run, "_SETS", sets)
    are_as_written(f"sets-{''.join(map(str, kinds))}", [(f"kinds {kinds}", Rehearsal())])


def test_a_registry_value_that_needs_more_room() -> None:
    """ERROR_MORE_DATA is answered with four times the room, up to 4 MiB."""

    def needing(size: int) -> Refusing:
        sizes = iter([1 << 16, 1 << 18, 1 << 20, 1 << 22] * 2)

        def wrong(opnum: int, usual: Reply) -> Reply:
            if opnum != 17 | WINREG:
                return usual
            return Reply(pack("<IIIIII", 0, 0, 0, 0, 0, 234 if next(sizes, 0) < size else 0))

        return Refusing(wrong=wrong)

    needed = (0, 1, 1 << 14, 1 << 16, (1 << 16) + 1, 1 << 20, 1 << 22, 1 << 23)
    are_as_written("sizes", ((f"{size} bytes", needing(size)) for size in needed))
