# Impacket - Collection of Python classes for working with network protocols.
#
# This software is provided under a slightly modified version
# of the Apache Software License. See the accompanying LICENSE file
# for more information.
#
# Description:
#   [MS-PCQ]: Performance Counter Query Protocol (PerflibV2), revision 13.0
#
#   Best way to learn how to use these calls is to grab the protocol standard
#   so you understand what the call does, and then read the test case located
#   at tests/dcerpc/test_pcq.py
#
#   Some calls have helper functions, which makes it even easier to use.
#   They are located at the end of this file.
#   Helper functions start with "h"<name of the call>.
#   The interface lives on the pipe \PIPE\winreg and wants RPC_C_AUTHN_LEVEL_PKT_PRIVACY.
#
from struct import pack, unpack_from

from impacket import system_errors
from impacket.dcerpc.v5.dtypes import DWORD, GUID, WSTR
from impacket.dcerpc.v5.ndr import NDRCALL, NDRSTRUCT, NDRUniConformantArray, NDRUniConformantVaryingArray
from impacket.dcerpc.v5.rpcrt import DCERPCException
from impacket.uuid import bin_to_string, string_to_bin, uuidtup_to_bin

MSRPC_UUID_PCQ = uuidtup_to_bin(("DA5A86C5-12C2-4943-AB30-7F74A813D853", "1.0"))


class DCERPCSessionError(DCERPCException):
    def __init__(self, error_string=None, error_code=None, packet=None):
        DCERPCException.__init__(self, error_string, error_code, packet)

    def __str__(self):
        key = self.error_code
        if key in system_errors.ERROR_MESSAGES:
            short, verbose = system_errors.ERROR_MESSAGES[key]
            return "PCQ SessionError: code: 0x%x - %s - %s" % (key, short, verbose)
        return "PCQ SessionError: unknown error code: 0x%x" % key


################################################################################
# CONSTANTS
################################################################################
ERROR_NOT_ENOUGH_MEMORY = 8

# 3.1.4.1.2 RequestCode
PERF_REG_COUNTERSET_STRUCT = 1
PERF_REG_COUNTER_STRUCT = 2
PERF_REG_COUNTERSET_NAME_STRING = 3
PERF_REG_COUNTERSET_HELP_STRING = 4
PERF_REG_COUNTER_NAME_STRINGS = 5
PERF_REG_COUNTER_HELP_STRINGS = 6
PERF_REG_PROVIDER_NAME = 7
PERF_REG_PROVIDER_GUID = 8
PERF_REG_COUNTERSET_ENGLISH_NAME = 9
PERF_REG_COUNTER_ENGLISH_NAMES = 10

PERF_WILDCARD_COUNTER = 0xFFFFFFFF
PERF_WILDCARD_INSTANCE = "*"
MOST_COUNTERSETS = 256


################################################################################
# STRUCTURES
################################################################################
class RPC_HQUERY(NDRSTRUCT):
    align = 4
    structure = (("Data", '20s=b""'),)


class GUID_ARRAY(NDRUniConformantVaryingArray):
    item = GUID


class BYTES_ARRAY(NDRUniConformantVaryingArray):
    item = "c"


class IDENTIFIERS(NDRUniConformantArray):
    item = "c"


################################################################################
# RPC CALLS
################################################################################
# 3.1.4.1.1 PerflibV2EnumerateCounterSet (Opnum 0)
class PerflibV2EnumerateCounterSet(NDRCALL):
    opnum = 0
    structure = (("szMachine", WSTR), ("dwInSize", DWORD))


class PerflibV2EnumerateCounterSetResponse(NDRCALL):
    structure = (("pdwOutSize", DWORD), ("pdwRtnSize", DWORD), ("lpData", GUID_ARRAY), ("ErrorCode", DWORD))


# 3.1.4.1.2 PerflibV2QueryCounterSetRegistrationInfo (Opnum 1)
class PerflibV2QueryCounterSetRegistrationInfo(NDRCALL):
    opnum = 1
    structure = (
        ("szMachine", WSTR),
        ("CounterSetGuid", GUID),
        ("RequestCode", DWORD),
        ("RequestLCID", DWORD),
        ("dwInSize", DWORD),
    )


