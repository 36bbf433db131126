"""Names come from the capture first; the built-in table is a marked last resort."""

import pytest

from analyzer.core.server_names import Name, Named
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.sample import NamesFacts
from analyzer.results.reported_names.counter_name_tables import NameTable, NameTables, table_language, value_in_words


def test_the_capture_s_own_name_wins_over_the_well_known_one() -> None:
    table = NameTable()
    assert table.name(238) == Name("Processor", "well-known")
    table.learn("007", {238: "Prozessor"})
    assert table.name(238) == Name("Prozessor", "capture")
    table.learn("009", {238: "CPU"})
    assert table.name(238) == Name("CPU", "capture")


def test_english_and_other_names_are_kept_apart() -> None:
    table = NameTable()
    table.learn("007", {238: "Prozessor", 6: "Prozessorzeit (%)"})
    table.learn("00c", {238: "Processeur", 142: "% temps utilisateur"})
    assert table.named(6) == Named(None, Name("Prozessorzeit (%)", "capture"), "007")
    assert table.named(142) == Named(None, Name("% temps utilisateur", "capture"), "00c")
    table.learn("009", {238: "Processor"})
    assert table.named(238) == Named(Name("Processor", "capture"), Name("Prozessor", "capture"), "007")
    assert NamesFacts.of(table.names(238, 6)) == NamesFacts("Processor", "Prozessor", None, "Prozessorzeit (%)", "007")


def test_a_file_fills_gaps_and_changes_nothing() -> None:
    table = NameTable()
    table.learn("009", {238: "CPU"})
    assert table.give("009", {238: "Processor", 5000: "Mine", 6: "% Processor Time"}) == {238: "CPU"}
    assert table.name(238) == Name("CPU", "capture")
    assert table.name(5000) == Name("Mine", "metadata")
    assert table.give("007", {238: "Prozessor"}) == {}
    assert table.named(238) == Named(Name("CPU", "capture"), Name("Prozessor", "metadata"), "007")
    assert not NameTable().reported


def test_an_unknown_index_has_no_name() -> None:
    assert NameTable().name(4242) is None


def test_names_of_one_server_say_nothing_of_another() -> None:
    tables = NameTables()
    tables.of(Endpoint("10.0.0.1", 445)).learn("009", {5000: "Mine"})
    assert tables.of(Endpoint("10.0.0.2", 445)).name(5000) is None
    assert tables.of(Endpoint("10.0.0.1", 139)).name(5000) == Name("Mine", "capture")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("Global", "Global (all objects that are cheap to collect)"),
        ("COSTLY", "Costly (all objects that are expensive to collect)"),
        (
            "MetadataGlobal",
            "MetadataGlobal (counter definitions, without values, of all objects that are cheap to collect)",
        ),
        (
            "metadatacostly",
            "MetadataCostly (counter definitions, without values, of all objects that are expensive to collect)",
        ),
        ("Metadata 230 4242", "metadata of objects 230 Process, 4242"),
        ("METADATA 238", "metadata of object 238 Processor"),
        ("Metadata", 'value "Metadata"'),
        ("Metadata x", 'value "Metadata x"'),
        ("238", "object 238 Processor"),
        ("230 4242", "objects 230 Process, 4242"),
        ("Counter 009", "counter names (language 009)"),
        ("explain 009", "help texts (language 009)"),
        ("No Such Value", 'value "No Such Value"'),
        ("", 'value ""'),
    ],
)
def test_value_names_in_words(value: str, words: str) -> None:
    assert value_in_words(value, NameTable()) == words


def test_only_two_words_name_a_table() -> None:
    assert table_language("Counter 009") == ("counter", "009")
    assert table_language("Help 407") == ("help", "407")
    assert table_language("Counter") is None
    assert table_language("Counter 009 1") is None
