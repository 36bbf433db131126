# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_pcq
import ms_dtyp


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqPerfData(KaitaiStruct):
    """What PerflibV2QueryCounterData returns. Everything is advanced over by its own size field. What MS-PCQ leaves open is
    whether an odd number of counter ids is followed by 4 bytes of padding that no size counts; the reader finds out which
    reading uses a block up and passes it as `len_id_paddings`.
    
    .. seealso::
       MS-PCQ revision 13.0 sections 2.2.4.7 and 3.1.4.1.6
    """
    def __init__(self, len_id_paddings, _io, _parent=None, _root=None):
        super(MsPcqPerfData, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.len_id_paddings = len_id_paddings
        self._read()

    def _read(self):
        self.total_size = self._io.read_u4le()
        self.num_blocks = self._io.read_u4le()
        self.perf_time_stamp = self._io.read_u8le()
        self.perf_time_100ns = self._io.read_u8le()
        self.perf_freq = self._io.read_u8le()
        self.system_time = ms_dtyp.MsDtyp.Systemtime(self._io)
        self.blocks = []
        for i in range(self.num_blocks):
            self.blocks.append(MsPcqPerfData.Block((self.len_id_paddings[i] if i < len(self.len_id_paddings) else 0), self._io, self, self._root))



    def _fetch_instances(self):
        pass
        self.system_time._fetch_instances()
        for i in range(len(self.blocks)):
            pass
            self.blocks[i]._fetch_instances()


    class Block(KaitaiStruct):
        """One answer of the query. Of a block that was cut off, what is there is still read: `body` ends with the data, and
        `missing` (empty in a whole block) is what cannot be read.
        
        .. seealso::
           MS-PCQ revision 13.0 section 2.2.4.8
        """
        def __init__(self, len_id_padding, _io, _parent=None, _root=None):
            super(MsPcqPerfData.Block, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.len_id_padding = len_id_padding
            self._read()

        def _read(self):
            self.status = self._io.read_u4le()
            self.block_type = KaitaiStream.resolve_enum(ms_pcq.MsPcq.BlockType, self._io.read_u4le())
            if not isinstance(self.block_type, ms_pcq.MsPcq.BlockType):
                raise kaitaistruct.ValidationNotInEnumError(self.block_type, self._io, u"/types/block/seq/1")
            self.size = self._io.read_u4le()
            if not self.size >= 16:
                raise kaitaistruct.ValidationLessThanError(16, self.size, self._io, u"/types/block/seq/2")
            self.reserved = self._io.read_u4le()
            _on = self.block_type
            if _on == ms_pcq.MsPcq.BlockType.counterset:
                pass
                self._raw_body = self._io.read_bytes(self.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = MsPcqPerfData.Counterset(self.len_id_padding, _io__raw_body, self, self._root)
            elif _on == ms_pcq.MsPcq.BlockType.error_return:
                pass
                self._raw_body = self._io.read_bytes(self.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = MsPcqPerfData.Nothing(_io__raw_body, self, self._root)
            elif _on == ms_pcq.MsPcq.BlockType.multi_counters:
                pass
                self._raw_body = self._io.read_bytes(self.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = MsPcqPerfData.MultiCounters(self.len_id_padding, _io__raw_body, self, self._root)
            elif _on == ms_pcq.MsPcq.BlockType.multi_instances:
                pass
                self._raw_body = self._io.read_bytes(self.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = MsPcqPerfData.MultiInstances(_io__raw_body, self, self._root)
            elif _on == ms_pcq.MsPcq.BlockType.single_counter:
                pass
                self._raw_body = self._io.read_bytes(self.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = MsPcqPerfData.SingleCounter(_io__raw_body, self, self._root)
            else:
                pass
                self.body = self._io.read_bytes(self.len_body)
            self.missing = self._io.read_bytes((self.size - 16) - self.len_body)


        def _fetch_instances(self):
            pass
            _on = self.block_type
            if _on == ms_pcq.MsPcq.BlockType.counterset:
                pass
                self.body._fetch_instances()
            elif _on == ms_pcq.MsPcq.BlockType.error_return:
                pass
                self.body._fetch_instances()
            elif _on == ms_pcq.MsPcq.BlockType.multi_counters:
                pass
                self.body._fetch_instances()
            elif _on == ms_pcq.MsPcq.BlockType.multi_instances:
                pass
                self.body._fetch_instances()
            elif _on == ms_pcq.MsPcq.BlockType.single_counter:
                pass
                self.body._fetch_instances()
            else:
                pass

        @property
        def len_body(self):
            if hasattr(self, '_m_len_body'):
                return self._m_len_body

            self._m_len_body = (self.size - 16 if self.size - 16 < self._io.size() - self._io.pos() else self._io.size() - self._io.pos())
            return getattr(self, '_m_len_body', None)


    class CounterData(KaitaiStruct):
        """A value. Of 4 or 8 bytes, it is a little-endian unsigned integer; else it is text.
        
        .. seealso::
           MS-PCQ revision 13.0 section 2.2.4.9
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(MsPcqPerfData.CounterData, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.data_size = self._io.read_u4le()
            self.size = self._io.read_u4le()
            if not self.size >= 8 + self.data_size:
                raise kaitaistruct.ValidationLessThanError(8 + self.data_size, self.size, self._io, u"/types/counter_data/seq/1")
            self.value = self._io.read_bytes(self.data_size)
            self.padding = self._io.read_bytes((self.size - 8) - self.data_size)


        def _fetch_instances(self):
            pass


    class CounterIds(KaitaiStruct):
        """The counters whose values follow, in their order.
        
        .. seealso::
           MS-PCQ revision 13.0 section 2.2.4.11
        """
        def __init__(self, len_uncounted, _io, _parent=None, _root=None):
            super(MsPcqPerfData.CounterIds, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.len_uncounted = len_uncounted
            self._read()

        def _read(self):
            self.size = self._io.read_u4le()
            if not self.size >= 8:
                raise kaitaistruct.ValidationLessThanError(8, self.size, self._io, u"/types/counter_ids/seq/0")
            self.num_counters = self._io.read_u4le()
            if not self.num_counters <= (self.size - 8) // 4:
                raise kaitaistruct.ValidationGreaterThanError((self.size - 8) // 4, self.num_counters, self._io, u"/types/counter_ids/seq/1")
            self.counter_ids = []
            for i in range(self.num_counters):
                self.counter_ids.append(self._io.read_u4le())

            self.padding = self._io.read_bytes((self.size - 8) - 4 * self.num_counters)
            self.uncounted = self._io.read_bytes(self.len_uncounted)


        def _fetch_instances(self):
            pass
            for i in range(len(self.counter_ids)):
                pass



    class Counterset(KaitaiStruct):
        """Several counters of several instances.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.6, figure 9
        """
        def __init__(self, len_id_padding, _io, _parent=None, _root=None):
            super(MsPcqPerfData.Counterset, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.len_id_padding = len_id_padding
            self._read()

        def _read(self):
            self.counters = MsPcqPerfData.CounterIds(self.len_id_padding, self._io, self, self._root)
            self.instances = MsPcqPerfData.Instances(self.counters.num_counters, self._io, self, self._root)
            self.rest = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.counters._fetch_instances()
            self.instances._fetch_instances()


    class Instance(KaitaiStruct):
        """An instance and its values. The name belongs to the header here as well, which figure 9 leaves out.
        
        .. seealso::
           MS-PCQ revision 13.0 sections 2.2.4.5 and 2.2.4.9
        """
        def __init__(self, num_values, _io, _parent=None, _root=None):
            super(MsPcqPerfData.Instance, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_values = num_values
            self._read()

        def _read(self):
            self.header = ms_pcq.MsPcq.InstanceHeader(self._io)
            self.data = []
            for i in range(self.num_values):
                self.data.append(MsPcqPerfData.CounterData(self._io, self, self._root))



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            for i in range(len(self.data)):
                pass
                self.data[i]._fetch_instances()



    class Instances(KaitaiStruct):
        """Instances, each with the same number of values.
        
        .. seealso::
           MS-PCQ revision 13.0 section 2.2.4.10
        """
        def __init__(self, num_values, _io, _parent=None, _root=None):
            super(MsPcqPerfData.Instances, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_values = num_values
            self._read()

        def _read(self):
            self.total_size = self._io.read_u4le()
            if not self.total_size >= 8:
                raise kaitaistruct.ValidationLessThanError(8, self.total_size, self._io, u"/types/instances/seq/0")
            self.num_instances = self._io.read_u4le()
            self.instances = []
            for i in range(self.num_instances):
                self.instances.append(MsPcqPerfData.Instance(self.num_values, self._io, self, self._root))



        def _fetch_instances(self):
            pass
            for i in range(len(self.instances)):
                pass
                self.instances[i]._fetch_instances()



    class MultiCounters(KaitaiStruct):
        """Several counters of one instance.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.6, figure 7
        """
        def __init__(self, len_id_padding, _io, _parent=None, _root=None):
            super(MsPcqPerfData.MultiCounters, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.len_id_padding = len_id_padding
            self._read()

        def _read(self):
            self.counters = MsPcqPerfData.CounterIds(self.len_id_padding, self._io, self, self._root)
            self.data = []
            for i in range(self.counters.num_counters):
                self.data.append(MsPcqPerfData.CounterData(self._io, self, self._root))

            self.rest = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.counters._fetch_instances()
            for i in range(len(self.data)):
                pass
                self.data[i]._fetch_instances()



    class MultiInstances(KaitaiStruct):
        """One counter of several instances.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.6, figure 8
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(MsPcqPerfData.MultiInstances, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.instances = MsPcqPerfData.Instances(1, self._io, self, self._root)
            self.rest = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.instances._fetch_instances()


    class Nothing(KaitaiStruct):
        """An error block has no data.
        
        .. seealso::
           MS-PCQ revision 13.0 section 2.2.4.8
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(MsPcqPerfData.Nothing, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.rest = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SingleCounter(KaitaiStruct):
        """One counter of one instance.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.6, figure 6
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(MsPcqPerfData.SingleCounter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.data = MsPcqPerfData.CounterData(self._io, self, self._root)
            self.rest = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.data._fetch_instances()



