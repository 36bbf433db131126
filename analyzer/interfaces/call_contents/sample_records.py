"""Makes sample records of raw counter values, from PerflibV2 data answers and from winperf blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyzer.core.error_code_names import win32_name
from analyzer.interfaces.pcq.perflib_samples import PerflibSample, perflib_samples
from analyzer.interfaces.winperf.winperf_samples import WinperfSample, winperf_samples
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.calls.call import Call
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.sample import NamesFacts, SampleRecord, Source


def sample_records(analysis: Analysis, calls: Selected | None = None) -> Iterator[SampleRecord]:
    """Yields a sample record for each value of the shown calls, or of `calls`, in the order of the calls and of their buffers."""
    shown = analysis.shown if calls is None else calls
    for number, call in shown.only(analysis.calls.with_values(shown.numbers)):
        yield from call_samples(number, call, analysis)


def call_samples(number: int, call: Call, analysis: Analysis) -> Iterator[SampleRecord]:
    """The sample records of one call's values."""
    if call.response is None:
        return
    server, time_ns = call.server, call.response.first_time_ns
    if call.is_perflib:
        for sample in perflib_samples(call, analysis.catalogs.catalog_of(server)):
            yield sample_record(sample, number, time_ns, server, call.handle)
    elif call.is_winreg:
        for value in winperf_samples(call, analysis.name_tables.table_of(server)):
            yield sample_record(value, number, time_ns, server, call.handle)


def sample_record(
    sample: PerflibSample | WinperfSample,
    call: int | None = None,
    time_ns: int | None = None,
    server: Endpoint | None = None,
    handle: str | None = None,
) -> SampleRecord:
    """Returns the sample record of a value. A value without a capture has no call, time, server and handle."""
    source: Source = "perflib-v2" if isinstance(sample, PerflibSample) else "winperf"
    return SampleRecord(call=call, time_ns=time_ns, source=source, server=server, handle=handle, **sample_keys(sample))


def sample_keys(sample: PerflibSample | WinperfSample) -> dict[str, Any]:
    """Returns the keys of a value's sample record, without those of the call."""
    out = {name: getattr(sample, name) for name in sample.__struct_fields__}
    names = sample.names
    out["names"] = NamesFacts.from_names(names) if names is not None else None
    if isinstance(sample, PerflibSample):
        out["block_status_name"] = win32_name(sample.block_status)
        out["name_source"] = names.source if names is not None else None
    return out
