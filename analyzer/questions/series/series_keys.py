"""Finds the series of readings: samples of one answer in, the series of each and what distinguishes instances of one name out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from analyzer.interfaces.buffers.winperf_layout import WinPerfObject
from analyzer.interfaces.pcq.perflib_samples import PerflibSample
from analyzer.interfaces.winperf.winperf_samples import WinperfSample
from analyzer.questions.series.formulas import AGGREGATES, unit_of
from analyzer.questions.series.series_and_points import Key, Series
from analyzer.results.calls.call import Call
from analyzer.results.calls.query_state import Identifier
from analyzer.results.reported_names.counter_name_tables import NameTable
from analyzer.results.reported_names.counterset_catalog import Catalog, Described
from analyzer.results.reported_names.server_names import NameSource

# What distinguishes instances of one name: the kind of proof, and the proof.
Identity = tuple[Any, ...]

# InstanceType of sets whose values the client puts together ([MS-PCQ] section 2.2.4.1): of all instances, of those it chose, of
# all that ever were.
_AGGREGATE, MULTI_AGGREGATE, AGGREGATE_HISTORY = 0x04, 0x06, 0x0C

# Title indices of the counters that identify instances, and their names (winperf.h reference, base set).
_ID_COUNTERS = {784: "ID Process", 804: "ID Thread"}


class SeriesPlace(Struct, frozen=True):
    """The place of a reading in series: its group, the name of its instance, and what distinguishes the instance from others with
    this name."""

    group: Key
    name: Key
    identity: Identity
    # The position among those of the name in this answer, for showing.
    ordinal: int = 0


def perflib_series(call: Call, handle: str, sample: PerflibSample, catalog: Catalog) -> Series:
    """Returns the series for the counter of a PerflibV2 sample in its block, still without an instance."""
    entry = catalog.counter(sample.counterset, sample.counter_id)
    info = entry.info if entry is not None and entry.info is not None else {}
    guid = sample.counterset
    return Series(
        0,
        "perflib-v2",
        call.server,
        call.client,
        handle,
        counterset_names(catalog, guid) if guid is not None else (f"block {sample.block}",),
        counter_names(catalog, guid, sample.counter_id),
        None,
        sample.counter_type,
        unit_of(sample.counter_type),
        info.get("default_scale", 0),
        info.get("attributes", 0),
        _added(call.query.blocks.get(sample.block) if call.query is not None else None, catalog),
    )


def perflib_instance(sample: PerflibSample, place: SeriesPlace, *, is_one: bool) -> str | None:
    """Returns the instance that distinguishes a series from others, as counter paths write it. `is_one` says that its counterset
    has only one."""
    instance = sample.instance or None
    if instance is None and sample.instance_id and not is_one:
        instance = f"id {sample.instance_id}"
    return _numbered(instance, place)


def perflib_places(
    samples: Iterable[PerflibSample], blocks: Mapping[int, Identifier], catalog: Catalog
) -> Iterator[SeriesPlace]:
    """Yields the series places of an answer's values. In one block, instances with one name and id differ by position alone."""
    keys = []
    # Names and identities that many places share exist once.
    names: dict[str, Key] = {}
    identities: dict[int | None, Identity] = {}
    groups: dict[int, Key] = {block: known.key for block, known in blocks.items()}
    for sample in samples:
        group = groups.setdefault(sample.block, ("block", sample.block))
        instance_id = None if catalog.is_single(sample.counterset) else sample.instance_id
        text = folded(sample.instance)
        keys.append((group, names.setdefault(text, (text,)), sample.counter_id, instance_id))
    counts = Counter(keys)
    seen: Counter[Key] = Counter()
    ordinals: Counter[Key] = Counter()
    for key in keys:
        group, name, counter_id, instance_id = key
        identity = identities.setdefault(instance_id, ("InstanceId", instance_id))
        if counts[key] > 1:
            identity = ("nth", seen[key], counts[key], instance_id)
            seen[key] += 1
        yield SeriesPlace(group, name, identity, ordinals[group, name, counter_id] if name[0] else 0)
        ordinals[group, name, counter_id] += 1


def _added(identifier: Identifier | None, catalog: Catalog) -> str | None:
    r"""The counter path of what a client added to its query, as a series keeps it: `\Processor Information(*)\*`."""
    if identifier is None:
        return None
    group = catalog.label(identifier.counterset) or identifier.counterset
    entry = catalog.counter(identifier.counterset, identifier.counter_id)
    counter = "*"
    if identifier.names_one_counter:
        counter = (entry.label if entry is not None else None) or f"counter {identifier.counter_id}"
    return f"\\{group}({identifier.instance})\\{counter}" if identifier.instance else f"\\{group}\\{counter}"


def folded(name: str | None) -> str:
    return (name or "").casefold()


def _all_names(described: Described | None) -> list[str]:
    """Returns all names that series have from a counter or counterset, the one for people first."""
    if described is None:
        return []
    names = (described.label, described.english_name, *(name.text for _, name in described.names))
    return [name for name in names if name]


def counter_names(catalog: Catalog, guid: str | None, counter_id: int | None) -> tuple[str, ...]:
    """Returns all names that series have from a counter, the one for people first."""
    names = _all_names(catalog.counter(guid, counter_id))
    if counter_id is None:
        return (*names, "unknown counter")
    return tuple(dict.fromkeys((*names, f"counter {counter_id}", str(counter_id))))


def counterset_names(catalog: Catalog, guid: str) -> tuple[str, ...]:
    """Returns all names that series have from a counterset, the one for people first."""
    return tuple(dict.fromkeys([*_all_names(catalog.countersets.get(guid)), guid, f"{{{guid}}}"]))


