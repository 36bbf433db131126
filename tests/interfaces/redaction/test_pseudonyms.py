"""Pseudonyms: as many of each kind as there are, none shared, and nothing that only resembles an address taken for one."""

from ipaddress import ip_address
from string import ascii_lowercase

import pytest

from analyzer.interfaces.redaction.pseudonyms import Pseudonyms


def test_no_two_words_share_a_pseudonym_and_none_is_its_own() -> None:
    names = Pseudonyms(b"k")
    made = {word: names.name(word) for word in ascii_lowercase[:20]}
    assert len(set(made.values())) == len(made)
    assert all(word != pseudonym and len(pseudonym) == 1 for word, pseudonym in made.items())


@pytest.mark.parametrize("form", ["2001:db8::{:x}", "fe80::{:x}:ff", "10.0.{}.7", "{}.1.20.255"])
def test_addresses_become_as_many_addresses_of_the_same_length(form: str) -> None:
    names = Pseudonyms(b"k")
    texts = [form.format(number) for number in range(16, 99)]
    made = [names.address(text) for text in texts]
    assert [len(one) for one in made] == [len(one) for one in texts]
    assert [ip_address(one).version for one in made] == [ip_address(one).version for one in texts]
    assert len({*made, *texts}) == 2 * len(texts)


def test_a_pseudonym_begins_with_a_letter() -> None:
    """So that it is a word and no number wherever a name may stand."""
    names = Pseudonyms(b"k")
    made = [names.name(f"w{number}") for number in range(200)]
    assert all(one[0] in ascii_lowercase for one in made)
    assert any(one[1].isdigit() for one in made)


def test_groups_of_zeros_stay() -> None:
    groups = Pseudonyms(b"k").address("2001:0:0:1::a0").split(":")
    assert (groups[1:3], [len(one) for one in groups]) == (["0", "0"], [4, 1, 1, 1, 0, 2])


@pytest.mark.parametrize(
    "text", ["release 300.1.2.3", "at 12:34:56", "1.2.3.4.5", "02:00:5e:10:00:00:00:01:02", "no. 7"]
)
def test_what_only_resembles_an_address_stays(text: str) -> None:
    assert Pseudonyms(b"k").free(text) == text


@pytest.mark.parametrize(
    ("text", "whole"), [("10.0.0.1:445", "10.0.0.1"), ("from 10.0.0.1.", "10.0.0.1"), ("[fe80::1]", "fe80::1")]
)
def test_an_address_is_found_between_other_characters(text: str, whole: str) -> None:
    names = Pseudonyms(b"k")
    assert names.free(text) == text.replace(whole, names.address(whole)) != text


def test_capitals_and_numbers_stay_what_they_are() -> None:
    names = Pseudonyms(b"k")
    made = names.name("PERFSRV 0815 perfsrv")
    upper, number, lower = made.split()
    assert (upper, number, lower) == (lower.upper(), "0815", lower.lower())
    assert lower != "perfsrv"
    # Predefined keys and accounts that every Windows has.
    assert names.name("HKLM\\_Total NT AUTHORITY") == "HKLM\\_Total NT AUTHORITY"


def test_a_word_longer_than_a_digest_has_a_pseudonym_of_its_length() -> None:
    made = Pseudonyms(b"k").name("x" * 200)
    assert len(made) == 200
    assert len(set(made)) > 20


def test_guids_become_other_guids_and_the_null_guid_stays() -> None:
    names, null, guid = Pseudonyms(b"k"), "00000000-0000-0000-0000-000000000000", "5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10"
    assert names.guid(None) is None
    assert names.guid(null) == null
    made = names.guid(guid)
    assert made == names.guid(guid) == names.guid(guid.upper())
    assert made not in (guid, null, Pseudonyms(b"other").guid(guid))


def test_a_filter_loses_the_names_and_addresses_that_it_compares_with() -> None:
    names = Pseudonyms(b"k")
    user = names.name("user")
    text = 'user == "LAB\\\\user" and ip.addr == 10.0.0.1 or user == "\\"user"'
    address = names.address("10.0.0.1")
    assert names.filter(text) == f'user == "LAB\\\\{user}" and ip.addr == {address} or user == "\\"{user}"'
    assert names.filter("opnum == 3") == "opnum == 3"
    for operator in ("==", "!=", "contains", "matches", "any_ne", "~="):
        assert names.filter(f"user {operator} user") == f"user {operator} {user}"
    assert names.filter("user in {user, 'user'}") == f"user in {{{user}, '{user}'}}"


def test_how_many_names_there_are_is_shown_and_none_of_them() -> None:
    names = Pseudonyms(b"k")
    names.name("LAB\\alice")
    names.address("10.0.0.1")
    assert repr(names) == "Pseudonyms(2 words, 1 addresses)"


def test_what_is_no_address_is_a_name() -> None:
    names = Pseudonyms(b"k")
    assert names.address("perfsrv") == names.name("perfsrv") != "perfsrv"
    assert names.address("10.0.0.256") == "10.0.0.256"


def test_one_key_gives_the_same_pseudonyms_in_every_release() -> None:
    """So that captures that were redacted at different times still fit together."""
    names = Pseudonyms(b"k")
    assert names.name("LAB\\alice PERFSRV") == "KKN\\f2svg BY5AZDP"
    assert (names.address("10.0.0.1"), names.address("fe80::1:20")) == ("81.9.4.4", "8399::3:bc")
    assert names.guid("5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10") == "b42627bd-f351-c929-3db1-739f2cae6551"
