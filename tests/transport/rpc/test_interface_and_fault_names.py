"""Names of interfaces, methods, faults and Win32 codes."""

import subprocess
import sys

import pytest

from analyzer.transport.rpc.rpc_names import (
    PERFLIB_V2,
    WINREG,
    bind_nak_reason,
    bind_result_reason,
    fault_name,
    fault_numbers,
    fault_words,
    interface_name,
    interface_names,
    method_name,
)

SAMR = "12345778-1234-abcd-ef00-0123456789ac"


@pytest.mark.parametrize(
    ("uuid", "opnum", "name"),
    [
        (PERFLIB_V2, 0, "PerflibV2EnumerateCounterSet"),
        (PERFLIB_V2, 6, "PerflibV2QueryCounterData"),
        (PERFLIB_V2, 7, "PerflibV2ValidateCounters"),
        (PERFLIB_V2, 8, None),
        (WINREG, 3, "OpenPerformanceData"),
        (WINREG, 17, "BaseRegQueryValue"),
        (WINREG, 35, "BaseRegDeleteKeyEx"),
        (WINREG, 36, None),
        (SAMR, 1, "SamrCloseHandle"),
        (SAMR.upper(), 1, "SamrCloseHandle"),
        ("00000000-1111-2222-3333-444444444444", 0, None),
    ],
)
def test_methods_have_the_names_of_their_specification(uuid, opnum, name):
    assert method_name(uuid, opnum) == name


@pytest.mark.parametrize(
    ("uuid", "name"),
    [
        (PERFLIB_V2, "PerflibV2"),
        (WINREG, "winreg"),
        ("e1af8308-5d1f-11c9-91a4-08002b14a0fa", "epmapper"),
        ("12345678-1234-abcd-ef00-01234567cffb", "netlogon"),
        ("9556dc99-828c-11cf-a37e-00aa003240c7", "IWbemServices"),
        ("00000000-1111-2222-3333-444444444444", None),
    ],
)
def test_interfaces_have_the_names_people_know(uuid, name):
    assert interface_name(uuid) == name


def test_an_interface_of_two_specifications_has_the_methods_of_both():
    lsarpc = "12345778-1234-abcd-ef00-0123456789ab"
    assert method_name(lsarpc, 0) == "LsarClose"
    assert method_name(lsarpc, 57) == "LsarLookupSids2"


def test_the_names_that_may_be_asked_for_are_those_that_are_given():
    names = interface_names()
    lsarpc = interface_name("12345778-1234-abcd-ef00-0123456789ab")
    assert {interface_name(SAMR), lsarpc, interface_name(PERFLIB_V2)} <= names
    assert len(names) > 50


def test_names_are_found_without_loading_scapy():
    code = f"""
import sys
from analyzer.transport.rpc.rpc_names import method_name
assert method_name("{SAMR}", 1)
print("scapy" in sys.modules, "msrpcs" in sys.modules)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (0x1C010002, "nca_s_op_rng_error"),
        (0x1C00001A, "nca_s_fault_context_mismatch"),
        (0x000006F7, "nca_s_fault_ndr"),
        (5, "nca_s_fault_access_denied"),
        (1818, "RPC_S_CALL_CANCELLED"),
        (0x12345678, None),
    ],
)
def test_faults_have_names(status, name):
    assert fault_name(status) == name
    assert fault_words(status) == f"fault {name or '0x12345678'}"


@pytest.mark.needs("impacket")
def test_faults_have_the_names_of_the_specification():
    """C706 appendix E, as another implementation lists it; Win32 codes that faults carry are in `core.win32_errors`."""
    from impacket.dcerpc.v5.rpcrt import rpc_status_codes

    ours = {name.lower(): status for name, status in fault_numbers().items() if name.startswith("NCA_S_")}
    assert len(ours) == 47
    # [MS-RPCE] 2.2.2.8 gives these two names of C706 Win32 codes.
    assert (ours.pop("nca_s_fault_ndr"), ours.pop("nca_s_fault_access_denied")) == (0x6F7, 5)
    assert ours == {rpc_status_codes[status].strip(): status for status in ours.values()}


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (0, "reason not specified"),
        (1, "temporary congestion"),
        (2, "local limit exceeded"),
        (3, "called presentation address unknown"),
        (4, "protocol version not supported"),
        (5, "default context not supported"),
        (6, "user data not readable"),
        (7, "no presentation service access point available"),
        (8, "authentication type not recognized"),
        (9, "invalid checksum"),
        (10, "reason 10"),
    ],
)
def test_reasons_of_refused_binds_have_their_words(reason, text):
    """C706 12.6.3.1, p_reject_reason_t; 8 and 9 are of [MS-RPCE] 2.2.2.5."""
    assert bind_nak_reason(reason) == text


@pytest.mark.parametrize(
    ("result", "reason", "text"),
    [
        (0, 0, "acceptance: reason not specified"),
        (1, 1, "user rejection: abstract syntax not supported"),
        (2, 2, "provider rejection: proposed transfer syntaxes not supported"),
        (2, 3, "provider rejection: local limit exceeded"),
        (3, 4, "negotiate acknowledged: reason 4"),
        (4, 0, "result 4: reason not specified"),
    ],
)
def test_reasons_of_refused_contexts_have_their_words(result, reason, text):
    """C706 12.6.3.1, p_cont_def_result_t and p_provider_reason_t; 3 is of [MS-RPCE] 2.2.2.4."""
    assert bind_result_reason(result, reason) == text
