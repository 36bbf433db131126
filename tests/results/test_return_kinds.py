"""What methods return: the table of methods against scapy-rpc, names against impacket, and what tshark reads of public captures."""

import json
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from msgspec.structs import replace

from analyzer.core.error_code_names import hresult_name, hresult_numbers
from analyzer.core.errors import InputError
from analyzer.core.frame_ids import number_of
from analyzer.interfaces.call_contents.call_records import call_record
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.pipeline.run import analyze
from analyzer.questions.filters.field_values import CallColumns
from analyzer.questions.filters.filterable_fields import call_fields
from analyzer.questions.statistics.call_statistics import error_stats
from analyzer.questions.statistics.shown_call_columns import ShownCalls
from analyzer.results.methods.return_kinds import _RETURNS, ReturnKind, _by_opnum, return_kind, stated_kind
from analyzer.transport.rpc.rpc_names import method_name
from tests.build.calls import Calls, analysis_of
from tests.corpus import CORPUS, expected
from tests.written import IS_WRITING, as_json, is_as_written

NETLOGON = "12345678-1234-abcd-ef00-01234567cffb"
SAMR = "12345778-1234-abcd-ef00-0123456789ac"
SRVSVC = "4b324fc8-1670-01d3-1278-5a47bf6ee188"
EFSRPC = "c681d488-d850-11d0-8c52-00c04fd90f7e"
TASKS = "86d35949-83c9-4044-b424-db363231fd0c"
WIN32, NET_API, NTSTATUS, HRESULT = ReturnKind


@pytest.mark.parametrize(
    ("interface", "opnum", "kind"),
    [
        (NETLOGON, 26, NTSTATUS),  # NetrServerAuthenticate3, [MS-NRPC] section 3.5.4.4.2
        (NETLOGON, 40, NET_API),  # DsrEnumerateDomainTrusts, [MS-NRPC] section 3.5.4.7.1
        (NETLOGON, 50, None),
        (SAMR, 13, NTSTATUS),
        (EFSRPC, 0, WIN32),  # EfsRpcOpenFileRaw, [MS-EFSR] section 3.1.4.2.1
        (EFSRPC, 3, None),  # EfsRpcCloseRaw returns nothing
        (SRVSVC, 32, None),  # NetprPathCompare returns how paths compare
        (TASKS, 1, HRESULT),
        ("00000000-1111-2222-3333-444444444444", 0, None),
        (None, 3, None),
        (SAMR, None, None),
    ],
)
def test_what_a_method_returns_is_what_its_specification_says(interface, opnum, kind):
    assert stated_kind(interface, opnum) is kind
    assert return_kind(interface, opnum) is (kind or WIN32)


def test_every_method_of_the_table_ends_in_a_status_in_scapy_too():
    """Their classes are compiled from the IDL of the same documents: what a function returns is the last field, `status`."""
    import importlib.util

    import msrpcs  # noqa: F401

    place = Path(importlib.util.find_spec("msrpcs").submodule_search_locations[0])
    sources = "\n".join(path.read_text("utf-8") for path in sorted(place.glob("ms_*.py")))
    unlike, compared = [], 0
    for interface, one in _RETURNS.items():
        assert one.document.startswith("[MS-")
        for opnum in _by_opnum(interface):
            name = method_name(interface, opnum)
            at = sources.find(f"\nclass {name}_Response(NDRPacket):") if name else -1
            if at < 0:
                continue
            body = sources[at : sources.index("\n\n\n", at)]
            compared += 1
            if not body.rstrip().rstrip("]").rstrip().rstrip(",").endswith('NDRIntField("status", 0)'):
                unlike.append((interface, opnum, name))
    assert unlike == []
    assert compared > 500


