meta:
  id: string_table
  title: "[MS-PCQ] strings of the counters (request codes 5, 6 and 10), without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_pcq_string_table
doc: |
  Names or descriptions of the counters of a counterset. Offsets count from the start of the block (Windows SDK, perflib.h, comment on
  PERF_STRING_COUNTER_HEADER), unless the least of them leads into the headers: then they count from their end (MS-PCQ). README.md
  describes the evidence that settles the cases in which both fit.
doc-ref: MS-PCQ revision 13.0 sections 2.2.4.3, 2.2.4.4 and 3.1.4.1.2
seq:
  - id: table
    -orig-id: _STRING_BUFFER_HEADER
    type: ms_pcq_string_table(ofs_base)
instances:
  num_counters:
    -orig-id: dwCounters
    pos: 4
    type: u4
  headers:
    -orig-id: _STRING_COUNTER_HEADER
    pos: 8
    type: header(_index)
    repeat: expr
    repeat-expr: num_counters
  len_headers:
    -orig-id: (length of the headers)
    value: 8 + 8 * num_counters
  ofs_base:
    -orig-id: (what offsets count from)
    value: 'num_counters != 0 and headers.last.least.as<u4> < len_headers ? len_headers : 0'
types:
  header:
    -orig-id: _STRING_COUNTER_HEADER
    doc: A counter and where its string is, with the least of the offsets up to here (0xFFFFFFFF stands for no string).
    doc-ref: MS-PCQ revision 13.0 section 2.2.4.4
    params:
      - id: number
        type: s4
    seq:
      - id: counter_id
        -orig-id: dwCounterId
        type: u4
      - id: ofs_string
        -orig-id: dwOffset
        type: u4
    instances:
      least:
        -orig-id: (least offset)
        value: >-
          number == 0 ? ofs_string
          : (_parent.headers[number - 1].least.as<u4> < ofs_string ? _parent.headers[number - 1].least.as<u4> : ofs_string)
