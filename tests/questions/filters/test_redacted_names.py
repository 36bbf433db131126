"""Selections by names, asked of an analysis that holds pseudonyms."""

import pytest

from analyzer.core.errors import InputError
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.filter import CallFilter, SampleFilter
from analyzer.questions.filters.times_machines_and_users import Account, Party, RenamedFilter, renamed
from tests.questions.filters.test_call_selection import conversation


def test_a_filter_asks_for_the_pseudonyms_of_names_and_addresses() -> None:
    names = Pseudonyms(b"k")
    made = RenamedFilter(CallFilter('auth.user == "LAB\\\\alice" or server.ip == 10.0.0.1'), names)
    # Names that are learnt after the filter was written, and before it is asked, count too.
    alice, address = names.name("alice"), names.address("10.0.0.1")
    assert str(made) == f'auth.user == "LAB\\\\{alice}" or server.ip == {address}'
    assert {field.name for field in made.fields} == {"auth.user", "server.ip"}
    analysis = conversation()
    assert not Selection(filter=made).calls(analysis)
    opened = RenamedFilter(CallFilter("opnum == 3"), names)
    assert 1 in Selection(filter=opened).calls(analysis).numbers


def test_a_filter_of_counters_stays_one() -> None:
    of_counters = SampleFilter("value > 5", of_counters=True)
    assert str(of_counters.again("value > 6")) == "value > 6"
    assert str(RenamedFilter(of_counters, Pseudonyms(b"k"))) == "value > 5"


def test_machines_and_users_are_asked_for_by_their_pseudonyms() -> None:
    names = Pseudonyms(b"k")
    asked = Selection(
        servers=(Party.from_text("10.0.0.1"), Party.from_text("srv1")),
        clients=(Party.from_text("fe80::1"),),
        users=(Account("LAB\\alice"), Account("anonymous")),
        handle="q1",
        filter=CallFilter("opnum == 3"),
    )
    made = renamed(asked, names)
    assert [one.text for one in made.servers] == [names.address("10.0.0.1"), names.name("srv1")]
    assert [one.text for one in made.clients] == [names.address("fe80::1")]
    assert [one.text for one in made.users] == [names.name("LAB\\alice"), "anonymous"]
    assert (made.handle, str(made.filter)) == ("q1", "opnum == 3")
    assert renamed(Selection(handle="q1"), names) == Selection(handle="q1")


def test_networks_have_no_pseudonym() -> None:
    with pytest.raises(InputError, match=r"10\.0\.0\.0/8 is a network, which has no pseudonym"):
        renamed(Selection(clients=(Party.from_text("10.0.0.0/8"),)), Pseudonyms(b"k"))
    assert renamed(Selection(clients=(Party.from_text("10.0.0.9/32"),)), Pseudonyms(b"k")).clients
