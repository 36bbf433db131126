"""What data answers and lists of counters say against each other, and against what was added to the handle."""

import pytest

from tests.build.buffers import Block, identifier, perf_data
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.registered import countersets, enumerated, instances

ALL = 0xFFFFFFFF
VALUE = b"\7\0\0\0"
ONE = Block(1, values=((VALUE,),))
SEVERAL = Block(2, ids=(1, 2), values=((VALUE, VALUE),))
EACH = Block(4, instances=(("a", 0), ("b", 1)), values=((VALUE,), (VALUE,)))
EVERYTHING = Block(6, ids=(1, 2), instances=(("a", 0), ("b", 1)), values=((VALUE, VALUE),) * 2)
ERROR = Block(0, status=0x1069)
NAMED = identifier(COUNTERSET, name="a")
REGISTERED = {COUNTERSET: (2, {1: 0x10000, 2: 0x10000}), OTHER_COUNTERSET: (0, {1: 0x10000})}


def data(calls, *blocks):
    return calls.counter_data(perf_data(list(blocks)))


def full_conversation(held, *blocks, known=REGISTERED):
    """A handle that holds `held` by QueryCounterInfo, and one answer."""
    calls = Calls()
    return [*countersets(known, calls), calls.open_query(), calls.counter_info(held), data(calls, *blocks)]


# ------------------------------------------------------------------------------------------- forms of blocks


def asked(counter, name, guid=COUNTERSET):
    return identifier(guid, counter=counter, name=name)


@pytest.mark.parametrize(
    ("held", "block"),
    [
        (asked(1, "a"), ONE),
        (asked(ALL, "a"), SEVERAL),
        (asked(1, "*"), EACH),
        (asked(ALL, "*"), EVERYTHING),
        (asked(ALL, "*"), ERROR),
        (asked(1, None, OTHER_COUNTERSET), ONE),
        (asked(1, "*", OTHER_COUNTERSET), ONE),
        (asked(ALL, "*", OTHER_COUNTERSET), SEVERAL),
    ],
)
def test_blocks_of_the_form_their_counter_asks_for_are_accepted(held, block):
    verdict = judged("PCQ545", *full_conversation(held, block))
    assert not verdict.findings
    assert verdict.count("PL-QCD-R10") == 1


@pytest.mark.parametrize(
    ("held", "block", "requirements"),
    [
        (asked(1, "a"), EACH, {"PCQ-2.2.4.8-R06"}),
        (asked(1, "a"), SEVERAL, {"PCQ-2.2.4.8-R05"}),
        (asked(1, "*"), EVERYTHING, {"PCQ-2.2.4.8-R07"}),
        (asked(1, "*"), ONE, {"PCQ-2.2.4.8-R04", "PCQ-3.1.4.1.7-R16"}),
        (asked(ALL, "a"), ONE, {"PCQ-2.2.4.8-R04", "PCQ-3.1.4.1.7-R15"}),
        (asked(ALL, "*"), EACH, {"PCQ-2.2.4.8-R06", "PCQ-3.1.4.1.7-R15"}),
        (asked(ALL, "*"), SEVERAL, {"PCQ-2.2.4.8-R05", "PCQ-3.1.4.1.7-R16"}),
        (asked(1, None, OTHER_COUNTERSET), EACH, {"PCQ-2.2.4.8-R06"}),
    ],
)
def test_blocks_of_another_form_are_flagged(held, block, requirements):
    verdict = judged("PCQ545", *full_conversation(held, block))
    assert verdict.requirements == requirements | {"PCQ-2.2.4.6-R05", "PL-QCD-R10"}
    assert verdict.findings[0].judgement.at.path == "lpData.blocks[0].block_type"


def test_a_wildcard_may_find_one_instance_where_nothing_tells_of_the_counterset():
    assert not judged("PCQ545", *full_conversation(asked(1, "*"), ONE, known={})).findings


def test_without_the_handles_counters_no_form_is_judged():
    calls = Calls()
    for events in ([data(calls, ONE)], [sealed(call) for call in full_conversation(NAMED, EACH)]):
        verdict = judged("PCQ545", *events)
        assert {coverage.verdict for coverage in verdict.coverage.values()} == {"inconclusive"}


# ------------------------------------------------------------------------------------------- numbers of blocks


def added(calls, *identifiers):
    return calls.validate(b"".join(identifiers))


def test_fewer_blocks_than_counters_are_flagged():
    calls = Calls()
    made = [calls.open_query(), added(calls, NAMED, asked(2, "a")), data(calls, ONE)]
    (finding,) = judged("PCQ546", *made).findings
    assert finding.judgement.seen == "1 blocks"
    assert (finding.place.start, finding.place.stop) == (24, 28)


