/* packet-dcerpc-pcq.c
 * Routines for the Performance Counter Query Protocol ([MS-PCQ], interface PerflibV2) and for the performance data
 * (winperf.h) that winreg carries in BaseRegQueryValue and BaseRegEnumValue of HKEY_PERFORMANCE_DATA
 *
 * Copyright (C) 2026 the authors of pcq-analyzer
 *
 * Wireshark - Network traffic analyzer
 * By Gerald Combs <gerald@wireshark.org>
 * Copyright 1998 Gerald Combs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

/*
 * Fields, tables, structures and the functions that read them are written by wireshark/generate.py of pcq-analyzer from
 * its descriptions in ksy/. The rest of this file is wireshark/runtime.c there. Change those, not this file.
 */

#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <epan/packet.h>
#include <epan/expert.h>
#include <epan/dissectors/packet-dcerpc.h>

void proto_register_pcq(void);
void proto_reg_handoff_pcq(void);

/* PerflibV2, version 1.0: [MS-PCQ] section 2.1; winreg: [MS-RRP] section 2.1.1 */
static e_guid_t uuid_pcq = { 0xda5a86c5, 0x12c2, 0x4943, { 0xab, 0x30, 0x7f, 0x74, 0xa8, 0x13, 0xd8, 0x53 } };
static e_guid_t uuid_winreg = { 0x338cd001, 0x2244, 0x31f1, { 0xaa, 0xaa, 0x90, 0x00, 0x38, 0x00, 0x10, 0x03 } };
#define INTERFACE_VERSION 1

static int proto_pcq = -1;
static int proto_winperf = -1;

static int hf_pcq_close_query_handle_query_handle = -1;
static int hf_pcq_counter_aggregate_func = -1;
static int hf_pcq_counter_attributes = -1;
static int hf_pcq_counter_base_counter_id = -1;
static int hf_pcq_counter_default_scale = -1;
static int hf_pcq_counter_detail_level = -1;
static int hf_pcq_counter_id = -1;
static int hf_pcq_counter_multi_id = -1;
static int hf_pcq_counter_perf_freq_id = -1;
static int hf_pcq_counter_perf_time_id = -1;
static int hf_pcq_counter_reserved = -1;
static int hf_pcq_counter_type = -1;
static int hf_pcq_counter_info_counter = -1;
static int hf_pcq_counterset_counters = -1;
static int hf_pcq_counterset_detail_level = -1;
static int hf_pcq_counterset_guid = -1;
static int hf_pcq_counterset_instance_type = -1;
static int hf_pcq_counterset_num_counters = -1;
static int hf_pcq_counterset_type = -1;
static int hf_pcq_enumerate_counter_set_guids = -1;
static int hf_pcq_enumerate_counter_set_in_size = -1;
static int hf_pcq_enumerate_counter_set_lp_data = -1;
static int hf_pcq_enumerate_counter_set_lp_data_data = -1;
static int hf_pcq_enumerate_counter_set_out_size = -1;
static int hf_pcq_enumerate_counter_set_rtn_size = -1;
static int hf_pcq_enumerate_counter_set_instances_counterset_guid = -1;
static int hf_pcq_enumerate_counter_set_instances_in_size = -1;
static int hf_pcq_enumerate_counter_set_instances_instances = -1;
static int hf_pcq_enumerate_counter_set_instances_lp_data = -1;
static int hf_pcq_enumerate_counter_set_instances_lp_data_data = -1;
static int hf_pcq_enumerate_counter_set_instances_out_size = -1;
static int hf_pcq_enumerate_counter_set_instances_rtn_size = -1;
static int hf_pcq_identifier_counter_id = -1;
static int hf_pcq_identifier_counterset_guid = -1;
static int hf_pcq_identifier_index = -1;
static int hf_pcq_identifier_instance_id = -1;
static int hf_pcq_identifier_name = -1;
static int hf_pcq_identifier_reserved = -1;
static int hf_pcq_identifier_size = -1;
static int hf_pcq_identifier_status = -1;
static int hf_pcq_identifiers_identifiers = -1;
static int hf_pcq_instance_id = -1;
static int hf_pcq_instance_name = -1;
static int hf_pcq_instance_size = -1;
static int hf_pcq_machine = -1;
static int hf_pcq_machine_pointer = -1;
static int hf_pcq_machine_string = -1;
static int hf_pcq_machine_string_data = -1;
static int hf_pcq_ndr_conformant_max_count = -1;
static int hf_pcq_ndr_conformant_varying_actual_count = -1;
static int hf_pcq_ndr_conformant_varying_max_count = -1;
static int hf_pcq_ndr_conformant_varying_offset = -1;
static int hf_pcq_ndr_context_handle_attributes = -1;
static int hf_pcq_ndr_context_handle_uuid = -1;
static int hf_pcq_ndr_pointer_referent = -1;
static int hf_pcq_open_query_handle_query_handle = -1;
static int hf_pcq_opnum = -1;
static int hf_pcq_provider_guid = -1;
static int hf_pcq_query_counter_data_block_body = -1;
static int hf_pcq_query_counter_data_block_reserved = -1;
static int hf_pcq_query_counter_data_block_size = -1;
static int hf_pcq_query_counter_data_block_status = -1;
static int hf_pcq_query_counter_data_block_type = -1;
static int hf_pcq_query_counter_data_blocks = -1;
static int hf_pcq_query_counter_data_counter_data_data_size = -1;
static int hf_pcq_query_counter_data_counter_data_size = -1;
static int hf_pcq_query_counter_data_counter_data_value = -1;
static int hf_pcq_query_counter_data_counter_data_value_text = -1;
static int hf_pcq_query_counter_data_counter_ids_counter_ids = -1;
static int hf_pcq_query_counter_data_counter_ids_num_counters = -1;
static int hf_pcq_query_counter_data_counter_ids_size = -1;
static int hf_pcq_query_counter_data_counterset_counters = -1;
static int hf_pcq_query_counter_data_counterset_instances = -1;
static int hf_pcq_query_counter_data_in_size = -1;
static int hf_pcq_query_counter_data_instance_data = -1;
static int hf_pcq_query_counter_data_instance_header = -1;
static int hf_pcq_query_counter_data_instances_instances = -1;
static int hf_pcq_query_counter_data_instances_num_instances = -1;
static int hf_pcq_query_counter_data_instances_total_size = -1;
static int hf_pcq_query_counter_data_lp_data = -1;
static int hf_pcq_query_counter_data_lp_data_data = -1;
static int hf_pcq_query_counter_data_multi_counters_counters = -1;
static int hf_pcq_query_counter_data_multi_counters_data = -1;
static int hf_pcq_query_counter_data_multi_instances_instances = -1;
static int hf_pcq_query_counter_data_num_blocks = -1;
static int hf_pcq_query_counter_data_out_size = -1;
static int hf_pcq_query_counter_data_perf_freq = -1;
static int hf_pcq_query_counter_data_perf_time_100ns = -1;
static int hf_pcq_query_counter_data_perf_time_stamp = -1;
static int hf_pcq_query_counter_data_query_handle = -1;
static int hf_pcq_query_counter_data_rtn_size = -1;
static int hf_pcq_query_counter_data_single_counter_data = -1;
static int hf_pcq_query_counter_data_system_time = -1;
static int hf_pcq_query_counter_data_total_size = -1;
static int hf_pcq_query_counter_info_in_size = -1;
static int hf_pcq_query_counter_info_lp_data = -1;
static int hf_pcq_query_counter_info_lp_data_data = -1;
static int hf_pcq_query_counter_info_out_size = -1;
static int hf_pcq_query_counter_info_query_handle = -1;
static int hf_pcq_query_counter_info_rtn_size = -1;
static int hf_pcq_query_counter_set_registration_info_counterset_guid = -1;
static int hf_pcq_query_counter_set_registration_info_in_size = -1;
static int hf_pcq_query_counter_set_registration_info_lp_data = -1;
static int hf_pcq_query_counter_set_registration_info_lp_data_data = -1;
static int hf_pcq_query_counter_set_registration_info_out_size = -1;
static int hf_pcq_query_counter_set_registration_info_request_code = -1;
static int hf_pcq_query_counter_set_registration_info_request_lcid = -1;
static int hf_pcq_query_counter_set_registration_info_rtn_size = -1;
static int hf_pcq_registration_string = -1;
static int hf_pcq_status = -1;
static int hf_pcq_string_table_counter_string_counter_id = -1;
static int hf_pcq_string_table_counter_string_ofs_string = -1;
static int hf_pcq_string_table_counter_string_string = -1;
static int hf_pcq_string_table_num_counters = -1;
static int hf_pcq_string_table_strings = -1;
static int hf_pcq_string_table_total_size = -1;
static int hf_pcq_systemtime_day = -1;
static int hf_pcq_systemtime_day_of_week = -1;
static int hf_pcq_systemtime_hour = -1;
static int hf_pcq_systemtime_milliseconds = -1;
static int hf_pcq_systemtime_minute = -1;
static int hf_pcq_systemtime_month = -1;
static int hf_pcq_systemtime_second = -1;
static int hf_pcq_systemtime_year = -1;
static int hf_pcq_validate_counters_add = -1;
static int hf_pcq_validate_counters_in_size = -1;
static int hf_pcq_validate_counters_lp_data = -1;
static int hf_pcq_validate_counters_lp_data_data = -1;
static int hf_pcq_validate_counters_query_handle = -1;
static int hf_winperf_counter_block_byte_length = -1;
static int hf_winperf_counter_block_value = -1;
static int hf_winperf_counter_block_value_bytes = -1;
static int hf_winperf_counter_block_value_text = -1;
static int hf_winperf_counter_definition_byte_length = -1;
static int hf_winperf_counter_definition_counter_help_title = -1;
static int hf_winperf_counter_definition_counter_help_title_index = -1;
static int hf_winperf_counter_definition_counter_name_title = -1;
static int hf_winperf_counter_definition_counter_name_title_index = -1;
static int hf_winperf_counter_definition_counter_offset = -1;
static int hf_winperf_counter_definition_counter_size = -1;
static int hf_winperf_counter_definition_counter_type = -1;
static int hf_winperf_counter_definition_default_scale = -1;
static int hf_winperf_counter_definition_detail_level = -1;
static int hf_winperf_default_object = -1;
static int hf_winperf_header_length = -1;
static int hf_winperf_instance_byte_length = -1;
static int hf_winperf_instance_counter_block = -1;
static int hf_winperf_instance_definition = -1;
static int hf_winperf_instance_name = -1;
static int hf_winperf_instance_name_length = -1;
static int hf_winperf_instance_name_offset = -1;
static int hf_winperf_instance_parent_object_instance = -1;
static int hf_winperf_instance_parent_object_title_index = -1;
static int hf_winperf_instance_unique_id = -1;
static int hf_winperf_little_endian = -1;
static int hf_winperf_name_table_entries = -1;
static int hf_winperf_name_table_entry_index = -1;
static int hf_winperf_name_table_entry_text = -1;
static int hf_winperf_num_object_types = -1;
static int hf_winperf_object_body = -1;
static int hf_winperf_object_code_page = -1;
static int hf_winperf_object_counter_block = -1;
static int hf_winperf_object_counters = -1;
static int hf_winperf_object_default_counter = -1;
static int hf_winperf_object_definition_length = -1;
static int hf_winperf_object_detail_level = -1;
static int hf_winperf_object_header_length = -1;
static int hf_winperf_object_help_title = -1;
static int hf_winperf_object_help_title_index = -1;
static int hf_winperf_object_instances = -1;
static int hf_winperf_object_name_title = -1;
static int hf_winperf_object_name_title_index = -1;
static int hf_winperf_object_num_counters = -1;
static int hf_winperf_object_num_instances = -1;
static int hf_winperf_object_perf_freq = -1;
static int hf_winperf_object_perf_time = -1;
static int hf_winperf_object_total_byte_length = -1;
static int hf_winperf_objects = -1;
static int hf_winperf_perf_freq = -1;
static int hf_winperf_perf_time = -1;
static int hf_winperf_perf_time_100ns = -1;
static int hf_winperf_revision = -1;
static int hf_winperf_signature = -1;
static int hf_winperf_system_name = -1;
static int hf_winperf_system_name_length = -1;
static int hf_winperf_system_name_offset = -1;
static int hf_winperf_system_time = -1;
static int hf_winperf_systemtime_day = -1;
static int hf_winperf_systemtime_day_of_week = -1;
static int hf_winperf_systemtime_hour = -1;
static int hf_winperf_systemtime_milliseconds = -1;
static int hf_winperf_systemtime_minute = -1;
static int hf_winperf_systemtime_month = -1;
static int hf_winperf_systemtime_second = -1;
static int hf_winperf_systemtime_year = -1;
static int hf_winperf_total_byte_length = -1;
static int hf_winperf_version = -1;
static int ett_pcq_close_query_handle_query_handle = -1;
static int ett_pcq_counter_info_counter = -1;
static int ett_pcq_counterset_counters = -1;
static int ett_pcq_enumerate_counter_set_lp_data = -1;
static int ett_pcq_enumerate_counter_set_instances_instances = -1;
static int ett_pcq_enumerate_counter_set_instances_lp_data = -1;
static int ett_pcq_identifiers_identifiers = -1;
static int ett_pcq_machine = -1;
static int ett_pcq_machine_pointer = -1;
static int ett_pcq_machine_string = -1;
static int ett_pcq_open_query_handle_query_handle = -1;
static int ett_pcq_query_counter_data_block_body = -1;
static int ett_pcq_query_counter_data_blocks = -1;
static int ett_pcq_query_counter_data_counterset_counters = -1;
static int ett_pcq_query_counter_data_counterset_instances = -1;
static int ett_pcq_query_counter_data_instance_data = -1;
static int ett_pcq_query_counter_data_instance_header = -1;
static int ett_pcq_query_counter_data_instances_instances = -1;
static int ett_pcq_query_counter_data_lp_data = -1;
static int ett_pcq_query_counter_data_multi_counters_counters = -1;
static int ett_pcq_query_counter_data_multi_counters_data = -1;
static int ett_pcq_query_counter_data_multi_instances_instances = -1;
static int ett_pcq_query_counter_data_query_handle = -1;
static int ett_pcq_query_counter_data_single_counter_data = -1;
static int ett_pcq_query_counter_data_system_time = -1;
static int ett_pcq_query_counter_info_lp_data = -1;
static int ett_pcq_query_counter_info_query_handle = -1;
static int ett_pcq_query_counter_set_registration_info_lp_data = -1;
static int ett_pcq_string_table_strings = -1;
static int ett_pcq_validate_counters_lp_data = -1;
static int ett_pcq_validate_counters_query_handle = -1;
static int ett_winperf_instance_counter_block = -1;
static int ett_winperf_instance_definition = -1;
static int ett_winperf_name_table_entries = -1;
static int ett_winperf_object_body = -1;
static int ett_winperf_object_counter_block = -1;
static int ett_winperf_object_counters = -1;
static int ett_winperf_object_instances = -1;
static int ett_winperf_objects = -1;
static int ett_winperf_system_time = -1;
static int ett_pcq_enumerate_counter_set_instances_lp_data_data = -1;
static int ett_pcq_enumerate_counter_set_lp_data_data = -1;
static int ett_pcq_query_counter_data_lp_data_data = -1;
static int ett_pcq_query_counter_info_lp_data_data = -1;
static int ett_pcq_query_counter_set_registration_info_lp_data_data = -1;
static int ett_pcq_validate_counters_lp_data_data = -1;

static int ett_pcq = -1;
static int ett_winperf = -1;

static expert_field ei_pcq_damaged = EI_INIT;

static const value_string names_0[] = {
    { 0, "PERF_AGGREGATE_UNDEFINED" },
    { 1, "PERF_AGGREGATE_TOTAL" },
    { 2, "PERF_AGGREGATE_AVG" },
    { 3, "PERF_AGGREGATE_MIN" },
    { 4, "PERF_AGGREGATE_MAX" },
    { 0, NULL }
};

static const value_string names_1[] = {
    { 100, "PERF_DETAIL_NOVICE" },
    { 200, "PERF_DETAIL_ADVANCED" },
    { 300, "PERF_DETAIL_EXPERT" },
    { 400, "PERF_DETAIL_WIZARD" },
    { 0, NULL }
};

