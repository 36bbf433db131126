"""Makes observations of which program a client is like, by the marks that programs leave."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.core.printable_text import counted
from analyzer.interfaces.call_contents.client_programs import (
    ClientConnection,
    ProgramLikeness,
    client_programs,
    marks_words,
)
from analyzer.questions.observations.observation_making import Draft, Scene
from analyzer.results.records.statistics import Who


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
