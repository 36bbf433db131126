"""Whatever fails on the way, a run ends with all that could be read, or leaves the dataset as it was."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import analyzer as pcq
from analyzer.auth.keyring import Keyring
from analyzer.collect import capture_sources
from analyzer.core.errors import InputError
from analyzer.core.output import file_store
from tests.collect.sets import (
    CAPTURES,
    Here,
    collected,
    frames_of,
    keyring_of,
    of_dataset,
    put,
    readdressed,
    rotated,
)
from tests.secrets import leaks

pytestmark = pytest.mark.needs("distributed")
CLEAR = "v1_samba_impacket_smb311_noauth.pcap"
SEALED = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_sources, "FIRST_WAIT_S", 0)


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """A capture in six rotated files."""
    return rotated(CLEAR, tmp_path / "in", 6, 1)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of what that capture begins with, to be copied."""
    directory = tmp_path_factory.mktemp("first")
    rotated(frames_of(CAPTURES / CLEAR)[1][:40], directory / "in", 2, 3)
    collected(directory / "in", directory / "out", Keyring())
    return directory / "out"


def test_what_stands_for_no_file_is_a_problem(ring: Path, tmp_path: Path) -> None:
    missing: list[InputError] = []
    found = capture_sources.find_sources([str(ring), str(tmp_path / "gone.pcap"), "s3://user:secret@host/x"], missing)
    assert len(found) == 6
    assert ["there is no such file" in str(missing[0]), "password" in str(missing[1])] == [True, True]
    assert "secret" not in str(missing[1])
    with pytest.raises(InputError, match="no such file"):
        collected(tmp_path / "gone", tmp_path / "out", Keyring())
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("url", "package"),
    [("gs://b/x", "gcsfs"), ("abfs://b/x", "adlfs"), ("ssh://h/x", "paramiko"), ("s3://b/x", "s3fs")],
)
def test_the_package_that_reads_a_url_is_named(url: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ImportError("Please install something")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    failures: list[InputError] = []
    assert not capture_sources.find_sources([url], failures)
    assert str(failures[0]) == f"{url} needs the package {package}"
    assert str(failures[0].hint).startswith(f"pip install {package},")


def test_storage_that_refuses_has_a_sentence_and_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    class NoCredentialsError(Exception):
        """Of a library that has exceptions of its own."""

    def refuses(*_: object, **__: object) -> None:
        raise NoCredentialsError("no credentials")

    for name in ("exists", "find", "cat_file", "rm", "_open"):
        monkeypatch.setattr(MemoryFileSystem, name, refuses)
    failures: list[InputError] = []
    assert not capture_sources.find_sources(["memory://set"], failures)
    assert str(failures[0]) == "memory://set cannot be read: no credentials"
    place = file_store.Store("memory://out")
    for ask in (lambda: place.exists("x"), lambda: place.names(""), lambda: place.read("x"), lambda: place.remove("x")):
        with pytest.raises(file_store.StorageError, match=r"memory://out gives no answer: no credentials"):
            ask()
    with pytest.raises(file_store.StoreError, match="no credentials"):
        place.write("x", b"")
    with pytest.raises(InputError, match="has a password in it") as refused:
        file_store.Store("s3://user:secret@host/x")
    assert "secret" not in str(refused.value)


def files_in(dataset: Path) -> dict[Path, bytes]:
    """The files of a dataset besides its lock."""
    files = (path for path in dataset.rglob("*") if path.is_file() and path.parent.name != "_lock")
    return {path: path.read_bytes() for path in files}


def test_a_run_that_is_ended_leaves_nothing(ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(Here):
        def run(self, stage: str, *more: Any) -> Iterator[tuple[Any, Any]]:
            for pair in super().run(stage, *more):
                yield pair
                raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        collected(ring, out, Keyring(), executor=Ended())
    assert files_in(out) == {}

    def not_empty(place: file_store.Store, name: str) -> None:
        raise OSError(errno.ENOTEMPTY, f"a worker writes to {name} even now")

    # What ended it is raised all the same.
    monkeypatch.setattr(file_store.Store, "remove", not_empty)
    with pytest.raises(KeyboardInterrupt):
        collected(ring, out, Keyring(), executor=Ended())


@pytest.mark.parametrize("after", [0, 3, 9, 15])
def test_a_full_disk_leaves_the_dataset_as_it_was(
    after: int, ring: Path, first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = copytree(first, tmp_path / "out")
    before = files_in(out)
    left = after

    def full(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(file_store.os, "fsync", full)
    with pytest.raises(file_store.StoreError, match="No space left"):
        collected(ring, out, Keyring())
    assert files_in(out) == before


def test_what_a_run_left_behind_is_no_part_of_the_dataset(ring: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InputError, match="is no case"):
        pcq.open(out)
    collected(ring, out, Keyring())
    rows = pcq.open(out).calls.collect().height
    listed = next((out / "calls").rglob("*.parquet"))
    unlisted = listed.with_name("unlisted.parquet")
    unlisted.write_bytes(listed.read_bytes())
    notes = out / "notes" / "of somebody.txt"
    notes.parent.mkdir()
    notes.write_text("not ours")
    (out / "_staging" / "x").mkdir(parents=True)
    (out / "_staging" / "x" / "half").write_bytes(b"...")
    assert pcq.open(out).calls.collect().height == rows
    collected(ring, out, Keyring())
    assert not unlisted.exists()
    assert notes.read_text() == "not ours"
    assert not (out / "_staging").exists()
    with pytest.raises(InputError, match="exists and is no dataset"):
        collected(ring, tmp_path, Keyring())


def test_nothing_in_the_dataset_holds_a_key(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.pcap").write_bytes((CAPTURES / SEALED).read_bytes())
    done = collected(tmp_path / "in", tmp_path / "out", keyring_of(SEALED))
    assert done.manifest.tables["samples"].rows > 0
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            assert not leaks(path.read_bytes()), path.name


@pytest.mark.parametrize(
    "name", ["v1_samba_impacket_smb311_ntlm_privacy.pcap", "pcq_smbd_scapy_impacket_smb311ccm_ntlm_privacy.pcap"]
)
def test_a_dataset_that_would_lose_what_was_decrypted_stays_as_it_was(name: str, tmp_path: Path) -> None:
    """Sealed stubs, and SMB encryption, behind which not even calls are seen."""
    given, out = tmp_path / "in", tmp_path / "out"
    link_type, frames = frames_of(CAPTURES / name)
    put(given / "1.pcap", frames[:-10], link_type)
    first = collected(given, out, keyring_of(name))
    before = files_in(out)
    # A file of others needs no secrets, and what they decrypted is not analysed again.
    _, others = frames_of(CAPTURES / CLEAR)
    put(given / "2.pcap", readdressed(others, "10.9.0.1", "10.9.0.2"))
    done = collected(given, out, Keyring())
    assert (done.read, done.analysed) == (1, 1)
    assert done.manifest.tables["samples"].rows > first.manifest.tables["samples"].rows > 0
    with_others = files_in(out)
    assert with_others != before
    # What goes on with them does.
    put(given / "3.pcap", frames[-10:], link_type)
    with pytest.raises(
        InputError, match=r"^the dataset would lose rows: [\d,]+ requests and responses could not"
    ) as lost:
        collected(given, out, Keyring())
    assert str(lost.value.hint).startswith("Give the secrets that it was made with, or add --allow-fewer-rows.")
    assert files_in(out) == with_others
    assert collected(given, out, keyring_of(name)).analysed == 1
    rows = of_dataset(out)[0]["samples"].height
    assert rows >= done.manifest.tables["samples"].rows
    os.utime(given / "3.pcap", (5, 5))
    assert collected(given, out, Keyring(), fewer_rows=True).analysed == 0
    put(given / "3.pcap", frames[-9:], link_type)
    collected(given, out, Keyring(), fewer_rows=True)
    assert of_dataset(out)[0]["samples"].height < rows
