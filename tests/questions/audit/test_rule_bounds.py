"""Bounds and branches inside of rules: each side of each comparison of sizes, codes, clocks, orders of bytes and handles."""

from datetime import UTC, datetime
from struct import pack
from types import SimpleNamespace
from unittest.mock import patch

import hypothesis.strategies as st
from hypothesis import given
from msgspec.structs import replace

from analyzer.questions.audit.audit_engine import RootCauses
from analyzer.questions.audit.call_evidence import Evidence
from analyzer.questions.audit.data_answers import Block as DataBlock
from analyzer.questions.audit.identifier_lists import IdentifierBlock, chained
from analyzer.questions.audit.rule_plans import likeness_of
from analyzer.questions.audit.rule_verdicts import At, Judgement, Outcome
from analyzer.questions.audit.rules import clocks, counter_values, parameters, registrations, stubs
from analyzer.questions.audit.rules import queries as query_rules
from analyzer.questions.audit.rules.alignment_and_byte_order import _FITS, _misplaced
from analyzer.questions.audit.rules.identifiers import _too_short
from analyzer.questions.audit.rules.instances import instance_list_malformed
from analyzer.questions.audit.rules.parameters import SIZES, lcid_out_of_place
from analyzer.questions.audit.rules.stubs import _BEHIND_NAME, _RPC_BY_OTHER_NAMES
from tests.build.buffers import Block, identifier, perf_data, wide
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, analysis_of
from tests.questions.audit.judging import ANY, checked, judged, judgement_words
from tests.questions.audit.registered import countersets
from tests.questions.statistics.test_call_statistics import as_user
from tests.written import Tables, held

TABLES = Tables()
EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def ticks_of(moment):
    """FILETIME: 100 ns since 1601 ([MS-DTYP] 2.3.3)."""
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 10_000_000 + since.microseconds * 10


# ------------------------------------------------------------------------------------------------ sizes of answers


@TABLES.of(
    {},
    # GUIDs all or none.
    *({"room": 99, **more} for more in ({}, {"status": 8, "out": 0}, {"opnum": 5})),
    # A buffer that is as large as what is needed is not too small.
    *({"status": 8, "out": out, "needed": needed} for out, needed in ((0, 100), (0, 101), (1, 101))),
    {"status": 5, "out": 1, "needed": 5},
)
def sizes_of_an_answer(opnum=0, status=0, room=100, out=100, needed=100):
    answered = {"pdwOutSize": out, "pdwRtnSize": needed}
    call = SimpleNamespace(opnum=opnum, status=status, asked={"dwInSize": room}, answered=answered)
    call.judged_side = "response"
    return checked(parameters.answer_sizes_disagree, call)


@TABLES.of(
    *((9, 50, 50), (100, 101, 100), (100, 100, 90), (99, 101, 99)),
    *((99, needed, 99, "damaged") for needed in (101, 100)),
    (99, 101, 99, "sound"),
    # Without counts what was returned is what pdwOutSize says.
    (99, 98, None),
)
def where_sizes_differ_what_was_returned_decides(out, needed, returned, buffer=None):
    """Of a room of 100 pdwOutSize, pdwRtnSize, the elements that were returned, and their buffer."""
    buffer = buffer and SimpleNamespace(problem=1 if buffer == "damaged" else None)
    counts = None if returned is None else SimpleNamespace(actual_count=SimpleNamespace(value=returned))
    call = SimpleNamespace(opnum=0, reply=SimpleNamespace(buffer=buffer), judged_side="response")
    with patch.object(parameters, "answer_counts", lambda side: counts):
        return judgement_words([parameters._unequal_sizes(call, 100, out, needed)])


def test_each_method_has_requirements_of_its_own():
    """Of pdwOutSize, pdwRtnSize and the code for a buffer that is too small, by the section of the method."""
    numbers = {0: (5, 6, 9), 1: (5, 6, 11), 2: (5, 6, 10), 5: (5, 6, 10), 6: (5, 6, 10)}
    sections = {0: 1, 1: 2, 2: 3, 5: 5, 6: 6}
    assert {int(opnum): one for opnum, one in SIZES.items()} == {
        opnum: tuple(f"PCQ-3.1.4.1.{sections[opnum]}-R{number:02}" for number in numbers[opnum]) for opnum in numbers
    }


def row(name, size=None):
    return pack("<II", 8 + len(name) if size is None else size, 0) + name


@TABLES.of(
    b"",
    *(row(wide("ab") + bytes(padding)) for padding in (0, 2, 10)),
    # Seven bytes of padding may be needed, eight are not.
    *(row(wide("abc") + bytes(padding)) for padding in (0, 8)),
    *(row(bytes(2 + padding)) for padding in (0, 6)),
    *(row(b"", 10), row(b"a"), row(wide("abc"), 17), row(b"a\0b\0c\0d\0")),
    *(row(wide("abc")) + more for more in (b"1234567", row(wide("abc")))),
)
def instances_lead_to_each_other(data):
    reply = SimpleNamespace(reply=SimpleNamespace(data=data), judged_side="response")
    return checked(instance_list_malformed, reply)


# ------------------------------------------------------------------------------------------------ faults, languages


@TABLES.of(
    None,
    # C706 appendix E: nca_s_ codes are 0x1C000000 and 0x1C010000; [MS-ERREF] 2.2 has RPC's from 1700 to 1999.
    *(0x1BFFFFFF, 0x1C000000, 0x1C01FFFF, 0x1C020000, 1699, 1700, 1999, 2000, 0, 1, 7),
    *(0xC0010000, 0xC0020001, 0xC0030009, 0xC0040000, 0x80010000, 0x80020000, 0x8003FFFF, 0x80040000),
    *(5, 6, 8, 14, 87, 122, 164, 997, 1130, 1332, 1338, 1460),
)
def a_fault_is_a_status_of_rpc(fault):
    return checked(stubs.fault_not_of_rpc, SimpleNamespace(fault=fault, judged_side="response"))


def test_codes_that_rpc_has_under_names_of_its_own():
    """rpcnterr.h: these, and no other Win32 code outside of 1700 to 1999."""
    assert sorted(_RPC_BY_OTHER_NAMES) == [5, 6, 8, 14, 87, 122, 164, 997, 1130, 1332, 1338, 1460]


def test_so_many_bytes_of_parameters_follow_the_name_of_the_machine():
    """[MS-PCQ] 6: dwInSize; CounterSetGuid, RequestCode, RequestLCID and dwInSize; CounterSetGuid and dwInSize; none."""
    assert {int(opnum): size for opnum, size in _BEHIND_NAME.items()} == {0: 4, 1: 16 + 4 + 4 + 4, 2: 16 + 4, 3: 0}


@TABLES.of(
    # [MS-PCQ] 2.2.3.1: of names in English and of structures there is one language.
    *((code, language) for language in ("0", "9") for code in (1, 7, 8, 9, 10)),
    *((code, "409") for code in (3, 4, 5, 6)),
    # [MS-LCID] 2.2: a language alone, and with its default country; 0 is neutral, 0x7F invariant.
    *((5, language) for language in ["0", "400", "800", "9", "7F", "407", "0C07", "3FF", "0C7F", "FFFF"]),
)
def a_language_is_named_where_there_are_several(code, language):
    asked = {"RequestCode": code, "RequestLCID": int(language, 16)}
    return checked(lcid_out_of_place, SimpleNamespace(asked=asked, judged_side="request"))


# ------------------------------------------------------------------------------------------------ what follows, what is alike


def test_violations_that_follow_are_counted_and_doubts_are_not():
    causes, rule, root = RootCauses(), object(), Judgement(Outcome.FAILED, ("A",))
    causes._roots[4], causes._follow[4] = (rule, root), 0
    for outcome in (Outcome.FAILED, Outcome.WARNED, Outcome.PASSED, Outcome.INCONCLUSIVE):
        made = causes._following(4, Judgement(outcome, ("B",), message="m"))
        assert made.outcome is Outcome.INCONCLUSIVE
        assert made.message == "the parameters of the call are not where the IDL puts them"
    assert list(causes.causes()) == [(rule, root, 2)]


def likenesses(*calls):
    evidence = Evidence(analysis_of(*calls))
    return [likeness_of(evidence.call(number)) for number in range(1, len(calls) + 1)]


