"""A Dask cluster elsewhere: the same rows, keys in the memory of its workers alone, and nobody without a certificate gets in."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from tests.collect.sets import CAPTURES, collected, difference, keyring_of, rotated, same_rows, single
from tests.collect.test_local_workers import rows
from tests.commands.test_all_commands import process, run
from tests.secrets import leaks

pytestmark = pytest.mark.needs("distributed")
SEALED = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"


@pytest.fixture(scope="module")
def certificates() -> Any:
    from distributed.security import Security

    return Security.temporary()


@pytest.fixture(scope="module")
def scheduler(certificates: Any) -> Iterator[str]:
    """The address of a cluster of two workers (in this process), which takes nobody without a certificate of its own authority."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        security=certificates,
        protocol="tls://",
        dashboard_address=":0",
    ) as found:
        yield found.scheduler_address


@pytest.fixture
def configured(certificates: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The certificates, where Dask looks for them."""
    import dask

    given = {"ca-file": certificates.tls_ca_file}
    given |= {"client.cert": certificates.tls_client_cert, "client.key": certificates.tls_client_key}
    paths = {}
    for name, text in given.items():
        path = tmp_path / name
        path.write_text(text)
        paths[f"distributed.comm.tls.{name}"] = str(path)
        variable = f"distributed.comm.tls.{name}".upper().replace(".", "__").replace("-", "_")
        monkeypatch.setenv(f"DASK_{variable}", str(path))
    with dask.config.set(paths):
        yield


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rotated(SEALED, tmp_path_factory.mktemp("ring"), 5, 2, sensors=2)


def _names_of_keys() -> tuple[str, ...]:
    from analyzer.collect.analyse_stage import HELD

    return tuple(HELD)


@pytest.mark.usefixtures("configured")
def test_a_cluster_elsewhere_is_used_and_has_no_keys_afterwards(scheduler: str, ring: Path, tmp_path: Path) -> None:
    from analyzer.collect.dask_cluster import cluster

    secrets = CAPTURES / f"{SEALED.removesuffix('.pcap')}.secrets.json"
    result = process("collect", ring, "--secrets", secrets, "-o", tmp_path / "out", "--scheduler", scheduler)
    assert result.returncode == 0, result.stderr.decode()
    assert not leaks(result.stderr)
    assert not difference(same_rows(*single(ring, keyring_of(SEALED)), alone=True), rows(tmp_path / "out"))
    with cluster(Keyring(), scheduler, keys="mine") as client:
        assert list(client.run(_names_of_keys).values()) == [("mine",), ("mine",)]


@pytest.mark.usefixtures("configured")
def test_no_key_is_in_logs_or_tasks(scheduler: str, ring: Path, tmp_path: Path) -> None:
    from analyzer.collect.dask_cluster import DaskExecutor, KeysPlugin, cluster

    with cluster(keyring_of(SEALED), scheduler) as client:
        done = collected(ring, tmp_path / "out", keyring_of(SEALED), executor=DaskExecutor(client, 3))
        assert done.manifest.tables["samples"].rows > 0
        shown = [
            str(client.scheduler_info()),
            str(client.story()),
            str(client.get_worker_logs()),
            str(client.get_scheduler_logs()),
            repr(KeysPlugin(keyring_of(SEALED))),
        ]
        assert not leaks("\n".join(shown).encode())
        for directory in client.run(_spilled).values():
            for path in Path(directory).rglob("*"):
                if path.is_file():
                    assert not leaks(path.read_bytes()), path


def _spilled(dask_worker: Any) -> str:
    return str(dask_worker.local_directory)


# Connects as anybody can, believes every certificate, and says what it is answered.
_STRANGER = """
import encodings.idna, os, socket, ssl, sys
if os.getuid() == 0:
    os.setuid(65534)
context = ssl._create_unverified_context()
try:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 30) as plain, context.wrap_socket(plain) as secure:
        secure.sendall(bytes(64))
        answer = secure.recv(1)
except (ssl.SSLError, OSError):
    answer = b""
print(os.getuid(), answer)
"""


def test_another_user_without_a_certificate_gets_no_answer_of_the_scheduler(scheduler: str) -> None:
    argv = [sys.executable, "-c", _STRANGER, scheduler.rpartition(":")[2]]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert said == f"{os.getuid() or 65534} b''\n"


@pytest.mark.parametrize("scheduler", ["tcp://127.0.0.1:9", "127.0.0.1:9", "ws://127.0.0.1:9"])
def test_secrets_are_not_sent_to_a_scheduler_without_tls(scheduler: str, ring: Path, tmp_path: Path) -> None:
    from analyzer.collect.dask_cluster import cluster

    words = "has no TLS: whoever can reach it could read the secrets"
    with pytest.raises(InputError, match=words), cluster(keyring_of(SEALED), scheduler):
        pytest.fail("connected")
    result = run("collect", ring, "--password", "x", "-o", tmp_path / "out", "--scheduler", scheduler)
    assert isinstance(result.exception, InputError)
    assert "add --insecure" in str(result.exception.hint)


@pytest.mark.parametrize(("keyring", "insecure"), [(Keyring(), False), (keyring_of(SEALED), True)])
def test_without_secrets_or_by_order_no_tls_is_needed(
    keyring: Keyring, insecure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from analyzer.collect import dask_cluster as module

    def client(address: str, timeout: int) -> Any:
        raise OSError(f"no route to {address}")

    monkeypatch.setattr(module, "Client", client)
    words = "cannot be reached: no route to tcp://host:1"
    with pytest.raises(InputError, match=words), module.cluster(keyring, "tcp://host:1", insecure=insecure):
        pytest.fail("connected")
