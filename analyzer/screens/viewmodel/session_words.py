"""Describes each SMB session in a sentence: who logged on to which server from where, how it is protected, which pipes it
opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analyzer.core.error_code_names import nt_status_name
from analyzer.results.connection import SmbSession


def session_words(session: SmbSession) -> str:
    return f"session {session.session_id:#x}: {_session_body(session, str(session.client), session.pipes)}"


def session_groups(sessions: Iterable[SmbSession]) -> list[list[SmbSession]]:
    """Groups SMB sessions to be described in one sentence: they differ only in id, pipes and client port."""
    groups: dict[str, list[SmbSession]] = {}
    for session in sessions:
        groups.setdefault(_session_body(session, session.client.ip, ()), []).append(session)
    return list(groups.values())


def sessions_words(group: Sequence[SmbSession]) -> str:
    """Describes a group of SMB sessions in one sentence."""
    first = group[0]
    if len(group) == 1:
        return session_words(first)
    pipes = tuple(dict.fromkeys(pipe for session in group for pipe in session.pipes))
    return f"{len(group):,} sessions: {_session_body(first, first.client.ip, pipes)}"


def _answer_words(session: SmbSession) -> str:
    """Says what the server answered to an SMB session's logon, unless the capture shows that it was granted."""
    if session.refused is not None:
        return f", refused: {nt_status_name(session.refused)}"
    if session.identity.granted is None and session.identity.claimed is not None:
        return ", the answer to the logon was not captured"
    return ""


def _session_body(session: SmbSession, client: str, pipes: Sequence[str]) -> str:
    identity = session.identity
    who = session.who
    if identity.workstation:
        who += f" on {identity.workstation}"
    server = identity.server_dns_name or identity.server_name
    parts = [f"SMB {session.dialect}" if session.dialect else "SMB"]
    if identity.mechanism:
        parts.append(identity.mechanism)
    if session.encrypted_messages:
        parts.append(
            f"{session.cipher or 'unknown cipher'}, {session.decrypted_messages} of {session.encrypted_messages} decrypted"
        )
    return (
        f"{who} at {client} → {session.server}"
        + (f" ({server})" if server else "")
        + _answer_words(session)
        + f", {', '.join(parts)}"
        + (f"; pipes: {', '.join(pipes)}" if pipes else "")
    )
