"""`pcq limits`: what an analysis may hold and do, why, and what changes it."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzer.commands.options import Format
from analyzer.core.limits import ABOUT, DEFAULTS
from analyzer.core.output.gate import put
from analyzer.core.output.json import dumps
from analyzer.results.capture import LimitRecord

_FORMATS = (Format.text, Format.jsonl)


def limits(
    output_format: Annotated[Format, typer.Option("--format", help="text, or jsonl: one limit a line.")] = Format.text,
) -> None:
    """The limits of an analysis: default, what is counted, the reason, and the option that changes it."""
    if output_format not in _FORMATS:
        raise typer.BadParameter("limits are printed as text or jsonl", param_hint="--format")
    for name, about in ABOUT.items():
        default = getattr(DEFAULTS, name)
        if output_format is Format.jsonl:
            record = LimitRecord(
                name=name,
                default=default,
                unit=about.unit or None,
                what=about.what,
                reason=about.reason,
                option=about.option,
            )
            put(dumps(record).decode())
        else:
            put(f"{amount(default, about.unit):>10}  {about.what}", f"{'':12}{about.reason}")
            put(f"{'':12}{f'{about.option} changes it.' if about.option else 'It is fixed.'}", "")
    if output_format is Format.text:
        put("Reaching a limit is a problem of kind `limit` that names what was given up; what was read before stands.")


def amount(number: int, unit: str) -> str:
    """A number with its unit, for people."""
    return f"{number >> 20} MiB" if unit == "bytes" and number >= 1 << 20 else f"{number:,}"
