"""The view of `calibrate`: what tools/windows/collect.py stored on a Windows machine, as text."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.results.records.calibration import CalibrationSummaryRecord, DisplayedRecord, StoredBufferRecord
from analyzer.screens.viewmodel.pdh_comparison import StoredCalibration
from analyzer.screens.views.text_report import safe, styled


class Calibration(StoredCalibration, frozen=True):
    """The view of `pcq calibrate`."""

    def lines(self, width: int | None) -> Iterator[str]:
        for record in self.records():
            match record:
                case StoredBufferRecord():
                    text = f"{record.file or '-':<9} {record.call}, status {record.status:#x}, {record.size} bytes"
                    yield safe(text) if record.problem is None else styled("red", f"{text}: {record.problem}")
                case DisplayedRecord():
                    style = {"agrees": "green", "differs": "red"}.get(record.verdict, "dim")
                    why = f" ({record.why_null})" if record.why_null else ""
                    yield styled(style, f"{record.path}: {record.value}{why}, PDH {record.pdh}: {record.verdict}")
                case CalibrationSummaryRecord():
                    yield ""
                    for id, readings in record.decided.items():
                        yield safe(f"{id}: {'; '.join(readings)}")
                    for failure in record.failures:
                        yield styled("yellow", f"{failure['call']}: {failure['why']}")
                    yield (
                        f"[bold]{record.buffers} buffers, {record.damaged} damaged; {record.compared} displayed "
                        f"values compared, {record.differ} differ[/]"
                    )
