# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqString(KaitaiStruct):
    """Name or description of a counterset, or the name of its provider.
    
    .. seealso::
       MS-PCQ revision 13.0 section 3.1.4.1.2
    """
    SEQ_FIELDS = ["string", "padding"]
    def __init__(self, _io, _parent=None, _root=None):
        super(MsPcqString, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['string']['start'] = self._io.pos()
        self.string = (self._io.read_bytes_term_multi(b"\x00\x00", False, True, False)).decode(u"UTF-16LE")
        self._debug['string']['end'] = self._io.pos()
        self._debug['padding']['start'] = self._io.pos()
        self.padding = self._io.read_bytes_full()
        self._debug['padding']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass


