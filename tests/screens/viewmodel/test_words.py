"""What a call asked and was answered, in words."""

from __future__ import annotations

import pytest

from analyzer.screens.viewmodel.words import answer_words
from analyzer.transport.rpc.exchange import Exchange
from tests.build.calls import HANDLE, Calls, analysis_of, winreg


def words(*calls: Exchange) -> str:
    """Those of the last call's answer."""
    analysis = analysis_of(*calls)
    return answer_words(analysis.calls[-1], analysis)


def test_how_much_performance_data_takes_is_not_said_of_a_buffer_too_small() -> None:
    """RegQueryValueEx leaves lpcbData undefined there: Windows repeats the size of the buffer."""
    make = winreg()
    assert words(make.open_key(), make.query_value("230", None, status=234, needed=4096)) == ""
    # Of any other value it is the size that is needed.
    assert words(make.query_value("Path", None, status=234, needed=4096)) == "4096 bytes needed"


@pytest.mark.parametrize(("status", "said"), [(8, "300 bytes needed"), (5, ""), (0x1068, "")])
def test_a_size_is_needed_where_the_buffer_was_too_small_alone(status: int, said: str) -> None:
    """[MS-PCQ] defines pdwRtnSize with success and ERROR_NOT_ENOUGH_MEMORY."""
    calls = Calls()
    asked = calls.stub().handle(HANDLE).uint(16)
    assert words(calls.exchange(6, asked, calls.sized(b"", status, needed=300, room=16))) == said
