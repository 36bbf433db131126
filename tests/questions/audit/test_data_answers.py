"""Data answers whose sizes and counts disagree: each number broken, the rule that speaks, and where it points."""

from struct import pack_into, unpack_from

import pytest

from analyzer.questions.audit.data_answers import FlawKind, read_answer
from analyzer.questions.audit.engine import Profile
from tests.build.buffers import Block, pad8, perf_data
from tests.build.calls import Calls, sealed
from tests.questions.audit.conversation import u4, u8
from tests.questions.audit.judging import judged

RULES = ("PCQ501", "PCQ505", "PCQ506", "PCQ507", "PCQ510", "PCQ511", "PCQ512", "PCQ513", "PCQ530")


ROW = (u4(1), u8(2), u4(3))
SINGLE = Block(1, values=((u4(7),),))
COUNTERS = Block(2, ids=(1, 2, 3), values=(ROW,))
INSTANCES = Block(4, instances=(("a", 0), ("bbbb", 1)), values=((u8(1),), (u8(2),)))
COUNTERSET = Block(6, ids=(1, 2, 3), instances=(("a", 0), ("b", 1)), values=(ROW, ROW))
ERROR = Block(0, status=0x1069)
EVERYTHING = [SINGLE, COUNTERS, INSTANCES, COUNTERSET, ERROR]
# Where the blocks of EVERYTHING begin.
AT = (48, 80, 168, 264, 440)


def answer(data):
    return Calls().counter_data(bytes(data))


def broken(at, value, blocks=EVERYTHING):
    data = bytearray(perf_data(blocks))
    pack_into("<I", data, at, value)
    return answer(data)


def stated(call):
    """Each rule that speaks, with the first requirement it names."""
    return {
        code: verdict.findings[0].judgement.requirement for code in RULES if (verdict := judged(code, call)).findings
    }


def test_nothing_is_said_of_a_sound_answer():
    assert stated(answer(perf_data(EVERYTHING))) == {}


@pytest.mark.parametrize("code", RULES)
def test_every_requirement_of_these_rules_passes_on_a_sound_answer(code):
    verdict = judged(code, answer(perf_data(EVERYTHING)))
    assert {coverage.verdict for coverage in verdict.coverage.values()} == {"pass"}


@pytest.mark.parametrize("code", RULES)
def test_a_sealed_answer_proves_nothing(code):
    verdict = judged(code, sealed(answer(perf_data(EVERYTHING)[:-8])))
    assert not verdict.findings
    assert {coverage.verdict for coverage in verdict.coverage.values()} == {"inconclusive"}


@pytest.mark.parametrize("code", RULES)
def test_an_answer_that_failed_is_not_judged(code):
    verdict = judged(code, Calls().counter_data(b"", status=8, needed=4096))
    assert {coverage.verdict for coverage in verdict.coverage.values()} == {"not-exercised"}


