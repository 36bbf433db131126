# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class NameTable(KaitaiStruct):
    """A REG_MULTI_SZ of pairs, an index in decimal and its text. An empty string ends it; so does the end of the data. The
    first pair of "Counter nnn" is "1" and the highest index.
    
    .. seealso::
       Windows SDK 10.0, "Retrieving Counter Names and Help Text"
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(NameTable, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        if (not (self._io.is_eof())):
            pass
            self.entries = []
            i = 0
            while True:
                _ = NameTable.Entry(self._io, self, self._root)
                self.entries.append(_)
                if  ((len(_.index) == 0) or (self._io.is_eof())) :
                    break
                i += 1

        self.rest = self._io.read_bytes_full()


    def _fetch_instances(self):
        pass
        if (not (self._io.is_eof())):
            pass
            for i in range(len(self.entries)):
                pass
                self.entries[i]._fetch_instances()



    class Entry(KaitaiStruct):
        """An index and its text. The entry with an empty index ends the table.
        
        .. seealso::
           Windows SDK 10.0, "Retrieving Counter Names and Help Text"
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(NameTable.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.index = (self._io.read_bytes_term_multi(b"\x00\x00", False, True, False)).decode(u"UTF-16LE")
            if len(self.index) != 0:
                pass
                self.text = (self._io.read_bytes_term_multi(b"\x00\x00", False, True, False)).decode(u"UTF-16LE")



        def _fetch_instances(self):
            pass
            if len(self.index) != 0:
                pass




