"""Registry values that are run when somebody logs on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.observation_making import Draft, Scene

_RUN = re.compile(r"\\(?:CurrentVersion\\(?:RunOnceEx|RunOnce|RunServices|Run)|Policies\\Explorer\\Run)\\", re.I)


@attack(
    "ATK05",
    techniques=("T1547.001",),
    sources=("https://attack.mitre.org/techniques/T1547/001/", "[MS-RRP] section 3.1.5.22"),
)
def run_key(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    r"""A value was written that Windows runs when somebody logs on, over the remote registry.

    Looks for: BaseRegSetValue of a value below Microsoft\Windows\CurrentVersion\Run, RunOnce, RunOnceEx, RunServices, or
    Policies\Explorer\Run, of the machine or of a user.

    What else does the same: installers and management tools that work over the remote registry, which is rare.

    How sure: likely where the server wrote it, possible where no answer was captured.

    Silent: where the server refused it, the write is sealed, or the opening of the key was not captured.
    """
    for one in drafts:
        if one.kind == "registry-write" and one.outcome != "refused" and any(map(_RUN.search, one.objects)):
            why = "what stands there runs at the next logon; installers that work from afar write there too"
            yield Likeness((one,), "likely" if one.outcome == "answered" else "possible", why, "high")
