meta:
  id: ms_rrp_stubs
  title: "[MS-RRP] request and response stubs of the winreg calls that open, read, enumerate and change keys and values"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-rrp/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian:
    switch-on: big_endian
    cases:
      true: be
      false: le
  imports:
    - ndr
doc: |
  The stubs of interface 338cd001-2244-31f1-aaaa-900038001003 version 1.0 that open HKEY_PERFORMANCE_DATA, its siblings and
  the other predefined keys, open and create keys below them, read, enumerate, set and delete their values, and close them;
  without authentication padding and verification trailer.
doc-ref: MS-RRP revision 39.0 sections 3.1.5 and 6
params:
  - id: opnum
    type: u2
  - id: is_response
    type: bool
  - id: ndr64
    type: bool
    doc: Transfer syntax NDR64 in place of NDR 2.0.
  - id: big_endian
    type: bool
    doc: Integers of the call are big-endian (data representation label of its PDUs).
seq:
  - id: request
    -orig-id: (request)
    if: not is_response
    type:
      switch-on: opnum
      cases:
        0: open_classes_root_request
        1: open_current_user_request
        2: open_local_machine_request
        3: open_performance_data_request
        4: open_users_request
        5: base_reg_close_key_request
        6: base_reg_create_key_request
        7: base_reg_delete_key_request
        8: base_reg_delete_value_request
        9: base_reg_enum_key_request
        10: base_reg_enum_value_request
        11: base_reg_flush_key_request
        13: base_reg_load_key_request
        15: base_reg_open_key_request
        16: base_reg_query_info_key_request
        17: base_reg_query_value_request
        20: base_reg_save_key_request
        22: base_reg_set_value_request
        26: base_reg_get_version_request
        27: open_current_config_request
        29: base_reg_query_multiple_values_request
        31: base_reg_save_key_ex_request
        32: open_performance_text_request
        33: open_performance_nls_text_request
        34: base_reg_query_multiple_values2_request
        35: base_reg_delete_key_ex_request
  - id: response
    -orig-id: (response)
    if: is_response
    type:
      switch-on: opnum
      cases:
        0: open_classes_root_response
        1: open_current_user_response
        2: open_local_machine_response
        3: open_performance_data_response
        4: open_users_response
        5: base_reg_close_key_response
        6: base_reg_create_key_response
        7: base_reg_delete_key_response
        8: base_reg_delete_value_response
        9: base_reg_enum_key_response
        10: base_reg_enum_value_response
        11: base_reg_flush_key_response
        13: base_reg_load_key_response
        15: base_reg_open_key_response
        16: base_reg_query_info_key_response
        17: base_reg_query_value_response
        20: base_reg_save_key_response
        22: base_reg_set_value_response
        26: base_reg_get_version_response
        27: open_current_config_response
        29: base_reg_query_multiple_values_response
        31: base_reg_save_key_ex_response
        32: open_performance_text_response
        33: open_performance_nls_text_response
        34: base_reg_query_multiple_values2_response
        35: base_reg_delete_key_ex_response
