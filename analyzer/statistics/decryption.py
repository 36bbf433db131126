"""What each identity's key opened: SMB sessions and RPC security contexts, counted by account."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.model.analysis import Analysis
from analyzer.model.security import AuthLevel, Door


class Opening(Struct, frozen=True):
    """The keys given opened `opened` of the `tried` `doors` of an account (`SMB sessions`, `RPC security contexts`)."""

    account: str
    doors: str
    opened: int
    tried: int


def openings(analysis: Analysis) -> Iterator[Opening]:
    """One an account and kind of door; nothing where no secret was given."""
    if not analysis.secrets_given:
        return
    sessions: dict[str, list[Door]] = {}
    for session in analysis.sessions:
        # A null session and a refused one have nothing to open.
        if session.identity.account is not None and not session.identity.is_anonymous and session.refused is None:
            sessions.setdefault(session.identity.account, []).append(session.door)
    contexts: dict[str, dict[tuple[int, str], Door]] = {}
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
            if of_account.get(key) is not Door.OPEN:
                of_account[key] = auth.door
    for account, doors in sorted(sessions.items()):
        yield Opening(account, "SMB sessions", doors.count(Door.OPEN), len(doors))
    for account, by_context in sorted(contexts.items()):
        opened = list(by_context.values()).count(Door.OPEN)
        yield Opening(account, "RPC security contexts", opened, len(by_context))
