"""Files below a path of this machine or a URL: the same names, bytes and errors on either."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.errors import InputError
from analyzer.core.output import file_store as store_module
from analyzer.core.output.file_store import StorageError, Store, StoreError, file_system
from analyzer.core.output.standard_json import document

pytestmark = pytest.mark.needs("fsspec")


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "local":
        return Store(str(tmp_path / "root"))
    return Store(f"memory://{tmp_path.name}-{request.node.name.partition('[')[0]}")


def test_what_was_written_is_there_under_its_name(store: Store, tmp_path: Path) -> None:
    store.write("a/b/one", b"0123456789")
    store.write("a/b/one", b"abcdefghij")
    store.write("a/two", b"")
    assert (store.exists("a/b/one"), store.exists("a/b/three"), store.sizes("a")) == (
        True,
        False,
        {"a/b/one": 10, "a/two": 0},
    )
    assert (store.read("a/b/one"), store.read("a/b/one", 2, 4), store.read("a/two")) == (b"abcdefghij", b"cd", b"")
    assert store.names("") == store.names("a") == ["a/b/one", "a/two"]
    assert (store.names("a/b"), store.names("nowhere")) == (["a/b/one"], [])
    copy = store.fetch("a/b/one", tmp_path / "copy")
    assert (copy, copy.read_bytes()) == (tmp_path / "copy", b"abcdefghij")
    assert store.url("a/two").endswith("/a/two")


def test_of_many_that_create_a_file_one_does(store: Store) -> None:
    assert [store.create("a/one", data) for data in (b"first", b"second")] == [True, False]
    assert store.read("a/one") == b"first"
    assert store.names("") == ["a/one"]


def test_a_file_can_be_named_by_its_content(store: Store) -> None:
    for text in (b"content", b"", b"content"):
        with store.keeping("a/{}.x") as out:
            out.file.write(text)
            out.file.seek(0, 2)
        assert store.read(out.name) == text
        assert (out.name, out.size) == (f"a/{sha256(text).hexdigest()[:32]}.x", len(text))
        assert store.digest(out.name) in out.name
    assert len(store.names("")) == 2
    with pytest.raises(KeyError), store.keeping("b/{}") as out:
        raise KeyError
    assert len(store.names("")) == 2


def test_a_file_is_moved_and_removed_with_what_is_below(store: Store) -> None:
    store.write("a/one", b"1")
    store.write("a/b/two", b"2")
    store.write("a/two", b"3")
    store.move({"a/one": "c/d/one", "a/two": "two"})
    assert store.names("") == ["a/b/two", "c/d/one", "two"]
    store.remove("a")
    store.remove("a")
    assert store.names("") == ["c/d/one", "two"]
    store.prune()
    assert store.read("c/d/one") == b"1"


def test_empty_directories_are_pruned_and_the_root_stays(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "root"))
    store.write("a/b/c/one", b"1")
    store.write("kept/two", b"2")
    store.move({"a/b/c/one": "kept/one"})
    store.prune()
    assert not (tmp_path / "root/a").exists()
    assert store.names("") == ["kept/one", "kept/two"]
    store.remove("kept")
    store.prune()
    assert list((tmp_path / "root").iterdir()) == []


def test_a_file_that_was_not_written_to_its_end_is_not_there(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "root"))

    def interrupted(name: str) -> None:
        with store.writing(name) as out:
            out.write(b"half")
            raise KeyboardInterrupt

    store.write("kept", b"old")
    for name in ("kept", "new"):
        with pytest.raises(KeyboardInterrupt):
            interrupted(name)
    assert [path.name for path in (tmp_path / "root").iterdir()] == ["kept"]
    assert store.read("kept") == b"old"


def test_what_cannot_be_written_or_reached_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = Store(str(tmp_path / "file"))
    with pytest.raises(StoreError, match="file cannot be written: "):
        store.write("below", b"")
    with pytest.raises(StoreError, match="file cannot be written: "):
        store.move({"one": "two"})
    with pytest.raises(InputError, match=r"s3://\.\.\. has a password in it"):
        file_system("s3://me:secret@bucket/x")
    with pytest.raises(InputError, match="nosuch://x cannot be used: "):
        file_system("nosuch://x")


def test_records_are_dictionaries_for_other_forms() -> None:
    assert document({"a": (1, "x")}) == {"a": [1, "x"]}


class Silent:
    """A file system of object storage that gives no answer."""

    protocol = ("s3",)

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        def asked(*_: object, **__: object) -> None:
            raise self.error

        return asked


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], Store]:
    def made(error: Exception) -> Store:
        monkeypatch.setattr(store_module, "file_system", lambda url: (Silent(error), "bucket/x"))
        return Store("s3://bucket/x")

    return made


ASKED: list[Callable[[Store], object]] = [
    lambda store: store.exists("a"),
    lambda store: store.names("a"),
    lambda store: store.sizes("a"),
    lambda store: store.digest("a"),
    lambda store: store.read("a"),
    lambda store: store.fetch("a", Path("b")),
]
CHANGED: list[Callable[[Store], object]] = [
    lambda store: store.write("a", b""),
    lambda store: store.create("a", b""),
    lambda store: store.move({"a": "b"}),
    lambda store: store.remove("a"),
]


def test_storage_that_gives_no_answer_is_a_sentence(silent: Callable[[Exception], Store]) -> None:
    for ask in ASKED:
        with pytest.raises(StorageError) as caught:
            ask(silent(KeyError("odd")))
        assert (type(caught.value), str(caught.value)) == (StorageError, "s3://bucket/x gives no answer: 'odd'")
        with pytest.raises(PermissionError):
            ask(silent(PermissionError(13, "Permission denied")))
    for change in CHANGED:
        with pytest.raises(StoreError, match="s3://bucket/x gives no answer: 'odd'"):
            change(silent(KeyError("odd")))
        with pytest.raises(StoreError, match="s3://bucket/x cannot be written: Permission denied"):
            change(silent(PermissionError(13, "Permission denied")))
        with pytest.raises(StoreError, match="s3://bucket/x cannot be written: odd"):
            change(silent(OSError("odd")))


def test_what_is_not_there_has_no_names_and_is_removed(silent: Callable[[Exception], Store]) -> None:
    store = silent(FileNotFoundError())
    assert store.names("a") == []
    store.remove("a")
    assert store.local is None
    store.prune()


def test_an_upload_that_was_not_completed_is_discarded(silent: Callable[[Exception], Store]) -> None:
    done: list[str] = []

    class Upload:
        def write(self, data: bytes) -> None:
            done.append(data.decode())

        def discard(self) -> None:
            done.append("discard")
            raise OSError("no answer to this either")

        def close(self) -> None:
            done.append("close")

    store = silent(OSError())
    store._fs.open = lambda path, mode: done.append(f"{path} {mode}") or Upload()
    store.write("a/b", b"data")
    assert done == ["bucket/x/a/b wb", "data", "close"]
    done.clear()
    with pytest.raises(KeyboardInterrupt), store.writing("c"):
        raise KeyboardInterrupt
    assert done == ["bucket/x/c wb", "discard"]


def test_a_mistake_of_a_writer_is_no_matter_of_a_local_disk(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "root"))
    with pytest.raises(KeyError), store.writing("a"):
        raise KeyError("a mistake of ours")
    assert list((tmp_path / "root").iterdir()) == []


def test_a_local_file_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
    store = Store(str(tmp_path))
    store.write("x", b"whole")
    assert sizes == [5]
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(os, "urandom", lambda length: b"\xab" * length)
    (tmp_path / ".pcq-abababababababab.part").write_bytes(b"somebody's")
    with pytest.raises(StoreError, match="File exists"):
        store.write("y", b"ours")


@pytest.mark.parametrize(
    ("scheme", "package"),
    [
        ("s3", "s3fs"),
        ("s3a", "s3fs"),
        ("gs", "gcsfs"),
        ("gcs", "gcsfs"),
        ("abfs", "adlfs"),
        ("abfss", "adlfs"),
        ("az", "adlfs"),
        ("ssh", "paramiko"),
        ("sftp", "paramiko"),
        ("hdfs", None),
    ],
)
def test_storage_whose_package_is_not_installed_says_which(
    scheme: str, package: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The packages that the documentation of fsspec names for each scheme."""

    def missing(url: str) -> None:
        raise ImportError(url)

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(InputError) as caught:
        file_system(f"{scheme}://bucket/x")
    if package is None:
        assert str(caught.value) == "hdfs://bucket/x needs the package of fsspec for hdfs://"
        assert caught.value.hint is None
    else:
        assert str(caught.value) == f"{scheme}://bucket/x needs the package {package}"
        assert caught.value.hint == f"pip install {package}, on every machine that reads or writes."


def test_a_file_has_a_path_or_a_url_for_others(tmp_path: Path) -> None:
    local = Store(f"file://{tmp_path}")
    assert (local.local, local.url("a/b")) == (tmp_path, f"{tmp_path}/a/b")
    assert Store("memory://below").url("a/b") == "memory:///below/a/b"
    with pytest.raises(InputError) as caught:
        file_system("sftp://me:secret@host/x")
    assert caught.value.hint == "Put it in the configuration of fsspec, or use keys."
    assert "secret" not in str(caught.value)
