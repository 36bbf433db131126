"""What every rule is and what it reads, and the types of counters that rules speak of, as literals."""

from pathlib import Path

import pytest

from analyzer.questions.audit import values_with_counters as types
from analyzer.questions.audit.rule_registry import Rule, catalogue, every_rule
from analyzer.questions.series.formulas import TYPES
from tests.written import is_as_written


def words(rule: Rule) -> str:
    """A rule in lines: its name and weight, what it judges, and which parts of which calls have to be readable."""
    lines = [f"{rule.code} {rule.name}, {rule.level.value}, {rule.severity.value}, since {rule.since}"]
    for side, look in (("requests", rule.request), ("calls", rule.call)):
        if look is None:
            continue
        lines.append(f"  of {side} judges {' '.join(look.requirements)}")
        if (reads := look.reads) is not None:
            flags = " ".join(name for name in ("success", "failure", "damaged") if getattr(reads, name))
            opnums, codes = (" ".join(str(int(one)) for one in given) for given in (reads.opnums, reads.codes))
            lines.append(f"    reads {reads.interface} {opnums}; codes {codes}; {' '.join(reads.parts)} {flags}")
        way = "check" if look.check is not None else "watch" if look.watch is not None else "at the end"
        lines.append(f"    {way}{', of each' if look.of_each else ''}")
        lines += [f"    with the answer: {look.needs_answer}"] if look.needs_answer else []
        for opnum, requirements in sorted((look.by_method or {}).items()):
            lines.append(f"    opnum {opnum}: {' '.join(requirements)}")
    return "".join(f"{line}\n" for line in lines)


def test_what_each_rule_reads_and_judges() -> None:
    text = "".join(words(rule) for rule in every_rule())
    is_as_written(Path(__file__).with_name("registered_rules.txt"), text)


def test_requirements_are_those_of_the_rules() -> None:
    for rule in every_rule():
        assert set(rule.requirements) <= set(catalogue())
        for look in rule.looks:
            for opnum, requirements in (look.by_method or {}).items():
                assert set(requirements) <= set(look.requirements)
                assert look.concerning(opnum) == requirements
                assert opnum in look.reads.opnums
            assert look.concerning(None) == look.requirements


# The table of [MS-PCQ] section 2.2.4.2, in its order; what the types are in numbers, winperf.h says.
LISTED = """
    RAWCOUNT_HEX LARGE_RAWCOUNT_HEX TEXT RAWCOUNT LARGE_RAWCOUNT SAMPLE_COUNTER QUEUELEN_TYPE LARGE_QUEUELEN_TYPE
    100NS_QUEUELEN_TYPE OBJ_TIME_QUEUELEN_TYPE COUNTER BULK_COUNT RAW_FRACTION LARGE_RAW_FRACTION TIMER
    PRECISION_SYSTEM_TIMER 100NSEC_TIMER PRECISION_100NS_TIMER OBJ_TIME_TIMER PRECISION_OBJECT_TIMER SAMPLE_FRACTION
    TIMER_INV 100NSEC_TIMER_INV MULTI_TIMER 100NSEC_MULTI_TIMER MULTI_TIMER_INV 100NSEC_MULTI_TIMER_INV AVERAGE_TIMER
    ELAPSED_TIME AVERAGE_BULK SAMPLE_BASE AVERAGE_BASE RAW_BASE LARGE_RAW_BASE
"""


def named(*names: str) -> list[int]:
    """The numbers of types by their names without `PERF_` and `PERF_COUNTER_`."""
    by_name = {name.removeprefix("PERF_").removeprefix("COUNTER_"): number for number, name in TYPES.items()}
    return [by_name[name] for name in names]


def test_types_of_counters_are_those_of_the_specification() -> None:
    assert list(types.LISTED) == named(*LISTED.split())
    assert set(types.DELTAS) == set(named("DELTA", "LARGE_DELTA"))
    assert tuple(named("RAWCOUNT", "LARGE_RAWCOUNT")) == (types.RAWCOUNT, types.LARGE_RAWCOUNT)
    assert set(types.MULTI) == set(
        named("MULTI_TIMER", "100NSEC_MULTI_TIMER", "MULTI_TIMER_INV", "100NSEC_MULTI_TIMER_INV")
    )
    clocked = ("OBJ_TIME_QUEUELEN_TYPE", "ELAPSED_TIME", "OBJ_TIME_TIMER", "PRECISION_OBJECT_TIMER")
    assert set(types.OWN_CLOCK) == set(named(*clocked))
    assert named("PRECISION_OBJECT_TIMER") == [types.PRECISION_OBJECT_TIMER]


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("RAW_FRACTION", "RAW_BASE"),
        ("LARGE_RAW_FRACTION", "LARGE_RAW_BASE"),
        ("PRECISION_SYSTEM_TIMER", "LARGE_RAW_BASE"),
        ("PRECISION_100NS_TIMER", "LARGE_RAW_BASE"),
        ("SAMPLE_FRACTION", "SAMPLE_BASE"),
        ("AVERAGE_TIMER", "AVERAGE_BASE"),
        ("AVERAGE_BULK", "AVERAGE_BASE"),
    ],
)
def test_a_type_that_is_a_quotient_has_its_base(name: str, base: str) -> None:
    assert [types.BASE_OF[named(name)[0]]] == named(base)
    assert len(types.BASE_OF) == 7
