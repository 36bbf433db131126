import pytest
from msgspec.structs import replace

from tests.build.calls import Calls
from tests.build.rpc import CHANNEL, WINREG, Conversation
from tests.questions.audit.judging import judged
from tests.transport.rpc.run import reported

KNOWN, PIPE, SEQUENCE = "PCQ-1.5-R01", "PCQ-1.9-R02", "PCQ-2.1-R01"


@pytest.mark.parametrize("name", ["winreg", "WinReg"])
def test_the_well_known_pipe_is_accepted(name):
    channel = replace(CHANNEL, pipe=name)
    verdict = judged("PCQ110", *reported(Conversation(channel).bound()), Calls(channel=channel).open_query())
    assert not verdict.findings
    assert [verdict.count(requirement) for requirement in (KNOWN, PIPE, SEQUENCE)] == [1, 1, 1]


def test_another_pipe_is_flagged():
    (finding,) = judged("PCQ110", *reported(Conversation(replace(CHANNEL, pipe="perflib")).bound())).findings
    assert (finding.judgement.requirements, finding.judgement.seen) == ((PIPE,), "perflib")
    assert finding.frames == (1, 2)


def test_tcp_is_flagged_once_for_both_that_it_breaks():
    channel = replace(CHANNEL, transport="ncacn_ip_tcp", pipe=None)
    (finding,) = judged("PCQ110", Calls(channel=channel).open_query()).findings
    assert (finding.judgement.requirements, finding.call) == ((SEQUENCE, PIPE), 1)


def test_a_pipe_whose_opening_was_not_captured_has_no_name():
    verdict = judged("PCQ110", Calls(channel=replace(CHANNEL, pipe=None)).open_query())
    assert not verdict.findings
    assert (verdict.verdict(PIPE), verdict.verdict(SEQUENCE)) == ("inconclusive", "pass")


def test_other_interfaces_may_go_where_they_like():
    assert (
        judged("PCQ110", *reported(Conversation(replace(CHANNEL, pipe="svcctl")).bound(WINREG))).verdict(PIPE)
        == "not-exercised"
    )
