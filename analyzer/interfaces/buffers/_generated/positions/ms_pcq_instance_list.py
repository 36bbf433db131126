# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_pcq
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqInstanceList(KaitaiStruct):
    """What PerflibV2EnumerateCounterSetInstances returns.
    
    .. seealso::
       MS-PCQ revision 13.0 section 3.1.4.1.3
    """
    SEQ_FIELDS = ["instances"]
    def __init__(self, _io, _parent=None, _root=None):
        super(MsPcqInstanceList, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['instances']['start'] = self._io.pos()
        self._debug['instances']['arr'] = []
        self.instances = []
        i = 0
        while not self._io.is_eof():
            self._debug['instances']['arr'].append({'start': self._io.pos()})
            _t_instances = ms_pcq.MsPcq.InstanceHeader(self._io)
            try:
                _t_instances._read()
            finally:
                self.instances.append(_t_instances)
            self._debug['instances']['arr'][len(self.instances) - 1]['end'] = self._io.pos()
            i += 1

        self._debug['instances']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.instances)):
            pass
            self.instances[i]._fetch_instances()



