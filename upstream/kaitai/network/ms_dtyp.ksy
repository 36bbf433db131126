meta:
  id: ms_dtyp
  title: "[MS-DTYP] data types that the other specifications here share"
  application: PerflibV2 of Windows
  xref:
    msopenspecs: https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/
  license: GPL-2.0-or-later
  ks-version: "0.10"
  endian: le
doc: |
  Types to import: GUID and SYSTEMTIME.
doc-ref: MS-DTYP revision 37.0 section 2
types:
  guid:
    -orig-id: GUID
    doc: A GUID in little-endian packet form.
    doc-ref: MS-DTYP revision 37.0 section 2.3.4.2
    seq:
      - id: data1
        -orig-id: Data1
        type: u4
      - id: data2
        -orig-id: Data2
        type: u2
      - id: data3
        -orig-id: Data3
        type: u2
      - id: data4
        -orig-id: Data4
        size: 8
  systemtime:
    -orig-id: SYSTEMTIME
    doc: A date and time in UTC. 8 fields of 16 bits, 16 bytes in all.
    doc-ref: MS-DTYP revision 37.0 section 2.3.13
    seq:
      - id: year
        -orig-id: wYear
        type: u2
      - id: month
        -orig-id: wMonth
        type: u2
      - id: day_of_week
        -orig-id: wDayOfWeek
        type: u2
        enum: weekday
      - id: day
        -orig-id: wDay
        type: u2
      - id: hour
        -orig-id: wHour
        type: u2
      - id: minute
        -orig-id: wMinute
        type: u2
      - id: second
        -orig-id: wSecond
        type: u2
      - id: milliseconds
        -orig-id: wMilliseconds
        type: u2
    enums:
      weekday:
        0: sunday
        1: monday
        2: tuesday
        3: wednesday
        4: thursday
        5: friday
        6: saturday
