"""The requirements of [MS-PCQ] v13.0, and of the pages about PERF_DATA_BLOCK, that rules judge: `requirements.toml`, read once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

from msgspec import Struct


class Requirement(Struct, frozen=True):
    """One requirement. `level` is the text's own word (IMPLIED where it describes without one); `observable` says whether traffic
    can show it (`wire`, `partially`, `no`) and `why`; `passes` and `fails` what a capture has to show. `excludes` is another that
    contradicts this one: on the same bytes, at most one of the two is kept.
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
    excludes: str | None = None


@cache
def catalogue() -> Mapping[str, Requirement]:
    """Every requirement by id, in the order of the documents."""
    text = files("analyzer.audit").joinpath("requirements.toml").read_text(encoding="utf-8")
    entries = (Requirement(**entry) for entry in tomllib.loads(text)["requirement"])
    return MappingProxyType({requirement.id: requirement for requirement in entries})
