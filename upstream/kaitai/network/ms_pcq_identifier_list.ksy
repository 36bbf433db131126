meta:
  id: ms_pcq_identifier_list
  title: "[MS-PCQ] counter identifiers (opnums 5 and 7)"
  application: PerflibV2 of Windows
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ms_dtyp
doc: |
  What a query consists of (PerflibV2QueryCounterInfo), what to add to it or take from it and what became of
  that (PerflibV2ValidateCounters, request and response).
doc-ref: MS-PCQ revision 13.0 sections 3.1.4.1.5 and 3.1.4.1.7
seq:
  - id: identifiers
    -orig-id: _PERF_COUNTER_IDENTIFIER
    type: identifier
    repeat: eos
types:
  identifier:
    -orig-id: _PERF_COUNTER_IDENTIFIER
    doc: One counter, or several by wildcard. `size` counts the name and its padding; 40 means there is no name.
    doc-ref: MS-PCQ revision 13.0 section 2.2.4.6
    seq:
      - id: counterset_guid
        -orig-id: CounterSetGuid
        type: ms_dtyp::guid
      - id: status
        -orig-id: Status
        type: u4
        -meaning: win32
      - id: size
        -orig-id: Size
        type: u4
        valid:
          min: 40
      - id: counter_id
        -orig-id: CounterId
        type: u4
        -special: {0xffffffff: all}
        doc: 0xFFFFFFFF for all counters.
      - id: instance_id
        -orig-id: InstanceId
        type: u4
        -special: {0xffffffff: any}
        doc: 0xFFFFFFFF for any (perflib.h).
      - id: index
        -orig-id: Index
        type: u4
        doc: Position of its block in the data of the query.
      - id: reserved
        -orig-id: Reserved
        type: u4
      - id: name
        -orig-id: InstanceName
        -encoding: UTF-16LE
        size: size - 40
        if: size != 40 and ofs_name >= 0
        doc: Text through its first NUL, and padding. "*" for all instances.
    instances:
      ofs_name:
        -orig-id: (offset of the name)
        value: _io.pos
      name_text:
        -orig-id: (name as text)
        -text-of: name
        pos: ofs_name
        size: size - 40
        type: strz
        encoding: UTF-16LE
        if: size != 40
