"""Makes a `ProcessRecord` for each process of a machine that any answer of an analysis shows.

`who_looked_at_what.findings` sees in answers about Process that a process was there, and when. If answers that list processes lack
it, it started or ended between two of them. Parent, start, processor time and memory are displayed values of the instance
(`series.reading_batches`), in the answers that state the same process id.

Odd names and parents are marked, with reasons. Names alone prove nothing, and most odd ones are harmless. So a rule
marks a name only if usual programs do not have such names (tests/questions/processes has 360 of them).

* A name *resembles* a program of Windows if one letter is changed, added, left out or swapped with its neighbour, or if digits
  stand for letters. The programs are those whose names malware borrows (MITRE ATT&CK T1036.005), as listed in the poster "Hunt
  Evil" of the SANS Institute, and the hosts of Windows that run other code.
* A name looks *random* if it has only letters, changes between capitals and small letters at almost every one, and has pairs of
  letters that words do not have. Tools make up such names for programs that they copy to a machine (Metasploit's
  Rex::Text.rand_text_alpha, impacket's serviceinstall.py).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, product
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import UNSET, Struct, UnsetType, field

from analyzer.core.array_functions import distinct
from analyzer.core.times import NS_PER_S
from analyzer.interfaces.call_contents.machine_names import machine_names
from analyzer.questions.series.series_keys import counter_names
from analyzer.questions.statistics.call_statistics import frames_of_calls
from analyzer.questions.statistics.process_sightings import IMAGES, MAX_PROCESS_ID, ListKey, ProcessSighting
from analyzer.questions.statistics.who_looked_at_what import ActivityFindings, findings
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call_row_columns import KIND_NUMBERS
from analyzer.results.records.process import Course, ProcessMark, ProcessMarkKind, ProcessRecord
from analyzer.results.records.sample import Why
from analyzer.results.records.statistics import Who

if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.questions.series.reading_batches import Batch
    from analyzer.questions.series.series_and_points import Series
    from analyzer.questions.series.value_plans import ValuePlan


# ----------------------------------------------------------------------------------------------------------- odd processes


# The words of each kind of mark, before its reason.
MARK_WORDS: Mapping[ProcessMarkKind, str] = {
    "resembles": "the name resembles that of a program of Windows",
    "random": "the name looks random",
    "parent": "an unusual parent",
}

_OF_WINDOWS = (
    *(
        "csrss",
        "explorer",
        "lsaiso",
        "lsass",
        "runtimebroker",
        "services",
        "svchost",
        "taskhostw",
        "wininit",
        "winlogon",
    ),
    *("conhost", "dllhost", "rundll32", "spoolsv", "taskhost"),
)
# The programs from which a name of this length may differ by one letter.
_NEARLY_OF_LENGTH = {
    length: tuple(known for known in _OF_WINDOWS if abs(len(known) - length) <= 1)
    for length in range(1, max(map(len, _OF_WINDOWS)) + 2)
}
# Programs whose names are as near: of Windows, or in use everywhere.
_USUAL = frozenset(_OF_WINDOWS) | {"taskhostex", "service", "sihost", "dashost", "iexplorer", "iexplore", "fontdrvhost"}
_DIGITS = str.maketrans("013457", "oleast")


def _spellings(letters: str) -> Iterator[str]:
    """Yields letters of the name of a program of Windows as a process may have them: as they are, and with digits that stand for
    them."""
    forms = [letter + "".join(chr(digit) for digit, of in _DIGITS.items() if of == ord(letter)) for letter in letters]
    return map("".join, product(*forms))


# One change leaves the first two letters or the last two of a name as they are: these names have five letters or more.
_BEGINNINGS = frozenset(text for known in _OF_WINDOWS for text in _spellings(known[:2]))
_ENDINGS = frozenset(text for known in _OF_WINDOWS for text in _spellings(known[-2:]))
_EXTENSION = re.compile(r"\.(?:exe|com|scr)\Z", re.IGNORECASE)

_LETTERS = re.compile(r"[A-Za-z]{6,20}")
# A word of a name that is written as programs are: `Runtime`, `VG`, `Auth`.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FEWEST_WORDS, _LONGEST_WORDS, _VERY_SHORT = 3, 2.4, 2.0
# Letters that do not follow a letter in English words, or hardly ever.
_RARE = {
    "b": "qxz",
    "c": "bfgjpvwx",
    "d": "x",
    "f": "bjkpqvwxz",
    "g": "bjkqvxz",
    "h": "jkqvxz",
    "j": "bcdfghklmnpqrstvwxyz",
    "k": "qvxz",
    "l": "qx",
    "m": "jkqvxz",
    "p": "jqvwxz",
    "q": "abcdefghijklmnopqrstvwxyz",
    "s": "xz",
    "t": "qx",
    "u": "u",
    "v": "bdfghjkmnpqtwxz",
    "w": "fgjpqvwxz",
    "x": "bdgjkmnrsvwz",
    "y": "jqvy",
    "z": "bcdfgjkmnpqrsvwx",
}


def parent_marks(name: str, parent: int | None, services: frozenset[int]) -> tuple[ProcessMark, ...]:
    """Returns the marks that the record of a process has for an odd parent. `services` are the process ids of the service control
    manager that were seen: it starts every svchost ("Hunt Evil")."""
    if parent is None or not services or parent in services or _EXTENSION.sub("", name).casefold() != "svchost":
        return ()
    own = ", ".join(map(str, sorted(services)))
    return (ProcessMark("parent", f"process {parent} created it; Windows creates svchost by services (pid {own})"),)


def name_marks(name: str) -> tuple[ProcessMark, ...]:
    """Returns the marks for an odd name of a process; none for a usual name."""
    plain = _EXTENSION.sub("", name) if "." in name else name
    folded = plain.casefold()
    has_usual_end = folded[:2] in _BEGINNINGS or folded[-2:] in _ENDINGS
    # Most names have other characters or no capitals.
    is_mixed = plain.isalpha() and not plain.islower()
    if not has_usual_end and not is_mixed:
        return ()
    found = _resemblance(folded) if has_usual_end else None, _randomness(plain) if is_mixed else None
    return tuple([mark for mark in found if mark is not None])


def _resemblance(plain: str) -> ProcessMark | None:
    if plain in _USUAL:
        return None
    as_letters = plain.translate(_DIGITS)
    for known in _NEARLY_OF_LENGTH.get(len(plain), ()):
        if as_letters == known:
            return ProcessMark("resembles", f"digits in the place of letters of {known}")
        if _is_one_change_away(plain, known):
            return ProcessMark("resembles", f"one letter is other than in {known}")
    return None


def _is_one_change_away(text: str, known: str) -> bool:
    """Whether the name of a process and a known one have a Damerau-Levenshtein distance of 1, so that its record has a mark. Then
    one letter is changed, added, left out or swapped with the next. Their lengths differ by at most one."""
    start = 0
    while start < min(len(text), len(known)) and text[start] == known[start]:
        start += 1
    rest, of_known = text[start:], known[start:]
    if rest[1:] == of_known[1:] or rest[1:] == of_known or rest == of_known[1:]:
        return True
    return rest[:2] == of_known[1::-1] and rest[2:] == of_known[2:]


def _randomness(plain: str) -> ProcessMark | None:
    if _LETTERS.fullmatch(plain) is None:
        return None
    words = _WORD.findall(plain)
    mean = len(plain) / len(words)
    pairs = map("".join, pairwise(plain.casefold()))
    rare = list(dict.fromkeys(pair for pair in pairs if pair[1] in _RARE.get(pair[0], "")))
    if len(words) < _FEWEST_WORDS or mean > _LONGEST_WORDS or not (rare or mean < _VERY_SHORT):
        return None
    reason = f"capitals and small letters change {len(words) - 1} times in {len(plain)} letters"
    return ProcessMark("random", reason + (f"; no word has {', '.join(rare[:4])}" if rare else ""))


# --------------------------------------------------------------------------------------------------------- process records


_PID, _PARENT, _ELAPSED, _CPU, _MEMORY = range(5)
_COUNTERS = {
    "id process": _PID,
    "creating process id": _PARENT,
    "elapsed time": _ELAPSED,
    "% processor time": _CPU,
    "working set": _MEMORY,
}
# Instances of Process V2 are called by name and process id.
_WITH_PID = re.compile(r"(?P<name>.+):(?P<pid>\d+)", re.DOTALL)
# For Idle and System, Windows counts from the beginning of its own clock, 1601.
_LONGEST_S = 100 * 366 * 86_400
# An instance without a process id.
_NO_PID = -1

# Server, name and process id. Where nothing states the id, what the instance was seen as.
_Key = tuple[str, str, int | None, tuple[str, str | int, int | None] | None]
_FramesOfCalls = tuple[tuple[int, ...], tuple[int, ...] | UnsetType]
_Floats: TypeAlias = "npt.NDArray[np.float64]"
_Part: TypeAlias = "tuple[npt.NDArray[np.int64], _Floats]"


class _Values(Struct):
    """The counter values of one process. Answers of one plan make a part: their times, and the value that each states."""

    parent: int | None = None
    started_ns: int | None = None
    cpu: list[_Part] = field(default_factory=list)
    memory: list[_Part] = field(default_factory=list)


class ProcessTable(Struct, frozen=True):
    """The table of processes, by columns: machine by machine, in the order of their first sightings. A record is made of a row when
    it is looked at.

    `keys` have server, name and process id. `first` and `last` are the first and the last sighting of each process.
    """

    keys: Sequence[_Key]
    images: Sequence[Sequence[ProcessSighting]]
    first: Sequence[ProcessSighting]
    last: Sequence[ProcessSighting]
    parent_pids: Sequence[int | None]
    parent_names: Sequence[str | None]
    oddities: Sequence[tuple[ProcessMark, ...]]
    answers: Sequence[int]
    altered: Sequence[int]
    seen_by: Sequence[tuple[Who, ...]]
    machines: Mapping[str, str]
    # Looked for in all answers when it is first asked for.
    _values: Callable[[], Sequence[_Values]]
    _lists: Mapping[ListKey, Sequence[tuple[int, int]]]
    _frames_of: Callable[[int, int], _FramesOfCalls]

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[ProcessRecord]:
        return map(self.record, range(len(self)))

    def record(self, row: int) -> ProcessRecord:
        """The record of the process in a row."""
        server, name, pid, _ = self.keys[row]
        first, last, images, values = self.first[row], self.last[row], self.images[row], self._values()[row]
        frames, files = self._frames_of(first.first_call, last.last_call)
        before, after = self._lists.get(first.key[:3], ()), self._lists.get(last.key[:3], ())
        earlier = bisect_left(before, (first.first_call,))
        later = bisect_left(after, (last.last_call + 1,))
        return ProcessRecord(
            server_ip=server,
            server_name=self.machines.get(server),
            name=name,
            pid=pid,
            parent_pid=values.parent,
            parent_name=self.parent_names[row],
            started_ns=values.started_ns,
            started_after_ns=before[earlier - 1][1] if earlier else None,
            ended_before_ns=after[later][1] if later < len(after) else None,
            first_time_ns=first.first_time_ns,
            last_time_ns=last.last_time_ns,
            answers=self.answers[row],
            cpu=_course(values.cpu),
            memory=_course(values.memory),
            oddities=self.oddities[row],
            sources=tuple(dict.fromkeys(image.key[1] for image in images)),
            seen_by=self.seen_by[row],
            first_call=first.first_call,
            last_call=last.last_call,
            frames=frames,
            frame_files=files,
            altered=self.altered[row] or UNSET,
        )


def process_table(analysis: Analysis, found: ActivityFindings, known: ProcessValues | None = None) -> ProcessTable:
    """Returns the table of processes in the findings about counters. `known` has their values, if all readings were read before."""
    sighted = _by_machine(_sighted(found.images))
    keys, images = list(sighted), list(sighted.values())

    @cache
    def values() -> list[_Values]:
        read = known
        if read is None:
            from analyzer.questions.series.reading_batches import readings  # few captures state what is read there

            read = ProcessValues()
            for batch in readings(analysis, _OfProcesses()):
                read.take_readings(batch)
        return read.rows(keys)

    with_parents = values() if keys and may_state_parents(analysis) else [_Values()] * len(keys)
    services: dict[str, frozenset[int]] = {}
    for server, name, pid, _ in keys:
        if pid is not None and name.casefold() == "services":
            services[server] = services.get(server, frozenset()) | {pid}
    parents = [one.parent for one in with_parents]
    none: frozenset[int] = frozenset()
    oddities = [
        name_marks(name) + (parent_marks(name, parent, services.get(server, none)) if parent is not None else ())
        for (server, name, _, _), parent in zip(keys, parents, strict=True)
    ]
    return ProcessTable(
        keys,
        images,
        [some[0] if len(some) == 1 else min(some, key=attrgetter("first_call")) for some in images],
        [some[0] if len(some) == 1 else max(some, key=attrgetter("last_call")) for some in images],
        parents,
        _parent_names(keys, with_parents),
        oddities,
        [some[0].calls if len(some) == 1 else sum(one.calls for one in some) for some in images],
        [some[0].altered if len(some) == 1 else sum(one.altered for one in some) for some in images],
        [
            some[0].seen_by if len(some) == 1 else tuple(dict.fromkeys(who for one in some for who in one.seen_by))
            for some in images
        ],
        {ip: names[0] for ip, names in machine_names(analysis).items()},
        values,
        found.lists,
        # Many processes are seen first and last in the same two calls.
        cache(lambda *calls: frames_of_calls(analysis, calls)),
    )


def process_records(analysis: Analysis) -> list[ProcessRecord]:
    """The processes, machine by machine in the order of their first sightings."""
    return list(process_table(analysis, findings(analysis)))


def _sighted(images: Iterable[ProcessSighting]) -> dict[_Key, list[ProcessSighting]]:
    """Returns the sightings of each process, from all countersets."""
    found: dict[_Key, list[ProcessSighting]] = {}
    for image in images:
        server, source, target, name, instance_id = image.key
        pid = image.pid
        if ":" in name:
            name, pid = _named(name, pid)
        key = server, name, pid, ((source, target, instance_id) if pid is None else None)
        if (known := found.get(key)) is None:
            found[key] = [image]
        else:
            known.append(image)
    return found


def _by_machine(sighted: dict[_Key, list[ProcessSighting]]) -> dict[_Key, list[ProcessSighting]]:
    """Sorts processes by machine, in the order in which the machines were first seen."""
    machines = {server: number for number, server in enumerate(dict.fromkeys(key[0] for key in sighted))}
    if len(machines) <= 1:
        return sighted
    return dict(sorted(sighted.items(), key=lambda item: machines[item[0][0]]))


def _named(name: str, pid: int | None) -> tuple[str, int | None]:
    """Splits an instance name into the name and the id of a process, for its record."""
    match = _WITH_PID.fullmatch(name)
    if match is not None and pid in (None, int(match["pid"])):
        return match["name"], int(match["pid"])
    return name, pid


def _parent_names(keys: Sequence[_Key], values: Sequence[_Values]) -> list[str | None]:
    """Returns the name of each process's parent, if exactly one process has the parent's id and is not younger."""
    if all(one.parent is None for one in values):
        return [None] * len(keys)
    by_pid: dict[tuple[str, int | None], list[int]] = {}
    for row, (server, _, pid, _) in enumerate(keys):
        by_pid.setdefault((server, pid), []).append(row)

    def parent_of(row: int) -> str | None:
        parent, started = values[row].parent, values[row].started_ns
        if parent is None:
            return None
        older = [
            other
            for other in by_pid.get((keys[row][0], parent), ())
            if other != row and not (started and (began := values[other].started_ns) and began > started)
        ]
        return keys[older[0]][1] if len(older) == 1 else None

    return [parent_of(row) for row in range(len(keys))]


def _course(parts: Sequence[_Part]) -> Course | None:
    """Returns how a value of a process went. Parts may cover the same time: their answers came in turns."""
    if not parts:
        return None
    first_part, last_part = min(parts, key=lambda part: part[0][0]), max(parts, key=lambda part: part[0][-1])
    values = np.concatenate([values for _, values in parts])
    first, last = float(first_part[1][0]), float(last_part[1][-1])
    return Course(len(values), first, last, float(values.min()), float(values.mean()), float(values.max()))


# Values


def may_state_parents(analysis: Analysis) -> bool:
    """Whether values of the analysis may state who created a process: in answers of the registry, or of a counter for it."""
    kinds = analysis.calls.column("response_buffer_kind")
    return bool((kinds == KIND_NUMBERS["winperf"]).any()) or any(
        _kind_of(counter_names(catalog, guid, number)) == _PARENT
        for _, catalog in analysis.catalogs
        for guid, entry in catalog.countersets.items()
        for number in entry.counters
    )


class _OfProcesses:
    """Selects the series whose counters describe a process."""

    def takes_counter(self, objects: Sequence[str], counters: Sequence[str]) -> bool:
        return _kind_of_series(objects, counters) is not None

    def __call__(self, series: Series) -> bool:
        return bool(series.instance)


def _kind_of_series(objects: Sequence[str], counters: Sequence[str]) -> int | None:
    """Returns which fact in the record of a process the counters of an object state, None for any others."""
    kind = _kind_of(counters)
    return kind if kind is not None and any(IMAGES.match(name) is not None for name in objects) else None


def _kind_of(counters: Sequence[str]) -> int | None:
    """Returns which fact about a process a counter states (times, memory, id), None for any other counter."""
    return next((_COUNTERS[name.casefold()] for name in counters if name.casefold() in _COUNTERS), None)


class ProcessValues:
    """Gathers the counter values of processes from batches of readings."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, int | None], _Values] = {}

    def take_readings(self, batch: Batch) -> None:
        """Takes for the records of processes what the readings of a batch state of them. The batch may have readings of
        anything."""
        for plan, rows in batch.plans:
            if len(rows):
                _take(self._found, batch, _Instances(plan), rows)

    def rows(self, keys: Iterable[_Key]) -> list[_Values]:
        """Returns what the readings state of each process."""
        nothing = _Values()
        return [self._found.get(key[:3], nothing) for key in keys]


