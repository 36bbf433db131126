meta:
  id: ms_pcq_counterset_info
  title: "[MS-PCQ] counterset registration information (request code 1)"
  application: PerflibV2 of Windows
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ms_dtyp
    - ms_pcq
doc: A counterset and all its counters.
doc-ref: MS-PCQ revision 13.0 sections 2.2.4.1 and 3.1.4.1.2
-orig-id: _PERF_COUNTERSET_REG_INFO
seq:
  - id: counterset_guid
    -orig-id: CounterSetGuid
    type: ms_dtyp::guid
  - id: counterset_type
    -orig-id: CounterSetType
    type: u4
  - id: detail_level
    -orig-id: DetailLevel
    type: u4
    enum: ms_pcq::detail_level
  - id: num_counters
    -orig-id: NumCounters
    type: u4
  - id: instance_type
    -orig-id: InstanceType
    type: u4
    enum: ms_pcq::instance_type
  - id: counters
    -orig-id: _PERF_COUNTER_REG_INFO
    type: ms_pcq::counter_reg_info
    repeat: expr
    repeat-expr: num_counters
