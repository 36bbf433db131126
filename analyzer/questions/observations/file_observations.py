"""Makes observations of files over SMB: each program that was written to an administrative share; other files by what was done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from analyzer.core.printable_text import counted
from analyzer.questions.observations.observation_making import Draft, Scene, listed
from analyzer.results.calls.call import CallOutcome
from analyzer.results.connection import SmbSession
from analyzer.results.records.observation import ObservationKind
from analyzer.results.records.opened_file import FileAction, FileRecord
from analyzer.results.records.statistics import Who

# The first programs of one caller have an observation each; those beyond this number share one.
_MOST_PROGRAMS = 100
_DONE: Mapping[ObservationKind, str] = {
    "program-written": "wrote programs to administrative shares of",
    "file-read": "read files of",
    "file-open": "opened files or directories of",
}
# What was done to files that were changed, and how that is said.
_VERBS: Mapping[FileAction, str] = {
    "created": "created",
    "overwritten": "overwrote",
    "written": "wrote",
    "renamed": "renamed",
    "deleted": "deleted",
}
_Group = tuple[ObservationKind, Who, CallOutcome]


def file_drafts(scene: Scene) -> Iterator[Draft]:
    """Yields the observations of files over SMB. Each file is in one of them. If files were not read, one says so."""
    if scene.analysis.files is None:
        yield from _unread(scene)
        return
    sessions = {one.number: one for one in scene.analysis.shown_sessions}
    groups: dict[_Group, list[FileRecord]] = {}
    for one in scene.analysis.shown_files:
        groups.setdefault((_kind(one), _who(one, sessions), _outcome(one)), []).append(one)
    for group, found in groups.items():
        if group[0] == "program-written":
            by_path: dict[str, list[FileRecord]] = {}
            for one in found:
                by_path.setdefault(_path(one), []).append(one)
            programs = list(by_path.values())
            for same in programs[:_MOST_PROGRAMS]:
                yield _observed(scene, group, same, _content(same))
            found = [one for same in programs[_MOST_PROGRAMS:] for one in same]
        if found:
            yield _observed(scene, group, found, None)


def _unread(scene: Scene) -> Iterator[Draft]:
    """Yields the observation that nothing is known of the files of SMB sessions, if there are sessions."""
    analysis = scene.analysis
    if not (sessions := analysis.shown_sessions):
        return
    reason = "their names are not replaced" if analysis.capture.redacted else "a case has none"
    yield Draft(
        severity="info",
        kind="files-unread",
        text=f"what was done to files in {counted(len(sessions), 'SMB session')} is not told of: {reason}",
        command=scene.command("sessions"),
        objects=(reason,),
        outcome="unreadable",
        reason=reason,
        count=len(sessions),
        frames=[frame for session in sessions for frame in session.frames[:1]],
    )


def _kind(one: FileRecord) -> ObservationKind:
    if one.warnings:
        return "program-written"
    if _VERBS.keys() & one.actions:
        return "file-change"
    return "file-read" if one.read is not None else "file-open"


def _who(one: FileRecord, sessions: Mapping[int, SmbSession]) -> Who:
    session = sessions.get(one.session) if one.session is not None else None
    claimed = session.identity.claimed_otherwise if session is not None else None
    return Who(one.user, one.client.ip, one.server.ip, claimed)


def _outcome(one: FileRecord) -> CallOutcome:
    """Returns the outcome of opening a file, for its observation. A file with actions was opened, captured or not."""
    if one.actions:
        return "answered"
    return "asked" if one.status is None else "refused"


def _observed(scene: Scene, group: _Group, found: Sequence[FileRecord], content: str | None) -> Draft:
    kind, who, outcome = group
    paths = tuple(dict.fromkeys(map(_path, found)))
    caller, host = scene.caller(who), scene.host(who.server_ip)
    done = "tried to open files or directories of"
    if outcome == "answered":
        changed = "files or directories" if any(one.is_directory for one in found) else "files"
        done = f"{_words(_VERBS.values(), found)} {changed} of" if kind == "file-change" else _DONE[kind]
    text = f"{caller} {done} {host}: {listed(paths)}, in {counted(len(found), 'open')}"
    if content is not None:
        text = f"{caller} wrote the program {paths[0]} to an administrative share of {host}, {content}"
    reason = None
    if outcome != "answered":
        endings = (one.status_name or hex(one.status) for one in found if one.status is not None)
        reason = listed(endings) or "no answer was captured"
        text += f": {reason}"
    if is_doubted := any(one.session in scene.altered_sessions for one in found):
        text += "; messages of the session have a wrong signature, so others may have changed this"
    return Draft(
        severity="high" if kind == "program-written" else "info",
        kind=kind,
        text=text,
        command=scene.command("files"),
        who=who,
        objects=paths,
        detail=_words(_VERBS, found) if kind == "file-change" else content,
        outcome=outcome,
        reason=reason,
        count=len(found),
        frames=[frame for one in found for frame in one.frames],
        first_time_ns=min(one.first_time_ns for one in found),
        last_time_ns=max(one.last_time_ns for one in found),
        confidence="possible" if is_doubted else "certain",
    )


def _words(words: Iterable[str], found: Sequence[FileRecord]) -> str:
    """Joins the words for what was done to files, given one for each of `_VERBS`: `created, written and deleted`."""
    done = [word for action, word in zip(_VERBS, words, strict=True) if any(action in one.actions for one in found)]
    return " and ".join(filter(None, (", ".join(done[:-1]), done[-1])))


def _path(one: FileRecord) -> str:
    return f"{one.share or '?'}\\{one.name if one.name is not None else '?'}"


def _content(found: Sequence[FileRecord]) -> str | None:
    """Describes the size and digests of what was written to an observed file."""
    written = [one.written for one in found if one.written is not None]
    digests = listed(
        f"SHA-256 {'' if one.is_whole else 'of a part '}{one.sha256}" for one in written if one.sha256 is not None
    )
    return f"with {sum(one.bytes for one in written):,} bytes{f', {digests}' if digests else ''}"
