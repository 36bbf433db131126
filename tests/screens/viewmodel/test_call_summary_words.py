"""What a call asked and was answered, in words."""

import pytest

from analyzer.interfaces.buffers.winperf_layout import WINPERF
from analyzer.screens.viewmodel.call_summary_words import answer_words
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Counter, Instance, PerfObject, winperf
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


def test_what_a_block_has_is_said_of_its_layout_as_of_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of objects that nothing names, that come twice, that have no instances now, or definitions alone."""
    counters = (Counter(6, 0x20510500, 8), Counter(142, 0x10000, 4), Counter(8, 0x40000200, 0))
    two = tuple(Instance(str(number), -1, (0, 0), (5, 6, 0)) for number in range(2))
    alone = (Instance(None, -1, (0, 0), (7, 8, 0)),)
    made = [
        PerfObject(238, counters, two),
        PerfObject(4242, counters, alone, has_instances=False),
        PerfObject(238, counters, two),
        PerfObject(230, counters, ()),
        PerfObject(232, counters, (), metadata=True),
        PerfObject(4240, counters, (), metadata=True),
    ]
    answer = winreg().query_value("Global", block := winperf(made))
    said = words(answer)
    assert said == (
        f"{len(block)} bytes: 6 objects, 10 values of Processor, object 4242; "
        "the definitions of 6 counters of Thread, object 4240"
    )
    monkeypatch.setattr(WINPERF, "read", lambda _: None)
    assert words(answer) == said
