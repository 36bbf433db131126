# Written by ksy/compile.py.
meta:
  id: winreg_open_current_user_request
  title: "[MS-RRP] OpenCurrentUser, request: a stub in little-endian NDR 2.0, without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-rrp/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_rrp_stubs
doc: The stub of opnum 1, without authentication padding and verification trailer.
doc-ref: MS-RRP revision 39.0 section 3.1.5.2
seq:
  - id: stub
    -orig-id: OpenCurrentUser
    type: ms_rrp_stubs(1, false, false, false)
