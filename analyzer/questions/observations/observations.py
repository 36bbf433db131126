"""Makes all observations of a capture and ranks them, the gravest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import UNSET

from analyzer.core.frame_ids import number_of
from analyzer.core.printable_text import counted
from analyzer.interfaces.call_contents.call_records import all_problems
from analyzer.questions.observations.admin_observations import deed_drafts
from analyzer.questions.observations.counter_observations import counter_drafts, process_drafts
from analyzer.questions.observations.file_observations import file_drafts
from analyzer.questions.observations.known_attacks import note_attacks
from analyzer.questions.observations.logon_observations import logon_drafts, program_drafts
from analyzer.questions.observations.observation_making import Draft, Scene, listed, who_in
from analyzer.results.records.observation import SEVERITIES, Observation, ObservationKind

# An observation names at most this many calls and frames.
_MOST_NUMBERS = 16
_LOSSES = ("gap", "truncated", "malformed", "limit")

_RUNS = "it makes the machine run something new; so do installers and tools that distribute software"
_PEOPLE = "it shows whom there is to be; domain members, file servers and tools of administrators ask too"
# Why a kind matters, and what else does the same.
_WHY: Mapping[ObservationKind, str] = {
    "process-list": "it shows what runs on the machine; every monitor of performance reads it too",
    "logged-on-sessions": "it shows who is logged on; monitors of terminal servers read it too",
    "network": "it shows connections and interfaces; monitors read it too",
    "attempt": "somebody asked and was shown nothing",
    "enumeration": "a monitor knows which counters it wants; a person who browses them asks for as many",
    "anonymous": "nobody had to say who he is",
    "guest": "the name that was given did not matter",
    "foreign-handle": "a client uses handles that it was given itself; parts of a capture that are missing look alike",
    "irregular-polling": "a monitor polls like clockwork; a person, or a busy machine, does not",
    "refused-logon": "many refusals are how passwords are guessed; an expired password of a service does the same",
    "refused-call": "somebody asked who may not",
    "encrypted": "what is in it is not known without keys",
    "altered": "somebody between client and server may have changed it; a fault of a device on the way does the same",
    "losses": "what was lost may hold anything",
    "service": _RUNS,
    "service-change": _RUNS,
    "service-start": "a service that was made before runs from now on; administrators start services too",
    "service-stop": "what protects a machine may be stopped; administrators and updates stop services too",
    "service-delete": "what was made is removed again; uninstallers do so too",
    "task": _RUNS,
    "task-start": "a task that was made before runs from now on; administrators start tasks too",
    "task-delete": "what was made is removed again; administrators delete tasks too",
    "account-change": "it changes who may do what; administrators do so every day",
    "account-list": _PEOPLE,
    "account-query": _PEOPLE,
    "session-list": _PEOPLE,
    "share-change": "it changes what others reach; administrators do so too",
    "replication": "it carries the secrets of a domain; domain controllers do so all day, others do not",
    "coerced-access": "it makes the machine connect to a path that the caller names; backup and printing do so too",
    "driver": "it makes the machine load code; so does adding a printer",
    "shutdown": "the machine ends or begins anew; administrators do so too",
    "log-cleared": "what was logged before is gone; administrators clear logs too",
    "program-written": "services and tasks run programs that were brought so; tools that distribute software do the same",
    "files-unread": "programs may have been brought so; the capture shows them",
    "registry-write": "it changes what is configured, or what starts; management tools do so too",
    "registry-delete": "it changes what is configured; management tools do so too",
    "client-program": "who calls by it shows beside it; programs of which no capture was at hand may leave the same marks",
    "registry-save": "a hive can be read elsewhere at leisure; backups save hives too",
}


def observations(scene: Scene, file: str) -> tuple[Observation, ...]:
    """Returns all observations of a capture with their ranks, the gravest first."""
    drafts = list(_drafts(scene))
    note_attacks(drafts, scene)
    listed_by_rank = sorted(drafts, key=lambda item: (SEVERITIES.index(item.severity), item.first_time_ns or 0))
    return tuple(_observation(item, rank, file, scene) for rank, item in enumerate(listed_by_rank, 1))


def _drafts(scene: Scene) -> Iterator[Draft]:
    yield from counter_drafts(scene)
    yield from process_drafts(scene)
    yield from logon_drafts(scene)
    yield from deed_drafts(scene)
    yield from file_drafts(scene)
    yield from program_drafts(scene)
    yield from _altered(scene)
    yield from _losses(scene)


def _altered(scene: Scene) -> Iterator[Draft]:
    """Yields an observation of the calls of each caller that others may have changed."""
    for who, places in scene.calls.by(who_in, scene.calls.altered).items():
        calls = f"{counted(len(places), 'call')} of {scene.caller(who)} at {scene.host(who.server_ip)}"
        text = f"{calls} may have been changed by others, because a signature does not fit: "
        text += "what they state, and what seems to be missing there, is in doubt"
        command = scene.command("timeline", filter="smb.signature_ok == false || auth.verified == false")
        yield scene.of_calls("medium", "altered", text, command, scene.calls.numbers[places].tolist(), who)


def _losses(scene: Scene) -> Iterator[Draft]:
    """Yields one observation of everything that could not be read, if there is any."""
    lost = [one for one in all_problems(scene.analysis, scene.damages) if one.kind in _LOSSES]
    if lost:
        kinds = Counter(one.kind for one in lost)
        # Losses count for the whole capture: lost bytes may hold calls that a selection asks for.
        where = "" if scene.analysis.part is None else " in the whole capture"
        counts = listed(f"{kind} {count:,}" for kind, count in kinds.most_common())
        yield Draft(
            severity="info",
            kind="losses",
            text=f"something could not be read{where}: {counts}",
            command=scene.command("timeline", "--tail", "1"),
            count=len(lost),
            objects=[f"{kind} {count:,}" for kind, count in kinds.most_common()],
            outcome="unreadable",
            frames=[frame for problem in lost for frame in problem.frames[:1]],
        )


def _observation(item: Draft, rank: int, file: str, scene: Scene) -> Observation:
    calls = tuple(item.calls[:_MOST_NUMBERS])
    frames, text, whys = item.frames, item.text, item.whys or (_WHY.get(item.kind, ""),)
    if item.altered and item.kind != "altered":
        text += f"; {_in_doubt(item)}"
        whys = (*whys, "others may have changed it")
    if frames is None:
        frames = [frame for number in calls for frame in scene.analysis.calls.frames(number)]
    return Observation(
        file=file,
        rank=rank,
        severity=item.severity,
        kind=item.kind,
        text=text,
        who=item.who,
        server_name=scene.names.get(item.who.server_ip) if item.who is not None else None,
        objects=tuple(item.objects[:_MOST_NUMBERS]),
        object_count=len(item.objects),
        detail=item.detail,
        outcome=item.outcome,
        reason=item.reason,
        count=item.count,
        call_numbers=calls,
        frames=tuple(sorted({number_of(frame) for frame in frames}))[:_MOST_NUMBERS],
        stub_bytes=item.stub_bytes,
        logons=tuple(item.logons[:_MOST_NUMBERS]),
        first_time_ns=item.first_time_ns,
        last_time_ns=item.last_time_ns,
        confidence="possible" if item.altered else item.confidence,
        why="; ".join(dict.fromkeys(filter(None, whys))) or None,
        techniques=item.techniques,
        attacks=item.attacks,
        command=item.command,
        altered=item.altered or UNSET,
    )


def _in_doubt(item: Draft) -> str:
    """Says in the text of one of all observations how many of its calls others may have changed."""
    if item.count == 1:
        return "its signature does not fit, so others may have changed it"
    have, them = ("has", "it") if item.altered == 1 else ("have", "them")
    return f"{item.altered:,} of these {item.count:,} {have} a signature that does not fit, so others may have changed {them}"
