# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_pcq
import ms_dtyp
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqCountersetInfo(KaitaiStruct):
    """A counterset and all its counters.
    
    .. seealso::
       MS-PCQ revision 13.0 sections 2.2.4.1 and 3.1.4.1.2
    """
    SEQ_FIELDS = ["counterset_guid", "counterset_type", "detail_level", "num_counters", "instance_type", "counters"]
    def __init__(self, _io, _parent=None, _root=None):
        super(MsPcqCountersetInfo, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['counterset_guid']['start'] = self._io.pos()
        self.counterset_guid = ms_dtyp.MsDtyp.Guid(self._io)
        self.counterset_guid._read()
        self._debug['counterset_guid']['end'] = self._io.pos()
        self._debug['counterset_type']['start'] = self._io.pos()
        self.counterset_type = self._io.read_u4le()
        self._debug['counterset_type']['end'] = self._io.pos()
        self._debug['detail_level']['start'] = self._io.pos()
        self.detail_level = KaitaiStream.resolve_enum(ms_pcq.MsPcq.DetailLevel, self._io.read_u4le())
        self._debug['detail_level']['end'] = self._io.pos()
        self._debug['num_counters']['start'] = self._io.pos()
        self.num_counters = self._io.read_u4le()
        self._debug['num_counters']['end'] = self._io.pos()
        self._debug['instance_type']['start'] = self._io.pos()
        self.instance_type = KaitaiStream.resolve_enum(ms_pcq.MsPcq.InstanceType, self._io.read_u4le())
        self._debug['instance_type']['end'] = self._io.pos()
        self._debug['counters']['start'] = self._io.pos()
        self._debug['counters']['arr'] = []
        self.counters = []
        for i in range(self.num_counters):
            self._debug['counters']['arr'].append({'start': self._io.pos()})
            _t_counters = ms_pcq.MsPcq.CounterRegInfo(self._io)
            try:
                _t_counters._read()
            finally:
                self.counters.append(_t_counters)
            self._debug['counters']['arr'][i]['end'] = self._io.pos()

        self._debug['counters']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.counterset_guid._fetch_instances()
        for i in range(len(self.counters)):
            pass
            self.counters[i]._fetch_instances()