static const value_string names_2[] = {
    { 0, "PERF_COUNTER_RAWCOUNT_HEX" },
    { 256, "PERF_COUNTER_LARGE_RAWCOUNT_HEX" },
    { 2816, "PERF_COUNTER_TEXT" },
    { 65536, "PERF_COUNTER_RAWCOUNT" },
    { 65792, "PERF_COUNTER_LARGE_RAWCOUNT" },
    { 73728, "PERF_DOUBLE_RAW" },
    { 4195328, "PERF_COUNTER_DELTA" },
    { 4195584, "PERF_COUNTER_LARGE_DELTA" },
    { 4260864, "PERF_SAMPLE_COUNTER" },
    { 4523008, "PERF_COUNTER_QUEUELEN_TYPE" },
    { 4523264, "PERF_COUNTER_LARGE_QUEUELEN_TYPE" },
    { 5571840, "PERF_COUNTER_100NS_QUEUELEN_TYPE" },
    { 6620416, "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE" },
    { 272696320, "PERF_COUNTER_COUNTER" },
    { 272696576, "PERF_COUNTER_BULK_COUNT" },
    { 537003008, "PERF_RAW_FRACTION" },
    { 537003264, "PERF_LARGE_RAW_FRACTION" },
    { 541132032, "PERF_COUNTER_TIMER" },
    { 541525248, "PERF_PRECISION_SYSTEM_TIMER" },
    { 542180608, "PERF_100NSEC_TIMER" },
    { 542573824, "PERF_PRECISION_100NS_TIMER" },
    { 543229184, "PERF_OBJ_TIME_TIMER" },
    { 543622400, "PERF_PRECISION_OBJECT_TIMER" },
    { 549585920, "PERF_SAMPLE_FRACTION" },
    { 557909248, "PERF_COUNTER_TIMER_INV" },
    { 558957824, "PERF_100NSEC_TIMER_INV" },
    { 574686464, "PERF_COUNTER_MULTI_TIMER" },
    { 575735040, "PERF_100NSEC_MULTI_TIMER" },
    { 591463680, "PERF_COUNTER_MULTI_TIMER_INV" },
    { 592512256, "PERF_100NSEC_MULTI_TIMER_INV" },
    { 805438464, "PERF_AVERAGE_TIMER" },
    { 807666944, "PERF_ELAPSED_TIME" },
    { 1073742336, "PERF_COUNTER_NODATA" },
    { 1073874176, "PERF_AVERAGE_BULK" },
    { 1073939457, "PERF_SAMPLE_BASE" },
    { 1073939458, "PERF_AVERAGE_BASE" },
    { 1073939459, "PERF_RAW_BASE" },
    { 1073939712, "PERF_LARGE_RAW_BASE" },
    { 1107494144, "PERF_COUNTER_MULTI_BASE" },
    { 0x80000000, "PERF_COUNTER_HISTOGRAM_TYPE" },
    { 0, NULL }
};

static const value_string names_3[] = {
    { 0, "PERF_COUNTERSET_SINGLE_INSTANCE" },
    { 2, "PERF_COUNTERSET_MULTI_INSTANCES" },
    { 4, "PERF_COUNTERSET_SINGLE_AGGREGATE" },
    { 6, "PERF_COUNTERSET_MULTI_AGGREGATE" },
    { 12, "PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY" },
    { 22, "PERF_COUNTERSET_INSTANCE_AGGREGATE" },
    { 0, NULL }
};

static const value_string names_4[] = {
    { 0, "ERROR_SUCCESS" },
    { 1, "ERROR_INVALID_FUNCTION" },
    { 2, "ERROR_FILE_NOT_FOUND" },
    { 3, "ERROR_PATH_NOT_FOUND" },
    { 4, "ERROR_TOO_MANY_OPEN_FILES" },
    { 5, "ERROR_ACCESS_DENIED" },
    { 6, "ERROR_INVALID_HANDLE" },
    { 8, "ERROR_NOT_ENOUGH_MEMORY" },
    { 13, "ERROR_INVALID_DATA" },
    { 14, "ERROR_OUTOFMEMORY" },
    { 19, "ERROR_WRITE_PROTECT" },
    { 21, "ERROR_NOT_READY" },
    { 31, "ERROR_GEN_FAILURE" },
    { 50, "ERROR_NOT_SUPPORTED" },
    { 53, "ERROR_BAD_NETPATH" },
    { 64, "ERROR_NETNAME_DELETED" },
    { 67, "ERROR_BAD_NET_NAME" },
    { 80, "ERROR_FILE_EXISTS" },
    { 87, "ERROR_INVALID_PARAMETER" },
    { 109, "ERROR_BROKEN_PIPE" },
    { 110, "ERROR_OPEN_FAILED" },
    { 111, "ERROR_BUFFER_OVERFLOW" },
    { 120, "ERROR_CALL_NOT_IMPLEMENTED" },
    { 122, "ERROR_INSUFFICIENT_BUFFER" },
    { 123, "ERROR_INVALID_NAME" },
    { 124, "ERROR_INVALID_LEVEL" },
    { 127, "ERROR_PROC_NOT_FOUND" },
    { 161, "ERROR_BAD_PATHNAME" },
    { 170, "ERROR_BUSY" },
    { 183, "ERROR_ALREADY_EXISTS" },
    { 203, "ERROR_ENVVAR_NOT_FOUND" },
    { 230, "ERROR_BAD_PIPE" },
    { 231, "ERROR_PIPE_BUSY" },
    { 232, "ERROR_NO_DATA" },
    { 233, "ERROR_PIPE_NOT_CONNECTED" },
    { 234, "ERROR_MORE_DATA" },
    { 258, "WAIT_TIMEOUT" },
    { 259, "ERROR_NO_MORE_ITEMS" },
    { 487, "ERROR_INVALID_ADDRESS" },
    { 534, "ERROR_ARITHMETIC_OVERFLOW" },
    { 535, "ERROR_PIPE_CONNECTED" },
    { 995, "ERROR_OPERATION_ABORTED" },
    { 997, "ERROR_IO_PENDING" },
    { 998, "ERROR_NOACCESS" },
    { 1004, "ERROR_INVALID_FLAGS" },
    { 1008, "ERROR_NO_TOKEN" },
    { 1009, "ERROR_BADDB" },
    { 1010, "ERROR_BADKEY" },
    { 1011, "ERROR_CANTOPEN" },
    { 1012, "ERROR_CANTREAD" },
    { 1013, "ERROR_CANTWRITE" },
    { 1014, "ERROR_REGISTRY_RECOVERED" },
    { 1015, "ERROR_REGISTRY_CORRUPT" },
    { 1016, "ERROR_REGISTRY_IO_FAILED" },
    { 1017, "ERROR_NOT_REGISTRY_FILE" },
    { 1018, "ERROR_KEY_DELETED" },
    { 1019, "ERROR_NO_LOG_SPACE" },
    { 1020, "ERROR_KEY_HAS_CHILDREN" },
    { 1021, "ERROR_CHILD_MUST_BE_VOLATILE" },
    { 1022, "ERROR_NOTIFY_ENUM_DIR" },
    { 1051, "ERROR_DEPENDENT_SERVICES_RUNNING" },
    { 1052, "ERROR_INVALID_SERVICE_CONTROL" },
    { 1053, "ERROR_SERVICE_REQUEST_TIMEOUT" },
    { 1056, "ERROR_SERVICE_ALREADY_RUNNING" },
    { 1058, "ERROR_SERVICE_DISABLED" },
    { 1060, "ERROR_SERVICE_DOES_NOT_EXIST" },
    { 1061, "ERROR_SERVICE_CANNOT_ACCEPT_CTRL" },
    { 1062, "ERROR_SERVICE_NOT_ACTIVE" },
    { 1072, "ERROR_SERVICE_MARKED_FOR_DELETE" },
    { 1073, "ERROR_SERVICE_EXISTS" },
    { 1113, "ERROR_NO_UNICODE_TRANSLATION" },
    { 1114, "ERROR_DLL_INIT_FAILED" },
    { 1115, "ERROR_SHUTDOWN_IN_PROGRESS" },
    { 1117, "ERROR_IO_DEVICE" },
    { 1130, "ERROR_NOT_ENOUGH_SERVER_MEMORY" },
    { 1150, "ERROR_OLD_WIN_VERSION" },
    { 1151, "ERROR_APP_WRONG_OS" },
    { 1168, "ERROR_NOT_FOUND" },
    { 1169, "ERROR_NO_MATCH" },
    { 1190, "ERROR_SHUTDOWN_IS_SCHEDULED" },
    { 1210, "ERROR_INVALID_COMPUTERNAME" },
    { 1219, "ERROR_SESSION_CREDENTIAL_CONFLICT" },
    { 1223, "ERROR_CANCELLED" },
    { 1235, "ERROR_REQUEST_ABORTED" },
    { 1237, "ERROR_RETRY" },
    { 1300, "ERROR_NOT_ALL_ASSIGNED" },
    { 1307, "ERROR_INVALID_OWNER" },
    { 1314, "ERROR_PRIVILEGE_NOT_HELD" },
    { 1326, "ERROR_LOGON_FAILURE" },
    { 1332, "ERROR_NONE_MAPPED" },
    { 1336, "ERROR_INVALID_ACL" },
    { 1337, "ERROR_INVALID_SID" },
    { 1338, "ERROR_INVALID_SECURITY_DESCR" },
    { 1346, "ERROR_BAD_IMPERSONATION_LEVEL" },
    { 1359, "ERROR_INTERNAL_ERROR" },
    { 1380, "ERROR_LOGON_NOT_GRANTED" },
    { 1450, "ERROR_NO_SYSTEM_RESOURCES" },
    { 1453, "ERROR_WORKING_SET_QUOTA" },
    { 1454, "ERROR_PAGEFILE_QUOTA" },
    { 1455, "ERROR_COMMITMENT_LIMIT" },
    { 1460, "ERROR_TIMEOUT" },
    { 1702, "RPC_S_INVALID_BINDING" },
    { 1703, "RPC_S_PROTSEQ_NOT_SUPPORTED" },
    { 1717, "RPC_S_UNKNOWN_IF" },
    { 1722, "RPC_S_SERVER_UNAVAILABLE" },
    { 1723, "RPC_S_SERVER_TOO_BUSY" },
    { 1726, "RPC_S_CALL_FAILED" },
    { 1727, "RPC_S_CALL_FAILED_DNE" },
    { 1728, "RPC_S_PROTOCOL_ERROR" },
    { 1730, "RPC_S_UNSUPPORTED_TRANS_SYN" },
    { 1732, "RPC_S_UNSUPPORTED_TYPE" },
    { 1733, "RPC_S_INVALID_TAG" },
    { 1734, "RPC_S_INVALID_BOUND" },
    { 1745, "RPC_S_PROCNUM_OUT_OF_RANGE" },
    { 1747, "RPC_S_UNKNOWN_AUTHN_SERVICE" },
    { 1748, "RPC_S_UNKNOWN_AUTHN_LEVEL" },
    { 1753, "EPT_S_NOT_REGISTERED" },
    { 1764, "RPC_S_CANNOT_SUPPORT" },
    { 1766, "RPC_S_INTERNAL_ERROR" },
    { 1775, "RPC_X_SS_IN_NULL_CONTEXT" },
    { 1777, "RPC_X_SS_CONTEXT_DAMAGED" },
    { 1780, "RPC_X_NULL_REF_POINTER" },
    { 1781, "RPC_X_ENUM_VALUE_OUT_OF_RANGE" },
    { 1782, "RPC_X_BYTE_COUNT_TOO_SMALL" },
    { 1783, "RPC_X_BAD_STUB_DATA" },
    { 1784, "ERROR_INVALID_USER_BUFFER" },
    { 1796, "ERROR_UNKNOWN_PORT" },
    { 1797, "ERROR_UNKNOWN_PRINTER_DRIVER" },
    { 1798, "ERROR_UNKNOWN_PRINTPROCESSOR" },
    { 1799, "ERROR_INVALID_SEPARATOR_FILE" },
    { 1800, "ERROR_INVALID_PRIORITY" },
    { 1801, "ERROR_INVALID_PRINTER_NAME" },
    { 1802, "ERROR_PRINTER_ALREADY_EXISTS" },
    { 1803, "ERROR_INVALID_PRINTER_COMMAND" },
    { 1804, "ERROR_INVALID_DATATYPE" },
    { 1805, "ERROR_INVALID_ENVIRONMENT" },
    { 1813, "ERROR_RESOURCE_TYPE_NOT_FOUND" },
    { 1814, "ERROR_RESOURCE_NAME_NOT_FOUND" },
    { 1815, "ERROR_RESOURCE_LANG_NOT_FOUND" },
    { 1816, "ERROR_NOT_ENOUGH_QUOTA" },
    { 1817, "RPC_S_NO_INTERFACES" },
    { 1818, "RPC_S_CALL_CANCELLED" },
    { 1820, "RPC_S_COMM_FAILURE" },
    { 1821, "RPC_S_UNSUPPORTED_AUTHN_LEVEL" },
    { 1825, "RPC_S_SEC_PKG_ERROR" },
    { 1908, "ERROR_DOMAIN_CONTROLLER_NOT_FOUND" },
    { 2114, "NERR_ServerNotStarted" },
    { 2215, "NERR_LogonServerNotFound" },
    { 4200, "ERROR_WMI_GUID_NOT_FOUND" },
    { 4201, "ERROR_WMI_INSTANCE_NOT_FOUND" },
    { 4202, "ERROR_WMI_ITEMID_NOT_FOUND" },
    { 4203, "ERROR_WMI_TRY_AGAIN" },
    { 4204, "ERROR_WMI_DP_NOT_FOUND" },
    { 4205, "ERROR_WMI_UNRESOLVED_INSTANCE_REF" },
    { 4206, "ERROR_WMI_ALREADY_ENABLED" },
    { 4207, "ERROR_WMI_GUID_DISCONNECTED" },
    { 4208, "ERROR_WMI_SERVER_UNAVAILABLE" },
    { 4209, "ERROR_WMI_DP_FAILED" },
    { 4210, "ERROR_WMI_INVALID_MOF" },
    { 4211, "ERROR_WMI_INVALID_REGINFO" },
    { 4213, "ERROR_WMI_READ_ONLY" },
    { 4214, "ERROR_WMI_SET_FAILURE" },
    { 4317, "ERROR_INVALID_OPERATION" },
    { 15100, "ERROR_MUI_FILE_NOT_FOUND" },
    { 15105, "ERROR_MUI_FILE_NOT_LOADED" },
    { 0, NULL }
};

static const value_string names_5[] = {
    { 0, "PERF_ERROR_RETURN" },
    { 1, "PERF_SINGLE_COUNTER" },
    { 2, "PERF_MULTI_COUNTERS" },
    { 4, "PERF_MULTI_INSTANCES" },
    { 6, "PERF_COUNTERSET" },
    { 0, NULL }
};

static const value_string names_6[] = {
    { 1, "PERF_REG_COUNTERSET_STRUCT" },
    { 2, "PERF_REG_COUNTER_STRUCT" },
    { 3, "PERF_REG_COUNTERSET_NAME_STRING" },
    { 4, "PERF_REG_COUNTERSET_HELP_STRING" },
    { 5, "PERF_REG_COUNTER_NAME_STRINGS" },
    { 6, "PERF_REG_COUNTER_HELP_STRINGS" },
    { 7, "PERF_REG_PROVIDER_NAME" },
    { 8, "PERF_REG_PROVIDER_GUID" },
    { 9, "PERF_REG_COUNTERSET_ENGLISH_NAME" },
    { 10, "PERF_REG_COUNTER_ENGLISH_NAMES" },
    { 0, NULL }
};

static const value_string names_7[] = {
    { 0, "sunday" },
    { 1, "monday" },
    { 2, "tuesday" },
    { 3, "wednesday" },
    { 4, "thursday" },
    { 5, "friday" },
    { 6, "saturday" },
    { 0, NULL }
};


/* What is known of a call while it is read. */
typedef struct {
    packet_info *pinfo;
    bool         ndr64;
    bool         big_endian;
    bool         has_referent;   /* a referent precedes szMachine, as no IDL asks for */
    unsigned     encoding;       /* byte order of the stub */
    bool         is_silent;      /* nothing is shown: winreg shows its stubs by itself */
    int64_t      status;
    int64_t      request_code;
    int64_t      code_page;
    uint64_t     raw;            /* the last number read */
    proto_item  *item;           /* the last value shown */
    int          name_at;        /* the last text of a stub that is not shown */
    int          name_length;
    int          payload_at;     /* the buffer that a stub carries, and what it is shown below */
    int          payload_length;
    proto_tree  *payload_tree;
} pcq_context;

/* Bytes that a structure is read from. */
typedef struct {
    tvbuff_t *tvb;
    int       start;
    int       stop;
    int       at;
    int64_t   texts;    /* bytes of the texts that were read from it */
} pcq_span;

/* The node of a structure, which gets its length when the structure was read. */
typedef struct {
    proto_item *item;
    proto_tree *tree;
    int         from;
    bool        has_bytes;
} pcq_node;

/* A value that stands for something, or a bit of one. */
typedef struct {
    int64_t     value;
    const char *name;
} pcq_special;

/* What the elements of an NDR array are. */
typedef struct {
    const int *hf;
    const int *ett;
    bool       is_text;
    bool       is_payload;
} pcq_elements;

typedef enum {
    PCQ_UTF16,      /* in the byte order of the structure */
    PCQ_UTF16LE,
    PCQ_CODE_PAGE   /* in the code page that the object states, UTF-16 if it states none */
} pcq_form;

