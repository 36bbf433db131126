# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcq(KaitaiStruct):
    """Names of instances are bytes here, in the code that `-encoding` states: any 16-bit unit may occur in them, unpaired
    surrogates included, which the strict decoders of many languages refuse. Where they do not, `name_text` is the text.
    Structures of the Performance Counter Query Protocol to import, and its value tables. Counter types and detail levels
    are those of winperf.h, which the older performance data uses as well.
    
    .. seealso::
       MS-PCQ revision 13.0 section 2.2.4
    """

    class AggregateFunc(IntEnum):
        undefined = 0
        total = 1
        average = 2
        minimum = 3
        maximum = 4

    class Attribute(IntEnum):
        by_reference = 1
        not_displayable = 2
        no_group_separator = 4
        as_real = 8
        as_hex = 16

    class BlockType(IntEnum):
        error_return = 0
        single_counter = 1
        multi_counters = 2
        multi_instances = 4
        counterset = 6

    class CounterType(IntEnum):
        counter_rawcount_hex = 0
        counter_large_rawcount_hex = 256
        counter_text = 2816
        counter_rawcount = 65536
        counter_large_rawcount = 65792
        double_raw = 73728
        counter_delta = 4195328
        counter_large_delta = 4195584
        sample_counter = 4260864
        counter_queuelen_type = 4523008
        counter_large_queuelen_type = 4523264
        counter_100ns_queuelen_type = 5571840
        counter_obj_time_queuelen_type = 6620416
        counter_counter = 272696320
        counter_bulk_count = 272696576
        raw_fraction = 537003008
        large_raw_fraction = 537003264
        counter_timer = 541132032
        precision_system_timer = 541525248
        perf_100nsec_timer = 542180608
        precision_100ns_timer = 542573824
        obj_time_timer = 543229184
        precision_object_timer = 543622400
        sample_fraction = 549585920
        counter_timer_inv = 557909248
        perf_100nsec_timer_inv = 558957824
        counter_multi_timer = 574686464
        perf_100nsec_multi_timer = 575735040
        counter_multi_timer_inv = 591463680
        perf_100nsec_multi_timer_inv = 592512256
        average_timer = 805438464
        elapsed_time = 807666944
        counter_nodata = 1073742336
        average_bulk = 1073874176
        sample_base = 1073939457
        average_base = 1073939458
        raw_base = 1073939459
        large_raw_base = 1073939712
        counter_multi_base = 1107494144
        counter_histogram_type = 2147483648

    class DetailLevel(IntEnum):
        novice = 100
        advanced = 200
        expert = 300
        wizard = 400

    class InstanceType(IntEnum):
        single = 0
        multiple = 2
        global_aggregate = 4
        multiple_aggregate = 6
        global_aggregate_history = 12
        instance_aggregate = 22

    class RequestCode(IntEnum):
        counterset_struct = 1
        counter_struct = 2
        counterset_name_string = 3
        counterset_help_string = 4
        counter_name_strings = 5
        counter_help_strings = 6
        provider_name = 7
        provider_guid = 8
        counterset_english_name = 9
        counter_english_names = 10
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(MsPcq, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass

    class CounterRegInfo(KaitaiStruct):
        """What is registered about one counter.
        
        .. seealso::
           MS-PCQ revision 13.0 section 2.2.4.2
        """
        SEQ_FIELDS = ["counter_id", "counter_type", "attributes", "detail_level", "default_scale", "base_counter_id", "perf_time_id", "perf_freq_id", "multi_id", "aggregate_func", "reserved"]
        def __init__(self, _io, _parent=None, _root=None):
            super(MsPcq.CounterRegInfo, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['counter_id']['start'] = self._io.pos()
            self.counter_id = self._io.read_u4le()
            self._debug['counter_id']['end'] = self._io.pos()
            self._debug['counter_type']['start'] = self._io.pos()
            self.counter_type = KaitaiStream.resolve_enum(MsPcq.CounterType, self._io.read_u4le())
            self._debug['counter_type']['end'] = self._io.pos()
            self._debug['attributes']['start'] = self._io.pos()
            self.attributes = self._io.read_u8le()
            self._debug['attributes']['end'] = self._io.pos()
            self._debug['detail_level']['start'] = self._io.pos()
            self.detail_level = KaitaiStream.resolve_enum(MsPcq.DetailLevel, self._io.read_u4le())
            self._debug['detail_level']['end'] = self._io.pos()
            self._debug['default_scale']['start'] = self._io.pos()
            self.default_scale = self._io.read_s4le()
            self._debug['default_scale']['end'] = self._io.pos()
            self._debug['base_counter_id']['start'] = self._io.pos()
            self.base_counter_id = self._io.read_u4le()
            self._debug['base_counter_id']['end'] = self._io.pos()
            self._debug['perf_time_id']['start'] = self._io.pos()
            self.perf_time_id = self._io.read_u4le()
            self._debug['perf_time_id']['end'] = self._io.pos()
            self._debug['perf_freq_id']['start'] = self._io.pos()
            self.perf_freq_id = self._io.read_u4le()
            self._debug['perf_freq_id']['end'] = self._io.pos()
            self._debug['multi_id']['start'] = self._io.pos()
            self.multi_id = self._io.read_u4le()
            self._debug['multi_id']['end'] = self._io.pos()
            self._debug['aggregate_func']['start'] = self._io.pos()
            self.aggregate_func = KaitaiStream.resolve_enum(MsPcq.AggregateFunc, self._io.read_u4le())
            self._debug['aggregate_func']['end'] = self._io.pos()
            self._debug['reserved']['start'] = self._io.pos()
            self.reserved = self._io.read_u4le()
            self._debug['reserved']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class InstanceHeader(KaitaiStruct):
        """An instance of a counterset. `size` counts name and padding (3.1.4.1.3 makes it a multiple of 8).
        
        .. seealso::
           MS-PCQ revision 13.0 section 2.2.4.5
        """
        SEQ_FIELDS = ["size", "instance_id", "name"]
        def __init__(self, _io, _parent=None, _root=None):
            super(MsPcq.InstanceHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['size']['start'] = self._io.pos()
            self.size = self._io.read_u4le()
            self._debug['size']['end'] = self._io.pos()
            if not self.size >= 8:
                raise kaitaistruct.ValidationLessThanError(8, self.size, self._io, u"/types/instance_header/seq/0")
            self._debug['instance_id']['start'] = self._io.pos()
            self.instance_id = self._io.read_u4le()
            self._debug['instance_id']['end'] = self._io.pos()
            if self.ofs_name >= 0:
                pass
                self._debug['name']['start'] = self._io.pos()
                self.name = self._io.read_bytes(self.size - 8)
                self._debug['name']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            if self.ofs_name >= 0:
                pass

            _ = self.name_text
            if hasattr(self, '_m_name_text'):
                pass


        @property
        def name_text(self):
            if hasattr(self, '_m_name_text'):
                return self._m_name_text

            _pos = self._io.pos()
            self._io.seek(self.ofs_name)
            self._debug['_m_name_text']['start'] = self._io.pos()
            self._m_name_text = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.size - 8), b"\x00\x00", False)).decode(u"UTF-16LE")
            self._debug['_m_name_text']['end'] = self._io.pos()
            self._io.seek(_pos)
            return getattr(self, '_m_name_text', None)

        @property
        def ofs_name(self):
            if hasattr(self, '_m_ofs_name'):
                return self._m_ofs_name

            self._m_ofs_name = self._io.pos()
            return getattr(self, '_m_ofs_name', None)



