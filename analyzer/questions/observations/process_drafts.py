"""Processes with odd names or parents, as answers about Process show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.core.printable import counted
from analyzer.questions.observations.scene import Draft, Scene, listed
from analyzer.questions.processes.process_marks import MARK_WORDS
from analyzer.results.process import ProcessRecord
from analyzer.results.statistics import Who


def process_drafts(scene: Scene) -> Iterator[Draft]:
    """An observation of the odd processes of each name on a machine, of whoever saw them first."""
    groups: dict[tuple[Who, str], list[ProcessRecord]] = {}
    table = scene.processes
    for row, oddities in enumerate(table.oddities):
        if oddities:
            one = table.record(row)
            groups.setdefault((one.seen_by[0], one.name), []).append(one)
    for (who, name), found in groups.items():
        yield _observed(scene, who, name, found)


def _observed(scene: Scene, who: Who, name: str, found: Sequence[ProcessRecord]) -> Draft:
    ids = listed(str(one.pid) for one in found if one.pid is not None)
    creators = listed(one.parent_name for one in found if one.parent_name is not None)
    known = ", ".join(filter(None, (f"pid {ids}" if ids else "", f"created by {creators}" if creators else "")))
    marks = listed(f"{MARK_WORDS[mark.kind]}: {mark.reason}" for one in found for mark in one.oddities)
    answers = sum(one.answers for one in found)
    text = (
        f'{scene.caller(who)} saw the process "{name}"{f" ({known})" if known else ""} on {scene.host(who.server_ip)}'
    )
    text += f", in {counted(answers, 'answer')}: {marks}"
    numbers = [number for one in found for number in (one.first_call, one.last_call)]
    made = scene.of_calls("medium", "odd-process", text, scene.command("processes"), numbers, who)
    # Of the answers that it counts, no more than the first and the last are named.
    made.objects, made.outcome, made.count, made.stub_bytes = (name,), "answered", answers, None
    made.detail = f"({known})" if known else None
    made.whys, made.confidence = (marks, "most processes with such a name or parent are harmless"), "possible"
    return made
