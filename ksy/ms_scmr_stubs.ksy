meta:
  id: ms_scmr_stubs
  title: "[MS-SCMR] request and response stubs of the svcctl calls that open, create, change, start, stop, query and delete services"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-scmr/
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
  The stubs of interface 367abb81-9844-35f1-ad32-98f038001003 version 2.0 that name services and what they run, or use the
  handles of such calls; without authentication padding and verification trailer.
doc-ref: MS-SCMR revision 33.0 sections 3.1.4 and 6
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
        0: close_service_handle_request
        1: control_service_request
        2: delete_service_request
        6: query_service_status_request
        11: change_service_config_w_request
        12: create_service_w_request
        15: open_sc_manager_w_request
        16: open_service_w_request
        17: query_service_config_w_request
        19: start_service_w_request
        23: change_service_config_a_request
        24: create_service_a_request
        27: open_sc_manager_a_request
        28: open_service_a_request
        29: query_service_config_a_request
        31: start_service_a_request
        44: create_service_wow64_a_request
        45: create_service_wow64_w_request
        60: create_wow_service_request
  - id: response
    -orig-id: (response)
    if: is_response
    type:
      switch-on: opnum
      cases:
        0: close_service_handle_response
        1: control_service_response
        2: delete_service_response
        6: query_service_status_response
        11: change_service_config_w_response
        12: create_service_w_response
        15: open_sc_manager_w_response
        16: open_service_w_response
        17: query_service_config_w_response
        19: start_service_w_response
        23: change_service_config_a_response
        24: create_service_a_response
        27: open_sc_manager_a_response
        28: open_service_a_response
        29: query_service_config_a_response
        31: start_service_a_response
        44: create_service_wow64_a_response
        45: create_service_wow64_w_response
        60: create_wow_service_response
