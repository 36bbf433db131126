"""Changes of a directory that were asked for, as DCSync does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.observation_making import Draft, Scene


@attack(
    "ATK06",
    techniques=("T1003.006",),
    sources=("https://attack.mitre.org/techniques/T1003/006/", "[MS-DRSR] section 4.1.10"),
)
def directory_replication(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """Changes of the directory were asked for, which carry the secrets of a domain (DCSync).

    Looks for: IDL_DRSGetNCChanges. Domain controllers call it, with the account of their machine, whose name ends with `$`. So it
    is looked for who has another account, and for the account of a machine at a client that calls itself otherwise.

    What else does the same: products that synchronise directories, with an account of their own.

    How sure: likely.

    Silent: where nothing states the account, where it is that of the machine, and where the server refused it or no answer was
    captured.
    """
    for one in drafts:
        if one.kind != "replication" or one.outcome in ("refused", "asked"):
            continue
        if one.who is None or one.who.user is None:
            continue
        account = one.who.user.rpartition("\\")[2].partition("@")[0]
        machine = scene.names.get(one.who.client_ip, "").partition(".")[0]
        if not account.endswith("$"):
            why = f"{account} is the account of no machine, and asked as a domain controller does"
        elif machine and account[:-1].casefold() != machine.casefold():
            why = f"the account is that of the machine {account[:-1]}, and the client calls itself {machine}"
        else:
            continue
        yield Likeness((one,), "likely", f"{why}; products that synchronise directories ask too", "high")
