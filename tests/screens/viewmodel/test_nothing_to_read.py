"""What is stated of captures without a performance call, and what counts as not read."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.events import Event, Problem
from analyzer.results.calls.call import Call
from analyzer.results.connection import Bound
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.viewmodel.unread import no_performance_call_words, nothing_decrypted, unread
from analyzer.transport.tcp.stream_events import Connection, Recognised
from tests.build.calls import CHANNEL, Calls, analysis_of, sealed, winreg

SVCCTL = "367abb81-9844-35f1-ad32-98f038001003"
CONNECTION = Connection(0, Endpoint("10.0.0.2", 49152), Endpoint("10.0.0.1", 445), True)


@pytest.mark.parametrize(
    ("events", "stated"),
    [
        ([Calls(SVCCTL).exchange(15, b"", b"")] * 2, "2 DCERPC calls (svcctl), but no performance call."),
        ([winreg().exchange(2, b"\0" * 8, b"\0" * 24)], "1 DCERPC call (winreg), but no performance call."),
        ([Bound(CHANNEL, 0, SVCCTL, (2, 0), "ndr", True, None)], "1 DCERPC bind, but no call."),
        ([Recognised(CONNECTION, "smb")] * 2, "2 connections with SMB, but no DCERPC call."),
        ([Recognised(CONNECTION, "dcerpc")], "1 connection with DCERPC, but no DCERPC call."),
        ([], "100 frames, but neither SMB nor DCERPC among them."),
    ],
)
def test_what_there_is_instead_is_said_in_a_sentence(events: list[Event], stated: str) -> None:
    assert no_performance_call_words(analysis_of(*events)) == f"made.pcap holds {stated}"


@pytest.mark.parametrize(
    ("kind", "text", "stated"),
    [
        ("truncated", "reading failed: Input/output error after frame 4", "read"),
        ("gap", "3 events were lost while the trace was written", "captured"),
    ],
)
def test_a_capture_that_is_not_whole_is_not_said_to_hold_nothing(kind: Any, text: str, stated: str) -> None:
    assert no_performance_call_words(
        analysis_of(Recognised(CONNECTION, "smb"), Problem(kind, "capture", (4,), text))
    ) == (f"made.pcap holds 1 connection with SMB, but no DCERPC call. Not all of it was {stated}: {text}.")


def test_a_performance_call_is_something_and_so_is_what_may_be_one() -> None:
    assert no_performance_call_words(analysis_of(Calls().open_query())) is None
    assert no_performance_call_words(analysis_of(winreg().open_key())) is None
    assert no_performance_call_words(analysis_of(sealed(winreg().exchange(17, b"", b"")))) is None
    assert no_performance_call_words(analysis_of(Problem("gap", "smb", (1,), "lost"))) is None


def test_a_call_of_an_unknown_interface_may_be_one() -> None:
    """A capture that began in a connection: the calls are sealed, and the bind that would say what they are of is not there."""
    call = replace(sealed(Calls(SVCCTL).exchange(15, b"", b"")), interface=None, version=None)
    assert no_performance_call_words(analysis_of(call)) is None
    assert unread(analysis_of(call))


def test_what_other_interfaces_lost_is_none_of_ours() -> None:
    call = Calls(SVCCTL).exchange(15, Missing.SEALED, Missing.SEALED)
    analysis = analysis_of(call, Problem("sealed", "rpc", (1, 2), "2 of 2 sealed PDUs stayed sealed"))
    assert no_performance_call_words(analysis) == "made.pcap holds 1 DCERPC call (svcctl), but no performance call."
    assert not unread(analysis)
    elsewhere = analysis_of(call, Problem("sealed", "rpc", (1, 90), "2 of 2 sealed PDUs stayed sealed"))
    assert no_performance_call_words(elsewhere) is None
    assert unread(elsewhere)
    assert unread(analysis_of(sealed(Calls().open_query())))


def test_whether_anything_was_decrypted_is_looked_for_no_further_than_needed() -> None:
    looked: list[int] = []

    class Watched(Sequence[Call]):
        def __init__(self, calls: Sequence[Call]) -> None:
            self._calls = calls

        def __len__(self) -> int:
            return len(self._calls)

        def __getitem__(self, at: Any) -> Any:
            looked.append(at)
            return self._calls[at]

    unread, other = sealed(Calls().open_query()), sealed(Calls(SVCCTL).exchange(15, b"", b""))
    plain = Calls(SVCCTL).exchange(15, b"abcd", b"abcd")
    assert nothing_decrypted(analysis_of(unread, unread, other)) == (
        "nothing was decrypted: 2 calls are encrypted, and no key was given that fits."
    )
    # Where there are calls of performance counters, those of others show nothing.
    assert nothing_decrypted(analysis_of(plain, unread)) is not None
    assert nothing_decrypted(analysis_of(plain, other)) is None
    analysis = analysis_of(unread, *[Calls().open_query()] * 5)
    assert nothing_decrypted(replace(analysis, calls=Watched(analysis.calls))) is None
    assert looked == [0, 1]