@pytest.mark.needs("impacket")
def test_hresults_have_the_names_of_the_specifications():
    from impacket.dcerpc.v5.dcom.wmi import WBEMSTATUS
    from impacket.hresult_errors import ERROR_MESSAGES

    theirs = {code: name for code, (name, _) in ERROR_MESSAGES.items()}
    theirs |= {one.value & 0xFFFFFFFF: one.name for one in WBEMSTATUS.enumItems}
    ours = hresult_numbers()
    # [MS-ERREF] section 2.1 has no successes, and its E_HANDLE has another place; [MS-FSRVP] section 2.2.4 has its own.
    own = {name for name in ours if name in ("S_OK", "S_FALSE", "E_HANDLE") or name.startswith("FSRVP")}
    assert {name: theirs[code] for name, code in ours.items() if name not in own} == {
        name: name for name in ours.keys() - own
    }
    assert [hresult_name(code) for code in (0x80070002, 0x80070003, 0x8007FFFF, 0x80001234)] == [
        "ERROR_FILE_NOT_FOUND",
        "ERROR_PATH_NOT_FOUND",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("kind", "status", "is_failure", "words"),
    [
        (WIN32, 0, False, "ERROR_SUCCESS"),
        (WIN32, 5, True, "ERROR_ACCESS_DENIED"),
        (WIN32, 234, True, "ERROR_MORE_DATA"),
        (WIN32, 4711, True, "error 4711"),
        (NET_API, 234, False, "ERROR_MORE_DATA"),
        (NET_API, 5, True, "ERROR_ACCESS_DENIED"),
        (NTSTATUS, 0, False, "STATUS_SUCCESS"),
        (NTSTATUS, 0x107, False, "STATUS_SOME_NOT_MAPPED"),
        (NTSTATUS, 0x8000001A, False, "STATUS_NO_MORE_ENTRIES"),
        (NTSTATUS, 0xC0000022, True, "STATUS_ACCESS_DENIED"),
        (NTSTATUS, 0xC0000BAD, True, "0xc0000bad"),
        (HRESULT, 1, False, "S_FALSE"),
        (HRESULT, 0x80070005, True, "E_ACCESSDENIED"),
        (HRESULT, 0x80070002, True, "ERROR_FILE_NOT_FOUND"),
    ],
)
def test_a_status_has_its_words_and_says_whether_it_failed(kind, status, is_failure, words):
    assert kind.is_failure(status) is is_failure
    assert kind.words_of(status) == words


def call(interface, method, stub, **facts):
    return plain_call(replace(Calls(interface).exchange(method, b"asked", stub), **facts))


def status(number):
    return number.to_bytes(4, "little")


@pytest.mark.parametrize(
    ("made", "stated", "outcome"),
    [
        (call(NETLOGON, 26, b"credential.." + status(0xC0000022)), 0xC0000022, "refused"),
        (call(SAMR, 13, b"users" + status(0x105)), 0x105, "answered"),
        (call(SRVSVC, 15, b"shares.." + status(234)), 234, "answered"),
        (call(SRVSVC, 15, status(0)), 0, "answered"),
        (call(SRVSVC, 15, b"\0\0\0"), None, "answered"),
        (call(SRVSVC, 32, status(1)), None, "answered"),
        (call(EFSRPC, 0, b"\0" * 20 + status(53)), 53, "refused"),
        (call(EFSRPC, 0, b"\0" * 20 + status(53), fault=5), None, "refused"),
        (call(EFSRPC, 0, b"\0" * 20 + status(53), opnum=None), None, "answered"),
    ],
)
def test_a_call_that_is_not_decoded_ends_as_its_last_bytes_say(made, stated, outcome):
    assert (made.status, made.outcome) == (stated, outcome)


def test_columns_say_of_outcomes_and_names_what_calls_say():
    kinds = [
        (NETLOGON, 26, 0xC0000022),
        (SAMR, 13, 0x105),
        (SRVSVC, 15, 234),
        (SRVSVC, 21, 5),
        (EFSRPC, 0, 53),
        (EFSRPC, 3, 7),
    ]
    made = [Calls(interface).exchange(opnum, b"", status(number)) for interface, opnum, number in kinds]
    analysis = analysis_of(*made)
    calls = list(analysis.calls)
    assert ShownCalls(analysis).refused.tolist() == [one.outcome == "refused" for one in calls]
    records = [call_record(one, analysis) for one in calls]
    assert [one.status_name for one in records] == [
        "STATUS_ACCESS_DENIED",
        "STATUS_MORE_ENTRIES",
        "ERROR_MORE_DATA",
        "ERROR_ACCESS_DENIED",
        "ERROR_BAD_NETPATH",
        None,
    ]
    import numpy as np

    field = call_fields()["status_name"]
    codes, found = CallColumns(analysis).values([field], np.arange(1, len(calls) + 1))
    assert [found[code](field) for code in codes.tolist()] == [
        (one.status_name,) if one.status_name is not None else () for one in records
    ]
    assert {(one.method, one.name) for one in error_stats(analysis)} == {
        ("NetrServerAuthenticate3", "STATUS_ACCESS_DENIED"),
        ("NetrServerGetInfo", "ERROR_ACCESS_DENIED"),
        ("EfsRpcOpenFileRaw", "ERROR_BAD_NETPATH"),
    }


