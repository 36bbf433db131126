meta:
  id: windows_etl
  title: Windows event trace log (.etl)
  application: Event Tracing for Windows (netsh trace, pktmon, logman)
  file-extension: etl
  xref:
    mslearn: https://learn.microsoft.com/windows/win32/etw/about-event-tracing
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  bit-endian: le
doc: |
  The file that `netsh trace`, `pktmon`, `logman` and every other session of Event Tracing for Windows writes: buffers,
  each filled by one processor, with events of several kinds of headers. The first event of the first buffer describes
  the file.
doc-ref: Windows SDK evntrace.h and evntcons.h; the buffer header is that of the public symbols of ntoskrnl
seq:
  - id: buffers
    -orig-id: (buffers)
    type: buffer
    repeat: eos
types:
  buffer_header:
    -orig-id: WMI_BUFFER_HEADER
    doc: What stands in front of each buffer.
    doc-ref: public symbols of ntoskrnl, WMI_BUFFER_HEADER (Windows 7 and later)
    seq:
      - id: buffer_size
        -orig-id: BufferSize
        type: u4
        doc: With this header. A compressed buffer is shorter than what it becomes.
      - id: saved_offset
        -orig-id: SavedOffset
        type: u4
      - id: current_offset
        -orig-id: CurrentOffset
        type: u4
        doc: Where the next event would have been written. It may be beyond the buffer.
      - id: reference_count
        -orig-id: ReferenceCount
        type: s4
      - id: time_stamp
        -orig-id: TimeStamp
        type: s8
        doc: When the buffer was flushed, by the clock of the trace.
      - id: sequence_number
        -orig-id: SequenceNumber
        type: s8
      - id: clock
        -orig-id: ClockType, Frequency
        type: u8
      - id: processor_index
        -orig-id: ProcessorIndex
        type: u2
        doc: Without `buffer_flags::processor_index` the number of the processor is the first byte alone.
      - id: logger_id
        -orig-id: LoggerId
        type: u2
      - id: state
        -orig-id: State
        type: u4
      - id: offset
        -orig-id: Offset
        type: u4
        doc: How many bytes of the buffer are filled, with this header.
      - id: buffer_flag
        -orig-id: BufferFlag
        -flags: buffer_flags
        type: u2
      - id: buffer_type
        -orig-id: BufferType
        type: u2
        enum: buffer_types
      - id: start_time
        -orig-id: ReferenceTime.StartTime
        type: s8
      - id: start_perf_clock
        -orig-id: ReferenceTime.StartPerfClock
        type: s8
  buffer:
    -orig-id: (buffer)
    doc: A buffer as it was flushed. What lies behind the events is left over from before.
    doc-ref: public symbols of ntoskrnl, WMI_BUFFER_HEADER
    seq:
      - id: header
        -orig-id: WMI_BUFFER_HEADER
        type: buffer_header
      - id: events
        -orig-id: (events)
        size: len_events
        type: events
        if: not is_compressed
      - id: compressed
        -orig-id: (compressed events)
        size: len_events
        if: is_compressed
        doc: No document says how buffers are compressed.
      - id: left_over
        -orig-id: (left over)
        size: header.buffer_size - 72 - len_events
    instances:
      len_events:
        -orig-id: (length of the events)
        value: 'header.offset > header.buffer_size ? header.buffer_size - 72 : header.offset - 72'
      is_compressed:
        -orig-id: (whether the buffer is compressed)
        value: (header.buffer_flag & 0x40) != 0
  events:
    -orig-id: (events)
    doc: The events of a buffer, up to its end or to four bytes of ones.
    doc-ref: Windows SDK evntrace.h
    seq:
      - id: events
        -orig-id: (events)
        type: event
        repeat: eos
  event:
    -orig-id: (event)
    doc: |
      An event of any kind. Its third byte says the kind of header, its fourth marks it. Where the length stands depends on
      the kind. The next event begins at a multiple of 8.
    doc-ref: Windows SDK evntrace.h EVENT_TRACE_HEADER, evntcons.h EVENT_HEADER; public symbols of ntoskrnl, WMI_TRACE_PACKET
    seq:
      - id: first
        -orig-id: Size or Version
        type: u2
      - id: header_type
        -orig-id: HeaderType
        type: u1
        enum: header_types
      - id: marker_flags
        -orig-id: MarkerFlags
        type: u1
      - id: second
        -orig-id: Size, Flags, Class or MessageNumber
        type: u2
      - id: body
        -orig-id: (header and data)
        size: len_event - 6
        type:
          switch-on: header_type
          cases:
            header_types::system32: system_event
            header_types::system64: system_event
            header_types::compact32: compact_event
            header_types::compact64: compact_event
            header_types::perfinfo32: perfinfo_event
            header_types::perfinfo64: perfinfo_event
            header_types::full32: classic_event
            header_types::full64: classic_event
            header_types::instance32: instance_event
            header_types::instance64: instance_event
            header_types::event32: manifest_event
            header_types::event64: manifest_event
      - id: padding
        -orig-id: (padding)
        size: 'len_event % 8 == 0 or _io.size - _io.pos < 8 - len_event % 8 ? 0 : 8 - len_event % 8'
    instances:
      has_late_length:
        -orig-id: (whether the length is the second number)
        value: |
          marker_flags != 0x90 and (header_type == header_types::system32 or header_type == header_types::system64
          or header_type == header_types::compact32 or header_type == header_types::compact64
          or header_type == header_types::perfinfo32 or header_type == header_types::perfinfo64)
      len_event:
        -orig-id: (length of the event)
        value: 'has_late_length ? second : first'
  system_event:
    -orig-id: SYSTEM_TRACE_HEADER
    doc: An event of the kernel, from its group and type on.
    doc-ref: public symbols of ntoskrnl, SYSTEM_TRACE_HEADER
    seq:
      - id: hook_type
        -orig-id: HookId (type)
        type: u1
      - id: hook_group
        -orig-id: HookId (group)
        type: u1
      - id: thread_id
        -orig-id: ThreadId
        type: u4
      - id: process_id
        -orig-id: ProcessId
        type: u4
      - id: time_stamp
        -orig-id: SystemTime
        type: s8
      - id: kernel_time
        -orig-id: KernelTime
        type: u4
      - id: user_time
        -orig-id: UserTime
        type: u4
      - id: data
        -orig-id: (data)
        size-eos: true
  compact_event:
    -orig-id: SYSTEM_TRACE_HEADER (compact)
    doc: An event of the kernel without processor times, from its group and type on.
    doc-ref: public symbols of ntoskrnl, SYSTEM_TRACE_HEADER
    seq:
      - id: hook_type
        -orig-id: HookId (type)
        type: u1
      - id: hook_group
        -orig-id: HookId (group)
        type: u1
      - id: thread_id
        -orig-id: ThreadId
        type: u4
      - id: process_id
        -orig-id: ProcessId
        type: u4
      - id: time_stamp
        -orig-id: SystemTime
        type: s8
      - id: data
        -orig-id: (data)
        size-eos: true
  perfinfo_event:
    -orig-id: PERFINFO_TRACE_HEADER
    doc: A frequent event of the kernel, from its group and type on.
    doc-ref: public symbols of ntoskrnl, PERFINFO_TRACE_HEADER
    seq:
      - id: hook_type
        -orig-id: HookId (type)
        type: u1
      - id: hook_group
        -orig-id: HookId (group)
        type: u1
      - id: time_stamp
        -orig-id: SystemTime
        type: s8
      - id: data
        -orig-id: (data)
        size-eos: true
  classic_event:
    -orig-id: EVENT_TRACE_HEADER
    doc: An event of a classic provider (TraceEvent), from behind Class.Type and Class.Level on.
    doc-ref: Windows SDK evntrace.h EVENT_TRACE_HEADER
    seq:
      - id: version
        -orig-id: Class.Version
        type: u2
      - id: thread_id
        -orig-id: ThreadId
        type: u4
      - id: process_id
        -orig-id: ProcessId
        type: u4
      - id: time_stamp
        -orig-id: TimeStamp
        type: s8
      - id: guid
        -orig-id: Guid
        size: 16
      - id: kernel_time
        -orig-id: KernelTime
        type: u4
      - id: user_time
        -orig-id: UserTime
        type: u4
      - id: data
        -orig-id: (data)
        size-eos: true
  instance_event:
    -orig-id: EVENT_INSTANCE_GUID_HEADER
    doc: An event of an instance (TraceEventInstance), from behind Class.Type and Class.Level on.
    doc-ref: Windows SDK evntrace.h EVENT_INSTANCE_HEADER; public symbols of ntoskrnl, EVENT_INSTANCE_GUID_HEADER
    seq:
      - id: version
        -orig-id: Class.Version
        type: u2
      - id: thread_id
        -orig-id: ThreadId
        type: u4
      - id: process_id
        -orig-id: ProcessId
        type: u4
      - id: time_stamp
        -orig-id: TimeStamp
        type: s8
      - id: guid
        -orig-id: Guid
        size: 16
      - id: kernel_time
        -orig-id: KernelTime
        type: u4
      - id: user_time
        -orig-id: UserTime
        type: u4
      - id: instance_id
        -orig-id: InstanceId
        type: u4
      - id: parent_instance_id
        -orig-id: ParentInstanceId
        type: u4
      - id: parent_guid
        -orig-id: ParentGuid
        size: 16
      - id: data
        -orig-id: (data)
        size-eos: true
  manifest_event:
    -orig-id: EVENT_HEADER
    doc: |
      An event of a provider with a manifest, or one that describes itself, from EventProperty on: `second` of the event is
      Flags. Extended data items follow the header where its first flag says so.
    doc-ref: Windows SDK evntcons.h EVENT_HEADER, evntprov.h EVENT_DESCRIPTOR
    seq:
      - id: event_property
        -orig-id: EventProperty
        type: u2
      - id: thread_id
        -orig-id: ThreadId
        type: u4
      - id: process_id
        -orig-id: ProcessId
        type: u4
        doc: The process that ran when the event was written. For what a driver does later that is often another one.
      - id: time_stamp
        -orig-id: TimeStamp
        type: s8
      - id: provider_id
        -orig-id: ProviderId
        size: 16
      - id: id
        -orig-id: EventDescriptor.Id
        type: u2
      - id: version
        -orig-id: EventDescriptor.Version
        type: u1
      - id: channel
        -orig-id: EventDescriptor.Channel
        type: u1
      - id: level
        -orig-id: EventDescriptor.Level
        type: u1
      - id: opcode
        -orig-id: EventDescriptor.Opcode
        type: u1
      - id: task
        -orig-id: EventDescriptor.Task
        type: u2
      - id: keyword
        -orig-id: EventDescriptor.Keyword
        type: u8
      - id: kernel_time
        -orig-id: KernelTime
        type: u4
      - id: user_time
        -orig-id: UserTime
        type: u4
      - id: activity_id
        -orig-id: ActivityId
        size: 16
      - id: data
        -orig-id: (extended data items and data)
        size-eos: true
  extended_item:
    -orig-id: EVENT_HEADER_EXTENDED_DATA_ITEM
    doc: What some events carry between their header and their data, each item at a multiple of 8.
    doc-ref: Windows SDK evntcons.h EVENT_HEADER_EXTENDED_DATA_ITEM, as a file holds it
    seq:
      - id: size
        -orig-id: Reserved1
        type: u2
        doc: Of the item, with these four numbers.
      - id: ext_type
        -orig-id: ExtType
        type: u2
      - id: linkage
        -orig-id: Linkage
        type: u2
        doc: 1 where another item follows.
      - id: data_size
        -orig-id: DataSize
        type: u2
      - id: data
        -orig-id: DataPtr
        size: data_size
  log_file_header:
    -orig-id: TRACE_LOGFILE_HEADER
    doc: The data of the first event, up to the pointers, whose size `pointer_size` tells.
    doc-ref: Windows SDK evntrace.h TRACE_LOGFILE_HEADER
    seq:
      - id: buffer_size
        -orig-id: BufferSize
        type: u4
      - id: major_version
        -orig-id: VersionDetail.MajorVersion
        type: u1
      - id: minor_version
        -orig-id: VersionDetail.MinorVersion
        type: u1
      - id: sub_version
        -orig-id: VersionDetail.SubVersion
        type: u1
      - id: sub_minor_version
        -orig-id: VersionDetail.SubMinorVersion
        type: u1
      - id: provider_version
        -orig-id: ProviderVersion
        type: u4
        doc: The build of the operating system.
      - id: num_processors
        -orig-id: NumberOfProcessors
        type: u4
      - id: end_time
        -orig-id: EndTime
        type: s8
        doc: FILETIME; 0 where the trace was not stopped.
      - id: timer_resolution
        -orig-id: TimerResolution
        type: u4
      - id: maximum_file_size
        -orig-id: MaximumFileSize
        type: u4
      - id: log_file_mode
        -orig-id: LogFileMode
        type: u4
      - id: buffers_written
        -orig-id: BuffersWritten
        type: u4
      - id: start_buffers
        -orig-id: StartBuffers
        type: u4
      - id: pointer_size
        -orig-id: PointerSize
        type: u4
      - id: events_lost
        -orig-id: EventsLost
        type: u4
      - id: cpu_speed_mhz
        -orig-id: CpuSpeedInMHz
        type: u4
  log_file_clock32:
    -orig-id: TRACE_LOGFILE_HEADER
    doc: What follows in the data of the first event on a machine of 32 bits.
    doc-ref: Windows SDK evntrace.h TRACE_LOGFILE_HEADER
    seq:
      - id: pointers
        -orig-id: LoggerName, LogFileName
        size: 8
      - id: time_zone
        -orig-id: TimeZone
        size: 172
      - id: alignment
        -orig-id: (alignment)
        size: 4
      - id: boot_time
        -orig-id: BootTime
        type: s8
      - id: perf_freq
        -orig-id: PerfFreq
        type: s8
      - id: start_time
        -orig-id: StartTime
        type: s8
      - id: clock_type
        -orig-id: ReservedFlags
        type: u4
        enum: clock_types
      - id: buffers_lost
        -orig-id: BuffersLost
        type: u4
  log_file_clock64:
    -orig-id: TRACE_LOGFILE_HEADER
    doc: What follows in the data of the first event on a machine of 64 bits.
    doc-ref: Windows SDK evntrace.h TRACE_LOGFILE_HEADER
    seq:
      - id: pointers
        -orig-id: LoggerName, LogFileName
        size: 16
      - id: time_zone
        -orig-id: TimeZone
        size: 172
      - id: alignment
        -orig-id: (alignment)
        size: 4
      - id: boot_time
        -orig-id: BootTime
        type: s8
      - id: perf_freq
        -orig-id: PerfFreq
        type: s8
      - id: start_time
        -orig-id: StartTime
        type: s8
      - id: clock_type
        -orig-id: ReservedFlags
        type: u4
        enum: clock_types
      - id: buffers_lost
        -orig-id: BuffersLost
        type: u4
  time_zone:
    -orig-id: TIME_ZONE_INFORMATION
    doc: The time zone of the machine.
    doc-ref: Windows SDK timezoneapi.h TIME_ZONE_INFORMATION
    seq:
      - id: bias
        -orig-id: Bias
        type: s4
        doc: Minutes that are added to local time to have UTC.
      - id: standard_name
        -orig-id: StandardName
        size: 64
      - id: standard_date
        -orig-id: StandardDate
        size: 16
      - id: standard_bias
        -orig-id: StandardBias
        type: s4
      - id: daylight_name
        -orig-id: DaylightName
        size: 64
      - id: daylight_date
        -orig-id: DaylightDate
        size: 16
      - id: daylight_bias
        -orig-id: DaylightBias
        type: s4
  system_config_cpu:
    -orig-id: SystemConfig_CPU
    doc: The data of a kernel event of group 11 and type 10, which traces of the kernel and merged ones hold.
    doc-ref: Microsoft Learn, SystemConfig_CPU class (version 2 and later)
    seq:
      - id: mhz
        -orig-id: MHz
        type: u4
      - id: num_processors
        -orig-id: NumberOfProcessors
        type: u4
      - id: mem_size
        -orig-id: MemSize
        type: u4
      - id: page_size
        -orig-id: PageSize
        type: u4
      - id: allocation_granularity
        -orig-id: AllocationGranularity
        type: u4
      - id: computer_name
        -orig-id: ComputerName
        size: 512
