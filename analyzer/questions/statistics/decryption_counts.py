"""Counts how many SMB sessions and RPC security contexts the keys of each account decrypted."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.results.analysis import Analysis
from analyzer.results.security import AuthLevel, Decryption, Identity


class Decrypted(Struct, frozen=True):
    """How many `contexts` of an account (`SMB sessions`, `RPC security contexts`) the given keys decrypted, of those `tried`."""

    account: str
    contexts: str
    decrypted: int
    tried: int


def decrypted_by_account(analysis: Analysis) -> Iterator[Decrypted]:
    """Yields how many contexts keys decrypted, by account and kind; nothing for accounts without a key, or without secrets."""
    if not analysis.secrets_given:
        return
    sessions: dict[str, list[Decryption]] = {}
    for session in analysis.sessions:
        # Guests' sessions, null sessions and refused ones have nothing to open.
        if session.refused is None and (account := _account_with_key(session.identity)) is not None:
            sessions.setdefault(account, []).append(session.decryption)
    contexts: dict[str, dict[tuple[int, str], Decryption]] = {}
    for shared in analysis.calls.contexts_by_last_call():
        auth = shared.security
        by_rpc = auth.identity if shared.auth.user_from == "rpc" else None
        if auth.level >= AuthLevel.PKT and by_rpc is not None and (account := _account_with_key(by_rpc)) is not None:
            of_account = contexts.setdefault(account, {})
            key = (shared.channel, auth.mechanism)
            if of_account.get(key) is not Decryption.DECRYPTED:
                of_account[key] = auth.decryption
    by_kind = (
        ("SMB sessions", sessions),
        ("RPC security contexts", {account: list(found.values()) for account, found in contexts.items()}),
    )
    had_key = {
        account
        for _, found in by_kind
        for account, statuses in found.items()
        if any(status is not Decryption.NO_KEY for status in statuses)
    }
    for kind, found in by_kind:
        for account, statuses in sorted(found.items()):
            if account in had_key:
                yield Decrypted(account, kind, statuses.count(Decryption.DECRYPTED), len(statuses))


def _account_with_key(identity: Identity) -> str | None:
    """Returns the account whose password makes decryption keys; None for guests, null sessions and unknown accounts."""
    return None if identity.is_anonymous or identity.is_guest else identity.account
