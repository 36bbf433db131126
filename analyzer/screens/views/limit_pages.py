"""The view of `docs limits`: what an analysis may hold and do, why, and the option that changes it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.core.limits import ABOUT, DEFAULTS
from analyzer.results.records.capture_records import LimitRecord
from analyzer.screens.views.text_report import folded, safe


class LimitList(Struct, frozen=True):
    """The view of the limits."""

    def inputs(self) -> tuple[str, ...]:
        return ()

    def records(self) -> Iterator[LimitRecord]:
        for name, about in ABOUT.items():
            yield LimitRecord(
                name=name,
                default=getattr(DEFAULTS, name),
                unit=about.unit or None,
                what=about.what,
                reason=about.reason,
                option=about.option,
            )

    def lines(self, width: int | None) -> Iterator[str]:
        for one in self.records():
            changed = f"{one.option} changes it." if one.option else "It is fixed."
            for text in (
                f"{amount(one.default, one.unit):>10}  {one.what}",
                f"{'':12}{one.reason}",
                f"{'':12}{changed}",
            ):
                yield from (safe(line) for line in folded(text, 12, width))
            yield ""
        end = "Reaching a limit is a problem of kind `limit` that names what was given up; what was read before stands."
        yield from (safe(line) for line in folded(end, 0, width))


def amount(number: int, unit: str | None) -> str:
    """Writes the amount of a limit with its unit."""
    return f"{number >> 20} MiB" if unit == "bytes" and number >= 1 << 20 else f"{number:,}"
