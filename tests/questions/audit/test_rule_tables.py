"""Tables and branches of rules about single numbers: each side of each comparison, each code by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from struct import pack
from types import SimpleNamespace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from msgspec.structs import replace

from analyzer.questions.audit.alike_calls import likeness_of
from analyzer.questions.audit.call_evidence import Evidence
from analyzer.questions.audit.identifier_lists import IdentifierBlock
from analyzer.questions.audit.registration_answers import string_offsets
from analyzer.questions.audit.root_causes import RootCauses
from analyzer.questions.audit.rules import clocks, counter_values, handles, registrations, stubs
from analyzer.questions.audit.rules.error_codes import _too_short
from analyzer.questions.audit.rules.instances import CHAIN, HEADER, PADDING, SIZE, instance_list_malformed
from analyzer.questions.audit.rules.parameters import lcid_out_of_place
from analyzer.questions.audit.rules.stubs import _BEHIND_NAME, _RPC_BY_OTHER_NAMES, NO_GUIDS, SIZES
from analyzer.questions.audit.rules.winperf_objects import (
    INSTANCE,
    NAME,
    _definition,
    _instance_length,
    _instance_name,
    _value_place,
)
from analyzer.questions.audit.verdicts import Judgement, Outcome
from tests.build.buffers import Block, perf_data, wide
from tests.build.calls import Calls, analysis_of
from tests.questions.audit.test_rule_bounds import ANY, said
from tests.questions.statistics.test_summary import as_user

OUT, RTN, SMALL = "PCQ-3.1.4.1.1-R05", "PCQ-3.1.4.1.1-R06", "PCQ-3.1.4.1.1-R09"


def sized(*, opnum: int = 0, status: int = 0, room: int = 100, out: int = 100, needed: int = 100) -> Any:
    return SimpleNamespace(
        opnum=opnum,
        status=status,
        asked={"dwInSize": room},
        answered={"pdwOutSize": out, "pdwRtnSize": needed},
        judged_side="response",
    )


def checked(rule: Any, call: Any) -> Any:
    """What a rule says of a call that it is shown as it is."""
    return next(look for look in rule.looks if look.check is not None).check(call)


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (sized(), [f"pass {OUT}", f"pass {RTN}"]),
        # GUIDs all or none.
        (sized(room=99), [f"fail {NO_GUIDS} pdwOutSize", f"pass {OUT}", f"pass {RTN}"]),
        (sized(room=99, status=8, out=0), [f"pass {NO_GUIDS}", f"pass {RTN}", f"pass {SMALL}"]),
        (sized(room=99, opnum=5), ["pass PCQ-3.1.4.1.5-R05", "pass PCQ-3.1.4.1.5-R06"]),
        # A buffer that is as large as what is needed is not too small.
        (sized(status=8, out=0), [f"fail {RTN} pdwRtnSize"]),
        (sized(status=8, out=0, needed=101), [f"pass {NO_GUIDS}", f"pass {RTN}", f"pass {SMALL}"]),
        (
            sized(status=8, out=1, needed=101),
            [f"fail {NO_GUIDS} pdwOutSize", f"pass {RTN}", f"warn {SMALL} pdwOutSize"],
        ),
        (sized(status=5, out=1, needed=5), []),
    ],
)
def test_sizes_of_an_answer(call: Any, found: list[str]) -> None:
    assert said(checked(stubs.answer_sizes_disagree, call)) == found


@pytest.mark.parametrize(
    ("room", "out", "needed", "returned", "damaged", "found"),
    [
        (100, 9, 50, 50, False, f"fail {OUT} pdwOutSize"),
        (100, 100, 101, 100, False, f"fail {OUT} pdwOutSize"),
        (100, 100, 100, 90, False, f"fail {RTN} pdwRtnSize"),
        (100, 99, 101, 99, False, f"fail {RTN} pdwRtnSize"),
        (100, 99, 101, 99, True, f"fail {OUT} pdwOutSize"),
        (100, 99, 100, 99, True, f"fail {RTN} pdwRtnSize"),
        # Without counts what was returned is what pdwOutSize says.
        (100, 99, 98, None, False, f"fail {RTN} pdwRtnSize"),
    ],
)
def test_where_sizes_differ_what_was_returned_decides(
    room: int, out: int, needed: int, returned: int | None, damaged: bool, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = None if returned is None else SimpleNamespace(actual_count=SimpleNamespace(value=returned))
    monkeypatch.setattr(stubs, "answer_counts", lambda side: counts)
    for buffer in (SimpleNamespace(problem=1),) if damaged else (None, SimpleNamespace(problem=None)):
        call: Any = SimpleNamespace(opnum=0, reply=SimpleNamespace(buffer=buffer), judged_side="response")
        assert said([stubs._unequal_sizes(call, room, out, needed)]) == [found]


def test_each_method_has_requirements_of_its_own() -> None:
    """Of pdwOutSize, pdwRtnSize and the code for a buffer that is too small, by the section of the method."""
    numbers = {0: (5, 6, 9), 1: (5, 6, 11), 2: (5, 6, 10), 5: (5, 6, 10), 6: (5, 6, 10)}
    sections = {0: 1, 1: 2, 2: 3, 5: 5, 6: 6}
    assert {int(opnum): one for opnum, one in SIZES.items()} == {
        opnum: tuple(f"PCQ-3.1.4.1.{sections[opnum]}-R{number:02}" for number in numbers[opnum]) for opnum in numbers
    }


# ------------------------------------------------------------------------------------------------ lists of instances

GOOD = [f"pass {HEADER}", f"pass {CHAIN}"]


def row(name: bytes, size: int | None = None) -> bytes:
    return pack("<II", 8 + len(name) if size is None else size, 0) + name


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (row(wide("abc")), [*GOOD, f"pass {SIZE}"]),
        (row(wide("ab") + bytes(2)), [*GOOD, f"pass {PADDING}", f"pass {SIZE}"]),
        (row(wide("ab")), [*GOOD, f"fail {SIZE} lpData"]),
        # Seven bytes of padding may be needed, eight are not.
        (row(bytes(2) + bytes(6)), [*GOOD, f"pass {PADDING}", f"pass {SIZE}"]),
        (row(wide("abc") + bytes(8)), [*GOOD, f"pass {PADDING}", f"fail {SIZE} lpData"]),
        (row(wide("ab") + bytes(10)), [*GOOD, f"pass {PADDING}", f"fail {SIZE} lpData"]),
        (row(bytes(2)), [*GOOD, f"fail {SIZE} lpData"]),
        (row(b"", 10), [f"fail {CHAIN} lpData"]),
        (row(b"a"), [f"fail {CHAIN} lpData"]),
        (row(wide("abc"), 17), [f"fail {CHAIN} lpData"]),
        (row(b"a\0b\0c\0d\0"), [f"fail {HEADER} lpData"]),
        (row(wide("abc")) + b"1234567", [*GOOD, f"pass {SIZE}", f"fail {CHAIN} lpData"]),
        (row(wide("abc")) * 2, [*GOOD, f"pass {SIZE}"] * 2),
    ],
)
def test_instances_lead_to_each_other(data: bytes, found: list[str]) -> None:
    call: Any = SimpleNamespace(reply=SimpleNamespace(data=data), judged_side="response")
    assert said(checked(instance_list_malformed, call)) == found


# ------------------------------------------------------------------------------------------------ faults, languages


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (None, []),
        # C706 appendix E: nca_s_ codes are 0x1C000000 and 0x1C010000; [MS-ERREF] 2.2 has RPC's from 1700 to 1999.
        *((code, ["pass"]) for code in (0x1C000000, 0x1C01FFFF, 1700, 1999)),
        *((code, ["fail"]) for code in (0x1BFFFFFF, 0x1C020000, 1699, 2000, 0, 1, 7)),
        *((code, ["warn"]) for code in (0xC0020001, 0xC0030009, 0x80020000, 0x8003FFFF)),
        *((code, ["fail"]) for code in (0xC0010000, 0xC0040000, 0x80010000, 0x80040000)),
        *((code, ["pass"]) for code in (5, 6, 8, 14, 87, 122, 164, 997, 1130, 1332, 1338, 1460)),
    ],
)
def test_a_fault_is_a_status_of_rpc(fault: int | None, found: list[str]) -> None:
    call: Any = SimpleNamespace(fault=fault, judged_side="response")
    assert [one.outcome.value for one in checked(stubs.fault_not_of_rpc, call)] == found


def test_codes_that_rpc_has_under_names_of_its_own() -> None:
    """rpcnterr.h: these, and no other Win32 code outside of 1700 to 1999."""
    assert sorted(_RPC_BY_OTHER_NAMES) == [5, 6, 8, 14, 87, 122, 164, 997, 1130, 1332, 1338, 1460]


def test_so_many_bytes_of_parameters_follow_the_name_of_the_machine() -> None:
    """[MS-PCQ] 6: dwInSize; CounterSetGuid, RequestCode, RequestLCID and dwInSize; CounterSetGuid and dwInSize; none."""
    assert {int(opnum): size for opnum, size in _BEHIND_NAME.items()} == {0: 4, 1: 16 + 4 + 4 + 4, 2: 16 + 4, 3: 0}


@pytest.mark.parametrize(
    ("code", "language", "outcome"),
    [
        # [MS-PCQ] 2.2.3.1: of names in English and of structures there is one language.
        *((code, 0, "pass") for code in (1, 7, 8, 9, 10)),
        *((code, 9, "fail") for code in (1, 7, 8, 9, 10)),
        *((code, 0x409, "pass") for code in (3, 4, 5, 6)),
        # [MS-LCID] 2.2: a language alone, and with its default country; 0 is neutral, 0x7F invariant.
        *((5, language, "pass") for language in (0, 0x400, 0x800, 9, 0x7F, 0x407, 0x0C07)),
        *((5, language, "warn") for language in (0x3FF, 0x0C7F, 0xFFFF)),
    ],
)
def test_a_language_is_named_where_there_are_several(code: int, language: int, outcome: str) -> None:
    call: Any = SimpleNamespace(asked={"RequestCode": code, "RequestLCID": language}, judged_side="request")
    found = [one.outcome.value for one in checked(lcid_out_of_place, call)]
    assert found == [outcome]


# ------------------------------------------------------------------------------------------------ what follows, what is alike


def test_violations_that_follow_are_counted_and_doubts_are_not() -> None:
    causes = RootCauses()
    rule: Any = object()
    root = Judgement(Outcome.FAILED, ("A",))
    causes._roots[4], causes._follow[4] = (rule, root), 0
    for outcome in (Outcome.FAILED, Outcome.WARNED, Outcome.PASSED, Outcome.INCONCLUSIVE):
        made = causes._following(4, Judgement(outcome, ("B",), message="m"))
        assert (made.outcome, made.message) == (
            Outcome.INCONCLUSIVE,
            "the parameters of the call are not where the IDL puts them",
        )
    assert list(causes.causes()) == [(rule, root, 2)]


def test_answers_of_one_layout_are_alike_whatever_their_values() -> None:
    make = Calls()
    data = [perf_data([Block(1, values=((pack("<I", number),),))]) for number in range(4)]
    other = perf_data([Block(1, values=((pack("<Q", 5),),))])
    evidence = Evidence(analysis_of(make.open_query(), *map(make.counter_data, [*data, other])))
    found = [likeness_of(evidence.call(number)) for number in range(1, 7)]
    assert found[3] == found[4]
    assert found[3] is not None
    assert len({found[0], found[4], found[5]}) == 3
    # Parameters are compared in full.
    two = Evidence(analysis_of(make.registration(9, wide("a")), make.registration(9, wide("b"))))
    assert likeness_of(two.call(1)) != likeness_of(two.call(2))


def test_calls_of_two_logons_are_alike() -> None:
    make = Calls()
    opened = make.open_query()
    asked = [as_user(make.counter_data(perf_data([])), "LAB\\one") for _ in range(3)]
    numbered = [replace(one, auth=replace(one.auth, logon=logon)) for one, logon in zip(asked, (0, 1, 1), strict=True)]
    other = as_user(make.counter_data(perf_data([])), "LAB\\two")
    evidence = Evidence(analysis_of(opened, *numbered, other))
    found = [likeness_of(evidence.call(number)) for number in range(2, 6)]
    assert found[0] == found[1] == found[2] != found[3]
    assert found[0] is not None


def test_what_is_long_and_of_no_layout_is_like_nothing() -> None:
    make = Calls()
    sizes = [4096, 4097]
    evidence = Evidence(analysis_of(*(make.exchange(9, bytes(size), None) for size in sizes)))
    assert [likeness_of(evidence.call(number)) is None for number in (1, 2)] == [False, True]


@pytest.mark.parametrize("zeros", [3, 4, 5])
def test_the_last_nul_stands_at_an_even_place(zeros: int) -> None:
    data = b"a\0" + bytes(zeros)
    last = len(data) - 2 - len(data) % 2
    assert string_offsets(data, (0, last), 0).lost == []
    assert string_offsets(data, (0, last + 2), 0).lost == [1]


# ------------------------------------------------------------------------------------------------ clocks of data answers


def poll(
    ticks: int, time_100ns: int, frequency: int = 1000, *, asked: int = 0, answered: int = 0, server: str = "a"
) -> Any:
    header = (0, 0, ticks, time_100ns, frequency)
    response = SimpleNamespace(
        is_readable=True, answer=SimpleNamespace(header=header), side=SimpleNamespace(last_time_ns=answered)
    )
    request = SimpleNamespace(side=SimpleNamespace(first_time_ns=asked))
    return SimpleNamespace(server=server, request=request, reply=response, judged_side="response")


def fed(watch: Any, *calls: Any) -> list[list[str]]:
    found = [[one.outcome.value for one in watch.feed(call)] for call in calls]
    assert list(watch.finish()) == []
    return found


@pytest.mark.parametrize(
    ("calls", "last"),
    [
        ([poll(0, 0)], ["pass", "pass"]),
        ([poll(0, 0, 0)], ["fail"]),
        ([poll(5, 0), poll(5, 0)], ["pass", "pass"]),
        ([poll(5, 0), poll(4, 0)], ["pass", "fail"]),
        ([poll(5, 0), poll(4, 0, 1001)], ["fail"]),
        ([poll(5, 0), poll(4, 0, server="b")], ["pass", "pass"]),
        # Calls that overlap were answered in an order that nobody knows.
        ([poll(5, 0, answered=9), poll(4, 0, asked=8)], ["pass"]),
        ([poll(5, 0, answered=9), poll(4, 0, asked=9)], ["pass", "fail"]),
    ],
)
def test_the_clock_of_answers_does_not_run_back(calls: list[Any], last: list[str]) -> None:
    assert fed(clocks.ClockRunsBack.call.watch(None), *calls)[-1] == last  # type: ignore


@pytest.mark.parametrize(
    ("calls", "last"),
    [
        ([poll(0, 0)], []),
        ([poll(0, 0), poll(1000, 10_000_000)], ["pass"]),
        # A twentieth of the longer time, and a twentieth of a second, may lie between: of 10 s 0.55 s.
        ([poll(0, 0), poll(10_000, 105_700_000)], ["pass"]),
        ([poll(0, 0), poll(10_000, 105_900_000)], ["warn"]),
        ([poll(0, 0), poll(10_000, 94_510_000)], ["pass"]),
        ([poll(0, 0), poll(10_000, 94_400_000)], ["warn"]),
        ([poll(0, 0), poll(0, 500_000)], ["pass"]),
        ([poll(0, 0), poll(0, 600_000)], ["warn"]),
        ([poll(0, 0, 0), poll(9, 0, 0)], []),
        ([poll(0, 0), poll(9_000, 0, 1001)], []),
        ([poll(5, 0), poll(4, 10_000_000)], []),
        ([poll(0, 5), poll(9_000, 4)], []),
        ([poll(0, 0, answered=9), poll(9_000, 0, asked=8)], []),
        ([poll(0, 0, answered=9), poll(9_000, 0, asked=9)], ["warn"]),
        ([poll(0, 0), poll(9_000, 0, server="b")], []),
    ],
)
def test_both_clocks_of_answers_advance_alike(calls: list[Any], last: list[str]) -> None:
    assert fed(clocks.ClocksDisagree.call.watch(None), *calls)[-1] == last  # type: ignore


def test_clocks_that_cannot_be_read_are_in_doubt() -> None:
    broken = poll(0, 0)
    broken.reply.is_readable = False
    bare = poll(0, 0)
    bare.reply.answer.header = None
    assert fed(clocks.ClockRunsBack.call.watch(None), broken, bare) == [["inconclusive"]] * 2  # type: ignore
    assert fed(clocks.ClocksDisagree.call.watch(None), broken, bare) == [["inconclusive"]] * 2  # type: ignore


@pytest.mark.parametrize(
    ("number", "size", "may_be"),
    [
        # Addresses of user space beyond 4 GiB, of things of four bytes at least.
        (1 << 32, 8, True),
        ((1 << 32) - 4, 8, False),
        ((1 << 47) - 4, 8, True),
        (1 << 47, 8, False),
        ((1 << 32) + 2, 8, False),
        ((1 << 32) + 4, 8, True),
        (1 << 20, 4, False),
        (1 << 32, 16, False),
    ],
)
def test_what_may_be_an_address(number: int, size: int, may_be: bool) -> None:
    watch: Any = counter_values.AddressInsteadOfValue.call.watch(None)  # type: ignore
    key = ("server", "set", "instance", 1)
    watch._seen[key] = counter_values._Constant(number.to_bytes(size, "little"), 3, True, ANY, ANY)
    watch._moved.add(key[:3])
    assert [one.outcome.value for one in watch.finish()] == ["warn" if may_be else "pass"]
    assert (counter_values._ENOUGH, counter_values._MOST) == (3, 100_000)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", (None, 0)),
        (bytes(39), (None, 39)),
        (bytes(20) + pack("<I", 40) + bytes(16), None),
        (bytes(20) + pack("<I", 39) + bytes(16), (0, 39)),
        ((bytes(20) + pack("<I", 40) + bytes(16)) * 2, None),
        (bytes(20) + pack("<I", 40) + bytes(16) + bytes(39), None),
        (bytes(20) + pack("<I", 48) + bytes(24) + bytes(20) + pack("<I", 16) + bytes(16), (48, 16)),
    ],
)
def test_what_is_too_short_for_an_identifier(data: bytes, found: tuple[int | None, int] | None) -> None:
    assert _too_short(data) == found


# ------------------------------------------------------------------------------------------------ definitions and instances


def structure(start: int = 0, **fields: Any) -> Any:
    return SimpleNamespace(path="lpData.x", start=start, fields=fields)


RAW_FRACTION, BASE, DOUBLE, TIMER = 0x20020400, 0x40030403, 0x00012000, 0x20670500


@pytest.mark.parametrize(
    ("kind", "size", "scale", "follower", "outcomes"),
    [
        (0x10000, 4, 0, None, ["pass", "pass"]),
        (0x10000, 8, 0, None, ["fail", "pass"]),
        (0x10100, 8, 10, None, ["pass", "pass"]),
        (0x10100, 4, -10, None, ["fail", "pass"]),
        (0x10200, 0, 11, None, ["pass", "warn"]),
        (0x10200, 4, -11, None, ["fail", "warn"]),
        # Texts have a size of their own; a double has 8 bytes whatever its bits say.
        (0xB00, 17, 0, None, ["pass", "pass"]),
        (DOUBLE, 8, 0, None, ["pass", "pass"]),
        (DOUBLE, 4, 0, None, ["fail", "pass"]),
        (RAW_FRACTION, 4, 0, BASE, ["pass", "pass", "pass"]),
        (RAW_FRACTION, 4, 0, 0x10000, ["pass", "fail", "pass"]),
        (RAW_FRACTION, 4, 0, None, ["pass", "fail", "pass"]),
        (TIMER, 8, 0, BASE, ["pass", "pass", "pass"]),
        (TIMER, 8, 0, None, ["pass", "fail", "pass"]),
    ],
)
def test_a_definition_agrees_with_its_type(
    kind: int, size: int, scale: int, follower: int | None, outcomes: list[str]
) -> None:
    one = structure(counter_type=kind, counter_size=size, default_scale=scale)
    behind = structure(counter_type=follower) if follower is not None else None
    assert [found.outcome.value for found in _definition(ANY, one, behind)] == outcomes


@pytest.mark.parametrize(
    ("start", "size", "sizes", "outcomes"),
    [
        (4, 4, [8], ["pass"]),
        (3, 4, [8], ["fail"]),
        (4, 5, [8], ["fail"]),
        (4, 5, [8, 9], ["pass"]),
        (0, 0, [8], ["pass"]),
        (0, 9, [], []),
    ],
)
def test_a_value_lies_behind_the_length_of_its_block(
    start: int, size: int, sizes: list[int], outcomes: list[str]
) -> None:
    one = structure(counter_offset=start, counter_size=size)
    assert [found.outcome.value for found in _value_place(ANY, one, sizes)] == outcomes


@pytest.mark.parametrize(
    ("start", "length", "name", "outcome"),
    [
        (0, 24, 0, "pass"),
        (0, 23, 0, "fail"),
        (0, 28, 0, "warn"),
        (0, 32, 8, "pass"),
        (0, 31, 8, "fail"),
        (0, 24, 1, "fail"),
        (76, 24, 0, "pass"),
        (77, 24, 0, "fail"),
    ],
)
def test_the_length_of_an_instance_covers_its_name(start: int, length: int, name: int, outcome: str) -> None:
    one = structure(start, byte_length=length, name_length=name, name_offset=24)
    block: Any = SimpleNamespace(size=100)
    kept: Counter[str] = Counter()
    found = list(_instance_length(ANY, one, block, kept))
    assert [judged.outcome.value for judged in found] + ["pass"] * kept[INSTANCE] == [outcome]
    if outcome == "fail":
        assert found[0].expected == f"{24 + name} to {100 - start}"


@pytest.mark.parametrize(
    ("name", "code_page", "outcome"),
    [
        (b"", 0, "pass"),
        (wide("ab"), 0, "pass"),
        (wide("ab")[:-2], 0, "warn"),
        (b"a\0\0", 0, "warn"),
        (b"ab\0", 1252, "pass"),
        (b"ab", 1252, "warn"),
        (b"abc\0", 0, "warn"),
    ],
)
def test_the_name_of_an_instance_ends_in_a_nul(name: bytes, code_page: int, outcome: str) -> None:
    call: Any = SimpleNamespace(
        judged_side="response", reply=SimpleNamespace(data=b"before" + b"1234" + name + b"\xee\xee")
    )
    one = structure(6, name_length=len(name), name_offset=4)
    kept: Counter[str] = Counter()
    found = [judged.outcome.value for judged in _instance_name(call, one, code_page, kept)]
    assert found + ["pass"] * kept[NAME] == [outcome]


# ------------------------------------------------------------------------------------------------ counters and queries

LARGE_RAW, OBJECT_TIMER, PRECISION_TIMER = 0x00010100, 0x20610500, 0x20670500
TIME, TIME_KIND, FREQ, FREQ_KIND = (f"PCQ-2.2.4.2-R{number}" for number in (62, 63, 64, 65))


def clocked(number: int, time: int, freq: int, kind: int = OBJECT_TIMER, base: int = 0xFFFFFFFF) -> dict[str, int]:
    return {
        "counter_id": number,
        "counter_type": kind,
        "perf_time_id": time,
        "perf_freq_id": freq,
        "base_counter_id": base,
    }


@pytest.mark.parametrize(
    ("records", "types", "found"),
    [
        ([clocked(1, 7, 7)], {1: 0, 7: LARGE_RAW}, [f"pass {one}" for one in (TIME, TIME_KIND, FREQ, FREQ_KIND)]),
        # A counter is no clock of its own, and neither is one that the set does not have.
        ([clocked(1, 1, 9)], {1: 0, 7: LARGE_RAW}, [f"fail {TIME} perf_time_id", f"fail {FREQ} perf_freq_id"]),
        (
            [clocked(1, 9, 7), clocked(2, 7, 8)],
            {7: LARGE_RAW, 8: 0x10000},
            [
                *(f"fail {TIME} perf_time_id", f"pass {FREQ}", f"pass {FREQ_KIND}"),
                *(f"pass {TIME}", f"pass {TIME_KIND}", f"pass {FREQ}", f"fail {FREQ_KIND} perf_freq_id"),
            ],
        ),
        # Types without a clock of their own are passed over; without a registration nothing can be stated of each.
        (
            [clocked(1, 9, 9, 0x10000), clocked(2, 7, 7)],
            {7: LARGE_RAW},
            [f"pass {one}" for one in (TIME, TIME_KIND, FREQ, FREQ_KIND)],
        ),
        ([clocked(1, 7, 7)] * 2, None, [f"inconclusive {one}" for one in (TIME, TIME_KIND, FREQ, FREQ_KIND)] * 2),
    ],
)
def test_the_clock_of_a_counter_is_another_of_its_set(
    records: list[dict[str, int]], types: dict[int, int] | None, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    named = [("lpData.counter", record) for record in records]
    monkeypatch.setattr(registrations, "types_of_set", lambda call: types)
    monkeypatch.setattr(registrations, "records_of", lambda call: named)
    made = list(checked(registrations.clock_counter_wrong, ANY))
    assert [one.replace("counter.", "") for one in said(made)] == found
    assert all(one.deviation is None for one in made)


def test_of_a_precision_timer_the_base_is_the_clock_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference of Windows Server 2003 divides it by its base counter."""
    for kind, base, is_known in ((PRECISION_TIMER, 7, True), (PRECISION_TIMER, 8, False), (OBJECT_TIMER, 7, False)):
        record = clocked(1, 9, 9, kind, base)
        monkeypatch.setattr(registrations, "types_of_set", lambda call: {7: LARGE_RAW})
        monkeypatch.setattr(registrations, "records_of", lambda call, one=record: [("lpData.counter", one)])
        made = list(checked(registrations.clock_counter_wrong, ANY))
        assert [one.deviation is not None for one in made] == [is_known] * 2


