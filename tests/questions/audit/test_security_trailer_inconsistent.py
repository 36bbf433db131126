from struct import pack

from msgspec.structs import replace

from analyzer.results.security import AuthLevel
from tests.build.calls import Calls
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-2.1-R08"
# Where the trailer of an OpenQueryHandle request stands: 24 bytes of header, 26 of stub, padded to 16.
TRAILER = 56


def patched(message, at, value):
    """The message with other bytes in its only PDU."""
    (fragment,) = message.pdus
    data = fragment.pdu.data[:at] + value + fragment.pdu.data[at + len(value) :]
    return replace(message, pdus=(replace(fragment, pdu=fragment.pdu.replaced(data, "test")),))


def test_trailers_that_agree_are_accepted():
    verdict = judged("PCQ105", Calls(level=AuthLevel.PRIVACY).open_query())
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_another_context_in_the_answer_is_flagged():
    call = Calls(level=AuthLevel.PRIVACY).open_query()
    at = len(call.response.pdus[0].pdu) - 16 - 4
    (finding,) = judged("PCQ105", replace(call, response=patched(call.response, at, pack("<I", 7)))).findings
    assert (finding.judgement.expected, finding.judgement.seen) == ("0", "7")
    assert (finding.place.part, finding.place.stop) == ("response PDU 1", at + 4)


def test_more_padding_than_there_are_bytes_is_flagged():
    call = Calls(level=AuthLevel.PRIVACY).open_query()
    (finding,) = judged("PCQ105", replace(call, request=patched(call.request, TRAILER + 2, b"\x28"))).findings
    assert (finding.judgement.expected, finding.judgement.seen) == ("at most 32", "40")


def test_a_trailer_off_its_alignment_is_flagged():
    call = Calls(level=AuthLevel.PRIVACY).open_query()
    # A signature that is a byte longer makes the trailer begin a byte earlier.
    (finding,) = judged("PCQ105", replace(call, request=patched(call.request, 10, pack("<H", 17)))).findings
    assert (finding.judgement.expected, finding.judgement.seen) == ("a multiple of 4", f"byte {TRAILER - 1}")


def test_calls_without_trailers_have_nothing_to_judge():
    verdict = judged("PCQ105", Calls().open_query())
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "not-exercised"


def test_a_pdu_that_was_cut_proves_nothing():
    call = Calls(level=AuthLevel.PRIVACY).open_query()
    cut = replace(call.request.pdus[0], pdu=call.request.pdus[0].pdu[:40])
    verdict = judged("PCQ105", replace(call, request=replace(call.request, pdus=(cut,)), response=None))
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
