"""Requests of the registry that break off: what stands before the damage is shown, searched and counted."""

from pathlib import Path

import pytest

from analyzer.interfaces.call_contents.call_records import call_problems, call_record
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.pipeline.run import analyze
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.filter import CallFilter
from analyzer.questions.statistics.who_looked_at_what import findings
from analyzer.results.analysis import Analysis
from analyzer.screens.viewmodel.call_summary_words import answer_words, request_words
from tests.build.buffers import Ndr
from tests.build.calls import Calls, analysis_of, winreg


@pytest.fixture(scope="module")
def nmap() -> Analysis:
    return analyze([str(Path(__file__).parent / "captures" / "nmap_smb_enum_processes.pcap")])


def test_a_read_whose_array_does_not_decode_shows_its_value_name(nmap: Analysis) -> None:
    call = nmap.calls[1]
    assert call.state == "malformed"
    assert call.handle == "k1"
    assert request_words(call, nmap) == 'lpValueName "Counter 009", lpType 0 (16 of 100 bytes not decoded)'
    record = call_record(call, nmap)
    assert record.request.params == {
        "hKey": {"attributes": 1, "uuid": "fd4b44db-b946-4087-8d0c-83f9ba1aaa11"},
        "lpValueName": "Counter 009",
        "lpType": 0,
    }
    (problem,) = call_problems(call, Damages())
    assert problem.text == (
        "call #2: request stub does not decode: request.data.array.actual_count at byte 84: 1346456910 is above 1000000; "
        "16 of 100 bytes are not decoded"
    )


def test_filters_and_statistics_know_that_value_name(nmap: Analysis) -> None:
    selection = Selection(filter=CallFilter('params.lpValueName contains "009"'))
    assert [number for number, _ in selection.shown(nmap)] == [2]
    assert [one.detail for one in findings(nmap).activities] == ["counter names (language 009)"]


def test_an_answer_that_breaks_off_shows_what_stands_before() -> None:
    asked = Ndr().handle("5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10").uint(64).data
    analysis = analysis_of(Calls().exchange(6, asked, bytes.fromhex("30000000 40000000 ff")))
    (call,) = analysis.calls
    assert answer_words(call, analysis) == "pdwOutSize 48, pdwRtnSize 64 (1 of 9 bytes not decoded)"
    assert [one.text.rpartition("; ")[2] for one in call_problems(call, Damages())] == ["1 of 9 bytes are not decoded"]


def test_a_stub_of_which_nothing_decodes_is_counted() -> None:
    make = winreg()
    analysis = analysis_of(make.exchange(17, b"123", b""))
    assert request_words(analysis.calls[0], analysis) == "(3 bytes, not decoded)"
