"""The probe's DCERPC, over TCP, over impacket's SMB, or over that of smbprotocol."""

import uuid

from analyzer.core.dcerpc_encoding import NDR, NDR64
from analyzer.probe.dcerpc_client import BoundStream, Credentials, OfferedContext
from analyzer.probe.probe_run import PipeConnector, TcpConnector
from rig.clients.lines import Fault, options, serve


class SmbprotocolPipe:
    """A pipe that smbprotocol opened."""

    def __init__(self, asked):
        from smbprotocol.connection import Connection
        from smbprotocol.open import (
            CreateDisposition,
            CreateOptions,
            FileAttributes,
            ImpersonationLevel,
            Open,
            ShareAccess,
        )
        from smbprotocol.open import FilePipePrinterAccessMask as Access
        from smbprotocol.session import Session
        from smbprotocol.tree import TreeConnect

        self.connection = Connection(uuid.uuid4(), asked["host"], asked["port"], require_signing=True)
        dialect = asked.get("dialect")
        self.connection.connect(int(dialect, 16) if dialect else None)
        user = f"{asked['domain']}\\{asked['user']}"
        session = Session(
            self.connection, user, asked["password"], require_encryption=asked["encrypt"], auth_protocol="ntlm"
        )
        session.connect()
        tree = TreeConnect(session, rf"\\{asked['host']}\IPC$")
        tree.connect(require_secure_negotiate=False)
        self.pipe = Open(tree, "winreg")
        self.pipe.create(
            ImpersonationLevel.Impersonation,
            Access.GENERIC_READ | Access.GENERIC_WRITE,
            FileAttributes.FILE_ATTRIBUTE_NORMAL,
            ShareAccess.FILE_SHARE_READ | ShareAccess.FILE_SHARE_WRITE,
            CreateDisposition.FILE_OPEN,
            CreateOptions.FILE_NON_DIRECTORY_FILE,
        )

    def send(self, data):
        self.pipe.write(data, 0)

    def receive(self):
        return self.pipe.read(0, 65536)

    def close(self):
        self.pipe.close()
        self.connection.disconnect()


def opened(asked, who):
    address = asked["host"], asked["port"]
    if asked["carrier"] == "tcp":
        return TcpConnector(address, 20).open(who, "", "impersonation")
    if asked["carrier"] == "smbprotocol":
        return BoundStream(SmbprotocolPipe(asked), who)
    return PipeConnector(asked["host"], address, 20).open(who, "winreg", "impersonation")


def main():
    asked = options()
    stream = opened(asked, Credentials(asked["user"], asked["domain"], asked["password"]))
    transfer = NDR64 if asked.get("ndr64") else NDR
    bound = {}

    def call(interface, opnum, stub):
        if interface not in bound:
            bound[interface] = stream.bind(OfferedContext((interface, 1, 0), transfer), asked["level"])
        reply = stream.call(bound[interface], opnum, stub)
        if reply.lost is not None:
            raise SystemExit(f"no answer: {reply.lost}")
        if reply.fault is not None:
            raise Fault(reply.fault)
        return reply.stub

    serve(call)


main()
