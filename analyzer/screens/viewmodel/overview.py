"""Makes the overview that a display begins with: files and digests, hosts, identities, and what could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import UNSET

from analyzer.core.events import Problem
from analyzer.interfaces.call_contents.call_records import all_problems
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.questions.observations.observation_making import Scene
from analyzer.questions.observations.observations import observations
from analyzer.questions.processes.process_records import MARK_WORDS, ProcessTable, ProcessValues
from analyzer.questions.statistics.hosts import host_records
from analyzer.questions.statistics.summary import identity_stats, method_stats, totals_of
from analyzer.results.analysis import Analysis
from analyzer.results.records.display_records import (
    FileView,
    HostView,
    IdentityView,
    Overview,
    ProblemView,
    ProcessView,
)
from analyzer.results.security import who_words
from analyzer.screens.viewmodel.call_list import frame_label
from analyzer.screens.viewmodel.call_summary_words import parent_words
from analyzer.screens.viewmodel.observation_lines import account_lines
from analyzer.screens.viewmodel.session_words import session_words
from analyzer.screens.viewmodel.unread import alike, decrypted, incomplete, key_hint, nothing_decrypted

_FRAMES_SHOWN = 12
# As many processes as a display holds with ease. `processes` prints all.
MAX_PROCESSES = 5_000


def overview_of(analysis: Analysis, processes: ProcessValues | None = None) -> Overview:
    """Makes the overview of a capture: files, account, processes, hosts, identities, problems. `processes` has their values, if all
    readings were read before."""
    facts = analysis.capture
    digests = {digest.name: digest for digest in facts.digests}
    files = (
        FileView(name, digests[name].size, digests[name].sha256) if name in digests else FileView(name, None, None)
        for name in facts.files
    )
    scene = Scene(analysis, processes)
    table = scene.processes
    rows = _shown_rows(table)
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
        processes=tuple(_processes(table, rows)),
        processes_left_out=len(table) - len(rows) or UNSET,
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


def _shown_rows(table: ProcessTable) -> Sequence[int]:
    """Returns the rows of the processes that the overview shows. If there are too many, the odd ones come before others."""
    if len(table) <= MAX_PROCESSES:
        return range(len(table))
    odd = [row for row, marks in enumerate(table.oddities) if marks][:MAX_PROCESSES]
    others = (row for row, marks in enumerate(table.oddities) if not marks)
    return sorted([*odd, *islice(others, MAX_PROCESSES - len(odd))])


def _processes(table: ProcessTable, rows: Sequence[int]) -> Iterator[ProcessView]:
    """Yields these processes of machines for the overview. It makes no record of each: that would search all answers for values."""
    for row in rows:
        server, name, pid, _ = table.keys[row]
        first, last = table.first[row], table.last[row]
        yield ProcessView(
            server,
            name,
            pid,
            parent_words(table.parent_pids[row], table.parent_names[row]),
            tuple(f"{MARK_WORDS[mark.kind]}: {mark.reason}" for mark in table.oddities[row]),
            table.answers[row],
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


def _problem(group: list[Problem], analysis: Analysis) -> ProblemView:
    first = group[0]
    frames = tuple(frame_label(frame, analysis.capture) for frame in first.frames[:_FRAMES_SHOWN])
    left_out = len(first.frames) - len(frames)
    return ProblemView(first.kind, first.layer, first.text, len(group), frames, left_out)
