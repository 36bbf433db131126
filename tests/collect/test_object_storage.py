"""Object storage, as moto serves S3: captures are read from it, and a dataset is written to it."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.collect.dataset_lock import LEASE_S, LockLostError, locked
from analyzer.collect.dataset_manifest import MANIFEST, Manifest, read_manifest
from analyzer.core.errors import InputError
from analyzer.core.output.file_store import Store
from tests.collect.sets import collected, keyring_of, rotated, single

pytestmark = pytest.mark.needs("fsspec", "moto", "flask", "s3fs")
SEALED = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A file system with an empty bucket, `sensors`."""
    import fsspec
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in (
        ("AWS_ENDPOINT_URL", f"http://{host}:{port}"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_ALLOW_HTTP", "true"),
    ):
        monkeypatch.setenv(name, value)
    # Each server has a port of its own.
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    fs = fsspec.filesystem("s3")
    # What earlier servers of this process hold is theirs.
    urllib.request.urlopen(f"http://{host}:{port}/moto-api/reset", data=b"", timeout=60).close()
    fs.mkdir("sensors")
    yield fs
    server.stop()


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """A small capture in two files: each request to the storage takes its time."""
    return rotated("v1_samba_sambapy_krb5sha384_krb5_seal.pcap", tmp_path / "ring", 2, 2)


def test_object_storage_is_read_and_written(bucket: Any, tmp_path: Path) -> None:
    import analyzer as pcq

    for path in rotated(SEALED, tmp_path / "in", 3, 2).iterdir():
        bucket.pipe(f"sensors/day/{path.name}", path.read_bytes())
    done = collected("s3://sensors/day", "s3://sensors/tables", keyring_of(SEALED))
    assert (done.read, done.problems) == (3, [])
    ds = pcq.open("s3://sensors/tables")
    expected = single(tmp_path / "in", keyring_of(SEALED))[0]
    assert ds.calls.collect().height == expected["calls"].height
    assert ds.samples.collect()["raw"].sort().to_list() == expected["samples"]["raw"].sort().to_list()
    assert ds.conversation(1).calls.height == expected["calls"].height
    assert not collected("s3://sensors/day", "s3://sensors/tables", keyring_of(SEALED)).read


def test_one_run_at_a_time_writes_to_object_storage(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from analyzer.collect import dataset_lock as module

    store = Store("s3://sensors/tables")
    assert [store.create("x", data) for data in (b"1", b"2")] == [True, False]
    assert store.read("x") == b"1"
    with locked(store, "mine") as lock:
        lock.renew()
        with pytest.raises(InputError, match="is being written by process"), locked(store, "other"):
            pytest.fail("two have it")
        now_ns = module._now_ns
        monkeypatch.setattr(module, "_now_ns", lambda: now_ns() + (LEASE_S + 1) * 10**9)
        with locked(Store("s3://sensors/tables"), "other") as theirs:
            theirs.renew()
            with pytest.raises(LockLostError):
                lock.check()
    assert store.names("_lock") == ["_lock/000000000002.json"]


@pytest.mark.parametrize("is_new", [False, True])
def test_a_run_that_goes_on_after_its_last_look_does_not_replace_the_manifest_of_the_one_that_followed(
    is_new: bool, bucket: Any, ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run stops between the two, for longer than its lease; the second takes the lock over."""
    from analyzer.collect import dataset_lock as module

    def run(**more: Any) -> Any:
        return collected(ring, "s3://sensors/set", **more)

    if not is_new:
        run(profile="spec")
    followed: list[Any] = []
    replaced = Store.replace

    def overtaken(store: Store, name: str, data: bytes, stamp: str | None) -> bool:
        monkeypatch.setattr(Store, "replace", replaced)
        now_ns = module._now_ns
        with monkeypatch.context() as later:
            later.setattr(module, "_now_ns", lambda: now_ns() + (LEASE_S + 1) * 10**9)
            later.setattr(module, "process_name", lambda pid: "")
            followed.append(run().manifest)
        return replaced(store, name, data, stamp)

    monkeypatch.setattr(Store, "replace", overtaken)
    with pytest.raises(LockLostError, match="was written by another run meanwhile"):
        run()
    manifest = read_manifest(Store("s3://sensors/set"))
    assert [manifest.run, manifest.tables] == [followed[0].run, followed[0].tables]
    assert run(repair=True).restored == []


def test_a_manifest_that_changes_before_it_is_fenced_is_left(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from analyzer.collect import dataset_lock as module

    store, manifest = Store("s3://sensors/set"), Manifest(program="p", schema=2, run="first")
    with locked(store, "first") as lock:
        lock.publish(manifest)
        now_ns = module._now_ns
        monkeypatch.setattr(module, "_now_ns", lambda: now_ns() + (LEASE_S + 1) * 10**9)
        with locked(Store("s3://sensors/set"), "second") as theirs:
            store.write(MANIFEST, b"another")
            with pytest.raises(LockLostError):
                theirs.fence(manifest)
            assert store.read(MANIFEST) == b"another"
