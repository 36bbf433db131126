"""Tasks that were registered from afar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.observation_making import Draft, Scene


@attack(
    "ATK04",
    techniques=("T1053.005", "T1053.002"),
    sources=(
        "https://attack.mitre.org/techniques/T1053/005/",
        "https://attack.mitre.org/techniques/T1053/002/",
        "[MS-TSCH]",
    ),
)
def scheduled_task(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """A task was registered on another machine.

    Looks for: SchRpcRegisterTask and NetrJobAdd. A task that the same client starts and deletes makes it more sure: so commands
    are run from afar.

    What else does the same: administrators, and tools that distribute software or plan maintenance.

    How sure: likely where the same client started and deleted tasks too, else possible.

    Silent: where the server refused it.
    """
    for one in drafts:
        if one.kind != "task" or one.outcome == "refused":
            continue
        ends = [other for other in drafts if other.who == one.who and other.kind in ("task-start", "task-delete")]
        is_sure = {"task-start", "task-delete"} == {other.kind for other in ends}
        words = "registered, started and deleted" if is_sure else "registered"
        yield Likeness(
            (one, *ends) if is_sure else (one,),
            "likely" if is_sure else "possible",
            f"a task was {words} from another machine; administrators and tools that plan maintenance do so too",
            None,
            ("T1053.002",) if any(map(_is_at, one.objects)) else ("T1053.005",),
        )


def _is_at(method: str) -> bool:
    """Tells whether a scheduled task was registered through atsvc, the older interface that `at` uses."""
    return method.startswith("atsvc.")
