"""What the rig's counter server has, drawn from a seed: countersets, counters, instances, and values that move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from msgspec import Struct

from tests.build.buffers import Counter, Instance, PerfObject, string_table, wide
from tests.probe.server import NO_COUNTER, Contents
from tests.questions.audit.conversation import counter, record, u4

# Counter types of winperf.h with the size of their values, each a way of its own to be displayed.
RAW, RAW_LARGE, RATE, RATE_LARGE, TIMER = 0x00010000, 0x00010100, 0x10410400, 0x10410500, 0x20510500
SIZES = {RAW: 4, RAW_LARGE: 8, RATE: 4, RATE_LARGE: 8, TIMER: 8}
WORDS = (
    "Reads",
    "Writes/sec",
    "Größe",
    "Bytes Total/sec",
    "% Processor Time",
    "Länge der Warteschlange",
    "読み取り",
    "Ok \U0001f642",
)
NAMES = ("_Total", "0", "0,1", "svchost", "svchost#1", "C:", "Ünï(1)/x", "プロセス", "a" * 70, "smile \U0001f600")
STEP = timedelta(milliseconds=250)
BEGUN = datetime(2026, 3, 4, 5, 6, 7, 250_000, tzinfo=UTC)


class CounterTruth(Struct, frozen=True):
    """A counter: its number, type and name."""

    number: int
    kind: int
    name: str


class SetTruth(Struct, frozen=True):
    """A counterset; `instances` is None where it has none."""

    guid: str
    name: str
    counters: tuple[CounterTruth, ...]
    instances: dict[str, int] | None


class Model(Contents):
    """The contents of one server. Its clock and its values move on by one step with each poll, and with nothing else."""

    def __init__(self, seed: int) -> None:
        rng = Random(f"model {seed}")
        self.told: dict[str, SetTruth] = {}
        for number in range(rng.randint(2, 4)):
            guid = str(UUID(int=rng.getrandbits(128), version=4))
            kinds = [rng.choice(list(SIZES)) for _ in range(rng.randint(1, 5))]
            counters = tuple(
                CounterTruth(n, kind, rng.choice(WORDS)) for n, kind in enumerate(kinds, rng.randint(0, 3))
            )
            chosen = rng.sample(NAMES, rng.randint(1, 5))
            instances = {name: place for place, name in enumerate(chosen)} if number % 2 == 0 else None
            self.told[guid] = SetTruth(guid, f"Set {number} {rng.choice(WORDS)}", counters, instances)
        self.sets = tuple(self.told)  # type: ignore[misc]  # of each server its own
        self._rng = Random(f"values {seed}")
        self._values: dict[tuple[str, str, int], int] = {}
        self._moment = BEGUN

    def now(self) -> datetime:
        return self._moment

    def move(self) -> None:
        """One step of time: counters only grow, gauges do as they like."""
        self._moment += STEP
        for (guid, _, number), value in list(self._values.items()):
            key = guid, _, number
            kind = self._kind(guid, number)
            grown = value + self._rng.randrange(0, 2_000_000)
            self._values[key] = self._rng.getrandbits(31) if kind in (RAW, RAW_LARGE) else grown % 256 ** SIZES[kind]

    def _kind(self, guid: str, number: int) -> int:
        return next(one.kind for one in self.told[guid].counters if one.number == number)

    # --- what Contents answers with ------------------------------------------------------------------------------

    def registration(self, guid: str, code: int, language: int) -> tuple[int, bytes]:
        found = self.told[guid]
        counters = [counter(one.number, one.kind) for one in found.counters]
        match code:
            case 1:
                return 0, record(guid, 0 if found.instances is None else 2, *counters)
            case 2:
                wanted = [one for one in counters if one[:4] == u4(language)]
                return (0, wanted[0]) if wanted else (NO_COUNTER, b"")
            case 3 | 9:
                return 0, wide(found.name)
            case 5 | 10:
                return 0, string_table([(one.number, one.name) for one in found.counters], from_start=False)
            case 6:
                return 0, string_table(
                    [(one.number, f"{one.name}, explained") for one in found.counters], from_start=False
                )
            case 8:
                return 0, UUID(guid).bytes_le
            case _:
                return 0, wide(f"about {found.name}")

    def counters(self, guid: str) -> Sequence[int]:
        return [one.number for one in self.told[guid].counters]

    def instances(self, guid: str) -> Mapping[str, int] | None:
        return self.told[guid].instances

    def row(self, guid: str, instance: str, counters: Sequence[int]) -> tuple[bytes, ...]:
        values = []
        for number in counters:
            size = SIZES[self._kind(guid, number)]
            first = self._rng.getrandbits(8 * size - 2)
            values.append(self._values.setdefault((guid, instance, number), first).to_bytes(size, "little"))
        return tuple(values)

    def objects(self) -> list[PerfObject]:
        """A winperf object for each counterset, whose counters have the title indices from 1000 on."""
        made = []
        for place, found in enumerate(self.told.values()):
            index = 1000 + 100 * place
            counters = tuple(
                Counter(index + 2 + 2 * n, one.kind, SIZES[one.kind]) for n, one in enumerate(found.counters)
            )
            numbers = [one.number for one in found.counters]
            names = ["" if found.instances is None else name for name in found.instances or [""]]
            rows = []
            for name in names:
                values = tuple(int.from_bytes(value, "little") for value in self.row(found.guid, name, numbers))
                rows.append(Instance(name if found.instances is not None else None, -1, (0, 0), values))
            made.append(PerfObject(index, counters, tuple(rows), has_instances=found.instances is not None))
        return made
