# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_pcq
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Winperf(KaitaiStruct):
    """PERF_DATA_BLOCK with its objects. Offsets are followed as they are given, each within its container. Integers, names and
    values are in the byte order the header names (LittleEndian is 0 for big-endian).
    Whatever has a length is a stream of its own: `body` ends with it, and offsets the specification counts from the start
    of the structure count 4 less from the start of its `body`, whose first byte follows the length. Of a structure
    that was cut off, what is there is still read; `missing` (empty in a whole one) is what cannot be read.
    Names are bytes, in the code that `-encoding` states: UTF-16 in the block's byte order, or the object's code page.
    
    .. seealso::
       winperf.h (Windows SDK 10.0), PERF_DATA_BLOCK
    """
    def __init__(self, big_endian, _io, _parent=None, _root=None):
        super(Winperf, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.big_endian = big_endian
        self._read()

    def _read(self):
        _on = self.big_endian
        if _on == True:
            pass
            self._is_le = False
        elif _on == False:
            pass
            self._is_le = True
        if not hasattr(self, '_is_le'):
            raise kaitaistruct.UndecidedEndiannessError("/")
        elif self._is_le == True:
            self._read_le()
        elif self._is_le == False:
            self._read_be()

    def _read_le(self):
        self.signature = self._io.read_bytes(8)
        if not  ((self.signature == b"\x50\x00\x45\x00\x52\x00\x46\x00") or (self.signature == b"\x00\x50\x00\x45\x00\x52\x00\x46")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.signature, self._io, u"/seq/0")
        self.little_endian = self._io.read_u4le()
        self.version = self._io.read_u4le()
        self.revision = self._io.read_u4le()
        self.total_byte_length = self._io.read_u4le()
        self.header_length = self._io.read_u4le()
        if not self.header_length >= 88:
            raise kaitaistruct.ValidationLessThanError(88, self.header_length, self._io, u"/seq/5")
        self.num_object_types = self._io.read_u4le()
        self.default_object = self._io.read_s4le()
        self.system_time = Winperf.Systemtime(self._io, self, self._root, self._is_le)
        self.align_perf_time = self._io.read_bytes(4)
        self.perf_time = self._io.read_s8le()
        self.perf_freq = self._io.read_s8le()
        self.perf_time_100ns = self._io.read_s8le()
        self.system_name_length = self._io.read_u4le()
        self.system_name_offset = self._io.read_u4le()
        _ = self.system_name_offset
        if not  ((self.system_name_length == 0) or (_ + self.system_name_length <= self._io.size())) :
            raise kaitaistruct.ValidationExprError(self.system_name_offset, self._io, u"/seq/14")
        self.header_rest = self._io.read_bytes(self.header_length - 88)
        self.objects = []
        for i in range(self.num_object_types):
            self.objects.append(Winperf.PerfObject(self._io, self, self._root, self._is_le))

        self.rest = self._io.read_bytes_full()
        self.missing = self._io.read_bytes((self.total_byte_length - self._io.size() if self.total_byte_length > self._io.size() else 0))

    def _read_be(self):
        self.signature = self._io.read_bytes(8)
        if not  ((self.signature == b"\x50\x00\x45\x00\x52\x00\x46\x00") or (self.signature == b"\x00\x50\x00\x45\x00\x52\x00\x46")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.signature, self._io, u"/seq/0")
        self.little_endian = self._io.read_u4be()
        self.version = self._io.read_u4be()
        self.revision = self._io.read_u4be()
        self.total_byte_length = self._io.read_u4be()
        self.header_length = self._io.read_u4be()
        if not self.header_length >= 88:
            raise kaitaistruct.ValidationLessThanError(88, self.header_length, self._io, u"/seq/5")
        self.num_object_types = self._io.read_u4be()
        self.default_object = self._io.read_s4be()
        self.system_time = Winperf.Systemtime(self._io, self, self._root, self._is_le)
        self.align_perf_time = self._io.read_bytes(4)
        self.perf_time = self._io.read_s8be()
        self.perf_freq = self._io.read_s8be()
        self.perf_time_100ns = self._io.read_s8be()
        self.system_name_length = self._io.read_u4be()
        self.system_name_offset = self._io.read_u4be()
        _ = self.system_name_offset
        if not  ((self.system_name_length == 0) or (_ + self.system_name_length <= self._io.size())) :
            raise kaitaistruct.ValidationExprError(self.system_name_offset, self._io, u"/seq/14")
        self.header_rest = self._io.read_bytes(self.header_length - 88)
        self.objects = []
        for i in range(self.num_object_types):
            self.objects.append(Winperf.PerfObject(self._io, self, self._root, self._is_le))

        self.rest = self._io.read_bytes_full()
        self.missing = self._io.read_bytes((self.total_byte_length - self._io.size() if self.total_byte_length > self._io.size() else 0))


    def _fetch_instances(self):
        pass
        self.system_time._fetch_instances()
        for i in range(len(self.objects)):
            pass
            self.objects[i]._fetch_instances()

        _ = self.system_name
        if hasattr(self, '_m_system_name'):
            pass

        _ = self.system_name_be
        if hasattr(self, '_m_system_name_be'):
            pass

        _ = self.system_name_le
        if hasattr(self, '_m_system_name_le'):
            pass


    class CounterBlock(KaitaiStruct):
        """The values of one instance, or of an object without instances. The last block of an object has the rest of the object to
        itself: Windows XP writes a length for it (Processor, _Total) that is too small for the values it holds.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_COUNTER_BLOCK
        """
        def __init__(self, definitions, is_last, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.CounterBlock, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.definitions = definitions
            self.is_last = is_last
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/counter_block")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.byte_length = self._io.read_u4le()
            _ = self.byte_length
            if not  ((_ >= 4) and (_ >= len(self.definitions))) :
                raise kaitaistruct.ValidationExprError(self.byte_length, self._io, u"/types/counter_block/seq/0")
            self._raw_body = self._io.read_bytes(self.len_body)
            _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
            self.body = Winperf.CounterValues(self.definitions, _io__raw_body, self, self._root, self._is_le)
            self.missing = self._io.read_bytes(((self.byte_length - 4) - self.len_body if self.byte_length - 4 > self.len_body else 0))

        def _read_be(self):
            self.byte_length = self._io.read_u4be()
            _ = self.byte_length
            if not  ((_ >= 4) and (_ >= len(self.definitions))) :
                raise kaitaistruct.ValidationExprError(self.byte_length, self._io, u"/types/counter_block/seq/0")
            self._raw_body = self._io.read_bytes(self.len_body)
            _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
            self.body = Winperf.CounterValues(self.definitions, _io__raw_body, self, self._root, self._is_le)
            self.missing = self._io.read_bytes(((self.byte_length - 4) - self.len_body if self.byte_length - 4 > self.len_body else 0))


        def _fetch_instances(self):
            pass
            self.body._fetch_instances()

        @property
        def len_body(self):
            if hasattr(self, '_m_len_body'):
                return self._m_len_body

            self._m_len_body = (self.byte_length - 4 if  (((not (self.is_last))) and (self.byte_length - 4 < self._io.size() - self._io.pos()))  else self._io.size() - self._io.pos())
            return getattr(self, '_m_len_body', None)


    class CounterDefinition(KaitaiStruct):
        """A counter and where its value is in the counter blocks.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_COUNTER_DEFINITION
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.CounterDefinition, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/counter_definition")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.byte_length = self._io.read_u4le()
            if not self.byte_length >= 40:
                raise kaitaistruct.ValidationLessThanError(40, self.byte_length, self._io, u"/types/counter_definition/seq/0")
            self.counter_name_title_index = self._io.read_u4le()
            self.counter_name_title = self._io.read_u4le()
            self.counter_help_title_index = self._io.read_u4le()
            self.counter_help_title = self._io.read_u4le()
            self.default_scale = self._io.read_s4le()
            self.detail_level = KaitaiStream.resolve_enum(ms_pcq.MsPcq.DetailLevel, self._io.read_u4le())
            self.counter_type = KaitaiStream.resolve_enum(ms_pcq.MsPcq.CounterType, self._io.read_u4le())
            self.counter_size = self._io.read_u4le()
            self.counter_offset = self._io.read_u4le()
            self.rest = self._io.read_bytes(self.byte_length - 40)

        def _read_be(self):
            self.byte_length = self._io.read_u4be()
            if not self.byte_length >= 40:
                raise kaitaistruct.ValidationLessThanError(40, self.byte_length, self._io, u"/types/counter_definition/seq/0")
            self.counter_name_title_index = self._io.read_u4be()
            self.counter_name_title = self._io.read_u4be()
            self.counter_help_title_index = self._io.read_u4be()
            self.counter_help_title = self._io.read_u4be()
            self.default_scale = self._io.read_s4be()
            self.detail_level = KaitaiStream.resolve_enum(ms_pcq.MsPcq.DetailLevel, self._io.read_u4be())
            self.counter_type = KaitaiStream.resolve_enum(ms_pcq.MsPcq.CounterType, self._io.read_u4be())
            self.counter_size = self._io.read_u4be()
            self.counter_offset = self._io.read_u4be()
            self.rest = self._io.read_bytes(self.byte_length - 40)


        def _fetch_instances(self):
            pass


    class CounterValue(KaitaiStruct):
        """A value, where its definition says it is. It consumes nothing; values may share bytes.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_COUNTER_DEFINITION
        """
        def __init__(self, definition, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.CounterValue, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.definition = definition
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/counter_value")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            pass

        def _read_be(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.value
            if hasattr(self, '_m_value'):
                pass


        @property
        def value(self):
            """An unsigned integer in the byte order of the block, or text where the type says so."""
            if hasattr(self, '_m_value'):
                return self._m_value

            if self.definition.counter_size != 0:
                pass
                _pos = self._io.pos()
                self._io.seek(self.definition.counter_offset - 4)
                if self._is_le:
                    self._m_value = self._io.read_bytes(self.definition.counter_size)
                else:
                    self._m_value = self._io.read_bytes(self.definition.counter_size)
                self._io.seek(_pos)

            return getattr(self, '_m_value', None)


    class CounterValues(KaitaiStruct):
        """The values behind the length of a counter block.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_COUNTER_BLOCK
        """
        def __init__(self, definitions, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.CounterValues, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.definitions = definitions
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/counter_values")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.values = []
            for i in range(len(self.definitions)):
                self.values.append(Winperf.CounterValue(self.definitions[i], self._io, self, self._root, self._is_le))

            self.raw = self._io.read_bytes_full()

        def _read_be(self):
            self.values = []
            for i in range(len(self.definitions)):
                self.values.append(Winperf.CounterValue(self.definitions[i], self._io, self, self._root, self._is_le))

            self.raw = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            for i in range(len(self.values)):
                pass
                self.values[i]._fetch_instances()



    class Instance(KaitaiStruct):
        """An instance and its values.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_INSTANCE_DEFINITION
        """
        def __init__(self, definitions, is_last, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.Instance, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.definitions = definitions
            self.is_last = is_last
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/instance")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.byte_length = self._io.read_u4le()
            if not self.byte_length >= 24:
                raise kaitaistruct.ValidationLessThanError(24, self.byte_length, self._io, u"/types/instance/seq/0")
            self._raw_definition = self._io.read_bytes(self.byte_length - 4)
            _io__raw_definition = KaitaiStream(BytesIO(self._raw_definition))
            self.definition = Winperf.InstanceBody(_io__raw_definition, self, self._root, self._is_le)
            self.counter_block = Winperf.CounterBlock(self.definitions, self.is_last, self._io, self, self._root, self._is_le)

        def _read_be(self):
            self.byte_length = self._io.read_u4be()
            if not self.byte_length >= 24:
                raise kaitaistruct.ValidationLessThanError(24, self.byte_length, self._io, u"/types/instance/seq/0")
            self._raw_definition = self._io.read_bytes(self.byte_length - 4)
            _io__raw_definition = KaitaiStream(BytesIO(self._raw_definition))
            self.definition = Winperf.InstanceBody(_io__raw_definition, self, self._root, self._is_le)
            self.counter_block = Winperf.CounterBlock(self.definitions, self.is_last, self._io, self, self._root, self._is_le)


        def _fetch_instances(self):
            pass
            self.definition._fetch_instances()
            self.counter_block._fetch_instances()


    class InstanceBody(KaitaiStruct):
        """An instance behind its length.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_INSTANCE_DEFINITION
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.InstanceBody, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/instance_body")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.parent_object_title_index = self._io.read_u4le()
            self.parent_object_instance = self._io.read_u4le()
            self.unique_id = self._io.read_s4le()
            self.name_offset = self._io.read_u4le()
            self.name_length = self._io.read_u4le()
            self.rest = self._io.read_bytes_full()

        def _read_be(self):
            self.parent_object_title_index = self._io.read_u4be()
            self.parent_object_instance = self._io.read_u4be()
            self.unique_id = self._io.read_s4be()
            self.name_offset = self._io.read_u4be()
            self.name_length = self._io.read_u4be()
            self.rest = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            _ = self.name
            if hasattr(self, '_m_name'):
                pass

            _ = self.name_be
            if hasattr(self, '_m_name_be'):
                pass

            _ = self.name_le
            if hasattr(self, '_m_name_le'):
                pass


        @property
        def name(self):
            if hasattr(self, '_m_name'):
                return self._m_name

            if self.name_length != 0:
                pass
                _pos = self._io.pos()
                self._io.seek(self.name_offset - 4)
                if self._is_le:
                    self._m_name = self._io.read_bytes(self.name_length)
                else:
                    self._m_name = self._io.read_bytes(self.name_length)
                self._io.seek(_pos)

            return getattr(self, '_m_name', None)

        @property
        def name_be(self):
            if hasattr(self, '_m_name_be'):
                return self._m_name_be

            if self.name_length != 0:
                pass
                _pos = self._io.pos()
                self._io.seek(self.name_offset - 4)
                if self._is_le:
                    self._m_name_be = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.name_length), b"\x00\x00", False)).decode(u"UTF-16BE")
                else:
                    self._m_name_be = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.name_length), b"\x00\x00", False)).decode(u"UTF-16BE")
                self._io.seek(_pos)

            return getattr(self, '_m_name_be', None)

        @property
        def name_le(self):
            if hasattr(self, '_m_name_le'):
                return self._m_name_le

            if self.name_length != 0:
                pass
                _pos = self._io.pos()
                self._io.seek(self.name_offset - 4)
                if self._is_le:
                    self._m_name_le = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.name_length), b"\x00\x00", False)).decode(u"UTF-16LE")
                else:
                    self._m_name_le = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.name_length), b"\x00\x00", False)).decode(u"UTF-16LE")
                self._io.seek(_pos)

            return getattr(self, '_m_name_le', None)

        @property
        def name_text(self):
            """Of objects whose code page is 0."""
            if hasattr(self, '_m_name_text'):
                return self._m_name_text

            self._m_name_text = (self.name_be if self._root.big_endian else self.name_le)
            return getattr(self, '_m_name_text', None)


    class ObjectBody(KaitaiStruct):
        """An object behind its length.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_OBJECT_TYPE
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.ObjectBody, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/object_body")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.definition_length = self._io.read_u4le()
            if not self.definition_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.definition_length, self._io, u"/types/object_body/seq/0")
            self.header_length = self._io.read_u4le()
            if not self.header_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.header_length, self._io, u"/types/object_body/seq/1")
            self.object_name_title_index = self._io.read_u4le()
            self.object_name_title = self._io.read_u4le()
            self.object_help_title_index = self._io.read_u4le()
            self.object_help_title = self._io.read_u4le()
            self.detail_level = KaitaiStream.resolve_enum(ms_pcq.MsPcq.DetailLevel, self._io.read_u4le())
            self.num_counters = self._io.read_u4le()
            self.default_counter = self._io.read_s4le()
            self.num_instances = self._io.read_s4le()
            if not self.num_instances >= -3:
                raise kaitaistruct.ValidationLessThanError(-3, self.num_instances, self._io, u"/types/object_body/seq/9")
            self.code_page = self._io.read_u4le()
            self.perf_time = self._io.read_s8le()
            self.perf_freq = self._io.read_s8le()
            self.header_rest = self._io.read_bytes(self.header_length - 64)
            self.counters = []
            for i in range(self.num_counters):
                self.counters.append(Winperf.CounterDefinition(self._io, self, self._root, self._is_le))

            self.definition_rest = self._io.read_bytes((self.definition_length - 4) - self._io.pos())
            if self.num_instances == -1:
                pass
                self.counter_block = Winperf.CounterBlock(self.counters, True, self._io, self, self._root, self._is_le)

            if self.num_instances >= 0:
                pass
                self.instances = []
                for i in range(self.num_instances):
                    self.instances.append(Winperf.Instance(self.counters, i == self.num_instances - 1, self._io, self, self._root, self._is_le))


            self.rest = self._io.read_bytes_full()

        def _read_be(self):
            self.definition_length = self._io.read_u4be()
            if not self.definition_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.definition_length, self._io, u"/types/object_body/seq/0")
            self.header_length = self._io.read_u4be()
            if not self.header_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.header_length, self._io, u"/types/object_body/seq/1")
            self.object_name_title_index = self._io.read_u4be()
            self.object_name_title = self._io.read_u4be()
            self.object_help_title_index = self._io.read_u4be()
            self.object_help_title = self._io.read_u4be()
            self.detail_level = KaitaiStream.resolve_enum(ms_pcq.MsPcq.DetailLevel, self._io.read_u4be())
            self.num_counters = self._io.read_u4be()
            self.default_counter = self._io.read_s4be()
            self.num_instances = self._io.read_s4be()
            if not self.num_instances >= -3:
                raise kaitaistruct.ValidationLessThanError(-3, self.num_instances, self._io, u"/types/object_body/seq/9")
            self.code_page = self._io.read_u4be()
            self.perf_time = self._io.read_s8be()
            self.perf_freq = self._io.read_s8be()
            self.header_rest = self._io.read_bytes(self.header_length - 64)
            self.counters = []
            for i in range(self.num_counters):
                self.counters.append(Winperf.CounterDefinition(self._io, self, self._root, self._is_le))

            self.definition_rest = self._io.read_bytes((self.definition_length - 4) - self._io.pos())
            if self.num_instances == -1:
                pass
                self.counter_block = Winperf.CounterBlock(self.counters, True, self._io, self, self._root, self._is_le)

            if self.num_instances >= 0:
                pass
                self.instances = []
                for i in range(self.num_instances):
                    self.instances.append(Winperf.Instance(self.counters, i == self.num_instances - 1, self._io, self, self._root, self._is_le))


            self.rest = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            for i in range(len(self.counters)):
                pass
                self.counters[i]._fetch_instances()

            if self.num_instances == -1:
                pass
                self.counter_block._fetch_instances()

            if self.num_instances >= 0:
                pass
                for i in range(len(self.instances)):
                    pass
                    self.instances[i]._fetch_instances()




    class PerfObject(KaitaiStruct):
        """An object with its counters, and their values without or with instances. TotalByteLength alone says where the next object
        begins, so `body` is read on demand: one that cannot be read costs no other object.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_OBJECT_TYPE
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.PerfObject, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/perf_object")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.total_byte_length = self._io.read_u4le()
            if not self.total_byte_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.total_byte_length, self._io, u"/types/perf_object/seq/0")
            self.raw_body = self._io.read_bytes(self.len_body)
            self.missing = self._io.read_bytes((self.total_byte_length - 4) - self.len_body)

        def _read_be(self):
            self.total_byte_length = self._io.read_u4be()
            if not self.total_byte_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.total_byte_length, self._io, u"/types/perf_object/seq/0")
            self.raw_body = self._io.read_bytes(self.len_body)
            self.missing = self._io.read_bytes((self.total_byte_length - 4) - self.len_body)


        def _fetch_instances(self):
            pass
            _ = self.body
            if hasattr(self, '_m_body'):
                pass
                self._m_body._fetch_instances()


        @property
        def body(self):
            if hasattr(self, '_m_body'):
                return self._m_body

            _pos = self._io.pos()
            self._io.seek(self.ofs_body)
            if self._is_le:
                self._raw__m_body = self._io.read_bytes(self.len_body)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = Winperf.ObjectBody(_io__raw__m_body, self, self._root, self._is_le)
            else:
                self._raw__m_body = self._io.read_bytes(self.len_body)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = Winperf.ObjectBody(_io__raw__m_body, self, self._root, self._is_le)
            self._io.seek(_pos)
            return getattr(self, '_m_body', None)

        @property
        def len_body(self):
            if hasattr(self, '_m_len_body'):
                return self._m_len_body

            self._m_len_body = (self.total_byte_length - 4 if self.total_byte_length - 4 < self._io.size() - self.ofs_body else self._io.size() - self.ofs_body)
            return getattr(self, '_m_len_body', None)

        @property
        def ofs_body(self):
            if hasattr(self, '_m_ofs_body'):
                return self._m_ofs_body

            self._m_ofs_body = self._io.pos()
            return getattr(self, '_m_ofs_body', None)


    class Systemtime(KaitaiStruct):
        """A date and time in UTC, in the byte order of the block.
        
        .. seealso::
           MS-DTYP revision 37.0 section 2.3.13
        """

        class Weekday(IntEnum):
            sunday = 0
            monday = 1
            tuesday = 2
            wednesday = 3
            thursday = 4
            friday = 5
            saturday = 6
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.Systemtime, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/systemtime")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.year = self._io.read_u2le()
            self.month = self._io.read_u2le()
            self.day_of_week = KaitaiStream.resolve_enum(Winperf.Systemtime.Weekday, self._io.read_u2le())
            self.day = self._io.read_u2le()
            self.hour = self._io.read_u2le()
            self.minute = self._io.read_u2le()
            self.second = self._io.read_u2le()
            self.milliseconds = self._io.read_u2le()

        def _read_be(self):
            self.year = self._io.read_u2be()
            self.month = self._io.read_u2be()
            self.day_of_week = KaitaiStream.resolve_enum(Winperf.Systemtime.Weekday, self._io.read_u2be())
            self.day = self._io.read_u2be()
            self.hour = self._io.read_u2be()
            self.minute = self._io.read_u2be()
            self.second = self._io.read_u2be()
            self.milliseconds = self._io.read_u2be()


        def _fetch_instances(self):
            pass


    @property
    def system_name(self):
        if hasattr(self, '_m_system_name'):
            return self._m_system_name

        if self.system_name_length != 0:
            pass
            _pos = self._io.pos()
            self._io.seek(self.system_name_offset)
            if self._is_le:
                self._m_system_name = self._io.read_bytes(self.system_name_length)
            else:
                self._m_system_name = self._io.read_bytes(self.system_name_length)
            self._io.seek(_pos)

        return getattr(self, '_m_system_name', None)

    @property
    def system_name_be(self):
        if hasattr(self, '_m_system_name_be'):
            return self._m_system_name_be

        if self.system_name_length != 0:
            pass
            _pos = self._io.pos()
            self._io.seek(self.system_name_offset)
            if self._is_le:
                self._m_system_name_be = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.system_name_length), b"\x00\x00", False)).decode(u"UTF-16BE")
            else:
                self._m_system_name_be = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.system_name_length), b"\x00\x00", False)).decode(u"UTF-16BE")
            self._io.seek(_pos)

        return getattr(self, '_m_system_name_be', None)

    @property
    def system_name_le(self):
        if hasattr(self, '_m_system_name_le'):
            return self._m_system_name_le

        if self.system_name_length != 0:
            pass
            _pos = self._io.pos()
            self._io.seek(self.system_name_offset)
            if self._is_le:
                self._m_system_name_le = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.system_name_length), b"\x00\x00", False)).decode(u"UTF-16LE")
            else:
                self._m_system_name_le = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.system_name_length), b"\x00\x00", False)).decode(u"UTF-16LE")
            self._io.seek(_pos)

        return getattr(self, '_m_system_name_le', None)

    @property
    def system_name_text(self):
        if hasattr(self, '_m_system_name_text'):
            return self._m_system_name_text

        self._m_system_name_text = (self.system_name_be if self.big_endian else self.system_name_le)
        return getattr(self, '_m_system_name_text', None)


