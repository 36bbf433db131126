-- Wireshark dissector of the Performance Counter Query Protocol ([MS-PCQ], PerflibV2) and of the performance data that
-- BaseRegQueryValue and BaseRegEnumValue read from HKEY_PERFORMANCE_DATA (winperf.h).
--
-- Written by wireshark/generate.py of pcq-analyzer from the descriptions in ksy/; change those, not this file.
-- Copyright (C) 2026 the authors of pcq-analyzer. SPDX-License-Identifier: GPL-2.0-or-later
--
-- To use it, copy this file into the folder of personal Lua plugins (Help > About Wireshark > Folders), or start
--     wireshark -X lua_script:pcq.lua capture.pcapng        tshark -X lua_script:pcq.lua -V -r capture.pcapng
-- Sealed calls are shown where Wireshark decrypts them (preferences of NTLMSSP, KRB5 and SMB2). Some filters:
--     pcq.query_counter_data.block.type == 4        blocks with one counter of several instances
--     pcq.status != 0                               calls that failed
--     winperf.instance.name contains "lsass"        reads that show a process
--     _ws.expert && (pcq || winperf)                damaged buffers
-- Wireshark 4.0 or later.

local pcq = Proto("pcq", "Performance Counter Query Protocol")
local winperf = Proto("winperf", "Performance data of HKEY_PERFORMANCE_DATA")
local experts = {
  damaged = ProtoExpert.new("pcq.damaged", "Damaged performance data",
    expert.group.MALFORMED, expert.severity.ERROR),
}
pcq.experts = { experts.damaged }

local methods = { [0] = "PerflibV2EnumerateCounterSet", [1] = "PerflibV2QueryCounterSetRegistrationInfo", [2] = "PerflibV2EnumerateCounterSetInstances", [3] = "PerflibV2OpenQueryHandle", [4] = "PerflibV2CloseQueryHandle", [5] = "PerflibV2QueryCounterInfo", [6] = "PerflibV2QueryCounterData", [7] = "PerflibV2ValidateCounters" }

local names_0 = { [0] = "PERF_AGGREGATE_UNDEFINED", [1] = "PERF_AGGREGATE_TOTAL", [2] = "PERF_AGGREGATE_AVG", [3] = "PERF_AGGREGATE_MIN", [4] = "PERF_AGGREGATE_MAX" }
local names_1 = { [100] = "PERF_DETAIL_NOVICE", [200] = "PERF_DETAIL_ADVANCED", [300] = "PERF_DETAIL_EXPERT", [400] = "PERF_DETAIL_WIZARD" }
local names_2 = { [0] = "PERF_COUNTER_RAWCOUNT_HEX", [256] = "PERF_COUNTER_LARGE_RAWCOUNT_HEX", [2816] = "PERF_COUNTER_TEXT", [65536] = "PERF_COUNTER_RAWCOUNT", [65792] = "PERF_COUNTER_LARGE_RAWCOUNT", [73728] = "PERF_DOUBLE_RAW", [4195328] = "PERF_COUNTER_DELTA", [4195584] = "PERF_COUNTER_LARGE_DELTA", [4260864] = "PERF_SAMPLE_COUNTER", [4523008] = "PERF_COUNTER_QUEUELEN_TYPE", [4523264] = "PERF_COUNTER_LARGE_QUEUELEN_TYPE", [5571840] = "PERF_COUNTER_100NS_QUEUELEN_TYPE", [6620416] = "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE", [272696320] = "PERF_COUNTER_COUNTER", [272696576] = "PERF_COUNTER_BULK_COUNT", [537003008] = "PERF_RAW_FRACTION", [537003264] = "PERF_LARGE_RAW_FRACTION", [541132032] = "PERF_COUNTER_TIMER", [541525248] = "PERF_PRECISION_SYSTEM_TIMER", [542180608] = "PERF_100NSEC_TIMER", [542573824] = "PERF_PRECISION_100NS_TIMER", [543229184] = "PERF_OBJ_TIME_TIMER", [543622400] = "PERF_PRECISION_OBJECT_TIMER", [549585920] = "PERF_SAMPLE_FRACTION", [557909248] = "PERF_COUNTER_TIMER_INV", [558957824] = "PERF_100NSEC_TIMER_INV", [574686464] = "PERF_COUNTER_MULTI_TIMER", [575735040] = "PERF_100NSEC_MULTI_TIMER", [591463680] = "PERF_COUNTER_MULTI_TIMER_INV", [592512256] = "PERF_100NSEC_MULTI_TIMER_INV", [805438464] = "PERF_AVERAGE_TIMER", [807666944] = "PERF_ELAPSED_TIME", [1073742336] = "PERF_COUNTER_NODATA", [1073874176] = "PERF_AVERAGE_BULK", [1073939457] = "PERF_SAMPLE_BASE", [1073939458] = "PERF_AVERAGE_BASE", [1073939459] = "PERF_RAW_BASE", [1073939712] = "PERF_LARGE_RAW_BASE", [1107494144] = "PERF_COUNTER_MULTI_BASE", [2147483648] = "PERF_COUNTER_HISTOGRAM_TYPE" }
local names_3 = { [0] = "PERF_COUNTERSET_SINGLE_INSTANCE", [2] = "PERF_COUNTERSET_MULTI_INSTANCES", [4] = "PERF_COUNTERSET_SINGLE_AGGREGATE", [6] = "PERF_COUNTERSET_MULTI_AGGREGATE", [12] = "PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY", [22] = "PERF_COUNTERSET_INSTANCE_AGGREGATE" }
local names_4 = { [0] = "ERROR_SUCCESS", [1] = "ERROR_INVALID_FUNCTION", [2] = "ERROR_FILE_NOT_FOUND", [3] = "ERROR_PATH_NOT_FOUND", [4] = "ERROR_TOO_MANY_OPEN_FILES", [5] = "ERROR_ACCESS_DENIED", [6] = "ERROR_INVALID_HANDLE", [8] = "ERROR_NOT_ENOUGH_MEMORY", [13] = "ERROR_INVALID_DATA", [14] = "ERROR_OUTOFMEMORY", [19] = "ERROR_WRITE_PROTECT", [21] = "ERROR_NOT_READY", [31] = "ERROR_GEN_FAILURE", [50] = "ERROR_NOT_SUPPORTED", [53] = "ERROR_BAD_NETPATH", [64] = "ERROR_NETNAME_DELETED", [67] = "ERROR_BAD_NET_NAME", [80] = "ERROR_FILE_EXISTS", [87] = "ERROR_INVALID_PARAMETER", [109] = "ERROR_BROKEN_PIPE", [110] = "ERROR_OPEN_FAILED", [111] = "ERROR_BUFFER_OVERFLOW", [120] = "ERROR_CALL_NOT_IMPLEMENTED", [122] = "ERROR_INSUFFICIENT_BUFFER", [123] = "ERROR_INVALID_NAME", [124] = "ERROR_INVALID_LEVEL", [127] = "ERROR_PROC_NOT_FOUND", [161] = "ERROR_BAD_PATHNAME", [170] = "ERROR_BUSY", [183] = "ERROR_ALREADY_EXISTS", [203] = "ERROR_ENVVAR_NOT_FOUND", [230] = "ERROR_BAD_PIPE", [231] = "ERROR_PIPE_BUSY", [232] = "ERROR_NO_DATA", [233] = "ERROR_PIPE_NOT_CONNECTED", [234] = "ERROR_MORE_DATA", [258] = "WAIT_TIMEOUT", [259] = "ERROR_NO_MORE_ITEMS", [487] = "ERROR_INVALID_ADDRESS", [534] = "ERROR_ARITHMETIC_OVERFLOW", [535] = "ERROR_PIPE_CONNECTED", [995] = "ERROR_OPERATION_ABORTED", [997] = "ERROR_IO_PENDING", [998] = "ERROR_NOACCESS", [1004] = "ERROR_INVALID_FLAGS", [1008] = "ERROR_NO_TOKEN", [1009] = "ERROR_BADDB", [1010] = "ERROR_BADKEY", [1011] = "ERROR_CANTOPEN", [1012] = "ERROR_CANTREAD", [1013] = "ERROR_CANTWRITE", [1014] = "ERROR_REGISTRY_RECOVERED", [1015] = "ERROR_REGISTRY_CORRUPT", [1016] = "ERROR_REGISTRY_IO_FAILED", [1017] = "ERROR_NOT_REGISTRY_FILE", [1018] = "ERROR_KEY_DELETED", [1019] = "ERROR_NO_LOG_SPACE", [1020] = "ERROR_KEY_HAS_CHILDREN", [1021] = "ERROR_CHILD_MUST_BE_VOLATILE", [1022] = "ERROR_NOTIFY_ENUM_DIR", [1051] = "ERROR_DEPENDENT_SERVICES_RUNNING", [1052] = "ERROR_INVALID_SERVICE_CONTROL", [1053] = "ERROR_SERVICE_REQUEST_TIMEOUT", [1056] = "ERROR_SERVICE_ALREADY_RUNNING", [1058] = "ERROR_SERVICE_DISABLED", [1060] = "ERROR_SERVICE_DOES_NOT_EXIST", [1061] = "ERROR_SERVICE_CANNOT_ACCEPT_CTRL", [1062] = "ERROR_SERVICE_NOT_ACTIVE", [1072] = "ERROR_SERVICE_MARKED_FOR_DELETE", [1073] = "ERROR_SERVICE_EXISTS", [1113] = "ERROR_NO_UNICODE_TRANSLATION", [1114] = "ERROR_DLL_INIT_FAILED", [1115] = "ERROR_SHUTDOWN_IN_PROGRESS", [1117] = "ERROR_IO_DEVICE", [1130] = "ERROR_NOT_ENOUGH_SERVER_MEMORY", [1150] = "ERROR_OLD_WIN_VERSION", [1151] = "ERROR_APP_WRONG_OS", [1168] = "ERROR_NOT_FOUND", [1169] = "ERROR_NO_MATCH", [1190] = "ERROR_SHUTDOWN_IS_SCHEDULED", [1210] = "ERROR_INVALID_COMPUTERNAME", [1219] = "ERROR_SESSION_CREDENTIAL_CONFLICT", [1223] = "ERROR_CANCELLED", [1235] = "ERROR_REQUEST_ABORTED", [1237] = "ERROR_RETRY", [1300] = "ERROR_NOT_ALL_ASSIGNED", [1307] = "ERROR_INVALID_OWNER", [1314] = "ERROR_PRIVILEGE_NOT_HELD", [1326] = "ERROR_LOGON_FAILURE", [1332] = "ERROR_NONE_MAPPED", [1336] = "ERROR_INVALID_ACL", [1337] = "ERROR_INVALID_SID", [1338] = "ERROR_INVALID_SECURITY_DESCR", [1346] = "ERROR_BAD_IMPERSONATION_LEVEL", [1359] = "ERROR_INTERNAL_ERROR", [1380] = "ERROR_LOGON_NOT_GRANTED", [1450] = "ERROR_NO_SYSTEM_RESOURCES", [1453] = "ERROR_WORKING_SET_QUOTA", [1454] = "ERROR_PAGEFILE_QUOTA", [1455] = "ERROR_COMMITMENT_LIMIT", [1460] = "ERROR_TIMEOUT", [1702] = "RPC_S_INVALID_BINDING", [1703] = "RPC_S_PROTSEQ_NOT_SUPPORTED", [1717] = "RPC_S_UNKNOWN_IF", [1722] = "RPC_S_SERVER_UNAVAILABLE", [1723] = "RPC_S_SERVER_TOO_BUSY", [1726] = "RPC_S_CALL_FAILED", [1727] = "RPC_S_CALL_FAILED_DNE", [1728] = "RPC_S_PROTOCOL_ERROR", [1730] = "RPC_S_UNSUPPORTED_TRANS_SYN", [1732] = "RPC_S_UNSUPPORTED_TYPE", [1733] = "RPC_S_INVALID_TAG", [1734] = "RPC_S_INVALID_BOUND", [1745] = "RPC_S_PROCNUM_OUT_OF_RANGE", [1747] = "RPC_S_UNKNOWN_AUTHN_SERVICE", [1748] = "RPC_S_UNKNOWN_AUTHN_LEVEL", [1753] = "EPT_S_NOT_REGISTERED", [1764] = "RPC_S_CANNOT_SUPPORT", [1766] = "RPC_S_INTERNAL_ERROR", [1775] = "RPC_X_SS_IN_NULL_CONTEXT", [1777] = "RPC_X_SS_CONTEXT_DAMAGED", [1780] = "RPC_X_NULL_REF_POINTER", [1781] = "RPC_X_ENUM_VALUE_OUT_OF_RANGE", [1782] = "RPC_X_BYTE_COUNT_TOO_SMALL", [1783] = "RPC_X_BAD_STUB_DATA", [1784] = "ERROR_INVALID_USER_BUFFER", [1796] = "ERROR_UNKNOWN_PORT", [1797] = "ERROR_UNKNOWN_PRINTER_DRIVER", [1798] = "ERROR_UNKNOWN_PRINTPROCESSOR", [1799] = "ERROR_INVALID_SEPARATOR_FILE", [1800] = "ERROR_INVALID_PRIORITY", [1801] = "ERROR_INVALID_PRINTER_NAME", [1802] = "ERROR_PRINTER_ALREADY_EXISTS", [1803] = "ERROR_INVALID_PRINTER_COMMAND", [1804] = "ERROR_INVALID_DATATYPE", [1805] = "ERROR_INVALID_ENVIRONMENT", [1813] = "ERROR_RESOURCE_TYPE_NOT_FOUND", [1814] = "ERROR_RESOURCE_NAME_NOT_FOUND", [1815] = "ERROR_RESOURCE_LANG_NOT_FOUND", [1816] = "ERROR_NOT_ENOUGH_QUOTA", [1817] = "RPC_S_NO_INTERFACES", [1818] = "RPC_S_CALL_CANCELLED", [1820] = "RPC_S_COMM_FAILURE", [1821] = "RPC_S_UNSUPPORTED_AUTHN_LEVEL", [1825] = "RPC_S_SEC_PKG_ERROR", [1908] = "ERROR_DOMAIN_CONTROLLER_NOT_FOUND", [2114] = "NERR_ServerNotStarted", [2215] = "NERR_LogonServerNotFound", [4200] = "ERROR_WMI_GUID_NOT_FOUND", [4201] = "ERROR_WMI_INSTANCE_NOT_FOUND", [4202] = "ERROR_WMI_ITEMID_NOT_FOUND", [4203] = "ERROR_WMI_TRY_AGAIN", [4204] = "ERROR_WMI_DP_NOT_FOUND", [4205] = "ERROR_WMI_UNRESOLVED_INSTANCE_REF", [4206] = "ERROR_WMI_ALREADY_ENABLED", [4207] = "ERROR_WMI_GUID_DISCONNECTED", [4208] = "ERROR_WMI_SERVER_UNAVAILABLE", [4209] = "ERROR_WMI_DP_FAILED", [4210] = "ERROR_WMI_INVALID_MOF", [4211] = "ERROR_WMI_INVALID_REGINFO", [4213] = "ERROR_WMI_READ_ONLY", [4214] = "ERROR_WMI_SET_FAILURE", [4317] = "ERROR_INVALID_OPERATION", [15100] = "ERROR_MUI_FILE_NOT_FOUND", [15105] = "ERROR_MUI_FILE_NOT_LOADED" }
local names_5 = { [0] = "PERF_ERROR_RETURN", [1] = "PERF_SINGLE_COUNTER", [2] = "PERF_MULTI_COUNTERS", [4] = "PERF_MULTI_INSTANCES", [6] = "PERF_COUNTERSET" }
local names_6 = { [1] = "PERF_REG_COUNTERSET_STRUCT", [2] = "PERF_REG_COUNTER_STRUCT", [3] = "PERF_REG_COUNTERSET_NAME_STRING", [4] = "PERF_REG_COUNTERSET_HELP_STRING", [5] = "PERF_REG_COUNTER_NAME_STRINGS", [6] = "PERF_REG_COUNTER_HELP_STRINGS", [7] = "PERF_REG_PROVIDER_NAME", [8] = "PERF_REG_PROVIDER_GUID", [9] = "PERF_REG_COUNTERSET_ENGLISH_NAME", [10] = "PERF_REG_COUNTER_ENGLISH_NAMES" }
local names_7 = { [0] = "sunday", [1] = "monday", [2] = "tuesday", [3] = "wednesday", [4] = "thursday", [5] = "friday", [6] = "saturday" }

local fields = {
  ["ms_pcq_stubs.request"] = ProtoField.none("ms_pcq_stubs.request", "(request)"),
  ["ms_pcq_stubs.response"] = ProtoField.none("ms_pcq_stubs.response", "(response)"),
  ["pcq.close_query_handle.query_handle"] = ProtoField.none("pcq.close_query_handle.query_handle", "phQuery"),
  ["pcq.counter.aggregate_func"] = ProtoField.uint32("pcq.counter.aggregate_func", "AggregateFunc", base.DEC, names_0),
  ["pcq.counter.attributes"] = ProtoField.uint64("pcq.counter.attributes", "Attrib", base.HEX),
  ["pcq.counter.base_counter_id"] = ProtoField.uint32("pcq.counter.base_counter_id", "BaseCounterId", base.DEC),
  ["pcq.counter.default_scale"] = ProtoField.int32("pcq.counter.default_scale", "DefaultScale", base.DEC),
  ["pcq.counter.detail_level"] = ProtoField.uint32("pcq.counter.detail_level", "DetailLevel", base.DEC, names_1),
  ["pcq.counter.id"] = ProtoField.uint32("pcq.counter.id", "CounterId", base.DEC),
  ["pcq.counter.multi_id"] = ProtoField.uint32("pcq.counter.multi_id", "MultiId", base.DEC),
  ["pcq.counter.perf_freq_id"] = ProtoField.uint32("pcq.counter.perf_freq_id", "PerfFreqId", base.DEC),
  ["pcq.counter.perf_time_id"] = ProtoField.uint32("pcq.counter.perf_time_id", "PerfTimeId", base.DEC),
  ["pcq.counter.reserved"] = ProtoField.uint32("pcq.counter.reserved", "Reserved", base.DEC),
  ["pcq.counter.type"] = ProtoField.uint32("pcq.counter.type", "Type", base.HEX, names_2),
  ["pcq.counter_info.counter"] = ProtoField.none("pcq.counter_info.counter", "_PERF_COUNTER_REG_INFO"),
  ["pcq.counterset.counters"] = ProtoField.none("pcq.counterset.counters", "_PERF_COUNTER_REG_INFO"),
  ["pcq.counterset.detail_level"] = ProtoField.uint32("pcq.counterset.detail_level", "DetailLevel", base.DEC, names_1),
  ["pcq.counterset.guid"] = ProtoField.guid("pcq.counterset.guid", "CounterSetGuid"),
  ["pcq.counterset.instance_type"] = ProtoField.uint32("pcq.counterset.instance_type", "InstanceType", base.DEC, names_3),
  ["pcq.counterset.num_counters"] = ProtoField.uint32("pcq.counterset.num_counters", "NumCounters", base.DEC),
  ["pcq.counterset.type"] = ProtoField.uint32("pcq.counterset.type", "CounterSetType", base.DEC),
  ["pcq.enumerate_counter_set.guids"] = ProtoField.guid("pcq.enumerate_counter_set.guids", "lpData"),
  ["pcq.enumerate_counter_set.in_size"] = ProtoField.uint32("pcq.enumerate_counter_set.in_size", "dwInSize", base.DEC),
  ["pcq.enumerate_counter_set.lp_data"] = ProtoField.none("pcq.enumerate_counter_set.lp_data", "lpData"),
  ["pcq.enumerate_counter_set.lp_data.data"] = ProtoField.bytes("pcq.enumerate_counter_set.lp_data.data", "lpData"),
  ["pcq.enumerate_counter_set.out_size"] = ProtoField.uint32("pcq.enumerate_counter_set.out_size", "pdwOutSize", base.DEC),
  ["pcq.enumerate_counter_set.rtn_size"] = ProtoField.uint32("pcq.enumerate_counter_set.rtn_size", "pdwRtnSize", base.DEC),
  ["pcq.enumerate_counter_set_instances.counterset_guid"] = ProtoField.guid("pcq.enumerate_counter_set_instances.counterset_guid", "CounterSetGuid"),
  ["pcq.enumerate_counter_set_instances.in_size"] = ProtoField.uint32("pcq.enumerate_counter_set_instances.in_size", "dwInSize", base.DEC),
  ["pcq.enumerate_counter_set_instances.instances"] = ProtoField.none("pcq.enumerate_counter_set_instances.instances", "_PERF_INSTANCE_HEADER"),
  ["pcq.enumerate_counter_set_instances.lp_data"] = ProtoField.none("pcq.enumerate_counter_set_instances.lp_data", "lpData"),
  ["pcq.enumerate_counter_set_instances.lp_data.data"] = ProtoField.bytes("pcq.enumerate_counter_set_instances.lp_data.data", "lpData"),
  ["pcq.enumerate_counter_set_instances.out_size"] = ProtoField.uint32("pcq.enumerate_counter_set_instances.out_size", "pdwOutSize", base.DEC),
  ["pcq.enumerate_counter_set_instances.rtn_size"] = ProtoField.uint32("pcq.enumerate_counter_set_instances.rtn_size", "pdwRtnSize", base.DEC),
  ["pcq.guid.data1"] = ProtoField.uint32("pcq.guid.data1", "Data1", base.DEC),
  ["pcq.guid.data2"] = ProtoField.uint16("pcq.guid.data2", "Data2", base.DEC),
  ["pcq.guid.data3"] = ProtoField.uint16("pcq.guid.data3", "Data3", base.DEC),
  ["pcq.guid.data4"] = ProtoField.bytes("pcq.guid.data4", "Data4"),
  ["pcq.identifier.counter_id"] = ProtoField.uint32("pcq.identifier.counter_id", "CounterId", base.DEC),
  ["pcq.identifier.counterset_guid"] = ProtoField.guid("pcq.identifier.counterset_guid", "CounterSetGuid"),
  ["pcq.identifier.index"] = ProtoField.uint32("pcq.identifier.index", "Index", base.DEC),
  ["pcq.identifier.instance_id"] = ProtoField.uint32("pcq.identifier.instance_id", "InstanceId", base.DEC),
  ["pcq.identifier.name"] = ProtoField.string("pcq.identifier.name", "InstanceName"),
  ["pcq.identifier.reserved"] = ProtoField.uint32("pcq.identifier.reserved", "Reserved", base.DEC),
  ["pcq.identifier.size"] = ProtoField.uint32("pcq.identifier.size", "Size", base.DEC),
  ["pcq.identifier.status"] = ProtoField.uint32("pcq.identifier.status", "Status", base.DEC, names_4),
  ["pcq.identifiers.identifiers"] = ProtoField.none("pcq.identifiers.identifiers", "_PERF_COUNTER_IDENTIFIER"),
  ["pcq.instance.id"] = ProtoField.uint32("pcq.instance.id", "InstanceId", base.DEC),
  ["pcq.instance.name"] = ProtoField.string("pcq.instance.name", "InstanceName"),
  ["pcq.instance.size"] = ProtoField.uint32("pcq.instance.size", "Size", base.DEC),
  ["pcq.machine"] = ProtoField.none("pcq.machine", "szMachine"),
  ["pcq.machine.pointer"] = ProtoField.none("pcq.machine.pointer", "(referent)"),
  ["pcq.machine.string"] = ProtoField.none("pcq.machine.string", "(string)"),
  ["pcq.machine.string.data"] = ProtoField.string("pcq.machine.string.data", "(string)"),
  ["pcq.ndr.aligned_u4.value"] = ProtoField.uint32("pcq.ndr.aligned_u4.value", "unsigned long", base.DEC),
  ["pcq.ndr.conformant.max_count"] = ProtoField.uint64("pcq.ndr.conformant.max_count", "max_count", base.DEC),
  ["pcq.ndr.conformant_varying.actual_count"] = ProtoField.uint64("pcq.ndr.conformant_varying.actual_count", "actual_count", base.DEC),
  ["pcq.ndr.conformant_varying.max_count"] = ProtoField.uint64("pcq.ndr.conformant_varying.max_count", "max_count", base.DEC),
  ["pcq.ndr.conformant_varying.offset"] = ProtoField.uint64("pcq.ndr.conformant_varying.offset", "offset", base.DEC),
  ["pcq.ndr.context_handle.attributes"] = ProtoField.uint32("pcq.ndr.context_handle.attributes", "context_handle_attributes", base.DEC),
  ["pcq.ndr.context_handle.uuid"] = ProtoField.guid("pcq.ndr.context_handle.uuid", "context_handle_uuid"),
  ["pcq.ndr.pointer.referent"] = ProtoField.uint64("pcq.ndr.pointer.referent", "referent_id", base.DEC),
  ["pcq.ndr.uuid.data1"] = ProtoField.uint32("pcq.ndr.uuid.data1", "time_low", base.DEC),
  ["pcq.ndr.uuid.data2"] = ProtoField.uint16("pcq.ndr.uuid.data2", "time_mid", base.DEC),
  ["pcq.ndr.uuid.data3"] = ProtoField.uint16("pcq.ndr.uuid.data3", "time_hi_and_version", base.DEC),
  ["pcq.ndr.uuid.data4"] = ProtoField.bytes("pcq.ndr.uuid.data4", "clock_seq, node"),
  ["pcq.open_query_handle.query_handle"] = ProtoField.none("pcq.open_query_handle.query_handle", "phQuery"),
  ["pcq.opnum"] = ProtoField.uint16("pcq.opnum", "opnum", base.DEC, methods),
  ["pcq.provider.guid"] = ProtoField.guid("pcq.provider.guid", "lpData"),
  ["pcq.query_counter_data.block.body"] = ProtoField.none("pcq.query_counter_data.block.body", "(data)"),
  ["pcq.query_counter_data.block.reserved"] = ProtoField.uint32("pcq.query_counter_data.block.reserved", "Reserved", base.DEC),
  ["pcq.query_counter_data.block.size"] = ProtoField.uint32("pcq.query_counter_data.block.size", "dwSize", base.DEC),
  ["pcq.query_counter_data.block.status"] = ProtoField.uint32("pcq.query_counter_data.block.status", "dwStatus", base.DEC, names_4),
  ["pcq.query_counter_data.block.type"] = ProtoField.uint32("pcq.query_counter_data.block.type", "dwType", base.DEC, names_5),
  ["pcq.query_counter_data.blocks"] = ProtoField.none("pcq.query_counter_data.blocks", "_PERF_COUNTER_HEADER"),
  ["pcq.query_counter_data.counter_data.data_size"] = ProtoField.uint32("pcq.query_counter_data.counter_data.data_size", "dwDataSize", base.DEC),
  ["pcq.query_counter_data.counter_data.size"] = ProtoField.uint32("pcq.query_counter_data.counter_data.size", "dwSize", base.DEC),
  ["pcq.query_counter_data.counter_data.value"] = ProtoField.uint64("pcq.query_counter_data.counter_data.value", "(data)", base.DEC),
  ["pcq.query_counter_data.counter_data.value.text"] = ProtoField.string("pcq.query_counter_data.counter_data.value.text", "(data)"),
  ["pcq.query_counter_data.counter_ids.counter_ids"] = ProtoField.uint32("pcq.query_counter_data.counter_ids.counter_ids", "CounterId", base.DEC),
  ["pcq.query_counter_data.counter_ids.num_counters"] = ProtoField.uint32("pcq.query_counter_data.counter_ids.num_counters", "dwCounters", base.DEC),
  ["pcq.query_counter_data.counter_ids.size"] = ProtoField.uint32("pcq.query_counter_data.counter_ids.size", "dwSize", base.DEC),
  ["pcq.query_counter_data.counterset.counters"] = ProtoField.none("pcq.query_counter_data.counterset.counters", "_PERF_MULTI_COUNTERS"),
  ["pcq.query_counter_data.counterset.instances"] = ProtoField.none("pcq.query_counter_data.counterset.instances", "_PERF_MULTI_INSTANCES"),
  ["pcq.query_counter_data.in_size"] = ProtoField.uint32("pcq.query_counter_data.in_size", "dwInSize", base.DEC),
  ["pcq.query_counter_data.instance.data"] = ProtoField.none("pcq.query_counter_data.instance.data", "_PERF_COUNTER_DATA"),
  ["pcq.query_counter_data.instance.header"] = ProtoField.none("pcq.query_counter_data.instance.header", "_PERF_INSTANCE_HEADER"),
  ["pcq.query_counter_data.instances.instances"] = ProtoField.none("pcq.query_counter_data.instances.instances", "(instance data)"),
  ["pcq.query_counter_data.instances.num_instances"] = ProtoField.uint32("pcq.query_counter_data.instances.num_instances", "dwInstances", base.DEC),
  ["pcq.query_counter_data.instances.total_size"] = ProtoField.uint32("pcq.query_counter_data.instances.total_size", "dwTotalSize", base.DEC),
  ["pcq.query_counter_data.lp_data"] = ProtoField.none("pcq.query_counter_data.lp_data", "lpData"),
  ["pcq.query_counter_data.lp_data.data"] = ProtoField.bytes("pcq.query_counter_data.lp_data.data", "lpData"),
  ["pcq.query_counter_data.multi_counters.counters"] = ProtoField.none("pcq.query_counter_data.multi_counters.counters", "_PERF_MULTI_COUNTERS"),
  ["pcq.query_counter_data.multi_counters.data"] = ProtoField.none("pcq.query_counter_data.multi_counters.data", "_PERF_COUNTER_DATA"),
  ["pcq.query_counter_data.multi_instances.instances"] = ProtoField.none("pcq.query_counter_data.multi_instances.instances", "_PERF_MULTI_INSTANCES"),
  ["pcq.query_counter_data.num_blocks"] = ProtoField.uint32("pcq.query_counter_data.num_blocks", "dwNumCounter", base.DEC),
  ["pcq.query_counter_data.out_size"] = ProtoField.uint32("pcq.query_counter_data.out_size", "pdwOutSize", base.DEC),
  ["pcq.query_counter_data.perf_freq"] = ProtoField.uint64("pcq.query_counter_data.perf_freq", "PerfFreq", base.DEC),
  ["pcq.query_counter_data.perf_time_100ns"] = ProtoField.absolute_time("pcq.query_counter_data.perf_time_100ns", "PerfTime100NSec", base.UTC),
  ["pcq.query_counter_data.perf_time_stamp"] = ProtoField.uint64("pcq.query_counter_data.perf_time_stamp", "PerfTimeStamp", base.DEC),
  ["pcq.query_counter_data.query_handle"] = ProtoField.none("pcq.query_counter_data.query_handle", "hQuery"),
  ["pcq.query_counter_data.rtn_size"] = ProtoField.uint32("pcq.query_counter_data.rtn_size", "pdwRtnSize", base.DEC),
  ["pcq.query_counter_data.single_counter.data"] = ProtoField.none("pcq.query_counter_data.single_counter.data", "_PERF_COUNTER_DATA"),
  ["pcq.query_counter_data.system_time"] = ProtoField.none("pcq.query_counter_data.system_time", "SystemTime"),
  ["pcq.query_counter_data.total_size"] = ProtoField.uint32("pcq.query_counter_data.total_size", "dwTotalSize", base.DEC),
  ["pcq.query_counter_info.in_size"] = ProtoField.uint32("pcq.query_counter_info.in_size", "dwInSize", base.DEC),
  ["pcq.query_counter_info.lp_data"] = ProtoField.none("pcq.query_counter_info.lp_data", "lpData"),
  ["pcq.query_counter_info.lp_data.data"] = ProtoField.bytes("pcq.query_counter_info.lp_data.data", "lpData"),
  ["pcq.query_counter_info.out_size"] = ProtoField.uint32("pcq.query_counter_info.out_size", "pdwOutSize", base.DEC),
  ["pcq.query_counter_info.query_handle"] = ProtoField.none("pcq.query_counter_info.query_handle", "hQuery"),
  ["pcq.query_counter_info.rtn_size"] = ProtoField.uint32("pcq.query_counter_info.rtn_size", "pdwRtnSize", base.DEC),
  ["pcq.query_counter_set_registration_info.counterset_guid"] = ProtoField.guid("pcq.query_counter_set_registration_info.counterset_guid", "CounterSetGuid"),
  ["pcq.query_counter_set_registration_info.in_size"] = ProtoField.uint32("pcq.query_counter_set_registration_info.in_size", "dwInSize", base.DEC),
  ["pcq.query_counter_set_registration_info.lp_data"] = ProtoField.none("pcq.query_counter_set_registration_info.lp_data", "lpData"),
  ["pcq.query_counter_set_registration_info.lp_data.data"] = ProtoField.bytes("pcq.query_counter_set_registration_info.lp_data.data", "lpData"),
  ["pcq.query_counter_set_registration_info.out_size"] = ProtoField.uint32("pcq.query_counter_set_registration_info.out_size", "pdwOutSize", base.DEC),
  ["pcq.query_counter_set_registration_info.request_code"] = ProtoField.uint32("pcq.query_counter_set_registration_info.request_code", "RequestCode", base.DEC, names_6),
  ["pcq.query_counter_set_registration_info.request_lcid"] = ProtoField.uint32("pcq.query_counter_set_registration_info.request_lcid", "RequestLCID", base.DEC),
  ["pcq.query_counter_set_registration_info.rtn_size"] = ProtoField.uint32("pcq.query_counter_set_registration_info.rtn_size", "pdwRtnSize", base.DEC),
  ["pcq.registration.string"] = ProtoField.string("pcq.registration.string", "lpData"),
  ["pcq.status"] = ProtoField.uint32("pcq.status", "(return value)", base.DEC, names_4),
  ["pcq.string_table.counter_string.counter_id"] = ProtoField.uint32("pcq.string_table.counter_string.counter_id", "dwCounterId", base.DEC),
  ["pcq.string_table.counter_string.ofs_string"] = ProtoField.uint32("pcq.string_table.counter_string.ofs_string", "dwOffset", base.DEC),
  ["pcq.string_table.counter_string.string"] = ProtoField.string("pcq.string_table.counter_string.string", "(string)"),
  ["pcq.string_table.num_counters"] = ProtoField.uint32("pcq.string_table.num_counters", "dwCounters", base.DEC),
  ["pcq.string_table.strings"] = ProtoField.none("pcq.string_table.strings", "_STRING_COUNTER_HEADER"),
  ["pcq.string_table.total_size"] = ProtoField.uint32("pcq.string_table.total_size", "dwSize", base.DEC),
  ["pcq.systemtime.day"] = ProtoField.uint16("pcq.systemtime.day", "wDay", base.DEC),
  ["pcq.systemtime.day_of_week"] = ProtoField.uint16("pcq.systemtime.day_of_week", "wDayOfWeek", base.DEC, names_7),
  ["pcq.systemtime.hour"] = ProtoField.uint16("pcq.systemtime.hour", "wHour", base.DEC),
  ["pcq.systemtime.milliseconds"] = ProtoField.uint16("pcq.systemtime.milliseconds", "wMilliseconds", base.DEC),
  ["pcq.systemtime.minute"] = ProtoField.uint16("pcq.systemtime.minute", "wMinute", base.DEC),
  ["pcq.systemtime.month"] = ProtoField.uint16("pcq.systemtime.month", "wMonth", base.DEC),
  ["pcq.systemtime.second"] = ProtoField.uint16("pcq.systemtime.second", "wSecond", base.DEC),
  ["pcq.systemtime.year"] = ProtoField.uint16("pcq.systemtime.year", "wYear", base.DEC),
  ["pcq.validate_counters.add"] = ProtoField.uint32("pcq.validate_counters.add", "dwAdd", base.DEC),
  ["pcq.validate_counters.in_size"] = ProtoField.uint32("pcq.validate_counters.in_size", "dwInSize", base.DEC),
  ["pcq.validate_counters.lp_data"] = ProtoField.none("pcq.validate_counters.lp_data", "lpData"),
  ["pcq.validate_counters.lp_data.data"] = ProtoField.bytes("pcq.validate_counters.lp_data.data", "lpData"),
  ["pcq.validate_counters.query_handle"] = ProtoField.none("pcq.validate_counters.query_handle", "hQuery"),
  ["winperf.counter_block.body"] = ProtoField.none("winperf.counter_block.body", "(values)"),
  ["winperf.counter_block.byte_length"] = ProtoField.uint32("winperf.counter_block.byte_length", "ByteLength", base.DEC),
  ["winperf.counter_block.value"] = ProtoField.uint64("winperf.counter_block.value", "(value)", base.DEC),
  ["winperf.counter_block.value.bytes"] = ProtoField.bytes("winperf.counter_block.value.bytes", "(value)"),
  ["winperf.counter_block.value.text"] = ProtoField.string("winperf.counter_block.value.text", "(value)"),
  ["winperf.counter_block.values"] = ProtoField.none("winperf.counter_block.values", "(value)"),
  ["winperf.counter_definition.byte_length"] = ProtoField.uint32("winperf.counter_definition.byte_length", "ByteLength", base.DEC),
  ["winperf.counter_definition.counter_help_title"] = ProtoField.uint32("winperf.counter_definition.counter_help_title", "CounterHelpTitle", base.DEC),
  ["winperf.counter_definition.counter_help_title_index"] = ProtoField.uint32("winperf.counter_definition.counter_help_title_index", "CounterHelpTitleIndex", base.DEC),
  ["winperf.counter_definition.counter_name_title"] = ProtoField.uint32("winperf.counter_definition.counter_name_title", "CounterNameTitle", base.DEC),
  ["winperf.counter_definition.counter_name_title_index"] = ProtoField.uint32("winperf.counter_definition.counter_name_title_index", "CounterNameTitleIndex", base.DEC),
  ["winperf.counter_definition.counter_offset"] = ProtoField.uint32("winperf.counter_definition.counter_offset", "CounterOffset", base.DEC),
  ["winperf.counter_definition.counter_size"] = ProtoField.uint32("winperf.counter_definition.counter_size", "CounterSize", base.DEC),
  ["winperf.counter_definition.counter_type"] = ProtoField.uint32("winperf.counter_definition.counter_type", "CounterType", base.DEC, names_2),
  ["winperf.counter_definition.default_scale"] = ProtoField.int32("winperf.counter_definition.default_scale", "DefaultScale", base.DEC),
  ["winperf.counter_definition.detail_level"] = ProtoField.uint32("winperf.counter_definition.detail_level", "DetailLevel", base.DEC, names_1),
  ["winperf.default_object"] = ProtoField.int32("winperf.default_object", "DefaultObject", base.DEC),
  ["winperf.header_length"] = ProtoField.uint32("winperf.header_length", "HeaderLength", base.DEC),
  ["winperf.instance.byte_length"] = ProtoField.uint32("winperf.instance.byte_length", "ByteLength", base.DEC),
  ["winperf.instance.counter_block"] = ProtoField.none("winperf.instance.counter_block", "PERF_COUNTER_BLOCK"),
  ["winperf.instance.definition"] = ProtoField.none("winperf.instance.definition", "PERF_INSTANCE_DEFINITION"),
  ["winperf.instance.name"] = ProtoField.string("winperf.instance.name", "(name)"),
  ["winperf.instance.name_length"] = ProtoField.uint32("winperf.instance.name_length", "NameLength", base.DEC),
  ["winperf.instance.name_offset"] = ProtoField.uint32("winperf.instance.name_offset", "NameOffset", base.DEC),
  ["winperf.instance.parent_object_instance"] = ProtoField.uint32("winperf.instance.parent_object_instance", "ParentObjectInstance", base.DEC),
  ["winperf.instance.parent_object_title_index"] = ProtoField.uint32("winperf.instance.parent_object_title_index", "ParentObjectTitleIndex", base.DEC),
  ["winperf.instance.unique_id"] = ProtoField.int32("winperf.instance.unique_id", "UniqueID", base.DEC),
  ["winperf.little_endian"] = ProtoField.uint32("winperf.little_endian", "LittleEndian", base.DEC),
  ["winperf.name_table.entries"] = ProtoField.none("winperf.name_table.entries", "(pair)"),
  ["winperf.name_table.entry.index"] = ProtoField.string("winperf.name_table.entry.index", "(index)"),
  ["winperf.name_table.entry.text"] = ProtoField.string("winperf.name_table.entry.text", "(text)"),
  ["winperf.num_object_types"] = ProtoField.uint32("winperf.num_object_types", "NumObjectTypes", base.DEC),
  ["winperf.object.body"] = ProtoField.none("winperf.object.body", "(object)"),
  ["winperf.object.code_page"] = ProtoField.uint32("winperf.object.code_page", "CodePage", base.DEC),
  ["winperf.object.counter_block"] = ProtoField.none("winperf.object.counter_block", "PERF_COUNTER_BLOCK"),
  ["winperf.object.counters"] = ProtoField.none("winperf.object.counters", "PERF_COUNTER_DEFINITION"),
  ["winperf.object.default_counter"] = ProtoField.int32("winperf.object.default_counter", "DefaultCounter", base.DEC),
  ["winperf.object.definition_length"] = ProtoField.uint32("winperf.object.definition_length", "DefinitionLength", base.DEC),
  ["winperf.object.detail_level"] = ProtoField.uint32("winperf.object.detail_level", "DetailLevel", base.DEC, names_1),
  ["winperf.object.header_length"] = ProtoField.uint32("winperf.object.header_length", "HeaderLength", base.DEC),
  ["winperf.object.help_title"] = ProtoField.uint32("winperf.object.help_title", "ObjectHelpTitle", base.DEC),
  ["winperf.object.help_title_index"] = ProtoField.uint32("winperf.object.help_title_index", "ObjectHelpTitleIndex", base.DEC),
  ["winperf.object.instances"] = ProtoField.none("winperf.object.instances", "PERF_INSTANCE_DEFINITION"),
  ["winperf.object.name_title"] = ProtoField.uint32("winperf.object.name_title", "ObjectNameTitle", base.DEC),
  ["winperf.object.name_title_index"] = ProtoField.uint32("winperf.object.name_title_index", "ObjectNameTitleIndex", base.DEC),
  ["winperf.object.num_counters"] = ProtoField.uint32("winperf.object.num_counters", "NumCounters", base.DEC),
  ["winperf.object.num_instances"] = ProtoField.int32("winperf.object.num_instances", "NumInstances", base.DEC),
  ["winperf.object.perf_freq"] = ProtoField.int64("winperf.object.perf_freq", "PerfFreq", base.DEC),
  ["winperf.object.perf_time"] = ProtoField.int64("winperf.object.perf_time", "PerfTime", base.DEC),
  ["winperf.object.total_byte_length"] = ProtoField.uint32("winperf.object.total_byte_length", "TotalByteLength", base.DEC),
  ["winperf.objects"] = ProtoField.none("winperf.objects", "PERF_OBJECT_TYPE"),
  ["winperf.perf_freq"] = ProtoField.int64("winperf.perf_freq", "PerfFreq", base.DEC),
  ["winperf.perf_time"] = ProtoField.int64("winperf.perf_time", "PerfTime", base.DEC),
  ["winperf.perf_time_100ns"] = ProtoField.absolute_time("winperf.perf_time_100ns", "PerfTime100nSec", base.UTC),
  ["winperf.revision"] = ProtoField.uint32("winperf.revision", "Revision", base.DEC),
  ["winperf.signature"] = ProtoField.string("winperf.signature", "Signature"),
  ["winperf.system_name"] = ProtoField.string("winperf.system_name", "(system name)"),
  ["winperf.system_name_length"] = ProtoField.uint32("winperf.system_name_length", "SystemNameLength", base.DEC),
  ["winperf.system_name_offset"] = ProtoField.uint32("winperf.system_name_offset", "SystemNameOffset", base.DEC),
  ["winperf.system_time"] = ProtoField.none("winperf.system_time", "SystemTime"),
  ["winperf.systemtime.day"] = ProtoField.uint16("winperf.systemtime.day", "wDay", base.DEC),
  ["winperf.systemtime.day_of_week"] = ProtoField.uint16("winperf.systemtime.day_of_week", "wDayOfWeek", base.DEC, names_7),
  ["winperf.systemtime.hour"] = ProtoField.uint16("winperf.systemtime.hour", "wHour", base.DEC),
  ["winperf.systemtime.milliseconds"] = ProtoField.uint16("winperf.systemtime.milliseconds", "wMilliseconds", base.DEC),
  ["winperf.systemtime.minute"] = ProtoField.uint16("winperf.systemtime.minute", "wMinute", base.DEC),
  ["winperf.systemtime.month"] = ProtoField.uint16("winperf.systemtime.month", "wMonth", base.DEC),
  ["winperf.systemtime.second"] = ProtoField.uint16("winperf.systemtime.second", "wSecond", base.DEC),
  ["winperf.systemtime.year"] = ProtoField.uint16("winperf.systemtime.year", "wYear", base.DEC),
  ["winperf.total_byte_length"] = ProtoField.uint32("winperf.total_byte_length", "TotalByteLength", base.DEC),
  ["winperf.version"] = ProtoField.uint32("winperf.version", "Version", base.DEC),
}
do
  local of_pcq, of_winperf = {}, {}
  for name, field in pairs(fields) do
    local list = name:match("^pcq%.") and of_pcq or of_winperf
    list[#list + 1] = field
  end
  pcq.fields, winperf.fields = of_pcq, of_winperf
end

local choose, whole
local types = {}
types["ms_dtyp"] = {
  spelling = "",
  endian = function() return false end,
  params = {  },
  seq = {
  },
  later = {
  },
  values = {
  },
}
types["ms_dtyp.guid"] = {
  spelling = "GUID",
  leaf = "guid",
  params = {  },
  seq = {
    { id = "data1", name = "Data1", kind = "u4", field = fields["pcq.guid.data1"] },
    { id = "data2", name = "Data2", kind = "u2", field = fields["pcq.guid.data2"] },
    { id = "data3", name = "Data3", kind = "u2", field = fields["pcq.guid.data3"] },
    { id = "data4", name = "Data4", size = function(o) return 8 end, field = fields["pcq.guid.data4"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_dtyp.systemtime"] = {
  spelling = "SYSTEMTIME",
  params = {  },
  seq = {
    { id = "year", name = "wYear", kind = "u2", field = fields["pcq.systemtime.year"] },
    { id = "month", name = "wMonth", kind = "u2", field = fields["pcq.systemtime.month"] },
    { id = "day_of_week", name = "wDayOfWeek", kind = "u2", field = fields["pcq.systemtime.day_of_week"] },
    { id = "day", name = "wDay", kind = "u2", field = fields["pcq.systemtime.day"] },
    { id = "hour", name = "wHour", kind = "u2", field = fields["pcq.systemtime.hour"] },
    { id = "minute", name = "wMinute", kind = "u2", field = fields["pcq.systemtime.minute"] },
    { id = "second", name = "wSecond", kind = "u2", field = fields["pcq.systemtime.second"] },
    { id = "milliseconds", name = "wMilliseconds", kind = "u2", field = fields["pcq.systemtime.milliseconds"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq"] = {
  spelling = "",
  endian = function() return false end,
  params = {  },
  seq = {
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq.counter_reg_info"] = {
  spelling = "_PERF_COUNTER_REG_INFO",
  params = {  },
  seq = {
    { id = "counter_id", name = "CounterId", kind = "u4", field = fields["pcq.counter.id"] },
    { id = "counter_type", name = "Type", kind = "u4", field = fields["pcq.counter.type"] },
    { id = "attributes", name = "Attrib", kind = "u8", flags = { { 1, "PERF_ATTRIB_BY_REFERENCE" }, { 2, "PERF_ATTRIB_NO_DISPLAYABLE" }, { 4, "PERF_ATTRIB_NO_GROUP_SEPARATOR" }, { 8, "PERF_ATTRIB_DISPLAY_AS_REAL" }, { 16, "PERF_ATTRIB_DISPLAY_AS_HEX" } }, field = fields["pcq.counter.attributes"] },
    { id = "detail_level", name = "DetailLevel", kind = "u4", field = fields["pcq.counter.detail_level"] },
    { id = "default_scale", name = "DefaultScale", kind = "s4", field = fields["pcq.counter.default_scale"] },
    { id = "base_counter_id", name = "BaseCounterId", kind = "u4", special = { [4294967295] = "none" }, field = fields["pcq.counter.base_counter_id"] },
    { id = "perf_time_id", name = "PerfTimeId", kind = "u4", special = { [4294967295] = "none" }, field = fields["pcq.counter.perf_time_id"] },
    { id = "perf_freq_id", name = "PerfFreqId", kind = "u4", special = { [4294967295] = "none" }, field = fields["pcq.counter.perf_freq_id"] },
    { id = "multi_id", name = "MultiId", kind = "u4", special = { [4294967295] = "none" }, field = fields["pcq.counter.multi_id"] },
    { id = "aggregate_func", name = "AggregateFunc", kind = "u4", field = fields["pcq.counter.aggregate_func"] },
    { id = "reserved", name = "Reserved", kind = "u4", field = fields["pcq.counter.reserved"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq.instance_header"] = {
  spelling = "_PERF_INSTANCE_HEADER",
  params = {  },
  seq = {
    { id = "size", name = "Size", kind = "u4", valid = function(o) if o._ < 8 then return whole(o._) .. " is below " .. whole(8) end end, field = fields["pcq.instance.size"] },
    { id = "instance_id", name = "InstanceId", kind = "u4", field = fields["pcq.instance.id"] },
    { id = "name", name = "InstanceName", size = function(o) return (o.size - 8) end, condition = function(o) return (o.ofs_name >= 0) end, encoding = "UTF-16LE", field = fields["pcq.instance.name"] },
  },
  later = {
  },
  values = {
    ofs_name = function(o) return o._io:pos() end,
  },
}
types["ms_pcq_counter_info"] = {
  spelling = "",
  endian = function() return false end,
  params = {  },
  seq = {
    { id = "counter", name = "_PERF_COUNTER_REG_INFO", kind = "ms_pcq.counter_reg_info", field = fields["pcq.counter_info.counter"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_counterset_info"] = {
  spelling = "_PERF_COUNTERSET_REG_INFO",
  endian = function() return false end,
  params = {  },
  seq = {
    { id = "counterset_guid", name = "CounterSetGuid", kind = "ms_dtyp.guid", field = fields["pcq.counterset.guid"] },
    { id = "counterset_type", name = "CounterSetType", kind = "u4", field = fields["pcq.counterset.type"] },
    { id = "detail_level", name = "DetailLevel", kind = "u4", field = fields["pcq.counterset.detail_level"] },
    { id = "num_counters", name = "NumCounters", kind = "u4", field = fields["pcq.counterset.num_counters"] },
    { id = "instance_type", name = "InstanceType", kind = "u4", field = fields["pcq.counterset.instance_type"] },
    { id = "counters", name = "_PERF_COUNTER_REG_INFO", kind = "ms_pcq.counter_reg_info", count = function(o) return o.num_counters end, ["repeat"] = "expr", field = fields["pcq.counterset.counters"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_guid_list"] = {
  spelling = "",
  endian = function() return false end,
  params = { "big_endian" },
  seq = {
    { id = "guids", name = "lpData", kind = "ndr.uuid", args = function(o) return { o.big_endian } end, ["repeat"] = "eos", payload = true, field = fields["pcq.enumerate_counter_set.guids"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_identifier_list"] = {
  spelling = "",
  endian = function() return false end,
  params = {  },
  seq = {
    { id = "identifiers", name = "_PERF_COUNTER_IDENTIFIER", kind = "ms_pcq_identifier_list.identifier", ["repeat"] = "eos", field = fields["pcq.identifiers.identifiers"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_identifier_list.identifier"] = {
  spelling = "_PERF_COUNTER_IDENTIFIER",
  params = {  },
  seq = {
    { id = "counterset_guid", name = "CounterSetGuid", kind = "ms_dtyp.guid", field = fields["pcq.identifier.counterset_guid"] },
    { id = "status", name = "Status", kind = "u4", meaning = "win32", field = fields["pcq.identifier.status"] },
    { id = "size", name = "Size", kind = "u4", valid = function(o) if o._ < 40 then return whole(o._) .. " is below " .. whole(40) end end, field = fields["pcq.identifier.size"] },
    { id = "counter_id", name = "CounterId", kind = "u4", special = { [4294967295] = "all" }, field = fields["pcq.identifier.counter_id"] },
    { id = "instance_id", name = "InstanceId", kind = "u4", special = { [4294967295] = "any" }, field = fields["pcq.identifier.instance_id"] },
    { id = "index", name = "Index", kind = "u4", field = fields["pcq.identifier.index"] },
    { id = "reserved", name = "Reserved", kind = "u4", field = fields["pcq.identifier.reserved"] },
    { id = "name", name = "InstanceName", size = function(o) return (o.size - 40) end, condition = function(o) return ((o.size ~= 40) and (o.ofs_name >= 0)) end, encoding = "UTF-16LE", field = fields["pcq.identifier.name"] },
  },
  later = {
  },
  values = {
    ofs_name = function(o) return o._io:pos() end,
  },
}
types["ms_pcq_instance_list"] = {
  spelling = "",
  endian = function() return false end,
  params = {  },
  seq = {
    { id = "instances", name = "_PERF_INSTANCE_HEADER", kind = "ms_pcq.instance_header", ["repeat"] = "eos", field = fields["pcq.enumerate_counter_set_instances.instances"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_perf_data"] = {
  spelling = "_PERF_DATA_HEADER",
  endian = function() return false end,
  params = { "len_id_paddings" },
  seq = {
    { id = "total_size", name = "dwTotalSize", kind = "u4", field = fields["pcq.query_counter_data.total_size"] },
    { id = "num_blocks", name = "dwNumCounter", kind = "u4", field = fields["pcq.query_counter_data.num_blocks"] },
    { id = "perf_time_stamp", name = "PerfTimeStamp", kind = "u8", field = fields["pcq.query_counter_data.perf_time_stamp"] },
    { id = "perf_time_100ns", name = "PerfTime100NSec", kind = "u8", meaning = "filetime", field = fields["pcq.query_counter_data.perf_time_100ns"] },
    { id = "perf_freq", name = "PerfFreq", kind = "u8", field = fields["pcq.query_counter_data.perf_freq"] },
    { id = "system_time", name = "SystemTime", kind = "ms_dtyp.systemtime", field = fields["pcq.query_counter_data.system_time"] },
    { id = "blocks", name = "_PERF_COUNTER_HEADER", kind = "ms_pcq_perf_data.block", args = function(o) return { choose((o._index < #o.len_id_paddings), function() return o.len_id_paddings[o._index + 1] end, function() return 0 end) } end, count = function(o) return o.num_blocks end, ["repeat"] = "expr", field = fields["pcq.query_counter_data.blocks"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_perf_data.block"] = {
  spelling = "_PERF_COUNTER_HEADER",
  params = { "len_id_padding" },
  seq = {
    { id = "status", name = "dwStatus", kind = "u4", meaning = "win32", field = fields["pcq.query_counter_data.block.status"] },
    { id = "block_type", name = "dwType", kind = "u4", valid = function(o) if not (o._ == 0 or o._ == 1 or o._ == 2 or o._ == 4 or o._ == 6) then return whole(o._) .. " is none of the values defined" end end, field = fields["pcq.query_counter_data.block.type"] },
    { id = "size", name = "dwSize", kind = "u4", valid = function(o) if o._ < 16 then return whole(o._) .. " is below " .. whole(16) end end, field = fields["pcq.query_counter_data.block.size"] },
    { id = "reserved", name = "Reserved", kind = "u4", field = fields["pcq.query_counter_data.block.reserved"] },
    { id = "body", name = "(data)", switch = function(o) return o.block_type end, cases = { [0] = { kind = "ms_pcq_perf_data.nothing" }, [1] = { kind = "ms_pcq_perf_data.single_counter" }, [2] = { kind = "ms_pcq_perf_data.multi_counters", args = function(o) return { o.len_id_padding } end }, [4] = { kind = "ms_pcq_perf_data.multi_instances" }, [6] = { kind = "ms_pcq_perf_data.counterset", args = function(o) return { o.len_id_padding } end } }, size = function(o) return o.len_body end, field = fields["pcq.query_counter_data.block.body"] },
    { id = "missing", name = "(bytes beyond the end)", size = function(o) return ((o.size - 16) - o.len_body) end, filler = true },
  },
  later = {
  },
  values = {
    len_body = function(o) return choose(((o.size - 16) < (o._io:size() - o._io:pos())), function() return (o.size - 16) end, function() return (o._io:size() - o._io:pos()) end) end,
  },
}
types["ms_pcq_perf_data.nothing"] = {
  spelling = "PERF_ERROR_RETURN",
  params = {  },
  seq = {
    { id = "rest", name = "(bytes left over)", eos_size = true, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_perf_data.counter_data"] = {
  spelling = "_PERF_COUNTER_DATA",
  params = {  },
  seq = {
    { id = "data_size", name = "dwDataSize", kind = "u4", field = fields["pcq.query_counter_data.counter_data.data_size"] },
    { id = "size", name = "dwSize", kind = "u4", valid = function(o) if o._ < (8 + o.data_size) then return whole(o._) .. " is below " .. whole((8 + o.data_size)) end end, field = fields["pcq.query_counter_data.counter_data.size"] },
    { id = "value", name = "(data)", size = function(o) return o.data_size end, meaning = "counter-value", field = fields["pcq.query_counter_data.counter_data.value"], text = fields["pcq.query_counter_data.counter_data.value.text"] },
    { id = "padding", name = "(padding)", size = function(o) return ((o.size - 8) - o.data_size) end, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_perf_data.single_counter"] = {
  spelling = "PERF_SINGLE_COUNTER",
  params = {  },
  seq = {
    { id = "data", name = "_PERF_COUNTER_DATA", kind = "ms_pcq_perf_data.counter_data", field = fields["pcq.query_counter_data.single_counter.data"] },
    { id = "rest", name = "(bytes left over)", eos_size = true, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_perf_data.counter_ids"] = {
  spelling = "_PERF_MULTI_COUNTERS",
  params = { "len_uncounted" },
  seq = {
    { id = "size", name = "dwSize", kind = "u4", valid = function(o) if o._ < 8 then return whole(o._) .. " is below " .. whole(8) end end, field = fields["pcq.query_counter_data.counter_ids.size"] },
    { id = "num_counters", name = "dwCounters", kind = "u4", valid = function(o) if o._ > math.floor(((o.size - 8)) / 4) then return whole(o._) .. " is above " .. whole(math.floor(((o.size - 8)) / 4)) end end, field = fields["pcq.query_counter_data.counter_ids.num_counters"] },
    { id = "counter_ids", name = "CounterId", kind = "u4", count = function(o) return o.num_counters end, ["repeat"] = "expr", field = fields["pcq.query_counter_data.counter_ids.counter_ids"] },
    { id = "padding", name = "(padding)", size = function(o) return ((o.size - 8) - (4 * o.num_counters)) end, filler = true },
    { id = "uncounted", name = "(padding outside the size)", size = function(o) return o.len_uncounted end, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_perf_data.multi_counters"] = {
  spelling = "PERF_MULTI_COUNTERS",
  params = { "len_id_padding" },
  seq = {
    { id = "counters", name = "_PERF_MULTI_COUNTERS", kind = "ms_pcq_perf_data.counter_ids", args = function(o) return { o.len_id_padding } end, field = fields["pcq.query_counter_data.multi_counters.counters"] },
    { id = "data", name = "_PERF_COUNTER_DATA", kind = "ms_pcq_perf_data.counter_data", count = function(o) return o.counters.num_counters end, ["repeat"] = "expr", field = fields["pcq.query_counter_data.multi_counters.data"] },
    { id = "rest", name = "(bytes left over)", eos_size = true, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_perf_data.instance"] = {
  spelling = "_PERF_INSTANCE_HEADER, _PERF_COUNTER_DATA",
  params = { "num_values" },
  seq = {
    { id = "header", name = "_PERF_INSTANCE_HEADER", kind = "ms_pcq.instance_header", field = fields["pcq.query_counter_data.instance.header"] },
    { id = "data", name = "_PERF_COUNTER_DATA", kind = "ms_pcq_perf_data.counter_data", count = function(o) return o.num_values end, ["repeat"] = "expr", field = fields["pcq.query_counter_data.instance.data"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_perf_data.instances"] = {
  spelling = "_PERF_MULTI_INSTANCES",
  params = { "num_values" },
  seq = {
    { id = "total_size", name = "dwTotalSize", kind = "u4", valid = function(o) if o._ < 8 then return whole(o._) .. " is below " .. whole(8) end end, field = fields["pcq.query_counter_data.instances.total_size"] },
    { id = "num_instances", name = "dwInstances", kind = "u4", field = fields["pcq.query_counter_data.instances.num_instances"] },
    { id = "instances", name = "(instance data)", kind = "ms_pcq_perf_data.instance", args = function(o) return { o.num_values } end, count = function(o) return o.num_instances end, ["repeat"] = "expr", field = fields["pcq.query_counter_data.instances.instances"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_perf_data.multi_instances"] = {
  spelling = "PERF_MULTI_INSTANCES",
  params = {  },
  seq = {
    { id = "instances", name = "_PERF_MULTI_INSTANCES", kind = "ms_pcq_perf_data.instances", args = function(o) return { 1 } end, field = fields["pcq.query_counter_data.multi_instances.instances"] },
    { id = "rest", name = "(bytes left over)", eos_size = true, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_perf_data.counterset"] = {
  spelling = "PERF_COUNTERSET",
  params = { "len_id_padding" },
  seq = {
    { id = "counters", name = "_PERF_MULTI_COUNTERS", kind = "ms_pcq_perf_data.counter_ids", args = function(o) return { o.len_id_padding } end, field = fields["pcq.query_counter_data.counterset.counters"] },
    { id = "instances", name = "_PERF_MULTI_INSTANCES", kind = "ms_pcq_perf_data.instances", args = function(o) return { o.counters.num_counters } end, field = fields["pcq.query_counter_data.counterset.instances"] },
    { id = "rest", name = "(bytes left over)", eos_size = true, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_provider_guid"] = {
  spelling = "",
  endian = function() return false end,
  params = {  },
  seq = {
    { id = "guid", name = "lpData", kind = "ms_dtyp.guid", payload = true, field = fields["pcq.provider.guid"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_string"] = {
  spelling = "",
  endian = function() return false end,
  params = {  },
  seq = {
    { id = "string", name = "lpData", kind = "strz", eos = true, payload = true, field = fields["pcq.registration.string"] },
    { id = "padding", name = "(padding)", eos_size = true, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_string_table"] = {
  spelling = "_STRING_BUFFER_HEADER",
  endian = function() return false end,
  params = { "ofs_base" },
  seq = {
    { id = "total_size", name = "dwSize", kind = "u4", field = fields["pcq.string_table.total_size"] },
    { id = "num_counters", name = "dwCounters", kind = "u4", field = fields["pcq.string_table.num_counters"] },
    { id = "strings", name = "_STRING_COUNTER_HEADER", kind = "ms_pcq_string_table.counter_string", args = function(o) return { o.ofs_base } end, count = function(o) return o.num_counters end, ["repeat"] = "expr", field = fields["pcq.string_table.strings"] },
    { id = "rest", name = "(strings and padding)", eos_size = true, filler = true },
  },
  later = {
  },
  holder = "rest",
  values = {
  },
}
types["ms_pcq_string_table.counter_string"] = {
  spelling = "_STRING_COUNTER_HEADER",
  params = { "ofs_base" },
  seq = {
    { id = "counter_id", name = "dwCounterId", kind = "u4", field = fields["pcq.string_table.counter_string.counter_id"] },
    { id = "ofs_string", name = "dwOffset", kind = "u4", special = { [4294967295] = "no string" }, field = fields["pcq.string_table.counter_string.ofs_string"] },
  },
  later = {
    { id = "string", name = "(string)", kind = "strz", condition = function(o) return (o.ofs_string ~= 0xffffffff) end, pos = function(o) return (o.ofs_base + o.ofs_string) end, field = fields["pcq.string_table.counter_string.string"] },
  },
  values = {
  },
}
types["ms_pcq_stubs"] = {
  spelling = "",
  endian = function(o) return o.big_endian end,
  params = { "opnum", "is_response", "ndr64", "big_endian", "has_referent" },
  seq = {
    { id = "request", name = "(request)", switch = function(o) return o.opnum end, cases = { [0] = { kind = "ms_pcq_stubs.enumerate_counter_set_request" }, [1] = { kind = "ms_pcq_stubs.query_counter_set_registration_info_request" }, [2] = { kind = "ms_pcq_stubs.enumerate_counter_set_instances_request" }, [3] = { kind = "ms_pcq_stubs.open_query_handle_request" }, [4] = { kind = "ms_pcq_stubs.close_query_handle_request" }, [5] = { kind = "ms_pcq_stubs.query_counter_info_request" }, [6] = { kind = "ms_pcq_stubs.query_counter_data_request" }, [7] = { kind = "ms_pcq_stubs.validate_counters_request" } }, condition = function(o) return not o.is_response end, field = fields["ms_pcq_stubs.request"] },
    { id = "response", name = "(response)", switch = function(o) return o.opnum end, cases = { [0] = { kind = "ms_pcq_stubs.enumerate_counter_set_response" }, [1] = { kind = "ms_pcq_stubs.query_counter_set_registration_info_response" }, [2] = { kind = "ms_pcq_stubs.enumerate_counter_set_instances_response" }, [3] = { kind = "ms_pcq_stubs.open_query_handle_response" }, [4] = { kind = "ms_pcq_stubs.close_query_handle_response" }, [5] = { kind = "ms_pcq_stubs.query_counter_info_response" }, [6] = { kind = "ms_pcq_stubs.query_counter_data_response" }, [7] = { kind = "ms_pcq_stubs.validate_counters_response" } }, condition = function(o) return o.is_response end, field = fields["ms_pcq_stubs.response"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.enumerate_counter_set_request"] = {
  spelling = "PerflibV2EnumerateCounterSet",
  params = {  },
  seq = {
    { id = "machine", name = "szMachine", kind = "ms_pcq_stubs.machine_name", field = fields["pcq.machine"] },
    { id = "align_in_size", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "in_size", name = "dwInSize", kind = "u4", field = fields["pcq.enumerate_counter_set.in_size"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.enumerate_counter_set_response"] = {
  spelling = "PerflibV2EnumerateCounterSet",
  params = {  },
  seq = {
    { id = "out_size", name = "pdwOutSize", kind = "u4", field = fields["pcq.enumerate_counter_set.out_size"] },
    { id = "rtn_size", name = "pdwRtnSize", kind = "u4", field = fields["pcq.enumerate_counter_set.rtn_size"] },
    { id = "lp_data", name = "lpData", kind = "ndr.conformant_varying", args = function(o) return { 16, o._root.ndr64, o._root.big_endian } end, payload = true, field = fields["pcq.enumerate_counter_set.lp_data"], data = fields["pcq.enumerate_counter_set.lp_data.data"] },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32", field = fields["pcq.status"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.query_counter_set_registration_info_request"] = {
  spelling = "PerflibV2QueryCounterSetRegistrationInfo",
  params = {  },
  seq = {
    { id = "machine", name = "szMachine", kind = "ms_pcq_stubs.machine_name", field = fields["pcq.machine"] },
    { id = "align_counterset_guid", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "counterset_guid", name = "CounterSetGuid", kind = "ndr.uuid", args = function(o) return { o._root.big_endian } end, field = fields["pcq.query_counter_set_registration_info.counterset_guid"] },
    { id = "request_code", name = "RequestCode", kind = "u4", field = fields["pcq.query_counter_set_registration_info.request_code"] },
    { id = "request_lcid", name = "RequestLCID", kind = "u4", field = fields["pcq.query_counter_set_registration_info.request_lcid"] },
    { id = "in_size", name = "dwInSize", kind = "u4", field = fields["pcq.query_counter_set_registration_info.in_size"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.query_counter_set_registration_info_response"] = {
  spelling = "PerflibV2QueryCounterSetRegistrationInfo",
  params = {  },
  seq = {
    { id = "out_size", name = "pdwOutSize", kind = "u4", field = fields["pcq.query_counter_set_registration_info.out_size"] },
    { id = "rtn_size", name = "pdwRtnSize", kind = "u4", field = fields["pcq.query_counter_set_registration_info.rtn_size"] },
    { id = "lp_data", name = "lpData", kind = "ndr.conformant_varying", args = function(o) return { 1, o._root.ndr64, o._root.big_endian } end, payload = true, field = fields["pcq.query_counter_set_registration_info.lp_data"], data = fields["pcq.query_counter_set_registration_info.lp_data.data"] },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32", field = fields["pcq.status"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.enumerate_counter_set_instances_request"] = {
  spelling = "PerflibV2EnumerateCounterSetInstances",
  params = {  },
  seq = {
    { id = "machine", name = "szMachine", kind = "ms_pcq_stubs.machine_name", field = fields["pcq.machine"] },
    { id = "align_counterset_guid", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "counterset_guid", name = "CounterSetGuid", kind = "ndr.uuid", args = function(o) return { o._root.big_endian } end, field = fields["pcq.enumerate_counter_set_instances.counterset_guid"] },
    { id = "in_size", name = "dwInSize", kind = "u4", field = fields["pcq.enumerate_counter_set_instances.in_size"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.enumerate_counter_set_instances_response"] = {
  spelling = "PerflibV2EnumerateCounterSetInstances",
  params = {  },
  seq = {
    { id = "out_size", name = "pdwOutSize", kind = "u4", field = fields["pcq.enumerate_counter_set_instances.out_size"] },
    { id = "rtn_size", name = "pdwRtnSize", kind = "u4", field = fields["pcq.enumerate_counter_set_instances.rtn_size"] },
    { id = "lp_data", name = "lpData", kind = "ndr.conformant_varying", args = function(o) return { 1, o._root.ndr64, o._root.big_endian } end, payload = true, field = fields["pcq.enumerate_counter_set_instances.lp_data"], data = fields["pcq.enumerate_counter_set_instances.lp_data.data"] },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32", field = fields["pcq.status"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.open_query_handle_request"] = {
  spelling = "PerflibV2OpenQueryHandle",
  params = {  },
  seq = {
    { id = "machine", name = "szMachine", kind = "ms_pcq_stubs.machine_name", field = fields["pcq.machine"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.open_query_handle_response"] = {
  spelling = "PerflibV2OpenQueryHandle",
  params = {  },
  seq = {
    { id = "query_handle", name = "phQuery", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end, field = fields["pcq.open_query_handle.query_handle"] },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32", field = fields["pcq.status"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.close_query_handle_request"] = {
  spelling = "PerflibV2CloseQueryHandle",
  params = {  },
  seq = {
    { id = "query_handle", name = "phQuery", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end, field = fields["pcq.close_query_handle.query_handle"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.close_query_handle_response"] = {
  spelling = "PerflibV2CloseQueryHandle",
  params = {  },
  seq = {
    { id = "query_handle", name = "phQuery", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end, field = fields["pcq.close_query_handle.query_handle"] },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32", field = fields["pcq.status"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.query_counter_info_request"] = {
  spelling = "PerflibV2QueryCounterInfo",
  params = {  },
  seq = {
    { id = "query_handle", name = "hQuery", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end, field = fields["pcq.query_counter_info.query_handle"] },
    { id = "in_size", name = "dwInSize", kind = "u4", field = fields["pcq.query_counter_info.in_size"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.query_counter_info_response"] = {
  spelling = "PerflibV2QueryCounterInfo",
  params = {  },
  seq = {
    { id = "out_size", name = "pdwOutSize", kind = "u4", field = fields["pcq.query_counter_info.out_size"] },
    { id = "rtn_size", name = "pdwRtnSize", kind = "u4", field = fields["pcq.query_counter_info.rtn_size"] },
    { id = "lp_data", name = "lpData", kind = "ndr.conformant_varying", args = function(o) return { 1, o._root.ndr64, o._root.big_endian } end, payload = true, field = fields["pcq.query_counter_info.lp_data"], data = fields["pcq.query_counter_info.lp_data.data"] },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32", field = fields["pcq.status"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.query_counter_data_request"] = {
  spelling = "PerflibV2QueryCounterData",
  params = {  },
  seq = {
    { id = "query_handle", name = "hQuery", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end, field = fields["pcq.query_counter_data.query_handle"] },
    { id = "in_size", name = "dwInSize", kind = "u4", field = fields["pcq.query_counter_data.in_size"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.query_counter_data_response"] = {
  spelling = "PerflibV2QueryCounterData",
  params = {  },
  seq = {
    { id = "out_size", name = "pdwOutSize", kind = "u4", field = fields["pcq.query_counter_data.out_size"] },
    { id = "rtn_size", name = "pdwRtnSize", kind = "u4", field = fields["pcq.query_counter_data.rtn_size"] },
    { id = "lp_data", name = "lpData", kind = "ndr.conformant_varying", args = function(o) return { 1, o._root.ndr64, o._root.big_endian } end, payload = true, field = fields["pcq.query_counter_data.lp_data"], data = fields["pcq.query_counter_data.lp_data.data"] },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32", field = fields["pcq.status"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.validate_counters_request"] = {
  spelling = "PerflibV2ValidateCounters",
  params = {  },
  seq = {
    { id = "query_handle", name = "hQuery", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end, field = fields["pcq.validate_counters.query_handle"] },
    { id = "in_size", name = "dwInSize", kind = "u4", field = fields["pcq.validate_counters.in_size"] },
    { id = "lp_data", name = "lpData", kind = "ndr.conformant", args = function(o) return { o._root.ndr64, o._root.big_endian } end, payload = true, field = fields["pcq.validate_counters.lp_data"], data = fields["pcq.validate_counters.lp_data.data"] },
    { id = "align_add", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "add", name = "dwAdd", kind = "u4", field = fields["pcq.validate_counters.add"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.validate_counters_response"] = {
  spelling = "PerflibV2ValidateCounters",
  params = {  },
  seq = {
    { id = "lp_data", name = "lpData", kind = "ndr.conformant", args = function(o) return { o._root.ndr64, o._root.big_endian } end, payload = true, field = fields["pcq.validate_counters.lp_data"], data = fields["pcq.validate_counters.lp_data.data"] },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32", field = fields["pcq.status"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_pcq_stubs.machine_name"] = {
  spelling = "szMachine",
  params = {  },
  seq = {
    { id = "pointer", name = "(referent)", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end, condition = function(o) return o._root.has_referent end, field = fields["pcq.machine.pointer"] },
    { id = "string", name = "(string)", kind = "ndr.conformant_varying", args = function(o) return { 2, o._root.ndr64, o._root.big_endian } end, encoding = "UTF-16", field = fields["pcq.machine.string"], data = fields["pcq.machine.string.data"] },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs"] = {
  spelling = "",
  endian = function(o) return o.big_endian end,
  params = { "opnum", "is_response", "ndr64", "big_endian" },
  seq = {
    { id = "request", name = "(request)", switch = function(o) return o.opnum end, cases = { [0] = { kind = "ms_rrp_stubs.open_classes_root_request" }, [1] = { kind = "ms_rrp_stubs.open_current_user_request" }, [2] = { kind = "ms_rrp_stubs.open_local_machine_request" }, [3] = { kind = "ms_rrp_stubs.open_performance_data_request" }, [4] = { kind = "ms_rrp_stubs.open_users_request" }, [5] = { kind = "ms_rrp_stubs.base_reg_close_key_request" }, [6] = { kind = "ms_rrp_stubs.base_reg_create_key_request" }, [7] = { kind = "ms_rrp_stubs.base_reg_delete_key_request" }, [8] = { kind = "ms_rrp_stubs.base_reg_delete_value_request" }, [9] = { kind = "ms_rrp_stubs.base_reg_enum_key_request" }, [10] = { kind = "ms_rrp_stubs.base_reg_enum_value_request" }, [11] = { kind = "ms_rrp_stubs.base_reg_flush_key_request" }, [13] = { kind = "ms_rrp_stubs.base_reg_load_key_request" }, [15] = { kind = "ms_rrp_stubs.base_reg_open_key_request" }, [16] = { kind = "ms_rrp_stubs.base_reg_query_info_key_request" }, [17] = { kind = "ms_rrp_stubs.base_reg_query_value_request" }, [20] = { kind = "ms_rrp_stubs.base_reg_save_key_request" }, [22] = { kind = "ms_rrp_stubs.base_reg_set_value_request" }, [26] = { kind = "ms_rrp_stubs.base_reg_get_version_request" }, [27] = { kind = "ms_rrp_stubs.open_current_config_request" }, [29] = { kind = "ms_rrp_stubs.base_reg_query_multiple_values_request" }, [31] = { kind = "ms_rrp_stubs.base_reg_save_key_ex_request" }, [32] = { kind = "ms_rrp_stubs.open_performance_text_request" }, [33] = { kind = "ms_rrp_stubs.open_performance_nls_text_request" }, [34] = { kind = "ms_rrp_stubs.base_reg_query_multiple_values2_request" }, [35] = { kind = "ms_rrp_stubs.base_reg_delete_key_ex_request" } }, condition = function(o) return not o.is_response end },
    { id = "response", name = "(response)", switch = function(o) return o.opnum end, cases = { [0] = { kind = "ms_rrp_stubs.open_classes_root_response" }, [1] = { kind = "ms_rrp_stubs.open_current_user_response" }, [2] = { kind = "ms_rrp_stubs.open_local_machine_response" }, [3] = { kind = "ms_rrp_stubs.open_performance_data_response" }, [4] = { kind = "ms_rrp_stubs.open_users_response" }, [5] = { kind = "ms_rrp_stubs.base_reg_close_key_response" }, [6] = { kind = "ms_rrp_stubs.base_reg_create_key_response" }, [7] = { kind = "ms_rrp_stubs.base_reg_delete_key_response" }, [8] = { kind = "ms_rrp_stubs.base_reg_delete_value_response" }, [9] = { kind = "ms_rrp_stubs.base_reg_enum_key_response" }, [10] = { kind = "ms_rrp_stubs.base_reg_enum_value_response" }, [11] = { kind = "ms_rrp_stubs.base_reg_flush_key_response" }, [13] = { kind = "ms_rrp_stubs.base_reg_load_key_response" }, [15] = { kind = "ms_rrp_stubs.base_reg_open_key_response" }, [16] = { kind = "ms_rrp_stubs.base_reg_query_info_key_response" }, [17] = { kind = "ms_rrp_stubs.base_reg_query_value_response" }, [20] = { kind = "ms_rrp_stubs.base_reg_save_key_response" }, [22] = { kind = "ms_rrp_stubs.base_reg_set_value_response" }, [26] = { kind = "ms_rrp_stubs.base_reg_get_version_response" }, [27] = { kind = "ms_rrp_stubs.open_current_config_response" }, [29] = { kind = "ms_rrp_stubs.base_reg_query_multiple_values_response" }, [31] = { kind = "ms_rrp_stubs.base_reg_save_key_ex_response" }, [32] = { kind = "ms_rrp_stubs.open_performance_text_response" }, [33] = { kind = "ms_rrp_stubs.open_performance_nls_text_response" }, [34] = { kind = "ms_rrp_stubs.base_reg_query_multiple_values2_response" }, [35] = { kind = "ms_rrp_stubs.base_reg_delete_key_ex_response" } }, condition = function(o) return o.is_response end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.server_name"] = {
  spelling = "PREGISTRY_SERVER_NAME",
  params = {  },
  seq = {
    { id = "pointer", name = "(referent)", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end },
    { id = "value", name = "ServerName", kind = "u2", condition = function(o) return (o.pointer.referent ~= 0) end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.optional_u4"] = {
  spelling = "LPDWORD",
  params = {  },
  seq = {
    { id = "pointer", name = "(referent)", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end },
    { id = "value", name = "DWORD", kind = "u4", condition = function(o) return (o.pointer.referent ~= 0) end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.optional_data"] = {
  spelling = "LPBYTE",
  params = {  },
  seq = {
    { id = "pointer", name = "(referent)", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end },
    { id = "array", name = "(bytes)", kind = "ndr.conformant_varying", args = function(o) return { 1, o._root.ndr64, o._root.big_endian } end, condition = function(o) return (o.pointer.referent ~= 0) end, payload = true },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.unicode_string"] = {
  spelling = "RRP_UNICODE_STRING",
  params = {  },
  seq = {
    { id = "align_length", name = "(alignment)", size = function(o) return choose(o._root.ndr64, function() return (((8 - (o._io:pos() % 8))) % 8) end, function() return (((4 - (o._io:pos() % 4))) % 4) end) end, filler = true },
    { id = "length", name = "Length", kind = "u2" },
    { id = "maximum_length", name = "MaximumLength", kind = "u2" },
    { id = "pointer", name = "Buffer", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end },
    { id = "string", name = "(string)", kind = "ndr.conformant_varying", args = function(o) return { 2, o._root.ndr64, o._root.big_endian } end, condition = function(o) return (o.pointer.referent ~= 0) end, encoding = "UTF-16" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.filetime"] = {
  spelling = "FILETIME",
  params = {  },
  seq = {
    { id = "align_low", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "low", name = "dwLowDateTime", kind = "u4" },
    { id = "high", name = "dwHighDateTime", kind = "u4" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.optional_unicode_string"] = {
  spelling = "PRPC_UNICODE_STRING",
  params = {  },
  seq = {
    { id = "pointer", name = "(referent)", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end },
    { id = "value", name = "RPC_UNICODE_STRING", kind = "ms_rrp_stubs.unicode_string", condition = function(o) return (o.pointer.referent ~= 0) end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.optional_filetime"] = {
  spelling = "PFILETIME",
  params = {  },
  seq = {
    { id = "pointer", name = "(referent)", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end },
    { id = "value", name = "FILETIME", kind = "ms_rrp_stubs.filetime", condition = function(o) return (o.pointer.referent ~= 0) end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.security_attributes"] = {
  spelling = "PRPC_SECURITY_ATTRIBUTES",
  params = {  },
  seq = {
    { id = "pointer", name = "(referent)", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end },
    { id = "value", name = "RPC_SECURITY_ATTRIBUTES", kind = "ms_rrp_stubs.security_attributes_referent", condition = function(o) return (o.pointer.referent ~= 0) end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.security_attributes_referent"] = {
  spelling = "RPC_SECURITY_ATTRIBUTES",
  params = {  },
  seq = {
    { id = "align_length", name = "(alignment)", size = function(o) return choose(o._root.ndr64, function() return (((8 - (o._io:pos() % 8))) % 8) end, function() return (((4 - (o._io:pos() % 4))) % 4) end) end, filler = true },
    { id = "length", name = "nLength", kind = "u4" },
    { id = "descriptor_pointer", name = "lpSecurityDescriptor", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end },
    { id = "descriptor_room", name = "cbInSecurityDescriptor", kind = "u4" },
    { id = "descriptor_len", name = "cbOutSecurityDescriptor", kind = "u4" },
    { id = "inherit", name = "bInheritHandle", kind = "u1" },
    { id = "descriptor", name = "(security descriptor)", kind = "ndr.conformant_varying", args = function(o) return { 1, o._root.ndr64, o._root.big_endian } end, condition = function(o) return (o.descriptor_pointer.referent ~= 0) end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.rvalent_array"] = {
  spelling = "PRVALENT",
  params = {  },
  seq = {
    { id = "align_counts", name = "(alignment)", size = function(o) return choose(o._root.ndr64, function() return (((8 - (o._io:pos() % 8))) % 8) end, function() return (((4 - (o._io:pos() % 4))) % 4) end) end, filler = true },
    { id = "max_count", name = "max_count", switch = function(o) return o._root.ndr64 end, cases = { [true] = { kind = "u8" }, [false] = { kind = "u4" } } },
    { id = "offset", name = "offset", switch = function(o) return o._root.ndr64 end, cases = { [true] = { kind = "u8" }, [false] = { kind = "u4" } }, valid = function(o) if o._ ~= 0 then return whole(o._) .. " where only 0 is allowed" end end },
    { id = "actual_count", name = "actual_count", switch = function(o) return o._root.ndr64 end, cases = { [true] = { kind = "u8" }, [false] = { kind = "u4" } }, valid = function(o) if o._ > o.max_count then return whole(o._) .. " is above " .. whole(o.max_count) end end },
    { id = "entries", name = "RVALENT", kind = "ms_rrp_stubs.rvalent", count = function(o) return o.actual_count end, ["repeat"] = "expr" },
    { id = "referents", name = "(referents)", kind = "ms_rrp_stubs.rvalent_referents", args = function(o) return { o.entries[o._index + 1] } end, count = function(o) return o.actual_count end, ["repeat"] = "expr" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.rvalent"] = {
  spelling = "RVALENT",
  params = {  },
  seq = {
    { id = "value_name", name = "ve_valuename", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end },
    { id = "value_len", name = "ve_valuelen", kind = "u4" },
    { id = "value_ptr", name = "ve_valueptr", kind = "ndr.pointer", args = function(o) return { o._root.ndr64, o._root.big_endian } end },
    { id = "value_type", name = "ve_type", kind = "u4" },
    { id = "padding", name = "(padding)", size = function(o) return choose(o._root.ndr64, function() return 4 end, function() return 0 end) end, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.rvalent_referents"] = {
  spelling = "RVALENT",
  params = { "entry" },
  seq = {
    { id = "value_name", name = "ve_valuename", kind = "ms_rrp_stubs.unicode_string", condition = function(o) return (o.entry.value_name.referent ~= 0) end },
    { id = "value_ptr", name = "ve_valueptr", kind = "ndr.aligned_u4", args = function(o) return { o._root.big_endian } end, condition = function(o) return (o.entry.value_ptr.referent ~= 0) end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_performance_data_request"] = {
  spelling = "OpenPerformanceData",
  params = {  },
  seq = {
    { id = "server_name", name = "ServerName", kind = "ms_rrp_stubs.server_name" },
    { id = "align_sam_desired", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "sam_desired", name = "samDesired", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_performance_data_response"] = {
  spelling = "OpenPerformanceData",
  params = {  },
  seq = {
    { id = "key", name = "phKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_close_key_request"] = {
  spelling = "BaseRegCloseKey",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_close_key_response"] = {
  spelling = "BaseRegCloseKey",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_enum_value_request"] = {
  spelling = "BaseRegEnumValue",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_index", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "index", name = "dwIndex", kind = "u4" },
    { id = "value_name", name = "lpValueNameIn", kind = "ms_rrp_stubs.unicode_string" },
    { id = "value_type", name = "lpType", kind = "ms_rrp_stubs.optional_u4" },
    { id = "data", name = "lpData", kind = "ms_rrp_stubs.optional_data", payload = true },
    { id = "data_size", name = "lpcbData", kind = "ms_rrp_stubs.optional_u4" },
    { id = "data_len", name = "lpcbLen", kind = "ms_rrp_stubs.optional_u4" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_enum_value_response"] = {
  spelling = "BaseRegEnumValue",
  params = {  },
  seq = {
    { id = "value_name", name = "lpValueNameOut", kind = "ms_rrp_stubs.unicode_string" },
    { id = "value_type", name = "lpType", kind = "ms_rrp_stubs.optional_u4" },
    { id = "data", name = "lpData", kind = "ms_rrp_stubs.optional_data", payload = true },
    { id = "data_size", name = "lpcbData", kind = "ms_rrp_stubs.optional_u4" },
    { id = "data_len", name = "lpcbLen", kind = "ms_rrp_stubs.optional_u4" },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_query_info_key_request"] = {
  spelling = "BaseRegQueryInfoKey",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "class_name", name = "lpClassIn", kind = "ms_rrp_stubs.unicode_string" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_query_info_key_response"] = {
  spelling = "BaseRegQueryInfoKey",
  params = {  },
  seq = {
    { id = "class_name", name = "lpClassOut", kind = "ms_rrp_stubs.unicode_string" },
    { id = "align_num_sub_keys", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "num_sub_keys", name = "lpcSubKeys", kind = "u4" },
    { id = "align_max_sub_key_len", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "max_sub_key_len", name = "lpcbMaxSubKeyLen", kind = "u4" },
    { id = "align_max_class_len", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "max_class_len", name = "lpcbMaxClassLen", kind = "u4" },
    { id = "align_num_values", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "num_values", name = "lpcValues", kind = "u4" },
    { id = "align_max_value_name_len", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "max_value_name_len", name = "lpcbMaxValueNameLen", kind = "u4" },
    { id = "align_max_value_len", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "max_value_len", name = "lpcbMaxValueLen", kind = "u4" },
    { id = "align_security_descriptor_len", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "security_descriptor_len", name = "lpcbSecurityDescriptor", kind = "u4" },
    { id = "last_write_time", name = "lpftLastWriteTime", kind = "ms_rrp_stubs.filetime" },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_query_value_request"] = {
  spelling = "BaseRegQueryValue",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "value_name", name = "lpValueName", kind = "ms_rrp_stubs.unicode_string" },
    { id = "value_type", name = "lpType", kind = "ms_rrp_stubs.optional_u4" },
    { id = "data", name = "lpData", kind = "ms_rrp_stubs.optional_data", payload = true },
    { id = "data_size", name = "lpcbData", kind = "ms_rrp_stubs.optional_u4" },
    { id = "data_len", name = "lpcbLen", kind = "ms_rrp_stubs.optional_u4" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_query_value_response"] = {
  spelling = "BaseRegQueryValue",
  params = {  },
  seq = {
    { id = "value_type", name = "lpType", kind = "ms_rrp_stubs.optional_u4" },
    { id = "data", name = "lpData", kind = "ms_rrp_stubs.optional_data", payload = true },
    { id = "data_size", name = "lpcbData", kind = "ms_rrp_stubs.optional_u4" },
    { id = "data_len", name = "lpcbLen", kind = "ms_rrp_stubs.optional_u4" },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_query_multiple_values_request"] = {
  spelling = "BaseRegQueryMultipleValues",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "values", name = "val_listIn", kind = "ms_rrp_stubs.rvalent_array" },
    { id = "align_num_values", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "num_values", name = "num_vals", kind = "u4" },
    { id = "data", name = "lpvalueBuf", kind = "ms_rrp_stubs.optional_data", payload = true },
    { id = "align_total_size", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "total_size", name = "ldwTotsize", kind = "u4" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_query_multiple_values_response"] = {
  spelling = "BaseRegQueryMultipleValues",
  params = {  },
  seq = {
    { id = "values", name = "val_listOut", kind = "ms_rrp_stubs.rvalent_array" },
    { id = "data", name = "lpvalueBuf", kind = "ms_rrp_stubs.optional_data", payload = true },
    { id = "align_total_size", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "total_size", name = "ldwTotsize", kind = "u4" },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_performance_text_request"] = {
  spelling = "OpenPerformanceText",
  params = {  },
  seq = {
    { id = "server_name", name = "ServerName", kind = "ms_rrp_stubs.server_name" },
    { id = "align_sam_desired", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "sam_desired", name = "samDesired", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_performance_text_response"] = {
  spelling = "OpenPerformanceText",
  params = {  },
  seq = {
    { id = "key", name = "phKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_performance_nls_text_request"] = {
  spelling = "OpenPerformanceNlsText",
  params = {  },
  seq = {
    { id = "server_name", name = "ServerName", kind = "ms_rrp_stubs.server_name" },
    { id = "align_sam_desired", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "sam_desired", name = "samDesired", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_performance_nls_text_response"] = {
  spelling = "OpenPerformanceNlsText",
  params = {  },
  seq = {
    { id = "key", name = "phKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_query_multiple_values2_request"] = {
  spelling = "BaseRegQueryMultipleValues2",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "values", name = "val_listIn", kind = "ms_rrp_stubs.rvalent_array" },
    { id = "align_num_values", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "num_values", name = "num_vals", kind = "u4" },
    { id = "data", name = "lpvalueBuf", kind = "ms_rrp_stubs.optional_data", payload = true },
    { id = "align_total_size", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "total_size", name = "ldwTotsize", kind = "u4" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_query_multiple_values2_response"] = {
  spelling = "BaseRegQueryMultipleValues2",
  params = {  },
  seq = {
    { id = "values", name = "val_listOut", kind = "ms_rrp_stubs.rvalent_array" },
    { id = "data", name = "lpvalueBuf", kind = "ms_rrp_stubs.optional_data", payload = true },
    { id = "align_required_size", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "required_size", name = "ldwRequiredSize", kind = "u4" },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_classes_root_request"] = {
  spelling = "OpenClassesRoot",
  params = {  },
  seq = {
    { id = "server_name", name = "ServerName", kind = "ms_rrp_stubs.server_name" },
    { id = "align_sam_desired", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "sam_desired", name = "samDesired", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_classes_root_response"] = {
  spelling = "OpenClassesRoot",
  params = {  },
  seq = {
    { id = "key", name = "phKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_current_user_request"] = {
  spelling = "OpenCurrentUser",
  params = {  },
  seq = {
    { id = "server_name", name = "ServerName", kind = "ms_rrp_stubs.server_name" },
    { id = "align_sam_desired", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "sam_desired", name = "samDesired", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_current_user_response"] = {
  spelling = "OpenCurrentUser",
  params = {  },
  seq = {
    { id = "key", name = "phKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_local_machine_request"] = {
  spelling = "OpenLocalMachine",
  params = {  },
  seq = {
    { id = "server_name", name = "ServerName", kind = "ms_rrp_stubs.server_name" },
    { id = "align_sam_desired", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "sam_desired", name = "samDesired", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_local_machine_response"] = {
  spelling = "OpenLocalMachine",
  params = {  },
  seq = {
    { id = "key", name = "phKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_users_request"] = {
  spelling = "OpenUsers",
  params = {  },
  seq = {
    { id = "server_name", name = "ServerName", kind = "ms_rrp_stubs.server_name" },
    { id = "align_sam_desired", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "sam_desired", name = "samDesired", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_users_response"] = {
  spelling = "OpenUsers",
  params = {  },
  seq = {
    { id = "key", name = "phKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_create_key_request"] = {
  spelling = "BaseRegCreateKey",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "sub_key", name = "lpSubKey", kind = "ms_rrp_stubs.unicode_string" },
    { id = "class_name", name = "lpClass", kind = "ms_rrp_stubs.unicode_string" },
    { id = "align_options", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "options", name = "dwOptions", kind = "u4", flags = { { 1, "REG_OPTION_VOLATILE" }, { 2, "REG_OPTION_CREATE_LINK" }, { 4, "REG_OPTION_BACKUP_RESTORE" }, { 8, "REG_OPTION_OPEN_LINK" } } },
    { id = "align_sam_desired", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "sam_desired", name = "samDesired", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
    { id = "security", name = "lpSecurityAttributes", kind = "ms_rrp_stubs.security_attributes" },
    { id = "disposition", name = "lpdwDisposition", kind = "ms_rrp_stubs.optional_u4" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_create_key_response"] = {
  spelling = "BaseRegCreateKey",
  params = {  },
  seq = {
    { id = "key", name = "phkResult", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "disposition", name = "lpdwDisposition", kind = "ms_rrp_stubs.optional_u4" },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_delete_key_request"] = {
  spelling = "BaseRegDeleteKey",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "sub_key", name = "lpSubKey", kind = "ms_rrp_stubs.unicode_string" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_delete_key_response"] = {
  spelling = "BaseRegDeleteKey",
  params = {  },
  seq = {
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_delete_value_request"] = {
  spelling = "BaseRegDeleteValue",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "value_name", name = "lpValueName", kind = "ms_rrp_stubs.unicode_string" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_delete_value_response"] = {
  spelling = "BaseRegDeleteValue",
  params = {  },
  seq = {
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_enum_key_request"] = {
  spelling = "BaseRegEnumKey",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_index", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "index", name = "dwIndex", kind = "u4" },
    { id = "name", name = "lpNameIn", kind = "ms_rrp_stubs.unicode_string" },
    { id = "class_name", name = "lpClassIn", kind = "ms_rrp_stubs.optional_unicode_string" },
    { id = "last_write_time", name = "lpftLastWriteTime", kind = "ms_rrp_stubs.optional_filetime" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_enum_key_response"] = {
  spelling = "BaseRegEnumKey",
  params = {  },
  seq = {
    { id = "name", name = "lpNameOut", kind = "ms_rrp_stubs.unicode_string" },
    { id = "class_name", name = "lplpClassOut", kind = "ms_rrp_stubs.optional_unicode_string" },
    { id = "last_write_time", name = "lpftLastWriteTime", kind = "ms_rrp_stubs.optional_filetime" },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_flush_key_request"] = {
  spelling = "BaseRegFlushKey",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_flush_key_response"] = {
  spelling = "BaseRegFlushKey",
  params = {  },
  seq = {
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_load_key_request"] = {
  spelling = "BaseRegLoadKey",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "sub_key", name = "lpSubKey", kind = "ms_rrp_stubs.unicode_string" },
    { id = "file", name = "lpFile", kind = "ms_rrp_stubs.unicode_string" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_load_key_response"] = {
  spelling = "BaseRegLoadKey",
  params = {  },
  seq = {
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_open_key_request"] = {
  spelling = "BaseRegOpenKey",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "sub_key", name = "lpSubKey", kind = "ms_rrp_stubs.unicode_string" },
    { id = "align_options", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "options", name = "dwOptions", kind = "u4", flags = { { 1, "REG_OPTION_VOLATILE" }, { 2, "REG_OPTION_CREATE_LINK" }, { 4, "REG_OPTION_BACKUP_RESTORE" }, { 8, "REG_OPTION_OPEN_LINK" } } },
    { id = "align_sam_desired", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "sam_desired", name = "samDesired", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_open_key_response"] = {
  spelling = "BaseRegOpenKey",
  params = {  },
  seq = {
    { id = "key", name = "phkResult", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_save_key_request"] = {
  spelling = "BaseRegSaveKey",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "file", name = "lpFile", kind = "ms_rrp_stubs.unicode_string" },
    { id = "security", name = "pSecurityAttributes", kind = "ms_rrp_stubs.security_attributes" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_save_key_response"] = {
  spelling = "BaseRegSaveKey",
  params = {  },
  seq = {
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_set_value_request"] = {
  spelling = "BaseRegSetValue",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "value_name", name = "lpValueName", kind = "ms_rrp_stubs.unicode_string" },
    { id = "align_value_type", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "value_type", name = "dwType", kind = "u4" },
    { id = "data", name = "lpData", kind = "ndr.conformant", args = function(o) return { o._root.ndr64, o._root.big_endian } end, payload = true },
    { id = "align_data_size", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "data_size", name = "cbData", kind = "u4" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_set_value_response"] = {
  spelling = "BaseRegSetValue",
  params = {  },
  seq = {
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_get_version_request"] = {
  spelling = "BaseRegGetVersion",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_get_version_response"] = {
  spelling = "BaseRegGetVersion",
  params = {  },
  seq = {
    { id = "align_version", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "version", name = "lpdwVersion", kind = "u4" },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_current_config_request"] = {
  spelling = "OpenCurrentConfig",
  params = {  },
  seq = {
    { id = "server_name", name = "ServerName", kind = "ms_rrp_stubs.server_name" },
    { id = "align_sam_desired", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "sam_desired", name = "samDesired", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.open_current_config_response"] = {
  spelling = "OpenCurrentConfig",
  params = {  },
  seq = {
    { id = "key", name = "phKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_save_key_ex_request"] = {
  spelling = "BaseRegSaveKeyEx",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "file", name = "lpFile", kind = "ms_rrp_stubs.unicode_string" },
    { id = "security", name = "pSecurityAttributes", kind = "ms_rrp_stubs.security_attributes" },
    { id = "align_flags", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "flags", name = "Flags", kind = "u4" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_save_key_ex_response"] = {
  spelling = "BaseRegSaveKeyEx",
  params = {  },
  seq = {
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_delete_key_ex_request"] = {
  spelling = "BaseRegDeleteKeyEx",
  params = {  },
  seq = {
    { id = "key", name = "hKey", kind = "ndr.context_handle", args = function(o) return { o._root.big_endian } end },
    { id = "sub_key", name = "lpSubKey", kind = "ms_rrp_stubs.unicode_string" },
    { id = "align_access_mask", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "access_mask", name = "AccessMask", kind = "u4", flags = { { 1, "KEY_QUERY_VALUE" }, { 2, "KEY_SET_VALUE" }, { 4, "KEY_CREATE_SUB_KEY" }, { 8, "KEY_ENUMERATE_SUB_KEYS" }, { 16, "KEY_NOTIFY" }, { 32, "KEY_CREATE_LINK" }, { 256, "KEY_WOW64_64KEY" }, { 512, "KEY_WOW64_32KEY" }, { 33554432, "MAXIMUM_ALLOWED" } } },
    { id = "align_reserved", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "reserved", name = "Reserved", kind = "u4" },
  },
  later = {
  },
  values = {
  },
}
types["ms_rrp_stubs.base_reg_delete_key_ex_response"] = {
  spelling = "BaseRegDeleteKeyEx",
  params = {  },
  seq = {
    { id = "align_status", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "status", name = "(return value)", kind = "u4", meaning = "win32" },
  },
  later = {
  },
  values = {
  },
}
types["name_table"] = {
  spelling = "",
  endian = function() return false end,
  params = {  },
  seq = {
    { id = "entries", name = "(pair)", kind = "name_table.entry", condition = function(o) return not o._io:eof() end, ["until"] = function(o) return ((#o._.index == 0) or o._io:eof()) end, ["repeat"] = "until", field = fields["winperf.name_table.entries"] },
    { id = "rest", name = "(bytes after the end)", eos_size = true, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["name_table.entry"] = {
  spelling = "(pair)",
  params = {  },
  seq = {
    { id = "index", name = "(index)", kind = "strz", eos = true, field = fields["winperf.name_table.entry.index"] },
    { id = "text", name = "(text)", kind = "strz", condition = function(o) return (#o.index ~= 0) end, eos = true, field = fields["winperf.name_table.entry.text"] },
  },
  later = {
  },
  values = {
  },
}
types["ndr"] = {
  spelling = "",
  params = {  },
  seq = {
  },
  later = {
  },
  values = {
  },
}
types["ndr.uuid"] = {
  spelling = "uuid_t",
  leaf = "uuid",
  endian = function(o) return o.big_endian end,
  params = { "big_endian" },
  seq = {
    { id = "data1", name = "time_low", kind = "u4", field = fields["pcq.ndr.uuid.data1"] },
    { id = "data2", name = "time_mid", kind = "u2", field = fields["pcq.ndr.uuid.data2"] },
    { id = "data3", name = "time_hi_and_version", kind = "u2", field = fields["pcq.ndr.uuid.data3"] },
    { id = "data4", name = "clock_seq, node", size = function(o) return 8 end, field = fields["pcq.ndr.uuid.data4"] },
  },
  later = {
  },
  values = {
  },
}
types["ndr.context_handle"] = {
  spelling = "ndr_context_handle",
  endian = function(o) return o.big_endian end,
  params = { "big_endian" },
  seq = {
    { id = "align_attributes", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "attributes", name = "context_handle_attributes", kind = "u4", field = fields["pcq.ndr.context_handle.attributes"] },
    { id = "uuid", name = "context_handle_uuid", kind = "ndr.uuid", args = function(o) return { o.big_endian } end, field = fields["pcq.ndr.context_handle.uuid"] },
  },
  later = {
  },
  values = {
  },
}
types["ndr.conformant_varying"] = {
  spelling = "(conformant varying array)",
  wraps = true,
  endian = function(o) return o.big_endian end,
  params = { "len_element", "ndr64", "big_endian" },
  seq = {
    { id = "align_counts", name = "(alignment)", size = function(o) return choose(o.ndr64, function() return (((8 - (o._io:pos() % 8))) % 8) end, function() return (((4 - (o._io:pos() % 4))) % 4) end) end, filler = true },
    { id = "max_count", name = "max_count", switch = function(o) return o.ndr64 end, cases = { [true] = { kind = "u8" }, [false] = { kind = "u4" } }, field = fields["pcq.ndr.conformant_varying.max_count"], wide = true },
    { id = "offset", name = "offset", switch = function(o) return o.ndr64 end, cases = { [true] = { kind = "u8" }, [false] = { kind = "u4" } }, valid = function(o) if o._ ~= 0 then return whole(o._) .. " where only 0 is allowed" end end, field = fields["pcq.ndr.conformant_varying.offset"], wide = true },
    { id = "actual_count", name = "actual_count", switch = function(o) return o.ndr64 end, cases = { [true] = { kind = "u8" }, [false] = { kind = "u4" } }, valid = function(o) if o._ > o.max_count then return whole(o._) .. " is above " .. whole(o.max_count) end end, field = fields["pcq.ndr.conformant_varying.actual_count"], wide = true },
    { id = "data", name = "(elements)", size = function(o) return (o.actual_count * o.len_element) end, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ndr.conformant"] = {
  spelling = "(conformant array)",
  wraps = true,
  endian = function(o) return o.big_endian end,
  params = { "ndr64", "big_endian" },
  seq = {
    { id = "align_counts", name = "(alignment)", size = function(o) return choose(o.ndr64, function() return (((8 - (o._io:pos() % 8))) % 8) end, function() return (((4 - (o._io:pos() % 4))) % 4) end) end, filler = true },
    { id = "max_count", name = "max_count", switch = function(o) return o.ndr64 end, cases = { [true] = { kind = "u8" }, [false] = { kind = "u4" } }, field = fields["pcq.ndr.conformant.max_count"], wide = true },
    { id = "data", name = "(elements)", size = function(o) return o.max_count end, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["ndr.pointer"] = {
  spelling = "(unique pointer)",
  endian = function(o) return o.big_endian end,
  params = { "ndr64", "big_endian" },
  seq = {
    { id = "align_referent", name = "(alignment)", size = function(o) return choose(o.ndr64, function() return (((8 - (o._io:pos() % 8))) % 8) end, function() return (((4 - (o._io:pos() % 4))) % 4) end) end, filler = true },
    { id = "referent", name = "referent_id", switch = function(o) return o.ndr64 end, cases = { [true] = { kind = "u8" }, [false] = { kind = "u4" } }, field = fields["pcq.ndr.pointer.referent"], wide = true },
  },
  later = {
  },
  values = {
  },
}
types["ndr.aligned_u4"] = {
  spelling = "unsigned long",
  endian = function(o) return o.big_endian end,
  params = { "big_endian" },
  seq = {
    { id = "align_value", name = "(alignment)", size = function(o) return (((4 - (o._io:pos() % 4))) % 4) end, filler = true },
    { id = "value", name = "unsigned long", kind = "u4", field = fields["pcq.ndr.aligned_u4.value"] },
  },
  later = {
  },
  values = {
  },
}
types["winperf"] = {
  spelling = "PERF_DATA_BLOCK",
  endian = function(o) return o.big_endian end,
  params = { "big_endian" },
  seq = {
    { id = "signature", name = "Signature", size = function(o) return 8 end, encoding = "UTF-16", valid = function(o) if not (o._ == "\80\0\69\0\82\0\70\0" or o._ == "\0\80\0\69\0\82\0\70") then return "not allowed here" end end, field = fields["winperf.signature"] },
    { id = "little_endian", name = "LittleEndian", kind = "u4", special = { [0] = "big-endian", [1] = "little-endian" }, field = fields["winperf.little_endian"] },
    { id = "version", name = "Version", kind = "u4", field = fields["winperf.version"] },
    { id = "revision", name = "Revision", kind = "u4", field = fields["winperf.revision"] },
    { id = "total_byte_length", name = "TotalByteLength", kind = "u4", field = fields["winperf.total_byte_length"] },
    { id = "header_length", name = "HeaderLength", kind = "u4", valid = function(o) if o._ < 88 then return whole(o._) .. " is below " .. whole(88) end end, field = fields["winperf.header_length"] },
    { id = "num_object_types", name = "NumObjectTypes", kind = "u4", field = fields["winperf.num_object_types"] },
    { id = "default_object", name = "DefaultObject", kind = "s4", field = fields["winperf.default_object"] },
    { id = "system_time", name = "SystemTime", kind = "winperf.systemtime", field = fields["winperf.system_time"] },
    { id = "align_perf_time", name = "(alignment)", size = function(o) return 4 end, filler = true },
    { id = "perf_time", name = "PerfTime", kind = "s8", field = fields["winperf.perf_time"] },
    { id = "perf_freq", name = "PerfFreq", kind = "s8", field = fields["winperf.perf_freq"] },
    { id = "perf_time_100ns", name = "PerfTime100nSec", kind = "s8", meaning = "filetime", field = fields["winperf.perf_time_100ns"] },
    { id = "system_name_length", name = "SystemNameLength", kind = "u4", field = fields["winperf.system_name_length"] },
    { id = "system_name_offset", name = "SystemNameOffset", kind = "u4", valid = function(o) if not (((o.system_name_length == 0) or ((o._ + o.system_name_length) <= o._io:size()))) then return whole(o._) .. " is not allowed here" end end, field = fields["winperf.system_name_offset"] },
    { id = "header_rest", name = "(rest of the header, with the name)", size = function(o) return (o.header_length - 88) end, filler = true },
    { id = "objects", name = "PERF_OBJECT_TYPE", kind = "winperf.perf_object", count = function(o) return o.num_object_types end, ["repeat"] = "expr", field = fields["winperf.objects"] },
    { id = "rest", name = "(bytes left over)", eos_size = true, filler = true },
    { id = "missing", name = "(bytes beyond the end)", size = function(o) return choose((o.total_byte_length > o._io:size()), function() return (o.total_byte_length - o._io:size()) end, function() return 0 end) end, filler = true },
  },
  later = {
    { id = "system_name", name = "(system name)", size = function(o) return o.system_name_length end, condition = function(o) return (o.system_name_length ~= 0) end, pos = function(o) return o.system_name_offset end, encoding = "UTF-16", field = fields["winperf.system_name"] },
  },
  holder = "header_rest",
  values = {
  },
}
types["winperf.systemtime"] = {
  spelling = "SYSTEMTIME",
  params = {  },
  seq = {
    { id = "year", name = "wYear", kind = "u2", field = fields["winperf.systemtime.year"] },
    { id = "month", name = "wMonth", kind = "u2", field = fields["winperf.systemtime.month"] },
    { id = "day_of_week", name = "wDayOfWeek", kind = "u2", field = fields["winperf.systemtime.day_of_week"] },
    { id = "day", name = "wDay", kind = "u2", field = fields["winperf.systemtime.day"] },
    { id = "hour", name = "wHour", kind = "u2", field = fields["winperf.systemtime.hour"] },
    { id = "minute", name = "wMinute", kind = "u2", field = fields["winperf.systemtime.minute"] },
    { id = "second", name = "wSecond", kind = "u2", field = fields["winperf.systemtime.second"] },
    { id = "milliseconds", name = "wMilliseconds", kind = "u2", field = fields["winperf.systemtime.milliseconds"] },
  },
  later = {
  },
  values = {
  },
}
types["winperf.perf_object"] = {
  spelling = "PERF_OBJECT_TYPE",
  params = {  },
  seq = {
    { id = "total_byte_length", name = "TotalByteLength", kind = "u4", valid = function(o) if o._ < 64 then return whole(o._) .. " is below " .. whole(64) end end, field = fields["winperf.object.total_byte_length"] },
    { id = "raw_body", name = "(bytes of the object)", size = function(o) return o.len_body end, filler = true },
    { id = "missing", name = "(bytes beyond the end)", size = function(o) return ((o.total_byte_length - 4) - o.len_body) end, filler = true },
  },
  later = {
    { id = "body", name = "(object)", kind = "winperf.object_body", size = function(o) return o.len_body end, pos = function(o) return o.ofs_body end, field = fields["winperf.object.body"] },
  },
  holder = "raw_body",
  values = {
    ofs_body = function(o) return o._io:pos() end,
    len_body = function(o) return choose(((o.total_byte_length - 4) < (o._io:size() - o.ofs_body)), function() return (o.total_byte_length - 4) end, function() return (o._io:size() - o.ofs_body) end) end,
  },
}
types["winperf.object_body"] = {
  spelling = "PERF_OBJECT_TYPE",
  page = "code_page",
  params = {  },
  seq = {
    { id = "definition_length", name = "DefinitionLength", kind = "u4", valid = function(o) if o._ < 64 then return whole(o._) .. " is below " .. whole(64) end end, field = fields["winperf.object.definition_length"] },
    { id = "header_length", name = "HeaderLength", kind = "u4", valid = function(o) if o._ < 64 then return whole(o._) .. " is below " .. whole(64) end end, field = fields["winperf.object.header_length"] },
    { id = "object_name_title_index", name = "ObjectNameTitleIndex", kind = "u4", field = fields["winperf.object.name_title_index"] },
    { id = "object_name_title", name = "ObjectNameTitle", kind = "u4", field = fields["winperf.object.name_title"] },
    { id = "object_help_title_index", name = "ObjectHelpTitleIndex", kind = "u4", field = fields["winperf.object.help_title_index"] },
    { id = "object_help_title", name = "ObjectHelpTitle", kind = "u4", field = fields["winperf.object.help_title"] },
    { id = "detail_level", name = "DetailLevel", kind = "u4", field = fields["winperf.object.detail_level"] },
    { id = "num_counters", name = "NumCounters", kind = "u4", field = fields["winperf.object.num_counters"] },
    { id = "default_counter", name = "DefaultCounter", kind = "s4", field = fields["winperf.object.default_counter"] },
    { id = "num_instances", name = "NumInstances", kind = "s4", special = { [-1] = "no instances", [-2] = "metadata only, of an object with instances", [-3] = "metadata only, of an object without instances" }, valid = function(o) if o._ < (-3) then return whole(o._) .. " is below " .. whole((-3)) end end, field = fields["winperf.object.num_instances"] },
    { id = "code_page", name = "CodePage", kind = "u4", field = fields["winperf.object.code_page"] },
    { id = "perf_time", name = "PerfTime", kind = "s8", field = fields["winperf.object.perf_time"] },
    { id = "perf_freq", name = "PerfFreq", kind = "s8", field = fields["winperf.object.perf_freq"] },
    { id = "header_rest", name = "(rest of the header)", size = function(o) return (o.header_length - 64) end, filler = true },
    { id = "counters", name = "PERF_COUNTER_DEFINITION", kind = "winperf.counter_definition", count = function(o) return o.num_counters end, ["repeat"] = "expr", field = fields["winperf.object.counters"] },
    { id = "definition_rest", name = "(rest of the definitions)", size = function(o) return ((o.definition_length - 4) - o._io:pos()) end, filler = true },
    { id = "counter_block", name = "PERF_COUNTER_BLOCK", kind = "winperf.counter_block", args = function(o) return { o.counters, true } end, condition = function(o) return (o.num_instances == (-1)) end, field = fields["winperf.object.counter_block"] },
    { id = "instances", name = "PERF_INSTANCE_DEFINITION", kind = "winperf.instance", args = function(o) return { o.counters, (o._index == (o.num_instances - 1)) } end, condition = function(o) return (o.num_instances >= 0) end, count = function(o) return o.num_instances end, ["repeat"] = "expr", field = fields["winperf.object.instances"] },
    { id = "rest", name = "(bytes left over)", eos_size = true, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["winperf.counter_definition"] = {
  spelling = "PERF_COUNTER_DEFINITION",
  params = {  },
  seq = {
    { id = "byte_length", name = "ByteLength", kind = "u4", valid = function(o) if o._ < 40 then return whole(o._) .. " is below " .. whole(40) end end, field = fields["winperf.counter_definition.byte_length"] },
    { id = "counter_name_title_index", name = "CounterNameTitleIndex", kind = "u4", field = fields["winperf.counter_definition.counter_name_title_index"] },
    { id = "counter_name_title", name = "CounterNameTitle", kind = "u4", field = fields["winperf.counter_definition.counter_name_title"] },
    { id = "counter_help_title_index", name = "CounterHelpTitleIndex", kind = "u4", field = fields["winperf.counter_definition.counter_help_title_index"] },
    { id = "counter_help_title", name = "CounterHelpTitle", kind = "u4", field = fields["winperf.counter_definition.counter_help_title"] },
    { id = "default_scale", name = "DefaultScale", kind = "s4", field = fields["winperf.counter_definition.default_scale"] },
    { id = "detail_level", name = "DetailLevel", kind = "u4", field = fields["winperf.counter_definition.detail_level"] },
    { id = "counter_type", name = "CounterType", kind = "u4", field = fields["winperf.counter_definition.counter_type"] },
    { id = "counter_size", name = "CounterSize", kind = "u4", field = fields["winperf.counter_definition.counter_size"] },
    { id = "counter_offset", name = "CounterOffset", kind = "u4", field = fields["winperf.counter_definition.counter_offset"] },
    { id = "rest", name = "(rest of the definition)", size = function(o) return (o.byte_length - 40) end, filler = true },
  },
  later = {
  },
  values = {
  },
}
types["winperf.counter_block"] = {
  spelling = "PERF_COUNTER_BLOCK",
  params = { "definitions", "is_last" },
  seq = {
    { id = "byte_length", name = "ByteLength", kind = "u4", valid = function(o) if not (((o._ >= 4) and (o._ >= #o.definitions))) then return whole(o._) .. " is not allowed here" end end, field = fields["winperf.counter_block.byte_length"] },
    { id = "body", name = "(values)", kind = "winperf.counter_values", args = function(o) return { o.definitions } end, size = function(o) return o.len_body end, field = fields["winperf.counter_block.body"] },
    { id = "missing", name = "(bytes beyond the end)", size = function(o) return choose(((o.byte_length - 4) > o.len_body), function() return ((o.byte_length - 4) - o.len_body) end, function() return 0 end) end, filler = true },
  },
  later = {
  },
  values = {
    len_body = function(o) return choose((not o.is_last and ((o.byte_length - 4) < (o._io:size() - o._io:pos()))), function() return (o.byte_length - 4) end, function() return (o._io:size() - o._io:pos()) end) end,
  },
}
types["winperf.counter_values"] = {
  spelling = "PERF_COUNTER_BLOCK",
  bare = true,
  params = { "definitions" },
  seq = {
    { id = "values", name = "(value)", kind = "winperf.counter_value", args = function(o) return { o.definitions[o._index + 1] } end, count = function(o) return #o.definitions end, ["repeat"] = "expr", field = fields["winperf.counter_block.values"] },
    { id = "raw", name = "(bytes of all values)", eos_size = true, filler = true },
  },
  later = {
  },
  holder = "raw",
  values = {
  },
}
types["winperf.counter_value"] = {
  spelling = "(value)",
  bare = true,
  params = { "definition" },
  seq = {
  },
  later = {
    { id = "value", name = "(value)", size = function(o) return o.definition.counter_size end, condition = function(o) return (o.definition.counter_size ~= 0) end, pos = function(o) return (o.definition.counter_offset - 4) end, meaning = "v1-value", field = fields["winperf.counter_block.value"], text = fields["winperf.counter_block.value.text"], raw = fields["winperf.counter_block.value.bytes"] },
  },
  values = {
  },
}
types["winperf.instance"] = {
  spelling = "PERF_INSTANCE_DEFINITION, PERF_COUNTER_BLOCK",
  params = { "definitions", "is_last" },
  seq = {
    { id = "byte_length", name = "ByteLength", kind = "u4", valid = function(o) if o._ < 24 then return whole(o._) .. " is below " .. whole(24) end end, field = fields["winperf.instance.byte_length"] },
    { id = "definition", name = "PERF_INSTANCE_DEFINITION", kind = "winperf.instance_body", size = function(o) return (o.byte_length - 4) end, field = fields["winperf.instance.definition"] },
    { id = "counter_block", name = "PERF_COUNTER_BLOCK", kind = "winperf.counter_block", args = function(o) return { o.definitions, o.is_last } end, field = fields["winperf.instance.counter_block"] },
  },
  later = {
  },
  values = {
  },
}
types["winperf.instance_body"] = {
  spelling = "PERF_INSTANCE_DEFINITION",
  params = {  },
  seq = {
    { id = "parent_object_title_index", name = "ParentObjectTitleIndex", kind = "u4", field = fields["winperf.instance.parent_object_title_index"] },
    { id = "parent_object_instance", name = "ParentObjectInstance", kind = "u4", field = fields["winperf.instance.parent_object_instance"] },
    { id = "unique_id", name = "UniqueID", kind = "s4", special = { [-1] = "none" }, field = fields["winperf.instance.unique_id"] },
    { id = "name_offset", name = "NameOffset", kind = "u4", field = fields["winperf.instance.name_offset"] },
    { id = "name_length", name = "NameLength", kind = "u4", field = fields["winperf.instance.name_length"] },
    { id = "rest", name = "(name and padding)", eos_size = true, filler = true },
  },
  later = {
    { id = "name", name = "(name)", size = function(o) return o.name_length end, condition = function(o) return (o.name_length ~= 0) end, pos = function(o) return (o.name_offset - 4) end, encoding = "code-page", field = fields["winperf.instance.name"] },
  },
  holder = "rest",
  values = {
  },
}
local stubs = { request = { [0] = "ms_pcq_stubs.enumerate_counter_set_request", [1] = "ms_pcq_stubs.query_counter_set_registration_info_request", [2] = "ms_pcq_stubs.enumerate_counter_set_instances_request", [3] = "ms_pcq_stubs.open_query_handle_request", [4] = "ms_pcq_stubs.close_query_handle_request", [5] = "ms_pcq_stubs.query_counter_info_request", [6] = "ms_pcq_stubs.query_counter_data_request", [7] = "ms_pcq_stubs.validate_counters_request" }, response = { [0] = "ms_pcq_stubs.enumerate_counter_set_response", [1] = "ms_pcq_stubs.query_counter_set_registration_info_response", [2] = "ms_pcq_stubs.enumerate_counter_set_instances_response", [3] = "ms_pcq_stubs.open_query_handle_response", [4] = "ms_pcq_stubs.close_query_handle_response", [5] = "ms_pcq_stubs.query_counter_info_response", [6] = "ms_pcq_stubs.query_counter_data_response", [7] = "ms_pcq_stubs.validate_counters_response" } }
local winreg_stubs = { request = { [0] = "ms_rrp_stubs.open_classes_root_request", [1] = "ms_rrp_stubs.open_current_user_request", [2] = "ms_rrp_stubs.open_local_machine_request", [3] = "ms_rrp_stubs.open_performance_data_request", [4] = "ms_rrp_stubs.open_users_request", [5] = "ms_rrp_stubs.base_reg_close_key_request", [6] = "ms_rrp_stubs.base_reg_create_key_request", [7] = "ms_rrp_stubs.base_reg_delete_key_request", [8] = "ms_rrp_stubs.base_reg_delete_value_request", [9] = "ms_rrp_stubs.base_reg_enum_key_request", [10] = "ms_rrp_stubs.base_reg_enum_value_request", [11] = "ms_rrp_stubs.base_reg_flush_key_request", [13] = "ms_rrp_stubs.base_reg_load_key_request", [15] = "ms_rrp_stubs.base_reg_open_key_request", [16] = "ms_rrp_stubs.base_reg_query_info_key_request", [17] = "ms_rrp_stubs.base_reg_query_value_request", [20] = "ms_rrp_stubs.base_reg_save_key_request", [22] = "ms_rrp_stubs.base_reg_set_value_request", [26] = "ms_rrp_stubs.base_reg_get_version_request", [27] = "ms_rrp_stubs.open_current_config_request", [29] = "ms_rrp_stubs.base_reg_query_multiple_values_request", [31] = "ms_rrp_stubs.base_reg_save_key_ex_request", [32] = "ms_rrp_stubs.open_performance_text_request", [33] = "ms_rrp_stubs.open_performance_nls_text_request", [34] = "ms_rrp_stubs.base_reg_query_multiple_values2_request", [35] = "ms_rrp_stubs.base_reg_delete_key_ex_request" }, response = { [0] = "ms_rrp_stubs.open_classes_root_response", [1] = "ms_rrp_stubs.open_current_user_response", [2] = "ms_rrp_stubs.open_local_machine_response", [3] = "ms_rrp_stubs.open_performance_data_response", [4] = "ms_rrp_stubs.open_users_response", [5] = "ms_rrp_stubs.base_reg_close_key_response", [6] = "ms_rrp_stubs.base_reg_create_key_response", [7] = "ms_rrp_stubs.base_reg_delete_key_response", [8] = "ms_rrp_stubs.base_reg_delete_value_response", [9] = "ms_rrp_stubs.base_reg_enum_key_response", [10] = "ms_rrp_stubs.base_reg_enum_value_response", [11] = "ms_rrp_stubs.base_reg_flush_key_response", [13] = "ms_rrp_stubs.base_reg_load_key_response", [15] = "ms_rrp_stubs.base_reg_open_key_response", [16] = "ms_rrp_stubs.base_reg_query_info_key_response", [17] = "ms_rrp_stubs.base_reg_query_value_response", [20] = "ms_rrp_stubs.base_reg_save_key_response", [22] = "ms_rrp_stubs.base_reg_set_value_response", [26] = "ms_rrp_stubs.base_reg_get_version_response", [27] = "ms_rrp_stubs.open_current_config_response", [29] = "ms_rrp_stubs.base_reg_query_multiple_values_response", [31] = "ms_rrp_stubs.base_reg_save_key_ex_response", [32] = "ms_rrp_stubs.open_performance_text_response", [33] = "ms_rrp_stubs.open_performance_nls_text_response", [34] = "ms_rrp_stubs.base_reg_query_multiple_values2_response", [35] = "ms_rrp_stubs.base_reg_delete_key_ex_response" } }

-- Reads the structures that the generated part describes, and shows them in Wireshark's tree.
--
-- A description has `seq` (its fields in order), `later` (fields with positions of their own), `values` (numbers computed from them)
-- and `params`. What is read stands in a table by the fields' names; expressions of the descriptions are functions of it.

local DAMAGE = {}

local Stream = {}
Stream.__index = Stream

-- The bytes of `tvb` from `start` to `stop`, which a structure is read from.
local function stream(tvb, start, stop)
  return setmetatable({ tvb = tvb, start = start, stop = stop, at = start }, Stream)
end

function Stream:pos() return self.at - self.start end
function Stream:size() return self.stop - self.start end
function Stream:eof() return self.at >= self.stop end

-- Marks a place of the tree as damaged, and ends reading the structure.
local function fail(tree, s, text, item)
  if tree then
    if item then
      item:add_proto_expert_info(experts.damaged, text)
    else
      local at = math.max(math.min(s.at, s.stop - 1), s.start)
      if at < s.stop then
        tree:add_tvb_expert_info(experts.damaged, s.tvb(at, s.stop - at), text)
      else
        tree:add_proto_expert_info(experts.damaged, text)
      end
    end
  end
  error(DAMAGE, 0)
end

-- The place of the next `length` bytes.
local function take(f, s, tree, length)
  if length < 0 then fail(tree, s, string.format("%s: a length of %.0f", f.name, length)) end
  if s.at + length > s.stop then
    fail(tree, s, string.format("%s: %.0f bytes wanted, %.0f left", f.name, length, s.stop - s.at))
  end
  local at = s.at
  s.at = at + length
  return at
end

-- Whether a call raised damage; anything else is a mistake of this script and passed on.
local function contained(...)
  local ok, problem = pcall(...)
  if not ok and problem ~= DAMAGE then error(problem, 0) end
  return ok
end

function choose(condition, yes, no)
  if condition then return yes() end
  return no()
end

-- A number with all its digits.
function whole(number) return string.format("%.0f", number) end

-- Bytes before the first NUL of 16 bits, and whether there is one.
local function wide_length(tvb, at, length)
  local raw = tvb:raw(at, length)
  local found = raw:find("\0\0", 1, true)
  while found and found % 2 == 0 do found = raw:find("\0\0", found + 1, true) end
  if found then return found - 1, true end
  return length - length % 2, false
end

local function wide(tvb, at, length, be)
  if length == 0 then return "" end
  return be and tvb(at, length):ustring() or tvb(at, length):le_ustring()
end

local function narrow(tvb, at, length, page)
  local used = (tvb:raw(at, length):find("\0", 1, true) or length + 1) - 1
  if used == 0 then return "", 0 end
  return tvb(at, used):string(page == 1252 and ENC_WINDOWS_1252 or ENC_ISO_8859_1), used
end

-- winperf.h: the class of a counter type, and which texts are of single bytes.
local function is_text(kind) return bit.band(kind, 0xC00) == 0x800 end
local function is_ascii(kind) return bit.band(kind, 0x10000) ~= 0 end

local function number(range, length, be, signed)
  if length == 8 then
    if signed then return be and range:int64() or range:le_int64() end
    return be and range:uint64() or range:le_uint64()
  end
  if signed then return be and range:int() or range:le_int() end
  return be and range:uint() or range:le_uint()
end

-- 100 ns since 1601, as a time of Wireshark's.
local function filetime(value)
  local since = value - UInt64.new(0xD53E8000, 0x019DB1DE)
  local seconds = (since / 10000000):tonumber()
  local rest = (since % 10000000):tonumber()
  return NSTime.new(seconds, rest * 100)
end

local function read_int(f, kind, s, tree, be)
  local length, signed = tonumber(kind:sub(2)), kind:sub(1, 1) == "s"
  local at = take(f, s, tree, length)
  local range = s.tvb(at, length)
  local value = number(range, length, be, signed)
  local plain = length == 8 and value:tonumber() or value
  local item
  if tree then
    if f.meaning == "filetime" then
      item = tree:add(f.field, range, filetime(value))
    else
      item = tree:add(f.field, range, f.wide and length < 8 and UInt64.new(value) or value)
    end
    if f.special and f.special[plain] then item:append_text(" (" .. f.special[plain] .. ")") end
    if f.flags then
      local set = {}
      for _, flag in ipairs(f.flags) do
        if bit.band(plain, flag[1]) ~= 0 then set[#set + 1] = flag[2] end
      end
      item:append_text(" (" .. (#set > 0 and table.concat(set, " | ") or "none") .. ")")
    end
  end
  return plain, item
end

-- Bytes that are a text, a value, or nothing in particular.
local function read_bytes(f, o, s, tree, be, length, outer)
  local at = take(f, s, tree, length)
  local shown = outer or f
  local item
  if f.meaning == "v1-value" then
    local kind = o.definition.counter_type
    if tree and is_text(kind) then
      local text = is_ascii(kind) and narrow(s.tvb, at, length, 28591)
        or wide(s.tvb, at, (wide_length(s.tvb, at, length)), be)
      item = tree:add(f.text, s.tvb(at, length), text)
    elseif tree and (length == 4 or length == 8 or length == 2 or length == 1) then
      item = tree:add(f.field, s.tvb(at, length), length == 8 and number(s.tvb(at, 8), 8, be)
        or UInt64.new(number(s.tvb(at, length), length, be)))
    elseif tree then
      item = tree:add(f.raw, s.tvb(at, length))
    end
    if item then item:append_text(" (counter " .. o.definition.counter_name_title_index .. ")") end
  elseif f.meaning == "counter-value" then
    if tree and (length == 4 or length == 8) then
      item = tree:add(f.field, s.tvb(at, length), length == 8 and s.tvb(at, 8):le_uint64() or UInt64.new(s.tvb(at, 4):le_uint()))
    elseif tree and length > 0 then
      item = tree:add(f.text, s.tvb(at, length), wide(s.tvb, at, (wide_length(s.tvb, at, length)), false))
    end
  elseif shown.encoding and length > 0 then
    local page = shown.encoding == "code-page" and o._page or 0
    local text, used
    if page and page ~= 0 then
      text, used = narrow(s.tvb, at, length, page)
      used = math.min(used + 1, length)
    else
      local held = wide_length(s.tvb, at, length)
      text = wide(s.tvb, at, held, be and shown.encoding ~= "UTF-16LE")
      used = math.min(held + 2, length)
    end
    if tree then item = tree:add(shown.data or shown.field, s.tvb(at, used), text) end
  elseif tree and length > 0 and (outer or not f.filler) then
    item = tree:add(shown.data or shown.field, s.tvb(at, length))
  end
  if shown.payload and length > 0 then o._root._payload = { tvb = s.tvb, at = at, length = length, item = item, tree = tree } end
  return length == 0 and "" or s.tvb:raw(at, length), item
end

-- A text of 16-bit units with a NUL, which has to be there unless `eos` says otherwise.
local function read_strz(f, s, tree)
  local length, found = wide_length(s.tvb, s.at, s.stop - s.at)
  if s.at == s.stop and not f.eos then fail(tree, s, f.name .. ": no terminator before the end") end
  if not found and not f.eos then fail(tree, s, f.name .. ": no terminator before the end") end
  local at = s.at
  local used = length + (found and 2 or 0)
  s.at = at + used
  -- Strings may share bytes, but nothing else bounds how many offsets point at the same ones.
  s.text = (s.text or 0) + used
  if s.text > 8 * s:size() then fail(tree, s, string.format("%s: %.0f bytes of texts in %.0f", f.name, s.text, s:size())) end
  local text = wide(s.tvb, at, length, false)
  if tree and used > 0 then tree:add(f.field, s.tvb(at, used), text) end
  return text
end

local read_struct

local function read_typed(f, kind, args, o, s, tree, be, inner, index)
  local t = types[kind]
  if t.leaf then
    local at = take(f, s, tree, 16)
    local range = s.tvb(at, 16)
    if tree then
      if t.leaf == "guid" or not (args and args[1]) then tree:add_le(f.field, range) else tree:add(f.field, range) end
    end
    return range:bytes():tohex()
  end
  local node = tree
  if tree and not t.bare then
    node = tree:add(f.field, inner.tvb(inner.at, inner.stop - inner.at))
    if index then node:append_text(" [" .. index .. "]") end
  end
  local from = inner.at
  local ok, value = pcall(read_struct, t, inner, node, args, o, o._root, be, t.wraps and f or nil)
  if node and not t.bare and inner.at >= from and from < inner.stop then node:set_len(inner.at - from) end
  if not ok then error(value, 0) end
  if node and not t.bare and t.spelling == "SYSTEMTIME" then
    node:append_text(string.format(": %04d-%02d-%02d %02d:%02d:%02d.%03d UTC", value.year, value.month, value.day, value.hour,
      value.minute, value.second, value.milliseconds))
  end
  return value, node
end

local function read_one(f, o, s, tree, be, outer, index)
  local kind, args = f.kind, f.args
  if f.switch then
    local case = f.cases[f.switch(o)]
    if case then kind, args = case.kind, case.args else kind = nil end
  end
  local inner, length = s, nil
  if f.eos_size then length = s.stop - s.at elseif f.size then length = f.size(o) end
  if kind == "strz" and not length then return read_strz(f, s, tree) end
  if kind and kind:match("^[us]%d$") then return read_int(f, kind, s, tree, be) end
  if not kind or kind == "strz" then
    if not length then return nil end
    return read_bytes(f, o, s, tree, be, length, (f.id == "data" or f.id == "value") and outer or nil)
  end
  if length then
    local at = take(f, s, tree, length)
    inner = stream(s.tvb, at, at + length)
  end
  return read_typed(f, kind, args and args(o) or {}, o, s, tree, be, inner, index)
end

local function read_field(f, o, s, tree, be, outer)
  if f.condition and not f.condition(o) then return end
  if f["repeat"] then
    local list = {}
    o[f.id] = list
    local count = f.count and f.count(o)
    while not count or #list < count do
      if f["repeat"] == "eos" and s:eof() then break end
      o._index = #list
      local value = read_one(f, o, s, tree, be, outer, #list)
      list[#list + 1] = value
      o._ = value
      if f["until"] and f["until"](o) then break end
    end
    return
  end
  local value, item = read_one(f, o, s, tree, be, outer)
  o[f.id] = value
  if f.valid then
    o._ = value
    local problem = f.valid(o)
    if problem then fail(tree, s, f.name .. ": " .. problem, item) end
  end
end

-- A field with a position of its own. Where a structure is damaged, its damage stays in it.
local function read_later(f, o, s, tree, be)
  if f.condition and not f.condition(o) then return end
  local before = s.at
  local at = f.pos(o)
  if at < 0 or s.start + at > s.stop then fail(tree, s, string.format("%s: an offset of %.0f in %.0f bytes", f.name, at, s:size())) end
  s.at = s.start + at
  if f.kind and f.kind ~= "strz" then
    contained(function() o[f.id] = read_one(f, o, s, tree, be) end)
  else
    o[f.id] = read_one(f, o, s, tree, be)
  end
  s.at = before
end

read_struct = function(t, s, tree, args, parent, root, be, outer)
  local o = setmetatable({ _io = s, _parent = parent, _page = parent and parent._page }, t.meta)
  o._root = root or o
  for at, name in ipairs(t.params) do o[name] = args[at] end
  if t.endian then be = t.endian(o) end
  if t.check then
    local problem = t.check(o)
    if problem then fail(tree, s, problem) end
  end
  local ok = contained(function()
    for _, f in ipairs(t.seq) do
      read_field(f, o, s, tree, be, outer)
      if t.page == f.id then o._page = o[f.id] end
    end
  end)
  if ok then
    for _, f in ipairs(t.later) do read_later(f, o, s, tree, be) end
    return o
  end
  -- What lies in bytes that were reached is there all the same; it may depend on fields that were not.
  if t.holder and o[t.holder] then
    for _, f in ipairs(t.later) do pcall(read_later, f, o, s, tree, be) end
  end
  error(DAMAGE, 0)
end

-- The metatables: numbers that a description computes are computed when first asked for.
for _, t in pairs(types) do
  local values = t.values
  t.meta = {
    __index = function(o, name)
      local value = values[name]
      if not value then return nil end
      local found = value(o)
      rawset(o, name, found)
      return found
    end,
  }
end

-- Counters may share bytes, but nothing else bounds how many point at the same ones.
types["winperf.counter_values"].check = function(o)
  local wanted = 0
  for _, definition in ipairs(o.definitions) do wanted = wanted + definition.counter_size end
  if wanted > 8 * (o._io:size() + 4) then return wanted .. " bytes of values in a counter block of " .. (o._io:size() + 4) end
end

local function u4(tvb, at) return tvb(at, 4):le_uint() end

-- How many offsets of a table of strings, counted from `base`, lead to where the headers or a string have just ended.
local function leading(tvb, start, stop, head, count, base)
  local found = 0
  for index = 0, count - 1 do
    local offset = u4(tvb, start + 12 + 8 * index)
    local at = base + offset
    if offset ~= 0xFFFFFFFF and start + at + 2 <= stop then
      if at == head or (at > head and at % 2 == 0 and tvb:raw(start + at - 2, 2) == "\0\0") then found = found + 1 end
    end
  end
  return found
end

-- What the offsets of a table of strings count from: the end of the headers where more of them fit, else the start of the block.
local function string_base(tvb, start, stop)
  if stop - start < 8 then return 0 end
  local count = u4(tvb, start + 4)
  local head = 8 + 8 * count
  if start + head > stop then return math.min(head, 0xFFFFFFFF) end
  local from_start, from_end = leading(tvb, start, stop, head, count, 0), leading(tvb, start, stop, head, count, head)
  return from_end > from_start and head or 0
end

-- Where `count` values that begin at `at` end; nil where they do not fit.
local function values_end(tvb, at, stop, count)
  for _ = 1, count do
    if at + 8 > stop then return nil end
    local held, size = u4(tvb, at), u4(tvb, at + 4)
    if size < 8 + held or at + size > stop then return nil end
    at = at + size
  end
  return at
end

-- Bytes left when the values of a block are read from `at` on; nil where they cannot be.
local function left_over(tvb, at, stop, kind, count)
  if kind == 2 then
    local finish = values_end(tvb, at, stop, count)
    return finish and stop - finish
  end
  if at + 8 > stop then return nil end
  local place = at + 8
  for _ = 1, u4(tvb, at + 4) do
    if not place or place + 8 > stop then return nil end
    local size = u4(tvb, place)
    if size < 8 or place + size > stop then return nil end
    place = values_end(tvb, place + size, stop, count)
  end
  return place and stop - place
end

local function padding(tvb, start, from, stop, kind)
  local size, count = u4(tvb, from), u4(tvb, from + 4)
  local after = from + size
  if (size % 8 == 0 and (after - start) % 8 == 0) or size < 8 or after > stop then return 0 end
  local as_stated = left_over(tvb, after, stop, kind, count)
  if as_stated == 0 then return 0 end
  local padded = left_over(tvb, after + 4, stop, kind, count)
  if padded == 0 then return 4 end
  if as_stated and as_stated < 8 then return 0 end
  return padded and padded < 8 and 4 or 0
end

-- For each block of performance data, the bytes behind the ids of its counters that no size counts.
local function paddings(tvb, start, stop)
  local found = {}
  if stop - start < 48 then return found end
  local at = start + 48
  for _ = 1, u4(tvb, start + 4) do
    if at + 16 > stop then break end
    local kind, size = u4(tvb, at + 4), u4(tvb, at + 8)
    if size < 16 or at + size > stop then break end
    local odd = (kind == 2 or kind == 6) and size >= 24
    found[#found + 1] = odd and padding(tvb, start, at + 16, at + size, kind) or 0
    at = at + size
  end
  return found
end

-- Reads a whole buffer of a kind below `tree`.
local function read_buffer(kind, tvb, at, length, tree, be)
  local args = {}
  if kind == "ms_pcq_perf_data" then
    args = { paddings(tvb, at, at + length) }
  elseif kind == "ms_pcq_string_table" then
    args = { string_base(tvb, at, at + length) }
  elseif kind == "ms_pcq_guid_list" then
    args = { be }
  elseif kind == "winperf" then
    local raw = tvb:raw(at, math.min(12, length))
    args = { raw:sub(1, 1) == "\0" or raw:sub(9, 12) == "\0\0\0\0" }
  end
  contained(read_struct, types[kind], stream(tvb, at, at + length), tree, args, nil, nil, false)
end

-- What is known of a conversation: what was bound in which frame, and what each call asked for. Wireshark shows frames again in any
-- order, so that everything is noted with its frame.
local known = {}

local function noted(key, name, frame, value)
  known[key] = known[key] or {}
  known[key][name] = known[key][name] or {}
  local list = known[key][name]
  if #list == 0 or list[#list].frame < frame then list[#list + 1] = { frame = frame, value = value } end
end

local function found(key, name, frame)
  local list = (known[key] or {})[name] or {}
  for at = #list, 1, -1 do
    if list[at].frame <= frame then return list[at].value end
  end
end

-- The first 32 bits of UUIDs: of a transfer syntax, and of two interfaces.
local NDR64 = 0x71710533
local PERFLIB, WINREG = 0xda5a86c5, 0x338cd001
local KNOWN = { [NDR64] = true, [PERFLIB] = true, [WINREG] = true }

-- The first 32 bits of a UUID, nil where they were not captured. Wireshark shows names in place of those it knows.
local function first_of(info)
  if info.len < 4 then return nil end
  local range = info.range(0, 4)
  local value = range:le_uint()
  return KNOWN[value] and value or range:uint()
end

local seen = {}
for _, name in ipairs({
  "dcerpc.ver", "dcerpc.pkt_type", "dcerpc.cn_call_id", "dcerpc.cn_ctx_id", "dcerpc.opnum", "dcerpc.drep.byteorder",
  "dcerpc.cn_bind_to_uuid", "dcerpc.cn_ack_result", "dcerpc.cn_ack_trans_id", "dcerpc.stub_data", "dcerpc.decrypted_stub_data",
  "winreg", "smb2.fid", "smb.fid", "smb2.response_to", "smb.response_to",
  "dcerpc.cn_flags", "dcerpc.fragments",
}) do
  seen[name] = Field.new(name)
end

-- The pipe that each frame's request of SMB is about: answers do not state it, only which request they answer.
local pipes = {}

-- The PDUs of a frame with their fields, in order.
local function pdus(frame)
  local list, fid = {}, ""
  for _, info in ipairs({ all_field_infos() }) do
    local name = info.name
    if name == "smb2.fid" or name == "smb.fid" then
      fid = info.display
      pipes[frame] = fid
    elseif name == "smb2.response_to" or name == "smb.response_to" then
      fid = pipes[info.value] or fid
    elseif name == "dcerpc.ver" then
      list[#list + 1] = { fid = fid, contexts = {}, results = {} }
    elseif seen[name] and #list > 0 then
      local pdu = list[#list]
      if name == "dcerpc.cn_ctx_id" then
        pdu.context = info.value
      elseif name == "dcerpc.cn_bind_to_uuid" and pdu.context then
        pdu.contexts[#pdu.contexts + 1] = { id = pdu.context, uuid = first_of(info) }
      elseif name == "dcerpc.cn_ack_result" then
        pdu.results[#pdu.results + 1] = { result = info.value }
      elseif name == "dcerpc.cn_ack_trans_id" and #pdu.results > 0 then
        pdu.results[#pdu.results].syntax = first_of(info)
      elseif name == "dcerpc.stub_data" or name == "dcerpc.decrypted_stub_data" or name == "winreg" then
        pdu.stub = info
      elseif name == "dcerpc.fragments" then
        pdu.is_joined = true
      else
        pdu[name] = info.value
      end
    end
  end
  return list
end

local BY_CODE = {
  [1] = "ms_pcq_counterset_info", [2] = "ms_pcq_counter_info", [3] = "ms_pcq_string", [4] = "ms_pcq_string",
  [5] = "ms_pcq_string_table", [6] = "ms_pcq_string_table", [7] = "ms_pcq_string", [8] = "ms_pcq_provider_guid",
  [9] = "ms_pcq_string", [10] = "ms_pcq_string_table",
}
local BY_OPNUM = {
  [0] = "ms_pcq_guid_list", [2] = "ms_pcq_instance_list", [5] = "ms_pcq_identifier_list", [6] = "ms_pcq_perf_data",
  [7] = "ms_pcq_identifier_list",
}

-- The bytes of a stub, as far as they were captured.
local function stream_of(info)
  local tvb, at = info.source, info.offset
  return stream(tvb, at, math.min(at + info.len, tvb:len()))
end

-- A stub with what it carries. `call` is what the request of a response asked for.
local function read_perflib(pdu, is_response, call, tree, ndr64, be)
  local s = stream_of(pdu.stub)
  local opnum = pdu["dcerpc.opnum"]
  local node = tree:add(pcq, s.tvb(s.at, s:size()))
  if not opnum then
    node:append_text(", response to a request that was not captured")
    return {}
  end
  node:append_text(", " .. (methods[opnum] or ("opnum " .. tostring(opnum))) .. (is_response and " response" or " request"))
  node:add(fields["pcq.opnum"], opnum):set_generated()
  if not methods[opnum] then return {} end
  local root = { _io = s, opnum = opnum, is_response = is_response, ndr64 = ndr64, big_endian = be, has_referent = false }
  root._root = root
  local side = is_response and stubs.response[opnum] or stubs.request[opnum]
  local asked, status = {}, nil
  contained(function()
    local o = read_struct(types[side], s, node, {}, root, root, be)
    asked, status = { code = o.request_code }, o.status
  end)
  local payload = root._payload
  local kind = BY_OPNUM[opnum]
  if opnum == 1 then kind = call and BY_CODE[call.code] end
  -- What comes with an error is not laid out as an answer is.
  if payload and kind and (status or 0) == 0 then
    read_buffer(kind, payload.tvb, payload.at, payload.length, payload.item or node, be)
  end
  return asked
end

local SIGNATURES = { ["P\0E\0R\0F\0"] = true, ["\0P\0E\0R\0F"] = true }
local QUERY_VALUE, ENUM_VALUE = 17, 10

-- Wireshark shows the stubs of winreg by itself; what of them is performance data stands below a tree of ours.
local function read_winreg(pdu, is_response, call, tree, ndr64, be)
  local opnum = pdu["dcerpc.opnum"]
  if opnum ~= QUERY_VALUE and opnum ~= ENUM_VALUE then return {} end
  local s = stream_of(pdu.stub)
  local root = { _io = s, opnum = opnum, is_response = is_response, ndr64 = ndr64, big_endian = be }
  root._root = root
  local side = is_response and winreg_stubs.response[opnum] or winreg_stubs.request[opnum]
  local o
  contained(function() o = read_struct(types[side], s, nil, {}, root, root, be) end)
  local named = o and (o.value_name_out or o.value_name)
  local name = named and named.string and named.string.data
  local word = name and name:gsub("%z", ""):lower() or (call and call.name) or ""
  if not is_response then return { name = word } end
  local payload = root._payload
  if not payload then return {} end
  local kind
  if SIGNATURES[payload.tvb:raw(payload.at, math.min(8, payload.length))] then
    kind = "winperf"
  elseif o and o.status == 0 and (word:match("^counter %S+$") or word:match("^help %S+$") or word:match("^explain %S+$")) then
    kind = "name_table"
  end
  if kind then
    local node = tree:add(winperf, payload.tvb(payload.at, payload.length))
    read_buffer(kind, payload.tvb, payload.at, payload.length, node, be)
  end
  return {}
end

-- Packet types of connection-oriented DCERPC.
local REQUEST, RESPONSE, BIND, BIND_ACK, ALTER, ALTER_ACK = 0, 2, 11, 12, 14, 15

-- Whether the stub of a PDU is all of it: Wireshark joins the fragments in the last one.
local function is_whole(pdu)
  local flags = pdu["dcerpc.cn_flags"] or 0
  return bit.band(flags, 3) == 3 or (bit.band(flags, 2) == 2 and pdu.is_joined)
end

function pcq.dissector(_, pinfo, tree)
  if not seen["dcerpc.pkt_type"]() then
    local fid = seen["smb2.fid"]() or seen["smb.fid"]()
    if fid then pipes[pinfo.number] = fid.display end
    return
  end
  local here, there = tostring(pinfo.src) .. "|" .. pinfo.src_port, tostring(pinfo.dst) .. "|" .. pinfo.dst_port
  local ends = here < there and here .. "|" .. there or there .. "|" .. here
  local frame = pinfo.number
  for _, pdu in ipairs(pdus(frame)) do
    local key = ends .. "|" .. pdu.fid
    local kind = pdu["dcerpc.pkt_type"]
    local call_id = tostring(pdu["dcerpc.cn_call_id"])
    if kind == BIND or kind == ALTER then
      noted(key, "offer " .. call_id, frame, pdu.contexts)
      for _, context in ipairs(pdu.contexts) do noted(key, "context " .. context.id, frame, { uuid = context.uuid }) end
    elseif kind == BIND_ACK or kind == ALTER_ACK then
      for at, context in ipairs(found(key, "offer " .. call_id, frame) or {}) do
        local result = pdu.results[at]
        if result and result.result == 0 then
          noted(key, "context " .. context.id, frame, { uuid = context.uuid, ndr64 = result.syntax == NDR64 })
        end
      end
    elseif (kind == REQUEST or kind == RESPONSE) and pdu.stub and pdu.context and is_whole(pdu) then
      local context = found(key, "context " .. pdu.context, frame)
      local is_response = kind == RESPONSE
      local call = is_response and found(key, "call " .. call_id, frame) or nil
      local be = pdu["dcerpc.drep.byteorder"] == 0
      local asked
      if context and context.uuid == PERFLIB then
        asked = read_perflib(pdu, is_response, call, tree, context.ndr64 == true, be)
      elseif context and context.uuid == WINREG then
        asked = read_winreg(pdu, is_response, call, tree, context.ndr64 == true, be)
      end
      if asked and not is_response then noted(key, "call " .. call_id, frame, asked) end
    end
  end
end

register_postdissector(pcq)