class PerflibV2QueryCounterSetRegistrationInfoResponse(NDRCALL):
    structure = (("pdwOutSize", DWORD), ("pdwRtnSize", DWORD), ("lpData", BYTES_ARRAY), ("ErrorCode", DWORD))


# 3.1.4.1.3 PerflibV2EnumerateCounterSetInstances (Opnum 2)
class PerflibV2EnumerateCounterSetInstances(NDRCALL):
    opnum = 2
    structure = (("szMachine", WSTR), ("CounterSetGuid", GUID), ("dwInSize", DWORD))


class PerflibV2EnumerateCounterSetInstancesResponse(NDRCALL):
    structure = (("pdwOutSize", DWORD), ("pdwRtnSize", DWORD), ("lpData", BYTES_ARRAY), ("ErrorCode", DWORD))


# 3.1.4.1.4 PerflibV2OpenQueryHandle (Opnum 3)
class PerflibV2OpenQueryHandle(NDRCALL):
    opnum = 3
    structure = (("szMachine", WSTR),)


class PerflibV2OpenQueryHandleResponse(NDRCALL):
    structure = (("phQuery", RPC_HQUERY), ("ErrorCode", DWORD))


# 3.1.4.1.8 PerflibV2CloseQueryHandle (Opnum 4)
class PerflibV2CloseQueryHandle(NDRCALL):
    opnum = 4
    structure = (("phQuery", RPC_HQUERY),)


class PerflibV2CloseQueryHandleResponse(NDRCALL):
    structure = (("phQuery", RPC_HQUERY), ("ErrorCode", DWORD))


# 3.1.4.1.5 PerflibV2QueryCounterInfo (Opnum 5)
class PerflibV2QueryCounterInfo(NDRCALL):
    opnum = 5
    structure = (("hQuery", RPC_HQUERY), ("dwInSize", DWORD))


class PerflibV2QueryCounterInfoResponse(NDRCALL):
    structure = (("pdwOutSize", DWORD), ("pdwRtnSize", DWORD), ("lpData", BYTES_ARRAY), ("ErrorCode", DWORD))


# 3.1.4.1.6 PerflibV2QueryCounterData (Opnum 6)
class PerflibV2QueryCounterData(NDRCALL):
    opnum = 6
    structure = (("hQuery", RPC_HQUERY), ("dwInSize", DWORD))


class PerflibV2QueryCounterDataResponse(NDRCALL):
    structure = (("pdwOutSize", DWORD), ("pdwRtnSize", DWORD), ("lpData", BYTES_ARRAY), ("ErrorCode", DWORD))


# 3.1.4.1.7 PerflibV2ValidateCounters (Opnum 7)
class PerflibV2ValidateCounters(NDRCALL):
    opnum = 7
    structure = (("hQuery", RPC_HQUERY), ("dwInSize", DWORD), ("lpData", IDENTIFIERS), ("dwAdd", DWORD))


class PerflibV2ValidateCountersResponse(NDRCALL):
    structure = (("lpData", IDENTIFIERS), ("ErrorCode", DWORD))


################################################################################
# OPNUMs and their corresponding structures
################################################################################
OPNUMS = {
    0: (PerflibV2EnumerateCounterSet, PerflibV2EnumerateCounterSetResponse),
    1: (PerflibV2QueryCounterSetRegistrationInfo, PerflibV2QueryCounterSetRegistrationInfoResponse),
    2: (PerflibV2EnumerateCounterSetInstances, PerflibV2EnumerateCounterSetInstancesResponse),
    3: (PerflibV2OpenQueryHandle, PerflibV2OpenQueryHandleResponse),
    4: (PerflibV2CloseQueryHandle, PerflibV2CloseQueryHandleResponse),
    5: (PerflibV2QueryCounterInfo, PerflibV2QueryCounterInfoResponse),
    6: (PerflibV2QueryCounterData, PerflibV2QueryCounterDataResponse),
    7: (PerflibV2ValidateCounters, PerflibV2ValidateCountersResponse),
}


