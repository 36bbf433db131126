# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import collections
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsDtyp(KaitaiStruct):
    """Types to import: GUID and SYSTEMTIME.
    
    .. seealso::
       MS-DTYP revision 37.0 section 2
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(MsDtyp, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass

    class Guid(KaitaiStruct):
        """A GUID in little-endian packet form.
        
        .. seealso::
           MS-DTYP revision 37.0 section 2.3.4.2
        """
        SEQ_FIELDS = ["data1", "data2", "data3", "data4"]
        def __init__(self, _io, _parent=None, _root=None):
            super(MsDtyp.Guid, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['data1']['start'] = self._io.pos()
            self.data1 = self._io.read_u4le()
            self._debug['data1']['end'] = self._io.pos()
            self._debug['data2']['start'] = self._io.pos()
            self.data2 = self._io.read_u2le()
            self._debug['data2']['end'] = self._io.pos()
            self._debug['data3']['start'] = self._io.pos()
            self.data3 = self._io.read_u2le()
            self._debug['data3']['end'] = self._io.pos()
            self._debug['data4']['start'] = self._io.pos()
            self.data4 = self._io.read_bytes(8)
            self._debug['data4']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Systemtime(KaitaiStruct):
        """A date and time in UTC. 8 fields of 16 bits, 16 bytes in all.
        
        .. seealso::
           MS-DTYP revision 37.0 section 2.3.13
        """

        class Weekday(IntEnum):
            sunday = 0
            monday = 1
            tuesday = 2
            wednesday = 3
            thursday = 4
            friday = 5
            saturday = 6
        SEQ_FIELDS = ["year", "month", "day_of_week", "day", "hour", "minute", "second", "milliseconds"]
        def __init__(self, _io, _parent=None, _root=None):
            super(MsDtyp.Systemtime, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['year']['start'] = self._io.pos()
            self.year = self._io.read_u2le()
            self._debug['year']['end'] = self._io.pos()
            self._debug['month']['start'] = self._io.pos()
            self.month = self._io.read_u2le()
            self._debug['month']['end'] = self._io.pos()
            self._debug['day_of_week']['start'] = self._io.pos()
            self.day_of_week = KaitaiStream.resolve_enum(MsDtyp.Systemtime.Weekday, self._io.read_u2le())
            self._debug['day_of_week']['end'] = self._io.pos()
            self._debug['day']['start'] = self._io.pos()
            self.day = self._io.read_u2le()
            self._debug['day']['end'] = self._io.pos()
            self._debug['hour']['start'] = self._io.pos()
            self.hour = self._io.read_u2le()
            self._debug['hour']['end'] = self._io.pos()
            self._debug['minute']['start'] = self._io.pos()
            self.minute = self._io.read_u2le()
            self._debug['minute']['end'] = self._io.pos()
            self._debug['second']['start'] = self._io.pos()
            self.second = self._io.read_u2le()
            self._debug['second']['end'] = self._io.pos()
            self._debug['milliseconds']['start'] = self._io.pos()
            self.milliseconds = self._io.read_u2le()
            self._debug['milliseconds']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass



