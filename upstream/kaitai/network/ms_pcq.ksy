meta:
  id: ms_pcq
  title: "[MS-PCQ] structures and value tables that several of its buffers share"
  application: PerflibV2 of Windows
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
doc: |
  Names of instances are bytes here, in the code that `-encoding` states: any 16-bit unit may occur in them, unpaired
  surrogates included, which the strict decoders of many languages refuse. Where they do not, `name_text` is the text.
  Structures of the Performance Counter Query Protocol to import, and its value tables. Counter types and detail levels
  are those of winperf.h, which the older performance data uses as well.
doc-ref: MS-PCQ revision 13.0 section 2.2.4
types:
  counter_reg_info:
    -orig-id: _PERF_COUNTER_REG_INFO
    doc: What is registered about one counter.
    doc-ref: MS-PCQ revision 13.0 section 2.2.4.2
    seq:
      - id: counter_id
        -orig-id: CounterId
        type: u4
      - id: counter_type
        -orig-id: Type
        type: u4
        enum: counter_type
      - id: attributes
        -orig-id: Attrib
        type: u8
        doc: A combination of the bits of `attribute`.
        -flags: attribute
      - id: detail_level
        -orig-id: DetailLevel
        type: u4
        enum: detail_level
      - id: default_scale
        -orig-id: DefaultScale
        type: s4
        doc: Power of ten, -10 to 10, by which the value is multiplied.
      - id: base_counter_id
        -orig-id: BaseCounterId
        type: u4
        -special: {0xffffffff: none}
        doc: 0xFFFFFFFF for none, as for the next three.
      - id: perf_time_id
        -orig-id: PerfTimeId
        type: u4
        -special: {0xffffffff: none}
      - id: perf_freq_id
        -orig-id: PerfFreqId
        type: u4
        -special: {0xffffffff: none}
      - id: multi_id
        -orig-id: MultiId
        type: u4
        -special: {0xffffffff: none}
      - id: aggregate_func
        -orig-id: AggregateFunc
        type: u4
        enum: aggregate_func
      - id: reserved
        -orig-id: Reserved
        type: u4
  instance_header:
    -orig-id: _PERF_INSTANCE_HEADER
    doc: An instance of a counterset. `size` counts name and padding (3.1.4.1.3 makes it a multiple of 8).
    doc-ref: MS-PCQ revision 13.0 section 2.2.4.5
    seq:
      - id: size
        -orig-id: Size
        type: u4
        valid:
          min: 8
      - id: instance_id
        -orig-id: InstanceId
        type: u4
      - id: name
        -orig-id: InstanceName
        -encoding: UTF-16LE
        size: size - 8
        if: ofs_name >= 0
        doc: Text through its first NUL, and padding.
    instances:
      ofs_name:
        -orig-id: (offset of the name)
        value: _io.pos
      name_text:
        -orig-id: (name as text)
        -text-of: name
        pos: ofs_name
        size: size - 8
        type: strz
        encoding: UTF-16LE
