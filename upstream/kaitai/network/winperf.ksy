meta:
  id: winperf
  title: Performance data of HKEY_PERFORMANCE_DATA (winperf.h)
  application: HKEY_PERFORMANCE_DATA of Windows
  xref:
    mslearn: https://learn.microsoft.com/windows/win32/api/winperf/ns-winperf-perf_data_block
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian:
    switch-on: big_endian
    cases:
      true: be
      false: le
  imports:
    - ms_pcq
doc: |
  PERF_DATA_BLOCK with its objects. Offsets are followed as they are given, each within its container. Integers, names and
  values are in the byte order the header names (LittleEndian is 0 for big-endian).
  Whatever has a length is a stream of its own: `body` ends with it, and offsets the specification counts from the start
  of the structure count 4 less from the start of its `body`, whose first byte follows the length. Of a structure
  that was cut off, what is there is still read; `missing` (empty in a whole one) is what cannot be read.
  Names are bytes, in the code that `-encoding` states: UTF-16 in the block's byte order, or the object's code page.
doc-ref: winperf.h (Windows SDK 10.0), PERF_DATA_BLOCK
-orig-id: PERF_DATA_BLOCK
params:
  - id: big_endian
    type: bool
    doc: LittleEndian is 0, or the signature begins with a zero byte. To be found out before reading.
seq:
  - id: signature
    -orig-id: Signature
    -encoding: UTF-16
    size: 8
    valid:
      any-of:
        - '[0x50, 0, 0x45, 0, 0x52, 0, 0x46, 0]'
        - '[0, 0x50, 0, 0x45, 0, 0x52, 0, 0x46]'
    doc: "PERF"
  - id: little_endian
    -orig-id: LittleEndian
    type: u4
    -special: {0: big-endian, 1: little-endian}
  - id: version
    -orig-id: Version
    type: u4
  - id: revision
    -orig-id: Revision
    type: u4
  - id: total_byte_length
    -orig-id: TotalByteLength
    type: u4
  - id: header_length
    -orig-id: HeaderLength
    type: u4
    valid:
      min: 88
  - id: num_object_types
    -orig-id: NumObjectTypes
    type: u4
  - id: default_object
    -orig-id: DefaultObject
    type: s4
  - id: system_time
    -orig-id: SystemTime
    type: systemtime
  - id: align_perf_time
    -orig-id: (alignment)
    size: 4
  - id: perf_time
    -orig-id: PerfTime
    type: s8
  - id: perf_freq
    -orig-id: PerfFreq
    type: s8
  - id: perf_time_100ns
    -orig-id: PerfTime100nSec
    type: s8
    -meaning: filetime
  - id: system_name_length
    -orig-id: SystemNameLength
    type: u4
  - id: system_name_offset
    -orig-id: SystemNameOffset
    type: u4
    valid:
      expr: system_name_length == 0 or _ + system_name_length <= _io.size
  - id: header_rest
    -orig-id: (rest of the header, with the name)
    -around: true
    size: header_length - 88
  - id: objects
    -orig-id: PERF_OBJECT_TYPE
    type: perf_object
    repeat: expr
    repeat-expr: num_object_types
    doc: They are not held to TotalByteLength, from which Samba leaves out the header.
  - id: rest
    -orig-id: (bytes left over)
    size-eos: true
  - id: missing
    -orig-id: (bytes beyond the end)
    size: 'total_byte_length > _io.size ? total_byte_length - _io.size : 0'
instances:
  system_name:
    -orig-id: (system name)
    -encoding: UTF-16
    pos: system_name_offset
    size: system_name_length
    if: system_name_length != 0
  system_name_text:
    -orig-id: (system name as text)
    -text-of: system_name
    value: 'big_endian ? system_name_be : system_name_le'
  system_name_le:
    -orig-id: (system name as text)
    -text-of: system_name
    pos: system_name_offset
    size: system_name_length
    type: strz
    encoding: UTF-16LE
    if: system_name_length != 0
  system_name_be:
    -orig-id: (system name as text)
    -text-of: system_name
    pos: system_name_offset
    size: system_name_length
    type: strz
    encoding: UTF-16BE
    if: system_name_length != 0