BROKEN = {
    "dwTotalSize": (0, 464, "PCQ501", "PCQ-2.2.4.7-R02"),
    "dwNumCounter too high": (4, 6, "PCQ501", "PCQ-2.2.4.7-R03"),
    "dwNumCounter too low": (4, 4, "PCQ501", "PCQ-2.2.4.7-R03"),
    "dwType unknown": (AT[0] + 4, 3, "PCQ505", "PCQ-2.2.4.8-R02"),
    "dwType of another layout": (AT[2] + 4, 1, "PCQ510", "PCQ-3.1.4.1.6-R14"),
    "dwType 1 stated to be 2": (AT[0] + 4, 2, "PCQ510", "PCQ-3.1.4.1.6-R15"),
    "dwType 2 stated to be 4": (AT[1] + 4, 4, "PCQ510", "PCQ-3.1.4.1.6-R19"),
    "dwType 4 stated to be 6": (AT[2] + 4, 6, "PCQ510", "PCQ-3.1.4.1.6-R23"),
    "dwSize zero": (AT[1] + 8, 0, "PCQ506", "PCQ-2.2.4.8-R08"),
    "dwSize too high": (AT[1] + 8, 96, "PCQ506", "PCQ-2.2.4.8-R08"),
    "dwSize too low": (AT[3] + 8, 168, "PCQ506", "PCQ-2.2.4.8-R08"),
    "dwSize beyond the end": (AT[4] + 8, 24, "PCQ506", "PCQ-2.2.4.8-R08"),
    "dwDataSize above dwSize": (AT[0] + 16, 9, "PCQ511", "PCQ-2.2.4.9-R02"),
    "dwSize of a value, type 1": (AT[0] + 20, 24, "PCQ511", "PCQ-2.2.4.9-R02"),
    "dwSize of a value, type 2": (AT[1] + 16 + 24 + 4, 24, "PCQ511", "PCQ-2.2.4.9-R02"),
    "dwSize of a value, type 6": (AT[3] + 16 + 24 + 8 + 16 + 4, 8, "PCQ511", "PCQ-2.2.4.9-R02"),
    "dwTotalSize of instances": (AT[2] + 16, 88, "PCQ512", "PCQ-2.2.4.10-R01"),
    "dwInstances too high": (AT[2] + 20, 3, "PCQ512", "PCQ-2.2.4.10-R02"),
    "dwInstances too low, type 6": (AT[3] + 16 + 24 + 4, 1, "PCQ512", "PCQ-2.2.4.10-R02"),
    "Size of an instance": (AT[2] + 24, 24, "PCQ512", "PL-QCD-R09"),
    "dwSize of counter ids": (AT[1] + 16, 32, "PCQ513", "PCQ-2.2.4.11-R01"),
    "dwCounters too high": (AT[1] + 20, 4, "PCQ513", "PCQ-2.2.4.11-R02"),
    "dwCounters too low, type 6": (AT[3] + 20, 2, "PCQ513", "PCQ-2.2.4.11-R02"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_broken_number_is_reported_and_nothing_else(what):
    at, value, code, requirement = BROKEN[what]
    assert stated(broken(at, value)) == {code: requirement}


@pytest.mark.parametrize(
    "what", [name for name in BROKEN if not name.startswith(("dwType 1", "dwType 2", "dwType 4", "dwType of"))]
)
def test_the_finding_points_at_the_broken_number(what):
    at, value, code, _ = BROKEN[what]
    call = broken(at, value)
    (finding,) = judged(code, call).findings
    # pdwOutSize, pdwRtnSize and the counts of the array take 20 bytes before the buffer.
    place = finding.place
    assert place.part == "response stub"
    # Where a size and a length disagree, it is the size that is reported.
    assert place.start == 20 + (at + 4 if what == "dwDataSize above dwSize" else at)
    assert place.stop - place.start == 4
    if what != "dwDataSize above dwSize":
        assert finding.judgement.seen == str(value)


def test_an_answer_without_a_header_is_flagged():
    assert stated(answer(bytes(40))) == {"PCQ501": "PCQ-2.2.4.7-R01"}


def test_an_empty_success_is_flagged():
    assert stated(answer(b"")) == {"PCQ501": "PCQ-2.2.4.7-R01"}


def test_a_header_alone_is_accepted():
    assert stated(answer(perf_data([]))) == {}


def test_the_number_of_blocks_is_not_judged_behind_a_broken_one():
    data = bytearray(perf_data([ERROR, ERROR]))
    pack_into("<I", data, 48 + 8, 4)
    verdict = judged("PCQ501", answer(data))
    assert verdict.verdict("PCQ-2.2.4.7-R03") in ("pass", "inconclusive")
    assert not verdict.findings


def test_an_error_block_without_a_status_is_a_warning():
    verdict = judged("PCQ507", answer(perf_data([Block(0)])))
    assert [finding.judgement.outcome for finding in verdict.findings] == ["warn"]
    assert verdict.requirements == {"PCQ-2.2.4.8-R03"}


def test_an_error_block_with_data_is_flagged():
    data = bytearray(perf_data([ERROR]) + bytes(8))
    pack_into("<I", data, 0, len(data))
    pack_into("<I", data, 48 + 8, 24)
    assert stated(answer(data))["PCQ507"] == "PCQ-3.1.4.1.6-R13"


def test_two_values_in_a_block_of_one_are_flagged():
    block = Block(1, values=((u4(1), u4(2)),))
    assert stated(answer(perf_data([block, ERROR]))) == {"PCQ510": "PCQ-3.1.4.1.6-R14"}


def test_two_values_an_instance_in_a_block_of_one_counter_are_flagged():
    block = Block(4, instances=(("a", 0),), values=((u4(1), u4(2)),))
    assert stated(answer(perf_data([block, ERROR]))) == {"PCQ510": "PCQ-3.1.4.1.6-R19"}


@pytest.mark.parametrize("padding", ["counted", "uncounted"])
def test_counter_ids_may_be_padded_in_two_ways(padding):
    assert stated(answer(perf_data([Block(2, ids=(1, 2, 3), values=(ROW,), padding=padding), ERROR]))) == {}


def test_counter_ids_without_padding_move_what_follows():
    verdict = judged("PCQ530", answer(perf_data([Block(2, ids=(1,), values=((u4(1),),), padding="none")])))
    outcomes = {finding.judgement.requirement: finding.judgement.outcome for finding in verdict.findings}
    # The answer ends where its block does, off a multiple of 8 as well.
    assert outcomes == {"PCQ-2.2.4-R02": "warn", "PL-QCD-R07": "fail"}
    assert verdict.findings[0].judgement.at.path == "lpData.blocks[0].body.data[0]"


def unpadded(*values):
    """A block of type 2 whose values are not padded."""
    ids = u4(8 + 4 * len(values)) + u4(len(values)) + b"".join(u4(number) for number in range(len(values)))
    body = ids + b"".join(u4(len(value)) + u4(8 + len(value)) + value for value in values)
    block = u4(0) + u4(2) + u4(16 + len(body)) + u4(0) + body
    head = perf_data([])
    return answer(u4(48 + len(block)) + u4(1) + head[8:] + block)


def test_a_value_without_padding_is_a_note_and_moves_the_next():
    call = unpadded(u4(1), u4(2))
    assert stated(call) == {"PCQ511": "PL-QCD-R08", "PCQ530": "PCQ-2.2.4-R02"}
    (note,) = judged("PCQ511", call).findings
    assert (note.severity, note.is_excused) == ("info", True)
    assert judged("PCQ511", call, profile=Profile.SPEC).verdict("PCQ-2.2.4.9-R02") == "pass"
    assert judged("PCQ511", call, profile=Profile.STRICT).verdict("PL-QCD-R08") == "fail"
    assert judged("PCQ530", call).findings[0].judgement.outcome == "fail"
    assert judged("PCQ530", call).verdict("PL-QCD-R07") == "pass"


def padded_outside(*values, blocks=1):
    """Blocks of type 2 whose values are padded, and no size counts the padding; neither does that of the block at its end."""
    ids = u4(8 + 4 * len(values)) + u4(len(values)) + b"".join(u4(number) for number in range(len(values)))
    body = pad8(ids) + b"".join(pad8(u4(len(value)) + u4(8 + len(value)) + value) for value in values)
    size = 16 + len(body) - (-len(values[-1]) % 8)
    block = u4(0) + u4(2) + u4(size) + u4(0) + body
    head = perf_data([])
    return answer(u4(48 + blocks * len(block)) + u4(blocks) + head[8:] + blocks * block)


def test_padding_that_no_size_counts_is_no_more_than_a_note():
    for blocks in (1, 2):
        call = padded_outside(u4(1), u4(2), blocks=blocks)
        assert stated(call) == {"PCQ511": "PL-QCD-R08"}
        verdict = judged("PCQ511", call)
        assert verdict.count("PCQ-2.2.4.9-R02") == 2 * blocks
        assert verdict.verdict("PCQ-2.2.4.9-R02") == "pass"


def test_a_block_that_ends_off_eight_is_blamed_itself():
    """Figure 6 draws one value of four bytes and no padding: the next block begins where it should not, by this one's size."""
    first = u4(0) + u4(1) + u4(28) + u4(0) + u4(4) + u4(12) + u4(7)
    second = u4(0) + u4(1) + u4(32) + u4(0) + u4(8) + u4(16) + u8(8)
    head = perf_data([])
    call = answer(u4(48 + 60) + u4(2) + head[8:] + first + second)
    (finding,) = (one for one in judged("PCQ530", call).findings if one.judgement.requirement == "PCQ-2.2.4-R02")
    assert (finding.judgement.at.path, finding.judgement.at.span) == ("lpData.blocks[0].size", (56, 60))
    drawn = answer(u4(48 + 64) + u4(2) + head[8:] + first + u4(0) + second)
    assert stated(drawn) == {"PCQ511": "PL-QCD-R08"}


@pytest.mark.parametrize(("short", "values"), [(0, 1), (1, 2), (2, 0), (1, 4)])
def test_one_instance_with_too_few_or_too_many_values_is_found_at_its_own_bytes(short, values):
    names = (("a", 0), ("b", 1), ("c", 2))
    rows = tuple((u4(5),) * (values if number == short else 3) for number in range(3))
    call = answer(perf_data([Block(6, ids=(1, 2, 3), instances=names, values=rows), ERROR]))
    assert stated(call) == {"PCQ513": "PCQ-3.1.4.1.6-R26"}
    (finding,) = judged("PCQ513", call).findings
    start, stop = finding.judgement.at.span
    data = call.response.stub.data[20:]
    assert stop - start == 16 + 16 * values
    assert data[start + 8 : start + 10] == "abc"[short].encode("utf-16-le")


def test_a_total_size_off_eight_is_flagged():
    call = unpadded(u4(1), u8(2))
    assert "PL-QCD-R07" in judged("PCQ530", call).requirements


def test_identifiers_and_instances_are_looked_at_for_alignment_too():
    from tests.build.buffers import identifier, instance_header
    from tests.build.calls import COUNTERSET as GUID

    odd = identifier(GUID) + u4(0)
    odd = odd[:20] + u4(44) + odd[24:]
    verdict = judged("PCQ530", Calls().counter_info(odd + identifier(GUID)))
    assert verdict.requirements == {"PCQ-2.2.4-R02", "PCQ-3.1.4.1-R03"}
    assert verdict.findings[0].judgement.seen == "offset 44"
    calls = Calls()
    fine = calls.counter_info(identifier(GUID, name="ab") * 2)
    assert not judged("PCQ530", fine).findings
    asked = calls.stub().string("\\\\SRV1").uuid(GUID).uint(4096)
    names = u4(12) + u4(0) + "a\0".encode("utf-16-le") + instance_header("b", 1)
    assert judged("PCQ530", calls.exchange(2, asked, calls.sized(names))).requirements == {
        "PCQ-2.2.4-R02",
        "PCQ-3.1.4.1-R03",
    }
    assert not judged("PCQ530", calls.exchange(2, asked, calls.sized(instance_header("b", 1) * 2))).findings


def flawed():
    """Answers with one number changed, and some with padding that nothing counts."""
    whole = bytearray(perf_data(EVERYTHING))
    for at in range(0, len(whole), 4):
        for change in (8, -8, 1, 1 << 31):
            data = bytearray(whole)
            pack_into("<I", data, at, (unpack_from("<I", data, at)[0] + change) % (1 << 32))
            yield bytes(data)
    for call in (unpadded(u4(1), u4(2)), unpadded(u4(1), u8(2)), padded_outside(u4(1), u4(2), blocks=2)):
        data = call.response.stub.data[20:]
        yield data[: unpack_from("<I", data)[0]]
    header = u4(14) + u4(0) + "ab\0".encode("utf-16-le")
    rows = header + u4(8) + u4(16) + u8(7)
    block = u4(0) + u4(4) + u4(16 + 8 + len(rows)) + u4(0) + u4(8 + len(rows)) + u4(1) + rows
    yield u4(48 + len(block)) + u4(1) + perf_data([])[8:] + block


def test_every_flaw_lies_where_the_number_is_that_it_states():
    kinds = set()
    for data in flawed():
        for flaw in read_answer(data).flaws:
            start, stop = flaw.span
            if flaw.seen.isdecimal():
                kinds.add(flaw.kind)
                assert (stop - start, int.from_bytes(data[start:stop], "little")) == (4, int(flaw.seen)), flaw
            else:
                assert 0 <= start <= stop <= len(data)
    assert kinds >= set(FlawKind) - {FlawKind.HEADER, FlawKind.CONTENT, FlawKind.ROW_COUNT, FlawKind.VALUE_COUNT}
