# Written by ksy/compile.py.
meta:
  id: svcctl_create_service_wow64_a_response
  title: "[MS-SCMR] RCreateServiceWOW64A, response: a stub in little-endian NDR 2.0, without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-scmr/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_scmr_stubs
doc: The stub of opnum 44, without authentication padding and verification trailer.
doc-ref: MS-SCMR revision 33.0 section 3.1.4.40
seq:
  - id: stub
    -orig-id: RCreateServiceWOW64A
    type: ms_scmr_stubs(44, true, false, false)
