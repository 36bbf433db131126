"""Values of the registry without names: numbers and the vocabulary of counters stay, texts become pseudonyms, bytes zeros."""

import io
from uuid import UUID

import pytest

from analyzer.core.absence import Missing
from analyzer.interfaces.buffers.stub_decoding import decode_stub
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.interfaces.redaction.redacted_stubs import redacted_buffer, redacted_call
from analyzer.pipeline.run import analyze
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.calls.call import Call
from tests.build.buffers import identifier, instance_header, name_table, string_table, wide
from tests.build.calls import COUNTERSET, HANDLE, Calls, winreg
from tests.interfaces.buffers.test_vectors import data_of, kind_of
from tests.interfaces.resolution.test_unbound_calls import nameless, without_beginning
from tests.interfaces.svcctl.test_service_layer import CREATE, calls_of
from tests.interfaces.svcctl.test_service_layer import HANDLE as SERVICE
from tests.truth import CAPTURES

REG_SZ, REG_EXPAND_SZ, REG_BINARY, REG_DWORD, REG_DWORD_BIG_ENDIAN, REG_LINK, REG_MULTI_SZ, REG_QWORD = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    11,
)
STATUS_ACCESS_DENIED = bytes.fromhex("220000c0")
TABLE = name_table([("1", "1847"), ("2", "System"), ("4", "Memory")])


def answered(call: Call, opnum: int = 17) -> bytes:
    """The data in the redacted answer of a call."""
    stub = redacted_call(call, Pseudonyms(b"k"))["response"]
    assert stub is not None
    return decode_stub("winreg", opnum, "response", stub).data or b""


def value(name: str, kind: int, data: bytes) -> Call:
    return plain_call(winreg().query_value(name, data, kind=kind))


ALICE = wide("alice\0")


@pytest.mark.parametrize(
    ("name", "kinds", "data", "expected"),
    [
        ("Updates", (REG_DWORD, REG_DWORD_BIG_ENDIAN), b"\1\2\3\4", b"\1\2\3\4"),
        ("Updates", (REG_QWORD,), b"\1\2\3\4\5\6\7\x08", b"\1\2\3\4\5\6\7\x08"),
        ("Owner", (REG_SZ, REG_EXPAND_SZ, REG_LINK, REG_MULTI_SZ), ALICE, wide(Pseudonyms(b"k").name("alice") + "\0")),
        ("Owner", (REG_BINARY, 0, 99), b"alice!", bytes(6)),
        ("Owner", (REG_SZ,), b"alice", bytes(5)),
        *((table, (REG_MULTI_SZ,), TABLE, TABLE) for table in ("Counter", "Counter 009", "Explain 407", "help")),
    ],
    ids=["numbers", "numbers of 8 bytes", "texts", "other values", "half characters", *["tables of counters"] * 4],
)
def test_numbers_and_tables_stay_and_texts_become_pseudonyms_and_other_values_zeros(
    name: str, kinds: tuple[int, ...], data: bytes, expected: bytes
) -> None:
    assert [answered(value(name, kind, data)) for kind in kinds] == [expected] * len(kinds)


def test_a_table_under_another_name_and_other_texts_under_the_name_of_a_table_do_not_stay() -> None:
    assert b"M\0e\0m\0" not in answered(value("Owner", REG_MULTI_SZ, TABLE))
    assert b"a\0l\0i\0" not in answered(value("Counter 009", REG_MULTI_SZ, wide("alice\0bob\0")))


@pytest.mark.parametrize(("kind", "data", "kept"), [(REG_DWORD, b"\1\2\3\4", True), (REG_BINARY, b"alice!", False)])
def test_a_value_that_is_set_is_treated_by_its_type(kind: int, data: bytes, kept: bool) -> None:
    """BaseRegSetValue, [MS-RRP] section 3.1.5.22: the type is in the request."""
    make = winreg()
    asked = make.stub().handle(HANDLE).unicode_string("Owner").uint(kind).conformant(data).uint(len(data))
    stubs = redacted_call(plain_call(make.exchange(22, asked, make.stub().uint(5))), Pseudonyms(b"k"))
    assert stubs["request"] is not None
    assert decode_stub("winreg", 22, "request", stubs["request"]).data == (data if kept else bytes(len(data)))
    assert stubs["response"] == b"\5\0\0\0"


