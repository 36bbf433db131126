"""Process lists that were read through performance counters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.observation_making import Draft, Scene


@attack(
    "ATK01",
    techniques=("T1057",),
    sources=("https://attack.mitre.org/techniques/T1057/", "https://nmap.org/nsedoc/scripts/smb-enum-processes.html"),
)
def process_discovery(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """A list of the processes of a machine was read through its performance counters.

    Looks for: answers that held values or instances of the object Process or of a counterset of processes.

    What else does the same: every monitor of performance, perfmon and typeperf of an administrator. Such a client comes back at
    regular intervals, and asks for other objects too. A tool of discovery asks once.

    How sure: possible.

    Silent: where the answers were refused, are sealed, or held nothing.
    """
    for draft in drafts:
        if draft.kind == "process-list":
            yield Likeness((draft,), "possible", "a process list is read to find what runs; every monitor reads it too")