types:
  systemtime:
    -orig-id: SYSTEMTIME
    doc: A date and time in UTC, in the byte order of the block.
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
  perf_object:
    -orig-id: PERF_OBJECT_TYPE
    doc: |
      An object with its counters, and their values without or with instances. TotalByteLength alone says where the next object
      begins, so `body` is read on demand: one that cannot be read costs no other object.
    doc-ref: winperf.h (Windows SDK 10.0), PERF_OBJECT_TYPE
    seq:
      - id: total_byte_length
        -orig-id: TotalByteLength
        type: u4
        valid:
          min: 64
      - id: raw_body
        -orig-id: (bytes of the object)
        -around: true
        size: len_body
      - id: missing
        -orig-id: (bytes beyond the end)
        size: total_byte_length - 4 - len_body
    instances:
      ofs_body:
        -orig-id: (offset behind the length)
        value: _io.pos
      len_body:
        -orig-id: (length of the object)
        value: 'total_byte_length - 4 < _io.size - ofs_body ? total_byte_length - 4 : _io.size - ofs_body'
      body:
        -orig-id: (object)
        pos: ofs_body
        size: len_body
        type: object_body
  object_body:
    -orig-id: PERF_OBJECT_TYPE
    doc: An object behind its length.
    doc-ref: winperf.h (Windows SDK 10.0), PERF_OBJECT_TYPE
    seq:
      - id: definition_length
        -orig-id: DefinitionLength
        type: u4
        valid:
          min: 64
      - id: header_length
        -orig-id: HeaderLength
        type: u4
        valid:
          min: 64
      - id: object_name_title_index
        -orig-id: ObjectNameTitleIndex
        type: u4
      - id: object_name_title
        -orig-id: ObjectNameTitle
        type: u4
      - id: object_help_title_index
        -orig-id: ObjectHelpTitleIndex
        type: u4
      - id: object_help_title
        -orig-id: ObjectHelpTitle
        type: u4
      - id: detail_level
        -orig-id: DetailLevel
        type: u4
        enum: ms_pcq::detail_level
      - id: num_counters
        -orig-id: NumCounters
        type: u4
      - id: default_counter
        -orig-id: DefaultCounter
        type: s4
      - id: num_instances
        -orig-id: NumInstances
        type: s4
        -special:
          -1: no instances
          -2: 'metadata only, of an object with instances'
          -3: 'metadata only, of an object without instances'
        valid:
          min: -3
        doc: |
          -1 (PERF_NO_INSTANCES) for an object that never has instances. -2 (PERF_METADATA_MULTIPLE_INSTANCES) and -3
          (PERF_METADATA_NO_INSTANCES) answer a query for metadata: counter definitions, and neither instances nor values.
      - id: code_page
        -orig-id: CodePage
        type: u4
        doc: Of the names of instances; 0 for UTF-16.
      - id: perf_time
        -orig-id: PerfTime
        type: s8
      - id: perf_freq
        -orig-id: PerfFreq
        type: s8
      - id: header_rest
        -orig-id: (rest of the header)
        size: header_length - 64
      - id: counters
        -orig-id: PERF_COUNTER_DEFINITION
        type: counter_definition
        repeat: expr
        repeat-expr: num_counters
      - id: definition_rest
        -orig-id: (rest of the definitions)
        size: definition_length - 4 - _io.pos
      - id: counter_block
        -orig-id: PERF_COUNTER_BLOCK
        type: counter_block(counters, true)
        if: num_instances == -1
      - id: instances
        -orig-id: PERF_INSTANCE_DEFINITION
        type: instance(counters, _index == num_instances - 1)
        repeat: expr
        repeat-expr: num_instances
        if: num_instances >= 0
      - id: rest
        -orig-id: (bytes left over)
        size-eos: true
  counter_definition:
    -orig-id: PERF_COUNTER_DEFINITION
    doc: A counter and where its value is in the counter blocks.
    doc-ref: winperf.h (Windows SDK 10.0), PERF_COUNTER_DEFINITION
    seq:
      - id: byte_length
        -orig-id: ByteLength
        type: u4
        valid:
          min: 40
      - id: counter_name_title_index
        -orig-id: CounterNameTitleIndex
        type: u4
      - id: counter_name_title
        -orig-id: CounterNameTitle
        type: u4
      - id: counter_help_title_index
        -orig-id: CounterHelpTitleIndex
        type: u4
      - id: counter_help_title
        -orig-id: CounterHelpTitle
        type: u4
      - id: default_scale
        -orig-id: DefaultScale
        type: s4
      - id: detail_level
        -orig-id: DetailLevel
        type: u4
        enum: ms_pcq::detail_level
      - id: counter_type
        -orig-id: CounterType
        type: u4
        enum: ms_pcq::counter_type
      - id: counter_size
        -orig-id: CounterSize
        type: u4
      - id: counter_offset
        -orig-id: CounterOffset
        type: u4
        doc: From the start of the counter block.
      - id: rest
        -orig-id: (rest of the definition)
        size: byte_length - 40
  counter_block:
    -orig-id: PERF_COUNTER_BLOCK
    doc: |
      The values of one instance, or of an object without instances. The last block of an object has the rest of the object to
      itself: Windows XP writes a length for it (Processor, _Total) that is too small for the values it holds.
    doc-ref: winperf.h (Windows SDK 10.0), PERF_COUNTER_BLOCK
    params:
      - id: definitions
        type: counter_definition[]
      - id: is_last
        type: bool
    seq:
      - id: byte_length
        -orig-id: ByteLength
        type: u4
        valid:
          expr: _ >= 4 and _ >= definitions.size
        doc: A block of fewer bytes than counters is refused; it could ask for far more values than there are bytes.
      - id: body
        -orig-id: (values)
        type: counter_values(definitions)
        size: len_body
      - id: missing
        -orig-id: (bytes beyond the end)
        size: "byte_length - 4 > len_body ? byte_length - 4 - len_body : 0"
    instances:
      len_body:
        -orig-id: (length of the values)
        value: 'not is_last and byte_length - 4 < _io.size - _io.pos ? byte_length - 4 : _io.size - _io.pos'
  counter_values:
    -orig-id: PERF_COUNTER_BLOCK
    doc: The values behind the length of a counter block.
    doc-ref: winperf.h (Windows SDK 10.0), PERF_COUNTER_BLOCK
    params:
      - id: definitions
        type: counter_definition[]
    seq:
      - id: values
        -orig-id: (value)
        type: counter_value(definitions[_index])
        repeat: expr
        repeat-expr: definitions.size
      - id: raw
        -orig-id: (bytes of all values)
        -around: true
        size-eos: true
  counter_value:
    -orig-id: (value)
    doc: A value, where its definition says it is. It consumes nothing; values may share bytes.
    doc-ref: winperf.h (Windows SDK 10.0), PERF_COUNTER_DEFINITION
    params:
      - id: definition
        type: counter_definition
    instances:
      value:
        -orig-id: (value)
        -meaning: v1-value
        pos: definition.counter_offset - 4
        size: definition.counter_size
        if: definition.counter_size != 0
        doc: An unsigned integer in the byte order of the block, or text where the type says so.
  instance:
    -orig-id: PERF_INSTANCE_DEFINITION, PERF_COUNTER_BLOCK
    doc: An instance and its values.
    doc-ref: winperf.h (Windows SDK 10.0), PERF_INSTANCE_DEFINITION
    params:
      - id: definitions
        type: counter_definition[]
      - id: is_last
        type: bool
    seq:
      - id: byte_length
        -orig-id: ByteLength
        type: u4
        valid:
          min: 24
      - id: definition
        -orig-id: PERF_INSTANCE_DEFINITION
        type: instance_body
        size: byte_length - 4
      - id: counter_block
        -orig-id: PERF_COUNTER_BLOCK
        type: counter_block(definitions, is_last)
  instance_body:
    -orig-id: PERF_INSTANCE_DEFINITION
    doc: An instance behind its length.
    doc-ref: winperf.h (Windows SDK 10.0), PERF_INSTANCE_DEFINITION
    seq:
      - id: parent_object_title_index
        -orig-id: ParentObjectTitleIndex
        type: u4
      - id: parent_object_instance
        -orig-id: ParentObjectInstance
        type: u4
      - id: unique_id
        -orig-id: UniqueID
        type: s4
        -special: {-1: none}
        doc: -1 for none; then the name identifies the instance.
      - id: name_offset
        -orig-id: NameOffset
        type: u4
      - id: name_length
        -orig-id: NameLength
        type: u4
        doc: In bytes, with the NUL; 0 for no name.
      - id: rest
        -orig-id: (name and padding)
        -around: true
        size-eos: true
    instances:
      name:
        -orig-id: (name)
        -encoding: code-page
        pos: name_offset - 4
        size: name_length
        if: name_length != 0
      name_text:
        -orig-id: (name as text)
        -text-of: name
        value: '_root.big_endian ? name_be : name_le'
        doc: Of objects whose code page is 0.
      name_le:
        -orig-id: (name as text)
        -text-of: name
        pos: name_offset - 4
        size: name_length
        type: strz
        encoding: UTF-16LE
        if: name_length != 0
      name_be:
        -orig-id: (name as text)
        -text-of: name
        pos: name_offset - 4
        size: name_length
        type: strz
        encoding: UTF-16BE
        if: name_length != 0
