# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Etl(KaitaiStruct):
    """The file that `netsh trace`, `pktmon`, `logman` and every other session of Event Tracing for Windows writes: buffers,
    each filled by one processor, with events of several kinds of headers. The first event of the first buffer describes
    the file.
    
    .. seealso::
       Windows SDK evntrace.h and evntcons.h; the buffer header is that of the public symbols of ntoskrnl
    """

    class BufferFlags(IntEnum):
        flush_marker = 1
        events_lost = 2
        buffer_lost = 4
        backup_corrupt = 8
        backup = 16
        processor_index = 32
        compressed = 64

    class BufferTypes(IntEnum):
        generic = 0
        rundown = 1
        context_swap = 2
        reference_time = 3
        header = 4
        batched = 5
        empty_marker = 6
        debug_info = 7

    class ClockTypes(IntEnum):
        performance_counter = 1
        system_time = 2
        cpu_cycle = 3

    class HeaderTypes(IntEnum):
        system32 = 1
        system64 = 2
        compact32 = 3
        compact64 = 4
        full32 = 10
        instance32 = 11
        timed = 12
        error = 13
        wnode = 14
        message = 15
        perfinfo32 = 16
        perfinfo64 = 17
        event32 = 18
        event64 = 19
        full64 = 20
        instance64 = 21
    def __init__(self, _io, _parent=None, _root=None):
        super(Etl, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.buffers = []
        i = 0
        while not self._io.is_eof():
            self.buffers.append(Etl.Buffer(self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.buffers)):
            pass
            self.buffers[i]._fetch_instances()


    class Buffer(KaitaiStruct):
        """A buffer as it was flushed. What lies behind the events is left over from before.
        
        .. seealso::
           public symbols of ntoskrnl, WMI_BUFFER_HEADER
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.Buffer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = Etl.BufferHeader(self._io, self, self._root)
            if (not (self.is_compressed)):
                pass
                self._raw_events = self._io.read_bytes(self.len_events)
                _io__raw_events = KaitaiStream(BytesIO(self._raw_events))
                self.events = Etl.Events(_io__raw_events, self, self._root)

            if self.is_compressed:
                pass
                self.compressed = self._io.read_bytes(self.len_events)

            self.left_over = self._io.read_bytes((self.header.buffer_size - 72) - self.len_events)


        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            if (not (self.is_compressed)):
                pass
                self.events._fetch_instances()

            if self.is_compressed:
                pass


        @property
        def is_compressed(self):
            if hasattr(self, '_m_is_compressed'):
                return self._m_is_compressed

            self._m_is_compressed = self.header.buffer_flag & 64 != 0
            return getattr(self, '_m_is_compressed', None)

        @property
        def len_events(self):
            if hasattr(self, '_m_len_events'):
                return self._m_len_events

            self._m_len_events = (self.header.buffer_size - 72 if self.header.offset > self.header.buffer_size else self.header.offset - 72)
            return getattr(self, '_m_len_events', None)


    class BufferHeader(KaitaiStruct):
        """What stands in front of each buffer.
        
        .. seealso::
           public symbols of ntoskrnl, WMI_BUFFER_HEADER (Windows 7 and later)
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.BufferHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.buffer_size = self._io.read_u4le()
            self.saved_offset = self._io.read_u4le()
            self.current_offset = self._io.read_u4le()
            self.reference_count = self._io.read_s4le()
            self.time_stamp = self._io.read_s8le()
            self.sequence_number = self._io.read_s8le()
            self.clock = self._io.read_u8le()
            self.processor_index = self._io.read_u2le()
            self.logger_id = self._io.read_u2le()
            self.state = self._io.read_u4le()
            self.offset = self._io.read_u4le()
            self.buffer_flag = self._io.read_u2le()
            self.buffer_type = KaitaiStream.resolve_enum(Etl.BufferTypes, self._io.read_u2le())
            self.start_time = self._io.read_s8le()
            self.start_perf_clock = self._io.read_s8le()


        def _fetch_instances(self):
            pass


    class ClassicEvent(KaitaiStruct):
        """An event of a classic provider (TraceEvent), from behind Class.Type and Class.Level on.
        
        .. seealso::
           Windows SDK evntrace.h EVENT_TRACE_HEADER
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.ClassicEvent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.version = self._io.read_u2le()
            self.thread_id = self._io.read_u4le()
            self.process_id = self._io.read_u4le()
            self.time_stamp = self._io.read_s8le()
            self.guid = self._io.read_bytes(16)
            self.kernel_time = self._io.read_u4le()
            self.user_time = self._io.read_u4le()
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class CompactEvent(KaitaiStruct):
        """An event of the kernel without processor times, from its group and type on.
        
        .. seealso::
           public symbols of ntoskrnl, SYSTEM_TRACE_HEADER
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.CompactEvent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.hook_type = self._io.read_u1()
            self.hook_group = self._io.read_u1()
            self.thread_id = self._io.read_u4le()
            self.process_id = self._io.read_u4le()
            self.time_stamp = self._io.read_s8le()
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class Event(KaitaiStruct):
        """An event of any kind. Its third byte says the kind of header, its fourth marks it. Where the length stands depends on
        the kind. The next event begins at a multiple of 8.
        
        .. seealso::
           Windows SDK evntrace.h EVENT_TRACE_HEADER, evntcons.h EVENT_HEADER; public symbols of ntoskrnl, WMI_TRACE_PACKET
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.Event, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.first = self._io.read_u2le()
            self.header_type = KaitaiStream.resolve_enum(Etl.HeaderTypes, self._io.read_u1())
            self.marker_flags = self._io.read_u1()
            self.second = self._io.read_u2le()
            _on = self.header_type
            if _on == Etl.HeaderTypes.compact32:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.CompactEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.compact64:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.CompactEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.event32:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.ManifestEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.event64:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.ManifestEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.full32:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.ClassicEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.full64:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.ClassicEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.instance32:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.InstanceEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.instance64:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.InstanceEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.perfinfo32:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.PerfinfoEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.perfinfo64:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.PerfinfoEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.system32:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.SystemEvent(_io__raw_body, self, self._root)
            elif _on == Etl.HeaderTypes.system64:
                pass
                self._raw_body = self._io.read_bytes(self.len_event - 6)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = Etl.SystemEvent(_io__raw_body, self, self._root)
            else:
                pass
                self.body = self._io.read_bytes(self.len_event - 6)
            self.padding = self._io.read_bytes((0 if  ((self.len_event % 8 == 0) or (self._io.size() - self._io.pos() < 8 - self.len_event % 8))  else 8 - self.len_event % 8))


        def _fetch_instances(self):
            pass
            _on = self.header_type
            if _on == Etl.HeaderTypes.compact32:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.compact64:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.event32:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.event64:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.full32:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.full64:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.instance32:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.instance64:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.perfinfo32:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.perfinfo64:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.system32:
                pass
                self.body._fetch_instances()
            elif _on == Etl.HeaderTypes.system64:
                pass
                self.body._fetch_instances()
            else:
                pass

        @property
        def has_late_length(self):
            if hasattr(self, '_m_has_late_length'):
                return self._m_has_late_length

            self._m_has_late_length =  ((self.marker_flags != 144) and ( ((self.header_type == Etl.HeaderTypes.system32) or (self.header_type == Etl.HeaderTypes.system64) or (self.header_type == Etl.HeaderTypes.compact32) or (self.header_type == Etl.HeaderTypes.compact64) or (self.header_type == Etl.HeaderTypes.perfinfo32) or (self.header_type == Etl.HeaderTypes.perfinfo64)) )) 
            return getattr(self, '_m_has_late_length', None)

        @property
        def len_event(self):
            if hasattr(self, '_m_len_event'):
                return self._m_len_event

            self._m_len_event = (self.second if self.has_late_length else self.first)
            return getattr(self, '_m_len_event', None)


    class Events(KaitaiStruct):
        """The events of a buffer, up to its end or to four bytes of ones.
        
        .. seealso::
           Windows SDK evntrace.h
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.Events, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.events = []
            i = 0
            while not self._io.is_eof():
                self.events.append(Etl.Event(self._io, self, self._root))
                i += 1



        def _fetch_instances(self):
            pass
            for i in range(len(self.events)):
                pass
                self.events[i]._fetch_instances()



    class ExtendedItem(KaitaiStruct):
        """What some events carry between their header and their data, each item at a multiple of 8.
        
        .. seealso::
           Windows SDK evntcons.h EVENT_HEADER_EXTENDED_DATA_ITEM, as a file holds it
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.ExtendedItem, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.size = self._io.read_u2le()
            self.ext_type = self._io.read_u2le()
            self.linkage = self._io.read_u2le()
            self.data_size = self._io.read_u2le()
            self.data = self._io.read_bytes(self.data_size)


        def _fetch_instances(self):
            pass


    class InstanceEvent(KaitaiStruct):
        """An event of an instance (TraceEventInstance), from behind Class.Type and Class.Level on.
        
        .. seealso::
           Windows SDK evntrace.h EVENT_INSTANCE_HEADER; public symbols of ntoskrnl, EVENT_INSTANCE_GUID_HEADER
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.InstanceEvent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.version = self._io.read_u2le()
            self.thread_id = self._io.read_u4le()
            self.process_id = self._io.read_u4le()
            self.time_stamp = self._io.read_s8le()
            self.guid = self._io.read_bytes(16)
            self.kernel_time = self._io.read_u4le()
            self.user_time = self._io.read_u4le()
            self.instance_id = self._io.read_u4le()
            self.parent_instance_id = self._io.read_u4le()
            self.parent_guid = self._io.read_bytes(16)
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class LogFileClock32(KaitaiStruct):
        """What follows in the data of the first event on a machine of 32 bits.
        
        .. seealso::
           Windows SDK evntrace.h TRACE_LOGFILE_HEADER
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.LogFileClock32, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.pointers = self._io.read_bytes(8)
            self.time_zone = self._io.read_bytes(172)
            self.alignment = self._io.read_bytes(4)
            self.boot_time = self._io.read_s8le()
            self.perf_freq = self._io.read_s8le()
            self.start_time = self._io.read_s8le()
            self.clock_type = KaitaiStream.resolve_enum(Etl.ClockTypes, self._io.read_u4le())
            self.buffers_lost = self._io.read_u4le()


        def _fetch_instances(self):
            pass


    class LogFileClock64(KaitaiStruct):
        """What follows in the data of the first event on a machine of 64 bits.
        
        .. seealso::
           Windows SDK evntrace.h TRACE_LOGFILE_HEADER
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.LogFileClock64, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.pointers = self._io.read_bytes(16)
            self.time_zone = self._io.read_bytes(172)
            self.alignment = self._io.read_bytes(4)
            self.boot_time = self._io.read_s8le()
            self.perf_freq = self._io.read_s8le()
            self.start_time = self._io.read_s8le()
            self.clock_type = KaitaiStream.resolve_enum(Etl.ClockTypes, self._io.read_u4le())
            self.buffers_lost = self._io.read_u4le()


        def _fetch_instances(self):
            pass


    class LogFileHeader(KaitaiStruct):
        """The data of the first event, up to the pointers, whose size `pointer_size` tells.
        
        .. seealso::
           Windows SDK evntrace.h TRACE_LOGFILE_HEADER
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.LogFileHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.buffer_size = self._io.read_u4le()
            self.major_version = self._io.read_u1()
            self.minor_version = self._io.read_u1()
            self.sub_version = self._io.read_u1()
            self.sub_minor_version = self._io.read_u1()
            self.provider_version = self._io.read_u4le()
            self.num_processors = self._io.read_u4le()
            self.end_time = self._io.read_s8le()
            self.timer_resolution = self._io.read_u4le()
            self.maximum_file_size = self._io.read_u4le()
            self.log_file_mode = self._io.read_u4le()
            self.buffers_written = self._io.read_u4le()
            self.start_buffers = self._io.read_u4le()
            self.pointer_size = self._io.read_u4le()
            self.events_lost = self._io.read_u4le()
            self.cpu_speed_mhz = self._io.read_u4le()


        def _fetch_instances(self):
            pass


    class ManifestEvent(KaitaiStruct):
        """An event of a provider with a manifest, or one that describes itself, from EventProperty on: `second` of the event is
        Flags. Extended data items follow the header where its first flag says so.
        
        .. seealso::
           Windows SDK evntcons.h EVENT_HEADER, evntprov.h EVENT_DESCRIPTOR
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.ManifestEvent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.event_property = self._io.read_u2le()
            self.thread_id = self._io.read_u4le()
            self.process_id = self._io.read_u4le()
            self.time_stamp = self._io.read_s8le()
            self.provider_id = self._io.read_bytes(16)
            self.id = self._io.read_u2le()
            self.version = self._io.read_u1()
            self.channel = self._io.read_u1()
            self.level = self._io.read_u1()
            self.opcode = self._io.read_u1()
            self.task = self._io.read_u2le()
            self.keyword = self._io.read_u8le()
            self.kernel_time = self._io.read_u4le()
            self.user_time = self._io.read_u4le()
            self.activity_id = self._io.read_bytes(16)
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class PerfinfoEvent(KaitaiStruct):
        """A frequent event of the kernel, from its group and type on.
        
        .. seealso::
           public symbols of ntoskrnl, PERFINFO_TRACE_HEADER
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.PerfinfoEvent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.hook_type = self._io.read_u1()
            self.hook_group = self._io.read_u1()
            self.time_stamp = self._io.read_s8le()
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SystemConfigCpu(KaitaiStruct):
        """The data of a kernel event of group 11 and type 10, which traces of the kernel and merged ones hold.
        
        .. seealso::
           Microsoft Learn, SystemConfig_CPU class (version 2 and later)
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.SystemConfigCpu, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.mhz = self._io.read_u4le()
            self.num_processors = self._io.read_u4le()
            self.mem_size = self._io.read_u4le()
            self.page_size = self._io.read_u4le()
            self.allocation_granularity = self._io.read_u4le()
            self.computer_name = self._io.read_bytes(512)


        def _fetch_instances(self):
            pass


    class SystemEvent(KaitaiStruct):
        """An event of the kernel, from its group and type on.
        
        .. seealso::
           public symbols of ntoskrnl, SYSTEM_TRACE_HEADER
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.SystemEvent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.hook_type = self._io.read_u1()
            self.hook_group = self._io.read_u1()
            self.thread_id = self._io.read_u4le()
            self.process_id = self._io.read_u4le()
            self.time_stamp = self._io.read_s8le()
            self.kernel_time = self._io.read_u4le()
            self.user_time = self._io.read_u4le()
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class TimeZone(KaitaiStruct):
        """The time zone of the machine.
        
        .. seealso::
           Windows SDK timezoneapi.h TIME_ZONE_INFORMATION
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Etl.TimeZone, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.bias = self._io.read_s4le()
            self.standard_name = self._io.read_bytes(64)
            self.standard_date = self._io.read_bytes(16)
            self.standard_bias = self._io.read_s4le()
            self.daylight_name = self._io.read_bytes(64)
            self.daylight_date = self._io.read_bytes(16)
            self.daylight_bias = self._io.read_s4le()


        def _fetch_instances(self):
            pass



