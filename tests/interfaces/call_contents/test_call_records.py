"""The records of calls: what is decoded once, and which problems belong to the calls that are shown."""

from hashlib import sha256
from typing import Any, Literal

import pytest
from msgspec import UNSET, Raw
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.absence import Missing
from analyzer.core.byte_origins import FrameExtent
from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id
from analyzer.core.output.json import Pieces
from analyzer.interfaces import buffers
from analyzer.interfaces.buffers.buffer_trees import find_damage
from analyzer.interfaces.call_contents import call_records
from analyzer.interfaces.call_contents.call_field_maps import buffer_fields, status_name, stub_fields
from analyzer.interfaces.call_contents.call_records import (
    CallRecords,
    all_problems,
    call_problems,
    call_record,
    place_extents,
    shown_problems,
)
from analyzer.interfaces.call_contents.client_programs import client_programs
from analyzer.interfaces.call_contents.damaged_buffers import Damages, buffer_damage, decoded_buffer
from analyzer.interfaces.call_contents.session_records import logon_record, session_record
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis, Part
from analyzer.results.calls import held_calls
from analyzer.results.calls.call import Call, CallRecord, RegistryFacts, Side, SideName
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.methods import perflib, scmr
from analyzer.results.methods import winreg as winreg_methods
from analyzer.results.security import RefusedBy
from analyzer.screens.views.timeline import timeline_records
from tests import truth
from tests.build.buffers import Block, name_table, perf_data
from tests.build.calls import COUNTERSET, HANDLE, MACHINE, MS, OTHER_HANDLE, Calls, analysis_of, logon_of, winreg
from tests.interfaces.resolution.test_order_of_calls import session

SOUND = perf_data([Block(1, values=((b"\1\0\0\0",),))])
# The block states more bytes than there are.
DAMAGED = SOUND[:56] + b"\xff" + SOUND[57:]


def polls(*answers: bytes) -> Analysis:
    make = Calls()
    return analysis_of(*(make.counter_data(data) for data in answers))


def response(call: Call) -> Side:
    assert call.response is not None
    return call.response


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The buffers that were looked through for damage."""
    found: list[bytes] = []

    def counted(kind: Any, data: bytes, **options: Any) -> Any:
        found.append(data)
        return find_damage(kind, data, **options)

    monkeypatch.setattr(buffers, "find_damage", counted)
    return found


def test_what_is_wrong_with_a_buffer_is_found_once(looked_at: list[bytes]) -> None:
    """Records note it, and the problems behind them need no second look."""
    analysis, noted = polls(SOUND, DAMAGED, SOUND), Damages()
    assert len(list(CallRecords(analysis).records_of(range(1, 4), noted))) == 3
    assert [noted.is_sound(number) for number in range(1, 5)] == [True, False, True, False]
    problems = list(all_problems(analysis, noted))
    assert looked_at == []
    assert problems == list(all_problems(analysis))
    assert looked_at == [SOUND, DAMAGED, SOUND]
    (problem,) = problems
    assert problem.layer == "pcq"
    assert "call #2: perf-data buffer of the response is damaged" in problem.text


@pytest.mark.parametrize(
    ("interface", "layer"),
    [(perflib.INTERFACE, "pcq"), (winreg_methods.INTERFACE, "winperf"), (scmr.INTERFACE, "svcctl")],
)
def test_a_stub_that_does_not_decode_is_a_problem_of_its_interface(interface: str, layer: str) -> None:
    problems = list(all_problems(analysis_of(Calls(interface).exchange(0, b"\1", b"\1"))))
    assert [(one.kind, one.layer, one.frames) for one in problems] == [
        ("malformed", layer, (1,)),
        ("malformed", layer, (2,)),
    ]


def test_calls_of_a_part_are_noted_from_their_first_number_on(looked_at: list[bytes]) -> None:
    analysis = polls(*[SOUND] * 5)
    noted = Damages(first=4)
    for number in (4, 5):
        CallRecords(analysis).record(analysis.calls[number - 1], noted)
    assert [noted.is_sound(number) for number in (4, 5, 6)] == [True, True, False]
    assert looked_at == []


def test_a_side_alone_makes_no_call_sound() -> None:
    (call,) = polls(SOUND).calls
    noted = Damages()
    noted.note(1, "response", response(call), None)
    assert not noted.is_sound(1)
    assert noted.problem_of(1, "response", response(call)) is None
    noted.note_absent(1, "request", call.request)
    assert noted.is_sound(1)


@pytest.mark.parametrize("name", ["request", "response"])
def test_a_side_that_was_not_looked_at_is_looked_at_when_asked_for(name: SideName) -> None:
    (call,) = polls(DAMAGED).calls
    for is_noted in (False, True):
        noted = Damages()
        if is_noted:
            noted.note(2, name, response(call), None)
        assert noted.problem_of(3000, name, response(call)) is not None


def test_a_long_stub_has_the_hash_and_length_of_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond 1 MB is read in parts."""
    analysis = polls(SOUND)
    (call,) = analysis.calls
    whole = call_record(call, analysis).response
    monkeypatch.setattr(call_records, "_LONG", 7)
    monkeypatch.setattr(held_calls, "_LONG_STUB", 7)
    assert call_record(call, analysis).response == whole
    stub = response(call).stub
    assert not isinstance(stub, Missing)
    assert (whole.stub_length, whole.stub_sha256) == (len(stub), sha256(stub.data).hexdigest())


