"""Two network namespaces with a cable between them, and tcpdump at the server's end.

Nothing that is sent there leaves the machine.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Made = TypeVar("Made")
SERVER, SEALING_SERVER, KERBEROS_SERVER, CLIENT = "10.99.0.1", "10.99.0.2", "10.99.0.3", "10.99.0.9"
SERVER6, CLIENT6 = "fd99::1", "fd99::9"
_CLONE_NEWNET = 0x40000000


class CannotRunError(Exception):
    """This machine cannot run the rig; the message says why."""


def require() -> None:
    """Raises `CannotRunError` where there are no namespaces to be had, or programs are missing."""
    if os.geteuid() != 0:
        raise CannotRunError("the rig makes network namespaces, which needs root")
    wanted = ("ip", "tcpdump", "smbd", "pdbedit", "kdb5_util", "kadmin.local", "krb5kdc", "kinit")
    missing = [name for name in wanted if shutil.which(name) is None]
    if missing:
        raise CannotRunError(f"not installed: {', '.join(missing)} (`sh .ci/setup.sh tests` installs them)")
    name = f"rig{os.getpid()}t"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise CannotRunError(f"no network namespace can be made here: {made.stderr.strip()}")
    subprocess.run(["ip", "netns", "delete", name], check=True)


class Network:
    """The two namespaces; `close` removes them."""

    def __init__(self) -> None:
        self.server, self.client = f"rig{os.getpid()}s", f"rig{os.getpid()}c"
        for name in (self.server, self.client):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("link", "add", "wire0", "netns", self.server, "type", "veth", "peer", "name", "wire0", "netns", self.client)
        for name, addresses in ((self.server, (SERVER, SEALING_SERVER, KERBEROS_SERVER)), (self.client, (CLIENT,))):
            for address in addresses:
                _ip("-n", name, "address", "add", f"{address}/24", "dev", "wire0")
        for name, address in ((self.server, SERVER6), (self.client, CLIENT6)):
            _ip("-n", name, "address", "add", f"{address}/64", "dev", "wire0", "nodad")
        for name in (self.server, self.client):
            _ip("-n", name, "link", "set", "wire0", "up")

    def close(self) -> None:
        for name in (self.server, self.client):
            subprocess.run(["ip", "netns", "delete", name], check=False)

    def inside(self, make: Callable[[], Made]) -> Made:
        """What `make` gives where it runs in the server's namespace: a socket that it binds stays there."""
        found: list[Made | BaseException] = []

        def run() -> None:
            try:
                with Path("/run/netns", self.server).open("rb") as namespace:
                    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET) != 0:
                        raise OSError(ctypes.get_errno(), "setns")
                found.append(make())
            except BaseException as error:
                found.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    @contextmanager
    def captured(self, path: Path, *, interface: str = "wire0", options: tuple[str, ...] = ()) -> Iterator[None]:
        """While this is open, tcpdump writes what passes to `path`."""
        command = ["ip", "netns", "exec", self.server, "tcpdump", "-i", interface, "-U", "--immediate-mode", "-s", "0"]
        command += [*options, "-Z", "root", "-w", str(path)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if "listening on" in line:
                    break
            try:
                yield
            finally:
                time.sleep(0.15)
                process.terminate()
                process.communicate()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