enums:
  header_types:
    1: {id: system32, -orig-id: TRACE_HEADER_TYPE_SYSTEM32}
    2: {id: system64, -orig-id: TRACE_HEADER_TYPE_SYSTEM64}
    3: {id: compact32, -orig-id: TRACE_HEADER_TYPE_COMPACT32}
    4: {id: compact64, -orig-id: TRACE_HEADER_TYPE_COMPACT64}
    10: {id: full32, -orig-id: TRACE_HEADER_TYPE_FULL_HEADER32}
    11: {id: instance32, -orig-id: TRACE_HEADER_TYPE_INSTANCE32}
    12: {id: timed, -orig-id: TRACE_HEADER_TYPE_TIMED}
    13: {id: error, -orig-id: TRACE_HEADER_TYPE_ERROR}
    14: {id: wnode, -orig-id: TRACE_HEADER_TYPE_WNODE_HEADER}
    15: {id: message, -orig-id: TRACE_HEADER_TYPE_MESSAGE}
    16: {id: perfinfo32, -orig-id: TRACE_HEADER_TYPE_PERFINFO32}
    17: {id: perfinfo64, -orig-id: TRACE_HEADER_TYPE_PERFINFO64}
    18: {id: event32, -orig-id: TRACE_HEADER_TYPE_EVENT_HEADER32}
    19: {id: event64, -orig-id: TRACE_HEADER_TYPE_EVENT_HEADER64}
    20: {id: full64, -orig-id: TRACE_HEADER_TYPE_FULL_HEADER64}
    21: {id: instance64, -orig-id: TRACE_HEADER_TYPE_INSTANCE64}
  buffer_flags:
    0x01: {id: flush_marker, -orig-id: ETW_BUFFER_FLAG_FLUSH_MARKER}
    0x02: {id: events_lost, -orig-id: ETW_BUFFER_FLAG_EVENTS_LOST}
    0x04: {id: buffer_lost, -orig-id: ETW_BUFFER_FLAG_BUFFER_LOST}
    0x08: {id: backup_corrupt, -orig-id: ETW_BUFFER_FLAG_RTBACKUP_CORRUPT}
    0x10: {id: backup, -orig-id: ETW_BUFFER_FLAG_RTBACKUP}
    0x20: {id: processor_index, -orig-id: ETW_BUFFER_FLAG_PROC_INDEX}
    0x40: {id: compressed, -orig-id: ETW_BUFFER_FLAG_COMPRESSED}
  buffer_types:
    0: {id: generic, -orig-id: ETW_BUFFER_TYPE_GENERIC}
    1: {id: rundown, -orig-id: ETW_BUFFER_TYPE_RUNDOWN}
    2: {id: context_swap, -orig-id: ETW_BUFFER_TYPE_CTX_SWAP}
    3: {id: reference_time, -orig-id: ETW_BUFFER_TYPE_REFTIME}
    4: {id: header, -orig-id: ETW_BUFFER_TYPE_HEADER}
    5: {id: batched, -orig-id: ETW_BUFFER_TYPE_BATCHED}
    6: {id: empty_marker, -orig-id: ETW_BUFFER_TYPE_EMPTY_MARKER}
    7: {id: debug_info, -orig-id: ETW_BUFFER_TYPE_DBG_INFO}
  clock_types:
    1: {id: performance_counter, -orig-id: EVENT_TRACE_CLOCK_PERFCOUNTER}
    2: {id: system_time, -orig-id: EVENT_TRACE_CLOCK_SYSTEMTIME}
    3: {id: cpu_cycle, -orig-id: EVENT_TRACE_CLOCK_CPUCYCLE}
