meta:
  id: ms_pcq_stubs
  title: "[MS-PCQ] request and response stubs of the PerflibV2 interface"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian:
    switch-on: big_endian
    cases:
      true: be
      false: le
  imports:
    - ndr
    - ms_pcq
doc: |
  The stubs of opnums 0 to 7 of interface da5a86c5-12c2-4943-ab30-7f74a813d853 version 1.0, without authentication padding
  and verification trailer. The buffer in `lp_data` has a description of its own, by method and request code.
doc-ref: MS-PCQ revision 13.0 sections 3.1.4.1 and 6
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
  - id: has_referent
    type: bool
    doc: |
      szMachine is preceded by a referent id. By the rules of the IDL it is not (a top-level pointer without attribute
      is a reference pointer), but a peer whose compiler took it for a unique pointer sends one.
seq:
  - id: request
    -orig-id: (request)
    if: not is_response
    type:
      switch-on: opnum
      cases:
        0: enumerate_counter_set_request
        1: query_counter_set_registration_info_request
        2: enumerate_counter_set_instances_request
        3: open_query_handle_request
        4: close_query_handle_request
        5: query_counter_info_request
        6: query_counter_data_request
        7: validate_counters_request
  - id: response
    -orig-id: (response)
    if: is_response
    type:
      switch-on: opnum
      cases:
        0: enumerate_counter_set_response
        1: query_counter_set_registration_info_response
        2: enumerate_counter_set_instances_response
        3: open_query_handle_response
        4: close_query_handle_response
        5: query_counter_info_response
        6: query_counter_data_response
        7: validate_counters_response