def test_answers_of_one_layout_are_alike_whatever_their_values():
    make = Calls()
    data = [perf_data([Block(1, values=((pack("<I", number),),))]) for number in range(4)]
    other = perf_data([Block(1, values=((pack("<Q", 5),),))])
    found = likenesses(make.open_query(), *map(make.counter_data, [*data, other]))
    assert found[3] == found[4]
    assert found[3] is not None
    assert len({found[0], found[4], found[5]}) == 3
    # Parameters are compared in full.
    assert len(set(likenesses(make.registration(9, wide("a")), make.registration(9, wide("b"))))) == 2


def test_calls_of_two_logons_are_alike():
    make = Calls()
    opened = make.open_query()
    asked = [as_user(make.counter_data(perf_data([])), "LAB\\one") for _ in range(3)]
    numbered = [replace(one, auth=replace(one.auth, logon=logon)) for one, logon in zip(asked, (0, 1, 1), strict=True)]
    _, *found = likenesses(opened, *numbered, as_user(make.counter_data(perf_data([])), "LAB\\two"))
    assert found[0] == found[1] == found[2] != found[3]
    assert found[0] is not None


def test_what_is_long_and_of_no_layout_is_like_nothing():
    make = Calls()
    found = likenesses(*(make.exchange(9, bytes(size), None) for size in (4096, 4097)))
    assert [one is None for one in found] == [False, True]


# ------------------------------------------------------------------------------------------------ clocks of data answers


def poll(ticks, time_100ns, frequency=1000, *, asked=0, answered=0, server="a", header=True, is_readable=True):
    stated = (0, 0, ticks, time_100ns, frequency) if header else None
    response = SimpleNamespace(is_readable=is_readable, answer=SimpleNamespace(header=stated))
    response.side = SimpleNamespace(last_time_ns=answered)
    request = SimpleNamespace(side=SimpleNamespace(first_time_ns=asked))
    return SimpleNamespace(server=server, request=request, reply=response, judged_side="response", number=1)


def fed(watch, polls):
    """What is said of each of these polls, and nothing at the end."""
    found = [" ".join(one.outcome.value for one in watch.feed(poll(**given))) for given in polls]
    assert list(watch.finish()) == []
    return " then ".join(one or "nothing" for one in found)


def two(later, first=None, **more):
    """Two answers, by their ticks and times."""
    names = ("ticks", "time_100ns", "frequency")
    first = dict(zip(names, first or (0, 0), strict=False))
    return [{**first, **more.pop("before", {})}, {**dict(zip(names, later, strict=False)), **more}]


UNREAD = [{"ticks": 0, "time_100ns": 0, **why} for why in ({"is_readable": False}, {"header": False})]
# Calls that overlap were answered in an order that nobody knows.
OVERLAPPING = [{"before": {"answered": 9}, "asked": asked} for asked in (8, 9)]


@TABLES.of(
    *([{"ticks": 0, "time_100ns": 0, "frequency": by}] for by in (1000, 0)),
    *(two((ticks, 0, *by), (5, 0)) for ticks, *by in ((5,), (4,), (4, 1001))),
    *(two((4, 0), (5, 0), **more) for more in ({"server": "b"}, *OVERLAPPING)),
    UNREAD,
)
def the_clock_of_answers_does_not_run_back(*polls):
    return fed(clocks.ClockRunsBack.call.watch(SimpleNamespace(is_in_order=lambda before, call: True)), *polls)


def test_a_clock_that_went_back_by_the_order_of_frames_alone_did_not():
    watch = clocks.ClockRunsBack.call.watch(SimpleNamespace(is_in_order=lambda before, call: False))
    assert fed(watch, two((4, 0), (5, 0))) == "pass pass then pass inconclusive"


@TABLES.of(
    [{"ticks": 0, "time_100ns": 0}],
    # A twentieth of the longer time, and a twentieth of a second, may lie between: of 10 s 0.55 s.
    *(two((10_000, later)) for later in (105_700_000, 105_900_000, 94_510_000, 94_400_000)),
    *(two((ticks, later)) for ticks, later in ((1000, 10_000_000), (0, 500_000), (0, 600_000))),
    *(two((9, 0, 0), (0, 0, 0)), two((9_000, 0, 1001)), two((4, 10_000_000), (5, 0)), two((9_000, 4), (0, 5))),
    *(two((9_000, 0), **more) for more in ({"server": "b"}, *OVERLAPPING)),
    UNREAD,
)
def both_clocks_of_answers_advance_alike(*polls):
    return fed(clocks.ClocksDisagree.call.watch(None), *polls)