SAID = Path(__file__).with_name("statuses_of_tshark.json")
# The fields in which tshark 4.0.17 has what methods return.
FIELDS = (
    *(
        "samr.status",
        "lsarpc.status",
        "netlogon.rc",
        "netlogon.dos.rc",
        "netlogon.werr.rc",
        "srvsvc.werror",
        "wkssvc.werror",
    ),
    *(
        "efs.werror",
        "drsuapi.rc",
        "dssetup.werror",
        "atsvc.status",
        "spoolss.rc",
        "iremotewinspool.werror",
        "dcom.hresult",
    ),
)
# Why it has something else, or nothing, in some frames.
_SEALED = "reads sealed bytes of drsuapi as if they were not"
_MALFORMED = "takes whole answers for malformed, and reads no more"
_INTERLEAVED = "two connections with equal ports and numbers lie in each other, and it reads one of them"
DIFFERENT = {
    "OISF-suricata-verify/tests__bug-5162__input.pcap": f"{_SEALED}; {_MALFORMED} (NetrServerPasswordSet2)",
    "OISF-suricata-verify/tests__dcerpc__dcerpc-ctxids__input.pcap": "states the HRESULT of each interface that was asked for too; "
    "does not read ServerAlive2; IClassFactory is not in our table",
    "OISF-suricata-verify/tests__dcerpc__zerologon__input.pcap": f"misses the request in frame 419; {_MALFORMED}",
    "OISF-suricata-verify/tests__smb2-ntlmssp-negotiateflags__input.pcap": f"{_MALFORMED} (NetrShareEnum)",
    "OISF-suricata-verify/tests__truncate-applayer-test-01__input.pcap": "misses the last of 24 responses",
    "arkime-arkime/tests__pcap__dcerpc_synthetic.pcap": "does not look at the pipes and ports made up there",
    "arkime-arkime/tests__pcap__wireshark-smb-on-windows10.pcap": f"{_MALFORMED} (NetrShareEnum)",
    "cisco-mercury/unit_tests__pcaps__emix.pcap": "takes a parameter of BrowserrQueryOtherDomains for its return value",
    "odedshimon-BruteShark/Pcap_Examples__Kerberos_-_v5_UDP.pcap": _INTERLEAVED,
    "odedshimon-BruteShark/Pcap_Examples__PCAPNG_Examples__Kerberos_-_v5_UDP.pcapng": _INTERLEAVED,
    "odedshimon-BruteShark/Pcap_Examples__PCAPNG_Examples__SMB_-_NTLMSSP_Windows_10_.pcapng": f"{_MALFORMED} (NetrShareEnum)",
    "zeek-zeek/testing__btest__Traces__krb__kerberos_tso.pcapng": f"{_MALFORMED} (NetrShareEnum)",
}


def _ours(path: Path) -> dict[int, Counter[int]]:
    """The statuses of calls that are not decoded, by the last frame of their answers."""
    found: dict[int, Counter[int]] = defaultdict(Counter)
    for one in analyze([path], pdus=False).calls:
        if (
            one.status is not None
            and stated_kind(one.interface.uuid, one.opnum) is not None
            and one.response is not None
        ):
            found[number_of(one.response.last_frame)][one.status] += 1
    return found


def _theirs(path: Path) -> dict[int, list[int]]:
    fields = [option for field in ("frame.number", *FIELDS) for option in ("-e", field)]
    ran = subprocess.run(
        ["tshark", "-r", path, "-o", "tcp.try_heuristic_first:TRUE", "-Y", "dcerpc", "-T", "fields", *fields],
        capture_output=True,
        text=True,
        check=False,
    )
    found = {}
    for line in ran.stdout.splitlines():
        number, *values = line.split("\t")
        codes = [int(code, 0) & 0xFFFFFFFF for value in values for code in value.split(",") if code]
        if codes:
            found[int(number)] = sorted(codes)
    return found


@pytest.mark.corpus
def test_calls_of_public_captures_end_as_tshark_says():
    """As tshark 4.0.17 said; PCQ_WRITE_PAGES asks the one that is installed."""
    compared, unlike, said = 0, set(), json.loads(SAID.read_bytes())
    for name, counts in expected().items():
        if not counts["dcerpc"]["pdus_by_type"]:
            continue  # tests/test_corpus.py holds that we find none either
        try:
            ours = _ours(CORPUS / name)
        except InputError:
            continue
        if not ours:
            continue
        if IS_WRITING:
            said[name] = {str(number): codes for number, codes in _theirs(CORPUS / name).items()}
        theirs = {int(number): Counter(codes) for number, codes in said[name].items()}
        compared += sum(one.total() for one in ours.values())
        if ours != theirs:
            unlike.add(name)
    is_as_written(SAID, as_json(said))
    assert unlike == DIFFERENT.keys()
    assert compared == 2250
