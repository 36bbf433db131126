# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import ndr
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class MsRrpStubs(KaitaiStruct):
    """The stubs of interface 338cd001-2244-31f1-aaaa-900038001003 version 1.0 that open HKEY_PERFORMANCE_DATA, its siblings and
    the other predefined keys, open and create keys below them, read, enumerate, set and delete their values, and close them;
    without authentication padding and verification trailer.
    
    .. seealso::
       MS-RRP revision 39.0 sections 3.1.5 and 6
    """

    class Access(IntEnum):
        query_value = 1
        set_value = 2
        create_sub_key = 4
        enumerate_sub_keys = 8
        notify = 16
        create_link = 32
        wow64_64key = 256
        wow64_32key = 512
        maximum_allowed = 33554432

    class Disposition(IntEnum):
        created_new_key = 1
        opened_existing_key = 2

    class Options(IntEnum):
        volatile = 1
        create_link = 2
        backup_restore = 4
        open_link = 8

    class ValueType(IntEnum):
        none = 0
        sz = 1
        expand_sz = 2
        binary = 3
        dword = 4
        dword_big_endian = 5
        link = 6
        multi_sz = 7
        qword = 11
    SEQ_FIELDS = ["request", "response"]
    def __init__(self, opnum, is_response, ndr64, big_endian, _io, _parent=None, _root=None):
        super(MsRrpStubs, self).__init__(_io)
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
                self.request = MsRrpStubs.OpenClassesRootRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 1:
                pass
                self.request = MsRrpStubs.OpenCurrentUserRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 10:
                pass
                self.request = MsRrpStubs.BaseRegEnumValueRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 11:
                pass
                self.request = MsRrpStubs.BaseRegFlushKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 13:
                pass
                self.request = MsRrpStubs.BaseRegLoadKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 15:
                pass
                self.request = MsRrpStubs.BaseRegOpenKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 16:
                pass
                self.request = MsRrpStubs.BaseRegQueryInfoKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 17:
                pass
                self.request = MsRrpStubs.BaseRegQueryValueRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 2:
                pass
                self.request = MsRrpStubs.OpenLocalMachineRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 20:
                pass
                self.request = MsRrpStubs.BaseRegSaveKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 22:
                pass
                self.request = MsRrpStubs.BaseRegSetValueRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 26:
                pass
                self.request = MsRrpStubs.BaseRegGetVersionRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 27:
                pass
                self.request = MsRrpStubs.OpenCurrentConfigRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 29:
                pass
                self.request = MsRrpStubs.BaseRegQueryMultipleValuesRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 3:
                pass
                self.request = MsRrpStubs.OpenPerformanceDataRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 31:
                pass
                self.request = MsRrpStubs.BaseRegSaveKeyExRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 32:
                pass
                self.request = MsRrpStubs.OpenPerformanceTextRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 33:
                pass
                self.request = MsRrpStubs.OpenPerformanceNlsTextRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 34:
                pass
                self.request = MsRrpStubs.BaseRegQueryMultipleValues2Request(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 35:
                pass
                self.request = MsRrpStubs.BaseRegDeleteKeyExRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 4:
                pass
                self.request = MsRrpStubs.OpenUsersRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 5:
                pass
                self.request = MsRrpStubs.BaseRegCloseKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 6:
                pass
                self.request = MsRrpStubs.BaseRegCreateKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 7:
                pass
                self.request = MsRrpStubs.BaseRegDeleteKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 8:
                pass
                self.request = MsRrpStubs.BaseRegDeleteValueRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 9:
                pass
                self.request = MsRrpStubs.BaseRegEnumKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            self._debug['request']['end'] = self._io.pos()

        if self.is_response:
            pass
            self._debug['response']['start'] = self._io.pos()
            _on = self.opnum
            if _on == 0:
                pass
                self.response = MsRrpStubs.OpenClassesRootResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 1:
                pass
                self.response = MsRrpStubs.OpenCurrentUserResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 10:
                pass
                self.response = MsRrpStubs.BaseRegEnumValueResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 11:
                pass
                self.response = MsRrpStubs.BaseRegFlushKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 13:
                pass
                self.response = MsRrpStubs.BaseRegLoadKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 15:
                pass
                self.response = MsRrpStubs.BaseRegOpenKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 16:
                pass
                self.response = MsRrpStubs.BaseRegQueryInfoKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 17:
                pass
                self.response = MsRrpStubs.BaseRegQueryValueResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 2:
                pass
                self.response = MsRrpStubs.OpenLocalMachineResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 20:
                pass
                self.response = MsRrpStubs.BaseRegSaveKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 22:
                pass
                self.response = MsRrpStubs.BaseRegSetValueResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 26:
                pass
                self.response = MsRrpStubs.BaseRegGetVersionResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 27:
                pass
                self.response = MsRrpStubs.OpenCurrentConfigResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 29:
                pass
                self.response = MsRrpStubs.BaseRegQueryMultipleValuesResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 3:
                pass
                self.response = MsRrpStubs.OpenPerformanceDataResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 31:
                pass
                self.response = MsRrpStubs.BaseRegSaveKeyExResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 32:
                pass
                self.response = MsRrpStubs.OpenPerformanceTextResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 33:
                pass
                self.response = MsRrpStubs.OpenPerformanceNlsTextResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 34:
                pass
                self.response = MsRrpStubs.BaseRegQueryMultipleValues2Response(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 35:
                pass
                self.response = MsRrpStubs.BaseRegDeleteKeyExResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 4:
                pass
                self.response = MsRrpStubs.OpenUsersResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 5:
                pass
                self.response = MsRrpStubs.BaseRegCloseKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 6:
                pass
                self.response = MsRrpStubs.BaseRegCreateKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 7:
                pass
                self.response = MsRrpStubs.BaseRegDeleteKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 8:
                pass
                self.response = MsRrpStubs.BaseRegDeleteValueResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 9:
                pass
                self.response = MsRrpStubs.BaseRegEnumKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            self._debug['response']['end'] = self._io.pos()


    def _read_be(self):
        if (not (self.is_response)):
            pass
            self._debug['request']['start'] = self._io.pos()
            _on = self.opnum
            if _on == 0:
                pass
                self.request = MsRrpStubs.OpenClassesRootRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 1:
                pass
                self.request = MsRrpStubs.OpenCurrentUserRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 10:
                pass
                self.request = MsRrpStubs.BaseRegEnumValueRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 11:
                pass
                self.request = MsRrpStubs.BaseRegFlushKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 13:
                pass
                self.request = MsRrpStubs.BaseRegLoadKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 15:
                pass
                self.request = MsRrpStubs.BaseRegOpenKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 16:
                pass
                self.request = MsRrpStubs.BaseRegQueryInfoKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 17:
                pass
                self.request = MsRrpStubs.BaseRegQueryValueRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 2:
                pass
                self.request = MsRrpStubs.OpenLocalMachineRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 20:
                pass
                self.request = MsRrpStubs.BaseRegSaveKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 22:
                pass
                self.request = MsRrpStubs.BaseRegSetValueRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 26:
                pass
                self.request = MsRrpStubs.BaseRegGetVersionRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 27:
                pass
                self.request = MsRrpStubs.OpenCurrentConfigRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 29:
                pass
                self.request = MsRrpStubs.BaseRegQueryMultipleValuesRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 3:
                pass
                self.request = MsRrpStubs.OpenPerformanceDataRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 31:
                pass
                self.request = MsRrpStubs.BaseRegSaveKeyExRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 32:
                pass
                self.request = MsRrpStubs.OpenPerformanceTextRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 33:
                pass
                self.request = MsRrpStubs.OpenPerformanceNlsTextRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 34:
                pass
                self.request = MsRrpStubs.BaseRegQueryMultipleValues2Request(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 35:
                pass
                self.request = MsRrpStubs.BaseRegDeleteKeyExRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 4:
                pass
                self.request = MsRrpStubs.OpenUsersRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 5:
                pass
                self.request = MsRrpStubs.BaseRegCloseKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 6:
                pass
                self.request = MsRrpStubs.BaseRegCreateKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 7:
                pass
                self.request = MsRrpStubs.BaseRegDeleteKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 8:
                pass
                self.request = MsRrpStubs.BaseRegDeleteValueRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            elif _on == 9:
                pass
                self.request = MsRrpStubs.BaseRegEnumKeyRequest(self._io, self, self._root, self._is_le)
                self.request._read()
            self._debug['request']['end'] = self._io.pos()

        if self.is_response:
            pass
            self._debug['response']['start'] = self._io.pos()
            _on = self.opnum
            if _on == 0:
                pass
                self.response = MsRrpStubs.OpenClassesRootResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 1:
                pass
                self.response = MsRrpStubs.OpenCurrentUserResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 10:
                pass
                self.response = MsRrpStubs.BaseRegEnumValueResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 11:
                pass
                self.response = MsRrpStubs.BaseRegFlushKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 13:
                pass
                self.response = MsRrpStubs.BaseRegLoadKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 15:
                pass
                self.response = MsRrpStubs.BaseRegOpenKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 16:
                pass
                self.response = MsRrpStubs.BaseRegQueryInfoKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 17:
                pass
                self.response = MsRrpStubs.BaseRegQueryValueResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 2:
                pass
                self.response = MsRrpStubs.OpenLocalMachineResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 20:
                pass
                self.response = MsRrpStubs.BaseRegSaveKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 22:
                pass
                self.response = MsRrpStubs.BaseRegSetValueResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 26:
                pass
                self.response = MsRrpStubs.BaseRegGetVersionResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 27:
                pass
                self.response = MsRrpStubs.OpenCurrentConfigResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 29:
                pass
                self.response = MsRrpStubs.BaseRegQueryMultipleValuesResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 3:
                pass
                self.response = MsRrpStubs.OpenPerformanceDataResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 31:
                pass
                self.response = MsRrpStubs.BaseRegSaveKeyExResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 32:
                pass
                self.response = MsRrpStubs.OpenPerformanceTextResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 33:
                pass
                self.response = MsRrpStubs.OpenPerformanceNlsTextResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 34:
                pass
                self.response = MsRrpStubs.BaseRegQueryMultipleValues2Response(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 35:
                pass
                self.response = MsRrpStubs.BaseRegDeleteKeyExResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 4:
                pass
                self.response = MsRrpStubs.OpenUsersResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 5:
                pass
                self.response = MsRrpStubs.BaseRegCloseKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 6:
                pass
                self.response = MsRrpStubs.BaseRegCreateKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 7:
                pass
                self.response = MsRrpStubs.BaseRegDeleteKeyResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 8:
                pass
                self.response = MsRrpStubs.BaseRegDeleteValueResponse(self._io, self, self._root, self._is_le)
                self.response._read()
            elif _on == 9:
                pass
                self.response = MsRrpStubs.BaseRegEnumKeyResponse(self._io, self, self._root, self._is_le)
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
            elif _on == 10:
                pass
                self.request._fetch_instances()
            elif _on == 11:
                pass
                self.request._fetch_instances()
            elif _on == 13:
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
            elif _on == 2:
                pass
                self.request._fetch_instances()
            elif _on == 20:
                pass
                self.request._fetch_instances()
            elif _on == 22:
                pass
                self.request._fetch_instances()
            elif _on == 26:
                pass
                self.request._fetch_instances()
            elif _on == 27:
                pass
                self.request._fetch_instances()
            elif _on == 29:
                pass
                self.request._fetch_instances()
            elif _on == 3:
                pass
                self.request._fetch_instances()
            elif _on == 31:
                pass
                self.request._fetch_instances()
            elif _on == 32:
                pass
                self.request._fetch_instances()
            elif _on == 33:
                pass
                self.request._fetch_instances()
            elif _on == 34:
                pass
                self.request._fetch_instances()
            elif _on == 35:
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
            elif _on == 8:
                pass
                self.request._fetch_instances()
            elif _on == 9:
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
            elif _on == 10:
                pass
                self.response._fetch_instances()
            elif _on == 11:
                pass
                self.response._fetch_instances()
            elif _on == 13:
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
            elif _on == 2:
                pass
                self.response._fetch_instances()
            elif _on == 20:
                pass
                self.response._fetch_instances()
            elif _on == 22:
                pass
                self.response._fetch_instances()
            elif _on == 26:
                pass
                self.response._fetch_instances()
            elif _on == 27:
                pass
                self.response._fetch_instances()
            elif _on == 29:
                pass
                self.response._fetch_instances()
            elif _on == 3:
                pass
                self.response._fetch_instances()
            elif _on == 31:
                pass
                self.response._fetch_instances()
            elif _on == 32:
                pass
                self.response._fetch_instances()
            elif _on == 33:
                pass
                self.response._fetch_instances()
            elif _on == 34:
                pass
                self.response._fetch_instances()
            elif _on == 35:
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
            elif _on == 8:
                pass
                self.response._fetch_instances()
            elif _on == 9:
                pass
                self.response._fetch_instances()


    class BaseRegCloseKeyRequest(KaitaiStruct):
        """BaseRegCloseKey, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.6
        """
        SEQ_FIELDS = ["key"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegCloseKeyRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_close_key_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class BaseRegCloseKeyResponse(KaitaiStruct):
        """BaseRegCloseKey, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.6
        """
        SEQ_FIELDS = ["key", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegCloseKeyResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_close_key_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class BaseRegCreateKeyRequest(KaitaiStruct):
        """BaseRegCreateKey, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.7
        """
        SEQ_FIELDS = ["key", "sub_key", "class_name", "align_options", "options", "align_sam_desired", "sam_desired", "security", "disposition"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegCreateKeyRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_create_key_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['sub_key']['start'] = self._io.pos()
            self.sub_key = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.sub_key._read()
            self._debug['sub_key']['end'] = self._io.pos()
            self._debug['class_name']['start'] = self._io.pos()
            self.class_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.class_name._read()
            self._debug['class_name']['end'] = self._io.pos()
            self._debug['align_options']['start'] = self._io.pos()
            self.align_options = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_options']['end'] = self._io.pos()
            self._debug['options']['start'] = self._io.pos()
            self.options = self._io.read_u4le()
            self._debug['options']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4le()
            self._debug['sam_desired']['end'] = self._io.pos()
            self._debug['security']['start'] = self._io.pos()
            self.security = MsRrpStubs.SecurityAttributes(self._io, self, self._root, self._is_le)
            self.security._read()
            self._debug['security']['end'] = self._io.pos()
            self._debug['disposition']['start'] = self._io.pos()
            self.disposition = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.disposition._read()
            self._debug['disposition']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['sub_key']['start'] = self._io.pos()
            self.sub_key = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.sub_key._read()
            self._debug['sub_key']['end'] = self._io.pos()
            self._debug['class_name']['start'] = self._io.pos()
            self.class_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.class_name._read()
            self._debug['class_name']['end'] = self._io.pos()
            self._debug['align_options']['start'] = self._io.pos()
            self.align_options = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_options']['end'] = self._io.pos()
            self._debug['options']['start'] = self._io.pos()
            self.options = self._io.read_u4be()
            self._debug['options']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4be()
            self._debug['sam_desired']['end'] = self._io.pos()
            self._debug['security']['start'] = self._io.pos()
            self.security = MsRrpStubs.SecurityAttributes(self._io, self, self._root, self._is_le)
            self.security._read()
            self._debug['security']['end'] = self._io.pos()
            self._debug['disposition']['start'] = self._io.pos()
            self.disposition = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.disposition._read()
            self._debug['disposition']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.sub_key._fetch_instances()
            self.class_name._fetch_instances()
            self.security._fetch_instances()
            self.disposition._fetch_instances()


    class BaseRegCreateKeyResponse(KaitaiStruct):
        """BaseRegCreateKey, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.7
        """
        SEQ_FIELDS = ["key", "disposition", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegCreateKeyResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_create_key_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['disposition']['start'] = self._io.pos()
            self.disposition = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.disposition._read()
            self._debug['disposition']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['disposition']['start'] = self._io.pos()
            self.disposition = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.disposition._read()
            self._debug['disposition']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.disposition._fetch_instances()


    class BaseRegDeleteKeyExRequest(KaitaiStruct):
        """BaseRegDeleteKeyEx, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.31
        """
        SEQ_FIELDS = ["key", "sub_key", "align_access_mask", "access_mask", "align_reserved", "reserved"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegDeleteKeyExRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_delete_key_ex_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['sub_key']['start'] = self._io.pos()
            self.sub_key = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.sub_key._read()
            self._debug['sub_key']['end'] = self._io.pos()
            self._debug['align_access_mask']['start'] = self._io.pos()
            self.align_access_mask = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_access_mask']['end'] = self._io.pos()
            self._debug['access_mask']['start'] = self._io.pos()
            self.access_mask = self._io.read_u4le()
            self._debug['access_mask']['end'] = self._io.pos()
            self._debug['align_reserved']['start'] = self._io.pos()
            self.align_reserved = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_reserved']['end'] = self._io.pos()
            self._debug['reserved']['start'] = self._io.pos()
            self.reserved = self._io.read_u4le()
            self._debug['reserved']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['sub_key']['start'] = self._io.pos()
            self.sub_key = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.sub_key._read()
            self._debug['sub_key']['end'] = self._io.pos()
            self._debug['align_access_mask']['start'] = self._io.pos()
            self.align_access_mask = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_access_mask']['end'] = self._io.pos()
            self._debug['access_mask']['start'] = self._io.pos()
            self.access_mask = self._io.read_u4be()
            self._debug['access_mask']['end'] = self._io.pos()
            self._debug['align_reserved']['start'] = self._io.pos()
            self.align_reserved = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_reserved']['end'] = self._io.pos()
            self._debug['reserved']['start'] = self._io.pos()
            self.reserved = self._io.read_u4be()
            self._debug['reserved']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.sub_key._fetch_instances()


    class BaseRegDeleteKeyExResponse(KaitaiStruct):
        """BaseRegDeleteKeyEx, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.31
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegDeleteKeyExResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_delete_key_ex_response")
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


    class BaseRegDeleteKeyRequest(KaitaiStruct):
        """BaseRegDeleteKey, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.8
        """
        SEQ_FIELDS = ["key", "sub_key"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegDeleteKeyRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_delete_key_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['sub_key']['start'] = self._io.pos()
            self.sub_key = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.sub_key._read()
            self._debug['sub_key']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['sub_key']['start'] = self._io.pos()
            self.sub_key = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.sub_key._read()
            self._debug['sub_key']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.sub_key._fetch_instances()


    class BaseRegDeleteKeyResponse(KaitaiStruct):
        """BaseRegDeleteKey, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.8
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegDeleteKeyResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_delete_key_response")
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


    class BaseRegDeleteValueRequest(KaitaiStruct):
        """BaseRegDeleteValue, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.9
        """
        SEQ_FIELDS = ["key", "value_name"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegDeleteValueRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_delete_value_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.value_name._fetch_instances()


    class BaseRegDeleteValueResponse(KaitaiStruct):
        """BaseRegDeleteValue, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.9
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegDeleteValueResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_delete_value_response")
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


    class BaseRegEnumKeyRequest(KaitaiStruct):
        """BaseRegEnumKey, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.10
        """
        SEQ_FIELDS = ["key", "align_index", "index", "name", "class_name", "last_write_time"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegEnumKeyRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_enum_key_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_index']['start'] = self._io.pos()
            self.align_index = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_index']['end'] = self._io.pos()
            self._debug['index']['start'] = self._io.pos()
            self.index = self._io.read_u4le()
            self._debug['index']['end'] = self._io.pos()
            self._debug['name']['start'] = self._io.pos()
            self.name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.name._read()
            self._debug['name']['end'] = self._io.pos()
            self._debug['class_name']['start'] = self._io.pos()
            self.class_name = MsRrpStubs.OptionalUnicodeString(self._io, self, self._root, self._is_le)
            self.class_name._read()
            self._debug['class_name']['end'] = self._io.pos()
            self._debug['last_write_time']['start'] = self._io.pos()
            self.last_write_time = MsRrpStubs.OptionalFiletime(self._io, self, self._root, self._is_le)
            self.last_write_time._read()
            self._debug['last_write_time']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_index']['start'] = self._io.pos()
            self.align_index = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_index']['end'] = self._io.pos()
            self._debug['index']['start'] = self._io.pos()
            self.index = self._io.read_u4be()
            self._debug['index']['end'] = self._io.pos()
            self._debug['name']['start'] = self._io.pos()
            self.name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.name._read()
            self._debug['name']['end'] = self._io.pos()
            self._debug['class_name']['start'] = self._io.pos()
            self.class_name = MsRrpStubs.OptionalUnicodeString(self._io, self, self._root, self._is_le)
            self.class_name._read()
            self._debug['class_name']['end'] = self._io.pos()
            self._debug['last_write_time']['start'] = self._io.pos()
            self.last_write_time = MsRrpStubs.OptionalFiletime(self._io, self, self._root, self._is_le)
            self.last_write_time._read()
            self._debug['last_write_time']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.name._fetch_instances()
            self.class_name._fetch_instances()
            self.last_write_time._fetch_instances()


    class BaseRegEnumKeyResponse(KaitaiStruct):
        """BaseRegEnumKey, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.10
        """
        SEQ_FIELDS = ["name", "class_name", "last_write_time", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegEnumKeyResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_enum_key_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['name']['start'] = self._io.pos()
            self.name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.name._read()
            self._debug['name']['end'] = self._io.pos()
            self._debug['class_name']['start'] = self._io.pos()
            self.class_name = MsRrpStubs.OptionalUnicodeString(self._io, self, self._root, self._is_le)
            self.class_name._read()
            self._debug['class_name']['end'] = self._io.pos()
            self._debug['last_write_time']['start'] = self._io.pos()
            self.last_write_time = MsRrpStubs.OptionalFiletime(self._io, self, self._root, self._is_le)
            self.last_write_time._read()
            self._debug['last_write_time']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['name']['start'] = self._io.pos()
            self.name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.name._read()
            self._debug['name']['end'] = self._io.pos()
            self._debug['class_name']['start'] = self._io.pos()
            self.class_name = MsRrpStubs.OptionalUnicodeString(self._io, self, self._root, self._is_le)
            self.class_name._read()
            self._debug['class_name']['end'] = self._io.pos()
            self._debug['last_write_time']['start'] = self._io.pos()
            self.last_write_time = MsRrpStubs.OptionalFiletime(self._io, self, self._root, self._is_le)
            self.last_write_time._read()
            self._debug['last_write_time']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.name._fetch_instances()
            self.class_name._fetch_instances()
            self.last_write_time._fetch_instances()


    class BaseRegEnumValueRequest(KaitaiStruct):
        """BaseRegEnumValue, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.11
        """
        SEQ_FIELDS = ["key", "align_index", "index", "value_name", "value_type", "data", "data_size", "data_len"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegEnumValueRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_enum_value_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_index']['start'] = self._io.pos()
            self.align_index = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_index']['end'] = self._io.pos()
            self._debug['index']['start'] = self._io.pos()
            self.index = self._io.read_u4le()
            self._debug['index']['end'] = self._io.pos()
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.value_type._read()
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['data_size']['start'] = self._io.pos()
            self.data_size = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_size._read()
            self._debug['data_size']['end'] = self._io.pos()
            self._debug['data_len']['start'] = self._io.pos()
            self.data_len = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_len._read()
            self._debug['data_len']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_index']['start'] = self._io.pos()
            self.align_index = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_index']['end'] = self._io.pos()
            self._debug['index']['start'] = self._io.pos()
            self.index = self._io.read_u4be()
            self._debug['index']['end'] = self._io.pos()
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.value_type._read()
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['data_size']['start'] = self._io.pos()
            self.data_size = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_size._read()
            self._debug['data_size']['end'] = self._io.pos()
            self._debug['data_len']['start'] = self._io.pos()
            self.data_len = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_len._read()
            self._debug['data_len']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.value_name._fetch_instances()
            self.value_type._fetch_instances()
            self.data._fetch_instances()
            self.data_size._fetch_instances()
            self.data_len._fetch_instances()


    class BaseRegEnumValueResponse(KaitaiStruct):
        """BaseRegEnumValue, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.11
        """
        SEQ_FIELDS = ["value_name", "value_type", "data", "data_size", "data_len", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegEnumValueResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_enum_value_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.value_type._read()
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['data_size']['start'] = self._io.pos()
            self.data_size = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_size._read()
            self._debug['data_size']['end'] = self._io.pos()
            self._debug['data_len']['start'] = self._io.pos()
            self.data_len = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_len._read()
            self._debug['data_len']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.value_type._read()
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['data_size']['start'] = self._io.pos()
            self.data_size = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_size._read()
            self._debug['data_size']['end'] = self._io.pos()
            self._debug['data_len']['start'] = self._io.pos()
            self.data_len = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_len._read()
            self._debug['data_len']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.value_name._fetch_instances()
            self.value_type._fetch_instances()
            self.data._fetch_instances()
            self.data_size._fetch_instances()
            self.data_len._fetch_instances()


    class BaseRegFlushKeyRequest(KaitaiStruct):
        """BaseRegFlushKey, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.12
        """
        SEQ_FIELDS = ["key"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegFlushKeyRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_flush_key_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class BaseRegFlushKeyResponse(KaitaiStruct):
        """BaseRegFlushKey, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.12
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegFlushKeyResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_flush_key_response")
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


    class BaseRegGetVersionRequest(KaitaiStruct):
        """BaseRegGetVersion, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.24
        """
        SEQ_FIELDS = ["key"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegGetVersionRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_get_version_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class BaseRegGetVersionResponse(KaitaiStruct):
        """BaseRegGetVersion, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.24
        """
        SEQ_FIELDS = ["align_version", "version", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegGetVersionResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_get_version_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_version']['start'] = self._io.pos()
            self.align_version = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_version']['end'] = self._io.pos()
            self._debug['version']['start'] = self._io.pos()
            self.version = self._io.read_u4le()
            self._debug['version']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_version']['start'] = self._io.pos()
            self.align_version = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_version']['end'] = self._io.pos()
            self._debug['version']['start'] = self._io.pos()
            self.version = self._io.read_u4be()
            self._debug['version']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class BaseRegLoadKeyRequest(KaitaiStruct):
        """BaseRegLoadKey, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.14
        """
        SEQ_FIELDS = ["key", "sub_key", "file"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegLoadKeyRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_load_key_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['sub_key']['start'] = self._io.pos()
            self.sub_key = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.sub_key._read()
            self._debug['sub_key']['end'] = self._io.pos()
            self._debug['file']['start'] = self._io.pos()
            self.file = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.file._read()
            self._debug['file']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['sub_key']['start'] = self._io.pos()
            self.sub_key = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.sub_key._read()
            self._debug['sub_key']['end'] = self._io.pos()
            self._debug['file']['start'] = self._io.pos()
            self.file = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.file._read()
            self._debug['file']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.sub_key._fetch_instances()
            self.file._fetch_instances()


    class BaseRegLoadKeyResponse(KaitaiStruct):
        """BaseRegLoadKey, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.14
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegLoadKeyResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_load_key_response")
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


    class BaseRegOpenKeyRequest(KaitaiStruct):
        """BaseRegOpenKey, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.15
        """
        SEQ_FIELDS = ["key", "sub_key", "align_options", "options", "align_sam_desired", "sam_desired"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegOpenKeyRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_open_key_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['sub_key']['start'] = self._io.pos()
            self.sub_key = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.sub_key._read()
            self._debug['sub_key']['end'] = self._io.pos()
            self._debug['align_options']['start'] = self._io.pos()
            self.align_options = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_options']['end'] = self._io.pos()
            self._debug['options']['start'] = self._io.pos()
            self.options = self._io.read_u4le()
            self._debug['options']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4le()
            self._debug['sam_desired']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['sub_key']['start'] = self._io.pos()
            self.sub_key = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.sub_key._read()
            self._debug['sub_key']['end'] = self._io.pos()
            self._debug['align_options']['start'] = self._io.pos()
            self.align_options = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_options']['end'] = self._io.pos()
            self._debug['options']['start'] = self._io.pos()
            self.options = self._io.read_u4be()
            self._debug['options']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4be()
            self._debug['sam_desired']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.sub_key._fetch_instances()


    class BaseRegOpenKeyResponse(KaitaiStruct):
        """BaseRegOpenKey, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.15
        """
        SEQ_FIELDS = ["key", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegOpenKeyResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_open_key_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class BaseRegQueryInfoKeyRequest(KaitaiStruct):
        """BaseRegQueryInfoKey, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.16
        """
        SEQ_FIELDS = ["key", "class_name"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegQueryInfoKeyRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_query_info_key_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['class_name']['start'] = self._io.pos()
            self.class_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.class_name._read()
            self._debug['class_name']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['class_name']['start'] = self._io.pos()
            self.class_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.class_name._read()
            self._debug['class_name']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.class_name._fetch_instances()


    class BaseRegQueryInfoKeyResponse(KaitaiStruct):
        """BaseRegQueryInfoKey, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.16
        """
        SEQ_FIELDS = ["class_name", "align_num_sub_keys", "num_sub_keys", "align_max_sub_key_len", "max_sub_key_len", "align_max_class_len", "max_class_len", "align_num_values", "num_values", "align_max_value_name_len", "max_value_name_len", "align_max_value_len", "max_value_len", "align_security_descriptor_len", "security_descriptor_len", "last_write_time", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegQueryInfoKeyResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_query_info_key_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['class_name']['start'] = self._io.pos()
            self.class_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.class_name._read()
            self._debug['class_name']['end'] = self._io.pos()
            self._debug['align_num_sub_keys']['start'] = self._io.pos()
            self.align_num_sub_keys = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_num_sub_keys']['end'] = self._io.pos()
            self._debug['num_sub_keys']['start'] = self._io.pos()
            self.num_sub_keys = self._io.read_u4le()
            self._debug['num_sub_keys']['end'] = self._io.pos()
            self._debug['align_max_sub_key_len']['start'] = self._io.pos()
            self.align_max_sub_key_len = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_max_sub_key_len']['end'] = self._io.pos()
            self._debug['max_sub_key_len']['start'] = self._io.pos()
            self.max_sub_key_len = self._io.read_u4le()
            self._debug['max_sub_key_len']['end'] = self._io.pos()
            self._debug['align_max_class_len']['start'] = self._io.pos()
            self.align_max_class_len = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_max_class_len']['end'] = self._io.pos()
            self._debug['max_class_len']['start'] = self._io.pos()
            self.max_class_len = self._io.read_u4le()
            self._debug['max_class_len']['end'] = self._io.pos()
            self._debug['align_num_values']['start'] = self._io.pos()
            self.align_num_values = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_num_values']['end'] = self._io.pos()
            self._debug['num_values']['start'] = self._io.pos()
            self.num_values = self._io.read_u4le()
            self._debug['num_values']['end'] = self._io.pos()
            self._debug['align_max_value_name_len']['start'] = self._io.pos()
            self.align_max_value_name_len = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_max_value_name_len']['end'] = self._io.pos()
            self._debug['max_value_name_len']['start'] = self._io.pos()
            self.max_value_name_len = self._io.read_u4le()
            self._debug['max_value_name_len']['end'] = self._io.pos()
            self._debug['align_max_value_len']['start'] = self._io.pos()
            self.align_max_value_len = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_max_value_len']['end'] = self._io.pos()
            self._debug['max_value_len']['start'] = self._io.pos()
            self.max_value_len = self._io.read_u4le()
            self._debug['max_value_len']['end'] = self._io.pos()
            self._debug['align_security_descriptor_len']['start'] = self._io.pos()
            self.align_security_descriptor_len = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_security_descriptor_len']['end'] = self._io.pos()
            self._debug['security_descriptor_len']['start'] = self._io.pos()
            self.security_descriptor_len = self._io.read_u4le()
            self._debug['security_descriptor_len']['end'] = self._io.pos()
            self._debug['last_write_time']['start'] = self._io.pos()
            self.last_write_time = MsRrpStubs.Filetime(self._io, self, self._root, self._is_le)
            self.last_write_time._read()
            self._debug['last_write_time']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['class_name']['start'] = self._io.pos()
            self.class_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.class_name._read()
            self._debug['class_name']['end'] = self._io.pos()
            self._debug['align_num_sub_keys']['start'] = self._io.pos()
            self.align_num_sub_keys = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_num_sub_keys']['end'] = self._io.pos()
            self._debug['num_sub_keys']['start'] = self._io.pos()
            self.num_sub_keys = self._io.read_u4be()
            self._debug['num_sub_keys']['end'] = self._io.pos()
            self._debug['align_max_sub_key_len']['start'] = self._io.pos()
            self.align_max_sub_key_len = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_max_sub_key_len']['end'] = self._io.pos()
            self._debug['max_sub_key_len']['start'] = self._io.pos()
            self.max_sub_key_len = self._io.read_u4be()
            self._debug['max_sub_key_len']['end'] = self._io.pos()
            self._debug['align_max_class_len']['start'] = self._io.pos()
            self.align_max_class_len = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_max_class_len']['end'] = self._io.pos()
            self._debug['max_class_len']['start'] = self._io.pos()
            self.max_class_len = self._io.read_u4be()
            self._debug['max_class_len']['end'] = self._io.pos()
            self._debug['align_num_values']['start'] = self._io.pos()
            self.align_num_values = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_num_values']['end'] = self._io.pos()
            self._debug['num_values']['start'] = self._io.pos()
            self.num_values = self._io.read_u4be()
            self._debug['num_values']['end'] = self._io.pos()
            self._debug['align_max_value_name_len']['start'] = self._io.pos()
            self.align_max_value_name_len = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_max_value_name_len']['end'] = self._io.pos()
            self._debug['max_value_name_len']['start'] = self._io.pos()
            self.max_value_name_len = self._io.read_u4be()
            self._debug['max_value_name_len']['end'] = self._io.pos()
            self._debug['align_max_value_len']['start'] = self._io.pos()
            self.align_max_value_len = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_max_value_len']['end'] = self._io.pos()
            self._debug['max_value_len']['start'] = self._io.pos()
            self.max_value_len = self._io.read_u4be()
            self._debug['max_value_len']['end'] = self._io.pos()
            self._debug['align_security_descriptor_len']['start'] = self._io.pos()
            self.align_security_descriptor_len = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_security_descriptor_len']['end'] = self._io.pos()
            self._debug['security_descriptor_len']['start'] = self._io.pos()
            self.security_descriptor_len = self._io.read_u4be()
            self._debug['security_descriptor_len']['end'] = self._io.pos()
            self._debug['last_write_time']['start'] = self._io.pos()
            self.last_write_time = MsRrpStubs.Filetime(self._io, self, self._root, self._is_le)
            self.last_write_time._read()
            self._debug['last_write_time']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.class_name._fetch_instances()
            self.last_write_time._fetch_instances()


    class BaseRegQueryMultipleValues2Request(KaitaiStruct):
        """BaseRegQueryMultipleValues2, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.30
        """
        SEQ_FIELDS = ["key", "values", "align_num_values", "num_values", "data", "align_total_size", "total_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegQueryMultipleValues2Request, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_query_multiple_values2_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['values']['start'] = self._io.pos()
            self.values = MsRrpStubs.RvalentArray(self._io, self, self._root, self._is_le)
            self.values._read()
            self._debug['values']['end'] = self._io.pos()
            self._debug['align_num_values']['start'] = self._io.pos()
            self.align_num_values = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_num_values']['end'] = self._io.pos()
            self._debug['num_values']['start'] = self._io.pos()
            self.num_values = self._io.read_u4le()
            self._debug['num_values']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['align_total_size']['start'] = self._io.pos()
            self.align_total_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_total_size']['end'] = self._io.pos()
            self._debug['total_size']['start'] = self._io.pos()
            self.total_size = self._io.read_u4le()
            self._debug['total_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['values']['start'] = self._io.pos()
            self.values = MsRrpStubs.RvalentArray(self._io, self, self._root, self._is_le)
            self.values._read()
            self._debug['values']['end'] = self._io.pos()
            self._debug['align_num_values']['start'] = self._io.pos()
            self.align_num_values = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_num_values']['end'] = self._io.pos()
            self._debug['num_values']['start'] = self._io.pos()
            self.num_values = self._io.read_u4be()
            self._debug['num_values']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['align_total_size']['start'] = self._io.pos()
            self.align_total_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_total_size']['end'] = self._io.pos()
            self._debug['total_size']['start'] = self._io.pos()
            self.total_size = self._io.read_u4be()
            self._debug['total_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.values._fetch_instances()
            self.data._fetch_instances()


    class BaseRegQueryMultipleValues2Response(KaitaiStruct):
        """BaseRegQueryMultipleValues2, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.30
        """
        SEQ_FIELDS = ["values", "data", "align_required_size", "required_size", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegQueryMultipleValues2Response, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_query_multiple_values2_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['values']['start'] = self._io.pos()
            self.values = MsRrpStubs.RvalentArray(self._io, self, self._root, self._is_le)
            self.values._read()
            self._debug['values']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['align_required_size']['start'] = self._io.pos()
            self.align_required_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_required_size']['end'] = self._io.pos()
            self._debug['required_size']['start'] = self._io.pos()
            self.required_size = self._io.read_u4le()
            self._debug['required_size']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['values']['start'] = self._io.pos()
            self.values = MsRrpStubs.RvalentArray(self._io, self, self._root, self._is_le)
            self.values._read()
            self._debug['values']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['align_required_size']['start'] = self._io.pos()
            self.align_required_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_required_size']['end'] = self._io.pos()
            self._debug['required_size']['start'] = self._io.pos()
            self.required_size = self._io.read_u4be()
            self._debug['required_size']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.values._fetch_instances()
            self.data._fetch_instances()


    class BaseRegQueryMultipleValuesRequest(KaitaiStruct):
        """BaseRegQueryMultipleValues, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.26
        """
        SEQ_FIELDS = ["key", "values", "align_num_values", "num_values", "data", "align_total_size", "total_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegQueryMultipleValuesRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_query_multiple_values_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['values']['start'] = self._io.pos()
            self.values = MsRrpStubs.RvalentArray(self._io, self, self._root, self._is_le)
            self.values._read()
            self._debug['values']['end'] = self._io.pos()
            self._debug['align_num_values']['start'] = self._io.pos()
            self.align_num_values = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_num_values']['end'] = self._io.pos()
            self._debug['num_values']['start'] = self._io.pos()
            self.num_values = self._io.read_u4le()
            self._debug['num_values']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['align_total_size']['start'] = self._io.pos()
            self.align_total_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_total_size']['end'] = self._io.pos()
            self._debug['total_size']['start'] = self._io.pos()
            self.total_size = self._io.read_u4le()
            self._debug['total_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['values']['start'] = self._io.pos()
            self.values = MsRrpStubs.RvalentArray(self._io, self, self._root, self._is_le)
            self.values._read()
            self._debug['values']['end'] = self._io.pos()
            self._debug['align_num_values']['start'] = self._io.pos()
            self.align_num_values = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_num_values']['end'] = self._io.pos()
            self._debug['num_values']['start'] = self._io.pos()
            self.num_values = self._io.read_u4be()
            self._debug['num_values']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['align_total_size']['start'] = self._io.pos()
            self.align_total_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_total_size']['end'] = self._io.pos()
            self._debug['total_size']['start'] = self._io.pos()
            self.total_size = self._io.read_u4be()
            self._debug['total_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.values._fetch_instances()
            self.data._fetch_instances()


    class BaseRegQueryMultipleValuesResponse(KaitaiStruct):
        """BaseRegQueryMultipleValues, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.26
        """
        SEQ_FIELDS = ["values", "data", "align_total_size", "total_size", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegQueryMultipleValuesResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_query_multiple_values_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['values']['start'] = self._io.pos()
            self.values = MsRrpStubs.RvalentArray(self._io, self, self._root, self._is_le)
            self.values._read()
            self._debug['values']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['align_total_size']['start'] = self._io.pos()
            self.align_total_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_total_size']['end'] = self._io.pos()
            self._debug['total_size']['start'] = self._io.pos()
            self.total_size = self._io.read_u4le()
            self._debug['total_size']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['values']['start'] = self._io.pos()
            self.values = MsRrpStubs.RvalentArray(self._io, self, self._root, self._is_le)
            self.values._read()
            self._debug['values']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['align_total_size']['start'] = self._io.pos()
            self.align_total_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_total_size']['end'] = self._io.pos()
            self._debug['total_size']['start'] = self._io.pos()
            self.total_size = self._io.read_u4be()
            self._debug['total_size']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.values._fetch_instances()
            self.data._fetch_instances()


    class BaseRegQueryValueRequest(KaitaiStruct):
        """BaseRegQueryValue, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.17
        """
        SEQ_FIELDS = ["key", "value_name", "value_type", "data", "data_size", "data_len"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegQueryValueRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_query_value_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.value_type._read()
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['data_size']['start'] = self._io.pos()
            self.data_size = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_size._read()
            self._debug['data_size']['end'] = self._io.pos()
            self._debug['data_len']['start'] = self._io.pos()
            self.data_len = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_len._read()
            self._debug['data_len']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.value_type._read()
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['data_size']['start'] = self._io.pos()
            self.data_size = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_size._read()
            self._debug['data_size']['end'] = self._io.pos()
            self._debug['data_len']['start'] = self._io.pos()
            self.data_len = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_len._read()
            self._debug['data_len']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.value_name._fetch_instances()
            self.value_type._fetch_instances()
            self.data._fetch_instances()
            self.data_size._fetch_instances()
            self.data_len._fetch_instances()


    class BaseRegQueryValueResponse(KaitaiStruct):
        """BaseRegQueryValue, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.17
        """
        SEQ_FIELDS = ["value_type", "data", "data_size", "data_len", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegQueryValueResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_query_value_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.value_type._read()
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['data_size']['start'] = self._io.pos()
            self.data_size = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_size._read()
            self._debug['data_size']['end'] = self._io.pos()
            self._debug['data_len']['start'] = self._io.pos()
            self.data_len = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_len._read()
            self._debug['data_len']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.value_type._read()
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = MsRrpStubs.OptionalData(self._io, self, self._root, self._is_le)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['data_size']['start'] = self._io.pos()
            self.data_size = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_size._read()
            self._debug['data_size']['end'] = self._io.pos()
            self._debug['data_len']['start'] = self._io.pos()
            self.data_len = MsRrpStubs.OptionalU4(self._io, self, self._root, self._is_le)
            self.data_len._read()
            self._debug['data_len']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.value_type._fetch_instances()
            self.data._fetch_instances()
            self.data_size._fetch_instances()
            self.data_len._fetch_instances()


    class BaseRegSaveKeyExRequest(KaitaiStruct):
        """BaseRegSaveKeyEx, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.27
        """
        SEQ_FIELDS = ["key", "file", "security", "align_flags", "flags"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegSaveKeyExRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_save_key_ex_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['file']['start'] = self._io.pos()
            self.file = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.file._read()
            self._debug['file']['end'] = self._io.pos()
            self._debug['security']['start'] = self._io.pos()
            self.security = MsRrpStubs.SecurityAttributes(self._io, self, self._root, self._is_le)
            self.security._read()
            self._debug['security']['end'] = self._io.pos()
            self._debug['align_flags']['start'] = self._io.pos()
            self.align_flags = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_flags']['end'] = self._io.pos()
            self._debug['flags']['start'] = self._io.pos()
            self.flags = self._io.read_u4le()
            self._debug['flags']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['file']['start'] = self._io.pos()
            self.file = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.file._read()
            self._debug['file']['end'] = self._io.pos()
            self._debug['security']['start'] = self._io.pos()
            self.security = MsRrpStubs.SecurityAttributes(self._io, self, self._root, self._is_le)
            self.security._read()
            self._debug['security']['end'] = self._io.pos()
            self._debug['align_flags']['start'] = self._io.pos()
            self.align_flags = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_flags']['end'] = self._io.pos()
            self._debug['flags']['start'] = self._io.pos()
            self.flags = self._io.read_u4be()
            self._debug['flags']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.file._fetch_instances()
            self.security._fetch_instances()


    class BaseRegSaveKeyExResponse(KaitaiStruct):
        """BaseRegSaveKeyEx, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.27
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegSaveKeyExResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_save_key_ex_response")
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


    class BaseRegSaveKeyRequest(KaitaiStruct):
        """BaseRegSaveKey, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.20
        """
        SEQ_FIELDS = ["key", "file", "security"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegSaveKeyRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_save_key_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['file']['start'] = self._io.pos()
            self.file = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.file._read()
            self._debug['file']['end'] = self._io.pos()
            self._debug['security']['start'] = self._io.pos()
            self.security = MsRrpStubs.SecurityAttributes(self._io, self, self._root, self._is_le)
            self.security._read()
            self._debug['security']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['file']['start'] = self._io.pos()
            self.file = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.file._read()
            self._debug['file']['end'] = self._io.pos()
            self._debug['security']['start'] = self._io.pos()
            self.security = MsRrpStubs.SecurityAttributes(self._io, self, self._root, self._is_le)
            self.security._read()
            self._debug['security']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.file._fetch_instances()
            self.security._fetch_instances()


    class BaseRegSaveKeyResponse(KaitaiStruct):
        """BaseRegSaveKey, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.20
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegSaveKeyResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_save_key_response")
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


    class BaseRegSetValueRequest(KaitaiStruct):
        """BaseRegSetValue, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.22
        """
        SEQ_FIELDS = ["key", "value_name", "align_value_type", "value_type", "data", "align_data_size", "data_size"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegSetValueRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_set_value_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()
            self._debug['align_value_type']['start'] = self._io.pos()
            self.align_value_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_value_type']['end'] = self._io.pos()
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = KaitaiStream.resolve_enum(MsRrpStubs.ValueType, self._io.read_u4le())
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['align_data_size']['start'] = self._io.pos()
            self.align_data_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_data_size']['end'] = self._io.pos()
            self._debug['data_size']['start'] = self._io.pos()
            self.data_size = self._io.read_u4le()
            self._debug['data_size']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()
            self._debug['align_value_type']['start'] = self._io.pos()
            self.align_value_type = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_value_type']['end'] = self._io.pos()
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = KaitaiStream.resolve_enum(MsRrpStubs.ValueType, self._io.read_u4be())
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = ndr.Ndr.Conformant(self._root.ndr64, self._root.big_endian, self._io)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()
            self._debug['align_data_size']['start'] = self._io.pos()
            self.align_data_size = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_data_size']['end'] = self._io.pos()
            self._debug['data_size']['start'] = self._io.pos()
            self.data_size = self._io.read_u4be()
            self._debug['data_size']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.value_name._fetch_instances()
            self.data._fetch_instances()


    class BaseRegSetValueResponse(KaitaiStruct):
        """BaseRegSetValue, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.22
        """
        SEQ_FIELDS = ["align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.BaseRegSetValueResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/base_reg_set_value_response")
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


    class Filetime(KaitaiStruct):
        """100 ns since 1601, UTC.
        
        .. seealso::
           MS-DTYP revision 37.0 section 2.3.3
        """
        SEQ_FIELDS = ["align_low", "low", "high"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.Filetime, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/filetime")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_low']['start'] = self._io.pos()
            self.align_low = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_low']['end'] = self._io.pos()
            self._debug['low']['start'] = self._io.pos()
            self.low = self._io.read_u4le()
            self._debug['low']['end'] = self._io.pos()
            self._debug['high']['start'] = self._io.pos()
            self.high = self._io.read_u4le()
            self._debug['high']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['align_low']['start'] = self._io.pos()
            self.align_low = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_low']['end'] = self._io.pos()
            self._debug['low']['start'] = self._io.pos()
            self.low = self._io.read_u4be()
            self._debug['low']['end'] = self._io.pos()
            self._debug['high']['start'] = self._io.pos()
            self.high = self._io.read_u4be()
            self._debug['high']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class OpenClassesRootRequest(KaitaiStruct):
        """OpenClassesRoot, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.1
        """
        SEQ_FIELDS = ["server_name", "align_sam_desired", "sam_desired"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenClassesRootRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_classes_root_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4le()
            self._debug['sam_desired']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4be()
            self._debug['sam_desired']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.server_name._fetch_instances()


    class OpenClassesRootResponse(KaitaiStruct):
        """OpenClassesRoot, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.1
        """
        SEQ_FIELDS = ["key", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenClassesRootResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_classes_root_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class OpenCurrentConfigRequest(KaitaiStruct):
        """OpenCurrentConfig, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.25
        """
        SEQ_FIELDS = ["server_name", "align_sam_desired", "sam_desired"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenCurrentConfigRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_current_config_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4le()
            self._debug['sam_desired']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4be()
            self._debug['sam_desired']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.server_name._fetch_instances()


    class OpenCurrentConfigResponse(KaitaiStruct):
        """OpenCurrentConfig, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.25
        """
        SEQ_FIELDS = ["key", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenCurrentConfigResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_current_config_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class OpenCurrentUserRequest(KaitaiStruct):
        """OpenCurrentUser, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.2
        """
        SEQ_FIELDS = ["server_name", "align_sam_desired", "sam_desired"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenCurrentUserRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_current_user_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4le()
            self._debug['sam_desired']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4be()
            self._debug['sam_desired']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.server_name._fetch_instances()


    class OpenCurrentUserResponse(KaitaiStruct):
        """OpenCurrentUser, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.2
        """
        SEQ_FIELDS = ["key", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenCurrentUserResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_current_user_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class OpenLocalMachineRequest(KaitaiStruct):
        """OpenLocalMachine, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.3
        """
        SEQ_FIELDS = ["server_name", "align_sam_desired", "sam_desired"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenLocalMachineRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_local_machine_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4le()
            self._debug['sam_desired']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4be()
            self._debug['sam_desired']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.server_name._fetch_instances()


    class OpenLocalMachineResponse(KaitaiStruct):
        """OpenLocalMachine, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.3
        """
        SEQ_FIELDS = ["key", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenLocalMachineResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_local_machine_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class OpenPerformanceDataRequest(KaitaiStruct):
        """OpenPerformanceData, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.4
        """
        SEQ_FIELDS = ["server_name", "align_sam_desired", "sam_desired"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenPerformanceDataRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_performance_data_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4le()
            self._debug['sam_desired']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4be()
            self._debug['sam_desired']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.server_name._fetch_instances()


    class OpenPerformanceDataResponse(KaitaiStruct):
        """OpenPerformanceData, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.4
        """
        SEQ_FIELDS = ["key", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenPerformanceDataResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_performance_data_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class OpenPerformanceNlsTextRequest(KaitaiStruct):
        """OpenPerformanceNlsText, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.29
        """
        SEQ_FIELDS = ["server_name", "align_sam_desired", "sam_desired"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenPerformanceNlsTextRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_performance_nls_text_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4le()
            self._debug['sam_desired']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4be()
            self._debug['sam_desired']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.server_name._fetch_instances()


    class OpenPerformanceNlsTextResponse(KaitaiStruct):
        """OpenPerformanceNlsText, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.29
        """
        SEQ_FIELDS = ["key", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenPerformanceNlsTextResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_performance_nls_text_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class OpenPerformanceTextRequest(KaitaiStruct):
        """OpenPerformanceText, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.28
        """
        SEQ_FIELDS = ["server_name", "align_sam_desired", "sam_desired"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenPerformanceTextRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_performance_text_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4le()
            self._debug['sam_desired']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4be()
            self._debug['sam_desired']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.server_name._fetch_instances()


    class OpenPerformanceTextResponse(KaitaiStruct):
        """OpenPerformanceText, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.28
        """
        SEQ_FIELDS = ["key", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenPerformanceTextResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_performance_text_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class OpenUsersRequest(KaitaiStruct):
        """OpenUsers, request.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.5
        """
        SEQ_FIELDS = ["server_name", "align_sam_desired", "sam_desired"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenUsersRequest, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_users_request")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4le()
            self._debug['sam_desired']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['server_name']['start'] = self._io.pos()
            self.server_name = MsRrpStubs.ServerName(self._io, self, self._root, self._is_le)
            self.server_name._read()
            self._debug['server_name']['end'] = self._io.pos()
            self._debug['align_sam_desired']['start'] = self._io.pos()
            self.align_sam_desired = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_sam_desired']['end'] = self._io.pos()
            self._debug['sam_desired']['start'] = self._io.pos()
            self.sam_desired = self._io.read_u4be()
            self._debug['sam_desired']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.server_name._fetch_instances()


    class OpenUsersResponse(KaitaiStruct):
        """OpenUsers, response.
        
        .. seealso::
           MS-RRP revision 39.0 section 3.1.5.5
        """
        SEQ_FIELDS = ["key", "align_status", "status"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OpenUsersResponse, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/open_users_response")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4le()
            self._debug['status']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ndr.Ndr.ContextHandle(self._root.big_endian, self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['align_status']['start'] = self._io.pos()
            self.align_status = self._io.read_bytes((4 - self._io.pos() % 4) % 4)
            self._debug['align_status']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self.status = self._io.read_u4be()
            self._debug['status']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()


    class OptionalData(KaitaiStruct):
        """A unique pointer to bytes.
        
        .. seealso::
           MS-RRP revision 39.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
        """
        SEQ_FIELDS = ["pointer", "array"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OptionalData, self).__init__(_io)
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
                self.array = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
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
                self.array = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
                self.array._read()
                self._debug['array']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.pointer._fetch_instances()
            if self.pointer.referent != 0:
                pass
                self.array._fetch_instances()



    class OptionalFiletime(KaitaiStruct):
        """A unique pointer to a time.
        
        .. seealso::
           MS-RRP revision 39.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
        """
        SEQ_FIELDS = ["pointer", "value"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OptionalFiletime, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/optional_filetime")
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
                self.value = MsRrpStubs.Filetime(self._io, self, self._root, self._is_le)
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
                self.value = MsRrpStubs.Filetime(self._io, self, self._root, self._is_le)
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
           MS-RRP revision 39.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
        """
        SEQ_FIELDS = ["pointer", "value"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OptionalU4, self).__init__(_io)
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



    class OptionalUnicodeString(KaitaiStruct):
        """A unique pointer to a counted string.
        
        .. seealso::
           MS-RRP revision 39.0 section 6; DCE 1.1 RPC (C706) section 14.3.10
        """
        SEQ_FIELDS = ["pointer", "value"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.OptionalUnicodeString, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/optional_unicode_string")
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
                self.value = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
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
                self.value = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
                self.value._read()
                self._debug['value']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.pointer._fetch_instances()
            if self.pointer.referent != 0:
                pass
                self.value._fetch_instances()



    class Rvalent(KaitaiStruct):
        """A value to read, and after the call its type and where its data is in the buffer.
        
        .. seealso::
           MS-RRP revision 39.0 section 2.2.5
        """
        SEQ_FIELDS = ["value_name", "value_len", "value_ptr", "value_type", "padding"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.Rvalent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/rvalent")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()
            self._debug['value_len']['start'] = self._io.pos()
            self.value_len = self._io.read_u4le()
            self._debug['value_len']['end'] = self._io.pos()
            self._debug['value_ptr']['start'] = self._io.pos()
            self.value_ptr = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.value_ptr._read()
            self._debug['value_ptr']['end'] = self._io.pos()
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = KaitaiStream.resolve_enum(MsRrpStubs.ValueType, self._io.read_u4le())
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['padding']['start'] = self._io.pos()
            self.padding = self._io.read_bytes((4 if self._root.ndr64 else 0))
            self._debug['padding']['end'] = self._io.pos()

        def _read_be(self):
            self._debug['value_name']['start'] = self._io.pos()
            self.value_name = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.value_name._read()
            self._debug['value_name']['end'] = self._io.pos()
            self._debug['value_len']['start'] = self._io.pos()
            self.value_len = self._io.read_u4be()
            self._debug['value_len']['end'] = self._io.pos()
            self._debug['value_ptr']['start'] = self._io.pos()
            self.value_ptr = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.value_ptr._read()
            self._debug['value_ptr']['end'] = self._io.pos()
            self._debug['value_type']['start'] = self._io.pos()
            self.value_type = KaitaiStream.resolve_enum(MsRrpStubs.ValueType, self._io.read_u4be())
            self._debug['value_type']['end'] = self._io.pos()
            self._debug['padding']['start'] = self._io.pos()
            self.padding = self._io.read_bytes((4 if self._root.ndr64 else 0))
            self._debug['padding']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.value_name._fetch_instances()
            self.value_ptr._fetch_instances()


    class RvalentArray(KaitaiStruct):
        """What to read of several values. What pointers of an element point to follows the whole array.
        
        .. seealso::
           MS-RRP revision 39.0 sections 2.2.5 and 3.1.5.26
        """
        SEQ_FIELDS = ["align_counts", "max_count", "offset", "actual_count", "entries", "referents"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.RvalentArray, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/rvalent_array")
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
            self._debug['offset']['start'] = self._io.pos()
            _on = self._root.ndr64
            if _on == False:
                pass
                self.offset = self._io.read_u4le()
            elif _on == True:
                pass
                self.offset = self._io.read_u8le()
            self._debug['offset']['end'] = self._io.pos()
            if not self.offset == 0:
                raise kaitaistruct.ValidationNotEqualError(0, self.offset, self._io, u"/types/rvalent_array/seq/2")
            self._debug['actual_count']['start'] = self._io.pos()
            _on = self._root.ndr64
            if _on == False:
                pass
                self.actual_count = self._io.read_u4le()
            elif _on == True:
                pass
                self.actual_count = self._io.read_u8le()
            self._debug['actual_count']['end'] = self._io.pos()
            if not self.actual_count <= self.max_count:
                raise kaitaistruct.ValidationGreaterThanError(self.max_count, self.actual_count, self._io, u"/types/rvalent_array/seq/3")
            self._debug['entries']['start'] = self._io.pos()
            self._debug['entries']['arr'] = []
            self.entries = []
            for i in range(self.actual_count):
                self._debug['entries']['arr'].append({'start': self._io.pos()})
                _t_entries = MsRrpStubs.Rvalent(self._io, self, self._root, self._is_le)
                try:
                    _t_entries._read()
                finally:
                    self.entries.append(_t_entries)
                self._debug['entries']['arr'][i]['end'] = self._io.pos()

            self._debug['entries']['end'] = self._io.pos()
            self._debug['referents']['start'] = self._io.pos()
            self._debug['referents']['arr'] = []
            self.referents = []
            for i in range(self.actual_count):
                self._debug['referents']['arr'].append({'start': self._io.pos()})
                _t_referents = MsRrpStubs.RvalentReferents(self.entries[i], self._io, self, self._root, self._is_le)
                try:
                    _t_referents._read()
                finally:
                    self.referents.append(_t_referents)
                self._debug['referents']['arr'][i]['end'] = self._io.pos()

            self._debug['referents']['end'] = self._io.pos()

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
            self._debug['offset']['start'] = self._io.pos()
            _on = self._root.ndr64
            if _on == False:
                pass
                self.offset = self._io.read_u4be()
            elif _on == True:
                pass
                self.offset = self._io.read_u8be()
            self._debug['offset']['end'] = self._io.pos()
            if not self.offset == 0:
                raise kaitaistruct.ValidationNotEqualError(0, self.offset, self._io, u"/types/rvalent_array/seq/2")
            self._debug['actual_count']['start'] = self._io.pos()
            _on = self._root.ndr64
            if _on == False:
                pass
                self.actual_count = self._io.read_u4be()
            elif _on == True:
                pass
                self.actual_count = self._io.read_u8be()
            self._debug['actual_count']['end'] = self._io.pos()
            if not self.actual_count <= self.max_count:
                raise kaitaistruct.ValidationGreaterThanError(self.max_count, self.actual_count, self._io, u"/types/rvalent_array/seq/3")
            self._debug['entries']['start'] = self._io.pos()
            self._debug['entries']['arr'] = []
            self.entries = []
            for i in range(self.actual_count):
                self._debug['entries']['arr'].append({'start': self._io.pos()})
                _t_entries = MsRrpStubs.Rvalent(self._io, self, self._root, self._is_le)
                try:
                    _t_entries._read()
                finally:
                    self.entries.append(_t_entries)
                self._debug['entries']['arr'][i]['end'] = self._io.pos()

            self._debug['entries']['end'] = self._io.pos()
            self._debug['referents']['start'] = self._io.pos()
            self._debug['referents']['arr'] = []
            self.referents = []
            for i in range(self.actual_count):
                self._debug['referents']['arr'].append({'start': self._io.pos()})
                _t_referents = MsRrpStubs.RvalentReferents(self.entries[i], self._io, self, self._root, self._is_le)
                try:
                    _t_referents._read()
                finally:
                    self.referents.append(_t_referents)
                self._debug['referents']['arr'][i]['end'] = self._io.pos()

            self._debug['referents']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            _on = self._root.ndr64
            if _on == False:
                pass
            elif _on == True:
                pass
            _on = self._root.ndr64
            if _on == False:
                pass
            elif _on == True:
                pass
            _on = self._root.ndr64
            if _on == False:
                pass
            elif _on == True:
                pass
            for i in range(len(self.entries)):
                pass
                self.entries[i]._fetch_instances()

            for i in range(len(self.referents)):
                pass
                self.referents[i]._fetch_instances()



    class RvalentReferents(KaitaiStruct):
        """What the pointers of an element point to.
        
        .. seealso::
           MS-RRP revision 39.0 section 2.2.5; DCE 1.1 RPC (C706) section 14.3.12.3
        """
        SEQ_FIELDS = ["value_name", "value_ptr"]
        def __init__(self, entry, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.RvalentReferents, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self.entry = entry
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/rvalent_referents")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            if self.entry.value_name.referent != 0:
                pass
                self._debug['value_name']['start'] = self._io.pos()
                self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
                self.value_name._read()
                self._debug['value_name']['end'] = self._io.pos()

            if self.entry.value_ptr.referent != 0:
                pass
                self._debug['value_ptr']['start'] = self._io.pos()
                self.value_ptr = ndr.Ndr.AlignedU4(self._root.big_endian, self._io)
                self.value_ptr._read()
                self._debug['value_ptr']['end'] = self._io.pos()


        def _read_be(self):
            if self.entry.value_name.referent != 0:
                pass
                self._debug['value_name']['start'] = self._io.pos()
                self.value_name = MsRrpStubs.UnicodeString(self._io, self, self._root, self._is_le)
                self.value_name._read()
                self._debug['value_name']['end'] = self._io.pos()

            if self.entry.value_ptr.referent != 0:
                pass
                self._debug['value_ptr']['start'] = self._io.pos()
                self.value_ptr = ndr.Ndr.AlignedU4(self._root.big_endian, self._io)
                self.value_ptr._read()
                self._debug['value_ptr']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            if self.entry.value_name.referent != 0:
                pass
                self.value_name._fetch_instances()

            if self.entry.value_ptr.referent != 0:
                pass
                self.value_ptr._fetch_instances()



    class SecurityAttributes(KaitaiStruct):
        """A unique pointer to the security of a new key.
        
        .. seealso::
           MS-RRP revision 39.0 sections 2.2.8 and 2.2.9
        """
        SEQ_FIELDS = ["pointer", "value"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.SecurityAttributes, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/security_attributes")
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
                self.value = MsRrpStubs.SecurityAttributesReferent(self._io, self, self._root, self._is_le)
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
                self.value = MsRrpStubs.SecurityAttributesReferent(self._io, self, self._root, self._is_le)
                self.value._read()
                self._debug['value']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.pointer._fetch_instances()
            if self.pointer.referent != 0:
                pass
                self.value._fetch_instances()



    class SecurityAttributesReferent(KaitaiStruct):
        """The length of the structure, a security descriptor, and whether handles are inherited.
        
        .. seealso::
           MS-RRP revision 39.0 sections 2.2.8 and 2.2.9
        """
        SEQ_FIELDS = ["align_length", "length", "descriptor_pointer", "descriptor_room", "descriptor_len", "inherit", "descriptor"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.SecurityAttributesReferent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/security_attributes_referent")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_length']['start'] = self._io.pos()
            self.align_length = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self._root.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_length']['end'] = self._io.pos()
            self._debug['length']['start'] = self._io.pos()
            self.length = self._io.read_u4le()
            self._debug['length']['end'] = self._io.pos()
            self._debug['descriptor_pointer']['start'] = self._io.pos()
            self.descriptor_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.descriptor_pointer._read()
            self._debug['descriptor_pointer']['end'] = self._io.pos()
            self._debug['descriptor_room']['start'] = self._io.pos()
            self.descriptor_room = self._io.read_u4le()
            self._debug['descriptor_room']['end'] = self._io.pos()
            self._debug['descriptor_len']['start'] = self._io.pos()
            self.descriptor_len = self._io.read_u4le()
            self._debug['descriptor_len']['end'] = self._io.pos()
            self._debug['inherit']['start'] = self._io.pos()
            self.inherit = self._io.read_u1()
            self._debug['inherit']['end'] = self._io.pos()
            if self.descriptor_pointer.referent != 0:
                pass
                self._debug['descriptor']['start'] = self._io.pos()
                self.descriptor = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
                self.descriptor._read()
                self._debug['descriptor']['end'] = self._io.pos()


        def _read_be(self):
            self._debug['align_length']['start'] = self._io.pos()
            self.align_length = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self._root.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_length']['end'] = self._io.pos()
            self._debug['length']['start'] = self._io.pos()
            self.length = self._io.read_u4be()
            self._debug['length']['end'] = self._io.pos()
            self._debug['descriptor_pointer']['start'] = self._io.pos()
            self.descriptor_pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.descriptor_pointer._read()
            self._debug['descriptor_pointer']['end'] = self._io.pos()
            self._debug['descriptor_room']['start'] = self._io.pos()
            self.descriptor_room = self._io.read_u4be()
            self._debug['descriptor_room']['end'] = self._io.pos()
            self._debug['descriptor_len']['start'] = self._io.pos()
            self.descriptor_len = self._io.read_u4be()
            self._debug['descriptor_len']['end'] = self._io.pos()
            self._debug['inherit']['start'] = self._io.pos()
            self.inherit = self._io.read_u1()
            self._debug['inherit']['end'] = self._io.pos()
            if self.descriptor_pointer.referent != 0:
                pass
                self._debug['descriptor']['start'] = self._io.pos()
                self.descriptor = ndr.Ndr.ConformantVarying(1, self._root.ndr64, self._root.big_endian, self._io)
                self.descriptor._read()
                self._debug['descriptor']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.descriptor_pointer._fetch_instances()
            if self.descriptor_pointer.referent != 0:
                pass
                self.descriptor._fetch_instances()



    class ServerName(KaitaiStruct):
        """A unique pointer to a single 16-bit character, which the server ignores.
        
        .. seealso::
           MS-RRP revision 39.0 section 2.2.2
        """
        SEQ_FIELDS = ["pointer", "value"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.ServerName, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/server_name")
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
                self.value = self._io.read_u2le()
                self._debug['value']['end'] = self._io.pos()


        def _read_be(self):
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = self._io.read_u2be()
                self._debug['value']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.pointer._fetch_instances()
            if self.pointer.referent != 0:
                pass



    class UnicodeString(KaitaiStruct):
        """A counted string; most senders count the NUL at its end.
        
        .. seealso::
           MS-RRP revision 39.0 section 2.2.4; MS-DTYP revision 37.0 section 2.3.10
        """
        SEQ_FIELDS = ["align_length", "length", "maximum_length", "pointer", "string"]
        def __init__(self, _io, _parent=None, _root=None, _is_le=None):
            super(MsRrpStubs.UnicodeString, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._is_le = _is_le
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if not hasattr(self, '_is_le'):
                raise kaitaistruct.UndecidedEndiannessError("/types/unicode_string")
            elif self._is_le == True:
                self._read_le()
            elif self._is_le == False:
                self._read_be()

        def _read_le(self):
            self._debug['align_length']['start'] = self._io.pos()
            self.align_length = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self._root.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_length']['end'] = self._io.pos()
            self._debug['length']['start'] = self._io.pos()
            self.length = self._io.read_u2le()
            self._debug['length']['end'] = self._io.pos()
            self._debug['maximum_length']['start'] = self._io.pos()
            self.maximum_length = self._io.read_u2le()
            self._debug['maximum_length']['end'] = self._io.pos()
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['string']['start'] = self._io.pos()
                self.string = ndr.Ndr.ConformantVarying(2, self._root.ndr64, self._root.big_endian, self._io)
                self.string._read()
                self._debug['string']['end'] = self._io.pos()


        def _read_be(self):
            self._debug['align_length']['start'] = self._io.pos()
            self.align_length = self._io.read_bytes(((8 - self._io.pos() % 8) % 8 if self._root.ndr64 else (4 - self._io.pos() % 4) % 4))
            self._debug['align_length']['end'] = self._io.pos()
            self._debug['length']['start'] = self._io.pos()
            self.length = self._io.read_u2be()
            self._debug['length']['end'] = self._io.pos()
            self._debug['maximum_length']['start'] = self._io.pos()
            self.maximum_length = self._io.read_u2be()
            self._debug['maximum_length']['end'] = self._io.pos()
            self._debug['pointer']['start'] = self._io.pos()
            self.pointer = ndr.Ndr.Pointer(self._root.ndr64, self._root.big_endian, self._io)
            self.pointer._read()
            self._debug['pointer']['end'] = self._io.pos()
            if self.pointer.referent != 0:
                pass
                self._debug['string']['start'] = self._io.pos()
                self.string = ndr.Ndr.ConformantVarying(2, self._root.ndr64, self._root.big_endian, self._io)
                self.string._read()
                self._debug['string']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.pointer._fetch_instances()
            if self.pointer.referent != 0:
                pass
                self.string._fetch_instances()


        @property
        def text(self):
            """With its NUL, where it has one."""
            if hasattr(self, '_m_text'):
                return self._m_text

            if self.pointer.referent != 0:
                pass
                self._m_text = ((self.string.data).decode(u"UTF-16BE") if self._root.big_endian else (self.string.data).decode(u"UTF-16LE"))

            return getattr(self, '_m_text', None)