def test_error_blocks_count():
    calls = Calls()
    made = [calls.open_query(), added(calls, NAMED, asked(2, "a")), data(calls, ONE, ERROR)]
    assert judged("PCQ546", *made).verdict("PCQ-3.1.1.5-R03") == "pass"


def test_the_number_of_blocks_is_inconclusive_where_the_handle_is_not_known():
    calls = Calls()
    doubled = [calls.open_query(), added(calls, NAMED), added(calls, NAMED), data(calls, ONE, ONE)]
    unknown = [data(calls, ONE)]
    unread = [calls.open_query(), sealed(added(calls, NAMED)), data(calls, ONE)]
    twice = [
        calls.open_query(),
        calls.counter_info(NAMED + identifier(COUNTERSET, name="a", index=1)),
        data(calls, ONE, ONE),
    ]
    for events in (doubled, unknown, unread, twice):
        assert judged("PCQ546", *events).verdict("PCQ-3.1.1.5-R03") == "inconclusive"


# ------------------------------------------------------------------------------------------- Index


def test_two_counters_with_the_same_index_are_flagged():
    calls = Calls()
    verdict = judged("PCQ450", calls.counter_info(NAMED + asked(2, "a")))
    assert verdict.findings[0].judgement.at.path == "lpData.identifiers[1].index"
    fine = NAMED + identifier(COUNTERSET, counter=2, name="a", index=1)
    assert judged("PCQ450", calls.counter_info(fine)).verdict("PCQ-3.1.4.1.5-R13") == "pass"
    assert judged("PCQ450", sealed(calls.counter_info(fine))).verdict("PCQ-3.1.4.1.5-R13") == "inconclusive"


def test_an_index_beyond_the_blocks_is_flagged_until_counters_change():
    far = identifier(COUNTERSET, name="a", index=5)
    (finding,) = judged("PCQ450", *full_conversation(far, ONE)).findings
    assert (finding.judgement.expected, finding.judgement.seen) == ("a block at position 5", "1 blocks")
    calls = Calls()
    changed = [calls.open_query(), calls.counter_info(far), added(calls, asked(2, "a")), data(calls, ONE)]
    assert not judged("PCQ450", *changed).findings


# ------------------------------------------------------------------------------------------- lists of counters


def test_a_counter_left_out_or_made_up_is_flagged():
    calls = Calls()
    first = [calls.open_query(), added(calls, NAMED, asked(2, "a"))]
    missing = judged("PCQ445", *first, calls.counter_info(NAMED))
    assert missing.findings[0].judgement.expected.startswith("counter 2 of")
    assert missing.requirements == {"PCQ-3.1.4.1.5-R11", "PCQ-3.1.1.5-R02"}
    extra = judged("PCQ445", *first, calls.counter_info(NAMED + asked(2, "a") + asked(3, "a")))
    assert extra.findings[0].judgement.at.path == "lpData.identifiers[2]"
    removed = [*first, calls.validate(NAMED, add=0), calls.counter_info(asked(2, "a"))]
    assert judged("PCQ445", *removed).verdict("PCQ-3.1.4.1.5-R11") == "pass"


def test_order_case_and_any_instance_id_do_not_matter():
    calls = Calls()
    sent = identifier(COUNTERSET, instance=ALL, name="a")
    made = [calls.open_query(), added(calls, sent, asked(2, "a")), calls.counter_info(asked(2, "A") + NAMED)]
    assert judged("PCQ445", *made).verdict("PCQ-3.1.4.1.5-R11") == "pass"


def test_a_list_is_inconclusive_where_the_opening_is_not_in_the_capture():
    calls = Calls()
    made = [added(calls, NAMED), calls.counter_info(b"")]
    assert judged("PCQ445", *made).verdict("PCQ-3.1.1.5-R02") == "inconclusive"


# ------------------------------------------------------------------------------------------- instances


def test_an_instance_id_that_was_not_listed_is_a_warning():
    calls = Calls()
    known = [*countersets(REGISTERED, calls), instances({0: "a", 1: "b"}, calls)]
    seven = added(calls, identifier(COUNTERSET, instance=7, name="a"))
    (finding,) = judged("PCQ440", *known, seven).findings
    assert (finding.judgement.outcome, finding.judgement.seen) == ("warn", "7")
    single = added(calls, identifier(OTHER_COUNTERSET, instance=7))
    accepted = [added(calls, identifier(COUNTERSET, instance=number, name="a")) for number in (1, ALL)]
    assert judged("PCQ440", *known, single, *accepted).count("PCQ-2.2.4.6-R08") == 3
    assert judged("PCQ440", seven).verdict("PCQ-2.2.4.6-R08") == "inconclusive"


