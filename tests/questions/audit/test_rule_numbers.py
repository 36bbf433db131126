"""The numbers that rules compare with: codes by the names impacket has for them, sizes and offsets as the documents have them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from analyzer.questions.audit import counter_types, identifiers
from analyzer.questions.audit.rules import (
    aggregate_of_some_instances,
    attributes_exclude_each_other,
    browsing_depends_on_state,
    caller_refused,
    counter_record_misfit,
    counterset_record_miscounted,
    detail_level_unknown,
    endpoint_was_asked_for,
    handle_dead_after_refused_close,
    identifier_status_unknown,
    instance_list_malformed,
    instance_type_contradicted,
    instance_type_unknown,
    instances_against_registration,
    opnum_out_of_range_answered,
    provider_guid_of_wrong_size,
    return_value_not_win32,
    sample_base_of_zero,
    served_below_privacy,
    short_validation_not_refused,
    string_table_malformed,
    too_many_counters,
    unknown_counter_served,
    unknown_counterset_served,
    unknown_request_code_not_refused,
    value_size_against_its_type,
    winperf_definition_contradicts_itself,
    winperf_instance_ill_formed,
    winperf_lengths_disagree,
    winperf_object_does_not_fit,
)
from analyzer.questions.audit.rules.system_time_implausible import _TICKS_A_SECOND, _TICKS_AT_1970

DENIED, MEMORY, RESOURCES = "ERROR_ACCESS_DENIED", "ERROR_OUTOFMEMORY", "ERROR_NO_SYSTEM_RESOURCES"


@pytest.mark.needs("impacket")
@pytest.mark.parametrize(
    ("codes", "names"),
    [
        (unknown_counterset_served._ELSEWHERE, (DENIED, MEMORY, RESOURCES)),
        ((unknown_counterset_served.GUID_NOT_FOUND,), ("ERROR_WMI_GUID_NOT_FOUND",)),
        (unknown_counterset_served._SERVED, ("ERROR_SUCCESS", "ERROR_NOT_ENOUGH_MEMORY")),
        (unknown_counter_served._ELSEWHERE, (DENIED, MEMORY, RESOURCES, "ERROR_WMI_GUID_NOT_FOUND")),
        ((unknown_counter_served.ITEM_NOT_FOUND,), ("ERROR_WMI_ITEMID_NOT_FOUND",)),
        (unknown_request_code_not_refused._ELSEWHERE, (DENIED, MEMORY, RESOURCES)),
        ((unknown_request_code_not_refused.INVALID_PARAMETER,), ("ERROR_INVALID_PARAMETER",)),
        (short_validation_not_refused._ELSEWHERE, (DENIED, MEMORY, RESOURCES)),
        ((short_validation_not_refused.INVALID_PARAMETER,), ("ERROR_INVALID_PARAMETER",)),
        ((caller_refused.ACCESS_DENIED, handle_dead_after_refused_close.ACCESS_DENIED), (DENIED, DENIED)),
        ((return_value_not_win32.OUT_OF_MEMORY, return_value_not_win32.NO_SYSTEM_RESOURCES), (MEMORY, RESOURCES)),
        (
            (instances_against_registration.INSTANCE_NOT_FOUND, instances_against_registration.INVALID_REGINFO),
            ("ERROR_WMI_INSTANCE_NOT_FOUND", "ERROR_WMI_INVALID_REGINFO"),
        ),
        (
            identifier_status_unknown.TABLE,
            (
                *("ERROR_SUCCESS", "ERROR_PATH_NOT_FOUND", MEMORY, "ERROR_INVALID_PARAMETER", "ERROR_ALREADY_EXISTS"),
                *("ERROR_WMI_GUID_NOT_FOUND", "ERROR_WMI_ITEMID_NOT_FOUND"),
            ),
        ),
        (
            handle_dead_after_refused_close._GONE,
            ("nca_s_fault_context_mismatch", "ERROR_INVALID_HANDLE", "RPC_X_SS_CONTEXT_DAMAGED"),
        ),
        (
            browsing_depends_on_state._CONTEXT_FAULTS,
            (
                *("nca_s_fault_context_mismatch", "ERROR_INVALID_HANDLE", "RPC_X_SS_IN_NULL_CONTEXT"),
                "RPC_X_SS_CONTEXT_DAMAGED",
            ),
        ),
        (opnum_out_of_range_answered._OUT_OF_RANGE, ("nca_s_op_rng_error", "RPC_S_PROCNUM_OUT_OF_RANGE", DENIED)),
        (
            served_below_privacy._REFUSALS,
            (
                *(DENIED, "nca_s_unsupported_authn_level", "RPC_S_UNSUPPORTED_AUTHN_LEVEL"),
                "RPC_S_UNKNOWN_AUTHN_LEVEL",
            ),
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
        (winperf_lengths_disagree.HEADER_LENGTH, 88),
        (winperf_object_does_not_fit._HEADER_LENGTH, 64),
        (winperf_object_does_not_fit._INSTANCE_LENGTH, 24),
        (winperf_object_does_not_fit._DETAIL_LEVELS, (100, 200, 300, 400)),
        (winperf_instance_ill_formed._HEADER_LENGTH, 24),
        (winperf_instance_ill_formed._NO_UNIQUE_ID, -1),
        (winperf_definition_contradicts_itself._LENGTH, 40),
        (winperf_definition_contradicts_itself._SIZE_BITS, 0x300),
        (winperf_definition_contradicts_itself._SIZES, {0: 4, 0x100: 8, 0x200: 0}),
        # PERF_DOUBLE_RAW.
        (winperf_definition_contradicts_itself._DOUBLE_RAW, 73728),
        # [MS-PCQ] section 2.2.4: a registration and its counters, identifiers, instances, tables of strings.
        (counter_record_misfit._SIZE, 48),
        ((counterset_record_miscounted._RECORD, counterset_record_miscounted._COUNTER), (32, 48)),
        (
            (
                *(identifiers.STATUS, identifiers.SIZE, identifiers.COUNTER_ID),
                *(identifiers.INSTANCE_ID, identifiers.INDEX, identifiers.RESERVED),
            ),
            (16, 20, 24, 28, 32, 36),
        ),
        ((instance_list_malformed._HEADER, instance_list_malformed._LEAST), (8, 10)),
        ((string_table_malformed._HEADER, string_table_malformed._ENTRY), (8, 8)),
        (provider_guid_of_wrong_size._SIZE, 16),
        (instance_type_unknown._TYPES, (0x00, 0x02, 0x04, 0x06, 0x0C, 0x16)),
        (instance_type_contradicted._SINGLE, 0),
        # Countersets that are aggregated over all their instances: global (4) and with history (0xC).
        (aggregate_of_some_instances.OVER_ALL, (0x04, 0x0C)),
        (too_many_counters.MOST, 64_000),
        ((detail_level_unknown._NOVICE, detail_level_unknown._ADVANCED), (100, 200)),
        # PERF_ATTRIB_BY_REFERENCE, _NO_DISPLAYABLE, _NO_GROUP_SEPARATOR, _DISPLAY_AS_REAL, _DISPLAY_AS_HEX (perflib.h).
        (
            (
                *(attributes_exclude_each_other._BY_REFERENCE, attributes_exclude_each_other._NO_DISPLAY),
                *(attributes_exclude_each_other._NO_GROUPS, attributes_exclude_each_other._REAL),
                attributes_exclude_each_other._HEX,
            ),
            (1, 2, 4, 8, 16),
        ),
        # ept_map ([C706] appendix O).
        (endpoint_was_asked_for._MAPPER, "e1af8308-5d1f-11c9-91a4-08002b14a0fa"),
        (endpoint_was_asked_for._MAP, 3),
        # PERF_SAMPLE_BASE, PERF_AVERAGE_BASE, PERF_RAW_BASE, PERF_LARGE_RAW_BASE (winperf.h), in decimal as WMI documents them.
        (sample_base_of_zero.SAMPLE_BASE, 1073939457),
        (
            (
                *(counter_types._SAMPLE_BASE, counter_types._AVERAGE_BASE),
                *(counter_types._RAW_BASE, counter_types._LARGE_RAW_BASE),
            ),
            (1073939457, 1073939458, 1073939459, 1073939712),
        ),
        # PERF_COUNTER_RAWCOUNT and its large form; PERF_COUNTER_DELTA and its large form.
        ((counter_types.RAWCOUNT, counter_types.LARGE_RAWCOUNT), (65536, 65792)),
        (counter_types.DELTAS, {4195328, 4195584}),
        # PERF_PRECISION_OBJECT_TIMER; with it PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE, PERF_OBJ_TIME_TIMER, PERF_ELAPSED_TIME.
        (counter_types.PRECISION_OBJECT_TIMER, 543622400),
        (counter_types.OWN_CLOCK, {6620416, 543229184, 543622400, 807666944}),
        # PERF_COUNTER_MULTI_TIMER, PERF_100NSEC_MULTI_TIMER and their inverses.
        (counter_types.MULTI, {574686464, 575735040, 591463680, 592512256}),
        # PERF_COUNTER_TEXT.
        ((value_size_against_its_type.TEXT, value_size_against_its_type.OBJECT_QUEUE), (2816, 6620416)),
    ],
)
def test_numbers_are_those_of_the_documents(numbers: Any, expected: Any) -> None:
    assert numbers == expected
