"""What each identity's key decrypted: SMB sessions and RPC security contexts, counted by account."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.model.analysis import Analysis
from analyzer.model.security import AuthLevel, Decryption


class Decrypted(Struct, frozen=True):
    """The keys given decrypted `decrypted` of the `tried` `contexts` of an account (`SMB sessions`, `RPC security contexts`)."""

    account: str
    contexts: str
    decrypted: int
    tried: int


def decrypted_by_account(analysis: Analysis) -> Iterator[Decrypted]:
    """One an account and kind of key; nothing where no secret was given."""
    if not analysis.secrets_given:
        return
    sessions: dict[str, list[Decryption]] = {}
    for session in analysis.sessions:
        # A null session and a refused one have nothing to open.
        if session.identity.account is not None and not session.identity.is_anonymous and session.refused is None:
            sessions.setdefault(session.identity.account, []).append(session.decryption)
    contexts: dict[str, dict[tuple[int, str], Decryption]] = {}
    for call in analysis.calls:
        auth = call.security
        identity = auth.identity
        if (
            auth.level >= AuthLevel.PKT
            and identity is not None
            and identity.account is not None
            and not identity.is_anonymous
        ):
            of_account = contexts.setdefault(identity.account, {})
            key = (call.channel, auth.mechanism)
            if of_account.get(key) is not Decryption.DECRYPTED:
                of_account[key] = auth.decryption
    for account, statuses in sorted(sessions.items()):
        yield Decrypted(account, "SMB sessions", statuses.count(Decryption.DECRYPTED), len(statuses))
    for account, by_context in sorted(contexts.items()):
        decrypted = list(by_context.values()).count(Decryption.DECRYPTED)
        yield Decrypted(account, "RPC security contexts", decrypted, len(by_context))
