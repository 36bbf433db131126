meta:
  id: ms_pcq_provider_guid
  title: "[MS-PCQ] GUID of the provider (request code 8)"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ms_dtyp
doc: The provider of a counterset.
doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.2
seq:
  - id: guid
    -orig-id: lpData
    type: ms_dtyp::guid