static const pcq_special specials_0[] = {
    { 1, "PERF_ATTRIB_BY_REFERENCE" },
    { 2, "PERF_ATTRIB_NO_DISPLAYABLE" },
    { 4, "PERF_ATTRIB_NO_GROUP_SEPARATOR" },
    { 8, "PERF_ATTRIB_DISPLAY_AS_REAL" },
    { 16, "PERF_ATTRIB_DISPLAY_AS_HEX" },
    { 0, NULL }
};

static const pcq_special specials_1[] = {
    { 4294967295, "none" },
    { 0, NULL }
};

static const pcq_special specials_2[] = {
    { 4294967295, "no string" },
    { 0, NULL }
};

static const pcq_special specials_3[] = {
    { 4294967295, "all" },
    { 0, NULL }
};

static const pcq_special specials_4[] = {
    { 4294967295, "any" },
    { 0, NULL }
};

static const pcq_special specials_5[] = {
    { 0, "big-endian" },
    { 1, "little-endian" },
    { 0, NULL }
};

static const pcq_special specials_6[] = {
    { -1, "no instances" },
    { -2, "metadata only, of an object with instances" },
    { -3, "metadata only, of an object without instances" },
    { 0, NULL }
};

static const pcq_special specials_7[] = {
    { -1, "none" },
    { 0, NULL }
};


static int64_t
position(const pcq_span *s)
{
    return s->at - s->start;
}

static int64_t
size_of(const pcq_span *s)
{
    return s->stop - s->start;
}

static bool
is_at_end(const pcq_span *s)
{
    return s->at >= s->stop;
}

/* Counts of NDR64 have 64 bits. What is too large for any buffer only has to stay too large. */
static int64_t
product(int64_t one, int64_t other)
{
    return other != 0 && one > INT64_MAX / other ? INT64_MAX : one * other;
}

/* Marks an item as damaged, or the place that was reached if there is none. */
static void
damaged(pcq_context *c, pcq_span *s, proto_tree *tree, proto_item *item, const char *format, ...)
    G_GNUC_PRINTF(5, 6);

static void
damaged(pcq_context *c, pcq_span *s, proto_tree *tree, proto_item *item, const char *format, ...)
{
    va_list arguments;
    char *text;
    int at;

    if (c->is_silent)
        return;
    va_start(arguments, format);
    text = wmem_strdup_vprintf(c->pinfo->pool, format, arguments);
    va_end(arguments);
    at = MAX(MIN(s->at, s->stop - 1), s->start);
    if (item)
        expert_add_info_format(c->pinfo, item, &ei_pcq_damaged, "%s", text);
    else if (at < s->stop)
        proto_tree_add_expert_format(tree, c->pinfo, &ei_pcq_damaged, s->tvb, at, s->stop - at, "%s", text);
    else
        expert_add_info_format(c->pinfo, tree, &ei_pcq_damaged, "%s", text);
}

/* The place of the next bytes. */
static bool
take(pcq_context *c, pcq_span *s, proto_tree *tree, const char *name, int64_t length, int *at)
{
    c->item = NULL;
    if (length < 0) {
        damaged(c, s, tree, NULL, "%s: a length of %" PRId64, name, length);
        return false;
    }
    if (length > s->stop - s->at) {
        damaged(c, s, tree, NULL, "%s: %" PRId64 " bytes wanted, %d left", name, length, s->stop - s->at);
        return false;
    }
    *at = s->at;
    s->at += (int)length;
    return true;
}

static bool
skip(pcq_context *c, pcq_span *s, proto_tree *tree, const char *name, int64_t length)
{
    int at;

    return take(c, s, tree, name, length, &at);
}

static bool
take_span(pcq_context *c, pcq_span *s, proto_tree *tree, const char *name, int64_t length, pcq_span *inner)
{
    int at;

    if (!take(c, s, tree, name, length, &at))
        return false;
    inner->tvb = s->tvb;
    inner->start = inner->at = at;
    inner->stop = s->at;
    inner->texts = 0;
    return true;
}

/* Goes to what has a position of its own. */
static bool
move_to(pcq_context *c, pcq_span *s, proto_tree *tree, const char *name, int64_t offset)
{
    if (offset < 0 || offset > size_of(s)) {
        damaged(c, s, tree, NULL, "%s: an offset of %" PRId64 " in %" PRId64 " bytes", name, offset, size_of(s));
        return false;
    }
    s->at = s->start + (int)offset;
    return true;
}

static pcq_node
open_node(proto_tree *tree, int hf, int ett, const pcq_span *s, int64_t index)
{
    pcq_node node;

    node.from = s->at;
    node.has_bytes = s->at < s->stop;
    node.item = proto_tree_add_item(tree, hf, s->tvb, s->at, s->stop - s->at, ENC_NA);
    if (index >= 0)
        proto_item_append_text(node.item, " [%" PRId64 "]", index);
    node.tree = proto_item_add_subtree(node.item, ett);
    return node;
}

static void
close_node(const pcq_node *node, const pcq_span *s)
{
    if (node->has_bytes && s->at >= node->from)
        proto_item_set_len(node->item, s->at - node->from);
}

static const char *
spelling(int hf)
{
    return hf >= 0 ? proto_registrar_get_nth(hf)->name : "";
}

/* 100 ns since 1601; numbers that PerfTime100nSec may have as a signed one are divided as such. */
static void
time_of(uint64_t raw, bool is_signed, nstime_t *time)
{
    const uint64_t since = raw - UINT64_C(0x019DB1DED53E8000);

    if (is_signed) {
        time->secs = (time_t)((int64_t)since / 10000000);
        time->nsecs = (int)((int64_t)since % 10000000) * 100;
    } else {
        time->secs = (time_t)(since / 10000000);
        time->nsecs = (int)(since % 10000000) * 100;
    }
}

static void
show_number(pcq_context *c, pcq_span *s, proto_tree *tree, int hf, int at, int size, bool is_signed, uint64_t raw)
{
    nstime_t time;

    switch (proto_registrar_get_ftype(hf)) {
    case FT_UINT64:
        c->item = proto_tree_add_uint64(tree, hf, s->tvb, at, size, raw);
        break;
    case FT_INT64:
        c->item = proto_tree_add_int64(tree, hf, s->tvb, at, size, (int64_t)raw);
        break;
    case FT_INT32:
        c->item = proto_tree_add_int(tree, hf, s->tvb, at, size, (int32_t)raw);
        break;
    case FT_ABSOLUTE_TIME:
        time_of(raw, is_signed, &time);
        c->item = proto_tree_add_time(tree, hf, s->tvb, at, size, &time);
        break;
    default:
        c->item = proto_tree_add_uint(tree, hf, s->tvb, at, size, (uint32_t)raw);
    }
}

static bool
read_number(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, int hf, int size, bool is_signed,
    int64_t *value)
{
    const bool is_little = encoding == ENC_LITTLE_ENDIAN;
    int at;

    if (!take(c, s, tree, spelling(hf), size, &at))
        return false;
    if (size == 8)
        c->raw = is_little ? tvb_get_letoh64(s->tvb, at) : tvb_get_ntoh64(s->tvb, at);
    else if (size == 4)
        c->raw = is_little ? tvb_get_letohl(s->tvb, at) : tvb_get_ntohl(s->tvb, at);
    else
        c->raw = is_little ? tvb_get_letohs(s->tvb, at) : tvb_get_ntohs(s->tvb, at);
    if (is_signed && size == 4)
        c->raw = (uint64_t)(int64_t)(int32_t)c->raw;
    if (tree)
        show_number(c, s, tree, hf, at, size, is_signed, c->raw);
    if (value)
        *value = is_signed ? (int64_t)c->raw : (int64_t)MIN(c->raw, (uint64_t)INT64_MAX);
    return true;
}

static void
append_special(pcq_context *c, const pcq_special *specials)
{
    for (; specials->name; specials++) {
        if ((int64_t)c->raw == specials->value)
            proto_item_append_text(c->item, " (%s)", specials->name);
    }
}

static void
append_flags(pcq_context *c, const pcq_special *flags)
{
    const char *between = "";

    proto_item_append_text(c->item, " (");
    for (; flags->name; flags++) {
        if (c->raw & (uint64_t)flags->value) {
            proto_item_append_text(c->item, "%s%s", between, flags->name);
            between = " | ";
        }
    }
    proto_item_append_text(c->item, "%s)", *between ? "" : "none");
}

static bool
read_guid(pcq_context *c, pcq_span *s, proto_tree *tree, int hf, unsigned encoding)
{
    int at;

    if (!take(c, s, tree, spelling(hf), 16, &at))
        return false;
    if (tree)
        c->item = proto_tree_add_item(tree, hf, s->tvb, at, 16, encoding);
    return true;
}

/* Bytes before the first NUL of 16 bits, or before the end. */
static int
wide_length(const pcq_span *s, int at, int length, bool *has_end)
{
    int used;

    for (used = 0; used + 2 <= length; used += 2) {
        if (tvb_get_ntohs(s->tvb, at + used) == 0) {
            *has_end = true;
            return used;
        }
    }
    *has_end = false;
    return used;
}

static const char *
wide(pcq_context *c, const pcq_span *s, int at, int length, bool is_big)
{
    if (length == 0)
        return "";
    return (const char *)tvb_get_string_enc(c->pinfo->pool, s->tvb, at, length,
        ENC_UTF_16 | (is_big ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN));
}

static int
narrow_length(const pcq_span *s, int at, int length)
{
    int used;

    for (used = 0; used < length; used++) {
        if (tvb_memeql(s->tvb, at + used, (const uint8_t *)"", 1) == 0)
            break;
    }
    return used;
}

static const char *
narrow(pcq_context *c, const pcq_span *s, int at, int length, int64_t page)
{
    if (length == 0)
        return "";
    return (const char *)tvb_get_string_enc(c->pinfo->pool, s->tvb, at, length,
        page == 1252 ? ENC_WINDOWS_1252 : ENC_ISO_8859_1);
}

static void
show_text(pcq_context *c, const pcq_span *s, proto_tree *tree, unsigned encoding, int hf, pcq_form form, int at,
    int length)
{
    const int64_t page = form == PCQ_CODE_PAGE ? c->code_page : 0;
    bool has_end;
    int used;

    if (page != 0) {
        used = narrow_length(s, at, length);
        c->item = proto_tree_add_string(tree, hf, s->tvb, at, MIN(used + 1, length), narrow(c, s, at, used, page));
        return;
    }
    used = wide_length(s, at, length, &has_end);
    c->item = proto_tree_add_string(tree, hf, s->tvb, at, MIN(used + 2, length),
        wide(c, s, at, used, encoding == ENC_BIG_ENDIAN && form != PCQ_UTF16LE));
}

static bool
read_text(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, int hf, pcq_form form, int64_t length)
{
    int at;

    if (!take(c, s, tree, spelling(hf), length, &at))
        return false;
    if (tree && length > 0)
        show_text(c, s, tree, encoding, hf, form, at, (int)length);
    return true;
}

/* The elements of an NDR array, which are a text, a buffer or bytes. */
static bool
read_elements(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, const char *name, int64_t length,
    const pcq_elements *shown)
{
    int at;

    if (!take(c, s, tree, name, length, &at))
        return false;
    if (length == 0)
        return true;
    if (shown->is_text) {
        c->name_at = at;
        c->name_length = (int)length;
    }
    if (tree && shown->hf && shown->is_text)
        show_text(c, s, tree, encoding, *shown->hf, PCQ_UTF16, at, (int)length);
    else if (tree && shown->hf)
        c->item = proto_tree_add_item(tree, *shown->hf, s->tvb, at, (int)length, ENC_NA);
    if (shown->is_payload) {
        c->payload_at = at;
        c->payload_length = (int)length;
        c->payload_tree = shown->ett ? proto_item_add_subtree(c->item, *shown->ett) : NULL;
    }
    return true;
}

/* A text of 16-bit units with a NUL, which has to be there unless the end of the buffer may stand for it. */
static bool
read_terminated(pcq_context *c, pcq_span *s, proto_tree *tree, int hf, bool may_end, int64_t *length)
{
    const int at = s->at;
    const char *text;
    bool has_end;
    int held, used;

    c->item = NULL;
    held = wide_length(s, at, s->stop - at, &has_end);
    if (!has_end && !may_end) {
        damaged(c, s, tree, NULL, "%s: no terminator before the end", spelling(hf));
        return false;
    }
    used = held + (has_end ? 2 : 0);
    s->at = at + used;
    /* Strings may share bytes, but nothing else bounds how many offsets point at the same ones. */
    s->texts += used;
    if (s->texts > 8 * size_of(s)) {
        damaged(c, s, tree, NULL, "%s: %" PRId64 " bytes of texts in %" PRId64, spelling(hf), s->texts, size_of(s));
        return false;
    }
    text = wide(c, s, at, held, false);
    if (tree && used > 0)
        c->item = proto_tree_add_string(tree, hf, s->tvb, at, used, text);
    if (length)
        *length = (int64_t)strlen(text);
    return true;
}

/* The value of a counter of PerflibV2: a number, or a text of 16-bit units. */
static bool
read_value(pcq_context *c, pcq_span *s, proto_tree *tree, int hf, int hf_text, int64_t length)
{
    bool has_end;
    int at;

    if (!take(c, s, tree, spelling(hf), length, &at))
        return false;
    if (!tree || length == 0)
        return true;
    if (length == 4 || length == 8)
        show_number(c, s, tree, hf, at, (int)length, false,
            length == 8 ? tvb_get_letoh64(s->tvb, at) : tvb_get_letohl(s->tvb, at));
    else
        c->item = proto_tree_add_string(tree, hf_text, s->tvb, at, (int)length,
            wide(c, s, at, wide_length(s, at, (int)length, &has_end), false));
    return true;
}

struct ndr_pointer {
    int64_t referent;
};

struct ms_dtyp_systemtime {
    int64_t year;
    int64_t month;
    int64_t day;
    int64_t hour;
    int64_t minute;
    int64_t second;
    int64_t milliseconds;
};

struct ms_pcq_perf_data_counter_ids {
    int64_t size;
    int64_t num_counters;
};

struct winperf_systemtime {
    int64_t year;
    int64_t month;
    int64_t day;
    int64_t hour;
    int64_t minute;
    int64_t second;
    int64_t milliseconds;
};

struct winperf_counter_definition {
    int64_t byte_length;
    int64_t counter_name_title_index;
    int64_t counter_type;
    int64_t counter_size;
    int64_t counter_offset;
};

struct name_table_entry {
    int64_t index;
};


/* Counters may share bytes, but nothing else bounds how many point at the same ones. */
static bool
check_counter_values(pcq_context *c, pcq_span *s, proto_tree *tree, wmem_array_t *definitions)
{
    int64_t wanted = 0;
    unsigned at;

    for (at = 0; at < wmem_array_get_count(definitions); at++)
        wanted += ((const struct winperf_counter_definition *)wmem_array_index(definitions, at))->counter_size;
    if (wanted <= 8 * (size_of(s) + 4))
        return true;
    damaged(c, s, tree, NULL, "%" PRId64 " bytes of values in a counter block of %" PRId64, wanted, size_of(s) + 4);
    return false;
}

/* winperf.h: the class of a counter type, and which texts are of single bytes. */
#define PERF_TYPE_MASK      0x00000C00
#define PERF_TYPE_TEXT      0x00000800
#define PERF_TEXT_ASCII     0x00010000

/* The value of a counter of winperf: a number, a text, or bytes. */
static bool
read_v1_value(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, int hf, int hf_text, int hf_bytes,
    const struct winperf_counter_definition *definition)
{
    const int length = (int)MIN(definition->counter_size, INT_MAX);
    const bool is_big = encoding == ENC_BIG_ENDIAN;
    const char *text;
    bool has_end;
    uint64_t raw;
    int at;

    if (!take(c, s, tree, spelling(hf), definition->counter_size, &at))
        return false;
    if (!tree)
        return true;
    if ((definition->counter_type & PERF_TYPE_MASK) == PERF_TYPE_TEXT) {
        if (definition->counter_type & PERF_TEXT_ASCII)
            text = narrow(c, s, at, narrow_length(s, at, length), 0);
        else
            text = wide(c, s, at, wide_length(s, at, length, &has_end), is_big);
        c->item = proto_tree_add_string(tree, hf_text, s->tvb, at, length, text);
    } else if (length == 1 || length == 2 || length == 4 || length == 8) {
        if (length == 8)
            raw = is_big ? tvb_get_ntoh64(s->tvb, at) : tvb_get_letoh64(s->tvb, at);
        else if (length == 4)
            raw = is_big ? tvb_get_ntohl(s->tvb, at) : tvb_get_letohl(s->tvb, at);
        else if (length == 2)
            raw = is_big ? tvb_get_ntohs(s->tvb, at) : tvb_get_letohs(s->tvb, at);
        else
            raw = *tvb_get_ptr(s->tvb, at, 1);
        show_number(c, s, tree, hf, at, length, false, raw);
    } else {
        c->item = proto_tree_add_item(tree, hf_bytes, s->tvb, at, length, ENC_NA);
    }
    proto_item_append_text(c->item, " (counter %" PRId64 ")", definition->counter_name_title_index);
    return true;
}

