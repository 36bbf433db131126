meta:
  id: ms_pcq_counter_info
  title: "[MS-PCQ] counter registration information (request code 2)"
  application: PerflibV2 of Windows
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ms_pcq
doc: One counter.
doc-ref: MS-PCQ revision 13.0 sections 2.2.4.2 and 3.1.4.1.2
seq:
  - id: counter
    -orig-id: _PERF_COUNTER_REG_INFO
    type: ms_pcq::counter_reg_info
