"""Services that were made and started from afar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.observation_making import Draft, Scene


@attack(
    "ATK03",
    techniques=("T1543.003", "T1569.002"),
    sources=(
        "https://attack.mitre.org/techniques/T1569/002/",
        "https://attack.mitre.org/techniques/T1543/003/",
        "https://attack.mitre.org/software/S0029/",
        "[MS-SCMR] sections 3.1.4.12 and 3.1.4.19",
    ),
)
def remote_service(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """One client made a service on another machine, and started it, as psexec does.

    Looks for: a service that was created and started by the same client at the same server. A start that ended with an error
    counts: a program that is no service runs, and the service control manager gives up waiting for it. That the service was
    deleted by the same client makes it more sure.

    What else does the same: PsExec in the hands of administrators, tools that distribute software, agents of backup and inventory.

    How sure: likely where the service was deleted again, else possible. If the calls are sealed, the name is not known: possible.
    So it is where no answers were captured: what the client asked to start is of the name that it asked to create, or of no name.

    Silent: where a service was only created, or only started.
    """
    made = [one for one in drafts if one.kind == "service" and one.outcome != "refused"]
    for one in made:
        same = [
            other
            for other in drafts
            if other.who == one.who
            and (tuple(other.objects) == tuple(one.objects) or (one.outcome == "asked" and not other.objects))
            and (other.outcome == one.outcome or (other.outcome == "refused" and other.kind == "service-start"))
        ]
        started = [other for other in same if other.kind == "service-start"]
        deleted = [other for other in same if other.kind == "service-delete"]
        if not started:
            continue
        is_sure = bool(deleted) and bool(one.objects) and one.outcome != "asked"
        words = "created, started and deleted" if deleted else "created and started"
        yield Likeness(
            (one, *started, *deleted),
            "likely" if is_sure else "possible",
            f"a service was {words} by one client, as psexec does; so do tools that distribute software"
            if one.outcome != "asked"
            else f"one client asked for a service to be {words}, as psexec does; so do tools that distribute software",
        )
