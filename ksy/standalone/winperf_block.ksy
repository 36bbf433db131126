meta:
  id: winperf_block
  title: A PERF_DATA_BLOCK (winperf.h), without parameters
  xref:
    mslearn: https://learn.microsoft.com/windows/win32/api/winperf/ns-winperf-perf_data_block
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../winperf
doc: |
  What a value of HKEY_PERFORMANCE_DATA holds. Its byte order is known by LittleEndian, which is 0 where the server is big-endian. This
  root looks it up and passes it on; the block is the body.
doc-ref: winperf.h (Windows SDK 10.0), PERF_DATA_BLOCK
seq:
  - id: block
    -orig-id: PERF_DATA_BLOCK
    type: winperf(little_endian == 0)
instances:
  little_endian:
    -orig-id: LittleEndian
    pos: 8
    type: u4
    doc: 0 is 0 in either byte order.
