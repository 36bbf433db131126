"""Bytes nobody meant to be buffers: rules say what they say, in time, and never fail themselves."""

from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.data_answers import read_answer
from analyzer.questions.audit.identifier_lists import read_identifiers
from tests.build.buffers import Block, identifier, perf_data
from tests.build.calls import COUNTERSET, Calls, analysis_of
from tests.steps import within

ROW = (b"\1\0\0\0", bytes(8), b"\3\0\0\0")
SOUND = perf_data(
    [
        Block(1, values=(ROW[:1],)),
        Block(2, ids=(1, 2, 3), values=(ROW,)),
        Block(4, instances=(("a", 0), ("b", 1)), values=(ROW[:1],) * 2),
        Block(6, ids=(1, 2, 3), instances=(("a", 0), ("b", 1)), values=(ROW,) * 2),
        Block(0, status=0x1069),
    ]
)
NAMED = identifier(COUNTERSET, name="a") * 3


def spliced(sound: bytes):
    """Random bytes in the place of some of a sound buffer."""
    return st.tuples(st.integers(0, len(sound)), st.binary(max_size=24), st.integers(0, 24)).map(
        lambda drawn: sound[: drawn[0]] + drawn[1] + sound[drawn[0] + drawn[2] :]
    )


@settings(max_examples=60)
@given(spliced(SOUND), spliced(NAMED))
def test_random_bytes_spliced_in_never_break_a_rule(data, listed):
    calls = Calls()
    made = [calls.open_query(), calls.validate(listed), calls.counter_info(listed), calls.counter_data(data)]
    for finding in Audit(analysis_of(*made)).findings():
        place = finding.place
        assert place is None or 0 <= place.start <= place.stop <= len(place.source)


def header(count: int, size: int) -> bytes:
    return pack("<II3Q8H", size, count, 5, 133_541_156_967_890_000, 7, 2024, 3, 2, 5, 12, 34, 56, 789)


LARGE = 1 << 15
HOSTILE = {
    "a block of endless values that never fit": header(1, 0)
    + pack("<4I", 0, 2, LARGE, 0)
    + pack("<II", 16, 2)
    + pack("<II", 0, 8) * (LARGE // 8),
    "instances without names": header(1, 0)
    + pack("<4I", 0, 4, LARGE, 0)
    + pack("<II", LARGE, 7)
    + pack("<4I", 8, 0, 0, 8) * (LARGE // 16),
    "a block after the other of no size": header(0xFFFFFFFF, 0) + pack("<4I", 0, 0, 16, 0) * (LARGE // 16),
    "types that do not exist": header(0xFFFFFFFF, 0) + pack("<4I", 0, 9, 16, 0) * (LARGE // 16),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_forged_answers_cost_no_more_than_the_bytes_they_come_in(what):
    data = HOSTILE[what]
    assert within(4 * len(data), lambda: read_answer(data)).flaws


def test_many_identifiers_are_compared_at_a_cost_in_proportion():
    listed = b"".join(identifier(COUNTERSET, counter=number, name="a", status=0xB7) for number in range(500))
    assert len(within(len(listed), lambda: read_identifiers(listed)).blocks) == 500
    calls = Calls()
    first = identifier(COUNTERSET, counter=0xFFFFFFFF, name="*")
    made = [calls.open_query(), calls.validate(first), *(calls.validate(listed, listed) for _ in range(4))]
    audit = Audit(analysis_of(*made, calls.counter_info(listed)))
    within(120 * len(listed), lambda: list(audit.findings()))
