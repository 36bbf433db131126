"""What stands in the headers of data answers and their blocks: clocks, dates, status, reserved fields, padding, byte order."""

from struct import pack, pack_into

import pytest
from msgspec.structs import replace

from tests.build.buffers import Block, identifier, instance_header, perf_data
from tests.build.calls import COUNTERSET, MS, Calls, sealed
from tests.questions.audit.judging import judged

# 2024-03-05 12:34:56.789 UTC, a Tuesday, as the headers made here say; and the same for the capture.
NOW = 133_541_156_967_890_000
CAPTURED = (NOW - 116_444_736_000_000_000) * 100
ERROR = Block(0, status=0x1069)
CODES = ("PCQ515", "PCQ516", "PCQ521", "PCQ522", "PCQ531", "PCQ540")


def answer(data, later=0):
    """A call answered with `data` at the time of its header, or so many seconds later."""
    call, at = Calls().counter_data(bytes(data)), CAPTURED + later * 1000 * MS
    request = replace(call.request, first_time_ns=at - MS, last_time_ns=at - MS)
    return replace(call, request=request, response=replace(call.response, first_time_ns=at, last_time_ns=at))


def data(blocks=(ERROR,), ticks=5, now=NOW, frequency=10_000_000):
    return bytearray(perf_data(list(blocks), (ticks, now, frequency)))


def changed(at, form, *values, blocks=(ERROR,)):
    made = data(blocks)
    pack_into(form, made, at, *values)
    return answer(made)


@pytest.mark.parametrize("code", [code for code in CODES if code not in ("PCQ516", "PCQ522")])
def test_a_sound_answer_passes(code):
    verdict = judged(code, answer(data()))
    assert not verdict.findings
    assert {coverage.verdict for coverage in verdict.coverage.values()} == {"pass"}


@pytest.mark.parametrize("code", CODES)
def test_a_sealed_answer_proves_nothing(code):
    verdict = judged(code, sealed(changed(48, "<4I", 0xC0000001, 0, 16, 7)))
    assert not verdict.findings
    assert {coverage.verdict for coverage in verdict.coverage.values()} == {"inconclusive"}


def test_a_reserved_field_in_use_is_flagged():
    verdict = judged("PCQ515", changed(48 + 12, "<I", 7))
    (finding,) = verdict.findings
    assert finding.judgement.seen == "0x7"
    assert (finding.place.start, finding.place.stop) == (20 + 60, 20 + 64)


@pytest.mark.parametrize(("status", "outcome"), [(0xC0000034, "fail"), (0x80070005, "fail"), (0x12345, "warn")])
def test_a_status_that_is_no_win32_code_is_reported(status, outcome):
    (finding,) = judged("PCQ540", changed(48, "<I", status)).findings
    assert finding.judgement.outcome == outcome


@pytest.mark.parametrize("status", [0, 5, 0x1069, 15_841])
def test_win32_codes_are_accepted(status):
    assert not judged("PCQ540", changed(48, "<I", status)).findings


def instances(kind):
    ids = (1,) if kind == 6 else ()
    return Block(kind, ids=ids, instances=(("ab", 0), ("c", 1)), values=((b"\1\0\0\0",), (b"\2\0\0\0",)))


def padded(kind, fill):
    """The last two bytes of the second instance's header: `c`, NUL, and four bytes."""
    made = data([instances(kind)])
    at = made.index(instance_header("c", 1)) + 14
    made[at : at + 2] = fill
    return answer(made)


def test_padding_after_a_name_must_be_zero_in_type_4():
    verdict = judged("PCQ516", padded(4, b"\x41\0"))
    (finding,) = verdict.findings
    assert finding.judgement.seen == "00 00 41 00"
    assert finding.place.stop - finding.place.start == 4


def test_padding_is_free_in_type_6_and_zero_is_accepted_in_type_4():
    assert judged("PCQ516", padded(6, b"\x41\0")).verdict("PCQ-3.1.4.1.6-R22") == "not-exercised"
    assert judged("PCQ516", padded(4, b"\0\0")).verdict("PCQ-3.1.4.1.6-R22") == "pass"


@pytest.mark.parametrize(
    ("at", "form", "values", "requirements"),
    [
        (16, "<Q", (0,), {"PCQ-2.2.4.7-R05"}),
        (16, "<Q", (1 << 63,), {"PCQ-2.2.4.7-R05"}),
        (34, "<H", (13,), {"PCQ-2.2.4.7-R08"}),
        (36, "<H", (3,), {"PCQ-2.2.4.7-R08"}),
        (38, "<H", (0,), {"PCQ-2.2.4.7-R08"}),
        (40, "<H", (24,), {"PCQ-2.2.4.7-R08"}),
        (46, "<H", (1000,), {"PCQ-2.2.4.7-R08"}),
        (44, "<H", (59,), {"PCQ-2.2.4.7-R09"}),
    ],
)
def test_times_that_cannot_be_are_reported(at, form, values, requirements):
    assert judged("PCQ521", changed(at, form, *values)).requirements == requirements


def test_a_time_far_from_the_capture_is_inconclusive():
    verdict = judged("PCQ521", answer(data(now=NOW + 2 * 86400 * 10_000_000)))
    assert verdict.verdict("PCQ-2.2.4.7-R05") == "inconclusive"


def test_two_moments_more_than_a_second_apart_are_a_warning():
    (finding,) = judged("PCQ521", answer(data(now=NOW + 30_000_000))).findings
    assert finding.judgement.outcome == "warn"


def test_clocks_that_run_unlike_are_a_warning():
    first, second = answer(data(ticks=0)), answer(data(ticks=100_000_000, now=NOW + 10_000_000), later=1)
    (finding,) = judged("PCQ522", first, second).findings
    assert (finding.judgement.expected, finding.judgement.seen) == ("1.000 s", "10.000 s")


def test_clocks_that_run_alike_are_accepted():
    verdict = judged("PCQ522", answer(data(ticks=0)), answer(data(ticks=10_200_000, now=NOW + 10_000_000), later=1))

    assert not verdict.findings
    assert verdict.verdict("PCQ-2.2.4.7-R07") == "pass"


def test_calls_that_overlap_say_nothing_of_how_clocks_run():
    first, second = answer(data(ticks=0)), answer(data(ticks=100_000_000, now=NOW + 10_000_000))
    assert judged("PCQ522", first, second).verdict("PCQ-2.2.4.7-R07") == "not-exercised"


def test_one_answer_says_nothing_of_how_clocks_run():
    assert judged("PCQ522", answer(data())).verdict("PCQ-2.2.4.7-R07") == "not-exercised"


def swapped(made, *places):
    made = bytearray(made)
    for at in places:
        made[at : at + 4] = made[at : at + 4][::-1]
    return bytes(made)


def test_big_endian_buffers_are_flagged():
    calls = Calls()
    verdict = judged("PCQ531", answer(swapped(data(), 0, 4, 56)))
    assert verdict.findings[0].judgement.seen.endswith("big-endian")
    assert judged("PCQ531", calls.counter_info(swapped(identifier(COUNTERSET), 20))).findings
    assert judged("PCQ531", calls.validate(swapped(identifier(COUNTERSET), 20))).findings
    info = bytes(24) + pack(">II", 0, 0)
    assert not judged("PCQ531", calls.registration(1, info)).findings
    info = bytes(24) + pack(">II", 1, 0) + bytes(48)
    assert judged("PCQ531", calls.registration(1, info)).findings


def test_the_label_of_the_call_does_not_matter():
    verdict = judged("PCQ531", Calls(big_endian=True).counter_data(bytes(data())))
    assert not verdict.findings
    assert verdict.verdict("PCQ-2.2.4-R01") == "pass"


def test_a_buffer_that_fits_neither_order_is_inconclusive():
    assert (
        judged("PCQ531", Calls().counter_info(identifier(COUNTERSET)[:-1])).verdict("PCQ-2.2.4-R01") == "inconclusive"
    )
