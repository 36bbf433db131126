"""What the comments of the Windows SDK's perflib.h describe is as Windows writes it: the profile `windows` warns of none of it."""

from struct import pack

from analyzer.core.events import Event
from analyzer.interfaces.buffers.value_rows import perf_data_rows
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.findings_and_coverage import Finding
from analyzer.results.security import AuthLevel
from tests.build.buffers import Block, counter_data, identifier, perf_data, string_table
from tests.build.calls import Calls, analysis_of
from tests.questions.audit.conversation import ALL, MULTIPLE, SINGLE, counter, in_time, positioned, record, u4

HELD = (
    identifier(MULTIPLE, counter=ALL, instance=ALL, name="a"),
    identifier(MULTIPLE, counter=ALL, instance=ALL, name="*"),
    identifier(SINGLE, counter=1),
)


def findings(profile: Profile, *events: Event) -> list[Finding]:
    return list(Audit(analysis_of(*events), profile=profile).findings())


def padded(block: Block) -> bytes:
    """A block whose ids have no padding of their own, and whose size is a multiple of 8 all the same."""
    data = block.encoded()
    assert len(data) % 8 == 4
    return pack("<III", block.status, block.kind, len(data) + 4) + data[12:] + bytes(4)


def with_blocks(*blocks: bytes) -> bytes:
    head = perf_data([])
    body = b"".join(blocks)
    return pack("<II", len(head) + len(body), len(blocks)) + head[8:] + body


def calls_of(held: bytes, data: bytes, names: bytes) -> list[Event]:
    calls = Calls(level=AuthLevel.PRIVACY)
    three = [counter(number, 0x10000) for number in (1, 2, 3)]
    return [
        in_time(call)
        for call in (
            calls.registration(1, record(MULTIPLE, 2, *three)),
            calls.registration(1, record(SINGLE, 0, *three[:1]), guid=SINGLE),
            calls.registration(5, names, lcid=0x409),
            calls.open_query(),
            calls.validate(held),
            calls.counter_info(positioned(HELD)),
            calls.counter_data(data),
            calls.close_query(),
        )
    ]


NAMES = string_table([(1, "one"), (2, "two"), (3, "three")], from_start=True)
ROW = (u4(7), u4(8), u4(9))
ONE, ALL_OF_THEM = Block(2, 0, (1, 2, 3), (), (ROW,), "none"), Block(6, 0, (1, 2, 3), (("a", 0),), (ROW,), "none")
SDK = with_blocks(padded(ONE), padded(ALL_OF_THEM), Block(1, values=(ROW[:1],)).encoded())


def test_the_layout_is_that_of_the_header() -> None:
    assert counter_data(u4(7))[:8] == pack("<II", 4, 16)
    assert len(HELD[2]) == 40
    read = perf_data_rows(SDK)
    assert read.problem is None
    assert [row.data for row in read.rows] == [*ROW, *ROW, ROW[0]]
    assert [note for note in read.notes if "belong to nothing" in note] == []


def test_the_profile_windows_warns_of_none_of_it() -> None:
    found = findings(Profile.WINDOWS, *calls_of(b"".join(HELD), SDK, NAMES))
    assert [(one.rule.code, one.judgement.message) for one in found if not one.is_excused] == []


def test_by_the_letter_each_departure_is_reported() -> None:
    made = calls_of(b"".join(HELD), SDK, NAMES)
    assert {finding.rule.code for finding in findings(Profile.SPEC, *made)} == {"PCQ333", "PCQ410", "PCQ530"}
    excused = [one for one in findings(Profile.WINDOWS, *made) if one.is_excused]
    assert {one.rule.code for one in excused} == {"PCQ333", "PCQ410", "PCQ530"}
    assert all(
        "Windows SDK, perflib.h" in one.judgement.deviation.authority for one in excused if one.judgement.deviation
    )