@pytest.mark.parametrize(
    ("opnum", "stub", "why"),
    [(6, Missing.SEALED, "sealed"), (None, b"an answer alone", "undecodable")],
    ids=["sealed", "of an unknown method"],
)
def test_of_a_missing_stub_the_reason_is_stated_in_place_of_length_and_hash(
    opnum: int | None, stub: bytes | Missing, why: str
) -> None:
    analysis = analysis_of(Calls().exchange(opnum, None, stub, reason="no key"))
    made = call_record(analysis.calls[0], analysis).response
    assert (made.stub_length, made.stub_sha256, made.why_missing) == (None, None, why)


def test_times_between_calls_are_those_of_the_calls_shown() -> None:
    analysis = polls(*[SOUND] * 4)
    shown = [analysis.calls[at] for at in (0, 1, 3)]
    after, by_number = CallRecords(analysis), list(CallRecords(analysis).records_of((1, 2, 4)))
    assert [after.after_the_last(call).time_delta_ns for call in shown] == [None, 2 * MS, 4 * MS]
    assert [record.number for record in by_number] == [1, 2, 4]
    assert [(record.time_delta_ns, record.time_relative_ns) for record in by_number] == [
        (None, MS),
        (2 * MS, 3 * MS),
        (4 * MS, 7 * MS),
    ]


def test_buffers_are_json_text_where_that_was_asked_for() -> None:
    analysis = polls(SOUND)
    for for_json, kinds in ((True, (Raw, Pieces)), (False, (dict,))):
        (record,) = [one for one in timeline_records(analysis, for_json=for_json) if isinstance(one, CallRecord)]
        assert isinstance(record.response.buffer, kinds)
    (plain,) = [one for one in timeline_records(analysis) if isinstance(one, CallRecord)]
    assert isinstance(plain.response.buffer, dict)
    one = CallRecords(analysis).record(analysis.calls[0])
    assert isinstance(one.response.buffer, dict)


def test_what_is_wrong_with_a_buffer_is_beside_it() -> None:
    analysis = polls(SOUND, DAMAGED)
    sound, damaged = (call_record(call, analysis).response for call in analysis.calls)
    assert sound.buffer_problem is UNSET
    assert "block" in str(damaged.buffer_problem)


@pytest.mark.parametrize(
    ("firsts", "numbers", "frames"),
    [
        *(((1, 3, 5, 7), numbers, frames) for numbers, frames in (((2, 3), {3, 4, 5, 6}), ((2, 4), {3, 4, 7, 8}))),
        *(((1, 5, 9), numbers, frames) for numbers, frames in (((1, 2), {*range(1, 7)}), ((1, 3), {1, 2, 9, 10}))),
        *(((1, 5, 9), numbers, frames) for numbers, frames in (((2, 3), {*range(5, 11)}), ((1,), {1, 2}), ((), set()))),
        # Of this call no frame is there.
        ((1, 5, 9), (4,), set()),
    ],
)
def test_problems_shown_are_those_of_the_frames_of_the_calls(
    firsts: tuple[int, ...], numbers: tuple[int, ...], frames: set[int]
) -> None:
    """Each call is in two frames, from the first on; between calls that follow each other, what no call has is theirs too."""
    analysis = analysis_of(*(Calls(first_frame=first).counter_data(SOUND) for first in firsts))
    table = CallTable()
    for call in (*analysis.calls, replace(analysis.calls[0], request=None, response=None)):
        table.append(call)
    problems = tuple(Problem("note", "test", (frame,), f"at {frame}") for frame in range(-1, 25))
    analysis = replace(analysis, calls=OrderedCalls(table, range(len(firsts) + 1)), problems=problems)
    made = shown_problems(replace(analysis, part=Part(numbers, (), "a test")))
    assert {frame for problem in made for frame in problem.frames} == frames
    assert list(shown_problems(analysis)) == list(problems)


