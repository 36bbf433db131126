"""What a crosscheck prints of its result, whole, for people and for programs."""

from pathlib import Path

from analyzer.pipeline.tshark_crosscheck import CrosscheckResult, PairingDifference, PduDifference, SeenPdu
from tests.written import as_json, is_as_written

REQUEST, ANSWER = SeenPdu(0, 7, 3, 100, (1, 2, 3, 4)), SeenPdu(2, 7, 3, 60, (1, 2, 3, 4, 5))
STRANGE = SeenPdu(77, 8, 0, 16, (9,))
AGREEING = CrosscheckResult("a.pcap", False, 3, (("request", 2), ("response", 1)), (), (), 1, (), None)
DIFFERING = CrosscheckResult(
    "a.pcap",
    True,
    0,
    (),
    (PduDifference(REQUEST, "hidden", False), PduDifference(ANSWER, "not shown", True)),
    (PduDifference(STRANGE, "ours lacks it", True),),
    4,
    (
        PairingDifference(7, (1, 2, 3, 4), (5, 6, 7, 8, 9), None, None, "the bind is lost"),
        PairingDifference(8, (), (), 3, 4),
        PairingDifference(9, (1,), (2,), 1, None),
    ),
    "a complaint",
)


def test_a_result_is_told_to_people_and_programs() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    text = "".join(
        f"{result.agrees}\n{result.to_text()}{as_json(result.to_json())}" for result in (AGREEING, DIFFERING)
    )
    is_as_written(Path(__file__).with_name("crosscheck_result.txt"), text)
