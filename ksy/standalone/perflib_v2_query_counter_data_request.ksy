# Written by ksy/compile.py.
meta:
  id: perflib_v2_query_counter_data_request
  title: "[MS-PCQ] PerflibV2QueryCounterData, request: a stub in little-endian NDR 2.0, without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_pcq_stubs
doc: The stub of opnum 6, without authentication padding and verification trailer.
doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.6
seq:
  - id: stub
    -orig-id: PerflibV2QueryCounterData
    type: ms_pcq_stubs(6, false, false, false, false)
