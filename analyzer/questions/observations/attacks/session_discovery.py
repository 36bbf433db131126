"""Sessions and users of a machine that were listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.observation_making import Draft, Scene


@attack(
    "ATK09",
    techniques=("T1049", "T1033"),
    sources=(
        "https://attack.mitre.org/techniques/T1049/",
        "https://attack.mitre.org/techniques/T1033/",
        "https://nmap.org/nsedoc/scripts/smb-enum-sessions.html",
        "[MS-SRVS] section 3.1.4.5, [MS-WKST] section 3.2.4.3",
    ),
)
def session_discovery(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """Who is connected to a machine or logged on to it was listed.

    Looks for: NetrSessionEnum (sessions of SMB), NetrWkstaUserEnum (users logged on), keys of HKEY_USERS (users whose registry is
    loaded), and counters of Terminal Services.

    What else does the same: administrators, file servers that display their sessions, monitors of terminal servers.

    How sure: possible.

    Silent: where the server refused it or no answer was captured.
    """
    for one in drafts:
        if one.kind in ("session-list", "logged-on-sessions") and one.outcome not in ("refused", "asked"):
            is_smb = any("NetrSessionEnum" in name for name in one.objects)
            why = "it shows where to find whom; administrators and monitors list sessions too"
            yield Likeness((one,), "possible", why, None, ("T1049",) if is_smb else ("T1033",))
