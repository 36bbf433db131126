"""Whether a result belongs to captures: the digests that `--hash` wrote into it, in any form, beside those of the files at hand.

A case states the digests of its captures, and so stands on either side."""

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

from analyzer.capture.digest import digest_of
from analyzer.core.errors import InputError
from analyzer.model.evidence import EVIDENCE_KEY, TEXT_MARK, FileDigest
from analyzer.pipeline.case import is_case, manifest_of

# A record of some thousand files is far below this. It stands at the beginning of every form but text, at whose end it stands.
_HEAD_BYTES = 16 << 20
_TAIL_BYTES = 4 << 20
# Where the page holds its metadata; no `<` stands in it.
_PAGE_HEAD = re.compile(rb'<script type="application/json" id="head">([^<]*)</script>')
_PIECE, _FIRST_ELEMENTS = 1 << 16, 16
_TEXT_INPUT = re.compile(r"  (\w+)  sha256 ([0-9a-f]{64})  (\d+) bytes  (.*)")


class Verified(Struct, frozen=True):
    """The comparison: `matched` pairs of a file at hand and the input it is, files that are no input, inputs that are no file."""

    matched: tuple[tuple[FileDigest, FileDigest], ...]
    strangers: tuple[FileDigest, ...]
    missing: tuple[FileDigest, ...]

    @property
    def belongs(self) -> bool:
        return bool(self.matched) and not self.strangers and not self.missing


def verify(result: Path, captures: Sequence[Path]) -> Verified:
    """Compares by content, whatever the files are called now. Raises `InputError` where the result has no digests."""
    inputs = inputs_of(result)
    matched, strangers, missing = [], [], list(inputs)
    for digest in (digest for path in captures for digest in _digests_of(path)):
        same = [one for one in missing if (one.sha256, one.size) == (digest.sha256, digest.size)]
        if same:
            missing.remove(same[0])
            matched.append((digest, same[0]))
        else:
            strangers.append(digest)
    return Verified(tuple(matched), tuple(strangers), tuple(missing))


def _digests_of(path: Path) -> tuple[FileDigest, ...]:
    """The digest of a capture, or those of the captures that a case was saved of."""
    if is_case(path):
        return inputs_of(path)
    digest = digest_of(path)
    if digest.sha256 is None:
        raise InputError(f"{path} cannot be read", hint="Check the path.")
    return (digest,)


def inputs_of(result: Path) -> tuple[FileDigest, ...]:
    """The captures that a result was made from, as it says itself."""
    if is_case(result):
        if not (digests := manifest_of(result).digests):
            raise InputError(f"{result} does not say which captures it was saved of", hint="Save it again from them.")
        return digests
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
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        found = []
    if not found:
        raise InputError(
            f"{result} does not say which captures it was made from", hint="--hash writes that into results."
        )
    return tuple(found)


def _record(result: Path, head: bytes, tail: bytes) -> dict[str, Any]:
    """The evidence record in a result, by the form of the result. `tail` is the end of one that is longer than `head`."""
    found: Any
    if head.startswith(b"PAR1"):
        import polars as pl

        try:
            return _checked(json.loads(pl.read_parquet_metadata(result)[EVIDENCE_KEY]))
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
        return _checked(found)
    return _record_of_text((tail or head).decode("utf-8", "replace"))


def _xml_property(head: bytes) -> str:
    """The value of our property, which is among the first elements. None of them is kept."""
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
    """Text ends with the evidence; names of a capture stand before it, and have no line ends in them."""
    lines = text.splitlines()
    at = max(number for number, line in enumerate(lines) if line.startswith(TEXT_MARK))
    found = [match.groups() for line in lines[at + 1 :] if (match := _TEXT_INPUT.fullmatch(line))]
    inputs = [{"role": role, "sha256": sha256, "size": int(size), "name": name} for role, sha256, size, name in found]
    return {"record": "evidence", "inputs": inputs}
