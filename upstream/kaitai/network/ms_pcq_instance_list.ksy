meta:
  id: ms_pcq_instance_list
  title: "[MS-PCQ] instances of a counterset (opnum 2)"
  application: PerflibV2 of Windows
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ms_pcq
doc: What PerflibV2EnumerateCounterSetInstances returns.
doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.3
seq:
  - id: instances
    -orig-id: _PERF_INSTANCE_HEADER
    type: ms_pcq::instance_header
    repeat: eos
