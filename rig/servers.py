"""The servers of the rig, each with the model behind it: Samba's smbd, impacket's file server, and TCP; and a KDC for smbd."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from rig.model import Model
from rig.network import KERBEROS_SERVER, SEALING_SERVER, SERVER, SERVER6, Network
from tests.build.auth import md4
from tests.probe import server as counters

# Accounts have to be known to the system for Samba; these are on every Debian. The passwords are of this rig alone.
USER, OTHER, PASSWORD, DOMAIN = "games", "news", "rig only, 1 of it", "LAB"
TCP_PORT, IMPACKET_PORT = 49700, 4451
REALM, KERBEROS_HOST = "RIG.TEST", "rig"
_KRB5 = """[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_lookup_realm = false
rdns = false
[realms]
{realm} = {{
kdc = {address}
}}
[dbmodules]
{realm} = {{
db_library = db2
database_name = {folder}/kdc/principals
}}
"""
_KDC = """[realms]
{realm} = {{
key_stash_file = {folder}/kdc/stash
acl_file = {folder}/kdc/acl
kdc_listen = {address}:88
kdc_tcp_listen = {address}:88
}}
"""
_KERBEROS_CONF = """realm = {realm}
kerberos method = dedicated keytab
dedicated keytab file = {keytab}
"""
_CONF = """[global]
workgroup = {domain}
netbios name = RIG
server role = standalone server
private dir = {folder}/private
passdb backend = tdbsam:{folder}/private/passdb.tdb
state directory = {folder}/state
lock directory = {folder}/lock
cache directory = {folder}/cache
pid directory = {folder}/pid
ncalrpc dir = {folder}/ncalrpc
log file = {folder}/log/%m
interfaces = {interfaces}
bind interfaces only = yes
disable netbios = yes
smb ports = 445
server min protocol = NT1
rpc start on demand helpers = no
load printers = no
server smb encrypt = {encrypt}
"""
# What smbd is answered when it hands over a pipe that was opened, so that bytes come as a stream (named_pipe_auth.idl of Samba).
_BYTE_MODE, _DEVICE_STATE, _ALLOCATED = 1, 0x05FF, 4096


class Witness:
    """What the model's server logged: each call as it came, and what it answered."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, bytes, counters.Answer]] = []

    def __call__(self, interface: str, opnum: int, stub: bytes, answer: counters.Answer) -> None:
        self.calls.append((interface, opnum, stub, answer))


class Servers:
    """All servers, started once. `serve` says whose conversation comes next."""

    def __init__(self, network: Network) -> None:
        counters.USER, counters.OTHER, counters.PASSWORD, counters.DOMAIN = USER, OTHER, PASSWORD, DOMAIN
        self._network = network
        self._model, self._witness, self._seals_faults = Model(0), Witness(), True
        self._folder = tempfile.TemporaryDirectory(prefix="rig", ignore_cleanup_errors=True)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._listeners: list[socket.socket] = []
        self._listen(network.inside(lambda: socket.create_server((SERVER, TCP_PORT))))
        self._listen(network.inside(lambda: socket.create_server((SERVER6, TCP_PORT), family=socket.AF_INET6)))
        behind = network.inside(lambda: socket.create_server(("127.0.0.1", 0)))
        self._listen(behind)
        self._impacket: Any = network.inside(lambda: _impacket(behind.getsockname()))
        self._smbd("plain", f"{SERVER} {SERVER6} lo", "off")
        self._smbd("sealing", SEALING_SERVER, "desired")
        self.krb5_config, self.keytab, self.tickets = (
            Path(self._folder.name, name) for name in ("krb5.conf", "rig.keytab", "tickets")
        )
        self._kdc()
        self._smbd("kerberos", KERBEROS_SERVER, "off", _KERBEROS_CONF.format(realm=REALM, keytab=self.keytab))

    def serve(self, model: Model, *, seals_faults: bool) -> Witness:
        """From now on this model answers; what is called goes to the witness."""
        self._model, self._witness, self._seals_faults = model, Witness(), seals_faults
        return self._witness

    def close(self) -> None:
        for process in self._processes:
            process.terminate()
            process.wait(20)
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self._impacket.getServer().shutdown()
        self._folder.cleanup()

    def _listen(self, listener: socket.socket, *, is_pipe: bool = False) -> None:
        self._listeners.append(listener)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    if listener.family != socket.AF_UNIX:
                        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    threading.Thread(target=self._serve, args=(connection, is_pipe), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def _serve(self, connection: socket.socket, is_pipe: bool) -> None:
        if is_pipe:
            _take_over(connection)
        counters.Association(connection, self._model, self._witness, seals_faults=self._seals_faults).run()

    def _kdc(self) -> None:
        """A KDC with the account, and the service that the third smbd is."""
        folder = Path(self._folder.name)
        (folder / "kdc").mkdir()
        profile = folder / "kdc.conf"
        for path, text in ((self.krb5_config, _KRB5), (profile, _KDC)):
            path.write_text(text.format(realm=REALM, address=KERBEROS_SERVER, folder=folder))
        told = {**os.environ, "KRB5_CONFIG": str(self.krb5_config), "KRB5_KDC_PROFILE": str(profile)}
        service = f"cifs/{KERBEROS_HOST}"
        # Without the authorisation data of Windows, of which this KDC makes too little for smbd.
        for command in (
            ["kdb5_util", "create", "-s", "-r", REALM, "-P", PASSWORD],
            ["kadmin.local", "-r", REALM, "addprinc", "+requires_preauth", "-pw", PASSWORD, USER],
            ["kadmin.local", "-r", REALM, "addprinc", "+no_auth_data_required", "-randkey", service],
            ["kadmin.local", "-r", REALM, "ktadd", "-k", str(self.keytab), service],
        ):
            subprocess.run(command, capture_output=True, check=True, env=told)
        command = ["ip", "netns", "exec", self._network.server, "krb5kdc", "-n", "-r", REALM, "-P", f"{folder}/kdc/pid"]
        self._processes.append(
            subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=told
            )
        )

        inside = ["ip", "netns", "exec", self._network.server]
        for _ in range(50):
            command = [*inside, "kinit", "-c", str(self.tickets), USER]
            got = subprocess.run(command, input=f"{PASSWORD}\n".encode(), capture_output=True, check=False, env=told)
            if got.returncode == 0:
                break
            time.sleep(0.1)
        else:
            raise TimeoutError(f"the KDC gives no ticket: {got.stderr.decode()}")
        subprocess.run([*inside, "kvno", "-c", str(self.tickets), service], capture_output=True, check=True, env=told)

    def _smbd(self, name: str, interfaces: str, encrypt: str, more: str = "") -> None:
        folder = Path(self._folder.name, name)
        for part in ("private", "state", "lock", "cache", "pid", "ncalrpc", "log", "ncalrpc/np"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "ncalrpc/np").chmod(0o700)
        conf = folder / "smb.conf"
        conf.write_text(_CONF.format(domain=DOMAIN, folder=folder, interfaces=interfaces, encrypt=encrypt) + more)
        for user in (USER, OTHER):
            subprocess.run(
                ["pdbedit", "-s", conf, "-a", "-u", user, "-t"],
                input=f"{PASSWORD}\n{PASSWORD}\n".encode(),
                capture_output=True,
                check=True,
            )
        pipe = socket.socket(socket.AF_UNIX)
        pipe.bind(str(folder / "ncalrpc/np/winreg"))
        pipe.listen()
        self._listen(pipe, is_pipe=True)
        command = [
            "ip",
            "netns",
            "exec",
            self._network.server,
            "smbd",
            "--foreground",
            "--no-process-group",
            "-s",
            str(conf),
        ]
        # A smbd that ends sends a signal to its whole process group.
        self._processes.append(
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        )
        self._wait_for(interfaces.split()[0])

    def _wait_for(self, address: str) -> None:
        for _ in range(100):
            try:
                self._network.inside(lambda: socket.create_connection((address, 445), 1)).close()
                return
            except OSError:
                time.sleep(0.1)
        raise TimeoutError(f"smbd does not answer at {address}")


def _take_over(connection: socket.socket) -> None:
    """smbd hands over a pipe that a client opened."""
    length = struct.unpack(">I", connection.recv(4, socket.MSG_WAITALL))[0]
    level = struct.unpack_from("<I", connection.recv(length, socket.MSG_WAITALL), 4)[0]
    answer = b"NPAM" + struct.pack("<IIHH4xQI", level, level, _BYTE_MODE, _DEVICE_STATE, _ALLOCATED, 0)
    connection.sendall(struct.pack(">I", len(answer)) + answer)


def _impacket(behind: tuple[str, int]) -> Any:
    from impacket.smbserver import SimpleSMBServer

    made = SimpleSMBServer(SERVER, IMPACKET_PORT)
    made.setSMB2Support(True)
    made.addCredential(USER, 0, "", md4(PASSWORD.encode("utf-16-le")).hex())
    made.registerNamedPipe("winreg", behind)
    threading.Thread(target=made.getServer().serve_forever, daemon=True).start()
    return made
