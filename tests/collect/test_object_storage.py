"""Object storage, as moto serves S3: captures are read from it, and a dataset is written to it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.collect.collection import Request, collect
from analyzer.collect.sources import find_sources
from analyzer.core.limits import DEFAULTS
from tests.collect.sets import CAPTURES, Here, frames_of, keyring_of, rotated, single

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
    fs = fsspec.filesystem("s3", skip_instance_cache=True)
    fs.mkdir("sensors")
    yield fs
    server.stop()


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    link_type, frames = frames_of(CAPTURES / SEALED)
    (tmp_path / "ring").mkdir()
    rotated(frames, link_type, tmp_path / "ring", 5, 2, sensors=2)
    return tmp_path / "ring"


def test_object_storage_is_read_and_written(bucket: Any, ring: Path, tmp_path: Path) -> None:
    import analyzer as pcq
    from analyzer.collect.keys import forget, hold

    (tmp_path / "in").mkdir()
    for path in sorted(ring.iterdir())[:3]:
        shutil.copy(path, tmp_path / "in")
        bucket.pipe(f"sensors/day/{path.name}", path.read_bytes())
    hold(keyring_of(SEALED))
    try:
        found = find_sources(["s3://sensors/day"], [])
        assert len(found) == 3
        done = collect(Request(found, [], "s3://sensors/tables", DEFAULTS), Here())
        assert not done.problems
        ds = pcq.open("s3://sensors/tables")
        expected = single(tmp_path / "in", keyring_of(SEALED))[0]
        assert ds.calls.collect().height == expected["calls"].height
        assert ds.samples.collect()["raw"].sort().to_list() == expected["samples"]["raw"].sort().to_list()
        assert ds.conversation(1).calls.height == expected["calls"].height
        assert not collect(Request(found, [], "s3://sensors/tables", DEFAULTS), Here()).read
    finally:
        forget()
