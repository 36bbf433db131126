meta:
  id: ms_pcq_perf_data
  title: "[MS-PCQ] performance data (opnum 6)"
  application: PerflibV2 of Windows
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ms_dtyp
    - ms_pcq
doc: |
  What PerflibV2QueryCounterData returns. Everything is advanced over by its own size field. What MS-PCQ leaves open is
  whether an odd number of counter ids is followed by 4 bytes of padding that no size counts; the reader finds out which
  reading uses a block up and passes it as `len_id_paddings`.
doc-ref: MS-PCQ revision 13.0 sections 2.2.4.7 and 3.1.4.1.6
-orig-id: _PERF_DATA_HEADER
params:
  - id: len_id_paddings
    type: u1[]
    doc: For each block, how many uncounted bytes follow its counter ids, 0 or 4. Blocks beyond the end have 0.
seq:
  - id: total_size
    -orig-id: dwTotalSize
    type: u4
  - id: num_blocks
    -orig-id: dwNumCounter
    type: u4
    doc: Number of counter header blocks (perflib.h), not of counters.
  - id: perf_time_stamp
    -orig-id: PerfTimeStamp
    type: u8
  - id: perf_time_100ns
    -orig-id: PerfTime100NSec
    type: u8
    -meaning: filetime
  - id: perf_freq
    -orig-id: PerfFreq
    type: u8
  - id: system_time
    -orig-id: SystemTime
    type: ms_dtyp::systemtime
  - id: blocks
    -orig-id: _PERF_COUNTER_HEADER
    type: 'block(_index < len_id_paddings.size ? len_id_paddings[_index] : 0)'
    repeat: expr
    repeat-expr: num_blocks
types:
  block:
    -orig-id: _PERF_COUNTER_HEADER
    doc: |
      One answer of the query. Of a block that was cut off, what is there is still read: `body` ends with the data, and
      `missing` (empty in a whole block) is what cannot be read.
    doc-ref: MS-PCQ revision 13.0 section 2.2.4.8
    params:
      - id: len_id_padding
        type: u1
    seq:
      - id: status
        -orig-id: dwStatus
        type: u4
        -meaning: win32
      - id: block_type
        -orig-id: dwType
        type: u4
        enum: ms_pcq::block_type
        valid:
          in-enum: true
      - id: size
        -orig-id: dwSize
        type: u4
        valid:
          min: 16
      - id: reserved
        -orig-id: Reserved
        type: u4
      - id: body
        -orig-id: (data)
        size: len_body
        type:
          switch-on: block_type
          cases:
            'ms_pcq::block_type::error_return': nothing
            'ms_pcq::block_type::single_counter': single_counter
            'ms_pcq::block_type::multi_counters': multi_counters(len_id_padding)
            'ms_pcq::block_type::multi_instances': multi_instances
            'ms_pcq::block_type::counterset': counterset(len_id_padding)
      - id: missing
        -orig-id: (bytes beyond the end)
        size: size - 16 - len_body
    instances:
      len_body:
        -orig-id: (length of data)
        value: 'size - 16 < _io.size - _io.pos ? size - 16 : _io.size - _io.pos'
  nothing:
    -orig-id: PERF_ERROR_RETURN
    doc: An error block has no data.
    doc-ref: MS-PCQ revision 13.0 section 2.2.4.8
    seq:
      - id: rest
        -orig-id: (bytes left over)
        size-eos: true
  counter_data:
    -orig-id: _PERF_COUNTER_DATA
    doc: A value. Of 4 or 8 bytes, it is a little-endian unsigned integer; else it is text.
    doc-ref: MS-PCQ revision 13.0 section 2.2.4.9
    seq:
      - id: data_size
        -orig-id: dwDataSize
        type: u4
      - id: size
        -orig-id: dwSize
        type: u4
        valid:
          min: 8 + data_size
      - id: value
        -orig-id: (data)
        size: data_size
        -meaning: counter-value
      - id: padding
        -orig-id: (padding)
        size: size - 8 - data_size
  single_counter:
    -orig-id: PERF_SINGLE_COUNTER
    doc: One counter of one instance.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.6, figure 6
    seq:
      - id: data
        -orig-id: _PERF_COUNTER_DATA
        type: counter_data
      - id: rest
        -orig-id: (bytes left over)
        size-eos: true
  counter_ids:
    -orig-id: _PERF_MULTI_COUNTERS
    doc: The counters whose values follow, in their order.
    doc-ref: MS-PCQ revision 13.0 section 2.2.4.11
    params:
      - id: len_uncounted
        type: u1
    seq:
      - id: size
        -orig-id: dwSize
        type: u4
        valid:
          min: 8
      - id: num_counters
        -orig-id: dwCounters
        type: u4
        valid:
          max: (size - 8) / 4
      - id: counter_ids
        -orig-id: CounterId
        type: u4
        repeat: expr
        repeat-expr: num_counters
      - id: padding
        -orig-id: (padding)
        size: size - 8 - 4 * num_counters
      - id: uncounted
        -orig-id: (padding outside the size)
        size: len_uncounted
  multi_counters:
    -orig-id: PERF_MULTI_COUNTERS
    doc: Several counters of one instance.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.6, figure 7
    params:
      - id: len_id_padding
        type: u1
    seq:
      - id: counters
        -orig-id: _PERF_MULTI_COUNTERS
        type: counter_ids(len_id_padding)
      - id: data
        -orig-id: _PERF_COUNTER_DATA
        type: counter_data
        repeat: expr
        repeat-expr: counters.num_counters
      - id: rest
        -orig-id: (bytes left over)
        size-eos: true
  instance:
    -orig-id: _PERF_INSTANCE_HEADER, _PERF_COUNTER_DATA
    doc: An instance and its values. The name belongs to the header here as well, which figure 9 leaves out.
    doc-ref: MS-PCQ revision 13.0 sections 2.2.4.5 and 2.2.4.9
    params:
      - id: num_values
        type: u4
    seq:
      - id: header
        -orig-id: _PERF_INSTANCE_HEADER
        type: ms_pcq::instance_header
      - id: data
        -orig-id: _PERF_COUNTER_DATA
        type: counter_data
        repeat: expr
        repeat-expr: num_values
  instances:
    -orig-id: _PERF_MULTI_INSTANCES
    doc: Instances, each with the same number of values.
    doc-ref: MS-PCQ revision 13.0 section 2.2.4.10
    params:
      - id: num_values
        type: u4
    seq:
      - id: total_size
        -orig-id: dwTotalSize
        type: u4
        valid:
          min: 8
      - id: num_instances
        -orig-id: dwInstances
        type: u4
      - id: instances
        -orig-id: (instance data)
        type: instance(num_values)
        repeat: expr
        repeat-expr: num_instances
  multi_instances:
    -orig-id: PERF_MULTI_INSTANCES
    doc: One counter of several instances.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.6, figure 8
    seq:
      - id: instances
        -orig-id: _PERF_MULTI_INSTANCES
        type: instances(1)
      - id: rest
        -orig-id: (bytes left over)
        size-eos: true
  counterset:
    -orig-id: PERF_COUNTERSET
    doc: Several counters of several instances.
    doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.6, figure 9
    params:
      - id: len_id_padding
        type: u1
    seq:
      - id: counters
        -orig-id: _PERF_MULTI_COUNTERS
        type: counter_ids(len_id_padding)
      - id: instances
        -orig-id: _PERF_MULTI_INSTANCES
        type: instances(counters.num_counters)
      - id: rest
        -orig-id: (bytes left over)
        size-eos: true
