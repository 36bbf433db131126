from analyzer.core.absence import Missing
from tests.build.buffers import perf_data
from tests.build.calls import Calls, sealed
from tests.build.rpc import PCQ, Conversation, bind, bind_ack, context
from tests.questions.audit.judging import judged
from tests.transport.rpc.run import reported

UUID, VERSION = "PCQ-1.9-R01", "PCQ-6-R01"
STRANGER = PCQ[:-1] + "4"


def test_version_1_0_is_accepted():
    verdict = judged("PCQ112", *reported(Conversation().bound()))
    assert not verdict.findings
    assert (verdict.count(UUID), verdict.count(VERSION)) == (1, 1)


def test_another_version_is_flagged():
    talk = Conversation().client(bind((context(0, PCQ, version=2),))).server(bind_ack())
    (finding,) = judged("PCQ112", *reported(talk)).findings
    assert (finding.judgement.requirement, finding.judgement.seen, finding.frames) == (VERSION, "2.0", (1, 2))


def test_performance_data_under_another_uuid_is_flagged():
    verdict = judged("PCQ112", Calls(STRANGER).counter_data(perf_data([])))
    (finding,) = verdict.findings
    assert (finding.judgement.seen, finding.place.part) == (STRANGER, "request PDU 1")
    assert verdict.verdict(UUID) == "fail"


def test_a_bind_that_was_not_captured_proves_nothing():
    verdict = judged("PCQ112", Calls().open_query())
    assert verdict.verdict(UUID) == verdict.verdict(VERSION) == "inconclusive"


def test_calls_of_other_interfaces_are_let_be():
    assert not judged("PCQ112", Calls(STRANGER).exchange(6, bytes(24), b"whatever else")).findings


def test_sealed_calls_of_other_interfaces_prove_nothing():
    calls = sealed(Calls(STRANGER).counter_data(perf_data([])))
    assert calls.response.stub is Missing.SEALED
    assert judged("PCQ112", calls).verdict(UUID) == "not-exercised"