static const pcq_elements elements_0 = {
    &hf_pcq_machine_string_data, NULL, true, false
};
static const pcq_elements elements_1 = {
    &hf_pcq_validate_counters_lp_data_data, &ett_pcq_validate_counters_lp_data_data, false, true
};
static const pcq_elements elements_2 = {
    NULL, NULL, true, false
};
static const pcq_elements elements_3 = {
    NULL, NULL, false, true
};
static const pcq_elements elements_4 = {
    &hf_pcq_enumerate_counter_set_lp_data_data, &ett_pcq_enumerate_counter_set_lp_data_data, false, true
};
static const pcq_elements elements_5 = {
    &hf_pcq_query_counter_set_registration_info_lp_data_data, &ett_pcq_query_counter_set_registration_info_lp_data_data, false, true
};
static const pcq_elements elements_6 = {
    &hf_pcq_enumerate_counter_set_instances_lp_data_data, &ett_pcq_enumerate_counter_set_instances_lp_data_data, false, true
};
static const pcq_elements elements_7 = {
    &hf_pcq_query_counter_info_lp_data_data, &ett_pcq_query_counter_info_lp_data_data, false, true
};
static const pcq_elements elements_8 = {
    &hf_pcq_query_counter_data_lp_data_data, &ett_pcq_query_counter_data_lp_data_data, false, true
};

static bool
read_ndr_pointer(pcq_context *c, pcq_span *s, proto_tree *tree, bool ndr64, bool big_endian, struct ndr_pointer *o)
{
    const unsigned encoding = big_endian ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN;

    if (!skip(c, s, tree, "(alignment)", ndr64 ? ((8 - (position(s) % 8)) % 8) : ((4 - (position(s) % 4)) % 4)))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_ndr_pointer_referent, ndr64 ? 8 : 4, false, &o->referent))
        return false;
    return true;
}

static bool
read_ndr_conformant_varying(pcq_context *c, pcq_span *s, proto_tree *tree, int64_t len_element, bool ndr64,
    bool big_endian, const pcq_elements *shown)
{
    const unsigned encoding = big_endian ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN;
    int64_t max_count = 0;
    int64_t offset = 0;
    int64_t actual_count = 0;

    if (!skip(c, s, tree, "(alignment)", ndr64 ? ((8 - (position(s) % 8)) % 8) : ((4 - (position(s) % 4)) % 4)))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_ndr_conformant_varying_max_count, ndr64 ? 8 : 4, false, &max_count))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_ndr_conformant_varying_offset, ndr64 ? 8 : 4, false, &offset))
        return false;
    if (offset != 0) {
        damaged(c, s, tree, c->item, "offset: %" PRIu64 " where only 0 is allowed", c->raw);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_ndr_conformant_varying_actual_count, ndr64 ? 8 : 4, false,
        &actual_count))
        return false;
    if (actual_count > max_count) {
        damaged(c, s, tree, c->item, "actual_count: %" PRIu64 " is above %" PRId64, c->raw, max_count);
        return false;
    }
    if (!read_elements(c, s, tree, encoding, "(elements)", product(actual_count, len_element), shown))
        return false;
    return true;
}

static bool
read_ms_pcq_stubs_machine_name(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding _U_)
{
    if (c->has_referent) {
        pcq_node node;
        bool is_read;
        struct ndr_pointer one = { 0 };

        node = open_node(tree, hf_pcq_machine_pointer, ett_pcq_machine_pointer, s, -1);
        is_read = read_ndr_pointer(c, s, node.tree, c->ndr64, c->big_endian, &one);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_machine_string, ett_pcq_machine_string, s, -1);
        is_read = read_ndr_conformant_varying(c, s, node.tree, 2, c->ndr64, c->big_endian, &elements_0);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_ms_pcq_stubs_enumerate_counter_set_request(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_machine, ett_pcq_machine, s, -1);
        is_read = read_ms_pcq_stubs_machine_name(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_enumerate_counter_set_in_size, 4, false, NULL))
        return false;
    return true;
}

static bool
read_ms_pcq_stubs_query_counter_set_registration_info_request(pcq_context *c, pcq_span *s, proto_tree *tree,
    unsigned encoding)
{
    int64_t request_code = 0;

    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_machine, ett_pcq_machine, s, -1);
        is_read = read_ms_pcq_stubs_machine_name(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_guid(c, s, tree, hf_pcq_query_counter_set_registration_info_counterset_guid, c->big_endian
        ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_set_registration_info_request_code, 4, false,
        &request_code))
        return false;
    c->request_code = request_code;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_set_registration_info_request_lcid, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_set_registration_info_in_size, 4, false, NULL))
        return false;
    return true;
}

static bool
read_ms_pcq_stubs_enumerate_counter_set_instances_request(pcq_context *c, pcq_span *s, proto_tree *tree,
    unsigned encoding)
{
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_machine, ett_pcq_machine, s, -1);
        is_read = read_ms_pcq_stubs_machine_name(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_guid(c, s, tree, hf_pcq_enumerate_counter_set_instances_counterset_guid, c->big_endian ? ENC_BIG_ENDIAN
        : ENC_LITTLE_ENDIAN))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_enumerate_counter_set_instances_in_size, 4, false, NULL))
        return false;
    return true;
}

static bool
read_ms_pcq_stubs_open_query_handle_request(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_machine, ett_pcq_machine, s, -1);
        is_read = read_ms_pcq_stubs_machine_name(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_ndr_context_handle(pcq_context *c, pcq_span *s, proto_tree *tree, bool big_endian)
{
    const unsigned encoding = big_endian ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN;

    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_ndr_context_handle_attributes, 4, false, NULL))
        return false;
    if (!read_guid(c, s, tree, hf_pcq_ndr_context_handle_uuid, big_endian ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN))
        return false;
    return true;
}

static bool
read_ms_pcq_stubs_close_query_handle_request(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding _U_)
{
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_close_query_handle_query_handle, ett_pcq_close_query_handle_query_handle, s, -1);
        is_read = read_ndr_context_handle(c, s, node.tree, c->big_endian);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_ms_pcq_stubs_query_counter_info_request(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_info_query_handle, ett_pcq_query_counter_info_query_handle, s, -1);
        is_read = read_ndr_context_handle(c, s, node.tree, c->big_endian);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_info_in_size, 4, false, NULL))
        return false;
    return true;
}

static bool
read_ms_pcq_stubs_query_counter_data_request(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_query_handle, ett_pcq_query_counter_data_query_handle, s, -1);
        is_read = read_ndr_context_handle(c, s, node.tree, c->big_endian);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_in_size, 4, false, NULL))
        return false;
    return true;
}

static bool
read_ndr_conformant(pcq_context *c, pcq_span *s, proto_tree *tree, bool ndr64, bool big_endian,
    const pcq_elements *shown)
{
    const unsigned encoding = big_endian ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN;
    int64_t max_count = 0;

    if (!skip(c, s, tree, "(alignment)", ndr64 ? ((8 - (position(s) % 8)) % 8) : ((4 - (position(s) % 4)) % 4)))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_ndr_conformant_max_count, ndr64 ? 8 : 4, false, &max_count))
        return false;
    if (!read_elements(c, s, tree, encoding, "(elements)", max_count, shown))
        return false;
    return true;
}

static bool
read_ms_pcq_stubs_validate_counters_request(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_validate_counters_query_handle, ett_pcq_validate_counters_query_handle, s, -1);
        is_read = read_ndr_context_handle(c, s, node.tree, c->big_endian);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_validate_counters_in_size, 4, false, NULL))
        return false;
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_validate_counters_lp_data, ett_pcq_validate_counters_lp_data, s, -1);
        is_read = read_ndr_conformant(c, s, node.tree, c->ndr64, c->big_endian, &elements_1);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_validate_counters_add, 4, false, NULL))
        return false;
    return true;
}

static bool
read_ms_rrp_stubs_unicode_string(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    struct ndr_pointer pointer = { 0 };

    if (!skip(c, s, tree, "(alignment)", c->ndr64 ? ((8 - (position(s) % 8)) % 8) : ((4 - (position(s) % 4)) % 4)))
        return false;
    if (!read_number(c, s, tree, encoding, -1, 2, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, -1, 2, false, NULL))
        return false;
    if (!read_ndr_pointer(c, s, tree, c->ndr64, c->big_endian, &pointer))
        return false;
    if (pointer.referent != 0) {
        if (!read_ndr_conformant_varying(c, s, tree, 2, c->ndr64, c->big_endian, &elements_2))
            return false;
    }
    return true;
}

static bool
read_ms_rrp_stubs_optional_u4(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    struct ndr_pointer pointer = { 0 };

    if (!read_ndr_pointer(c, s, tree, c->ndr64, c->big_endian, &pointer))
        return false;
    if (pointer.referent != 0) {
        if (!read_number(c, s, tree, encoding, -1, 4, false, NULL))
            return false;
    }
    return true;
}

static bool
read_ms_rrp_stubs_optional_data(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding _U_)
{
    struct ndr_pointer pointer = { 0 };

    if (!read_ndr_pointer(c, s, tree, c->ndr64, c->big_endian, &pointer))
        return false;
    if (pointer.referent != 0) {
        if (!read_ndr_conformant_varying(c, s, tree, 1, c->ndr64, c->big_endian, &elements_3))
            return false;
    }
    return true;
}

static bool
read_ms_rrp_stubs_base_reg_enum_value_request(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    if (!read_ndr_context_handle(c, s, tree, c->big_endian))
        return false;
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, -1, 4, false, NULL))
        return false;
    if (!read_ms_rrp_stubs_unicode_string(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_data(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    return true;
}

static bool
read_ms_rrp_stubs_base_reg_query_value_request(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    if (!read_ndr_context_handle(c, s, tree, c->big_endian))
        return false;
    if (!read_ms_rrp_stubs_unicode_string(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_data(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    return true;
}

static bool
read_ms_pcq_stubs_enumerate_counter_set_response(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t status = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_enumerate_counter_set_out_size, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_enumerate_counter_set_rtn_size, 4, false, NULL))
        return false;
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_enumerate_counter_set_lp_data, ett_pcq_enumerate_counter_set_lp_data, s, -1);
        is_read = read_ndr_conformant_varying(c, s, node.tree, 16, c->ndr64, c->big_endian, &elements_4);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_status, 4, false, &status))
        return false;
    c->status = status;
    return true;
}

static bool
read_ms_pcq_stubs_query_counter_set_registration_info_response(pcq_context *c, pcq_span *s, proto_tree *tree,
    unsigned encoding)
{
    int64_t status = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_set_registration_info_out_size, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_set_registration_info_rtn_size, 4, false, NULL))
        return false;
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_set_registration_info_lp_data,
            ett_pcq_query_counter_set_registration_info_lp_data, s, -1);
        is_read = read_ndr_conformant_varying(c, s, node.tree, 1, c->ndr64, c->big_endian, &elements_5);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_status, 4, false, &status))
        return false;
    c->status = status;
    return true;
}

static bool
read_ms_pcq_stubs_enumerate_counter_set_instances_response(pcq_context *c, pcq_span *s, proto_tree *tree,
    unsigned encoding)
{
    int64_t status = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_enumerate_counter_set_instances_out_size, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_enumerate_counter_set_instances_rtn_size, 4, false, NULL))
        return false;
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_enumerate_counter_set_instances_lp_data,
            ett_pcq_enumerate_counter_set_instances_lp_data, s, -1);
        is_read = read_ndr_conformant_varying(c, s, node.tree, 1, c->ndr64, c->big_endian, &elements_6);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_status, 4, false, &status))
        return false;
    c->status = status;
    return true;
}

static bool
read_ms_pcq_stubs_open_query_handle_response(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t status = 0;

    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_open_query_handle_query_handle, ett_pcq_open_query_handle_query_handle, s, -1);
        is_read = read_ndr_context_handle(c, s, node.tree, c->big_endian);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_status, 4, false, &status))
        return false;
    c->status = status;
    return true;
}

static bool
read_ms_pcq_stubs_close_query_handle_response(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t status = 0;

    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_close_query_handle_query_handle, ett_pcq_close_query_handle_query_handle, s, -1);
        is_read = read_ndr_context_handle(c, s, node.tree, c->big_endian);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_status, 4, false, &status))
        return false;
    c->status = status;
    return true;
}

static bool
read_ms_pcq_stubs_query_counter_info_response(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t status = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_info_out_size, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_info_rtn_size, 4, false, NULL))
        return false;
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_info_lp_data, ett_pcq_query_counter_info_lp_data, s, -1);
        is_read = read_ndr_conformant_varying(c, s, node.tree, 1, c->ndr64, c->big_endian, &elements_7);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_status, 4, false, &status))
        return false;
    c->status = status;
    return true;
}

static bool
read_ms_pcq_stubs_query_counter_data_response(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t status = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_out_size, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_rtn_size, 4, false, NULL))
        return false;
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_lp_data, ett_pcq_query_counter_data_lp_data, s, -1);
        is_read = read_ndr_conformant_varying(c, s, node.tree, 1, c->ndr64, c->big_endian, &elements_8);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_status, 4, false, &status))
        return false;
    c->status = status;
    return true;
}

static bool
read_ms_pcq_stubs_validate_counters_response(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t status = 0;

    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_validate_counters_lp_data, ett_pcq_validate_counters_lp_data, s, -1);
        is_read = read_ndr_conformant(c, s, node.tree, c->ndr64, c->big_endian, &elements_1);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_status, 4, false, &status))
        return false;
    c->status = status;
    return true;
}

static bool
read_ms_rrp_stubs_base_reg_enum_value_response(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t status = 0;

    if (!read_ms_rrp_stubs_unicode_string(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_data(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, -1, 4, false, &status))
        return false;
    c->status = status;
    return true;
}

static bool
read_ms_rrp_stubs_base_reg_query_value_response(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t status = 0;

    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_data(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    if (!read_ms_rrp_stubs_optional_u4(c, s, tree, encoding))
        return false;
    if (!skip(c, s, tree, "(alignment)", (4 - (position(s) % 4)) % 4))
        return false;
    if (!read_number(c, s, tree, encoding, -1, 4, false, &status))
        return false;
    c->status = status;
    return true;
}

static bool
read_ms_pcq_guid_list(pcq_context *c, pcq_span *s, proto_tree *tree, bool big_endian)
{
    while (!is_at_end(s)) {
        if (!read_guid(c, s, tree, hf_pcq_enumerate_counter_set_guids, big_endian ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN))
            return false;
    }
    return true;
}

static bool
read_ms_pcq_counter_reg_info(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_id, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_type, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_attributes, 8, false, NULL))
        return false;
    append_flags(c, specials_0);
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_detail_level, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_default_scale, 4, true, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_base_counter_id, 4, false, NULL))
        return false;
    append_special(c, specials_1);
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_perf_time_id, 4, false, NULL))
        return false;
    append_special(c, specials_1);
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_perf_freq_id, 4, false, NULL))
        return false;
    append_special(c, specials_1);
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_multi_id, 4, false, NULL))
        return false;
    append_special(c, specials_1);
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_aggregate_func, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_counter_reserved, 4, false, NULL))
        return false;
    return true;
}

static bool
read_ms_pcq_counterset_info(pcq_context *c, pcq_span *s, proto_tree *tree)
{
    const unsigned encoding = ENC_LITTLE_ENDIAN;
    int64_t num_counters = 0;

    if (!read_guid(c, s, tree, hf_pcq_counterset_guid, ENC_LITTLE_ENDIAN))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_counterset_type, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_counterset_detail_level, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_counterset_num_counters, 4, false, &num_counters))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_counterset_instance_type, 4, false, NULL))
        return false;
    for (int64_t i = 0; i < num_counters; i++) {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_counterset_counters, ett_pcq_counterset_counters, s, i);
        is_read = read_ms_pcq_counter_reg_info(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_ms_pcq_counter_info(pcq_context *c, pcq_span *s, proto_tree *tree)
{
    const unsigned encoding = ENC_LITTLE_ENDIAN;

    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_counter_info_counter, ett_pcq_counter_info_counter, s, -1);
        is_read = read_ms_pcq_counter_reg_info(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_ms_pcq_string(pcq_context *c, pcq_span *s, proto_tree *tree)
{
    if (!read_terminated(c, s, tree, hf_pcq_registration_string, true, NULL))
        return false;
    s->at = s->stop;
    return true;
}

static bool
read_ms_pcq_string_table_counter_string(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding,
    int64_t ofs_base)
{
    int64_t ofs_string = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_string_table_counter_string_counter_id, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_string_table_counter_string_ofs_string, 4, false, &ofs_string))
        return false;
    append_special(c, specials_2);
    if (ofs_string != INT64_C(0xffffffff)) {
        const int before = s->at;

        if (!move_to(c, s, tree, "(string)", ofs_base + ofs_string))
            return false;
        if (!read_terminated(c, s, tree, hf_pcq_string_table_counter_string_string, false, NULL))
            return false;
        s->at = before;
    }
    return true;
}

