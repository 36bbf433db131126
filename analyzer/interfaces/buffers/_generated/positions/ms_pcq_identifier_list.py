# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_dtyp
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqIdentifierList(KaitaiStruct):
    """What a query consists of (PerflibV2QueryCounterInfo), what to add to it or take from it and what became of
    that (PerflibV2ValidateCounters, request and response).
    
    .. seealso::
       MS-PCQ revision 13.0 sections 3.1.4.1.5 and 3.1.4.1.7
    """
    SEQ_FIELDS = ["identifiers"]
    def __init__(self, _io, _parent=None, _root=None):
        super(MsPcqIdentifierList, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['identifiers']['start'] = self._io.pos()
        self._debug['identifiers']['arr'] = []
        self.identifiers = []
        i = 0
        while not self._io.is_eof():
            self._debug['identifiers']['arr'].append({'start': self._io.pos()})
            _t_identifiers = MsPcqIdentifierList.Identifier(self._io, self, self._root)
            try:
                _t_identifiers._read()
            finally:
                self.identifiers.append(_t_identifiers)
            self._debug['identifiers']['arr'][len(self.identifiers) - 1]['end'] = self._io.pos()
            i += 1

        self._debug['identifiers']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.identifiers)):
            pass
            self.identifiers[i]._fetch_instances()


    class Identifier(KaitaiStruct):
        """One counter, or several by wildcard. `size` counts the name and its padding; 40 means there is no name.
        
        .. seealso::
           MS-PCQ revision 13.0 section 2.2.4.6
        """
        SEQ_FIELDS = ["counterset_guid", "status", "size", "counter_id", "instance_id", "index", "reserved", "name"]
        def __init__(self, _io, _parent=None, _root=None):
            super(MsPcqIdentifierList.Identifier, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['counterset_guid']['start'] = self._io.pos()
            self.counterset_guid = ms_dtyp.MsDtyp.Guid(self._io)
            self.counterset_guid._read()
            self._debug['counterset_guid']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()
            self._debug['size']['start'] = self._io.pos()
            self.size = self._io.read_u4le()
            self._debug['size']['end'] = self._io.pos()
            if not self.size >= 40:
                raise kaitaistruct.ValidationLessThanError(40, self.size, self._io, u"/types/identifier/seq/2")
            self._debug['counter_id']['start'] = self._io.pos()
            self.counter_id = self._io.read_u4le()
            self._debug['counter_id']['end'] = self._io.pos()
            self._debug['instance_id']['start'] = self._io.pos()
            self.instance_id = self._io.read_u4le()
            self._debug['instance_id']['end'] = self._io.pos()
            self._debug['index']['start'] = self._io.pos()
            self.index = self._io.read_u4le()
            self._debug['index']['end'] = self._io.pos()
            self._debug['reserved']['start'] = self._io.pos()
            self.reserved = self._io.read_u4le()
            self._debug['reserved']['end'] = self._io.pos()
            if  ((self.size != 40) and (self.ofs_name >= 0)) :
                pass
                self._debug['name']['start'] = self._io.pos()
                self.name = self._io.read_bytes(self.size - 40)
                self._debug['name']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.counterset_guid._fetch_instances()
            if  ((self.size != 40) and (self.ofs_name >= 0)) :
                pass

            _ = self.name_text
            if hasattr(self, '_m_name_text'):
                pass


        @property
        def name_text(self):
            if hasattr(self, '_m_name_text'):
                return self._m_name_text

            if self.size != 40:
                pass
                _pos = self._io.pos()
                self._io.seek(self.ofs_name)
                self._debug['_m_name_text']['start'] = self._io.pos()
                self._m_name_text = (KaitaiStream.bytes_terminate_multi(self._io.read_bytes(self.size - 40), b"\x00\x00", False)).decode(u"UTF-16LE")
                self._debug['_m_name_text']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_name_text', None)

        @property
        def ofs_name(self):
            if hasattr(self, '_m_ofs_name'):
                return self._m_ofs_name

            self._m_ofs_name = self._io.pos()
            return getattr(self, '_m_ofs_name', None)



