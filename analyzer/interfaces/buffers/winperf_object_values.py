"""Values of the objects of a PERF_DATA_BLOCK (winperf.h), with their counters and instances."""

from __future__ import annotations

from msgspec import Struct

# NumInstances of an object that never has instances; below that are those that carry metadata alone (winperf.h).
PERF_NO_INSTANCES, PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES = -1, -2, -3


class CounterDefinition(Struct, frozen=True):
    """A PERF_COUNTER_DEFINITION: a counter of an object, and where its value stands in each counter block."""

    name_index: int
    help_index: int
    default_scale: int
    detail_level: int
    counter_type: int
    size: int
    offset: int


class WinPerfInstance(Struct, frozen=True):
    """A winperf instance and its values, one for each definition of the object (None: the counter has no value).

    The single instance of an object without instances has neither name nor references. A `unique_id` of None (UniqueID -1) means
    that the name identifies the instance; `name` is None if it has none.
    """

    name: str | None
    unique_id: int | None
    parent_index: int | None
    parent_instance: int | None
    values: tuple[int | str | None, ...]


class WinPerfObject(Struct, frozen=True):
    """A PERF_OBJECT_TYPE with its definitions and instances.

    `num_instances` is -1 for an object that never has instances. It is -2 and -3 for metadata alone, of an object with and without
    instances (winperf.h, PERF_METADATA_MULTIPLE_INSTANCES and PERF_METADATA_NO_INSTANCES): no `instances` then.
    """

    name_index: int
    help_index: int
    detail_level: int
    default_counter: int
    num_instances: int
    code_page: int
    perf_time: int
    perf_freq: int
    definitions: tuple[CounterDefinition, ...]
    instances: tuple[WinPerfInstance, ...]

    @property
    def is_metadata(self) -> bool:
        """Whether this winperf object answers a query for metadata: it has only counter definitions."""
        return self.num_instances < PERF_NO_INSTANCES