def test_a_call_without_its_bind_is_treated_as_the_interface_that_its_stubs_fit() -> None:
    (call,) = nameless(winreg().query_value("Owner", wide("alice\0"), kind=REG_SZ))
    assert answered(call) == wide(Pseudonyms(b"k").name("alice") + "\0")
    (wider,) = nameless(winreg(ndr64=True).query_value("Owner", wide("alice\0"), kind=REG_SZ))
    stub = redacted_call(wider, Pseudonyms(b"k"))["response"]
    assert stub is not None
    assert decode_stub("winreg", 17, "response", stub, ndr64=True).data == wide(Pseudonyms(b"k").name("alice") + "\0")
    (other,) = nameless(winreg().exchange(17, b"alice", b"alice"))
    assert redacted_call(other, Pseudonyms(b"k")) == {"request": bytes(5), "response": bytes(5)}


@pytest.mark.parametrize(
    "name", ["v1_samba_impacket_smb311_noauth.pcap", "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap"]
)
def test_calls_of_a_capture_that_begins_behind_the_bind_are_read_as_without_pseudonyms(name: str) -> None:
    bound = max(frame for one in analyze([CAPTURES / name]).bounds for frame in one.frames)
    cut = without_beginning(name, bound + 12)
    plain, redacted = (analyze([io.BytesIO(cut)], pseudonyms=names) for names in (None, Pseudonyms(b"k")))
    found = [(call.interface.name, call.method, call.state, call.status) for call in plain.calls]
    assert found == [(call.interface.name, call.method, call.state, call.status) for call in redacted.calls]
    assert {state for _, _, state, _ in found} >= {"complete"}


def test_an_answer_that_is_a_status_alone_stays() -> None:
    """DeleteService, [MS-SCMR] section 3.1.4.3."""
    (deleted,), _ = calls_of((2, "00000000" + "11" * 16, "30040000"))
    assert redacted_call(deleted, Pseudonyms(b"k"))["response"] == b"\x30\4\0\0"


def test_of_a_fault_nothing_is_copied() -> None:
    make = winreg()
    call = plain_call(make.exchange(17, make.stub().handle(HANDLE), b"alice", fault=5))
    assert redacted_call(call, Pseudonyms(b"k"))["response"] == bytes(5)


def test_names_of_counters_stay_and_names_of_instances_do_not() -> None:
    names = Pseudonyms(b"k")
    assert redacted_buffer("string", wide("Processor Time\0"), names) == wide("Processor Time\0")
    # What lies behind the name is none.
    assert redacted_buffer("string", wide("Processor Time\0") + b"alice!", names) == wide("Processor Time\0") + bytes(6)
    junk = "secret".encode("utf-16-le")
    made = redacted_buffer("instances", instance_header("bob", 7) + junk, names)
    assert made.startswith(instance_header(names.name("bob"), 7))
    assert junk not in made
    table = string_table([(1, "alice"), (2, "bob")], from_start=True)
    assert redacted_buffer("string-table", table, names) == table
    made = redacted_buffer("identifiers", identifier(COUNTERSET, name="alice"), names)
    assert made == identifier(COUNTERSET, name=names.name("alice")) != identifier(COUNTERSET, name="alice")


@pytest.mark.parametrize("key", ["SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Perflib\\009", "Software\\Alice"])
def test_the_key_of_the_tables_stays_and_others_do_not(key: str) -> None:
    """BaseRegOpenKey, [MS-RRP] section 3.1.5.15."""
    make = winreg()
    asked = make.stub().handle(HANDLE).unicode_string(key + "\0").uint(0).uint(0x20019)
    names = Pseudonyms(b"k")
    stub = redacted_call(plain_call(make.exchange(15, asked, make.stub().handle(HANDLE).uint(0))), names)["request"]
    assert stub is not None
    read = str(decode_stub("winreg", 15, "request", stub).params["lpSubKey"]).rstrip("\0")
    assert read == (key if "Perflib" in key else names.name(key))


