"""Names DCERPC fault status codes and the reasons of refused binds (C706 appendix E, 12.6.3.1; [MS-RPCE] 2.2.2)."""

from __future__ import annotations

from analyzer.core.error_code_names import win32_name, win32_numbers

_FAULTS = {
    0x1C000001: "nca_s_fault_int_div_by_zero",
    0x1C000002: "nca_s_fault_addr_error",
    0x1C000003: "nca_s_fault_fp_div_zero",
    0x1C000004: "nca_s_fault_fp_underflow",
    0x1C000005: "nca_s_fault_fp_overflow",
    0x1C000006: "nca_s_fault_invalid_tag",
    0x1C000007: "nca_s_fault_invalid_bound",
    0x1C000008: "nca_s_rpc_version_mismatch",
    0x1C000009: "nca_s_unspec_reject",
    0x1C00000A: "nca_s_bad_actid",
    0x1C00000B: "nca_s_who_are_you_failed",
    0x1C00000C: "nca_s_manager_not_entered",
    0x1C00000D: "nca_s_fault_cancel",
    0x1C00000E: "nca_s_fault_ill_inst",
    0x1C00000F: "nca_s_fault_fp_error",
    0x1C000010: "nca_s_fault_int_overflow",
    0x1C000012: "nca_s_fault_unspec",
    0x1C000013: "nca_s_fault_remote_comm_failure",
    0x1C000014: "nca_s_fault_pipe_empty",
    0x1C000015: "nca_s_fault_pipe_closed",
    0x1C000016: "nca_s_fault_pipe_order",
    0x1C000017: "nca_s_fault_pipe_discipline",
    0x1C000018: "nca_s_fault_pipe_comm_error",
    0x1C000019: "nca_s_fault_pipe_memory",
    0x1C00001A: "nca_s_fault_context_mismatch",
    0x1C00001B: "nca_s_fault_remote_no_memory",
    0x1C00001C: "nca_s_invalid_pres_context_id",
    0x1C00001D: "nca_s_unsupported_authn_level",
    0x1C00001F: "nca_s_invalid_checksum",
    0x1C000020: "nca_s_invalid_crc",
    0x1C000021: "nca_s_fault_user_defined",
    0x1C000022: "nca_s_fault_tx_open_failed",
    0x1C000023: "nca_s_fault_codeset_conv_error",
    0x1C000024: "nca_s_fault_object_not_found",
    0x1C000025: "nca_s_fault_no_client_stub",
    0x1C010001: "nca_s_comm_failure",
    0x1C010002: "nca_s_op_rng_error",
    0x1C010003: "nca_s_unk_if",
    0x1C010006: "nca_s_wrong_boot_time",
    0x1C010009: "nca_s_you_crashed",
    0x1C01000B: "nca_s_proto_error",
    0x1C010013: "nca_s_out_args_too_big",
    0x1C010014: "nca_s_server_too_busy",
    0x1C010015: "nca_s_fault_string_too_long",
    0x1C010017: "nca_s_unsupported_type",
    0x000006F7: "nca_s_fault_ndr",
    0x00000005: "nca_s_fault_access_denied",
}

# A server's security provider did not take the client for whom it claims to be (RPC_S_SEC_PKG_ERROR, [MS-ERREF] section 2.2).
NOT_AUTHENTICATED = frozenset({0x721})

_NAK_REASONS = {
    0: "reason not specified",
    1: "temporary congestion",
    2: "local limit exceeded",
    3: "called presentation address unknown",
    4: "protocol version not supported",
    5: "default context not supported",
    6: "user data not readable",
    7: "no presentation service access point available",
    8: "authentication type not recognized",
    9: "invalid checksum",
}

_RESULTS = {0: "acceptance", 1: "user rejection", 2: "provider rejection", 3: "negotiate acknowledged"}

_PROVIDER_REASONS = {
    0: "reason not specified",
    1: "abstract syntax not supported",
    2: "proposed transfer syntaxes not supported",
    3: "local limit exceeded",
}


def fault_name(status: int) -> str | None:
    """Returns the name of a DCERPC fault status, None if it has none. Windows servers also send Win32 codes ([MS-RPCE] 2.2.2.8)."""
    return _FAULTS.get(status) or win32_name(status)


def fault_numbers() -> dict[str, int]:
    """Returns the status of each DCERPC fault name. The names are in capitals."""
    return win32_numbers() | {name.upper(): status for status, name in _FAULTS.items()}


def bind_nak_reason(reason: int) -> str:
    """Returns the reason why a whole bind was refused, in words (C706 12.6.3.1 p_reject_reason_t)."""
    return _NAK_REASONS.get(reason, f"reason {reason}")


def bind_result_reason(result: int, reason: int) -> str:
    """Returns the reason why a bind's presentation context was refused (C706 12.6.3.1 p_cont_def_result_t, p_provider_reason_t)."""
    return f"{_RESULTS.get(result, f'result {result}')}: {_PROVIDER_REASONS.get(reason, f'reason {reason}')}"
