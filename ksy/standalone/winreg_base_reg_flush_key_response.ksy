# Written by ksy/compile.py.
meta:
  id: winreg_base_reg_flush_key_response
  title: "[MS-RRP] BaseRegFlushKey, response: a stub in little-endian NDR 2.0, without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-rrp/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_rrp_stubs
doc: The stub of opnum 11, without authentication padding and verification trailer.
doc-ref: MS-RRP revision 39.0 section 3.1.5.12
seq:
  - id: stub
    -orig-id: BaseRegFlushKey
    type: ms_rrp_stubs(11, true, false, false)
