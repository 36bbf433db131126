"""Makes the overview that a display begins with: files and digests, hosts, identities, and what could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

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
    """Yields the processes of machines for the overview. It makes no record of each: that would search all answers for values."""
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


def _problem(group: list[Problem], analysis: Analysis) -> ProblemView:
    first = group[0]
    frames = tuple(frame_label(frame, analysis.capture) for frame in first.frames[:_FRAMES_SHOWN])
    left_out = len(first.frames) - len(frames)
    return ProblemView(first.kind, first.layer, first.text, len(group), frames, left_out)
