"""scapy: its SMB 2 and 3, its NTLM and SPNEGO, and its DCERPC. Calls go out and come back as bytes."""

import uuid

from scapy.config import conf
from scapy.layers.dcerpc import DceRpc5Fault, DCERPC_Transport, find_dcerpc_interface, register_dcerpc_interface
from scapy.layers.msrpce.rpcclient import DCERPC_Client
from scapy.layers.ntlm import NTLMSSP
from scapy.layers.spnego import SPNEGOSSP
from scapy.packet import Raw

from rig.clients.lines import Fault, options, serve


def known(interface):
    """An interface without methods, so that scapy leaves stubs as they are."""
    register_dcerpc_interface(interface, uuid.UUID(interface), "1.0", {})
    return find_dcerpc_interface(interface)


def main():
    asked = options()
    conf.verb = 0
    ntlm = NTLMSSP(UPN=f"{asked['domain']}\\{asked['user']}", PASSWORD=asked["password"])
    over_tcp = asked["carrier"] == "tcp"
    client = DCERPC_Client(
        DCERPC_Transport.NCACN_IP_TCP if over_tcp else DCERPC_Transport.NCACN_NP,
        ndr64=asked.get("ndr64", False),
        verb=False,
        auth_level=asked["level"],
        ssp=None
        if over_tcp and asked["level"] == 1
        else SPNEGOSSP([ntlm])
        if asked["spnego"] or not over_tcp
        else ntlm,
    )
    if over_tcp:
        client.connect(asked["host"], port=asked["port"], timeout=20)
    else:
        client.connect(
            asked["host"],
            endpoint="winreg",
            port=asked["port"],
            timeout=20,
            smb_kwargs={"REQUIRE_ENCRYPTION": asked["encrypt"]},
        )
        # scapy 2.8 tells these to the session over TCP alone; over SMB it would not seal what it sends.
        client.session.ssp, client.session.auth_level = client.ssp, client.auth_level
    bound = {}

    def call(interface, opnum, stub):
        if interface not in bound:
            bound[interface] = known(interface)
        if not client.bind_or_alter(bound[interface]):
            raise SystemExit("the server did not accept the interface")
        answer = client.sr1_req(Raw(stub), opnum=opnum)
        if answer is None:
            raise SystemExit("no answer")
        if DceRpc5Fault in answer:
            raise Fault(answer[DceRpc5Fault].status)
        return bytes(answer)

    serve(call)


main()
