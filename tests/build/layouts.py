"""Layouts of performance data that a process knows again, and how to begin without any."""

from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA, PerfDataReader
from analyzer.interfaces.buffers.winperf_layout import WINPERF, WinperfReader


def forget_layouts() -> None:
    """From now on this process knows no layout, as one that begins."""
    PERF_DATA._known, WINPERF._known = PerfDataReader()._known, WinperfReader()._known
