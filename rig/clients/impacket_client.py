"""impacket: SMB 1 to 3.1.1 or TCP, and its own DCERPC."""

import os

from impacket.dcerpc.v5 import rpcrt, transport
from impacket.smbconnection import SMBConnection
from impacket.uuid import uuidtup_to_bin

from rig.clients.lines import Fault, options, serve, status_of

NDR64 = ("71710533-BEBA-4937-8319-B5DBEF9CCC36", "1.0")
NDR = ("8a885d04-1ceb-11c9-9fe8-08002b104860", "2.0")


def connected(asked):
    """A transport on which nothing is bound yet."""
    if asked["carrier"] == "tcp":
        made = transport.TCPTransport(asked["host"], asked["port"])
        made.set_credentials(asked["user"], asked["password"], asked["domain"])
        return made
    dialect = asked.get("dialect")
    if isinstance(dialect, str):
        dialect = int(dialect, 16) if dialect.startswith("0x") else dialect
    smb = SMBConnection(
        asked.get("name", asked["host"]), asked["host"], sess_port=asked["port"], preferredDialect=dialect
    )
    if asked.get("kerberos"):
        # What it asks a KDC for is refused by those of MIT and Heimdal: its requests have no checksum.
        os.environ["KRB5CCNAME"] = asked["tickets"]
        smb.kerberosLogin(asked["user"], "", asked["realm"], kdcHost=asked["host"], useCache=True)
    else:
        smb.login(asked["user"], asked["password"], asked["domain"])
    return transport.SMBTransport(
        asked["host"], asked["port"], "winreg", asked["user"], asked["password"], asked["domain"], smb_connection=smb
    )


def main():
    asked = options()
    dce = connected(asked).get_dce_rpc()
    dce.set_auth_level(asked["level"])
    if asked.get("fragment"):
        dce.set_max_fragment_size(asked["fragment"])
    dce.connect()
    bound = {}

    def call(interface, opnum, stub):
        if interface not in bound:
            wanted = uuidtup_to_bin((interface, "1.0"))
            if bound:
                bound[interface] = next(iter(bound.values())).alter_ctx(wanted)
            else:
                dce.bind(wanted, transfer_syntax=(NDR64 if asked.get("ndr64") else NDR))
                bound[interface] = dce
        try:
            bound[interface].call(opnum, stub)
            return bound[interface].recv()
        except rpcrt.DCERPCException as error:
            raise Fault(status_of(error, rpcrt.rpc_status_codes)) from None

    serve(call)


main()
