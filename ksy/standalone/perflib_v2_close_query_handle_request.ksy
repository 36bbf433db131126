# Written by ksy/compile.py.
meta:
  id: perflib_v2_close_query_handle_request
  title: "[MS-PCQ] PerflibV2CloseQueryHandle, request: a stub in little-endian NDR 2.0, without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_pcq_stubs
doc: The stub of opnum 4, without authentication padding and verification trailer.
doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.8
seq:
  - id: stub
    -orig-id: PerflibV2CloseQueryHandle
    type: ms_pcq_stubs(4, false, false, false, false)
