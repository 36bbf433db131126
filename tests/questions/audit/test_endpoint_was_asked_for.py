from uuid import UUID

from msgspec.structs import replace

from tests.build.calls import Calls
from tests.build.rpc import CHANNEL, PCQ, Conversation
from tests.questions.audit.judging import judged
from tests.transport.rpc.run import reported

REQUIREMENT = "PCQ-2.1-R02"
MAPPER = "e1af8308-5d1f-11c9-91a4-08002b14a0fa"


def question(uuid=PCQ):
    tower = b"\x05\0" + b"\x13\0\x0d" + UUID(uuid).bytes_le + b"\x01\0\x02\0\0\0"
    return Calls(MAPPER, channel=replace(CHANNEL, number=9, pipe="epmapper")).exchange(3, bytes(8) + tower, b"")


def bound(**channel):
    talk = Conversation(replace(CHANNEL, **channel))
    talk.frame = 10
    return reported(talk.bound())


def test_the_pipe_opened_by_its_name_is_accepted():
    verdict = judged("PCQ111", *bound())
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_the_question_alone_is_warned_of():
    (finding,) = judged("PCQ111", question(), *bound()).findings
    assert (finding.judgement.outcome, finding.call) == ("warn", 1)


def test_following_the_answer_elsewhere_is_flagged():
    verdict = judged("PCQ111", question(), *bound(transport="ncacn_ip_tcp", pipe=None))
    assert verdict.verdict(REQUIREMENT) == "fail"


def test_questions_for_other_interfaces_do_not_concern_it():
    assert not judged("PCQ111", question(MAPPER), *bound()).findings


def test_no_use_of_the_interface_shows_nothing():
    assert judged("PCQ111").verdict(REQUIREMENT) == "not-exercised"
