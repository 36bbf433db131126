# Written by ksy/compile.py.
meta:
  id: svcctl_query_service_config_w_response
  title: "[MS-SCMR] RQueryServiceConfigW, response: a stub in little-endian NDR 2.0, without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-scmr/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_scmr_stubs
doc: The stub of opnum 17, without authentication padding and verification trailer.
doc-ref: MS-SCMR revision 33.0 section 3.1.4.17
seq:
  - id: stub
    -orig-id: RQueryServiceConfigW
    type: ms_scmr_stubs(17, true, false, false)
