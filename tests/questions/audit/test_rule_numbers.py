"""The numbers that rules compare with: codes by the names impacket has for them, sizes and offsets as the documents have them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from analyzer.questions.audit import identifier_lists, values_with_counters
from analyzer.questions.audit.rules import (
    binds,
    counter_values,
    error_codes,
    handles,
    instances,
    names,
    registrations,
    repeated_questions,
    security,
    winperf_objects,
)
from analyzer.questions.audit.rules import identifiers as identifier_rules
from analyzer.questions.audit.rules.clocks import _TICKS_A_SECOND, _TICKS_AT_1970
from analyzer.questions.audit.stub_and_pdu_fields import ACCESS_DENIED
from analyzer.questions.audit.winperf_walk import HEADER_LENGTH, OBJECT_LENGTH

DENIED, MEMORY, RESOURCES = "ERROR_ACCESS_DENIED", "ERROR_OUTOFMEMORY", "ERROR_NO_SYSTEM_RESOURCES"


@pytest.mark.needs("impacket")
@pytest.mark.parametrize(
    ("codes", "names"),
    [
        (error_codes.REFUSED_ELSEWHERE, (DENIED, MEMORY, RESOURCES)),
        (
            (error_codes.GUID_NOT_FOUND, error_codes.ITEM_NOT_FOUND, error_codes.INVALID_PARAMETER, ACCESS_DENIED),
            ("ERROR_WMI_GUID_NOT_FOUND", "ERROR_WMI_ITEMID_NOT_FOUND", "ERROR_INVALID_PARAMETER", DENIED),
        ),
        (
            (instances.INSTANCE_NOT_FOUND, instances.INVALID_REGINFO),
            ("ERROR_WMI_INSTANCE_NOT_FOUND", "ERROR_WMI_INVALID_REGINFO"),
        ),
        (
            identifier_rules._TABLE,
            (
                *("ERROR_SUCCESS", "ERROR_PATH_NOT_FOUND", MEMORY, "ERROR_INVALID_PARAMETER", "ERROR_ALREADY_EXISTS"),
                *("ERROR_WMI_GUID_NOT_FOUND", "ERROR_WMI_ITEMID_NOT_FOUND"),
            ),
        ),
        (handles._GONE, ("nca_s_fault_context_mismatch", "ERROR_INVALID_HANDLE", "RPC_X_SS_CONTEXT_DAMAGED")),
        (
            repeated_questions._CONTEXT_FAULTS,
            (
                *("nca_s_fault_context_mismatch", "ERROR_INVALID_HANDLE", "RPC_X_SS_IN_NULL_CONTEXT"),
                "RPC_X_SS_CONTEXT_DAMAGED",
            ),
        ),
        (
            security._REFUSALS,
            (*(DENIED, "nca_s_unsupported_authn_level", "RPC_S_UNSUPPORTED_AUTHN_LEVEL"), "RPC_S_UNKNOWN_AUTHN_LEVEL"),
        ),
    ],
)
def test_codes_have_these_names(codes: tuple[int, ...], names: tuple[str, ...]) -> None:
    from impacket.dcerpc.v5.rpcrt import rpc_status_codes
    from impacket.system_errors import ERROR_MESSAGES

    of_rpc = {code: text.partition(" ")[0] for code, text in rpc_status_codes.items()}
    found = tuple(ERROR_MESSAGES[code][0] if code in ERROR_MESSAGES else of_rpc.get(code, hex(code)) for code in codes)
    assert found == names


def test_filetimes_begin_in_1601() -> None:
    """[MS-DTYP] section 2.3.3: intervals of 100 nanoseconds since January 1, 1601 (UTC)."""
    assert _TICKS_A_SECOND == 10**7
    passed = datetime(1970, 1, 1, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)
    assert passed.total_seconds() * _TICKS_A_SECOND == _TICKS_AT_1970


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        # winperf.h: PERF_DATA_BLOCK (which has a pointer's room of 4 bytes), PERF_OBJECT_TYPE, _INSTANCE_ and _COUNTER_DEFINITION.
        (HEADER_LENGTH, 88),
        (OBJECT_LENGTH, 64),
        (winperf_objects._INSTANCE_LENGTH, 24),
        (winperf_objects._DETAIL_LEVELS, (100, 200, 300, 400)),
        (winperf_objects._NO_UNIQUE_ID, -1),
        (winperf_objects._DEFINITION_LENGTH, 40),
        (winperf_objects._SIZE_BITS, 0x300),
        (winperf_objects._SIZES, {0: 4, 0x100: 8, 0x200: 0}),
        # PERF_DOUBLE_RAW.
        (winperf_objects._DOUBLE_RAW, 73728),
        # [MS-PCQ] section 2.2.4: a registration and its counters, identifiers, instances, tables of strings.
        ((registrations._RECORD, registrations._COUNTER), (32, 48)),
        (
            identifier_lists.OFFSETS,
            {"status": 16, "size": 20, "counter_id": 24, "instance_id": 28, "index": 32, "reserved": 36},
        ),
        ((instances._HEADER, instances._LEAST), (8, 10)),
        ((names._HEADER, names._ENTRY), (8, 8)),
        (names._GUID_SIZE, 16),
        (registrations._TYPES, (0x00, 0x02, 0x04, 0x06, 0x0C, 0x16)),
        (instances._SINGLE, 0),
        # Countersets that are aggregated over all their instances: global (4) and with history (0xC).
        (instances.OVER_ALL, (0x04, 0x0C)),
        (registrations.MOST_COUNTERS, 64_000),
        ((registrations._NOVICE, registrations._ADVANCED), (100, 200)),
        # PERF_ATTRIB_BY_REFERENCE, _NO_DISPLAYABLE, _NO_GROUP_SEPARATOR, _DISPLAY_AS_REAL, _DISPLAY_AS_HEX (perflib.h).
        (
            (
                *(registrations._BY_REFERENCE, registrations._NO_DISPLAY),
                *(registrations._NO_GROUPS, registrations._REAL),
                registrations._HEX,
            ),
            (1, 2, 4, 8, 16),
        ),
        # ept_map ([C706] appendix O).
        (binds._MAPPER, "e1af8308-5d1f-11c9-91a4-08002b14a0fa"),
        (binds._MAP, 3),
        # PERF_SAMPLE_BASE, PERF_AVERAGE_BASE, PERF_RAW_BASE, PERF_LARGE_RAW_BASE (winperf.h), in decimal as WMI documents them.
        (counter_values._SAMPLE_BASE, 1073939457),
        (
            (
                *(values_with_counters._SAMPLE_BASE, values_with_counters._AVERAGE_BASE),
                *(values_with_counters._RAW_BASE, values_with_counters._LARGE_RAW_BASE),
            ),
            (1073939457, 1073939458, 1073939459, 1073939712),
        ),
        # PERF_COUNTER_RAWCOUNT and its large form; PERF_COUNTER_DELTA and its large form.
        ((values_with_counters.RAWCOUNT, values_with_counters.LARGE_RAWCOUNT), (65536, 65792)),
        (values_with_counters.DELTAS, {4195328, 4195584}),
        # PERF_PRECISION_OBJECT_TIMER; with it PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE, PERF_OBJ_TIME_TIMER, PERF_ELAPSED_TIME.
        (values_with_counters.PRECISION_OBJECT_TIMER, 543622400),
        (values_with_counters.OWN_CLOCK, {6620416, 543229184, 543622400, 807666944}),
        # PERF_COUNTER_MULTI_TIMER, PERF_100NSEC_MULTI_TIMER and their inverses.
        (values_with_counters.MULTI, {574686464, 575735040, 591463680, 592512256}),
        # PERF_COUNTER_TEXT.
        ((counter_values._TEXT, counter_values._OBJECT_QUEUE), (2816, 6620416)),
    ],
)
def test_numbers_are_those_of_the_documents(numbers: Any, expected: Any) -> None:
    assert numbers == expected
