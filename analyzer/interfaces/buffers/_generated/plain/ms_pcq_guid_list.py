# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ndr


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqGuidList(KaitaiStruct):
    """What PerflibV2EnumerateCounterSet returns. NDR marshals these GUIDs, so they follow the byte order of the call.
    
    .. seealso::
       MS-PCQ revision 13.0 section 3.1.4.1.1
    """
    def __init__(self, big_endian, _io, _parent=None, _root=None):
        super(MsPcqGuidList, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.big_endian = big_endian
        self._read()

    def _read(self):
        self.guids = []
        i = 0
        while not self._io.is_eof():
            self.guids.append(ndr.Ndr.Uuid(self.big_endian, self._io))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.guids)):
            pass
            self.guids[i]._fetch_instances()