def test_other_instances_than_those_listed_are_a_note_of_low_confidence():
    calls = Calls()
    (finding,) = judged("PCQ550", instances({0: "c", 1: "d"}, calls), *full_conversation(asked(1, "*"), EACH)).findings
    assert (finding.judgement.confidence.name, finding.judgement.seen) == ("LOW", "'a', 'b'")
    assert finding.is_excused
    near = judged("PCQ550", instances({0: "A", 2: "d", 1: "b"}, calls), *full_conversation(asked(1, "*"), EACH))
    assert near.verdict("PCQ-3.1.4.1.6-R29") == "pass"
    (other,) = judged("PCQ550", instances({0: "a", 7: "b"}, calls), *full_conversation(asked(1, "*"), EACH)).findings
    assert (other.judgement.outcome, other.judgement.seen, other.place.stop - other.place.start) == ("warn", "1", 4)
    assert judged("PCQ550", *full_conversation(asked(1, "*"), EACH)).verdict("PCQ-3.1.4.1.6-R29") == "inconclusive"


@pytest.mark.parametrize(
    ("kind", "names", "verdict"),
    [(4, ("a",), "warn"), (0xC, ("a",), "warn"), (4, ("a", "b"), "pass"), (4, ("*",), "pass"), (6, ("a",), None)],
)
def test_aggregates_over_all_instances_want_all_of_them(kind, names, verdict):
    calls = Calls()
    known = [*countersets({COUNTERSET: (kind, {1: 0x10000})}, calls), calls.open_query()]
    adds = added(calls, *(asked(1, name) for name in names))
    stated = judged("PCQ455", *known, instances({0: "a", 1: "b"}, calls), adds)
    assert [finding.judgement.outcome for finding in stated.findings] == (["warn"] if verdict == "warn" else [])
    assert stated.verdict("PCQ-2.2.4.2-R74") == (verdict or "not-exercised")
    if verdict == "warn":
        assert judged("PCQ455", *known, adds).verdict("PCQ-2.2.4.2-R74") == "inconclusive"


# ------------------------------------------------------------------------------------------- status


def status_of(status, *before, adds=1, sent=NAMED, known=True):
    """An identifier with the status it got, after other calls."""
    calls = Calls()
    answered = bytearray(sent)
    answered[16:20] = status.to_bytes(4, "little")
    listed = (
        [*countersets(REGISTERED, calls), enumerated([COUNTERSET], calls), instances({0: "a"}, calls)] if known else []
    )
    made = [*listed, calls.open_query(), *(call(calls) for call in before)]
    return [*made, calls.validate(sent, bytes(answered), add=adds)]


def before(calls):
    return added(calls, NAMED)


UNKNOWN_SET = identifier("00000000-0000-0000-0000-000000000001", name="a")
CASES = {
    "a registered counter not found": (0x106A, (), 1, NAMED, "R22", "fail"),
    "an unregistered counter not found": (0x106A, (), 1, asked(9, "a"), "R22", "pass"),
    "an unregistered counter added": (0, (), 1, asked(9, "a"), "R20", "fail"),
    "a registered counter added": (0, (), 1, NAMED, "R20", "pass"),
    "a listed counterset not found": (0x1068, (), 1, NAMED, "R21", "fail"),
    "an unlisted counterset not found": (0x1068, (), 1, UNKNOWN_SET, "R21", "pass"),
    "a counter of an unlisted counterset added": (0, (), 1, UNKNOWN_SET, "R21", "fail"),
    "an unlisted instance added": (0, (), 1, asked(1, "z"), "R23", "warn"),
    "a listed instance not found": (3, (), 1, NAMED, "R23", "warn"),
    "an unlisted instance not found": (3, (), 1, asked(1, "z"), "R23", "pass"),
    "a counter added twice": (0, (before,), 1, NAMED, "R24", "fail"),
    "a counter stated to be there": (0xB7, (before,), 1, NAMED, "R24", "pass"),
    "a counter stated to be there that is not": (0xB7, (), 1, NAMED, "R24", "fail"),
    "a counter removed that is not there": (0, (), 0, NAMED, "R25", "fail"),
    "a counter stated not to be there": (0x57, (), 0, NAMED, "R25", "pass"),
    "a counter that is there not removed": (0x57, (before,), 0, NAMED, "R25", "fail"),
    "a sound identifier stated to be corrupt": (0x57, (), 1, NAMED, "R25", "inconclusive"),
    "a corrupt identifier": (0x57, (), 1, NAMED[:36] + b"\1" + NAMED[37:], "R25", "pass"),
    "no memory": (0xE, (), 1, NAMED, "R26", "pass"),
    "one failed, the call did not": (0xE, (), 1, NAMED, "R27", "pass"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_status_is_held_against_what_was_said_before(case):
    status, earlier, adds, sent, number, expected = CASES[case]
    requirement = f"PCQ-3.1.4.1.7-{number}"
    verdict = judged("PCQ435", *status_of(status, *earlier, adds=adds, sent=sent))
    outcomes = [finding.judgement.outcome for finding in verdict.findings]
    assert outcomes == ([expected] if expected in ("fail", "warn") else [])
    assert verdict.verdict(requirement) == expected


@pytest.mark.parametrize(("status", "number"), [(0x1068, "R21"), (0x106A, "R22"), (3, "R23")])
def test_a_status_is_inconclusive_without_what_it_is_held_against(status, number):
    assert judged("PCQ435", *status_of(status, known=False)).verdict(f"PCQ-3.1.4.1.7-{number}") == "inconclusive"


@pytest.mark.parametrize(
    ("status", "adds", "number"), [(0xB7, 1, "R24"), (0x57, 0, "R25"), (0, 1, "R20"), (0, 0, "R20")]
)
def test_a_status_is_inconclusive_where_the_handle_is_not_known(status, adds, number):
    verdict = judged("PCQ435", status_of(status, adds=adds, known=False)[-1])
    assert verdict.verdict(f"PCQ-3.1.4.1.7-{number}") == "inconclusive"


def test_two_alike_in_one_call_may_have_either_status():
    calls = Calls()
    twice = NAMED + NAMED
    for second in (0, 0xB7):
        answered = NAMED + identifier(COUNTERSET, status=second, name="a")
        assert not judged("PCQ435", calls.open_query(), calls.validate(twice, answered)).findings


def test_a_wildcard_may_remove_what_it_covers():
    made = status_of(0, before, adds=0, sent=asked(ALL, "*"))
    assert not judged("PCQ435", *made).findings


# ------------------------------------------------------------------------------------------- sizes and failures


def query(calls, room, status=0, needed=None):
    asked = calls.stub().handle("5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10").uint(room)
    made = b"" if status else perf_data([])
    return calls.exchange(6, asked, calls.sized(made, status, needed=needed))


def test_the_size_the_server_asked_for_is_enough():
    calls = Calls()
    first = query(calls, 0, 8, 800)
    (finding,) = judged("PCQ560", first, query(calls, 800, 8, 800)).findings
    assert finding.judgement.at.path == "pdwRtnSize"
    assert judged("PCQ560", first, query(calls, 800)).verdict("PL-QCD-R04") == "pass"
    assert judged("PCQ560", first, query(calls, 800, 8, 900)).verdict("PL-QCD-R04") == "inconclusive"
    assert judged("PCQ560", first, query(calls, 100, 8, 800)).verdict("PL-QCD-R04") == "not-exercised"
    assert judged("PCQ560", sealed(first), query(calls, 800)).verdict("PL-QCD-R04") == "inconclusive"


def test_a_size_of_a_failure_that_defines_none_is_not_to_be_used():
    calls = Calls()
    first = query(calls, 64, 5, 12345)
    (finding,) = judged("PCQ561", first, query(calls, 12345)).findings
    assert (finding.judgement.outcome, finding.judgement.at.path) == ("warn", "dwInSize")
    assert judged("PCQ561", first, query(calls, 64)).verdict("PL-QCD-R05") == "pass"
    assert judged("PCQ561", query(calls, 64, 5, 0), query(calls, 64)).verdict("PL-QCD-R05") == "not-exercised"
    assert judged("PCQ561", sealed(first)).verdict("PL-QCD-R05") == "inconclusive"


def test_a_failure_is_a_win32_code():
    calls = Calls()
    assert judged("PCQ562", query(calls, 64, 0x80070005)).findings[0].judgement.outcome == "fail"
    assert judged("PCQ562", query(calls, 64, 0x12345)).findings[0].judgement.outcome == "warn"
    assert judged("PCQ562", query(calls, 64, 5)).verdict("PL-QCD-R06") == "pass"
    assert judged("PCQ562", sealed(query(calls, 64, 5))).verdict("PL-QCD-R06") == "inconclusive"
