# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqStringTable(KaitaiStruct):
    """Names or descriptions of the counters of a counterset. Two documents disagree on where offsets count from: MS-PCQ says
    from the end of the counter headers, perflib.h from the start of the buffer. The reader finds out which of them
    the data follows and passes it as `ofs_base`. An offset of 0xFFFFFFFF (perflib.h only) stands for no string.
    
    .. seealso::
       MS-PCQ revision 13.0 sections 2.2.4.3, 2.2.4.4 and 3.1.4.1.2
    """
    def __init__(self, ofs_base, _io, _parent=None, _root=None):
        super(MsPcqStringTable, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.ofs_base = ofs_base
        self._read()

    def _read(self):
        self.total_size = self._io.read_u4le()
        self.num_counters = self._io.read_u4le()
        self.strings = []
        for i in range(self.num_counters):
            self.strings.append(MsPcqStringTable.CounterString(self.ofs_base, self._io, self, self._root))

        self.rest = self._io.read_bytes_full()


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
        def __init__(self, ofs_base, _io, _parent=None, _root=None):
            super(MsPcqStringTable.CounterString, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_base = ofs_base
            self._read()

        def _read(self):
            self.counter_id = self._io.read_u4le()
            self.ofs_string = self._io.read_u4le()


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
                self._m_string = (self._io.read_bytes_term_multi(b"\x00\x00", False, True, True)).decode(u"UTF-16LE")
                self._io.seek(_pos)

            return getattr(self, '_m_string', None)



