meta:
  id: ms_pcq_string_table
  title: "[MS-PCQ] strings of the counters (request codes 5, 6 and 10)"
  application: PerflibV2 of Windows
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
doc: |
  Names or descriptions of the counters of a counterset. Two documents disagree on where offsets count from: MS-PCQ says
  from the end of the counter headers, perflib.h from the start of the buffer. The reader finds out which of them
  the data follows and passes it as `ofs_base`. An offset of 0xFFFFFFFF (perflib.h only) stands for no string.
doc-ref: MS-PCQ revision 13.0 sections 2.2.4.3, 2.2.4.4 and 3.1.4.1.2
-orig-id: _STRING_BUFFER_HEADER
params:
  - id: ofs_base
    type: u4
    doc: 0, or 8 + 8 * num_counters.
seq:
  - id: total_size
    -orig-id: dwSize
    type: u4
  - id: num_counters
    -orig-id: dwCounters
    type: u4
  - id: strings
    -orig-id: _STRING_COUNTER_HEADER
    type: counter_string(ofs_base)
    repeat: expr
    repeat-expr: num_counters
  - id: rest
    -orig-id: (strings and padding)
    -around: true
    size-eos: true
types:
  counter_string:
    -orig-id: _STRING_COUNTER_HEADER
    doc: A counter and where its string is.
    doc-ref: MS-PCQ revision 13.0 section 2.2.4.4
    params:
      - id: ofs_base
        type: u4
    seq:
      - id: counter_id
        -orig-id: dwCounterId
        type: u4
      - id: ofs_string
        -orig-id: dwOffset
        type: u4
        -special: {0xffffffff: no string}
    instances:
      string:
        -orig-id: (string)
        pos: ofs_base + ofs_string
        type: strz
        encoding: UTF-16LE
        if: ofs_string != 0xffffffff