static bool
read_ms_pcq_string_table(pcq_context *c, pcq_span *s, proto_tree *tree, int64_t ofs_base)
{
    const unsigned encoding = ENC_LITTLE_ENDIAN;
    int64_t num_counters = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_string_table_total_size, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_string_table_num_counters, 4, false, &num_counters))
        return false;
    for (int64_t i = 0; i < num_counters; i++) {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_string_table_strings, ett_pcq_string_table_strings, s, i);
        is_read = read_ms_pcq_string_table_counter_string(c, s, node.tree, encoding, ofs_base);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    s->at = s->stop;
    return true;
}

static bool
read_ms_pcq_provider_guid(pcq_context *c, pcq_span *s, proto_tree *tree)
{
    if (!read_guid(c, s, tree, hf_pcq_provider_guid, ENC_LITTLE_ENDIAN))
        return false;
    return true;
}

static bool
read_ms_pcq_instance_header(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t size = 0;
    int64_t ofs_name = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_instance_size, 4, false, &size))
        return false;
    if (size < 8) {
        damaged(c, s, tree, c->item, "Size: %" PRIu64 " is below 8", c->raw);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_instance_id, 4, false, NULL))
        return false;
    ofs_name = position(s);
    if (ofs_name >= 0) {
        if (!read_text(c, s, tree, encoding, hf_pcq_instance_name, PCQ_UTF16LE, size - 8))
            return false;
    }
    return true;
}

static bool
read_ms_pcq_instance_list(pcq_context *c, pcq_span *s, proto_tree *tree)
{
    const unsigned encoding = ENC_LITTLE_ENDIAN;

    for (int64_t i = 0; !is_at_end(s); i++) {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_enumerate_counter_set_instances_instances,
            ett_pcq_enumerate_counter_set_instances_instances, s, i);
        is_read = read_ms_pcq_instance_header(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_ms_pcq_identifier_list_identifier(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t size = 0;
    int64_t ofs_name = 0;

    if (!read_guid(c, s, tree, hf_pcq_identifier_counterset_guid, ENC_LITTLE_ENDIAN))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_identifier_status, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_identifier_size, 4, false, &size))
        return false;
    if (size < 40) {
        damaged(c, s, tree, c->item, "Size: %" PRIu64 " is below 40", c->raw);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_identifier_counter_id, 4, false, NULL))
        return false;
    append_special(c, specials_3);
    if (!read_number(c, s, tree, encoding, hf_pcq_identifier_instance_id, 4, false, NULL))
        return false;
    append_special(c, specials_4);
    if (!read_number(c, s, tree, encoding, hf_pcq_identifier_index, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_identifier_reserved, 4, false, NULL))
        return false;
    ofs_name = position(s);
    if ((size != 40) && (ofs_name >= 0)) {
        if (!read_text(c, s, tree, encoding, hf_pcq_identifier_name, PCQ_UTF16LE, size - 40))
            return false;
    }
    return true;
}

static bool
read_ms_pcq_identifier_list(pcq_context *c, pcq_span *s, proto_tree *tree)
{
    const unsigned encoding = ENC_LITTLE_ENDIAN;

    for (int64_t i = 0; !is_at_end(s); i++) {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_identifiers_identifiers, ett_pcq_identifiers_identifiers, s, i);
        is_read = read_ms_pcq_identifier_list_identifier(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_ms_dtyp_systemtime(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, struct ms_dtyp_systemtime *o)
{
    if (!read_number(c, s, tree, encoding, hf_pcq_systemtime_year, 2, false, &o->year))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_systemtime_month, 2, false, &o->month))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_systemtime_day_of_week, 2, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_systemtime_day, 2, false, &o->day))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_systemtime_hour, 2, false, &o->hour))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_systemtime_minute, 2, false, &o->minute))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_systemtime_second, 2, false, &o->second))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_systemtime_milliseconds, 2, false, &o->milliseconds))
        return false;
    return true;
}

static bool
read_ms_pcq_perf_data_nothing(pcq_context *c _U_, pcq_span *s, proto_tree *tree _U_, unsigned encoding _U_)
{
    s->at = s->stop;
    return true;
}

static bool
read_ms_pcq_perf_data_counter_data(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t data_size = 0;
    int64_t size = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_counter_data_data_size, 4, false, &data_size))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_counter_data_size, 4, false, &size))
        return false;
    if (size < 8 + data_size) {
        damaged(c, s, tree, c->item, "dwSize: %" PRIu64 " is below %" PRId64, c->raw, 8 + data_size);
        return false;
    }
    if (!read_value(c, s, tree, hf_pcq_query_counter_data_counter_data_value,
        hf_pcq_query_counter_data_counter_data_value_text, data_size))
        return false;
    if (!skip(c, s, tree, "(padding)", (size - 8) - data_size))
        return false;
    return true;
}

static bool
read_ms_pcq_perf_data_single_counter(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_single_counter_data,
            ett_pcq_query_counter_data_single_counter_data, s, -1);
        is_read = read_ms_pcq_perf_data_counter_data(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    s->at = s->stop;
    return true;
}

static bool
read_ms_pcq_perf_data_counter_ids(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding,
    int64_t len_uncounted, struct ms_pcq_perf_data_counter_ids *o)
{
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_counter_ids_size, 4, false, &o->size))
        return false;
    if (o->size < 8) {
        damaged(c, s, tree, c->item, "dwSize: %" PRIu64 " is below 8", c->raw);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_counter_ids_num_counters, 4, false,
        &o->num_counters))
        return false;
    if (o->num_counters > (o->size - 8) / 4) {
        damaged(c, s, tree, c->item, "dwCounters: %" PRIu64 " is above %" PRId64, c->raw, (o->size - 8) / 4);
        return false;
    }
    for (int64_t i = 0; i < o->num_counters; i++) {
        if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_counter_ids_counter_ids, 4, false, NULL))
            return false;
    }
    if (!skip(c, s, tree, "(padding)", (o->size - 8) - product(4, o->num_counters)))
        return false;
    if (!skip(c, s, tree, "(padding outside the size)", len_uncounted))
        return false;
    return true;
}

static bool
read_ms_pcq_perf_data_multi_counters(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding,
    int64_t len_id_padding)
{
    struct ms_pcq_perf_data_counter_ids counters = { 0 };

    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_multi_counters_counters,
            ett_pcq_query_counter_data_multi_counters_counters, s, -1);
        is_read = read_ms_pcq_perf_data_counter_ids(c, s, node.tree, encoding, len_id_padding, &counters);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    for (int64_t i = 0; i < counters.num_counters; i++) {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_multi_counters_data,
            ett_pcq_query_counter_data_multi_counters_data, s, i);
        is_read = read_ms_pcq_perf_data_counter_data(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    s->at = s->stop;
    return true;
}

static bool
read_ms_pcq_perf_data_instance(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, int64_t num_values)
{
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_instance_header, ett_pcq_query_counter_data_instance_header,
            s, -1);
        is_read = read_ms_pcq_instance_header(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    for (int64_t i = 0; i < num_values; i++) {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_instance_data, ett_pcq_query_counter_data_instance_data, s, i);
        is_read = read_ms_pcq_perf_data_counter_data(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_ms_pcq_perf_data_instances(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, int64_t num_values)
{
    int64_t total_size = 0;
    int64_t num_instances = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_instances_total_size, 4, false, &total_size))
        return false;
    if (total_size < 8) {
        damaged(c, s, tree, c->item, "dwTotalSize: %" PRIu64 " is below 8", c->raw);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_instances_num_instances, 4, false, &num_instances))
        return false;
    for (int64_t i = 0; i < num_instances; i++) {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_instances_instances,
            ett_pcq_query_counter_data_instances_instances, s, i);
        is_read = read_ms_pcq_perf_data_instance(c, s, node.tree, encoding, num_values);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_ms_pcq_perf_data_multi_instances(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_multi_instances_instances,
            ett_pcq_query_counter_data_multi_instances_instances, s, -1);
        is_read = read_ms_pcq_perf_data_instances(c, s, node.tree, encoding, 1);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    s->at = s->stop;
    return true;
}

static bool
read_ms_pcq_perf_data_counterset(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding,
    int64_t len_id_padding)
{
    struct ms_pcq_perf_data_counter_ids counters = { 0 };

    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_counterset_counters,
            ett_pcq_query_counter_data_counterset_counters, s, -1);
        is_read = read_ms_pcq_perf_data_counter_ids(c, s, node.tree, encoding, len_id_padding, &counters);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_counterset_instances,
            ett_pcq_query_counter_data_counterset_instances, s, -1);
        is_read = read_ms_pcq_perf_data_instances(c, s, node.tree, encoding, counters.num_counters);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    s->at = s->stop;
    return true;
}

static bool
read_ms_pcq_perf_data_block(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, int64_t len_id_padding)
{
    int64_t block_type = 0;
    int64_t size = 0;
    int64_t len_body = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_block_status, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_block_type, 4, false, &block_type))
        return false;
    if (block_type != 0 && block_type != 1 && block_type != 2 && block_type != 4 && block_type != 6) {
        damaged(c, s, tree, c->item, "dwType: %" PRIu64 " is none of the values defined", c->raw);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_block_size, 4, false, &size))
        return false;
    if (size < 16) {
        damaged(c, s, tree, c->item, "dwSize: %" PRIu64 " is below 16", c->raw);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_block_reserved, 4, false, NULL))
        return false;
    len_body = (((size - 16) < (size_of(s) - position(s))) ? (size - 16) : (size_of(s) - position(s)));
    {
        pcq_span inner;
        pcq_node node;
        bool is_read;

        if (!take_span(c, s, tree, "(data)", len_body, &inner))
            return false;
        node = open_node(tree, hf_pcq_query_counter_data_block_body, ett_pcq_query_counter_data_block_body, &inner, -1);
        switch (block_type) {
        case 0:
            is_read = read_ms_pcq_perf_data_nothing(c, &inner, node.tree, encoding);
            break;
        case 1:
            is_read = read_ms_pcq_perf_data_single_counter(c, &inner, node.tree, encoding);
            break;
        case 2:
            is_read = read_ms_pcq_perf_data_multi_counters(c, &inner, node.tree, encoding, len_id_padding);
            break;
        case 4:
            is_read = read_ms_pcq_perf_data_multi_instances(c, &inner, node.tree, encoding);
            break;
        case 6:
            is_read = read_ms_pcq_perf_data_counterset(c, &inner, node.tree, encoding, len_id_padding);
            break;
        default:
            is_read = true;
        }
        close_node(&node, &inner);
        if (!is_read)
            return false;
    }
    if (!skip(c, s, tree, "(bytes beyond the end)", (size - 16) - len_body))
        return false;
    return true;
}

static bool
read_ms_pcq_perf_data(pcq_context *c, pcq_span *s, proto_tree *tree, wmem_array_t *len_id_paddings)
{
    const unsigned encoding = ENC_LITTLE_ENDIAN;
    int64_t num_blocks = 0;

    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_total_size, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_num_blocks, 4, false, &num_blocks))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_perf_time_stamp, 8, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_perf_time_100ns, 8, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_pcq_query_counter_data_perf_freq, 8, false, NULL))
        return false;
    {
        pcq_node node;
        bool is_read;
        struct ms_dtyp_systemtime one = { 0 };

        node = open_node(tree, hf_pcq_query_counter_data_system_time, ett_pcq_query_counter_data_system_time, s, -1);
        is_read = read_ms_dtyp_systemtime(c, s, node.tree, encoding, &one);
        close_node(&node, s);
        if (!is_read)
            return false;
        proto_item_append_text(node.item, ": %04d-%02d-%02d %02d:%02d:%02d.%03d UTC", (int)one.year, (int)one.month,
            (int)one.day, (int)one.hour, (int)one.minute, (int)one.second, (int)one.milliseconds);
    }
    for (int64_t i = 0; i < num_blocks; i++) {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_pcq_query_counter_data_blocks, ett_pcq_query_counter_data_blocks, s, i);
        is_read = read_ms_pcq_perf_data_block(c, s, node.tree, encoding,
            (i < (int64_t)wmem_array_get_count(len_id_paddings)) ? *(const uint8_t *)wmem_array_index(len_id_paddings,
            (unsigned)i) : 0);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_winperf_systemtime(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, struct winperf_systemtime *o)
{
    if (!read_number(c, s, tree, encoding, hf_winperf_systemtime_year, 2, false, &o->year))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_systemtime_month, 2, false, &o->month))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_systemtime_day_of_week, 2, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_systemtime_day, 2, false, &o->day))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_systemtime_hour, 2, false, &o->hour))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_systemtime_minute, 2, false, &o->minute))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_systemtime_second, 2, false, &o->second))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_systemtime_milliseconds, 2, false, &o->milliseconds))
        return false;
    return true;
}

static bool
read_winperf_counter_definition(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding,
    struct winperf_counter_definition *o)
{
    if (!read_number(c, s, tree, encoding, hf_winperf_counter_definition_byte_length, 4, false, &o->byte_length))
        return false;
    if (o->byte_length < 40) {
        damaged(c, s, tree, c->item, "ByteLength: %" PRIu64 " is below 40", c->raw);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_winperf_counter_definition_counter_name_title_index, 4, false,
        &o->counter_name_title_index))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_counter_definition_counter_name_title, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_counter_definition_counter_help_title_index, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_counter_definition_counter_help_title, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_counter_definition_default_scale, 4, true, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_counter_definition_detail_level, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_counter_definition_counter_type, 4, false, &o->counter_type))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_counter_definition_counter_size, 4, false, &o->counter_size))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_counter_definition_counter_offset, 4, false, &o->counter_offset))
        return false;
    if (!skip(c, s, tree, "(rest of the definition)", o->byte_length - 40))
        return false;
    return true;
}

static bool
read_winperf_counter_value(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding,
    const struct winperf_counter_definition *definition)
{
    if (definition->counter_size != 0) {
        const int before = s->at;

        if (!move_to(c, s, tree, "(value)", definition->counter_offset - 4))
            return false;
        if (!read_v1_value(c, s, tree, encoding, hf_winperf_counter_block_value, hf_winperf_counter_block_value_text,
            hf_winperf_counter_block_value_bytes, definition))
            return false;
        s->at = before;
    }
    return true;
}

static bool
read_winperf_counter_values(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, wmem_array_t *definitions)
{
    if (!check_counter_values(c, s, tree, definitions))
        return false;
    for (int64_t i = 0; i < (int64_t)wmem_array_get_count(definitions); i++) {
        if (!read_winperf_counter_value(c, s, tree, encoding,
            (const struct winperf_counter_definition *)wmem_array_index(definitions, (unsigned)i)))
            return false;
    }
    s->at = s->stop;
    return true;
}

static bool
read_winperf_counter_block(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, wmem_array_t *definitions,
    bool is_last)
{
    int64_t byte_length = 0;
    int64_t len_body = 0;

    if (!read_number(c, s, tree, encoding, hf_winperf_counter_block_byte_length, 4, false, &byte_length))
        return false;
    if (!((byte_length >= 4) && (byte_length >= (int64_t)wmem_array_get_count(definitions)))) {
        damaged(c, s, tree, c->item, "ByteLength: %" PRIu64 " is not allowed here", c->raw);
        return false;
    }
    len_body = ((!is_last && ((byte_length - 4) < (size_of(s) - position(s)))) ? (byte_length - 4)
        : (size_of(s) - position(s)));
    {
        pcq_span inner;

        if (!take_span(c, s, tree, "(values)", len_body, &inner))
            return false;
        if (!read_winperf_counter_values(c, &inner, tree, encoding, definitions))
            return false;
    }
    if (!skip(c, s, tree, "(bytes beyond the end)", ((byte_length - 4) > len_body) ? ((byte_length - 4) - len_body)
        : 0))
        return false;
    return true;
}

static bool
read_winperf_instance_body(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    bool is_whole = false, has_holder = false;
    int64_t name_offset = 0;
    int64_t name_length = 0;

    if (!read_number(c, s, tree, encoding, hf_winperf_instance_parent_object_title_index, 4, false, NULL))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_instance_parent_object_instance, 4, false, NULL))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_instance_unique_id, 4, true, NULL))
        goto later;
    append_special(c, specials_7);
    if (!read_number(c, s, tree, encoding, hf_winperf_instance_name_offset, 4, false, &name_offset))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_instance_name_length, 4, false, &name_length))
        goto later;
    s->at = s->stop;
    has_holder = true;
    is_whole = true;
later:
    if (!is_whole && !has_holder)
        return false;
    if (name_length != 0) {
        const int before = s->at;

        if (!move_to(c, s, tree, "(name)", name_offset - 4))
            return false;
        if (!read_text(c, s, tree, encoding, hf_winperf_instance_name, PCQ_CODE_PAGE, name_length))
            return false;
        s->at = before;
    }
    return is_whole;
}