def pool_key(sample: PerflibSample, blocks: Mapping[int, Identifier], catalog: Catalog) -> Key | None:
    """Returns the key of the aggregate that a counter value goes into; None if the client does not aggregate this counterset."""
    entry = catalog.countersets.get(sample.counterset) if sample.counterset is not None else None
    counter = catalog.counter(sample.counterset, sample.counter_id)
    if entry is None or counter is None or counter.info is None or counter.info["aggregate_func"] not in AGGREGATES:
        return None
    if entry.instance_type in (_AGGREGATE, AGGREGATE_HISTORY):
        known = blocks.get(sample.block)
        if known is None or known.names_one_instance:
            return None  # These aggregate all instances, and this client asked for one
    elif entry.instance_type != MULTI_AGGREGATE:
        return None
    return sample.counterset, sample.counter_id


class WinperfRow(Struct, frozen=True):
    """The counter values of a winperf instance that are read, and their DefaultScales, by their positions among its values. `begin`
    is the place of its first value among all values of the answer; `item` is the position of its object."""

    item: int
    begin: int
    samples: Mapping[int, WinperfSample]
    scales: Mapping[int, int]

    @property
    def first(self) -> WinperfSample:
        return next(iter(self.samples.values()))


def winperf_places(rows: Sequence[WinperfRow], ids: Mapping[int, int | str | None] | None = None) -> list[SeriesPlace]:
    """Returns the place in series of each instance in a winperf answer: group, name, and what tells it apart. `ids` has the values
    that distinguish instances, by their place among all values, if those of the samples are not real (`value_plans`)."""
    names: list[Key] = []
    identities: list[Identity] = []
    for row in rows:
        first = row.first
        name: Key = (first.object_index, first.parent_index, folded(first.parent_instance), folded(first.instance))
        if not first.instance:
            name = (*name, first.instance_id)
        names.append(name)
        found = {
            kind: ids.get(row.begin + nth) if ids is not None else sample.raw
            for nth, sample in row.samples.items()
            if (kind := _id_kind(sample.counter_index, sample.counter_name, sample.name_source)) is not None
        }
        identities.append(_winperf_identity(first, found))
    same = Counter(zip(names, identities, strict=True))
    seen: Counter[Key] = Counter()
    ordinals: Counter[Key] = Counter()
    places: list[SeriesPlace] = []
    for row, name, identity in zip(rows, names, identities, strict=True):
        count = same[name, identity]
        if count > 1:
            position = seen[name, identity]
            seen[name, identity] += 1
            identity = ("nth", position, count, *identity)
        places.append(SeriesPlace(("object", row.first.object_index), name, identity, ordinals[name]))
        ordinals[name] += 1
    return places


def id_places(objects: Iterable[tuple[WinPerfObject, bool]], table: NameTable) -> Iterator[int]:
    """Yields the places, among all counter values, of those by which series of winperf instances with one name are told apart, as
    far as they are read."""
    at = 0
    for item, is_read in objects:
        present = [definition.name_index for definition in item.definitions if definition.size]
        ids = [nth for nth, index in enumerate(present) if is_id(index, table)] if is_read else []
        for instance in item.instances:
            if instance.unique_id is None:
                yield from (at + nth for nth in ids)
            at += len(present)


def _winperf_identity(first: WinperfSample, found: Mapping[str, int | str | None]) -> Identity:
    """Returns what distinguishes a winperf instance from others of its name: the UniqueID, else the ids in its counters."""
    if first.instance_id is not None:
        return "UniqueID", first.instance_id
    ids = {kind: value for kind, value in found.items() if isinstance(value, int)}
    kinds = sorted(ids)
    return (" and ".join(kinds), *(ids[kind] for kind in kinds)) if ids else ("name",)


def is_id(index: int, table: NameTable) -> bool:
    """Whether a counter distinguishes instances (`ID Process`, `ID Thread`)."""
    name = table.name(index)
    return _id_kind(index, *((name.text, name.source) if name is not None else (None, None))) is not None


def _id_kind(index: int, name: str | None, source: NameSource | None) -> str | None:
    """Returns `ID Process` or `ID Thread` if a winperf counter is one of these, which tell series apart, else None."""
    if source == "capture":
        return name if name in _ID_COUNTERS.values() else None
    return _ID_COUNTERS.get(index)


def winperf_series(
    call: Call, handle: str, sample: WinperfSample, place: SeriesPlace, scale: int, names: NameTable
) -> Series:
    instance = sample.instance or (str(sample.instance_id) if sample.instance_id is not None else None)
    if instance is not None and sample.parent_instance is not None:
        instance = f"{sample.parent_instance}/{instance}"
    return Series(
        0,
        "winperf",
        call.server,
        call.client,
        handle,
        index_names(names, "object", sample.object_index),
        index_names(names, "counter", sample.counter_index),
        _numbered(instance, place),
        sample.counter_type,
        unit_of(sample.counter_type),
        scale,
        0,
    )


def index_names(table: NameTable, noun: str, index: int) -> tuple[str, ...]:
    """Returns all names that series have from a winperf object or counter, the one for people first."""
    best = table.name(index)
    names = [best.text] if best is not None else []
    names += [reported[index] for reported in table.reported.values() if index in reported]
    return tuple(dict.fromkeys((*names, f"{noun} {index}", str(index))))


def _numbered(instance: str | None, place: SeriesPlace) -> str | None:
    """Returns the name of an instance as counter paths write it: the second with a name is `#1`."""
    return f"{instance}#{place.ordinal}" if instance is not None and place.ordinal else instance
