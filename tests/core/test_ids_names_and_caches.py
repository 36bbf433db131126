"""Frame ids, labels, names, and what is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.array_functions import distinct, first_places, narrowed
from analyzer.core.caches import Kept
from analyzer.core.dcerpc_encoding import NDR, bind_ack_body
from analyzer.core.error_code_names import (
    known_nt_status_name,
    nt_status_name,
    nt_status_numbers,
    win32_name,
    win32_numbers,
)
from analyzer.core.frame_ids import file_of, frame_id, number_of
from analyzer.core.limits import MemoryBudget
from analyzer.core.wire_numbers import WireNumbers
from analyzer.results.reported_names.server_names import Name, Named, SampleNames, Texts


class Colour(metaclass=WireNumbers):
    RED = 1


def test_frame_ids_of_the_first_file_are_the_numbers() -> None:
    assert frame_id(0, 7) == 7
    assert (file_of(frame_id(3, 7)), number_of(frame_id(3, 7))) == (3, 7)
    assert frame_id(0, 9_999_999) < frame_id(1, 1)


def test_an_unknown_number_is_labelled_as_such() -> None:
    assert (list(Colour), 1 in Colour, Colour.label(1)) == ([1], True, "RED")
    assert Colour.label(0x2A) == "0x2a?"


def test_a_text_is_learnt_of_the_capture_before_that_of_a_file() -> None:
    texts: Texts[int] = Texts()
    assert texts.fill(1031, "Prozessor") is None
    assert texts.fill(1031, "another file") is None
    assert texts.get(1031) == Name("Prozessor", "metadata")
    assert texts.learn(1031, "Prozessor")
    assert not texts.learn(1031, "Prozessor")
    assert texts.learn(1031, "CPU")
    assert texts.fill(1031, "CPU") is None
    assert texts.fill(1031, "Prozessor") == Name("CPU", "capture")
    assert list(texts) == [(1031, Name("CPU", "capture"))]


def test_the_text_for_people_is_of_a_preferred_language_then_of_the_capture_then_the_first() -> None:
    file, capture, other = Name("a", "metadata"), Name("b", "capture"), Name("c", "metadata")
    assert Texts[int]().first() == (None, None)
    assert Texts.collect_texts([(1, file), (2, other)]).first() == (1, file)
    assert Texts.collect_texts([(1, file), (2, capture)]).first() == (2, capture)
    assert Texts.collect_texts([(1, file), (2, capture), (3, other)]).first(lambda language: language == 3) == (
        3,
        other,
    )
    # Without a preference, all languages are preferred alike.
    assert Texts.collect_texts([(1, file), (2, capture)]).first(lambda _: False) == (2, capture)


def test_the_source_of_a_counter_is_that_of_its_name_for_people() -> None:
    english, local = Name("Processor", "well-known"), Name("Prozessor", "capture")
    assert SampleNames(Named(), Named(english, local, 1031)).source == "well-known"
    assert SampleNames(Named(english), Named(None, local, 1031)).source == "capture"
    assert SampleNames(Named(english), Named()).source is None


# Holders share a limit of memory; those silent longest give way.


def test_those_silent_longest_give_way_until_a_quarter_is_free() -> None:
    budget = MemoryBudget(100)
    for holder in range(4):
        assert budget.holds(holder, 25) == []
    assert budget.holds(0, 25) == []
    assert budget.holds(4, 10) == [1, 2]
    assert budget.given_up == 2
    assert budget.holds(5, 35) == []
    assert budget.holds(5, 45) == [3, 0]


def test_what_a_holder_held_before_counts_no_more() -> None:
    budget = MemoryBudget(100)
    for _ in range(10):
        assert budget.holds(1, 90) == []
    assert budget.holds(1, 5) == []
    assert budget.holds(2, 95) == []
    budget.ends(2)
    budget.ends(2)
    assert budget.holds(3, 95) == []


def test_one_that_is_too_large_alone_gives_way_itself() -> None:
    budget = MemoryBudget(100)
    assert budget.holds(1, 0) == []
    assert budget.holds(2, 101) == [2]
    assert budget.holds(3, 100) == []


# What numpy does not do.


@given(st.lists(st.integers(-5, 5)))
def test_distinct_values_are_those_of_a_set_in_order(values: list[int]) -> None:
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))


@given(st.lists(st.integers(0, 5)))
def test_first_places_are_where_each_value_stands_first(values: list[int]) -> None:
    places = first_places(np.array(values, np.int64))
    assert places.tolist() == [at for at, value in enumerate(values) if value not in values[:at]]


@pytest.mark.parametrize("most", [0, (1 << 31) - 1, 1 << 31, -(1 << 31), -(1 << 31) - 1, 1 << 62])
def test_numbers_take_32_bits_where_all_fit(most: int) -> None:
    found = narrowed([5, most])
    assert found.tolist() == [5, most]
    assert found.dtype == (np.int32 if -(1 << 31) <= most < 1 << 31 else np.int64)


# What is kept, and what goes when there is no room.


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 20))
def test_the_values_used_last_are_kept_up_to_their_cost(keys: list[int], most: int) -> None:
    """Each value costs its key; the plain definition is a list in the order of use."""
    kept: Kept[str] = Kept(most)
    used: list[int] = []
    for key in keys:
        made: list[int] = []
        assert kept.get(key, lambda key=key, made=made: made.append(key) or str(key), int) == str(key)
        assert bool(made) == (key not in used)
        used = [*(one for one in used if one != key), key]
        while sum(used) > most and len(used) > 1:
            del used[0]
        assert (len(kept), kept.cost) == (len(used), sum(used))


def test_nothing_can_be_a_value() -> None:
    kept: Kept[None] = Kept(1)
    made: list[int] = []
    for _ in range(2):
        assert kept.get("x", lambda: made.append(1), lambda _: 1) is None
    assert made == [1]


# Names of error codes, against the tables of another implementation (impacket's are those of [MS-ERREF]).


@pytest.mark.needs("impacket")
def test_win32_codes_have_the_names_of_the_specification() -> None:
    """[MS-ERREF] section 2.2; those of the network management functions (NERR_) are in lmerr.h."""
    from impacket.system_errors import ERROR_MESSAGES

    ours = win32_numbers()
    assert len(ours) == 165
    assert {name: code for name, code in ours.items() if name.startswith("NERR_")} == {
        "NERR_ServerNotStarted": 2114,
        "NERR_LogonServerNotFound": 2215,
    }
    theirs = {name: ERROR_MESSAGES[code][0] for name, code in ours.items() if not name.startswith("NERR_")}
    assert theirs == {name: name for name in theirs}
    assert {win32_name(code) for code in ours.values()} == set(ours)
    assert win32_name(0xDEADBEEF) is None


@pytest.mark.needs("impacket")
def test_nt_statuses_have_the_names_of_the_specification() -> None:
    """[MS-ERREF] section 2.3.1; a status without a name here is shown as its number."""
    from impacket.nt_errors import ERROR_MESSAGES

    ours = nt_status_numbers()
    assert len(ours) == 98
    assert {name: ERROR_MESSAGES[status][0] for name, status in ours.items()} == {name: name for name in ours}
    assert {nt_status_name(status) for status in ours.values()} == set(ours)
    assert (nt_status_name(0xC0000124), known_nt_status_name(0xC0000124)) == ("0xc0000124", None)
    assert nt_status_name(0x104) == "0x00000104"


def test_an_answer_to_a_bind_is_laid_out_as_its_specification_says() -> None:
    """C706 section 12.6.4.4: sizes, group, the address with its padding, then results behind their number and reserved zeros."""
    ndr = "045d888aeb1cc9119fe808002b104860 02000000"
    assert bind_ack_body([(2, 1, NDR), (0, 0, NDR)], b"135\0", most=4280, group=7) == bytes.fromhex(
        f"b810 b810 07000000 0400 31333500 0000 02 00 0000 0200 0100 {ndr} 0000 0000 {ndr}"
    )
