# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Ndr(KaitaiStruct):
    """Types to import into descriptions of RPC stubs. Alignment counts from the start of the stream, so a stub has to be
    its own stream. `ndr64` chooses the transfer syntax: counts and pointers are then 8 bytes wide and 8-aligned.
    
    .. seealso::
       DCE 1.1 RPC (C706) chapter 14; MS-RPCE revision 33.0 section 2.2.5
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(Ndr, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass

    class AlignedU4(KaitaiStruct):
        """A 32-bit integer with the alignment before it.
        
        .. seealso::
           DCE 1.1 RPC (C706) sections 14.2.2 and 14.2.5
        """
        SEQ_FIELDS = ["align_value", "value"]
        def __init__(self, big_endian, _io, _parent=None, _root=None):
            super(Ndr.AlignedU4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.big_endian = big_endian
            self._debug = collections.defaultdict(dict)

        def _read(self):
            _on = self.big_endian
            if _on == True:
                pass
                self._is_le = False
            elif _on == False:
                pass
                self._is_le = True
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/aligned_u4")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_value']['start'] = self._io.pos()
            self.align_value = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_value']['end'] = self._io.pos()
            self._debug['value']['start'] = self._io.pos()
            self.value = self._io.read_u4le()
            self._debug['value']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_value']['start'] = self._io.pos()
            self.align_value = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_value']['end'] = self._io.pos()
            self._debug['value']['start'] = self._io.pos()
            self.value = self._io.read_u4be()
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Conformant(KaitaiStruct):
        """An array of bytes that says how many elements it has.
        
        .. seealso::
           DCE 1.1 RPC (C706) section 14.3.3.2; MS-RPCE revision 33.0 section 2.2.5.3.2
        """
        SEQ_FIELDS = ["align_counts", "max_count", "data"]
        def __init__(self, ndr64, big_endian, _io, _parent=None, _root=None):
            super(Ndr.Conformant, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ndr64 = ndr64
            self.big_endian = big_endian
            self._debug = collections.defaultdict(dict)

        def _read(self):
            _on = self.big_endian
            if _on == True:
                pass
                self._is_le = False
            elif _on == False:
                pass
                self._is_le = True
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/conformant")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_counts']['start'] = self._io.pos()
            self.align_counts = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_counts']['end'] = self._io.pos()
            self._debug['max_count']['start'] = self._io.pos()
            _on = self.ndr64
            if _on == False:
                pass
                self.max_count = self._io.read_u4le()
            elif _on == True:
                pass
                self.max_count = self._io.read_u8le()
            self._debug['max_count']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes(self.max_count)
            self._debug['data']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_counts']['start'] = self._io.pos()
            self.align_counts = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_counts']['end'] = self._io.pos()
            self._debug['max_count']['start'] = self._io.pos()
            _on = self.ndr64
            if _on == False:
                pass
                self.max_count = self._io.read_u4be()
            elif _on == True:
                pass
                self.max_count = self._io.read_u8be()
            self._debug['max_count']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes(self.max_count)
            self._debug['data']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            _on = self.ndr64
            if _on == False:
                pass
            elif _on == True:
                pass


    class ConformantVarying(KaitaiStruct):
        """An array that says how many elements there is room for and how many of them follow. Nothing here has an offset
        other than 0 (strings and arrays are sent from their first element on).
        
        .. seealso::
           DCE 1.1 RPC (C706) section 14.3.3.4; MS-RPCE revision 33.0 section 2.2.5.3.2
        """
        SEQ_FIELDS = ["align_counts", "max_count", "offset", "actual_count", "data"]
        def __init__(self, len_element, ndr64, big_endian, _io, _parent=None, _root=None):
            super(Ndr.ConformantVarying, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.len_element = len_element
            self.ndr64 = ndr64
            self.big_endian = big_endian
            self._debug = collections.defaultdict(dict)

        def _read(self):
            _on = self.big_endian
            if _on == True:
                pass
                self._is_le = False
            elif _on == False:
                pass
                self._is_le = True
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/conformant_varying")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_counts']['start'] = self._io.pos()
            self.align_counts = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_counts']['end'] = self._io.pos()
            self._debug['max_count']['start'] = self._io.pos()
            _on = self.ndr64
            if _on == False:
                pass
                self.max_count = self._io.read_u4le()
            elif _on == True:
                pass
                self.max_count = self._io.read_u8le()
            self._debug['max_count']['end'] = self._io.pos()
            self._debug['offset']['start'] = self._io.pos()
            _on = self.ndr64
            if _on == False:
                pass
                self.offset = self._io.read_u4le()
            elif _on == True:
                pass
                self.offset = self._io.read_u8le()
            self._debug['offset']['end'] = self._io.pos()
            if not self.offset == 0:
                raise kaitaistruct.ValidationNotEqualError(0, self.offset, self._io, u"/types/conformant_varying/seq/2")
            self._debug['actual_count']['start'] = self._io.pos()
            _on = self.ndr64
            if _on == False:
                pass
                self.actual_count = self._io.read_u4le()
            elif _on == True:
                pass
                self.actual_count = self._io.read_u8le()
            self._debug['actual_count']['end'] = self._io.pos()
            if not self.actual_count <= self.max_count:
                raise kaitaistruct.ValidationGreaterThanError(self.max_count, self.actual_count, self._io, u"/types/conformant_varying/seq/3")
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes(self.actual_count * self.len_element)
            self._debug['data']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_counts']['start'] = self._io.pos()
            self.align_counts = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_counts']['end'] = self._io.pos()
            self._debug['max_count']['start'] = self._io.pos()
            _on = self.ndr64
            if _on == False:
                pass
                self.max_count = self._io.read_u4be()
            elif _on == True:
                pass
                self.max_count = self._io.read_u8be()
            self._debug['max_count']['end'] = self._io.pos()
            self._debug['offset']['start'] = self._io.pos()
            _on = self.ndr64
            if _on == False:
                pass
                self.offset = self._io.read_u4be()
            elif _on == True:
                pass
                self.offset = self._io.read_u8be()
            self._debug['offset']['end'] = self._io.pos()
            if not self.offset == 0:
                raise kaitaistruct.ValidationNotEqualError(0, self.offset, self._io, u"/types/conformant_varying/seq/2")
            self._debug['actual_count']['start'] = self._io.pos()
            _on = self.ndr64
            if _on == False:
                pass
                self.actual_count = self._io.read_u4be()
            elif _on == True:
                pass
                self.actual_count = self._io.read_u8be()
            self._debug['actual_count']['end'] = self._io.pos()
            if not self.actual_count <= self.max_count:
                raise kaitaistruct.ValidationGreaterThanError(self.max_count, self.actual_count, self._io, u"/types/conformant_varying/seq/3")
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes(self.actual_count * self.len_element)
            self._debug['data']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            _on = self.ndr64
            if _on == False:
                pass
            elif _on == True:
                pass
            _on = self.ndr64
            if _on == False:
                pass
            elif _on == True:
                pass
            _on = self.ndr64
            if _on == False:
                pass
            elif _on == True:
                pass


    class ContextHandle(KaitaiStruct):
        """A context handle, 20 bytes; all zero for none.
        
        .. seealso::
           DCE 1.1 RPC (C706) appendix N; MS-RPCE revision 33.0 section 2.2.5.3.4
        """
        SEQ_FIELDS = ["align_attributes", "attributes", "uuid"]
        def __init__(self, big_endian, _io, _parent=None, _root=None):
            super(Ndr.ContextHandle, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.big_endian = big_endian
            self._debug = collections.defaultdict(dict)

        def _read(self):
            _on = self.big_endian
            if _on == True:
                pass
                self._is_le = False
            elif _on == False:
                pass
                self._is_le = True
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/context_handle")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_attributes']['start'] = self._io.pos()
            self.align_attributes = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_attributes']['end'] = self._io.pos()
            self._debug['attributes']['start'] = self._io.pos()
            self.attributes = self._io.read_u4le()
            self._debug['attributes']['end'] = self._io.pos()
            self._debug['uuid']['start'] = self._io.pos()
            self.uuid = Ndr.Uuid(self.big_endian, self._io, self, self._root)
            self.uuid._read()
            self._debug['uuid']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_attributes']['start'] = self._io.pos()
            self.align_attributes = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_attributes']['end'] = self._io.pos()
            self._debug['attributes']['start'] = self._io.pos()
            self.attributes = self._io.read_u4be()
            self._debug['attributes']['end'] = self._io.pos()
            self._debug['uuid']['start'] = self._io.pos()
            self.uuid = Ndr.Uuid(self.big_endian, self._io, self, self._root)
            self.uuid._read()
            self._debug['uuid']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.uuid._fetch_instances()


    class Pointer(KaitaiStruct):
        """The referent of a unique or full pointer; 0 for a null pointer.
        
        .. seealso::
           DCE 1.1 RPC (C706) section 14.3.10; MS-RPCE revision 33.0 section 2.2.5.3.5
        """
        SEQ_FIELDS = ["align_referent", "referent"]
        def __init__(self, ndr64, big_endian, _io, _parent=None, _root=None):
            super(Ndr.Pointer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ndr64 = ndr64
            self.big_endian = big_endian
            self._debug = collections.defaultdict(dict)

        def _read(self):
            _on = self.big_endian
            if _on == True:
                pass
                self._is_le = False
            elif _on == False:
                pass
                self._is_le = True
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/pointer")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_referent']['start'] = self._io.pos()
            self.align_referent = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_referent']['end'] = self._io.pos()
            self._debug['referent']['start'] = self._io.pos()
            _on = self.ndr64
            if _on == False:
                pass
                self.referent = self._io.read_u4le()
            elif _on == True:
                pass
                self.referent = self._io.read_u8le()
            self._debug['referent']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_referent']['start'] = self._io.pos()
            self.align_referent = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_referent']['end'] = self._io.pos()
            self._debug['referent']['start'] = self._io.pos()
            _on = self.ndr64
            if _on == False:
                pass
                self.referent = self._io.read_u4be()
            elif _on == True:
                pass
                self.referent = self._io.read_u8be()
            self._debug['referent']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            _on = self.ndr64
            if _on == False:
                pass
            elif _on == True:
                pass


    class Uuid(KaitaiStruct):
        """A UUID, in the byte order of the call.
        
        .. seealso::
           DCE 1.1 RPC (C706) appendix A; MS-DTYP revision 37.0 section 2.3.4.2
        """
        SEQ_FIELDS = ["data1", "data2", "data3", "data4"]
        def __init__(self, big_endian, _io, _parent=None, _root=None):
            super(Ndr.Uuid, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.big_endian = big_endian
            self._debug = collections.defaultdict(dict)

        def _read(self):
            _on = self.big_endian
            if _on == True:
                pass
                self._is_le = False
            elif _on == False:
                pass
                self._is_le = True
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/uuid")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
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

        def _read_be(self):
            self._debug['data1']['start'] = self._io.pos()
            self.data1 = self._io.read_u4be()
            self._debug['data1']['end'] = self._io.pos()
            self._debug['data2']['start'] = self._io.pos()
            self.data2 = self._io.read_u2be()
            self._debug['data2']['end'] = self._io.pos()
            self._debug['data3']['start'] = self._io.pos()
            self.data3 = self._io.read_u2be()
            self._debug['data3']['end'] = self._io.pos()
            self._debug['data4']['start'] = self._io.pos()
            self.data4 = self._io.read_bytes(8)
            self._debug['data4']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass



