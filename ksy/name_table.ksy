meta:
  id: name_table
  title: Names and descriptions of performance counters (values "Counter nnn" and "Help nnn")
  xref:
    mslearn: https://learn.microsoft.com/windows/win32/perfctrs/retrieving-counter-names-and-help-text
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  encoding: UTF-16LE
doc: |
  A REG_MULTI_SZ of pairs, an index in decimal and its text. An empty string ends it; so does the end of the data. The
  first pair of "Counter nnn" is "1" and the highest index.
doc-ref: Windows SDK 10.0, "Retrieving Counter Names and Help Text"
seq:
  - id: entries
    -orig-id: (pair)
    type: entry
    repeat: until
    repeat-until: '_.index.length == 0 or _io.eof'
    if: not _io.eof
  - id: rest
    -orig-id: (bytes after the end)
    size-eos: true
types:
  entry:
    -orig-id: (pair)
    doc: An index and its text. The entry with an empty index ends the table.
    doc-ref: Windows SDK 10.0, "Retrieving Counter Names and Help Text"
    seq:
      - id: index
        -orig-id: (index)
        type: strz
        eos-error: false
      - id: text
        -orig-id: (text)
        type: strz
        eos-error: false
        if: index.length != 0