@pytest.mark.parametrize(
    ("first_adds", "closed", "call", "is_open"),
    [
        ({2: 1}, None, 2, True),
        ({2: 2}, None, 2, False),
        ({}, None, 2, False),
        ({2: 1}, 3, 2, True),
        ({2: 1}, 2, 2, False),
    ],
)
def test_whether_another_query_was_open(
    first_adds: dict[int, int], closed: int | None, call: int, is_open: bool
) -> None:
    held: Any = SimpleNamespace(closed=closed, number=2, server=SimpleNamespace(ip="s"))
    holding = handles._Holding([held], first_adds)
    for number, ip, is_another in ((1, "s", True), (2, "s", False), (1, "t", False)):
        than: Any = SimpleNamespace(number=number, server=SimpleNamespace(ip=ip))
        assert holding.is_another(than, call) is (is_open and is_another)


@given(st.lists(st.tuples(st.integers(1, 9), st.none() | st.integers(1, 12)), max_size=6), st.integers(0, 12))
def test_of_many_queries_one_that_was_open_is_enough(queries: list[tuple[int, int | None]], call: int) -> None:
    """Queries by the call that first added to each and the one that closed it."""
    server = SimpleNamespace(ip="s")
    every: list[Any] = [
        SimpleNamespace(closed=closed, number=number, server=server) for number, (_, closed) in enumerate(queries, 1)
    ]
    holding = handles._Holding(every, {number: first for number, (first, _) in enumerate(queries, 1)})
    for than in every:
        others = [one for number, one in enumerate(queries, 1) if number != than.number]
        was_open = any(first < call and (closed is None or closed > call) for first, closed in others)
        assert holding.is_another(than, call) is was_open