types:
  enumerate_counter_set_request:
    -orig-id: PerflibV2EnumerateCounterSet
    doc: PerflibV2EnumerateCounterSet, request.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.1
    seq:
      - id: machine
        -orig-id: szMachine
        type: machine_name
      - id: align_in_size
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: in_size
        -orig-id: dwInSize
        type: u4
  enumerate_counter_set_response:
    -orig-id: PerflibV2EnumerateCounterSet
    doc: PerflibV2EnumerateCounterSet, response.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.1
    seq:
      - id: out_size
        -orig-id: pdwOutSize
        type: u4
      - id: rtn_size
        -orig-id: pdwRtnSize
        type: u4
      - id: lp_data
        -orig-id: lpData
        type: ndr::conformant_varying(16, _root.ndr64, _root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  query_counter_set_registration_info_request:
    -orig-id: PerflibV2QueryCounterSetRegistrationInfo
    doc: PerflibV2QueryCounterSetRegistrationInfo, request.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.2
    seq:
      - id: machine
        -orig-id: szMachine
        type: machine_name
      - id: align_counterset_guid
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: counterset_guid
        -orig-id: CounterSetGuid
        type: ndr::uuid(_root.big_endian)
      - id: request_code
        -orig-id: RequestCode
        type: u4
        enum: ms_pcq::request_code
      - id: request_lcid
        -orig-id: RequestLCID
        type: u4
        doc: A language, or with request code 2 a counter id.
      - id: in_size
        -orig-id: dwInSize
        type: u4
  query_counter_set_registration_info_response:
    -orig-id: PerflibV2QueryCounterSetRegistrationInfo
    doc: PerflibV2QueryCounterSetRegistrationInfo, response.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.2
    seq:
      - id: out_size
        -orig-id: pdwOutSize
        type: u4
      - id: rtn_size
        -orig-id: pdwRtnSize
        type: u4
      - id: lp_data
        -orig-id: lpData
        type: ndr::conformant_varying(1, _root.ndr64, _root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  enumerate_counter_set_instances_request:
    -orig-id: PerflibV2EnumerateCounterSetInstances
    doc: PerflibV2EnumerateCounterSetInstances, request.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.3
    seq:
      - id: machine
        -orig-id: szMachine
        type: machine_name
      - id: align_counterset_guid
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: counterset_guid
        -orig-id: CounterSetGuid
        type: ndr::uuid(_root.big_endian)
      - id: in_size
        -orig-id: dwInSize
        type: u4
  enumerate_counter_set_instances_response:
    -orig-id: PerflibV2EnumerateCounterSetInstances
    doc: PerflibV2EnumerateCounterSetInstances, response.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.3
    seq:
      - id: out_size
        -orig-id: pdwOutSize
        type: u4
      - id: rtn_size
        -orig-id: pdwRtnSize
        type: u4
      - id: lp_data
        -orig-id: lpData
        type: ndr::conformant_varying(1, _root.ndr64, _root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  open_query_handle_request:
    -orig-id: PerflibV2OpenQueryHandle
    doc: PerflibV2OpenQueryHandle, request.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.4
    seq:
      - id: machine
        -orig-id: szMachine
        type: machine_name
  open_query_handle_response:
    -orig-id: PerflibV2OpenQueryHandle
    doc: PerflibV2OpenQueryHandle, response.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.4
    seq:
      - id: query_handle
        -orig-id: phQuery
        type: ndr::context_handle(_root.big_endian)
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  close_query_handle_request:
    -orig-id: PerflibV2CloseQueryHandle
    doc: PerflibV2CloseQueryHandle, request.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.8
    seq:
      - id: query_handle
        -orig-id: phQuery
        type: ndr::context_handle(_root.big_endian)
  close_query_handle_response:
    -orig-id: PerflibV2CloseQueryHandle
    doc: PerflibV2CloseQueryHandle, response.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.8
    seq:
      - id: query_handle
        -orig-id: phQuery
        type: ndr::context_handle(_root.big_endian)
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  query_counter_info_request:
    -orig-id: PerflibV2QueryCounterInfo
    doc: PerflibV2QueryCounterInfo, request.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.5
    seq:
      - id: query_handle
        -orig-id: hQuery
        type: ndr::context_handle(_root.big_endian)
      - id: in_size
        -orig-id: dwInSize
        type: u4
  query_counter_info_response:
    -orig-id: PerflibV2QueryCounterInfo
    doc: PerflibV2QueryCounterInfo, response.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.5
    seq:
      - id: out_size
        -orig-id: pdwOutSize
        type: u4
      - id: rtn_size
        -orig-id: pdwRtnSize
        type: u4
      - id: lp_data
        -orig-id: lpData
        type: ndr::conformant_varying(1, _root.ndr64, _root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  query_counter_data_request:
    -orig-id: PerflibV2QueryCounterData
    doc: PerflibV2QueryCounterData, request.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.6
    seq:
      - id: query_handle
        -orig-id: hQuery
        type: ndr::context_handle(_root.big_endian)
      - id: in_size
        -orig-id: dwInSize
        type: u4
  query_counter_data_response:
    -orig-id: PerflibV2QueryCounterData
    doc: PerflibV2QueryCounterData, response.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.6
    seq:
      - id: out_size
        -orig-id: pdwOutSize
        type: u4
      - id: rtn_size
        -orig-id: pdwRtnSize
        type: u4
      - id: lp_data
        -orig-id: lpData
        type: ndr::conformant_varying(1, _root.ndr64, _root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  validate_counters_request:
    -orig-id: PerflibV2ValidateCounters
    doc: PerflibV2ValidateCounters, request.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.7
    seq:
      - id: query_handle
        -orig-id: hQuery
        type: ndr::context_handle(_root.big_endian)
      - id: in_size
        -orig-id: dwInSize
        type: u4
      - id: lp_data
        -orig-id: lpData
        type: ndr::conformant(_root.ndr64, _root.big_endian)
      - id: align_add
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: add
        -orig-id: dwAdd
        type: u4
        doc: 0 removes the counters from the query, anything else adds them.
  validate_counters_response:
    -orig-id: PerflibV2ValidateCounters
    doc: PerflibV2ValidateCounters, response.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.7
    seq:
      - id: lp_data
        -orig-id: lpData
        type: ndr::conformant(_root.ndr64, _root.big_endian)
      - id: align_status
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: status
        -orig-id: (return value)
        type: u4
        -meaning: win32
  machine_name:
    -orig-id: szMachine
    doc: The server's name as the client spells it, a conformant varying string.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.1; DCE 1.1 RPC (C706) section 14.3.4
    seq:
      - id: pointer
        -orig-id: (referent)
        type: ndr::pointer(_root.ndr64, _root.big_endian)
        if: _root.has_referent
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
