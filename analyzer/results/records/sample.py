"""Records of counter values: raw ones as they were captured, and those that a performance monitor would have displayed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from analyzer.results.records.record_types import Endpoint, IsAltered, Kind, Record, Unsigned, Value, doc
from analyzer.results.reported_names.server_names import Name, NameSource, SampleNames

Source = Literal["perflib-v2", "winperf"]
IdSource = Literal["index", "replay"]
Aggregate = Literal["total", "average", "minimum", "maximum"]
Unit = Literal["", "/s", "%", "s"]
Flag = Literal["wrapped", "data-size"]


class Why(StrEnum):
    """Why there is no value."""

    FIRST_SAMPLE = "first-sample"
    NEGATIVE_DELTA = "negative-delta"
    RESET = "reset"
    ZERO_DENOMINATOR = "zero-denominator"
    NO_BASE = "no-base"
    NO_CLOCK = "no-clock"
    NO_MULTIPLIER = "no-multiplier"
    CLOCK_CHANGED = "clock-changed"
    CLOCK_BACK = "clock-back"
    DATA_SIZE = "data-size"
    TYPE_UNKNOWN = "type-unknown"
    NO_FORMULA = "no-formula"
    NOT_DISPLAYED = "not-displayed"
    TEXT = "text"
    # What only a series knows.
    ERROR_BLOCK = "error-block"
    INTERRUPTED = "interrupted"
    INSTANCE_CHANGED = "instance-changed"
    AMBIGUOUS_INSTANCE = "ambiguous-instance"
    NO_INSTANCES = "no-instances"


class NamesFacts(Value, frozen=True):
    """All names of one counter and of its group: a counterset, or an object of winperf."""

    group_english: Annotated[str | None, doc("English name of the group")]
    group_local: Annotated[str | None, doc("name of the group in another language")]
    counter_english: Annotated[str | None, doc("English name of the counter")]
    counter_local: Annotated[str | None, doc("name of the counter in another language")]
    language: Annotated[int | str | None, doc("which language that is: an LCID, or the language id of a name table")]

    @classmethod
    def from_names(cls, names: SampleNames) -> NamesFacts:
        """The names facts of a sample: English names, those of another language, and which one that is: of the counter, else of its
        group."""
        group, counter = names.group, names.counter
        return cls(
            _text(group.english),
            _text(group.local),
            _text(counter.english),
            _text(counter.local),
            counter.language if counter.language is not None else group.language,
        )


def _text(name: Name | None) -> str | None:
    return name.text if name is not None else None


class SampleKeys(Record, frozen=True, kw_only=True):
    """A raw value and what is known of it. Keys of the other `source` are left out."""

    call: Annotated[int | None, doc("number of the call; null in `decode`")]
    time_ns: Annotated[int | None, doc("first frame of the answer; null in `decode`", unit="ns since 1970 UTC")]
    source: Annotated[Source, doc("the interface that the value was read through")]
    server: Annotated[Endpoint | None, doc("who answered; null in `decode`")]
    handle: Annotated[str | None, doc("the handle: `q1` of PerflibV2, `k1` of the registry; null in `decode`")]
    counter_name: Annotated[
        str | None, doc("English name of the counter where it is known, else that of another language")
    ]
    counter_type: Annotated[
        int | None, doc("type of the counter", source="[MS-PCQ] section 2.2.4.2, winperf.h", kind=Kind.COUNTER_TYPE)
    ]
    instance: Annotated[str | None, doc("name of the instance")]
    instance_id: Annotated[int | None, doc("number of the instance; UniqueID of winperf")]
    raw: Annotated[
        Unsigned | str | None,
        doc("the raw value: unsigned integer, text of a text counter, null of an error block"),
    ]
    data_size: Annotated[int | None, doc("length of the value in the buffer", unit="bytes")]
    name_source: Annotated[NameSource | None, doc("where `counter_name` was taken from")]
    names: Annotated[NamesFacts | None, doc("all names that are known")]
    repeated: Annotated[
        bool | UnsetType,
        doc(
            "whether the same answer has the same counter of the same instance before: asked twice, and not to be summed"
        ),
    ] = UNSET
    altered: IsAltered = UNSET
    # PerflibV2 ([MS-PCQ]), and with winperf the clocks
    query: Annotated[str | UnsetType | None, doc("UUID of the query handle", kind=Kind.GUID)] = UNSET
    block: Annotated[int | UnsetType, doc("position of the counter's block in the answer, from 0")] = UNSET
    block_type: Annotated[int | UnsetType, doc("dwType of the block", source="[MS-PCQ] section 2.2.4.8")] = UNSET
    block_status: Annotated[
        int | UnsetType, doc("dwStatus of the block", source="[MS-PCQ] section 2.2.4.8", kind=Kind.STATUS)
    ] = UNSET
    block_status_name: Annotated[
        str | UnsetType | None, doc("name of `block_status`", source="[MS-ERREF] section 2.2")
    ] = UNSET
    counterset: Annotated[
        str | UnsetType | None, doc("GUID of the counterset, null where the capture does not show it", kind=Kind.GUID)
    ] = UNSET
    counterset_name: Annotated[str | UnsetType | None, doc("its name")] = UNSET
    counter_id: Annotated[
        int | UnsetType | None, doc("id of the counter in its counterset, null where the capture does not show it")
    ] = UNSET
    perf_time_stamp: Annotated[
        Unsigned | UnsetType | None, doc("PerfTimeStamp of the answer", source="[MS-PCQ] section 2.2.4.7")
    ] = UNSET
    perf_time_100ns: Annotated[
        int | UnsetType | None, doc("PerfTime100NSec of the answer or block", unit="100 ns since 1601")
    ] = UNSET
    perf_freq: Annotated[int | UnsetType | None, doc("PerfFreq of the answer or block", unit="ticks per second")] = (
        UNSET
    )
    id_source: Annotated[
        IdSource | UnsetType | None,
        doc(
            "what shows which counter the block is for: `index` (QueryCounterInfo), `replay` (the order in which counters were "
            "added); null where nothing does, and ids are those of the block itself"
        ),
    ] = UNSET
    # winperf
    object_index: Annotated[int | UnsetType, doc("ObjectNameTitleIndex", source="winperf.h, PERF_OBJECT_TYPE")] = UNSET
    object_name: Annotated[str | UnsetType | None, doc("name of the object")] = UNSET
    counter_index: Annotated[
        int | UnsetType, doc("CounterNameTitleIndex", source="winperf.h, PERF_COUNTER_DEFINITION")
    ] = UNSET
    parent_index: Annotated[
        int | UnsetType | None, doc("ParentObjectTitleIndex", source="winperf.h, PERF_INSTANCE_DEFINITION")
    ] = UNSET
    parent_instance: Annotated[str | UnsetType | None, doc("name of the parent instance")] = UNSET
    base_raw: Annotated[Unsigned | UnsetType | None, doc("raw value of the base counter that follows this one")] = UNSET
    perf_time: Annotated[int | UnsetType | None, doc("PerfTime of the block", source="winperf.h, PERF_DATA_BLOCK")] = (
        UNSET
    )
    object_perf_time: Annotated[
        int | UnsetType, doc("PerfTime of the object", source="winperf.h, PERF_OBJECT_TYPE")
    ] = UNSET
    object_perf_freq: Annotated[int | UnsetType, doc("PerfFreq of the object", unit="ticks per second")] = UNSET


class SampleRecord(SampleKeys, frozen=True, kw_only=True, tag="sample"):
    """One raw value of an answer to PerflibV2QueryCounterData, or of a PERF_DATA_BLOCK read from HKEY_PERFORMANCE_DATA."""


class CounterRecord(SampleKeys, frozen=True, kw_only=True, tag="counter"):
    """What a performance monitor would have displayed of a raw value, or of several instances together.

    docs/counter-types.md says how it is computed. An aggregate has no raw value, and leaves out the keys of both sources.
    """

    client: Annotated[Endpoint, doc("who watched")]
    series: Annotated[int, doc("number of the series, from 1 in the order of first readings")]
    path: Annotated[str, doc("counter path, `\\\\server\\object(instance)\\counter`")]
    added: Annotated[str | None, doc("PerflibV2: what the client added to its query to get this, as a path")]
    counter_type_name: Annotated[str | None, doc("name of the type as in its specification")]
    value: Annotated[
        int | float | None, doc("the displayed value, neither capped nor scaled; null where there is none")
    ]
    exact: Annotated[str | None, doc("the same as a fraction in lowest terms, `25056815/1000003`")]
    unit: Annotated[Unit | None, doc("`%`, `/s`, `s`, empty for a plain number; null where the type is not known")]
    scale: Annotated[int | None, doc("DefaultScale", source="[MS-PCQ] section 2.2.4.2")]
    scaled: Annotated[int | float | None, doc("`value` × 10^`scale`")]
    display: Annotated[str | None, doc("the value as a monitor writes it, without unit")]
    why_null: Annotated[
        Why | None, doc("why there is no value, in a word: `first-sample`, `negative-delta`, `no-base`, ...")
    ]
    reason: Annotated[str | None, doc("the same in a sentence, where that says more")]
    flags: Annotated[
        tuple[Flag, ...], doc("`wrapped`: a 32-bit value went round; `data-size`: not as wide as the type says")
    ]
    interval_ns: Annotated[int | None, doc("between the two answers of the pair, in the capture", unit="ns")]
    server_interval_ns: Annotated[int | None, doc("the same by the server's performance clock", unit="ns")]
    previous_call: Annotated[int | None, doc("number of the call whose answer has the other reading")]
    missed: Annotated[int, doc("answers in between that were lost or damaged, as far as the capture shows them")]
    aggregate: Annotated[Aggregate | None, doc("computed by this program from several instances")]
    aggregated: Annotated[int | None, doc("how many values it is of")]
    left_out: Annotated[int | None, doc("how many instances had no value")]


class BucketRecord(Record, frozen=True, kw_only=True, tag="bucket"):
    """The displayed values of one series in one interval."""

    time_ns: Annotated[int, doc("start of the interval, a multiple of its length", unit="ns since 1970 UTC")]
    interval_ns: Annotated[int, doc("length of the interval", unit="ns")]
    source: Annotated[Source, doc("the interface that the values were read through")]
    server: Annotated[Endpoint, doc("who answered")]
    client: Annotated[Endpoint, doc("who watched")]
    handle: Annotated[str | None, doc("the handle: `q1` of PerflibV2, `k1` of the registry")]
    series: Annotated[int, doc("number of the series, from 1 in the order of first readings")]
    path: Annotated[str, doc("counter path, `\\\\server\\object(instance)\\counter`")]
    counter_type: Annotated[int | None, doc("type of the counter")]
    counter_type_name: Annotated[str | None, doc("name of the type as in its specification")]
    first_call: Annotated[int, doc("number of the first call with a reading")]
    last_call: Annotated[int, doc("number of the last call with a reading")]
    readings: Annotated[int, doc("how many readings there are")]
    values: Annotated[int, doc("how many of them have a value")]
    repeated: Annotated[int, doc("how many of them are `repeated`: another series has the same")]
    altered: IsAltered = UNSET
    value: Annotated[float | None, doc("mean of the values")]
    last: Annotated[int | float | None, doc("the last value")]
    minimum: Annotated[int | float | None, doc("the smallest value")]
    maximum: Annotated[int | float | None, doc("the largest value")]
    unit: Annotated[Unit | None, doc("unit of the values")]
    scale: Annotated[int | None, doc("DefaultScale")]
    aggregate: Annotated[Aggregate | None, doc("computed by this program from several instances")]