types:
  text:
    -orig-id: wchar_t*
    doc: A string of 16-bit characters, with its NUL.
    doc-ref: MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.4
    seq:
      - id: string
        -orig-id: (string)
        type: ndr::conformant_varying(2, _root.ndr64, _root.big_endian)
        -encoding: UTF-16
    instances:
      text:
        -orig-id: (string as text)
        -text-of: string
        value: '_root.big_endian ? string.data.to_s("UTF-16BE") : string.data.to_s("UTF-16LE")'
        doc: With its NUL.
  optional_text:
    -orig-id: wchar_t*
    doc: A unique pointer to a string of 16-bit characters.
    doc-ref: MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: value
        -orig-id: (string)
        type: text
        if: pointer.referent != 0
  narrow_text:
    -orig-id: LPSTR
    doc: A string of single-byte characters in the code page of the client, with its NUL.
    doc-ref: MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.4
    seq:
      - id: string
        -orig-id: (string)
        type: ndr::conformant_varying(1, _root.ndr64, _root.big_endian)
  optional_narrow_text:
    -orig-id: LPSTR
    doc: A unique pointer to a string of single-byte characters.
    doc-ref: MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: value
        -orig-id: (string)
        type: narrow_text
        if: pointer.referent != 0
  optional_u4:
    -orig-id: LPDWORD
    doc: A unique pointer to a 32-bit integer.
    doc-ref: MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
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
    doc-ref: MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: array
        -orig-id: (bytes)
        type: ndr::conformant(_root.ndr64, _root.big_endian)
        if: pointer.referent != 0
  arguments:
    -orig-id: LPSTRING_PTRSW
    doc: A unique pointer to an array of unique pointers to strings. What they point to follows the whole array.
    doc-ref: MS-SCMR revision 33.0 sections 2.2.32 and 3.1.4.19; DCE 1.1 RPC (C706) section 14.3.12.3
    params:
      - id: is_narrow
        type: bool
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: array
        -orig-id: STRING_PTRSW
        type: argument_array(is_narrow)
        if: pointer.referent != 0
  argument_array:
    -orig-id: STRING_PTRSW
    doc: A count, that many pointers, and the strings of those that are not null.
    doc-ref: MS-SCMR revision 33.0 section 2.2.32; DCE 1.1 RPC (C706) section 14.3.3.2
    params:
      - id: is_narrow
        type: bool
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
      - id: pointers
        -orig-id: StringPtr
        type: ndr::pointer(_root.ndr64, _root.big_endian)
        repeat: expr
        repeat-expr: max_count
      - id: strings
        -orig-id: (referents)
        type: argument(pointers[_index].referent != 0, is_narrow)
        repeat: expr
        repeat-expr: max_count
  argument:
    -orig-id: StringPtr
    doc: What a pointer of the array points to.
    doc-ref: MS-SCMR revision 33.0 section 2.2.32
    params:
      - id: is_there
        type: bool
      - id: is_narrow
        type: bool
    seq:
      - id: wide
        -orig-id: (string)
        type: text
        if: is_there and not is_narrow
      - id: narrow
        -orig-id: (string)
        type: narrow_text
        if: is_there and is_narrow
  service_status:
    -orig-id: SERVICE_STATUS
    doc: What a service is doing.
    doc-ref: MS-SCMR revision 33.0 section 2.2.47
    seq:
      - id: align_service_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: service_type
        -orig-id: dwServiceType
        type: u4
        -flags: service_type
      - id: current_state
        -orig-id: dwCurrentState
        type: u4
        enum: service_state
      - id: controls_accepted
        -orig-id: dwControlsAccepted
        type: u4
      - id: win32_exit_code
        -orig-id: dwWin32ExitCode
        type: u4
      - id: service_specific_exit_code
        -orig-id: dwServiceSpecificExitCode
        type: u4
      - id: check_point
        -orig-id: dwCheckPoint
        type: u4
      - id: wait_hint
        -orig-id: dwWaitHint
        type: u4
  service_config:
    -orig-id: QUERY_SERVICE_CONFIGW
    doc: How a service is configured. What its pointers point to follows the structure.
    doc-ref: MS-SCMR revision 33.0 section 2.2.15
    params:
      - id: is_narrow
        type: bool
    seq:
      - id: align_service_type
        -orig-id: (alignment)
        size: '_root.ndr64 ? (8 - _io.pos % 8) % 8 : (4 - _io.pos % 4) % 4'
      - id: service_type
        -orig-id: dwServiceType
        type: u4
        -flags: service_type
      - id: start_type
        -orig-id: dwStartType
        type: u4
        enum: start_type
      - id: error_control
        -orig-id: dwErrorControl
        type: u4
        enum: error_control
      - id: binary_path_name_pointer
        -orig-id: (referent of lpBinaryPathName)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: load_order_group_pointer
        -orig-id: (referent of lpLoadOrderGroup)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: tag_id
        -orig-id: dwTagId
        type: u4
      - id: dependencies_pointer
        -orig-id: (referent of lpDependencies)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: service_start_name_pointer
        -orig-id: (referent of lpServiceStartName)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: display_name_pointer
        -orig-id: (referent of lpDisplayName)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
      - id: binary_path_name
        -orig-id: lpBinaryPathName
        type: argument(binary_path_name_pointer.referent != 0, is_narrow)
      - id: load_order_group
        -orig-id: lpLoadOrderGroup
        type: argument(load_order_group_pointer.referent != 0, is_narrow)
      - id: dependencies
        -orig-id: lpDependencies
        type: argument(dependencies_pointer.referent != 0, is_narrow)
      - id: service_start_name
        -orig-id: lpServiceStartName
        type: argument(service_start_name_pointer.referent != 0, is_narrow)
      - id: display_name
        -orig-id: lpDisplayName
        type: argument(display_name_pointer.referent != 0, is_narrow)
  close_service_handle_request:
    -orig-id: RCloseServiceHandle
    doc: RCloseServiceHandle, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.1
    seq:
      - id: object
        -orig-id: hSCObject
        type: ndr::context_handle(_root.big_endian)
  close_service_handle_response:
    -orig-id: RCloseServiceHandle
    doc: RCloseServiceHandle, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.1
    seq:
      - id: object
        -orig-id: hSCObject
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  control_service_request:
    -orig-id: RControlService
    doc: RControlService, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.2
    seq:
      - id: handle
        -orig-id: hService
        type: ndr::context_handle(_root.big_endian)
      - id: align_control
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: control
        -orig-id: dwControl
        type: u4
        enum: control
  control_service_response:
    -orig-id: RControlService
    doc: RControlService, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.2
    seq:
      - id: service_status
        -orig-id: lpServiceStatus
        type: service_status
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  delete_service_request:
    -orig-id: RDeleteService
    doc: RDeleteService, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.3
    seq:
      - id: handle
        -orig-id: hService
        type: ndr::context_handle(_root.big_endian)
  delete_service_response:
    -orig-id: RDeleteService
    doc: RDeleteService, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.3
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  query_service_status_request:
    -orig-id: RQueryServiceStatus
    doc: RQueryServiceStatus, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.7
    seq:
      - id: handle
        -orig-id: hService
        type: ndr::context_handle(_root.big_endian)
  query_service_status_response:
    -orig-id: RQueryServiceStatus
    doc: RQueryServiceStatus, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.7
    seq:
      - id: service_status
        -orig-id: lpServiceStatus
        type: service_status
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  change_service_config_w_request:
    -orig-id: RChangeServiceConfigW
    doc: RChangeServiceConfigW, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.11
    seq:
      - id: handle
        -orig-id: hService
        type: ndr::context_handle(_root.big_endian)
      - id: align_service_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: service_type
        -orig-id: dwServiceType
        type: u4
        -flags: service_type
      - id: align_start_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: start_type
        -orig-id: dwStartType
        type: u4
        enum: start_type
      - id: align_error_control
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: error_control
        -orig-id: dwErrorControl
        type: u4
        enum: error_control
      - id: binary_path_name
        -orig-id: lpBinaryPathName
        type: optional_text
      - id: load_order_group
        -orig-id: lpLoadOrderGroup
        type: optional_text
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: dependencies
        -orig-id: lpDependencies
        type: optional_data
      - id: align_depend_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: depend_size
        -orig-id: dwDependSize
        type: u4
      - id: service_start_name
        -orig-id: lpServiceStartName
        type: optional_text
      - id: password
        -orig-id: lpPassword
        type: optional_data
      - id: align_pw_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: pw_size
        -orig-id: dwPwSize
        type: u4
      - id: display_name
        -orig-id: lpDisplayName
        type: optional_text
  change_service_config_w_response:
    -orig-id: RChangeServiceConfigW
    doc: RChangeServiceConfigW, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.11
    seq:
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  create_service_w_request:
    -orig-id: RCreateServiceW
    doc: RCreateServiceW, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.12
    seq:
      - id: manager
        -orig-id: hSCManager
        type: ndr::context_handle(_root.big_endian)
      - id: service_name
        -orig-id: lpServiceName
        type: text
      - id: display_name
        -orig-id: lpDisplayName
        type: optional_text
      - id: align_desired_access
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: desired_access
        -orig-id: dwDesiredAccess
        type: u4
      - id: align_service_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: service_type
        -orig-id: dwServiceType
        type: u4
        -flags: service_type
      - id: align_start_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: start_type
        -orig-id: dwStartType
        type: u4
        enum: start_type
      - id: align_error_control
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: error_control
        -orig-id: dwErrorControl
        type: u4
        enum: error_control
      - id: binary_path_name
        -orig-id: lpBinaryPathName
        type: text
      - id: load_order_group
        -orig-id: lpLoadOrderGroup
        type: optional_text
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: dependencies
        -orig-id: lpDependencies
        type: optional_data
      - id: align_depend_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: depend_size
        -orig-id: dwDependSize
        type: u4
      - id: service_start_name
        -orig-id: lpServiceStartName
        type: optional_text
      - id: password
        -orig-id: lpPassword
        type: optional_data
      - id: align_pw_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: pw_size
        -orig-id: dwPwSize
        type: u4
  create_service_w_response:
    -orig-id: RCreateServiceW
    doc: RCreateServiceW, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.12
    seq:
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: service_handle
        -orig-id: lpServiceHandle
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_sc_manager_w_request:
    -orig-id: ROpenSCManagerW
    doc: ROpenSCManagerW, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.15
    seq:
      - id: machine_name
        -orig-id: lpMachineName
        type: optional_text
      - id: database_name
        -orig-id: lpDatabaseName
        type: optional_text
      - id: align_desired_access
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: desired_access
        -orig-id: dwDesiredAccess
        type: u4
  open_sc_manager_w_response:
    -orig-id: ROpenSCManagerW
    doc: ROpenSCManagerW, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.15
    seq:
      - id: manager_handle
        -orig-id: lpScHandle
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_service_w_request:
    -orig-id: ROpenServiceW
    doc: ROpenServiceW, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.16
    seq:
      - id: manager
        -orig-id: hSCManager
        type: ndr::context_handle(_root.big_endian)
      - id: service_name
        -orig-id: lpServiceName
        type: text
      - id: align_desired_access
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: desired_access
        -orig-id: dwDesiredAccess
        type: u4
  open_service_w_response:
    -orig-id: ROpenServiceW
    doc: ROpenServiceW, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.16
    seq:
      - id: service_handle
        -orig-id: lpServiceHandle
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  query_service_config_w_request:
    -orig-id: RQueryServiceConfigW
    doc: RQueryServiceConfigW, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.17
    seq:
      - id: handle
        -orig-id: hService
        type: ndr::context_handle(_root.big_endian)
      - id: align_buf_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: buf_size
        -orig-id: cbBufSize
        type: u4
  query_service_config_w_response:
    -orig-id: RQueryServiceConfigW
    doc: RQueryServiceConfigW, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.17
    seq:
      - id: service_config
        -orig-id: lpServiceConfig
        type: service_config(false)
      - id: align_bytes_needed
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: bytes_needed
        -orig-id: pcbBytesNeeded
        type: u4
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  start_service_w_request:
    -orig-id: RStartServiceW
    doc: RStartServiceW, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.19
    seq:
      - id: handle
        -orig-id: hService
        type: ndr::context_handle(_root.big_endian)
      - id: align_argc
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: argc
        -orig-id: argc
        type: u4
      - id: argv
        -orig-id: argv
        type: arguments(false)
  start_service_w_response:
    -orig-id: RStartServiceW
    doc: RStartServiceW, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.19
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  change_service_config_a_request:
    -orig-id: RChangeServiceConfigA
    doc: RChangeServiceConfigA, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.22
    seq:
      - id: handle
        -orig-id: hService
        type: ndr::context_handle(_root.big_endian)
      - id: align_service_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: service_type
        -orig-id: dwServiceType
        type: u4
        -flags: service_type
      - id: align_start_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: start_type
        -orig-id: dwStartType
        type: u4
        enum: start_type
      - id: align_error_control
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: error_control
        -orig-id: dwErrorControl
        type: u4
        enum: error_control
      - id: binary_path_name
        -orig-id: lpBinaryPathName
        type: optional_narrow_text
      - id: load_order_group
        -orig-id: lpLoadOrderGroup
        type: optional_narrow_text
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: dependencies
        -orig-id: lpDependencies
        type: optional_data
      - id: align_depend_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: depend_size
        -orig-id: dwDependSize
        type: u4
      - id: service_start_name
        -orig-id: lpServiceStartName
        type: optional_narrow_text
      - id: password
        -orig-id: lpPassword
        type: optional_data
      - id: align_pw_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: pw_size
        -orig-id: dwPwSize
        type: u4
      - id: display_name
        -orig-id: lpDisplayName
        type: optional_narrow_text
  change_service_config_a_response:
    -orig-id: RChangeServiceConfigA
    doc: RChangeServiceConfigA, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.22
    seq:
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  create_service_a_request:
    -orig-id: RCreateServiceA
    doc: RCreateServiceA, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.23
    seq:
      - id: manager
        -orig-id: hSCManager
        type: ndr::context_handle(_root.big_endian)
      - id: service_name
        -orig-id: lpServiceName
        type: narrow_text
      - id: display_name
        -orig-id: lpDisplayName
        type: optional_narrow_text
      - id: align_desired_access
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: desired_access
        -orig-id: dwDesiredAccess
        type: u4
      - id: align_service_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: service_type
        -orig-id: dwServiceType
        type: u4
        -flags: service_type
      - id: align_start_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: start_type
        -orig-id: dwStartType
        type: u4
        enum: start_type
      - id: align_error_control
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: error_control
        -orig-id: dwErrorControl
        type: u4
        enum: error_control
      - id: binary_path_name
        -orig-id: lpBinaryPathName
        type: narrow_text
      - id: load_order_group
        -orig-id: lpLoadOrderGroup
        type: optional_narrow_text
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: dependencies
        -orig-id: lpDependencies
        type: optional_data
      - id: align_depend_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: depend_size
        -orig-id: dwDependSize
        type: u4
      - id: service_start_name
        -orig-id: lpServiceStartName
        type: optional_narrow_text
      - id: password
        -orig-id: lpPassword
        type: optional_data
      - id: align_pw_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: pw_size
        -orig-id: dwPwSize
        type: u4
  create_service_a_response:
    -orig-id: RCreateServiceA
    doc: RCreateServiceA, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.23
    seq:
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: service_handle
        -orig-id: lpServiceHandle
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_sc_manager_a_request:
    -orig-id: ROpenSCManagerA
    doc: ROpenSCManagerA, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.26
    seq:
      - id: machine_name
        -orig-id: lpMachineName
        type: optional_narrow_text
      - id: database_name
        -orig-id: lpDatabaseName
        type: optional_narrow_text
      - id: align_desired_access
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: desired_access
        -orig-id: dwDesiredAccess
        type: u4
  open_sc_manager_a_response:
    -orig-id: ROpenSCManagerA
    doc: ROpenSCManagerA, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.26
    seq:
      - id: manager_handle
        -orig-id: lpScHandle
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_service_a_request:
    -orig-id: ROpenServiceA
    doc: ROpenServiceA, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.27
    seq:
      - id: manager
        -orig-id: hSCManager
        type: ndr::context_handle(_root.big_endian)
      - id: service_name
        -orig-id: lpServiceName
        type: narrow_text
      - id: align_desired_access
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: desired_access
        -orig-id: dwDesiredAccess
        type: u4
  open_service_a_response:
    -orig-id: ROpenServiceA
    doc: ROpenServiceA, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.27
    seq:
      - id: service_handle
        -orig-id: lpServiceHandle
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  query_service_config_a_request:
    -orig-id: RQueryServiceConfigA
    doc: RQueryServiceConfigA, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.28
    seq:
      - id: handle
        -orig-id: hService
        type: ndr::context_handle(_root.big_endian)
      - id: align_buf_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: buf_size
        -orig-id: cbBufSize
        type: u4
  query_service_config_a_response:
    -orig-id: RQueryServiceConfigA
    doc: RQueryServiceConfigA, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.28
    seq:
      - id: service_config
        -orig-id: lpServiceConfig
        type: service_config(true)
      - id: align_bytes_needed
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: bytes_needed
        -orig-id: pcbBytesNeeded
        type: u4
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  start_service_a_request:
    -orig-id: RStartServiceA
    doc: RStartServiceA, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.30
    seq:
      - id: handle
        -orig-id: hService
        type: ndr::context_handle(_root.big_endian)
      - id: align_argc
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: argc
        -orig-id: argc
        type: u4
      - id: argv
        -orig-id: argv
        type: arguments(true)
  start_service_a_response:
    -orig-id: RStartServiceA
    doc: RStartServiceA, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.30
    seq:
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  create_service_wow64_a_request:
    -orig-id: RCreateServiceWOW64A
    doc: RCreateServiceWOW64A, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.40
    seq:
      - id: manager
        -orig-id: hSCManager
        type: ndr::context_handle(_root.big_endian)
      - id: service_name
        -orig-id: lpServiceName
        type: narrow_text
      - id: display_name
        -orig-id: lpDisplayName
        type: optional_narrow_text
      - id: align_desired_access
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: desired_access
        -orig-id: dwDesiredAccess
        type: u4
      - id: align_service_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: service_type
        -orig-id: dwServiceType
        type: u4
        -flags: service_type
      - id: align_start_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: start_type
        -orig-id: dwStartType
        type: u4
        enum: start_type
      - id: align_error_control
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: error_control
        -orig-id: dwErrorControl
        type: u4
        enum: error_control
      - id: binary_path_name
        -orig-id: lpBinaryPathName
        type: narrow_text
      - id: load_order_group
        -orig-id: lpLoadOrderGroup
        type: optional_narrow_text
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: dependencies
        -orig-id: lpDependencies
        type: optional_data
      - id: align_depend_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: depend_size
        -orig-id: dwDependSize
        type: u4
      - id: service_start_name
        -orig-id: lpServiceStartName
        type: optional_narrow_text
      - id: password
        -orig-id: lpPassword
        type: optional_data
      - id: align_pw_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: pw_size
        -orig-id: dwPwSize
        type: u4
  create_service_wow64_a_response:
    -orig-id: RCreateServiceWOW64A
    doc: RCreateServiceWOW64A, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.40
    seq:
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: service_handle
        -orig-id: lpServiceHandle
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  create_service_wow64_w_request:
    -orig-id: RCreateServiceWOW64W
    doc: RCreateServiceWOW64W, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.41
    seq:
      - id: manager
        -orig-id: hSCManager
        type: ndr::context_handle(_root.big_endian)
      - id: service_name
        -orig-id: lpServiceName
        type: text
      - id: display_name
        -orig-id: lpDisplayName
        type: optional_text
      - id: align_desired_access
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: desired_access
        -orig-id: dwDesiredAccess
        type: u4
      - id: align_service_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: service_type
        -orig-id: dwServiceType
        type: u4
        -flags: service_type
      - id: align_start_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: start_type
        -orig-id: dwStartType
        type: u4
        enum: start_type
      - id: align_error_control
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: error_control
        -orig-id: dwErrorControl
        type: u4
        enum: error_control
      - id: binary_path_name
        -orig-id: lpBinaryPathName
        type: text
      - id: load_order_group
        -orig-id: lpLoadOrderGroup
        type: optional_text
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: dependencies
        -orig-id: lpDependencies
        type: optional_data
      - id: align_depend_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: depend_size
        -orig-id: dwDependSize
        type: u4
      - id: service_start_name
        -orig-id: lpServiceStartName
        type: optional_text
      - id: password
        -orig-id: lpPassword
        type: optional_data
      - id: align_pw_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: pw_size
        -orig-id: dwPwSize
        type: u4
  create_service_wow64_w_response:
    -orig-id: RCreateServiceWOW64W
    doc: RCreateServiceWOW64W, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.41
    seq:
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: service_handle
        -orig-id: lpServiceHandle
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  create_wow_service_request:
    -orig-id: RCreateWowService
    doc: RCreateWowService, request.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.48
    seq:
      - id: manager
        -orig-id: hSCManager
        type: ndr::context_handle(_root.big_endian)
      - id: service_name
        -orig-id: lpServiceName
        type: text
      - id: display_name
        -orig-id: lpDisplayName
        type: optional_text
      - id: align_desired_access
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: desired_access
        -orig-id: dwDesiredAccess
        type: u4
      - id: align_service_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: service_type
        -orig-id: dwServiceType
        type: u4
        -flags: service_type
      - id: align_start_type
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: start_type
        -orig-id: dwStartType
        type: u4
        enum: start_type
      - id: align_error_control
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: error_control
        -orig-id: dwErrorControl
        type: u4
        enum: error_control
      - id: binary_path_name
        -orig-id: lpBinaryPathName
        type: text
      - id: load_order_group
        -orig-id: lpLoadOrderGroup
        type: optional_text
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: dependencies
        -orig-id: lpDependencies
        type: optional_data
      - id: align_depend_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: depend_size
        -orig-id: dwDependSize
        type: u4
      - id: service_start_name
        -orig-id: lpServiceStartName
        type: optional_text
      - id: password
        -orig-id: lpPassword
        type: optional_data
      - id: align_pw_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: pw_size
        -orig-id: dwPwSize
        type: u4
      - id: align_wow_type
        -orig-id: (alignment)
        size: (2 - _io.pos % 2) % 2
      - id: wow_type
        -orig-id: dwServiceWowType
        type: u2
  create_wow_service_response:
    -orig-id: RCreateWowService
    doc: RCreateWowService, response.
    doc-ref: MS-SCMR revision 33.0 section 3.1.4.48
    seq:
      - id: tag_id
        -orig-id: lpdwTagId
        type: optional_u4
      - id: service_handle
        -orig-id: lpServiceHandle
        type: ndr::context_handle(_root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
enums:
  service_type:
    # MS-SCMR revision 33.0 section 3.1.4.12
    0x00000001: {id: kernel_driver, -orig-id: SERVICE_KERNEL_DRIVER}
    0x00000002: {id: file_system_driver, -orig-id: SERVICE_FILE_SYSTEM_DRIVER}
    0x00000010: {id: own_process, -orig-id: SERVICE_WIN32_OWN_PROCESS}
    0x00000020: {id: share_process, -orig-id: SERVICE_WIN32_SHARE_PROCESS}
    0x00000100: {id: interactive_process, -orig-id: SERVICE_INTERACTIVE_PROCESS}
  start_type:
    # MS-SCMR revision 33.0 section 3.1.4.12
    0: {id: boot_start, -orig-id: SERVICE_BOOT_START}
    1: {id: system_start, -orig-id: SERVICE_SYSTEM_START}
    2: {id: auto_start, -orig-id: SERVICE_AUTO_START}
    3: {id: demand_start, -orig-id: SERVICE_DEMAND_START}
    4: {id: disabled, -orig-id: SERVICE_DISABLED}
    0xffffffff: {id: no_change, -orig-id: SERVICE_NO_CHANGE}
  error_control:
    # MS-SCMR revision 33.0 section 3.1.4.12
    0: {id: ignore, -orig-id: SERVICE_ERROR_IGNORE}
    1: {id: normal, -orig-id: SERVICE_ERROR_NORMAL}
    2: {id: severe, -orig-id: SERVICE_ERROR_SEVERE}
    3: {id: critical, -orig-id: SERVICE_ERROR_CRITICAL}
    0xffffffff: {id: no_change, -orig-id: SERVICE_NO_CHANGE}
  service_state:
    # MS-SCMR revision 33.0 section 2.2.47
    1: {id: stopped, -orig-id: SERVICE_STOPPED}
    2: {id: start_pending, -orig-id: SERVICE_START_PENDING}
    3: {id: stop_pending, -orig-id: SERVICE_STOP_PENDING}
    4: {id: running, -orig-id: SERVICE_RUNNING}
    5: {id: continue_pending, -orig-id: SERVICE_CONTINUE_PENDING}
    6: {id: pause_pending, -orig-id: SERVICE_PAUSE_PENDING}
    7: {id: paused, -orig-id: SERVICE_PAUSED}
  control:
    # MS-SCMR revision 33.0 section 3.1.4.2
    1: {id: stop, -orig-id: SERVICE_CONTROL_STOP}
    2: {id: pause, -orig-id: SERVICE_CONTROL_PAUSE}
    3: {id: resume, -orig-id: SERVICE_CONTROL_CONTINUE}
    4: {id: interrogate, -orig-id: SERVICE_CONTROL_INTERROGATE}
    6: {id: paramchange, -orig-id: SERVICE_CONTROL_PARAMCHANGE}
    7: {id: netbindadd, -orig-id: SERVICE_CONTROL_NETBINDADD}
    8: {id: netbindremove, -orig-id: SERVICE_CONTROL_NETBINDREMOVE}
    9: {id: netbindenable, -orig-id: SERVICE_CONTROL_NETBINDENABLE}
    10: {id: netbinddisable, -orig-id: SERVICE_CONTROL_NETBINDDISABLE}
