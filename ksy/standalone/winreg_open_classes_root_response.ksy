# Written by ksy/compile.py.
meta:
  id: winreg_open_classes_root_response
  title: "[MS-RRP] OpenClassesRoot, response: a stub in little-endian NDR 2.0, without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-rrp/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_rrp_stubs
doc: The stub of opnum 0, without authentication padding and verification trailer.
doc-ref: MS-RRP revision 39.0 section 3.1.5.1
seq:
  - id: stub
    -orig-id: OpenClassesRoot
    type: ms_rrp_stubs(0, true, false, false)
