"""Logons that were refused so often that passwords may be guessed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.logon_observations import OF_PASSWORD
from analyzer.questions.observations.observation_making import Draft, Scene

_NAMELESS = ("NT AUTHORITY\\ANONYMOUS LOGON", "unknown user")
_SPRAYED, _GUESSED = 5, 10


@attack(
    "ATK10",
    techniques=("T1110.003", "T1110.001"),
    sources=("https://attack.mitre.org/techniques/T1110/003/", "https://attack.mitre.org/techniques/T1110/001/"),
)
def password_guessing(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """Logons of many accounts, or many logons of one, were refused because of the password.

    Looks for: five accounts or more of one client at one server (spraying), or ten refusals or more of fewer (guessing). Refusals
    are STATUS_LOGON_FAILURE, STATUS_WRONG_PASSWORD, STATUS_NO_SUCH_USER or STATUS_ACCOUNT_LOCKED_OUT.

    What else does the same: a terminal server or gateway through which many people log on, a service whose password has expired.

    How sure: likely for many accounts, possible for one.

    Silent: for logons without a name, and for other errors.
    """
    for one in drafts:
        if one.kind != "refused-logon" or not OF_PASSWORD.search(one.reason or ""):
            continue
        accounts = [name for name in one.objects if name not in _NAMELESS]
        if len(accounts) >= _SPRAYED:
            why = f"{len(accounts)} accounts of one client were refused; a gateway of many people does the same"
            yield Likeness((one,), "likely", why, "high", ("T1110.003",))
        elif accounts and one.count >= _GUESSED:
            why = "one client was refused many times; a service with an expired password does the same"
            yield Likeness((one,), "possible", why, None, ("T1110.001",))
