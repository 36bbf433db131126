meta:
  id: perf_data
  title: "[MS-PCQ] performance data (opnum 6), without parameters"
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-pcq/
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../ms_pcq_perf_data
doc: |
  What PerflibV2QueryCounterData returns, in Windows's layout: nothing follows the ids of counters that no size counts (Windows SDK,
  perflib.h, comment on PERF_MULTI_COUNTERS). README.md shows how to find out that a server pads them all the same.
doc-ref: MS-PCQ revision 13.0 sections 2.2.4.7 and 3.1.4.1.6
seq:
  - id: data
    -orig-id: _PERF_DATA_HEADER
    type: ms_pcq_perf_data([0].as<u1[]>)
