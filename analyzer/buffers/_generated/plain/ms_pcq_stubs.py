# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_pcq
import ndr


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqStubs(KaitaiStruct):
    """The stubs of opnums 0 to 7 of interface da5a86c5-12c2-4943-ab30-7f74a813d853 version 1.0, without authentication padding
    and verification trailer. The buffer in `lp_data` has a description of its own, by method and request code.
    
    .. seealso::
       MS-PCQ revision 13.0 sections 3.1.4.1 and 6
    """
    def __init__(self, opnum, is_response, ndr64, big_endian, has_referent, _io, _parent=None, _root=None):
        super(MsPcqStubs, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.opnum = opnum
        self.is_response = is_response
        self.ndr64 = ndr64
        self.big_endian = big_endian
        self.has_referent = has_referent
        self._read()

    def _read(self):
        _on = self.big_endian
        if _on == True:
            pass
            self._is_le = False
        elif _on == False:
            pass
            self._is_le = True
        if not hasattr(self, '_is_le'):
            raise kaitaistruct.UndecidedEndiannessError("/")
        elif self._is_le == True:
            self._read_le()
        elif self._is_le == False:
            self._read_be()

    def _read_le(self):
        if (not (self.is_response)):
            pass
            _on = self.opnum
            if _on == 0:
                pass
                self.request = MsPcqStubs.EnumerateCounterSetRequest(self._io, self, self._root, self._is_le)
            elif _on == 1:
                pass
                self.request = MsPcqStubs.QueryCounterSetRegistrationInfoRequest(self._io, self, self._root, self._is_le)
            elif _on == 2:
                pass
                self.request = MsPcqStubs.EnumerateCounterSetInstancesRequest(self._io, self, self._root, self._is_le)
            elif _on == 3:
                pass
                self.request = MsPcqStubs.OpenQueryHandleRequest(self._io, self, self._root, self._is_le)
            elif _on == 4:
                pass
                self.request = MsPcqStubs.CloseQueryHandleRequest(self._io, self, self._root, self._is_le)
            elif _on == 5:
                pass
                self.request = MsPcqStubs.QueryCounterInfoRequest(self._io, self, self._root, self._is_le)
            elif _on == 6:
                pass
                self.request = MsPcqStubs.QueryCounterDataRequest(self._io, self, self._root, self._is_le)
            elif _on == 7:
                pass
                self.request = MsPcqStubs.ValidateCountersRequest(self._io, self, self._root, self._is_le)

        if self.is_response:
            pass
            _on = self.opnum
            if _on == 0:
                pass
                self.response = MsPcqStubs.EnumerateCounterSetResponse(self._io, self, self._root, self._is_le)
            elif _on == 1:
                pass
                self.response = MsPcqStubs.QueryCounterSetRegistrationInfoResponse(self._io, self, self._root, self._is_le)
            elif _on == 2:
                pass
                self.response = MsPcqStubs.EnumerateCounterSetInstancesResponse(self._io, self, self._root, self._is_le)
            elif _on == 3:
                pass
                self.response = MsPcqStubs.OpenQueryHandleResponse(self._io, self, self._root, self._is_le)
            elif _on == 4:
                pass
                self.response = MsPcqStubs.CloseQueryHandleResponse(self._io, self, self._root, self._is_le)
            elif _on == 5:
                pass
                self.response = MsPcqStubs.QueryCounterInfoResponse(self._io, self, self._root, self._is_le)
            elif _on == 6:
                pass
                self.response = MsPcqStubs.QueryCounterDataResponse(self._io, self, self._root, self._is_le)
            elif _on == 7:
                pass
                self.response = MsPcqStubs.ValidateCountersResponse(self._io, self, self._root, self._is_le)


    def _read_be(self):
        if (not (self.is_response)):
            pass
            _on = self.opnum
            if _on == 0:
                pass
                self.request = MsPcqStubs.EnumerateCounterSetRequest(self._io, self, self._root, self._is_le)
            elif _on == 1:
                pass
                self.request = MsPcqStubs.QueryCounterSetRegistrationInfoRequest(self._io, self, self._root, self._is_le)
            elif _on == 2:
                pass
                self.request = MsPcqStubs.EnumerateCounterSetInstancesRequest(self._io, self, self._root, self._is_le)
            elif _on == 3:
                pass
                self.request = MsPcqStubs.OpenQueryHandleRequest(self._io, self, self._root, self._is_le)
            elif _on == 4:
                pass
                self.request = MsPcqStubs.CloseQueryHandleRequest(self._io, self, self._root, self._is_le)
            elif _on == 5:
                pass
                self.request = MsPcqStubs.QueryCounterInfoRequest(self._io, self, self._root, self._is_le)
            elif _on == 6:
                pass
                self.request = MsPcqStubs.QueryCounterDataRequest(self._io, self, self._root, self._is_le)
            elif _on == 7:
                pass
                self.request = MsPcqStubs.ValidateCountersRequest(self._io, self, self._root, self._is_le)

        if self.is_response:
            pass
            _on = self.opnum
            if _on == 0:
                pass
                self.response = MsPcqStubs.EnumerateCounterSetResponse(self._io, self, self._root, self._is_le)
            elif _on == 1:
                pass
                self.response = MsPcqStubs.QueryCounterSetRegistrationInfoResponse(self._io, self, self._root, self._is_le)
            elif _on == 2:
                pass
                self.response = MsPcqStubs.EnumerateCounterSetInstancesResponse(self._io, self, self._root, self._is_le)
            elif _on == 3:
                pass
                self.response = MsPcqStubs.OpenQueryHandleResponse(self._io, self, self._root, self._is_le)
            elif _on == 4:
                pass
                self.response = MsPcqStubs.CloseQueryHandleResponse(self._io, self, self._root, self._is_le)
            elif _on == 5:
                pass
                self.response = MsPcqStubs.QueryCounterInfoResponse(self._io, self, self._root, self._is_le)
            elif _on == 6:
                pass
                self.response = MsPcqStubs.QueryCounterDataResponse(self._io, self, self._root, self._is_le)
            elif _on == 7:
                pass
                self.response = MsPcqStubs.ValidateCountersResponse(self._io, self, self._root, self._is_le)



    def _fetch_instances(self):
        pass
        if (not (self.is_response)):
            pass
            _on = self.opnum
            if _on == 0:
                pass
                self.request._fetch_instances()
            elif _on == 1:
                pass
                self.request._fetch_instances()
            elif _on == 2:
                pass
                self.request._fetch_instances()
            elif _on == 3:
                pass
                self.request._fetch_instances()
            elif _on == 4:
                pass
                self.request._fetch_instances()
            elif _on == 5:
                pass
                self.request._fetch_instances()
            elif _on == 6:
                pass
                self.request._fetch_instances()
            elif _on == 7:
                pass
                self.request._fetch_instances()

        if self.is_response:
            pass
            _on = self.opnum
            if _on == 0:
                pass
                self.response._fetch_instances()
            elif _on == 1:
                pass
                self.response._fetch_instances()
            elif _on == 2:
                pass
                self.response._fetch_instances()
            elif _on == 3:
                pass
                self.response._fetch_instances()
            elif _on == 4:
                pass
                self.response._fetch_instances()
            elif _on == 5:
                pass
                self.response._fetch_instances()
            elif _on == 6:
                pass
                self.response._fetch_instances()
            elif _on == 7:
                pass
                self.response._fetch_instances()


    class CloseQueryHandleRequest(KaitaiStruct):
        """PerflibV2CloseQueryHandle, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.8
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.CloseQueryHandleRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/close_query_handle_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)

        def _read_be(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()


    class CloseQueryHandleResponse(KaitaiStruct):
        """PerflibV2CloseQueryHandle, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.8
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.CloseQueryHandleResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/close_query_handle_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.status = self._io.read_u4le()

        def _read_be(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.status = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()


    class EnumerateCounterSetInstancesRequest(KaitaiStruct):
        """PerflibV2EnumerateCounterSetInstances, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.3
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.EnumerateCounterSetInstancesRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/enumerate_counter_set_instances_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.align_counterset_guid = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.counterset_guid = ndr.Ndr.Uuid(self._root.big_endian, self._io)
            self.in_size = self._io.read_u4le()

        def _read_be(self):
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.align_counterset_guid = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.counterset_guid = ndr.Ndr.Uuid(self._root.big_endian, self._io)
            self.in_size = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.machine._fetch_instances()
            self.counterset_guid._fetch_instances()


    class EnumerateCounterSetInstancesResponse(KaitaiStruct):
        """PerflibV2EnumerateCounterSetInstances, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.3
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.EnumerateCounterSetInstancesResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/enumerate_counter_set_instances_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.out_size = self._io.read_u4le()
            self.rtn_size = self._io.read_u4le()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4le()

        def _read_be(self):
            self.out_size = self._io.read_u4be()
            self.rtn_size = self._io.read_u4be()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()


    class EnumerateCounterSetRequest(KaitaiStruct):
        """PerflibV2EnumerateCounterSet, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.1
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.EnumerateCounterSetRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/enumerate_counter_set_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.align_in_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.in_size = self._io.read_u4le()

        def _read_be(self):
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.align_in_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.in_size = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.machine._fetch_instances()


    class EnumerateCounterSetResponse(KaitaiStruct):
        """PerflibV2EnumerateCounterSet, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.1
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.EnumerateCounterSetResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/enumerate_counter_set_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.out_size = self._io.read_u4le()
            self.rtn_size = self._io.read_u4le()
            self.lp_data = ndr.Ndr.ConformantVarying(16, self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4le()

        def _read_be(self):
            self.out_size = self._io.read_u4be()
            self.rtn_size = self._io.read_u4be()
            self.lp_data = ndr.Ndr.ConformantVarying(16, self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()


    class MachineName(KaitaiStruct):
        """The server's name as the client spells it, a conformant varying string.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.1; DCE 1.1 RPC (C706) section 14.3.4
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.MachineName, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/machine_name")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            if self._root.has_referent:
                pass
                self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)

            self.string = ndr.Ndr.ConformantVarying(2, self._root.ndr64, self._root.big_endian, self._io)

        def _read_be(self):
            if self._root.has_referent:
                pass
                self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)

            self.string = ndr.Ndr.ConformantVarying(2, self._root.ndr64, self._root.big_endian, self._io)


        def _fetch_instances(self):
            pass
            if self._root.has_referent:
                pass
                self.pointer._fetch_instances()

            self.string._fetch_instances()

        @property
        def text(self):
            """With its NUL."""
            if hasattr(self, '_m_text'):
                return self._m_text

            self._m_text = ((self.string.data).decode(u"UTF-16BE") if self._root.big_endian else (self.string.data).decode(u"UTF-16LE"))
            return getattr(self, '_m_text', None)


    class OpenQueryHandleRequest(KaitaiStruct):
        """PerflibV2OpenQueryHandle, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.4
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.OpenQueryHandleRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_query_handle_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)

        def _read_be(self):
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)


        def _fetch_instances(self):
            pass
            self.machine._fetch_instances()


    class OpenQueryHandleResponse(KaitaiStruct):
        """PerflibV2OpenQueryHandle, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.4
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.OpenQueryHandleResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_query_handle_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.status = self._io.read_u4le()

        def _read_be(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.status = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()


    class QueryCounterDataRequest(KaitaiStruct):
        """PerflibV2QueryCounterData, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.6
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterDataRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_data_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.in_size = self._io.read_u4le()

        def _read_be(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.in_size = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()


    class QueryCounterDataResponse(KaitaiStruct):
        """PerflibV2QueryCounterData, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.6
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterDataResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_data_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.out_size = self._io.read_u4le()
            self.rtn_size = self._io.read_u4le()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4le()

        def _read_be(self):
            self.out_size = self._io.read_u4be()
            self.rtn_size = self._io.read_u4be()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()


    class QueryCounterInfoRequest(KaitaiStruct):
        """PerflibV2QueryCounterInfo, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.5
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterInfoRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_info_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.in_size = self._io.read_u4le()

        def _read_be(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.in_size = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()


    class QueryCounterInfoResponse(KaitaiStruct):
        """PerflibV2QueryCounterInfo, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.5
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterInfoResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_info_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.out_size = self._io.read_u4le()
            self.rtn_size = self._io.read_u4le()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4le()

        def _read_be(self):
            self.out_size = self._io.read_u4be()
            self.rtn_size = self._io.read_u4be()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()


    class QueryCounterSetRegistrationInfoRequest(KaitaiStruct):
        """PerflibV2QueryCounterSetRegistrationInfo, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.2
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterSetRegistrationInfoRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_set_registration_info_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.align_counterset_guid = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.counterset_guid = ndr.Ndr.Uuid(self._root.big_endian, self._io)
            self.request_code = KaitaiStream.resolve_enum(ms_pcq.MsPcq.RequestCode, self._io.read_u4le())
            self.request_lcid = self._io.read_u4le()
            self.in_size = self._io.read_u4le()

        def _read_be(self):
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.align_counterset_guid = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.counterset_guid = ndr.Ndr.Uuid(self._root.big_endian, self._io)
            self.request_code = KaitaiStream.resolve_enum(ms_pcq.MsPcq.RequestCode, self._io.read_u4be())
            self.request_lcid = self._io.read_u4be()
            self.in_size = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.machine._fetch_instances()
            self.counterset_guid._fetch_instances()


    class QueryCounterSetRegistrationInfoResponse(KaitaiStruct):
        """PerflibV2QueryCounterSetRegistrationInfo, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.2
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterSetRegistrationInfoResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_set_registration_info_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.out_size = self._io.read_u4le()
            self.rtn_size = self._io.read_u4le()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4le()

        def _read_be(self):
            self.out_size = self._io.read_u4be()
            self.rtn_size = self._io.read_u4be()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()


    class ValidateCountersRequest(KaitaiStruct):
        """PerflibV2ValidateCounters, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.7
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.ValidateCountersRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/validate_counters_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.in_size = self._io.read_u4le()
            self.lp_data = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
            self.align_add = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.add = self._io.read_u4le()

        def _read_be(self):
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.in_size = self._io.read_u4be()
            self.lp_data = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
            self.align_add = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.add = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()
            self.lp_data._fetch_instances()


    class ValidateCountersResponse(KaitaiStruct):
        """PerflibV2ValidateCounters, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.7
        """
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.ValidateCountersResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._read()

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/validate_counters_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self.lp_data = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4le()

        def _read_be(self):
            self.lp_data = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self.status = self._io.read_u4be()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()