static bool
read_winperf_instance(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, wmem_array_t *definitions,
    bool is_last)
{
    int64_t byte_length = 0;

    if (!read_number(c, s, tree, encoding, hf_winperf_instance_byte_length, 4, false, &byte_length))
        return false;
    if (byte_length < 24) {
        damaged(c, s, tree, c->item, "ByteLength: %" PRIu64 " is below 24", c->raw);
        return false;
    }
    {
        pcq_span inner;
        pcq_node node;
        bool is_read;

        if (!take_span(c, s, tree, "PERF_INSTANCE_DEFINITION", byte_length - 4, &inner))
            return false;
        node = open_node(tree, hf_winperf_instance_definition, ett_winperf_instance_definition, &inner, -1);
        is_read = read_winperf_instance_body(c, &inner, node.tree, encoding);
        close_node(&node, &inner);
        if (!is_read)
            return false;
    }
    {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_winperf_instance_counter_block, ett_winperf_instance_counter_block, s, -1);
        is_read = read_winperf_counter_block(c, s, node.tree, encoding, definitions, is_last);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    return true;
}

static bool
read_winperf_object_body(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    int64_t definition_length = 0;
    int64_t header_length = 0;
    int64_t num_counters = 0;
    int64_t num_instances = 0;
    int64_t code_page = 0;
    wmem_array_t *counters = wmem_array_new(c->pinfo->pool, sizeof (struct winperf_counter_definition));

    if (!read_number(c, s, tree, encoding, hf_winperf_object_definition_length, 4, false, &definition_length))
        return false;
    if (definition_length < 64) {
        damaged(c, s, tree, c->item, "DefinitionLength: %" PRIu64 " is below 64", c->raw);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_winperf_object_header_length, 4, false, &header_length))
        return false;
    if (header_length < 64) {
        damaged(c, s, tree, c->item, "HeaderLength: %" PRIu64 " is below 64", c->raw);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_winperf_object_name_title_index, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_object_name_title, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_object_help_title_index, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_object_help_title, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_object_detail_level, 4, false, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_object_num_counters, 4, false, &num_counters))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_object_default_counter, 4, true, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_object_num_instances, 4, true, &num_instances))
        return false;
    append_special(c, specials_6);
    if (num_instances < -3) {
        damaged(c, s, tree, c->item, "NumInstances: %" PRId64 " is below -3", num_instances);
        return false;
    }
    if (!read_number(c, s, tree, encoding, hf_winperf_object_code_page, 4, false, &code_page))
        return false;
    c->code_page = code_page;
    if (!read_number(c, s, tree, encoding, hf_winperf_object_perf_time, 8, true, NULL))
        return false;
    if (!read_number(c, s, tree, encoding, hf_winperf_object_perf_freq, 8, true, NULL))
        return false;
    if (!skip(c, s, tree, "(rest of the header)", header_length - 64))
        return false;
    for (int64_t i = 0; i < num_counters; i++) {
        pcq_node node;
        bool is_read;
        struct winperf_counter_definition one = { 0 };

        node = open_node(tree, hf_winperf_object_counters, ett_winperf_object_counters, s, i);
        is_read = read_winperf_counter_definition(c, s, node.tree, encoding, &one);
        close_node(&node, s);
        if (!is_read)
            return false;
        wmem_array_append_one(counters, one);
    }
    if (!skip(c, s, tree, "(rest of the definitions)", (definition_length - 4) - position(s)))
        return false;
    if (num_instances == -1) {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_winperf_object_counter_block, ett_winperf_object_counter_block, s, -1);
        is_read = read_winperf_counter_block(c, s, node.tree, encoding, counters, true);
        close_node(&node, s);
        if (!is_read)
            return false;
    }
    if (num_instances >= 0) {
        for (int64_t i = 0; i < num_instances; i++) {
            pcq_node node;
            bool is_read;

            node = open_node(tree, hf_winperf_object_instances, ett_winperf_object_instances, s, i);
            is_read = read_winperf_instance(c, s, node.tree, encoding, counters, i == (num_instances - 1));
            close_node(&node, s);
            if (!is_read)
                return false;
        }
    }
    s->at = s->stop;
    return true;
}

static bool
read_winperf_perf_object(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding)
{
    bool is_whole = false, has_holder = false;
    int64_t total_byte_length = 0;
    int64_t ofs_body = 0;
    int64_t len_body = 0;

    if (!read_number(c, s, tree, encoding, hf_winperf_object_total_byte_length, 4, false, &total_byte_length))
        goto later;
    if (total_byte_length < 64) {
        damaged(c, s, tree, c->item, "TotalByteLength: %" PRIu64 " is below 64", c->raw);
        goto later;
    }
    ofs_body = position(s);
    len_body = (((total_byte_length - 4) < (size_of(s) - ofs_body)) ? (total_byte_length - 4)
        : (size_of(s) - ofs_body));
    if (!skip(c, s, tree, "(bytes of the object)", len_body))
        goto later;
    has_holder = true;
    if (!skip(c, s, tree, "(bytes beyond the end)", (total_byte_length - 4) - len_body))
        goto later;
    is_whole = true;
later:
    if (!is_whole && !has_holder)
        return false;
    {
        const int before = s->at;

        if (!move_to(c, s, tree, "(object)", ofs_body))
            return false;
        {
            pcq_span inner;
            pcq_node node;
            bool is_read;

            if (!take_span(c, s, tree, "(object)", len_body, &inner))
                return false;
            node = open_node(tree, hf_winperf_object_body, ett_winperf_object_body, &inner, -1);
            is_read = read_winperf_object_body(c, &inner, node.tree, encoding);
            close_node(&node, &inner);
            (void)is_read;
        }
        s->at = before;
    }
    return is_whole;
}

static bool
read_winperf(pcq_context *c, pcq_span *s, proto_tree *tree, bool big_endian)
{
    const unsigned encoding = big_endian ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN;
    bool is_whole = false, has_holder = false;
    int64_t total_byte_length = 0;
    int64_t header_length = 0;
    int64_t num_object_types = 0;
    int64_t system_name_length = 0;
    int64_t system_name_offset = 0;

    if (!read_text(c, s, tree, encoding, hf_winperf_signature, PCQ_UTF16, 8))
        goto later;
    if (tvb_memeql(s->tvb, s->at - 8, (const uint8_t *)"\120\000\105\000\122\000\106\000", 8) != 0
        && tvb_memeql(s->tvb, s->at - 8, (const uint8_t *)"\000\120\000\105\000\122\000\106", 8) != 0) {
        damaged(c, s, tree, c->item, "Signature: not allowed here");
        goto later;
    }
    if (!read_number(c, s, tree, encoding, hf_winperf_little_endian, 4, false, NULL))
        goto later;
    append_special(c, specials_5);
    if (!read_number(c, s, tree, encoding, hf_winperf_version, 4, false, NULL))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_revision, 4, false, NULL))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_total_byte_length, 4, false, &total_byte_length))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_header_length, 4, false, &header_length))
        goto later;
    if (header_length < 88) {
        damaged(c, s, tree, c->item, "HeaderLength: %" PRIu64 " is below 88", c->raw);
        goto later;
    }
    if (!read_number(c, s, tree, encoding, hf_winperf_num_object_types, 4, false, &num_object_types))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_default_object, 4, true, NULL))
        goto later;
    {
        pcq_node node;
        bool is_read;
        struct winperf_systemtime one = { 0 };

        node = open_node(tree, hf_winperf_system_time, ett_winperf_system_time, s, -1);
        is_read = read_winperf_systemtime(c, s, node.tree, encoding, &one);
        close_node(&node, s);
        if (!is_read)
            goto later;
        proto_item_append_text(node.item, ": %04d-%02d-%02d %02d:%02d:%02d.%03d UTC", (int)one.year, (int)one.month,
            (int)one.day, (int)one.hour, (int)one.minute, (int)one.second, (int)one.milliseconds);
    }
    if (!skip(c, s, tree, "(alignment)", 4))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_perf_time, 8, true, NULL))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_perf_freq, 8, true, NULL))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_perf_time_100ns, 8, true, NULL))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_system_name_length, 4, false, &system_name_length))
        goto later;
    if (!read_number(c, s, tree, encoding, hf_winperf_system_name_offset, 4, false, &system_name_offset))
        goto later;
    if (!((system_name_length == 0) || ((system_name_offset + system_name_length) <= size_of(s)))) {
        damaged(c, s, tree, c->item, "SystemNameOffset: %" PRIu64 " is not allowed here", c->raw);
        goto later;
    }
    if (!skip(c, s, tree, "(rest of the header, with the name)", header_length - 88))
        goto later;
    has_holder = true;
    for (int64_t i = 0; i < num_object_types; i++) {
        pcq_node node;
        bool is_read;

        node = open_node(tree, hf_winperf_objects, ett_winperf_objects, s, i);
        is_read = read_winperf_perf_object(c, s, node.tree, encoding);
        close_node(&node, s);
        if (!is_read)
            goto later;
    }
    s->at = s->stop;
    if (!skip(c, s, tree, "(bytes beyond the end)", (total_byte_length > size_of(s)) ? (total_byte_length - size_of(s))
        : 0))
        goto later;
    is_whole = true;
later:
    if (!is_whole && !has_holder)
        return false;
    if (system_name_length != 0) {
        const int before = s->at;

        if (!move_to(c, s, tree, "(system name)", system_name_offset))
            return false;
        if (!read_text(c, s, tree, encoding, hf_winperf_system_name, PCQ_UTF16, system_name_length))
            return false;
        s->at = before;
    }
    return is_whole;
}

static bool
read_name_table_entry(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding _U_, struct name_table_entry *o)
{
    if (!read_terminated(c, s, tree, hf_winperf_name_table_entry_index, true, &o->index))
        return false;
    if (o->index != 0) {
        if (!read_terminated(c, s, tree, hf_winperf_name_table_entry_text, true, NULL))
            return false;
    }
    return true;
}

static bool
read_name_table(pcq_context *c, pcq_span *s, proto_tree *tree)
{
    const unsigned encoding = ENC_LITTLE_ENDIAN;

    if (!is_at_end(s)) {
        for (int64_t i = 0; true; i++) {
            pcq_node node;
            bool is_read;
            struct name_table_entry one = { 0 };

            node = open_node(tree, hf_winperf_name_table_entries, ett_winperf_name_table_entries, s, i);
            is_read = read_name_table_entry(c, s, node.tree, encoding, &one);
            close_node(&node, s);
            if (!is_read)
                return false;
            if ((one.index == 0) || is_at_end(s))
                break;
        }
    }
    s->at = s->stop;
    return true;
}


/* How many offsets of a table of strings, counted from `base`, lead to where the headers or a string just ended. */
static uint32_t
leading(const pcq_span *s, int64_t head, uint32_t count, int64_t base)
{
    uint32_t found = 0, index;

    for (index = 0; index < count; index++) {
        const uint32_t offset = tvb_get_letohl(s->tvb, s->start + 12 + 8 * (int)index);
        const int64_t at = base + offset;

        if (offset == UINT32_MAX || at + 2 > size_of(s))
            continue;
        if (at == head || (at > head && at % 2 == 0 && tvb_get_ntohs(s->tvb, s->start + (int)at - 2) == 0))
            found++;
    }
    return found;
}

/*
 * What the offsets of a table of strings count from. [MS-PCQ] section 2.2.4.4 says the end of the headers, perflib.h of
 * the Windows SDK the start of the block: the end of the headers where more of the offsets fit.
 */
static int64_t
string_base(const pcq_span *s)
{
    uint32_t count;
    int64_t head;

    if (size_of(s) < 8)
        return 0;
    count = tvb_get_letohl(s->tvb, s->start + 4);
    head = 8 + 8 * (int64_t)count;
    if (head > size_of(s))
        return MIN(head, (int64_t)UINT32_MAX);
    return leading(s, head, count, head) > leading(s, head, count, 0) ? head : 0;
}

/* Where values that begin at `at` end; -1 where they do not fit. */
static int64_t
values_end(const pcq_span *s, int64_t at, uint32_t count)
{
    uint32_t index;

    for (index = 0; index < count; index++) {
        uint32_t held, size;

        if (at < 0 || at + 8 > s->stop)
            return -1;
        held = tvb_get_letohl(s->tvb, (int)at);
        size = tvb_get_letohl(s->tvb, (int)at + 4);
        if (size < 8 + (uint64_t)held || at + size > s->stop)
            return -1;
        at += size;
    }
    return at;
}

/* Bytes left when the values of a block are read from `at` on; -1 where they cannot be. */
static int64_t
left_over(const pcq_span *s, int64_t at, bool has_instances, uint32_t count)
{
    uint32_t instances, index;
    int64_t place;

    if (!has_instances) {
        place = values_end(s, at, count);
        return place < 0 ? -1 : s->stop - place;
    }
    if (at + 8 > s->stop)
        return -1;
    place = at + 8;
    instances = tvb_get_letohl(s->tvb, (int)at + 4);
    for (index = 0; index < instances; index++) {
        uint32_t size;

        if (place < 0 || place + 8 > s->stop)
            return -1;
        size = tvb_get_letohl(s->tvb, (int)place);
        if (size < 8 || place + size > s->stop)
            return -1;
        place = values_end(s, place + size, count);
    }
    return place < 0 ? -1 : s->stop - place;
}

/* The bytes behind the ids of counters of one block, `block` without its header, that no size counts: 0 or 4. */
static uint8_t
padding(const pcq_span *s, const pcq_span *block, bool has_instances)
{
    const uint32_t size = tvb_get_letohl(block->tvb, block->start);
    const uint32_t count = tvb_get_letohl(block->tvb, block->start + 4);
    const int64_t after = block->start + (int64_t)size;
    int64_t as_stated, padded;

    if ((size % 8 == 0 && (after - s->start) % 8 == 0) || size < 8 || after > block->stop)
        return 0;
    as_stated = left_over(block, after, has_instances, count);
    if (as_stated == 0)
        return 0;
    padded = left_over(block, after + 4, has_instances, count);
    if (padded == 0)
        return 4;
    if (as_stated > 0 && as_stated < 8)
        return 0;
    return padded > 0 && padded < 8 ? 4 : 0;
}

/* Types of blocks that begin with the ids of their counters */
#define PERF_MULTI_COUNTERS 2
#define PERF_COUNTERSET     6

/* Of each block of performance data, the bytes behind the ids of its counters that no size counts. */
static wmem_array_t *
paddings(pcq_context *c, const pcq_span *s)
{
    wmem_array_t *found = wmem_array_new(c->pinfo->pool, sizeof (uint8_t));
    uint32_t blocks, index;
    pcq_span block = *s;
    int64_t at = s->start + (int64_t)48;

    if (size_of(s) < 48)
        return found;
    blocks = tvb_get_letohl(s->tvb, s->start + 4);
    for (index = 0; index < blocks && at + 16 <= s->stop; index++) {
        const uint32_t kind = tvb_get_letohl(s->tvb, (int)at + 4);
        const uint32_t size = tvb_get_letohl(s->tvb, (int)at + 8);
        uint8_t uncounted = 0;

        if (size < 16 || at + size > s->stop)
            break;
        block.start = (int)at + 16;
        block.stop = (int)(at + size);
        if ((kind == PERF_MULTI_COUNTERS || kind == PERF_COUNTERSET) && size >= 24)
            uncounted = padding(s, &block, kind == PERF_COUNTERSET);
        wmem_array_append_one(found, uncounted);
        at += size;
    }
    return found;
}

static void
begin_stub(pcq_context *c, pcq_span *s, tvbuff_t *tvb, int offset, packet_info *pinfo, dcerpc_info *di, uint8_t *drep)
{
    memset(c, 0, sizeof *c);
    c->pinfo = pinfo;
    c->ndr64 = (di->call_data->flags & DCERPC_IS_NDR64) != 0;
    c->encoding = DREP_ENC_INTEGER(drep);
    c->big_endian = c->encoding == ENC_BIG_ENDIAN;
    c->payload_at = -1;
    s->tvb = tvb;
    s->start = s->at = offset;
    s->texts = 0;
    s->stop = (int)tvb_captured_length(tvb);
}

/* The buffer that QueryCounterSetRegistrationInfo returns, by the code that its request asked for. */
static void
read_registration(pcq_context *c, pcq_span *s, proto_tree *tree, int64_t request_code)
{
    switch (request_code) {
    case 1:
        read_ms_pcq_counterset_info(c, s, tree);
        break;
    case 2:
        read_ms_pcq_counter_info(c, s, tree);
        break;
    case 3:
    case 4:
    case 7:
    case 9:
        read_ms_pcq_string(c, s, tree);
        break;
    case 5:
    case 6:
    case 10:
        read_ms_pcq_string_table(c, s, tree, string_base(s));
        break;
    case 8:
        read_ms_pcq_provider_guid(c, s, tree);
        break;
    }
}

