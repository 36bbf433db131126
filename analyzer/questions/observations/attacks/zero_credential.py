"""Machines that authenticate with a credential of zeros, as Zerologon does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.questions.observations.attack_patterns import Likeness, attack
from analyzer.questions.observations.observation_making import Draft, Scene

_LOOKED_AT = 16


@attack(
    "ATK07",
    techniques=("T1210",),
    sources=(
        "https://attack.mitre.org/techniques/T1210/",
        "https://nvd.nist.gov/vuln/detail/CVE-2020-1472",
        "https://www.secura.com/blog/zero-logon",
        "[MS-NRPC] sections 3.5.4.4.2 and 3.1.4.1",
    ),
)
def zero_credential(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """A client authenticated to Netlogon as a machine, with a credential of eight zeros (Zerologon, CVE-2020-1472).

    Looks for: requests of NetrServerAuthenticate2 and NetrServerAuthenticate3 whose ClientCredential is zero. The password of a
    machine that the same client sets afterwards counts with them.

    What else does the same: scanners that look whether a server is vulnerable. A credential is the result of a cipher: by chance
    it is zero once in 2 to the 64.

    How sure: likely.

    Silent: where the requests are sealed or not captured.
    """
    zero = [one for one in drafts if one.kind == "machine-account" and any(map(_is_zero, _requests(one, scene)))]
    for who in dict.fromkeys(one.who for one in zero):
        found = [one for one in drafts if one.kind == "machine-account" and one.who == who]
        let_in = any(one.outcome == "answered" for one in found)
        why = "the credential is eight zeros, which no cipher yields but by chance; scanners send it too"
        yield Likeness(
            found, "likely", f"{why}{'; the server let it in' if let_in else ''}", "high" if let_in else "medium"
        )


def _requests(one: Draft, scene: Scene) -> Iterator[bytes]:
    """Yields the request stubs of an observation's first calls that authenticate to Netlogon."""
    for number in one.calls[:_LOOKED_AT]:
        call = scene.analysis.calls[number - 1]
        if (call.method or "").startswith("NetrServerAuthenticate") and call.request is not None:
            yield call.request.stub_data


def _is_zero(stub: bytes) -> bool:
    """Tells whether the ClientCredential of a Netlogon request is zero: the eight bytes before the aligned NegotiateFlags at its
    end. With padding between them, only the last bytes of the credential are looked at."""
    return len(stub) > 12 and not any(stub[-12:-4])