@pytest.mark.parametrize(
    ("status", "fault", "status_name", "fault_name"),
    [
        (0, None, "ERROR_SUCCESS", None),
        (5, None, "ERROR_ACCESS_DENIED", None),
        (4711, None, None, None),
        # C706 appendix E.
        (None, 0x1C010003, None, "nca_s_unk_if"),
        (None, None, None, None),
    ],
)
def test_a_call_has_the_names_of_its_status_and_fault(
    status: int | None, fault: int | None, status_name: str | None, fault_name: str | None
) -> None:
    analysis = polls(SOUND)
    made = call_record(replace(analysis.calls[0], status=status, fault=fault), analysis)
    assert (made.status, made.status_name, made.fault, made.fault_name) == (status, status_name, fault, fault_name)


def test_fields_are_there_for_methods_and_buffers_that_are_known() -> None:
    analysis = polls(SOUND)
    (call,) = analysis.calls
    for name in ("request", "response"):
        assert stub_fields(call, name) is not None
        assert stub_fields(replace(call, opnum=None), name) is None
        assert stub_fields(replace(call, opnum=99), name) is None
        other = replace(call.interface, uuid="12345678-1234-1234-1234-1234567890ab")
        assert stub_fields(replace(call, interface=other), name) is None
        assert stub_fields(replace(call, interface=replace(call.interface, uuid=None)), name) is None
    # A fault carries no stub of the method (C706 section 12.6.4.7).
    assert stub_fields(replace(call, fault=5), "response") is None
    assert stub_fields(replace(call, fault=5), "request") is not None
    assert stub_fields(replace(call, request=None), "request") is None
    answer = response(call)
    assert buffer_fields(answer) is not None
    assert buffer_fields(replace(answer, buffer_kind=None)) is None
    assert buffer_fields(replace(answer, buffer_span=None)) is None


def test_a_status_has_its_name_or_its_number() -> None:
    assert (status_name(5), status_name(4711)) == ("ERROR_ACCESS_DENIED", "error 4711")


def test_places_have_the_numbers_of_frames_and_with_several_files_the_file() -> None:
    """docs/output.md: `frame_files` is there where a capture has several files."""
    one = polls(SOUND).capture
    extents = [FrameExtent(frame_id(file, 3), 7, 5) for file in (0, 1)]
    (first,) = place_extents(extents[:1], one)
    assert (first.frames, first.frame_files, first.start, first.length) == ((3,), UNSET, 7, 5)
    both = place_extents(extents, replace(one, files=("a.pcap", "b.pcap")))
    assert [(place.frames, place.frame_files) for place in both] == [((3,), (0,)), ((3,), (1,))]


def test_a_call_without_an_answer_is_sound_and_has_no_buffer() -> None:
    make = Calls()
    analysis = analysis_of(make.exchange(6, make.stub().handle(HANDLE).uint(4096), None))
    noted = Damages()
    made = CallRecords(analysis).record(analysis.calls[0], noted)
    assert made.response is None
    assert noted.is_sound(1)
    assert decoded_buffer(None) is None
    answer = response(polls(SOUND).calls[0])
    decoded = decoded_buffer(answer)
    assert decoded.tree["total_size"] == len(SOUND)
    assert decoded_buffer(replace(answer, buffer_kind=None)) is None
    assert decoded_buffer(replace(answer, buffer_span=None)) is None


@pytest.mark.parametrize("ndr64", [False, True])
def test_fields_of_a_stub_are_read_in_its_transfer_syntax(ndr64: bool) -> None:
    make = Calls(ndr64=ndr64)
    analysis = analysis_of(make.open_query())
    made = stub_fields(analysis.calls[0], "request")
    assert [leaf.value for leaf in made.root.leaves() if isinstance(leaf.value, str)] == [MACHINE]
    assert made.problem is None


def test_the_key_and_the_value_of_a_registry_call_are_named() -> None:
    make, tables = winreg(), "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Perflib\\009"
    below = make.stub().handle(HANDLE).unicode_string(tables).uint(0).uint(0x20019)
    analysis = analysis_of(
        make.open_key(2),
        make.query_value("Owner", b"\1\0\0\0", kind=4),
        make.open_key(3, OTHER_HANDLE),
        # Of a key that was opened before the capture began, the value alone is known.
        make.query_value("Owner", b"\1\0\0\0", "bbbb" + HANDLE[4:], kind=4),
        make.exchange(15, below, make.stub().handle("cccc" + HANDLE[4:]).uint(0)),
        make.query_value("Counter 009", name_table([("4", "Memory")]), "cccc" + HANDLE[4:], kind=7),
        Calls(first_frame=50).open_query(),
    )
    opened, asked, performance, alone, _, names, other = (call_record(call, analysis) for call in analysis.calls)
    assert opened.registry == RegistryFacts("HKLM", None, None, None)
    assert asked.registry == RegistryFacts("HKLM", "Owner", "REG_DWORD", 1)
    assert alone.registry == RegistryFacts(None, "Owner", "REG_DWORD", 1)
    assert names.registry == RegistryFacts(f"HKLM\\{tables}", None, None, None)
    # A value that is no performance data is a buffer of no kind.
    assert (asked.response.buffer_kind, asked.response.buffer) == (None, None)
    assert (performance.registry, other.registry) == (None, None)


