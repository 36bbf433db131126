meta:
  id: guid_list
  title: "[MS-PCQ] GUIDs of the countersets (opnum 0), without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_pcq_guid_list
doc: What PerflibV2EnumerateCounterSet returns, in a little-endian call.
doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.1
seq:
  - id: list
    -orig-id: lpData
    type: ms_pcq_guid_list(false)
