"""A library of performance counters that was registered from afar."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.observation_making import Draft, Scene

_VALUE = re.compile(r"\\Services\\[^\\]+\\Performance\\(?:Library|Open|Collect|Close)\Z", re.I)
_READS = frozenset({"process-list", "logged-on-sessions", "network", "counters", "enumeration", "attempt"})


@attack(
    "ATK02",
    techniques=("T1112",),
    sources=(
        "https://attack.mitre.org/techniques/T1112/",
        "https://github.com/0xthirteen/PerfExec",
        "https://learn.microsoft.com/windows/win32/perfctrs/creating-the-applications-performance-key",
    ),
)
def performance_library(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    r"""A library was registered as one that supplies performance counters, over the remote registry.

    Looks for: values Library, Open, Collect or Close of a key Services\NAME\Performance that were written. Whoever reads
    HKEY_PERFORMANCE_DATA afterwards makes the machine load that library: reads of the same machine that come later make it more
    sure, and count with it.

    What else does the same: installing a product that has counters (lodctr), by a management tool that works from afar.

    How sure: likely where counters of the machine were asked for afterwards, else possible.

    Silent: where the write is sealed, and where the opening of the key was not captured.
    """
    for draft in drafts:
        if draft.kind != "registry-write" or not any(_VALUE.search(name) for name in draft.objects):
            continue
        later = [
            one
            for one in drafts
            if one.kind in _READS
            and one.who is not None
            and draft.who is not None
            and one.who.server_ip == draft.who.server_ip
            and (one.last_time_ns or 0) > (draft.first_time_ns or 0)
        ]
        why = "a library was registered that the next query of counters loads"
        if later:
            yield Likeness(
                (draft,), "likely", f"{why}, and such a query followed; installing counters does the same", "high"
            )
        else:
            yield Likeness((draft,), "possible", f"{why}; installing counters does the same", "high")
