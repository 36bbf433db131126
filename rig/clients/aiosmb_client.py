"""aiosmb: SMB 2 and 3 on asyncio, with its own ciphers and handshakes; each interface on a pipe of its own."""

import asyncio

from aiosmb.commons.connection.factory import SMBConnectionFactory
from aiosmb.dcerpc.v5.common.connection.smbdcefactory import SMBDCEFactory
from aiosmb.dcerpc.v5.rpcrt import DCERPCException, rpc_status_codes
from aiosmb.dcerpc.v5.uuid import uuidtup_to_bin

from rig.clients.lines import Fault, options, serve, status_of


def made(result):
    """What aiosmb returns beside an error, which it gives in place of raising it."""
    value, error = result
    if error is not None:
        raise error
    return value


async def opened(asked):
    """A connection of SMB."""
    factory = SMBConnectionFactory.from_components(
        asked["host"],
        asked["user"],
        asked["password"],
        secrettype="password",
        domain=asked["domain"],
        port=asked["port"],
        dialect=asked["dialect"],
    )
    connection = factory.get_connection()
    made(await connection.login())
    return connection


async def bound_to(connection, interface, level):
    dce = SMBDCEFactory(connection, r"\winreg").get_dce_rpc()
    dce.set_auth_level(level)
    made(await dce.connect())
    made(await dce.bind(uuidtup_to_bin((interface, "1.0"))))
    return dce


async def answer_of(dce, opnum, stub):
    made(await dce.call(opnum, stub))
    return made(await dce.recv())


def main():
    asked = options()
    loop = asyncio.new_event_loop()
    connection = loop.run_until_complete(opened(asked))
    bound = {}

    def call(interface, opnum, stub):
        if interface not in bound:
            bound[interface] = loop.run_until_complete(bound_to(connection, interface, asked["level"]))
        try:
            return loop.run_until_complete(answer_of(bound[interface], opnum, stub))
        except DCERPCException as error:
            raise Fault(status_of(error, rpc_status_codes)) from None

    serve(call)


main()