CAPTURES_OF_ALL_SHAPES = [
    "pcq_smbd_scapy_impacket_smb311_ntlm_integrity_denied",
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_frag256",
    "pcq_smbd_scapy_scapycli_smb311_ndr64",
    "v1_samba_impacket_smb311_noauth",
    # Without its keys.
    "n_pcq_dropseg",
    "n_v1_midstream",
]


@pytest.mark.parametrize("name", CAPTURES_OF_ALL_SHAPES)
def test_a_row_has_the_record_that_its_call_has_when_it_is_looked_at(name: str) -> None:
    path = truth.CAPTURES / f"{name}.pcap"
    secrets = path.with_suffix(".secrets.json")
    analysis = analyze([path], Keyring.load(secrets) if secrets.exists() else Keyring.build())
    numbers = range(1, len(analysis.calls) + 1)
    looked_at, of_rows, of_calls = CallRecords(analysis), Damages(), Damages()
    records = list(CallRecords(analysis).records_of(numbers, of_rows))
    assert records == [looked_at.after_the_last(call, of_calls) for call in analysis.calls]
    assert records
    assert [of_rows.is_sound(number) for number in numbers] == [of_calls.is_sound(number) for number in numbers]
    by_itself = [problem for call in analysis.calls for problem in call_problems(call, Damages())]
    assert list(all_problems(analysis)) == [*analysis.problems, *by_itself]
    heads = [looked_at.head(call) for call in analysis.calls]
    assert list(CallRecords(analysis).heads(numbers)) == heads
    assert heads == [replace(record, request=None, response=None, time_delta_ns=UNSET) for record in records]


def test_no_call_is_made_of_an_ordinary_row(monkeypatch: pytest.MonkeyPatch) -> None:
    path = truth.CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_frag256.pcap"
    analysis = analyze([path], Keyring.load(path.with_suffix(".secrets.json")))
    # How clients offer more room is learnt of a few calls that were refused, before any line is made.
    records = CallRecords(analysis)
    monkeypatch.setattr(CallTable, "read", None)
    assert len(list(records.records_of(range(1, len(analysis.calls) + 1)))) == 101


def test_a_session_is_described_by_its_handshake() -> None:
    analysis = polls(SOUND)
    made = session_record(replace(session(7), refused=0xC000006D), analysis.capture, client_programs(analysis))
    assert (made.session, made.session_id, made.frames) == (7, "0x000000000000001d", (1, 2))
    assert (made.user, made.workstation, made.server_name, made.server_os_version, made.client_os_version) == (
        "LAB\\perfmon",
        "CLIENT7",
        "SRV1",
        "10.0.20348",
        "10.0.19041",
    )
    assert (made.refused_name, made.decryption) == ("STATUS_LOGON_FAILURE", "decrypted")
    assert session_record(session(), analysis.capture, client_programs(analysis)).refused_name is None


@pytest.mark.parametrize(
    ("by", "refused_by", "refused", "name"),
    [
        ("smb", "session setup", 0xC000006D, "STATUS_LOGON_FAILURE"),
        # C706 section 12.6.3.1 and [MS-RPCE] section 2.2.2.5.
        ("rpc", "bind_nak", 8, "authentication type not recognized"),
        ("rpc", "fault", 5, "nca_s_fault_access_denied"),
        ("rpc", None, None, None),
    ],
)
def test_a_refused_logon_has_the_name_that_the_message_of_its_refusal_gives_the_number(
    by: Literal["smb", "rpc"], refused_by: RefusedBy | None, refused: int | None, name: str | None
) -> None:
    logon = replace(logon_of(session()), by=by, refused_by=refused_by, refused=refused)
    made = logon_record(logon, polls(SOUND).capture)
    assert (made.by, made.refused_by, made.refused, made.refused_name) == (by, refused_by, refused, name)


def test_a_buffer_of_no_kind_is_not_looked_through() -> None:
    answer = response(polls(DAMAGED).calls[0])
    assert buffer_damage(answer) is not None
    for other in (replace(answer, buffer_kind=None), replace(answer, buffer_span=None)):
        assert buffer_damage(other) is None
    noted = Damages()
    noted.note_absent(1, "response", answer)
    noted.note_absent(1, "request", None)
    assert not noted.is_sound(1)


@pytest.mark.parametrize("big_endian", [False, True])
def test_guids_are_in_the_byte_order_of_the_call(big_endian: bool) -> None:
    make = Calls(big_endian=big_endian)
    analysis = analysis_of(make.enumerate_sets(make.stub().uuid(COUNTERSET).data))
    made = call_record(analysis.calls[0], analysis).response
    assert made.buffer == {"guids": [COUNTERSET]}
