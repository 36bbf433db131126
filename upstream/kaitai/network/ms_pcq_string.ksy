meta:
  id: ms_pcq_string
  title: "[MS-PCQ] a single string (request codes 3, 4, 7 and 9)"
  application: PerflibV2 of Windows
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
doc: Name or description of a counterset, or the name of its provider.
doc-ref: MS-PCQ revision 13.0 section 3.1.4.1.2
seq:
  - id: string
    -orig-id: lpData
    type: strz
    encoding: UTF-16LE
    eos-error: false
  - id: padding
    -orig-id: (padding)
    size-eos: true
