"""Calls of the service control manager: stubs of another implementation (scapy-rpc), by hand after [MS-SCMR], and real ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.errors import DecodeError
from analyzer.core.events import Problem
from analyzer.interfaces.buffers.stub_decoding import decode_stub
from analyzer.interfaces.svcctl import service_layer as layer_module
from analyzer.interfaces.svcctl.service_layer import ServiceLayer
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call
from analyzer.results.methods.scmr import INTERFACE, ScmrOpnum
from analyzer.results.registry_and_service_facts import service_facts
from analyzer.screens.viewmodel.call_summary_words import answer_words, request_words
from tests.build.calls import Calls, altered, analysis_of
from tests.corpus import CORPUS
from tests.interfaces.calls import said
from tests.written import Outcomes

HANDLE = "00000000" + "11" * 16
OTHER = "00000000" + "22" * 16
OK = "00000000"
# As scapy-rpc writes them, in NDR and in NDR64.
CREATE = (
    "000000001111111111111111111111111111111109000000000000000900000050005300450058004500530056004300000000000000020007000000000000"
    "000700000050007300450078006500630000000000ff010f001000000003000000000000001a000000000000001a0000002500530079007300740065006d00"
    "52006f006f00740025005c00500053004500580045005300560043002e00450058004500000000000000000000000000000000000000000002000c00000000"
    "0000000c0000004c006f00630061006c00530079007300740065006d0000000000020004000000deadbeef04000000"
)
CREATE64 = (
    "000000001111111111111111111111111111111100000000090000000000000000000000000000000900000000000000500053004500580045005300560043"
    "000000000000000000000002000000000007000000000000000000000000000000070000000000000050007300450078006500630000000000ff010f001000"
    "000003000000000000001a0000000000000000000000000000001a000000000000002500530079007300740065006d0052006f006f00740025005c00500053"
    "004500580045005300560043002e00450058004500000000000000000000000000000000000000000000000000000000000000000000000000000000000200"
    "000000000c0000000000000000000000000000000c000000000000004c006f00630061006c00530079007300740065006d0000000000020000000000040000"
    "0000000000deadbeef04000000"
)
CHANGE = (
    "0000000011111111111111111111111111111111ffffffff02000000ffffffff0000020009000000000000000900000043003a005c0078002e006500780065"
    "00000000000000000000000000000000000000000000000000000000000000000000000000"
)
START = (
    "0000000011111111111111111111111111111111020000000000020002000000000002000000020009000000000000000900000050005300450058004500530056"
    "00430000000000030000000000000003000000" + "2d006b000000"
)
CONFIG = (
    "2000000002000000010000000000020000000200000000000000020000000200000002000f000000000000000f00000043003a005c0073007600630068006f0073"
    "0074002e00650078006500000000000100000000000000010000000000000002000000"
    "00000000020000002f0000000c000000000000000c0000004c"
    "006f00630061006c00530079007300740065006d0000000500000000000000050000004200490054005300000000000a00000000000000"
)
# A string after [MS-SCMR] 3.1.4.16 and C706 14.3.4.2: room, offset and count in characters, with the NUL.
NAME = "040000000000000004000000" + "FAX\0".encode("utf-16-le").hex()
NARROW = "040000000000000004000000" + b"FAX\0".hex()


def calls_of(*exchanges: tuple[int, str, str], ndr64: bool = False) -> tuple[list[Call], Analysis]:
    make = Calls(INTERFACE, ndr64=ndr64)
    analysis = analysis_of(
        *(make.exchange(op, bytes.fromhex(asks), bytes.fromhex(says)) for op, asks, says in exchanges)
    )
    return list(analysis.calls), analysis


CLOSING, MANAGER = "00" * 20 + OK, "00000000000000003f000f00"
THIRD = "00000000" + "33" * 16
Asked = tuple[int, str, str]


def opened(handle: str, manager: str = OTHER, status: str = OK) -> Asked:
    """ROpenServiceW."""
    return ScmrOpnum.OPEN_SERVICE_W, manager + NAME + "ff010f00", handle + status


CASES: dict[str, list[Asked]] = {
    "a handle is followed from creation to the end": [
        (ScmrOpnum.OPEN_SC_MANAGER_W, MANAGER, HANDLE + OK),
        (ScmrOpnum.CREATE_SERVICE_W, CREATE, "00000000" + OTHER + OK),
        (ScmrOpnum.START_SERVICE_W, OTHER + START[40:], OK),
        (ScmrOpnum.CONTROL_SERVICE, OTHER + "01000000", "1000000003000000" + "00000000" * 5 + OK),
        (ScmrOpnum.DELETE_SERVICE, OTHER, OK),
        # QueryServiceConfig2W is not decoded, but begins with a handle that is known.
        (39, OTHER + "0100000000100000", OK),
        (ScmrOpnum.CLOSE_SERVICE_HANDLE, OTHER, CLOSING),
        (ScmrOpnum.QUERY_SERVICE_STATUS, OTHER, "00" * 28 + "06000000"),
    ],
    "what a change leaves as it is is not shown": [
        opened(HANDLE),
        (ScmrOpnum.CHANGE_SERVICE_CONFIG_W, CHANGE, "00000000" + OK),
        (ScmrOpnum.QUERY_SERVICE_CONFIG_W, HANDLE + "00100000", CONFIG),
    ],
    "names may be of single bytes, and opening refused": [
        (ScmrOpnum.OPEN_SERVICE_A, OTHER + NARROW + "ff010f00", "00" * 20 + "24040000")
    ],
    "a stub that is none is malformed and says where": [
        (ScmrOpnum.CREATE_SERVICE_W, CREATE[:200], "00000000" + OTHER + OK)
    ],
    # A handle of an opening that failed names nothing, and a closing that failed closes nothing.
    "a handle that was refused or is still open is followed as such": [
        (ScmrOpnum.OPEN_SC_MANAGER_W, MANAGER, THIRD + "05000000"),
        opened(HANDLE),
        opened(THIRD, status="24040000"),
        (ScmrOpnum.CLOSE_SERVICE_HANDLE, HANDLE, HANDLE + "06000000"),
        (ScmrOpnum.DELETE_SERVICE, HANDLE, OK),
        (ScmrOpnum.DELETE_SERVICE, THIRD, OK),
        (ScmrOpnum.CLOSE_SERVICE_HANDLE, HANDLE, CLOSING),
        (ScmrOpnum.DELETE_SERVICE, HANDLE, "06000000"),
    ],
    # QueryServiceConfig2W, whose first parameter is hService ([MS-SCMR] 3.1.4.37).
    **{
        f"a request that is not decoded has the handle it begins with where that is known: {len(stub) // 2}, {stub[8:12]}": [
            opened(HANDLE),
            (39, stub, OK),
        ]
        for stub in (HANDLE, HANDLE + "01", HANDLE[:-2], THIRD, "")
    },
}


def said_of(exchanges: list[Asked]) -> Iterator[str]:
    """What is said of the calls, in records and in words."""
    calls, analysis = calls_of(*exchanges)
    yield from said(calls)
    words = [(request_words(call, analysis), answer_words(call, analysis)) for call in calls]
    yield from (" | ".join(filter(None, both)) for both in words if any(both))


OUTCOMES = Outcomes(Path(__file__).parent / "service_layer.txt", CASES, said_of)


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_calls_of_services_is_what_was_read_through(name: str) -> None:
    OUTCOMES.holds(name)


def test_what_is_said_of_calls_of_services_is_written_as_it_is() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    OUTCOMES.is_as_written()


@pytest.mark.parametrize(("stub", "ndr64"), [(CREATE, False), (CREATE64, True)])
def test_of_a_creation_that_breaks_off_the_parameters_before_are_given(stub: str, ndr64: bool) -> None:
    whole = decode_stub("svcctl", ScmrOpnum.CREATE_SERVICE_W, "request", bytes.fromhex(stub), ndr64=ndr64).params
    for stop in range(len(stub) // 2):
        with pytest.raises(DecodeError) as caught:
            decode_stub("svcctl", ScmrOpnum.CREATE_SERVICE_W, "request", bytes.fromhex(stub)[:stop], ndr64=ndr64)
        assert list(caught.value.params.items()) == list(whole.items())[: len(caught.value.params)]
    assert len(caught.value.params) >= len(whole) - 1


@pytest.mark.parametrize(("stub", "ndr64"), [(CREATE, False), (CREATE64, True)])
@pytest.mark.parametrize("opnum", [ScmrOpnum.CREATE_SERVICE_W, ScmrOpnum.CREATE_SERVICE_WOW64_W])
def test_a_service_is_created_as_scapy_writes_it(stub: str, opnum: int, ndr64: bool) -> None:
    decoded = decode_stub("svcctl", opnum, "request", bytes.fromhex(stub), ndr64=ndr64)
    assert decoded.consumed == len(stub) // 2
    assert decoded.params["lpServiceName"] == "PSEXESVC"
    assert decoded.params["lpDisplayName"] == "PsExec"
    assert decoded.params["lpBinaryPathName"] == "%SystemRoot%\\PSEXESVC.EXE"
    assert decoded.params["lpServiceStartName"] == "LocalSystem"
    assert (decoded.params["dwServiceType"], decoded.params["dwStartType"]) == (0x10, 3)
    # The password is no part of any result.
    assert decoded.params["dwPwSize"] == 4
    assert "lpPassword" not in decoded.params
    assert "deadbeef" not in repr(decoded)


def test_a_handle_has_no_name_from_an_opening_that_others_may_have_changed() -> None:
    make = Calls(INTERFACE)
    opening, deleting = (
        make.exchange(op, bytes.fromhex(asks), bytes.fromhex(says))
        for op, asks, says in (opened(HANDLE), (ScmrOpnum.DELETE_SERVICE, HANDLE, OK))
    )
    named = [call.path for call in analysis_of(opening, deleting, altered(opening), deleting).calls]
    assert named == ["FAX", "FAX", "FAX", None]


def test_what_is_of_no_service_manager_passes_unchanged() -> None:
    layer = ServiceLayer()
    note, other = Problem("note", "tcp", (1,), "passing by"), Calls().open_query()
    assert [*layer.feed(note), *layer.feed(other)] == [note, other]
    assert list(layer.finish()) == []


def test_of_more_handles_than_the_bound_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_module, "MAX_HANDLES", 2)
    opened = (ScmrOpnum.OPEN_SERVICE_W, "00000000" + "00" * 16 + NAME + "ff010f00")
    queried = [(ScmrOpnum.DELETE_SERVICE, handle, OK) for handle in (OTHER, HANDLE)]
    calls, _ = calls_of((*opened, HANDLE + OK), (*opened, OTHER + OK), *queried)
    assert [call.path for call in calls[2:]] == ["FAX", "FAX"]
    calls, _ = calls_of((*opened, HANDLE + OK), (*opened, OTHER + OK), (*opened, THIRD + OK), *queried)
    assert [call.path for call in calls[3:]] == ["FAX", None]
    # One that is given out again is the latest.
    again = [(*opened, handle + OK) for handle in (HANDLE, OTHER, HANDLE, THIRD)]
    calls, _ = calls_of(*again, *queried[::-1])
    assert [call.path for call in calls[4:]] == ["FAX", None]


def test_so_many_handles_are_known_at_once() -> None:
    layer = ServiceLayer()
    numbers = [layer._learn(("192.0.2.1", str(number)), None) for number in range(65_540)]
    assert (numbers[0], numbers[-1], len(layer._handles)) == (1, 65_540, 65_536)


def test_an_answer_alone_has_no_handle_and_no_name() -> None:
    (call,) = analysis_of(Calls(INTERFACE).exchange(39, None, bytes.fromhex(OK))).calls
    assert (call.handle, call.path, call.state) == (None, None, "response-only")


# ---------------------------------------------------------------------------------------------- public captures

PSEXEC = "OISF-suricata-verify/tests__dcerpc-smb-test-01__input.pcap"
WORM = "OISF-suricata-verify/tests__filestore-filecontainer-smb1-data-offset__input.pcap"
XP = "OISF-suricata-verify/tests__filestore-filecontainer-smb__filecontainer-smb.pcap"


def services(name: str) -> list[tuple[str | None, Any]]:
    found = analyze([CORPUS / name], pdus=False).calls
    return [(call.method, service_facts(call)) for call in found if call.is_svcctl and call.state == "complete"]


@pytest.mark.corpus
def test_psexec_of_windows() -> None:
    found = services(PSEXEC)
    assert len(found) == 18
    ((_, created),) = [one for one in found if one[0] == "RCreateServiceWOW64W"]
    assert (created.name, created.image_path) == ("PSEXESVC", "%SystemRoot%\\PSEXESVC.exe")
    named = [(method, facts.name if facts is not None else None) for method, facts in found]
    assert named.count(("RQueryServiceStatus", "PSEXESVC")) == 3
    assert ("RDeleteService", "PSEXESVC") in named


@pytest.mark.corpus
def test_a_worm_and_the_services_of_windows_xp() -> None:
    (created,) = [facts for method, facts in services(WORM) if method == "RCreateServiceW"]
    assert created.image_path.startswith("C:\\WINDOWS\\12zcy")
    found = services(XP)
    configured = {facts.name: facts.image_path for method, facts in found if method == "RQueryServiceConfigW" and facts}
    assert configured["ALG"] == "C:\\WINDOWS\\System32\\alg.exe"
    assert len(configured) > 90
    # Every call that is decoded was decoded to its end, and each about a service names it.
    about = [
        facts for method, facts in found if method in ("RCloseServiceHandle", "RQueryServiceConfigW", "RStartServiceW")
    ]
    assert sum(facts is not None and facts.name is not None for facts in about) > 0.9 * len(about)
