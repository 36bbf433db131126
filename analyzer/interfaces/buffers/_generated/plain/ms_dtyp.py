# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsDtyp(KaitaiStruct):
    """Types to import: GUID and SYSTEMTIME.
    
    .. seealso::
       MS-DTYP revision 37.0 section 2
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(MsDtyp, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        pass


    def _fetch_instances(self):
        pass

    class Guid(KaitaiStruct):
        """A GUID in little-endian packet form.
        
        .. seealso::
           MS-DTYP revision 37.0 section 2.3.4.2
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(MsDtyp.Guid, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.data1 = self._io.read_u4le()
            self.data2 = self._io.read_u2le()
            self.data3 = self._io.read_u2le()
            self.data4 = self._io.read_bytes(8)


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
        def __init__(self, _io, _parent=None, _root=None):
            super(MsDtyp.Systemtime, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.year = self._io.read_u2le()
            self.month = self._io.read_u2le()
            self.day_of_week = KaitaiStream.resolve_enum(MsDtyp.Systemtime.Weekday, self._io.read_u2le())
            self.day = self._io.read_u2le()
            self.hour = self._io.read_u2le()
            self.minute = self._io.read_u2le()
            self.second = self._io.read_u2le()
            self.milliseconds = self._io.read_u2le()


        def _fetch_instances(self):
            pass