# Addresses of user space beyond 4 GiB, of things of four bytes at least.
@TABLES.of(
    *((1 << 32, size) for size in (8, 16)),
    *((number, 8) for number in ((1 << 32) - 4, (1 << 32) + 2, (1 << 32) + 4, (1 << 47) - 4, 1 << 47)),
    (1 << 20, 4),
)
def what_may_be_an_address(number, size):
    watch = counter_values.AddressInsteadOfValue.call.watch(None)
    key = ("server", "set", "instance", 1)
    watch._seen[key] = counter_values._Constant(number.to_bytes(size, "little"), 3, True, ANY, ANY)
    watch._moved.add(key[:3])
    return [one.outcome.value for one in watch.finish()]


def sized(size, behind):
    return bytes(20) + pack("<I", size) + bytes(behind)


@TABLES.of(
    *(b"", bytes(39), sized(40, 16), sized(39, 16), sized(40, 16) * 2, sized(40, 16) + bytes(39)),
    sized(48, 24) + sized(16, 16),
)
def what_is_too_short_for_an_identifier(data):
    """Where it begins, and what its size is."""
    return _too_short(data)


# ------------------------------------------------------------------------------------------------ counters and queries

LARGE_RAW, OBJECT_TIMER, PRECISION_TIMER = 0x00010100, 0x20610500, 0x20670500
CLOCKED = ("counter_id", "perf_time_id", "perf_freq_id", "counter_type", "base_counter_id")


@TABLES.of(
    ([(1, 7, 7)], {1: 0, 7: LARGE_RAW}),
    # A counter is no clock of its own, and neither is one that the set does not have.
    ([(1, 1, 9)], {1: 0, 7: LARGE_RAW}),
    ([(1, 9, 7), (2, 7, 8)], {7: LARGE_RAW, 8: 0x10000}),
    # Types without a clock of their own are passed over; without a registration nothing can be stated of each.
    ([(1, 9, 9, 0x10000), (2, 7, 7)], {7: LARGE_RAW}),
    ([(1, 7, 7)] * 2, None),
    # The reference of Windows Server 2003 divides a precision timer by its base counter.
    *(([(1, 9, 9, kind, base)], {7: LARGE_RAW}) for kind in (PRECISION_TIMER, OBJECT_TIMER) for base in (7, 8)),
)
def the_clock_of_a_counter_is_another_of_its_set(records, types):
    """Records: id, counters of time and frequency, type, base; then the types of the set."""
    usual = (0, 0, 0, OBJECT_TIMER, 0xFFFFFFFF)
    named = [("lpData.counter", dict(zip(CLOCKED, one + usual[len(one) :], strict=True))) for one in records]
    with (
        patch.object(registrations, "types_of_set", lambda call: types),
        patch.object(registrations, "records_of", lambda call: named),
    ):
        made = list(registrations.clock_counter_wrong.call.check(ANY))
    known = sum(one.deviation is not None for one in made)
    return judgement_words(made) + [f"{known} known of Windows"] * bool(known)


@TABLES.of(*((added, closed) for added in ({2: 1}, {2: 2}, {}) for closed in (None, 3, 2)))
def whether_another_query_was_open_at_call_2(first_adds, closed):
    """Than query 1 of the server, than itself, than one of another server."""
    held = SimpleNamespace(closed=closed, number=2, server=SimpleNamespace(ip="s"))
    open_queries = query_rules._OpenQueries([held], first_adds)
    asked = [
        SimpleNamespace(number=number, server=SimpleNamespace(ip=ip)) for number, ip in ((1, "s"), (2, "s"), (1, "t"))
    ]
    return [open_queries.was_another_open(than, 2) for than in asked]


