# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_pcq


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqCounterInfo(KaitaiStruct):
    """One counter.
    
    .. seealso::
       MS-PCQ revision 13.0 sections 2.2.4.2 and 3.1.4.1.2
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(MsPcqCounterInfo, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.counter = ms_pcq.MsPcq.CounterRegInfo(self._io)


    def _fetch_instances(self):
        pass
        self.counter._fetch_instances()


