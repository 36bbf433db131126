"""Layouts of performance data that a process knows again, and how to begin without any."""

from __future__ import annotations

from analyzer.interfaces.buffers.regular import PERF_DATA, RegularReader
from analyzer.interfaces.buffers.regular_v1 import WINPERF, V1Reader


def forget_layouts() -> None:
    """From now on this process knows no layout, as one that begins."""
    PERF_DATA._known, WINPERF._known = RegularReader()._known, V1Reader()._known