@given(st.lists(st.tuples(st.integers(1, 9), st.none() | st.integers(1, 12)), max_size=6), st.integers(0, 12))
def test_of_many_queries_one_that_was_open_is_enough(queries, call):
    """Queries by the call that first added to each and the one that closed it."""
    server = SimpleNamespace(ip="s")
    every = [
        SimpleNamespace(closed=closed, number=number, server=server) for number, (_, closed) in enumerate(queries, 1)
    ]
    open_queries = query_rules._OpenQueries(every, {number: first for number, (first, _) in enumerate(queries, 1)})
    for than in every:
        others = [one for number, one in enumerate(queries, 1) if number != than.number]
        was_open = any(first < call and (closed is None or closed > call) for first, closed in others)
        assert open_queries.was_another_open(than, call) is was_open


class _Events(list):
    """Stands for `HandleEvents`."""

    def where(self, is_wanted):
        return filter(is_wanted, self)


def test_a_list_that_is_not_known_hides_no_later_one():
    """Of each query that is listed, whether what others hold is in it; one that cannot be read is in doubt alone."""
    mine, theirs = (SimpleNamespace(counterset="g", counter_id=number, instance="a") for number in (2, 1))
    block = IdentifierBlock(0, 0, "g", 0, 48, 1, 0, 0, 0, wide("A"))
    assert query_rules._counter_key(theirs) == ("g", 1, "a")

    def event(kind, number, held=None, succeeded=True, of=None):
        view = SimpleNamespace(held=held, unknown=None)
        return SimpleNamespace(kind=kind, call=number, succeeded=succeeded, view=view, identifiers=of)

    listed = SimpleNamespace(is_readable=True, identifiers=SimpleNamespace(blocks=[block]))
    lists = [
        event("info", 3, succeeded=False),
        event("info", 4),
        event("info", 5, [mine]),
        event("info", 6, [mine, theirs]),
    ]
    lifetimes = [
        SimpleNamespace(server=SimpleNamespace(ip=ip), number=number, events=_Events(events), closed=None)
        for number, (ip, events) in enumerate(
            (
                ("s", [event("add", 1, of=[mine]), *lists]),
                ("s", [event("add", 2, of=[theirs])]),
                ("t", [event("add", 2, of=[mine])]),
            ),
            1,
        )
    ]
    evidence = SimpleNamespace(lifetimes=lifetimes, call=lambda number: SimpleNamespace(number=number, response=listed))
    made = list(query_rules.counter_of_another_query_reported.call.made(evidence))
    found = [(one.outcome.value, one.call.number if one.call else None) for one in made]
    assert found == [("inconclusive", 4), ("fail", 5), ("pass", None)]
    assert made[1].seen == "counter 1 of g, instance 'A', which was added to q2"
    assert made[1].expected == "the 1 counters that were added to q1"


# ------------------------------------------------------------------------------------------------ orders of bytes


def u4(*numbers):
    return pack(f"<{len(numbers)}I", *numbers)


@TABLES.of(
    *(("instances", u4(*numbers)) for numbers in ((8, 0), (8, 0, 12, 0, 0), (7, 0), (9, 0), (8, 0, 8))),
    *(("identifiers", sized(*sizes)) for sizes in ((40, 16), (39, 16), (44, 20), (44, 16))),
    *(
        ("counterset-info", bytes(24) + u4(count, 0) + bytes(more))
        for count, more in ((0, 0), (1, 48), (1, 47), (2, 48))
    ),
    *(("counter-info", bytes(16) + u4(level)) for level in (100, 200, 101, 300)),
    *(("string-table", u4(*numbers)) for numbers in ((0, 0), (0, 1, 0, 0), (0, 1, 0))),
    *(("perf-data", u4(*head) + bytes(more)) for head, more in (((48, 999), 40), ((47, 0), 40), ((48, 0), 39))),
    *(
        ("perf-data", u4(0, count) + bytes(40) + bytes(8) + u4(size, 0))
        for count, size in ((1, 16), (4, 16), (5, 16), (1, 15), (1, 17))
    ),
)
def numbers_make_sense_in_an_order_of_bytes(kind, data):
    """In the order as written, and turned."""
    turned = b"".join(data[at : at + 4][::-1] for at in range(0, len(data) - 3, 4)) + data[len(data) & ~3 :]
    return [_FITS[kind][0](data, "little"), _FITS[kind][0](turned, "big")]


@TABLES.of(*_FITS)
def what_shows_the_order_of_bytes(kind):
    """The first size or count, and where it is."""
    return list(_FITS[kind][1:])


