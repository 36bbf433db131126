"""An audit of a part: what is wrong with the handles, associations and hosts of a call stays when the call is selected."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.commands.audit import FailOn, _Contract
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.filter import CallFilter
from analyzer.questions.filters.times_machines_and_users import Account, Party, TimeBound
from analyzer.results.analysis import Analysis
from analyzer.results.connection import Bound
from analyzer.transport.rpc.exchange_maker import Exchange
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.calls import Calls, analysis_of, sealed
from tests.questions.audit.handles import bound, closed

CONTRACT = _Contract(FailOn.warn, None, allow_undecrypted=False)
# Of the captures that break the same requirements, the shortest.
BY_LENGTH = sorted(truth.captures(), key=lambda one: (truth.CAPTURES / one.file).stat().st_size, reverse=True)
BROKEN = [*{tuple(capture.breaks): capture for capture in BY_LENGTH if capture.breaks}.values()]
# What is of more than the call it points at.
OF_ASSOCIATION = ("PCQ110", "PCQ112", "PCQ113", "PCQ114", "PCQ115")
OF_HANDLE = ("PCQ455", "PCQ712", "PCQ713", "PCQ714", "PCQ715", "PCQ716", "PCQ717", "PCQ720")


def found(analysis: Analysis) -> tuple[list[Any], int]:
    """What counts, and the exit code."""
    audit = Audit(analysis)
    return [one for one in audit.findings() if not one.is_excused], CONTRACT.exit_of(audit)


def selections(analysis: Analysis) -> Iterator[Selection]:
    """Each option that selects, by what there is to select."""
    calls = list(analysis.calls)
    first, last = calls[0], calls[-1]
    for name in {call.interface.name for call in calls} - {None}:
        yield Selection(interfaces=(name,))
    yield Selection(servers=(Party.from_text(first.server.ip),))
    yield Selection(clients=(Party.from_text(last.client.ip),))
    for user in {call.auth.user for call in calls} - {None}:
        yield Selection(users=(Account(user),))
    for opnum in sorted({call.opnum for call in calls if call.is_perflib and call.opnum is not None})[::3]:
        yield Selection(filter=CallFilter(f"interface.name == PerflibV2 and opnum == {opnum}"))
    for handle in sorted({call.handle for call in calls if call.handle is not None})[::3]:
        yield Selection(handle=handle)
    for number in {1, len(calls) // 2 + 1, len(calls)}:
        yield Selection(session=f"#{number}")
        yield Selection(filter=CallFilter(f"number == {number}"))
    middle = f"{(last.time_ns - first.time_ns) / 2e9:.6f}s"
    yield Selection(since=TimeBound.from_text(middle))
    yield Selection(until=TimeBound.from_text(middle))
    yield Selection(tail=1)


def concerned(finding: Any, numbers: set[int], analysis: Analysis) -> bool:
    """Whether a finding of the whole capture is of one of these calls, or of its handle or association."""
    calls = [analysis.calls[number - 1] for number in numbers]
    call, code = finding.judgement.call, finding.rule.code
    if call is not None and call.number in numbers:
        return True
    if code in OF_HANDLE and call.decoded.query is not None:
        return call.decoded.query.number in {one.query.number for one in calls if one.query is not None}
    if code in OF_ASSOCIATION and call is not None:
        return call.decoded.channel in {one.channel for one in calls}
    if code in OF_ASSOCIATION:
        frames = set(finding.frames)
        offers = (*analysis.bounds, *analysis.features)
        return any(
            frames & set(one.frames) and one.channel.number in {call.channel for call in calls} for one in offers
        )
    return False


@pytest.mark.parametrize("capture", BROKEN, ids=lambda capture: capture.file)
def test_no_option_acquits_what_it_selects(capture: truth.Capture) -> None:
    analysis = analysis_of_file(capture.file)
    whole, _ = found(analysis)
    seen = set()
    for selection in selections(analysis):
        part = selection.selected_analysis(analysis)
        numbers = frozenset(part.shown.numbers)
        if numbers in seen:
            continue
        seen.add(numbers)
        expected = [one for one in whole if concerned(one, set(numbers), analysis)]
        kept, code = found(part)
        assert [(one.rule.code, one.frames) for one in kept] == [(one.rule.code, one.frames) for one in expected], (
            selection
        )
        assert (code in (10, 11)) == bool(expected), selection
    assert len(seen) > 3


def part_of(analysis: Analysis, *numbers: int) -> Analysis:
    wanted = " or ".join(f"number == {number}" for number in numbers)
    return Selection(filter=CallFilter(wanted)).selected_analysis(analysis)


def test_what_is_wrong_with_a_bind_is_of_each_of_its_calls() -> None:
    calls = Calls()
    other: Any = replace(bound(), version=(2, 0))
    assert isinstance(other, Bound)
    analysis = analysis_of(other, calls.open_query(), calls.enumerate_sets(b""))
    for numbers in ((1,), (2,), (1, 2)):
        assert "PCQ112" in {one.rule.code for one in found(part_of(analysis, *numbers))[0]}


def test_a_handle_left_open_is_of_each_call_on_it() -> None:
    calls = Calls()
    handles = ("11111111-0000-0000-0000-000000000000", "22222222-0000-0000-0000-000000000000")
    made: list[Exchange] = [calls.open_query(handle) for handle in handles]
    made += [calls.counter_info(b"", handle) for handle in handles]
    analysis = analysis_of(bound(), *made, calls.close_query(handles[1]), closed())
    codes = {number: {one.rule.code for one in found(part_of(analysis, number))[0]} for number in range(1, 6)}
    assert [number for number in codes if "PCQ716" in codes[number]] == [1, 3]


def test_an_endpoint_that_was_asked_for_is_of_all_calls_between_the_hosts() -> None:
    mapper = Calls("e1af8308-5d1f-11c9-91a4-08002b14a0fa")
    asked = mapper.exchange(3, mapper.stub().uuid("da5a86c5-12c2-4943-ab30-7f74a813d853"), b"")
    analysis = analysis_of(asked, bound(), Calls(first_frame=9).enumerate_sets(b""))
    assert "PCQ111" in {one.rule.code for one in found(part_of(analysis, 2))[0]}


def test_calls_that_were_selected_and_are_all_sealed_are_not_acquitted() -> None:
    calls = Calls(level=6)
    analysis = analysis_of(bound(), calls.enumerate_sets(b""), sealed(calls.enumerate_sets(b"")))
    assert [found(part_of(analysis, number))[1] for number in (1, 2)] == [0, 12]