/* Reads what a stub carries. `asked` is what the request of a response asked for. */
static int
end_stub(pcq_context *c, pcq_span *s, proto_tree *tree, dcerpc_info *di, bool is_whole)
{
    const bool is_response = di->ptype == PDU_RESP;
    const unsigned opnum = di->call_data->opnum;
    proto_tree *below = c->payload_tree ? c->payload_tree : tree;
    pcq_span buffer = *s;

    if (!is_response)
        di->call_data->se_data = GUINT_TO_POINTER(is_whole ? (unsigned)c->request_code : 0);
    /* What comes with an error is not laid out as an answer is. */
    if (c->payload_at < 0 || (is_whole && c->status != 0))
        return is_whole ? s->at : s->stop;
    buffer.start = buffer.at = c->payload_at;
    buffer.stop = c->payload_at + c->payload_length;
    switch (opnum) {
    case 0:
        read_ms_pcq_guid_list(c, &buffer, below, c->big_endian);
        break;
    case 1:
        if (is_response)
            read_registration(c, &buffer, below, GPOINTER_TO_UINT(di->call_data->se_data));
        break;
    case 2:
        read_ms_pcq_instance_list(c, &buffer, below);
        break;
    case 5:
    case 7:
        read_ms_pcq_identifier_list(c, &buffer, below);
        break;
    case 6:
        read_ms_pcq_perf_data(c, &buffer, below, paddings(c, &buffer));
        break;
    }
    return is_whole ? s->at : s->stop;
}

static int
dissect_pcq_enumerate_counter_set_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_enumerate_counter_set_request(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_query_counter_set_registration_info_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_query_counter_set_registration_info_request(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_enumerate_counter_set_instances_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_enumerate_counter_set_instances_request(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_open_query_handle_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_open_query_handle_request(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_close_query_handle_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_close_query_handle_request(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_query_counter_info_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_query_counter_info_request(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_query_counter_data_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_query_counter_data_request(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_validate_counters_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_validate_counters_request(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_enumerate_counter_set_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_enumerate_counter_set_response(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_query_counter_set_registration_info_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_query_counter_set_registration_info_response(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_enumerate_counter_set_instances_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_enumerate_counter_set_instances_response(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_open_query_handle_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_open_query_handle_response(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_close_query_handle_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_close_query_handle_response(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_query_counter_info_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_query_counter_info_response(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_query_counter_data_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_query_counter_data_response(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static int
dissect_pcq_validate_counters_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
    dcerpc_info *di, uint8_t *drep)
{
    pcq_context context;
    pcq_span span;
    bool is_whole;

    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    is_whole = read_ms_pcq_stubs_validate_counters_response(&context, &span, tree, context.encoding);
    return end_stub(&context, &span, tree, di, is_whole);
}

static dcerpc_sub_dissector pcq_dissectors[] = {
    { 0, "PerflibV2EnumerateCounterSet",
      dissect_pcq_enumerate_counter_set_request,
      dissect_pcq_enumerate_counter_set_response },
    { 1, "PerflibV2QueryCounterSetRegistrationInfo",
      dissect_pcq_query_counter_set_registration_info_request,
      dissect_pcq_query_counter_set_registration_info_response },
    { 2, "PerflibV2EnumerateCounterSetInstances",
      dissect_pcq_enumerate_counter_set_instances_request,
      dissect_pcq_enumerate_counter_set_instances_response },
    { 3, "PerflibV2OpenQueryHandle",
      dissect_pcq_open_query_handle_request,
      dissect_pcq_open_query_handle_response },
    { 4, "PerflibV2CloseQueryHandle",
      dissect_pcq_close_query_handle_request,
      dissect_pcq_close_query_handle_response },
    { 5, "PerflibV2QueryCounterInfo",
      dissect_pcq_query_counter_info_request,
      dissect_pcq_query_counter_info_response },
    { 6, "PerflibV2QueryCounterData",
      dissect_pcq_query_counter_data_request,
      dissect_pcq_query_counter_data_response },
    { 7, "PerflibV2ValidateCounters",
      dissect_pcq_validate_counters_request,
      dissect_pcq_validate_counters_response },
    { 0, NULL, NULL, NULL }
};

/*
 * Performance data in winreg. The stubs of winreg are shown by its own dissector, whose functions are called first. The
 * buffer in a stub is shown in a tree of its own.
 */
static dcerpc_dissect_fnct_t *winreg_query_request;
static dcerpc_dissect_fnct_t *winreg_query_response;
static dcerpc_dissect_fnct_t *winreg_enum_request;
static dcerpc_dissect_fnct_t *winreg_enum_response;

#define WINREG_ENUM_VALUE   10
#define WINREG_QUERY_VALUE  17

/* The names of the values that calls asked for, by call. */
static wmem_map_t *value_names;

/* Whether a value holds the names or the help texts of counters: `Counter 009`, `Help 409`, `Explain 009`. */
static bool
is_name_table(const char *name)
{
    static const char *const begins[] = { "counter ", "help ", "explain " };
    unsigned at;

    for (at = 0; name && at < G_N_ELEMENTS(begins); at++) {
        if (g_ascii_strncasecmp(name, begins[at], strlen(begins[at])) == 0) {
            const char *language = name + strlen(begins[at]);

            return *language != '\0' && strpbrk(language, " \t\r\n\v\f") == NULL;
        }
    }
    return false;
}

static void
show_performance_data(pcq_context *c, pcq_span *s, proto_tree *tree, const char *name)
{
    static const uint8_t little[8] = { 'P', 0, 'E', 0, 'R', 0, 'F', 0 };
    static const uint8_t big[8] = { 0, 'P', 0, 'E', 0, 'R', 0, 'F' };
    pcq_span buffer = *s;
    proto_item *item;
    proto_tree *below;
    bool is_block;

    if (c->payload_at < 0)
        return;
    buffer.start = buffer.at = c->payload_at;
    buffer.stop = c->payload_at + c->payload_length;
    is_block = c->payload_length >= 8 &&
        (tvb_memeql(s->tvb, buffer.start, little, 8) == 0 || tvb_memeql(s->tvb, buffer.start, big, 8) == 0);
    if (!is_block && (c->status != 0 || !is_name_table(name)))
        return;
    item = proto_tree_add_item(proto_tree_get_root(tree), proto_winperf, s->tvb, buffer.start, c->payload_length,
        ENC_NA);
    below = proto_item_add_subtree(item, ett_winperf);
    c->is_silent = false;
    if (is_block) {
        /* The byte order by the signature, or by LittleEndian behind it */
        const bool is_big = tvb_memeql(s->tvb, buffer.start, big, 8) == 0 ||
            (c->payload_length >= 12 && tvb_get_ntohl(s->tvb, buffer.start + 8) == 0);

        read_winperf(c, &buffer, below, is_big);
    } else {
        read_name_table(c, &buffer, below);
    }
}

typedef bool (*winreg_reader)(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding);

static int
follow_winreg_call(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, dcerpc_info *di, uint8_t *drep,
    dcerpc_dissect_fnct_t *shows, winreg_reader reads)
{
    const char *name = NULL;
    pcq_context context;
    pcq_span span;
    bool is_whole;
    int end;

    end = shows(tvb, offset, pinfo, tree, di, drep);
    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    context.is_silent = true;
    is_whole = reads(&context, &span, NULL, context.encoding);
    if (context.name_length > 0 && is_whole) {
        bool has_end;
        const int length = wide_length(&span, context.name_at, context.name_length, &has_end);

        name = wide(&context, &span, context.name_at, length, context.big_endian);
    }
    if (di->ptype != PDU_RESP) {
        if (name && is_name_table(name))
            wmem_map_insert(value_names, di->call_data, wmem_strdup(wmem_file_scope(), name));
        return end;
    }
    if (!name)
        name = (const char *)wmem_map_lookup(value_names, di->call_data);
    if (!is_whole)
        context.status = 1;
    show_performance_data(&context, &span, tree, name);
    return end;
}

static int
dissect_winreg_query_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, dcerpc_info *di,
    uint8_t *drep)
{
    return follow_winreg_call(tvb, offset, pinfo, tree, di, drep, winreg_query_request,
        read_ms_rrp_stubs_base_reg_query_value_request);
}

static int
dissect_winreg_query_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, dcerpc_info *di,
    uint8_t *drep)
{
    return follow_winreg_call(tvb, offset, pinfo, tree, di, drep, winreg_query_response,
        read_ms_rrp_stubs_base_reg_query_value_response);
}

static int
dissect_winreg_enum_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, dcerpc_info *di,
    uint8_t *drep)
{
    return follow_winreg_call(tvb, offset, pinfo, tree, di, drep, winreg_enum_request,
        read_ms_rrp_stubs_base_reg_enum_value_request);
}

static int
dissect_winreg_enum_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, dcerpc_info *di,
    uint8_t *drep)
{
    return follow_winreg_call(tvb, offset, pinfo, tree, di, drep, winreg_enum_response,
        read_ms_rrp_stubs_base_reg_enum_value_response);
}

/* Puts our functions around those of winreg for the calls that read values. */
static void
follow_winreg(void)
{
    dcerpc_sub_dissector *known = dcerpc_get_proto_sub_dissector(&uuid_winreg, INTERFACE_VERSION);

    for (; known && known->name; known++) {
        if (known->num == WINREG_QUERY_VALUE) {
            winreg_query_request = known->dissect_rqst;
            winreg_query_response = known->dissect_resp;
            known->dissect_rqst = dissect_winreg_query_request;
            known->dissect_resp = dissect_winreg_query_response;
        } else if (known->num == WINREG_ENUM_VALUE) {
            winreg_enum_request = known->dissect_rqst;
            winreg_enum_response = known->dissect_resp;
            known->dissect_rqst = dissect_winreg_enum_request;
            known->dissect_resp = dissect_winreg_enum_response;
        }
    }
}

void
proto_register_pcq(void)
{
    static hf_register_info hf_pcq[] = {
        { &hf_pcq_close_query_handle_query_handle,
          { "phQuery", "pcq.close_query_handle.query_handle",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counter_aggregate_func,
          { "AggregateFunc", "pcq.counter.aggregate_func",
            FT_UINT32, BASE_DEC, VALS(names_0), 0, NULL, HFILL } },
        { &hf_pcq_counter_attributes,
          { "Attrib", "pcq.counter.attributes",
            FT_UINT64, BASE_HEX, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counter_base_counter_id,
          { "BaseCounterId", "pcq.counter.base_counter_id",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counter_default_scale,
          { "DefaultScale", "pcq.counter.default_scale",
            FT_INT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counter_detail_level,
          { "DetailLevel", "pcq.counter.detail_level",
            FT_UINT32, BASE_DEC, VALS(names_1), 0, NULL, HFILL } },
        { &hf_pcq_counter_id,
          { "CounterId", "pcq.counter.id",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counter_multi_id,
          { "MultiId", "pcq.counter.multi_id",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counter_perf_freq_id,
          { "PerfFreqId", "pcq.counter.perf_freq_id",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counter_perf_time_id,
          { "PerfTimeId", "pcq.counter.perf_time_id",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counter_reserved,
          { "Reserved", "pcq.counter.reserved",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counter_type,
          { "Type", "pcq.counter.type",
            FT_UINT32, BASE_HEX, VALS(names_2), 0, NULL, HFILL } },
        { &hf_pcq_counter_info_counter,
          { "_PERF_COUNTER_REG_INFO", "pcq.counter_info.counter",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counterset_counters,
          { "_PERF_COUNTER_REG_INFO", "pcq.counterset.counters",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counterset_detail_level,
          { "DetailLevel", "pcq.counterset.detail_level",
            FT_UINT32, BASE_DEC, VALS(names_1), 0, NULL, HFILL } },
        { &hf_pcq_counterset_guid,
          { "CounterSetGuid", "pcq.counterset.guid",
            FT_GUID, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counterset_instance_type,
          { "InstanceType", "pcq.counterset.instance_type",
            FT_UINT32, BASE_DEC, VALS(names_3), 0, NULL, HFILL } },
        { &hf_pcq_counterset_num_counters,
          { "NumCounters", "pcq.counterset.num_counters",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_counterset_type,
          { "CounterSetType", "pcq.counterset.type",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_guids,
          { "lpData", "pcq.enumerate_counter_set.guids",
            FT_GUID, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_in_size,
          { "dwInSize", "pcq.enumerate_counter_set.in_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_lp_data,
          { "lpData", "pcq.enumerate_counter_set.lp_data",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_lp_data_data,
          { "lpData", "pcq.enumerate_counter_set.lp_data.data",
            FT_BYTES, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_out_size,
          { "pdwOutSize", "pcq.enumerate_counter_set.out_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_rtn_size,
          { "pdwRtnSize", "pcq.enumerate_counter_set.rtn_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_instances_counterset_guid,
          { "CounterSetGuid", "pcq.enumerate_counter_set_instances.counterset_guid",
            FT_GUID, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_instances_in_size,
          { "dwInSize", "pcq.enumerate_counter_set_instances.in_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_instances_instances,
          { "_PERF_INSTANCE_HEADER", "pcq.enumerate_counter_set_instances.instances",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_instances_lp_data,
          { "lpData", "pcq.enumerate_counter_set_instances.lp_data",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_instances_lp_data_data,
          { "lpData", "pcq.enumerate_counter_set_instances.lp_data.data",
            FT_BYTES, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_instances_out_size,
          { "pdwOutSize", "pcq.enumerate_counter_set_instances.out_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_enumerate_counter_set_instances_rtn_size,
          { "pdwRtnSize", "pcq.enumerate_counter_set_instances.rtn_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_identifier_counter_id,
          { "CounterId", "pcq.identifier.counter_id",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_identifier_counterset_guid,
          { "CounterSetGuid", "pcq.identifier.counterset_guid",
            FT_GUID, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_identifier_index,
          { "Index", "pcq.identifier.index",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_identifier_instance_id,
          { "InstanceId", "pcq.identifier.instance_id",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_identifier_name,
          { "InstanceName", "pcq.identifier.name",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_identifier_reserved,
          { "Reserved", "pcq.identifier.reserved",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_identifier_size,
          { "Size", "pcq.identifier.size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_identifier_status,
          { "Status", "pcq.identifier.status",
            FT_UINT32, BASE_DEC, VALS(names_4), 0, NULL, HFILL } },
        { &hf_pcq_identifiers_identifiers,
          { "_PERF_COUNTER_IDENTIFIER", "pcq.identifiers.identifiers",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_instance_id,
          { "InstanceId", "pcq.instance.id",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_instance_name,
          { "InstanceName", "pcq.instance.name",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_instance_size,
          { "Size", "pcq.instance.size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_machine,
          { "szMachine", "pcq.machine",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_machine_pointer,
          { "(referent)", "pcq.machine.pointer",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_machine_string,
          { "(string)", "pcq.machine.string",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_machine_string_data,
          { "(string)", "pcq.machine.string.data",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_ndr_conformant_max_count,
          { "max_count", "pcq.ndr.conformant.max_count",
            FT_UINT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_ndr_conformant_varying_actual_count,
          { "actual_count", "pcq.ndr.conformant_varying.actual_count",
            FT_UINT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_ndr_conformant_varying_max_count,
          { "max_count", "pcq.ndr.conformant_varying.max_count",
            FT_UINT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_ndr_conformant_varying_offset,
          { "offset", "pcq.ndr.conformant_varying.offset",
            FT_UINT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_ndr_context_handle_attributes,
          { "context_handle_attributes", "pcq.ndr.context_handle.attributes",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_ndr_context_handle_uuid,
          { "context_handle_uuid", "pcq.ndr.context_handle.uuid",
            FT_GUID, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_ndr_pointer_referent,
          { "referent_id", "pcq.ndr.pointer.referent",
            FT_UINT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_open_query_handle_query_handle,
          { "phQuery", "pcq.open_query_handle.query_handle",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_opnum,
          { "opnum", "pcq.opnum",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_provider_guid,
          { "lpData", "pcq.provider.guid",
            FT_GUID, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_block_body,
          { "(data)", "pcq.query_counter_data.block.body",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_block_reserved,
          { "Reserved", "pcq.query_counter_data.block.reserved",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_block_size,
          { "dwSize", "pcq.query_counter_data.block.size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_block_status,
          { "dwStatus", "pcq.query_counter_data.block.status",
            FT_UINT32, BASE_DEC, VALS(names_4), 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_block_type,
          { "dwType", "pcq.query_counter_data.block.type",
            FT_UINT32, BASE_DEC, VALS(names_5), 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_blocks,
          { "_PERF_COUNTER_HEADER", "pcq.query_counter_data.blocks",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_counter_data_data_size,
          { "dwDataSize", "pcq.query_counter_data.counter_data.data_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_counter_data_size,
          { "dwSize", "pcq.query_counter_data.counter_data.size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_counter_data_value,
          { "(data)", "pcq.query_counter_data.counter_data.value",
            FT_UINT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_counter_data_value_text,
          { "(data)", "pcq.query_counter_data.counter_data.value.text",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_counter_ids_counter_ids,
          { "CounterId", "pcq.query_counter_data.counter_ids.counter_ids",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_counter_ids_num_counters,
          { "dwCounters", "pcq.query_counter_data.counter_ids.num_counters",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_counter_ids_size,
          { "dwSize", "pcq.query_counter_data.counter_ids.size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_counterset_counters,
          { "_PERF_MULTI_COUNTERS", "pcq.query_counter_data.counterset.counters",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_counterset_instances,
          { "_PERF_MULTI_INSTANCES", "pcq.query_counter_data.counterset.instances",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_in_size,
          { "dwInSize", "pcq.query_counter_data.in_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_instance_data,
          { "_PERF_COUNTER_DATA", "pcq.query_counter_data.instance.data",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_instance_header,
          { "_PERF_INSTANCE_HEADER", "pcq.query_counter_data.instance.header",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_instances_instances,
          { "(instance data)", "pcq.query_counter_data.instances.instances",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_instances_num_instances,
          { "dwInstances", "pcq.query_counter_data.instances.num_instances",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_instances_total_size,
          { "dwTotalSize", "pcq.query_counter_data.instances.total_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_lp_data,
          { "lpData", "pcq.query_counter_data.lp_data",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_lp_data_data,
          { "lpData", "pcq.query_counter_data.lp_data.data",
            FT_BYTES, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_multi_counters_counters,
          { "_PERF_MULTI_COUNTERS", "pcq.query_counter_data.multi_counters.counters",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_multi_counters_data,
          { "_PERF_COUNTER_DATA", "pcq.query_counter_data.multi_counters.data",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_multi_instances_instances,
          { "_PERF_MULTI_INSTANCES", "pcq.query_counter_data.multi_instances.instances",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_num_blocks,
          { "dwNumCounter", "pcq.query_counter_data.num_blocks",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_out_size,
          { "pdwOutSize", "pcq.query_counter_data.out_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_perf_freq,
          { "PerfFreq", "pcq.query_counter_data.perf_freq",
            FT_UINT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_perf_time_100ns,
          { "PerfTime100NSec", "pcq.query_counter_data.perf_time_100ns",
            FT_ABSOLUTE_TIME, ABSOLUTE_TIME_UTC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_perf_time_stamp,
          { "PerfTimeStamp", "pcq.query_counter_data.perf_time_stamp",
            FT_UINT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_query_handle,
          { "hQuery", "pcq.query_counter_data.query_handle",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_rtn_size,
          { "pdwRtnSize", "pcq.query_counter_data.rtn_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_single_counter_data,
          { "_PERF_COUNTER_DATA", "pcq.query_counter_data.single_counter.data",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_system_time,
          { "SystemTime", "pcq.query_counter_data.system_time",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_data_total_size,
          { "dwTotalSize", "pcq.query_counter_data.total_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_info_in_size,
          { "dwInSize", "pcq.query_counter_info.in_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_info_lp_data,
          { "lpData", "pcq.query_counter_info.lp_data",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_info_lp_data_data,
          { "lpData", "pcq.query_counter_info.lp_data.data",
            FT_BYTES, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_info_out_size,
          { "pdwOutSize", "pcq.query_counter_info.out_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_info_query_handle,
          { "hQuery", "pcq.query_counter_info.query_handle",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_info_rtn_size,
          { "pdwRtnSize", "pcq.query_counter_info.rtn_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_set_registration_info_counterset_guid,
          { "CounterSetGuid", "pcq.query_counter_set_registration_info.counterset_guid",
            FT_GUID, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_set_registration_info_in_size,
          { "dwInSize", "pcq.query_counter_set_registration_info.in_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_set_registration_info_lp_data,
          { "lpData", "pcq.query_counter_set_registration_info.lp_data",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_set_registration_info_lp_data_data,
          { "lpData", "pcq.query_counter_set_registration_info.lp_data.data",
            FT_BYTES, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_set_registration_info_out_size,
          { "pdwOutSize", "pcq.query_counter_set_registration_info.out_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_set_registration_info_request_code,
          { "RequestCode", "pcq.query_counter_set_registration_info.request_code",
            FT_UINT32, BASE_DEC, VALS(names_6), 0, NULL, HFILL } },
        { &hf_pcq_query_counter_set_registration_info_request_lcid,
          { "RequestLCID", "pcq.query_counter_set_registration_info.request_lcid",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_query_counter_set_registration_info_rtn_size,
          { "pdwRtnSize", "pcq.query_counter_set_registration_info.rtn_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_registration_string,
          { "lpData", "pcq.registration.string",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_status,
          { "(return value)", "pcq.status",
            FT_UINT32, BASE_DEC, VALS(names_4), 0, NULL, HFILL } },
        { &hf_pcq_string_table_counter_string_counter_id,
          { "dwCounterId", "pcq.string_table.counter_string.counter_id",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_string_table_counter_string_ofs_string,
          { "dwOffset", "pcq.string_table.counter_string.ofs_string",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_string_table_counter_string_string,
          { "(string)", "pcq.string_table.counter_string.string",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_string_table_num_counters,
          { "dwCounters", "pcq.string_table.num_counters",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_string_table_strings,
          { "_STRING_COUNTER_HEADER", "pcq.string_table.strings",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_string_table_total_size,
          { "dwSize", "pcq.string_table.total_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_systemtime_day,
          { "wDay", "pcq.systemtime.day",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_systemtime_day_of_week,
          { "wDayOfWeek", "pcq.systemtime.day_of_week",
            FT_UINT16, BASE_DEC, VALS(names_7), 0, NULL, HFILL } },
        { &hf_pcq_systemtime_hour,
          { "wHour", "pcq.systemtime.hour",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_systemtime_milliseconds,
          { "wMilliseconds", "pcq.systemtime.milliseconds",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_systemtime_minute,
          { "wMinute", "pcq.systemtime.minute",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_systemtime_month,
          { "wMonth", "pcq.systemtime.month",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_systemtime_second,
          { "wSecond", "pcq.systemtime.second",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_systemtime_year,
          { "wYear", "pcq.systemtime.year",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_validate_counters_add,
          { "dwAdd", "pcq.validate_counters.add",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_validate_counters_in_size,
          { "dwInSize", "pcq.validate_counters.in_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_pcq_validate_counters_lp_data,
          { "lpData", "pcq.validate_counters.lp_data",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_validate_counters_lp_data_data,
          { "lpData", "pcq.validate_counters.lp_data.data",
            FT_BYTES, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_pcq_validate_counters_query_handle,
          { "hQuery", "pcq.validate_counters.query_handle",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
    };
    static hf_register_info hf_winperf[] = {
        { &hf_winperf_counter_block_byte_length,
          { "ByteLength", "winperf.counter_block.byte_length",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_block_value,
          { "(value)", "winperf.counter_block.value",
            FT_UINT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_block_value_bytes,
          { "(value)", "winperf.counter_block.value.bytes",
            FT_BYTES, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_block_value_text,
          { "(value)", "winperf.counter_block.value.text",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_definition_byte_length,
          { "ByteLength", "winperf.counter_definition.byte_length",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_definition_counter_help_title,
          { "CounterHelpTitle", "winperf.counter_definition.counter_help_title",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_definition_counter_help_title_index,
          { "CounterHelpTitleIndex", "winperf.counter_definition.counter_help_title_index",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_definition_counter_name_title,
          { "CounterNameTitle", "winperf.counter_definition.counter_name_title",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_definition_counter_name_title_index,
          { "CounterNameTitleIndex", "winperf.counter_definition.counter_name_title_index",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_definition_counter_offset,
          { "CounterOffset", "winperf.counter_definition.counter_offset",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_definition_counter_size,
          { "CounterSize", "winperf.counter_definition.counter_size",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_definition_counter_type,
          { "CounterType", "winperf.counter_definition.counter_type",
            FT_UINT32, BASE_DEC, VALS(names_2), 0, NULL, HFILL } },
        { &hf_winperf_counter_definition_default_scale,
          { "DefaultScale", "winperf.counter_definition.default_scale",
            FT_INT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_counter_definition_detail_level,
          { "DetailLevel", "winperf.counter_definition.detail_level",
            FT_UINT32, BASE_DEC, VALS(names_1), 0, NULL, HFILL } },
        { &hf_winperf_default_object,
          { "DefaultObject", "winperf.default_object",
            FT_INT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_header_length,
          { "HeaderLength", "winperf.header_length",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_instance_byte_length,
          { "ByteLength", "winperf.instance.byte_length",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_instance_counter_block,
          { "PERF_COUNTER_BLOCK", "winperf.instance.counter_block",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_instance_definition,
          { "PERF_INSTANCE_DEFINITION", "winperf.instance.definition",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_instance_name,
          { "(name)", "winperf.instance.name",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_instance_name_length,
          { "NameLength", "winperf.instance.name_length",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_instance_name_offset,
          { "NameOffset", "winperf.instance.name_offset",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_instance_parent_object_instance,
          { "ParentObjectInstance", "winperf.instance.parent_object_instance",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_instance_parent_object_title_index,
          { "ParentObjectTitleIndex", "winperf.instance.parent_object_title_index",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_instance_unique_id,
          { "UniqueID", "winperf.instance.unique_id",
            FT_INT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_little_endian,
          { "LittleEndian", "winperf.little_endian",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_name_table_entries,
          { "(pair)", "winperf.name_table.entries",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_name_table_entry_index,
          { "(index)", "winperf.name_table.entry.index",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_name_table_entry_text,
          { "(text)", "winperf.name_table.entry.text",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_num_object_types,
          { "NumObjectTypes", "winperf.num_object_types",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_body,
          { "(object)", "winperf.object.body",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_code_page,
          { "CodePage", "winperf.object.code_page",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_counter_block,
          { "PERF_COUNTER_BLOCK", "winperf.object.counter_block",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_counters,
          { "PERF_COUNTER_DEFINITION", "winperf.object.counters",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_default_counter,
          { "DefaultCounter", "winperf.object.default_counter",
            FT_INT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_definition_length,
          { "DefinitionLength", "winperf.object.definition_length",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_detail_level,
          { "DetailLevel", "winperf.object.detail_level",
            FT_UINT32, BASE_DEC, VALS(names_1), 0, NULL, HFILL } },
        { &hf_winperf_object_header_length,
          { "HeaderLength", "winperf.object.header_length",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_help_title,
          { "ObjectHelpTitle", "winperf.object.help_title",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_help_title_index,
          { "ObjectHelpTitleIndex", "winperf.object.help_title_index",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_instances,
          { "PERF_INSTANCE_DEFINITION", "winperf.object.instances",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_name_title,
          { "ObjectNameTitle", "winperf.object.name_title",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_name_title_index,
          { "ObjectNameTitleIndex", "winperf.object.name_title_index",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_num_counters,
          { "NumCounters", "winperf.object.num_counters",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_num_instances,
          { "NumInstances", "winperf.object.num_instances",
            FT_INT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_perf_freq,
          { "PerfFreq", "winperf.object.perf_freq",
            FT_INT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_perf_time,
          { "PerfTime", "winperf.object.perf_time",
            FT_INT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_object_total_byte_length,
          { "TotalByteLength", "winperf.object.total_byte_length",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_objects,
          { "PERF_OBJECT_TYPE", "winperf.objects",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_perf_freq,
          { "PerfFreq", "winperf.perf_freq",
            FT_INT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_perf_time,
          { "PerfTime", "winperf.perf_time",
            FT_INT64, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_perf_time_100ns,
          { "PerfTime100nSec", "winperf.perf_time_100ns",
            FT_ABSOLUTE_TIME, ABSOLUTE_TIME_UTC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_revision,
          { "Revision", "winperf.revision",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_signature,
          { "Signature", "winperf.signature",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_system_name,
          { "(system name)", "winperf.system_name",
            FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_system_name_length,
          { "SystemNameLength", "winperf.system_name_length",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_system_name_offset,
          { "SystemNameOffset", "winperf.system_name_offset",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_system_time,
          { "SystemTime", "winperf.system_time",
            FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL } },
        { &hf_winperf_systemtime_day,
          { "wDay", "winperf.systemtime.day",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_systemtime_day_of_week,
          { "wDayOfWeek", "winperf.systemtime.day_of_week",
            FT_UINT16, BASE_DEC, VALS(names_7), 0, NULL, HFILL } },
        { &hf_winperf_systemtime_hour,
          { "wHour", "winperf.systemtime.hour",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_systemtime_milliseconds,
          { "wMilliseconds", "winperf.systemtime.milliseconds",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_systemtime_minute,
          { "wMinute", "winperf.systemtime.minute",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_systemtime_month,
          { "wMonth", "winperf.systemtime.month",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_systemtime_second,
          { "wSecond", "winperf.systemtime.second",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_systemtime_year,
          { "wYear", "winperf.systemtime.year",
            FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_total_byte_length,
          { "TotalByteLength", "winperf.total_byte_length",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
        { &hf_winperf_version,
          { "Version", "winperf.version",
            FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL } },
    };
    static int *ett[] = {
        &ett_pcq,
        &ett_winperf,
        &ett_pcq_close_query_handle_query_handle,
        &ett_pcq_counter_info_counter,
        &ett_pcq_counterset_counters,
        &ett_pcq_enumerate_counter_set_lp_data,
        &ett_pcq_enumerate_counter_set_instances_instances,
        &ett_pcq_enumerate_counter_set_instances_lp_data,
        &ett_pcq_identifiers_identifiers,
        &ett_pcq_machine,
        &ett_pcq_machine_pointer,
        &ett_pcq_machine_string,
        &ett_pcq_open_query_handle_query_handle,
        &ett_pcq_query_counter_data_block_body,
        &ett_pcq_query_counter_data_blocks,
        &ett_pcq_query_counter_data_counterset_counters,
        &ett_pcq_query_counter_data_counterset_instances,
        &ett_pcq_query_counter_data_instance_data,
        &ett_pcq_query_counter_data_instance_header,
        &ett_pcq_query_counter_data_instances_instances,
        &ett_pcq_query_counter_data_lp_data,
        &ett_pcq_query_counter_data_multi_counters_counters,
        &ett_pcq_query_counter_data_multi_counters_data,
        &ett_pcq_query_counter_data_multi_instances_instances,
        &ett_pcq_query_counter_data_query_handle,
        &ett_pcq_query_counter_data_single_counter_data,
        &ett_pcq_query_counter_data_system_time,
        &ett_pcq_query_counter_info_lp_data,
        &ett_pcq_query_counter_info_query_handle,
        &ett_pcq_query_counter_set_registration_info_lp_data,
        &ett_pcq_string_table_strings,
        &ett_pcq_validate_counters_lp_data,
        &ett_pcq_validate_counters_query_handle,
        &ett_winperf_instance_counter_block,
        &ett_winperf_instance_definition,
        &ett_winperf_name_table_entries,
        &ett_winperf_object_body,
        &ett_winperf_object_counter_block,
        &ett_winperf_object_counters,
        &ett_winperf_object_instances,
        &ett_winperf_objects,
        &ett_winperf_system_time,
        &ett_pcq_enumerate_counter_set_instances_lp_data_data,
        &ett_pcq_enumerate_counter_set_lp_data_data,
        &ett_pcq_query_counter_data_lp_data_data,
        &ett_pcq_query_counter_info_lp_data_data,
        &ett_pcq_query_counter_set_registration_info_lp_data_data,
        &ett_pcq_validate_counters_lp_data_data,
    };
    static ei_register_info ei[] = {
        { &ei_pcq_damaged, { "pcq.damaged", PI_MALFORMED, PI_ERROR, "Damaged performance data", EXPFILL } },
    };

    proto_pcq = proto_register_protocol("Performance Counter Query Protocol", "PCQ", "pcq");
    proto_winperf = proto_register_protocol("Performance data of HKEY_PERFORMANCE_DATA", "WINPERF", "winperf");
    proto_register_field_array(proto_pcq, hf_pcq, array_length(hf_pcq));
    proto_register_field_array(proto_winperf, hf_winperf, array_length(hf_winperf));
    proto_register_subtree_array(ett, array_length(ett));
    expert_register_field_array(expert_register_protocol(proto_pcq), ei, array_length(ei));
    value_names = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_direct_hash, g_direct_equal);
}

void
proto_reg_handoff_pcq(void)
{
    dcerpc_init_uuid(proto_pcq, ett_pcq, &uuid_pcq, INTERFACE_VERSION, pcq_dissectors, hf_pcq_opnum);
    follow_winreg();
}

/*
 * Editor modelines  -  https://www.wireshark.org/tools/modelines.html
 *
 * Local variables:
 * c-basic-offset: 4
 * tab-width: 8
 * indent-tabs-mode: nil
 * End:
 *
 * vi: set shiftwidth=4 tabstop=8 expandtab:
 * :indentSize=4:tabSize=8:noTabs=true:
 */
