# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqStringTable(KaitaiStruct):
    """Names or descriptions of the counters of a counterset. Two documents disagree on where offsets count from: MS-PCQ says
    from the end of the counter headers, perflib.h from the start of the buffer. The reader finds out which of them
    the data follows and passes it as `ofs_base`. An offset of 0xFFFFFFFF (perflib.h only) stands for no string.
    
    .. seealso::
       MS-PCQ revision 13.0 sections 2.2.4.3, 2.2.4.4 and 3.1.4.1.2
    """
    SEQ_FIELDS = ["total_size", "num_counters", "strings", "rest"]
    def __init__(self, ofs_base, _io, _parent=None, _root=None):
        super(MsPcqStringTable, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.ofs_base = ofs_base
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['total_size']['start'] = self._io.pos()
        self.total_size = self._io.read_u4le()
        self._debug['total_size']['end'] = self._io.pos()
        self._debug['num_counters']['start'] = self._io.pos()
        self.num_counters = self._io.read_u4le()
        self._debug['num_counters']['end'] = self._io.pos()
        self._debug['strings']['start'] = self._io.pos()
        self._debug['strings']['arr'] = []
        self.strings = []
        for i in range(self.num_counters):
            self._debug['strings']['arr'].append({'start': self._io.pos()})
            _t_strings = MsPcqStringTable.CounterString(self.ofs_base, self._io, self, self._root)
            try:
                _t_strings._read()
            finally:
                self.strings.append(_t_strings)
            self._debug['strings']['arr'][i]['end'] = self._io.pos()

        self._debug['strings']['end'] = self._io.pos()
        self._debug['rest']['start'] = self._io.pos()
        self.rest = self._io.read_bytes_full()
        self._debug['rest']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.strings)):
            pass
            self.strings[i]._fetch_instances()


    class CounterString(KaitaiStruct):
        """A counter and where its string is.
        
        .. seealso::
           MS-PCQ revision 13.0 section 2.2.4.4
        """
        SEQ_FIELDS = ["counter_id", "ofs_string"]
        def __init__(self, ofs_base, _io, _parent=None, _root=None):
            super(MsPcqStringTable.CounterString, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_base = ofs_base
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['counter_id']['start'] = self._io.pos()
            self.counter_id = self._io.read_u4le()
            self._debug['counter_id']['end'] = self._io.pos()
            self._debug['ofs_string']['start'] = self._io.pos()
            self.ofs_string = self._io.read_u4le()
            self._debug['ofs_string']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            _ = self.string
            if hasattr(self, '_m_string'):
                pass


        @property
        def string(self):
            if hasattr(self, '_m_string'):
                return self._m_string

            if self.ofs_string != 4294967295:
                pass
                _pos = self._io.pos()
                self._io.seek(self.ofs_base + self.ofs_string)
                self._debug['_m_string']['start'] = self._io.pos()
                self._m_string = (self._io.read_bytes_term_multi(b"\x00\x00", False, True, True)).decode(u"UTF-16LE")
                self._debug['_m_string']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_string', None)



