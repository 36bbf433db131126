meta:
  id: ndr
  title: NDR building blocks, NDR20 and NDR64, either byte order
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-rpce/
  license: GPL-2.0-or-later
  ks-version: "0.11"
doc: |
  Types to import into descriptions of RPC stubs. Alignment counts from the start of the stream, so a stub has to be
  its own stream. `ndr64` chooses the transfer syntax: counts and pointers are then 8 bytes wide and 8-aligned.
doc-ref: DCE 1.1 RPC (C706) chapter 14; MS-RPCE revision 33.0 section 2.2.5
types:
  uuid:
    -orig-id: uuid_t
    doc: A UUID, in the byte order of the call.
    doc-ref: DCE 1.1 RPC (C706) appendix A; MS-DTYP revision 37.0 section 2.3.4.2
    params:
      - id: big_endian
        type: bool
    meta:
      endian:
        switch-on: big_endian
        cases:
          true: be
          false: le
    seq:
      - id: data1
        -orig-id: time_low
        type: u4
      - id: data2
        -orig-id: time_mid
        type: u2
      - id: data3
        -orig-id: time_hi_and_version
        type: u2
      - id: data4
        -orig-id: clock_seq, node
        size: 8
  context_handle:
    -orig-id: ndr_context_handle
    doc: A context handle, 20 bytes; all zero for none.
    doc-ref: DCE 1.1 RPC (C706) appendix N; MS-RPCE revision 33.0 section 2.2.5.3.4
    params:
      - id: big_endian
        type: bool
    meta:
      endian:
        switch-on: big_endian
        cases:
          true: be
          false: le
    seq:
      - id: align_attributes
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: attributes
        -orig-id: context_handle_attributes
        type: u4
      - id: uuid
        -orig-id: context_handle_uuid
        type: uuid(big_endian)
  conformant_varying:
    -orig-id: (conformant varying array)
    doc: |
      An array that says how many elements there is room for and how many of them follow. Nothing here has an offset
      other than 0 (strings and arrays are sent from their first element on).
    doc-ref: DCE 1.1 RPC (C706) section 14.3.3.4; MS-RPCE revision 33.0 section 2.2.5.3.2
    params:
      - id: len_element
        type: u4
      - id: ndr64
        type: bool
      - id: big_endian
        type: bool
    meta:
      endian:
        switch-on: big_endian
        cases:
          true: be
          false: le
    seq:
      - id: align_counts
        -orig-id: (alignment)
        size: 'ndr64 ? (8 - _io.pos % 8) % 8 : (4 - _io.pos % 4) % 4'
      - id: max_count
        -orig-id: max_count
        type:
          switch-on: ndr64
          cases:
            true: u8
            false: u4
      - id: offset
        -orig-id: offset
        type:
          switch-on: ndr64
          cases:
            true: u8
            false: u4
        valid: 0
      - id: actual_count
        -orig-id: actual_count
        type:
          switch-on: ndr64
          cases:
            true: u8
            false: u4
        valid:
          max: max_count
      - id: data
        -orig-id: (elements)
        size: actual_count * len_element
  conformant:
    -orig-id: (conformant array)
    doc: An array of bytes that says how many elements it has.
    doc-ref: DCE 1.1 RPC (C706) section 14.3.3.2; MS-RPCE revision 33.0 section 2.2.5.3.2
    params:
      - id: ndr64
        type: bool
      - id: big_endian
        type: bool
    meta:
      endian:
        switch-on: big_endian
        cases:
          true: be
          false: le
    seq:
      - id: align_counts
        -orig-id: (alignment)
        size: 'ndr64 ? (8 - _io.pos % 8) % 8 : (4 - _io.pos % 4) % 4'
      - id: max_count
        -orig-id: max_count
        type:
          switch-on: ndr64
          cases:
            true: u8
            false: u4
      - id: data
        -orig-id: (elements)
        size: max_count
  pointer:
    -orig-id: (unique pointer)
    doc: The referent of a unique or full pointer; 0 for a null pointer.
    doc-ref: DCE 1.1 RPC (C706) section 14.3.10; MS-RPCE revision 33.0 section 2.2.5.3.5
    params:
      - id: ndr64
        type: bool
      - id: big_endian
        type: bool
    meta:
      endian:
        switch-on: big_endian
        cases:
          true: be
          false: le
    seq:
      - id: align_referent
        -orig-id: (alignment)
        size: 'ndr64 ? (8 - _io.pos % 8) % 8 : (4 - _io.pos % 4) % 4'
      - id: referent
        -orig-id: referent_id
        type:
          switch-on: ndr64
          cases:
            true: u8
            false: u4
  aligned_u4:
    -orig-id: unsigned long
    doc: A 32-bit integer with the alignment before it.
    doc-ref: DCE 1.1 RPC (C706) sections 14.2.2 and 14.2.5
    params:
      - id: big_endian
        type: bool
    meta:
      endian:
        switch-on: big_endian
        cases:
          true: be
          false: le
    seq:
      - id: align_value
        -orig-id: (alignment)
        size: (4 - _io.pos % 4) % 4
      - id: value
        -orig-id: unsigned long
        type: u4