def test_of_a_method_that_is_not_described_only_the_status_stays() -> None:
    make = winreg()
    assert redacted_call(plain_call(make.exchange(12, b"it is alice", b"alice's" + b"\5\0\0\0")), Pseudonyms(b"k")) == {
        "request": bytes(11),
        "response": bytes(7) + b"\5\0\0\0",
    }
    for sealed in (None, Missing.SEALED):
        alone = plain_call(make.exchange(17, sealed, b"alice"))
        assert redacted_call(alone, Pseudonyms(b"k"))["request"] is None


def test_of_a_call_that_is_not_decoded_the_status_stays() -> None:
    """How it ended names nobody; without it, zeros would say that every such call succeeded."""
    samr = Calls("12345778-1234-abcd-ef00-0123456789ac").exchange(13, b"alice", b"bob" + STATUS_ACCESS_DENIED)
    assert redacted_call(plain_call(samr), Pseudonyms(b"k")) == {
        "request": bytes(5),
        "response": bytes(3) + STATUS_ACCESS_DENIED,
    }


def test_services_get_pseudonyms_and_keep_their_status() -> None:
    (call,), _ = calls_of((12, CREATE, "00000000" + SERVICE + "31040000"))
    names = Pseudonyms(b"k")
    stubs = redacted_call(call, names)
    asked = decode_stub("svcctl", 12, "request", stubs["request"]).params
    assert asked["lpServiceName"].rstrip("\0") == names.name("PSEXESVC") != "PSEXESVC"
    assert decode_stub("svcctl", 12, "response", stubs["response"]).status == call.status == 0x431
    for name in ("PSEXESVC", "PsExec", "LocalSystem"):
        assert name.encode("utf-16-le") not in stubs["request"]
    # Dependencies and the password are bytes of which nothing is known.
    assert bytes.fromhex("deadbeef") not in stubs["request"]


LIST = instance_header("alice", 1) + instance_header("bob", 2)
ONE = identifier(COUNTERSET, name="alice")


@pytest.mark.parametrize("junk", [wide(text) for text in ("No", "Nora", "Noras PC", "Noras own machine in Bern")])
@pytest.mark.parametrize(("kind", "whole"), [("instances", LIST), ("identifiers", ONE)])
def test_of_text_behind_a_list_nothing_stays_though_it_reads_as_the_head_of_a_record(
    kind: BufferKind, whole: bytes, junk: bytes
) -> None:
    names = Pseudonyms(b"k")
    redacted = redacted_buffer(kind, whole + junk, names)
    assert redacted == redacted_buffer(kind, whole, names) + bytes(len(junk))


@pytest.mark.parametrize("name", ["data_type2_multi_counters_even", "data_type6_counterset", "ident_query_info"])
def test_records_before_a_damaged_one_stay(name: str) -> None:
    names, kind, data = Pseudonyms(b"k"), kind_of(name), data_of(name)
    whole, cut = redacted_buffer(kind, data, names), redacted_buffer(kind, data[:-6], names)
    last = max(at for at in range(len(cut)) if cut[at]) + 1
    assert cut[:last] == whole[:last]
    assert last > len(data) // 3


def test_of_a_damaged_list_of_guids_nothing_stays() -> None:
    """Any 16 bytes read as a GUID."""
    guids = UUID(COUNTERSET).bytes_le * 2
    assert redacted_buffer("guids", guids, Pseudonyms(b"k")) == guids
    assert not any(redacted_buffer("guids", guids + wide("Noras computer"), Pseudonyms(b"k")))


def test_of_a_stub_the_parameter_that_is_cut_does_not_stay() -> None:
    make = winreg()
    asked = make.stub().handle(HANDLE).unicode_string("Owner").data
    whole, cut = (
        redacted_call(plain_call(make.exchange(17, stub, b"")), Pseudonyms(b"k"))["request"]
        for stub in (asked + wide("Nora"), asked[:36])
    )
    assert whole is not None
    assert any(whole[20:36])
    assert cut == whole[:20] + bytes(16)
