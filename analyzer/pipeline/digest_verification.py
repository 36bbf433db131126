"""Verifies a result by the digests that `--hash` wrote into it: is it unchanged, and from which captures was it made?
A case file has digests of all that it holds and of its captures. So it can be the result or stand for captures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.parsers import expat

import msgspec
from msgspec import Struct

from analyzer.capture.file_digest import digest_of
from analyzer.capture.first_bytes import is_case, refuse_special
from analyzer.core.errors import InputError
from analyzer.core.output.output_digest import DIGITS, digest_within
from analyzer.pipeline.case import check_case
from analyzer.results.analysis import EVIDENCE_KEY, TEXT_MARK, TEXT_RESULT, FileDigest

# A record of some thousand files is far below this. It stands at the beginning of every form but text, at whose end it stands.
_HEAD_BYTES = 16 << 20
_TAIL_BYTES = 4 << 20
# Where the page holds its metadata; no `<` stands in it.
_PAGE_HEAD = re.compile(rb'<script type="application/json" id="head">([^<]*)</script>')
_PIECE, _FIRST_ELEMENTS = 1 << 16, 16
_TEXT_INPUT = re.compile(r"  (\w+)  sha256 ([0-9a-f]{64})  (\d+) bytes  (.*)")
_DIGEST = re.compile(f"[0-9a-f]{{{DIGITS}}}")


class Verified(Struct, frozen=True):
    """The outcome of a verification. `unchanged`: the result is as written. `matched` are pairs of a given file and an input with
    equal digests, `strangers` files that are no input, `missing` inputs without a file."""

    unchanged: bool
    matched: tuple[tuple[FileDigest, FileDigest], ...]
    strangers: tuple[FileDigest, ...]
    missing: tuple[FileDigest, ...]

    @property
    def belongs(self) -> bool:
        return self.unchanged and bool(self.matched) and not self.strangers and not self.missing


def verify(result: Path, captures: Sequence[Path]) -> Verified:
    """Verifies a result, and compares captures by content, not by name. Raises `InputError` if the result has no digests or is a
    damaged case."""
    inputs, stated = stated_by(result)
    matched, strangers, missing = [], [], list(inputs)
    for digest in (digest for path in captures for digest in _digests_of(path)):
        same = [one for one in missing if (one.sha256, one.size) == (digest.sha256, digest.size)]
        if same:
            missing.remove(same[0])
            matched.append((digest, same[0]))
        else:
            strangers.append(digest)
    unchanged = stated is None or _is_what_was_written(result, stated)
    return Verified(unchanged, tuple(matched), tuple(strangers), tuple(missing))


def _is_what_was_written(result: Path, stated: str) -> bool:
    try:
        with result.open("rb") as file:
            return digest_within(file, stated) == stated
    except OSError as error:
        raise InputError(f"{result} cannot be read: {error.strerror or error}") from None


def _digests_of(path: Path) -> tuple[FileDigest, ...]:
    """Returns the digest of a capture file; of a case file, those of the captures that it was saved from."""
    if is_case(path):
        return stated_by(path)[0]
    refuse_special(path)
    digest = digest_of(path)
    if digest.sha256 is None:
        raise InputError(f"{path} cannot be read", hint="Check the path.")
    return (digest,)


def stated_by(result: Path) -> tuple[tuple[FileDigest, ...], str | None]:
    """Returns the digests of captures that a result states, and its own digest (None for a case, which was read whole)."""
    if is_case(result):
        if not (digests := check_case(result).digests):
            raise InputError(f"{result} does not say which captures it was saved of", hint="Save it again from them.")
        return digests, None
    try:
        with result.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            if len(head) == _HEAD_BYTES and file.seekable():
                file.seek(-min(_TAIL_BYTES, file.seek(0, 2)), 2)
            tail = file.read(_TAIL_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"{result} cannot be read: {getattr(error, 'strerror', error)}") from None
    try:
        record = _record(result, head, tail)
        found = [
            msgspec.convert({key: one[key] for key in ("name", "size", "sha256")}, FileDigest)
            for one in record["inputs"]
            if one["role"] == "capture"
        ]
        digest = record.get("result")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        found, digest = [], None
    if not found:
        raise InputError(
            f"{result} does not say which captures it was made from", hint="--hash writes that into results."
        )
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise InputError(
            f"{result} does not state its own digest", hint="Write it again with --hash into a file or a pipe."
        )
    return tuple(found), digest


def _record(result: Path, head: bytes, tail: bytes) -> dict[str, Any]:
    """Returns the evidence record (digests) in a result, by the format of the result. `tail` is its end, if longer than `head`."""
    found: Any
    if head.startswith(b"PAR1"):
        import polars as pl

        try:
            with result.open("rb") as file:  # polars takes no path that is not UTF-8
                return _checked(json.loads(pl.read_parquet_metadata(file)[EVIDENCE_KEY]))
        except pl.exceptions.PolarsError as error:
            raise ValueError(str(error)) from None
    if head.startswith(b"# {"):  # CSV
        return _checked(json.loads(head[2:].partition(b"\n")[0]))
    if head.startswith(b"[\n"):
        return _checked(json.loads(head[2:].partition(b"\n")[0].removesuffix(b",")))
    if head.startswith(b"<?xml"):
        return _checked(json.loads(_xml_property(head)))
    if head.startswith(b"<!DOCTYPE html>") and (page := _PAGE_HEAD.search(head)):
        return _checked(json.loads(page[1])["evidence"])
    if head.startswith(b"{"):
        found = json.loads(head.partition(b"\n")[0])
        if "runs" in found:  # SARIF
            found = found["runs"][0]["properties"]["evidence"]
        elif found.get("record") != "evidence":  # JSON Lines that were printed while the capture was read
            found = json.loads((tail or head).rstrip(b"\n").rpartition(b"\n")[2])
        return _checked(found)
    return _record_of_text((tail or head).decode("utf-8", "replace"))


def _xml_property(head: bytes) -> str:
    """Returns our digest property in an XML result. It is among the first elements; no element is kept."""
    found: list[str] = []
    seen = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal seen
        seen += 1
        if attributes.get("name") == EVIDENCE_KEY:
            found.append(attributes["value"])
        elif not found and seen > _FIRST_ELEMENTS:
            raise ValueError("the property is not where we write it")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    with suppress(expat.ExpatError):
        for at in range(0, len(head), _PIECE):
            parser.Parse(head[at : at + _PIECE])
            if found:
                break
    return found[0]


def _checked(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict) or found.get("record") != "evidence":
        raise ValueError("no evidence record")
    return found


def _record_of_text(text: str) -> dict[str, Any]:
    """Returns the evidence record at the end of a text result. Names of a capture come before it, and contain no line ends."""
    lines = text.splitlines()
    at = max(number for number, line in enumerate(lines) if line.startswith(TEXT_MARK))
    found = [match.groups() for line in lines[at + 1 :] if (match := _TEXT_INPUT.fullmatch(line))]
    inputs = [{"role": role, "sha256": sha256, "size": int(size), "name": name} for role, sha256, size, name in found]
    digests = [line.removeprefix(TEXT_RESULT) for line in lines[at + 1 :] if line.startswith(TEXT_RESULT)]
    return {"record": "evidence", "inputs": inputs, "result": digests[-1] if digests else None}
