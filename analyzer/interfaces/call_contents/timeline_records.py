"""The records of `timeline` and `sessions`, made of the calls, problems and sessions of an analysis (docs/output.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import UNSET

from analyzer.core.byte_origins import FrameExtent
from analyzer.core.events import Problem
from analyzer.core.ntstatus import nt_status_name
from analyzer.interfaces.call_contents.call_records import CallRecords
from analyzer.interfaces.call_contents.client_programs import ClientPrograms
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import Call, Side, SideName
from analyzer.results.calls.call_table import Tally
from analyzer.results.connection import Logon, SmbSession
from analyzer.results.methods import scmr
from analyzer.results.records.capture_records import (
    SCHEMA,
    CaptureRecord,
    LogonRecord,
    ProblemRecord,
    SessionRecord,
    StreamRecord,
    SummaryRecord,
)
from analyzer.results.records.record_types import PlaceExtent, Record
from analyzer.transport.rpc.fault_names import bind_nak_reason, fault_name


def place_extents(extents: Iterable[FrameExtent], facts: CaptureFacts) -> tuple[PlaceExtent, ...]:
    """Where bytes were captured, with the numbers of the frames."""
    out = []
    for extent in extents:
        frames, files = facts.numbered((extent.frame,))
        out.append(PlaceExtent(frames=frames, frame_files=files, start=extent.start, length=extent.length))
    return tuple(out)


def capture_record(facts: CaptureFacts) -> CaptureRecord:
    return CaptureRecord(
        schema=SCHEMA,
        files=facts.files,
        frames=facts.frames,
        bytes=facts.bytes,
        first_time_ns=facts.first_time_ns,
        last_time_ns=facts.last_time_ns,
        traces=facts.traces or UNSET,
        redacted=facts.redacted or UNSET,
    )


def stream_record(facts: CaptureFacts) -> StreamRecord:
    return StreamRecord(schema=SCHEMA, files=facts.files, first_time_ns=facts.first_time_ns, names_from="now")


def problem_record(problem: Problem, facts: CaptureFacts) -> ProblemRecord:
    frames, files = facts.numbered(problem.frames)
    return ProblemRecord(kind=problem.kind, layer=problem.layer, frames=frames, frame_files=files, text=problem.text)


def shown_problems(analysis: Analysis) -> Iterator[Problem]:
    """The problems of the calls that were asked for: those that name a frame of theirs; of calls that follow each other, also
    a frame between the first and the last of theirs. All of them where all calls are shown."""
    if analysis.part is None:
        yield from all_problems(analysis)
        return
    numbers = analysis.part.numbers
    frames = {
        frame for _, call in analysis.shown for side in (call.request, call.response) if side for frame in side.frames
    }
    is_stretch = bool(frames) and numbers[-1] - numbers[0] + 1 == len(numbers)
    between = range(min(frames), max(frames)) if is_stretch else ()
    for problem in all_problems(analysis):
        if any(frame in between or frame in frames for frame in problem.frames):
            yield problem


def all_problems(analysis: Analysis, damages: Damages | None = None) -> Iterator[Problem]:
    """The problems of the layers, then those of decoded calls: damaged buffers and stubs that do not decode.

    `damages` describes the buffers that were decoded before, which need not be decoded again.
    """
    yield from analysis.problems
    damages = damages if damages is not None else Damages()
    for number in damages.unsure(analysis.calls):
        yield from call_problems(analysis.calls[number - 1], damages)


def call_problems(call: Call, damages: Damages) -> Iterator[Problem]:
    """The problems of a decoded call; `damages` as for `all_problems`."""
    number, layer = call.number, "pcq" if call.is_perflib else "winperf" if call.is_winreg else scmr.NAME
    sides: tuple[tuple[SideName, Side | None], ...] = ("request", call.request), ("response", call.response)
    for name, side in sides:
        if side is None:
            continue
        if side.problem is not None:
            text = f"call #{number}: {name} stub does not decode: {side.problem}"
            if side.problem.undecoded is not None:
                text += f"; {side.problem.undecoded} of {side.stub_length} bytes are not decoded"
            yield Problem("malformed", layer, side.frames, text)
        if (damage := damages.of(number, name, side)) is not None:
            found = Problem.of(layer, damage, side.frames)
            text = f"call #{number}: {side.buffer_kind} buffer of the {name} is damaged: {found.text}"
            yield Problem(found.kind, layer, found.frames, text)


def summary_record(
    tally: Mapping[Tally, int], sessions: int, problems: Counter[str], shown: int, selected_by: str | None
) -> SummaryRecord:
    """Counts for a timeline: calls by state and by method, problems by kind. `tally` counts all calls, and `shown` those shown."""
    states: Counter[str] = Counter()
    methods: Counter[str] = Counter()
    for (state, interface, method), count in tally.items():
        states[state] += count
        methods[f"{interface}.{method}"] += count
    return SummaryRecord(
        calls=sum(tally.values()),
        calls_by_state=_sorted(states),
        calls_by_method=_sorted(methods),
        problems=sum(problems.values()),
        problems_by_kind=_sorted(problems),
        sessions=sessions,
        calls_shown=shown,
        selected_by=selected_by,
    )


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if count}


def session_record(session: SmbSession, facts: CaptureFacts, programs: ClientPrograms) -> SessionRecord:
    identity, likeness = session.identity, programs.of_session(session)
    frames, files = facts.numbered(session.frames)
    return SessionRecord(
        session=session.number,
        session_id=f"{session.session_id:#018x}",
        client=session.client,
        server=session.server,
        dialect=session.dialect,
        client_guid=session.client_guid,
        server_guid=session.server_guid,
        cipher=session.cipher,
        signing=session.signing,
        mechanism=identity.mechanism,
        user=identity.account,
        user_source=identity.account_source,
        claimed_user=identity.claimed_otherwise,
        granted=identity.granted,
        anonymous=identity.is_anonymous,
        refused=session.refused,
        refused_name=nt_status_name(session.refused) if session.refused is not None else None,
        domain=identity.domain,
        workstation=identity.workstation,
        server_name=identity.server_name,
        server_domain=identity.server_domain,
        server_dns_name=identity.server_dns_name,
        server_dns_domain=identity.server_dns_domain,
        server_os_version=identity.os_version,
        client_os_version=identity.client_os_version,
        service=identity.service,
        realm=identity.realm,
        etype=identity.etype,
        kvno=identity.kvno,
        decryption=session.decryption.value,
        reason=session.reason,
        first_time_ns=session.first_time_ns,
        last_time_ns=session.last_time_ns,
        frames=frames,
        frame_files=files,
        encrypted_messages=session.encrypted_messages,
        decrypted_messages=session.decrypted_messages,
        signed_messages=session.signed_messages,
        verified_messages=session.verified_messages,
        trees=session.trees,
        pipes=session.pipes,
        later_users=tuple(one.account for one in session.later if one.account is not None),
        program=likeness.name if likeness is not None else None,
        program_marks=likeness.alike if likeness is not None else (),
    )


def logon_record(logon: Logon, facts: CaptureFacts) -> LogonRecord:
    """The record of a logon."""
    identity, refused = logon.identity, logon.refused
    frames, files = facts.numbered(logon.frames)
    name = None
    if refused is not None:
        name = refusal_name(logon, refused)
    return LogonRecord(
        logon=logon.key,
        by=logon.by,
        session=logon.session,
        channel=logon.channel,
        client=logon.client,
        server=logon.server,
        outcome=logon.outcome,
        user=identity.account,
        user_source=identity.account_source,
        claimed_user=identity.claimed_otherwise,
        mechanism=identity.mechanism,
        workstation=identity.workstation,
        refused=refused,
        refused_name=name,
        verified="key" if logon.opened_by is not None else "answer" if logon.is_granted else "none",
        decrypted_by=logon.opened_by,
        first_time_ns=logon.first_time_ns,
        until_time_ns=logon.until_ns,
        frames=frames,
        frame_files=files,
        refused_by=logon.refused_by,
        seen=logon.seen,
    )


def refusal_name(logon: Logon, status: int) -> str | None:
    """The name of the status with which a logon was refused."""
    if logon.by == "smb":
        return nt_status_name(status)
    return bind_nak_reason(status) if logon.refused_by == "bind_nak" else fault_name(status)


def timeline_records(
    analysis: Analysis,
    *,
    shown: Sequence[int] | None = None,
    selected_by: str | None = None,
    for_json: bool = False,
) -> Iterator[Record]:
    """Everything `timeline` says, in the order it says it: all calls, or those with the numbers `shown`, selected by what the text
    says.

    `for_json`, buffers whose JSON is quickly had are `Raw`, for those who write JSON.
    """
    shown = shown if shown is not None else range(1, len(analysis.calls) + 1)

    def parts() -> Iterator[Iterable[Record]]:
        damages = Damages()
        yield (capture_record(analysis.capture),)
        yield CallRecords(analysis, for_json=for_json).of(shown, damages)
        yield records_behind_calls(analysis, damages, len(shown), selected_by)

    return chain.from_iterable(parts())


def records_behind_calls(
    analysis: Analysis, damages: Damages, shown: int, selected_by: str | None
) -> Iterator[ProblemRecord | SummaryRecord]:
    """What `timeline` says behind the calls; `shown` is the number of calls shown."""
    facts = analysis.capture
    kinds: Counter[str] = Counter()
    for problem in all_problems(analysis, damages):
        kinds[problem.kind] += 1
        yield problem_record(problem, facts)
    yield summary_record(analysis.calls.tally, len(analysis.sessions), kinds, shown, selected_by)
