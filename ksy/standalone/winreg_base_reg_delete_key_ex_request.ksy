# Written by ksy/compile.py.
meta:
  id: winreg_base_reg_delete_key_ex_request
  title: "[MS-RRP] BaseRegDeleteKeyEx, request: a stub in little-endian NDR 2.0, without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-rrp/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_rrp_stubs
doc: The stub of opnum 35, without authentication padding and verification trailer.
doc-ref: MS-RRP revision 39.0 section 3.1.5.31
seq:
  - id: stub
    -orig-id: BaseRegDeleteKeyEx
    type: ms_rrp_stubs(35, false, false, false)
