# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_pcq
import collections
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
    SEQ_FIELDS = ["signature", "little_endian", "version", "revision", "total_byte_length", "header_length", "num_object_types", "default_object", "system_time", "align_perf_time", "perf_time", "perf_freq", "perf_time_100ns", "system_name_length", "system_name_offset", "header_rest", "objects", "rest", "missing"]
    def __init__(self, big_endian, _io, _parent=None, _root=None):
        super(Winperf, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.big_endian = big_endian
        self._debug = collections.defaultdict(dict)

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
        self._debug['signature']['start'] = self._io.pos()
        self.signature = self._io.read_bytes(8)
        self._debug['signature']['end'] = self._io.pos()
        if not  ((self.signature == b"\x50\x00\x45\x00\x52\x00\x46\x00") or (self.signature == b"\x00\x50\x00\x45\x00\x52\x00\x46")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.signature, self._io, u"/seq/0")
        self._debug['little_endian']['start'] = self._io.pos()
        self.little_endian = self._io.read_u4le()
        self._debug['little_endian']['end'] = self._io.pos()
        self._debug['version']['start'] = self._io.pos()
        self.version = self._io.read_u4le()
        self._debug['version']['end'] = self._io.pos()
        self._debug['revision']['start'] = self._io.pos()
        self.revision = self._io.read_u4le()
        self._debug['revision']['end'] = self._io.pos()
        self._debug['total_byte_length']['start'] = self._io.pos()
        self.total_byte_length = self._io.read_u4le()
        self._debug['total_byte_length']['end'] = self._io.pos()
        self._debug['header_length']['start'] = self._io.pos()
        self.header_length = self._io.read_u4le()
        self._debug['header_length']['end'] = self._io.pos()
        if not self.header_length >= 88:
            raise kaitaistruct.ValidationLessThanError(88, self.header_length, self._io, u"/seq/5")
        self._debug['num_object_types']['start'] = self._io.pos()
        self.num_object_types = self._io.read_u4le()
        self._debug['num_object_types']['end'] = self._io.pos()
        self._debug['default_object']['start'] = self._io.pos()
        self.default_object = self._io.read_s4le()
        self._debug['default_object']['end'] = self._io.pos()
        self._debug['system_time']['start'] = self._io.pos()
        self.system_time = Winperf.Systemtime(self._io, self, self._root, self._is_le)
        self.system_time._read()
        self._debug['system_time']['end'] = self._io.pos()
        self._debug['align_perf_time']['start'] = self._io.pos()
        self.align_perf_time = self._io.read_bytes(4)
        self._debug['align_perf_time']['end'] = self._io.pos()
        self._debug['perf_time']['start'] = self._io.pos()
        self.perf_time = self._io.read_s8le()
        self._debug['perf_time']['end'] = self._io.pos()
        self._debug['perf_freq']['start'] = self._io.pos()
        self.perf_freq = self._io.read_s8le()
        self._debug['perf_freq']['end'] = self._io.pos()
        self._debug['perf_time_100ns']['start'] = self._io.pos()
        self.perf_time_100ns = self._io.read_s8le()
        self._debug['perf_time_100ns']['end'] = self._io.pos()
        self._debug['system_name_length']['start'] = self._io.pos()
        self.system_name_length = self._io.read_u4le()
        self._debug['system_name_length']['end'] = self._io.pos()
        self._debug['system_name_offset']['start'] = self._io.pos()
        self.system_name_offset = self._io.read_u4le()
        self._debug['system_name_offset']['end'] = self._io.pos()
        _ = self.system_name_offset
        if not  ((self.system_name_length == 0) or (_ + self.system_name_length <= self._io.size())) :
            raise kaitaistruct.ValidationExprError(self.system_name_offset, self._io, u"/seq/14")
        self._debug['header_rest']['start'] = self._io.pos()
        self.header_rest = self._io.read_bytes(self.header_length - 88)
        self._debug['header_rest']['end'] = self._io.pos()
        self._debug['objects']['start'] = self._io.pos()
        self._debug['objects']['arr'] = []
        self.objects = []
        for i in range(self.num_object_types):
            self._debug['objects']['arr'].append({'start': self._io.pos()})
            _t_objects = Winperf.PerfObject(self._io, self, self._root, self._is_le)
            try:
                _t_objects._read()
            finally:
                self.objects.append(_t_objects)
            self._debug['objects']['arr'][i]['end'] = self._io.pos()

        self._debug['objects']['end'] = self._io.pos()
        self._debug['rest']['start'] = self._io.pos()
        self.rest = self._io.read_bytes_full()
        self._debug['rest']['end'] = self._io.pos()
        self._debug['missing']['start'] = self._io.pos()
        self.missing = self._io.read_bytes((self.total_byte_length - self._io.size() if self.total_byte_length > self._io.size() else 0))
        self._debug['missing']['end'] = self._io.pos()

    def _read_be(self):
        self._debug['signature']['start'] = self._io.pos()
        self.signature = self._io.read_bytes(8)
        self._debug['signature']['end'] = self._io.pos()
        if not  ((self.signature == b"\x50\x00\x45\x00\x52\x00\x46\x00") or (self.signature == b"\x00\x50\x00\x45\x00\x52\x00\x46")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.signature, self._io, u"/seq/0")
        self._debug['little_endian']['start'] = self._io.pos()
        self.little_endian = self._io.read_u4be()
        self._debug['little_endian']['end'] = self._io.pos()
        self._debug['version']['start'] = self._io.pos()
        self.version = self._io.read_u4be()
        self._debug['version']['end'] = self._io.pos()
        self._debug['revision']['start'] = self._io.pos()
        self.revision = self._io.read_u4be()
        self._debug['revision']['end'] = self._io.pos()
        self._debug['total_byte_length']['start'] = self._io.pos()
        self.total_byte_length = self._io.read_u4be()
        self._debug['total_byte_length']['end'] = self._io.pos()
        self._debug['header_length']['start'] = self._io.pos()
        self.header_length = self._io.read_u4be()
        self._debug['header_length']['end'] = self._io.pos()
        if not self.header_length >= 88:
            raise kaitaistruct.ValidationLessThanError(88, self.header_length, self._io, u"/seq/5")
        self._debug['num_object_types']['start'] = self._io.pos()
        self.num_object_types = self._io.read_u4be()
        self._debug['num_object_types']['end'] = self._io.pos()
        self._debug['default_object']['start'] = self._io.pos()
        self.default_object = self._io.read_s4be()
        self._debug['default_object']['end'] = self._io.pos()
        self._debug['system_time']['start'] = self._io.pos()
        self.system_time = Winperf.Systemtime(self._io, self, self._root, self._is_le)
        self.system_time._read()
        self._debug['system_time']['end'] = self._io.pos()
        self._debug['align_perf_time']['start'] = self._io.pos()
        self.align_perf_time = self._io.read_bytes(4)
        self._debug['align_perf_time']['end'] = self._io.pos()
        self._debug['perf_time']['start'] = self._io.pos()
        self.perf_time = self._io.read_s8be()
        self._debug['perf_time']['end'] = self._io.pos()
        self._debug['perf_freq']['start'] = self._io.pos()
        self.perf_freq = self._io.read_s8be()
        self._debug['perf_freq']['end'] = self._io.pos()
        self._debug['perf_time_100ns']['start'] = self._io.pos()
        self.perf_time_100ns = self._io.read_s8be()
        self._debug['perf_time_100ns']['end'] = self._io.pos()
        self._debug['system_name_length']['start'] = self._io.pos()
        self.system_name_length = self._io.read_u4be()
        self._debug['system_name_length']['end'] = self._io.pos()
        self._debug['system_name_offset']['start'] = self._io.pos()
        self.system_name_offset = self._io.read_u4be()
        self._debug['system_name_offset']['end'] = self._io.pos()
        _ = self.system_name_offset
        if not  ((self.system_name_length == 0) or (_ + self.system_name_length <= self._io.size())) :
            raise kaitaistruct.ValidationExprError(self.system_name_offset, self._io, u"/seq/14")
        self._debug['header_rest']['start'] = self._io.pos()
        self.header_rest = self._io.read_bytes(self.header_length - 88)
        self._debug['header_rest']['end'] = self._io.pos()
        self._debug['objects']['start'] = self._io.pos()
        self._debug['objects']['arr'] = []
        self.objects = []
        for i in range(self.num_object_types):
            self._debug['objects']['arr'].append({'start': self._io.pos()})
            _t_objects = Winperf.PerfObject(self._io, self, self._root, self._is_le)
            try:
                _t_objects._read()
            finally:
                self.objects.append(_t_objects)
            self._debug['objects']['arr'][i]['end'] = self._io.pos()

        self._debug['objects']['end'] = self._io.pos()
        self._debug['rest']['start'] = self._io.pos()
        self.rest = self._io.read_bytes_full()
        self._debug['rest']['end'] = self._io.pos()
        self._debug['missing']['start'] = self._io.pos()
        self.missing = self._io.read_bytes((self.total_byte_length - self._io.size() if self.total_byte_length > self._io.size() else 0))
        self._debug['missing']['end'] = self._io.pos()


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
        SEQ_FIELDS = ["byte_length", "body", "missing"]
        def __init__(self, definitions, is_last, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.CounterBlock, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.definitions = definitions
            self.is_last = is_last
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/counter_block")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['byte_length']['start'] = self._io.pos()
            self.byte_length = self._io.read_u4le()
            self._debug['byte_length']['end'] = self._io.pos()
            _ = self.byte_length
            if not  ((_ >= 4) and (_ >= len(self.definitions))) :
                raise kaitaistruct.ValidationExprError(self.byte_length, self._io, u"/types/counter_block/seq/0")
            self._debug['body']['start'] = self._io.pos()
            self._raw_body = self._io.read_bytes(self.len_body)
            _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
            self.body = Winperf.CounterValues(self.definitions, _io__raw_body, self, self._root, self._is_le)
            self.body._read()
            self._debug['body']['end'] = self._io.pos()
            self._debug['missing']['start'] = self._io.pos()
            self.missing = self._io.read_bytes(((self.byte_length - 4) - self.len_body if self.byte_length - 4 > self.len_body else 0))
            self._debug['missing']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['byte_length']['start'] = self._io.pos()
            self.byte_length = self._io.read_u4be()
            self._debug['byte_length']['end'] = self._io.pos()
            _ = self.byte_length
            if not  ((_ >= 4) and (_ >= len(self.definitions))) :
                raise kaitaistruct.ValidationExprError(self.byte_length, self._io, u"/types/counter_block/seq/0")
            self._debug['body']['start'] = self._io.pos()
            self._raw_body = self._io.read_bytes(self.len_body)
            _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
            self.body = Winperf.CounterValues(self.definitions, _io__raw_body, self, self._root, self._is_le)
            self.body._read()
            self._debug['body']['end'] = self._io.pos()
            self._debug['missing']['start'] = self._io.pos()
            self.missing = self._io.read_bytes(((self.byte_length - 4) - self.len_body if self.byte_length - 4 > self.len_body else 0))
            self._debug['missing']['end'] = self._io.pos()


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
        SEQ_FIELDS = ["byte_length", "counter_name_title_index", "counter_name_title", "counter_help_title_index", "counter_help_title", "default_scale", "detail_level", "counter_type", "counter_size", "counter_offset", "rest"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.CounterDefinition, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/counter_definition")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['byte_length']['start'] = self._io.pos()
            self.byte_length = self._io.read_u4le()
            self._debug['byte_length']['end'] = self._io.pos()
            if not self.byte_length >= 40:
                raise kaitaistruct.ValidationLessThanError(40, self.byte_length, self._io, u"/types/counter_definition/seq/0")
            self._debug['counter_name_title_index']['start'] = self._io.pos()
            self.counter_name_title_index = self._io.read_u4le()
            self._debug['counter_name_title_index']['end'] = self._io.pos()
            self._debug['counter_name_title']['start'] = self._io.pos()
            self.counter_name_title = self._io.read_u4le()
            self._debug['counter_name_title']['end'] = self._io.pos()
            self._debug['counter_help_title_index']['start'] = self._io.pos()
            self.counter_help_title_index = self._io.read_u4le()
            self._debug['counter_help_title_index']['end'] = self._io.pos()
            self._debug['counter_help_title']['start'] = self._io.pos()
            self.counter_help_title = self._io.read_u4le()
            self._debug['counter_help_title']['end'] = self._io.pos()
            self._debug['default_scale']['start'] = self._io.pos()
            self.default_scale = self._io.read_s4le()
            self._debug['default_scale']['end'] = self._io.pos()
            self._debug['detail_level']['start'] = self._io.pos()
            self.detail_level = KaitaiStream.resolve_enum(ms_pcq.MsPcq.DetailLevel, self._io.read_u4le())
            self._debug['detail_level']['end'] = self._io.pos()
            self._debug['counter_type']['start'] = self._io.pos()
            self.counter_type = KaitaiStream.resolve_enum(ms_pcq.MsPcq.CounterType, self._io.read_u4le())
            self._debug['counter_type']['end'] = self._io.pos()
            self._debug['counter_size']['start'] = self._io.pos()
            self.counter_size = self._io.read_u4le()
            self._debug['counter_size']['end'] = self._io.pos()
            self._debug['counter_offset']['start'] = self._io.pos()
            self.counter_offset = self._io.read_u4le()
            self._debug['counter_offset']['end'] = self._io.pos()
            self._debug['rest']['start'] = self._io.pos()
            self.rest = self._io.read_bytes(self.byte_length - 40)
            self._debug['rest']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['byte_length']['start'] = self._io.pos()
            self.byte_length = self._io.read_u4be()
            self._debug['byte_length']['end'] = self._io.pos()
            if not self.byte_length >= 40:
                raise kaitaistruct.ValidationLessThanError(40, self.byte_length, self._io, u"/types/counter_definition/seq/0")
            self._debug['counter_name_title_index']['start'] = self._io.pos()
            self.counter_name_title_index = self._io.read_u4be()
            self._debug['counter_name_title_index']['end'] = self._io.pos()
            self._debug['counter_name_title']['start'] = self._io.pos()
            self.counter_name_title = self._io.read_u4be()
            self._debug['counter_name_title']['end'] = self._io.pos()
            self._debug['counter_help_title_index']['start'] = self._io.pos()
            self.counter_help_title_index = self._io.read_u4be()
            self._debug['counter_help_title_index']['end'] = self._io.pos()
            self._debug['counter_help_title']['start'] = self._io.pos()
            self.counter_help_title = self._io.read_u4be()
            self._debug['counter_help_title']['end'] = self._io.pos()
            self._debug['default_scale']['start'] = self._io.pos()
            self.default_scale = self._io.read_s4be()
            self._debug['default_scale']['end'] = self._io.pos()
            self._debug['detail_level']['start'] = self._io.pos()
            self.detail_level = KaitaiStream.resolve_enum(ms_pcq.MsPcq.DetailLevel, self._io.read_u4be())
            self._debug['detail_level']['end'] = self._io.pos()
            self._debug['counter_type']['start'] = self._io.pos()
            self.counter_type = KaitaiStream.resolve_enum(ms_pcq.MsPcq.CounterType, self._io.read_u4be())
            self._debug['counter_type']['end'] = self._io.pos()
            self._debug['counter_size']['start'] = self._io.pos()
            self.counter_size = self._io.read_u4be()
            self._debug['counter_size']['end'] = self._io.pos()
            self._debug['counter_offset']['start'] = self._io.pos()
            self.counter_offset = self._io.read_u4be()
            self._debug['counter_offset']['end'] = self._io.pos()
            self._debug['rest']['start'] = self._io.pos()
            self.rest = self._io.read_bytes(self.byte_length - 40)
            self._debug['rest']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class CounterValue(KaitaiStruct):
        """A value, where its definition says it is. It consumes nothing; values may share bytes.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_COUNTER_DEFINITION
        """
        SEQ_FIELDS = []
        def __init__(self, definition, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.CounterValue, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.definition = definition
            self._debug = collections.defaultdict(dict)

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
                    self._debug['_m_value']['start'] = self._io.pos()
                    self._m_value = self._io.read_bytes(self.definition.counter_size)
                    self._debug['_m_value']['end'] = self._io.pos()
                else:
                    self._debug['_m_value']['start'] = self._io.pos()
                    self._m_value = self._io.read_bytes(self.definition.counter_size)
                    self._debug['_m_value']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_value', None)


    class CounterValues(KaitaiStruct):
        """The values behind the length of a counter block.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_COUNTER_BLOCK
        """
        SEQ_FIELDS = ["values", "raw"]
        def __init__(self, definitions, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.CounterValues, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.definitions = definitions
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/counter_values")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['values']['start'] = self._io.pos()
            self._debug['values']['arr'] = []
            self.values = []
            for i in range(len(self.definitions)):
                self._debug['values']['arr'].append({'start': self._io.pos()})
                _t_values = Winperf.CounterValue(self.definitions[i], self._io, self, self._root, self._is_le)
                try:
                    _t_values._read()
                finally:
                    self.values.append(_t_values)
                self._debug['values']['arr'][i]['end'] = self._io.pos()

            self._debug['values']['end'] = self._io.pos()
            self._debug['raw']['start'] = self._io.pos()
            self.raw = self._io.read_bytes_full()
            self._debug['raw']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['values']['start'] = self._io.pos()
            self._debug['values']['arr'] = []
            self.values = []
            for i in range(len(self.definitions)):
                self._debug['values']['arr'].append({'start': self._io.pos()})
                _t_values = Winperf.CounterValue(self.definitions[i], self._io, self, self._root, self._is_le)
                try:
                    _t_values._read()
                finally:
                    self.values.append(_t_values)
                self._debug['values']['arr'][i]['end'] = self._io.pos()

            self._debug['values']['end'] = self._io.pos()
            self._debug['raw']['start'] = self._io.pos()
            self.raw = self._io.read_bytes_full()
            self._debug['raw']['end'] = self._io.pos()


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
        SEQ_FIELDS = ["byte_length", "definition", "counter_block"]
        def __init__(self, definitions, is_last, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.Instance, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.definitions = definitions
            self.is_last = is_last
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/instance")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['byte_length']['start'] = self._io.pos()
            self.byte_length = self._io.read_u4le()
            self._debug['byte_length']['end'] = self._io.pos()
            if not self.byte_length >= 24:
                raise kaitaistruct.ValidationLessThanError(24, self.byte_length, self._io, u"/types/instance/seq/0")
            self._debug['definition']['start'] = self._io.pos()
            self._raw_definition = self._io.read_bytes(self.byte_length - 4)
            _io__raw_definition = KaitaiStream(BytesIO(self._raw_definition))
            self.definition = Winperf.InstanceBody(_io__raw_definition, self, self._root, self._is_le)
            self.definition._read()
            self._debug['definition']['end'] = self._io.pos()
            self._debug['counter_block']['start'] = self._io.pos()
            self.counter_block = Winperf.CounterBlock(self.definitions, self.is_last, self._io, self, self._root, self._is_le)
            self.counter_block._read()
            self._debug['counter_block']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['byte_length']['start'] = self._io.pos()
            self.byte_length = self._io.read_u4be()
            self._debug['byte_length']['end'] = self._io.pos()
            if not self.byte_length >= 24:
                raise kaitaistruct.ValidationLessThanError(24, self.byte_length, self._io, u"/types/instance/seq/0")
            self._debug['definition']['start'] = self._io.pos()
            self._raw_definition = self._io.read_bytes(self.byte_length - 4)
            _io__raw_definition = KaitaiStream(BytesIO(self._raw_definition))
            self.definition = Winperf.InstanceBody(_io__raw_definition, self, self._root, self._is_le)
            self.definition._read()
            self._debug['definition']['end'] = self._io.pos()
            self._debug['counter_block']['start'] = self._io.pos()
            self.counter_block = Winperf.CounterBlock(self.definitions, self.is_last, self._io, self, self._root, self._is_le)
            self.counter_block._read()
            self._debug['counter_block']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.definition._fetch_instances()
            self.counter_block._fetch_instances()


    class InstanceBody(KaitaiStruct):
        """An instance behind its length.
        
        .. seealso::
           winperf.h (Windows SDK 10.0), PERF_INSTANCE_DEFINITION
        """
        SEQ_FIELDS = ["parent_object_title_index", "parent_object_instance", "unique_id", "name_offset", "name_length", "rest"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.InstanceBody, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/instance_body")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['parent_object_title_index']['start'] = self._io.pos()
            self.parent_object_title_index = self._io.read_u4le()
            self._debug['parent_object_title_index']['end'] = self._io.pos()
            self._debug['parent_object_instance']['start'] = self._io.pos()
            self.parent_object_instance = self._io.read_u4le()
            self._debug['parent_object_instance']['end'] = self._io.pos()
            self._debug['unique_id']['start'] = self._io.pos()
            self.unique_id = self._io.read_s4le()
            self._debug['unique_id']['end'] = self._io.pos()
            self._debug['name_offset']['start'] = self._io.pos()
            self.name_offset = self._io.read_u4le()
            self._debug['name_offset']['end'] = self._io.pos()
            self._debug['name_length']['start'] = self._io.pos()
            self.name_length = self._io.read_u4le()
            self._debug['name_length']['end'] = self._io.pos()
            self._debug['rest']['start'] = self._io.pos()
            self.rest = self._io.read_bytes_full()
            self._debug['rest']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['parent_object_title_index']['start'] = self._io.pos()
            self.parent_object_title_index = self._io.read_u4be()
            self._debug['parent_object_title_index']['end'] = self._io.pos()
            self._debug['parent_object_instance']['start'] = self._io.pos()
            self.parent_object_instance = self._io.read_u4be()
            self._debug['parent_object_instance']['end'] = self._io.pos()
            self._debug['unique_id']['start'] = self._io.pos()
            self.unique_id = self._io.read_s4be()
            self._debug['unique_id']['end'] = self._io.pos()
            self._debug['name_offset']['start'] = self._io.pos()
            self.name_offset = self._io.read_u4be()
            self._debug['name_offset']['end'] = self._io.pos()
            self._debug['name_length']['start'] = self._io.pos()
            self.name_length = self._io.read_u4be()
            self._debug['name_length']['end'] = self._io.pos()
            self._debug['rest']['start'] = self._io.pos()
            self.rest = self._io.read_bytes_full()
            self._debug['rest']['end'] = self._io.pos()


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
                    self._debug['_m_name']['start'] = self._io.pos()
                    self._m_name = self._io.read_bytes(self.name_length)
                    self._debug['_m_name']['end'] = self._io.pos()
                else:
                    self._debug['_m_name']['start'] = self._io.pos()
                    self._m_name = self._io.read_bytes(self.name_length)
                    self._debug['_m_name']['end'] = self._io.pos()
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
                    self._debug['_m_name_be']['start'] = self._io.pos()
                    self._m_name_be = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.name_length), b"\x00\x00", False)).decode(u"UTF-16BE")
                    self._debug['_m_name_be']['end'] = self._io.pos()
                else:
                    self._debug['_m_name_be']['start'] = self._io.pos()
                    self._m_name_be = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.name_length), b"\x00\x00", False)).decode(u"UTF-16BE")
                    self._debug['_m_name_be']['end'] = self._io.pos()
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
                    self._debug['_m_name_le']['start'] = self._io.pos()
                    self._m_name_le = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.name_length), b"\x00\x00", False)).decode(u"UTF-16LE")
                    self._debug['_m_name_le']['end'] = self._io.pos()
                else:
                    self._debug['_m_name_le']['start'] = self._io.pos()
                    self._m_name_le = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.name_length), b"\x00\x00", False)).decode(u"UTF-16LE")
                    self._debug['_m_name_le']['end'] = self._io.pos()
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
        SEQ_FIELDS = ["definition_length", "header_length", "object_name_title_index", "object_name_title", "object_help_title_index", "object_help_title", "detail_level", "num_counters", "default_counter", "num_instances", "code_page", "perf_time", "perf_freq", "header_rest", "counters", "definition_rest", "counter_block", "instances", "rest"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.ObjectBody, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/object_body")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['definition_length']['start'] = self._io.pos()
            self.definition_length = self._io.read_u4le()
            self._debug['definition_length']['end'] = self._io.pos()
            if not self.definition_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.definition_length, self._io, u"/types/object_body/seq/0")
            self._debug['header_length']['start'] = self._io.pos()
            self.header_length = self._io.read_u4le()
            self._debug['header_length']['end'] = self._io.pos()
            if not self.header_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.header_length, self._io, u"/types/object_body/seq/1")
            self._debug['object_name_title_index']['start'] = self._io.pos()
            self.object_name_title_index = self._io.read_u4le()
            self._debug['object_name_title_index']['end'] = self._io.pos()
            self._debug['object_name_title']['start'] = self._io.pos()
            self.object_name_title = self._io.read_u4le()
            self._debug['object_name_title']['end'] = self._io.pos()
            self._debug['object_help_title_index']['start'] = self._io.pos()
            self.object_help_title_index = self._io.read_u4le()
            self._debug['object_help_title_index']['end'] = self._io.pos()
            self._debug['object_help_title']['start'] = self._io.pos()
            self.object_help_title = self._io.read_u4le()
            self._debug['object_help_title']['end'] = self._io.pos()
            self._debug['detail_level']['start'] = self._io.pos()
            self.detail_level = KaitaiStream.resolve_enum(ms_pcq.MsPcq.DetailLevel, self._io.read_u4le())
            self._debug['detail_level']['end'] = self._io.pos()
            self._debug['num_counters']['start'] = self._io.pos()
            self.num_counters = self._io.read_u4le()
            self._debug['num_counters']['end'] = self._io.pos()
            self._debug['default_counter']['start'] = self._io.pos()
            self.default_counter = self._io.read_s4le()
            self._debug['default_counter']['end'] = self._io.pos()
            self._debug['num_instances']['start'] = self._io.pos()
            self.num_instances = self._io.read_s4le()
            self._debug['num_instances']['end'] = self._io.pos()
            if not self.num_instances >= -3:
                raise kaitaistruct.ValidationLessThanError(-3, self.num_instances, self._io, u"/types/object_body/seq/9")
            self._debug['code_page']['start'] = self._io.pos()
            self.code_page = self._io.read_u4le()
            self._debug['code_page']['end'] = self._io.pos()
            self._debug['perf_time']['start'] = self._io.pos()
            self.perf_time = self._io.read_s8le()
            self._debug['perf_time']['end'] = self._io.pos()
            self._debug['perf_freq']['start'] = self._io.pos()
            self.perf_freq = self._io.read_s8le()
            self._debug['perf_freq']['end'] = self._io.pos()
            self._debug['header_rest']['start'] = self._io.pos()
            self.header_rest = self._io.read_bytes(self.header_length - 64)
            self._debug['header_rest']['end'] = self._io.pos()
            self._debug['counters']['start'] = self._io.pos()
            self._debug['counters']['arr'] = []
            self.counters = []
            for i in range(self.num_counters):
                self._debug['counters']['arr'].append({'start': self._io.pos()})
                _t_counters = Winperf.CounterDefinition(self._io, self, self._root, self._is_le)
                try:
                    _t_counters._read()
                finally:
                    self.counters.append(_t_counters)
                self._debug['counters']['arr'][i]['end'] = self._io.pos()

            self._debug['counters']['end'] = self._io.pos()
            self._debug['definition_rest']['start'] = self._io.pos()
            self.definition_rest = self._io.read_bytes((self.definition_length - 4) - self._io.pos())
            self._debug['definition_rest']['end'] = self._io.pos()
            if self.num_instances == -1:
                pass
                self._debug['counter_block']['start'] = self._io.pos()
                self.counter_block = Winperf.CounterBlock(self.counters, True, self._io, self, self._root, self._is_le)
                self.counter_block._read()
                self._debug['counter_block']['end'] = self._io.pos()

            if self.num_instances >= 0:
                pass
                self._debug['instances']['start'] = self._io.pos()
                self._debug['instances']['arr'] = []
                self.instances = []
                for i in range(self.num_instances):
                    self._debug['instances']['arr'].append({'start': self._io.pos()})
                    _t_instances = Winperf.Instance(self.counters, i == self.num_instances - 1, self._io, self, self._root, self._is_le)
                    try:
                        _t_instances._read()
                    finally:
                        self.instances.append(_t_instances)
                    self._debug['instances']['arr'][i]['end'] = self._io.pos()

                self._debug['instances']['end'] = self._io.pos()

            self._debug['rest']['start'] = self._io.pos()
            self.rest = self._io.read_bytes_full()
            self._debug['rest']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['definition_length']['start'] = self._io.pos()
            self.definition_length = self._io.read_u4be()
            self._debug['definition_length']['end'] = self._io.pos()
            if not self.definition_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.definition_length, self._io, u"/types/object_body/seq/0")
            self._debug['header_length']['start'] = self._io.pos()
            self.header_length = self._io.read_u4be()
            self._debug['header_length']['end'] = self._io.pos()
            if not self.header_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.header_length, self._io, u"/types/object_body/seq/1")
            self._debug['object_name_title_index']['start'] = self._io.pos()
            self.object_name_title_index = self._io.read_u4be()
            self._debug['object_name_title_index']['end'] = self._io.pos()
            self._debug['object_name_title']['start'] = self._io.pos()
            self.object_name_title = self._io.read_u4be()
            self._debug['object_name_title']['end'] = self._io.pos()
            self._debug['object_help_title_index']['start'] = self._io.pos()
            self.object_help_title_index = self._io.read_u4be()
            self._debug['object_help_title_index']['end'] = self._io.pos()
            self._debug['object_help_title']['start'] = self._io.pos()
            self.object_help_title = self._io.read_u4be()
            self._debug['object_help_title']['end'] = self._io.pos()
            self._debug['detail_level']['start'] = self._io.pos()
            self.detail_level = KaitaiStream.resolve_enum(ms_pcq.MsPcq.DetailLevel, self._io.read_u4be())
            self._debug['detail_level']['end'] = self._io.pos()
            self._debug['num_counters']['start'] = self._io.pos()
            self.num_counters = self._io.read_u4be()
            self._debug['num_counters']['end'] = self._io.pos()
            self._debug['default_counter']['start'] = self._io.pos()
            self.default_counter = self._io.read_s4be()
            self._debug['default_counter']['end'] = self._io.pos()
            self._debug['num_instances']['start'] = self._io.pos()
            self.num_instances = self._io.read_s4be()
            self._debug['num_instances']['end'] = self._io.pos()
            if not self.num_instances >= -3:
                raise kaitaistruct.ValidationLessThanError(-3, self.num_instances, self._io, u"/types/object_body/seq/9")
            self._debug['code_page']['start'] = self._io.pos()
            self.code_page = self._io.read_u4be()
            self._debug['code_page']['end'] = self._io.pos()
            self._debug['perf_time']['start'] = self._io.pos()
            self.perf_time = self._io.read_s8be()
            self._debug['perf_time']['end'] = self._io.pos()
            self._debug['perf_freq']['start'] = self._io.pos()
            self.perf_freq = self._io.read_s8be()
            self._debug['perf_freq']['end'] = self._io.pos()
            self._debug['header_rest']['start'] = self._io.pos()
            self.header_rest = self._io.read_bytes(self.header_length - 64)
            self._debug['header_rest']['end'] = self._io.pos()
            self._debug['counters']['start'] = self._io.pos()
            self._debug['counters']['arr'] = []
            self.counters = []
            for i in range(self.num_counters):
                self._debug['counters']['arr'].append({'start': self._io.pos()})
                _t_counters = Winperf.CounterDefinition(self._io, self, self._root, self._is_le)
                try:
                    _t_counters._read()
                finally:
                    self.counters.append(_t_counters)
                self._debug['counters']['arr'][i]['end'] = self._io.pos()

            self._debug['counters']['end'] = self._io.pos()
            self._debug['definition_rest']['start'] = self._io.pos()
            self.definition_rest = self._io.read_bytes((self.definition_length - 4) - self._io.pos())
            self._debug['definition_rest']['end'] = self._io.pos()
            if self.num_instances == -1:
                pass
                self._debug['counter_block']['start'] = self._io.pos()
                self.counter_block = Winperf.CounterBlock(self.counters, True, self._io, self, self._root, self._is_le)
                self.counter_block._read()
                self._debug['counter_block']['end'] = self._io.pos()

            if self.num_instances >= 0:
                pass
                self._debug['instances']['start'] = self._io.pos()
                self._debug['instances']['arr'] = []
                self.instances = []
                for i in range(self.num_instances):
                    self._debug['instances']['arr'].append({'start': self._io.pos()})
                    _t_instances = Winperf.Instance(self.counters, i == self.num_instances - 1, self._io, self, self._root, self._is_le)
                    try:
                        _t_instances._read()
                    finally:
                        self.instances.append(_t_instances)
                    self._debug['instances']['arr'][i]['end'] = self._io.pos()

                self._debug['instances']['end'] = self._io.pos()

            self._debug['rest']['start'] = self._io.pos()
            self.rest = self._io.read_bytes_full()
            self._debug['rest']['end'] = self._io.pos()


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
        SEQ_FIELDS = ["total_byte_length", "raw_body", "missing"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.PerfObject, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/perf_object")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['total_byte_length']['start'] = self._io.pos()
            self.total_byte_length = self._io.read_u4le()
            self._debug['total_byte_length']['end'] = self._io.pos()
            if not self.total_byte_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.total_byte_length, self._io, u"/types/perf_object/seq/0")
            self._debug['raw_body']['start'] = self._io.pos()
            self.raw_body = self._io.read_bytes(self.len_body)
            self._debug['raw_body']['end'] = self._io.pos()
            self._debug['missing']['start'] = self._io.pos()
            self.missing = self._io.read_bytes((self.total_byte_length - 4) - self.len_body)
            self._debug['missing']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['total_byte_length']['start'] = self._io.pos()
            self.total_byte_length = self._io.read_u4be()
            self._debug['total_byte_length']['end'] = self._io.pos()
            if not self.total_byte_length >= 64:
                raise kaitaistruct.ValidationLessThanError(64, self.total_byte_length, self._io, u"/types/perf_object/seq/0")
            self._debug['raw_body']['start'] = self._io.pos()
            self.raw_body = self._io.read_bytes(self.len_body)
            self._debug['raw_body']['end'] = self._io.pos()
            self._debug['missing']['start'] = self._io.pos()
            self.missing = self._io.read_bytes((self.total_byte_length - 4) - self.len_body)
            self._debug['missing']['end'] = self._io.pos()


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
                self._debug['_m_body']['start'] = self._io.pos()
                self._raw__m_body = self._io.read_bytes(self.len_body)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = Winperf.ObjectBody(_io__raw__m_body, self, self._root, self._is_le)
                self._m_body._read()
                self._debug['_m_body']['end'] = self._io.pos()
            else:
                self._debug['_m_body']['start'] = self._io.pos()
                self._raw__m_body = self._io.read_bytes(self.len_body)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = Winperf.ObjectBody(_io__raw__m_body, self, self._root, self._is_le)
                self._m_body._read()
                self._debug['_m_body']['end'] = self._io.pos()
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
        SEQ_FIELDS = ["year", "month", "day_of_week", "day", "hour", "minute", "second", "milliseconds"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(Winperf.Systemtime, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/systemtime")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['year']['start'] = self._io.pos()
            self.year = self._io.read_u2le()
            self._debug['year']['end'] = self._io.pos()
            self._debug['month']['start'] = self._io.pos()
            self.month = self._io.read_u2le()
            self._debug['month']['end'] = self._io.pos()
            self._debug['day_of_week']['start'] = self._io.pos()
            self.day_of_week = KaitaiStream.resolve_enum(Winperf.Systemtime.Weekday, self._io.read_u2le())
            self._debug['day_of_week']['end'] = self._io.pos()
            self._debug['day']['start'] = self._io.pos()
            self.day = self._io.read_u2le()
            self._debug['day']['end'] = self._io.pos()
            self._debug['hour']['start'] = self._io.pos()
            self.hour = self._io.read_u2le()
            self._debug['hour']['end'] = self._io.pos()
            self._debug['minute']['start'] = self._io.pos()
            self.minute = self._io.read_u2le()
            self._debug['minute']['end'] = self._io.pos()
            self._debug['second']['start'] = self._io.pos()
            self.second = self._io.read_u2le()
            self._debug['second']['end'] = self._io.pos()
            self._debug['milliseconds']['start'] = self._io.pos()
            self.milliseconds = self._io.read_u2le()
            self._debug['milliseconds']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['year']['start'] = self._io.pos()
            self.year = self._io.read_u2be()
            self._debug['year']['end'] = self._io.pos()
            self._debug['month']['start'] = self._io.pos()
            self.month = self._io.read_u2be()
            self._debug['month']['end'] = self._io.pos()
            self._debug['day_of_week']['start'] = self._io.pos()
            self.day_of_week = KaitaiStream.resolve_enum(Winperf.Systemtime.Weekday, self._io.read_u2be())
            self._debug['day_of_week']['end'] = self._io.pos()
            self._debug['day']['start'] = self._io.pos()
            self.day = self._io.read_u2be()
            self._debug['day']['end'] = self._io.pos()
            self._debug['hour']['start'] = self._io.pos()
            self.hour = self._io.read_u2be()
            self._debug['hour']['end'] = self._io.pos()
            self._debug['minute']['start'] = self._io.pos()
            self.minute = self._io.read_u2be()
            self._debug['minute']['end'] = self._io.pos()
            self._debug['second']['start'] = self._io.pos()
            self.second = self._io.read_u2be()
            self._debug['second']['end'] = self._io.pos()
            self._debug['milliseconds']['start'] = self._io.pos()
            self.milliseconds = self._io.read_u2be()
            self._debug['milliseconds']['end'] = self._io.pos()


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
                self._debug['_m_system_name']['start'] = self._io.pos()
                self._m_system_name = self._io.read_bytes(self.system_name_length)
                self._debug['_m_system_name']['end'] = self._io.pos()
            else:
                self._debug['_m_system_name']['start'] = self._io.pos()
                self._m_system_name = self._io.read_bytes(self.system_name_length)
                self._debug['_m_system_name']['end'] = self._io.pos()
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
                self._debug['_m_system_name_be']['start'] = self._io.pos()
                self._m_system_name_be = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.system_name_length), b"\x00\x00", False)).decode(u"UTF-16BE")
                self._debug['_m_system_name_be']['end'] = self._io.pos()
            else:
                self._debug['_m_system_name_be']['start'] = self._io.pos()
                self._m_system_name_be = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.system_name_length), b"\x00\x00", False)).decode(u"UTF-16BE")
                self._debug['_m_system_name_be']['end'] = self._io.pos()
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
                self._debug['_m_system_name_le']['start'] = self._io.pos()
                self._m_system_name_le = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.system_name_length), b"\x00\x00", False)).decode(u"UTF-16LE")
                self._debug['_m_system_name_le']['end'] = self._io.pos()
            else:
                self._debug['_m_system_name_le']['start'] = self._io.pos()
                self._m_system_name_le = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.system_name_length), b"\x00\x00", False)).decode(u"UTF-16LE")
                self._debug['_m_system_name_le']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_system_name_le', None)

    @property
    def system_name_text(self):
        if hasattr(self, '_m_system_name_text'):
            return self._m_system_name_text

        self._m_system_name_text = (self.system_name_be if self.big_endian else self.system_name_le)
        return getattr(self, '_m_system_name_text', None)