enums:
  request_code:
    # MS-PCQ revision 13.0 section 3.1.4.1.2
    1: {id: counterset_struct, -orig-id: PERF_REG_COUNTERSET_STRUCT, doc: counterset and its counters}
    2: {id: counter_struct, -orig-id: PERF_REG_COUNTER_STRUCT, doc: one counter}
    3: {id: counterset_name_string, -orig-id: PERF_REG_COUNTERSET_NAME_STRING, doc: name of the counterset}
    4: {id: counterset_help_string, -orig-id: PERF_REG_COUNTERSET_HELP_STRING, doc: description of the counterset}
    5: {id: counter_name_strings, -orig-id: PERF_REG_COUNTER_NAME_STRINGS, doc: names of the counters}
    6: {id: counter_help_strings, -orig-id: PERF_REG_COUNTER_HELP_STRINGS, doc: descriptions of the counters}
    7: {id: provider_name, -orig-id: PERF_REG_PROVIDER_NAME, doc: name of the provider}
    8: {id: provider_guid, -orig-id: PERF_REG_PROVIDER_GUID, doc: GUID of the provider}
    9: {id: counterset_english_name, -orig-id: PERF_REG_COUNTERSET_ENGLISH_NAME, doc: English name of the counterset}
    10: {id: counter_english_names, -orig-id: PERF_REG_COUNTER_ENGLISH_NAMES, doc: English names of the counters}
  instance_type:
    # MS-PCQ revision 13.0 section 2.2.4.1
    0x00: {id: single, -orig-id: PERF_COUNTERSET_SINGLE_INSTANCE}
    0x02: {id: multiple, -orig-id: PERF_COUNTERSET_MULTI_INSTANCES}
    0x04: {id: global_aggregate, -orig-id: PERF_COUNTERSET_SINGLE_AGGREGATE}
    0x06: {id: multiple_aggregate, -orig-id: PERF_COUNTERSET_MULTI_AGGREGATE}
    0x0c: {id: global_aggregate_history, -orig-id: PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY}
    0x16: {id: instance_aggregate, -orig-id: PERF_COUNTERSET_INSTANCE_AGGREGATE, doc: not implemented}
  aggregate_func:
    # MS-PCQ revision 13.0 section 2.2.4.2
    0: {id: undefined, -orig-id: PERF_AGGREGATE_UNDEFINED}
    1: {id: total, -orig-id: PERF_AGGREGATE_TOTAL}
    2: {id: average, -orig-id: PERF_AGGREGATE_AVG}
    3: {id: minimum, -orig-id: PERF_AGGREGATE_MIN}
    4: {id: maximum, -orig-id: PERF_AGGREGATE_MAX}
  attribute:
    # MS-PCQ revision 13.0 section 2.2.4.2
    0x01: {id: by_reference, -orig-id: PERF_ATTRIB_BY_REFERENCE, doc: kept by reference at the provider}
    0x02: {id: not_displayable, -orig-id: PERF_ATTRIB_NO_DISPLAYABLE, doc: not to be shown}
    0x04: {id: no_group_separator, -orig-id: PERF_ATTRIB_NO_GROUP_SEPARATOR, doc: shown without digit grouping}
    0x08: {id: as_real, -orig-id: PERF_ATTRIB_DISPLAY_AS_REAL, doc: shown as a real number}
    0x10: {id: as_hex, -orig-id: PERF_ATTRIB_DISPLAY_AS_HEX, doc: shown in hexadecimal}
  detail_level:
    # MS-PCQ revision 13.0 section 2.2.4.1; winperf.h (Windows SDK 10.0), PERF_DETAIL_*
    100: {id: novice, -orig-id: PERF_DETAIL_NOVICE}
    200: {id: advanced, -orig-id: PERF_DETAIL_ADVANCED}
    300: {id: expert, -orig-id: PERF_DETAIL_EXPERT, doc: winperf.h only}
    400: {id: wizard, -orig-id: PERF_DETAIL_WIZARD, doc: winperf.h only}
  block_type:
    # MS-PCQ revision 13.0 section 2.2.4.8
    0: {id: error_return, -orig-id: PERF_ERROR_RETURN, doc: an error in place of data}
    1: {id: single_counter, -orig-id: PERF_SINGLE_COUNTER, doc: one counter of one instance}
    2: {id: multi_counters, -orig-id: PERF_MULTI_COUNTERS, doc: several counters of one instance}
    4: {id: multi_instances, -orig-id: PERF_MULTI_INSTANCES, doc: one counter of several instances}
    6: {id: counterset, -orig-id: PERF_COUNTERSET, doc: several counters of several instances}
  counter_type:
    # MS-PCQ revision 13.0 section 2.2.4.2; winperf.h (Windows SDK 10.0)
    0x00000000:
      id: counter_rawcount_hex
      -orig-id: PERF_COUNTER_RAWCOUNT_HEX
      doc: 32 bits, number
    0x00000100:
      id: counter_large_rawcount_hex
      -orig-id: PERF_COUNTER_LARGE_RAWCOUNT_HEX
      doc: 64 bits, number
    0x00000b00:
      id: counter_text
      -orig-id: PERF_COUNTER_TEXT
      doc: variable length, text
    0x00010000:
      id: counter_rawcount
      -orig-id: PERF_COUNTER_RAWCOUNT
      doc: 32 bits, number
    0x00010100:
      id: counter_large_rawcount
      -orig-id: PERF_COUNTER_LARGE_RAWCOUNT
      doc: 64 bits, number
    0x00012000:
      id: double_raw
      -orig-id: PERF_DOUBLE_RAW
      doc: IEEE double, number; winperf.h only, not in MS-PCQ
    0x00400400:
      id: counter_delta
      -orig-id: PERF_COUNTER_DELTA
      doc: 32 bits, counter; winperf.h only, not in MS-PCQ
    0x00400500:
      id: counter_large_delta
      -orig-id: PERF_COUNTER_LARGE_DELTA
      doc: 64 bits, counter; winperf.h only, not in MS-PCQ
    0x00410400:
      id: sample_counter
      -orig-id: PERF_SAMPLE_COUNTER
      doc: 32 bits, counter
    0x00450400:
      id: counter_queuelen_type
      -orig-id: PERF_COUNTER_QUEUELEN_TYPE
      doc: 32 bits, counter
    0x00450500:
      id: counter_large_queuelen_type
      -orig-id: PERF_COUNTER_LARGE_QUEUELEN_TYPE
      doc: 64 bits, counter
    0x00550500:
      id: counter_100ns_queuelen_type
      -orig-id: PERF_COUNTER_100NS_QUEUELEN_TYPE
      doc: 64 bits, counter
    0x00650500:
      id: counter_obj_time_queuelen_type
      -orig-id: PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE
      doc: 64 bits, counter; needs the counters of PerfTimeId and PerfFreqId (PERF_COUNTER_LARGE_RAWCOUNT)
    0x10410400:
      id: counter_counter
      -orig-id: PERF_COUNTER_COUNTER
      doc: 32 bits, counter
    0x10410500:
      id: counter_bulk_count
      -orig-id: PERF_COUNTER_BULK_COUNT
      doc: 64 bits, counter
    0x20020400:
      id: raw_fraction
      -orig-id: PERF_RAW_FRACTION
      doc: 32 bits, counter; needs PERF_RAW_BASE
    0x20020500:
      id: large_raw_fraction
      -orig-id: PERF_LARGE_RAW_FRACTION
      doc: 64 bits, counter; needs PERF_LARGE_RAW_BASE
    0x20410500:
      id: counter_timer
      -orig-id: PERF_COUNTER_TIMER
      doc: 64 bits, counter
    0x20470500:
      id: precision_system_timer
      -orig-id: PERF_PRECISION_SYSTEM_TIMER
      doc: 64 bits, counter; needs PERF_LARGE_RAW_BASE
    0x20510500:
      id: perf_100nsec_timer
      -orig-id: PERF_100NSEC_TIMER
      doc: 64 bits, counter
    0x20570500:
      id: precision_100ns_timer
      -orig-id: PERF_PRECISION_100NS_TIMER
      doc: 64 bits, counter; needs PERF_LARGE_RAW_BASE
    0x20610500:
      id: obj_time_timer
      -orig-id: PERF_OBJ_TIME_TIMER
      doc: 64 bits, counter; needs the counters of PerfTimeId and PerfFreqId (PERF_COUNTER_LARGE_RAWCOUNT)
    0x20670500:
      id: precision_object_timer
      -orig-id: PERF_PRECISION_OBJECT_TIMER
      doc: 64 bits, counter; needs the counters of PerfTimeId and PerfFreqId (PERF_COUNTER_LARGE_RAWCOUNT)
    0x20c20400:
      id: sample_fraction
      -orig-id: PERF_SAMPLE_FRACTION
      doc: 32 bits, counter; needs PERF_SAMPLE_BASE
    0x21410500:
      id: counter_timer_inv
      -orig-id: PERF_COUNTER_TIMER_INV
      doc: 64 bits, counter
    0x21510500:
      id: perf_100nsec_timer_inv
      -orig-id: PERF_100NSEC_TIMER_INV
      doc: 64 bits, counter
    0x22410500:
      id: counter_multi_timer
      -orig-id: PERF_COUNTER_MULTI_TIMER
      doc: 64 bits, counter; needs the counter of MultiId (PERF_COUNTER_RAWCOUNT)
    0x22510500:
      id: perf_100nsec_multi_timer
      -orig-id: PERF_100NSEC_MULTI_TIMER
      doc: 64 bits, counter; needs the counter of MultiId (PERF_COUNTER_RAWCOUNT)
    0x23410500:
      id: counter_multi_timer_inv
      -orig-id: PERF_COUNTER_MULTI_TIMER_INV
      doc: 64 bits, counter; needs the counter of MultiId (PERF_COUNTER_RAWCOUNT)
    0x23510500:
      id: perf_100nsec_multi_timer_inv
      -orig-id: PERF_100NSEC_MULTI_TIMER_INV
      doc: 64 bits, counter; needs the counter of MultiId (PERF_COUNTER_RAWCOUNT)
    0x30020400:
      id: average_timer
      -orig-id: PERF_AVERAGE_TIMER
      doc: 32 bits, counter; needs PERF_AVERAGE_BASE
    0x30240500:
      id: elapsed_time
      -orig-id: PERF_ELAPSED_TIME
      doc: 64 bits, counter; needs the counters of PerfTimeId and PerfFreqId (PERF_COUNTER_LARGE_RAWCOUNT)
    0x40000200:
      id: counter_nodata
      -orig-id: PERF_COUNTER_NODATA
      doc: no value, number; winperf.h only, not in MS-PCQ
    0x40020500:
      id: average_bulk
      -orig-id: PERF_AVERAGE_BULK
      doc: 64 bits, counter; needs PERF_AVERAGE_BASE
    0x40030401:
      id: sample_base
      -orig-id: PERF_SAMPLE_BASE
      doc: 32 bits, counter; is a base
    0x40030402:
      id: average_base
      -orig-id: PERF_AVERAGE_BASE
      doc: 32 bits, counter; is a base
    0x40030403:
      id: raw_base
      -orig-id: PERF_RAW_BASE
      doc: 32 bits, counter; is a base
    0x40030500:
      id: large_raw_base
      -orig-id: PERF_LARGE_RAW_BASE
      doc: 64 bits, counter; is a base
    0x42030500:
      id: counter_multi_base
      -orig-id: PERF_COUNTER_MULTI_BASE
      doc: 64 bits, counter; is a base; winperf.h only, not in MS-PCQ
    0x80000000:
      id: counter_histogram_type
      -orig-id: PERF_COUNTER_HISTOGRAM_TYPE
      doc: 32 bits, number; winperf.h only, not in MS-PCQ
