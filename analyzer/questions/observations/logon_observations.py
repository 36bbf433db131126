"""Makes observations of logons and SMB sessions: who logged on, was refused or let in as guest or anonymous; what stayed sealed.

Sessions of which messages have a wrong signature have an observation, too, and so have the programs that logged on, as far as their
connections tell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from analyzer.core.printable_text import counted
from analyzer.interfaces.call_contents.client_programs import (
    ClientConnection,
    ProgramLikeness,
    client_programs,
    marks_words,
)
from analyzer.interfaces.call_contents.session_records import refusal_name
from analyzer.questions.observations.observation_making import Draft, Scene, listed
from analyzer.results.connection import Logon, SmbSession
from analyzer.results.records.observation import ObservationKind
from analyzer.results.records.statistics import Who

_MANY_REFUSED = 10
# A printed command selects by at most this many logons.
_MOST_NAMED = 8
# Statuses that refuse a password or an account. Other refusals say nothing of passwords.
OF_PASSWORD = re.compile(r"STATUS_(?:LOGON_FAILURE|WRONG_PASSWORD|NO_SUCH_USER|ACCOUNT_LOCKED_OUT)")
_BY = {"smb": "SMB", "rpc": "RPC"}


def logon_drafts(scene: Scene) -> Iterator[Draft]:
    """Yields the observations of logons and SMB sessions: who was let in or refused, what stayed encrypted."""
    yield from _let_in(scene, "guest", "SMB session of a guest")
    yield from _let_in(scene, "anonymous", "anonymous SMB session")
    yield from _refused(scene)
    yield from _logged_on(scene)
    yield from _encrypted(scene)
    yield from _altered(scene)


def _let_in(scene: Scene, kind: ObservationKind, noun: str) -> Iterator[Draft]:
    """Yields observations of guest or anonymous sessions at servers where these users made no performance call. Such calls have
    their own observations."""
    is_guest = kind == "guest"
    auths = [(one.server.ip, one.auth) for one in scene.calls.by(lambda context: context, scene.performance)]
    called = {server for server, auth in auths if (auth.guest if is_guest else auth.anonymous)}
    groups: dict[Who, list[SmbSession]] = {}
    for one in scene.analysis.shown_sessions:
        is_so = one.identity.is_guest if is_guest else one.identity.is_anonymous
        if one.refused is None and is_so and one.server.ip not in called:
            who = Who(one.identity.account, one.client.ip, one.server.ip, one.identity.claimed_otherwise)
            groups.setdefault(who, []).append(one)
    for who, sessions in groups.items():
        text = f"{counted(len(sessions), noun, noun.replace('session', 'sessions'))}, without a performance call"
        text += f", from {scene.host(who.client_ip)} at {scene.host(who.server_ip)}"
        text += f"; claimed to be {who.claimed_user}" if who.claimed_user else ""
        yield _of_sessions(Draft(severity="info", kind=kind, text=text, command="", who=who), scene, sessions)


def _of_sessions(draft: Draft, scene: Scene, sessions: Sequence[SmbSession | Logon]) -> Draft:
    """Completes an observation about logons, or about SMB sessions: its command, count, frames, times and logons."""
    # `sessions` lists those of SMB.
    of_rpc = [one.key for one in sessions if isinstance(one, Logon) and one.session is None]
    draft.command = scene.command("sessions")
    if len(of_rpc) == len(sessions):
        shown = " || ".join(f'auth.logon == "{key}"' for key in of_rpc[:_MOST_NAMED])
        draft.command = scene.command("timeline", filter=shown)
    draft.count = draft.count or len(sessions)
    draft.frames = [frame for one in sessions for frame in one.frames]
    draft.first_time_ns = min(one.first_time_ns for one in sessions)
    draft.last_time_ns = max(one.until_ns if isinstance(one, Logon) else one.last_time_ns for one in sessions)
    if isinstance(sessions[0], Logon):
        draft.logons = [one.key for one in sessions if isinstance(one, Logon)]
    return draft


def _refused(scene: Scene) -> Iterator[Draft]:
    groups: dict[tuple[str, str, str], list[Logon]] = {}
    for logon in scene.analysis.shown_logons:
        if logon.refused is not None:
            groups.setdefault((logon.client.ip, logon.server.ip, _status(logon)), []).append(logon)
    for (client, server, status), logons in groups.items():
        accounts = [account for account, _ in Counter(one.identity.who for one in logons).most_common()]
        made = Draft(
            severity="high" if len(logons) >= _MANY_REFUSED and OF_PASSWORD.search(status) else "medium",
            kind="refused-logon",
            text=f"{counted(len(logons), 'logon')} from {scene.host(client)} at {scene.host(server)} refused with "
            f"{status}: {listed(accounts)}",
            command="",
            who=Who(logons[0].identity.account, client, server),
            objects=accounts,
            outcome="refused",
            reason=status,
        )
        yield _of_sessions(made, scene, logons)


def _status(logon: Logon) -> str:
    """Returns the name of the status that refused a logon, for its observation."""
    assert logon.refused is not None
    name = refusal_name(logon, logon.refused) or hex(logon.refused)
    return name if logon.by == "smb" else f"{logon.refused_by} {name}"


def _logged_on(scene: Scene) -> Iterator[Draft]:
    """Yields observations of logons that were granted to an account, and of logons whose outcome was not captured."""
    groups: dict[tuple[Who, bool], list[Logon]] = {}
    for logon in scene.analysis.shown_logons:
        if logon.outcome in ("account", "unanswered", "undecided"):
            identity = logon.identity
            who = Who(identity.account, logon.client.ip, logon.server.ip, identity.claimed_otherwise)
            groups.setdefault((who, logon.is_granted), []).append(logon)
    for (who, is_granted), logons in groups.items():
        by = listed(f"{_BY[by]} {count:,}" for by, count in Counter(one.by for one in logons).most_common())
        verb = "logged on to" if is_granted else "tried to log on to"
        text = f"{scene.caller(who)} {verb} {scene.host(who.server_ip)}: {counted(len(logons), 'logon')} ({by})"
        if not is_granted:
            seen = listed(dict.fromkeys(one.seen for one in logons if one.seen is not None))
            text += f", the outcome is not known ({seen})" if seen else ", no outcome was captured"
        made = Draft(severity="info", kind="logon", text=text, command="", who=who)
        made.outcome = "answered" if is_granted else "asked"
        yield _of_sessions(made, scene, logons)


def _encrypted(scene: Scene) -> Iterator[Draft]:
    """Yields observations of SMB3 messages that no key decrypted."""
    groups: dict[Who, list[SmbSession]] = {}
    for one in scene.analysis.shown_sessions:
        if one.encrypted_messages > one.decrypted_messages:
            groups.setdefault(Who(one.identity.account, one.client.ip, one.server.ip), []).append(one)
    for who, closed in groups.items():
        count = sum(one.encrypted_messages - one.decrypted_messages for one in closed)
        reasons = listed(one.reason or one.decryption.value for one in closed)
        text = (
            f"{counted(count, 'SMB3 message')} in {counted(len(closed), 'session')} of {scene.caller(who)} at "
            f"{scene.host(who.server_ip)} stayed encrypted, whatever is in them: {reasons}"
        )
        made = Draft(severity="medium", kind="encrypted", text=text, command="", who=who, count=count)
        made.outcome, made.reason = "unreadable", reasons
        made = _of_sessions(made, scene, closed)
        # A session whose setup was not captured is shown by its messages.
        made.frames = made.frames or [frame for one in closed for frame in one.undecrypted_frames]
        yield made


def _altered(scene: Scene) -> Iterator[Draft]:
    """Yields an observation of each SMB session that has messages with a wrong signature. Of what they carried, calls may be
    missing."""
    for session in scene.analysis.shown_sessions:
        if not session.wrong_signatures:
            continue
        who = Who(session.identity.account, session.client.ip, session.server.ip)
        text = (
            f"{session.wrong_signature_words}, of {scene.caller(who)} at {scene.host(who.server_ip)}: others may have changed what "
            "they carried, so what seems to be missing there is in doubt"
        )
        made = Draft(severity="medium", kind="altered", text=text, command="", who=who)
        made.objects = (f"{session.session_id:#x}",)
        made.count = session.wrong_signatures
        made = _of_sessions(made, scene, [session])
        made.frames = session.wrong_signature_frames
        yield made


def program_drafts(scene: Scene) -> Iterator[Draft]:
    """Yields an observation for each account, client, server and likely client program, from connections with a logon."""
    analysis = scene.analysis
    named = {(one.client, one.server): one.identity for one in analysis.shown_sessions}
    named |= {(one.client, one.server): one.identity for one in analysis.shown_logons if one.session is None}
    groups: dict[tuple[Who, str], list[tuple[ClientConnection, ProgramLikeness]]] = {}
    for connection, likeness in client_programs(analysis).shown(analysis):
        identity = named.get((connection.client, connection.server))
        if identity is None:
            # It only asked what the server speaks; `hosts` has it.
            continue
        who = Who(identity.account, connection.client.ip, connection.server.ip, identity.claimed_otherwise)
        groups.setdefault((who, likeness.name), []).append((connection, likeness))
    for (who, name), found in groups.items():
        first, likeness = min(found, key=lambda one: one[0].rank)
        marks = marks_words(likeness.alike, likeness.marks)
        times = [one.time_ns for connection, _ in found for one in connection.seen]
        # It may have been refused, and called nothing.
        text = f"{scene.caller(who)} connected to {scene.host(who.server_ip)} by a program like {name} ({marks}: "
        text += f"{likeness.listed}), {counted(len(found), 'connection')}"
        yield Draft(
            severity="info",
            kind="client-program",
            text=text,
            command=scene.command("sessions" if any(one.sent_by_smb for one, _ in found) else "hosts"),
            who=who,
            objects=(name,),
            detail=f"({marks})",
            count=len(found),
            frames=first.frames(),
            first_time_ns=min(times),
            last_time_ns=max(times),
            confidence="likely" if len(likeness.alike) == likeness.marks else "possible",
        )