################################################################################
# HELPER FUNCTIONS
################################################################################
def counter_identifier(guid, counter=PERF_WILDCARD_COUNTER, instance=PERF_WILDCARD_INSTANCE, instance_id=0xFFFFFFFF):
    """A _PERF_COUNTER_IDENTIFIER (2.2.4.6) with the name of its instance, padded to 8 bytes."""
    name = (instance + "\0").encode("utf-16le")
    name += b"\0" * (-len(name) % 8)
    return string_to_bin(guid) + pack("<6L", 0, 40 + len(name), counter, instance_id, 0, 0) + name


def _machine(name):
    return name if name.endswith("\0") else name + "\0"


def _with_room(dce, request, size):
    """Sends a request that offers room for its answer, and once more with the size that the server asks for."""
    request["dwInSize"] = size
    answer = dce.request(request, checkError=False)
    if answer["ErrorCode"] == ERROR_NOT_ENOUGH_MEMORY and answer["pdwRtnSize"] > size:
        request["dwInSize"] = answer["pdwRtnSize"]
        answer = dce.request(request, checkError=False)
    if answer["ErrorCode"] != 0:
        raise DCERPCSessionError(error_code=answer["ErrorCode"], packet=answer)
    return answer


def hPerflibV2EnumerateCounterSet(dce, machine):
    """The GUIDs of all countersets, as text."""
    request = PerflibV2EnumerateCounterSet()
    request["szMachine"] = _machine(machine)
    answer = _with_room(dce, request, MOST_COUNTERSETS)
    return [bin_to_string(one["Data"]) for one in answer["lpData"]]


def hPerflibV2QueryCounterSetRegistrationInfo(dce, machine, guid, code, lcid=0, size=4096):
    """What is registered of a counterset, as bytes (2.2.4.1 to 2.2.4.4)."""
    request = PerflibV2QueryCounterSetRegistrationInfo()
    request["szMachine"] = _machine(machine)
    request["CounterSetGuid"] = string_to_bin(guid)
    request["RequestCode"] = code
    request["RequestLCID"] = lcid
    return b"".join(_with_room(dce, request, size)["lpData"])


def hPerflibV2EnumerateCounterSetInstances(dce, machine, guid, size=4096):
    """The instances of a counterset, as (InstanceId, name)."""
    request = PerflibV2EnumerateCounterSetInstances()
    request["szMachine"] = _machine(machine)
    request["CounterSetGuid"] = string_to_bin(guid)
    data = b"".join(_with_room(dce, request, size)["lpData"])
    found = []
    at = 0
    while at + 8 <= len(data):
        length, number = unpack_from("<LL", data, at)
        if length < 8:
            break
        found.append((number, data[at + 8 : at + length].decode("utf-16le").split("\0")[0]))
        at += length
    return found


def hPerflibV2OpenQueryHandle(dce, machine):
    """A query handle."""
    request = PerflibV2OpenQueryHandle()
    request["szMachine"] = _machine(machine)
    return dce.request(request)["phQuery"]


def hPerflibV2CloseQueryHandle(dce, handle):
    request = PerflibV2CloseQueryHandle()
    request["phQuery"] = handle
    return dce.request(request)


def hPerflibV2QueryCounterInfo(dce, handle, size=4096):
    """The identifiers that a handle holds, as bytes."""
    request = PerflibV2QueryCounterInfo()
    request["hQuery"] = handle
    return b"".join(_with_room(dce, request, size)["lpData"])


def hPerflibV2QueryCounterData(dce, handle, size=65536):
    """A _PERF_DATA_HEADER with its blocks (2.2.4.7), as bytes."""
    request = PerflibV2QueryCounterData()
    request["hQuery"] = handle
    return b"".join(_with_room(dce, request, size)["lpData"])


def hPerflibV2ValidateCounters(dce, handle, identifiers, add=1):
    """Adds or removes identifiers; gives them back with their Status."""
    request = PerflibV2ValidateCounters()
    request["hQuery"] = handle
    request["dwInSize"] = len(identifiers)
    request["lpData"] = list(identifiers[at : at + 1] for at in range(len(identifiers)))
    request["dwAdd"] = add
    return b"".join(dce.request(request)["lpData"])
