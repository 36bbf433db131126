"""Reads the list of triggers that a probe writes: which requirements it triggered, and by which steps of its script.

Input is JSON of format 1, as `pcq probe` writes it. The result has the steps by requirement. A requirement that was triggered, but
that the capture does not show, is then inconclusive, not `not-exercised`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from analyzer.core.errors import InputError
from analyzer.questions.audit.requirement_catalog import catalogue

FORMAT = 1
Triggered = Mapping[str, tuple[str, ...]]


def read_triggered(path: Path) -> Triggered:
    """Reads the list of triggers that a probe wrote; raises `InputError` if it is no such list."""
    try:
        document = json.loads(path.read_bytes())
        found = {name: tuple(map(str, steps)) for name, steps in document["triggered"].items()}
        if document["format"] != FORMAT:
            raise InputError(f"{path} is of format {document['format']}; this program knows {FORMAT}")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is no list of a probe", hint="pcq-analyzer probe --triggered writes one") from None
    unknown = sorted(set(found) - set(catalogue()))
    if unknown:
        raise InputError(f"{path} names the requirement {unknown[0]}, which there is not")
    return found


def why_not_shown(steps: tuple[str, ...]) -> str:
    """Says why a requirement that a probe triggered is inconclusive."""
    return f"the probe triggered it ({', '.join(steps)}), and the capture does not show it"
