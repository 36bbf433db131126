"""Registry hives with secrets that were saved to a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.observation_making import Draft, Scene

_HIVE = re.compile(r"HKLM\\(SAM|SECURITY|SYSTEM)\Z", re.I)
_TECHNIQUES = {"SAM": "T1003.002", "SECURITY": "T1003.004", "SYSTEM": "T1003.002"}


@attack(
    "ATK11",
    techniques=("T1003.002", "T1003.004"),
    sources=(
        "https://attack.mitre.org/techniques/T1003/002/",
        "https://attack.mitre.org/techniques/T1003/004/",
        "[MS-RRP] section 3.1.5.20",
    ),
)
def credential_hives(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    r"""A hive of the registry that holds secrets was saved to a file from afar, as secretsdump does.

    Looks for: BaseRegSaveKey and BaseRegSaveKeyEx of HKLM\SAM, HKLM\SECURITY and HKLM\SYSTEM.

    What else does the same: backups of the registry. They save other hives too, and seldom over the remote registry.

    How sure: likely for SAM and SECURITY, possible for SYSTEM.

    Silent: where the server refused it, the call is sealed, or the opening of the key was not captured.
    """
    for one in drafts:
        if one.kind != "registry-save" or one.outcome == "refused":
            continue
        for hive in filter(None, map(_HIVE.match, one.objects)):
            name = hive[1].upper()
            why = f"{name} holds secrets of the machine, or what opens them; backups save hives too"
            yield Likeness((one,), "possible" if name == "SYSTEM" else "likely", why, "high", (_TECHNIQUES[name],))
