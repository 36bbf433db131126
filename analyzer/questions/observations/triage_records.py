"""Makes the triage of a file: its observations, the processes it shows, and whether it has performance traffic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter

from msgspec import UNSET, Struct

from analyzer.core.frame_ids import number_of
from analyzer.core.printable_text import counted
from analyzer.questions.observations.observation_making import Scene, listed, who_in
from analyzer.questions.observations.observations import observations
from analyzer.results.analysis import Analysis
from analyzer.results.methods import perflib
from analyzer.results.next_command import next_command
from analyzer.results.records.observation import SEVERITIES, Observation
from analyzer.results.records.triage import Outcome, TriageFile, TriageHost, TriageProcess
from analyzer.results.security import Decryption

# A process names at most this many frames.
_MOST_NUMBERS = 16


class Triaged(Struct, frozen=True):
    """The triage of one file: its record, its observations by rank, and the processes by first sighting."""

    file: TriageFile
    findings: tuple[Observation, ...] = ()
    processes: tuple[TriageProcess, ...] = ()
    # The commands that show all observations, and all processes.
    details: str | None = None
    command: str | None = None


def unreadable(file: str, reason: str) -> Triaged:
    """Makes the triage of a file that could not be analysed."""
    return Triaged(_file(file, "unreadable", reason, None, ()))


def triage(analysis: Analysis, file: str, nothing: str | None) -> Triaged:
    """Makes the triage of one file from its analysis. `nothing` says why there is no performance call; None if there is one, or
    something that may hide one."""
    if nothing is None and analysis.part is not None and not (analysis.shown or analysis.shown_sessions):
        text = f"{file}: no call passes: {analysis.part.words}."
        if sealed := analysis.calls.states_of(range(1, len(analysis.calls) + 1))["sealed"]:
            text += f" {counted(sealed, 'call')} in it stayed sealed: a key may show more."
        return Triaged(_file(file, "nothing", text, Scene(analysis), ()))
    scene = Scene(analysis)
    ranked = observations(scene, file)
    outcome: Outcome = "performance traffic" if scene.certain.any() else "unclear"
    text = _sentence(scene)
    if nothing is not None:
        outcome, text = "nothing", nothing
    return Triaged(
        _file(file, outcome, text, scene, ranked),
        ranked,
        tuple(_processes(scene, file)),
        next_command(analysis, "triage", "--verbose"),
        next_command(analysis, "processes"),
    )


def _processes(scene: Scene, file: str) -> Iterator[TriageProcess]:
    # Many processes are seen first and last in the same two calls.
    frames_of = cache(scene.analysis.calls.frames)
    frames_between = cache(lambda first, last: _numbers(frames_of(first)[:1] + frames_of(last)[-1:]))
    table = scene.processes
    columns = table.parent_pids, table.parent_names, table.answers, table.altered, table.oddities, table.seen_by
    for (server, name, pid, _), first, last, parent_pid, parent_name, answers, altered, oddities, seen_by in zip(
        table.keys, table.first, table.last, *columns, strict=True
    ):
        yield TriageProcess(
            file=file,
            server_ip=server,
            server_name=table.machines.get(server),
            name=name,
            pid=pid,
            parent_pid=parent_pid,
            parent_name=parent_name,
            answers=answers,
            first_time_ns=first.first_time_ns,
            last_time_ns=last.last_time_ns,
            oddities=oddities,
            seen_by=seen_by,
            frames=frames_between(first.first_call, last.last_call),
            altered=altered or UNSET,
        )


def _file(file: str, outcome: Outcome, text: str, scene: Scene | None, ranked: Sequence[Observation]) -> TriageFile:
    facts = scene.analysis.capture if scene is not None else None
    who = list(scene.calls.by(who_in, scene.performance)) if scene is not None else []
    times = scene.calls.column("first_time")[scene.performance].tolist() if scene is not None else []
    severities = Counter(one.severity for one in ranked)
    return TriageFile(
        file=file,
        outcome=outcome,
        text=text,
        frames=facts.frames if facts is not None else None,
        first_time_ns=facts.first_time_ns if facts is not None else None,
        last_time_ns=facts.last_time_ns if facts is not None else None,
        calls=len(scene.calls) if scene is not None else 0,
        performance_calls=int(scene.certain.sum()) if scene is not None else 0,
        possible_calls=int((scene.performance & ~scene.certain).sum()) if scene is not None else 0,
        encrypted_calls=sum(one.count for one in ranked if one.kind == "encrypted" and one.call_numbers),
        first_performance_ns=times[0] if times else None,
        last_performance_ns=times[-1] if times else None,
        who=tuple(who),
        servers=tuple(TriageHost(ip, scene.names.get(ip)) for ip in dict.fromkeys(one.server_ip for one in who))
        if scene is not None
        else (),
        processes=len(scene.processes) if scene is not None else 0,
        decrypted_with=tuple(dict.fromkeys(_keys_wanted(scene))) if scene is not None else (),
        findings={severity: severities[severity] for severity in SEVERITIES if severities[severity]},
        redacted=(facts is not None and facts.redacted) or UNSET,
    )


def _sentence(scene: Scene) -> str:
    """Returns the sentence of a triage about how many performance calls there are."""
    analysis, count = scene.analysis, int(scene.certain.sum())
    possible = int(scene.performance.sum()) - count
    if not count and not possible:
        # A note says that nothing was lost.
        kinds = listed(Counter(problem.kind for problem in analysis.problems if problem.kind != "note"))
        if analysis.part is not None:
            unread = f"; what may hide some was not read: {kinds}" if kinds else ""
            return f"no performance call passes: {analysis.part.words}{unread}"
        return "no performance call was read" + (
            f", but something that may hide some was not: {kinds}" if kinds else ""
        )
    unread = "of the registry that could not be read and may be"
    others = counted(possible, f"call {unread} a performance call,", f"calls {unread} performance calls,")
    if not count:
        return f"{others} of {len(analysis.shown):,} DCERPC calls"
    perflib_calls = int((scene.certain & scene.calls.is_of(perflib.INTERFACE)).sum())
    parts = [f"{perflib_calls:,} of PerflibV2"] if perflib_calls else []
    if registry := count - perflib_calls:
        parts.append(f"{registry:,} of the registry")
    text = f"{counted(count, 'performance call')} ({' and '.join(parts)})"
    return f"{text}{f', and {others}' if possible else ''} of {len(analysis.shown):,} DCERPC calls"


def _keys_wanted(scene: Scene) -> Iterator[str]:
    """Yields the keys that would decrypt the performance calls and SMB sessions that no key decrypted, for triage."""
    for session in scene.analysis.shown_sessions:
        if session.encrypted_messages > session.decrypted_messages and session.decryption.lacks_key:
            yield _key_for(session.identity.mechanism, session.identity.claimed, session.identity.service)
        elif session.encrypted_messages > session.decrypted_messages and session.decryption is Decryption.NO_HANDSHAKE:
            yield f"the keys of SMB session {session.session_id:#x}, whose setup was not captured (--smb-session-key)"
    for auth in scene.calls.by(attrgetter("security"), scene.performance):
        if auth.decryption.lacks_key and auth.identity is not None:
            yield _key_for(auth.mechanism, auth.identity.account, auth.identity.service)


def _key_for(mechanism: str | None, account: str | None, service: str | None) -> str:
    if "krb5" in (mechanism or ""):
        return f"the keytab or password of the service {service or 'that was called'} (--keytab, --password)"
    return f"the password or NT hash of {account or 'the user'} (--secrets, --password, --nt-hash)"


def _numbers(frames: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({number_of(frame) for frame in frames}))[:_MOST_NUMBERS]
