"""Makes observations of processes with odd names or parents, as answers about processes show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.core.printable_text import counted
from analyzer.questions.observations.observation_making import Draft, Scene, listed
from analyzer.questions.processes.odd_processes import MARK_WORDS
from analyzer.results.records.statistics import Who


def process_drafts(scene: Scene) -> Iterator[Draft]:
    """Yields an observation for each name of odd processes on a machine, with the caller who saw them first."""
    groups: dict[tuple[Who, str], list[int]] = {}
    table = scene.processes
    for row, oddities in enumerate(table.oddities):
        if oddities:
            groups.setdefault((table.seen_by[row][0], table.keys[row][1]), []).append(row)
    for (who, name), rows in groups.items():
        yield _observed(scene, who, name, rows)


def _observed(scene: Scene, who: Who, name: str, rows: Sequence[int]) -> Draft:
    table = scene.processes
    ids = listed(str(pid) for row in rows if (pid := table.keys[row][2]) is not None)
    creators = listed(parent for row in rows if (parent := table.parent_names[row]) is not None)
    known = ", ".join(filter(None, (f"pid {ids}" if ids else "", f"created by {creators}" if creators else "")))
    marks = listed(f"{MARK_WORDS[mark.kind]}: {mark.reason}" for row in rows for mark in table.oddities[row])
    answers = sum(table.answers[row] for row in rows)
    text = (
        f'{scene.caller(who)} saw the process "{name}"{f" ({known})" if known else ""} on {scene.host(who.server_ip)}'
    )
    text += f", in {counted(answers, 'answer')}: {marks}"
    numbers = [call for row in rows for call in (table.first[row].first_call, table.last[row].last_call)]
    made = scene.of_calls("medium", "odd-process", text, scene.command("processes"), numbers, who)
    # It counts all answers, but names only the first and the last call.
    made.objects, made.outcome, made.count, made.stub_bytes = (name,), "answered", answers, None
    made.detail = f"({known})" if known else None
    made.whys, made.confidence = (marks, "most processes with such a name or parent are harmless"), "possible"
    return made
