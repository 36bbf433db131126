# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ndr
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqGuidList(KaitaiStruct):
    """What PerflibV2EnumerateCounterSet returns. NDR marshals these GUIDs, so they follow the byte order of the call.
    
    .. seealso::
       MS-PCQ revision 13.0 section 3.1.4.1.1
    """
    SEQ_FIELDS = ["guids"]
    def __init__(self, big_endian, _io, _parent=None, _root=None):
        super(MsPcqGuidList, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.big_endian = big_endian
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['guids']['start'] = self._io.pos()
        self._debug['guids']['arr'] = []
        self.guids = []
        i = 0
        while not self._io.is_eof():
            self._debug['guids']['arr'].append({'start': self._io.pos()})
            _t_guids = ndr.Ndr.Uuid(self.big_endian, self._io)
            try:
                _t_guids._read()
            finally:
                self.guids.append(_t_guids)
            self._debug['guids']['arr'][len(self.guids) - 1]['end'] = self._io.pos()
            i += 1

        self._debug['guids']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.guids)):
            pass
            self.guids[i]._fetch_instances()



