# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ndr
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsScmrStubs(KaitaiStruct):
    """The stubs of interface 367abb81-9844-35f1-ad32-98f038001003 version 2.0 that name services and what they run, or use the
    handles of such calls; without authentication padding and verification trailer.
    
    .. seealso::
       MS-SCMR revision 33.0 sections 3.1.4 and 6
    """

    class Control(IntEnum):
        stop = 1
        pause = 2
        resume = 3
        interrogate = 4
        paramchange = 6
        netbindadd = 7
        netbindremove = 8
        netbindenable = 9
        netbinddisable = 10

    class ErrorControl(IntEnum):
        ignore = 0
        normal = 1
        severe = 2
        critical = 3
        no_change = 4294967295

    class ServiceState(IntEnum):
        stopped = 1
        start_pending = 2
        stop_pending = 3
        running = 4
        continue_pending = 5
        pause_pending = 6
        paused = 7

    class ServiceType(IntEnum):
        kernel_driver = 1
        file_system_driver = 2
        own_process = 16
        share_process = 32
        interactive_process = 256

    class StartType(IntEnum):
        boot_start = 0
        system_start = 1
        auto_start = 2
        demand_start = 3
        disabled = 4
        no_change = 4294967295
    SEQ_FIELDS = ["request", "response"]
    def __init__(self, opnum, is_response, ndr64, big_endian, _io, _parent=None, _root=None):
        super(MsScmrStubs, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.opnum = opnum
        self.is_response = is_response
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
                self.request = MsScmrStubs.CloseServiceHandleRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 1:
                pass
                self.request = MsScmrStubs.ControlServiceRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 11:
                pass
                self.request = MsScmrStubs.ChangeServiceConfigWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 12:
                pass
                self.request = MsScmrStubs.CreateServiceWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 15:
                pass
                self.request = MsScmrStubs.OpenScManagerWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 16:
                pass
                self.request = MsScmrStubs.OpenServiceWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 17:
                pass
                self.request = MsScmrStubs.QueryServiceConfigWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 19:
                pass
                self.request = MsScmrStubs.StartServiceWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 2:
                pass
                self.request = MsScmrStubs.DeleteServiceRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 23:
                pass
                self.request = MsScmrStubs.ChangeServiceConfigARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 24:
                pass
                self.request = MsScmrStubs.CreateServiceARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 27:
                pass
                self.request = MsScmrStubs.OpenScManagerARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 28:
                pass
                self.request = MsScmrStubs.OpenServiceARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 29:
                pass
                self.request = MsScmrStubs.QueryServiceConfigARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 31:
                pass
                self.request = MsScmrStubs.StartServiceARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 44:
                pass
                self.request = MsScmrStubs.CreateServiceWow64ARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 45:
                pass
                self.request = MsScmrStubs.CreateServiceWow64WRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 6:
                pass
                self.request = MsScmrStubs.QueryServiceStatusRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 60:
                pass
                self.request = MsScmrStubs.CreateWowServiceRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            self._debug['request']['end'] = self._io.pos()

        if self.is_response:
            pass
            self._debug['response']['start'] = self._io.pos()
            _on = self.opnum
            if _on == 0:
                pass
                self.response = MsScmrStubs.CloseServiceHandleResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 1:
                pass
                self.response = MsScmrStubs.ControlServiceResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 11:
                pass
                self.response = MsScmrStubs.ChangeServiceConfigWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 12:
                pass
                self.response = MsScmrStubs.CreateServiceWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 15:
                pass
                self.response = MsScmrStubs.OpenScManagerWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 16:
                pass
                self.response = MsScmrStubs.OpenServiceWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 17:
                pass
                self.response = MsScmrStubs.QueryServiceConfigWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 19:
                pass
                self.response = MsScmrStubs.StartServiceWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 2:
                pass
                self.response = MsScmrStubs.DeleteServiceResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 23:
                pass
                self.response = MsScmrStubs.ChangeServiceConfigAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 24:
                pass
                self.response = MsScmrStubs.CreateServiceAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 27:
                pass
                self.response = MsScmrStubs.OpenScManagerAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 28:
                pass
                self.response = MsScmrStubs.OpenServiceAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 29:
                pass
                self.response = MsScmrStubs.QueryServiceConfigAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 31:
                pass
                self.response = MsScmrStubs.StartServiceAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 44:
                pass
                self.response = MsScmrStubs.CreateServiceWow64AResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 45:
                pass
                self.response = MsScmrStubs.CreateServiceWow64WResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 6:
                pass
                self.response = MsScmrStubs.QueryServiceStatusResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 60:
                pass
                self.response = MsScmrStubs.CreateWowServiceResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            self._debug['response']['end'] = self._io.pos()


    def _read_be(self):
        if (not (self.is_response)):
            pass
            self._debug['request']['start'] = self._io.pos()
            _on = self.opnum
            if _on == 0:
                pass
                self.request = MsScmrStubs.CloseServiceHandleRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 1:
                pass
                self.request = MsScmrStubs.ControlServiceRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 11:
                pass
                self.request = MsScmrStubs.ChangeServiceConfigWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 12:
                pass
                self.request = MsScmrStubs.CreateServiceWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 15:
                pass
                self.request = MsScmrStubs.OpenScManagerWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 16:
                pass
                self.request = MsScmrStubs.OpenServiceWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 17:
                pass
                self.request = MsScmrStubs.QueryServiceConfigWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 19:
                pass
                self.request = MsScmrStubs.StartServiceWRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 2:
                pass
                self.request = MsScmrStubs.DeleteServiceRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 23:
                pass
                self.request = MsScmrStubs.ChangeServiceConfigARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 24:
                pass
                self.request = MsScmrStubs.CreateServiceARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 27:
                pass
                self.request = MsScmrStubs.OpenScManagerARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 28:
                pass
                self.request = MsScmrStubs.OpenServiceARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 29:
                pass
                self.request = MsScmrStubs.QueryServiceConfigARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 31:
                pass
                self.request = MsScmrStubs.StartServiceARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 44:
                pass
                self.request = MsScmrStubs.CreateServiceWow64ARequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 45:
                pass
                self.request = MsScmrStubs.CreateServiceWow64WRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 6:
                pass
                self.request = MsScmrStubs.QueryServiceStatusRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 60:
                pass
                self.request = MsScmrStubs.CreateWowServiceRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            self._debug['request']['end'] = self._io.pos()

        if self.is_response:
            pass
            self._debug['response']['start'] = self._io.pos()
            _on = self.opnum
            if _on == 0:
                pass
                self.response = MsScmrStubs.CloseServiceHandleResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 1:
                pass
                self.response = MsScmrStubs.ControlServiceResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 11:
                pass
                self.response = MsScmrStubs.ChangeServiceConfigWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 12:
                pass
                self.response = MsScmrStubs.CreateServiceWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 15:
                pass
                self.response = MsScmrStubs.OpenScManagerWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 16:
                pass
                self.response = MsScmrStubs.OpenServiceWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 17:
                pass
                self.response = MsScmrStubs.QueryServiceConfigWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 19:
                pass
                self.response = MsScmrStubs.StartServiceWResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 2:
                pass
                self.response = MsScmrStubs.DeleteServiceResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 23:
                pass
                self.response = MsScmrStubs.ChangeServiceConfigAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 24:
                pass
                self.response = MsScmrStubs.CreateServiceAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 27:
                pass
                self.response = MsScmrStubs.OpenScManagerAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 28:
                pass
                self.response = MsScmrStubs.OpenServiceAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 29:
                pass
                self.response = MsScmrStubs.QueryServiceConfigAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 31:
                pass
                self.response = MsScmrStubs.StartServiceAResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 44:
                pass
                self.response = MsScmrStubs.CreateServiceWow64AResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 45:
                pass
                self.response = MsScmrStubs.CreateServiceWow64WResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 6:
                pass
                self.response = MsScmrStubs.QueryServiceStatusResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 60:
                pass
                self.response = MsScmrStubs.CreateWowServiceResponse(self._io, self, self._root, self._is_le)
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
            elif _on == 11:
                pass
                self.request._fetch_instances()
            elif _on == 12:
                pass
                self.request._fetch_instances()
            elif _on == 15:
                pass
                self.request._fetch_instances()
            elif _on == 16:
                pass
                self.request._fetch_instances()
            elif _on == 17:
                pass
                self.request._fetch_instances()
            elif _on == 19:
                pass
                self.request._fetch_instances()
            elif _on == 2:
                pass
                self.request._fetch_instances()
            elif _on == 23:
                pass
                self.request._fetch_instances()
            elif _on == 24:
                pass
                self.request._fetch_instances()
            elif _on == 27:
                pass
                self.request._fetch_instances()
            elif _on == 28:
                pass
                self.request._fetch_instances()
            elif _on == 29:
                pass
                self.request._fetch_instances()
            elif _on == 31:
                pass
                self.request._fetch_instances()
            elif _on == 44:
                pass
                self.request._fetch_instances()
            elif _on == 45:
                pass
                self.request._fetch_instances()
            elif _on == 6:
                pass
                self.request._fetch_instances()
            elif _on == 60:
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
            elif _on == 11:
                pass
                self.response._fetch_instances()
            elif _on == 12:
                pass
                self.response._fetch_instances()
            elif _on == 15:
                pass
                self.response._fetch_instances()
            elif _on == 16:
                pass
                self.response._fetch_instances()
            elif _on == 17:
                pass
                self.response._fetch_instances()
            elif _on == 19:
                pass
                self.response._fetch_instances()
            elif _on == 2:
                pass
                self.response._fetch_instances()
            elif _on == 23:
                pass
                self.response._fetch_instances()
            elif _on == 24:
                pass
                self.response._fetch_instances()
            elif _on == 27:
                pass
                self.response._fetch_instances()
            elif _on == 28:
                pass
                self.response._fetch_instances()
            elif _on == 29:
                pass
                self.response._fetch_instances()
            elif _on == 31:
                pass
                self.response._fetch_instances()
            elif _on == 44:
                pass
                self.response._fetch_instances()
            elif _on == 45:
                pass
                self.response._fetch_instances()
            elif _on == 6:
                pass
                self.response._fetch_instances()
            elif _on == 60:
                pass
                self.response._fetch_instances()


    class Argument(KaitaiStruct):
        """What a pointer of the array points to.
        
        .. seealso::
           MS-SCMR revision 33.0 section 2.2.32
        """
        SEQ_FIELDS = ["wide", "narrow"]
        def __init__(self, is_there, is_narrow, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.Argument, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.is_there = is_there
            self.is_narrow = is_narrow
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/argument")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            if  ((self.is_there) and ((not (self.is_narrow)))) :
                pass
                self._debug['wide']['start'] = self._io.pos()
                self.wide = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
                self.wide._read()
                self._debug['wide']['end'] = self._io.pos()

            if  ((self.is_there) and (self.is_narrow)) :
                pass
                self._debug['narrow']['start'] = self._io.pos()
                self.narrow = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
                self.narrow._read()
                self._debug['narrow']['end'] = self._io.pos()


        def _read_be(self):
            if  ((self.is_there) and ((not (self.is_narrow)))) :
                pass
                self._debug['wide']['start'] = self._io.pos()
                self.wide = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
                self.wide._read()
                self._debug['wide']['end'] = self._io.pos()

            if  ((self.is_there) and (self.is_narrow)) :
                pass
                self._debug['narrow']['start'] = self._io.pos()
                self.narrow = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
                self.narrow._read()
                self._debug['narrow']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            if  ((self.is_there) and ((not (self.is_narrow)))) :
                pass
                self.wide._fetch_instances()

            if  ((self.is_there) and (self.is_narrow)) :
                pass
                self.narrow._fetch_instances()



    class ArgumentArray(KaitaiStruct):
        """A count, that many pointers, and the strings of those that are not null.
        
        .. seealso::
           MS-SCMR revision 33.0 section 2.2.32; DCE 1.1 RPC (C706) section 14.3.3.2
        """
        SEQ_FIELDS = ["align_counts", "max_count", "pointers", "strings"]
        def __init__(self, is_narrow, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.ArgumentArray, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.is_narrow = is_narrow
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/argument_array")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_counts']['start'] = self._io.pos()
            self.align_counts = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self._root.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_counts']['end'] = self._io.pos()
            self._debug['max_count']['start'] = self._io.pos()
            _on = self._root.ndr64
            if _on == False:
                pass
                self.max_count = self._io.read_u4le()
            elif _on == True:
                pass
                self.max_count = self._io.read_u8le()
            self._debug['max_count']['end'] = self._io.pos()
            self._debug['pointers']['start'] = self._io.pos()
            self._debug['pointers']['arr'] = []
            self.pointers = []
            for i in range(self.max_count):
                self._debug['pointers']['arr'].append({'start': self._io.pos()})
                _t_pointers = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
                try:
                    _t_pointers._read()
                finally:
                    self.pointers.append(_t_pointers)
                self._debug['pointers']['arr'][i]['end'] = self._io.pos()

            self._debug['pointers']['end'] = self._io.pos()
            self._debug['strings']['start'] = self._io.pos()
            self._debug['strings']['arr'] = []
            self.strings = []
            for i in range(self.max_count):
                self._debug['strings']['arr'].append({'start': self._io.pos()})
                _t_strings = MsScmrStubs.Argument(self.pointers[i].referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
                try:
                    _t_strings._read()
                finally:
                    self.strings.append(_t_strings)
                self._debug['strings']['arr'][i]['end'] = self._io.pos()

            self._debug['strings']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_counts']['start'] = self._io.pos()
            self.align_counts = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self._root.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_counts']['end'] = self._io.pos()
            self._debug['max_count']['start'] = self._io.pos()
            _on = self._root.ndr64
            if _on == False:
                pass
                self.max_count = self._io.read_u4be()
            elif _on == True:
                pass
                self.max_count = self._io.read_u8be()
            self._debug['max_count']['end'] = self._io.pos()
            self._debug['pointers']['start'] = self._io.pos()
            self._debug['pointers']['arr'] = []
            self.pointers = []
            for i in range(self.max_count):
                self._debug['pointers']['arr'].append({'start': self._io.pos()})
                _t_pointers = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
                try:
                    _t_pointers._read()
                finally:
                    self.pointers.append(_t_pointers)
                self._debug['pointers']['arr'][i]['end'] = self._io.pos()

            self._debug['pointers']['end'] = self._io.pos()
            self._debug['strings']['start'] = self._io.pos()
            self._debug['strings']['arr'] = []
            self.strings = []
            for i in range(self.max_count):
                self._debug['strings']['arr'].append({'start': self._io.pos()})
                _t_strings = MsScmrStubs.Argument(self.pointers[i].referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
                try:
                    _t_strings._read()
                finally:
                    self.strings.append(_t_strings)
                self._debug['strings']['arr'][i]['end'] = self._io.pos()

            self._debug['strings']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            _on = self._root.ndr64
            if _on == False:
                pass
            elif _on == True:
                pass
            for i in range(len(self.pointers)):
                pass
                self.pointers[i]._fetch_instances()

            for i in range(len(self.strings)):
                pass
                self.strings[i]._fetch_instances()



    class Arguments(KaitaiStruct):
        """A unique pointer to an array of unique pointers to strings. What they point to follows the whole array.
        
        .. seealso::
           MS-SCMR revision 33.0 sections 2.2.32 and 3.1.4.19; DCE 1.1 RPC (C706) section 14.3.12.3
        """
        SEQ_FIELDS = ["pointer", "array"]
        def __init__(self, is_narrow, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.Arguments, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.is_narrow = is_narrow
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/arguments")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['array']['start'] = self._io.pos()
                self.array = MsScmrStubs.ArgumentArray(self.is_narrow, self._io, self, self._root, self._is_le)
                self.array._read()
                self._debug['array']['end'] = self._io.pos()


        def _read_be(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['array']['start'] = self._io.pos()
                self.array = MsScmrStubs.ArgumentArray(self.is_narrow, self._io, self, self._root, self._is_le)
                self.array._read()
                self._debug['array']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.pointer._fetch_instances()
            if self.pointer.referent != 0:
                pass
                self.array._fetch_instances()



    class ChangeServiceConfigARequest(KaitaiStruct):
        """RChangeServiceConfigA, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.22
        """
        SEQ_FIELDS = ["handle", "align_service_type", "service_type", "align_start_type", "start_type", "align_error_control", "error_control", "binary_path_name", "load_order_group", "tag_id", "dependencies", "align_depend_size", "depend_size", "service_start_name", "password", "align_pw_size", "pw_size", "display_name"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.ChangeServiceConfigARequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/change_service_config_a_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4le()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4le())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4le())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4le()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4le()
            self._debug['pw_size']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4be()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4be())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4be())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4be()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4be()
            self._debug['pw_size']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.handle._fetch_instances()
            self.binary_path_name._fetch_instances()
            self.load_order_group._fetch_instances()
            self.tag_id._fetch_instances()
            self.dependencies._fetch_instances()
            self.service_start_name._fetch_instances()
            self.password._fetch_instances()
            self.display_name._fetch_instances()


    class ChangeServiceConfigAResponse(KaitaiStruct):
        """RChangeServiceConfigA, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.22
        """
        SEQ_FIELDS = ["tag_id", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.ChangeServiceConfigAResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/change_service_config_a_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.tag_id._fetch_instances()


    class ChangeServiceConfigWRequest(KaitaiStruct):
        """RChangeServiceConfigW, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.11
        """
        SEQ_FIELDS = ["handle", "align_service_type", "service_type", "align_start_type", "start_type", "align_error_control", "error_control", "binary_path_name", "load_order_group", "tag_id", "dependencies", "align_depend_size", "depend_size", "service_start_name", "password", "align_pw_size", "pw_size", "display_name"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.ChangeServiceConfigWRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/change_service_config_w_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4le()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4le())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4le())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4le()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4le()
            self._debug['pw_size']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4be()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4be())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4be())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4be()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4be()
            self._debug['pw_size']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.handle._fetch_instances()
            self.binary_path_name._fetch_instances()
            self.load_order_group._fetch_instances()
            self.tag_id._fetch_instances()
            self.dependencies._fetch_instances()
            self.service_start_name._fetch_instances()
            self.password._fetch_instances()
            self.display_name._fetch_instances()


    class ChangeServiceConfigWResponse(KaitaiStruct):
        """RChangeServiceConfigW, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.11
        """
        SEQ_FIELDS = ["tag_id", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.ChangeServiceConfigWResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/change_service_config_w_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.tag_id._fetch_instances()


    class CloseServiceHandleRequest(KaitaiStruct):
        """RCloseServiceHandle, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.1
        """
        SEQ_FIELDS = ["object"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CloseServiceHandleRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/close_service_handle_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['object']['start'] = self._io.pos()
            self.object = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.object._read()
            self._debug['object']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['object']['start'] = self._io.pos()
            self.object = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.object._read()
            self._debug['object']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.object._fetch_instances()


    class CloseServiceHandleResponse(KaitaiStruct):
        """RCloseServiceHandle, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.1
        """
        SEQ_FIELDS = ["object", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CloseServiceHandleResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/close_service_handle_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['object']['start'] = self._io.pos()
            self.object = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.object._read()
            self._debug['object']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['object']['start'] = self._io.pos()
            self.object = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.object._read()
            self._debug['object']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.object._fetch_instances()


    class ControlServiceRequest(KaitaiStruct):
        """RControlService, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.2
        """
        SEQ_FIELDS = ["handle", "align_control", "control"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.ControlServiceRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/control_service_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_control']['start'] = self._io.pos()
            self.align_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_control']['end'] = self._io.pos()
            self._debug['control']['start'] = self._io.pos()
            self.control = KaitaiStream.resolve_enum(MsScmrStubs.Control, self._io.read_u4le())
            self._debug['control']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_control']['start'] = self._io.pos()
            self.align_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_control']['end'] = self._io.pos()
            self._debug['control']['start'] = self._io.pos()
            self.control = KaitaiStream.resolve_enum(MsScmrStubs.Control, self._io.read_u4be())
            self._debug['control']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.handle._fetch_instances()


    class ControlServiceResponse(KaitaiStruct):
        """RControlService, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.2
        """
        SEQ_FIELDS = ["service_status", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.ControlServiceResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/control_service_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['service_status']['start'] = self._io.pos()
            self.service_status = MsScmrStubs.ServiceStatus(self._io, self, self._root, self._is_le)
            self.service_status._read()
            self._debug['service_status']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['service_status']['start'] = self._io.pos()
            self.service_status = MsScmrStubs.ServiceStatus(self._io, self, self._root, self._is_le)
            self.service_status._read()
            self._debug['service_status']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.service_status._fetch_instances()


    class CreateServiceARequest(KaitaiStruct):
        """RCreateServiceA, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.23
        """
        SEQ_FIELDS = ["manager", "service_name", "display_name", "align_desired_access", "desired_access", "align_service_type", "service_type", "align_start_type", "start_type", "align_error_control", "error_control", "binary_path_name", "load_order_group", "tag_id", "dependencies", "align_depend_size", "depend_size", "service_start_name", "password", "align_pw_size", "pw_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CreateServiceARequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/create_service_a_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4le()
            self._debug['desired_access']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4le()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4le())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4le())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4le()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4le()
            self._debug['pw_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4be()
            self._debug['desired_access']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4be()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4be())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4be())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4be()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4be()
            self._debug['pw_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.manager._fetch_instances()
            self.service_name._fetch_instances()
            self.display_name._fetch_instances()
            self.binary_path_name._fetch_instances()
            self.load_order_group._fetch_instances()
            self.tag_id._fetch_instances()
            self.dependencies._fetch_instances()
            self.service_start_name._fetch_instances()
            self.password._fetch_instances()


    class CreateServiceAResponse(KaitaiStruct):
        """RCreateServiceA, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.23
        """
        SEQ_FIELDS = ["tag_id", "service_handle", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CreateServiceAResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/create_service_a_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.tag_id._fetch_instances()
            self.service_handle._fetch_instances()


    class CreateServiceWRequest(KaitaiStruct):
        """RCreateServiceW, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.12
        """
        SEQ_FIELDS = ["manager", "service_name", "display_name", "align_desired_access", "desired_access", "align_service_type", "service_type", "align_start_type", "start_type", "align_error_control", "error_control", "binary_path_name", "load_order_group", "tag_id", "dependencies", "align_depend_size", "depend_size", "service_start_name", "password", "align_pw_size", "pw_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CreateServiceWRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/create_service_w_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4le()
            self._debug['desired_access']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4le()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4le())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4le())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4le()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4le()
            self._debug['pw_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4be()
            self._debug['desired_access']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4be()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4be())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4be())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4be()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4be()
            self._debug['pw_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.manager._fetch_instances()
            self.service_name._fetch_instances()
            self.display_name._fetch_instances()
            self.binary_path_name._fetch_instances()
            self.load_order_group._fetch_instances()
            self.tag_id._fetch_instances()
            self.dependencies._fetch_instances()
            self.service_start_name._fetch_instances()
            self.password._fetch_instances()


    class CreateServiceWResponse(KaitaiStruct):
        """RCreateServiceW, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.12
        """
        SEQ_FIELDS = ["tag_id", "service_handle", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CreateServiceWResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/create_service_w_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.tag_id._fetch_instances()
            self.service_handle._fetch_instances()


    class CreateServiceWow64ARequest(KaitaiStruct):
        """RCreateServiceWOW64A, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.40
        """
        SEQ_FIELDS = ["manager", "service_name", "display_name", "align_desired_access", "desired_access", "align_service_type", "service_type", "align_start_type", "start_type", "align_error_control", "error_control", "binary_path_name", "load_order_group", "tag_id", "dependencies", "align_depend_size", "depend_size", "service_start_name", "password", "align_pw_size", "pw_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CreateServiceWow64ARequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/create_service_wow64_a_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4le()
            self._debug['desired_access']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4le()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4le())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4le())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4le()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4le()
            self._debug['pw_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4be()
            self._debug['desired_access']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4be()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4be())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4be())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4be()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4be()
            self._debug['pw_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.manager._fetch_instances()
            self.service_name._fetch_instances()
            self.display_name._fetch_instances()
            self.binary_path_name._fetch_instances()
            self.load_order_group._fetch_instances()
            self.tag_id._fetch_instances()
            self.dependencies._fetch_instances()
            self.service_start_name._fetch_instances()
            self.password._fetch_instances()


    class CreateServiceWow64AResponse(KaitaiStruct):
        """RCreateServiceWOW64A, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.40
        """
        SEQ_FIELDS = ["tag_id", "service_handle", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CreateServiceWow64AResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/create_service_wow64_a_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.tag_id._fetch_instances()
            self.service_handle._fetch_instances()


    class CreateServiceWow64WRequest(KaitaiStruct):
        """RCreateServiceWOW64W, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.41
        """
        SEQ_FIELDS = ["manager", "service_name", "display_name", "align_desired_access", "desired_access", "align_service_type", "service_type", "align_start_type", "start_type", "align_error_control", "error_control", "binary_path_name", "load_order_group", "tag_id", "dependencies", "align_depend_size", "depend_size", "service_start_name", "password", "align_pw_size", "pw_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CreateServiceWow64WRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/create_service_wow64_w_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4le()
            self._debug['desired_access']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4le()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4le())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4le())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4le()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4le()
            self._debug['pw_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4be()
            self._debug['desired_access']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4be()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4be())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4be())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4be()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4be()
            self._debug['pw_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.manager._fetch_instances()
            self.service_name._fetch_instances()
            self.display_name._fetch_instances()
            self.binary_path_name._fetch_instances()
            self.load_order_group._fetch_instances()
            self.tag_id._fetch_instances()
            self.dependencies._fetch_instances()
            self.service_start_name._fetch_instances()
            self.password._fetch_instances()


    class CreateServiceWow64WResponse(KaitaiStruct):
        """RCreateServiceWOW64W, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.41
        """
        SEQ_FIELDS = ["tag_id", "service_handle", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CreateServiceWow64WResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/create_service_wow64_w_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.tag_id._fetch_instances()
            self.service_handle._fetch_instances()


    class CreateWowServiceRequest(KaitaiStruct):
        """RCreateWowService, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.48
        """
        SEQ_FIELDS = ["manager", "service_name", "display_name", "align_desired_access", "desired_access", "align_service_type", "service_type", "align_start_type", "start_type", "align_error_control", "error_control", "binary_path_name", "load_order_group", "tag_id", "dependencies", "align_depend_size", "depend_size", "service_start_name", "password", "align_pw_size", "pw_size", "align_wow_type", "wow_type"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CreateWowServiceRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/create_wow_service_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4le()
            self._debug['desired_access']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4le()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4le())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4le())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4le()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4le()
            self._debug['pw_size']['end'] = self._io.pos()
            self._debug['align_wow_type']['start'] = self._io.pos()
            self.align_wow_type = self._io.read_bytes((2 - self._io.pos() % 2) % 2)
            self._debug['align_wow_type']['end'] = self._io.pos()
            self._debug['wow_type']['start'] = self._io.pos()
            self.wow_type = self._io.read_u2le()
            self._debug['wow_type']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4be()
            self._debug['desired_access']['end'] = self._io.pos()
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4be()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['align_start_type']['start'] = self._io.pos()
            self.align_start_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_start_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4be())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['align_error_control']['start'] = self._io.pos()
            self.align_error_control = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_error_control']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4be())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['align_depend_size']['start'] = self._io.pos()
            self.align_depend_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_depend_size']['end'] = self._io.pos()
            self._debug['depend_size']['start'] = self._io.pos()
            self.depend_size = self._io.read_u4be()
            self._debug['depend_size']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['password']['start'] = self._io.pos()
            self.password = MsScmrStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.password._read()
            self._debug['password']['end'] = self._io.pos()
            self._debug['align_pw_size']['start'] = self._io.pos()
            self.align_pw_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_pw_size']['end'] = self._io.pos()
            self._debug['pw_size']['start'] = self._io.pos()
            self.pw_size = self._io.read_u4be()
            self._debug['pw_size']['end'] = self._io.pos()
            self._debug['align_wow_type']['start'] = self._io.pos()
            self.align_wow_type = self._io.read_bytes((2 - self._io.pos() % 2) % 2)
            self._debug['align_wow_type']['end'] = self._io.pos()
            self._debug['wow_type']['start'] = self._io.pos()
            self.wow_type = self._io.read_u2be()
            self._debug['wow_type']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.manager._fetch_instances()
            self.service_name._fetch_instances()
            self.display_name._fetch_instances()
            self.binary_path_name._fetch_instances()
            self.load_order_group._fetch_instances()
            self.tag_id._fetch_instances()
            self.dependencies._fetch_instances()
            self.service_start_name._fetch_instances()
            self.password._fetch_instances()


    class CreateWowServiceResponse(KaitaiStruct):
        """RCreateWowService, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.48
        """
        SEQ_FIELDS = ["tag_id", "service_handle", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.CreateWowServiceResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/create_wow_service_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = MsScmrStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.tag_id._read()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.tag_id._fetch_instances()
            self.service_handle._fetch_instances()


    class DeleteServiceRequest(KaitaiStruct):
        """RDeleteService, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.3
        """
        SEQ_FIELDS = ["handle"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.DeleteServiceRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/delete_service_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.handle._fetch_instances()


    class DeleteServiceResponse(KaitaiStruct):
        """RDeleteService, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.3
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.DeleteServiceResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/delete_service_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class NarrowText(KaitaiStruct):
        """A string of single-byte characters in the code page of the client, with its NUL.
        
        .. seealso::
           MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.4
        """
        SEQ_FIELDS = ["string"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.NarrowText, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/narrow_text")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['string']['start'] = self._io.pos()
            self.string = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.string._read()
            self._debug['string']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['string']['start'] = self._io.pos()
            self.string = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
            self.string._read()
            self._debug['string']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.string._fetch_instances()


    class OpenScManagerARequest(KaitaiStruct):
        """ROpenSCManagerA, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.26
        """
        SEQ_FIELDS = ["machine_name", "database_name", "align_desired_access", "desired_access"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OpenScManagerARequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_sc_manager_a_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['machine_name']['start'] = self._io.pos()
            self.machine_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.machine_name._read()
            self._debug['machine_name']['end'] = self._io.pos()
            self._debug['database_name']['start'] = self._io.pos()
            self.database_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.database_name._read()
            self._debug['database_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4le()
            self._debug['desired_access']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['machine_name']['start'] = self._io.pos()
            self.machine_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.machine_name._read()
            self._debug['machine_name']['end'] = self._io.pos()
            self._debug['database_name']['start'] = self._io.pos()
            self.database_name = MsScmrStubs.OptionalNarrowText(self._io, self, self._root, self._is_le)
            self.database_name._read()
            self._debug['database_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4be()
            self._debug['desired_access']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.machine_name._fetch_instances()
            self.database_name._fetch_instances()


    class OpenScManagerAResponse(KaitaiStruct):
        """ROpenSCManagerA, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.26
        """
        SEQ_FIELDS = ["manager_handle", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OpenScManagerAResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_sc_manager_a_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['manager_handle']['start'] = self._io.pos()
            self.manager_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager_handle._read()
            self._debug['manager_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['manager_handle']['start'] = self._io.pos()
            self.manager_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager_handle._read()
            self._debug['manager_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.manager_handle._fetch_instances()


    class OpenScManagerWRequest(KaitaiStruct):
        """ROpenSCManagerW, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.15
        """
        SEQ_FIELDS = ["machine_name", "database_name", "align_desired_access", "desired_access"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OpenScManagerWRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_sc_manager_w_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['machine_name']['start'] = self._io.pos()
            self.machine_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.machine_name._read()
            self._debug['machine_name']['end'] = self._io.pos()
            self._debug['database_name']['start'] = self._io.pos()
            self.database_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.database_name._read()
            self._debug['database_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4le()
            self._debug['desired_access']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['machine_name']['start'] = self._io.pos()
            self.machine_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.machine_name._read()
            self._debug['machine_name']['end'] = self._io.pos()
            self._debug['database_name']['start'] = self._io.pos()
            self.database_name = MsScmrStubs.OptionalText(self._io, self, self._root, self._is_le)
            self.database_name._read()
            self._debug['database_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4be()
            self._debug['desired_access']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.machine_name._fetch_instances()
            self.database_name._fetch_instances()


    class OpenScManagerWResponse(KaitaiStruct):
        """ROpenSCManagerW, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.15
        """
        SEQ_FIELDS = ["manager_handle", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OpenScManagerWResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_sc_manager_w_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['manager_handle']['start'] = self._io.pos()
            self.manager_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager_handle._read()
            self._debug['manager_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['manager_handle']['start'] = self._io.pos()
            self.manager_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager_handle._read()
            self._debug['manager_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.manager_handle._fetch_instances()


    class OpenServiceARequest(KaitaiStruct):
        """ROpenServiceA, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.27
        """
        SEQ_FIELDS = ["manager", "service_name", "align_desired_access", "desired_access"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OpenServiceARequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_service_a_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4le()
            self._debug['desired_access']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4be()
            self._debug['desired_access']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.manager._fetch_instances()
            self.service_name._fetch_instances()


    class OpenServiceAResponse(KaitaiStruct):
        """ROpenServiceA, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.27
        """
        SEQ_FIELDS = ["service_handle", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OpenServiceAResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_service_a_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.service_handle._fetch_instances()


    class OpenServiceWRequest(KaitaiStruct):
        """ROpenServiceW, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.16
        """
        SEQ_FIELDS = ["manager", "service_name", "align_desired_access", "desired_access"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OpenServiceWRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_service_w_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4le()
            self._debug['desired_access']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['manager']['start'] = self._io.pos()
            self.manager = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.manager._read()
            self._debug['manager']['end'] = self._io.pos()
            self._debug['service_name']['start'] = self._io.pos()
            self.service_name = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
            self.service_name._read()
            self._debug['service_name']['end'] = self._io.pos()
            self._debug['align_desired_access']['start'] = self._io.pos()
            self.align_desired_access = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_desired_access']['end'] = self._io.pos()
            self._debug['desired_access']['start'] = self._io.pos()
            self.desired_access = self._io.read_u4be()
            self._debug['desired_access']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.manager._fetch_instances()
            self.service_name._fetch_instances()


    class OpenServiceWResponse(KaitaiStruct):
        """ROpenServiceW, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.16
        """
        SEQ_FIELDS = ["service_handle", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OpenServiceWResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_service_w_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['service_handle']['start'] = self._io.pos()
            self.service_handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.service_handle._read()
            self._debug['service_handle']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.service_handle._fetch_instances()


    class OptionalData(KaitaiStruct):
        """A unique pointer to bytes.
        
        .. seealso::
           MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
        """
        SEQ_FIELDS = ["pointer", "array"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OptionalData, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/optional_data")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['array']['start'] = self._io.pos()
                self.array = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
                self.array._read()
                self._debug['array']['end'] = self._io.pos()


        def _read_be(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['array']['start'] = self._io.pos()
                self.array = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
                self.array._read()
                self._debug['array']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.pointer._fetch_instances()
            if self.pointer.referent != 0:
                pass
                self.array._fetch_instances()



    class OptionalNarrowText(KaitaiStruct):
        """A unique pointer to a string of single-byte characters.
        
        .. seealso::
           MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
        """
        SEQ_FIELDS = ["pointer", "value"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OptionalNarrowText, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/optional_narrow_text")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
                self.value._read()
                self._debug['value']['end'] = self._io.pos()


        def _read_be(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = MsScmrStubs.NarrowText(self._io, self, self._root, self._is_le)
                self.value._read()
                self._debug['value']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.pointer._fetch_instances()
            if self.pointer.referent != 0:
                pass
                self.value._fetch_instances()



    class OptionalText(KaitaiStruct):
        """A unique pointer to a string of 16-bit characters.
        
        .. seealso::
           MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
        """
        SEQ_FIELDS = ["pointer", "value"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OptionalText, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/optional_text")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
                self.value._read()
                self._debug['value']['end'] = self._io.pos()


        def _read_be(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = MsScmrStubs.Text(self._io, self, self._root, self._is_le)
                self.value._read()
                self._debug['value']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.pointer._fetch_instances()
            if self.pointer.referent != 0:
                pass
                self.value._fetch_instances()



    class OptionalU4(KaitaiStruct):
        """A unique pointer to a 32-bit integer.
        
        .. seealso::
           MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
        """
        SEQ_FIELDS = ["pointer", "value"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.OptionalU4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/optional_u4")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = self._io.read_u4le()
                self._debug['value']['end'] = self._io.pos()


        def _read_be(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = self._io.read_u4be()
                self._debug['value']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.pointer._fetch_instances()
            if self.pointer.referent != 0:
                pass



    class QueryServiceConfigARequest(KaitaiStruct):
        """RQueryServiceConfigA, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.28
        """
        SEQ_FIELDS = ["handle", "align_buf_size", "buf_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.QueryServiceConfigARequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_service_config_a_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_buf_size']['start'] = self._io.pos()
            self.align_buf_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_buf_size']['end'] = self._io.pos()
            self._debug['buf_size']['start'] = self._io.pos()
            self.buf_size = self._io.read_u4le()
            self._debug['buf_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_buf_size']['start'] = self._io.pos()
            self.align_buf_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_buf_size']['end'] = self._io.pos()
            self._debug['buf_size']['start'] = self._io.pos()
            self.buf_size = self._io.read_u4be()
            self._debug['buf_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.handle._fetch_instances()


    class QueryServiceConfigAResponse(KaitaiStruct):
        """RQueryServiceConfigA, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.28
        """
        SEQ_FIELDS = ["service_config", "align_bytes_needed", "bytes_needed", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.QueryServiceConfigAResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_service_config_a_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['service_config']['start'] = self._io.pos()
            self.service_config = MsScmrStubs.ServiceConfig(True, self._io, self, self._root, self._is_le)
            self.service_config._read()
            self._debug['service_config']['end'] = self._io.pos()
            self._debug['align_bytes_needed']['start'] = self._io.pos()
            self.align_bytes_needed = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_bytes_needed']['end'] = self._io.pos()
            self._debug['bytes_needed']['start'] = self._io.pos()
            self.bytes_needed = self._io.read_u4le()
            self._debug['bytes_needed']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['service_config']['start'] = self._io.pos()
            self.service_config = MsScmrStubs.ServiceConfig(True, self._io, self, self._root, self._is_le)
            self.service_config._read()
            self._debug['service_config']['end'] = self._io.pos()
            self._debug['align_bytes_needed']['start'] = self._io.pos()
            self.align_bytes_needed = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_bytes_needed']['end'] = self._io.pos()
            self._debug['bytes_needed']['start'] = self._io.pos()
            self.bytes_needed = self._io.read_u4be()
            self._debug['bytes_needed']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.service_config._fetch_instances()


    class QueryServiceConfigWRequest(KaitaiStruct):
        """RQueryServiceConfigW, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.17
        """
        SEQ_FIELDS = ["handle", "align_buf_size", "buf_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.QueryServiceConfigWRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_service_config_w_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_buf_size']['start'] = self._io.pos()
            self.align_buf_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_buf_size']['end'] = self._io.pos()
            self._debug['buf_size']['start'] = self._io.pos()
            self.buf_size = self._io.read_u4le()
            self._debug['buf_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_buf_size']['start'] = self._io.pos()
            self.align_buf_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_buf_size']['end'] = self._io.pos()
            self._debug['buf_size']['start'] = self._io.pos()
            self.buf_size = self._io.read_u4be()
            self._debug['buf_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.handle._fetch_instances()


    class QueryServiceConfigWResponse(KaitaiStruct):
        """RQueryServiceConfigW, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.17
        """
        SEQ_FIELDS = ["service_config", "align_bytes_needed", "bytes_needed", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.QueryServiceConfigWResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_service_config_w_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['service_config']['start'] = self._io.pos()
            self.service_config = MsScmrStubs.ServiceConfig(False, self._io, self, self._root, self._is_le)
            self.service_config._read()
            self._debug['service_config']['end'] = self._io.pos()
            self._debug['align_bytes_needed']['start'] = self._io.pos()
            self.align_bytes_needed = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_bytes_needed']['end'] = self._io.pos()
            self._debug['bytes_needed']['start'] = self._io.pos()
            self.bytes_needed = self._io.read_u4le()
            self._debug['bytes_needed']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['service_config']['start'] = self._io.pos()
            self.service_config = MsScmrStubs.ServiceConfig(False, self._io, self, self._root, self._is_le)
            self.service_config._read()
            self._debug['service_config']['end'] = self._io.pos()
            self._debug['align_bytes_needed']['start'] = self._io.pos()
            self.align_bytes_needed = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_bytes_needed']['end'] = self._io.pos()
            self._debug['bytes_needed']['start'] = self._io.pos()
            self.bytes_needed = self._io.read_u4be()
            self._debug['bytes_needed']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.service_config._fetch_instances()


    class QueryServiceStatusRequest(KaitaiStruct):
        """RQueryServiceStatus, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.7
        """
        SEQ_FIELDS = ["handle"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.QueryServiceStatusRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_service_status_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.handle._fetch_instances()


    class QueryServiceStatusResponse(KaitaiStruct):
        """RQueryServiceStatus, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.7
        """
        SEQ_FIELDS = ["service_status", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.QueryServiceStatusResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/query_service_status_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['service_status']['start'] = self._io.pos()
            self.service_status = MsScmrStubs.ServiceStatus(self._io, self, self._root, self._is_le)
            self.service_status._read()
            self._debug['service_status']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['service_status']['start'] = self._io.pos()
            self.service_status = MsScmrStubs.ServiceStatus(self._io, self, self._root, self._is_le)
            self.service_status._read()
            self._debug['service_status']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.service_status._fetch_instances()


    class ServiceConfig(KaitaiStruct):
        """How a service is configured. What its pointers point to follows the structure.
        
        .. seealso::
           MS-SCMR revision 33.0 section 2.2.15
        """
        SEQ_FIELDS = ["align_service_type", "service_type", "start_type", "error_control", "binary_path_name_pointer", "load_order_group_pointer", "tag_id", "dependencies_pointer", "service_start_name_pointer", "display_name_pointer", "binary_path_name", "load_order_group", "dependencies", "service_start_name", "display_name"]
        def __init__(self, is_narrow, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.ServiceConfig, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.is_narrow = is_narrow
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/service_config")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self._root.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4le()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4le())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4le())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name_pointer']['start'] = self._io.pos()
            self.binary_path_name_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.binary_path_name_pointer._read()
            self._debug['binary_path_name_pointer']['end'] = self._io.pos()
            self._debug['load_order_group_pointer']['start'] = self._io.pos()
            self.load_order_group_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.load_order_group_pointer._read()
            self._debug['load_order_group_pointer']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = self._io.read_u4le()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies_pointer']['start'] = self._io.pos()
            self.dependencies_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.dependencies_pointer._read()
            self._debug['dependencies_pointer']['end'] = self._io.pos()
            self._debug['service_start_name_pointer']['start'] = self._io.pos()
            self.service_start_name_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.service_start_name_pointer._read()
            self._debug['service_start_name_pointer']['end'] = self._io.pos()
            self._debug['display_name_pointer']['start'] = self._io.pos()
            self.display_name_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.display_name_pointer._read()
            self._debug['display_name_pointer']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.Argument(self.binary_path_name_pointer.referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.Argument(self.load_order_group_pointer.referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.Argument(self.dependencies_pointer.referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.Argument(self.service_start_name_pointer.referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.Argument(self.display_name_pointer.referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self._root.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4be()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['start_type']['start'] = self._io.pos()
            self.start_type = KaitaiStream.resolve_enum(MsScmrStubs.StartType, self._io.read_u4be())
            self._debug['start_type']['end'] = self._io.pos()
            self._debug['error_control']['start'] = self._io.pos()
            self.error_control = KaitaiStream.resolve_enum(MsScmrStubs.ErrorControl, self._io.read_u4be())
            self._debug['error_control']['end'] = self._io.pos()
            self._debug['binary_path_name_pointer']['start'] = self._io.pos()
            self.binary_path_name_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.binary_path_name_pointer._read()
            self._debug['binary_path_name_pointer']['end'] = self._io.pos()
            self._debug['load_order_group_pointer']['start'] = self._io.pos()
            self.load_order_group_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.load_order_group_pointer._read()
            self._debug['load_order_group_pointer']['end'] = self._io.pos()
            self._debug['tag_id']['start'] = self._io.pos()
            self.tag_id = self._io.read_u4be()
            self._debug['tag_id']['end'] = self._io.pos()
            self._debug['dependencies_pointer']['start'] = self._io.pos()
            self.dependencies_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.dependencies_pointer._read()
            self._debug['dependencies_pointer']['end'] = self._io.pos()
            self._debug['service_start_name_pointer']['start'] = self._io.pos()
            self.service_start_name_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.service_start_name_pointer._read()
            self._debug['service_start_name_pointer']['end'] = self._io.pos()
            self._debug['display_name_pointer']['start'] = self._io.pos()
            self.display_name_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.display_name_pointer._read()
            self._debug['display_name_pointer']['end'] = self._io.pos()
            self._debug['binary_path_name']['start'] = self._io.pos()
            self.binary_path_name = MsScmrStubs.Argument(self.binary_path_name_pointer.referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
            self.binary_path_name._read()
            self._debug['binary_path_name']['end'] = self._io.pos()
            self._debug['load_order_group']['start'] = self._io.pos()
            self.load_order_group = MsScmrStubs.Argument(self.load_order_group_pointer.referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
            self.load_order_group._read()
            self._debug['load_order_group']['end'] = self._io.pos()
            self._debug['dependencies']['start'] = self._io.pos()
            self.dependencies = MsScmrStubs.Argument(self.dependencies_pointer.referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
            self.dependencies._read()
            self._debug['dependencies']['end'] = self._io.pos()
            self._debug['service_start_name']['start'] = self._io.pos()
            self.service_start_name = MsScmrStubs.Argument(self.service_start_name_pointer.referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
            self.service_start_name._read()
            self._debug['service_start_name']['end'] = self._io.pos()
            self._debug['display_name']['start'] = self._io.pos()
            self.display_name = MsScmrStubs.Argument(self.display_name_pointer.referent != 0, self.is_narrow, self._io, self, self._root, self._is_le)
            self.display_name._read()
            self._debug['display_name']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.binary_path_name_pointer._fetch_instances()
            self.load_order_group_pointer._fetch_instances()
            self.dependencies_pointer._fetch_instances()
            self.service_start_name_pointer._fetch_instances()
            self.display_name_pointer._fetch_instances()
            self.binary_path_name._fetch_instances()
            self.load_order_group._fetch_instances()
            self.dependencies._fetch_instances()
            self.service_start_name._fetch_instances()
            self.display_name._fetch_instances()


    class ServiceStatus(KaitaiStruct):
        """What a service is doing.
        
        .. seealso::
           MS-SCMR revision 33.0 section 2.2.47
        """
        SEQ_FIELDS = ["align_service_type", "service_type", "current_state", "controls_accepted", "win32_exit_code", "service_specific_exit_code", "check_point", "wait_hint"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.ServiceStatus, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/service_status")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4le()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['current_state']['start'] = self._io.pos()
            self.current_state = KaitaiStream.resolve_enum(MsScmrStubs.ServiceState, self._io.read_u4le())
            self._debug['current_state']['end'] = self._io.pos()
            self._debug['controls_accepted']['start'] = self._io.pos()
            self.controls_accepted = self._io.read_u4le()
            self._debug['controls_accepted']['end'] = self._io.pos()
            self._debug['win32_exit_code']['start'] = self._io.pos()
            self.win32_exit_code = self._io.read_u4le()
            self._debug['win32_exit_code']['end'] = self._io.pos()
            self._debug['service_specific_exit_code']['start'] = self._io.pos()
            self.service_specific_exit_code = self._io.read_u4le()
            self._debug['service_specific_exit_code']['end'] = self._io.pos()
            self._debug['check_point']['start'] = self._io.pos()
            self.check_point = self._io.read_u4le()
            self._debug['check_point']['end'] = self._io.pos()
            self._debug['wait_hint']['start'] = self._io.pos()
            self.wait_hint = self._io.read_u4le()
            self._debug['wait_hint']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_service_type']['start'] = self._io.pos()
            self.align_service_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_service_type']['end'] = self._io.pos()
            self._debug['service_type']['start'] = self._io.pos()
            self.service_type = self._io.read_u4be()
            self._debug['service_type']['end'] = self._io.pos()
            self._debug['current_state']['start'] = self._io.pos()
            self.current_state = KaitaiStream.resolve_enum(MsScmrStubs.ServiceState, self._io.read_u4be())
            self._debug['current_state']['end'] = self._io.pos()
            self._debug['controls_accepted']['start'] = self._io.pos()
            self.controls_accepted = self._io.read_u4be()
            self._debug['controls_accepted']['end'] = self._io.pos()
            self._debug['win32_exit_code']['start'] = self._io.pos()
            self.win32_exit_code = self._io.read_u4be()
            self._debug['win32_exit_code']['end'] = self._io.pos()
            self._debug['service_specific_exit_code']['start'] = self._io.pos()
            self.service_specific_exit_code = self._io.read_u4be()
            self._debug['service_specific_exit_code']['end'] = self._io.pos()
            self._debug['check_point']['start'] = self._io.pos()
            self.check_point = self._io.read_u4be()
            self._debug['check_point']['end'] = self._io.pos()
            self._debug['wait_hint']['start'] = self._io.pos()
            self.wait_hint = self._io.read_u4be()
            self._debug['wait_hint']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class StartServiceARequest(KaitaiStruct):
        """RStartServiceA, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.30
        """
        SEQ_FIELDS = ["handle", "align_argc", "argc", "argv"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.StartServiceARequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/start_service_a_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_argc']['start'] = self._io.pos()
            self.align_argc = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_argc']['end'] = self._io.pos()
            self._debug['argc']['start'] = self._io.pos()
            self.argc = self._io.read_u4le()
            self._debug['argc']['end'] = self._io.pos()
            self._debug['argv']['start'] = self._io.pos()
            self.argv = MsScmrStubs.Arguments(True, self._io, self, self._root, self._is_le)
            self.argv._read()
            self._debug['argv']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_argc']['start'] = self._io.pos()
            self.align_argc = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_argc']['end'] = self._io.pos()
            self._debug['argc']['start'] = self._io.pos()
            self.argc = self._io.read_u4be()
            self._debug['argc']['end'] = self._io.pos()
            self._debug['argv']['start'] = self._io.pos()
            self.argv = MsScmrStubs.Arguments(True, self._io, self, self._root, self._is_le)
            self.argv._read()
            self._debug['argv']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.handle._fetch_instances()
            self.argv._fetch_instances()


    class StartServiceAResponse(KaitaiStruct):
        """RStartServiceA, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.30
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.StartServiceAResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/start_service_a_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class StartServiceWRequest(KaitaiStruct):
        """RStartServiceW, request.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.19
        """
        SEQ_FIELDS = ["handle", "align_argc", "argc", "argv"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.StartServiceWRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/start_service_w_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_argc']['start'] = self._io.pos()
            self.align_argc = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_argc']['end'] = self._io.pos()
            self._debug['argc']['start'] = self._io.pos()
            self.argc = self._io.read_u4le()
            self._debug['argc']['end'] = self._io.pos()
            self._debug['argv']['start'] = self._io.pos()
            self.argv = MsScmrStubs.Arguments(False, self._io, self, self._root, self._is_le)
            self.argv._read()
            self._debug['argv']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['handle']['start'] = self._io.pos()
            self.handle = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.handle._read()
            self._debug['handle']['end'] = self._io.pos()
            self._debug['align_argc']['start'] = self._io.pos()
            self.align_argc = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_argc']['end'] = self._io.pos()
            self._debug['argc']['start'] = self._io.pos()
            self.argc = self._io.read_u4be()
            self._debug['argc']['end'] = self._io.pos()
            self._debug['argv']['start'] = self._io.pos()
            self.argv = MsScmrStubs.Arguments(False, self._io, self, self._root, self._is_le)
            self.argv._read()
            self._debug['argv']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.handle._fetch_instances()
            self.argv._fetch_instances()


    class StartServiceWResponse(KaitaiStruct):
        """RStartServiceW, response.
        
        .. seealso::
           MS-SCMR revision 33.0 section 3.1.4.19
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.StartServiceWResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/start_service_w_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Text(KaitaiStruct):
        """A string of 16-bit characters, with its NUL.
        
        .. seealso::
           MS-SCMR revision 33.0 section 6; DCE 1.1 RPC (C706) section 14.3.4
        """
        SEQ_FIELDS = ["string"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsScmrStubs.Text, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/text")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['string']['start'] = self._io.pos()
            self.string = ndr.Ndr.ConformantVarying(2, self._root.ndr64, self._root.big_endian, self._io)
            self.string._read()
            self._debug['string']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['string']['start'] = self._io.pos()
            self.string = ndr.Ndr.ConformantVarying(2, self._root.ndr64, self._root.big_endian, self._io)
            self.string._read()
            self._debug['string']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.string._fetch_instances()

        @property
        def text(self):
            """With its NUL."""
            if hasattr(self, '_m_text'):
                return self._m_text

            self._m_text = ((self.string.data).decode(u"UTF-16BE") if self._root.big_endian else (self.string.data).decode(u"UTF-16LE"))
            return getattr(self, '_m_text', None)



