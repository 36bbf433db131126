"""Reads the catalog of requirements that audit rules judge, from `requirements.json`.

`PCQ-*` are of [MS-PCQ] v13.0, `WP-*` of winperf.h (PERF_DATA_BLOCK and what it holds), `PL-*` of perflib.h (PerfQueryCounterData).

The list of triggers that `pcq probe` writes is read too (JSON of format 1): which requirements it triggered, and by which steps of
its script. The result has the steps by requirement. A requirement that was triggered, but
that the capture does not show, is then inconclusive, not `not-exercised`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from msgspec import Struct
from msgspec.json import decode

from analyzer.core.errors import InputError

# -------------------------------------------------------------------------------------------------- requirement catalog


class Requirement(Struct, frozen=True):
    """One requirement of a specification that audit rules judge.

    - `level` is the text's own word, or IMPLIED where the text describes without such a word.
    - `observable` says whether traffic can show it: `wire` (decoded directly), `partially` (only in some histories), or `no`.
      `why` gives the reason.
    - `trigger` is what has to happen before it can pass or fail. It is None where no traffic can show it.
    - `caused_by` is the side that can bring the trigger about (the server: by what it registers or runs into). `provoked` says that
      conforming peers do so only to provoke the other side.
    - `passes` and `fails` are what a capture has to show.
    - `excludes` is another requirement that contradicts this one: on the same bytes, at most one of the two is kept.
    """

    id: str
    section: str
    level: Literal["MUST", "SHOULD", "MAY", "IMPLIED"]
    actor: Literal["client", "server", "both"]
    statement: str
    observable: Literal["wire", "partially", "no"]
    why: str
    passes: str
    fails: str
    note: str | None = None
    trigger: str | None = None
    caused_by: Literal["client", "server"] | None = None
    provoked: bool = False
    excludes: str | None = None


@cache
def catalogue() -> Mapping[str, Requirement]:
    """Returns every requirement that audit rules judge, by id, in the order of the documents."""
    entries = decode(Path(__file__).with_name("requirements.json").read_bytes(), type=list[Requirement])
    return MappingProxyType({requirement.id: requirement for requirement in entries})


# ------------------------------------------------------------------------------------------------------- probe triggers


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