class _Instances:
    """The process instances of a plan: the instance of each place, and which fact about it the place states."""

    def __init__(self, plan: ValuePlan) -> None:
        numbers: dict[tuple[str, str, str | None, int | None], int] = {}
        kind_of = cache(_kind_of_series)
        self.kinds = np.full(len(plan), -1, np.int64)
        self.numbers = np.zeros(len(plan), np.int64)
        self.names: list[tuple[str, str]] = []
        for place, (series, sample) in enumerate(zip(plan.series, plan.samples, strict=True)):
            kind = kind_of(series.objects, series.counters)
            if kind is None or not series.instance or sample is None or sample.instance is None:
                continue
            key = series.server.ip, series.objects[0], series.instance, sample.instance_id
            if key not in numbers:
                numbers[key] = len(numbers)
                self.names.append((series.server.ip, sample.instance))
            self.kinds[place], self.numbers[place] = kind, numbers[key]


def _take(
    found: dict[tuple[str, str, int | None], _Values], batch: Batch, instances: _Instances, rows: npt.NDArray[np.int64]
) -> None:
    """Takes for the records of processes their values from the rows of a batch that one plan describes."""
    from analyzer.questions.series.columns_of_readings import CODES

    rows = rows[instances.kinds[batch.place[rows]] >= 0]
    places = batch.place[rows]
    kinds, why = instances.kinds[places], batch.why[rows]
    is_id = (kinds == _PID) | (kinds == _PARENT)
    is_wanted = (why == 0) | (is_id & (why == CODES[Why.TYPE_UNKNOWN]))
    rows, places, is_id = rows[is_wanted], places[is_wanted], is_id[is_wanted]
    if not len(rows):
        return
    # An id is what it is, whatever type its counter has.
    shown = np.where(is_id, batch.raw[rows].astype(np.float64), batch.value[rows])
    shown[is_id & (shown > MAX_PROCESS_ID)] = np.nan
    which = batch.answer[rows]
    answers = distinct(which)
    at = np.searchsorted(answers, which)
    table = np.full((len(_COUNTERS), len(answers), len(instances.names)), np.nan)
    table[instances.kinds[places], at, instances.numbers[places]] = shown
    times = np.array([batch.answers[answer].time_ns for answer in answers.tolist()], np.int64)
    pids = np.where(np.isnan(table[_PID]), _NO_PID, table[_PID]).astype(np.int64)

    def process(number: int, pid: int) -> _Values:
        server, name = instances.names[number]
        return found.setdefault((server, *_named(name, pid if pid != _NO_PID else None)), _Values())

    # Nearly all are one process in all these answers.
    is_one = (pids == pids[0]).all(axis=0)
    ones = np.flatnonzero(is_one)
    _note_process_values(list(map(process, ones.tolist(), pids[0, ones].tolist())), table[:, :, ones], times)
    for number in np.flatnonzero(~is_one).tolist():
        for pid in dict.fromkeys(pids[:, number].tolist()):
            is_its = pids[:, number] == pid
            _note_process_values([process(number, pid)], table[:, is_its, number, None], times[is_its])


def _note_process_values(processes: Sequence[_Values], table: _Floats, times: npt.NDArray[np.int64]) -> None:
    """Notes the values that some answers have of processes, for their records. The `table` has them by fact, answer and process;
    NaN is none."""
    has = ~np.isnan(table)
    first, counts = has.argmax(axis=1), has.sum(axis=1)
    is_stated, is_whole = (counts > 0).tolist(), (counts == len(times)).tolist()
    for number, one in enumerate(processes):
        if one.parent is None and is_stated[_PARENT][number]:
            one.parent = int(table[_PARENT, first[_PARENT, number], number])
        if one.started_ns is None and is_stated[_ELAPSED][number]:
            at = first[_ELAPSED, number]
            elapsed = float(table[_ELAPSED, at, number])
            if elapsed < _LONGEST_S:
                one.started_ns = int(times[at]) - round(elapsed * NS_PER_S)
        for parts, kind in ((one.cpu, _CPU), (one.memory, _MEMORY)):
            if is_stated[kind][number]:
                values, its = table[kind, :, number], has[kind, :, number]
                parts.append((times, values.copy()) if is_whole[kind][number] else (times[its], values[its]))
