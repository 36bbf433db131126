meta:
  id: ms_pcq_guid_list
  title: "[MS-PCQ] GUIDs of the countersets (opnum 0)"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ndr
doc: What PerflibV2EnumerateCounterSet returns. NDR marshals these GUIDs, so they follow the byte order of the call.
doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.1
params:
  - id: big_endian
    type: bool
seq:
  - id: guids
    -orig-id: lpData
    type: ndr::uuid(big_endian)
    repeat: eos
