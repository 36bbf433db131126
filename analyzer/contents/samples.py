"""Raw counter values as records, of both generations ([MS-PCQ] data answers and winperf blocks)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analyzer.contents.lines import Record, endpoint_json
from analyzer.core.win32 import win32_name
from analyzer.model.analysis import Analysis
from analyzer.model.call import Call
from analyzer.pcq.samples import PerflibSample, perflib_samples
from analyzer.winperf.samples import WinperfSample, winperf_samples


def sample_records(analysis: Analysis, wanted: Callable[[int, Call], bool] | None = None) -> Iterator[Record]:
    """One record a value, in the order of the calls and within a call in the order of its buffer.

    `wanted` may leave calls out before their buffers are read.
    """
    for number, call in enumerate(analysis.calls, 1):
        if wanted is None or wanted(number, call):
            yield from call_samples(number, call, analysis)


def call_samples(number: int, call: Call, analysis: Analysis) -> Iterator[Record]:
    """The records of one call's values."""
    if call.response is None:
        return
    common = common_json(number, call)
    server = call.server
    if call.is_perflib:
        for sample in perflib_samples(call, analysis.catalogs.of(server)):
            yield common | perflib_json(sample)
    elif call.is_winreg:
        for value in winperf_samples(call, analysis.name_tables.of(server)):
            yield common | winperf_json(value)


def common_json(number: int, call: Call) -> Record:
    """What the records of one call's values begin with."""
    return {
        "record": "sample",
        "call": number,
        "time_ns": call.response.first_time_ns if call.response is not None else None,
        "source": "winperf" if call.is_winreg else "perflib-v2",
        "server": endpoint_json(call.server),
    }


def perflib_json(sample: PerflibSample) -> Record:
    out = {name: getattr(sample, name) for name in sample.__struct_fields__}
    out["block_status_name"] = win32_name(sample.block_status)
    out["name_source"] = sample.names.source if sample.names is not None else None
    out["names"] = sample.names.to_json() if sample.names is not None else None
    return out


def winperf_json(sample: WinperfSample) -> Record:
    out = {name: getattr(sample, name) for name in sample.__struct_fields__}
    out["names"] = sample.names.to_json() if sample.names is not None else None
    return out
