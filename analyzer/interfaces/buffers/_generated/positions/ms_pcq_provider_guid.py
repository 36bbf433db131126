# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_dtyp
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqProviderGuid(KaitaiStruct):
    """The provider of a counterset.
    
    .. seealso::
       MS-PCQ revision 13.0 section 3.1.4.1.2
    """
    SEQ_FIELDS = ["guid"]
    def __init__(self, _io, _parent=None, _root=None):
        super(MsPcqProviderGuid, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['guid']['start'] = self._io.pos()
        self.guid = ms_dtyp.MsDtyp.Guid(self._io)
        self.guid._read()
        self._debug['guid']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.guid._fetch_instances()


