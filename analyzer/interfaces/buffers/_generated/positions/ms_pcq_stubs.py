# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ms_pcq
import ndr
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsPcqStubs(KaitaiStruct):
    """The stubs of opnums 0 to 7 of interface da5a86c5-12c2-4943-ab30-7f74a813d853 version 1.0, without authentication padding
    and verification trailer. The buffer in `lp_data` has a description of its own, by method and request code.
    
    .. seealso::
       MS-PCQ revision 13.0 sections 3.1.4.1 and 6
    """
    SEQ_FIELDS = ["request", "response"]
    def __init__(self, opnum, is_response, ndr64, big_endian, has_referent, _io, _parent=None, _root=None):
        super(MsPcqStubs, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.opnum = opnum
        self.is_response = is_response
        self.ndr64 = ndr64
        self.big_endian = big_endian
        self.has_referent = has_referent
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
            raise kaitaistruct.UndecidedEndiannessError("/")
        elif self._is_le == True:
            self._read_le()
        elif self._is_le == False:
            self._read_be()

    def _read_le(self):
        if (not (self.is_response)):
            pass
            self._debug['request']['start'] = self._io.pos()
            _on = self.opnum
            if _on == 0:
                pass
                self.request = MsPcqStubs.EnumerateCounterSetRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 1:
                pass
                self.request = MsPcqStubs.QueryCounterSetRegistrationInfoRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 2:
                pass
                self.request = MsPcqStubs.EnumerateCounterSetInstancesRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 3:
                pass
                self.request = MsPcqStubs.OpenQueryHandleRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 4:
                pass
                self.request = MsPcqStubs.CloseQueryHandleRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 5:
                pass
                self.request = MsPcqStubs.QueryCounterInfoRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 6:
                pass
                self.request = MsPcqStubs.QueryCounterDataRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 7:
                pass
                self.request = MsPcqStubs.ValidateCountersRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            self._debug['request']['end'] = self._io.pos()

        if self.is_response:
            pass
            self._debug['response']['start'] = self._io.pos()
            _on = self.opnum
            if _on == 0:
                pass
                self.response = MsPcqStubs.EnumerateCounterSetResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 1:
                pass
                self.response = MsPcqStubs.QueryCounterSetRegistrationInfoResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 2:
                pass
                self.response = MsPcqStubs.EnumerateCounterSetInstancesResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 3:
                pass
                self.response = MsPcqStubs.OpenQueryHandleResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 4:
                pass
                self.response = MsPcqStubs.CloseQueryHandleResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 5:
                pass
                self.response = MsPcqStubs.QueryCounterInfoResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 6:
                pass
                self.response = MsPcqStubs.QueryCounterDataResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 7:
                pass
                self.response = MsPcqStubs.ValidateCountersResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            self._debug['response']['end'] = self._io.pos()


    def _read_be(self):
        if (not (self.is_response)):
            pass
            self._debug['request']['start'] = self._io.pos()
            _on = self.opnum
            if _on == 0:
                pass
                self.request = MsPcqStubs.EnumerateCounterSetRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 1:
                pass
                self.request = MsPcqStubs.QueryCounterSetRegistrationInfoRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 2:
                pass
                self.request = MsPcqStubs.EnumerateCounterSetInstancesRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 3:
                pass
                self.request = MsPcqStubs.OpenQueryHandleRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 4:
                pass
                self.request = MsPcqStubs.CloseQueryHandleRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 5:
                pass
                self.request = MsPcqStubs.QueryCounterInfoRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 6:
                pass
                self.request = MsPcqStubs.QueryCounterDataRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 7:
                pass
                self.request = MsPcqStubs.ValidateCountersRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            self._debug['request']['end'] = self._io.pos()

        if self.is_response:
            pass
            self._debug['response']['start'] = self._io.pos()
            _on = self.opnum
            if _on == 0:
                pass
                self.response = MsPcqStubs.EnumerateCounterSetResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 1:
                pass
                self.response = MsPcqStubs.QueryCounterSetRegistrationInfoResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 2:
                pass
                self.response = MsPcqStubs.EnumerateCounterSetInstancesResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 3:
                pass
                self.response = MsPcqStubs.OpenQueryHandleResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 4:
                pass
                self.response = MsPcqStubs.CloseQueryHandleResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 5:
                pass
                self.response = MsPcqStubs.QueryCounterInfoResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 6:
                pass
                self.response = MsPcqStubs.QueryCounterDataResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 7:
                pass
                self.response = MsPcqStubs.ValidateCountersResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            self._debug['response']['end'] = self._io.pos()



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
        SEQ_FIELDS = ["query_handle"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.CloseQueryHandleRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/close_query_handle_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()


    class CloseQueryHandleResponse(KaitaiStruct):
        """PerflibV2CloseQueryHandle, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.8
        """
        SEQ_FIELDS = ["query_handle", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.CloseQueryHandleResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/close_query_handle_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()


    class EnumerateCounterSetInstancesRequest(KaitaiStruct):
        """PerflibV2EnumerateCounterSetInstances, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.3
        """
        SEQ_FIELDS = ["machine", "align_counterset_guid", "counterset_guid", "in_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.EnumerateCounterSetInstancesRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/enumerate_counter_set_instances_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['machine']['start'] = self._io.pos()
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.machine._read()
            self._debug['machine']['end'] = self._io.pos()
            self._debug['align_counterset_guid']['start'] = self._io.pos()
            self.align_counterset_guid = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_counterset_guid']['end'] = self._io.pos()
            self._debug['counterset_guid']['start'] = self._io.pos()
            self.counterset_guid = ndr.Ndr.Uuid(self._root.big_endian, self._io)
            self.counterset_guid._read()
            self._debug['counterset_guid']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4le()
            self._debug['in_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['machine']['start'] = self._io.pos()
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.machine._read()
            self._debug['machine']['end'] = self._io.pos()
            self._debug['align_counterset_guid']['start'] = self._io.pos()
            self.align_counterset_guid = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_counterset_guid']['end'] = self._io.pos()
            self._debug['counterset_guid']['start'] = self._io.pos()
            self.counterset_guid = ndr.Ndr.Uuid(self._root.big_endian, self._io)
            self.counterset_guid._read()
            self._debug['counterset_guid']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4be()
            self._debug['in_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.machine._fetch_instances()
            self.counterset_guid._fetch_instances()


    class EnumerateCounterSetInstancesResponse(KaitaiStruct):
        """PerflibV2EnumerateCounterSetInstances, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.3
        """
        SEQ_FIELDS = ["out_size", "rtn_size", "lp_data", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.EnumerateCounterSetInstancesResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/enumerate_counter_set_instances_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['out_size']['start'] = self._io.pos()
            self.out_size = self._io.read_u4le()
            self._debug['out_size']['end'] = self._io.pos()
            self._debug['rtn_size']['start'] = self._io.pos()
            self.rtn_size = self._io.read_u4le()
            self._debug['rtn_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['out_size']['start'] = self._io.pos()
            self.out_size = self._io.read_u4be()
            self._debug['out_size']['end'] = self._io.pos()
            self._debug['rtn_size']['start'] = self._io.pos()
            self.rtn_size = self._io.read_u4be()
            self._debug['rtn_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()


    class EnumerateCounterSetRequest(KaitaiStruct):
        """PerflibV2EnumerateCounterSet, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.1
        """
        SEQ_FIELDS = ["machine", "align_in_size", "in_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.EnumerateCounterSetRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/enumerate_counter_set_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['machine']['start'] = self._io.pos()
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.machine._read()
            self._debug['machine']['end'] = self._io.pos()
            self._debug['align_in_size']['start'] = self._io.pos()
            self.align_in_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_in_size']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4le()
            self._debug['in_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['machine']['start'] = self._io.pos()
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.machine._read()
            self._debug['machine']['end'] = self._io.pos()
            self._debug['align_in_size']['start'] = self._io.pos()
            self.align_in_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_in_size']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4be()
            self._debug['in_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.machine._fetch_instances()


    class EnumerateCounterSetResponse(KaitaiStruct):
        """PerflibV2EnumerateCounterSet, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.1
        """
        SEQ_FIELDS = ["out_size", "rtn_size", "lp_data", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.EnumerateCounterSetResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/enumerate_counter_set_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['out_size']['start'] = self._io.pos()
            self.out_size = self._io.read_u4le()
            self._debug['out_size']['end'] = self._io.pos()
            self._debug['rtn_size']['start'] = self._io.pos()
            self.rtn_size = self._io.read_u4le()
            self._debug['rtn_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.ConformantVarying(16, self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['out_size']['start'] = self._io.pos()
            self.out_size = self._io.read_u4be()
            self._debug['out_size']['end'] = self._io.pos()
            self._debug['rtn_size']['start'] = self._io.pos()
            self.rtn_size = self._io.read_u4be()
            self._debug['rtn_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.ConformantVarying(16, self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()


    class MachineName(KaitaiStruct):
        """The server's name as the client spells it, a conformant varying string.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.1; DCE 1.1 RPC (C706) section 14.3.4
        """
        SEQ_FIELDS = ["pointer", "string"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.MachineName, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

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
                self._debug['pointer']['start'] = self._io.pos()
                self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
                self.pointer._read()
                self._debug['pointer']['end'] = self._io.pos()

            self._debug['string']['start'] = self._io.pos()
            self.string = ndr.Ndr.ConformantVarying(2, self._root.ndr64, self._root.big_endian, self._io)
            self.string._read()
            self._debug['string']['end'] = self._io.pos()

        def _read_be(self):
            if self._root.has_referent:
                pass
                self._debug['pointer']['start'] = self._io.pos()
                self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
                self.pointer._read()
                self._debug['pointer']['end'] = self._io.pos()

            self._debug['string']['start'] = self._io.pos()
            self.string = ndr.Ndr.ConformantVarying(2, self._root.ndr64, self._root.big_endian, self._io)
            self.string._read()
            self._debug['string']['end'] = self._io.pos()


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
        SEQ_FIELDS = ["machine"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.OpenQueryHandleRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_query_handle_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['machine']['start'] = self._io.pos()
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.machine._read()
            self._debug['machine']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['machine']['start'] = self._io.pos()
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.machine._read()
            self._debug['machine']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.machine._fetch_instances()


    class OpenQueryHandleResponse(KaitaiStruct):
        """PerflibV2OpenQueryHandle, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.4
        """
        SEQ_FIELDS = ["query_handle", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.OpenQueryHandleResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_query_handle_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()


    class QueryCounterDataRequest(KaitaiStruct):
        """PerflibV2QueryCounterData, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.6
        """
        SEQ_FIELDS = ["query_handle", "in_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterDataRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_data_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4le()
            self._debug['in_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4be()
            self._debug['in_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()


    class QueryCounterDataResponse(KaitaiStruct):
        """PerflibV2QueryCounterData, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.6
        """
        SEQ_FIELDS = ["out_size", "rtn_size", "lp_data", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterDataResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_data_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['out_size']['start'] = self._io.pos()
            self.out_size = self._io.read_u4le()
            self._debug['out_size']['end'] = self._io.pos()
            self._debug['rtn_size']['start'] = self._io.pos()
            self.rtn_size = self._io.read_u4le()
            self._debug['rtn_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['out_size']['start'] = self._io.pos()
            self.out_size = self._io.read_u4be()
            self._debug['out_size']['end'] = self._io.pos()
            self._debug['rtn_size']['start'] = self._io.pos()
            self.rtn_size = self._io.read_u4be()
            self._debug['rtn_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()


    class QueryCounterInfoRequest(KaitaiStruct):
        """PerflibV2QueryCounterInfo, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.5
        """
        SEQ_FIELDS = ["query_handle", "in_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterInfoRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_info_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4le()
            self._debug['in_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4be()
            self._debug['in_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()


    class QueryCounterInfoResponse(KaitaiStruct):
        """PerflibV2QueryCounterInfo, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.5
        """
        SEQ_FIELDS = ["out_size", "rtn_size", "lp_data", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterInfoResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_info_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['out_size']['start'] = self._io.pos()
            self.out_size = self._io.read_u4le()
            self._debug['out_size']['end'] = self._io.pos()
            self._debug['rtn_size']['start'] = self._io.pos()
            self.rtn_size = self._io.read_u4le()
            self._debug['rtn_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['out_size']['start'] = self._io.pos()
            self.out_size = self._io.read_u4be()
            self._debug['out_size']['end'] = self._io.pos()
            self._debug['rtn_size']['start'] = self._io.pos()
            self.rtn_size = self._io.read_u4be()
            self._debug['rtn_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()


    class QueryCounterSetRegistrationInfoRequest(KaitaiStruct):
        """PerflibV2QueryCounterSetRegistrationInfo, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.2
        """
        SEQ_FIELDS = ["machine", "align_counterset_guid", "counterset_guid", "request_code", "request_lcid", "in_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterSetRegistrationInfoRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_set_registration_info_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['machine']['start'] = self._io.pos()
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.machine._read()
            self._debug['machine']['end'] = self._io.pos()
            self._debug['align_counterset_guid']['start'] = self._io.pos()
            self.align_counterset_guid = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_counterset_guid']['end'] = self._io.pos()
            self._debug['counterset_guid']['start'] = self._io.pos()
            self.counterset_guid = ndr.Ndr.Uuid(self._root.big_endian, self._io)
            self.counterset_guid._read()
            self._debug['counterset_guid']['end'] = self._io.pos()
            self._debug['request_code']['start'] = self._io.pos()
            self.request_code = KaitaiStream.resolve_enum(ms_pcq.MsPcq.RequestCode, self._io.read_u4le())
            self._debug['request_code']['end'] = self._io.pos()
            self._debug['request_lcid']['start'] = self._io.pos()
            self.request_lcid = self._io.read_u4le()
            self._debug['request_lcid']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4le()
            self._debug['in_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['machine']['start'] = self._io.pos()
            self.machine = MsPcqStubs.MachineName(self._io, self, self._root, self._is_le)
            self.machine._read()
            self._debug['machine']['end'] = self._io.pos()
            self._debug['align_counterset_guid']['start'] = self._io.pos()
            self.align_counterset_guid = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_counterset_guid']['end'] = self._io.pos()
            self._debug['counterset_guid']['start'] = self._io.pos()
            self.counterset_guid = ndr.Ndr.Uuid(self._root.big_endian, self._io)
            self.counterset_guid._read()
            self._debug['counterset_guid']['end'] = self._io.pos()
            self._debug['request_code']['start'] = self._io.pos()
            self.request_code = KaitaiStream.resolve_enum(ms_pcq.MsPcq.RequestCode, self._io.read_u4be())
            self._debug['request_code']['end'] = self._io.pos()
            self._debug['request_lcid']['start'] = self._io.pos()
            self.request_lcid = self._io.read_u4be()
            self._debug['request_lcid']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4be()
            self._debug['in_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.machine._fetch_instances()
            self.counterset_guid._fetch_instances()


    class QueryCounterSetRegistrationInfoResponse(KaitaiStruct):
        """PerflibV2QueryCounterSetRegistrationInfo, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.2
        """
        SEQ_FIELDS = ["out_size", "rtn_size", "lp_data", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.QueryCounterSetRegistrationInfoResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_counter_set_registration_info_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['out_size']['start'] = self._io.pos()
            self.out_size = self._io.read_u4le()
            self._debug['out_size']['end'] = self._io.pos()
            self._debug['rtn_size']['start'] = self._io.pos()
            self.rtn_size = self._io.read_u4le()
            self._debug['rtn_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['out_size']['start'] = self._io.pos()
            self.out_size = self._io.read_u4be()
            self._debug['out_size']['end'] = self._io.pos()
            self._debug['rtn_size']['start'] = self._io.pos()
            self.rtn_size = self._io.read_u4be()
            self._debug['rtn_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()


    class ValidateCountersRequest(KaitaiStruct):
        """PerflibV2ValidateCounters, request.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.7
        """
        SEQ_FIELDS = ["query_handle", "in_size", "lp_data", "align_add", "add"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.ValidateCountersRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/validate_counters_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4le()
            self._debug['in_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_add']['start'] = self._io.pos()
            self.align_add = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_add']['end'] = self._io.pos()
            self._debug['add']['start'] = self._io.pos()
            self.add = self._io.read_u4le()
            self._debug['add']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['query_handle']['start'] = self._io.pos()
            self.query_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.query_handle._read()
            self._debug['query_handle']['end'] = self._io.pos()
            self._debug['in_size']['start'] = self._io.pos()
            self.in_size = self._io.read_u4be()
            self._debug['in_size']['end'] = self._io.pos()
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_add']['start'] = self._io.pos()
            self.align_add = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_add']['end'] = self._io.pos()
            self._debug['add']['start'] = self._io.pos()
            self.add = self._io.read_u4be()
            self._debug['add']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.query_handle._fetch_instances()
            self.lp_data._fetch_instances()


    class ValidateCountersResponse(KaitaiStruct):
        """PerflibV2ValidateCounters, response.
        
        .. seealso::
           MS-PCQ revision 13.0 section 3.1.4.1.7
        """
        SEQ_FIELDS = ["lp_data", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsPcqStubs.ValidateCountersResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/validate_counters_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['lp_data']['start'] = self._io.pos()
            self.lp_data = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
            self.lp_data._read()
            self._debug['lp_data']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.lp_data._fetch_instances()