types:
  server_name:
    -orig-id: PREGISTRY_SERVER_NAME
    doc: A unique pointer to a single 16-bit character, which the server ignores.
    doc-ref: MS-RRP revision 39.0 section 2.2.2
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: value
        -orig-id: ServerName
        type: u2
        if: pointer.referent != 0
  optional_u4:
    -orig-id: LPDWORD
    doc: A unique pointer to a 32-bit integer.
    doc-ref: MS-RRP revision 39.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: value
        -orig-id: DWORD
        type: u4
        if: pointer.referent != 0
  optional_data:
    -orig-id: LPBYTE
    doc: A unique pointer to bytes.
    doc-ref: MS-RRP revision 39.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: array
        -orig-id: (bytes)
        type: ndr::conformant_varying(1, _root.ndr64, _root.big_endian)
        if: pointer.referent != 0
  unicode_string:
    -orig-id: RRP_UNICODE_STRING
    doc: A counted string; most senders count the NUL at its end.
    doc-ref: MS-RRP revision 39.0 section 2.2.4; MS-DTYP revision 37.0 section 2.3.10
    seq:
      - id: align_length
        -orig-id: (alignment)
        size: '_root.ndr64 ? (8 - _io.pos % 8) % 8 : (4 - _io.pos % 4) % 4'
      - id: length
        -orig-id: Length
        type: u2
      - id: maximum_length
        -orig-id: MaximumLength
        type: u2
      - id: pointer
        -orig-id: Buffer
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: string
        -orig-id: (string)
        type: ndr::conformant_varying(2, _root.ndr64, _root.big_endian)
        -encoding: UTF-16
        if: pointer.referent != 0
    instances:
      text:
        -orig-id: (string as text)
        -text-of: string
        value: '_root.big_endian ? string.data.to_s("UTF-16BE") : string.data.to_s("UTF-16LE")'
        if: pointer.referent != 0
        doc: With its NUL, where it has one.
  filetime:
    -orig-id: FILETIME
    doc: 100 ns since 1601, UTC.
    doc-ref: MS-DTYP revision 37.0 section 2.3.3
    seq:
      - id: align_low
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: low
        -orig-id: dwLowDateTime
        type: u4
      - id: high
        -orig-id: dwHighDateTime
        type: u4
  optional_unicode_string:
    -orig-id: PRPC_UNICODE_STRING
    doc: A unique pointer to a counted string.
    doc-ref: MS-RRP revision 39.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: value
        -orig-id: RPC_UNICODE_STRING
        type: unicode_string
        if: pointer.referent != 0
  optional_filetime:
    -orig-id: PFILETIME
    doc: A unique pointer to a time.
    doc-ref: MS-RRP revision 39.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: value
        -orig-id: FILETIME
        type: filetime
        if: pointer.referent != 0
  security_attributes:
    -orig-id: PRPC_SECURITY_ATTRIBUTES
    doc: A unique pointer to the security of a new key.
    doc-ref: MS-RRP revision 39.0 sections 2.2.8 and 2.2.9
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: value
        -orig-id: RPC_SECURITY_ATTRIBUTES
        type: security_attributes_referent
        if: pointer.referent != 0
  security_attributes_referent:
    -orig-id: RPC_SECURITY_ATTRIBUTES
    doc: The length of the structure, a security descriptor, and whether handles are inherited.
    doc-ref: MS-RRP revision 39.0 sections 2.2.8 and 2.2.9
    seq:
      - id: align_length
        -orig-id: (alignment)
        size: '_root.ndr64 ? (8 - _io.pos % 8) % 8 : (4 - _io.pos % 4) % 4'
      - id: length
        -orig-id: nLength
        type: u4
      - id: descriptor_pointer
        -orig-id: lpSecurityDescriptor
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: descriptor_room
        -orig-id: cbInSecurityDescriptor
        type: u4
      - id: descriptor_len
        -orig-id: cbOutSecurityDescriptor
        type: u4
      - id: inherit
        -orig-id: bInheritHandle
        type: u1
      - id: descriptor
        -orig-id: (security descriptor)
        type: ndr::conformant_varying(1, _root.ndr64, _root.big_endian)
        if: descriptor_pointer.referent != 0
  rvalent_array:
    -orig-id: PRVALENT
    doc: What to read of several values. What pointers of an element point to follows the whole array.
    doc-ref: MS-RRP revision 39.0 sections 2.2.5 and 3.1.5.26
    seq:
      - id: align_counts
        -orig-id: (alignment)
        size: '_root.ndr64 ? (8 - _io.pos % 8) % 8 : (4 - _io.pos % 4) % 4'
      - id: max_count
        -orig-id: max_count
        type:
          switch-on: _root.ndr64
          cases:
            true: u8
            false: u4
      - id: offset
        -orig-id: offset
        type:
          switch-on: _root.ndr64
          cases:
            true: u8
            false: u4
        valid: 0
      - id: actual_count
        -orig-id: actual_count
        type:
          switch-on: _root.ndr64
          cases:
            true: u8
            false: u4
        valid:
          max: max_count
      - id: entries
        -orig-id: RVALENT
        type: rvalent
        repeat: expr
        repeat-expr: actual_count
      - id: referents
        -orig-id: (referents)
        type: rvalent_referents(entries[_index])
        repeat: expr
        repeat-expr: actual_count
  rvalent:
    -orig-id: RVALENT
    doc: A value to read, and after the call its type and where its data is in the buffer.
    doc-ref: MS-RRP revision 39.0 section 2.2.5
    seq:
      - id: value_name
        -orig-id: ve_valuename
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: value_len
        -orig-id: ve_valuelen
        type: u4
      - id: value_ptr
        -orig-id: ve_valueptr
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: value_type
        -orig-id: ve_type
        type: u4
        enum: value_type
      - id: padding
        -orig-id: (padding)
        size: '_root.ndr64 ? 4 : 0'
  rvalent_referents:
    -orig-id: RVALENT
    doc: What the pointers of an element point to.
    doc-ref: MS-RRP revision 39.0 section 2.2.5; DCE 1.1 RPC (C706) section 14.3.12.3
    params:
      - id: entry
        type: rvalent
    seq:
      - id: value_name
        -orig-id: ve_valuename
        type: unicode_string
        if: entry.value_name.referent != 0
      - id: value_ptr
        -orig-id: ve_valueptr
        type: ndr::aligned_u4(_root.big_endian)
        if: entry.value_ptr.referent != 0
  open_performance_data_request:
    -orig-id: OpenPerformanceData
    doc: OpenPerformanceData, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.4
    seq:
      - id: server_name
        -orig-id: ServerName
        type: server_name
      - id: align_sam_desired
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: sam_desired
        -orig-id: samDesired
        type: u4
        -flags: access
  open_performance_data_response:
    -orig-id: OpenPerformanceData
    doc: OpenPerformanceData, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.4
    seq:
      - id: key
        -orig-id: phKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_close_key_request:
    -orig-id: BaseRegCloseKey
    doc: BaseRegCloseKey, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.6
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
  base_reg_close_key_response:
    -orig-id: BaseRegCloseKey
    doc: BaseRegCloseKey, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.6
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_enum_value_request:
    -orig-id: BaseRegEnumValue
    doc: BaseRegEnumValue, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.11
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_index
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: index
        -orig-id: dwIndex
        type: u4
      - id: value_name
        -orig-id: lpValueNameIn
        type: unicode_string
      - id: value_type
        -orig-id: lpType
        type: optional_u4
        -enum: value_type
      - id: data
        -orig-id: lpData
        type: optional_data
      - id: data_size
        -orig-id: lpcbData
        type: optional_u4
      - id: data_len
        -orig-id: lpcbLen
        type: optional_u4
  base_reg_enum_value_response:
    -orig-id: BaseRegEnumValue
    doc: BaseRegEnumValue, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.11
    seq:
      - id: value_name
        -orig-id: lpValueNameOut
        type: unicode_string
      - id: value_type
        -orig-id: lpType
        type: optional_u4
        -enum: value_type
      - id: data
        -orig-id: lpData
        type: optional_data
      - id: data_size
        -orig-id: lpcbData
        type: optional_u4
      - id: data_len
        -orig-id: lpcbLen
        type: optional_u4
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_query_info_key_request:
    -orig-id: BaseRegQueryInfoKey
    doc: BaseRegQueryInfoKey, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.16
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: class_name
        -orig-id: lpClassIn
        type: unicode_string
  base_reg_query_info_key_response:
    -orig-id: BaseRegQueryInfoKey
    doc: BaseRegQueryInfoKey, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.16
    seq:
      - id: class_name
        -orig-id: lpClassOut
        type: unicode_string
      - id: align_num_sub_keys
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: num_sub_keys
        -orig-id: lpcSubKeys
        type: u4
      - id: align_max_sub_key_len
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: max_sub_key_len
        -orig-id: lpcbMaxSubKeyLen
        type: u4
      - id: align_max_class_len
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: max_class_len
        -orig-id: lpcbMaxClassLen
        type: u4
      - id: align_num_values
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: num_values
        -orig-id: lpcValues
        type: u4
      - id: align_max_value_name_len
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: max_value_name_len
        -orig-id: lpcbMaxValueNameLen
        type: u4
      - id: align_max_value_len
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: max_value_len
        -orig-id: lpcbMaxValueLen
        type: u4
      - id: align_security_descriptor_len
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: security_descriptor_len
        -orig-id: lpcbSecurityDescriptor
        type: u4
      - id: last_write_time
        -orig-id: lpftLastWriteTime
        type: filetime
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_query_value_request:
    -orig-id: BaseRegQueryValue
    doc: BaseRegQueryValue, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.17
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: value_name
        -orig-id: lpValueName
        type: unicode_string
      - id: value_type
        -orig-id: lpType
        type: optional_u4
        -enum: value_type
      - id: data
        -orig-id: lpData
        type: optional_data
      - id: data_size
        -orig-id: lpcbData
        type: optional_u4
      - id: data_len
        -orig-id: lpcbLen
        type: optional_u4
  base_reg_query_value_response:
    -orig-id: BaseRegQueryValue
    doc: BaseRegQueryValue, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.17
    seq:
      - id: value_type
        -orig-id: lpType
        type: optional_u4
        -enum: value_type
      - id: data
        -orig-id: lpData
        type: optional_data
      - id: data_size
        -orig-id: lpcbData
        type: optional_u4
      - id: data_len
        -orig-id: lpcbLen
        type: optional_u4
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_query_multiple_values_request:
    -orig-id: BaseRegQueryMultipleValues
    doc: BaseRegQueryMultipleValues, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.26
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: values
        -orig-id: val_listIn
        type: rvalent_array
      - id: align_num_values
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: num_values
        -orig-id: num_vals
        type: u4
      - id: data
        -orig-id: lpvalueBuf
        type: optional_data
      - id: align_total_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: total_size
        -orig-id: ldwTotsize
        type: u4
  base_reg_query_multiple_values_response:
    -orig-id: BaseRegQueryMultipleValues
    doc: BaseRegQueryMultipleValues, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.26
    seq:
      - id: values
        -orig-id: val_listOut
        type: rvalent_array
      - id: data
        -orig-id: lpvalueBuf
        type: optional_data
      - id: align_total_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: total_size
        -orig-id: ldwTotsize
        type: u4
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_performance_text_request:
    -orig-id: OpenPerformanceText
    doc: OpenPerformanceText, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.28
    seq:
      - id: server_name
        -orig-id: ServerName
        type: server_name
      - id: align_sam_desired
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: sam_desired
        -orig-id: samDesired
        type: u4
        -flags: access
  open_performance_text_response:
    -orig-id: OpenPerformanceText
    doc: OpenPerformanceText, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.28
    seq:
      - id: key
        -orig-id: phKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_performance_nls_text_request:
    -orig-id: OpenPerformanceNlsText
    doc: OpenPerformanceNlsText, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.29
    seq:
      - id: server_name
        -orig-id: ServerName
        type: server_name
      - id: align_sam_desired
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: sam_desired
        -orig-id: samDesired
        type: u4
        -flags: access
  open_performance_nls_text_response:
    -orig-id: OpenPerformanceNlsText
    doc: OpenPerformanceNlsText, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.29
    seq:
      - id: key
        -orig-id: phKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_query_multiple_values2_request:
    -orig-id: BaseRegQueryMultipleValues2
    doc: BaseRegQueryMultipleValues2, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.30
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: values
        -orig-id: val_listIn
        type: rvalent_array
      - id: align_num_values
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: num_values
        -orig-id: num_vals
        type: u4
      - id: data
        -orig-id: lpvalueBuf
        type: optional_data
      - id: align_total_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: total_size
        -orig-id: ldwTotsize
        type: u4
  base_reg_query_multiple_values2_response:
    -orig-id: BaseRegQueryMultipleValues2
    doc: BaseRegQueryMultipleValues2, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.30
    seq:
      - id: values
        -orig-id: val_listOut
        type: rvalent_array
      - id: data
        -orig-id: lpvalueBuf
        type: optional_data
      - id: align_required_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: required_size
        -orig-id: ldwRequiredSize
        type: u4
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_classes_root_request:
    -orig-id: OpenClassesRoot
    doc: OpenClassesRoot, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.1
    seq:
      - id: server_name
        -orig-id: ServerName
        type: server_name
      - id: align_sam_desired
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: sam_desired
        -orig-id: samDesired
        type: u4
        -flags: access
  open_classes_root_response:
    -orig-id: OpenClassesRoot
    doc: OpenClassesRoot, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.1
    seq:
      - id: key
        -orig-id: phKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_current_user_request:
    -orig-id: OpenCurrentUser
    doc: OpenCurrentUser, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.2
    seq:
      - id: server_name
        -orig-id: ServerName
        type: server_name
      - id: align_sam_desired
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: sam_desired
        -orig-id: samDesired
        type: u4
        -flags: access
  open_current_user_response:
    -orig-id: OpenCurrentUser
    doc: OpenCurrentUser, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.2
    seq:
      - id: key
        -orig-id: phKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_local_machine_request:
    -orig-id: OpenLocalMachine
    doc: OpenLocalMachine, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.3
    seq:
      - id: server_name
        -orig-id: ServerName
        type: server_name
      - id: align_sam_desired
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: sam_desired
        -orig-id: samDesired
        type: u4
        -flags: access
  open_local_machine_response:
    -orig-id: OpenLocalMachine
    doc: OpenLocalMachine, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.3
    seq:
      - id: key
        -orig-id: phKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_users_request:
    -orig-id: OpenUsers
    doc: OpenUsers, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.5
    seq:
      - id: server_name
        -orig-id: ServerName
        type: server_name
      - id: align_sam_desired
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: sam_desired
        -orig-id: samDesired
        type: u4
        -flags: access
  open_users_response:
    -orig-id: OpenUsers
    doc: OpenUsers, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.5
    seq:
      - id: key
        -orig-id: phKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_create_key_request:
    -orig-id: BaseRegCreateKey
    doc: BaseRegCreateKey, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.7
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: sub_key
        -orig-id: lpSubKey
        type: unicode_string
      - id: class_name
        -orig-id: lpClass
        type: unicode_string
      - id: align_options
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: options
        -orig-id: dwOptions
        type: u4
        -flags: options
      - id: align_sam_desired
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: sam_desired
        -orig-id: samDesired
        type: u4
        -flags: access
      - id: security
        -orig-id: lpSecurityAttributes
        type: security_attributes
      - id: disposition
        -orig-id: lpdwDisposition
        type: optional_u4
  base_reg_create_key_response:
    -orig-id: BaseRegCreateKey
    doc: BaseRegCreateKey, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.7
    seq:
      - id: key
        -orig-id: phkResult
        type: ndr::context_handle(_root.big_endian)
      - id: disposition
        -orig-id: lpdwDisposition
        type: optional_u4
        -enum: disposition
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_delete_key_request:
    -orig-id: BaseRegDeleteKey
    doc: BaseRegDeleteKey, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.8
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: sub_key
        -orig-id: lpSubKey
        type: unicode_string
  base_reg_delete_key_response:
    -orig-id: BaseRegDeleteKey
    doc: BaseRegDeleteKey, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.8
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_delete_value_request:
    -orig-id: BaseRegDeleteValue
    doc: BaseRegDeleteValue, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.9
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: value_name
        -orig-id: lpValueName
        type: unicode_string
  base_reg_delete_value_response:
    -orig-id: BaseRegDeleteValue
    doc: BaseRegDeleteValue, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.9
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_enum_key_request:
    -orig-id: BaseRegEnumKey
    doc: BaseRegEnumKey, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.10
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_index
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: index
        -orig-id: dwIndex
        type: u4
      - id: name
        -orig-id: lpNameIn
        type: unicode_string
      - id: class_name
        -orig-id: lpClassIn
        type: optional_unicode_string
      - id: last_write_time
        -orig-id: lpftLastWriteTime
        type: optional_filetime
  base_reg_enum_key_response:
    -orig-id: BaseRegEnumKey
    doc: BaseRegEnumKey, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.10
    seq:
      - id: name
        -orig-id: lpNameOut
        type: unicode_string
      - id: class_name
        -orig-id: lplpClassOut
        type: optional_unicode_string
      - id: last_write_time
        -orig-id: lpftLastWriteTime
        type: optional_filetime
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_flush_key_request:
    -orig-id: BaseRegFlushKey
    doc: BaseRegFlushKey, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.12
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
  base_reg_flush_key_response:
    -orig-id: BaseRegFlushKey
    doc: BaseRegFlushKey, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.12
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_load_key_request:
    -orig-id: BaseRegLoadKey
    doc: BaseRegLoadKey, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.14
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: sub_key
        -orig-id: lpSubKey
        type: unicode_string
      - id: file
        -orig-id: lpFile
        type: unicode_string
  base_reg_load_key_response:
    -orig-id: BaseRegLoadKey
    doc: BaseRegLoadKey, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.14
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_open_key_request:
    -orig-id: BaseRegOpenKey
    doc: BaseRegOpenKey, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.15
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: sub_key
        -orig-id: lpSubKey
        type: unicode_string
      - id: align_options
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: options
        -orig-id: dwOptions
        type: u4
        -flags: options
      - id: align_sam_desired
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: sam_desired
        -orig-id: samDesired
        type: u4
        -flags: access
  base_reg_open_key_response:
    -orig-id: BaseRegOpenKey
    doc: BaseRegOpenKey, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.15
    seq:
      - id: key
        -orig-id: phkResult
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_save_key_request:
    -orig-id: BaseRegSaveKey
    doc: BaseRegSaveKey, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.20
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: file
        -orig-id: lpFile
        type: unicode_string
      - id: security
        -orig-id: pSecurityAttributes
        type: security_attributes
  base_reg_save_key_response:
    -orig-id: BaseRegSaveKey
    doc: BaseRegSaveKey, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.20
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_set_value_request:
    -orig-id: BaseRegSetValue
    doc: BaseRegSetValue, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.22
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: value_name
        -orig-id: lpValueName
        type: unicode_string
      - id: align_value_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: value_type
        -orig-id: dwType
        type: u4
        enum: value_type
      - id: data
        -orig-id: lpData
        type: ndr::conformant(_root.ndr64, _root.big_endian)
      - id: align_data_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: data_size
        -orig-id: cbData
        type: u4
  base_reg_set_value_response:
    -orig-id: BaseRegSetValue
    doc: BaseRegSetValue, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.22
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_get_version_request:
    -orig-id: BaseRegGetVersion
    doc: BaseRegGetVersion, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.24
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
  base_reg_get_version_response:
    -orig-id: BaseRegGetVersion
    doc: BaseRegGetVersion, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.24
    seq:
      - id: align_version
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: version
        -orig-id: lpdwVersion
        type: u4
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_current_config_request:
    -orig-id: OpenCurrentConfig
    doc: OpenCurrentConfig, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.25
    seq:
      - id: server_name
        -orig-id: ServerName
        type: server_name
      - id: align_sam_desired
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: sam_desired
        -orig-id: samDesired
        type: u4
        -flags: access
  open_current_config_response:
    -orig-id: OpenCurrentConfig
    doc: OpenCurrentConfig, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.25
    seq:
      - id: key
        -orig-id: phKey
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_save_key_ex_request:
    -orig-id: BaseRegSaveKeyEx
    doc: BaseRegSaveKeyEx, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.27
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: file
        -orig-id: lpFile
        type: unicode_string
      - id: security
        -orig-id: pSecurityAttributes
        type: security_attributes
      - id: align_flags
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: flags
        -orig-id: Flags
        type: u4
  base_reg_save_key_ex_response:
    -orig-id: BaseRegSaveKeyEx
    doc: BaseRegSaveKeyEx, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.27
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  base_reg_delete_key_ex_request:
    -orig-id: BaseRegDeleteKeyEx
    doc: BaseRegDeleteKeyEx, request.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.31
    seq:
      - id: key
        -orig-id: hKey
        type: ndr::context_handle(_root.big_endian)
      - id: sub_key
        -orig-id: lpSubKey
        type: unicode_string
      - id: align_access_mask
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: access_mask
        -orig-id: AccessMask
        type: u4
        -flags: access
      - id: align_reserved
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: reserved
        -orig-id: Reserved
        type: u4
  base_reg_delete_key_ex_response:
    -orig-id: BaseRegDeleteKeyEx
    doc: BaseRegDeleteKeyEx, response.
    doc-ref: MS-RRP revision 39.0 section 3.1.5.31
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
enums:
  value_type:
    # MS-RRP revision 39.0 section 3.1.1.5
    0: {id: none, -orig-id: REG_NONE}
    1: {id: sz, -orig-id: REG_SZ}
    2: {id: expand_sz, -orig-id: REG_EXPAND_SZ}
    3: {id: binary, -orig-id: REG_BINARY}
    4: {id: dword, -orig-id: REG_DWORD}
    5: {id: dword_big_endian, -orig-id: REG_DWORD_BIG_ENDIAN}
    6: {id: link, -orig-id: REG_LINK}
    7: {id: multi_sz, -orig-id: REG_MULTI_SZ}
    11: {id: qword, -orig-id: REG_QWORD}
  access:
    # MS-RRP revision 39.0 section 2.2.3
    0x00000001: {id: query_value, -orig-id: KEY_QUERY_VALUE}
    0x00000002: {id: set_value, -orig-id: KEY_SET_VALUE}
    0x00000004: {id: create_sub_key, -orig-id: KEY_CREATE_SUB_KEY}
    0x00000008: {id: enumerate_sub_keys, -orig-id: KEY_ENUMERATE_SUB_KEYS}
    0x00000010: {id: notify, -orig-id: KEY_NOTIFY}
    0x00000020: {id: create_link, -orig-id: KEY_CREATE_LINK}
    0x00000100: {id: wow64_64key, -orig-id: KEY_WOW64_64KEY}
    0x00000200: {id: wow64_32key, -orig-id: KEY_WOW64_32KEY}
    0x02000000: {id: maximum_allowed, -orig-id: MAXIMUM_ALLOWED}
  options:
    # MS-RRP revision 39.0 section 3.1.5.7
    0x00000001: {id: volatile, -orig-id: REG_OPTION_VOLATILE}
    0x00000002: {id: create_link, -orig-id: REG_OPTION_CREATE_LINK}
    0x00000004: {id: backup_restore, -orig-id: REG_OPTION_BACKUP_RESTORE}
    0x00000008: {id: open_link, -orig-id: REG_OPTION_OPEN_LINK}
  disposition:
    # MS-RRP revision 39.0 section 3.1.5.7
    1: {id: created_new_key, -orig-id: REG_CREATED_NEW_KEY}
    2: {id: opened_existing_key, -orig-id: REG_OPENED_EXISTING_KEY}
