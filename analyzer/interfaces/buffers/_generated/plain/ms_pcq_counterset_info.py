# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_pcq
import ms_dtyp


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqCountersetInfo(KaitaiStruct):
    """A counterset and all its counters.
    
    .. seealso::
       MS-PCQ revision 13.0 sections 2.2.4.1 and 3.1.4.1.2
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(MsPcqCountersetInfo, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.counterset_guid = ms_dtyp.MsDtyp.Guid(self._io)
        self.counterset_type = self._io.read_u4le()
        self.detail_level = KaitaiStream.resolve_enum(ms_pcq.MsPcq.DetailLevel, self._io.read_u4le())
        self.num_counters = self._io.read_u4le()
        self.instance_type = KaitaiStream.resolve_enum(ms_pcq.MsPcq.InstanceType, self._io.read_u4le())
        self.counters = []
        for i in range(self.num_counters):
            self.counters.append(ms_pcq.MsPcq.CounterRegInfo(self._io))



    def _fetch_instances(self):
        pass
        self.counterset_guid._fetch_instances()
        for i in range(len(self.counters)):
            pass
            self.counters[i]._fetch_instances()



