# Impacket - Collection of Python classes for working with network protocols.
#
# This software is provided under a slightly modified version
# of the Apache Software License. See the accompanying LICENSE file
# for more information.
#
# Tested so far:
#   PerflibV2EnumerateCounterSet, PerflibV2QueryCounterSetRegistrationInfo, PerflibV2EnumerateCounterSetInstances,
#   PerflibV2OpenQueryHandle, PerflibV2CloseQueryHandle, PerflibV2QueryCounterInfo, PerflibV2QueryCounterData,
#   PerflibV2ValidateCounters
#
import unittest

import pytest
from impacket.dcerpc.v5 import pcq
from impacket.dcerpc.v5.rpcrt import RPC_C_AUTHN_LEVEL_PKT_PRIVACY

from tests.dcerpc import DCERPCTests


class PCQTests(DCERPCTests):
    iface_uuid = pcq.MSRPC_UUID_PCQ
    string_binding = r"ncacn_np:{0.machine}[\PIPE\winreg]"
    string_binding_formatting = DCERPCTests.STRING_BINDING_FORMATTING
    authn = True
    authn_level = RPC_C_AUTHN_LEVEL_PKT_PRIVACY
    machine_name = "\\\\test\0"

    def test_registration(self):
        dce, transport = self.connect()
        guids = pcq.hPerflibV2EnumerateCounterSet(dce, self.machine_name)
        assert guids
        info = pcq.hPerflibV2QueryCounterSetRegistrationInfo(
            dce, self.machine_name, guids[0], pcq.PERF_REG_COUNTERSET_STRUCT
        )
        assert len(info) >= 32
        dce.disconnect()

    def test_query(self):
        dce, transport = self.connect()
        guids = pcq.hPerflibV2EnumerateCounterSet(dce, self.machine_name)
        handle = pcq.hPerflibV2OpenQueryHandle(dce, self.machine_name)
        answered = pcq.hPerflibV2ValidateCounters(dce, handle, pcq.counter_identifier(guids[0]))
        assert len(answered) >= 40
        assert pcq.hPerflibV2QueryCounterInfo(dce, handle)
        assert len(pcq.hPerflibV2QueryCounterData(dce, handle)) >= 48
        pcq.hPerflibV2CloseQueryHandle(dce, handle)
        dce.disconnect()


@pytest.mark.remote
class PCQTestsSMBTransport(PCQTests, unittest.TestCase):
    transfer_syntax = DCERPCTests.TRANSFER_SYNTAX_NDR


if __name__ == "__main__":
    unittest.main(verbosity=1)
