"""What a display begins with: the files and their digests, hosts, identities, and what could not be read, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from analyzer.core.array_functions import distinct
from analyzer.core.events import Problem
from analyzer.core.ntstatus import nt_status_name
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.interfaces.call_contents.timeline_records import all_problems
from analyzer.questions.observations.observation_making import Scene
from analyzer.questions.observations.observations import observations
from analyzer.questions.processes.odd_processes import MARK_WORDS
from analyzer.questions.processes.process_records import ProcessTable
from analyzer.questions.statistics.decryption_counts import decrypted_by_account
from analyzer.questions.statistics.hosts import host_records
from analyzer.questions.statistics.summary import identity_stats, method_stats, totals_of
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import CallState
from analyzer.results.calls.call_row_columns import STATES
from analyzer.results.connection import SmbSession
from analyzer.results.records.display_records import (
    FileView,
    HostView,
    IdentityView,
    IncompleteView,
    Overview,
    ProblemView,
    ProcessView,
)
from analyzer.results.security import who_words
from analyzer.screens.viewmodel.call_list import frame_label
from analyzer.screens.viewmodel.call_summary_words import parent_words
from analyzer.screens.viewmodel.nothing_to_read import nothing_decrypted
from analyzer.screens.viewmodel.observation_lines import account_lines

_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")
_FRAMES_SHOWN = 12


def overview_of(analysis: Analysis) -> Overview:
    """The facts of a capture."""
    facts = analysis.capture
    digests = {digest.name: digest for digest in facts.digests}
    files = (
        FileView(name, digests[name].size, digests[name].sha256) if name in digests else FileView(name, None, None)
        for name in facts.files
    )
    scene = Scene(analysis)
    damages = scene.damages
    stats = method_stats(analysis, damages)
    total = totals_of(stats)
    methods = Counter({f"{one.interface}.{one.method}": one.calls for one in stats})
    return Overview(
        files=tuple(files),
        frames=facts.frames,
        bytes=facts.bytes,
        redacted=facts.redacted,
        first_time_ns=facts.first_time_ns,
        last_time_ns=facts.last_time_ns,
        calls=total.calls,
        failed=total.failed,
        unanswered=total.unanswered,
        unread=total.unread,
        account=account_lines(observations(scene, ", ".join(facts.files))),
        processes=tuple(_processes(scene.processes)),
        methods=dict(methods.most_common()),
        sessions=tuple(session_words(session) for session in analysis.sessions),
        hosts=_hosts(analysis),
        identities=_identities(analysis, damages),
        decrypted=decrypted(analysis),
        undecrypted=nothing_decrypted(analysis),
        hint=key_hint(analysis),
        incomplete=incomplete(analysis),
        problems=tuple(_problem(group, analysis) for group in alike(all_problems(analysis, damages))),
    )


def _processes(table: ProcessTable) -> Iterator[ProcessView]:
    """The processes of machines for the overview. For the record of one, values would be looked for in all answers."""
    columns = table.parent_pids, table.parent_names, table.oddities, table.answers
    for (server, name, pid, _), first, last, parent_pid, parent_name, oddities, answers in zip(
        table.keys, table.first, table.last, *columns, strict=True
    ):
        yield ProcessView(
            server,
            name,
            pid,
            parent_words(parent_pid, parent_name),
            tuple(f"{MARK_WORDS[mark.kind]}: {mark.reason}" for mark in oddities),
            answers,
            first.first_time_ns,
            last.last_time_ns,
            first.first_call,
        )


def _hosts(analysis: Analysis) -> tuple[HostView, ...]:
    return tuple(
        HostView(
            host.ip,
            host.roles,
            tuple((name.name, name.source) for name in host.names),
            host.users,
            host.os_versions,
        )
        for host in host_records(analysis)
    )


def _identities(analysis: Analysis, damages: Damages) -> tuple[IdentityView, ...]:
    return tuple(
        IdentityView(
            who_words(one.user, one.claimed_user, one.later_user) if one.user is not None else None,
            one.client_ip,
            one.server_ip,
            ", ".join(one.security),
            one.calls,
            one.failed,
            one.unread,
        )
        for one in identity_stats(analysis, damages)
    )


def incomplete(analysis: Analysis) -> tuple[IncompleteView, ...]:
    """Calls that are not complete, by state and reason."""
    calls = analysis.calls
    states, rare = calls.column("state"), calls.column("rare")
    # A reason is among what few calls have.
    reasons: Counter[tuple[CallState, str | None]] = Counter()
    for code in distinct(states).tolist():
        if (state := STATES[code]) != "complete":
            reasons[state, None] += int(((states == code) & (rare == 0)).sum())
    for at in np.flatnonzero((states != STATES.index("complete")) & (rare > 0)).tolist():
        reasons[calls[at].state, calls[at].reason] += 1
    ordered = sorted(reasons.items(), key=lambda item: (item[0][0], str(item[0][1])))
    return tuple(IncompleteView(state, reason, count) for (state, reason), count in ordered if count)


def alike(problems: Iterable[Problem]) -> list[list[Problem]]:
    """Problems whose sentence is the same but for its numbers, together."""
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.kind, problem.layer, _NUMBERS.sub("0", problem.text)), []).append(problem)
    return list(groups.values())


def _problem(group: list[Problem], analysis: Analysis) -> ProblemView:
    first = group[0]
    frames = tuple(frame_label(frame, analysis.capture) for frame in first.frames[:_FRAMES_SHOWN])
    left_out = len(first.frames) - len(frames)
    return ProblemView(first.kind, first.layer, first.text, len(group), frames, left_out)


def decrypted(analysis: Analysis) -> tuple[str, ...]:
    """What the keys of each account decrypted, a sentence an account."""
    by_account: dict[str, list[str]] = {}
    for one in decrypted_by_account(analysis):
        contexts = one.contexts if one.tried != 1 else one.contexts.removesuffix("s")
        by_account.setdefault(one.account, []).append(f"{one.decrypted} of {one.tried} {contexts}")
    return tuple(f"keys given for {account} decrypted {', '.join(words)}" for account, words in by_account.items())


def key_hint(analysis: Analysis) -> str | None:
    """What would decrypt the calls that no key opened."""
    undecrypted = [
        shared.security for shared in analysis.calls.contexts_by_last_call() if shared.security.decryption.lacks_key
    ]
    if not undecrypted:
        return None
    keys = (
        ["the password or NT hash (--password, --nt-hash)"]
        if any("ntlm" in auth.mechanism for auth in undecrypted)
        else []
    )
    if any("krb5" in auth.mechanism for auth in undecrypted):
        keys.append("the service's keytab or password (--keytab, --password)")
    return f"to decrypt what is sealed, give {' or '.join(keys)}, or --secrets with them" if keys else None


def session_words(session: SmbSession) -> str:
    return f"session {session.session_id:#x}: {_session_body(session, str(session.client), session.pipes)}"


def session_groups(sessions: Iterable[SmbSession]) -> list[list[SmbSession]]:
    """Sessions put together that differ by their ids, pipes and the client's port alone."""
    groups: dict[str, list[SmbSession]] = {}
    for session in sessions:
        groups.setdefault(_session_body(session, session.client.ip, ()), []).append(session)
    return list(groups.values())


def sessions_words(group: Sequence[SmbSession]) -> str:
    """Such sessions in one sentence."""
    first = group[0]
    if len(group) == 1:
        return session_words(first)
    pipes = tuple(dict.fromkeys(pipe for session in group for pipe in session.pipes))
    return f"{len(group):,} sessions: {_session_body(first, first.client.ip, pipes)}"


def _answer_words(session: SmbSession) -> str:
    """What became of the logon, where it was not granted as far as the capture shows."""
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