class _Events(list[Any]):
    """Stands for `HandleEvents`."""

    def where(self, is_wanted: Callable[[Any], bool]) -> Iterator[Any]:
        return filter(is_wanted, self)


def test_a_list_that_is_not_known_hides_no_later_one() -> None:
    """Of each query that is listed, whether what others hold is in it; one that cannot be read is in doubt alone."""
    key = ("g", 1, "a")
    mine, theirs = (SimpleNamespace(counterset="g", counter_id=number, instance="a") for number in (2, 1))
    block = IdentifierBlock(0, 0, "g", 0, 48, 1, 0, 0, 0, wide("A"))
    assert handles._key(theirs) == key  # type: ignore[arg-type]

    def event(kind: str, number: int, **facts: Any) -> Any:
        view = SimpleNamespace(held=facts.pop("held", None), unknown=None)
        return SimpleNamespace(
            kind=kind, call=number, succeeded=facts.pop("succeeded", True), view=view, identifiers=facts.get("of")
        )

    listed = SimpleNamespace(is_readable=True, identifiers=SimpleNamespace(blocks=[block]))
    first = _Events(
        [
            event("add", 1, of=[mine]),
            event("info", 3, succeeded=False),
            event("info", 4),
            event("info", 5, held=[mine]),
            event("info", 6, held=[mine, theirs]),
        ]
    )
    server = SimpleNamespace(ip="s")
    lifetimes = [
        SimpleNamespace(server=server, number=1, events=first, closed=None),
        SimpleNamespace(server=server, number=2, events=_Events([event("add", 2, of=[theirs])]), closed=None),
        SimpleNamespace(
            server=SimpleNamespace(ip="t"), number=3, events=_Events([event("add", 2, of=[mine])]), closed=None
        ),
    ]
    evidence: Any = SimpleNamespace(
        lifetimes=lifetimes, call=lambda number: SimpleNamespace(number=number, response=listed)
    )
    made = list(handles.counter_of_another_query_reported.call.made(evidence))  # type: ignore
    assert [(one.outcome.value, one.call.number if one.call else None) for one in made] == [
        ("inconclusive", 4),
        ("fail", 5),
        ("pass", None),
    ]
    assert made[1].seen == "counter 1 of g, instance 'A', which was added to q2"
    assert made[1].expected == "the 1 counters that were added to q1"
