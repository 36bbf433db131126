"""Machines that were made to connect to a path, as PetitPotam does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.observation_making import Draft, Scene

_WENT_THERE = "ERROR_BAD_NETPATH"


@attack(
    "ATK08",
    techniques=("T1187",),
    sources=(
        "https://attack.mitre.org/techniques/T1187/",
        "https://github.com/topotam/PetitPotam",
        "https://github.com/corelight/CVE-2021-36942",
        "[MS-EFSR] section 3.1.4.2, [MS-RPRN] section 3.1.4.10.4",
    ),
)
def coerced_authentication(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """A machine was asked to open a path or to send notifications, which makes it authenticate elsewhere (PetitPotam, PrinterBug).

    Looks for: methods of the interface of the encrypting file system, and requests for notifications of a spooler. The error
    ERROR_BAD_NETPATH says that the machine went to the path.

    What else does the same: programs that work with encrypted files over the network, and clients that print. Both are rare
    between servers.

    How sure: likely where the answer is ERROR_BAD_NETPATH, else possible.

    Silent: where the calls are sealed and the interface is not known.
    """
    for one in drafts:
        if one.kind != "coerced-access":
            continue
        if _WENT_THERE in (one.reason or ""):
            why = "the machine went to the path that the caller named, and authenticates where it goes"
            yield Likeness((one,), "likely", why, "high")
        else:
            yield Likeness((one,), "possible", "machines are made to authenticate elsewhere so; few programs call this")