# ------------------------------------------------------------------------------------------------ structures and dates


def test_structures_begin_at_multiples_of_eight():
    cause = DataBlock(number=0, at=48, status=0, kind=1, size=36, reserved=0, stop=84)
    found = _misplaced([("a", 0), ("b", 8), ("c", 12), ("d", 84)], {"d": cause, "b": cause})
    assert [tuple(one) for one in found] == [
        ("c", (12, 20), "a multiple of 8", "offset 12"),
        ("lpData.blocks[0].size", (56, 60), "a multiple of 8", "36, so that the next begins at 84"),
    ]


@TABLES.of(u4(8, 0) + u4(12, 0, 0) + u4(8, 0), u4(8, 0) + u4(7, 0), u4(8, 0) + u4(8))
def sizes_lead_from_structure_to_structure(data):
    return list(chained(data, 0, 8))


@TABLES.of(
    *(
        {"at": at}
        for at in ("2024-03-05T12:00:00", "2000-01-01", "2100-12-31T23:59:59", "2101-01-01", "1999-12-31T23:59:59")
    ),
    *({"captured": seconds} for seconds in (86_399, -86_399, 86_402, -86_402)),
    *({"shift": seconds} for seconds in (1, -1, 1.5)),
    *({"date": (2024, month, weekday, 5, 12, 0, 0, 0)} for month, weekday in ((13, 2), (3, 3))),
)
def a_system_time_is_of_this_century_and_the_date_beside_it_the_same(
    at="2024-03-05T12:00:00", shift=0, captured=0, date=None
):
    """Of an answer of a moment, whose date is `shift` seconds later, captured `captured` seconds after it."""
    ticks = ticks_of(datetime.fromisoformat(at).replace(tzinfo=UTC))
    seconds = (ticks - 116_444_736_000_000_000) / 10_000_000
    later = datetime.fromtimestamp(seconds + shift, UTC)
    shown = (later.year, later.month, later.isoweekday() % 7, later.day, later.hour, later.minute, later.second)
    header = (0, 0, 0, ticks, 0, *(date or (*shown, later.microsecond // 1000)))
    side = SimpleNamespace(last_time_ns=int((seconds + captured) * 1e9))
    reply = SimpleNamespace(side=side, is_readable=True, answer=SimpleNamespace(header=header))
    return checked(clocks.system_time_implausible, SimpleNamespace(reply=reply, judged_side="response"))


def test_where_a_part_of_a_date_stands():
    """SYSTEMTIME has eight numbers of two bytes ([MS-DTYP] 2.3.13), at 32 of the header."""
    names = ("year", "month", "day_of_week", "day", "hour", "minute", "second", "milliseconds")
    for number, name in enumerate(names):
        assert clocks._place(name) == At("response", f"lpData.system_time.{name}", (32 + 2 * number, 34 + 2 * number))
    assert clocks._place(None) == At("response", "lpData.system_time", (32, 48))


# A Sunday is 0.
@TABLES.of((2024, 3, 2, 5, 12, 34, 56, 789), (2024, 3, 3, 5, 12, 34, 56, 789), (2024, 3, 0, 3, 0, 0, 0, 0))
def a_date_is_one_with_its_day_of_the_week(*parts):
    return str(clocks._moment(parts))


# ------------------------------------------------------------------------------------------------ identifiers


def test_names_of_counters_without_instances_are_counted():
    """Of three such identifiers one has a name; an empty name is neither kept nor broken."""
    registered = countersets({COUNTERSET: (2, {1: 0x10000}), OTHER_COUNTERSET: (0, {1: 0x10000})})
    listed = [*[identifier(OTHER_COUNTERSET)] * 2, *(identifier(OTHER_COUNTERSET, name=name) for name in ("a", ""))]
    info = Calls(first_frame=90).counter_info(b"".join([*listed, identifier(COUNTERSET, name="a")]))
    found = judged("PCQ412", *registered, info)
    assert (len(found.findings), found.count("PL-QCD-R11")) == (1, 2)


test_each_side_of_a_bound_is_judged_as_was_read_through = held(__file__, TABLES)


def test_the_bounds_are_those_that_are_judged():
    assert (counter_values._ENOUGH, counter_values._MOST) == (3, 100_000)
